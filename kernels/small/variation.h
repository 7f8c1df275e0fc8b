/* variation.h - how fast neighbouring orbits of a few bodies part: variational equations of first order along the steps
 * of nb_ias15 and nb_whfast; a part of small.h, which includes it.
 *
 * A variation d of the positions has the acceleration sum_j G m_j (e / s^3 - 3 (r.e) r / s^5), e = d_j - d_i, with the
 * separation r and s^2 = r^2 + eps^2, and that of other forces of positions (nb_extra_vary).  Its size S has S^2 =
 * |d|^2 + T^2 |d'|^2, where T is the shortest time scale of a pair in the first state.  MEGNO is Y = 2/t int t (ln S)'
 * dt, or its mean (1/t) int Y dt, which comes to 2 for regular orbits, and grows as t/2 times the Lyapunov exponent for
 * chaotic ones; that is the slope of Y by least squares.
 *
 * In each step of nb_ias15 the variation makes one by collocation in four Gauss nodes, of order 8.  Steps of nb_whfast
 * have their own derivative, that of each kick and of each drift, which moves a variation of coordinates; the
 * integral of Y is a sum over the states before the kicks.
 *
 * Sources: Cincotta & Simo 2000, A&AS 147, 205; Rein & Tamayo 2016, MNRAS 459, 2275; Mikkola & Innanen 1999, Celest.
 * Mech. Dyn. Astron. 74, 59 (drifts).  Only +, -, *, / and square roots are used, so that any processor gives the same
 * bytes. */
#ifndef NB_SMALL_VARIATION_H
#define NB_SMALL_VARIATION_H

#include <stddef.h>
#include <stdint.h>

NB_C_BEGIN

struct nb_megno {
	double unit2;			     /* T^2 */
	double time, part, y, integral;	     /* since the beginning; int t (ln S)' dt; Y; int Y dt */
	double log_size2;		     /* ln S^2; of nb_whfast alone */
	double n;			     /* of steps, for the slope: */
	double mean_t, mean_y, spread, both; /* means, sum (t - mean)^2, and of the product */
};

/* n x 3, of positions or, of nb_whfast, of the coordinates of planets, and 0 of body 0. */
struct nb_variation {
	double d[3 * NB_SMALL_MOST], u[3 * NB_SMALL_MOST]; /* u: d' */
	struct nb_megno megno;
};

/* At the beginning of a run, after nb_ias15_load: a variation of all bodies that looks like a random one.  Forces
 * beside gravity are without velocities. */
void nb_variation_begin(struct nb_variation *w, const struct nb_ias15 *run);
/* After a step. */
void nb_variation_follow(struct nb_variation *w, const struct nb_ias15 *run);
/* At the beginning of a run, after nb_whfast_load or nb_whfast_restore, from positions, n x 3, of its first state: such
 * a variation of the coordinates, which moves with all that moves run->q, but for these two, and must stay where it is.
 */
void nb_variation_begin_whfast(struct nb_variation *w, struct nb_whfast *run, const double *pos);
/* Before nb_whfast_load gives the map another step: the variation becomes that of the new state. */
NB_MUST_CHECK int nb_variation_change_step(const struct nb_whfast *run, double h);
/* The mean of Y; 0 at the beginning. */
double nb_variation_megno(const struct nb_variation *w);
/* The Lyapunov exponent, in units of 1/time; 0 before the third step. */
double nb_variation_exponent(const struct nb_variation *w);

NB_C_END

#endif
