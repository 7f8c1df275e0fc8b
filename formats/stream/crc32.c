/* Carry-less multiplication folds 256 bytes on the next 256, until 16 are left that have the remainder of all.
 * Source: V. Gopal, E. Ozturk, J. Guilford and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction, Intel white paper, 2009. */
#include "formats/stream/crc32_internal.h"

#include "common/cpu.h"

#include <libdeflate.h>

#ifdef __x86_64__
#include <immintrin.h>

#define NB_FOLDING __attribute__((target("avx512f,avx512vl,pclmul,vpclmulqdq")))

enum { LEAST = 1024 /* bytes: fewer are not worth it */ };

/* Distances in bits by which blocks of 128 bits are moved: of four registers, of one, and within one.  Moved by d bits,
 * the low half is multiplied by x^(d + 32) and the high half by x^(d - 32), mod P and reflected: 1 is 2^32 here. */
enum { BY_2048, BY_512, BY_384, BY_256, BY_128, DISTANCES };
static const uint64_t factor[DISTANCES][2] = {
	[BY_2048] = {0x11542778a, 0x1322d1430},
	[BY_512] = {0x154442bd4, 0x1c6e41596},
	[BY_384] = {0x03db1ecdc, 0x174359406},
	[BY_256] = {0x0f1da05aa, 0x15a546366},
	[BY_128] = {0x1751997d0, 0x0ccaa009e},
};
static int can_fold;

__attribute__((constructor)) static void look_at_processor(void)
{
	can_fold = nb_cpu_folds_checksums();
}

NB_FOLDING static inline __m512i factors(int d)
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)factor[d]));
}

NB_FOLDING static inline __m512i fold(__m512i a, __m512i k, __m512i next)
{
	const __m512i low = _mm512_clmulepi64_epi128(a, k, 0x00), high = _mm512_clmulepi64_epi128(a, k, 0x11);
	return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* exclusive or of the three */
}

NB_FOLDING static inline __m128i fold_lane(__m128i a, int d, __m128i next)
{
	const __m128i k = _mm_loadu_si128((const __m128i *)factor[d]);
	const __m128i low = _mm_clmulepi64_si128(a, k, 0x00), high = _mm_clmulepi64_si128(a, k, 0x11);
	return _mm_ternarylogic_epi64(low, high, next, 0x96);
}

/* bytes: a multiple of 256, and not 0 */
NB_FOLDING static uint32_t folded(uint32_t crc, const unsigned char *p, size_t bytes)
{
	const __m512i far = factors(BY_2048), near = factors(BY_512);
	__m512i a[4];
	for (int i = 0; i < 4; i++)
		a[i] = _mm512_loadu_si512(p + 64 * i);
	a[0] = _mm512_xor_si512(a[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
	for (size_t at = 256; at < bytes; at += 256)
		for (int i = 0; i < 4; i++)
			a[i] = fold(a[i], far, _mm512_loadu_si512(p + at + 64 * (size_t)i));
	const __m512i all = fold(fold(fold(a[0], near, a[1]), near, a[2]), near, a[3]);
	__m128i rest = _mm512_extracti32x4_epi32(all, 3);
	rest = fold_lane(_mm512_castsi512_si128(all), BY_384, rest);
	rest = fold_lane(_mm512_extracti32x4_epi32(all, 1), BY_256, rest);
	rest = fold_lane(_mm512_extracti32x4_epi32(all, 2), BY_128, rest);
	unsigned char left[16];
	_mm_storeu_si128((__m128i *)left, rest);
	/* a start of all ones is inverted to none: the start is in the 16 bytes already */
	return libdeflate_crc32(UINT32_MAX, left, sizeof left);
}
#endif

uint32_t nb_crc32(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *p = data;
#ifdef __x86_64__
	if (can_fold && bytes >= LEAST) {
		const size_t whole = bytes / 256 * 256;
		crc = folded(crc, p, whole);
		p += whole;
		bytes -= whole;
	}
#endif
	return libdeflate_crc32(crc, p, bytes);
}

/* The product of two polynomials mod P, all reflected: bit 31 is x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;
	for (uint32_t bit = (uint32_t)1 << 31; bit; bit >>= 1) {
		product ^= a & bit ? b : 0;
		b = b >> 1 ^ (b & 1 ? 0xedb88320 : 0);
	}
	return product;
}

uint32_t nb_crc32_join(uint32_t first, uint32_t second, size_t bytes)
{
	/* the first piece has moved by so many bytes: x^8 to their power, which is often that of the call before */
	static _Thread_local size_t known;
	static _Thread_local uint32_t moved = (uint32_t)1 << 31;
	uint32_t square = (uint32_t)1 << 23;
	if (bytes != known) {
		moved = (uint32_t)1 << 31;
		for (size_t rest = known = bytes; rest; rest >>= 1) {
			moved = rest & 1 ? multiply(moved, square) : moved;
			square = multiply(square, square);
		}
	}
	return multiply(first, moved) ^ second;
}

uint32_t nb_crc32_shared(uint32_t crc, const void *data, size_t bytes)
{
	enum { MOST = 64 };
	const unsigned char *p = data;
	const size_t worth = (bytes + NB_CRC32_EACH / 2) / NB_CRC32_EACH, threads = (size_t)nb_cpu_threads();
	size_t pieces = worth < threads ? worth : threads;
	uint32_t of[MOST];
	pieces = pieces < MOST ? pieces : MOST;
	if (pieces < 2)
		return nb_crc32(crc, data, bytes);
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < pieces; k++) {
		const size_t begin = bytes / pieces * k, end = k + 1 < pieces ? bytes / pieces * (k + 1) : bytes;
		of[k] = nb_crc32(0, p + begin, end - begin);
	}
	for (size_t k = 0; k < pieces; k++)
		crc = nb_crc32_join(crc, of[k], k + 1 < pieces ? bytes / pieces : bytes - bytes / pieces * k);
	return crc;
}
