/* streamed.h - particle streams taken apart into their pieces, and put together with right checksums, by code that has
 * nothing in common with formats/stream.  Sizes are what the pieces say, right or wrong. */
#ifndef NB_TEST_STREAMED_H
#define NB_TEST_STREAMED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 24, TABLES = 3, FRAMES = 4, HEAD = 128, ENTRY = 128, ARENA = 48 << 20 };

struct piece {
	char name[33], type[9], unit[25];
	uint32_t table, components, flags;
	unsigned char *data;
	size_t bytes;
};

struct pieces {
	uint64_t rows[TABLES];
	char *attributes;
	size_t nattributes;
	struct piece column[COLUMNS];
	size_t ncolumn;
};

/* Memory that is given back all at once; NULL if there is none left. */
static unsigned char *arena;
static size_t arena_used;

static inline void *take(size_t n)
{
	n = (n + 63) / 64 * 64;
	if (!arena && !(arena = malloc(ARENA)))
		return NULL;
	if (n > ARENA - arena_used)
		return NULL;
	void *p = arena + arena_used;
	arena_used += n;
	memset(p, 0, n);
	return p;
}

static inline uint64_t number_at(const unsigned char *p, int bytes)
{
	uint64_t x = 0;
	memcpy(&x, p, (size_t)bytes);
	return x;
}

static inline void put_number(unsigned char *p, uint64_t x, int bytes)
{
	memcpy(p, &x, (size_t)bytes);
}

static inline uint32_t crc_of(const unsigned char *p, size_t n)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;
	if (!table[1])
		for (uint32_t k = 0; k < 256; k++) {
			uint32_t c = k;
			for (int bit = 0; bit < 8; bit++)
				c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
			table[k] = c;
		}
	for (size_t i = 0; i < n; i++)
		crc = table[(crc ^ p[i]) & 255] ^ crc >> 8;
	return ~crc;
}

static inline size_t padded(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* The frame that begins at p, of which n bytes are there; its size, or 0 if it is an end marker or has other sizes than
 * version 1.0.  The pieces point into it. */
static inline size_t take_apart(struct pieces *f, unsigned char *p, size_t n)
{
	memset(f, 0, sizeof *f);
	if (n < HEAD || number_at(p + 12, 4) != HEAD || number_at(p + 16, 4) != 1 || number_at(p + 68, 4) != ENTRY ||
		number_at(p + 64, 4) > COLUMNS)
		return 0;
	for (int t = 0; t < TABLES; t++)
		f->rows[t] = number_at(p + 32 + 8 * t, 8);
	f->attributes = (char *)p + HEAD;
	f->nattributes = number_at(p + 56, 8);
	f->ncolumn = number_at(p + 64, 4);
	const unsigned char *e = p + HEAD + padded(f->nattributes);
	for (size_t c = 0; c < f->ncolumn; c++, e += ENTRY) {
		struct piece *x = &f->column[c];
		memcpy(x->name, e, 32);
		memcpy(x->type, e + 32, 8);
		memcpy(x->unit, e + 56, 24);
		x->table = (uint32_t)number_at(e + 40, 4);
		x->components = (uint32_t)number_at(e + 44, 4);
		x->flags = (uint32_t)number_at(e + 48, 4);
		x->data = p + number_at(e + 80, 8);
		x->bytes = number_at(e + 88, 8);
	}
	return HEAD + padded(f->nattributes) + ENTRY * f->ncolumn + number_at(p + 72, 8);
}

/* The bytes of a frame with these pieces; NULL: no memory. */
static inline unsigned char *put_together(const struct pieces *f, uint64_t number, size_t *size)
{
	const size_t directory = HEAD + padded(f->nattributes), body = directory + ENTRY * f->ncolumn;
	size_t at = body;
	for (size_t c = 0; c < f->ncolumn; c++)
		at += padded(f->column[c].bytes);
	*size = at + padded(4 * f->ncolumn);
	unsigned char *p = take(*size), *e = p + directory;
	if (!p)
		return NULL;
	memcpy(p, "\x89NBS\r\n\x1a\n", 8);
	put_number(p + 8, 1, 2);
	put_number(p + 12, HEAD, 4);
	put_number(p + 16, 1, 4);
	put_number(p + 24, number, 8);
	for (int t = 0; t < TABLES; t++)
		put_number(p + 32 + 8 * t, f->rows[t], 8);
	put_number(p + 56, f->nattributes, 8);
	put_number(p + 64, f->ncolumn, 4);
	put_number(p + 68, ENTRY, 4);
	put_number(p + 72, *size - body, 8);
	memcpy(p + HEAD, f->attributes, f->nattributes);
	at = body;
	for (size_t c = 0; c < f->ncolumn; c++, e += ENTRY) {
		const struct piece *x = &f->column[c];
		memcpy(e, x->name, 32);
		memcpy(e + 32, x->type, 8);
		put_number(e + 40, x->table, 4);
		put_number(e + 44, x->components, 4);
		put_number(e + 48, x->flags, 4);
		memcpy(e + 56, x->unit, 24);
		put_number(e + 80, at, 8);
		put_number(e + 88, x->bytes, 8);
		if (x->bytes)
			memcpy(p + at, x->data, x->bytes);
		at += padded(x->bytes);
	}
	for (size_t c = 0; c < f->ncolumn; c++)
		put_number(p + at + 4 * c, crc_of(f->column[c].data, f->column[c].bytes), 4);
	return p;
}

/* The checksum of header, attributes and directory, once all is as it shall be. */
static inline void seal(unsigned char *frame, size_t head)
{
	put_number(frame + 20, 0, 4);
	put_number(frame + 20, crc_of(frame, head), 4);
}

static inline void put_end(unsigned char p[HEAD], uint64_t frames)
{
	memset(p, 0, HEAD);
	memcpy(p, "\x89NBS\r\n\x1a\n", 8);
	put_number(p + 8, 1, 2);
	put_number(p + 12, HEAD, 4);
	put_number(p + 16, 2, 4);
	put_number(p + 24, frames, 8);
	put_number(p + 68, ENTRY, 4);
	seal(p, HEAD);
}

#endif
