/* stale.h - what a tool drops because it no longer follows from the bodies, reported with -v.
 *
 *     char before[NB_STALE_TEXT] = "";
 *     nb_list_derived(frame, before);
 *     ... drop what is stale ...
 *     nb_tell_stale(frame, before, "'--shift %s'", text);
 */
#ifndef NB_FILTER_STALE_H
#define NB_FILTER_STALE_H

#include "formats/stream/stream.h"

enum { NB_STALE_TEXT = 400 };

/* Adds the derived columns of the bodies, and "tree" and "boxes", as far as they are not in the list. */
void nb_list_derived(const struct nb_frame *frame, char list[NB_STALE_TEXT]);
/* Says which of the list the frame does not have, and what has made them stale.  1, or 0 if all are there. */
int nb_tell_stale(const struct nb_frame *frame, const char before[NB_STALE_TEXT], const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
