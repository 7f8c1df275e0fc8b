#ifndef NB_CANVAS_INTERNAL_H
#define NB_CANVAS_INTERNAL_H

#include "formats/canvas/canvas.h"

extern const unsigned char nb_cairo_program[]; /* of cairo.c */
extern const uint64_t nb_cairo_program_size;

/* Bytes of the data of a drawing. */
static inline size_t nb_drawing_bytes(const struct nb_drawing *d)
{
	switch (d->what) {
	case NB_DRAW_LINE:
	case NB_DRAW_AREA:
	case NB_DRAW_DOTS: return d->n * 2 * sizeof(float);
	case NB_DRAW_IMAGE: return d->n * sizeof(uint32_t);
	default: return d->n;
	}
}

/* cells.c: a canvas of characters. */
struct nb_cells *nb_cells_new(int columns, int rows, int colors); /* NULL: out of memory */
void nb_cells_draw(struct nb_cells *cells, const struct nb_drawing *drawing, const void *data);
void nb_cells_keep_ascii(struct nb_cells *cells);
int nb_cells_width(const struct nb_cells *cells, const char *text);
/* As lines of UTF-8, to be freed; NULL: out of memory. */
char *nb_cells_text(const struct nb_cells *cells, size_t *size);
void nb_cells_free(struct nb_cells *cells);

#endif
