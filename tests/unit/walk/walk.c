/* The tree walk on the CPU against the direct sum. */
#include "tests/unit/tree/bodies.h"
#include "tests/unit/tree/sound.h"

#include <omp.h>

#include "common/lap.h"

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
enum { SAMPLE = UNIT_SANITIZED ? 300 : 400, N_MODEL = UNIT_SANITIZED ? 4000 : 10000, LAST = N_MODEL - 1 };
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

/* The memory of these bodies may come back as that of others. */
static void drop(struct bodies *b)
{
	oracle.pos = NULL;
	bodies_free(b);
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

static int order; /* of the multipoles, 0: those of the tree; all tests are made with each */

static int walk_tree(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
{
	struct nb_tree_walk of_order = *walk;
	of_order.order = order;
	return nb_gravity_tree_cpu(g, tree, &of_order, count);
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
	CHECK(walk_tree(&g, tree, walk, count) == NB_OK);
	struct errors with_pot = compare(&g);
	g.pot = NULL; /* another kernel */
	memset(acc, 0xff, b->n * 3 * sizeof *acc);
	struct nb_gravity_count again = {0};
	CHECK(walk_tree(&g, tree, walk, &again) == NB_OK);
	CHECK(again.p2p == count->p2p && again.m2p == count->m2p && again.m2l == count->m2l &&
		again.groups == count->groups);
	struct errors e = compare(&g);
	CHECK_BELOW(fabs(e.rms - with_pot.rms), precision == NB_F64 ? 1e-12 : 1e-6);
	e.pot = with_pot.pot;
	nb_free(acc);
	nb_free(pot);
	return e;
}

/* A needle has the same errors along each axis: no criterion forgets a coordinate. */
static void test_walk_axes(void)
{
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		double rms[3];
		for (size_t axis = 0; axis < 3; axis++) {
			random_state = 5150;
			struct bodies b = bodies_alloc(10000, 3);
			for (size_t i = 0; i < b.n; i++) {
				for (size_t d = 0; d < 3; d++)
					b.pos[3 * i + (axis + d) % 3] = d ? 1e-4 * uniform() : uniform();
				b.mass[i] = 1 / (double)b.n;
			}
			bodies_sort(&b);
			struct nb_tree tree = build(&b, 16, 2);
			struct nb_tree_walk walk = {.theta = 0.7};
			struct nb_gravity_count count;
			struct errors e = walk_errors(&b, &tree, precision, 1e-3, &walk, &count);
			rms[axis] = e.rms;
			CHECK_BELOW(e.rms, order > 2 ? 4e-3 : 3e-3);
			nb_tree_free(&tree);
			drop(&b);
		}
		CHECK_NEAR(rms[1], rms[0], 0.02 * rms[0]);
		CHECK_NEAR(rms[2], rms[0], 0.02 * rms[0]);
	}
}

/* theta = 0 is the direct sum, whatever n, leaf size, instruction set, precision and softening. */
static void test_walk_direct(void)
{
	const size_t sizes[] = {1, 2, 3, 16, 17, 96, 97, 257, 1025};
	/* potentials: in f32, 1000 small terms are added to one large term */
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
			drop(&b);
		}
	struct nb_gravity none = {.G = 1};
	struct nb_tree empty = {.order = 1};
	struct nb_tree_walk walk = {.theta = 0.5};
	CHECK(walk_tree(&none, &empty, &walk, NULL) == NB_OK);
}

/* Errors at theta = 0.5 with quadrupoles; the same for all instruction sets and precisions but for rounding: all nine
 * with the first model and the order of the tree, each instruction set and each precision once with the others. */
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
		struct bodies b = model(kind, N_MODEL);
		struct nb_tree tree = build(&b, 32, 2);
		double rms = 0;
		for (int isa = 0; isa < 3; isa++)
			for (int precision = NB_F32; precision <= NB_F64; precision++) {
				if ((kind != PLUMMER || order) && (isa + precision + kind) % 3)
					continue;
				setenv("NB_SIMD", isa_name[isa], 1);
				struct nb_tree_walk walk = {.theta = 0.5};
				struct nb_gravity_count count;
				struct errors e = walk_errors(&b, &tree, precision, 0.01, &walk, &count);
				if (rms == 0) {
					rms = e.rms;
					printf("%s: theta 0.5: rms %.1e, median %.1e, 99 %% %.1e, most %.1e, pot %.1e; "
					       "%.0f p2p, %.0f m2p, %.1f m2l a body\n",
						model_name[kind], e.rms, e.p50, e.p99, e.most, e.pot,
						(double)count.p2p / N_MODEL, (double)count.m2p / N_MODEL,
						(double)count.m2l / N_MODEL);
				}
				CHECK_BELOW(e.rms, bound[kind].rms);
				CHECK_BELOW(e.p50, bound[kind].p50);
				CHECK_BELOW(e.p99, bound[kind].p99);
				CHECK_BELOW(e.most, bound[kind].most);
				CHECK_BELOW(e.pot, (UNIT_SANITIZED ? 1.5 : 1) * bound[kind].pot); /* of fewer bodies */
				CHECK_NEAR(e.rms, rms, 2e-6);
				/* of the pairs; of so few bodies a sphere has few that are far from each other */
				CHECK(count.p2p < (uint64_t)b.n * b.n / 4 * (UNIT_SANITIZED || order > 3 ? 3 : 2));
			}
		unsetenv("NB_SIMD");
		nb_tree_free(&tree);
		drop(&b);
	}
}

/* Two light bodies, closer and closer, far from all others: powers of the distance in units of theirs do not overflow.
 */
static void test_walk_tight_pair(void)
{
	for (double apart = 1; apart > 1e-9; apart /= 16)
		for (int precision = NB_F32; precision <= NB_F64; precision++) {
			struct bodies b = model(PLUMMER, SAMPLE);
			for (size_t i = 0; i < b.n; i++) {
				b.pos[3 * i] += 1000;
				if (i < 2) {
					b.pos[3 * i] = apart * (double)i;
					b.pos[3 * i + 1] = b.pos[3 * i + 2] = 0;
					b.mass[i] = 1e-24;
				}
			}
			bodies_sort(&b);
			struct nb_tree tree = build(&b, 8, 2);
			struct nb_tree_walk walk = {.theta = 0.5};
			struct nb_gravity_count count;
			struct errors e = walk_errors(&b, &tree, precision, 0.01, &walk, &count);
			CHECK_BELOW(e.rms, 1e-3);
			CHECK_BELOW(e.most, 0.05);
			CHECK(count.m2p > 0);
			nb_tree_free(&tree);
			drop(&b);
		}
}

/* Errors fall with theta, and in f64 without end; quadrupoles and the relative criterion do what they should. */
static void test_walk_theta(void)
{
	struct bodies b = model(PLUMMER, N_MODEL);
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
	if (order > 2) /* whatever the tree has */
		CHECK(one.rms == two.rms);
	else
		CHECK(one.rms > 1.5 * two.rms && one.rms < 3e-3);

	/* by acceleration: the error is the same share of each body's acceleration */
	double *acc = nb_alloc(b.n, 3 * sizeof *acc);
	struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1};
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_OK);
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
	CHECK(walk_tree(&g, &tree, &relative, &other) == NB_OK);
	CHECK(other.p2p == count.p2p && other.m2l == count.m2l && other.m2p == count.m2p);

	g.G = 1;
	relative.acc_old = NULL;
	CHECK(walk_tree(&g, &tree, &relative, NULL) == NB_EINVAL);
	walk.theta = -1;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_EINVAL);
	walk.theta = NAN;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_EINVAL);
	walk.theta = 0.5;
	g.eps = -1;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_EINVAL);
	g.eps = 0;
	g.n--;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_EINVAL);
	g.n++;
	b.pos[3 * LAST] = NAN;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_ENONFINITE);
	b.pos[3 * LAST] = 0;
	b.mass[LAST] = INFINITY;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_ENONFINITE);
	b.mass[LAST] = -1;
	CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_EINVAL);
	nb_free(acc);
	nb_free(scaled);
	nb_tree_free(&tree);
	nb_tree_free(&monopole);
	drop(&b);
}

/* The acceleration criterion goes by the body that needs the most: one whose acceleration vanishes gets the direct sum,
 * though all around it would be content with anything. */
static void test_walk_least_acceleration(void)
{
	struct bodies b = model(PLUMMER, 4000);
	struct nb_tree tree = build(&b, 16, 2);
	double *acc = nb_alloc(b.n, 3 * sizeof *acc), *old = nb_alloc(b.n, 3 * sizeof *old), want[3];
	struct nb_gravity g = {
		.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1, .precision = NB_F64};
	struct nb_tree_walk walk = {.mac = NB_MAC_ACCELERATION, .alpha = 1e-3, .acc_old = old};
	for (size_t k = 0; k < 5; k++) {
		const size_t target = k * (b.n - 1) / 4;
		for (size_t i = 0; i < 3 * b.n; i++)
			old[i] = i / 3 == target ? 0 : 1e30;
		struct nb_gravity_count count = {0};
		CHECK(walk_tree(&g, &tree, &walk, &count) == NB_OK);
		CHECK(nb_gravity_ref(&g, &target, 1, want, NULL, NULL) == NB_OK);
		double error = 0, size = 0;
		for (size_t d = 0; d < 3; d++) {
			error = fmax(error, fabs(acc[3 * target + d] - want[d]));
			size = fmax(size, fabs(want[d]));
		}
		CHECK_BELOW(error, 1e-12 * size);
		CHECK(count.p2p < (uint64_t)b.n * b.n / (UNIT_SANITIZED || order > 3 ? 2 : 4));
	}
	nb_free(acc);
	nb_free(old);
	nb_tree_free(&tree);
	drop(&b);
}

/* Same bytes for any number of threads; the same force for each body whatever the order of the input. */
static void test_walk_reproducible(void)
{
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct bodies b = model(CLUSTERS, UNIT_SANITIZED ? 4000 : 12000);
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
		CHECK(walk_tree(&g, &tree, &walk, &first) == NB_OK);
		g.acc = more;
		g.pot = pot + b.n;
		for (int threads = 2; threads <= 7; threads += 1 + (threads > 2)) {
			struct nb_gravity_count count = {0};
			omp_set_num_threads(threads);
			memset(more, 0, bytes);
			CHECK(walk_tree(&g, &tree, &walk, &count) == NB_OK);
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
		CHECK(walk_tree(&g, &again, &walk, NULL) == NB_OK);
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
		drop(&b);
		drop(&s);
	}
}

/* Many bodies in one place: no force on each other, linear time, potential of the others. */
static void test_walk_coincident(void)
{
	struct nb_gravity_count count;
	random_state = 20241119;
	for (int kind = 0; kind < 3; kind++) {
		const size_t n = kind ? 5000 : UNIT_SANITIZED ? 100000 : 1000000, others = kind ? 100 : 0;
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
					CHECK_BELOW(e.rms, theta > 0 ? 6e-3 : precision == NB_F64 ? 1e-13 : 3e-6);
					CHECK_BELOW(e.pot, theta > 0 ? 6e-3 : precision == NB_F64 ? 1e-12 : 3e-6);
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
				CHECK(walk_tree(&g, &tree, &walk, &count) == NB_OK);
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
		drop(&b);
	}
}

/* Nearly in one place, by the measure of the root and of the softening. */
static void test_walk_nearly_coincident(void)
{
	struct nb_gravity_count count;
	struct bodies b = bodies_alloc(6000, 3);
	for (size_t i = 0; i < b.n; i++) {
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] = i ? 1 + 1e-9 * uniform() : 0;
		b.mass[i] = uniform() / (double)b.n;
	}
	bodies_sort(&b);
	struct nb_tree tree = build(&b, 8, 2);
	CHECK(tree.nnode > 500);
	struct nb_tree_walk walk = {.theta = 0.5};
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct errors e = walk_errors(&b, &tree, precision, 0.01, &walk, &count);
		CHECK_BELOW(e.rms, 1e-4);
		CHECK_BELOW(e.pot, 1e-5);
		CHECK(count.p2p < 500 * b.n);
		/* separations are relative to the group, in f32 too */
		e = walk_errors(&b, &tree, precision, 0, &walk, &count);
		CHECK_BELOW(e.rms, 6e-4);
		CHECK(count.p2p < b.n * b.n / 2);
	}
	nb_tree_free(&tree);
	drop(&b);
}

/* Massless bodies feel and do not act; nothing but massless bodies. */
static void test_walk_massless(void)
{
	struct nb_gravity_count count;
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
		drop(&b);
	}
}

/* The same system in other units has the same errors. */
static void test_walk_units(void)
{
	struct nb_gravity_count count;
	const double unit[][2] = {{1, 1}, {1e12, 1e41}, {1e-15, 1e-30}, {1e90, 1e100}, {1e-80, 1e-100}};
	for (int precision = NB_F32; precision <= NB_F64; precision++)
		for (size_t u = 0; u < sizeof unit / sizeof *unit; u += 1 + UNIT_SANITIZED) {
			struct bodies b = plummer_in_units(5000, unit[u][0], unit[u][1]);
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
			drop(&b);
		}
}

/* Pairs without softening, one body on each side of the plane between the halves of the tree: f32 sees their
 * separations, a millionth of the whole, as finely as those in a group. */
static void test_walk_close_leaves(void)
{
	struct bodies b = bodies_alloc(2000, 3);
	for (size_t i = 0; i < b.n; i++) {
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] = i < 2 ? (double)i : 0.01 + 0.98 * uniform();
		b.mass[i] = 1 / (double)b.n;
	}
	for (size_t i = 2; i < 400; i += 2) {
		memcpy(b.pos + 3 * i + 3, b.pos + 3 * i, 3 * sizeof *b.pos);
		b.pos[3 * i] = 0.5 - 5e-7;
		b.pos[3 * i + 3] = 0.5 + 5e-7;
	}
	bodies_sort(&b);
	struct nb_tree tree = build(&b, 16, 2);
	const struct nb_tree_walk walk = {.theta = 0.5};
	struct nb_gravity_count count;
	CHECK_BELOW(walk_errors(&b, &tree, NB_F32, 0, &walk, &count).rms, 1e-6);
	nb_tree_free(&tree);
	drop(&b);
}

/* Units in which squares of lengths are out of range: the forces are those of other units, times a power of two. */
static void test_walk_extreme_units(void)
{
	const size_t n = 8000;
	double *want = nb_alloc(n, 3 * sizeof *want), *got = nb_alloc(n, 3 * sizeof *got);
	for (int length = -600; length <= 600; length += 600) {
		struct bodies b = plummer_in_units(n, ldexp(1, length), ldexp(1, 3 * length / 2));
		struct nb_tree tree = build(&b, 16, 2);
		struct nb_tree_walk walk = {.theta = 0.5};
		struct nb_gravity g = {.n = n,
			.pos = b.pos,
			.mass = b.mass,
			.acc = got,
			.eps = ldexp(0.01, length),
			.G = ldexp(1, length / 2)};
		struct nb_gravity_count count = {0};
		CHECK(walk_tree(&g, &tree, &walk, &count) == NB_OK);
		CHECK(count.p2p < n * n / 2);
		if (length == -600)
			memcpy(want, got, n * 3 * sizeof *want);
		double worst = 0;
		for (size_t i = 0; i < 3 * n; i++)
			worst = fmax(worst, fabs(got[i] - want[i]));
		CHECK_BELOW(worst, 1e-4);
		nb_tree_free(&tree);
		drop(&b);
	}
	nb_free(want);
	nb_free(got);
}

/* Ten cores, each a thousandth of the one around it, the smallest of 1e-27, in all precisions, against sums in long
 * double: in f32 a separation may be of any size, and what is around a core is as far as that. */
static void test_walk_cores(void)
{
	const size_t n = UNIT_SANITIZED ? 1000 : 2000;
	struct bodies b = bodies_alloc(n, 3);
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] = pow(1e-3, (double)(i % 10)) * (uniform() - 0.5);
		b.mass[i] = 1 / (double)n;
	}
	bodies_sort(&b);
	struct nb_tree tree = build(&b, 8, 2);
	double *acc = nb_alloc(n, 3 * sizeof *acc);
	for (int precision = NB_F32; precision <= NB_F64; precision++) {
		struct nb_tree_walk walk = {.theta = 0.5};
		struct nb_gravity g = {
			.n = n, .pos = b.pos, .mass = b.mass, .acc = acc, .G = 1, .precision = precision};
		CHECK(walk_tree(&g, &tree, &walk, NULL) == NB_OK);
		double sum = 0;
		for (size_t i = 0; i < n; i++) {
			long double want[3] = {0}, size = 0, error = 0;
			for (size_t j = 0; j < n; j++) {
				long double x[3], r2 = 0;
				for (size_t d = 0; d < 3; d++) {
					x[d] = (long double)b.pos[3 * j + d] - (long double)b.pos[3 * i + d];
					r2 += x[d] * x[d];
				}
				for (size_t d = 0; j != i && d < 3; d++)
					want[d] += (long double)b.mass[j] * x[d] / (r2 * sqrtl(r2));
			}
			for (size_t d = 0; d < 3; d++) {
				size += want[d] * want[d];
				error += (want[d] - (long double)acc[3 * i + d]) *
					 (want[d] - (long double)acc[3 * i + d]);
			}
			sum += (double)(error / size);
		}
		CHECK_BELOW(sqrt(sum / (double)n), 5e-4);
	}
	nb_free(acc);
	nb_tree_free(&tree);
	drop(&b);
}

/* A deep hierarchy: each body half as far from the origin as the one before. */
static void test_walk_hierarchy(void)
{
	struct nb_gravity_count count;
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
	drop(&b);
}

/* Light bodies far around a heavy core: what an expansion leaves out of the many cells of the core has one direction
 * and adds up, and is allowed for. */
static void test_walk_halo(void)
{
	for (int wide = 0; wide < 2; wide++) {
		random_state = 5150;
		struct bodies b = bodies_alloc(20000, 3);
		for (size_t i = 0; i < b.n; i++) {
			on_sphere((i % 2 ? 1 : wide ? 0.1 : 0.05) * cbrt(uniform()), b.pos + 3 * i);
			b.mass[i] = i % 2 ? 1e-6 : 1;
		}
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 16, 2);
		struct nb_tree_walk walk = {.theta = 0.3};
		struct nb_gravity_count count;
		/* measured: 2.2e-6, wide 2.9e-6; if each cell is judged by itself, 6e-6 and 8e-6 */
		CHECK_BELOW(walk_errors(&b, &tree, NB_F64, 1e-3, &walk, &count).p50, wide ? 4.5e-6 : 3.5e-6);
		nb_tree_free(&tree);
		drop(&b);
	}
}

/* A close pair beside a few bodies that alone would be one group: the two feel each other as exactly as f32 can,
 * however close they are. */
static void test_walk_knot(void)
{
	struct nb_gravity_count count;
	for (int exponent = 3; exponent <= 18; exponent += 3) {
		random_state = 99;
		struct bodies b = bodies_alloc(40, 3);
		for (size_t i = 0; i < b.n; i++) {
			for (size_t d = 0; d < 3; d++)
				b.pos[3 * i + d] = i < 2 ? 0 : d ? uniform() : 0.6 + 0.4 * uniform();
			b.mass[i] = 1 + uniform();
		}
		b.pos[1] = pow(10, -exponent);
		bodies_sort(&b);
		struct nb_tree tree = build(&b, 1, 2);
		for (int precision = NB_F32; precision <= NB_F64; precision++) {
			struct nb_tree_walk walk = {.theta = 0};
			struct errors e = walk_errors(&b, &tree, precision, 0, &walk, &count);
			CHECK_BELOW(e.rms, precision == NB_F64 ? 1e-13 : 1e-6);
		}
		nb_tree_free(&tree);
		drop(&b);
	}
}

/* Trees that no builder made: a chain as long as the check allows, and nonsense in the floats, which the check refuses.
 */
static void test_walk_foreign(void)
{
	struct bodies b = model(PLUMMER, 1000);
	struct nb_tree tree = build(&b, 8, 2), chain = tree;
	const size_t depth = 2000, n = depth + tree.nnode;
	chain.nnode = n;
#define NB_NODE_COLUMN(type, member, components, order) chain.member = nb_alloc(n, (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	for (size_t i = 0; i < n; i++) {
		const size_t from = i < depth ? 0 : i - depth;
#define NB_NODE_COLUMN(type, member, components, order) \
	memcpy(chain.member + (components)*i, tree.member + (components)*from, (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
		if (i < depth) {
			chain.child[i] = (uint32_t)i + 1;
			chain.nchild[i] = 1;
		} else if (tree.nchild[from]) {
			chain.child[i] = tree.child[from] + (uint32_t)depth;
		}
	}
	CHECK(tree_fault(&chain, b.n, b.pos, b.mass) == NULL);
	struct nb_tree_walk walk = {.theta = 0.5};
	struct nb_gravity_count count;
	struct errors e = walk_errors(&b, &chain, NB_F32, 0.01, &walk, &count);
	CHECK(e.rms < 1e-3);

	double *acc = nb_alloc(b.n, 3 * sizeof *acc);
	struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1};
	const double nasty[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 0};
	for (int k = 0; k < 1000; k++) {
		double *column = k % 4 == 0 ? tree.box : k % 4 == 1 ? tree.com : k % 4 == 2 ? tree.mass : tree.quad;
		size_t width = k % 4 == 2 ? 1 : k % 4 == 1 ? 3 : 6, at = random_u64() % (tree.nnode * width);
		double was = column[at], put = nasty[random_u64() % 6];
		if (UNIT_SANITIZED && k / 4 % 8)
			continue;
		column[at] = put;
		int status = walk_tree(&g, &tree, &walk, NULL);
		CHECK(status == NB_OK || status == NB_ENONFINITE || status == NB_EFAR);
		CHECK(column[at] == was || tree_fault(&tree, b.n, b.pos, b.mass) != NULL);
		column[at] = was;
	}
	nb_free(acc);
	nb_tree_free(&tree);
	nb_tree_free(&chain);
	drop(&b);
}

/* What threads waited for the last one, as a part of a walk by two: a half where one has done it all.  The least of
 * some walks, as other programs may keep a thread from working. */
static void test_walk_is_shared(void)
{
	enum { TRIES = 50 };
	struct bodies b = model(PLUMMER, 6000);
	struct nb_tree tree = build(&b, 16, 2);
	double *acc = nb_alloc(b.n, 3 * sizeof *acc), least = 1;
	const struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc, .eps = 0.01, .G = 1};
	const struct nb_tree_walk walk = {.theta = 0.5};
	const int threads = omp_get_max_threads();
	omp_set_num_threads(2);
	for (int k = 0; k < TRIES && omp_get_num_procs() > 1 && least > 0.3; k++) {
		struct nb_laps laps = {0};
		nb_laps_begin(&laps);
		CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
		nb_laps_begin(NULL);
		for (int l = 0; l < laps.n; l++)
			if (laps.lap[l].stage && strcmp(laps.lap[l].stage, "walk") == 0)
				least = fmin(least, laps.lap[l].waited / laps.lap[l].seconds);
	}
	CHECK(omp_get_num_procs() < 2 || least < 0.3);
	omp_set_num_threads(threads);
	nb_free(acc);
	nb_tree_free(&tree);
	drop(&b);
}

/* The same tree with the children of a node behind those of its siblings' last, as of a depth-first search. */
static struct nb_tree depth_first(const struct nb_tree *tree)
{
	struct nb_tree other = *tree;
	const size_t n = tree->nnode;
	uint32_t *from = nb_alloc(n, sizeof *from), *todo = nb_alloc(n, sizeof *todo);
	size_t ntodo = 1, taken = 1;
#define NB_NODE_COLUMN(type, member, components, order) other.member = nb_alloc(n, (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	from[0] = todo[0] = 0;
	while (ntodo > 0) {
		const size_t k = todo[--ntodo], i = from[k];
#define NB_NODE_COLUMN(type, member, components, order) \
	memcpy(other.member + (components)*k, tree->member + (components)*i, (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
		other.child[k] = tree->nchild[i] ? (uint32_t)taken : 0;
		for (uint32_t c = 0; c < tree->nchild[i]; c++) {
			from[taken] = tree->child[i] + c;
			todo[ntodo++] = (uint32_t)taken++;
		}
	}
	CHECK(taken == n);
	nb_free(from);
	nb_free(todo);
	return other;
}

/* Trees of devices are in another order than by levels. */
static void test_walk_depth_first(void)
{
	struct bodies b = model(PLUMMER, 6000);
	struct nb_tree tree = build(&b, 8, 2), other = depth_first(&tree);
	double *acc[2] = {nb_alloc(b.n, 3 * sizeof(double)), nb_alloc(b.n, 3 * sizeof(double))};
	const struct nb_tree_walk walk = {.theta = 0.5, .order = order};
	CHECK(tree.nnode > 1 << 10);
	CHECK(memcmp(tree.child, other.child, tree.nnode * sizeof *tree.child) != 0);
	for (int k = 0; k < 2; k++) {
		const struct nb_gravity g = {
			.n = b.n, .pos = b.pos, .mass = b.mass, .acc = acc[k], .eps = 0.01, .G = 1};
		CHECK(nb_gravity_tree_cpu(&g, k ? &other : &tree, &walk, NULL) == NB_OK);
	}
	CHECK(memcmp(acc[0], acc[1], b.n * 3 * sizeof(double)) == 0);
	nb_free(acc[0]);
	nb_free(acc[1]);
	nb_tree_free(&tree);
	nb_tree_free(&other);
	drop(&b);
}

static void test_all(void)
{
	test_walk_tight_pair();
	random_state = 20241119; /* the bodies of these tests do not depend on the order before */
	test_walk_direct();
	test_walk_errors();
	test_walk_theta();
	test_walk_reproducible();
	if (order == 3 || (UNIT_SANITIZED && order)) /* what comes has many walks, of the same text for each order */
		return;
	test_walk_coincident();
	test_walk_nearly_coincident();
	test_walk_massless();
	test_walk_close_leaves();
	test_walk_cores();
	test_walk_hierarchy();
	test_walk_least_acceleration();
	test_walk_knot();
	test_walk_is_shared();
	test_walk_units();
	test_walk_extreme_units();
	test_walk_halo();
	test_walk_axes();
	test_walk_foreign();
	test_walk_depth_first();
}

int main(void)
{
	static const int orders[] = {0, 3, 4};
	for (int k = 0; k < 3; k += 1 + UNIT_SANITIZED) {
		order = orders[k];
		test_all();
	}
	return unit_end();
}
