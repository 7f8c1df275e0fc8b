/* ias15_cpu.c - steps of order 15 of a few bodies. */
#include "kernels/small/small.h"
#include "kernels/small/small_internal.h"

#include <math.h>
#include <string.h>

/* Square of the distance to a star in the origin. */
static double from_star2(const struct nb_small *bodies, size_t i)
{
	return bodies->x[0][i] * bodies->x[0][i] + bodies->x[1][i] * bodies->x[1][i] +
	       bodies->x[2][i] * bodies->x[2][i];
}

/* To the accelerations of the bodies, in the other order of numbers. */
static void add_extra(const struct nb_ias15 *s, double *acc)
{
	const size_t n = s->n;
	double x[NB_IAS15_NUMBERS] = {0}, v[NB_IAS15_NUMBERS] = {0}, a[NB_IAS15_NUMBERS] = {0};
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++) {
			x[3 * i + d] = s->bodies.x[d][i];
			v[3 * i + d] = s->bodies.v[d][i];
		}
	nb_extra_add(s->extra, n, s->bodies.mu, x, v, a, NULL);
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++)
			acc[d * n + i] += a[3 * i + d];
}

/* Accelerations at positions, which go to s->bodies, and with velocities, where they matter. */
static int force(struct nb_ias15 *s, const double *at, const double *rate, double *acc)
{
	const size_t n = s->n;
	for (size_t d = 0; d < 3 && n > 0; d++)
		memcpy(s->bodies.x[d], at + d * n, n * sizeof *at);
	for (size_t d = 0; d < 3 && n > 0 && s->extra; d++)
		memcpy(s->bodies.v[d], rate + d * n, n * sizeof *rate);
	memset(acc, 0, 3 * n * sizeof *acc);
	if (n < 2)
		return NB_OK;
	const int status = nb_small_force(&s->bodies);
	for (size_t d = 0; d < 3; d++)
		memcpy(acc + d * n, s->bodies.acc[d], n * sizeof *acc);
	for (size_t i = 0; i < n && s->star > 0; i++) {
		const double r2 = from_star2(&s->bodies, i), w = s->star / (r2 * sqrt(r2));
		for (size_t d = 0; d < 3; d++)
			acc[d * n + i] -= w * s->bodies.x[d][i];
	}
	if (s->extra)
		add_extra(s, acc);
	return status;
}

static double softened_r2(const struct nb_small *bodies, size_t i, size_t j)
{
	double r2 = bodies->eps2;
	for (size_t d = 0; d < 3; d++) {
		const double x = bodies->x[d][j] - bodies->x[d][i];
		r2 += x * x;
	}
	return r2;
}

/* A thousandth of the shortest circle that two bodies at their distances could be on. */
static double first_step(const struct nb_ias15 *s)
{
	double least = INFINITY;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < i; j++) {
			const double r2 = softened_r2(&s->bodies, i, j);
			const double pull = fabs(s->bodies.mu[i] + s->bodies.mu[j]);
			if (pull > 0)
				least = fmin(least, r2 * sqrt(r2) / pull);
		}
	return 2e-3 * M_PI * sqrt(least);
}

int nb_ias15_load(struct nb_ias15 *s, const double *pos, const double *vel, double eta, double longest, int way)
{
	const size_t n = s->n;
	double acc[NB_IAS15_NUMBERS];
	memset(s->centre, 0, sizeof s->centre);
	memset(s->drift, 0, sizeof s->drift);
	if (s->star == 0) {
		nb_small_centre(n, s->bodies.mu, pos, s->centre);
		nb_small_centre(n, s->bodies.mu, vel, s->drift);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++) {
			s->bodies.x[d][i] = s->x[d * n + i] = pos[3 * i + d] - s->centre[d];
			s->v[d * n + i] = vel[3 * i + d] - s->drift[d];
		}
	memset(s->rest_x, 0, sizeof s->rest_x);
	memset(s->rest_v, 0, sizeof s->rest_v);
	memset(s->b, 0, sizeof s->b);
	memset(s->e, 0, sizeof s->e);
	s->eta = eta;
	s->longest = longest;
	s->last = s->elapsed = s->rest = 0;
	/* nothing that moves has a step of its own */
	const double first = first_step(s), most = isfinite(longest) ? longest : 1;
	s->next = way * (isfinite(first) ? fmin(first, longest) : most);
	s->forces += n > 1;
	return force(s, s->x, s->v, acc);
}

/* Sums of the sizes of all pulls on each body at s->bodies.x. */
static void find_pulls(const struct nb_ias15 *s, double *pull)
{
	for (size_t i = 0; i < s->n; i++)
		pull[i] = s->star > 0 ? s->star / from_star2(&s->bodies, i) : 0;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < i; j++) {
			const double r2 = softened_r2(&s->bodies, i, j);
			pull[i] += fabs(s->bodies.mu[j]) / r2;
			pull[j] += fabs(s->bodies.mu[i]) / r2;
		}
}

#define STATE struct nb_ias15
#define WIDE NB_IAS15_NUMBERS
#define BODIES(s) ((s)->n)
#define HAS_VELOCITIES(s) ((s)->extra != NULL)
#define POWER(s, n, k) (s)->power[n][k]
#define INVERSE(s, n, k) (s)->inverse[n][k]
#define ANY(it) (it)
#define SOME(it) (it)
#define LARGEST(x) (x)
#define LEAST(x) (x)
#define HERE static inline
#define TABLE static const
#define UNROLL
#include "kernels/small/ias15_body.h"

/* Newton's polynomials s (s - s_1) .. (s - s_n) in powers of s, and 1 / (s_n - s_k). */
static void find_nodes(struct nb_ias15 *s)
{
	s->power[0][0] = 1;
	for (int n = 1; n < B; n++)
		for (int k = 0; k <= n; k++)
			s->power[n][k] = (k > 0 ? s->power[n - 1][k - 1] : 0) -
					 node[n] * (k < n ? s->power[n - 1][k] : 0);
	for (int n = 1; n <= B; n++)
		for (int k = 0; k < n; k++)
			s->inverse[n][k] = 1 / (node[n] - node[k]);
}

int nb_ias15_begin(struct nb_ias15 *s, size_t n, const double *mass, double G, double eps)
{
	*s = (struct nb_ias15){.n = n};
	find_nodes(s);
	return n < 2 ? NB_OK : nb_small_begin(&s->bodies, n, mass, G, eps);
}

int nb_ias15_step(struct nb_ias15 *s)
{
	for (int trial = 0; trial < NB_IAS15_TRIALS; trial++)
		switch (try_step(s, 1)) {
		case TRIAL_MADE: return NB_OK;
		case TRIAL_TOO_LONG: break;
		case TRIAL_NO_FORCE: return NB_EUNSUPPORTED;
		}
	return NB_EUNSUPPORTED;
}

void nb_ias15_at(const struct nb_ias15 *s, double time, double *pos, double *vel)
{
	const size_t n = s->n;
	const double part = s->last != 0 ? time / s->last : 1, after = s->elapsed + (s->rest + (time - s->last));
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++) {
			double x, v;
			number_at(s, d * n + i, time, part, &x, &v);
			pos[3 * i + d] = x + (s->centre[d] + s->drift[d] * after);
			vel[3 * i + d] = v + s->drift[d];
		}
}

int nb_ias15_carry(struct nb_ias15 *s, struct nb_carry *c)
{
	double *const list[] = {s->x, s->v, s->rest_x, s->rest_v, s->x0, s->v0, s->a0};
	const double before = s->next;
	for (size_t k = 0; k < sizeof list / sizeof *list; k++)
		nb_carry_numbers(c, list[k], 3 * s->n);
	for (int k = 0; k < B; k++) {
		nb_carry_numbers(c, s->b[k], 3 * s->n);
		nb_carry_numbers(c, s->e[k], 3 * s->n);
	}
	nb_carry_numbers(c, s->centre, 3);
	nb_carry_numbers(c, s->drift, 3);
	nb_carry_numbers(c, &s->next, 1);
	nb_carry_numbers(c, &s->last, 1);
	nb_carry_numbers(c, &s->elapsed, 1);
	nb_carry_numbers(c, &s->rest, 1);
	if (!(isfinite(s->next) && s->next * before > 0 && fabs(s->next) <= s->longest && isfinite(s->last)))
		return NB_EUNSUPPORTED;
	/* the rest of a step that has been made would be one with the forces of then */
	double acc[NB_IAS15_NUMBERS];
	if (c->back && (force(s, s->x0, s->v0, acc) || memcmp(acc, s->a0, 3 * s->n * sizeof *acc) != 0))
		return NB_EUNSUPPORTED;
	return NB_OK;
}
