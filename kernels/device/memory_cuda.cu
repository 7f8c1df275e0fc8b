/* memory_cuda.cu - device memory for all kernels (nb_cuda_take, nb_cuda_give): blocks of the stream-ordered pool, of
 * which those that are given back are kept for the next that take as much.
 *
 * The pool alone costs 0.7 us a call, 3 to 6 us where threads call for a device each, and a third of a millisecond
 * where no freed block is long enough and it maps memory anew, which happens in most steps of a run: their sizes change
 * a little, and what is free lies in pieces.  Sizes are rounded here, so that a step finds the blocks that the one
 * before has left.  They are kept up to an eighth of the device's memory, the latest ones; where memory is short they
 * go back to the pool.
 *
 * Blocks are taken and given in the order of the device's default stream, as those of the pool are. */
#include "kernels/device/device.cuh"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <stdlib.h>

enum { DEVICES = 64, KEPT_PART = 8 };

/* NB_EXACT_MEMORY is set: blocks are as long as was asked for, and freed at once, so that tools see what is read or
 * written beyond them or later. */
static bool exact()
{
	static const bool set = getenv("NB_EXACT_MEMORY") != nullptr;
	return set;
}

/* Up to a 64th more. */
static size_t rounded(size_t bytes)
{
	size_t unit = exact() ? 1 : 256;
	while (unit > 1 && unit < bytes / 128)
		unit *= 2;
	return bytes > SIZE_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

namespace
{
struct block {
	void *ptr;
	size_t bytes;
	int device;
};

/* Of a device. */
struct device_memory {
	std::mutex lock;
	bool open = false;
	std::unordered_map<void *, size_t> taken;
	std::vector<struct block> kept; /* the latest last */
	size_t kept_bytes = 0, kept_most = 0, used = 0, most = 0;

	int start(int device)
	{
		cudaMemPool_t pool;
		size_t left, all;
		uint64_t threshold = UINT64_MAX;
		if (open)
			return NB_OK;
		NB_CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, device));
		NB_CUDA_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
		NB_CUDA_TRY(cudaMemGetInfo(&left, &all));
		kept_most = exact() ? 0 : all / KEPT_PART;
		open = true;
		return NB_OK;
	}

	void *find(size_t bytes, int device)
	{
		for (size_t k = kept.size(); k-- > 0;)
			if (kept[k].bytes == bytes && kept[k].device == device) {
				void *const ptr = kept[k].ptr;
				kept.erase(kept.begin() + (ptrdiff_t)k);
				kept_bytes -= bytes;
				return ptr;
			}
		return nullptr;
	}

	/* The oldest go until no more than so many bytes are kept. */
	void drop(size_t bytes)
	{
		size_t n = 0;
		while (kept_bytes > bytes) {
			(void)cudaFreeAsync(kept[n].ptr, 0);
			kept_bytes -= kept[n++].bytes;
		}
		kept.erase(kept.begin(), kept.begin() + (ptrdiff_t)n);
	}

	void count(void *ptr, size_t bytes)
	{
		taken[ptr] = bytes;
		used += bytes;
		most = std::max(most, used);
	}

	/* Bytes of a block that goes; 0: it is not one of these.  Under the lock. */
	size_t uncount(void *ptr)
	{
		const auto at = taken.find(ptr);
		if (at == taken.end())
			return 0;
		const size_t bytes = at->second;
		taken.erase(at);
		used -= bytes;
		return bytes;
	}

	void forget(void *ptr)
	{
		const std::lock_guard<std::mutex> guard(lock);
		(void)uncount(ptr);
	}

	/* A block for who takes as much next; false: it is not one of these. */
	bool keep(void *ptr, int device)
	{
		const std::lock_guard<std::mutex> guard(lock);
		const size_t bytes = uncount(ptr);
		if (bytes == 0)
			return false;
		kept.push_back({ptr, bytes, device});
		kept_bytes += bytes;
		drop(kept_most);
		return true;
	}
};
} // namespace

/* There until the process ends: objects that are destroyed late give blocks back. */
static struct device_memory &memory_of(int device)
{
	static struct device_memory *const all = new device_memory[DEVICES];
	return all[device % DEVICES];
}

int nb_cuda_take(void **ptr, size_t bytes)
{
	int device;
	NB_CUDA_TRY(cudaGetDevice(&device));
	struct device_memory &memory = memory_of(device);
	const size_t size = rounded(bytes);
	const std::lock_guard<std::mutex> lock(memory.lock);
	NB_TRY(memory.start(device));
	*ptr = memory.find(size, device);
	if (!*ptr && cudaMallocAsync(ptr, size, 0) != cudaSuccess) {
		(void)cudaGetLastError();
		*ptr = nullptr;
		memory.drop(0);
		NB_CUDA_TRY(cudaMallocAsync(ptr, size, 0));
	}
	memory.count(*ptr, size);
	return NB_OK;
}

void nb_cuda_give(void *ptr)
{
	int device;
	if (!ptr)
		return;
	if (cudaGetDevice(&device) != cudaSuccess || !memory_of(device).keep(ptr, device)) {
		for (int other = 0; other < DEVICES; other++) /* of a device that is not current */
			memory_of(other).forget(ptr);
		(void)cudaFreeAsync(ptr, 0);
	}
}

size_t nb_cuda_most(int device)
{
	struct device_memory &memory = memory_of(device);
	const std::lock_guard<std::mutex> lock(memory.lock);
	return memory.most;
}
