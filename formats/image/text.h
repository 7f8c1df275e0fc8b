/* text.h - text in DejaVu Sans, or, in a build without FreeType, ASCII text in letters of 5 x 7 dots. */
#ifndef NB_IMAGE_TEXT_H
#define NB_IMAGE_TEXT_H

#include <stdint.h>

/* Dots of a character with the space to its right, about, and of the height of a capital. */
enum { NB_TEXT_ADVANCE = 6, NB_TEXT_HEIGHT = 7 };

/* 1 if the font has every character of the text, and what to say if not. */
int nb_text_possible(const char *text);
const char *nb_text_wanted(void);

/* Pixels from the left edge of the first character to the right edge of the last one, for dots of scale x scale. */
int nb_text_width(const char *text, int scale);

/* Writes the text, the upper left corner of its capitals at (x, y), with an outline one dot wide, white where the
 * colour is dark and black where it is light.  What lies outside of the picture is left out, and so is a character that
 * the font lacks. */
void nb_text_draw(
	uint8_t *rgb, int width, int height, int x, int y, int scale, const char *text, const uint8_t colour[3]);

#endif
