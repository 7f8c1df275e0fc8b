#include "formats/image/line.h"

#include <math.h>
#include <stddef.h>

/* Pixels whose centres lie between two coordinates, cut to the picture. */
static void between(double a, double b, double margin, int size, int *first, int *last)
{
	const double from = ceil(fmin(a, b) - margin - 0.5), to = floor(fmax(a, b) + margin - 0.5);
	*first = (int)fmax(from, 0);
	*last = (int)fmin(to, size - 1);
}

void nb_line_draw(uint8_t *rgb, int width, int height, const struct nb_line_end end[2], double thickness)
{
	const double far = 1e6, dx = end[1].x - end[0].x, dy = end[1].y - end[0].y, length2 = dx * dx + dy * dy;
	for (int e = 0; e < 2; e++)
		if (!(fabs(end[e].x) <= far && fabs(end[e].y) <= far))
			return;
	int left, right, top, bottom;
	between(end[0].x, end[1].x, thickness / 2 + 0.5, width, &left, &right);
	between(end[0].y, end[1].y, thickness / 2 + 0.5, height, &top, &bottom);
	for (int r = top; r <= bottom; r++)
		for (int c = left; c <= right; c++) {
			const double u = c + 0.5 - end[0].x, v = r + 0.5 - end[0].y;
			double t = length2 > 0 ? (u * dx + v * dy) / length2 : 0;
			t = t > 0 ? (t < 1 ? t : 1) : 0;
			const double inside = thickness / 2 + 0.5 - hypot(u - t * dx, v - t * dy);
			if (!(inside > 0))
				continue;
			uint8_t *at = &rgb[3 * ((size_t)r * (size_t)width + (size_t)c)];
			for (int k = 0; k < 3; k++) {
				const double light = (1 - t) * end[0].rgb[k] + t * end[1].rgb[k];
				const int value = (int)(255 * fmin(inside, 1) * light + 0.5);
				if (value > at[k])
					at[k] = (uint8_t)value;
			}
		}
}
