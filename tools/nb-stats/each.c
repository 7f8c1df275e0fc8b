/* --each: the bodies of each value of a column are measured as a frame of their own. */
#include "common/mem.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The values of the column, whole numbers from 0 on, to be sorted. */
static void read_values(struct stats *self, const struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_find(frame, self->each);
	const size_t n = frame->rows[NB_PARTICLE];
	if (!column || column->table != NB_PARTICLE)
		nb_die(NB_EXIT_FAILED, "column '%s' of '--each' is missing in frame %" PRIu64, self->each,
			frame->number);
	if (column->ncomp != 1 || !strchr("iu", column->dtype[1]))
		nb_die(NB_EXIT_FAILED,
			"column '%s' of '--each' is %s x %" PRIu32 " in frame %" PRIu64 " (want whole numbers)",
			self->each, column->dtype, column->ncomp, frame->number);
	uint64_t *value = self->parts.value = nb_require_memory(frame, nb_alloc(n, sizeof *value));
	const int is_signed = column->dtype[1] == 'i';
	const void *from = nb_require_memory(
		frame, nb_column_read(column, &nb_space_host, is_signed ? NB_AS_F64 : NB_AS_U64));
	for (size_t i = 0; i < n; i++) {
		if (is_signed && !(((const double *)from)[i] >= 0))
			nb_die(NB_EXIT_FAILED,
				"column '%s' of '--each' of the body with id %" PRIu64 " in frame %" PRIu64
				" is %g (want a number >= 0)",
				self->each, nb_body_id(frame, i), frame->number, ((const double *)from)[i]);
		value[i] = is_signed ? (uint64_t)((const double *)from)[i] : ((const uint64_t *)from)[i];
	}
}

/* Only what is measured, in the order of the values. */
static void sort_frame(struct stats *self, struct nb_frame *frame)
{
	static const enum nb_field used[] = {
		NB_ID, NB_MASS, NB_POS, NB_VEL, NB_ACC, NB_POT, NB_POT_FIELD, NB_SPIN, NB_SPECIES, NB_EPS};
	struct nb_frame *sorted = &self->parts.sorted;
	const size_t n = frame->rows[NB_PARTICLE];
	uint32_t *perm = self->parts.perm = nb_require_memory(frame, nb_alloc(n, sizeof *perm));
	nb_require_ok(nb_sort_keys_cpu(n, self->parts.value, perm), frame);
	nb_require_ok(nb_frame_share(sorted, frame), frame);
	nb_frame_drop_order(sorted);
	nb_drop_run_attributes(sorted);
	for (size_t c = sorted->ncolumn; c-- > 0;) {
		int keep = 0;
		for (size_t k = 0; k < sizeof used / sizeof *used; k++)
			keep |= sorted->column[c].field == used[k];
		if (!keep)
			nb_frame_drop(sorted, sorted->column[c].name);
	}
	nb_require_ok(nb_frame_gather(sorted, NB_PARTICLE, n, perm, &nb_space_host, nb_permute_cpu), frame);
	sorted->number = frame->number;
}

/* Before anything is printed: bodies of one value may be of several systems only if nothing takes them as one. */
static void require_apart(const struct stats *self, struct nb_frame *frame, const char *what)
{
	struct nb_column *column = nb_frame_field(frame, NB_SYSTEM);
	if (!column)
		return;
	const uint64_t *number = nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_AS_U64));
	const uint64_t *value = self->parts.value;
	const uint32_t *perm = self->parts.perm;
	for (size_t i = 1; i < frame->rows[NB_PARTICLE]; i++)
		if (value[i] == value[i - 1] && number[perm[i]] != number[perm[i - 1]])
			nb_refuse_systems(frame, what, "'--each system'");
}

/* The same of a body that an option names: those of each value have it. */
static void require_body(const struct stats *self, const struct nb_frame *sorted, uint64_t id, const char *option)
{
	const size_t n = sorted->rows[NB_PARTICLE];
	const uint64_t *ids = nb_require_ids(sorted, &nb_space_host), *value = self->parts.value;
	for (size_t i = 0, found = 0; ids && i < n; i++) {
		found |= ids[i] == id;
		if (i + 1 < n && value[i + 1] == value[i])
			continue;
		if (!found)
			nb_die(NB_EXIT_FAILED,
				"frame %" PRIu64 " has no body with the id %" PRIu64
				" of '--%s' among those of %s %" PRIu64,
				sorted->number, id, option, self->each, value[i]);
		found = 0;
	}
}

/* To the images that are nearest to a place. */
static void unwrap(size_t n, double *pos, const double at[3], double box)
{
	for (size_t k = 0; k < 3 * n; k++)
		pos[k] -= box * rint((pos[k] - at[k % 3]) / box);
}

static double *positions(struct nb_frame *frame)
{
	return nb_require_memory(frame, nb_column_update(nb_require_field(frame, NB_POS), &nb_space_host, NB_AS_F64));
}

/* In a periodic box the bodies of a part are at the images that are nearest to its first one. */
static void unwrap_part(struct nb_frame *part)
{
	const double box = nb_box_of(part);
	if (!(box > 0) || part->rows[NB_PARTICLE] == 0)
		return;
	double *pos = positions(part);
	const double first[3] = {pos[0], pos[1], pos[2]};
	unwrap(part->rows[NB_PARTICLE], pos, first, box);
}

static void mean_on_circles(size_t n, const double *mass, const double *pos, double box, double at[3])
{
	for (size_t d = 0; d < 3; d++) {
		double sine = 0, cosine = 0;
		for (size_t i = 0; i < n; i++) {
			const double angle = 2 * M_PI / box * pos[3 * i + d];
			sine += mass[i] * sin(angle);
			cosine += mass[i] * cos(angle);
		}
		at[d] = box / (2 * M_PI) * atan2(sine, cosine);
	}
}

void nb_stats_open_box(const struct stats *self, struct nb_frame *frame)
{
	const double box = nb_box_of(frame);
	const size_t n = frame->rows[NB_PARTICLE];
	if (self->epot == EPOT_DIRECT || self->eps_given || self->bound)
		nb_refuse_box(frame, "a direct sum of potentials", "'nb-force --potential' before, '--epot none'");
	nb_require_valid(frame);
	double *pos = positions(frame), at[3];
	if (self->centre.kind == CENTRE_COM || self->centre.kind == CENTRE_DENSITY)
		mean_on_circles(n, nb_require_f64(frame, NB_MASS, &nb_space_host), pos, box, at);
	else if (self->centre.kind == CENTRE_ID)
		memcpy(at, pos + 3 * nb_stats_row(frame, self->centre.id, "center"), sizeof at);
	else
		memcpy(at, self->centre.pos, sizeof at);
	unwrap(n, pos, at, box);
}

/* Places and velocities of a part become those about its centre. */
static void move_to_centre(struct nb_run *run, struct stats *self, struct nb_frame *part)
{
	struct nb_moments m;
	nb_stats_load(run, self, part, nb_stats_host());
	const struct group *all = &self->bodies.all;
	nb_require_done(run, nb_moments_cpu(all->n, all->mass, all->pos, all->vel, &m), "moments of", part);
	const struct nb_centre centre = nb_stats_centre(run, self, part, &m);
	nb_stats_release(self);
	for (int v = 0; v < 2; v++) {
		struct nb_column *column = nb_frame_field(part, v ? NB_VEL : NB_POS);
		const double *from = v ? centre.vel : centre.pos;
		if (!column)
			continue;
		double *x = nb_require_memory(part, nb_column_update(column, &nb_space_host, NB_AS_F64));
		for (size_t i = 0; i < 3 * part->rows[NB_PARTICLE]; i++)
			x[i] -= from[i % 3];
	}
}

/* Rows begin .. end - 1 of a frame. */
static void cut(struct nb_frame *part, struct nb_frame *sorted, const uint32_t *row, size_t begin, size_t end)
{
	nb_require_ok(nb_frame_share(part, sorted), sorted);
	nb_require_ok(
		nb_frame_gather(part, NB_PARTICLE, end - begin, row + begin, &nb_space_host, nb_permute_cpu), sorted);
	part->number = sorted->number;
	unwrap_part(part);
}

/* Copies places and velocities of a part to where they are in the whole. */
static void put_back(struct nb_frame *whole, const struct nb_frame *part, size_t begin)
{
	for (int v = 0; v < 2; v++) {
		struct nb_column *to = nb_frame_field(whole, v ? NB_VEL : NB_POS);
		struct nb_column *from = nb_frame_field(part, v ? NB_VEL : NB_POS);
		if (!to)
			continue;
		double *x = nb_require_memory(whole, nb_column_update(to, &nb_space_host, NB_AS_F64));
		const double *own = nb_require_memory(part, nb_column_read(from, &nb_space_host, NB_AS_F64));
		memcpy(x + 3 * begin, own, 3 * part->rows[NB_PARTICLE] * sizeof *x);
	}
}

void nb_stats_release_each(struct stats *self)
{
	nb_free_all(self->parts.value, self->parts.perm, self->parts.row);
	self->parts.value = NULL;
	self->parts.perm = self->parts.row = NULL;
	if (self->parts.open) {
		nb_frame_clear(&self->parts.part);
		nb_frame_clear(&self->parts.sorted);
	}
	self->parts.open = 0;
}

void nb_stats_each(struct nb_run *run, struct stats *self, struct nb_frame *frame, const char *mixes)
{
	struct nb_frame *const sorted = &self->parts.sorted, *const part = &self->parts.part;
	const size_t n = frame->rows[NB_PARTICLE];
	nb_require_valid(frame);
	read_values(self, frame);
	nb_frame_init(sorted);
	nb_frame_init(part);
	self->parts.open = 1;
	sort_frame(self, frame);
	if (mixes)
		require_apart(self, frame, mixes);
	if (self->orbits && self->orbit_of.kind == BODY_ID)
		require_body(self, sorted, self->orbit_of.id, "orbits");
	if (self->centre.kind == CENTRE_ID)
		require_body(self, sorted, self->centre.id, "center");
	const uint64_t *value = self->parts.value;
	uint32_t *row = self->parts.row = nb_require_memory(frame, nb_alloc(n, sizeof *row));
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)i;
	for (size_t begin = 0, end; begin < n; begin = end) {
		for (end = begin + 1; end < n && value[end] == value[begin]; end++)
			;
		cut(part, sorted, row, begin, end);
		if (self->stack) {
			move_to_centre(run, self, part);
			put_back(sorted, part, begin);
		} else {
			self->each_value = value[begin];
			self->mode->frame(run, self, part);
		}
		nb_frame_clear(part);
		nb_frame_init(part);
	}
	if (self->stack) {
		const int kind = self->centre.kind;
		self->centre.kind = CENTRE_ORIGIN;
		self->mode->frame(run, self, sorted);
		self->centre.kind = kind;
	}
	nb_stats_release_each(self);
}

void nb_stats_add_each(struct stats *self)
{
	if (self->each && !self->stack)
		nb_report_integer(&self->report, self->each, 7, self->each_value);
}
