/* whole.h - a file that is written whole or not at all.
 *
 * It is made in the folder of its path and takes the name when it is closed: a failure at any time leaves an older file
 * as it was, and no half one.  It gets the mode, and the owner, of the older one.  Written as they are: what is no
 * regular file (a device, a pipe), a link to nothing, a file that this process has open for writing, and a file in a
 * folder that takes no new one.  A link to a file stays, and that file is replaced. */
#ifndef NB_WHOLE_H
#define NB_WHOLE_H

#include "common/status.h"

struct nb_whole {
	int fd; /* to be written to; -1: not open */
	const char *path;
	char *target;	 /* regular file that takes its name at the end; NULL: fd is written as it is */
	char *temporary; /* what it is called until then; NULL: it has no name yet */
};

/* All return 0, or -1 with errno.  ETXTBSY: the file could only be written as it is, and this process reads it.
 * A structure of zeros is one that is closed. */
NB_MUST_CHECK int nb_whole_open(struct nb_whole *file, const char *path);
NB_MUST_CHECK int nb_whole_close(struct nb_whole *file); /* after a failure, nb_whole_drop */
/* Whether a path leads to a file that gets its name from nb_whole_close: not to a pipe, a device or /dev/stdout. */
int nb_whole_is_named(const char *path);
void nb_whole_drop(struct nb_whole *file); /* without a name; nothing happens if it is closed */

#endif
