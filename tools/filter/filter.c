#include "tools/filter/filter.h"

#include "kernels/ranks/ranks.h"
#include "tools/filter/files.h"
#include "tools/filter/input.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/launch.h"
#include "tools/filter/relay.h"
#include "tools/filter/require.h"
#include "tools/filter/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- work --------------------------------------------------------------------------------------- */

static int make(struct nb_run *run, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	return run->tool->make(run, run->self, frame);
}

/* Whether it works on run->in and run->out by itself. */
static int takes_streams(const struct nb_run *run)
{
	return run->stream && (run->out_open || !(run->streams & NB_WRITES));
}

/* Waits for what comes next: 1 if that is a program whose frames can be taken in memory.  One that comes after a stream
 * without an end sends bytes: the reader then finds the fault. */
static int program_comes(struct nb_run *run)
{
	return !run->needs.whole_stream && nb_reader_is_between(&run->in) && nb_input_wait(run) == NB_ARRIVED_PROGRAM;
}

/* All between nb_run_begin and the end of the output. */
static void work(struct nb_run *run, void *context);

/* Frames that are read, or that programs which fold pass on. */
static void read_all(struct nb_run *run)
{
	struct nb_frame *frame = &run->taken;
	while (!run->interrupted) {
		if (program_comes(run)) {
			nb_stage_run(run, work);
			continue;
		}
		if (run->in.nframe == 0)
			nb_stage_report(run);
		if (takes_streams(run) && run->in.nframe == 0) {
			run->stream(run, run->self);
			return;
		}
		if (!nb_next_frame(run, frame))
			return;
		nb_run_pass(run, frame);
	}
}

static void make_all(struct nb_run *run)
{
	nb_stage_report(run);
	if (takes_streams(run)) {
		run->stream(run, run->self);
		return;
	}
	while (!run->interrupted && make(run, &run->taken))
		nb_run_pass(run, &run->taken);
}

static void work(struct nb_run *run, void *context)
{
	(void)context;
	if (run->streams & NB_READS)
		read_all(run);
	else
		make_all(run);
	if (run->tool->end)
		run->tool->end(run, run->self);
	nb_frame_clear(&run->taken);
	const int status = run->pass.relay ? nb_relay_drain(run->pass.relay) : NB_EXIT_OK;
	if (status)
		nb_stop(run, status);
}

/* ---- on streams --------------------------------------------------------------------------------- */

/* All of a tool that runs as its own program. */
static void work_on_streams(struct nb_run *run, void *context)
{
	nb_run_begin(run);
	work(run, context);
	run->out_open = 0; /* whether or not closing succeeds */
	if ((run->streams & NB_WRITES) && nb_writer_close(&run->out))
		nb_die(NB_EXIT_FAILED, "%s", run->out.error);
	/* some file systems tell only now that the disk is full; a tool that prints nothing may have no stdout */
	if (!(run->streams & NB_WRITES) && fclose(stdout) && errno != EBADF)
		nb_die(NB_EXIT_FAILED, "write error:");
	nb_output_end(run);
	run->status = run->verdict;
}

int nb_tool_main(const struct nb_tool *tool, int argc, char **argv)
{
	static struct nb_voice voice = {.file = STDERR_FILENO}; /* until there is a run, and after it */
	voice.program = tool->name;
	nb_speak_as(&voice);
	nb_launch_join(tool);
	struct nb_run *run = nb_require_memory(NULL, nb_run_new(tool));
	run->is_program = 1;
	int status = nb_run_prepare(run, argc, argv);
	if (!status)
		status = nb_launch(run, argc, argv);
	if (status == NB_LAUNCH_HERE)
		status = nb_stage_hand_over(run, argc, argv);
	if (status == NB_STAGE_HERE)
		status = nb_run_do(run, work_on_streams, NULL);
	const int interrupted = run->interrupted;
	nb_run_free(run);
	nb_ranks_leave();
	if (status == NB_EXIT_OK)
		nb_interrupt_end();
	if (status == NB_EXIT_OK && interrupted)
		nb_interrupt_end_by(interrupted);
	return status == NB_RUN_LEFT ? NB_EXIT_OK : status;
}
