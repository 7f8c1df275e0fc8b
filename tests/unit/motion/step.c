/* The largest acceleration, which sets adaptive steps and tells whether a force is not a number: wherever it is; and
 * periodic boxes. */
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
		test_every_row(sizes[k]);
	CHECK(largest(0, NULL) == 0);
	test_wrap(1);
	test_wrap(40000);
	test_scale(1);
	test_scale(40000);
	return unit_end();
}
