/* A frame through an instance, and on to who takes it: a stream, or the next instance. */
#include "tools/filter/choose.h"
#include "tools/filter/files.h"
#include "tools/filter/filter.h"
#include "tools/filter/input.h"
#include "tools/filter/relay.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"

#include <unistd.h>

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

/* Whether who takes the frame shall work while this instance goes on: where more frames are to come, or have come
 * before and the chain ends there, in a picture or a table. */
static int wants_relay(const struct nb_run *run, int last)
{
	return run->pass.relays && !run->pass.relay &&
	       (!last || (run->pass.npassed > 0 && run->next && !(run->next->streams & NB_WRITES)));
}

static void pass_on(struct nb_run *run, struct nb_frame *frame, int last)
{
	nb_add_history(run, frame);
	/* what is passed on in memory is what would have gone through a stream */
	if (run->pass.put && run->pass.put != put_on_stream && nb_frame_round(frame))
		nb_out_of_memory(frame);
	if (wants_relay(run, last))
		run->pass.relay = nb_relay_start(run);
	run->pass.npassed++;
	const int status = run->pass.put ? run->pass.put(run->pass.context, frame, last) : NB_EXIT_OK;
	if (status)
		nb_stop(run, status);
}

void nb_emit(struct nb_run *run, struct nb_frame *frame)
{
	pass_on(run, frame, 0);
}

/* Through the tool's function, and on. */
void nb_run_pass(struct nb_run *run, struct nb_frame *frame)
{
	run->passed_on = 0;
	nb_require_backend(run, frame);
	if (run->streams & NB_READS && !run->tool->obeys_box)
		nb_refuse_box(frame, run->tool->name, "");
	if (run->streams & NB_READS && !run->tool->obeys_systems)
		nb_refuse_systems(frame, run->tool->name, "");
	if (run->streams & NB_READS)
		run->tool->frame(run, run->self, frame);
	if ((run->streams & NB_WRITES) && !run->passed_on)
		pass_on(run, frame, 1);
}

static void take(struct nb_run *run, void *context)
{
	(void)context;
	if (nb_reader_count(&run->in, &run->taken) == NB_ERROR)
		nb_fail_input(run);
	run->in.nbyte += run->needs.parts ? nb_frame_bytes(&run->taken) : 0;
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
	if (!run->pass.put)
		nb_output_begin(run);
	if ((run->streams & NB_WRITES) && !run->pass.put) {
		open_output(run);
		run->out_open = 1;
		run->pass.put = put_on_stream;
		run->pass.context = &run->out;
	}
	run->pass.relays = run->pass.put != NULL;
	nb_run_start(run);
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
