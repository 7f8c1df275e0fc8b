/* device.cuh - what every CUDA kernel file needs: checked calls, scratch memory, launch sizes.
 *
 * Everything runs on the default stream of the device that is current.  A public function returns an
 * enum nb_status, never throws and never prints; nb_cuda_error_text says which call failed and why. */
#ifndef NB_DEVICE_CUH
#define NB_DEVICE_CUH

#include <atomic>
#include <utility>

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/space.h"
#include "common/status.h"

/* What the last failing call of this thread said, "" before any, and the status that it became.  One copy in the whole
 * program. */
inline thread_local char nb_cuda_error_text[256];
inline thread_local int nb_cuda_error_status = NB_OK;

inline int nb_cuda_status_of(cudaError_t error)
{
	switch (error) {
	case cudaSuccess: return NB_OK;
	case cudaErrorMemoryAllocation: return NB_ENOMEM;
	case cudaErrorNoDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorInitializationError:
	case cudaErrorSystemDriverMismatch:
	case cudaErrorDevicesUnavailable:
	case cudaErrorInvalidDevice:
	case cudaErrorNoKernelImageForDevice: return NB_ENODEV;
	default: return NB_EDEVICE;
	}
}

/* Turns a runtime error into a status and notes it.  Clears the runtime's own "last error", so that a
 * failed allocation is not reported again by the next, unrelated call. */
inline int nb_cuda_status(cudaError_t error, const char *call, const char *file, int line)
{
	if (error == cudaSuccess)
		return NB_OK;
	(void)cudaGetLastError();
	snprintf(nb_cuda_error_text, sizeof nb_cuda_error_text, "%s (%s:%d, %.100s)", cudaGetErrorString(error), file,
		line, call);
	nb_cuda_error_status = nb_cuda_status_of(error);
	nb_space_note_failure(nb_cuda_error_status == NB_ENOMEM ? "" : nb_cuda_error_text);
	return nb_cuda_error_status;
}

/* Returns from the calling function with the status if a runtime call fails. */
#define NB_CUDA_TRY(call)                                                                    \
	do {                                                                                 \
		const int nb_try_status = nb_cuda_status((call), #call, __FILE__, __LINE__); \
		if (nb_try_status)                                                           \
			return nb_try_status;                                                \
	} while (0)

/* The same for a function that returns a status. */
#define NB_TRY(call)                              \
	do {                                      \
		const int nb_try_status = (call); \
		if (nb_try_status)                \
			return nb_try_status;     \
	} while (0)

/* After every kernel<<<...>>>(...). */
#define NB_CUDA_LAUNCHED() NB_CUDA_TRY(cudaGetLastError())

/* Lets the current device's pool keep what is freed, once a device and process. */
inline int nb_cuda_keep_pool()
{
	static std::atomic<bool> kept[64];
	int device;
	NB_CUDA_TRY(cudaGetDevice(&device));
	if (device < 64 && kept[device])
		return NB_OK;
	cudaMemPool_t pool;
	uint64_t threshold = UINT64_MAX;
	NB_CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, device));
	NB_CUDA_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	if (device < 64)
		kept[device] = true;
	return NB_OK;
}

/* NB_EXACT_MEMORY is set: blocks are as long as was asked for, and freed at once, so that tools see what is read or
 * written beyond them or later. */
inline bool nb_cuda_exact_memory()
{
	static const bool exact = getenv("NB_EXACT_MEMORY") != nullptr;
	return exact;
}

/* What is allocated for so many bytes: up to a 64th more.  Sizes change a little from step to step; rounded ones find
 * the places that the step before has left, where else the pool now and then maps memory anew, for a third of a
 * millisecond. */
inline size_t nb_cuda_rounded(size_t bytes)
{
	size_t unit = nb_cuda_exact_memory() ? 1 : 256;
	while (unit > 1 && unit < bytes / 128)
		unit *= 2;
	return bytes > SIZE_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

/* Small blocks that this thread has freed, for its next ones: calls of the pool by several threads, each for its own
 * device, hold each other up, by several microseconds a call.  Taken and put in the order of the default stream, as
 * those of the pool. */
struct nb_cuda_blocks_kept {
	enum { MOST = 256, BYTES = 1 << 18 };
	struct {
		void *ptr;
		size_t bytes;
		int device;
	} block[MOST];
	int n = 0;

	void *take(size_t bytes, int device)
	{
		for (int k = n; k-- > 0;)
			if (block[k].bytes == bytes && block[k].device == device) {
				void *const ptr = block[k].ptr;
				block[k] = block[--n];
				return ptr;
			}
		return nullptr;
	}

	bool put(void *ptr, size_t bytes, int device)
	{
		if (bytes > BYTES || n == MOST || nb_cuda_exact_memory())
			return false;
		block[n++] = {ptr, bytes, device};
		return true;
	}

	~nb_cuda_blocks_kept()
	{
		while (n > 0)
			(void)cudaFreeAsync(block[--n].ptr, 0);
	}
};
inline thread_local struct nb_cuda_blocks_kept nb_cuda_kept;

/* Scratch on the current device, given back when it goes out of scope.  It comes from the device's
 * stream-ordered pool, which keeps what it has: from the second call on, an allocation costs a
 * microsecond and no synchronisation, and freeing does not wait for kernels in flight. */
template <class T> struct nb_cuda_buffer {
	T *ptr = nullptr;
	size_t count = 0;

	nb_cuda_buffer() = default;
	nb_cuda_buffer(const nb_cuda_buffer &) = delete;
	nb_cuda_buffer &operator=(const nb_cuda_buffer &) = delete;
	~nb_cuda_buffer()
	{
		release();
	}

	/* Uninitialised room for n elements (n = 0: none, ptr stays null). */
	NB_MUST_CHECK int alloc(size_t n)
	{
		release();
		if (n == 0)
			return NB_OK;
		if (n > SIZE_MAX / sizeof(T)) {
			snprintf(nb_cuda_error_text, sizeof nb_cuda_error_text, "scratch of %zu x %zu bytes", n,
				sizeof(T));
			nb_space_note_failure("");
			return nb_cuda_error_status = NB_ENOMEM;
		}
		NB_TRY(nb_cuda_keep_pool());
		NB_CUDA_TRY(cudaGetDevice(&device));
		bytes = nb_cuda_rounded(n * sizeof(T));
		ptr = (T *)nb_cuda_kept.take(bytes, device);
		if (!ptr)
			NB_CUDA_TRY(cudaMallocAsync((void **)&ptr, bytes, 0));
		count = n;
		return NB_OK;
	}

	void release()
	{
		if (ptr && !nb_cuda_kept.put(ptr, bytes, device))
			(void)cudaFreeAsync(ptr, 0);
		ptr = nullptr;
		count = 0;
	}

	/* What was allocated, for who frees it by cudaFreeAsync. */
	T *give()
	{
		T *const given = ptr;
		ptr = nullptr;
		count = 0;
		return given;
	}

	void swap(nb_cuda_buffer &other)
	{
		std::swap(ptr, other.ptr);
		std::swap(count, other.count);
		std::swap(bytes, other.bytes);
		std::swap(device, other.device);
	}

      private:
	size_t bytes = 0;
	int device = 0; /* whose it is */
};

/* Launches a kernel on a stream, with dynamic shared memory, so that it may overlap the end of the
 * kernel before it ("programmatic dependent launch"): its blocks take their places early and wait in
 * nb_cuda_wait_previous, which a kernel launched like this must call before it touches memory that any
 * earlier kernel used.  Worth a microsecond or two a kernel in a chain of short ones.
 * Only on compute capability 9: a newer card might run the PTX of an older one, which does not wait. */
template <class... Parameters, class... Arguments>
int nb_cuda_launch_on(cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared,
	Arguments &&...arguments)
{
	static std::atomic<int> major[64];
	int device, cc = 0;
	NB_CUDA_TRY(cudaGetDevice(&device));
	if (device < 64)
		cc = major[device];
	if (!cc) {
		NB_CUDA_TRY(cudaDeviceGetAttribute(&cc, cudaDevAttrComputeCapabilityMajor, device));
		if (device < 64)
			major[device] = cc;
	}
	cudaLaunchAttribute early = {};
	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	cudaLaunchConfig_t config = {};
	config.gridDim = grid;
	config.blockDim = block;
	config.dynamicSmemBytes = shared;
	config.stream = stream;
	config.attrs = &early;
	config.numAttrs = cc == 9;
	NB_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, static_cast<Arguments &&>(arguments)...));
	return NB_OK;
}

/* The same on the default stream. */
template <class... Parameters, class... Arguments>
int nb_cuda_launch_shared(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared, Arguments &&...arguments)
{
	return nb_cuda_launch_on(0, kernel, grid, block, shared, static_cast<Arguments &&>(arguments)...);
}

template <class... Parameters, class... Arguments>
int nb_cuda_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments &&...arguments)
{
	return nb_cuda_launch_shared(kernel, grid, block, 0, static_cast<Arguments &&>(arguments)...);
}

/* The first statement of a kernel for nb_cuda_launch: lets the next kernel's blocks come, and waits until all
 * earlier kernels are done and their writes seen. */
static __device__ __forceinline__ void nb_cuda_wait_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	cudaTriggerProgrammaticLaunchCompletion();
	cudaGridDependencySynchronize();
#endif
}

/* The same in another order: the next kernel's blocks come when all blocks of this one have waited.  For a kernel whose
 * next one does not wait for all of it, but for what its blocks have done. */
static __device__ __forceinline__ void nb_cuda_follow_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	cudaGridDependencySynchronize();
	cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Blocks of `threads` that cover n items; kernels index with size_t. */
inline unsigned nb_cuda_blocks(size_t n, unsigned threads)
{
	return (unsigned)((n + threads - 1) / threads);
}

/* *count = multiprocessors of the current device. */
NB_MUST_CHECK inline int nb_cuda_multiprocessors(int *count)
{
	int device;
	NB_CUDA_TRY(cudaGetDevice(&device));
	NB_CUDA_TRY(cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device));
	return NB_OK;
}

#endif
