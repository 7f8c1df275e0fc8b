/* run.h - instances of tools on frames that are in memory, for tests. */
#ifndef NB_UNIT_RUN_H
#define NB_UNIT_RUN_H

#include "tools/filter/filter.h"

static inline void run_start(struct nb_run *run, void *context)
{
	(void)context;
	nb_run_start(run);
}

/* An instance with these arguments (argv[0] is the name), on a backend (NULL: the one that the options choose).  argv
 * must outlive the instance.  Returns 0; or the exit status after a message; or NB_RUN_LEFT after --help and the like.
 * After these only nb_run_free may follow. */
static inline int run_create(
	struct nb_run **run, const struct nb_tool *tool, int argc, char **argv, const struct nb_backend *backend)
{
	*run = nb_run_new(tool);
	if (!*run)
		return NB_EXIT_FAILED;
	(*run)->backend = backend;
	const int status = nb_run_prepare(*run, argc, argv);
	return status ? status : nb_run_do(*run, run_start, NULL);
}

struct made {
	struct nb_frame *frame;
	int there;
};

static inline void run_make_frame(struct nb_run *run, void *context)
{
	struct made *made = context;
	nb_frame_clear(made->frame);
	made->there = run->tool->make(run, run->self, made->frame);
	if (made->there)
		nb_emit(run, made->frame);
}

/* The next frame of a tool that reads no stream, and whether there is one.  As nb_run_frame. */
static inline int run_make(struct nb_run *run, struct nb_frame *frame, int *there)
{
	struct made made = {frame, 0};
	const int status = nb_run_do(run, run_make_frame, &made);
	*there = made.there;
	return status;
}

#endif
