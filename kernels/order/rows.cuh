/* rows.cuh - the rows of some bodies, in order, by a prefix sum on the device. */
#ifndef NB_ROWS_CUH
#define NB_ROWS_CUH

#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"

enum { NB_ROWS_THREADS = 256 };

/* before[n] = 0, so that the last prefix sum is the number of all. */
template <class Wanted>
static __global__ void nb_wanted_kernel(size_t n, const __grid_constant__ Wanted wanted, uint32_t *before)
{
	const size_t i = (size_t)blockIdx.x * NB_ROWS_THREADS + threadIdx.x;
	if (i <= n)
		before[i] = i < n && wanted(i);
}

static __global__ void nb_row_kernel(size_t n, const uint32_t *before, uint32_t *row)
{
	const size_t i = (size_t)blockIdx.x * NB_ROWS_THREADS + threadIdx.x;
	if (i < n && before[i + 1] > before[i])
		row[before[i]] = (uint32_t)i;
}

/* row[0 .. *count - 1] = the i < n for which wanted(i), an object for the device, in order; row has room for n.  Waits
 * for the device.  NB_ELIMIT: n >= 2^31 - 1; NB_ENOMEM. */
template <class Wanted>
NB_MUST_CHECK static int nb_rows_of(size_t n, const Wanted &wanted, uint32_t *row, size_t *count)
{
	nb_cuda_buffer<uint32_t> before;
	uint32_t found;
	*count = 0;
	if (n >= INT32_MAX)
		return NB_ELIMIT;
	NB_TRY(before.alloc(n + 1));
	nb_wanted_kernel<<<nb_cuda_blocks(n + 1, NB_ROWS_THREADS), NB_ROWS_THREADS>>>(n, wanted, before.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(n + 1, before.ptr, before.ptr));
	nb_row_kernel<<<nb_cuda_blocks(n + 1, NB_ROWS_THREADS), NB_ROWS_THREADS>>>(n, before.ptr, row);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, before.ptr + n, sizeof found, cudaMemcpyDeviceToHost));
	*count = found;
	return NB_OK;
}

#endif
