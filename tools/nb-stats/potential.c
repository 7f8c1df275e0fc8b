/* Potentials of the bodies: those of the frame, or a direct sum. */
#include "tools/filter/plan.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <stdio.h>

enum { DIRECT_LIMIT = 65536 };

/* All particles against all. */
static const double *direct_sum(const struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	const struct nb_space *space = self->bodies.backend->space;
	const size_t n = self->bodies.all.n;
	struct nb_gravity gravity = {
		.n = n,
		.pos = self->bodies.all.pos,
		.mass = self->bodies.all.mass,
		.G = nb_require_attribute(frame, "G", 1),
		.precision = NB_F64,
	};
	struct nb_gravity_count count = {0};
	nb_require_softening(frame, space, &gravity);
	if (self->eps_given) {
		gravity.eps = self->eps;
		gravity.body_eps = NULL;
	}
	char eps[32] = "of each body";
	if (!gravity.body_eps)
		snprintf(eps, sizeof eps, "%g", gravity.eps);
	nb_verbose("frame %" PRIu64 ": potential energy by a direct sum, softening %s%s", frame->number, eps,
		gravity.softening == NB_SPLINE ? ", spline" : "");
	gravity.pot = nb_stats_there(self, n, frame);
	gravity.acc = nb_stats_there(self, 3 * n, frame);
	int status = self->bodies.backend->gravity_direct(&gravity, &count);
	if (!status)
		status = self->bodies.backend->finish();
	self->bodies.nowned--;
	space->release(space, gravity.acc);
	nb_require_done(run, status, "potential energy of", frame);
	return gravity.pot;
}

void nb_stats_potentials(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_column *pot = nb_frame_field(frame, NB_POT);
	const size_t n = self->bodies.all.n;
	if (self->epot == EPOT_NONE)
		return;
	if (nb_frame_field(frame, NB_POT_FIELD)) {
		nb_require_finite(frame, nb_frame_field(frame, NB_POT_FIELD));
		self->bodies.all.pot_field = nb_require_f64(frame, NB_POT_FIELD, self->bodies.backend->space);
	}
	self->bodies.pot_has_field = 0;
	if (pot && self->epot == EPOT_AUTO && !self->eps_given) {
		nb_require_finite(frame, pot);
		nb_verbose("frame %" PRIu64 ": potential energy from field 'pot'", frame->number);
		self->bodies.all.pot = nb_require_f64(frame, NB_POT, self->bodies.backend->space);
		self->bodies.pot_has_field = self->bodies.all.pot_field != NULL;
	} else if (self->boxed) {
		if (!self->measure.warned_of_epot++)
			nb_warn("potential energy absent: no field 'pot', and a direct sum does not obey the periodic "
				"box "
				"(put 'nb-force --potential' before)");
	} else if (n <= DIRECT_LIMIT || self->epot == EPOT_DIRECT) {
		self->bodies.all.pot = direct_sum(run, self, frame);
	} else if (!self->measure.warned_of_epot++) {
		nb_warn("potential energy absent: %s and %zu bodies are too many for a direct sum (%sgive '--epot "
			"direct')",
			pot ? "'--softening' excludes field 'pot'" : "no field 'pot'", n,
			pot ? "" : "put 'nb-force --potential' before, or ");
	}
}

void nb_stats_potentials_work(const struct stats *self, struct nb_plan *plan)
{
	const int from_pot = plan->pot && self->epot == EPOT_AUTO && !self->eps_given;
	const int boxed = !self->each && nb_box_of(plan->frame) > 0;
	const int sums = self->epot == EPOT_DIRECT || (self->epot == EPOT_AUTO && plan->n <= DIRECT_LIMIT && !boxed);
	if (sums && !from_pot)
		nb_plan_add(plan, NB_WORK_DIRECT_F64, plan->n * plan->n * nb_cost_outputs(1, 0));
}
