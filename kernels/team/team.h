/* team.h - the devices that share the work of a process. Plain C; team.cuh has what kernels do with them.
 *
 * Arrays are in the memory of the first device, which is the primary.  The others get copies of what they read, compute
 * parts of the result, and copy them back.  A part does not depend on the device that computes it, if the devices are
 * of one kind: so the result is the same bytes for any number of them. */
#ifndef NB_TEAM_H
#define NB_TEAM_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

/* The numbers of all devices, at most `most` of them, into id.  NB_ENODEV where there is none; why (size bytes) then
 * says what the runtime said. */
NB_MUST_CHECK int nb_team_list_all(int most, int *id, int *n, char *why, size_t size);

/* Makes devices id[0] .. id[n - 1], of which id[0] is current and open already, the team of the process.  A device may
 * be named several times: it then does the work of several, one after the other.  Once opened, a team stays; the same
 * devices may be asked for again.  NB_ENODEV with why for a device that is not there, and for another team. */
NB_MUST_CHECK int nb_team_open(int n, const int *id, char *why, size_t size);

/* How many they are; 1 where none was opened. */
int nb_team_size(void);
/* The number of the device of member k, 0 <= k < nb_team_size(). */
int nb_team_device(int k);
/* "cuda:0,1", "" where none was opened. */
const char *nb_team_name(void);

/* What member k has done up to now: a line with its name, parts of the work (of a walk its groups, if they are
 * drawn one by one), seconds at work and seconds waiting,
 * memory of arrays at most and the way of copies.  NB_EINVAL if there is no such member. */
NB_MUST_CHECK int nb_team_report(int k, char *line, size_t size);

NB_C_END
#endif
