/* place.h - bodies put elsewhere: shifted, rotated and scaled, on plain arrays in host memory.
 *
 * Each number is computed from those of its own body, so the result is the same bytes for any number of threads. */
#ifndef NB_MOTION_PLACE_H
#define NB_MOTION_PLACE_H

#include "common/status.h"

#include <stddef.h>

NB_C_BEGIN

/* x += d, n vectors */
void nb_translate_cpu(size_t n, double *x, const double d[3]);
/* x = matrix x, n vectors; matrix in rows */
void nb_rotate_cpu(size_t n, double *x, const double matrix[9]);
/* x *= factor, count numbers */
void nb_scale_cpu(size_t count, double *x, double factor);

/* The matrix that turns by so many degrees about an axis of any length > 0: counter-clockwise as seen from where the
 * axis points to (Rodrigues' formula).  Exact for multiples of 90 degrees about x, y and z. */
void nb_rotation(const double axis[3], double degrees, double matrix[9]);

NB_C_END
#endif
