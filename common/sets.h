/* sets.h - disjoint sets of the numbers 0 .. n - 1: parent[i] is another one of the set of i, or i itself, the root.
 *
 * Threads may join sets at the same time: a root is hung below another, smaller one by compare and swap, and paths are
 * halved by stores that all lead towards the root.  So the smallest of a set ends as its root, in whatever order. */
#ifndef NB_SETS_H
#define NB_SETS_H

#include <stdint.h>

static inline uint32_t nb_set_root(uint32_t *parent, uint32_t i)
{
	for (uint32_t up = __atomic_load_n(&parent[i], __ATOMIC_RELAXED); up != i;) {
		const uint32_t above = __atomic_load_n(&parent[up], __ATOMIC_RELAXED);
		if (above != up)
			__atomic_store_n(&parent[i], above, __ATOMIC_RELAXED);
		i = up;
		up = above;
	}
	return i;
}

static inline void nb_set_join(uint32_t *parent, uint32_t a, uint32_t b)
{
	for (;;) {
		a = nb_set_root(parent, a);
		b = nb_set_root(parent, b);
		if (a == b)
			return;
		const uint32_t high = a > b ? a : b, low = a > b ? b : a;
		uint32_t expected = high;
		if (__atomic_compare_exchange_n(&parent[high], &expected, low, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

#endif
