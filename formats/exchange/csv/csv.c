/* Comma-separated values, or other tables: a header line of names, then one line for each body.  Blank lines are
 * skipped; lines that begin with # are comments (csv/csv.h).
 *
 * Names: those of the last column of field.def; frame and time where there are several frames; NAME for any other
 * column of one component, NAME_0, NAME_1 ... for one of more.  The header, or the list of the caller, names the cells
 * of a line; what the columns are follows from the comments, from the names, and for a column that neither knows from
 * its first cell: <f8 ("nan", "inf" and nothing at all are numbers there), or text if it is quoted or no number.
 * Without a column id, ids count from 0.
 *
 * Spreadsheets compute text that begins with =, +, - or @, even in quotes: safe (exchange.h) puts an apostrophe there.
 */
#include "formats/exchange/csv/read.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int open_csv(struct nb_import *in)
{
	struct csv_reader *reader = in->state;
	nb_rows_init(&reader->rows);
	nb_frame_init(&reader->said.frame);
	strcpy(reader->shown, "' '");
	reader->ahead = NB_MAX_LINE;
	if (nb_lines_open(&reader->lines, in))
		return NB_ENOMEM;
	if (nb_csv_read_header(reader))
		return NB_EINVAL;
	in->complete = reader->said.complete;
	return reader->ended ? NB_OK : nb_csv_lay_out(reader);
}

static void close_csv(struct nb_import *in)
{
	struct csv_reader *reader = in->state;
	nb_rows_clear(&reader->rows);
	nb_frame_clear(&reader->said.frame);
	free(reader->cell);
	free(reader->target);
	nb_lines_close(&reader->lines);
}

/* Attributes: what the comments say; the columns know better what time and dim are. */
static int set_attributes(struct csv_reader *reader, struct nb_frame *frame)
{
	const struct nb_frame *said = &reader->said.frame;
	const int complete = reader->said.complete;
	for (size_t k = 0; k < said->nattribute; k++)
		if (nb_frame_add_attribute(frame, said->attribute[k].key, nb_frame_attribute_text(said, k)))
			return NB_ENOMEM;
	const char *dim = nb_frame_attribute(frame, "dim");
	const int by_rows = reader->has_time && reader->rows.n > 0;
	double time;
	const int bad = nb_frame_attribute_f64(frame, "time", 0, &time) != NB_OK;
	if (by_rows && (bad || time != reader->time))
		time = reader->time;
	else if (complete || nb_frame_attribute(frame, "time"))
		time = NAN;
	if (!isnan(time) && nb_frame_set_attribute_f64(frame, "time", time))
		return NB_ENOMEM;
	if (reader->dim == 2 && (!dim || strcmp(dim, "2") != 0))
		return nb_frame_set_attribute(frame, "dim", "2");
	return !dim && !complete ? nb_frame_set_attribute(frame, "dim", "3") : NB_OK;
}

static int add_ids(struct csv_reader *reader, struct nb_frame *frame)
{
	if (!nb_csv_adds_ids(reader))
		return NB_OK;
	uint64_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE);
	for (size_t i = 0; id && i < reader->rows.n; i++)
		id[i] = i;
	return id ? NB_OK : NB_ENOMEM;
}

static int make_frame(struct csv_reader *reader, struct nb_frame *frame)
{
	struct nb_rows *rows = &reader->rows;
	frame->rows[NB_PARTICLE] = rows->n;
	if (set_attributes(reader, frame) || add_ids(reader, frame))
		return NB_ENOMEM;
	/* in the order of the header */
	for (size_t i = 0; i < reader->ncell; i++) {
		const size_t c = reader->cell[i].column;
		if (c == NONE || !rows->column[c].data)
			continue; /* no column of the frame, or the vector has been given already */
		struct target *target = &reader->target[c];
		if (target->widens)
			snprintf(target->dtype, sizeof target->dtype, "|S%zu", rows->column[c].rowsize);
		struct nb_column *column = nb_frame_add(
			frame, target->name, NB_PARTICLE, target->dtype, target->ncomp, target->unit, target->flags);
		if (!column)
			return NB_ENOMEM;
		nb_rows_give(rows, c, column);
	}
	return NB_OK;
}

/* Gives the rows to the frame; a row behind them begins the next table. */
static int finish_frame(struct csv_reader *reader, struct nb_frame *frame, int with_next)
{
	struct nb_rows *rows = &reader->rows, next;
	nb_rows_init(&next);
	int status = NB_OK;
	for (size_t i = 0; i < reader->ncell && !reader->first_row_seen; i++)
		if (nb_csv_place_unknown(reader, &reader->cell[i], "", 0)) /* no row says what they are: numbers */
			return NB_EINVAL;
	for (size_t c = 0; !status && c < rows->ncolumn; c++) {
		status = nb_rows_add(&next, rows->column[c].rowsize);
		if (!status && with_next)
			memcpy(nb_rows_at(&next, c, 0), nb_rows_at(rows, c, rows->n), rows->column[c].rowsize);
	}
	if (!status)
		status = make_frame(reader, frame);
	nb_rows_clear(rows);
	*rows = next;
	return status ? no_memory(reader) : NB_OK;
}

/* A comment has begun a frame.  Nothing of the one before is left if it is anew. */
static int begin_frame(struct csv_reader *reader)
{
	if (reader->open && reader->next_number <= reader->frame_number)
		return nb_lines_fail(&reader->lines, "frame %" PRIu64 " after frame %" PRIu64, reader->next_number,
			reader->frame_number);
	reader->said.again = !reader->next_anew;
	if (reader->next_anew) {
		nb_frame_clear(&reader->said.frame);
		reader->laid_out = 0;
	}
	reader->frame_number = reader->next_number;
	reader->open = 1;
	reader->next_begins = 0;
	return NB_OK;
}

/* Takes a row: 1 if it belongs to the next frame, 0, -1 if it is wrong. */
static int take_row(struct csv_reader *reader, char *line)
{
	struct nb_lines *lines = &reader->lines;
	struct row_time when = {reader->frame_number, reader->time};
	if ((!reader->laid_out && nb_csv_lay_out(reader)) || nb_csv_read_row(reader, line, &when))
		return -1;
	const int begins = !reader->open, next = !begins && when.frame != reader->frame_number;
	if (next && when.frame < reader->frame_number) {
		nb_lines_fail(lines, "frame %" PRIu64 " after frame %" PRIu64 " (sort the rows by frame)", when.frame,
			reader->frame_number);
		return -1;
	}
	if (!next && nb_csv_refuse_time(reader, &when))
		return -1;
	reader->open = 1;
	if (!next) {
		reader->frame_number = when.frame;
		reader->time = when.time;
		reader->rows.n++;
		return 0;
	}
	reader->next_number = when.frame;
	reader->carried_time = when.time;
	return 1;
}

/* Text that begins with a comment or the name of a column. */
static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	size_t at;
	(void)size;
	if (!nb_text_begins(head, n, &at) || nb_foreign(head, n))
		return 0;
	while (at < n && (head[at] <= ' ' || head[at] == '"' || head[at] == '\''))
		at++;
	return at < n && (head[at] == '#' || head[at] == '_' || isalpha(head[at]));
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct csv_reader *reader = in->state;
	struct nb_lines *lines = &reader->lines;
	if (reader->ended)
		return NB_END;
	reader->rows.n = (size_t)reader->carried;
	reader->carried = 0;
	if (reader->next_begins && begin_frame(reader))
		return NB_ERROR;
	for (;;) {
		char *line = nb_csv_read_ahead(reader) ? NULL : nb_csv_next_line(reader);
		if (!line && nb_lines_failed(lines))
			return NB_ERROR;
		if (!line && reader->next_begins && !reader->open) {
			if (begin_frame(reader))
				return NB_ERROR;
			continue;
		}
		const int next = line ? take_row(reader, line) : 1;
		if (next < 0)
			return NB_ERROR;
		if (next == 0)
			continue;
		reader->ended = !line && !reader->next_begins;
		if (!reader->open && reader->has_frame)
			return NB_END; /* a header alone has no frame */
		if ((!reader->laid_out && nb_csv_lay_out(reader)) || finish_frame(reader, frame, line != NULL))
			return NB_ERROR;
		if (line) {
			reader->carried = 1;
			reader->frame_number = reader->next_number;
			reader->time = reader->carried_time;
		}
		return NB_FRAME;
	}
}

const struct nb_format nb_format_csv = {
	.name = "csv",
	.about = "csv text",
	.suffixes = "csv",
	.place = 2,
	.traits = NB_MANY_FRAMES | NB_LOSES_EMPTY | NB_LOSES_G | NB_LOSES_KICK | NB_LOSES_TIME_OF_ONE | NB_TABLE |
		  NB_TEXT,
	.G = 1,
	.recognises = recognises,
	.import_size = sizeof(struct csv_reader),
	.open = open_csv,
	.next = next,
	.close = close_csv,
	.export_size = sizeof(struct nb_csv_writer),
	.begin = nb_csv_begin,
	.frame = nb_csv_frame,
	.none = nb_csv_none,
	.release = nb_csv_release,
	.holds = nb_csv_holds,
};
