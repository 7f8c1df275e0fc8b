/* small_internal.h - what the files of the room share, some of it with code for a device. */
#ifndef NB_SMALL_INTERNAL_H
#define NB_SMALL_INTERNAL_H

#include <stddef.h>

#include "common/status.h"

/* Squares of distances, and G m, outside these are left to forces that scale: within them no product of r^-3, r and G m
 * leaves the range of normal numbers. */
static const double nb_small_least = 0x1p-400, nb_small_most = 0x1p400;

NB_C_BEGIN

/* Mean of positions or velocities, n x 3, weighted with the masses, n; of bodies without mass, the first; 0 if n is 0.
 */
void nb_small_centre(size_t n, const double *mass, const double *from, double to[3]);

NB_C_END
#endif
