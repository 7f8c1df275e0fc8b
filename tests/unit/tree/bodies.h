/* bodies.h - sets of bodies in Morton order, and trees of them. */
#ifndef NB_UNIT_TREE_BODIES_H
#define NB_UNIT_TREE_BODIES_H

#include "common/mem.h"
#include "kernels/order/order.h"
#include "kernels/walk/walk.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

struct bodies {
	size_t n;
	int dim;
	double *pos, *mass;
	uint64_t *key;
	uint32_t *perm;
	struct nb_cube cube;
};

static inline struct bodies bodies_alloc(size_t n, int dim)
{
	struct bodies b = {.n = n, .dim = dim};
	b.pos = nb_alloc(n, 3 * sizeof *b.pos);
	b.mass = nb_alloc(n, sizeof *b.mass);
	b.key = nb_alloc(n, sizeof *b.key);
	b.perm = nb_alloc(n, sizeof *b.perm);
	return b;
}

static inline void bodies_free(struct bodies *b)
{
	nb_free(b->pos);
	nb_free(b->mass);
	nb_free(b->key);
	nb_free(b->perm);
}

/* Keys, sort, and the permutation of pos and mass; perm remains. */
static inline void bodies_sort(struct bodies *b)
{
	size_t bad;
	CHECK(nb_morton_cube_cpu(b->n, b->pos, b->dim, &b->cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(b->n, b->pos, b->dim, &b->cube, b->key) == NB_OK);
	CHECK(nb_sort_keys_cpu(b->n, b->key, b->perm) == NB_OK);
	CHECK(nb_sort_deep_cpu(b->n, b->key, b->pos, b->dim, b->perm) == NB_OK);
	double *pos = nb_alloc(b->n, 3 * sizeof *pos), *mass = nb_alloc(b->n, sizeof *mass);
	CHECK(nb_permute_cpu(b->n, b->perm, 3 * sizeof *pos, b->pos, pos) == NB_OK);
	CHECK(nb_permute_cpu(b->n, b->perm, sizeof *mass, b->mass, mass) == NB_OK);
	nb_free(b->pos);
	nb_free(b->mass);
	b->pos = pos;
	b->mass = mass;
}

enum model { PLUMMER, UNIFORM, CLUSTERS, PAIR_AND_CLUSTER, DISK_2D, MODELS };
static const char *const model_name[] = {"plummer", "uniform", "clusters", "two bodies and a far cluster", "disk, 2-D"};

static inline void plummer_body(double scale, double *x)
{
	on_sphere(scale / sqrt(pow(uniform(), -2.0 / 3) - 1), x);
}

static inline struct bodies model(enum model kind, size_t n)
{
	struct bodies b = bodies_alloc(n, kind == DISK_2D ? 2 : 3);
	for (size_t i = 0; i < n; i++) {
		double *x = b.pos + 3 * i;
		b.mass[i] = (0.5 + uniform()) / (double)n;
		switch (kind) {
		case PLUMMER: plummer_body(3 * M_PI / 16, x); break;
		case UNIFORM:
			for (int d = 0; d < 3; d++)
				x[d] = uniform();
			break;
		case CLUSTERS:
			plummer_body(0.02, x);
			for (int d = 0; d < 3; d++)
				x[d] += (double)(i >> d & 1) * 2;
			break;
		case PAIR_AND_CLUSTER:
			plummer_body(1, x);
			x[0] += 1000;
			if (i < 2) {
				x[0] = 1e-3 * (double)i;
				x[1] = x[2] = 0;
				b.mass[i] = 0.5;
			}
			break;
		default: {
			double r = -log(uniform()), phi = 2 * M_PI * uniform();
			x[0] = r * cos(phi);
			x[1] = r * sin(phi);
			x[2] = 0;
		}
		}
	}
	bodies_sort(&b);
	return b;
}

/* The same Plummer sphere, however long and heavy. */
static inline struct bodies plummer_in_units(size_t n, double length, double mass)
{
	random_state = 31337;
	struct bodies b = model(PLUMMER, n);
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] *= length;
		b.mass[i] *= mass;
	}
	bodies_sort(&b);
	return b;
}

static inline struct nb_tree build(const struct bodies *b, int leaf_size, int order)
{
	struct nb_tree tree;
	int status = nb_tree_build_cpu(b->n, b->key, b->pos, b->mass, b->dim, &b->cube, leaf_size, order, &tree);
	CHECK(status == NB_OK);
	return tree;
}

#endif
