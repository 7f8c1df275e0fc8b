/* What is written at axes and in the legend. */
#include "tools/nb-plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Okabe and Ito's: those who are colour-blind tell them apart. */
uint32_t nb_plot_color(size_t k)
{
	static const uint32_t colors[] = {
		0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x7f7f7f, 0x000001};
	return colors[k % (sizeof colors / sizeof *colors)];
}

void nb_panel_text(
	struct panel *panel, double x, double y, float ax, float ay, float turn, uint32_t color, const char *utf8)
{
	struct nb_drawing d = {
		.what = NB_DRAW_TEXT, .anchor = {ax, ay}, .turn = turn, .color = color, .size = panel->em};
	d.n = (uint32_t)strlen(utf8);
	d.x = (float)x;
	d.y = (float)y;
	nb_canvas_draw(&panel->plot->canvas, &d, utf8);
}

double nb_panel_width(const struct panel *panel, const char *utf8)
{
	return nb_canvas_text_width(&panel->plot->canvas, panel->em, utf8);
}

/* The unit in words of the file: length is kpc where units are "kpc,Msun,km/s", and length/time is km/s. */
static void add_unit(const struct plot *plot, const char *unit, char *to, size_t size)
{
	static const char *const words[] = {"length/time", "velocity", "length", "mass", "time"};
	char name[3][24] = {"", "", ""}, of[5][60], text[2 * NB_EXPR_UNIT] = "", raised[2 * NB_EXPR_UNIT];
	const int known = sscanf(plot->units, " %23[^,], %23[^,], %23s", name[0], name[1], name[2]) == 3;
	const int has_time = !strchr(name[2], '/'); /* not a velocity */
	snprintf(of[1], sizeof of[1], "%s%s%s", has_time ? name[0] : "", has_time ? "/" : "", name[2]);
	snprintf(of[4], sizeof of[4], has_time ? "%s%s%s" : "%s/(%s%s)", has_time ? "" : name[0], name[2], "");
	strcpy(of[0], of[1]);
	strcpy(of[2], name[0]);
	strcpy(of[3], name[1]);
	for (const char *at = unit; *at && strlen(text) + 64 < sizeof text;) {
		size_t k = 0;
		while (k < 5 && strncmp(at, words[k], strlen(words[k])) != 0)
			k++;
		if (k < 5 && !known) /* numbers of a system without units */
			return;
		const size_t length = k < 5 ? strlen(words[k]) : 1;
		const int product = k < 2 && at[length] == '^';
		snprintf(text + strlen(text), sizeof text - strlen(text), product ? "(%.*s)" : "%.*s", k < 5 ? 60 : 1,
			k < 5 ? of[k] : at);
		at += length;
	}
	nb_plot_superscript(raised, sizeof raised, text);
	if (*unit)
		snprintf(to + strlen(to), size - strlen(to), *to ? " (%s)" : "%s", raised);
}

void nb_plot_name_axis(const struct plot *plot, const struct axis *axis, const char *own, const char *of_preset,
	const char *expression, const char *unit, char *to, size_t size)
{
	char power[16], raised[40];
	snprintf(to, size, "%s", own ? own : of_preset ? of_preset : expression);
	if (!own)
		add_unit(plot, unit, to, size);
	snprintf(power, sizeof power, "10^%d", axis->power);
	nb_plot_superscript(raised, sizeof raised, power);
	if (axis->power)
		snprintf(to + strlen(to), size - strlen(to), "%s/ %s", *to ? "  " : "", raised);
}

void nb_panel_name_y(const struct panel *panel, char *to, size_t size)
{
	const struct plot *plot = panel->plot;
	const char *name = "", *unit = NULL;
	int n = 0, same = 1;
	for (int y = 0; y < plot->ny; y++)
		if (plot->panel[y] == panel->number) {
			name = n++ ? "" : plot->y_name[y];
			same &= !unit || strcmp(unit, plot->y_unit[y]) == 0;
			unit = plot->y_unit[y];
		}
	nb_plot_name_axis(plot, &panel->y, plot->y_label, plot->preset ? plot->preset->y_label : NULL,
		panel->style == STYLE_HISTOGRAM ? "number" : name, same && unit ? unit : "", to, size);
}

void nb_plot_name_series(struct plot *plot)
{
	for (size_t k = 0; k < plot->nseries; k++) {
		struct series *series = &plot->series[k];
		int several = 0;
		for (int y = 0; y < plot->ny; y++)
			several += plot->panel[y] == plot->panel[series->y];
		for (size_t i = 0; i < k; i++)
			series->color += plot->panel[plot->series[i].y] == plot->panel[series->y];
		if (several > 1 && series->group >= 0 && plot->ninput == 1) { /* colours tell values of by */
			series->color = (size_t)series->group;
			series->open = series->y > 0 && plot->panel[series->y - 1] == plot->panel[series->y];
		}
		char *to = series->label;
		size_t i = 0;
		*to = '\0';
		while (i < series->n && !isfinite(series->y_value[i]))
			i++;
		if (i == series->n) /* nothing of it is seen */
			continue;
		if (several > 1)
			snprintf(to, LABEL, "%s", plot->y_name[series->y]);
		if (series->group >= 0) { /* a number with the name of what it is */
			const char *value = plot->group[series->group];
			const int number = value[strspn(value, "+-.e0123456789")] == '\0';
			snprintf(to + strlen(to), LABEL - strlen(to), "%s%s%s%s", *to ? ", " : "",
				number ? plot->by : "", number ? " " : "", value);
		}
		if (plot->ninput > 1)
			snprintf(to + strlen(to), LABEL - strlen(to), "%s%s", *to ? ", " : "",
				plot->input[series->input]);
	}
}
