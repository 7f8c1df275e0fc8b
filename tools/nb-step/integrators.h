/* integrators.h - the integration schemes.  A new one is a file beside leapfrog.c and a word in NB_INTEGRATORS. */
#ifndef NB_STEP_INTEGRATORS_H
#define NB_STEP_INTEGRATORS_H

#include "kernels/backend/backend.h"

/* in the order of --help */
#define NB_INTEGRATORS(DO) \
	DO(leapfrog) DO(euler) DO(taylor) DO(yoshida) DO(chin) DO(hermite) DO(whfast) DO(ias15) DO(trace) DO(ar)
/* as words of an option, "leapfrog|euler ..." */
#define NB_INTEGRATOR_WORD(name) "|" #name
#define NB_INTEGRATOR_WORDS (&("" NB_INTEGRATORS(NB_INTEGRATOR_WORD))[1])

/* The bodies of a step, where the backend computes. */
struct nb_bodies {
	size_t n;
	double *pos, *vel;  /* n x 3 */
	const double *acc;  /* n x 3, at the positions before the step */
	const double *jerk; /* n x 3; NULL unless needed */
};

/* A kick with the force at the positions x before it, and the drift after it, as shares of dt. */
struct nb_kick_drift {
	double kick, drift;
	double ahead; /* the force is a(x + ahead dt^2 a(x)) instead of a(x), which costs a second one */
};

enum nb_few { NB_FEW_NONE, NB_FEW_WHFAST, NB_FEW_IAS15, NB_FEW_TRACE, NB_FEW_AR };

struct nb_integrator {
	int needs_jerk; /* beside acc, which all need */
	/* After the step velocities lag behind positions by this share of dt: a kick with the force at the new
	 * positions ends it, and the first act of a step is a kick of the same share. */
	double lag;
	/* The step of point masses but for that last kick is made of these, with a force between one and the next; ...
	 */
	const struct nb_kick_drift *stage; /* NULL: none */
	size_t nstage;
	/* ... or, without them, by a function of its own.  Returns 0 or an enum nb_status. */
	int (*advance)(const struct nb_backend *backend, const struct nb_bodies *b, double dt);

	/* ... or few.c has several made at a time, by kernels that have the force of the bodies themselves. */
	enum nb_few few;
	int has_own_steps; /* which it finds: -d is the longest, and each system has its own */

	/* After advance, the bodies are corrected so many times, each time with the force at their new positions. */
	int corrections;

	/* For solid bodies, which move on straight lines: the velocities that the drift has, and those that the step
	 * ends with if nothing touches; host memory, n x 3 each.  NULL: both are those after the first kick. */
	int (*drift)(const struct nb_bodies *b, double dt, double *mean, double *end);
	double drift_time; /* the share of dt at which the bodies have the velocities of the drift */
};

#define NB_INTEGRATOR_DECLARE(name) extern const struct nb_integrator nb_integrator_##name;
NB_INTEGRATORS(NB_INTEGRATOR_DECLARE)
#undef NB_INTEGRATOR_DECLARE

const struct nb_integrator *nb_integrator_at(size_t k); /* number k of NB_INTEGRATORS */
/* How many forces a step needs. */
size_t nb_integrator_forces(const struct nb_integrator *integrator);

#endif
