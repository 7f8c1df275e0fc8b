/* sphere_internal.h - spherical models with isotropic velocities from their distribution functions.
 *
 * Own units: G = 1, scale radius 1; a mass that differs from profile to profile, so that shares of it are given.
 *   KING       f(E) ~ exp(-E / sigma^2) - 1 below the potential at the edge, where the density ends; the scale radius
 *              is King's core radius, r0^2 = 9 sigma^2 / (4 pi G rho0).  shape: W0 = (Phi(edge) - Phi(0)) / sigma^2.
 *   HERNQUIST  rho ~ 1 / (r (r + 1)^3) with its analytic distribution function; bodies beyond the cut-off radius are
 *              left out, the velocities of the others stay those of the complete sphere.  shape: the cut-off radius.
 *   NFW        rho ~ 1 / (r (r + 1)^2) to the virial radius c, beyond it ~ r^epsilon exp(-10 r / c), with a continuous
 *              slope; f(E) by Eddington's formula in its own potential.  shape: the concentration c.
 *
 * Sources: King 1966, AJ 71, 64; Hernquist 1990, ApJ 356, 359, eq. 17; Navarro, Frenk & White 1996, ApJ 462, 563;
 * the end of NFW: Springel & White 1999, MNRAS 307, 162, and Kazantzidis, Magorrian & Moore 2004, ApJ 601, 37, eq. 2
 * and 3; Binney & Tremaine 2008, eq. 4.46b (Eddington), section 4.3.3c (King). */
#ifndef NB_MODELS_SPHERE_INTERNAL_H
#define NB_MODELS_SPHERE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum nb_sphere_profile { NB_SPHERE_KING, NB_SPHERE_HERNQUIST, NB_SPHERE_NFW };

struct nb_sphere;

/* NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_sphere_create(enum nb_sphere_profile profile, double shape, struct nb_sphere **sphere);
void nb_sphere_free(struct nb_sphere *sphere);

/* With the total mass 1: the scale radius for which the potential energy is -1/2, and the factor of the velocities
 * for which the kinetic energy is 1/4. */
double nb_sphere_length(const struct nb_sphere *sphere);
double nb_sphere_speed(const struct nb_sphere *sphere);
/* Radius of the outermost bodies, and the share of the mass within r. */
double nb_sphere_edge(const struct nb_sphere *sphere);
double nb_sphere_inside(const struct nb_sphere *sphere, double r);
/* Radius of the cut-off of a Hernquist sphere, in scale radii, that is henon where the potential energy is -1/2;
 * henon > 4/3. */
double nb_sphere_hernquist_cut(double henon);

/* Positions (vel = 0) or velocities (vel = 1) of bodies [start, start + count), count x 3; their signs are balanced
 * over the call (see model_simd.c). */
void nb_sphere_draw(const struct nb_sphere *sphere, uint64_t seed, uint32_t stream, int vel, uint64_t start,
	size_t count, double *out);

#endif
