/* Steps of a few bodies.  What a frame costs on its way through the force pipeline is a hundred times what a force of
 * three bodies does.  Where the pipeline is one nb-force of this process that does nothing but a direct sum, the same
 * arithmetic (kernels/small/small.h) is done here, up to the next state that somebody looks at.  The force in that one
 * is the pipeline's, so that a frame has all that a frame has elsewhere, with the same bytes. */
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <math.h>

/* NULL, or why not. */
static const char *why_not_steps(const struct step *s)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	if (integrator->nstage != 1 || integrator->stage->ahead != 0 || integrator->needs_jerk ||
		integrator->corrections)
		return "the integrator";
	if (s->opt.cosmology)
		return "--cosmology";
	if (s->opt.collide != COLLIDE_NONE)
		return "--collide";
	if (s->opt.levels_given || s->opt.eta_given)
		return "--levels or --eta";
	if (s->opt.send_velocities)
		return "--send-velocities";
	if (s->backend->space != &nb_space_host || nb_ranks_size() > 1)
		return "the bodies are not in the memory of this process";
	return nb_frame_field(s->frame, NB_MASS) ? NULL : "no masses";
}

static const char *why_not_force(const struct step *s)
{
	if (!nb_coprocess_is_folded(s->force.process))
		return "the force pipeline is not of this process";
	const struct nb_run *run = nb_ring_first(&s->force.process->ring);
	if (!run->tool->small || run->next)
		return "the force pipeline is not nb-force alone";
	return run->tool->small(run, run->self, s->frame);
}

void nb_step_small_begin(struct step *s)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double G = nb_require_attribute(s->frame, "G", 1), eps = nb_require_attribute(s->frame, "softening", 0);
	s->small.n = 0;
	if (n < 2 || n > NB_SMALL_MOST || s->opt.integrator->few)
		return;
	const char *why = why_not_steps(s);
	why = why ? why : why_not_force(s);
	if (!why && nb_small_begin(&s->small, n, nb_step_read(s, NB_MASS, &nb_space_host), G, eps)) {
		s->small.n = 0;
		why = "masses or the softening are extreme";
	}
	if (why)
		nb_verbose("not folded: steps of a few bodies: %s", why);
	else
		nb_verbose("folded: steps of a few bodies");
}

/* The bodies of the frame, with the force that it has. */
static void load(struct step *s)
{
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	nb_small_load(&s->small, nb_step_read(s, NB_POS, &nb_space_host), nb_step_read(s, NB_VEL, &nb_space_host));
	for (size_t i = 0; i < s->small.n; i++)
		for (size_t d = 0; d < 3; d++)
			s->small.acc[d][i] = acc[3 * i + d];
}

static void store(struct step *s)
{
	double *pos = nb_step_update(s, NB_POS, &nb_space_host), *vel = nb_step_update(s, NB_VEL, &nb_space_host);
	nb_small_store(&s->small, pos, vel);
	nb_step_drop_stale(s);
}

uint64_t nb_step_small(struct step *s, uint64_t most, double *dt, double *exact)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	const double calm = s->small.n ? nb_step_energy_calm(s) : 0;
	uint64_t made = 0;
	if (!s->small.n || most < 2)
		return 0;
	load(s);
	for (double next, ends;; *dt = next, *exact = ends) {
		nb_small_kick_drift(&s->small, integrator->stage->kick * *dt, integrator->stage->drift * *dt);
		s->clock.now = isfinite(*exact) ? (struct moment){.time = *exact} : nb_step_later(s->clock.now, *dt);
		s->clock.step++;
		made++;
		/* a state that is wanted, one that is the last, and one of which there is something to say */
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends) || nb_small_force(&s->small) ||
			nb_small_largest_acc2(&s->small) > calm * calm)
			break;
		nb_small_kick(&s->small, integrator->lag * *dt);
	}
	s->clock.pending = integrator->lag * *dt;
	store(s);
	return made;
}
