/* step.h - moving bodies: the parts that leapfrog, Euler and Taylor steps are made of, on plain arrays.
 *
 * One leapfrog (kick-drift-kick) step is kick(dt/2), drift(dt), new acc, kick(dt/2); an explicit Euler step
 * is drift(dt), kick(dt) with the acc of the old positions.  All arrays are n x 3, row-major, and live where
 * the backend computes; any n, including 0.  dt may be negative.  Each number is computed by itself from the
 * numbers of its own body, so the result is the same bytes for any number of threads.
 * All return 0 (a device may also answer NB_EDEVICE). */
#ifndef NB_MOTION_STEP_H
#define NB_MOTION_STEP_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

/* vel += acc dt */
NB_MUST_CHECK int nb_kick_cpu(size_t n, double *vel, const double *acc, double dt);
/* pos += vel dt */
NB_MUST_CHECK int nb_drift_cpu(size_t n, double *pos, const double *vel, double dt);

/* In one pass vel += acc before, vel += acc kick, pos += vel drift, with the bytes that two kicks and a drift give;
 * kicks of 0 are left out, and acc is not read without any.  extent: the largest -x, -y, -z, x, y, z of the new
 * positions
 * (-infinity of none), and 1 if one is not finite, else 0; the six mean nothing then. */
NB_MUST_CHECK int nb_kick_drift_cpu(size_t n, double *pos, double *vel, const double *acc, double before, double kick,
	double drift, double extent[7]);

/* pos becomes that in the periodic box, as nb_periodic_keep (common/periodic.h). */
NB_MUST_CHECK int nb_wrap_cpu(size_t n, double *pos, double box, int single);

/* vel *= factor */
NB_MUST_CHECK int nb_scale_velocities_cpu(size_t n, double *vel, double factor);

/* pos = from + vel (now - begun) unit: of bodies that have drifted since times of their own, begun, n.  Host memory. */
void nb_drift_from(
	size_t n, const double *begun, double now, double unit, const double *from, const double *vel, double *pos);

/* One Taylor step with the time derivative of the acceleration:
 *     pos += vel dt + acc dt^2/2 + jerk dt^3/6,    vel += acc dt + jerk dt^2/2
 * The first neglected term of vel is of order dt^3, so the step is of second order.
 * Source: Xu, Xu and Chen, "Multi-body Gravity System Simulation", whose printed formulas are corrected in
 * nb-integrators(7). */
NB_MUST_CHECK int nb_taylor_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt);

/* *largest = the largest |acc|, 0 for n = 0; not finite if an acc is not finite or its square overflows. */
NB_MUST_CHECK int nb_largest_acc_cpu(size_t n, const double *acc, double *largest);

/* The same on the current device, queued on its default stream (nb_largest_acc_cuda and nb_kick_drift_cuda wait for
 * it). */
NB_MUST_CHECK int nb_kick_cuda(size_t n, double *vel, const double *acc, double dt);
NB_MUST_CHECK int nb_drift_cuda(size_t n, double *pos, const double *vel, double dt);
NB_MUST_CHECK int nb_kick_drift_cuda(size_t n, double *pos, double *vel, const double *acc, double before, double kick,
	double drift, double extent[7]);
NB_MUST_CHECK int nb_wrap_cuda(size_t n, double *pos, double box, int single);
NB_MUST_CHECK int nb_scale_velocities_cuda(size_t n, double *vel, double factor);
NB_MUST_CHECK int nb_taylor_cuda(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt);
NB_MUST_CHECK int nb_largest_acc_cuda(size_t n, const double *acc, double *largest);
/* Queued: *square, in the device's memory, becomes the square of that. */
NB_MUST_CHECK int nb_largest_square_cuda(size_t n, const double *acc, double *square);

NB_C_END
#endif
