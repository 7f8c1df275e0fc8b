/* The lines of csv text that begin with #. */
#include "formats/exchange/csv/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char key_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

int nb_csv_writes(const struct nb_column *column, int plain)
{
	return column->table == NB_PARTICLE && (!plain || nb_dtype_is_number(column->dtype) || column->dtype[1] == 'S');
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Escapes: a backslash, a line end, and \x.. for other controls.  Where it must be safe, also what may divide a line in
 * a spreadsheet, and what would be computed if a blank did. */
static void put_escaped(FILE *to, const char *text, int safe, char separator)
{
	for (const char *c = text; *c; c++) {
		const int divides = safe && (strchr(",;\t|", *c) || (*c == separator && *c != ' ') ||
						    (strchr("=+-@", *c) && (c == text || c[-1] == ' ')));
		if (*c == '\\')
			fputs("\\\\", to);
		else if (*c == '\n')
			fputs("\\n", to);
		else if (nb_text_is_control(*c) || divides)
			fprintf(to, "\\x%02x", (unsigned)(unsigned char)*c);
		else
			putc(*c, to);
	}
}

static int has_table(const struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].table != NB_PARTICLE)
			return 1;
	return 0;
}

char *nb_csv_describe(const struct nb_frame *frame, int safe, char separator)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	const int no_tree = has_table(frame); /* the table stays behind, and so does what describes it */
	for (size_t k = 0; k < frame->nattribute; k++) {
		const char *key = frame->attribute[k].key;
		if (no_tree && nb_attribute_is_of_tree(key))
			continue;
		fprintf(to, "# %s=", key);
		put_escaped(to, nb_frame_attribute_text(frame, k), safe, separator);
		putc('\n', to);
	}
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		if (!nb_csv_writes(column, 0))
			continue;
		fputs("# column ", to);
		put_escaped(to, column->name, safe, separator);
		fprintf(to, " %s %" PRIu32 " %" PRIu32 "%s", column->dtype, column->ncomp, column->flags,
			*column->unit ? " " : "");
		put_escaped(to, column->unit, safe, separator);
		putc('\n', to);
	}
	return nb_export_text(to, &text);
}

/* Up to and with the = of a line that is an attribute other than a line of the history; else 0. */
static size_t attribute_length(const char *line)
{
	const size_t length = 2 + strspn(line + 2, key_characters);
	return line[length] == '=' && strncmp(line + 2, "history=", 8) != 0 ? length + 1 : 0;
}

char *nb_csv_changes(const char *before, const char *now, int *anew)
{
	char *changes = malloc(strlen(now) + 1), *to = changes;
	if (!changes)
		return NULL;
	*anew = 0;
	for (const char *line = now; *line || *before;) {
		const size_t length = strcspn(line, "\n"), old = strcspn(before, "\n");
		const size_t key = *line && *before ? attribute_length(line) : 0;
		if (length == old && strncmp(line, before, length) == 0) {
			line += length + 1;
			before += old + 1;
			continue;
		}
		if (!key || strncmp(line, before, key) != 0) {
			*anew = 1;
			strcpy(changes, now);
			return changes;
		}
		memcpy(to, line, length + 1);
		to += length + 1;
		line += length + 1;
		before += old + 1;
	}
	*to = '\0';
	return changes;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text without escapes, from malloc; *bad: there is one that is none. */
static char *without_escapes(const char *text, size_t length, int *bad)
{
	char *plain = malloc(length + 1), *to = plain;
	*bad = 0;
	for (size_t i = 0; plain && i < length; i++) {
		char c = text[i];
		if (c == '\\' && i + 1 < length && (text[i + 1] == '\\' || text[i + 1] == 'n')) {
			c = text[++i] == 'n' ? '\n' : '\\';
		} else if (c == '\\') {
			const int high = i + 3 < length && text[i + 1] == 'x' ? hex_digit(text[i + 2]) : -1;
			const int low = high >= 0 ? hex_digit(text[i + 3]) : -1;
			*bad |= low < 0 || high + low == 0;
			c = (char)(16 * high + low);
			i += 3;
		}
		*to++ = c;
	}
	if (plain)
		*to = '\0';
	return plain;
}

static enum nb_csv_comment no_memory(struct nb_lines *lines)
{
	nb_lines_fail(lines, "out of memory");
	return NB_CSV_BAD;
}

static enum nb_csv_comment set_attribute(
	struct nb_lines *lines, struct nb_csv_said *said, const char *text, size_t key_length)
{
	char *key = strndup(text, key_length);
	const char *from = text + key_length + 1;
	size_t length = strlen(from);
	while (!said->complete && length && (from[length - 1] == ' ' || from[length - 1] == '\t'))
		length--;
	int bad = 0;
	char *value = said->complete ? without_escapes(from, length, &bad) : strndup(from, length);
	enum nb_csv_comment answer = NB_CSV_TAKEN;
	if (!key || !value) {
		answer = no_memory(lines);
	} else if (bad) {
		nb_lines_fail(
			lines, "attribute '%.40s' has a backslash that is no escape (want \\\\, \\n or \\x..)", key);
		answer = NB_CSV_BAD;
	} else if (strcmp(key, "history") == 0) {
		if (nb_frame_add_attribute(&said->frame, key, value))
			answer = no_memory(lines);
	} else if (!said->again && nb_frame_attribute(&said->frame, key)) {
		nb_lines_fail(lines, "attribute '%.40s' appears twice", key);
		answer = NB_CSV_BAD;
	} else if (nb_frame_set_attribute(&said->frame, key, value)) {
		answer = no_memory(lines);
	}
	free(key);
	free(value);
	return answer;
}

/* NAME TYPE COMPONENTS FLAGS [UNIT] */
static enum nb_csv_comment add_column(struct nb_lines *lines, struct nb_csv_said *said, const char *text)
{
	char dtype[NB_DTYPE_SIZE + 1], *name = NULL, *unit = NULL;
	uint32_t ncomp = 0, flags = 0;
	int used = 0, bad_name = 0, bad_unit = 0;
	enum nb_csv_comment answer = NB_CSV_TAKEN;
	const size_t length = strcspn(text, " ");
	int good = length > 0 &&
		   sscanf(text + length, " %8s %" SCNu32 " %" SCNu32 "%n", dtype, &ncomp, &flags, &used) == 3;
	if (good) {
		const char *rest = text + length + used;
		rest += *rest == ' ';
		name = without_escapes(text, length, &bad_name);
		unit = without_escapes(rest, strlen(rest), &bad_unit);
		if (!name || !unit) {
			answer = no_memory(lines);
			good = 0;
		}
	}
	if (answer == NB_CSV_TAKEN && good)
		good = !bad_name && !bad_unit && *name && strlen(name) <= NB_NAME_SIZE &&
		       strlen(unit) <= NB_UNIT_SIZE && nb_dtype_size(dtype) && ncomp >= 1 && ncomp <= 65536;
	for (const char *c = good ? name : ""; *c; c++)
		good &= *c > ' ' && *c <= '~';
	for (const char *c = good ? unit : ""; *c; c++)
		good &= *c >= ' ' && *c <= '~';
	const struct nb_field_info *info = good ? nb_field_find(name) : NULL;
	if (info)
		good = info->table == NB_PARTICLE && info->ncomp == ncomp && info->dtype[1] == dtype[1] &&
		       !(flags & ~info->flags & NB_DERIVED);
	flags |= info ? info->flags : 0;
	if (answer == NB_CSV_TAKEN && !good) {
		nb_lines_fail(lines, "'%.60s' describes no column (want NAME TYPE COMPONENTS FLAGS UNIT)", text);
		answer = NB_CSV_BAD;
	} else if (answer == NB_CSV_TAKEN && nb_frame_find(&said->frame, name)) {
		nb_lines_fail(lines, "column '%s' is described twice", name);
		answer = NB_CSV_BAD;
	} else if (answer == NB_CSV_TAKEN && said->frame.ncolumn == NB_MAX_COLUMNS) {
		nb_lines_fail(lines, "more than %d columns", NB_MAX_COLUMNS);
		answer = NB_CSV_BAD;
	} else if (answer == NB_CSV_TAKEN &&
		   !nb_frame_add(&said->frame, name, NB_PARTICLE, dtype, ncomp, unit, flags)) {
		answer = no_memory(lines);
	}
	free(name);
	free(unit);
	return answer;
}

/* "1" or "1 anew" */
static enum nb_csv_comment begin_frame(struct nb_lines *lines, const char *text, uint64_t *number, int *anew)
{
	char *end = NULL;
	errno = 0;
	*number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	*anew = end && strcmp(end, " anew") == 0;
	if (end && !errno && (!*end || *anew))
		return NB_CSV_FRAME;
	nb_lines_fail(lines, "'frame %.40s' is not the number of a frame", text);
	return NB_CSV_BAD;
}

enum nb_csv_comment nb_csv_comment(
	struct nb_lines *lines, struct nb_csv_said *said, const char *text, int late, uint64_t *number, int *anew)
{
	text = nb_text_skip(text);
	const size_t key = strspn(text, key_characters);
	if (strncmp(text, "nb-stream ", 10) == 0) {
		said->complete = 1;
		if (strtoul(text + 10, NULL, 10) == NB_CSV_VERSION)
			return NB_CSV_TAKEN;
		nb_lines_fail(
			lines, "csv text of another version, '%.40s' (this program reads %d)", text, NB_CSV_VERSION);
		return NB_CSV_BAD;
	}
	if (key > 0 && text[key] == '=') {
		if (!late)
			return set_attribute(lines, said, text, key);
		if (!said->complete)
			return NB_CSV_REMARK;
		nb_lines_fail(lines, "attribute '%.*s' stands behind the rows of its frame", (int)(key < 40 ? key : 40),
			text);
		return NB_CSV_BAD;
	}
	if (said->complete && strncmp(text, "frame ", 6) == 0)
		return begin_frame(lines, text + 6, number, anew);
	if (said->complete && !late && strncmp(text, "column ", 7) == 0)
		return add_column(lines, said, text + 7);
	return NB_CSV_REMARK;
}
