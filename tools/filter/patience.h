/* patience.h - waiting for a co-process: as long as something moves, and not for ever once nothing can come.  Private
 * to tools/filter/coprocess.c. */
#ifndef NB_FILTER_PATIENCE_H
#define NB_FILTER_PATIENCE_H

#include "tools/filter/coprocess.h"

/* A time in which no byte has moved between this process and the command. */
struct nb_lull {
	double since;
	uint64_t written; /* bytes to the command by then */
	double left;	  /* since when nobody has been there who could answer, 0: somebody is */
};

struct nb_lull nb_lull_begin(const struct nb_coprocess *co);
/* Whether to wait on.  0: nothing more comes; co->gave_up says whether that is a failure.  Without co->lock. */
int nb_lull_lasts(struct nb_coprocess *co, struct nb_lull *lull);
/* For nb_reader.wait of the output of the command (context: co), and of the input of an open ring. */
int nb_wait_for_output(void *context);
int nb_wait_for_ring(void *context);
/* The errno of a write to the command that failed, 0: none. */
int nb_write_error(struct nb_coprocess *co);
/* "waiting for its answer" */
const char *nb_awaited_text(enum nb_awaited awaited);

#endif
