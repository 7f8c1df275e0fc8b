/* Algorithmic regularisation: orbits of two bodies up to straight lines, against those of kepler.h; states within a
 * step; forth and back; the problem of Burrau; bodies without mass; forces beside gravity; few bodies. */
#include "tests/unit/small/fifteen.h"

#include <math.h>
#include <string.h>

static const double both[NB_SMALL_MOST + 1] = {3, 4, 5};

/* The state at a time, on the way that s is on. */
static void follow(struct nb_ar *s, double time, double *x, double *v)
{
	double begun = 0;
	for (int made = 0; fabs(nb_ar_elapsed(s)) < fabs(time) && made < 10000; made++) {
		begun = nb_ar_elapsed(s);
		if (nb_ar_step(s) || !(s->last * time > 0))
			break;
	}
	CHECK(fabs(nb_ar_elapsed(s)) >= fabs(time));
	CHECK(nb_ar_at(s, time - begun, x, v) == NB_OK);
}

/* From apocentre, 2 - 1e-12 to 1.1 times the semi-major axis, one and a half periods and a bit: 1 - e = closest. */
static void check_orbit(double closest, double tolerance)
{
	struct nb_ar s;
	const double mass[2] = {0.7, 0.3}, speed = sqrt(closest / (2 - closest)), time = 3 * M_PI + 1;
	double x[6] = {5, 6, 7, 7 - closest, 6, 7}, v[6] = {1, 0, 0, 1, speed, 0};
	double q[3] = {x[3] - x[0], 0, 0}, u[3] = {0, speed, 0};
	CHECK(nb_ar_begin(&s, 2, mass, 1) == NB_OK && nb_ar_load(&s, x, v, INFINITY, 1) == NB_OK);
	follow(&s, time, x, v);
	CHECK(nb_kepler_move(1, time, q, u) == NB_OK);
	printf("1 - e = %g: %.3g %.3g, %lu forces\n", closest, x[3] - x[0] - q[0], v[3] - v[0] - u[0],
		(unsigned long)s.forces);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(x[3 + d] - x[d], q[d], tolerance);
		CHECK_NEAR(v[3 + d] - v[d], u[d], tolerance);
		CHECK_NEAR(0.7 * x[d] + 0.3 * x[3 + d],
			(d == 0 ? 5.6 - 0.3 * closest : 6.0 + (d == 2)) + (d == 0	   ? time
										  : d == 1 ? 0.3 * speed * time
											   : 0),
			1e-13);
	}
}

static void test_orbits(void)
{
	static const double closest[] = {0.9, 0.1, 1e-4, 1e-8, 1e-12, 0};
	for (size_t k = 0; k < sizeof closest / sizeof *closest; k++)
		check_orbit(closest[k], 1e-11);
}

static double distance(size_t n, const double *x, const double *y)
{
	double most = 0;
	for (size_t k = 0; k < n; k++)
		most = !(fabs(x[k] - y[k]) <= most) ? fabs(x[k] - y[k]) : most;
	return most;
}

static const double burrau[9] = {1, 3, 0, -2, -1, 0, 1, -1, 0};

/* Integrated with 160 bits; encounters make errors 1e10 times as large. */
static void test_burrau(void)
{
	static const struct {
		double time, x[9], error;
	} known[] = {{20,
			     {3.004292636696399205, 0.5119252350246858656, 0, -1.388626537510895392,
				     -0.4704760502527221681, 0, -0.6916743520091232093, 0.06922569918736621514, 0},
			     5e-11},
		{59,
			{-0.6133562657610142412, -1.256610937081316641, 0, 0.6346547073626101474,
				0.009252573972788964868, 0, -0.1397100064334795732, 0.7465645030705588129, 0},
			2e-5}};
	struct nb_ar s;
	double x[9], v[9] = {0}, u[9], y[9];
	CHECK(nb_ar_begin(&s, 3, both, 1) == NB_OK && nb_ar_load(&s, burrau, v, INFINITY, 1) == NB_OK);
	for (int k = 0; k < 2; k++) {
		follow(&s, known[k].time, x, u);
		printf("t %g: %.3g, %lu forces\n", known[k].time, distance(9, x, known[k].x), (unsigned long)s.forces);
		CHECK(distance(9, x, known[k].x) < known[k].error);
		if (k == 0) { /* and back */
			struct nb_ar back = s;
			CHECK(nb_ar_load(&back, x, u, INFINITY, -1) == NB_OK);
			follow(&back, -20, y, u);
			printf("back: %.3g\n", distance(9, y, burrau));
			CHECK(distance(9, y, burrau) < 1e-9 && distance(9, u, v) < 1e-9);
		}
	}
}

/* States at times within steps, and at their ends, are those of a run that has other steps. */
static void test_within(void)
{
	struct nb_ar s, other;
	double v[9] = {0}, x[9], u[9], y[9], w[9];
	CHECK(nb_ar_begin(&s, 3, both, 1) == NB_OK && nb_ar_load(&s, burrau, v, INFINITY, 1) == NB_OK);
	while (nb_ar_elapsed(&s) < 1.88) /* in a step through an encounter */
		CHECK(nb_ar_step(&s) == NB_OK);
	for (int k = 0; k <= 8; k++) {
		const double begun = nb_ar_elapsed(&s) - s.last;
		CHECK(nb_ar_at(&s, k / 8.0 * s.last, x, u) == NB_OK);
		other = s;
		CHECK(nb_ar_load(&other, burrau, v, 0.001, 1) == NB_OK);
		follow(&other, begun + k / 8.0 * s.last, y, w);
		CHECK(other.last <= 0.001);
		CHECK(distance(9, x, y) < 1e-12);
	}
}

/* About a star alone; with a planet and a body that does not pull beside it; and all beyond gravity. */
static void test_forces(void)
{
	const double mass[3] = {1, 0, 0}, with[3] = {1, 1e-3, 0};
	const double start[9] = {0, 0, 0, 1, 0, 0, 0, 1.9, 0}, rate[9] = {0, 0, 0, 0, 0.1, 0, -0.3, 0, 0.1};
	double x[9], v[9], y[9], w[9], q[3] = {1, 0, 0}, u[3] = {0, 0.1, 0};
	struct nb_ar s;
	struct nb_extra extra;
	char why[NB_TERM_WHY];
	CHECK(nb_ar_begin(&s, 3, mass, 1) == NB_OK && nb_ar_load(&s, start, rate, INFINITY, 1) == NB_OK);
	follow(&s, 20, x, v);
	CHECK(nb_kepler_move(1, 20, q, u) == NB_OK);
	printf("massless: %.3g\n", distance(3, q, &x[3]));
	CHECK(distance(3, q, &x[3]) < 1e-9 && distance(3, u, &v[3]) < 1e-8);
	CHECK(nb_extra_parse("gr-potential:c=300", &extra, why) == NB_OK);
	CHECK(nb_extra_find(&extra, 3, with, NULL, why) == NB_OK);
	for (int k = 0; k < 2; k++) {
		CHECK(nb_ar_begin(&s, 3, with, 1) == NB_OK);
		s.extra = k ? &extra : NULL;
		CHECK(nb_ar_load(&s, start, rate, INFINITY, 1) == NB_OK);
		memcpy(y, start, sizeof y);
		memcpy(w, rate, sizeof w);
		follow(&s, 20, x, v);
		follow_fifteen(3, with, s.extra, 20, y, w);
		printf("%s: %.3g, %.3g from the other\n", k ? "extra" : "planet", distance(9, x, y),
			distance(3, q, &x[3]));
		CHECK(distance(9, x, y) < 1e-9 && distance(3, q, &x[3]) > 1e-3);
	}
}

/* A binary as small as 1e-9 of the distance to a third body, which stands between both in the order, keeps its digits.
 */
static void test_chain(void)
{
	const double mass[3] = {0.5, 1e-12, 0.5}, size = 1e-9, time = 10 * size * sqrt(size);
	double x[9] = {-size / 2, 0, 0, 1, 0, 0, size / 2, 0, 0}, v[9] = {0}, q[3] = {size, 0, 0}, u[3] = {0};
	struct nb_ar s;
	u[1] = 1.2 / sqrt(size);
	v[1] = -u[1] / 2;
	v[7] = u[1] / 2;
	CHECK(nb_ar_begin(&s, 3, mass, 1) == NB_OK && nb_ar_load(&s, x, v, INFINITY, 1) == NB_OK);
	follow(&s, time, x, v);
	CHECK(nb_kepler_move(1, time, q, u) == NB_OK);
	printf("binary: %.3g\n", (x[6] - x[0] - q[0]) / size);
	for (int d = 0; d < 3; d++)
		CHECK_NEAR((x[6 + d] - x[d]) / size, q[d] / size, 1e-10);
}

/* Sixteen bodies that fall together, with their energy. */
static void test_many(void)
{
	enum { N = NB_SMALL_MOST };
	double mass[N], x[3 * N], v[3 * N] = {0}, sum[2] = {0};
	struct nb_ar s;
	unsigned seed = 1;
	for (size_t k = 0; k < 3 * N; k++) {
		seed = seed * 1664525u + 1013904223u;
		x[k] = seed / 4294967296.0;
		mass[k / 3] = (1 + (double)(k / 3)) / 136;
	}
	CHECK(nb_ar_begin(&s, N, mass, 1) == NB_OK);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < i; j++)
				sum[k] -= mass[i] * mass[j] /
					  hypot(hypot(x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1]),
						  x[3 * i + 2] - x[3 * j + 2]);
		for (size_t i = 0; i < 3 * N; i++)
			sum[k] += mass[i / 3] / 2 * v[i] * v[i];
		CHECK(nb_ar_load(&s, x, v, INFINITY, 1) == NB_OK);
		if (k == 0)
			follow(&s, 0.7, x, v);
	}
	printf("sixteen: %.3g, %lu forces\n", sum[1] / sum[0] - 1, (unsigned long)s.forces);
	CHECK_NEAR(sum[1] / sum[0], 1, 1e-12);
}

static void test_few(void)
{
	double x[6] = {1, 2, 3, 1, 2, 3}, v[6] = {0.5, 0, 0};
	const double wrong[2] = {1, -1}, none[2] = {0};
	struct nb_ar s;
	for (size_t n = 0; n < 2; n++) {
		CHECK(nb_ar_begin(&s, n, both, 1) == NB_OK && nb_ar_load(&s, x, v, 2, 1) == NB_OK);
		CHECK(nb_ar_step(&s) == NB_OK && s.last <= 2);
		CHECK(nb_ar_at(&s, s.last, x, v) == NB_OK);
		CHECK(x[0] == (n ? 1 + s.last / 2 : 1) && v[0] == 0.5);
	}
	CHECK(nb_ar_begin(&s, NB_SMALL_MOST + 1, both, 1) == NB_EUNSUPPORTED);
	CHECK(nb_ar_begin(&s, 2, wrong, 1) == NB_EUNSUPPORTED);
	memcpy(&x[3], x, 3 * sizeof *x);
	CHECK(nb_ar_begin(&s, 2, both, 1) == NB_OK && nb_ar_load(&s, x, v, INFINITY, 1) == NB_EUNSUPPORTED);
	x[3] += 1;
	CHECK(nb_ar_begin(&s, 2, none, 1) == NB_OK && nb_ar_load(&s, x, v, INFINITY, 1) == NB_OK);
	CHECK(nb_ar_step(&s) == NB_OK && nb_ar_at(&s, s.last / 2, x, v) == NB_OK && v[0] == 0.5 && v[3] == 0);
}

int main(void)
{
	test_orbits();
	test_burrau();
	test_within();
	test_forces();
	test_chain();
	test_many();
	test_few();
	return unit_end();
}
