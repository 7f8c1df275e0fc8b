/* image.h - pictures: colour tables (colormap.h), hues (hue.h), lines (line.h) and text (text.h), and their files: PPM
 * (ppm.h), PNG (png.h), JPEG (jpeg.h) and WebP (webp.h). */
#ifndef NB_IMAGE_H
#define NB_IMAGE_H

#include "formats/image/colormap.h"
#include "formats/image/hue.h"
#include "formats/image/jpeg.h"
#include "formats/image/line.h"
#include "formats/image/png.h"
#include "formats/image/ppm.h"
#include "formats/image/text.h"
#include "formats/image/webp.h"

#endif
