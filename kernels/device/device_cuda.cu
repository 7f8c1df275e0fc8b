/* Device memory behind struct nb_space (memory_cuda.cu), and copies to and from it; copies from the host are
 * synchronous with respect to the host buffer. */
#include "kernels/device/device.cuh"
#include "kernels/device/device.h"

#include "common/environment.h"

#include <mutex>
#include <string>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void *device_alloc(const struct nb_space *, size_t bytes)
{
	void *p;
	return nb_cuda_take(&p, bytes ? bytes : 1) ? nullptr : p;
}

static void device_release(const struct nb_space *, void *p)
{
	nb_cuda_give(p);
}

static int device_from_host(const struct nb_space *, void *to, const void *host, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice));
	return NB_OK;
}

/* ---- large copies to the host -------------------------------------------------------------------- */

/* A thread that brings a frame to the host does not hold up the kernels that another one queues meanwhile: its copies
 * run on a stream of its own, which waits for what the default stream had to do before, through two blocks of pinned
 * memory: one is filled while the other is emptied. */
struct courier {
	enum { BLOCKS = 2 };
	static constexpr size_t block_bytes = (size_t)8 << 20;
	cudaStream_t stream = nullptr;
	cudaEvent_t before = nullptr, filled[BLOCKS] = {};
	char *block[BLOCKS] = {};
	bool ready = false;

	int prepare()
	{
		if (ready)
			return NB_OK;
		if (!stream)
			NB_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		if (!before)
			NB_CUDA_TRY(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
		for (int k = 0; k < BLOCKS; k++) {
			if (!filled[k])
				NB_CUDA_TRY(cudaEventCreateWithFlags(&filled[k], cudaEventDisableTiming));
			if (!block[k])
				NB_CUDA_TRY(cudaMallocHost((void **)&block[k], block_bytes));
		}
		ready = true;
		return NB_OK;
	}

	int fill(int k, const char *from, size_t bytes)
	{
		NB_CUDA_TRY(cudaMemcpyAsync(block[k], from, bytes, cudaMemcpyDeviceToHost, stream));
		NB_CUDA_TRY(cudaEventRecord(filled[k], stream));
		return NB_OK;
	}

	int bring(char *host, const char *from, size_t bytes)
	{
		NB_CUDA_TRY(cudaEventRecord(before, 0));
		NB_CUDA_TRY(cudaStreamWaitEvent(stream, before, 0));
		const auto length = [&](size_t at) { return bytes - at < block_bytes ? bytes - at : block_bytes; };
		for (int k = 0; k < BLOCKS && k * block_bytes < bytes; k++)
			NB_TRY(fill(k, from + k * block_bytes, length(k * block_bytes)));
		int k = 0;
		for (size_t at = 0; at < bytes; at += block_bytes) {
			NB_CUDA_TRY(cudaEventSynchronize(filled[k]));
			memcpy(host + at, block[k], length(at));
			const size_t next = at + BLOCKS * block_bytes;
			if (next < bytes)
				NB_TRY(fill(k, from + next, length(next)));
			k = (k + 1) % BLOCKS;
		}
		return NB_OK;
	}

	/* Only of threads that end before the process: then the context is still there. */
	~courier()
	{
		if (!stream)
			return;
		for (int k = 0; k < BLOCKS; k++) {
			if (block[k])
				(void)cudaFreeHost(block[k]);
			if (filled[k])
				(void)cudaEventDestroy(filled[k]);
		}
		if (before)
			(void)cudaEventDestroy(before);
		(void)cudaStreamDestroy(stream);
	}
};

static int device_to_host(const struct nb_space *, void *host, const void *from, size_t bytes)
{
	static const size_t large = (size_t)1 << 20;
	static thread_local struct courier courier;
	if (bytes >= large) {
		if (courier.prepare() == NB_OK)
			return courier.bring((char *)host, (const char *)from, bytes);
		nb_space_note_failure(""); /* no memory can be pinned: it goes without */
	}
	if (bytes)
		NB_CUDA_TRY(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost));
	return NB_OK;
}

static int device_copy(const struct nb_space *, void *to, const void *from, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0));
	return NB_OK;
}

/* ---- looking at numbers -------------------------------------------------------------------------- */

enum { THREADS = 256 };
static const size_t strided_most = 1024; /* blocks of a kernel that strides over its numbers */

template <class From, class To> static __global__ void convert_kernel(size_t count, const From *from, To *to)
{
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		to[i] = (To)from[i];
}

/* *first becomes the smallest index of a bad number, if there is one. */
template <class T>
static __global__ void first_bad_kernel(size_t count, const T *x, unsigned what, unsigned long long *first)
{
	unsigned long long mine = count;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
		const T v = x[i];
		const bool bad = ((what & NB_BAD_NONFINITE) && !(v - v == 0)) || ((what & NB_BAD_NEGATIVE) && v < 0);
		if (bad && i < mine)
			mine = i;
	}
	if (mine < count)
		atomicMin(first, mine);
}

static unsigned strided_blocks(size_t count)
{
	const size_t blocks = (count + THREADS - 1) / THREADS;
	return (unsigned)(blocks < strided_most ? blocks : strided_most);
}

template <class From, class To> static int convert(size_t count, const From *from, To *to)
{
	if (count) {
		convert_kernel<<<strided_blocks(count), THREADS>>>(count, from, to);
		NB_CUDA_LAUNCHED();
	}
	return NB_OK;
}

static int device_widen(const struct nb_space *, size_t count, const float *from, double *to)
{
	return convert(count, from, to);
}

static int device_narrow(const struct nb_space *, size_t count, const double *from, float *to)
{
	return convert(count, from, to);
}

static int device_first_bad(
	const struct nb_space *, size_t count, int wide, const void *x, unsigned what, size_t *first)
{
	nb_cuda_buffer<unsigned long long> d_first;
	unsigned long long found;
	*first = count;
	if (count == 0)
		return NB_OK;
	NB_TRY(d_first.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(d_first.ptr, 0xff, sizeof found, 0)); /* larger than any index */
	if (wide)
		first_bad_kernel<<<strided_blocks(count), THREADS>>>(count, (const double *)x, what, d_first.ptr);
	else
		first_bad_kernel<<<strided_blocks(count), THREADS>>>(count, (const float *)x, what, d_first.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, d_first.ptr, sizeof found, cudaMemcpyDeviceToHost));
	*first = found < count ? (size_t)found : count;
	return NB_OK;
}

/* The first `count` names of what CUDA_VISIBLE_DEVICES says, or of all devices. */
static std::string first_devices(int count)
{
	const char *asked = getenv("CUDA_VISIBLE_DEVICES");
	std::string list;
	for (int k = 0; !asked && k < count; k++)
		list += (k ? "," : "") + std::to_string(k);
	for (; asked && *asked && (*asked != ',' || --count > 0); asked++)
		list += *asked;
	return list;
}

static struct {
	std::mutex lock;
	int count = 0; /* of devices to be seen; INT_MAX: all */
	bool started = false;
} driver;

int nb_cuda_show(int count)
{
	const std::lock_guard<std::mutex> guard(driver.lock);
	if (count <= driver.count)
		return 1;
	if (!driver.started)
		driver.count = count;
	return !driver.started;
}

static void start(void *count)
{
	(void)cudaGetDeviceCount((int *)count);
	(void)cudaGetLastError();
}

int nb_cuda_count(int *count, char *why, size_t size)
{
	{
		const std::lock_guard<std::mutex> guard(driver.lock);
		if (!driver.started && driver.count > 0 && driver.count < INT_MAX)
			NB_TRY(nb_environment_with(
				"CUDA_VISIBLE_DEVICES", first_devices(driver.count).c_str(), start, count));
		if (driver.count == 0)
			driver.count = INT_MAX;
		driver.started = true;
	}
	const cudaError_t error = cudaGetDeviceCount(count);
	if (error == cudaSuccess && *count > 0)
		return NB_OK;
	(void)cudaGetLastError();
	const char *text = error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error);
	int version = 0; /* of the driver; where there is none, the runtime calls it too old */
	if (cudaDriverGetVersion(&version) == cudaSuccess && version == 0)
		text = "no NVIDIA driver is installed";
	snprintf(why, size, "no CUDA device (%s)", text);
	return NB_ENODEV;
}

static int find_device(int device, char *why, size_t size)
{
	int count = 0;
	NB_TRY(nb_cuda_count(&count, why, size));
	if (device >= count) {
		snprintf(why, size, "no CUDA device %d (there are %d)", device, count);
		return NB_ENODEV;
	}
	return NB_OK;
}

/* An attribute, or that of an H200 where the device does not tell. */
static double attribute(int device, cudaDeviceAttr which, int fallback)
{
	int value = 0;
	if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess || value <= 0) {
		(void)cudaGetLastError();
		value = fallback;
	}
	return value;
}

int nb_cuda_look(int device, double *f32, double *f64, char *why, size_t size)
{
	NB_TRY(find_device(device, why, size));
	const double major = attribute(device, cudaDevAttrComputeCapabilityMajor, 9);
	const double minor = attribute(device, cudaDevAttrComputeCapabilityMinor, 1);
	const double lanes = major < 8 || (major == 8 && minor < 1) ? 0.5 : 1; /* 64 of 128 in a multiprocessor */
	*f32 = lanes * attribute(device, cudaDevAttrMultiProcessorCount, 132) / 132 *
	       attribute(device, cudaDevAttrClockRate, 1980000) / 1980000;
	*f64 = *f32 * 2 / attribute(device, cudaDevAttrSingleToDoublePrecisionPerfRatio, 2);
	return NB_OK;
}

int nb_cuda_memory(int device, double *bytes)
{
	cudaDeviceProp properties;
	NB_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
	*bytes = (double)properties.totalGlobalMem;
	return NB_OK;
}

int nb_cuda_report(int device, char *line, size_t size)
{
	cudaDeviceProp properties;
	NB_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
	snprintf(line, size, "device %d, %.60s: %.4g GB of memory at most", device, properties.name,
		(double)nb_cuda_most(device) / 1e9);
	return NB_OK;
}

int nb_cuda_open(int device, const struct nb_space **space, char *why, size_t size)
{
	static std::mutex lock; /* threads open it at any time, while others compute */
	static char name[32];
	static struct nb_space device_space;
	const std::lock_guard<std::mutex> guard(lock);
	if (*name && device != device_space.device) {
		snprintf(why, size, "this process computes on %s already", name);
		return NB_ENODEV;
	}
	NB_TRY(find_device(device, why, size));
	if (nb_cuda_status(cudaSetDevice(device), "cudaSetDevice", __FILE__, __LINE__) ||
		nb_cuda_status(cudaFree(nullptr), "cudaFree", __FILE__, __LINE__)) {
		snprintf(why, size, "CUDA device %d does not start: %.150s", device, nb_cuda_error_text);
		nb_space_note_failure(""); /* the caller may go on without a device */
		return NB_ENODEV;
	}
	if (!*name) {
		snprintf(name, sizeof name, "cuda:%d", device);
		device_space = nb_space{name, device, device_alloc, device_release, device_from_host, device_to_host,
			device_copy, device_widen, device_narrow, device_first_bad};
	}
	*space = &device_space;
	return NB_OK;
}

int nb_cuda_enter(const struct nb_space *space)
{
	NB_CUDA_TRY(cudaSetDevice(space->device));
	return NB_OK;
}

const char *nb_cuda_error(int status)
{
	const int lost = nb_cuda_error_status == NB_ENODEV && status == NB_EDEVICE; /* as nb_space_status has it */
	return status == nb_cuda_error_status || lost ? nb_cuda_error_text : "";
}

int nb_cuda_finish(void)
{
	NB_CUDA_TRY(cudaDeviceSynchronize());
	return NB_OK;
}
