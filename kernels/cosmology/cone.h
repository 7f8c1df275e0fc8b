/* cone.h - the past light cone of an observer today: which bodies of a periodic box, and of its images, cross it; a
 * part of cosmology.h, which includes it.
 *
 * The comoving distance from which light of the scale factor a comes is
 *     chi(a) = c (integral of dt / a from a to 1).
 * Positions x at a0 and a1 are joined by a line, which a body goes in proportion to the drift, and crosses the cone
 * where its distance is chi.  It crosses once, as it is slower than light. */
#ifndef NB_COSMOLOGY_CONE_H
#define NB_COSMOLOGY_CONE_H

#include <stddef.h>
#include <stdint.h>

struct nb_cosmology;

struct nb_cone {
	double observer[3], box; /* in the box, whose images fill space */
	double light;		 /* speed of light, in the units of H0 times length */
};

struct nb_crossing {
	uint32_t body;
	double a, way; /* scale factor; share of the way from the first position to the second */
	double pos[3]; /* comoving, from the observer */
};

double nb_cone_distance(const struct nb_cosmology *c, const struct nb_cone *cone, double a);
/* All crossings of n < 2^32 bodies from a0 to a1 > a0, a0 < 1, in the order of bodies and for each of its images: a0 is
 * in the range, a1 is not unless it is 1 or more.  x0, x1: n x 3, in [0, box); a body goes to the nearest image.  A
 * body whose position at the end of one range is that at the beginning of the next crosses in one of them, to the last
 * bit.  *crossing is from nb_alloc, to be freed by nb_free.  Same for any number of threads.  NB_OK, NB_EINVAL (ranges;
 * light, box), NB_ELIMIT (more than 2^31 images), NB_ENOMEM. */
NB_MUST_CHECK int nb_cone_cross(const struct nb_cosmology *c, const struct nb_cone *cone, double a0, double a1,
	size_t n, const double *x0, const double *x1, struct nb_crossing **crossing, size_t *count);

#endif
