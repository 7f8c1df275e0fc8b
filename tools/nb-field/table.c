/* Tables of r and Phi. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-field/field.h"

#include <stdlib.h>

enum { MOST_ROWS = 1000000 };

static void check_row(const char *where, const double row[2])
{
	if (row[0] < 0)
		nb_die(NB_EXIT_FAILED, "%s: r is %g (want a number >= 0)", where, row[0]);
}

/* Slopes between rows that are too steep for numbers. */
static int is_finite(const struct field_table *table)
{
	double sum = 0;
	for (size_t k = 0; k < table->pairs.n * NB_POTENTIAL_ROW; k++)
		sum += 0 * table->row[k];
	return sum == 0;
}

void nb_field_read_table(struct field_table *table)
{
	static const struct nb_pairs_kind kind = {.lines = "is not two numbers, r and Phi",
		.rows = "r and Phi",
		.ascending = "radii",
		.x = "r",
		.most = MOST_ROWS,
		.check = check_row};
	const struct nb_pairs *pairs = &table->pairs;
	nb_pairs_read(&table->pairs, table->path, &kind);
	table->row = nb_require_memory(NULL, nb_alloc(pairs->n, NB_POTENTIAL_ROW * sizeof *table->row));
	nb_potential_table(pairs->n, pairs->x, pairs->y, table->row);
	if (!is_finite(table))
		nb_die(NB_EXIT_FAILED, "'%.200s' leaves the range of numbers between two rows", table->path);
}

const double *nb_field_place_table(
	struct field_table *table, const struct nb_space *space, const struct nb_frame *frame)
{
	const size_t bytes = table->pairs.n * NB_POTENTIAL_ROW * sizeof *table->row;
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
	nb_pairs_free(&table->pairs);
	nb_free(table->row);
}
