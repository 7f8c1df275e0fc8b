#include "formats/image/ppm.h"

int nb_ppm_write(FILE *file, int width, int height, const uint8_t *rgb)
{
	size_t row = 3 * (size_t)width;
	if (fprintf(file, "P6\n%d %d\n255\n", width, height) < 0)
		return -1;
	if (fwrite(rgb, row, (size_t)height, file) != (size_t)height)
		return -1;
	return fflush(file) ? -1 : 0;
}
