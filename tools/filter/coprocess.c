#include "tools/filter/coprocess.h"

#include "common/timer.h"
#include "tools/filter/blame.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/patience.h"
#include "tools/filter/running.h"
#include "tools/filter/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum job { JOB_NONE, JOB_FRAME, JOB_END };

/* Seconds that what a command leaves behind has to end; between two looks while it is waited for; and of a run that
 * needs no guardian. */
static const double GRACE = 2, LOOK = 0.1, SHORT_RUN = 0.01;

/* ---- starting --------------------------------------------------------------------------------- */

static void *write_jobs(void *context);

static void forget_listener(struct nb_coprocess *co)
{
	if (co->listener >= 0)
		close(co->listener);
	co->listener = -1;
}

int nb_coprocess_start(struct nb_coprocess *co, const char *command, char **environment, int err)
{
	int to[2], from[2];
	memset(co, 0, sizeof *co);
	co->listener = -1;
	nb_interrupt_watch();
	if (!nb_running_enter(co, nb_coprocess_kill))
		return nb_blame(co, "cannot be started: %d others are running", NB_RUNNING_MOST);
	if (nb_spawn_pipe(to))
		return nb_blame(co, "cannot be started: %s", strerror(errno));
	if (nb_spawn_pipe(from)) {
		nb_blame(co, "cannot be started: %s", strerror(errno));
		close(to[0]);
		close(to[1]);
		return -1;
	}
	co->listener = nb_meet_listen(from[0]);
	sigset_t blocked;
	nb_running_hold(&blocked);
	int error = nb_group_start(&co->group, command, environment, to[0], from[1], err, &blocked);
	nb_running_note(co, co->group.id);
	nb_running_release(&blocked);
	close(to[0]);
	close(from[1]);
	if (!error && (nb_writer_open(&co->to, to[1]) || nb_reader_open(&co->from, from[0])))
		error = ENOMEM;
	co->environment = environment;
	co->from.wait = nb_wait_for_output;
	co->from.context = co;
	pthread_mutex_init(&co->lock, NULL);
	pthread_cond_init(&co->changed, NULL);
	if (!error) {
		/* all signals go to the other threads; a broken pipe is an error here, not a signal */
		sigset_t all, old;
		sigfillset(&all);
		sigdelset(&all, SIGBUS); /* common/mapped.h */
		pthread_sigmask(SIG_SETMASK, &all, &old);
		error = pthread_create(&co->thread, NULL, write_jobs, co);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		co->writing = !error;
	}
	if (!error)
		return 0;
	nb_writer_abandon(&co->to);
	nb_reader_close(&co->from);
	close(to[1]);
	close(from[0]);
	forget_listener(co);
	return nb_blame(
		co, "cannot be started: %s", error == ENOENT ? "there is no /bin/sh, which runs it" : strerror(error));
}

/* ---- the writing thread ----------------------------------------------------------------------- */

/* A run that ends in a few milliseconds does without it, if nothing has to be written. */
static void start_guardian(struct nb_coprocess *co)
{
	const struct timespec until = nb_time_after(SHORT_RUN);
	pthread_mutex_lock(&co->lock);
	while (!co->quit && co->job == JOB_NONE &&
		pthread_cond_clockwait(&co->changed, &co->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&co->lock);
	nb_group_guard(&co->group, co->environment);
}

static void *write_jobs(void *context)
{
	struct nb_coprocess *co = context;
	start_guardian(co);
	pthread_mutex_lock(&co->lock);
	while (!co->quit) {
		const int job = co->job;
		if (job == JOB_NONE) {
			pthread_cond_wait(&co->changed, &co->lock);
			continue;
		}
		pthread_mutex_unlock(&co->lock);
		errno = 0;
		int failed = job == JOB_FRAME ? nb_writer_next(&co->to, &co->frame) || nb_writer_flush(&co->to)
					      : nb_writer_close(&co->to);
		int error = errno ? errno : EIO;
		nb_frame_clear(&co->frame);
		pthread_mutex_lock(&co->lock);
		if (failed)
			co->write_error = error; /* who waits for the command will see */
		co->job = JOB_NONE;
		co->quit |= job == JOB_END;
		pthread_cond_broadcast(&co->changed);
	}
	co->written = 1;
	pthread_cond_broadcast(&co->changed);
	pthread_mutex_unlock(&co->lock);
	return NULL;
}

/* ---- frames ----------------------------------------------------------------------------------- */

/* Waits until the thread is idle and gives it something to do. */
static int give_job(struct nb_coprocess *co, int job, struct nb_frame *frame)
{
	struct nb_lull lull = nb_lull_begin(co);
	co->awaited = NB_AWAITED_ROOM;
	pthread_mutex_lock(&co->lock);
	while (co->job != JOB_NONE) {
		const struct timespec until = nb_time_after(LOOK);
		if (pthread_cond_clockwait(&co->changed, &co->lock, CLOCK_MONOTONIC, &until) == 0)
			continue;
		pthread_mutex_unlock(&co->lock);
		if (!nb_lull_lasts(co, &lull))
			return nb_blame_end(co, NULL);
		pthread_mutex_lock(&co->lock);
	}
	const int error = co->write_error;
	if (!error) {
		co->job = job;
		if (frame) {
			co->frame = *frame;
			nb_frame_init(frame);
		}
		pthread_cond_broadcast(&co->changed);
	}
	pthread_mutex_unlock(&co->lock);
	if (!error)
		return 0;
	return error == EPIPE ? nb_blame(co, "stopped reading its input")
			      : nb_blame(co, "cannot be written to: %s", strerror(error));
}

int nb_coprocess_is_folded(struct nb_coprocess *co)
{
	if (!co->looked) {
		nb_ring_collect(&co->ring, co->listener, co->from.fd, co->to.fd);
		forget_listener(co); /* whoever comes later writes bytes */
		if (co->ring.n && !co->ring.closed) {
			nb_ring_first(&co->ring)->in.wait = nb_wait_for_ring;
			nb_ring_first(&co->ring)->in.context = co;
		}
	}
	co->looked = 1;
	return co->ring.closed;
}

int nb_coprocess_send(struct nb_coprocess *co, struct nb_frame *frame)
{
	if (nb_coprocess_is_folded(co))
		return nb_ring_pass(&co->ring, frame) ? nb_blame_end(co, NULL) : 0;
	return give_job(co, JOB_FRAME, frame);
}

/* An answer by the ring, if there is one; the program before an open ring may have ended its stream. */
static int pull(struct nb_coprocess *co)
{
	if (nb_ring_pull(&co->ring))
		return nb_blame_end(co, NULL);
	if (co->ring.nanswer)
		return 0;
	if (nb_ring_end(&co->ring))
		return nb_blame_end(co, NULL);
	return co->ring.nanswer ? 0 : nb_blame_early_end(co);
}

int nb_coprocess_receive(struct nb_coprocess *co, struct nb_frame *frame)
{
	co->awaited = NB_AWAITED_ANSWER;
	if (co->ring.n && !co->ring.closed && pull(co))
		return -1;
	if (nb_ring_answer(&co->ring, frame))
		return nb_reader_count(&co->from, frame) == NB_ERROR
			       ? nb_blame(co, "wrote a bad stream: %s", co->from.error)
			       : 0;
	if (!nb_wait_for_output(co) || nb_is_at_end(co))
		return nb_blame_end(co, NULL);
	enum nb_answer answer = nb_reader_next(&co->from, frame);
	co->ring.lost = 0; /* somebody answers */
	if (answer == NB_FRAME)
		return 0;
	if (answer == NB_END)
		return nb_blame_early_end(co);
	if (co->gave_up || nb_is_at_end(co))
		return nb_blame_end(co, co->from.error);
	return nb_blame(co, "wrote a bad stream: %s", co->from.error);
}

static void close_input(struct nb_coprocess *co)
{
	if (co->to.buffer)
		close(co->to.fd);
	nb_writer_abandon(&co->to);
}

/* Waits for the exit of the shell. */
static int require_exit(struct nb_coprocess *co)
{
	struct nb_lull lull = nb_lull_begin(co);
	co->awaited = NB_AWAITED_EXIT;
	while (!nb_group_has_exited(&co->group, LOOK))
		if (!nb_lull_lasts(co, &lull))
			return nb_blame_end(co, NULL);
	return nb_judge_exit(co);
}

int nb_coprocess_finish(struct nb_coprocess *co)
{
	struct nb_frame frame;
	const int folded = nb_coprocess_is_folded(co);
	co->ending = 1;
	if (!folded && give_job(co, JOB_END, NULL))
		return -1;
	co->awaited = NB_AWAITED_END;
	if (co->ring.n) {
		if (nb_ring_end(&co->ring))
			return nb_blame_end(co, NULL);
		if (folded)
			close_input(co); /* a program that has come too late reads to the end */
		if (co->ring.nanswer)
			return nb_blame(co, "wrote more frames than it was given");
		nb_reader_count_end(&co->from);
	}
	nb_frame_init(&frame);
	enum nb_answer answer = nb_reader_head(&co->from, &frame);
	nb_frame_clear(&frame);
	if (answer == NB_FRAME)
		return nb_blame(co, "wrote more frames than it was given");
	if (co->gave_up || (answer == NB_ERROR && nb_is_at_end(co)))
		return nb_blame_end(co, answer == NB_ERROR ? co->from.error : NULL);
	if (answer == NB_ERROR)
		return nb_blame(co, "wrote a bad stream: %s", co->from.error);
	if (require_exit(co))
		return -1;
	(void)nb_group_is_gone(&co->group, GRACE);
	nb_coprocess_kill(co);
	return 0;
}

void nb_coprocess_kill(struct nb_coprocess *co)
{
	nb_ring_expect_end(&co->ring);
	nb_group_end(&co->group);
	nb_running_forget(co);
	nb_ring_clear(&co->ring);
	forget_listener(co);
	if (!co->writing)
		return;
	pthread_mutex_lock(&co->lock);
	co->quit = 1;
	pthread_cond_broadcast(&co->changed);
	/* a process that left the group may hold the pipe open, and the thread with it: then both stay */
	const struct timespec until = nb_time_after(GRACE);
	while (!co->written && pthread_cond_clockwait(&co->changed, &co->lock, CLOCK_MONOTONIC, &until) == 0)
		;
	const int written = co->written;
	pthread_mutex_unlock(&co->lock);
	if (!written)
		return;
	pthread_join(co->thread, NULL);
	co->writing = 0;
	nb_frame_clear(&co->frame); /* one that the thread had no time for */
	close_input(co);
	close(co->from.fd);
	nb_reader_close(&co->from);
	pthread_cond_destroy(&co->changed);
	pthread_mutex_destroy(&co->lock);
}
