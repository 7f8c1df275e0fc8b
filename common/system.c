#include "common/system.h"

#include <stdint.h>
#include <unistd.h>

void nb_system_raise(const int end[2])
{
	const uint64_t one = 1;
	if (end[1] >= 0)
		(void)!write(end[1], &one, sizeof one);
}

void nb_system_lower(const int end[2])
{
	uint64_t unused;
	while (end[0] >= 0 && read(end[0], &unused, sizeof unused) > 0)
		;
}
