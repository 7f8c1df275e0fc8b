/* hermite.h - the corrector of Hermite's fourth-order integrator, and time scales of the motion, on plain arrays.
 *
 * Arrays are n x 3, row-major, if nothing else is said; any n, including 0.  dt may be negative.  Each number follows
 * from those of its own body, so the result is the same bytes for any number of threads.
 * Sources: Makino & Aarseth 1992, PASJ 44, 141; Aarseth 1985, in Multiple Time Scales, 377. */
#ifndef NB_MOTION_HERMITE_H
#define NB_MOTION_HERMITE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

/* Corrects pos and vel at the end of a step dt, which are those that a Taylor step (step.h) or the last correction has
 * left, by how much the force there, acc and jerk, differs from acc_was + ahead jerk_was and jerk_was.  With acc_was
 * and jerk_was from the beginning of the step and ahead = dt it gives vel = vel0 + (acc_was + acc) dt/2 + (jerk_was -
 * jerk) dt^2/12, pos = pos0 + (vel0 + vel) dt/2 + (acc_was - acc) dt^2/12; with those of the last correction and ahead
 * = 0, the same once more.  Fourth order.  Returns 0, and a device also NB_EDEVICE. */
NB_MUST_CHECK int nb_hermite_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk,
	const double *acc_was, const double *jerk_was, double ahead, double dt);
/* The same on the current device, queued on its default stream; the same bytes. */
NB_MUST_CHECK int nb_hermite_cuda(size_t n, double *pos, double *vel, const double *acc, const double *jerk,
	const double *acc_was, const double *jerk_was, double ahead, double dt);

/* The time in which the force on a body changes much, after Aarseth: if a step dt leads from acc0, jerk0 to acc1,
 * jerk1, and s and c are the derivatives of the jerk that fit them,
 *     scale^2 = (|acc| |s| + |jerk|^2) / (|jerk| |c| + |s|^2)
 * at (0 to 1) in it, 1: at its end; at most NB_TIMESCALE_MOST, which stands for a force that does not
 * change; 0 for one that changes by more than a double can hold.  A step is to be sqrt(eta) times that, with eta about
 * 0.02.  scale: n, in time; host memory. */
#define NB_TIMESCALE_MOST 1e300
void nb_hermite_timescales(size_t n, const double *acc0, const double *jerk0, const double *acc1, const double *jerk1,
	double dt, double at, double *scale);

/* Bodies whose steps begin and end at times of their own, counted in units from a common beginning; host memory. */
struct nb_hermite {
	size_t n;
	double unit;	    /* of time; not 0 */
	double *pos, *vel;  /* n x 3, at the beginning of the step of each body, */
	double *acc, *jerk; /* n x 3, with the force there */
	double *begun;	    /* n, units: when that was */
	double *scale;	    /* n, time: as of nb_hermite_timescales, of the step that has ended there */
};

/* pos and vel of all bodies, n x 3 each, out, at time now (units), by the Taylor step of step.h. */
void nb_hermite_predict(const struct nb_hermite *b, double now, double *pos, double *vel);
/* Finds binaries among the bodies i that have mark[i] != 0 and whose steps began at the same time: two bodies whose
 * relative acceleration points at each other within 8 degrees, and whose period, or that of a circle at their distance
 * if that is shorter, is less than the one given and than with any other body.  So bodies that pass each other, bound
 * or not, are a binary in the meantime.  pos, vel, acc: n x 3, where they are.  Looks at steps that NB_HERMITE_GROUP
 * bodies or fewer end, and that are no longer than an eighth of the period.  other: n, out if there are any: the other
 * body, or i itself.  Returns how many bodies. */
enum { NB_HERMITE_GROUP = 64 };
size_t nb_hermite_find_binaries(const struct nb_hermite *b, double now, const unsigned char *mark, const double *pos,
	const double *vel, const double *acc, double period, uint32_t *other);
/* pos and vel of body i at time now, out, 3 each: a correction as that of nb_hermite_cpu by these forces on all. */
void nb_hermite_place(const struct nb_hermite *b, double now, size_t i, const double *acc, const double *jerk,
	double *pos, double *vel);
/* Ends the steps of the bodies i that have mark[i] != 0 at time now, where they have the forces acc[i] and jerk[i] at
 * the predicted places of all: one correction as that of nb_hermite_cpu; begun becomes now, and *b has the forces.
 * Bodies that have another one in other (or NULL) get the scale of nb_hermite_binary_scale, continued to now. */
void nb_hermite_correct(struct nb_hermite *b, double now, const unsigned char *mark, const uint32_t *other,
	const double *acc, const double *jerk);
/* The time scale of a binary in the middle of the step that ends now with these forces: the least of that of the
 * relative motion and those of both bodies.  It is the same for the step back in time, so steps that are chosen by it
 * are symmetric, and the energy of the orbit has no trend (Hut, Makino & McMillan 1995, ApJ 443, L93). */
double nb_hermite_binary_scale(
	const struct nb_hermite *b, double now, size_t i, size_t j, const double *acc, const double *jerk);
/* The derivative of its logarithm with respect to time at the beginning of the step, if it goes with r^(3/2). */
double nb_hermite_binary_rate(const struct nb_hermite *b, size_t i, size_t j);

NB_C_END
#endif
