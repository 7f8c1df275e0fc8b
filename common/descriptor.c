#include "common/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

int nb_above_standard(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return above;
}
