#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int nb_above_standard(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return above;
}

int nb_is_fifo(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int nb_hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* open() takes the lowest; a directory cannot be written, not even by who opens it again */
		const int taken = fd == STDIN_FILENO ? open("/dev/null", O_WRONLY) : open("/", O_RDONLY | O_DIRECTORY);
		if (taken != fd)
			return -1;
	}
	return 0;
}

int nb_unless_directory(int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISDIR(st.st_mode))
		return fd;
	close(fd);
	errno = EISDIR;
	return -1;
}
