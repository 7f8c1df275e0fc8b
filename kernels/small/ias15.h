/* ias15.h - integration of a few bodies to the rounding of doubles, whatever their orbits; a part of small.h, which
 * includes it.
 *
 * In a step h accelerations are a(s) = a_0 + sum_k b_k s^(k+1), 0 <= s <= 1, k = 0 .. 6, whose b_k fit the forces at
 * the seven nodes of Radau's quadrature; they are found by iteration, from those that the step before foretells:
 * order 15.  The next step is eta times the shortest time scale of a body, sqrt(2 p^2 / (j^2 + p s)) with the sum p of
 * the sizes of all pulls on it, the jerk j and its derivative s at the end of the step; a step that proves four times
 * too long is repeated.
 *
 * Sources: Everhart 1985, in Dynamics of Comets, 185; Rein & Spiegel 2015, MNRAS 446, 1424; Pham, Rein & Spiegel 2024,
 * OJAp 7, 1 (steps).  Only +, -, *, / and square roots are used, so that any processor gives the same bytes. */
#ifndef NB_SMALL_IAS15_H
#define NB_SMALL_IAS15_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shorter steps, as a part of the time since the beginning, do not move that. */
#define NB_IAS15_SHORTEST 1e-15

enum { NB_IAS15_B = 7, NB_IAS15_NUMBERS = 3 * NB_SMALL_MOST, NB_IAS15_TRIALS = 500 /* of a step, at most */ };

/* Numbers of the bodies: those of x for all bodies, then y, then z, relative to the centre of mass, which moves on a
 * line: so the separations of a close pair have digits that they do not have far from the origin.  b and e (what was
 * foretold) are of the last step, which began with x0, v0, a0. */
struct nb_ias15 {
	struct nb_small bodies; /* with n 0 if there is no force, as a body is alone */
	size_t n;
	double star; /* G m of one that stands in the origin and pulls all; 0, as nb_ias15_begin sets it: none */
	const struct nb_extra *extra; /* forces beside gravity; NULL, as nb_ias15_begin sets it: none */
	double eta, longest;	      /* the longest step, INFINITY: any */
	double next, last;	      /* steps; last 0: none has been made */
	double centre[3], drift[3];   /* of mass, at the start; */
	double elapsed, rest;	      /* time from there to the end of the last step */
	double x[NB_IAS15_NUMBERS], v[NB_IAS15_NUMBERS];	   /* at its end, without ... */
	double rest_x[NB_IAS15_NUMBERS], rest_v[NB_IAS15_NUMBERS]; /* ... what rounding lost */
	double x0[NB_IAS15_NUMBERS], v0[NB_IAS15_NUMBERS], a0[NB_IAS15_NUMBERS];
	double b[NB_IAS15_B][NB_IAS15_NUMBERS], e[NB_IAS15_B][NB_IAS15_NUMBERS];
	double power[NB_IAS15_B][NB_IAS15_B], inverse[NB_IAS15_B + 1][NB_IAS15_B]; /* of the nodes */
	uint64_t forces, repeated; /* how many have been computed; steps that were too long */
};

/* Bodies with these masses, n, and one softening.
 * NB_EUNSUPPORTED: more than NB_SMALL_MOST bodies, or numbers as of nb_small_begin. */
NB_MUST_CHECK int nb_ias15_begin(struct nb_ias15 *s, size_t n, const double *mass, double G, double eps);
/* Positions and velocities, n x 3 each, at the beginning of a run, and the steps of that: eta > 0, longest > 0 or
 * INFINITY, way 1 or -1: back in time.  NB_EUNSUPPORTED: two bodies coincide, or what nb_small_force says. */
NB_MUST_CHECK int nb_ias15_load(
	struct nb_ias15 *s, const double *pos, const double *vel, double eta, double longest, int way);
/* Makes a step, of length s->last.  NB_EUNSUPPORTED: bodies collide, or leave the range of numbers. */
NB_MUST_CHECK int nb_ias15_step(struct nb_ias15 *s);
/* Positions and velocities a time after the beginning of the last step, at most its length, n x 3 each. */
void nb_ias15_at(const struct nb_ias15 *s, double time, double *pos, double *vel);

#ifdef __cplusplus
}
#endif
#endif
