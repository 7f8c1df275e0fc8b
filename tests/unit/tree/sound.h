/* sound.h - whether a tree or boxes on the host are sound, as a phrase; NULL if they are. */
#ifndef NB_TREE_SOUND_H
#define NB_TREE_SOUND_H

#include "kernels/tree/tree.h"

static inline const char *tree_fault(const struct nb_tree *tree, size_t n, const double *pos, const double *mass)
{
	const char *wrong;
	return nb_tree_check_cpu(tree, n, pos, mass, &wrong) ? "out of memory" : wrong;
}

static inline const char *boxes_fault(const struct nb_boxes *boxes, size_t n)
{
	const char *wrong;
	return nb_boxes_check_cpu(boxes, n, &wrong) ? "out of memory" : wrong;
}

#endif
