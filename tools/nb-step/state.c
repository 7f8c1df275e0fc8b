/* The bodies of a run: attributes, clock and history. */
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- time --------------------------------------------------------------------------------------- */

/* In a periodic box bodies are brought back inside after each drift, by those schemes that are kicks and drifts. */
static void require_box_obeyed(struct step *s)
{
	const char *what = !s->opt.integrator->nstage	       ? "this integrator"
			   : s->opt.collide != COLLIDE_NONE    ? "option '--collide'"
			   : s->opt.levels > 1 && s->opt.whole ? "option '--blocks whole'"
							       : NULL;
	if (what)
		nb_refuse_box(s->frame, what, "the leapfrog in equal steps, or with '--blocks split'");
	nb_require_inside(s->frame, s->backend);
}

void nb_step_load(struct step *s)
{
	const struct nb_frame *frame = s->frame;
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_VEL);
	if (s->opt.collide != COLLIDE_NONE) {
		nb_require_field(frame, NB_MASS);
		if (!nb_frame_field(frame, NB_RADIUS))
			nb_die(NB_EXIT_FAILED,
				"field 'radius' missing in frame %" PRIu64
				" ('--collide' needs it; 'nb-gen --radius' adds it)",
				frame->number);
	}
	if (s->opt.integrator->few)
		nb_require_field(frame, NB_MASS);
	nb_require_valid(frame);
	if (nb_box_of(frame) > 0)
		require_box_obeyed(s);
	nb_step_systems_load(s);
	nb_step_stop_begin(&s->stop);
	s->clock.now.time = nb_require_attribute(frame, "time", 0);
	s->clock.now.rest = nb_require_attribute(frame, "time_rest", 0);
	s->clock.pending = nb_require_attribute(frame, "pending_kick", 0);
	const double step = nb_require_attribute(frame, "step", 0);
	if (!(step >= 0 && step < 0x1p53) || step != floor(step))
		nb_die(NB_EXIT_FAILED, "attribute step='%s' of frame %" PRIu64 " (want an integer >= 0)",
			nb_frame_attribute(frame, "step"), frame->number);
	s->clock.step = (uint64_t)step;
	nb_frame_drop_attribute(s->frame, "first_step");
	nb_frame_drop_field(s->frame, NB_ACTIVE); /* the force on all is wanted */
	if (s->opt.levels == 1)			  /* those of another run */
		nb_frame_drop_field(s->frame, NB_LEVEL);
	nb_step_energy_load(s);
	if (s->opt.command)
		s->force.ids = nb_step_fingerprint(s);
}

struct moment nb_step_later(struct moment begun, double dt)
{
	/* an exact sum of two (Knuth), so that any way of splitting a run gives the same times */
	const double y = dt + begun.rest, t = begun.time + y, part = t - begun.time;
	return (struct moment){.time = t, .rest = (begun.time - (t - part)) + (y - part)};
}

void nb_step_pass(struct step *s, double dt, double exact)
{
	s->clock.now = isfinite(exact) ? (struct moment){.time = exact} : nb_step_later(s->clock.now, dt);
	s->clock.step++;
}

static void set_last(struct step *s, const char *key, double value)
{
	if (nb_frame_set_last_attribute_f64(s->frame, key, value))
		nb_out_of_memory(s->frame);
}

/* Always after the other attributes, so that their order does not tell how a state was reached. */
void nb_step_set_attributes(struct step *s)
{
	set_last(s, "time", s->clock.now.time);
	if (s->clock.now.rest != 0)
		set_last(s, "time_rest", s->clock.now.rest);
	else
		nb_frame_drop_attribute(s->frame, "time_rest");
	if (s->opt.cosmology)
		set_last(s, "redshift", nb_redshift_of(s->clock.now.time));
	set_last(s, "step", (double)s->clock.step);
	if (s->clock.step >= 1000000000000000) { /* which a double would be written with an exponent */
		char text[24];
		snprintf(text, sizeof text, "%" PRIu64, s->clock.step);
		nb_set_attribute(s->frame, "step", text);
	}
	if (s->clock.pending != 0)
		set_last(s, "pending_kick", s->clock.pending);
	else
		nb_frame_drop_attribute(s->frame, "pending_kick");
	if (s->energy.known)
		set_last(s, "etot0", s->energy.first);
	if (s->energy.known && s->opt.cosmology)
		set_last(s, "ekin_da", s->comoving.integral);
	else
		nb_frame_drop_attribute(s->frame, "ekin_da");
}

void nb_step_kick(struct step *s, double dt)
{
	const struct nb_space *space = s->backend->space;
	if (s->spread.domain) {
		nb_step_spread_move(s, dt, 0);
		return;
	}
	double *vel = nb_step_update(s, NB_VEL, space);
	const double *acc = nb_step_read(s, NB_ACC, space);
	nb_step_require(s, s->backend->kick(s->frame->rows[NB_PARTICLE], vel, acc, dt));
}

void nb_step_drift(struct step *s, double dt)
{
	const struct nb_space *space = s->backend->space;
	if (s->spread.domain) {
		nb_step_spread_move(s, 0, dt);
		return;
	}
	const double *vel = nb_step_read(s, NB_VEL, space);
	nb_step_require(s, s->backend->drift(s->frame->rows[NB_PARTICLE], nb_step_update(s, NB_POS, space), vel, dt));
	nb_wrap_positions(s->frame, s->backend);
}

void nb_step_kick_drift(struct step *s, double kick, double drift)
{
	const struct nb_space *space = s->backend->space;
	const double before = s->clock.pending;
	double extent[7];
	s->clock.pending = 0;
	if (s->spread.domain) {
		if (before != 0)
			nb_step_spread_move(s, before, 0);
		nb_step_spread_move(s, kick, drift);
		return;
	}
	const double *acc = nb_step_read(s, NB_ACC, space);
	double *vel = nb_step_update(s, NB_VEL, space), *pos = nb_step_update(s, NB_POS, space);
	nb_step_require(
		s, s->backend->kick_drift(s->frame->rows[NB_PARTICLE], pos, vel, acc, before, kick, drift, extent));
	if (!extent[6])
		nb_frame_note_extent(s->frame, extent);
	nb_wrap_positions(s->frame, s->backend);
	if (!extent[6])
		nb_frame_field(s->frame, NB_POS)->never |= NB_BAD_NONFINITE;
}

void nb_step_finish_kick(struct step *s)
{
	if (s->clock.pending == 0)
		return;
	nb_step_kick(s, s->clock.pending);
	s->clock.pending = 0;
}

/* ---- history ------------------------------------------------------------------------------------ */

void nb_step_keep_history(struct step *s)
{
	nb_frame_clear(&s->past);
	for (size_t i = 0; i < s->frame->nattribute; i++)
		if (strcmp(s->frame->attribute[i].key, "history") == 0 &&
			nb_frame_add_attribute(&s->past, "history", nb_frame_attribute_text(s->frame, i)))
			nb_out_of_memory(s->frame);
	nb_frame_drop_attribute(s->frame, "history");
}

static void describe(struct step *s)
{
	nb_step_systems_note_time(s);
	nb_step_set_attributes(s);
	for (size_t i = 0; i < s->past.nattribute; i++)
		if (nb_frame_add_attribute(s->frame, "history", nb_frame_attribute_text(&s->past, i)))
			nb_out_of_memory(s->frame);
}

void nb_step_output(struct step *s)
{
	nb_step_spread_fill(s);
	describe(s);
	nb_step_require(s, s->backend->finish());
	struct nb_laps *laps = nb_laps_begin(NULL); /* other instances of this thread have their own */
	nb_emit(s->run, s->frame);
	nb_laps_begin(laps);
	nb_frame_drop_attribute(s->frame, "history");
	nb_step_spread_empty(s);
}

void nb_step_leave_frame(struct step *s, int passed_on)
{
	nb_step_spread_end(s);
	nb_step_require_finite_velocities(s);
	describe(s);
	nb_step_require(s, s->backend->finish());
	if (passed_on)
		nb_add_history(s->run, s->frame);
	s->run->passed_on = passed_on;
}
