/* cosmology.h - an expanding universe: its expansion, the integrals of time that move bodies in it, and how small
 * fluctuations of density grow.
 *
 * Units: lengths are comoving, the scale factor a is 1 today, times are in units of 1 / H0, that is, of whatever
 * length / velocity H0 is in.
 *     H(a) = H0 E(a),
 *     E(a)^2 = omega_r a^-4 + omega_m a^-3 + omega_k a^-2 + omega_l a^(-3 (1 + w0 + wa)) exp(-3 wa (1 - a)),
 *     omega_k = 1 - omega_r - omega_m - omega_l.
 * Sources: Peebles 1980, The Large-Scale Structure of the Universe, sec. 11; Linder 2003, Phys. Rev. Lett. 90, 091301
 * (w0, wa); Quinn et al. 1997, astro-ph/9710043 (kicks and drifts); Bouchet et al. 1995, A&A 296, 575 (second and third
 * order). */
#ifndef NB_COSMOLOGY_H
#define NB_COSMOLOGY_H

#include "common/status.h"
#include "kernels/cosmology/cone.h"

struct nb_cosmology {
	double H0;
	double omega_m, omega_l, omega_r; /* densities today over the critical one: matter, dark energy, radiation */
	double w0, wa; /* pressure of the dark energy over its density: w0 + wa (1 - a); -1, 0: Lambda */
};

/* Whether the universe expands at all scale factors from 0 to a, omega_m > 0 and H0 > 0: NB_OK; else NB_EINVAL.  The
 * other functions need that, and a > 0. */
NB_MUST_CHECK int nb_cosmology_check(const struct nb_cosmology *c, double a);

double nb_cosmology_hubble(const struct nb_cosmology *c, double a);
/* Density of matter at a over the critical density at a. */
double nb_cosmology_omega_m(const struct nb_cosmology *c, double a);
/* Time since a was 0. */
double nb_cosmology_time(const struct nb_cosmology *c, double a);

/* Integrals from the scale factor a0 to a1, which may be less, over the time dt = da / (a H).  Bodies have comoving
 * positions x and momenta p = a^2 dx/dt = a v of the peculiar velocity v.
 * Error of all: a few units in the last place. */
double nb_cosmology_span(const struct nb_cosmology *c, double a0, double a1);  /* of dt */
double nb_cosmology_kick(const struct nb_cosmology *c, double a0, double a1);  /* of dt / a: p += g kick */
double nb_cosmology_drift(const struct nb_cosmology *c, double a0, double a1); /* of dt / a^2: x += p drift */
/* The scale factor that is reached from a0 after a time, which may be negative; NaN: a would be 0 before. */
double nb_cosmology_later(const struct nb_cosmology *c, double a0, double time);

/* Growth of displacements: psi = -D1 grad phi1 - D2 grad phi2 + D3a grad phi3a - D3b grad phi3b + D3c curl A; all
 * positive; f = d ln D / d ln a.  Normalised to D1 = a where matter dominates; with radiation D1 = a + 2/3 a_eq there,
 * and the orders above the first begin at 0. */
enum { NB_D1, NB_D2, NB_D3A, NB_D3B, NB_D3C, NB_NGROWTH };
struct nb_growth {
	double D[NB_NGROWTH], f[NB_NGROWTH];
};
void nb_cosmology_growth(const struct nb_cosmology *c, double a, struct nb_growth *growth);
#endif
