/* words.h - numbers in files of either byte order. */
#ifndef NB_FUZZ_WORDS_H
#define NB_FUZZ_WORDS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t word_load(const uint8_t *p, int big)
{
	uint32_t x;
	memcpy(&x, p, sizeof x);
	return big ? __builtin_bswap32(x) : x;
}

static inline void word_store(uint8_t *p, int big, uint32_t x)
{
	if (big)
		x = __builtin_bswap32(x);
	memcpy(p, &x, sizeof x);
}

#endif
