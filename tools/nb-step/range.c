/* Bodies of a run that leave the range of numbers. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void nb_step_require_finite(struct step *s, const char *whose)
{
	static const enum nb_field fields[] = {NB_ACC, NB_JERK};
	if (s->spread.domain && isfinite(s->spread.largest))
		return;
	nb_step_spread_fill(s);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		struct nb_column *column = nb_frame_field(s->frame, fields[i]);
		if (!column || (fields[i] == NB_JERK && !s->opt.integrator->needs_jerk))
			continue;
		const size_t bad = nb_column_first_bad(column, NB_BAD_NONFINITE);
		if (bad == SIZE_MAX)
			nb_step_fail_backend(s);
		if (bad < column->rows) {
			nb_step_progress_clear(&s->progress);
			nb_die(NB_EXIT_FAILED,
				"field '%s' of the body with id %" PRIu64 " is not finite in %s %" PRIu64, column->name,
				nb_body_id(s->frame, bad), whose, s->opt.command ? s->clock.step : s->frame->number);
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

void nb_step_require_finite_velocities(struct step *s)
{
	struct nb_column *vel = nb_frame_field(s->frame, NB_VEL);
	const size_t bad = nb_column_first_bad(vel, NB_BAD_NONFINITE);
	if (bad == SIZE_MAX)
		nb_step_fail_backend(s);
	if (bad < vel->rows) {
		nb_step_progress_clear(&s->progress);
		nb_die(NB_EXIT_FAILED,
			"the velocity of the body with id %" PRIu64 " leaves the range of numbers in step %" PRIu64
			" (time step too large?)",
			nb_body_id(s->frame, bad), s->clock.step);
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
		char hint[64] = "";
		if (dt != 0)
			snprintf(hint, sizeof hint, " (time step %g too large?)", dt);
		nb_step_progress_clear(&s->progress);
		nb_die(NB_EXIT_FAILED, "the body with id %" PRIu64 " leaves the range of numbers in step %" PRIu64 "%s",
			nb_body_id(s->frame, bad), step, hint);
	}
	nb_step_spread_empty(s);
}
