/* The picture: axes with their labels, legend, title. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "formats/image/image.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- drawings ----------------------------------------------------------------------------------- */

/* Horizontal and vertical lines are on whole pixels. */
static void rule(struct panel *panel, double x0, double y0, double x1, double y1)
{
	const float xy[4] = {
		(float)(floor(x0) + 0.5), (float)(floor(y0) + 0.5), (float)(floor(x1) + 0.5), (float)(floor(y1) + 0.5)};
	const struct nb_drawing d = {.what = NB_DRAW_LINE, .n = 2, .size = panel->em / 20, .color = BLACK};
	nb_canvas_draw(&panel->plot->canvas, &d, xy);
}

/* ---- axes --------------------------------------------------------------------------------------- */

static double widest(const struct panel *panel, const struct axis *axis)
{
	double most = 0;
	for (int k = 0; k < axis->ntick; k++)
		if (!axis->tick[k].minor)
			most = fmax(most, nb_panel_width(panel, axis->tick[k].label));
	return most;
}

/* Ticks along x, fewer until their labels do not meet. */
static void space_ticks(struct panel *panel)
{
	const double length = panel->x.stop - panel->x.start;
	for (int most = (int)(length / (3 * panel->em)) + 1; most >= 2; most--) {
		nb_axis_ticks(&panel->x, most);
		int labels = 0, close = 0;
		double last = -1e9;
		for (int k = 0; k < panel->x.ntick; k++) {
			const struct tick *tick = &panel->x.tick[k];
			if (tick->minor)
				continue;
			const double at = nb_axis_place(&panel->x, tick->at),
				     half = nb_panel_width(panel, tick->label) / 2;
			close |= at - half < last + panel->wide;
			last = at + half;
			labels++;
		}
		if (!close || labels <= 2)
			return;
	}
}

static void draw_axes(struct panel *panel, int has_x)
{
	const double left = panel->x.start, right = panel->x.stop, top = panel->y.stop, bottom = panel->y.start;
	const int in_text = panel->plot->canvas.format == NB_CANVAS_TEXT;
	const double tick = panel->em * 0.4;
	double last = -1e9;
	for (int k = 0; k < panel->x.ntick; k++) {
		const struct tick *t = &panel->x.tick[k];
		const double at = nb_axis_place(&panel->x, t->at);
		if (!in_text)
			rule(panel, at, bottom, at, bottom - (t->minor ? tick / 2 : tick));
		if (!t->minor && has_x)
			nb_panel_text(panel, at, bottom + (in_text ? 4 : 0.5 * panel->em), 0.5f, 0, 0, BLACK, t->label);
	}
	for (int k = 0; k < panel->y.ntick; k++) {
		const struct tick *t = &panel->y.tick[k];
		const double at = nb_axis_place(&panel->y, t->at);
		if (!in_text)
			rule(panel, left, at, left + (t->minor ? tick / 2 : tick), at);
		if (t->minor || fabs(at - last) < panel->em)
			continue;
		last = at;
		nb_panel_text(panel, left - (in_text ? 4 : 0.5 * panel->em), at, 1, 0.5f, 0, BLACK, t->label);
	}
	for (double y = top; in_text && y < bottom; y += 4)
		nb_panel_text(panel, left - 2, y, 0, 0, 0, BLACK, "│");
	for (double x = left - 2; in_text && x < right; x += 2)
		nb_panel_text(panel, x, bottom, 0, 0, 0, BLACK, x >= left ? "─" : "└");
	if (in_text)
		return;
	rule(panel, left, top, left, bottom);
	rule(panel, left, bottom, right, bottom);
	rule(panel, right, top, right, bottom);
	rule(panel, left, top, right, top);
}

/* Colours of a map, with numbers. */
static void draw_scale(struct panel *panel)
{
	const uint32_t *table = nb_colormap_table(NB_VIRIDIS);
	uint32_t column[256];
	const double x = panel->x.stop + panel->em, wide = panel->em;
	struct axis axis = panel->y;
	axis.log = 1;
	axis.low = 0;
	axis.high = fmax(log10(panel->most), 0.1);
	for (int k = 0; k < 256; k++)
		column[k] = 0xff000000u | table[255 - k];
	nb_panel_image(panel, column, 256, 1, x, wide);
	nb_axis_ticks(&axis, (int)((axis.start - axis.stop) / (3 * panel->em)));
	for (int k = 0; k < axis.ntick; k++)
		if (!axis.tick[k].minor)
			nb_panel_text(panel, x + wide + panel->wide, nb_axis_place(&axis, axis.tick[k].at), 0, 0.5f, 0,
				BLACK, axis.tick[k].label);
}

/* ---- panels ------------------------------------------------------------------------------------- */

static void draw_curves(struct panel *panel, const struct legend *legend)
{
	struct plot *plot = panel->plot;
	if (panel->style == STYLE_MAP) {
		nb_panel_count(panel);
		nb_panel_map(panel);
		return;
	}
	for (size_t k = 0; k < plot->nseries; k++) {
		if (!nb_panel_has(panel, k))
			continue;
		nb_panel_curve(panel, k);
		if (!panel->dry && plot->canvas.format == NB_CANVAS_TEXT && legend->n > 1 && panel->style == STYLE_LINE)
			nb_legend_letters(panel, k);
	}
}

/* What is drawn, how high its axis is, and how much room its labels take. */
static double lay_out(struct panel *panel, double top, double bottom)
{
	const int in_text = panel->plot->canvas.format == NB_CANVAS_TEXT;
	nb_panel_measure(panel);
	panel->y.stop = top + (in_text ? 4 : 0.8 * panel->em);
	panel->y.start = bottom - (in_text && panel->number < panel->plot->npanel - 1 ? 4 : 0);
	nb_axis_ticks(&panel->y, (int)((panel->y.start - panel->y.stop) / (in_text ? 12 : 2.6 * panel->em)));
	return widest(panel, &panel->y);
}

/* Positions are as long in both directions, unless somebody wants to see a part. */
static void equalise(struct panel *panel)
{
	const struct plot *plot = panel->plot;
	struct axis *x = &panel->x, *y = &panel->y;
	if (plot->npanel > 1 || x->log || y->log || plot->x_range || plot->y_range || plot->rows != ROWS_BODIES ||
		strcmp(plot->x_unit, "length") != 0 || strcmp(plot->y_unit[0], "length") != 0)
		return;
	const double scale = fmax((x->high - x->low) / (x->stop - x->start), (y->high - y->low) / (y->start - y->stop));
	const double half[2] = {scale * (x->stop - x->start) / 2, scale * (y->start - y->stop) / 2};
	for (int k = 0; k < 2; k++) {
		struct axis *axis = k ? y : x;
		const double middle = axis->low / 2 + axis->high / 2;
		axis->low = middle - half[k];
		axis->high = middle + half[k];
	}
	nb_axis_ticks(y, y->most);
}

/* Where the legend is, and how much room beside the curves it takes. */
static double lay_out_legend(struct panel *panel, struct legend *legend)
{
	*legend = (struct legend){.n = 0};
	if (panel->style == STYLE_MAP) /* counts them together */
		return 0;
	equalise(panel);
	panel->dry = 1;
	draw_curves(panel, NULL);
	panel->dry = 0;
	if (nb_legend_place(panel, legend) || legend->wide > (panel->x.stop - panel->x.start) * 0.62)
		return 0;
	legend->beside = 1;
	return legend->wide + panel->em;
}

static void draw_panel(struct panel *panel, struct legend *legend)
{
	struct plot *plot = panel->plot;
	const int in_text = plot->canvas.format == NB_CANVAS_TEXT;
	char name[300];
	equalise(panel);
	space_ticks(panel);
	if (legend->beside) {
		legend->left = panel->x.stop + panel->em;
		legend->top = panel->y.stop;
	}
	struct nb_drawing clip = {.what = NB_DRAW_CLIP, .x = (float)panel->x.start, .y = (float)panel->y.stop};
	clip.w = (float)panel->x.stop - clip.x;
	clip.h = (float)panel->y.start - clip.y;
	nb_canvas_draw(&plot->canvas, &clip, NULL);
	draw_curves(panel, legend);
	nb_canvas_draw(&plot->canvas, &(struct nb_drawing){.what = NB_DRAW_CLIP}, NULL);
	draw_axes(panel, panel->number == plot->npanel - 1);
	if (panel->style == STYLE_MAP)
		draw_scale(panel);
	if (legend->n)
		nb_legend_draw(panel, legend);
	nb_panel_name_y(panel, name, sizeof name);
	if (in_text)
		nb_panel_text(panel, 2, panel->y.stop - 4, 0, 0, 0, BLACK, name);
	else
		nb_panel_text(
			panel, 1.1 * panel->em, (panel->y.start + panel->y.stop) / 2, 0.5f, 0.5f, 90, BLACK, name);
	if (panel->number < plot->npanel - 1)
		return;
	nb_plot_name_axis(plot, &panel->x, plot->x_label, plot->preset ? plot->preset->x_label : NULL,
		plot->x_text ? plot->x_text : "", plot->x_unit, name, sizeof name);
	nb_panel_text(panel, (panel->x.start + panel->x.stop) / 2, panel->y.start + (in_text ? 8 : 2.9 * panel->em),
		0.5f, in_text ? 0 : 1, 0, BLACK, name);
}

/* ---- the picture -------------------------------------------------------------------------------- */

/* How many points have no place, and why. */
static void tell_left_out(const struct plot *plot, int log_x, int log_y)
{
	size_t all = 0, not_finite = 0, not_positive = 0;
	for (size_t k = 0; k < plot->nseries; k++)
		for (size_t i = 0; i < plot->series[k].n; i++, all++) {
			const double x = plot->series[k].x[i], y = plot->series[k].y_value[i];
			if (!isfinite(x) || !isfinite(y))
				not_finite++;
			else
				not_positive += (log_x && x <= 0) || (log_y && y <= 0);
		}
	if (not_finite)
		nb_verbose("%zu of %zu points are left out: not finite", not_finite, all);
	if (not_positive)
		nb_warn("%zu of %zu points are left out: not positive, on a logarithmic axis", not_positive, all);
	if (not_finite + not_positive == all)
		nb_warn("there is nothing to draw: %s", all ? "all points are left out" : "no rows");
}

/* What all panels have in common: the range of x, which axes are logarithmic, the size of letters. */
static struct panel begin(struct plot *plot)
{
	const int log = plot->log != LOG_AUTO		    ? plot->log
			: plot->preset && plot->preset->log ? (int)plot->preset->log
							    : LOG_NONE;
	const int in_text = plot->canvas.format == NB_CANVAS_TEXT;
	const float em = in_text ? 4 : (float)fmax(7, fmin(plot->canvas.height, plot->canvas.width * 0.7) / 32.0);
	struct panel panel = {.plot = plot, .em = em, .style = plot->style};
	double x[2] = {INFINITY, -INFINITY};
	size_t most = 0;
	panel.wide = nb_canvas_text_width(&plot->canvas, em, "0");
	panel.x.log = log == LOG_X || log == LOG_XY;
	panel.y.log = log == LOG_Y || log == LOG_XY;
	const struct axis y = {.log = panel.y.log && plot->ny};
	tell_left_out(plot, panel.x.log, y.log);
	for (size_t k = 0; k < plot->nseries; k++) {
		nb_axis_widen(x, plot->series[k].x, plot->series[k].y_value, &panel.x, &y, plot->series[k].n);
		most = plot->series[k].n > most ? plot->series[k].n : most;
	}
	nb_axis_range(&panel.x, x, plot->x_range, "x-range",
		panel.style == STYLE_POINTS || (panel.style == STYLE_LINE && most <= MARKED) ? 0.02 : 0);
	return panel;
}

void nb_plot_draw(struct plot *plot)
{
	const int in_text = plot->canvas.format == NB_CANVAS_TEXT, n = plot->npanel = plot->npanel ? plot->npanel : 1;
	nb_plot_name_series(plot);
	const struct panel common = begin(plot);
	struct panel *panel = plot->panels = nb_require_memory(NULL, nb_alloc((size_t)n, sizeof *panel));
	struct legend legend[CURVES];
	const double em = common.em, top = !plot->title ? 0 : in_text ? 4 : 1.7 * em;
	const double high = (plot->canvas.height - top - (in_text ? 12 : 3.2 * em)) / n;
	const double step = in_text ? 4 : 1; /* of a line, or a pixel */
	double labels = 0, beside = 0;
	for (int k = 0; k < n; k++) {
		panel[k] = common;
		panel[k].number = k;
		labels = fmax(labels, lay_out(&panel[k], step * floor((top + high * k) / step),
					      step * floor((top + high * (k + 1)) / step)));
	}
	for (int k = 0; k < n; k++) {
		panel[k].x.start = labels + (in_text ? 6 : 3.1 * em);
		panel[k].x.stop = plot->canvas.width - (panel->style == STYLE_MAP ? 5.5 * em : in_text ? 4 : 1.5 * em);
		beside = fmax(beside, lay_out_legend(&panel[k], &legend[k]));
	}
	if (plot->title)
		nb_panel_text(panel, (panel->x.start + panel->x.stop) / 2, in_text ? 0 : 0.9 * em, 0.5f, 0, 0, BLACK,
			plot->title);
	for (int k = 0; k < n; k++) {
		panel[k].x.stop -= beside;
		draw_panel(&panel[k], &legend[k]);
		nb_free(panel[k].count);
	}
	nb_free(panel);
	plot->panels = NULL;
}
