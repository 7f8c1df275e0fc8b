/* walk.h - gravity by a walk of the tree: what is asked of a walk, and how the CPU does it.  What devices do is in
 * kernels/walk_gpu/walk_gpu.h; both take an opening angle for the same error (kernels/multipole/opening.h). */
#ifndef NB_WALK_H
#define NB_WALK_H

#include "kernels/gravity/gravity.h"
#include "kernels/tree/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which cells are opened.  Either way the estimated error of each interaction is bounded: the share of a cell's
 * force that its multipoles leave out, a high power of size / distance.  The two walks estimate it differently. */
enum nb_mac {
	NB_MAC_GEOMETRIC,   /* by a share of the strength of the field there, sum of G m / r^2, that grows with theta */
	NB_MAC_ACCELERATION /* by alpha |a_old|; GADGET-2's relative criterion */
};

struct nb_tree_walk {
	double theta; /* opening angle, >= 0; 0 = every cell is opened: the direct sum.  It stands for an error, the
			 same on both backends (opening.h): at 0.5, 1.1e-4 to 2.2e-4 rms */
	enum nb_mac mac;
	double alpha;	       /* >= 0, for NB_MAC_ACCELERATION; 0 as theta = 0 */
	const double *acc_old; /* n x 3, for NB_MAC_ACCELERATION */
	int order;   /* of the multipoles, 1 to 4; 0: the tree's.  Errors are those of theta, whatever it is */
	int regions; /* CUDA: 0: walks of regions come before those of groups where that pays; 1: always, -1: never */
};

/* Gravity of all n bodies (sorted as for nb_tree_build) by a walk of the tree (which may come from outside, see
 * nb_tree_check_cpu).  Same bytes for any number of threads.
 * Coincident bodies in a leaf of their own act and are acted upon as one, so any number of them takes linear time.
 * Errors of f32 and mixed are theirs in gravity.h; those of all precisions are bounded by theta.
 * Jerks are the time derivatives of the accelerations of the expansions (multipole_body.h); they depend on differences
 * of velocities only.  At theta 0.3, 0.5, 0.8 their rms error is 1.5e-4, 1e-3, 5e-3 at most of uniform, Plummer, disk,
 * and clusters that fly through each other (20,000 bodies): 1.2 to 8 times that of the accelerations.
 * Moments that the tree does not have, those of third and fourth order among them, are computed for the walk.
 * Memory: about 12 bytes a body beside the tree, 25 with jerks, 33 and 45 with orders 3 and 4.  count may be NULL.
 * Returns NB_ENONFINITE (position, mass, or velocity where jerks are wanted), NB_EINVAL (also: a mass < 0, jerks
 * without velocities), NB_EUNSUPPORTED (jerks of an order above 2). */
NB_MUST_CHECK int nb_gravity_tree_cpu(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, struct nb_gravity_count *count);

/* The part of this rank, other than the first, in the next walk of all ranks (kernels/ranks/ranks.h); to be called once
 * for each NB_RANKS_TREE.  With ranks, nb_gravity_tree_cpu gives the same bytes as without.  NB_ENOMEM. */
NB_MUST_CHECK int nb_gravity_tree_serve(void);

/* The field of these bodies at points, by the same walk: a point is a target of no mass, and what it gets is what
 * nb_gravity_points_cpu computes, but for errors: at bodies those of nb_gravity_tree_cpu at the same angle and
 * precision at most, on grids between them up to twice those. points  pos, eps, acc, pot as there; acc is wanted.  In
 * any order; results do not depend on it.  The points are sorted, and get a tree of their own.  Points farther than
 * 2^26 times the extent of the sources (or the largest softening) feel one mass at their centre, in f64.  Where lengths
 * differ by more than f32 can stand, all is computed in f64.  Memory: about 90 bytes a point and 12 to 33 a body beside
 * the tree.  count may be NULL. Same bytes for any number of threads. Returns as that, NB_EUNSUPPORTED for
 * NB_MAC_ACCELERATION, NB_ELIMIT for more than 2^31 - 1 points and for an extent of them that no double holds. */
NB_MUST_CHECK int nb_gravity_tree_points_cpu(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, const struct nb_gravity_points *points, struct nb_gravity_count *count);

#ifdef __cplusplus
}
#else
#include "kernels/walk/plan.h"
#endif
#endif
