/* Walks and direct sums by ranks that are threads of this process: the same bytes as by one, for any number of ranks,
 * and ranges of equal work. */
#include "kernels/ranks/ranks.h"

#include "common/mem.h"
#include "kernels/backend/backend.h"
#include "tests/unit/random.h"
#include "tests/unit/tree/bodies.h"
#include "tests/unit/unit.h"

#include <pthread.h>

enum { MOST = 7 };

/* ---- ranks ---------------------------------------------------------------------------------------- */

static struct {
	int size, job, busy;
	size_t jobs;
	void *shared[MOST];
	size_t bytes[MOST]; /* that each rank has given back */
	pthread_barrier_t all;
} world = {.size = 1};
static _Thread_local int rank;

int nb_ranks_built(void)
{
	return 1;
}

int nb_ranks_launched(void)
{
	return 0;
}

int nb_ranks_join(void)
{
	return NB_OK;
}

int nb_ranks_rank(void)
{
	return rank;
}

int nb_ranks_size(void)
{
	return world.size;
}

int nb_ranks_least(int value)
{
	return value;
}

int nb_ranks_call(enum nb_ranks_job job)
{
	if (world.size < 2 || world.busy)
		return 0;
	world.job = (int)job;
	world.jobs++;
	memset(world.bytes, 0, sizeof world.bytes);
	pthread_barrier_wait(&world.all);
	return 1;
}

void nb_ranks_done(void)
{
}

void nb_ranks_halt(void)
{
}

size_t nb_ranks_jobs(void)
{
	return world.jobs;
}

enum nb_ranks_job nb_ranks_wait(void)
{
	pthread_barrier_wait(&world.all);
	return (enum nb_ranks_job)world.job;
}

void nb_ranks_broadcast(void *data, size_t bytes)
{
	world.shared[rank] = data;
	pthread_barrier_wait(&world.all);
	if (rank > 0 && bytes)
		memcpy(data, world.shared[0], bytes);
	pthread_barrier_wait(&world.all);
}

void nb_ranks_gather(void *data, const size_t *bound)
{
	world.shared[rank] = data;
	pthread_barrier_wait(&world.all);
	for (int k = 1; rank == 0 && k < world.size; k++) {
		CHECK(bound[k] <= bound[k + 1]);
		if (bound[k + 1] > bound[k])
			memcpy((char *)data + bound[k], (char *)world.shared[k] + bound[k], bound[k + 1] - bound[k]);
		world.bytes[k] += bound[k + 1] - bound[k];
	}
	pthread_barrier_wait(&world.all);
}

void nb_ranks_settle(void)
{
}

void nb_ranks_leave(void)
{
}

void nb_ranks_abort(int status)
{
	exit(status);
}

static void *serve(void *number)
{
	rank = (int)(intptr_t)number;
	CHECK(nb_backend_serve() == NB_OK);
	return NULL;
}

static pthread_t thread[MOST];

static void begin(int size)
{
	world.size = size;
	pthread_barrier_init(&world.all, NULL, (unsigned)size);
	for (int k = 1; k < size; k++)
		CHECK(pthread_create(&thread[k], NULL, serve, (void *)(intptr_t)k) == 0);
}

static void end(void)
{
	world.job = NB_RANKS_END;
	if (world.size > 1)
		pthread_barrier_wait(&world.all);
	for (int k = 1; k < world.size; k++)
		pthread_join(thread[k], NULL);
	pthread_barrier_destroy(&world.all);
	world.size = 1;
}

/* ---- forces --------------------------------------------------------------------------------------- */

enum { N = 8200 };

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

/* By one rank, and by several, with the cuts of the first walk and of the second one. */
static void check_ranks(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	int with_pot, int with_jerk, const char *what)
{
	static const int sizes[] = {2, MOST};
	struct forces one = forces_alloc(g->n), several = forces_alloc(g->n);
	char label[200];
	compute(g, tree, walk, with_pot, with_jerk, &one);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		begin(sizes[k]);
		for (int turn = 0; turn < 2; turn++) {
			const size_t jobs = world.jobs;
			compute(g, tree, walk, with_pot, with_jerk, &several);
			snprintf(label, sizeof label, "%s, %d ranks, turn %d", what, sizes[k], turn);
			WANT(world.jobs == jobs + 1);
			check_same(&one, &several, g->n, label);
		}
		end();
	}
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
			check_ranks(&g, NULL, NULL, p == 0, p == 1, "direct sum");
			for (int order = 1; order <= 4; order += 1 + (kernel > 0)) {
				char label[160];
				struct nb_tree tree = build(&b, 8, order > 1 ? 2 : 1);
				const struct nb_tree_walk walk = {.theta = 0.5,
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
	const struct nb_tree_walk walk = {.theta = 0.5};
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

int main(void)
{
	equal_work();
	same_bytes(PLUMMER, 3);
	same_bytes(PAIR_AND_CLUSTER, 1);
	same_bytes(DISK_2D, 1);
	alone();
	return unit_end();
}
