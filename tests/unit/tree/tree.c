/* Keys, sort, tree, boxes, multipoles and the tree walk on the CPU, against brute force and the direct sum. */
#include "kernels/tree/tree.h"
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/order/order.h"
#include "kernels/tree/multipole_body.h"
#include "tests/unit/tree/sound.h"
#include "tests/unit/unit.h"

#include <omp.h>
#include <stdint.h>

static const char *const isa_name[] = {"plain", "avx2", "avx512"};

/* got <= most, and says by how much not */
static void below(double got, double most, const char *what, int line)
{
	unit_checked++;
	if (!(got <= most)) {
		unit_failed++;
		fprintf(stderr, "%s:%d: %s is %.3g, want <= %.3g\n", __FILE__, line, what, got, most);
	}
}
#define CHECK_BELOW(got, most) below((got), (most), #got, __LINE__)

static uint64_t random_state = 20241119;

static uint64_t random_u64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double uniform(void)
{
	return ((double)(random_u64() >> 11) + 0.5) * 0x1p-53;
}

static void on_sphere(double r, double *x)
{
	double c = 2 * uniform() - 1, s = sqrt(1 - c * c), phi = 2 * M_PI * uniform();
	x[0] = r * s * cos(phi);
	x[1] = r * s * sin(phi);
	x[2] = r * c;
}

/* ---- sets of bodies -------------------------------------------------------------------------------- */

struct bodies {
	size_t n;
	int dim;
	double *pos, *mass;
	uint64_t *key;
	uint32_t *perm;
	struct nb_cube cube;
};

static void oracle_forget(void);

static struct bodies bodies_alloc(size_t n, int dim)
{
	struct bodies b = {.n = n, .dim = dim};
	b.pos = nb_alloc(n, 3 * sizeof *b.pos);
	b.mass = nb_alloc(n, sizeof *b.mass);
	b.key = nb_alloc(n, sizeof *b.key);
	b.perm = nb_alloc(n, sizeof *b.perm);
	return b;
}

static void bodies_free(struct bodies *b)
{
	oracle_forget();
	nb_free(b->pos);
	nb_free(b->mass);
	nb_free(b->key);
	nb_free(b->perm);
}

/* Keys, sort, and the permutation of pos and mass; perm remains. */
static void bodies_sort(struct bodies *b)
{
	size_t bad;
	CHECK(nb_morton_cube_cpu(b->n, b->pos, b->dim, &b->cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(b->n, b->pos, b->dim, &b->cube, b->key) == NB_OK);
	CHECK(nb_sort_keys_cpu(b->n, b->key, b->perm) == NB_OK);
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

static void plummer_body(double scale, double *x)
{
	on_sphere(scale / sqrt(pow(uniform(), -2.0 / 3) - 1), x);
}

static struct bodies model(enum model kind, size_t n)
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

static struct nb_tree build(const struct bodies *b, int leaf_size, int order)
{
	struct nb_tree tree;
	int status = nb_tree_build_cpu(b->n, b->key, b->pos, b->mass, b->dim, &b->cube, leaf_size, order, &tree);
	CHECK(status == NB_OK);
	return tree;
}

/* ---- keys ------------------------------------------------------------------------------------------ */

static void test_keys(void)
{
	for (int k = 0; k < 1000; k++) {
		uint32_t v = (uint32_t)random_u64();
		CHECK(nb_morton_gather3(nb_morton_spread3(v)) == (v & 0x1fffff));
		CHECK(nb_morton_gather2(nb_morton_spread2(v)) == (v & 0x7fffffff));
	}
	CHECK(nb_morton_key3(1, 0, 0) == 4 && nb_morton_key3(0, 1, 0) == 2 && nb_morton_key3(0, 0, 1) == 1);
	CHECK(nb_morton_key2(1, 0) == 2 && nb_morton_key2(0, 1) == 1);
	CHECK(nb_morton_key3(0x1fffff, 0x1fffff, 0x1fffff) == 0x7fffffffffffffff);
	CHECK(nb_morton_key2(0x7fffffff, 0x7fffffff) == 0x3fffffffffffffff);

	/* the corners of a cube: the eight octants in order, each body inside the cube */
	double pos[8 * 3];
	for (int i = 0; i < 8; i++)
		for (int d = 0; d < 3; d++)
			pos[3 * i + d] = (i >> (2 - d) & 1) ? 7 : -5;
	struct nb_cube cube;
	size_t bad = 99;
	uint64_t key[8];
	CHECK(nb_morton_cube_cpu(8, pos, 3, &cube, &bad) == NB_OK);
	CHECK(cube.lo[0] == -5 && cube.lo[1] == -5 && cube.lo[2] == -5 && cube.size > 12 &&
		cube.size < 12 * (1 + 1e-11));
	CHECK(nb_morton_keys_cpu(8, pos, 3, &cube, key) == NB_OK);
	for (uint64_t i = 0; i < 8; i++)
		CHECK(key[i] >> 60 == i && nb_morton_gather3(key[i]) == (i & 1 ? 0x1fffff : 0));
	CHECK(nb_morton_cube_cpu(8, pos, 2, &cube, &bad) == NB_OK && cube.lo[2] == 0);
	CHECK(nb_morton_keys_cpu(8, pos, 2, &cube, key) == NB_OK);
	for (uint64_t i = 0; i < 8; i++)
		CHECK(key[i] >> 60 == i >> 1);

	CHECK(nb_morton_cube_cpu(0, NULL, 3, &cube, &bad) == NB_OK && cube.size == 1);
	double same[6] = {3, 4, 5, 3, 4, 5};
	CHECK(nb_morton_cube_cpu(2, same, 3, &cube, &bad) == NB_OK && cube.size == 1 && cube.lo[1] == 4);
	double tiny[6] = {0, 0, 0, 5e-324, 0, 0};
	CHECK(nb_morton_cube_cpu(2, tiny, 3, &cube, &bad) == NB_OK &&
		nb_morton_keys_cpu(2, tiny, 3, &cube, key) == NB_OK);
	double wide[6] = {-1.7e308, 0, 0, 1.7e308, 0, 0};
	CHECK(nb_morton_cube_cpu(2, wide, 3, &cube, &bad) == NB_ELIMIT);
	CHECK(nb_morton_cube_cpu(1, pos, 4, &cube, &bad) == NB_EINVAL);

	enum { N = 50000 };
	double *many = nb_alloc_zero(N, 3 * sizeof *many);
	const double nasty[] = {NAN, INFINITY, -INFINITY};
	for (int k = 0; k < 3; k++) {
		many[3 * 40001 + k] = nasty[k];
		many[3 * 20000 + k] = nasty[(k + 1) % 3];
		CHECK(nb_morton_cube_cpu(N, many, 3, &cube, &bad) == NB_ENONFINITE && bad == 20000);
		many[3 * 20000 + k] = 0;
		CHECK(nb_morton_cube_cpu(N, many, 3, &cube, &bad) == NB_ENONFINITE && bad == 40001);
		many[3 * 40001 + k] = 0;
	}
	nb_free(many);
}

/* ---- sort ------------------------------------------------------------------------------------------ */

static const uint64_t *sort_key;

static int by_key_then_index(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (sort_key[i] != sort_key[j])
		return sort_key[i] < sort_key[j] ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void test_sort(void)
{
	const size_t sizes[] = {0, 1, 2, 3, 255, 257, 8191, 8192, 8193, 100003};
	enum { MOST = 100003, KINDS = 7 };
	uint64_t *key = nb_alloc(MOST, sizeof *key), *sorted = nb_alloc(MOST, sizeof *sorted);
	uint32_t *perm = nb_alloc(MOST, sizeof *perm), *want = nb_alloc(MOST, sizeof *want);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < KINDS; kind++) {
			const size_t n = sizes[s];
			for (size_t i = 0; i < n; i++) {
				uint64_t r = random_u64();
				key[i] = kind == 0   ? r
					 : kind == 1 ? r >> 1			    /* 63 bits */
					 : kind == 2 ? (r & 3) << 40		    /* few, high */
					 : kind == 3 ? 42			    /* all equal */
					 : kind == 4 ? i			    /* sorted */
					 : kind == 5 ? n - i			    /* reversed */
						     : (r & 7) | (r & 0xf00000000); /* bits far apart */
				want[i] = (uint32_t)i;
			}
			sort_key = key;
			qsort(want, n, sizeof *want, by_key_then_index);
			for (int threads = 1; threads <= 7; threads += 2) {
				omp_set_num_threads(threads);
				memcpy(sorted, key, n * sizeof *key);
				CHECK(nb_sort_keys_cpu(n, sorted, perm) == NB_OK);
				int right = 1;
				for (size_t i = 0; i < n; i++)
					right &= perm[i] == want[i] && sorted[i] == key[want[i]];
				CHECK(right);
			}
		}
	omp_set_num_threads(omp_get_num_procs());

	const size_t rows[] = {1, 3, 4, 8, 12, 16, 17, 24, 40};
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const size_t n = 40000, size = rows[r];
		unsigned char *from = nb_alloc(n, size), *to = nb_alloc(n, size);
		for (size_t i = 0; i < n * size; i++)
			from[i] = (unsigned char)random_u64();
		for (size_t i = 0; i < n; i++)
			perm[i] = (uint32_t)(random_u64() % n);
		CHECK(nb_permute_cpu(n, perm, size, from, to) == NB_OK);
		int right = 1;
		for (size_t i = 0; i < n; i++)
			right &= memcmp(to + i * size, from + perm[i] * size, size) == 0;
		CHECK(right);
		nb_free(from);
		nb_free(to);
	}
	CHECK(nb_permute_cpu(1, perm, 0, NULL, NULL) == NB_EINVAL);
	nb_free(key);
	nb_free(sorted);
	nb_free(perm);
	nb_free(want);
}

/* ---- tree ------------------------------------------------------------------------------------------ */

/* Everything that the header promises, by brute force. */
static void check_tree(const struct bodies *b, const struct nb_tree *tree)
{
	CHECK(tree_fault(tree, b->n) == NULL);
	CHECK(tree->dim == b->dim && (tree->quad != NULL) == (tree->order == 2));
	int shape = 1, boxes = 1, masses = 1, coms = 1, quads = 1;
	uint32_t next = 1;
	for (size_t i = 0; i < tree->nnode; i++) {
		const size_t first = tree->first[i], end = first + tree->count[i];
		const uint32_t child = tree->child[i], nchild = tree->nchild[i];
		const int one_key = b->key[first] == b->key[end - 1];
		if (nchild == 0) {
			shape &= child == 0 && (end - first <= (size_t)tree->leaf_size || one_key);
		} else {
			/* level by level in order; at least two children; split at the first digit that differs */
			shape &= child == next && nchild >= 2 && nchild <= 1u << tree->dim;
			shape &= end - first > (size_t)tree->leaf_size && !one_key;
			next += nchild;
			int digit = 0;
			while (b->key[first] >> digit * tree->dim != b->key[end - 1] >> digit * tree->dim)
				digit++;
			const int shift = (digit - 1) * tree->dim;
			for (uint32_t c = child; c < child + nchild; c++) {
				const size_t f = tree->first[c], l = f + tree->count[c] - 1;
				shape &= b->key[f] >> shift == b->key[l] >> shift;
				if (c > child)
					shape &= b->key[f] >> shift != b->key[f - 1] >> shift;
			}
		}
		double lo[3], hi[3];
		long double m = 0, x[3] = {0, 0, 0}, q[6] = {0, 0, 0, 0, 0, 0};
		for (int d = 0; d < 3; d++)
			lo[d] = hi[d] = b->pos[3 * first + (size_t)d];
		for (size_t j = first; j < end; j++) {
			m += (long double)b->mass[j];
			for (int d = 0; d < 3; d++) {
				double p = b->pos[3 * j + (size_t)d];
				lo[d] = fmin(lo[d], p);
				hi[d] = fmax(hi[d], p);
				x[d] += (long double)b->mass[j] * (long double)p;
			}
		}
		const double *box = tree->box + 6 * i, *com = tree->com + 3 * i;
		double size = 0;
		for (int d = 0; d < 3; d++) {
			boxes &= box[d] == lo[d] && box[3 + d] == hi[d];
			size = fmax(size, hi[d] - lo[d]);
		}
		masses &= fabs(tree->mass[i] - (double)m) <= 1e-13 * (double)m;
		for (int d = 0; d < 3; d++) {
			double want = m > 0 ? (double)(x[d] / m) : 0.5 * (lo[d] + hi[d]);
			coms &= fabs(com[d] - want) <= 1e-13 * size + 4e-16 * fabs(want);
		}
		if (!tree->quad)
			continue;
		for (size_t j = first; j < end; j++) {
			long double r[3];
			for (int d = 0; d < 3; d++)
				r[d] = (long double)b->pos[3 * j + (size_t)d] - (long double)com[d];
			for (int s = 0, k = 0; k < 3; k++)
				for (int l = k; l < 3; l++)
					q[s++] += (long double)b->mass[j] * r[k] * r[l];
		}
		for (int s = 0; s < 6; s++)
			quads &= fabs(tree->quad[6 * i + (size_t)s] - (double)q[s]) <= 1e-12 * (double)m * size * size;
	}
	CHECK(shape);
	CHECK(boxes);
	CHECK(masses);
	CHECK(coms);
	CHECK(quads);
}

static int same_tree(const struct nb_tree *a, const struct nb_tree *b)
{
	const size_t n = a->nnode;
	return n == b->nnode && !memcmp(a->first, b->first, n * sizeof *a->first) &&
	       !memcmp(a->count, b->count, n * sizeof *a->count) && !memcmp(a->child, b->child, n * sizeof *a->child) &&
	       !memcmp(a->nchild, b->nchild, n * sizeof *a->nchild) &&
	       !memcmp(a->box, b->box, n * 6 * sizeof *a->box) && !memcmp(a->com, b->com, n * 3 * sizeof *a->com) &&
	       !memcmp(a->mass, b->mass, n * sizeof *a->mass) && !memcmp(a->quad, b->quad, n * 6 * sizeof *a->quad);
}

static void test_tree(void)
{
	const size_t sizes[] = {1, 2, 3, 16, 17, 255, 257, 20000};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < MODELS; kind++) {
			struct bodies b = model(kind, sizes[s]);
			for (int leaf = 1; leaf <= 64; leaf *= 4)
				for (int order = 1; order <= 2; order++) {
					struct nb_tree tree = build(&b, leaf, order);
					check_tree(&b, &tree);
					nb_tree_free(&tree);
				}
			struct nb_tree one, more;
			omp_set_num_threads(1);
			one = build(&b, 4, 2);
			for (int threads = 2; threads <= 5; threads++) {
				omp_set_num_threads(threads);
				more = build(&b, 4, 2);
				CHECK(same_tree(&one, &more));
				nb_tree_free(&more);
			}
			omp_set_num_threads(omp_get_num_procs());
			nb_tree_free(&one);
			bodies_free(&b);
		}

	/* bodies on a line, massless bodies, many coincident ones and a few that are not */
	for (int kind = 0; kind < 3; kind++) {
		struct bodies b = bodies_alloc(5000, 3);
		for (size_t i = 0; i < b.n; i++) {
			for (size_t d = 0; d < 3; d++)
				b.pos[3 * i + d] = kind == 0   ? ldexp(1, -(int)(i % 50))
						   : kind == 1 ? uniform()
						   : i < 10    ? uniform()
							       : 0.3;
			b.mass[i] = kind == 1 ? (i % 1000 ? 0 : 1) : uniform();
		}
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 3, 2);
		check_tree(&b, &tree);
		if (kind == 2) {
			uint32_t most = 0;
			for (size_t i = 0; i < tree.nnode; i++)
				most = !tree.nchild[i] && tree.count[i] > most ? tree.count[i] : most;
			CHECK(most == 4990);
		}
		nb_tree_free(&tree);

		struct nb_tree none;
		double was = b.pos[3 * 777 + 1];
		b.pos[3 * 777 + 1] = NAN;
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 2, &none) == NB_ENONFINITE);
		b.pos[3 * 777 + 1] = INFINITY;
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 2, &none) == NB_ENONFINITE);
		b.pos[3 * 777 + 1] = was;
		b.mass[777] = NAN;
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 2, &none) == NB_ENONFINITE);
		b.mass[777] = -1e-9;
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 2, &none) == NB_EINVAL);
		b.mass[777] = 1;
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 0, 2, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 3, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 1, &b.cube, 3, 2, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(0, NULL, NULL, NULL, 3, &b.cube, 3, 2, &none) == NB_OK && none.nnode == 0);
		bodies_free(&b);
	}
}

/* ---- boxes ----------------------------------------------------------------------------------------- */

static void test_boxes(void)
{
	for (int dim = 2; dim <= 3; dim++)
		for (int level = 0; level <= 3; level++) {
			struct bodies b = model(dim == 2 ? DISK_2D : PLUMMER, 3000);
			const size_t nbox = (size_t)1 << dim * level, nn = dim == 2 ? 8 : 26;
			uint64_t *first = nb_alloc(nbox + 1, sizeof *first);
			int32_t *neighbour = nb_alloc(nbox * nn, sizeof *neighbour);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, level, first, neighbour) == NB_OK);
			struct nb_boxes boxes = {nbox, first, neighbour, (int)nn};
			CHECK(boxes_fault(&boxes, b.n) == NULL);
			/* each body lies in the box that its coordinates say; neighbours are the boxes that touch */
			const double side = (double)(1 << level);
			int inside = 1, touch = 1;
			for (size_t k = 0; k < nbox; k++) {
				uint32_t at[3] = {0, 0, 0};
				for (int d = 0; d < dim; d++)
					at[d] = dim == 2 ? nb_morton_gather2(k >> (1 - d))
							 : nb_morton_gather3(k >> (2 - d));
				for (size_t i = first[k]; i < first[k + 1]; i++)
					for (int d = 0; d < dim; d++)
						inside &= (uint32_t)((b.pos[3 * i + (size_t)d] - b.cube.lo[d]) /
								     b.cube.size * side) == at[d];
				size_t found = 0, want = 0;
				for (size_t o = 0; o < nbox; o++) {
					int near = o != k;
					for (int d = 0; d < dim; d++) {
						int64_t there = dim == 2 ? nb_morton_gather2(o >> (1 - d))
									 : nb_morton_gather3(o >> (2 - d));
						near &= llabs(there - (int64_t)at[d]) <= 1;
					}
					want += (size_t)near;
					for (size_t q = 0; near && q < nn; q++)
						found += neighbour[k * nn + q] == (int32_t)o;
				}
				size_t listed = 0;
				for (size_t q = 0; q < nn; q++)
					listed += neighbour[k * nn + q] >= 0;
				touch &= found == want && listed == want;
			}
			CHECK(inside);
			CHECK(touch);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, -1, first, neighbour) == NB_EINVAL);
			CHECK(nb_boxes_build_cpu(b.n, b.key, dim, dim == 2 ? 13 : 9, first, neighbour) == NB_EINVAL);
			CHECK(nb_boxes_build_cpu(0, NULL, dim, level, first, neighbour) == NB_OK && first[nbox] == 0);
			nb_free(first);
			nb_free(neighbour);
			bodies_free(&b);
		}
}

/* ---- multipoles ------------------------------------------------------------------------------------ */

enum { CELL = 50 };

/* A cell of bodies in a cube of edge 2 about its centre of mass, and its moments. */
static double cell_x[CELL][3], cell_m[CELL], cell_q[6], cell_mass;

static void make_cell(void)
{
	double com[3] = {0, 0, 0};
	cell_mass = 0;
	memset(cell_q, 0, sizeof cell_q);
	for (int j = 0; j < CELL; j++) {
		cell_m[j] = uniform();
		cell_mass += cell_m[j];
		for (int d = 0; d < 3; d++) {
			cell_x[j][d] = 2 * uniform() - 1;
			com[d] += cell_m[j] * cell_x[j][d];
		}
	}
	for (int j = 0; j < CELL; j++) {
		for (int d = 0; d < 3; d++)
			cell_x[j][d] -= com[d] / cell_mass;
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++)
				cell_q[s++] += cell_m[j] * cell_x[j][k] * cell_x[j][l];
	}
}

/* Potential (positive) and acceleration at x by the cell's bodies. */
static void cell_exact(const double *x, double eps, double *a, double *phi)
{
	a[0] = a[1] = a[2] = *phi = 0;
	for (int j = 0; j < CELL; j++) {
		double d[3], r2 = eps * eps;
		for (int k = 0; k < 3; k++) {
			d[k] = cell_x[j][k] - x[k];
			r2 += d[k] * d[k];
		}
		*phi += cell_m[j] / sqrt(r2);
		for (int k = 0; k < 3; k++)
			a[k] += cell_m[j] * d[k] / (r2 * sqrt(r2));
	}
}

/* Error of the acceleration of the cell's multipole at distance d, relative to M / d^2, rms over directions. */
static double m2p_error(int quad, double d, double eps)
{
	double e2 = 0;
	random_state = 4711;
	for (int k = 0; k < 200; k++) {
		double x[3], want[3], a[3] = {0, 0, 0}, phi, p = 0;
		on_sphere(d, x);
		cell_exact(x, eps, want, &phi);
		nb_m2p_f64(quad, -x[0], -x[1], -x[2], 1 / sqrt(d * d + eps * eps), cell_mass, cell_q, &a[0], &a[1],
			&a[2], &p);
		for (int c = 0; c < 3; c++)
			e2 += (a[c] - want[c]) * (a[c] - want[c]);
	}
	return sqrt(e2 / 200) / (cell_mass / (d * d));
}

/* Error of the potential of a local expansion about c, at c + step * u. */
static double m2l_error(const double *c, const double *u, double step, double eps)
{
	double sum[NB_TAYLOR] = {0}, d2 = eps * eps, x[3], a[3], phi;
	for (int k = 0; k < 3; k++) {
		d2 += c[k] * c[k];
		x[k] = c[k] + step * u[k];
	}
	nb_m2l_f64(1, c[0], c[1], c[2], 1 / sqrt(d2), cell_mass, cell_q, sum);
	const double inverse_factorial[] = {1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120};
	double value = 0;
	for (int k = 0, at = 0; k <= 5; k++)
		for (int j = 0; j + k <= 5; j++)
			for (int i = 0; i + j + k <= 5; i++)
				value += sum[at++] * inverse_factorial[i] * inverse_factorial[j] *
					 inverse_factorial[k] * pow(step * u[0], i) * pow(step * u[1], j) *
					 pow(step * u[2], k);
	cell_exact(x, eps, a, &phi);
	return fabs(value - phi);
}

static void test_multipoles(void)
{
	const double far[3] = {7, -11, 13};
	for (int k = 0; k < 4; k++) {
		random_state = 1000 + (uint64_t)k;
		make_cell();
		const double eps = k % 2 ? 3 : 0;
		/* what is left out falls as d^-2 and d^-3 relative to the whole */
		CHECK_NEAR(log2(m2p_error(0, 30, eps) / m2p_error(0, 60, eps)), 2, 0.1);
		CHECK_NEAR(log2(m2p_error(1, 30, eps) / m2p_error(1, 60, eps)), 3, 0.15);

		/* a point source: what a local expansion leaves out grows as the sixth power of the distance */
		for (int j = 0; j < CELL; j++)
			cell_x[j][0] = cell_x[j][1] = cell_x[j][2] = 0;
		memset(cell_q, 0, sizeof cell_q);
		const double u[3] = {0.6, 0.48, -0.64};
		CHECK_NEAR(log2(m2l_error(far, u, 1, eps) / m2l_error(far, u, 0.5, eps)), 6, 0.4);
		/* the expansion's own coefficients, at its centre, are the field */
		CHECK(m2l_error(far, u, 0, eps) < 1e-15 * cell_mass);
	}
	/* moments in the expansion against those in the multipole: field and gradient at the centre */
	make_cell();
	double sum[NB_TAYLOR] = {0}, a[3] = {0, 0, 0}, phi = 0;
	const double rinv = 1 / sqrt(7.0 * 7 + 11 * 11 + 13 * 13 + 0.25);
	nb_m2l_f64(1, 7, -11, 13, rinv, cell_mass, cell_q, sum);
	nb_m2p_f64(1, -7, 11, -13, rinv, cell_mass, cell_q, &a[0], &a[1], &a[2], &phi);
	CHECK_NEAR(sum[NB_C000], phi, 1e-14 * phi);
	CHECK_NEAR(sum[NB_C100], a[0], 1e-14 * fabs(a[0]));
	CHECK_NEAR(sum[NB_C010], a[1], 1e-14 * fabs(a[1]));
	CHECK_NEAR(sum[NB_C001], a[2], 1e-14 * fabs(a[2]));
}

/* ---- the walk -------------------------------------------------------------------------------------- */

struct errors {
	double rms, p50, p99, most; /* rms |da| over rms |a|; percentiles of |da| / |a| */
	double pot;		    /* greatest relative error of the potential */
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* What the forces on at most SAMPLE bodies should be; remembered as long as the bodies and eps are the same. */
enum { SAMPLE = 1000 };
static struct {
	const double *pos;
	size_t n;
	double eps;
	size_t target[SAMPLE], ntarget;
	double acc[3 * SAMPLE], pot[SAMPLE];
} oracle;

static void ask_oracle(const struct nb_gravity *g)
{
	if (oracle.pos == g->pos && oracle.n == g->n && oracle.eps == g->eps)
		return;
	oracle.pos = g->pos;
	oracle.n = g->n;
	oracle.eps = g->eps;
	oracle.ntarget = g->n < SAMPLE ? g->n : SAMPLE;
	for (size_t k = 0; k < oracle.ntarget; k++)
		oracle.target[k] = k * g->n / oracle.ntarget;
	CHECK(nb_gravity_ref(g, oracle.target, oracle.ntarget, oracle.acc, oracle.pot, NULL) == NB_OK);
}

static void oracle_forget(void)
{
	oracle.pos = NULL;
}

/* Errors against the oracle. A NaN makes every figure NaN. */
static struct errors compare(const struct nb_gravity *g)
{
	static double relative[SAMPLE];
	ask_oracle(g);
	const size_t n = oracle.ntarget;
	double e2 = 0, a2 = 0, nan = 0;
	struct errors e = {0};
	for (size_t i = 0; i < g->n; i++) /* also of the bodies that the oracle was not asked for */
		nan += g->acc[3 * i] - g->acc[3 * i] + (g->acc[3 * i + 1] - g->acc[3 * i + 1]) +
		       (g->acc[3 * i + 2] - g->acc[3 * i + 2]) + (g->pot ? g->pot[i] - g->pot[i] : 0);
	for (size_t k = 0; k < n; k++) {
		const double *want = oracle.acc + 3 * k, *got = g->acc + 3 * oracle.target[k];
		double de2 = 0, da2 = 0;
		for (int d = 0; d < 3; d++) {
			de2 += (got[d] - want[d]) * (got[d] - want[d]);
			da2 += want[d] * want[d];
		}
		relative[k] = de2 == 0 ? 0 : sqrt(de2 / da2);
		nan += relative[k] - relative[k];
		e2 += de2;
		a2 += da2;
		if (g->pot) {
			const double p = g->pot[oracle.target[k]], wanted = oracle.pot[k];
			double ep = wanted == 0 ? fabs(p) : fabs(p / wanted - 1);
			nan += ep - ep;
			e.pot = ep > e.pot ? ep : e.pot;
		}
	}
	qsort(relative, n, sizeof *relative, ascending);
	e.rms = (e2 == 0 ? 0 : sqrt(e2 / a2)) + nan;
	e.p50 = relative[n / 2] + nan;
	e.p99 = relative[n - 1 - n / 100] + nan;
	e.most = relative[n - 1] + nan;
	e.pot += nan;
	return e;
}

static struct errors walk_errors(const struct bodies *b, const struct nb_tree *tree, enum nb_precision precision,
	double eps, const struct nb_tree_walk *walk, struct nb_gravity_count *count)
{
	double *acc = nb_alloc(b->n, 3 * sizeof *acc), *pot = nb_alloc(b->n, sizeof *pot);
	struct nb_gravity g = {.n = b->n,
		.pos = b->pos,
		.mass = b->mass,
		.acc = acc,
		.pot = pot,
		.eps = eps,
		.G = 1,
		.precision = precision};
	memset(count, 0, sizeof *count);
	CHECK(nb_gravity_tree_cpu(&g, tree, walk, count) == NB_OK);
	struct errors with_pot = compare(&g);
	g.pot = NULL; /* another kernel */
	memset(acc, 0xff, b->n * 3 * sizeof *acc);
	struct nb_gravity_count again = {0};
	CHECK(nb_gravity_tree_cpu(&g, tree, walk, &again) == NB_OK);
	CHECK(again.p2p == count->p2p && again.m2p == count->m2p && again.m2l == count->m2l &&
		again.groups == count->groups);
	struct errors e = compare(&g);
	CHECK_BELOW(fabs(e.rms - with_pot.rms), precision == NB_F64 ? 1e-12 : 1e-6);
	e.pot = with_pot.pot;
	nb_free(acc);
	nb_free(pot);
	return e;
}

/* theta = 0 is the direct sum, whatever n, leaf size, instruction set, precision and softening. */
static void test_walk_direct(void)
{
	const size_t sizes[] = {1, 2, 3, 16, 17, 96, 97, 257, 1025, 2001};
	/* potentials: in f32, 2000 small terms are added to one large term */
	const double tolerance[] = {1e-5, 2e-6, 1e-13}, tolerance_pot[] = {1e-5, 1e-5, 1e-13};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < MODELS; kind++) {
			struct bodies b = model(kind, sizes[s]);
			for (int isa = 0; isa < 3; isa++) {
				setenv("NB_SIMD", isa_name[isa], 1);
				for (int precision = NB_F32; precision <= NB_F64; precision++) {
					/* f32 wants a tree that tells the close pair from the far cluster */
					const int fine = isa == 1 || (kind == PAIR_AND_CLUSTER && precision == NB_F32);
					struct nb_tree tree = build(&b, fine ? 1 : 40, 1 + isa % 2);
					struct nb_tree_walk walk = {.theta = 0};
					struct nb_gravity_count count;
					struct errors e = walk_errors(
						&b, &tree, precision, isa == 0 ? 0 : 0.05, &walk, &count);
					CHECK_BELOW(e.rms, tolerance[precision]);
					CHECK_BELOW(e.pot, tolerance_pot[precision]);
					CHECK(count.p2p == (uint64_t)b.n * (b.n - 1) && count.m2l == 0 &&
						count.m2p == 0);
					nb_tree_free(&tree);
				}
			}
			unsetenv("NB_SIMD");
			bodies_free(&b);
		}
	struct nb_gravity none = {.G = 1};
	struct nb_tree empty = {.order = 1};
	struct nb_tree_walk walk = {.theta = 0.5};
	CHECK(nb_gravity_tree_cpu(&none, &empty, &walk, NULL) == NB_OK);
}

/* Errors at theta = 0.5 with quadrupoles; the same for all instruction sets and precisions but for rounding. */
static void test_walk_errors(void)
{
	static const struct errors bound[MODELS] = {
		[PLUMMER] = {3e-4, 2e-4, 1.5e-3, 2e-2, 1e-4},
		[UNIFORM] = {6e-4, 5e-4, 3e-3, 2e-2, 1e-4},
		[CLUSTERS] = {3e-4, 2e-4, 1.5e-3, 2e-2, 3e-4},
		[PAIR_AND_CLUSTER] = {3e-4, 2e-4, 1.5e-3, 2e-2, 1e-4},
		[DISK_2D] = {4e-4, 2e-4, 2e-3, 4e-2, 1e-4},
	};
	for (int kind = 0; kind < MODELS; kind++) {
		struct bodies b = model(kind, 20000);
		struct nb_tree tree = build(&b, 32, 2);
		double rms = 0;
		for (int isa = 0; isa < 3; isa++)
			for (int precision = NB_F32; precision <= NB_F64; precision++) {
				setenv("NB_SIMD", isa_name[isa], 1);
				struct nb_tree_walk walk = {.theta = 0.5};
				struct nb_gravity_count count;
				struct errors e = walk_errors(&b, &tree, precision, 0.01, &walk, &count);
				if (isa == 0 && precision == NB_F32) {
					rms = e.rms;
					printf("%s: theta 0.5: rms %.1e, median %.1e, 99 %% %.1e, most %.1e, pot %.1e; "
					       "%.0f p2p, %.0f m2p, %.1f m2l a body\n",
						model_name[kind], e.rms, e.p50, e.p99, e.most, e.pot,
						(double)count.p2p / 20000, (double)count.m2p / 20000,
						(double)count.m2l / 20000);
				}
				CHECK_BELOW(e.rms, bound[kind].rms);
				CHECK_BELOW(e.p50, bound[kind].p50);
				CHECK_BELOW(e.p99, bound[kind].p99);
				CHECK_BELOW(e.most, bound[kind].most);
				CHECK_BELOW(e.pot, bound[kind].pot);
				CHECK_NEAR(e.rms, rms, 2e-6);
				CHECK(count.p2p < (uint64_t)b.n * b.n / 4);
			}
		unsetenv("NB_SIMD");
		nb_tree_free(&tree);
		bodies_free(&b);
	}
}

/* Errors fall with theta, and in f64 without end; quadrupoles and the relative criterion do what they should. */
static void test_walk_theta(void)
{
	struct bodies b = model(PLUMMER, 20000);
	struct nb_tree tree = build(&b, 16, 2), monopole = build(&b, 16, 1);
	struct nb_gravity_count count;
	const double theta[] = {1, 0.7, 0.5, 0.35, 0.25};
	double last = 1;
	for (int k = 0; k < 5; k++) {
		struct nb_tree_walk walk = {.theta = theta[k]};
		struct errors e = walk_errors(&b, &tree, NB_F64, 0.01, &walk, &count);
		CHECK(e.rms < 0.6 * last && e.rms < 6e-3 * pow(theta[k], 3));
		last = e.rms;
	}
	CHECK(last < 4e-5);

	struct nb_tree_walk walk = {.theta = 0.5};
	struct errors two = walk_errors(&b, &tree, NB_F32, 0.01, &walk, &count);
	struct errors one = walk_errors(&b, &monopole, NB_F32, 0.01, &walk, &count);
	CHECK(one.rms > 1.5 * two.rms && one.rms < 3e-3);

	/* by acceleration: the error is the same share of each body's acceleration */
	double *acc = nb_alloc(b.n, 3 * sizeof *acc);
	struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1};
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
	last = 1;
	for (double alpha = 1e-2; alpha > 5e-7; alpha /= 10) {
		struct nb_tree_walk relative = {.mac = NB_MAC_ACCELERATION, .alpha = alpha, .acc_old = acc};
		struct errors e = walk_errors(&b, &tree, NB_F32, 0.01, &relative, &count);
		CHECK(e.rms < 0.7 * last && e.p99 < 30 * sqrt(alpha) * 0.1);
		last = e.rms;
	}
	CHECK(last < 1e-4);
	struct nb_tree_walk direct = {.mac = NB_MAC_ACCELERATION, .alpha = 0, .acc_old = acc};
	struct errors e = walk_errors(&b, &tree, NB_F32, 0.01, &direct, &count);
	CHECK(e.rms < 1e-6 && count.p2p == (uint64_t)b.n * (b.n - 1));
	/* with another G, what matters is still the share */
	struct nb_gravity_count other = {0};
	struct nb_tree_walk relative = {.mac = NB_MAC_ACCELERATION, .alpha = 1e-3, .acc_old = acc};
	walk_errors(&b, &tree, NB_F32, 0.01, &relative, &count);
	double *scaled = nb_alloc(b.n, 3 * sizeof *scaled);
	for (size_t i = 0; i < 3 * b.n; i++)
		scaled[i] = 1024 * acc[i];
	relative.acc_old = scaled;
	g.G = 1024;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &relative, &other) == NB_OK);
	CHECK(other.p2p == count.p2p && other.m2l == count.m2l && other.m2p == count.m2p);

	g.G = 1;
	relative.acc_old = NULL;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &relative, NULL) == NB_EINVAL);
	walk.theta = -1;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	walk.theta = NAN;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	walk.theta = 0.5;
	g.eps = -1;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	g.eps = 0;
	g.jerk = acc;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EUNSUPPORTED);
	g.jerk = NULL;
	g.n--;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	g.n++;
	b.pos[3 * 4711] = NAN;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_ENONFINITE);
	b.pos[3 * 4711] = 0;
	b.mass[4711] = INFINITY;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_ENONFINITE);
	b.mass[4711] = -1;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	nb_free(acc);
	nb_free(scaled);
	nb_tree_free(&tree);
	nb_tree_free(&monopole);
	bodies_free(&b);
}

/* Same bytes for any number of threads; the same force for each body whatever the order of the input. */
static void test_walk_reproducible(void)
{
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct bodies b = model(CLUSTERS, 30000);
		struct nb_tree tree = build(&b, 16, 2);
		const size_t bytes = b.n * 3 * sizeof(double);
		double *one = nb_alloc(1, bytes), *more = nb_alloc(1, bytes), *pot = nb_alloc(b.n, 16);
		struct nb_gravity g = {
			.n = b.n, .pos = b.pos, .mass = b.mass, .eps = 0.01, .G = 1, .precision = precision};
		struct nb_tree_walk walk = {.theta = 0.6};
		struct nb_gravity_count first = {0};
		g.acc = one;
		g.pot = pot;
		omp_set_num_threads(1);
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, &first) == NB_OK);
		g.acc = more;
		g.pot = pot + b.n;
		for (int threads = 2; threads <= 7; threads++) {
			struct nb_gravity_count count = {0};
			omp_set_num_threads(threads);
			memset(more, 0, bytes);
			CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, &count) == NB_OK);
			CHECK(memcmp(one, more, bytes) == 0);
			CHECK(memcmp(pot, pot + b.n, b.n * sizeof *pot) == 0);
			CHECK(memcmp(&first, &count, sizeof count) == 0);
		}
		omp_set_num_threads(omp_get_num_procs());

		/* shuffled, then sorted again: perm leads back */
		struct bodies s = bodies_alloc(b.n, b.dim);
		uint32_t *from = nb_alloc(b.n, sizeof *from);
		for (size_t i = 0; i < b.n; i++)
			from[i] = (uint32_t)i;
		for (size_t i = b.n - 1; i > 0; i--) {
			size_t j = random_u64() % (i + 1);
			uint32_t t = from[i];
			from[i] = from[j];
			from[j] = t;
		}
		for (size_t i = 0; i < b.n; i++) {
			memcpy(s.pos + 3 * i, b.pos + 3 * from[i], 3 * sizeof *s.pos);
			s.mass[i] = b.mass[from[i]];
		}
		bodies_sort(&s);
		struct nb_tree again = build(&s, 16, 2);
		g.pos = s.pos;
		g.mass = s.mass;
		CHECK(nb_gravity_tree_cpu(&g, &again, &walk, NULL) == NB_OK);
		double e2 = 0, a2 = 0;
		for (size_t i = 0; i < b.n; i++)
			for (size_t d = 0; d < 3; d++) {
				double a = one[3 * from[s.perm[i]] + d];
				e2 += (more[3 * i + d] - a) * (more[3 * i + d] - a);
				a2 += a * a;
			}
		CHECK(sqrt(e2 / a2) < (precision == NB_F64 ? 1e-14 : 1e-6));
		nb_tree_free(&tree);
		nb_tree_free(&again);
		nb_free(one);
		nb_free(more);
		nb_free(pot);
		nb_free(from);
		bodies_free(&b);
		bodies_free(&s);
	}
}

/* Coincident and nearly coincident bodies, massless ones, units far from 1. */
static void test_walk_extremes(void)
{
	struct nb_gravity_count count;
	/* many bodies in one place: no force on each other, linear time, potential of the others */
	for (int kind = 0; kind < 3; kind++) {
		const size_t n = kind ? 5000 : 1000000, others = kind ? 100 : 0;
		struct bodies b = bodies_alloc(n, 3);
		for (size_t i = 0; i < n; i++) {
			for (size_t d = 0; d < 3; d++)
				b.pos[3 * i + d] = i < others ? uniform() : 0.7;
			b.mass[i] = (1 + (double)(i % 3)) / (double)n;
		}
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 8, 2);
		const double eps = kind == 1 ? 0 : 0.01;
		for (double theta = 0; theta < 1; theta += 0.5) {
			struct nb_tree_walk walk = {.theta = theta};
			if (others) {
				for (int precision = NB_F32; precision <= NB_F64; precision++) {
					struct errors e = walk_errors(&b, &tree, precision, eps, &walk, &count);
					CHECK_BELOW(e.rms, theta > 0 ? 2e-3 : precision == NB_F64 ? 1e-13 : 3e-6);
					CHECK_BELOW(e.pot, theta > 0 ? 2e-3 : precision == NB_F64 ? 1e-12 : 3e-6);
					CHECK(count.p2p < 100 * b.n);
				}
			} else {
				double *acc = nb_alloc(n, 3 * sizeof *acc), *pot = nb_alloc(n, sizeof *pot);
				struct nb_gravity g = {.n = n,
					.pos = b.pos,
					.mass = b.mass,
					.acc = acc,
					.pot = pot,
					.eps = eps,
					.G = 1};
				memset(&count, 0, sizeof count);
				CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, &count) == NB_OK);
				int right = 1;
				for (size_t i = 0; i < n; i++) {
					right &= acc[3 * i] == 0 && acc[3 * i + 1] == 0 && acc[3 * i + 2] == 0;
					double want = -(tree.mass[0] - b.mass[i]) / eps;
					right &= fabs(pot[i] - want) <= 1e-12 * fabs(want);
				}
				CHECK(right);
				CHECK(count.p2p < n);
				nb_free(acc);
				nb_free(pot);
			}
		}
		nb_tree_free(&tree);
		bodies_free(&b);
	}

	/* nearly in one place, by the measure of the softening: they act as a cell even on themselves */
	{
		struct bodies b = bodies_alloc(4000, 3);
		for (size_t i = 0; i < b.n; i++) {
			for (size_t d = 0; d < 3; d++)
				b.pos[3 * i + d] = i ? 1 + 1e-9 * uniform() : 0;
			b.mass[i] = uniform() / (double)b.n;
		}
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 8, 2);
		CHECK(tree.nnode == 3);
		struct nb_tree_walk walk = {.theta = 0.5};
		for (int precision = NB_F32; precision <= NB_F64; precision++) {
			struct errors e = walk_errors(&b, &tree, precision, 0.01, &walk, &count);
			CHECK_BELOW(e.rms, 1e-4);
			CHECK_BELOW(e.pot, 1e-5);
			CHECK(count.p2p < 10 * b.n);
			/* without softening they are summed one by one, in f32 too: separations are relative to the
			 * group */
			e = walk_errors(&b, &tree, precision, 0, &walk, &count);
			CHECK_BELOW(e.rms, 1e-4);
			CHECK(count.p2p >= (b.n - 1) * (b.n - 2));
		}
		nb_tree_free(&tree);
		bodies_free(&b);
	}

	/* massless bodies feel and do not act; nothing but massless bodies */
	for (int kind = 0; kind < 2; kind++) {
		struct bodies b = model(PLUMMER, 3000);
		for (size_t i = 0; i < b.n; i++)
			b.mass[i] = !kind && i % 500 == 7 ? 1 : 0;
		struct nb_tree tree = build(&b, 8, 2);
		struct nb_tree_walk walk = {.theta = 0.5};
		struct errors e = walk_errors(&b, &tree, NB_F32, 0, &walk, &count);
		CHECK_BELOW(e.rms, kind ? 0 : 1e-3);
		CHECK_BELOW(e.pot, kind ? 0 : 1e-3);
		nb_tree_free(&tree);
		bodies_free(&b);
	}

	/* the same system in other units has the same errors */
	const double unit[][2] = {{1, 1}, {1e12, 1e41}, {1e-15, 1e-30}, {1e90, 1e100}, {1e-80, 1e-100}};
	for (int precision = NB_F32; precision <= NB_F64; precision++)
		for (size_t u = 0; u < sizeof unit / sizeof *unit; u++) {
			random_state = 31337;
			struct bodies b = model(PLUMMER, 5000);
			for (size_t i = 0; i < b.n; i++) {
				for (size_t d = 0; d < 3; d++)
					b.pos[3 * i + d] *= unit[u][0];
				b.mass[i] *= unit[u][1];
			}
			bodies_sort(&b);
			struct nb_tree tree = build(&b, 16, 2);
			struct nb_tree_walk walk = {.theta = 0.5};
			struct errors e = walk_errors(&b, &tree, precision, 0.01 * unit[u][0], &walk, &count);
			CHECK_BELOW(e.rms, 5e-4);
			CHECK_BELOW(e.pot, 2e-4);
			/* softening far beyond the system: forces are those of springs */
			e = walk_errors(&b, &tree, precision, 1e6 * unit[u][0], &walk, &count);
			CHECK_BELOW(e.rms, 1e-4);
			CHECK_BELOW(e.pot, 1e-5);
			nb_tree_free(&tree);
			bodies_free(&b);
		}

	/* a deep hierarchy: each body half as far from the origin as the one before */
	{
		struct bodies b = bodies_alloc(60, 3);
		for (size_t i = 0; i < b.n; i++) {
			on_sphere(pow(2, -(double)(i % 20)), b.pos + 3 * i);
			b.mass[i] = pow(2, -2.0 * (double)(i % 20));
		}
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 1, 2);
		for (int precision = NB_F32; precision <= NB_F64; precision++) {
			struct nb_tree_walk walk = {.theta = 0};
			struct errors e = walk_errors(&b, &tree, precision, 0, &walk, &count);
			CHECK_BELOW(e.p99, precision == NB_F64 ? 1e-12 : 1e-5);
		}
		nb_tree_free(&tree);
		bodies_free(&b);
	}
}

/* Trees that no builder made but that pass nb_tree_check_cpu: a chain of 100,000 nodes, and nonsense in the floats. */
static void test_walk_foreign(void)
{
	struct bodies b = model(PLUMMER, 1000);
	struct nb_tree tree = build(&b, 8, 2), chain = tree;
	const size_t depth = 100000, n = depth + tree.nnode;
	chain.nnode = n;
	chain.first = nb_alloc(n, sizeof *chain.first);
	chain.count = nb_alloc(n, sizeof *chain.count);
	chain.child = nb_alloc(n, sizeof *chain.child);
	chain.nchild = nb_alloc(n, sizeof *chain.nchild);
	chain.box = nb_alloc(n, 6 * sizeof *chain.box);
	chain.com = nb_alloc(n, 3 * sizeof *chain.com);
	chain.mass = nb_alloc(n, sizeof *chain.mass);
	chain.quad = nb_alloc(n, 6 * sizeof *chain.quad);
	for (size_t i = 0; i < n; i++) {
		const size_t from = i < depth ? 0 : i - depth;
		chain.first[i] = tree.first[from];
		chain.count[i] = tree.count[from];
		chain.child[i] = i < depth	     ? (uint32_t)i + 1
				 : tree.nchild[from] ? tree.child[from] + (uint32_t)depth
						     : 0;
		chain.nchild[i] = i < depth ? 1 : tree.nchild[from];
		memcpy(chain.box + 6 * i, tree.box + 6 * from, 6 * sizeof *tree.box);
		memcpy(chain.com + 3 * i, tree.com + 3 * from, 3 * sizeof *tree.com);
		memcpy(chain.quad + 6 * i, tree.quad + 6 * from, 6 * sizeof *tree.quad);
		chain.mass[i] = tree.mass[from];
	}
	CHECK(tree_fault(&chain, b.n) == NULL);
	struct nb_tree_walk walk = {.theta = 0.5};
	struct nb_gravity_count count;
	struct errors e = walk_errors(&b, &chain, NB_F32, 0.01, &walk, &count);
	CHECK(e.rms < 1e-3);

	double *acc = nb_alloc(b.n, 3 * sizeof *acc);
	struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1};
	const double nasty[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 0};
	for (int k = 0; k < 2000; k++) {
		double *column = k % 4 == 0 ? tree.box : k % 4 == 1 ? tree.com : k % 4 == 2 ? tree.mass : tree.quad;
		size_t width = k % 4 == 2 ? 1 : k % 4 == 1 ? 3 : 6, at = random_u64() % (tree.nnode * width);
		double was = column[at];
		column[at] = nasty[random_u64() % 6];
		int status = nb_gravity_tree_cpu(&g, &tree, &walk, NULL);
		CHECK(status == NB_OK || status == NB_ENONFINITE);
		column[at] = was;
	}
	nb_free(acc);
	nb_tree_free(&tree);
	nb_tree_free(&chain);
	bodies_free(&b);
}

int main(void)
{
	test_keys();
	test_sort();
	test_tree();
	test_boxes();
	test_multipoles();
	test_walk_direct();
	test_walk_errors();
	test_walk_theta();
	test_walk_reproducible();
	test_walk_extremes();
	test_walk_foreign();
	return unit_end();
}
