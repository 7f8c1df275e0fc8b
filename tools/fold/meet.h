/* meet.h - how the programs on the two ends of a FIFO find each other, and how the writer hands its work to the reader.
 *
 * In `nb-gen | nb-force | nb-stats` the processes stay, their work moves.  A process whose standard input is a FIFO
 * listens, as its first act, on a socket whose name is made of the user, device and inode of the FIFO (nb_meet_listen).
 * A process whose standard output is a FIFO looks for that socket before any work.  If the reader is of the same build
 * and has the same surroundings, the writer sends its command line, environment, working directory, standard input,
 * standard error and its own listening socket (nb_meet_hand_over), and then only waits for its exit status
 * (nb_meet_wait).  The reader's process does the work (nb_meet_accept, nb_meet_take, nb_meet_tell).  As it also gets
 * the listening socket, the last program of a chain collects the whole chain.
 *
 * Whatever goes wrong before acceptance, the two go on with plain bytes, which always work.  The name of a socket is no
 * secret, and everybody can connect: a stranger can keep two programs from folding, by taking the name first or by
 * filling the queue of thousands, and can do nothing else.  So each side looks in /proc at the other, which must run
 * this very program, as the same user, and hold the other end of exactly this FIFO (holder.h), in the same surroundings
 * (surroundings.h).  The reader is
 *   - of the writer:  SO_PEERCRED of the connection;
 *   - of the host:    the credentials with its first record, as the socket may be one that was handed over.
 * The writer looks at the surroundings of the first, before the host has time for it; the host has the same rights, as
 * whoever hands over his socket has looked at it.
 *
 * Library code: nothing is printed, nothing exits (except where nb_meet_wait raises a signal).  All descriptors are
 * close-on-exec and above standard error.  NB_FOLD=off in the environment: nobody listens and nobody looks. */
#ifndef NB_FOLD_MEET_H
#define NB_FOLD_MEET_H

#include "common/status.h"
#include "tools/fold/holder.h"

#include <sys/types.h>

enum { NB_WHY_SIZE = 160 };

/* What a program hands to the one that takes over its work.  As the writer offers it, all is its own; as the reader
 * gets it, the structure owns all. */
struct nb_handover {
	pid_t pid; /* of the process that waits; not of an offer */
	int argc;
	char **argv;	    /* NULL-terminated; argv[0] is the name of the tool */
	char **environment; /* NULL-terminated, as environ */
	int in, err;	    /* its standard input and standard error; -1: closed */
	int directory;	    /* its working directory (O_PATH); in an offer -1: the one that it is in */
	int listener;	    /* its listening socket; -1: none */
	int commands;	    /* of an offer: it starts commands, which inherit what is open */
	int link;   /* the waiting process: it gets its exit status; end of file: it has died.  Not of an offer */
	char *text; /* private: all strings */
};

/* Listens for the writers of the FIFO whose read end is fd.  The socket, for the life of the process; or -1: fd is no
 * FIFO, somebody has the name, or NB_FOLD=off.  poll() says POLLIN when nb_meet_accept has something to do.  Also notes
 * the surroundings of this process as they are now, so what the process changes later does no harm. */
int nb_meet_listen(int fd);

/* ---- the writer -------------------------------------------------------------------------------- */

/* Seconds that the search for a reader takes at most; under AddressSanitizer programs start that much later. */
#ifdef __SANITIZE_ADDRESS__
#define NB_MEET_SEARCH 0.100
#else
#define NB_MEET_SEARCH 0.020
#endif

/* Looks for the reader of the FIFO whose write end is fd and hands over.  1: accepted; then fd, offer->in and
 * offer->listener have been closed, and nb_meet_wait(*link) must follow at once.  0: plain bytes, nothing has changed,
 * and why says the reason as a phrase, "cat reads" or "another environment: NB_SIMD".
 * The search takes NB_MEET_SEARCH at most (about 0.1 ms with a reader that listens, 1 ms with a reader of another
 * program).  Once a reader of this build is found the function waits for its answer as long as that process lives, as
 * it may be busy with the stream of another writer, or wait for its own input, as nb-step does before its force
 * pipeline has something to do.  (Processes in a circle wait for ever, as they would for bytes: who has a listener
 * writes nothing before it has read.) */
NB_MUST_CHECK int nb_meet_hand_over(int fd, const struct nb_handover *offer, int *link, char why[NB_WHY_SIZE]);

/* Waits for the answer: returns the exit status, or raises the signal that ended the work, after a call of before_end
 * (NULL: nothing).  If that is SIGPIPE, or the host dies without an answer, this is as a write would be: where the
 * signal is ignored it returns NB_MEET_BROKEN, and the caller reports the broken pipe. */
enum { NB_MEET_BROKEN = -1 };
NB_MUST_CHECK int nb_meet_wait(int link, void (*before_end)(void));
/* Tells the host meanwhile that this process got a signal; for a signal handler.  0, or -1. */
NB_MUST_CHECK int nb_meet_signalled(int link, int signal);

/* ---- the reader -------------------------------------------------------------------------------- */

/* Looks at one pending connection to a listener; fifo is the read end of its FIFO.
 *   1  *h is what it offers, all checks are passed: nb_meet_take or nb_meet_refuse must follow
 *   0  refused, and the writer has been told to go on with plain bytes; why says the reason, h->pid who it was
 *  -1  nothing is pending; a stranger is as if nobody had come
 *  NB_MEET_DEAF  the system lets nobody in any more: nb_meet_stop must follow
 * Takes at most 1 s, and that only if a program of this build connects and then says nothing. */
enum { NB_MEET_DEAF = -2 };
NB_MUST_CHECK int nb_meet_accept(int listener, int fifo, struct nb_handover *h, char why[NB_WHY_SIZE]);
/* Closes a listener: who waits there, or comes, goes on with bytes.  Its number stays in use, for the FIFO. */
void nb_meet_stop(int listener, int fifo);
/* Accepts the work.  0; or -1: the writer has died meanwhile, and *h has been cleared. */
NB_MUST_CHECK int nb_meet_take(struct nb_handover *h);
/* Leaves the work to the writer, which reports why after -v; clears *h. */
void nb_meet_refuse(struct nb_handover *h, const char *why);
/* Says how the work ended: exit status, or the number of a signal if that is not 0.  Once, then nb_meet_clear. */
void nb_meet_tell(struct nb_handover *h, int status, int signal);
/* The signal that the process at the other end of a link says it got; 0: it has said nothing. */
int nb_meet_hear(int link);
/* It is to hear nothing more: one that gets a signal shall find out at once that nobody wants to know. */
void nb_meet_be_deaf(int link);
/* Lets that process end by the signal. */
void nb_meet_dismiss(int link, int signal);
/* Closes and frees.  A waiting process that has been told nothing ends as if its reader had gone. */
void nb_meet_clear(struct nb_handover *h);

/* Who else holds the write end of a FIFO, when nothing is pending: whether to wait for a connection.  name: of the
 * program that was found, e.g. "cat"; "" for NB_HOLDER_NONE, and for NB_HOLDER_MAYBE if the 20 ms that it may take were
 * not enough to look at all processes.  Usually 0.1 ms; 1 us when the FIFO has no writer left. */
enum nb_holder nb_meet_writers(int fifo, char name[NB_HOLDER_NAME]);
/* The same of the read end. */
enum nb_holder nb_meet_readers(int fifo, char name[NB_HOLDER_NAME]);
/* Whether a command, the group of a shell, has lost the program that should write to FIFO from: only the shell, which
 * waits, holds the write end, and all others wait for a pipe, or are programs of this build, asleep, one of which reads
 * FIFO to.  0 where the system does not tell.  A few milliseconds, 1 s at most. */
int nb_meet_is_left(pid_t shell, int from, int to);
/* The writer of this build, or 0. */
pid_t nb_meet_writer(int fifo);

#endif
