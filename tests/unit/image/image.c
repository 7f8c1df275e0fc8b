/* Colour tables, hues and PPM. */
#include "formats/image/image.h"

#include "tests/unit/unit.h"

static void colormaps(void)
{
	static const struct {
		enum nb_colormap map;
		uint32_t first, last;
	} want[] = {{NB_INFERNO, 0x000004, 0xfcffa4}, {NB_VIRIDIS, 0x440154, 0xfde725}, {NB_GRAY, 0, 0xffffff}};
	for (size_t k = 0; k < 3; k++) {
		const uint32_t *table = nb_colormap_table(want[k].map);
		float rgb[3];
		CHECK(table[0] == want[k].first && table[255] == want[k].last);
		for (int i = 0; i < 256; i++) {
			nb_colormap_at(table, (float)i / 255, rgb);
			for (int c = 0; c < 3; c++)
				CHECK_NEAR(255 * rgb[c], table[i] >> (16 - 8 * c) & 255, 0.02);
		}
		nb_colormap_at(table, NAN, rgb);
		CHECK_NEAR(255 * rgb[2], table[0] & 255, 1e-4);
		nb_colormap_at(table, 7, rgb);
		CHECK_NEAR(255 * rgb[2], table[255] & 255, 1e-4);
		/* halfway between two entries */
		nb_colormap_at(table, 10.5f / 255, rgb);
		CHECK_NEAR(255 * rgb[2], ((table[10] & 255) + (table[11] & 255)) / 2.0, 0.02);
	}
}

static void kinds(void)
{
	for (unsigned a = 0; a < 12; a++) {
		CHECK(nb_hue_of_kind(a) <= 0xffffff && nb_hue_of_kind(a) == nb_hue_of_kind(a + 12));
		for (unsigned b = 0; b < a; b++)
			CHECK(nb_hue_of_kind(a) != nb_hue_of_kind(b));
	}
	CHECK(nb_hue_of_kind(0) == 0xffc27a && nb_hue_of_kind(255) == nb_hue_of_kind(3));
}

static float strongest(const float rgb[3])
{
	return fmaxf(rgb[0], fmaxf(rgb[1], rgb[2]));
}

/* blue, almost white in the middle, red; no steps; the strongest part is 1 everywhere */
static void speeds(void)
{
	float hue[3], before[3], edge[3];
	nb_hue_of_speed(0, hue);
	CHECK(hue[2] == 1 && hue[0] < 0.25f);
	nb_hue_of_speed(0.5f, hue);
	CHECK(hue[0] == 1 && hue[1] > 0.9f && hue[2] > 0.9f);
	nb_hue_of_speed(1, hue);
	CHECK(hue[0] == 1 && hue[2] < 0.16f);
	nb_hue_of_speed(0, before);
	for (int i = 1; i <= 1000; i++) {
		nb_hue_of_speed((float)i / 1000, hue);
		CHECK(strongest(hue) == 1);
		for (int k = 0; k < 3; k++) {
			CHECK_NEAR(hue[k], before[k], 0.005);
			before[k] = hue[k];
		}
	}
	static const float beyond[] = {-1, -INFINITY, NAN, 2, INFINITY};
	for (int i = 0; i < 5; i++) {
		nb_hue_of_speed(beyond[i], hue);
		nb_hue_of_speed(i < 3 ? 0 : 1, edge);
		CHECK(memcmp(hue, edge, sizeof hue) == 0);
	}
}

static void brightness(void)
{
	float hue[3] = {2, 4, 1}, rgb[3], before = -1;
	nb_hue_brighten(hue);
	CHECK(hue[0] == 0.5f && hue[1] == 1 && hue[2] == 0.25f);
	float none[3] = {0, 0, 0};
	nb_hue_brighten(none);
	CHECK(none[0] == 1 && none[1] == 1 && none[2] == 1);

	nb_hue_shade(hue, 0, rgb);
	CHECK(rgb[0] == 0 && rgb[1] == 0 && rgb[2] == 0);
	nb_hue_shade(hue, 0.35f, rgb);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(rgb[k], hue[k] / 2, 1e-6);
	nb_hue_shade(hue, 0.7f, rgb);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(rgb[k], hue[k], 1e-6);
	/* half way to white at the end, and never darker on the way there */
	nb_hue_shade(hue, 1, rgb);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(rgb[k], (1 + hue[k]) / 2, 1e-6);
	for (int i = 0; i <= 100; i++) {
		nb_hue_shade(hue, (float)i / 100, rgb);
		CHECK(rgb[0] >= before && strongest(rgb) <= 1);
		before = rgb[0];
	}
}

static void ppm(void)
{
	static const uint8_t rgb[] = {0, 1, 2, 255, 254, 253};
	static const char want[] = "P6\n2 1\n255\n\0\1\2\377\376\375P6\n1 2\n255\n\0\1\2\377\376\375";
	char got[100];
	FILE *file = tmpfile();
	CHECK(file && nb_ppm_write(file, 2, 1, rgb) == 0 && nb_ppm_write(file, 1, 2, rgb) == 0);
	rewind(file);
	CHECK(fread(got, 1, sizeof got, file) == sizeof want - 1 && memcmp(got, want, sizeof want - 1) == 0);
	fclose(file);
	file = fopen("/dev/full", "w");
	CHECK(!file || nb_ppm_write(file, 2, 1, rgb) != 0);
	if (file)
		fclose(file);
}

/* image colormap NAME: its table as text, a colour a line */
static int print_table(const char *name)
{
	static const char *const names[NB_NCOLORMAP] = {"inferno", "viridis", "gray"};
	for (int map = 0; map < NB_NCOLORMAP; map++)
		if (strcmp(name, names[map]) == 0) {
			for (int i = 0; i < NB_COLORMAP_SIZE; i++)
				printf("%06x\n", (unsigned)nb_colormap_table((enum nb_colormap)map)[i]);
			return 0;
		}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "colormap") == 0)
		return print_table(argv[2]);
	colormaps();
	kinds();
	speeds();
	brightness();
	ppm();
	return unit_end();
}
