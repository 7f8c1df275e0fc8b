#include "formats/image/png.h"

#include "common/mem.h"

#include <libdeflate.h>
#include <stdlib.h>

enum {
	CHANNELS = 3,
	LEVEL = 6,		/* of compression */
	CHUNK = 12,		/* bytes of a chunk beside its data: length, type, CRC */
	HEADER = 8 + CHUNK + 13 /* signature and IHDR */
};

static uint8_t *put(uint8_t *to, uint32_t x)
{
	for (int k = 0; k < 4; k++)
		to[k] = (uint8_t)(x >> (24 - 8 * k));
	return to + 4;
}

/* Closes a chunk whose data, of so many bytes, follow 8 bytes behind its start. */
static uint8_t *end_chunk(uint8_t *chunk, const char *type, size_t size)
{
	memcpy(put(chunk, (uint32_t)size), type, 4);
	return put(chunk + 8 + size, libdeflate_crc32(0, chunk + 4, 4 + size));
}

/* The predictor of section 9.4. */
static int paeth(int left, int above, int corner)
{
	const int a = abs(above - corner), b = abs(left - corner), c = abs(left + above - 2 * corner);
	return a <= b && a <= c ? left : b <= c ? above : corner;
}

/* Each row as what the predictor leaves (filter 4), which is as little as the best filter of each row leaves. */
static void filter_rows(int width, int height, const uint8_t *rgb, uint8_t *to)
{
	const size_t n = (size_t)width * CHANNELS;
#pragma omp parallel for schedule(static) if (height > 64)
	for (int y = 0; y < height; y++) {
		const uint8_t *row = &rgb[n * (size_t)y];
		uint8_t *at = &to[(n + 1) * (size_t)y];
		*at++ = 4;
		for (size_t k = 0; k < n; k++) {
			const int above = y ? row[k - n] : 0, left = k < CHANNELS ? 0 : row[k - CHANNELS];
			at[k] = (uint8_t)(row[k] - paeth(left, above, y && k >= CHANNELS ? row[k - n - CHANNELS] : 0));
		}
	}
}

int nb_png_encode(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *size)
{
	static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	if (width < 1 || height < 1 || (size_t)width * (size_t)height > (INT32_MAX - (1 << 24)) / CHANNELS)
		return NB_EINVAL;
	const size_t raw = (size_t)height * (1 + (size_t)width * CHANNELS);
	struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(LEVEL);
	const size_t most = deflate ? libdeflate_zlib_compress_bound(deflate, raw) : 0;
	uint8_t *rows = nb_alloc(raw, 1), *file = nb_alloc(HEADER + CHUNK + most + CHUNK, 1);
	int status = deflate && rows && file ? NB_OK : NB_ENOMEM;
	if (!status) {
		uint8_t *at = file + sizeof signature;
		memcpy(file, signature, sizeof signature);
		memcpy(put(put(at + 8, (uint32_t)width), (uint32_t)height), "\10\2\0\0\0", 5); /* 8 bits, RGB */
		at = end_chunk(at, "IHDR", 13);
		filter_rows(width, height, rgb, rows);
		at = end_chunk(at, "IDAT", libdeflate_zlib_compress(deflate, rows, raw, at + 8, most));
		at = end_chunk(at, "IEND", 0);
		*bytes = file;
		*size = (size_t)(at - file);
	} else {
		nb_free(file);
	}
	nb_free(rows);
	if (deflate)
		libdeflate_free_compressor(deflate);
	return status;
}
