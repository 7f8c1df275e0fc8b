#include "tools/filter/coprocess.h"

#include "tools/filter/running.h"
#include "tools/filter/spawn.h"

#include "common/timer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum job { JOB_NONE, JOB_FRAME, JOB_END };

/* Seconds that a command which broke its stream has to exit, and that it has to react to SIGTERM. */
static const double GRACE = 2;

static int fail(struct nb_coprocess *co, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct nb_coprocess *co, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(co->error, sizeof co->error, format, ap);
	va_end(ap);
	return -1;
}

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
	if (!nb_running_enter(co))
		return fail(co, "cannot be started: %d others are running", NB_RUNNING_MOST);
	if (nb_spawn_pipe(to))
		return fail(co, "cannot be started: %s", strerror(errno));
	if (nb_spawn_pipe(from)) {
		fail(co, "cannot be started: %s", strerror(errno));
		close(to[0]);
		close(to[1]);
		return -1;
	}
	co->listener = nb_meet_listen(from[0]);
	int error = nb_spawn(command, environment, to[0], from[1], err, &co->group);
	close(to[0]);
	close(from[1]);
	if (error)
		co->group = 0;
	nb_running_note(co, co->group);
	if (!error && (nb_writer_open(&co->to, to[1]) || nb_reader_open(&co->from, from[0])))
		error = ENOMEM;
	pthread_mutex_init(&co->lock, NULL);
	pthread_cond_init(&co->changed, NULL);
	if (!error) {
		/* all signals go to the other threads; a broken pipe is an error here, not a signal */
		sigset_t all, old;
		sigfillset(&all);
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
	return fail(co, "cannot be started: %s", strerror(error));
}

/* ---- the writing thread ----------------------------------------------------------------------- */

/* Waits, with the lock held, for so many seconds, or less if the command ends meanwhile. */
static void wait_for_end(struct nb_coprocess *co, double seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)seconds;
	while (co->group > 0 && !co->quit && pthread_cond_timedwait(&co->changed, &co->lock, &until) == 0)
		;
}

static void *write_jobs(void *context)
{
	struct nb_coprocess *co = context;
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
			co->write_error = error;
		if (failed && job == JOB_FRAME) {
			/* The command does not read its input any more: it has died, which the reader is about to
			 * learn, or it sits there with its output open, and somebody must end the wait for an
			 * answer that cannot come. */
			wait_for_end(co, GRACE);
			if (co->group > 0)
				kill(-co->group, SIGTERM);
		}
		co->job = JOB_NONE;
		co->quit |= job == JOB_END;
		pthread_cond_broadcast(&co->changed);
	}
	pthread_mutex_unlock(&co->lock);
	return NULL;
}

/* Waits until the thread is idle and gives it something to do. */
static int give_job(struct nb_coprocess *co, int job, struct nb_frame *frame)
{
	pthread_mutex_lock(&co->lock);
	while (co->job != JOB_NONE)
		pthread_cond_wait(&co->changed, &co->lock);
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
	return error == EPIPE ? fail(co, "stopped reading its input")
			      : fail(co, "cannot be written to: %s", strerror(error));
}

/* ---- how the command ended -------------------------------------------------------------------- */

/* Waits for the shell: 1 and its status, or 0 if it still runs after so many seconds (< 0: for ever). */
static int reap(struct nb_coprocess *co, double seconds, int *status)
{
	double start = nb_now();
	pid_t pid;
	if (co->group <= 0) /* waitpid would take a child that is not ours */
		return 0;
	while ((pid = waitpid(co->group, status, seconds < 0 ? 0 : WNOHANG)) <= 0) {
		if (pid < 0 && errno != EINTR)
			return 0;
		if (pid == 0) {
			if (nb_now() - start > seconds)
				return 0;
			nb_pause(0.005);
		}
	}
	pthread_mutex_lock(&co->lock);
	co->group = 0;
	nb_running_note(co, 0);
	pthread_cond_broadcast(&co->changed);
	pthread_mutex_unlock(&co->lock);
	return 1;
}

/* The error for a command whose output ended too early; why is what the reader saw, NULL: nothing. */
static int ended(struct nb_coprocess *co, const char *why)
{
	const char *open = why ? " (" : "", *close = why ? ")" : "";
	int status, write_error;
	pthread_mutex_lock(&co->lock);
	write_error = co->write_error;
	pthread_mutex_unlock(&co->lock);
	if (!reap(co, GRACE, &status))
		return fail(co, "closed its output before it answered%s%s%s", open, why ? why : "", close);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM && write_error)
		return fail(co, "stopped reading its input");
	if (WIFSIGNALED(status))
		return fail(co, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return fail(co, "ended with status %d", WEXITSTATUS(status));
	return fail(co, "ended with status 0 before it answered%s%s%s", open, why ? why : "", close);
}

/* Whether the output of the command is at its end: closed, and all read.  Waits for so many milliseconds
 * (-1: for ever) until one can tell. */
static int at_end(const struct nb_coprocess *co, int milliseconds)
{
	struct pollfd p = {co->from.fd, POLLIN, 0};
	while (poll(&p, 1, milliseconds) < 0 && errno == EINTR)
		;
	return p.revents && !(p.revents & POLLIN);
}

/* ---- frames ----------------------------------------------------------------------------------- */

int nb_coprocess_is_folded(struct nb_coprocess *co)
{
	if (!co->looked) {
		nb_ring_collect(&co->ring, co->listener, co->from.fd, co->to.fd);
		forget_listener(co); /* whoever comes later writes bytes */
	}
	co->looked = 1;
	return co->ring.closed;
}

int nb_coprocess_send(struct nb_coprocess *co, struct nb_frame *frame)
{
	if (nb_coprocess_is_folded(co))
		return nb_ring_pass(&co->ring, frame) ? ended(co, NULL) : 0;
	return give_job(co, JOB_FRAME, frame);
}

int nb_coprocess_receive(struct nb_coprocess *co, struct nb_frame *frame)
{
	if (co->ring.n && !co->ring.closed && nb_ring_pull(&co->ring))
		return ended(co, NULL);
	if (nb_coprocess_is_broken(co)) {
		kill(-co->group, SIGTERM);
		return ended(co, NULL);
	}
	if (nb_ring_answer(&co->ring, frame))
		return nb_reader_count(&co->from, frame) == NB_ERROR
			       ? fail(co, "wrote a bad stream: %s", co->from.error)
			       : 0;
	if (at_end(co, -1))
		return ended(co, NULL);
	enum nb_answer answer = nb_reader_next(&co->from, frame);
	co->ring.lost = 0; /* somebody answers */
	if (answer == NB_FRAME)
		return 0;
	if (answer == NB_END)
		return ended(co, "it ended its stream");
	if (at_end(co, 0))
		return ended(co, co->from.error);
	return fail(co, "wrote a bad stream: %s", co->from.error);
}

static void close_input(struct nb_coprocess *co)
{
	if (co->to.buffer)
		close(co->to.fd);
	nb_writer_abandon(&co->to);
}

int nb_coprocess_finish(struct nb_coprocess *co)
{
	struct nb_frame frame;
	int status;
	const int folded = nb_coprocess_is_folded(co);
	if (!folded && give_job(co, JOB_END, NULL))
		return -1;
	if (co->ring.n) {
		if (nb_ring_end(&co->ring))
			return ended(co, NULL);
		if (folded)
			close_input(co); /* a program that has come too late reads to the end */
		if (co->ring.nanswer)
			return fail(co, "wrote more frames than it was given");
		nb_reader_count_end(&co->from);
	}
	nb_frame_init(&frame);
	enum nb_answer answer = nb_reader_head(&co->from, &frame);
	nb_frame_clear(&frame);
	if (answer == NB_FRAME)
		return fail(co, "wrote more frames than it was given");
	if (answer == NB_ERROR)
		return at_end(co, 0) ? ended(co, co->from.error) : fail(co, "wrote a bad stream: %s", co->from.error);
	if (!reap(co, -1, &status))
		return fail(co, "cannot be waited for: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return fail(co, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return fail(co, "ended with status %d", WEXITSTATUS(status));
	nb_coprocess_kill(co);
	return 0;
}

void nb_coprocess_kill(struct nb_coprocess *co)
{
	int status;
	const pid_t group = co->group;
	if (group > 0) {
		kill(-group, SIGTERM);
		kill(-group, SIGCONT); /* a stopped process must run to die */
		(void)reap(co, GRACE, &status);
		kill(-group, SIGKILL); /* what ignored SIGTERM, be it the shell or a child that outlived it */
		if (co->group > 0)
			(void)reap(co, -1, &status);
	}
	nb_running_forget(co);
	nb_ring_clear(&co->ring);
	forget_listener(co);
	if (!co->writing)
		return;
	pthread_mutex_lock(&co->lock);
	co->quit = 1;
	pthread_cond_broadcast(&co->changed);
	pthread_mutex_unlock(&co->lock);
	/* a process that left the group may hold the pipe open, and the thread with it: then both stay */
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)GRACE;
	if (pthread_timedjoin_np(co->thread, NULL, &until))
		return;
	co->writing = 0;
	nb_frame_clear(&co->frame); /* one that the thread had no time for */
	close_input(co);
	close(co->from.fd);
	nb_reader_close(&co->from);
	pthread_cond_destroy(&co->changed);
	pthread_mutex_destroy(&co->lock);
}
