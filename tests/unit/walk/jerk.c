/* The jerks of the tree walk on the CPU against those of the direct sum. */
#include "tests/unit/tree/bodies.h"

#include <omp.h>

/* got <= most, which a NaN is not */
static void below(double got, double most, const char *what, int line)
{
	unit_checked++;
	if (!(got <= most)) {
		unit_failed++;
		fprintf(stderr, "%s:%d: %s is %.3g, want <= %.3g\n", __FILE__, line, what, got, most);
	}
}
#define CHECK_BELOW(got, most) below((got), (most), #got, __LINE__)

/* How bodies move: each as it likes, the disk turning, or, of the clusters at the corners of a cube, those at small x
 * against those at large x, a hundred times faster than bodies move within. */
enum { AGAINST = 100 };

static void speed(const double *x, enum model kind, double *v)
{
	on_sphere(uniform(), v);
	if (kind == CLUSTERS)
		v[0] += x[0] < 1 ? AGAINST : -AGAINST;
	if (kind == DISK_2D) {
		const double r = sqrt(x[0] * x[0] + x[1] * x[1]);
		v[0] = 0.1 * v[0] - x[1] / r;
		v[1] = 0.1 * v[1] + x[0] / r;
		v[2] = 0;
	}
}

/* Sorted bodies and their velocities, with the truth for some of them. */
enum { SAMPLE = UNIT_SANITIZED ? 200 : 350 };
struct moving {
	struct bodies b;
	double *vel, *acc, *pot, *jerk;
	double eps;
	size_t target[SAMPLE], ntarget;
	double want_acc[3 * SAMPLE], want_jerk[3 * SAMPLE];
};

static struct nb_gravity gravity(const struct moving *m, enum nb_precision precision)
{
	return (struct nb_gravity){.n = m->b.n,
		.pos = m->b.pos,
		.vel = m->vel,
		.mass = m->b.mass,
		.acc = m->acc,
		.pot = m->pot,
		.jerk = m->jerk,
		.eps = m->eps,
		.G = 1,
		.precision = precision};
}

static void ask_oracle(struct moving *m)
{
	const struct nb_gravity g = gravity(m, NB_F64);
	m->ntarget = m->b.n < SAMPLE ? m->b.n : SAMPLE;
	for (size_t k = 0; k < m->ntarget; k++)
		m->target[k] = k * m->b.n / m->ntarget;
	CHECK(nb_gravity_ref(&g, m->target, m->ntarget, m->want_acc, NULL, m->want_jerk) == NB_OK);
}

static struct moving *moving(struct bodies b, double eps)
{
	struct moving *m = nb_alloc(1, sizeof *m);
	*m = (struct moving){.b = b, .eps = eps};
	m->vel = nb_alloc(b.n, 3 * sizeof *m->vel);
	m->acc = nb_alloc(b.n, 3 * sizeof *m->acc);
	m->pot = nb_alloc(b.n, sizeof *m->pot);
	m->jerk = nb_alloc(b.n, 3 * sizeof *m->jerk);
	return m;
}

static struct moving *moving_model(enum model kind, size_t n, double eps)
{
	struct moving *m = moving(model(kind, n), eps);
	for (size_t i = 0; i < n; i++)
		speed(m->b.pos + 3 * i, kind, m->vel + 3 * i);
	ask_oracle(m);
	return m;
}

static void drop(struct moving *m)
{
	bodies_free(&m->b);
	nb_free(m->vel);
	nb_free(m->acc);
	nb_free(m->pot);
	nb_free(m->jerk);
	nb_free(m);
}

struct errors {
	double rms, p99, acc; /* rms |dj| over rms |j|, 99th percentile of |dj| / |j|; rms of the acceleration */
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* rms |got - want| over rms |want|, and the percentile if wanted; NaN if a number is. */
static double relative(const struct moving *m, const double *got, const double *want, double *p99)
{
	static double each[SAMPLE];
	double e2 = 0, a2 = 0, nan = 0;
	for (size_t i = 0; i < 3 * m->b.n; i++)
		nan += got[i] - got[i];
	for (size_t k = 0; k < m->ntarget; k++) {
		double d2 = 0, w2 = 0;
		for (size_t d = 0; d < 3; d++) {
			const double w = want[3 * k + d], e = got[3 * m->target[k] + d] - w;
			d2 += e * e;
			w2 += w * w;
		}
		each[k] = d2 == 0 ? 0 : sqrt(d2 / w2);
		e2 += d2;
		a2 += w2;
	}
	qsort(each, m->ntarget, sizeof *each, ascending);
	if (p99)
		*p99 = each[m->ntarget - 1 - m->ntarget / 100] + nan;
	return (e2 == 0 ? 0 : sqrt(e2 / a2)) + nan;
}

static struct errors walk_errors(
	struct moving *m, const struct nb_tree *tree, enum nb_precision precision, const struct nb_tree_walk *walk)
{
	const struct nb_gravity g = gravity(m, precision);
	struct errors e = {0};
	memset(m->acc, 0xff, m->b.n * 3 * sizeof *m->acc);
	memset(m->jerk, 0xff, m->b.n * 3 * sizeof *m->jerk);
	CHECK(nb_gravity_tree_cpu(&g, tree, walk, NULL) == NB_OK);
	e.rms = relative(m, m->jerk, m->want_jerk, &e.p99);
	e.acc = relative(m, m->acc, m->want_acc, NULL);
	return e;
}

static const char *const isa_name[] = {"plain", "avx2", "avx512"};

/* theta = 0 is the direct sum. */
static void test_jerk_direct(void)
{
	static const double tolerance[] = {3e-5, 1e-5, 1e-12};
	const size_t sizes[] = {1, 2, 3, 17, 97, 257, 2001};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes - UNIT_SANITIZED; s++)
		for (int kind = 0; kind < MODELS; kind++)
			for (int isa = 0; isa < 3; isa++) {
				setenv("NB_SIMD", isa_name[isa], 1);
				struct moving *m = moving_model((enum model)kind, sizes[s], isa == 0 ? 0 : 0.05);
				for (int precision = NB_F32; precision <= NB_F64; precision++) {
					/* f32 wants a tree that tells the close pair from the far cluster */
					const int fine = isa == 1 || kind == PAIR_AND_CLUSTER;
					struct nb_tree tree = build(&m->b, fine ? 1 : 40, 1 + isa % 2);
					const struct nb_tree_walk walk = {.theta = 0};
					struct errors e = walk_errors(m, &tree, (enum nb_precision)precision, &walk);
					CHECK_BELOW(e.rms, tolerance[precision]);
					CHECK_BELOW(e.acc, tolerance[precision]);
					nb_tree_free(&tree);
				}
				drop(m);
			}
	unsetenv("NB_SIMD");
}

/* Errors, the same for all instruction sets and precisions; twice what is measured.  Those of the acceleration are a
 * quarter to an eighth of them, and they fall with theta as fast. */
static void test_jerk_errors(void)
{
	static const double theta[] = {0.3, 0.5, 0.8};
	static const struct {
		double rms[3], p99[3];
	} bound[MODELS] = {
		[PLUMMER] = {{2.1e-4, 1.2e-3, 5.2e-3}, {3.1e-3, 1.5e-2, 6.4e-2}},
		[UNIFORM] = {{2.9e-4, 1.6e-3, 7e-3}, {4.6e-3, 2.4e-2, 0.13}},
		[CLUSTERS] = {{2.3e-4, 2.1e-3, 9.3e-3}, {3.3e-3, 2.5e-2, 0.11}},
		[PAIR_AND_CLUSTER] = {{1e-6, 1e-6, 1e-6}, {3e-3, 1.4e-2, 6.3e-2}},
		[DISK_2D] = {{1.3e-4, 5.6e-4, 6.3e-3}, {3.2e-3, 1.2e-2, 4.6e-2}},
	};
	for (int kind = 0; kind < MODELS; kind += UNIT_SANITIZED ? DISK_2D : 1) {
		struct moving *m = moving_model((enum model)kind, UNIT_SANITIZED ? 2500 : 8000, 0.01);
		struct nb_tree tree = build(&m->b, 32, 2);
		double last = 0;
		for (int t = 0; t < 3; t++) {
			const struct nb_tree_walk walk = {.theta = theta[t]};
			double first = NAN;
			for (int k = 0; k < 9; k += t == 1 && kind == PLUMMER ? 1 : 4) {
				setenv("NB_SIMD", isa_name[k / 3], 1);
				struct errors e = walk_errors(m, &tree, (enum nb_precision)(k % 3), &walk);
				if (k == 0) {
					first = e.rms;
					printf("%s: theta %.1f: jerk rms %.1e, 99 %% %.1e; acc rms %.1e\n",
						model_name[kind], theta[t], e.rms, e.p99, e.acc);
				}
				CHECK_BELOW(e.rms, bound[kind].rms[t]);
				CHECK_BELOW(e.p99, bound[kind].p99[t]);
				CHECK_NEAR(e.rms, first, 5e-6);
			}
			if (kind != PAIR_AND_CLUSTER)
				CHECK(first > 2 * last);
			last = first;
		}
		unsetenv("NB_SIMD");
		nb_tree_free(&tree);
		drop(m);
	}
}

/* A velocity common to all bodies changes no jerk, and bodies that all have the same feel none. */
static void test_jerk_galilean(void)
{
	static const double tolerance[] = {1e-6, 1e-6, 1e-11};
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct moving *m = moving_model(PLUMMER, UNIT_SANITIZED ? 2500 : 10000, 0.01);
		struct nb_tree tree = build(&m->b, 16, 2);
		const struct nb_tree_walk walk = {.theta = 0.6};
		const struct nb_gravity g = gravity(m, (enum nb_precision)precision);
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
		double *rest = nb_alloc(m->b.n, 3 * sizeof *rest), e2 = 0, j2 = 0;
		memcpy(rest, m->jerk, m->b.n * 3 * sizeof *rest);
		for (size_t i = 0; i < 3 * m->b.n; i++) /* 2^10: adding them rounds no more than a part in 10^13 */
			m->vel[i] += 1024 * (double)(1 + i % 3);
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
		for (size_t i = 0; i < 3 * m->b.n; i++) {
			e2 += (m->jerk[i] - rest[i]) * (m->jerk[i] - rest[i]);
			j2 += rest[i] * rest[i];
		}
		CHECK_BELOW(sqrt(e2 / j2), tolerance[precision]);
		/* all at one velocity: nothing changes */
		for (size_t i = 0; i < 3 * m->b.n; i++)
			m->vel[i] = 1e3 * (double)(1 + i % 3);
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
		size_t moved = 0;
		for (size_t i = 0; i < 3 * m->b.n; i++)
			moved += m->jerk[i] != 0;
		CHECK(moved == 0);
		nb_free(rest);
		nb_tree_free(&tree);
		drop(m);
	}
}

/* The walk with jerks gives the accelerations and potentials of the one without. */
static void test_jerk_beside(void)
{
	static const double tolerance[] = {1e-6, 1e-6, 1e-13};
	struct moving *m = moving_model(CLUSTERS, UNIT_SANITIZED ? 2500 : 5000, 0.01);
	struct nb_tree tree = build(&m->b, 16, 2);
	const struct nb_tree_walk walk = {.theta = 0.6};
	double *acc = nb_alloc(m->b.n, 3 * sizeof *acc), *pot = nb_alloc(m->b.n, sizeof *pot);
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct nb_gravity g = gravity(m, (enum nb_precision)precision);
		struct nb_gravity_count with = {0}, without = {0};
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, &with) == NB_OK);
		g.acc = acc;
		g.pot = pot;
		g.jerk = NULL;
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, &without) == NB_OK);
		CHECK(memcmp(&with, &without, sizeof with) == 0);
		double e2 = 0, a2 = 0, p = 0;
		for (size_t i = 0; i < 3 * m->b.n; i++) {
			e2 += (acc[i] - m->acc[i]) * (acc[i] - m->acc[i]);
			a2 += acc[i] * acc[i];
			p = fmax(p, fabs(m->pot[i / 3] / pot[i / 3] - 1));
		}
		CHECK_BELOW(sqrt(e2 / a2), tolerance[precision]);
		CHECK_BELOW(p, 10 * tolerance[precision]);
	}
	nb_free(acc);
	nb_free(pot);
	nb_tree_free(&tree);
	drop(m);
}

/* Same bytes for any number of threads. */
static void test_jerk_reproducible(void)
{
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct moving *m = moving_model(CLUSTERS, UNIT_SANITIZED ? 2500 : 12000, 0.01);
		struct nb_tree tree = build(&m->b, 16, 2);
		const size_t bytes = m->b.n * 3 * sizeof(double);
		double *one = nb_alloc(1, bytes);
		const struct nb_gravity g = gravity(m, (enum nb_precision)precision);
		const struct nb_tree_walk walk = {.theta = 0.6};
		for (int threads = 1; threads <= 7; threads += threads) {
			omp_set_num_threads(threads);
			memset(m->jerk, 0, bytes);
			CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
			if (threads == 1)
				memcpy(one, m->jerk, bytes);
			CHECK(memcmp(one, m->jerk, bytes) == 0);
		}
		omp_set_num_threads(omp_get_num_procs());
		nb_free(one);
		nb_tree_free(&tree);
		drop(m);
	}
}

/* Bodies in one place that move apart: without softening no jerk by each other, with it that of springs; on others
 * they act with their mean velocity.  Two such places, and bodies around. */
static void test_jerk_coincident(void)
{
	for (int soft = 0; soft < 2; soft++)
		for (int precision = NB_F32; precision <= NB_F64; precision++) {
			struct bodies b = bodies_alloc(1500, 3);
			for (size_t i = 0; i < b.n; i++) {
				for (size_t d = 0; d < 3; d++)
					b.pos[3 * i + d] = i % 3 == 0 ? uniform() : i % 3 == 1 ? 0.7 : 0.2;
				b.mass[i] = (1 + (double)(i % 5)) / (double)b.n;
			}
			bodies_sort(&b);
			struct moving *m = moving(b, soft ? 0.05 : 0);
			for (size_t i = 0; i < b.n; i++)
				on_sphere(uniform(), m->vel + 3 * i);
			ask_oracle(m);
			struct nb_tree tree = build(&m->b, 8, 2);
			for (double theta = 0; theta < 1; theta += 0.5) {
				const struct nb_tree_walk walk = {.theta = theta};
				struct errors e = walk_errors(m, &tree, (enum nb_precision)precision, &walk);
				CHECK_BELOW(e.rms, theta > 0 ? 7e-3 : precision == NB_F64 ? 1e-12 : 1e-5);
				CHECK_BELOW(e.acc, theta > 0 ? 7e-3 : precision == NB_F64 ? 1e-12 : 1e-5);
			}
			nb_tree_free(&tree);
			drop(m);
		}
}

/* Other ways to walk: monopoles, cells by the acceleration, and a leaf that acts on itself as a cell. */
static void test_jerk_ways(void)
{
	struct moving *m = moving_model(PLUMMER, UNIT_SANITIZED ? 2500 : 8000, 0.01);
	struct nb_tree quad = build(&m->b, 16, 2), mono = build(&m->b, 16, 1);
	const struct nb_tree_walk half = {.theta = 0.5};
	struct errors two = walk_errors(m, &quad, NB_F32, &half), one = walk_errors(m, &mono, NB_F32, &half);
	CHECK(one.rms > 1.2 * two.rms);
	CHECK_BELOW(one.rms, 1e-2);
	double *acc = nb_alloc(m->b.n, 3 * sizeof *acc);
	memcpy(acc, m->acc, m->b.n * 3 * sizeof *acc);
	const struct nb_tree_walk by_acc = {.mac = NB_MAC_ACCELERATION, .alpha = 0.0025, .acc_old = acc};
	struct errors e = walk_errors(m, &quad, NB_F32, &by_acc);
	CHECK_BELOW(e.rms, 5e-3);
	nb_free(acc);
	nb_tree_free(&quad);
	nb_tree_free(&mono);
	drop(m);

	struct bodies b = bodies_alloc(2000, 3);
	for (size_t i = 0; i < b.n; i++) {
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] = i ? 1 + 1e-9 * uniform() : 0;
		b.mass[i] = uniform() / (double)b.n;
	}
	bodies_sort(&b);
	m = moving(b, 0.01);
	for (size_t i = 0; i < b.n; i++)
		on_sphere(uniform(), m->vel + 3 * i);
	ask_oracle(m);
	quad = build(&m->b, 8, 2);
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		e = walk_errors(m, &quad, (enum nb_precision)precision, &half);
		CHECK_BELOW(e.rms, 1e-5);
	}
	nb_tree_free(&quad);
	drop(m);
}

/* The same system in other units, velocities too, has the same errors. */
static void test_jerk_units(void)
{
	const double unit[][3] = {
		{1, 1, 1}, {1e12, 1e41, 1e5}, {1e-15, 1e-30, 1e30}, {1e60, 1e100, 1e-60}, {1e-60, 1e-100, 1e9}};
	for (int precision = NB_F32; precision <= NB_F64; precision++)
		for (size_t u = 0; u < sizeof unit / sizeof *unit; u++) {
			struct bodies b = plummer_in_units(2500, unit[u][0], unit[u][1]);
			struct moving *m = moving(b, 0.01 * unit[u][0]);
			for (size_t i = 0; i < b.n; i++)
				on_sphere(unit[u][2] * uniform(), m->vel + 3 * i);
			ask_oracle(m);
			struct nb_tree tree = build(&m->b, 16, 2);
			const struct nb_tree_walk walk = {.theta = 0.5};
			struct errors e = walk_errors(m, &tree, (enum nb_precision)precision, &walk);
			CHECK_BELOW(e.rms, 2e-3);
			CHECK_BELOW(e.p99, 2e-2);
			nb_tree_free(&tree);
			drop(m);
		}
}

static void test_jerk_refusals(void)
{
	struct moving *m = moving_model(PLUMMER, 1000, 0.01);
	struct nb_tree tree = build(&m->b, 16, 2);
	struct nb_gravity g = gravity(m, NB_F32);
	const struct nb_tree_walk walk = {.theta = 0.5};
	g.vel = NULL;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_EINVAL);
	g.vel = m->vel;
	const double bad[] = {NAN, INFINITY, -INFINITY};
	for (int k = 0; k < 3; k++) {
		const size_t at = (size_t)k * 1499; /* the first, the last, and one between */
		const double was = m->vel[at];
		m->vel[at] = bad[k];
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_ENONFINITE);
		m->vel[at] = was;
	}
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
	struct nb_gravity none = {.G = 1, .jerk = m->jerk, .vel = m->vel};
	struct nb_tree empty = {.order = 1};
	CHECK(nb_gravity_tree_cpu(&none, &empty, &walk, NULL) == NB_OK);
	nb_tree_free(&tree);
	drop(m);
}

int main(void)
{
	test_jerk_direct();
	test_jerk_errors();
	test_jerk_galilean();
	test_jerk_beside();
	test_jerk_reproducible();
	test_jerk_coincident();
	if (!UNIT_SANITIZED)
		test_jerk_ways();
	test_jerk_units();
	test_jerk_refusals();
	return unit_end();
}
