/* small.h - gravity of a few bodies, in double precision: no memory, no threads, no vectors that a processor may lack.
 *
 * Units: the caller's.  acc = G m / length^2, pot = -G m / length.
 * The interaction is that of kernels/gravity/gravity.h with one Plummer softening:
 *     a_i = sum_j G m_j (x_j - x_i) / (r^2 + eps^2)^(3/2),    j != i, in the order of j.
 * Only +, -, *, / and square roots are used, each rounded as IEEE 754 says and never contracted: any processor and any
 * compiler gives the same bytes, and so does the loop of steps as a force computed alone. */
#ifndef NB_SMALL_H
#define NB_SMALL_H

#include <stddef.h>

#include "common/status.h"
#include "kernels/small/extra.h"
#include "kernels/small/kepler.h"
#include "kernels/small/whfast.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NB_SMALL_MOST = 16 /* bodies: with more, vectors of sources are faster */ };

/* A system of n bodies, one coordinate after the other. */
struct nb_small {
	size_t n;
	double x[3][NB_SMALL_MOST], v[3][NB_SMALL_MOST], acc[3][NB_SMALL_MOST];
	double mu[NB_SMALL_MOST]; /* G m */
	double eps2;
};

/* What the forces need: G times masses.  NB_EUNSUPPORTED: not 2 to NB_SMALL_MOST bodies, or numbers so extreme that
 * their products leave the range of a double; another force must be used.
 *   mass  n
 *   eps   softening length */
NB_MUST_CHECK int nb_small_begin(struct nb_small *s, size_t n, const double *mass, double G, double eps);

/* Positions and velocities of the bodies, n x 3 each; vel may be NULL. */
void nb_small_load(struct nb_small *s, const double *pos, const double *vel);
void nb_small_store(const struct nb_small *s, double *pos, double *vel);

/* Accelerations at the positions, to s->acc.  NB_EUNSUPPORTED, and nothing to rely on in acc: two bodies coincide, or
 * their distance is not finite or so extreme that its powers are not normal numbers. */
NB_MUST_CHECK int nb_small_force(struct nb_small *s);
/* Potentials at the positions, n, after nb_small_force has succeeded. */
void nb_small_potential(const struct nb_small *s, double *pot);

/* v += acc lag, unless that is 0, v += acc kick, then x += v drift. */
void nb_small_kick_drift(struct nb_small *s, double lag, double kick, double drift);
/* v += acc kick. */
void nb_small_kick(struct nb_small *s, double kick);
/* Square of the largest acceleration. */
double nb_small_largest_acc2(const struct nb_small *s);

#ifdef __cplusplus
}
#endif
#include "kernels/small/ar.h"
#include "kernels/small/ias15.h"
#include "kernels/small/swarm.h"
#include "kernels/small/trace.h"
#include "kernels/small/variation.h"

#include "kernels/small/carry.h"

#endif
