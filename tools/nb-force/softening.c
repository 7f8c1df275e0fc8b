/* G of nb-force, and how it softens: one length or that of each body, Plummer's kernel or a spline; and what the frame
 * says of it.
 */
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <string.h>

void nb_force_spread_softening(struct nb_run *run, const struct force *opt, struct nb_frame *frame)
{
	const struct nb_column *column = nb_frame_field(frame, NB_EPS);
	const size_t n = frame->rows[NB_PARTICLE];
	if (!column || !nb_given(run, &opt->softening))
		return;
	double *eps = nb_new_f64(frame, NB_EPS, strcmp(column->dtype, "<f4") == 0 ? "<f4" : "<f8", &nb_space_host);
	for (size_t i = 0; i < n; i++)
		eps[i] = opt->softening;
}

void nb_force_soften(struct nb_run *run, const struct force *opt, struct nb_frame *frame, struct nb_gravity *g,
	const char *who, int only_common)
{
	nb_require_softening(frame, run->backend->space, g);
	if (nb_given(run, &opt->softening)) {
		g->eps = opt->softening;
		g->body_eps = NULL;
	}
	if (nb_given(run, &opt->kernel_of_softening))
		g->softening = (enum nb_softening)opt->kernel_of_softening;
	if (only_common && g->body_eps)
		nb_die(NB_EXIT_FAILED,
			"%s has one softening for all bodies, and frame %" PRIu64
			" has column 'eps' (want -e, or -m direct, tree or near)",
			who, frame->number);
	if (only_common && g->softening == NB_SPLINE)
		nb_die(NB_EXIT_FAILED,
			"%s has no spline softening, as wanted for frame %" PRIu64
			" (want --softening-kernel plummer, or -m direct, tree or near)",
			who, frame->number);
}

void nb_force_note_law(struct nb_run *run, const struct force *opt, struct nb_frame *frame, const struct nb_gravity *g)
{
	const char *had = nb_frame_attribute(frame, "softening");
	int other = g->softening != nb_require_softening_kernel(frame) || g->G != nb_require_attribute(frame, "G", 1);
	if (had)
		other |= g->body_eps || g->eps != nb_require_attribute(frame, "softening", 0);
	other |= nb_frame_attribute(frame, "field") || nb_frame_attribute(frame, "extra");
	nb_frame_drop_attribute(frame, "field");
	nb_frame_drop_attribute(frame, "extra");
	nb_frame_drop_attribute(frame, "field_varies");
	if (other)
		nb_drop_run_attributes(frame);
	if (g->body_eps)
		nb_frame_drop_attribute(frame, "softening");
	else
		nb_set_attribute_f64(frame, "softening", g->eps);
	if (g->softening == NB_PLUMMER)
		nb_frame_drop_attribute(frame, "softening_kernel");
	else
		nb_set_attribute(frame, "softening_kernel", nb_softening_name[g->softening]);
	if (nb_given(run, &opt->G))
		nb_set_attribute_f64(frame, "G", g->G);
}

double nb_force_constant(const struct nb_run *run, const struct force *opt, const struct nb_frame *frame)
{
	const double G = nb_given(run, &opt->G) ? opt->G : nb_require_attribute(frame, "G", 1);
	if (!(G >= 0))
		nb_die(NB_EXIT_FAILED, "attribute G=%g of frame %" PRIu64 " is negative", G, frame->number);
	return G;
}
