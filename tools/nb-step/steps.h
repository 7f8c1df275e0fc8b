/* steps.h - how the steps of a run are made, for the files of the tool; a part of step.h, which includes it. */
#ifndef NB_STEP_STEPS_H
#define NB_STEP_STEPS_H

#include <stdint.h>

#include "kernels/small/small.h"
#include "tools/filter/systems.h"

struct step;

/* A time: the sum of both; the rest is what rounding to one double loses. */
struct moment {
	double time, rest;
};

/* ---- advance.c ---- */
/* One step, short of the last kick, which needs the force at the new positions. */
void nb_step_advance(struct step *s, double dt);
/* One step of a run of which k have been made, or as many as nobody looks at; returns the number.  *dt and *exact are
 * of the first step (nb_step_plan), and of the last one then. */
uint64_t nb_step_make_steps(struct step *s, uint64_t k, double *dt, double *exact);
/* Before somebody looks at the state: the kick that was left to be made with the next one is made, and what a device
 * has comes back. */
void nb_step_look(struct step *s);

/* ---- schedule.c ---- */
/* The time step that -d and --eta give the state as it is. */
double nb_step_choose_dt(struct step *s);
/* The next step of a run: dt, and the time at which it ends by rule (*exact, NaN: none).  0 if there is none. */
int nb_step_plan(struct step *s, double *dt, double *exact);
/* Says so where the end of a run lies behind its beginning. */
void nb_step_warn_behind(const struct step *s);
/* The first of which has been found so, and up to most in all, which the clock passes: their lengths to list; returns
 * how many.  *dt and *exact are of the last one then. */
uint64_t nb_step_plan_several(struct step *s, uint64_t most, double *dt, double *exact, double *list);

/* ---- stages.c: integrators that are a list of kicks and drifts ---- */
void nb_step_stages_check(const struct step *s); /* of the options */
/* One step of point masses, short of the last kick, which needs the force at the new positions. */
void nb_step_advance_stages(struct step *s, double dt);

/* ---- small.c: steps of a few bodies without frames ---- */
/* Makes up to most steps, the last one short of the force at its end.  *dt and *exact are of the first step
 * (nb_step_plan), and of the last one then.  It ends before most where somebody may want the state.  Returns how many;
 * 0: none, as all go through the force pipeline. */
uint64_t nb_step_small(struct step *s, uint64_t most, double *dt, double *exact);
/* In the first state of a run whose force is the pipeline's, and has its softening. */
void nb_step_small_begin(struct step *s);

/* ---- systems.c: those of a frame, each of which moves on its own ---- */
enum { NB_STEPS_OF_SYSTEMS = 1024 /* at most, from state to state */ };
enum nb_stopped { NB_GOES_ON, NB_LOST, NB_STOPPED }; /* column stopped */
struct systems {
	struct nb_systems of;
	int many;			/* there is a column system; 0: all bodies are one */
	double *x, *v, *mass;		/* of all bodies, as in the last frame, in its order */
	double G, eps;			/* of the first state */
	unsigned char *stopped;		/* of each system, enum nb_stopped */
	double *ended;			/* the time, if it has */
	struct nb_variation *variation; /* of each system, with --megno; NULL: without */
	uint64_t reported;
};

/* Finds them; ends the tool where options would mix them. */
void nb_step_systems_load(struct step *s);
/* Takes the state of the frame. */
void nb_step_systems_begin(struct step *s);
void nb_step_systems_free(struct systems *s);
/* Row of the frame of body i of system k. */
static inline size_t nb_step_system_row(const struct systems *all, size_t k, size_t i)
{
	return all->of.row[all->of.first[k] + i];
}
/* The numbers of the bodies of system k, ncomp each, from those of all; returns how many bodies it has. */
size_t nb_step_system_gather(const struct systems *all, size_t k, size_t ncomp, const double *from, double *to);
/* Back, 3 each. */
void nb_step_system_scatter(const struct systems *all, size_t k, const double *from, double *to);
/* It moves no more; the first is reported. */
void nb_step_system_stop(struct step *s, size_t k, enum nb_stopped why, double time, const char *what);
/* A column with a number for each body, to be written. */
void *nb_step_new_column(struct step *s, const char *name, const char *dtype, const char *unit);
/* The frame gets columns stopped and system_time, if it has many. */
void nb_step_systems_mark(struct step *s);
/* Of a frame where no system ends, system_time, which another run has left, becomes the time of the frame. */
void nb_step_systems_note_time(struct step *s);

/* ---- stop.c: systems that end where a condition holds ---- */
struct state_of_system {
	double dmin, rmax, time;
};
struct stop {
	const char *text; /* NULL: there is none */
	uint64_t every;	  /* steps */
	int n;
	struct stopper { /* of each thread */
		struct nb_expr *expr;
		struct state_of_system state; /* what its names stand for */
	} * of;
};

void nb_step_stop_check(struct step *s, int every_given); /* of the options */
void nb_step_stop_begin(struct stop *stop);		  /* of a run */
void nb_step_stop_free(struct stop *stop);
/* Whether system k, which has this state before step number step of its run, is to be tested. */
static inline int nb_step_is_tested(const struct stop *stop, uint64_t step)
{
	return stop->text && step % stop->every == 0;
}
/* Whether it ends so: then this is its state. */
int nb_step_stops(struct step *s, size_t k, double time, const double *x, const double *v);
/* In the frame, those that have ended are where they were then, as a last kick is that of all bodies. */
void nb_step_stop_hold(struct step *s);
void nb_step_stop_report(const struct step *s); /* after -v */

/* ---- few.c: integrators that make several steps of a few bodies at a time ---- */
void nb_step_few_check(const struct step *s); /* of the options */
/* Before the first force of a run, which drops what of their states the frame has. */
void nb_step_few_keep(struct step *s);
void nb_step_few_free(struct step *s);
/* In the first state of a run, whose force has been computed by the pipeline or came with the input. */
void nb_step_few_begin(struct step *s, int computed);
/* Makes up to most steps, with the force in the last state.  *dt and *exact are of the first step (nb_step_plan), and
 * of the last one then.  Returns how many. */
uint64_t nb_step_few(struct step *s, uint64_t most, double *dt, double *exact);

/* ---- shown.c: their states in frames ---- */
/* The force of the frame must be that of the bodies, with the softening that the integrator can have. */
void nb_step_few_require(struct step *s);
/* The frame gets the state that systems have (x, v), and the force in it; dt: of the step that made it, 0: each system
 * has its own. */
void nb_step_few_show(struct step *s, double dt);

/* ---- extras.c: forces of nb-extra beside gravity, in their states ---- */
const char *nb_step_few_name(const struct step *s); /* of the integrator */
/* Ends the tool: the integrator cannot have what is in the frame. */
_Noreturn void nb_step_few_refuse(struct step *s, const char *what, const char *want);

struct extras {
	int known; /* the first state of the run has been looked at: */
	size_t n, room;
	struct nb_extra *list; /* different ones; 0: none */
	uint32_t *of;	       /* each system: which of these */
};

/* In a state that the frame has; ends the tool if they are not those of the first state of the run. */
void nb_step_extras_find(struct step *s);
/* Before a run. */
void nb_step_extras_free(struct extras *e);
/* Of system k; NULL: none. */
const struct nb_extra *nb_step_extra(const struct step *s, size_t k);

/* ---- whfast.c: a star and planets; called by few.c ---- */
enum { NB_FAILED_UNSEEN = 2 };
struct planets {
	struct nb_whfast *map; /* of each system, for steps ... */
	double h;
	unsigned char *failed; /* each: cannot be followed; NB_FAILED_UNSEEN: since the state of the frame */
	const struct nb_backend
		*device; /* that makes the steps of many systems, of ias15, too; NULL: the processor does */
	struct nb_whfast_swarm *swarm; /* there; NULL: not begun */
	uint64_t *steps;	       /* of each */
	uint64_t unseen;	       /* so many the device has made since the state of the frame */
	double shown;		       /* the time of that state */
	int started;		       /* they have the state of this run */
	int warned;		       /* of the order of the bodies: reported; */
	int met;		       /* of an encounter */
	double *q, *v, dt;	       /* of the maps that the first frame had, for steps dt; NULL: it had none */
};

/* Before the first force of a run with whfast, which drops it: the state of the map in the frame, if there is one. */
void nb_step_whfast_keep(struct step *s);
void nb_step_whfast_forget(struct step *s); /* that it is one: it has another integrator */
void nb_step_whfast_begin(struct step *s);
void nb_step_whfast_free(struct planets *p);
uint64_t nb_step_whfast(struct step *s, uint64_t most, double *dt, double *exact);
/* Before somebody looks at the frame: it gets the state that a device has come to. */
void nb_step_whfast_look(struct step *s);

/* ---- unfit.c: warnings of what the map is not made for: orbits at the beginning, and since step begun ---- */
void nb_step_whfast_warn_at_first(struct step *s);
void nb_step_whfast_warn_of_encounter(struct step *s, uint64_t begun);

/* ---- swarm.c: many systems on a device; called by systems.c, ias15.c and, except the first three, for whfast ---- */
void nb_step_require_device(const struct step *s, int status); /* what s->planets.device has answered */
void nb_step_ias15_free(struct step *s);		       /* what the systems of ias15 have, there and here */
void nb_step_swarm_choose(struct step *s); /* once systems are found: whether a device makes their steps */
void nb_step_swarm_begin(struct step *s);  /* with the states of the maps */
/* Returns whether systems have failed in these steps. */
int nb_step_swarm_move(struct step *s, uint64_t steps);
void nb_step_swarm_fetch(struct step *s); /* to the maps, with failed and closest, and variations */
void nb_step_swarm_free(struct planets *p);

/* ---- ias15.c: ias15 and ar, which find their steps; called by few.c ---- */
struct fifteen_of {
	int is_ar;
	union {
		struct nb_ias15 fifteen;
		struct nb_ar ar;
	};
	struct moment begun, ended; /* the last step */
	uint64_t made, all;	    /* steps on the way to this state, and since the beginning */
	int there;		    /* it has come to the time of this state; */
	const char *lost;	    /* it never will */
};
struct fifteen {
	struct fifteen_of *of; /* each system */
	int within;	       /* the state of one is not that at the end of its step */
	/* of many on a device (s->planets.device); NULL: the processor has them */
	struct nb_ias15_swarm *swarm;
	struct nb_ias15_ended *ended; /* each system; */
	double *mark, *x, *v;	      /* times asked for; positions and velocities, bodies of a system together */
};

void nb_step_ias15_begin(struct step *s);
/* *exact: the time of a state that is wanted, NaN: there is none; NaN if this is not reached.  After the last step
 * (most is 0) the rest of such states, and then the one at its end.
 * Many systems all come to *exact, unless a signal ends that: then nothing has changed. */
uint64_t nb_step_ias15(struct step *s, uint64_t most, double *exact);

/* ---- fifteen.c ---- */
/* Length of the last step, 0: none has been made. */
double nb_step_fifteen_last(const struct fifteen_of *of);
/* How far its end lies behind a moment. */
double nb_step_fifteen_ahead(const struct fifteen_of *of, const struct moment *now);
/* Positions and velocities at a moment in it. */
NB_MUST_CHECK int nb_step_fifteen_at(const struct fifteen_of *of, const struct moment *now, double *x, double *v);

/* ---- restart.c: from which ias15, ar and trace go on ---- */
struct restart {
	double *numbers; /* column of the first frame; NULL: there is none */
	size_t width;	 /* for a body */
};

void nb_step_restart_check(const struct step *s); /* of the options */
/* Whether frames go on with --restartable alone. */
int nb_step_restart_needed(const struct step *s);
/* Before the first force of a run, which drops it. */
void nb_step_restart_keep(struct step *s);
void nb_step_restart_free(struct restart *r);
/* Whether system k, which has begun a run, goes on with what was kept; with --resume it must.  If not, it has to begin
 * once more. */
int nb_step_restart_take_up(struct step *s, size_t k);
/* The frame gets it, with --restartable. */
void nb_step_restart_mark(struct step *s);

/* ---- resume.c: a saved stream ---- */

struct saved {
	int file;	      /* descriptor of the saved stream; -1: none, or it has been read */
	int resumed;	      /* the first state is one of a saved stream, and is not written again */
	uint64_t step;	      /* that of this state */
	uint64_t before_step; /* that of the state before it in the stream; the same: there is none of this run */
	double time, before_time;
};

void nb_step_check_saved(const struct step *s); /* that --output does not take its place */
void nb_step_open_saved(struct step *s);
/* Reads its last whole frame and finds out with which step its run began. */
void nb_step_read_saved(struct step *s, struct nb_frame *frame);
/* What a run counts from; one that goes on with steps of another length warns. */
void nb_step_begin_count(struct step *s);
void nb_step_warn_if_over(const struct step *s); /* after a run that has found nothing to do */
/* After a signal, where the run writes into a file. */
void nb_step_say_how_to_go_on(const struct step *s, int interrupted);

/* ---- megno.c ---- */
/* With --megno, of the options, and room for a run whose first state is known. */
void nb_step_megno_check(const struct step *s);
void nb_step_megno_begin(struct step *s);
/* Of whfast, without effect where there is no --megno: system k has the first state of its map, with positions x, or
 * another one, NULL; it is to be loaded for other steps; and those variations that a run before this one has left. */
void nb_step_megno_begin_map(const struct step *s, size_t k, const double *x);
NB_MUST_CHECK int nb_step_megno_change_step(const struct step *s, size_t k);
void nb_step_megno_take_up(struct step *s);
/* The frame gets what --megno found, as attributes, or as columns if it has many systems. */
void nb_step_megno_mark(struct step *s);

/* ---- trace.c: a star and planets that may meet; called by few.c ---- */
struct trace_of {
	struct nb_trace run;
	uint64_t made; /* steps on the way to this state, */
	double ended;  /* the time after these, */
	int status;    /* and that of the next one */
};

void nb_step_trace_begin(struct step *s);
uint64_t nb_step_trace(struct step *s, uint64_t most, double *dt, double *exact);
void nb_step_trace_report(const struct step *s); /* after -v */

/* ---- hermite.c: integrators that correct a step by the force at its end ---- */
/* The first state of a run with --eta gets its time scales, if it has none. */
void nb_step_hermite_begin(struct step *s);
/* Keeps the force at the beginning of a step, before the bodies are moved. */
void nb_step_hermite_keep(struct step *s);
/* Corrects the end of the step dt, where the force has been computed. */
void nb_step_hermite_correct(struct step *s, double dt);
/* The step that --eta allows. */
double nb_step_hermite_dt(struct step *s);

#endif
