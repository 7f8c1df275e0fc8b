/* mend.h - a mutator of particle streams: libFuzzer changes bytes, and then the checksums, or also the sizes and
 * offsets, are made right again, or nothing is; so that what comes behind the checksums is reached, by the real
 * reader. */
#ifndef NB_FUZZ_MEND_H
#define NB_FUZZ_MEND_H

#include "tests/fuzz/fuzz.h"

#include <libdeflate.h>

/* Offsets of nb-stream(5). */
enum {
	MEND_HEADER_SIZE = 12,
	MEND_KIND = 16,
	MEND_CRC = 20,
	MEND_NUMBER = 24,
	MEND_ROWS = 32,
	MEND_ATTRIBUTE_BYTES = 56,
	MEND_NCOLUMN = 64,
	MEND_ENTRY_SIZE = 68,
	MEND_BODY_BYTES = 72,
	MEND_DTYPE = 32,
	MEND_TABLE = 40,
	MEND_NCOMP = 44,
	MEND_OFFSET = 80,
	MEND_BYTES = 88
};

enum mending { MEND_NOTHING, MEND_CHECKSUMS, MEND_SIZES };

static inline uint64_t mend_load(const uint8_t *p, int bytes)
{
	uint64_t x = 0;
	for (int i = bytes; i-- > 0;)
		x = x << 8 | p[i];
	return x;
}

static inline void mend_store(uint8_t *p, int bytes, uint64_t x)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(x >> (8 * i));
}

static inline size_t mend_align(uint64_t x)
{
	return (size_t)((x + 63) / 64 * 64);
}

/* The contents of the columns begin at `at`; returns where the frame ends, or 0 where the input does before. */
static inline size_t mend_body(
	uint8_t *data, size_t size, uint8_t *entry, uint64_t ncolumn, uint64_t entry_size, size_t at)
{
	uint8_t *first = entry;
	const size_t trailer_size = mend_align(4 * ncolumn);
	uint8_t sums[4 * 64] = {0};
	if (ncolumn > 64)
		return 0;
	for (uint64_t c = 0; c < ncolumn; c++, entry = first + c * entry_size) {
		const uint64_t bytes = mend_load(entry + MEND_BYTES, 8);
		if (bytes > size - at || mend_align(bytes) > size - at)
			return 0;
		mend_store(sums + 4 * c, 4, libdeflate_crc32(0, data + at, bytes));
		at += mend_align(bytes);
	}
	if (trailer_size > size - at)
		return 0;
	memcpy(data + at, sums, 4 * ncolumn);
	return at + trailer_size;
}

static inline void mend_sizes(uint8_t *head, uint8_t *entry, uint64_t ncolumn, uint64_t entry_size, size_t whole)
{
	uint64_t offset = whole;
	for (uint64_t c = 0; c < ncolumn; c++, entry += entry_size) {
		const uint8_t *digits = entry + MEND_DTYPE + 2;
		uint64_t item = 0;
		while (*digits >= '0' && *digits <= '9' && item < 1000)
			item = 10 * item + (uint64_t)(*digits++ - '0');
		const uint64_t rows = mend_load(head + MEND_ROWS + 8 * (mend_load(entry + MEND_TABLE, 4) % 3), 8);
		const uint64_t bytes = rows * mend_load(entry + MEND_NCOMP, 4) * item;
		mend_store(entry + MEND_OFFSET, 8, offset);
		mend_store(entry + MEND_BYTES, 8, bytes);
		offset += mend_align(bytes);
	}
	mend_store(head + MEND_BODY_BYTES, 8, offset - whole + mend_align(4 * ncolumn));
}

static inline void mend(uint8_t *data, size_t size, enum mending what)
{
	uint64_t number = 0;
	for (size_t at = 0; what != MEND_NOTHING && size - at >= 128;) {
		uint8_t *head = data + at;
		const uint64_t header = mend_load(head + MEND_HEADER_SIZE, 4), kind = mend_load(head + MEND_KIND, 4),
			       ncolumn = mend_load(head + MEND_NCOLUMN, 4),
			       entry_size = mend_load(head + MEND_ENTRY_SIZE, 4),
			       attributes = mend_load(head + MEND_ATTRIBUTE_BYTES, 8);
		if (header < 128 || header > 4096 || ncolumn > 1024 || entry_size < 128 || entry_size > 4096 ||
			attributes > size)
			return;
		const size_t directory = header + mend_align(attributes),
			     whole = directory + mend_align(ncolumn * entry_size);
		if (whole > size - at)
			return;
		if (what == MEND_SIZES) {
			mend_sizes(head, head + directory, ncolumn, entry_size, whole);
			mend_store(head + MEND_NUMBER, 8, number);
		}
		mend_store(head + MEND_CRC, 4, 0);
		mend_store(head + MEND_CRC, 4, libdeflate_crc32(0, head, whole));
		number = kind == 1 ? number + 1 : 0;
		const size_t end = kind == 1 ? mend_body(data, size, head + directory, ncolumn, entry_size, at + whole)
					     : at + whole;
		if (end == 0)
			return;
		at = end;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, max);
	mend(data, size, seed % 8 == 0 ? MEND_NOTHING : seed % 2 ? MEND_CHECKSUMS : MEND_SIZES);
	return size;
}

#endif
