/* random_internal.h - the random numbers of bodies, by Philox (common/philox.h): the seed is the key, and the counter
 * is word 0, 1   index of the body within its part of the model, low word first word 2      number of the draw: each
 * draw yields two uniforms of 52 bits or three of 42 word 3      part of the model */
#ifndef NB_MODELS_RANDOM_INTERNAL_H
#define NB_MODELS_RANDOM_INTERNAL_H

#include "common/philox.h"

/* The 128 bits of draw number draw of body index in a part of the model. */
static NB_HD void nb_random_bits(
	uint64_t seed, uint32_t part, uint64_t index, uint32_t draw, uint64_t *first, uint64_t *second)
{
	const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), draw, part};
	uint32_t r[4];
	nb_philox4x32(counter, key, r);
	*first = (uint64_t)r[0] << 32 | r[1];
	*second = (uint64_t)r[2] << 32 | r[3];
}

/* A draw as two independent uniforms in (0, 1) of 52 bits. */
static NB_HD void nb_random2(uint64_t seed, uint32_t part, uint64_t index, uint32_t draw, double u[2])
{
	uint64_t a, b;
	nb_random_bits(seed, part, index, draw, &a, &b);
	u[0] = nb_uniform52(a);
	u[1] = nb_uniform52(b);
}

/* A draw as three independent uniforms in (0, 1) of 42 bits, midpoints of 2^42 cells. */
static NB_HD void nb_random3(uint64_t seed, uint32_t part, uint64_t index, uint32_t draw, double u[3])
{
	uint64_t a, b;
	nb_random_bits(seed, part, index, draw, &a, &b);
	u[0] = ((double)(a >> 22) + 0.5) * 0x1p-42;
	u[1] = ((double)(b >> 22) + 0.5) * 0x1p-42;
	u[2] = ((double)((a & 0x1fffff) << 21 | (b & 0x1fffff)) + 0.5) * 0x1p-42;
}

#endif
