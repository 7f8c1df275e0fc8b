/* measure_internal.h - from the sums of chunks of bodies to measures, for both backends; host memory. */
#ifndef NB_MEASURE_INTERNAL_H
#define NB_MEASURE_INTERNAL_H

#include "kernels/measure/measure.h"

NB_C_BEGIN

/* The sums of a chunk of bodies: m, m x, m v^2, m v, m x * v; and the largest v^2. */
enum {
	NB_MOMENT_MASS,
	NB_MOMENT_COM,
	NB_MOMENT_EKIN = NB_MOMENT_COM + 3,
	NB_MOMENT_MOMENTUM,
	NB_MOMENT_ANGULAR = NB_MOMENT_MOMENTUM + 3,
	NB_MOMENT_SPEED2 = NB_MOMENT_ANGULAR + 3,
	NB_MOMENT_WIDTH
};

/* Sums over bodies are those of chunks of them, from their number alone: at most 8192.  Body i of a chunk is added to
 * lane i % NB_SUM_LANES; of each 32 lanes the halves are added up, then quarters and so on; then these sums, in order.
 */
enum { NB_SUM_LANES = 256 };
static inline size_t nb_sum_chunk(size_t n)
{
	size_t chunk = 8 * NB_SUM_LANES;
	while (n / chunk >= 8192)
		chunk *= 2;
	return chunk;
}

/* Of n bodies in nchunk rows of NB_MOMENT_WIDTH numbers; moving: they have velocities. */
void nb_moments_of(size_t n, int moving, size_t nchunk, const double *partial, struct nb_moments *moments);

/* Replaces each number by the sum of all up to it, compensated; returns the sum of all. */
double nb_sum_running(size_t n, double *x);

/* A little less than the fraction of the mass, so that 500 of 1000 equal masses are half of them in spite of rounding.
 */
double nb_mass_target(double fraction, double total);

/* Bodies in a chunk, from their number alone, so that there are at most 256 chunks; and the chunks of n bodies. */
static inline size_t nb_wide_chunk(size_t n)
{
	return n / 256 < 4096 ? 4096 : n / 256 + 1;
}

static inline size_t nb_wide_chunks(size_t n)
{
	return (n + nb_wide_chunk(n) - 1) / nb_wide_chunk(n);
}

/* The chunk of bodies in which the target is reached; inside[c] is the mass up to the end of chunk c.  The plain sum of
 * a chunk is off by less than the margin of the target, so its end is not passed over. */
size_t nb_chunk_of_mass(double target, size_t nchunk, const double *inside);

/* density[row[k]], k < n: the mass of the NB_DENSITY_NEIGHBOURS - 1 bodies nearest to it, without its own, in the
 * sphere that reaches to the next one (Casertano & Hut 1985, ApJ 298, 80); infinite where that has no radius.
 * All of them in a unit of their own.  n > NB_DENSITY_NEIGHBOURS; O(n log n).  NB_OK, NB_ENOMEM, NB_ELIMIT,
 * NB_ENONFINITE. */
enum { NB_DENSITY_NEIGHBOURS = 6 };
NB_MUST_CHECK int nb_densities(size_t n, const uint32_t *row, const double *mass, const double *pos, double *density);

NB_C_END
#endif
