/* groups.h - what the files of nb-groups share. */
#ifndef NB_GROUPS_TOOL_H
#define NB_GROUPS_TOOL_H

#include "formats/stream/stream.h"
#include "kernels/groups/groups.h"

/* The bodies of the frame become the groups, with what each group amounts to; all other tables go. */
void nb_groups_make_catalogue(struct nb_frame *frame, const struct nb_groups *groups, double length, double box);

#endif
