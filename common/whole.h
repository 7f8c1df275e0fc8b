/* whole.h - a file that is written whole or not at all.
 *
 * Until it is closed, what has been written is in FILE.part in the same folder, and stays there if the process is
 * killed; closing gives it its name.  So a failure at any time leaves an older file as it was, and no half one.  The
 * file gets the mode, and the owner, of the older one.  What an earlier process has left in FILE.part becomes
 * FILE.part~. Written as they are: what is no regular file (a device, a pipe), a link to nothing, a file that this
 * process has open for writing, and a file in a folder that takes no new one.  A link to a file stays, and that file is
 * replaced. */
#ifndef NB_WHOLE_H
#define NB_WHOLE_H

#include "common/status.h"

struct nb_whole {
	int fd; /* to be written to; -1: not open */
	const char *path;
	char *target; /* regular file that takes its name at the end; NULL: fd is written as it is */
	char *part;   /* what it is called until then */
};

#define NB_WHOLE_PART ".part"

/* Both return 0, or -1 with errno; nb_whole_why tells what ETXTBSY and EBUSY mean, and NULL for any other.
 * A structure of zeros is one that is closed. */
NB_MUST_CHECK int nb_whole_open(struct nb_whole *file, const char *path);
NB_MUST_CHECK int nb_whole_close(struct nb_whole *file); /* after a failure, nb_whole_drop */
/* Whether a path leads to a file that gets its name from nb_whole_close: not to a pipe, a device or /dev/stdout. */
int nb_whole_is_named(const char *path);
/* Instead of nb_whole_close; nothing happens if it is closed. */
void nb_whole_drop(struct nb_whole *file);
void nb_whole_leave(struct nb_whole *file); /* what has been written stays in FILE.part */
const char *nb_whole_why(int error);

#endif
