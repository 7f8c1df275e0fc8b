/* Tables as text: TSV, CSV, and numbers between blanks. */
#include "tools/nb-plot/plot.h"

#include "common/decimal.h"
#include "common/printable.h"
#include "formats/stream/stream.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_SIZE = 1 << 20, CELLS = 1024 };

struct reader {
	FILE *file;
	const char *name; /* of the file */
	uint64_t number;  /* of the line, from 1 */
	char separator;	  /* ' ': blanks */
	char *line, *cell[CELLS];
	size_t ncell;
};

static _Noreturn void fail(const struct reader *reader, const char *what)
{
	nb_die(NB_EXIT_FAILED, "%s line %" PRIu64 ": %s", reader->name, reader->number, what);
}

/* ---- cells -------------------------------------------------------------------------------------- */

/* The next line that is neither empty nor a comment: 1, or 0 at the end. */
static int next_line(struct reader *reader)
{
	char *line;
	do {
		errno = 0;
		reader->number++;
		line = fgets(reader->line, LINE_SIZE, reader->file);
		if (!line && ferror(reader->file))
			nb_die(NB_EXIT_FAILED, "read error in %s: %s", reader->name, strerror(errno));
		if (!line)
			return 0;
		const size_t n = strlen(line);
		if (n == 0 || (line[n - 1] != '\n' && !feof(reader->file)))
			fail(reader, reader->number == 1 && nb_foreign(line, 8) ? nb_foreign(line, 8)
				     : n + 1 < LINE_SIZE ? "has a NUL byte (is this a text file?)"
							 : "longer than a MiB (is this a text file?)");
		line[n - (line[n - 1] == '\n')] = '\0';
		if (n > 1 && line[n - 2] == '\r' && line[n - 1] == '\0')
			line[n - 2] = '\0';
		line += reader->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	} while (*line == '#' || line[strspn(line, " \t")] == '\0');
	reader->cell[0] = line;
	return 1;
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

void nb_plot_read_table(struct plot *plot, int fd, const char *name)
{
	struct reader reader = {.name = name};
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	reader.file = copy < 0 ? NULL : fdopen(copy, "r");
	reader.line = malloc(LINE_SIZE);
	if (!reader.file || !reader.line)
		nb_die(NB_EXIT_FAILED, "cannot read %s:", name);
	if (!next_line(&reader))
		nb_die(NB_EXIT_FAILED, "%s is empty (want a particle stream, or a table with a line of names)", name);
	else {
		unsigned char is_number[CELLS] = {0};
		double x;
		read_header(plot, &reader);
		for (size_t c = 0; c < plot->table.ncolumn; c++)
			is_number[c] = c >= reader.ncell || number_of(reader.cell[c], &x);
		nb_plot_choose(plot, is_number);
		plot->frame_column = 0;
		for (size_t c = 0; c < plot->table.ncolumn && nb_plot_is_profile(plot); c++)
			if (strcmp(plot->table.column[c].name, "frame") == 0)
				plot->frame_column = c + 1;
		nb_plot_bind(plot, 0); /* finds what columns are wanted */
		if (reader.ncell > 0)
			do {
				if (reader.ncell > plot->table.ncolumn)
					fail(&reader, "has more cells than the first");
				take_row(plot, &reader);
			} while (next_line(&reader) && (divide(&reader), 1));
	}
	fclose(reader.file);
	free(reader.line);
}

/* ---- streams ------------------------------------------------------------------------------------ */

int nb_plot_is_stream(int fd)
{
	unsigned char head[8];
	struct stat st;
	ssize_t n = -1;
	int end[2];
	if (fstat(fd, &st))
		return 0;
	if (S_ISREG(st.st_mode)) {
		n = pread(fd, head, sizeof head, lseek(fd, 0, SEEK_CUR));
	} else if (S_ISSOCK(st.st_mode)) {
		n = recv(fd, head, sizeof head, MSG_PEEK | MSG_WAITALL);
	} else if (S_ISFIFO(st.st_mode) && pipe2(end, O_CLOEXEC) == 0) { /* a copy of what is in a pipe stays there */
		n = tee(fd, end[1], sizeof head, 0);
		n = n > 0 ? read(end[0], head, (size_t)n) : n;
		close(end[0]);
		close(end[1]);
	}
	return n > 0 && nb_is_stream(head, (size_t)n);
}
