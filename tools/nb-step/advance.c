/* The steps of a run: one by one, or several of a few bodies at a time. */
#include "tools/nb-step/step.h"

#include <math.h>

static void advance_points(struct step *s, double dt)
{
	if (s->opt.integrator->corrections)
		nb_step_hermite_keep(s);
	const struct nb_space *space = s->backend->space;
	const struct nb_bodies b = {
		.n = s->frame->rows[NB_PARTICLE],
		.pos = nb_step_update(s, NB_POS, space),
		.vel = nb_step_update(s, NB_VEL, space),
		.acc = nb_step_read(s, NB_ACC, space),
		.jerk = s->opt.integrator->needs_jerk ? nb_step_read(s, NB_JERK, space) : NULL,
	};
	nb_step_require(s, s->opt.integrator->advance(s->backend, &b, dt));
	s->clock.pending = s->opt.integrator->lag * dt;
	nb_step_drop_stale(s);
}

void nb_step_advance(struct step *s, double dt)
{
	if (s->opt.cosmology)
		nb_step_begin_comoving(s);
	if (s->opt.levels > 1 && s->opt.whole)
		nb_step_advance_individual(s, dt);
	else if (s->opt.levels > 1)
		nb_step_advance_blocks(s, s->opt.cosmology ? 1 : dt);
	else if (s->opt.cosmology)
		nb_step_advance_comoving(s);
	else if (s->opt.collide == COLLIDE_NONE && s->opt.integrator->nstage)
		nb_step_advance_stages(s, dt);
	else if (s->opt.collide == COLLIDE_NONE)
		advance_points(s, dt);
	else
		nb_step_advance_solid(s, dt);
	nb_step_blocks_warn(s);
	s->clock.now = nb_step_later(s->clock.now, dt);
	s->clock.step++;
	nb_step_require_in_range(s, s->clock.step, dt);
}

/* How many steps may be made before somebody looks at the state: at least 1. */
static uint64_t steps_unseen(const struct step *s, uint64_t k)
{
	/* milliseconds, for signals and progress; which systems there are does not change it */
	const uint64_t limit = s->systems.many ? NB_STEPS_OF_SYSTEMS : 1 << 16;
	uint64_t most = s->opt.steps - k < limit ? s->opt.steps - k : limit;
	const uint64_t look = nb_step_energy_until_look(s);
	if (!s->opt.every_time_given && s->opt.every && s->opt.every - k % s->opt.every < most)
		most = s->opt.every - k % s->opt.every;
	return look < most ? look : most;
}

void nb_step_look(struct step *s)
{
	nb_step_finish_kick(s);
	nb_step_whfast_look(s);
}

/* Whether the kick that ends the next step is left to be made with that which begins the one after it, in one pass,
 * unless somebody looks in between: without a frame that is wanted, no energy is. */
static int joins_kicks(const struct step *s, uint64_t k)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	return integrator->nstage && integrator->stage->ahead == 0 && !s->opt.cosmology && s->opt.levels == 1 &&
	       s->opt.collide == COLLIDE_NONE && s->small_begun && !s->small.n && steps_unseen(s, k) > 1;
}

static void make_step(struct step *s, uint64_t k, double dt, double exact)
{
	const int joins = joins_kicks(s, k);
	nb_step_advance(s, dt);
	if (isfinite(exact))
		s->clock.now = (struct moment){.time = exact};
	nb_step_compute_force(s);
	if (joins)
		return;
	nb_step_finish_kick(s);
	if (s->opt.cosmology)
		nb_step_end_comoving(s);
	else if (s->opt.levels > 1 && s->opt.whole)
		nb_step_end_individual(s);
	else if (s->opt.integrator->corrections)
		nb_step_hermite_correct(s, dt);
}

uint64_t nb_step_make_steps(struct step *s, uint64_t k, double *dt, double *exact)
{
	if (s->opt.integrator->few)
		return nb_step_few(s, steps_unseen(s, k), dt, exact);
	const uint64_t made = nb_step_small(s, steps_unseen(s, k), dt, exact);
	if (!made) {
		make_step(s, k, *dt, *exact);
		if (!s->small_begun) {
			s->small_begun = 1;
			nb_step_small_begin(s);
		}
		return 1;
	}
	nb_step_require_in_range(s, s->clock.step, *dt);
	nb_step_compute_force(s);
	nb_step_finish_kick(s);
	nb_step_stop_hold(s);
	return made;
}
