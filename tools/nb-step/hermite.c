/* Hermite's fourth-order integrator: a Taylor step with acceleration and jerk, corrected by the force at its end,
 * twice. The second time makes the errors of a fixed step hardly grow, as those of a scheme that is reversible; the
 * force that is left is that of the first correction, from which the second differs by terms of sixth order. Sources:
 * Makino & Aarseth 1992, PASJ 44, 141; Kokubo, Yoshinaga & Makino 1998, MNRAS 297, 1067. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int advance(const struct nb_backend *backend, const struct nb_bodies *b, double dt)
{
	return backend->taylor(b->n, b->pos, b->vel, b->acc, b->jerk, dt);
}

const struct nb_integrator nb_integrator_hermite = {
	.needs_jerk = 1,
	.advance = advance,
	.corrections = 2,
};

/* Columns of what stays here while the force is computed. */
static const double *read_kept(const struct step *s, enum nb_field field, const struct nb_space *space)
{
	return nb_require_memory(s->frame, nb_column_read(nb_frame_field(&s->here, field), space, NB_AS_F64));
}

static void keep(struct step *s, int places)
{
	struct nb_frame *here = &s->here;
	if (nb_frame_share(here, s->frame))
		nb_out_of_memory(s->frame);
	for (size_t c = here->ncolumn; c-- > 0;) {
		const char *name = here->column[c].name;
		const int place = strcmp(name, "pos") == 0 || strcmp(name, "vel") == 0;
		if (strcmp(name, "acc") != 0 && strcmp(name, "jerk") != 0 && !(places && place))
			nb_frame_drop(here, name);
	}
	s->aside = here;
}

void nb_step_hermite_keep(struct step *s)
{
	keep(s, 0);
}

static void forget(struct step *s)
{
	s->aside = NULL;
	nb_frame_clear(&s->here);
}

/* ---- time scales -------------------------------------------------------------------------------- */

/* Of a step dt that has begun with the force that is kept, to the frame or to what is kept. */
static void find_timescales(struct step *s, double dt, double at, struct nb_frame *to)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	double *scale = nb_new_f64(to, NB_TIMESCALE, NULL, &nb_space_host);
	nb_hermite_timescales(n, read_kept(s, NB_ACC, &nb_space_host), read_kept(s, NB_JERK, &nb_space_host),
		nb_step_read(s, NB_ACC, &nb_space_host), nb_step_read(s, NB_JERK, &nb_space_host), dt, at, scale);
}

static double shortest(const struct step *s, const struct nb_frame *frame)
{
	const double *scale = nb_require_memory(
		s->frame, nb_column_read(nb_frame_field(frame, NB_TIMESCALE), &nb_space_host, NB_AS_F64));
	double least = INFINITY;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		least = fmin(least, scale[i]);
	return least < NB_TIMESCALE_MOST ? least : INFINITY;
}

double nb_step_hermite_dt(struct step *s)
{
	return sqrt(s->opt.eta) * shortest(s, s->frame);
}

/* A step to try: the longest one, or one that the jerk allows; infinite if there is no force. */
static double first_try(struct step *s)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host), *jerk = nb_step_read(s, NB_JERK, &nb_space_host);
	double least = INFINITY;
	int forced = 0;
	if (s->opt.dt_given)
		return fabs(s->opt.dt);
	for (size_t i = 0; i < n; i++) {
		const double a = hypot(hypot(acc[3 * i], acc[3 * i + 1]), acc[3 * i + 2]);
		const double j = hypot(hypot(jerk[3 * i], jerk[3 * i + 1]), jerk[3 * i + 2]);
		forced |= a > 0;
		if (a > 0)
			least = fmin(least, a / j);
	}
	if (forced && !isfinite(least))
		nb_die(NB_EXIT_FAILED,
			"the jerks of frame %" PRIu64 " are 0, so '--eta' sets no first time step "
			"(give -d as the largest one)",
			s->frame->number);
	return sqrt(s->opt.eta) * least;
}

/* Goes a step h from the first state, and back.  The time scales at its beginning go with the bodies. */
static void try_step(struct step *s, double h)
{
	const struct nb_space *space = s->backend->space;
	const size_t n = s->frame->rows[NB_PARTICLE];
	const struct moment begun = s->clock.now;
	keep(s, 1);
	nb_step_require(s, s->backend->taylor(n, nb_step_update(s, NB_POS, space), nb_step_update(s, NB_VEL, space),
				   read_kept(s, NB_ACC, space), read_kept(s, NB_JERK, space), h));
	nb_step_require_in_range(s, s->clock.step, h);
	s->clock.now = nb_step_later(begun, h);
	nb_step_compute_force(s);
	find_timescales(s, h, 0, &s->here);
	nb_frame_exchange(s->frame, "pos", &s->here, "pos");
	nb_frame_exchange(s->frame, "vel", &s->here, "vel");
	s->clock.now = begun;
	nb_step_compute_force(s);
	nb_new_column(s->frame, NB_TIMESCALE, NULL, 0);
	nb_frame_exchange(s->frame, "timescale", &s->here, "timescale");
	nb_frame_exchange(s->frame, "acc", &s->here, "acc");
	nb_frame_exchange(s->frame, "jerk", &s->here, "jerk");
	forget(s);
}

/* Of bodies without any force. */
static void set_longest(struct step *s)
{
	double *scale = nb_new_f64(s->frame, NB_TIMESCALE, NULL, &nb_space_host);
	for (size_t i = 0; i < s->frame->rows[NB_PARTICLE]; i++)
		scale[i] = NB_TIMESCALE_MOST;
}

void nb_step_hermite_begin(struct step *s)
{
	enum { TRIALS = 100 };
	if (!s->opt.integrator->corrections || !s->opt.eta_given || nb_frame_field(s->frame, NB_TIMESCALE))
		return;
	double h = first_try(s);
	if (!(h > 0 && isfinite(h)))
		set_longest(s);
	for (int k = 0; k < TRIALS && isfinite(h) && h > 0; k++) {
		nb_require_alive(s->run);
		try_step(s, s->opt.dt < 0 ? -h : h);
		const double wanted = nb_step_hermite_dt(s);
		if (h <= wanted)
			return;
		h = fmin(wanted, h / 2);
	}
}

/* ---- a step ------------------------------------------------------------------------------------- */

static void correct(struct step *s, double ahead, double dt)
{
	const struct nb_space *space = s->backend->space;
	const double *acc = nb_step_read(s, NB_ACC, space), *jerk = nb_step_read(s, NB_JERK, space);
	nb_step_require(s, s->backend->hermite(s->frame->rows[NB_PARTICLE], nb_step_update(s, NB_POS, space),
				   nb_step_update(s, NB_VEL, space), acc, jerk, read_kept(s, NB_ACC, space),
				   read_kept(s, NB_JERK, space), ahead, dt));
	nb_step_require_in_range(s, s->clock.step, dt);
}

void nb_step_hermite_correct(struct step *s, double dt)
{
	correct(s, dt, dt);
	if (s->opt.eta_given)
		find_timescales(s, dt, 1, &s->here);
	for (int k = 1; k < s->opt.integrator->corrections; k++) {
		nb_frame_exchange(s->frame, "acc", &s->here, "acc");
		nb_frame_exchange(s->frame, "jerk", &s->here, "jerk");
		nb_require_alive(s->run);
		nb_step_compute_force(s);
		correct(s, 0, dt);
	}
	if (s->opt.eta_given) {
		nb_new_column(s->frame, NB_TIMESCALE, NULL, 0);
		nb_frame_exchange(s->frame, "timescale", &s->here, "timescale");
	}
	forget(s);
}
