/* tree.c - the whole force step on the CPU: cube and keys, sort, permutation, tree, walk.
 *
 *     tree                                   all parts below
 *     tree classes|orders|models|growth      one of them
 *     tree step MODEL N THETA EPS [ORDER]    one case
 *
 * Each case is checked against the f64 direct sum on 2000 of its bodies before its times count; min of 5.
 *   classes   Plummer sphere of 1,000,000: three classes of error, the least time for each; eps 0.01, the last without
 *             softening and of fourth order
 *   orders    the same bodies in random order, by radius, and in Z-order: times, and forces by id
 *   models    what uniform and clustered bodies cost
 *   growth    10^4 to 10^7 bodies, and the exponent of the time over n log n
 * Errors: rms(|da|) / rms(|a|), and the 99th percentile of |da| / |a|.  Exits 1 if one is not what it must be.
 * p2p, m2p and m2l are interactions (gravity.h); "tree" is the bytes of its columns, a body. */
#include "common/cpu.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/models/models.h"
#include "kernels/walk/walk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, TARGETS = 2000, LEAF = 48 };

static int failed;

struct bodies {
	size_t n;
	double *pos, *mass;
	uint64_t *id;
};

struct result {
	double keys, sort, permute, build, walk, total; /* seconds, of the fastest run */
	double rms, p99;
	struct nb_gravity_count count;
	size_t nnode;
};

static void *need(size_t count, size_t size)
{
	void *p = nb_alloc(count, size);
	if (!p) {
		fprintf(stderr, "tree: out of memory\n");
		exit(1);
	}
	return p;
}

static void check(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "tree: %s: %s\n", what, nb_status_text(status));
		exit(1);
	}
}

static struct bodies make(enum nb_model_kind kind, size_t n)
{
	struct nb_model_param param;
	struct nb_model *model;
	const char *why = "";
	nb_model_defaults(&param, kind);
	param.n = n;
	check(nb_model_create(&param, &model, &why), why);
	struct bodies b = {n, need(n, 3 * sizeof(double)), need(n, sizeof(double)), need(n, sizeof(uint64_t))};
	check(nb_model_fill(model, NB_MODEL_POS, 0, n, b.pos), "positions");
	check(nb_model_fill(model, NB_MODEL_MASS, 0, n, b.mass), "masses");
	for (size_t i = 0; i < n; i++)
		b.id[i] = i;
	nb_model_free(model);
	return b;
}

static void drop(struct bodies *b)
{
	nb_free(b->pos);
	nb_free(b->mass);
	nb_free(b->id);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Errors of acc (of b, in its order) on TARGETS bodies. */
static void measure_errors(const struct bodies *b, double eps, const double *acc, struct result *r)
{
	const size_t m = b->n < TARGETS ? b->n : TARGETS;
	size_t *target = need(m, sizeof *target);
	double *exact = need(m, 3 * sizeof *exact), *relative = need(m, sizeof *relative), square = 0, all = 0;
	const struct nb_gravity g = {.n = b->n, .pos = b->pos, .mass = b->mass, .eps = eps, .G = 1};
	for (size_t k = 0; k < m; k++)
		target[k] = k * b->n / m;
	check(nb_gravity_ref(&g, target, m, exact, NULL, NULL), "direct sum");
	for (size_t k = 0; k < m; k++) {
		double e = 0, a = 0;
		for (int d = 0; d < 3; d++) {
			const double x = exact[3 * k + d], y = acc[3 * target[k] + d];
			e += (y - x) * (y - x);
			a += x * x;
		}
		square += e;
		all += a;
		relative[k] = sqrt(e / a);
	}
	qsort(relative, m, sizeof *relative, by_value);
	r->rms = sqrt(square / all);
	r->p99 = relative[(size_t)(0.99 * (double)(m - 1))];
	nb_free(target);
	nb_free(exact);
	nb_free(relative);
}

/* Runs the step with multipoles of this order, fastest of RUNS; acc_by_id (n x 3) may be NULL. */
static struct result step(const struct bodies *b, double theta, double eps, int order, double *acc_by_id)
{
	struct result best = {.total = INFINITY};
	const size_t n = b->n;
	uint64_t *key = need(n, sizeof *key);
	uint32_t *perm = need(n, sizeof *perm);
	struct bodies s = {n, need(n, 3 * sizeof(double)), need(n, sizeof(double)), need(n, sizeof(uint64_t))};
	double *acc = need(n, 3 * sizeof *acc);
	for (int run = 0; run < RUNS; run++) {
		struct result r = {0};
		struct nb_cube cube;
		struct nb_tree tree;
		size_t bad;
		double t0 = nb_now();
		check(nb_morton_cube_cpu(n, b->pos, 3, &cube, &bad), "cube");
		check(nb_morton_keys_cpu(n, b->pos, 3, &cube, key), "keys");
		double t1 = nb_now();
		check(nb_sort_keys_cpu(n, key, perm), "sort");
		check(nb_sort_deep_cpu(n, key, b->pos, 3, perm), "sort");
		double t2 = nb_now();
		check(nb_permute_cpu(n, perm, 24, b->pos, s.pos), "permutation");
		check(nb_permute_cpu(n, perm, 8, b->mass, s.mass), "permutation");
		check(nb_permute_cpu(n, perm, 8, b->id, s.id), "permutation");
		double t3 = nb_now();
		check(nb_tree_build_cpu(n, key, s.pos, s.mass, 3, &cube, LEAF, 2, &tree), "tree");
		double t4 = nb_now();
		const struct nb_gravity g = {n, s.pos, NULL, s.mass, acc, NULL, NULL, eps, 1, NB_F32, NB_PLUMMER, NULL};
		const struct nb_tree_walk walk = {.theta = theta, .order = order, .mac = NB_MAC_GEOMETRIC};
		memset(acc, 0xff, n * 24); /* NaN where nothing is written */
		double t5 = nb_now();
		check(nb_gravity_tree_cpu(&g, &tree, &walk, &r.count), "walk");
		double t6 = nb_now();
		r.keys = t1 - t0;
		r.sort = t2 - t1;
		r.permute = t3 - t2;
		r.build = t4 - t3;
		r.walk = t6 - t5;
		r.total = r.keys + r.sort + r.permute + r.build + r.walk;
		r.nnode = tree.nnode;
		if (run == 0)
			measure_errors(&s, eps, acc, &r);
		r.rms = run == 0 ? r.rms : best.rms;
		r.p99 = run == 0 ? r.p99 : best.p99;
		if (run == 0 || r.total < best.total)
			best = r;
		nb_tree_free(&tree);
	}
	if (acc_by_id)
		for (size_t i = 0; i < n; i++)
			memcpy(acc_by_id + 3 * s.id[i], acc + 3 * i, 24);
	nb_free(key);
	nb_free(perm);
	nb_free(acc);
	drop(&s);
	return best;
}

static void heading(void)
{
	printf("%-18s %8s %5s %7s %7s %7s %7s %7s %7s %8s %8s %6s %5s %5s %5s\n", "bodies", "n", "theta", "keys",
		"sort", "permute", "build", "walk", "total", "rms", "p99", "p2p/n", "m2p/n", "m2l/n", "tree");
}

static void line(const char *name, size_t n, double theta, const struct result *r)
{
	/* a node's row has 4 x 4 bytes of integers and 16 x 8 of numbers */
	printf("%-18s %8zu %5.2f %7.4f %7.4f %7.4f %7.4f %7.4f %7.4f %8.2e %8.2e %6.1f %5.1f %5.1f %5.1f\n", name, n,
		theta, r->keys, r->sort, r->permute, r->build, r->walk, r->total, r->rms, r->p99,
		(double)r->count.p2p / (double)n, (double)r->count.m2p / (double)n, (double)r->count.m2l / (double)n,
		144 * (double)r->nnode / (double)n);
	fflush(stdout);
}

static void require(int ok, const char *what)
{
	if (!ok) {
		failed = 1;
		printf("FAILED: %s\n", what);
	}
}

static void classes(void)
{
	static const struct {
		double theta, eps;
		int order;
		double rms, p99, must, aim;
	} c[] = {{1.56, 0.01, 2, 1.8e-3, 6.5e-3, 0.65, 0.40}, {0.68, 0.01, 2, 3.5e-4, 1.6e-3, 0.14, 0.12},
		{0.115, 0, 4, 1e-6, 4e-6, 1.5, 0.8}};
	struct bodies b = make(NB_MODEL_PLUMMER, 1000000);
	heading();
	for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
		struct result r = step(&b, c[k].theta, c[k].eps, c[k].order, NULL);
		line("plummer", b.n, c[k].theta, &r);
		printf("  whole step %.3f s at rms <= %.1e, p99 <= %.1e: must %.2f s, aim %.2f s; sort + build %.3f s: "
		       "must 0.25 s\n",
			r.total, c[k].rms, c[k].p99, c[k].must, c[k].aim, r.keys + r.sort + r.permute + r.build);
		require(r.rms <= c[k].rms && r.p99 <= c[k].p99, "the errors of this class");
	}
	drop(&b);
}

/* b in another order: key ascending */
static struct bodies reorder(const struct bodies *b, uint64_t *key)
{
	struct bodies o = {b->n, need(b->n, 24), need(b->n, 8), need(b->n, 8)};
	uint32_t *perm = need(b->n, sizeof *perm);
	check(nb_sort_keys_cpu(b->n, key, perm), "sort");
	check(nb_permute_cpu(b->n, perm, 24, b->pos, o.pos), "permutation");
	check(nb_permute_cpu(b->n, perm, 8, b->mass, o.mass), "permutation");
	check(nb_permute_cpu(b->n, perm, 8, b->id, o.id), "permutation");
	nb_free(perm);
	return o;
}

static void orders(void)
{
	static const char *const name[] = {"plummer, random", "plummer, by radius", "plummer, Z-order"};
	struct bodies b = make(NB_MODEL_PLUMMER, 1000000);
	uint64_t *key = need(b.n, sizeof *key);
	double *first = need(b.n, 24), *acc = need(b.n, 24);
	heading();
	for (int k = 0; k < 3; k++) {
		struct nb_cube cube;
		size_t bad;
		for (size_t i = 0; i < b.n; i++) {
			const double *x = b.pos + 3 * i, r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
			key[i] = k == 0 ? i * 0x9e3779b97f4a7c15u : (uint64_t)(r * 0x1p50);
		}
		if (k == 2) {
			check(nb_morton_cube_cpu(b.n, b.pos, 3, &cube, &bad), "cube");
			check(nb_morton_keys_cpu(b.n, b.pos, 3, &cube, key), "keys");
		}
		struct bodies o = reorder(&b, key);
		struct result r = step(&o, 0.6, 0.01, 2, k == 0 ? first : acc);
		line(name[k], b.n, 0.6, &r);
		double worst = 0;
		for (size_t i = 0; k > 0 && i < b.n; i++) {
			double e = 0, a = 0;
			for (size_t d = 3 * i; d < 3 * i + 3; d++) {
				e += (acc[d] - first[d]) * (acc[d] - first[d]);
				a += first[d] * first[d];
			}
			worst = fmax(worst, sqrt(e / a));
		}
		if (k > 0)
			printf("  largest |da|/|a| of any id against random order: %.1e\n", worst);
		require(worst <= 1e-4, "the same force for each id");
		drop(&o);
	}
	nb_free(key);
	nb_free(first);
	nb_free(acc);
	drop(&b);
}

static void models(void)
{
	static const struct {
		enum nb_model_kind kind;
		const char *name;
	} m[] = {{NB_MODEL_UNIFORM, "uniform"}, {NB_MODEL_CLUSTERS, "clusters"}, {NB_MODEL_DISK, "disk"}};
	heading();
	for (size_t k = 0; k < 3; k++) {
		struct bodies b = make(m[k].kind, 1000000);
		struct result r = step(&b, 0.6, 0.01, 2, NULL);
		line(m[k].name, b.n, 0.6, &r);
		require(r.rms <= 1e-3 && r.p99 <= 3e-3, "errors at theta 0.6");
		drop(&b);
	}
}

static void growth(void)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0;
	int points = 0;
	heading();
	for (size_t n = 10000; n <= 10000000; n *= 10, points++) {
		struct bodies b = make(NB_MODEL_PLUMMER, n);
		struct result r = step(&b, 0.6, 0.01, 2, NULL);
		line("plummer", n, 0.6, &r);
		const double x = log((double)n * log((double)n)), y = log(r.total);
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		drop(&b);
	}
	printf("  time grows as (n log n)^%.3f (must 1.1 at most)\n",
		(points * sxy - sx * sy) / (points * sxx - sx * sx));
}

static int one_case(int argc, char **argv)
{
	enum nb_model_kind kind = strcmp(argv[0], "uniform") == 0    ? NB_MODEL_UNIFORM
				  : strcmp(argv[0], "clusters") == 0 ? NB_MODEL_CLUSTERS
								     : NB_MODEL_PLUMMER;
	struct bodies b = make(kind, strtoull(argv[1], NULL, 10));
	const double theta = strtod(argv[2], NULL);
	const int order = argc > 4 ? atoi(argv[4]) : 2;
	struct result r = step(&b, theta, strtod(argv[3], NULL), order, NULL);
	heading();
	line(argv[0], b.n, theta, &r);
	drop(&b);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} part[] = {{"classes", classes}, {"orders", orders}, {"models", models}, {"growth", growth}};
	if ((argc == 6 || argc == 7) && strcmp(argv[1], "step") == 0)
		return one_case(argc - 2, argv + 2);
	printf("# %d threads, %s, leaf %d, f32; seconds\n", nb_cpu_threads(), nb_cpu_isa_name(nb_cpu_isa()), LEAF);
	int found = 0;
	for (size_t k = 0; k < sizeof part / sizeof *part; k++)
		if (argc == 1 || strcmp(argv[1], part[k].name) == 0) {
			printf("\n# %s\n", part[k].name);
			part[k].run();
			found = 1;
		}
	if (!found) {
		fprintf(stderr, "usage: tree [classes|orders|models|growth], or tree step MODEL N THETA EPS [ORDER]\n");
		return 2;
	}
	return failed;
}
