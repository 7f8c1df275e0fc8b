/* Pictures in terminals that show them: which does, and how it gets them. */
#include "tools/nb-plot/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

int nb_plot_terminal_format(void)
{
	const char *terminal = variable("TERM"), *program = variable("TERM_PROGRAM");
	if (*variable("TMUX") || strncmp(terminal, "screen", 6) == 0) /* which passes none on */
		return FORMAT_TEXT;
	if (*variable("KITTY_WINDOW_ID") || strstr(terminal, "kitty") || strstr(terminal, "ghostty") ||
		strcmp(program, "WezTerm") == 0)
		return FORMAT_KITTY;
	if (strstr(terminal, "sixel") || strncmp(terminal, "foot", 4) == 0 || strncmp(terminal, "mlterm", 6) == 0)
		return FORMAT_SIXEL;
	return FORMAT_TEXT;
}

int nb_plot_locale_is_ascii(void)
{
	const char *locale = variable("LC_ALL");
	if (!*locale)
		locale = variable("LC_CTYPE");
	if (!*locale)
		locale = variable("LANG");
	return *locale && !strcasestr(locale, "UTF-8") && !strcasestr(locale, "UTF8");
}

/* PNG in base 64, in pieces of at most 4096 characters. */
void nb_plot_put_kitty(const unsigned char *png, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { PIECE = 3072 };
	for (size_t at = 0; at < size; at += PIECE) {
		const size_t end = at + PIECE < size ? at + PIECE : size;
		printf("\33_G%sm=%d;", at ? "" : "f=100,a=T,", end < size);
		for (size_t i = at; i < end; i += 3) {
			const unsigned left = (unsigned)(end - i);
			const unsigned bits = (unsigned)png[i] << 16 | (left > 1 ? (unsigned)png[i + 1] << 8 : 0) |
					      (left > 2 ? (unsigned)png[i + 2] : 0);
			putchar(digits[bits >> 18]);
			putchar(digits[bits >> 12 & 63]);
			putchar(left > 1 ? digits[bits >> 6 & 63] : '=');
			putchar(left > 2 ? digits[bits & 63] : '=');
		}
		fputs("\33\\", stdout);
	}
	putchar('\n');
}

/* The colour of a pixel among 6 x 6 x 6. */
static int level(uint32_t pixel)
{
	int number = 0;
	for (int k = 16; k >= 0; k -= 8)
		number = 6 * number + (int)(((pixel >> k & 255) * 5 + 127) / 255);
	return number;
}

/* Six rows at a time, one colour after the other. */
void nb_plot_put_sixel(const uint32_t *pixel, int width, int height)
{
	printf("\33P0;1;q\"1;1;%d;%d", width, height);
	for (int c = 0; c < 216; c++)
		printf("#%d;2;%d;%d;%d", c, c / 36 * 20, c / 6 % 6 * 20, c % 6 * 20);
	for (int y = 0; y < height; y += 6) {
		unsigned char used[216] = {0};
		for (int i = 0; i < width * 6 && y + i / width < height; i++)
			used[level(pixel[y * width + i])] = 1;
		for (int c = 0; c < 216; c++) {
			if (!used[c])
				continue;
			printf("#%d", c);
			for (int x = 0, n = 0, last = -1; x <= width; x++) {
				int bits = 0;
				for (int k = 0; k < 6 && x < width && y + k < height; k++)
					bits |= (level(pixel[(y + k) * width + x]) == c) << k;
				if ((bits != last || x == width) && n > 0) {
					if (n > 3)
						printf("!%d%c", n, 63 + last);
					for (int k = 0; k < n && n <= 3; k++)
						putchar(63 + last);
					n = 0;
				}
				last = bits;
				n++;
			}
			putchar('$');
		}
		putchar('-');
	}
	fputs("\33\\\n", stdout);
}
