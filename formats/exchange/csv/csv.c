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
#include "formats/exchange/csv/csv.h"
#include "common/decimal.h"
#include "common/mem.h"
#include "formats/exchange/rows.h"
#include "formats/exchange/subset.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40, TEXT_WIDTH = 32 };

enum cell_kind {
	CELL_UNKNOWN, /* the first row decides */
	CELL_REAL,    /* a finite number of a known field */
	CELL_WHOLE,
	CELL_FREE, /* any number, or nothing */
	CELL_TEXT,
	CELL_BYTES, /* as hexadecimal digits */
	CELL_FRAME,
	CELL_TIME,
	CELL_UNWANTED, /* of a column that is there, so as not to be missed, and dropped */
	CELL_SKIPPED
};

static const size_t NONE = SIZE_MAX;

struct cell {
	char raw[NB_CSV_NAME + 1];  /* as in the header */
	char name[NB_CSV_NAME + 1]; /* as it is meant */
	char unit[NB_UNIT_SIZE + 1];
	char known[2][NB_NAME_SIZE + 1]; /* what raw could mean, and what it is; "": nothing */
	enum cell_kind kind;
	int not_negative;
	char type;     /* of a whole number: 'u', 'i', 'b' */
	size_t size;   /* bytes of a number, or of one text of several */
	size_t column; /* in rows, or NONE */
	size_t offset; /* in the row */
};

/* A column of the frame to be. */
struct target {
	char name[NB_NAME_SIZE + 1];
	char dtype[NB_DTYPE_SIZE + 1];
	char unit[NB_UNIT_SIZE + 1];
	uint32_t ncomp, flags;
	int widens; /* one text for each body, as long as the longest */
};

struct csv_reader {
	struct nb_lines lines;
	struct nb_csv_said said;
	char separator;
	char shown[4];	   /* the same in quotes */
	char *pending;	   /* a line that has been read and not been used */
	struct cell *cell; /* of each cell of a line */
	size_t ncell;
	int trailing; /* the header ends with a separator */
	int by_list;  /* names come from the caller */
	struct nb_rows rows;
	struct target *target; /* of each column of rows */
	int dim;
	int has_frame, has_time, has_id;
	int has_gaps;			      /* components without a cell, which are 0 */
	int laid_out;			      /* cells, rows and targets belong to what was said */
	int first_row_seen;		      /* of this layout */
	char refused[NB_EXCHANGE_ERROR_SIZE]; /* what is wrong with a row that may be unwanted; "": nothing */
	int open;			      /* a frame has begun */
	double carried_time;
	int carried;	       /* row 0 belongs to the next frame already */
	uint64_t frame_number; /* of the frame that is being filled */
	double time;
	int next_begins; /* a comment has begun the next frame ... */
	uint64_t next_number;
	int next_anew;
	int ended;
};

static int no_memory(struct csv_reader *reader)
{
	return nb_lines_fail(&reader->lines, "out of memory");
}

static int too_many(struct csv_reader *reader)
{
	return nb_lines_fail(&reader->lines, "more than %d columns (choose some with '--fields')", NB_MAX_COLUMNS);
}

/* Behind the apostrophe that --safe-cells put there. */
static char *without_guard(const struct csv_reader *reader, char *text)
{
	return text + (reader->lines.in->safe && *text == '\'');
}

static const char *separator_name(struct csv_reader *reader)
{
	reader->shown[1] = reader->separator;
	return reader->separator == ','	   ? "a comma"
	       : reader->separator == '\t' ? "a tab"
	       : reader->separator == ';'  ? "a semicolon"
	       : reader->separator == ' '  ? "a blank"
					   : reader->shown;
}

static int wrong_count(struct csv_reader *reader, size_t ncell)
{
	return nb_lines_fail(&reader->lines, "%zu cells (the %s has %zu)%s%s", ncell,
		reader->by_list ? "list" : "header", reader->ncell, ncell == 1 ? "; what divides them is " : "",
		ncell == 1 ? separator_name(reader) : "");
}

/* ---- the names ---------------------------------------------------------------------------------- */

static struct cell *find_cell(const struct csv_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->ncell; i++)
		if (strcmp(reader->cell[i].name, name) == 0)
			return &reader->cell[i];
	return NULL;
}

/* A name of the header. */
static int take_name(struct csv_reader *reader, const char *text)
{
	struct nb_lines *lines = &reader->lines;
	const size_t place = reader->ncell + 1;
	if (!*text)
		return nb_lines_fail(lines, "column %zu has no name", place);
	if (strlen(text) > NB_CSV_NAME)
		return nb_lines_fail(lines, "name '%.*s...' of column %zu is longer than %d characters", SHOWN, text,
			place, NB_NAME_SIZE);
	struct cell cell = {.column = NONE};
	for (size_t i = 0; text[i]; i++) {
		if (!isascii((unsigned char)text[i]) || iscntrl((unsigned char)text[i]))
			return nb_lines_fail(lines, "name of column %zu is not plain ASCII", place);
		cell.raw[i] = text[i];
	}
	if (!nb_csv_meant(cell.raw, cell.known[0], cell.unit))
		*cell.known[0] = '\0';
	if (!nb_csv_known(cell.raw, cell.known[1]))
		*cell.known[1] = '\0';
	*cell.unit = '\0';
	if (reader->separator == ' ' && strchr("[(", *cell.raw))
		return nb_lines_fail(lines, "name '%.*s' of column %zu is a unit (write it without a blank, as x[kpc])",
			SHOWN, cell.raw, place);
	struct cell *grown = realloc(reader->cell, (reader->ncell + 1) * sizeof *grown);
	if (!grown)
		return no_memory(reader);
	reader->cell = grown;
	grown[reader->ncell++] = cell;
	return NB_OK;
}

/* The names in a line, which is changed. */
static int take_names(struct csv_reader *reader, char *line)
{
	struct nb_lines *lines = &reader->lines;
	while (line) {
		char *text;
		int quoted, bad;
		line = nb_csv_cell(reader->separator, line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted name has no closing quote");
		if (!line && !*text && !quoted && reader->ncell > 1) {
			reader->trailing = 1;
			break;
		}
		/* the index of pandas: a nameless first column, or what pandas calls one that it has read */
		const int is_index = !reader->by_list && reader->ncell == 0 && line &&
				     (!*text || strcmp(text, "Unnamed: 0") == 0);
		if (take_name(reader, is_index ? "index" : without_guard(reader, text)))
			return NB_EINVAL;
		if (reader->by_list && strcmp(text, "-") == 0)
			reader->cell[reader->ncell - 1].kind = CELL_SKIPPED;
	}
	return NB_OK;
}

static const char separators[] = ",\t; ";

/* What a line could be: cells that csv knows as x and y, and cells that are numbers. */
struct look {
	size_t ncell;
	int has_xy, has_number;
};

static int look_at(const char *line, char separator, struct look *look)
{
	char *copy = strdup(line), *text, known[NB_NAME_SIZE + 1], unit[NB_UNIT_SIZE + 1];
	if (!copy)
		return NB_ENOMEM;
	int quoted, bad, has_x = 0, has_y = 0;
	double x;
	*look = (struct look){0};
	for (char *p = copy; p; look->ncell++) {
		p = nb_csv_cell(separator, p, &text, &quoted, &bad);
		if (!p && !*text && !quoted && look->ncell > 0)
			break;
		text += *text == '\'';
		if (nb_csv_meant(text, known, unit)) {
			has_x |= strcmp(known, "x") == 0;
			has_y |= strcmp(known, "y") == 0;
		}
		look->has_number |= *text && !quoted && nb_csv_number(text, &x) == 0;
	}
	look->has_xy = has_x && has_y;
	free(copy);
	return NB_OK;
}

/* The separator by which the line is a header, if there is one, or the one that is given; what it is then. */
static int look_for_header(struct csv_reader *reader, const char *line, struct look *look)
{
	const char given = reader->lines.in->separator;
	reader->separator = given ? given : nb_csv_separator(line);
	int status = look_at(line, reader->separator, look);
	for (const char *s = separators; *s && !status && !look->has_xy && !given; s++) {
		struct look other;
		status = look_at(line, *s, &other);
		if (!status && other.has_xy) {
			reader->separator = *s;
			*look = other;
		}
	}
	return status ? no_memory(reader) : NB_OK;
}

/* The separator by which the line has as many cells as there are names. */
static int find_separator(struct csv_reader *reader, const char *line)
{
	struct look look;
	const char given = reader->lines.in->separator;
	reader->separator = given ? given : nb_csv_separator(line);
	for (const char *s = separators; *s && !given; s++) {
		if (look_at(line, *s, &look))
			return no_memory(reader);
		if (look.ncell == reader->ncell) {
			reader->separator = *s;
			break;
		}
	}
	return NB_OK;
}

/* The next line of data; comments are read.  NULL: the end, a failure, or a frame that a comment begins. */
static char *next_line(struct csv_reader *reader)
{
	char *line = reader->pending;
	reader->pending = NULL;
	while (!line && !reader->next_begins && (line = nb_lines_next_filled(&reader->lines))) {
		const char *begin = nb_text_skip(line);
		if (*begin != '#')
			break;
		line = NULL;
		switch (nb_csv_comment(&reader->lines, &reader->said, begin + 1, reader->rows.n > 0,
			&reader->next_number, &reader->next_anew)) {
		case NB_CSV_BAD: return NULL;
		case NB_CSV_FRAME: reader->next_begins = 1; break;
		case NB_CSV_REMARK:
		case NB_CSV_TAKEN: break;
		}
	}
	return line;
}

/* The lines before the first of data; *header is the last of them that could be a header, from malloc. */
static char *before_header(struct csv_reader *reader, char **header)
{
	struct nb_lines *lines = &reader->lines;
	char *line;
	while ((line = nb_lines_next_filled(lines)) != NULL && *nb_text_skip(line) == '#') {
		const char *text = nb_text_skip(line) + 1;
		struct look look;
		const enum nb_csv_comment answer = nb_csv_comment(
			lines, &reader->said, text, 0, &reader->next_number, &reader->next_anew);
		if (answer == NB_CSV_BAD)
			return NULL;
		if (answer == NB_CSV_FRAME && reader->open) {
			nb_lines_fail(lines, "frame %" PRIu64 " begins before the header line", reader->next_number);
			return NULL;
		}
		if (answer == NB_CSV_FRAME) {
			reader->open = 1;
			reader->frame_number = reader->next_number;
		}
		if (answer != NB_CSV_REMARK || reader->said.complete)
			continue;
		if (look_for_header(reader, text, &look))
			return NULL;
		if (look.has_xy) {
			free(*header);
			*header = strdup(text);
		}
	}
	return line;
}

/* Names from a comment, if the first line of data is none of names. */
static int header_of(struct csv_reader *reader, char *line, char *comment)
{
	struct look look;
	if (strchr(line, '\r'))
		return nb_lines_fail(&reader->lines, "lines end in CR alone (put \"tr '\\r' '\\n'\" before)");
	if (look_for_header(reader, line, &look))
		return NB_EINVAL;
	if (look.has_xy || (!comment && !look.has_number))
		return take_names(reader, line);
	if (!comment)
		return nb_lines_fail(&reader->lines,
			"numbers, but no header line before (name the columns, as by '--columns mass,x,y,z,vx,vy,vz')");
	if (look_for_header(reader, comment, &look) || take_names(reader, comment))
		return NB_EINVAL;
	reader->pending = line;
	return find_separator(reader, line);
}

static int names_from_list(struct csv_reader *reader, const char *list, char *line)
{
	char *copy = strdup(list);
	if (!copy)
		return no_memory(reader);
	reader->by_list = 1;
	reader->separator = ',';
	const int status = take_names(reader, copy);
	free(copy);
	reader->pending = line;
	return status ? status : find_separator(reader, line ? line : "");
}

static int read_header(struct csv_reader *reader)
{
	struct nb_lines *lines = &reader->lines;
	char *comment = NULL;
	char *line = before_header(reader, &comment);
	int status;
	if (nb_lines_failed(lines))
		status = NB_EINVAL;
	else if (reader->lines.in->columns)
		status = names_from_list(reader, reader->lines.in->columns, line);
	else if (line)
		status = header_of(reader, line, comment);
	else if (comment)
		status = header_of(reader, comment, NULL);
	else if (reader->said.complete && !reader->open)
		status = NB_OK, reader->ended = 1;
	else
		status = nb_lines_fail(lines, "the file is empty (want a header line: id,mass,x,y,z,...)");
	free(comment);
	return status;
}

/* ---- what the names mean ------------------------------------------------------------------------ */

/* The cells without a meaning so far whose name is that one (exact), or could be meant so: how many; the first in
 * *found, the second in *other. */
static size_t cells_for(
	struct csv_reader *reader, const char *name, int exact, struct cell **found, struct cell **other)
{
	size_t n = 0;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (*cell->name || cell->kind == CELL_SKIPPED || strcmp(cell->known[exact], name) != 0)
			continue;
		*(n ? other : found) = cell;
		n++;
	}
	return n;
}

static int find_meaning(struct csv_reader *reader, const char *name)
{
	struct nb_lines *lines = &reader->lines;
	struct cell *cell = NULL, *other = NULL;
	char known[NB_NAME_SIZE + 1];
	size_t n = find_cell(reader, name) ? 0 : cells_for(reader, name, 1, &cell, &other);
	if (n > 1)
		return nb_lines_fail(lines, "column '%s' appears twice", name);
	if (n == 0 && !find_cell(reader, name))
		n = cells_for(reader, name, 0, &cell, &other);
	if (n > 1)
		return nb_lines_fail(lines, "columns '%s' and '%s' could both be %s (call one of them so)", cell->raw,
			other->raw, name);
	if (n == 1 && nb_csv_meant(cell->raw, known, cell->unit) == NB_ELIMIT)
		return nb_lines_fail(lines, "the unit in '%s' is longer than %d characters", cell->raw, NB_UNIT_SIZE);
	if (n == 1)
		strcpy(cell->name, name);
	return NB_OK;
}

/* A name that csv does not know: that of a column, without blanks. */
static int keep_name(struct csv_reader *reader, struct cell *cell)
{
	struct nb_lines *lines = &reader->lines;
	char name[NB_CSV_NAME + 1];
	size_t i = 0;
	for (; cell->raw[i]; i++)
		name[i] = cell->raw[i] == ' ' ? '_' : cell->raw[i];
	name[i] = '\0';
	if (!nb_subset_needs(&lines->in->subset, name)) {
		cell->kind = CELL_SKIPPED;
		return NB_OK;
	}
	if (i > NB_NAME_SIZE)
		return nb_lines_fail(lines, "name '%.*s...' of column %zu is longer than %d characters", SHOWN, name,
			(size_t)(cell - reader->cell) + 1, NB_NAME_SIZE);
	if (find_cell(reader, name))
		return nb_lines_fail(lines, "column '%s' appears twice", name);
	if (nb_field_find(name))
		return nb_lines_fail(
			lines, "column '%s' is not a single number per body (vectors are x,y,z  vx,vy,vz ...)", name);
	strcpy(cell->name, name);
	return NB_OK;
}

/* Nothing is asked of the cells of a field that is not wanted. */
static void skip_cells(struct csv_reader *reader, const char *name)
{
	struct cell *cell, *other;
	while (cells_for(reader, name, 1, &cell, &other) || cells_for(reader, name, 0, &cell, &other))
		cell->kind = CELL_SKIPPED;
}

/* Names that the comments do not explain. */
static int understand_names(struct csv_reader *reader)
{
	char name[NB_NAME_SIZE + 1];
	int flat;
	size_t kept = 0;
	if (find_meaning(reader, "frame") || find_meaning(reader, "time"))
		return NB_EINVAL;
	for (int f = 0; f < NB_NFIELD; f++)
		for (uint32_t k = 0; nb_csv_component(f, k, name, &flat); k++)
			if (f != NB_POS && !nb_subset_needs(&reader->lines.in->subset, nb_field_info[f].name))
				skip_cells(reader, name);
			else if (find_meaning(reader, name))
				return NB_EINVAL;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (*cell->name || cell->kind == CELL_SKIPPED)
			continue;
		if (keep_name(reader, cell))
			return NB_EINVAL;
		kept += cell->kind != CELL_SKIPPED;
		if (kept > NB_MAX_COLUMNS)
			return too_many(reader);
	}
	return NB_OK;
}

/* ---- what the columns are ----------------------------------------------------------------------- */

/* Without a column id they count from 0, unless the text is complete and says nothing of ids. */
static int adds_ids(const struct csv_reader *reader)
{
	return !reader->has_id && !(reader->said.complete && !nb_frame_field(&reader->said.frame, NB_ID));
}

static int add_target(struct csv_reader *reader, const struct target *target)
{
	if (reader->rows.ncolumn == NB_MAX_COLUMNS)
		return too_many(reader);
	struct target *grown = realloc(reader->target, (reader->rows.ncolumn + 1) * sizeof *grown);
	if (!grown)
		return no_memory(reader);
	reader->target = grown;
	grown[reader->rows.ncolumn] = *target;
	const size_t rowsize = target->ncomp * nb_dtype_size(target->dtype);
	return nb_rows_add(&reader->rows, rowsize) ? no_memory(reader) : NB_OK;
}

/* The cell is component k of the column to be added next. */
static void describe_cell(struct csv_reader *reader, struct cell *cell, const struct target *target, uint32_t k)
{
	const struct nb_field_info *info = nb_field_find(target->name);
	cell->type = target->dtype[1];
	switch (cell->type) {
	case 'f': cell->kind = info ? CELL_REAL : CELL_FREE; break;
	case 'u':
	case 'i': cell->kind = CELL_WHOLE; break;
	case 'S': cell->kind = CELL_TEXT; break;
	default: cell->kind = CELL_BYTES;
	}
	if (cell->type != 'S' && !nb_dtype_is_number(target->dtype))
		cell->kind = CELL_BYTES;
	cell->not_negative = info && (info->traits & NB_NOT_NEGATIVE);
	cell->size = nb_dtype_size(target->dtype);
	cell->column = reader->rows.ncolumn;
	cell->offset = k * cell->size;
}

/* A column that the comments describe: its components are all in the header, or none of them. */
static int place_described(struct csv_reader *reader, const struct nb_column *column, size_t *hint)
{
	struct target target = {.ncomp = column->ncomp, .flags = column->flags};
	strcpy(target.name, column->name);
	strcpy(target.dtype, column->dtype);
	strcpy(target.unit, column->unit);
	target.widens = column->dtype[1] == 'S' && column->ncomp == 1;
	uint32_t present = 0, absent = 0;
	char name[NB_CSV_NAME + 1], missing[NB_CSV_NAME + 1] = "";
	int flat;
	for (uint32_t k = 0; k < column->ncomp; k++) {
		nb_csv_name(column, k, name, &flat);
		struct cell *cell = NULL;
		for (size_t i = 0; i < reader->ncell && !cell; i++, *hint = *hint + 1 < reader->ncell ? *hint + 1 : 0)
			if (!*reader->cell[*hint].name && reader->cell[*hint].kind != CELL_SKIPPED &&
				strcmp(reader->cell[*hint].raw, name) == 0)
				cell = &reader->cell[*hint];
		if (cell) {
			strcpy(cell->name, name);
			describe_cell(reader, cell, &target, k);
			present++;
		} else if (!flat) {
			absent++;
			strcpy(missing, name);
		}
		if (!present && absent > 1)
			break; /* it has been taken out of the table */
	}
	if (present && absent)
		return nb_lines_fail(&reader->lines, "column '%s' is missing ('%s' has %" PRIu32 " components)",
			missing, column->name, column->ncomp);
	reader->has_gaps |= present && present < column->ncomp;
	return present ? add_target(reader, &target) : NB_OK;
}

/* The components of a field are all there or all absent. */
static int place_field(struct csv_reader *reader, int field)
{
	const struct nb_field_info *info = &nb_field_info[field];
	struct target target = {.ncomp = info->ncomp, .flags = info->flags};
	const struct cell *first = NULL;
	char name[NB_NAME_SIZE + 1];
	int flat, present = 0;
	uint32_t k = 0;
	for (; nb_csv_component(field, k, name, &flat); k++) {
		const struct cell *cell = find_cell(reader, name);
		present += cell != NULL;
		first = first ? first : cell;
		if (cell && cell->column != NONE)
			return NB_OK; /* the comments have described it */
	}
	if (k == 0 || (!present && field != NB_POS))
		return NB_OK;
	strcpy(target.name, info->name);
	strcpy(target.dtype, info->dtype);
	strcpy(target.unit, first && *first->unit ? first->unit : info->unit);
	target.widens = info->dtype[1] == 'S';
	for (k = 0; nb_csv_component(field, k, name, &flat); k++) {
		struct cell *cell = find_cell(reader, name);
		flat &= reader->dim == 2;
		if (!cell && !flat)
			return nb_lines_fail(&reader->lines, "column '%s' is missing%s", name,
				present || field != NB_POS ? ""
							   : " (name it so, or name all columns with '--columns')");
		if (cell && flat)
			return nb_lines_fail(&reader->lines, "there is a column '%s' but no column 'z'", name);
		if (cell && strcmp(cell->unit, first->unit) != 0)
			return nb_lines_fail(
				&reader->lines, "columns '%s' and '%s' have different units", first->raw, cell->raw);
		if (cell)
			describe_cell(reader, cell, &target, k);
	}
	return add_target(reader, &target);
}

/* What each cell of a line becomes, from what the header and the comments say. */
static int lay_out(struct csv_reader *reader)
{
	size_t hint = 0;
	nb_rows_clear(&reader->rows);
	reader->has_gaps = 0;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		cell->kind = cell->kind == CELL_SKIPPED ? CELL_SKIPPED : CELL_UNKNOWN;
		cell->column = NONE;
		*cell->name = *cell->unit = '\0';
	}
	for (size_t c = 0; c < reader->said.frame.ncolumn; c++)
		if (place_described(reader, &reader->said.frame.column[c], &hint))
			return NB_EINVAL;
	if (understand_names(reader))
		return NB_EINVAL;
	struct cell *frame = find_cell(reader, "frame"), *time = find_cell(reader, "time");
	reader->has_frame = frame && frame->column == NONE;
	reader->has_time = time && time->column == NONE;
	reader->has_id = find_cell(reader, "id") != NULL;
	if (reader->has_frame) {
		frame->kind = CELL_FRAME;
		frame->type = 'u';
		frame->size = sizeof(uint64_t);
	}
	if (reader->has_time) {
		time->kind = CELL_TIME;
		time->size = sizeof(double);
	}
	const struct cell *z = find_cell(reader, "z");
	reader->dim = z && (z->column == NONE || strcmp(reader->target[z->column].name, "pos") == 0) ? 3 : 2;
	reader->has_gaps |= reader->dim == 2;
	for (int f = 0; f < NB_NFIELD; f++)
		if (place_field(reader, f))
			return NB_EINVAL;
	for (size_t i = 0; i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		if (cell->column != NONE &&
			!nb_subset_needs(&reader->lines.in->subset, reader->target[cell->column].name))
			cell->kind = CELL_UNWANTED;
	}
	reader->first_row_seen = 0;
	reader->laid_out = 1;
	return reader->rows.ncolumn == NB_MAX_COLUMNS && adds_ids(reader) ? too_many(reader) : NB_OK;
}

static int open_csv(struct nb_import *in)
{
	struct csv_reader *reader = in->state;
	nb_rows_init(&reader->rows);
	nb_frame_init(&reader->said.frame);
	strcpy(reader->shown, "' '");
	if (nb_lines_open(&reader->lines, in))
		return NB_ENOMEM;
	if (read_header(reader))
		return NB_EINVAL;
	in->complete = reader->said.complete;
	return reader->ended ? NB_OK : lay_out(reader);
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

/* ---- rows --------------------------------------------------------------------------------------- */

/* As 1,5: digits around a comma. */
static int has_decimal_comma(const char *text)
{
	text += *text == '-' || *text == '+';
	const size_t whole = strspn(text, "0123456789");
	return text[whole] == ',' && isdigit((unsigned char)text[whole + 1]);
}

static int bad_cell(struct csv_reader *reader, const struct cell *cell, const char *text, const char *want)
{
	const char *name = *cell->name ? cell->name : cell->raw;
	if (!*text)
		return nb_lines_fail(&reader->lines, "column '%s' is empty (want %s)", name, want);
	if (has_decimal_comma(text))
		return nb_lines_fail(&reader->lines,
			"'%.*s' in column '%s' is not %s (decimal comma: put 'tr , .' before)", SHOWN, text, name,
			want);
	if (strpbrk(text, " \t;") && *text != ' ')
		return nb_lines_fail(&reader->lines, "'%.*s' in column '%s' is not %s (what divides cells is %s)",
			SHOWN, text, name, want, separator_name(reader));
	return nb_lines_fail(&reader->lines, "'%.*s' in column '%s' is not %s%s", SHOWN, text, name, want,
		reader->by_list && !reader->first_row_seen
			? " (if this is a header line, take it off, as by 'tail -n +2', or leave out --columns)"
			: "");
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

/* 1, with the error set, if the number must not be negative and is. */
static int refuse_negative(struct csv_reader *reader, const struct cell *cell, double x)
{
	if (!cell->not_negative || x >= 0)
		return 0;
	nb_lines_fail(&reader->lines, "%s %g is negative", cell->name, x);
	return 1;
}

static int is_finite(const struct cell *cell, double x)
{
	return isfinite(x) && (cell->size != sizeof(float) || isfinite((float)x));
}

static int take_real(struct csv_reader *reader, const struct cell *cell, const char *text, double *x)
{
	const char *end = nb_decimal_read(text, x);
	if (!end || *end || !is_finite(cell, *x))
		return bad_cell(reader, cell, text,
			end && strchr("dD", *end) && *end ? "a finite number, with E where Fortran writes D"
							  : "a finite number");
	return refuse_negative(reader, cell, *x) ? NB_EINVAL : NB_OK;
}

/* Into *bits, of which the lowest are the number in its type. */
static int take_whole(struct csv_reader *reader, const struct cell *cell, const char *text, uint64_t *bits)
{
	const uint64_t all = cell->size < 8 ? ((uint64_t)1 << 8 * cell->size) - 1 : UINT64_MAX;
	const uint64_t lowest = cell->type == 'i' ? all / 2 + 1 : 0, highest = cell->type == 'i' ? all / 2 : all;
	const int negative = lowest && *text == '-';
	if (whole_number(text + negative, bits) || *bits > (negative ? lowest : highest)) {
		char want[128];
		snprintf(want, sizeof want, "a whole number from %s%" PRIu64 " to %" PRIu64 "%s", lowest ? "-" : "",
			lowest, highest, strcmp(cell->name, "id") == 0 ? " ('--fields' without id leaves it out)" : "");
		return bad_cell(reader, cell, text, want);
	}
	if (negative)
		*bits = -*bits;
	return NB_OK;
}

static int take_text(struct csv_reader *reader, const struct cell *cell, const char *text, char *to)
{
	const size_t length = strlen(text);
	int status = NB_OK;
	if (reader->target[cell->column].widens) {
		status = nb_rows_text(&reader->rows, cell->column, text, length);
	} else if (length > cell->size) {
		return nb_lines_fail(
			&reader->lines, "text in column '%s' is longer than %zu bytes", cell->name, cell->size);
	} else {
		memset(to, 0, cell->size);
		memcpy(to, text, length);
	}
	if (status == NB_ELIMIT)
		return nb_lines_fail(
			&reader->lines, "text in column '%s' is too long (choose others with '--fields')", cell->name);
	return status ? no_memory(reader) : NB_OK;
}

static int take_bytes(struct csv_reader *reader, const struct cell *cell, const char *text, char *to)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < cell->size; i++) {
		const char *high = text[0] ? strchr(digits, text[0]) : NULL;
		const char *low = high && text[1] ? strchr(digits, text[1]) : NULL;
		if (!low)
			break;
		to[i] = (char)(16 * (high - digits) + (low - digits));
		text += 2;
		if (i + 1 == cell->size && !*text)
			return NB_OK;
	}
	return nb_lines_fail(&reader->lines, "column '%s' wants %zu hexadecimal digits (0 to 9, a to f)", cell->name,
		2 * cell->size);
}

static void store_real(const struct cell *cell, void *to, double x)
{
	if (cell->size == sizeof x)
		memcpy(to, &x, sizeof x);
	else
		memcpy(to, &(float){(float)x}, sizeof(float));
}

static char *place_of(const struct csv_reader *reader, const struct cell *cell)
{
	return (char *)nb_rows_at(&reader->rows, cell->column, reader->rows.n) + cell->offset;
}

static int store_cell(struct csv_reader *reader, const struct cell *cell, const char *text, struct row_time *when)
{
	double x;
	uint64_t bits;
	int status;
	char *to = cell->column != NONE ? place_of(reader, cell) : NULL;
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
		if (nb_csv_number(text, &x))
			return bad_cell(reader, cell, text, "a number (the first row has one)");
		store_real(cell, to, x);
		return NB_OK;
	case CELL_TEXT: return take_text(reader, cell, text, to);
	case CELL_BYTES: return take_bytes(reader, cell, text, to);
	case CELL_FRAME: return take_whole(reader, cell, text, &when->frame);
	case CELL_TIME: return take_real(reader, cell, text, &when->time);
	case CELL_UNWANTED:
	case CELL_SKIPPED: return NB_OK;
	case CELL_UNKNOWN: break;
	}
	return NB_EINVAL;
}

/* The first row decides whether a column that no one knows is a number or text. */
static int place_unknown(struct csv_reader *reader, struct cell *cell, const char *text, int quoted)
{
	struct target target = {.ncomp = 1};
	double x;
	if (cell->kind != CELL_UNKNOWN)
		return NB_OK;
	target.widens = quoted || nb_csv_number(text, &x);
	strcpy(target.name, cell->name);
	if (target.widens)
		snprintf(target.dtype, sizeof target.dtype, "|S%d", TEXT_WIDTH);
	else
		strcpy(target.dtype, "<f8");
	describe_cell(reader, cell, &target, 0);
	return add_target(reader, &target);
}

/* A number of a known field, without looking for the end of its cell first.  Where the next cell begins, NULL behind
 * the last; line itself where it takes more. */
static char *store_number(struct csv_reader *reader, const struct cell *cell, char *line, int *failed)
{
	const char separator = reader->separator;
	double x;
	const char *begin = nb_csv_skip(separator, line);
	const char *end = nb_decimal_read(begin, &x);
	if (!end)
		return line;
	const char *after = nb_csv_skip(separator, end);
	if ((*after && *after != separator && (separator != ' ' || after == end)) || !is_finite(cell, x))
		return line;
	*failed = refuse_negative(reader, cell, x);
	store_real(cell, place_of(reader, cell), x);
	return *after ? (char *)after + (separator != ' ') : NULL;
}

/* What stands behind the last cell: nothing but a separator. */
static int refuse_rest(struct csv_reader *reader, char *line, size_t ncell)
{
	char *text = NULL;
	int quoted = 0, bad = 0;
	for (; line; ncell++)
		line = nb_csv_cell(reader->separator, line, &text, &quoted, &bad);
	if (ncell == reader->ncell + 1 && !*text && !quoted)
		return NB_OK;
	if (ncell == reader->ncell + 1 && reader->trailing)
		return nb_lines_fail(
			&reader->lines, "'%.*s' in column %zu, which has no name in the header", SHOWN, text, ncell);
	return wrong_count(reader, ncell);
}

/* A cell has been refused.  The rest of its row is read, which may say that nobody wants it: NB_EINVAL if it cannot. */
static int put_off(struct csv_reader *reader, const struct cell *cell)
{
	struct nb_import *in = reader->lines.in;
	if (cell->column == NONE || strcmp(cell->name, "species") == 0 || nb_subset_has_all(&in->subset))
		return NB_EINVAL;
	if (!*reader->refused)
		strcpy(reader->refused, in->error);
	*in->error = '\0';
	return NB_OK;
}

/* The end of a row in which a cell was refused. */
static int refuse_if_wanted(struct csv_reader *reader, const struct row_time *when)
{
	struct nb_import *in = reader->lines.in;
	const int begins = reader->open && when->frame != reader->frame_number;
	int wanted = nb_subset_row(&in->subset, begins ? 0 : reader->rows.n);
	for (size_t c = 0; c < reader->rows.ncolumn; c++)
		if (strcmp(reader->target[c].name, "species") == 0 && strcmp(reader->target[c].dtype, "|u1") == 0)
			wanted &= nb_subset_species(
				&in->subset, *(unsigned char *)nb_rows_at(&reader->rows, c, reader->rows.n));
	if (wanted)
		strcpy(in->error, reader->refused);
	*reader->refused = '\0';
	return wanted ? NB_EINVAL : NB_OK;
}

/* One line into row n. */
static int read_row(struct csv_reader *reader, char *line, struct row_time *when)
{
	struct nb_lines *lines = &reader->lines;
	size_t i = 0;
	if (nb_rows_reserve(&reader->rows))
		return no_memory(reader);
	for (size_t c = 0; reader->has_gaps && c < reader->rows.ncolumn; c++) /* z and its like are 0 */
		memset(nb_rows_at(&reader->rows, c, reader->rows.n), 0, reader->rows.column[c].rowsize);
	for (; line && i < reader->ncell; i++) {
		struct cell *cell = &reader->cell[i];
		char *text, *from = line;
		int quoted, bad, failed = 0;
		if (cell->kind == CELL_REAL) {
			line = store_number(reader, cell, line, &failed);
			if (failed && put_off(reader, cell))
				return NB_EINVAL;
			if (line != from)
				continue;
		}
		line = nb_csv_cell(reader->separator, line, &text, &quoted, &bad);
		if (bad)
			return nb_lines_fail(lines, "a quoted cell has no closing quote");
		char *bare = without_guard(reader, text);
		quoted |= bare != text; /* programs that save it may leave out the quotes */
		text = bare;
		if (!reader->first_row_seen && place_unknown(reader, cell, text, quoted))
			return NB_EINVAL;
		if (store_cell(reader, cell, text, when) && put_off(reader, cell))
			return NB_EINVAL;
	}
	if (i < reader->ncell)
		return wrong_count(reader, i);
	if (line && refuse_rest(reader, line, i))
		return NB_EINVAL;
	reader->first_row_seen = 1;
	return *reader->refused ? refuse_if_wanted(reader, when) : NB_OK;
}

/* ---- frames ------------------------------------------------------------------------------------- */

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
	if (!adds_ids(reader))
		return NB_OK;
	struct nb_column *column = nb_frame_add_field(frame, NB_ID, NULL, 0);
	uint64_t *id = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
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
		if (place_unknown(reader, &reader->cell[i], "", 0)) /* no row says what they are: numbers */
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
	if ((!reader->laid_out && lay_out(reader)) || read_row(reader, line, &when))
		return -1;
	const int begins = !reader->open, next = !begins && when.frame != reader->frame_number;
	if (next && when.frame < reader->frame_number) {
		nb_lines_fail(lines, "frame %" PRIu64 " after frame %" PRIu64 " (sort the rows by frame)", when.frame,
			reader->frame_number);
		return -1;
	}
	if (!next && reader->rows.n > 0 && when.time != reader->time) {
		nb_lines_fail(lines, "time %g in a frame of time %g%s", when.time, reader->time,
			reader->has_frame ? "" : " (a column 'frame' is needed to begin another frame)");
		return -1;
	}
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
		char *line = next_line(reader);
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
		if ((!reader->laid_out && lay_out(reader)) || finish_frame(reader, frame, line != NULL))
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
