/* What pages are sent: messages of a stream, made piece by piece from the newest frame while it is taken. */
#include "tools/nb-view/server/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Messages to the page. */
enum { HELLO = 1, FRAME, POINTS_OF, PICTURE, END };

static const char zeros[8];

void nb_shot_release(struct shot **shot)
{
	if (*shot && --(*shot)->users == 0)
		free(*shot);
	*shot = NULL;
}

/* ---- clients ------------------------------------------------------------------------------------ */

struct client *nb_client_of(struct server *s, uint32_t number)
{
	struct client *room = NULL;
	for (struct client *c = s->client; c < s->client + CLIENTS; c++)
		if (c->used && c->number == number)
			return c;
		else if (!c->used)
			room = c;
	if (room)
		*room = (struct client){.used = 1, .number = number, .fd = -1, .since = s->now};
	return room;
}

void nb_client_forget(struct client *c)
{
	nb_shot_release(&c->shot);
	free(c->picture);
	free(c->sent_picture);
	*c = (struct client){.used = 0};
}

/* The number of a text: that of another page which has the same, or a new one. */
static uint32_t number_of(struct server *s, const char *by)
{
	for (const struct client *c = s->client; c < s->client + CLIENTS; c++)
		if (c->used && strcmp(c->want.by, by) == 0)
			return c->by;
	return ++s->nby;
}

void nb_client_wants(struct server *s, struct client *c, const struct talk_want *want)
{
	const uint32_t by = number_of(s, want->by);
	c->want = *want;
	c->by = by;
	s->changed = 1;
}

/* ---- pieces ------------------------------------------------------------------------------------- */

static void add(struct client *c, const void *data, size_t bytes)
{
	if (bytes)
		c->piece[c->npiece++] = (struct piece){data, bytes};
}

static void add_padded(struct client *c, const void *data, size_t bytes)
{
	add(c, data, bytes);
	add(c, zeros, talk_padded(bytes) - bytes);
}

static void begin(struct client *c, uint32_t kind, uint64_t bytes, uint64_t frame)
{
	c->npiece = c->at = c->offset = 0;
	c->head[0] = kind | talk_padded(bytes) << 32;
	c->head[1] = frame;
	add(c, c->head, 16);
}

static uint64_t in_columns(const struct client *c, uint64_t n)
{
	uint64_t bytes = 16 + talk_padded(talk_column(0, n));
	for (uint32_t bit = 1; bit < 1u << TALK_COLUMNS; bit *= 2)
		if (c->columns & bit)
			bytes += talk_padded(talk_column(bit, n));
	return bytes;
}

static void send_points(struct client *c)
{
	const struct shot *shot = c->shot;
	const uint64_t left = c->most - c->first, n = left < POINTS ? left : POINTS, first = c->first;
	begin(c, POINTS_OF, in_columns(c, n), shot->head.number);
	c->head[2] = first | n << 32;
	c->head[3] = c->columns;
	add(c, c->head + 2, 16);
	add_padded(c, shot->pos + talk_column(0, first), talk_column(0, n));
	for (uint32_t k = 0; k < TALK_COLUMNS; k++) {
		const unsigned char *column = k == 0 ? shot->value[c->view] : shot->column[k];
		if (c->columns & 1u << k)
			add_padded(c, column + talk_column(1u << k, first), talk_column(1u << k, n));
	}
	c->first += (uint32_t)n;
}

static uint32_t offered(const struct shot *shot, int view, uint32_t columns)
{
	return columns & (shot->head.columns | (shot->value[view] ? TALK_VALUE : 0));
}

static uint64_t points_for(const struct shot *shot, const struct client *c)
{
	return shot->head.n < c->want.most ? shot->head.n : c->want.most;
}

int nb_client_suits(const struct server *s, const struct client *c)
{
	const struct shot *shot = s->shot;
	if (!shot)
		return -1;
	for (uint32_t k = 0; k < shot->head.nview; k++) {
		if (shot->head.view[k].by != c->by)
			continue;
		const int same = c->has_frame == shot->head.number + 1 && c->has_by == c->by &&
				 !(offered(shot, (int)k, c->want.columns) & ~c->has_columns) &&
				 c->most >= points_for(shot, c);
		return same ? -1 : (int)k;
	}
	return -1;
}

int nb_client_is_through(const struct server *s, const struct client *c)
{
	const int has_last = !s->shot || c->has_frame == s->shot->head.number + 1;
	return s->ended && !c->ended && (has_last || s->ended > 1);
}

static void begin_frame(struct server *s, struct client *c, int view)
{
	struct shot *shot = s->shot;
	shot->users++;
	c->shot = shot;
	c->view = view;
	c->first = 0;
	c->columns = offered(shot, view, c->want.columns);
	c->most = points_for(shot, c);
	c->has_frame = shot->head.number + 1;
	c->has_columns = c->columns;
	c->has_by = c->by;
	begin(c, FRAME, shot->head.view[view].bytes, shot->head.number);
	add_padded(c, shot->json[view], shot->head.view[view].bytes);
}

static void send_picture(struct client *c)
{
	free(c->sent_picture);
	c->sent_picture = c->picture;
	c->picture = NULL;
	begin(c, PICTURE, c->picture_bytes, c->has_frame ? c->has_frame - 1 : 0);
	add_padded(c, c->sent_picture, c->picture_bytes);
}

/* The next message: 1, or 0 if there is none. */
static int next(struct server *s, struct client *c)
{
	int view;
	if (!c->greeted) {
		begin(c, HELLO, s->hello_bytes, 0);
		add_padded(c, s->hello, s->hello_bytes);
		c->greeted = 1;
	} else if (c->picture) {
		send_picture(c);
	} else if (c->shot && c->first < c->most) {
		send_points(c);
	} else if (nb_shot_release(&c->shot), (view = nb_client_suits(s, c)) >= 0) {
		begin_frame(s, c, view);
		s->changed = 1;
	} else if (nb_client_is_through(s, c)) {
		begin(c, END, 0, c->has_frame ? c->has_frame - 1 : 0);
		c->ended = 1;
	} else {
		s->changed = 1;
		return 0;
	}
	return 1;
}

struct reader {
	struct server *server;
	struct client *client;
	uint32_t number;
	struct MHD_Connection *stream;
};

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t room)
{
	const struct reader *r = context;
	struct client *c = r->client;
	size_t n = 0;
	(void)position;
	if (c->stream != r->stream || c->gone) /* it has opened another one */
		return MHD_CONTENT_READER_END_WITH_ERROR;
	while (n < room && (c->at < c->npiece || next(r->server, c))) {
		const struct piece *p = &c->piece[c->at];
		const size_t part = p->bytes - c->offset < room - n ? p->bytes - c->offset : room - n;
		memcpy(to + n, (const char *)p->data + c->offset, part);
		n += part;
		c->offset += part;
		if (c->offset == p->bytes) {
			c->at++;
			c->offset = 0;
		}
	}
	c->moved = r->server->now;
	if (n == 0) {
		c->sleeps = 1;
		MHD_suspend_connection(r->stream);
	}
	return (ssize_t)n;
}

static void stream_ends(void *context)
{
	struct reader *r = context;
	if (r->client->stream == r->stream) {
		r->server->changed = 1;
		nb_client_forget(r->client);
	}
	free(r);
}

void nb_client_wake(struct client *c)
{
	if (c->sleeps)
		MHD_resume_connection(c->stream);
	c->sleeps = 0;
}

enum MHD_Result nb_client_stream(struct server *s, struct client *c, struct MHD_Connection *connection)
{
	enum { BLOCK = 64 << 10 };
	struct reader *r = malloc(sizeof *r);
	if (!r)
		return MHD_NO;
	if (c->stream) { /* what it has of the old one is lost; what it wants is known */
		const struct client old = *c;
		nb_client_wake(c);
		shutdown(old.fd, SHUT_RDWR);
		nb_shot_release(&c->shot);
		free(c->picture);
		free(c->sent_picture);
		*c = (struct client){.used = 1, .number = old.number, .by = old.by, .want = old.want};
	}
	*r = (struct reader){s, c, c->number, connection};
	c->stream = connection;
	c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->moved = c->since = s->now;
	s->changed = 1;
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK, read_stream, r, stream_ends);
	if (!response) {
		c->stream = NULL;
		free(r);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", "application/octet-stream");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	const enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return queued;
}
