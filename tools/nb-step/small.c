/* Steps of a few bodies.  What a frame costs on its way through the force pipeline is a hundred times what a force of
 * three bodies does.  Where the pipeline is one nb-force of this process that does nothing but a direct sum, the same
 * arithmetic (kernels/small/small.h) is done here, up to the next state that somebody looks at.  The force in that one
 * is the pipeline's, so that a frame has all that a frame has elsewhere, with the same bytes. */
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <math.h>
#include <string.h>

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
	const size_t n = s->systems.many ? s->systems.of.largest : s->frame->rows[NB_PARTICLE];
	s->small.n = 0;
	if (s->opt.integrator->few || (((n < 2 && !s->systems.many) || n > NB_SMALL_MOST) && !s->stop.text))
		return;
	const char *why = n <= NB_SMALL_MOST	? why_not_steps(s)
			  : s->systems.of.n > 1 ? "a system of more than 16 bodies"
						: "more than 16 bodies";
	if (!why && !s->stop.text)
		why = why_not_force(s);
	if (!why && s->systems.many) {
		nb_step_systems_begin(s);
		if (s->stop.text) /* whether its programs run in this process or not */
			nb_step_few_require(s);
		s->small.n = s->systems.of.n;
	} else if (!why &&
		   nb_small_begin(&s->small, n, nb_step_read(s, NB_MASS, &nb_space_host),
			   nb_require_attribute(s->frame, "G", 1), nb_require_attribute(s->frame, "softening", 0))) {
		s->small.n = 0;
		why = "masses or the softening are extreme";
	}
	if (why && s->stop.text)
		nb_die(NB_EXIT_FAILED,
			"option '--stop-when' needs steps that need no frames, as of the leapfrog of up to 16 "
			"bodies with nb-force alone (here another case: %s)",
			why);
	nb_step_stop_hold(s); /* the first frame has what the others have */
	if (why)
		nb_verbose("not folded: steps of a few bodies: %s", why);
	else
		nb_verbose("folded: steps of a few bodies");
}

/* The bodies of a system, with the force on them. */
static void load(struct nb_small *system, const double *pos, const double *vel, const double *acc)
{
	nb_small_load(system, pos, vel);
	for (size_t i = 0; i < system->n; i++)
		for (size_t d = 0; d < 3; d++)
			system->acc[d][i] = acc[3 * i + d];
}

static void store(struct step *s)
{
	double *pos = nb_step_update(s, NB_POS, &nb_space_host), *vel = nb_step_update(s, NB_VEL, &nb_space_host);
	nb_small_store(&s->small, pos, vel);
	nb_step_drop_stale(s);
}

/* ---- many systems ------------------------------------------------------------------------------- */

/* As nb-force computes it. */
static int compute_force(struct nb_small *system, int is_plain, const double *mass, double G, double eps)
{
	double pos[3 * NB_SMALL_MOST], vel[3 * NB_SMALL_MOST], acc[3 * NB_SMALL_MOST];
	const struct nb_gravity g = {
		.n = system->n, .pos = pos, .mass = mass, .acc = acc, .G = G, .eps = eps, .precision = NB_F64};
	if (is_plain && nb_small_force(system) == NB_OK)
		return NB_OK;
	nb_small_store(system, pos, vel);
	const int status = G != 0 ? nb_gravity_direct_cpu(&g, NULL) : NB_OK;
	for (size_t i = 0; i < system->n; i++)
		for (size_t d = 0; d < 3; d++)
			system->acc[d][i] = G != 0 ? acc[3 * i + d] : 0;
	return status;
}

/* Steps of system k, the last one short of the force at its end. */
static int move_system(struct step *s, size_t k, const struct moment *begun, uint64_t first, const double *acc_of_all,
	uint64_t steps, const double *dt)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	const struct systems *all = &s->systems;
	double mass[NB_SMALL_MOST], x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST], acc[3 * NB_SMALL_MOST];
	const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
	struct nb_small system;
	const int is_plain = nb_small_begin(&system, n, mass, all->G, all->eps) == NB_OK;
	struct moment now = *begun;
	int status = NB_OK;
	(void)nb_step_system_gather(all, k, 3, all->x, x);
	(void)nb_step_system_gather(all, k, 3, all->v, v);
	(void)nb_step_system_gather(all, k, 3, acc_of_all, acc);
	system.n = n;
	load(&system, x, v, acc);
	for (uint64_t j = 0; j < steps && !status; j++) {
		if (j > 0) {
			status = compute_force(&system, is_plain, mass, all->G, all->eps);
			nb_small_kick(&system, integrator->lag * dt[j - 1]);
			now = nb_step_later(now, dt[j - 1]);
		}
		if (nb_step_is_tested(&s->stop, first + j)) {
			nb_small_store(&system, x, v);
			if (nb_step_stops(s, k, now.time, x, v))
				return status;
		}
		nb_small_kick_drift(&system, 0, integrator->stage->kick * dt[j], integrator->stage->drift * dt[j]);
	}
	nb_small_store(&system, x, v);
	nb_step_system_scatter(all, k, x, all->x);
	nb_step_system_scatter(all, k, v, all->v);
	return status;
}

/* begun, first: time and number of steps of the run before them. */
static void move_systems(struct step *s, const struct moment *begun, uint64_t first, uint64_t steps, const double *dt)
{
	const struct systems *all = &s->systems;
	const size_t bytes = 3 * s->frame->rows[NB_PARTICLE] * sizeof *all->x;
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	double *pos = nb_step_update(s, NB_POS, &nb_space_host), *vel = nb_step_update(s, NB_VEL, &nb_space_host);
	int status = NB_OK;
	memcpy(all->x, pos, bytes);
	memcpy(all->v, vel, bytes);
#pragma omp parallel for schedule(dynamic, 4) reduction(max : status) if (all->of.n > 1)
	for (size_t k = 0; k < all->of.n; k++) {
		const int own = all->stopped[k] ? NB_OK : move_system(s, k, begun, first, acc, steps, dt);
		status = own > status ? own : status;
	}
	nb_step_require(s, status);
	memcpy(pos, all->x, bytes);
	memcpy(vel, all->v, bytes);
	nb_step_drop_stale(s);
}

/* ---- all ---------------------------------------------------------------------------------------- */

uint64_t nb_step_small(struct step *s, uint64_t most, double *dt, double *exact)
{
	const struct nb_integrator *integrator = s->opt.integrator;
	const double calm = s->small.n && !s->systems.many ? nb_step_energy_calm(s) : 0;
	uint64_t made = 0;
	if (!s->small.n || (most < 2 && !s->stop.text))
		return 0;
	if (s->systems.many) {
		double list[NB_STEPS_OF_SYSTEMS];
		const struct moment begun = s->clock.now;
		const uint64_t first = s->clock.step - s->clock.first_step;
		made = nb_step_plan_several(s, most, dt, exact, list);
		move_systems(s, &begun, first, made, list);
		s->clock.pending = integrator->lag * *dt;
		return made;
	}
	load(&s->small, nb_step_read(s, NB_POS, &nb_space_host), nb_step_read(s, NB_VEL, &nb_space_host),
		nb_step_read(s, NB_ACC, &nb_space_host));
	for (double next, ends, lag = 0;; lag = integrator->lag * *dt, *dt = next, *exact = ends) {
		nb_small_kick_drift(&s->small, lag, integrator->stage->kick * *dt, integrator->stage->drift * *dt);
		nb_step_pass(s, *dt, *exact);
		made++;
		/* a state that is wanted, one that is the last, and one of which there is something to say */
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends) || nb_small_force(&s->small) ||
			nb_small_largest_acc2(&s->small) > calm * calm)
			break;
	}
	s->clock.pending = integrator->lag * *dt;
	store(s);
	return made;
}
