/* bytes.h - the bytes of a file or pipe that is imported, buffered, so that a format may look ahead. */
#ifndef NB_EXCHANGE_BYTES_H
#define NB_EXCHANGE_BYTES_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NB_BYTES_MOST = 256 << 10 };

struct nb_bytes {
	int fd;
	int seekable;  /* a regular file */
	uint64_t size; /* of a regular file, from where it was opened; else 0 */
	uint64_t at;   /* offset of the next byte from there */
	/* private */
	off_t from; /* where a regular file was opened */
	unsigned char *buffer;
	size_t begin, end;
	size_t ahead; /* read at once: little behind a jump, since another may follow */
	int ended;
};

/* Nothing is read yet.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_bytes_open(struct nb_bytes *bytes, int fd);
/* The next n bytes (at most NB_BYTES_MOST), which stay the next; *there < n where the input ends before.  NULL: reading
 * failed, with errno. */
const unsigned char *nb_bytes_peek(struct nb_bytes *bytes, size_t n, size_t *there);
/* Goes on behind n bytes that have been looked at. */
void nb_bytes_pass(struct nb_bytes *bytes, size_t n);
/* As read(2): what there is of the next bytes, at most so many; 0: the end; -1 with errno. */
ssize_t nb_bytes_read(struct nb_bytes *bytes, void *to, size_t most);
/* n bytes of a regular file, so far behind the next one; several threads may ask at once.  Whether they are there and
 * could be read. */
int nb_bytes_are_ahead(const struct nb_bytes *bytes, uint64_t offset, void *to, size_t n);
/* Goes on n bytes further, in a regular file without reading them.  0; 1: the input ends before; -1 with errno. */
int nb_bytes_skip(struct nb_bytes *bytes, uint64_t n);
/* Goes to that offset of a regular file.  0, or -1 with errno. */
int nb_bytes_seek(struct nb_bytes *bytes, uint64_t at);
/* Frees memory; the descriptor stays open. */
void nb_bytes_close(struct nb_bytes *bytes);

#endif
