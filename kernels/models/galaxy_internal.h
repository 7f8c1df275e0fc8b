/* galaxy_internal.h - a disk galaxy near equilibrium: exponential disk, Hernquist bulge, live Hernquist halo.
 *
 * Own units: G = 1, total mass 1, scale length of the disk 1.
 *     disk    Sigma ~ exp(-R), cut at R = 10; rho_z ~ sech^2(z / z0); turns towards +phi
 *     bulge   rho ~ 1 / (r (r + a)^3), a = 0.2
 *     halo    the same with a = 4
 * Velocities:
 *   Bulge and halo are drawn from the isotropic distribution function f(E) that Eddington's formula gives for
 *   each in the potential of all three (the disk's mass taken as a sphere), so no Gaussian is assumed.  Bodies whose
 *   energy would let them reach beyond r = 10 (bulge) or 60 (halo) are left out, so that each ends there smoothly.
 *   The disk has Gaussian velocities whose moments follow from its epicycles and the Jeans equations:
 *     sigma_R^2 ~ exp(-sqrt(R^2 + 1/8)), scaled to Toomre's Q = sigma_R kappa / (3.36 G Sigma) at R = 2.5
 *     sigma_phi^2 = sigma_R^2 kappa^2 / (4 Omega^2)
 *     sigma_z^2 = pi G Sigma z0 + <z^2> M_spheroids(r) / r^3, r^2 = R^2 + <z^2>
 *     <v_phi>^2 = v_c^2 + sigma_R^2 (1 - kappa^2 / (4 Omega^2) + dln(Sigma sigma_R^2) / dlnR)    (asymmetric drift)
 *   with v_c of a thin exponential disk (Freeman) and of the spheroids.
 *
 * Sources: Hernquist 1990, ApJ 356, 359 (profile); Hernquist 1993, ApJS 86, 389, section 2 (disk);
 * Freeman 1970, ApJ 160, 811; Binney & Tremaine 2008, eq. 2.165 (v_c), 4.46b (Eddington). */
#ifndef NB_MODELS_GALAXY_INTERNAL_H
#define NB_MODELS_GALAXY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum nb_galaxy_component { NB_GALAXY_DISK, NB_GALAXY_BULGE, NB_GALAXY_HALO, NB_GALAXY_NCOMPONENT };

struct nb_galaxy;

/* disk, bulge: fractions of the mass, disk > 0, bulge >= 0, disk + bulge < 1; toomre > 0: Q; height > 0: z0.
 * NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_galaxy_create(double disk, double bulge, double toomre, double height, struct nb_galaxy **galaxy);
void nb_galaxy_free(struct nb_galaxy *galaxy);

/* Scale length of the disk in units where the potential energy is -1/2 (all mass taken as spheres). */
double nb_galaxy_length(const struct nb_galaxy *galaxy);
/* Circular velocity, epicyclic frequency, mean rotation and dispersions at R > 0 of the disk, for tests. */
struct nb_galaxy_disk {
	double vcirc, kappa, sigma_R, sigma_phi, sigma_z, vphi;
};
void nb_galaxy_disk_at(const struct nb_galaxy *galaxy, double R, struct nb_galaxy_disk *disk);

/* Bodies [start, start + count) of a component, pos and vel count x 3; their signs are balanced over the call (see
 * model_simd.c; a disk body and its velocity are turned by 180 degrees together). */
void nb_galaxy_draw(const struct nb_galaxy *galaxy, enum nb_galaxy_component component, uint64_t seed, uint32_t stream,
	uint64_t start, size_t count, double *pos, double *vel);

#endif
