/* round_cuda.cu - a round: members at work, each in its thread (team.cuh). */
#include <algorithm>
#include <thread>

#include <pthread.h>
#include <string.h>

#include "kernels/team/team_internal.cuh"

/* ---- a member at work -------------------------------------------------------------------------------- */

int nb_team_follow(const struct nb_team_worker &worker, cudaStream_t by, cudaStream_t to)
{
	NB_CUDA_TRY(cudaEventRecord(worker.made, by));
	NB_CUDA_TRY(cudaStreamWaitEvent(to, worker.made, 0));
	return NB_OK;
}

/* Ends the part that was dealt last, and waits until less than under_way are. */
static int close_part(const struct nb_team_worker &worker)
{
	const size_t under_way = (size_t)worker.under_way, last = worker.parts - 1, next = worker.parts;
	NB_TRY(nb_team_follow(worker, worker.stream(), worker.back));
	NB_TRY(nb_team_follow(worker, worker.urgent, worker.back));
	NB_CUDA_TRY(cudaEventRecord(worker.done[last % under_way], worker.back));
	if (next >= under_way)
		NB_CUDA_TRY(cudaEventSynchronize(worker.done[next % under_way]));
	return NB_OK;
}

bool nb_team_worker::next(size_t *part)
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

int nb_team_worker::begin_urgent()
{
	return nb_team_follow(*this, stream(), urgent);
}

int nb_team_worker::copy_back(void *to, const void *from, size_t bytes)
{
	if (to == from || bytes == 0)
		return NB_OK;
	NB_TRY(nb_team_follow(*this, stream(), back));
	NB_TRY(nb_team_follow(*this, urgent, back));
	NB_CUDA_TRY(cudaMemcpyPeerAsync(to, primary_device, from, device, bytes, back));
	return NB_OK;
}

int nb_team_worker::follow_default()
{
	quiet = false;
	NB_CUDA_TRY(cudaEventRecord(made, 0));
	for (int k = 0; k < NB_TEAM_STREAMS; k++)
		NB_CUDA_TRY(cudaStreamWaitEvent(work[k], made, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(urgent, made, 0));
	NB_CUDA_TRY(cudaStreamWaitEvent(back, made, 0));
	return NB_OK;
}

int nb_team_worker::finish()
{
	if (quiet)
		return status;
	for (int k = 0; k < std::min(streams, (int)std::min(parts, (size_t)NB_TEAM_STREAMS)); k++)
		NB_CUDA_TRY(cudaStreamSynchronize(work[k]));
	NB_CUDA_TRY(cudaStreamSynchronize(urgent));
	NB_CUDA_TRY(cudaStreamSynchronize(push));
	NB_CUDA_TRY(cudaStreamSynchronize(back));
	quiet = true;
	return status;
}

/* ---- a round ------------------------------------------------------------------------------------------- */

nb_team_round::nb_team_round(size_t p, int m, nb_team_work w, void *c)
    : parts(p), members(m), work(w), context(c), dealt((size_t)m), stop(false), nsent(0)
{
	const std::lock_guard<std::mutex> lock(nb_team_ahead.lock);
	int left = 0;
	for (int k = 0; k < nb_team_ahead.n; k++)
		if (nb_team_ahead.row[k].asked)
			sent[nsent++] = nb_team_ahead.row[k];
		else
			nb_team_ahead.row[left++] = nb_team_ahead.row[k];
	nb_team_ahead.n = left;
}

nb_team_round::~nb_team_round()
{
	nb_team_drop(nsent, sent);
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
	const struct nb_team_member *m = &nb_team.member[t->member];
	struct nb_team_worker worker;
	worker.round = t->round;
	worker.member = t->member;
	worker.device = m->device;
	worker.primary_device = nb_team.member[0].device;
	memcpy(worker.work, m->work, sizeof worker.work);
	memcpy(worker.done, m->done, sizeof worker.done);
	worker.urgent = m->urgent, worker.note = m->note,
	worker.sums = (unsigned long long *)((char *)m->note + NB_TEAM_NOTE),
	worker.stopped = (const int *)nb_team.stopped;
	worker.made = m->made, worker.push = m->push, worker.back = m->back;
	worker.pass = m->pass, worker.watch = m->watch;
	worker.pushed = m->pushed, worker.arrived = m->arrived;
	worker.sharers = 0;
	for (int k = 0; k < t->round->members; k++)
		worker.sharers += nb_team.member[k].device == m->device;
	NB_CUDA_TRY(cudaSetDevice(m->device));
	int status = t->round->work(&worker, t->round->context);
	if (!status)
		status = worker.finish();
	t->parts = worker.drawn ? worker.drawn : worker.parts;
	t->idle = worker.idle;
	return status;
}

static void stop(struct nb_team_round *round)
{
	round->stop = true;
	*nb_team.stopped = 1;
}

static void take(struct turn *t)
{
	t->begin = nb_team_now();
	t->status = take_turn(t);
	t->end = nb_team_now();
	if (t->status) {
		stop(t->round);
		t->said = nb_cuda_error_status == t->status;
		memcpy(t->error, nb_cuda_error_text, sizeof t->error);
	}
}

/* Threads of members but the primary, which stay for all rounds: to begin and to join one costs more than 0.1 ms. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	bool there[NB_TEAM_MOST];
	std::atomic<struct turn *> turn[NB_TEAM_MOST]; /* null: nothing to do */
	std::atomic<double> awake{0};		       /* until when they look for a turn without sleeping */
} workers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {}, {}};

void nb_team_rouse(void)
{
	static const double soon = 1e-3; /* s */
	static const unsigned processors = std::thread::hardware_concurrency();
	const double now = nb_team_now();
	if (now < workers.awake || (unsigned)nb_team.n >= processors) /* each needs one for itself */
		return;
	pthread_mutex_lock(&workers.lock);
	workers.awake = now + soon;
	pthread_cond_broadcast(&workers.given);
	pthread_mutex_unlock(&workers.lock);
}

static void *worker_thread(void *member)
{
	std::atomic<struct turn *> *const turn = &workers.turn[(intptr_t)member];
	pthread_mutex_lock(&workers.lock);
	for (;;) {
		while (!turn->load() && nb_team_now() >= workers.awake)
			pthread_cond_wait(&workers.given, &workers.lock);
		pthread_mutex_unlock(&workers.lock);
		while (!turn->load() && nb_team_now() < workers.awake)
			;
		if (!turn->load()) {
			pthread_mutex_lock(&workers.lock);
			continue;
		}
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
	const double start = nb_team_now();
	while (workers.turn[t->member].load() && nb_team_now() - start < soon)
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
	snprintf(nb_cuda_error_text, sizeof nb_cuda_error_text, "device %d: %.200s", nb_team.member[t->member].device,
		t->error);
	nb_cuda_error_status = t->status;
	nb_space_note_failure(t->status == NB_ENOMEM ? "" : nb_cuda_error_text);
	return t->status;
}

void nb_team_drew(int member, size_t parts)
{
	const std::lock_guard<std::mutex> lock(nb_team.lock);
	if (member < nb_team.n && parts > 0)
		nb_team.member[member].parts += parts - 1;
}

int nb_team_run_with(size_t parts, nb_team_work work, void *context)
{
	struct turn turn[NB_TEAM_MOST] = {};
	const std::lock_guard<std::mutex> lock(nb_team.lock);
	/* those without a part would only copy */
	const int members = parts < (size_t)nb_team.n ? std::max(1, (int)parts) : nb_team.n;
	struct nb_team_round round(parts, members, work, context);
	*nb_team.stopped = 0;
	NB_CUDA_TRY(cudaEventRecord(nb_team.ready, 0));
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
	const double end = nb_team_now();
	for (int k = 0; k < members; k++) {
		struct nb_team_member *m = &nb_team.member[k];
		m->parts += turn[k].parts;
		m->worked += turn[k].end - turn[k].begin - turn[k].idle;
		m->waited += turn[k].idle + (turn[k].started || k == 0 ? end - turn[k].end : 0);
	}
	for (int k = members; k < nb_team.n; k++)
		nb_team.member[k].waited += end - turn[0].begin;
	for (int k = 0; k < members; k++)
		if (turn[k].status)
			return fail(&turn[k]);
	return NB_OK;
}
