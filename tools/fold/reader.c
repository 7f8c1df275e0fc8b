/* The reader of a FIFO: listens, looks at who comes, takes over. */
#include "tools/fold/message.h"
#include "tools/fold/peer.h"
#include "tools/fold/surroundings.h"

#include "common/environment.h"
#include "common/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds for a peer that has connected to make its offer; for a look at all processes; and for one that must find. */
static const double OFFER = 1, LOOK = 0.020, PATIENCE = 1;
/* Connections that wait: as many as the system allows, so that strangers leave room for the neighbour.  Of theirs that
 * many are closed one after the other; then the input has its turn. */
enum { PENDING_MOST = 4096, STRANGERS_MOST = 64 };

/* One descriptor kept for the moment when there is no other: a connection that cannot be accepted can then still be
 * refused, and its writer does not wait for ever. */
static int spare = -1;

static int open_spare(void)
{
	return nb_above_standard(open("/", O_PATH | O_CLOEXEC));
}

int nb_meet_listen(int fd)
{
	struct nb_fifo fifo;
	struct sockaddr_un address;
	if (nb_fold_is_off() || nb_fifo_of(&fifo, fd))
		return -1;
	const socklen_t length = nb_fold_address(&address, &fifo);
	const int listener = nb_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (listener < 0)
		return -1;
	if (bind(listener, (const struct sockaddr *)&address, length) || listen(listener, PENDING_MOST)) {
		close(listener);
		return -1;
	}
	if (spare < 0)
		spare = open_spare();
	nb_surroundings_note();
	return listener;
}

enum nb_holder nb_meet_writers(int fifo, char name[NB_HOLDER_NAME])
{
	struct nb_fifo it;
	struct pollfd p = {fifo, POLLIN, 0};
	name[0] = '\0';
	if (nb_fifo_of(&it, fifo) || (poll(&p, 1, 0) == 1 && p.revents & POLLHUP))
		return NB_HOLDER_NONE;
	return nb_fifo_holder(&it, NB_WRITE_END, nb_now() + LOOK, name);
}

enum nb_holder nb_meet_readers(int fifo, char name[NB_HOLDER_NAME])
{
	struct nb_fifo it;
	name[0] = '\0';
	return nb_fifo_of(&it, fifo) ? NB_HOLDER_NONE : nb_fifo_holder(&it, NB_READ_END, nb_now() + LOOK, name);
}

int nb_meet_is_left(pid_t shell, int from, int to)
{
	struct nb_fifo answer, sent;
	return !nb_fifo_of(&answer, from) && !nb_fifo_of(&sent, to) &&
	       nb_fifo_is_left(shell, &answer, &sent, nb_now() + PATIENCE);
}

pid_t nb_meet_writer(int fifo)
{
	struct nb_fifo it;
	struct pollfd p = {fifo, POLLIN, 0};
	if (nb_fifo_of(&it, fifo) || (poll(&p, 1, 0) == 1 && p.revents & POLLHUP))
		return 0;
	return nb_fifo_partner(&it, NB_WRITE_END, nb_now() + PATIENCE);
}

/* ---- who comes ---------------------------------------------------------------------------------- */

static void send_refusal(int link, const char *why)
{
	struct nb_record record;
	nb_record_init(&record, NB_SAYS_REFUSED, 0);
	snprintf(record.text, sizeof record.text, "%s", why);
	(void)nb_record_send(link, &record, NULL, 0, 0);
}

/* NULL, or why the peer is not the writer of this FIFO in these surroundings. */
static const char *wrong_peer(int link, int fd, pid_t pid, double until)
{
	static const int yes = 1;
	struct nb_fifo fifo;
	struct nb_record hello;
	(void)setsockopt(link, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes); /* what comes says who sends it */
	if (!nb_runs_this_program(pid))
		return "another program";
	if (nb_fifo_of(&fifo, fd) || !nb_fifo_held(pid, &fifo, NB_WRITE_END, until))
		return "it does not write this pipe";
	/* the peer looks at this process while this one looks at the peer */
	nb_record_init(&hello, NB_SAYS_HELLO, (uint32_t)fd);
	if (nb_record_send(link, &hello, NULL, 0, 1))
		return "it makes no offer";
	return nb_surroundings_differ(pid, NB_SAME_ALL);
}

/* Gives the descriptors that came their places; those that were not announced are closed. */
static int sort_out(struct nb_handover *h, uint32_t announced, const int *fd, int n, int *strings)
{
	int *const place[NB_OFFERED] = {[NB_OFFERS_STRINGS] = strings,
		[NB_OFFERS_DIRECTORY] = &h->directory,
		[NB_OFFERS_IN] = &h->in,
		[NB_OFFERS_ERR] = &h->err,
		[NB_OFFERS_LISTENER] = &h->listener};
	int used = 0, wanted = 0;
	for (int i = 0; i < NB_OFFERED; i++)
		if (announced & 1U << i) {
			wanted++;
			if (used < n)
				*place[i] = fd[used++];
		}
	for (int i = used; i < n; i++)
		close(fd[i]);
	return wanted == n && announced < 1U << NB_OFFERED && *strings >= 0 && h->directory >= 0;
}

static int is_listening(int fd)
{
	int yes = 0;
	socklen_t size = sizeof yes;
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

/* NULL and *h, or why not. */
static const char *receive_offer(struct nb_handover *h, double until, char why[NB_WHY_SIZE])
{
	struct nb_record offer;
	int fd[NB_OFFERED], n = 0, strings = -1;
	pid_t who;
	const int got = nb_record_receive(h->link, &offer, fd, &n, &who, until);
	if (got < 0)
		return "another build, or too many open files";
	if (got == 0)
		return "it makes no offer";
	/* who was looked at, not one who has got the connection from a process that is gone */
	int fine = sort_out(h, offer.value, fd, n, &strings) && offer.says == NB_SAYS_OFFER && who == h->pid;
	fine = fine && nb_strings_unpack(strings, h) == 0;
	if (strings >= 0)
		close(strings);
	if (!fine || (h->listener >= 0 && !is_listening(h->listener)))
		return "an offer that is not understood";
	const char *differs = nb_environment_differs(nb_environment(), h->environment);
	if (!differs)
		return NULL;
	snprintf(why, NB_WHY_SIZE, "another environment: %.*s", (int)strcspn(differs, "="), differs);
	return why;
}

/* A connection; -1: none is pending; NB_MEET_DEAF */
static int accept_one(int listener)
{
	const int link = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (link < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	const int high = nb_above_standard(link);
	if (high >= 0 || (errno != EMFILE && errno != ENFILE) || spare < 0)
		return high >= 0 ? high : NB_MEET_DEAF;
	close(spare);
	const int poor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (poor >= 0) {
		send_refusal(poor, "too many open files");
		close(poor);
	}
	spare = open_spare();
	return poor >= 0 || errno == EAGAIN ? -1 : NB_MEET_DEAF;
}

/* One of this user's. */
static int accept_own(int listener, pid_t *pid)
{
	for (int k = 0; k < STRANGERS_MOST; k++) {
		const int link = accept_one(listener);
		*pid = link >= 0 ? nb_peer_of(link) : 0;
		if (*pid >= 0)
			return link;
		close(link);
	}
	return -1;
}

int nb_meet_accept(int listener, int fifo, struct nb_handover *h, char why[NB_WHY_SIZE])
{
	memset(h, 0, sizeof *h);
	h->in = h->err = h->directory = h->listener = -1;
	h->link = accept_own(listener, &h->pid);
	if (h->link < 0)
		return h->link;
	const double until = nb_now() + OFFER;
	const char *wrong = wrong_peer(h->link, fifo, h->pid, until);
	if (!wrong)
		wrong = receive_offer(h, until, why);
	if (!wrong)
		return 1;
	if (wrong != why)
		snprintf(why, NB_WHY_SIZE, "%s", wrong);
	nb_meet_refuse(h, wrong);
	return 0;
}

/* ---- taking over -------------------------------------------------------------------------------- */

static int say(struct nb_handover *h, enum nb_says says, uint32_t value)
{
	struct nb_record record;
	nb_record_init(&record, says, value);
	return nb_record_send(h->link, &record, NULL, 0, 0);
}

void nb_meet_stop(int listener, int fifo)
{
	(void)dup3(fifo, listener, O_CLOEXEC);
}

int nb_meet_take(struct nb_handover *h)
{
	if (say(h, NB_SAYS_ACCEPTED, 0) == 0)
		return 0;
	nb_meet_clear(h);
	return -1;
}

void nb_meet_refuse(struct nb_handover *h, const char *why)
{
	send_refusal(h->link, why);
	nb_meet_clear(h);
}

void nb_meet_tell(struct nb_handover *h, int status, int signal)
{
	/* one that has died needs no answer */
	(void)say(h, signal ? NB_SAYS_KILLED : NB_SAYS_EXITED, (uint32_t)(signal ? signal : status));
}

int nb_meet_hear(int link)
{
	struct nb_record record;
	const int got = nb_record_receive(link, &record, NULL, NULL, NULL, 0);
	return got > 0 && record.says == NB_SAYS_SIGNALLED && record.value < NSIG ? (int)record.value : 0;
}

void nb_meet_be_deaf(int link)
{
	(void)shutdown(link, SHUT_RD);
}

void nb_meet_dismiss(int link, int signal)
{
	struct nb_record record;
	nb_record_init(&record, NB_SAYS_KILLED, (uint32_t)signal);
	(void)nb_record_send(link, &record, NULL, 0, 0);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void nb_meet_clear(struct nb_handover *h)
{
	close_one(&h->in);
	close_one(&h->err);
	close_one(&h->directory);
	close_one(&h->listener);
	if (h->link >= 0)
		shutdown(h->link, SHUT_RDWR); /* a thread that waits in poll() keeps it open otherwise */
	close_one(&h->link);
	free(h->argv);
	free(h->text);
	h->argv = h->environment = NULL;
	h->text = NULL;
	h->argc = 0;
}
