#include "tools/filter/stage.h"

#include "common/descriptor.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/choose.h"
#include "tools/filter/environment.h"
#include "tools/filter/files.h"
#include "tools/filter/input.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Options are parsed with getopt's variables: one stage at a time is made. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* ---- handing over ------------------------------------------------------------------------------- */

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int offer(const struct nb_run *run, int argc, char **argv, int *link)
{
	char why[NB_WHY_SIZE];
	char **copy = malloc((size_t)(argc + 1) * sizeof *copy);
	if (!copy)
		return 0;
	memcpy(copy, argv, (size_t)(argc + 1) * sizeof *copy);
	copy[0] = (char *)(uintptr_t)run->tool->name; /* also where this is "nb force" */
	const struct nb_handover work = {
		.argc = argc,
		.argv = copy,
		.environment = environ,
		.in = is_open(STDIN_FILENO) ? STDIN_FILENO : -1,
		.err = is_open(STDERR_FILENO) ? STDERR_FILENO : -1,
		.directory = -1,
		.listener = run->files.listener,
		.commands = run->tool->quoted && run->noperand > 0,
	};
	const int accepted = nb_meet_hand_over(STDOUT_FILENO, &work, link, why);
	free(copy);
	if (!accepted)
		nb_verbose("not folded: %s", why);
	return accepted;
}

/* A rank does the work itself, with the others. */
static int is_rank(const struct nb_run *run)
{
	return run->tool->ranks && nb_ranks_launched();
}

static void find(struct nb_run *run, void *context)
{
	(void)context;
	nb_require_environment();
	nb_files_prepare(run);
	if (run->streams & NB_READS && run->from.n < 2 && !is_rank(run))
		run->files.listener = nb_meet_listen(STDIN_FILENO);
}

struct words {
	int argc;
	char **argv;
	int link;
	int accepted;
};

static void hand_over(struct nb_run *run, void *context)
{
	struct words *words = context;
	if (!(run->streams & NB_WRITES) || nb_output_is_file(run) || !nb_is_fifo(STDOUT_FILENO))
		return;
	const char *path = nb_files_of_this_process(run);
	if (is_rank(run))
		nb_verbose("not folded: it shares its work with other ranks");
	else if (run->needs.whole_stream)
		nb_verbose("not folded: it works on the bytes of the stream");
	else if (path)
		nb_verbose("not folded: only this process can open '%s'", path);
	else
		words->accepted = offer(run, words->argc, words->argv, &words->link);
}

static void report_broken(struct nb_run *run, void *context)
{
	(void)run;
	(void)context;
	nb_die(NB_EXIT_FAILED, "write error: %s", strerror(EPIPE));
}

int nb_stage_hand_over(struct nb_run *run, int argc, char **argv)
{
	struct words words = {argc, argv, -1, 0};
	int status = nb_run_do(run, find, NULL);
	if (!status)
		status = nb_run_do(run, hand_over, &words);
	if (status)
		return status;
	if (!words.accepted) {
		(void)nb_claim_device(run);
		return NB_STAGE_HERE;
	}
	nb_interrupt_tell(words.link);
	status = nb_meet_wait(words.link, nb_interrupt_end);
	nb_interrupt_tell(-1);
	return status == NB_MEET_BROKEN ? nb_run_do(run, report_broken, NULL) : status;
}

/* ---- taking over -------------------------------------------------------------------------------- */

/* Whether this process may open what the instance will, besides what is open: its files, and some of the system. */
static int has_descriptors(const struct nb_handover *from, const struct nb_run *run)
{
	enum { SPARE = 24 };
	struct rlimit limit;
	const int got[] = {from->in, from->err, from->directory, from->listener, from->link};
	const int files = run->tool->own_files ? run->noperand : 0;
	int highest = 0;
	for (size_t k = 0; k < sizeof got / sizeof *got; k++)
		highest = got[k] > highest ? got[k] : highest;
	return getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)highest + (rlim_t)files + SPARE < limit.rlim_cur;
}

/* The instance that does the work; NULL with why it cannot. */
static struct nb_run *instance(struct nb_handover *from, unsigned streams, int (*put)(void *, struct nb_frame *, int),
	void *context, const char **why)
{
	const struct nb_tool *tool = from->argc > 0 ? nb_tool_find(from->argv[0]) : NULL;
	struct nb_run *run = tool ? nb_run_new(tool) : NULL;
	*why = tool ? "its reader is out of memory" : "its reader does not know this tool";
	if (!run)
		return NULL;
	run->files = (struct nb_files){from->in, from->listener, from->link, from->directory};
	run->voice.file = from->err;
	run->environment = from->environment;
	run->pass.put = put;
	run->pass.context = context;
	run->next = put == nb_run_feed ? context : NULL;
	*why = nb_run_prepare(run, from->argc, from->argv) ? "its options"
	       : !nb_claim_device(run)			   ? "its reader computes on another device"
							   : NULL;
	if (!*why && (run->streams & streams) != streams)
		*why = run->streams & NB_WRITES ? "it reads no stream" : "it writes no stream";
	if (!*why && faccessat(from->directory, ".", X_OK, AT_EACCESS)) /* the process is there, whoever may go there */
		*why = "its reader may not enter its working directory";
	if (!*why && !has_descriptors(from, run))
		*why = "its reader may open too few files";
	if (!*why)
		return run;
	nb_run_free(run);
	return NULL;
}

/* Accepts its work, which is watched from then on. */
static int take(struct nb_stage *stage, const char **why)
{
	const int link = stage->from.link;
	if (!nb_watch(link)) {
		*why = "its reader does the work of as many programs as it can";
		return 0;
	}
	if (nb_meet_take(&stage->from) == 0)
		return 1;
	nb_watch_no_more(link);
	*why = NULL;
	return 0;
}

struct nb_stage *nb_stage_accept(
	int listener, int fifo, unsigned streams, int (*put)(void *, struct nb_frame *, int), void *context, int *came)
{
	struct nb_handover from;
	char unused[NB_WHY_SIZE];
	const char *why;
	*came = nb_meet_accept(listener, fifo, &from, unused);
	if (*came != 1)
		return NULL;
	struct nb_stage *stage = calloc(1, sizeof *stage);
	if (!stage) { /* the process that waits is told */
		nb_meet_refuse(&from, "its reader is out of memory");
		return NULL;
	}
	stage->from = from;
	pthread_mutex_lock(&making);
	stage->run = instance(&stage->from, streams, put, context, &why);
	pthread_mutex_unlock(&making);
	if (stage->run && take(stage, &why))
		return stage;
	if (why)
		nb_meet_refuse(&stage->from, why);
	nb_run_free(stage->run);
	free(stage);
	return NULL;
}

static void begin(struct nb_run *run, void *context)
{
	(void)context;
	nb_run_begin(run);
}

int nb_stage_begin(struct nb_stage *stage)
{
	return nb_run_do(stage->run, begin, NULL);
}

void nb_stage_end(struct nb_stage *stage, int status)
{
	const int interrupted = status ? 0 : stage->run->interrupted;
	nb_watch_no_more(stage->from.link);
	nb_run_free(stage->run);
	nb_meet_tell(&stage->from, status, status == NB_RUN_BROKEN ? SIGPIPE : interrupted);
	nb_meet_clear(&stage->from);
	free(stage);
}

void nb_stage_run(struct nb_run *run, void (*work)(struct nb_run *stage, void *context))
{
	int came;
	struct nb_stage *stage = nb_stage_accept(
		run->files.listener, run->files.in, NB_WRITES, nb_run_feed, run, &came);
	if (came == NB_MEET_DEAF)
		nb_input_deafen(run);
	if (!stage)
		return;
	int status = nb_stage_begin(stage);
	if (!status)
		status = nb_run_do(stage->run, work, NULL);
	if (!status)
		nb_reader_count_end(&run->in);
	nb_stage_end(stage, status ? status : stage->run->verdict);
	if (!run->interrupted)
		nb_interrupt_forget();
	if (run->status)
		nb_stop(run, run->status);
}

void nb_stage_names(const struct nb_run *first, char names[NB_STAGE_NAMES])
{
	static const char more[] = " | ...";
	size_t used = 0;
	for (const struct nb_run *run = first; run; run = run->next)
		if (used + strlen(run->tool->name) + 2 * sizeof more > NB_STAGE_NAMES) {
			strcpy(names + used, more);
			return;
		} else
			used += (size_t)snprintf(
				names + used, NB_STAGE_NAMES - used, "%s%s", used ? " | " : "", run->tool->name);
}

void nb_stage_report(const struct nb_run *first)
{
	char line[NB_STAGE_NAMES];
	if (!first->next && first->files.link < 0)
		return;
	nb_stage_names(first, line);
	for (const struct nb_run *run = first; run; run = run->next) {
		struct nb_voice voice = run->voice, *before = nb_speak_as(&voice);
		nb_verbose("folded: %s", line);
		nb_speak_as(before);
	}
}
