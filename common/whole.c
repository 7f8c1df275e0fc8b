#include "common/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 64 };

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

/* The target and an ending; from malloc. */
static char *with_ending(const char *target, const char *ending)
{
	char *name = malloc(strlen(target) + strlen(ending) + 1);
	if (name)
		strcat(strcpy(name, target), ending);
	return name;
}

/* The file that has a part's name, if it is one that a run that was stopped may have left: 0, or -1 with errno. */
static int take_part(int fd, const char *part, off_t *left)
{
	struct stat mine, there;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		errno = EBUSY;
		return -1;
	}
	if (fstat(fd, &mine))
		return -1;
	if (!S_ISREG(mine.st_mode) || mine.st_uid != geteuid()) {
		errno = EEXIST;
		return -1;
	}
	/* the program that wrote it may have given it its own name meanwhile */
	const int gone = stat(part, &there);
	if (gone && errno != ENOENT)
		return -1;
	*left = gone || there.st_ino != mine.st_ino || there.st_dev != mine.st_dev ? -1 : mine.st_size;
	return 0;
}

/* Opens an empty part, which stays locked while it is open anywhere.  What was left under the name becomes a backup. */
static int make_part(const char *part)
{
	char *backup = with_ending(part, "~");
	off_t left = -1;
	int fd = -1;
	while (backup && left) {
		fd = open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
		if (fd < 0)
			break;
		const int failed = take_part(fd, part, &left) || (left > 0 && rename(part, backup));
		const int error = errno;
		if (failed || left)
			close(fd);
		errno = error;
		if (failed) {
			fd = -1;
			break;
		}
	}
	free(backup);
	return fd;
}

static void forget_names(struct nb_whole *file)
{
	free(file->part);
	free(file->target);
	file->part = file->target = NULL;
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
	file->part = file->target ? with_ending(file->target, NB_WHOLE_PART) : NULL;
	file->fd = file->part ? make_part(file->part) : -1;
	const int error = errno, made = file->fd >= 0;
	if (made && (!exists || take_after(file->fd, &old) == 0))
		return 0;
	if (made) {
		unlink(file->part);
		close(file->fd);
	}
	file->fd = -1;
	forget_names(file);
	errno = error;
	return made || error == EACCES || error == EPERM || error == ENAMETOOLONG ? 1 : -1;
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

/* Some file systems tell only when a file is closed that the disk is full; so the name comes after.  Until then a copy
 * of the descriptor keeps the lock. */
int nb_whole_close(struct nb_whole *file)
{
	const int fd = file->fd, locked = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file->fd = -1;
	const int failed = close(fd) || (file->target && rename(file->part, file->target));
	const int error = errno;
	if (locked >= 0)
		close(locked);
	errno = error;
	if (!failed)
		forget_names(file);
	return failed ? -1 : 0;
}

void nb_whole_drop(struct nb_whole *file)
{
	const int error = errno;
	if (file->part)
		unlink(file->part);
	nb_whole_leave(file);
	errno = error;
}

void nb_whole_leave(struct nb_whole *file)
{
	const int error = errno;
	if (file->path && file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	forget_names(file);
	errno = error;
}

const char *nb_whole_why(int error)
{
	return error == ETXTBSY ? "is both input and output, and its folder takes no new file"
	       : error == EBUSY ? "is being written by another program"
				: NULL;
}
