/* leaf.c - what the size of leaves costs at equal error, for the tree: "evaluate the savings" (GPU Gems 3, 31.6).
 *
 *     leaf cpu|cuda [N]
 *
 * For each size of leaves (a cell of more bodies is divided), the opening angle that gives an rms error of TARGET, and
 * the time of that walk and of its tree.  Small leaves: a deep tree, many cells; large leaves: few cells, many pairs.
 * Bodies lie sorted where the backend computes.  Results are checked against the f64 direct sum on SAMPLE bodies; times
 * are the least of RUNS, whole calls.  depth: levels of nodes; p2p, cells: interactions a body with bodies, with cells
 * (m2p, and m2l over the bodies of a group).  Exits 1 if an error is not what it must be. */
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/models/models.h"
#include "tests/bench/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, SAMPLE = 1024, STEPS = 12 };
static const double TARGET = 3e-4, CLOSE = 0.02; /* rms error, and how closely it is met */

static int failed;

struct bodies {
	const struct nb_backend *on;
	size_t n;
	double *pos, *mass, *acc; /* sorted, there */
	uint64_t *key;
	struct nb_cube cube;
	size_t some, *target;
	double *want; /* some x 3, here */
	double *got;  /* n x 3, here */
};

struct result {
	double build, walk, rms; /* seconds */
	size_t depth;
	struct nb_gravity_count count;
};

static void check(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "leaf: %s: %s\n", what, nb_status_text(status));
		exit(1);
	}
}

static void *here(size_t count, size_t size)
{
	void *p = nb_alloc(count, size);
	check(p ? NB_OK : NB_ENOMEM, "memory");
	return p;
}

static void *there(const struct nb_backend *on, size_t bytes)
{
	void *p = on->space->alloc(on->space, bytes);
	check(p ? NB_OK : NB_ENOMEM, on->name);
	return p;
}

/* ---- bodies ------------------------------------------------------------------------------------------ */

static void *sorted(const struct bodies *b, const uint32_t *perm, const void *from, size_t row)
{
	const struct nb_space *space = b->on->space;
	void *raw = there(b->on, b->n * row), *p = there(b->on, b->n * row);
	check(space->from_host(space, raw, from, b->n * row), "copy");
	check(b->on->permute(b->n, perm, row, raw, p), "permutation");
	space->release(space, raw);
	return p;
}

static void sort(struct bodies *b, const double *pos, const double *mass)
{
	const struct nb_space *space = b->on->space;
	const size_t vector = 3 * b->n * sizeof *pos;
	double *raw = there(b->on, vector);
	uint32_t *perm = there(b->on, b->n * sizeof *perm);
	size_t bad;
	b->key = there(b->on, b->n * sizeof *b->key);
	check(space->from_host(space, raw, pos, vector), "copy");
	check(b->on->morton_cube(b->n, raw, 3, &b->cube, &bad), "cube");
	check(b->on->morton_keys(b->n, raw, 3, &b->cube, b->key), "keys");
	check(b->on->sort_keys(b->n, b->key, perm), "sort");
	b->pos = sorted(b, perm, pos, 3 * sizeof *pos);
	b->mass = sorted(b, perm, mass, sizeof *mass);
	b->acc = there(b->on, vector);
	check(b->on->finish(), "sort");
	space->release(space, raw);
	space->release(space, perm);
}

static void ask_oracle(struct bodies *b, double eps)
{
	const struct nb_space *space = b->on->space;
	double *pos = here(b->n, 3 * sizeof *pos), *mass = here(b->n, sizeof *mass);
	check(space->to_host(space, pos, b->pos, 3 * b->n * sizeof *pos), "copy");
	check(space->to_host(space, mass, b->mass, b->n * sizeof *mass), "copy");
	const struct nb_gravity g = {.n = b->n, .pos = pos, .mass = mass, .eps = eps, .G = 1};
	b->some = b->n < SAMPLE ? b->n : SAMPLE;
	b->target = here(b->some, sizeof *b->target);
	b->want = here(b->some, 3 * sizeof *b->want);
	b->got = here(b->n, 3 * sizeof *b->got);
	for (size_t k = 0; k < b->some; k++)
		b->target[k] = k * b->n / b->some;
	check(nb_gravity_ref(&g, b->target, b->some, b->want, NULL, NULL), "oracle");
	nb_free(pos);
	nb_free(mass);
}

static struct bodies make(const struct nb_backend *on, enum nb_model_kind kind, size_t n, double eps)
{
	struct nb_model_param param;
	struct nb_model *model;
	const char *why = "";
	struct bodies b = {.on = on, .n = n};
	double *pos = here(n, 3 * sizeof *pos), *mass = here(n, sizeof *mass);
	nb_model_defaults(&param, kind);
	param.n = n;
	check(nb_model_create(&param, &model, &why), why);
	check(nb_model_fill(model, NB_MODEL_POS, 0, n, pos), "positions");
	check(nb_model_fill(model, NB_MODEL_MASS, 0, n, mass), "masses");
	nb_model_free(model);
	sort(&b, pos, mass);
	ask_oracle(&b, eps);
	nb_free(pos);
	nb_free(mass);
	return b;
}

static void drop(struct bodies *b)
{
	void *const all[] = {b->pos, b->mass, b->acc, b->key};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		b->on->space->release(b->on->space, all[k]);
	nb_free(b->target);
	nb_free(b->want);
	nb_free(b->got);
}

/* Infinite if a body has no number. */
static double rms_of(const struct bodies *b)
{
	const struct nb_space *space = b->on->space;
	double *error = here(b->some, sizeof *error);
	check(space->to_host(space, b->got, b->acc, 3 * b->n * sizeof *b->got), "copy");
	const struct judgement j = judge(b->n, b->got, b->some, b->target, b->want, error);
	nb_free(error);
	return j.bad ? INFINITY : j.rms;
}

static void poison(const struct bodies *b)
{
	const struct nb_space *space = b->on->space;
	memset(b->got, 0xff, 3 * b->n * sizeof *b->got);
	check(space->from_host(space, b->acc, b->got, 3 * b->n * sizeof *b->got), "copy");
}

/* ---- the tree ---------------------------------------------------------------------------------------- */

static struct nb_gravity field(const struct bodies *b, double eps)
{
	return (struct nb_gravity){
		.n = b->n, .pos = b->pos, .mass = b->mass, .acc = b->acc, .eps = eps, .G = 1, .precision = NB_F32};
}

/* Levels below the root; children come after their parent. */
static size_t depth_of(const struct nb_backend *on, const struct nb_tree *tree)
{
	const size_t n = tree->nnode, bytes = n * sizeof(uint32_t);
	uint32_t *child = here(n, sizeof *child), *nchild = here(n, sizeof *nchild), *depth = here(n, sizeof *depth);
	size_t most = 0;
	check(on->space->to_host(on->space, child, tree->child, bytes), "copy");
	check(on->space->to_host(on->space, nchild, tree->nchild, bytes), "copy");
	depth[0] = 0;
	for (size_t k = 0; k < n; k++) {
		most = depth[k] > most ? depth[k] : most;
		for (uint32_t c = 0; c < nchild[k]; c++)
			depth[child[k] + c] = depth[k] + 1;
	}
	nb_free(child);
	nb_free(nchild);
	nb_free(depth);
	return most;
}

/* One tree and walk; counts what it does if asked. */
static struct result once(const struct bodies *b, int leaf, double theta, double eps, int counted)
{
	const struct nb_gravity g = field(b, eps);
	const struct nb_tree_walk walk = {.theta = theta, .mac = NB_MAC_GEOMETRIC};
	struct result r = {.rms = NAN};
	struct nb_tree tree;
	const double start = nb_now();
	check(b->on->tree_build(b->n, b->key, b->pos, b->mass, 3, &b->cube, leaf, 2, &tree), "tree");
	check(b->on->finish(), "tree");
	const double built = nb_now();
	check(b->on->gravity_tree(&g, &tree, &walk, counted ? &r.count : NULL), "walk");
	check(b->on->finish(), "walk");
	r.walk = nb_now() - built;
	r.build = built - start;
	if (counted)
		r.depth = depth_of(b->on, &tree);
	b->on->tree_free(&tree);
	return r;
}

static double error_at(const struct bodies *b, int leaf, double theta, double eps)
{
	poison(b);
	once(b, leaf, theta, eps, 0);
	return rms_of(b);
}

/* The angle whose error is TARGET: the error grows with it. */
static double find_theta(const struct bodies *b, int leaf, double eps)
{
	double low = 0.05, high = 3;
	for (int step = 0; step < STEPS; step++) {
		const double middle = sqrt(low * high), rms = error_at(b, leaf, middle, eps);
		if (fabs(rms / TARGET - 1) < CLOSE)
			return middle;
		*(rms < TARGET ? &low : &high) = middle;
	}
	return sqrt(low * high);
}

static void tree_row(const struct bodies *b, const char *model, int leaf, double eps)
{
	const double theta = find_theta(b, leaf, eps);
	struct result best = {.build = INFINITY, .walk = INFINITY};
	for (int run = 0; run < RUNS; run++) {
		const struct result r = once(b, leaf, theta, eps, 0);
		best.build = fmin(best.build, r.build);
		best.walk = fmin(best.walk, r.walk);
	}
	poison(b);
	const struct result r = once(b, leaf, theta, eps, 1);
	const double rms = rms_of(b);
	if (!(rms <= 1.5 * TARGET)) {
		fprintf(stderr, "leaf: %s, leaves of %d: rms error %.1e instead of %.1e\n", model, leaf, rms, TARGET);
		failed = 1;
	}
	printf("tree\t%s\t%zu\t%d\t%zu\t%.3f\t%.3f\t%.3f\t%.3f\t%.2e\t%.1f\t%.1f\t%s\n", model, b->n, leaf, r.depth,
		theta, 1e3 * best.build, 1e3 * best.walk, 1e3 * (best.build + best.walk), rms,
		(double)r.count.p2p / (double)b->n, (double)(r.count.m2p + r.count.m2l) / (double)b->n, b->on->name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const int leaf[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
	static const struct {
		const char *name;
		enum nb_model_kind kind;
		double eps;
	} model[] = {{"plummer", NB_MODEL_PLUMMER, 0.01}, {"uniform", NB_MODEL_UNIFORM, 0.001}};
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];
	const size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)1 << 20;
	if (argc < 2 || n < 2) {
		fprintf(stderr, "usage: leaf cpu|cuda [N]\n");
		return 2;
	}
	if (nb_backend_choose(argv[1], &backend, why)) {
		fprintf(stderr, "leaf: %s\n", why);
		return 77;
	}
	printf("method\tmodel\tn\tbodies/leaf\tdepth\ttheta\tbuild ms\twalk ms\ttotal "
	       "ms\trms\tp2p/body\tcells/body\tdevice\n");
	for (size_t m = 0; m < sizeof model / sizeof *model; m++) {
		struct bodies b = make(backend, model[m].kind, n, model[m].eps);
		for (size_t k = 0; k < sizeof leaf / sizeof *leaf; k++)
			tree_row(&b, model[m].name, leaf[k], model[m].eps);
		drop(&b);
	}
	return failed;
}
