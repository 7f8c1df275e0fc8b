/* The header line of csv text: names of cells, the separator, and the lines of comments between data. */
#include "formats/exchange/csv/read.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

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

/* What a line could be: cells that csv knows as x and y, cells that are numbers, and cells of anything else. */
struct look {
	size_t ncell;
	int has_xy, has_number, has_text;
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
		char *comma = separator == ',' ? NULL : strchr(text, ',');
		if (comma) /* as numbers are written in many countries */
			*comma = '.';
		const int is_number = *text && !quoted && nb_csv_number(text, &x) == 0;
		look->has_number |= is_number;
		look->has_text |= *text && !is_number;
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

size_t nb_csv_bare_numbers(const char *line)
{
	const char likely = nb_csv_separator(line);
	struct look look;
	for (size_t k = 0; k < sizeof separators; k++) {
		const char separator = k ? separators[k - 1] : likely;
		if (look_at(line, separator, &look) == NB_OK && look.has_number && !look.has_text)
			return look.ncell;
	}
	return 0;
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

char *nb_csv_next_line(struct csv_reader *reader)
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
	if (!comment) {
		const size_t columns = nb_csv_bare_numbers(line);
		return nb_lines_fail(&reader->lines,
			"numbers, but no header line before (name the columns, as by '--columns %s')",
			nb_likely_columns(columns ? columns : look.ncell));
	}
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

int nb_csv_read_header(struct csv_reader *reader)
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
