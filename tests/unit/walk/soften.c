/* The tree walk with a softening of each body, and with splines, against the direct sum. */
#include "tests/unit/tree/bodies.h"

#include <string.h>

enum { SAMPLE = UNIT_SANITIZED ? 150 : 300 };

/* How the softenings are: two kinds of bodies, as stars and dark matter; over three decades; one giant; as one. */
enum mix { TWO_KINDS, DECADES, GIANT, SAME, MIXES };
static const char *const mix_name[] = {"two kinds", "three decades", "a giant", "the same"};
static const char *const law_name[] = {"plummer", "spline"};
static const double common = 0.02;

static double *softenings(const struct bodies *b, enum mix mix)
{
	double *eps = nb_alloc(b->n, sizeof *eps);
	for (size_t i = 0; i < b->n; i++)
		eps[i] = mix == TWO_KINDS ? (random_u64() % 4 ? 5 : 1) * common
			 : mix == DECADES ? 0.1 * pow(10, -3 * uniform())
			 : mix == GIANT	  ? (i == b->n / 3 ? 0.3 : 0.1 * common)
					  : common;
	return eps;
}

struct outcome {
	double rms, p99, pot, jerk; /* relative errors; the greatest of the potential */
	struct nb_gravity_count count;
};

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double relative(const double *got, const double *want, double *num, double *den)
{
	double e = 0, a = 0;
	for (int d = 0; d < 3; d++) {
		e += (got[d] - want[d]) * (got[d] - want[d]);
		a += want[d] * want[d];
	}
	*num += e;
	*den += a;
	return e == 0 ? 0 : sqrt(e / a);
}

/* The walk's errors; jerks of bodies in motion if vel is not NULL. */
static struct outcome walk(const struct nb_gravity *as, const struct nb_tree *tree, const struct nb_tree_walk *how)
{
	static double want[3 * SAMPLE], want_pot[SAMPLE], want_jerk[3 * SAMPLE], error[SAMPLE];
	static size_t target[SAMPLE];
	struct nb_gravity g = *as;
	struct outcome o = {0};
	const size_t sample = g.n < SAMPLE ? g.n : SAMPLE;
	double *acc = nb_alloc(g.n, 3 * sizeof *acc), *pot = nb_alloc(g.n, sizeof *pot),
	       *jerk = nb_alloc(g.n, 3 * sizeof *jerk), num = 0, den = 0, jerk_num = 0, jerk_den = 0;
	for (size_t k = 0; k < sample; k++)
		target[k] = k * g.n / sample;
	CHECK(nb_gravity_ref(&g, target, sample, want, want_pot, g.vel ? want_jerk : NULL) == NB_OK);
	g.acc = acc;
	g.pot = pot;
	g.jerk = g.vel ? jerk : NULL;
	CHECK(nb_gravity_tree_cpu(&g, tree, how, &o.count) == NB_OK);
	for (size_t k = 0; k < sample; k++) {
		error[k] = relative(acc + 3 * target[k], want + 3 * k, &num, &den);
		const double e = fabs(pot[target[k]] - want_pot[k]) / (want_pot[k] == 0 ? 1 : -want_pot[k]);
		o.pot = e > o.pot || e != e ? e : o.pot;
		if (g.vel)
			(void)relative(jerk + 3 * target[k], want_jerk + 3 * k, &jerk_num, &jerk_den);
	}
	/* without potentials it is another loop */
	if (!g.vel) {
		double *alone = jerk, difference = 0, all = 0;
		g.acc = alone;
		g.pot = NULL;
		CHECK(nb_gravity_tree_cpu(&g, tree, how, NULL) == NB_OK);
		for (size_t i = 0; i < g.n; i++)
			(void)relative(alone + 3 * i, acc + 3 * i, &difference, &all);
		CHECK(difference <= 1e-12 * all);
	}
	qsort(error, sample, sizeof *error, ascending);
	o.rms = num == 0 ? 0 : sqrt(num / den);
	o.p99 = error[sample - 1 - sample / 100];
	o.jerk = g.vel ? sqrt(jerk_num / jerk_den) : 0;
	nb_free(acc);
	nb_free(pot);
	nb_free(jerk);
	return o;
}

static struct nb_gravity problem(const struct bodies *b, const double *eps, enum nb_softening softening)
{
	return (struct nb_gravity){
		.n = b->n, .pos = b->pos, .mass = b->mass, .G = 1, .softening = softening, .body_eps = eps};
}

static void expect(const char *what, enum model kind, enum mix mix, const struct nb_gravity *g, double got, double most)
{
	unit_checked++;
	if (got <= most)
		return;
	unit_failed++;
	fprintf(stderr, "%s of %s, %s, %s, precision %d: %.3g, want <= %.3g\n", what, model_name[kind], mix_name[mix],
		law_name[g->softening], (int)g->precision, got, most);
}

/* theta = 0 is the direct sum. */
static void direct(void)
{
	static const size_t sizes[] = {1, 2, 3, 40, 97, 257, 1500};
	static const double tolerance[] = {2e-5, 4e-6, 1e-12};
	static const char *const isa_name[] = {"plain", "avx2", "avx512"};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes - UNIT_SANITIZED; s++)
		for (int kind = PLUMMER; kind <= CLUSTERS; kind++)
			for (int k = 0; k < 2 * MIXES * 9; k++) {
				const enum mix mix = (enum mix)(k / 2 % MIXES);
				if (s == 6 && (k + kind) % 5) /* a fifth of the cases will do */
					continue;
				struct bodies b = model((enum model)kind, sizes[s]);
				double *eps = softenings(&b, mix);
				struct nb_tree tree = build(&b, k % 3 ? 1 : 40, 2);
				struct nb_tree_walk how = {.theta = 0};
				struct nb_gravity g = problem(&b, eps, (enum nb_softening)(k % 2));
				g.precision = (enum nb_precision)(k / 8 % 3);
				setenv("NB_SIMD", isa_name[k / 24], 1);
				const struct outcome o = walk(&g, &tree, &how);
				unsetenv("NB_SIMD");
				expect("error", (enum model)kind, mix, &g, o.rms, tolerance[g.precision]);
				expect("potential", (enum model)kind, mix, &g, o.pot, 10 * tolerance[g.precision]);
				CHECK(o.count.p2p == (uint64_t)b.n * (b.n - 1) && o.count.m2l == 0 && o.count.m2p == 0);
				nb_tree_free(&tree);
				nb_free(eps);
				bodies_free(&b);
			}
}

/* At an opening angle errors are what they are with one softening. */
static void errors(void)
{
	static const double angle[] = {0.3, 0.5, 0.8};
	for (int kind = PLUMMER; kind <= CLUSTERS; kind++) {
		struct bodies b = model((enum model)kind, UNIT_SANITIZED ? 1500 : 8000);
		struct nb_tree tree = build(&b, 16, 2);
		for (size_t a = 0; a < 3; a++) {
			struct nb_tree_walk how = {.theta = angle[a]};
			/* the larger of errors with a small and with a large softening for all */
			struct nb_gravity one = problem(&b, NULL, NB_PLUMMER);
			one.eps = common;
			struct outcome want = walk(&one, &tree, &how);
			one.eps = 5 * common;
			const struct outcome soft = walk(&one, &tree, &how);
			want.rms = fmax(want.rms, soft.rms);
			want.p99 = fmax(want.p99, soft.p99);
			want.pot = fmax(want.pot, soft.pot);
			for (int k = kind == PLUMMER ? 0 : (int)a % 2; k < 2 * MIXES; k += kind == PLUMMER ? 1 : 3) {
				const enum mix mix = (enum mix)(k / 2);
				double *eps = softenings(&b, mix);
				struct nb_gravity g = problem(&b, eps, (enum nb_softening)(k % 2));
				g.precision = a == 1 ? NB_F64 : NB_F32;
				const struct outcome o = walk(&g, &tree, &how);
				if (getenv("NB_UNIT_FIGURES"))
					printf("%s %s %s theta %g: rms %.2e (%.2e) p99 %.2e (%.2e) pot %.2e (%.2e), "
					       "work "
					       "%.2f %.2f %.2f\n",
						model_name[kind], mix_name[mix], law_name[k % 2], angle[a], o.rms,
						want.rms, o.p99, want.p99, o.pot, want.pot,
						(double)o.count.p2p / (double)want.count.p2p,
						(double)o.count.m2p / (double)want.count.m2p,
						(double)o.count.m2l / (double)want.count.m2l);
				expect("error", (enum model)kind, mix, &g, o.rms, 1.5 * want.rms);
				expect("99th percentile", (enum model)kind, mix, &g, o.p99, 1.5 * want.p99);
				expect("potential", (enum model)kind, mix, &g, o.pot, 20 * want.pot);
				CHECK(UNIT_SANITIZED || o.count.m2l > 0);
				nb_free(eps);
			}
		}
		nb_tree_free(&tree);
		bodies_free(&b);
	}
}

/* Two boxes, far apart.  The bodies of one have a softening between the two kinds of the other, so that a cell of
 * the other acts on them neither with the mean of its softenings nor with theirs: its error is of first order. */
static void between(void)
{
	struct bodies b = bodies_alloc(2000, 3);
	for (size_t i = 0; i < b.n; i++) {
		b.mass[i] = 1;
		for (size_t d = 0; d < 3; d++)
			b.pos[3 * i + d] = 0.1 * uniform() + (d == 0 && i % 2 ? 4 : 0);
	}
	bodies_sort(&b);
	double *eps = nb_alloc(b.n, sizeof *eps);
	for (size_t i = 0; i < b.n; i++)
		eps[i] = b.pos[3 * i] > 0.5 ? 0.2 : i % 2 ? 0.01 : 0.5;
	struct nb_tree tree = build(&b, 16, 2);
	for (int p = NB_F32; p <= NB_F64; p++) {
		struct nb_gravity g = problem(&b, eps, NB_PLUMMER);
		const struct nb_tree_walk how = {.theta = 0.24};
		g.precision = (enum nb_precision)p;
		/* 3.8e-5; as if softer than all of a cell, 9.2e-5 */
		expect("99th percentile between the kinds", UNIFORM, TWO_KINDS, &g, walk(&g, &tree, &how).p99, 6e-5);
	}
	nb_tree_free(&tree);
	nb_free(eps);
	bodies_free(&b);
}

/* The same softening for each is one for all: the same cells are taken, with the same result. */
static void same(void)
{
	struct bodies b = model(PLUMMER, UNIT_SANITIZED ? 2000 : 5000);
	double *eps = softenings(&b, SAME);
	for (int order = 1; order <= 2; order++)
		for (int p = NB_F32; p <= NB_F64; p++)
			for (int acceleration = 0; acceleration < 2; acceleration++) {
				struct nb_tree tree = build(&b, 8, order);
				double *old = nb_alloc(b.n, 3 * sizeof *old), *acc[2];
				struct nb_gravity_count count[2] = {{0}};
				const struct nb_tree_walk how = {.theta = 0.6,
					.mac = acceleration ? NB_MAC_ACCELERATION : NB_MAC_GEOMETRIC,
					.alpha = 0.003,
					.acc_old = old};
				for (size_t k = 0; k < 3 * b.n; k++)
					old[k] = 1;
				for (int each = 0; each < 2; each++) {
					struct nb_gravity g = problem(&b, each ? eps : NULL, NB_PLUMMER);
					g.eps = each ? 0 : common;
					g.precision = (enum nb_precision)p;
					g.acc = acc[each] = nb_alloc(b.n, 3 * sizeof *old);
					CHECK(nb_gravity_tree_cpu(&g, &tree, &how, &count[each]) == NB_OK);
				}
				CHECK(count[0].p2p == count[1].p2p && count[0].m2l == count[1].m2l);
				CHECK(count[0].m2p == count[1].m2p && count[0].groups == count[1].groups);
				double num = 0, den = 0;
				for (size_t i = 0; i < b.n; i++)
					(void)relative(acc[1] + 3 * i, acc[0] + 3 * i, &num, &den);
				CHECK_NEAR(sqrt(num / den), 0, p == NB_F64 ? 1e-13 : 1e-6);
				nb_free(acc[0]);
				nb_free(acc[1]);
				nb_free(old);
				nb_tree_free(&tree);
			}
	nb_free(eps);
	bodies_free(&b);
}

/* Jerks, of bodies that move. */
static void jerks(void)
{
	struct bodies b = model(PLUMMER, 3000);
	struct nb_tree tree = build(&b, 16, 2);
	double *vel = nb_alloc(b.n, 3 * sizeof *vel);
	for (size_t k = 0; k < 3 * b.n; k++)
		vel[k] = uniform() - 0.5;
	for (int k = 0; k < 2 * MIXES * 2; k++) {
		const enum mix mix = (enum mix)(k / 2 % MIXES);
		double *eps = softenings(&b, mix);
		struct nb_gravity g = problem(&b, eps, (enum nb_softening)(k % 2));
		struct nb_tree_walk how = {.theta = 0.5};
		g.vel = vel;
		g.precision = k / 8 ? NB_F64 : NB_F32;
		const struct outcome o = walk(&g, &tree, &how);
		expect("jerk", PLUMMER, mix, &g, o.jerk, 2e-3);
		expect("error beside jerks", PLUMMER, mix, &g, o.rms, 4e-4);
		nb_free(eps);
	}
	nb_free(vel);
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* Crowds in one place, of one softening or of several, and their neighbours. */
static void coincident(void)
{
	struct bodies b = bodies_alloc(700, 3);
	double *vel = nb_alloc(b.n, 3 * sizeof *vel);
	for (size_t i = 0; i < b.n; i++) {
		b.mass[i] = 0.5 + uniform();
		for (size_t d = 0; d < 3; d++) {
			b.pos[3 * i + d] = i < 300 ? 0.25 : i < 600 ? 0.75 : uniform();
			vel[3 * i + d] = uniform();
		}
	}
	bodies_sort(&b);
	struct nb_tree tree = build(&b, 8, 2);
	double *eps = nb_alloc(b.n, sizeof *eps);
	for (size_t i = 0; i < b.n; i++)
		eps[i] = b.pos[3 * i] == 0.25 ? 0.1 : i % 2 ? 0 : uniform();
	for (int k = 0; k < 6; k++)
		for (int moving = 0; moving < 2; moving++) {
			struct nb_gravity g = problem(&b, eps, (enum nb_softening)(k % 2));
			struct nb_tree_walk how = {.theta = 0};
			g.precision = (enum nb_precision)(k / 2);
			g.vel = moving ? vel : NULL;
			const struct outcome o = walk(&g, &tree, &how);
			expect("error in a crowd", UNIFORM, DECADES, &g, o.rms, g.precision == NB_F64 ? 1e-12 : 1e-5);
			expect("potential in a crowd", UNIFORM, DECADES, &g, o.pot,
				g.precision == NB_F64 ? 1e-12 : 1e-5);
			expect("jerk in a crowd", UNIFORM, DECADES, &g, o.jerk, g.precision == NB_F64 ? 1e-11 : 1e-4);
		}
	nb_free(eps);
	nb_free(vel);
	nb_tree_free(&tree);
	bodies_free(&b);
}

static void refused(void)
{
	static const double bad[] = {NAN, INFINITY, -1};
	struct bodies b = model(PLUMMER, 300);
	struct nb_tree tree = build(&b, 8, 2);
	double *eps = softenings(&b, SAME), *acc = nb_alloc(b.n, 3 * sizeof *acc);
	const struct nb_tree_walk how = {.theta = 0.5};
	for (size_t k = 0; k < 3; k++) {
		struct nb_gravity g = problem(&b, eps, NB_PLUMMER);
		g.acc = acc;
		eps[211] = bad[k];
		CHECK(nb_gravity_tree_cpu(&g, &tree, &how, NULL) == (k < 2 ? NB_ENONFINITE : NB_EINVAL));
	}
	nb_free(eps);
	nb_free(acc);
	nb_tree_free(&tree);
	bodies_free(&b);
}

int main(void)
{
	direct();
	same();
	errors();
	between();
	jerks();
	coincident();
	refused();
	return unit_end();
}
