#include "kernels/measure/measure_internal.h"

#include <math.h>

#include "common/mem.h"
#include "kernels/picture/picture.h"

#define KEPT 0.9 /* of the bodies, in each step */

/* Weighted mean of rows of x: of row[k], k < n. */
static int mean_of(size_t n, const uint32_t *row, const double *mass, const double *x, double mean[3])
{
	const size_t chunk = nb_wide_chunk(n), nchunk = nb_wide_chunks(n);
	double *partial = nb_alloc_zero(nchunk, 4 * sizeof *partial);
	if (!partial)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++) {
		double *p = &partial[4 * c];
		for (size_t k = c * chunk; k < n && k < (c + 1) * chunk; k++) {
			const size_t i = row[k];
			p[3] += mass[i];
			for (int d = 0; d < 3; d++)
				p[d] += mass[i] * x[3 * i + d];
		}
	}
	const double total = nb_sum_column(nchunk, partial, 4, 3);
	for (int d = 0; d < 3; d++)
		mean[d] = total > 0 ? nb_sum_column(nchunk, partial, 4, d) / total : NAN;
	nb_free(partial);
	return NB_OK;
}

static void squares_of_distances(size_t n, const uint32_t *row, const double *pos, const double centre[3], double *r2)
{
#pragma omp parallel for schedule(static) if (n > 100000)
	for (size_t k = 0; k < n; k++) {
		const double *p = &pos[3 * (size_t)row[k]];
		const double x = p[0] - centre[0], y = p[1] - centre[1], z = p[2] - centre[2];
		r2[k] = x * x + y * y + z * z;
	}
}

/* Of the rows those that are nearest, that part of them, in order; those at the limit too.  Returns how many. */
static size_t nearest(
	size_t n, uint32_t *row, const double *pos, const double centre[3], double part, double *r2, double *scratch)
{
	size_t left = 0;
	squares_of_distances(n, row, pos, centre, r2);
	for (size_t k = 0; k < n; k++)
		scratch[k] = r2[k];
	const double limit = nb_splat_quantile(n, scratch, part);
	for (size_t k = 0; k < n; k++)
		if (r2[k] <= limit)
			row[left++] = row[k];
	return left;
}

static size_t all_with_mass(size_t n, const double *mass, uint32_t *row)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (mass[i] > 0)
			row[count++] = (uint32_t)i;
	return count;
}

int nb_density_centre(size_t n, const double *mass, const double *pos, const double *vel, struct nb_centre *centre)
{
	*centre = (struct nb_centre){{NAN, NAN, NAN}, {NAN, NAN, NAN}};
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	uint32_t *row = nb_alloc(n, sizeof *row);
	double *r2 = nb_alloc(n, sizeof *r2), *scratch = nb_alloc(n, sizeof *scratch);
	int status = row && r2 && scratch ? NB_OK : NB_ENOMEM;
	if (status)
		goto done;
	const size_t count = all_with_mass(n, mass, row);
	const size_t few = count / 100 > NB_DENSITY_CENTRE_FEW ? count / 100 : NB_DENSITY_CENTRE_FEW;
	size_t left = count;
	status = mean_of(left, row, mass, pos, centre->pos);
	while (!status && left > few) {
		const size_t before = left;
		left = nearest(left, row, pos, centre->pos, KEPT, r2, scratch);
		if (left == before)
			break;
		status = mean_of(left, row, mass, pos, centre->pos);
	}
	if (status || !vel || !count)
		goto done;
	left = all_with_mass(n, mass, row);
	left = nearest(left, row, pos, centre->pos, left > 10 * NB_DENSITY_CENTRE_FEW ? 0.1 : 1, r2, scratch);
	status = mean_of(left, row, mass, vel, centre->vel);
done:
	nb_free(row);
	nb_free(r2);
	nb_free(scratch);
	return status;
}
