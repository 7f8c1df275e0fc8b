/* nb-step: integrates the motion of the bodies, with the force pipeline as a co-process or one step a pass. */
#include "tools/nb-step/step.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/files.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct nb_option options[] = {
	{'d', "dt", NB_REAL(struct step, opt.dt), .min = -1e300, .arg = "DT",
		.help = "time step; negative: back in time; with --eta, the largest step"},
	{'k', "steps", NB_U64(struct step, opt.steps), .max = 0x1p53, .arg = "K",
		.fallback = "1, or as many as --until needs",
		.help = "number of steps; 0: only complete a pending kick"},
	{0, "at", NB_TEXT(struct step, opt.at), .arg = "z=LIST",
		.help = "with --cosmology: write the states of these redshifts, the earliest first, and the last; or "
			"of scale factors, a=LIST"},
	{0, "blocks", NB_CHOICE(struct step, opt.blocks_number), .arg = "split|whole",
		.fallback = "split; for hermite whole",
		.help = "with --levels: bodies with shorter steps alone feel each other between those of others, or "
			"all bodies"},
	{0, "collide", NB_CHOICE(struct step, opt.collide), .arg = "none|bounce|elastic|merge|xu", .fallback = "none",
		.help = "what happens when bodies touch; elastic: bounce with --restitution 1"},
	{0, "coordinates", NB_CHOICE(struct step, opt.democratic), .arg = "jacobi|democratic", .fallback = "jacobi",
		.help = "of --integrator whfast; democratic: for orbits that cross, without correctors"},
	{0, "corrector", NB_CHOICE(struct step, opt.corrector_number), .arg = "0|3|5|7|11|17", .fallback = "0",
		.help = "order of the corrector of --integrator whfast"},
	{0, "cosmology", NB_FLAG(struct step, opt.cosmology),
		.help = "steps in the expanding universe of attributes omega0, H0 ...: times are scale factors"},
	{0, "eta", NB_POSITIVE(struct step, opt.eta), .arg = "ETA",
		.help = "adaptive step: ETA sqrt(softening / largest acceleration); with --levels, of each body; "
			"hermite: sqrt(ETA) times the shortest time scale of a force"},
	{0, "every", NB_U64(struct step, opt.every), .max = 0x1p53, .arg = "N", .fallback = "1",
		.help = "interval of snapshots: write frames 0, N, 2N ... and the last; 0: only the last"},
	{0, "every-time", NB_POSITIVE(struct step, opt.every_time), .arg = "T",
		.help = "write the first frame, those whose time is a multiple of T, and the last"},
	{0, "integrator", NB_CHOICE(struct step, opt.integrator_number), .arg = NB_INTEGRATOR_WORDS,
		.fallback = "leapfrog", .help = "integration scheme; taylor and hermite need jerk"},
	{0, "kernel", NB_CHOICE(struct step, opt.lazy), .arg = "standard|lazy", .fallback = "standard",
		.help = "of --integrator whfast: lazy has much smaller errors, for two forces in a step"},
	{0, "levels", NB_INT(struct step, opt.levels), .min = 1, .max = NB_STEP_LEVELS, .arg = "L|max", .fallback = "1",
		.help = "steps of dt, dt/2 ... dt/2^(L-1): each body makes the longest one that --eta allows it; max: "
			"as many as it takes"},
	{0, "megno", NB_FLAG(struct step, opt.megno), .help = "of ias15 and whfast: how fast neighbouring orbits part"},
	{0, "mpi", NB_TEXT(struct step, opt.launcher), .arg = "COMMAND",
		.help = "let processes share the forces that this command of MPI starts: 'mpirun -n 4'", .silent = 1},
	{0, "patience", NB_POSITIVE(struct step, opt.patience), .max = 1e9, .arg = "SECONDS", .fallback = "no limit",
		.help = "end a force pipeline that neither reads nor writes a byte for so long", .silent = 1},
	{0, "restartable", NB_FLAG(struct step, opt.restartable),
		.help = "with --integrator ias15, trace, ar or --megno: frames from which --resume goes on"},
	{0, "restitution", NB_REAL(struct step, opt.restitution), .max = 1, .arg = "E", .fallback = "1",
		.help = "of --collide bounce: speed along the line of centres after a collision over that before"},
	{0, "resume", NB_FILE(struct step, opt.resume), .arg = "FILE",
		.help = "restart: go on from the last whole frame of FILE, a stream that this command has written",
		.silent = 1},
	{0, "send-velocities", NB_FLAG(struct step, opt.send_velocities),
		.help = "let the force pipeline see and change velocities"},
	{0, "steps-in", NB_CHOICE(struct step, opt.steps_in), .arg = "lna|a|t", .fallback = "lna",
		.help = "with --cosmology: -d is of the logarithm of the scale factor, of the scale factor, or of "
			"time"},
	{0, "stop-every", NB_U64(struct step, stop.every), .min = 1, .max = 0x1p53, .arg = "N", .fallback = "1",
		.help = "with --stop-when: test before every Nth step"},
	{0, "stop-when", NB_TEXT(struct step, stop.text), .arg = "CONDITION",
		.help = "a system ends alone where this holds of it, such as 'dmin < 0.01 || rmax > 100'"},
	{0, "until", NB_REAL(struct step, opt.until), .min = -1e300, .arg = "T",
		.help = "stop at the step nearest to time T"},
};

static void check(struct nb_run *run, void *self)
{
	struct step *s = self;
	const int steps_given = nb_given(run, &s->opt.steps), every_given = nb_given(run, &s->opt.every);
	s->run = run;
	s->opt.steps_given = steps_given;
	s->opt.every_given = every_given;
	s->opt.steps_in_given = nb_given(run, &s->opt.steps_in);
	s->opt.dt_given = nb_given(run, &s->opt.dt);
	s->opt.eta_given = nb_given(run, &s->opt.eta);
	s->opt.until_given = nb_given(run, &s->opt.until);
	s->opt.every_time_given = nb_given(run, &s->opt.every_time);
	s->opt.levels_given = nb_given(run, &s->opt.levels);
	s->opt.integrator = nb_integrator_at((size_t)s->opt.integrator_number);
	s->opt.command = run->noperand ? run->operand[0] : NULL;
	run->needs.launcher = s->opt.launcher;
	if (s->opt.command && nb_file_is_stream(s->opt.command))
		nb_die(NB_EXIT_USAGE,
			"'%s' is a particle stream, and the first operand is the force pipeline (want nb-step ... "
			"'nb-force -e 0.01' %s)",
			s->opt.command, s->opt.command);
	if (nb_given(run, &s->opt.restitution) && s->opt.collide != COLLIDE_BOUNCE)
		nb_die(NB_EXIT_USAGE, "option '--restitution' needs '--collide bounce'");
	if (s->opt.dt < 0 && s->opt.restitution < 1)
		nb_die(NB_EXIT_USAGE, "option '--restitution' below 1 with a negative time step (energy that was lost "
				      "does not come back)");
	if (s->opt.dt_given && s->opt.dt == 0)
		nb_die(NB_EXIT_USAGE, "invalid dt '0' (want a finite number other than 0)");
	if (!s->opt.dt_given && !s->opt.eta_given && !s->opt.integrator->has_own_steps &&
		!(steps_given && s->opt.steps == 0) && !(s->opt.cosmology && steps_given && s->opt.until_given))
		nb_die(NB_EXIT_USAGE, "no time step (give -d%s)", s->opt.integrator->few ? "" : " or --eta");
	if (!s->opt.command && (s->opt.until_given || every_given || s->opt.steps > 1))
		nb_die(NB_EXIT_USAGE,
			"option '%s' needs the force pipeline as operand (without it, one step is made from each "
			"frame)",
			s->opt.until_given ? "--until"
			: every_given	   ? "--every"
					   : "--steps");
	const char *word = s->opt.every_time_given	     ? "every-time"
			   : s->opt.launcher		     ? "mpi"
			   : s->opt.resume		     ? "resume"
			   : s->opt.send_velocities	     ? "send-velocities"
			   : nb_given(run, &s->opt.patience) ? "patience"
							     : NULL;
	if (!s->opt.command && word)
		nb_die(NB_EXIT_USAGE, "option '--%s' needs the force pipeline as operand", word);
	if (every_given && s->opt.every_time_given)
		nb_die(NB_EXIT_USAGE, "give either --every or --every-time");
	nb_step_few_check(s);
	nb_step_stop_check(s, nb_given(run, &s->stop.every));
	nb_step_comoving_check(s);
	nb_step_stages_check(s);
	nb_step_blocks_check(s);
	if (s->opt.collide == COLLIDE_XU && !s->opt.integrator->drift)
		nb_die(NB_EXIT_USAGE,
			"'--collide xu' holds bodies for a whole step (want --integrator taylor or euler)");
	if (s->opt.until_given && !steps_given)
		s->opt.steps = UINT64_MAX;
	if (s->opt.resume) {
		nb_step_check_saved(s);
		run->streams = NB_WRITES;
	}
}

/* ---- a run -------------------------------------------------------------------------------------- */

/* Whether the state after k steps of the run is written, be it the last or not. */
static int is_wanted(const struct step *s, uint64_t k, double exact)
{
	if (s->opt.every_time_given)
		return k == 0 || isfinite(exact);
	return (s->opt.at && nb_step_is_at_mark(s)) || (s->opt.every && k % s->opt.every == 0);
}

/* Whether the run ends here, by a signal; a run that does not tell where it began is noted to. */
static int is_interrupted(struct step *s, uint64_t k)
{
	s->run->interrupted = nb_interrupted();
	if (s->run->interrupted && k < s->clock.step && !s->opt.every && !s->opt.every_time_given)
		nb_set_attribute_f64(s->frame, "first_step", (double)s->clock.first_step);
	return s->run->interrupted;
}

/* The first state of a run is never written twice: not again where it is the last of a saved stream. */
static void integrate(struct step *s)
{
	double dt, exact = NAN;
	int written = s->saved.resumed && (s->opt.every || s->opt.every_time_given || s->opt.at);
	nb_laps_begin(nb_verbosity() > 0 ? &s->laps : NULL);
	nb_step_warn_behind(s);
	nb_step_keep_history(s);
	/* not on the first device where each gets a part */
	nb_step_widen(s, nb_step_may_spread(s) ? &nb_space_host : s->backend->space);
	nb_step_blocks_begin(s);
	nb_interrupt_hold(NB_HOLD_NOTHING); /* as long as there is nothing to lose */
	nb_interrupt_end();
	const int missing = nb_step_missing(s) != NULL || s->stop.text;
	nb_step_few_keep(s);
	if (missing)
		nb_step_compute_force(s);
	else
		nb_step_require_finite(s, "step");
	nb_step_finish_kick(s);
	nb_step_hermite_begin(s);
	nb_step_extras_free(&s->extras);
	nb_step_few_begin(s, missing);
	nb_step_energy_begin(s);
	s->small.n = 0;
	s->small_begun = missing;
	if (missing)
		nb_step_small_begin(s);
	nb_interrupt_hold(s->progress.wanted ? NB_HOLD_SHOWN_RUN : NB_HOLD_RUN);
	for (uint64_t k = s->clock.step - s->clock.first_step;; k++) {
		const int wanted = !written && is_wanted(s, k, exact);
		if (wanted)
			nb_step_look(s);
		nb_step_energy_look(s, wanted);
		if (wanted)
			nb_step_output(s);
		written |= wanted;
		if ((k >= s->opt.steps && !s->fifteen.within) || is_interrupted(s, k) || !nb_step_plan(s, &dt, &exact))
			break;
		const struct moment before = s->clock.now;
		k += nb_step_make_steps(s, k, &dt, &exact) - 1;
		/* a signal may have come before anything moved */
		written &= s->clock.now.time == before.time && s->clock.now.rest == before.rest;
		nb_require_alive(s->run);
		nb_step_progress_show(s, k + 1);
	}
	nb_step_look(s);
	nb_step_energy_look(s, 1);
	nb_step_leave_frame(s, written);
	nb_step_progress_clear(&s->progress);
	nb_step_energy_report(&s->energy);
	nb_step_trace_report(s);
	nb_step_stop_report(s);
	nb_laps_begin(NULL);
	if (!s->run->interrupted)
		nb_interrupt_hold(NB_HOLD_INPUT);
}

/* ---- without a force pipeline ------------------------------------------------------------------- */

static void step_once(struct step *s)
{
	const char *missing = s->opt.steps						   ? nb_step_missing(s)
			      : s->clock.pending != 0 && !nb_frame_field(s->frame, NB_ACC) ? "acc"
											   : NULL;
	if (missing)
		nb_die(NB_EXIT_FAILED,
			"field '%s' missing in frame %" PRIu64
			" (put 'nb-force%s' before, or give the force pipeline as operand)",
			missing, s->frame->number, strcmp(missing, "jerk") == 0 ? " --jerk" : "");
	if (s->opt.steps || s->clock.pending != 0) {
		nb_step_widen(s, s->backend->space);
		nb_step_require_finite(s, "frame");
		nb_step_finish_kick(s);
		nb_step_energy_begin(s);
		if (s->opt.steps)
			nb_step_advance(s, nb_step_choose_dt(s));
	}
	nb_step_keep_history(s);
	nb_step_leave_frame(s, 0);
}

/* ---- the tool ----------------------------------------------------------------------------------- */

static void begin(struct nb_run *run, void *self)
{
	struct step *s = self;
	(void)run;
	if (s->opt.resume)
		nb_step_open_saved(s);
	if (s->opt.command)
		nb_step_start_force(s);
	s->start = nb_now();
}

static void step(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct step *s = self;
	s->frame = frame;
	s->backend = run->backend;
	nb_step_load(s);
	nb_step_comoving_load(s);
	nb_step_begin_count(s);
	if (!s->opt.command) {
		step_once(s);
		return;
	}
	s->force.to_come = nb_step_forces(s, frame);
	nb_step_progress_start(s);
	integrate(s);
}

/* With --resume, the only frame there is, unless all of the run has been written. */
static int go_on(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct step *s = self;
	if (s->saved.resumed)
		return 0;
	nb_step_read_saved(s, frame);
	s->saved.resumed = 1;
	run->passed_on = 0;
	step(run, self, frame);
	nb_step_warn_if_over(s);
	return !run->passed_on;
}

static void end(struct nb_run *run, void *self)
{
	struct step *s = self;
	nb_step_say_how_to_go_on(s, run->interrupted);
	if (s->opt.command) {
		nb_step_finish_force(s);
		nb_step_blocks_report(s);
		nb_step_spread_report(s);
		nb_step_laps_report(s);
	}
	if (s->opt.collide != COLLIDE_NONE)
		nb_verbose("%" PRIu64 " %s%s", s->solid.contacts,
			s->opt.collide == COLLIDE_MERGE ? "merger" : "collision", s->solid.contacts == 1 ? "" : "s");
}

static void clear(void *self)
{
	struct step *s = self;
	nb_laps_begin(NULL);
	nb_step_kill_force(&s->force);
	nb_step_spread_free(&s->spread);
	nb_free(s->spread.share);
	nb_free(s->comoving.mark);
	nb_step_forget_sent(&s->force.sent);
	nb_step_free_solid(&s->solid);
	nb_step_blocks_free(&s->blocks);
	if (s->saved.file >= 0)
		close(s->saved.file);
	nb_step_few_free(s);
	nb_step_systems_free(&s->systems);
	nb_step_stop_free(&s->stop);
	nb_frame_clear(&s->here);
	nb_frame_clear(&s->past);
	nb_frame_clear(&s->force.rows);
}

const struct nb_tool nb_tool_step = {
	.name = "nb-step",
	.about = "integrate the motion of the bodies of each frame of a particle stream",
	.operands = "['FORCE PIPELINE' [FILE ...]]",
	.max_operands = 1,
	.files = 1,
	.quoted = "the force pipeline",
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "The force pipeline is a shell command that adds acc to the frames passed through it,\n"
		  "e.g. 'nb-sort-zorder | nb-build-tree | nb-force -t 0.6 -e 0.02'.\n"
		  "Without it, one step is made from each frame, with field acc of that frame.\n",
	.ranks = 1,
	.size = sizeof(struct step),
	.defaults = &(const struct step){.opt = {.steps = 1, .every = 1, .levels = 1, .restitution = 1},
		.saved.file = -1,
		.stop.every = 1},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = step,
	.make = go_on,
	.spread = nb_step_spread,
	.end = end,
	.clear = clear,
	.work = nb_step_work,
};
