/* peer.h - what both sides ask of a process that calls itself a program of this build.  Private to tools/fold. */
#ifndef NB_FOLD_PEER_H
#define NB_FOLD_PEER_H

#include "tools/fold/holder.h"

#include <sys/types.h>

/* Whether NB_FOLD=off. */
int nb_fold_is_off(void);
/* The process at the other end of a connection (of a listening socket: the one that called listen), if it has the
 * effective user and group of this one; else -1. */
pid_t nb_peer_of(int link);

#endif
