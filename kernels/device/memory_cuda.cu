/* memory_cuda.cu - device memory for all kernels (nb_cuda_take, nb_cuda_give): blocks of the stream-ordered pool, of
 * which those that are given back are kept for the next that take as much.
 *
 * The pool alone costs 0.7 us a call, 3 to 6 us where threads call for a device each, and a third of a millisecond
 * where no freed block is long enough and it maps memory anew, which happens in most steps of a run: their sizes change
 * a little, and what is free lies in pieces.  Here a step finds the blocks that the one before has left: sizes are
 * rounded, a block may be a 16th longer than what is asked for, and one that is a 16th too short has been outgrown and
 * makes room for the longer one.  Kept are the latest, up to an eighth of the device's memory, none for long; where
 * memory is short all go back to the pool.
 *
 * Blocks are taken and given in the order of the device's default stream, as those of the pool are. */
#include "kernels/device/device.cuh"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <stdlib.h>

enum {
	DEVICES = 64,
	KEPT_PART = 8,	/* of the device's memory */
	NEAR_PART = 16, /* of a block, by which another one is as good */
	OLD = 4096	/* blocks taken since one was given: some ten steps */
};

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
	size_t when; /* it was given: how many had been taken by then */
};

/* Of a device. */
struct device_memory {
	std::mutex lock;
	bool open = false;
	struct user {
		size_t bytes, asked;
	};
	std::unordered_map<void *, struct user> taken;
	std::vector<struct block> kept;					     /* the latest last */
	size_t kept_bytes = 0, kept_most = 0, takes = 0, used = 0, most = 0; /* used: as asked for */

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

	struct block remove(size_t k)
	{
		const struct block b = kept[k];
		kept.erase(kept.begin() + (ptrdiff_t)k);
		kept_bytes -= b.bytes;
		return b;
	}

	/* The shortest block that is long enough, the latest of these; its bytes become those of *size. */
	void *find(size_t *size, int device)
	{
		const size_t none = kept.size(), near = *size / NEAR_PART;
		size_t best = none, outgrown = none;
		takes++;
		for (size_t k = none; k-- > 0;) {
			const size_t bytes = kept[k].bytes;
			if (kept[k].device != device)
				continue;
			if (bytes >= *size && bytes - *size <= near && (best == none || bytes < kept[best].bytes))
				best = k;
			if (bytes < *size && *size - bytes <= near &&
				(outgrown == none || bytes > kept[outgrown].bytes))
				outgrown = k;
		}
		if (best != none) {
			const struct block b = remove(best);
			*size = b.bytes;
			return b.ptr;
		}
		if (outgrown != none)
			(void)cudaFreeAsync(remove(outgrown).ptr, 0);
		return nullptr;
	}

	/* The oldest go until no more than so many bytes are kept, and none is old. */
	void drop(size_t bytes)
	{
		size_t n = 0;
		while (n < kept.size() && (kept_bytes > bytes || takes - kept[n].when > OLD)) {
			(void)cudaFreeAsync(kept[n].ptr, 0);
			kept_bytes -= kept[n++].bytes;
		}
		kept.erase(kept.begin(), kept.begin() + (ptrdiff_t)n);
	}

	void count(void *ptr, size_t bytes, size_t asked)
	{
		taken[ptr] = {bytes, asked};
		used += asked;
		most = std::max(most, used);
	}

	/* Bytes of a block that goes; 0: it is not one of these.  Under the lock. */
	size_t uncount(void *ptr)
	{
		const auto at = taken.find(ptr);
		if (at == taken.end())
			return 0;
		const size_t bytes = at->second.bytes;
		used -= at->second.asked;
		taken.erase(at);
		return bytes;
	}

	void forget(void *ptr)
	{
		const std::lock_guard<std::mutex> guard(lock);
		(void)uncount(ptr);
	}

	/* Keeps a freed block for the next request of its size; false: it is no block of this list. */
	bool keep(void *ptr, int device)
	{
		const std::lock_guard<std::mutex> guard(lock);
		const size_t bytes = uncount(ptr);
		if (bytes == 0 || bytes > kept_most)
			return false;
		kept.push_back({ptr, bytes, device, takes});
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
	const size_t asked = rounded(std::max(bytes, (size_t)1));
	size_t size = asked;
	const std::lock_guard<std::mutex> lock(memory.lock);
	NB_TRY(memory.start(device));
	*ptr = memory.find(&size, device);
	if (!*ptr) {
		cudaError_t error = cudaMallocAsync(ptr, size, 0);
		if (error == cudaErrorMemoryAllocation && !memory.kept.empty()) {
			(void)cudaGetLastError();
			memory.drop(0);
			(void)cudaStreamSynchronize(0); /* what used them is done */
			error = cudaMallocAsync(ptr, size, 0);
		}
		NB_CUDA_TRY(error);
	}
	memory.count(*ptr, size, asked);
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

void nb_cuda_trim(void)
{
	int device;
	if (cudaGetDevice(&device) != cudaSuccess)
		return;
	struct device_memory &memory = memory_of(device);
	const std::lock_guard<std::mutex> lock(memory.lock);
	memory.drop(0);
}

size_t nb_cuda_most(int device)
{
	struct device_memory &memory = memory_of(device);
	const std::lock_guard<std::mutex> lock(memory.lock);
	return memory.most;
}
