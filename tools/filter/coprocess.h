/* coprocess.h - a shell command that frames pass through, kept running for many frames.
 *
 * The command runs once, by "/bin/sh -c", with pipes as its standard input and output; standard error is
 * inherited.  A thread writes, so a frame can come back while it is still on its way out: whatever the
 * command buffers, nothing waits for each other.  The command runs in a process group of its own, so that
 * all of a pipeline can be ended.  No process of that group outlives this one: the exit of this process ends them, and
 * so do SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE, unless ignored, which are passed on to them first, and any other
 * end (group.h).  Library code: nothing is printed, nothing exits. */
#ifndef NB_FILTER_COPROCESS_H
#define NB_FILTER_COPROCESS_H

#include "formats/stream/stream.h"
#include "tools/filter/group.h"
#include "tools/filter/ring.h"

#include <pthread.h>
#include <sys/types.h>

/* What of the command this process waits for. */
enum nb_awaited { NB_AWAITED_ROOM, NB_AWAITED_ANSWER, NB_AWAITED_REST, NB_AWAITED_END, NB_AWAITED_EXIT };
enum nb_gave_up {
	NB_GAVE_UP_NOT,
	NB_GAVE_UP_WRITING,
	NB_GAVE_UP_LOST,
	NB_GAVE_UP_LATE,
	NB_GAVE_UP_HASTILY,
	NB_GAVE_UP_CONVERTED
};

struct nb_coprocess {
	struct nb_group group;
	char error[2 * NB_ERROR_SIZE]; /* after a failure: what the command did, e.g. "ended with status 3" */
	/* May be set after the start.  Seconds in which no byte moves, in either direction ... */
	double patience; /* ... after which the command has failed; 0: any number; */
	double haste;	 /* ... after which it has, once a signal asks for an early end (interrupt.h); 0: any number */
	/* ... after which slow is called, while an answer is awaited, or anything else, and a command that has lost its
	 * last program is given up; */
	double notice_answer, notice;
	void (*slow)(void *context, enum nb_awaited awaited, double seconds); /* once for each; NULL: nobody */
	void *context;
	/* private */
	char **environment;
	struct nb_reader from;
	struct nb_writer to;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int writing;	       /* the thread exists, also after nb_coprocess_kill if it is stuck */
	int quit;	       /* it shall end */
	int written;	       /* it ends, and touches nothing more */
	int job;	       /* what it is doing */
	struct nb_frame frame; /* what it writes */
	int write_error;       /* errno of a write that failed */
	int listener;	       /* where its last program connects, -1: nowhere */
	int looked;	       /* the ring has been collected */
	struct nb_ring ring;
	enum nb_awaited awaited;
	enum nb_gave_up gave_up; /* why nothing more was waited for */
	unsigned noticed;	 /* bits of enum nb_awaited */
	int ending;		 /* no more frames are sent: the command shall end its stream */
};

/* Starts the command with this environment and standard error. 0, or -1 with co->error; so in all that follows. */
NB_MUST_CHECK int nb_coprocess_start(struct nb_coprocess *co, const char *command, char **environment, int err);
/* Whether frames go through the command without being written: all its programs are of this build, and their work is
 * done in this process (tools/filter/ring.h).  The first call waits until that is known. */
int nb_coprocess_is_folded(struct nb_coprocess *co);
/* Begins to send a frame and returns at once.  The frame's contents move to the co-process, which frees them
 * once they are on their way; *frame is then empty. */
NB_MUST_CHECK int nb_coprocess_send(struct nb_coprocess *co, struct nb_frame *frame);
/* Reads the next frame that the command writes.  An end of its stream is a failure. */
NB_MUST_CHECK int nb_coprocess_receive(struct nb_coprocess *co, struct nb_frame *frame);
/* Ends the stream that the command reads, and waits for the end of the one that it writes, which must hold
 * no more frames, and for the command, which must exit with status 0.  Processes that it leaves behind have 2 seconds
 * to end, then nb_coprocess_kill ends them. */
NB_MUST_CHECK int nb_coprocess_finish(struct nb_coprocess *co);
/* Ends all processes of the command, gently and then by force, and the thread; nothing if all is over. */
void nb_coprocess_kill(struct nb_coprocess *co);

#endif
