/* What changes from frame to frame: where the camera looks, how much it shows, and how much light is too much.  In host
 * memory. */
#include "kernels/measure/measure.h"
#include "kernels/picture/picture.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/mem.h"

/* ---- camera --------------------------------------------------------------------------------------- */

int nb_camera_keep(size_t n, const double *pos, const struct nb_camera *camera, double share, double *size)
{
	double *reach = nb_alloc(n, sizeof *reach);
	if (!reach)
		return NB_ENOMEM;
	const struct nb_camera c = *camera;
	const double smaller = c.width < c.height ? c.width : c.height;
	for (size_t i = 0; i < n; i++) {
		double u = 0, v = 0;
		for (size_t k = 0; k < 3; k++) {
			u += (pos[3 * i + k] - c.centre[k]) * c.right[k];
			v += (pos[3 * i + k] - c.centre[k]) * c.up[k];
		}
		const double length = fmax(fabs(u) * smaller / c.width, fabs(v) * smaller / c.height);
		reach[i] = length <= DBL_MAX ? length : DBL_MAX; /* false for NaN, of two infinities */
	}
	/* the half keeps the rounding of the quotient from the next element */
	const double kept = fmax(ceil(share * (double)n * (1 - 1e-12)), 1) - 0.5;
	const double q = n > 1 ? fmin(kept / (double)(n - 1), 1) : 0;
	*size = fmin(2 * nb_quantile(n, reach, q), 1e300);
	nb_free(reach);
	return NB_OK;
}

static double distance(const double *a, const double *b)
{
	return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/* The mean of m bodies, which is the new centre, and in near those of them that lie nearest to it, as many as are
 * left. */
static void shrink(size_t m, double *near, size_t left, double *scratch, double centre[3])
{
	double mean[3] = {0, 0, 0};
	for (size_t i = 0; i < m; i++)
		for (size_t k = 0; k < 3; k++)
			mean[k] += (near[3 * i + k] - mean[k]) / (double)(i + 1);
	memcpy(centre, mean, sizeof mean);
	for (size_t i = 0; i < m; i++)
		scratch[i] = distance(&near[3 * i], centre);
	const double within = nb_quantile(m, scratch, m > 1 ? ((double)left - 0.5) / (double)(m - 1) : 0);
	size_t kept = 0;
	for (size_t i = 0; i < m && kept < left; i++)
		if (distance(&near[3 * i], centre) <= within)
			memmove(&near[3 * kept++], &near[3 * i], 3 * sizeof *near);
}

int nb_camera_densest(size_t n, const double *pos, const double *start, double centre[3])
{
	const size_t few = n / 32 > 32 ? n / 32 : 32;
	double *near = nb_alloc(n, 3 * sizeof *near), *scratch = nb_alloc(n, sizeof *scratch);
	if (!near || !scratch) {
		nb_free_all(near, scratch);
		return NB_ENOMEM;
	}
	memcpy(near, pos, 3 * n * sizeof *near);
	size_t m = n;
	if (start) { /* only what lies around it, so that the camera does not jump to another group as dense */
		for (size_t i = 0; i < n; i++)
			scratch[i] = distance(&pos[3 * i], start);
		const double within = nb_quantile(n, scratch, 0.25);
		m = 0;
		for (size_t i = 0; i < n; i++)
			if (distance(&pos[3 * i], start) <= within)
				memcpy(&near[3 * m++], &pos[3 * i], 3 * sizeof *near);
	}
	for (size_t left; m > 0; m = left) {
		left = m > few ? (size_t)(0.9 * (double)m) : m;
		shrink(m, near, left, scratch, centre);
		if (left == m)
			break;
	}
	nb_free_all(near, scratch);
	return NB_OK;
}

/* ---- exposure ------------------------------------------------------------------------------------- */

/* Positive floats in order of size: 8 bits of exponent and 7 of the mantissa, so that steps are less than 1 %. */
enum { NSTEP = 1 << 15, STEP_SHIFT = 16 };

static size_t step_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits >> STEP_SHIFT;
}

static float start_of(size_t step)
{
	const uint32_t bits = (uint32_t)step << STEP_SHIFT;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* The density that is shown with brightness v. */
static float density_at(enum nb_stretch stretch, float lo, float hi, float v)
{
	switch (stretch) {
	case NB_STRETCH_LINEAR: return lo + v * (hi - lo);
	case NB_STRETCH_LOG: return lo * powf(hi / lo, v);
	default: return lo * sinhf(v * asinhf(hi / lo));
	}
}

/* The densities from which on a pixel has light, and the top colour. */
static void bounds_of(enum nb_stretch stretch, float lo, float hi, float bound[2])
{
	bound[0] = fmaxf(density_at(stretch, lo, hi, NB_LIT), FLT_MIN);
	bound[1] = fmaxf(density_at(stretch, lo, hi, NB_TOP), FLT_MIN);
}

static double share_of(size_t tops, size_t lights)
{
	return lights ? (double)tops / (double)lights : 0;
}

/* Raises *hi, with above[s] the pixels of step s or a higher one. */
static void raise(const size_t *above, enum nb_stretch stretch, double most, float lo, float *hi)
{
	float bound[2];
	for (size_t step = step_of(*hi) + 1; step < step_of(FLT_MAX); step++) {
		*hi = start_of(step);
		bounds_of(stretch, lo, *hi, bound);
		if (share_of(above[step_of(bound[1])], above[step_of(bound[0])]) <= most)
			return;
	}
}

int nb_exposure_limit(
	size_t n, const float *image, enum nb_stretch stretch, double most, float lo, float *hi, double *share)
{
	float bound[2];
	size_t lights = 0, tops = 0;
	bounds_of(stretch, lo, *hi, bound);
	const float light = bound[0], top = bound[1];
#pragma omp parallel for schedule(static) reduction(+ : lights, tops) if (n > 10000)
	for (size_t p = 0; p < n; p++) {
		lights += image[p] >= light;
		tops += image[p] >= top;
	}
	*share = share_of(tops, lights);
	if (!(*share > most))
		return NB_OK;
	size_t *above = nb_alloc_zero(NSTEP, sizeof *above);
	if (!above)
		return NB_ENOMEM;
	for (size_t p = 0; p < n; p++)
		if (image[p] > 0)
			above[step_of(image[p])]++;
	for (size_t s = NSTEP - 1; s-- > 0;)
		above[s] += above[s + 1];
	raise(above, stretch, most, lo, hi);
	nb_free(above);
	return NB_OK;
}
