/* What a picture shows and how bright: axes, size, masses, speeds, range, and what each body gets of them. */
#include "kernels/picture/picture.h"

#include <omp.h>
#include <stdint.h>

#include "tests/unit/unit.h"

enum { N = 20000 };

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

static double dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void axes(void)
{
	static const struct {
		double azimuth, elevation, right[3], up[3];
	} plain[] = {
		{-90, 90, {1, 0, 0}, {0, 1, 0}},
		{-90, 0, {1, 0, 0}, {0, 0, 1}},
		{0, 0, {0, 1, 0}, {0, 0, 1}},
		{360, 0, {0, 1, 0}, {0, 0, 1}},
		{-270, 0, {-1, 0, 0}, {0, 0, 1}},
		{270, 90, {1, 0, 0}, {0, 1, 0}},
		{180, 0, {0, -1, 0}, {0, 0, 1}},
		{-90, -90, {1, 0, 0}, {0, -1, 0}},
	};
	double right[3], up[3];
	for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
		nb_camera_axes(plain[k].azimuth, plain[k].elevation, right, up);
		for (int c = 0; c < 3; c++)
			CHECK(right[c] == plain[k].right[c] && up[c] == plain[k].up[c]);
	}
	/* unit vectors at right angles; what points to the camera is their cross product */
	for (double azimuth = -360; azimuth <= 360; azimuth += 17)
		for (double elevation = -90; elevation <= 90; elevation += 13) {
			nb_camera_axes(azimuth, elevation, right, up);
			CHECK_NEAR(dot(right, right), 1, 1e-15);
			CHECK_NEAR(dot(up, up), 1, 1e-15);
			CHECK_NEAR(dot(right, up), 0, 1e-15);
			const double a = azimuth * M_PI / 180, e = elevation * M_PI / 180;
			CHECK_NEAR(right[1] * up[2] - right[2] * up[1], cos(a) * cos(e), 1e-14);
			CHECK_NEAR(right[2] * up[0] - right[0] * up[2], sin(a) * cos(e), 1e-14);
			CHECK_NEAR(right[0] * up[1] - right[1] * up[0], sin(e), 1e-14);
		}
}

static void size(void)
{
	static double pos[3 * N];
	const double centre[3] = {0, 0, 0};
	double length;
	for (size_t i = 0; i < N; i++)
		pos[3 * i] = (double)(i + 1); /* distances 1, 2 ... */
	CHECK(nb_camera_size_cpu(NB_PICTURE_WHOLE, pos, centre, &length) == NB_OK);
	CHECK_NEAR(length, 2.4 * NB_PICTURE_WHOLE, 1e-9);
	CHECK(nb_camera_size_cpu(NB_PICTURE_WHOLE + 1, pos, centre, &length) == NB_OK);
	CHECK_NEAR(length, 2.4 * 10, 1e-9);
	CHECK(nb_camera_size_cpu(100, pos, centre, &length) == NB_OK);
	CHECK_NEAR(length, 2.4 * 95, 1e-9);
	CHECK(nb_camera_size_cpu(1001, pos, centre, &length) == NB_OK);
	CHECK_NEAR(length, 2.4 * 951, 1e-9);
	/* a single body in the centre; distances beyond all pictures */
	pos[0] = 0;
	CHECK(nb_camera_size_cpu(1, pos, centre, &length) == NB_OK && length == 1);
	pos[0] = 1.7e308;
	CHECK(nb_camera_size_cpu(1, pos, centre, &length) == NB_OK && length == 1e300);
}

static void masses(void)
{
	static double mass[1000];
	struct nb_mass_scale scale;
	for (size_t i = 0; i < 1000; i++)
		mass[i] = (double)(i * 7 % 1000); /* 0..999 */
	CHECK(nb_exposure_masses_cpu(1000, mass, &scale) == NB_OK);
	CHECK(scale.unit == 999 && !scale.massless && scale.heavy == 989);
	CHECK(mass[1] == 7);
	/* one heavy body among test particles: all others are nothing, so it is no exception */
	static double one[1000];
	one[17] = 5;
	CHECK(nb_exposure_masses_cpu(1000, one, &scale) == NB_OK);
	CHECK(scale.unit == 5 && !scale.massless && isinf(scale.heavy));
	one[17] = 0;
	CHECK(nb_exposure_masses_cpu(1000, one, &scale) == NB_OK);
	CHECK(scale.unit == 1 && scale.massless && isinf(scale.heavy));
	CHECK(nb_exposure_masses_cpu(1, mass + 1, &scale) == NB_OK && scale.unit == 7 && scale.heavy == 7);
}

static void speeds(void)
{
	static double vel[3 * 1001];
	double slow, fast;
	for (size_t i = 0; i < 1001; i++) {
		vel[3 * i] = 2 * (double)i;
		vel[3 * i + 1] = -1 * (double)i;
		vel[3 * i + 2] = 2 * (double)i; /* speed 3 i */
	}
	CHECK(nb_exposure_speeds_cpu(NB_PICTURE_FEW, vel, &slow, &fast) == NB_OK);
	CHECK(slow == 0 && fast == 3 * (NB_PICTURE_FEW - 1));
	CHECK(nb_exposure_speeds_cpu(1001, vel, &slow, &fast) == NB_OK);
	CHECK_NEAR(slow, 60, 1e-12);
	CHECK_NEAR(fast, 2940, 1e-12);
	/* all equal, all at rest, beyond the numbers */
	CHECK(nb_exposure_speeds_cpu(1, vel + 3, &slow, &fast) == NB_OK && slow == 0);
	CHECK_NEAR(fast, 3, 1e-15);
	CHECK(nb_exposure_speeds_cpu(1, vel, &slow, &fast) == NB_OK && slow == 0 && fast == 1);
	const double huge[] = {1.7e308, 1.7e308, 0, 0, 0, 0};
	CHECK(nb_exposure_speeds_cpu(2, huge, &slow, &fast) == NB_OK && slow == 0 && fast == 1e300);
}

/* one body on each pixel of a picture whose surface densities are 1, 2 ... 1000 times a unit */
static void range(void)
{
	enum { W = 50, H = 20 };
	static float x[W * H + 3], y[W * H + 3], image[W * H];
	float lo, hi;
	for (int p = 0; p < W * H; p++) {
		x[p] = (float)(p % W) + 0.25f;
		y[p] = (float)(p / W) + 0.75f;
		image[p] = (float)(p + 1);
	}
	/* those outside do not count */
	x[W * H] = y[W * H] = NB_SPLAT_AWAY;
	x[W * H + 1] = W;
	y[W * H + 2] = H;
	for (size_t n = W * H; n <= W * H + 3; n++) {
		CHECK(nb_exposure_range_cpu(n, x, y, W, H, image, NB_STRETCH_ASINH, &lo, &hi) == NB_OK);
		CHECK(hi == 980 && lo == 24.5f);
	}
	CHECK(nb_exposure_range_cpu(W * H, x, y, W, H, image, NB_STRETCH_LOG, &lo, &hi) == NB_OK && lo == 5);
	CHECK(nb_exposure_range_cpu(W * H, x, y, W, H, image, NB_STRETCH_LINEAR, &lo, &hi) == NB_OK && lo == 0);
	/* lo stays within [hi / 10000, hi / 40], of log from hi / 100000 on; pixels without light do not count */
	for (int p = 0; p < W * H; p++)
		image[p] = p < 100 ? 1e-6f : 1;
	CHECK(nb_exposure_range_cpu(W * H, x, y, W, H, image, NB_STRETCH_ASINH, &lo, &hi) == NB_OK && hi == 1);
	CHECK_NEAR(lo, 1e-4, 1e-10);
	CHECK(nb_exposure_range_cpu(W * H, x, y, W, H, image, NB_STRETCH_LOG, &lo, &hi) == NB_OK);
	CHECK_NEAR(lo, 1e-5, 1e-11);
	for (int p = 0; p < W * H; p++)
		image[p] = p < 100 ? 0 : 8;
	CHECK(nb_exposure_range_cpu(W * H, x, y, W, H, image, NB_STRETCH_ASINH, &lo, &hi) == NB_OK);
	CHECK(hi == 8 && lo == 0.2f);
	/* nobody in the picture */
	CHECK(nb_exposure_range_cpu(1, x + W * H, y + W * H, W, H, image, NB_STRETCH_LOG, &lo, &hi) == NB_OK);
	CHECK(hi == 1 && lo == 0.01f);
	CHECK(nb_exposure_range_cpu(0, x, y, W, H, image, NB_STRETCH_LOG, &lo, &hi) == NB_OK && hi == 1);
}

static void sizes(void)
{
	CHECK(nb_exposure_neighbours(1) == 8 && nb_exposure_neighbours(156) == 8);
	CHECK_NEAR(nb_exposure_neighbours(2500), 32, 1e-12);
	CHECK_NEAR(nb_exposure_neighbours(9999), 64, 0.01);
	CHECK(nb_exposure_neighbours(10000) == 192 && nb_exposure_neighbours(SIZE_MAX) == 512);
	CHECK_NEAR(nb_exposure_neighbours(320000), 384, 1e-9);
	CHECK(nb_exposure_disc_size(1, 720) == 4 && nb_exposure_disc_size(10, 720) == 4);
	CHECK_NEAR(nb_exposure_disc_size(160, 720), 2, 1e-12);
}

static void weights(void)
{
	const double mass[] = {0, 1, 4, 8}, vel[] = {0, 0, 0, 2, 0, 0, 0, -3, 0, 0, 0, 9};
	const struct nb_mass_scale scale = {.unit = 8, .heavy = 5}, massless = {.unit = 1, .massless = 1};
	float w[8];
	CHECK(nb_splat_weights_cpu(4, mass, &scale, INFINITY, 1, w) == NB_OK);
	CHECK(w[0] == 0 && w[1] == 0.125f && w[2] == 0.5f && w[3] == 1);
	CHECK(nb_splat_weights_cpu(4, mass, &scale, 4, 2, w) == NB_OK);
	CHECK(w[0] == 0 && w[2] == 0.125f && w[4] == 0.5f && w[6] == 0.5f);
	CHECK(nb_splat_speed_weights_cpu(4, vel, 1, 5, 2, w) == NB_OK);
	CHECK(w[1] == 0 && w[3] == 0.125f * 0.25f && w[5] == 0.25f && w[7] == 0.5f);
	CHECK(nb_splat_weights_cpu(4, mass, &massless, INFINITY, 1, w) == NB_OK);
	CHECK(w[0] == 1 && w[3] == 1);
	/* a body 1e100 times heavier than the first frame's heaviest remains a number */
	const double much = 1e100;
	CHECK(nb_splat_weights_cpu(1, &much, &massless, INFINITY, 1, w) == NB_OK);
	CHECK(w[0] == 1);
	CHECK(nb_splat_weights_cpu(1, &much, &scale, INFINITY, 1, w) == NB_OK);
	CHECK(w[0] == 1e24f);
}

static void radii(void)
{
	const double mass[] = {0, 1, 8, 1e6}, own[] = {0, 0, 3, 1e300};
	const struct nb_mass_scale scale = {.unit = 8}, massless = {.unit = 1, .massless = 1};
	float r[4];
	CHECK(nb_splat_disc_radii_cpu(4, mass, &scale, NULL, 10, 4, r) == NB_OK);
	CHECK(r[0] == 4 && r[1] == 6 && r[2] == 8 && r[3] == 12); /* no more than twice the heaviest's share */
	CHECK(nb_splat_disc_radii_cpu(4, mass, &scale, own, 10, 4, r) == NB_OK);
	CHECK(r[0] == 4 && r[1] == 6 && r[2] == 30 && r[3] == 1e6f);
	CHECK(nb_splat_disc_radii_cpu(4, mass, &massless, NULL, 10, 4, r) == NB_OK);
	CHECK(r[0] == 8 && r[3] == 8);
	CHECK(nb_splat_disc_radii_cpu(4, mass, &scale, NULL, 10, 0.1, r) == NB_OK);
	CHECK(r[0] == 1.5f);

	const double heavy[] = {1, 4, 16, 1e12, 1e12};
	float wide[] = {40, 40, 40, 40, 3};
	CHECK(nb_splat_sharpen_cpu(5, heavy, 4, 5, wide) == NB_OK);
	CHECK(wide[0] == 40 && wide[1] == 40 && wide[2] == 20 && wide[3] == 5 && wide[4] == 3);
	CHECK(nb_splat_sharpen_cpu(5, heavy, INFINITY, 5, wide) == NB_OK);
	CHECK(wide[0] == 40 && wide[2] == 20);
}

/* the same bytes for any number of threads */
static void threads(void)
{
	static double mass[N], vel[3 * N];
	static float first[2 * N], weight[2 * N], sharp[N], radius[N];
	uint64_t seed = 5;
	struct nb_mass_scale scale;
	for (size_t i = 0; i < N; i++) {
		mass[i] = uniform(&seed) / (1e-3 + uniform(&seed));
		for (size_t k = 0; k < 3; k++)
			vel[3 * i + k] = uniform(&seed) - 0.5;
	}
	CHECK(nb_exposure_masses_cpu(N, mass, &scale) == NB_OK);
	for (int k = 1; k <= 3; k++) {
		omp_set_num_threads(k);
		CHECK(nb_splat_weights_cpu(N, mass, &scale, scale.heavy, 2, weight) == NB_OK);
		CHECK(nb_splat_speed_weights_cpu(N, vel, 0.1, 0.5, 2, weight) == NB_OK);
		for (size_t i = 0; i < N; i++)
			radius[i] = 20;
		CHECK(nb_splat_sharpen_cpu(N, mass, scale.heavy, 2, radius) == NB_OK);
		if (k == 1) {
			memcpy(first, weight, sizeof first);
			memcpy(sharp, radius, sizeof sharp);
		}
		CHECK(memcmp(first, weight, sizeof first) == 0 && memcmp(sharp, radius, sizeof sharp) == 0);
	}
}

int main(void)
{
	axes();
	size();
	masses();
	speeds();
	range();
	sizes();
	weights();
	radii();
	threads();
	return unit_end();
}
