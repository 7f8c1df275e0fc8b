#include "tools/filter/filter.h"

#include "common/cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- streams ------------------------------------------------------------------------------------ */

static void open_input(struct nb_run *run)
{
	if (isatty(STDIN_FILENO))
		nb_die(NB_EXIT_USAGE,
			"standard input is a terminal (want a particle stream, e.g. 'nb-gen plummer -n 1000 | %s')",
			nb_program());
	if (nb_reader_open(&run->in, STDIN_FILENO))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

static void open_output(struct nb_run *run)
{
	if (isatty(STDOUT_FILENO))
		nb_die(NB_EXIT_USAGE, "standard output is a terminal and the stream is binary (redirect it, or pipe it "
				      "into nb-stats)");
	if (nb_writer_open(&run->out, STDOUT_FILENO))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

void nb_wait_for_input(const struct nb_reader *reader)
{
	struct pollfd p[2] = {{reader->fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
	if (reader->map)
		return;
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[0].revents == 0 && (p[1].revents & (POLLERR | POLLHUP))) {
		raise(SIGPIPE);
		nb_die(NB_EXIT_FAILED, "write error: %s", strerror(EPIPE)); /* where the signal is ignored */
	}
}

int nb_next_head(struct nb_run *run, struct nb_frame *frame)
{
	nb_wait_for_input(&run->in);
	enum nb_answer answer = nb_reader_head(&run->in, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", run->in.error);
	return answer == NB_FRAME;
}

void nb_next_columns(struct nb_run *run, struct nb_frame *frame, size_t count)
{
	if (nb_reader_columns(&run->in, frame, count) == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", run->in.error);
}

int nb_next_frame(struct nb_run *run, struct nb_frame *frame)
{
	if (!nb_next_head(run, frame))
		return 0;
	nb_next_columns(run, frame, SIZE_MAX);
	return 1;
}

void nb_add_history(struct nb_run *run, struct nb_frame *frame)
{
	if (!run->common.no_history && nb_frame_add_attribute(frame, "history", run->history))
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* A frame goes out at once, so that a co-process that waits for it can go on. */
static int put_on_stream(void *context, const struct nb_frame *frame)
{
	struct nb_writer *out = context;
	if (nb_writer_next(out, frame) || nb_writer_flush(out))
		nb_die(NB_EXIT_FAILED, "%s", out->error);
	return NB_EXIT_OK;
}

/* What is passed on in memory is what would have gone through a stream. */
static void round_off(struct nb_frame *frame)
{
	if (nb_frame_round(frame))
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
}

/* Ends the instance without a message. */
static _Noreturn void stop(struct nb_run *run, int status)
{
	if (run->voice.leave)
		run->voice.leave(&run->voice, status);
	exit(status);
}

void nb_emit(struct nb_run *run, struct nb_frame *frame)
{
	nb_add_history(run, frame);
	if (run->put != put_on_stream)
		round_off(frame);
	const int status = run->put ? run->put(run->context, frame) : NB_EXIT_OK;
	if (status)
		stop(run, status);
}

void nb_require_flushed(void)
{
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
}

void nb_leave(struct nb_run *run)
{
	nb_require_flushed();
	stop(run, NB_EXIT_OK);
}

/* ---- the backend -------------------------------------------------------------------------------- */

void nb_choose_backend(struct nb_run *run, const char *name)
{
	char why[NB_BACKEND_WHY];
	int status = nb_backend_choose(name, &run->backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", name, why);
}

void nb_require_done(const struct nb_run *run, int status, const char *what, const struct nb_frame *frame)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "%s frame %" PRIu64 " on backend %s: %s", what, frame->number,
			run->backend->name, nb_backend_error(run->backend, status));
}

/* ---- the life of an instance -------------------------------------------------------------------- */

static struct nb_run *new_run(const struct nb_tool *tool)
{
	struct nb_run *run = calloc(1, sizeof *run);
	void *self = calloc(1, tool->size ? tool->size : 1);
	if (!run || !self) {
		free(run);
		free(self);
		return NULL;
	}
	if (tool->defaults)
		memcpy(self, tool->defaults, tool->size);
	run->tool = tool;
	run->self = self;
	run->streams = tool->streams;
	run->stream = tool->stream;
	run->common.backend = "auto";
	run->voice.program = tool->name;
	return run;
}

/* What auto means for a tool that only looks at frames: moving a frame to a device costs more than looking at it, so it
 * is looked at where it is.  What is read from a stream is in host memory. */
static const char *where_frames_are(const struct nb_run *run)
{
	return strcmp(run->common.backend, "auto") == 0 ? "cpu" : run->common.backend;
}

/* Everything before the first frame but the streams. */
static void prepare(struct nb_run *run, int argc, char **argv)
{
	nb_options_parse(run, argc, argv);
	nb_cpu_set_threads(run->common.threads);
	if (run->tool->check)
		run->tool->check(run, run->self);
	if ((run->tool->common & NB_COMMON_BACKEND) && !run->backend)
		nb_choose_backend(run, run->common.backend);
	if ((run->tool->common & NB_COMMON_LOOKER) && !run->backend)
		nb_choose_backend(run, where_frames_are(run));
}

void nb_run_free(struct nb_run *run)
{
	if (!run)
		return;
	if (run->tool->clear)
		run->tool->clear(run->self);
	free(run->history);
	free(run->self);
	free(run);
}

/* ---- on streams --------------------------------------------------------------------------------- */

/* Through the tool's function, and on. */
static void pass(struct nb_run *run, struct nb_frame *frame)
{
	run->passed_on = 0;
	if (run->streams & NB_READS)
		run->tool->frame(run, run->self, frame);
	if ((run->streams & NB_WRITES) && !run->passed_on)
		nb_emit(run, frame);
}

static int make(struct nb_run *run, struct nb_frame *frame)
{
	nb_frame_clear(frame);
	return run->tool->make(run, run->self, frame);
}

static void loop(struct nb_run *run)
{
	struct nb_frame frame;
	nb_frame_init(&frame);
	while (run->streams & NB_READS ? nb_next_frame(run, &frame) : make(run, &frame))
		pass(run, &frame);
	nb_frame_clear(&frame);
}

int nb_tool_main(const struct nb_tool *tool, int argc, char **argv)
{
	struct nb_run *run = new_run(tool);
	if (!run)
		nb_die(NB_EXIT_FAILED, "out of memory");
	struct nb_voice *before = nb_speak_as(&run->voice);
	prepare(run, argc, argv);
	if (run->streams & NB_READS)
		open_input(run);
	if (run->streams & NB_WRITES) {
		open_output(run);
		run->put = put_on_stream;
		run->context = &run->out;
	}
	if (tool->begin)
		tool->begin(run, run->self);
	if (run->stream)
		run->stream(run, run->self);
	else
		loop(run);
	if (tool->end)
		tool->end(run, run->self);
	if ((run->streams & NB_WRITES) && nb_writer_close(&run->out))
		nb_die(NB_EXIT_FAILED, "%s", run->out.error);
	/* some file systems tell only now that the disk is full; a tool that prints nothing may have no stdout */
	if (!(run->streams & NB_WRITES) && fclose(stdout) && errno != EBADF)
		nb_die(NB_EXIT_FAILED, "write error:");
	if (run->streams & NB_READS)
		nb_reader_close(&run->in);
	nb_speak_as(before);
	nb_run_free(run);
	return NB_EXIT_OK;
}

/* ---- on frames in memory ------------------------------------------------------------------------ */

static void leave(struct nb_voice *voice, int status)
{
	struct nb_run *run = (struct nb_run *)(void *)((char *)voice - offsetof(struct nb_run, voice));
	run->status = status;
	longjmp(run->failed, 1);
}

/* What the host had before an instance runs. */
struct host {
	struct nb_voice *voice;
	int threads;
};

static struct host enter(struct nb_run *run)
{
	const struct host host = {nb_speak_as(&run->voice), nb_cpu_threads()};
	nb_cpu_set_threads(run->common.threads);
	run->status = NB_EXIT_OK;
	return host;
}

static void back_to(const struct host *host)
{
	nb_speak_as(host->voice);
	nb_cpu_set_threads(host->threads);
}

int nb_run_create(
	struct nb_run **run, const struct nb_tool *tool, int argc, char **argv, const struct nb_backend *backend)
{
	struct nb_run *made = *run = new_run(tool);
	if (!made)
		return NB_EXIT_FAILED;
	made->backend = backend;
	made->voice.leave = leave;
	const struct host host = enter(made);
	if (setjmp(made->failed) == 0) {
		prepare(made, argc, argv);
		if (tool->begin)
			tool->begin(made, made->self);
	} else if (made->status == NB_EXIT_OK) {
		made->status = NB_RUN_LEFT;
	}
	back_to(&host);
	return made->status;
}

int nb_run_frame(struct nb_run *run, struct nb_frame *frame)
{
	const struct host host = enter(run);
	if (setjmp(run->failed) == 0) {
		if (!(run->streams & NB_READS))
			nb_die(NB_EXIT_FAILED, "internal error: a frame for a tool that reads none");
		pass(run, frame);
	}
	back_to(&host);
	return run->status;
}

int nb_run_make(struct nb_run *run, struct nb_frame *frame, int *there)
{
	const struct host host = enter(run);
	*there = 0;
	if (setjmp(run->failed) == 0) {
		if (run->streams & NB_READS)
			nb_die(NB_EXIT_FAILED, "internal error: a tool that reads frames makes none");
		*there = make(run, frame);
		if (*there)
			nb_emit(run, frame);
	}
	back_to(&host);
	return run->status;
}

int nb_run_end(struct nb_run *run)
{
	const struct host host = enter(run);
	if (setjmp(run->failed) == 0 && run->tool->end)
		run->tool->end(run, run->self);
	back_to(&host);
	return run->status;
}
