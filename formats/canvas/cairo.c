/* The program that draws by cairo: canvas.h.  It is no part of the library. */
#include "formats/canvas/canvas_internal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of cairo 1.16, whose header need not be there to build this. */
enum { ARGB32 = 0, ROUND = 1, NEAREST = 3, NO_HINTS = 1, GRAY = 2, METRICS_OFF = 1, PDF_1_4 = 0, CREATED = 5 };
typedef int write_function(void *closure, const unsigned char *data, unsigned length);
struct extents {
	double x_bearing, y_bearing, width, height, x_advance, y_advance;
};

#define CAIRO(F)                                                                                                       \
	F(void *, image_surface_create, (int format, int width, int height))                                           \
	F(void *, image_surface_create_for_data, (const void *data, int format, int width, int height, int stride))    \
	F(unsigned char *, image_surface_get_data, (void *surface))                                                    \
	F(void *, svg_surface_create_for_stream, (write_function * write, void *closure, double width, double height)) \
	F(void *, pdf_surface_create_for_stream, (write_function * write, void *closure, double width, double height)) \
	F(void, pdf_surface_restrict_to_version, (void *surface, int version))                                         \
	F(void, pdf_surface_set_metadata, (void *surface, int what, const char *text))                                 \
	F(int, surface_write_to_png_stream, (void *surface, write_function *write, void *closure))                     \
	F(void, surface_flush, (void *surface))                                                                        \
	F(void, surface_finish, (void *surface))                                                                       \
	F(int, surface_status, (void *surface))                                                                        \
	F(void, surface_destroy, (void *surface))                                                                      \
	F(void *, create, (void *surface))                                                                             \
	F(int, status, (void *to))                                                                                     \
	F(const char *, status_to_string, (int status))                                                                \
	F(void, save, (void *to))                                                                                      \
	F(void, restore, (void *to))                                                                                   \
	F(void, set_source_rgb, (void *to, double red, double green, double blue))                                     \
	F(void, set_source_surface, (void *to, void *surface, double x, double y))                                     \
	F(void *, get_source, (void *to))                                                                              \
	F(void, pattern_set_filter, (void *pattern, int filter))                                                       \
	F(void, set_line_width, (void *to, double width))                                                              \
	F(void, set_line_cap, (void *to, int cap))                                                                     \
	F(void, set_line_join, (void *to, int join))                                                                   \
	F(void, set_dash, (void *to, const double *dashes, int n, double offset))                                      \
	F(void, move_to, (void *to, double x, double y))                                                               \
	F(void, line_to, (void *to, double x, double y))                                                               \
	F(void, rectangle, (void *to, double x, double y, double width, double height))                                \
	F(void, stroke, (void *to))                                                                                    \
	F(void, fill, (void *to))                                                                                      \
	F(void, paint, (void *to))                                                                                     \
	F(void, clip, (void *to))                                                                                      \
	F(void, reset_clip, (void *to))                                                                                \
	F(void, translate, (void *to, double x, double y))                                                             \
	F(void, scale, (void *to, double x, double y))                                                                 \
	F(void, rotate, (void *to, double angle))                                                                      \
	F(void, select_font_face, (void *to, const char *family, int slant, int weight))                               \
	F(void, set_font_size, (void *to, double size))                                                                \
	F(void, text_extents, (void *to, const char *text, struct extents *extents))                                   \
	F(void, show_text, (void *to, const char *text))                                                               \
	F(void *, font_options_create, (void))                                                                         \
	F(void, font_options_set_antialias, (void *options, int antialias))                                            \
	F(void, font_options_set_hint_style, (void *options, int style))                                               \
	F(void, font_options_set_hint_metrics, (void *options, int metrics))                                           \
	F(void, set_font_options, (void *to, void *options))

#define POINTER(type, name, arguments) type(*name) arguments;
#define NAME(type, name, arguments) "cairo_" #name,
static struct {
	CAIRO(POINTER)
} cairo;
static const char *const names[] = {CAIRO(NAME)};

/* The one picture that this process draws. */
static struct {
	enum nb_canvas_format format;
	int width, height;
	void *surface, *to; /* cairo_surface_t, cairo_t */
	FILE *file;	    /* what it becomes */
	char *bytes;
	size_t size;
} picture;

/* ---- answers ------------------------------------------------------------------------------------ */

static void say(int failed, const void *data, size_t bytes)
{
	const uint64_t head[2] = {(uint64_t)failed, bytes};
	const struct {
		const void *data;
		size_t bytes;
	} part[2] = {{head, sizeof head}, {data, bytes}};
	for (int k = 0; k < 2; k++)
		for (size_t at = 0; at < part[k].bytes;) {
			const ssize_t n = write(STDIN_FILENO, (const char *)part[k].data + at, part[k].bytes - at);
			if (n <= 0)
				exit(1);
			at += (size_t)n;
		}
}

static _Noreturn void fail(const char *why)
{
	say(1, why, strlen(why));
	exit(1);
}

static void load(void)
{
	void *library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail("libcairo.so.2 is missing, which draws PNG, SVG and PDF (Debian: apt-get install libcairo2)");
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		void *function = dlsym(library, names[k]);
		if (!function)
			fail("libcairo.so.2 is older than 1.16");
		memcpy((char *)&cairo + k * sizeof function, &function, sizeof function);
	}
}

static void require(int status)
{
	char why[NB_CANVAS_WHY];
	snprintf(why, sizeof why, "cairo: %s", cairo.status_to_string(status));
	if (status)
		fail(why);
}

/* ---- the picture -------------------------------------------------------------------------------- */

static int take(void *closure, const unsigned char *data, unsigned length)
{
	return fwrite(data, 1, length, closure) == length ? 0 : 11; /* CAIRO_STATUS_WRITE_ERROR */
}

static void open_picture(const struct nb_drawing *d)
{
	load();
	picture.format = (enum nb_canvas_format)d->columns;
	picture.width = (int)d->w;
	picture.height = (int)d->h;
	picture.file = open_memstream(&picture.bytes, &picture.size);
	if (!picture.file)
		fail("out of memory");
	if (picture.format == NB_CANVAS_SVG)
		picture.surface = cairo.svg_surface_create_for_stream(take, picture.file, d->w, d->h);
	else if (picture.format == NB_CANVAS_PDF)
		picture.surface = cairo.pdf_surface_create_for_stream(take, picture.file, d->w, d->h);
	else
		picture.surface = cairo.image_surface_create(ARGB32, picture.width, picture.height);
	require(cairo.surface_status(picture.surface));
	if (picture.format == NB_CANVAS_PDF) {
		cairo.pdf_surface_restrict_to_version(picture.surface, PDF_1_4);
		cairo.pdf_surface_set_metadata(picture.surface, CREATED, "2000-01-01T00:00:00Z"); /* not now */
	}
	picture.to = cairo.create(picture.surface);
	cairo.set_source_rgb(picture.to, 1, 1, 1);
	cairo.paint(picture.to);
	void *options = cairo.font_options_create();
	cairo.font_options_set_antialias(options, GRAY);
	cairo.font_options_set_hint_style(options, NO_HINTS);
	cairo.font_options_set_hint_metrics(options, METRICS_OFF);
	cairo.set_font_options(picture.to, options);
	cairo.select_font_face(picture.to, "DejaVu Sans", 0, 0);
	cairo.set_line_cap(picture.to, ROUND);
	cairo.set_line_join(picture.to, ROUND);
	require(cairo.status(picture.to));
	say(0, NULL, 0);
}

/* The version of cairo is no part of the picture: blanks of the same length stand for it. */
static void blank_version(void)
{
	static const char key[] = "/Producer (";
	char *at = memmem(picture.bytes, picture.size, key, sizeof key - 1);
	for (at = at ? at + sizeof key - 1 : NULL; at && at < picture.bytes + picture.size && *at != '\n'; at++)
		if (*at != ')' || at[1] != '\n')
			*at = ' ';
}

static void close_picture(void)
{
	require(cairo.status(picture.to));
	if (picture.format == NB_CANVAS_PIXELS) {
		cairo.surface_flush(picture.surface); /* rows of ARGB32 have no gaps */
		say(0, cairo.image_surface_get_data(picture.surface),
			(size_t)picture.width * (size_t)picture.height * 4);
		return;
	}
	if (picture.format == NB_CANVAS_PNG)
		require(cairo.surface_write_to_png_stream(picture.surface, take, picture.file));
	cairo.surface_finish(picture.surface);
	require(cairo.surface_status(picture.surface));
	if (fclose(picture.file) || !picture.bytes)
		fail("out of memory");
	if (picture.format == NB_CANVAS_PDF)
		blank_version();
	say(0, picture.bytes, picture.size);
}

/* ---- drawings ----------------------------------------------------------------------------------- */

static void set_color(uint32_t color)
{
	cairo.set_source_rgb(
		picture.to, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

static void draw_lines(const struct nb_drawing *d, const float *xy)
{
	enum { AT_ONCE = 4000 }; /* what cairo strokes as one takes more than linear time */
	const double dashes[2] = {d->dash, d->dash};
	cairo.set_line_width(picture.to, d->size);
	cairo.set_dash(picture.to, dashes, d->dash > 0 ? 2 : 0, 0);
	for (uint32_t i = 0; i < d->n; i++) {
		(i ? cairo.line_to : cairo.move_to)(picture.to, xy[2 * i], xy[2 * i + 1]);
		if (d->what != NB_DRAW_AREA && i % AT_ONCE == AT_ONCE - 1) {
			cairo.stroke(picture.to);
			cairo.move_to(picture.to, xy[2 * i], xy[2 * i + 1]);
		}
	}
	(d->what == NB_DRAW_AREA ? cairo.fill : cairo.stroke)(picture.to);
}

static void draw_dots(const struct nb_drawing *d, const float *xy)
{
	enum { AT_ONCE = 200 };
	const int squares = d->size <= 2.5f;
	cairo.set_line_width(picture.to, d->size);
	cairo.set_dash(picture.to, NULL, 0, 0);
	for (uint32_t i = 0; i < d->n; i++) {
		const double x = xy[2 * i], y = xy[2 * i + 1], half = d->size / 2;
		if (squares) {
			cairo.rectangle(picture.to, x - half, y - half, d->size, d->size);
		} else {
			cairo.move_to(picture.to, x, y);
			cairo.line_to(picture.to, x, y);
		}
		if (i % AT_ONCE == AT_ONCE - 1 || i + 1 == d->n)
			(squares ? cairo.fill : cairo.stroke)(picture.to);
	}
}

static void draw_text(const struct nb_drawing *d, const char *text)
{
	const double capitals = 0.73; /* their height in DejaVu Sans */
	struct extents extents;
	cairo.set_font_size(picture.to, d->size);
	cairo.text_extents(picture.to, text, &extents);
	const float width = (float)extents.x_advance;
	if (d->what == NB_DRAW_WIDTH) {
		require(cairo.status(picture.to));
		say(0, &width, sizeof width);
		return;
	}
	cairo.save(picture.to);
	cairo.translate(picture.to, d->x, d->y);
	cairo.rotate(picture.to, -d->turn * 3.14159265358979323846 / 180);
	cairo.move_to(picture.to, -d->anchor[0] * width, (1 - d->anchor[1]) * capitals * d->size);
	cairo.show_text(picture.to, text);
	cairo.restore(picture.to);
}

static void draw_image(const struct nb_drawing *d, const void *data)
{
	const int columns = (int)d->columns, rows = columns ? (int)(d->n / d->columns) : 0;
	if (rows == 0)
		return;
	void *image = cairo.image_surface_create_for_data(data, ARGB32, columns, rows, 4 * columns);
	cairo.save(picture.to);
	cairo.translate(picture.to, d->x, d->y);
	cairo.scale(picture.to, (double)d->w / columns, (double)d->h / rows);
	cairo.set_source_surface(picture.to, image, 0, 0);
	cairo.pattern_set_filter(cairo.get_source(picture.to), NEAREST);
	cairo.paint(picture.to);
	cairo.restore(picture.to);
	cairo.surface_destroy(image);
}

static void draw(const struct nb_drawing *d, const void *data)
{
	if (d->what == NB_DRAW_OPEN) {
		open_picture(d);
		return;
	}
	if (!picture.to)
		exit(1);
	set_color(d->color);
	switch (d->what) {
	case NB_DRAW_LINE:
	case NB_DRAW_AREA: draw_lines(d, data); break;
	case NB_DRAW_DOTS: draw_dots(d, data); break;
	case NB_DRAW_TEXT:
	case NB_DRAW_WIDTH: draw_text(d, data); break;
	case NB_DRAW_IMAGE: draw_image(d, data); break;
	case NB_DRAW_CLIP:
		cairo.reset_clip(picture.to);
		cairo.rectangle(picture.to, d->x, d->y, d->w, d->h);
		if (d->w > 0)
			cairo.clip(picture.to);
		break;
	default: close_picture(); exit(0);
	}
}

int main(void)
{
	struct nb_drawing d;
	/* a library may open files and print messages */
	if (open("/dev/null", O_RDWR) != STDOUT_FILENO || dup(STDOUT_FILENO) != STDERR_FILENO)
		return 1;
	while (fread(&d, sizeof d, 1, stdin) == 1) {
		const size_t bytes = nb_drawing_bytes(&d);
		char *data = malloc(bytes + 1);
		if (!data)
			fail("out of memory");
		if (fread(data, 1, bytes, stdin) != bytes)
			return 1;
		data[bytes] = '\0';
		draw(&d, data);
		free(data);
	}
	return 1;
}
