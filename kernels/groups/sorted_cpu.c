/* A tree over bodies, whose positions stay where they are. */
#include "kernels/groups/groups_internal.h"

#include <math.h>

#include "common/mem.h"

/* Positions inside of the box: pos itself if they are, else a copy; NULL: no memory. */
static const double *inside_box(const struct nb_sorted *sorted, double **copy)
{
	const double *pos = sorted->pos, box = sorted->law.box;
	int outside = 0;
	if (box > 0) {
#pragma omp parallel for reduction(| : outside)
		for (size_t i = 0; i < sorted->n; i++)
			for (int k = 0; k < sorted->law.dim; k++)
				outside |= !(pos[3 * i + (size_t)k] >= 0 && pos[3 * i + (size_t)k] < box);
	}
	if (!outside)
		return pos;
	*copy = nb_alloc(sorted->n, 3 * sizeof **copy);
	if (!*copy)
		return NULL;
#pragma omp parallel for
	for (size_t i = 0; i < sorted->n; i++)
		nb_link_place(&sorted->law, pos + 3 * i, *copy + 3 * i);
	return *copy;
}

static int make_keys(struct nb_sorted *sorted, struct nb_cube *cube, uint64_t *key)
{
	const int dim = sorted->law.dim;
	size_t bad;
	double *copy = NULL;
	const double *inside = inside_box(sorted, &copy);
	int status = inside ? nb_morton_cube_cpu(sorted->n, inside, dim, cube, &bad) : NB_ENOMEM;
	if (!status)
		status = nb_morton_keys_cpu(sorted->n, inside, dim, cube, key);
	nb_free(copy);
	return status ? status : nb_sort_keys_cpu(sorted->n, key, sorted->perm);
}

/* Whether a leaf has more bodies than it should, and they are not in one place. */
static int is_tie(const struct nb_sorted *sorted, size_t node)
{
	const struct nb_tree *tree = &sorted->tree;
	double first[3], other[3];
	if (tree->nchild[node] || tree->count[node] <= NB_LINK_LEAF)
		return 0;
	nb_sorted_place(sorted, tree->first[node], first);
	for (uint32_t i = 1; i < tree->count[node]; i++) {
		nb_sorted_place(sorted, tree->first[node] + i, other);
		for (int k = 0; k < sorted->law.dim; k++)
			if (first[k] != other[k])
				return 1;
	}
	return 0;
}

static int has_ties(const struct nb_sorted *sorted)
{
	int found = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(| : found)
	for (size_t node = 0; node < sorted->tree.nnode; node++)
		found |= is_tie(sorted, node);
	return found;
}

/* The tree where keys do not tell bodies apart, which takes a copy of the positions in its order. */
static int build_deep(struct nb_sorted *sorted, const struct nb_cube *cube, const uint64_t *key)
{
	double *copy = NULL, *place = NULL;
	const double *inside = inside_box(sorted, &copy);
	int status = inside ? nb_sort_deep_cpu(sorted->n, key, inside, sorted->law.dim, sorted->perm) : NB_ENOMEM;
	nb_free(copy);
	nb_tree_free(&sorted->tree);
	place = status ? NULL : nb_alloc(sorted->n, 3 * sizeof *place);
	if (!place)
		return status ? status : NB_ENOMEM;
#pragma omp parallel for
	for (size_t i = 0; i < sorted->n; i++)
		nb_sorted_place(sorted, i, place + 3 * i);
	status = nb_tree_build_cpu(sorted->n, key, place, NULL, sorted->law.dim, cube, NB_LINK_LEAF, 0, &sorted->tree);
	nb_free(place);
	return status;
}

static void add_to_box(double *box, const double *lo, const double *hi)
{
	for (int k = 0; k < 3; k++) {
		box[k] = lo[k] < box[k] ? lo[k] : box[k];
		box[k + 3] = hi[k] > box[k + 3] ? hi[k] : box[k + 3];
	}
}

/* Children come after their parents. */
static int make_boxes(struct nb_sorted *sorted)
{
	const struct nb_tree *tree = &sorted->tree;
	sorted->box = nb_alloc(tree->nnode, 6 * sizeof *sorted->box);
	if (!sorted->box)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 256)
	for (size_t node = 0; node < tree->nnode; node++) {
		double *box = sorted->box + 6 * node, place[3];
		for (int k = 0; k < 6; k++)
			box[k] = k < 3 ? INFINITY : -INFINITY;
		const uint32_t end = tree->nchild[node] ? 0 : tree->count[node];
		for (uint32_t i = 0; i < end; i++) {
			nb_sorted_place(sorted, tree->first[node] + i, place);
			add_to_box(box, place, place);
		}
	}
	for (size_t node = tree->nnode; node-- > 0;)
		for (size_t c = tree->child[node]; c < tree->child[node] + (size_t)tree->nchild[node]; c++)
			add_to_box(sorted->box + 6 * node, sorted->box + 6 * c, sorted->box + 6 * c + 3);
	return NB_OK;
}

int nb_sorted_make(struct nb_sorted *sorted, const double *pos)
{
	struct nb_cube cube;
	uint64_t *key = nb_alloc(sorted->n, sizeof *key);
	sorted->pos = pos;
	sorted->perm = nb_alloc(sorted->n, sizeof *sorted->perm);
	int status = key && sorted->perm ? make_keys(sorted, &cube, key) : NB_ENOMEM;
	if (!status)
		status = nb_tree_build_cpu(
			sorted->n, key, NULL, NULL, sorted->law.dim, &cube, NB_LINK_LEAF, 0, &sorted->tree);
	if (!status && has_ties(sorted))
		status = build_deep(sorted, &cube, key);
	nb_free(key);
	return status ? status : make_boxes(sorted);
}

void nb_sorted_free_tree(struct nb_sorted *sorted)
{
	nb_tree_free(&sorted->tree);
	nb_free(sorted->box);
	sorted->box = NULL;
}

void nb_sorted_free(struct nb_sorted *sorted)
{
	nb_sorted_free_tree(sorted);
	nb_free(sorted->perm);
}
