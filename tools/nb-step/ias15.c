/* Steps of order 15 of a few bodies (kernels/small/ias15.h), which find their own length.  States at given times are
 * those of the polynomials within the step that passes them, so that nobody who looks changes a step. */
#include "common/mem.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

const struct nb_integrator nb_integrator_ias15 = {.few = NB_FEW_IAS15};

/* --eta, if it is not given: of the order of the rounding of a double. */
static const double ETA = 0.175;

static double way_of(const struct step *s)
{
	return s->opt.dt < 0 ? -1 : 1;
}

/* A system that cannot be followed ends alone, at the end of its last step; where there is no other, the run does. */
static void lose(struct step *s, size_t k)
{
	struct fifteen_of *of = &s->fifteen.of[k];
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	nb_step_progress_clear(&s->progress);
	if (!s->systems.many)
		nb_die(NB_EXIT_FAILED, "%s, in step %" PRIu64 ", at the time %g (want a softening, or an earlier end)",
			of->lost, s->clock.step + of->made + 1, of->ended.time);
	nb_step_system_stop(s, k, NB_LOST, of->ended.time, of->lost);
	if (of->run.last == 0)
		return; /* it has not moved */
	nb_ias15_at(&of->run, of->run.last, x, v);
	nb_step_system_scatter(&s->systems, k, x, s->systems.x);
	nb_step_system_scatter(&s->systems, k, v, s->systems.v);
}

void nb_step_ias15_begin(struct step *s)
{
	const struct systems *all = &s->systems;
	const double longest = s->opt.dt_given ? fabs(s->opt.dt) : INFINITY, eta = s->opt.eta_given ? s->opt.eta : ETA;
	nb_free_all(s->fifteen.of, s->fifteen.variation);
	s->fifteen.variation = NULL;
	if (s->opt.megno && s->extra.n > 0)
		nb_die(NB_EXIT_FAILED, "'--megno' knows the variations of gravity alone (want no nb-extra)");
	if (s->opt.megno)
		s->fifteen.variation = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *s->fifteen.variation));
	struct fifteen_of *list = s->fifteen.of = nb_require_memory(
		s->frame, nb_alloc(all->of.n, sizeof *s->fifteen.of));
	s->fifteen.within = 0;
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST], mass[NB_SMALL_MOST];
		struct fifteen_of *of = &list[k];
		const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
		(void)nb_step_system_gather(all, k, 3, all->x, x);
		(void)nb_step_system_gather(all, k, 3, all->v, v);
		of->ended = of->begun = s->clock.now;
		of->made = of->all = 0;
		of->lost = NULL;
		if (nb_ias15_begin(&of->run, n, mass, all->G, all->eps))
			nb_die(NB_EXIT_FAILED,
				"'--integrator ias15' takes no masses or softening as extreme as those of %s %" PRIu64,
				all->many ? "system" : "frame", all->many ? all->of.number[k] : s->frame->number);
		of->run.extra = s->extra.n > 0 ? &s->extra : NULL;
		if (nb_ias15_load(&of->run, x, v, eta, longest, (int)way_of(s)))
			of->lost = "bodies are at the same place, or too far apart";
		if (of->lost && !all->stopped[k])
			lose(s, k);
		if (s->opt.megno)
			nb_variation_begin(&s->fifteen.variation[k], &of->run);
	}
	nb_step_megno_mark(s);
}

static double time_after(const struct moment *from, double time)
{
	return (time - from->time) - from->rest;
}

/* NULL, or why there is none. */
static const char *make_step(struct fifteen_of *of)
{
	if (nb_ias15_step(&of->run))
		return "bodies collide, or leave the range of numbers";
	of->begun = of->ended;
	of->ended = nb_step_later(of->begun, of->run.last);
	if (!isfinite(of->ended.time))
		return "steps grow beyond the range of numbers, as nothing pulls a body";
	if (fabs(of->run.last) <= NB_IAS15_SHORTEST * fabs(of->run.elapsed))
		return "bodies come so close, or go so far, that steps no longer move the time";
	return NULL;
}

/* Whether system k ends before its next step. */
static int stops(struct step *s, size_t k, const struct fifteen_of *of)
{
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	if (!nb_step_is_tested(&s->stop, of->all))
		return 0;
	nb_ias15_at(&of->run, of->run.last, x, v);
	return nb_step_stops(s, k, of->ended.time, x, v);
}

/* Up to most steps of system k, until the last one comes to the time mark, or passes it. */
static void make_steps(struct step *s, size_t k, double way, double mark, uint64_t most)
{
	struct fifteen_of *of = &s->fifteen.of[k];
	for (uint64_t j = 0;; j++, of->made++, of->all++) {
		of->there = isfinite(mark) && of->run.last != 0 && way * time_after(&of->ended, mark) <= 0;
		if (of->there || j == most || stops(s, k, of))
			return;
		of->lost = make_step(of);
		if (of->lost)
			return;
		if (s->fifteen.variation)
			nb_variation_follow(&s->fifteen.variation[k], &of->run);
	}
}

/* Up to most steps of each system that is not at the time mark yet; returns how many still are not. */
static size_t make_round(struct step *s, double mark, uint64_t most)
{
	struct fifteen_of *list = s->fifteen.of;
	const struct systems *all = &s->systems;
	const double way = way_of(s);
	size_t left = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : left) if (all->of.n > 1)
	for (size_t k = 0; k < all->of.n; k++)
		if (!all->stopped[k] && !list[k].there) {
			make_steps(s, k, way, mark, most);
			left += !list[k].there && !list[k].lost && !all->stopped[k];
		}
	for (size_t k = 0; k < all->of.n; k++)
		if (list[k].lost && !all->stopped[k])
			lose(s, k);
	return left;
}

uint64_t nb_step_ias15(struct step *s, uint64_t most, double *exact)
{
	enum { MOST = 1 << 10 }; /* milliseconds, for signals and progress */
	const struct systems *all = &s->systems;
	const double mark = *exact;
	uint64_t made = 0;
	int there = 1; /* all are, where there are many */
	double last = 0;
	for (size_t k = 0; k < all->of.n; k++) {
		s->fifteen.of[k].there = 0;
		s->fifteen.of[k].made = 0;
	}
	while (make_round(s, mark, most < MOST ? most : MOST) > 0 && all->many)
		if (nb_interrupted())
			return 0;
	s->fifteen.within = 0;
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
		const struct fifteen_of *of = &s->fifteen.of[k];
		made = of->made > made ? of->made : made;
		if (all->stopped[k])
			continue;
		there = of->there;
		last = of->run.last;
		nb_ias15_at(&of->run, there ? time_after(&of->begun, mark) : last, x, v);
		s->fifteen.within |= there && time_after(&of->ended, mark) != 0;
		nb_step_system_scatter(all, k, x, all->x);
		nb_step_system_scatter(all, k, v, all->v);
	}
	*exact = there ? mark : NAN;
	s->clock.now = there ? (struct moment){.time = mark} : s->fifteen.of[0].ended;
	s->clock.step += made;
	nb_step_few_show(s, last);
	return made;
}
