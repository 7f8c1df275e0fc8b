/* line.h - straight lines of light. */
#ifndef NB_IMAGE_LINE_H
#define NB_IMAGE_LINE_H

#include <stdint.h>

struct nb_line_end {
	double x, y;  /* pixel coordinates, as those of nb_splat_project */
	float rgb[3]; /* in [0, 1] */
};

/* Draws the line between two ends, thickness pixels wide, with a smooth edge and round ends; colours change evenly on
 * the way.  A pixel keeps the stronger light of what it was and the line, channel by channel, so that lines that cross
 * or join do not get brighter.  Where an end is not finite or beyond 1e6, nothing is drawn. */
void nb_line_draw(uint8_t *rgb, int width, int height, const struct nb_line_end end[2], double thickness);

#endif
