/* plan.h - what every force kernel on the CPU begins and ends with: checked arguments, scaled units. */
#ifndef NB_GRAVITY_PLAN_H
#define NB_GRAVITY_PLAN_H

#include "kernels/gravity/gravity.h"
#include "kernels/pair/pair.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A checked problem in scaled units (pair.h). */
struct nb_gravity_plan {
	const struct nb_gravity *g;
	struct nb_pair_scale scale;
	double eps;	  /* scaled */
	double middle[3]; /* of the bounding box, scaled */
	/* direct sum only: body i is in tile i / tile */
	size_t tile;
	size_t ntile;
	const double *centre; /* ntile x 3: the middle of each tile, scaled */
};

/* Checks the arguments and that everything read is finite, and finds the scale.  Same bytes for any
 * number of threads.  Returns 0, or NB_EINVAL, NB_ENONFINITE. */
NB_MUST_CHECK int nb_gravity_plan(const struct nb_gravity *g, struct nb_gravity_plan *plan);
/* Rows first..first+n-1 of acc, pot and jerk to 0. */
void nb_gravity_clear(const struct nb_gravity *g, size_t first, size_t n);
/* The sums in acc, pot and jerk to the caller's units. */
void nb_gravity_unscale(const struct nb_gravity_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
