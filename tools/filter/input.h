/* input.h - the particle stream that an instance reads. */
#ifndef NB_FILTER_INPUT_H
#define NB_FILTER_INPUT_H

#include "tools/filter/filter.h"

/* Opens run->in on run->files.in. */
void nb_input_open(struct nb_run *run);
/* Waits until there is something to read, an end included, or a program that wants to fold (tools/filter/stage.h).
 * Whatever else ends the work ends it here: the reader of standard output has gone, or the process whose work this is,
 * or one behind it. */
enum nb_arrival { NB_ARRIVED_BYTES, NB_ARRIVED_PROGRAM };
enum nb_arrival nb_input_wait(struct nb_run *run);
/* Nobody can be answered any more: whoever waits at the listener, or comes, goes on with bytes. */
void nb_input_deafen(struct nb_run *run);
/* 0 if the process whose work the instance does has died, or one whose work comes behind it, as seen some milliseconds
 * ago at most. */
int nb_is_alive(struct nb_run *run);

#endif
