#include "tools/filter/spawn.h"

#include "common/child.h"
#include "common/descriptor.h"
#include "common/named.h"
#include "common/system.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The environment of a command that finds the programs of nb wherever it runs: the folder of this one is the last in
 * its PATH.  *path is to be freed, too.  NULL: it is there already, or cannot be told. */
static char **with_own_folder(char **environment, char **path)
{
	static const char standard[] = "/usr/bin:/bin";
	char folder[PATH_MAX];
	size_t n = 0, at = 0;
	while (environment[n])
		n++;
	while (at < n && strncmp(environment[at], "PATH=", 5) != 0)
		at++;
	const char *old = at < n ? environment[at] + 5 : standard;
	char **all = nb_system_program(folder, sizeof folder) == 0 ? malloc((n + 2) * sizeof *all) : NULL;
	if (!all)
		return NULL;
	*strrchr(folder, '/') = '\0';
	const char *found = strstr(old, folder), *behind = found ? found + strlen(folder) : NULL;
	const int is_there = found && (found == old || found[-1] == ':') && (*behind == ':' || !*behind);
	if (is_there || asprintf(path, "PATH=%s%s%s", old, *old ? ":" : "", folder) < 0) {
		free(all);
		return NULL;
	}
	memcpy(all, environment, n * sizeof *all);
	all[at] = *path;
	all[at < n ? n : n + 1] = NULL;
	return all;
}

int nb_spawn(const char *command, char **environment, int in, int out, int err, const sigset_t *blocked, pid_t *group)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
	char *path = NULL, **more = with_own_folder(environment, &path);
	const struct nb_child child = {"/bin/sh", argv, more ? more : environment, {in, out, err}, 3, .leads_group = 1,
		.blocked = blocked, .directory = nb_names_directory()};
	const int error = nb_child_start(&child, group);
	if (more) {
		free(path);
		free(more);
	}
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
	char number[24], *argv[] = {"sh", "-c", (char *)(uintptr_t)guard, number, NULL};
	sigset_t none;
	sigemptyset(&none);
	snprintf(number, sizeof number, "%ld", (long)group);
	/* it holds no other file of this process: somebody may wait for the end of one */
	const struct nb_child child = {
		"/bin/sh", argv, environment, {lifeline}, 1, .has_no_others = 1, .leads_group = 1, .blocked = &none};
	return nb_child_start(&child, guardian);
}
