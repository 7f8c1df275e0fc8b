/* Text by FreeType in DejaVu Sans, which this program holds as data (NB_FREETYPE in lists.h); without it text.c has
 * letters of dots. */
#include "formats/image/text.h"

#ifdef NB_FREETYPE

#include "common/mem.h"
#include "common/printable.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>

#include <ft2build.h>
#include FT_FREETYPE_H

__asm__(".section .rodata\n.balign 8\nfont_start:\n.incbin \"" NB_FONT "\"\nfont_end:\n.previous\n");
extern const unsigned char font_start[], font_end[];

/* Height of its capitals, as a share of its size. */
#define CAPITALS 0.729

/* One for all threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FT_Library library;
static FT_Face face;

/* NULL: out of memory. */
static FT_Face open_face(void)
{
	if (!face && (FT_Init_FreeType(&library) ||
			     FT_New_Memory_Face(library, font_start, font_end - font_start, 0, &face)))
		face = NULL;
	return face;
}

/* A picture of the text alone: how much of each pixel it covers. */
struct mask {
	int width, height, base; /* row of the base line */
	uint8_t *cover;
};

static void add_glyph(struct mask *m, const FT_GlyphSlot glyph, int x)
{
	const FT_Bitmap *b = &glyph->bitmap;
	for (int r = 0; r < (int)b->rows; r++)
		for (int c = 0; c < (int)b->width; c++) {
			const int row = m->base - glyph->bitmap_top + r, column = x + glyph->bitmap_left + c;
			const uint8_t here = b->buffer[r * b->pitch + c];
			if (row < 0 || row >= m->height || column < 0 || column >= m->width)
				continue;
			uint8_t *at = &m->cover[row * m->width + column];
			*at = here > *at ? here : *at;
		}
}

/* Writes the text into a mask, if there is one, from x on.  Returns where it ends. */
static double run_along(const char *text, int scale, struct mask *m, double x)
{
	unsigned code;
	if (!open_face() || FT_Set_Char_Size(face, 0, lround(64 * NB_TEXT_HEIGHT * scale / CAPITALS), 72, 72))
		return x;
	for (size_t n; *text && (n = nb_utf8_character(text, &code)) > 0; text += n) {
		FT_Vector shift = {lround(64 * (x - floor(x))), 0};
		FT_Set_Transform(face, NULL, &shift);
		if (FT_Load_Char(face, code, FT_LOAD_TARGET_LIGHT | (m ? FT_LOAD_RENDER : 0)))
			continue;
		if (m)
			add_glyph(m, face->glyph, (int)floor(x));
		x += (double)face->glyph->linearHoriAdvance / 65536;
	}
	return x;
}

int nb_text_possible(const char *text)
{
	unsigned code;
	size_t n = 0;
	pthread_mutex_lock(&lock);
	while (open_face() && *text && (n = nb_utf8_character(text, &code)) > 0 && nb_is_printable(code) &&
		FT_Get_Char_Index(face, code))
		text += n;
	pthread_mutex_unlock(&lock);
	return !*text;
}

const char *nb_text_wanted(void)
{
	return "want UTF-8 that DejaVu Sans can write";
}

int nb_text_width(const char *text, int scale)
{
	pthread_mutex_lock(&lock);
	const double x = run_along(text, scale, NULL, 0);
	pthread_mutex_unlock(&lock);
	return (int)ceil(x);
}

/* Whether the letters cover it, and all around it, as much. */
static int is_inside(const struct mask *m, int x, int y)
{
	const uint8_t *at = &m->cover[y * m->width + x];
	return x > 0 && y > 0 && x + 1 < m->width && y + 1 < m->height && at[-1] == *at && at[1] == *at &&
	       at[-m->width] == *at && at[m->width] == *at;
}

/* What the letters and a margin of that many pixels cover: the inside of letters adds nothing to what their edges do.
 */
static void widen(const struct mask *m, int margin, uint8_t *to)
{
	memcpy(to, m->cover, (size_t)m->width * (size_t)m->height);
	for (int y = margin; y < m->height - margin; y++)
		for (int x = margin; x < m->width - margin; x++) {
			const int cover = m->cover[y * m->width + x];
			for (int v = -margin; cover && v <= margin && !is_inside(m, x, y); v++) {
				uint8_t *row = &to[(y + v) * m->width + x];
				const int reach = (int)sqrt((margin + 0.5) * (margin + 0.5) - v * v);
				for (int u = -reach; u <= reach; u++)
					row[u] = row[u] < cover ? (uint8_t)cover : row[u];
			}
		}
}

void nb_text_draw(
	uint8_t *rgb, int width, int height, int x, int y, int scale, const char *text, const uint8_t colour[3])
{
	const int room = 4 * scale;
	const double halo = colour[1] < 128 ? 255 : 0;
	struct mask m = {nb_text_width(text, scale) + 2 * room, (NB_TEXT_HEIGHT + 8) * scale,
		(NB_TEXT_HEIGHT + 4) * scale, NULL};
	const size_t size = (size_t)m.width * (size_t)m.height;
	m.cover = nb_alloc_zero(size, 2);
	if (!m.cover)
		return;
	uint8_t *wide = m.cover + size;
	pthread_mutex_lock(&lock);
	run_along(text, scale, &m, room);
	pthread_mutex_unlock(&lock);
	widen(&m, scale, wide);
	for (int r = 0; r < m.height; r++)
		for (int c = 0; c < m.width; c++) {
			const int column = x - room + c, row = y - room + r;
			if (column < 0 || column >= width || row < 0 || row >= height)
				continue;
			const double dark = wide[r * m.width + c] / 255.0, light = m.cover[r * m.width + c] / 255.0;
			uint8_t *at = &rgb[3 * ((size_t)row * (size_t)width + (size_t)column)];
			for (int k = 0; dark > 0 && k < 3; k++)
				at[k] = (uint8_t)lround(
					(1 - light) * ((1 - dark) * at[k] + dark * halo) + light * colour[k]);
		}
	nb_free(m.cover);
}

#endif
