/* ranks.h - the processes, on one host or several, that share the work of a program by MPI.
 *
 * Rank 0 is the program: it alone reads, writes and decides.  The others wait for jobs, get what a job needs, compute a
 * part of it, and give that back, or keep what is theirs from one job to the next (NB_RANKS_DOMAIN).  A part does not
 * depend on the rank that computes it, so results are the same bytes for any number of ranks.
 *
 * Work is distributed in two ways, which have names of their own.
 * Replicate and share: each has all bodies, computes a share, and gives it back.  By processes: gravity/ranks_cpu.c,
 * gravity/direct_cpu.c, walk/ranks_cpu.c (nb_.._replicate, .._by_ranks), on this transport.  By the devices of a
 * process: walk_gpu/share_cuda.cu (nb_share_..) and gravity/direct, near, soft_cuda.cu, on that of kernels/team, whose
 * copies overlap with kernels, and whose devices draw work by a counter: calls that all wait for would be slower.
 * Decompose: each owns the bodies of a range of keys (kernels/domain, nb_domain_..), as a process or a thread of one
 * that has several devices, on this transport; rows of devices go from one to the other (domain/transport_cuda.cu).
 *
 * ranks_mpi.c is part of a program built with MPI=1; in others ranks.c stands for it, and every process is alone, but
 * for jobs NB_RANKS_DOMAIN, of which threads of it can be the ranks.  What MPI finds wrong, such as a rank that has
 * gone, ends all ranks: there is nothing to be checked. */
#ifndef NB_RANKS_H
#define NB_RANKS_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

enum nb_ranks_job { NB_RANKS_END, NB_RANKS_DIRECT, NB_RANKS_TREE, NB_RANKS_DOMAIN };

/* Whether this program can be one of several ranks. */
int nb_ranks_built(void);
/* Whether a launcher, such as mpirun, has started this process as a rank, be it the only one. */
int nb_ranks_launched(void);
/* Meets the other ranks, once, in a process that has been launched.  NB_ENODEV: MPI cannot be used from threads.  Ranks
 * of one host that may use the same processors get equal numbers of threads, unless OMP_NUM_THREADS is set.  When rank
 * 0 exits, the others end too. */
NB_MUST_CHECK int nb_ranks_join(void);
/* 0 and 1 before that, and where a process is alone. */
int nb_ranks_rank(void);
int nb_ranks_size(void);
/* Makes threads of this process ranks 1 .. n - 1 of jobs NB_RANKS_DOMAIN, in the place of those that are (n = 1: there
 * are none then); each calls serve for each job.  Rank 0 is whoever calls nb_ranks_call; the size is n in a job,
 * else 1. NB_ENOMEM; NB_EUNSUPPORTED in a program with MPI. */
NB_MUST_CHECK int nb_ranks_begin_threads(int n, int (*serve)(void));
/* Whether the other ranks of this job are such threads. */
int nb_ranks_together(void);
/* How many ranks of lower numbers are on this host. */
int nb_ranks_beside(void);
/* The least of the values that all ranks give. */
int nb_ranks_least(int value);

/* Rank 0: calls the others to a job.  1: they wait for its data, and nb_ranks_done must follow.  0: there are none, or
 * another thread has called them, and the caller computes alone; NB_RANKS_DOMAIN waits until that one is done. */
int nb_ranks_call(enum nb_ranks_job job);
void nb_ranks_done(void);
/* Rank 0, for a signal handler that is to end the process: waits for the end of the job of another thread, and no other
 * begins.  One that dies in a job makes MPI complain in the others. */
void nb_ranks_halt(void);
/* How many jobs there have been, other than NB_RANKS_DOMAIN. */
size_t nb_ranks_jobs(void);
/* Other ranks: waits for the next job, and sets the number of threads that rank 0 was asked for. */
enum nb_ranks_job nb_ranks_wait(void);

/* In a job, called by all ranks in the same order.  They begin to move data, which stays where it is until
 * nb_ranks_wait_all, which waits until all has been moved.
 * These bytes of rank 0 to all: */
void nb_ranks_broadcast(void *data, size_t bytes);
/* rank k has bytes bound[k] .. bound[k + 1] - 1 of an array; rank 0 gets all of it, and its own are in place.
 *   bound  nb_ranks_size() + 1, ascending, the same everywhere; read in the call only */
void nb_ranks_gather(void *data, const size_t *bound);
/* the same, and all get all of it: */
void nb_ranks_collect(void *data, const size_t *bound);
/* the bytes send_bound[k] .. send_bound[k + 1] - 1 of send go to rank k, and what comes from rank k becomes those of
 * receive_bound in receive; what stays here is copied at once: */
void nb_ranks_exchange(const void *send, const size_t *send_bound, void *receive, const size_t *receive_bound);
/* 1: what is exchanged may be in the memory of CUDA devices, of cudaMalloc, nothing of it to stay here (an MPI that
 * says that it can). */
int nb_ranks_reach_devices(void);
void nb_ranks_wait_all(void);
/* In a job: each of n numbers becomes the sum of those of all ranks, or the largest; the same bytes for all.  Waits. */
enum nb_ranks_fold { NB_RANKS_SUM, NB_RANKS_MOST };
void nb_ranks_fold(enum nb_ranks_fold how, double *number, size_t n);

/* Rank 0: the others end.  Nothing is shared after that. */
void nb_ranks_leave(void);
/* Ends all ranks with this exit status.  Returns where a process is alone. */
void nb_ranks_abort(int status);

NB_C_END
#endif
