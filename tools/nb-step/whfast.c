/* Wisdom and Holman's map for a star and its planets (kernels/small/whfast.h): many steps at a time, without frames.
 *
 * A frame has positions and velocities that are made from a copy of the state of the map, which goes on as if nobody
 * had looked.  That state stands in the frame, too, so that a run goes on from it with the same bytes; whether it
 * belongs to the positions and velocities beside it, which other programs may have changed, is found out by making
 * these again. */
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct nb_integrator nb_integrator_whfast = {.orbits = 1};

static const char map_pos[] = "map_pos", map_vel[] = "map_vel", map_dt[] = "map_dt";

/* Orders of --corrector, as its words. */
static const int order_of[] = {0, 3, 5, 7, 11, 17};

/* The force of the pipeline must be that of the map: beyond rounding, as a fraction of the sum of all pulls. */
static const double ROUNDING = 1e-12;

/* With fewer steps in a period the map is not to be trusted. */
static const double STEPS_LEAST = 6;

/* ---- what is refused ---------------------------------------------------------------------------- */

void nb_step_whfast_check(const struct step *s, int corrector_given)
{
	const char *other = s->opt.collide != COLLIDE_NONE ? "collide"
			    : s->opt.eta_given		   ? "eta"
			    : s->opt.levels_given	   ? "levels"
			    : s->opt.launcher		   ? "mpi"
			    : s->opt.send_velocities	   ? "send-velocities"
							   : NULL;
	if (!s->opt.integrator->orbits) {
		if (corrector_given)
			nb_die(NB_EXIT_USAGE, "option '--corrector' needs '--integrator whfast'");
		return;
	}
	if (other)
		nb_die(NB_EXIT_USAGE, "'--integrator whfast' takes no '--%s'", other);
	if (!s->opt.command)
		nb_die(NB_EXIT_USAGE, "'--integrator whfast' needs the force pipeline as operand");
}

static _Noreturn void refuse(struct step *s, const char *what, const char *want)
{
	nb_step_progress_clear(&s->progress);
	nb_die(NB_EXIT_FAILED, "%s in step %" PRIu64 ", and '--integrator whfast' %s", what, s->clock.step, want);
}

/* Whether acc is sum G m d / |d|^3 over the other bodies. */
static int is_force_of_bodies(const struct step *s, double G)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double *mass = nb_step_read(s, NB_MASS, &nb_space_host), *pos = nb_step_read(s, NB_POS, &nb_space_host);
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	for (size_t i = 0; i < n; i++) {
		double sum[3] = {0}, all = 0;
		for (size_t j = 0; j < n; j++) {
			const double d[3] = {pos[3 * j] - pos[3 * i], pos[3 * j + 1] - pos[3 * i + 1],
				pos[3 * j + 2] - pos[3 * i + 2]};
			const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], pull = G * mass[j] / r2;
			if (!(r2 > 0))
				continue; /* itself, or where it collides */
			all += pull;
			for (int k = 0; k < 3; k++)
				sum[k] += pull * d[k] / sqrt(r2);
		}
		for (size_t k = 0; k < 3; k++)
			if (fabs(acc[3 * i + k] - sum[k]) > ROUNDING * all)
				return 0;
	}
	return 1;
}

static void require_force(struct step *s)
{
	if (nb_require_attribute(s->frame, "softening", 0) > 0 || nb_frame_field(s->frame, NB_EPS))
		refuse(s, "forces are softened", "takes no softening (want nb-force -e 0)");
	if (!is_force_of_bodies(s, nb_require_attribute(s->frame, "G", 1)))
		refuse(s, "the force is not that of all bodies on each other",
			"takes no other (want nb-force alone, a direct sum in f64)");
}

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

/* The state of the map in the frame, if there is one. */
static void keep_state(struct step *s)
{
	struct planets *p = &s->planets;
	p->kept = keep(s, map_pos, p->q) && keep(s, map_vel, p->v) &&
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

void nb_step_whfast_begin(struct step *s, int computed)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	s->planets.started = 0;
	if (!s->opt.integrator->orbits) {
		nb_frame_drop_attribute(s->frame, map_dt); /* of another run */
		return;
	}
	if (n > NB_WHFAST_MOST)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has %zu bodies, and '--integrator whfast' takes at most %d",
			s->frame->number, n, NB_WHFAST_MOST);
	if (s->backend->space != &nb_space_host || nb_ranks_size() > 1)
		nb_die(NB_EXIT_FAILED, "'--integrator whfast' computes on one host without a device (want -b cpu)");
	keep_state(s);
	if (!computed) /* the field acc of the input may be of another force */
		nb_step_compute_force(s);
	require_force(s);
	const double G = nb_require_attribute(s->frame, "G", 1);
	if (nb_whfast_begin(
		    &s->planets.map, n, nb_step_read(s, NB_MASS, &nb_space_host), G, order_of[s->opt.corrector_number]))
		nb_die(NB_EXIT_FAILED,
			"'--integrator whfast' needs G > 0 and a first body with a mass, and frame %" PRIu64
			" has G %g and a mass of %g",
			s->frame->number, G, nb_step_read(s, NB_MASS, &nb_space_host)[0]);
	double dt, exact;
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
	const size_t bytes = 3 * s->planets.map.n * sizeof(double);
	double x[3 * NB_WHFAST_MOST], v[3 * NB_WHFAST_MOST];
	if (nb_whfast_store(&s->planets.map, x, v))
		fail(s, s->planets.map.failed, begun);
	memcpy(nb_step_update(s, NB_POS, &nb_space_host), x, bytes);
	memcpy(nb_step_update(s, NB_VEL, &nb_space_host), v, bytes);
	nb_step_drop_stale(s);
	nb_step_require_in_range(s, s->clock.step, s->planets.map.h);
	nb_step_compute_force(s);
	if (memcmp(x, nb_step_read(s, NB_POS, &nb_space_host), bytes) != 0)
		refuse(s, "the force pipeline changes the order of the bodies, or moves them",
			"wants them as they are (want nb-force alone)");
	require_force(s);
	add_state(s);
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
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends) || next != *dt)
			break;
	}
	if (nb_whfast_steps(&s->planets.map, made))
		fail(s, s->planets.map.failed, begun);
	look(s, begun);
	return made;
}
