/* The field at points by a walk of the tree of the sources.
 *
 * The points are sorted, and a tree of them is built; its nodes are what the walk of the bodies has for targets: they
 * collect local expansions and share lists of sources, from the root of the points down (walk_simd.c).  Points that are
 * very far from all sources are set apart before: to them the sources are one. */
#include "kernels/walk/walk.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/gravity/gravity.h"

/* From so many lengths of the sources on, 1 + (size / distance)^2 is 1. */
static const double FAR = 0x1p26;

/* Leaves of the points' tree: where there are few points among many sources, each may be walked alone. */
enum { LEAF = 8, FEW = 8, BLOCK = 4096 };

/* Everything that is allocated. */
struct sorted {
	uint32_t *near; /* rows of the points that are walked; NULL: all */
	uint32_t *row;	/* the same, sorted */
	uint32_t *perm;
	uint64_t *key;
	double *near_pos, *pos, *eps, *mass;
	struct nb_tree tree;
};

static void sorted_free(struct sorted *s)
{
	nb_free_all(s->near, s->row, s->perm, s->key, s->near_pos, s->pos, s->eps, s->mass);
	nb_tree_free(&s->tree);
}

/* ---- far points ------------------------------------------------------------------------------------------- */

/* The sources, as points far away see them. */
struct whole {
	double com[3], mass, G;
	double far; /* from here on */
};

static int is_far(const struct whole *whole, const double *x)
{
	double most = 0;
	for (int k = 0; k < 3; k++)
		most = fmax(most, fabs(x[k] - whole->com[k]));
	return most > whole->far;
}

static void act_as_one(const struct whole *whole, const struct nb_gravity_points *points, size_t row)
{
	static const double still[3] = {0};
	double x[3], sum[7] = {0};
	for (size_t k = 0; k < 3; k++)
		x[k] = whole->com[k] - points->pos[3 * row + k];
	nb_walk_add_pair(whole->mass, x, still, 0, sum);
	for (size_t k = 0; k < 3; k++)
		points->acc[3 * row + k] = whole->G * sum[k];
	if (points->pot)
		points->pot[row] = -whole->G * sum[3];
}

/* Computes far points, and lists the others unless there are no far ones. */
static int set_far_apart(
	const struct whole *whole, const struct nb_gravity_points *points, struct sorted *s, size_t *nnear)
{
	size_t far = 0, odd = 0, n = 0;
#pragma omp parallel for schedule(static) reduction(+ : far, odd) if (points->n > BLOCK)
	for (size_t i = 0; i < points->n; i++) {
		const double *x = points->pos + 3 * i;
		odd += !isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]);
		far += (size_t)is_far(whole, x);
	}
	*nnear = points->n - far;
	if (odd)
		return NB_ENONFINITE;
	if (far == 0)
		return NB_OK;
	s->near = nb_alloc(*nnear + 1, sizeof *s->near);
	s->near_pos = nb_alloc(*nnear + 1, 3 * sizeof *s->near_pos);
	if (!s->near || !s->near_pos)
		return NB_ENOMEM;
	for (size_t i = 0; i < points->n; i++)
		if (is_far(whole, points->pos + 3 * i)) {
			act_as_one(whole, points, i);
		} else {
			memcpy(s->near_pos + 3 * n, points->pos + 3 * i, 3 * sizeof *s->near_pos);
			s->near[n++] = (uint32_t)i;
		}
	return NB_OK;
}

/* ---- sorted points ---------------------------------------------------------------------------------------- */

/* Sorts n points, and builds their tree; rows of equal points stay in their order. */
static int sort(const struct nb_gravity_points *points, size_t n, int leaf_size, struct sorted *s)
{
	const double *pos = s->near ? s->near_pos : points->pos;
	struct nb_cube cube;
	size_t bad;
	s->row = nb_alloc(n, sizeof *s->row);
	s->perm = nb_alloc(n, sizeof *s->perm);
	s->key = nb_alloc(n, sizeof *s->key);
	s->pos = nb_alloc(n, 3 * sizeof *s->pos);
	s->mass = nb_alloc(n, sizeof *s->mass);
	s->eps = points->eps ? nb_alloc(n, sizeof *s->eps) : NULL;
	if (!s->row || !s->perm || !s->key || !s->pos || !s->mass || (points->eps && !s->eps))
		return NB_ENOMEM;
	int status = nb_morton_cube_cpu(n, pos, 3, &cube, &bad);
	if (!status)
		status = nb_morton_keys_cpu(n, pos, 3, &cube, s->key);
	if (!status)
		status = nb_sort_keys_cpu(n, s->key, s->perm);
	if (!status)
		status = nb_sort_deep_cpu(n, s->key, pos, 3, s->perm);
	if (!status)
		status = nb_permute_cpu(n, s->perm, 3 * sizeof *pos, pos, s->pos);
	if (status)
		return status;
	for (size_t k = 0; k < n; k++) {
		s->row[k] = s->near ? s->near[s->perm[k]] : s->perm[k];
		s->mass[k] = 1;
		if (s->eps)
			s->eps[k] = points->eps[s->row[k]];
	}
	return nb_tree_build_cpu(n, s->key, s->pos, s->mass, 3, &cube, leaf_size, 1, &s->tree);
}

static int walk_sorted(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct nb_gravity_points *points, struct sorted *s, struct nb_gravity_count *count)
{
	struct whole whole = {{tree->com[0], tree->com[1], tree->com[2]}, tree->mass[0], g->G, 0};
	double size, point_eps = 0;
	size_t n;
	const struct nb_gravity own = {.n = points->n, .body_eps = points->eps};
	int status = nb_gravity_largest_eps(g, &size);
	if (!status)
		status = nb_gravity_largest_eps(&own, &point_eps);
	if (status)
		return status;
	size = fmax(size, point_eps);
	for (int k = 0; k < 3; k++)
		size = fmax(size, tree->box[3 + k] - tree->box[k]);
	whole.far = FAR * size;
	status = set_far_apart(&whole, points, s, &n);
	if (!status && n > 0)
		status = sort(points, n, points->n < g->n / FEW ? 1 : LEAF, s);
	if (status || n == 0)
		return status;
	const struct nb_walk_points at = {n, &s->tree, s->pos, s->mass, s->eps, s->row, points->acc, points->pot};
	return nb_walk_cpu(g, tree, walk, &at, count);
}

int nb_gravity_tree_points_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct nb_gravity_points *points, struct nb_gravity_count *count)
{
	struct nb_gravity sources = *g;
	sources.jerk = NULL;
	sources.pot = NULL;
	if (!points->acc || !points->pos || points->target || points->strength)
		return NB_EINVAL;
	if (walk->mac == NB_MAC_ACCELERATION)
		return NB_EUNSUPPORTED;
	if (points->n > UINT32_MAX / 2)
		return NB_ELIMIT;
	int status = nb_walk_check(&sources, tree, walk);
	if (status || points->n == 0)
		return status;
	if (g->n == 0) {
		memset(points->acc, 0, 3 * points->n * sizeof *points->acc);
		if (points->pot)
			memset(points->pot, 0, points->n * sizeof *points->pot);
		return NB_OK;
	}
	struct sorted s = {0};
	status = walk_sorted(&sources, tree, walk, points, &s, count);
	sorted_free(&s);
	return status;
}
