/* moments_internal.h - box, mass and multipole moments of a node on the CPU, for who builds a tree and who checks one. */
#ifndef NB_TREE_MOMENTS_INTERNAL_H
#define NB_TREE_MOMENTS_INTERNAL_H

#include "kernels/tree/tree.h"

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

#endif
