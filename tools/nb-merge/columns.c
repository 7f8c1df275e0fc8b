/* The columns of a merged frame.  The inputs are read block by block into their place, so that only the output is in
 * memory. */
#include "common/mem.h"
#include "kernels/motion/motion.h"
#include "tools/filter/require.h"
#include "tools/filter/stale.h"
#include "tools/nb-merge/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 300 };

/* ---- what the frame has ------------------------------------------------------------------------- */

/* Columns that are made anew, or follow from positions and have to be computed again. */
static int is_left_out(const struct merge *opt, const struct nb_column *column)
{
	return column->table != NB_PARTICLE || (column->flags & NB_DERIVED) ||
	       (column->field == NB_ID && opt->ids != IDS_KEEP) || (column->field == NB_SPECIES && opt->species) ||
	       (column->field == NB_SYSTEM && opt->systems) ||
	       (opt->origin && strcmp(column->name, NB_MERGE_ORIGIN) == 0);
}

/* Numbers that are made anew from those of the inputs. */
static int is_offset(const struct merge *opt, const struct nb_column *column)
{
	return column->field == NB_ID ? opt->ids == IDS_OFFSET : column->field == NB_SYSTEM && opt->systems;
}

/* Whether an input says what columns there are: one without bodies does only where none has any. */
static int counts(const struct input *input, const struct nb_frame *merged)
{
	return input->frame.rows[NB_PARTICLE] > 0 || merged->rows[NB_PARTICLE] == 0;
}

/* An input with bodies and without the column. */
static const struct input *who_lacks(const struct merge *opt, const char *name)
{
	for (int k = 0; k < opt->ninput; k++)
		if (opt->input[k].frame.rows[NB_PARTICLE] && !nb_frame_find(&opt->input[k].frame, name))
			return &opt->input[k];
	return NULL;
}

/* A column of an input. */
struct found {
	const struct input *input;
	const struct nb_column *column;
};

static _Noreturn void differ(const struct merge *opt, struct found a, struct found b)
{
	char name[2][NB_SOURCE_NAME];
	nb_die(NB_EXIT_FAILED,
		"column '%s' is %" PRIu32 " x '%s' in %s and %" PRIu32 " x '%s' in %s (frame %" PRIu64 ")",
		a.column->name, a.column->ncomp, a.column->dtype, nb_source_name(&a.input->source, name[0]),
		b.column->ncomp, b.column->dtype, nb_source_name(&b.input->source, name[1]), opt->count);
}

/* Whether numbers of b can be written as those of a, which is as wide or wider. */
static int fits(const struct nb_column *a, const struct nb_column *b)
{
	if (strcmp(a->dtype, b->dtype) == 0)
		return 1;
	return a->dtype[1] == b->dtype[1] && b->rowsize <= NB_BLOCK &&
	       (a->dtype[1] == 'S' || (nb_dtype_is_number(a->dtype) && nb_dtype_is_number(b->dtype)));
}

static void warn_of_unit(struct merge *opt, struct found a, struct found b)
{
	char name[2][NB_SOURCE_NAME], key[NB_NAME_SIZE + 8];
	snprintf(key, sizeof key, "column %s", a.column->name);
	if (strcmp(a.column->unit, b.column->unit) != 0 && nb_report_once(&opt->reported, key))
		nb_warn("column '%s' has the unit '%s' in %s and '%s' in %s: the first is kept", a.column->name,
			a.column->unit, nb_source_name(&a.input->source, name[0]), b.column->unit,
			nb_source_name(&b.input->source, name[1]));
}

/* Adds a column as wide as the widest of all inputs. */
static void add_column(struct merge *opt, struct nb_frame *frame, struct found first)
{
	const struct nb_column *column = first.column;
	struct found widest = first;
	for (int k = 0; k < opt->ninput; k++) {
		const struct found other = {&opt->input[k], nb_frame_find(&opt->input[k].frame, column->name)};
		if (other.column && other.column->rowsize > widest.column->rowsize)
			widest = other;
	}
	for (int k = 0; k < opt->ninput; k++) {
		const struct found other = {&opt->input[k], nb_frame_find(&opt->input[k].frame, column->name)};
		if (!other.column)
			continue;
		if (other.column->table != NB_PARTICLE || other.column->ncomp != widest.column->ncomp ||
			!fits(widest.column, other.column))
			differ(opt, widest, other);
		warn_of_unit(opt, first, other);
	}
	if (!nb_frame_add(
		    frame, column->name, NB_PARTICLE, widest.column->dtype, column->ncomp, column->unit, column->flags))
		nb_out_of_memory(frame);
}

/* Zero means something for it: a point, the first kind, or what others make of it. */
static int may_be_zero(const struct nb_column *column)
{
	return column->field == NB_RADIUS || column->field == NB_SPIN || column->field == NB_SPECIES ||
	       column->field == NB_NFIELD;
}

/* Columns that not all inputs have, and who lacks the first of them. */
struct missing {
	char list[LIST_SIZE];
	const struct input *input;
};

static void note(struct missing *missing, const struct nb_column *column, const struct input *lacks)
{
	const size_t used = strlen(missing->list);
	snprintf(missing->list + used, LIST_SIZE - used, "%s%s", used ? ", " : "", column->name);
	if (!missing->input)
		missing->input = lacks;
}

/* Whether an input before this one, which counts, has the column. */
static int has_been_seen(const struct merge *opt, const struct nb_frame *merged, int before, const char *name)
{
	for (int k = 0; k < before; k++)
		if (counts(&opt->input[k], merged) && nb_frame_find(&opt->input[k].frame, name))
			return 1;
	return 0;
}

static void add_columns(struct merge *opt, struct nb_frame *frame)
{
	struct missing missing = {"", NULL}, zero = missing;
	for (int k = 0; k < opt->ninput; k++)
		for (size_t c = 0; c < opt->input[k].frame.ncolumn; c++) {
			const struct nb_column *column = &opt->input[k].frame.column[c];
			if (!counts(&opt->input[k], frame) || is_left_out(opt, column) ||
				has_been_seen(opt, frame, k, column->name))
				continue;
			const struct input *lacks = who_lacks(opt, column->name);
			if (lacks && opt->common)
				continue;
			if (lacks && opt->fill && may_be_zero(column))
				note(&zero, column, lacks);
			else if (lacks)
				note(&missing, column, lacks);
			add_column(opt, frame, (struct found){&opt->input[k], column});
		}
	char name[NB_SOURCE_NAME];
	if (missing.input)
		nb_die(NB_EXIT_FAILED, "missing in frame %" PRIu64 " of %s: %s (%s)", missing.input->frame.number,
			nb_source_name(&missing.input->source, name), missing.list,
			opt->fill ? "zeros would be no sensible values; give '--common' to leave out what not all have"
				  : "give '--common' to leave out what not all have, or '--fill' for zeros");
	if (zero.input && nb_report_once(&opt->reported, "fill"))
		nb_verbose("filled with zeros: %s", zero.list);
}

/* ---- contents ----------------------------------------------------------------------------------- */

/* Where the bodies of an input go. */
struct target {
	const struct merge *opt;
	struct input *input;
	struct nb_frame *frame;
	double *acc; /* for a kick that is still to be done, NULL: there is none */
};

/* Numbers, or texts, become wider. */
static void widen(const struct nb_column *from, const void *data, size_t bytes, const struct nb_column *to, char *at)
{
	const size_t narrow = nb_dtype_size(from->dtype), wide = nb_dtype_size(to->dtype), count = bytes / narrow;
	const char *source = data;
	if (from->dtype[1] == 'S') {
		memset(at, 0, count * wide);
		for (size_t i = 0; i < count; i++)
			memcpy(at + i * wide, source + i * narrow, narrow);
		return;
	}
	enum { BLOCK = 1024 };
	double x[BLOCK];
	for (size_t i = 0; i < count; i += BLOCK) {
		const size_t n = count - i < BLOCK ? count - i : BLOCK;
		nb_dtype_to_f64(from->dtype, n, source + i * narrow, x);
		nb_dtype_from_f64(to->dtype, n, x, at + i * wide);
	}
}

/* An nb_visit of a part of a column. */
static int take_part(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	const struct target *target = context;
	const struct nb_frame *frame = target->frame;
	const size_t size = nb_dtype_size(column->dtype), first = target->input->first;
	if (nb_merge_has_origins(target->opt, column)) {
		nb_merge_take_origins(target->input, frame, column, first + offset / size, bytes / size, data);
		return 0;
	}
	if (column->field == NB_ACC && target->acc)
		nb_dtype_to_f64(column->dtype, bytes / size, data, target->acc + offset / size);
	const int is_number = is_offset(target->opt, column);
	struct nb_column *to = is_number			  ? nb_frame_field(frame, column->field)
			       : is_left_out(target->opt, column) ? NULL
								  : nb_frame_find(frame, column->name);
	if (!to)
		return 0;
	char *at = (char *)nb_update_wire(frame, to) + first * to->rowsize + offset / size * nb_dtype_size(to->dtype);
	if (strcmp(column->dtype, to->dtype) == 0)
		(void)nb_space_host.copy(&nb_space_host, at + offset % size, data, bytes);
	else if (is_number) /* all of their digits */
		nb_dtype_to_u64(column->dtype, bytes / size, data, (uint64_t *)(void *)at);
	else
		widen(column, data, bytes, to, at);
	return 0;
}

/* Velocities of a frame whose last half kick nb-step left to be done, as acc goes. */
static void complete_kick(const struct target *target, double pending)
{
	const struct nb_frame *frame = target->frame;
	struct nb_column *column = nb_frame_field(frame, NB_VEL);
	const size_t n = target->input->frame.rows[NB_PARTICLE];
	char *vel = (char *)nb_update_wire(frame, column) + target->input->first * column->rowsize;
	double *wide = nb_require_memory(frame, nb_alloc(3 * n, sizeof *wide));
	nb_dtype_to_f64(column->dtype, 3 * n, vel, wide);
	const int status = nb_kick_cpu(n, wide, target->acc, pending);
	nb_dtype_from_f64(column->dtype, 3 * n, wide, vel);
	nb_free(wide);
	if (status)
		nb_out_of_memory(frame);
}

/* Zeros for the bodies of an input in columns of which take_part has taken nothing. */
static void fill_absent(const struct merge *opt, struct nb_frame *frame, const struct input *input)
{
	const uint64_t rows = input->frame.rows[NB_PARTICLE];
	for (size_t c = 0; rows && c < frame->ncolumn; c++) {
		struct nb_column *to = &frame->column[c];
		const struct nb_column *from = nb_frame_find(&input->frame, to->name);
		const int taken = from &&
				  (nb_merge_has_origins(opt, from) || !is_left_out(opt, from) || is_offset(opt, from));
		if (!taken)
			memset((char *)nb_update_wire(frame, to) + input->first * to->rowsize, 0, rows * to->rowsize);
	}
}

static void take_input(struct merge *opt, struct nb_frame *frame, struct input *input)
{
	struct nb_frame *from = &input->frame;
	const size_t n = from->rows[NB_PARTICLE];
	struct target target = {opt, input, frame, NULL};
	char name[NB_SOURCE_NAME];
	const double pending = nb_frame_field(from, NB_VEL) && n ? nb_require_attribute(from, "pending_kick", 0) : 0;
	if (pending != 0 && !nb_frame_field(from, NB_ACC))
		nb_die(NB_EXIT_FAILED,
			"velocities of frame %" PRIu64 " of %s lag behind positions, and there is no field 'acc' to "
			"complete the kick (put 'nb-force' before)",
			from->number, nb_source_name(&input->source, name));
	if (pending != 0) {
		target.acc = opt->acc = nb_require_memory(frame, nb_alloc(3 * n, sizeof *target.acc));
	}
	if (opt->last) /* with contents */
		for (size_t c = 0; c < from->ncolumn; c++) {
			struct nb_column *column = &from->column[c];
			const void *data = nb_require_memory(from, nb_column_read(column, &nb_space_host, NB_WIRE));
			if (column->rows)
				(void)take_part(&target, column, 0, data, column->rows * column->rowsize);
		}
	else
		nb_source_body(&input->source, from, take_part, &target);
	fill_absent(opt, frame, input);
	nb_merge_finish_origins(opt, frame, input);
	if (pending != 0 && nb_frame_field(frame, NB_VEL))
		complete_kick(&target, pending);
	nb_free(opt->acc);
	opt->acc = NULL;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void add_own_columns(const struct merge *opt, struct nb_frame *frame)
{
	if (opt->ids != IDS_KEEP)
		(void)nb_new_column(frame, NB_ID, NULL, 0);
	if (opt->systems)
		(void)nb_new_column(frame, NB_SYSTEM, NULL, 0);
}

/* Memory for all columns, of which nothing is touched before the bodies are there that a header claims. */
static void allocate(struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (!nb_column_write(column, &nb_space_host, NB_WIRE))
			nb_die(NB_EXIT_FAILED, "out of memory: column '%s' of frame %" PRIu64 " needs %zu bytes",
				column->name, frame->number, column->rows * column->rowsize);
	}
}

void nb_merge_bodies(struct merge *opt, struct nb_frame *frame)
{
	uint64_t rows = 0;
	char before[NB_STALE_TEXT] = "";
	for (int k = 0; k < opt->ninput; k++)
		nb_list_derived(&opt->input[k].frame, before);
	for (int k = 0; k < opt->ninput; k++) {
		opt->input[k].first = rows;
		rows += opt->input[k].frame.rows[NB_PARTICLE]; /* of at most 2^40 each */
	}
	if (rows > NB_MAX_ROWS)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " would have %" PRIu64 " bodies", opt->count, rows);
	frame->rows[NB_PARTICLE] = rows;
	frame->number = opt->count;
	add_own_columns(opt, frame);
	nb_merge_require_systems(opt);
	add_columns(opt, frame);
	if (opt->species)
		(void)nb_new_column(frame, NB_SPECIES, NULL, 0);
	if (opt->origin && !nb_frame_add(frame, NB_MERGE_ORIGIN, NB_PARTICLE, "<u2", 1, "", 0))
		nb_out_of_memory(frame);
	allocate(frame);
	for (int k = 0; k < opt->ninput; k++) {
		take_input(opt, frame, &opt->input[k]);
		nb_merge_offset(opt, frame, k);
		if (opt->species && opt->input[k].frame.rows[NB_PARTICLE])
			memset((char *)nb_update_wire(frame, nb_frame_field(frame, NB_SPECIES)) + opt->input[k].first,
				k, opt->input[k].frame.rows[NB_PARTICLE]);
	}
	nb_merge_finish_ids(opt, frame);
	nb_merge_warn_of_systems(opt, frame);
	nb_require_valid(frame);
	(void)nb_tell_stale(frame, before, "putting bodies together");
}
