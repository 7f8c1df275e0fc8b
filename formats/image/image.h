/* image.h - pictures: colour tables (colormap.h), hues (hue.h) and PPM (ppm.h). */
#ifndef NB_IMAGE_H
#define NB_IMAGE_H

#include "formats/image/colormap.h"
#include "formats/image/hue.h"
#include "formats/image/ppm.h"

#endif
