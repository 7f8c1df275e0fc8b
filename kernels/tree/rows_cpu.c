/* Shapes and boxes of trees over bodies that stay where they are: what takes less memory than a copy in order. */
#include "kernels/tree/tree.h"

#include <math.h>

#include "common/mem.h"

/* Whether a leaf has more bodies than it should, and they are not in one place. */
static int is_tie(const struct nb_tree *tree, nb_tree_place *place, const void *context, size_t node)
{
	double first[3], other[3];
	if (tree->nchild[node] || tree->count[node] <= (uint32_t)tree->leaf_size)
		return 0;
	place(context, tree->first[node], first);
	for (uint32_t i = 1; i < tree->count[node]; i++) {
		place(context, tree->first[node] + i, other);
		for (int k = 0; k < tree->dim; k++)
			if (first[k] != other[k])
				return 1;
	}
	return 0;
}

static int is_tied(size_t n, const uint64_t *key, size_t i)
{
	return (i > 0 && key[i] == key[i - 1]) || (i + 1 < n && key[i] == key[i + 1]);
}

/* Bodies of one key get the order of their deeper keys. */
static int sort_tied(size_t n, const uint64_t *key, nb_tree_place *place, const void *context, uint32_t *perm, int dim)
{
	size_t tied = 0, k = 0;
	for (size_t i = 0; i < n; i++)
		tied += (size_t)is_tied(n, key, i);
	uint64_t *own = nb_alloc(tied, sizeof *own);
	double *pos = nb_alloc(tied, 3 * sizeof *pos);
	uint32_t *row = nb_alloc(tied, sizeof *row), *order = nb_alloc(tied, sizeof *order);
	int status = own && pos && row && order ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; !status && i < n; i++)
		if (is_tied(n, key, i)) {
			place(context, i, pos + 3 * k);
			own[k] = key[i];
			row[k] = perm[i];
			order[k] = (uint32_t)k;
			k++;
		}
	status = status ? status : nb_sort_deep_cpu(tied, own, pos, dim, order);
	k = 0;
	for (size_t i = 0; !status && i < n; i++)
		if (is_tied(n, key, i))
			perm[i] = row[order[k++]];
	nb_free_all(own, pos, row, order);
	return status;
}

/* The tree where keys do not tell bodies apart.  Of an array of positions only those of bodies of one key are written,
 * so that the rest of it takes no memory. */
static int build_deep(const uint64_t *key, nb_tree_place *place, const void *context, size_t n, uint32_t *perm,
	const struct nb_cube *cube, struct nb_tree *tree)
{
	const int dim = tree->dim, leaf_size = tree->leaf_size;
	nb_tree_free(tree);
	int status = sort_tied(n, key, place, context, perm, dim);
	double *pos = nb_alloc(n, 3 * sizeof *pos);
	status = status || pos ? status : NB_ENOMEM;
#pragma omp parallel for
	for (size_t i = 0; i < (status ? 0 : n); i++)
		if (is_tied(n, key, i))
			place(context, i, pos + 3 * i);
	status = status ? status : nb_tree_build_cpu(n, key, pos, NULL, dim, cube, leaf_size, 0, tree);
	nb_free(pos);
	return status;
}

int nb_tree_shape_cpu(size_t n, const uint64_t *key, nb_tree_place *place, const void *context, uint32_t *perm, int dim,
	const struct nb_cube *cube, int leaf_size, struct nb_tree *tree)
{
	const int status = nb_tree_build_cpu(n, key, NULL, NULL, dim, cube, leaf_size, 0, tree);
	int found = 0;
	if (status)
		return status;
#pragma omp parallel for schedule(dynamic, 1024) reduction(| : found)
	for (size_t node = 0; node < tree->nnode; node++)
		found |= is_tie(tree, place, context, node);
	return found ? build_deep(key, place, context, n, perm, cube, tree) : NB_OK;
}

static void add_to_box(double *box, const double *lo, const double *hi)
{
	for (int k = 0; k < 3; k++) {
		box[k] = lo[k] < box[k] ? lo[k] : box[k];
		box[k + 3] = hi[k] > box[k + 3] ? hi[k] : box[k + 3];
	}
}

/* Children come after their parents. */
int nb_tree_boxes_cpu(struct nb_tree *tree, nb_tree_place *place, const void *context)
{
	tree->box = nb_alloc(tree->nnode, 6 * sizeof *tree->box);
	if (!tree->box)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 256)
	for (size_t node = 0; node < tree->nnode; node++) {
		double *box = tree->box + 6 * node, at[3];
		for (int k = 0; k < 6; k++)
			box[k] = k < 3 ? INFINITY : -INFINITY;
		const uint32_t end = tree->nchild[node] ? 0 : tree->count[node];
		for (uint32_t i = 0; i < end; i++) {
			place(context, tree->first[node] + i, at);
			add_to_box(box, at, at);
		}
	}
	for (size_t node = tree->nnode; node-- > 0;)
		for (size_t c = tree->child[node]; c < tree->child[node] + (size_t)tree->nchild[node]; c++)
			add_to_box(tree->box + 6 * node, tree->box + 6 * c, tree->box + 6 * c + 3);
	return NB_OK;
}
