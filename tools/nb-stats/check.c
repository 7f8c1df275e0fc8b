/* --check: is a stream sound?  Its structure and checksums, its numbers and its ids, without holding a frame. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

/* What a sound stream does not have in the column: NB_BAD_..., 0 if anything goes. */
static unsigned bad_in(const struct nb_column *column)
{
	const struct nb_field_info *info = nb_field_find(column->name);
	const unsigned traits = info ? info->traits : 0;
	return nb_bad_by_traits(traits) | (traits & NB_FINITE_RESULT ? NB_BAD_NONFINITE : 0);
}

/* Looks through numbers of a column, the first of which is number first. */
static void check_numbers(
	struct stats *self, const struct nb_column *column, unsigned bad, size_t first, size_t count, const void *data)
{
	const int wide = strcmp(column->dtype, "<f8") == 0;
	struct fault *fault = &self->check.fault;
	size_t i;
	if (nb_space_host.first_bad(&nb_space_host, count, wide, data, bad, &i) || i == count)
		return;
	const double x = wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
	const size_t row = (first + i) / column->ncomp;
	if (!fault->what || row < fault->row)
		*fault = (struct fault){column->name, isfinite(x) ? "negative" : "not finite", row};
}

/* ---- ids ---------------------------------------------------------------------------------------- */

/* Whether the ids continue the sequence that begins with first. */
static int in_sequence(const uint64_t *id, size_t count, uint64_t first)
{
	enum { PARALLEL = 100000 };
	uint64_t differ = 0;
#pragma omp parallel for simd schedule(static) reduction(| : differ) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		differ |= id[i] ^ (first + i);
	return differ == 0;
}

/* Keeps the ids of a frame from now on, of which the first seen were in sequence. */
static void keep_ids(struct stats *self, size_t rows, size_t seen)
{
	if (self->check.room < rows) {
		nb_free(self->check.id);
		self->check.room = 0;
		self->check.id = nb_alloc(rows, sizeof *self->check.id);
		if (!self->check.id)
			nb_die(NB_EXIT_FAILED, "out of memory for the ids");
		self->check.room = rows;
	}
	for (size_t i = 0; i < seen; i++)
		self->check.id[i] = self->check.first_id + i;
	self->check.kept = 1;
}

/* Ids 0, 1, 2 ... (from any start) cost nothing; others are kept until the frame has been seen. */
static void check_ids(struct stats *self, const struct nb_column *column, size_t row, size_t count, const void *data)
{
	if (row == 0) {
		nb_dtype_to_u64(column->dtype, 1, data, &self->check.first_id);
		self->check.kept = 0;
	}
	const int wide = column->rowsize == sizeof(uint64_t);
	if (!self->check.kept && wide && in_sequence(data, count, self->check.first_id + row))
		return;
	if (!self->check.kept)
		keep_ids(self, column->rows, row);
	nb_dtype_to_u64(column->dtype, count, data, self->check.id + row);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

/* An nb_visit of a part of a column; one that is empty is never visited. */
static int check_part(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	struct stats *self = context;
	const int is_id = strcmp(column->name, nb_field_info[NB_ID].name) == 0;
	const unsigned bad = bad_in(column);
	const size_t size = nb_dtype_size(column->dtype);
	if ((is_id || bad) && !nb_dtype_is_number(column->dtype))
		nb_die(NB_EXIT_FAILED, "field '%s' of frame %" PRIu64 " has type '%s', which no tool reads",
			column->name, self->check.nframe, column->dtype);
	if (is_id)
		check_ids(self, column, offset / size, bytes / size, data);
	if (bad)
		check_numbers(self, column, bad, offset / size, bytes / size, data);
	return 0;
}

/* After all columns of a frame. */
static void end_of_frame(struct stats *self, const struct nb_frame *frame)
{
	const struct fault fault = self->check.fault;
	const size_t n = frame->rows[NB_PARTICLE];
	const int kept = self->check.kept;
	self->check.fault = (struct fault){NULL, NULL, 0};
	self->check.kept = 0;
	if (fault.what) {
		const uint64_t id = !nb_frame_field(frame, NB_ID) ? fault.row
				    : kept			  ? self->check.id[fault.row]
								  : self->check.first_id + fault.row;
		nb_die(NB_EXIT_FAILED, "field '%s' of the body with id %" PRIu64 " is %s in frame %" PRIu64,
			fault.field, id, fault.what, frame->number);
	}
	if (kept)
		nb_stats_require_unique(n, self->check.id, frame, NULL);
	self->check.nframe++;
	self->check.nbody += n;
}

static void stream(struct nb_run *run, struct stats *self)
{
	struct nb_frame frame;
	nb_frame_init(&frame);
	while (nb_stats_next(run, &frame, check_part, self))
		end_of_frame(self, &frame);
	nb_frame_clear(&frame);
}

static void check(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	(void)run;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		const void *data = nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_WIRE));
		if (column->rows)
			check_part(self, column, 0, data, column->rows * column->rowsize);
	}
	end_of_frame(self, frame);
}

/* Frames in memory have no bytes of a stream. */
static void end(struct nb_run *run, struct stats *self)
{
	printf("ok: %" PRIu64 " frames, %" PRIu64 " bodies, %" PRIu64 " bytes\n", self->check.nframe, self->check.nbody,
		run->in.nbyte);
}

static void clear(struct stats *self)
{
	nb_free(self->check.id);
}

const struct mode nb_stats_check = {.option = "check", .frame = check, .stream = stream, .end = end, .clear = clear};
