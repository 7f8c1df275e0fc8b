#include "kernels/tree_check.h"

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

const char *nb_boxes_check(const struct nb_boxes *boxes, size_t n)
{
	if (boxes->nbox == 0)
		return n == 0 ? NULL : "bodies without boxes";
	if (boxes->box_first[0] != 0 || boxes->box_first[boxes->nbox] != n)
		return "the boxes do not hold all bodies";
	for (size_t b = 0; b < boxes->nbox; b++) {
		if (boxes->box_first[b] > boxes->box_first[b + 1])
			return "box_first is not ascending";
		for (int k = 0; k < boxes->nneighbour; k++) {
			int64_t other = boxes->neighbour[b * (size_t)boxes->nneighbour + (size_t)k];
			if (other < -1 || other >= (int64_t)boxes->nbox || other == (int64_t)b)
				return "a neighbour is out of range";
		}
	}
	return NULL;
}

int nb_keys_current(size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key)
{
	enum { BLOCK = 4096 };
	int stale = 0;
#pragma omp parallel for schedule(static) reduction(| : stale)
	for (size_t b = 0; b < n; b += BLOCK) {
		uint64_t now[BLOCK];
		size_t m = n - b < BLOCK ? n - b : BLOCK;
		if (nb_morton_keys_cpu(m, pos + 3 * b, dim, cube, now)) {
			stale = 1;
			continue;
		}
		int differ = b > 0 && key[b] < key[b - 1];
		for (size_t i = 0; i < m; i++)
			differ |= now[i] != key[b + i] || (i > 0 && now[i] < now[i - 1]);
		stale |= differ;
	}
	return !stale;
}
