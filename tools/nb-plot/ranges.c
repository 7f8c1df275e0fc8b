/* What axes show, and what is counted between them. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <math.h>
#include <string.h>

void nb_axis_widen(double range[2], const double *value, const double *other, const struct axis *axis,
	const struct axis *cross, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double at = cross->log && other[i] > 0 ? log10(other[i]) : other[i];
		if (!isfinite(value[i]) || !isfinite(at) || (axis->log && value[i] <= 0) ||
			(cross->log && other[i] <= 0) ||
			(cross->low < cross->high && (at < cross->low || at > cross->high)))
			continue;
		range[0] = fmin(range[0], value[i]);
		range[1] = fmax(range[1], value[i]);
	}
}

/* What is shown: what is asked for, or else all, with some room (a part of it) around. */
void nb_axis_range(struct axis *axis, const double all[2], const char *asked, const char *option, double room)
{
	double range[2] = {all[0], all[1]}, given[2] = {NAN, NAN};
	if (asked && (nb_parse_range(asked, asked + strlen(asked), given) != NB_PARSE_OK || given[0] >= given[1] ||
			     (axis->log && given[0] <= 0)))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want A:B, such as 0:10%s)", option, asked,
			axis->log ? "; positive on a logarithmic axis" : "");
	if (!(range[0] <= range[1]))
		range[0] = axis->log ? 1 : 0, range[1] = axis->log ? 10 : 1;
	for (int k = 0; k < 2; k++)
		range[k] = axis->log ? log10(range[k]) : fmax(fmin(range[k], 8e307), -8e307);
	const double least = fmax(fmax(fabs(range[0]), fabs(range[1])) * 1e-12, 1e-300);
	if (range[1] - range[0] < least) {
		const double around = axis->log ? 0.5 : range[0] != 0 ? fabs(range[0]) / 2 : 1;
		range[0] -= around;
		range[1] += around;
	}
	const double gap = room * (range[1] - range[0]);
	axis->low = isnan(given[0]) ? range[0] - gap : axis->log ? log10(given[0]) : given[0];
	axis->high = isnan(given[1]) ? range[1] + gap : axis->log ? log10(given[1]) : given[1];
	if (!(axis->low < axis->high))
		nb_die(NB_EXIT_FAILED, "%s '%s': there is nothing (the data are from %.6g to %.6g)", option, asked,
			all[0], all[1]);
}

/* The bins of a histogram, or the range of y. */
void nb_panel_measure(struct panel *panel)
{
	struct plot *plot = panel->plot;
	double y[2] = {INFINITY, -INFINITY};
	const int histogram = panel->style == STYLE_HISTOGRAM, map = panel->style == STYLE_MAP;
	for (size_t k = 0; k < plot->nseries && !histogram; k++)
		if (nb_panel_has(panel, k))
			nb_axis_widen(
				y, plot->series[k].y_value, plot->series[k].x, &panel->y, &panel->x, plot->series[k].n);
	if (!histogram)
		nb_axis_range(&panel->y, y, plot->y_range, "y-range", map ? 0 : 0.04);
	if (!histogram && !map)
		return;
	panel->columns = plot->bins ? (size_t)plot->bins : histogram ? 40 : 128;
	panel->rows = histogram ? plot->nseries : panel->columns * 3 / 4 + 1;
	if (plot->canvas.format == NB_CANVAS_TEXT && !plot->bins && map) {
		panel->columns = (size_t)plot->canvas.width / 3;
		panel->rows = (size_t)plot->canvas.height / 4;
	}
	panel->count = nb_require_memory(NULL, nb_alloc_zero(panel->columns * (panel->rows + 1), sizeof *panel->count));
	if (map) /* counts when the axes are as they stay */
		return;
	nb_panel_count(panel);
	y[0] = panel->y.log ? 0.8 : 0;
	y[1] = fmax(panel->most, 1) * (panel->y.log ? 1.5 : 1.06);
	nb_axis_range(&panel->y, y, plot->y_range, "y-range", 0);
}
