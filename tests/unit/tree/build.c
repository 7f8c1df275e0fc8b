/* Trees built on the CPU against brute force. */
#include "tests/unit/tree/bodies.h"
#include "tests/unit/tree/sound.h"

#include <omp.h>

/* ---- what a node should be ----------------------------------------------------------------------------- */

/* low <= got <= high, or a line that says which node and column it is; after TOLD of them, only a count. */
static void within(const char *column, size_t node, double got, double low, double high)
{
	enum { TOLD = 20 };
	static int told;
	unit_checked++;
	if (got >= low && got <= high)
		return;
	unit_failed++;
	if (told++ < TOLD)
		fprintf(stderr, "node %zu: %s is %.17g, want %.17g .. %.17g\n", node, column, got, low, high);
}

static void near(const char *column, size_t node, double got, double want, double by)
{
	within(column, node, got, want - by, want + by);
}

/* Bits of the key from the first digit that two bodies have in common downwards: how far to shift so that they agree.
 */
static int common_shift(const struct bodies *b, size_t i, size_t j)
{
	int digit = 0;
	while (b->key[i] >> digit * b->dim != b->key[j] >> digit * b->dim)
		digit++;
	return digit * b->dim;
}

/* Gives bodies of one key those that they have in the smallest cube around them, its edge a power of two: what deep.h
 * says, digit by digit. */
static void deepen(struct bodies *b, size_t first, size_t end)
{
	const int bits = b->dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D;
	double lo[3] = {0}, edge = 0;
	for (int d = 0; d < b->dim; d++) {
		double hi = -INFINITY;
		lo[d] = INFINITY;
		for (size_t j = first; j < end; j++) {
			lo[d] = fmin(lo[d], b->pos[3 * j + (size_t)d]);
			hi = fmax(hi, b->pos[3 * j + (size_t)d]);
		}
		edge = fmax(edge, hi - lo[d]);
	}
	int e;
	frexp(edge, &e);
	edge = ldexp(1, e);
	for (size_t j = first; j < end; j++) {
		double from[3];
		b->key[j] = 0;
		for (int d = 0; d < b->dim; d++)
			from[d] = b->pos[3 * j + (size_t)d] - lo[d];
		double half = edge / 2;
		for (int bit = 0; bit < bits; bit++, half /= 2)
			for (int d = 0; d < b->dim; d++) {
				const int upper = from[d] >= half;
				from[d] -= upper ? half : 0;
				b->key[j] = b->key[j] << 1 | (uint64_t)upper;
			}
	}
}

static int is_one_place(const struct bodies *b, size_t first, size_t end)
{
	for (size_t j = first; j < end; j++)
		for (int d = 0; d < b->dim; d++)
			if (b->pos[3 * j + (size_t)d] != b->pos[3 * first + (size_t)d])
				return 0;
	return 1;
}

/* A leaf, or a node split at the first digit that differs; next: where its children should be.  The keys of a node are
 * those of b, which get deeper on the way down. */
static void check_shape(struct bodies *b, const struct nb_tree *tree, size_t i, uint32_t next)
{
	const size_t first = tree->first[i], end = first + tree->count[i];
	const uint32_t child = tree->child[i], nchild = tree->nchild[i];
	if (nchild == 0) {
		near("child of a leaf", i, child, 0, 0);
		within("count of a leaf", i, tree->count[i], 1,
			is_one_place(b, first, end) ? (double)b->n : tree->leaf_size);
		return;
	}
	if (b->key[first] == b->key[end - 1])
		deepen(b, first, end);
	const int one_key = b->key[first] == b->key[end - 1];
	near("child", i, child, next, 0); /* level by level in order */
	within("nchild", i, nchild, 2, 1 << tree->dim);
	within("count of an inner node", i, tree->count[i], tree->leaf_size + 1.0, (double)b->n);
	within("keys that differ in an inner node", i, !one_key, 1, 1);
	const int shift = common_shift(b, first, end - 1) - tree->dim;
	for (uint32_t c = child; c < child + nchild; c++) {
		const size_t f = tree->first[c], l = f + tree->count[c] - 1;
		within("first digit shared by the bodies", c, b->key[f] >> shift == b->key[l] >> shift, 1, 1);
		if (c > child)
			within("first digit other than the sibling's", c, b->key[f] >> shift != b->key[f - 1] >> shift,
				1, 1);
	}
}

static void check_moments(const struct bodies *b, const struct nb_tree *tree, size_t i)
{
	static const char *const box_name[] = {"box lo x", "box lo y", "box lo z", "box hi x", "box hi y", "box hi z"};
	static const char *const com_name[] = {"com x", "com y", "com z"};
	static const char *const quad_name[] = {"quad xx", "quad xy", "quad xz", "quad yy", "quad yz", "quad zz"};
	const size_t first = tree->first[i], end = first + tree->count[i];
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
		near(box_name[d], i, box[d], lo[d], 0);
		near(box_name[3 + d], i, box[3 + d], hi[d], 0);
		size = fmax(size, hi[d] - lo[d]);
	}
	near("mass", i, tree->mass[i], (double)m, 1e-13 * (double)m);
	for (int d = 0; d < 3; d++) {
		double want = m > 0 ? (double)(x[d] / m) : 0.5 * (lo[d] + hi[d]);
		near(com_name[d], i, com[d], want, 1e-13 * size + 4e-16 * fabs(want));
	}
	if (!tree->quad)
		return;
	for (size_t j = first; j < end; j++) {
		long double r[3];
		for (int d = 0; d < 3; d++)
			r[d] = (long double)b->pos[3 * j + (size_t)d] - (long double)com[d];
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++)
				q[s++] += (long double)b->mass[j] * r[k] * r[l];
	}
	double at = 0; /* centres of mass are rounded where they are */
	for (int d = 0; d < 3; d++)
		at = fmax(at, fabs(com[d]));
	for (int s = 0; s < 6; s++)
		near(quad_name[s], i, tree->quad[6 * i + (size_t)s], (double)q[s],
			(double)m * size * (1e-12 * size + 2e-15 * at) + 1e-310);
}

/* Everything that the header promises, by brute force. */
static void check_tree(const struct bodies *bodies, const struct nb_tree *tree)
{
	struct bodies with_keys = *bodies, *b = &with_keys;
	b->key = nb_alloc(b->n, sizeof *b->key);
	memcpy(b->key, bodies->key, b->n * sizeof *b->key);
	CHECK(tree_fault(tree, b->n, b->pos, b->mass) == NULL);
	CHECK(tree->dim == b->dim && (tree->quad != NULL) == (tree->order == 2));
	uint32_t next = 1;
	for (size_t i = 0; i < tree->nnode; i++) {
		check_shape(b, tree, i, next);
		check_moments(b, tree, i);
		next += tree->nchild[i];
	}
	nb_free(b->key);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void check_same_shape(const struct nb_tree *a, const struct nb_tree *b)
{
	CHECK(a->nnode == b->nnode);
	for (size_t i = 0; i < a->nnode && a->nnode == b->nnode; i++) {
		near("first", i, b->first[i], a->first[i], 0);
		near("count", i, b->count[i], a->count[i], 0);
		near("child", i, b->child[i], a->child[i], 0);
		near("nchild", i, b->nchild[i], a->nchild[i], 0);
	}
}

static void check_same_tree(const struct nb_tree *a, const struct nb_tree *b)
{
	check_same_shape(a, b);
	if (a->nnode != b->nnode)
		return;
	CHECK(memcmp(a->box, b->box, a->nnode * 6 * sizeof *a->box) == 0);
	CHECK(memcmp(a->com, b->com, a->nnode * 3 * sizeof *a->com) == 0);
	CHECK(memcmp(a->mass, b->mass, a->nnode * sizeof *a->mass) == 0);
	CHECK(memcmp(a->quad, b->quad, a->nnode * 6 * sizeof *a->quad) == 0);
}

/* Of order 0 there is the shape alone; without positions bodies of one key are in one leaf. */
static void check_order_0(const struct bodies *b, int leaf)
{
	struct nb_tree whole = build(b, leaf, 1), shape;
	CHECK(nb_tree_build_cpu(b->n, b->key, b->pos, NULL, b->dim, &b->cube, leaf, 0, &shape) == NB_OK);
	CHECK(!shape.box && !shape.com && !shape.mass && !shape.quad);
	check_same_shape(&whole, &shape);
	nb_tree_free(&shape);
	CHECK(nb_tree_build_cpu(b->n, b->key, NULL, NULL, b->dim, &b->cube, leaf, 0, &shape) == NB_OK);
	size_t bodies = 0;
	for (size_t i = 0; i < shape.nnode; i++) {
		const size_t first = shape.first[i], last = first + shape.count[i] - 1;
		bodies += shape.nchild[i] ? 0 : shape.count[i];
		CHECK(shape.nchild[i] > 0 || shape.count[i] <= (uint32_t)leaf || b->key[first] == b->key[last]);
		CHECK(shape.nchild[i] == 0 || b->key[first] != b->key[last]);
	}
	CHECK(bodies == b->n);
	nb_tree_free(&shape);
	nb_tree_free(&whole);
}

static void test_tree(void)
{
	const size_t sizes[] = {1, 2, 3, 16, 17, 255, 257, 8000};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < MODELS; kind++) {
			struct bodies b = model(kind, sizes[s]);
			for (int leaf = 1; leaf <= 64; leaf *= 4)
				for (int order = sizes[s] > 257 && leaf != 4 ? 2 : 1; order <= 2; order++) {
					struct nb_tree tree = build(&b, leaf, order);
					check_tree(&b, &tree);
					nb_tree_free(&tree);
				}
			check_order_0(&b, 4);
			struct nb_tree one, more;
			omp_set_num_threads(1);
			one = build(&b, 4, 2);
			for (int threads = 2; threads <= 5; threads++) {
				omp_set_num_threads(threads);
				more = build(&b, 4, 2);
				check_same_tree(&one, &more);
				nb_tree_free(&more);
			}
			omp_set_num_threads(omp_get_num_procs());
			nb_tree_free(&one);
			bodies_free(&b);
		}
}

/* Two bodies of one key that change places are seen where leaves are smaller than their tie. */
static void check_disorder(struct bodies *b)
{
	struct nb_tree none;
	for (size_t i = 1; i < b->n; i++) {
		double *x = b->pos + 3 * i, was[3];
		if (b->key[i] != b->key[i - 1] || memcmp(x, x - 3, sizeof was) == 0)
			continue;
		memcpy(was, x, sizeof was);
		memcpy(x, x - 3, sizeof was);
		memcpy(x - 3, was, sizeof was);
		CHECK(nb_tree_build_cpu(b->n, b->key, b->pos, b->mass, 3, &b->cube, 1, 2, &none) == NB_EORDER);
		memcpy(x - 3, x, sizeof was);
		memcpy(x, was, sizeof was);
		return;
	}
	CHECK(!"no tie");
}

/* Bodies on a line, massless bodies, many coincident ones and a few that are not, scales from 1 to 2^-1000, a tie
 * beside others in one place; what is refused. */
static void test_odd_bodies(void)
{
	for (int kind = 0; kind < 5; kind++) {
		struct bodies b = bodies_alloc(5000, 3);
		for (size_t i = 0; i < b.n; i++) {
			for (size_t d = 0; d < 3; d++)
				b.pos[3 * i + d] = kind == 0   ? ldexp(1, -(int)(i % 50))
						   : kind == 1 ? uniform()
						   : kind == 3 ? ldexp(uniform(), -(int)(1000 * uniform()))
						   : kind == 4 ? (i == 0	 ? 0
									 : i % 2 ? 1
										 : 1 + 1e-12 * uniform())
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

		check_order_0(&b, 3);
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
		if (kind == 3 || kind == 4) /* ties: two bodies change places */
			check_disorder(&b);
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 0, 2, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 3, &b.cube, 3, 3, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(b.n, b.key, b.pos, b.mass, 1, &b.cube, 3, 2, &none) == NB_EINVAL);
		CHECK(nb_tree_build_cpu(0, NULL, NULL, NULL, 3, &b.cube, 3, 2, &none) == NB_OK && none.nnode == 0);
		bodies_free(&b);
	}
}

int main(void)
{
	test_tree();
	test_odd_bodies();
	return unit_end();
}
