/* What comes from the host, and the report to it of what pages need. */
#include "tools/nb-view/server/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- from the host ------------------------------------------------------------------------------ */

void nb_server_frame(struct server *s, unsigned char *data, size_t bytes)
{
	struct shot *shot = malloc(sizeof *shot + bytes);
	if (!shot || bytes < sizeof shot->head) {
		free(shot);
		free(data);
		return;
	}
	memcpy(shot->data, data, bytes);
	free(data);
	memcpy(&shot->head, shot->data, sizeof shot->head);
	shot->users = 1;
	const struct talk_frame *head = &shot->head;
	const unsigned char *at = shot->data + talk_padded(sizeof *head);
	for (uint32_t k = 0; k < head->nview; k++) {
		shot->json[k] = at;
		at += talk_padded(head->view[k].bytes);
	}
	shot->pos = at;
	at += talk_padded(talk_column(0, head->n));
	for (uint32_t k = 1; k < TALK_COLUMNS; k++)
		if (head->columns & 1u << k) {
			shot->column[k] = at;
			at += talk_padded(talk_column(1u << k, head->n));
		}
	for (uint32_t k = 0; k < TALK_VIEWS; k++) {
		shot->value[k] = NULL;
		if (k < head->nview && head->view[k].values) {
			shot->value[k] = at;
			at += talk_padded(talk_column(TALK_VALUE, head->n));
		}
	}
	nb_shot_release(&s->shot);
	s->shot = shot;
	s->changed = 1;
	s->reported.ready = UINT32_MAX; /* the host waits to hear of it again */
}

void nb_server_picture(struct server *s, uint32_t number, unsigned char *data, size_t bytes)
{
	for (struct client *c = s->client; c < s->client + CLIENTS; c++)
		if (c->used && c->stream && c->number == number) {
			c->draws = 0;
			if (bytes == 0)
				break;
			free(c->picture);
			c->picture = data;
			c->picture_bytes = bytes;
			return;
		}
	free(data);
}

/* ---- what is to be done ------------------------------------------------------------------------- */

static int is_busy(const struct server *s, const struct client *c)
{
	return !c->greeted || c->at < c->npiece || c->shot || c->picture || nb_client_suits(s, c) >= 0 ||
	       nb_client_is_through(s, c);
}

/* The other end of a stream that sleeps has closed it. */
static int has_gone(const struct client *c)
{
	char byte;
	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void ask_for_picture(struct server *s, struct client *c)
{
	const int news = c->drawn_number != c->want.number || c->drawn_frame != c->has_frame;
	if (!c->want.draw || !c->has_frame || c->draws || c->picture || !news)
		return;
	c->draws = 1;
	c->drawn_number = c->want.number;
	c->drawn_frame = c->has_frame;
	nb_server_tell(s, TALK_DRAW, c->number, &c->want, sizeof c->want);
}

static void note_needs(struct server *s)
{
	struct talk_needs needs;
	memset(&needs, 0, sizeof needs);
	for (const struct client *c = s->client; c < s->client + CLIENTS; c++) {
		if (!c->used || !c->stream)
			continue;
		needs.clients++;
		needs.ready += !is_busy(s, c);
		needs.columns |= c->want.columns;
		needs.most = c->want.most > needs.most ? c->want.most : needs.most;
		uint32_t k = 0;
		while (k < needs.nview && needs.view[k].by != c->by)
			k++;
		if (k == needs.nview && k < TALK_VIEWS) {
			needs.view[k].by = c->by;
			memcpy(needs.view[k].text, c->want.by, sizeof c->want.by);
			needs.nview++;
		}
	}
	if (memcmp(&needs, &s->reported, sizeof needs) == 0)
		return;
	s->reported = needs;
	nb_server_tell(s, TALK_NEEDS, 0, &needs, sizeof needs);
}

int nb_server_look(struct server *s)
{
	int woken = 0;
	for (struct client *c = s->client; c < s->client + CLIENTS; c++) {
		if (!c->used)
			continue;
		if (!c->stream && s->now - c->since > SLOW) {
			nb_client_forget(c);
			continue;
		}
		if (!c->stream)
			continue;
		if (c->sleeps)
			c->gone |= has_gone(c);
		else if (is_busy(s, c) && s->now - c->moved > STUCK)
			shutdown(c->fd, SHUT_RDWR);
		if (c->sleeps && (c->gone || is_busy(s, c))) {
			nb_client_wake(c);
			woken = 1;
		}
		ask_for_picture(s, c);
	}
	if (s->changed)
		note_needs(s);
	s->changed = 0;
	return woken;
}

int nb_server_is_sending(const struct server *s)
{
	for (const struct client *c = s->client; c < s->client + CLIENTS; c++)
		if (c->used && c->stream && is_busy(s, c))
			return 1;
	return 0;
}
