/* Stable LSD radix sort of (key, index) pairs, and the permutation of rows.
 *
 * Each pass takes DIGIT bits.  Every thread owns a contiguous chunk of the array: it counts the digits
 * of its chunk, the counts are summed digit by digit and, within a digit, thread by thread, and each
 * thread scatters its chunk in order.  The result is the stable order for any number of threads.
 * Bits in which no two keys differ are skipped by choosing digits among those that do. */
#include "kernels/order/order.h"

#include <omp.h>
#include <string.h>

#include "common/mem.h"

enum {
	DIGIT = 11, /* 2048 counters of 4 bytes and as many write streams stay in the L2 cache */
	BINS = 1 << DIGIT,
	MAX_PASS = 64,
	SMALL = 1 << 13, /* fewer rows are sorted or permuted by one thread */
	AHEAD = 24	 /* rows that a permutation prefetches ahead */
};

/* The digits to sort by: shifts from low to high, so that together they cover every bit of differ. */
static int digits_of(uint64_t differ, int shift[MAX_PASS])
{
	int npass = 0;
	for (int bit = 0; bit < 64;) {
		if (!(differ >> bit & 1)) {
			bit++;
			continue;
		}
		shift[npass++] = bit;
		bit += DIGIT;
	}
	return npass;
}

int nb_sort_keys_cpu(size_t n, uint64_t *key, uint32_t *perm)
{
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ) if (n >= SMALL)
	for (size_t i = 0; i < n; i++)
		differ |= key[i] ^ key[0];
	int shift[MAX_PASS], npass = digits_of(differ, shift);
	if (npass == 0) {
		for (size_t i = 0; i < n; i++)
			perm[i] = (uint32_t)i;
		return NB_OK;
	}

	int nthread = n >= SMALL ? omp_get_max_threads() : 1;
	uint64_t *key_b = nb_alloc(n, sizeof *key_b);
	uint32_t *perm_b = nb_alloc(n, sizeof *perm_b);
	uint32_t *count = nb_alloc((size_t)nthread * BINS, sizeof *count);
	if (!key_b || !perm_b || !count) {
		nb_free(key_b);
		nb_free(perm_b);
		nb_free(count);
		return NB_ENOMEM;
	}

#pragma omp parallel num_threads(nthread)
	{
		/* the system may have granted fewer threads than asked for */
		size_t t = (size_t)omp_get_thread_num(), nt = (size_t)omp_get_num_threads();
		size_t begin = n * t / nt, end = n * (t + 1) / nt;
		uint32_t *mine = count + t * BINS;
		const uint64_t *from = key;
		const uint32_t *from_perm = NULL; /* the first pass reads the identity */
		uint64_t *to = key_b;
		uint32_t *to_perm = perm_b;
		if (npass % 2) { /* so that the last pass writes the caller's arrays */
			memcpy(key_b + begin, key + begin, (end - begin) * sizeof *key);
			from = key_b;
			to = key;
			to_perm = perm;
#pragma omp barrier
		}
		for (int pass = 0; pass < npass; pass++) {
			int s = shift[pass];
			memset(mine, 0, BINS * sizeof *mine);
			for (size_t i = begin; i < end; i++)
				mine[from[i] >> s & (BINS - 1)]++;
#pragma omp barrier
#pragma omp single
			{
				uint32_t sum = 0;
				for (size_t d = 0; d < BINS; d++)
					for (size_t k = 0; k < nt; k++) {
						uint32_t c = count[k * BINS + d];
						count[k * BINS + d] = sum;
						sum += c;
					}
			}
			if (from_perm) {
				for (size_t i = begin; i < end; i++) {
					uint64_t k = from[i];
					uint32_t at = mine[k >> s & (BINS - 1)]++;
					to[at] = k;
					to_perm[at] = from_perm[i];
				}
			} else {
				for (size_t i = begin; i < end; i++) {
					uint64_t k = from[i];
					uint32_t at = mine[k >> s & (BINS - 1)]++;
					to[at] = k;
					to_perm[at] = (uint32_t)i;
				}
			}
			from = to;
			from_perm = to_perm;
			to = to == key ? key_b : key;
			to_perm = to_perm == perm ? perm_b : perm;
#pragma omp barrier
		}
	}
	nb_free(key_b);
	nb_free(perm_b);
	nb_free(count);
	return NB_OK;
}

/* One loop for each common row size, so that the copy is a few moves and not a call. */
#define PERMUTE(size)                                                                \
	for (size_t k = begin; k < end; k++) {                                       \
		if (k + AHEAD < end)                                                 \
			__builtin_prefetch(from + (size_t)perm[k + AHEAD] * (size)); \
		memcpy(to + k * (size), from + (size_t)perm[k] * (size), (size));    \
	}

int nb_permute_cpu(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst)
{
	if (rowsize == 0)
		return NB_EINVAL;
	const char *from = src;
	char *to = dst;
	enum { BLOCK = 1 << 14 };
	size_t nblock = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (nblock > 1)
	for (size_t b = 0; b < nblock; b++) {
		size_t begin = b * BLOCK, end = begin + BLOCK < n ? begin + BLOCK : n;
		switch (rowsize) {
		case 4: PERMUTE(4) break;
		case 8: PERMUTE(8) break;
		case 12: PERMUTE(12) break;
		case 16: PERMUTE(16) break;
		case 24: PERMUTE(24) break;
		default: PERMUTE(rowsize)
		}
	}
	return NB_OK;
}
