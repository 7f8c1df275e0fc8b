/* team_cuda.cu - the devices that share the work of a process: who they are, how parts are dealt, how copies go.
 *
 * Each member has two streams for its parts and one for copies to home; copies from home run on a stream of home, one
 * for each member, so that the device that has the data pushes it (a pair of H200s reaches 370 GB/s so).  Where one
 * device cannot write to the memory of another, the same calls go through the host. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include <pthread.h>
#include <string.h>

#include "kernels/team/team.cuh"

struct member {
	int device;
	bool peer; /* copies between it and home need no way through the host */
	cudaStream_t work[NB_TEAM_UNDER_WAY], push, back;
	cudaEvent_t done[NB_TEAM_UNDER_WAY], made;
	/* up to now: */
	size_t parts;
	double worked, waited; /* s */
};

static struct {
	int n;
	char name[5 + 11 * NB_TEAM_MOST];
	struct member member[NB_TEAM_MOST];
	cudaEvent_t ready; /* of home: what the parts read is there */
	std::mutex lock;
} team;

struct nb_team_round {
	size_t parts;
	nb_team_work work;
	void *context;
	std::atomic<size_t> dealt;
	std::atomic<bool> stop;
};

/* s */
static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* ---- who they are ---------------------------------------------------------------------------------- */

static int count_devices(int *count, char *why, size_t size)
{
	const cudaError_t error = cudaGetDeviceCount(count);
	if (error == cudaSuccess && *count > 0)
		return NB_OK;
	(void)cudaGetLastError();
	snprintf(why, size, "no CUDA device (%s)",
		error == cudaSuccess ? "the driver lists none" : cudaGetErrorString(error));
	return NB_ENODEV;
}

int nb_team_list_all(int most, int *id, int *n, char *why, size_t size)
{
	int count = 0;
	NB_TRY(count_devices(&count, why, size));
	if (count > most) {
		snprintf(why, size, "there are %d devices, and a list has at most %d", count, most);
		return NB_ENODEV;
	}
	*n = count;
	for (int k = 0; k < count; k++)
		id[k] = k;
	return NB_OK;
}

/* Lets device a use the memory of device b, what cudaMalloc gives and what the pool does; *can: it is possible. */
static int open_way(int a, int b, bool *can)
{
	int possible;
	NB_CUDA_TRY(cudaDeviceCanAccessPeer(&possible, a, b));
	*can = possible;
	if (!possible)
		return NB_OK;
	NB_CUDA_TRY(cudaSetDevice(a));
	const cudaError_t error = cudaDeviceEnablePeerAccess(b, 0);
	if (error != cudaErrorPeerAccessAlreadyEnabled)
		NB_CUDA_TRY(error);
	(void)cudaGetLastError();
	cudaMemPool_t pool;
	NB_CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, b));
	cudaMemAccessDesc access = {};
	access.location.type = cudaMemLocationTypeDevice;
	access.location.id = a;
	access.flags = cudaMemAccessFlagsProtReadWrite;
	NB_CUDA_TRY(cudaMemPoolSetAccess(pool, &access, 1));
	return NB_OK;
}

static int open_member(struct member *m, int device, int home)
{
	*m = {};
	m->device = device;
	NB_CUDA_TRY(cudaSetDevice(device));
	NB_CUDA_TRY(cudaFree(nullptr));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->back, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->made, cudaEventDisableTiming));
	for (int k = 0; k < NB_TEAM_UNDER_WAY; k++) {
		NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->work[k], cudaStreamNonBlocking));
		NB_CUDA_TRY(cudaEventCreateWithFlags(&m->done[k], cudaEventDisableTiming));
	}
	m->peer = true;
	if (device != home) {
		bool there = false, back = false;
		NB_TRY(open_way(device, home, &there));
		NB_TRY(open_way(home, device, &back));
		m->peer = there && back;
	}
	NB_CUDA_TRY(cudaSetDevice(home));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->push, cudaStreamNonBlocking));
	return NB_OK;
}

static int open_members(int n, const int *id)
{
	size_t used = (size_t)snprintf(team.name, sizeof team.name, "cuda:");
	for (int k = 0; k < n; k++) {
		NB_TRY(open_member(&team.member[k], id[k], id[0]));
		used += (size_t)snprintf(team.name + used, sizeof team.name - used, "%s%d", k ? "," : "", id[k]);
	}
	NB_CUDA_TRY(cudaEventCreateWithFlags(&team.ready, cudaEventDisableTiming));
	return NB_OK;
}

static bool is_team(int n, const int *id)
{
	bool same = n == team.n;
	for (int k = 0; same && k < n; k++)
		same = id[k] == team.member[k].device;
	return same;
}

int nb_team_open(int n, const int *id, char *why, size_t size)
{
	int count = 0;
	const std::lock_guard<std::mutex> lock(team.lock);
	if (team.n) {
		if (is_team(n, id))
			return NB_OK;
		snprintf(why, size, "this process computes on %s already", team.name);
		return NB_ENODEV;
	}
	NB_TRY(count_devices(&count, why, size));
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
	team.n = n;
	return NB_OK;
}

int nb_team_size(void)
{
	return team.n ? team.n : 1;
}

const char *nb_team_name(void)
{
	return team.n ? team.name : "";
}

int nb_team_report(int k, char *line, size_t size)
{
	if (k < 0 || k >= team.n)
		return NB_EINVAL;
	const std::lock_guard<std::mutex> lock(team.lock);
	const struct member *m = &team.member[k];
	cudaDeviceProp properties;
	cudaMemPool_t pool;
	uint64_t most = 0;
	const char *name = "unknown";
	if (cudaGetDeviceProperties(&properties, m->device) == cudaSuccess)
		name = properties.name;
	if (cudaDeviceGetDefaultMemPool(&pool, m->device) == cudaSuccess)
		(void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most);
	(void)cudaGetLastError();
	snprintf(line, size, "device %d, %.60s: %zu parts in %.4g s, waited %.4g s, %.4g GB of memory at most%s",
		m->device, name, m->parts, m->worked, m->waited, (double)most / 1e9,
		k == 0	  ? ", home"
		: m->peer ? ""
			  : ", copies go through the host");
	return NB_OK;
}

/* ---- a member at work -------------------------------------------------------------------------------- */

/* All that is queued up to now in `by` comes before what will be queued in `to`. */
static int follow(const struct nb_team_hand &hand, cudaStream_t by, cudaStream_t to)
{
	NB_CUDA_TRY(cudaEventRecord(hand.made, by));
	NB_CUDA_TRY(cudaStreamWaitEvent(to, hand.made, 0));
	return NB_OK;
}

/* Ends the part that was dealt last, and waits for the one before it. */
static int close_part(const struct nb_team_hand &hand)
{
	const size_t last = hand.parts - 1;
	NB_TRY(follow(hand, hand.stream(), hand.back));
	NB_CUDA_TRY(cudaEventRecord(hand.done[last % NB_TEAM_UNDER_WAY], hand.back));
	if (last > 0)
		NB_CUDA_TRY(cudaEventSynchronize(hand.done[(last - 1) % NB_TEAM_UNDER_WAY]));
	return NB_OK;
}

bool nb_team_hand::next(size_t *part)
{
	if (parts > 0 && (status = close_part(*this)) != NB_OK)
		return false;
	*part = parts == 0 ? (size_t)member : round->dealt.fetch_add(1);
	if (*part >= round->parts || round->stop)
		return false;
	parts++;
	return true;
}

int nb_team_hand::bring(void *to, const void *from, size_t bytes)
{
	if (to == from || bytes == 0)
		return NB_OK;
	NB_TRY(follow(*this, stream(), back));
	NB_CUDA_TRY(cudaMemcpyPeerAsync(to, home_device, from, device, bytes, back));
	return NB_OK;
}

int nb_team_hand::settle()
{
	NB_CUDA_TRY(cudaEventRecord(made, 0));
	for (int k = 0; k < NB_TEAM_UNDER_WAY; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(work[k], made, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(back, made, 0));
	return NB_OK;
}

int nb_team_hand::finish()
{
	for (int k = 0; k < NB_TEAM_UNDER_WAY; k++)
		NB_CUDA_TRY(cudaStreamSynchronize(work[k]));
	NB_CUDA_TRY(cudaStreamSynchronize(push));
	NB_CUDA_TRY(cudaStreamSynchronize(back));
	return status;
}

/* ---- copies from home ---------------------------------------------------------------------------------- */

int nb_team_copies::add_bytes(void **array, size_t bytes)
{
	if (hand.is_home() || !*array || bytes == 0)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	void *here;
	NB_TRY(nb_cuda_keep_pool());
	NB_CUDA_TRY(cudaMallocAsync(&here, bytes, 0));
	row[n++] = {here, *array, bytes, true};
	*array = here;
	return NB_OK;
}

int nb_team_copies::put(void *here, const void *there, size_t bytes)
{
	if (hand.is_home() || here == there)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	row[n++] = {here, there, bytes, false};
	return NB_OK;
}

int nb_team_copies::fetch()
{
	const double start = now();
	if (n > 0) {
		NB_CUDA_TRY(cudaStreamWaitEvent(hand.push, team.ready, 0));
		NB_TRY(follow(hand, 0, hand.push)); /* the memory is there */
	}
	for (int k = 0; k < n; k++)
		NB_CUDA_TRY(cudaMemcpyPeerAsync(
			row[k].here, hand.device, row[k].there, hand.home_device, row[k].bytes, hand.push));
	if (!hand.is_home())
		NB_CUDA_TRY(cudaStreamSynchronize(hand.push));
	hand.idle += now() - start;
	return hand.settle();
}

nb_team_copies::~nb_team_copies()
{
	hand.status = hand.finish();
	for (int k = 0; k < n; k++)
		if (row[k].owned)
			(void)cudaFreeAsync(row[k].here, 0);
}

/* ---- a round ------------------------------------------------------------------------------------------- */

/* A member in a round, and how that went. */
struct turn {
	struct nb_team_round *round;
	int member;
	pthread_t thread;
	bool started;
	int status;
	bool said; /* the failure is that of error */
	size_t parts;
	double begin, end, idle; /* s */
	char error[sizeof nb_cuda_error_text];
};

static int take_turn(struct turn *t)
{
	const struct member *m = &team.member[t->member];
	struct nb_team_hand hand;
	hand.round = t->round;
	hand.member = t->member;
	hand.device = m->device;
	hand.home_device = team.member[0].device;
	memcpy(hand.work, m->work, sizeof hand.work);
	memcpy(hand.done, m->done, sizeof hand.done);
	hand.made = m->made, hand.push = m->push, hand.back = m->back;
	NB_CUDA_TRY(cudaSetDevice(m->device));
	int status = t->round->work(&hand, t->round->context);
	if (!status)
		status = hand.finish();
	t->parts = hand.parts;
	t->idle = hand.idle;
	return status;
}

static void *member_thread(void *argument)
{
	struct turn *t = (struct turn *)argument;
	t->begin = now();
	t->status = take_turn(t);
	t->end = now();
	if (t->status) {
		t->round->stop = true;
		t->said = nb_cuda_error_status == t->status;
		memcpy(t->error, nb_cuda_error_text, sizeof t->error);
	}
	return nullptr;
}

/* Makes the failure of a member that of this thread. */
static int fail(const struct turn *t)
{
	if (!t->member || !t->said)
		return t->status;
	snprintf(nb_cuda_error_text, sizeof nb_cuda_error_text, "device %d: %.200s", team.member[t->member].device,
		t->error);
	nb_cuda_error_status = t->status;
	nb_space_note_failure(t->status == NB_ENOMEM ? "" : nb_cuda_error_text);
	return t->status;
}

int nb_team_run_with(size_t parts, nb_team_work work, void *context)
{
	struct turn turn[NB_TEAM_MOST] = {};
	struct nb_team_round round;
	const std::lock_guard<std::mutex> lock(team.lock);
	/* those without a part would only copy */
	const int members = parts < (size_t)team.n ? std::max(1, (int)parts) : team.n;
	round.parts = parts, round.work = work, round.context = context;
	round.dealt = (size_t)members, round.stop = false;
	NB_CUDA_TRY(cudaEventRecord(team.ready, 0));
	for (int k = 0; k < members; k++) {
		turn[k].round = &round;
		turn[k].member = k;
		if (k > 0) {
			turn[k].started = pthread_create(&turn[k].thread, nullptr, member_thread, &turn[k]) == 0;
			if (!turn[k].started) {
				turn[k].status = NB_ENOMEM;
				round.stop = true;
			}
		}
	}
	member_thread(&turn[0]);
	for (int k = 1; k < members; k++)
		if (turn[k].started)
			(void)pthread_join(turn[k].thread, nullptr);
	const double end = now();
	for (int k = 0; k < members; k++) {
		struct member *m = &team.member[k];
		m->parts += turn[k].parts;
		m->worked += turn[k].end - turn[k].begin - turn[k].idle;
		m->waited += turn[k].idle + (turn[k].started || k == 0 ? end - turn[k].end : 0);
	}
	for (int k = members; k < team.n; k++)
		team.member[k].waited += end - turn[0].begin;
	for (int k = 0; k < members; k++)
		if (turn[k].status)
			return fail(&turn[k]);
	return NB_OK;
}
