/* The bodies of a run: columns, attributes, clock and history. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- columns ------------------------------------------------------------------------------------ */

const double *nb_step_read(const struct step *s, enum nb_field field, const struct nb_space *space)
{
	const double *data = nb_column_read(nb_frame_field(s->frame, field), space, NB_AS_F64);
	if (!data)
		nb_out_of_memory(s->frame);
	return data;
}

double *nb_step_update(const struct step *s, enum nb_field field, const struct nb_space *space)
{
	double *data = nb_column_update(nb_frame_field(s->frame, field), space, NB_AS_F64);
	if (!data)
		nb_out_of_memory(s->frame);
	return data;
}

void nb_step_require(const struct step *s, int status)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "backend %s failed in step %" PRIu64 ": %s", s->backend->name, s->step,
			nb_backend_error(s->backend, status));
}

/* Memory is exhausted, or a kernel failed that was only queued. */
_Noreturn void nb_step_fail_backend(struct step *s)
{
	nb_step_require(s, s->backend->finish());
	nb_out_of_memory(s->frame);
}

static void widen(struct step *s, enum nb_field field)
{
	const struct nb_space *space = s->backend->space;
	struct nb_column *column = nb_require_field(s->frame, field);
	if (strcmp(column->dtype, "<f8") == 0)
		return;
	const size_t bytes = column->rows * column->ncomp * sizeof(double);
	const double *narrow = nb_column_read(column, space, NB_AS_F64);
	void *wide = narrow ? space->alloc(space, bytes) : NULL;
	if (!wide)
		nb_out_of_memory(s->frame);
	nb_step_require(s, space->copy(space, wide, narrow, bytes));
	char unit[NB_UNIT_SIZE + 1];
	strcpy(unit, column->unit);
	column = nb_frame_add(
		s->frame, nb_field_info[field].name, column->table, "<f8", column->ncomp, unit, column->flags);
	if (!column)
		nb_out_of_memory(s->frame);
	nb_column_adopt(column, space, wide);
}

void nb_step_widen(struct step *s)
{
	widen(s, NB_POS);
	widen(s, NB_VEL);
	if (s->collide == COLLIDE_MERGE) {
		widen(s, NB_MASS);
		widen(s, NB_RADIUS);
		if (!nb_frame_field(s->frame, NB_SPIN)) {
			double *spin = nb_new_f64(s->frame, NB_SPIN, "<f8", &nb_space_host);
			memset(spin, 0, 3 * s->frame->rows[NB_PARTICLE] * sizeof *spin);
		}
		widen(s, NB_SPIN);
	}
}

uint64_t nb_step_fingerprint(const struct step *s)
{
	const uint64_t *id = nb_require_ids(s->frame, s->backend->space);
	uint64_t sum = 0;
	if (id)
		nb_step_require(s, s->backend->ids_sum(s->frame->rows[NB_PARTICLE], id, &sum));
	return sum;
}

void nb_step_drop_stale(struct step *s)
{
	static const enum nb_field fields[] = {NB_ACC, NB_POT, NB_POT_FIELD, NB_JERK, NB_KEY, NB_TIMESCALE};
	nb_frame_drop_derived(s->frame);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		nb_frame_drop_field(s->frame, fields[i]);
}

const char *nb_step_missing(const struct step *s)
{
	if (!nb_frame_field(s->frame, NB_ACC))
		return "acc";
	return s->integrator->needs_jerk && !nb_frame_field(s->frame, NB_JERK) ? "jerk" : NULL;
}

void nb_step_require_finite(struct step *s, const char *whose)
{
	static const enum nb_field fields[] = {NB_ACC, NB_JERK};
	if (s->spread.domain && isfinite(s->spread.largest))
		return;
	nb_step_spread_fill(s);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		struct nb_column *column = nb_frame_field(s->frame, fields[i]);
		if (!column || (fields[i] == NB_JERK && !s->integrator->needs_jerk))
			continue;
		const size_t bad = nb_column_first_bad(column, NB_BAD_NONFINITE);
		if (bad == SIZE_MAX)
			nb_step_fail_backend(s);
		if (bad < column->rows) {
			nb_step_progress_clear(s);
			nb_die(NB_EXIT_FAILED,
				"field '%s' of the body with id %" PRIu64 " is not finite in %s %" PRIu64, column->name,
				nb_body_id(s->frame, bad), whose, s->command ? s->step : s->frame->number);
		}
	}
	nb_step_spread_empty(s);
}

double nb_step_largest_acc(struct step *s, const char *whose)
{
	const double *acc = nb_step_read(s, NB_ACC, s->backend->space);
	double largest;
	nb_step_require_finite(s, whose);
	if (s->spread.domain)
		return s->spread.largest;
	nb_step_require(s, s->backend->largest_acc(s->frame->rows[NB_PARTICLE], acc, &largest));
	return largest;
}

/* After the last kick nobody else would notice: velocities that overflow throw bodies out of range in the next step. */
static void require_finite_velocities(struct step *s)
{
	struct nb_column *vel = nb_frame_field(s->frame, NB_VEL);
	const size_t bad = nb_column_first_bad(vel, NB_BAD_NONFINITE);
	if (bad == SIZE_MAX)
		nb_step_fail_backend(s);
	if (bad < vel->rows) {
		nb_step_progress_clear(s);
		nb_die(NB_EXIT_FAILED,
			"the velocity of the body with id %" PRIu64 " leaves the range of numbers in step %" PRIu64
			" (time step too large?)",
			nb_body_id(s->frame, bad), s->step);
	}
}

void nb_step_require_in_range(struct step *s, uint64_t step, double dt)
{
	if (s->spread.domain && s->spread.finite)
		return;
	nb_step_spread_fill(s);
	const size_t bad = nb_column_first_bad(nb_frame_field(s->frame, NB_POS), NB_BAD_NONFINITE);
	if (bad == SIZE_MAX)
		nb_step_fail_backend(s);
	if (bad < s->frame->rows[NB_PARTICLE]) {
		nb_step_progress_clear(s);
		nb_die(NB_EXIT_FAILED,
			"the body with id %" PRIu64 " leaves the range of numbers in step %" PRIu64
			" (time step %g too large?)",
			nb_body_id(s->frame, bad), step, dt);
	}
	nb_step_spread_empty(s);
}

/* ---- time --------------------------------------------------------------------------------------- */

void nb_step_load(struct step *s)
{
	const struct nb_frame *frame = s->frame;
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_VEL);
	if (s->collide != COLLIDE_NONE) {
		nb_require_field(frame, NB_MASS);
		if (!nb_frame_field(frame, NB_RADIUS))
			nb_die(NB_EXIT_FAILED,
				"field 'radius' missing in frame %" PRIu64
				" ('--collide' needs it; 'nb-gen --radius' adds it)",
				frame->number);
	}
	nb_require_valid(frame);
	s->time = nb_require_attribute(frame, "time", 0);
	s->time_rest = nb_require_attribute(frame, "time_rest", 0);
	s->pending = nb_require_attribute(frame, "pending_kick", 0);
	const double step = nb_require_attribute(frame, "step", 0);
	if (!(step >= 0 && step < 0x1p53) || step != floor(step))
		nb_die(NB_EXIT_FAILED, "attribute step='%s' of frame %" PRIu64 " (want an integer >= 0)",
			nb_frame_attribute(frame, "step"), frame->number);
	s->step = (uint64_t)step;
	nb_frame_drop_attribute(s->frame, "first_step");
	nb_frame_drop_field(s->frame, NB_ACTIVE); /* the force on all is wanted */
	if (s->levels == 1)			  /* those of another run */
		nb_frame_drop_field(s->frame, NB_LEVEL);
	nb_step_energy_load(s);
	if (s->command)
		s->ids = nb_step_fingerprint(s);
}

void nb_step_set_clock(struct step *s, double time, double rest, double dt)
{
	/* an exact sum of two (Knuth), so that any way of splitting a run gives the same times */
	const double y = dt + rest, t = time + y, part = t - time;
	s->time_rest = (time - (t - part)) + (y - part);
	s->time = t;
}

void nb_step_advance_clock(struct step *s, double dt)
{
	nb_step_set_clock(s, s->time, s->time_rest, dt);
	s->step++;
}

static void set_last(struct step *s, const char *key, double value)
{
	if (nb_frame_set_last_attribute_f64(s->frame, key, value))
		nb_out_of_memory(s->frame);
}

/* Always after the other attributes, so that their order does not tell how a state was reached. */
void nb_step_set_attributes(struct step *s)
{
	set_last(s, "time", s->time);
	if (s->time_rest != 0)
		set_last(s, "time_rest", s->time_rest);
	else
		nb_frame_drop_attribute(s->frame, "time_rest");
	set_last(s, "step", (double)s->step);
	if (s->step >= 1000000000000000) { /* which a double would be written with an exponent */
		char text[24];
		snprintf(text, sizeof text, "%" PRIu64, s->step);
		nb_set_attribute(s->frame, "step", text);
	}
	if (s->pending != 0)
		set_last(s, "pending_kick", s->pending);
	else
		nb_frame_drop_attribute(s->frame, "pending_kick");
	if (s->energy.known)
		set_last(s, "etot0", s->energy.first);
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
}

void nb_step_finish_kick(struct step *s)
{
	if (s->pending == 0)
		return;
	nb_step_kick(s, s->pending);
	s->pending = 0;
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
	nb_emit(s->run, s->frame);
	nb_frame_drop_attribute(s->frame, "history");
	nb_step_spread_empty(s);
}

void nb_step_leave_frame(struct step *s, int passed_on)
{
	nb_step_spread_end(s);
	require_finite_velocities(s);
	describe(s);
	nb_step_require(s, s->backend->finish());
	if (passed_on)
		nb_add_history(s->run, s->frame);
	s->run->passed_on = passed_on;
}
