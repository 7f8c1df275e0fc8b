#include "kernels/measure/measure_internal.h"

#include <math.h>

#include "common/mem.h"

#define KEPT 0.9 /* of the bodies, in each step */
enum { STEPS = 50 };

/* Mean of rows of x, weighted: of row[k], k < n. */
static int mean_of(size_t n, const uint32_t *row, const double *weight, const double *x, double mean[3])
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
			p[3] += weight[i];
			for (int d = 0; d < 3; d++)
				p[d] += weight[i] * x[3 * i + d];
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

/* Of the rows those whose squared distance, in r2, is not above the limit, in order.  Returns how many. */
static size_t filter(size_t n, uint32_t *row, const double *r2, double limit)
{
	size_t left = 0;
	for (size_t k = 0; k < n; k++)
		if (r2[k] <= limit)
			row[left++] = row[k];
	return left;
}

/* Of the rows those that are nearest, that part of them; those at the limit too. */
static size_t nearest(
	size_t n, uint32_t *row, const double *pos, const double centre[3], double part, double *r2, double *scratch)
{
	squares_of_distances(n, row, pos, centre, r2);
	for (size_t k = 0; k < n; k++)
		scratch[k] = r2[k];
	return filter(n, row, r2, nb_quantile(n, scratch, part));
}

static size_t within(size_t n, uint32_t *row, const double *pos, const double centre[3], double radius, double *r2)
{
	squares_of_distances(n, row, pos, centre, r2);
	return filter(n, row, r2, radius * radius);
}

static size_t all_with_mass(size_t n, const double *mass, uint32_t *row)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (mass[i] > 0)
			row[count++] = (uint32_t)i;
	return count;
}

/* The mean distance from the centre, weighted. */
static double mean_distance(size_t n, const uint32_t *row, const double *weight, const double *pos,
	const double centre[3], double *distance)
{
	double sum = 0, total = 0;
	squares_of_distances(n, row, pos, centre, distance);
	for (size_t k = 0; k < n; k++) {
		sum += weight[row[k]] * sqrt(distance[k]);
		total += weight[row[k]];
	}
	return sum / total;
}

/* What centres are searched with: the bodies that have mass, those of them that are left, and room. */
struct search {
	const double *mass, *pos;
	size_t count;
	uint32_t *row;
	double *density, *r2, *scratch;
};

/* Of the bodies in one place with others, a density that counts them; of the rest, none.  Returns whether there are
 * any. */
static int many_in_one_place(const struct search *s)
{
	int any = 0;
	for (size_t k = 0; k < s->count; k++)
		any |= isinf(s->density[s->row[k]]) != 0;
	for (size_t k = 0; k < s->count && any; k++)
		s->density[s->row[k]] = isinf(s->density[s->row[k]]) ? 1 : 0;
	return any;
}

static int shrink(struct search *s, double centre[3])
{
	const size_t few = s->count / 100 > NB_DENSITY_CENTRE_FEW ? s->count / 100 : NB_DENSITY_CENTRE_FEW;
	size_t left = s->count;
	int status = mean_of(left, s->row, s->mass, s->pos, centre);
	while (!status && left > few) {
		const size_t before = left;
		left = nearest(left, s->row, s->pos, centre, KEPT, s->r2, s->scratch);
		if (left == before)
			break;
		status = mean_of(left, s->row, s->mass, s->pos, centre);
	}
	return status;
}

/* From the tenth of the bodies that is nearest, until what lies within reach stays the same. */
static int grow(struct search *s, size_t n, struct nb_centre *centre)
{
	size_t left = 0, before = 0;
	int status = NB_OK;
	for (int step = 0; step < STEPS && !status; step++) {
		s->count = all_with_mass(n, s->mass, s->row);
		left = step ? within(s->count, s->row, s->pos, centre->pos, NB_DENSITY_CENTRE_REACH * centre->core,
				      s->r2)
			    : nearest(s->count, s->row, s->pos, centre->pos, 0.1, s->r2, s->scratch);
		if (left == before)
			break;
		before = left;
		status = mean_of(left, s->row, s->density, s->pos, centre->pos);
		if (!status)
			centre->core = mean_distance(left, s->row, s->density, s->pos, centre->pos, s->r2);
	}
	return status;
}

/* Of all bodies with mass, of which there are more than a few. */
static int centre_of_density(struct search *s, size_t n, struct nb_centre *centre)
{
	int status = nb_densities(s->count, s->row, s->mass, s->pos, s->density);
	if (status)
		return status;
	if (many_in_one_place(s)) {
		centre->core = 0;
		return mean_of(s->count, s->row, s->density, s->pos, centre->pos);
	}
	status = shrink(s, centre->pos);
	return status ? status : grow(s, n, centre);
}

int nb_density_centre(size_t n, const double *mass, const double *pos, const double *vel, struct nb_centre *centre)
{
	*centre = (struct nb_centre){{NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN};
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	struct search s = {.mass = mass, .pos = pos, .row = nb_alloc(n, sizeof *s.row)};
	s.density = nb_alloc(n, sizeof *s.density);
	s.r2 = nb_alloc(n, sizeof *s.r2);
	s.scratch = nb_alloc(n, sizeof *s.scratch);
	int status = s.row && s.density && s.r2 && s.scratch ? NB_OK : NB_ENOMEM;
	if (!status) {
		s.count = all_with_mass(n, mass, s.row);
		status = s.count > NB_DENSITY_CENTRE_FEW ? centre_of_density(&s, n, centre)
							 : mean_of(s.count, s.row, mass, pos, centre->pos);
	}
	if (!status && vel && s.count) {
		s.count = all_with_mass(n, mass, s.row);
		const double part = s.count > 10 * NB_DENSITY_CENTRE_FEW ? 0.1 : 1;
		const size_t left = nearest(s.count, s.row, pos, centre->pos, part, s.r2, s.scratch);
		status = mean_of(left, s.row, mass, vel, centre->vel);
	}
	nb_free_all(s.row, s.density, s.r2, s.scratch);
	return status;
}
