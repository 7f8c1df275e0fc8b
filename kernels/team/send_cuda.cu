/* send_cuda.cu - what the primary sends to members, ahead of a round or in it (team.cuh). */
#include <algorithm>

#include "kernels/team/team_internal.cuh"

struct nb_team_queue nb_team_ahead;

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

void nb_team_drop(int n, struct nb_team_sent *sent)
{
	if (n == 0)
		return;
	for (int k = 1; k < nb_team.n; k++) {
		(void)cudaStreamSynchronize(nb_team.member[k].pass);
		(void)cudaStreamSynchronize(nb_team.member[k].watch);
	}
	for (int k = 1; k < nb_team.n; k++) {
		(void)cudaSetDevice(nb_team.member[k].device);
		for (int s = 0; s < n; s++)
			nb_cuda_give(sent[s].here[k]);
	}
	(void)cudaSetDevice(nb_team.member[0].device);
	for (int s = 0; s < n; s++)
		nb_cuda_give(sent[s].sum);
	(void)cudaGetLastError();
}

/* Drops what nobody asked for, or all.  Under nb_team_ahead.lock. */
static void drop_ahead(bool all)
{
	struct nb_team_sent *const end = nb_team_ahead.row + nb_team_ahead.n;
	struct nb_team_sent *const rest = std::stable_partition(
		nb_team_ahead.row, end, [&](const struct nb_team_sent &s) { return !all && s.asked; });
	nb_team_drop((int)(end - rest), rest);
	nb_team_ahead.n = (int)(rest - nb_team_ahead.row);
}

/* Memory for copies; false: there is none.  The primary is current, before and after. */
static bool find_room(struct nb_team_sent *s)
{
	bool found = true;
	for (int k = 1; k < nb_team.n && found; k++) {
		struct nb_team_member *m = &nb_team.member[k];
		found = cudaSetDevice(m->device) == cudaSuccess &&
			nb_cuda_take(&s->here[k], s->bytes + sizeof *s->sum) == NB_OK &&
			cudaEventRecord(m->room, 0) == cudaSuccess &&
			cudaStreamWaitEvent(m->pass, m->room, 0) == cudaSuccess;
	}
	(void)cudaSetDevice(nb_team.member[0].device);
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
	const size_t most = nb_team.n > 2 ? piece_bytes : s->bytes;
	if (!marked)
		NB_CUDA_TRY(cudaEventRecord(nb_team.begun, 0));
	for (int k = 1; k < nb_team.n; k++)
		if (nb_team.member[k].from == 0)
			NB_CUDA_TRY(cudaStreamWaitEvent(nb_team.member[k].pass, nb_team.begun, 0));
	for (size_t at = 0; at < s->bytes; at += most)
		for (int k = 1; k < nb_team.n; k++) {
			const struct nb_team_member *m = &nb_team.member[k];
			const char *from = (const char *)(m->from ? s->here[m->from] : s->there);
			if (m->from)
				NB_CUDA_TRY(cudaStreamWaitEvent(m->pass, nb_team.member[m->from].arrived, 0));
			NB_CUDA_TRY(cudaMemcpyPeerAsync((char *)s->here[k] + at, m->device, from + at,
				nb_team.member[m->from].device, std::min(most, s->bytes - at), m->pass));
			NB_CUDA_TRY(cudaEventRecord(m->arrived, m->pass));
		}
	return NB_OK;
}

/* Sums of what arrives. */
static int watch_over(struct nb_team_sent *s)
{
	int status = NB_OK;
	for (int k = 1; k < nb_team.n && !status; k++) {
		struct nb_team_member *m = &nb_team.member[k];
		NB_CUDA_TRY(cudaStreamWaitEvent(m->watch, m->arrived, 0));
		NB_CUDA_TRY(cudaSetDevice(m->device));
		status = queue_sum(m->watch, s->here[k], s->bytes, sum_after(s->here[k], s->bytes));
	}
	NB_CUDA_TRY(cudaSetDevice(nb_team.member[0].device));
	return status;
}

/* Under nb_team_ahead.lock. */
static int send(const void *array, size_t bytes, bool early, bool marked)
{
	if (nb_team_ahead.n == NB_TEAM_COPIES)
		return NB_OK;
	struct nb_team_sent *s = &nb_team_ahead.row[nb_team_ahead.n];
	*s = {};
	s->there = array, s->bytes = bytes, s->early = early, s->asked = !early;
	if (!find_room(s)) {
		nb_team_drop(1, s);
		return NB_OK;
	}
	nb_team_ahead.n++;
	NB_TRY(pass_on(s, marked));
	return early ? watch_over(s) : NB_OK;
}

int nb_team_send(const void *array, size_t bytes, bool marked)
{
	if (nb_team.n < 2 || !array || bytes == 0)
		return NB_OK;
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	for (int k = 0; k < nb_team_ahead.n; k++) {
		struct nb_team_sent *s = &nb_team_ahead.row[k];
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
	if (nb_team.n > 1)
		NB_CUDA_TRY(cudaEventRecord(nb_team.begun, 0));
	return NB_OK;
}

void nb_team_unsend(void)
{
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	drop_ahead(true);
}

nb_team_early::nb_team_early(bool wanted, const void *one, size_t bytes, const void *other, size_t other_bytes)
{
	if (!wanted || !nb_team_direct())
		return;
	sent = true;
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	drop_ahead(false);
	if (send(one, bytes, true, false) || send(other, other_bytes, true, false))
		drop_ahead(false); /* what fails here fails in the round, too */
}

nb_team_early::~nb_team_early()
{
	for (int k = 1; sent && k < nb_team.n; k++)
		if (nb_team.member[k].from == 0)
			(void)cudaStreamWaitEvent(0, nb_team.member[k].arrived, 0);
}

/* ---- copies from the primary ---------------------------------------------------------------------------------- */

/* Null if it was not sent ahead of this round. */
static const struct nb_team_sent *find_sent(const struct nb_team_worker &worker, const void *array, size_t bytes)
{
	const struct nb_team_round *round = worker.round;
	for (int k = 0; k < round->nsent; k++)
		if (round->sent[k].there == array && round->sent[k].bytes == bytes)
			return &round->sent[k];
	return nullptr;
}

int nb_team_copies::add_bytes(void **array, size_t bytes)
{
	if (worker.is_primary() || !*array || bytes == 0)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	void *here = nullptr;
	const struct nb_team_sent *const sent = find_sent(worker, *array, bytes);
	if (sent)
		here = sent->here[worker.member];
	else
		NB_TRY(nb_cuda_take(&here, bytes));
	row[n++] = {here, *array, bytes, !sent, sent};
	*array = here;
	return NB_OK;
}

int nb_team_copies::put(void *here, const void *there, size_t bytes)
{
	if (worker.is_primary() || here == there)
		return NB_OK;
	if (n == NB_TEAM_COPIES)
		return NB_ELIMIT;
	row[n++] = {here, there, bytes, false, find_sent(worker, there, bytes)};
	return NB_OK;
}

/* Waits for what was sent early; *same: it is what the primary has now. */
static int compare(const struct nb_team_worker &worker, const struct nb_team_sent &s, bool *same)
{
	unsigned long long at_primary, here;
	NB_CUDA_TRY(cudaMemcpyAsync(&at_primary, s.sum, sizeof at_primary, cudaMemcpyDeviceToHost, worker.push));
	NB_CUDA_TRY(cudaMemcpyAsync(
		&here, sum_after(s.here[worker.member], s.bytes), sizeof here, cudaMemcpyDeviceToHost, worker.watch));
	NB_CUDA_TRY(cudaStreamSynchronize(worker.push));
	NB_CUDA_TRY(cudaStreamSynchronize(worker.watch));
	*same = at_primary == here;
	return NB_OK;
}

int nb_team_copies::queue()
{
	worker.quiet = false;
	if (worker.is_primary())
		return worker.follow_default();
	bool pushes = false;
	const auto begin_push = [&]() {
		if (pushes)
			return (int)NB_OK;
		NB_CUDA_TRY(cudaStreamWaitEvent(worker.push, nb_team.ready, 0));
		NB_TRY(nb_team_follow(worker, 0, worker.push)); /* the memory is there */
		pushes = true;
		return (int)NB_OK;
	};
	const auto copy = [&](int k) {
		NB_TRY(begin_push());
		NB_CUDA_TRY(cudaMemcpyPeerAsync(
			row[k].here, worker.device, row[k].there, worker.primary_device, row[k].bytes, worker.push));
		return (int)NB_OK;
	};
	for (int k = 0; k < n; k++)
		if (!row[k].sent)
			NB_TRY(copy(k));
	if (worker.round->nsent > 0)
		NB_CUDA_TRY(cudaStreamWaitEvent(0, worker.arrived, 0));
	for (int k = 0; k < n; k++) {
		const struct nb_team_sent *const sent = row[k].sent;
		bool same = true;
		if (!sent)
			continue;
		if (sent->early) {
			const double start = nb_team_now();
			NB_TRY(begin_push());
			NB_TRY(compare(worker, *sent, &same));
			worker.idle += nb_team_now() - start;
		}
		if (!same)
			NB_TRY(copy(k));
		else if (row[k].here != sent->here[worker.member])
			NB_CUDA_TRY(cudaMemcpyAsync(
				row[k].here, sent->here[worker.member], row[k].bytes, cudaMemcpyDeviceToDevice, 0));
	}
	if (pushes) {
		NB_CUDA_TRY(cudaEventRecord(worker.pushed, worker.push));
		NB_CUDA_TRY(cudaStreamWaitEvent(0, worker.pushed, 0));
	}
	NB_TRY(worker.follow_default());
	for (int k = 0; k < NB_TEAM_STREAMS; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(worker.work[k], nb_team.ready, 0));
	return NB_OK;
}

int nb_team_copies::wait()
{
	const double start = nb_team_now();
	if (!worker.is_primary()) {
		NB_CUDA_TRY(cudaEventSynchronize(nb_team.ready));
		NB_CUDA_TRY(cudaStreamSynchronize(worker.push));
		NB_CUDA_TRY(cudaStreamSynchronize(worker.pass));
	}
	worker.idle += nb_team_now() - start;
	return NB_OK;
}

int nb_team_copies::fetch()
{
	NB_TRY(queue());
	return wait();
}

nb_team_copies::~nb_team_copies()
{
	worker.status = worker.finish();
	for (int k = 0; k < n; k++)
		if (row[k].owned)
			nb_cuda_give(row[k].here);
}
