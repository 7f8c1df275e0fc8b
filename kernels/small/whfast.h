/* whfast.h - Wisdom and Holman's map for a star with planets; a part of small.h, which includes it.
 *
 * With Jacobi coordinates q_i (body i relative to the centre of mass of those before it) and mu_i = G (m_0 + .. + m_i)
 * a step h is D(h/2) K(h) D(h/2), where D moves each q_i along its Kepler orbit of mu_i, and K is a kick with all
 * accelerations but those: second order in h, and in the masses of the planets.  The state here is that after the first
 * D(h/2), so that a step is K(h) D(h).  Correctors change coordinates so that of the error terms of first order in the
 * masses those up to h^order vanish.  With a lazy kernel K has the accelerations at q + h^2/12 a(q), which leaves
 * errors of second order in the masses of h^4 instead of h^2, for two forces in a step.
 *
 * In democratic heliocentric coordinates q_i is relative to the star, v_i to the centre of mass, and all mu_i are G
 * m_0; K is J(h/2) K(h) J(h/2), with the pulls of planets on each other as K, and J(h) moves all planets by h sum(m v)
 * / m_0. So no order of the bodies is meant, and orbits may cross.  They have no correctors and no lazy kernel.
 *
 * Sources: Wisdom & Holman 1991, AJ 102, 1528; Wisdom, Holman & Touma 1996, Fields Inst. Comm. 10, 217, and Wisdom
 * 2006, AJ 131, 2294 (correctors); Rein & Tamayo 2015, MNRAS 452, 376 (the order of the operations); Rein, Tamayo &
 * Brown 2019, MNRAS 489, 4632 (lazy kernel); Duncan, Levison & Lee 1998, AJ 116, 2067 (democratic coordinates).
 *
 * All planets move at once, one in each lane of a vector.  Only +, -, *, / and square roots are used, not contracted
 * (Makefile): any processor and any compiler gives the same bytes. */
#ifndef NB_SMALL_WHFAST_H
#define NB_SMALL_WHFAST_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NB_WHFAST_MOST = 16 /* bodies */ };

/* Planet k is body k + 1; lanes behind the last planet have no mass and stay where they are. */
struct nb_whfast {
	size_t n;
	const struct nb_extra
		*extra; /* forces beside gravity, without velocities; NULL, as nb_whfast_begin sets it: none */
	struct nb_variation *variation; /* that moves with it (variation.h); NULL, as nb_whfast_load sets it: none */
	double h;
	int corrector; /* its order, 0: none */
	int lazy;
	int democratic;		    /* coordinates; 0, as nb_whfast_begin sets it: Jacobi's */
	double closest;		    /* largest G (m_i + m_j) / d^3 of two planets in the steps of the last call */
	size_t failed;		    /* body, after NB_EUNSUPPORTED of a step */
	double centre[3], drift[3]; /* position and velocity of the centre of mass */
	double q[3][NB_WHFAST_MOST], v[3][NB_WHFAST_MOST];
	double mu[NB_WHFAST_MOST];	   /* of its orbit */
	double inverse_mu[NB_WHFAST_MOST]; /* 0 where mu is */
	double inner[NB_WHFAST_MOST];	   /* 1 / mu of what is within the orbit */
	double gm[NB_WHFAST_MOST], star;   /* G m of the planet, and of body 0 */
	double relativity;		   /* 6 G m_0 / c^2 */
	double share[NB_WHFAST_MOST];	   /* m / (m_0 + .. + m); of democratic coordinates m / m_0 */
};

/* The bodies of a system, the order of its corrector, 0, 3, 5, 7, 11 or 17, and whether its kernel is lazy.
 *   mass  n, in Jacobi order; those of planets may be 0
 * NB_EUNSUPPORTED: more than NB_WHFAST_MOST bodies, a mass or G that is negative or not finite, G or the first mass
 * 0 with several bodies, or another order. */
NB_MUST_CHECK int nb_whfast_begin(struct nb_whfast *w, size_t n, const double *mass, double G, int corrector, int lazy);
/* Changes the coordinates before a state is made, where the corrector is of order 0 and the kernel is not lazy. */
void nb_whfast_democratic(struct nb_whfast *w);
/* What the star does to planets by general relativity, for steps of states that are made later: the potential
 * -3 (G m_0 / (c r))^2, whose orbits turn as they should by 6 pi G m_0 / (c^2 a (1 - e^2)) in a period (Nobili &
 * Roxburgh 1986, IAU Symp. 114, 105), a part of K.  light: c > 0, or INFINITY for none of it, as after
 * nb_whfast_begin. */
void nb_whfast_relativity(struct nb_whfast *w, double light);
/* Forces beside gravity, which must stay where they are: the potential of general relativity of the star alone is a
 * part of the kicks of vectors, as of nb_whfast_relativity; others take as long as all the rest of a step. */
void nb_whfast_add_extra(struct nb_whfast *w, const struct nb_extra *e);
/* The state of the map for steps h from these positions and velocities, n x 3 each. */
NB_MUST_CHECK int nb_whfast_load(struct nb_whfast *w, const double *pos, const double *vel, double h);
/* Positions and velocities at the time of the last step, n x 3 each, from a copy: the state stays as it is. */
NB_MUST_CHECK int nb_whfast_store(const struct nb_whfast *w, double *pos, double *vel);
/* Makes steps.  NB_EUNSUPPORTED: an orbit cannot be followed (nb_kepler_move), that of body w->failed. */
NB_MUST_CHECK int nb_whfast_steps(struct nb_whfast *w, uint64_t steps);

/* The state itself as two columns, n x 3 each: of body 0 that of the centre of mass, of others q and its velocity. */
void nb_whfast_save(const struct nb_whfast *w, double *q, double *v);
void nb_whfast_restore(struct nb_whfast *w, const double *q, const double *v, double h);

/* Semi-major axis of the orbit of body i >= 1, in the state as it is; negative: a hyperbola.  *period: 0 then. */
double nb_whfast_axis(const struct nb_whfast *w, size_t i, double *period);

#ifdef __cplusplus
}
#endif
#endif
