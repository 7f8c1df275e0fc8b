/* swarm.h - many systems of few bodies on a device, each on its own; a part of small.h, which includes it.
 *
 * A system has the same bytes as on a processor (whfast.h), whatever other systems are there.  Each lane of a warp has
 * a body, so that a warp has two to eight systems.  All functions work on the device that is current. */
#ifndef NB_SMALL_SWARM_H
#define NB_SMALL_SWARM_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Systems on the device. */
struct nb_whfast_swarm;

/* *swarm: the states of systems, each after nb_whfast_load or nb_whfast_restore, which may be of different sizes and
 * have different steps.  NB_ENOMEM, NB_EDEVICE: *swarm is null. */
NB_MUST_CHECK int nb_whfast_swarm_begin_cuda(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems);
/* Makes steps[k] steps of system k.  One whose orbits cannot be followed stops before that step, alone. */
NB_MUST_CHECK int nb_whfast_swarm_steps_cuda(struct nb_whfast_swarm *swarm, const uint64_t *steps);
/* The states after the last steps: those systems of nb_whfast_swarm_begin_cuda, with closest and, where a system has
 * stopped, failed; in any other that is 0. */
NB_MUST_CHECK int nb_whfast_swarm_state_cuda(const struct nb_whfast_swarm *swarm, struct nb_whfast *w);
/* null: nothing. */
void nb_whfast_swarm_free_cuda(struct nb_whfast_swarm *swarm);

#ifdef __cplusplus
}
#endif
#endif
