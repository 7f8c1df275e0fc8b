/* Comma-separated values: a header line of names, then one line for each body.  Blank lines, and those that begin with
 * #, are skipped.
 *
 * Names: those of the last column of field.def; frame and time where there are several frames; NAME for any other
 * column of one component, NAME_0, NAME_1 ... for one of more.  Read, known columns get their field's type; others
 * become <f8
 * ("nan", "inf" and nothing at all are numbers there), or text if their first cell is quoted or no number.  Without a
 * column id, ids count from 0.
 *
 * Spreadsheets compute text that begins with =, +, - or @, even in quotes: safe (exchange.h) puts an apostrophe there.
 */
#include "formats/exchange/exchange.h"

#include "common/decimal.h"
#include "common/mem.h"
#include "formats/exchange/lines_internal.h"
#include "formats/exchange/output_internal.h"
#include "formats/exchange/rows_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 40, TEXT_WIDTH = 32 };

/* ---- names of known columns --------------------------------------------------------------------- */

/* The name of component k of a field into name, as field.def has it; *flat: it is not there where dim is 2.  0 if there
 * is no such component, or no name for it. */
static int component_name(int field, uint32_t k, char name[NB_NAME_SIZE + 1], int *flat)
{
	const char *word = nb_field_info[field].csv;
	for (; k > 0 && *word; k--) {
		word += strcspn(word, " ");
		word += *word == ' ';
	}
	*flat = *word == '[';
	word += *flat;
	const size_t length = strcspn(word, " ]");
	snprintf(name, NB_NAME_SIZE + 1, "%.*s", (int)length, word);
	return length > 0;
}

/* The field that a column of bodies is, or -1: one that csv has no names for. */
static int field_of(const struct nb_column *column)
{
	for (int f = 0; f < NB_NFIELD; f++)
		if (*nb_field_info[f].csv && strcmp(column->name, nb_field_info[f].name) == 0 &&
			column->ncomp == nb_field_info[f].ncomp)
			return f;
	return -1;
}

/* ---- reading: what the cells of a line are ------------------------------------------------------ */

enum cell_kind {
	CELL_REAL, /* a finite number of a known field */
	CELL_WHOLE,
	CELL_FREE, /* any number, or nothing */
	CELL_TEXT,
	CELL_FRAME,
	CELL_TIME
};

struct cell {
	char name[NB_NAME_SIZE + 1];
	enum cell_kind kind;
	int not_negative;
	char type;     /* of a whole number: 'u', 'i' */
	size_t size;   /* bytes of a number */
	size_t column; /* in rows */
	size_t offset; /* in the row */
};

struct csv_reader {
	struct nb_lines lines;
	struct cell *cell; /* of each cell of a line */
	size_t ncell;
	struct nb_rows rows;
	int *field; /* of each column of rows: an enum nb_field, or -1 */
	int dim;
	int has_frame, has_time, has_id;
	int first_row_seen;
	int frames_begun;      /* frames given out or begun */
	int carried;	       /* row 0 belongs to the next frame already */
	uint64_t frame_number; /* of the frame that is being filled */
	double time;
	int ended;
};

/* Takes one cell off the line: *text, NUL-terminated and without quotes (*quoted says whether there were any) and outer
 * white space.  Returns where the next cell begins, or NULL behind the last; sets *bad for a quote that does not end.
 */
static char *take_cell(char *p, char **text, int *quoted, int *bad)
{
	p = nb_text_skip(p);
	*quoted = *p == '"';
	*bad = 0;
	if (*quoted) {
		char *to = ++p;
		*text = p;
		for (; *p && (*p != '"' || p[1] == '"'); p++) {
			p += *p == '"';
			*to++ = *p;
		}
		*bad = *p != '"';
		p += *p == '"';
		*to = '\0';
		p = nb_text_skip(p);
		*bad |= *p != ',' && *p != '\0';
		return *p == ',' ? p + 1 : NULL;
	}
	*text = p;
	char *comma = strchr(p, ','), *end = comma ? comma : p + strlen(p);
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return comma ? comma + 1 : NULL;
}

/* Behind the apostrophe that --safe-cells put there. */
static char *without_guard(const struct csv_reader *reader, char *text)
{
	return text + (reader->lines.in->safe && *text == '\'');
}

/* The next line that holds data. */
static char *next_line(struct nb_lines *lines)
{
	char *line;
	do
		line = nb_lines_next_filled(lines);
	while (line && *nb_text_skip(line) == '#');
	return line;
}

/* A column of the frame to be: an enum nb_field, or -1 for one that no one knows. */
static int add_column(struct csv_reader *reader, int field, size_t rowsize)
{
	int *grown = realloc(reader->field, (reader->rows.ncolumn + 1) * sizeof *grown);
	if (!grown)
		return NB_ENOMEM;
	reader->field = grown;
	grown[reader->rows.ncolumn] = field;
	return nb_rows_add(&reader->rows, rowsize);
}

static struct cell *find_cell(const struct csv_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->ncell; i++)
		if (strcmp(reader->cell[i].name, name) == 0)
			return &reader->cell[i];
	return NULL;
}

/* The name that is meant, whatever its case in the header: into name, or 0 if it is none that is known. */
static int known_name(const char *text, char name[NB_NAME_SIZE + 1])
{
	int flat;
	for (int f = 0; f < NB_NFIELD; f++)
		for (uint32_t k = 0; component_name(f, k, name, &flat); k++)
			if (strcasecmp(text, name) == 0)
				return 1;
	strcpy(name, strcasecmp(text, "frame") == 0 ? "frame" : "time");
	return strcasecmp(text, name) == 0;
}

static int take_name(struct csv_reader *reader, const char *text)
{
	struct nb_lines *lines = &reader->lines;
	const size_t place = reader->ncell + 1;
	char name[NB_NAME_SIZE + 1];
	const int known = known_name(text, name);
	if (known)
		text = name;
	if (!*text)
		return nb_lines_fail(lines, "column %zu has no name", place);
	if (strlen(text) > NB_NAME_SIZE)
		return nb_lines_fail(lines, "name '%.*s...' of column %zu is longer than %d characters", SHOWN, text,
			place, NB_NAME_SIZE);
	struct cell cell = {.kind = CELL_FREE};
	for (size_t i = 0; text[i]; i++) {
		if (!isascii((unsigned char)text[i]) || iscntrl((unsigned char)text[i]))
			return nb_lines_fail(lines, "name of column %zu is not plain ASCII", place);
		cell.name[i] = text[i] == ' ' ? '_' : text[i];
	}
	if (find_cell(reader, cell.name))
		return nb_lines_fail(lines, "column '%s' appears twice", cell.name);
	for (int f = 0; !known && f < NB_NFIELD; f++)
		if (strcmp(cell.name, nb_field_info[f].name) == 0)
			return nb_lines_fail(lines,
				"column '%s' is not a single number per body (vectors are x,y,z  vx,vy,vz ...)",
				cell.name);
	struct cell *grown = realloc(reader->cell, (reader->ncell + 1) * sizeof *grown);
	if (!grown)
		return nb_lines_fail(lines, "out of memory");
	reader->cell = grown;
	grown[reader->ncell++] = cell;
	return NB_OK;
}

/* What the cell of a component is, from the field's type and traits. */
static void describe_cell(struct cell *cell, int field, size_t column, uint32_t k)
{
	const struct nb_field_info *info = &nb_field_info[field];
	cell->type = info->dtype[1];
	cell->kind = cell->type == 'S' ? CELL_TEXT : cell->type == 'f' ? CELL_REAL : CELL_WHOLE;
	cell->not_negative = (info->traits & NB_NOT_NEGATIVE) != 0;
	cell->size = nb_dtype_size(info->dtype);
	cell->column = column;
	cell->offset = k * cell->size;
}

/* The components of a field are all there or all absent. */
static int place_field(struct csv_reader *reader, int field)
{
	char name[NB_NAME_SIZE + 1];
	int flat, present = 0;
	uint32_t ncomp = 0;
	for (; component_name(field, ncomp, name, &flat); ncomp++)
		present += find_cell(reader, name) != NULL;
	if (!present && field != NB_POS)
		return NB_OK;
	for (uint32_t k = 0; component_name(field, k, name, &flat); k++) {
		struct cell *cell = find_cell(reader, name);
		flat &= reader->dim == 2;
		if (!cell && !flat)
			return nb_lines_fail(&reader->lines, "column '%s' is missing", name);
		if (cell && flat)
			return nb_lines_fail(&reader->lines, "there is a column '%s' but no column 'z'", name);
		if (cell)
			describe_cell(cell, field, reader->rows.ncolumn, k);
	}
	if (add_column(reader, field, ncomp * nb_dtype_size(nb_field_info[field].dtype)))
		return nb_lines_fail(&reader->lines, "out of memory");
	return NB_OK;
}

static int read_header(struct csv_reader *reader)
{
	struct nb_lines *lines = &reader->lines;
	char *line = next_line(lines);
	if (!line)
		return nb_lines_failed(lines)
			       ? NB_EINVAL
			       : nb_lines_fail(lines, "the file is empty (want a header line: id,mass,x,y,z,...)");
	while (line) {
		char *text;
		int quoted, bad;
		line = take_cell(line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted name has no closing quote");
		if (take_name(reader, without_guard(reader, text)))
			return NB_EINVAL;
	}
	return NB_OK;
}

static int open_csv(struct nb_import *in)
{
	struct csv_reader *reader = in->state;
	nb_rows_init(&reader->rows);
	if (nb_lines_open(&reader->lines, in))
		return NB_ENOMEM;
	if (read_header(reader))
		return NB_EINVAL;
	struct cell *frame = find_cell(reader, "frame"), *time = find_cell(reader, "time");
	reader->has_frame = frame != NULL;
	reader->has_time = time != NULL;
	reader->has_id = find_cell(reader, "id") != NULL;
	if (frame) {
		frame->kind = CELL_FRAME;
		frame->type = 'u';
		frame->size = sizeof(uint64_t);
	}
	if (time)
		time->kind = CELL_TIME;
	reader->dim = find_cell(reader, "z") ? 3 : 2;
	for (int f = 0; f < NB_NFIELD; f++)
		if (place_field(reader, f))
			return NB_EINVAL;
	return NB_OK;
}

static void close_csv(struct nb_import *in)
{
	struct csv_reader *reader = in->state;
	nb_rows_clear(&reader->rows);
	free(reader->cell);
	free(reader->field);
	nb_lines_close(&reader->lines);
}

/* ---- reading: rows ------------------------------------------------------------------------------ */

static int bad_cell(struct csv_reader *reader, const struct cell *cell, const char *text, const char *want)
{
	if (!*text)
		return nb_lines_fail(&reader->lines, "column '%s' is empty (want %s)", cell->name, want);
	return nb_lines_fail(&reader->lines, "'%.*s' in column '%s' is not %s", SHOWN, text, cell->name, want);
}

/* Any number that a person or a program may write, or nothing: NaN. */
static int free_number(const char *text, double *x)
{
	const char *end = nb_decimal_read(text, x);
	if (end)
		return *end ? -1 : 0;
	const char *word = text + (*text == '-' || *text == '+');
	if (!*text || strcasecmp(word, "nan") == 0 || strcasecmp(word, "na") == 0)
		*x = NAN;
	else if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0)
		*x = *text == '-' ? -INFINITY : INFINITY;
	else
		return -1;
	return 0;
}

/* Digits, or a number that happens to be whole, such as 17.0. */
static int whole_number(const char *text, uint64_t *value)
{
	size_t digits = strspn(text, "0123456789");
	if (digits && !text[digits]) {
		*value = 0;
		for (; *text; text++)
			if (__builtin_mul_overflow(*value, 10, value) ||
				__builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
				return -1;
		return 0;
	}
	double x;
	const char *end = nb_decimal_read(text, &x);
	if (!end || *end || !(x >= 0 && x <= 0x1p53) || x != floor(x))
		return -1;
	*value = (uint64_t)x;
	return 0;
}

/* What frame and time say about the row that has just been read. */
struct row_time {
	uint64_t frame;
	double time;
};

static int take_real(struct csv_reader *reader, const struct cell *cell, const char *text, double *x)
{
	const char *end = nb_decimal_read(text, x);
	if (!end || *end || !isfinite(*x) || (cell->size == sizeof(float) && !isfinite((float)*x)))
		return bad_cell(reader, cell, text, "a finite number");
	if (cell->not_negative && *x < 0)
		return nb_lines_fail(&reader->lines, "%s %g is negative", cell->name, *x);
	return NB_OK;
}

/* Into *bits, of which the lowest are the number in its type. */
static int take_whole(struct csv_reader *reader, const struct cell *cell, const char *text, uint64_t *bits)
{
	const uint64_t all = cell->size < 8 ? ((uint64_t)1 << 8 * cell->size) - 1 : UINT64_MAX;
	const uint64_t lowest = cell->type == 'i' ? all / 2 + 1 : 0, highest = cell->type == 'i' ? all / 2 : all;
	const int negative = lowest && *text == '-';
	if (whole_number(text + negative, bits) || *bits > (negative ? lowest : highest)) {
		char want[80];
		snprintf(want, sizeof want, "a whole number from %s%" PRIu64 " to %" PRIu64, lowest ? "-" : "", lowest,
			highest);
		return bad_cell(reader, cell, text, want);
	}
	if (negative)
		*bits = -*bits;
	return NB_OK;
}

static void store_real(const struct cell *cell, void *to, double x)
{
	if (cell->size == sizeof x)
		memcpy(to, &x, sizeof x);
	else
		memcpy(to, &(float){(float)x}, sizeof(float));
}

static int store_cell(struct csv_reader *reader, const struct cell *cell, const char *text, struct row_time *when)
{
	double x;
	uint64_t bits;
	int status;
	char *to = cell->kind < CELL_FRAME
			   ? (char *)nb_rows_at(&reader->rows, cell->column, reader->rows.n) + cell->offset
			   : NULL;
	switch (cell->kind) {
	case CELL_REAL:
		status = take_real(reader, cell, text, &x);
		if (!status)
			store_real(cell, to, x);
		return status;
	case CELL_WHOLE:
		status = take_whole(reader, cell, text, &bits);
		if (!status)
			memcpy(to, &bits, cell->size); /* little-endian */
		return status;
	case CELL_FREE:
		if (free_number(text, &x))
			return bad_cell(reader, cell, text, "a number (the first row has one)");
		memcpy(to, &x, sizeof x);
		return NB_OK;
	case CELL_TEXT:
		status = nb_rows_text(&reader->rows, cell->column, text, strlen(text));
		if (status == NB_ELIMIT)
			return nb_lines_fail(&reader->lines, "text in column '%s' is too long", cell->name);
		return status ? nb_lines_fail(&reader->lines, "out of memory") : NB_OK;
	case CELL_FRAME: return take_whole(reader, cell, text, &when->frame);
	case CELL_TIME: return take_real(reader, cell, text, &when->time);
	}
	return NB_EINVAL;
}

/* The first row decides whether a column that no one knows is a number or text. */
static int place_unknown(struct csv_reader *reader, size_t i, const char *text, int quoted)
{
	struct cell *cell = &reader->cell[i];
	double x;
	if (cell->kind != CELL_FREE)
		return NB_OK;
	if (quoted || free_number(text, &x))
		cell->kind = CELL_TEXT;
	cell->column = reader->rows.ncolumn;
	return add_column(reader, -1, cell->kind == CELL_TEXT ? TEXT_WIDTH : sizeof(double))
		       ? nb_lines_fail(&reader->lines, "out of memory")
		       : NB_OK;
}

/* One line into row n. */
static int read_row(struct csv_reader *reader, char *line, struct row_time *when)
{
	struct nb_lines *lines = &reader->lines;
	size_t i = 0;
	if (nb_rows_reserve(&reader->rows))
		return nb_lines_fail(lines, "out of memory");
	for (size_t c = 0; reader->dim == 2 && c < reader->rows.ncolumn; c++) /* z and its like are 0 */
		memset(nb_rows_at(&reader->rows, c, reader->rows.n), 0, reader->rows.column[c].rowsize);
	for (; line && i < reader->ncell; i++) {
		char *text;
		int quoted, bad;
		line = take_cell(line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted cell has no closing quote");
		char *bare = without_guard(reader, text);
		quoted |= bare != text; /* programs that save it may leave out the quotes */
		text = bare;
		if (!reader->first_row_seen && place_unknown(reader, i, text, quoted))
			return NB_EINVAL;
		if (store_cell(reader, &reader->cell[i], text, when))
			return NB_EINVAL;
	}
	if (i < reader->ncell)
		return nb_lines_fail(lines, "%zu cells (the header has %zu)", i, reader->ncell);
	if (line) {
		char *text;
		int quoted, bad;
		for (; line; i++)
			line = take_cell(line, &text, &quoted, &bad);
		return nb_lines_fail(lines, "%zu cells (the header has %zu)", i, reader->ncell);
	}
	reader->first_row_seen = 1;
	return NB_OK;
}

static int make_frame(struct csv_reader *reader, struct nb_frame *frame)
{
	struct nb_rows *rows = &reader->rows;
	frame->rows[NB_PARTICLE] = rows->n;
	if (nb_frame_set_attribute_f64(frame, "time", reader->has_time ? reader->time : 0) ||
		nb_frame_set_attribute(frame, "dim", reader->dim == 2 ? "2" : "3"))
		return NB_ENOMEM;
	if (!reader->has_id) {
		struct nb_column *column = nb_frame_add_field(frame, NB_ID, NULL, 0);
		uint64_t *id = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		if (!id)
			return NB_ENOMEM;
		for (size_t i = 0; i < rows->n; i++)
			id[i] = i;
	}
	/* in the order of the header */
	for (size_t i = 0; i < reader->ncell; i++) {
		const struct cell *cell = &reader->cell[i];
		const size_t c = cell->column;
		if (cell->kind >= CELL_FRAME || !rows->column[c].data)
			continue; /* no column of the frame, or the vector has been given already */
		const int field = reader->field[c];
		char dtype[NB_DTYPE_SIZE + 1] = "<f8";
		if (cell->kind == CELL_TEXT)
			snprintf(dtype, sizeof dtype, "|S%zu", rows->column[c].rowsize);
		const char *own = cell->kind == CELL_TEXT ? dtype : NULL; /* texts are as wide as the longest */
		struct nb_column *column = field >= 0 ? nb_frame_add_field(frame, (enum nb_field)field, own, 0)
						      : nb_frame_add(frame, cell->name, NB_PARTICLE, dtype, 1, "", 0);
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
	for (size_t c = 0; !status && c < rows->ncolumn; c++) {
		status = nb_rows_add(&next, rows->column[c].rowsize);
		if (!status && with_next)
			memcpy(nb_rows_at(&next, c, 0), nb_rows_at(rows, c, rows->n), rows->column[c].rowsize);
	}
	if (!status)
		status = make_frame(reader, frame);
	nb_rows_clear(rows);
	*rows = next;
	return status;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct csv_reader *reader = in->state;
	struct nb_lines *lines = &reader->lines;
	if (reader->ended)
		return NB_END;
	reader->rows.n = (size_t)reader->carried;
	reader->carried = 0;
	char *line;
	while ((line = next_line(lines))) {
		struct row_time when = {reader->frame_number, reader->time};
		if (read_row(reader, line, &when))
			return NB_ERROR;
		int first = reader->frames_begun == 0, new_frame = !first && when.frame != reader->frame_number;
		if (new_frame && when.frame < reader->frame_number) {
			nb_lines_fail(lines, "frame %" PRIu64 " after frame %" PRIu64 " (sort the rows by frame)",
				when.frame, reader->frame_number);
			return NB_ERROR;
		}
		if (!first && !new_frame && when.time != reader->time) {
			nb_lines_fail(lines, "time %g in a frame of time %g%s", when.time, reader->time,
				reader->has_frame ? "" : " (a column 'frame' is needed to begin another frame)");
			return NB_ERROR;
		}
		if (new_frame && finish_frame(reader, frame, 1)) {
			nb_lines_fail(lines, "out of memory");
			return NB_ERROR;
		}
		reader->frame_number = when.frame;
		reader->time = when.time;
		reader->frames_begun += first || new_frame;
		if (new_frame) {
			reader->carried = 1;
			return NB_FRAME;
		}
		reader->rows.n++;
	}
	if (nb_lines_failed(lines))
		return NB_ERROR;
	reader->ended = 1;
	if (reader->frames_begun == 0 && reader->has_frame)
		return NB_END; /* a header alone has no frame */
	for (size_t i = 0; i < reader->ncell && !reader->first_row_seen; i++)
		if (place_unknown(reader, i, "", 0)) /* no row says what they are: numbers */
			return NB_ERROR;
	if (finish_frame(reader, frame, 0)) {
		nb_lines_fail(lines, "out of memory");
		return NB_ERROR;
	}
	return NB_FRAME;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* A line has a place for numbers and text. */
static int is_written(const struct nb_column *column)
{
	return column->table == NB_PARTICLE && (nb_dtype_is_number(column->dtype) || column->dtype[1] == 'S');
}

static int holds(const struct nb_frame *frame, struct nb_column *column)
{
	(void)frame;
	return is_written(column);
}

/* The name of component k; 0 if it is left out because dim is 2. */
static int name_of(const struct nb_frame *frame, const struct nb_column *column, uint32_t k, char *to, size_t size)
{
	const int field = field_of(column);
	char name[NB_NAME_SIZE + 1];
	int flat;
	if (field >= 0 && component_name(field, k, name, &flat)) {
		const char *dim = nb_frame_attribute(frame, "dim");
		snprintf(to, size, "%s", name);
		return !(flat && dim && strcmp(dim, "2") == 0);
	}
	if (column->ncomp == 1)
		snprintf(to, size, "%s", column->name);
	else
		snprintf(to, size, "%s_%" PRIu32, column->name, k);
	return 1;
}

/* What comes before a text that a spreadsheet would compute, or that begins with an apostrophe already; else "". */
static const char *guard(int safe, const char *text, size_t length)
{
	return safe && length && strchr("=+-@\t\r'", *text) ? "'" : "";
}

/* In quotes where it must be.  Returns the length. */
static size_t quote_name(int safe, const char *name, char *to, size_t size)
{
	const char *before = guard(safe, name, strlen(name));
	if (!strpbrk(name, ",\"") && !*before)
		return (size_t)snprintf(to, size, "%s", name);
	size_t used = (size_t)snprintf(to, size, "\"%s", before);
	for (const char *c = name; *c && used + 3 < size; c++) {
		if (*c == '"')
			to[used++] = '"';
		to[used++] = *c;
	}
	to[used++] = '"';
	to[used] = '\0';
	return used;
}

/* The header line of a frame, without the line end; from malloc. */
static char *header_of(const struct nb_export *out, const struct nb_frame *frame)
{
	enum { LONGEST = NB_NAME_SIZE + 16, NAME_ROOM = 2 * LONGEST + 8 };
	size_t ncell = 2;
	for (size_t c = 0; c < frame->ncolumn; c++)
		ncell += is_written(&frame->column[c]) ? frame->column[c].ncomp : 0;
	char *header = malloc(ncell * NAME_ROOM + 1);
	if (!header)
		return NULL;
	strcpy(header, out->several ? "frame,time" : "");
	size_t used = strlen(header);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		for (uint32_t k = 0; is_written(column) && k < column->ncomp; k++) {
			char name[LONGEST];
			if (!name_of(frame, column, k, name, sizeof name))
				continue;
			if (used)
				header[used++] = ',';
			used += quote_name(out->safe, name, header + used, NAME_ROOM);
		}
	}
	return header;
}

/* Up to the comma behind a name, or the end; one in quotes may have commas in it. */
static size_t name_length(const char *name)
{
	size_t length = 0;
	for (int quoted = 0; name[length] && (quoted || name[length] != ','); length++)
		quoted ^= name[length] == '"';
	return length;
}

/* A name that appears twice, e.g. because an unknown column is called x: into twice, at most size bytes. */
static int has_twins(const char *header, char *twice, size_t size)
{
	for (const char *a = header; *a;) {
		size_t length = name_length(a);
		for (const char *b = a + length; *b;) {
			b++;
			size_t other = name_length(b);
			if (other == length && strncmp(a, b, length) == 0) {
				snprintf(twice, size, "%.*s", (int)length, a);
				return 1;
			}
			b += other;
		}
		a += length + (a[length] == ',');
	}
	return 0;
}

/* What one frame was like, all are. */
struct csv_writer {
	char *header;
};

static int begin(struct nb_export *out, const struct nb_frame *first)
{
	struct csv_writer *writer = out->state;
	char twice[NB_NAME_SIZE + 16];
	writer->header = header_of(out, first);
	if (!writer->header)
		return NB_ENOMEM;
	if (has_twins(writer->header, twice, sizeof twice))
		return nb_export_fail(out, "two columns would be called '%s' in csv", twice);
	return nb_output_text(out->output, writer->header) || nb_output_text(out->output, "\n") ? -1 : NB_OK;
}

static void release(struct nb_export *out)
{
	struct csv_writer *writer = out->state;
	free(writer->header);
}

/* Where the cells of a column of text come from: component k of a column, one of the three pointers. */
struct source {
	const double *real;
	const uint64_t *whole; /* is_signed says how to read it */
	const char *text;
	int is_signed, safe;
	size_t ncomp, k, width; /* width: of a component of text */
};

static int read_column(struct nb_column *column, struct source *source)
{
	const int wide = strcmp(column->dtype, "<u8") == 0 || strcmp(column->dtype, "<i8") == 0;
	const int text = column->dtype[1] == 'S';
	const void *data = nb_column_read(column, &nb_space_host, wide || text ? NB_WIRE : NB_AS_F64);
	*source = (struct source){
		.is_signed = column->dtype[1] == 'i', .ncomp = column->ncomp, .width = column->rowsize / column->ncomp};
	if (wide)
		source->whole = data;
	else if (text)
		source->text = data;
	else
		source->real = data;
	return data ? NB_OK : NB_ENOMEM;
}

/* A component that is left out because dim is 2 must be 0. */
static int refuse_third(struct nb_export *out, const struct nb_column *column, const struct source *source)
{
	for (size_t i = 0; source->real && i < column->rows; i++) {
		const double x = source->real[i * source->ncomp + source->k];
		if (x != 0)
			return nb_export_fail(out, "attribute dim is 2, but row %zu of '%s' has a third component %g",
				i, column->name, x);
	}
	return NB_OK;
}

static int refuse_control(struct nb_export *out, const struct nb_column *column, const struct source *source)
{
	for (size_t i = 0; source->text && i < column->rows * column->rowsize; i++)
		if (source->text[i] && nb_text_is_control(source->text[i]))
			return nb_export_fail(out, "text in row %zu of '%s' has a control character",
				i / column->rowsize, column->name);
	return NB_OK;
}

/* Adds the components of a column that are written to source[*n] and on. */
static int add_sources(
	struct nb_export *out, const struct nb_frame *frame, struct nb_column *column, struct source *source, size_t *n)
{
	struct source one;
	char name[NB_NAME_SIZE + 16];
	int status = read_column(column, &one);
	for (uint32_t k = 0; !status && k < column->ncomp; k++) {
		one.k = k;
		one.safe = out->safe;
		if (name_of(frame, column, k, name, sizeof name))
			source[(*n)++] = one;
		else
			status = refuse_third(out, column, &one);
	}
	return status ? status : refuse_control(out, column, &one);
}

static int put_text(struct nb_output *out, const char *text, size_t width, int safe)
{
	size_t length = strnlen(text, width);
	if (nb_output_bytes(out, "\"", 1) || nb_output_text(out, guard(safe, text, length)))
		return -1;
	for (size_t i = 0; i < length; i++)
		if ((text[i] == '"' && nb_output_bytes(out, "\"", 1)) || nb_output_bytes(out, &text[i], 1))
			return -1;
	return nb_output_bytes(out, "\"", 1);
}

static int put_cell(struct nb_output *out, const struct source *source, size_t i)
{
	const size_t at = i * source->ncomp + source->k;
	char digits[24];
	if (source->real)
		return nb_output_f64(out, source->real[at]);
	if (source->text)
		return put_text(out, source->text + at * source->width, source->width, source->safe);
	int length = source->is_signed ? snprintf(digits, sizeof digits, "%" PRId64, (int64_t)source->whole[at])
				       : snprintf(digits, sizeof digits, "%" PRIu64, source->whole[at]);
	return nb_output_bytes(out, digits, (size_t)length);
}

static int put_rows(struct nb_output *out, size_t n, const struct source *source, size_t nsource, const char *prefix)
{
	for (size_t i = 0; i < n; i++) {
		if (nb_output_text(out, prefix))
			return -1;
		for (size_t s = 0; s < nsource; s++)
			if (((s || *prefix) && nb_output_bytes(out, ",", 1)) || put_cell(out, &source[s], i))
				return -1;
		if (nb_output_bytes(out, "\n", 1))
			return -1;
	}
	return NB_OK;
}

static int put_frame(struct nb_export *out, const struct nb_frame *frame, struct source *source)
{
	size_t n = 0;
	int status = NB_OK;
	for (size_t c = 0; !status && c < frame->ncolumn; c++)
		if (is_written(&frame->column[c]))
			status = add_sources(out, frame, &frame->column[c], source, &n);
	if (status)
		return status;
	char prefix[2 * NB_DECIMAL_SIZE] = "";
	double time = 0;
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	if (out->several) {
		int length = snprintf(prefix, NB_DECIMAL_SIZE, "%" PRIu64 ",", out->nframe);
		nb_decimal_write(time, prefix + length);
	}
	return put_rows(out->output, frame->rows[NB_PARTICLE], source, n, prefix);
}

static int write_frame(struct nb_export *out, const struct nb_frame *frame)
{
	const struct csv_writer *writer = out->state;
	size_t most = 1;
	for (size_t c = 0; c < frame->ncolumn; c++)
		most += is_written(&frame->column[c]) ? frame->column[c].ncomp : 0;
	char *header = header_of(out, frame);
	struct source *source = calloc(most, sizeof *source);
	int status = header && source ? NB_OK : NB_ENOMEM;
	if (!status && strcmp(header, writer->header) != 0)
		status = nb_export_fail(out, "its columns differ from those of the frames before");
	if (!status)
		status = put_frame(out, frame, source);
	free(source);
	free(header);
	return status;
}

const struct nb_format nb_format_csv = {
	.name = "csv",
	.about = "csv text",
	.place = 2,
	.traits = NB_MANY_FRAMES | NB_LOSES_EMPTY | NB_LOSES_G | NB_LOSES_KICK | NB_LOSES_TIME_OF_ONE | NB_FORMULAS,
	.G = 1,
	.import_size = sizeof(struct csv_reader),
	.open = open_csv,
	.next = next,
	.close = close_csv,
	.export_size = sizeof(struct csv_writer),
	.begin = begin,
	.frame = write_frame,
	.release = release,
	.holds = holds,
};
