/* whfast_internal.h - what the files of the map share. */
#ifndef NB_WHFAST_INTERNAL_H
#define NB_WHFAST_INTERNAL_H

#include "common/cpu.h"
#include "kernels/small/small.h"

/* Makes this many times K(kick), unless that is 0, and D(drift); ahead: of a lazy kernel, h^2 / 12, or 0. */
typedef int nb_whfast_run(struct nb_whfast *w, double kick, double ahead, double drift, uint64_t times);
NB_ISA_DECLARE(nb_whfast_run)

/* D(h) alone, of the orbits that q and v are on.  NB_EUNSUPPORTED as of nb_whfast_steps. */
NB_MUST_CHECK int nb_whfast_drift(struct nb_whfast *w, double h);

#endif
