/* The parts of a walk, which threads claim. */
#include "kernels/walk/walk_internal.h"

#include "common/cpu.h"
#include "common/lap.h"
#include "common/mem.h"
#include "common/timer.h"

#include <omp.h>
#include <time.h>

/* Seconds that this thread has worked. */
static double thread_seconds(void)
{
	struct timespec t = {0, 0};
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What this thread has claimed last, and what is left of that. */
static _Thread_local struct {
	const struct nb_walk_share *share;
	uint32_t part, next, end;
	double start;
} last;

/* Parts side by side, of which a thread finds out together what is above them: many at first, one in the end. */
static void claim_some(struct nb_walk_share *share)
{
	enum { SHARE = 4 }; /* of what is left for each thread */
	const uint32_t divisor = SHARE * (uint32_t)omp_get_num_threads();
	uint32_t first = __atomic_load_n(&share->claimed, __ATOMIC_RELAXED), some;
	do {
		some = first < share->end ? (share->end - first) / divisor : 0;
		some += some == 0;
	} while (!__atomic_compare_exchange_n(
		&share->claimed, &first, first + some, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	last.next = first;
	last.end = first + some;
}

uint32_t nb_walk_claim(struct nb_walk_share *share)
{
	if (last.next == last.end)
		claim_some(share);
	const uint32_t part = last.next++;
	if (share->order)
		return part < share->end ? share->order[part] : UINT32_MAX;
	if (share->cost) {
		const double now = thread_seconds();
		if (last.share == share && last.part >= share->begin && last.part < share->end)
			share->cost[last.part - share->begin] = (float)(now - last.start);
		last.share = part < share->end ? share : NULL;
		last.part = part;
		last.start = now;
	}
	return part < share->end ? part : UINT32_MAX;
}

/* Counts of the parts below a node, from part *n on. */
static void count_bodies(const struct nb_walk_plan *plan, size_t node, uint32_t *count, uint32_t *n)
{
	const struct nb_tree *tree = plan->target;
	if (plan->npart[node] == 1)
		count[(*n)++] = tree->count[node];
	for (uint32_t c = 0; plan->npart[node] > 1 && c < tree->nchild[node]; c++)
		count_bodies(plan, tree->child[node] + c, count, n);
}

/* Few parts: first those of many bodies, then the others, each in order.  Else a thread may begin with a large one when
 * the others have nothing left to do.  NULL: it does not matter, or there is no memory. */
static uint32_t *large_first(const struct nb_walk_plan *plan)
{
	enum { FEW = 64 /* for each thread */ };
	const uint32_t npart = plan->npart[0];
	if (nb_cpu_threads() < 2 || npart < 2 || npart > FEW * (uint32_t)nb_cpu_threads())
		return NULL;
	uint32_t *order = nb_alloc(npart, sizeof *order), *count = nb_alloc(npart, sizeof *count), n = 0, most = 0;
	if (order && count) {
		count_bodies(plan, 0, count, &n);
		for (uint32_t k = 0; k < npart; k++)
			most = count[k] > most ? count[k] : most;
		n = 0;
		for (int large = 1; large >= 0; large--)
			for (uint32_t k = 0; k < npart; k++)
				if ((count[k] > most / 2) == large)
					order[n++] = k;
	}
	if (!count)
		nb_free(order);
	nb_free(count);
	return count ? order : NULL;
}

int nb_walk_parts(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	static nb_walk *const walk_isa[] = {NB_ISA_TABLE(nb_walk)};
	enum nb_isa isa = nb_cpu_isa();
	uint64_t p2p = 0, m2p = 0, m2l = 0, groups = 0;
	int status = NB_OK, threads = 1;
	share->end = share->end < plan->npart[0] ? share->end : plan->npart[0];
	const int all = share->begin == 0 && share->end == plan->npart[0] && !share->cost;
	uint32_t *order = all ? large_first(plan) : NULL;
	share->order = order;
	const double start = nb_now();
	double busy = 0;
#pragma omp parallel reduction(max : status, threads) reduction(+ : p2p, m2p, m2l, groups, busy)
	{
		const double begun = nb_now(); /* a thread that comes late has waited, too */
		struct nb_gravity_count mine = {0};
		last.next = last.end = 0;
		status = walk_isa[isa](plan, share, &mine);
		p2p = mine.p2p;
		m2p = mine.m2p;
		m2l = mine.m2l;
		groups = mine.groups;
		busy = nb_now() - begun;
		threads = omp_get_num_threads();
	}
	share->order = NULL;
	nb_free(order);
	nb_lap_waited(start, busy, threads);
	if (count) {
		count->p2p += p2p;
		count->m2p += m2p;
		count->m2l += m2l;
		count->groups += groups;
	}
	return status;
}
