/* --check: is a stream sound?  Its structure and checksums, its numbers and its ids, without holding a frame.
 *
 * Parts of a column come in order from a stream, and in any order to several threads if they are made in this process;
 * the first part is seen before the others. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARALLEL = 100000 /* numbers: fewer are not worth starting threads */ };

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
#pragma omp critical
	if (!fault->what || row < fault->row)
		*fault = (struct fault){column->name, isfinite(x) ? "negative" : "not finite", row};
}

/* ---- ids ---------------------------------------------------------------------------------------- */

/* Whether the ids continue the sequence that begins with first. */
static int in_sequence(const uint64_t *id, size_t count, uint64_t first)
{
	uint64_t differ = 0;
#pragma omp parallel for simd schedule(static) reduction(| : differ) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		differ |= id[i] ^ (first + i);
	return differ == 0;
}

/* Keeps the ids of a frame from now on: those that have been seen are in sequence, the others are stored when they are
 * not. */
static int keep_ids(struct stats *self, size_t rows)
{
	const uint64_t first = self->check.first_id;
	if (self->check.kept)
		return NB_OK;
	if (self->check.room < rows) {
		nb_free(self->check.id);
		self->check.room = 0;
		self->check.id = nb_alloc(rows, sizeof *self->check.id);
		if (!self->check.id)
			return NB_ENOMEM;
		self->check.room = rows;
	}
	uint64_t *id = self->check.id;
#pragma omp parallel for simd schedule(static) if (rows > PARALLEL)
	for (size_t i = 0; i < rows; i++)
		id[i] = first + i;
	self->check.kept = 1;
	return NB_OK;
}

/* Ids 0, 1, 2 ... (from any start) cost nothing; others are kept until the frame has been seen. */
static int check_ids(struct stats *self, const struct nb_column *column, size_t row, size_t count, const void *data)
{
	if (row == 0) {
		nb_dtype_to_u64(column->dtype, 1, data, &self->check.first_id);
		self->check.kept = 0;
	}
	const int wide = column->rowsize == sizeof(uint64_t);
	if (wide && in_sequence(data, count, self->check.first_id + row))
		return NB_OK;
	int status;
#pragma omp critical
	status = keep_ids(self, column->rows);
	if (!status)
		nb_dtype_to_u64(column->dtype, count, data, self->check.id + row);
	return status;
}

/* ---- a frame ------------------------------------------------------------------------------------ */

static int is_id(const struct nb_column *column)
{
	return column->field == NB_ID;
}

static void require_number(const struct stats *self, const struct nb_column *column)
{
	if ((is_id(column) || bad_in(column)) && !nb_dtype_is_number(column->dtype))
		nb_die(NB_EXIT_FAILED, "field '%s' of frame %" PRIu64 " has type '%s', which no tool reads",
			column->name, self->check.nframe, column->dtype);
}

/* An nb_visit of a part of a column of numbers; one that is empty is never visited. */
static int check_part(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	struct stats *self = context;
	const unsigned bad = bad_in(column);
	const size_t size = nb_dtype_size(column->dtype);
	if (bad)
		check_numbers(self, column, bad, offset / size, bytes / size, data);
	return is_id(column) ? check_ids(self, column, offset / size, bytes / size, data) : NB_OK;
}

static void require_memory(int status)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "out of memory for the ids");
}

/* The same of a part that comes from a stream. */
static int check_read(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	require_number(context, column);
	require_memory(check_part(context, column, offset, data, bytes));
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
	while (nb_stats_next(run, &frame, check_read, self))
		end_of_frame(self, &frame);
	nb_frame_clear(&frame);
}

/* A frame in memory, or one whose parts are made now. */
static void check(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	(void)run;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->rows)
			require_number(self, column);
		if (column->rows == 0 || frame->filler)
			continue;
		const void *data = nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_WIRE));
		require_memory(check_part(self, column, 0, data, column->rows * column->rowsize));
	}
	if (frame->filler)
		nb_require_ok(nb_frame_visit(frame, frame->filler, check_part, self), frame);
	end_of_frame(self, frame);
}

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
