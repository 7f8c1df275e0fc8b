/* Which bodies, and in which order: --where, --ids, --sample and --sort. */
#include "tools/nb-select/select.h"

#include "common/mem.h"
#include "kernels/order/order.h"
#include "tools/filter/kick.h"
#include "tools/filter/require.h"
#include "tools/filter/stale.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int nb_select_touches_bodies(const struct select *s)
{
	return s->where || s->ids || s->sample || s->sort;
}

/* ---- memory for a frame ------------------------------------------------------------------------- */

/* An error may end this tool in a process that goes on: what is allocated must be known where that is cleaned up. */
static void *take(struct select *s, const struct nb_frame *frame, size_t n, size_t size)
{
	void *p = nb_require_memory(frame, s->nscratch < NB_SELECT_SCRATCH ? nb_alloc(n, size) : NULL);
	return s->scratch[s->nscratch++] = p;
}

void nb_select_release(struct select *s, int kept)
{
	while (s->nscratch > kept)
		nb_free(s->scratch[--s->nscratch]);
}

/* ---- which -------------------------------------------------------------------------------------- */

static const uint64_t *require_ids(const struct nb_frame *frame)
{
	(void)nb_require_field(frame, NB_ID);
	return nb_require_ids(frame, &nb_space_host);
}

/* The range that an id is in, NULL: none. */
static struct id_range *find_id(const struct select *s, uint64_t id)
{
	size_t lo = 0, hi = s->nid;
	while (lo < hi) {
		const size_t middle = lo + (hi - lo) / 2;
		if (s->id[middle].to < id)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < s->nid && s->id[lo].from <= id ? &s->id[lo] : NULL;
}

static void mark_ids(struct select *s, const struct nb_frame *frame, uint8_t *mask)
{
	const uint64_t *id = require_ids(frame);
	for (size_t k = 0; k < s->nid; k++)
		s->id[k].found = 0;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++) {
		struct id_range *range = find_id(s, id[i]);
		mask[i] &= range != NULL;
		if (range)
			range->found = 1;
	}
	size_t missing = 0, first = 0;
	for (size_t k = s->nid; k-- > 0;)
		if (!s->id[k].found) {
			missing++;
			first = k;
		}
	if (missing > 0 && !s->warned_of_ids) {
		if (missing == 1)
			nb_warn("id %" PRIu64 " of '--ids' is not in frame %" PRIu64, s->id[first].from, frame->number);
		else
			nb_warn("%zu of the %zu ids of '--ids' are not in frame %" PRIu64 ", the first is %" PRIu64,
				missing, s->nid, frame->number, s->id[first].from);
		s->warned_of_ids = 1;
	}
}

/* A number that depends on the id and the seed only: a body has the same in each frame. */
static uint64_t lot_of(uint64_t id, uint64_t seed)
{
	return nb_id_hash(id ^ nb_id_hash(seed + 0x9e3779b97f4a7c15u));
}

static void mark_part(const struct select *s, const struct nb_frame *frame, uint8_t *mask)
{
	const uint64_t *id = require_ids(frame);
	const double limit = s->part * 0x1p64;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE] && limit < 0x1p64; i++)
		mask[i] &= (double)lot_of(id[i], s->seed) < limit;
}

/* Those with the smallest lots. */
static void mark_number(struct nb_run *run, struct select *s, const struct nb_frame *frame, uint8_t *mask)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *id = require_ids(frame);
	const int kept = s->nscratch;
	uint64_t *lot = take(s, frame, n, sizeof *lot);
	uint32_t *row = take(s, frame, n, sizeof *row), *perm = take(s, frame, n, sizeof *perm);
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (mask[i]) {
			lot[count] = lot_of(id[i], s->seed);
			row[count++] = (uint32_t)i;
		}
	nb_require_done(run, nb_sort_keys_cpu(count, lot, perm), "sampling", frame);
	for (size_t k = s->number < count ? s->number : count; k < count; k++)
		mask[row[perm[k]]] = 0;
	nb_select_release(s, kept);
}

/* The rows of the bodies that stay, and their number. */
static uint32_t *choose(struct nb_run *run, struct select *s, struct nb_frame *frame, size_t *count)
{
	const size_t n = frame->rows[NB_PARTICLE];
	uint32_t *row = take(s, frame, n, sizeof *row);
	const int kept = s->nscratch;
	uint8_t *mask = take(s, frame, n, 1);
	memset(mask, 1, n);
	if (s->where) {
		nb_bind_condition(s->where, frame);
		nb_condition_mask(s->where, frame, mask);
	}
	if (s->ids)
		mark_ids(s, frame, mask);
	if (s->sample_kind == SAMPLE_PART)
		mark_part(s, frame, mask);
	if (s->sample_kind == SAMPLE_NUMBER)
		mark_number(run, s, frame, mask);
	*count = 0;
	for (size_t i = 0; i < n; i++) {
		row[*count] = (uint32_t)i;
		*count += mask[i];
	}
	nb_select_release(s, kept);
	return row;
}

/* ---- order -------------------------------------------------------------------------------------- */

/* Keys in the order of the numbers; a NaN is the last. */
static uint64_t key_of_real(double x, int descending)
{
	uint64_t bits;
	if (isnan(x))
		return UINT64_MAX;
	x += 0.0; /* -0 is 0 */
	memcpy(&bits, &x, sizeof bits);
	bits = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
	return descending ? ~bits : bits;
}

static void make_keys(const struct select *s, struct nb_frame *frame, uint64_t *key)
{
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_expr_error error;
	nb_bind_expression(s->order, frame, 1);
	if (nb_expr_kind(s->order) == NB_EXPR_TEXT)
		nb_die(NB_EXIT_FAILED, "'%.300s' is a text, and bodies are sorted by numbers",
			nb_expr_source(s->order));
	if (nb_expr_kind(s->order) == NB_EXPR_REAL) {
		double *x = (double *)(void *)key;
		nb_expression_f64(s->order, frame, x);
		for (size_t i = 0; i < n; i++) {
			double real;
			memcpy(&real, &x[i], sizeof real);
			key[i] = key_of_real(real, s->descending);
		}
		return;
	}
	uint64_t flip = 0;
	if (nb_expr_values(s->order, 0, n, 0, NB_ITEM_U64, key, sizeof *key, &error)) {
		if (nb_expr_values(s->order, 0, n, 0, NB_ITEM_I64, key, sizeof *key, &error))
			nb_expression_failed(s->order, frame, &error);
		flip = (uint64_t)1 << 63;
	}
	for (size_t i = 0; i < n; i++)
		key[i] = s->descending ? ~(key[i] ^ flip) : key[i] ^ flip;
}

/* Sorts the rows that stay: 1 if that changes their order. */
static int sort(struct nb_run *run, struct select *s, struct nb_frame *frame, uint32_t *row, size_t count)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const int kept = s->nscratch;
	uint64_t *key = take(s, frame, n, sizeof *key);
	uint32_t *perm = take(s, frame, n, sizeof *perm);
	int changed = 0;
	make_keys(s, frame, key);
	for (size_t k = 0; k < count; k++) /* row[k] >= k */
		key[k] = key[row[k]];
	nb_require_done(run, nb_sort_keys_cpu(count, key, perm), "sorting", frame);
	for (size_t k = 0; k < count; k++) {
		changed |= perm[k] != k;
		perm[k] = row[perm[k]];
	}
	memcpy(row, perm, count * sizeof *row);
	nb_select_release(s, kept);
	return changed;
}

/* ---- what becomes stale ------------------------------------------------------------------------- */

/* Bodies of one key are in the order of deeper keys, which depend on all of them. */
static int keys_ascend(struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_KEY);
	const uint64_t *key = column ? nb_column_read(column, &nb_space_host, NB_AS_U64) : NULL;
	if (column && !key)
		nb_out_of_memory(frame);
	for (size_t i = 1; key && i < column->rows; i++)
		if (key[i - 1] >= key[i])
			return 0;
	return 1;
}

static void drop_stale(const struct select *s, struct nb_frame *frame, int dropped, int reordered)
{
	char before[NB_STALE_TEXT] = "";
	nb_list_derived(frame, before);
	nb_frame_drop_tree(frame);
	if (dropped)
		nb_drop_run_attributes(frame);
	for (size_t c = frame->ncolumn; dropped && !s->keep_derived && c-- > 0;) {
		const struct nb_column *column = &frame->column[c];
		if ((column->flags & NB_DERIVED) && column->field != NB_KEY && !nb_select_names(s, column->name))
			nb_frame_drop(frame, column->name);
	}
	if (reordered || !keys_ascend(frame)) {
		nb_frame_drop_field(frame, NB_KEY);
		nb_frame_drop_attribute(frame, "key_cube");
	}
	(void)nb_tell_stale(frame, before, "%s", dropped ? "leaving out bodies" : "another order");
}

void nb_select_bodies(struct nb_run *run, struct select *s, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	size_t count;
	if (n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit %" PRIu32 ")", frame->number, n,
			UINT32_MAX);
	uint32_t *row = choose(run, s, frame, &count);
	if (count < n && !s->keep_derived)
		nb_complete_kick(frame);
	const int reordered = s->order && sort(run, s, frame, row, count);
	nb_select_columns(s, frame); /* what is left out need not move */
	if (count < n || reordered) {
		nb_require_done(run, nb_frame_gather(frame, NB_PARTICLE, count, row, &nb_space_host, nb_permute_cpu),
			"selecting from", frame);
		drop_stale(s, frame, count < n, reordered);
	}
	nb_select_release(s, 0);
	nb_require_valid(frame);
	nb_verbose("frame %" PRIu64 ": %zu of %zu bodies", frame->number, count, n);
}
