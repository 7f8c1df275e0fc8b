/* Steps of order 15: the nodes; an orbit and a passage exactly, forth and back; states within a step; far from the
 * origin and in motion; bodies that are alone, or collide. */
#include "kernels/small/small.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static const double both[2] = {1, 0.3};

/* Two bodies of these masses, body 1 at q with velocity u from body 0. */
static void place(const double q[3], const double u[3], double shift, double boost, double x[6], double v[6])
{
	for (int d = 0; d < 3; d++) {
		x[d] = shift - 0.3 / 1.3 * q[d];
		x[3 + d] = x[d] + q[d];
		v[d] = boost - 0.3 / 1.3 * u[d];
		v[3 + d] = v[d] + u[d];
	}
}

/* Largest error of the separation, and of its velocity, after so long. */
static double error_after(const double *from_q, const double *from_u, double time, double shift, double boost)
{
	double x[6], v[6], q[3], u[3], error = 0;
	struct nb_ias15 s;
	memcpy(q, from_q, sizeof q);
	memcpy(u, from_u, sizeof u);
	place(q, u, shift, boost, x, v);
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0) == NB_OK);
	CHECK(nb_ias15_load(&s, x, v, 0.175, INFINITY, time < 0 ? -1 : 1) == NB_OK);
	for (int k = 0; k < 5000 && fabs(s.elapsed) < fabs(time); k++)
		CHECK(nb_ias15_step(&s) == NB_OK);
	CHECK(s.last * time > 0 && fabs(s.elapsed - time) <= fabs(s.last));
	nb_ias15_at(&s, s.last - (s.elapsed - time), x, v);
	CHECK(nb_kepler_move(1.3, time, q, u) == NB_OK);
	for (int d = 0; d < 3; d++) {
		error = fmax(error, fabs(x[3 + d] - x[d] - q[d]));
		error = fmax(error, fabs(v[3 + d] - v[d] - u[d]));
		CHECK_NEAR((x[d] + 0.3 * x[3 + d]) / 1.3, shift + boost * time,
			1e-15 * (1 + fabs(shift) + fabs(boost * time)) * 4);
	}
	printf("time %g: error %.3g, %lu steps repeated\n", time, error, (unsigned long)s.repeated);
	return error;
}

static void test_orbits(void)
{
	const double apart[3] = {1, 0, 0}, slow[3] = {0, 0.3, 0.1}, fast[3] = {-2, 0.1, 0}, far[3] = {8, 0.2, 0};
	CHECK(error_after(apart, slow, 17, 0, 0) < 2e-12); /* e = 0.92 */
	CHECK(error_after(apart, slow, -17, 0, 0) < 2e-12);
	CHECK(error_after(far, fast, 9, 0, 0) < 1e-12); /* a hyperbola through its pericentre */
	CHECK(error_after(apart, slow, 1e-7, 0, 0) < 1e-15);
	/* positions are rounded at 1000, and separations only where they are written */
	CHECK(error_after(apart, slow, 17, 1000, -3) < 2e-11);
}

/* A first step that is much too long is repeated until it is not. */
static void test_repeated(void)
{
	double x[6], v[6], q[3] = {1, 0, 0}, u[3] = {0, 0.8, 0};
	struct nb_ias15 s;
	place(q, u, 0, 0, x, v);
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0) == NB_OK && nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK);
	s.next *= 1e4;
	CHECK(nb_ias15_step(&s) == NB_OK);
	CHECK(s.repeated > 0 && s.last < 0.3);
	nb_ias15_at(&s, s.last, x, v);
	CHECK(nb_kepler_move(1.3, s.last, q, u) == NB_OK);
	for (int d = 0; d < 3; d++)
		CHECK_NEAR(x[3 + d] - x[d], q[d], 1e-14);
}

/* A state within a step is that of a run which ends there. */
static void test_within(void)
{
	const double q[3] = {1, 0, 0}, u[3] = {0, 0.8, 0};
	double x[6], v[6], y[6], w[6];
	struct nb_ias15 s, other;
	place(q, u, 0, 0, x, v);
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0.1) == NB_OK && nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK);
	for (int k = 0; k < 40; k++)
		CHECK(nb_ias15_step(&s) == NB_OK);
	nb_ias15_at(&s, 0, x, v);
	nb_ias15_at(&s, 0.4 * s.last, y, w);
	CHECK(nb_ias15_begin(&other, 2, both, 1, 0.1) == NB_OK);
	CHECK(nb_ias15_load(&other, x, v, 0.175, 0.4 * s.last, 1) == NB_OK);
	while (other.elapsed < 0.4 * s.last)
		CHECK(nb_ias15_step(&other) == NB_OK && other.last <= 0.4 * s.last);
	nb_ias15_at(&other, other.last - (other.elapsed - 0.4 * s.last), x, v);
	for (int k = 0; k < 6; k++) {
		CHECK_NEAR(x[k], y[k], 4e-15);
		CHECK_NEAR(v[k], w[k], 4e-15);
	}
}

/* Legendre's P_7 + P_8 of 2s - 1. */
static double radau(double s)
{
	const double x = 2 * s - 1;
	double before = 1, p = x;
	for (int k = 1; k < 8; k++) {
		const double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
		before = p;
		p = next;
	}
	return before + p;
}

static void test_nodes(void)
{
	struct nb_ias15 s;
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0) == NB_OK);
	for (int n = 1; n <= NB_IAS15_B; n++)
		CHECK_NEAR(radau(1 / s.inverse[n][0]), 0, 2e-14);
}

static void test_others(void)
{
	double x[6] = {1, 2, 3, 1, 2, 3}, v[6] = {0.5, -1, 0, 0.5, -1, 0};
	const double none[2] = {0, 0};
	struct nb_ias15 s;
	for (size_t n = 0; n < 2; n++) {
		CHECK(nb_ias15_begin(&s, n, both, 1, 0) == NB_OK && nb_ias15_load(&s, x, v, 0.175, 2, 1) == NB_OK);
		CHECK(nb_ias15_step(&s) == NB_OK && nb_ias15_step(&s) == NB_OK);
		nb_ias15_at(&s, s.last, x, v);
		CHECK(x[0] == (n ? 1 + 0.5 * s.elapsed : 1) && s.elapsed > 2);
		x[0] = 1;
		x[1] = 2;
	}
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0) == NB_OK);
	CHECK(nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_EUNSUPPORTED); /* at the same place */
	CHECK(nb_ias15_begin(&s, 2, none, 1, 0) == NB_OK);
	x[0] = 0;
	CHECK(nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK && nb_ias15_step(&s) == NB_OK);
	CHECK(s.last == 1);
	CHECK(nb_ias15_begin(&s, NB_SMALL_MOST + 1, both, 1, 0) == NB_EUNSUPPORTED);
	/* on a line into each other: steps become as short as the way that is left */
	const double q[3] = {1, 0, 0}, u[3] = {0, 0, 0};
	place(q, u, 0, 0, x, v);
	CHECK(nb_ias15_begin(&s, 2, both, 1, 0) == NB_OK && nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK);
	for (int k = 0; k < 2000 && nb_ias15_step(&s) == NB_OK && s.last > 1e-15; k++)
		;
	CHECK_NEAR(s.elapsed, M_PI / 2 / sqrt(2 * 1.3), 1e-9);
}

/* Systems of a swarm go where each goes alone, in any number of calls; those that fail do so alone. */
static void test_swarm(void)
{
	const size_t first[4] = {0, 3, 5, 7};
	const double masses[7] = {1, 1e-3, 1e-4, 0.5, 0.5, 1, 1};
	double x[21] = {0, 0, 0, 1, 0, 0, 0, 1.7, 0, 0, 0, 0, 2, 0, 0, 4, 0, 0, 4, 0, 0}, got_x[21], got_v[21];
	double v[21] = {0, 0, 0, 0, 1, 0, -0.7, 0, 0.1, 0, 0.4, 0, 0, -0.4, 0}, want_x[9], want_v[9];
	const struct nb_ias15_bodies all = {.systems = 3,
		.first = first,
		.mass = masses,
		.pos = x,
		.vel = v,
		.G = 1,
		.eta = 0.175,
		.longest = INFINITY,
		.way = 1,
		.begun = {7, 1e-17}};
	const double time[3] = {17, NAN, 17};
	struct nb_ias15_ended ended[3];
	struct nb_ias15_swarm *swarm;
	struct nb_ias15 s;
	size_t left = 1, calls = 0;
	CHECK(nb_ias15_swarm_begin_cpu(&swarm, &all) == NB_OK);
	for (; left > 0; calls++)
		CHECK(nb_ias15_swarm_until_cpu(swarm, time, 3, &left) == NB_OK);
	CHECK(nb_ias15_swarm_at_cpu(swarm, time, got_x, got_v, ended) == NB_OK);
	CHECK(calls > 5 && ended[1].steps == 0 && !ended[1].failed && ended[2].failed && ended[2].last == 0);
	CHECK(nb_ias15_begin(&s, 3, masses, 1, 0) == NB_OK && nb_ias15_load(&s, x, v, 0.175, INFINITY, 1) == NB_OK);
	while (s.elapsed < 10)
		CHECK(nb_ias15_step(&s) == NB_OK);
	CHECK(ended[0].elapsed == s.elapsed && ended[0].forces == s.forces);
	nb_ias15_at(&s, nb_ias15_within(ended[0].begun, ended[0].ended, s.last, 17), want_x, want_v);
	CHECK(memcmp(got_x, want_x, sizeof want_x) == 0 && memcmp(got_v, want_v, sizeof want_v) == 0);
	nb_ias15_at(&s, s.last - (s.elapsed - 10), want_x, want_v);
	for (int k = 0; k < 9; k++)
		CHECK_NEAR(got_x[k], want_x[k], 1e-14);
	nb_ias15_swarm_free_cpu(swarm);
}

int main(void)
{
	test_swarm();
	test_nodes();
	test_orbits();
	test_repeated();
	test_within();
	test_others();
	return unit_end();
}
