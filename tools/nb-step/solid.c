/* Steps of solid bodies, which collide or merge where they touch; on the host whatever the backend. */
#include "common/mem.h"
#include "kernels/papers/papers.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A body that leaves the range of numbers is found in the positions, as without radii: the drift of points makes them
 * so.  NB_OK if it did. */
static int drift_as_points(const struct step *s, const struct nb_collide *c)
{
	int status = nb_drift_cpu(c->n, c->pos, c->vel, c->dt);
	if (status)
		return status;
	const size_t bad = nb_column_first_bad(nb_frame_field(s->frame, NB_POS), NB_BAD_NONFINITE);
	return bad < c->n ? NB_OK : NB_ENONFINITE;
}

static void warn_of_limit(struct step *s, uint64_t limited)
{
	if (!limited || s->solid.warned_limited)
		return;
	s->solid.warned_limited = 1;
	nb_step_progress_clear(&s->progress);
	nb_warn("%" PRIu64 " bod%s collided %d times in step %" PRIu64
		" and passed through others for the rest of it (time step too large?)",
		limited, limited == 1 ? "y" : "ies", NB_COLLIDE_MOST, s->clock.step + 1);
}

/* The drift of a step.  s->solid.velocities is NULL where the bodies move on vel, s->solid.keep where they do not
 * merge.  Returns the number of bodies left, the rows of which are in s->solid.keep. */
static size_t drift(struct step *s, double dt)
{
	double *velocities = s->solid.velocities;
	const struct nb_space *host = &nb_space_host;
	const size_t n = s->frame->rows[NB_PARTICLE];
	double *vel = nb_step_update(s, NB_VEL, host);
	const struct nb_collide c = {
		.n = n,
		.mode = s->solid.keep ? NB_COLLIDE_MERGE : NB_COLLIDE_BOUNCE,
		.dt = dt,
		.pos = nb_step_update(s, NB_POS, host),
		.vel = velocities ? velocities : vel,
		.later = velocities ? velocities + 3 * n : NULL,
		.mass = nb_step_update(s, NB_MASS, host),
		.radius = nb_step_update(s, NB_RADIUS, host),
		.spin = s->solid.keep ? nb_step_update(s, NB_SPIN, host) : NULL,
		.merger = s->solid.mergers,
		.id = nb_require_ids(s->frame, host),
		.keep = s->solid.keep,
		.acc = nb_step_read(s, NB_ACC, host),
		.lag = s->opt.integrator->drift_time * dt,
		.restitution = s->opt.restitution,
	};
	struct nb_collide_count count = {n, 0, 0};
	int status = nb_collide_cpu(&c, &count);
	if (status)
		nb_step_progress_clear(&s->progress);
	if (status == NB_EINVAL) /* velocities: the rest was checked when it came in */
		nb_require_valid(s->frame);
	if (status == NB_ENONFINITE)
		status = drift_as_points(s, &c);
	nb_step_require(s, status);
	if (velocities)
		memcpy(vel, c.later, 3 * n * sizeof *vel);
	s->solid.contacts += count.contacts;
	for (uint64_t k = 0; s->solid.mergers && k < count.contacts; k++)
		nb_verbose("at time %.10g body %" PRIu64 " became part of body %" PRIu64
			   ", and kinetic energy %.4g was lost",
			s->clock.now.time + s->solid.mergers[k].at, nb_body_id(s->frame, s->solid.mergers[k].row),
			nb_body_id(s->frame, s->solid.mergers[k].whole), s->solid.mergers[k].lost);
	warn_of_limit(s, count.limited);
	return count.left;
}

static void first_kick(struct step *s, double dt)
{
	nb_step_kick(s, dt);
	nb_step_require(s, s->backend->finish());
	s->clock.pending = dt;
}

/* The two velocities of a step of an integrator that has two. */
static void find_drift_velocities(struct step *s, double dt)
{
	const struct nb_space *host = &nb_space_host;
	const size_t n = s->frame->rows[NB_PARTICLE];
	s->solid.velocities = nb_require_memory(s->frame, nb_alloc(2 * 3 * n, sizeof *s->solid.velocities));
	const struct nb_bodies b = {
		.n = n,
		.vel = nb_step_update(s, NB_VEL, host),
		.acc = nb_step_read(s, NB_ACC, host),
		.jerk = s->opt.integrator->needs_jerk ? nb_step_read(s, NB_JERK, host) : NULL,
	};
	nb_step_require(s, s->opt.integrator->drift(&b, dt, s->solid.velocities, s->solid.velocities + 3 * n));
}

/* The end of a step as Xu, Xu & Chen have it: what the velocities of the step make of the bodies, or nothing for those
 * that touch another. */
static void end_as_published(struct step *s, double dt)
{
	const struct nb_space *host = &nb_space_host;
	const size_t n = s->frame->rows[NB_PARTICLE];
	double *vel = nb_step_update(s, NB_VEL, host), *dx = s->solid.velocities, *dv = s->solid.velocities + 3 * n;
	for (size_t k = 0; k < 3 * n; k++) {
		dx[k] *= dt;
		dv[k] -= vel[k];
	}
	const struct nb_xu_step step = {
		.n = n,
		.pos = nb_step_update(s, NB_POS, host),
		.vel = vel,
		.dx = dx,
		.dv = dv,
		.mass = nb_require_f64(s->frame, NB_MASS, host),
		.radius = nb_require_f64(s->frame, NB_RADIUS, host),
	};
	uint64_t contacts = 0;
	int status = nb_xu_collide(&step, &contacts);
	if (status)
		nb_step_progress_clear(&s->progress);
	if (status == NB_EINVAL) /* as in drift */
		nb_require_valid(s->frame);
	if (status == NB_ENONFINITE) {
		for (size_t k = 0; k < 3 * n; k++)
			if (!isfinite(vel[k] + dv[k]))
				dx[k] = vel[k] + dv[k];
		const struct nb_collide points = {.n = n, .dt = 1, .pos = step.pos, .vel = dx};
		status = drift_as_points(s, &points);
	}
	nb_step_require(s, status);
	s->solid.contacts += contacts;
}

void nb_step_free_solid(struct solid *solid)
{
	nb_free_all(solid->velocities, solid->keep, solid->mergers);
	solid->velocities = NULL;
	solid->mergers = NULL;
	solid->keep = NULL;
}

void nb_step_advance_solid(struct step *s, double dt)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	if (s->opt.integrator->lag != 0)
		first_kick(s, s->opt.integrator->lag * dt);
	if (s->opt.integrator->drift)
		find_drift_velocities(s, dt);
	if (s->opt.collide == COLLIDE_MERGE && !(s->solid.keep = nb_alloc(n, sizeof *s->solid.keep)))
		nb_out_of_memory(s->frame);
	if (s->solid.keep && nb_verbosity() > 0 && !(s->solid.mergers = nb_alloc(n, sizeof *s->solid.mergers)))
		nb_out_of_memory(s->frame);
	size_t left = n;
	if (s->opt.collide == COLLIDE_XU)
		end_as_published(s, dt);
	else
		left = drift(s, dt);
	nb_step_drop_stale(s);
	if (left < n) {
		if (nb_frame_gather(s->frame, NB_PARTICLE, left, s->solid.keep, &nb_space_host, nb_permute_cpu))
			nb_out_of_memory(s->frame);
		if (s->opt.command)
			s->force.ids = nb_step_fingerprint(s);
	}
	nb_step_free_solid(&s->solid);
}
