/* whfast_internal.h - what the files of the map share. */
#ifndef NB_WHFAST_INTERNAL_H
#define NB_WHFAST_INTERNAL_H

#include "common/cpu.h"
#include "kernels/small/small.h"

/* Makes this many times K(kick), unless that is 0, and D(drift); ahead: of a lazy kernel, h^2 / 12, or 0.  For a
 * variation each is a step if drift is w->h, which no part of a corrector is. */
typedef int nb_whfast_run(struct nb_whfast *w, double kick, double ahead, double drift, uint64_t times);
NB_ISA_DECLARE(nb_whfast_run)

/* D(h) alone, of the orbits that q and v are on.  NB_EUNSUPPORTED as of nb_whfast_steps. */
NB_MUST_CHECK int nb_whfast_drift(struct nb_whfast *w, double h);
/* way 1: from positions and velocities in Jacobi coordinates to those of the map; -1: back. */
NB_MUST_CHECK int nb_whfast_correct(struct nb_whfast *w, int way);

/* nb_kepler_move of an orbit and of a variation of it, 3 each. */
NB_MUST_CHECK int nb_kepler_vary(double mu, double h, double x[3], double v[3], double dx[3], double dv[3]);

#endif
