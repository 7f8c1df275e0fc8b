/* Tables as text: TSV, CSV, and numbers between blanks. */
#include "tools/nb-plot/plot.h"

#include "common/decimal.h"
#include "common/mem.h"
#include "common/printable.h"
#include "formats/stream/stream.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1 << 20, CELLS = 1024 };

struct reader {
	struct nb_reader *in;
	const char *name; /* of the file */
	uint64_t number;  /* of the line, from 1 */
	char separator;	  /* ' ': blanks */
	char *buffer;	  /* of LINE_SIZE bytes and a NUL */
	size_t begin, end;
	char *cell[CELLS];
	size_t ncell;
};

static _Noreturn void fail(const struct reader *reader, const char *what)
{
	nb_die(NB_EXIT_FAILED, "%s line %" PRIu64 ": %s", reader->name, reader->number, what);
}

/* ---- cells -------------------------------------------------------------------------------------- */

/* The next line, without LF or CR LF; NULL: the end. */
static char *any_line(struct reader *reader)
{
	char *newline;
	reader->number++;
	while (!(newline = memchr(reader->buffer + reader->begin, '\n', reader->end - reader->begin))) {
		memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
		reader->end -= reader->begin;
		reader->begin = 0;
		if (reader->end == LINE_SIZE)
			fail(reader, "longer than a MiB (is this a text file?)");
		const ssize_t n = nb_reader_raw(reader->in, reader->buffer + reader->end, LINE_SIZE - reader->end);
		if (n < 0 && errno != EINTR)
			nb_die(NB_EXIT_FAILED, "%s: read error: %s", reader->name, strerror(errno));
		if (n == 0 && reader->end == 0)
			return NULL;
		if (n == 0)
			reader->buffer[reader->end++] = '\n';
		reader->end += n > 0 ? (size_t)n : 0;
	}
	char *line = reader->buffer + reader->begin;
	const char *foreign = reader->number == 1 ? nb_foreign(line, (size_t)(newline - line)) : NULL;
	reader->begin = (size_t)(newline + 1 - reader->buffer);
	if (memchr(line, '\0', (size_t)(newline - line)))
		fail(reader, foreign ? foreign : "has a NUL byte (is this a text file?)");
	newline[newline > line && newline[-1] == '\r' ? -1 : 0] = '\0';
	return line + (reader->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* The next line that is neither empty nor a comment: 1, or 0 at the end. */
static int next_line(struct reader *reader)
{
	char *line;
	do
		line = any_line(reader);
	while (line && (*line == '#' || line[strspn(line, " \t")] == '\0'));
	reader->cell[0] = line;
	return line != NULL;
}

/* Divides a line into its cells; one in quotes may hold the separator, and "" for a quote. */
static void divide(struct reader *reader)
{
	const char separator = reader->separator;
	char *at = reader->cell[0];
	reader->ncell = 0;
	for (;;) {
		if (separator == ' ')
			at += strspn(at, " \t");
		if (separator == ' ' && !*at)
			return;
		if (reader->ncell == CELLS)
			fail(reader, "has more than 1024 columns");
		char *end = at;
		if (*at == '"') {
			char *to = at;
			for (end = at + 1; *end && (*end != '"' || end[1] == '"'); end++) {
				*to++ = *end;
				end += *end == '"';
			}
			if (!*end)
				fail(reader, "a quote is not closed");
			*to = '\0';
			end++;
		}
		reader->cell[reader->ncell++] = at;
		end += separator == ' ' ? strcspn(end, " \t") : strcspn(end, (char[]){separator, '\0'});
		if (!*end)
			return;
		*end = '\0';
		at = end + 1;
	}
}

/* 1 and the number, which is NaN for a cell that is empty or says that there is none; or 0. */
static int number_of(const char *cell, double *x)
{
	static const char *const none[] = {"", "-", "NA", "N/A", "nan", "NaN", "NAN", "-nan", "null", "absent"};
	cell += strspn(cell, " ");
	const char *end = nb_decimal_read(cell, x);
	if (end && end[strspn(end, " ")] == '\0')
		return 1;
	*x = NAN;
	for (size_t k = 0; k < sizeof none / sizeof *none; k++)
		if (strcmp(cell, none[k]) == 0)
			return 1;
	*x = *cell == '-' ? -INFINITY : INFINITY;
	cell += *cell == '-' || *cell == '+';
	return strcasecmp(cell, "inf") == 0 || strcasecmp(cell, "infinity") == 0;
}

/* ---- columns ------------------------------------------------------------------------------------ */

static struct column *add_column(struct table *table, const char *name)
{
	struct column *grown = nb_require_memory(NULL, realloc(table->column, (table->ncolumn + 1) * sizeof *grown));
	table->column = grown;
	grown += table->ncolumn++;
	*grown = (struct column){.value = NULL};
	snprintf(grown->name, sizeof grown->name, "%s", name);
	return grown;
}

/* "x [kpc]" is a column x in kpc; what is no letter or digit of a name is '_' in expressions. */
static void name_column(struct table *table, char *cell)
{
	char *unit = strchr(cell, '['), *close = unit ? strchr(unit, ']') : NULL;
	char unit_text[NB_EXPR_UNIT] = "";
	if (close && !close[1]) {
		snprintf(unit_text, sizeof unit_text, "%.*s", (int)(close - unit - 1), unit + 1);
		*unit = '\0';
	}
	cell += strspn(cell, " ");
	for (size_t n = strlen(cell); n > 0 && cell[n - 1] == ' ';)
		cell[--n] = '\0';
	for (char *c = cell; *c; c++)
		if ((unsigned char)*c < 0x80 && !(*c >= '0' && *c <= '9') && !((*c | 32) >= 'a' && (*c | 32) <= 'z'))
			*c = '_';
	strcpy(add_column(table, cell)->unit, unit_text);
}

static void read_header(struct plot *plot, struct reader *reader)
{
	const char *line = reader->cell[0];
	double x;
	int numbers = 1;
	reader->separator = strchr(line, '\t') ? '\t' : strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
	divide(reader);
	for (size_t c = 0; c < reader->ncell; c++)
		numbers &= number_of(reader->cell[c], &x) && *reader->cell[c];
	for (size_t c = 0; c < reader->ncell; c++) {
		char name[24];
		snprintf(name, sizeof name, "c%zu", c + 1);
		if (numbers)
			add_column(&plot->table, name);
		else
			name_column(&plot->table, reader->cell[c]);
	}
	if (numbers || !next_line(reader))
		reader->ncell = numbers ? reader->ncell : 0;
	else
		divide(reader);
}

static void take_row(struct plot *plot, const struct reader *reader)
{
	struct table *table = &plot->table;
	double frame;
	if (plot->frame_column && plot->frame_column <= reader->ncell &&
		number_of(reader->cell[plot->frame_column - 1], &frame) && frame != plot->frame) {
		plot->frame = frame;
		table->n = 0;
	}
	nb_plot_reserve(table);
	for (size_t c = 0; c < table->ncolumn; c++) {
		struct column *column = &table->column[c];
		if (!column->wanted)
			continue;
		const char *cell = c < reader->ncell ? reader->cell[c] : "";
		double *x = &column->value[table->n];
		if (column->is_text) {
			*x = nb_plot_group(plot, cell);
		} else if (!number_of(cell, x)) {
			char text[48];
			snprintf(text, sizeof text, "%s", cell);
			nb_make_printable(text);
			nb_die(NB_EXIT_FAILED,
				"%s line %" PRIu64 ": '%s' in column '%s' is no number (a column of texts is for --by)",
				reader->name, reader->number, text, column->name);
		}
	}
	table->n++;
}

void nb_plot_read_table(struct plot *plot, struct nb_reader *in, const char *name)
{
	struct reader reader = {.in = in, .name = name};
	unsigned char is_number[CELLS] = {0};
	double x;
	reader.buffer = plot->line = nb_require_memory(NULL, nb_alloc(LINE_SIZE + 1, 1));
	if (!next_line(&reader))
		nb_die(NB_EXIT_FAILED, "%s is empty (want a particle stream, or a table with a line of names)", name);
	read_header(plot, &reader);
	for (size_t c = 0; c < plot->table.ncolumn; c++)
		is_number[c] = c >= reader.ncell || number_of(reader.cell[c], &x);
	nb_plot_choose(plot, is_number);
	plot->frame_column = 0;
	for (size_t c = 0; c < plot->table.ncolumn && nb_plot_is_profile(plot); c++)
		if (strcmp(plot->table.column[c].name, "frame") == 0)
			plot->frame_column = c + 1;
	nb_plot_bind(plot, 0); /* finds what columns are wanted */
	for (int more = reader.ncell > 0; more; more = next_line(&reader) && (divide(&reader), 1)) {
		if (reader.ncell > plot->table.ncolumn)
			fail(&reader, "has more cells than the first");
		take_row(plot, &reader);
	}
	nb_free(plot->line);
	plot->line = NULL;
}
