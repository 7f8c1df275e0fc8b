/* relay.h - frames that an instance passes on while it goes on with its work: a thread gives them to who comes next,
 * be it a stream or another instance.  At most one frame waits, another one is being taken. */
#ifndef NB_FILTER_RELAY_H
#define NB_FILTER_RELAY_H

#include "tools/filter/filter.h"

struct nb_relay;

/* Puts a relay before run->pass.put.  NULL: no memory, or no thread; then nothing has changed. */
struct nb_relay *nb_relay_start(struct nb_run *run);
/* Waits until all frames have been taken.  0, or the status with which the instance shall end. */
int nb_relay_drain(struct nb_relay *relay);
/* The same, then ends the thread; NULL: nothing. */
void nb_relay_stop(struct nb_relay *relay);

#endif
