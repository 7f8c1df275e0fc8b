/* sphere_internal.h - spherical models with velocities from their distribution functions.
 *
 * Own units: G = 1, scale radius 1; a mass that differs from profile to profile, so that shares of it are given.
 *   KING       f(E) ~ exp(-E / sigma^2) - 1 below the potential at the edge, where the density ends; the scale radius
 *              is King's core radius, r0^2 = 9 sigma^2 / (4 pi G rho0).  shape: W0 = (Phi(edge) - Phi(0)) / sigma^2.
 *   DEHNEN     rho ~ 1 / (r^gamma (r + 1)^(4 - gamma)); that with gamma = 1 is Hernquist's.  shape: gamma, 0 to 2.2,
 *              as W has no bound at 2.5.
 *   PLUMMER    rho ~ (1 + r^2)^(-5/2).  Of DEHNEN and PLUMMER bodies beyond the cut-off radius are left out, the
 *              velocities of the others stay those of the complete sphere.
 *   NFW        rho ~ 1 / (r (r + 1)^2) to the virial radius c, beyond it ~ r^epsilon exp(-10 r / c), with a
 *              continuous slope; f(E) by Eddington's formula in its own potential.  shape: the concentration c.
 *
 * Where there is an anisotropy radius ra, f is a function of Q = psi - v_r^2 / 2 - (1 + r^2 / ra^2) v_t^2 / 2, so that
 * 1 - sigma_t^2 / sigma_r^2 = r^2 / (r^2 + ra^2): Eddington's formula with (1 + r^2 / ra^2) rho instead of rho.
 *
 * Sources: Osipkov 1979, Sov. Astron. Lett. 5, 42; Merritt 1985, AJ 90, 1027; Dehnen 1993, MNRAS 265, 250; King 1966,
 * AJ 71, 64; Hernquist 1990, ApJ 356, 359; Navarro, Frenk & White 1996, ApJ 462, 563; the end of NFW: Springel & White
 * 1999, MNRAS 307, 162, and Kazantzidis, Magorrian & Moore 2004, ApJ 601, 37, eq. 2 and 3; Binney & Tremaine 2008,
 * eq. 4.46b (Eddington), section 4.3.3c (King). */
#ifndef NB_MODELS_SPHERE_INTERNAL_H
#define NB_MODELS_SPHERE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum nb_sphere_profile { NB_SPHERE_KING, NB_SPHERE_DEHNEN, NB_SPHERE_PLUMMER, NB_SPHERE_NFW };

struct nb_sphere_law {
	enum nb_sphere_profile profile;
	double shape;
	double cut;    /* DEHNEN, PLUMMER: > 0, in scale radii */
	double length; /* PLUMMER: 2 |W| of what is within the cut-off */
	double ra,
		scale; /* not KING: 0, or ra > 0 where the scale radius is scale; where that is 0, nb_sphere_length */
};

struct nb_sphere;

/* NB_OK, NB_ENOMEM, or NB_EINVAL: some f would be negative, as ra is too small.  Free *sphere in any case. */
NB_MUST_CHECK int nb_sphere_create(const struct nb_sphere_law *law, struct nb_sphere **sphere);
void nb_sphere_free(struct nb_sphere *sphere);

/* With the total mass 1: the scale radius for which the potential energy is -1/2, and the factor of the velocities
 * for which the kinetic energy is 1/4. */
double nb_sphere_length(const struct nb_sphere *sphere);
double nb_sphere_speed(const struct nb_sphere *sphere);
/* Radius of the outermost bodies, and the share of the mass within r. */
double nb_sphere_edge(const struct nb_sphere *sphere);
double nb_sphere_inside(const struct nb_sphere *sphere, double r);
/* Relative to infinity, > 0, in own units. */
double nb_sphere_potential(const struct nb_sphere *sphere, double r);
/* Radius of the cut-off of a Dehnen sphere, in scale radii, that is henon where the potential energy is -1/2;
 * henon > nb_sphere_dehnen_least(gamma). */
double nb_sphere_dehnen_cut(double gamma, double henon);
static inline double nb_sphere_dehnen_least(double gamma)
{
	return 2 * (3 - gamma) / (5 - 2 * gamma);
}

/* Positions (vel = 0) or velocities (vel = 1) of bodies [start, start + count), count x 3; their signs are balanced
 * over the call (see model_simd.c). */
void nb_sphere_draw(const struct nb_sphere *sphere, uint64_t seed, uint32_t stream, int vel, uint64_t start,
	size_t count, double *out);

#endif
