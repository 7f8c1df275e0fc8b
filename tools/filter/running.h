/* running.h - the commands that run beside this process, so that none outlives it: however the process ends, by exit or
 * by SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGPIPE (unless ignored), they end too. */
#ifndef NB_FILTER_RUNNING_H
#define NB_FILTER_RUNNING_H

#include "tools/filter/watch.h"

#include <signal.h>

enum { NB_RUNNING_MOST = NB_WATCH_MOST + 1 }; /* one of each program whose work is done here */

struct nb_coprocess;

/* kill: ends it if it is there when the process exits.  1, or 0 if there are NB_RUNNING_MOST already.  After
 * nb_interrupt_watch. */
int nb_running_enter(struct nb_coprocess *co, void (*kill)(struct nb_coprocess *co));
/* While a command is started, a signal that ends this process would not find its group yet: between these two it waits.
 * This thread blocks all signals, and those that it blocked before are in *blocked. */
void nb_running_hold(sigset_t *blocked);
void nb_running_release(const sigset_t *blocked);
/* Its process group; 0 once its processes are gone, as the number may then belong to somebody else. */
void nb_running_note(const struct nb_coprocess *co, pid_t group);
void nb_running_forget(const struct nb_coprocess *co);
/* Sends a signal to all of them, also to those that are being started; may be called by a signal handler. */
void nb_running_pass_on(int signal);

#endif
