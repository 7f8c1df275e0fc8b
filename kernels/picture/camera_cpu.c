/* Where a camera stands and what it sees: axes, centre, size and projection. */
#include "kernels/measure/measure.h"
#include "kernels/picture/picture_internal.h"

#include <math.h>

#include "common/mem.h"

void nb_camera_axes(double azimuth, double elevation, double right[3], double up[3])
{
	const double angle[2] = {azimuth, elevation};
	/* sine and cosine of whole quarter turns exactly, so that the plain views keep coordinates as they are */
	double sine[2], cosine[2];
	for (int k = 0; k < 2; k++) {
		double quarter = angle[k] / 90, turns = nearbyint(quarter), rest = (quarter - turns) * M_PI_2;
		int turn = ((int)turns % 4 + 4) % 4;
		double s = sin(rest), c = cos(rest);
		sine[k] = turn == 0 ? s : turn == 1 ? c : turn == 2 ? -s : -c;
		cosine[k] = turn == 0 ? c : turn == 1 ? -s : turn == 2 ? -c : s;
	}
	right[0] = -sine[0];
	right[1] = cosine[0];
	right[2] = 0;
	up[0] = -sine[1] * cosine[0];
	up[1] = -sine[1] * sine[0];
	up[2] = cosine[1];
}

static double distance(const double *a, const double *b)
{
	return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

int nb_splat_extent_cpu(size_t n, const double *pos, const double centre[3], double q, double *radius)
{
	double *r = nb_alloc(n, sizeof *r);
	if (!r)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++)
		r[i] = distance(&pos[3 * i], centre);
	*radius = nb_quantile(n, r, q);
	nb_free(r);
	return NB_OK;
}

/* The component-wise median, and which bodies are far from it: one byte for each, from nb_alloc. */
static int find_far(size_t n, const double *pos, double median[3], unsigned char **far)
{
	double within = 0, *x = nb_alloc(n, sizeof *x);
	if (!x)
		return NB_ENOMEM;
	for (size_t k = 0; k < 3; k++) {
#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < n; i++)
			x[i] = pos[3 * i + k];
		median[k] = nb_quantile(n, x, 0.5);
	}
	nb_free(x);
	const int error = nb_splat_extent_cpu(n, pos, median, NB_CENTRE_SHARE, &within);
	unsigned char *is = *far = error ? NULL : nb_alloc(n, 1);
	if (error || !is)
		return error ? error : NB_ENOMEM;
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++)
		is[i] = distance(&pos[3 * i], median) > within;
	return NB_OK;
}

int nb_splat_centre_cpu(size_t n, const double *pos, const double *mass, double centre[3])
{
	double median[3] = {0, 0, 0}, heaviest = 0;
	unsigned char *far = NULL;
	const int error = n > NB_PICTURE_FEW ? find_far(n, pos, median, &far) : NB_OK;
	if (error)
		return error;
	for (size_t i = 0; i < n; i++)
		heaviest = fmax(heaviest, mass[i]);
	/* one thread, so that the order of the sum is fixed; done once a movie */
	double sum[3] = {0, 0, 0}, total = 0;
	for (size_t i = 0; i < n; i++) {
		if (far && far[i])
			continue;
		double w = heaviest > 0 ? mass[i] / heaviest : 1;
		for (size_t k = 0; k < 3; k++)
			sum[k] += w * pos[3 * i + k];
		total += w;
	}
	nb_free(far);
	nb_centre_of(sum, total, median, centre);
	return NB_OK;
}

int nb_splat_project_cpu(size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y)
{
	const struct nb_camera c = *camera;
	if (!(c.pixels_per_length > 0 && isfinite(c.pixels_per_length)))
		return NB_EINVAL;
	const double w = c.width, h = c.height;
#pragma omp parallel for schedule(static) if (n > 10000)
	for (size_t i = 0; i < n; i++) {
		double d0 = pos[3 * i] - c.centre[0], d1 = pos[3 * i + 1] - c.centre[1],
		       d2 = pos[3 * i + 2] - c.centre[2];
		double u = w / 2 + (d0 * c.right[0] + d1 * c.right[1] + d2 * c.right[2]) * c.pixels_per_length;
		double v = h / 2 - (d0 * c.up[0] + d1 * c.up[1] + d2 * c.up[2]) * c.pixels_per_length;
		int near = u >= -w && u <= 2 * w && v >= -h && v <= 2 * h; /* false for NaN */
		x[i] = near ? (float)u : NB_SPLAT_AWAY;
		y[i] = near ? (float)v : NB_SPLAT_AWAY;
	}
	return NB_OK;
}

int nb_camera_size_cpu(size_t n, const double *pos, const double centre[3], double *size)
{
	double radius;
	int error = nb_splat_extent_cpu(n, pos, centre, nb_size_share(n), &radius);
	if (!error)
		*size = nb_size_of(radius);
	return error;
}
