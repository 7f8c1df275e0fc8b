/* Wisdom and Holman's map for a star and its planets (kernels/small/whfast.h): many steps at a time, without frames.
 *
 * A frame has positions and velocities that are made from a copy of the state of the map, which goes on as if nobody
 * had looked.  That state stands in the frame, too, so that a run goes on from it with the same bytes; whether it
 * belongs to the positions and velocities beside it, which other programs may have changed, is found out by making
 * these again. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct nb_integrator nb_integrator_whfast = {.few = NB_FEW_WHFAST};

static const char map_pos[] = "map_pos", map_vel[] = "map_vel", map_dt[] = "map_dt";

/* Orders of --corrector, as its words. */
static const int order_of[] = {0, 3, 5, 7, 11, 17};

/* Square of a step in units of a circular orbit of two planets about each other, over (2 pi)^2. */
static const double CLOSE = 0.25;

/* With fewer steps in a period the map is not to be trusted. */
static const double STEPS_LEAST = 6;

/* ---- the state of the map ----------------------------------------------------------------------- */

static _Noreturn void fail(struct step *s, size_t body, uint64_t first)
{
	nb_step_progress_clear(&s->progress);
	nb_die(NB_EXIT_FAILED,
		"the orbit of the body with id %" PRIu64 " cannot be followed in steps %" PRIu64 " to %" PRIu64
		" (it meets the first one, or leaves the range of numbers)",
		nb_body_id(s->frame, body), first, s->clock.step);
}

/* Warns of what the map is not made for. */
static void look_at_orbits(struct step *s)
{
	const struct nb_whfast *map = &s->planets.map;
	double last = 0, shortest = INFINITY;
	size_t fastest = 0, before = 0;
	for (size_t i = 1; i < map->n; i++) {
		double period;
		const double axis = nb_whfast_axis(map, i, &period), size = axis > 0 ? axis : INFINITY;
		if (size < last && !s->planets.warned) {
			s->planets.warned = 1;
			nb_warn("the orbit of the body with id %" PRIu64 " is smaller than that of id %" PRIu64
				" before it, and '--integrator whfast' wants them from the inside out",
				nb_body_id(s->frame, i), nb_body_id(s->frame, before));
		}
		if (period > 0 && period < shortest) {
			shortest = period;
			fastest = i;
		}
		last = size;
		before = i;
	}
	if (shortest < STEPS_LEAST * fabs(map->h))
		nb_warn("the body with id %" PRIu64 " has a period of %g, which is %.2g steps (want %g or more)",
			nb_body_id(s->frame, fastest), shortest, shortest / fabs(map->h), STEPS_LEAST);
}

/* A column of the frame, which the next force drops. */
static int keep(const struct step *s, const char *name, double *to)
{
	struct nb_column *column = nb_frame_find(s->frame, name);
	if (!column || column->table != NB_PARTICLE || column->ncomp != 3 || strcmp(column->dtype, "<f8") != 0)
		return 0;
	const double *from = nb_require_memory(s->frame, nb_column_read(column, &nb_space_host, NB_AS_F64));
	memcpy(to, from, 3 * s->frame->rows[NB_PARTICLE] * sizeof *to);
	return 1;
}

void nb_step_whfast_keep(struct step *s)
{
	struct planets *p = &s->planets;
	if (s->opt.integrator->few != NB_FEW_WHFAST)
		return;
	p->kept = s->frame->rows[NB_PARTICLE] <= NB_WHFAST_MOST && keep(s, map_pos, p->q) && keep(s, map_vel, p->v) &&
		  nb_frame_attribute_f64(s->frame, map_dt, 0, &p->dt) == NB_OK;
}

/* Steps that differ by less are the same but for the rounding of the times that they were found from. */
static int is_step(const struct step *s, double h, double dt)
{
	return fabs(h - dt) <= 4 * DBL_EPSILON * fmax(fabs(s->clock.now.time), fabs(dt));
}

/* Goes on with the state that was kept, if that is one of such steps, and gives the positions and velocities. */
static int take_up(struct step *s, double dt)
{
	struct planets *p = &s->planets;
	struct nb_whfast *map = &p->map;
	const size_t n = map->n;
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
	if (!p->kept || !is_step(s, p->dt, dt))
		return 0;
	nb_whfast_restore(map, p->q, p->v, p->dt);
	return nb_whfast_store(map, x, v) == NB_OK &&
	       memcmp(x, nb_step_read(s, NB_POS, &nb_space_host), 3 * n * sizeof *x) == 0 &&
	       memcmp(v, nb_step_read(s, NB_VEL, &nb_space_host), 3 * n * sizeof *v) == 0;
}

/* For steps of this length. */
static void start(struct step *s, double dt)
{
	struct nb_whfast *map = &s->planets.map;
	const int first = !s->planets.started;
	s->planets.started = 1;
	if (first && take_up(s, dt))
		return;
	if (nb_whfast_load(map, nb_step_read(s, NB_POS, &nb_space_host), nb_step_read(s, NB_VEL, &nb_space_host), dt))
		fail(s, map->failed, s->clock.step);
	if (first)
		look_at_orbits(s);
}

static void add_state(struct step *s)
{
	double *to[2];
	const char *const name[2] = {map_pos, map_vel};
	for (int k = 0; k < 2; k++) {
		const char *unit = nb_field_info[k == 0 ? NB_POS : NB_VEL].unit;
		nb_require_memory(s->frame, nb_frame_add(s->frame, name[k], NB_PARTICLE, "<f8", 3, unit, NB_DERIVED));
	}
	for (int k = 0; k < 2; k++)
		to[k] = nb_require_memory(
			s->frame, nb_column_write(nb_frame_find(s->frame, name[k]), &nb_space_host, NB_AS_F64));
	nb_whfast_save(&s->planets.map, to[0], to[1]);
	if (nb_frame_set_last_attribute_f64(s->frame, map_dt, s->planets.map.h))
		nb_out_of_memory(s->frame);
}

/* ---- a run -------------------------------------------------------------------------------------- */

void nb_step_whfast_forget(struct step *s)
{
	nb_frame_drop_attribute(s->frame, map_dt);
}

void nb_step_whfast_begin(struct step *s)
{
	const double G = nb_require_attribute(s->frame, "G", 1), *mass = nb_step_read(s, NB_MASS, &nb_space_host);
	double dt, exact;
	s->planets.started = 0;
	if (nb_whfast_begin(&s->planets.map, s->frame->rows[NB_PARTICLE], mass, G, order_of[s->opt.corrector_number],
		    s->opt.lazy))
		nb_die(NB_EXIT_FAILED,
			"'--integrator whfast' needs G > 0 and a first body with a mass, and frame %" PRIu64
			" has G %g and a mass of %g",
			s->frame->number, G, mass[0]);
	if (!nb_step_plan(s, &dt, &exact))
		dt = s->opt.dt; /* no step; 0: it has none */
	if (dt != 0) {
		start(s, dt);
		add_state(s); /* the first frame has what the others have */
	}
}

/* The frame gets the state, and the force in it. */
static void look(struct step *s, uint64_t begun)
{
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
	if (nb_whfast_store(&s->planets.map, x, v))
		fail(s, s->planets.map.failed, begun);
	nb_step_few_show(s, x, v, s->planets.map.h);
	add_state(s);
}

static void warn_of_encounter(struct step *s, uint64_t begun)
{
	const struct nb_whfast *map = &s->planets.map;
	if (s->planets.met || !(map->closest * map->h * map->h > CLOSE))
		return;
	s->planets.met = 1;
	nb_step_progress_clear(&s->progress);
	nb_warn("planets come closer to each other in steps %" PRIu64 " to %" PRIu64
		" than steps of %g can follow (want --integrator trace or ias15)",
		begun, s->clock.step, fabs(map->h));
}

uint64_t nb_step_whfast(struct step *s, uint64_t most, double *dt, double *exact)
{
	const uint64_t begun = s->clock.step + 1;
	uint64_t made = 0;
	if (!s->planets.started || !is_step(s, s->planets.map.h, *dt))
		start(s, *dt);
	for (double next, ends;; *dt = next, *exact = ends) {
		s->clock.now = isfinite(*exact) ? (struct moment){.time = *exact} : nb_step_later(s->clock.now, *dt);
		s->clock.step++;
		made++;
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends) ||
			!is_step(s, s->planets.map.h, next))
			break;
	}
	if (nb_whfast_steps(&s->planets.map, made))
		fail(s, s->planets.map.failed, begun);
	warn_of_encounter(s, begun);
	look(s, begun);
	return made;
}
