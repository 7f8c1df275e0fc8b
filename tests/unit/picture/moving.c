/* What changes from frame to frame: the size that keeps bodies in view, where they lie closest, and the limit of what
 * is overexposed. */
#include "kernels/picture/picture.h"

#include "common/status.h"

#include "tests/unit/unit.h"

enum { N = 1000 };

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

/* How many of the bodies a picture of that size shows. */
static size_t shown(size_t n, const double *pos, struct nb_camera camera, double size)
{
	static float x[N], y[N];
	const int smaller = camera.width < camera.height ? camera.width : camera.height;
	size_t count = 0;
	camera.pixels_per_length = smaller / size;
	CHECK(nb_splat_project_cpu(n, pos, &camera, x, y) == NB_OK);
	for (size_t i = 0; i < n; i++)
		count += x[i] >= 0 && x[i] <= (float)camera.width && y[i] >= 0 && y[i] <= (float)camera.height;
	return count;
}

static void keep(void)
{
	static double pos[3 * N];
	uint64_t state = 3;
	struct nb_camera camera = {.centre = {1, 2, 3}, .width = 320, .height = 100};
	for (size_t i = 0; i < 3 * N; i++)
		pos[i] = tan(3 * (uniform(&state) - 0.5)); /* some lie far away */
	nb_camera_axes(30, 40, camera.right, camera.up);
	static const double shares[] = {1, 0.99, 0.5, 0.001};
	for (size_t n = 1; n <= N; n = n < 3 ? n + 1 : n < 300 ? 300 : n + 700)
		for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
			double size;
			const size_t want = (size_t)ceil(shares[k] * (double)n - 1e-9);
			CHECK(nb_camera_keep(n, pos, &camera, shares[k], &size) == NB_OK);
			CHECK(shown(n, pos, camera, size * 1.00001) == want);
			CHECK(shown(n, pos, camera, size * 0.99999) == want - 1);
		}
	/* upright as well */
	double size;
	const double two[] = {1, 2, 3, 4, 2, 3};
	nb_camera_axes(-90, 90, camera.right, camera.up);
	CHECK(nb_camera_keep(2, two, &camera, 1, &size) == NB_OK);
	CHECK_NEAR(size, 6 * 100.0 / 320, 1e-12);
	camera.width = 50;
	CHECK(nb_camera_keep(2, two, &camera, 1, &size) == NB_OK);
	CHECK_NEAR(size, 6, 1e-12);
	/* nothing to see, and nothing that a number can hold */
	CHECK(nb_camera_keep(1, two, &camera, 1, &size) == NB_OK && size == 0);
	const double far[] = {1e308, -1e308, 1e308, -1e308, 1e308, 1e308};
	CHECK(nb_camera_keep(2, far, &camera, 1, &size) == NB_OK && size == 1e300);
}

static void densest(void)
{
	static double pos[3 * N];
	uint64_t state = 5;
	double centre[3];
	/* a wide cloud, 100 bodies within 0.01 of (3, 1, -2) and 80 of (-4, 0, 0) */
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 3; k++) {
			static const double first[3] = {3, 1, -2}, second[3] = {-4, 0, 0};
			const double u = uniform(&state) - 0.5;
			pos[3 * i + k] = i % 10 == 0   ? first[k] + 0.01 * u
					 : i % 12 == 1 ? second[k] + 0.01 * u
						       : 12 * u;
		}
	CHECK(nb_camera_densest(N, pos, NULL, centre) == NB_OK);
	const double at = centre[0] > 0 ? 3 : -4; /* one of the two */
	CHECK_NEAR(centre[0], at, 0.01);
	/* the one where the camera was */
	const double there[3] = {-3.5, 0.2, 0}, here[3] = {2.5, 1, -2};
	CHECK(nb_camera_densest(N, pos, there, centre) == NB_OK);
	CHECK_NEAR(centre[0], -4, 0.01);
	CHECK_NEAR(centre[1], 0, 0.01);
	CHECK(nb_camera_densest(N, pos, here, centre) == NB_OK);
	CHECK_NEAR(centre[0], 3, 0.01);
	CHECK_NEAR(centre[2], -2, 0.01);
	/* few bodies: their mean */
	for (size_t n = 1; n <= 2; n++) {
		const double two[] = {1, 2, 3, 3, 2, 1};
		CHECK(nb_camera_densest(n, two, NULL, centre) == NB_OK);
		CHECK_NEAR(centre[0], n == 1 ? 1 : 2, 1e-15);
		CHECK(nb_camera_densest(n, two, two, centre) == NB_OK);
		CHECK(centre[0] >= 1 && centre[0] <= 2);
	}
}

/* Pixels of the top colour among those with light. */
static double share_at_top(size_t n, const float *image, enum nb_stretch stretch, float lo, float hi)
{
	static float v[N];
	size_t lights = 0, tops = 0;
	nb_splat_stretch_cpu(n, image, stretch, lo, hi, v);
	for (size_t p = 0; p < n; p++) {
		lights += v[p] >= NB_LIT;
		tops += v[p] >= NB_TOP;
	}
	return lights ? (double)tops / (double)lights : 0;
}

static void limit(void)
{
	static float image[N];
	uint64_t state = 7;
	for (size_t p = 0; p < N; p++)
		image[p] = p % 3 ? (float)exp(8 * uniform(&state)) : 0;
	for (int stretch = NB_STRETCH_ASINH; stretch <= NB_STRETCH_LINEAR; stretch++) {
		const float lo = stretch == NB_STRETCH_LINEAR ? 0 : 2;
		float hi = 20;
		double share;
		const double before = share_at_top(N, image, (enum nb_stretch)stretch, lo, hi);
		CHECK(before > 0.5);
		CHECK(nb_exposure_limit(N, image, (enum nb_stretch)stretch, 0.02, lo, &hi, &share) == NB_OK);
		CHECK_NEAR(share, before, 0.01);
		const double after = share_at_top(N, image, (enum nb_stretch)stretch, lo, hi);
		CHECK(hi > 20 && after <= 0.03 && after > 0.005);
		/* enough already: nothing changes */
		const float found = hi * 1.05f;
		hi = found;
		CHECK(nb_exposure_limit(N, image, (enum nb_stretch)stretch, 0.02, lo, &hi, &share) == NB_OK);
		CHECK(hi == found && share <= 0.02);
	}
	/* no light; light that is the same everywhere */
	float hi = 5;
	double share;
	memset(image, 0, sizeof image);
	CHECK(nb_exposure_limit(N, image, NB_STRETCH_ASINH, 0.02, 1, &hi, &share) == NB_OK);
	CHECK(hi == 5 && share == 0);
	for (size_t p = 0; p < N; p++)
		image[p] = 5;
	CHECK(nb_exposure_limit(N, image, NB_STRETCH_ASINH, 0.02, 1, &hi, &share) == NB_OK);
	CHECK(share == 1 && hi > 5 && hi < 6);
	CHECK(nb_exposure_limit(0, image, NB_STRETCH_ASINH, 0.02, 1, &hi, &share) == NB_OK && share == 0);
}

int main(void)
{
	keep();
	densest();
	limit();
	return unit_end();
}
