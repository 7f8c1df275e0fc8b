/* pairs.h - how many pairs of bodies are at distances in certain bins; a part of near.h. */
#ifndef NB_NEAR_PAIRS_H
#define NB_NEAR_PAIRS_H

#include "common/status.h"

NB_C_BEGIN

enum { NB_PAIR_BINS = 1000, NB_PAIR_PARTS = 1000 };

/* A pair is in bin k if edge[k] <= r < edge[k + 1], by the squares of these numbers, each rounded. */
struct nb_pair_bins {
	int n;		    /* 1 .. NB_PAIR_BINS */
	const double *edge; /* n + 1, ascending from 0 or more, in a periodic box to half of its edge at most */
	int parts; /* 0: r is the distance; else, up to NB_PAIR_PARTS, that across the z axis, and a pair is in part p
		      of its bin if |dz| is from reach p / parts on and less than reach (p + 1) / parts; in three
		      dimensions */
	double reach; /* largest |dz|, in a periodic box half of its edge at most */
};

/* count[k x parts + p], of n x parts numbers (parts 0: n): ordered pairs of a body of a and one of b, so that each pair
 * of a set with itself counts twice; b NULL: of a with itself, without those of a body and itself.  Bodies have
 * dimensions and box of a, and of each set, which is in other memory than the other one, pos alone is used.  Nodes
 * whose pairs are all in one bin count at once, and bodies in one place as one thing. The same for any threads; host
 * memory.  NB_OK, NB_ENOMEM, NB_EINVAL (bins), and as nb_near_nearest_cpu. */
NB_MUST_CHECK int nb_near_pairs_cpu(const struct nb_near_bodies *a, const struct nb_near_bodies *b,
	const struct nb_pair_bins *bins, uint64_t *count);

NB_C_END
#endif
