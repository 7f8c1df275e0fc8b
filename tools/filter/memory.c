/* Instances of tools on frames that are in memory, for another program of the suite. */
#include "tools/filter/filter.h"

static void start(struct nb_run *run, void *context)
{
	(void)context;
	nb_run_start(run);
}

int nb_run_create(
	struct nb_run **run, const struct nb_tool *tool, int argc, char **argv, const struct nb_backend *backend)
{
	*run = nb_run_new(tool);
	if (!*run)
		return NB_EXIT_FAILED;
	(*run)->backend = backend;
	const int status = nb_run_prepare(*run, argc, argv);
	return status ? status : nb_run_do(*run, start, NULL);
}

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

/* The next frame, and whether there is one. */
struct made {
	struct nb_frame *frame;
	int there;
};

static void make_frame(struct nb_run *run, void *context)
{
	struct made *made = context;
	if (run->streams & NB_READS)
		nb_die(NB_EXIT_FAILED, "internal error: a tool that reads frames makes none");
	nb_frame_clear(made->frame);
	made->there = run->tool->make(run, run->self, made->frame);
	if (made->there)
		nb_emit(run, made->frame);
}

int nb_run_make(struct nb_run *run, struct nb_frame *frame, int *there)
{
	struct made made = {frame, 0};
	const int status = nb_run_do(run, make_frame, &made);
	*there = made.there;
	return status;
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
