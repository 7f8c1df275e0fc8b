/* nb-force of a frame in a periodic box: direct sums, by Ewald's sum on the CPU; what else there is refuses the frame.
 */
#include "kernels/ewald/ewald.h"
#include "tools/filter/require.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of what could be asked for instead, the first that a box does not have. */
static const char *what_else(const struct force *opt, enum method method)
{
	if (opt->kernel)
		return "option '--kernel'";
	if (method != METHOD_DIRECT)
		return method == METHOD_TREE ? "method tree" : method == METHOD_NEAR ? "method near" : "method fmm";
	if (opt->precision == NB_F32 || opt->precision == NB_MIXED)
		return opt->precision == NB_F32 ? "precision f32" : "precision mixed";
	return opt->jerk ? "option '--jerk'" : NULL;
}

double nb_force_box(struct nb_run *run, const struct force *opt, enum method method, const struct nb_frame *frame)
{
	const double box = nb_box_of(frame);
	const char *what = what_else(opt, method);
	if (box == 0)
		return 0;
	if (what)
		nb_refuse_box(frame, what, "'-m direct' in f64");
	if (nb_require_dim(frame) == 2)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " is two-dimensional, and its periodic box is not",
			frame->number);
	nb_require_inside(frame);
	if (run->backend->space->device >= 0 && strcmp(run->common.backend, "auto") != 0)
		nb_refuse_box(frame, "a device", "'-b cpu'");
	if (run->backend->space->device >= 0)
		nb_choose_backend(run, "cpu");
	return box;
}

void nb_force_check_box_softening(const struct nb_frame *frame, const struct nb_gravity *g, double box)
{
	const double longest = nb_ewald_longest_eps(box, g->softening);
	double eps = g->eps;
	for (size_t i = 0; g->body_eps && i < g->n; i++)
		eps = i > 0 ? fmax(eps, g->body_eps[i]) : g->body_eps[i];
	if (box > 0 && eps > longest)
		nb_die(NB_EXIT_FAILED,
			"softening %g of frame %" PRIu64 " reaches further than half of its periodic box (limit %g)",
			eps, frame->number, longest);
}

/* Of bodies that are in one place as of others: errors are relative to what forces are, rms. */
int nb_force_box_points(const struct nb_gravity *g, double box, const struct nb_gravity_points *points)
{
	struct nb_gravity_points with = *points;
	with.strength = NULL;
	/* an audit of the direct sum has the sum split in another place */
	const int status = nb_ewald_cpu(g, box, points->strength ? NB_EWALD_IMAGES : NB_EWALD_NEAREST, &with, NULL);
	double sum = 0;
	for (size_t k = 0; !status && points->strength && k < 3 * points->n; k++)
		sum += points->acc[k] * points->acc[k];
	for (size_t k = 0; !status && points->strength && k < points->n; k++)
		points->strength[k] = sqrt(sum / (double)points->n);
	return status;
}
