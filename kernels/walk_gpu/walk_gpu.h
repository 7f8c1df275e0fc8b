/* walk_gpu.h - gravity by a walk of the tree on a device (kernels/walk/walk.h says what is asked of it). */
#ifndef NB_WALK_GPU_H
#define NB_WALK_GPU_H

#include "kernels/walk/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nb_gravity_tree_cpu on the current device, all arrays in its memory.  Groups of neighbouring bodies walk the tree
 * together: a cell that is far enough from all of them is taken as a multipole for each body, or, if it is farther
 * still, once for the group, as a local expansion about the group's centre (in f64 of orders 3 and 4 only).  Jerks take
 * about 100 bytes a node more, for the time of the call; velocities that are not finite give jerks that are not.  Order
 * 2 needs second moments in the tree; the moments of orders 3 and 4 are computed for the walk, which takes up to 500
 * bytes a node more (750 in f64), and gives no jerks; NB_EUNSUPPORTED for others. (Jerks of nodes whose mass is a
 * subnormal number, below 2.2e-308, lose digits.) n < 2^31, at most 2^28 nodes (NB_ELIMIT).  Of coincident bodies one
 * interaction may be counted for all. Queued on the default stream; waits only if count is not NULL, or if a team of
 * devices shares the work (kernels/team/team.h).  Same bytes on every run, and for any team of devices of one kind. */
NB_MUST_CHECK int nb_gravity_tree_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, struct nb_gravity_count *count);

/* The same on one device for a part of the bodies: 0 to g->n - 1 are targets and sources, and the rest of the n_all
 * bodies of the tree, in pos and mass too, are sources only.  The result has the bytes that nb_gravity_tree_cuda gives
 * for all bodies, if no node of at most 1024 bodies has both targets and others.  rows: for orders 3 and 4 the moments
 * of all nodes, as of nb_tree_high_cuda (walk_gpu.cuh).  Without jerks, with one Plummer softening; NB_EUNSUPPORTED for
 * others. */
NB_MUST_CHECK int nb_gravity_tree_part_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, size_t n_all, const double *rows);

#ifdef __cplusplus
}
#endif
#endif
