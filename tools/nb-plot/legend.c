/* The legend: where nothing else is. */
#include "tools/nb-plot/plot.h"

#include <math.h>
#include <string.h>

/* Its size, and the emptiest of the corners and edges: 1 if there is nothing in it. */
int nb_legend_place(struct panel *panel, struct legend *legend)
{
	const struct plot *plot = panel->plot;
	const double w = panel->x.stop - panel->x.start, h = panel->y.start - panel->y.stop, gap = panel->em * 0.8;
	int best = BUSY * BUSY;
	*legend = (struct legend){.line = plot->canvas.format == NB_CANVAS_TEXT ? 4 : panel->em * 1.5};
	for (size_t k = 0; k < plot->nseries; k++)
		if (nb_panel_has(panel, k) && *plot->series[k].label) {
			legend->wide = fmax(legend->wide, nb_panel_width(panel, plot->series[k].label) + 4 * panel->em);
			legend->n++;
		}
	legend->high = legend->n * legend->line + (plot->canvas.format == NB_CANVAS_TEXT ? 0 : panel->em * 0.4);
	for (int corner = 0; corner < 15 && legend->n; corner++) { /* corners first, then the edges and between */
		static const double fx[3] = {1, 0, 0.5}, fy[5] = {0, 1, 0.5, 0.25, 0.75};
		const double x = gap + fx[corner % 3] * (w - 2 * gap - legend->wide),
			     y = gap + fy[corner / 3] * (h - 2 * gap - legend->high);
		int busy = 0;
		for (int j = (int)fmax(y / h * BUSY - 1, 0); j < BUSY && j <= (y + legend->high) / h * BUSY; j++)
			for (int i = (int)fmax(x / w * BUSY - 1, 0); i < BUSY && i <= (x + legend->wide) / w * BUSY;
				i++)
				busy += panel->busy[j][i];
		if (busy < best) {
			best = busy;
			legend->left = panel->x.start + x;
			legend->top = panel->y.stop + y;
		}
	}
	return best == 0 || !legend->n;
}

void nb_legend_draw(struct panel *panel, const struct legend *legend)
{
	struct plot *plot = panel->plot;
	const int in_text = plot->canvas.format == NB_CANVAS_TEXT;
	double y = legend->top + legend->line / 2;
	for (size_t k = 0; k < plot->nseries; k++) {
		if (!nb_panel_has(panel, k) || !*plot->series[k].label)
			continue;
		const struct series *series = &plot->series[k];
		const uint32_t ink = nb_plot_color(series->color);
		const float xy[4] = {(float)legend->left, (float)y, (float)(legend->left + 2.2 * panel->em), (float)y};
		const char letter[2] = {(char)('a' + k % 26), '\0'};
		struct nb_drawing line = {.what = NB_DRAW_LINE, .n = 2, .color = ink, .size = 0.16f * panel->em};
		line.dash = series->open ? 4 * line.size : 0;
		if (panel->style == STYLE_POINTS) {
			line.what = NB_DRAW_DOTS; /* one, at the second end */
			line.n = 1;
			line.size *= 3;
		}
		if (in_text)
			nb_panel_text(panel, legend->left, y, 0, 0.5f, 0, ink, letter);
		else
			nb_canvas_draw(&plot->canvas, &line, line.n == 1 ? xy + 2 : xy);
		nb_panel_text(panel, legend->left + (in_text ? 4 : 2.8 * panel->em), y, 0, 0.5f, 0,
			in_text ? ink : BLACK, series->label);
		y += legend->line;
	}
}

/* Where colours may not be seen, letters on curves. */
void nb_legend_letters(struct panel *panel, size_t k)
{
	const struct series *series = &panel->plot->series[k];
	const char letter[2] = {(char)('a' + k % 26), '\0'};
	for (size_t part = 1; part < 8 && series->n; part += 2) {
		const size_t i = (series->n - 1) * part / 8;
		const double x = nb_axis_place(&panel->x, series->x[i]),
			     y = nb_axis_place(&panel->y, series->y_value[i]);
		if (x > panel->x.start && x < panel->x.stop && y > panel->y.stop && y < panel->y.start)
			nb_panel_text(panel, x, y, 0.5f, 0.5f, 0, nb_plot_color(series->color), letter);
	}
}
