/* nb-render-ppm: title, time, scale bar and colour bar. */
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From the edge of the picture. */
static int margin(const struct render *r)
{
	return 6 * nb_render_dot(r);
}

/* The row above which is what stands on the lower edge. */
static int bottom_of(const struct render *r)
{
	return r->height - margin(r) - nb_render_axes_room(r);
}

static int line_height(const struct render *r)
{
	return (NB_TEXT_HEIGHT + 2) * nb_render_dot(r);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

/* A time in a place of the same width for all that are as large. */
static void format_time(char what, double t, char text[NB_LABEL_SIZE])
{
	const double size = fabs(t);
	if (size != 0 && (size < 0.001 || size >= 1e6))
		snprintf(text, NB_LABEL_SIZE, "%c = %.4e", what, t);
	else
		snprintf(text, NB_LABEL_SIZE, "%c = %.*f", what,
			size < 10     ? 3
			: size < 100  ? 2
			: size < 1000 ? 1
				      : 0,
			t);
}

/* Whether the text is at most so many pixels wide. */
static int fits(const struct render *r, const char *text, int room)
{
	return nb_text_width(text, nb_render_dot(r)) <= room;
}

/* ---- labels --------------------------------------------------------------------------------------- */

/* The time, or the redshift of a frame of an expanding universe.  Returns where the text ends. */
static int write_time(struct render *r)
{
	const struct nb_frame *frame = r->bodies.frame;
	const int left = margin(r), room = r->width - 2 * left;
	struct unit_names names;
	char text[NB_LABEL_SIZE];
	nb_render_unit_names(frame, &names);
	const double z = nb_render_redshift(frame);
	if (isfinite(z)) {
		format_time('z', z, text);
		names.time[0] = '\0';
	} else {
		format_time('t', nb_render_time(&names, nb_require_attribute(frame, "time", 0)), text);
	}
	const size_t used = strlen(text);
	if (names.time[0])
		snprintf(text + used, sizeof text - used, " %s", names.time);
	if (!fits(r, text, room))
		text[used] = '\0';
	if (!fits(r, text, room))
		return 0;
	nb_render_write(r, left, left, text);
	return left + nb_text_width(text, nb_render_dot(r));
}

/* In the middle, unless the time, which ends at this x, is there; shortened to the room that is left. */
static void write_title(struct render *r, int time)
{
	enum { LEAST = 6, MOST = 4000 }; /* bytes of a title that has been shortened */
	const int gap = 2 * NB_TEXT_ADVANCE * nb_render_dot(r), left = time ? time + gap : margin(r);
	const int room = r->width - margin(r) - left;
	size_t length = strlen(r->title);
	char text[MOST + 4];
	length = length < MOST ? length : MOST;
	snprintf(text, sizeof text, "%.*s", (int)length, r->title);
	while (!fits(r, text, room)) {
		/* at the beginning of a character */
		while (--length > 0 && (r->title[length] & 0xc0) == 0x80)
			;
		if (length < LEAST)
			return;
		snprintf(text, sizeof text, "%.*s...", (int)length, r->title);
	}
	const int middle = (r->width - nb_text_width(text, nb_render_dot(r))) / 2;
	nb_render_write(r, middle > left ? middle : left, margin(r), text);
}

/* The room of the scale on the left, and of the colours on the right. */
static int half(const struct render *r)
{
	return r->width / 2 - margin(r) - NB_TEXT_ADVANCE * nb_render_dot(r) / 2;
}

/* A bar of a round length, about a fifth of the width, with that length above. */
static void draw_scale(struct render *r)
{
	const struct nb_camera *camera = &r->scene.camera;
	const double length = nb_render_round_length(r->width / 4.0 / camera->pixels_per_length);
	const int pixels = (int)(length * camera->pixels_per_length + 0.5), thick = 2 * nb_render_dot(r);
	const int y = bottom_of(r) - thick;
	char text[NB_LABEL_SIZE];
	struct unit_names names;
	nb_render_unit_names(r->bodies.frame, &names);
	const size_t used = nb_render_length_text(length, names.length, text);
	if (!fits(r, text, half(r)))
		text[used] = '\0';
	const uint8_t light = r->light_sky ? 255 : 0, sky[3] = {light, light, light};
	nb_render_fill(r, margin(r) - nb_render_dot(r), y - nb_render_dot(r), pixels + 2 * nb_render_dot(r),
		thick + 2 * nb_render_dot(r), sky);
	nb_render_fill(r, margin(r), y, pixels, thick, nb_render_ink(r));
	const int middle = (pixels - nb_text_width(text, nb_render_dot(r))) / 2;
	if (fits(r, text, half(r)))
		nb_render_write(r, margin(r) + (middle > 0 ? middle : 0), y - line_height(r), text);
}

/* ---- colours -------------------------------------------------------------------------------------- */

static void to_bytes(const float rgb[3], uint8_t colour[3])
{
	for (int k = 0; k < 3; k++)
		colour[k] = (uint8_t)(255 * rgb[k] + 0.5f);
}

/* Its colour is on the left; x: of its right edge. */
static void draw_kind(struct render *r, unsigned kind, int x, int y)
{
	const int size = NB_TEXT_HEIGHT * nb_render_dot(r);
	const uint32_t hue = nb_render_hue_of_kind(r, kind);
	const uint8_t colour[3] = {(uint8_t)(hue >> 16), (uint8_t)(hue >> 8 & 255), (uint8_t)(hue & 255)};
	char text[NB_LABEL_SIZE];
	nb_render_name_kind(r, kind, text);
	x -= nb_text_width(text, nb_render_dot(r));
	nb_render_write(r, x, y, text);
	nb_render_fill(r, x - size - 2 * nb_render_dot(r), y, size, size, colour);
}

/* From one to the next. */
static int kind_width(const struct render *r, unsigned kind)
{
	char text[NB_LABEL_SIZE];
	nb_render_name_kind(r, kind, text);
	return nb_text_width(text, nb_render_dot(r)) + (NB_TEXT_HEIGHT + 2 + 4) * nb_render_dot(r);
}

/* The species seen so far, each with its name or number: from right to left, or, if one line has not the room, in
 * columns of the same width from the right, and as many of them as fit. */
static void draw_kinds(struct render *r)
{
	unsigned list[NSPECIES], n = 0;
	int widest = 0, all = 0;
	nb_render_note_kinds(r);
	for (unsigned kind = 0; kind < NSPECIES; kind++)
		if (r->scene.kinds[kind]) {
			const int width = kind_width(r, kind);
			list[n++] = kind;
			all += width;
			widest = width > widest ? width : widest;
		}
	const int right = r->width - margin(r), bottom = bottom_of(r) - NB_TEXT_HEIGHT * nb_render_dot(r);
	const int room = r->parsed.length ? half(r) : r->width - 2 * margin(r);
	if (n == 0 || widest > room)
		return;
	if (all <= room) {
		for (int x = right; n-- > 0; x -= kind_width(r, list[n]))
			draw_kind(r, list[n], x, bottom);
		return;
	}
	const unsigned columns = (unsigned)(room / widest), lines = (unsigned)(r->height / 2 / line_height(r));
	const unsigned most = columns * (lines ? lines : 1), shown = n < most ? n : most;
	const unsigned used = (shown + columns - 1) / columns;
	for (unsigned k = 0; k < shown; k++)
		draw_kind(r, list[k], right - (int)(columns - 1 - k % columns) * widest,
			bottom - (int)(used - 1 - k / columns) * line_height(r));
}

/* The unit of what the bar shows, in the order of a name. */
static void unit_of_bar(const struct render *r, char unit[NB_LABEL_SIZE])
{
	const struct nb_frame *frame = r->bodies.frame;
	struct unit_names names;
	unit[0] = '\0';
	if (r->by == BY_COLUMN) {
		const struct nb_column *column = nb_frame_find(frame, r->column);
		nb_render_value_unit(frame, column ? column->unit : nb_expr_unit(r->expression), unit);
		return;
	}
	nb_render_unit_names(frame, &names);
	if (r->by == BY_SPEED)
		snprintf(unit, NB_LABEL_SIZE, "%s", names.velocity);
	else
		nb_render_density_unit(&names, "^2", unit);
}

/* What the bar shows, with its unit and how the colours go, as far as there is room. */
static void name_bar(const struct render *r, char name[2 * NB_LABEL_SIZE])
{
	const char *what = r->by == BY_DENSITY ? "surface density" : r->by == BY_SPEED ? "speed" : r->column;
	const char *stretch = r->stretch == NB_STRETCH_ASINH ? " (asinh)"
			      : r->stretch == NB_STRETCH_LOG ? " (log)"
							     : "";
	const char *how = r->by == BY_DENSITY ? stretch : r->log_scale ? " (log)" : "";
	char unit[NB_LABEL_SIZE], in[NB_LABEL_SIZE + 4] = "";
	unit_of_bar(r, unit);
	if (*unit)
		snprintf(in, sizeof in, " [%s]", unit);
	const char *const part[][2] = {{in, how}, {in, ""}, {"", how}, {"", ""}};
	for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
		const int n = snprintf(name, 2 * NB_LABEL_SIZE, "%s%s%s", what, part[k][0], part[k][1]);
		if (n < 2 * NB_LABEL_SIZE && fits(r, name, half(r)))
			return;
	}
	name[0] = '\0';
}

/* The ends of the bar. */
static void find_ends(const struct render *r, double end[2])
{
	const struct scene *scene = &r->scene;
	const double scale = scene->camera.pixels_per_length, unit = scene->masses.unit * scale * scale;
	end[0] = r->by == BY_DENSITY ? scene->lo * unit : scene->slow;
	end[1] = r->by == BY_DENSITY ? scene->hi * unit : scene->fast;
	/* asinh begins at 0, not at lo, below which it is linear */
	if (r->by == BY_DENSITY && r->stretch == NB_STRETCH_ASINH)
		end[0] = 0;
}

/* Their texts, with as many digits as tell them apart and have room; the lower one is left out first. */
static void write_ends(const double end[2], int room, char text[2][NB_LABEL_SIZE])
{
	int digits = 3;
	for (;; digits++) {
		for (int k = 0; k < 2; k++)
			nb_render_number(text[k], digits, end[k]);
		if (strcmp(text[0], text[1]) != 0 || digits == 9)
			break;
	}
	for (; digits > 0; digits--) {
		char shorter[2][NB_LABEL_SIZE];
		for (int k = 0; k < 2; k++)
			nb_render_number(shorter[k], digits, end[k]);
		if (strcmp(shorter[0], shorter[1]) == 0)
			break;
		memcpy(text, shorter, sizeof shorter);
		if (nb_text_width(text[0], 1) + nb_text_width(text[1], 1) + 2 * NB_TEXT_ADVANCE <= room)
			return;
	}
	text[0][0] = '\0';
	for (digits = 3; digits > 0; digits--) {
		nb_render_number(text[1], digits, end[1]);
		if (nb_text_width(text[1], 1) <= room)
			return;
	}
	text[1][0] = '\0';
}

/* A quarter of the width, but room for two numbers if there is. */
static int bar_width(const struct render *r)
{
	const int wanted = 20 * NB_TEXT_ADVANCE * nb_render_dot(r), quarter = r->width / 4;
	return quarter >= wanted ? quarter : wanted < half(r) ? wanted : half(r) > quarter ? half(r) : quarter;
}

static void draw_bar(struct render *r)
{
	const int width = bar_width(r), thick = 4 * nb_render_dot(r), left = r->width - margin(r) - width;
	const int below = bottom_of(r) - NB_TEXT_HEIGHT * nb_render_dot(r), top = below - thick - 2 * nb_render_dot(r);
	double end[2];
	char name[2 * NB_LABEL_SIZE], text[2][NB_LABEL_SIZE];
	for (int x = 0; x < width; x++) {
		const float v = ((float)x + 0.5f) / (float)width;
		float rgb[3];
		uint8_t colour[3];
		if (r->by == BY_DENSITY)
			nb_render_colour_of_density(r, v, rgb);
		else
			nb_render_hue(r, v, rgb);
		to_bytes(rgb, colour);
		nb_render_fill(r, left + x, top, 1, thick, colour);
	}
	name_bar(r, name);
	nb_render_write(r, r->width - margin(r) - nb_text_width(name, nb_render_dot(r)), top - line_height(r), name);
	find_ends(r, end);
	write_ends(end, width / nb_render_dot(r), text);
	nb_render_write(r, left, below, text[0]);
	nb_render_write(r, left + width - nb_text_width(text[1], nb_render_dot(r)), below, text[1]);
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
	const int time = parsed->time ? write_time(r) : 0;
	if (r->title)
		write_title(r, time);
	if (!r->scene.ready)
		return;
	nb_render_require_ok(r, nb_names_read(&r->names, nb_frame_attribute(r->bodies.frame, "names")));
	if (parsed->axes)
		nb_render_axes(r);
	if (parsed->name)
		nb_render_names(r);
	if (parsed->length)
		draw_scale(r);
	if (parsed->colour)
		draw_colours(r);
	nb_names_free(&r->names);
}
