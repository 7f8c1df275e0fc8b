/* groups.h - what the files of nb-groups share. */
#ifndef NB_GROUPS_TOOL_H
#define NB_GROUPS_TOOL_H

#include "formats/stream/stream.h"
#include "kernels/groups/groups.h"

/* How groups are found, and measured. */
struct nb_groups_law {
	double length, box;
	double density; /* of spheres; 0: none are wanted */
};

/* The bodies of the frame become the groups, with what each group amounts to; all other tables go. */
void nb_groups_make_catalogue(struct nb_frame *frame, const struct nb_groups *groups, const struct nb_groups_law *law);

#endif
