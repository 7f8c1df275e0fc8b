/* step.h - an instance of nb-step, for the files of the tool. */
#ifndef NB_STEP_TOOL_H
#define NB_STEP_TOOL_H

#include "common/lap.h"
#include "kernels/small/small.h"
#include "tools/filter/coprocess.h"
#include "tools/filter/plan.h"
#include "tools/nb-step/comoving.h"
#include "tools/nb-step/integrators.h"
#include "tools/nb-step/steps.h"

/* What the command line says, and what follows from it alone; constant after check (step.c). */
enum { BLOCKS_SPLIT, BLOCKS_WHOLE };
enum collide { COLLIDE_NONE, COLLIDE_BOUNCE, COLLIDE_ELASTIC, COLLIDE_MERGE, COLLIDE_XU };
struct options {
	double dt, eta, until, every_time, restitution, patience;
	uint64_t steps, every;
	int integrator_number, collide, send_velocities, levels, blocks_number;
	int corrector_number, democratic, lazy, megno, restartable; /* the first three: of the words of options */
	int levels_given, dt_given, eta_given, until_given, every_time_given, steps_given, every_given, steps_in_given;
	int cosmology, steps_in;
	const char *at;
	int whole; /* with --levels, whole frames go through the force pipeline at all levels */
	const struct nb_integrator *integrator;
	const char *launcher; /* of ranks (launch.h), NULL: none */
	const char *command;  /* the force pipeline, NULL: one step a frame */
	const char *resume;   /* path of the saved stream that goes on, NULL: standard input is read */
};

/* Where the bodies are in time. */
struct clock {
	struct moment now;
	uint64_t step, first_step; /* made so far; and before the run began */
	double pending;		   /* vel lags behind pos by this time */
};

struct step;

/* ---- progress.c ---- */

/* Progress on a terminal. */
struct progress {
	int quiet, wanted, width; /* on a terminal, where so many characters are shown */
	double start, shown;
	double first_time;
};

void nb_step_progress_start(struct step *s);
void nb_step_progress_show(struct step *s, uint64_t done);
/* Before a message, and at the end. */
void nb_step_progress_clear(struct progress *p);

/* ---- laps.c ---- */
void nb_step_laps_report(const struct step *s);

/* ---- energy.c ---- */
/* Errors are relative to the energy of the run's first state. */
enum { NB_LAW_TEXT = 400 };
struct energy {
	int known;    /* there is a first one: */
	double first; /* attribute etot0 */
	double error; /* of the state that was looked at last, in this step; */
	uint64_t step;
	double largest; /* of so many */
	uint64_t looks;
	char law[NB_LAW_TEXT]; /* softening, G and field of the input, of which its etot0 is */
	int other_law;	       /* this run has others: reported */
	double warned;	       /* of this error, 0: not yet */
	double heaviest;       /* mass of a body; 0: not known */
};

/* At the input, before any force. */
void nb_step_energy_load(struct step *s);
/* In the first state, whose velocities belong to its positions: its energy is that of the input, or is computed. */
void nb_step_energy_begin(struct step *s);
/* In a later one: the error, if it is time for a look or one is wanted. */
void nb_step_energy_look(struct step *s, int wanted);
/* How many steps from here the next look is, if none is wanted; UINT64_MAX: never. */
uint64_t nb_step_energy_until_look(const struct step *s);
/* As long as no acceleration is larger, a look in between would find nothing to warn of. */
double nb_step_energy_calm(struct step *s);
void nb_step_energy_report(const struct energy *e); /* after -v */

/* ---- pipeline.c: the force pipeline as a co-process ---- */

struct force {
	struct nb_coprocess *process; /* NULL: not started */
	struct sent {		      /* what went through the pipeline last */
		int keeps;	      /* velocities do not go through it; */
		int tracks;	      /* numbers of rows do */
		struct nb_frame kept; /* vel */
		struct nb_frame ids;  /* id, to be compared; empty for a folded pipeline, or with velocities */
		size_t n, ncolumn;
		char (*name)[NB_NAME_SIZE + 1]; /* of each column */
	} sent;
	struct nb_frame rows;		       /* numbers of rows, for what goes through the pipeline instead of vel */
	uint64_t ids;			       /* fingerprint of the set of ids */
	double seconds, longest_answer, asked; /* asked: how often */
	double to_come;			       /* forces of this frame, where that is known */
	int reported_folding;
};

void nb_step_start_force(struct step *s);
/* Passes the frame through the pipeline; what comes back is the frame from then on. */
void nb_step_compute_force(struct step *s);
void nb_step_finish_force(struct step *s);
void nb_step_forget_sent(struct sent *sent);
/* Ends it, whatever it does. */
void nb_step_kill_force(struct force *force);

/* ---- answer.c: what the force pipeline returns ---- */

/* Says what the pipeline did, as "ended with status 3", and in which step. */
_Noreturn void nb_step_fail_force(struct step *s, const char *what);
/* The frame must be the one that was sent (force.sent), with a force added, its bodies in any order. */
void nb_step_check_answer(struct step *s);
/* Body i must have the id of the one that was sent as number row[i]. */
void nb_step_check_ids(struct step *s, const uint32_t *row);
/* Numbers must be as those of the input: finite, masses and radii not negative. */
void nb_step_check_numbers(struct step *s);

/* ---- solid.c: bodies with a radius ---- */

struct solid {
	double *velocities;	   /* of a step: of the drift, and at the end */
	uint32_t *keep;		   /* rows of those that mergers leave */
	struct nb_merger *mergers; /* in the step, for -v */
	uint64_t contacts;	   /* collisions or mergers of the run */
	int warned_limited;
};

/* One step of solid bodies, short of what needs the force at the new positions. */
void nb_step_advance_solid(struct step *s, double dt);
void nb_step_free_solid(struct solid *solid);

/* ---- wishes.c: who makes which block time step ---- */

/* What sets the block time steps of the leapfrog in a frame, on the host. */
struct wish {
	double eta, eps, depth;
	double total, pull;			  /* mass of all bodies; G times it */
	double mean;				  /* |pot|, of whole frames; else 0 */
	const double *acc, *pot, *own_eps, *mass; /* NULL: there is none */
	const double *field;			  /* what of pot is of an external field, or NULL */
};

struct wish nb_step_find_wish(struct step *s);
/* Whether eta sqrt(eps / f), or eta sqrt(|pot|) / f of a body without softening, is less than h > 0, where f is the
 * strength of the field: 1, or 0; 2 if there is neither. */
int nb_step_wants_less(const struct wish *w, size_t i, double h);
_Noreturn void nb_step_refuse_wish(struct step *s); /* of a body of the last kind */
/* Of the frame at work, to blocks.mean. */
void nb_step_find_mean(struct step *s);
/* How many bodies of the frame at work leave the step h of this level for a shorter one; blocks.mark says which. */
size_t nb_step_choose_fast(struct step *s, int level, double h);

/* ---- blocks.c: block time steps ---- */

enum { NB_STEP_LEVELS = 53 }; /* so many have times that a double counts in the shortest step */
struct blocks {
	struct sub {				/* those that are open, one a level */
		struct nb_frame frame;		/* bodies with a shorter step */
		struct nb_frame origin;		/* one column: where they are in ... */
		struct nb_frame *whole, *aside; /* ... the frame that they are of; and step.aside of that */
	} sub[NB_STEP_LEVELS];
	/* Of each body of the frame at work, whether it gets a shorter step; of whole frames, ends one. */
	unsigned char *mark;
	uint32_t *other;     /* of whole frames with hermite, in a binary: the other body; else the body itself */
	struct moment begun; /* the step of all bodies */
	int deepest, most;   /* level of the step that is made; of the run */
	double sent, whole;  /* bodies through the pipeline; if all made the shortest step of each step */
	double last, hasty;  /* steps of the last level; those that should be shorter: */
	int warned;	     /* reported */
	double unit;	     /* of steps in whole frames: the shortest one that there may be */
	double mean;	     /* |pot| of all bodies when the step of all began */
};

void nb_step_blocks_check(struct step *s); /* of the options */
/* The first state of a run has levels, too: 0. */
void nb_step_blocks_begin(struct step *s);
/* One step of all bodies, short of the last kick, which needs the force at the new positions. */
void nb_step_advance_blocks(struct step *s, double dt);
/* Bodies that want a shorter step than the last level has are reported once. */
void nb_step_blocks_warn(struct step *s);
/* The level of all bodies of the frame, until those of a sub-frame come back with theirs. */
void nb_step_set_level(struct step *s, int level);
void nb_step_blocks_report(const struct step *s); /* after -v */
void nb_step_blocks_free(struct blocks *b);

/* ---- level.c: levels of steps with whole frames ---- */

/* Length of the steps of a level. */
double nb_step_level_length(const struct step *s, int level);
/* The longest step for a body with this time scale (units) and, if it is in a binary, the rate at which that changes:
 * in the middle of the step it shall fit, and a bit more is tried, as a step that proves too long is taken back. */
int nb_step_level_is_too_long(const struct step *s, int level, double scale, double rate);
/* For a body whose step ends, or with now = 0 begins.  Steps become longer one level at a time, and where both halves
 * of the longer one belong together. */
int nb_step_choose_level(struct step *s, int level, double scale, double rate, double now);
/* The longest one that the leapfrog may begin now. */
int nb_step_choose_level_by_field(struct step *s, const struct wish *w, size_t i, double now);

/* ---- individual.c: the same with whole frames, for hermite and the leapfrog ---- */

/* One step of all bodies, short of the force at its end. */
void nb_step_advance_individual(struct step *s, double dt);
/* After that force. */
void nb_step_end_individual(struct step *s);

/* ---- spread.c: bodies that stay with several ranks; functions do nothing where they do not ---- */

struct spread {
	struct nb_domain *domain; /* NULL: the frame has its bodies */
	int refused;		  /* they stay in this frame */
	size_t n, ncolumn, rest_size;
	struct {
		char name[NB_NAME_SIZE + 1];
		size_t size;
	} * column;	/* that go with a body beside its numbers */
	double largest; /* |acc|; not finite if one is not */
	int finite;	/* all positions are */
	size_t forces;
	int device;  /* they are in the memory of devices */
	int several; /* ranks, or devices of this process */
	struct nb_domain_usage *share;
	struct nb_domain_tally most;
};

/* As far as the steps tell, and not the force pipeline, the bodies of the frame will be spread. */
int nb_step_may_spread(const struct step *s);
/* Before a force of the frame: where that is possible each rank gets a part of the bodies, and the frame has none. */
void nb_step_spread_begin(struct step *s);
/* The hook spread (tools/filter/filter.h). */
const char *nb_step_spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law);
/* The frame has its bodies again, as long as it is looked at; and has none again. */
void nb_step_spread_fill(struct step *s);
void nb_step_spread_empty(struct step *s);
/* The frame has them for good. */
void nb_step_spread_end(struct step *s);
void nb_step_spread_free(struct spread *spread);
/* Where they are spread: vel += acc kick, pos += vel drift; the forces: 0 if the frame has the bodies again, whose
 * forces are still to be computed. */
void nb_step_spread_move(struct step *s, double kick, double drift);
int nb_step_spread_force(struct step *s);
void nb_step_spread_report(const struct step *s); /* after -v */

/* An instance.  The last fourteen belong to the files in whose sections they are declared. */
struct step {
	struct options opt;
	struct nb_run *run;
	const struct nb_backend *backend;
	struct nb_frame *frame; /* the bodies ... */
	struct clock clock;	/* ... and their time */
	struct nb_frame past;	/* history lines of the input; the pipeline's own are not kept */
	struct nb_frame here;	/* what bodies have, while the force is that at other positions */
	struct nb_frame *aside; /* columns of the bodies that stay here, too; NULL: none */
	double start;		/* of the run, for -v, */
	struct nb_laps laps;	/* and where its time goes */
	struct saved saved;
	struct force force;
	struct solid solid;
	struct blocks blocks;
	struct energy energy;
	struct progress progress;
	struct spread spread;
	struct nb_small small; /* n is 0: not used, */
	int small_begun;       /* or whether it is is not known before the pipeline has returned the frame of the run */
	struct systems systems;
	struct stop stop;
	struct planets planets;
	struct fifteen fifteen;
	struct trace_of *trace; /* each system */
	struct restart restart;
	struct extras extras;
	struct comoving comoving;
};

/* ---- state.c: the bodies and where they are in time ---- */

/* Reads the attributes of the frame, and checks what the options need. */
void nb_step_load(struct step *s);
void nb_step_set_attributes(struct step *s);
void nb_step_keep_history(struct step *s);
/* Passes the frame on as it is now, with the history of the input and this tool's line. */
void nb_step_output(struct step *s);
/* The frame as it shall be after the last step, for the skeleton to pass on unless nb_step_output has done so. */
void nb_step_leave_frame(struct step *s, int passed_on);
/* The time dt after begun. */
struct moment nb_step_later(struct moment begun, double dt);
/* The clock passes a step that ends by rule at the time exact (nb_step_plan). */
void nb_step_pass(struct step *s, double dt, double exact);
/* Kicks all bodies of the frame at work with its accelerations; moves them with their velocities; makes the pending
 * kick, one more, and a drift; makes the pending kick, which brings the velocities to the time of the positions. */
void nb_step_kick(struct step *s, double dt);
void nb_step_drift(struct step *s, double dt);
void nb_step_kick_drift(struct step *s, double kick, double drift);
void nb_step_finish_kick(struct step *s);

/* ---- range.c: bodies that leave the range of numbers ---- */

/* A body whose acceleration (or jerk, if it is needed) is not finite ends the tool. */
void nb_step_require_finite(struct step *s, const char *whose);
/* Largest |acc|; a body whose acceleration (or jerk) is not finite ends the tool. */
double nb_step_largest_acc(struct step *s, const char *whose);
/* A body whose position is not finite after step number step, dt (0: steps of several lengths), ends the tool. */
void nb_step_require_in_range(struct step *s, uint64_t step, double dt);
/* After the last kick nobody else would notice a velocity that overflows: it throws the body out of range in the next
 * step. */
void nb_step_require_finite_velocities(struct step *s);

/* ---- columns.c ---- */

/* A column of the frame, to be freed; NULL: there is none of f64 with so many components. */
double *nb_step_keep(const struct step *s, const char *name, uint32_t ncomp);
/* All fields that follow from positions, whether or not their writer flagged them so. */
void nb_step_drop_stale(struct step *s);
/* Steps are small against positions: what they change is kept in f64 whatever the width of the input. */
void nb_step_widen(struct step *s, const struct nb_space *space);
/* Sum of a hash of each id: independent of the order; other ids almost never give the same sum.  0 without ids. */
uint64_t nb_step_fingerprint(const struct step *s);
/* Contents of a field as f64 where the backend computes, to read, or to change. */
const double *nb_step_read(const struct step *s, enum nb_field field, const struct nb_space *space);
double *nb_step_update(const struct step *s, enum nb_field field, const struct nb_space *space);
/* Ends the tool if a kernel failed. */
void nb_step_require(const struct step *s, int status);
/* Ends the tool after a look for a failed kernel, where memory is exhausted or the device does not answer. */
_Noreturn void nb_step_fail_backend(struct step *s);
/* The first field that the integrator needs and the frame does not have, or NULL. */
const char *nb_step_missing(const struct step *s);

/* ---- work.c: what a run costs, for -b auto ---- */
void nb_step_work(struct nb_run *run, void *self, struct nb_plan *plan);
/* How many times the force pipeline is still asked. */
double nb_step_forces(const struct step *s, const struct nb_frame *frame);

#endif
