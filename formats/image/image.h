/* image.h - pictures: colour tables (colormap.h) and PPM (ppm.h). */
#ifndef NB_IMAGE_H
#define NB_IMAGE_H

#include "formats/image/colormap.h"
#include "formats/image/ppm.h"

#endif
