/* surroundings.h - whether two processes would do the same work in the same way, with the same rights: what a process
 * has from its start and what the one that takes over its work can not take over.  Private to tools/fold. */
#ifndef NB_FOLD_SURROUNDINGS_H
#define NB_FOLD_SURROUNDINGS_H

#include <stddef.h>
#include <sys/types.h>

enum nb_likeness {
	/* Nothing is gained or lost by handing a descriptor over: ids, namespaces, root, control group, capabilities,
	 * seccomp, security label. */
	NB_SAME_RIGHTS,
	/* And umask, ignored signals, resource limits, niceness, scheduling policies, processors and memory nodes. */
	NB_SAME_ALL,
};

/* Notes those of this process, once; what it changes later has no effect on comparisons. */
void nb_surroundings_note(void);
/* Compares another process as it is now with this one as it was noted: NULL, or a phrase such as "another control
 * group".  What neither of the two lets us read is the same. */
const char *nb_surroundings_differ(pid_t pid, enum nb_likeness likeness);

/* Whether what another process starts inherits the files that it would inherit from this one, under their numbers. */
int nb_inherits_same(pid_t pid);

/* Compares the variables on which the work or its speed may depend (CUDA_*, OMP_*, NB_*, LD_*, the locale and so on;
 * not NB_FOLD): NULL, or the first that differs, as "NAME=value" or "NAME", of which the name counts. */
const char *nb_environment_differs(char *const *a, char *const *b);

#endif
