/* centre.h - points about which radii and velocities are measured. Plain arrays in host memory. */
#ifndef NB_MEASURE_CENTRE_H
#define NB_MEASURE_CENTRE_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

/* A point and its velocity. */
struct nb_centre {
	double pos[3], vel[3];
	double core; /* radius of the core, of nb_density_centre */
};

/* The centre of density, mean of the positions of bodies weighted with the density at each, and the radius of the core,
 * mean of their distances from it with the same weights: Casertano & Hut 1985, ApJ 298, 80, with six
 * neighbours.  Of a Plummer sphere of 1000 bodies the centre has an rms error of 0.07 half-mass radii, of 10,000 of
 * 0.017; the core radius is 0.68 scale radii, with an error of 5 and 2 percent.  Of several crowds one counts: bodies
 * within NB_DENSITY_CENTRE_REACH core radii, beginning with the tenth that is nearest to the centre of a sphere that
 * shrinks (Power et al. 2003, MNRAS 338, 14, section 2.5; here by numbers): of the bodies that are left, the tenth
 * farthest from their centre of mass are left out, until a hundredth or NB_DENSITY_CENTRE_FEW of them are left.  The
 * velocity is the mean one of the tenth of all bodies that is nearest to the centre, weighted with their masses; NaN
 * where vel is NULL or the masses are 0.
 * Of NB_DENSITY_CENTRE_FEW bodies at most it is the centre of mass, without a core (NaN).  Where bodies have
 * six others in their place, it is the mean of their places, with a core of 0.  Massless bodies are left out of
 * everything.  O(n log n). mass n, pos n x 3, vel n x 3 or NULL.  NB_OK, NB_ENOMEM, NB_ELIMIT (n >= 2^32, or too far
 * apart), NB_ENONFINITE. */
enum { NB_DENSITY_CENTRE_FEW = 32, NB_DENSITY_CENTRE_REACH = 6 };
NB_MUST_CHECK int nb_density_centre(
	size_t n, const double *mass, const double *pos, const double *vel, struct nb_centre *centre);

NB_C_END
#endif
