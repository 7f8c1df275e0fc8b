/* lpt_internal.h - the modes of a mesh by their numbers. */
#ifndef NB_LPT_INTERNAL_H
#define NB_LPT_INTERNAL_H

#include "kernels/lpt/lpt.h"
#include "kernels/mesh/mesh.h"

#include <stdlib.h>

/* The number along x or y of modes with this index. */
static inline int nb_lpt_wave(int i, int m)
{
	return i <= m / 2 ? i : i - m;
}

/* Whether modes with this number are not 0 for the mesh's sake. */
static inline int nb_lpt_held(int n, int m)
{
	return 2 * abs(n) < m;
}

static inline int64_t nb_lpt_square(const int n[3])
{
	return (int64_t)n[0] * n[0] + (int64_t)n[1] * n[1] + (int64_t)n[2] * n[2];
}

#endif
