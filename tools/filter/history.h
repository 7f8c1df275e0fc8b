/* history.h - the history line of an instance: its version and command line, quoted for the shell. */
#ifndef NB_FILTER_HISTORY_H
#define NB_FILTER_HISTORY_H

#include "tools/filter/filter.h"

/* Each appends to run->history, which grows. */
void nb_history_add(struct nb_run *run, const char *text);
void nb_history_quote(struct nb_run *run, const char *text);
/* An option as it was given (arg NULL: it takes no argument), unless it cannot change the output. */
void nb_history_option(struct nb_run *run, const struct nb_option *row, const char *arg);

#endif
