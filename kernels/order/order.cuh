/* order.cuh - prefix sums and a short sort on the device (CUB, compiled once in sort_cuda.cu), and deeper keys. */
#ifndef NB_ORDER_CUH
#define NB_ORDER_CUH

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* out[i] = sum of in[0 .. i-1], i < n; in place if out == in.  Queued on the default stream.  n < 2^31. */
NB_MUST_CHECK int nb_scan_cuda(size_t n, const uint32_t *in, uint32_t *out);
/* The same where sums are too large for 32 bits, for any n; not in place. */
NB_MUST_CHECK int nb_scan_wide_cuda(size_t n, const uint32_t *in, uint64_t *out);
/* Stable sort of n < 2^31 keys below 2^bits, and of the values with them.  Queued on the default stream. */
NB_MUST_CHECK int nb_sort_pairs_cuda(size_t n, int bits, uint32_t *key, uint32_t *value);

/* Deeper keys of n bodies in ncrowd crowds.
 *   crowd   n, ascending: the crowd that each is of
 *   row     n: where it is in pos (x 3)
 *   number  whether bodies of a crowd that all coincide get their number as key, instead of 0
 *   key     n, written
 * Queued on the default stream. */
NB_MUST_CHECK int nb_deep_keys_cuda(size_t n, const uint32_t *crowd, size_t ncrowd, const uint32_t *row,
	const double *pos, int dim, bool number, uint64_t *key);

/* The bits of doubles as integers in the same order: never 0 nor ~0 where they are finite. */
static inline __host__ __device__ unsigned long long nb_ordered(unsigned long long bits)
{
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static inline __host__ __device__ unsigned long long nb_unordered(unsigned long long key)
{
	return key >> 63 ? key & ~(1ull << 63) : ~key;
}

#endif
