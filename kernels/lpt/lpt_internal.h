/* lpt_internal.h - the modes of a mesh by their numbers, and fields at the places of a glass. */
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

/* ---- a glass ------------------------------------------------------------------------------------ */

/* For each wave number of a mesh of m: modes that are multiplied by it along each axis are those to gather, on a mesh
 * of fine cells, at least 2 m. */
void nb_lpt_bump_modes(int m, int fine, double *over);
/* Where body i is in the box, in its edges. */
void nb_lpt_place(const struct nb_lpt_glass *glass, uint64_t i, double place[3]);
/* to[i], i < n: the field of such modes at body i; mesh: of real numbers. */
void nb_lpt_gather(const struct nb_lpt_glass *glass, uint64_t n, int fine, const double *mesh, double *to);

#endif
