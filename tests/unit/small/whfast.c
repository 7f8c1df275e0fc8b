/* Wisdom and Holman's map: the plain one for every number of bodies, in either kind of coordinates; two bodies exactly,
 * forth and back; what is saved goes on; errors of first order in the masses vanish by correctors; what is refused;
 * orbits turn by relativity. */
#include "kernels/small/small.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

enum { MOST = NB_WHFAST_MOST };

static double mass[MOST + 1], pos[3 * MOST], vel[3 * MOST];

static double uniform(void)
{
	static uint64_t state = 5;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* A star that moves and planets on orbits of periods from 1 on, each 1.6 times as long as the one before. */
static void fill(double planet)
{
	for (int i = 0; i < MOST; i++) {
		const double a = pow(1.6, 2.0 / 3 * (i - 1)) * pow(2 * M_PI, -2.0 / 3), f = 7 * uniform();
		mass[i] = i == 0 ? 1 : i % 4 == 3 ? 0 : planet * uniform();
		const double x[3] = {a * cos(f), a * sin(f), 0.1 * a * uniform()}, speed = sqrt(1 / a);
		const double v[3] = {-speed * sin(f + 0.1), speed * cos(f), 0.05 * speed * uniform()};
		for (int d = 0; d < 3; d++) {
			pos[3 * i + d] = (i == 0 ? 0 : x[d]) + 1 + d;
			vel[3 * i + d] = (i == 0 ? 0 : v[d]) + 0.1 - 0.2 * d;
		}
	}
}

/* ---- the map as it is written in papers, one body after the other -------------------------------- */

struct plain {
	double q[MOST][3], u[MOST][3], within[MOST]; /* of body 0: the centre of mass; masses up to a body */
};

static void to_jacobi(size_t n, const double *from, double to[MOST][3])
{
	for (int d = 0; d < 3; d++) {
		double sum = mass[0] * from[d], all = mass[0];
		for (size_t i = 1; i < n; i++) {
			to[i][d] = from[3 * i + (size_t)d] - sum / all;
			sum += mass[i] * from[3 * i + (size_t)d];
			all += mass[i];
		}
		to[0][d] = sum / all;
	}
}

static void from_jacobi(size_t n, double from[MOST][3], double *to)
{
	for (int d = 0; d < 3; d++) {
		double x = from[0][d], all = 0;
		for (size_t i = 0; i < n; i++)
			all += mass[i];
		for (size_t i = n - 1; i > 0; i--) {
			x -= mass[i] * from[i][d] / all; /* of those before i */
			to[3 * i + (size_t)d] = x + from[i][d];
			all -= mass[i];
		}
		to[d] = x;
	}
}

static void plain_drift(size_t n, struct plain *p, double h)
{
	double all = mass[0];
	for (int d = 0; d < 3; d++)
		p->q[0][d] += h * p->u[0][d];
	for (size_t i = 1; i < n; i++) {
		all += mass[i];
		CHECK(nb_kepler_move(all, h, p->q[i], p->u[i]) == NB_OK);
	}
}

static void plain_kick(size_t n, struct plain *p, double h, double light)
{
	double x[3 * MOST], a[3 * MOST] = {0}, b[MOST][3], all = mass[0];
	from_jacobi(n, p->q, x);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			const double d[3] = {
				x[3 * j] - x[3 * i], x[3 * j + 1] - x[3 * i + 1], x[3 * j + 2] - x[3 * i + 2]};
			const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
			for (size_t k = 0; k < 3 && j != i && i + j > 1; k++) /* all but that of bodies 0 and 1 */
				a[3 * i + k] += mass[j] * d[k] / (r2 * sqrt(r2));
			for (size_t k = 0; k < 3 && j != i && i * j == 0; k++) /* by the star, and on it */
				a[3 * i + k] += mass[j] * d[k] * 6 * mass[0] / (light * light * r2 * r2);
		}
	to_jacobi(n, a, b);
	for (size_t i = 1; i < n; i++) {
		const double *q = p->q[i], r2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
		all += mass[i];
		for (int d = 0; d < 3; d++)
			p->u[i][d] += h * (b[i][d] + (i > 1 ? all * q[d] / (r2 * sqrt(r2)) : 0));
	}
}

static void test_steps(size_t n, double light)
{
	enum { STEPS = 12 };
	const double h = 0.04, G = 1;
	double x[3 * MOST], v[3 * MOST], want_x[3 * MOST], want_v[3 * MOST];
	struct nb_whfast w;
	struct plain p;
	fill(0.01);
	CHECK(nb_whfast_begin(&w, n, mass, G, 0, 0) == NB_OK);
	nb_whfast_relativity(&w, light);
	CHECK(nb_whfast_load(&w, pos, vel, h) == NB_OK);
	CHECK(nb_whfast_steps(&w, STEPS) == NB_OK);
	CHECK(nb_whfast_store(&w, x, v) == NB_OK);
	to_jacobi(n, pos, p.q);
	to_jacobi(n, vel, p.u);
	for (int k = 0; k < STEPS; k++) {
		plain_drift(n, &p, h / 2);
		plain_kick(n, &p, h, light);
		plain_drift(n, &p, h / 2);
	}
	from_jacobi(n, p.q, want_x);
	from_jacobi(n, p.u, want_v);
	for (size_t k = 0; k < 3 * n; k++) {
		CHECK_NEAR(x[k], want_x[k], 2e-13);
		CHECK_NEAR(v[k], want_v[k], 2e-12);
	}

	/* in two parts, the second from what the first has saved; a look changes nothing */
	double q[3 * MOST], u[3 * MOST];
	struct nb_whfast other;
	CHECK(nb_whfast_load(&w, pos, vel, h) == NB_OK && nb_whfast_steps(&w, 5) == NB_OK);
	CHECK(nb_whfast_store(&w, want_x, want_v) == NB_OK);
	nb_whfast_save(&w, q, u);
	CHECK(nb_whfast_begin(&other, n, mass, G, 0, 0) == NB_OK);
	nb_whfast_relativity(&other, light);
	nb_whfast_restore(&other, q, u, h);
	CHECK(nb_whfast_steps(&other, STEPS - 5) == NB_OK && nb_whfast_store(&other, want_x, want_v) == NB_OK);
	CHECK(memcmp(x, want_x, 3 * n * sizeof *x) == 0 && memcmp(v, want_v, 3 * n * sizeof *v) == 0);
}

static double energy(size_t n, const double *x, const double *v)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++)
			sum += mass[i] * v[3 * i + d] * v[3 * i + d] / 2;
		for (size_t j = 0; j < i; j++)
			sum -= mass[i] * mass[j] /
			       sqrt(pow(x[3 * i] - x[3 * j], 2) + pow(x[3 * i + 1] - x[3 * j + 1], 2) +
				       pow(x[3 * i + 2] - x[3 * j + 2], 2));
	}
	return sum;
}

/* Largest error of the energy of a star with two planets. */
static double energy_error(int corrector, int lazy, double h, double planet)
{
	double x[3 * MOST], v[3 * MOST], worst = 0;
	struct nb_whfast w;
	fill(0);
	memset(vel, 0, 3 * sizeof *vel); /* the kinetic energy of the whole would hide errors */
	for (int i = 1; i < 3; i++) {
		mass[i] = planet;
		for (int d = 0; d < 3; d++)
			vel[3 * i + d] -= 0.1 - 0.2 * d;
	}
	const double first = energy(3, pos, vel);
	CHECK(nb_whfast_begin(&w, 3, mass, 1, corrector, lazy) == NB_OK && nb_whfast_load(&w, pos, vel, h) == NB_OK);
	for (int k = 0; k < 20; k++) {
		CHECK(nb_whfast_steps(&w, 7) == NB_OK && nb_whfast_store(&w, x, v) == NB_OK);
		worst = fmax(worst, fabs(energy(3, x, v) / first - 1));
	}
	return worst;
}

/* What is left is of second order in the masses, or of higher order in h, which is 0.03 of the shorter period. */
/* ---- the same in democratic heliocentric coordinates --------------------------------------------- */

static void plain_jump(size_t n, struct plain *p, double h)
{
	for (int d = 0; d < 3; d++) {
		double sum = 0;
		for (size_t i = 1; i < n; i++)
			sum += mass[i] * p->u[i][d];
		for (size_t i = 1; i < n; i++)
			p->q[i][d] += h * sum / mass[0];
	}
}

static void plain_pulls(size_t n, struct plain *p, double h, double light)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double s[3], r2 = 0;
			for (int d = 0; d < 3; d++) {
				s[d] = (j > 0 ? p->q[j][d] : 0) - p->q[i][d];
				r2 += s[d] * s[d];
			}
			for (int d = 0; d < 3 && j != i; d++)
				p->u[i][d] += h * s[d] *
					      (j > 0 ? mass[j] / (r2 * sqrt(r2))
						     : 6 * mass[0] * mass[0] / (light * light * r2 * r2));
		}
}

static double mean_of(size_t n, const double *of, int d)
{
	double sum = 0, all = 0;
	for (size_t i = 0; i < n; i++) {
		sum += mass[i] * of[3 * i + (size_t)d];
		all += mass[i];
	}
	return sum / all;
}

static void plain_democratic_steps(size_t n, struct plain *p, double h, double light, int steps)
{
	for (int k = 0; k < 2 * steps; k++) {
		for (size_t i = 1; i < n; i++)
			CHECK(nb_kepler_move(mass[0], h / 2, p->q[i], p->u[i]) == NB_OK);
		if (k % 2 == 1)
			continue;
		plain_jump(n, p, h / 2);
		plain_pulls(n, p, h, light);
		plain_jump(n, p, h / 2);
	}
}

static void test_democratic(size_t n, double light)
{
	enum { STEPS = 12 };
	const double h = 0.04;
	double x[3 * MOST], v[3 * MOST];
	struct nb_whfast w;
	struct plain p = {0};
	fill(0.01);
	CHECK(nb_whfast_begin(&w, n, mass, 1, 0, 0) == NB_OK);
	nb_whfast_democratic(&w);
	nb_whfast_relativity(&w, light);
	CHECK(nb_whfast_load(&w, pos, vel, h) == NB_OK);
	CHECK(nb_whfast_steps(&w, STEPS) == NB_OK);
	CHECK(nb_whfast_store(&w, x, v) == NB_OK);
	for (size_t k = 3; k < 3 * n; k++) {
		p.q[k / 3][k % 3] = pos[k] - pos[k % 3];
		p.u[k / 3][k % 3] = vel[k] - mean_of(n, vel, (int)(k % 3));
	}
	plain_democratic_steps(n, &p, h, light, STEPS);
	for (size_t k = 3; k < 3 * n; k++) {
		CHECK_NEAR(x[k] - x[k % 3], p.q[k / 3][k % 3], 2e-13);
		CHECK_NEAR(v[k] - mean_of(n, v, (int)(k % 3)), p.u[k / 3][k % 3], 2e-12);
	}
	for (int d = 0; d < 3; d++) {
		const double drift = mean_of(n, vel, d);
		CHECK_NEAR(mean_of(n, v, d), drift, 1e-14);
		CHECK_NEAR(mean_of(n, x, d), mean_of(n, pos, d) + STEPS * h * drift, 1e-13);
	}
}

static void test_correctors(void)
{
	static const int order[] = {0, 3, 5, 7, 11, 17};
	static const double measured[] = {4.7e-9, 2.4e-11, 6.7e-12, 1.1e-13, 5.1e-14, 8.8e-14};
	for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
		const double error = energy_error(order[k], 0, 0.03, 1e-6);
		printf("corrector %d: energy error %.3g\n", order[k], error);
		CHECK(error < 1.5 * measured[k]);
	}
	/* of second order in the masses */
	const double standard = energy_error(17, 0, 0.02, 1e-3), lazy = energy_error(17, 1, 0.02, 1e-3);
	printf("energy error %.3g, with a lazy kernel %.3g\n", standard, lazy);
	CHECK(lazy < standard / 100);
}

/* Two bodies at the distance 1, the relative velocity u across. */
static void test_two(double u, double h, uint64_t steps)
{
	const double both[2] = {1, 0.3}, x[6] = {0, 0, 0, 1, 0, 0}, v[6] = {0, 0, 0, 0.1, u, 0},
		     time = (double)steps * h;
	const double limit = 2e-13 * (1 + fabs(time)), a = 1 / (2 - (0.01 + u * u) / 2.6);
	double got_x[6], got_v[6], q[3] = {1, 0, 0}, p[3] = {0.1, u, 0}, period;
	struct nb_whfast w;
	CHECK(nb_whfast_begin(&w, 2, both, 2, 17, 0) == NB_OK && nb_whfast_load(&w, x, v, h) == NB_OK);
	CHECK(nb_whfast_steps(&w, steps) == NB_OK && nb_whfast_store(&w, got_x, got_v) == NB_OK);
	CHECK(nb_kepler_move(2 * 1.3, time, q, p) == NB_OK);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(got_x[3 + d] - got_x[d], q[d], limit);
		CHECK_NEAR(got_v[3 + d] - got_v[d], p[d], 3 * limit);
		CHECK_NEAR(got_x[d] + 0.3 * got_x[3 + d], 0.3 * (x[3 + d] + time * v[3 + d]), limit);
	}
	CHECK_NEAR(nb_whfast_axis(&w, 1, &period), a, 1e-12);
	CHECK_NEAR(period, 2 * M_PI * sqrt(a * a * a / 2.6), 1e-12);
}

/* The angle by which an orbit of period 1 and eccentricity 0.2 turns in a hundred periods. */
static void test_precession(void)
{
	enum { STEPS = 64, PERIODS = 100 };
	const double both[2] = {1, 0}, e = 0.2, a = pow(2 * M_PI, -2.0 / 3), light = 1000 * sqrt(1 / a);
	const double x[6] = {0, 0, 0, a * (1 - e)}, v[6] = {0, 0, 0, 0, sqrt((1 + e) / (a * (1 - e)))};
	const double want = PERIODS * 6 * M_PI * 1e-6 / (1 - e * e);
	double got_x[6], got_v[6], turned[2];
	for (int k = 0; k < 2; k++) {
		struct nb_whfast w;
		CHECK(nb_whfast_begin(&w, 2, both, 1, 17, 0) == NB_OK);
		nb_whfast_relativity(&w, k == 0 ? light : INFINITY);
		CHECK(nb_whfast_load(&w, x, v, 1.0 / STEPS) == NB_OK);
		CHECK(nb_whfast_steps(&w, STEPS * PERIODS) == NB_OK && nb_whfast_store(&w, got_x, got_v) == NB_OK);
		const double *q = got_x + 3, *u = got_v + 3, r = hypot(q[0], q[1]), L = q[0] * u[1] - q[1] * u[0];
		turned[k] = atan2(-L * u[0] - q[1] / r, L * u[1] - q[0] / r); /* of the vector of Laplace */
	}
	CHECK_NEAR(turned[1], 0, 1e-12);
	CHECK_NEAR(turned[0] / want, 1, 1e-3);
}

static void test_refused(void)
{
	struct nb_whfast w;
	fill(0.01);
	CHECK(nb_whfast_begin(&w, MOST, mass, 1, 17, 0) == NB_OK);
	CHECK(nb_whfast_begin(&w, NB_WHFAST_MOST + 1, mass, 1, 0, 0) == NB_EUNSUPPORTED);
	CHECK(nb_whfast_begin(&w, 3, mass, 1, 9, 0) == NB_EUNSUPPORTED);
	CHECK(nb_whfast_begin(&w, 3, mass, 0, 0, 0) == NB_EUNSUPPORTED);
	CHECK(nb_whfast_begin(&w, 3, mass, -1, 0, 0) == NB_EUNSUPPORTED);
	CHECK(nb_whfast_begin(&w, 3, mass, (double)NAN, 0, 0) == NB_EUNSUPPORTED);
	mass[0] = 0;
	CHECK(nb_whfast_begin(&w, 3, mass, 1, 0, 0) == NB_EUNSUPPORTED);
	CHECK(nb_whfast_begin(&w, 1, mass, 1, 0, 0) == NB_OK);
	CHECK(nb_whfast_begin(&w, 0, mass, 1, 0, 0) == NB_OK);
	CHECK(nb_whfast_load(&w, pos, vel, 1) == NB_OK && nb_whfast_steps(&w, 3) == NB_OK &&
		nb_whfast_store(&w, pos, vel) == NB_OK);
	/* into the star: body 2 has no way on */
	const double x[9] = {0, 0, 0, 5, 0, 0, 1e-200, 0, 0}, v[9] = {0};
	mass[0] = 1;
	CHECK(nb_whfast_begin(&w, 3, mass, 1, 0, 0) == NB_OK);
	CHECK(nb_whfast_load(&w, x, v, 1e300) == NB_EUNSUPPORTED);
	CHECK(w.failed > 0);
}

/* Systems of a swarm go where each goes alone; one that fails stays where it was. */
static void test_swarm(void)
{
	struct nb_whfast w[3], got[3];
	struct nb_whfast_swarm *swarm;
	const uint64_t steps[3] = {20, 0, 7};
	fill(0.01);
	for (size_t k = 0; k < 3; k++) {
		CHECK(nb_whfast_begin(&w[k], 4 + k, mass, 1, 0, 0) == NB_OK);
		CHECK(nb_whfast_load(&w[k], pos, vel, 0.04) == NB_OK);
	}
	for (int d = 0; d < 3; d++)
		w[2].q[d][1] = w[2].v[d][1] = 0; /* in the star */
	CHECK(nb_whfast_swarm_begin_cpu(&swarm, w, 3) == NB_OK);
	int failed[2];
	for (int call = 0; call < 2; call++)
		CHECK(nb_whfast_swarm_steps_cpu(swarm, steps, &failed[call]) == NB_OK);
	CHECK(failed[0] == 1 && failed[1] == 0);
	CHECK(nb_whfast_swarm_state_cpu(swarm, got) == NB_OK);
	nb_whfast_swarm_free_cpu(swarm);
	CHECK(nb_whfast_steps(&w[0], 20) == NB_OK && nb_whfast_steps(&w[0], 20) == NB_OK);
	CHECK(memcmp(got, w, 2 * sizeof *w) == 0);
	CHECK(got[2].failed == 2 && memcmp(got[2].q, w[2].q, sizeof w[2].q) == 0);
}

int main(void)
{
	for (size_t n = 1; n <= MOST; n++)
		test_steps(n, INFINITY);
	static const double steps[] = {0.1, 0.25, -0.3, 2, 11};
	for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
		test_two(1.2, steps[k], 10);
	/* e = 0.95, from the apocentre to the pericentre */
	for (uint64_t k = 20; k < 400; k += 40)
		test_two(0.36, 0.8 / (double)k, k);
	test_correctors();
	test_refused();
	for (size_t n = 1; n <= MOST; n++) {
		test_steps(n, 50);
		test_democratic(n, 50);
		test_democratic(n, INFINITY);
	}
	test_precession();
	test_swarm();
	return unit_end();
}
