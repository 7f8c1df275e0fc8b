#include "kernels/cosmology/cosmology.h"

#include <math.h>
#include <stddef.h>

/* ---- the expansion ---------------------------------------------------------------------------------- */

static double omega_k(const struct nb_cosmology *c)
{
	return 1 - c->omega_r - c->omega_m - c->omega_l;
}

/* Density of the dark energy over that of today. */
static double dark(const struct nb_cosmology *c, double a)
{
	if (c->w0 == -1 && c->wa == 0)
		return 1;
	return exp(-3 * (1 + c->w0 + c->wa) * log(a) - 3 * c->wa * (1 - a));
}

static double expansion2(const struct nb_cosmology *c, double a)
{
	return (((c->omega_r / a + c->omega_m) / a + omega_k(c)) / a) / a + c->omega_l * dark(c, a);
}

/* d ln E / d ln a */
static double expansion_slope(const struct nb_cosmology *c, double a)
{
	const double w = c->w0 + c->wa * (1 - a);
	const double sum = ((4 * c->omega_r / a + 3 * c->omega_m) / a + 2 * omega_k(c)) / a / a +
			   3 * (1 + w) * c->omega_l * dark(c, a);
	return -sum / (2 * expansion2(c, a));
}

int nb_cosmology_check(const struct nb_cosmology *c, double a)
{
	const double sum = c->H0 + c->omega_m + c->omega_l + c->omega_r + c->w0 + c->wa;
	if (!(isfinite(sum) && c->H0 > 0 && c->omega_m > 0 && c->omega_r >= 0 && a > 0 && isfinite(a)))
		return NB_EINVAL;
	/* matter or radiation must be what is left early */
	if (!(c->w0 + c->wa < 0) && c->omega_l != 0)
		return NB_EINVAL;
	for (double x = a; x > 1e-6 * a; x *= 0.98)
		if (!(expansion2(c, x) > 0 && isfinite(expansion2(c, x))))
			return NB_EINVAL;
	return NB_OK;
}

double nb_cosmology_hubble(const struct nb_cosmology *c, double a)
{
	return c->H0 * sqrt(expansion2(c, a));
}

double nb_cosmology_omega_m(const struct nb_cosmology *c, double a)
{
	return c->omega_m / (a * a * a * expansion2(c, a));
}

/* ---- integrals of time ------------------------------------------------------------------------------ */

/* Gauss and Legendre's 16 points of -1 .. 1; one half */
static const struct {
	double at, weight;
} gauss[8] = {
	{0.98940093499164993260, 0.02715245941175409485},
	{0.94457502307323257608, 0.06225352393864789286},
	{0.86563120238783174388, 0.09515851168249278481},
	{0.75540440835500303390, 0.12462897125553387205},
	{0.61787624440264374845, 0.14959598881657673208},
	{0.45801677765722738634, 0.16915651939500253819},
	{0.28160355077925891323, 0.18260341504492358887},
	{0.09501250983763744019, 0.18945061045506849629},
};

/* of dt / a^power = d ln a / (H a^power), over a range of ln a in which the integrand is nearly a power of a */
static double integrate_panel(const struct nb_cosmology *c, double a0, double a1, int power)
{
	const double half = log(a1 / a0) / 2, middle = sqrt(a0) * sqrt(a1);
	double sum = 0;
	for (size_t k = 0; k < sizeof gauss / sizeof *gauss; k++)
		for (int side = -1; side <= 1; side += 2) {
			const double a = middle * exp(side * half * gauss[k].at);
			sum += gauss[k].weight / (sqrt(expansion2(c, a)) * (power > 0 ? a : 1) * (power > 1 ? a : 1));
		}
	return sum * half / c->H0;
}

static double integrate(const struct nb_cosmology *c, double a0, double a1, int power)
{
	const double length = log(a1 / a0);
	const double panels = fmax(ceil(fabs(length) / 0.5), 1);
	double sum = 0, from = a0;
	for (double k = 1; k <= panels; k++) {
		const double to = k < panels ? a0 * exp(length * (k / panels)) : a1;
		sum += integrate_panel(c, from, to, power);
		from = to;
	}
	return sum;
}

double nb_cosmology_span(const struct nb_cosmology *c, double a0, double a1)
{
	return integrate(c, a0, a1, 0);
}

double nb_cosmology_kick(const struct nb_cosmology *c, double a0, double a1)
{
	return integrate(c, a0, a1, 1);
}

double nb_cosmology_drift(const struct nb_cosmology *c, double a0, double a1)
{
	return integrate(c, a0, a1, 2);
}

double nb_cosmology_time(const struct nb_cosmology *c, double a)
{
	/* what was before is 1e-18 of it: times grow as a^1.5 or a^2 */
	return integrate(c, 1e-12 * a, a, 0);
}

double nb_cosmology_later(const struct nb_cosmology *c, double a0, double time)
{
	if (time < 0 && !(nb_cosmology_time(c, a0) + time > 0))
		return NAN;
	double a = a0, least = 0, most = INFINITY;
	for (int k = 0; k < 200; k++) {
		const double left = time - integrate(c, a0, a, 0);
		if (left > 0)
			least = a;
		else
			most = a;
		double next = a * exp(fmin(fmax(left * nb_cosmology_hubble(c, a), -1), 1));
		if (!(next > least && next < most))
			next = isinf(most) ? 2 * a : (least + most) / 2;
		if (fabs(next - a) <= 1e-16 * a || next == least || next == most)
			return next;
		a = next;
	}
	return a;
}

/* ---- growth ----------------------------------------------------------------------------------------- */

/* D and dD / d ln a of each */
struct state {
	double y[2 * NB_NGROWTH];
};

static struct state slope(const struct nb_cosmology *c, double ln_a, const struct state *s)
{
	const double a = exp(ln_a), friction = 2 + expansion_slope(c, a), pull = 1.5 * nb_cosmology_omega_m(c, a);
	const double *D = s->y, D1 = D[NB_D1];
	const double source[NB_NGROWTH] = {
		[NB_D2] = D1 * D1,
		[NB_D3A] = 2 * D1 * D1 * D1,
		[NB_D3B] = 2 * (D1 * D1 * D1 + D1 * D[NB_D2]),
		[NB_D3C] = D1 * D1 * D1,
	};
	struct state rate;
	for (int k = 0; k < NB_NGROWTH; k++) {
		const double own = k == NB_D3C ? 0 : D[k]; /* a curl does not attract */
		rate.y[k] = s->y[NB_NGROWTH + k];
		rate.y[NB_NGROWTH + k] = pull * (own + source[k]) - friction * s->y[NB_NGROWTH + k];
	}
	return rate;
}

static struct state add(const struct state *s, double h, const struct state *rate)
{
	struct state sum;
	for (int k = 0; k < 2 * NB_NGROWTH; k++)
		sum.y[k] = s->y[k] + h * rate->y[k];
	return sum;
}

/* A step of length h by n steps of the midpoint rule (Gragg). */
static struct state midpoints(const struct nb_cosmology *c, double ln_a, const struct state *begin, double h, int n)
{
	struct state rate = slope(c, ln_a, begin), last = *begin, now = add(begin, h / n, &rate), next;
	for (int k = 1; k < n; k++) {
		rate = slope(c, ln_a + h * k / n, &now);
		next = add(&last, 2 * h / n, &rate);
		last = now;
		now = next;
	}
	rate = slope(c, ln_a + h, &now);
	next = add(&last, h / n, &rate);
	for (int k = 0; k < 2 * NB_NGROWTH; k++)
		next.y[k] = (next.y[k] + now.y[k]) / 2;
	return next;
}

/* The same, extrapolated to infinitely many steps (Bulirsch & Stoer): of order 16. */
static void advance(const struct nb_cosmology *c, double ln_a, struct state *s, double h)
{
	enum { COLUMNS = 8 };
	struct state t[COLUMNS];
	for (int i = 0; i < COLUMNS; i++) {
		struct state fresh = midpoints(c, ln_a, s, h, 2 * (i + 1));
		for (int j = 0; j < i; j++) {
			const double ratio = (double)(i + 1) / (i - j), weight = 1 / (ratio * ratio - 1);
			for (int k = 0; k < 2 * NB_NGROWTH; k++) {
				const double better = fresh.y[k] + (fresh.y[k] - t[j].y[k]) * weight;
				t[j].y[k] = fresh.y[k];
				fresh.y[k] = better;
			}
		}
		t[i] = fresh;
	}
	*s = t[COLUMNS - 1];
}

/* The growing solutions when either matter or radiation is all there is. */
static struct state begin_growth(const struct nb_cosmology *c, double a)
{
	const double equality = c->omega_r / c->omega_m;
	const double late[NB_NGROWTH] = {a, 3 * a * a / 7, a * a * a / 3, 10 * a * a * a / 21, a * a * a / 7};
	const double early[NB_NGROWTH] = {a + 2 * equality / 3, 2 * a * equality / 3, 8 * a * equality * equality / 9,
		8 * a * equality * equality / 9, 4 * a * equality * equality / 9};
	struct state s;
	for (int k = 0; k < NB_NGROWTH; k++) {
		const int power = k == NB_D1 ? 1 : k == NB_D2 ? 2 : 3;
		s.y[k] = equality > a ? early[k] : late[k];
		s.y[NB_NGROWTH + k] = equality > a ? (k == NB_D1 ? a : early[k]) : power * late[k];
	}
	return s;
}

void nb_cosmology_growth(const struct nb_cosmology *c, double a, struct nb_growth *growth)
{
	const double early = fmin(1e-14, a / 2), length = log(a / early);
	const int steps = (int)ceil(length / 0.5);
	struct state s = begin_growth(c, early);
	for (int k = 0; k < steps; k++)
		advance(c, log(early) + length * k / steps, &s, length / steps);
	for (int k = 0; k < NB_NGROWTH; k++) {
		growth->D[k] = s.y[k];
		growth->f[k] = s.y[NB_NGROWTH + k] / s.y[k];
	}
}
