/* step.h - the two halves of a leapfrog step, on plain arrays. */
#ifndef NB_STEP_H
#define NB_STEP_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* vel += acc dt (n x 3 each). */
NB_MUST_CHECK int nb_kick_cpu(size_t n, double *vel, const double *acc, double dt);
/* pos += vel dt (n x 3 each). */
NB_MUST_CHECK int nb_drift_cpu(size_t n, double *pos, const double *vel, double dt);

#ifdef __cplusplus
}
#endif
#endif
