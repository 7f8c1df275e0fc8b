/* Forces of a few bodies: the oracle's, for every number of bodies; in the order of j; what is extreme is refused;
 * steps are those of kicks and drifts. */
#include "kernels/small/small.h"
#include "kernels/gravity/gravity.h"
#include "kernels/motion/motion.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = NB_SMALL_MOST + 1 };

static double pos[3 * MOST], vel[3 * MOST], mass[MOST];

static double uniform(void)
{
	static uint64_t state = 7;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof pos / sizeof *pos; i++) {
		pos[i] = uniform() - 0.5;
		vel[i] = uniform() - 0.5;
	}
	for (size_t i = 0; i < MOST; i++)
		mass[i] = i % 5 == 4 ? 0 : uniform();
}

static void test_forces(size_t n, double eps)
{
	double acc[3 * MOST], pot[MOST], want_acc[3 * MOST], want_pot[MOST];
	struct nb_small s;
	struct nb_gravity g = {.n = n, .pos = pos, .mass = mass, .eps = eps, .G = 3, .precision = NB_F64, .acc = acc};
	fill();
	CHECK(nb_gravity_ref(&g, NULL, 0, want_acc, want_pot, NULL) == NB_OK);
	CHECK(nb_small_begin(&s, n, mass, 3, eps) == NB_OK);
	nb_small_load(&s, pos, vel);
	CHECK(nb_small_force(&s) == NB_OK);
	nb_small_potential(&s, pot);
	double largest2 = 0;
	for (size_t i = 0; i < n; i++) {
		double size2 = 0, off2 = 0;
		for (size_t d = 0; d < 3; d++) {
			size2 += want_acc[3 * i + d] * want_acc[3 * i + d];
			off2 += pow(s.acc[d][i] - want_acc[3 * i + d], 2);
		}
		/* terms of other bodies may cancel */
		CHECK(sqrt(off2) <= 1e-13 * sqrt(size2));
		CHECK_NEAR(pot[i], want_pot[i], 1e-14 * fabs(want_pot[i]));
		largest2 = fmax(largest2, size2);
	}
	CHECK_NEAR(nb_small_largest_acc2(&s), largest2, 1e-12 * largest2);

	/* the direct sum is this, bit by bit */
	g.pot = want_pot;
	CHECK(nb_gravity_direct_cpu(&g, NULL) == NB_OK);
	for (size_t i = 0; i < n; i++) {
		CHECK(want_pot[i] == pot[i]);
		for (size_t d = 0; d < 3; d++)
			CHECK(acc[3 * i + d] == s.acc[d][i]);
	}

	/* and a step is that of whole frames */
	double x[3 * MOST], v[3 * MOST];
	memcpy(x, pos, sizeof x);
	memcpy(v, vel, sizeof v);
	CHECK(nb_kick_cpu(n, v, acc, 0.01) == NB_OK && nb_drift_cpu(n, x, v, 0.02) == NB_OK);
	CHECK(nb_kick_cpu(n, v, acc, 0.03) == NB_OK);
	nb_small_kick_drift(&s, 0, 0.01, 0.02);
	nb_small_kick(&s, 0.03);
	double got_x[3 * MOST], got_v[3 * MOST];
	nb_small_store(&s, got_x, got_v);
	CHECK(memcmp(got_x, x, 3 * n * sizeof *x) == 0 && memcmp(got_v, v, 3 * n * sizeof *v) == 0);
	CHECK(nb_kick_cpu(n, v, acc, 0.04) == NB_OK && nb_kick_cpu(n, v, acc, 0.05) == NB_OK);
	CHECK(nb_drift_cpu(n, x, v, 0.06) == NB_OK);
	nb_small_kick_drift(&s, 0.04, 0.05, 0.06);
	nb_small_store(&s, got_x, got_v);
	CHECK(memcmp(got_x, x, 3 * n * sizeof *x) == 0 && memcmp(got_v, v, 3 * n * sizeof *v) == 0);
}

/* Two bodies at this distance, of this mass each. */
static int force_of_two(double distance, double m, double G, double eps)
{
	const double x[6] = {0, 0, 0, distance, 0, 0}, both[2] = {m, m};
	struct nb_small s;
	const int status = nb_small_begin(&s, 2, both, G, eps);
	if (status)
		return status;
	nb_small_load(&s, x, NULL);
	if (nb_small_force(&s))
		return NB_EFAR;
	const double r = hypot(distance, eps);
	CHECK_NEAR(s.acc[0][0], G * m / r / r * (distance / r), 1e-14 * fabs(G * m / r / r * (distance / r)));
	CHECK(s.acc[0][1] == -s.acc[0][0] && s.acc[1][0] == 0);
	return NB_OK;
}

static void test_extremes(void)
{
	CHECK(force_of_two(1, 1, 1, 0) == NB_OK);
	CHECK(force_of_two(0x1p-199, 0x1p399, 1, 0) == NB_OK);
	CHECK(force_of_two(0x1p199, 0x1p-399, 1, 0) == NB_OK);
	CHECK(force_of_two(1, -2, 0.5, 0) == NB_OK);
	CHECK(force_of_two(1, 0, 1, 0) == NB_OK);
	CHECK(force_of_two(1, 1, 0, 0) == NB_OK);
	CHECK(force_of_two(0, 1, 1, 0.1) == NB_OK);
	CHECK(force_of_two(0, 1, 1, 0) == NB_EFAR);
	CHECK(force_of_two(0x1p-201, 1, 1, 0) == NB_EFAR);
	CHECK(force_of_two(0x1p201, 1, 1, 0) == NB_EFAR);
	CHECK(force_of_two((double)NAN, 1, 1, 0) == NB_EFAR);
	CHECK(force_of_two((double)INFINITY, 1, 1, 0) == NB_EFAR);
	CHECK(force_of_two(1, 0x1p401, 1, 0) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 0x1p-401, 1, 0) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 1e-200, 1e-200, 0) == NB_EUNSUPPORTED); /* a product that is 0 */
	CHECK(force_of_two(1, (double)NAN, 1, 0) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 1, (double)INFINITY, 0) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 1, 1, -1) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 1, 1, (double)NAN) == NB_EUNSUPPORTED);
	CHECK(force_of_two(1, 1, 1, 0x1p201) == NB_EUNSUPPORTED);
}

int main(void)
{
	struct nb_small s;
	for (size_t n = 2; n <= NB_SMALL_MOST; n++) {
		test_forces(n, 0);
		test_forces(n, 0.05);
	}
	CHECK(nb_small_begin(&s, 0, mass, 1, 0) == NB_EUNSUPPORTED);
	CHECK(nb_small_begin(&s, 1, mass, 1, 0) == NB_EUNSUPPORTED);
	CHECK(nb_small_begin(&s, NB_SMALL_MOST + 1, mass, 1, 0) == NB_EUNSUPPORTED);
	test_extremes();
	return unit_end();
}
