/* transit.h - when one body passes in front of another; a part of measure.h, which includes it. */
#ifndef NB_MEASURE_TRANSIT_H
#define NB_MEASURE_TRANSIT_H

#include "common/status.h"

NB_C_BEGIN

/* Relative to the body behind, 3 each. */
struct nb_relative {
	double pos[3], vel[3], acc[3];
};

struct nb_transit {
	double time;	 /* after the first state */
	double distance; /* from the other body, normal to the axis, where it is least ... */
	double speed;	 /* ... and there the speed normal to the axis */
};

/* Whether a body passes in front of another one, as it is seen from far away on the positive axis, 0 to 2, between two
 * states h > 0 apart: where the distance normal to the axis is least.  The way between is the polynomial of fifth
 * degree that has positions, velocities and accelerations of both states. */
int nb_transit_find(const struct nb_relative *before, const struct nb_relative *after, double h, int axis,
	struct nb_transit *transit);

NB_C_END
#endif
