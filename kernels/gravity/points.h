/* points.h - the field of n bodies at any points, or at some of the bodies, by direct sum in f64. */
#ifndef NB_GRAVITY_POINTS_H
#define NB_GRAVITY_POINTS_H

#include "kernels/gravity/gravity.h"

NB_C_BEGIN

/* Where the field is wanted, and what of it.  All arrays live where the backend computes. */
struct nb_gravity_points {
	size_t n;		/* points; 0 is fine */
	const double *pos;	/* n x 3; NULL: target */
	const uint32_t *target; /* n rows of the sources, in any order: none acts on itself; NULL: pos */
	const double *eps;	/* with pos, n: softening of the points, >= 0; NULL: a pair has that of the source */
	double *acc;		/* n x 3, out, or NULL */
	double *pot;		/* n, out, or NULL */
	double *strength;	/* n, out, or NULL */
	double *jerk;		/* with target, n x 3, out, or NULL; needs the velocities of the bodies */
	int spread;		/* with target, all different: outputs have a row for each body, 0 but for targets */
};

/* The field of the bodies of *g at the points, O(n points).  Of *g the bodies, the softening and G are used.
 * acc and pot are those of gravity.h, where a point is a body of no mass: at the place of a source it feels its
 * softened potential, or nothing of it without softening.  The strength of the field is what a softened force could
 * be without cancellation, in length / time^2,
 *     f = G sum_j m_j p_j^2,   p_j = -pot of a unit mass at j,
 * sum G m / (r^2 + eps^2) for Plummer's softening: the measure of errors of Dehnen 2014, Comput. Astrophys. Cosmol.
 * 1, 1.  It is never negative if no mass is.
 * Sources without mass cost nothing on the CPU.  Any units: the kernel scales by powers of two.  |da| / f, the error of
 * pot and that of f itself are below 1e-13, as is that of a jerk where its terms do not cancel.  Same bytes for any
 * number of threads.
 * Returns as the direct sum does; NB_EINVAL for a target that is no row of the sources, and for jerks or spread outputs
 * at pos. */
NB_MUST_CHECK int nb_gravity_points_cpu(const struct nb_gravity *g, const struct nb_gravity_points *points);
/* The same on the current device.  Same bytes on every run.  Fewer than 2^32 bodies and points (NB_ELIMIT). */
NB_MUST_CHECK int nb_gravity_points_cuda(const struct nb_gravity *g, const struct nb_gravity_points *points);

NB_C_END
#endif
