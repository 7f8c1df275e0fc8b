/* check_cuda.cu - questions about bodies that are on the device, so that they need not leave it: is their order still
 * that of their keys, are they in a cube, which ids are they.  A pass over the bodies, one small answer. */
#include "kernels/device/device.cuh"
#include "kernels/order/id.h"
#include "kernels/order/morton.h"
#include "kernels/order/order.h"

#include <math.h>

enum { THREADS = 256 };

/* An answer in device memory, with what it is before the bodies are asked. */
template <class T> struct answer {
	nb_cuda_buffer<T> d;

	NB_MUST_CHECK int begin(T value)
	{
		NB_TRY(d.alloc(1));
		NB_CUDA_TRY(cudaMemcpyAsync(d.ptr, &value, sizeof value, cudaMemcpyHostToDevice, 0));
		return NB_OK;
	}

	NB_MUST_CHECK int end(T *value)
	{
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(value, d.ptr, sizeof *value, cudaMemcpyDeviceToHost));
		return NB_OK;
	}
};

static __global__ void stale_kernel(
	size_t n, const double *pos, int dim, struct nb_cube cube, double scale, const uint64_t *key, int *stale)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	const int bits = dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D;
	const uint64_t x = nb_morton_cell(pos[3 * i], cube.lo[0], scale, bits);
	const uint64_t y = nb_morton_cell(pos[3 * i + 1], cube.lo[1], scale, bits);
	const uint64_t now = dim == 3 ? nb_morton_key3(x, y, nb_morton_cell(pos[3 * i + 2], cube.lo[2], scale, bits))
				      : nb_morton_key2(x, y);
	if (now != key[i] || (i > 0 && key[i] < key[i - 1]))
		*stale = 1;
}

int nb_keys_current_cuda(
	size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current)
{
	answer<int> stale;
	int found;
	*current = 0;
	if ((dim != 2 && dim != 3) || !(cube->size > 0 && isfinite(cube->size)))
		return NB_OK;
	*current = 1;
	if (n == 0)
		return NB_OK;
	const double scale = ldexp(1, dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D) / cube->size;
	NB_TRY(stale.begin(0));
	stale_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, dim, *cube, scale, key, stale.d.ptr);
	NB_TRY(stale.end(&found));
	*current = !found;
	return NB_OK;
}

static __global__ void outside_kernel(
	size_t n, const double *pos, int from, int to, struct nb_cube cube, unsigned long long *first)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	bool outside = false;
	for (int k = from; i < n && k < to; k++)
		outside |= nb_morton_outside(pos[3 * i + k], cube.lo[k], cube.size) != 0;
	if (outside)
		atomicMin(first, (unsigned long long)i);
}

int nb_first_outside_cuda(size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first)
{
	answer<unsigned long long> outside;
	unsigned long long found = n;
	*first = n;
	if (n == 0)
		return NB_OK;
	NB_TRY(outside.begin(found));
	outside_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, from, to, *cube, outside.d.ptr);
	NB_TRY(outside.end(&found));
	*first = (size_t)found;
	return NB_OK;
}

static __global__ void id_kernel(size_t n, const uint64_t *id, unsigned long long *sum)
{
	unsigned long long mine = 0;
	for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
		mine += nb_id_hash(id[i]);
	for (int offset = 16; offset > 0; offset /= 2)
		mine += __shfl_xor_sync(0xffffffff, mine, offset);
	if (threadIdx.x % 32 == 0)
		atomicAdd(sum, mine);
}

int nb_ids_sum_cuda(size_t n, const uint64_t *id, uint64_t *sum)
{
	answer<unsigned long long> total;
	unsigned long long found = 0;
	*sum = 0;
	if (n == 0)
		return NB_OK;
	const unsigned all = nb_cuda_blocks(n, THREADS), blocks = all < 1024 ? all : 1024;
	NB_TRY(total.begin(0));
	id_kernel<<<blocks, THREADS>>>(n, id, total.d.ptr);
	NB_TRY(total.end(&found));
	*sum = found;
	return NB_OK;
}
