/* What is written at axes and in the legend. */
#include "tools/nb-plot/plot.h"

#include <stdio.h>
#include <string.h>

/* Okabe and Ito's: those who are colour-blind tell them apart. */
uint32_t nb_plot_color(size_t k)
{
	static const uint32_t colors[] = {
		0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x7f7f7f, 0x000001};
	return colors[k % (sizeof colors / sizeof *colors)];
}

void nb_panel_text(struct panel *panel, double x, double y, float ax, float ay, uint32_t color, const char *utf8)
{
	const struct nb_drawing d = {.what = NB_DRAW_TEXT,
		.n = (uint32_t)strlen(utf8),
		.x = (float)x,
		.y = (float)y,
		.size = panel->em,
		.anchor = {ax, ay},
		.color = color};
	nb_canvas_draw(&panel->plot->canvas, &d, utf8);
}

double nb_panel_width(const struct panel *panel, const char *utf8)
{
	return nb_canvas_text_width(&panel->plot->canvas, panel->em, utf8);
}

/* The unit in words of the file: length is kpc where units are "kpc,Msun,km/s". */
static void add_unit(const struct plot *plot, const char *unit, char *to, size_t size)
{
	char name[3][24] = {"length", "mass", "velocity"}, text[2 * NB_EXPR_UNIT], raised[2 * NB_EXPR_UNIT];
	const int known = sscanf(plot->units, "%23[^,],%23[^,],%23s", name[0], name[1], name[2]) >= 2;
	const int time_known = known && strncmp(name[2], "velocity", 8) != 0 && !strchr(name[2], '/');
	size_t used = 0;
	if (!*unit || (!known && (strstr(unit, "length") || strstr(unit, "mass") || strstr(unit, "time") ||
					 strstr(unit, "velocity"))))
		return;
	for (const char *at = unit; *at && used + 32 < sizeof text;) {
		static const char *const words[] = {"length/time", "velocity", "length", "mass", "time"};
		static const int means[] = {2, 2, 0, 1, 3};
		size_t k = time_known ? 1 : 0, length = 0;
		for (; k < 5 && strncmp(at, words[k], length = strlen(words[k])) != 0;)
			k++;
		if (k == 5 || !known)
			text[used++] = *at++;
		else if (means[k] == 3 && !time_known)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s/(%s)", name[0], name[2]);
		else if (k < 2 && time_known)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s/%s", name[0], name[2]);
		else
			used += (size_t)snprintf(text + used, sizeof text - used,
				strchr(name[means[k] % 3], '/') && at[length] == '^' ? "(%s)" : "%s",
				name[means[k] == 3 ? 2 : means[k]]);
		at += k < 5 && known ? length : 0;
	}
	text[used] = '\0';
	nb_plot_superscript(raised, sizeof raised, text);
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
		char *to = series->label;
		*to = '\0';
		if (several > 1)
			snprintf(to, LABEL, "%s", plot->y_name[series->y]);
		if (series->group >= 0) { /* a number with the name of what it is */
			const char *value = plot->group[series->group];
			const int number = strspn(value, "+-.0123456789") > 0;
			snprintf(to + strlen(to), LABEL - strlen(to), "%s%s%s%s", *to ? ", " : "",
				number ? plot->by : "", number ? " " : "", value);
		}
		if (plot->ninput > 1)
			snprintf(to + strlen(to), LABEL - strlen(to), "%s%s", *to ? ", " : "",
				plot->input[series->input]);
	}
}
