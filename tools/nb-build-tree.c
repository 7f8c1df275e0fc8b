/* nb-build-tree: an adaptive tree, or uniform boxes, over the sorted bodies of each frame. */
#include "common/die.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/tree/tree.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <string.h>

enum kind { KIND_AUTO, KIND_OCTREE, KIND_QUADTREE, KIND_BOXES };
static const char *const kind_name[] = {"auto", "octree", "quadtree", "boxes"};
enum { MAX_LEVEL_2D = 12, MAX_LEVEL_3D = 8 };

static struct options {
	int kind, level, leaf_size, order;
	int level_given, leaf_given, order_given;
} opt = {.kind = KIND_AUTO, .level = 3, .leaf_size = 16, .order = 2};

static const struct nb_option options[] = {
	{'l', "leaf-size", NB_OPT_INT, &opt.leaf_size, 1, 65536, "N", "16", "most bodies in a leaf", 0,
		&opt.leaf_given},
	{'p', "order", NB_OPT_INT, &opt.order, 1, 2, "1|2", "2", "multipole order: 1 monopoles, 2 quadrupoles", 0,
		&opt.order_given},
	{0, "kind", NB_OPT_CHOICE, &opt.kind, 0, 0, "auto|octree|quadtree|boxes", "auto: octree, in 2-D quadtree",
		"what to build", 0, NULL},
	{0, "level", NB_OPT_INT, &opt.level, 0, MAX_LEVEL_2D, "K", "3", "boxes: level of division, 4^K or 8^K boxes", 0,
		&opt.level_given},
};

static const struct nb_command command = {
	.about = "build a tree, or uniform boxes, over the sorted bodies of each frame",
	.operands = "",
	.max_operands = 0,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
};

/* The cube of the sorted keys; exits if the frame is not sorted, or moved since. */
static struct nb_cube require_sorted(const struct nb_frame *frame, int dim, uint64_t nframe)
{
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_column *key = nb_frame_field(frame, NB_KEY);
	double v[4];
	if (!key || strcmp(key->dtype, "<u8") != 0)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is not sorted (put 'nb-sort-zorder' before)", nframe);
	nb_require_key_cube(frame, nframe, v);
	const struct nb_cube cube = {{v[0], v[1], v[2]}, v[3]};
	const uint64_t *k = nb_column_read(key, &nb_space_host, NB_WIRE);
	if (!k || !nb_keys_current(n, nb_require_f64(frame, NB_POS, &nb_space_host, nframe), dim, &cube, k))
		nb_die(NB_EXIT_FAILED,
			"the order of frame %" PRIu64 " is stale: bodies moved since (put 'nb-sort-zorder' before)",
			nframe);
	return cube;
}

static const uint64_t *require_keys(const struct nb_frame *frame, const struct nb_space *space, uint64_t nframe)
{
	const uint64_t *key = nb_column_read(nb_require_field(frame, NB_KEY, nframe), space, NB_WIRE);
	if (!key)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, nframe);
	return key;
}

/* Gives an array of the tree to a column of the frame. */
static void *store(struct nb_frame *frame, enum nb_field field, const struct nb_space *space, void *array)
{
	struct nb_column *column = nb_frame_add_field(frame, field, NULL, 0);
	if (!column)
		nb_die(NB_EXIT_FAILED, "out of memory for field '%s'", nb_field_info[field].name);
	if (space->device < 0) {
		nb_column_adopt(column, array);
		return NULL; /* the frame owns it now */
	}
	void *host = nb_column_write(column, &nb_space_host, NB_WIRE);
	if (!host || space->to_host(space, host, array, column->rows * column->rowsize))
		nb_die(NB_EXIT_FAILED, "cannot fetch field '%s' from %s", column->name, space->name);
	return array;
}

static void build_tree(
	const struct nb_backend *backend, struct nb_frame *frame, int dim, const struct nb_cube *cube, uint64_t nframe)
{
	const struct nb_space *space = backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_tree tree = {0};
	int status = backend->tree_build(n, require_keys(frame, space, nframe),
		nb_require_f64(frame, NB_POS, space, nframe), nb_require_f64(frame, NB_MASS, space, nframe), dim, cube,
		opt.leaf_size, opt.order, &tree);
	if (status)
		nb_die(NB_EXIT_FAILED, "tree of frame %" PRIu64 " on backend %s: %s", nframe, backend->name,
			nb_backend_error(backend, status));
	nb_verbose("frame %" PRIu64 ": %zu nodes over %zu bodies", nframe, tree.nnode, n);
	frame->rows[NB_NODE] = tree.nnode;
	tree.first = store(frame, NB_NODE_FIRST, space, tree.first);
	tree.count = store(frame, NB_NODE_COUNT, space, tree.count);
	tree.child = store(frame, NB_NODE_CHILD, space, tree.child);
	tree.nchild = store(frame, NB_NODE_NCHILD, space, tree.nchild);
	tree.box = store(frame, NB_NODE_BOX, space, tree.box);
	tree.com = store(frame, NB_NODE_COM, space, tree.com);
	tree.mass = store(frame, NB_NODE_MASS, space, tree.mass);
	if (tree.quad)
		tree.quad = store(frame, NB_NODE_QUAD, space, tree.quad);
	backend->tree_free(&tree);
	nb_require_attribute_set_f64(frame, "leaf_size", opt.leaf_size);
	nb_require_attribute_set_f64(frame, "order", opt.order);
}

static void build_boxes(struct nb_frame *frame, int dim, uint64_t nframe)
{
	const int most = dim == 2 ? MAX_LEVEL_2D : MAX_LEVEL_3D;
	if (opt.level > most)
		nb_die(NB_EXIT_FAILED, "level %d of frame %" PRIu64 " (limit %d in %d-D)", opt.level, nframe, most,
			dim);
	const size_t nbox = (size_t)1 << dim * opt.level;
	frame->rows[NB_BOX] = nbox;
	struct nb_column *first = nb_frame_add_field(frame, NB_BOX_FIRST, NULL, 0);
	void *first_data = first ? nb_column_write(first, &nb_space_host, NB_WIRE) : NULL;
	struct nb_column *neighbour = nb_frame_add_field(frame, NB_BOX_NEIGHBOUR, NULL, dim == 2 ? 8 : 26);
	int32_t *neighbour_data = neighbour ? nb_column_write(neighbour, &nb_space_host, NB_WIRE) : NULL;
	uint64_t *box_first = nb_alloc(nbox + 1, sizeof *box_first);
	if (!first_data || !neighbour_data || !box_first)
		nb_die(NB_EXIT_FAILED, "out of memory for the boxes of frame %" PRIu64, nframe);
	int status = nb_boxes_build_cpu(frame->rows[NB_PARTICLE], require_keys(frame, &nb_space_host, nframe), dim,
		opt.level, box_first, neighbour_data);
	if (status)
		nb_die(NB_EXIT_FAILED, "boxes of frame %" PRIu64 ": %s", nframe, nb_status_text(status));
	memcpy(first_data, box_first, nbox * sizeof *box_first);
	nb_free(box_first);
	nb_verbose("frame %" PRIu64 ": %zu boxes", nframe, nbox);
	nb_require_attribute_set_f64(frame, "level", opt.level);
}

static void build(const struct nb_backend *backend, struct nb_frame *frame, uint64_t nframe)
{
	const int dim = nb_require_dim(frame, nframe);
	const enum kind kind = opt.kind != KIND_AUTO ? (enum kind)opt.kind : dim == 2 ? KIND_QUADTREE : KIND_OCTREE;
	if (kind != KIND_BOXES && (kind == KIND_QUADTREE) != (dim == 2))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is %d-D: no %s (put 'nb-sort-zorder --dim %d' before)",
			nframe, dim, kind_name[kind], 5 - dim);
	nb_require_finite(frame, nframe);
	const struct nb_cube cube = require_sorted(frame, dim, nframe);
	nb_frame_drop_table(frame, NB_NODE);
	nb_frame_drop_table(frame, NB_BOX);
	if (kind == KIND_BOXES)
		build_boxes(frame, dim, nframe);
	else
		build_tree(backend, frame, dim, &cube, nframe);
	nb_require_attribute_set(frame, "tree", kind_name[kind]);
}

int main(int argc, char **argv)
{
	struct nb_reader in;
	struct nb_writer out;
	struct nb_frame frame;
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];

	nb_options_parse(&command, argc, argv);
	if (opt.level_given && opt.kind != KIND_BOXES)
		nb_die(NB_EXIT_USAGE, "option '--level' needs '--kind boxes'");
	if ((opt.leaf_given || opt.order_given) && opt.kind == KIND_BOXES)
		nb_die(NB_EXIT_USAGE, "options '--leaf-size' and '--order' do not go with '--kind boxes'");
	int status = nb_backend_choose(nb_common.backend, &backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", nb_common.backend,
			why);
	nb_require_input(&in);
	nb_require_output(&out);
	nb_frame_init(&frame);
	while (nb_require_frame(&in, &frame)) {
		build(backend, &frame, in.nframe - 1);
		nb_require_history(&frame);
		nb_require_written(&out, &frame);
	}
	nb_require_closed(&out);
	nb_frame_clear(&frame);
	nb_reader_close(&in);
	return NB_EXIT_OK;
}
