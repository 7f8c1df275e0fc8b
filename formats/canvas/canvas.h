/* canvas.h - pictures of lines, dots and text: by cairo, as PNG, SVG, PDF or pixels, or in the characters of a
 * terminal.
 *
 *     struct nb_canvas canvas;
 *     if (nb_canvas_open(&canvas, NB_CANVAS_SVG, 600, 400)) ...      canvas.why says why not
 *     nb_canvas_draw(&canvas, &(struct nb_drawing){.what = NB_DRAW_LINE, .size = 1, .color = 0x0072b2}, 3, xy);
 *     if (nb_canvas_close(&canvas, &bytes, &size)) ...
 *
 * x goes to the right and y down, from the upper left corner; the unit is a pixel, in SVG and PDF a point (1/72 inch).
 * The same drawings give the same bytes.  cairo runs in a process of its own (held.h), as the programs of nb load no
 * library; a character has 2 x 4 dots, and text of any size has one character for each of its own. */
#ifndef NB_CANVAS_H
#define NB_CANVAS_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum nb_canvas_format { NB_CANVAS_TEXT, NB_CANVAS_PNG, NB_CANVAS_SVG, NB_CANVAS_PDF, NB_CANVAS_PIXELS };

enum nb_draw {
	NB_DRAW_OPEN,  /* private */
	NB_DRAW_LINE,  /* through n points, with round corners, of this size; dash: length of dashes, 0: none */
	NB_DRAW_AREA,  /* inside n points */
	NB_DRAW_DOTS,  /* at n points, of this diameter */
	NB_DRAW_TEXT,  /* n bytes of UTF-8 at x, y, which is the point of the text that anchor names */
	NB_DRAW_IMAGE, /* of columns pixels a row, n in all, stretched from x, y to x + w, y + h; no pixel is blurred */
	NB_DRAW_CLIP,  /* what follows ends at the edge of x, y, x + w, y + h; w = 0: of the picture */
	NB_DRAW_WIDTH, /* private */
	NB_DRAW_END    /* private */
};

struct nb_drawing {
	uint32_t what, n;
	float x, y, w, h, size, dash;
	float anchor[2]; /* 0, 0: left end, upper edge of capitals; 1, 1: right end, base line */
	float turn;	 /* of text, about x, y, in degrees counterclockwise */
	uint32_t color;	 /* 0xrrggbb; that of pixels is 0xaarrggbb, premultiplied */
	uint32_t columns;
};

enum { NB_CANVAS_WHY = 240 };

struct nb_canvas {
	enum nb_canvas_format format;
	int width, height;	 /* of TEXT in dots */
	char why[NB_CANVAS_WHY]; /* "": nothing has failed; afterwards, nothing is drawn */
	/* private */
	pid_t process;
	int socket;
	struct nb_cells *cells;
};

/* TEXT: width and height are characters; colors: with those of the terminal.  NB_OK, NB_EUNSUPPORTED (there is no
 * cairo) or NB_ENOMEM. */
NB_MUST_CHECK int nb_canvas_open(
	struct nb_canvas *canvas, enum nb_canvas_format format, int width, int height, int colors);
/* A canvas of TEXT, on which nothing has been drawn, has no other characters than those of ASCII. */
void nb_canvas_keep_ascii(struct nb_canvas *canvas);
/* data: 2 n floats, n bytes of text, or n pixels. */
void nb_canvas_draw(struct nb_canvas *canvas, const struct nb_drawing *drawing, const void *data);
/* Of a text of this size. */
float nb_canvas_text_width(struct nb_canvas *canvas, float size, const char *text);
/* The file, text or pixels (rows of width, 4 bytes blue, green, red, alpha each), to be freed with free().  NB_OK, or
 * what went wrong, with canvas->why. */
NB_MUST_CHECK int nb_canvas_close(struct nb_canvas *canvas, void **bytes, size_t *size);
/* Instead, after a failure.  Nothing happens to one that is closed. */
void nb_canvas_drop(struct nb_canvas *canvas);

#endif
