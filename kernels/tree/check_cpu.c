#include "kernels/tree/check_internal.h"

int nb_tree_check_cpu(const struct nb_tree *tree, size_t n, const char **wrong)
{
	const size_t nnode = tree->nnode;
	*wrong = n == 0 && nnode   ? "there are nodes but no bodies"
		 : n && nnode == 0 ? "the root does not hold all bodies"
				   : NULL;
	if (n == 0 || nnode == 0)
		return NB_OK;
	uint64_t linked = 1;
	size_t first = nnode;
#pragma omp parallel for schedule(static) reduction(+ : linked) reduction(min : first) if (nnode > 10000)
	for (size_t k = 0; k < nnode; k++) {
		if (k < first && nb_tree_node_fault(tree, n, k) != NB_TREE_SOUND)
			first = k;
		linked += tree->nchild[k];
	}
	*wrong = nb_tree_verdict(tree, first < nnode ? nb_tree_node_fault(tree, n, first) : NB_TREE_SOUND,
		tree->first[0] == 0 && tree->count[0] == n, linked);
	return NB_OK;
}
