/* tree.h - adaptive octree or quadtree over Morton-sorted bodies, and gravity by walking it.
 *
 * Nodes are stored level by level, so the children of a node are neighbours and come after it.
 * Node 0 is the root; it exists for n >= 1.  Every array has nnode rows. */
#ifndef NB_TREE_H
#define NB_TREE_H

#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* A tree has no more levels below its root: each halves the edge of a cell, from 2^1024 to 2^-1074, but where a
	 * crowd (kernels/order/deep.h) begins in a cube that is no power of two.  A deeper one is refused. */
	NB_TREE_LEVELS = 2200
};

struct nb_tree {
	size_t nnode;
	int dim;       /* 2 quadtree, 3 octree */
	int leaf_size; /* a node with at most this many bodies is a leaf (as is one whose bodies coincide) */
	int order;     /* multipole order: 1 monopole about the centre of mass, 2 with quadrupole */
	struct nb_cube cube;
	/* arrays of nnode rows; NULL where the order has no such column */
#define NB_NODE_COLUMN(type, member, components, order) type *member;
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
};

/* Builds the tree of n sorted bodies; allocates the arrays of *tree (release with nb_tree_free).
 *   key        n, sorted ascending, as from nb_morton_keys in *cube; where keys are equal, sorted as by nb_sort_deep
 *   leaf_size  >= 1: a node of more bodies is divided, unless all are in one place
 *   order      1 or 2
 * A node splits at the first digit in which its keys differ, so an inner node has at least two children and
 * there are fewer than 2 n nodes.  Nothing recurses; coincident bodies end in one leaf of any count.
 * Same bytes for any number of threads.  n < 2^31 (NB_ELIMIT).
 * Returns NB_ENONFINITE where a position or mass is not finite, NB_EINVAL where a mass is negative, NB_EORDER where
 * more than leaf_size bodies of one key are not sorted. */
NB_MUST_CHECK int nb_tree_build_cpu(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free(struct nb_tree *tree);

/* The same on the current device: arrays in its memory, those of *tree released with nb_tree_free_cuda.
 * The same nodes as on the CPU, moments equal to rounding; in a level, nodes are in the order of their
 * bodies, and a level is that of the first key digit that sets a node apart from its siblings.
 * NB_EFAR: a few bodies lie so far off that walks on devices would lose the distances between all others.
 * Waits for the device.  Same bytes on every run.  At most 2^28 nodes (NB_ELIMIT).  Where a team of devices shares
 * walks, pos and mass are copied to the others meanwhile; nb_gravity_tree_cuda uses these copies if they are still the
 * same. */
NB_MUST_CHECK int nb_tree_build_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free_cuda(struct nb_tree *tree);

/* Which cells are opened.  Either way the estimated error of each interaction is bounded: the share of a cell's
 * force that its multipoles leave out, a high power of size / distance.  The two walks estimate it differently. */
enum nb_mac {
	NB_MAC_GEOMETRIC,   /* by a share of the strength of the field there, sum of G m / r^2, that grows with theta */
	NB_MAC_ACCELERATION /* by alpha |a_old|; GADGET-2's relative criterion */
};

struct nb_tree_walk {
	double theta; /* opening angle, >= 0; 0 = every cell is opened: the direct sum.  It stands for an error, the
			 same on both backends (opening_internal.h): at 0.5, 1.1e-4 to 2.2e-4 rms */
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
 * of all nodes, as of nb_tree_high_cuda (high_internal.cuh).  Without jerks, with one Plummer softening;
 * NB_EUNSUPPORTED for others. */
NB_MUST_CHECK int nb_gravity_tree_part_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, size_t n_all, const double *rows);

/* Whether a tree that came from outside can be walked safely, and is that of these bodies: every array index in range,
 * children after their parent and partitioning its bodies, the root holding all n, at most NB_TREE_LEVELS levels; boxes
 * those of the bodies, masses and moments theirs but for rounding (1e-9).
 *   pos, mass  n x 3, n: finite
 * *wrong is NULL if so, else a phrase that says what is wrong.  Both backends find the same.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_tree_check_cpu(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong);
NB_MUST_CHECK int nb_tree_check_cuda(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong);

#ifdef __cplusplus
}
#endif

#include "kernels/tree/domain.h"

#endif
