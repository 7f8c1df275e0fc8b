/* What is drawn by a name, and what of a table where nothing is asked for. */
#include "tools/nb-plot/plot.h"

#include "common/nearest.h"
#include "tools/filter/require.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* name, what it is, x, y, options of nb-stats, by, labels, logarithmic axes, style, sign */
static const struct preset presets[] = {
	{"accuracy", "error and time of forces against the opening angle", "theta", "error_p99;seconds", NULL, NULL,
		"opening angle θ", NULL, LOG_Y, STYLE_LINE, NULL},
	{"density", "density profile in shells", "r", "density", "--profile", NULL, NULL, NULL, LOG_XY, STYLE_LINE,
		"beta"},
	{"energies", "kinetic, potential and total energy against time", "time", "ekin,epot,etot", "", NULL, NULL,
		"energy", LOG_NONE, STYLE_LINE, "virial"},
	{"energy", "relative error of the energy against time", "time", "abs(drift)", "", NULL, NULL, "|ΔE / E|", LOG_Y,
		STYLE_LINE, NULL},
	{"lagrangian", "Lagrangian radii against time", "time", "r10,r50,r90", "", NULL, NULL, "radius", LOG_Y,
		STYLE_LINE, NULL},
	{"phase", "a map by radius and radial velocity", "r", "vr", BODIES, NULL, NULL, NULL, LOG_NONE, STYLE_MAP,
		NULL},
	{"roofline", "rate of kernels against their arithmetic intensity", "intensity", "rate", NULL, "kernel", NULL,
		NULL, LOG_XY, STYLE_LINE, NULL},
	{"rotation", "mean rotation and radial dispersion against radius", "r", "vphi,sigma_r", "--profile --rings",
		NULL, NULL, "velocity", LOG_NONE, STYLE_LINE, NULL},
	{"spectrum", "power spectra of nb-power, a curve for each time", "k", "P", NULL, "time", NULL, NULL, LOG_XY,
		STYLE_LINE, "shot"},
	{"surface-density", "surface density profile in rings", "r", "density", "--profile --rings", NULL, NULL,
		"surface density", LOG_Y, STYLE_LINE, "height"},
};

const struct preset *nb_plot_preset(size_t k)
{
	return k < sizeof presets / sizeof *presets ? &presets[k] : NULL;
}

const struct preset *nb_plot_preset_named(const char *name)
{
	struct nb_nearest nearest = nb_nearest_to(name, strlen(name));
	const struct preset *preset;
	for (size_t k = 0; (preset = nb_plot_preset(k)); k++) {
		if (strcmp(preset->name, name) == 0)
			return preset;
		nb_nearest_offer(&nearest, preset->name, strlen(preset->name));
	}
	if ((*nearest.hint || !strpbrk(name, "./-")) && faccessat(AT_FDCWD, name, F_OK, AT_EACCESS))
		nb_die(NB_EXIT_USAGE, "there is no preset and no file '%s' (%s%s)", name, nearest.hint,
			*nearest.hint ? "see --help" : "columns are drawn by '-x NAME -y NAME'");
	return NULL;
}

int nb_plot_is_profile(const struct plot *plot)
{
	return plot->preset && plot->preset->stats && strstr(plot->preset->stats, "--profile") && !plot->by;
}

/* ---- expressions -------------------------------------------------------------------------------- */

/* Bytes before the next ',' or ';' that is in no parentheses or brackets. */
static size_t length_of(const char *text)
{
	int depth = 0;
	size_t n = 0;
	for (; text[n] && (depth > 0 || (text[n] != ',' && text[n] != ';')); n++)
		depth += (text[n] == '(' || text[n] == '[') - (text[n] == ')' || text[n] == ']');
	return n;
}

static void parse_list(struct plot *plot, const char *text)
{
	int panel = 0;
	for (const char *at = text;; at++) {
		const size_t n = length_of(at);
		if (plot->ny == CURVES)
			nb_die(NB_EXIT_USAGE, "more than %d expressions in '%.100s'", CURVES, text);
		char *name = nb_require_memory(NULL, strndup(at, n));
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

static int has(const struct plot *plot, const char *name)
{
	size_t c = 0;
	while (c < plot->table.ncolumn && strcmp(plot->table.column[c].name, name) != 0)
		c++;
	return c < plot->table.ncolumn;
}

/* Columns of numbers but the one that is x: a curve each. */
static void pick_others(struct plot *plot, const char *x, const unsigned char *is_number)
{
	int n = 0;
	for (size_t c = 0; c < plot->table.ncolumn && n < PICKED; c++) {
		const char *name = plot->table.column[c].name;
		if (is_number[c] && strcmp(name, x) != 0 && strcmp(name, "frame") != 0)
			sprintf(plot->picked + strlen(plot->picked), "%s%s", n++ ? "," : "", name);
	}
}

void nb_plot_choose(struct plot *plot, const unsigned char *is_number)
{
	const struct table *table = &plot->table;
	const struct preset *preset = plot->preset;
	const char *x = plot->x_text;
	for (size_t k = 0; !plot->preset && !x && !plot->y_text && (preset = nb_plot_preset(k)); k++)
		if (preset->sign && has(plot, preset->sign))
			plot->preset = preset;
	if (plot->preset) {
		nb_plot_parse(plot, plot->preset->x, plot->preset->y);
		plot->by = plot->by ? plot->by : plot->preset->by;
	}
	if (plot->x) /* if alone, for a histogram */
		return;
	for (size_t c = table->ncolumn; c-- > 0;)
		x = is_number[c] && (!x || strcmp(x, "time") != 0) ? table->column[c].name : x;
	if (!x)
		nb_die(NB_EXIT_FAILED, "no column of numbers to draw");
	snprintf(plot->picked_x, sizeof plot->picked_x, "%s", x);
	if (!plot->y_text)
		pick_others(plot, x, is_number);
	if (*plot->picked || plot->y_text)
		nb_plot_parse(plot, plot->picked_x, plot->picked);
	else /* numbers in a single column, one after the other */
		nb_plot_parse(plot, "row", plot->picked_x);
}
