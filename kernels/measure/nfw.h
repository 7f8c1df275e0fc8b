/* nfw.h - the profile of Navarro, Frenk & White 1997, ApJ 490, 493, that fits a set of bodies best.  Host memory; the
 * same bytes for any number of threads. */
#ifndef NB_MEASURE_NFW_H
#define NB_MEASURE_NFW_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_NFW_FEW = 100 };

/* density(r) = rho / (r / rs (1 + r / rs)^2), and standard errors; all NaN if there are fewer than NB_NFW_FEW bodies,
 * or no best one. */
struct nb_nfw {
	double rs, rs_error, rho, rho_error;
	size_t n; /* bodies that it was fitted to */
};

/* By the greatest likelihood of the radii of the bodies between inner and outer (INFINITY: up to the farthest) about a
 * centre, each counted with its mass; there are no bins.  Errors are those of the curvature of the logarithm of the
 * likelihood, and of the number of bodies; of different masses as many count as (sum m)^2 / sum m^2.  NB_OK, NB_ENOMEM.
 */
NB_MUST_CHECK int nb_nfw_fit(size_t n, const double *mass, const double *pos, const double centre[3], double inner,
	double outer, struct nb_nfw *fit);

NB_C_END
#endif
