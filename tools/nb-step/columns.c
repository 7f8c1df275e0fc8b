/* The columns of the bodies of a run. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <string.h>

const double *nb_step_read(const struct step *s, enum nb_field field, const struct nb_space *space)
{
	return nb_require_memory(s->frame, nb_column_read(nb_frame_field(s->frame, field), space, NB_AS_F64));
}

double *nb_step_update(const struct step *s, enum nb_field field, const struct nb_space *space)
{
	return nb_require_memory(s->frame, nb_column_update(nb_frame_field(s->frame, field), space, NB_AS_F64));
}

void nb_step_require(const struct step *s, int status)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "backend %s failed in step %" PRIu64 ": %s", s->backend->name, s->clock.step,
			nb_backend_error(s->backend, status));
}

/* Memory is exhausted, or a kernel failed that was only queued. */
_Noreturn void nb_step_fail_backend(struct step *s)
{
	nb_step_require(s, s->backend->finish());
	nb_out_of_memory(s->frame);
}

static void widen(struct step *s, enum nb_field field, const struct nb_space *space)
{
	struct nb_column *column = nb_require_field(s->frame, field);
	if (strcmp(column->dtype, "<f8") == 0)
		return;
	const size_t bytes = column->rows * column->ncomp * sizeof(double);
	const double *narrow = nb_column_read(column, space, NB_AS_F64);
	void *wide = nb_require_memory(s->frame, narrow ? space->alloc(space, bytes) : NULL);
	nb_step_require(s, space->copy(space, wide, narrow, bytes));
	char unit[NB_UNIT_SIZE + 1];
	strcpy(unit, column->unit);
	column = nb_require_memory(s->frame, nb_frame_add(s->frame, nb_field_info[field].name, column->table, "<f8",
						     column->ncomp, unit, column->flags));
	nb_column_adopt(column, space, wide);
}

void nb_step_widen(struct step *s, const struct nb_space *space)
{
	widen(s, NB_POS, space);
	widen(s, NB_VEL, space);
	if (s->opt.collide == COLLIDE_MERGE) {
		widen(s, NB_MASS, space);
		widen(s, NB_RADIUS, space);
		if (!nb_frame_field(s->frame, NB_SPIN)) {
			double *spin = nb_new_f64(s->frame, NB_SPIN, "<f8", &nb_space_host);
			memset(spin, 0, 3 * s->frame->rows[NB_PARTICLE] * sizeof *spin);
		}
		widen(s, NB_SPIN, space);
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
	return s->opt.integrator->needs_jerk && !nb_frame_field(s->frame, NB_JERK) ? "jerk" : NULL;
}

double *nb_step_keep(const struct step *s, const char *name, uint32_t ncomp)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	struct nb_column *column = nb_frame_find(s->frame, name);
	if (!column || column->table != NB_PARTICLE || column->ncomp != ncomp || strcmp(column->dtype, "<f8") != 0 ||
		n == 0)
		return NULL;
	double *to = nb_require_memory(s->frame, nb_alloc(n, ncomp * sizeof *to));
	memcpy(to, nb_require_memory(s->frame, nb_column_read(column, &nb_space_host, NB_AS_F64)),
		ncomp * n * sizeof *to);
	return to;
}
