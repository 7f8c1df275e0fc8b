/* nb-force: gravitational acceleration, and potential and jerk on request, of each frame. */
#include "tools/nb-force/force.h"

#include "common/timer.h"
#include "kernels/mesh/mesh.h"
#include "tools/filter/require.h"
#include "tools/filter/systems.h"
#include "tools/filter/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct nb_option options[] = {
	{'e', "softening", NB_REAL(struct force, softening), .arg = "LENGTH", .fallback = "the frame's value, else 0",
		.help = "softening length of all bodies"},
	{'l', "leaf-size", NB_INT(struct force, leaf_size), .min = 1, .max = 65536, .arg = "N", .fallback = "16",
		.help = "largest number of bodies in a leaf, where the frame has no tree"},
	{'m', "method", NB_CHOICE(struct force, method), .arg = "auto|direct|tree|near|fmm|treepm",
		.fallback =
			"auto: tree if the frame has one or with -t, near if it has boxes, treepm if it is large and "
			"in a periodic box, else direct",
		.help = "how to sum the forces"},
	{'p', "order", NB_INT(struct force, order), .min = 1, .max = NB_FMM_MAX_ORDER_2D, .arg = "N",
		.fallback = "that of the tree; for fmm 6, in 2-D 8",
		.help = "order of the multipoles of tree (1 to 4), of the expansions of fmm"},
	{'t', "theta", NB_REAL(struct force, theta), .max = 10, .arg = "ANGLE", .fallback = "0.5",
		.help = "opening angle of the tree; 0 opens every cell"},
	{0, "accuracy", NB_POSITIVE(struct force, accuracy), .max = 0.1, .arg = "A",
		.help = "99th percentile of the errors, as shares of the strength of the field"},
	{0, "alpha", NB_POSITIVE(struct force, alpha), .max = 1, .arg = "A", .fallback = "0.0025",
		.help = "tolerance of --mac acceleration"},
	{0, "at", NB_FILE(struct force, at_path), .arg = "FILE",
		.help = "compute the field at the positions of the stream in FILE, and write that"},
	{0, "audit", NB_INT(struct force, audit), .min = 0, .max = 1000000000, .arg = "N", .fallback = "0: none",
		.help = "measure the errors of N bodies of each frame by direct sums"},
	{0, "G", NB_REAL(struct force, G), .arg = "G", .fallback = "the frame's value, else 1",
		.help = "gravitational constant"},
	{0, "jerk", NB_FLAG(struct force, jerk), .help = "add field jerk, the time derivative of acc"},
	{0, "kernel", NB_TEXT(struct force, kernel_text), .arg = "NAME[:KEY=N,...]",
		.help = "compute with the kernel of a paper; the name help lists all kernels"},
	{0, "mac", NB_CHOICE(struct force, mac), .arg = "geometric|acceleration", .fallback = "geometric",
		.help = "criterion by which the tree walk opens cells"},
	{0, "mesh", NB_INT(struct force, mesh), .min = NB_MESH_LEAST, .max = NB_MESH_MOST, .arg = "M",
		.fallback = "twice the cube root of the number of bodies",
		.help = "cells along an edge of the mesh of treepm"},
	{0, "potential", NB_FLAG(struct force, potential), .help = "add field pot, the gravitational potential"},
	{0, "precision", NB_CHOICE(struct force, precision), .arg = "f32|mixed|f64|auto",
		.fallback = "auto: f32 for tree and fmm, that of the paper for --kernel, else f64",
		.help = "arithmetic of the pair interactions"},
	{0, "split", NB_POSITIVE(struct force, split), .max = 16, .arg = "CELLS", .fallback = "1.3",
		.help = "length above which the mesh of treepm gives the forces, in its cells"},
	{0, "softening-kernel", NB_CHOICE(struct force, kernel_of_softening), .arg = "plummer|spline",
		.fallback = "the frame's, else plummer", .help = "how close interactions are softened"},
};

static void check(struct nb_run *run, void *self)
{
	struct force *opt = self;
	opt->theta_given = nb_given(run, &opt->theta);
	opt->mac_given = nb_given(run, &opt->mac);
	opt->order_given = nb_given(run, &opt->order);
	if (nb_given(run, &opt->alpha) && opt->mac != NB_MAC_ACCELERATION)
		nb_die(NB_EXIT_USAGE, "option '--alpha' needs '--mac acceleration'");
	nb_force_check_order(opt);
	if ((opt->theta_given || opt->mac_given) && opt->method != METHOD_AUTO && opt->method != METHOD_TREE)
		nb_die(NB_EXIT_USAGE, "options '--theta' and '--mac' belong to method tree, not %s",
			nb_method_name[opt->method]);
	if (opt->kernel_text && strcmp(opt->kernel_text, "help") == 0)
		nb_force_list_kernels(run);
	nb_force_accuracy_check(run, opt);
	nb_force_box_check(opt);
	nb_force_tree_check(run, opt);
	run->needs.own_backend = opt->kernel_text != NULL;
	nb_force_at_check(run, opt);
}

static void clear(void *self)
{
	nb_force_scratch_clear(self);
	nb_force_at_clear(self);
	nb_force_tree_clear(self);
	nb_treepm_free(&((struct force *)self)->meshes);
}

static void begin(struct nb_run *run, void *self)
{
	struct force *opt = self;
	if (opt->kernel_text)
		nb_force_choose_kernel(run, opt);
	nb_force_at_begin(run, opt);
}

static void end(struct nb_run *run, void *self)
{
	nb_force_at_end(self);
	nb_report_devices(run);
}

/* ---- methods ------------------------------------------------------------------------------------ */

static int force_tree(const struct nb_run *run, const struct force *opt, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count)
{
	const struct nb_backend *backend = run->backend;
	const struct nb_tree tree = nb_require_tree(frame, backend);
	struct nb_tree_walk walk = nb_force_walk(run, opt);
	if (opt->mac == NB_MAC_GEOMETRIC)
		return backend->gravity_tree(g, &tree, &walk, count);

	/* the criterion needs an acceleration: the geometric walk's is a good first one */
	struct nb_gravity first = *g;
	first.pot = NULL;
	first.jerk = NULL;
	first.acc = backend->space->alloc(backend->space, g->n * 3 * sizeof *first.acc);
	if (!first.acc)
		return nb_space_status();
	int status = backend->gravity_tree(&first, &tree, &walk, count);
	walk.mac = NB_MAC_ACCELERATION;
	walk.acc_old = first.acc;
	if (!status)
		status = backend->gravity_tree(g, &tree, &walk, count);
	backend->space->release(backend->space, first.acc);
	return status;
}

static int force_near(const struct force *opt, const struct nb_backend *backend, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count)
{
	struct nb_boxes boxes = nb_require_boxes(frame, backend);
	int status = opt->kernel ? nb_force_run_kernel(opt, g, &boxes, count) : backend->gravity_near(g, &boxes, count);
	nb_release_boxes(backend, &boxes);
	return status;
}

/* The boxes of the frame as levels of a pyramid, with all bodies in them. */
static struct nb_fmm require_fmm(
	const struct nb_run *run, const struct force *opt, struct nb_frame *frame, const struct nb_gravity *g)
{
	const struct nb_keys keys = nb_require_keys(frame, run->backend, "boxes", NB_BEFORE_BOXES);
	struct nb_fmm fmm = {.dim = keys.dim, .order = nb_force_order(opt, keys.dim), .cube = keys.cube};
	size_t bad;
	if (fmm.dim == 3 && fmm.order > NB_FMM_MAX_ORDER_3D)
		nb_die(NB_EXIT_FAILED, "option '--order' is %d for frame %" PRIu64 " (limit %d in 3-D, %d in 2-D)",
			fmm.order, frame->number, NB_FMM_MAX_ORDER_3D, NB_FMM_MAX_ORDER_2D);
	while ((uint64_t)1 << fmm.dim * fmm.level < frame->rows[NB_BOX] && fmm.level < NB_BOXES_MAX_LEVEL_2D)
		fmm.level++;
	if (fmm.dim == 2)
		nb_force_require_plane(run, "method fmm", frame);
	nb_require_done(run, run->backend->first_outside(g->n, g->pos, 0, fmm.dim, &fmm.cube, &bad), "cube of", frame);
	if (bad < g->n)
		nb_die(NB_EXIT_FAILED, "body %" PRIu64 " of frame %" PRIu64 " is outside the cube of the keys",
			nb_body_id(frame, bad), frame->number);
	return fmm;
}

static int force_fmm(struct nb_run *run, const struct force *opt, struct nb_frame *frame, const struct nb_gravity *g,
	struct nb_gravity_count *count)
{
	const struct nb_fmm fmm = require_fmm(run, opt, frame, g);
	struct nb_boxes boxes = nb_require_boxes(frame, run->backend);
	const int status = run->backend->gravity_fmm(g, &boxes, &fmm, count);
	nb_release_boxes(run->backend, &boxes);
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED,
			"the boxes of frame %" PRIu64 " are not those of its keys (want " NB_BEFORE_BOXES ")",
			frame->number);
	return status;
}

/* Without gravity there is nothing to compute. */
static int no_force(const struct nb_frame *frame)
{
	static const enum nb_field fields[] = {NB_ACC, NB_POT, NB_JERK};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		struct nb_column *column = nb_frame_field(frame, fields[i]);
		void *data = nb_column_write(column, &nb_space_host, NB_WIRE);
		if (column && !data)
			return NB_ENOMEM;
		if (column)
			memset(data, 0, column->rows * column->rowsize);
	}
	return NB_OK;
}

static int sum_forces(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count)
{
	const struct nb_backend *backend = run->backend;
	if (g->G == 0)
		return no_force(frame);
	if (opt->systems)
		return nb_force_systems(frame, g, count);
	if (opt->box > 0)
		return nb_force_box_forces(backend, opt, method, g, NULL, count);
	if (method == METHOD_TREE)
		return force_tree(run, opt, frame, g, count);
	if (method == METHOD_NEAR)
		return force_near(opt, backend, frame, g, count);
	if (method == METHOD_FMM)
		return force_fmm(run, opt, frame, g, count);
	return opt->kernel ? nb_force_run_kernel(opt, g, NULL, count) : backend->gravity_direct(g, count);
}

/* ---- a frame ------------------------------------------------------------------------------------ */

/* What to compute: the law, and columns of the frame. */
static struct nb_gravity describe(
	struct nb_run *run, const struct force *opt, enum method method, struct nb_frame *frame)
{
	const struct nb_space *space = run->backend->space;
	const char *dtype = nb_real_dtype(frame);
	struct nb_gravity g = {.n = frame->rows[NB_PARTICLE]};
	char what[64];
	snprintf(what, sizeof what, "%s %s", opt->kernel ? "kernel" : "method",
		opt->kernel ? opt->kernel->name : nb_method_name[method]);
	g.G = nb_force_constant(run, opt, frame);
	if (opt->kernel && opt->kernel->traits & NB_PAPER_PLANE)
		nb_force_require_plane(run, what, frame);
	g.precision = nb_force_precision(opt, method);
	/* columns are added before pointers into the frame are taken */
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_MASS);
	nb_frame_drop(frame, "pot_field"); /* of forces that are made anew */
	nb_frame_drop(frame, "timescale");
	g.acc = nb_new_f64(frame, NB_ACC, dtype, space);
	if (opt->potential)
		g.pot = nb_new_f64(frame, NB_POT, dtype, space);
	else
		nb_frame_drop(frame, "pot"); /* of another softening or G */
	if (opt->jerk) {
		g.jerk = nb_new_f64(frame, NB_JERK, dtype, space);
		g.vel = nb_require_f64(frame, NB_VEL, space);
	} else {
		nb_frame_drop(frame, "jerk");
	}
	nb_force_spread_softening(run, opt, frame);
	g.pos = nb_require_f64(frame, NB_POS, space);
	g.mass = nb_require_f64(frame, NB_MASS, space);
	nb_force_soften(run, opt, frame, &g, what, opt->kernel || method == METHOD_FMM);
	if (opt->box > 0)
		nb_force_check_box_softening(opt, method, frame, &g);
	return g;
}

/* The forces of a frame, their errors, and what is said of both. */
static void compute(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame)
{
	const struct nb_backend *backend = run->backend;
	const char *name = opt->kernel ? opt->kernel->name : nb_method_name[method];
	char errors[NB_FORCE_ERRORS], active[NB_FORCE_ACTIVE];
	struct nb_gravity_count count = {0, 0, 0, 0};
	const struct nb_gravity g = describe(run, opt, method, frame);
	const double start = nb_now();
	/* only -v prints the counts, and needs to wait for the device */
	const int reported = nb_verbosity() > 0;
	int status;
	if (!nb_force_active(run, opt, method, frame, &g, reported ? &count : NULL, &status, active))
		status = sum_forces(run, opt, method, frame, &g, reported ? &count : NULL);
	if (status == NB_EUNSUPPORTED && method == METHOD_TREE)
		nb_force_refuse_order(run, opt, frame);
	if (status == NB_EUNSUPPORTED && opt->jerk)
		nb_die(NB_EXIT_FAILED, "method %s offers no jerk (want -m direct or tree)", nb_method_name[method]);
	if (!status && reported)
		status = backend->finish();
	if (status)
		nb_die(NB_EXIT_FAILED, "%s on backend %s failed in frame %" PRIu64 ": %s", name, backend->name,
			frame->number, nb_backend_error(backend, status));
	const double seconds = nb_now() - start;
	nb_force_require_in_range(run, name, frame, nb_frame_field(frame, NB_ACC), "an acceleration");
	nb_force_require_in_range(run, name, frame, nb_frame_field(frame, NB_POT), "a potential");
	nb_force_require_in_range(run, name, frame, nb_frame_field(frame, NB_JERK), "a jerk");
	nb_force_note_law(run, opt, frame, &g);
	nb_force_audit(run, opt, frame, &g, errors);
	nb_verbose("frame %" PRIu64 ": %s on %s, n %zu%s, %.4g s, body-body %" PRIu64 ", body-cell %" PRIu64
		   ", cell-cell %" PRIu64 "%s",
		frame->number, name, backend->name, g.n, active, seconds, count.p2p, count.m2p, count.m2l, errors);
}

static void force(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct force *opt = self;
	enum method method = nb_force_method(
		opt, nb_frame_field(frame, NB_NODE_FIRST) != NULL, nb_frame_field(frame, NB_BOX_FIRST) != NULL);
	if (opt->at_path) {
		nb_refuse_systems(frame, "option '--at'", "");
		nb_force_at(run, opt, frame);
		return;
	}
	nb_require_valid(frame);
	opt->box = nb_force_box(run, opt, &method, frame);
	opt->systems = nb_force_has_systems(run, opt, method, frame);
	if (method == METHOD_TREE)
		nb_force_tree_make(run, opt, frame);
	nb_force_aim(opt, method, frame);
	nb_force_audit_check(opt, method, frame);
	do
		compute(run, opt, method, frame);
	while (nb_force_missed(opt, method, frame));
	if (method == METHOD_TREE)
		nb_force_tree_drop(opt, frame);
}

const struct nb_tool nb_tool_force = {
	.name = "nb-force",
	.about = "compute gravitational accelerations of each frame of a particle stream",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.size = sizeof(struct force),
	.defaults = &(const struct force){.precision = PRECISION_AUTO,
		.mac = NB_MAC_GEOMETRIC,
		.theta = 0.5,
		.leaf_size = 16,
		.alpha = 0.0025,
		.G = 1},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = force,
	.work = nb_force_work,
	.spread = nb_force_spread,
	.small = nb_force_small,
	.end = end,
	.clear = clear,
};
