#include "common/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ROOM = 64, DESCRIPTORS = 64 };

/* Does this process write to that file already, as by >FILE and /dev/stdout, or read it? */
static int is_ours(const struct stat *old, int to_write)
{
	struct stat mine;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (fstat(fd, &mine) == 0 && mine.st_dev == old->st_dev && mine.st_ino == old->st_ino &&
			((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) == to_write)
			return 1;
	return 0;
}

/* A name in the folder of the target; from malloc. */
static char *name_beside(const char *target, uint64_t number, unsigned attempt)
{
	const char *slash = strrchr(target, '/');
	const int folder = slash ? (int)(slash - target) + 1 : 0;
	char *name = malloc((size_t)folder + NAME_ROOM);
	if (name)
		snprintf(name, (size_t)folder + NAME_ROOM, "%.*s.nb-%" PRIu64 "-%u", folder, target, number, attempt);
	return name;
}

/* FNV-1a of a path. */
static uint64_t hash_of(const char *path)
{
	uint64_t hash = 14695981039346656037U;
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211U;
	return hash;
}

enum { ATTEMPTS = 100 };

/* A new file that has a name from the beginning, where there are no files without. */
static int make_named(struct nb_whole *file, const char *target)
{
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		char *name = name_beside(target, (uint64_t)getpid(), attempt);
		if (!name)
			return -1;
		const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			file->temporary = name;
			return fd;
		}
		const int error = errno;
		free(name);
		errno = error;
		if (error != EEXIST)
			return -1;
	}
	return -1;
}

/* A new file in the folder of the target, without a name if possible: then nothing of it is left however this process
 * ends. */
static int make_beside(struct nb_whole *file, const char *target)
{
	char *folder = name_beside(target, 0, 0);
	if (!folder)
		return -1;
	char *slash = strrchr(folder, '/');
	strcpy(slash ? slash + 1 : folder, slash ? "" : ".");
	int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
	free(folder);
	return fd >= 0 ? fd : make_named(file, target);
}

static void drop_temporary(struct nb_whole *file)
{
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->target);
	file->temporary = file->target = NULL;
}

/* The new file looks like the old one: 0, or -1 if it cannot. */
static int take_after(int fd, const struct stat *old)
{
	struct stat made;
	if (fstat(fd, &made))
		return -1;
	if ((made.st_uid != old->st_uid || made.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid))
		return -1;
	return (made.st_mode & 07777) == (old->st_mode & 07777) ? 0 : fchmod(fd, old->st_mode & 07777);
}

int nb_whole_is_named(const char *path)
{
	struct stat old, link;
	return stat(path, &old) == 0 ? S_ISREG(old.st_mode) && !is_ours(&old, 1) : lstat(path, &link) != 0;
}

/* Opens what will be renamed.  0; 1: the path must be written as it is; -1 with errno. */
static int open_beside(struct nb_whole *file)
{
	struct stat old;
	const int exists = stat(file->path, &old) == 0;
	if (!nb_whole_is_named(file->path))
		return 1;
	if (exists && faccessat(AT_FDCWD, file->path, W_OK, AT_EACCESS))
		return -1;
	file->target = exists ? realpath(file->path, NULL) : strdup(file->path);
	if (!file->target)
		return -1;
	file->fd = make_beside(file, file->target);
	const int error = errno, made = file->fd >= 0;
	if (made && (!exists || take_after(file->fd, &old) == 0))
		return 0;
	if (made)
		close(file->fd);
	file->fd = -1;
	drop_temporary(file);
	errno = error;
	return made || !exists || error == EACCES || error == EPERM ? 1 : -1;
}

/* A file that would be emptied before it has been read stays as it is. */
static int open_as_it_is(struct nb_whole *file)
{
	struct stat old;
	if (stat(file->path, &old) == 0 && S_ISREG(old.st_mode) && is_ours(&old, 0)) {
		errno = ETXTBSY;
		return -1;
	}
	return open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int nb_whole_open(struct nb_whole *file, const char *path)
{
	*file = (struct nb_whole){.fd = -1, .path = path};
	const int beside = open_beside(file);
	if (beside == 1)
		file->fd = open_as_it_is(file);
	return beside < 0 || file->fd < 0 ? -1 : 0;
}

/* Gives a file without a name that of its target: 0, -1 with errno, or 1: the name for the moment between is taken.
 * That name, which is needed if there is an old file, is always the same: what a process leaves that is killed in that
 * moment goes with the next.  So may the file of another one that writes the same target now, and is overtaken. */
static int take_place(const struct nb_whole *file, unsigned attempt)
{
	char self[NAME_ROOM];
	snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	char *name = errno == EEXIST ? name_beside(file->target, hash_of(file->target), attempt) : NULL;
	if (!name)
		return -1;
	(void)unlink(name);
	const int taken = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? errno : 0;
	const int failed = taken || rename(name, file->target) == 0 ||
					   (errno == ENOENT && access(file->target, F_OK) == 0)
				   ? taken
				   : errno;
	if (failed && !taken)
		(void)unlink(name);
	free(name);
	errno = failed;
	return taken == EEXIST ? 1 : failed ? -1 : 0;
}

/* Some file systems tell only when a descriptor is closed that the disk is full; so the name comes after. */
int nb_whole_close(struct nb_whole *file)
{
	const int unnamed = file->target && !file->temporary, other = unnamed ? dup(file->fd) : -1;
	int failed = other >= 0 && close(other) ? -1 : unnamed;
	for (unsigned attempt = 0; attempt < ATTEMPTS && failed > 0; attempt++)
		failed = take_place(file, attempt);
	if (failed)
		return -1;
	const int fd = file->fd;
	file->fd = -1;
	if ((close(fd) && !unnamed) || (file->temporary && rename(file->temporary, file->target)))
		return -1;
	free(file->temporary);
	free(file->target);
	file->temporary = file->target = NULL;
	return 0;
}

void nb_whole_drop(struct nb_whole *file)
{
	const int error = errno;
	if (file->path && file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	drop_temporary(file);
	errno = error;
}
