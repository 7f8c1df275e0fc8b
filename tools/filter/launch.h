/* launch.h - a tool whose work several processes share, the ranks of MPI (kernels/ranks/ranks.h).
 *
 * Ranks are started by a launcher: `mpirun -n 4 nb-step ...`, or `nb-step --mpi 'mpirun -n 4' ...`, which leaves the
 * process where it stands in a pipeline, to wait.  A launcher is no part of the way of a stream: Open MPI's moves 70
 * MB/s, others lose bytes.  Rank 0 opens the standard input and output of the process that waits, or of mpirun, by
 * their paths in /proc. */
#ifndef NB_FILTER_LAUNCH_H
#define NB_FILTER_LAUNCH_H

#include "tools/filter/filter.h"

/* If a launcher has started this process, meets the other ranks; a rank other than the first does its part of the work
 * and does not return.  Before anything else. */
void nb_launch_join(const struct nb_tool *tool);
/* With --mpi, in a process that is no rank: starts the ranks and waits for them.  Returns the exit status, or
 * NB_LAUNCH_HERE: the work is to be done in this process, which has now the standard input and output that it wants. */
enum { NB_LAUNCH_HERE = -2 };
NB_MUST_CHECK int nb_launch(struct nb_run *run, int argc, char **argv);

#endif
