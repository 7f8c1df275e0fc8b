/* swarm.h - many systems of few bodies on a device, each on its own; a part of small.h, which includes it.
 *
 * A system has the same bytes as on a processor (whfast.h, ias15.h), whatever other systems are there.  Each lane of a
 * warp has a body, so that a warp has two systems or more.  All functions work on the device that is current. */
#ifndef NB_SMALL_SWARM_H
#define NB_SMALL_SWARM_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Systems, on a device or, in functions that end in _cpu, on the processor. */
struct nb_whfast_swarm;

/* *swarm: the states of systems in Jacobi coordinates, each after nb_whfast_load or nb_whfast_restore, which may be of
 * different sizes and have different steps; all or none has a variation.  *swarm is null after NB_EUNSUPPORTED: one has
 * forces beside gravity (whfast.h), which a device does not know; NB_ENOMEM or NB_EDEVICE. */
NB_MUST_CHECK int nb_whfast_swarm_begin_cpu(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems);
NB_MUST_CHECK int nb_whfast_swarm_begin_cuda(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems);
/* Makes steps[k] steps of system k.  One whose orbits cannot be followed stays as it was before, and makes no step any
 * more, alone.  *failed: whether there is one that has made steps until then. */
NB_MUST_CHECK int nb_whfast_swarm_steps_cpu(struct nb_whfast_swarm *swarm, const uint64_t *steps, int *failed);
NB_MUST_CHECK int nb_whfast_swarm_steps_cuda(struct nb_whfast_swarm *swarm, const uint64_t *steps, int *failed);
/* The states after the last steps: those systems that the swarm began with, with the variations to which they point,
 * with closest, of all steps since the last call, and, where a system has stopped, failed; in any other that is 0. */
NB_MUST_CHECK int nb_whfast_swarm_state_cpu(struct nb_whfast_swarm *swarm, struct nb_whfast *w);
NB_MUST_CHECK int nb_whfast_swarm_state_cuda(struct nb_whfast_swarm *swarm, struct nb_whfast *w);
/* null: nothing. */
void nb_whfast_swarm_free_cpu(struct nb_whfast_swarm *swarm);
void nb_whfast_swarm_free_cuda(struct nb_whfast_swarm *swarm);

/* Systems for steps of order 15: system k has the bodies first[k] .. first[k + 1] - 1; all others as of nb_ias15_begin
 * and nb_ias15_load. */
struct nb_ias15_bodies {
	size_t systems;
	const size_t *first; /* systems + 1 */
	const double *mass, *pos, *vel;
	double G, eps, eta, longest;
	int way;
};

/* What a system has come to: as in struct nb_ias15; steps that were made; whether it has failed, and stays where it is,
 * as bodies collide, leave the range of numbers or make steps of less than NB_IAS15_SHORTEST of the time. */
struct nb_ias15_ended {
	double next, last, elapsed, rest;
	uint64_t steps, forces, repeated;
	int failed;
};

struct nb_ias15_swarm;

/* *swarm: the systems at their beginning.  NB_EUNSUPPORTED: one of more than NB_SMALL_MOST bodies. */
NB_MUST_CHECK int nb_ias15_swarm_begin_cuda(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all);
/* Makes steps of each system until its time after the beginning is not behind the last one.  No step depends on when
 * these times are. */
NB_MUST_CHECK int nb_ias15_swarm_until_cuda(struct nb_ias15_swarm *swarm, const double *time);
/* Positions and velocities of all bodies at times after the beginning that are within the last step of their system, as
 * of nb_ias15_at; and what the systems have come to. */
NB_MUST_CHECK int nb_ias15_swarm_at_cuda(
	struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended);
/* null: nothing. */
void nb_ias15_swarm_free_cuda(struct nb_ias15_swarm *swarm);

#ifdef __cplusplus
}
#endif
#endif
