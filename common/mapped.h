/* mapped.h - files that are read as memory.
 *
 * They belong to others, too: a page of one that has become shorter meanwhile raises SIGBUS.  Whoever meets that, a
 * kernel, a copy to a device or a write, ends the process at once with status 1 and one line in the name of the program
 * that mapped the file; there is no number that could take the place of what is gone. */
#ifndef NB_MAPPED_H
#define NB_MAPPED_H

#include <stddef.h>

#define NB_MAPPED_SHORTER "the file has become shorter while it was read"

/* The first bytes of a file, which may be changed without touching it; NULL: it cannot be mapped. */
void *nb_mapped_new(int fd, size_t size);
void nb_mapped_free(void *data);
/* A part of one that nobody has changed is not needed any more: its pages take no memory unless they are read again.
 * Other memory stays as it is. */
void nb_mapped_forget(void *data, size_t size);
/* After a system call that could not read this memory (EFAULT): ends the process if it is what is gone of a file. */
void nb_mapped_require(const void *data, size_t size);

#endif
