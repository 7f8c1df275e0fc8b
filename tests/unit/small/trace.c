/* A star and planets that meet: an orbit exactly; second order; encounters and passages of the star with the energy,
 * and forth and back; bodies without mass; few bodies; what is refused. */
#include "tests/unit/small/fifteen.h"

#include <math.h>
#include <string.h>

enum { MOST = 4 };

static double energy(size_t n, const double *mass, const double *x, const double *v)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		sum += mass[i] / 2 * (v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2]);
		for (size_t j = 0; j < i; j++)
			sum -= mass[i] * mass[j] /
			       hypot(hypot(x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1]),
				       x[3 * i + 2] - x[3 * j + 2]);
	}
	return sum;
}

struct run {
	size_t n;
	double mass[MOST], x[3 * MOST], v[3 * MOST];
};

/* Makes steps; returns the largest error of the energy on the way, as a fraction of it. */
static double integrate(struct run *r, double h, int steps, uint64_t *met, uint64_t *passed)
{
	struct nb_trace t;
	double most = 0;
	const double first = energy(r->n, r->mass, r->x, r->v);
	CHECK(nb_trace_begin(&t, r->n, r->mass, 1) == NB_OK);
	nb_trace_load(&t, r->x, r->v);
	for (int k = 0; k < steps; k++) {
		CHECK(nb_trace_step(&t, h) == NB_OK);
		nb_trace_store(&t, r->x, r->v);
		most = fmax(most, fabs(energy(r->n, r->mass, r->x, r->v) / first - 1));
	}
	*met = t.met;
	*passed = t.passed;
	printf("h %g: error %.3g, %lu met, %lu passed\n", h, most, (unsigned long)t.met, (unsigned long)t.passed);
	return most;
}

static double distance(size_t n, const double *x, const double *y)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most,
			hypot(hypot(x[3 * i] - y[3 * i], x[3 * i + 1] - y[3 * i + 1]), x[3 * i + 2] - y[3 * i + 2]));
	return most;
}

/* Planets of 1e-3 on circles of 1 and 1.9, the star at rest but for them; off: of the second planet on its circle. */
static struct run circles(double second, double off)
{
	struct run r = {.n = 3, .mass = {1, 1e-3, 1e-3}, .x = {0, 0, 0, 1, 0, 0}, .v = {0, 0, 0, 0, 1, 0}};
	r.x[6] = second * cos(off);
	r.x[7] = second * sin(off);
	r.v[6] = -sin(off) / sqrt(second);
	r.v[7] = cos(off) / sqrt(second);
	r.v[8] = 1e-3;
	return r;
}

static void test_orbit(void)
{
	struct run r = {.n = 2, .mass = {1, 0}, .x = {5, 0, 0, 6, 0, 0}, .v = {0.1, 0, 0, 0.1, 1.1, 0.2}};
	double q[3] = {1, 0, 0}, u[3] = {0, 1.1, 0.2};
	uint64_t met, passed;
	integrate(&r, 0.3, 100, &met, &passed);
	CHECK(nb_kepler_move(1, 30, q, u) == NB_OK && met == 0 && passed == 0);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(r.x[3 + d] - r.x[d], q[d], 2e-13);
		CHECK_NEAR(r.v[3 + d] - r.v[d], u[d], 2e-13);
		CHECK_NEAR(r.x[d], d == 0 ? 8 : 0, 1e-14);
	}
}

/* Half the step, a quarter of the error. */
static void test_order(void)
{
	double error[3];
	for (int k = 0; k < 3; k++) {
		struct run r = circles(1.9, 2), start = r;
		uint64_t met, passed;
		integrate(&r, 0.4 / (1 << k), 50 << k, &met, &passed);
		CHECK(met == 0 && passed == 0);
		follow_fifteen(start.n, start.mass, NULL, 20, start.x, start.v);
		error[k] = distance(3, r.x, start.x);
		printf("error %g\n", error[k]);
	}
	CHECK(error[0] < 1e-3 && error[0] / error[1] > 3 && error[0] / error[1] < 5.5);
	CHECK(error[1] / error[2] > 3.5 && error[1] / error[2] < 4.5);
}

/* So many steps lead back to the start. */
static void check_return(struct run *r, const struct run *start, double h, int steps)
{
	uint64_t met, passed;
	integrate(r, h, steps, &met, &passed);
	printf("back: %.3g\n", distance(3, r->x, start->x));
	CHECK(distance(3, r->x, start->x) < 1e-9);
}

/* Planets pass each other within a Hill radius, and come back. */
static void test_encounter(void)
{
	struct run r = circles(1.06, 0.3), start = r;
	uint64_t met, passed;
	const double error = integrate(&r, 0.2, 100, &met, &passed);
	CHECK(error < 4e-5 && met > 3 && met < 30 && passed == 0);
	CHECK(distance(3, r.x, start.x) > 0.1);
	check_return(&r, &start, -0.2, 100);
}

/* A comet on an orbit of eccentricity 0.99, and a planet that it does not meet. */
static void test_passage(void)
{
	struct run r = circles(3, 2.5), start = r;
	uint64_t met, passed;
	r.x[5] = start.x[5] = 0.3;
	r.v[4] = start.v[4] = 0.1;
	const double error = integrate(&r, 0.1, 200, &met, &passed);
	CHECK(error < 2e-4 && met == 0 && passed > 20 && passed < 80);
	check_return(&r, &start, -0.1, 200);
}

/* A body without mass that meets a planet does not move it, and two of them do not see each other. */
static void test_massless(void)
{
	struct run r = circles(1.06, 0.3), alone = r;
	uint64_t met, passed;
	r.n = 4;
	r.mass[2] = r.mass[3] = alone.mass[2] = 0;
	memcpy(&r.x[9], &r.x[6], 3 * sizeof *r.x);
	memcpy(&r.v[9], &r.v[6], 3 * sizeof *r.v);
	r.x[11] = 1e-7;
	integrate(&r, 0.2, 100, &met, &passed);
	CHECK(met > 3);
	struct run pair = alone;
	pair.n = 2;
	follow_fifteen(alone.n, alone.mass, NULL, 20, alone.x, alone.v);
	integrate(&pair, 0.2, 100, &met, &passed);
	CHECK(distance(2, r.x, pair.x) < 1e-13);
	CHECK(distance(3, r.x, alone.x) < 0.05);
	CHECK(distance(1, &r.x[9], &r.x[6]) < 1e-6);
}

static void test_few(void)
{
	const double mass[17] = {1, -1}, none[2] = {0, 1};
	double x[6] = {1, 2, 3, 1, 2, 3}, v[6] = {0.5, 0, 0};
	struct nb_trace t;
	for (size_t n = 0; n < 2; n++) {
		CHECK(nb_trace_begin(&t, n, mass, 1) == NB_OK);
		nb_trace_load(&t, x, v);
		CHECK(nb_trace_step(&t, 2) == NB_OK);
		nb_trace_store(&t, x, v);
		CHECK(x[0] == (n ? 2 : 1));
	}
	CHECK(nb_trace_begin(&t, 2, mass, 1) == NB_EUNSUPPORTED);
	CHECK(nb_trace_begin(&t, 2, none, 1) == NB_EUNSUPPORTED);
	CHECK(nb_trace_begin(&t, 17, mass, 1) == NB_EUNSUPPORTED);
	const double both[2] = {1, 1};
	memcpy(&x[3], x, 3 * sizeof *x);
	CHECK(nb_trace_begin(&t, 2, both, 1) == NB_OK);
	nb_trace_load(&t, x, v);
	CHECK(nb_trace_step(&t, 2) == NB_EUNSUPPORTED);
}

int main(void)
{
	test_orbit();
	test_order();
	test_encounter();
	test_passage();
	test_massless();
	test_few();
	return unit_end();
}
