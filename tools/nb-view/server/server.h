/* server.h - the program that serves the page of nb-view to browsers, by libmicrohttpd.
 *
 * A process of its own: whatever strangers send to a port, the run goes on.  One thread, one loop.  What browsers ask
 * for is small and bounded; what they get is the newest frame, once they have taken the one before: nothing is queued.
 */
#ifndef NB_VIEW_SERVER_H
#define NB_VIEW_SERVER_H

#include "tools/nb-view/talk.h"

#include <microhttpd.h>
#include <stddef.h>

enum {
	CLIENTS = 16,	   /* pages that see the run at once */
	CONNECTIONS = 128, /* of all kinds */
	POINTS = 1 << 16,  /* in one message */
	BODY = 4096,	   /* bytes that a page may send */
	SLOW = 5,	   /* seconds: for a request to be complete; that a page may be without its stream */
	STUCK = 30	   /* seconds in which a stream must take something of what is there for it */
};

/* A frame of the host, for as long as somebody takes it. */
struct shot {
	int users;
	struct talk_frame head;
	const unsigned char *json[TALK_VIEWS], *value[TALK_VIEWS], *pos, *column[TALK_COLUMNS];
	unsigned char data[]; /* as it came */
};

/* A page. */
struct client {
	int used;
	uint32_t number, by; /* by: the number of its text */
	struct talk_want want;
	double since;
	/* its stream, NULL: none */
	struct MHD_Connection *stream;
	int fd, sleeps, gone;
	double moved; /* when it last took something */
	/* what it is being sent: pieces of a message */
	struct piece {
		const void *data;
		size_t bytes;
	} piece[20];
	size_t npiece, at, offset;
	uint64_t head[4]; /* of the message */
	struct shot *shot;
	int view;	    /* of the shot */
	int greeted, ended; /* it has got the first message; the last one */
	uint32_t first;	    /* next point to be sent */
	uint32_t columns;   /* of those that are */
	uint64_t most;	    /* points of the frame, sent or to be sent */
	uint64_t has_frame; /* what it has got: 1 more than the number of the frame, 0: nothing; ... */
	uint32_t has_columns, has_by;
	unsigned char *picture, *sent_picture; /* to be sent next; being sent */
	size_t picture_bytes;
	int draws;	       /* a picture is on its way from the host */
	uint32_t drawn_number; /* of the want that it is for, and the frame */
	uint64_t drawn_frame;
};

/* Somebody who waits for the columns of a body. */
struct request {
	char body[BODY]; /* of a request with one */
	size_t used;
	struct MHD_Connection *connection;
	uint32_t number;
	int asked;
	double since;
	char *answer;
	size_t bytes;
	struct request *next; /* of those who wait */
};

struct server {
	struct MHD_Daemon *daemon;
	struct talk_setup setup;
	int listener, ended;
	unsigned char *page, *hello; /* as they are to be sent */
	size_t page_bytes, hello_bytes;
	struct shot *shot; /* the newest */
	struct client client[CLIENTS];
	uint32_t nby, nrequest;
	struct request *waiting;
	double now;
	int changed; /* the host is to get a report of what is needed */
	struct talk_needs reported;
	struct {
		struct MHD_Connection *of;
		int fd;
		int begun, lasts; /* a request has a whole head; it may last, as a stream does */
		double since;
	} connection[CONNECTIONS + 1];
	/* to the host */
	unsigned char out[1 << 16];
	size_t nout;
	/* from the host */
	struct talk_head head;
	unsigned char *in;
	size_t nin;
};

/* ---- server.c ---- */

/* Tells the host; lost if it has not read for long. */
void nb_server_tell(struct server *s, enum talk kind, uint32_t client, const void *data, size_t bytes);

/* The connection has begun a request, which may last; or it has ended one. */
void nb_server_note(struct server *s, const struct MHD_Connection *connection, int begun, int lasts);

/* ---- request.c ---- */

/* Every request comes here. */
enum MHD_Result nb_server_answer(void *server, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *data, size_t *bytes, void **state);
void nb_server_completed(
	void *server, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why);
/* The host says what is known of a body. */
void nb_server_body(struct server *s, uint32_t number, unsigned char *answer, size_t bytes);
void nb_server_expire(struct server *s);

/* ---- want.c ---- */

/* What a page says that it wants.  0, or -1: nothing to make sense of. */
int nb_want_read(struct talk_want *want, const char *json, size_t bytes);

/* ---- stream.c ---- */

/* The page of this number, NULL: there are too many. */
struct client *nb_client_of(struct server *s, uint32_t number);
/* It has said what it wants. */
void nb_client_wants(struct server *s, struct client *c, const struct talk_want *want);
enum MHD_Result nb_client_stream(struct server *s, struct client *c, struct MHD_Connection *connection);
void nb_client_forget(struct client *c);
void nb_client_wake(struct client *c);
/* The view of the newest frame that suits a page; -1: there is none, or it has that. */
int nb_client_suits(const struct server *s, const struct client *c);
/* Whether it has got all, except the message that says so. */
int nb_client_is_through(const struct server *s, const struct client *c);
void nb_shot_release(struct shot **shot);

/* ---- needs.c ---- */

/* A frame has come, or a picture for one of them; both are taken. */
void nb_server_frame(struct server *s, unsigned char *data, size_t bytes);
void nb_server_picture(struct server *s, uint32_t client, unsigned char *data, size_t bytes);
/* Wakes streams for which there is something, ends those that are stuck or gone, and notes what is needed.  Whether a
 * stream has been woken. */
int nb_server_look(struct server *s);
/* Whether a stream has not got all that is there for it. */
int nb_server_is_sending(const struct server *s);

#endif
