/* The ids of a merged frame. */
#include "kernels/order/order.h"
#include "tools/filter/require.h"
#include "tools/nb-merge/merge.h"

#include <inttypes.h>

enum { PARALLEL = 100000 /* ids: fewer are not worth starting threads */ };

static _Noreturn void refuse_ids(const struct merge *opt, uint64_t id, size_t first, size_t second)
{
	char name[2][NB_SOURCE_NAME];
	int a = 0, b = 0;
	while (a + 1 < opt->ninput && first >= opt->input[a + 1].first)
		a++;
	while (b + 1 < opt->ninput && second >= opt->input[b + 1].first)
		b++;
	nb_source_name(&opt->input[a].source, name[0]);
	if (a == b)
		nb_die(NB_EXIT_FAILED,
			"id %" PRIu64 " appears twice in frame %" PRIu64 " of %s (give '--ids renumber')", id,
			opt->count, name[0]);
	nb_die(NB_EXIT_FAILED, "id %" PRIu64 " is in frame %" PRIu64 " of %s and of %s (%s)", id, opt->count, name[0],
		nb_source_name(&opt->input[b].source, name[1]),
		opt->ids == IDS_OFFSET ? "ids grow after the first frame: give '--ids renumber'"
				       : "give '--ids offset' or '--ids renumber'");
}

static void require_unique(const struct merge *opt, const struct nb_frame *frame)
{
	size_t first, second;
	const uint64_t *id = nb_repeated_ids(frame, &first, &second);
	if (id)
		refuse_ids(opt, id[first], first, second);
}

/* Adds offset to the numbers of an input in a column, which are 0, or ids 0, 1 .., if it has none; returns where that
 * of the next input begins. */
static uint64_t offset_numbers(const struct merge *opt, struct nb_frame *frame, const struct input *input,
	enum nb_field field, uint64_t offset)
{
	uint64_t *number = (uint64_t *)nb_update_wire(frame, nb_frame_field(frame, field)) + input->first, end = 0;
	const size_t n = input->frame.rows[NB_PARTICLE];
	if (!nb_frame_field(&input->frame, field))
		for (size_t i = 0; i < n; i++)
			number[i] = field == NB_ID ? i : 0;
	size_t large = n; /* the first that is */
#pragma omp parallel for schedule(static) reduction(min : large) reduction(max : end) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		large = number[i] >= UINT64_MAX - offset && i < large ? i : large;
		number[i] += offset;
		end = number[i] >= end ? number[i] + 1 : end;
	}
	if (large < n)
		nb_die(NB_EXIT_FAILED, "%s %" PRIu64 " in frame %" PRIu64 " is too large for '--%s'%s",
			nb_field_info[field].name, number[large] - offset, opt->count,
			field == NB_ID ? "ids offset" : "systems", field == NB_ID ? " (give '--ids renumber')" : "");
	return end > offset ? end : offset;
}

void nb_merge_offset(struct merge *opt, struct nb_frame *frame, int k)
{
	struct input *input = &opt->input[k];
	if (opt->ids == IDS_OFFSET) {
		const uint64_t end = offset_numbers(opt, frame, input, NB_ID, input->offset);
		if (opt->count == 0 && k + 1 < opt->ninput)
			input[1].offset = end;
	}
	if (opt->systems) {
		const uint64_t end = offset_numbers(opt, frame, input, NB_SYSTEM, input->system);
		if (opt->count == 0 && k + 1 < opt->ninput)
			input[1].system = end;
	}
}

void nb_merge_finish_ids(struct merge *opt, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	if (opt->ids == IDS_RENUMBER) {
		uint64_t *id = nb_update_wire(frame, nb_frame_field(frame, NB_ID));
		for (size_t i = 0; i < n; i++)
			id[i] = i;
	}
	require_unique(opt, frame);
}
