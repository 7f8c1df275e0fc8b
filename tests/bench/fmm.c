/* fmm - the fast multipole method over uniform boxes on the CPU: levels and orders against time at equal error.
 *
 *   fmm                                             the table
 *   fmm MODEL N LEVEL ORDER PRECISION SOFTENING     one row; uniform, plummer or plane
 *
 * Bodies: uniform in a cube, a Plummer sphere (cut at 10 scale radii), uniform in a square.  Each row is checked first,
 * outputs poisoned, against the oracle for 256 bodies; the smallest time of three counts.  near: the near field alone.
 * One TSV line a row, with a header. */
#include "kernels/fmm/fmm.h"
#include "common/cpu.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 256, REPEATS = 3 };
static const char *const precision_name[] = {"f32", "mixed", "f64"};

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

static double rms_of(const struct bodies *b)
{
	double wrong = 0, size = 0;
	for (size_t k = 0; k < SAMPLES; k++)
		for (size_t d = 0; d < 3; d++) {
			const double want = b->truth[3 * k + d], is = b->acc[3 * b->target[k] + d];
			wrong += (is - want) * (is - want);
			size += want * want;
		}
	return sqrt(wrong / size);
}

static void row(const struct bodies *b, int level, int order, enum nb_precision precision)
{
	const size_t nbox = (size_t)1 << b->dim * level, nneighbour = b->dim == 3 ? 26 : 8;
	uint64_t *first = need(nb_alloc(nbox + 1, sizeof *first));
	int32_t *neighbour = need(nb_alloc(nbox * nneighbour, sizeof *neighbour));
	need_ok(nb_boxes_build_cpu(b->n, b->key, b->dim, level, first, neighbour), "boxes");
	const struct nb_boxes boxes = {nbox, first, neighbour, (int)nneighbour};
	const struct nb_fmm fmm = {b->dim, level, order, b->cube};
	const struct nb_gravity g = {.n = b->n,
		.pos = b->pos,
		.mass = b->mass,
		.acc = b->acc,
		.eps = b->eps,
		.G = 1,
		.precision = precision};
	struct nb_gravity_count count = {0, 0, 0, 0};
	memset(b->acc, 0xff, 3 * b->n * sizeof *b->acc);
	need_ok(nb_gravity_fmm_cpu(&g, &boxes, &fmm, &count), "fmm");
	const double rms = rms_of(b);
	double all = INFINITY, near = INFINITY;
	for (int r = 0; r < REPEATS; r++) {
		const double start = nb_now();
		need_ok(nb_gravity_fmm_cpu(&g, &boxes, &fmm, NULL), "fmm");
		const double middle = nb_now();
		need_ok(nb_gravity_near_cpu(&g, &boxes, NULL), "near");
		all = fmin(all, middle - start);
		near = fmin(near, nb_now() - middle);
	}
	printf("%s\t%zu\t%d\t%d\t%s\t%g\t%.4f\t%.4f\t%.2e\t%.3e\t%.3e\n", b->model, b->n, level, order,
		precision_name[precision], b->eps, all, near, rms, (double)count.p2p, (double)count.m2l);
	fflush(stdout);
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

static void table(const char *model, size_t n, int from, int to)
{
	struct bodies b = make(model, n, 0.001);
	const int most = b.dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D;
	for (int level = from; level <= to; level++)
		for (int order = 2; order <= most; order += 2)
			row(&b, level, order, NB_F32);
	drop(&b);
}

int main(int argc, char **argv)
{
	printf("model\tn\tlevel\torder\tprecision\teps\ts\tnear\trms\tp2p\tm2l\n");
	if (argc > 6) {
		struct bodies b = make(argv[1], strtoull(argv[2], NULL, 10), atof(argv[6]));
		row(&b, atoi(argv[3]), atoi(argv[4]),
			strcmp(argv[5], "f64") == 0	? NB_F64
			: strcmp(argv[5], "mixed") == 0 ? NB_MIXED
							: NB_F32);
		drop(&b);
		return 0;
	}
	table("uniform", 1000000, 4, 6);
	table("plummer", 1000000, 5, 8);
	table("plane", 1000000, 6, 9);
	return 0;
}
