/* Wisdom and Holman's map for a star and its planets (kernels/small/whfast.h): many steps at a time, without frames.
 *
 * A frame has positions and velocities that are made from a copy of the state of the map, which goes on as if nobody
 * had looked.  That state stands in the frame, too, so that a run goes on from it with the same bytes; whether it
 * belongs to the positions and velocities beside it, which other programs may have changed, is found out by making
 * these again. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct nb_integrator nb_integrator_whfast = {.few = NB_FEW_WHFAST};

static const char map_pos[] = "map_pos", map_vel[] = "map_vel", map_dt[] = "map_dt";

/* Orders of --corrector, as its words. */
static const int order_of[] = {0, 3, 5, 7, 11, 17};

/* ---- the state of the map ----------------------------------------------------------------------- */

/* The orbit of a body of system k cannot be followed in these steps. */
static void lose(struct step *s, size_t k, uint64_t first, double since)
{
	static const char why[] = "it meets the first one, or leaves the range of numbers";
	const uint64_t id = nb_body_id(s->frame, nb_step_system_row(&s->systems, k, s->planets.map[k].failed));
	char what[200];
	nb_step_progress_clear(&s->progress);
	if (!s->systems.many)
		nb_die(NB_EXIT_FAILED,
			"the orbit of the body with id %" PRIu64 " cannot be followed in steps %" PRIu64 " to %" PRIu64
			" (%s)",
			id, first, s->clock.step, why);
	snprintf(what, sizeof what, "the orbit of the body with id %" PRIu64 " cannot be followed further, as %s", id,
		why);
	nb_step_system_stop(s, k, NB_LOST, since, what);
}

/* Those whose last act has failed: they keep the state of the time since, or the one that was shown last. */
static void lose_failed(struct step *s, uint64_t first, double since)
{
	for (size_t k = 0; k < s->systems.of.n; k++)
		if (s->planets.failed[k] && !s->systems.stopped[k])
			lose(s, k, first, s->planets.failed[k] == NB_FAILED_UNSEEN ? s->planets.shown : since);
}

void nb_step_whfast_free(struct planets *p)
{
	nb_step_swarm_free(p);
	nb_free_all(p->map, p->failed, p->q, p->v);
	p->map = NULL;
	p->failed = NULL;
	p->q = p->v = NULL;
}

void nb_step_whfast_keep(struct step *s)
{
	struct planets *p = &s->planets;
	nb_step_whfast_free(p);
	if (s->opt.integrator->few != NB_FEW_WHFAST || nb_frame_attribute_f64(s->frame, map_dt, 0, &p->dt))
		return;
	p->q = nb_step_keep(s, map_pos, 3);
	p->v = nb_step_keep(s, map_vel, 3);
}

/* Steps that differ by less are the same but for the rounding of the times that they were found from. */
static int is_step(const struct step *s, double h, double dt)
{
	return fabs(h - dt) <= 4 * DBL_EPSILON * fmax(fabs(s->clock.now.time), fabs(dt));
}

/* Of system k: goes on with the state that was kept, if that gives the positions and velocities. */
static int take_up(const struct step *s, size_t k, const double *pos, const double *vel)
{
	const struct planets *p = &s->planets;
	struct nb_whfast *map = &p->map[k];
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
	const size_t n = nb_step_system_gather(&s->systems, k, 3, p->q, x);
	(void)nb_step_system_gather(&s->systems, k, 3, p->v, v);
	nb_whfast_restore(map, x, v, p->dt);
	return nb_whfast_store(map, x, v) == NB_OK && memcmp(x, pos, 3 * n * sizeof *x) == 0 &&
	       memcmp(v, vel, 3 * n * sizeof *v) == 0;
}

/* Whether the state that was kept is one of such steps. */
static int is_kept(const struct step *s, double dt)
{
	const struct planets *p = &s->planets;
	/* a step that is -d itself was the same, or another -d; one that comes from the time to a state may be rounded
	 */
	return p->q && p->v && (dt == s->opt.dt ? p->dt == dt : is_step(s, p->dt, dt));
}

/* Maps for steps of this length. */
static void begin_maps(struct step *s, double dt)
{
	const struct systems *all = &s->systems;
	struct planets *p = &s->planets;
	const int first = !p->started, kept = first && is_kept(s, dt);
	int fresh = 0;
	p->started = 1;
	p->h = kept ? p->dt : dt;
#pragma omp parallel for schedule(dynamic, 16) reduction(| : fresh) if (all->of.n > 16)
	for (size_t k = 0; k < all->of.n; k++) {
		double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
		p->map[k].variation = all->variation ? &all->variation[k] : NULL;
		if (all->stopped[k])
			continue;
		(void)nb_step_system_gather(all, k, 3, all->x, x);
		(void)nb_step_system_gather(all, k, 3, all->v, v);
		if (kept && take_up(s, k, x, v)) {
			p->failed[k] = 0;
			nb_step_megno_begin_map(s, k, x);
			continue;
		}
		fresh = 1;
		p->failed[k] = (!first && nb_step_megno_change_step(s, k)) ||
			       nb_whfast_load(&p->map[k], x, v, p->h) != NB_OK;
		nb_step_megno_begin_map(s, k, first ? x : NULL);
	}
	if (first)
		nb_step_megno_take_up(s);
	lose_failed(s, s->clock.step, s->clock.now.time);
	if (first && fresh)
		nb_step_whfast_warn_at_first(s);
}

static void start(struct step *s, double dt)
{
	struct planets *p = &s->planets;
	const int has_variation = !p->started && p->q && p->v && s->restart.numbers && s->systems.variation;
	if (has_variation && p->dt * dt > 0 && !is_kept(s, dt)) { /* the step changes as it does within a run */
		begin_maps(s, p->dt);
		begin_maps(s, dt);
		nb_step_whfast_warn_at_first(s);
	} else
		begin_maps(s, dt);
	if (p->device)
		nb_step_swarm_begin(s);
}

static void add_state(struct step *s)
{
	const struct systems *all = &s->systems;
	double *to[2];
	const char *const name[2] = {map_pos, map_vel};
	for (int c = 0; c < 2; c++) {
		const char *unit = nb_field_info[c == 0 ? NB_POS : NB_VEL].unit;
		nb_require_memory(s->frame, nb_frame_add(s->frame, name[c], NB_PARTICLE, "<f8", 3, unit, NB_DERIVED));
	}
	for (int c = 0; c < 2; c++)
		to[c] = nb_require_memory(
			s->frame, nb_column_write(nb_frame_find(s->frame, name[c]), &nb_space_host, NB_AS_F64));
	for (size_t k = 0; k < all->of.n; k++) {
		double q[3 * NB_WHFAST_MOST] = {0}, v[3 * NB_WHFAST_MOST] = {0};
		if (!all->stopped[k])
			nb_whfast_save(&s->planets.map[k], q, v);
		nb_step_system_scatter(all, k, q, to[0]);
		nb_step_system_scatter(all, k, v, to[1]);
	}
	if (nb_frame_set_last_attribute_f64(s->frame, map_dt, s->planets.h))
		nb_out_of_memory(s->frame);
}

/* ---- a run -------------------------------------------------------------------------------------- */

void nb_step_whfast_forget(struct step *s)
{
	nb_frame_drop_attribute(s->frame, map_dt);
}

void nb_step_whfast_begin(struct step *s)
{
	const struct systems *all = &s->systems;
	struct planets *p = &s->planets;
	double dt, exact;
	p->started = 0;
	p->unseen = 0;
	p->map = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *p->map));
	p->failed = nb_require_memory(s->frame, nb_alloc_zero(all->of.n, sizeof *p->failed));
	for (size_t k = 0; k < all->of.n; k++) {
		double mass[NB_WHFAST_MOST];
		const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
		if (nb_whfast_begin(&p->map[k], n, mass, all->G, order_of[s->opt.corrector_number], s->opt.lazy))
			nb_die(NB_EXIT_FAILED,
				"'--integrator whfast' needs G > 0 and a first body with a mass, and %s %" PRIu64
				" has G %g and a mass of %g",
				all->many ? "system" : "frame", all->many ? all->of.number[k] : s->frame->number,
				all->G, mass[0]);
		if (s->opt.democratic)
			nb_whfast_democratic(&p->map[k]);
		if (nb_step_extra(s, k))
			nb_whfast_add_extra(&p->map[k], nb_step_extra(s, k));
		if (p->map[k].extra && p->device && strcmp(s->run->common.backend, "auto") != 0)
			nb_die(NB_EXIT_FAILED,
				"steps on a device have no force of nb-extra but gr-potential of the first body (want "
				"'-b cpu')");
		p->device = p->map[k].extra ? NULL : p->device; /* auto takes the CPU */
	}
	if (!nb_step_plan(s, &dt, &exact))
		dt = s->opt.dt; /* no step; 0: it has none */
	if (dt != 0) {
		start(s, dt);
		add_state(s); /* the first frame has what the others have */
	}
}

/* The state of the map of system k becomes that of its bodies. */
static int get_state(const struct step *s, size_t k)
{
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
	if (nb_whfast_store(&s->planets.map[k], x, v))
		return NB_EUNSUPPORTED;
	nb_step_system_scatter(&s->systems, k, x, s->systems.x);
	nb_step_system_scatter(&s->systems, k, v, s->systems.v);
	return NB_OK;
}

/* Makes steps of system k, unless it ends before one of them; the state of those that do not end becomes theirs. */
static int move_system(struct step *s, size_t k, uint64_t first, uint64_t steps, const struct moment *begun)
{
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST], closest = 0;
	struct nb_whfast *map = &s->planets.map[k];
	const uint64_t every = s->stop.text ? s->stop.every : UINT64_MAX;
	struct moment now = *begun;
	for (uint64_t j = 0, some; j < steps; j += some) {
		some = every - (first + j) % every < steps - j ? every - (first + j) % every : steps - j;
		if (nb_step_is_tested(&s->stop, first + j)) {
			if (nb_whfast_store(map, x, v))
				return NB_EUNSUPPORTED;
			if (nb_step_stops(s, k, now.time, x, v))
				return NB_OK;
		}
		if (nb_whfast_steps(map, some))
			return NB_EUNSUPPORTED;
		closest = fmax(closest, map->closest);
		for (uint64_t i = 0; i < some && s->stop.text; i++)
			now = nb_step_later(now, s->planets.h);
	}
	map->closest = closest;
	return get_state(s, k);
}

/* The same; what cannot be followed keeps its variation, too. */
static int try_system(struct step *s, size_t k, uint64_t first, uint64_t steps, const struct moment *begun)
{
	struct nb_variation before, *own = s->systems.variation ? &s->systems.variation[k] : NULL;
	if (own)
		before = *own;
	const int status = move_system(s, k, first, steps, begun);
	if (own && status)
		*own = before;
	return status;
}

/* Of a device; a system that has failed has the state before that call. */
static int fetch_system(const struct step *s, size_t k)
{
	return get_state(s, k) ? NB_FAILED_UNSEEN : s->planets.map[k].failed != 0;
}

/* Makes the last of so many steps that nobody has seen, and gives the frame the state after them and the force in it.
 * made: so many; 0: a device has made all. */
static void show_steps(struct step *s, uint64_t unseen, uint64_t made, const struct moment *start)
{
	const struct systems *all = &s->systems;
	struct planets *p = &s->planets;
	const uint64_t begun = s->clock.step + 1 - unseen, first = begun - 1 - s->clock.first_step;
	p->unseen = 0;
	if (p->swarm)
		nb_step_swarm_fetch(s);
#pragma omp parallel for schedule(dynamic) if (all->of.n > 1)
	for (size_t k = 0; k < all->of.n; k++)
		if (!all->stopped[k])
			p->failed[k] = made ? try_system(s, k, first, made, start) != NB_OK : fetch_system(s, k);
	lose_failed(s, begun, start->time);
	nb_step_whfast_warn_of_encounter(s, begun);
	nb_step_few_show(s, p->h);
	add_state(s);
}

void nb_step_whfast_look(struct step *s)
{
	if (s->planets.unseen)
		show_steps(s, s->planets.unseen, 0, &s->clock.now);
}

uint64_t nb_step_whfast(struct step *s, uint64_t most, double *dt, double *exact)
{
	const struct moment begun = s->clock.now;
	uint64_t made = 0;
	if (!s->planets.started || !is_step(s, s->planets.h, *dt)) {
		nb_step_whfast_look(s);
		start(s, *dt);
	}
	s->planets.shown = s->planets.unseen ? s->planets.shown : begun.time;
	for (double next, ends;; *dt = next, *exact = ends) {
		nb_step_pass(s, *dt, *exact);
		made++;
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends) ||
			!is_step(s, s->planets.h, next))
			break;
	}
	if (!s->planets.swarm)
		show_steps(s, made, made, &begun);
	else {
		s->planets.unseen += made;
		if (nb_step_swarm_move(s, made)) /* those that have failed end here */
			show_steps(s, s->planets.unseen, 0, &begun);
	}
	return made;
}
