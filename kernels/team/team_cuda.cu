/* team_cuda.cu - the devices that share the work of a process: who they are, how parts are dealt, how copies go.
 *
 * Each member has streams for its parts and one for copies to home; copies from home run on a stream of home, one
 * for each member, so that the device that has the data pushes it (a pair of H200s reaches 370 GB/s so).  Where one
 * device cannot write to the memory of another, the same calls go through the host. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include <pthread.h>
#include <string.h>

#include "kernels/team/team.cuh"

struct member {
	int device;
	bool peer;   /* copies between it and home need no way through the host */
	bool direct; /* its kernels may use home's memory */
	int from;    /* the member that passes on to it what is sent */
	cudaStream_t work[NB_TEAM_LANES], urgent, push, back;
	cudaEvent_t done[NB_TEAM_LANES], made;
	void *note;
	cudaStream_t watch;  /* of this device: sums of what was sent */
	cudaEvent_t room;    /* of this device: there is memory for what is sent */
	cudaEvent_t pushed;  /* of home: the last of push */
	cudaStream_t pass;   /* of from's device */
	cudaEvent_t arrived; /* of from's device: up to here it was sent */
	/* up to now: */
	size_t parts;
	double worked, waited; /* s */
};

static struct {
	int n;
	char name[5 + 11 * NB_TEAM_MOST];
	struct member member[NB_TEAM_MOST];
	cudaEvent_t ready;     /* of home: what the parts read is there */
	cudaEvent_t begun;     /* of home: what is sent is there */
	volatile int *stopped; /* pinned, for kernels: round.stop */
	bool direct, mutual, may_direct;
	std::mutex lock;
} team;

/* An array at home, and its copies at the other members, followed by their sums if it was sent early. */
struct nb_team_sent {
	const void *there;
	size_t bytes;
	void *here[NB_TEAM_MOST];
	bool early, asked;	 /* early: is to be compared; asked: for the next round */
	unsigned long long *sum; /* of an early one: at home */
};

/* For the next round. */
static struct {
	int n;
	struct nb_team_sent row[NB_TEAM_COPIES];
	std::mutex lock;
} ahead;

struct nb_team_round {
	size_t parts;
	int members;
	nb_team_work work;
	void *context;
	std::atomic<size_t> dealt;
	std::atomic<bool> stop;
	int nsent;
	struct nb_team_sent sent[NB_TEAM_COPIES];

	/* Takes what was sent for it; drops it at its end, when all members are done. */
	nb_team_round(size_t p, int m, nb_team_work w, void *c);
	~nb_team_round();
	nb_team_round(const nb_team_round &) = delete;
	nb_team_round &operator=(const nb_team_round &) = delete;
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

/* Lets device a use the memory of device b, what cudaMalloc gives and what the pool does; *can: it is possible.  Under
 * team.lock. */
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
	const int mine = team.member[k].device;
	bool there, back, atomic_there, atomic_back;
	for (int other = 0; other < k; other++) {
		const int theirs = team.member[other].device;
		if (theirs == mine)
			continue;
		NB_TRY(open_way(theirs, mine, &there));
		NB_TRY(open_way(mine, theirs, &back));
		NB_TRY(may_use_directly(theirs, mine, &atomic_there));
		NB_TRY(may_use_directly(mine, theirs, &atomic_back));
		team.mutual = team.mutual && there && back && atomic_there && atomic_back;
	}
	return NB_OK;
}

/* How what is sent comes to member k: by the member before it, or else from home. */
static int open_chain(int k)
{
	struct member *m = &team.member[k];
	const int before = team.member[k - 1].device;
	bool there = true, back = true;
	if (before != m->device) {
		NB_TRY(open_way(before, m->device, &there));
		NB_TRY(open_way(m->device, before, &back));
	}
	m->from = there && back ? k - 1 : 0;
	NB_CUDA_TRY(cudaSetDevice(team.member[m->from].device));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->pass, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->arrived, cudaEventDisableTiming));
	return NB_OK;
}

static int open_member(struct member *m, int device, int home)
{
	*m = {};
	m->device = device;
	NB_CUDA_TRY(cudaSetDevice(device));
	NB_CUDA_TRY(cudaFree(nullptr));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->back, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->watch, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->made, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->room, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaMallocHost(&m->note, NB_TEAM_NOTE));
	int low, high;
	NB_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&low, &high));
	NB_CUDA_TRY(cudaStreamCreateWithPriority(&m->urgent, cudaStreamNonBlocking, high));
	for (int k = 0; k < NB_TEAM_LANES; k++) {
		NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->work[k], cudaStreamNonBlocking));
		NB_CUDA_TRY(cudaEventCreateWithFlags(&m->done[k], cudaEventDisableTiming));
	}
	m->peer = m->direct = true;
	if (device != home) {
		bool there = false, back = false;
		NB_TRY(open_way(device, home, &there));
		NB_TRY(open_way(home, device, &back));
		m->peer = there && back;
		NB_TRY(may_use_directly(device, home, &m->direct));
		m->direct = m->direct && m->peer;
	}
	NB_CUDA_TRY(cudaSetDevice(home));
	NB_CUDA_TRY(cudaStreamCreateWithFlags(&m->push, cudaStreamNonBlocking));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&m->pushed, cudaEventDisableTiming));
	return NB_OK;
}

static int open_members(int n, const int *id)
{
	size_t used = (size_t)snprintf(team.name, sizeof team.name, "cuda:");
	team.direct = team.mutual = team.may_direct = true;
	for (int k = 0; k < n; k++) {
		NB_TRY(open_member(&team.member[k], id[k], id[0]));
		if (k > 0)
			NB_TRY(open_chain(k));
		NB_TRY(open_ways(k));
		team.direct = team.direct && team.member[k].direct;
		used += (size_t)snprintf(team.name + used, sizeof team.name - used, "%s%d", k ? "," : "", id[k]);
	}
	NB_CUDA_TRY(cudaSetDevice(id[0]));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&team.ready, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaEventCreateWithFlags(&team.begun, cudaEventDisableTiming));
	NB_CUDA_TRY(cudaMallocHost((void **)&team.stopped, sizeof *team.stopped));
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

int nb_team_device(int k)
{
	return team.member[k].device;
}

const char *nb_team_name(void)
{
	return team.n ? team.name : "";
}

bool nb_team_direct(void)
{
	return team.n > 1 && team.direct && team.may_direct;
}

bool nb_team_mutual(void)
{
	return nb_team_direct() && team.mutual;
}

void nb_team_let_direct(bool may)
{
	team.may_direct = may;
}

int nb_team_report(int k, char *line, size_t size)
{
	if (k < 0 || k >= team.n)
		return NB_EINVAL;
	const std::lock_guard<std::mutex> lock(team.lock);
	const struct member *m = &team.member[k];
	cudaDeviceProp properties;
	const char *name = "unknown";
	if (cudaGetDeviceProperties(&properties, m->device) == cudaSuccess)
		name = properties.name;
	(void)cudaGetLastError();
	snprintf(line, size, "device %d, %.60s: %zu parts in %.4g s, waited %.4g s, %.4g GB of memory at most%s",
		m->device, name, m->parts, m->worked, m->waited, (double)nb_cuda_most(m->device) / 1e9,
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

/* Ends the part that was dealt last, and waits until less than under_way are. */
static int close_part(const struct nb_team_hand &hand)
{
	const size_t under_way = (size_t)hand.under_way, last = hand.parts - 1, next = hand.parts;
	NB_TRY(follow(hand, hand.stream(), hand.back));
	NB_TRY(follow(hand, hand.urgent, hand.back));
	NB_CUDA_TRY(cudaEventRecord(hand.done[last % under_way], hand.back));
	if (next >= under_way)
		NB_CUDA_TRY(cudaEventSynchronize(hand.done[next % under_way]));
	return NB_OK;
}

bool nb_team_hand::next(size_t *part)
{
	quiet = false;
	if (parts > 0 && (status = close_part(*this)) != NB_OK)
		return false;
	*part = parts == 0 ? (size_t)member : round->dealt.fetch_add(1);
	if (*part >= round->parts || round->stop)
		return false;
	parts++;
	return true;
}

int nb_team_hand::hurry()
{
	return follow(*this, stream(), urgent);
}

int nb_team_hand::bring(void *to, const void *from, size_t bytes)
{
	if (to == from || bytes == 0)
		return NB_OK;
	NB_TRY(follow(*this, stream(), back));
	NB_TRY(follow(*this, urgent, back));
	NB_CUDA_TRY(cudaMemcpyPeerAsync(to, home_device, from, device, bytes, back));
	return NB_OK;
}

int nb_team_hand::settle()
{
	quiet = false;
	NB_CUDA_TRY(cudaEventRecord(made, 0));
	for (int k = 0; k < NB_TEAM_LANES; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(work[k], made, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(urgent, made, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(back, made, 0));
	return NB_OK;
}

int nb_team_hand::finish()
{
	if (quiet)
		return status;
	for (int k = 0; k < std::min(lanes, (int)std::min(parts, (size_t)NB_TEAM_LANES)); k++)
		NB_CUDA_TRY(cudaStreamSynchronize(work[k]));
	NB_CUDA_TRY(cudaStreamSynchronize(urgent));
	NB_CUDA_TRY(cudaStreamSynchronize(push));
	NB_CUDA_TRY(cudaStreamSynchronize(back));
	quiet = true;
	return status;
}

/* ---- what is sent ahead of a round --------------------------------------------------------------------- */

enum { SUM_THREADS = 256 };
static const size_t piece_bytes = (size_t)64 << 20; /* that go through a chain of members one after the other */

/* *sum, which is 0 before, = a sum over the words and their places, in any order the same. */
static __global__ void __launch_bounds__(SUM_THREADS)
	sum_kernel(size_t words, const unsigned long long *word, unsigned long long *sum)
{
	const size_t step = (size_t)gridDim.x * SUM_THREADS;
	unsigned long long all = 0;
#pragma unroll 4
	for (size_t i = blockIdx.x * (size_t)SUM_THREADS + threadIdx.x; i < words; i += step) {
		unsigned long long h = (word[i] ^ (i + 1) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
		h = (h ^ h >> 32) * 0x94d049bb133111ebull;
		all += h ^ h >> 29;
	}
	for (int offset = 16; offset > 0; offset /= 2)
		all += __shfl_xor_sync(0xffffffff, all, offset);
	if (threadIdx.x % 32 == 0)
		atomicAdd(sum, all);
}

/* Of an array of the current device. */
static int queue_sum(cudaStream_t stream, const void *array, size_t bytes, unsigned long long *sum)
{
	int sms;
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_CUDA_TRY(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
	sum_kernel<<<8 * (unsigned)sms, SUM_THREADS, 0, stream>>>(bytes / 8, (const unsigned long long *)array, sum);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static unsigned long long *sum_after(void *copy, size_t bytes)
{
	return (unsigned long long *)((char *)copy + bytes);
}

/* Gives their memory back, once nothing uses it; home is current. */
static void drop(int n, struct nb_team_sent *sent)
{
	if (n == 0)
		return;
	for (int k = 1; k < team.n; k++) {
		(void)cudaStreamSynchronize(team.member[k].pass);
		(void)cudaStreamSynchronize(team.member[k].watch);
	}
	for (int k = 1; k < team.n; k++) {
		(void)cudaSetDevice(team.member[k].device);
		for (int s = 0; s < n; s++)
			nb_cuda_give(sent[s].here[k]);
	}
	(void)cudaSetDevice(team.member[0].device);
	for (int s = 0; s < n; s++)
		nb_cuda_give(sent[s].sum);
	(void)cudaGetLastError();
}

/* Drops what nobody asked for, or all.  Under ahead.lock. */
static void drop_ahead(bool all)
{
	struct nb_team_sent *const end = ahead.row + ahead.n;
	struct nb_team_sent *const rest = std::stable_partition(
		ahead.row, end, [&](const struct nb_team_sent &s) { return !all && s.asked; });
	drop((int)(end - rest), rest);
	ahead.n = (int)(rest - ahead.row);
}

/* Memory for copies; false: there is none.  Home is current, before and after. */
static bool find_room(struct nb_team_sent *s)
{
	bool found = true;
	for (int k = 1; k < team.n && found; k++) {
		struct member *m = &team.member[k];
		found = cudaSetDevice(m->device) == cudaSuccess &&
			nb_cuda_take(&s->here[k], s->bytes + sizeof *s->sum) == NB_OK &&
			cudaEventRecord(m->room, 0) == cudaSuccess &&
			cudaStreamWaitEvent(m->pass, m->room, 0) == cudaSuccess;
	}
	(void)cudaSetDevice(team.member[0].device);
	if (s->early)
		found = found && nb_cuda_take((void **)&s->sum, sizeof *s->sum) == NB_OK;
	(void)cudaGetLastError();
	if (!found)
		nb_space_note_failure(""); /* it goes without */
	return found;
}

/* Queues the copies, each piece to one member after the other. */
static int pass_on(const struct nb_team_sent *s, bool marked)
{
	const size_t most = team.n > 2 ? piece_bytes : s->bytes;
	if (!marked)
		NB_CUDA_TRY(cudaEventRecord(team.begun, 0));
	for (int k = 1; k < team.n; k++)
		if (team.member[k].from == 0)
			NB_CUDA_TRY(cudaStreamWaitEvent(team.member[k].pass, team.begun, 0));
	for (size_t at = 0; at < s->bytes; at += most)
		for (int k = 1; k < team.n; k++) {
			const struct member *m = &team.member[k];
			const char *from = (const char *)(m->from ? s->here[m->from] : s->there);
			if (m->from)
				NB_CUDA_TRY(cudaStreamWaitEvent(m->pass, team.member[m->from].arrived, 0));
			NB_CUDA_TRY(cudaMemcpyPeerAsync((char *)s->here[k] + at, m->device, from + at,
				team.member[m->from].device, std::min(most, s->bytes - at), m->pass));
			NB_CUDA_TRY(cudaEventRecord(m->arrived, m->pass));
		}
	return NB_OK;
}

/* Sums of what arrives. */
static int watch_over(struct nb_team_sent *s)
{
	int status = NB_OK;
	for (int k = 1; k < team.n && !status; k++) {
		struct member *m = &team.member[k];
		NB_CUDA_TRY(cudaStreamWaitEvent(m->watch, m->arrived, 0));
		NB_CUDA_TRY(cudaSetDevice(m->device));
		status = queue_sum(m->watch, s->here[k], s->bytes, sum_after(s->here[k], s->bytes));
	}
	NB_CUDA_TRY(cudaSetDevice(team.member[0].device));
	return status;
}

/* Under ahead.lock. */
static int send(const void *array, size_t bytes, bool early, bool marked)
{
	if (ahead.n == NB_TEAM_COPIES)
		return NB_OK;
	struct nb_team_sent *s = &ahead.row[ahead.n];
	*s = {};
	s->there = array, s->bytes = bytes, s->early = early, s->asked = !early;
	if (!find_room(s)) {
		drop(1, s);
		return NB_OK;
	}
	ahead.n++;
	NB_TRY(pass_on(s, marked));
	return early ? watch_over(s) : NB_OK;
}

int nb_team_send(const void *array, size_t bytes, bool marked)
{
	if (team.n < 2 || !array || bytes == 0)
		return NB_OK;
	const std::lock_guard<std::mutex> lock(ahead.lock);
	for (int k = 0; k < ahead.n; k++) {
		struct nb_team_sent *s = &ahead.row[k];
		if (s->there != array || s->bytes != bytes)
			continue;
		if (s->early && !s->asked)
			NB_TRY(queue_sum(0, array, bytes, s->sum));
		s->asked = true;
		return NB_OK;
	}
	const int status = send(array, bytes, false, marked);
	if (status)
		drop_ahead(true);
	return status;
}

int nb_team_mark(void)
{
	if (team.n > 1)
		NB_CUDA_TRY(cudaEventRecord(team.begun, 0));
	return NB_OK;
}

void nb_team_unsend(void)
{
	const std::lock_guard<std::mutex> lock(ahead.lock);
	drop_ahead(true);
}

nb_team_early::nb_team_early(bool wanted, const void *one, size_t bytes, const void *other, size_t other_bytes)
{
	if (!wanted || !nb_team_direct())
		return;
	sent = true;
	const std::lock_guard<std::mutex> lock(ahead.lock);
	drop_ahead(false);
	if (send(one, bytes, true, false) || send(other, other_bytes, true, false))
		drop_ahead(false); /* what fails here fails in the round, too */
}

nb_team_early::~nb_team_early()
{
	for (int k = 1; sent && k < team.n; k++)
		if (team.member[k].from == 0)
			(void)cudaStreamWaitEvent(0, team.member[k].arrived, 0);
}

/* ---- copies from home ---------------------------------------------------------------------------------- */

/* Null if it was not sent ahead of this round. */
static const struct nb_team_sent *find_sent(const struct nb_team_hand &hand, const void *array, size_t bytes)
{
	const struct nb_team_round *round = hand.round;
	for (int k = 0; k < round->nsent; k++)
		if (round->sent[k].there == array && round->sent[k].bytes == bytes)
			return &round->sent[k];
	return nullptr;
}

int nb_team_copies::add_bytes(void **array, size_t bytes)
{
	if (hand.is_home() || !*array || bytes == 0)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	void *here = nullptr;
	const struct nb_team_sent *const sent = find_sent(hand, *array, bytes);
	if (sent)
		here = sent->here[hand.member];
	else
		NB_TRY(nb_cuda_take(&here, bytes));
	row[n++] = {here, *array, bytes, !sent, sent};
	*array = here;
	return NB_OK;
}

int nb_team_copies::put(void *here, const void *there, size_t bytes)
{
	if (hand.is_home() || here == there)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	row[n++] = {here, there, bytes, false, find_sent(hand, there, bytes)};
	return NB_OK;
}

/* Waits for what was sent early; *same: it is what home has now. */
static int compare(const struct nb_team_hand &hand, const struct nb_team_sent &s, bool *same)
{
	unsigned long long at_home, here;
	NB_CUDA_TRY(cudaMemcpyAsync(&at_home, s.sum, sizeof at_home, cudaMemcpyDeviceToHost, hand.push));
	NB_CUDA_TRY(cudaMemcpyAsync(
		&here, sum_after(s.here[hand.member], s.bytes), sizeof here, cudaMemcpyDeviceToHost, hand.watch));
	NB_CUDA_TRY(cudaStreamSynchronize(hand.push));
	NB_CUDA_TRY(cudaStreamSynchronize(hand.watch));
	*same = at_home == here;
	return NB_OK;
}

int nb_team_copies::queue()
{
	hand.quiet = false;
	if (hand.is_home())
		return hand.settle();
	bool pushes = false;
	const auto begin_push = [&]() {
		if (pushes)
			return (int)NB_OK;
		NB_CUDA_TRY(cudaStreamWaitEvent(hand.push, team.ready, 0));
		NB_TRY(follow(hand, 0, hand.push)); /* the memory is there */
		pushes = true;
		return (int)NB_OK;
	};
	const auto copy = [&](int k) {
		NB_TRY(begin_push());
		NB_CUDA_TRY(cudaMemcpyPeerAsync(
			row[k].here, hand.device, row[k].there, hand.home_device, row[k].bytes, hand.push));
		return (int)NB_OK;
	};
	for (int k = 0; k < n; k++)
		if (!row[k].sent)
			NB_TRY(copy(k));
	if (hand.round->nsent > 0)
		NB_CUDA_TRY(cudaStreamWaitEvent(0, hand.arrived, 0));
	for (int k = 0; k < n; k++) {
		const struct nb_team_sent *const sent = row[k].sent;
		bool same = true;
		if (!sent)
			continue;
		if (sent->early) {
			const double start = now();
			NB_TRY(begin_push());
			NB_TRY(compare(hand, *sent, &same));
			hand.idle += now() - start;
		}
		if (!same)
			NB_TRY(copy(k));
		else if (row[k].here != sent->here[hand.member])
			NB_CUDA_TRY(cudaMemcpyAsync(
				row[k].here, sent->here[hand.member], row[k].bytes, cudaMemcpyDeviceToDevice, 0));
	}
	if (pushes) {
		NB_CUDA_TRY(cudaEventRecord(hand.pushed, hand.push));
		NB_CUDA_TRY(cudaStreamWaitEvent(0, hand.pushed, 0));
	}
	NB_TRY(hand.settle());
	for (int k = 0; k < NB_TEAM_LANES; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(hand.work[k], team.ready, 0));
	return NB_OK;
}

int nb_team_copies::wait()
{
	const double start = now();
	if (!hand.is_home()) {
		NB_CUDA_TRY(cudaEventSynchronize(team.ready));
		NB_CUDA_TRY(cudaStreamSynchronize(hand.push));
		NB_CUDA_TRY(cudaStreamSynchronize(hand.pass));
	}
	hand.idle += now() - start;
	return NB_OK;
}

int nb_team_copies::fetch()
{
	NB_TRY(queue());
	return wait();
}

nb_team_copies::~nb_team_copies()
{
	hand.status = hand.finish();
	for (int k = 0; k < n; k++)
		if (row[k].owned)
			nb_cuda_give(row[k].here);
}

/* ---- memory of all --------------------------------------------------------------------------------------- */

static int alloc_at(const struct member *m, void **place, size_t bytes, size_t zeros)
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
	for (int k = 0; k < team.n && !status; k++)
		status = alloc_at(&team.member[k], &of[k], bytes, zeros);
	(void)cudaSetDevice(team.member[0].device);
	for (int k = 1; k < team.n && !status; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(0, team.member[k].room, 0));
	return status;
}

void nb_team_release(void **of)
{
	for (int k = 0; k < team.n; k++)
		if (of[k]) {
			(void)cudaSetDevice(team.member[k].device);
			nb_cuda_give(of[k]);
		}
	if (team.n)
		(void)cudaSetDevice(team.member[0].device);
}

/* ---- a round ------------------------------------------------------------------------------------------- */

nb_team_round::nb_team_round(size_t p, int m, nb_team_work w, void *c)
    : parts(p), members(m), work(w), context(c), dealt((size_t)m), stop(false), nsent(0)
{
	const std::lock_guard<std::mutex> lock(ahead.lock);
	int left = 0;
	for (int k = 0; k < ahead.n; k++)
		if (ahead.row[k].asked)
			sent[nsent++] = ahead.row[k];
		else
			ahead.row[left++] = ahead.row[k];
	ahead.n = left;
}

nb_team_round::~nb_team_round()
{
	drop(nsent, sent);
}

/* A member in a round, and how that went. */
struct turn {
	struct nb_team_round *round;
	int member;
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
	hand.urgent = m->urgent, hand.note = m->note, hand.stopped = (const int *)team.stopped;
	hand.made = m->made, hand.push = m->push, hand.back = m->back;
	hand.pass = m->pass, hand.watch = m->watch;
	hand.pushed = m->pushed, hand.arrived = m->arrived;
	hand.sharers = 0;
	for (int k = 0; k < t->round->members; k++)
		hand.sharers += team.member[k].device == m->device;
	NB_CUDA_TRY(cudaSetDevice(m->device));
	int status = t->round->work(&hand, t->round->context);
	if (!status)
		status = hand.finish();
	t->parts = hand.drawn ? hand.drawn : hand.parts;
	t->idle = hand.idle;
	return status;
}

static void stop(struct nb_team_round *round)
{
	round->stop = true;
	*team.stopped = 1;
}

static void take(struct turn *t)
{
	t->begin = now();
	t->status = take_turn(t);
	t->end = now();
	if (t->status) {
		stop(t->round);
		t->said = nb_cuda_error_status == t->status;
		memcpy(t->error, nb_cuda_error_text, sizeof t->error);
	}
}

/* Threads of members but home, which stay for the rounds to come: to begin and to join one costs more than 0.1 ms. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	bool there[NB_TEAM_MOST];
	std::atomic<struct turn *> turn[NB_TEAM_MOST]; /* null: nothing to do */
} workers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {}, {}};

static void *worker_thread(void *member)
{
	std::atomic<struct turn *> *const turn = &workers.turn[(intptr_t)member];
	pthread_mutex_lock(&workers.lock);
	for (;;) {
		while (!turn->load())
			pthread_cond_wait(&workers.given, &workers.lock);
		pthread_mutex_unlock(&workers.lock);
		nb_cuda_error_status = NB_OK; /* no longer that of a round before */
		take(turn->load());
		pthread_mutex_lock(&workers.lock);
		turn->store(nullptr);
		pthread_cond_signal(&workers.done);
	}
}

/* Has the member's thread take a turn; false if it has none. */
static bool give(struct turn *t)
{
	const intptr_t k = t->member;
	pthread_t thread;
	if (!workers.there[k]) {
		if (pthread_create(&thread, nullptr, worker_thread, (void *)k))
			return false;
		(void)pthread_detach(thread);
		workers.there[k] = true;
	}
	pthread_mutex_lock(&workers.lock);
	workers.turn[k] = t;
	pthread_cond_broadcast(&workers.given);
	pthread_mutex_unlock(&workers.lock);
	return true;
}

static void await(const struct turn *t)
{
	static const double soon = 200e-6; /* s; to sleep and be woken takes 30 us */
	const double start = now();
	while (workers.turn[t->member].load() && now() - start < soon)
		;
	pthread_mutex_lock(&workers.lock);
	while (workers.turn[t->member].load())
		pthread_cond_wait(&workers.done, &workers.lock);
	pthread_mutex_unlock(&workers.lock);
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

void nb_team_drew(int member, size_t parts)
{
	const std::lock_guard<std::mutex> lock(team.lock);
	if (member < team.n && parts > 0)
		team.member[member].parts += parts - 1;
}

int nb_team_run_with(size_t parts, nb_team_work work, void *context)
{
	struct turn turn[NB_TEAM_MOST] = {};
	const std::lock_guard<std::mutex> lock(team.lock);
	/* those without a part would only copy */
	const int members = parts < (size_t)team.n ? std::max(1, (int)parts) : team.n;
	struct nb_team_round round(parts, members, work, context);
	*team.stopped = 0;
	NB_CUDA_TRY(cudaEventRecord(team.ready, 0));
	for (int k = 0; k < members; k++) {
		turn[k].round = &round;
		turn[k].member = k;
		if (k > 0) {
			turn[k].started = give(&turn[k]);
			if (!turn[k].started) {
				turn[k].status = NB_ENOMEM;
				stop(&round);
			}
		}
	}
	take(&turn[0]);
	for (int k = 1; k < members; k++)
		if (turn[k].started)
			await(&turn[k]);
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
