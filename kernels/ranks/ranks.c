/* A program without MPI: every process is alone. */
#include "kernels/ranks/ranks.h"

#include <string.h>

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
	return 0;
}

int nb_ranks_size(void)
{
	return 1;
}

int nb_ranks_least(int value)
{
	return value;
}

int nb_ranks_call(enum nb_ranks_job job)
{
	(void)job;
	return 0;
}

void nb_ranks_done(void)
{
}

void nb_ranks_halt(void)
{
}

size_t nb_ranks_jobs(void)
{
	return 0;
}

enum nb_ranks_job nb_ranks_wait(void)
{
	return NB_RANKS_END;
}

void nb_ranks_broadcast(void *data, size_t bytes)
{
	(void)data;
	(void)bytes;
}

void nb_ranks_gather(void *data, const size_t *bound)
{
	(void)data;
	(void)bound;
}

void nb_ranks_collect(void *data, const size_t *bound)
{
	(void)data;
	(void)bound;
}

void nb_ranks_exchange(const void *send, const size_t *send_bound, void *receive, const size_t *receive_bound)
{
	if (send_bound[1] > send_bound[0])
		memcpy((char *)receive + receive_bound[0], (const char *)send + send_bound[0],
			send_bound[1] - send_bound[0]);
}

void nb_ranks_settle(void)
{
}

void nb_ranks_fold(enum nb_ranks_fold how, double *number, size_t n)
{
	(void)how;
	(void)number;
	(void)n;
}

void nb_ranks_leave(void)
{
}

void nb_ranks_abort(int status)
{
	(void)status;
}
