/* An instance of a tool: its life, and what becomes of it at an end in the middle of work. */
#include "common/cpu.h"
#include "common/environment.h"
#include "common/system.h"
#include "tools/filter/environment.h"
#include "tools/filter/files.h"
#include "tools/filter/filter.h"
#include "tools/filter/relay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From inside nb_run_do. */
static void leave(struct nb_voice *voice, int status)
{
	struct nb_run *run = (struct nb_run *)(void *)((char *)voice - offsetof(struct nb_run, voice));
	if (status == NB_EXIT_FAILED && run->tool->failed)
		status = run->tool->failed;
	/* A program that fails ends at once, but for what it has passed on.  A thread that fails leaves the others time
	 * to end. */
	if (run->is_program && nb_system_is_first_thread()) {
		if (run->pass.relay)
			(void)nb_relay_drain(run->pass.relay);
		if (run->tool->abandon)
			run->tool->abandon(run->self);
		nb_output_drop(run);
		exit(status);
	}
	run->status = status ? status : NB_RUN_LEFT;
	longjmp(run->failed, 1);
}

struct nb_run *nb_run_new(const struct nb_tool *tool)
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
	run->voice = (struct nb_voice){.program = tool->name, .file = STDERR_FILENO, .leave = leave};
	run->files = (struct nb_files){STDIN_FILENO, -1, -1, AT_FDCWD};
	run->environment = nb_environment();
	return run;
}

struct arguments {
	int argc;
	char **argv;
};

static void prepare(struct nb_run *run, void *context)
{
	const struct arguments *a = context;
	nb_options_parse(run, a->argc, a->argv);
	nb_cpu_set_threads(run->common.threads);
	nb_require_stack(nb_cpu_threads());
	if (run->tool->check)
		run->tool->check(run, run->self);
}

int nb_run_prepare(struct nb_run *run, int argc, char **argv)
{
	struct arguments arguments = {argc, argv};
	return nb_run_do(run, prepare, &arguments);
}

/* All that comes before the first frame but the input.  A backend that is asked for by name must be there from the
 * start; what auto means depends on the frames (choose.h). */
void nb_run_start(struct nb_run *run)
{
	const struct nb_tool *tool = run->tool;
	if ((tool->common & NB_COMMON_PLACE) && !run->backend && !run->needs.own_backend &&
		strcmp(run->common.backend, "auto") != 0)
		nb_choose_backend(run, run->common.backend);
	if (tool->begin)
		tool->begin(run, run->self);
}

void nb_run_free(struct nb_run *run)
{
	if (!run)
		return;
	nb_relay_stop(run->pass.relay);
	if (run->tool->clear)
		run->tool->clear(run->self);
	if (run->in_open)
		nb_reader_close(&run->in);
	nb_files_close(run);
	nb_output_drop(run);
	if (run->out_open)
		nb_writer_abandon(&run->out);
	nb_frame_clear(&run->taken);
	free(run->history);
	free(run->self);
	free(run);
}
