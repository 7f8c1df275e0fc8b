/* variation.h - how fast neighbouring orbits of a few bodies part: variational equations of first order along the steps
 * of nb_ias15; a part of small.h, which includes it.
 *
 * A variation d of the positions has the acceleration sum_j G m_j (e / s^3 - 3 (r.e) r / s^5), e = d_j - d_i, with the
 * separation r and s^2 = r^2 + eps^2.  Its size is |d|^2 + T^2 |d'|^2, where T is the shortest time scale of a pair in
 * the first state.  MEGNO is Y = 2/t int t (ln size)'/2 dt, or its mean (1/t) int Y dt, which comes to 2 for regular
 * orbits, and grows as t/2 times the Lyapunov exponent for chaotic ones; that is the slope of Y by least squares.
 *
 * Sources: Cincotta & Simo 2000, A&AS 147, 205; Rein & Tamayo 2016, MNRAS 459, 2275.  In each step of the
 * orbits the variation makes one by collocation in four Gauss nodes, of order 8.  Only +, -, *, / and square roots are
 * used, so that any processor gives the same bytes. */
#ifndef NB_SMALL_VARIATION_H
#define NB_SMALL_VARIATION_H

#include <stddef.h>
#include <stdint.h>

NB_C_BEGIN

struct nb_variation {
	double d[3 * NB_SMALL_MOST], u[3 * NB_SMALL_MOST]; /* u: d' */
	double unit2;					   /* T^2 */
	double time, part, integral;	     /* time since the beginning; int t (ln size)'/2 dt; int Y dt */
	uint64_t n;			     /* of steps, for the slope: */
	double mean_t, mean_y, spread, both; /* means, sum (t - mean)^2, and of the product */
};

/* At the beginning of a run, after nb_ias15_load: a variation of all bodies that looks like a random one. */
void nb_variation_begin(struct nb_variation *w, const struct nb_ias15 *run);
/* After a step. */
void nb_variation_follow(struct nb_variation *w, const struct nb_ias15 *run);
/* The mean of Y; 0 at the beginning. */
double nb_variation_megno(const struct nb_variation *w);
/* The Lyapunov exponent, in units of 1/time; 0 before the third step. */
double nb_variation_exponent(const struct nb_variation *w);

NB_C_END

#endif
