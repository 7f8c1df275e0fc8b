/* sort_cuda.cu - Morton keys, radix sort and permutation on the device.
 *
 * cube      A grid-stride pass folds coordinates into six 64-bit integers that order like doubles (so that
 *           atomicMax does the rest, in any order the same), and the first body that is not finite into a seventh.
 * keys      A thread per body; kernels/order/morton.h, the same key as on the CPU.
 * sort      CUB's radix sort ("onesweep": Adinets & Merrill 2022, arXiv:2206.01784), stable, 8 bits a
 *           pass; of many keys the leading bits only, and each short run of the same leading bits by insertion.
 * permute, scatter   A thread per word of the row, words as large as the row size and both addresses allow. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "kernels/device/device.cuh"
#include "kernels/order/morton.h"
#include "kernels/order/order.cuh"
#include "kernels/order/order.h"

enum { THREADS = 256 };

/* ---- the cube ------------------------------------------------------------------------------------ */

static double unordered(unsigned long long key)
{
	const unsigned long long bits = nb_unordered(key);
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* *out = the largest v of the block and *out. All threads call. */
static __device__ void block_max(unsigned long long v, unsigned long long *out)
{
	__shared__ unsigned long long part[THREADS / 32];
	for (int offset = 16; offset > 0; offset /= 2)
		v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < THREADS / 32; w++)
			v = max(v, part[w]);
		if (v)
			atomicMax(out, v);
	}
	__syncthreads();
}

/* bad: n - index of the first bad body */
static __global__ void __launch_bounds__(THREADS) cube_kernel(size_t n, const double *pos, struct nb_bounds *bounds)
{
	const size_t step = (size_t)gridDim.x * THREADS;
	unsigned long long top[3] = {0, 0, 0}, bottom[3] = {0, 0, 0}, bad = 0;
	for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += step) {
		bool finite = true;
		for (int k = 0; k < 3; k++) {
			const double x = pos[3 * i + k];
			const unsigned long long key = nb_ordered_bits((unsigned long long)__double_as_longlong(x));
			finite &= isfinite(x);
			top[k] = max(top[k], key);
			bottom[k] = max(bottom[k], ~key);
		}
		if (!finite)
			bad = max(bad, (unsigned long long)(n - i));
	}
	for (int k = 0; k < 3; k++) {
		block_max(top[k], &bounds->top[k]);
		block_max(bottom[k], &bounds->bottom[k]);
	}
	block_max(bad, &bounds->bad);
}

static int find_bounds(size_t n, const double *pos, struct nb_bounds *found)
{
	*found = {{0, 0, 0}, {0, 0, 0}, 0};
	if (n == 0)
		return NB_OK;
	nb_cuda_buffer<struct nb_bounds> bounds;
	int sms;
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_TRY(bounds.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(bounds.ptr, 0, sizeof *found));
	const unsigned most = 8 * (unsigned)sms, want = nb_cuda_blocks(n, THREADS);
	const unsigned blocks = want < most ? want : most;
	cube_kernel<<<blocks, THREADS>>>(n, pos, bounds.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(found, bounds.ptr, sizeof *found, cudaMemcpyDeviceToHost));
	return NB_OK;
}

void nb_box_of_bounds(const struct nb_bounds *found, double box[7])
{
	for (int k = 0; k < 3; k++) {
		box[k] = -unordered(~found->bottom[k]);
		box[3 + k] = unordered(found->top[k]);
	}
	box[6] = found->bad != 0;
}

int nb_box_cuda(size_t n, const double *pos, double box[7])
{
	struct nb_bounds found;
	NB_TRY(find_bounds(n, pos, &found));
	if (n) {
		nb_box_of_bounds(&found, box);
	} else {
		std::fill(box, box + 6, -INFINITY);
		box[6] = 0;
	}
	return NB_OK;
}

int nb_morton_cube_cuda(size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad)
{
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	struct nb_bounds found;
	NB_TRY(find_bounds(n, pos, &found));
	if (found.bad) {
		*bad = n - (size_t)found.bad;
		return NB_ENONFINITE;
	}
	double box[7];
	nb_box_of_bounds(&found, box);
	return nb_morton_cube_of_extent(n, box, dim, cube);
}

/* ---- keys ------------------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS)
	keys_kernel(size_t n, const double *pos, int dim, struct nb_cube cube, double scale, uint64_t *key)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	const int bits = dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D;
	const uint64_t x = nb_morton_cell(pos[3 * i], cube.lo[0], scale, bits);
	const uint64_t y = nb_morton_cell(pos[3 * i + 1], cube.lo[1], scale, bits);
	if (dim == 3)
		key[i] = nb_morton_key3(x, y, nb_morton_cell(pos[3 * i + 2], cube.lo[2], scale, bits));
	else
		key[i] = nb_morton_key2(x, y);
}

int nb_morton_keys_cuda(size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key)
{
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	if (!(cube->size > 0 && isfinite(cube->size)))
		return NB_EINVAL;
	if (n == 0)
		return NB_OK;
	const double scale = ldexp(1, dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D) / cube->size;
	keys_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, dim, *cube, scale, key);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* ---- sort ------------------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS) identity_kernel(size_t n, uint32_t *perm)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		perm[i] = (uint32_t)i;
}

/* A pass of the radix sort costs as much for the last bits as for the first, but of Morton keys of n bodies, or of
 * distances, few are the same in their first log2(n) + 16 bits. */
enum {
	LEADING_FROM = 1 << 16, /* keys; of fewer, passes cost little more than their launches */
	LEADING_SPARE = 16,	/* bits beyond log2(n) */
	RUN_MOST = 64,		/* keys with the same leading bits that a thread sorts */
	RUNS_PAUSE = 15,	/* sorts by all bits after one that met a longer run: the next frame is like the last */
};

/* The bits that sorts of n keys leave to short_runs_kernel, a multiple of 8; 0: none. */
static int low_bits(size_t n)
{
	if (n < LEADING_FROM)
		return 0;
	int leading = LEADING_SPARE;
	while (leading < 64 && n >> (leading - LEADING_SPARE) > 1)
		leading++;
	return 64 - (leading + 7) / 8 * 8;
}

/* Keys sorted by all but their `low` last bits: thread i sorts the run that begins at i, stable, from old to key, which
 * may be the same arrays; *longer: set if a run is longer than RUN_MOST.  In the same arrays a thread may read a key
 * that another moves: what it looks at, the leading bits, is the same in the whole run. */
static __global__ void __launch_bounds__(THREADS) short_runs_kernel(size_t n, int low, const uint64_t *old_key,
	const uint32_t *old_perm, uint64_t *key, uint32_t *perm, unsigned *longer)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	const uint64_t first = old_key[i], lead = first >> low;
	if (i > 0 && old_key[i - 1] >> low == lead)
		return;
	size_t end = i + 1;
	while (end < n && end - i <= RUN_MOST && old_key[end] >> low == lead)
		end++;
	if (end - i > RUN_MOST) {
		*longer = 1;
		return;
	}
	key[i] = first, perm[i] = old_perm[i];
	for (size_t k = i + 1; k < end; k++) {
		const uint64_t moved = old_key[k];
		const uint32_t body = old_perm[k];
		size_t to = k;
		for (; to > i && key[to - 1] > moved; to--)
			key[to] = key[to - 1], perm[to] = perm[to - 1];
		key[to] = moved, perm[to] = body;
	}
}

/* A call of CUB, which says first how many bytes it wants beside. */
template <class call> static int with_scratch(const call &run)
{
	nb_cuda_buffer<char> scratch;
	size_t bytes = 0;
	NB_CUDA_TRY(run(nullptr, bytes));
	NB_TRY(scratch.alloc(bytes));
	NB_CUDA_TRY(run(scratch.ptr, bytes));
	return NB_OK;
}

/* A sort and its second buffers, in which the last pass may end. */
struct radix {
	cub::DoubleBuffer<uint64_t> keys;
	cub::DoubleBuffer<uint32_t> perms;

	/* By the bits from `low` on. */
	NB_MUST_CHECK int sort(size_t n, int low)
	{
		return with_scratch([&](void *scratch, size_t &bytes) {
			return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, perms, (int64_t)n, low, 64);
		});
	}

	/* Into key and perm what sort(n, low) left; *done = 0: some runs are too long for it, and the buffers as before
	 * but for the order in short runs. */
	NB_MUST_CHECK int finish(size_t n, int low, uint64_t *key, uint32_t *perm, bool *done)
	{
		nb_cuda_buffer<unsigned> longer;
		unsigned found;
		NB_TRY(longer.alloc(1));
		NB_CUDA_TRY(cudaMemsetAsync(longer.ptr, 0, sizeof *longer.ptr));
		short_runs_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(
			n, low, keys.Current(), perms.Current(), key, perm, longer.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(&found, longer.ptr, sizeof found, cudaMemcpyDeviceToHost));
		*done = !found;
		return NB_OK;
	}
};

int nb_sort_keys_cuda(size_t n, uint64_t *key, uint32_t *perm)
{
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (n == 0)
		return NB_OK;
	nb_cuda_buffer<uint64_t> other_key;
	nb_cuda_buffer<uint32_t> other_perm;
	NB_TRY(other_key.alloc(n));
	NB_TRY(other_perm.alloc(n));
	identity_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, perm);
	NB_CUDA_LAUNCHED();
	struct radix radix = {{key, other_key.ptr}, {perm, other_perm.ptr}};

	static std::atomic<int> pause{0}; /* sorts that go by all bits; says how long a sort takes, no more */
	const int low = low_bits(n);
	if (low > 0 && pause.load() <= 0) {
		bool done;
		NB_TRY(radix.sort(n, low));
		NB_TRY(radix.finish(n, low, key, perm, &done));
		if (done)
			return NB_OK;
		pause.store(RUNS_PAUSE);
	} else if (low > 0) {
		pause.fetch_sub(1);
	}
	NB_TRY(radix.sort(n, 0)); /* stable: equal keys still are in the order in which they came */
	if (radix.keys.Current() != key)
		NB_CUDA_TRY(cudaMemcpyAsync(key, radix.keys.Current(), n * sizeof *key, cudaMemcpyDeviceToDevice));
	if (radix.perms.Current() != perm)
		NB_CUDA_TRY(cudaMemcpyAsync(perm, radix.perms.Current(), n * sizeof *perm, cudaMemcpyDeviceToDevice));
	return NB_OK;
}

/* ---- permutation ----------------------------------------------------------------------------------- */

/* Rows of `words` words: row k of dst is row perm[k] of src, or the reverse (BACK). */
template <class word, bool BACK>
static __global__ void __launch_bounds__(THREADS)
	permute_kernel(size_t n, const uint32_t *perm, unsigned words, const word *src, word *dst)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const size_t row = i / words;
	if (row >= n)
		return;
	const size_t other = (size_t)perm[row] * words + (i - row * words);
	if (BACK)
		dst[other] = src[i];
	else
		dst[i] = src[other];
}

/* Rows of three words, e.g. positions: a division by a constant. */
static __global__ void __launch_bounds__(THREADS)
	permute3_kernel(size_t n, const uint32_t *perm, const uint64_t *src, uint64_t *dst)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const size_t row = i / 3;
	if (row < n)
		dst[i] = src[(size_t)perm[row] * 3 + (i - row * 3)];
}

template <class word, bool BACK>
static int permute(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst)
{
	const size_t words = rowsize / sizeof(word);
	if (words > SIZE_MAX / n || words * n > (size_t)INT_MAX * THREADS || words > UINT_MAX)
		return NB_ELIMIT;
	permute_kernel<word, BACK><<<nb_cuda_blocks(n * words, THREADS), THREADS>>>(
		n, perm, (unsigned)words, (const word *)src, (word *)dst);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

template <bool BACK> static int permute_rows(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst)
{
	if (rowsize == 0)
		return NB_EINVAL;
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (n == 0)
		return NB_OK;
	const size_t aligned = rowsize | (size_t)(uintptr_t)src | (size_t)(uintptr_t)dst;
	if (!BACK && rowsize == 24 && aligned % 8 == 0) {
		permute3_kernel<<<nb_cuda_blocks(3 * n, THREADS), THREADS>>>(
			n, perm, (const uint64_t *)src, (uint64_t *)dst);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
	if (aligned % 16 == 0)
		return permute<uint4, BACK>(n, perm, rowsize, src, dst);
	if (aligned % 8 == 0)
		return permute<uint64_t, BACK>(n, perm, rowsize, src, dst);
	if (aligned % 4 == 0)
		return permute<uint32_t, BACK>(n, perm, rowsize, src, dst);
	return permute<uint8_t, BACK>(n, perm, rowsize, src, dst);
}

int nb_permute_cuda(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst)
{
	return permute_rows<false>(n, perm, rowsize, src, dst);
}

int nb_scatter_cuda(size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst)
{
	return permute_rows<true>(n, row, rowsize, src, dst);
}

/* ---- prefix sums, short sort ----------------------------------------------------------------------- */

int nb_scan_cuda(size_t n, const uint32_t *in, uint32_t *out)
{
	if (n > INT_MAX)
		return NB_ELIMIT;
	if (n == 0)
		return NB_OK;
	return with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, (int)n);
	});
}

int nb_scan_wide_cuda(size_t n, const uint32_t *in, uint64_t *out)
{
	if (n == 0)
		return NB_OK;
	const uint64_t zero = 0; /* sums are of its type */
	return with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceScan::ExclusiveScan(scratch, bytes, in, out, cuda::std::plus<>(), zero, (int64_t)n);
	});
}

int nb_sort_pairs_cuda(size_t n, int bits, uint32_t *key, uint32_t *value)
{
	if (n > INT_MAX)
		return NB_ELIMIT;
	if (n == 0 || bits == 0)
		return NB_OK;
	nb_cuda_buffer<uint32_t> other_key, other_value;
	NB_TRY(other_key.alloc(n));
	NB_TRY(other_value.alloc(n));
	cub::DoubleBuffer<uint32_t> keys(key, other_key.ptr), values(value, other_value.ptr);
	NB_TRY(with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, (int)n, 0, bits);
	}));
	if (keys.Current() != key)
		NB_CUDA_TRY(cudaMemcpyAsync(key, keys.Current(), n * sizeof *key, cudaMemcpyDeviceToDevice));
	if (values.Current() != value)
		NB_CUDA_TRY(cudaMemcpyAsync(value, values.Current(), n * sizeof *value, cudaMemcpyDeviceToDevice));
	return NB_OK;
}

int nb_merge_pairs_cuda(size_t na, const uint64_t *key_a, const uint32_t *value_a, size_t nb, const uint64_t *key_b,
	const uint32_t *value_b, uint64_t *key, uint32_t *value)
{
	if (na + nb == 0)
		return NB_OK;
	return with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceMerge::MergePairs(scratch, bytes, key_a, value_a, (int64_t)na, key_b, value_b,
			(int64_t)nb, key, value, cuda::std::less<>());
	});
}
