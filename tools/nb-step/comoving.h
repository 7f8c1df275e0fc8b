/* comoving.h - steps in an expanding universe (--cosmology), for the files of the tool; a part of step.h, which
 * includes it. */
#ifndef NB_STEP_COMOVING_H
#define NB_STEP_COMOVING_H

#include "kernels/cosmology/cosmology.h"

#include <stddef.h>
#include <stdint.h>

struct nb_frame;
struct step;

/* The variable in which steps have a length. */
enum steps_in { STEPS_IN_LNA, STEPS_IN_A, STEPS_IN_T };

struct comoving {
	struct nb_cosmology law;
	double *mark; /* of --at: scale factors, in the direction of the run */
	size_t nmark;
	double begun, next; /* scale factors of the step that is made, or was made last */
	double kinetic;	    /* energy of the state, NaN: not computed; */
	double integral;    /* of it over the scale factor, since the first state of the run: attribute ekin_da */
};

/* ---- span.c ---- */
/* In the variable of the steps, with --cosmology: from a scale factor to another; the scale factor that is so much
 * behind a. */
double nb_step_span(const struct step *s, double a0, double a1);
double nb_step_after(const struct step *s, double a, double length);
/* How much of the way from the time first to --until is behind the run, in the variable of the steps; 0 without it. */
double nb_step_share_done(const struct step *s, double first);

/* ---- comoving.c ---- */
/* Of the options. */
void nb_step_comoving_check(struct step *s);
/* Of a frame: its universe, and whether it may be one.  The time is its scale factor. */
void nb_step_comoving_load(struct step *s);
/* The next step: to which scale factor, *exact, and by how much, *dt.  0 if there is none. */
int nb_step_comoving_plan(struct step *s, double *dt, double *exact);
/* Whether the state is one of --at. */
int nb_step_is_at_mark(const struct step *s);
/* Of the step that is made, of which from and to are shares, 0 to 1, in the variable of the steps: the scale factor;
 * how much a kick and a drift are, for the column vel of that step; how long it is to a body that falls, in the time in
 * which eta sqrt(eps / acc) is. */
double nb_step_comoving_time(const struct step *s, double share);
double nb_step_comoving_kick(const struct step *s, double from, double to);
double nb_step_comoving_drift(const struct step *s, double from, double to);
double nb_step_comoving_fall(const struct step *s, double from, double to);
/* Before a step of any kind. */
void nb_step_begin_comoving(struct step *s);
/* One step of all bodies, short of the last kick; then, after that kick, the peculiar velocities at its end. */
void nb_step_advance_comoving(struct step *s);
void nb_step_end_comoving(struct step *s);
/* About how many steps there are from a frame to --until. */
double nb_step_comoving_steps(const struct step *s, const struct nb_frame *frame);

#endif
