/* What the force pipeline returns: the frame that was sent, with a force added.  Programs that are folded are those of
 * this build, which change neither ids nor any column of bodies except velocities; what others return is read as
 * carefully as the input. */
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <string.h>

enum { PARALLEL = 100000 /* numbers: fewer are not worth starting threads */ };

void nb_step_fail_force(struct step *s, const char *what)
{
	nb_step_progress_clear(&s->progress);
	if (s->force.process->gave_up == NB_GAVE_UP_HASTILY)
		nb_interrupt_end();
	nb_die(NB_EXIT_FAILED, "force pipeline '%s' %s in step %" PRIu64, s->opt.command, what, s->clock.step);
}

static int is_folded(const struct step *s)
{
	return nb_coprocess_is_folded(s->force.process);
}

/* ---- columns ------------------------------------------------------------------------------------ */

static void require_same_step(struct step *s)
{
	char what[160];
	double step;
	if (nb_frame_attribute_f64(s->frame, "step", -1, &step) || step != (double)s->clock.step) {
		const char *tag = nb_frame_attribute(s->frame, "step");
		snprintf(what, sizeof what, "returned a frame of step %.20s", tag ? tag : "none");
		nb_step_fail_force(s, what);
	}
	if (s->frame->rows[NB_PARTICLE] != s->force.sent.n) {
		snprintf(what, sizeof what, "returned %" PRIu64 " bodies instead of %zu", s->frame->rows[NB_PARTICLE],
			s->force.sent.n);
		nb_step_fail_force(s, what);
	}
}

/* "nb-step -d 0.1 nb-sort-zorder | nb-force": the shell leaves one word of the pipeline. */
static int is_cut_off(const struct step *s)
{
	return nb_tool_find(s->opt.command) != NULL && strcmp(s->opt.command, "nb-force") != 0;
}

static void require_columns(struct step *s)
{
	char what[160];
	const struct sent *sent = &s->force.sent;
	const char *missing = nb_step_missing(s);
	for (size_t i = 0; i < sent->ncolumn && !missing; i++)
		if (!nb_frame_find(s->frame, sent->name[i]))
			missing = sent->name[i];
	if (missing) {
		const int jerk = strcmp(missing, "jerk") == 0;
		const char *hint = jerk && nb_frame_attribute(s->frame, "extra")
					   ? " (nb-extra adds none to jerks: want --integrator ias15, or chin for "
					     "forces without v)"
				   : jerk	   ? " (want nb-force --jerk, or nb-field --alone --jerk)"
				   : is_cut_off(s) ? " (is the whole pipeline quoted?)"
						   : "";
		snprintf(what, sizeof what, "returned no field '%s'%s", missing, hint);
		nb_step_fail_force(s, what);
	}
}

/* Of the columns that nb-step computes with. */
static void require_types(struct step *s)
{
	static const enum nb_field fields[] = {NB_POS, NB_VEL, NB_ACC, NB_JERK, NB_MASS, NB_RADIUS, NB_ID};
	char what[160];
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct nb_column *column = nb_frame_field(s->frame, fields[i]);
		if (column && !nb_dtype_is_number(column->dtype)) {
			snprintf(what, sizeof what, "returned field '%s' of type '%s', which no tool reads",
				column->name, column->dtype);
			nb_step_fail_force(s, what);
		}
	}
}

void nb_step_check_answer(struct step *s)
{
	require_same_step(s);
	require_columns(s);
	require_types(s);
	/* with numbers of rows, ids are compared one by one */
	if (!s->force.sent.ids.ncolumn && !is_folded(s) && nb_frame_field(s->frame, NB_ID) &&
		nb_step_fingerprint(s) != s->force.ids)
		nb_step_fail_force(s, "returned other ids than it was given");
}

/* ---- contents ----------------------------------------------------------------------------------- */

void nb_step_check_ids(struct step *s, const uint32_t *row)
{
	const size_t n = s->force.sent.n;
	if (!s->force.sent.ids.ncolumn)
		return;
	const uint64_t *sent = nb_require_ids(&s->force.sent.ids, &nb_space_host);
	const uint64_t *id = nb_require_ids(s->frame, &nb_space_host);
	size_t others = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : others) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		others += id[i] != sent[row[i]];
	if (others)
		nb_step_fail_force(s, "returned other ids than it was given");
}

/* What must not be in a column that came back. */
static unsigned bad_of(const struct step *s, int field)
{
	const unsigned traits = nb_field_info[field].traits;
	if (traits & NB_FINITE_RESULT)
		return NB_BAD_NONFINITE;
	return is_folded(s) || (field == NB_VEL && s->force.sent.keeps) ? 0 : nb_bad_by_traits(traits);
}

void nb_step_check_numbers(struct step *s)
{
	char bad[NB_BAD_TEXT], what[NB_BAD_TEXT + 80];
	const char *want;
	nb_step_require_finite(s, "step"); /* says less of whom it has that from, which may be a time step too large */
	for (int f = 0; f < NB_NFIELD; f++) {
		const unsigned kinds = bad_of(s, f);
		struct nb_column *column = kinds ? nb_frame_field(s->frame, (enum nb_field)f) : NULL;
		if (!column || !nb_find_bad(s->frame, column, kinds, bad, &want))
			continue;
		snprintf(what, sizeof what, "returned a bad frame: %s%s", bad, want);
		nb_step_fail_force(s, what);
	}
}
