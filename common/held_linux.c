#include "common/held.h"

#include "common/child.h"
#include "common/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OTHER = 3 }; /* descriptor of a file */

/* A file in memory that may be executed. */
static int program_file(const char *name, const unsigned char *program, uint64_t size)
{
#ifndef MFD_EXEC
	enum { MFD_EXEC = 0x10 };
#endif
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) /* the kernel is older than this flag */
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0 && fd <= OTHER) { /* another file takes its place before it is executed */
		const int low = fd;
		fd = fcntl(low, F_DUPFD_CLOEXEC, OTHER + 1);
		close(low);
	}
	for (uint64_t at = 0; fd >= 0 && at < size;) {
		const ssize_t n = write(fd, program + at, size - at);
		if (n < 0 && errno != EINTR) {
			const int reason = errno;
			close(fd);
			errno = reason;
			return -1;
		}
		at += n > 0 ? (uint64_t)n : 0;
	}
	return fd;
}

int nb_held_start(const char *name, const unsigned char *program, uint64_t size, int file, int *to, pid_t *process)
{
	char path[40], *argv[] = {(char *)(uintptr_t)name, NULL};
	int pair[2];
	sigset_t none;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return errno;
	const int fd = program_file(name, program, size);
	int error = fd < 0 ? errno : 0;
	sigemptyset(&none);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const struct nb_child child = {path, argv, nb_environment(), {pair[1], -1, -1, [OTHER] = file}, OTHER + 1,
		.blocked = &none, .ignores_none = 1};
	if (!error)
		error = nb_child_start(&child, process);
	if (fd >= 0)
		close(fd);
	close(pair[1]);
	if (error)
		close(pair[0]);
	else
		*to = pair[0];
	return error;
}
