#include "tools/filter/spawn.h"

#include "common/descriptor.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* A pipe whose ends lie above standard error, so that they survive the child's redirections even where
 * the program was started with standard input or output closed. */
int nb_spawn_pipe(int end[2])
{
	int low[2];
	if (pipe2(low, O_CLOEXEC))
		return -1;
	for (int i = 0; i < 2; i++)
		end[i] = nb_above_standard(low[i]);
	if (end[0] >= 0 && end[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (end[i] >= 0)
			close(end[i]);
	return -1;
}

static int run_shell(
	char *argv[], char **environment, posix_spawn_file_actions_t *files, const sigset_t *blocked, pid_t *pid)
{
	posix_spawnattr_t attributes;
	int error = posix_spawnattr_init(&attributes);
	if (error)
		return error;
	error = posix_spawnattr_setflags(
		&attributes, (short)(POSIX_SPAWN_SETPGROUP | (blocked ? POSIX_SPAWN_SETSIGMASK : 0)));
	if (!error && blocked)
		error = posix_spawnattr_setsigmask(&attributes, blocked);
	if (!error)
		error = posix_spawnattr_setpgroup(&attributes, 0);
	if (!error)
		error = posix_spawn(pid, "/bin/sh", files, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	return error;
}

int nb_spawn(const char *command, char **environment, int in, int out, int err, const sigset_t *blocked, pid_t *group)
{
	char shell[] = "sh", flag[] = "-c";
	char *argv[] = {shell, flag, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	int error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (!error && err != STDERR_FILENO)
		error = err < 0 ? posix_spawn_file_actions_addclose(&files, STDERR_FILENO)
				: posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
	if (!error)
		error = run_shell(argv, environment, &files, blocked, group);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

/* $0 is the group.  Signals that others mean for the whole session do not end it. */
static const char guard[] = ": ends a force pipeline that outlives nb-step\n"
			    "trap '' HUP INT QUIT TERM PIPE\n"
			    "read -r line\n"
			    "kill -s TERM -- \"-$0\" && kill -s CONT -- \"-$0\"\n"
			    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
			    "	kill -s 0 -- \"-$0\" || exit 0\n"
			    "	sleep 0.1\n"
			    "done\n"
			    "kill -s KILL -- \"-$0\"\n";

int nb_spawn_guardian(pid_t group, char **environment, int lifeline, pid_t *guardian)
{
	char shell[] = "sh", flag[] = "-c", number[24];
	char *argv[] = {shell, flag, (char *)(uintptr_t)guard, number, NULL};
	posix_spawn_file_actions_t files;
	sigset_t none;
	sigemptyset(&none);
	snprintf(number, sizeof number, "%ld", (long)group);
	int error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	/* it holds no other file of this process: somebody may wait for the end of one */
	error = posix_spawn_file_actions_adddup2(&files, lifeline, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(&files, STDOUT_FILENO);
	if (!error)
		error = run_shell(argv, environment, &files, &none, guardian);
	posix_spawn_file_actions_destroy(&files);
	return error;
}
