/* What is drawn by a name, and what of a table where nothing is asked for. */
#include "tools/nb-plot/plot.h"

#include "tools/filter/require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a|b: the first that the table has */
static const struct preset presets[] = {
	{.name = "accuracy",
		.about = "error and time of forces against the opening angle",
		.x = "theta",
		.y = "error_p99|p99|rms|error;seconds|total_ms|ms",
		.x_label = "opening angle θ",
		.log = LOG_Y},
	{.name = "density",
		.about = "density profile in shells",
		.x = "r",
		.y = "density",
		.stats = "--profile",
		.log = LOG_XY,
		.sign = "beta"},
	{.name = "energies",
		.about = "kinetic, potential and total energy against time",
		.x = "time",
		.y = "ekin,epot,etot",
		.stats = "",
		.y_label = "energy",
		.sign = "virial"},
	{.name = "energy",
		.about = "relative error of the energy against time",
		.x = "time",
		.y = "abs(drift)",
		.stats = "",
		.y_label = "|ΔE / E|",
		.log = LOG_Y},
	{.name = "lagrangian",
		.about = "Lagrangian radii against time",
		.x = "time",
		.y = "r10,r50,r90",
		.stats = "",
		.y_label = "radius",
		.log = LOG_Y},
	{.name = "phase", .about = "a map by radius and radial velocity", .x = "r", .y = "vr", .style = STYLE_MAP},
	{.name = "roofline",
		.about = "rate of kernels against their arithmetic intensity",
		.x = "intensity",
		.y = "rate",
		.by = "kernel",
		.log = LOG_XY},
	{.name = "rotation",
		.about = "mean rotation and radial dispersion against radius",
		.x = "r",
		.y = "vphi,sigma_r",
		.stats = "--profile --rings",
		.y_label = "velocity"},
	{.name = "surface-density",
		.about = "surface density profile in rings",
		.x = "r",
		.y = "density",
		.stats = "--profile --rings",
		.y_label = "surface density",
		.log = LOG_Y,
		.sign = "height"},
};

const struct preset *nb_plot_preset(size_t k)
{
	return k < sizeof presets / sizeof *presets ? &presets[k] : NULL;
}

const struct preset *nb_plot_preset_named(const char *name)
{
	const struct preset *preset;
	for (size_t k = 0; (preset = nb_plot_preset(k)) && strcmp(preset->name, name) != 0;)
		k++;
	return preset;
}

int nb_plot_is_profile(const struct plot *plot)
{
	return plot->preset && plot->preset->stats && *plot->preset->stats && !plot->by;
}

/* ---- expressions -------------------------------------------------------------------------------- */

/* Bytes before the next ',' or ';' that is in no parentheses, brackets or quotes. */
static size_t length_of(const char *text)
{
	int depth = 0;
	char quote = '\0';
	size_t n = 0;
	for (; text[n]; n++) {
		const char c = text[n];
		if (quote)
			quote = c == quote ? '\0' : quote;
		else if (c == '\'' || c == '"' || c == '{')
			quote = c == '{' ? '}' : c;
		else if (c == '(' || c == '[')
			depth++;
		else if (c == ')' || c == ']')
			depth--;
		else if (depth <= 0 && (c == ',' || c == ';'))
			break;
	}
	return n;
}

static void parse_list(struct plot *plot, const char *text)
{
	int panel = 0;
	for (const char *at = text;; at++) {
		const size_t n = length_of(at);
		if (plot->ny == CURVES)
			nb_die(NB_EXIT_USAGE, "more than %d expressions in '%.100s'", CURVES, text);
		char *name = strndup(at, n);
		if (!name)
			nb_die(NB_EXIT_FAILED, "out of memory");
		plot->y_name[plot->ny] = name;
		plot->panel[plot->ny] = panel;
		plot->y[plot->ny] = nb_expression(name);
		plot->ny++;
		at += n;
		panel += *at == ';';
		if (!*at)
			break;
	}
	plot->npanel = panel + 1;
}

void nb_plot_parse(struct plot *plot, const char *x, const char *y)
{
	if (!plot->x_text)
		plot->x_text = x;
	if (!plot->y_text)
		plot->y_text = y;
	if (plot->x_text && !plot->x)
		plot->x = nb_expression(plot->x_text);
	if (plot->y_text && !plot->ny)
		parse_list(plot, plot->y_text);
}

/* ---- of a table --------------------------------------------------------------------------------- */

static int has(const struct plot *plot, const char *name, size_t length)
{
	for (size_t c = 0; c < plot->table.ncolumn; c++)
		if (strlen(plot->table.column[c].name) == length &&
			memcmp(plot->table.column[c].name, name, length) == 0)
			return 1;
	return 0;
}

/* The list with one of each a|b|c: that of the table, or else the first. */
static char *pick(const struct plot *plot, const char *list)
{
	char *text = nb_require_memory(NULL, strdup("")), *longer;
	while (*list) {
		const size_t n = strcspn(list, ",;");
		const char *best = list;
		for (const char *at = list; at < list + n; at += strcspn(at, "|,;") + 1)
			if (has(plot, at, strcspn(at, "|,;"))) {
				best = at;
				break;
			}
		if (asprintf(&longer, "%s%.*s%.1s", text, (int)strcspn(best, "|,;"), best, list + n) < 0)
			nb_die(NB_EXIT_FAILED, "out of memory");
		free(text);
		text = longer;
		list += n + (list[n] != '\0');
	}
	return text;
}

/* All numbers but the one that is x: a curve each. */
static char *all_others(const struct plot *plot, const char *x, const unsigned char *is_number)
{
	enum { MANY = 6 };
	char *text = NULL, *longer;
	int n = 0;
	for (size_t c = 0; c < plot->table.ncolumn && n < MANY; c++) {
		const char *name = plot->table.column[c].name;
		if (!is_number[c] || strcmp(name, x) == 0 || strcmp(name, "frame") == 0)
			continue;
		if (asprintf(&longer, "%s%s%s", n ? text : "", n ? "," : "", name) < 0)
			nb_die(NB_EXIT_FAILED, "out of memory");
		free(text);
		text = longer;
		n++;
	}
	return text;
}

void nb_plot_choose(struct plot *plot, const unsigned char *is_number)
{
	const struct table *table = &plot->table;
	const char *x = plot->x_text;
	if (plot->x && (plot->ny || plot->ninput > 0))
		return;
	for (size_t k = 0; !plot->preset && !x && !plot->y_text && nb_plot_preset(k); k++) {
		const struct preset *preset = nb_plot_preset(k);
		if (preset->sign && has(plot, preset->sign, strlen(preset->sign)))
			plot->preset = preset;
	}
	if (plot->preset) {
		plot->picked = pick(plot, plot->preset->y);
		nb_plot_parse(plot, plot->preset->x, plot->picked);
		return;
	}
	if (x) /* a histogram, of x alone */
		return;
	for (size_t c = table->ncolumn; c-- > 0;)
		x = is_number[c] && (!x || strcmp(x, "time") != 0) ? table->column[c].name : x;
	if (!x)
		nb_die(NB_EXIT_FAILED, "no column of numbers to draw");
	if (!plot->y_text)
		plot->picked = all_others(plot, x, is_number);
	if (plot->picked || plot->y_text) {
		plot->x_own = nb_require_memory(NULL, strdup(x));
		nb_plot_parse(plot, plot->x_own, plot->picked);
	} else { /* numbers in a single column, one after the other */
		plot->picked = nb_require_memory(NULL, strdup(x));
		nb_plot_parse(plot, "row", plot->picked);
	}
}
