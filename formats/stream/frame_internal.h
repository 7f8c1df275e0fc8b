/* frame_internal.h - what the parts of a frame do for each other; private. */
#ifndef NB_FRAME_INTERNAL_H
#define NB_FRAME_INTERNAL_H

#include "formats/stream/frame.h"

/* ---- column.c ---- */

/* Releases all copies of the contents. */
void nb_column_release(struct nb_column *column);
/* The contents are, or are about to be, others. */
void nb_column_changed(struct nb_column *column);
/* The contents of column, which has none, become those of another one: both use the same memory.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_column_share(struct nb_column *column, struct nb_column *from);

/* ---- attribute.c ---- */

/* Drops those attributes behind the first `kept` ones whose keys go, as that function says. */
void nb_frame_drop_attributes(
	struct nb_frame *frame, size_t kept, int (*goes)(const char *key, const char *context), const char *context);
/* Appends the attributes of another frame.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_frame_copy_attributes(struct nb_frame *to, const struct nb_frame *from);

#endif
