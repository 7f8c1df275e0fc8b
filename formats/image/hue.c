#include "formats/image/hue.h"

#include <math.h>

/* Saturated but not harsh, each far from those before it. */
static const uint32_t kind_hue[NB_HUE_KINDS] = {0xffc27a, 0x5c9dff, 0xff7fb8, 0x5aeacb, 0xff6f5f, 0x7fe07f, 0xb38cff,
	0xf2e85c, 0xff9a4d, 0x4fb0a5, 0x8a6fd1, 0xe0e0e0};

/* In the order of nb-gen's merger: disk, bulge, halo, and those of the second galaxy. */
static const uint32_t component_hue[] = {0xffc27a, 0xff8a52, 0x8a6fd1, 0x74b6ff, 0x4f7dff, 0x4fb0a5};

/* From slow to fast, at equal steps; hues that stay pleasant where they are dim. */
static const uint32_t speed_hue[] = {0x3c6eff, 0x8fb2ff, 0xffefe6, 0xffb060, 0xff5028};

uint32_t nb_hue_of_kind(unsigned kind)
{
	return kind_hue[kind % NB_HUE_KINDS];
}

uint32_t nb_hue_of_component(unsigned component)
{
	const unsigned n = sizeof component_hue / sizeof *component_hue;
	return component < n ? component_hue[component] : nb_hue_of_kind(component);
}

void nb_hue_of_speed(float speed, float hue[3])
{
	const int last = sizeof speed_hue / sizeof *speed_hue - 1;
	const float at = speed > 0 ? (speed < 1 ? speed * (float)last : (float)last) : 0;
	const int i = at < (float)last ? (int)at : last - 1;
	for (int k = 0; k < 3; k++) {
		float a = (float)(speed_hue[i] >> (16 - 8 * k) & 255),
		      b = (float)(speed_hue[i + 1] >> (16 - 8 * k) & 255);
		hue[k] = a + (at - (float)i) * (b - a);
	}
	nb_hue_brighten(hue);
}

void nb_hue_brighten(float hue[3])
{
	const float most = fmaxf(hue[0], fmaxf(hue[1], hue[2]));
	for (int k = 0; k < 3; k++)
		hue[k] = most > 0 ? hue[k] / most : 1;
}

void nb_hue_shade(const float hue[3], float v, float rgb[3])
{
	const float white = v > 0.7f ? (v - 0.7f) / 0.6f : 0, light = v < 0.7f ? v / 0.7f : 1;
	for (int k = 0; k < 3; k++)
		rgb[k] = light * (hue[k] + white * (1 - hue[k]));
}
