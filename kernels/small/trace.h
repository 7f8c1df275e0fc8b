/* trace.h - a star and planets whose orbits may cross: an integrator that changes in encounters; a part of small.h,
 * which includes it.
 *
 * Positions Q are relative to the star, velocities V to the centre of mass (democratic heliocentric coordinates).  A
 * step h is K(h/2) J(h/2) D(h) J(h/2) K(h/2), where D moves each planet along its orbit about a star that stands still,
 * J moves all of them by h sum(m V) / m_0, and K is a kick by their pulls on each other.  Planets that come within 3
 * Hill radii of each other in a step have no K for each other: they make D together, by nb_ias15.  In a step that is
 * too long for the orbit of a planet near the star (the time scale of Pham, Rein & Spiegel) nb_ias15 moves all bodies.
 * Which planets these are is found before the step and, once more, from its end: if there are others, it is repeated
 * with all of them, so that a step back finds the same ones but in rare cases.  Second order; the error has the masses
 * of planets as a factor.
 *
 * Sources: Duncan, Levison & Lee 1998, AJ 116, 2067 (coordinates); Hernandez & Dehnen 2023, MNRAS 522, 4639, and Lu,
 * Hernandez & Rein 2024, MNRAS 533, 3708 (changes that can be reversed). */
#ifndef NB_SMALL_TRACE_H
#define NB_SMALL_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

/* Bodies 1 .. n-1 are planets. */
struct nb_trace {
	size_t n;
	const struct nb_extra
		*extra;		  /* forces beside gravity, without velocities; NULL, as nb_trace_begin sets it: none */
	double gm[NB_SMALL_MOST]; /* G m */
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST]; /* Q and V; those of body 0 are not used */
	struct nb_whfast orbits;			   /* of planets, where all of them drift at once */
	double centre[3], drift[3];			   /* of mass, at the beginning of the run, */
	double elapsed, rest;				   /* and the time since then */
	uint64_t met, passed;				   /* steps in which planets met; or one was near the star */
};

/* Bodies with these masses, n.  NB_EUNSUPPORTED: more than NB_SMALL_MOST bodies, a mass or G that is negative or as
 * extreme as nb_small_begin says, G or the first mass 0 with several bodies. */
NB_MUST_CHECK int nb_trace_begin(struct nb_trace *t, size_t n, const double *mass, double G);
/* Positions and velocities, n x 3 each, at the beginning of a run; and those at the end of the last step. */
void nb_trace_load(struct nb_trace *t, const double *pos, const double *vel);
void nb_trace_store(const struct nb_trace *t, double *pos, double *vel);
/* Makes a step h, forwards or backwards; where it fails nothing has changed.  NB_EUNSUPPORTED: bodies collide, or leave
 * the range of numbers.  NB_ELIMIT: h is so long that too many steps of nb_ias15 would be needed. */
NB_MUST_CHECK int nb_trace_step(struct nb_trace *t, double h);

NB_C_END
#endif
