/* Steps of a few bodies that find their own length, of order 15 (kernels/small/ias15.h) or in the time of
 * kernels/small/ar.h.  States at given times are within the step that passes them, by its polynomials or by shorter
 * steps, so that nobody who looks changes a step. */
#include "common/mem.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct nb_integrator nb_integrator_ias15 = {.few = NB_FEW_IAS15, .has_own_steps = 1};
const struct nb_integrator nb_integrator_ar = {.few = NB_FEW_AR, .has_own_steps = 1};

/* --eta, if it is not given: of the order of the rounding of a double. */
static const double ETA = 0.175;

static double way_of(const struct step *s)
{
	return s->opt.dt < 0 ? -1 : 1;
}

static double longest_of(const struct step *s)
{
	return s->opt.dt_given ? fabs(s->opt.dt) : INFINITY;
}

static double eta_of(const struct step *s)
{
	return s->opt.eta_given ? s->opt.eta : ETA;
}

/* ---- either of the two -------------------------------------------------------------------------- */

/* A system with these masses. */
static int begin(
	const struct step *s, struct fifteen_of *of, size_t n, const double *mass, const struct nb_extra *extra)
{
	const struct systems *all = &s->systems;
	of->is_ar = s->opt.integrator->few == NB_FEW_AR;
	const int status = of->is_ar ? nb_ar_begin(&of->ar, n, mass, all->G)
				     : nb_ias15_begin(&of->fifteen, n, mass, all->G, all->eps);
	*(of->is_ar ? &of->ar.extra : &of->fifteen.extra) = extra;
	return status;
}

static int load(const struct step *s, struct fifteen_of *of, const double *x, const double *v)
{
	return of->is_ar ? nb_ar_load(&of->ar, x, v, longest_of(s), (int)way_of(s))
			 : nb_ias15_load(&of->fifteen, x, v, eta_of(s), longest_of(s), (int)way_of(s));
}

/* Why a system ends. */
static const char no_start[] = "bodies are at the same place, or too far apart";
static const char no_force[] = "bodies collide, or leave the range of numbers";

/* After a step that ends at this time: NULL, or why it is the last; those of ar, INFINITY, pass any encounter. */
static const char *why_no_more(double time, double last, double elapsed)
{
	if (!isfinite(time))
		return "steps grow beyond the range of numbers, as nothing pulls a body";
	if (fabs(last) <= NB_IAS15_SHORTEST * fabs(elapsed))
		return "bodies come so close, or go so far, that steps no longer move the time";
	return NULL;
}

/* ---- a run -------------------------------------------------------------------------------------- */

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
	if (nb_step_fifteen_last(of) == 0 || nb_step_fifteen_at(of, &of->ended, x, v))
		return; /* it has not moved */
	nb_step_system_scatter(&s->systems, k, x, s->systems.x);
	nb_step_system_scatter(&s->systems, k, v, s->systems.v);
}

/* System k begins a run with the state of the frame. */
static void start(struct step *s, size_t k)
{
	struct fifteen_of *of = &s->fifteen.of[k];
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	(void)nb_step_system_gather(&s->systems, k, 3, s->systems.x, x);
	(void)nb_step_system_gather(&s->systems, k, 3, s->systems.v, v);
	of->ended = of->begun = s->clock.now;
	of->made = of->all = 0;
	of->lost = NULL;
	if (load(s, of, x, v))
		of->lost = no_start;
	if (s->systems.variation)
		nb_variation_begin(&s->systems.variation[k], &of->fifteen);
}

_Noreturn static void refuse_masses(const struct step *s, size_t k)
{
	const struct systems *all = &s->systems;
	nb_die(NB_EXIT_FAILED, "'--integrator %s' takes no masses or %s as extreme as those of %s %" PRIu64,
		nb_step_few_name(s), s->opt.integrator->few == NB_FEW_AR ? "G" : "softening",
		all->many ? "system" : "frame", all->many ? all->of.number[k] : s->frame->number);
}

/* ---- many systems on a device ------------------------------------------------------------------- */

/* Bodies of a system behind each other: of all of them, from rows of the frame or to these. */
static void gather_all(const struct systems *all, size_t ncomp, const double *from, double *to)
{
	for (size_t k = 0; k < all->of.n; k++)
		(void)nb_step_system_gather(all, k, ncomp, from, to + ncomp * all->of.first[k]);
}

/* Takes the states at a time; returns the most steps that a system has made for that.  why: one that has failed without
 * another reason has. */
static uint64_t fetch(struct step *s, double time, const char *why)
{
	struct fifteen *f = &s->fifteen;
	const struct systems *all = &s->systems;
	uint64_t most = 0;
	for (size_t k = 0; k < all->of.n; k++)
		f->mark[k] = all->stopped[k] ? NAN : time;
	struct nb_ias15_ended *before = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *before));
	memcpy(before, f->ended, all->of.n * sizeof *before);
	nb_step_require_device(s, s->planets.device->ias15_swarm_at(f->swarm, f->mark, f->x, f->v, f->ended));
	for (size_t k = 0; k < all->of.n; k++) {
		const struct nb_ias15_ended *e = &f->ended[k];
		if (all->stopped[k])
			continue;
		most = e->steps - before[k].steps > most ? e->steps - before[k].steps : most;
		if (e->failed) {
			const char *end = e->last != 0 ? why_no_more(e->ended.time, e->last, e->elapsed) : NULL;
			nb_step_system_stop(s, k, NB_LOST, e->ended.time, end ? end : why);
		}
		if (e->last == 0)
			continue; /* it has not moved */
		nb_step_system_scatter(all, k, f->x + 3 * all->of.first[k], all->x);
		nb_step_system_scatter(all, k, f->v + 3 * all->of.first[k], all->v);
	}
	nb_free(before);
	return most;
}

static void begin_swarm(struct step *s)
{
	struct fifteen *f = &s->fifteen;
	const struct systems *all = &s->systems;
	const size_t n = s->frame->rows[NB_PARTICLE];
	double *mass = nb_require_memory(s->frame, nb_alloc(n, sizeof *mass));
	f->x = nb_require_memory(s->frame, nb_alloc(n, 3 * sizeof *f->x));
	f->v = nb_require_memory(s->frame, nb_alloc(n, 3 * sizeof *f->v));
	f->mark = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *f->mark));
	f->ended = nb_require_memory(s->frame, nb_alloc_zero(all->of.n, sizeof *f->ended));
	gather_all(all, 1, all->mass, mass);
	gather_all(all, 3, all->x, f->x);
	gather_all(all, 3, all->v, f->v);
	const struct nb_ias15_bodies from = {.systems = all->of.n,
		.first = all->of.first,
		.mass = mass,
		.pos = f->x,
		.vel = f->v,
		.G = all->G,
		.eps = all->eps,
		.eta = eta_of(s),
		.longest = longest_of(s),
		.way = (int)way_of(s),
		.begun = {s->clock.now.time, s->clock.now.rest}};
	for (size_t k = 0; k < all->of.n; k++) {
		struct nb_small bodies;
		const size_t own = all->of.first[k + 1] - all->of.first[k];
		if (own > 1 && nb_small_begin(&bodies, own, mass + all->of.first[k], all->G, all->eps))
			refuse_masses(s, k);
	}
	nb_step_require_device(s, s->planets.device->ias15_swarm_begin(&f->swarm, &from));
	nb_free(mass);
	(void)fetch(s, s->clock.now.time, no_start);
}

/* All systems come to the time mark; returns the most steps, 0 after a signal. */
static uint64_t move_swarm(struct step *s, double mark)
{
	enum { MOST = 1 << 12 }; /* steps of a system, for signals */
	struct fifteen *f = &s->fifteen;
	const struct systems *all = &s->systems;
	size_t left = 1;
	for (size_t k = 0; k < all->of.n; k++)
		f->mark[k] = all->stopped[k] ? NAN : mark;
	while (left > 0) {
		nb_step_require_device(s, s->planets.device->ias15_swarm_until(f->swarm, f->mark, MOST, &left));
		if (nb_interrupted())
			return 0;
	}
	const uint64_t made = fetch(s, mark, no_force);
	s->clock.now = (struct moment){.time = mark};
	s->clock.step += made;
	nb_step_few_show(s, 0);
	return made;
}

/* ---- and on the processor ----------------------------------------------------------------------- */

void nb_step_ias15_begin(struct step *s)
{
	const struct systems *all = &s->systems;
	if (s->planets.device && s->extras.n > 0 && strcmp(s->run->common.backend, "auto") != 0)
		nb_die(NB_EXIT_FAILED, "steps of ias15 on a device have no force of nb-extra (want '-b cpu')");
	if (s->extras.n > 0)
		s->planets.device = NULL; /* auto takes the CPU */
	if (s->planets.device) {
		begin_swarm(s);
		return;
	}
	struct fifteen_of *list = s->fifteen.of = nb_require_memory(
		s->frame, nb_alloc(all->of.n, sizeof *s->fifteen.of));
	s->fifteen.within = 0;
	for (size_t k = 0; k < all->of.n; k++) {
		double mass[NB_SMALL_MOST];
		struct fifteen_of *of = &list[k];
		const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
		if (begin(s, of, n, mass, nb_step_extra(s, k)))
			refuse_masses(s, k);
		start(s, k);
		if (of->lost && !all->stopped[k])
			lose(s, k);
		if (!nb_step_restart_take_up(s, k))
			start(s, k); /* whatever it has tried */
		s->fifteen.within |= !all->stopped[k] && nb_step_fifteen_ahead(of, &s->clock.now) != 0;
	}
}

/* NULL, or why there is none. */
static const char *make_step(struct fifteen_of *of)
{
	if (of->is_ar ? nb_ar_step(&of->ar) : nb_ias15_step(&of->fifteen))
		return no_force;
	of->begun = of->ended;
	of->ended = nb_step_later(of->begun, nb_step_fifteen_last(of));
	return of->is_ar ? why_no_more(of->ended.time, INFINITY, 0)
			 : why_no_more(of->ended.time, of->fifteen.last, of->fifteen.elapsed);
}

/* Whether system k ends before its next step. */
static int stops(struct step *s, size_t k, const struct fifteen_of *of)
{
	double x[3 * NB_SMALL_MOST], v[3 * NB_SMALL_MOST];
	if (!nb_step_is_tested(&s->stop, of->all))
		return 0;
	return !nb_step_fifteen_at(of, &of->ended, x, v) && nb_step_stops(s, k, of->ended.time, x, v);
}

/* Up to most steps of system k, until the last one comes to the time mark, or passes it. */
static void make_steps(struct step *s, size_t k, double way, double mark, uint64_t most)
{
	struct fifteen_of *of = &s->fifteen.of[k];
	for (uint64_t j = 0;; j++, of->made++, of->all++) {
		of->there = isfinite(mark) && nb_step_fifteen_last(of) != 0 &&
			    way * nb_step_fifteen_ahead(of, &(struct moment){.time = mark}) >= 0;
		if (of->there || j == most || stops(s, k, of))
			return;
		of->lost = make_step(of);
		if (of->lost)
			return;
		if (s->systems.variation)
			nb_variation_follow(&s->systems.variation[k], &of->fifteen);
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
	if (s->fifteen.swarm)
		return move_swarm(s, mark);
	int there = 1; /* all are, where there are many */
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
		struct fifteen_of *of = &s->fifteen.of[k];
		made = of->made > made ? of->made : made;
		if (all->stopped[k])
			continue;
		there = of->there;
		if (nb_step_fifteen_at(of, there ? &(struct moment){.time = mark} : &of->ended, x, v)) {
			of->lost = "no shorter steps lead to the time of a state";
			lose(s, k);
			continue;
		}
		s->fifteen.within |= there && nb_step_fifteen_ahead(of, &(struct moment){.time = mark}) != 0;
		nb_step_system_scatter(all, k, x, all->x);
		nb_step_system_scatter(all, k, v, all->v);
	}
	*exact = there ? mark : NAN;
	s->clock.now = there ? (struct moment){.time = mark} : s->fifteen.of[0].ended;
	s->clock.step += made;
	nb_step_few_show(s, 0);
	return made;
}
