/* check_internal.h - what is wrong with a tree, for the checks of both backends.
 *
 * Children come after their parent, so a walk ends; they share out its bodies, so no node is met twice.  Backends
 * number nodes differently inside a level, and sum moments in another order. */
#ifndef NB_TREE_CHECK_INTERNAL_H
#define NB_TREE_CHECK_INTERNAL_H

#include "common/hd.h"
#include "kernels/tree/tree.h"

#include <math.h>

enum nb_tree_fault {
	NB_TREE_SOUND,
	/* of the shape */
	NB_TREE_BODIES,
	NB_TREE_CHILDREN,
	NB_TREE_PARTITION,
	/* of the moments, looked for in a tree of sound shape */
	NB_TREE_BOX,
	NB_TREE_MASS,
	NB_TREE_COM,
	NB_TREE_QUAD,
	NB_TREE_FAULTS
};

/* The fault of the shape of node k of a tree over n bodies. */
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

/* Whether got is want but for rounding; or neither is finite, as second moments in units beyond 1e154.  (Nothing else
 * of finite bodies is not finite, in a leaf or, so, above.) */
static NB_HD int nb_tree_agrees(double got, double want, double by)
{
	return isfinite(want) ? fabs(got - want) <= by : !isfinite(got);
}

/* By how much moments may differ: sums in any order of any number of bodies, and of coordinates far from 0, are good to
 * far less; a tree whose bodies or masses have changed is not. */
struct nb_tree_slack {
	double mass, com, quad;
};

/* box and mass of the node as they should be */
static NB_HD struct nb_tree_slack nb_tree_slack_of(const double *box, double mass)
{
	struct nb_tree_slack by;
	double size = 0, at = 0;
	for (int k = 0; k < 3; k++) {
		size = box[3 + k] - box[k] > size ? box[3 + k] - box[k] : size;
		at = fmax(at, fmax(fabs(box[k]), fabs(box[3 + k])));
	}
	by.mass = 1e-9 * mass;
	by.com = 1e-9 * size + 4e-15 * at;
	by.quad = mass * size * (1e-9 * size + 1e-14 * at) + 1e-300;
	return by;
}

static inline const char *nb_tree_fault_text(enum nb_tree_fault fault)
{
	switch (fault) {
	case NB_TREE_BODIES: return "a node's bodies are out of range";
	case NB_TREE_CHILDREN: return "a node's children are out of range";
	case NB_TREE_PARTITION: return "children do not partition their parent";
	case NB_TREE_BOX: return "a node's box is not that of its bodies";
	case NB_TREE_MASS: return "a node's mass is not the sum of its bodies' masses";
	case NB_TREE_COM: return "a node's centre of mass is not that of its bodies";
	case NB_TREE_QUAD: return "a node's second moments are not those of its bodies";
	case NB_TREE_SOUND:
	case NB_TREE_FAULTS: break;
	}
	return NULL;
}

static const char nb_tree_orphan[] = "some nodes have no parent";

/* What to say of the shape: the fault of the first node which has one, NB_TREE_SOUND if none has; whether the root
 * holds all bodies; and whether children are as many as nodes without the root, which one of several parents and one of
 * none are, too. */
static inline const char *nb_tree_verdict(
	const struct nb_tree *tree, enum nb_tree_fault fault, int root_holds_all, uint64_t linked)
{
	if (!root_holds_all)
		return "the root does not hold all bodies";
	if (fault != NB_TREE_SOUND)
		return nb_tree_fault_text(fault);
	return linked == tree->nnode ? NULL : nb_tree_orphan;
}

static const char nb_tree_too_deep[] = "it has more levels than the positions of bodies can need";

#endif
