/* colormap.h - colours for a number in [0, 1].
 *
 * All but gray are those of matplotlib, rounded to 8 bits: inferno, viridis, magma and plasma by N. Smith, S. van der
 * Walt and E. Firing (public domain by CC0), cividis by J. R. Nunez, C. R. Anderton and R. S. Renslow (2018, PLoS ONE
 * 13, e0199239). */
#ifndef NB_IMAGE_COLORMAP_H
#define NB_IMAGE_COLORMAP_H

#include <stdint.h>

enum { NB_COLORMAP_SIZE = 256 };

/* Names in the order of this enum, as an option's words. */
enum nb_colormap { NB_INFERNO, NB_VIRIDIS, NB_GRAY, NB_MAGMA, NB_PLASMA, NB_CIVIDIS, NB_NCOLORMAP };
#define NB_COLORMAP_WORDS "inferno|viridis|gray|magma|plasma|cividis"

/* 256 colours, 0xrrggbb. */
const uint32_t *nb_colormap_table(enum nb_colormap map);

/* Colour at v, interpolated between the entries of the table; red, green and blue in [0, 1].
 * v < 0 (and NaN) is taken as 0, v > 1 as 1. */
void nb_colormap_at(const uint32_t *table, float v, float rgb[3]);

#endif
