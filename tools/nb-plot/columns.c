/* The columns of a table, by which expressions are computed. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "common/nearest.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void nb_plot_reserve(struct table *table)
{
	if (table->n < table->room)
		return;
	const size_t more = table->room ? 2 * table->room : 256;
	for (size_t c = 0; c < table->ncolumn; c++) {
		struct column *column = &table->column[c];
		if (column->wanted)
			column->value = nb_require_memory(
				NULL, nb_enlarge(column->value, table->n, more, sizeof *column->value));
	}
	table->room = more;
}

int nb_plot_group(struct plot *plot, const char *text)
{
	int k = 0;
	while (k < plot->ngroup && strcmp(plot->group[k], text) != 0)
		k++;
	if (k == CURVES)
		nb_die(NB_EXIT_FAILED, "'%s' has more than %d different values (a curve each)", plot->by, CURVES);
	if (k == plot->ngroup)
		plot->group[plot->ngroup++] = nb_require_memory(NULL, strdup(text));
	return k;
}

static int find_column(
	void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	struct plot *plot = context;
	struct table *table = &plot->table;
	char list[400] = "";
	size_t used = 0;
	(void)in_formula;
	for (size_t c = 0; c < table->ncolumn; c++) {
		struct column *column = &table->column[c];
		if (strcmp(column->name, name) == 0) {
			column->wanted = 1;
			*value = (struct nb_expr_value){.item = NB_ITEM_F64,
				.data = column->value,
				.ncomp = 1,
				.stride = sizeof *column->value,
				.unit = column->unit};
			return 1;
		}
		used += used < sizeof list
				? (size_t)snprintf(list + used, sizeof list - used, "%s%s", c ? " " : "", column->name)
				: 0;
	}
	if (strcmp(name, "row") == 0)
		return value->is_row = 1;
	static const double pi = M_PI;
	if (strcmp(name, "pi") == 0) {
		*value = (struct nb_expr_value){.item = NB_ITEM_F64, .data = &pi, .ncomp = 1, .unit = ""};
		return 1;
	}
	snprintf(why, NB_EXPR_MESSAGE, "no column '%s' (%sthere are: %s)", name,
		nb_nearest_in(name, strlen(name), list, " ").hint, list);
	return 0;
}

void nb_plot_bind(struct plot *plot, size_t n)
{
	struct nb_expr_error error;
	for (int k = -1; k < plot->ny; k++) {
		struct nb_expr *expr = k < 0 ? plot->x : plot->y[k];
		if (!nb_expr_bind(expr, n, 1, find_column, plot, &error))
			continue;
		const char *list = strstr(error.text, " (");
		if (*plot->no_bodies && !strstr(error.text, "did you mean"))
			nb_die(NB_EXIT_FAILED, "%s; nb-stats has %.*s", plot->no_bodies,
				(int)(list ? (size_t)(list - error.text) : strlen(error.text)), error.text);
		nb_die(NB_EXIT_FAILED, "'%.300s': %s", nb_expr_source(expr), error.text);
	}
	struct nb_expr_value value;
	if (plot->by && !find_column(plot, plot->by, 0, &value, error.text))
		nb_die(NB_EXIT_FAILED, "option '--by': %s", error.text);
	for (size_t c = 0; plot->by && c < plot->table.ncolumn; c++)
		plot->table.column[c].is_text |= strcmp(plot->table.column[c].name, plot->by) == 0;
}
