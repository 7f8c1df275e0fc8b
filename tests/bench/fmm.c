/* fmm - the fast multipole method over uniform boxes: levels and orders against time at equal error.
 *
 *   fmm [BACKEND]                                           the table; cpu (default) or cuda
 *   fmm BACKEND MODEL N LEVEL ORDER PRECISION SOFTENING     one row; uniform, plummer or plane
 *
 * Bodies: uniform in a cube, a Plummer sphere within 10 of its radii, uniform in a square.  Each row is
 * checked first, outputs poisoned, against the oracle for 256 bodies.
 * Times are the smallest of five calls with their end awaited, arrays where the backend computes; near: its part.
 * One TSV line a row, with a header.  Exits 1 if an error is larger than its order allows, 77 without a device. */
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "tests/bench/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 256, REPEATS = 5 };
static const char *const precision_name[] = {"f32", "mixed", "f64"};
/* what an order must reach, in the worst model: the tables of nb-force(1) with a margin of a third */
static const double most_3d[] = {0, 0.15, 0.03, 0.01, 2e-3, 7e-4, 3.2e-4, 1.8e-4, 1.2e-4};
static const double most_2d[] = {0, 0.3, 0.04, 0.018, 4e-3, 2e-3, 6e-4, 3e-4, 1.8e-4, 1.5e-4, 5e-5, 2.2e-5, 1.5e-5};

static const struct nb_backend *backend;
static int failed;

static double uniform(void)
{
	static uint64_t state = 42;
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "fmm: out of memory\n");
		exit(1);
	}
	return p;
}

static void need_ok(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "fmm: %s: %s\n", what, nb_status_text(status));
		exit(1);
	}
}

static void *there(const void *host, size_t bytes)
{
	void *p = need(backend->space->alloc(backend->space, bytes));
	need_ok(backend->space->from_host(backend->space, p, host, bytes), "copy");
	return p;
}

static void leave(const void *p)
{
	backend->space->release(backend->space, (void *)(uintptr_t)p);
}

struct bodies {
	const char *model;
	size_t n;
	int dim;
	double *pos, *mass, *acc;
	uint64_t *key;
	struct nb_cube cube;
	size_t target[SAMPLES];
	double truth[3 * SAMPLES], eps;
};

static void place(const char *model, double *x)
{
	if (strcmp(model, "plummer") != 0) {
		for (int d = 0; d < 3; d++)
			x[d] = d == 2 && strcmp(model, "plane") == 0 ? 0 : uniform();
		return;
	}
	double r;
	do
		r = 1 / sqrt(pow(uniform(), -2.0 / 3) - 1);
	while (r > 10);
	const double c = 2 * uniform() - 1, s = sqrt(1 - c * c), phi = 2 * M_PI * uniform();
	x[0] = r * s * cos(phi);
	x[1] = r * s * sin(phi);
	x[2] = r * c;
}

static struct bodies make(const char *model, size_t n, double eps)
{
	struct bodies b = {.model = model, .n = n, .dim = strcmp(model, "plane") == 0 ? 2 : 3, .eps = eps};
	double *pos = need(nb_alloc(n, 3 * sizeof *pos));
	uint32_t *perm = need(nb_alloc(n, sizeof *perm));
	size_t bad;
	b.pos = need(nb_alloc(n, 3 * sizeof *b.pos));
	b.mass = need(nb_alloc(n, sizeof *b.mass));
	b.acc = need(nb_alloc(n, 3 * sizeof *b.acc));
	b.key = need(nb_alloc(n, sizeof *b.key));
	for (size_t i = 0; i < n; i++) {
		place(model, pos + 3 * i);
		b.mass[i] = (0.5 + uniform()) / (double)n;
	}
	need_ok(nb_morton_cube_cpu(n, pos, b.dim, &b.cube, &bad), "cube");
	need_ok(nb_morton_keys_cpu(n, pos, b.dim, &b.cube, b.key), "keys");
	need_ok(nb_sort_keys_cpu(n, b.key, perm), "sort");
	need_ok(nb_permute_cpu(n, perm, 3 * sizeof *pos, pos, b.pos), "permutation");
	nb_free(pos);
	nb_free(perm);
	for (size_t k = 0; k < SAMPLES; k++)
		b.target[k] = k * n / SAMPLES;
	const struct nb_gravity g = {.n = n, .pos = b.pos, .mass = b.mass, .eps = eps, .G = 1};
	need_ok(nb_gravity_ref(&g, b.target, SAMPLES, b.truth, NULL, NULL), "oracle");
	return b;
}

/* Infinite if a body has no number. */
static double rms_of(const struct bodies *b)
{
	double error[SAMPLES];
	const struct judgement j = judge(b->n, b->acc, SAMPLES, b->target, b->truth, error);
	return j.bad ? INFINITY : j.rms;
}

static double seconds(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm)
{
	double least = INFINITY;
	for (int r = 0; r < REPEATS; r++) {
		const double start = nb_now();
		need_ok(fmm ? backend->gravity_fmm(g, boxes, fmm, NULL) : backend->gravity_near(g, boxes, NULL),
			"field");
		need_ok(backend->finish(), "field");
		least = fmin(least, nb_now() - start);
	}
	return least;
}

static void row(const struct bodies *b, int level, int order, enum nb_precision precision)
{
	const size_t nbox = (size_t)1 << b->dim * level, nneighbour = b->dim == 3 ? 26 : 8, n = b->n;
	uint64_t *first = need(nb_alloc(nbox + 1, sizeof *first));
	int32_t *neighbour = need(nb_alloc(nbox * nneighbour, sizeof *neighbour));
	need_ok(nb_boxes_build_cpu(n, b->key, b->dim, level, first, neighbour), "boxes");
	memset(b->acc, 0xff, 3 * n * sizeof *b->acc);
	const struct nb_boxes boxes = {nbox, there(first, (nbox + 1) * sizeof *first),
		there(neighbour, nbox * nneighbour * sizeof *neighbour), (int)nneighbour};
	const struct nb_fmm fmm = {b->dim, level, order, b->cube};
	const struct nb_gravity g = {.n = n,
		.pos = there(b->pos, 3 * n * sizeof *b->pos),
		.mass = there(b->mass, n * sizeof *b->mass),
		.acc = there(b->acc, 3 * n * sizeof *b->acc),
		.eps = b->eps,
		.G = 1,
		.precision = precision};
	struct nb_gravity_count count = {0, 0, 0, 0};
	need_ok(backend->gravity_fmm(&g, &boxes, &fmm, &count), "field");
	need_ok(backend->space->to_host(backend->space, b->acc, g.acc, 3 * n * sizeof *b->acc), "copy");
	const double rms = rms_of(b), near = seconds(&g, &boxes, NULL), all = seconds(&g, &boxes, &fmm);
	printf("%s\t%s\t%zu\t%d\t%d\t%s\t%g\t%.4f\t%.4f\t%.2e\t%.3e\t%.3e\n", backend->name, b->model, n, level, order,
		precision_name[precision], b->eps, 1e3 * all, 1e3 * near, rms, (double)count.p2p, (double)count.m2l);
	fflush(stdout);
	if (!(rms <= (b->dim == 3 ? most_3d : most_2d)[order])) {
		fprintf(stderr, "fmm: error too large\n");
		failed = 1;
	}
	const void *const all_there[] = {g.pos, g.mass, g.acc, boxes.box_first, boxes.neighbour};
	for (size_t k = 0; k < sizeof all_there / sizeof *all_there; k++)
		leave(all_there[k]);
	nb_free(first);
	nb_free(neighbour);
}

static void drop(struct bodies *b)
{
	nb_free(b->pos);
	nb_free(b->mass);
	nb_free(b->acc);
	nb_free(b->key);
}

/* Softening: a part of the edge of the cube or square, a tenth of the finest boxes that are used. */
static void table(const char *model, size_t n, int from, int to, double eps)
{
	struct bodies b = make(model, n, eps);
	const int most = b.dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D;
	for (int level = from; level <= to; level++)
		for (int order = 2; order <= most; order += 2)
			row(&b, level, order, NB_F32);
	drop(&b);
}

static enum nb_precision precision_of(const char *name)
{
	return strcmp(name, "f64") == 0 ? NB_F64 : strcmp(name, "mixed") == 0 ? NB_MIXED : NB_F32;
}

int main(int argc, char **argv)
{
	char why[NB_BACKEND_WHY];
	if (nb_backend_choose(argc > 1 ? argv[1] : "cpu", &backend, why)) {
		fprintf(stderr, "fmm: %s\n", why);
		return 77;
	}
	printf("backend\tmodel\tn\tlevel\torder\tprecision\teps\tms\tnear ms\trms\tp2p\tm2l\n");
	if (argc > 7) {
		struct bodies b = make(argv[2], strtoull(argv[3], NULL, 10), atof(argv[7]));
		row(&b, atoi(argv[4]), atoi(argv[5]), precision_of(argv[6]));
		drop(&b);
	} else {
		const int more = backend->space->device >= 0; /* a level more */
		table("uniform", 1 << 20, 4, 5 + more, ldexp(0.1, -6));
		table("plummer", 1 << 20, 6, 7 + more, ldexp(2, -8));
		table("plane", 1 << 20, 7, 8 + more, ldexp(0.1, -9));
	}
	return failed;
}
