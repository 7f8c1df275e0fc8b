/* png.h - pictures as PNG, 8 bits a colour. */
#ifndef NB_IMAGE_PNG_H
#define NB_IMAGE_PNG_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>

/* A PNG file of height rows of width pixels, red, green, blue, from the top: *bytes of nb_alloc, and their number; no
 * date, and no text.  NB_OK, NB_ENOMEM, NB_EINVAL (no size for a picture, or more than 2^31 bytes).
 * Source: ISO/IEC 15948:2003, Portable Network Graphics. */
NB_MUST_CHECK int nb_png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *size);

#endif
