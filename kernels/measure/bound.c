#include "kernels/measure/measure_internal.h"

#include <math.h>

#include "common/mem.h"

/* Sums of a chunk over bound bodies: m, m v; and how many bodies are no longer what they were. */
enum { MASS, MOMENTUM, CHANGED = MOMENTUM + 3, WIDTH };

static void look(size_t begin, size_t end, const double *mass, const double *vel_of, const double *pot,
	const double vel[3], unsigned char *bound, double *sum)
{
	for (size_t k = 0; k < WIDTH; k++)
		sum[k] = 0;
	for (size_t i = begin; i < end; i++) {
		const double *v = &vel_of[3 * i], x = v[0] - vel[0], y = v[1] - vel[1], z = v[2] - vel[2];
		const unsigned char is = (x * x + y * y + z * z) / 2 + pot[i] < 0;
		sum[CHANGED] += is != bound[i];
		bound[i] = is;
		if (!is)
			continue;
		sum[MASS] += mass[i];
		for (int k = 0; k < 3; k++)
			sum[MOMENTUM + k] += mass[i] * v[k];
	}
}

int nb_bound_bodies(
	size_t n, const double *mass, const double *vel_of, const double *pot, double vel[3], unsigned char *bound)
{
	const size_t chunk = nb_wide_chunk(n), nchunk = nb_wide_chunks(n);
	double *partial = nb_alloc(nchunk, WIDTH * sizeof *partial), changed = 1;
	if (!partial)
		return NB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		bound[i] = 0;
	for (int step = 0; step < NB_BOUND_STEPS && changed > 0; step++) {
#pragma omp parallel for schedule(static) if (nchunk > 1)
		for (size_t c = 0; c < nchunk; c++)
			look(c * chunk, (c + 1) * chunk < n ? (c + 1) * chunk : n, mass, vel_of, pot, vel, bound,
				&partial[c * WIDTH]);
		changed = nb_sum_column(nchunk, partial, WIDTH, CHANGED);
		const double total = nb_sum_column(nchunk, partial, WIDTH, MASS);
		for (int k = 0; k < 3 && total > 0; k++)
			vel[k] = nb_sum_column(nchunk, partial, WIDTH, MOMENTUM + k) / total;
	}
	nb_free(partial);
	return NB_OK;
}

/* Sums of a chunk: a count, m, m X, m V, m a, m V^2, m pot, m X a. */
enum { COUNT, WEIGHT, PLACE, SPEED = PLACE + 3, FORCE = SPEED + 3, SPEED2 = FORCE + 3, POT, VIRIAL, SUMS };

struct bodies {
	const double *mass, *pos, *vel, *pot, *acc;
	const struct nb_centre *near;
	const unsigned char *marked;
};

static void add_up(const struct bodies *b, size_t begin, size_t end, double *sum)
{
	for (size_t i = begin; i < end; i++) {
		const double m = b->mass[i];
		if (b->marked && !b->marked[i])
			continue;
		sum[COUNT]++;
		sum[WEIGHT] += m;
		sum[POT] += b->pot ? m * b->pot[i] : 0;
		for (int k = 0; k < 3; k++) {
			const double x = b->pos[3 * i + k] - b->near->pos[k], a = b->acc ? b->acc[3 * i + k] : 0,
				     v = b->vel ? b->vel[3 * i + k] - b->near->vel[k] : 0;
			sum[PLACE + k] += m * x;
			sum[SPEED + k] += m * v;
			sum[FORCE + k] += m * a;
			sum[SPEED2] += m * v * v;
			sum[VIRIAL] += m * x * a;
		}
	}
}

int nb_bound_find_energies(size_t n, const double *mass, const double *pos, const double *vel, const double *pot,
	const double *acc, const struct nb_centre *near, const unsigned char *marked,
	struct nb_bound_energies *energies)
{
	const struct bodies b = {mass, pos, vel, pot, acc, near, marked};
	const size_t chunk = nb_wide_chunk(n), nchunk = nb_wide_chunks(n);
	double *partial = nb_alloc_zero(nchunk, SUMS * sizeof *partial), sum[SUMS];
	if (!partial)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		add_up(&b, c * chunk, (c + 1) * chunk < n ? (c + 1) * chunk : n, &partial[c * SUMS]);
	for (size_t k = 0; k < SUMS; k++)
		sum[k] = nb_sum_column(nchunk, partial, SUMS, k);
	nb_free(partial);
	*energies = (struct nb_bound_energies){sum[COUNT], sum[WEIGHT], NAN, NAN, NAN};
	if (!(sum[WEIGHT] > 0))
		return NB_OK;
	double moved = 0, pulled = 0;
	for (int k = 0; k < 3; k++) {
		moved += sum[SPEED + k] * sum[SPEED + k];
		pulled += sum[PLACE + k] * sum[FORCE + k];
	}
	energies->ekin = vel ? (sum[SPEED2] - moved / sum[WEIGHT]) / 2 : NAN;
	energies->epot = pot ? sum[POT] / 2 : NAN;
	energies->clausius = acc ? pulled / sum[WEIGHT] - sum[VIRIAL] : NAN;
	return NB_OK;
}
