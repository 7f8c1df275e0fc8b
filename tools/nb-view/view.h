/* view.h - an instance of nb-view, for the files of the tool.
 *
 * The instance passes frames on and leaves the newest one to a thread, the host, which makes what pages want to see
 * and gives it to a process that serves them (server/server.h).  The instance never waits for the host, and the host
 * works only while somebody looks, and then a small share of the time. */
#ifndef NB_VIEW_H
#define NB_VIEW_H

#include "formats/stream/stream.h"
#include "tools/filter/filter.h"
#include "tools/filter/report.h"
#include "tools/nb-view/talk.h"

#include <pthread.h>
#include <time.h>

enum { VIEW_POINTS = 1 << 20, VIEW_SAMPLE = 1 << 17, VIEW_NOTES = 16, VIEW_DRAWS = 16, VIEW_HELD = 64 << 10 };

struct view {
	int port, open, exits;
	const char *address;
	uint64_t keep;
	struct host *host;
	int stays;	     /* the host belongs to the end of the process */
	unsigned char *held; /* bytes that are still to be passed on, VIEW_HELD at most */
	size_t nheld;
	int (*wait)(void *run); /* of the reader, NULL: none */
};

/* What a text of --by has been found to be, for all frames of a run. */
struct note {
	uint32_t by;
	int logarithmic, fixed;
	double low, high;
};

/* Of the system, NaN where it cannot be told. */
struct quantities {
	uint64_t number;		       /* of the frame that they are of: 1 more */
	double drift, virial, etot, radius[3]; /* that hold 10, 50 and 90 % of the mass */
};

struct host {
	struct nb_voice voice; /* of the thread; the first member */
	jmp_buf failed;
	pthread_t thread;
	int has_thread, threads;
	int socket, wake[2]; /* to the server; to the thread */
	pid_t process;
	double begun;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* with the lock: */
	struct nb_frame waiting; /* the newest frame, if there is one that the thread has not taken */
	const struct nb_backend *backend;
	int occupied, hungry, final, quit;
	uint64_t passed;
	int gone;    /* the server is */
	int looked;  /* somebody looks, */
	int shown;   /* and has been sent the last of all frames */
	int follows; /* frames wait for whoever looks */
	/* of the thread: */
	struct nb_frame frame; /* that is looked at */
	const struct nb_backend *now;
	int has_frame, entered, ended, told_end;
	uint64_t number, sent, first; /* of the frame; 1 more than that of the last, and of the first one sent */
	struct talk_needs needs, sent_needs;
	int fresh; /* the needs have not been met since they came */
	double spent;
	int alone;     /* nobody else seems to want the processor */
	uint32_t *row; /* which body is point i */
	size_t nrow, of;
	struct note note[VIEW_NOTES];
	size_t nnote;
	struct nb_run *stats; /* an instance of nb-stats, NULL: none */
	struct quantities quantities;
	struct painter *painter;
	int warned; /* that a frame cannot be drawn */
	struct view_draw {
		uint32_t client;
		struct talk_want want;
	} draw[VIEW_DRAWS]; /* pictures that are wanted */
	size_t ndraw;
};

/* ---- start.c ---- */

/* Starts the server, or ends the tool; prints where the page is. */
struct host *nb_view_start(struct nb_run *run, const struct view *view);

/* ---- quantities.c ---- */

void nb_view_start_stats(struct host *host);
void nb_view_stop_stats(struct host *host);
/* host->quantities of the frame, unless that takes too long now. */
void nb_view_measure(struct host *host);

/* ---- host.c ---- */

/* Signals go to the other threads.  0, or an errno. */
int nb_view_start_thread(struct host *host);
/* The newest frame, whose contents it takes. */
void nb_view_offer(struct host *host, const struct nb_backend *backend, struct nb_frame *frame);
/* There will be no other frame.  patience: seconds to wait until the last one is on its way to those who look. */
void nb_view_end(struct host *host, double patience);
/* Waits until somebody takes frames, and has taken the newest; 0: nobody will. */
int nb_view_wait(struct host *host, int for_first);
/* Waits until the user has seen enough; does not return. */
_Noreturn void nb_view_linger(struct host *host);
void nb_view_stop(struct host *host);

/* ---- talk.c ---- */

/* To the server, of several parts one after the other; 0, or -1: it has gone. */
struct talk_part {
	const void *data;
	uint64_t bytes;
};
int nb_talk_send(int socket, uint32_t kind, uint32_t client, const struct talk_part *part, size_t n);
/* All of it; 0, or -1 at the end. */
int nb_talk_receive(int socket, void *to, uint64_t bytes);
void nb_talk_real(FILE *to, double x);
/* The first message of a stream; to be freed. */
char *nb_view_hello(const struct nb_run *run, const struct view *view, size_t *bytes);

/* ---- shot.c, describe.c, picture.c, rows.c ---- */

/* Sends the frame as the clients need it.  0, or -1: the server has gone. */
int nb_view_send_frame(struct host *host);
/* Answers about a body. */
int nb_view_send_body(struct host *host, uint32_t request, const struct talk_ask *ask);
/* Draws a picture of the frame, and sends it to the client; nothing if there is none. */
int nb_view_send_picture(struct host *host, uint32_t client, const struct talk_want *want);
void nb_view_release_painter(struct host *host);
/* Threads to work with: one beside a run. */
int nb_view_threads(const struct host *host);
/* Before the thread uses a device. */
void nb_view_enter(struct host *host);
/* Of a clock, 0 if that is gone. */
double nb_view_seconds(clockid_t clock);
/* Does something that may end in nb_die: 0, or -1 and what it would have said. */
int nb_view_try(struct host *host, void (*act)(void *context), void *context, char *why, size_t size);

extern const unsigned char nb_view_server[], nb_view_page[];
extern const uint64_t nb_view_server_size, nb_view_page_size; /* server 0: this build has none */

#endif
