/* Device memory behind struct nb_space.  Blocks come from the stream-ordered pool, so that a tool that handles
 * frame after frame allocates once; copies from the host are synchronous with respect to the host buffer. */
#include "kernels/device/device.cuh"
#include "kernels/device/device.h"

#include <string.h>

static void *device_alloc(const struct nb_space *, size_t bytes)
{
	void *p = nullptr;
	if (nb_cuda_keep_pool())
		return nullptr;
	if (nb_cuda_status(cudaMallocAsync(&p, bytes ? bytes : 1, 0), "cudaMallocAsync", __FILE__, __LINE__))
		return nullptr;
	return p;
}

static void device_release(const struct nb_space *, void *p)
{
	if (p)
		(void)cudaFreeAsync(p, 0);
}

static int device_from_host(const struct nb_space *, void *to, const void *host, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice));
	return NB_OK;
}

static int device_to_host(const struct nb_space *, void *host, const void *from, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost));
	return NB_OK;
}

int nb_cuda_open(int device, const struct nb_space **space, char *why, size_t size)
{
	static char name[32];
	static struct nb_space device_space;
	int count = 0;
	*space = nullptr;
	cudaError_t error = cudaGetDeviceCount(&count);
	if (error != cudaSuccess || count == 0) {
		(void)cudaGetLastError();
		snprintf(why, size, "no CUDA device (%s)",
			error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error));
		return NB_ENODEV;
	}
	if (device >= count) {
		snprintf(why, size, "no CUDA device %d (there are %d)", device, count);
		return NB_ENODEV;
	}
	if (nb_cuda_status(cudaSetDevice(device), "cudaSetDevice", __FILE__, __LINE__) ||
		nb_cuda_status(cudaFree(nullptr), "cudaFree", __FILE__, __LINE__)) {
		snprintf(why, size, "CUDA device %d does not start: %.150s", device, nb_cuda_error_text);
		return NB_ENODEV;
	}
	snprintf(name, sizeof name, "cuda:%d", device);
	device_space = nb_space{name, device, device_alloc, device_release, device_from_host, device_to_host};
	*space = &device_space;
	return NB_OK;
}

const char *nb_cuda_error(void)
{
	return nb_cuda_error_text;
}

int nb_cuda_finish(void)
{
	NB_CUDA_TRY(cudaDeviceSynchronize());
	return NB_OK;
}
