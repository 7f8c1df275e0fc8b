/* Colour tables, hues, text, lines and files. */
#include "formats/image/image.h"

#include "common/mem.h"
#include "tests/unit/unit.h"

#include <libdeflate.h>

static void colormaps(void)
{
	static const struct {
		enum nb_colormap map;
		uint32_t first, last;
	} want[] = {{NB_INFERNO, 0x000004, 0xfcffa4}, {NB_VIRIDIS, 0x440154, 0xfde725}, {NB_GRAY, 0, 0xffffff},
		{NB_MAGMA, 0x000004, 0xfcfdbf}, {NB_PLASMA, 0x0d0887, 0xf0f921}, {NB_CIVIDIS, 0x00224e, 0xfee838}};
	for (size_t k = 0; k < NB_NCOLORMAP; k++) {
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
	/* the first four are far apart */
	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < a; b++) {
			const uint32_t x = nb_hue_of_kind(a), y = nb_hue_of_kind(b);
			double d = 0;
			for (int k = 0; k < 24; k += 8)
				d = hypot(d, (double)(x >> k & 255) - (double)(y >> k & 255));
			CHECK(d > 80);
		}
	CHECK(nb_hue_of_component(3) == 0x74b6ff && nb_hue_of_component(7) == nb_hue_of_kind(7));
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

enum { W = 40, H = 20 };

static int lit(const uint8_t *rgb, int x, int y)
{
	return rgb[3 * (y * W + x)];
}

static void text(void)
{
	static uint8_t rgb[3 * W * H], shifted[3 * W * H];
	const uint8_t white[3] = {255, 255, 255};
	CHECK(nb_text_possible("t = 1.5e-3 ~!") && !nb_text_possible("a\tb") && !nb_text_possible("a\377b"));
	CHECK(nb_text_width("", 2) == 0 && nb_text_width("ab", 1) > nb_text_width("a", 1) + 2);
	memset(rgb, 100, sizeof rgb);
	nb_text_draw(rgb, W, H, 4, 5, 1, "L", white);
	/* a stem and a foot, with a black outline, between y = 5 and 12 */
	int stem = 0, foot = 0, dark = 0;
	for (int x = 0; x < W; x++) {
		stem += lit(rgb, x, 5) > 110 && lit(rgb, x, 8) > 110;
		foot += lit(rgb, x, 11) > 110;
		dark += lit(rgb, x, 8) < 90;
		CHECK(lit(rgb, x, 2) == 100 && lit(rgb, x, 14) == 100 && lit(rgb, 2, 8) == 100);
		CHECK(lit(rgb, x, 3) <= 100 && lit(rgb, x, 12) <= 110);
	}
	CHECK(stem >= 1 && stem <= 2 && foot >= 4 && foot <= 6 && dark >= 2 && dark <= 4);
#ifdef NB_FREETYPE
	CHECK(nb_text_possible("Zusammensto\303\237 \316\261\342\210\222") && !nb_text_possible("\342\200\256"));
	CHECK(nb_text_width("\303\251", 3) == nb_text_width("e", 3) &&
		nb_text_width("i", 5) < nb_text_width("m", 5) / 2);
	/* edges of round letters are neither black nor white */
	int between = 0;
	memset(rgb, 0, sizeof rgb);
	nb_text_draw(rgb, W, H, 4, 3, 2, "O", white);
	for (int k = 0; k < W * H; k++)
		between += rgb[3 * k] > 20 && rgb[3 * k] < 235;
	CHECK(between > 10);
#else
	CHECK(!nb_text_possible("\303\251") && strstr(nb_text_wanted(), "libfreetype-dev"));
	CHECK(nb_text_width("a", 2) == 10 && nb_text_width("ab", 1) == 11);
#endif
	/* beyond the edges nothing is written */
	for (int k = 0; k < 2; k++) {
		memset(rgb, 0, sizeof rgb);
		nb_text_draw(rgb, W, H, k ? -1000 : 1000, k ? -3 : 17, 3, "beyond", white);
		for (int p = 0; p < W * H; p++)
			CHECK(rgb[3 * p] == 0);
	}
	/* and what is half outside is cut */
	memset(rgb, 0, sizeof rgb);
	nb_text_draw(rgb, W, H, -2, -3, 1, "HHHHHHHHH", white);
	memset(shifted, 0, sizeof shifted);
	nb_text_draw(shifted, W, H, 4, 3, 1, "HHHHHHHHH", white);
	for (int y = 0; y < 4; y++)
		for (int x = 0; x < W - 6; x++)
			CHECK(lit(rgb, x, y) == lit(shifted, x + 6, y + 6));
	/* every character but the blank has dots, and no two are alike */
	static uint8_t seen[128][3 * W * H];
	for (char c = '!'; c <= '~'; c++) {
		const char word[2] = {c, 0};
		nb_text_draw(seen[(int)c], W, H, 1, 1, 1, word, white);
		for (char b = ' '; b < c; b++)
			CHECK(memcmp(seen[(int)c], seen[(int)b], sizeof *seen) != 0);
	}
}

static void lines(void)
{
	static uint8_t rgb[3 * W * H];
	struct nb_line_end end[2] = {{5, 10, {1, 0, 0}}, {35, 10, {0, 0, 1}}};
	nb_line_draw(rgb, W, H, end, 2);
	/* two pixels thick, from red to blue, and dark beside it */
	CHECK(lit(rgb, 6, 9) == lit(rgb, 6, 10) && lit(rgb, 6, 9) > 230 && lit(rgb, 33, 9) < 20);
	CHECK_NEAR(lit(rgb, 20, 9), 255 / 2.0, 5);
	CHECK_NEAR(rgb[3 * (9 * W + 20) + 2], 255 / 2.0, 5);
	CHECK(lit(rgb, 20, 7) == 0 && lit(rgb, 20, 12) == 0 && lit(rgb, 2, 9) == 0 && lit(rgb, 38, 9) == 0);
	/* again changes nothing: the stronger light stays */
	static uint8_t twice[3 * W * H];
	memcpy(twice, rgb, sizeof rgb);
	nb_line_draw(twice, W, H, end, 2);
	CHECK(memcmp(twice, rgb, sizeof rgb) == 0);
	/* from beyond the edge, of no length, and out of reach */
	memset(rgb, 0, sizeof rgb);
	struct nb_line_end slope[2] = {{-900, -900, {1, 1, 1}}, {900, 900, {1, 1, 1}}};
	nb_line_draw(rgb, W, H, slope, 1.5);
	CHECK(lit(rgb, 0, 0) == 255 && lit(rgb, 15, 15) == 255 && lit(rgb, 15, 5) == 0);
	memset(rgb, 0, sizeof rgb);
	struct nb_line_end point[2] = {{20.5, 10.5, {1, 1, 1}}, {20.5, 10.5, {1, 1, 1}}};
	nb_line_draw(rgb, W, H, point, 3);
	CHECK(lit(rgb, 20, 10) == 255 && lit(rgb, 21, 10) == 255 && lit(rgb, 24, 10) == 0);
	memset(rgb, 0, sizeof rgb);
	static const double nowhere[] = {NAN, INFINITY, -INFINITY, 1e300, 2e6};
	for (int k = 0; k < 5; k++) {
		slope[1].x = nowhere[k];
		nb_line_draw(rgb, W, H, slope, 2);
		for (int p = 0; p < W * H; p++)
			CHECK(rgb[3 * p] == 0);
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

/* ---- files ---------------------------------------------------------------------------------------- */

static uint32_t number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A picture of smooth colours, with some noise. */
static uint8_t *make_picture(int width, int height)
{
	uint8_t *rgb = malloc(3 * (size_t)width * (size_t)height);
	uint32_t x = 1;
	for (int y = 0; y < height; y++)
		for (int k = 0; k < 3 * width; k++) {
			x = x * 1664525 + 1013904223;
			rgb[3 * width * y + k] = (uint8_t)(k + 2 * y + (x >> 28));
		}
	return rgb;
}

/* The picture in a PNG file, by the standard's rules, filter for filter; NULL: it is none. */
static uint8_t *read_png(const uint8_t *file, size_t size, int width, int height)
{
	const size_t row = 3 * (size_t)width, raw = (row + 1) * (size_t)height;
	uint8_t *all = malloc(raw), *rgb = malloc(row * (size_t)height);
	struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
	CHECK(size > 57 && memcmp(file, "\211PNG\r\n\032\n\0\0\0\rIHDR", 16) == 0);
	CHECK(number(file + 16) == (uint32_t)width && number(file + 20) == (uint32_t)height);
	CHECK(memcmp(file + 24, "\10\2\0\0\0", 5) == 0 && memcmp(file + size - 8, "IEND\256B`\202", 8) == 0);
	for (size_t at = 8, n; at < size; at += 12 + n) {
		n = number(file + at);
		CHECK(number(file + at + 8 + n) == libdeflate_crc32(0, file + at + 4, n + 4));
		if (memcmp(file + at + 4, "IDAT", 4) == 0)
			CHECK(libdeflate_zlib_decompress(inflate, file + at + 8, n, all, raw, NULL) == 0);
	}
	for (int y = 0; y < height; y++) {
		const uint8_t *from = all + (row + 1) * (size_t)y;
		CHECK(*from == 0 || *from == 2 || *from == 4);
		for (int k = 0; k < (int)row; k++) {
			uint8_t *at = rgb + row * (size_t)y + k;
			const int a = k < 3 ? 0 : at[-3], b = y ? at[-(int)row] : 0,
				  c = y && k >= 3 ? at[-(int)row - 3] : 0;
			const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
			const int best = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
			*at = (uint8_t)(from[1 + k] + (*from == 4 ? best : *from == 2 ? b : 0));
		}
	}
	libdeflate_free_decompressor(inflate);
	free(all);
	return rgb;
}

static void png(void)
{
	static const int shape[][2] = {{1, 1}, {2, 1}, {1, 257}, {255, 100}};
	uint8_t *file = NULL;
	size_t size = 0;
	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
		const int w = shape[k][0], h = shape[k][1];
		uint8_t *rgb = make_picture(w, h);
		CHECK(nb_png_encode(w, h, rgb, &file, &size) == NB_OK);
		uint8_t *got = read_png(file, size, w, h);
		CHECK(memcmp(got, rgb, 3 * (size_t)w * (size_t)h) == 0);
		/* prediction leaves little more than the noise, of 4 bits */
		CHECK(k < 3 || size < 3 * (size_t)w * (size_t)h * 3 / 4);
		free(got);
		free(rgb);
		nb_free(file);
	}
	CHECK(nb_png_encode(0, 1, NULL, &file, &size) == NB_EINVAL);
	CHECK(nb_png_encode(60000, 60000, NULL, &file, &size) == NB_EINVAL);
}

/* Both lose something: what a reader makes of them is tested with the program. */
static void lossy(void)
{
	uint8_t *rgb = make_picture(200, 100), *fine = NULL, *coarse = NULL;
	size_t nfine = 0, ncoarse = 0;
	const int jpeg = nb_jpeg_encode(200, 100, rgb, 95, &fine, &nfine);
#ifdef NB_JPEG
	CHECK(jpeg == NB_OK && nb_jpeg_encode(200, 100, rgb, 20, &coarse, &ncoarse) == NB_OK);
	CHECK(memcmp(fine, "\377\330\377", 3) == 0 && memcmp(fine + nfine - 2, "\377\331", 2) == 0);
	CHECK(nfine > 4096 + 200 * 100 / 4 && ncoarse < nfine / 2 && ncoarse > 1000);
	nb_free(fine);
	nb_free(coarse);
	CHECK(nb_jpeg_encode(0, 1, rgb, 90, &fine, &nfine) == NB_EINVAL);
	CHECK(nb_jpeg_encode(1, 70000, rgb, 90, &fine, &nfine) == NB_EINVAL);
#else
	CHECK(jpeg == NB_EUNSUPPORTED);
#endif
	const int webp = nb_webp_encode(200, 100, rgb, 95, 2, &fine, &nfine);
#ifdef NB_WEBP
	CHECK(webp == NB_OK && nb_webp_encode(200, 100, rgb, 20, 2, &coarse, &ncoarse) == NB_OK);
	CHECK(memcmp(fine, "RIFF", 4) == 0 && memcmp(fine + 8, "WEBPVP8", 7) == 0 && ncoarse < nfine / 2);
	nb_free(fine);
	nb_free(coarse);
	CHECK(nb_webp_encode(16384, 1, rgb, 90, 2, &fine, &nfine) == NB_EINVAL);
#else
	CHECK(webp == NB_EUNSUPPORTED);
#endif
	free(rgb);
}

/* image colormap NAME: its table as text, a colour a line */
static int print_table(const char *name)
{
	static const char *const names[NB_NCOLORMAP] = {"inferno", "viridis", "gray", "magma", "plasma", "cividis"};
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
	text();
	lines();
	ppm();
	png();
	lossy();
	return unit_end();
}
