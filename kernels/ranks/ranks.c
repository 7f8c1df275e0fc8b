/* A program without MPI: every process is alone.  For bodies in the memory of several devices, which one process has,
 * threads of it are ranks: they meet for the next job, and look at each other's memory.
 *
 * They meet some hundred times in a computation of forces, so who waits for the others looks for them all the time, as
 * long as they usually take; then less and less often, with sleeps between. */
#include "kernels/ranks/ranks.h"

#include "common/mem.h"
#include "common/timer.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Seconds: without a sleep; of the first and the longest sleep; and of those after so long that nothing is under way.
 */
static const double PATIENCE = 5e-3, FIRST_NAP = 2e-5, LONGEST_NAP = 5e-4, IDLE = 1, IDLE_NAP = 1e-2;
enum { LOOKS = 2000 /* before others may have the processor */ };

/* What a rank shows the others between two barriers. */
struct shown {
	const void *data;
	const size_t *bound;
};

/* A few numbers of a rank, which it goes on from while others still read them: those of even meetings, and of odd. */
enum { FEW = 8 };
struct few {
	double number[2][FEW];
};

static struct {
	int size;   /* 1: no threads */
	int broken; /* not all of them could be started */
	int job;
	int (*serve)(void);
	pthread_t *thread;
	struct shown *shown;
	struct few *few;
	atomic_int arrived; /* of those that meet */
	atomic_uint turn;   /* meetings up to now */
	pthread_mutex_t working;
} crew = {.size = 1, .working = PTHREAD_MUTEX_INITIALIZER};

/* Of this thread: its number; 0 for who calls, and is in a job only between nb_ranks_call and nb_ranks_done. */
static _Thread_local int rank, in_job;

/* ---- who there is ------------------------------------------------------------------------------- */

int nb_ranks_built(void)
{
	return 0;
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
	return in_job ? crew.size : 1;
}

int nb_ranks_together(void)
{
	return in_job;
}

int nb_ranks_reach_devices(void)
{
	return 0;
}

int nb_ranks_beside(void)
{
	return rank;
}

int nb_ranks_least(int value)
{
	return value;
}

size_t nb_ranks_jobs(void)
{
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------ */

/* Until there has been another meeting than `turn`. */
static void wait_for_others(unsigned turn)
{
	double nap = FIRST_NAP;
	for (int looks = 0; looks < LOOKS; looks++)
		if (atomic_load_explicit(&crew.turn, memory_order_acquire) != turn)
			return;
	const double begin = nb_now();
	while (atomic_load_explicit(&crew.turn, memory_order_acquire) == turn) {
		if (nb_now() - begin < PATIENCE) {
			sched_yield();
			continue;
		}
		nb_pause(nap);
		nap = nap < LONGEST_NAP / 2 ? 2 * nap : nb_now() - begin < IDLE ? LONGEST_NAP : IDLE_NAP;
	}
}

/* All ranks come; what each did before all see after. */
static void meet(void)
{
	const unsigned turn = atomic_load_explicit(&crew.turn, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&crew.arrived, 1, memory_order_acq_rel) + 1 < crew.size) {
		wait_for_others(turn);
		return;
	}
	atomic_store_explicit(&crew.arrived, 0, memory_order_relaxed);
	atomic_store_explicit(&crew.turn, turn + 1, memory_order_release);
}

static void *serve(void *number)
{
	rank = (int)(intptr_t)number;
	in_job = 1;
	for (;;) {
		meet();
		if (crew.job == NB_RANKS_END)
			return NULL;
		(void)crew.serve(); /* what goes wrong all ranks agree on */
	}
}

static void end_threads(int n)
{
	if (n < 2)
		return;
	crew.job = NB_RANKS_END;
	meet();
	for (int k = 1; k < n; k++)
		pthread_join(crew.thread[k], NULL);
	crew.size = 1;
}

static int begin_threads(int n)
{
	int started = 1;
	nb_free_all(crew.thread, crew.shown, crew.few);
	crew.thread = nb_alloc_zero((size_t)n, sizeof *crew.thread);
	crew.shown = nb_alloc_zero((size_t)n, sizeof *crew.shown);
	crew.few = nb_alloc_zero((size_t)n, sizeof *crew.few);
	if (!crew.thread || !crew.shown || !crew.few)
		return NB_ENOMEM;
	crew.size = n;
	while (started < n && pthread_create(&crew.thread[started], NULL, serve, (void *)(intptr_t)started) == 0)
		started++;
	if (started == n)
		return NB_OK;
	/* those that have begun wait for ever, for more than there are */
	crew.broken = 1;
	return NB_ENOMEM;
}

int nb_ranks_begin_threads(int n, int (*by)(void))
{
	int status = NB_OK;
	pthread_mutex_lock(&crew.working);
	if (crew.broken) {
		status = n < 2 ? NB_OK : NB_ENOMEM;
	} else if (n != crew.size) {
		end_threads(crew.size);
		crew.serve = by;
		status = n < 2 ? NB_OK : begin_threads(n);
	}
	pthread_mutex_unlock(&crew.working);
	return status;
}

/* ---- jobs --------------------------------------------------------------------------------------- */

int nb_ranks_call(enum nb_ranks_job job)
{
	if (job != NB_RANKS_DOMAIN || crew.size < 2 || crew.broken)
		return 0;
	pthread_mutex_lock(&crew.working);
	in_job = 1;
	crew.job = (int)job;
	meet();
	return 1;
}

void nb_ranks_done(void)
{
	in_job = 0;
	pthread_mutex_unlock(&crew.working);
}

void nb_ranks_halt(void)
{
}

enum nb_ranks_job nb_ranks_wait(void)
{
	return NB_RANKS_END;
}

/* All show; until the next meeting what they show stays. */
static void show(const void *data, const size_t *bound)
{
	crew.shown[rank] = (struct shown){data, bound};
	meet();
}

void nb_ranks_broadcast(void *data, size_t bytes)
{
	if (!in_job)
		return;
	show(data, NULL);
	if (rank > 0 && bytes)
		memcpy(data, crew.shown[0].data, bytes);
	meet();
}

/* Those of all others, if they are wanted here. */
static void take_pieces(void *data, const size_t *bound, int wanted)
{
	show(data, bound);
	for (int k = 0; wanted && k < crew.size; k++)
		if (k != rank && bound[k + 1] > bound[k])
			memcpy((char *)data + bound[k], (const char *)crew.shown[k].data + bound[k],
				bound[k + 1] - bound[k]);
	meet();
}

void nb_ranks_gather(void *data, const size_t *bound)
{
	if (!in_job)
		return;
	take_pieces(data, bound, rank == 0);
}

void nb_ranks_collect(void *data, const size_t *bound)
{
	if (!in_job)
		return;
	take_pieces(data, bound, 1);
}

void nb_ranks_exchange(const void *send, const size_t *send_bound, void *receive, const size_t *receive_bound)
{
	if (!in_job) {
		if (send_bound[1] > send_bound[0])
			memcpy((char *)receive + receive_bound[0], (const char *)send + send_bound[0],
				send_bound[1] - send_bound[0]);
		return;
	}
	show(send, send_bound);
	for (int k = 0; k < crew.size; k++) {
		const size_t *from = crew.shown[k].bound, n = from[rank + 1] - from[rank];
		if (n)
			memcpy((char *)receive + receive_bound[k], (const char *)crew.shown[k].data + from[rank], n);
	}
	meet();
}

void nb_ranks_wait_all(void)
{
}

static double folded(enum nb_ranks_fold how, double a, double b)
{
	return how == NB_RANKS_SUM ? a + b : fmax(a, b);
}

/* One meeting: each rank folds all.  Who is at the next one but one, where its numbers of now would be overwritten, has
 * met those who had read them. */
static void fold_few(enum nb_ranks_fold how, double *number, size_t n)
{
	const unsigned odd = atomic_load_explicit(&crew.turn, memory_order_relaxed) & 1;
	memcpy(crew.few[rank].number[odd], number, n * sizeof *number);
	meet();
	memcpy(number, crew.few[0].number[odd], n * sizeof *number);
	for (int k = 1; k < crew.size; k++)
		for (size_t i = 0; i < n; i++)
			number[i] = folded(how, number[i], crew.few[k].number[odd][i]);
}

/* All add in the same order. */
void nb_ranks_fold(enum nb_ranks_fold how, double *number, size_t n)
{
	if (!in_job)
		return;
	if (n <= FEW) {
		fold_few(how, number, n);
		return;
	}
	show(number, NULL);
	for (size_t i = 0; rank == 0 && i < n; i++)
		for (int k = 1; k < crew.size; k++)
			number[i] = folded(how, number[i], ((const double *)crew.shown[k].data)[i]);
	meet();
	if (rank > 0)
		memcpy(number, crew.shown[0].data, n * sizeof *number);
	meet();
}

void nb_ranks_leave(void)
{
}

void nb_ranks_abort(int status)
{
	(void)status;
}
