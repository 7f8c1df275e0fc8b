/* Which bodies of a frame belong together. */
#include "tools/filter/systems.h"

#include "common/die.h"
#include "common/mem.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"

#include <inttypes.h>

/* Numbers of systems to value, and rows in their order; bodies of one system stay in the order of the frame. */
static void sort(struct nb_frame *frame, struct nb_column *column, uint64_t *value, uint32_t *row)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *number = column ? nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_AS_U64))
					: NULL;
	int sorted = 1;
	for (size_t i = 0; i < n; i++) {
		value[i] = number ? number[i] : 0;
		row[i] = (uint32_t)i;
		sorted &= i == 0 || value[i - 1] <= value[i];
	}
	if (!sorted)
		nb_require_ok(nb_sort_keys_cpu(n, value, row), frame);
}

void nb_find_systems(struct nb_frame *frame, struct nb_systems *systems)
{
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_column *column = nb_frame_field(frame, NB_SYSTEM);
	if (n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit 2^32 - 1 with systems)", frame->number,
			n);
	*systems = (struct nb_systems){.first = nb_alloc(n + 2, sizeof *systems->first),
		.row = nb_alloc(n + 1, sizeof *systems->row),
		.number = nb_alloc(n + 1, sizeof *systems->number)};
	if (!systems->first || !systems->row || !systems->number)
		nb_out_of_memory(frame);
	uint64_t *value = systems->number;
	sort(frame, column, value, systems->row);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || value[i] != value[systems->n - 1]) {
			value[systems->n] = value[i]; /* which is behind those that are still to be read, or there */
			systems->first[systems->n++] = i;
		}
	if (!column && n == 0)
		systems->first[systems->n++] = 0;
	systems->first[systems->n] = n;
	for (size_t k = 0; k < systems->n; k++) {
		const size_t bodies = systems->first[k + 1] - systems->first[k];
		systems->largest = bodies > systems->largest ? bodies : systems->largest;
	}
}

void nb_free_systems(struct nb_systems *systems)
{
	nb_free_all(systems->first, systems->row, systems->number);
	*systems = (struct nb_systems){0};
}

static int has_several(const struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_SYSTEM);
	const size_t n = column ? frame->rows[NB_PARTICLE] : 0;
	const uint64_t *number = n ? nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_AS_U64)) : NULL;
	for (size_t i = 1; i < n; i++)
		if (number[i] != number[0])
			return 1;
	return 0;
}

void nb_refuse_systems(const struct nb_frame *frame, const char *what, const char *want)
{
	if (has_several(frame))
		nb_die(NB_EXIT_FAILED,
			"%s does not keep the systems of frame %" PRIu64
			" apart (want %s%snb-select --where 'system == 0' before, for one of them)",
			what, frame->number, want, *want ? ", or " : "");
}
