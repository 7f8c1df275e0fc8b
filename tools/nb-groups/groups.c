/* nb-groups: friends of friends. */
#include "tools/nb-groups/groups.h"

#include "common/mem.h"
#include "common/timer.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>

struct groups {
	double length, fraction, box, density;
	int least, catalogue;
	const char *match;
	struct nb_groups_other other; /* of --match */
	/* of a frame */
	uint32_t *label, *group;
	struct nb_groups found;
	struct nb_groups_match *links;
};

static const struct nb_option options[] = {
	{'l', "length", NB_REAL(struct groups, length), .arg = "LENGTH",
		.help = "linking length: bodies at most this far apart are friends"},
	{0, "catalogue", NB_FLAG(struct groups, catalogue),
		.help = "write the groups, with what each amounts to, instead of the bodies"},
	{0, "density", NB_POSITIVE(struct groups, density), .arg = "RHO",
		.help = "--catalogue: mean density of a sphere about each centre, for its mass and radius"},
	{0, "fraction", NB_POSITIVE(struct groups, fraction), .arg = "B",
		.help = "linking length in mean distances of bodies, box / n^(1/3): usually 0.2"},
	{0, "match", NB_FILE(struct groups, match), .arg = "FILE",
		.help = "--catalogue: the group of another frame that has most of the bodies"},
	{0, "min", NB_INT(struct groups, least), .min = 1, .arg = "N", .fallback = "20",
		.help = "fewest bodies of a group"},
	{0, "periodic", NB_POSITIVE(struct groups, box), .arg = "L", .fallback = "attribute box, else no box",
		.help = "edge of a periodic box, from 0 to L in each coordinate"},
};

static void check(struct nb_run *run, void *self)
{
	const struct groups *opt = self;
	const int length = nb_given(run, &opt->length), fraction = nb_given(run, &opt->fraction);
	if (length && fraction)
		nb_die(NB_EXIT_USAGE, "options '--length' and '--fraction' exclude each other");
	if (opt->match && !opt->catalogue)
		nb_die(NB_EXIT_USAGE, "option '--match' needs '--catalogue'");
	if (nb_given(run, &opt->density) && !opt->catalogue)
		nb_die(NB_EXIT_USAGE, "option '--density' needs '--catalogue'");
	if (!length && !fraction)
		nb_die(NB_EXIT_USAGE, "no linking length (want '--length LENGTH', or '--fraction 0.2' in a box)");
}

static void begin(struct nb_run *run, void *self)
{
	struct groups *opt = self;
	if (opt->match)
		nb_groups_open_match(run, &opt->other, opt->match);
}

/* What the work on a frame needs, also where an error ends it. */
static void release(struct groups *opt)
{
	nb_free_all(opt->label, opt->links);
	if (opt->group)
		nb_space_host.release(&nb_space_host, opt->group);
	nb_groups_free(&opt->found);
	opt->label = opt->group = NULL;
	opt->links = NULL;
}

static void clear(void *self)
{
	release(self);
	nb_groups_close_match(&((struct groups *)self)->other);
}

static double find_length(const struct nb_run *run, const struct groups *opt, const struct nb_frame *frame, double box)
{
	if (nb_given(run, &opt->length))
		return opt->length;
	if (box == 0)
		nb_die(NB_EXIT_FAILED,
			"option '--fraction' needs a box, and frame %" PRIu64 " has none (want '--periodic L', or "
			"'--length')",
			frame->number);
	const double n = (double)frame->rows[NB_PARTICLE];
	return opt->fraction * box / (nb_require_dim(frame) == 2 ? sqrt(n) : cbrt(n));
}

/* The ids; of several bodies with one, the first counts as the one that is meant. */
static const uint64_t *find_ids(const struct nb_frame *frame)
{
	size_t first, second;
	const uint64_t *twice = nb_repeated_ids(frame, &first, &second);
	if (twice)
		nb_warn("id %" PRIu64 " appears twice in frame %" PRIu64
			": of groups of equal mass and smallest id the one of the smaller row comes first",
			twice[first], frame->number);
	return nb_require_ids(frame, &nb_space_host);
}

static void find_groups(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct groups *opt = self;
	struct nb_groups *found = &opt->found;
	const size_t n = frame->rows[NB_PARTICLE];
	const double start = nb_now();
	nb_require_valid(frame);
	const double box = nb_require_box(frame, opt->box), length = find_length(run, opt, frame, box);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host), *mass = NULL;
	if (nb_frame_field(frame, NB_MASS))
		mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const uint64_t *id = find_ids(frame);
	opt->label = nb_require_memory(frame, nb_alloc(n, sizeof *opt->label));
	opt->group = nb_require_memory(frame, nb_space_host.alloc(&nb_space_host, n * sizeof *opt->group));
	nb_require_done(
		run, nb_groups_link_cpu(n, pos, nb_require_dim(frame), length, box, opt->label), "groups of", frame);
	nb_require_ok(nb_groups_order(n, opt->label, mass, id, (uint32_t)opt->least, opt->group, found), frame);
	nb_verbose("frame %" PRIu64 ": %zu groups of %d or more bodies by a linking length of %.9g, in %.4g s: %" PRIu32
		   " of %zu bodies, %" PRIu32 " in the first",
		frame->number, found->count, opt->least, length, nb_now() - start, found->begin[found->count], n,
		found->count ? found->begin[1] : 0);
	if (opt->catalogue) {
		if (opt->match)
			opt->links = nb_groups_find_match(&opt->other, frame, found, opt->group);
		nb_groups_make_catalogue(frame, found, &(const struct nb_groups_law){length, box, opt->density});
		if (opt->links)
			nb_groups_add_match(frame, opt->links);
	} else {
		struct nb_column *column = nb_require_memory(
			frame, nb_frame_add(frame, "group", NB_PARTICLE, "<u4", 1, "", 0));
		nb_column_adopt(column, &nb_space_host, opt->group);
		opt->group = NULL;
	}
	release(opt);
}

const struct nb_tool nb_tool_groups = {
	.name = "nb-groups",
	.about = "find groups of bodies: friends of friends",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct groups),
	.defaults = &(const struct groups){.least = 20},
	.streams = NB_READS | NB_WRITES,
	.check = check,
	.begin = begin,
	.clear = clear,
	.frame = find_groups,
};
