/* bound.h - which bodies are bound.  Host memory; the same bytes for any number of threads. */
#ifndef NB_MEASURE_BOUND_H
#define NB_MEASURE_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_BOUND_STEPS = 100 };

/* bound[i] = 1 if |v - u|^2 / 2 + pot < 0, else 0, where u is the mean velocity of the bound bodies, weighted with
 * their masses; found by iteration from u as given, at most NB_BOUND_STEPS times.  Returns u in vel, which stays as it
 * was if no mass is bound.  vel_of n x 3, mass and pot n.  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_bound_bodies(
	size_t n, const double *mass, const double *vel_of, const double *pot, double vel[3], unsigned char *bound);

/* Of some bodies about their centre of mass: with X = x - its place, V = v - its velocity, */
struct nb_bound_energies {
	double count, mass;
	double ekin;	 /* sum m V^2 / 2 */
	double epot;	 /* sum m pot / 2 */
	double clausius; /* -sum m X a, which is 2 ekin in equilibrium, whatever the law of force */
};

/* Those of the bodies that are marked (NULL: all).  pos, vel and acc n x 3, mass and pot n; what of vel, pot and acc is
 * NULL makes a NaN, as no mass does of each energy.  near: a place and a velocity, so that little cancels.  NB_OK,
 * NB_ENOMEM. */
struct nb_centre;
NB_MUST_CHECK int nb_bound_find_energies(size_t n, const double *mass, const double *pos, const double *vel,
	const double *pot, const double *acc, const struct nb_centre *near, const unsigned char *marked,
	struct nb_bound_energies *energies);

NB_C_END
#endif
