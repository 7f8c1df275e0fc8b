/* ias15_cpu.c - steps of order 15 of a few bodies. */
#include "kernels/small/small.h"

#include <math.h>
#include <string.h>

enum { B = NB_IAS15_B };

/* Where forces are computed: zeros of P_7(2s - 1) + P_8(2s - 1), with Legendre's polynomials, beside 0. */
static const double node[B + 1] = {0, 0.05626256053692214646565219103231, 0.18024069173689236498757994280918,
	0.35262471711316963737390777017124, 0.54715362633055538300144855765234, 0.73421017721541053152321060830661,
	0.88532094683909576809035976293248, 0.97752061356128750189117450042915};

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

/* Accelerations at s->bodies.x, and with s->bodies.v where they matter. */
static int force(struct nb_ias15 *s, double *acc)
{
	const size_t n = s->n;
	memset(acc, 0, 3 * n * sizeof *acc);
	if (n < 2)
		return NB_OK;
	const int status = nb_small_force(&s->bodies);
	s->forces++;
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

/* Mean of positions or velocities; of bodies without mass, the first. */
static void find_centre(size_t n, const double *mass, const double *from, double to[3])
{
	double all = 0;
	for (size_t i = 0; i < n && n > 1; i++)
		all += mass[i];
	for (size_t d = 0; d < 3; d++) {
		to[d] = n > 0 ? from[d] : 0;
		for (size_t i = 1; i < n && all > 0; i++)
			to[d] += mass[i] / all * (from[3 * i + d] - from[d]);
	}
}

int nb_ias15_load(struct nb_ias15 *s, const double *pos, const double *vel, double eta, double longest, int way)
{
	const size_t n = s->n;
	double acc[NB_IAS15_NUMBERS];
	memset(s->centre, 0, sizeof s->centre);
	memset(s->drift, 0, sizeof s->drift);
	if (s->star == 0) {
		find_centre(n, s->bodies.mu, pos, s->centre);
		find_centre(n, s->bodies.mu, vel, s->drift);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++) {
			s->bodies.x[d][i] = s->x[d * n + i] = pos[3 * i + d] - s->centre[d];
			s->bodies.v[d][i] = s->v[d * n + i] = vel[3 * i + d] - s->drift[d];
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
	return force(s, acc);
}

/* What the b of a step foretell for the next one, which is q times as long, corrected by how much the last foretelling
 * missed. */
static void foretell(const struct nb_ias15 *s, double q, double b[B][NB_IAS15_NUMBERS], double e[B][NB_IAS15_NUMBERS])
{
	static const double binomial[B][B] = {{1, 2, 3, 4, 5, 6, 7}, {0, 1, 3, 6, 10, 15, 21}, {0, 0, 1, 4, 10, 20, 35},
		{0, 0, 0, 1, 5, 15, 35}, {0, 0, 0, 0, 1, 6, 21}, {0, 0, 0, 0, 0, 1, 7}, {0, 0, 0, 0, 0, 0, 1}};
	const size_t m = 3 * s->n;
	double power = 1;
	for (int k = 0; k < B; k++) {
		power *= q;
		for (size_t i = 0; i < m; i++) {
			double sum = 0;
			for (int j = B - 1; j >= k; j--)
				sum += binomial[k][j] * s->b[j][i];
			e[k][i] = power * sum;
			b[k][i] = e[k][i] + (s->b[k][i] - s->e[k][i]);
		}
	}
}

/* Coefficients of Newton's polynomials from those of powers. */
static void divide(const struct nb_ias15 *s, double b[B][NB_IAS15_NUMBERS], double g[B][NB_IAS15_NUMBERS])
{
	for (int k = B - 1; k >= 0; k--)
		for (size_t i = 0; i < 3 * s->n; i++) {
			double sum = b[k][i];
			for (int n = k + 1; n < B; n++)
				sum -= s->power[n][k] * g[n][i];
			g[k][i] = sum;
		}
}

/* Velocities at the part s of a step. */
static void predict_velocities(struct nb_ias15 *s, double h, double part, double b[B][NB_IAS15_NUMBERS])
{
	const size_t n = s->n;
	for (size_t d = 0; d < 3; d++)
		for (size_t i = 0, k = d * n; i < n; i++, k++) {
			double p = 0;
			for (int j = B - 1; j >= 0; j--)
				p = (p + b[j][k] / (j + 2)) * part;
			s->bodies.v[d][i] = s->v[k] + (s->rest_v[k] + (p + s->a0[k]) * (part * h));
		}
}

/* Positions at the part s of a step. */
static void predict(struct nb_ias15 *s, double h, double part, double b[B][NB_IAS15_NUMBERS])
{
	const size_t n = s->n;
	for (size_t d = 0; d < 3; d++)
		for (size_t i = 0, k = d * n; i < n; i++, k++) {
			double p = b[6][k] / 72;
			p = p * part + b[5][k] / 56;
			p = p * part + b[4][k] / 42;
			p = p * part + b[3][k] / 30;
			p = p * part + b[2][k] / 20;
			p = p * part + b[1][k] / 12;
			p = p * part + b[0][k] / 6;
			p = p * part + s->a0[k] / 2;
			s->bodies.x[d][i] = s->x[k] + (s->rest_x[k] + (p * (part * h) + s->v[k]) * (part * h));
		}
}

/* One node: the force there changes the divided difference of its order, and all b.  Returns the largest change of the
 * difference, as a fraction of the largest acceleration. */
static double correct(const struct nb_ias15 *s, int n, const double *acc, double b[B][NB_IAS15_NUMBERS],
	double g[B][NB_IAS15_NUMBERS])
{
	double changed = 0, largest = 0;
	for (size_t i = 0; i < 3 * s->n; i++) {
		double difference = (acc[i] - s->a0[i]) * s->inverse[n][0];
		for (int k = 1; k < n; k++)
			difference = (difference - g[k - 1][i]) * s->inverse[n][k];
		const double by = difference - g[n - 1][i];
		g[n - 1][i] = difference;
		for (int k = 0; k < n; k++)
			b[k][i] += by * s->power[n - 1][k];
		changed = fabs(by) > changed ? fabs(by) : changed;
		largest = fabs(acc[i]) > largest ? fabs(acc[i]) : largest;
	}
	return largest > 0 ? changed / largest : 0;
}

/* Finds the b of a step h; NB_EUNSUPPORTED: there is no force on the way. */
static int fit(struct nb_ias15 *s, double h, double b[B][NB_IAS15_NUMBERS])
{
	enum { ROUNDS_MOST = 12 };
	double g[B][NB_IAS15_NUMBERS], acc[NB_IAS15_NUMBERS], off = INFINITY, before = INFINITY;
	divide(s, b, g);
	for (int round = 0; round < ROUNDS_MOST && off > 1e-16 && (round < 3 || off < before); round++) {
		before = off;
		for (int n = 1; n <= B; n++) {
			predict(s, h, node[n], b);
			if (s->extra)
				predict_velocities(s, h, node[n], b);
			if (force(s, acc))
				return NB_EUNSUPPORTED;
			off = correct(s, n, acc, b, g);
		}
	}
	return NB_OK;
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

/* Square of the shortest time scale of a body at the end of a step h; INFINITY: there is none.  Where pulls cancel, as
 * on a body between two others, what is left would be too short a measure: all of them together take its place. */
static double time_scale2(const struct nb_ias15 *s, double h, double b[B][NB_IAS15_NUMBERS])
{
	const size_t n = s->n;
	double least = INFINITY, pull[NB_SMALL_MOST];
	find_pulls(s, pull);
	for (size_t i = 0; i < n; i++) {
		double jerk2 = 0, snap2 = 0;
		for (size_t k = i; k < 3 * n; k += n) {
			double jerk = 0, snap = 0;
			for (int j = 0; j < B; j++) {
				jerk += (j + 1) * b[j][k];
				snap += (j + 1) * j * b[j][k];
			}
			jerk2 += jerk * jerk;
			snap2 += snap * snap;
		}
		const double scale2 = 2 * pull[i] * pull[i] / (jerk2 + pull[i] * sqrt(snap2)) * h * h;
		if (pull[i] > 0 && !(scale2 > least))
			least = scale2;
	}
	return least;
}

static void add(double *sum, double *rest, double x)
{
	const double y = x + *rest, t = *sum + y;
	*rest = y - (t - *sum);
	*sum = t;
}

static void end_step(struct nb_ias15 *s, double h, double b[B][NB_IAS15_NUMBERS])
{
	const size_t m = 3 * s->n;
	memcpy(s->x0, s->x, sizeof s->x);
	memcpy(s->v0, s->v, sizeof s->v);
	for (size_t i = 0; i < m; i++) {
		double x = 0, v = 0;
		for (int k = B - 1; k >= 0; k--) {
			x += b[k][i] / ((k + 2) * (k + 3));
			v += b[k][i] / (k + 2);
		}
		add(&s->x[i], &s->rest_x[i], h * h * (x + s->a0[i] / 2));
		add(&s->x[i], &s->rest_x[i], h * s->v0[i]);
		add(&s->v[i], &s->rest_v[i], h * v);
		add(&s->v[i], &s->rest_v[i], h * s->a0[i]);
	}
	add(&s->elapsed, &s->rest, h);
	s->last = h;
}

int nb_ias15_step(struct nb_ias15 *s)
{
	enum { TRIALS_MOST = 500 };
	static const double LEAST = 0.25, MOST = 4; /* of one step to the next */
	const size_t n = s->n;
	double b[B][NB_IAS15_NUMBERS], e[B][NB_IAS15_NUMBERS], h = s->next, acc[NB_IAS15_NUMBERS];
	for (size_t d = 0; d < 3 && n > 0; d++) {
		memcpy(s->bodies.x[d], s->x + d * n, n * sizeof *s->x);
		memcpy(s->bodies.v[d], s->v + d * n, n * sizeof *s->v);
	}
	if (force(s, acc))
		return NB_EUNSUPPORTED;
	memcpy(s->a0, acc, sizeof acc);
	for (int trial = 0; trial < TRIALS_MOST; trial++) {
		if (s->last != 0)
			foretell(s, h / s->last, b, e);
		else {
			memset(b, 0, sizeof b);
			memset(e, 0, sizeof e);
		}
		const int lost = fit(s, h, b);
		const double next = lost ? 0 : s->eta * sqrt(time_scale2(s, h, b)), size = fabs(h);
		if (lost || !(next >= LEAST * size)) {
			h *= next > LEAST * LEAST * size ? next / size : LEAST * LEAST;
			s->repeated++;
			continue;
		}
		end_step(s, h, b);
		memcpy(s->b, b, sizeof b);
		memcpy(s->e, e, sizeof e);
		const double most = size * MOST < s->longest ? size * MOST : s->longest;
		s->next = copysign(next < most ? next : most, h);
		return NB_OK;
	}
	return NB_EUNSUPPORTED;
}

void nb_ias15_at(const struct nb_ias15 *s, double time, double *pos, double *vel)
{
	const size_t n = s->n;
	const double part = s->last != 0 ? time / s->last : 1, h = time,
		     after = s->elapsed + (s->rest + (time - s->last));
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < 3; d++) {
			const size_t m = d * n + i;
			double x = 0, v = 0;
			for (int k = B - 1; k >= 0 && part != 1; k--) {
				x = (x + s->b[k][m] / ((k + 2) * (k + 3))) * part;
				v = (v + s->b[k][m] / (k + 2)) * part;
			}
			x = part == 1 ? s->x[m] : s->x0[m] + h * (s->v0[m] + h * (s->a0[m] / 2 + x));
			v = part == 1 ? s->v[m] : s->v0[m] + h * (s->a0[m] + v);
			pos[3 * i + d] = x + (s->centre[d] + s->drift[d] * after);
			vel[3 * i + d] = v + s->drift[d];
		}
}
