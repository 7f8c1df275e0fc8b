/* message.h - what goes over the socket between two programs that meet.  Private to tools/fold.
 *
 * Every message is one record of fixed size, with descriptors beside it:
 *   host    NB_SAYS_HELLO     value: its descriptor of the FIFO; with its credentials
 *   writer  NB_SAYS_OFFER     value: which descriptors come, in the order of enum nb_offered
 *   host    NB_SAYS_ACCEPTED  or NB_SAYS_REFUSED, text: why; this may come instead of HELLO, too
 *   writer  NB_SAYS_SIGNALLED value: a signal that it got, perhaps
 *   host    NB_SAYS_EXITED    value: exit status; or NB_SAYS_KILLED, value: signal
 * The strings of the command line and of the environment may be too long for a record and go through a sealed file in
 * memory: argc and the number of variables (4 bytes each), then all strings, each with its NUL. */
#ifndef NB_FOLD_MESSAGE_H
#define NB_FOLD_MESSAGE_H

#include "common/descriptor.h"
#include "tools/fold/meet.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum nb_says {
	NB_SAYS_HELLO = 1,
	NB_SAYS_OFFER,
	NB_SAYS_ACCEPTED,
	NB_SAYS_REFUSED,
	NB_SAYS_SIGNALLED,
	NB_SAYS_EXITED,
	NB_SAYS_KILLED
};
enum nb_offered { NB_OFFERS_STRINGS, NB_OFFERS_DIRECTORY, NB_OFFERS_IN, NB_OFFERS_ERR, NB_OFFERS_LISTENER, NB_OFFERED };
enum { NB_BUILD_SIZE = 20 };

struct nb_record {
	char magic[8];
	unsigned char build[NB_BUILD_SIZE]; /* build id of the program */
	uint32_t says, value;
	char text[NB_WHY_SIZE];
};

/* The name of the socket for a FIFO; returns the length of the address. */
socklen_t nb_fold_address(struct sockaddr_un *address, const struct nb_fifo *fifo);

/* A record of this program. */
void nb_record_init(struct nb_record *record, enum nb_says says, uint32_t value);
/* Sends a record with n descriptors.  introduce: with the credentials of this process.  Never waits and raises no
 * signal. 0, or -1 with errno. */
int nb_record_send(int link, const struct nb_record *record, const int *fd, int n, int introduce);
/* Receives a record of this build with at most NB_OFFERED descriptors, *n of them (n NULL: with none), and the process
 * that introduces itself (*pid, 0: none; NULL: not asked).  Waits until the time `until` (nb_now), for ever if that is
 * negative.  1; 0 at the end or when the time is over; -1: not understood, and every descriptor has been closed;
 * NB_RECORD_UNHEARD: the system failed, and there may be a record. */
enum { NB_RECORD_UNHEARD = -2 };
int nb_record_receive(int link, struct nb_record *record, int *fd, int *n, pid_t *pid, double until);

/* A sealed file with these strings: its descriptor, or -1. */
int nb_strings_pack(int argc, char *const *argv, char *const *environment);
/* The strings of such a file into h->argc, argv, environment and text, whatever the file holds: 0; or -1: it holds
 * something else, or there is no memory. */
int nb_strings_unpack(int fd, struct nb_handover *h);

#endif
