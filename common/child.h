/* child.h - starting another program: nothing else in nb does (make lint), so that all of them are known.
 *
 * No such process outlives the one that started it, however that ends.  A program of nb sees the end of the socket that
 * it talks through; the processes of a shell command are ended by a guardian, which sees the end of a pipe
 * (tools/filter/group.h).  PR_SET_PDEATHSIG would not do: it follows the thread that started a process, and is not
 * passed on to what a shell starts. */
#ifndef NB_CHILD_H
#define NB_CHILD_H

#include <signal.h>
#include <sys/types.h>

enum { NB_CHILD_FILES = 4 };

struct nb_child {
	const char *path;
	char *const *argv, *const *environment;
	int file[NB_CHILD_FILES]; /* what becomes its descriptors 0, 1, ...; -1: closed there */
	int nfile;
	int has_no_others;	 /* it gets none of the other descriptors that are not close-on-exec */
	int leads_group;	 /* a process group of its own */
	const sigset_t *blocked; /* signals; NULL: those that this thread blocks */
	int ignores_none;	 /* no signal */
	int directory;		 /* where it starts; 0 and AT_FDCWD: where this process is */
};

/* Starts it: 0, or an errno.  EMFILE also where the limit of descriptors leaves no room for so many. */
int nb_child_start(const struct nb_child *child, pid_t *process);

#endif
