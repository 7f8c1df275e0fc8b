/* tree.h - adaptive octree or quadtree over Morton-sorted bodies.
 *
 * Nodes are stored level by level, so the children of a node are neighbours and come after it.
 * Node 0 is the root; it exists for n >= 1.  Every array has nnode rows. */
#ifndef NB_TREE_H
#define NB_TREE_H

#include "common/status.h"
#include "kernels/order/order.h"

NB_C_BEGIN

enum {
	/* A tree has no more levels below its root: each halves the edge of a cell, from 2^1024 to 2^-1074, but where a
	 * tie (kernels/order/deep.h) begins in a cube that is no power of two.  A deeper one is refused. */
	NB_TREE_LEVELS = 2200
};

struct nb_tree {
	size_t nnode;
	int dim;       /* 2 quadtree, 3 octree */
	int leaf_size; /* a node with at most this many bodies is a leaf (as is one whose bodies coincide) */
	int order;     /* multipole order: 0 none, 1 monopole about the centre of mass, 2 with quadrupole */
	struct nb_cube cube;
	/* arrays of nnode rows; NULL where the order has no such column */
#define NB_NODE_COLUMN(type, member, components, order) type *member;
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
};

/* Of the edge of the cube: where typical distances (nb_pair_typical) are less, walks in f32 and mixed on devices lose
 * them. */
#define NB_TREE_NEAREST 0x1p-41

/* Builds the tree of n sorted bodies; allocates the arrays of *tree (release with nb_tree_free).
 *   key        n, sorted ascending, as from nb_morton_keys in *cube; where keys are equal, sorted as by nb_sort_deep
 *   leaf_size  >= 1: a node of more bodies is divided, unless all are in one place
 *   order      1 or 2; 0: first, count, child and nchild alone, without masses, and on the CPU without positions
 * A node splits at the first digit in which its keys differ, so an inner node has at least two children and
 * there are fewer than 2 n nodes.  Nothing recurses; coincident bodies end in one leaf of any count.
 * Same bytes for any number of threads.  n < 2^31 (NB_ELIMIT).
 * Returns NB_ENONFINITE where a position or mass is not finite, NB_EINVAL where a mass is negative, NB_EORDER where
 * more than leaf_size bodies of one key are not sorted. */
NB_MUST_CHECK int nb_tree_build_cpu(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free(struct nb_tree *tree);

/* Where body i of a tree is. */
typedef void nb_tree_place(const void *context, size_t i, double place[3]);
/* The same of order 0 for bodies that are not in the order of the tree: its body i is row perm[i], as nb_sort_keys has
 * made perm of these keys, and place follows perm.  Only where a leaf would have bodies in several places, as keys do
 * not tell them apart, perm is rearranged as by nb_sort_deep, which takes 40 bytes for each of those, and afterwards 8
 * for each body, meanwhile. */
NB_MUST_CHECK int nb_tree_shape_cpu(size_t n, const uint64_t *key, nb_tree_place *place, const void *context,
	uint32_t *perm, int dim, const struct nb_cube *cube, int leaf_size, struct nb_tree *tree);
/* Adds the boxes to such a tree.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_tree_boxes_cpu(struct nb_tree *tree, nb_tree_place *place, const void *context);

/* nb_tree_build on the current device: arrays in its memory, those of *tree released with nb_tree_free_cuda.
 * The same nodes as on the CPU, moments equal to rounding; in a level, nodes are in the order of their
 * bodies, and a level is that of the first key digit that sets a node apart from its siblings.
 * NB_EFAR: a few bodies lie so far off that walks on devices would lose the distances between all others.
 * Waits for the device.  Same bytes on every run.  At most 2^28 nodes (NB_ELIMIT).  Where a team of devices shares
 * walks, pos and mass are copied to the others meanwhile; nb_gravity_tree_cuda uses these copies if they are still the
 * same. */
NB_MUST_CHECK int nb_tree_build_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free_cuda(struct nb_tree *tree);

/* What node.def says; quad is 0 for a tree without. */
struct nb_node_moments {
	double box[6], com[3], mass, quad[6];
};

/* Of leaf i, from its bodies.  NB_ENONFINITE where a sum is not finite, as where a position or mass is not; NB_EINVAL
 * where a mass is negative. */
NB_MUST_CHECK int nb_tree_leaf_moments(
	const struct nb_tree *tree, size_t i, const double *pos, const double *mass, struct nb_node_moments *m);
/* Of inner node i, from its children, which have theirs. */
void nb_tree_inner_moments(const struct nb_tree *tree, size_t i, struct nb_node_moments *m);

/* Whether a tree that came from outside can be walked safely, and is that of these bodies: every array index in range,
 * children after their parent and partitioning its bodies, the root holding all n, at most NB_TREE_LEVELS levels; boxes
 * those of the bodies, masses and moments theirs but for rounding (1e-9).
 *   pos, mass  n x 3, n: finite
 * *wrong is NULL if so, else a phrase that says what is wrong.  Both backends find the same.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_tree_check_cpu(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong);
NB_MUST_CHECK int nb_tree_check_cuda(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong);

NB_C_END
#endif
