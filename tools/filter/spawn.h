/* spawn.h - a shell command in a process group of its own, between two pipes, and what ends it if this process dies. */
#ifndef NB_FILTER_SPAWN_H
#define NB_FILTER_SPAWN_H

#include <signal.h>
#include <sys/types.h>

/* A pipe with ends that are closed in other programs and lie above standard error.  0, or -1 with errno. */
int nb_spawn_pipe(int end[2]);
/* Runs "/bin/sh -c command" where names begin (common/named.h), with these descriptors as standard input, output and
 * error (err -1: closed), and these signals blocked (NULL: those that this thread blocks).  0 and the process, which
 * leads a group, or an errno. */
int nb_spawn(const char *command, char **environment, int in, int out, int err, const sigset_t *blocked, pid_t *group);
/* A process, in a group of its own, that ends all processes of the group as soon as the other end of the pipe lifeline
 * is closed: by SIGTERM, and after 2 seconds by SIGKILL.  No signals are blocked there.  As nb_spawn. */
int nb_spawn_guardian(pid_t group, char **environment, int lifeline, pid_t *guardian);

#endif
