/* device.cuh - what every CUDA kernel file needs: checked calls, scratch memory, launch sizes.
 *
 * Everything runs on the default stream of the device that is current.  A public function returns an
 * enum nb_status, never throws and never prints; nb_cuda_error_text says which call failed and why. */
#ifndef NB_DEVICE_CUH
#define NB_DEVICE_CUH

#include <atomic>

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Memory of the current device, in the order of its default stream: *ptr, uninitialised, for what is queued from now
 * on, until it is given back (null: nothing to give) behind what is queued by then.  Most often that costs a tenth of a
 * microsecond, and nothing waits.  memory_cuda.cu has more. */
NB_MUST_CHECK int nb_cuda_take(void **ptr, size_t bytes);
void nb_cuda_give(void *ptr);
/* Blocks that are kept go back to the pool of the current device. */
void nb_cuda_trim(void);
/* Bytes of a device that were taken at once, at most; what is kept does not count. */
size_t nb_cuda_most(int device);

/* Scratch on the current device, given back when it goes out of scope. */
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
		void *room;
		NB_TRY(nb_cuda_take(&room, n * sizeof(T)));
		ptr = (T *)room;
		count = n;
		return NB_OK;
	}

	void release()
	{
		nb_cuda_give(ptr);
		ptr = nullptr;
		count = 0;
	}

	/* Releases ownership of the memory; the caller frees it by nb_cuda_give. */
	T *hand_over()
	{
		T *const room = ptr;
		ptr = nullptr;
		count = 0;
		return room;
	}
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

/* All bits that some thread of the warp has; all of them call. */
static __device__ __forceinline__ uint32_t nb_warp_or(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
	return __reduce_or_sync(0xffffffff, v);
#else
	for (int offset = 16; offset > 0; offset /= 2)
		v |= __shfl_xor_sync(0xffffffff, v, offset);
	return v;
#endif
}

/* The largest x of the warp, of numbers >= 0; all of its threads call. */
static __device__ __forceinline__ float nb_warp_max(float x)
{
#if __CUDA_ARCH__ >= 800
	return __uint_as_float(__reduce_max_sync(0xffffffff, __float_as_uint(x)));
#else
	for (int offset = 16; offset > 0; offset /= 2)
		x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, offset));
	return x;
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
