/* What is shown, and how bright, from sums and quantiles that a backend has found. */
#include <math.h>

#include "kernels/picture/picture_internal.h"

double nb_size_share(size_t n)
{
	return n <= NB_PICTURE_WHOLE ? 1 : 0.95;
}

double nb_size_of(double radius)
{
	return radius > 0 ? fmin(2.4 * radius, 1e300) : 1;
}

double nb_slow_share(size_t n)
{
	return n > NB_PICTURE_FEW ? 0.02 : 0;
}

double nb_fast_share(size_t n)
{
	return n > NB_PICTURE_FEW ? 0.98 : 1;
}

void nb_centre_of(const double sum[3], double total, const double median[3], double centre[3])
{
	for (int k = 0; k < 3; k++) {
		centre[k] = sum[k] / total;
		if (!isfinite(centre[k])) /* overflow, or every body within has no mass */
			centre[k] = median[k];
	}
}

void nb_masses_of(double heaviest, double heavy, struct nb_mass_scale *scale)
{
	scale->massless = !(heaviest > 0);
	scale->unit = scale->massless ? 1 : heaviest;
	scale->heavy = heavy > 0 ? heavy : INFINITY;
}

void nb_speeds_of(double low, double high, double *slow, double *fast)
{
	*slow = high > low ? low : 0;
	*fast = high > *slow ? high : 1;
}

void nb_range_of(size_t count, double least, double most, enum nb_stretch stretch, float *lo, float *hi)
{
	*hi = (float)fmax(count ? most : 1, 1e-30);
	*lo = nb_exposure_lowest(stretch, (float)(count ? least / (stretch == NB_STRETCH_LOG ? 10 : 2) : 0.01), *hi);
}

float nb_exposure_lowest(enum nb_stretch stretch, float lo, float hi)
{
	const float least = stretch == NB_STRETCH_LOG ? 1e-5f : 1e-4f;
	return stretch == NB_STRETCH_LINEAR ? 0 : fminf(fmaxf(lo, hi * least), hi / 40);
}
