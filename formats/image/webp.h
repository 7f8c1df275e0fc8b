/* webp.h - pictures as WebP, by libwebp (NB_WEBP in lists.h: it is built in). */
#ifndef NB_IMAGE_WEBP_H
#define NB_IMAGE_WEBP_H

#include "common/status.h"

#include <stddef.h>
#include <stdint.h>

/* A WebP file of height rows of width pixels, red, green, blue, from the top: *bytes of nb_alloc, and their number.
 * quality 1..100 as that of JPEG, about; effort 0, fast, to 6, small.  The same bytes on every run.
 * NB_OK, NB_ENOMEM, NB_EINVAL (a size outside of 1..16383), NB_EUNSUPPORTED (built without libwebp). */
NB_MUST_CHECK int nb_webp_encode(
	int width, int height, const uint8_t *rgb, int quality, int effort, uint8_t **bytes, size_t *size);

#endif
