/* list.h - the devices that -b names; a part of backend.h. */
#ifndef NB_BACKEND_LIST_H
#define NB_BACKEND_LIST_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_DEVICES_MOST = 16 };

/* Devices in the order of their names; the first is the primary, which has the arrays.  One may stand there several
 * times. */
struct nb_device_list {
	int n; /* 0: all that the driver lists */
	int id[NB_DEVICES_MOST];
};

/* What "cuda", which is device 0, "cuda:N", "cuda:N,N-N,..." and "cuda:all" name.  NB_EINVAL for anything else; why, of
 * size bytes, then says what is wrong. */
NB_MUST_CHECK int nb_device_list_read(const char *name, struct nb_device_list *list, char *why, size_t size);

/* Whether two lists name the same devices in the same order; "all" is the same as "all" only. */
int nb_device_list_equal(const struct nb_device_list *a, const struct nb_device_list *b);

NB_C_END
#endif
