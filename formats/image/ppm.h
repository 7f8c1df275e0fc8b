/* ppm.h - pictures as binary PPM (P6, 8 bits a colour); many in a row make a movie. */
#ifndef NB_IMAGE_PPM_H
#define NB_IMAGE_PPM_H

#include "common/status.h"

#include <stdint.h>
#include <stdio.h>

/* Writes one picture and flushes it: the header "P6\nW H\n255\n" without comments, since some readers of
 * concatenated pictures stumble over them, then height rows of width pixels, red, green, blue, from the top.
 * 0, or -1 with errno set. */
NB_MUST_CHECK int nb_ppm_write(FILE *file, int width, int height, const uint8_t *rgb);

#endif
