/* hue.h - colours whose hue tells one thing and whose brightness another. */
#ifndef NB_IMAGE_HUE_H
#define NB_IMAGE_HUE_H

#include <stdint.h>

/* Colour 0xrrggbb of bodies of that kind; after so many kinds they come again. */
enum { NB_HUE_KINDS = 12 };
uint32_t nb_hue_of_kind(unsigned kind);

/* The same for the species of nb-gen's galaxies: warm for those of one, cool for those of the other. */
uint32_t nb_hue_of_component(unsigned component);

/* Hue of a speed from 0, slow and blue, over white to 1, fast and red; red, green and blue in [0, 1], the strongest of
 * them 1.  speed < 0 (and NaN) is taken as 0, speed > 1 as 1. */
void nb_hue_of_speed(float speed, float hue[3]);

/* The same hue with its strongest part at 1; no colour at all becomes white.  Parts >= 0. */
void nb_hue_brighten(float hue[3]);

/* Colour, parts in [0, 1], of a hue at brightness v in [0, 1]; above 0.7 it turns towards white, as overexposed light
 * does. */
void nb_hue_shade(const float hue[3], float v, float rgb[3]);

#endif
