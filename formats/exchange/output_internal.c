#include "formats/exchange/output_internal.h"

#include "common/decimal.h"
#include "common/mem.h"
#include "common/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_SIZE = 128 << 10, NAME_ROOM = 64, DESCRIPTORS = 64 };

int nb_output_open(struct nb_output *out, int fd, const char *path)
{
	*out = (struct nb_output){.fd = fd, .path = path};
	out->buffer = nb_alloc(OUT_SIZE + 1, 1);
	return out->buffer ? NB_OK : NB_ENOMEM;
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* Does this process write to that file already, as by >FILE and /dev/stdout? */
static int is_ours(const struct stat *file)
{
	struct stat mine;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (fstat(fd, &mine) == 0 && mine.st_dev == file->st_dev && mine.st_ino == file->st_ino &&
			(fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			return 1;
	return 0;
}

/* A name in the folder of the target that is free; from malloc. */
static char *free_name(const char *target, unsigned attempt)
{
	const char *slash = strrchr(target, '/');
	const int folder = slash ? (int)(slash - target) + 1 : 0;
	char *name = malloc((size_t)folder + NAME_ROOM);
	if (name)
		snprintf(name, (size_t)folder + NAME_ROOM, "%.*s.nb-%ld-%u", folder, target, (long)getpid(), attempt);
	return name;
}

enum { ATTEMPTS = 100 };

/* A new file that has a name from the beginning, where there are no files without. */
static int make_named(struct nb_output *out, const char *target)
{
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		char *name = free_name(target, attempt);
		if (!name)
			return -1;
		const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			out->temporary = name;
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
static int make_beside(struct nb_output *out, const char *target)
{
	char *folder = free_name(target, 0);
	if (!folder)
		return -1;
	char *slash = strrchr(folder, '/');
	strcpy(slash ? slash + 1 : folder, slash ? "" : ".");
	int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
	free(folder);
	return fd >= 0 ? fd : make_named(out, target);
}

static void drop_temporary(struct nb_output *out)
{
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->target);
	out->temporary = out->target = NULL;
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

/* Opens what will be renamed.  0; 1: the path must be written as it is; -1 with errno. */
static int open_beside(struct nb_output *out)
{
	struct stat old, link;
	const int exists = stat(out->path, &old) == 0;
	if (exists ? !S_ISREG(old.st_mode) || is_ours(&old) : lstat(out->path, &link) == 0)
		return 1;
	if (exists && faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS))
		return -1;
	out->target = exists ? realpath(out->path, NULL) : strdup(out->path);
	if (!out->target)
		return -1;
	out->fd = make_beside(out, out->target);
	const int error = errno, made = out->fd >= 0;
	if (made && (!exists || take_after(out->fd, &old) == 0))
		return 0;
	if (made)
		close(out->fd);
	out->fd = -1;
	drop_temporary(out);
	errno = error;
	return made || !exists || error == EACCES || error == EPERM ? 1 : -1;
}

static int open_path(struct nb_output *out)
{
	const int beside = open_beside(out);
	if (beside == 1)
		out->fd = open(out->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return beside < 0 || out->fd < 0 ? -1 : 0;
}

/* Gives a file without a name one that is free. */
static int name_temporary(struct nb_output *out)
{
	char self[NAME_ROOM];
	snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		char *name = free_name(out->target, attempt);
		if (!name)
			return -1;
		if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			out->temporary = name;
			return 0;
		}
		const int error = errno;
		free(name);
		errno = error;
		if (error != EEXIST)
			return -1;
	}
	return -1;
}

/* ---- bytes -------------------------------------------------------------------------------------- */

/* Lines that a terminal shows and does not obey. */
static void tame(struct nb_output *out)
{
	size_t kept = 0;
	for (size_t at = 0, next; at < out->used; at = next) {
		char *line = out->buffer + at, *end = memchr(line, '\n', out->used - at);
		next = end ? (size_t)(end - out->buffer) + 1 : out->used;
		out->buffer[end ? next - 1 : next] = '\0';
		nb_make_printable(line);
		const size_t length = strlen(line);
		memmove(out->buffer + kept, line, length);
		kept += length;
		if (end)
			out->buffer[kept++] = '\n';
	}
	out->used = kept;
}

static int flush(struct nb_output *out)
{
	if (out->fd < 0 && open_path(out))
		return -1;
	if (out->used && isatty(out->fd))
		tame(out);
	for (size_t at = 0; at < out->used;) {
		ssize_t n = write(out->fd, out->buffer + at, out->used - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += (size_t)n;
	}
	out->used = 0;
	return 0;
}

int nb_output_bytes(struct nb_output *out, const void *data, size_t bytes)
{
	const char *from = data;
	while (bytes) {
		size_t free_bytes = OUT_SIZE - out->used, part = bytes < free_bytes ? bytes : free_bytes;
		memcpy(out->buffer + out->used, from, part);
		out->used += part;
		from += part;
		bytes -= part;
		if (out->used == OUT_SIZE && flush(out))
			return -1;
	}
	return 0;
}

int nb_output_text(struct nb_output *out, const char *text)
{
	return nb_output_bytes(out, text, strlen(text));
}

int nb_output_f64(struct nb_output *out, double x)
{
	if (OUT_SIZE - out->used < NB_DECIMAL_SIZE && flush(out))
		return -1;
	out->used += nb_decimal_write(x, out->buffer + out->used);
	return 0;
}

/* Some file systems tell only when a file is closed that the disk is full; so the name comes after. */
int nb_output_close(struct nb_output *out)
{
	if (flush(out) || (out->target && !out->temporary && name_temporary(out)))
		return -1;
	const int fd = out->fd;
	out->fd = -1;
	if (close(fd) || (out->target && rename(out->temporary, out->target)))
		return -1;
	free(out->temporary);
	free(out->target);
	out->temporary = out->target = NULL;
	nb_output_abandon(out);
	return 0;
}

void nb_output_abandon(struct nb_output *out)
{
	const int error = errno;
	nb_free(out->buffer);
	out->buffer = NULL;
	if (out->path && out->fd >= 0)
		close(out->fd);
	out->fd = -1;
	drop_temporary(out);
	errno = error;
}
