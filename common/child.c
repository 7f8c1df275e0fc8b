#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

/* A descriptor that no other one of the child can overwrite before it is in its place. */
static int lift(const struct nb_child *child, int k)
{
	const int fd = child->file[k];
	return fd < 0 || fd == k || fd >= child->nfile ? fd : fcntl(fd, F_DUPFD_CLOEXEC, child->nfile);
}

static int set_files(const struct nb_child *child, const int *from, posix_spawn_file_actions_t *files)
{
	int error = child->directory > 0 ? posix_spawn_file_actions_addfchdir_np(files, child->directory) : 0;
	for (int k = 0; !error && k < child->nfile; k++)
		error = from[k] < 0 || fcntl(from[k], F_GETFD) < 0 /* closed here, and so there */
				? posix_spawn_file_actions_addclose(files, k)
				: posix_spawn_file_actions_adddup2(files, from[k], k);
	if (!error && child->has_no_others)
		error = posix_spawn_file_actions_addclosefrom_np(files, child->nfile);
	return error;
}

static int set_attributes(const struct nb_child *child, posix_spawnattr_t *attributes)
{
	sigset_t all;
	sigfillset(&all);
	int error = posix_spawnattr_setflags(attributes, (short)((child->leads_group ? POSIX_SPAWN_SETPGROUP : 0) |
								 (child->blocked ? POSIX_SPAWN_SETSIGMASK : 0) |
								 (child->ignores_none ? POSIX_SPAWN_SETSIGDEF : 0)));
	if (!error && child->blocked)
		error = posix_spawnattr_setsigmask(attributes, child->blocked);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	return error ? error : posix_spawnattr_setpgroup(attributes, 0);
}

static int start(const struct nb_child *child, const int *from, pid_t *process)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (!error) {
		error = set_files(child, from, &files);
		if (!error)
			error = set_attributes(child, &attributes);
		if (!error)
			error = posix_spawn(process, child->path, &files, &attributes, child->argv, child->environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return error;
}

int nb_child_start(const struct nb_child *child, pid_t *process)
{
	int from[NB_CHILD_FILES], error = 0;
	for (int k = 0; k < child->nfile; k++) {
		from[k] = error ? -1 : lift(child, k);
		if (from[k] < 0 && child->file[k] >= 0 && !error)
			error = errno == EINVAL ? EMFILE : errno;
	}
	if (!error)
		error = start(child, from, process);
	for (int k = 0; k < child->nfile; k++)
		if (from[k] >= 0 && from[k] != child->file[k])
			close(from[k]);
	return error;
}
