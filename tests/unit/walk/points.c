/* The field at points by a walk of the tree, against the direct one: errors of points of all kinds beside those of the
 * bodies themselves, laws of softening, orders, precisions and instruction sets; far, few and coincident points; order
 * of the points and number of threads. */
#include "common/cpu.h"
#include "tests/unit/tree/bodies.h"

static const char *const isa_name[] = {"plain", "avx2", "avx512"};
static char label[160];

enum { N = UNIT_SANITIZED ? 3000 : 20000, MOST = UNIT_SANITIZED ? 400 : 800 };

struct errors {
	double rms, p99, most; /* rms(|da|) / rms(f); 99th percentile and largest of |da| / f */
	double pot;	       /* greatest relative error of the potential */
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Of what is at the points, beside the direct sum.  body: rows of the sources that they are at, whose own pull is no
 * part of the strength there; or NULL */
static struct errors compare(const struct nb_gravity *g, const struct nb_gravity_points *points, const uint32_t *body)
{
	static double acc[3 * MOST], pot[MOST], strength[MOST], relative[MOST];
	struct nb_gravity_points exact = *points;
	struct errors e = {0, 0, 0, 0};
	double wrong = 0, size = 0;
	exact.acc = acc;
	exact.pot = pot;
	exact.strength = strength;
	CHECK(points->n <= MOST);
	CHECK(nb_gravity_points_cpu(g, &exact) == NB_OK);
	const struct nb_gravity_points others = {.n = points->n, .target = body, .strength = strength};
	if (body)
		CHECK(nb_gravity_points_cpu(g, &others) == NB_OK);
	for (size_t k = 0; k < points->n; k++) {
		double own = 0;
		for (size_t d = 3 * k; d < 3 * k + 3; d++)
			own += (points->acc[d] - acc[d]) * (points->acc[d] - acc[d]);
		relative[k] = own == 0 ? 0 : sqrt(own) / strength[k];
		wrong += own;
		size += strength[k] * strength[k];
		if (points->pot)
			e.pot = fmax(e.pot, points->pot[k] == pot[k] ? 0 : fabs(points->pot[k] / pot[k] - 1));
		for (size_t d = 3 * k; d < 3 * k + 3; d++)
			CHECK(isfinite(points->acc[d]));
	}
	if (points->n == 0)
		return e;
	qsort(relative, points->n, sizeof *relative, ascending);
	e.rms = wrong == 0 ? 0 : sqrt(wrong / size);
	e.p99 = relative[points->n - 1 - points->n / 100];
	e.most = relative[points->n - 1];
	return e;
}

/* ---- kinds of points ---- */

enum kind { BODIES, OUTSIDE, GRID, PLANE, ONE, ALIKE, TIGHT, KINDS };
static const char *const kind_name[] = {
	"the bodies", "far outside", "grid", "grid on a plane", "one", "coincident", "close together"};

static size_t place(const struct bodies *b, enum kind kind, double *at)
{
	static const size_t count[] = {MOST, MOST, 1000, 900, 1, 300, 200};
	const size_t n = count[kind] < MOST ? count[kind] : MOST;
	for (size_t k = 0; k < n; k++)
		for (size_t d = 0; d < 3; d++) {
			double *x = at + 3 * k + d;
			const double from = b->cube.lo[d] + 0.3 * b->cube.size, step = 0.4 * b->cube.size;
			const double body = b->pos[3 * (k * b->n / n) + d];
			switch (kind) {
			case BODIES: *x = body; break;
			case OUTSIDE: *x = (uniform() - 0.5) * 100 * b->cube.size; break;
			case GRID: *x = from + step * (double)(d ? d == 1 ? k / 10 % 10 : k / 100 : k % 10) / 9; break;
			case PLANE: *x = d == 2 ? 0.01 : from + step * (double)(d ? k / 30 : k % 30) / 29; break;
			case TIGHT: *x = b->pos[d] + 1e-7 * uniform(); break;
			default: *x = b->pos[3 * (b->n / 3) + d] + 0.01;
			}
		}
	return n;
}

/* Bodies among themselves: what the walk of all of them gives these, beside the direct sum without each. */
static struct errors errors_of_bodies(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, const double *at, const uint32_t *body, size_t n)
{
	static double some[3 * MOST];
	struct nb_gravity all = *g;
	struct nb_gravity_points points = {.n = n, .pos = at, .acc = some};
	all.acc = nb_alloc(g->n, 3 * sizeof *all.acc);
	CHECK(nb_gravity_tree_cpu(&all, tree, walk, NULL) == NB_OK);
	for (size_t k = 0; k < n; k++)
		memcpy(some + 3 * k, all.acc + 3 * (size_t)body[k], 3 * sizeof *some);
	nb_free(all.acc);
	return compare(g, &points, body);
}

static void accuracy(enum model kind_of_model, double theta, int order, enum nb_precision precision, double eps)
{
	static double at[3 * MOST], acc[3 * MOST], pot[MOST];
	static uint32_t body[MOST];
	struct bodies b = model(kind_of_model, N);
	struct nb_tree tree = build(&b, 16, 2);
	const struct nb_tree_walk walk = {.theta = theta, .order = order};
	const struct nb_gravity g = {
		.n = b.n, .pos = b.pos, .mass = b.mass, .eps = eps, .G = 1.5, .precision = precision};
	const size_t count = place(&b, BODIES, at);
	for (size_t k = 0; k < count; k++)
		body[k] = (uint32_t)(k * b.n / count);
	const struct errors own = errors_of_bodies(&g, &tree, &walk, at, body, count);
	for (enum kind kind = BODIES; kind < KINDS; kind++) {
		struct nb_gravity_points points = {.n = place(&b, kind, at), .pos = at, .acc = acc, .pot = pot};
		memset(acc, 0xff, sizeof acc);
		memset(pot, 0xff, sizeof pot);
		CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
		const struct errors e = compare(&g, &points, kind == BODIES ? body : NULL);
		snprintf(label, sizeof label,
			"%s, %s, theta %g, order %d, precision %d: rms %.3g (%.3g), p99 %.3g (%.3g), pot %.3g",
			model_name[kind_of_model], kind_name[kind], theta, order, precision, e.rms, own.rms, e.p99,
			own.p99, e.pot);
		if (getenv("SHOW"))
			puts(label);
		/* few points say less of errors than many; and a grid has fewer sources close to it than bodies have */
		const double few = UNIT_SANITIZED ? 6 : 1; /* of so few bodies most forces on them are direct */
		const double slack = few * (kind == BODIES ? 1.1 : kind == GRID || kind == PLANE ? 2 : 3);
		WANT(e.p99 <= slack * own.p99 + 1e-7);
		WANT(e.rms <= slack * fmax(own.rms, own.p99) + 1e-7);
		WANT(e.pot <= few * 10 * own.p99 + 2e-6);
		points.pot = NULL; /* another kernel */
		CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
		WANT(fabs(compare(&g, &points, kind == BODIES ? body : NULL).rms - e.rms) < 2e-7);
	}
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* ---- softening ---- */

static void softening(void)
{
	static double at[3 * MOST], at_eps[MOST], acc[3 * MOST], pot[MOST];
	struct bodies b = model(PLUMMER, UNIT_SANITIZED ? 750 : 2500);
	struct nb_tree tree = build(&b, 16, 2);
	double *eps = nb_alloc(b.n, sizeof *eps);
	for (size_t i = 0; i < b.n; i++)
		eps[i] = 1e-4 + (i % 3 ? 0.3 * pow(uniform(), 4) : 0);
	for (int c = 0; c < 16; c++) {
		struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .G = 1, .precision = NB_F64};
		struct nb_gravity_points points = {.pos = at, .acc = acc, .pot = pot};
		points.n = place(&b, BODIES, at);
		for (size_t k = 0; k < points.n; k++) {
			at_eps[k] = k % 2 ? 0.2 * uniform() : 0;
			at[3 * k] += k % 4 ? 0 : 0.05;
		}
		g.eps = c & 8 ? 0 : 0.05;
		g.body_eps = c & 1 ? eps : NULL;
		g.softening = c & 2 ? NB_SPLINE : NB_PLUMMER;
		points.eps = c & 4 ? at_eps : NULL;
		for (int exact = 0; exact < 2; exact++) {
			const struct nb_tree_walk walk = {.theta = exact ? 0 : 0.4};
			CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
			const struct errors e = compare(&g, &points, NULL);
			snprintf(label, sizeof label, "softening %d, theta %g: rms %.3g, p99 %.3g, pot %.3g", c,
				walk.theta, e.rms, e.p99, e.pot);
			WANT(e.most < (exact ? 1e-13 : 5e-3) && e.p99 < (exact ? 1e-13 : 3e-4));
			WANT(e.pot < (exact ? 1e-12 : 2e-3));
		}
	}
	nb_free(eps);
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* ---- far and strange points ---- */

static void extremes(void)
{
	static const double far[] = {1e3, 1e6, 1e9, 1e12, 1e20, 1e38, 1e100, 1e150};
	enum { FAR = sizeof far / sizeof *far, COUNT = 40 * FAR };
	static double at[3 * COUNT], acc[3 * COUNT], pot[COUNT];
	struct bodies b = model(PLUMMER, 2000);
	for (size_t i = 0; i < b.n; i++)
		b.mass[i] = i % 3 ? b.mass[i] : 0;
	struct nb_tree tree = build(&b, 8, 2);
	const struct nb_tree_walk walk = {.theta = 0.4};
	for (enum nb_precision precision = NB_F32; precision <= NB_F64; precision++)
		for (int together = 0; together < 2; together++)
			for (size_t f = 0; f < FAR; f++) {
				const struct nb_gravity g = {.n = b.n,
					.pos = b.pos,
					.mass = b.mass,
					.eps = f % 2 ? 0.01 : 0,
					.G = 1.5,
					.precision = precision};
				const size_t n = together ? COUNT : 1;
				for (size_t k = 0; k < 3 * n; k++)
					at[k] = (uniform() - 0.5) *
						(together ? k % 7 ? far[(f + k) % FAR] : 1 : far[f]);
				const struct nb_gravity_points points = {.n = n, .pos = at, .acc = acc, .pot = pot};
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
				for (size_t k = 0; k < n; k++) { /* one by one: fields differ by 300 decades */
					const struct nb_gravity_points one = {
						.n = 1, .pos = at + 3 * k, .acc = acc + 3 * k, .pot = pot + k};
					const struct errors e = compare(&g, &one, NULL);
					snprintf(label, sizeof label, "at %g %g %g, precision %d: %.3g, pot %.3g",
						at[3 * k], at[3 * k + 1], at[3 * k + 2], precision, e.most, e.pot);
					WANT(e.most < 1e-3 || fabs(acc[3 * k]) < 1e-290);
					WANT(e.pot < 1e-3);
				}
			}
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* No points, no sources, one source, sources without mass, bad arguments. */
static void edges(void)
{
	static double at[300], acc[300], pot[100], eps[100];
	struct nb_gravity_points points = {.n = 100, .pos = at, .acc = acc, .pot = pot};
	const struct nb_tree_walk walk = {.theta = 0.5};
	for (size_t n = 0; n <= 2; n++)
		for (int massless = 0; massless < 2; massless++) {
			struct bodies b = model(UNIFORM, n);
			for (size_t i = 0; i < n && massless; i++)
				b.mass[i] = 0;
			for (size_t k = 0; k < 300; k++)
				at[k] = k < 60 && n > 0 ? b.pos[k % 3] : k < 90 ? 0.5 : uniform();
			struct nb_tree tree = build(&b, 1, 1);
			struct nb_gravity g = {
				.n = n, .pos = b.pos, .mass = b.mass, .G = 1, .eps = 0.25, .precision = NB_F64};
			for (int soft = 0; soft < 2; soft++, g.eps = 0) {
				memset(acc, 0xff, sizeof acc);
				memset(pot, 0xff, sizeof pot);
				points.n = 100;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
				const struct errors e = compare(&g, &points, NULL);
				CHECK(e.most < 1e-12 && e.pot < 1e-12);
				points.n = 0;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
			}
			if (n == 2) {
				struct nb_tree_walk by_acc = walk;
				by_acc.mac = NB_MAC_ACCELERATION;
				by_acc.alpha = 0.1;
				by_acc.acc_old = acc;
				points.n = 1;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &by_acc, &points, NULL) == NB_EUNSUPPORTED);
				points.eps = eps;
				eps[0] = -1;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_EINVAL);
				eps[0] = INFINITY;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_ENONFINITE);
				points.eps = NULL;
				at[1] = NAN;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_ENONFINITE);
				at[1] = 0;
				g.eps = -1;
				CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_EINVAL);
			}
			nb_tree_free(&tree);
			bodies_free(&b);
		}
}

/* What comes out does not hang on the order of the points, nor on threads. */
static void orders(void)
{
	enum { COUNT = 4000 };
	static double at[3 * COUNT], eps[COUNT], acc[3 * COUNT], pot[COUNT];
	static double other_at[3 * COUNT], other_eps[COUNT], other_acc[3 * COUNT], other_pot[COUNT];
	struct bodies b = model(CLUSTERS, N);
	struct nb_tree tree = build(&b, 8, 2);
	const struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .G = 1, .eps = 0.01, .precision = NB_F32};
	const struct nb_tree_walk walk = {.theta = 0.6};
	for (size_t k = 0; k < COUNT; k++) {
		for (size_t d = 0; d < 3; d++)
			at[3 * k + d] = k < 600 ? 0.3
						: 2.5 * uniform() - 0.25; /* more in a place than are walked at once */
		eps[k] = k % 2 ? 0.1 * (double)(k % 5) : 0;
	}
	for (int soft = 0; soft < 2; soft++)
		for (int threads = 1; threads <= 4; threads++) {
			struct nb_gravity_points points = {
				.n = COUNT, .pos = at, .acc = acc, .pot = pot, .eps = soft ? eps : NULL};
			struct nb_gravity_points other = {.n = COUNT,
				.pos = other_at,
				.acc = other_acc,
				.pot = other_pot,
				.eps = soft ? other_eps : NULL};
			for (size_t k = 0; k < COUNT; k++) {
				memcpy(other_at + 3 * (k * 1237 % COUNT), at + 3 * k, 3 * sizeof *at);
				other_eps[k * 1237 % COUNT] = eps[k];
			}
			nb_cpu_set_threads(1);
			CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, NULL) == NB_OK);
			nb_cpu_set_threads(threads);
			CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &other, NULL) == NB_OK);
			size_t differ = 0;
			for (size_t k = 0; k < COUNT; k++) {
				const size_t row = k * 1237 % COUNT;
				differ += memcmp(acc + 3 * k, other_acc + 3 * row, 3 * sizeof *acc) != 0;
				differ += pot[k] != other_pot[row];
			}
			CHECK(differ == 0);
		}
	nb_cpu_set_threads(2);
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* Few points among many bodies cost as much as the bodies do that are taken one by one, not as all. */
static void cost(void)
{
	static double at[3 * 64], acc[3 * 64];
	struct bodies b = model(PLUMMER, 40000);
	struct nb_tree tree = build(&b, 16, 2);
	const struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .G = 1, .eps = 0.01, .precision = NB_F32};
	const struct nb_tree_walk walk = {.theta = 0.6};
	const struct nb_gravity_points points = {.n = 64, .pos = at, .acc = acc};
	struct nb_gravity_count count = {0, 0, 0, 0};
	for (size_t k = 0; k < 64; k++)
		for (size_t d = 0; d < 3; d++)
			at[3 * k + d] = (double)((k >> 2 * d & 3)) - 1.5;
	CHECK(nb_gravity_tree_points_cpu(&g, &tree, &walk, &points, &count) == NB_OK);
	CHECK(count.groups > 1 && count.p2p + count.m2p < 64 * b.n / 10);
	nb_tree_free(&tree);
	bodies_free(&b);
}

int main(void)
{
	const int best = (int)nb_cpu_isa();
	nb_cpu_set_threads(2);
	for (int m = 0; m < MODELS && !(UNIT_SANITIZED && m > 1); m++) {
		accuracy((enum model)m, 0.5, 2, NB_F32, 0.001);
		accuracy((enum model)m, 0.3, 3, NB_F32, 0);
		accuracy((enum model)m, 0.3, 4, NB_F64, 0);
	}
	accuracy(PLUMMER, 0.5, 1, NB_MIXED, 0.1);
	for (int isa = 0; isa <= best; isa++) {
		setenv("NB_SIMD", isa_name[isa], 1);
		softening();
		extremes();
		edges();
		orders();
	}
	cost();
	return unit_end();
}
