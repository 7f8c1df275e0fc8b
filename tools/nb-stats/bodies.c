/* The bodies of a frame as arrays where a backend computes, and groups of them by species. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------- */

static void *own(struct stats *self, size_t count, size_t size, const struct nb_frame *frame)
{
	const struct nb_space *space = self->bodies.backend->space;
	void *memory = nb_require_memory(frame, count <= SIZE_MAX / size ? space->alloc(space, count * size) : NULL);
	return self->bodies.owned[self->bodies.nowned++] = memory;
}

double *nb_stats_there(struct stats *self, size_t count, const struct nb_frame *frame)
{
	return own(self, count, sizeof(double), frame);
}

/* Contents on the host of memory elsewhere. */
struct here {
	struct here *next;
	const double *there;
	size_t count;
	double *data;
};

const double *nb_stats_here(struct stats *self, const double *there, size_t count, const struct nb_frame *frame)
{
	const struct nb_space *space = self->bodies.backend->space;
	if (!there || space == &nb_space_host)
		return there;
	for (const struct here *known = self->bodies.here; known; known = known->next)
		if (known->there == there && known->count == count)
			return known->data;
	struct here *here = nb_alloc(1, sizeof *here);
	double *data = nb_alloc(count, sizeof *data);
	if (!here || !data) {
		nb_free_all(here, data);
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, frame->number);
	}
	*here = (struct here){self->bodies.here, there, count, data};
	self->bodies.here = here;
	if (space->to_host(space, data, there, count * sizeof *data))
		nb_out_of_memory(frame);
	return data;
}

void nb_stats_release(struct stats *self)
{
	while (self->bodies.nowned > 0) {
		const struct nb_space *space = self->bodies.backend->space;
		space->release(space, self->bodies.owned[--self->bodies.nowned]);
	}
	while (self->bodies.here) {
		struct here *next = self->bodies.here->next;
		nb_free_all(self->bodies.here->data, self->bodies.here);
		self->bodies.here = next;
	}
	nb_free(self->bodies.row);
	self->bodies.row = NULL;
	self->bodies.ngroup = 0;
}

const struct nb_backend *nb_stats_host(void)
{
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];
	if (nb_backend_choose("cpu", &backend, why))
		nb_die(NB_EXIT_FAILED, "backend cpu: %s", why);
	return backend;
}

/* ---- bodies ------------------------------------------------------------------------------------- */

/* Velocities at the time of the positions: where nb-step left half a kick to be done, acc does it on a copy.  NULL if
 * they cannot be computed. */
static const double *velocities(const struct nb_run *run, struct stats *self, const struct nb_frame *frame)
{
	const struct nb_backend *backend = self->bodies.backend;
	const struct nb_space *space = backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	if (!nb_frame_field(frame, NB_VEL))
		return NULL;
	const double *vel = nb_require_f64(frame, NB_VEL, space);
	const double pending = nb_require_attribute(frame, "pending_kick", 0);
	if (pending == 0)
		return vel;
	if (!nb_frame_field(frame, NB_ACC)) {
		if (!self->measure.warned_of_velocities++)
			nb_warn("velocities lag behind positions, and there is no field 'acc' to complete the kick "
				"(put 'nb-force' before)");
		return NULL;
	}
	nb_require_finite(frame, nb_frame_field(frame, NB_ACC));
	const double *acc = nb_require_f64(frame, NB_ACC, space);
	double *copy = nb_stats_there(self, 3 * n, frame);
	int status = space->copy(space, copy, vel, 3 * n * sizeof *vel);
	if (!status)
		status = backend->kick(n, copy, acc, pending);
	nb_require_done(run, status, "kick of", frame);
	return copy;
}

void nb_stats_load(
	const struct nb_run *run, struct stats *self, struct nb_frame *frame, const struct nb_backend *backend)
{
	nb_stats_release(self);
	nb_require_valid(frame);
	self->bodies.backend = backend;
	struct group *all = &self->bodies.all;
	*all = (struct group){.species = -1, .n = frame->rows[NB_PARTICLE]};
	all->mass = nb_require_f64(frame, NB_MASS, backend->space);
	all->pos = nb_require_f64(frame, NB_POS, backend->space);
	all->vel = velocities(run, self, frame);
	if (nb_frame_field(frame, NB_SPIN))
		all->spin = nb_require_f64(frame, NB_SPIN, backend->space);
}

/* ---- groups ------------------------------------------------------------------------------------- */

/* The species of each body, counted. */
static const double *count_species(const struct nb_frame *frame, size_t count[SPECIES])
{
	nb_require_field(frame, NB_SPECIES);
	const double *species = nb_require_f64(frame, NB_SPECIES, &nb_space_host);
	memset(count, 0, SPECIES * sizeof *count);
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++) {
		if (!(species[i] >= 0 && species[i] < SPECIES))
			nb_die(NB_EXIT_FAILED,
				"species of the body with id %" PRIu64 " in frame %" PRIu64 " is %g (want 0 to %d)",
				nb_body_id(frame, i), frame->number, species[i], SPECIES - 1);
		count[(size_t)species[i]]++;
	}
	return species;
}

/* Groups in the order of --species, else ascending, and group_of[species], -1: in none.  Returns the bodies in them. */
static size_t make_groups(struct stats *self, const size_t count[SPECIES], int group_of[SPECIES])
{
	size_t at = 0;
	for (int s = 0; s < SPECIES; s++)
		group_of[s] = -1;
	for (size_t k = 0; k < (self->nspecies ? self->nspecies : SPECIES); k++) {
		const int s = self->nspecies ? self->species_of[k] : (int)k;
		if (!self->nspecies && count[s] == 0)
			continue;
		if (self->by == BY_SPECIES || self->bodies.ngroup == 0)
			self->bodies.group[self->bodies.ngroup++] = (struct group){
				.species = self->by == BY_SPECIES ? s : -1, .begin = at};
		group_of[s] = (int)self->bodies.ngroup - 1;
		self->bodies.group[group_of[s]].n += count[s];
		at += count[s];
	}
	return at;
}

/* Contents of the column for the bodies of all groups, one group after the other. */
static const double *gather(const struct nb_run *run, struct stats *self, const struct nb_frame *frame, size_t n,
	const uint32_t *row, size_t width, const double *from)
{
	if (!from)
		return NULL;
	double *to = nb_stats_there(self, n * width, frame);
	nb_require_done(run, self->bodies.backend->permute(n, row, width * sizeof *to, from, to), "species of", frame);
	return to;
}

/* The rows of the bodies of the groups, on the host, and where the backend computes. */
static const uint32_t *rows_of_groups(
	struct stats *self, const struct nb_frame *frame, size_t n, const double *species, const int group_of[SPECIES])
{
	const struct nb_space *space = self->bodies.backend->space;
	size_t next[SPECIES];
	nb_require_ok(frame->rows[NB_PARTICLE] > UINT32_MAX ? NB_ELIMIT : NB_OK, frame);
	self->bodies.row = nb_require_memory(frame, nb_alloc(n, sizeof *self->bodies.row));
	for (size_t g = 0; g < self->bodies.ngroup; g++)
		next[g] = self->bodies.group[g].begin;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++) {
		const int g = group_of[(size_t)species[i]];
		if (g >= 0)
			self->bodies.row[next[g]++] = (uint32_t)i;
	}
	if (space == &nb_space_host)
		return self->bodies.row;
	uint32_t *there = own(self, n, sizeof *there, frame);
	if (space->from_host(space, there, self->bodies.row, n * sizeof *there))
		nb_out_of_memory(frame);
	return there;
}

void nb_stats_divide(const struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	size_t count[SPECIES];
	int group_of[SPECIES];
	const struct group *all = &self->bodies.all;
	self->bodies.ngroup = 0;
	if (self->by == BY_ALL && !self->nspecies) {
		self->bodies.group[self->bodies.ngroup++] = *all;
		return;
	}
	const double *species = count_species(frame, count);
	const size_t n = make_groups(self, count, group_of);
	const uint32_t *row = rows_of_groups(self, frame, n, species, group_of);
	const double *mass = gather(run, self, frame, n, row, 1, all->mass);
	const double *pos = gather(run, self, frame, n, row, 3, all->pos);
	const double *vel = gather(run, self, frame, n, row, 3, all->vel);
	const double *pot = gather(run, self, frame, n, row, 1, all->pot);
	const double *pot_field = gather(run, self, frame, n, row, 1, all->pot_field);
	const double *spin = gather(run, self, frame, n, row, 3, all->spin);
	for (size_t g = 0; g < self->bodies.ngroup; g++) {
		struct group *group = &self->bodies.group[g];
		group->spin = spin ? spin + 3 * group->begin : NULL;
		group->mass = mass + group->begin;
		group->pos = pos + 3 * group->begin;
		group->vel = vel ? vel + 3 * group->begin : NULL;
		group->pot = pot ? pot + group->begin : NULL;
		group->pot_field = pot_field ? pot_field + group->begin : NULL;
	}
}
