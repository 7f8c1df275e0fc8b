/* choose.h - where an instance computes if -b is auto. */
#ifndef NB_FILTER_CHOOSE_H
#define NB_FILTER_CHOOSE_H

#include "tools/filter/filter.h"

/* Chooses run->backend for frames like this one, unless that is done already or the tool has none. */
void nb_require_backend(struct nb_run *run, const struct nb_frame *frame);

#endif
