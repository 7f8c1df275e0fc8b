/* Every process opens its own names: no other one does its work. */
#include "common/descriptor.h"
#include "common/named.h"

#include <fcntl.h>

int nb_names_of(int directory)
{
	(void)directory;
	return AT_FDCWD;
}

int nb_names_directory(void)
{
	return AT_FDCWD;
}

int nb_open_named(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC);
	return flags & O_DIRECTORY ? fd : nb_unless_directory(fd);
}

int nb_name_is_shared(const char *path)
{
	(void)path;
	return 0;
}
