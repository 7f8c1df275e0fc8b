/* --match: which groups of another frame have the bodies of the groups of this one. */
#include "tools/nb-groups/groups.h"

#include "common/die.h"
#include "common/mem.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"

#include <inttypes.h>

void nb_groups_open_match(struct nb_run *run, struct nb_groups_other *other, const char *path)
{
	char name[NB_SOURCE_NAME];
	nb_frame_init(&other->frame);
	nb_source_open(run, &other->source, path);
	(void)nb_source_name(&other->source, name);
	if (!nb_source_next(&other->source, &other->frame))
		nb_die(NB_EXIT_FAILED, "%s has no frame with groups", name);
	struct nb_column *column = nb_frame_find(&other->frame, "group");
	if (!column || column->table != NB_PARTICLE || column->dtype[1] != 'u' || column->ncomp != 1)
		nb_die(NB_EXIT_FAILED, "%s has no column 'group' of nb-groups in its first frame", name);
	other->group = nb_require_memory(&other->frame, nb_column_read(column, &nb_space_host, NB_AS_U64));
	other->n = other->frame.rows[NB_PARTICLE];
	other->id = nb_require_unique_ids(&other->frame, name);
	if (!other->id && other->n)
		nb_die(NB_EXIT_FAILED, "%s has no column 'id' in its first frame, by which bodies are found", name);
	other->size = nb_require_memory(&other->frame, nb_alloc_zero(other->n + 1, sizeof *other->size));
	for (size_t i = 0; i < other->n; i++) {
		if (other->group[i] > other->n)
			nb_die(NB_EXIT_FAILED, "%s: group %" PRIu64 " of %zu bodies is no number of nb-groups", name,
				other->group[i], other->n);
		other->size[other->group[i]]++;
	}
}

void nb_groups_close_match(struct nb_groups_other *other)
{
	nb_free(other->size);
	nb_frame_clear(&other->frame);
	nb_source_close(&other->source);
}

/* Of the sorted pairs of a group of this frame and one of the other, one for each body: the best for each group. */
static void choose(const struct nb_groups_other *other, const struct nb_groups *groups, const uint64_t *pair, size_t n,
	struct nb_groups_match *match)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && pair[end] == pair[i]; end++)
			;
		const size_t g = (size_t)(pair[i] >> 32) - 1;
		const uint32_t there = (uint32_t)pair[i], own = groups->begin[g + 1] - groups->begin[g];
		const double shared = (double)(end - i), merit = shared * shared / own / other->size[there];
		if (merit > match[g].merit)
			match[g] = (struct nb_groups_match){merit, there, (uint32_t)(end - i)};
	}
}

struct nb_groups_match *nb_groups_find_match(const struct nb_groups_other *other, const struct nb_frame *frame,
	const struct nb_groups *groups, const uint32_t *group)
{
	const size_t n = frame->rows[NB_PARTICLE], most = n < other->n ? n : other->n;
	const uint64_t *id = nb_require_unique_ids(frame, "");
	if (!id && n)
		nb_die(NB_EXIT_FAILED, "option '--match' needs field 'id', missing in frame %" PRIu64, frame->number);
	struct nb_groups_match *match = nb_require_memory(frame, nb_alloc_zero(groups->count, sizeof *match));
	uint32_t *row = nb_require_memory(frame, nb_alloc(most, sizeof *row));
	uint32_t *row_there = nb_require_memory(frame, nb_alloc(most, sizeof *row_there));
	uint64_t *pair = nb_require_memory(frame, nb_alloc(most, sizeof *pair));
	size_t count = 0, npair = 0;
	nb_require_ok(nb_ids_common(n, id, other->n, other->id, row, row_there, &count), frame);
	for (size_t k = 0; k < count; k++)
		if (group[row[k]] && other->group[row_there[k]])
			pair[npair++] = (uint64_t)group[row[k]] << 32 | other->group[row_there[k]];
	if (count < n)
		nb_verbose(
			"frame %" PRIu64 ": %zu of %zu bodies are not in the other frame", frame->number, n - count, n);
	nb_require_ok(nb_sort_keys_cpu(npair, pair, row), frame);
	choose(other, groups, pair, npair, match);
	nb_free_all(row, row_there, pair);
	return match;
}

void nb_groups_add_match(struct nb_frame *frame, const struct nb_groups_match *match)
{
	uint32_t *there = nb_groups_add_column(frame, "match", "<u4", 1, "");
	uint32_t *shared = nb_groups_add_column(frame, "shared", "<u4", 1, "");
	double *merit = nb_groups_add_column(frame, "merit", "<f8", 1, "");
	for (size_t g = 0; g < frame->rows[NB_PARTICLE]; g++) {
		there[g] = match[g].group;
		shared[g] = match[g].shared;
		merit[g] = match[g].merit;
	}
}
