/* blame.h - what a co-process did wrong, as a phrase in co->error.  Private to tools/filter/coprocess.c. */
#ifndef NB_FILTER_BLAME_H
#define NB_FILTER_BLAME_H

#include "tools/filter/coprocess.h"

/* Returns -1. */
int nb_blame(struct nb_coprocess *co, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For a shell that has exited: -1, or 0 if it did so with status 0. */
int nb_judge_exit(struct nb_coprocess *co);
/* For a command whose output ended too early, or is not waited for any more: -1; why is what the reader saw, NULL:
 * nothing. */
int nb_blame_end(struct nb_coprocess *co, const char *why);
/* For one that has written an end marker before its time: -1. */
int nb_blame_early_end(struct nb_coprocess *co);
/* Whether the output of the command is at its end: closed, and all read. */
int nb_is_at_end(const struct nb_coprocess *co);

#endif
