/* The largest acceleration, which sets adaptive steps and tells whether a force is not a number: wherever it is; kicks
 * and drifts in one pass; and periodic boxes. */
#include "kernels/motion/motion.h"

#include "tests/unit/unit.h"

static double largest(size_t n, const double *acc)
{
	double found = -1;
	CHECK(nb_largest_acc_cpu(n, acc, &found) == NB_OK);
	return found;
}

static void test_every_row(size_t n)
{
	double *acc = calloc(3 * n, sizeof *acc);
	for (size_t i = 0; i < 3 * n; i++)
		acc[i] = 0.5 * sin((double)i);
	/* the first and the last rows, those beside, and ends of blocks in between */
	for (size_t at = 0; at < n; at = at < 4 || at + 4 >= n ? at + 1 : at + 4095 < n - 4 ? at + 4095 : n - 4) {
		double *a = acc + 3 * at, kept[3];
		memcpy(kept, a, sizeof kept);
		a[0] = 2;
		a[1] = -3;
		a[2] = 6;
		CHECK_NEAR(largest(n, acc), 7, 1e-15);
		memcpy(a, kept, sizeof kept);
		for (size_t c = 0; c < 3; c++) {
			a[c] = NAN;
			CHECK(isnan(largest(n, acc)));
			a[c] = -INFINITY;
			CHECK(isnan(largest(n, acc)));
			a[c] = kept[c];
		}
	}
	CHECK(largest(n, acc) < 1);
	free(acc);
}

/* One pass gives the bytes of two kicks and a drift, and finds the extent, and what is not finite wherever it is. */
static void test_kick_drift(size_t n)
{
	double *x = calloc(12 * n, sizeof *x), *v = x + 3 * n, *one_x = v + 3 * n, *one_v = one_x + 3 * n;
	double *acc = calloc(3 * n, sizeof *acc), extent[7], want[6];
	static const double kicks[][2] = {{0.01, 0.02}, {0, 0.02}, {0.01, 0}, {0, 0}};
	for (size_t k = 0; k < sizeof kicks / sizeof *kicks; k++) {
		for (size_t i = 0; i < 3 * n; i++) {
			one_x[i] = x[i] = sin((double)i) / 3;
			one_v[i] = v[i] = i % 5 ? cos((double)i) / 3 : -0.0;
			acc[i] = i % 5 ? sin(2 * (double)i) / 3 : 0;
		}
		for (size_t j = 0; j < 2; j++)
			CHECK(kicks[k][j] == 0 || nb_kick_cpu(n, v, acc, kicks[k][j]) == NB_OK);
		CHECK(nb_drift_cpu(n, x, v, 0.03) == NB_OK);
		CHECK(nb_kick_drift_cpu(n, one_x, one_v, acc, kicks[k][0], kicks[k][1], 0.03, extent) == NB_OK);
		CHECK(memcmp(x, one_x, 6 * n * sizeof *x) == 0);
		for (size_t d = 0; d < 6; d++)
			want[d] = -INFINITY;
		for (size_t i = 0; i < 3 * n; i++) {
			want[i % 3] = fmax(want[i % 3], -x[i]);
			want[3 + i % 3] = fmax(want[3 + i % 3], x[i]);
		}
		CHECK(memcmp(extent, want, sizeof want) == 0 && extent[6] == 0);
	}
	for (size_t i = 0; i < 3 * n; i = i < 40 || i + 40 > 3 * n ? i + 1 : i + 767) {
		const double kept = one_v[i];
		one_x[i] = 0;
		one_v[i] = i % 2 ? INFINITY : NAN;
		CHECK(nb_kick_drift_cpu(n, one_x, one_v, NULL, 0, 0, 0.03, extent) == NB_OK && extent[6] == 1);
		one_x[i] = 0;
		one_v[i] = kept;
	}
	free(x);
	free(acc);
}

/* Coordinates come into the box, those of f32 columns so that they are inside when they are rounded, too. */
static void test_wrap(size_t n)
{
	double *x = calloc(3 * n, sizeof *x);
	for (size_t i = 0; i < 3 * n; i++)
		x[i] = 4 * sin((double)i);
	x[0] = nextafter(1.5, 0);
	x[1] = 1.5;
	x[2] = INFINITY;
	CHECK(nb_wrap_cpu(n, x, 1.5, 0) == NB_OK);
	CHECK(x[0] == nextafter(1.5, 0) && x[1] == 0 && x[2] == INFINITY);
	for (size_t i = 3; i < 3 * n; i++) {
		const double turns = (4 * sin((double)i) - x[i]) / 1.5;
		CHECK(x[i] >= 0 && x[i] < 1.5 && fabs(turns - rint(turns)) < 1e-14);
	}
	CHECK(nb_wrap_cpu(1, x, 1.5, 1) == NB_OK);
	CHECK(x[0] == 0 && x[1] == 0);
	/* what single precision cannot hold is no body at the wall */
	x[0] = 4e38;
	CHECK(nb_wrap_cpu(1, x, 1e39, 1) == NB_OK);
	CHECK(x[0] == 4e38);
	CHECK(nb_wrap_cpu(0, NULL, 1.5, 0) == NB_OK);
	free(x);
}

static void test_scale(size_t n)
{
	double *v = calloc(3 * n, sizeof *v);
	for (size_t i = 0; i < 3 * n; i++)
		v[i] = (double)i;
	CHECK(nb_scale_velocities_cpu(n, v, 1.25) == NB_OK);
	for (size_t i = 0; i < 3 * n; i++)
		CHECK(v[i] == 1.25 * (double)i);
	CHECK(nb_scale_velocities_cpu(0, NULL, 1.25) == NB_OK);
	free(v);
}

int main(void)
{
	static const size_t sizes[] = {
		1, 2, 3, 255, 257, 4096, 33333, 33334, 40961, 100000}; /* 33334: threads from here on */
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		test_every_row(sizes[k]), test_kick_drift(sizes[k]);
	CHECK(largest(0, NULL) == 0);
	test_kick_drift(0);
	test_wrap(1);
	test_wrap(40000);
	test_scale(1);
	test_scale(40000);
	return unit_end();
}
