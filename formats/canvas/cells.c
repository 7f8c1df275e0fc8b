/* A canvas of characters: dots in the Braille patterns of Unicode, 2 x 4 a character, and text; or ASCII alone. */
#include "formats/canvas/canvas_internal.h"

#include "common/mem.h"
#include "common/printable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct nb_cells {
	int columns, rows, colors, ascii;
	int clip[4]; /* left, top, right, bottom, in dots */
	struct cell {
		uint32_t code;	/* of a character; 0: none, but dots */
		uint32_t color; /* of what came last; 0: that of the terminal */
		uint8_t dots;	/* bit k of U+2800 + dots */
	} cell[];
};

struct nb_cells *nb_cells_new(int columns, int rows, int colors)
{
	struct nb_cells *cells = nb_alloc_zero(1, sizeof *cells + (size_t)columns * (size_t)rows * sizeof(struct cell));
	if (cells)
		*cells = (struct nb_cells){columns, rows, colors, 0, {0, 0, 2 * columns, 4 * rows}};
	return cells;
}

void nb_cells_keep_ascii(struct nb_cells *cells)
{
	cells->ascii = 1;
}

void nb_cells_free(struct nb_cells *cells)
{
	nb_free(cells);
}

/* The character at a dot, NULL: outside. */
static struct cell *at(struct nb_cells *cells, int x, int y)
{
	if (x < cells->clip[0] || x >= cells->clip[2] || y < cells->clip[1] || y >= cells->clip[3])
		return NULL;
	return &cells->cell[y / 4 * cells->columns + x / 2];
}

static void set_dot(struct nb_cells *cells, int x, int y, uint32_t color)
{
	static const uint8_t bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
	struct cell *cell = at(cells, x, y);
	if (!cell || cell->code)
		return;
	cell->dots |= bit[y % 4][x % 2];
	cell->color = color;
}

static int clamp(double x)
{
	return (int)floor(fmin(fmax(x, -1e6), 1e6));
}

static void line(struct nb_cells *cells, const float *from, const float *to, uint32_t color)
{
	const double dx = to[0] - from[0], dy = to[1] - from[1], length = fmax(fabs(dx), fabs(dy));
	const int steps = length < 1e5 ? (int)ceil(length) : 100000;
	for (int k = 0; k <= steps; k++) {
		const double part = steps ? (double)k / steps : 0;
		set_dot(cells, clamp(from[0] + part * dx), clamp(from[1] + part * dy), color);
	}
}

/* Only upright rectangles: what bars of a histogram are. */
static void area(struct nb_cells *cells, const struct nb_drawing *d, const float *xy)
{
	double low[2] = {xy[0], xy[1]}, high[2] = {xy[0], xy[1]};
	for (uint32_t i = 1; i < d->n; i++)
		for (int k = 0; k < 2; k++) {
			low[k] = fmin(low[k], xy[2 * i + k]);
			high[k] = fmax(high[k], xy[2 * i + k]);
		}
	for (int y = clamp(low[1] + 0.5); y < clamp(high[1] + 0.5); y++)
		for (int x = clamp(low[0] + 0.5); x < clamp(high[0] + 0.5); x++)
			set_dot(cells, x, y, d->color);
}

/* A dot is set where the pixel is brighter than a threshold, which alternates so that areas have all shades. */
static void image(struct nb_cells *cells, const struct nb_drawing *d, const uint32_t *pixel)
{
	static const int threshold[4][2] = {{16, 144}, {208, 80}, {48, 176}, {240, 112}};
	const int columns = (int)d->columns, rows = columns ? (int)(d->n / d->columns) : 0;
	for (int y = clamp(d->y); y < clamp(d->y + d->h); y++)
		for (int x = clamp(d->x); x < clamp(d->x + d->w); x++) {
			const int i = (int)((x + 0.5 - d->x) / d->w * columns),
				  j = (int)((y + 0.5 - d->y) / d->h * rows);
			if (i < 0 || i >= columns || j < 0 || j >= rows)
				continue;
			const uint32_t p = pixel[j * columns + i];
			const unsigned light = (54 * (p >> 16 & 255) + 183 * (p >> 8 & 255) + 19 * (p & 255)) / 256;
			if (p >> 24 && (int)light > threshold[y & 3][x & 1] - 16)
				set_dot(cells, x, y, p & 0xffffff);
		}
}

/* An exponent, 0 to 9 and then the minus; -1: it is none. */
static int raised(unsigned code)
{
	static const unsigned digit[] = {
		0x2070, 0xb9, 0xb2, 0xb3, 0x2074, 0x2075, 0x2076, 0x2077, 0x2078, 0x2079, 0x207b};
	for (int k = 0; k < 11; k++)
		if (code == digit[k])
			return k;
	return -1;
}

static char ascii_of(unsigned code)
{
	static const struct {
		unsigned code;
		char ascii;
	} known[] = {
		{0x2502, '|'}, {0x2500, '-'}, {0x2514, '+'}, {0x2212, '-'}, {0xb7, '*'}, {0xd7, 'x'}, {0x394, 'd'}};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (known[k].code == code)
			return known[k].ascii;
	return code < 0x80 ? (char)code : '?';
}

/* Takes the next character of the text as it is shown, of which an exponent in ASCII begins with ^ (*within: in one).
 */
static unsigned take_character(const struct nb_cells *cells, const char **text, int *within)
{
	unsigned code;
	const size_t length = nb_utf8_character(*text, &code);
	const int up = cells->ascii && length ? raised(code) : -1;
	if (up >= 0 && !*within) {
		*within = 1;
		return '^';
	}
	*within = up >= 0;
	*text += length ? length : 1;
	if (!length || !nb_is_printable(code))
		return '?';
	return up >= 0 ? (unsigned)"0123456789-"[up] : cells->ascii ? (unsigned char)ascii_of(code) : code;
}

int nb_cells_width(const struct nb_cells *cells, const char *text)
{
	int n = 0, within = 0;
	for (; *text; n++)
		(void)take_character(cells, &text, &within);
	return n;
}

static void text(struct nb_cells *cells, const struct nb_drawing *d, const char *utf8)
{
	const int n = nb_cells_width(cells, utf8);
	const int row = clamp(d->y - d->anchor[1] + 0.5) / 4;
	int column = (int)lround(d->x / 2 - (double)d->anchor[0] * n), within = 0;
	for (; *utf8; column++) {
		const unsigned code = take_character(cells, &utf8, &within);
		struct cell *cell = at(cells, 2 * column, 4 * row);
		if (cell && column >= 0)
			*cell = (struct cell){.code = code, .color = d->color};
	}
}

void nb_cells_draw(struct nb_cells *cells, const struct nb_drawing *d, const void *data)
{
	const float *xy = data;
	switch (d->what) {
	case NB_DRAW_LINE:
		for (uint32_t i = 0; i < d->n; i++)
			line(cells, &xy[2 * (i ? i - 1 : 0)], &xy[2 * i], d->color);
		break;
	case NB_DRAW_AREA: area(cells, d, xy); break;
	case NB_DRAW_DOTS:
		for (uint32_t i = 0; i < d->n; i++)
			set_dot(cells, clamp(xy[2 * i]), clamp(xy[2 * i + 1]), d->color);
		break;
	case NB_DRAW_TEXT: text(cells, d, data); break;
	case NB_DRAW_IMAGE: image(cells, d, data); break;
	case NB_DRAW_CLIP: {
		const int all[4] = {0, 0, 2 * cells->columns, 4 * cells->rows};
		const int part[4] = {clamp(d->x), clamp(d->y), clamp(d->x + d->w), clamp(d->y + d->h)};
		for (int k = 0; k < 4; k++)
			cells->clip[k] = d->w <= 0					 ? all[k]
					 : (k < 2 ? part[k] > all[k] : part[k] < all[k]) ? part[k]
											 : all[k];
		break;
	}
	default: break;
	}
}

/* ---- the text ----------------------------------------------------------------------------------- */

/* Of dots: where they are, and how many. */
static uint32_t ascii_of_dots(uint8_t dots)
{
	enum { UPPER = 1 | 2 | 8 | 16 };
	int n = 0;
	for (unsigned rest = dots; rest; rest &= rest - 1)
		n++;
	return n >= 6 ? '#' : n >= 4 ? '+' : !(dots & UPPER) ? '.' : dots & ~UPPER ? ':' : '\'';
}

static uint32_t code_of(const struct nb_cells *cells, const struct cell *cell)
{
	if (cell->code || !cell->dots)
		return cell->code ? cell->code : ' ';
	return cells->ascii ? ascii_of_dots(cell->dots) : 0x2800u + cell->dots;
}

static void put_code(uint32_t code, FILE *to)
{
	if (code < 0x80) {
		putc((int)code, to);
		return;
	}
	const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	putc((int)((0xff00u >> (more + 1) & 0xff) | code >> 6 * more), to);
	for (int k = more - 1; k >= 0; k--)
		putc((int)(0x80 | (code >> 6 * k & 0x3f)), to);
}

/* The nearest of the 6 x 6 x 6 colours of a terminal. */
static void put_color(uint32_t color, FILE *to)
{
	unsigned part[3];
	for (int k = 0; k < 3; k++) {
		const unsigned x = color >> (16 - 8 * k) & 255;
		part[k] = x < 48 ? 0 : x < 115 ? 1 : (x - 35) / 40;
	}
	if (color & 0xe0e0e0) /* what is nearly black is as the terminal has it */
		fprintf(to, "\33[38;5;%um", 16 + 36 * part[0] + 6 * part[1] + part[2]);
	else
		fputs("\33[0m", to);
}

char *nb_cells_text(const struct nb_cells *cells, size_t *size)
{
	char *bytes = NULL;
	FILE *to = open_memstream(&bytes, size);
	if (!to)
		return NULL;
	for (int row = 0; row < cells->rows; row++) {
		const struct cell *cell = &cells->cell[row * cells->columns];
		uint32_t color = 0;
		int end = cells->columns;
		while (end > 0 && code_of(cells, &cell[end - 1]) == ' ')
			end--;
		for (int k = 0; k < end; k++) {
			if (cells->colors && cell[k].color != color && code_of(cells, &cell[k]) != ' ')
				put_color(color = cell[k].color, to);
			put_code(code_of(cells, &cell[k]), to);
		}
		if (color)
			put_color(0, to);
		putc('\n', to);
	}
	if (fclose(to)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}
