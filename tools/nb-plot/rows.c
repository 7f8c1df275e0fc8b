/* Points of curves: from the bodies of frames, from what nb-stats measures of each, and from tables. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves ------------------------------------------------------------------------------------- */

static struct series *series_of(struct plot *plot, int y, int group)
{
	for (size_t k = plot->nseries; k-- > 0;) {
		struct series *series = &plot->series[k];
		if (series->input == plot->ninput && series->y == y && series->group == group)
			return series;
	}
	struct series *grown = nb_require_memory(NULL, realloc(plot->series, (plot->nseries + 1) * sizeof *grown));
	plot->series = grown;
	grown += plot->nseries++;
	*grown = (struct series){.input = plot->ninput, .y = y, .group = group};
	return grown;
}

static void append(struct series *series, double x, double y)
{
	if (series->n == series->room) {
		const size_t more = series->room ? 2 * series->room : 256;
		series->x = nb_require_memory(NULL, nb_enlarge(series->x, series->n, more, sizeof *series->x));
		series->y_value = nb_require_memory(
			NULL, nb_enlarge(series->y_value, series->n, more, sizeof *series->y_value));
		series->room = more;
	}
	series->x[series->n] = x;
	series->y_value[series->n++] = y;
}

/* Of n rows: values of x, of each y and of by stand one after the other in plot->work. */
static void add_points(struct plot *plot, size_t n, const double *group)
{
	const double *x = plot->work;
	for (int y = 0; y < (plot->ny ? plot->ny : 1); y++) {
		const double *value = plot->ny ? x + (size_t)(y + 1) * n : x;
		struct series *series = group ? NULL : series_of(plot, y, -1);
		for (size_t i = 0; i < n; i++) {
			if (group && (i == 0 || group[i] != group[i - 1] || !series))
				series = series_of(plot, y, (int)group[i]);
			append(series, x[i], value[i]);
		}
	}
}

static void evaluate(struct nb_expr *expr, size_t n, double *to)
{
	struct nb_expr_error error;
	if (nb_expr_values(expr, 0, n, 0, NB_ITEM_F64, to, sizeof *to, &error))
		nb_die(NB_EXIT_FAILED, "'%.300s': %s", nb_expr_source(expr), error.text);
}

static void note_units(struct plot *plot)
{
	if (!*plot->x_unit)
		snprintf(plot->x_unit, sizeof plot->x_unit, "%s", nb_expr_unit(plot->x));
	for (int y = 0; y < plot->ny; y++)
		if (!*plot->y_unit[y])
			snprintf(plot->y_unit[y], sizeof plot->y_unit[y], "%s", nb_expr_unit(plot->y[y]));
}

/* Points of n rows, to which all expressions are bound. */
static void take_rows(struct plot *plot, size_t n, const double *group)
{
	size_t count;
	note_units(plot);
	if (nb_mul_overflow(n, (size_t)plot->ny + 1, &count))
		nb_die(NB_EXIT_FAILED, "out of memory");
	plot->work = nb_require_memory(NULL, nb_alloc(count, sizeof *plot->work));
	evaluate(plot->x, n, plot->work);
	for (int y = 0; y < plot->ny; y++)
		evaluate(plot->y[y], n, plot->work + (size_t)(y + 1) * n);
	add_points(plot, n, group);
	nb_free(plot->work);
	plot->work = NULL;
}

/* ---- tables ------------------------------------------------------------------------------------- */

void nb_plot_end_input(struct plot *plot)
{
	struct table *table = &plot->table;
	const double *group = NULL;
	if (table->n > 0) {
		nb_plot_bind(plot, table->n);
		for (size_t c = 0; c < table->ncolumn; c++)
			group = table->column[c].is_text ? table->column[c].value : group;
		take_rows(plot, table->n, group);
	}
	for (size_t c = 0; c < table->ncolumn; c++)
		nb_free(table->column[c].value);
	free(table->column);
	*table = (struct table){.n = 0};
	nb_run_free(plot->stats);
	plot->stats = NULL;
	plot->ninput++;
}

/* ---- frames: what nb-stats measures -------------------------------------------------------------- */

static const char *unit_of(const char *name)
{
	static const struct {
		const char *name, *unit;
	} known[] = {{"time", "time"}, {"mass", "mass"}, {"mwithin", "mass"}, {"ekin", "mass velocity^2"},
		{"epot", "mass velocity^2"}, {"etot", "mass velocity^2"}, {"rmin", "length"}, {"rmax", "length"},
		{"r", "length"}, {"rcore", "length"}, {"z", "length"}, {"height", "length"}, {"vmax", "velocity"},
		{"vx", "velocity"}, {"vy", "velocity"}, {"vz", "velocity"}, {"vr", "velocity"}, {"vphi", "velocity"},
		{"vcirc", "velocity"}, {"sigma_r", "velocity"}, {"sigma_theta", "velocity"}, {"sigma_phi", "velocity"},
		{"sigma_t", "velocity"}, {"sigma_z", "velocity"}};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strcmp(name, known[k].name) == 0)
			return known[k].unit;
	return *name == 'r' && name[1] >= '0' && name[1] <= '9' ? "length" : ""; /* r50 */
}

/* A line of nb-stats. */
static void take_line(void *context, const struct nb_report *line)
{
	struct plot *plot = context;
	struct table *table = &plot->table;
	const int is_first = table->ncolumn == 0;
	struct nb_voice *before = nb_speak_as(&plot->run->voice);
	if (is_first) {
		table->column = nb_require_memory(NULL, calloc(line->n, sizeof *table->column));
		for (size_t c = 0; c < line->n; c++) {
			const char *name = line->value[c].name;
			const int of_rings = strcmp(name, "density") == 0 && plot->preset &&
					     strstr(plot->preset->stats, "rings");
			struct column *column = &table->column[table->ncolumn++];
			strcpy(column->name, name);
			strcpy(column->unit, strcmp(name, "density") ? unit_of(name)
					     : of_rings		     ? "mass/length^2"
								     : "mass/length^3");
		}
		nb_plot_bind(plot, 0);
	}
	nb_plot_reserve(table);
	for (size_t c = 0; c < table->ncolumn && c < line->n; c++) {
		const struct nb_report_value *value = &line->value[c];
		struct column *column = &table->column[c];
		char number[NB_F64_TEXT];
		const double x = value->kind == NB_REPORT_REAL	    ? value->real
				 : value->kind == NB_REPORT_INTEGER ? (double)value->integer
								    : NAN;
		if (column->wanted)
			column->value[table->n] = column->is_text ? nb_plot_group(plot, nb_format_f64(x, number)) : x;
	}
	table->n++;
	nb_speak_as(before);
}

static void start(struct nb_run *stats, void *context)
{
	(void)context;
	nb_run_start(stats);
}

/* An instance of nb-stats with the options of the preset. */
static void start_stats(struct nb_run *run, struct plot *plot)
{
	char words[96], *argv[16] = {"nb-stats"}, *rest = words;
	int argc = 1;
	snprintf(words, sizeof words, "%s%s", plot->preset && plot->preset->stats ? plot->preset->stats : "",
		run->common.quiet ? " -q" : "");
	if (run->common.threads)
		snprintf(words + strlen(words), sizeof words - strlen(words), " -j %d", run->common.threads);
	for (char *word; (word = strtok_r(rest, " ", &rest));)
		argv[argc++] = word;
	plot->stats = nb_require_memory(NULL, nb_run_new(nb_tool_find("nb-stats")));
	plot->stats->take_line = take_line;
	plot->stats->line_context = plot;
	plot->stats->voice.file = run->voice.file;
	int status = nb_run_prepare(plot->stats, argc, argv);
	if (!status)
		status = nb_run_do(plot->stats, start, NULL);
	if (status)
		nb_stop(run, status);
}

static void measure(struct nb_run *run, struct plot *plot, struct nb_frame *frame)
{
	plot->run = run;
	if (!plot->stats)
		start_stats(run, plot);
	if (nb_plot_is_profile(plot))
		plot->table.n = 0;
	const int status = nb_run_frame(plot->stats, frame);
	if (status)
		nb_stop(run, status);
}

/* ---- frames: bodies ------------------------------------------------------------------------------ */

/* Whether the bodies have all that is asked for, and something of it differs from body to body. */
static int are_bodies(struct plot *plot, struct nb_frame *frame)
{
	struct nb_scope scope = {.frame = frame};
	struct nb_expr_error error;
	int differ = 0;
	for (int k = -1; k < plot->ny; k++) {
		struct nb_expr *expr = k < 0 ? plot->x : plot->y[k];
		if (nb_expr_bind(expr, frame->rows[NB_PARTICLE], 1, nb_scope_find, &scope, &error)) {
			snprintf(plot->no_bodies, sizeof plot->no_bodies, "%s", error.text);
			return 0;
		}
		differ |= !nb_expr_is_uniform(expr);
	}
	return differ;
}

static double *groups_of(struct plot *plot, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	double *group = nb_require_memory(frame, nb_alloc(n, sizeof *group)), last = NAN;
	char number[NB_F64_TEXT];
	if (!plot->by_expr)
		plot->by_expr = nb_expression(plot->by);
	nb_bind_expression(plot->by_expr, frame, 1);
	nb_expression_f64(plot->by_expr, frame, group);
	for (size_t i = 0; i < n; i++) {
		const double x = group[i];
		group[i] = i > 0 && x == last ? group[i - 1] : nb_plot_group(plot, nb_format_f64(x, number));
		last = x;
	}
	return group;
}

static void take_bodies(struct plot *plot, struct nb_frame *frame)
{
	int all = plot->which == WHICH_ALL;
	for (int k = -1; k < plot->ny; k++) {
		struct nb_expr *expr = k < 0 ? plot->x : plot->y[k];
		nb_bind_expression(expr, frame, 1);
		all |= plot->which == WHICH_AUTO && nb_expr_is_uniform(expr);
	}
	for (size_t k = 0; k < plot->nseries && !all; k++)
		if (plot->series[k].input == plot->ninput)
			plot->series[k].n = 0;
	double *group = plot->by ? groups_of(plot, frame) : NULL;
	take_rows(plot, frame->rows[NB_PARTICLE], group);
	nb_free(group);
}

/* What is drawn, by the first frame. */
static void choose(struct plot *plot, struct nb_frame *frame)
{
	const char *units = nb_frame_attribute(frame, "units");
	if (units && strncmp(units, "AU, day, solar mass", 19) == 0) /* of nb-gen solar */
		units = "AU,Msun,d";
	snprintf(plot->units, sizeof plot->units, "%s", units ? units : "");
	if (!plot->preset && !plot->x_text && !plot->y_text)
		plot->preset = nb_plot_preset_named("energies");
	if (plot->preset && !plot->preset->stats)
		nb_die(NB_EXIT_USAGE, "preset '%s' draws a table, not a particle stream", plot->preset->name);
	nb_plot_parse(plot, plot->preset ? plot->preset->x : "time", plot->preset ? plot->preset->y : NULL);
	if (plot->rows == ROWS_AUTO)
		plot->rows = (plot->preset ? strcmp(plot->preset->stats, BODIES) == 0 : are_bodies(plot, frame))
				     ? ROWS_BODIES
				     : ROWS_FRAMES;
}

void nb_plot_frame(struct nb_run *run, struct plot *plot, struct nb_frame *frame)
{
	if (!plot->has_stream++)
		choose(plot, frame);
	if (plot->rows == ROWS_BODIES)
		take_bodies(plot, frame);
	else
		measure(run, plot, frame);
}
