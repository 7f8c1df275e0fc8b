/* nb-sort-zorder: Morton keys, and every particle column in their order. */
#include "common/die.h"
#include "common/mem.h"
#include "common/parse.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATHER_BLOCK = 4 << 20 }; /* bytes permuted at once on the way out, so that no column exists twice */

static struct options {
	int dim, dim_given;
	const char *cube;
} opt;

static const struct nb_option options[] = {
	{0, "cube", NB_OPT_TEXT, &opt.cube, 0, 0, "X,Y,Z,EDGE", "the smallest",
		"cube that the keys refer to: lower corner and edge", 0, NULL},
	{0, "dim", NB_OPT_INT, &opt.dim, 2, 3, "2|3", "the frame's", "2: keys of x and y only", 0, &opt.dim_given},
};

static const struct nb_command command = {
	.about = "sort the bodies of each frame along a Z-order (Morton) curve",
	.operands = "",
	.max_operands = 0,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
};

static int parse_cube(const char *text, struct nb_cube *cube)
{
	double v[4];
	size_t count;
	if (nb_parse_f64_list(text, 4, v, &count) != NB_PARSE_OK || count != 4 || !(v[3] > 0))
		return -1;
	*cube = (struct nb_cube){{v[0], v[1], v[2]}, v[3]};
	return 0;
}

static void format_cube(const struct nb_cube *cube, char text[4 * NB_F64_TEXT])
{
	char part[4][NB_F64_TEXT];
	snprintf(text, 4 * NB_F64_TEXT, "%s,%s,%s,%s", nb_format_f64(cube->lo[0], part[0]),
		nb_format_f64(cube->lo[1], part[1]), nb_format_f64(cube->lo[2], part[2]),
		nb_format_f64(cube->size, part[3]));
}

/* The first body outside the cube, or n. */
static size_t first_outside(size_t n, const double *pos, int dim, const struct nb_cube *cube)
{
	size_t outside = n;
#pragma omp parallel for schedule(static) reduction(min : outside)
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < dim; k++) {
			double x = pos[3 * i + k] - cube->lo[k];
			if (!(x >= 0 && x < cube->size) && i < outside)
				outside = i;
		}
	return outside;
}

static struct nb_cube choose_cube(
	const struct nb_backend *backend, const struct nb_frame *frame, int dim, uint64_t nframe)
{
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_cube cube;
	size_t bad;
	if (opt.cube) {
		const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
		(void)parse_cube(opt.cube, &cube); /* main has checked it */
		bad = first_outside(n, pos, dim, &cube);
		if (bad < n)
			nb_die(NB_EXIT_FAILED, "row %zu of frame %" PRIu64 " is at (%g, %g, %g), outside the cube %s",
				bad, nframe, pos[3 * bad], pos[3 * bad + 1], pos[3 * bad + 2], opt.cube);
		return cube;
	}
	int status = backend->morton_cube(n, nb_require_f64(frame, NB_POS, backend->space, nframe), dim, &cube, &bad);
	if (status)
		nb_die(NB_EXIT_FAILED, "bounding cube of frame %" PRIu64 " on backend %s: %s", nframe, backend->name,
			nb_backend_error(backend, status));
	return cube;
}

struct order {
	struct nb_cube cube;
	uint64_t *key;	/* n, sorted; host */
	uint32_t *perm; /* n, where each body was; host */
};

/* Only pos is needed, so this runs before the rest of the frame is read: what the sort needs besides keys and
 * order is free again by then, and the peak stays below 1.2 times the frame. */
static struct order sort_bodies(
	const struct nb_backend *backend, const struct nb_frame *frame, int dim, uint64_t nframe)
{
	const struct nb_space *space = backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	struct order order = {choose_cube(backend, frame, dim, nframe), nb_alloc(n, sizeof *order.key),
		nb_alloc(n, sizeof *order.perm)};
	const int here = space->device < 0;
	uint64_t *key = here ? order.key : space->alloc(space, n * sizeof *key);
	uint32_t *perm = here ? order.perm : space->alloc(space, n * sizeof *perm);
	if (!order.key || !order.perm || !key || !perm)
		nb_die(NB_EXIT_FAILED, "out of memory for the keys of frame %" PRIu64, nframe);
	int status = backend->morton_keys(n, nb_require_f64(frame, NB_POS, space, nframe), dim, &order.cube, key);
	if (!status)
		status = backend->sort_keys(n, key, perm);
	if (!status && !here)
		status = space->to_host(space, order.key, key, n * sizeof *key);
	if (!status && !here)
		status = space->to_host(space, order.perm, perm, n * sizeof *perm);
	if (!status)
		status = backend->finish();
	if (status)
		nb_die(NB_EXIT_FAILED, "sorting frame %" PRIu64 " on backend %s: %s", nframe, backend->name,
			nb_backend_error(backend, status));
	if (!here) {
		space->release(space, key);
		space->release(space, perm);
	}
	return order;
}

/* Puts the sorted keys into the frame, which then owns them. */
static void store_keys(struct nb_frame *frame, struct order *order)
{
	struct nb_column *column = nb_frame_add_field(frame, NB_KEY, NULL, 0);
	if (!column)
		nb_die(NB_EXIT_FAILED, "out of memory for the keys");
	nb_column_adopt(column, order->key);
	order->key = NULL;
	char text[4 * NB_F64_TEXT];
	format_cube(&order->cube, text);
	nb_require_attribute_set(frame, "key_cube", text);
}

/* Writes a column in the order of perm, gathered block by block. */
static int write_gathered(struct nb_writer *out, struct nb_column *column, const uint32_t *perm, void *block)
{
	const unsigned char *source = nb_column_read(column, &nb_space_host, NB_WIRE);
	const size_t rows = column->rowsize < GATHER_BLOCK ? GATHER_BLOCK / column->rowsize : 1;
	if (!source)
		nb_die(NB_EXIT_FAILED, "out of memory for column '%s'", column->name);
	for (size_t at = 0; at < column->rows; at += rows) {
		size_t count = column->rows - at < rows ? column->rows - at : rows;
		if (nb_permute_cpu(count, perm + at, column->rowsize, source, block) ||
			nb_writer_block(out, block, count * column->rowsize))
			return -1;
	}
	return 0;
}

static void write_sorted(struct nb_writer *out, const struct nb_frame *frame, const uint32_t *perm)
{
	size_t widest = GATHER_BLOCK;
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].rowsize > widest)
			widest = frame->column[c].rowsize;
	void *block = nb_alloc(widest, 1);
	if (!block)
		nb_die(NB_EXIT_FAILED, "out of memory");
	int status = nb_writer_begin(out, frame);
	for (size_t c = 0; !status && c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (strcmp(column->name, "key") == 0) /* in order already */
			status = nb_writer_block(
				out, nb_column_read(column, &nb_space_host, NB_WIRE), column->rows * column->rowsize);
		else
			status = write_gathered(out, column, perm, block);
	}
	if (status || nb_writer_end(out) || nb_writer_flush(out))
		nb_die(NB_EXIT_FAILED, "%s", out->error);
	nb_free(block);
}

static void forget_tree(struct nb_frame *frame)
{
	static const char *const attribute[] = {"tree", "leaf_size", "order", "level"};
	nb_frame_drop_table(frame, NB_NODE);
	nb_frame_drop_table(frame, NB_BOX);
	for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++)
		nb_frame_drop_attribute(frame, attribute[i]);
}

int main(int argc, char **argv)
{
	struct nb_reader in;
	struct nb_writer out;
	struct nb_frame frame;
	struct nb_cube cube;
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];

	nb_options_parse(&command, argc, argv);
	if (opt.cube && parse_cube(opt.cube, &cube))
		nb_die(NB_EXIT_USAGE, "invalid cube '%s' (want x,y,z,edge with edge > 0)", opt.cube);
	int status = nb_backend_choose(nb_common.backend, &backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", nb_common.backend,
			why);
	nb_require_input(&in);
	nb_require_output(&out);
	nb_frame_init(&frame);
	while (nb_require_head(&in, &frame)) {
		const uint64_t nframe = in.nframe;
		const int dim = opt.dim_given ? opt.dim : nb_require_dim(&frame, nframe);
		const size_t n = frame.rows[NB_PARTICLE];
		struct nb_column *pos = nb_require_field(&frame, NB_POS, nframe);
		if (n > UINT32_MAX)
			nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit %" PRIu32 ")", nframe, n,
				UINT32_MAX);
		nb_require_columns(&in, &frame, (size_t)(pos - frame.column) + 1);
		nb_require_finite_column(&frame, pos, nframe);
		double start = nb_now();
		struct order order = sort_bodies(backend, &frame, dim, nframe);
		nb_verbose("frame %" PRIu64 ": %zu bodies sorted on %s in %.4g s", nframe, n, backend->name,
			nb_now() - start);
		nb_column_trim(pos);
		nb_require_columns(&in, &frame, SIZE_MAX);
		nb_require_finite(&frame, nframe);
		forget_tree(&frame);
		store_keys(&frame, &order);
		if (opt.dim_given)
			nb_require_attribute_set_f64(&frame, "dim", dim);
		nb_require_history(&frame);
		write_sorted(&out, &frame, order.perm);
		nb_free(order.perm);
	}
	nb_require_closed(&out);
	nb_frame_clear(&frame);
	nb_reader_close(&in);
	return NB_EXIT_OK;
}
