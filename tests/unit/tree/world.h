/* world.h - ranks that are threads of this process, in the place of those of MPI: all that kernels/ranks/ranks.h
 * declares.  C and C++. */
#ifndef NB_UNIT_TREE_WORLD_H
#define NB_UNIT_TREE_WORLD_H

#include "kernels/backend/backend.h"
#include "kernels/ranks/ranks.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

static struct {
	int size, job, busy;
	size_t jobs;
	void *shared[MOST];
	const void *sent[MOST];
	const size_t *send_bound[MOST];
	size_t bytes[MOST]; /* that each rank has given back */
	pthread_barrier_t all;
} world;
static __thread int rank;

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
	return world.size ? world.size : 1;
}

int nb_ranks_together(void)
{
	return 0;
}

int nb_ranks_reach_devices(void)
{
	return 0;
}

int nb_ranks_begin_threads(int n, int (*by)(void))
{
	(void)n;
	(void)by;
	return NB_EUNSUPPORTED;
}

int nb_ranks_beside(void)
{
	return rank;
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

void nb_ranks_collect(void *data, const size_t *bound)
{
	world.shared[rank] = data;
	pthread_barrier_wait(&world.all);
	for (int k = 0; k < world.size; k++)
		if (k != rank && bound[k + 1] > bound[k])
			memcpy((char *)data + bound[k], (char *)world.shared[k] + bound[k], bound[k + 1] - bound[k]);
	pthread_barrier_wait(&world.all);
}

void nb_ranks_exchange(const void *send, const size_t *send_bound, void *receive, const size_t *receive_bound)
{
	world.sent[rank] = send;
	world.send_bound[rank] = send_bound;
	pthread_barrier_wait(&world.all);
	for (int k = 0; k < world.size; k++) {
		const size_t *const from = world.send_bound[k], n = from[rank + 1] - from[rank];
		CHECK(receive_bound[k + 1] - receive_bound[k] == n);
		if (n)
			memcpy((char *)receive + receive_bound[k], (const char *)world.sent[k] + from[rank], n);
	}
	pthread_barrier_wait(&world.all);
}

void nb_ranks_fold(enum nb_ranks_fold how, double *number, size_t n)
{
	world.shared[rank] = number;
	pthread_barrier_wait(&world.all);
	for (size_t i = 0; rank == 0 && i < n; i++)
		for (int k = 1; k < world.size; k++) {
			const double other = ((double *)world.shared[k])[i];
			number[i] = how == NB_RANKS_SUM ? number[i] + other : fmax(number[i], other);
		}
	pthread_barrier_wait(&world.all);
	if (rank > 0)
		memcpy(number, world.shared[0], n * sizeof *number);
	pthread_barrier_wait(&world.all);
}

void nb_ranks_wait_all(void)
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

static inline void begin(int size)
{
	world.size = size;
	pthread_barrier_init(&world.all, NULL, (unsigned)size);
	for (int k = 1; k < size; k++)
		CHECK(pthread_create(&thread[k], NULL, serve, (void *)(intptr_t)k) == 0);
}

static inline void end(void)
{
	world.job = NB_RANKS_END;
	if (world.size > 1)
		pthread_barrier_wait(&world.all);
	for (int k = 1; k < world.size; k++)
		pthread_join(thread[k], NULL);
	pthread_barrier_destroy(&world.all);
	world.size = 1;
}

#endif
