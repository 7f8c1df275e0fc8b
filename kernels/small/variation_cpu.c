/* variation_cpu.c - how fast neighbouring orbits part. */
#include "kernels/small/variation_body.h"
#include "kernels/small/whfast_internal.h"

#include <math.h>
#include <string.h>

enum { NUMBERS = 3 * NB_SMALL_MOST, NODES = 4, ROUNDS_MOST = 12 };

/* Between -1 and 1, from the number k. */
static double mix(uint64_t k)
{
	uint64_t z = (k + 1) * 0x9e3779b97f4a7c15u; /* splitmix64 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(int64_t)(z >> 11) * 0x1p-52 - 1;
}

/* n bodies, of which those before the first one are not varied. */
static void begin(struct nb_variation *w, size_t n, size_t first, const double *mu, const double *pos, double eps2)
{
	double least2 = INFINITY;
	*w = (struct nb_variation){0};
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double r2 = eps2;
			for (size_t k = 0; k < 3; k++)
				r2 += (pos[3 * i + k] - pos[3 * j + k]) * (pos[3 * i + k] - pos[3 * j + k]);
			const double pull = fabs(mu[i] + mu[j]);
			if (pull > 0)
				least2 = fmin(least2, r2 * sqrt(r2) / pull);
		}
	w->megno.unit2 = isfinite(least2) ? least2 : 1;
	for (size_t k = 3 * first; k < 3 * n; k++) {
		w->d[k] = mix(2 * k);
		w->u[k] = mix(2 * k + 1) / sqrt(w->megno.unit2);
	}
}

void nb_variation_begin(struct nb_variation *w, const struct nb_ias15 *run)
{
	double pos[3 * NB_SMALL_MOST];
	for (size_t i = 0; i < run->n; i++)
		for (size_t k = 0; k < 3; k++)
			pos[3 * i + k] = run->x[k * run->n + i];
	begin(w, run->n, 0, run->bodies.mu, pos, run->bodies.eps2);
}

void nb_variation_begin_whfast(struct nb_variation *w, struct nb_whfast *run, const double *pos)
{
	double mu[NB_WHFAST_MOST] = {run->star}, size2 = 0;
	for (size_t i = 1; i < run->n; i++)
		mu[i] = run->gm[i - 1];
	begin(w, run->n, 1, mu, pos, 0);
	for (size_t k = 0; k < 3 * run->n; k++)
		size2 += w->d[k] * w->d[k] + w->megno.unit2 * (w->u[k] * w->u[k]);
	w->megno.log_size2 = size2 > 0 ? nb_variation_log(size2) : 0;
	run->variation = w;
}

/* Accelerations of the variation d where the bodies are at pos. */
static void pull(const struct nb_ias15 *run, const double *pos, const double *d, double *acc)
{
	const size_t n = run->n;
	memset(acc, 0, 3 * n * sizeof *acc);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double r[3], e[3], s2 = run->bodies.eps2, along = 0;
			for (size_t k = 0; k < 3; k++) {
				r[k] = pos[3 * j + k] - pos[3 * i + k];
				e[k] = d[3 * j + k] - d[3 * i + k];
				s2 += r[k] * r[k];
				along += r[k] * e[k];
			}
			const double s3 = 1 / (s2 * sqrt(s2)), back = 3 * along / s2;
			for (size_t k = 0; k < 3; k++) {
				const double a = s3 * (e[k] - back * r[k]);
				acc[3 * i + k] += run->bodies.mu[j] * a;
				acc[3 * j + k] -= run->bodies.mu[i] * a;
			}
		}
	if (run->extra)
		nb_extra_vary(run->extra, n, run->bodies.mu, pos, d, acc);
}

/* Gauss' nodes of a step, and what the polynomial through values there, 1 in node j and 0 in the others, has as
 * integral from 0 to node i, and to the end. */
struct rule {
	double node[NODES], to[NODES][NODES], whole[NODES];
};

static struct rule find_rule(void)
{
	struct rule r;
	for (int k = 0; k < NODES; k++) {
		const double root = sqrt(3.0 / 7 + (k == 0 || k == 3 ? 1 : -1) * 2.0 / 7 * sqrt(6.0 / 5));
		r.node[k] = (k < 2 ? 1 - root : 1 + root) / 2;
	}
	for (int j = 0; j < NODES; j++) {
		double c[NODES] = {1}; /* of powers */
		for (int m = 0, degree = 0; m < NODES; m++) {
			const double scale = m == j ? 1 : 1 / (r.node[j] - r.node[m]);
			if (m == j)
				continue;
			for (int k = ++degree; k >= 0; k--)
				c[k] = ((k > 0 ? c[k - 1] : 0) - (k < degree ? r.node[m] * c[k] : 0)) * scale;
		}
		for (int i = 0; i <= NODES; i++) {
			const double x = i < NODES ? r.node[i] : 1;
			double sum = 0;
			for (int k = NODES - 1; k >= 0; k--)
				sum = (sum + c[k] / (k + 1)) * x;
			*(i < NODES ? &r.to[i][j] : &r.whole[j]) = sum;
		}
	}
	return r;
}

/* Half the rate of the logarithm of a size. */
static double rate_of(double unit2, size_t m, const double *d, const double *u, const double *acc)
{
	double rate = 0, size2 = 0;
	for (size_t k = 0; k < m; k++) {
		size2 += d[k] * d[k] + unit2 * u[k] * u[k];
		rate += d[k] * u[k] + unit2 * u[k] * acc[k];
	}
	return size2 > 0 ? rate / size2 : 0;
}

/* Velocities of the variation, and the variation itself, in the nodes of a step h, from accelerations there. */
static void integrate(const struct nb_variation *w, const struct rule *r, size_t m, double h, double a[NODES][NUMBERS],
	double u[NODES][NUMBERS], double d[NODES][NUMBERS])
{
	for (int i = 0; i < NODES; i++)
		for (size_t k = 0; k < m; k++) {
			double sum = 0;
			for (int j = 0; j < NODES; j++)
				sum += r->to[i][j] * a[j][k];
			u[i][k] = w->u[k] + h * sum;
		}
	for (int i = 0; i < NODES; i++)
		for (size_t k = 0; k < m; k++) {
			double sum = 0;
			for (int j = 0; j < NODES; j++)
				sum += r->to[i][j] * u[j][k];
			d[i][k] = w->d[k] + h * sum;
		}
}

/* Finds the accelerations in the nodes by iteration. */
static void fit(const struct nb_variation *w, const struct nb_ias15 *run, const struct rule *r,
	double a[NODES][NUMBERS], double u[NODES][NUMBERS], double d[NODES][NUMBERS])
{
	const size_t m = 3 * run->n;
	double pos[NODES][NUMBERS], vel[NUMBERS], was[NUMBERS], off = INFINITY, largest = 0;
	memset(a, 0, NODES * sizeof *a);
	for (int i = 0; i < NODES; i++)
		nb_ias15_at(run, r->node[i] * run->last, pos[i], vel);
	for (int round = 0; round < ROUNDS_MOST && off > 1e-16 * largest; round++) {
		integrate(w, r, m, run->last, a, u, d);
		off = largest = 0;
		for (int i = 0; i < NODES; i++) {
			memcpy(was, a[i], sizeof was);
			pull(run, pos[i], d[i], a[i]);
			for (size_t k = 0; k < m; k++) {
				off = fmax(off, fabs(a[i][k] - was[k]));
				largest = fmax(largest, fabs(a[i][k]));
			}
		}
	}
}

void nb_variation_follow(struct nb_variation *w, const struct nb_ias15 *run)
{
	const struct rule r = find_rule();
	const size_t m = 3 * run->n;
	const double h = run->last;
	double a[NODES][NUMBERS], u[NODES][NUMBERS], d[NODES][NUMBERS], size2 = 0, more = 0;
	if (run->n < 2)
		return;
	fit(w, run, &r, a, u, d);
	for (int i = 0; i < NODES; i++)
		more += h * r.whole[i] * (w->megno.time + r.node[i] * h) * rate_of(w->megno.unit2, m, d[i], u[i], a[i]);
	for (size_t k = 0; k < m; k++) {
		for (int i = 0; i < NODES; i++) {
			w->d[k] += h * r.whole[i] * u[i][k];
			w->u[k] += h * r.whole[i] * a[i][k];
		}
		size2 += w->d[k] * w->d[k] + w->megno.unit2 * w->u[k] * w->u[k];
	}
	for (size_t k = 0; k < m && size2 > nb_variation_large2; k++) {
		w->d[k] *= nb_variation_smaller;
		w->u[k] *= nb_variation_smaller;
	}
	nb_megno_add(&w->megno, h, more);
}

double nb_variation_megno(const struct nb_variation *w)
{
	return w->megno.time != 0 ? w->megno.integral / w->megno.time : 0;
}

double nb_variation_exponent(const struct nb_variation *w)
{
	const struct nb_megno *m = &w->megno;
	return m->n > 2 && m->spread > 0 ? copysign(1, m->time) * m->both / m->spread : 0;
}

void nb_variation_carry(struct nb_variation *w, size_t n, struct nb_carry *c)
{
	struct nb_megno *m = &w->megno;
	double *const one[] = {&m->unit2, &m->time, &m->part, &m->y, &m->integral, &m->log_size2, &m->n, &m->mean_t,
		&m->mean_y, &m->spread, &m->both};
	nb_carry_numbers(c, w->d, 3 * n);
	nb_carry_numbers(c, w->u, 3 * n);
	for (size_t k = 0; k < sizeof one / sizeof *one; k++)
		nb_carry_numbers(c, one[k], 1);
}

int nb_variation_change_step(const struct nb_whfast *run, double h)
{
	struct nb_whfast at = *run;
	int status = nb_whfast_drift(&at, -at.h / 2);
	status = status ? status : nb_whfast_correct(&at, -1);
	at.h = h;
	status = status ? status : nb_whfast_correct(&at, 1);
	return status ? status : nb_whfast_drift(&at, h / 2);
}
