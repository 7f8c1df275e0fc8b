/* foreign.h - what a file is that is no particle stream, by its first bytes. */
#ifndef NB_STREAM_FOREIGN_H
#define NB_STREAM_FOREIGN_H

#include <stddef.h>

/* What the file is that begins with these bytes (8 are enough), and what to do with it, as "gzip: put 'gzip -dc'
 * before"; NULL: nothing that is known. */
const char *nb_foreign(const void *head, size_t n);
/* The same of ASCII text, which has no signature: NULL if these bytes are none. */
const char *nb_foreign_text(const void *head, size_t n);
/* Whether a particle stream begins so; of fewer bytes than its signature has, whether it may. */
int nb_is_stream(const void *head, size_t n);

#endif
