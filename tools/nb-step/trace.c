/* A star and planets that may meet (kernels/small/trace.h): many steps at a time, without frames. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

const struct nb_integrator nb_integrator_trace = {.few = NB_FEW_TRACE};

void nb_step_trace_begin(struct step *s)
{
	const double G = nb_require_attribute(s->frame, "G", 1), *mass = nb_step_read(s, NB_MASS, &nb_space_host);
	if (nb_trace_begin(&s->trace, s->frame->rows[NB_PARTICLE], mass, G))
		nb_die(NB_EXIT_FAILED,
			"'--integrator trace' needs G > 0, a first body with a mass and no extreme masses, and frame "
			"%" PRIu64 " has G %g and a mass of %g",
			s->frame->number, G, mass[0]);
	nb_trace_load(&s->trace, nb_step_read(s, NB_POS, &nb_space_host), nb_step_read(s, NB_VEL, &nb_space_host));
}

uint64_t nb_step_trace(struct step *s, uint64_t most, double *dt, double *exact)
{
	enum { MOST = 1 << 12 }; /* milliseconds if all are steps of encounters, for signals and progress */
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	uint64_t made = 0;
	for (double next, ends;; *dt = next, *exact = ends) {
		s->clock.step++;
		if (nb_trace_step(&s->trace, *dt)) {
			nb_step_progress_clear(&s->progress);
			nb_die(NB_EXIT_FAILED,
				"bodies collide, or leave the range of numbers, in step %" PRIu64
				", after the time %g (want an earlier end)",
				s->clock.step, s->clock.now.time);
		}
		s->clock.now = isfinite(*exact) ? (struct moment){.time = *exact} : nb_step_later(s->clock.now, *dt);
		made++;
		if (made == most || made == MOST || isfinite(*exact) || !nb_step_plan(s, &next, &ends))
			break;
	}
	nb_trace_store(&s->trace, x, v);
	nb_step_few_show(s, x, v, *dt);
	return made;
}

void nb_step_trace_report(const struct step *s)
{
	if (s->opt.integrator->few == NB_FEW_TRACE)
		nb_verbose("steps in which planets met: %" PRIu64 "; in which one was near the star: %" PRIu64,
			s->trace.met, s->trace.passed);
}
