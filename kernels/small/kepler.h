/* kepler.h - motion of one body about another; a part of small.h, which includes it. */
#ifndef NB_SMALL_KEPLER_H
#define NB_SMALL_KEPLER_H

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Moves a body for the time h along its orbit about the origin, in a field of acceleration -mu x / |x|^3: an ellipse, a
 * parabola, a hyperbola or a straight line, forwards or backwards, for any number of periods.
 *   mu    G times both masses, >= 0
 *   x, v  position and velocity relative to the other body, 3 each
 * NB_EUNSUPPORTED, and x and v are as they were: mu < 0, a number that is not finite, a body in the origin, more than
 * 2^52 periods, or numbers so extreme that the result leaves the range of a double.
 *
 * Method: universal variables with increments of the functions f and g, whose determinant is made 1 (Wisdom & Hernandez
 * 2015, MNRAS 453, 3015, describe the variables; Danby 1988, Fundamentals of Celestial Mechanics, 6.9).  Laguerre's
 * method (Conway 1986, Celest. Mech. 39, 199) finds the root, between bounds that are halved where it fails.
 * Errors are those that the
 * rounding of the input makes; a hundred times as large where one step takes a fast hyperbola through its pericentre.
 * Only +, -, *, /, fma and square roots are used, so that any processor gives the same bytes. */
NB_MUST_CHECK int nb_kepler_move(double mu, double h, double x[3], double v[3]);

#ifdef __cplusplus
}
#endif
#endif
