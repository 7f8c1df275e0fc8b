/* nb-neighbours: the nearest bodies of each, what follows from them, and what is within a radius. */
#include "common/timer.h"
#include "kernels/near/near.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"

#include <inttypes.h>

struct neighbours {
	int k, distances, ids;
	double radius, box;
};

enum {
	K = 32 /* unless it is given */,
	FIFTH = 5 /* of column density_5 */,
	ROW_WITHIN = 4 + 8, /* bytes of the columns of --radius, */
	ROOM = 25	    /* and, for each body, of the work */
};

static const struct nb_option options[] = {
	{0, "distances", NB_FLAG(struct neighbours, distances), .help = "add column distances: of the K nearest"},
	{0, "ids", NB_FLAG(struct neighbours, ids), .help = "add column neighbours: ids of the K nearest"},
	{0, "nearest", NB_INT(struct neighbours, k), .min = 1, .max = NB_NEAR_MOST, .arg = "K",
		.fallback = "32, none with --radius", .help = "how many neighbours count: the K nearest"},
	{0, "periodic", NB_POSITIVE(struct neighbours, box), .arg = "L", .fallback = "attribute box, else no box",
		.help = "edge of a periodic box, from 0 to L in each coordinate"},
	{0, "radius", NB_REAL(struct neighbours, radius), .arg = "R",
		.help = "add columns n_within and m_within: bodies at most R away, and their mass"},
};

static void check(struct nb_run *run, void *self)
{
	struct neighbours *opt = self;
	if (!nb_given(run, &opt->k) && nb_given(run, &opt->radius) && (opt->ids || opt->distances))
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--nearest' if there is '--radius'",
			opt->ids ? "ids" : "distances");
	if (!nb_given(run, &opt->k))
		opt->k = nb_given(run, &opt->radius) ? 0 : K;
}

/* Bytes of the columns of a body, of the nearest. */
static double row_of(const struct neighbours *opt, int vel)
{
	return 8.0 * (2 + (opt->k >= FIFTH) + vel + opt->k * (opt->distances + opt->ids));
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct neighbours *opt = self;
	const double row = row_of(opt, plan->column[NB_PLAN_VEL].wire > 0);
	if (opt->k) {
		nb_plan_add(plan, NB_WORK_NEIGHBOURS, plan->n * (opt->k + 8) / 16);
		nb_plan_use(plan, NB_PLAN(POS) | NB_PLAN(VEL) | NB_PLAN(MASS));
		plan->count[NB_MEMORY_NODE] = nb_memory_nodes(plan->n, NB_NEAR_LEAF);
		nb_plan_take(plan, NB_MEMORY_NEIGHBOURS, 0);
		nb_plan_make_columns(plan, row);
		plan->row += row;
	}
	if (nb_given(run, &opt->radius)) {
		nb_plan_by_host(plan);
		plan->row += ROW_WITHIN;
	}
}

/* A new column, to be filled in that place. */
static void *add(struct nb_frame *frame, const struct nb_space *space, const char *name, const char *dtype, int ncomp,
	const char *unit)
{
	struct nb_column *column = nb_require_memory(
		frame, nb_frame_add(frame, name, NB_PARTICLE, dtype, (uint32_t)ncomp, unit, 0));
	return nb_require_memory(frame, nb_column_write(column, space, NB_WIRE));
}

static void lend(
	const struct nb_frame *frame, const struct nb_space *space, enum nb_field field, double **to, float **single)
{
	*single = space->device < 0 ? nb_lend_f32(frame, field) : NULL;
	*to = *single ? NULL : nb_lend_f64(frame, field, space);
}

/* Without velocities, which only the nearest need. */
static struct nb_near_bodies bodies_of(
	const struct nb_frame *frame, const struct neighbours *opt, const struct nb_space *space)
{
	struct nb_near_bodies bodies = {.n = frame->rows[NB_PARTICLE],
		.dim = nb_require_dim(frame),
		.box = nb_require_box(frame, opt->box),
		.id = nb_lend_ids(frame, space)};
	lend(frame, space, NB_POS, &bodies.pos, &bodies.single.pos);
	lend(frame, space, NB_MASS, &bodies.mass, &bodies.single.mass);
	return bodies;
}

static void find_nearest(struct nb_run *run, const struct neighbours *opt, struct nb_frame *frame)
{
	static const enum nb_field lent[] = {NB_POS, NB_MASS, NB_ID, NB_VEL, NB_NFIELD};
	const struct nb_space *space = run->backend->space;
	if (space->device < 0)
		nb_require_room(frame, "the neighbours",
			ROOM + row_of(opt, nb_frame_field(frame, NB_VEL) != NULL) + nb_lend_row(frame, lent));
	struct nb_near_bodies bodies = bodies_of(frame, opt, space);
	lend(frame, space, NB_VEL, &bodies.vel, &bodies.single.vel);
	if (bodies.n && (size_t)opt->k >= bodies.n)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies, too few for %d neighbours of each",
			frame->number, bodies.n, opt->k);
	const char *density = bodies.dim == 2 ? "mass/length^2" : "mass/length^3";
	struct nb_near_found to = {.k = opt->k, .part = FIFTH};
	const double start = nb_now();
	to.neighbour = opt->ids ? add(frame, space, "neighbours", "<u8", opt->k, "") : NULL;
	to.distance = opt->distances ? add(frame, space, "distances", "<f8", opt->k, "length") : NULL;
	to.hsml = add(frame, space, "hsml", "<f8", 1, "length");
	to.density = add(frame, space, "density", "<f8", 1, density);
	to.unbiased = opt->k >= FIFTH ? add(frame, space, "density_5", "<f8", 1, density) : NULL;
	to.vdisp = bodies.vel || bodies.single.vel ? add(frame, space, "vdisp", "<f8", 1, "velocity") : NULL;
	nb_require_done(run, run->backend->near_nearest(&bodies, &to), "neighbours of", frame);
	if (nb_verbosity() > 0) /* what is queued has to be done before it counts */
		nb_require_done(run, run->backend->finish(), "neighbours of", frame);
	nb_verbose("frame %" PRIu64 ": %d neighbours of %zu bodies in %.4g s", frame->number, opt->k, bodies.n,
		nb_now() - start);
}

static void count_within(struct nb_run *run, const struct neighbours *opt, struct nb_frame *frame)
{
	static const enum nb_field lent[] = {NB_POS, NB_MASS, NB_ID, NB_NFIELD};
	const struct nb_space *host = &nb_space_host;
	nb_require_room(frame, "those within a radius", ROOM + ROW_WITHIN + nb_lend_row(frame, lent));
	const struct nb_near_bodies bodies = bodies_of(frame, opt, host);
	if (bodies.box > 0 && opt->radius > bodies.box / 2)
		nb_die(NB_EXIT_FAILED, "radius %g is more than half of the box of frame %" PRIu64 ", whose edge is %g",
			opt->radius, frame->number, bodies.box);
	const double start = nb_now();
	struct nb_within to = {.radius = opt->radius};
	to.count = add(frame, host, "n_within", "<u4", 1, "");
	to.mass = add(frame, host, "m_within", "<f8", 1, "mass");
	nb_require_done(run, nb_near_within_cpu(&bodies, &to), "neighbours of", frame);
	nb_verbose("frame %" PRIu64 ": those within %g of %zu bodies in %.4g s", frame->number, opt->radius, bodies.n,
		nb_now() - start);
}

static void find(struct nb_run *run, void *self, struct nb_frame *frame)
{
	const struct neighbours *opt = self;
	size_t first, second;
	nb_require_valid(frame);
	(void)nb_require_field(frame, NB_POS);
	const uint64_t *twice = nb_repeated_ids(frame, &first, &second);
	if (twice)
		nb_warn("id %" PRIu64 " appears twice in frame %" PRIu64
			": of these bodies the one of the smaller row is taken for the nearer, where that matters",
			twice[first], frame->number);
	if (opt->k)
		find_nearest(run, opt, frame);
	if (nb_given(run, &opt->radius))
		count_within(run, opt, frame);
}

const struct nb_tool nb_tool_neighbours = {
	.name = "nb-neighbours",
	.about = "find the neighbours of bodies, and densities from them",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct neighbours),
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.check = check,
	.frame = find,
	.work = work,
};
