/* Instances of tools on frames that are in memory, for another program of the suite. */
#include "tools/filter/filter.h"

static void take_frame(struct nb_run *run, void *context)
{
	if (!(run->streams & NB_READS))
		nb_die(NB_EXIT_FAILED, "internal error: a frame for a tool that reads none");
	nb_run_pass(run, context);
}

int nb_run_frame(struct nb_run *run, struct nb_frame *frame)
{
	return nb_run_do(run, take_frame, frame);
}

static void end(struct nb_run *run, void *context)
{
	(void)context;
	if (run->tool->end)
		run->tool->end(run, run->self);
}

int nb_run_end(struct nb_run *run)
{
	return nb_run_do(run, end, NULL);
}
