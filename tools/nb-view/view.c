/* nb-view: a window into a running pipe: passes a particle stream on as it is, and shows its frames in a browser. */
#include "tools/nb-view/view.h"

#include "common/mapped.h"
#include "tools/filter/choose.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nb_option options[] = {
	{0, "exit", NB_FLAG(struct view, exits), .help = "end with the stream, and do not stay for those who look",
		.silent = 1},
	{0, "keep", NB_U64(struct view, keep), .min = 1 << 20, .max = 1e12, .arg = "BYTES", .fallback = "1G",
		.help = "memory of the browser for frames to go back to", .silent = 1},
	{0, "listen", NB_TEXT(struct view, address), .arg = "ADDRESS", .fallback = "this machine only",
		.help = "address at which other machines reach the page", .silent = 1},
	{0, "open", NB_FLAG(struct view, open), .help = "start a browser: $BROWSER, or xdg-open", .silent = 1},
	{'p', "port", NB_INT(struct view, port), .min = 1, .max = 65535, .arg = "PORT", .fallback = "any that is free",
		.help = "port of the page", .silent = 1},
};

static void check(struct nb_run *run, void *self)
{
	struct view *view = self;
	if (view->address && (!*view->address || strlen(view->address) >= TALK_TEXT))
		nb_die(NB_EXIT_USAGE, "invalid listen '%.60s' (want an address of this machine, or 0.0.0.0)",
			view->address);
	run->common.no_history = 1;					     /* what passes stays as it is */
	if (run->is_program && !run->common.output && isatty(STDOUT_FILENO)) /* nobody wants the bytes */
		run->streams = NB_READS;
}

static void begin(struct nb_run *run, void *self)
{
	struct view *view = self;
	if (nb_view_server_size == 0)
		nb_die(NB_EXIT_FAILED, "not built in: install libmicrohttpd-dev, and build nb again");
	view->host = nb_view_start(run, view);
	run->pass.relays = 0; /* what comes next gets a frame before the viewer does */
}

/* ---- passing on --------------------------------------------------------------------------------- */

/* Frames in memory: a share goes on, and the rest is for those who look. */
static void frame_in_memory(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct view *view = self;
	if (run->streams & NB_WRITES)
		nb_emit(run, frame);
	run->passed_on = 1;
	nb_view_offer(view->host, run->backend, frame);
}

static void write_bytes(const void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		const ssize_t n = write(STDOUT_FILENO, (const char *)data + at, bytes - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT)
			nb_mapped_require(data, bytes);
		if (n < 0)
			nb_die(NB_EXIT_FAILED, "write error:");
		at += (size_t)n;
	}
}

static void flush(struct view *view)
{
	const size_t bytes = view->nheld;
	view->nheld = 0;
	write_bytes(view->held, bytes);
}

/* Small parts are held until the frame is complete, and not passed on if it never is. */
static void pass_bytes(void *context, const void *data, size_t bytes)
{
	struct view *view = context;
	if (bytes > VIEW_HELD - view->nheld)
		flush(view);
	if (bytes > VIEW_HELD) {
		write_bytes(data, bytes);
		return;
	}
	memcpy(view->held + view->nheld, data, bytes);
	view->nheld += bytes;
}

/* Before a read that may have to wait: what is complete has gone on. */
static int wait_for_bytes(void *context)
{
	struct nb_run *run = context;
	struct view *view = run->self;
	if (view->nheld && run->in.nbyte == run->in.begin)
		flush(view);
	return !view->wait || view->wait(run);
}

/* Bytes go on as they are read, whatever they are; this tool writes none of its own, so no end marker either. */
static void stream(struct nb_run *run, void *self)
{
	struct view *view = self;
	const int passes = (run->streams & NB_WRITES) != 0, follows = !passes && run->in.map && !view->exits;
	struct nb_frame frame;
	if (passes) {
		nb_writer_abandon(&run->out);
		run->out_open = 0;
		run->streams = NB_READS;
		view->held = nb_require_memory(NULL, malloc(VIEW_HELD));
		run->in.tap = pass_bytes;
		run->in.tap_context = view;
		view->wait = run->in.wait;
		run->in.wait = wait_for_bytes;
		run->in.context = run; /* which it is already where there was a wait */
	}
	nb_frame_init(&frame);
	/* a file that is only looked at goes on when each frame has been seen */
	for (int more = !follows || nb_view_wait(view->host, 1); more && nb_next_frame(run, &frame);) {
		flush(view);
		nb_require_backend(run, &frame);
		nb_view_offer(view->host, run->backend, &frame);
		if (follows)
			more = nb_view_wait(view->host, 0);
	}
	flush(view);
	nb_frame_clear(&frame);
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* As the last thing that the process does, when all that it writes is complete. */
static void linger(int status, void *host)
{
	if (status == NB_EXIT_OK)
		nb_view_linger(host);
}

static void end(struct nb_run *run, void *self)
{
	struct view *view = self;
	(void)run;
	nb_view_end(view->host, view->exits ? 1 : 0);
	view->stays = !view->exits && on_exit(linger, view->host) == 0;
}

static void clear(void *self)
{
	struct view *view = self;
	free(view->held);
	if (!view->stays)
		nb_view_stop(view->host);
}

const struct nb_tool nb_tool_view = {
	.name = "nb-view",
	.about = "show a particle stream in a browser, and pass it on as it is",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_LOOKER | NB_COMMON_THREADS,
	.size = sizeof(struct view),
	.defaults = &(const struct view){.keep = 1000000000},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = frame_in_memory,
	.stream = stream,
	.end = end,
	.clear = clear,
};
