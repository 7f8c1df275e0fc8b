/* shuffle.h - a pseudo-random order, the same on every machine. */
#ifndef NB_BENCH_SHUFFLE_H
#define NB_BENCH_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* Puts n things into an order that follows from the seed and from the order they are in: each of the n! is as likely
 * (but for a share of n 2^-64).  Fisher and Yates, with the generator SplitMix64. */
static inline void shuffle(size_t n, size_t *thing, uint64_t seed)
{
	for (size_t k = n; k > 1; k--) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		const size_t other = (size_t)((z ^ z >> 31) % k);
		const size_t kept = thing[k - 1];
		thing[k - 1] = thing[other];
		thing[other] = kept;
	}
}

#endif
