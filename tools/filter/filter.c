#include "tools/filter/filter.h"

#include "common/cpu.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/choose.h"
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

/* ---- streams ------------------------------------------------------------------------------------ */

static void open_output(struct nb_run *run)
{
	nb_output_refuse_terminal(NULL, "the stream is binary (redirect it, or pipe it into nb-stats)");
	if (nb_writer_open(&run->out, STDOUT_FILENO))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

void nb_add_history(struct nb_run *run, struct nb_frame *frame)
{
	if (!run->common.no_history && nb_frame_add_attribute(frame, "history", run->history))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* A frame goes out at once, so that a co-process that waits for it can go on. */
static int put_on_stream(void *context, struct nb_frame *frame, int last)
{
	struct nb_writer *out = context;
	(void)last;
	if (nb_writer_next(out, frame) || nb_writer_flush(out))
		nb_die(NB_EXIT_FAILED, "%s", out->error);
	return NB_EXIT_OK;
}

void nb_stop(struct nb_run *run, int status)
{
	if (run->voice.leave)
		run->voice.leave(&run->voice, status);
	exit(status);
}

/* Whether who takes the frame shall work while this instance goes on: where more frames are to come, or have come
 * before and the chain ends there, in a picture or a table. */
static int wants_relay(const struct nb_run *run, int last)
{
	return run->relays && !run->relay &&
	       (!last || (run->npassed > 0 && run->next && !(run->next->streams & NB_WRITES)));
}

static void pass_on(struct nb_run *run, struct nb_frame *frame, int last)
{
	nb_add_history(run, frame);
	/* what is passed on in memory is what would have gone through a stream */
	if (run->put && run->put != put_on_stream && nb_frame_round(frame))
		nb_out_of_memory(frame);
	if (wants_relay(run, last))
		run->relay = nb_relay_start(run);
	run->npassed++;
	const int status = run->put ? run->put(run->context, frame, last) : NB_EXIT_OK;
	if (status)
		nb_stop(run, status);
}

void nb_emit(struct nb_run *run, struct nb_frame *frame)
{
	pass_on(run, frame, 0);
}

void nb_require_flushed(void)
{
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
}

void nb_leave(struct nb_run *run)
{
	nb_require_flushed();
	nb_stop(run, NB_EXIT_OK);
}

/* ---- work --------------------------------------------------------------------------------------- */

/* Through the tool's function, and on. */
void nb_run_pass(struct nb_run *run, struct nb_frame *frame)
{
	run->passed_on = 0;
	nb_require_backend(run, frame);
	if (run->streams & NB_READS)
		run->tool->frame(run, run->self, frame);
	if ((run->streams & NB_WRITES) && !run->passed_on)
		pass_on(run, frame, 1);
}

static int make(struct nb_run *run, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	return run->tool->make(run, run->self, frame);
}

static void take(struct nb_run *run, void *context)
{
	(void)context;
	if (nb_reader_count(&run->in, &run->taken) == NB_ERROR)
		nb_fail_input(run);
	nb_run_pass(run, &run->taken);
	nb_frame_clear(&run->taken);
}

int nb_run_feed(void *to, struct nb_frame *frame, int last)
{
	struct nb_run *run = to;
	if (!nb_is_alive(run) || run->interrupted)
		return NB_RUN_BROKEN;
	if (nb_frame_give(&run->taken, frame, last))
		nb_out_of_memory(frame);
	return nb_run_do(run, take, NULL) ? NB_RUN_BROKEN : NB_EXIT_OK;
}

void nb_run_begin(struct nb_run *run)
{
	if (run->streams & NB_READS)
		nb_input_open(run);
	if (!run->put)
		nb_output_begin(run);
	if ((run->streams & NB_WRITES) && !run->put) {
		open_output(run);
		run->out_open = 1;
		run->put = put_on_stream;
		run->context = &run->out;
	}
	run->relays = run->put != NULL;
	nb_run_start(run);
}

/* Whether it works on run->in and run->out by itself. */
static int takes_streams(const struct nb_run *run)
{
	return run->stream && (run->put == put_on_stream || !(run->streams & NB_WRITES));
}

/* Waits for what comes next: 1 if that is a program whose frames can be taken in memory.  One that comes after a stream
 * without an end sends bytes: the reader then finds the fault. */
static int program_comes(struct nb_run *run)
{
	return !run->whole_stream && nb_reader_is_between(&run->in) && nb_input_wait(run) == NB_ARRIVED_PROGRAM;
}

/* Frames that are read, or that programs which fold pass on. */
static void read_all(struct nb_run *run)
{
	struct nb_frame *frame = &run->taken;
	while (!run->interrupted) {
		if (program_comes(run)) {
			nb_stage_run(run);
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

void nb_run_work(struct nb_run *run)
{
	if (run->streams & NB_READS)
		read_all(run);
	else
		make_all(run);
	if (run->tool->end)
		run->tool->end(run, run->self);
	nb_frame_clear(&run->taken);
	const int status = run->relay ? nb_relay_drain(run->relay) : NB_EXIT_OK;
	if (status)
		nb_stop(run, status);
}

/* ---- on streams --------------------------------------------------------------------------------- */

/* All of a tool that runs as its own program. */
static void work_on_streams(struct nb_run *run, void *context)
{
	(void)context;
	nb_run_begin(run);
	nb_run_work(run);
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
	struct nb_run *run = nb_run_new(tool);
	if (!run)
		nb_die(NB_EXIT_FAILED, "out of memory");
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
