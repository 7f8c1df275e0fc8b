/* walk_internal.h - what the parts of nb_walk_cpu do for it. */
#ifndef NB_WALK_INTERNAL_H
#define NB_WALK_INTERNAL_H

#include "kernels/walk/walk.h"

enum { NB_WALK_SERIAL = 1 << 10 }; /* so few nodes are left to one thread */

/* ---- nodes_cpu.c ---- */

/* m->tight_child of all nodes that may be leaves or groups. */
void nb_walk_find_tight_children(struct nb_walk_memory *m, const struct nb_tree *tree);
/* m->generation and ngeneration.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_walk_find_generations(struct nb_walk_memory *m, const struct nb_tree *tree);
/* Numbers the families. A node is reached before its children; one of at most `leaf` bodies is not divided. */
void nb_walk_number_families(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t leaf);
/* Finds the groups, of at most `most` bodies unless they are not divided, and where threads may part. */
void nb_walk_find_groups(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t most, uint32_t part);
/* nb_walk_measure_bodies and nb_walk_measure_children of all nodes, and m->jump.  Errors as of the former. */
NB_MUST_CHECK int nb_walk_measure_nodes(const struct nb_gravity *g, const struct nb_tree *tree,
	struct nb_walk_memory *m, const double *acc_old, double error);

/* ---- moments_cpu.c ---- */

/* Whether squares of lengths of the tree may be out of range, so that its moments are; *deep: whether some nodes are so
 * small beside others that squares of separations are, in units of the small ones. */
int nb_walk_tree_is_beyond_squares(const struct nb_tree *tree, const struct nb_walk_memory *m, int *deep);
/* m->own of all nodes.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_walk_find_moments(const struct nb_walk_plan *plan, struct nb_walk_memory *m);
/* For jerks: velocities of all nodes, and their scale.  0, NB_ENOMEM, NB_ENONFINITE. */
NB_MUST_CHECK int nb_walk_measure_motions(struct nb_walk_plan *plan, struct nb_walk_memory *m);
/* m->soft of all nodes of a tree of the bodies of g, of which `largest` is the largest softening.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_walk_measure_softs(
	const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, double largest);

#endif
