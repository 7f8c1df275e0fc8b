/* The program that serves the page: server.h.  Descriptor 0 is the socket to nb-view; it ends with that. */
#include "tools/nb-view/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOST = 0, MEMORY = 128 << 10 /* of a connection */ };

static double clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- talking with the host ---------------------------------------------------------------------- */

static void flush_out(struct server *s)
{
	while (s->nout) {
		const ssize_t n = send(HOST, s->out, s->nout, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s->nout -= (size_t)n;
		memmove(s->out, s->out + n, s->nout);
	}
}

void nb_server_tell(struct server *s, enum talk kind, uint32_t client, const void *data, size_t bytes)
{
	const struct talk_head head = {kind, client, bytes};
	if (s->nout + sizeof head + bytes > sizeof s->out)
		return;
	memcpy(s->out + s->nout, &head, sizeof head);
	if (bytes)
		memcpy(s->out + s->nout + sizeof head, data, bytes);
	s->nout += sizeof head + bytes;
	flush_out(s);
}

static _Noreturn void fail(struct server *s, const char *what, const char *why)
{
	char text[300];
	snprintf(text, sizeof text, "%s: %s", what, why);
	nb_server_tell(s, TALK_FAILED, 0, text, strlen(text) + 1);
	exit(1);
}

static void take(struct server *s, uint32_t kind, unsigned char *data, size_t bytes)
{
	switch (kind) {
	case TALK_SETUP:
		if (bytes == sizeof s->setup)
			memcpy(&s->setup, data, bytes);
		break;
	case TALK_PAGE:
		s->page = data;
		s->page_bytes = bytes;
		return;
	case TALK_HELLO:
		s->hello = data;
		s->hello_bytes = bytes;
		return;
	case TALK_FRAME: nb_server_frame(s, data, bytes); return;
	case TALK_PICTURE: nb_server_picture(s, s->head.client, data, bytes); return;
	case TALK_BODY: nb_server_body(s, s->head.client, data, bytes); return;
	case TALK_END: s->ended = 1; break;
	default: break;
	}
	free(data);
}

/* What is there, or (waits) one message at least: 1, or 0 at the end of the host. */
static int hear(struct server *s, int waits)
{
	for (;;) {
		unsigned char *to = s->in ? s->in + (s->nin - sizeof s->head) : (unsigned char *)&s->head + s->nin;
		const size_t whole = sizeof s->head + (s->in ? s->head.bytes : 0);
		const ssize_t n = whole > s->nin ? recv(HOST, to, whole - s->nin, waits ? 0 : MSG_DONTWAIT) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		if (n == 0 && whole > s->nin)
			return 0;
		s->nin += (size_t)n;
		if (s->nin == sizeof s->head && !s->in) {
			s->in = s->head.bytes <= TALK_MOST ? malloc(s->head.bytes + 1) : NULL;
			if (!s->in)
				return 0;
		}
		if (s->in && s->nin == sizeof s->head + s->head.bytes) {
			unsigned char *data = s->in;
			s->in = NULL;
			s->nin = 0;
			take(s, s->head.kind, data, s->head.bytes);
			if (waits)
				return 1;
		}
	}
}

/* ---- listening ---------------------------------------------------------------------------------- */

/* The port that it has got. */
static int open_listener(struct server *s)
{
	const char *address = *s->setup.address ? s->setup.address : "127.0.0.1";
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found;
	struct sockaddr_storage name;
	socklen_t size = sizeof name;
	char port[12];
	const int one = 1;
	snprintf(port, sizeof port, "%d", s->setup.port);
	const int error = getaddrinfo(address, port, &hints, &found);
	if (error)
		fail(s, address, gai_strerror(error));
	s->listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0 || setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
		bind(s->listener, found->ai_addr, found->ai_addrlen) || listen(s->listener, CONNECTIONS) ||
		getsockname(s->listener, (struct sockaddr *)&name, &size)) {
		snprintf(port, sizeof port, "port %d", s->setup.port);
		fail(s, s->setup.port ? port : address, strerror(errno));
	}
	freeaddrinfo(found);
	return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
						: ((struct sockaddr_in *)&name)->sin_port);
}

/* Connections are noted, to end those whose requests do not come to an end. */
static void notify(
	void *context, struct MHD_Connection *connection, void **state, enum MHD_ConnectionNotificationCode code)
{
	struct server *s = context;
	const struct MHD_Connection *was = code == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection;
	(void)state;
	for (int k = 0; k <= CONNECTIONS; k++)
		if (s->connection[k].of == was) {
			s->connection[k].of = was ? NULL : connection;
			s->connection[k].fd =
				MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
			nb_server_note(s, connection, 0, 0);
			return;
		}
}

void nb_server_note(struct server *s, const struct MHD_Connection *connection, int begun, int lasts)
{
	for (int k = 0; k <= CONNECTIONS; k++)
		if (s->connection[k].of == connection) {
			s->connection[k].since = clock_now();
			s->connection[k].begun = begun;
			s->connection[k].lasts = lasts;
		}
}

static void end_slow_connections(struct server *s)
{
	char byte;
	for (int k = 0; k <= CONNECTIONS; k++) {
		const int fd = s->connection[k].fd;
		if (!s->connection[k].of || s->connection[k].lasts)
			continue;
		if (s->now - s->connection[k].since > SLOW ||
			(!s->connection[k].begun && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0))
			shutdown(fd, SHUT_RDWR);
	}
}

static void start(struct server *s)
{
	if (!s->page || !s->hello)
		exit(1);
	const int port = open_listener(s);
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		(MHD_AccessHandlerCallback)nb_server_answer, s, MHD_OPTION_LISTEN_SOCKET, s->listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STUCK,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_NOTIFY_COMPLETED,
		(MHD_RequestCompletedCallback)nb_server_completed, s, MHD_OPTION_NOTIFY_CONNECTION, notify, s,
		MHD_OPTION_END);
	if (!s->daemon)
		fail(s, "libmicrohttpd", "cannot start");
	nb_server_tell(s, TALK_PORT, (uint32_t)port, NULL, 0);
}

/* ---- the loop ----------------------------------------------------------------------------------- */

static void serve(struct server *s)
{
	enum { LOOK = 250 }; /* milliseconds */
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	double looked = 0, gone = 0;
	while (gone == 0 || (s->now - gone < 1 && nb_server_is_sending(s))) {
		struct pollfd file[] = {{info->epoll_fd, POLLIN, 0},
			{gone > 0 ? -1 : HOST, (short)(POLLIN | (s->nout ? POLLOUT : 0)), 0}};
		MHD_UNSIGNED_LONG_LONG timeout;
		if (MHD_get_timeout(s->daemon, &timeout) != MHD_YES || timeout > LOOK)
			timeout = LOOK;
		(void)!poll(file, 2, (int)timeout);
		s->now = clock_now();
		if (gone == 0 && file[1].revents) {
			flush_out(s);
			if (!hear(s, 0)) {
				gone = s->now;
				s->ended = 2;
			}
		}
		MHD_run(s->daemon);
		if (nb_server_look(s)) /* who has been woken is not waited for */
			MHD_run(s->daemon);
		if (s->now - looked > 0.5) {
			looked = s->now;
			nb_server_expire(s);
			end_slow_connections(s);
		}
	}
}

int main(void)
{
	struct server *s = calloc(1, sizeof *s);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* of a terminal: the host says when it is over */
	signal(SIGHUP, SIG_IGN);
	if (!s)
		return 1;
	for (int k = 0; k < 3; k++)
		if (!hear(s, 1))
			return 1;
	s->now = clock_now();
	start(s);
	serve(s);
	return 0; /* connections end with the process */
}
