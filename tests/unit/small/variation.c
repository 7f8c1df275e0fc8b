/* How fast orbits part: a variation is the difference of two near runs; regular orbits have a MEGNO of 2, forth and
 * back, and chaotic ones one that grows with the exponent of their parting. */
#include "kernels/small/small.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

enum { N = 3 };

static void start(struct nb_ias15 *s, const double *mass, const double *x, const double *v, int way)
{
	CHECK(nb_ias15_begin(s, N, mass, 1, 0) == NB_OK);
	CHECK(nb_ias15_load(s, x, v, 0.175, INFINITY, way) == NB_OK);
}

static void planets(double outer, double *x, double *v)
{
	memset(x, 0, 3 * N * sizeof *x);
	memset(v, 0, 3 * N * sizeof *v);
	x[3] = 1;
	v[4] = 1.02;
	x[7] = outer;
	v[6] = -1 / sqrt(outer);
	v[8] = 0.01;
}

static void test_difference(void)
{
	static const double mass[N] = {1, 1e-2, 1e-2};
	double x[3 * N], v[3 * N], y[3 * N], u[3 * N], z[3 * N], w[3 * N], most = 0, size = 0;
	struct nb_ias15 s, other;
	struct nb_variation d;
	planets(1.8, x, v);
	start(&s, mass, x, v, 1);
	nb_variation_begin(&d, &s);
	memcpy(y, x, sizeof y);
	memcpy(u, v, sizeof u);
	for (int k = 0; k < 3 * N; k++) {
		y[k] += 1e-8 * d.d[k];
		u[k] += 1e-8 * d.u[k];
	}
	start(&other, mass, y, u, 1);
	while (s.elapsed < 10) {
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
	}
	while (other.elapsed < s.elapsed)
		CHECK(nb_ias15_step(&other) == NB_OK);
	nb_ias15_at(&s, s.last, x, v);
	nb_ias15_at(&other, other.last - (other.elapsed - s.elapsed), z, w);
	for (int k = 0; k < 3 * N; k++) {
		most = fmax(most, fabs((z[k] - x[k]) * 1e8 - d.d[k]));
		size = fmax(size, fabs(d.d[k]));
	}
	printf("off %.3g of %.3g\n", most, size);
	CHECK(size > 5 && most < 1e-5 * size);
}

static struct nb_variation follow(double planet, double outer, double time)
{
	const double mass[N] = {1, planet, planet};
	double x[3 * N], v[3 * N];
	struct nb_ias15 s;
	struct nb_variation d;
	planets(outer, x, v);
	start(&s, mass, x, v, time < 0 ? -1 : 1);
	nb_variation_begin(&d, &s);
	while (fabs(s.elapsed) < fabs(time)) {
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
	}
	printf("%g: megno %.5g, exponent %.3g\n", outer, nb_variation_megno(&d), nb_variation_exponent(&d));
	return d;
}

static void test_megno(void)
{
	struct nb_variation d = follow(0, 1.8, UNIT_SANITIZED ? 1000 : 2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.05);
	CHECK_NEAR(nb_variation_exponent(&d), 0, 2e-4);
	if (UNIT_SANITIZED)
		return;
	d = follow(0, 1.8, -2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.03);
	d = follow(1e-3, 1.8, 2000);
	CHECK_NEAR(nb_variation_megno(&d), 2, 0.05);
	d = follow(1e-3, 1.15, 4000);
	CHECK(nb_variation_megno(&d) > 10 && d.d[0] * 0 == 0);
	CHECK_NEAR(nb_variation_megno(&d) * 2 / 4000 / nb_variation_exponent(&d), 1, 0.4);
}

static void test_few(void)
{
	const double mass[1] = {1}, x[3] = {0}, v[3] = {0};
	struct nb_ias15 s;
	struct nb_variation d;
	for (size_t n = 0; n < 2; n++) {
		CHECK(nb_ias15_begin(&s, n, mass, 1, 0) == NB_OK);
		CHECK(nb_ias15_load(&s, x, v, 0.175, 1, 1) == NB_OK);
		nb_variation_begin(&d, &s);
		CHECK(nb_ias15_step(&s) == NB_OK);
		nb_variation_follow(&d, &s);
		CHECK(nb_variation_megno(&d) == 0 && nb_variation_exponent(&d) == 0);
	}
}

int main(void)
{
	test_difference();
	test_megno();
	test_few();
	return unit_end();
}
