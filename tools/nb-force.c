/* nb-force: gravitational acceleration, and potential and jerk on request, of each frame. */
#include "common/die.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/backend/backend.h"
#include "kernels/papers/papers.h"
#include "kernels/tree/tree.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum method { METHOD_AUTO, METHOD_DIRECT, METHOD_TREE, METHOD_NEAR };
static const char *const method_name[] = {"auto", "direct", "tree", "near"};
enum { PRECISION_AUTO = 3 };

static struct options {
	int method, precision, mac;
	int potential, jerk;
	double softening, theta, alpha, G;
	int softening_given, theta_given, mac_given, alpha_given, G_given;
} opt = {METHOD_AUTO, PRECISION_AUTO, NB_MAC_GEOMETRIC, 0, 0, 0, 0.5, 0.0025, 1, 0, 0, 0, 0, 0};

/* --kernel */
static const char *kernel_text;
static const struct nb_paper_kernel *kernel;
static int kernel_parameter[NB_PAPER_PARAMETERS];

static const struct nb_option options[] = {
	{'e', "softening", NB_OPT_F64, &opt.softening, 0, 1e300, "LENGTH", "the frame's, else 0",
		"Plummer softening length", 0, &opt.softening_given},
	{'m', "method", NB_OPT_CHOICE, &opt.method, 0, 0, "auto|direct|tree|near",
		"auto: tree or near if the frame has nodes or boxes, else direct", "how to sum", 0, NULL},
	{'t', "theta", NB_OPT_F64, &opt.theta, 0, 10, "ANGLE", "0.5", "opening angle of the tree; 0 sums directly", 0,
		&opt.theta_given},
	{0, "alpha", NB_OPT_F64_POS, &opt.alpha, 0, 1, "A", "0.0025", "tolerance of --mac acceleration", 0,
		&opt.alpha_given},
	{0, "G", NB_OPT_F64, &opt.G, 0, 1e300, "G", "the frame's, else 1", "gravitational constant", 0, &opt.G_given},
	{0, "jerk", NB_OPT_FLAG, &opt.jerk, 0, 0, NULL, NULL, "add field jerk, the time derivative of acc", 0, NULL},
	{0, "kernel", NB_OPT_TEXT, &kernel_text, 0, 0, "NAME[:KEY=N,...]", NULL,
		"a kernel of the papers, by name; help lists them", 0, NULL},
	{0, "mac", NB_OPT_CHOICE, &opt.mac, 0, 0, "geometric|acceleration", "geometric", "which cells the tree opens",
		0, &opt.mac_given},
	{0, "potential", NB_OPT_FLAG, &opt.potential, 0, 0, NULL, NULL, "add field pot", 0, NULL},
	{0, "precision", NB_OPT_CHOICE, &opt.precision, 0, 0, "f32|mixed|f64|auto",
		"auto: f32 for tree, the source's for --kernel, else f64", "arithmetic", 0, NULL},
};

static const struct nb_command command = {
	.about = "compute gravitational accelerations of each frame of a particle stream",
	.operands = "",
	.max_operands = 0,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_BACKEND | NB_COMMON_THREADS | NB_COMMON_HISTORY,
};

static enum method choose_method(const struct nb_frame *frame)
{
	if (kernel)
		return kernel->traits & NB_PAPER_BOXES ? METHOD_NEAR : METHOD_DIRECT;
	if (opt.method != METHOD_AUTO)
		return (enum method)opt.method;
	if (nb_frame_field(frame, NB_NODE_FIRST) || opt.theta_given || opt.mac_given)
		return METHOD_TREE;
	return nb_frame_field(frame, NB_BOX_FIRST) ? METHOD_NEAR : METHOD_DIRECT;
}

/* The key cube of the frame, after checking that no body moved since it was sorted. */
static struct nb_cube require_sorted(const struct nb_frame *frame, enum method method, size_t n, uint64_t nframe)
{
	const char *kind = method == METHOD_TREE ? "tree" : "boxes";
	const char *build = method == METHOD_TREE ? "nb-build-tree" : "nb-build-tree --kind boxes";
	struct nb_column *key = nb_frame_field(frame, NB_KEY);
	double cube[4];
	if (!key || nb_frame_field(frame, method == METHOD_TREE ? NB_NODE_FIRST : NB_BOX_FIRST) == NULL)
		nb_die(NB_EXIT_FAILED, "no %s in frame %" PRIu64 " (put 'nb-sort-zorder | %s' before)", kind, nframe,
			build);
	nb_require_key_cube(frame, nframe, cube);
	const struct nb_cube c = {{cube[0], cube[1], cube[2]}, cube[3]};
	const uint64_t *k = strcmp(key->dtype, "<u8") == 0 ? nb_column_read(key, &nb_space_host, NB_WIRE) : NULL;
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
	if (!k || !nb_keys_current(n, pos, nb_require_dim(frame, nframe), &c, k))
		nb_die(NB_EXIT_FAILED,
			"the %s of frame %" PRIu64 " is stale: bodies moved since (put 'nb-sort-zorder | %s' before)",
			kind, nframe, build);
	return c;
}

/* The wire form of a tree column, whose type field.def prescribes, in that place. */
static void *require_exact(
	const struct nb_frame *frame, enum nb_field field, const struct nb_space *space, uint64_t nframe)
{
	struct nb_column *column = nb_require_field(frame, field, nframe);
	if (strcmp(column->dtype, nb_field_info[field].dtype) != 0)
		nb_die(NB_EXIT_FAILED, "field '%s' of frame %" PRIu64 " has type '%s' (want '%s')", column->name,
			nframe, column->dtype, nb_field_info[field].dtype);
	void *data = (void *)(uintptr_t)nb_column_read(column, space, NB_WIRE);
	if (!data)
		nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, nframe);
	return data;
}

static struct nb_tree require_tree(const struct nb_frame *frame, const struct nb_space *space, uint64_t nframe)
{
	struct nb_tree tree = {
		.nnode = frame->rows[NB_NODE],
		.dim = nb_require_dim(frame, nframe),
		.leaf_size = (int)nb_require_attribute(frame, "leaf_size", 1, nframe),
		.order = nb_frame_field(frame, NB_NODE_QUAD) ? 2 : 1,
		.first = require_exact(frame, NB_NODE_FIRST, space, nframe),
		.count = require_exact(frame, NB_NODE_COUNT, space, nframe),
		.child = require_exact(frame, NB_NODE_CHILD, space, nframe),
		.nchild = require_exact(frame, NB_NODE_NCHILD, space, nframe),
		.box = require_exact(frame, NB_NODE_BOX, space, nframe),
		.com = require_exact(frame, NB_NODE_COM, space, nframe),
		.mass = require_exact(frame, NB_NODE_MASS, space, nframe),
	};
	if (tree.order == 2)
		tree.quad = require_exact(frame, NB_NODE_QUAD, space, nframe);
	return tree;
}

static int force_tree(const struct nb_backend *backend, const struct nb_frame *frame, struct nb_gravity *g,
	struct nb_gravity_count *count, uint64_t nframe)
{
	const struct nb_cube cube = require_sorted(frame, METHOD_TREE, g->n, nframe);
	const struct nb_tree on_host = require_tree(frame, &nb_space_host, nframe);
	const char *wrong = nb_tree_check(&on_host, g->n);
	if (wrong)
		nb_die(NB_EXIT_FAILED, "corrupt tree in frame %" PRIu64 ": %s", nframe, wrong);
	struct nb_tree tree = require_tree(frame, backend->space, nframe);
	tree.cube = cube;
	struct nb_tree_walk walk = {.theta = opt.theta, .mac = NB_MAC_GEOMETRIC, .alpha = opt.alpha};
	if (opt.mac == NB_MAC_GEOMETRIC)
		return backend->gravity_tree(g, &tree, &walk, count);

	/* the criterion needs an acceleration: the geometric walk's is a good first one */
	struct nb_gravity first = *g;
	first.pot = NULL;
	first.acc = backend->space->alloc(backend->space, g->n * 3 * sizeof *first.acc);
	if (!first.acc)
		return NB_ENOMEM;
	int status = backend->gravity_tree(&first, &tree, &walk, count);
	walk.mac = NB_MAC_ACCELERATION;
	walk.acc_old = first.acc;
	if (!status)
		status = backend->gravity_tree(g, &tree, &walk, count);
	backend->space->release(backend->space, first.acc);
	return status;
}

static int run_kernel(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	struct nb_paper_job job = {.gravity = g, .boxes = boxes, .theta = opt.theta};
	memcpy(job.parameter, kernel_parameter, sizeof job.parameter);
	return kernel->run(&job, count);
}

static void require_plane(const struct nb_frame *frame, uint64_t nframe)
{
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		if (pos[3 * i + 2] != 0)
			nb_die(NB_EXIT_FAILED,
				"kernel %s is 2-D: body %" PRIu64 " of frame %" PRIu64 " has z %g (want 0)",
				kernel->name, nb_require_body_id(frame, i), nframe, pos[3 * i + 2]);
}

static int force_near(const struct nb_backend *backend, const struct nb_frame *frame, const struct nb_gravity *g,
	struct nb_gravity_count *count, uint64_t nframe)
{
	const struct nb_space *space = backend->space;
	const size_t nbox = frame->rows[NB_BOX], bytes = (nbox + 1) * sizeof(uint64_t);
	require_sorted(frame, METHOD_NEAR, g->n, nframe);
	const uint64_t *first = require_exact(frame, NB_BOX_FIRST, &nb_space_host, nframe);
	/* the kernels want the end of the last box too */
	uint64_t *box_first = nb_alloc(nbox + 1, sizeof *box_first), *there = space->alloc(space, bytes);
	if (!box_first || !there)
		return NB_ENOMEM;
	if (nbox)
		memcpy(box_first, first, nbox * sizeof *first);
	box_first[nbox] = g->n;
	struct nb_boxes boxes = {nbox, box_first, require_exact(frame, NB_BOX_NEIGHBOUR, &nb_space_host, nframe),
		(int)nb_require_field(frame, NB_BOX_NEIGHBOUR, nframe)->ncomp};
	const char *wrong = nb_boxes_check(&boxes, g->n);
	if (wrong)
		nb_die(NB_EXIT_FAILED, "corrupt boxes in frame %" PRIu64 ": %s", nframe, wrong);
	int status = space->from_host(space, there, box_first, bytes);
	boxes.box_first = there;
	boxes.neighbour = require_exact(frame, NB_BOX_NEIGHBOUR, space, nframe);
	if (!status)
		status = kernel ? run_kernel(g, &boxes, count) : backend->gravity_near(g, &boxes, count);
	space->release(space, there);
	nb_free(box_first);
	return status;
}

/* Without gravity there is nothing to compute. */
static int no_force(const struct nb_frame *frame)
{
	static const enum nb_field fields[] = {NB_ACC, NB_POT, NB_JERK};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		struct nb_column *column = nb_frame_field(frame, fields[i]);
		void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		if (column && !data)
			return NB_ENOMEM;
		if (column)
			memset(data, 0, column->rows * column->rowsize);
	}
	return NB_OK;
}

static void force(const struct nb_backend *backend, struct nb_frame *frame, uint64_t nframe)
{
	const enum method method = choose_method(frame);
	const char *dtype = nb_real_dtype(frame);
	struct nb_gravity_count count = {0, 0, 0, 0};
	struct nb_gravity g = {.n = frame->rows[NB_PARTICLE]};

	nb_require_finite(frame, nframe);
	g.eps = opt.softening_given ? opt.softening : nb_require_attribute(frame, "softening", 0, nframe);
	g.G = opt.G_given ? opt.G : nb_require_attribute(frame, "G", 1, nframe);
	if (!(g.eps >= 0) || !(g.G >= 0))
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has softening %g and G %g (want >= 0)", nframe, g.eps, g.G);
	if (kernel && kernel->traits & NB_PAPER_PLANE)
		require_plane(frame, nframe);
	g.precision = opt.precision != PRECISION_AUTO ? (enum nb_precision)opt.precision
		      : kernel			      ? nb_paper_precision(kernel)
		      : method == METHOD_TREE	      ? NB_F32
						      : NB_F64;
	/* columns are added before pointers into the frame are taken */
	nb_require_field(frame, NB_POS, nframe);
	nb_require_field(frame, NB_MASS, nframe);
	g.acc = nb_require_new_f64(frame, NB_ACC, dtype, backend->space);
	if (opt.potential)
		g.pot = nb_require_new_f64(frame, NB_POT, dtype, backend->space);
	else
		nb_frame_drop(frame, "pot"); /* of another softening or G */
	if (opt.jerk) {
		g.jerk = nb_require_new_f64(frame, NB_JERK, dtype, backend->space);
		g.vel = nb_require_f64(frame, NB_VEL, backend->space, nframe);
	} else {
		nb_frame_drop(frame, "jerk");
	}
	g.pos = nb_require_f64(frame, NB_POS, backend->space, nframe);
	g.mass = nb_require_f64(frame, NB_MASS, backend->space, nframe);

	double start = nb_now();
	int status = g.G == 0		     ? no_force(frame)
		     : method == METHOD_TREE ? force_tree(backend, frame, &g, &count, nframe)
		     : method == METHOD_NEAR ? force_near(backend, frame, &g, &count, nframe)
		     : kernel		     ? run_kernel(&g, NULL, &count)
					     : backend->gravity_direct(&g, &count);
	if (status == NB_EUNSUPPORTED && opt.jerk)
		nb_die(NB_EXIT_FAILED, "method %s offers no jerk (want -m direct)", method_name[method]);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s on backend %s failed in frame %" PRIu64 ": %s",
			kernel ? kernel->name : method_name[method], backend->name, nframe,
			nb_backend_error(backend, status));
	status = backend->finish();
	if (status)
		nb_die(NB_EXIT_FAILED, "backend %s failed in frame %" PRIu64 ": %s", backend->name, nframe,
			nb_backend_error(backend, status));
	double seconds = nb_now() - start;
	if (nb_column_first_nonfinite(nb_frame_field(frame, NB_ACC)) < g.n)
		nb_die(NB_EXIT_FAILED, "an acceleration of frame %" PRIu64 " overflows (are the units extreme?)",
			nframe);
	nb_verbose("frame %" PRIu64 ": %s on %s, n %zu, %.4g s, body-body %" PRIu64 ", body-cell %" PRIu64
		   ", cell-cell %" PRIu64,
		nframe, kernel ? kernel->name : method_name[method], backend->name, g.n, seconds, count.p2p, count.m2p,
		count.m2l);
	nb_require_attribute_set_f64(frame, "softening", g.eps);
	if (opt.G_given)
		nb_require_attribute_set_f64(frame, "G", g.G);
}

static void list_kernels(void)
{
	const struct nb_paper_kernel *k;
	for (size_t i = 0; (k = nb_paper_kernel(i)) != NULL; i++) {
		printf("%-22s %-4s  %s\n%30s%s\n", k->name, k->backend, k->about, "", k->source);
		for (int p = 0; p < NB_PAPER_PARAMETERS && k->parameter[p].name; p++) {
			const struct nb_paper_parameter *parameter = &k->parameter[p];
			printf("%30s%s=", "", parameter->name);
			for (int c = 0; c < NB_PAPER_CHOICES && parameter->choice[c]; c++)
				printf("%s%d", c ? "|" : "", parameter->choice[c]);
			printf(" (default %d)\n", parameter->fallback);
		}
	}
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
}

/* Finds the kernel asked for, and refuses options that it does not have. Returns the name of the backend to open. */
static const char *choose_kernel(void)
{
	char why[NB_PAPER_WHY];
	const char *name = nb_common.backend;
	if (strcmp(name, "auto") == 0) { /* the device if the kernel runs there and there is one */
		const struct nb_backend *backend;
		char unused[NB_BACKEND_WHY];
		if (!nb_paper_exists(kernel_text, "cuda") ||
			(nb_paper_exists(kernel_text, "cpu") && nb_backend_choose("cuda", &backend, unused)))
			name = "cpu";
		else
			name = "cuda";
	}
	if (nb_paper_choose(
		    kernel_text, strncmp(name, "cuda", 4) == 0 ? "cuda" : "cpu", &kernel, kernel_parameter, why))
		nb_die(NB_EXIT_USAGE, "%s", why);
	if (opt.method != METHOD_AUTO || opt.mac_given)
		nb_die(NB_EXIT_USAGE, "options '--method' and '--mac' contradict '--kernel'");
	if (opt.theta_given && !(kernel->traits & NB_PAPER_THETA))
		nb_die(NB_EXIT_USAGE, "kernel %s has no opening angle", kernel->name);
	if (opt.potential && !(kernel->traits & NB_PAPER_POT))
		nb_die(NB_EXIT_USAGE, "kernel %s offers no potential", kernel->name);
	if (opt.jerk && !(kernel->traits & NB_PAPER_JERK))
		nb_die(NB_EXIT_USAGE, "kernel %s offers no jerk", kernel->name);
	if (opt.precision != PRECISION_AUTO && !nb_paper_offers(kernel, (enum nb_precision)opt.precision))
		nb_die(NB_EXIT_USAGE, "kernel %s does not offer that precision", kernel->name);
	return name;
}

int main(int argc, char **argv)
{
	struct nb_reader in;
	struct nb_writer out;
	struct nb_frame frame;
	const struct nb_backend *backend;
	char why[NB_BACKEND_WHY];

	nb_options_parse(&command, argc, argv);
	if (opt.alpha_given && opt.mac != NB_MAC_ACCELERATION)
		nb_die(NB_EXIT_USAGE, "option '--alpha' needs '--mac acceleration'");
	if ((opt.theta_given || opt.mac_given) && opt.method != METHOD_AUTO && opt.method != METHOD_TREE)
		nb_die(NB_EXIT_USAGE, "options '--theta' and '--mac' belong to method tree, not %s",
			method_name[opt.method]);
	if (kernel_text && strcmp(kernel_text, "help") == 0) {
		list_kernels();
		return NB_EXIT_OK;
	}
	const char *where = kernel_text ? choose_kernel() : nb_common.backend;
	int status = nb_backend_choose(where, &backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", where, why);
	nb_require_input(&in);
	nb_require_output(&out);
	nb_frame_init(&frame);
	while (nb_require_frame(&in, &frame)) {
		force(backend, &frame, in.nframe - 1);
		nb_require_history(&frame);
		nb_require_written(&out, &frame);
	}
	nb_require_closed(&out);
	nb_frame_clear(&frame);
	nb_reader_close(&in);
	return NB_EXIT_OK;
}
