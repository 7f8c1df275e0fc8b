#include "kernels/tree/tree.h"

const char *nb_tree_check(const struct nb_tree *tree, size_t n)
{
	const size_t nnode = tree->nnode;
	if (n == 0)
		return nnode == 0 ? NULL : "nodes without bodies";
	if (nnode == 0 || tree->first[0] != 0 || tree->count[0] != n)
		return "the root does not hold all bodies";
	/* Children come after their parent, so a walk ends; they share out its bodies, so no node is met twice.
	 * Backends number nodes differently inside a level. */
	uint64_t next = 1;
	for (size_t k = 0; k < nnode; k++) {
		const uint32_t child = tree->child[k], nchild = tree->nchild[k];
		if ((uint64_t)tree->first[k] + tree->count[k] > n || tree->count[k] == 0)
			return "a node's bodies are out of range";
		if (nchild == 0)
			continue;
		if (child <= k || nchild > 8 || (uint64_t)child + nchild > nnode)
			return "a node's children are out of range";
		next += nchild;
		uint64_t first = tree->first[k];
		for (uint32_t c = child; c < child + nchild; c++) {
			if (tree->first[c] != first)
				return "children do not partition their parent";
			first += tree->count[c];
		}
		if (first != (uint64_t)tree->first[k] + tree->count[k])
			return "children do not partition their parent";
	}
	return next == nnode ? NULL : "nodes that no parent has";
}
