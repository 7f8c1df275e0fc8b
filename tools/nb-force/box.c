/* nb-force of a frame in a periodic box: a mesh with pairs, and direct sums, by Ewald's sum, on the CPU; what else
 * there is refuses the frame. */
#include "kernels/ewald/ewald.h"
#include "kernels/mesh/mesh.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bodies from which the mesh is the default; and the most for which an accuracy beyond the mesh's is given by sums. */
static const double MANY = 1024, MOST_SUMMED = 1e5;

/* What splits and orders give: the 99th percentile of |da| / |a| of uniform bodies, a displaced lattice and clusters.
 */
static const struct {
	double error, split;
	int order;
} known[] = {{1e-3, 1.3, 4}, {1e-4, 1.3, 6}, {5e-5, 1.5, 6}, {1e-5, 2, 6}};
enum { KNOWN = sizeof known / sizeof *known };

void nb_force_box_check(const struct force *opt)
{
	const char *which = opt->mesh ? "mesh" : "split";
	if (!opt->mesh && opt->split == 0)
		return;
	if (opt->kernel_text || opt->theta_given || opt->mac_given ||
		(opt->method != METHOD_AUTO && opt->method != METHOD_TREEPM))
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--method treepm'", which);
	if (opt->mesh && nb_mesh_size(opt->mesh) != opt->mesh)
		nb_die(NB_EXIT_USAGE, "option '--mesh' is %d, which has a prime factor above 7 (want %d)", opt->mesh,
			nb_mesh_size(opt->mesh));
	if (opt->split > 0 && opt->accuracy > 0)
		nb_die(NB_EXIT_USAGE, "option '--split' contradicts '--accuracy', which sets it");
}

enum method nb_force_box_method(const struct force *opt, enum method method, double n)
{
	const int by_accuracy = method == METHOD_TREE && opt->accuracy > 0;
	if (opt->method != METHOD_AUTO || opt->kernel_text || opt->theta_given || opt->mac_given ||
		!(method == METHOD_DIRECT || by_accuracy))
		return method;
	if (opt->mesh || opt->split > 0)
		return METHOD_TREEPM;
	if (by_accuracy && opt->accuracy < known[KNOWN - 1].error && n <= MOST_SUMMED)
		return METHOD_DIRECT;
	return n < MANY ? METHOD_DIRECT : METHOD_TREEPM;
}

/* Of what could be asked for instead, the first that a box does not have. */
static const char *what_else(const struct force *opt, enum method method)
{
	if (opt->kernel)
		return "option '--kernel'";
	if (method != METHOD_DIRECT && method != METHOD_TREEPM)
		return method == METHOD_TREE ? "method tree" : method == METHOD_NEAR ? "method near" : "method fmm";
	if (opt->precision == NB_F32 || (opt->precision == NB_MIXED && method != METHOD_TREEPM))
		return opt->precision == NB_F32 ? "precision f32" : "precision mixed";
	return opt->jerk ? "option '--jerk'" : NULL;
}

/* The mesh that the options and the number of bodies say. */
static struct nb_treepm choose(const struct force *opt, const struct nb_frame *frame, double box)
{
	int order = 6, k = 0;
	double split = opt->split;
	if (opt->accuracy > 0) {
		while (k < KNOWN - 1 && opt->accuracy < known[k].error)
			k++;
		split = known[k].split;
		order = known[k].order;
	}
	struct nb_treepm how = nb_treepm_choose(frame->rows[NB_PARTICLE], split);
	how.order = order;
	how.mesh = opt->mesh ? opt->mesh : how.mesh;
	if (!(nb_treepm_reach(&how, box) < box / 2))
		nb_die(NB_EXIT_FAILED,
			"method treepm sums pairs up to %g in frame %" PRIu64
			", which is not below half of its periodic box (want --mesh %d, or -m direct)",
			nb_treepm_reach(&how, box), frame->number, nb_mesh_size((int)(2 * how.cut * how.split) + 1));
	return how;
}

double nb_force_box(struct nb_run *run, struct force *opt, enum method *method, struct nb_frame *frame)
{
	const double box = nb_box_of(frame);
	if (box == 0 && (*method == METHOD_TREEPM || opt->mesh || opt->split > 0))
		nb_die(NB_EXIT_FAILED,
			"method treepm wants a periodic box, and frame %" PRIu64 " has no attribute 'box'",
			frame->number);
	if (box == 0)
		return 0;
	*method = nb_force_box_method(opt, *method, (double)frame->rows[NB_PARTICLE]);
	const char *what = what_else(opt, *method);
	if (what)
		nb_refuse_box(frame, what, "direct in f64, or '-m treepm' in f64 or mixed");
	if (nb_require_dim(frame) == 2)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is two-dimensional, and its periodic box is not",
			frame->number);
	const int sums_on_device = *method == METHOD_DIRECT && run->backend->space->device >= 0;
	if (sums_on_device && strcmp(run->common.backend, "auto") != 0)
		nb_refuse_box(frame, "method direct on a device", "'-m treepm' or '-b cpu'");
	if (sums_on_device)
		nb_choose_backend(run, "cpu");
	nb_require_inside(frame, run->backend);
	if (*method == METHOD_TREEPM)
		opt->treepm = choose(opt, frame, box);
	return box;
}

void nb_force_check_box_softening(
	const struct force *opt, enum method method, struct nb_frame *frame, const struct nb_gravity *g)
{
	const int mesh = method == METHOD_TREEPM;
	const double most = nb_ewald_longest_eps(opt->box, g->softening),
		     longest = mesh ? nb_treepm_longest_eps(&opt->treepm, opt->box, g->softening) : most;
	const double *of = g->body_eps ? nb_require_f64(frame, NB_EPS, &nb_space_host) : NULL;
	double eps = g->eps;
	for (size_t i = 0; of && i < g->n; i++)
		eps = i > 0 ? fmax(eps, of[i]) : of[i];
	if (opt->box == 0 || eps <= longest)
		return;
	if (!mesh || eps > most) /* no mesh would do */
		nb_die(NB_EXIT_FAILED,
			"softening %g of frame %" PRIu64 " reaches further than half of its periodic box (limit %g)",
			eps, frame->number, most);
	nb_die(NB_EXIT_FAILED,
		"softening %g of frame %" PRIu64
		" reaches further than the pairs of method treepm (limit %g; want --mesh %.0f or less, or -m direct)",
		eps, frame->number, longest, floor(opt->treepm.mesh * (longest / eps)));
}

int nb_force_box_forces(const struct nb_backend *backend, struct force *opt, enum method method,
	const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_gravity_count *count)
{
	return method == METHOD_TREEPM ? backend->gravity_treepm(g, opt->box, &opt->treepm, points, &opt->meshes, count)
				       : nb_ewald_cpu(g, opt->box, NB_EWALD_NEAREST, points, count);
}

/* Of bodies that are in one place as of others: errors are relative to what forces are, rms.  The sum is split in
 * another place than the direct sum, which so is audited, too. */
int nb_force_box_exact(const struct nb_gravity *g, double box, const struct nb_gravity_points *points)
{
	struct nb_gravity_points with = *points;
	with.strength = NULL;
	const int status = nb_ewald_cpu(g, box, NB_EWALD_IMAGES, &with, NULL);
	double sum = 0;
	for (size_t k = 0; !status && k < 3 * points->n; k++)
		sum += points->acc[k] * points->acc[k];
	for (size_t k = 0; !status && k < points->n; k++)
		points->strength[k] = sqrt(sum / (double)points->n);
	return status;
}
