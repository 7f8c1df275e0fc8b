/* pair_internal.h - the interaction of Gangavarapu et al. and Xu, Xu & Chen, for host and device. */
#ifndef NB_PAPERS_PAIR_INTERNAL_H
#define NB_PAPERS_PAIR_INTERNAL_H

#include <math.h>

#include "common/hd.h"
#include "kernels/pair/pair.h"

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
