/* How bright, how wide and between which speeds a picture shows its bodies, so that what is usual in it is seen well
 * and a few exceptional bodies do not spoil it. */
#include "kernels/picture/picture.h"

#include <math.h>

#include "common/mem.h"

/* ---- what the bodies are like --------------------------------------------------------------------- */

int nb_exposure_masses_cpu(size_t n, const double *mass, struct nb_mass_scale *scale)
{
	double *m = nb_alloc(n, sizeof *m);
	if (!m)
		return NB_ENOMEM;
	scale->unit = 0;
	for (size_t i = 0; i < n; i++) {
		m[i] = mass[i];
		scale->unit = fmax(scale->unit, m[i]);
	}
	scale->massless = !(scale->unit > 0);
	if (scale->massless)
		scale->unit = 1;
	scale->heavy = nb_splat_quantile(n, m, 0.99);
	if (!(scale->heavy > 0))
		scale->heavy = INFINITY;
	nb_free(m);
	return NB_OK;
}

static double speed_of(const double *vel, size_t i)
{
	return hypot(hypot(vel[3 * i], vel[3 * i + 1]), vel[3 * i + 2]);
}

int nb_exposure_speeds_cpu(size_t n, const double *vel, double *slow, double *fast)
{
	double *s = nb_alloc(n, sizeof *s);
	if (!s)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		s[i] = fmin(speed_of(vel, i), 1e300);
	*slow = nb_splat_quantile(n, s, n > NB_PICTURE_FEW ? 0.02 : 0);
	*fast = nb_splat_quantile(n, s, n > NB_PICTURE_FEW ? 0.98 : 1);
	nb_free(s);
	if (!(*fast > *slow))
		*slow = 0;
	if (!(*fast > *slow))
		*fast = 1;
	return NB_OK;
}

int nb_exposure_range_cpu(size_t n, const float *x, const float *y, int width, int height, const float *image,
	enum nb_stretch stretch, float *lo, float *hi)
{
	double *s = nb_alloc(n, sizeof *s);
	size_t count = 0;
	if (!s)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (x[i] >= 0 && x[i] < (float)width && y[i] >= 0 && y[i] < (float)height) {
			float at = image[(size_t)y[i] * (size_t)width + (size_t)x[i]];
			if (at > 0)
				s[count++] = at;
		}
	const double most = count ? nb_splat_quantile(count, s, 0.98) : 1;
	const double least = count ? nb_splat_quantile(count, s, 0.05) / 2 : 0.01;
	nb_free(s);
	*hi = (float)fmax(most, 1e-30);
	*lo = stretch == NB_STRETCH_LINEAR ? 0 : (float)fmin(fmax(least, *hi * 1e-4), *hi / 4);
	return NB_OK;
}

double nb_exposure_neighbours(size_t n)
{
	return fmin(fmax(0.64 * sqrt((double)n), 8), 64);
}

double nb_exposure_disc_size(size_t n, int height)
{
	return height / 180.0 * fmin(pow(10 / (double)n, 0.25), 1);
}

/* ---- what each body gets -------------------------------------------------------------------------- */

void nb_splat_weights_cpu(
	size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight)
{
	const struct nb_mass_scale s = *scale;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		weight[i * (size_t)nchannel] = s.massless ? 1 : (float)fmin(fmin(mass[i], cap) / s.unit, 1e24);
}

void nb_splat_speed_weights_cpu(size_t n, const double *vel, double slow, double fast, int nchannel, float *weight)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		float *w = &weight[i * (size_t)nchannel];
		const double t = (speed_of(vel, i) - slow) / (fast - slow);
		w[1] = w[0] * (float)(t > 0 ? (t < 1 ? t : 1) : 0);
	}
}

void nb_splat_disc_radii_cpu(size_t n, const double *mass, const struct nb_mass_scale *scale, const double *own,
	double pixels_per_length, double size, float *radius)
{
	for (size_t i = 0; i < n; i++) {
		const double share = scale->massless ? 1 : fmin(cbrt(mass[i] / scale->unit), 2);
		const double true_radius = own ? own[i] * pixels_per_length : 0;
		radius[i] = (float)fmin(fmax(fmax((1 + share) * size, 1.5), true_radius), 1e6);
	}
}

void nb_splat_sharpen_cpu(size_t n, const double *mass, double heavy, float spot, float *radius)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		if (mass[i] > heavy)
			radius[i] = fminf(radius[i], fmaxf(radius[i] * (float)sqrt(heavy / mass[i]), spot));
}
