/* tree.cuh - pieces of trees in the memory of a device, for who builds one of parts (kernels/domain), checks one, or
 * computes moments of its own. */
#ifndef NB_TREE_CUH
#define NB_TREE_CUH

#include "kernels/tree/tree.h"

enum { NB_TREE_DIGITS = 32 /* of a key, at most: 32 of 2 bits, 22 of 3 bits */ };

/* Nodes before each level of a round (see build_cuda.cu), and before the end of the last; level 0 is that of its roots.
 */
struct nb_tree_levels {
	uint32_t begin[NB_TREE_DIGITS + 2];
	int digits; /* the last level */
};

/* Fills box, com, mass and quad of a tree that has its other columns, round by round from the last, but of leaves whose
 * bodies are not among the n.  Waits for the device. NB_ENONFINITE, NB_EINVAL, and if
 * the n are all bodies of the tree (whole) NB_EFAR, as nb_tree_build_cuda. */
NB_MUST_CHECK int nb_tree_moments_cuda(const struct nb_tree *tree, size_t n, const double *pos, const double *mass,
	size_t nround, const struct nb_tree_levels *round, bool whole);

/* Those of the nodes from .. to - 1 that have children, from theirs; and those of levels, the last one first.  Queued
 * on the default stream. */
NB_MUST_CHECK int nb_tree_inner_moments_cuda(const struct nb_tree *tree, uint32_t from, uint32_t to);
NB_MUST_CHECK int nb_tree_level_moments_cuda(const struct nb_tree *tree, const struct nb_tree_levels *levels);

/* Trees of the bodies of several nodes that a tree has already, and nothing below them; bodies are those of a tree that
 * other processes have parts of (domain.h).
 *   nroot, root, begin   the nodes, ascending, and in begin the first of the n bodies of each, then n; host memory
 *   key, pos, mass       n, sorted as for nb_tree_build_cuda in the tree's cube
 * The bodies of root k are numbered from begin[k] on.  Columns grow, and get room for `spare` nodes more; box, com,
 * mass and quad are new, and filled for what is below roots and for roots that are leaves; nb_tree_inner_moments_cuda
 * has to do the others.  Waits for the device. As nb_tree_build_cuda. */
NB_MUST_CHECK int nb_tree_grow_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass,
	uint32_t nroot, const uint32_t *root, const uint32_t *begin, size_t spare, struct nb_tree *tree);

/* *first becomes the smallest NB_TREE_FAULTS k + fault (check_internal.h) of a node k whose moments are not those of
 * the bodies, or stays.  The shape is sound.  Queued on the default stream; first is in the device's memory. */
NB_MUST_CHECK int nb_tree_moments_check_cuda(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, unsigned long long *first);

#endif
