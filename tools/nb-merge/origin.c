/* --origin: which input a body came from, also through inputs that were merged before. */
#include "tools/filter/require.h"
#include "tools/nb-merge/merge.h"

#include <math.h>
#include <string.h>

enum { MOST_ORIGINS = UINT16_MAX };

int nb_merge_has_origins(const struct merge *opt, const struct nb_column *column)
{
	return opt->origin && column->table == NB_PARTICLE && column->ncomp == 1 && nb_dtype_is_number(column->dtype) &&
	       strcmp(column->name, NB_MERGE_ORIGIN) == 0;
}

static uint16_t *origins_of(const struct nb_frame *frame)
{
	return nb_update_wire(frame, nb_frame_find(frame, NB_MERGE_ORIGIN));
}

void nb_merge_take_origins(struct input *input, const struct nb_frame *frame, const struct nb_column *column,
	size_t first, size_t n, const void *data)
{
	enum { BLOCK = 1024 };
	const size_t size = nb_dtype_size(column->dtype);
	char name[NB_SOURCE_NAME];
	uint16_t *to = origins_of(frame) + first;
	double x[BLOCK];
	for (size_t i = 0; i < n; i += BLOCK) {
		const size_t part = n - i < BLOCK ? n - i : BLOCK;
		nb_dtype_to_f64(column->dtype, part, (const char *)data + i * size, x);
		for (size_t k = 0; k < part; k++) {
			const double origin = x[k] + (double)input->origin;
			if (!(x[k] >= 0 && origin <= MOST_ORIGINS && x[k] == floor(x[k])))
				nb_die(NB_EXIT_FAILED,
					"column 'origin' in %s has %g (want whole numbers, at most %d in all)",
					nb_source_name(&input->source, name), x[k], MOST_ORIGINS);
			to[i + k] = (uint16_t)origin;
			if (origin + 1 > (double)input->origin_end)
				input->origin_end = (uint64_t)origin + 1;
		}
	}
}

void nb_merge_finish_origins(struct merge *opt, const struct nb_frame *frame, struct input *input)
{
	const struct nb_column *own = nb_frame_find(&input->frame, NB_MERGE_ORIGIN);
	const size_t n = input->frame.rows[NB_PARTICLE];
	if (!opt->origin)
		return;
	if (n && input->origin > MOST_ORIGINS)
		nb_die(NB_EXIT_FAILED, "the inputs were merged from more than %d", MOST_ORIGINS + 1);
	uint16_t *to = n && !(own && nb_merge_has_origins(opt, own)) ? origins_of(frame) + input->first : NULL;
	for (size_t i = 0; to && i < n; i++)
		to[i] = (uint16_t)input->origin;
	if (opt->count == 0 && input + 1 < opt->input + opt->ninput)
		input[1].origin = input->origin_end > input->origin ? input->origin_end : input->origin + 1;
}
