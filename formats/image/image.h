/* image.h - pictures: colour tables (colormap.h), hues (hue.h), lines (line.h), text (text.h) and PPM (ppm.h). */
#ifndef NB_IMAGE_H
#define NB_IMAGE_H

#include "formats/image/colormap.h"
#include "formats/image/hue.h"
#include "formats/image/line.h"
#include "formats/image/ppm.h"
#include "formats/image/text.h"

#endif
