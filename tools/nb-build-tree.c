/* nb-build-tree: an adaptive tree, or uniform boxes, over the sorted bodies of each frame. */
#include "tools/filter/choose.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"

#include <inttypes.h>
#include <math.h>

enum kind { KIND_AUTO, KIND_OCTREE, KIND_QUADTREE, KIND_BOXES };
static const char *const kind_name[] = {"auto", "octree", "quadtree", "boxes"};

struct build_tree {
	int kind, level, leaf_size, order;
};

static const struct nb_option options[] = {
	{'l', "leaf-size", NB_INT(struct build_tree, leaf_size), .min = 1, .max = 65536, .arg = "N", .fallback = "16",
		.help = "largest number of bodies in a leaf"},
	{'p', "order", NB_INT(struct build_tree, order), .min = 1, .max = 2, .arg = "1|2", .fallback = "2",
		.help = "multipole order: 1 monopoles, 2 quadrupoles"},
	{0, "kind", NB_CHOICE(struct build_tree, kind), .arg = "auto|octree|quadtree|boxes",
		.fallback = "auto: octree, or quadtree in 2-D", .help = "what to build"},
	{0, "level", NB_INT(struct build_tree, level), .max = NB_BOXES_MAX_LEVEL_2D, .arg = "K", .fallback = "3",
		.help = "boxes: level of subdivision, 4^K (2-D) or 8^K (3-D) boxes"},
};

static void check(struct nb_run *run, void *self)
{
	const struct build_tree *opt = self;
	if (nb_given(run, &opt->level) && opt->kind != KIND_BOXES)
		nb_die(NB_EXIT_USAGE, "option '--level' needs '--kind boxes'");
	if ((nb_given(run, &opt->leaf_size) || nb_given(run, &opt->order)) && opt->kind == KIND_BOXES)
		nb_die(NB_EXIT_USAGE, "options '--leaf-size' and '--order' cannot be used with '--kind boxes'");
}

static unsigned traits_of(const struct build_tree *opt, int dim)
{
	return (opt->order == 2 ? NB_HAS_QUAD : 0) | (dim == 2 ? NB_HAS_FLAT : NB_HAS_SPACE);
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct build_tree *opt = self;
	(void)run;
	nb_plan_add(plan, NB_WORK_TREE, plan->n);
	plan->tree = opt->kind != KIND_BOXES;
	plan->level = plan->tree ? -1 : opt->level;
	plan->tables = 0;
	plan->count[NB_MEMORY_NODE] = plan->tree ? nb_memory_nodes(plan->n, opt->leaf_size) : 0;
	plan->count[NB_MEMORY_BOX] = plan->tree ? 0 : ldexp(1, plan->dim * opt->level);
	nb_plan_use(plan, plan->tree ? NB_PLAN(KEY) | NB_PLAN(POS) | NB_PLAN(MASS) : NB_PLAN(KEY) | NB_PLAN(POS));
	if (plan->tree)
		nb_plan_take(plan, NB_MEMORY_PLACE, 0);
	nb_plan_add_table(plan, plan->tree ? NB_MEMORY_TREE : NB_MEMORY_BOXES, traits_of(opt, plan->dim));
}

static void make_tree(
	const struct nb_run *run, const struct build_tree *opt, struct nb_frame *frame, const struct nb_keys *keys)
{
	const struct nb_backend *backend = run->backend;
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_tree tree = {0};
	int status = backend->tree_build(n, keys->key, nb_require_f64(frame, NB_POS, backend->space),
		nb_require_f64(frame, NB_MASS, backend->space), keys->dim, &keys->cube, opt->leaf_size, opt->order,
		&tree);
	if (status == NB_EORDER)
		nb_die(NB_EXIT_FAILED,
			"bodies of frame %" PRIu64 " with one key are not in order (put 'nb-sort-zorder' before)",
			frame->number);
	nb_require_done(run, status, "tree of", frame);
	nb_verbose("frame %" PRIu64 ": %zu nodes over %zu bodies", frame->number, tree.nnode, n);
	nb_store_tree(frame, backend, &tree);
	nb_frame_drop_attribute(frame, "level"); /* of boxes that were there before */
}

static void build_boxes(
	const struct nb_run *run, const struct build_tree *opt, struct nb_frame *frame, const struct nb_keys *keys)
{
	const int most = keys->dim == 2 ? NB_BOXES_MAX_LEVEL_2D : NB_BOXES_MAX_LEVEL_3D;
	if (opt->level > most)
		nb_die(NB_EXIT_FAILED, "level %d of frame %" PRIu64 " (limit %d in %d-D)", opt->level, frame->number,
			most, keys->dim);
	nb_store_boxes(frame, run->backend, keys, opt->level);
	nb_frame_drop_attribute(frame, "leaf_size"); /* of a tree that was there before */
	nb_frame_drop_attribute(frame, "order");
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " boxes", frame->number, frame->rows[NB_BOX]);
}

static void build(struct nb_run *run, void *self, struct nb_frame *frame)
{
	const struct build_tree *opt = self;
	const int dim = nb_require_dim(frame);
	const enum kind kind = opt->kind != KIND_AUTO ? (enum kind)opt->kind : dim == 2 ? KIND_QUADTREE : KIND_OCTREE;
	if (kind != KIND_BOXES && (kind == KIND_QUADTREE) != (dim == 2))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is %d-D: no %s (put 'nb-sort-zorder --dim %d' before)",
			frame->number, dim, kind_name[kind], 5 - dim);
	if (kind == KIND_BOXES)
		nb_refuse_box(frame, "kind boxes", "a tree");
	nb_require_valid(frame);
	nb_frame_drop_table(frame, NB_NODE);
	nb_frame_drop_table(frame, NB_BOX);
	const struct nb_keys keys = nb_require_keys(frame, run->backend, "order", "nb-sort-zorder");
	if (kind == KIND_BOXES)
		build_boxes(run, opt, frame, &keys);
	else
		make_tree(run, opt, frame, &keys);
	nb_set_attribute(frame, "tree", kind_name[kind]);
}

static const char *spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law)
{
	const struct build_tree *opt = self;
	(void)frame;
	if (opt->kind != KIND_AUTO && opt->kind != (law->dim == 2 ? KIND_QUADTREE : KIND_OCTREE))
		return "nb-build-tree --kind";
	law->leaf_size = opt->leaf_size;
	law->tree_order = opt->order;
	return nb_spread_device(run, 0, &law->device);
}

const struct nb_tool nb_tool_build_tree = {
	.name = "nb-build-tree",
	.about = "build a tree, or uniform boxes, over the sorted bodies of each frame",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct build_tree),
	.defaults = &(const struct build_tree){.kind = KIND_AUTO, .level = 3, .leaf_size = 16, .order = 2},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.check = check,
	.frame = build,
	.work = work,
	.spread = spread,
};
