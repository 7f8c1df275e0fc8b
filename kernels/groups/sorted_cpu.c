/* Bodies inside of the box, in the order of a tree over them. */
#include "kernels/groups/groups_internal.h"

#include <math.h>

#include "common/mem.h"

enum { LEAF = 16 };

double nb_groups_wrap(double x, double box)
{
	return nb_periodic_wrap(x, box);
}

/* Positions inside of the box: pos itself if they are, else a copy; NULL: no memory. */
static const double *inside_box(size_t n, const double *pos, int dim, double box, double **copy)
{
	int outside = 0;
	if (box > 0) {
#pragma omp parallel for reduction(| : outside)
		for (size_t i = 0; i < n; i++)
			for (int k = 0; k < dim; k++)
				outside |= !(pos[3 * i + (size_t)k] >= 0 && pos[3 * i + (size_t)k] < box);
	}
	if (!outside)
		return pos;
	*copy = nb_alloc(n, 3 * sizeof **copy);
	if (!*copy)
		return NULL;
#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < 3; k++)
			(*copy)[3 * i + k] = k < (size_t)dim ? nb_groups_wrap(pos[3 * i + k], box) : pos[3 * i + k];
	return *copy;
}

static int build(struct nb_sorted *sorted, const double *pos, double *massless, uint64_t *key)
{
	const int dim = sorted->law.dim;
	struct nb_cube cube;
	size_t bad;
	int status = nb_morton_cube_cpu(sorted->n, pos, dim, &cube, &bad);
	if (!status)
		status = nb_morton_keys_cpu(sorted->n, pos, dim, &cube, key);
	if (!status)
		status = nb_sort_keys_cpu(sorted->n, key, sorted->perm);
	if (!status)
		status = nb_sort_deep_cpu(sorted->n, key, pos, dim, sorted->perm);
	if (!status)
		status = nb_permute_cpu(sorted->n, sorted->perm, 3 * sizeof *pos, pos, sorted->pos);
	return status ? status
		      : nb_tree_build_cpu(sorted->n, key, sorted->pos, massless, dim, &cube, LEAF, 1, &sorted->tree);
}

int nb_sorted_make(struct nb_sorted *sorted, const double *pos)
{
	double *copy = NULL;
	const double *inside = inside_box(sorted->n, pos, sorted->law.dim, sorted->law.box, &copy);
	uint64_t *key = nb_alloc(sorted->n, sizeof *key);
	double *massless = nb_alloc_zero(sorted->n, sizeof *massless);
	sorted->pos = nb_alloc(sorted->n, 3 * sizeof *sorted->pos);
	sorted->perm = nb_alloc(sorted->n, sizeof *sorted->perm);
	const int there = inside && key && massless && sorted->pos && sorted->perm;
	const int status = there ? build(sorted, inside, massless, key) : NB_ENOMEM;
	nb_free_all(copy, key, massless);
	return status;
}

void nb_sorted_free(struct nb_sorted *sorted)
{
	nb_tree_free(&sorted->tree);
	nb_free_all(sorted->pos, sorted->perm);
}
