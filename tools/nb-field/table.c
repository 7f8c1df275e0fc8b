/* Tables of r and Phi: lines of two numbers, blank ones, and comments behind '#'. */
#include "common/mem.h"
#include "common/named.h"
#include "common/parse.h"
#include "tools/filter/require.h"
#include "tools/nb-field/field.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1000000 };

/* Room for one row more. */
static void grow(struct field_table *table)
{
	if (table->n < table->room)
		return;
	table->room = table->room ? 2 * table->room : 256;
	double *r = realloc(table->r, table->room * sizeof *r);
	table->r = r ? r : table->r;
	double *phi = realloc(table->phi, table->room * sizeof *phi);
	table->phi = phi ? phi : table->phi;
	if (!r || !phi)
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* A line, whose end is cut off, into numbers: how many there are, at most 3; -1: one is no number. */
static int split(char *line, double number[2])
{
	int n = 0;
	line[strcspn(line, "#")] = '\0';
	char *next = NULL;
	for (char *word = strtok_r(line, " \t\r\n", &next); word; word = strtok_r(NULL, " \t\r\n", &next)) {
		if (n < 2 && nb_parse_f64(word, &number[n]) != NB_PARSE_OK)
			return -1;
		n++;
	}
	return n;
}

static void add_line(struct field_table *table, char *line, size_t number)
{
	double pair[2];
	const int n = split(line, pair);
	if (n == 0)
		return;
	if (n != 2)
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu is not two numbers, r and Phi", table->path, number);
	if (pair[0] < 0)
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: r is %g (want a number >= 0)", table->path, number, pair[0]);
	if (table->n > 0 && !(pair[0] > table->r[table->n - 1]))
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: r is %g after %g (want ascending radii)", table->path,
			number, pair[0], table->r[table->n - 1]);
	if (table->n == MOST_ROWS)
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: more than %d rows", table->path, number, MOST_ROWS);
	grow(table);
	table->r[table->n] = pair[0];
	table->phi[table->n++] = pair[1];
}

/* Slopes between rows that are too steep for numbers. */
static int is_finite(const struct field_table *table)
{
	double sum = 0;
	for (size_t k = 0; k < table->n * NB_POTENTIAL_ROW; k++)
		sum += 0 * table->row[k];
	return sum == 0;
}

void nb_field_read_table(struct field *self, struct field_table *table)
{
	size_t number = 0;
	const int fd = nb_open_named(table->path, O_RDONLY);
	self->file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!self->file)
		nb_die(NB_EXIT_FAILED, "'%.200s':", table->path);
	while (errno = 0, getline(&self->line, &self->line_size, self->file) >= 0) {
		if (strlen(self->line) > 4000) /* no text, as a stream */
			nb_die(NB_EXIT_FAILED, "'%.200s' line %zu is not two numbers, r and Phi", table->path,
				number + 1);
		add_line(table, self->line, ++number);
	}
	if (ferror(self->file) || errno)
		nb_die(NB_EXIT_FAILED, "'%.200s':", table->path);
	fclose(self->file);
	self->file = NULL;
	if (table->n < 2)
		nb_die(NB_EXIT_FAILED, "'%.200s' has %zu row%s of r and Phi (want 2 or more)", table->path, table->n,
			table->n == 1 ? "" : "s");
	table->row = nb_require_memory(NULL, nb_alloc(table->n, NB_POTENTIAL_ROW * sizeof *table->row));
	nb_potential_table(table->n, table->r, table->phi, table->row);
	if (!is_finite(table))
		nb_die(NB_EXIT_FAILED, "'%.200s' leaves the range of numbers between two rows", table->path);
}

const double *nb_field_place_table(
	struct field_table *table, const struct nb_space *space, const struct nb_frame *frame)
{
	const size_t bytes = table->n * NB_POTENTIAL_ROW * sizeof *table->row;
	if (space == &nb_space_host)
		return table->row;
	if (!table->there) {
		table->there = space->alloc(space, bytes);
		table->space = space;
		if (!table->there || space->from_host(space, table->there, table->row, bytes))
			nb_out_of_memory(frame);
	}
	return table->there;
}

void nb_field_free_table(struct field_table *table)
{
	if (table->there)
		table->space->release(table->space, table->there);
	free(table->path);
	free(table->r);
	free(table->phi);
	nb_free(table->row);
}
