#include "common/space.h"

#include "common/mem.h"
#include "common/status.h"

#include <string.h>

static void *host_alloc(const struct nb_space *space, size_t bytes)
{
	(void)space;
	return nb_alloc(bytes, 1);
}

static void host_release(const struct nb_space *space, void *p)
{
	(void)space;
	nb_free(p);
}

static int host_copy(const struct nb_space *space, void *to, const void *from, size_t bytes)
{
	(void)space;
	if (bytes)
		memcpy(to, from, bytes);
	return NB_OK;
}

const struct nb_space nb_space_host = {"host", -1, host_alloc, host_release, host_copy, host_copy};
