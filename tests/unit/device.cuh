/* device.cuh - arrays of the device for unit tests, and whether there is one. */
#ifndef NB_UNIT_DEVICE_CUH
#define NB_UNIT_DEVICE_CUH

#include <algorithm>
#include <vector>

#include <cuda_runtime.h>

#include "tests/unit/unit.h"

template <class T> struct device {
	T *p = nullptr;
	size_t n;
	/* filled with bytes 0xff: NaN, and an index out of range */
	explicit device(size_t count) : n(count)
	{
		if (cudaMalloc((void **)&p, std::max<size_t>(1, n * sizeof(T))) != cudaSuccess)
			exit(1);
		poison();
	}
	explicit device(const std::vector<T> &v) : device(v.size())
	{
		CHECK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
	}
	device(const device &) = delete;
	device &operator=(const device &) = delete;
	~device()
	{
		cudaFree(p);
	}
	void poison()
	{
		CHECK(cudaMemset(p, 0xff, n * sizeof(T)) == cudaSuccess);
	}
	std::vector<T> host() const
	{
		std::vector<T> v(n);
		CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
		return v;
	}
};

/* For the exit status 77. */
static bool no_device(void)
{
	int devices = 0;
	if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
		return false;
	fprintf(stderr, "no CUDA device\n");
	return true;
}

#endif
