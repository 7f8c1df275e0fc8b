/* shape.h - axis ratios and principal axes of a set of bodies.  Host memory; the same bytes for any number of threads.
 */
#ifndef NB_MEASURE_SHAPE_H
#define NB_MEASURE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

struct nb_shape {
	double b_over_a, c_over_a; /* of the semi-axes a >= b >= c; c_over_a NaN in 2-D */
	double axis[3][3];	   /* unit vectors along a, b, c; the largest component of each is positive */
	uint64_t n;		   /* bodies that it was measured from */
	int settled;		   /* 0: the iteration has no end, and ratios and axes are NaN */
};

/* Ratios settle to NB_SHAPE_TOLERANCE within NB_SHAPE_STEPS.  They do not if the ellipsoid shrinks to fewer than
 * NB_SHAPE_FEW bodies, as it may where the density is the same everywhere and any ellipsoid is as good as another. */
enum { NB_SHAPE_STEPS = 200, NB_SHAPE_FEW = 10 };
#define NB_SHAPE_TOLERANCE 1e-4

/* From the tensor sum m x_i x_j of the bodies between the ellipsoids of semi-major axes inner and outer (INFINITY: no
 * limit), about centre.  reduced: bodies are weighted with 1 / a^2, where a is the semi-major axis of the ellipsoid
 * that they lie on.  The ellipsoids have the axes and ratios that the tensor gives, so it is found by iteration from
 * spheres; semi-major axes stay as given.  A body at the centre does not count.  All NaN if the tensor is 0. Sources:
 * Katz 1991, ApJ 368, 325; reduced: Dubinski & Carlberg 1991, ApJ 378, 496. NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_shape_of(size_t n, const double *mass, const double *pos, const double centre[3], int dim,
	double inner, double outer, int reduced, struct nb_shape *shape);

NB_C_END
#endif
