/* ar.h - a few bodies that may collide: algorithmic regularisation; a part of small.h, which includes it.
 *
 * Steps are not equal in time, but in s, where ds = W dt with W = U, the sum of G m_i m_j / r_ij, for a kick, and W = T
 * + B, with the kinetic energy and a constant that makes both the same at the beginning, for a drift: a leapfrog of
 * these is that of the logarithmic Hamiltonian ln(T + B) - ln U, and follows two bodies exactly, but for the time,
 * whatever their eccentricity, through a collision, too.  Pairs with a body without mass add m (m_i + m_j) / r_ij, m
 * the mean mass, and its changes along the mean velocities of kicks.  B changes by the work of other forces.  A step is
 * the limit to which leapfrogs of 2, 4, .. steps go.  Positions are those of neighbours in a chain that goes from body
 * to body by short ways, so that two bodies that are close have all digits of their separation.
 *
 * Sources: Mikkola & Tanikawa 1999, MNRAS 310, 745, and Preto & Tremaine 1999, AJ 118, 2532 (Hamiltonian); Mikkola &
 * Aarseth 2002, Celest. Mech. 84, 343 (W along velocities); Mikkola & Aarseth 1993, Celest. Mech. 57, 439 (chain);
 * Gragg 1965, SIAM J. Numer. Anal. 2, 384 (limit).  Only +, -, *, / and square roots are used, so that any processor
 * gives the same bytes. */
#ifndef NB_SMALL_AR_H
#define NB_SMALL_AR_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_AR_NUMBERS = 6 * (NB_SMALL_MOST - 1) + 2 };

/* Numbers of a chain of n bodies: x of each link, from body chain[k] to chain[k + 1]; v of each; the time since the
 * beginning of the run; B. */
struct nb_ar_state {
	size_t chain[NB_SMALL_MOST];
	double y[NB_AR_NUMBERS], rest[NB_AR_NUMBERS]; /* what rounding lost */
};

struct nb_ar {
	size_t n;
	const struct nb_extra
		*extra;		    /* forces beside gravity, without velocities; NULL, as nb_ar_begin sets it: none */
	double gm[NB_SMALL_MOST];   /* G m */
	double mean;		    /* of gm */
	int is_free;		    /* nothing pulls */
	double centre[3], drift[3]; /* of mass, at the beginning of the run */
	double longest;		    /* the longest step, INFINITY: any */
	double next;		    /* step, in s */
	double last, step;	    /* the last one, in time and in s; 0: none has been made */
	struct nb_ar_state now, before; /* at its end, and at its beginning */
	uint64_t forces, repeated;	/* how many have been computed; steps that were too long */
};

/* Bodies with these masses, n.  NB_EUNSUPPORTED: more than NB_SMALL_MOST bodies, a mass or G that is negative, or as
 * extreme as nb_small_begin says. */
NB_MUST_CHECK int nb_ar_begin(struct nb_ar *s, size_t n, const double *mass, double G);
/* Positions and velocities, n x 3 each, at the beginning of a run; longest > 0 or INFINITY; way 1 or -1: back in time.
 * NB_EUNSUPPORTED: two bodies coincide, or numbers are extreme. */
NB_MUST_CHECK int nb_ar_load(struct nb_ar *s, const double *pos, const double *vel, double longest, int way);
/* Makes a step, of length s->last.  NB_EUNSUPPORTED: bodies leave the range of numbers, or meet exactly where a
 * leapfrog has a force. */
NB_MUST_CHECK int nb_ar_step(struct nb_ar *s);
/* Positions and velocities a time after the beginning of the last step, at most its length, n x 3 each: shorter steps
 * lead there.  NB_EUNSUPPORTED as in a step. */
NB_MUST_CHECK int nb_ar_at(const struct nb_ar *s, double time, double *pos, double *vel);
/* The time since the beginning of the run. */
double nb_ar_elapsed(const struct nb_ar *s);

NB_C_END
#endif
