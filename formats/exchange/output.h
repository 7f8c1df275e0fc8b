/* output.h - buffered output to a path or a pipe, with errors that are noticed. */
#ifndef NB_EXCHANGE_OUTPUT_H
#define NB_EXCHANGE_OUTPUT_H

#include "common/whole.h"

#include <stddef.h>

struct nb_output {
	int fd;
	const char *path;
	struct nb_whole file; /* behind the path */
	char *buffer;
	size_t used, room;
	int held; /* all of it stays in the buffer, which grows */
};

/* Writes to fd, or, where fd is -1, to a file of this path.  NB_OK or NB_ENOMEM.
 *
 * The file is made when the first bytes go out, and is written whole or not at all (whole.h).
 *
 * What a terminal would obey (printable.h) reaches it as '?'; anything else gets the bytes as they are. */
NB_MUST_CHECK int nb_output_open(struct nb_output *out, int fd, const char *path);
/* Or keeps what it gets: `used` bytes of buffer.  used may be set to 0.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_output_hold(struct nb_output *out);
/* All return 0, or -1 with errno set by the system. */
NB_MUST_CHECK int nb_output_bytes(struct nb_output *out, const void *data, size_t bytes);
NB_MUST_CHECK int nb_output_text(struct nb_output *out, const char *text);
NB_MUST_CHECK int nb_output_f64(struct nb_output *out, double x); /* shortest text that reads back the same */
/* Whether it is a new regular file, of which bytes can be written once more; -1 with errno: it cannot be made. */
NB_MUST_CHECK int nb_output_goes_back(struct nb_output *out);
/* Bytes in place of those at this offset, which have been written to such a file. */
NB_MUST_CHECK int nb_output_again(struct nb_output *out, size_t at, const void *data, size_t bytes);
NB_MUST_CHECK int nb_output_flush(struct nb_output *out);
NB_MUST_CHECK int nb_output_close(struct nb_output *out); /* after a failure, nb_output_abandon */
void nb_output_abandon(struct nb_output *out);		  /* releases memory, and drops a file that it made */

/* A further file of an export (nb_export_beside). */
struct nb_beside {
	struct nb_beside *before;
	struct nb_output output;
	char path[];
};

#endif
