/* check_internal.h - what is wrong with a tree, for the checks of both backends.
 *
 * Children come after their parent, so a walk ends; they share out its bodies, so no node is met twice.  Backends
 * number nodes differently inside a level. */
#ifndef NB_TREE_CHECK_INTERNAL_H
#define NB_TREE_CHECK_INTERNAL_H

#include "common/hd.h"
#include "kernels/tree/tree.h"

enum nb_tree_fault { NB_TREE_SOUND, NB_TREE_BODIES, NB_TREE_CHILDREN, NB_TREE_PARTITION };

/* The fault of node k of a tree over n bodies. */
static NB_HD enum nb_tree_fault nb_tree_node_fault(const struct nb_tree *tree, size_t n, size_t k)
{
	const uint32_t child = tree->child[k], nchild = tree->nchild[k];
	const uint64_t end = (uint64_t)tree->first[k] + tree->count[k];
	if (end > n || tree->count[k] == 0)
		return NB_TREE_BODIES;
	if (nchild == 0)
		return NB_TREE_SOUND;
	if (child <= k || nchild > 8 || (uint64_t)child + nchild > tree->nnode)
		return NB_TREE_CHILDREN;
	uint64_t first = tree->first[k];
	for (uint32_t c = child; c < child + nchild; c++) {
		if (tree->first[c] != first)
			return NB_TREE_PARTITION;
		first += tree->count[c];
	}
	return first == end ? NB_TREE_SOUND : NB_TREE_PARTITION;
}

/* What to say of the faults of a tree: that of the first node which has one, NB_TREE_SOUND if none has; whether the
 * root holds all bodies; and how many nodes have a parent or are the root. */
static inline const char *nb_tree_verdict(
	const struct nb_tree *tree, enum nb_tree_fault fault, int root_holds_all, uint64_t linked)
{
	if (!root_holds_all)
		return "the root does not hold all bodies";
	switch (fault) {
	case NB_TREE_BODIES: return "a node's bodies are out of range";
	case NB_TREE_CHILDREN: return "a node's children are out of range";
	case NB_TREE_PARTITION: return "children do not partition their parent";
	case NB_TREE_SOUND: break;
	}
	return linked == tree->nnode ? NULL : "some nodes have no parent";
}

#endif
