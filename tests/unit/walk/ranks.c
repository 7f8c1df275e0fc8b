/* Walks and direct sums by ranks that are threads of this process: the same bytes as by one, for any number of ranks,
 * and ranges of equal work. */
#include "kernels/ranks/ranks.h"

#include "common/mem.h"
#include "kernels/backend/backend.h"
#include "kernels/domain/domain.h"
#include "kernels/motion/motion.h"
#include "tests/unit/random.h"
#include "tests/unit/tree/bodies.h"
#include "tests/unit/tree/world.h"
#include "tests/unit/unit.h"

/* ---- forces --------------------------------------------------------------------------------------- */

enum { N = 8200 };
static const double theta = UNIT_SANITIZED ? 0.9 : 0.5; /* which leaves a third of the work */

struct forces {
	double *acc, *pot, *jerk;
	struct nb_gravity_count count;
};

static struct forces forces_alloc(size_t n)
{
	return (struct forces){nb_alloc(3 * n, sizeof(double)), nb_alloc(n, sizeof(double)),
		nb_alloc(3 * n, sizeof(double)), {0, 0, 0, 0}};
}

static void forces_free(struct forces *f)
{
	nb_free(f->acc);
	nb_free(f->pot);
	nb_free(f->jerk);
}

/* The walk, or the direct sum where there is none. */
static void compute(const struct nb_gravity *what, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	int with_pot, int with_jerk, struct forces *f)
{
	struct nb_gravity g = *what;
	g.acc = f->acc;
	g.pot = with_pot ? f->pot : NULL;
	g.jerk = with_jerk ? f->jerk : NULL;
	memset(f->acc, 0xff, 3 * g.n * sizeof *f->acc);
	memset(f->pot, 0xff, g.n * sizeof *f->pot);
	memset(f->jerk, 0xff, 3 * g.n * sizeof *f->jerk);
	f->count = (struct nb_gravity_count){0, 0, 0, 0};
	CHECK((walk ? nb_gravity_tree_cpu(&g, tree, walk, &f->count) : nb_gravity_direct_cpu(&g, &f->count)) == NB_OK);
}

static void check_same(const struct forces *a, const struct forces *b, size_t n, const char *label)
{
	WANT(memcmp(a->acc, b->acc, 3 * n * sizeof *a->acc) == 0);
	WANT(memcmp(a->pot, b->pot, n * sizeof *a->pot) == 0);
	WANT(memcmp(a->jerk, b->jerk, 3 * n * sizeof *a->jerk) == 0);
	WANT(a->count.p2p == b->count.p2p && a->count.m2p == b->count.m2p && a->count.m2l == b->count.m2l &&
		a->count.groups == b->count.groups);
}

/* By one rank, and by several, with the cuts of the first walk and of the second one: by two and by seven in turns, of
 * sanitized ranks by seven. */
static void check_ranks(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	int with_pot, int with_jerk, const char *what)
{
	static const int sizes[] = {2, 7};
	static size_t k = UNIT_SANITIZED;
	struct forces one = forces_alloc(g->n), several = forces_alloc(g->n);
	char label[200];
	compute(g, tree, walk, with_pot, with_jerk, &one);
	begin(sizes[k]);
	for (int turn = 0; turn < 2; turn++) {
		const size_t jobs = world.jobs;
		compute(g, tree, walk, with_pot, with_jerk, &several);
		snprintf(label, sizeof label, "%s, %d ranks, turn %d", what, sizes[k], turn);
		WANT(world.jobs == jobs + 1);
		check_same(&one, &several, g->n, label);
	}
	end();
	k ^= !UNIT_SANITIZED;
	forces_free(&one);
	forces_free(&several);
}

static void same_bytes(enum model kind, int kernels)
{
	struct bodies b = model(kind, N);
	double *vel = nb_alloc(b.n, 3 * sizeof *vel), *eps = nb_alloc(b.n, sizeof *eps),
	       *old = nb_alloc(b.n, 3 * sizeof *old);
	for (size_t i = 0; i < 3 * b.n; i++) {
		vel[i] = uniform() - 0.5;
		old[i] = 0.5 + uniform();
	}
	for (size_t i = 0; i < b.n; i++)
		eps[i] = 0.01 + 0.01 * uniform();
	for (int kernel = 0; kernel < kernels; kernel++) { /* one softening, those of bodies, a spline */
		struct nb_gravity g = {.n = b.n, .pos = b.pos, .vel = vel, .mass = b.mass, .eps = 0.01, .G = 1.5};
		g.body_eps = kernel == 1 ? eps : NULL;
		g.softening = kernel == 2 ? NB_SPLINE : NB_PLUMMER;
		for (int p = 0; p < 3; p++) {
			g.precision = (enum nb_precision[]){NB_F32, NB_MIXED, NB_F64}[p];
			if (!UNIT_SANITIZED || (kind == PLUMMER && p == kernel && p == 0))
				check_ranks(&g, NULL, NULL, p == 0, p == 1, "direct sum");
			for (int order = 1; order <= 4; order += 1 + (kernel > 0)) {
				if (UNIT_SANITIZED && (kernel ? p != kernel || order != 2 * kernel - 1
							      : (order + 2 * p) % 3 || (order > 1 && kind != PLUMMER)))
					continue; /* each order, precision and softening, not all together */
				char label[160];
				struct nb_tree tree = build(&b, 8, order > 1 ? 2 : 1);
				const struct nb_tree_walk walk = {.theta = theta,
					.mac = order == 2 && p == 1 ? NB_MAC_ACCELERATION : NB_MAC_GEOMETRIC,
					.alpha = 0.005,
					.acc_old = old,
					.order = order};
				snprintf(label, sizeof label, "%s, order %d, precision %d, softening %d",
					model_name[kind], order, p, kernel);
				check_ranks(&g, &tree, &walk, p != 1, order < 3 && p != 0, label);
				nb_tree_free(&tree);
			}
		}
	}
	nb_free(vel);
	nb_free(eps);
	nb_free(old);
	bodies_free(&b);
}

/* Few bodies are no job, and a thread that finds the others called works alone. */
static void alone(void)
{
	const struct nb_tree_walk walk = {.theta = theta};
	static const size_t sizes[] = {1, 100, 8191, 8192};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const size_t n = sizes[s];
		struct bodies b = model(UNIFORM, n);
		struct nb_tree tree = build(&b, 8, 2);
		const struct nb_gravity g = {.n = n, .pos = b.pos, .mass = b.mass, .G = 1};
		struct forces one = forces_alloc(n), several = forces_alloc(n);
		for (int direct = 0; direct < 2; direct++)
			for (int busy = 0; busy < 2; busy++) {
				const size_t jobs = world.jobs;
				compute(&g, &tree, direct ? NULL : &walk, 1, 0, &one);
				begin(3);
				world.busy = busy;
				compute(&g, &tree, direct ? NULL : &walk, 1, 0, &several);
				world.busy = 0;
				end();
				CHECK(world.jobs == jobs + (n >= 8192 && !busy));
				check_same(&one, &several, n, "few bodies");
			}
		forces_free(&one);
		forces_free(&several);
		nb_tree_free(&tree);
		bodies_free(&b);
	}
}

/* Bodies in one place take no time beside those of a sphere: after a first walk of equal numbers, the rank that has the
 * sphere gets fewer. */
static void equal_work(void)
{
	enum { ALL = UNIT_SANITIZED ? 10000 : 40000 };
	struct bodies b = bodies_alloc(ALL, 3);
	for (size_t i = 0; i < ALL; i++) {
		b.mass[i] = 1.0 / ALL;
		if (i < ALL / 2)
			b.pos[3 * i] = b.pos[3 * i + 1] = b.pos[3 * i + 2] = -1000;
		else
			plummer_body(1, b.pos + 3 * i);
	}
	bodies_sort(&b);
	struct nb_tree tree = build(&b, 8, 2);
	const struct nb_tree_walk walk = {.theta = 0.3};
	const struct nb_gravity g = {.n = ALL, .pos = b.pos, .mass = b.mass, .G = 1, .eps = 0.01};
	struct forces f = forces_alloc(ALL);
	size_t bytes[3];
	begin(2);
	for (int turn = 0; turn < 3; turn++) {
		compute(&g, &tree, &walk, 0, 0, &f);
		bytes[turn] = world.bytes[1];
	}
	end();
	CHECK(bytes[1] < 0.7 * (double)bytes[0]);
	CHECK(bytes[2] < 0.7 * (double)bytes[0]);
	CHECK(bytes[1] > 0.3 * (double)bytes[0]);
	forces_free(&f);
	nb_tree_free(&tree);
	bodies_free(&b);
}

/* ---- bodies that are spread over ranks ------------------------------------------------------------ */

/* All that a run has of its bodies, in the order of the tree. */
struct state {
	size_t n;
	double *pos, *vel, *mass, *acc, *pot;
	uint16_t *rest; /* numbers of the bodies, but for the high digits */
};

static struct state state_alloc(size_t n)
{
	return (struct state){n, nb_alloc(n, 3 * sizeof(double)), nb_alloc(n, 3 * sizeof(double)),
		nb_alloc(n, sizeof(double)), nb_alloc(n, 3 * sizeof(double)), nb_alloc_zero(n, sizeof(double)),
		nb_alloc(n, sizeof(uint16_t))};
}

static void state_free(struct state *s)
{
	nb_free(s->pos);
	nb_free(s->vel);
	nb_free(s->mass);
	nb_free(s->acc);
	nb_free(s->pot);
	nb_free(s->rest);
}

static void permute(size_t n, const uint32_t *perm, size_t rowsize, void *rows)
{
	void *copy = nb_alloc(n, rowsize);
	memcpy(copy, rows, n * rowsize);
	CHECK(nb_permute_cpu(n, perm, rowsize, copy, rows) == NB_OK);
	nb_free(copy);
}

/* Sort, tree and walk of one process. */
static void force_of_one(struct state *s, const struct nb_domain_law *law, struct nb_gravity_count *count)
{
	struct nb_cube cube;
	struct nb_tree tree;
	uint64_t *key = nb_alloc(s->n, sizeof *key);
	uint32_t *perm = nb_alloc(s->n, sizeof *perm);
	size_t bad;
	CHECK(nb_morton_cube_cpu(s->n, s->pos, law->dim, &cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(s->n, s->pos, law->dim, &cube, key) == NB_OK);
	CHECK(nb_sort_keys_cpu(s->n, key, perm) == NB_OK);
	CHECK(nb_sort_deep_cpu(s->n, key, s->pos, law->dim, perm) == NB_OK);
	permute(s->n, perm, 3 * sizeof *s->pos, s->pos);
	permute(s->n, perm, 3 * sizeof *s->vel, s->vel);
	permute(s->n, perm, sizeof *s->mass, s->mass);
	permute(s->n, perm, sizeof *s->rest, s->rest);
	CHECK(nb_tree_build_cpu(s->n, key, s->pos, s->mass, law->dim, &cube, law->leaf_size, law->tree_order, &tree) ==
		NB_OK);
	const struct nb_gravity g = {.n = s->n,
		.pos = s->pos,
		.mass = s->mass,
		.acc = s->acc,
		.pot = law->potential ? s->pot : NULL,
		.eps = law->eps,
		.G = law->G,
		.precision = law->precision};
	CHECK(nb_gravity_tree_cpu(&g, &tree, &law->walk, count) == NB_OK);
	nb_tree_free(&tree);
	nb_free(key);
	nb_free(perm);
}

/* Some leapfrog steps by one process, and by so many ranks: the same bytes after each of them.  Returns the tally of
 * the last one. */
static struct nb_domain_tally check_steps(
	const struct bodies *b, const struct nb_domain_law *law, int size, double dt, int steps, const char *what)
{
	struct state one = state_alloc(b->n), all = state_alloc(b->n);
	struct nb_domain *domain;
	struct nb_domain_tally tally;
	char label[200];
	int finite = 0;
	double largest = -1, largest_of_one;
	for (size_t i = 0; i < b->n; i++) {
		const size_t from = b->n - 1 - i; /* not sorted */
		memcpy(one.pos + 3 * i, b->pos + 3 * from, 3 * sizeof *one.pos);
		one.mass[i] = b->mass[from];
		one.rest[i] = (uint16_t)i;
	}
	for (size_t i = 0; i < 3 * b->n; i++)
		one.vel[i] = uniform() - 0.5;
	const struct nb_domain_bodies rows = {
		b->n, one.pos, one.vel, one.mass, NULL, NULL, (unsigned char *)one.rest, sizeof *one.rest};
	begin(size);
	CHECK(nb_domain_begin(&domain, law, &rows) == NB_OK);
	for (int step = 0; step < steps; step++) {
		struct nb_gravity_count count = {0, 0, 0, 0};
		const struct nb_domain_bodies to = {b->n, all.pos, all.vel, all.mass, all.acc,
			law->potential ? all.pot : NULL, (unsigned char *)all.rest, sizeof *all.rest};
		snprintf(label, sizeof label, "%s, %d ranks, step %d", what, size, step);
		CHECK(nb_domain_force(domain, &largest, &tally) == NB_OK);
		CHECK(nb_domain_gather(domain, &to) == NB_OK);
		const int ranks = world.size;
		world.size = 1;
		force_of_one(&one, law, &count);
		world.size = ranks;
		WANT(memcmp(one.pos, all.pos, 3 * b->n * sizeof *one.pos) == 0);
		WANT(memcmp(one.vel, all.vel, 3 * b->n * sizeof *one.vel) == 0);
		WANT(memcmp(one.mass, all.mass, b->n * sizeof *one.mass) == 0);
		WANT(memcmp(one.acc, all.acc, 3 * b->n * sizeof *one.acc) == 0);
		WANT(memcmp(one.pot, all.pot, b->n * sizeof *one.pot) == 0);
		WANT(memcmp(one.rest, all.rest, b->n * sizeof *one.rest) == 0);
		CHECK(nb_largest_acc_cpu(b->n, one.acc, &largest_of_one) == NB_OK);
		WANT(largest == largest_of_one);
		WANT(tally.count.p2p == count.p2p && tally.count.groups == count.groups);
		CHECK(nb_domain_kick_drift(domain, dt / 2, dt, &finite) == NB_OK);
		CHECK(finite);
		CHECK(nb_kick_cpu(b->n, one.vel, one.acc, dt / 2) == NB_OK);
		CHECK(nb_drift_cpu(b->n, one.pos, one.vel, dt) == NB_OK);
	}
	nb_domain_end(domain);
	end();
	state_free(&one);
	state_free(&all);
	return tally;
}

static struct nb_domain_tally check_domain(
	const struct bodies *b, const struct nb_domain_law *law, int size, double dt, const char *what)
{
	return check_steps(b, law, size, dt, 3, what);
}

static void domains(void)
{
	static const enum model kinds[] = {PLUMMER, CLUSTERS, PAIR_AND_CLUSTER, DISK_2D};
	static const int sizes[] = {2, 3, 4, MOST};
	for (size_t m = 0; m < sizeof kinds / sizeof *kinds; m++) {
		struct bodies b = model(kinds[m], N);
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			if (UNIT_SANITIZED && m != s)
				continue;
			const int order = m == 0 ? (int)s + 1 : 0;
			const struct nb_domain_law law = {.dim = b.dim,
				.leaf_size = m == 1 ? 8 : 16,
				.tree_order = m == 2 ? 1 : 2,
				.walk.theta = theta,
				.walk.order = order,
				.potential = m < 2,
				.eps = s == 1 ? 0.01 : 0,
				.G = 1.5,
				.precision = s == 0   ? NB_F32
					     : s == 1 ? NB_F64
						      : NB_MIXED};
			const double most = check_domain(&b, &law, sizes[s], 0.01, model_name[kinds[m]]).bodies;
			CHECK(kinds[m] == PAIR_AND_CLUSTER || most < 2.5 * N / sizes[s]);
		}
		bodies_free(&b);
	}
}

/* Of so many bodies some cells are too small to be told to all ranks, and too far for those of some. */
enum { MANY = 40000 };

/* Ranks get a part of the cells: most of those along a filament, of a rank that has one end and walks what is there. */
static void parts_of_cells(void)
{
	static const enum model kinds[] = {UNIFORM, PLUMMER, CLUSTERS, UNIFORM};
	static const double most[] = {0.97, 1, 0.999, 0.999};
	static const int sizes[] = {2, 3, 4, 7};
	for (size_t m = 0; m < 4; m++) {
		struct bodies b = model(kinds[m], MANY);
		for (size_t i = 0; m == 0 && i < b.n; i++)
			b.pos[3 * i] *= 100;
		for (size_t s = 0; s < 4; s++) {
			const struct nb_domain_law law = {.dim = 3,
				.leaf_size = 8,
				.tree_order = m == 2 ? 1 : 2,
				.walk.theta = theta,
				.walk.order = (int)((m + s) % 4) + 1,
				.potential = s == 1,
				.eps = m == 1 ? 0.01 : 0,
				.G = 1,
				.precision = (enum nb_precision[]){NB_F32, NB_MIXED, NB_F64}[(m + 2 * s) % 3],
				.few_cells = 1};
			char label[100];
			if (UNIT_SANITIZED ? m != s || m : m != s && (m + 1) % 4 != s)
				continue;
			const struct nb_domain_tally tally = check_steps(
				&b, &law, sizes[s], 0.001, 2, model_name[kinds[m]]);
			snprintf(label, sizeof label, "model %zu, %d ranks: %.0f of %.0f families, %.0f rounds", m,
				sizes[s], tally.cells, tally.all_cells, tally.rounds);
			WANT(tally.cells <= most[m] * tally.all_cells);
			WANT(tally.cells > tally.all_cells / sizes[s]);
			WANT(tally.rounds <= 2);
		}
		bodies_free(&b);
	}
}

/* A crowd so small that f32 does not hold the lengths of the cells around in its units opens all of them, which nobody
 * expects: it has to ask. */
static void missing_cells(void)
{
	static const int sizes[] = {2, 4, 7};
	struct bodies b = model(UNIFORM, MANY);
	for (size_t i = 0; i < (size_t)3 * 600; i++)
		b.pos[i] = -3 + 1e-7 * b.pos[i];
	for (size_t s = 0; s < 3; s++)
		for (int p = 0; p < 2; p++) {
			const struct nb_domain_law law = {.dim = 3,
				.leaf_size = 8,
				.tree_order = 2,
				.walk.theta = theta,
				.walk.order = p ? 4 : 2,
				.G = 1,
				.precision = p ? NB_MIXED : NB_F32,
				.few_cells = 1};
			if (UNIT_SANITIZED && (s != 1 || p != 1))
				continue;
			const struct nb_domain_tally tally = check_steps(&b, &law, sizes[s], 0, 2, "a crowd afar");
			CHECK(tally.rounds > 1 && tally.rounds < 5);
		}
	bodies_free(&b);
}

/* Of seven ranks some have no body, as most are in one place; and where cells are never taken as a whole, all go to all
 * that have one. */
static void ranks_without_bodies(void)
{
	struct nb_domain_law law = {
		.dim = 3, .leaf_size = 8, .tree_order = 2, .walk.theta = theta, .eps = 0.01, .G = 1, .few_cells = 1};
	random_state = 5150;
	struct bodies b = model(UNIFORM, MANY);
	for (size_t i = 0; i < (size_t)3 * MANY * 7 / 10; i++)
		b.pos[i] = 0.6;
	struct nb_domain_tally tally = check_steps(&b, &law, 7, 0, 2, "most bodies in one place");
	CHECK(tally.bodies >= 0.7 * MANY);
	CHECK(tally.cells < tally.all_cells);
	bodies_free(&b);
	law.walk.theta = 0;
	b = model(CLUSTERS, 3000);
	tally = check_domain(&b, &law, 3, 0.001, "theta 0");
	CHECK(tally.cells == tally.all_cells);
	CHECK(tally.rounds == 1);
	bodies_free(&b);
}

/* All cells go to all ranks where they take little beside the bodies of a rank. */
static void little_cells(void)
{
	static const int sizes[] = {2, 7};
	struct bodies b = model(UNIFORM, MANY);
	for (size_t i = 0; i < b.n; i++)
		b.pos[3 * i] *= 100;
	for (size_t s = 0; s < 2; s++) {
		const struct nb_domain_law law = {.dim = 3,
			.leaf_size = 16,
			.tree_order = 2,
			.walk.theta = theta,
			.walk.order = s ? 4 : 2,
			.eps = 0.01,
			.G = 1,
			.precision = s ? NB_F64 : NB_F32};
		const struct nb_domain_tally tally = check_steps(&b, &law, sizes[s], 0.001, 2, "little cells");
		CHECK((tally.cells == tally.all_cells) == (s == 0));
		CHECK(tally.rounds == 1);
	}
	bodies_free(&b);
}

/* Fewer bodies than ranks, as many as no cut goes through, one more; all in one place, and half of them. */
static void few_bodies(void)
{
	static const size_t counts[] = {0, 1, 3, 512, 513, 2000};
	struct nb_domain_law law = {
		.dim = 3, .leaf_size = 8, .tree_order = 2, .walk.theta = theta, .potential = 1, .G = 1};
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		struct bodies b = model(UNIFORM, counts[k]);
		check_domain(&b, &law, 4, 0.01, "few bodies");
		/* closer than keys can tell */
		for (size_t i = 0; i < 3 * counts[k]; i++)
			b.pos[i] = i % 9 < 6 ? 0.25 + 1e-9 * b.pos[i] : b.pos[i];
		check_domain(&b, &law, 4, 0, "most of them in a crowd");
		for (size_t i = 0; i < 3 * counts[k]; i++)
			b.pos[i] = i < 3 * counts[k] / 2 ? 0.25 : b.pos[i];
		check_domain(&b, &law, 4, 0, "half of them in one place");
		for (size_t i = 0; i < 3 * counts[k]; i++)
			b.pos[i] = 0.25;
		law.eps = 0.1;
		check_domain(&b, &law, 4, 0, "all in one place");
		law.eps = 0;
		bodies_free(&b);
	}
}

/* Numbers that no walk can use are told to rank 0, and the bodies stay. */
static void bad_bodies(void)
{
	const struct nb_domain_law law = {.dim = 3, .leaf_size = 8, .tree_order = 2, .walk.theta = theta, .G = 1};
	struct bodies b = model(UNIFORM, 3000);
	double *vel = nb_alloc_zero(b.n, 3 * sizeof *vel), *pos = nb_alloc(b.n, 3 * sizeof *pos), largest;
	const struct nb_domain_bodies rows = {.n = b.n, .pos = b.pos, .vel = vel, .mass = b.mass},
				      to = {.n = b.n, .pos = pos};
	struct nb_domain *domain;
	int finite;
	vel[3 * 2900] = INFINITY;
	begin(3);
	CHECK(nb_domain_begin(&domain, &law, &rows) == NB_OK);
	CHECK(nb_domain_force(domain, &largest, NULL) == NB_OK);
	CHECK(nb_domain_kick_drift(domain, 0, 1, &finite) == NB_OK);
	CHECK(!finite);
	CHECK(nb_domain_force(domain, &largest, NULL) == NB_ENONFINITE);
	CHECK(nb_domain_gather(domain, &to) == NB_OK);
	CHECK(isinf(pos[3 * 2900]) && memcmp(pos, b.pos, 100 * sizeof *pos) == 0);
	nb_domain_end(domain);
	/* squares of lengths that no double holds */
	for (size_t i = 0; i < 3 * b.n; i++)
		b.pos[i] *= 0x1p-600;
	vel[3 * 2900] = 0;
	CHECK(nb_domain_begin(&domain, &law, &rows) == NB_OK);
	CHECK(nb_domain_force(domain, &largest, NULL) == NB_EUNSUPPORTED);
	nb_domain_end(domain);
	end();
	nb_free(vel);
	nb_free(pos);
	bodies_free(&b);
}

int main(void)
{
	domains();
	parts_of_cells();
	missing_cells();
	ranks_without_bodies();
	little_cells();
	few_bodies();
	bad_bodies();
	equal_work();
	same_bytes(PLUMMER, 3);
	same_bytes(PAIR_AND_CLUSTER, 1);
	same_bytes(DISK_2D, 1);
	alone();
	return unit_end();
}
