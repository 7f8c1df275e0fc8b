/* Spherical models; sphere_internal.h describes them.  Tables are made once per model, then each body costs two table
 * look-ups and a few elementary functions. */
#include "kernels/models/sphere_internal.h"

#include "common/mem.h"
#include "kernels/models/sample_internal.h"

enum {
	NG = 2049,   /* radii, in equal steps of log r, at which mass and potential are known */
	NF = 512,    /* energies at which Eddington's formula is evaluated, as radii */
	NR = 385,    /* radii of the table of speeds */
	NQ = 160,    /* quantiles of the speed at each radius */
	NSTEP = 400, /* steps of an integral over energy */
};

struct grid {
	double first, step; /* of log r */
	double mass[NG], mass_slope[NG], psi[NG];
};

struct nb_sphere {
	enum nb_sphere_profile profile;
	double length, speed; /* see nb_sphere_length, nb_sphere_speed */
	double inner;	      /* M ~ r^inner within the first radius */
	double share;	      /* of the mass of the grid that is drawn from */
	struct grid grid;     /* G = 1; psi: potential > 0, relative to infinity */
	double log_inside[NG];
	double log_f[NF];    /* NFW: f at the energies psi(r), r in equal steps of log r */
	double quantile[NQ]; /* probabilities q; */
	double rate[NR][NQ]; /* the q-quantile of the speed over the largest one at the radius */
};

/* ---- mass and potential ------------------------------------------------------------------------- */

static double radius(const struct grid *g, int i)
{
	return exp(g->first + i * g->step);
}

static double last_log(const struct grid *g)
{
	return g->first + (NG - 1) * g->step;
}

/* Cubic polynomial by the values and slopes at both ends of a step of length h; t from 0 to 1. */
static double hermite(double t, double h, double y0, double y1, double slope0, double slope1)
{
	const double s = 1 - t;
	return s * s * ((1 + 2 * t) * y0 + t * h * slope0) + t * t * ((1 + 2 * s) * y1 - s * h * slope1);
}

struct inside {
	double mass, psi;
};

static struct inside inside(const struct grid *g, double log_r)
{
	const double place = (log_r - g->first) / g->step;
	int i = place > 0 ? (int)place : 0;
	i = i > NG - 2 ? NG - 2 : i;
	const double t = fmin(fmax(place - i, 0), 1);
	struct inside in;
	in.mass = hermite(t, g->step, g->mass[i], g->mass[i + 1], g->mass_slope[i], g->mass_slope[i + 1]);
	in.psi = hermite(
		t, g->step, g->psi[i], g->psi[i + 1], -g->mass[i] / radius(g, i), -g->mass[i + 1] / radius(g, i + 1));
	return in;
}

static void grid_init(struct grid *g, double first, double last)
{
	g->first = log(first);
	g->step = log(last / first) / (NG - 1);
}

/* ---- King --------------------------------------------------------------------------------------- */

/* exp(W) erf(sqrt(W)) - sqrt(4 W / pi) (1 + 2 W / 3), the density but for a factor (King 1966, eq. 11), as the series
 * of positive terms W^(5/2 + k) / Gamma(7/2 + k) */
static double king_density(double W)
{
	if (W <= 0)
		return 0;
	double term = W * W * sqrt(W) * 8 / (15 * sqrt(M_PI)), sum = 0;
	for (int k = 0; term > 1e-17 * sum; k++) {
		sum += term;
		term *= W / (3.5 + k);
	}
	return sum;
}

/* W and the mass in units of sigma^2 r0 / G, as functions of s = log r: dW/ds = -M / r, dM/ds = 9 rho / rho0 r^3 */
struct king {
	double W, mass;
};

static struct king king_slope(struct king at, double s, double rho0)
{
	const double r = exp(s);
	return (struct king){-at.mass / r, 9 * king_density(at.W) / rho0 * r * r * r};
}

/* Runge & Kutta's step of fourth order */
static struct king king_step(struct king y, double s, double h, double rho0)
{
	const struct king a = king_slope(y, s, rho0);
	const struct king b = king_slope((struct king){y.W + h / 2 * a.W, y.mass + h / 2 * a.mass}, s + h / 2, rho0);
	const struct king c = king_slope((struct king){y.W + h / 2 * b.W, y.mass + h / 2 * b.mass}, s + h / 2, rho0);
	const struct king d = king_slope((struct king){y.W + h * c.W, y.mass + h * c.mass}, s + h, rho0);
	return (struct king){y.W + h / 6 * (a.W + 2 * b.W + 2 * c.W + d.W),
		y.mass + h / 6 * (a.mass + 2 * b.mass + 2 * c.mass + d.mass)};
}

static void king(struct nb_sphere *sphere, double W0)
{
	const double first = 1e-3, h = 1. / 256, rho0 = king_density(W0);
	const struct king start = {W0 - 1.5 * first * first, 3 * first * first * first};
	struct king y = start, next;
	double s = log(first), low = 0, high = h;
	while ((next = king_step(y, s, h, rho0)).W > 0) {
		y = next;
		s += h;
	}
	for (int k = 0; k < 60; k++) { /* the part of the step after which W is 0 */
		const double middle = (low + high) / 2;
		if (king_step(y, s, middle, rho0).W > 0)
			low = middle;
		else
			high = middle;
	}
	const double edge = exp(s + low), mass = king_step(y, s, low, rho0).mass;
	struct grid *g = &sphere->grid;
	grid_init(g, first, edge);
	y = start;
	for (int i = 0; i < NG; i++) {
		if (i > 0)
			for (int k = 0; k < 4; k++)
				y = king_step(y, g->first + (i - 1 + k / 4.) * g->step, g->step / 4, rho0);
		g->mass[i] = i < NG - 1 ? y.mass : mass;
		g->mass_slope[i] = i < NG - 1 ? king_slope(y, g->first + i * g->step, rho0).mass : 0;
		g->psi[i] = mass / edge + (i < NG - 1 ? fmax(y.W, 0) : 0);
	}
	sphere->inner = 3;
}

/* ---- Hernquist ---------------------------------------------------------------------------------- */

/* Hernquist 1990, eq. 17, but for a factor; below q = 0.02, where the terms cancel, its series */
static double hernquist_f(double psi)
{
	const double q = sqrt(psi), q2 = psi;
	if (q < 0.02)
		return q2 * q2 * q * (25.6 + (25.6 * 2.5 - 192. / 7) * q2);
	const double top = 3 * asin(q) + q * sqrt(1 - q2) * (1 - 2 * q2) * (8 * q2 * q2 - 8 * q2 - 3);
	return top / pow(1 - q2, 2.5);
}

/* 2 |W| of the bodies within the cut-off, their mass called 1; s = r / (1 + r) there, M = s^2 */
static double hernquist_length(double s)
{
	return 4 / (3 * s) - 1;
}

double nb_sphere_hernquist_cut(double henon)
{
	double low = 0, high = 1;
	for (int k = 0; k < 100; k++) {
		const double s = (low + high) / 2;
		if (hernquist_length(s) * s / (1 - s) < henon)
			low = s;
		else
			high = s;
	}
	return low / (1 - low);
}

/* The energies of the bodies within the cut-off R.  From the Jeans equation, rho sigma^2 = int from r of rho M / r^2
 * dr, follows T = |W| / 2 + R^3 int from R of dr / (r (1 + r)^5), before the mass is called 1. */
static void hernquist(struct nb_sphere *sphere, double cut)
{
	const double s = cut / (1 + cut), y = 1 / (1 + cut);
	double tail = 0,
	       power = y * y * y * y * y; /* the integral as that of y^4 / (1 - y) from 0 to y = 1 / (1 + R) */
	for (int k = 5; power > 1e-17 * tail; k++) {
		tail += power / k;
		power *= y;
	}
	const double ekin = s * s * s / 3 - s * s * s * s / 4 + cut * cut * cut * tail;
	sphere->length = hernquist_length(s);
	sphere->speed = sqrt(0.25 * s * s / ekin);
	struct grid *g = &sphere->grid;
	grid_init(g, 1e-5, fmax(1e6, 10 * cut));
	for (int i = 0; i < NG; i++) {
		const double r = radius(g, i);
		g->mass[i] = r * r / ((1 + r) * (1 + r));
		g->mass_slope[i] = 2 * r * r / ((1 + r) * (1 + r) * (1 + r));
		g->psi[i] = 1 / (1 + r);
	}
	sphere->inner = 2;
	sphere->share = s * s / g->mass[NG - 1];
}

/* ---- Navarro, Frenk & White --------------------------------------------------------------------- */

enum { NFW_STEEP = 10, NFW_END = 4 }; /* virial radius over the length of the exponential; the grid's end over it */

/* 4 pi rho, its logarithmic slope, and the derivative of that by log r */
struct density {
	double rho, slope, curve;
};

static struct density nfw_density(double c, double r)
{
	const double x = fmin(r, c);
	struct density d = {1 / (x * (1 + x) * (1 + x)), -(1 + 3 * x) / (1 + x), -2 * x / ((1 + x) * (1 + x))};
	if (r > c) {
		const double power = d.slope + NFW_STEEP;
		d.rho *= pow(r / c, power) * exp(-NFW_STEEP * (r / c - 1));
		d.slope = power - NFW_STEEP * r / c;
		d.curve = -NFW_STEEP * r / c;
	}
	return d;
}

/* d^2 rho / d psi^2 times |d psi / d ln r|, but for a factor */
static double nfw_curvature(const struct grid *g, double c, double log_r)
{
	const double r = exp(log_r), mass = inside(g, log_r).mass;
	const struct density d = nfw_density(c, r);
	const double rho1 = d.rho * d.slope / r, rho2 = d.rho * (d.slope * d.slope - d.slope + d.curve) / (r * r);
	const double psi1 = -mass / (r * r), psi2 = 2 * mass / (r * r * r) - d.rho;
	return (rho2 * psi1 - rho1 * psi2) / (psi1 * psi1 * psi1) * -psi1 * r;
}

/* f at the energy psi(r); with r' = r exp(t^2) the root in the denominator is harmless at t = 0 */
static double nfw_f(const struct grid *g, double c, double log_r)
{
	const double psi = inside(g, log_r).psi, dt = sqrt(last_log(g) - log_r) / NSTEP;
	double sum = 0;
	for (int k = 0; k < NSTEP; k++) {
		const double t = (k + 0.5) * dt, at = log_r + t * t;
		sum += nfw_curvature(g, c, at) * 2 * t / sqrt(psi - inside(g, at).psi);
	}
	return sum * dt;
}

/* Integrals by the trapezoidal rule with its first correction. */
static void nfw(struct nb_sphere *sphere, double c)
{
	struct grid *g = &sphere->grid;
	grid_init(g, 1e-5, NFW_END * c);
	double slope[NG]; /* of mass_slope */
	for (int i = 0; i < NG; i++) {
		const double r = radius(g, i), cube = r * r * r;
		const struct density d = nfw_density(c, r);
		g->mass_slope[i] = d.rho * cube;
		slope[i] = d.rho * cube * (3 + d.slope);
		if (r <= c)
			g->mass[i] = log1p(r) - r / (1 + r);
		else
			g->mass[i] = g->mass[i - 1] + g->step / 2 * (g->mass_slope[i - 1] + g->mass_slope[i]) +
				     g->step * g->step / 12 * (slope[i - 1] - slope[i]);
	}
	g->psi[NG - 1] = g->mass[NG - 1] / radius(g, NG - 1);
	for (int i = NG - 2; i >= 0; i--) {
		const double r0 = radius(g, i), r1 = radius(g, i + 1);
		const double slope0 = (g->mass_slope[i] - g->mass[i]) / r0;
		const double slope1 = (g->mass_slope[i + 1] - g->mass[i + 1]) / r1;
		g->psi[i] = g->psi[i + 1] + g->step / 2 * (g->mass[i] / r0 + g->mass[i + 1] / r1) +
			    g->step * g->step / 12 * (slope0 - slope1);
	}
	for (int i = 0; i < NF; i++) {
		const double f = i < NF - 1 ? nfw_f(g, c, g->first + i * g->step * (NG - 1) / (NF - 1)) : 0;
		sphere->log_f[i] = f > 0 ? log(f) : -700;
	}
	sphere->inner = 2;
}

/* ---- tables ------------------------------------------------------------------------------------- */

/* f at energy psi, which is the potential at r; any factor */
static double distribution(const struct nb_sphere *s, double log_r, double psi)
{
	const struct grid *g = &s->grid;
	if (s->profile == NB_SPHERE_KING)
		return expm1(fmax(psi - g->psi[NG - 1], 0));
	if (s->profile == NB_SPHERE_HERNQUIST)
		return hernquist_f(psi);
	const double place = (log_r - g->first) / (g->step * (NG - 1)) * (NF - 1);
	int i = place > 0 ? (int)place : 0;
	i = i > NF - 2 ? NF - 2 : i;
	return exp(s->log_f[i] + (place - i) * (s->log_f[i + 1] - s->log_f[i]));
}

/* Quantiles of the speed at a radius: v^2 f(psi - v^2 / 2), with v from 0 (r' = r) to the speed that just reaches the
 * last radius. */
static void tabulate_speeds(struct nb_sphere *sphere, int i)
{
	const struct grid *g = &sphere->grid;
	const double log_r = g->first + i * g->step * (NG - 1) / (NR - 1), psi = inside(g, log_r).psi;
	const double dt = sqrt(last_log(g) - log_r) / NSTEP;
	double v[NSTEP + 1], sum[NSTEP + 1], last = 0;
	v[0] = sum[0] = 0;
	for (int k = 1; k <= NSTEP; k++) {
		const double t = k * dt, at = log_r + t * t, psi1 = inside(g, at).psi;
		v[k] = sqrt(fmax(2 * (psi - psi1), 0));
		const double here = v[k] * v[k] * distribution(sphere, at, psi1);
		sum[k] = sum[k - 1] + (here + last) * (v[k] - v[k - 1]) / 2;
		last = here;
	}
	for (int q = 0, k = 0; q < NQ; q++) {
		const double want = sphere->quantile[q] * sum[NSTEP];
		while (k < NSTEP - 1 && sum[k + 1] < want)
			k++;
		const double width = sum[k + 1] - sum[k], part = width > 0 ? (want - sum[k]) / width : 0;
		sphere->rate[i][q] = (v[k] + fmin(part, 1) * (v[k + 1] - v[k])) / v[NSTEP];
	}
}

/* -int M dM / r, the mass called 1 */
static double potential_energy(const struct grid *g)
{
	double sum = 0, before = 0;
	for (int i = 0; i < NG; i++) {
		const double mass = g->mass[i] / g->mass[NG - 1];
		sum -= (mass * mass - before * before) / (2 * exp(g->first + (i - 0.5) * g->step));
		before = mass;
	}
	return sum;
}

int nb_sphere_create(enum nb_sphere_profile profile, double shape, struct nb_sphere **sphere)
{
	struct nb_sphere *s = nb_alloc_zero(1, sizeof *s);
	*sphere = s;
	if (!s)
		return NB_ENOMEM;
	s->profile = profile;
	s->share = 1;
	const struct grid *g = &s->grid;
	if (profile == NB_SPHERE_HERNQUIST) {
		hernquist(s, shape);
	} else {
		if (profile == NB_SPHERE_KING)
			king(s, shape);
		else
			nfw(s, shape);
		/* in equilibrium T = |W| / 2; velocities are those of the mass of the grid */
		s->length = -2 * potential_energy(g);
		s->speed = 1 / sqrt(g->mass[NG - 1] * s->length);
	}
	for (int i = 0; i < NG; i++)
		s->log_inside[i] = log(g->mass[i] / g->mass[NG - 1]);
	for (int q = 0; q < NQ; q++) { /* dense at both ends */
		const double x = (double)q / (NQ - 1);
		s->quantile[q] = x * x * x * (4 - 3 * x);
	}
#pragma omp parallel for schedule(static)
	for (int i = 0; i < NR - 1; i++)
		tabulate_speeds(s, i);
	for (int q = 0; q < NQ; q++)
		s->rate[NR - 1][q] = s->rate[NR - 2][q];
	return NB_OK;
}

void nb_sphere_free(struct nb_sphere *sphere)
{
	nb_free(sphere);
}

double nb_sphere_length(const struct nb_sphere *sphere)
{
	return sphere->length;
}

double nb_sphere_speed(const struct nb_sphere *sphere)
{
	return sphere->speed;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

/* The interval of the sorted table that x is in. */
static int interval(const double *table, int n, double x)
{
	int low = 0, high = n - 1;
	while (high - low > 1) {
		const int middle = (low + high) / 2;
		if (table[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* log of the radius within which the share u of the mass lies */
static double log_radius_of(const struct nb_sphere *s, double u)
{
	const double want = log(u * s->share);
	if (want < s->log_inside[0])
		return s->grid.first + (want - s->log_inside[0]) / s->inner;
	const int i = interval(s->log_inside, NG, want);
	const double width = s->log_inside[i + 1] - s->log_inside[i];
	return s->grid.first + (i + (width > 0 ? fmin((want - s->log_inside[i]) / width, 1) : 0)) * s->grid.step;
}

double nb_sphere_edge(const struct nb_sphere *sphere)
{
	return exp(log_radius_of(sphere, 1));
}

double nb_sphere_inside(const struct nb_sphere *sphere, double r)
{
	const struct grid *g = &sphere->grid;
	const double log_r = log(r);
	if (log_r < g->first)
		return exp(sphere->log_inside[0] + sphere->inner * (log_r - g->first)) / sphere->share;
	return fmin(inside(g, log_r).mass / g->mass[NG - 1] / sphere->share, 1);
}

static double speed_at(const struct nb_sphere *s, double log_r, double u)
{
	const struct grid *g = &s->grid;
	double place = (log_r - g->first) / (g->step * (NG - 1)) * (NR - 1);
	place = fmin(fmax(place, 0), NR - 1);
	int i = (int)place;
	i = i > NR - 2 ? NR - 2 : i;
	const int q = interval(s->quantile, NQ, u);
	const double part = (u - s->quantile[q]) / (s->quantile[q + 1] - s->quantile[q]);
	const double v0 = s->rate[i][q] + part * (s->rate[i][q + 1] - s->rate[i][q]);
	const double v1 = s->rate[i + 1][q] + part * (s->rate[i + 1][q + 1] - s->rate[i + 1][q]);
	const double most = 2 * (inside(g, log_r).psi - g->psi[NG - 1]);
	return (v0 + (place - i) * (v1 - v0)) * sqrt(fmax(most, 0));
}

void nb_sphere_draw(const struct nb_sphere *sphere, uint64_t seed, uint32_t stream, int vel, uint64_t start,
	size_t count, double *out)
{
	double sum[3] = {0};
	for (size_t i = 0; i < count; i++) {
		const struct source from = {seed, start + i, stream};
		double u[2], d[2], v[2];
		draw(&from, 0, u);
		draw(&from, vel ? DRAW_VEL + 1 : 1, d);
		const double log_r = log_radius_of(sphere, u[0]);
		if (vel)
			draw(&from, DRAW_VEL, v);
		spherical(vel ? speed_at(sphere, log_r, v[0]) : exp(log_r), d[0], d[1], out + 3 * i);
		balance(sum, out + 3 * i, 3);
	}
}
