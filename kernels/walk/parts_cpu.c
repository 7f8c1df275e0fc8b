/* The parts of a walk, which threads claim. */
#include "kernels/walk/walk_internal.h"

#include "common/cpu.h"
#include "common/lap.h"
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

uint32_t nb_walk_claim(struct nb_walk_share *share)
{
	static _Thread_local struct {
		const struct nb_walk_share *share;
		uint32_t part;
		double start;
	} last;
	const uint32_t part = __atomic_fetch_add(&share->claimed, 1, __ATOMIC_RELAXED);
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

int nb_walk_parts(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	static nb_walk *const walk_isa[] = {NB_ISA_TABLE(nb_walk)};
	enum nb_isa isa = nb_cpu_isa();
	uint64_t p2p = 0, m2p = 0, m2l = 0, groups = 0;
	int status = NB_OK, threads = 1;
	const double start = nb_now();
	double busy = 0;
#pragma omp parallel reduction(max : status, threads) reduction(+ : p2p, m2p, m2l, groups, busy)
	{
		struct nb_gravity_count mine = {0};
		status = walk_isa[isa](plan, share, &mine);
		p2p = mine.p2p;
		m2p = mine.m2p;
		m2l = mine.m2l;
		groups = mine.groups;
		busy = nb_now() - start;
		threads = omp_get_num_threads();
	}
	nb_lap_waited(start, busy, threads);
	if (count) {
		count->p2p += p2p;
		count->m2p += m2p;
		count->m2l += m2l;
		count->groups += groups;
	}
	return status;
}
