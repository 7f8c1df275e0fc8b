/* Rows of the blocks of GADGET: which are wanted, where they stand, and what their numbers become; positions first,
 * since a sphere decides by them. */
#include "formats/exchange/gadget/read.h"
#include "formats/exchange/subset.h"

#include "common/mem.h"

#include <inttypes.h>
#include <string.h>

enum { NEAR = 64 << 10, FIRST_ROOM = 1 << 16, LEAST_SHARED = 1 << 20 };

/* ---- numbers ------------------------------------------------------------------------------------ */

static void take_f64_of_f32(const unsigned char *from, size_t n, int swap, void *to)
{
	nb_wire_widen(n, from, swap, to);
}

static void take_64(const unsigned char *from, size_t n, int swap, void *to)
{
	nb_wire_order(n, 8, from, swap, to);
}

static void take_u64_of_u32(const unsigned char *from, size_t n, int swap, void *to)
{
	nb_wire_widen_u32(n, from, swap, to);
}

static void take_32(const unsigned char *from, size_t n, int swap, void *to)
{
	nb_wire_order(n, 4, from, swap, to);
}

nb_gadget_take *nb_gadget_take_as(enum nb_field field, unsigned width)
{
	if (width == 8)
		return take_64;
	return field == NB_ID ? take_u64_of_u32 : field == NB_NFIELD ? take_32 : take_f64_of_f32;
}

/* ---- which rows ---------------------------------------------------------------------------------- */

static int add_run(struct nb_gadget_part *part, uint64_t first, uint64_t step, uint64_t count, unsigned type)
{
	if (nb_reserve(part->run, part->nrun, part->nrun + 1, part->room))
		return NB_ENOMEM;
	part->run[part->nrun++] = (struct nb_gadget_run){.first = first, .step = step, .count = count, .type = type};
	return NB_OK;
}

/* By number and type. */
static int choose_rows(struct nb_gadget_reader *reader, struct nb_gadget_part *part)
{
	const struct nb_subset *subset = &reader->in->subset;
	uint64_t begin = part->from;
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint64_t end = begin + reader->head.n[t];
		uint64_t first, step;
		const uint64_t count = nb_subset_species(subset, t) ? nb_subset_rows(subset, begin, end, &first, &step)
								    : 0;
		if (count && add_run(part, first - part->from, step, count, t))
			return NB_ENOMEM;
		begin = end;
	}
	return NB_OK;
}

/* ---- contents of a block ------------------------------------------------------------------------- */

/* Of n positions behind the others those in the sphere stay; they are rows of the run from number k on. */
static int choose_places(const struct nb_subset *subset, struct nb_gadget_sink *sink, size_t n,
	const struct nb_gadget_run *run, uint64_t k)
{
	double *pos = (double *)(void *)sink->to;
	size_t to = sink->row;
	for (size_t i = 0; i < n; i++) {
		const double x[3] = {
			pos[3 * (sink->row + i)], pos[3 * (sink->row + i) + 1], pos[3 * (sink->row + i) + 2]};
		if (!nb_subset_place(subset, x))
			continue;
		memcpy(&pos[3 * to++], x, sizeof x);
		const uint64_t row = run->first + (k + i) * run->step;
		struct nb_gadget_part *part = sink->chosen;
		struct nb_gadget_run *last = part->nrun ? &part->run[part->nrun - 1] : NULL;
		if (last && last->type == run->type && last->first + last->count == row)
			last->count++;
		else if (add_run(part, row, 1, 1, run->type))
			return NB_ENOMEM;
	}
	sink->row = to;
	return NB_OK;
}

/* n rows of a run from number k on. */
static int put(struct nb_gadget_reader *reader, struct nb_gadget_sink *sink, const unsigned char *from, size_t n,
	const struct nb_gadget_run *run, uint64_t k)
{
	if (!sink->room) {
		sink->take(from, n * sink->ncomp, reader->swap, sink->to + sink->row * sink->rowsize);
		sink->row += n;
		return NB_OK;
	}
	if (sink->room - sink->row < n &&
		nb_reserve_rows(&sink->to, sink->row, sink->row + n, &sink->room, sink->rowsize))
		return NB_ENOMEM;
	sink->take(from, n * sink->ncomp, reader->swap, sink->to + sink->row * sink->rowsize);
	if (sink->chosen)
		return choose_places(&reader->in->subset, sink, n, run, k);
	sink->row += n;
	return NB_OK;
}

/* All rows of a run without gaps by all threads, if a regular file has them: mostly they clear new memory.  0: not all
 * could be read, and the reader stands where it stood. */
static int take_shared(struct nb_gadget_reader *reader, size_t n, size_t rowsize, struct nb_gadget_sink *sink)
{
	const size_t most = NB_BYTES_MOST / rowsize, pieces = (n + most - 1) / most;
	int good = 1;
#pragma omp parallel reduction(&& : good)
	{
		unsigned char *piece = nb_alloc(NB_BYTES_MOST, 1);
#pragma omp for
		for (size_t p = 0; p < pieces; p++) {
			const size_t first = p * most, rows = n - first < most ? n - first : most;
			good = good && piece &&
			       nb_bytes_are_ahead(reader->bytes, first * rowsize, piece, rows * rowsize);
			if (good)
				sink->take(piece, rows * sink->ncomp, reader->swap,
					sink->to + (sink->row + first) * sink->rowsize);
		}
		nb_free(piece);
	}
	if (!good || nb_bytes_skip(reader->bytes, n * rowsize))
		return 0;
	sink->row += n;
	return 1;
}

static int may_share(
	struct nb_gadget_reader *reader, const struct nb_gadget_run *run, size_t rowsize, struct nb_gadget_sink *sink)
{
	return reader->bytes->seekable && run->step == 1 && run->count >= LEAST_SHARED / rowsize && !sink->chosen &&
	       (!sink->room || sink->room - sink->row >= run->count);
}

/* The rows of one run, which begins here in the block. */
static int take_run(
	struct nb_gadget_reader *reader, const struct nb_gadget_run *run, size_t rowsize, struct nb_gadget_sink *sink)
{
	/* rows that are far from each other are read one by one */
	const uint64_t most = run->step > NEAR / rowsize ? 1 : (NB_BYTES_MOST / rowsize - 1) / run->step + 1;
	/* what cannot be shared is read by one thread, which says what is wrong */
	if (may_share(reader, run, rowsize, sink) && take_shared(reader, (size_t)run->count, rowsize, sink))
		return NB_OK;
	for (uint64_t k = 0; k < run->count;) {
		const size_t n = (size_t)(run->count - k < most ? run->count - k : most);
		const size_t span = ((n - 1) * (size_t)run->step + 1) * rowsize;
		/* the buffer is ours: wanted rows move together in it */
		unsigned char *from = (unsigned char *)nb_gadget_need(reader, span);
		if (!from)
			return NB_EINVAL;
		for (size_t i = 1; run->step > 1 && i < n; i++)
			memmove(from + i * rowsize, from + i * run->step * rowsize, rowsize);
		if (put(reader, sink, from, n, run, k))
			return NB_ENOMEM;
		nb_bytes_pass(reader->bytes, span);
		k += n;
		const int status = k < run->count ? nb_gadget_skip(reader, (run->step - 1) * rowsize) : NB_OK;
		if (status)
			return status;
	}
	return NB_OK;
}

int nb_gadget_take_block(struct nb_gadget_reader *reader, const struct nb_gadget_part *part, unsigned mask,
	size_t rowsize, struct nb_gadget_sink *sink)
{
	uint64_t at = 0; /* row of the block */
	for (size_t r = 0; r < part->nrun; r++) {
		const struct nb_gadget_run *run = &part->run[r];
		uint64_t first = run->first;
		if (!(mask >> run->type & 1)) {
			sink->row += run->count;
			continue;
		}
		for (unsigned t = 0; t < run->type; t++)
			first -= mask >> t & 1 ? 0 : reader->head.n[t];
		int status = nb_gadget_skip(reader, (first - at) * rowsize);
		if (!status)
			status = take_run(reader, run, rowsize, sink);
		if (status)
			return status;
		at = first + (run->count - 1) * run->step + 1;
	}
	const int status = nb_gadget_skip(reader, reader->block_size - at * rowsize);
	return status ? status : nb_gadget_end_block(reader);
}

int nb_gadget_skip_block(struct nb_gadget_reader *reader)
{
	const int status = nb_gadget_skip(reader, reader->block_size);
	return status ? status : nb_gadget_end_block(reader);
}

/* ---- positions ----------------------------------------------------------------------------------- */

int nb_gadget_wrong_size(struct nb_gadget_reader *reader, uint64_t rows, unsigned ncomp)
{
	return nb_gadget_fail(reader, "has %" PRIu32 " bytes, want %" PRIu64 " or %" PRIu64 " (bodies: %" PRIu64 ")",
		reader->block_size, rows * ncomp * 4, rows * ncomp * 8, rows);
}

unsigned nb_gadget_width(const struct nb_gadget_reader *reader, uint64_t rows, unsigned ncomp)
{
	return reader->block_size == rows * ncomp * 4 ? 4 : reader->block_size == rows * ncomp * 8 ? 8 : 0;
}

/* POS of the present file, and with it which of its bodies are wanted. */
static int read_places(struct nb_gadget_reader *reader, struct nb_gadget_part *part, struct nb_gadget_sink *sink)
{
	struct nb_gadget_part by_number = {.from = part->from};
	int there = nb_gadget_next_block(reader);
	while (there == 1 && nb_gadget_is_label(reader, "INFO")) {
		if (nb_gadget_skip_block(reader))
			return NB_EINVAL;
		there = nb_gadget_next_block(reader);
	}
	if (there < 0)
		return NB_EINVAL;
	if (there == 0 && reader->head.rows == 0) {
		part->behind = reader->bytes->at;
		return NB_OK;
	}
	if (there == 0)
		return nb_gadget_fail(
			reader, "the file ends before the positions of %" PRIu64 " bodies", reader->head.rows);
	if (!nb_gadget_is_label(reader, "POS "))
		return nb_gadget_fail(reader, "the first block must be POS");
	const unsigned width = nb_gadget_width(reader, reader->head.rows, 3);
	if (!width)
		return nb_gadget_wrong_size(reader, reader->head.rows, 3);
	part->width = width;
	sink->take = nb_gadget_take_as(NB_POS, width);
	int status = choose_rows(reader, part);
	if (!status && reader->in->subset.sphere) {
		by_number = *part;
		part->run = NULL;
		part->nrun = part->room = 0;
		sink->chosen = part;
	}
	if (!status)
		status = nb_gadget_take_block(
			reader, sink->chosen ? &by_number : part, NB_GADGET_ALL, 3 * (size_t)width, sink);
	if (sink->chosen)
		nb_free(by_number.run);
	part->behind = reader->bytes->at;
	return status;
}

int nb_gadget_read_places(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	struct nb_gadget_sink sink = {.ncomp = 3, .rowsize = 3 * sizeof(double)};
	/* what the file cannot hold has been refused; a pipe must show it first */
	const struct nb_subset *subset = &reader->in->subset;
	sink.room = reader->bytes->seekable && !subset->sphere && !subset->row_step ? (size_t)reader->rows + 1
										    : FIRST_ROOM;
	sink.to = nb_alloc(sink.room, sink.rowsize);
	int status = sink.to ? NB_OK : NB_ENOMEM;
	for (unsigned k = 0; !status && k < reader->nfile; k++) {
		reader->part[k].begin = sink.row;
		sink.chosen = NULL;
		status = nb_gadget_open_file(reader, k);
		if (!status)
			status = read_places(reader, &reader->part[k], &sink);
	}
	if (!status && sink.row > NB_MAX_ROWS)
		status = NB_ELIMIT;
	frame->rows[NB_PARTICLE] = sink.row;
	struct nb_column *pos = status ? NULL : nb_frame_add_field(frame, NB_POS, NULL, 0);
	if (!pos) {
		nb_free(sink.to);
		return status ? status : NB_ENOMEM;
	}
	nb_column_adopt(pos, &nb_space_host, sink.to);
	return NB_OK;
}
