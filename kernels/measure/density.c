/* Densities at bodies from the distances of their nearest neighbours.
 *
 * Bodies are sorted along a Z-order curve; LANES in a row share a leaf of a complete binary tree, whose nodes hold the
 * boxes around them.  From its own leaf a body climbs to the root, and on the way descends into what lies beside it,
 * where the box is nearer than its last neighbour so far: that one is close from the start, so few nodes are seen. */
#include "kernels/measure/measure_internal.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/order/order.h"

enum { LANES = 8, NEAR = NB_DENSITY_NEIGHBOURS, STACK = 64 };

struct box {
	double low[3], high[3];
};

struct neighbours {
	size_t n, nleaf; /* nleaf: a power of two; leaf k is node nleaf + k, the root is node 1 */
	double (*pos)[3], *mass;
	struct box *node;
};

/* The nearest so far, in the order of their distances. */
struct near {
	double distance2[NEAR], mass[NEAR];
};

static void bound_leaf(const struct neighbours *c, size_t leaf)
{
	struct box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
	for (size_t i = leaf * LANES; i < c->n && i < (leaf + 1) * LANES; i++)
		for (int d = 0; d < 3; d++) {
			box.low[d] = fmin(box.low[d], c->pos[i][d]);
			box.high[d] = fmax(box.high[d], c->pos[i][d]);
		}
	c->node[c->nleaf + leaf] = box;
}

static void bound_nodes(const struct neighbours *c)
{
#pragma omp parallel for schedule(static) if (c->n > 10000)
	for (size_t leaf = 0; leaf < c->nleaf; leaf++)
		bound_leaf(c, leaf);
	for (size_t k = c->nleaf - 1; k > 0; k--)
		for (int d = 0; d < 3; d++) {
			c->node[k].low[d] = fmin(c->node[2 * k].low[d], c->node[2 * k + 1].low[d]);
			c->node[k].high[d] = fmax(c->node[2 * k].high[d], c->node[2 * k + 1].high[d]);
		}
}

/* Infinite for a box without bodies. */
static double box_distance2(const struct box *box, const double x[3])
{
	double sum = 0;
	for (int d = 0; d < 3; d++) {
		const double below = box->low[d] - x[d], above = x[d] - box->high[d],
			     out = below > above ? below : above;
		sum += out > 0 ? out * out : 0;
	}
	return sum;
}

static void look_at_leaf(const struct neighbours *c, size_t leaf, size_t self, struct near *near)
{
	for (size_t i = leaf * LANES; i < c->n && i < (leaf + 1) * LANES; i++) {
		const double x = c->pos[i][0] - c->pos[self][0], y = c->pos[i][1] - c->pos[self][1],
			     z = c->pos[i][2] - c->pos[self][2], r2 = x * x + y * y + z * z;
		int k = NEAR - 1;
		if (i == self || !(r2 < near->distance2[k]))
			continue;
		for (; k > 0 && r2 < near->distance2[k - 1]; k--) {
			near->distance2[k] = near->distance2[k - 1];
			near->mass[k] = near->mass[k - 1];
		}
		near->distance2[k] = r2;
		near->mass[k] = c->mass[i];
	}
}

static void look_below(const struct neighbours *c, size_t top, size_t self, struct near *near)
{
	const double *x = c->pos[self];
	struct {
		size_t node;
		double distance2;
	} stack[STACK];
	int depth = 0;
	stack[depth].node = top;
	stack[depth++].distance2 = box_distance2(&c->node[top], x);
	while (depth > 0) {
		const size_t node = stack[--depth].node, left = 2 * node, right = left + 1;
		if (!(stack[depth].distance2 < near->distance2[NEAR - 1]))
			continue;
		if (node >= c->nleaf) {
			look_at_leaf(c, node - c->nleaf, self, near);
			continue;
		}
		const double to_left = box_distance2(&c->node[left], x), to_right = box_distance2(&c->node[right], x);
		const int right_first = to_right < to_left;
		stack[depth].node = right_first ? left : right;
		stack[depth++].distance2 = right_first ? to_left : to_right;
		stack[depth].node = right_first ? right : left;
		stack[depth++].distance2 = right_first ? to_right : to_left;
	}
}

static double density_at(const struct neighbours *c, size_t self)
{
	struct near near;
	double mass = 0;
	for (int k = 0; k < NEAR; k++)
		near.distance2[k] = INFINITY;
	size_t node = c->nleaf + self / LANES;
	look_at_leaf(c, self / LANES, self, &near);
	for (; node > 1; node /= 2)
		look_below(c, node ^ 1, self, &near);
	for (int k = 0; k < NEAR - 1; k++)
		mass += near.mass[k];
	const double r2 = near.distance2[NEAR - 1];
	return mass / (r2 * sqrt(r2) * (4 * acos(-1) / 3));
}

/* Sorted bodies in units of a power of two, whose squares and cubes are numbers whatever the units of the caller are.
 */
static int gather(
	size_t n, const uint32_t *row, const double *mass, const double *pos, struct neighbours *c, uint32_t *perm)
{
	double(*x)[3] = nb_alloc(n, sizeof *x);
	uint64_t *key = nb_alloc(n, sizeof *key);
	struct nb_cube cube;
	size_t bad;
	int status = x && key ? NB_OK : NB_ENOMEM;
	for (size_t k = 0; k < n && !status; k++)
		memcpy(x[k], &pos[3 * (size_t)row[k]], sizeof *x);
	status = status ? status : nb_morton_cube_cpu(n, x[0], 3, &cube, &bad);
	status = status ? status : nb_morton_keys_cpu(n, x[0], 3, &cube, key);
	status = status ? status : nb_sort_keys_cpu(n, key, perm);
	status = status ? status : nb_sort_deep_cpu(n, key, x[0], 3, perm);
	for (size_t k = 0; k < n && !status; k++) {
		c->mass[k] = mass[row[perm[k]]];
		for (int d = 0; d < 3; d++)
			c->pos[k][d] = scalbn(x[perm[k]][d], -ilogb(cube.size));
	}
	nb_free(x);
	nb_free(key);
	return status;
}

int nb_densities(size_t n, const uint32_t *row, const double *mass, const double *pos, double *density)
{
	struct neighbours c = {.n = n, .nleaf = 1};
	while (c.nleaf * LANES < n)
		c.nleaf *= 2;
	uint32_t *perm = nb_alloc(n, sizeof *perm);
	c.pos = nb_alloc(n, sizeof *c.pos);
	c.mass = nb_alloc(n, sizeof *c.mass);
	c.node = nb_alloc(2 * c.nleaf, sizeof *c.node);
	int status = perm && c.pos && c.mass && c.node ? NB_OK : NB_ENOMEM;
	status = status ? status : gather(n, row, mass, pos, &c, perm);
	if (!status) {
		bound_nodes(&c);
#pragma omp parallel for schedule(dynamic, 256) if (n > 1000)
		for (size_t k = 0; k < n; k++)
			density[row[perm[k]]] = density_at(&c, k);
	}
	nb_free_all(perm, c.pos, c.mass, c.node);
	return status;
}
