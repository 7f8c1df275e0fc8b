/* Steps that are made of several kicks and drifts, each kick with the force at its own positions. */
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-step/step.h"

#include <string.h>

void nb_step_stages_check(const struct step *s)
{
	const char *other = s->opt.collide != COLLIDE_NONE ? "collide"
			    : s->opt.send_velocities	   ? "send-velocities"
							   : NULL;
	if (nb_integrator_forces(s->opt.integrator) == 1)
		return;
	if (!s->opt.command)
		nb_die(NB_EXIT_USAGE, "this integrator needs several forces in a step (give the force pipeline as "
				      "operand)");
	if (other)
		nb_die(NB_EXIT_USAGE,
			"option '--%s' needs an integrator with one force in a step (want leapfrog, euler or taylor)",
			other);
}

static void compute_force(struct step *s)
{
	nb_require_alive(s->run);
	nb_step_compute_force(s);
}

/* The force at x + ahead a(x), for the bodies at x. */
static void look_ahead(struct step *s, double ahead)
{
	const struct nb_space *space = s->backend->space;
	struct nb_frame *here = &s->here;
	if (nb_frame_share(here, s->frame))
		nb_out_of_memory(s->frame);
	for (size_t c = here->ncolumn; c-- > 0;)
		if (strcmp(here->column[c].name, "pos") != 0)
			nb_frame_drop(here, here->column[c].name);
	const double *acc = nb_step_read(s, NB_ACC, space);
	nb_step_require(
		s, s->backend->drift(s->frame->rows[NB_PARTICLE], nb_step_update(s, NB_POS, space), acc, ahead));
	nb_step_require_in_range(s, s->clock.step + 1, s->opt.dt);
	nb_wrap_positions(s->frame, s->backend);
	s->aside = here;
	compute_force(s);
	s->aside = NULL;
	nb_frame_exchange(s->frame, "pos", here, "pos");
	nb_frame_clear(here);
}

void nb_step_advance_stages(struct step *s, double dt)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	const struct moment begun = s->clock.now;
	double at = 0;
	for (size_t k = 0; k < integrator->nstage; k++) {
		const struct nb_kick_drift *stage = &integrator->stage[k];
		if (k > 0)
			compute_force(s);
		if (stage->ahead != 0)
			look_ahead(s, stage->ahead * dt * dt);
		nb_step_kick_drift(s, stage->kick * dt, stage->drift * dt);
		nb_step_drop_stale(s);
		nb_step_require_in_range(s, s->clock.step + 1, dt);
		at += stage->drift;
		s->clock.now = nb_step_later(begun, at * dt);
	}
	s->clock.now = begun;
	s->clock.pending = integrator->lag * dt;
}
