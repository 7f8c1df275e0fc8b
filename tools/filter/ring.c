#include "tools/filter/ring.h"

#include "common/timer.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/input.h"
#include "tools/filter/require.h"
#include "tools/filter/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Seconds to wait for a program that may be about to start, and for one that has started and may not want to fold. */
static const double MAYBE = 0.02, STARTED = 0.1;
/* With several ranks it is worth to wait so many times as long: what does not fold they have no part in. */
static const double RANKS = 10;

/* ---- collecting --------------------------------------------------------------------------------- */

static int wants_to_connect(int listener)
{
	struct pollfd p = {listener, POLLIN, 0};
	const struct timespec pause = {0, 200000};
	return ppoll(&p, 1, &pause, NULL) > 0;
}

/* Whether no program of this build holds the write end any more; if there is no time to look at all, it may. */
static int is_gone(enum nb_holder holder, const char *name)
{
	return holder < NB_HOLDER_MAYBE || (holder == NB_HOLDER_MAYBE && *name);
}

int nb_ring_lost(const struct nb_ring *ring, int from)
{
	char name[NB_HOLDER_NAME];
	return ring->lost && is_gone(nb_meet_writers(from, name), name);
}

/* name: of a program that does not come, or "".  lost: one of this build came, and is gone. */
static struct nb_stage *find_stage(int listener, int fifo, int (*put)(void *, struct nb_frame *, int), void *context,
	char name[NB_HOLDER_NAME], int *lost)
{
	int seen = 0;
	const double start = nb_now(), times = nb_ranks_size() > 1 ? RANKS : 1;
	name[0] = '\0';
	*lost = 0;
	while (listener >= 0) {
		if (wants_to_connect(listener)) {
			int came;
			struct nb_stage *stage = nb_stage_accept(
				listener, fifo, NB_READS | NB_WRITES, put, context, &came);
			if (came != -1) {
				/* who has been refused, such as a copy of this program, goes on with bytes */
				*lost = came == 1 && !stage && is_gone(nb_meet_writers(fifo, name), name);
				name[0] = '\0';
				return stage;
			}
		}
		const enum nb_holder holder = nb_meet_writers(fifo, name);
		const double waited = nb_now() - start;
		*lost = seen && is_gone(holder, name);
		seen |= holder == NB_HOLDER_OURS;
		if (holder < NB_HOLDER_MAYBE || (holder == NB_HOLDER_OURS && waited > times * STARTED))
			break;
		if (holder == NB_HOLDER_MAYBE && waited > times * MAYBE) {
			name[0] = '\0'; /* a shell, which may just hold the pipe of its last program */
			break;
		}
	}
	return NULL;
}

static int same_fifo(int a, int b)
{
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int keep_answer(void *context, struct nb_frame *frame, int last)
{
	struct nb_ring *ring = context;
	if (ring->nanswer == ring->room) {
		const size_t room = 2 * ring->room + 1;
		struct nb_frame *grown = nb_require_memory(frame, realloc(ring->answer, room * sizeof *grown));
		ring->answer = grown;
		ring->room = room;
	}
	struct nb_frame *to = &ring->answer[ring->nanswer];
	nb_frame_init(to);
	if (nb_frame_give(to, frame, last))
		nb_out_of_memory(frame);
	ring->nanswer++;
	return NB_EXIT_OK;
}

struct nb_run *nb_ring_first(const struct nb_ring *ring)
{
	return ring->stage[ring->n - 1]->run;
}

/* A program that comes later, as the second of (nb-force; nb-force), would wait for an answer while the ring waits for
 * its bytes. */
static void stop_listening(struct nb_stage *stage)
{
	if (stage->from.listener >= 0)
		close(stage->from.listener);
	stage->from.listener = stage->run->files.listener = -1;
}

void nb_ring_collect(struct nb_ring *ring, int listener, int from, int to)
{
	struct nb_stage *stage = find_stage(listener, from, keep_answer, ring, ring->before, &ring->lost);
	while (stage && ring->n < NB_RING_MOST) {
		ring->stage[ring->n++] = stage;
		ring->closed = same_fifo(stage->from.in, to);
		if (ring->closed || ring->n == NB_RING_MOST)
			break;
		int gone; /* then that stage finds its input ended */
		stage = find_stage(stage->from.listener, stage->from.in, nb_run_feed, stage->run, ring->before, &gone);
	}
	for (int k = ring->n - 1; k >= 0; k--) {
		stop_listening(ring->stage[k]);
		if (nb_stage_begin(ring->stage[k]))
			break;				    /* its status says so, and the first frame will meet it */
		ring->stage[k]->run->pass.relays = 0;	    /* what goes round is wanted at once, */
		ring->stage[k]->run->common.no_history = 1; /* and its history is not kept */
	}
	if (ring->n)
		nb_stage_report(nb_ring_first(ring));
}

/* ---- what fails --------------------------------------------------------------------------------- */

/* The stream that the instance reads has been cut: it finds out, and says so. */
static void find_cut(struct nb_run *run, void *context)
{
	struct nb_frame frame;
	(void)context;
	nb_frame_init(&frame);
	if (!run->in_open)
		nb_input_open(run);
	while (nb_next_frame(run, &frame))
		;
	nb_die(NB_EXIT_FAILED, "truncated stream");
}

/* The stage that broke the ring: the last with a status that is not 0. */
static int broken_at(const struct nb_ring *ring)
{
	for (int k = 0; k < ring->n; k++)
		if (ring->stage[k]->run->status)
			return k;
	return -1;
}

/* After frames have stopped on their way: a stage whose process has died is one that failed. */
static void note_dead(struct nb_ring *ring)
{
	for (int k = 0; k < ring->n; k++)
		if (!ring->stage[k]->run->status && nb_link_is_at_end(ring->stage[k]->from.link))
			ring->stage[k]->run->status = NB_RUN_BROKEN;
}

static void end_all(struct nb_ring *ring)
{
	while (ring->n > 0) {
		struct nb_stage *stage = ring->stage[--ring->n];
		const int status = stage->run->status;
		nb_stage_end(stage, status);
	}
}

/* Stage k has ended: those behind it find their input cut, those before it find their reader gone. */
static int fail_at(struct nb_ring *ring, int k)
{
	for (int i = ring->n - 1; i > k; i--)
		ring->stage[i]->run->status = NB_RUN_BROKEN;
	while (k-- > 0)
		(void)nb_run_do(ring->stage[k]->run, find_cut, NULL);
	end_all(ring);
	return -1;
}

static int require_whole(struct nb_ring *ring)
{
	const int k = broken_at(ring);
	return k < 0 ? 0 : fail_at(ring, k);
}

/* The same after something has been done with a stage, with this status. */
static int require_done(struct nb_ring *ring, int status)
{
	if (status)
		note_dead(ring);
	return require_whole(ring);
}

static void note_all_broken(struct nb_ring *ring)
{
	for (int k = 0; k < ring->n; k++)
		ring->stage[k]->run->status = NB_RUN_BROKEN;
}

void nb_ring_leave(struct nb_ring *ring)
{
	note_all_broken(ring);
	nb_stop(nb_ring_first(ring), NB_RUN_BROKEN);
}

void nb_ring_expect_end(struct nb_ring *ring)
{
	for (int k = 0; k < ring->n; k++) {
		nb_watch_no_more(ring->stage[k]->from.link);
		nb_meet_be_deaf(ring->stage[k]->from.link);
	}
}

void nb_ring_clear(struct nb_ring *ring)
{
	note_all_broken(ring);
	end_all(ring);
	for (size_t i = 0; i < ring->nanswer; i++)
		nb_frame_clear(&ring->answer[i]);
	free(ring->answer);
	*ring = (struct nb_ring){.n = 0};
}

/* ---- frames ------------------------------------------------------------------------------------- */

int nb_ring_pass(struct nb_ring *ring, struct nb_frame *frame)
{
	if (require_whole(ring))
		return -1;
	return require_done(ring, nb_run_feed(nb_ring_first(ring), frame, 1));
}

static void read_one(struct nb_run *run, void *context)
{
	int *there = context;
	*there = nb_next_frame(run, &run->taken);
	if (*there)
		nb_run_pass(run, &run->taken);
}

int nb_ring_pull(struct nb_ring *ring)
{
	int there;
	if (require_whole(ring))
		return -1;
	return ring->nanswer ? 0 : require_done(ring, nb_run_do(nb_ring_first(ring), read_one, &there));
}

int nb_ring_answer(struct nb_ring *ring, struct nb_frame *frame)
{
	if (!ring->nanswer)
		return 0;
	nb_frame_clear(frame);
	*frame = ring->answer[0];
	ring->nanswer--;
	for (size_t i = 0; i < ring->nanswer; i++)
		ring->answer[i] = ring->answer[i + 1];
	return 1;
}

static void read_rest(struct nb_run *run, void *context)
{
	(void)context;
	while (nb_next_frame(run, &run->taken))
		nb_run_pass(run, &run->taken);
}

int nb_ring_end(struct nb_ring *ring)
{
	if (require_whole(ring))
		return -1;
	if (!ring->closed && require_done(ring, nb_run_do(nb_ring_first(ring), read_rest, NULL)))
		return -1;
	while (ring->n > 0) {
		struct nb_stage *stage = ring->stage[ring->n - 1];
		if (nb_run_end(stage->run))
			return require_whole(ring);
		if (ring->n > 1)
			nb_reader_count_end(&ring->stage[ring->n - 2]->run->in);
		nb_stage_end(stage, stage->run->verdict);
		ring->n--;
	}
	return 0;
}
