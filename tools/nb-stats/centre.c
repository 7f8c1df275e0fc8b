/* Which bodies, about which centre, and how far out. */
#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------ */

/* id:N */
static int parse_id(const char *text, uint64_t *id)
{
	return strncmp(text, "id:", 3) == 0 && nb_parse_u64(text + 3, 0, UINT64_MAX, id) == NB_PARSE_OK;
}

static void parse_center(struct stats *self)
{
	const char *text = self->center;
	size_t count;
	self->centre.kind = strcmp(text, "origin") == 0	   ? CENTRE_ORIGIN
			    : strcmp(text, "com") == 0	   ? CENTRE_COM
			    : strcmp(text, "density") == 0 ? CENTRE_DENSITY
							   : CENTRE_POINT;
	if (parse_id(text, &self->centre.id))
		self->centre.kind = CENTRE_ID;
	else if (self->centre.kind == CENTRE_POINT &&
		 (nb_parse_f64_list(text, 3, self->centre.pos, &count) != NB_PARSE_OK || count < 2))
		nb_die(NB_EXIT_USAGE, "invalid center '%s' (%swant origin, com, density, X,Y,Z or id:N)", text,
			nb_nearest_in(text, strlen(text), "origin|com|density", "|").hint);
}

static void parse_orbits(struct stats *self)
{
	self->orbit_of.kind = BODY_ID;
	if (!self->orbits || parse_id(self->orbits, &self->orbit_of.id))
		return;
	self->orbit_of.kind = strcmp(self->orbits, "jacobi") == 0	 ? BODIES_BEFORE
			      : strcmp(self->orbits, "barycentric") == 0 ? BODIES_ALL
									 : BODY_HEAVIEST;
	if (self->orbit_of.kind == BODY_HEAVIEST && strcmp(self->orbits, "heaviest") != 0)
		nb_die(NB_EXIT_USAGE, "invalid orbits '%s' (%swant heaviest, id:N, jacobi or barycentric)",
			self->orbits,
			nb_nearest_in(self->orbits, strlen(self->orbits), "heaviest|jacobi|barycentric", "|").hint);
}

static void parse_species(struct stats *self)
{
	if (self->species && nb_parse_species(self->species, self->species_of, &self->nspecies) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE,
			"invalid species '%s' (want numbers from 0 to 255, each once, separated by commas)",
			self->species);
}

/* A:B; what is left out stays as it is. */
static void parse_range(struct stats *self)
{
	double range[2] = {NAN, INFINITY};
	const char *text = self->range;
	if (text && (nb_parse_range(text, text + strlen(text), range) != NB_PARSE_OK || strlen(text) < 2 ||
			    range[0] < 0 || !(range[1] > fmax(range[0], 0))))
		nb_die(NB_EXIT_USAGE, "invalid range '%s' (want A:B with 0 <= A < B; A or B may be left out)", text);
	self->inner = isnan(range[0]) ? 0 : range[0];
	self->outer = range[1];
	if (self->wanted[PROFILE] && self->spacing == SPACING_LOG && range[0] == 0)
		nb_die(NB_EXIT_USAGE, "invalid range '%s' (with '--spacing log', want A:B with 0 < A < B)",
			self->range);
}

void nb_stats_parse(struct stats *self)
{
	parse_center(self);
	parse_orbits(self);
	parse_species(self);
	parse_range(self);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

size_t nb_stats_row(const struct nb_frame *frame, uint64_t id, const char *option)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *ids = nb_require_ids(frame, &nb_space_host);
	size_t i = 0;
	while (ids && i < n && ids[i] != id)
		i++;
	if (!ids) /* where there are none, they count from 0 */
		i = id < n ? (size_t)id : n;
	if (i == n)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has no body with the id %" PRIu64 " of '--%s'", frame->number,
			id, option);
	return i;
}

static void density_centre(
	const struct nb_run *run, struct stats *self, const struct nb_frame *frame, struct nb_centre *centre)
{
	const struct group *all = &self->bodies.all;
	const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	const double *vel = nb_stats_here(self, all->vel, 3 * all->n, frame);
	nb_require_done(run, nb_density_centre(all->n, mass, pos, vel, centre), "density centre of", frame);
}

/* Row i of n x 3 numbers that are where the backend computes. */
static void take(const struct stats *self, const struct nb_frame *frame, const double *from, size_t i, double to[3])
{
	const struct nb_space *space = self->bodies.backend->space;
	if (space->to_host(space, to, from + 3 * i, 3 * sizeof *to))
		nb_out_of_memory(frame);
}

struct nb_centre nb_stats_centre(
	const struct nb_run *run, struct stats *self, const struct nb_frame *frame, const struct nb_moments *moments)
{
	const struct group *all = &self->bodies.all;
	struct nb_centre centre = {{0, 0, 0}, {0, 0, 0}, NAN};
	size_t row;
	switch (self->centre.kind) {
	case CENTRE_ORIGIN: break;
	case CENTRE_POINT:
		if (self->centre.pos[2] != 0 && nb_require_dim(frame) == 2)
			nb_die(NB_EXIT_FAILED,
				"'--center %s' is not in the plane of frame %" PRIu64 ", which has 2 dimensions",
				self->center, frame->number);
		memcpy(centre.pos, self->centre.pos, sizeof centre.pos);
		break;
	case CENTRE_COM:
		memcpy(centre.pos, moments->com, sizeof centre.pos);
		for (int k = 0; k < 3; k++)
			centre.vel[k] = moments->momentum[k] / moments->mass;
		break;
	case CENTRE_DENSITY: density_centre(run, self, frame, &centre); break;
	case CENTRE_ID:
		row = nb_stats_row(frame, self->centre.id, "center");
		take(self, frame, all->pos, row, centre.pos);
		if (all->vel)
			take(self, frame, all->vel, row, centre.vel);
		break;
	}
	for (int k = 0; k < 3; k++)
		centre.vel[k] = all->vel ? centre.vel[k] : 0;
	return centre;
}
