#include "tools/filter/input.h"

#include "common/descriptor.h"
#include "common/nearest.h"
#include "common/timer.h"
#include "tools/filter/files.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"
#include "tools/filter/watch.h"
#include "tools/fold/meet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Seconds between two looks whether processes are alive. */
static const double LOOK = 0.01;

/* Files that are watched at once: input, output, listener, interrupts, and the processes whose work is done here. */
enum { MOST = NB_WATCH_MOST + 4 };

void nb_input_deafen(struct nb_run *run)
{
	nb_meet_stop(run->files.listener, run->files.in);
	run->files.listener = -1;
}

static int refuse_programs(void *context)
{
	struct nb_run *run = context;
	const char *why = run->needs.whole_stream ? "its reader wants the bytes of the stream"
						  : "its reader is in the middle of a stream";
	while (nb_input_wait(run) == NB_ARRIVED_PROGRAM) {
		struct nb_handover from;
		char unused[NB_WHY_SIZE];
		const int came = nb_meet_accept(run->files.listener, run->files.in, &from, unused);
		if (came == 1)
			nb_meet_refuse(&from, why);
		else if (came == NB_MEET_DEAF)
			nb_input_deafen(run);
	}
	return 1;
}

/* For the input that was opened last. */
static void begin_waiting(struct nb_run *run)
{
	run->waiting.by_fifo = nb_is_fifo(run->files.in);
	run->waiting.copied = -1;
	run->waiting.heeds = run->waiting.is_plain = 0;
	if (run->waiting.by_fifo)
		nb_interrupt_watch();
	if (run->files.listener >= 0 || run->waiting.by_fifo) { /* a signal ends the wait */
		run->in.wait = refuse_programs;
		run->in.context = run;
	}
}

void nb_input_open(struct nb_run *run)
{
	if (run->from.n > 1)
		nb_files_next(run);
	else if (isatty(run->files.in))
		nb_die(NB_EXIT_USAGE,
			"standard input is a terminal (want a particle stream, e.g. 'nb-gen plummer -n 1000 | %s')",
			nb_program());
	if (nb_reader_open(&run->in, run->files.in))
		nb_die(NB_EXIT_FAILED, "out of memory");
	run->in_open = 1;
	begin_waiting(run);
}

/* ---- waiting ------------------------------------------------------------------------------------ */

/* What is watched beside the input. */
struct watch {
	struct pollfd file[MOST];
	nfds_t n;
};

static void watch_file(struct watch *w, int fd, short events)
{
	if (fd >= 0 && w->n < MOST)
		w->file[w->n++] = (struct pollfd){fd, events, 0};
}

/* The processes whose work is done here, from this instance to the last: their links end when they die. */
static void watch_processes(struct watch *w, const struct nb_run *run)
{
	for (; run; run = run->next)
		watch_file(w, run->files.link, 0);
}

static int any(const struct watch *w, nfds_t first, nfds_t behind, short events)
{
	for (nfds_t i = first; i < behind; i++)
		if (w->file[i].revents & events)
			return 1;
	return 0;
}

static void wait_for(struct watch *w, int milliseconds)
{
	while (poll(w->file, w->n, milliseconds) < 0)
		if (errno != EINTR) /* a program that waits to be taken over would not be seen */
			nb_die(NB_EXIT_FAILED, "cannot wait for input:");
}

/* The first file is the input, the second standard output, which may be closed: a write will tell. */
static void wait_for_input(struct watch *w)
{
	wait_for(w, -1);
	if (w->file[1].revents & POLLNVAL) {
		w->file[1].fd = -1;
		wait_for(w, -1);
	}
}

static void leave_if_unread(const struct watch *w)
{
	if (w->file[0].revents == 0 && (w->file[1].revents & (POLLERR | POLLHUP))) {
		raise(SIGPIPE);
		nb_die(NB_EXIT_FAILED, "write error: %s", strerror(EPIPE)); /* where the signal is ignored */
	}
}

static _Noreturn void end_broken(struct nb_run *run)
{
	nb_stop(run, NB_RUN_BROKEN);
}

int nb_is_alive(struct nb_run *run)
{
	const double now = nb_now_roughly();
	struct watch w = {.n = 0};
	if (now - run->waiting.looked < LOOK)
		return 1;
	watch_processes(&w, run);
	if (w.n)
		wait_for(&w, 0);
	if (any(&w, 0, w.n, POLLHUP | POLLERR))
		return 0;
	run->waiting.looked = now;
	return 1;
}

void nb_require_alive(struct nb_run *run)
{
	if (!nb_is_alive(run))
		end_broken(run);
}

/* A signal has come while nothing else has: a program of this build before this one will end the stream, which is then
 * worth waiting for; others are not.  The frames of a run in this process are its own matter. */
static void leave_if_interrupted(struct nb_run *run)
{
	if (run->waiting.heeds || !nb_interrupted())
		return;
	run->waiting.heeds = 1;
	if (nb_interrupt_held() >= NB_HOLD_RUN) /* one that has begun since this wait did */
		return;
	struct pollfd input = {run->files.in, POLLIN, 0};
	if (nb_interrupt_pass_on(run->files.in))
		return;
	if (poll(&input, 1, 0) > 0) /* it has written its last frame, and is gone */
		return;
	nb_interrupt_end();
	end_broken(run);
}

/* What waits for input must live until there is none, if that comes from a run. */
static void watch_interrupt(struct watch *w, struct nb_run *run)
{
	if (run->waiting.by_fifo && nb_interrupt_hold_input() && !run->waiting.heeds)
		watch_file(w, nb_interrupt_file(), POLLIN);
}

/* Work on a frame is left at once unless the frame is one of a run, of which the last is to come. */
static void let_go(const struct nb_run *run)
{
	if (run->waiting.by_fifo && run->waiting.is_plain)
		nb_interrupt_let_go();
}

/* Whether a run may still send its last frame after this one, when a signal ends it.  Not through programs that copy:
 * the signal ends those, too. */
static int is_of_run(struct nb_run *run, const struct nb_frame *frame)
{
	static const char copiers[] =
		"cat tac head tail dd pv zcat gzip bzcat bzip2 xzcat xz zstdcat zstd lz4 curl wget";
	enum { LOOKS = 20 }; /* one may come to no end on a busy machine */
	char name[NB_HOLDER_NAME];
	if (!run->waiting.by_fifo || !nb_frame_attribute(frame, "step"))
		return 0;
	if (run->waiting.copied < 0) {
		enum nb_holder writer = nb_meet_writers(run->files.in, name);
		for (int k = 1; k < LOOKS && writer == NB_HOLDER_MAYBE && !*name; k++)
			writer = nb_meet_writers(run->files.in, name);
		run->waiting.copied = writer == NB_HOLDER_OTHER && nb_has_word(copiers, name);
	}
	return !run->waiting.copied;
}

enum nb_arrival nb_input_wait(struct nb_run *run)
{
	struct watch w = {.n = 0};
	if (run->in.map || run->files.in < 0) /* reading tells that it is closed */
		return NB_ARRIVED_BYTES;
	watch_file(&w, run->files.in, POLLIN);
	watch_file(&w, STDOUT_FILENO, 0);
	const nfds_t processes = w.n;
	watch_processes(&w, run);
	const nfds_t listener = w.n;
	watch_file(&w, run->files.listener, POLLIN);
	const nfds_t interrupt = w.n;
	watch_interrupt(&w, run);
	wait_for_input(&w);
	/* the bytes were there before who connects now */
	if (w.file[0].revents & POLLIN) {
		let_go(run);
		return NB_ARRIVED_BYTES;
	}
	for (nfds_t i = processes; i < listener; i++)
		if (w.file[i].revents)
			end_broken(run);
	if (w.file[0].revents == 0 && any(&w, interrupt, w.n, POLLIN)) {
		leave_if_interrupted(run);
		return nb_input_wait(run);
	}
	/* at the end of the pipe nobody is left to come: who connects now, without end perhaps, is a stranger */
	if (!(w.file[0].revents & POLLHUP) && any(&w, listener, interrupt, POLLIN))
		return NB_ARRIVED_PROGRAM;
	leave_if_unread(&w);
	return NB_ARRIVED_BYTES;
}

void nb_wait_for_input(const struct nb_reader *reader)
{
	struct watch w = {.n = 0};
	if (reader->map || reader->fd < 0)
		return;
	watch_file(&w, reader->fd, POLLIN);
	watch_file(&w, STDOUT_FILENO, 0);
	wait_for_input(&w);
	leave_if_unread(&w);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Whether there is another file to read, after the end of one. */
static int open_another(struct nb_run *run)
{
	if (!nb_files_next(run))
		return 0;
	if (nb_reader_go_on(&run->in, run->files.in))
		nb_die(NB_EXIT_FAILED, "out of memory");
	begin_waiting(run);
	return 1;
}

int nb_next_head(struct nb_run *run, struct nb_frame *frame)
{
	enum nb_answer answer;
	do {
		if (!run->in.wait || run->in.wait(run->in.context))
			refuse_programs(run);
		answer = nb_reader_head(&run->in, frame);
		if (answer == NB_ERROR)
			nb_fail_input(run);
	} while (answer == NB_END && open_another(run));
	if (answer == NB_FRAME) {
		nb_files_note_frame(run, frame->number);
		if (!run->tool->obeys_box) /* of a tool that reads heads alone, too */
			nb_refuse_box(frame, run->tool->name, "");
	}
	run->waiting.is_plain = answer == NB_FRAME && !is_of_run(run, frame);
	let_go(run);
	return answer == NB_FRAME;
}

void nb_next_columns(struct nb_run *run, struct nb_frame *frame, size_t count)
{
	if (nb_reader_columns(&run->in, frame, count) == NB_ERROR)
		nb_fail_input(run);
}

int nb_next_wanted(struct nb_run *run, struct nb_frame *frame)
{
	for (;;) {
		if (!nb_next_head(run, frame))
			return 0;
		if (!run->tool->wants || run->tool->wants(run, run->self, frame))
			return 1;
		if (nb_reader_skip(&run->in, frame) == NB_ERROR)
			nb_fail_input(run);
	}
}

int nb_next_frame(struct nb_run *run, struct nb_frame *frame)
{
	if (!nb_next_wanted(run, frame))
		return 0;
	nb_next_columns(run, frame, SIZE_MAX);
	return 1;
}

void nb_warn_of_no_frames(const struct nb_run *run)
{
	if (run->in.nframe == 0)
		nb_warn("the stream has no frames");
}
