/* Lines, points, histograms and maps between the axes of a panel. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "formats/image/image.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 8192 };

/* What is to be drawn as one. */
struct pen {
	struct panel *panel;
	struct nb_drawing drawing;
	float xy[2 * AT_ONCE];
};

static double clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* ---- where something is ------------------------------------------------------------------------- */

static void mark(struct panel *panel, double x, double y)
{
	const double i = (x - panel->x.start) / (panel->x.stop - panel->x.start) * BUSY;
	const double j = (y - panel->y.stop) / (panel->y.start - panel->y.stop) * BUSY;
	if (i > -1 && i < BUSY + 1 && j > -1 && j < BUSY + 1)
		panel->busy[(int)clamp(j, 0, BUSY - 1)][(int)clamp(i, 0, BUSY - 1)] = 1;
}

static void mark_way(struct panel *panel, const float *from, const float *to)
{
	const double dx = (to[0] - from[0]) / (panel->x.stop - panel->x.start);
	const double dy = (to[1] - from[1]) / (panel->y.start - panel->y.stop);
	const int steps = (int)clamp(ceil(fmax(fabs(dx), fabs(dy)) * BUSY * 2), 1, 1e4);
	for (int k = 0; k <= steps; k++)
		mark(panel, from[0] + (to[0] - from[0]) * (double)k / steps,
			from[1] + (to[1] - from[1]) * (double)k / steps);
}

/* ---- the pen ------------------------------------------------------------------------------------ */

static void flush(struct pen *pen)
{
	if (pen->drawing.n > 0 && !pen->panel->dry)
		nb_canvas_draw(&pen->panel->plot->canvas, &pen->drawing, pen->xy);
	pen->drawing.n = 0;
}

static void put(struct pen *pen, double x, double y)
{
	if (pen->drawing.n == AT_ONCE) {
		const float last[2] = {pen->xy[2 * AT_ONCE - 2], pen->xy[2 * AT_ONCE - 1]};
		flush(pen);
		if (pen->drawing.what == NB_DRAW_LINE) {
			memcpy(pen->xy, last, sizeof last);
			pen->drawing.n = 1;
		}
	}
	float *to = &pen->xy[2 * pen->drawing.n];
	to[0] = (float)clamp(x, -1e5, 1e5);
	to[1] = (float)clamp(y, -1e5, 1e5);
	if (pen->panel->dry && pen->drawing.what == NB_DRAW_LINE && pen->drawing.n > 0)
		mark_way(pen->panel, to - 2, to);
	else if (pen->panel->dry)
		mark(pen->panel, to[0], to[1]);
	pen->drawing.n++;
}

/* ---- lines and points --------------------------------------------------------------------------- */

/* Points in one column of pixels, of which a line has the first, the least, the greatest and the last. */
struct run {
	double column; /* NaN: there are none */
	double x[4], y[4];
	int least_first;
};

static void end_run(struct pen *pen, struct run *run)
{
	const int order[4] = {0, run->least_first ? 1 : 2, run->least_first ? 2 : 1, 3};
	for (int k = 0; k < 4 && !isnan(run->column); k++)
		if (k == 0 || run->x[order[k]] != run->x[order[k - 1]] || run->y[order[k]] != run->y[order[k - 1]])
			put(pen, run->x[order[k]], run->y[order[k]]);
	run->column = NAN;
}

static void add_to_run(struct pen *pen, struct run *run, double x, double y)
{
	if (floor(x) != run->column) {
		end_run(pen, run);
		run->column = floor(x);
		for (int k = 0; k < 4; k++) {
			run->x[k] = x;
			run->y[k] = y;
		}
	}
	const int least = y < run->y[1];
	const int greatest = y > run->y[2];
	if (least || greatest) {
		run->x[least ? 1 : 2] = x;
		run->y[least ? 1 : 2] = y;
		run->least_first = !least;
	}
	run->x[3] = x;
	run->y[3] = y;
}

static void draw_line(struct pen *pen, const struct series *series)
{
	struct run run = {.column = NAN};
	for (size_t i = 0; i < series->n; i++) {
		const double x = nb_axis_place(&pen->panel->x, series->x[i]);
		const double y = nb_axis_place(&pen->panel->y, series->y_value[i]);
		if (isfinite(x) && isfinite(y)) {
			add_to_run(pen, &run, x, y);
			continue;
		}
		end_run(pen, &run);
		flush(pen);
	}
	end_run(pen, &run);
	flush(pen);
}

/* Of points that are in one half of a pixel one is enough. */
static void draw_points(struct pen *pen, const struct series *series)
{
	const struct plot *plot = pen->panel->plot;
	const size_t columns = 2 * (size_t)plot->canvas.width, rows = 2 * (size_t)plot->canvas.height;
	unsigned char *seen = nb_require_memory(NULL, nb_alloc_zero(columns * rows / 8 + 1, 1));
	for (size_t i = 0; i < series->n; i++) {
		const double x = nb_axis_place(&pen->panel->x, series->x[i]);
		const double y = nb_axis_place(&pen->panel->y, series->y_value[i]);
		if (!(x >= 0 && x < plot->canvas.width && y >= 0 && y < plot->canvas.height))
			continue;
		const size_t bit = (size_t)(2 * y) * columns + (size_t)(2 * x);
		if (seen[bit / 8] >> bit % 8 & 1)
			continue;
		seen[bit / 8] |= (unsigned char)(1 << bit % 8);
		put(pen, x, y);
	}
	flush(pen);
	nb_free(seen);
}

/* ---- histograms --------------------------------------------------------------------------------- */

static double bin_of(const struct axis *axis, double x, size_t bins)
{
	const double at = axis->log ? (x > 0 ? log10(x) : NAN) : x;
	const double k = floor((at - axis->low) / (axis->high - axis->low) * (double)bins);
	return at == axis->high ? (double)bins - 1 : k;
}

void nb_panel_count(struct panel *panel)
{
	struct plot *plot = panel->plot;
	const int map = panel->style == STYLE_MAP;
	for (size_t k = 0; k < plot->nseries; k++) {
		const struct series *series = &plot->series[k];
		for (size_t i = 0; i < series->n && nb_panel_has(panel, k); i++) {
			const double column = bin_of(&panel->x, series->x[i], panel->columns);
			const double row = map ? bin_of(&panel->y, series->y_value[i], panel->rows) : (double)k;
			if (!(column >= 0 && column < (double)panel->columns && row >= 0 && row < (double)panel->rows))
				continue;
			double *count = &panel->count[(size_t)row * panel->columns + (size_t)column];
			panel->most = fmax(panel->most, ++*count);
		}
	}
}

static void draw_histogram(struct pen *pen, const struct panel *panel, size_t k)
{
	const double *count = panel->count + k * panel->columns, bottom = panel->y.start;
	const double width = (panel->x.stop - panel->x.start) / (double)panel->columns;
	/* characters have no areas but rectangles */
	const int bars = pen->drawing.what == NB_DRAW_AREA && panel->plot->canvas.format == NB_CANVAS_TEXT;
	for (size_t i = 0; i < panel->columns; i++) {
		const double left = panel->x.start + width * (double)i;
		const double top = count[i] > 0 ? nb_axis_place(&panel->y, count[i]) : bottom;
		if (i == 0 || bars)
			put(pen, left, bottom);
		put(pen, left, top);
		put(pen, left + width, top);
		if (i + 1 == panel->columns || bars)
			put(pen, left + width, bottom);
		if (bars)
			flush(pen);
	}
	flush(pen);
}

void nb_panel_image(struct panel *panel, const uint32_t *pixel, size_t n, size_t columns, double x, double wide)
{
	struct nb_drawing d = {.what = NB_DRAW_IMAGE, .n = (uint32_t)n, .columns = (uint32_t)columns};
	d.x = (float)x;
	d.y = (float)panel->y.stop;
	d.w = (float)wide;
	d.h = (float)(panel->y.start - panel->y.stop);
	nb_canvas_draw(&panel->plot->canvas, &d, pixel);
}

void nb_panel_map(struct panel *panel)
{
	const uint32_t *table = nb_colormap_table(NB_VIRIDIS);
	uint32_t *pixel = nb_require_memory(NULL, nb_alloc(panel->columns * panel->rows, sizeof *pixel));
	for (size_t j = 0; j < panel->rows; j++)
		for (size_t i = 0; i < panel->columns; i++) {
			const double count = panel->count[(panel->rows - 1 - j) * panel->columns + i];
			const double part = panel->most > 1 ? log(count) / log(panel->most) : 1;
			pixel[j * panel->columns + i] = count > 0 ? 0xff000000u | table[(int)clamp(255 * part, 0, 255)]
								  : 0;
		}
	nb_panel_image(panel, pixel, panel->columns * panel->rows, panel->columns, panel->x.start,
		panel->x.stop - panel->x.start);
	nb_free(pixel);
}

/* ---- a curve ------------------------------------------------------------------------------------ */

int nb_panel_has(const struct panel *panel, size_t k)
{
	return panel->plot->panel[panel->plot->series[k].y] == panel->number;
}

/* Half way to white. */
static uint32_t pale(uint32_t color)
{
	return (color >> 1 & 0x7f7f7f) + 0x808080;
}

void nb_panel_curve(struct panel *panel, size_t k)
{
	const struct series *series = &panel->plot->series[k];
	const uint32_t color = nb_plot_color(series->color);
	const float em = panel->em;
	struct pen *pen = nb_require_memory(NULL, malloc(sizeof *pen));
	pen->panel = panel;
	pen->drawing = (struct nb_drawing){.what = NB_DRAW_LINE, .size = em * 0.11f, .color = color};
	pen->drawing.dash = series->open ? em * 0.4f : 0;
	if (panel->style == STYLE_HISTOGRAM) {
		if (panel->plot->nseries == 1) {
			pen->drawing.what = NB_DRAW_AREA;
			pen->drawing.color = pale(color);
			draw_histogram(pen, panel, k);
			pen->drawing.what = NB_DRAW_LINE;
			pen->drawing.color = color;
		}
		draw_histogram(pen, panel, k);
	} else if (panel->style == STYLE_LINE) {
		draw_line(pen, series);
	}
	if (panel->style == STYLE_POINTS || (panel->style == STYLE_LINE && series->n <= MARKED)) {
		const float size = series->n <= 300	? 0.35f
				   : series->n <= 3000	? 0.2f
				   : series->n <= 30000 ? 0.12f
							: 0.07f;
		pen->drawing.what = NB_DRAW_DOTS;
		pen->drawing.size = fmaxf(size * em, 1);
		draw_points(pen, series);
		if (series->open && panel->plot->canvas.format != NB_CANVAS_TEXT) {
			pen->drawing.size /= 2;
			pen->drawing.color = 0xffffff;
			draw_points(pen, series);
		}
	}
	free(pen);
}
