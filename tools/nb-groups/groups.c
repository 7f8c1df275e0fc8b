/* nb-groups: friends of friends. */
#include "tools/nb-groups/groups.h"

#include "common/mem.h"
#include "common/timer.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"

#include <inttypes.h>
#include <math.h>

struct groups {
	double length, fraction, box, density;
	int least, catalogue, cosmology, bound;
	const char *match;
	struct nb_groups_other other; /* of --match */
	/* of a frame */
	uint32_t *group; /* in that place */
	const struct nb_space *space;
	struct nb_groups found;
	struct nb_groups_match *links;
	double *pot; /* of --bound */
};

enum { ROOM = 24 /* bytes for each body, of the work on the CPU */ };

static const struct nb_option options[] = {
	{'l', "length", NB_REAL(struct groups, length), .arg = "LENGTH",
		.help = "linking length: bodies at most this far apart are friends"},
	{0, "bound", NB_FLAG(struct groups, bound),
		.help = "bodies that the others of their group do not hold are in none"},
	{0, "catalogue", NB_FLAG(struct groups, catalogue),
		.help = "write the groups, with what each amounts to, instead of the bodies"},
	{0, "cosmology", NB_FLAG(struct groups, cosmology),
		.help = "--catalogue: masses and radii of spheres of densities by attributes omega0, redshift, H0"},
	{0, "density", NB_POSITIVE(struct groups, density), .arg = "RHO",
		.help = "--catalogue: mean density of a sphere about each centre, for its mass and radius"},
	{0, "fraction", NB_POSITIVE(struct groups, fraction), .arg = "B", .fallback = "0.2 without --length",
		.help = "linking length in mean distances of bodies, box / n^(1/3)"},
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
	if (opt->cosmology && !opt->catalogue)
		nb_die(NB_EXIT_USAGE, "option '--cosmology' needs '--catalogue'");
}

static void begin(struct nb_run *run, void *self)
{
	struct groups *opt = self;
	if (opt->match)
		nb_groups_open_match(run, &opt->other, opt->match);
}

static void release_group(struct groups *opt)
{
	if (opt->group)
		opt->space->release(opt->space, opt->group);
	opt->group = NULL;
}

/* What the work on a frame needs, also where an error ends it. */
static void release(struct groups *opt)
{
	nb_free_all(opt->links, opt->pot);
	release_group(opt);
	nb_groups_free(&opt->found);
	opt->links = NULL;
	opt->pot = NULL;
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
			"option '--fraction'%s needs a box, and frame %" PRIu64
			" has none (want '--length LENGTH', or '--periodic L')",
			nb_given(run, &opt->fraction) ? "" : ", which without '--length' is 0.2,", frame->number);
	const double n = (double)frame->rows[NB_PARTICLE];
	return opt->fraction * box / (nb_require_dim(frame) == 2 ? sqrt(n) : cbrt(n));
}

/* Of groups of equal mass and smallest id, as where bodies share an id, rows decide. */
static void warn_of_ids(const struct nb_frame *frame, const struct nb_groups *found)
{
	for (size_t g = 1; g < found->count; g++)
		if (found->mass[g] == found->mass[g - 1] && found->id[g] == found->id[g - 1]) {
			nb_warn("id %" PRIu64 " appears twice in frame %" PRIu64
				": of groups of equal mass and smallest id the one of the smaller row comes first",
				found->id[g], frame->number);
			return;
		}
}

/* The groups of a frame, and the number of each body in opt->group; returns how they were found. */
static struct nb_groups_job find(struct nb_run *run, struct groups *opt, const struct nb_frame *frame)
{
	struct nb_groups *found = &opt->found;
	const struct nb_space *space = opt->space = run->backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	const double start = nb_now(), box = nb_require_box(frame, opt->box),
		     length = find_length(run, opt, frame, box);
	const int on_host = space->device < 0, has_mass = nb_frame_field(frame, NB_MASS) != NULL;
	struct nb_groups_job job = {.n = n,
		.id = nb_require_ids(frame, space),
		.dim = nb_require_dim(frame),
		.length = length,
		.box = box,
		.least = (uint32_t)opt->least};
	struct nb_reals pos = {0}, mass = {0};
	if (on_host) {
		pos = nb_require_reals(frame, NB_POS);
		mass = has_mass ? nb_require_reals(frame, NB_MASS) : mass;
		nb_require_room(frame, "groups", ROOM + sizeof *opt->group);
	} else {
		job.pos = nb_require_f64(frame, NB_POS, space);
		job.mass = has_mass ? nb_require_f64(frame, NB_MASS, space) : NULL;
	}
	opt->group = space->alloc(space, n * sizeof *opt->group);
	if (!opt->group) {
		nb_blame_device();
		nb_out_of_memory(frame);
	}
	nb_require_done(run,
		on_host ? nb_groups_find_reals_cpu(&job, pos, mass, opt->group, found)
			: run->backend->groups_find(&job, opt->group, found),
		"groups of", frame);
	nb_verbose("frame %" PRIu64 ": %zu groups of %d or more bodies by a linking length of %.9g, on %s in %.4g s: "
		   "%" PRIu32 " of %zu bodies, %" PRIu32 " in the first",
		frame->number, found->count, opt->least, length, run->backend->name, nb_now() - start,
		found->begin[found->count], n, found->count ? found->begin[1] : 0);
	return job;
}

/* The numbers of the bodies on the host, in place of those on a device. */
static void bring(const struct nb_run *run, struct groups *opt, const struct nb_frame *frame)
{
	const struct nb_space *space = opt->space;
	const size_t bytes = frame->rows[NB_PARTICLE] * sizeof *opt->group;
	if (space->device < 0)
		return;
	uint32_t *host = nb_require_memory(frame, nb_space_host.alloc(&nb_space_host, bytes));
	nb_require_done(run, space->to_host(space, host, opt->group, bytes), "groups of", frame);
	space->release(space, opt->group);
	opt->group = host;
	opt->space = &nb_space_host;
}

/* Without the bodies that are not bound; all on the host. */
static void bind(const struct nb_run *run, struct groups *opt, struct nb_frame *frame, struct nb_groups_job *job,
	const struct nb_groups_law *space)
{
	const size_t n = job->n;
	const double start = nb_now();
	/* of comoving lengths, for physical potentials */
	struct nb_gravity law = {.G = nb_require_attribute(frame, "G", 1) / space->a, .precision = NB_F64};
	(void)nb_require_field(frame, NB_VEL);
	nb_require_softening(frame, &nb_space_host, &law);
	job->id = nb_require_ids(frame, &nb_space_host);
	opt->pot = nb_require_memory(frame, nb_alloc(n, sizeof *opt->pot));
	const struct nb_groups_binding binding = {nb_groups_reals_of(frame), &law, opt->pot, space->flow};
	nb_require_ok(nb_groups_members(n, opt->group, &opt->found), frame);
	nb_require_done(
		run, nb_groups_bind_cpu(job, &binding, opt->group, &opt->found), "bound bodies of groups of", frame);
	nb_verbose("frame %" PRIu64 ": %" PRIu32 " of these bodies are bound to %zu groups, in %.4g s", frame->number,
		opt->found.begin[opt->found.count], opt->found.count, nb_now() - start);
}

static void make_groups(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct groups *opt = self;
	nb_require_valid(frame);
	struct nb_groups_job job = find(run, opt, frame);
	struct nb_groups_law law = {.length = job.length, .box = job.box};
	if (opt->bound || opt->catalogue) {
		bring(run, opt, frame);
		nb_groups_add_expansion(frame, opt->cosmology, &law);
	}
	if (opt->bound)
		bind(run, opt, frame, &job, &law);
	warn_of_ids(frame, &opt->found);
	if (opt->catalogue) {
		if (nb_given(run, &opt->density))
			nb_groups_add_density(&law, "_sphere", opt->density);
		if (opt->cosmology)
			nb_groups_add_cosmology(frame, &law);
		law.pot = opt->pot;
		nb_require_ok(nb_groups_members(job.n, opt->group, &opt->found), frame);
		if (opt->match)
			opt->links = nb_groups_find_match(&opt->other, frame, &opt->found, opt->group);
		release_group(opt); /* the lists of members say the same */
		nb_groups_make_catalogue(frame, &opt->found, &law);
		if (opt->links)
			nb_groups_add_match(frame, opt->links);
	} else {
		struct nb_column *column = nb_require_memory(
			frame, nb_frame_add(frame, "group", NB_PARTICLE, "<u4", 1, "", 0));
		nb_column_adopt(column, opt->space, opt->group);
		opt->group = NULL;
	}
	release(opt);
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct groups *opt = self;
	const double nodes = plan->count[NB_MEMORY_NODE];
	(void)run;
	nb_plan_add(plan, NB_WORK_GROUPS, plan->n);
	nb_plan_use(plan, NB_PLAN(POS) | NB_PLAN(MASS));
	nb_plan_make_columns(plan, sizeof(uint32_t));
	nb_plan_take(plan, NB_MEMORY_SORT, 0);
	plan->count[NB_MEMORY_NODE] = nb_memory_nodes(plan->n, 32);
	nb_plan_take(plan, NB_MEMORY_GROUPS, 0);
	plan->count[NB_MEMORY_NODE] = nodes;
	plan->row += sizeof(uint32_t);
	if (opt->catalogue || opt->bound)
		nb_plan_by_host(plan);
}

const struct nb_tool nb_tool_groups = {
	.name = "nb-groups",
	.about = "find groups of bodies: friends of friends",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct groups),
	.defaults = &(const struct groups){.fraction = 0.2, .least = 20},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.check = check,
	.begin = begin,
	.clear = clear,
	.frame = make_groups,
	.work = work,
};
