/* philox.h - Philox 4x32-10, a counter-based generator: random access, no state, the same numbers for any number of
 * threads and on every backend.  A 128-bit counter and a 64-bit key give 128 random bits.
 *
 * Source: Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11;
 * known-answer vectors in tests/unit/models/simd.c. */
#ifndef NB_PHILOX_H
#define NB_PHILOX_H

#include "common/hd.h"

#include <stdint.h>

#define NB_PHILOX_M0 0xD2511F53u
#define NB_PHILOX_M1 0xCD9E8D57u
#define NB_PHILOX_W0 0x9E3779B9u /* golden ratio */
#define NB_PHILOX_W1 0xBB67AE85u /* sqrt(3) - 1 */
enum { NB_PHILOX_ROUNDS = 10 };

static NB_HD void nb_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = key[0], k1 = key[1];
	for (int round = 0; round < NB_PHILOX_ROUNDS; round++) {
		const uint64_t p0 = (uint64_t)NB_PHILOX_M0 * c0, p1 = (uint64_t)NB_PHILOX_M1 * c2;
		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += NB_PHILOX_W0;
		k1 += NB_PHILOX_W1;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* The top 52 of 64 random bits as the midpoint of one of 2^52 equal cells: in (0, 1), never an end of it. */
static NB_HD double nb_uniform52(uint64_t bits)
{
	return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

#endif
