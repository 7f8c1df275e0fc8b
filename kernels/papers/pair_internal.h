/* pair_internal.h - the interaction of Gangavarapu et al. and Xu, Xu & Chen in f64, for host and device. */
#ifndef NB_PAPERS_PAIR_INTERNAL_H
#define NB_PAPERS_PAIR_INTERNAL_H

#include <math.h>

#include "common/hd.h"

/* What source (at d, moving by v against the target) gives: acc += m d / r^3, and jerk += m (v / r^3 - 3 (d.v) d / r^5)
 * where jerk is not NULL.  Nothing where r = 0.  dim 2 or 3. */
static NB_HD void nb_paper_interact(
	int dim, const double *d, const double *v, double m, double eps2, double *acc, double *jerk)
{
	double r2 = eps2, dv = 0;
	for (int c = 0; c < dim; c++)
		r2 += d[c] * d[c];
	if (r2 == 0)
		return;
	const double rinv2 = 1 / r2, w = m * rinv2 * sqrt(rinv2);
	for (int c = 0; c < dim; c++)
		acc[c] += w * d[c];
	if (!jerk)
		return;
	for (int c = 0; c < dim; c++)
		dv += d[c] * v[c];
	dv *= 3 * rinv2;
	for (int c = 0; c < dim; c++)
		jerk[c] += w * (v[c] - dv * d[c]);
}

#endif
