/* deep_cuda.cu - order below the last bit of the key (deep.h), on the device.
 *
 * A pass over the sorted keys orders ties of up to NB_DEEP_FEW bodies, a thread each, and counts the bodies of larger
 * ones.  There are hardly ever any; the host waits for the number.  Larger ones are divided all at once, in rounds:
 *
 *   gather   their bodies, numbered by tie
 *   keys     boxes by 64-bit integers that order like doubles, so that atomicMax gives the same in any order; then keys
 *   sort     by key, and again by tie, both stable
 *   few      as in the first pass, for what the keys of this round do not tell apart
 *
 * Launch: blocks of 256 threads, a thread a body. */
#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"
#include "kernels/order/order.h"

enum { THREADS = 256, BOUNDS = 6 };

/* ---- keys of ties ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ unsigned long long warp_max(unsigned long long v)
{
	for (int offset = 16; offset > 0; offset /= 2)
		v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
	return v;
}

/* bounds[tie]: the largest coordinates, and the complements of the smallest, as nb_ordered; 0 before. */
static __global__ void __launch_bounds__(THREADS)
	bounds_kernel(size_t n, const uint32_t *tie, const uint32_t *row, const double *pos, unsigned long long *bounds)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const uint32_t mine = i < n ? tie[i] : 0;
	unsigned long long v[BOUNDS] = {0, 0, 0, 0, 0, 0};
	for (int k = 0; k < 3 && i < n; k++) {
		const double x = pos[3 * (size_t)row[i] + k];
		const unsigned long long ordered = nb_ordered_bits((unsigned long long)__double_as_longlong(x));
		v[k] = ordered;
		v[3 + k] = ~ordered;
	}
	const uint32_t first = __shfl_sync(0xffffffff, mine, 0);
	if (__all_sync(0xffffffff, mine == first || i >= n)) {
		for (int k = 0; k < BOUNDS; k++) {
			const unsigned long long most = warp_max(v[k]);
			if (threadIdx.x % 32 == 0 && most)
				atomicMax(&bounds[BOUNDS * (size_t)first + k], most);
		}
	} else if (i < n) {
		for (int k = 0; k < BOUNDS; k++)
			atomicMax(&bounds[BOUNDS * (size_t)mine + k], v[k]);
	}
}

static __global__ void __launch_bounds__(THREADS) deep_keys_kernel(size_t n, const uint32_t *tie, const uint32_t *row,
	const double *pos, int dim, bool number, const unsigned long long *bounds, uint64_t *key)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	double lo[3], hi[3];
	for (int k = 0; k < 3; k++) {
		const unsigned long long *b = bounds + BOUNDS * (size_t)tie[i] + k;
		hi[k] = __longlong_as_double((long long)nb_unordered(b[0]));
		lo[k] = __longlong_as_double((long long)nb_unordered(~b[3]));
	}
	const struct nb_deep_cube cube = nb_deep_cube_of(lo, hi, dim);
	key[i] = number && cube.scale[0] == 0 ? i : nb_deep_key(&cube, pos + 3 * (size_t)row[i], dim);
}

int nb_deep_keys_cuda(size_t n, const uint32_t *tie, size_t ntie, const uint32_t *row, const double *pos, int dim,
	bool number, uint64_t *key)
{
	nb_cuda_buffer<unsigned long long> bounds;
	NB_TRY(bounds.alloc(BOUNDS * ntie));
	NB_CUDA_TRY(cudaMemsetAsync(bounds.ptr, 0, BOUNDS * ntie * sizeof *bounds.ptr));
	bounds_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, tie, row, pos, bounds.ptr);
	NB_CUDA_LAUNCHED();
	deep_keys_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, tie, row, pos, dim, number, bounds.ptr, key);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* ---- the order ----------------------------------------------------------------------------------------- */

/* Sorted bodies of some ties; equal keys of one tie are a tie that is still to be divided. */
struct ties {
	size_t n;
	const uint32_t *tie; /* NULL: there is one */
	const uint64_t *key;
	const uint32_t *at; /* where in the order of all bodies they are; NULL: these are all */

	__device__ bool same(size_t i, size_t j) const
	{
		return key[i] == key[j] && (!tie || tie[i] == tie[j]);
	}
	__device__ size_t place(size_t i) const
	{
		return at ? at[i] : i;
	}
	/* Bodies before (or after) i, at most `most`, that nothing tells from it. */
	__device__ unsigned before(size_t i, unsigned most) const
	{
		unsigned count = 0;
		while (count < most && i > count && same(i - count - 1, i))
			count++;
		return count;
	}
	__device__ unsigned after(size_t i, unsigned most) const
	{
		unsigned count = 0;
		while (count < most && i + count + 1 < n && same(i + count + 1, i))
			count++;
		return count;
	}
	__device__ bool is_of_many(size_t i) const
	{
		const unsigned count = before(i, NB_DEEP_FEW);
		return count + after(i, NB_DEEP_FEW - count) == NB_DEEP_FEW;
	}
};

/* Orders ties of few, and counts the bodies of the others. */
static __global__ void __launch_bounds__(THREADS)
	few_kernel(struct ties c, const double *pos, int dim, uint32_t *perm, unsigned *many)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	bool mine = false;
	if (i < c.n && c.after(i, 1) && !c.before(i, 1)) {
		const unsigned count = 1 + c.after(i, NB_DEEP_FEW);
		if (count <= NB_DEEP_FEW) {
			uint32_t row[NB_DEEP_FEW];
			for (unsigned k = 0; k < count; k++)
				row[k] = perm[c.place(i + k)];
			nb_deep_order_few(row, count, pos, dim);
			for (unsigned k = 0; k < count; k++)
				perm[c.place(i + k)] = row[k];
		} else {
			mine = true;
		}
	} else if (i < c.n && c.before(i, 1)) {
		mine = c.is_of_many(i);
	}
	const unsigned which = __ballot_sync(0xffffffff, mine);
	if (which && threadIdx.x % 32 == 0)
		atomicAdd(many, (unsigned)__popc(which));
}

static __global__ void __launch_bounds__(THREADS) many_kernel(struct ties c, uint32_t *many)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < c.n)
		many[i] = c.is_of_many(i);
}

/* to[i]: the number that body i has among those of ties of many */
static __global__ void __launch_bounds__(THREADS) gather_kernel(
	struct ties c, const uint32_t *to, const uint32_t *perm, uint32_t *at, uint32_t *row, uint32_t *head)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= c.n || !c.is_of_many(i))
		return;
	const uint32_t j = to[i];
	at[j] = (uint32_t)c.place(i);
	row[j] = perm[c.place(i)];
	head[j] = c.before(i, 1) == 0;
}

/* Numbers of ties, from how many begin before each body. */
static __global__ void __launch_bounds__(THREADS) number_kernel(size_t n, const uint32_t *head, uint32_t *tie)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		tie[i] = tie[i] + head[i] - 1;
}

template <class T>
static __global__ void __launch_bounds__(THREADS) pick_kernel(size_t n, const uint32_t *from, const T *src, T *dst)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		dst[i] = src[from[i]];
}

static __global__ void __launch_bounds__(THREADS)
	put_kernel(size_t n, const uint32_t *from, const uint32_t *at, const uint32_t *row, uint32_t *perm)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		perm[at[i]] = row[from[i]];
}

/* Bodies of ties of many, from one round to the next. */
struct many {
	nb_cuda_buffer<uint32_t> tie, at;
	nb_cuda_buffer<uint64_t> key;

	NB_MUST_CHECK int alloc(size_t n)
	{
		NB_TRY(tie.alloc(n));
		NB_TRY(at.alloc(n));
		NB_TRY(key.alloc(n));
		return NB_OK;
	}
};

static int bits_of(uint32_t most)
{
	int bits = 0;
	while (most >> bits)
		bits++;
	return bits;
}

/* Divides the ties of many among c, n bodies in all; what they become is in next. */
static int divide(const struct ties &c, size_t n, const double *pos, int dim, uint32_t *perm, struct many &next)
{
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	nb_cuda_buffer<uint32_t> to, row, head, from, sorted;
	nb_cuda_buffer<uint64_t> key;
	NB_TRY(next.alloc(n));
	NB_TRY(to.alloc(c.n));
	NB_TRY(row.alloc(n));
	NB_TRY(head.alloc(n));
	many_kernel<<<nb_cuda_blocks(c.n, THREADS), THREADS>>>(c, to.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(c.n, to.ptr, to.ptr));
	gather_kernel<<<nb_cuda_blocks(c.n, THREADS), THREADS>>>(c, to.ptr, perm, next.at.ptr, row.ptr, head.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(n, head.ptr, next.tie.ptr));
	number_kernel<<<blocks, THREADS>>>(n, head.ptr, next.tie.ptr);
	NB_CUDA_LAUNCHED();
	uint32_t last;
	NB_CUDA_TRY(cudaMemcpy(&last, next.tie.ptr + n - 1, sizeof last, cudaMemcpyDeviceToHost));

	NB_TRY(key.alloc(n));
	NB_TRY(from.alloc(n));
	NB_TRY(sorted.alloc(n));
	NB_TRY(nb_deep_keys_cuda(n, next.tie.ptr, (size_t)last + 1, row.ptr, pos, dim, true, key.ptr));
	NB_CUDA_TRY(cudaMemcpyAsync(next.key.ptr, key.ptr, n * sizeof *key.ptr, cudaMemcpyDeviceToDevice));
	NB_TRY(nb_sort_keys_cuda(n, key.ptr, from.ptr));
	pick_kernel<<<blocks, THREADS>>>(n, from.ptr, next.tie.ptr, sorted.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_sort_pairs_cuda(n, bits_of(last), sorted.ptr, from.ptr));
	pick_kernel<<<blocks, THREADS>>>(n, from.ptr, next.key.ptr, key.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpyAsync(next.key.ptr, key.ptr, n * sizeof *key.ptr, cudaMemcpyDeviceToDevice));
	put_kernel<<<blocks, THREADS>>>(n, from.ptr, next.at.ptr, row.ptr, perm);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_sort_deep_cuda(size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm)
{
	if (n < 2)
		return NB_OK;
	nb_cuda_buffer<unsigned> d_many;
	struct many rounds[2];
	struct ties c = {n, nullptr, key, nullptr};
	NB_TRY(d_many.alloc(1));
	for (int round = 0;; round++) {
		unsigned many = 0;
		NB_CUDA_TRY(cudaMemsetAsync(d_many.ptr, 0, sizeof many));
		few_kernel<<<nb_cuda_blocks(c.n, THREADS), THREADS>>>(c, pos, dim, perm, d_many.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(&many, d_many.ptr, sizeof many, cudaMemcpyDeviceToHost));
		if (many == 0)
			return NB_OK;
		struct many &next = rounds[round % 2];
		NB_TRY(divide(c, many, pos, dim, perm, next));
		c = {many, next.tie.ptr, next.key.ptr, next.at.ptr};
	}
}
