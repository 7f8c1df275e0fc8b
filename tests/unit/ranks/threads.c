/* Threads as ranks: what they show each other, and bodies that are spread over them, with the forces of one process. */
#include "kernels/ranks/ranks.h"

#include "common/mem.h"
#include "kernels/domain/domain.h"
#include "kernels/walk/walk.h"
#include "tests/unit/random.h"
#include "tests/unit/tree/bodies.h"
#include "tests/unit/unit.h"

enum { MOST = 5 };

/* ---- what goes from rank to rank ------------------------------------------------------------------ */

/* Called by all ranks of a job: each of them finds what all have. */
static int exchange_all(void)
{
	const int size = nb_ranks_size(), rank = nb_ranks_rank();
	size_t bound[MOST + 1], send[MOST], got[MOST];
	double sum[2] = {rank, 1}, most = rank, many[100];
	int told = rank == 0 ? 17 : 0, here[MOST] = {0}, at_root[MOST] = {0};
	CHECK(nb_ranks_together());
	for (int k = 0; k <= size; k++)
		bound[k] = (size_t)k * sizeof *here;
	nb_ranks_broadcast(&told, sizeof told);
	nb_ranks_wait_all();
	CHECK(told == 17);
	here[rank] = at_root[rank] = 10 + rank;
	nb_ranks_collect(here, bound);
	nb_ranks_gather(at_root, bound);
	nb_ranks_wait_all();
	for (int k = 0; k < size; k++) {
		CHECK(here[k] == 10 + k);
		CHECK(at_root[k] == (rank == 0 || k == rank ? 10 + k : 0));
		send[k] = (size_t)(100 * rank + k);
	}
	for (int k = 0; k <= size; k++)
		bound[k] = (size_t)k * sizeof *send;
	nb_ranks_exchange(send, bound, got, bound);
	nb_ranks_wait_all();
	for (int k = 0; k < size; k++)
		CHECK(got[k] == (size_t)(100 * k + rank));
	nb_ranks_fold(NB_RANKS_SUM, sum, 2);
	nb_ranks_fold(NB_RANKS_MOST, &most, 1);
	CHECK(sum[0] == size * (size - 1) / 2 && sum[1] == size && most == size - 1);
	for (int k = 0; k < 100; k++)
		many[k] = rank + k;
	nb_ranks_fold(NB_RANKS_SUM, many, 100);
	CHECK(many[0] == sum[0] && many[99] == sum[0] + 99 * size);
	for (int k = 0; k < 1000; k++) { /* one after the other, and who is quick does not overwrite what others read */
		double mine = rank * 1000 + k;
		nb_ranks_fold(NB_RANKS_MOST, &mine, 1);
		CHECK(mine == (size - 1) * 1000 + k);
	}
	return NB_OK;
}

static void what_is_shown(void)
{
	static const int sizes[] = {2, MOST, 3, 3, 1};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		CHECK(nb_ranks_begin_threads(sizes[s], exchange_all) == NB_OK);
		CHECK(nb_ranks_size() == 1 && !nb_ranks_together());
		CHECK(!nb_ranks_call(NB_RANKS_TREE) && !nb_ranks_call(NB_RANKS_DIRECT));
		for (int turn = 0; turn < 3; turn++) {
			if (!nb_ranks_call(NB_RANKS_DOMAIN)) {
				CHECK(sizes[s] == 1);
				continue;
			}
			CHECK(nb_ranks_size() == sizes[s] && nb_ranks_rank() == 0);
			(void)exchange_all();
			nb_ranks_done();
		}
	}
}

/* ---- bodies --------------------------------------------------------------------------------------- */

static void same_forces(int size)
{
	struct bodies b = model(PLUMMER, 9000);
	const struct nb_domain_law law = {
		.dim = 3, .leaf_size = 8, .tree_order = 2, .walk.theta = 0.5, .eps = 0.01, .G = 1};
	double *vel = nb_alloc_zero(b.n, 3 * sizeof *vel), *one = nb_alloc(b.n, 3 * sizeof *one),
	       *all = nb_alloc(b.n, 3 * sizeof *all), largest;
	struct nb_tree tree = build(&b, 8, 2);
	const struct nb_gravity g = {.n = b.n, .pos = b.pos, .mass = b.mass, .acc = one, .eps = 0.01, .G = 1};
	const struct nb_tree_walk walk = {.theta = 0.5};
	const struct nb_domain_bodies rows = {.n = b.n, .pos = b.pos, .vel = vel, .mass = b.mass},
				      to = {.n = b.n, .acc = all};
	struct nb_domain *domain;
	int finite;
	CHECK(nb_gravity_tree_cpu(&g, &tree, &walk, NULL) == NB_OK);
	CHECK(nb_ranks_begin_threads(size, nb_domain_serve) == NB_OK);
	CHECK(nb_domain_begin(&domain, &law, &rows) == NB_OK);
	for (int turn = 0; turn < 2; turn++) {
		CHECK(nb_domain_force(domain, &largest, NULL) == NB_OK);
		CHECK(nb_domain_gather(domain, &to) == NB_OK);
		CHECK(memcmp(one, all, 3 * b.n * sizeof *one) == 0);
		CHECK(nb_domain_kick_drift(domain, 0, 0.1, &finite) == NB_OK && finite);
	}
	CHECK(!nb_domain_usage_of(domain, 0));
	nb_domain_end(domain);
	CHECK(nb_ranks_begin_threads(1, nb_domain_serve) == NB_OK);
	CHECK(nb_domain_begin(&domain, &law, &rows) == NB_ENODEV);
	nb_tree_free(&tree);
	nb_free(vel);
	nb_free(one);
	nb_free(all);
	bodies_free(&b);
}

int main(void)
{
	what_is_shown();
	same_forces(2);
	same_forces(MOST);
	return unit_end();
}
