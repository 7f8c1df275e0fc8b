/* Rows of csv text: numbers and text of the cells of a line. */
#include "common/decimal.h"
#include "formats/exchange/csv/read.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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
	if (strchr(text, '#'))
		return nb_lines_fail(&reader->lines,
			"'%.*s' in column '%s' is not %s (comments behind cells: put \"sed 's/#.*//'\" before)", SHOWN,
			text, name, want);
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
	if (line && *nb_text_skip(line) == '#')
		return nb_lines_fail(&reader->lines, "a comment behind the cells (put \"sed 's/#.*//'\" before)");
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

int nb_csv_read_row(struct csv_reader *reader, char *line, struct row_time *when)
{
	struct nb_lines *lines = &reader->lines;
	size_t i = 0;
	if (nb_rows_reserve(&reader->rows, 1))
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
		if (!reader->first_row_seen && nb_csv_place_unknown(reader, cell, text, quoted))
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

int nb_csv_refuse_time(struct csv_reader *reader, const struct row_time *when)
{
	if (reader->rows.n == 0 || when->time == reader->time)
		return NB_OK;
	return nb_lines_fail(&reader->lines, "time %g in a frame of time %g%s", when->time, reader->time,
		reader->has_frame ? "" : " (a column 'frame' is needed to begin another frame)");
}
