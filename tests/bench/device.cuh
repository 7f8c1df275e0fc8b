/* device.cuh - what benchmarks on a device share: calls that must succeed, whether there is one, and copies on it. */
#ifndef NB_BENCH_DEVICE_CUH
#define NB_BENCH_DEVICE_CUH

#include <vector>

#include <cuda_runtime.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/status.h"

inline void require(bool good, const char *call, const char *error)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, error);
	exit(1);
}

/* A call of CUDA, or of ours, that ends the benchmark if it fails. */
#define TRY(call)                                                          \
	do {                                                               \
		const cudaError_t e_ = (call);                             \
		require(e_ == cudaSuccess, #call, cudaGetErrorString(e_)); \
	} while (0)
#define DO(call)                                                 \
	do {                                                     \
		const int s_ = (call);                           \
		require(s_ == NB_OK, #call, nb_status_text(s_)); \
	} while (0)

/* Whether there is no device; says so. */
inline bool no_device(void)
{
	int devices = 0;
	if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
		return false;
	fprintf(stderr, "%s: no device\n", program_invocation_short_name);
	return true;
}

/* A copy on the device, for cudaFree. */
template <class T> T *upload(const std::vector<T> &v)
{
	T *p;
	TRY(cudaMalloc((void **)&p, v.size() * sizeof(T)));
	TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

#endif
