/* group.h - the processes of a shell command, in a process group that ends with this process, however that ends. */
#ifndef NB_FILTER_GROUP_H
#define NB_FILTER_GROUP_H

#include <signal.h>
#include <sys/types.h>

struct nb_group {
	pid_t id;   /* of the shell, and of its process group; 0: no process is left */
	int exited; /* the shell has: */
	int status; /* exit status, or the signal that ended it, */
	int signal; /* or 0; */
	int error;  /* or the errno of waiting for it */
	/* private */
	pid_t guardian; /* 0: none */
	int lifeline;	/* which the guardian watches: this process holds it open as long as it lives */
	int unguarded;	/* no guardian is wanted any more */
};

/* As nb_spawn: 0, or an errno. */
int nb_group_start(struct nb_group *group, const char *command, char **environment, int in, int out, int err,
	const sigset_t *blocked);
/* Starts a process that ends the group if this process dies without having done so.  It takes as long as a shell needs
 * to start, so another thread may do it; where there can be no such process, nothing else changes. */
void nb_group_guard(struct nb_group *group, char **environment);
/* Waits at most so many seconds for the exit of the shell; 1 if there is one.  The other processes may still run, and
 * until nb_group_is_gone or nb_group_end the shell is not reaped, which keeps the number of the group from being given
 * to another one. */
int nb_group_has_exited(struct nb_group *group, double seconds);
/* Waits at most so many seconds for the end of all processes of the group; 1 if none is left. */
int nb_group_is_gone(struct nb_group *group, double seconds);
/* Ends all processes of the group by SIGTERM, and after 2 seconds by SIGKILL. */
void nb_group_end(struct nb_group *group);

#endif
