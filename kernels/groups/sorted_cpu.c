/* A tree over bodies, whose positions stay where they are. */
#include "kernels/groups/groups_internal.h"

#include <math.h>

#include "common/mem.h"

enum { BLOCK = 512 };

/* Block b of the places inside of the box; returns how many they are. */
static size_t place_block(const struct nb_sorted *sorted, size_t b, double place[3 * BLOCK])
{
	const size_t begin = b * BLOCK, n = sorted->n - begin < BLOCK ? sorted->n - begin : BLOCK;
	for (size_t i = 0; i < n; i++)
		nb_sorted_row_place(sorted, begin + i, place + 3 * i);
	return n;
}

static int find_cube(const struct nb_sorted *sorted, struct nb_cube *cube)
{
	double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
	size_t bad;
#pragma omp parallel for reduction(min : lo[:3]) reduction(max : hi[:3])
	for (size_t b = 0; b < (sorted->n + BLOCK - 1) / BLOCK; b++) {
		double place[3 * BLOCK];
		const size_t n = place_block(sorted, b, place);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < 3; k++) {
				const double x = place[3 * i + k];
				lo[k] = x < lo[k] ? x : lo[k];
				hi[k] = x > hi[k] ? x : hi[k];
			}
	}
	const double corner[6] = {lo[0], lo[1], lo[2], hi[0], hi[1], hi[2]};
	return nb_morton_cube_cpu(2, corner, sorted->law.dim, cube, &bad);
}

/* A block at a time: a copy of all places would be as much as all else. */
static int make_keys(struct nb_sorted *sorted, struct nb_cube *cube, uint64_t *key)
{
	int status = find_cube(sorted, cube);
	if (status)
		return status;
#pragma omp parallel for reduction(max : status)
	for (size_t b = 0; b < (sorted->n + BLOCK - 1) / BLOCK; b++) {
		double place[3 * BLOCK];
		const size_t n = place_block(sorted, b, place);
		const int failed = nb_morton_keys_cpu(n, place, sorted->law.dim, cube, key + b * BLOCK);
		status = failed ? failed : status;
	}
	return status ? status : nb_sort_keys_cpu(sorted->n, key, sorted->perm);
}

static void place_of(const void *context, size_t i, double place[3])
{
	nb_sorted_place(context, i, place);
}

int nb_sorted_make(struct nb_sorted *sorted, struct nb_reals pos)
{
	struct nb_cube cube;
	uint64_t *key = nb_alloc(sorted->n, sizeof *key);
	sorted->pos = pos;
	sorted->perm = nb_alloc(sorted->n, sizeof *sorted->perm);
	int status = key && sorted->perm ? make_keys(sorted, &cube, key) : NB_ENOMEM;
	if (!status)
		status = nb_tree_shape_cpu(sorted->n, key, place_of, sorted, sorted->perm, sorted->law.dim, &cube,
			NB_LINK_LEAF, &sorted->tree);
	nb_free(key);
	return status ? status : nb_tree_boxes_cpu(&sorted->tree, place_of, sorted);
}

void nb_sorted_free(struct nb_sorted *sorted)
{
	nb_tree_free(&sorted->tree);
	nb_free(sorted->perm);
}
