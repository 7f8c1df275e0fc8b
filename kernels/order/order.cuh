/* order.cuh - prefix sums and a short sort on the device (CUB, compiled once in sort_cuda.cu), rows of some bodies, and
 * deeper keys. */
#ifndef NB_ORDER_CUH
#define NB_ORDER_CUH

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "kernels/device/device.cuh"

/* out[i] = sum of in[0 .. i-1], i < n; in place if out == in.  Queued on the default stream.  n < 2^31. */
NB_MUST_CHECK int nb_scan_cuda(size_t n, const uint32_t *in, uint32_t *out);
/* The same where sums are too large for 32 bits, for any n; not in place. */
NB_MUST_CHECK int nb_scan_wide_cuda(size_t n, const uint32_t *in, uint64_t *out);
/* The largest -x, -y, -z, x, y, z of n positions (-infinity of none), and 1 if one is not finite, in box, which is the
 * host's.  Waits for the device. */
NB_MUST_CHECK int nb_box_cuda(size_t n, const double *pos, double box[7]);
/* What a kernel has found of it: each the largest of something, 0 before. */
struct nb_bounds {
	unsigned long long top[3];    /* nb_ordered_bits(x) */
	unsigned long long bottom[3]; /* ~nb_ordered_bits(x) */
	unsigned long long bad;	      /* not 0: one is not finite */
};
/* The box of n > 0 positions. */
void nb_box_of_bounds(const struct nb_bounds *found, double box[7]);
/* Stable sort of n < 2^31 keys below 2^bits, and of the values with them.  Queued on the default stream. */
NB_MUST_CHECK int nb_sort_pairs_cuda(size_t n, int bits, uint32_t *key, uint32_t *value);

/* Two sorted runs of keys, and their values, as one: of equal keys those of a come first.  key and value have room for
 * na + nb and are no part of either.  Queued on the default stream. */
NB_MUST_CHECK int nb_merge_pairs_cuda(size_t na, const uint64_t *key_a, const uint32_t *value_a, size_t nb,
	const uint64_t *key_b, const uint32_t *value_b, uint64_t *key, uint32_t *value);

/* ---- rows of some bodies --------------------------------------------------------------------------- */

enum { NB_ROWS_THREADS = 256 };

template <class Wanted>
static __global__ void nb_wanted_kernel(size_t n, const __grid_constant__ Wanted wanted, uint32_t *ones)
{
	const size_t i = (size_t)blockIdx.x * NB_ROWS_THREADS + threadIdx.x;
	if (i <= n)
		ones[i] = i < n && wanted(i);
}

/* row[0 .. *count - 1] = the i < n where ones[i] is 1; the others, and ones[n], are 0.  ones is overwritten. */
NB_MUST_CHECK int nb_rows_of_ones_cuda(size_t n, uint32_t *ones, uint32_t *row, size_t *count);

/* row[0 .. *count - 1] = the i < n for which wanted(i), an object for the device, in order; row has room for n.  Waits
 * for the device.  NB_ELIMIT: n >= 2^31 - 1; NB_ENOMEM. */
template <class Wanted>
NB_MUST_CHECK static int nb_rows_of(size_t n, const Wanted &wanted, uint32_t *row, size_t *count)
{
	nb_cuda_buffer<uint32_t> ones;
	*count = 0;
	if (n >= INT32_MAX)
		return NB_ELIMIT;
	NB_TRY(ones.alloc(n + 1));
	nb_wanted_kernel<<<nb_cuda_blocks(n + 1, NB_ROWS_THREADS), NB_ROWS_THREADS>>>(n, wanted, ones.ptr);
	NB_CUDA_LAUNCHED();
	return nb_rows_of_ones_cuda(n, ones.ptr, row, count);
}

/* ---- deeper keys ----------------------------------------------------------------------------------- */

/* Deeper keys of n bodies in ntie ties.
 *   tie   n, ascending: the tie that each is of
 *   row     n: where it is in pos (x 3)
 *   number  whether bodies of a tie that all coincide get their number as key, instead of 0
 *   key     n, written
 * Queued on the default stream. */
NB_MUST_CHECK int nb_deep_keys_cuda(size_t n, const uint32_t *tie, size_t ntie, const uint32_t *row, const double *pos,
	int dim, bool number, uint64_t *key);

/* The bits of doubles as integers in the same order: never 0 nor ~0 where they are finite. */
static inline __host__ __device__ unsigned long long nb_ordered_bits(unsigned long long bits)
{
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static inline __host__ __device__ unsigned long long nb_unordered(unsigned long long key)
{
	return key >> 63 ? key & ~(1ull << 63) : ~key;
}

#endif
