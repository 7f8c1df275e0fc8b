#include "tools/filter/pairs.h"

#include "common/die.h"
#include "common/named.h"
#include "common/parse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Room for one row more. */
static void grow(struct nb_pairs *pairs)
{
	if (pairs->n < pairs->room)
		return;
	pairs->room = pairs->room ? 2 * pairs->room : 256;
	double *x = realloc(pairs->x, pairs->room * sizeof *x);
	pairs->x = x ? x : pairs->x;
	double *y = realloc(pairs->y, pairs->room * sizeof *y);
	pairs->y = y ? y : pairs->y;
	if (!x || !y)
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* The first two words of a line, whose end is cut off, into numbers.  How many words there are, at most 3; -1: one of
 * the two is no number. */
static int split(char *line, double number[2])
{
	int n = 0;
	line[strcspn(line, "#")] = '\0';
	char *next = NULL;
	for (char *word = strtok_r(line, " \t\r\n", &next); word && n < 3; word = strtok_r(NULL, " \t\r\n", &next)) {
		if (n < 2 && nb_parse_f64(word, &number[n]) != NB_PARSE_OK)
			return -1;
		n++;
	}
	return n;
}

/* The next line, without its end: its length, or -1: there is none; what is longer, or no text, has no end and is not
 * read on: NB_PAIRS_LINE + 1. */
static int read_line(struct nb_pairs *pairs)
{
	int n = 0, c;
	while ((c = getc(pairs->file)) != EOF && c != '\n') {
		if (n == NB_PAIRS_LINE || c == '\0')
			return NB_PAIRS_LINE + 1;
		pairs->line[n++] = (char)c;
	}
	pairs->line[n] = '\0';
	return c == EOF && n == 0 ? -1 : n;
}

static void add_line(struct nb_pairs *pairs, int length, const char *where, const struct nb_pairs_kind *kind)
{
	double row[2];
	const int n = length > NB_PAIRS_LINE ? -1 : split(pairs->line, row);
	if (n == 0)
		return;
	if (n != 2 && !(n == 3 && kind->more_columns))
		nb_die(NB_EXIT_FAILED, "%s %s", where, kind->lines);
	kind->check(where, row);
	if (pairs->n > 0 && !(row[0] > pairs->x[pairs->n - 1]))
		nb_die(NB_EXIT_FAILED, "%s: %s is %g after %g (want ascending %s)", where, kind->x, row[0],
			pairs->x[pairs->n - 1], kind->ascending);
	if (pairs->n == kind->most)
		nb_die(NB_EXIT_FAILED, "%s: more than %zu rows", where, kind->most);
	grow(pairs);
	pairs->x[pairs->n] = row[0];
	pairs->y[pairs->n++] = row[1];
}

void nb_pairs_read(struct nb_pairs *pairs, const char *path, const struct nb_pairs_kind *kind)
{
	char where[300];
	size_t number = 0;
	const int fd = nb_open_named(path, O_RDONLY);
	pairs->file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!pairs->file)
		nb_die(NB_EXIT_FAILED, "'%.200s':", path);
	for (int length; (length = read_line(pairs)) >= 0;) {
		snprintf(where, sizeof where, "'%.200s' line %zu", path, ++number);
		add_line(pairs, length, where, kind);
	}
	if (ferror(pairs->file))
		nb_die(NB_EXIT_FAILED, "'%.200s':", path);
	fclose(pairs->file);
	pairs->file = NULL;
	if (pairs->n < 2)
		nb_die(NB_EXIT_FAILED, "'%.200s' has %zu row%s of %s (want 2 or more)", path, pairs->n,
			pairs->n == 1 ? "" : "s", kind->rows);
}

void nb_pairs_free(struct nb_pairs *pairs)
{
	if (pairs->file)
		fclose(pairs->file);
	free(pairs->x);
	free(pairs->y);
}
