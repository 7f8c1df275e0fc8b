/* On streams: copies of frames that are not held, and what is whole of a stream that is cut or damaged. */
#include "tools/filter/files.h"
#include "tools/filter/kick.h"
#include "tools/filter/require.h"
#include "tools/nb-select/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- copies ------------------------------------------------------------------------------------- */

struct copy {
	struct nb_run *run;
	struct nb_frame head; /* of what goes out */
};

static int copy_block(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	struct copy *copy = context;
	(void)offset;
	if (nb_frame_find(&copy->head, column->name) && nb_writer_block(&copy->run->out, data, bytes))
		nb_die(NB_EXIT_FAILED, "%s", copy->run->out.error);
	return 0;
}

void nb_select_copy(struct nb_run *run, void *self)
{
	struct select *s = self;
	struct copy copy = {.run = run};
	struct nb_writer *out = &run->out;
	struct nb_frame frame;
	nb_frame_init(&frame);
	nb_frame_init(&copy.head);
	while (nb_next_wanted(run, &frame)) {
		if (nb_select_drops_acc(s) && nb_require_attribute(&frame, "pending_kick", 0) != 0) {
			nb_next_columns(run, &frame, SIZE_MAX);
			nb_complete_kick(&frame);
			nb_select_columns(s, &frame);
			nb_emit(run, &frame);
			continue;
		}
		nb_require_ok(nb_frame_copy_head(&copy.head, &frame), &frame);
		nb_select_columns(s, &copy.head);
		nb_add_history(run, &copy.head);
		if (nb_writer_begin(out, &copy.head))
			nb_die(NB_EXIT_FAILED, "%s", out->error);
		if (nb_reader_body(&run->in, &frame, copy_block, &copy) == NB_ERROR)
			nb_fail_input(run);
		if (nb_writer_end(out) || nb_writer_flush(out))
			nb_die(NB_EXIT_FAILED, "%s", out->error);
	}
	nb_frame_clear(&copy.head);
	nb_frame_clear(&frame);
}

/* ---- recovery ----------------------------------------------------------------------------------- */

/* What the reader has found wrong; goes on behind it: 1, or 0 if there is nothing more to be read. */
static int get_over(struct nb_run *run)
{
	struct nb_reader *in = &run->in;
	const char *path = nb_files_path(run);
	char message[NB_ERROR_SIZE], range[96] = "";
	if (strncmp(in->error, "out of memory", strlen("out of memory")) == 0)
		nb_fail_input(run);
	memcpy(message, in->error, sizeof message);
	const uint64_t begin = in->begin;
	const int more = nb_reader_recover(in);
	if (more && in->nbyte > begin)
		snprintf(range, sizeof range, " (lost: bytes %" PRIu64 " to %" PRIu64 ")", begin, in->nbyte - 1);
	else if (!more && in->nbyte > begin)
		snprintf(range, sizeof range, " (lost: all from byte %" PRIu64 " on)", begin);
	nb_warn("%s%s%s%s%s", path ? "'" : "", path ? path : "", path ? "': " : "", message, range);
	return more;
}

void nb_select_recover(struct nb_run *run, void *self)
{
	struct nb_reader *in = &run->in;
	struct nb_frame frame;
	uint64_t whole = 0;
	int lost = 0, more = 1;
	nb_frame_init(&frame);
	while (more) {
		enum nb_answer answer = nb_reader_head(in, &frame);
		if (answer == NB_FRAME)
			answer = nb_reader_columns(in, &frame, SIZE_MAX);
		if (answer == NB_FRAME) {
			whole++;
			nb_select_take(run, self, &frame);
		} else if (answer == NB_ERROR) {
			lost = 1;
			more = get_over(run);
		} else {
			more = 0;
		}
		if (!more && nb_files_next(run)) {
			if (nb_reader_go_on(in, run->files.in))
				nb_die(NB_EXIT_FAILED, "out of memory");
			more = 1;
		}
	}
	nb_frame_clear(&frame);
	if (lost && !whole)
		nb_die(NB_EXIT_FAILED, "no frame is whole");
	if (lost)
		nb_warn("%" PRIu64 " whole frame%s recovered", whole, whole == 1 ? "" : "s");
	run->verdict = lost ? NB_EXIT_LOST : NB_EXIT_OK;
}
