/* tree.h - adaptive octree or quadtree over Morton-sorted bodies, and gravity by walking it.
 *
 * Nodes are stored level by level, so the children of a node are neighbours and come after it.
 * Node 0 is the root; it exists for n >= 1.  Every array has nnode rows. */
#ifndef NB_TREE_H
#define NB_TREE_H

#include "kernels/gravity.h"
#include "kernels/morton.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nb_tree {
	size_t nnode;
	int dim;            /* 2 quadtree, 3 octree */
	int leaf_size;      /* a node with at most this many bodies is a leaf (as is one at the last key level) */
	int order;          /* multipole order: 1 monopole about the centre of mass, 2 with quadrupole */
	struct nb_cube cube;
	uint32_t *first;    /* first body */
	uint32_t *count;    /* bodies */
	uint32_t *child;    /* first child, 0 for a leaf */
	uint32_t *nchild;   /* children, 0 for a leaf; empty children do not exist */
	double *box;        /* x 6: tight bounding box of its bodies, lower corner then upper corner */
	double *com;        /* x 3: centre of mass (of the box's centre where the mass is 0) */
	double *mass;       /* total mass */
	double *quad;       /* x 6: second moments about com, sum m x_i x_j: xx xy xz yy yz zz (not traceless: under
	                       softening the trace acts too); NULL where order is 1 */
};

/* Builds the tree of n sorted bodies; allocates the arrays of *tree (release with nb_tree_free).
 *   key    n, sorted ascending, as from nb_morton_keys in *cube
 * Runs in O(n) beyond any depth: nothing recurses, coincident bodies end in one leaf of any count.
 * Same bytes for any number of threads.  n < 2^32 (NB_ELIMIT). */
NB_MUST_CHECK int nb_tree_build_cpu(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
                                    const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free(struct nb_tree *tree);

/* The same on the current device: arrays in its memory, those of *tree released with nb_tree_free_cuda.
 * The same nodes as on the CPU, moments equal to rounding; in a level, nodes are in the order of their
 * bodies, and a level is that of the first key digit that sets a node apart from its siblings.
 * Waits for the device.  Same bytes on every run.  At most 2^28 nodes (NB_ELIMIT). */
NB_MUST_CHECK int nb_tree_build_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
                                     const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
void nb_tree_free_cuda(struct nb_tree *tree);

enum nb_mac {
	NB_MAC_GEOMETRIC,    /* opened where distance from the target to com < size / theta + |com - box centre| */
	NB_MAC_ACCELERATION  /* opened where G m size^2 / r^4 > alpha |a_old| (GADGET-2) or geometrically overlapping */
};

struct nb_tree_walk {
	double theta;        /* opening angle, >= 0; 0 = every cell is opened: the direct sum */
	enum nb_mac mac;
	double alpha;        /* for NB_MAC_ACCELERATION */
	const double *acc_old; /* n x 3, for NB_MAC_ACCELERATION */
};

/* Gravity of all n bodies (sorted as for nb_tree_build) by a walk of the tree.
 * Same bytes for any number of threads. */
NB_MUST_CHECK int nb_gravity_tree_cpu(const struct nb_gravity *g, const struct nb_tree *tree,
                                      const struct nb_tree_walk *walk, struct nb_gravity_count *count);

/* The same on the current device, all arrays in its memory.  Groups of neighbouring bodies walk the tree together:
 * a cell that is far enough from all of them is taken as a multipole for each body, or, if it is farther still,
 * once for the group, as a local expansion about the group's centre (not in f64).  theta and alpha bound the error
 * as on the CPU, and theta = 0 is the direct sum; precisions see struct nb_gravity.  No jerk (NB_EUNSUPPORTED).
 * Queued on the default stream; waits only if count is not NULL.  Same bytes on every run. */
NB_MUST_CHECK int nb_gravity_tree_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
                                       const struct nb_tree_walk *walk, struct nb_gravity_count *count);

/* Uniform boxes of a level: 4^level (2-D) or 8^level (3-D) boxes in Z-order over the cube.
 *   key        n sorted keys
 *   box_first  nbox + 1, out
 *   neighbour  nbox x (8 or 26), out; -1 at the edge
 * level 0..12 in 2-D, 0..8 in 3-D. */
NB_MUST_CHECK int nb_boxes_build_cpu(size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first,
                                     int32_t *neighbour);

#ifdef __cplusplus
}
#endif
#endif
