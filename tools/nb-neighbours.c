/* nb-neighbours: the nearest bodies of each, what follows from them, and what is within a radius. */
#include "common/timer.h"
#include "kernels/near/near.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"

#include <inttypes.h>

struct neighbours {
	int k, distances, ids;
	double radius, box;
};

enum { K = 32 /* unless it is given */, FIFTH = 5 /* of column density_5 */ };

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

/* A new column, to be filled. */
static void *add(struct nb_frame *frame, const char *name, const char *dtype, int ncomp, const char *unit)
{
	struct nb_column *column = nb_require_memory(
		frame, nb_frame_add(frame, name, NB_PARTICLE, dtype, (uint32_t)ncomp, unit, 0));
	return nb_require_memory(frame, nb_column_write(column, &nb_space_host, NB_WIRE));
}

static const double *optional(const struct nb_frame *frame, enum nb_field field)
{
	return nb_frame_field(frame, field) ? nb_require_f64(frame, field, &nb_space_host) : NULL;
}

static void find_nearest(
	struct nb_run *run, const struct neighbours *opt, const struct nb_near_bodies *bodies, struct nb_frame *frame)
{
	const size_t n = bodies->n;
	if (n && (size_t)opt->k >= n)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies, too few for %d neighbours of each",
			frame->number, n, opt->k);
	const char *density = bodies->dim == 2 ? "mass/length^2" : "mass/length^3";
	struct nb_nearest to = {.k = opt->k, .part = FIFTH};
	to.neighbour = opt->ids ? add(frame, "neighbours", "<u8", opt->k, "") : NULL;
	to.distance = opt->distances ? add(frame, "distances", "<f8", opt->k, "length") : NULL;
	to.hsml = add(frame, "hsml", "<f8", 1, "length");
	to.density = add(frame, "density", "<f8", 1, density);
	to.crowd = opt->k >= FIFTH ? add(frame, "density_5", "<f8", 1, density) : NULL;
	to.vdisp = bodies->vel ? add(frame, "vdisp", "<f8", 1, "velocity") : NULL;
	nb_require_done(run, nb_near_nearest_cpu(bodies, &to), "neighbours of", frame);
}

static void count_within(
	struct nb_run *run, const struct neighbours *opt, const struct nb_near_bodies *bodies, struct nb_frame *frame)
{
	if (bodies->box > 0 && opt->radius > bodies->box / 2)
		nb_die(NB_EXIT_FAILED, "radius %g is more than half of the box of frame %" PRIu64 ", whose edge is %g",
			opt->radius, frame->number, bodies->box);
	struct nb_within to = {.radius = opt->radius};
	to.count = add(frame, "n_within", "<u4", 1, "");
	to.mass = add(frame, "m_within", "<f8", 1, "mass");
	nb_require_done(run, nb_near_within_cpu(bodies, &to), "neighbours of", frame);
}

static void find(struct nb_run *run, void *self, struct nb_frame *frame)
{
	const struct neighbours *opt = self;
	size_t first, second;
	nb_require_valid(frame);
	const uint64_t *twice = nb_repeated_ids(frame, &first, &second);
	if (twice)
		nb_warn("id %" PRIu64 " appears twice in frame %" PRIu64
			": of these bodies the one of the smaller row is taken for the nearer, where that matters",
			twice[first], frame->number);
	const struct nb_near_bodies bodies = {.n = frame->rows[NB_PARTICLE],
		.dim = nb_require_dim(frame),
		.box = nb_require_box(frame, opt->box),
		.pos = nb_require_f64(frame, NB_POS, &nb_space_host),
		.mass = optional(frame, NB_MASS),
		.vel = optional(frame, NB_VEL),
		.id = nb_require_ids(frame, &nb_space_host)};
	const double start = nb_now();
	if (opt->k)
		find_nearest(run, opt, &bodies, frame);
	if (nb_given(run, &opt->radius))
		count_within(run, opt, &bodies, frame);
	nb_verbose("frame %" PRIu64 ": neighbours of %zu bodies in %.4g s", frame->number, bodies.n, nb_now() - start);
}

const struct nb_tool nb_tool_neighbours = {
	.name = "nb-neighbours",
	.about = "find the neighbours of bodies, and densities from them",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct neighbours),
	.streams = NB_READS | NB_WRITES,
	.check = check,
	.frame = find,
};
