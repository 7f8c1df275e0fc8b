/* jpeg.h - pictures as JPEG, by libjpeg-turbo (NB_JPEG in lists.h: it is built in). */
#ifndef NB_IMAGE_JPEG_H
#define NB_IMAGE_JPEG_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>

/* A JPEG file of height rows of width pixels, red, green, blue, from the top: *bytes of nb_alloc, and their number.
 * quality 1..100; below 90 colours have half the resolution in both directions.  The same bytes on every run.
 * NB_OK, NB_ENOMEM, NB_EINVAL (a size outside of 1..65500), NB_EUNSUPPORTED (built without libjpeg). */
NB_MUST_CHECK int nb_jpeg_encode(int width, int height, const uint8_t *rgb, int quality, uint8_t **bytes, size_t *size);

#endif
