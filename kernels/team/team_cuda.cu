/* team_cuda.cu - the devices that share the work of a process: who they are, and the memory of all.
 *
 * Each member has streams for its parts and one for copies to the primary; copies from the primary run on a stream of
 * the primary, one for each member, so that the device that has the data pushes it (a pair of H200s reaches 370 GB/s
 * so).  Where one device cannot write to the memory of another, the same calls go through the host. */
#include <algorithm>
#include <utility>
#include <vector>

#include <stdio.h>

#include "kernels/device/device.h"
#include "kernels/team/team_internal.cuh"

struct nb_team_state nb_team;

int nb_team_list_all(int most, int *id, int *n, char *why, size_t size)
{
	int count = 0;
	NB_TRY(nb_cuda_count(&count, why, size));
	if (count > most) {
		snprintf(why, size, "there are %d devices, and a list has at most %d", count, most);
		return NB_ENODEV;
	}
	*n = count;
	for (int k = 0; k < count; k++)
		id[k] = k;
	return NB_OK;
}

/* Lets device a use the memory of device b, what cudaMalloc gives and what the pool does; *can: it is possible.  Under
 * nb_team.lock. */
static int open_way(int a, int b, bool *can)
{
	static std::vector<std::pair<int, int>> open;
	const std::pair<int, int> way(a, b);
	int possible;
	NB_CUDA_TRY(cudaDeviceCanAccessPeer(&possible, a, b));
	*can = possible;
	if (!possible)
		return NB_OK;
	NB_CUDA_TRY(cudaSetDevice(a));
	if (std::find(open.begin(), open.end(), way) == open.end()) { /* twice is an error */
		NB_CUDA_TRY(cudaDeviceEnablePeerAccess(b, 0));
		open.push_back(way);
	}
	cudaMemPool_t pool;
	NB_CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, b));
	cudaMemAccessDesc access = {};
	access.location.type = cudaMemLocationTypeDevice;
	access.location.id = a;
	access.flags = cudaMemAccessFlagsProtReadWrite;
	NB_CUDA_TRY(cudaMemPoolSetAccess(pool, &access, 1));
	return NB_OK;
}

/* *may: device a has atomic operations on the memory of device b. */
static int may_use_directly(int a, int b, bool *may)
{
	int atomics = 0;
	NB_CUDA_TRY(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, a, b));
	*may = atomics;
	return NB_OK;
}

/* Lets members use each other's memory where they can, so that what they send each other goes straight.  They are
 * mutual if all can, with atomic operations. */
static int open_ways(int k)
{
	const int mine = nb_team.member[k].device;
	bool there, back, atomic_there, atomic_back;
	for (int other = 0; other < k; other++) {
		const int theirs = nb_team.member[other].device;
		if (theirs == mine)
			continue;
		NB_TRY(open_way(theirs, mine, &there));
		NB_TRY(open_way(mine, theirs, &back));
		NB_TRY(may_use_directly(theirs, mine, &atomic_there));
		NB_TRY(may_use_directly(mine, theirs, &atomic_back));
		nb_team.mutual = nb_team.mutual && there && back && atomic_there && atomic_back;
	}
	return NB_OK;
}

/* How what is sent comes to member k: by the member before it, or else from the primary. */
static int open_chain(int k)
{
	struct nb_team_member *m = &nb_team.member[k];
	const int before = nb_team.member[k - 1].device;
	bool there = true, back = true;
	if (before != m->device) {
		NB_TRY(open_way(before, m->device, &there));
		NB_TRY(open_way(m->device, before, &back));
	}
	m->from = there && back ? k - 1 : 0;
	NB_CUDA_TRY(cudaSetDevice(nb_team.member[m->from].device));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->pass, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->arrived, cudaEventDisableTiming));
	return NB_OK;
}

static int open_member(struct nb_team_member *m, int device, int primary)
{
	*m = {};
	m->device = device;
	NB_CUDA_TRY(cudaSetDevice(device));
	NB_CUDA_TRY(cudaFree(nullptr));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->back, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->watch, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->made, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->room, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaMallocHost(&m->note, NB_TEAM_NOTE + 2 * NB_TEAM_EARLY * sizeof(unsigned long long)));
	int low, high;
	NB_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&low, &high));
	NB_CUDA_TRY(cudaStreamCreateWithPriority(&m->urgent, cudaStreamNonBlocking, high));
	for (int k = 0; k < NB_TEAM_STREAMS; k++) {
		NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->work[k], cudaStreamNonBlocking));
		NB_CUDA_TRY(cudaEventCreateWithFlags(&m->done[k], cudaEventDisableTiming));
	}
	m->peer = m->direct = true;
	if (device != primary) {
		bool there = false, back = false;
		NB_TRY(open_way(device, primary, &there));
		NB_TRY(open_way(primary, device, &back));
		m->peer = there && back;
		NB_TRY(may_use_directly(device, primary, &m->direct));
		m->direct = m->direct && m->peer;
	}
	NB_CUDA_TRY(cudaSetDevice(primary));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->push, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->pushed, cudaEventDisableTiming));
	return NB_OK;
}

static int open_members(int n, const int *id)
{
	size_t used = (size_t)snprintf(nb_team.name, sizeof nb_team.name, "cuda:");
	nb_team.direct = nb_team.mutual = nb_team.may_direct = true;
	for (int k = 0; k < n; k++) {
		NB_TRY(open_member(&nb_team.member[k], id[k], id[0]));
		if (k > 0)
			NB_TRY(open_chain(k));
		NB_TRY(open_ways(k));
		nb_team.direct = nb_team.direct && nb_team.member[k].direct;
		used += (size_t)snprintf(nb_team.name + used, sizeof nb_team.name - used, "%s%d", k ? "," : "", id[k]);
	}
	NB_CUDA_TRY(cudaSetDevice(id[0]));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&nb_team.ready, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&nb_team.begun, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaMallocHost((void **)&nb_team.stopped, sizeof *nb_team.stopped));
	return NB_OK;
}

static bool is_team(int n, const int *id)
{
	bool same = n == nb_team.n;
	for (int k = 0; same && k < n; k++)
		same = id[k] == nb_team.member[k].device;
	return same;
}

int nb_team_open(int n, const int *id, char *why, size_t size)
{
	int count = 0;
	const std::lock_guard<std::mutex> lock(nb_team.lock);
	if (nb_team.n) {
		if (is_team(n, id))
			return NB_OK;
		snprintf(why, size, "this process computes on %s already", nb_team.name);
		return NB_ENODEV;
	}
	NB_TRY(nb_cuda_count(&count, why, size));
	for (int k = 0; k < n; k++)
		if (id[k] >= count) {
			snprintf(why, size, "no CUDA device %d (there are %d)", id[k], count);
			return NB_ENODEV;
		}
	if (n > NB_TEAM_MOST) {
		snprintf(why, size, "more than %d devices", NB_TEAM_MOST);
		return NB_ENODEV;
	}
	if (open_members(n, id)) {
		snprintf(why, size, "the devices do not start together: %.140s", nb_cuda_error_text);
		(void)cudaSetDevice(id[0]);
		return NB_ENODEV;
	}
	nb_team.n = n;
	return NB_OK;
}

int nb_team_size(void)
{
	return nb_team.n ? nb_team.n : 1;
}

int nb_team_device(int k)
{
	return nb_team.member[k].device;
}

const char *nb_team_name(void)
{
	return nb_team.n ? nb_team.name : "";
}

bool nb_team_direct(void)
{
	return nb_team.n > 1 && nb_team.direct && nb_team.may_direct;
}

bool nb_team_mutual(void)
{
	return nb_team_direct() && nb_team.mutual;
}

void nb_team_let_direct(bool may)
{
	nb_team.may_direct = may;
}

int nb_team_report(int k, char *line, size_t size)
{
	if (k < 0 || k >= nb_team.n)
		return NB_EINVAL;
	const std::lock_guard<std::mutex> lock(nb_team.lock);
	const struct nb_team_member *m = &nb_team.member[k];
	cudaDeviceProp properties;
	const char *name = "unknown";
	if (cudaGetDeviceProperties(&properties, m->device) == cudaSuccess)
		name = properties.name;
	(void)cudaGetLastError();
	snprintf(line, size, "device %d, %.60s: %zu parts in %.4g s, waited %.4g s, %.4g GB of memory at most%s",
		m->device, name, m->parts, m->worked, m->waited, (double)nb_cuda_most(m->device) / 1e9,
		k == 0	  ? ", primary"
		: m->peer ? ""
			  : ", copies go through the host");
	return NB_OK;
}

/* ---- memory of all --------------------------------------------------------------------------------------- */

static int alloc_at(const struct nb_team_member *m, void **place, size_t bytes, size_t zeros)
{
	NB_CUDA_TRY(cudaSetDevice(m->device));
	NB_TRY(nb_cuda_take(place, bytes));
	NB_CUDA_TRY(cudaMemsetAsync(*place, 0, zeros, 0));
	NB_CUDA_TRY(cudaEventRecord(m->room, 0));
	return NB_OK;
}

int nb_team_alloc(void **of, size_t bytes, size_t zeros)
{
	int status = NB_OK;
	for (int k = 0; k < nb_team.n && !status; k++)
		status = alloc_at(&nb_team.member[k], &of[k], bytes, zeros);
	(void)cudaSetDevice(nb_team.member[0].device);
	for (int k = 1; k < nb_team.n && !status; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(0, nb_team.member[k].room, 0));
	return status;
}

void nb_team_release(void **of)
{
	for (int k = 0; k < nb_team.n; k++)
		if (of[k]) {
			(void)cudaSetDevice(nb_team.member[k].device);
			nb_cuda_give(of[k]);
		}
	if (nb_team.n)
		(void)cudaSetDevice(nb_team.member[0].device);
}
