/* The writer of a FIFO: finds the reader, hands over, waits. */
#include "tools/fold/message.h"
#include "tools/fold/peer.h"
#include "tools/fold/surroundings.h"

#include "common/die.h"
#include "common/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seconds, besides those of the search for a reader: before the first look at who reads; between looks; between
 * attempts to connect; and, once there is a connection, to look at one process. */
static const double FIRST_LOOK = 0.0005, LOOK = 0.001, ATTEMPT = 0.0001, PATIENCE = 1;

/* Says why it stays with plain bytes; returns 0. */
static int plain(char why[NB_WHY_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int plain(char why[NB_WHY_SIZE], const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(why, NB_WHY_SIZE, format, ap);
	va_end(ap);
	return 0;
}

/* Made before a signal handler may need it. */
static struct nb_record signalled;

/* ---- finding the reader ------------------------------------------------------------------------- */

/* Whether it is worth while to try again: looks at who reads. */
static int may_come(const struct nb_fifo *fifo, double until, int *nobody, char why[NB_WHY_SIZE])
{
	char name[NB_HOLDER_NAME];
	const enum nb_holder holder = nb_fifo_holder(fifo, NB_READ_END, until, name);
	if (holder == NB_HOLDER_OTHER)
		return plain(why, "%s reads", name);
	if (holder != NB_HOLDER_NONE) {
		*nobody = 0;
		if (*name)
			plain(why, holder == NB_HOLDER_OURS ? "%s does not fold" : "%s reads", name);
		return 1;
	}
	plain(why, "nobody is seen to read");
	return ++*nobody < 2; /* the end may have been on its way from one process to another */
}

static int has_no_reader(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};
	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* A connection to whoever has the name of the FIFO, or -1. */
static int connect_to(int fd, const struct nb_fifo *fifo, char why[NB_WHY_SIZE])
{
	struct sockaddr_un address;
	const socklen_t length = nb_fold_address(&address, fifo);
	const double start = nb_now(), until = start + NB_MEET_SEARCH;
	double look = start + FIRST_LOOK;
	int nobody = 0;
	int link = nb_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (link < 0)
		return plain(why, "no socket: %s", strerror(errno)) - 1;
	plain(why, "the reader does not fold");
	while (connect(link, (const struct sockaddr *)&address, length)) {
		int again = errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR;
		if (!again)
			plain(why, "no connection: %s", strerror(errno));
		else if (has_no_reader(fd))
			again = plain(why, "nobody reads");
		double now = nb_now();
		if (!again || now >= until || (now >= look && !may_come(fifo, until, &nobody, why))) {
			close(link);
			return -1;
		}
		now = nb_now();
		if (now >= look)
			look = now + LOOK;
		nb_pause(ATTEMPT);
	}
	return link;
}

/* Whether the process that has bound the name may have done so: it reads the FIFO; or it has handed over, as a program
 * of this build, and another one of this build reads it.  Its rights are those of the host, to which it has handed over
 * if it is not the host. */
static int listener_is_right(int link, const struct nb_fifo *fifo, char why[NB_WHY_SIZE])
{
	char name[NB_HOLDER_NAME];
	const pid_t pid = nb_peer_of(link);
	if (pid == getpid())
		return plain(why, "it reads its own output");
	const int same = pid > 0 && nb_runs_this_program(pid);
	const int reads = pid > 0 && nb_fifo_held(pid, fifo, NB_READ_END, nb_now() + PATIENCE);
	if (same && (reads || nb_fifo_holder(fifo, NB_READ_END, nb_now() + NB_MEET_SEARCH, name) == NB_HOLDER_OURS)) {
		const char *differs = nb_surroundings_differ(pid, NB_SAME_RIGHTS);
		return differs ? plain(why, "%s", differs) : 1;
	}
	if (reads)
		return plain(why, "the reader is another program, or a copy or another build of this one");
	return plain(why, "another program has the name of the socket");
}

/* ---- handing over ------------------------------------------------------------------------------- */

static int host_is_right(int link, const struct nb_fifo *fifo, int commands, char why[NB_WHY_SIZE])
{
	struct nb_record hello;
	pid_t pid = 0;
	const int got = nb_record_receive(link, &hello, NULL, NULL, &pid, -1);
	if (got == 0)
		return plain(why, "the reader does not answer");
	if (got > 0 && hello.says == NB_SAYS_REFUSED)
		return plain(why, "%s", hello.text);
	if (got < 0 || hello.says != NB_SAYS_HELLO || pid <= 0)
		return plain(why, "the reader is of another build");
	if (!nb_runs_this_program(pid) || !nb_fifo_held_at(pid, (int)hello.value, fifo, NB_READ_END))
		return plain(why, "another program answers for the reader");
	return commands && !nb_inherits_same(pid) ? plain(why, "other open files for its commands") : 1;
}

/* What is offered, which takes a moment, while the host is on its way. */
static void gather(const struct nb_handover *offer, int given[NB_OFFERED])
{
	given[NB_OFFERS_IN] = offer->in;
	given[NB_OFFERS_ERR] = offer->err;
	given[NB_OFFERS_LISTENER] = offer->listener;
	given[NB_OFFERS_DIRECTORY] = offer->directory >= 0 ? fcntl(offer->directory, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
							   : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	given[NB_OFFERS_STRINGS] = nb_strings_pack(offer->argc, offer->argv, offer->environment);
	nb_surroundings_note();
}

/* Closes what was made for the offer. */
static void drop(const int given[NB_OFFERED])
{
	for (int i = 0; i < NB_OFFERS_IN; i++)
		if (given[i] >= 0)
			close(given[i]);
}

static int offer_all(int link, const int given[NB_OFFERED], char why[NB_WHY_SIZE])
{
	struct nb_record record;
	int fd[NB_OFFERED], n = 0;
	nb_record_init(&record, NB_SAYS_OFFER, 0);
	for (int i = 0; i < NB_OFFERED; i++)
		if (given[i] >= 0 && fcntl(given[i], F_GETFD) >= 0) {
			record.value |= 1U << i;
			fd[n++] = given[i];
		}
	if (given[NB_OFFERS_STRINGS] < 0)
		return plain(why, "its command line and environment cannot be sent");
	if (given[NB_OFFERS_DIRECTORY] < 0)
		return plain(why, "its working directory cannot be opened");
	if (nb_record_send(link, &record, fd, n, 0) && errno != EPIPE) /* EPIPE: the host has said why before */
		return plain(why, "nothing can be sent: %s", strerror(errno));
	return 1;
}

static int accepted(int link, char why[NB_WHY_SIZE])
{
	struct nb_record answer;
	int got;
	/* a greeting of a host that refuses in the next moment may still be there */
	while ((got = nb_record_receive(link, &answer, NULL, NULL, NULL, -1)) > 0 && answer.says == NB_SAYS_HELLO)
		;
	if (got > 0 && answer.says == NB_SAYS_ACCEPTED)
		return 1;
	if (got > 0 && answer.says == NB_SAYS_REFUSED)
		return plain(why, "%s", answer.text);
	/* bytes after an acceptance would be a second copy: nb_meet_wait hears what became of it, or fails */
	if (got == NB_RECORD_UNHEARD)
		return 1;
	return plain(why, "the reader has gone");
}

/* The messages of a program would go into the stream. */
static int errors_go_to(const struct nb_fifo *fifo, int err)
{
	struct stat st;
	return err >= 0 && fstat(err, &st) == 0 && st.st_dev == fifo->device && st.st_ino == fifo->inode;
}

int nb_meet_hand_over(int fd, const struct nb_handover *offer, int *link, char why[NB_WHY_SIZE])
{
	struct nb_fifo fifo;
	*link = -1;
	if (nb_fold_is_off())
		return plain(why, "NB_FOLD=off");
	if (nb_fifo_of(&fifo, fd))
		return plain(why, "the output is no pipe");
	if (errors_go_to(&fifo, offer->err))
		return plain(why, "its messages go into the same pipe");
	const int to = connect_to(fd, &fifo, why), on = 1;
	if (to < 0)
		return 0;
	setsockopt(to, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
	int given[NB_OFFERED];
	gather(offer, given);
	const int taken = listener_is_right(to, &fifo, why) && host_is_right(to, &fifo, offer->commands, why) &&
			  offer_all(to, given, why) && accepted(to, why);
	drop(given);
	if (!taken) {
		close(to);
		return 0;
	}
	close(fd);
	if (offer->in >= 0)
		close(offer->in);
	if (offer->listener >= 0)
		close(offer->listener);
	nb_record_init(&signalled, NB_SAYS_SIGNALLED, 0);
	*link = to;
	return 1;
}

/* ---- waiting ------------------------------------------------------------------------------------ */

int nb_meet_signalled(int link, int signal)
{
	signalled.value = (uint32_t)signal;
	return nb_record_send(link, &signalled, NULL, 0, 0);
}

int nb_meet_wait(int link, void (*before_end)(void))
{
	struct nb_record answer;
	int got;
	/* an acceptance that was not heard before */
	while ((got = nb_record_receive(link, &answer, NULL, NULL, NULL, -1)) > 0 && answer.says == NB_SAYS_ACCEPTED)
		;
	close(link);
	if (got > 0 && answer.says == NB_SAYS_EXITED)
		return (int)(answer.value & 255);
	if (before_end)
		before_end();
	const int number = got > 0 && answer.says == NB_SAYS_KILLED && answer.value < NSIG ? (int)answer.value
											   : SIGPIPE;
	if (number > 0 && number != SIGPIPE)
		return nb_end_by_signal(number);
	raise(SIGPIPE);
	return NB_MEET_BROKEN;
}
