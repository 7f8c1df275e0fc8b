/* text.h - ASCII text in a bitmap font of 5 x 7 dots. */
#ifndef NB_IMAGE_TEXT_H
#define NB_IMAGE_TEXT_H

#include <stdint.h>

/* Dots of a character with the space to its right, and of its height. */
enum { NB_TEXT_ADVANCE = 6, NB_TEXT_HEIGHT = 7 };

/* 1 if the font has every character of the text: those from blank to tilde. */
int nb_text_possible(const char *text);

/* Pixels from the left edge of the first character to the right edge of the last one, for dots of scale x scale. */
int nb_text_width(const char *text, int scale);

/* Writes the text, its upper left corner at (x, y), with a black outline one dot wide.  What lies outside of the
 * picture is left out, and so is a character that the font lacks. */
void nb_text_draw(
	uint8_t *rgb, int width, int height, int x, int y, int scale, const char *text, const uint8_t colour[3]);

#endif
