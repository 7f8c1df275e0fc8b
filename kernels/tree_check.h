/* tree_check.h - whether a tree or boxes that came from outside can be walked safely. */
#ifndef NB_TREE_CHECK_H
#define NB_TREE_CHECK_H

#include "kernels/tree.h"

/* Every array index in range, children after their parent and partitioning its bodies, the root holding all n.
 * NULL if so, else a phrase that says what is wrong.  O(nnode). */
const char *nb_tree_check(const struct nb_tree *tree, size_t n);

/* box_first ascending from 0 to n, neighbours in range and not the box itself.  NULL or a phrase. */
const char *nb_boxes_check(const struct nb_boxes *boxes, size_t n);

/* 1 if key is ascending and is the Morton key of each position in the cube, i.e. nothing moved since the sort. */
int nb_keys_current(size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key);

#endif
