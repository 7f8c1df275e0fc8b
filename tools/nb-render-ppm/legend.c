/* nb-render-ppm: title, time, scale bar and colour bar. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 64 };

static const uint8_t pale[3] = {225, 225, 225};

/* Size of a dot of the letters. */
static int dot(const struct render *r)
{
	const int smaller = r->width < r->height ? r->width : r->height;
	return smaller >= 480 ? smaller / 360 + (smaller % 360 >= 120) : 1;
}

/* From the edge of the picture. */
static int margin(const struct render *r)
{
	return 6 * dot(r);
}

static int line_height(const struct render *r)
{
	return (NB_TEXT_HEIGHT + 2) * dot(r);
}

static void write_at(struct render *r, int x, int y, const char *text)
{
	nb_text_draw(r->canvas.rgb, r->width, r->height, x, y, dot(r), text, pale);
}

static void fill(struct render *r, int x, int y, int width, int height, const uint8_t colour[3])
{
	const int right = x + width < r->width ? x + width : r->width;
	const int bottom = y + height < r->height ? y + height : r->height;
	for (int row = y > 0 ? y : 0; row < bottom; row++)
		for (int column = x > 0 ? x : 0; column < right; column++)
			memcpy(&r->canvas.rgb[3 * ((size_t)row * (size_t)r->width + (size_t)column)], colour, 3);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

/* A time in a place of the same width for all that are as large. */
static void format_time(double t, char text[LABEL_SIZE])
{
	const double size = fabs(t);
	if (size != 0 && (size < 0.001 || size >= 1e6))
		snprintf(text, LABEL_SIZE, "t = %.4e", t);
	else
		snprintf(text, LABEL_SIZE, "t = %.*f", size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0, t);
}

/* 1, 2 or 5 times a power of ten, at most x > 0. */
static double round_length(double x)
{
	const double ten = pow(10, floor(log10(x))), digit = x / ten;
	return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * ten;
}

static void format_number(double x, char text[LABEL_SIZE])
{
	snprintf(text, LABEL_SIZE, "%.3g", x);
}

/* ---- labels --------------------------------------------------------------------------------------- */

static void write_time(struct render *r)
{
	char text[LABEL_SIZE];
	format_time(nb_require_attribute(r->bodies.frame, "time", 0), text);
	write_at(r, margin(r), margin(r), text);
}

static void write_title(struct render *r)
{
	write_at(r, (r->width - nb_text_width(r->title, dot(r))) / 2, margin(r), r->title);
}

/* A bar of a round length, about a fifth of the width, with that length above. */
static void draw_scale(struct render *r)
{
	const struct nb_camera *camera = &r->scene.camera;
	const struct nb_column *pos = nb_frame_field(r->bodies.frame, NB_POS);
	const double length = round_length(r->width / 4.0 / camera->pixels_per_length);
	const int pixels = (int)(length * camera->pixels_per_length + 0.5), thick = 2 * dot(r);
	const int y = r->height - margin(r) - thick;
	char text[LABEL_SIZE];
	format_number(length, text);
	if (pos && pos->unit[0] && strcmp(pos->unit, "length") != 0 && nb_text_possible(pos->unit)) {
		const size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, " %s", pos->unit);
	}
	static const uint8_t black[3];
	fill(r, margin(r) - dot(r), y - dot(r), pixels + 2 * dot(r), thick + 2 * dot(r), black);
	fill(r, margin(r), y, pixels, thick, pale);
	write_at(r, margin(r) + (pixels - nb_text_width(text, dot(r))) / 2, y - line_height(r), text);
}

/* ---- colours -------------------------------------------------------------------------------------- */

static void to_bytes(const float rgb[3], uint8_t colour[3])
{
	for (int k = 0; k < 3; k++)
		colour[k] = (uint8_t)(255 * rgb[k] + 0.5f);
}

/* The species seen so far, each with its number, from right to left. */
static void draw_kinds(struct render *r)
{
	double *species = nb_render_numbers(r, nb_require_field(r->bodies.frame, NB_SPECIES));
	for (size_t i = 0; i < r->bodies.n; i++)
		r->scene.kinds[nb_render_kind(species[i])] = 1;
	nb_free(species);
	const int size = NB_TEXT_HEIGHT * dot(r), y = r->height - margin(r) - size;
	int x = r->width - margin(r);
	for (unsigned kind = NSPECIES; kind-- > 0;) {
		if (!r->scene.kinds[kind])
			continue;
		char text[LABEL_SIZE];
		const uint32_t hue = nb_render_hue_of_kind(r, kind);
		const uint8_t colour[3] = {(uint8_t)(hue >> 16), (uint8_t)(hue >> 8 & 255), (uint8_t)(hue & 255)};
		snprintf(text, sizeof text, "%u", kind);
		x -= nb_text_width(text, dot(r));
		write_at(r, x, y, text);
		x -= size + 2 * dot(r);
		fill(r, x, y, size, size, colour);
		x -= 4 * dot(r);
	}
}

/* What the bar shows, and its ends. */
static void name_bar(const struct render *r, char name[LABEL_SIZE], double end[2])
{
	const struct scene *scene = &r->scene;
	const char *what = r->by == BY_DENSITY ? "surface density" : r->by == BY_SPEED ? "speed" : r->column;
	const double scale = scene->camera.pixels_per_length, unit = scene->masses.unit * scale * scale;
	end[0] = r->by == BY_DENSITY ? scene->lo * unit : scene->slow;
	end[1] = r->by == BY_DENSITY ? scene->hi * unit : scene->fast;
	/* asinh begins at 0, not at lo, below which it is linear */
	if (r->by == BY_DENSITY && r->stretch == NB_STRETCH_ASINH)
		end[0] = 0;
	const char *how = r->by == BY_DENSITY ? (r->stretch == NB_STRETCH_ASINH	       ? "asinh"
							: r->stretch == NB_STRETCH_LOG ? "log"
										       : NULL)
			  : r->log_scale      ? "log"
					      : NULL;
	snprintf(name, LABEL_SIZE, how ? "%s (%s)" : "%s", what, how);
}

static void draw_bar(struct render *r)
{
	const int width = r->width / 4, thick = 4 * dot(r), left = r->width - margin(r) - width;
	const int below = r->height - margin(r) - NB_TEXT_HEIGHT * dot(r), top = below - thick - 2 * dot(r);
	const uint32_t *table = nb_colormap_table((enum nb_colormap)r->colormap);
	double end[2];
	char name[LABEL_SIZE], text[LABEL_SIZE];
	for (int x = 0; x < width; x++) {
		const float v = ((float)x + 0.5f) / (float)width;
		float rgb[3];
		uint8_t colour[3];
		if (r->by == BY_DENSITY)
			nb_colormap_at(table, v, rgb);
		else
			nb_hue_of_speed(v, rgb);
		to_bytes(rgb, colour);
		fill(r, left + x, top, 1, thick, colour);
	}
	name_bar(r, name, end);
	write_at(r, r->width - margin(r) - nb_text_width(name, dot(r)), top - line_height(r), name);
	format_number(end[0], text);
	write_at(r, left, below, text);
	format_number(end[1], text);
	write_at(r, left + width - nb_text_width(text, dot(r)), below, text);
}

static void draw_colours(struct render *r)
{
	if (r->by == BY_SPECIES)
		draw_kinds(r);
	else if (r->by == BY_DENSITY && r->scene.discs)
		nb_die(NB_EXIT_FAILED,
			"no colours to label in frame %" PRIu64 ": discs are all alike (use --by, or --draw density)",
			r->bodies.frame->number);
	else
		draw_bar(r);
}

void nb_render_legend(struct render *r)
{
	const struct parsed *parsed = &r->parsed;
	if (r->title)
		write_title(r);
	if (parsed->time)
		write_time(r);
	if (!r->scene.ready)
		return;
	if (parsed->length)
		draw_scale(r);
	if (parsed->colour)
		draw_colours(r);
}
