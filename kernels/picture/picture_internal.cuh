/* picture_internal.cuh - numbers of bodies on the device in ascending order, for quantiles. */
#ifndef NB_PICTURE_INTERNAL_CUH
#define NB_PICTURE_INTERNAL_CUH

#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"
#include "kernels/order/order.h"

/* The key by which x stands in order. */
static __device__ inline uint64_t nb_key_of(double x)
{
	return nb_ordered_bits((unsigned long long)__double_as_longlong(x));
}

/* n numbers: a kernel writes their keys, then they are sorted; what is left out has the key ~0 and comes last. */
struct nb_sorted {
	nb_cuda_buffer<uint64_t> key;
	nb_cuda_buffer<uint32_t> perm;

	NB_MUST_CHECK int begin(size_t n)
	{
		NB_TRY(key.alloc(n));
		return perm.alloc(n);
	}

	/* After the launch of the kernel. */
	NB_MUST_CHECK int sort()
	{
		NB_CUDA_LAUNCHED();
		return nb_sort_keys_cuda(key.count, key.ptr, perm.ptr);
	}

	/* Number k in order. */
	NB_MUST_CHECK int at(size_t k, double *x) const
	{
		uint64_t found;
		NB_CUDA_TRY(cudaMemcpy(&found, key.ptr + k, sizeof found, cudaMemcpyDeviceToHost));
		const uint64_t bits = nb_unordered(found);
		memcpy(x, &bits, sizeof *x);
		return NB_OK;
	}

	/* As nb_quantile, of the first count > 0 of them. */
	NB_MUST_CHECK int quantile(size_t count, double q, double *x) const
	{
		return at((size_t)(q * (double)(count - 1)), x);
	}
};

#endif
