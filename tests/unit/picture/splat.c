/* Pictures: projection, smoothing radii, splat and stretch against what they promise. */
#include "kernels/measure/measure.h"
#include "kernels/picture/picture.h"

#include <omp.h>
#include <stdint.h>

#include "common/mem.h"
#include "tests/unit/unit.h"

enum { W = 320, H = 240, N = 20000 };

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

static double sum_of(const float *image, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += image[i];
	return sum;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* patterns that defeat naive selection, and random ones, against a sort */
static void quantiles(void)
{
	enum { M = 100001 };
	static double x[M], sorted[M];
	uint64_t seed = 1;
	for (int kind = 0; kind < 8; kind++)
		for (size_t n = 1; n <= M; n += n < 8 ? 1 : n < 1001 ? 331 : M - n ? M - n : 1) {
			omp_set_num_threads(1 + kind % 3);
			for (size_t i = 0; i < n; i++)
				x[i] = kind == 0   ? uniform(&seed)
				       : kind == 1 ? (double)i
				       : kind == 2 ? -(double)i
				       : kind == 3 ? 5
				       : kind == 4 ? (double)(i < n / 2 ? i : n - i)
				       : kind == 5 ? (double)(i * 7919 % 13)
				       : kind == 6 ? ldexp(uniform(&seed) - 0.5, (int)(i % 2000) - 1000)
						   : (i % 5 ? INFINITY : -INFINITY) * (double)(i % 3 == 0 ? 1 : -1);
			memcpy(sorted, x, n * sizeof *x);
			qsort(sorted, n, sizeof *x, ascending);
			static const double q[] = {0, 0.05, 0.5, 0.98, 1};
			for (size_t k = 0; k < sizeof q / sizeof *q; k++)
				CHECK(nb_quantile(n, x, q[k]) == sorted[(size_t)(q[k] * (double)(n - 1))]);
		}
}

static void camera(void)
{
	/* the plain view: centre in the middle, y upwards on a picture whose rows go down */
	struct nb_camera c = {{10, 20, 30}, {1, 0, 0}, {0, 1, 0}, 100, W, H};
	const double pos[] = {10, 20, 30, 10.5, 20.25, -7, 1e9, 0, 0, 1e308, -1e308, 1e308, 10, 20, 1e308};
	float x[5], y[5];
	CHECK(nb_splat_project_cpu(5, pos, &c, x, y) == NB_OK);
	CHECK(x[0] == W / 2.0f && y[0] == H / 2.0f);
	CHECK(x[1] == W / 2.0f + 50 && y[1] == H / 2.0f - 25);
	CHECK(x[2] == NB_SPLAT_AWAY && y[2] == NB_SPLAT_AWAY);
	CHECK(x[3] == NB_SPLAT_AWAY);
	c.pixels_per_length = 0;
	CHECK(nb_splat_project_cpu(5, pos, &c, x, y) == NB_EINVAL);
}

/* 999 bodies about (1, 2, 3) and one, a thousand times heavier, very far away */
static void robust_centre(void)
{
	static double pos[3000], mass[1000];
	uint64_t seed = 3;
	double mean[3] = {0, 0, 0}, centre[3], radius;
	for (size_t i = 0; i < 1000; i++) {
		mass[i] = 1;
		for (size_t k = 0; k < 3; k++)
			pos[3 * i + k] = (double)(k + 1) + uniform(&seed) - 0.5;
	}
	pos[2997] = 1e12;
	mass[999] = 1000;
	CHECK(nb_splat_centre_cpu(1000, pos, mass, centre) == NB_OK);
	for (size_t k = 0; k < 3; k++)
		CHECK_NEAR(centre[k], (double)(k + 1), 0.05);
	CHECK(nb_splat_extent_cpu(1000, pos, centre, 0.95, &radius) == NB_OK);
	CHECK(radius > 0.5 && radius < 0.9);
	/* few bodies: the plain centre of mass; without mass the plain mean */
	const double two[] = {0, 0, 0, 4, 0, 0}, masses[] = {3, 1}, none[] = {0, 0};
	CHECK(nb_splat_centre_cpu(2, two, masses, centre) == NB_OK && centre[0] == 1);
	CHECK(nb_splat_centre_cpu(2, two, none, mean) == NB_OK && mean[0] == 2);
	/* the sum of these overflows */
	const double huge[] = {1.7e308, 0, 0, 1.7e308, 0, 0};
	CHECK(nb_splat_centre_cpu(2, huge, masses, centre) == NB_OK && isfinite(centre[0]));
}

static void one_body(void)
{
	static float image[2 * W * H];
	for (float radius = 2; radius < 60; radius *= 1.37f)
		for (int where = 0; where < 25; where++) {
			const float x = 100.5f + (float)(where % 5) / 5, y = 120.5f + (float)(where / 5) / 5;
			const float weight[] = {3, -7};
			const struct nb_splat s = {1, &x, &y, &radius, weight, 2, NB_SPLAT_SMOOTH, W, H, image};
			CHECK(nb_splat_cpu(&s) == NB_OK);
			CHECK_NEAR(sum_of(image, W * H), 3, 3 * (radius < 4 ? 0.005 : 1e-4));
			CHECK_NEAR(sum_of(image + W * H, W * H), -7, 7 * (radius < 4 ? 0.005 : 1e-4));
			size_t best = 0;
			double mx = 0, my = 0;
			for (size_t p = 0; p < W * H; p++) {
				best = image[p] > image[best] ? p : best;
				mx += image[p] * ((double)(p % W) + 0.5) / 3;
				my += image[p] * ((double)(p / W) + 0.5) / 3;
			}
			CHECK(best % W == (size_t)x && best / W == (size_t)y);
			CHECK_NEAR(mx, x, radius < 4 ? 0.6 : 0.05);
			CHECK_NEAR(my, y, radius < 4 ? 0.6 : 0.05);
		}
	/* on an edge half of it is lost, in a corner three quarters, outside all */
	const float radius = 20, one = 1,
		    at[][3] = {{0, 120, 0.5f}, {160, H, 0.5f}, {W, 0, 0.25f}, {-25, 100, 0}, {100, H + 25, 0},
			    {NB_SPLAT_AWAY, NB_SPLAT_AWAY, 0}};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		const struct nb_splat s = {1, &at[k][0], &at[k][1], &radius, &one, 1, NB_SPLAT_SMOOTH, W, H, image};
		CHECK(nb_splat_cpu(&s) == NB_OK);
		CHECK_NEAR(sum_of(image, W * H), at[k][2], 1e-3);
	}
}

static void disc(void)
{
	static float image[W * H];
	const float x = 160, y = 120, radius = 10, one = 1;
	const struct nb_splat s = {1, &x, &y, &radius, &one, 1, NB_SPLAT_DISC, W, H, image};
	CHECK(nb_splat_cpu(&s) == NB_OK);
	double full = 0, lit = 0;
	for (size_t p = 0; p < W * H; p++) {
		full += image[p] > 0.7f;
		lit += image[p] > 0;
		CHECK(image[p] >= 0 && image[p] <= 1);
	}
	CHECK(image[120 * W + 160] == 1);
	CHECK_NEAR(full, M_PI * 100, 20);
	/* glow of min(4 radius, H / 20) = 12 pixels */
	CHECK_NEAR(lit, M_PI * 22 * 22, 80);
	CHECK(image[120 * W + 160 + 15] > image[120 * W + 160 + 19] && image[120 * W + 160 + 19] > 0);
}

/* n bodies at random; the same picture for any threads, all weight in it, radii as the density asks */
static void many_bodies(void)
{
	float *x = nb_alloc(6 * N, sizeof *x), *y = x + N, *radius = y + N, *weight = radius + N;
	float *first = nb_alloc(3 * W * H, sizeof *first), *image = nb_alloc(3 * W * H, sizeof *image);
	uint64_t seed = 7;
	for (size_t i = 0; i < N; i++) {
		x[i] = (float)(60 + 200 * uniform(&seed));
		y[i] = (float)(60 + 120 * uniform(&seed));
		for (int c = 0; c < 3; c++)
			weight[3 * i + (size_t)c] = (float)(c + 1);
	}
	for (int shape = NB_SPLAT_SMOOTH; shape <= NB_SPLAT_DISC; shape++)
		for (int threads = 1; threads <= 3; threads++) {
			omp_set_num_threads(threads);
			CHECK(nb_splat_radii_cpu(N, x, y, W, H, 64, radius) == NB_OK);
			const struct nb_splat s = {N, x, y, radius, weight, 3, (enum nb_splat_shape)shape, W, H, image};
			CHECK(nb_splat_cpu(&s) == NB_OK);
			if (threads == 1)
				memcpy(first, image, 3 * W * H * sizeof *image);
			CHECK(memcmp(first, image, 3 * W * H * sizeof *image) == 0);
			if (shape == NB_SPLAT_SMOOTH)
				for (int c = 0; c < 3; c++)
					CHECK_NEAR(
						sum_of(image + c * W * H, W * H), N * (c + 1.0), N * 1e-4 * (c + 1.0));
		}
	/* 64 neighbours at N / (200 x 120) a pixel: 1.131 R^2 density = 64; at the edges more is needed */
	CHECK(nb_splat_radii_cpu(N, x, y, W, H, 64, radius) == NB_OK);
	double mean = 0, inside = 0;
	for (size_t i = 0; i < N; i++) {
		CHECK(radius[i] >= NB_SPLAT_MIN_RADIUS && radius[i] <= H / 6.0f);
		if (x[i] > 90 && x[i] < 230 && y[i] > 90 && y[i] < 150) {
			mean += radius[i];
			inside++;
		}
	}
	CHECK_NEAR(mean / inside, sqrt(64 / 1.131 * 200 * 120 / N), 0.5);
	CHECK(nb_splat_radii_cpu(N, x, y, W, H, 0, radius) == NB_OK && radius[0] == NB_SPLAT_MIN_RADIUS);
	CHECK(nb_splat_radii_cpu(N, x, y, W, H, NAN, radius) == NB_EINVAL);
	/* alone: as wide as allowed */
	CHECK(nb_splat_radii_cpu(1, x, y, W, H, 64, radius) == NB_OK && radius[0] == H / 6.0f);
	/* 10 a pixel along a line between two rows of cells, each of which counts half: 192 are in cells of 2 * 192 /
	 * (3 * 1.131 * 10) pixels, and 2^(2 - 4 / 1.4) of that is what they get, so that they stay near the line */
	for (size_t i = 0; i < 2000; i++)
		y[i] = H / 2;
	CHECK(nb_splat_radii_cpu(2000, x, y, W, H, 64, radius) == NB_OK);
	mean = inside = 0;
	for (size_t i = 0; i < 2000; i++) {
		mean += x[i] > 90 && x[i] < 230 ? radius[i] : 0;
		inside += x[i] > 90 && x[i] < 230;
	}
	CHECK_NEAR(mean / inside, 11.32 * exp2(2 - 4 / 1.4), 0.3);
	nb_free(x);
	nb_free(first);
	nb_free(image);
}

static void nothing(void)
{
	static float image[W * H];
	memset(image, 0xff, sizeof image);
	const float none = 0;
	struct nb_splat s = {0, &none, &none, &none, &none, 1, NB_SPLAT_SMOOTH, W, H, image};
	CHECK(nb_splat_cpu(&s) == NB_OK);
	CHECK(sum_of(image, W * H) == 0);
	s.nchannel = NB_SPLAT_MAX_CHANNEL + 1;
	CHECK(nb_splat_cpu(&s) == NB_EINVAL);
	s.nchannel = 1;
	s.width = NB_SPLAT_MAX_SIZE + 1;
	CHECK(nb_splat_cpu(&s) == NB_EINVAL);
}

static void stretches(void)
{
	float s[] = {-1, 0, 0.5f, 1, 2, 50, 100, 1e30f, INFINITY, NAN}, v[10];
	for (int stretch = NB_STRETCH_ASINH; stretch <= NB_STRETCH_LINEAR; stretch++) {
		nb_splat_stretch_cpu(10, s, (enum nb_stretch)stretch, 1, 100, v);
		for (int i = 0; i < 10; i++)
			CHECK(v[i] >= 0 && v[i] <= 1);
		for (int i = 1; i < 9; i++)
			CHECK(v[i] >= v[i - 1]);
		CHECK(v[0] == 0 && v[1] == 0 && v[8] == 1 && v[9] == 0);
		CHECK_NEAR(v[6], 1, 1e-6);
	}
	nb_splat_stretch_cpu(1, &s[5], NB_STRETCH_LINEAR, 0, 100, v);
	CHECK_NEAR(v[0], 0.5, 1e-6);
	nb_splat_stretch_cpu(1, &s[5], NB_STRETCH_LOG, 1, 2500, v);
	CHECK_NEAR(v[0], 0.5, 1e-6);
	nb_splat_stretch_cpu(1, &s[3], NB_STRETCH_ASINH, 1, 100, v);
	CHECK_NEAR(v[0], asinh(1) / asinh(100), 1e-6);
}

int main(void)
{
	quantiles();
	camera();
	robust_centre();
	one_body();
	disc();
	many_bodies();
	nothing();
	stretches();
	return unit_end();
}
