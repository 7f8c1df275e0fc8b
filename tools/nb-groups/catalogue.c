/* The frame of groups that takes the place of the frame of bodies. */
#include "tools/nb-groups/groups.h"

#include "common/die.h"
#include "common/mem.h"
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Bodies of the frame, to be read. */
struct bodies {
	int dim;
	const struct nb_groups_law *law;
	struct nb_groups_reals all;
	const double *pot; /* or NULL */
};

struct row {
	struct nb_group_properties group;
	struct nb_shape shape;
	const struct nb_sphere *sphere; /* of each density */
	double centre[3], vmax, r_vmax, spin;
	double ekin, epot, spin_bound;
};

static struct nb_reals optional(const struct nb_frame *frame, enum nb_field field)
{
	return nb_frame_field(frame, field) ? nb_require_reals(frame, field) : (struct nb_reals){0};
}

struct nb_groups_reals nb_groups_reals_of(const struct nb_frame *frame)
{
	return (struct nb_groups_reals){
		nb_require_reals(frame, NB_POS), optional(frame, NB_MASS), optional(frame, NB_VEL)};
}

static int measure(const struct bodies *bodies, size_t n, const uint32_t *member, struct row *row)
{
	double *mass = nb_alloc(n, sizeof *mass), *pos = nb_alloc(n, 3 * sizeof *pos);
	const int moves = nb_reals_there(bodies->all.vel);
	double *vel = moves ? nb_alloc(n, 3 * sizeof *vel) : NULL;
	int status = mass && pos && (vel || !moves) ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; !status && i < n; i++) {
		mass[i] = nb_real_or_1(bodies->all.mass, member[i]);
		nb_reals_row(bodies->all.pos, member[i], pos + 3 * i);
		if (vel)
			nb_reals_row(bodies->all.vel, member[i], vel + 3 * i);
	}
	const struct nb_group_bodies own = {n, mass, pos, vel, bodies->law->flow};
	if (!status)
		status = nb_groups_measure(&own, bodies->dim, bodies->law->length, bodies->law->box, &row->group);
	row->shape.b_over_a = row->shape.c_over_a = NAN;
	if (!status && !row->group.wraps)
		status = nb_shape_of(n, mass, pos, row->group.com, bodies->dim, 0, INFINITY, 1, &row->shape);
	nb_free_all(mass, pos, vel);
	return status;
}

enum { ALWAYS = 0, OF_VEL = 1, OF_CENTRE = 2, OF_SPHERE = 4, OF_BOUND = 8 };

/* The real columns of the table, where struct row has them. */
static const struct {
	const char *name, *unit;
	uint32_t ncomp;
	int of; /* there only if there are velocities, centres of potential, spheres, --bound: bits */
	size_t at;
} real[] = {
	{"mass", "mass", 1, ALWAYS, offsetof(struct row, group.mass)},
	{"pos", "length", 3, ALWAYS, offsetof(struct row, group.com)},
	{"vel", "velocity", 3, OF_VEL, offsetof(struct row, group.vel)},
	{"r_rms", "length", 1, ALWAYS, offsetof(struct row, group.r_rms)},
	{"r_max", "length", 1, ALWAYS, offsetof(struct row, group.r_max)},
	{"vdisp", "velocity", 1, OF_VEL, offsetof(struct row, group.vdisp)},
	{"angular", "mass length velocity", 3, OF_VEL, offsetof(struct row, group.angular)},
	{"b_over_a", "", 1, ALWAYS, offsetof(struct row, shape.b_over_a)},
	{"c_over_a", "", 1, ALWAYS, offsetof(struct row, shape.c_over_a)},
	{"ekin", "mass velocity^2", 1, OF_BOUND, offsetof(struct row, ekin)},
	{"epot", "mass velocity^2", 1, OF_BOUND, offsetof(struct row, epot)},
	{"spin_bound", "", 1, OF_BOUND, offsetof(struct row, spin_bound)},
	{"centre", "length", 3, OF_CENTRE, offsetof(struct row, centre)},
	{"vmax", "velocity", 1, OF_SPHERE, offsetof(struct row, vmax)},
	{"r_vmax", "length", 1, OF_SPHERE, offsetof(struct row, r_vmax)},
	{"spin_sphere", "", 1, OF_SPHERE | OF_VEL, offsetof(struct row, spin)},
};

void *nb_groups_add_column(
	struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, const char *unit)
{
	struct nb_column *column = nb_require_memory(
		frame, nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, unit, 0));
	return nb_require_memory(frame, nb_column_write(column, &nb_space_host, NB_WIRE));
}

static void fill(
	struct nb_frame *frame, const struct nb_groups *groups, const struct row *row, const struct bodies *bodies)
{
	uint64_t *id = nb_groups_add_column(frame, "id", "<u8", 1, "");
	uint32_t *group = nb_groups_add_column(frame, "group", "<u4", 1, "");
	uint32_t *count = nb_groups_add_column(frame, "count", "<u4", 1, "");
	unsigned char *wraps = nb_groups_add_column(frame, "wraps", "|u1", 1, "");
	for (size_t g = 0; g < groups->count; g++) {
		id[g] = groups->id[g];
		group[g] = (uint32_t)g + 1;
		count[g] = groups->begin[g + 1] - groups->begin[g];
		wraps[g] = (unsigned char)row[g].group.wraps;
	}
	const int there = (nb_reals_there(bodies->all.vel) ? OF_VEL : 0) |
			  (bodies->law->ndensity ? OF_SPHERE | OF_CENTRE : 0) | (bodies->pot ? OF_CENTRE : 0) |
			  (bodies->law->pot ? OF_BOUND : 0);
	for (size_t c = 0; c < sizeof real / sizeof *real; c++) {
		if (real[c].of & ~there)
			continue;
		const size_t size = real[c].ncomp * sizeof(double);
		char *to = nb_groups_add_column(frame, real[c].name, "<f8", real[c].ncomp, real[c].unit);
		for (size_t g = 0; g < groups->count; g++)
			memcpy(to + g * size, (const char *)&row[g] + real[c].at, size);
	}
	for (size_t d = 0; d < bodies->law->ndensity; d++) {
		char name[2][16];
		snprintf(name[0], sizeof name[0], "m%s", bodies->law->name[d]);
		snprintf(name[1], sizeof name[1], "r%s", bodies->law->name[d]);
		double *mass = nb_groups_add_column(frame, name[0], "<f8", 1, "mass");
		double *radius = nb_groups_add_column(frame, name[1], "<f8", 1, "length");
		for (size_t g = 0; g < groups->count; g++) {
			mass[g] = row[g].sphere[d].mass;
			radius[g] = row[g].sphere[d].radius;
		}
	}
}

/* The body of least potential, else the centre of mass. */
static void find_centre(const struct bodies *bodies, const struct nb_groups *groups, size_t g, struct row *row)
{
	const uint32_t begin = groups->begin[g], end = groups->begin[g + 1];
	uint32_t deepest = groups->member[begin];
	for (int k = 0; k < 3; k++)
		row->centre[k] = row->group.wraps ? NAN : row->group.com[k];
	for (uint32_t i = begin; bodies->pot && i < end; i++)
		if (bodies->pot[groups->member[i]] < bodies->pot[deepest])
			deepest = groups->member[i];
	if (bodies->pot && !(bodies->law->pot && row->group.wraps))
		nb_reals_row(bodies->all.pos, deepest, row->centre);
}

/* The spheres of all groups, to be released with nb_free; rows point to them. */
static struct nb_sphere *add_spheres(
	const struct nb_frame *frame, const struct bodies *bodies, const struct nb_groups *groups, struct row *row)
{
	const size_t n = groups->count, each = bodies->law->ndensity;
	const double G = nb_require_attribute(frame, "G", 1), a = bodies->law->a;
	const struct nb_groups_job job = {.n = frame->rows[NB_PARTICLE], .box = bodies->law->box};
	double *centre = nb_require_memory(frame, nb_alloc(n, 3 * sizeof *centre));
	struct nb_sphere *sphere = nb_require_memory(frame, nb_alloc(n * each, sizeof *sphere));
	for (size_t g = 0; g < n; g++)
		memcpy(centre + 3 * g, row[g].centre, sizeof row[g].centre);
	nb_require_ok(
		nb_groups_spheres_cpu(&job, &bodies->all, each, bodies->law->density, n, centre, groups->mass, sphere),
		frame);
	for (size_t g = 0; g < n; g++) {
		row[g].sphere = sphere + g * each;
		row[g].vmax = sqrt(G * row[g].sphere->steepest / a);
		row[g].r_vmax = row[g].sphere->r_steepest;
		row[g].spin = row[g].sphere->spin * sqrt(a / G);
	}
	nb_free(centre);
	return sphere;
}

/* Energies of the members about their mean velocity, and the spin parameter of Peebles 1969, ApJ 155, 393. */
static void add_energies(
	const struct bodies *bodies, const struct nb_groups *groups, size_t g, double G, struct row *row)
{
	const struct nb_group_properties *p = &row->group;
	double epot = 0;
	for (uint32_t i = groups->begin[g]; i < groups->begin[g + 1]; i++) {
		const uint32_t member = groups->member[i];
		epot += nb_real_or_1(bodies->all.mass, member) * bodies->pot[member] / 2;
	}
	const double j2 = p->angular[0] * p->angular[0] + p->angular[1] * p->angular[1] + p->angular[2] * p->angular[2];
	row->ekin = p->wraps ? NAN : bodies->dim * p->mass * p->vdisp * p->vdisp / 2;
	row->epot = p->wraps ? NAN : epot;
	row->spin_bound = bodies->law->a * sqrt(j2 * fabs(row->ekin + row->epot)) / (G * pow(p->mass, 2.5));
}

void nb_groups_make_catalogue(struct nb_frame *frame, const struct nb_groups *groups, const struct nb_groups_law *law)
{
	const double *pot = law->pot;
	if (!pot && nb_frame_field(frame, NB_POT))
		pot = nb_require_f64(frame, NB_POT, &nb_space_host);
	const struct bodies bodies = {nb_require_dim(frame), law, nb_groups_reals_of(frame), pot};
	const double G = nb_require_attribute(frame, "G", 1);
	if (law->ndensity > 0 && bodies.dim == 2)
		nb_die(NB_EXIT_FAILED,
			"options '--density' and '--cosmology' are for three dimensions, and frame %" PRIu64 " has two",
			frame->number);
	struct row *row = nb_require_memory(frame, nb_alloc(groups->count, sizeof *row));
	struct nb_sphere *sphere = NULL;
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic) reduction(max : status)
	for (size_t g = 0; g < groups->count; g++) {
		const uint32_t begin = groups->begin[g];
		const int own = measure(&bodies, groups->begin[g + 1] - begin, groups->member + begin, &row[g]);
		row[g].group.mass = groups->mass[g];
		for (int k = 0; !own && law->box > 0 && k < bodies.dim; k++)
			row[g].group.com[k] = nb_groups_wrap(row[g].group.com[k], law->box);
		find_centre(&bodies, groups, g, &row[g]);
		if (law->pot)
			add_energies(&bodies, groups, g, G, &row[g]);
		status = own > status ? own : status;
	}
	nb_require_ok(status, frame);
	if (law->ndensity > 0)
		sphere = add_spheres(frame, &bodies, groups, row);
	nb_drop_run_attributes(frame);
	nb_frame_drop_order(frame);
	nb_frame_drop_attribute(frame, "names"); /* of bodies */
	nb_frame_drop_table(frame, NB_PARTICLE);
	frame->rows[NB_PARTICLE] = groups->count;
	fill(frame, groups, row, &bodies);
	nb_free_all(row, sphere);
}
