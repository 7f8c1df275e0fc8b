#include "tools/filter/patience.h"

#include "common/timer.h"
#include "tools/filter/input.h"
#include "tools/filter/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* Seconds in which an answer may come although the last program of the command has died, or the shell has failed; and
 * that a command has to exit which does not read its input any more. */
static const double GRACE = 0.5, BROKEN_GRACE = 2;

/* How long all processes of a command must have looked as if nobody were left who could answer: a busy machine may take
 * some time to start one. */
static const double LEFT_GRACE = 2;

/* When to look whether the command converts what it gets: in a while without an answer. */
static const double CONVERT_FROM = 0.5, CONVERT_TO = 10;

enum { LOOK = 100 /* milliseconds between two looks */ };

const char *nb_awaited_text(enum nb_awaited awaited)
{
	static const char *const text[] = {
		[NB_AWAITED_ROOM] = "waiting for it to read its input",
		[NB_AWAITED_ANSWER] = "waiting for its answer",
		[NB_AWAITED_REST] = "waiting for the rest of its answer",
		[NB_AWAITED_END] = "waiting for the end of its stream",
		[NB_AWAITED_EXIT] = "waiting for its exit",
	};
	return text[awaited];
}

int nb_write_error(struct nb_coprocess *co)
{
	pthread_mutex_lock(&co->lock);
	const int error = co->write_error;
	pthread_mutex_unlock(&co->lock);
	return error;
}

/* Whether there is something to read, an end included, within so many milliseconds. */
static int is_readable(int fd, int milliseconds)
{
	struct pollfd p = {fd, POLLIN, 0};
	int n;
	while ((n = poll(&p, 1, milliseconds)) < 0 && errno == EINTR)
		;
	return n != 0; /* if the system cannot tell, reading waits */
}

/* ---- a lull ------------------------------------------------------------------------------------- */

struct nb_lull nb_lull_begin(const struct nb_coprocess *co)
{
	return (struct nb_lull){nb_now(), __atomic_load_n(&co->to.nbyte, __ATOMIC_RELAXED), 0};
}

static int has_failed(struct nb_group *group)
{
	return nb_group_has_exited(group, 0) && (group->status || group->signal || group->error);
}

/* The stream has ended where it should, and so has the shell; what it left behind may hold the pipe open for ever. */
static int is_over(struct nb_coprocess *co)
{
	return co->ending && co->from.ended && nb_group_has_exited(&co->group, 0) && !is_readable(co->from.fd, 0);
}

/* nb-convert reads what is sent, or writes the answer: it knows that a frame is over, or that it is the only one, when
 * another one comes or its input ends, and neither happens. */
static int is_converted(struct nb_coprocess *co, double seconds)
{
	char name[NB_HOLDER_NAME];
	if (co->awaited != NB_AWAITED_ANSWER || seconds < CONVERT_FROM || seconds > CONVERT_TO)
		return 0;
	return (nb_meet_writers(co->from.fd, name) == NB_HOLDER_OURS && strcmp(name, "nb-convert") == 0) ||
	       (nb_meet_readers(co->to.fd, name) == NB_HOLDER_OURS && strcmp(name, "nb-convert") == 0);
}

static double notice_of(const struct nb_coprocess *co)
{
	return co->awaited == NB_AWAITED_ANSWER ? co->notice_answer : co->notice;
}

/* A last program that was killed before it began leaves a shell that holds its pipe and waits for the others, which
 * wait for more. */
static int is_left(struct nb_coprocess *co, struct nb_lull *lull, double now)
{
	const int may_be = co->ring.n == 0 && (co->awaited == NB_AWAITED_ANSWER || co->awaited == NB_AWAITED_REST) &&
			   notice_of(co) > 0 && now - lull->since > notice_of(co);
	if (!may_be || !nb_meet_is_left(co->group.id, co->from.fd, co->to.fd))
		lull->left = 0;
	else if (lull->left == 0)
		lull->left = now;
	return lull->left > 0 && now - lull->left > LEFT_GRACE;
}

/* Why an answer cannot come any more, nothing having moved since the lull began. */
static enum nb_gave_up reason(struct nb_coprocess *co, struct nb_lull *lull, double now)
{
	const double seconds = now - lull->since;
	const int error = nb_write_error(co);
	if (error && (error != EPIPE || seconds > BROKEN_GRACE))
		return NB_GAVE_UP_WRITING;
	if (seconds > GRACE && (nb_ring_lost(&co->ring, co->from.fd) || has_failed(&co->group)))
		return NB_GAVE_UP_LOST;
	if (is_left(co, lull, now))
		return NB_GAVE_UP_LOST;
	if (is_converted(co, seconds))
		return NB_GAVE_UP_CONVERTED;
	if (nb_interrupted() && co->haste > 0 && seconds > co->haste)
		return NB_GAVE_UP_HASTILY;
	return co->patience > 0 && seconds > co->patience ? NB_GAVE_UP_LATE : NB_GAVE_UP_NOT;
}

int nb_lull_lasts(struct nb_coprocess *co, struct nb_lull *lull)
{
	const struct nb_lull now = nb_lull_begin(co);
	if (now.written != lull->written)
		*lull = now;
	const double seconds = now.since - lull->since;
	if (is_over(co))
		return 0;
	co->gave_up = reason(co, lull, now.since);
	if (co->gave_up)
		return 0;
	if (co->slow && seconds > notice_of(co) && lull->left == 0 && !(co->noticed & 1U << co->awaited)) {
		co->noticed |= 1U << co->awaited;
		co->slow(co->context, co->awaited, seconds);
	}
	return 1;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* 1: there is something to read, an end included, or a program of the ring has died. */
static int wait_for(struct nb_coprocess *co, int fd, int by_ring)
{
	int there = is_readable(fd, 0);
	if (!there) {
		struct nb_lull lull = nb_lull_begin(co);
		while (!(there = is_readable(fd, LOOK)) && nb_lull_lasts(co, &lull))
			if (by_ring && nb_now() - lull.since > GRACE && !nb_is_alive(nb_ring_first(&co->ring)))
				return 1;
	}
	if (there && co->awaited == NB_AWAITED_ANSWER)
		co->awaited = NB_AWAITED_REST;
	return there;
}

int nb_wait_for_output(void *context)
{
	struct nb_coprocess *co = context;
	if (co->from.ended && !co->ending)
		return 0; /* it has ended its stream before its time: what may follow does not matter */
	if (co->from.ended)
		co->awaited = NB_AWAITED_EXIT;
	return wait_for(co, co->from.fd, 0);
}

int nb_wait_for_ring(void *context)
{
	struct nb_coprocess *co = context;
	if (!wait_for(co, nb_ring_first(&co->ring)->files.in, 1))
		nb_ring_leave(&co->ring);
	return 1;
}
