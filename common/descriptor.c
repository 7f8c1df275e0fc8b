#include "common/descriptor.h"

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
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) /* open() takes the lowest */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	return 0;
}
