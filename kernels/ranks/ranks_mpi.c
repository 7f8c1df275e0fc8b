/* The ranks of a program built with MPI=1.
 *
 * One thread at a time calls MPI (MPI_THREAD_SERIALIZED): that of the job.  MPI moves data when it is called: so who
 * waits calls it again and again, as long as pieces of what is moved arrive.  Who waits for long looks less and less
 * often, and sleeps between: ranks that have nothing to do leave the processors of their host to those that have. */
#include "kernels/ranks/ranks.h"

#include "common/cpu.h"
#include "common/timer.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds: without a sleep since something came; the first and the longest sleep, in a job and of who waits for one. */
static const double PATIENCE = 2e-3, FIRST_NAP = 5e-6, LONGEST_NAP = 5e-5, LONGEST_IDLE = 5e-4;

enum {
	JOB = 1, /* tags */
	PIECE = 2,
	MOST = 1 << 20, /* bytes of a message */
	/* Messages that are under way: so few that one of them is done every millisecond, though MPI moves all of them
	 * by turns. */
	MOST_STARTED = 8
};

static struct {
	int joined, left, rank, size, threads, beside;
	pid_t process; /* that has joined; not one that it forks */
	size_t jobs;
	int at_work, halted;
	pthread_t thread; /* that is at work */
	int started;	  /* and not waited for */
	MPI_Request request[MOST_STARTED];
	pthread_mutex_t working;
} ranks = {.size = 1, .working = PTHREAD_MUTEX_INITIALIZER};

int nb_ranks_built(void)
{
	return 1;
}

/* A variable that is a number, 0: it is not there. */
static int number_of(const char *name)
{
	const char *value = getenv(name);
	return value ? atoi(value) : 0;
}

/* Slurm sets its variables in a shell on a terminal, too, and what is typed there is no rank. */
int nb_ranks_launched(void)
{
	return ranks.joined || number_of("OMPI_COMM_WORLD_SIZE") > 0 || number_of("PMI_SIZE") > 1 ||
	       (getenv("PMIX_RANK") && number_of("SLURM_STEP_NUM_TASKS") > 1);
}

int nb_ranks_rank(void)
{
	return ranks.rank;
}

int nb_ranks_size(void)
{
	return ranks.size;
}

#ifdef OMPI_HAVE_MPI_EXT_CUDA
/* A control variable of MPI that is 0. */
static int turned_off(const char *variable)
{
	MPI_T_cvar_handle handle;
	int got, index, count, value = 1;
	if (MPI_T_init_thread(MPI_THREAD_SINGLE, &got))
		return 0;
	if (MPI_T_cvar_get_index(variable, &index) == MPI_SUCCESS &&
		MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
		if (count == 1 && MPI_T_cvar_read(handle, &value))
			value = 1;
		MPI_T_cvar_handle_free(&handle);
	}
	MPI_T_finalize();
	return value == 0;
}
#endif

/* Asked of the library that runs, which need not be the one that this was built with.  Open MPI 4 says how it was
 * built; whether it can is in its variable, which a user turns off, and it does, too, where it finds no driver. */
int nb_ranks_reach_devices(void)
{
#ifdef OMPI_HAVE_MPI_EXT_CUDA
	static int known, reached;
	if (!known)
		reached = MPIX_Query_cuda_support() == 1 && !turned_off("opal_cuda_support");
	known = 1;
	return reached;
#else
	return 0;
#endif
}

int nb_ranks_beside(void)
{
	return ranks.beside;
}

int nb_ranks_begin_threads(int n, int (*serve)(void))
{
	(void)n;
	(void)serve;
	return NB_EUNSUPPORTED;
}

int nb_ranks_together(void)
{
	return 0;
}

size_t nb_ranks_jobs(void)
{
	return ranks.jobs;
}

/* ---- coming and going --------------------------------------------------------------------------- */

/* What is compared of ranks: host, and processors that may be used. */
struct place {
	char host[64];
	cpu_set_t processors;
};

/* The ranks with the place of this one; 0: memory is exhausted, and nobody knows.  *lower: those of lower numbers on
 * its host, whatever their processors. */
static int count_beside(int *lower)
{
	struct place mine, *all = calloc((size_t)ranks.size, sizeof *all);
	int same = 0, have = all != NULL;
	memset(&mine, 0, sizeof mine);
	(void)gethostname(mine.host, sizeof mine.host - 1);
	(void)sched_getaffinity(0, sizeof mine.processors, &mine.processors);
	have = nb_ranks_least(have);
	if (have)
		MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
	*lower = 0;
	for (int k = 0; have && k < ranks.size; k++) {
		same += memcmp(&mine, &all[k], sizeof mine) == 0;
		*lower += k < ranks.rank && strcmp(mine.host, all[k].host) == 0;
	}
	free(all);
	return same;
}

/* A call is a job and a number of threads, 0: that of each rank. */
static void call_all(int job)
{
	const int threads = nb_cpu_threads(), call[2] = {job, threads != ranks.threads ? threads : 0};
	for (int to = 1; to < ranks.size; to++)
		MPI_Send(call, 2, MPI_INT, to, JOB, MPI_COMM_WORLD);
}

/* A rank that fails outside of a job lets the others go; in one they wait for what does not come. */
static void leave_at_exit(int status, void *unused)
{
	(void)unused;
	if (ranks.left || getpid() != ranks.process)
		return;
	if (pthread_mutex_trylock(&ranks.working))
		MPI_Abort(MPI_COMM_WORLD, status ? status : 1);
	pthread_mutex_unlock(&ranks.working);
	nb_ranks_leave();
}

int nb_ranks_join(void)
{
	int provided = MPI_THREAD_SINGLE;
	if (ranks.joined)
		return NB_OK;
	MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
	const int beside = count_beside(&ranks.beside);
	if (beside > 0 && !getenv("OMP_NUM_THREADS"))
		omp_set_num_threads((nb_cpu_threads() + beside - 1) / beside);
	ranks.threads = nb_cpu_threads();
	ranks.process = getpid();
	ranks.joined = 1;
	if (ranks.rank == 0)
		on_exit(leave_at_exit, NULL);
	return provided >= MPI_THREAD_SERIALIZED ? NB_OK : NB_ENODEV;
}

int nb_ranks_least(int value)
{
	int least = value;
	MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return least;
}

void nb_ranks_leave(void)
{
	if (!ranks.joined || ranks.left)
		return;
	if (ranks.rank == 0)
		call_all(NB_RANKS_END);
	ranks.left = 1;
	ranks.size = 1;
	MPI_Finalize();
}

void nb_ranks_abort(int status)
{
	if (ranks.joined && !ranks.left)
		MPI_Abort(MPI_COMM_WORLD, status);
}

/* ---- jobs --------------------------------------------------------------------------------------- */

/* Until at most `rest` of these n are not done; what sleeps leaves the processors to others. */
static void finish(int n, MPI_Request *request, int rest, double longest)
{
	int index[MOST_STARTED], done = 0;
	double nap = FIRST_NAP, last = nb_now();
	for (int open = n; open > rest; open -= done) {
		MPI_Testsome(n, request, &done, index, MPI_STATUSES_IGNORE);
		if (done > 0) {
			nap = FIRST_NAP;
			last = nb_now();
		} else if (nb_now() - last < PATIENCE) {
			sched_yield();
		} else {
			nb_pause(nap);
			nap = nap < longest / 2 ? 2 * nap : longest;
		}
	}
}

/* Until at most `rest` of what is started are not done. */
static void wait_for_all_but(int rest)
{
	int open = 0;
	finish(ranks.started, ranks.request, rest, LONGEST_NAP);
	for (int k = 0; k < ranks.started; k++)
		if (ranks.request[k] != MPI_REQUEST_NULL)
			ranks.request[open++] = ranks.request[k];
	ranks.started = open;
}

/* A place for what is started; waits if there is none. */
static MPI_Request *next_request(void)
{
	if (ranks.started == MOST_STARTED)
		wait_for_all_but(MOST_STARTED - 1);
	return &ranks.request[ranks.started++];
}

void nb_ranks_wait_all(void)
{
	wait_for_all_but(0);
}

int nb_ranks_call(enum nb_ranks_job job)
{
	if (ranks.size < 2 || ranks.rank > 0)
		return 0;
	if (job == NB_RANKS_DOMAIN)
		pthread_mutex_lock(&ranks.working);
	else if (pthread_mutex_trylock(&ranks.working))
		return 0;
	ranks.thread = pthread_self();
	__atomic_store_n(&ranks.at_work, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ranks.halted, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&ranks.at_work, 0, __ATOMIC_SEQ_CST);
		pause();
	}
	call_all(job);
	ranks.jobs += job != NB_RANKS_DOMAIN;
	return 1;
}

void nb_ranks_done(void)
{
	__atomic_store_n(&ranks.at_work, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&ranks.working);
}

void nb_ranks_halt(void)
{
	__atomic_store_n(&ranks.halted, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ranks.at_work, __ATOMIC_SEQ_CST) && !pthread_equal(ranks.thread, pthread_self()))
		nb_pause(LONGEST_NAP);
}

enum nb_ranks_job nb_ranks_wait(void)
{
	int call[2] = {NB_RANKS_END, 0};
	MPI_Request request;
	MPI_Irecv(call, 2, MPI_INT, 0, JOB, MPI_COMM_WORLD, &request);
	finish(1, &request, 0, LONGEST_IDLE);
	nb_cpu_set_threads(call[1]);
	return (enum nb_ranks_job)call[0];
}

void nb_ranks_broadcast(void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += MOST) {
		const size_t n = bytes - at < MOST ? bytes - at : MOST;
		MPI_Ibcast((char *)data + at, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD, next_request());
	}
}

void nb_ranks_gather(void *data, const size_t *bound)
{
	for (int from = 1; from < ranks.size; from++) {
		if (ranks.rank > 0 && ranks.rank != from)
			continue;
		for (size_t at = bound[from]; at < bound[from + 1]; at += MOST) {
			const size_t n = bound[from + 1] - at < MOST ? bound[from + 1] - at : MOST;
			if (ranks.rank == 0)
				MPI_Irecv((char *)data + at, (int)n, MPI_BYTE, from, PIECE, MPI_COMM_WORLD,
					next_request());
			else
				MPI_Isend(
					(char *)data + at, (int)n, MPI_BYTE, 0, PIECE, MPI_COMM_WORLD, next_request());
		}
	}
}

void nb_ranks_collect(void *data, const size_t *bound)
{
	for (int from = 0; from < ranks.size; from++)
		for (size_t at = bound[from]; at < bound[from + 1]; at += MOST) {
			const size_t n = bound[from + 1] - at < MOST ? bound[from + 1] - at : MOST;
			MPI_Ibcast((char *)data + at, (int)n, MPI_BYTE, from, MPI_COMM_WORLD, next_request());
		}
}

/* In rounds, each of which lets every rank send to one and receive from one, so that who waits for room within a round
 * waits for what others have begun. */
void nb_ranks_exchange(const void *send, const size_t *send_bound, void *receive, const size_t *receive_bound)
{
	const int own = ranks.rank, size = ranks.size;
	if (send_bound[own + 1] > send_bound[own])
		memcpy((char *)receive + receive_bound[own], (const char *)send + send_bound[own],
			send_bound[own + 1] - send_bound[own]);
	for (int round = 1; round < size; round++) {
		const int to = (own + round) % size, from = (own + size - round) % size;
		size_t out = send_bound[to], in = receive_bound[from];
		while (out < send_bound[to + 1] || in < receive_bound[from + 1]) {
			const size_t left = send_bound[to + 1] - out, due = receive_bound[from + 1] - in;
			if (ranks.started + 2 > MOST_STARTED)
				wait_for_all_but(MOST_STARTED - 2);
			if (due > 0)
				MPI_Irecv((char *)receive + in, (int)(due < MOST ? due : MOST), MPI_BYTE, from, PIECE,
					MPI_COMM_WORLD, next_request());
			if (left > 0)
				MPI_Isend((const char *)send + out, (int)(left < MOST ? left : MOST), MPI_BYTE, to,
					PIECE, MPI_COMM_WORLD, next_request());
			in += due < MOST ? due : MOST;
			out += left < MOST ? left : MOST;
		}
	}
}

/* Two steps, so that nobody adds in an order of his own. */
void nb_ranks_fold(enum nb_ranks_fold how, double *number, size_t n)
{
	const MPI_Op op = how == NB_RANKS_SUM ? MPI_SUM : MPI_MAX;
	if (ranks.rank == 0)
		MPI_Ireduce(MPI_IN_PLACE, number, (int)n, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, next_request());
	else
		MPI_Ireduce(number, NULL, (int)n, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, next_request());
	nb_ranks_wait_all();
	nb_ranks_broadcast(number, n * sizeof *number);
	nb_ranks_wait_all();
}
