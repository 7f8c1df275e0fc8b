/* measure.cuh - sums over bodies on the device, in the order that measure_internal.h says.
 *
 * A block of NB_SUM_THREADS threads takes a chunk of consecutive bodies, and writes one row of partial sums; the host
 * adds the rows with nb_sum_column. */
#ifndef NB_MEASURE_CUH
#define NB_MEASURE_CUH

#include <stdlib.h>

#include "kernels/device/device.cuh"
#include "kernels/measure/measure_internal.h"

enum { NB_SUM_THREADS = NB_SUM_LANES };

/* row[k] = the sum of v[k] over the threads of the block.  All threads call, once in a kernel for each width. */
template <int width> static __device__ void nb_sum_block(double (&v)[width], double *row)
{
	__shared__ double part[NB_SUM_THREADS / 32][width];
	for (int k = 0; k < width; k++) {
		for (int offset = 16; offset > 0; offset /= 2)
			v[k] += __shfl_xor_sync(0xffffffffu, v[k], offset);
		if (threadIdx.x % 32 == 0)
			part[threadIdx.x / 32][k] = v[k];
	}
	__syncthreads();
	if (threadIdx.x < width) {
		double sum = 0;
		for (int w = 0; w < NB_SUM_THREADS / 32; w++)
			sum += part[w][threadIdx.x];
		row[threadIdx.x] = sum;
	}
}

/* *largest = the largest v of the threads of the block, NaN aside.  All threads call, once in a kernel. */
static __device__ inline void nb_max_block(double v, double *largest)
{
	__shared__ double part[NB_SUM_THREADS / 32];
	for (int offset = 16; offset > 0; offset /= 2)
		v = fmax(v, __shfl_xor_sync(0xffffffffu, v, offset));
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < NB_SUM_THREADS / 32; w++)
			v = fmax(v, part[w]);
		*largest = v;
	}
}

/* Partial sums of n bodies, width numbers a chunk: room for them on the device, and then a copy for the host. */
struct nb_sum_table {
	size_t nchunk = 0, chunk = 0, width = 0;
	nb_cuda_buffer<double> d;
	double *host = nullptr;

	~nb_sum_table()
	{
		free(host);
	}

	NB_MUST_CHECK int begin(size_t n, size_t columns)
	{
		chunk = nb_sum_chunk(n);
		nchunk = (n + chunk - 1) / chunk;
		width = columns;
		NB_TRY(d.alloc(nchunk * width));
		free(host);
		host = (double *)malloc((nchunk * width + 1) * sizeof *host);
		return host ? NB_OK : NB_ENOMEM;
	}

	/* After the launch of the kernel that fills it. */
	NB_MUST_CHECK int end()
	{
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(host, d.ptr, nchunk * width * sizeof *host, cudaMemcpyDeviceToHost));
		return NB_OK;
	}
};

#endif
