#include "formats/exchange/csv.h"

#include "common/decimal.h"
#include "common/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 40, TEXT_WIDTH = 32 };

/* The vector fields and the names of their components. */
static const struct {
	enum nb_field field;
	const char *name[3];
} vector[] = {{NB_POS, {"x", "y", "z"}}, {NB_VEL, {"vx", "vy", "vz"}}, {NB_ACC, {"ax", "ay", "az"}},
	{NB_JERK, {"jx", "jy", "jz"}}};
enum { NVECTOR = sizeof vector / sizeof *vector };

static const enum nb_field scalar[] = {NB_ID, NB_MASS, NB_POT, NB_KEY, NB_RADIUS, NB_SPECIES};
enum { NSCALAR = sizeof scalar / sizeof *scalar };

enum cell_kind {
	CELL_F64,      /* a finite number of a known field */
	CELL_POSITIVE, /* the same, >= 0 */
	CELL_U64,
	CELL_U8,
	CELL_FREE, /* any number, or nothing */
	CELL_TEXT,
	CELL_FRAME,
	CELL_TIME
};

struct nb_csv_cell {
	char name[NB_NAME_SIZE + 1];
	enum cell_kind kind;
	size_t column; /* in rows */
	size_t offset; /* in the row */
};

/* ---- cells of a line ---------------------------------------------------------------------------- */

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

/* ---- header ------------------------------------------------------------------------------------- */

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
static int add_column(struct nb_csv_reader *reader, int field, size_t rowsize)
{
	int *grown = realloc(reader->field, (reader->rows.ncolumn + 1) * sizeof *grown);
	if (!grown)
		return NB_ENOMEM;
	reader->field = grown;
	grown[reader->rows.ncolumn] = field;
	return nb_rows_add(&reader->rows, rowsize);
}

static struct nb_csv_cell *find_cell(const struct nb_csv_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->ncell; i++)
		if (strcmp(reader->cell[i].name, name) == 0)
			return &reader->cell[i];
	return NULL;
}

/* The names that this file knows, whatever their case in the header. */
static const char *known_name(const char *name)
{
	for (size_t v = 0; v < NVECTOR; v++)
		for (int k = 0; k < 3; k++)
			if (strcasecmp(name, vector[v].name[k]) == 0)
				return vector[v].name[k];
	for (size_t s = 0; s < NSCALAR; s++)
		if (strcasecmp(name, nb_field_info[scalar[s]].name) == 0)
			return nb_field_info[scalar[s]].name;
	return strcasecmp(name, "frame") == 0 ? "frame" : strcasecmp(name, "time") == 0 ? "time" : NULL;
}

static int take_name(struct nb_csv_reader *reader, const char *text)
{
	struct nb_lines *lines = reader->lines;
	const size_t place = reader->ncell + 1;
	const char *known = known_name(text);
	if (known)
		text = known;
	if (!*text)
		return nb_lines_fail(lines, "column %zu has no name", place);
	if (strlen(text) > NB_NAME_SIZE)
		return nb_lines_fail(lines, "name '%.*s...' of column %zu is longer than %d characters", SHOWN, text,
			place, NB_NAME_SIZE);
	struct nb_csv_cell cell = {{0}, CELL_FREE, 0, 0};
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
				"column '%s' is not one number a body (vectors are x,y,z  vx,vy,vz ...)", cell.name);
	struct nb_csv_cell *grown = realloc(reader->cell, (reader->ncell + 1) * sizeof *grown);
	if (!grown)
		return nb_lines_fail(lines, "out of memory");
	reader->cell = grown;
	grown[reader->ncell++] = cell;
	return NB_OK;
}

/* Vectors are complete or absent; pos must be there, and says how many dimensions there are. */
static int place_vectors(struct nb_csv_reader *reader)
{
	reader->dim = find_cell(reader, "z") ? 3 : 2;
	for (size_t v = 0; v < NVECTOR; v++) {
		int present = 0;
		for (int k = 0; k < 3; k++)
			present += find_cell(reader, vector[v].name[k]) != NULL;
		if (!present && v > 0)
			continue;
		for (int k = 0; k < 3; k++) {
			struct nb_csv_cell *cell = find_cell(reader, vector[v].name[k]);
			if (!cell && k < reader->dim)
				return nb_lines_fail(reader->lines, "column '%s' is missing", vector[v].name[k]);
			if (cell && k >= reader->dim)
				return nb_lines_fail(reader->lines, "column '%s' without a column 'z'", cell->name);
			if (cell)
				*cell = (struct nb_csv_cell){.kind = CELL_F64,
					.column = reader->rows.ncolumn,
					.offset = (size_t)k * sizeof(double)};
			if (cell)
				strcpy(cell->name, vector[v].name[k]);
		}
		if (add_column(reader, (int)vector[v].field, 3 * sizeof(double)))
			return nb_lines_fail(reader->lines, "out of memory");
	}
	return NB_OK;
}

static int place_scalars(struct nb_csv_reader *reader)
{
	for (size_t s = 0; s < NSCALAR; s++) {
		struct nb_csv_cell *cell = find_cell(reader, nb_field_info[scalar[s]].name);
		if (!cell)
			continue;
		size_t size = nb_dtype_size(nb_field_info[scalar[s]].dtype);
		cell->kind = scalar[s] == NB_ID || scalar[s] == NB_KEY	      ? CELL_U64
			     : scalar[s] == NB_SPECIES			      ? CELL_U8
			     : scalar[s] == NB_MASS || scalar[s] == NB_RADIUS ? CELL_POSITIVE
									      : CELL_F64;
		cell->column = reader->rows.ncolumn;
		if (add_column(reader, (int)scalar[s], size))
			return nb_lines_fail(reader->lines, "out of memory");
	}
	return NB_OK;
}

int nb_csv_open(struct nb_csv_reader *reader, struct nb_lines *lines)
{
	memset(reader, 0, sizeof *reader);
	reader->lines = lines;
	nb_rows_init(&reader->rows);
	char *line = next_line(lines);
	if (!line)
		return *lines->error
			       ? NB_EINVAL
			       : nb_lines_fail(lines, "the file is empty (want a header line: id,mass,x,y,z,...)");
	while (line) {
		char *text;
		int quoted, bad;
		line = take_cell(line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted name does not end");
		if (take_name(reader, text))
			return NB_EINVAL;
	}
	struct nb_csv_cell *frame = find_cell(reader, "frame"), *time = find_cell(reader, "time");
	reader->has_frame = frame != NULL;
	reader->has_time = time != NULL;
	reader->has_id = find_cell(reader, "id") != NULL;
	if (frame)
		frame->kind = CELL_FRAME;
	if (time)
		time->kind = CELL_TIME;
	return place_vectors(reader) || place_scalars(reader) ? NB_EINVAL : NB_OK;
}

void nb_csv_close(struct nb_csv_reader *reader)
{
	nb_rows_clear(&reader->rows);
	free(reader->cell);
	free(reader->field);
	reader->cell = NULL;
	reader->field = NULL;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static int bad_cell(struct nb_csv_reader *reader, const struct nb_csv_cell *cell, const char *text, const char *want)
{
	if (!*text)
		return nb_lines_fail(reader->lines, "column '%s' is empty (want %s)", cell->name, want);
	return nb_lines_fail(reader->lines, "'%.*s' in column '%s' is not %s", SHOWN, text, cell->name, want);
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

static int store_cell(
	struct nb_csv_reader *reader, const struct nb_csv_cell *cell, const char *text, struct row_time *when)
{
	double x;
	uint64_t whole;
	void *to = cell->kind < CELL_FRAME
			   ? (char *)nb_rows_at(&reader->rows, cell->column, reader->rows.n) + cell->offset
			   : NULL;
	switch (cell->kind) {
	case CELL_F64:
	case CELL_POSITIVE:
	case CELL_TIME: {
		const char *end = nb_decimal_read(text, &x);
		if (!end || *end || !isfinite(x))
			return bad_cell(reader, cell, text, "a finite number");
		if (cell->kind == CELL_POSITIVE && x < 0)
			return nb_lines_fail(reader->lines, "%s %g is negative", cell->name, x);
		if (cell->kind == CELL_TIME)
			when->time = x;
		else
			memcpy(to, &x, sizeof x);
		return NB_OK;
	}
	case CELL_U64:
	case CELL_FRAME:
		if (whole_number(text, &whole))
			return bad_cell(reader, cell, text, "a whole number from 0 to 18446744073709551615");
		if (cell->kind == CELL_FRAME)
			when->frame = whole;
		else
			memcpy(to, &whole, sizeof whole);
		return NB_OK;
	case CELL_U8:
		if (whole_number(text, &whole) || whole > 255)
			return bad_cell(reader, cell, text, "a whole number from 0 to 255");
		*(unsigned char *)to = (unsigned char)whole;
		return NB_OK;
	case CELL_FREE:
		if (free_number(text, &x))
			return bad_cell(reader, cell, text, "a number, as it is in the first row");
		memcpy(to, &x, sizeof x);
		return NB_OK;
	case CELL_TEXT: {
		int status = nb_rows_text(&reader->rows, cell->column, text, strlen(text));
		if (status == NB_ELIMIT)
			return nb_lines_fail(reader->lines, "text in column '%s' is too long", cell->name);
		return status ? nb_lines_fail(reader->lines, "out of memory") : NB_OK;
	}
	}
	return NB_EINVAL;
}

/* The first row decides whether a column that no one knows is a number or text. */
static int place_unknown(struct nb_csv_reader *reader, size_t i, const char *text, int quoted)
{
	struct nb_csv_cell *cell = &reader->cell[i];
	double x;
	if (cell->kind != CELL_FREE)
		return NB_OK;
	if (quoted || free_number(text, &x))
		cell->kind = CELL_TEXT;
	cell->column = reader->rows.ncolumn;
	return add_column(reader, -1, cell->kind == CELL_TEXT ? TEXT_WIDTH : sizeof(double))
		       ? nb_lines_fail(reader->lines, "out of memory")
		       : NB_OK;
}

/* z and its like of a file that has none */
static void flatten(struct nb_csv_reader *reader)
{
	for (size_t c = 0; c < reader->rows.ncolumn && reader->dim == 2; c++)
		if (reader->field[c] >= 0 && nb_field_info[reader->field[c]].ncomp == 3)
			((double *)nb_rows_at(&reader->rows, c, reader->rows.n))[2] = 0;
}

/* One line into row n. */
static int read_row(struct nb_csv_reader *reader, char *line, struct row_time *when)
{
	struct nb_lines *lines = reader->lines;
	size_t i = 0;
	if (nb_rows_reserve(&reader->rows))
		return nb_lines_fail(lines, "out of memory");
	for (; line && i < reader->ncell; i++) {
		char *text;
		int quoted, bad;
		line = take_cell(line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted cell does not end");
		if (!reader->first_row_seen && place_unknown(reader, i, text, quoted))
			return NB_EINVAL;
		if (store_cell(reader, &reader->cell[i], text, when))
			return NB_EINVAL;
	}
	if (i < reader->ncell)
		return nb_lines_fail(lines, "%zu cells, the header has %zu", i, reader->ncell);
	if (line) {
		char *text;
		int quoted, bad;
		for (; line; i++)
			line = take_cell(line, &text, &quoted, &bad);
		return nb_lines_fail(lines, "%zu cells, the header has %zu", i, reader->ncell);
	}
	flatten(reader);
	reader->first_row_seen = 1;
	return NB_OK;
}

static int make_frame(struct nb_csv_reader *reader, struct nb_frame *frame)
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
		const struct nb_csv_cell *cell = &reader->cell[i];
		const size_t c = cell->column;
		if (cell->kind >= CELL_FRAME || !rows->column[c].data)
			continue; /* no column of the frame, or the vector has been given already */
		const int field = reader->field[c];
		char dtype[NB_DTYPE_SIZE + 1] = "<f8";
		if (cell->kind == CELL_TEXT)
			snprintf(dtype, sizeof dtype, "|S%zu", rows->column[c].rowsize);
		struct nb_column *column = field >= 0 ? nb_frame_add_field(frame, (enum nb_field)field, NULL, 0)
						      : nb_frame_add(frame, cell->name, NB_PARTICLE, dtype, 1, "", 0);
		if (!column)
			return NB_ENOMEM;
		nb_rows_give(rows, c, column);
	}
	return NB_OK;
}

/* Gives the rows to the frame; a row behind them begins the next table. */
static int finish_frame(struct nb_csv_reader *reader, struct nb_frame *frame, int with_next)
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

enum nb_answer nb_csv_next(struct nb_csv_reader *reader, struct nb_frame *frame)
{
	struct nb_lines *lines = reader->lines;
	nb_frame_clear(frame);
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
			nb_lines_fail(lines,
				"frame %" PRIu64 " after frame %" PRIu64 " (the rows of a frame stand together)",
				when.frame, reader->frame_number);
			return NB_ERROR;
		}
		if (!first && !new_frame && when.time != reader->time) {
			nb_lines_fail(lines, "time %g in a frame of time %g%s", when.time, reader->time,
				reader->has_frame ? "" : " (a column 'frame' would begin another frame)");
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
	if (*lines->error)
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

int nb_csv_holds(const struct nb_column *column)
{
	return column->table == NB_PARTICLE && (nb_dtype_is_number(column->dtype) || column->dtype[1] == 'S');
}

static int vector_of(const struct nb_column *column)
{
	for (int v = 0; v < NVECTOR; v++)
		if (strcmp(column->name, nb_field_info[vector[v].field].name) == 0)
			return v;
	return -1;
}

static uint32_t components(const struct nb_frame *frame, const struct nb_column *column)
{
	const char *dim = nb_frame_attribute(frame, "dim");
	return vector_of(column) >= 0 && dim && strcmp(dim, "2") == 0 ? 2 : column->ncomp;
}

/* The name of component k, quoted where it must be. */
static size_t name_of(const struct nb_frame *frame, const struct nb_column *column, uint32_t k, char *to, size_t size)
{
	char name[NB_NAME_SIZE + 16];
	int v = vector_of(column);
	if (v >= 0)
		snprintf(name, sizeof name, "%s", vector[v].name[k]);
	else if (components(frame, column) == 1)
		snprintf(name, sizeof name, "%s", column->name);
	else
		snprintf(name, sizeof name, "%s_%" PRIu32, column->name, k);
	if (!strpbrk(name, ",\""))
		return (size_t)snprintf(to, size, "%s", name);
	size_t used = 0;
	to[used++] = '"';
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
static char *header_of(const struct nb_frame *frame, int with_frame)
{
	enum { NAME_ROOM = 2 * (NB_NAME_SIZE + 16) };
	size_t ncell = 2;
	for (size_t c = 0; c < frame->ncolumn; c++)
		ncell += nb_csv_holds(&frame->column[c]) ? components(frame, &frame->column[c]) : 0;
	char *header = malloc(ncell * NAME_ROOM + 1);
	if (!header)
		return NULL;
	strcpy(header, with_frame ? "frame,time" : "");
	size_t used = strlen(header);
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		for (uint32_t k = 0; nb_csv_holds(column) && k < components(frame, column); k++) {
			if (used)
				header[used++] = ',';
			used += name_of(frame, column, k, header + used, NAME_ROOM);
		}
	}
	return header;
}

/* A name that appears twice, e.g. because an unknown column is called x: into twice, at most size bytes. */
static int has_twins(const char *header, char *twice, size_t size)
{
	for (const char *a = header; *a;) {
		size_t length = strcspn(a, ",");
		for (const char *b = a + length; *b;) {
			b++;
			size_t other = strcspn(b, ",");
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

int nb_csv_begin(
	struct nb_csv_writer *writer, struct nb_text_out *out, const struct nb_frame *frame, int with_frame, char *why)
{
	char twice[NB_NAME_SIZE + 16];
	*writer = (struct nb_csv_writer){out, header_of(frame, with_frame), with_frame};
	if (!writer->header)
		return NB_ENOMEM;
	if (has_twins(writer->header, twice, sizeof twice)) {
		snprintf(why, NB_TEXT_ERROR_SIZE, "two columns would be called '%s' in csv", twice);
		return NB_EINVAL;
	}
	return nb_text_puts(out, writer->header) || nb_text_put(out, "\n", 1) ? -1 : NB_OK;
}

void nb_csv_end(struct nb_csv_writer *writer)
{
	free(writer->header);
	writer->header = NULL;
}

/* Where the numbers of a column are. */
struct source {
	const struct nb_column *column;
	uint32_t ncomp;
	const double *real;    /* or */
	const uint64_t *whole; /* or (then is_signed says how to read it) */
	const char *text;
	int is_signed;
};

static int source_of(const struct nb_frame *frame, struct nb_column *column, struct source *source)
{
	*source = (struct source){column, components(frame, column), NULL, NULL, NULL, column->dtype[1] == 'i'};
	int wide = strcmp(column->dtype, "<u8") == 0 || strcmp(column->dtype, "<i8") == 0;
	const void *data = nb_column_read(
		column, &nb_space_host, wide || column->dtype[1] == 'S' ? NB_WIRE : NB_AS_F64);
	if (wide)
		source->whole = data;
	else if (column->dtype[1] == 'S')
		source->text = data;
	else
		source->real = data;
	return data ? NB_OK : NB_ENOMEM;
}

/* What a line cannot hold: control characters, and a third dimension where there are said to be two. */
static int refuse(const struct source *source, size_t n, char *why)
{
	const struct nb_column *column = source->column;
	for (size_t i = 0; source->real && source->ncomp < column->ncomp && i < n; i++)
		if (source->real[3 * i + 2] != 0) {
			snprintf(why, NB_TEXT_ERROR_SIZE,
				"attribute dim is 2, but row %zu of '%s' has a third component %g", i, column->name,
				source->real[3 * i + 2]);
			return NB_EINVAL;
		}
	for (size_t i = 0; source->text && i < n * column->rowsize; i++)
		if (source->text[i] && nb_text_is_control(source->text[i])) {
			snprintf(why, NB_TEXT_ERROR_SIZE, "text in row %zu of '%s' has a control character",
				i / column->rowsize, column->name);
			return NB_EINVAL;
		}
	return NB_OK;
}

static int put_text(struct nb_text_out *out, const char *text, size_t width)
{
	size_t length = strnlen(text, width);
	if (nb_text_put(out, "\"", 1))
		return -1;
	for (size_t i = 0; i < length; i++)
		if ((text[i] == '"' && nb_text_put(out, "\"", 1)) || nb_text_put(out, &text[i], 1))
			return -1;
	return nb_text_put(out, "\"", 1);
}

static int put_cell(struct nb_text_out *out, const struct source *source, size_t i, uint32_t k)
{
	size_t at = i * source->column->ncomp + k;
	char digits[24];
	if (source->real)
		return nb_text_f64(out, source->real[at]);
	if (source->text) {
		size_t width = source->column->rowsize / source->column->ncomp;
		return put_text(out, source->text + at * width, width);
	}
	int length = source->is_signed ? snprintf(digits, sizeof digits, "%" PRId64, (int64_t)source->whole[at])
				       : snprintf(digits, sizeof digits, "%" PRIu64, source->whole[at]);
	return nb_text_put(out, digits, (size_t)length);
}

static int write_rows(
	struct nb_text_out *out, size_t n, const struct source *source, size_t nsource, const char *prefix)
{
	for (size_t i = 0; i < n; i++) {
		int cells = *prefix != '\0';
		if (nb_text_puts(out, prefix))
			return -1;
		for (size_t s = 0; s < nsource; s++)
			for (uint32_t k = 0; k < source[s].ncomp; k++)
				if ((cells++ && nb_text_put(out, ",", 1)) || put_cell(out, &source[s], i, k))
					return -1;
		if (nb_text_put(out, "\n", 1))
			return -1;
	}
	return 0;
}

int nb_csv_write(struct nb_csv_writer *writer, const struct nb_frame *frame, uint64_t number, char *why)
{
	char *header = header_of(frame, writer->with_frame);
	struct source *source = calloc(frame->ncolumn + 1, sizeof *source);
	size_t nsource = 0;
	int status = header && source ? NB_OK : NB_ENOMEM;
	if (!status && strcmp(header, writer->header) != 0) {
		snprintf(why, NB_TEXT_ERROR_SIZE, "its columns are not those of the frames before");
		status = NB_EINVAL;
	}
	for (size_t c = 0; !status && c < frame->ncolumn; c++) {
		if (!nb_csv_holds(&frame->column[c]))
			continue;
		status = source_of(frame, &frame->column[c], &source[nsource]);
		if (!status)
			status = refuse(&source[nsource++], frame->rows[NB_PARTICLE], why);
	}
	char prefix[2 * NB_DECIMAL_SIZE] = "";
	double time = 0;
	if (!status && nb_frame_attribute_f64(frame, "time", 0, &time)) {
		snprintf(why, NB_TEXT_ERROR_SIZE, "attribute time='%s' is not a number",
			nb_frame_attribute(frame, "time"));
		status = NB_EINVAL;
	}
	if (writer->with_frame) {
		int length = snprintf(prefix, NB_DECIMAL_SIZE, "%" PRIu64 ",", number);
		nb_decimal_write(time, prefix + length);
	}
	if (!status)
		status = write_rows(writer->out, frame->rows[NB_PARTICLE], source, nsource, prefix);
	free(source);
	free(header);
	return status;
}
