/* systems.h - frames that hold many independent systems: column system has the number of that of each body. */
#ifndef NB_SYSTEMS_H
#define NB_SYSTEMS_H

#include "formats/stream/stream.h"

/* The bodies of each system, in the order in which they stand in the frame, wherever that is. */
struct nb_systems {
	size_t n;	  /* systems, in the order of their numbers */
	size_t *first;	  /* n + 1: where the bodies of each begin in row */
	uint32_t *row;	  /* of the frame */
	uint64_t *number; /* n + 1, the last is not used */
	size_t largest;	  /* bodies of the largest one */
};

/* To be freed.  A frame without the column has one system, of all bodies. */
void nb_find_systems(struct nb_frame *frame, struct nb_systems *systems);
void nb_free_systems(struct nb_systems *systems);
/* What does not keep systems apart ends the tool where the frame has several.  want: what does, or "". */
void nb_refuse_systems(const struct nb_frame *frame, const char *what, const char *want);

#endif
