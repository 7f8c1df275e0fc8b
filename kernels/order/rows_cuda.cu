/* rows_cuda.cu - the rows of some bodies on the device, in order, by a prefix sum. */
#include "kernels/order/order.cuh"
#include "kernels/order/order.h"

struct marked {
	const unsigned char *mark;

	__device__ bool operator()(size_t i) const
	{
		return mark[i] != 0;
	}
};

static __global__ void row_kernel(size_t n, const uint32_t *before, uint32_t *row)
{
	const size_t i = (size_t)blockIdx.x * NB_ROWS_THREADS + threadIdx.x;
	if (i < n && before[i + 1] > before[i])
		row[before[i]] = (uint32_t)i;
}

int nb_rows_of_ones_cuda(size_t n, uint32_t *ones, uint32_t *row, size_t *count)
{
	uint32_t found;
	NB_TRY(nb_scan_cuda(n + 1, ones, ones)); /* the last sum is that of all */
	row_kernel<<<nb_cuda_blocks(n + 1, NB_ROWS_THREADS), NB_ROWS_THREADS>>>(n, ones, row);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, ones + n, sizeof found, cudaMemcpyDeviceToHost));
	*count = found;
	return NB_OK;
}

int nb_marked_rows_cuda(size_t n, const unsigned char *mark, uint32_t *row, size_t *count)
{
	return nb_rows_of(n, marked{mark}, row, count);
}
