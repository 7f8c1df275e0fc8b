/* nb-sort-zorder: Morton keys, and every particle column in their order. */
#include "common/mem.h"
#include "common/timer.h"
#include "tools/filter/choose.h"
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"

#include <inttypes.h>
#include <string.h>

enum { GATHER_BLOCK = 4 << 20 }; /* bytes permuted at once on the way out, so that no column exists twice */

struct sort {
	int dim;
	const char *cube_text;
	struct nb_cube cube; /* of --cube */
	int by_blocks;	     /* columns are permuted on the host */
};

static const struct nb_option options[] = {
	{0, "cube", NB_TEXT(struct sort, cube_text), .arg = "X,Y,Z,EDGE",
		.fallback = "the smallest that holds all bodies",
		.help = "cube that the keys refer to: lower corner and edge"},
	{0, "dim", NB_INT(struct sort, dim), .min = 2, .max = 3, .arg = "2|3", .fallback = "the frame's value",
		.help = "number of dimensions; 2: keys of x and y only"},
};

static void check(struct nb_run *run, void *self)
{
	struct sort *opt = self;
	(void)run;
	if (opt->cube_text && nb_parse_cube(opt->cube_text, &opt->cube))
		nb_die(NB_EXIT_USAGE, "invalid cube '%s' (want x,y,z,edge with edge > 0)", opt->cube_text);
}

static void work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	const struct sort *opt = self;
	(void)run;
	nb_plan_add(plan, NB_WORK_SORT, plan->n);
	plan->dim = opt->dim ? opt->dim : plan->dim;
	plan->tree = 0;
	plan->level = -1;
	nb_plan_use(plan, NB_PLAN(POS));
	nb_plan_take(plan, NB_MEMORY_SORT, 0);
	plan->tables = 0;
	if (opt->by_blocks) {
		nb_plan_release(plan);
	} else {
		nb_plan_use_all(plan);
		nb_plan_take(plan, NB_MEMORY_PERMUTE, 0);
	}
	plan->row += plan->column[NB_PLAN_KEY].wire > 0 ? 0 : sizeof(uint64_t);
	plan->column[NB_PLAN_KEY].wire = sizeof(uint64_t);
}

/* ---- the order ---------------------------------------------------------------------------------- */

/* Of a frame; the arrays are in the backend's space. */
struct order {
	int dim;
	struct nb_cube cube;
	uint64_t *key;	/* n, sorted */
	uint32_t *perm; /* n, where each body was */
};

static struct nb_cube choose_cube(
	const struct nb_run *run, const struct sort *opt, const struct nb_frame *frame, int dim)
{
	const struct nb_backend *backend = run->backend;
	const size_t n = frame->rows[NB_PARTICLE];
	const double *pos = nb_require_f64(frame, NB_POS, backend->space);
	struct nb_cube cube;
	size_t bad;
	if (!opt->cube_text) {
		const int status = nb_frame_knows(frame, NB_EXTENT_KNOWN)
					   ? nb_morton_cube_of_extent(n, frame->extent, dim, &cube)
					   : backend->morton_cube(n, pos, dim, &cube, &bad);
		nb_require_done(run, status, "bounding cube of", frame);
		return cube;
	}
	nb_require_done(run, backend->first_outside(n, pos, 0, dim, &opt->cube, &bad), "cube of", frame);
	if (bad < n) {
		pos = nb_require_f64(frame, NB_POS, &nb_space_host) + 3 * bad;
		nb_die(NB_EXIT_FAILED, "row %zu of frame %" PRIu64 " is at (%g, %g, %g), outside the cube %s", bad,
			frame->number, pos[0], pos[1], pos[2], opt->cube_text);
	}
	return opt->cube;
}

/* Needs no column but pos. */
static struct order sort_bodies(struct nb_run *run, const struct sort *opt, const struct nb_frame *frame)
{
	const struct nb_backend *backend = run->backend;
	const struct nb_space *space = backend->space;
	const size_t n = frame->rows[NB_PARTICLE];
	const double start = nb_now();
	if (n > UINT32_MAX)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies (limit %" PRIu32 ")", frame->number, n,
			UINT32_MAX);
	nb_require_finite(frame, nb_require_field(frame, NB_POS));
	struct order order = {.dim = opt->dim ? opt->dim : nb_require_dim(frame)};
	order.cube = choose_cube(run, opt, frame, order.dim);
	order.key = space->alloc(space, n * sizeof *order.key);
	order.perm = space->alloc(space, n * sizeof *order.perm);
	if (!order.key || !order.perm) {
		nb_blame_device();
		nb_die(NB_EXIT_FAILED, "out of memory for the keys of frame %" PRIu64, frame->number);
	}
	const double *pos = nb_require_f64(frame, NB_POS, space);
	int status = backend->morton_keys(n, pos, order.dim, &order.cube, order.key);
	if (!status)
		status = backend->sort_keys(n, order.key, order.perm);
	if (!status)
		status = backend->sort_deep(n, order.key, pos, order.dim, order.perm);
	if (!status && nb_verbosity() > 0)
		status = backend->finish();
	nb_require_done(run, status, "sorting", frame);
	nb_verbose("frame %" PRIu64 ": %zu bodies sorted on %s in %.4g s", frame->number, n, backend->name,
		nb_now() - start);
	return order;
}

/* Puts the sorted keys, which the frame then owns, and what they mean into the frame. */
static void describe(struct nb_frame *frame, const struct sort *opt, struct order *order, const struct nb_space *space)
{
	nb_frame_drop_tree(frame);
	nb_store_keys(frame, space, order->key);
	order->key = NULL;
	nb_set_cube(frame, &order->cube);
	if (opt->dim)
		nb_set_attribute_f64(frame, "dim", opt->dim);
}

/* ---- in memory ---------------------------------------------------------------------------------- */

static void sort_frame(struct nb_run *run, void *self, struct nb_frame *frame)
{
	const struct sort *opt = self;
	const struct nb_backend *backend = run->backend;
	nb_require_valid(frame);
	struct order order = sort_bodies(run, opt, frame);
	int status = nb_frame_gather(
		frame, NB_PARTICLE, frame->rows[NB_PARTICLE], order.perm, backend->space, backend->permute);
	backend->space->release(backend->space, order.perm);
	nb_require_done(run, status, "sorting", frame);
	describe(frame, opt, &order, backend->space);
	nb_frame_note(frame, NB_KEYS_CURRENT);
}

/* ---- on streams --------------------------------------------------------------------------------- */

static size_t rows_at_once(const struct nb_column *column)
{
	const size_t rows = column->rowsize < GATHER_BLOCK ? GATHER_BLOCK / column->rowsize : 1;
	return column->rows < rows ? column->rows : rows;
}

/* Writes a column in the order of perm, gathered block by block. */
static int write_gathered(struct nb_writer *out, struct nb_column *column, const uint32_t *perm, void *block)
{
	const unsigned char *source = nb_column_read(column, &nb_space_host, NB_WIRE);
	const size_t rows = rows_at_once(column);
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
	size_t most = 1;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		const size_t bytes = rows_at_once(column) * column->rowsize;
		most = bytes > most ? bytes : most;
	}
	void *block = nb_require_memory(frame, nb_alloc(most, 1));
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

/* An array of the backend's space on the host, where it is released if it was not there already. */
static void *bring(const struct nb_run *run, const struct nb_frame *frame, void *array, size_t bytes)
{
	const struct nb_space *space = run->backend->space;
	if (space->device < 0)
		return array;
	void *host = nb_require_memory(frame, nb_alloc(bytes, 1));
	nb_require_done(run, space->to_host(space, host, array, bytes), "sorting", frame);
	space->release(space, array);
	return host;
}

/* The order is found before the columns behind pos are read: what the sort needs besides keys and order is free again
 * by then, and the peak stays below 1.2 times the frame. */
static void sort_stream(struct nb_run *run, void *self)
{
	struct sort *opt = self;
	struct nb_frame frame;
	nb_frame_init(&frame);
	opt->by_blocks = 1;
	while (nb_next_head(run, &frame)) {
		nb_require_backend(run, &frame);
		const size_t n = frame.rows[NB_PARTICLE];
		struct nb_column *pos = nb_require_field(&frame, NB_POS);
		nb_next_columns(run, &frame, (size_t)(pos - frame.column) + 1);
		struct order order = sort_bodies(run, opt, &frame);
		nb_column_trim(pos);
		order.key = bring(run, &frame, order.key, n * sizeof *order.key);
		order.perm = bring(run, &frame, order.perm, n * sizeof *order.perm);
		nb_next_columns(run, &frame, SIZE_MAX);
		nb_require_valid(&frame);
		describe(&frame, opt, &order, &nb_space_host);
		nb_add_history(run, &frame);
		write_sorted(&run->out, &frame, order.perm);
		nb_free(order.perm);
	}
	nb_frame_clear(&frame);
}

static const char *spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law)
{
	const struct sort *opt = self;
	double dim;
	if (opt->cube_text)
		return "nb-sort-zorder --cube";
	if (nb_frame_attribute_f64(frame, "dim", 3, &dim) || (dim != 2 && dim != 3))
		return "attribute dim";
	law->dim = opt->dim ? opt->dim : (int)dim;
	return nb_spread_device(run, 1, &law->device);
}

const struct nb_tool nb_tool_sort_zorder = {
	.name = "nb-sort-zorder",
	.about = "sort the bodies of each frame along a Z-order (Morton) curve",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct sort),
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.frame = sort_frame,
	.work = work,
	.spread = spread,
	.stream = sort_stream,
};
