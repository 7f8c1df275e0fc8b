/* swarm.h - many systems of few bodies on a device, each on its own; a part of small.h, which includes it.
 *
 * A system has the same bytes as on a processor (whfast.h, ias15.h), whatever other systems are there.  Each lane of a
 * warp has a body, so that a warp has two systems or more.  All functions work on the device that is current. */
#ifndef NB_SMALL_SWARM_H
#define NB_SMALL_SWARM_H

#include <stddef.h>
#include <stdint.h>

#include "common/hd.h"
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

/* A time: the sum of both; the rest is what rounding to one double loses. */
struct nb_ias15_time {
	double time, rest;
};

/* h later: an exact sum of two (Knuth). */
static NB_HD struct nb_ias15_time nb_ias15_later(struct nb_ias15_time begun, double h)
{
	const double y = h + begun.rest, t = begun.time + y, part = t - begun.time;
	const struct nb_ias15_time ended = {t, (begun.time - (t - part)) + (y - part)};
	return ended;
}

/* How far it is behind a time. */
static NB_HD double nb_ias15_ahead(struct nb_ias15_time ended, double time)
{
	return (ended.time - time) + ended.rest;
}

/* How far a time is in a step h between these. */
static NB_HD double nb_ias15_within(struct nb_ias15_time begun, struct nb_ias15_time ended, double h, double time)
{
	return nb_ias15_ahead(ended, time) == 0 ? h : (time - begun.time) - begun.rest;
}

/* Systems for steps of order 15: system k has the bodies first[k] .. first[k + 1] - 1, and all have this state at the
 * time begun; the rest as of nb_ias15_begin and nb_ias15_load. */
struct nb_ias15_bodies {
	size_t systems;
	const size_t *first; /* systems + 1 */
	const double *mass, *pos, *vel;
	double G, eps, eta, longest;
	int way;
	struct nb_ias15_time begun;
};

/* What a system has come to: as in struct nb_ias15; when its last step began and ended; steps that were made; whether
 * it has failed, and stays where it is, as bodies collide, leave the range of numbers or have made a step of less than
 * NB_IAS15_SHORTEST of the time, which is not counted. */
struct nb_ias15_ended {
	double next, last, elapsed, rest;
	struct nb_ias15_time begun, ended;
	uint64_t steps, forces, repeated;
	int failed;
};

struct nb_ias15_swarm;

/* *swarm: the systems at their beginning; all->first stays as long as they do.  NB_EUNSUPPORTED: one of more than
 * NB_SMALL_MOST bodies. */
NB_MUST_CHECK int nb_ias15_swarm_begin_cpu(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all);
NB_MUST_CHECK int nb_ias15_swarm_begin_cuda(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all);
/* Makes steps of each system, at most so many, until one does not end before its time; the first in any case, but none
 * where the time is not a number.  No step depends on when these times are.  *left: how many systems have not come to
 * their time. */
NB_MUST_CHECK int nb_ias15_swarm_until_cpu(
	struct nb_ias15_swarm *swarm, const double *time, uint64_t most, size_t *left);
NB_MUST_CHECK int nb_ias15_swarm_until_cuda(
	struct nb_ias15_swarm *swarm, const double *time, uint64_t most, size_t *left);
/* Positions and velocities of all bodies at times that are within the last step of their system, as of nb_ias15_at, or,
 * of a system that has failed, at the end of that; and what the systems have come to. */
NB_MUST_CHECK int nb_ias15_swarm_at_cpu(
	struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended);
NB_MUST_CHECK int nb_ias15_swarm_at_cuda(
	struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended);
/* null: nothing. */
void nb_ias15_swarm_free_cpu(struct nb_ias15_swarm *swarm);
void nb_ias15_swarm_free_cuda(struct nb_ias15_swarm *swarm);

#ifdef __cplusplus
}
#endif
#endif
