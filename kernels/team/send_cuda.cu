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
	return pass_on(s, marked);
}

/* *found: it is among what is sent, and is asked for now.  Under nb_team_ahead.lock. */
static int ask(const void *array, size_t bytes, bool *found)
{
	*found = false;
	for (int k = 0; k < nb_team_ahead.n; k++) {
		struct nb_team_sent *s = &nb_team_ahead.row[k];
		if (s->there != array || s->bytes != bytes)
			continue;
		if (s->early && !s->asked)
			NB_TRY(queue_sum(0, array, bytes, s->sum));
		s->asked = *found = true;
		break;
	}
	return NB_OK;
}

int nb_team_send(const void *array, size_t bytes, size_t least, bool marked)
{
	bool found;
	if (nb_team.n < 2 || !array || bytes == 0)
		return NB_OK;
	nb_team_rouse();
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	int status = ask(array, bytes, &found);
	if (!status && !found && bytes >= least) {
		status = send(array, bytes, false, marked);
		if (status)
			drop_ahead(true);
	}
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

void nb_team_early::begin()
{
	if (!wanted || sent || !nb_team_direct())
		return;
	sent = true;
	nb_team_rouse();
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	drop_ahead(false);
	if (send(array[0].there, array[0].bytes, true, false) || send(array[1].there, array[1].bytes, true, false))
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

/* Queues the sum of what was sent early, when it is there, and that which the primary has found since. */
static int watch_over(const struct nb_team_worker &worker, const struct nb_team_sent &s, unsigned long long *sums)
{
	void *const here = s.here[worker.member];
	unsigned long long *const sum = sum_after(here, s.bytes);
	NB_CUDA_TRY(cudaStreamWaitEvent(worker.watch, worker.arrived, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(worker.watch, nb_team.ready, 0));
	NB_TRY(queue_sum(worker.watch, here, s.bytes, sum));
	NB_CUDA_TRY(cudaMemcpyAsync(&sums[0], s.sum, sizeof *sums, cudaMemcpyDefault, worker.watch));
	NB_CUDA_TRY(cudaMemcpyAsync(&sums[1], sum, sizeof *sums, cudaMemcpyDefault, worker.watch));
	return NB_OK;
}

/* The same of all that was sent early. */
static int watch_over_all(struct nb_team_copies &copies)
{
	for (int k = 0; k < copies.n; k++) {
		const struct nb_team_sent *const sent = copies.row[k].sent;
		if (!sent || !sent->early)
			continue;
		if (copies.compared == NB_TEAM_EARLY) /* an array was added twice */
			return NB_ELIMIT;
		NB_TRY(watch_over(copies.worker, *sent, copies.worker.sums + 2 * copies.compared++));
	}
	return NB_OK;
}

int nb_team_copies::differ(bool *wrong)
{
	*wrong = false;
	if (compared > 0)
		NB_CUDA_TRY(cudaStreamSynchronize(worker.watch));
	for (int k = 0; k < compared; k++)
		*wrong |= worker.sums[2 * k] != worker.sums[2 * k + 1];
	return NB_OK;
}

int nb_team_copies::queue(bool compare_later)
{
	worker.quiet = false;
	later = compare_later;
	if (worker.is_primary())
		return worker.follow_default();
	bool pushes = false;
	const auto copy = [&](int k) {
		if (!pushes) {
			NB_CUDA_TRY(cudaStreamWaitEvent(worker.push, nb_team.ready, 0));
			NB_TRY(nb_team_follow(worker, 0, worker.push)); /* the memory is there */
			pushes = true;
		}
		NB_CUDA_TRY(cudaMemcpyPeerAsync(
			row[k].here, worker.device, row[k].there, worker.primary_device, row[k].bytes, worker.push));
		return (int)NB_OK;
	};
	for (int k = 0; k < n; k++)
		if (!row[k].sent)
			NB_TRY(copy(k));
	if (worker.round->nsent > 0)
		NB_CUDA_TRY(cudaStreamWaitEvent(0, worker.arrived, 0));
	bool changed = false;
	if (!later) {
		const double start = nb_team_now();
		NB_TRY(watch_over_all(*this));
		NB_TRY(differ(&changed));
		worker.idle += nb_team_now() - start;
	}
	for (int k = 0; k < n; k++) {
		const struct nb_team_sent *const sent = row[k].sent;
		if (!sent)
			continue;
		if (changed && sent->early)
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
		if (later) { /* when what the parts need first is queued */
			later = false;
			NB_TRY(watch_over_all(*this));
		}
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
