/* A star and planets that may meet (kernels/small/trace.h): many steps at a time, without frames. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>

const struct nb_integrator nb_integrator_trace = {.few = NB_FEW_TRACE};

void nb_step_trace_begin(struct step *s)
{
	const struct systems *all = &s->systems;
	nb_free(s->trace);
	s->trace = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *s->trace));
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST], mass[NB_SMALL_MOST];
		const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
		(void)nb_step_system_gather(all, k, 3, all->x, x);
		(void)nb_step_system_gather(all, k, 3, all->v, v);
		if (nb_trace_begin(&s->trace[k].run, n, mass, all->G))
			nb_die(NB_EXIT_FAILED,
				"'--integrator trace' needs G > 0, a first body with a mass and no extreme masses, and "
				"%s %" PRIu64 " has G %g and a mass of %g",
				all->many ? "system" : "frame", all->many ? all->of.number[k] : s->frame->number,
				all->G, mass[0]);
		s->trace[k].run.extra = nb_step_extra(s, k);
		nb_trace_load(&s->trace[k].run, x, v);
		if (!nb_step_restart_take_up(s, k))
			nb_trace_load(&s->trace[k].run, x, v); /* whatever it has tried */
	}
}

/* A system that cannot be followed keeps its last state, that of the time since; where there is no other, the run ends.
 * step: in the run. */
static void lose(struct step *s, size_t k, uint64_t step, double since)
{
	const int slow = s->trace[k].status == NB_ELIMIT;
	const char *why = slow ? "-d is far longer than orbits" : "bodies collide, or leave the range of numbers";
	nb_step_progress_clear(&s->progress);
	if (!s->systems.many)
		nb_die(NB_EXIT_FAILED, "%s%s in step %" PRIu64 ", after the time %g (want %s)", why, slow ? "" : ",",
			step, since, slow ? "a shorter one, or --integrator ias15" : "an earlier end");
	nb_step_system_stop(s, k, NB_LOST, since, why);
}

uint64_t nb_step_trace(struct step *s, uint64_t most, double *dt, double *exact)
{
	/* steps of all systems together, and of each: milliseconds, for signals and progress */
	enum { MOST = 1 << 10, LEAST = 1 << 4 };
	const struct systems *all = &s->systems;
	const uint64_t some = all->of.n > MOST / LEAST ? LEAST : MOST / (all->of.n ? all->of.n : 1);
	const uint64_t begun = s->clock.step, first = begun - s->clock.first_step;
	const struct moment start = s->clock.now;
	double list[MOST];
	const uint64_t made = nb_step_plan_several(s, most < some ? most : some, dt, exact, list);
#pragma omp parallel for schedule(dynamic) if (all->of.n > 1)
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
		struct trace_of *of = &s->trace[k];
		struct moment now = start;
		for (of->made = 0; of->made < made && !all->stopped[k]; of->made++) {
			if (nb_step_is_tested(&s->stop, first + of->made)) {
				nb_trace_store(&of->run, x, v);
				if (nb_step_stops(s, k, now.time, x, v))
					break;
			}
			if ((of->status = nb_trace_step(&of->run, list[of->made])))
				break;
			now = nb_step_later(now, list[of->made]);
		}
		of->ended = now.time;
		if (all->stopped[k])
			continue;
		nb_trace_store(&of->run, x, v);
		nb_step_system_scatter(all, k, x, all->x);
		nb_step_system_scatter(all, k, v, all->v);
	}
	for (size_t k = 0; k < all->of.n; k++)
		if (s->trace[k].made < made && !all->stopped[k])
			lose(s, k, begun + s->trace[k].made + 1, s->trace[k].ended);
	nb_step_few_show(s, *dt);
	return made;
}

void nb_step_trace_report(const struct step *s)
{
	uint64_t met = 0, passed = 0;
	if (s->opt.integrator->few != NB_FEW_TRACE)
		return;
	for (size_t k = 0; k < s->systems.of.n; k++) {
		met += s->trace[k].run.met;
		passed += s->trace[k].run.passed;
	}
	nb_verbose("steps in which planets met: %" PRIu64 "; in which one was near the star: %" PRIu64, met, passed);
}
