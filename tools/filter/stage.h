/* stage.h - the work of another program of the pipeline, done in this process.
 *
 * Of two programs that fold (meet.h) the later one does the work of both: an instance of the earlier tool, a stage,
 * passes its frames to the later one's in memory.  Its messages go to the standard error of its process, under its
 * name, and its exit status, or the signal, to the process. */
#ifndef NB_FILTER_STAGE_H
#define NB_FILTER_STAGE_H

#include "tools/filter/filter.h"
#include "tools/fold/meet.h"

struct nb_stage {
	struct nb_run *run;
	struct nb_handover from;
};

/* Hands the work of this process to the reader of standard output and waits for its end: the exit status.
 * NB_STAGE_HERE: there is no such reader, and the work is to be done here; programs may fold into this one. */
enum { NB_STAGE_HERE = -2 };
int nb_stage_hand_over(struct nb_run *run, int argc, char **argv);

/* Somebody waits at run->files.listener: does all his work with work, from nb_run_begin to the end, of which run gets
 * the frames; or tells him that he has to do it himself. */
void nb_stage_run(struct nb_run *run, void (*work)(struct nb_run *stage, void *context));
/* Notes, after -v, which programs are folded, once the first of them begins. */
void nb_stage_report(const struct nb_run *first);
/* Their names, "nb-gen | nb-stats". */
enum { NB_STAGE_NAMES = 400 };
void nb_stage_names(const struct nb_run *first, char names[NB_STAGE_NAMES]);

/* ---- in pieces ---------------------------------------------------------------------------------- */

/* The stage that waits at a listener for the FIFO fifo, its options looked at, with a put and context; or NULL.  *came:
 * what nb_meet_accept said.  A tool that lacks one of these streams is refused, and one for which this process has no
 * room. */
struct nb_stage *nb_stage_accept(
	int listener, int fifo, unsigned streams, int (*put)(void *, struct nb_frame *, int), void *context, int *came);
/* nb_run_begin.  0, or its exit status after a message. */
NB_MUST_CHECK int nb_stage_begin(struct nb_stage *stage);
/* Tells its process how the work ended, a status of nb_run_do, and frees it. */
void nb_stage_end(struct nb_stage *stage, int status);

#endif
