/* The frame of groups that takes the place of the frame of bodies. */
#include "tools/nb-groups/groups.h"

#include "common/mem.h"
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"

#include <math.h>
#include <stddef.h>

/* Bodies of the frame, to be read. */
struct bodies {
	int dim;
	double length, box;
	const double *pos, *mass, *vel; /* mass and vel may be NULL */
};

struct row {
	struct nb_group group;
	struct nb_shape shape;
};

static const double *optional(const struct nb_frame *frame, enum nb_field field)
{
	return nb_frame_field(frame, field) ? nb_require_f64(frame, field, &nb_space_host) : NULL;
}

static int measure(const struct bodies *bodies, size_t n, const uint32_t *member, struct row *row)
{
	double *mass = nb_alloc(n, sizeof *mass), *pos = nb_alloc(n, 3 * sizeof *pos);
	double *vel = bodies->vel ? nb_alloc(n, 3 * sizeof *vel) : NULL;
	int status = mass && pos && (vel || !bodies->vel) ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; !status && i < n; i++) {
		mass[i] = bodies->mass ? bodies->mass[member[i]] : 1;
		memcpy(pos + 3 * i, bodies->pos + 3 * (size_t)member[i], 3 * sizeof *pos);
		if (vel)
			memcpy(vel + 3 * i, bodies->vel + 3 * (size_t)member[i], 3 * sizeof *vel);
	}
	const struct nb_group_bodies own = {n, mass, pos, vel};
	if (!status)
		status = nb_groups_measure(&own, bodies->dim, bodies->length, bodies->box, &row->group);
	row->shape.b_over_a = row->shape.c_over_a = NAN;
	if (!status && !row->group.wraps)
		status = nb_shape_of(n, mass, pos, row->group.com, bodies->dim, 0, INFINITY, 1, &row->shape);
	nb_free_all(mass, pos, vel);
	return status;
}

/* The real columns of the table, where struct row has them. */
static const struct {
	const char *name, *unit;
	uint32_t ncomp;
	int of_vel; /* only with velocities */
	size_t at;
} real[] = {
	{"mass", "mass", 1, 0, offsetof(struct row, group.mass)},
	{"pos", "length", 3, 0, offsetof(struct row, group.com)},
	{"vel", "velocity", 3, 1, offsetof(struct row, group.vel)},
	{"r_rms", "length", 1, 0, offsetof(struct row, group.r_rms)},
	{"r_max", "length", 1, 0, offsetof(struct row, group.r_max)},
	{"vdisp", "velocity", 1, 1, offsetof(struct row, group.vdisp)},
	{"angular", "mass length velocity", 3, 1, offsetof(struct row, group.angular)},
	{"b_over_a", "", 1, 0, offsetof(struct row, shape.b_over_a)},
	{"c_over_a", "", 1, 0, offsetof(struct row, shape.c_over_a)},
};

static void *add_column(struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, const char *unit)
{
	struct nb_column *column = nb_require_memory(
		frame, nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, unit, 0));
	return nb_require_memory(frame, nb_column_write(column, &nb_space_host, NB_WIRE));
}

static void fill(struct nb_frame *frame, const struct nb_groups *groups, const struct row *row, int has_vel)
{
	uint64_t *id = add_column(frame, "id", "<u8", 1, "");
	uint32_t *group = add_column(frame, "group", "<u4", 1, "");
	uint32_t *count = add_column(frame, "count", "<u4", 1, "");
	unsigned char *wraps = add_column(frame, "wraps", "|u1", 1, "");
	for (size_t g = 0; g < groups->count; g++) {
		id[g] = groups->id[g];
		group[g] = (uint32_t)g + 1;
		count[g] = groups->begin[g + 1] - groups->begin[g];
		wraps[g] = (unsigned char)row[g].group.wraps;
	}
	for (size_t c = 0; c < sizeof real / sizeof *real; c++) {
		if (real[c].of_vel && !has_vel)
			continue;
		const size_t size = real[c].ncomp * sizeof(double);
		char *to = add_column(frame, real[c].name, "<f8", real[c].ncomp, real[c].unit);
		for (size_t g = 0; g < groups->count; g++)
			memcpy(to + g * size, (const char *)&row[g] + real[c].at, size);
	}
}

void nb_groups_make_catalogue(struct nb_frame *frame, const struct nb_groups *groups, double length, double box)
{
	const struct bodies bodies = {nb_require_dim(frame), length, box, nb_require_f64(frame, NB_POS, &nb_space_host),
		optional(frame, NB_MASS), optional(frame, NB_VEL)};
	struct row *row = nb_require_memory(frame, nb_alloc(groups->count, sizeof *row));
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic) reduction(max : status)
	for (size_t g = 0; g < groups->count; g++) {
		const uint32_t begin = groups->begin[g];
		const int own = measure(&bodies, groups->begin[g + 1] - begin, groups->member + begin, &row[g]);
		for (int k = 0; !own && box > 0 && k < bodies.dim; k++)
			row[g].group.com[k] = nb_groups_wrap(row[g].group.com[k], box);
		status = own > status ? own : status;
	}
	nb_require_ok(status, frame);
	nb_drop_run_attributes(frame);
	nb_frame_drop_order(frame);
	nb_frame_drop_attribute(frame, "names"); /* of bodies */
	nb_frame_drop_table(frame, NB_PARTICLE);
	frame->rows[NB_PARTICLE] = groups->count;
	fill(frame, groups, row, bodies.vel != NULL);
	nb_free(row);
}
