/* pair_internal.h - for host and device: the interaction of Gangavarapu et al. and Xu, Xu & Chen, and the softening
 * that GPU Gems 3, listing 31-1, needs in f32. */
#ifndef NB_PAPERS_PAIR_INTERNAL_H
#define NB_PAPERS_PAIR_INTERNAL_H

#include <math.h>

#include "common/hd.h"
#include "kernels/pair/pair.h"

/* Least eps^2 of listing 31-1 in scaled units (pair.h).  The listing takes the root of the sixth power of the distance,
 * which leaves f32 sooner than the distance: with this it is 2^-120 at least, and 2^126 at most.  An eps of 2^-20 of a
 * unit, where the extent is 2^19 at least, is far below what f32 positions can tell apart. */
#define NB_GEMS3_FLOOR 0x1p-40f

static NB_HD float nb_gems3_eps2(double eps)
{
	const float eps2 = (float)(eps * eps);
	return eps2 > NB_GEMS3_FLOOR ? eps2 : NB_GEMS3_FLOOR;
}

/* What a source (at d, moving by v against the target) gives, in the units of pair.h: acc += m d / r^3, and jerk +=
 * m (v / r^3 - 3 (d.v) d / r^5) where jerk is not NULL, with r^2 = d^2 + eps2; dim 2 or 3.  Nothing from a body that is
 * at the same place, for all that the numbers can tell. */
/* clang-format off: one line of the macro per line of code */
#define NB_PAPER_INTERACT_DEFINE(T, real, root, least)                                           \
	static NB_HD void nb_paper_interact_##T(                                                 \
		int dim, const real *d, const real *v, real m, real eps2, real *acc, real *jerk) \
	{                                                                                        \
		real r2 = eps2, dv = 0;                                                          \
		for (int c = 0; c < dim; c++)                                                    \
			r2 += d[c] * d[c];                                                       \
		if (r2 <= least)                                                                 \
			return;                                                                  \
		const real rinv2 = 1 / r2, w = m * rinv2 * root(rinv2);                          \
		for (int c = 0; c < dim; c++)                                                    \
			acc[c] += w * d[c];                                                      \
		if (!jerk)                                                                       \
			return;                                                                  \
		for (int c = 0; c < dim; c++)                                                    \
			dv += d[c] * v[c];                                                       \
		dv *= 3 * rinv2;                                                                 \
		for (int c = 0; c < dim; c++)                                                    \
			jerk[c] += w * (v[c] - dv * d[c]);                                       \
	}
/* clang-format on */

NB_PAPER_INTERACT_DEFINE(f32, float, sqrtf, NB_PAIR_FLOOR_F32)
NB_PAPER_INTERACT_DEFINE(f64, double, sqrt, NB_PAIR_FLOOR_F64)

#endif
