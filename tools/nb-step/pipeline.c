/* The force pipeline: a shell command that runs beside nb-step and adds acc to the frames that pass through it. */
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARALLEL = 100000 /* numbers: fewer are not worth starting threads */ };

/* A pipeline that waits for the end of its input never answers.  Where nothing moves for more than NOTICE seconds there
 * is a warning; an answer may also take NOTICE_FACTOR times as long as any before. */
static const double NOTICE = 10, NOTICE_FACTOR = 10;

/* The same for a pipeline that keeps a run from ending after a signal. */
static const double HASTE = 2;

/* Velocities stay here while the other columns go through the pipeline, for which they would be a third of the
 * load: in their place goes where each body is in the order of sending, and the pipeline permutes that. */
static const char row_name[] = "nb_step_row";
/* What nb_require_field says of a missing field. */
static const char why_missing[] = "missing_vel", why_text[] = "nb-step keeps it unless --send-velocities is given";

static void tell_slow(void *context, enum nb_awaited awaited, double seconds)
{
	static const char *const text[] = {
		[NB_AWAITED_ROOM] = "does not read its input",
		[NB_AWAITED_ANSWER] = "does not answer",
		[NB_AWAITED_REST] = "has stopped in the middle of an answer",
		[NB_AWAITED_END] = "does not end its stream",
		[NB_AWAITED_EXIT] = "has ended its stream and does not exit",
	};
	struct step *s = context;
	struct nb_voice *before = nb_speak_as(&s->run->voice); /* a program of the pipeline may be at work here */
	nb_step_progress_clear(&s->progress);
	nb_warn("waiting for %.0f seconds in step %" PRIu64 ": force pipeline '%s' %s%s", seconds, s->clock.step,
		s->opt.command, text[awaited],
		awaited == NB_AWAITED_ANSWER ? " (does a program in it wait for the end of its input?)" : "");
	nb_speak_as(before);
}

void nb_step_start_force(struct step *s)
{
	s->force.process = nb_require_memory(NULL, calloc(1, sizeof *s->force.process));
	if (nb_coprocess_start(s->force.process, s->opt.command, s->run->environment, s->run->voice.file))
		nb_die(NB_EXIT_FAILED, "force pipeline '%s' %s", s->opt.command, s->force.process->error);
	s->force.process->patience = s->opt.patience;
	s->force.process->haste = HASTE;
	s->force.process->notice = s->force.process->notice_answer = NOTICE;
	s->force.process->slow = tell_slow;
	s->force.process->context = s;
}

void nb_step_finish_force(struct step *s)
{
	if (nb_coprocess_finish(s->force.process)) {
		if (s->run->interrupted) { /* what it should have computed has been written */
			nb_step_kill_force(&s->force);
			return;
		}
		nb_step_progress_clear(&s->progress);
		nb_die(NB_EXIT_FAILED, "force pipeline '%s' %s", s->opt.command, s->force.process->error);
	}
}

void nb_step_kill_force(struct force *force)
{
	if (!force->process)
		return;
	nb_coprocess_kill(force->process);
	if (!force->process->writing) /* else its thread is stuck in a pipe that somebody holds open, and needs it */
		free(force->process);
	force->process = NULL;
}

void nb_step_forget_sent(struct sent *sent)
{
	nb_frame_clear(&sent->kept);
	nb_frame_clear(&sent->ids);
	free(sent->name);
	sent->name = NULL;
}

/* ---- velocities --------------------------------------------------------------------------------- */

/* A column of 0 .. n-1 in *kept.  The same memory serves every step: sorting gives the frame another. */
static void add_rows(struct step *s, struct nb_frame *kept, size_t n)
{
	struct nb_column *column = nb_frame_find(&s->force.rows, row_name);
	if (!column || column->rows != n) {
		nb_frame_clear(&s->force.rows);
		s->force.rows.rows[NB_PARTICLE] = n;
		column = nb_frame_add(&s->force.rows, row_name, NB_PARTICLE, "<u4", 1, "", 0);
		uint32_t *row = nb_require_memory(s->frame, nb_column_write(column, &nb_space_host, NB_WIRE));
		for (size_t i = 0; i < n; i++)
			row[i] = (uint32_t)i;
	}
	if (!nb_column_read(column, s->backend->space, NB_WIRE) || nb_frame_share(kept, &s->force.rows))
		nb_out_of_memory(s->frame);
}

static void keep_velocities(struct step *s, struct sent *sent)
{
	nb_frame_init(&sent->kept);
	/* jerks need velocities, too, and nb-extra may; what that costs in the few states of the last kind is nothing
	 */
	sent->keeps = !s->opt.send_velocities && !s->opt.integrator->needs_jerk && !s->opt.integrator->few;
	sent->tracks = sent->keeps || s->opt.integrator->corrections;
	if (!sent->tracks)
		return;
	if (sent->n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit %" PRIu32 ")", s->frame->number,
			sent->n, UINT32_MAX);
	add_rows(s, &sent->kept, sent->n);
	if (!sent->keeps) {
		if (!nb_frame_add(s->frame, row_name, NB_PARTICLE, "<u4", 1, "", 0))
			nb_out_of_memory(s->frame);
		nb_frame_exchange(s->frame, row_name, &sent->kept, row_name);
		nb_frame_clear(&sent->kept);
		return;
	}
	nb_frame_exchange(s->frame, "vel", &sent->kept, row_name);
	nb_set_attribute(s->frame, why_missing, why_text);
}

/* 1 if row is a permutation of 0 .. n-1 (or hardly ever something else), and whether it moves anybody. */
static int is_permutation(size_t n, const uint32_t *row, int *moves)
{
	uint64_t sum = 0, want = 0;
	size_t outside = 0, moved = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum, want, outside, moved) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		outside += row[i] >= n;
		moved += row[i] != i;
		sum += nb_id_hash(row[i]);
		want += nb_id_hash(i);
	}
	*moves = moved != 0;
	return !outside && sum == want;
}

/* A column in the order of row, on the backend. */
static void permute(struct step *s, struct nb_column *from, struct nb_column *row, struct nb_frame *to)
{
	const struct nb_space *space = s->backend->space;
	struct nb_column *column = nb_frame_add(
		to, from->name, from->table, from->dtype, from->ncomp, from->unit, from->flags);
	const void *source = nb_require_memory(s->frame, nb_column_read(from, space, NB_WIRE));
	void *target = nb_require_memory(s->frame, nb_column_write(column, space, NB_WIRE));
	const uint32_t *order = nb_require_memory(s->frame, nb_column_read(row, space, NB_WIRE));
	nb_step_require(s, s->backend->permute(from->rows, order, from->rowsize, source, target));
	column->never = from->never;
}

/* Whether the bodies came back in another order.  What a program of another kind did to the column is looked at. */
static int came_back_moved(struct step *s, const struct sent *sent)
{
	struct nb_column *column = nb_frame_find(s->frame, row_name);
	const uint32_t *row = NULL;
	int moves;
	if (column->state == nb_frame_find(&s->force.rows, row_name)->state)
		return 0;
	if (nb_coprocess_is_folded(s->force.process))
		return 1;
	if (strcmp(column->dtype, "<u4") == 0 && column->ncomp == 1)
		row = nb_column_read(column, &nb_space_host, NB_WIRE);
	if (!row || !is_permutation(sent->n, row, &moves))
		nb_step_fail_force(s, "changed the column 'nb_step_row'");
	nb_step_check_ids(s, row);
	return moves;
}

/* What else stayed here, in the order of row. */
static void sort_aside(struct step *s, struct nb_column *row)
{
	for (size_t c = 0; s->aside && c < s->aside->ncolumn; c++) {
		const char *name = s->aside->column[c].name;
		struct nb_frame sorted;
		nb_frame_init(&sorted);
		sorted.rows[NB_PARTICLE] = s->force.sent.n;
		permute(s, &s->aside->column[c], row, &sorted);
		nb_frame_exchange(s->aside, name, &sorted, name);
		nb_frame_clear(&sorted);
	}
}

/* Puts the velocities back, and what else stayed here, in the order in which the bodies came back. */
static void return_velocities(struct step *s, struct sent *sent)
{
	struct nb_frame sorted;
	if (!sent->tracks)
		return;
	const int moved = came_back_moved(s, sent);
	if (!sent->keeps) {
		if (moved)
			sort_aside(s, nb_frame_find(s->frame, row_name));
		nb_frame_drop(s->frame, row_name);
		return;
	}
	nb_frame_drop_field(s->frame, NB_VEL); /* in case a program of the pipeline added one */
	nb_frame_drop_attribute(s->frame, why_missing);
	if (moved) {
		sort_aside(s, nb_frame_find(s->frame, row_name));
		nb_frame_init(&sorted);
		sorted.rows[NB_PARTICLE] = sent->n;
		permute(s, nb_frame_field(&sent->kept, NB_VEL), nb_frame_find(s->frame, row_name), &sorted);
		nb_frame_exchange(s->frame, row_name, &sorted, "vel");
		nb_frame_clear(&sorted);
	} else {
		nb_frame_exchange(s->frame, row_name, &sent->kept, "vel");
	}
	nb_frame_clear(&sent->kept);
}

/* Notes, after -v, whether the programs of the force pipeline run in this process. */
static void report_folding(struct step *s)
{
	const struct nb_ring *ring = &s->force.process->ring;
	const char *before = ring->before, *wish = getenv("NB_FOLD");
	char names[NB_STAGE_NAMES] = "";
	if (s->force.reported_folding)
		return;
	s->force.reported_folding = 1;
	if (nb_ranks_size() > 1 && !ring->closed)
		nb_warn("not all of the force pipeline runs in this process (-v says why): the other ranks have no "
			"part in the rest");
	if (ring->n)
		nb_stage_names(nb_ring_first(ring), names);
	if (ring->closed)
		nb_verbose("folded: force pipeline: %s", names);
	else if (ring->n)
		nb_verbose("folded: force pipeline: %s%s%s", names, *before ? ", but not " : "", before);
	else if (wish && strcmp(wish, "off") == 0)
		nb_verbose("not folded: force pipeline: NB_FOLD=off");
	else
		nb_verbose("not folded: force pipeline: %s%s", *before ? before : "its last program",
			*before ? " writes" : " does not fold, or started too late");
}

/* ---- there and back ----------------------------------------------------------------------------- */

/* The ids that are sent; no copy of them. */
static void keep_ids(struct step *s, struct sent *sent)
{
	if (!nb_frame_field(s->frame, NB_ID))
		return;
	if (nb_frame_share(&sent->ids, s->frame))
		nb_out_of_memory(s->frame);
	for (size_t c = sent->ids.ncolumn; c-- > 0;)
		if (strcmp(sent->ids.column[c].name, "id") != 0)
			nb_frame_drop(&sent->ids, sent->ids.column[c].name);
}

static void send(struct step *s, struct sent *sent)
{
	sent->n = s->frame->rows[NB_PARTICLE];
	keep_velocities(s, sent);
	sent->ncolumn = s->frame->ncolumn;
	sent->name = nb_require_memory(s->frame, calloc(sent->ncolumn + 1, sizeof *sent->name));
	const int folded = nb_coprocess_is_folded(s->force.process);
	report_folding(s);
	for (size_t i = 0; i < sent->ncolumn; i++) {
		struct nb_column *column = &s->frame->column[i];
		memcpy(sent->name[i], column->name, sizeof column->name);
		if (folded)
			continue;
		/* the thread that writes finds all of it in host memory */
		if (!nb_column_read(column, &nb_space_host, NB_WIRE))
			nb_out_of_memory(s->frame);
		nb_column_trim(column);
	}
	nb_step_set_attributes(s);
	if (!folded)
		nb_set_attribute_f64(s->frame, NB_PLAN_TO_COME, s->force.to_come);
	s->force.to_come = fmax(s->force.to_come - 1, 1);
	if (sent->tracks && !folded)
		keep_ids(s, sent);
	if (nb_coprocess_send(s->force.process, s->frame))
		nb_step_fail_force(s, s->force.process->error);
}

static void receive(struct step *s)
{
	const double start = nb_now();
	s->force.process->notice_answer = fmax(NOTICE, NOTICE_FACTOR * s->force.longest_answer);
	s->force.process->haste = s->force.longest_answer > 0 ? fmax(HASTE, NOTICE_FACTOR * s->force.longest_answer)
							      : NOTICE;
	if (nb_coprocess_receive(s->force.process, s->frame))
		nb_step_fail_force(s, s->force.process->error);
	s->force.longest_answer = fmax(s->force.longest_answer, nb_now() - start);
}

void nb_step_compute_force(struct step *s)
{
	const double start = nb_verbosity() > 0 ? nb_now() : 0;
	const uint64_t number = s->frame->number;
	struct sent *sent = &s->force.sent;
	nb_step_drop_stale(s);
	nb_step_spread_begin(s);
	send(s, sent);
	receive(s);
	s->frame->number = number; /* that of the input, not of the pipeline's output */
	nb_step_check_answer(s);
	nb_step_check_numbers(s);
	nb_frame_drop_order(s->frame); /* valid for one force only, and large: before velocities are there twice */
	return_velocities(s, sent);
	nb_step_forget_sent(&s->force.sent);
	nb_step_widen(s, s->backend->space);
	nb_frame_drop_attribute(s->frame, "history");
	nb_frame_drop_attribute(s->frame, NB_PLAN_TO_COME);
	if (s->spread.domain && !nb_step_spread_force(s))
		nb_step_compute_force(s);
	else if (s->spread.domain)
		nb_step_require_finite(s, "step");
	if (start > 0) /* for -v */
		s->force.seconds += nb_now() - start;
	s->force.asked++;
}
