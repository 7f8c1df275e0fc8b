/* How bright, how wide and between which speeds a picture shows its bodies, so that what is usual in it is seen well
 * and a few exceptional bodies do not spoil it. */
#include "kernels/measure/measure.h"
#include "kernels/picture/picture_internal.h"

#include <math.h>

#include "common/mem.h"

/* ---- what the bodies are like --------------------------------------------------------------------- */

int nb_exposure_masses_cpu(size_t n, const double *mass, struct nb_mass_scale *scale)
{
	double *m = nb_alloc(n, sizeof *m);
	if (!m)
		return NB_ENOMEM;
	double heaviest = 0;
	for (size_t i = 0; i < n; i++) {
		m[i] = mass[i];
		heaviest = fmax(heaviest, m[i]);
	}
	nb_masses_of(heaviest, nb_quantile(n, m, NB_HEAVY_SHARE), scale);
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
	const double low = nb_quantile(n, s, nb_slow_share(n)), high = nb_quantile(n, s, nb_fast_share(n));
	nb_free(s);
	nb_speeds_of(low, high, slow, fast);
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
	const double most = count ? nb_quantile(count, s, NB_BRIGHT_SHARE) : 0;
	const double least = count ? nb_quantile(count, s, NB_FAINT_SHARE) : 0;
	nb_free(s);
	nb_range_of(count, least, most, stretch, lo, hi);
	return NB_OK;
}

double nb_exposure_neighbours(size_t n)
{
	if (n < NB_PICTURE_MANY)
		return fmax(0.64 * sqrt((double)n), 8);
	return fmin(192 * pow((double)n / NB_PICTURE_MANY, 0.2), 512);
}

double nb_exposure_disc_size(size_t n, int height)
{
	return height / 180.0 * fmin(pow(10 / (double)n, 0.25), 1);
}

int nb_splat_visible_cpu(
	size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES], uint32_t *row, size_t *count)
{
	*count = 0;
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	for (size_t i = 0; i < n; i++)
		if (!nb_species_hidden(species[i], hidden))
			row[(*count)++] = (uint32_t)i;
	return NB_OK;
}

/* ---- what each body gets -------------------------------------------------------------------------- */

int nb_splat_weights_cpu(
	size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight)
{
	const struct nb_mass_scale s = *scale;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		weight[i * (size_t)nchannel] = s.massless ? 1 : (float)fmin(fmin(mass[i], cap) / s.unit, 1e24);
	return NB_OK;
}

int nb_splat_speed_weights_cpu(size_t n, const double *vel, double slow, double fast, int nchannel, float *weight)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		float *w = &weight[i * (size_t)nchannel];
		const double t = (speed_of(vel, i) - slow) / (fast - slow);
		w[1] = w[0] * (float)(t > 0 ? (t < 1 ? t : 1) : 0);
	}
	return NB_OK;
}

int nb_splat_colour_weights_cpu(
	size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		float *w = &weight[4 * i];
		const uint32_t rgb = colour[nb_species_of(species[i])];
		for (int k = 0; k < 3; k++)
			w[1 + k] = w[0] * (float)(rgb >> (16 - 8 * k) & 255) / 255;
	}
	return NB_OK;
}

int nb_splat_disc_radii_cpu(size_t n, const double *mass, const struct nb_mass_scale *scale, const double *own,
	double pixels_per_length, double size, float *radius)
{
	for (size_t i = 0; i < n; i++) {
		const double share = scale->massless ? 1 : fmin(cbrt(mass[i] / scale->unit), 2);
		const double true_radius = own ? own[i] * pixels_per_length : 0;
		radius[i] = (float)fmin(fmax(fmax((1 + share) * size, 1.5), true_radius), 1e6);
	}
	return NB_OK;
}

int nb_splat_sharpen_cpu(size_t n, const double *mass, double heavy, float spot, float *radius)
{
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++)
		if (mass[i] > heavy)
			radius[i] = fminf(radius[i], fmaxf(radius[i] * (float)sqrt(heavy / mass[i]), spot));
	return NB_OK;
}
