/* centre.h - points about which radii and velocities are measured. Plain arrays in host memory. */
#ifndef NB_MEASURE_CENTRE_H
#define NB_MEASURE_CENTRE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A point and its velocity. */
struct nb_centre {
	double pos[3], vel[3];
};

/* A centre of the densest part, which bodies far out do not move: of the bodies that are left, the tenth farthest from
 * their centre of mass are left out, again and again, until a hundredth or NB_DENSITY_CENTRE_FEW of them are left;
 * their centre of mass is the result, and its velocity is the mean one of the tenth of all bodies that is nearest to
 * it, weighted with their masses; NaN where vel is NULL or the masses are 0.  Massless bodies are left out of
 * everything.  O(n). mass n, pos n x 3, vel n x 3 or NULL The shrinking sphere of Power et al. 2003, MNRAS 338, 14,
 * section 2.5, which shrinks by numbers instead of radii here. NB_OK, NB_ENOMEM, NB_ELIMIT (n >= 2^32). */
enum { NB_DENSITY_CENTRE_FEW = 32 };
NB_MUST_CHECK int nb_density_centre(
	size_t n, const double *mass, const double *pos, const double *vel, struct nb_centre *centre);

#ifdef __cplusplus
}
#endif
#endif
