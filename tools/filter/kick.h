/* kick.h - velocities that lag behind the positions. */
#ifndef NB_FILTER_KICK_H
#define NB_FILTER_KICK_H

#include "formats/stream/stream.h"

/* Where nb-step left the last half kick to be done (attribute pending_kick), does it with the acc of the frame, so that
 * acc may go, or velocities be set.  Nothing happens to a frame without pending_kick, velocities, or acc: the next
 * forces will complete it. */
void nb_complete_kick(struct nb_frame *frame);

#endif
