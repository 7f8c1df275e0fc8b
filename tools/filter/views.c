#include "tools/filter/views.h"

#include "common/die.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static _Noreturn void failed(const struct nb_frame *frame, const struct nb_backend *backend, int status)
{
	if (status == NB_ENOMEM)
		nb_out_of_memory(frame);
	nb_die(NB_EXIT_FAILED, "backend %s failed in frame %" PRIu64 ": %s", backend->name, frame->number,
		nb_backend_error(backend, status));
}

/* ---- a periodic box ----------------------------------------------------------------------------- */

void nb_wrap_positions(struct nb_frame *frame, const struct nb_backend *backend)
{
	const struct nb_space *space = backend ? backend->space : &nb_space_host;
	const double box = nb_box_of(frame);
	struct nb_column *column = nb_frame_field(frame, NB_POS);
	if (!(box > 0) || !column)
		return;
	const int single = strcmp(column->dtype, "<f4") == 0;
	double *x = nb_require_memory(frame, nb_column_update(column, space, NB_AS_F64));
	const int status = (backend ? backend->wrap : nb_wrap_cpu)(column->rows, x, box, single);
	if (status)
		failed(frame, backend, status);
}

void nb_require_inside(struct nb_frame *frame, const struct nb_backend *backend)
{
	const struct nb_cube cube = {{0, 0, 0}, nb_box_of(frame)};
	const size_t n = frame->rows[NB_PARTICLE];
	size_t k;
	if (!(cube.size > 0))
		return;
	const int status = backend->first_outside(n, nb_require_f64(frame, NB_POS, backend->space), 0, 3, &cube, &k);
	if (status)
		failed(frame, backend, status);
	if (k == n)
		return;
	const double *x = nb_require_f64(frame, NB_POS, &nb_space_host) + 3 * k;
	while (x[0] >= 0 && x[0] < cube.size)
		x++;
	nb_die(NB_EXIT_FAILED,
		"the body with id %" PRIu64 " of frame %" PRIu64
		" is outside its periodic box, at %.17g (want positions from 0 to less than %g; "
		"'nb-transform --shift 0,0,0' before brings all bodies inside)",
		nb_body_id(frame, k), frame->number, *x, cube.size);
}

/* ---- keys --------------------------------------------------------------------------------------- */

int nb_parse_cube(const char *text, struct nb_cube *cube)
{
	double v[4];
	size_t count;
	if (nb_parse_f64_list(text, 4, v, &count) != NB_PARSE_OK || count != 4 || !(v[3] > 0))
		return -1;
	*cube = (struct nb_cube){{v[0], v[1], v[2]}, v[3]};
	return 0;
}

void nb_set_cube(struct nb_frame *frame, const struct nb_cube *cube)
{
	char part[4][NB_F64_TEXT], text[4 * NB_F64_TEXT];
	snprintf(text, sizeof text, "%s,%s,%s,%s", nb_format_f64(cube->lo[0], part[0]),
		nb_format_f64(cube->lo[1], part[1]), nb_format_f64(cube->lo[2], part[2]),
		nb_format_f64(cube->size, part[3]));
	nb_set_attribute(frame, "key_cube", text);
}

/* Whether there are any; *current: and they are those of the bodies as they are now. */
static int look_at_keys(struct nb_frame *frame, const struct nb_backend *backend, struct nb_keys *keys, int *current)
{
	struct nb_column *column = nb_frame_field(frame, NB_KEY);
	const char *text = nb_frame_attribute(frame, "key_cube");
	keys->dim = nb_require_dim(frame);
	*current = 0;
	if (!column || !text)
		return 0;
	if (nb_parse_cube(text, &keys->cube))
		nb_die(NB_EXIT_FAILED, "attribute key_cube='%s' of frame %" PRIu64 " (want x,y,z,edge)", text,
			frame->number);
	if (strcmp(column->dtype, "<u8") == 0) {
		const double *pos = nb_require_f64(frame, NB_POS, backend->space);
		keys->key = nb_require_memory(frame, nb_column_read(column, backend->space, NB_WIRE));
		int status = NB_OK;
		*current = nb_frame_knows(frame, NB_KEYS_CURRENT);
		if (!*current)
			status = backend->keys_current(
				frame->rows[NB_PARTICLE], pos, keys->dim, &keys->cube, keys->key, current);
		if (status)
			failed(frame, backend, status);
	}
	if (*current)
		nb_frame_note(frame, NB_KEYS_CURRENT);
	return 1;
}

int nb_keys_are_current(struct nb_frame *frame, const struct nb_backend *backend)
{
	struct nb_keys keys;
	int current;
	return look_at_keys(frame, backend, &keys, &current) && current;
}

struct nb_keys nb_require_keys(
	struct nb_frame *frame, const struct nb_backend *backend, const char *what, const char *before)
{
	struct nb_keys keys;
	int current;
	if (!look_at_keys(frame, backend, &keys, &current))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is not sorted (put '%s' before)", frame->number, before);
	if (!current)
		nb_die(NB_EXIT_FAILED,
			"the %s of frame %" PRIu64 " is stale: bodies have moved since (put '%s' before)", what,
			frame->number, before);
	return keys;
}

void nb_store_keys(struct nb_frame *frame, const struct nb_space *space, uint64_t *key)
{
	nb_column_adopt(nb_new_column(frame, NB_KEY, NULL, 0), space, key);
}

/* ---- trees and boxes ---------------------------------------------------------------------------- */

/* The wire form of a column whose type field.def prescribes. */
static const void *require_exact(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space)
{
	struct nb_column *column = nb_require_field(frame, field);
	if (strcmp(column->dtype, nb_field_info[field].dtype) != 0)
		nb_die(NB_EXIT_FAILED, "field '%s' of frame %" PRIu64 " has type '%s' (want '%s')", column->name,
			frame->number, column->dtype, nb_field_info[field].dtype);
	return nb_require_memory(frame, nb_column_read(column, space, NB_WIRE));
}

static void *new_column(struct nb_frame *frame, enum nb_field field, uint32_t ncomp, const struct nb_space *space)
{
	void *data = nb_column_write(nb_new_column(frame, field, NULL, ncomp), space, NB_WIRE);
	if (!data) {
		nb_blame_device();
		nb_die(NB_EXIT_FAILED, "out of memory for field '%s'", nb_field_info[field].name);
	}
	return data;
}

static void require_sound(
	const struct nb_frame *frame, const struct nb_backend *backend, int status, const char *what, const char *wrong)
{
	if (status)
		failed(frame, backend, status);
	if (wrong)
		nb_die(NB_EXIT_FAILED, "corrupt %s in frame %" PRIu64 ": %s", what, frame->number, wrong);
}

/* The field of each array of struct nb_tree. */
static const struct {
	size_t at; /* of the pointer in the structure */
	const char *name;
	int order; /* the lowest that has it */
} node_column[] = {
#define NB_NODE_COLUMN(type, member, components, order) {offsetof(struct nb_tree, member), "node_" #member, order},
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
};
enum { NODE_COLUMNS = sizeof node_column / sizeof *node_column };

static enum nb_field node_field(size_t k)
{
	int f = 0;
	while (strcmp(nb_field_info[f].name, node_column[k].name) != 0)
		f++; /* tests/unit/filter/places.c sees that there is one */
	return (enum nb_field)f;
}

static void **node_array(struct nb_tree *tree, size_t k)
{
	return (void **)(void *)((char *)tree + node_column[k].at);
}

struct nb_tree nb_require_tree(struct nb_frame *frame, const struct nb_backend *backend)
{
	const char *wrong = NULL;
	const struct nb_keys keys = nb_require_keys(frame, backend, "tree", "nb-build-tree");
	struct nb_tree tree = {
		.nnode = frame->rows[NB_NODE],
		.dim = keys.dim,
		.leaf_size = (int)nb_require_integer_attribute(frame, "leaf_size", 1, INT_MAX, 1),
		.order = nb_frame_field(frame, NB_NODE_QUAD) ? 2 : 1,
		.cube = keys.cube,
	};
	for (size_t k = 0; k < NODE_COLUMNS; k++)
		if (tree.order >= node_column[k].order)
			*node_array(&tree, k) = (void *)(uintptr_t)require_exact(frame, node_field(k), backend->space);
	if (nb_frame_knows(frame, NB_TREE_SOUND))
		return tree;
	const double *pos = nb_require_f64(frame, NB_POS, backend->space);
	const double *mass = nb_require_f64(frame, NB_MASS, backend->space);
	int status = backend->tree_check(&tree, frame->rows[NB_PARTICLE], pos, mass, &wrong);
	require_sound(frame, backend, status, "tree", wrong);
	nb_frame_note(frame, NB_TREE_SOUND);
	return tree;
}

void nb_store_tree(struct nb_frame *frame, const struct nb_backend *backend, struct nb_tree *tree)
{
	frame->rows[NB_NODE] = tree->nnode;
	for (size_t k = 0; k < NODE_COLUMNS; k++) {
		void **array = node_array(tree, k);
		if (tree->order < node_column[k].order || (node_column[k].order > 1 && !*array))
			continue;
		struct nb_column *column = nb_new_column(frame, node_field(k), NULL, 0);
		if (*array)
			nb_column_adopt(column, backend->space, *array);
		else if (!nb_column_write(column, backend->space, NB_WIRE)) /* a tree without nodes */
			nb_out_of_memory(frame);
		*array = NULL;
	}
	nb_set_attribute_f64(frame, "leaf_size", tree->leaf_size);
	nb_set_attribute_f64(frame, "order", tree->order);
	nb_frame_note(frame, NB_TREE_SOUND);
}

struct nb_boxes nb_require_boxes(struct nb_frame *frame, const struct nb_backend *backend)
{
	const struct nb_space *space = backend->space;
	const size_t nbox = frame->rows[NB_BOX], bytes = nbox * sizeof(uint64_t);
	const uint64_t n = frame->rows[NB_PARTICLE];
	const char *wrong = NULL;
	if (!nb_frame_field(frame, NB_KEY) || !nb_frame_field(frame, NB_BOX_FIRST))
		nb_die(NB_EXIT_FAILED, "no boxes in frame %" PRIu64 " (put '" NB_BEFORE_BOXES "' before)",
			frame->number);
	(void)nb_require_keys(frame, backend, "boxes", NB_BEFORE_BOXES);
	const void *first = require_exact(frame, NB_BOX_FIRST, space);
	struct nb_boxes boxes = {nbox, NULL, require_exact(frame, NB_BOX_NEIGHBOUR, space),
		(int)nb_require_field(frame, NB_BOX_NEIGHBOUR)->ncomp};
	/* the kernels want the end of the last box too */
	uint64_t *box_first = nb_require_memory(frame, space->alloc(space, bytes + sizeof n));
	boxes.box_first = box_first;
	int status = space->copy(space, box_first, first, bytes);
	if (!status)
		status = space->from_host(space, (char *)box_first + bytes, &n, sizeof n);
	if (!status && !nb_frame_knows(frame, NB_BOXES_SOUND))
		status = backend->boxes_check(&boxes, n, &wrong);
	if (status || wrong)
		space->release(space, box_first);
	require_sound(frame, backend, status, "boxes", wrong);
	nb_frame_note(frame, NB_BOXES_SOUND);
	return boxes;
}

void nb_release_boxes(const struct nb_backend *backend, struct nb_boxes *boxes)
{
	backend->space->release(backend->space, (void *)(uintptr_t)boxes->box_first);
	memset(boxes, 0, sizeof *boxes);
}

void nb_store_boxes(struct nb_frame *frame, const struct nb_backend *backend, const struct nb_keys *keys, int level)
{
	const struct nb_space *space = backend->space;
	const size_t nbox = (size_t)1 << keys->dim * level, bytes = nbox * sizeof(uint64_t);
	frame->rows[NB_BOX] = nbox;
	void *first = new_column(frame, NB_BOX_FIRST, 0, space);
	void *neighbour = new_column(frame, NB_BOX_NEIGHBOUR, keys->dim == 2 ? 8 : 26, space);
	uint64_t *box_first = nb_require_memory(frame, space->alloc(space, bytes + sizeof *box_first));
	int status = backend->boxes_build(frame->rows[NB_PARTICLE], keys->key, keys->dim, level, box_first, neighbour);
	if (!status)
		status = space->copy(space, first, box_first, bytes);
	space->release(space, box_first);
	if (status)
		nb_die(NB_EXIT_FAILED, "boxes of frame %" PRIu64 ": %s", frame->number,
			nb_backend_error(backend, status));
	nb_set_attribute_f64(frame, "level", level);
	nb_frame_note(frame, NB_BOXES_SOUND);
}

/* ---- softening ---------------------------------------------------------------------------------- */

const char *const nb_softening_name[] = {"plummer", "spline", NULL};

enum nb_softening nb_require_softening_kernel(const struct nb_frame *frame)
{
	const char *name = nb_frame_attribute(frame, "softening_kernel");
	int k = 0;
	while (name && nb_softening_name[k] && strcmp(name, nb_softening_name[k]) != 0)
		k++;
	if (!nb_softening_name[k])
		nb_die(NB_EXIT_FAILED,
			"attribute softening_kernel of frame %" PRIu64 " is '%s' (want plummer or spline)",
			frame->number, name);
	return (enum nb_softening)k;
}

void nb_require_softening(struct nb_frame *frame, const struct nb_space *space, struct nb_gravity *g)
{
	g->softening = nb_require_softening_kernel(frame);
	g->body_eps = nb_frame_field(frame, NB_EPS) ? nb_require_f64(frame, NB_EPS, space) : NULL;
	g->eps = g->body_eps ? 0 : nb_require_attribute(frame, "softening", 0);
	if (!(g->eps >= 0))
		nb_die(NB_EXIT_FAILED, "attribute softening=%g of frame %" PRIu64 " is negative", g->eps,
			frame->number);
}
