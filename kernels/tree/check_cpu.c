#include "kernels/tree/check_internal.h"

#include "common/mem.h"

enum { MANY = 10000 /* nodes that are worth a second thread */ };

static const char *shape_fault(const struct nb_tree *tree, size_t n)
{
	const size_t nnode = tree->nnode;
	uint64_t linked = 1;
	size_t first = nnode;
#pragma omp parallel for schedule(static) reduction(+ : linked) reduction(min : first) if (nnode > MANY)
	for (size_t k = 0; k < nnode; k++) {
		if (k < first && nb_tree_node_fault(tree, n, k) != NB_TREE_SOUND)
			first = k;
		linked += tree->nchild[k];
	}
	return nb_tree_verdict(tree, first < nnode ? nb_tree_node_fault(tree, n, first) : NB_TREE_SOUND,
		tree->first[0] == 0 && tree->count[0] == n, linked);
}

/* Of a tree of sound shape with as many children as nodes without the root: where one has two parents, one has none. */
static int find_depth(const struct nb_tree *tree, const char **wrong)
{
	uint16_t *level = nb_alloc_zero(tree->nnode, sizeof *level);
	if (!level)
		return NB_ENOMEM;
	for (size_t k = 0; k < tree->nnode && !*wrong; k++) /* a parent is before its children */
		for (uint32_t c = tree->child[k]; c < tree->child[k] + tree->nchild[k]; c++) {
			if (level[c])
				*wrong = nb_tree_orphan;
			level[c] = (uint16_t)(level[k] + 1);
			if (level[c] > NB_TREE_LEVELS)
				*wrong = nb_tree_too_deep;
		}
	nb_free(level);
	return NB_OK;
}

static enum nb_tree_fault moments_fault(const struct nb_tree *tree, size_t k, const double *pos, const double *mass)
{
	struct nb_node_moments want;
	if (tree->nchild[k])
		nb_tree_inner_moments(tree, k, &want);
	else if (nb_tree_leaf_moments(tree, k, pos, mass, &want))
		return NB_TREE_MASS;
	const struct nb_tree_slack by = nb_tree_slack_of(want.box, want.mass);
	for (size_t e = 0; e < 6; e++)
		if (tree->box[6 * k + e] != want.box[e])
			return NB_TREE_BOX;
	if (!nb_tree_agrees(tree->mass[k], want.mass, by.mass))
		return NB_TREE_MASS;
	for (size_t d = 0; d < 3; d++)
		if (!nb_tree_agrees(tree->com[3 * k + d], want.com[d], by.com))
			return NB_TREE_COM;
	for (size_t s = 0; tree->quad && s < 6; s++)
		if (!nb_tree_agrees(tree->quad[6 * k + s], want.quad[s], by.quad))
			return NB_TREE_QUAD;
	return NB_TREE_SOUND;
}

int nb_tree_check_cpu(const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong)
{
	const size_t nnode = tree->nnode;
	*wrong = n == 0 && nnode   ? "there are nodes but no bodies"
		 : n && nnode == 0 ? "the root does not hold all bodies"
				   : NULL;
	if (n == 0 || nnode == 0)
		return NB_OK;
	*wrong = shape_fault(tree, n);
	int status = *wrong ? NB_OK : find_depth(tree, wrong);
	if (status || *wrong)
		return status;
	size_t first = nnode;
#pragma omp parallel for schedule(dynamic, 256) reduction(min : first) if (nnode > MANY)
	for (size_t k = 0; k < nnode; k++)
		if (k < first && moments_fault(tree, k, pos, mass) != NB_TREE_SOUND)
			first = k;
	if (first < nnode)
		*wrong = nb_tree_fault_text(moments_fault(tree, first, pos, mass));
	return NB_OK;
}
