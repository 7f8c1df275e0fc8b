/* nb-render-ppm: axes with ticks, along the left and the lower edge of the picture. */
#include "tools/nb-render-ppm/render.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One of them: along the right (0) or up (1). */
struct axis {
	int upright;
	double step, sign, middle; /* between numbers; the coordinate in the middle of the picture */
	char name[NB_UNIT_SIZE + 8];
};

/* Pixels from the lower edge, or the left one, to the ends of numbers. */
int nb_render_axes_room(const struct render *r)
{
	return r->parsed.axes ? (NB_TEXT_HEIGHT + 8) * nb_render_dot(r) : 0;
}

/* A coordinate where the axis is that of one; else the distance from the middle. */
static struct axis find_axis(const struct render *r, int upright)
{
	const struct nb_camera *c = &r->scene.camera;
	const double *along = upright ? c->up : c->right, wide = 12 * NB_TEXT_ADVANCE * nb_render_dot(r);
	const double smaller = r->width < r->height ? r->width : r->height;
	struct axis axis = {
		upright, nb_render_round_length(fmax(smaller / 3, 2 * wide) / c->pixels_per_length), 1, 0, ""};
	struct unit_names units;
	nb_render_unit_names(r->bodies.frame, &units);
	for (int k = 0; k < 3; k++)
		if (fabs(along[k]) == 1) {
			axis.sign = along[k];
			axis.middle = c->centre[k];
			axis.name[0] = "xyz"[k];
		}
	if (units.length[0])
		snprintf(axis.name + strlen(axis.name), sizeof axis.name - strlen(axis.name), "%s[%s]",
			axis.name[0] ? " " : "", units.length);
	return axis;
}

/* A tick so many dots long at this distance from the middle of the picture, in pixels. */
static void draw_tick(struct render *r, const struct axis *axis, double pixels, int dots)
{
	const int dot = nb_render_dot(r), thick = dot > 1 ? dot / 2 : 1;
	if (axis->upright)
		nb_render_fill(
			r, 0, (int)floor(r->height / 2.0 - pixels) - thick / 2, dots * dot, thick, nb_render_ink(r));
	else
		nb_render_fill(r, (int)floor(r->width / 2.0 + pixels) - thick / 2, r->height - dots * dot, thick,
			dots * dot, nb_render_ink(r));
}

/* Its number beside it, where nothing else is: the name of the axis at its end, title and time, or the scale. */
static void write_number(struct render *r, const struct axis *axis, double pixels, const char *text)
{
	const int dot = nb_render_dot(r), width = nb_text_width(text, dot), high = NB_TEXT_HEIGHT * dot;
	const int x = axis->upright ? 6 * dot : (int)(r->width / 2.0 + pixels) - width / 2;
	const int y = axis->upright ? (int)(r->height / 2.0 - pixels) - high / 2 : r->height - 6 * dot - high;
	const int room = nb_render_axes_room(r), end = r->width - nb_text_width(axis->name, dot) - 2 * room;
	if (axis->upright ? y > 5 * high && y + high < r->height - 3 * room : x > 3 * room && x + width < end)
		nb_render_write(r, x, y, text);
}

static void draw_axis(struct render *r, const struct axis *axis)
{
	const double scale = r->scene.camera.pixels_per_length,
		     half = (axis->upright ? r->height : r->width) / 2.0 / scale;
	const double least = axis->middle - half, most = axis->middle + half;
	const int decimals = (int)fmin(fmax(-floor(log10(axis->step) + 1e-9), 0), 12);
	const int plain = axis->step >= 1e-4 && axis->step < 1e6;
	char text[NB_LABEL_SIZE];
	if (!(fmax(fabs(least), fabs(most)) < 1e9 * axis->step))
		return; /* numbers could not tell the ticks apart */
	for (double k = ceil(5 * least / axis->step); k <= 5 * most / axis->step; k++) {
		const double at = k * axis->step / 5, pixels = axis->sign * (at - axis->middle) * scale;
		const int has_number = fmod(k, 5) == 0;
		draw_tick(r, axis, pixels, has_number ? 5 : 3);
		if (!has_number)
			continue;
		nb_render_number(text, 6, at + 0.0);
		if (plain)
			snprintf(text, sizeof text, "%.*f", decimals, at + 0.0);
		write_number(r, axis, pixels, text);
	}
	const int dot = nb_render_dot(r);
	nb_render_write(r, axis->upright ? 6 * dot : r->width - 6 * dot - nb_text_width(axis->name, dot),
		axis->upright ? 3 * NB_TEXT_HEIGHT * dot : r->height - (6 + NB_TEXT_HEIGHT) * dot, axis->name);
}

void nb_render_axes(struct render *r)
{
	for (int upright = 0; upright < 2; upright++) {
		const struct axis axis = find_axis(r, upright);
		draw_axis(r, &axis);
	}
}
