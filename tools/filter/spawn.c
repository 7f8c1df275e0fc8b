#include "tools/filter/spawn.h"

#include "common/descriptor.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
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

int nb_spawn(const char *command, char **environment, int in, int out, int err, pid_t *group)
{
	char shell[] = "sh", flag[] = "-c";
	char *argv[] = {shell, flag, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (!error) {
		error = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
		if (!error)
			error = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
		if (!error && err != STDERR_FILENO)
			error = err < 0 ? posix_spawn_file_actions_addclose(&files, STDERR_FILENO)
					: posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
		if (!error)
			error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
		if (!error)
			error = posix_spawnattr_setpgroup(&attributes, 0);
		if (!error)
			error = posix_spawn(group, "/bin/sh", &files, &attributes, argv, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return error;
}
