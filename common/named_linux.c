#include "common/descriptor.h"
#include "common/named.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static _Thread_local int start = AT_FDCWD;

int nb_names_of(int directory)
{
	const int before = start;
	start = directory;
	return before;
}

int nb_names_directory(void)
{
	return start;
}

/* What /proc says of a process is another thing for each, whether a link of it is followed (a magic one, which is no
 * text) or it is opened itself. */
static int open_shared(int directory, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (unsigned long long)(unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_NO_MAGICLINKS};
	struct statfs where;
	const int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
	if (fd < 0 || (fstatfs(fd, &where) == 0 && where.f_type != PROC_SUPER_MAGIC))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

int nb_open_named(const char *path, int flags)
{
	const int fd = start == AT_FDCWD ? open(path, flags | O_CLOEXEC) : open_shared(start, path, flags);
	return flags & O_DIRECTORY ? fd : nb_unless_directory(fd);
}

/* There is no such file, and no link that would lead to one elsewhere. */
static int is_nothing(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(base - path) : 1, slash ? path : ".");
	const int fd = open_shared(start, folder, O_PATH | O_DIRECTORY);
	const int nothing = fd >= 0 && fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
	if (fd >= 0)
		close(fd);
	return nothing;
}

int nb_name_is_shared(const char *path)
{
	struct stat st;
	const int fd = open_shared(start, path, O_PATH);
	if (fd < 0) /* a name that is too long is so for everybody */
		return errno == ENAMETOOLONG || (errno == ENOENT && is_nothing(path));
	const int regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	close(fd);
	return regular;
}
