/* ewald.h - gravity of n bodies in a periodic box, by Ewald's sum in double precision: the oracle of such forces.
 *
 * The box is cubic, has one corner at 0 and the edge L; space is filled with its images, and the mean density acts on
 * nothing (Jeans).  With x in units of L and r the separations to all images,
 *     psi(x) = sum_n erfc(alpha r_n) / r_n + sum_(k != 0) exp(-pi^2 k^2 / alpha^2) / (pi k^2) cos(2 pi k x)
 *              - pi / alpha^2,
 *     pot_i = -G / L sum_j m_j psi(x_i - x_j),   acc = -grad pot,
 * where a body feels its own images: psi(0) without its own pole is -2.837297.  Bodies closer than L/2 are softened; a
 * Plummer softening so is cut off there, and the spline is exact.
 *
 * Source: Ewald 1921, Ann. Phys. 369, 253; Hernquist, Bouchet & Suto 1991, ApJS 75, 231, for gravity. */
#ifndef NB_EWALD_H
#define NB_EWALD_H

#include "kernels/gravity/gravity.h"

/* Where the sum is split.  The result does not depend on it, so one checks the other. */
enum nb_ewald_split {
	NB_EWALD_NEAREST, /* alpha 12, nearest images closer than 1/2, |k| <= 23: the faster for many bodies */
	NB_EWALD_IMAGES	  /* alpha 7, 27 images, |k| <= 14 */
};

/* The field of the bodies of *g in the box of edge L = box at points (points.h), which may be anywhere; points NULL: of
 * all bodies, into g->acc and g->pot.  Of points, strength and jerk are not computed, nor g->jerk.  Time is that of
 * n points x (bodies + 25,000 waves).  |da| / rms |a| is about 1e-13.  Same bytes for any number of threads.
 * Returns 0, or NB_EINVAL (a box that is not positive and finite, a softening that is none or is longer than
 * nb_ewald_longest_eps, a target that is no row, jerk or strength), NB_ENONFINITE, NB_ENOMEM. */
NB_MUST_CHECK int nb_ewald_cpu(const struct nb_gravity *g, double box, enum nb_ewald_split split,
	const struct nb_gravity_points *points, struct nb_gravity_count *count);
/* The longest softening length in a box: eps of Plummer's is at most L / 2, and so is the support of the spline. */
double nb_ewald_longest_eps(double box, enum nb_softening softening);
#endif
