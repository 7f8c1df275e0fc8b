/* When the steps of a run end: how long the next one is. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

static double common_softening(const struct step *s)
{
	const double eps = nb_require_attribute(s->frame, "softening", 0);
	if (!(eps > 0))
		nb_die(NB_EXIT_FAILED,
			"option '--eta' needs a softening, and attribute softening of frame %" PRIu64
			" is %g (give nb-force a softening > 0)",
			s->frame->number, eps);
	return eps;
}

/* Least sqrt(eps / |a|) of bodies with softenings of their own. */
static double shortest_fall(struct step *s)
{
	const double *eps = nb_step_read(s, NB_EPS, &nb_space_host), *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	double least = INFINITY;
	for (size_t i = 0; i < s->frame->rows[NB_PARTICLE]; i++) {
		const double a = hypot(hypot(acc[3 * i], acc[3 * i + 1]), acc[3 * i + 2]);
		if (!(eps[i] > 0))
			nb_die(NB_EXIT_FAILED,
				"option '--eta' needs softenings, and field 'eps' of the body with id %" PRIu64
				" in frame %" PRIu64 " is 0 (give nb-force a softening > 0)",
				nb_body_id(s->frame, i), s->frame->number);
		least = fmin(least, sqrt(eps[i] / a));
	}
	return least;
}

/* The step that accelerations and softenings allow. */
static double fall_step(struct step *s)
{
	const double a = nb_step_largest_acc(s, s->opt.command ? "step" : "frame");
	return s->opt.eta * (nb_frame_field(s->frame, NB_EPS) ? shortest_fall(s) : sqrt(common_softening(s) / a));
}

/* Whether --eta sets the step of all bodies. */
static int is_adaptive(const struct step *s)
{
	return s->opt.eta_given && !s->opt.levels_given;
}

double nb_step_choose_dt(struct step *s)
{
	if (!is_adaptive(s))
		return s->opt.dt;
	double dt = s->opt.integrator->corrections ? nb_step_hermite_dt(s) : fall_step(s);
	if (s->opt.dt_given && !(dt <= fabs(s->opt.dt)))
		dt = fabs(s->opt.dt);
	if (!isfinite(dt) && !s->opt.until_given && !s->opt.every_time_given)
		nb_die(NB_EXIT_FAILED,
			"no body of frame %" PRIu64 " is accelerated, so '--eta' sets no time step "
			"(give -d as the largest one)",
			s->frame->number);
	if (dt == 0)
		nb_die(NB_EXIT_FAILED, "an acceleration of frame %" PRIu64 " is too large for '--eta'",
			s->frame->number);
	return s->opt.dt < 0 ? -dt : dt;
}

/* Times that differ by less are the same but for rounding. */
static double slack(const struct step *s, double time)
{
	return 4 * DBL_EPSILON * fmax(fabs(s->clock.now.time), fabs(time));
}

/* How far it is to a time in the direction of the steps. */
static double time_left(const struct step *s, double time)
{
	const double left = (time - s->clock.now.time) - s->clock.now.rest;
	return s->opt.dt < 0 ? -left : left;
}

void nb_step_warn_behind(const struct step *s)
{
	if (s->opt.until_given && !s->opt.cosmology &&
		time_left(s, s->opt.until) < -fmax(fabs(s->opt.dt), slack(s, s->opt.until)))
		nb_warn("no step is made, as frame %" PRIu64 " has the time %g, and '--until' %g is %s (want a %s -d)",
			s->frame->number, s->clock.now.time, s->opt.until, s->opt.dt < 0 ? "after it" : "before it",
			s->opt.dt < 0 ? "positive" : "negative");
}

/* k t as a person means it: 7 times 0.1 is 0.7 and not 0.7000000000000001. */
static double multiple(double k, double t)
{
	for (double power = 1; power < 1e16; power *= 10) {
		const double digits = rint(t * power);
		if (fabs(t * power - digits) <= 2 * DBL_EPSILON * fabs(digits) && fabs(k * digits) < 0x1p53)
			return k * digits / power + 0.0;
	}
	return k * t + 0.0; /* no -0 */
}

/* The next multiple of --every-time, or --until before that. */
static double next_mark(const struct step *s)
{
	const double t = s->opt.dt < 0 ? -s->opt.every_time : s->opt.every_time, k = floor(s->clock.now.time / t);
	double mark = multiple(k + 1, t);
	if (time_left(s, mark) <= slack(s, mark))
		mark = multiple(k + 2, t);
	if (time_left(s, mark) <= slack(s, mark) || !isfinite(mark))
		nb_die(NB_EXIT_FAILED, "'--every-time' %g is too small for the time %g of step %" PRIu64,
			s->opt.every_time, s->clock.now.time, s->clock.step);
	return s->opt.until_given && time_left(s, s->opt.until) < time_left(s, mark) ? s->opt.until : mark;
}

/* The way to the next mark in equal steps that are not longer than dt: so the steps of a run stay equal if dt is. */
static double divide(const struct step *s, double mark, double dt, double *exact)
{
	const double left = time_left(s, mark), n = fmax(ceil(left / dt - 1e-6), 1);
	if (n == 1)
		*exact = mark;
	return fabs(left - n * dt) <= slack(s, mark) ? dt : left / n;
}

/* Of steps that find their own length: the next state that is wanted at a time. */
static int plan_free(const struct step *s, double *dt, double *exact)
{
	*dt = s->opt.dt;
	*exact = NAN;
	if (s->opt.until_given && !(time_left(s, s->opt.until) > 0))
		return 0;
	if (s->opt.every_time_given)
		*exact = next_mark(s);
	else if (s->opt.until_given)
		*exact = s->opt.until;
	return 1;
}

int nb_step_plan(struct step *s, double *dt, double *exact)
{
	if (s->opt.integrator->has_own_steps)
		return plan_free(s, dt, exact);
	if (s->opt.cosmology)
		return nb_step_comoving_plan(s, dt, exact);
	double length = fabs(nb_step_choose_dt(s));
	*exact = NAN;
	if (s->opt.until_given &&
		!(time_left(s, s->opt.until) > (is_adaptive(s) || s->opt.every_time_given ? 0 : length / 2)))
		return 0;
	if (s->opt.every_time_given) {
		length = divide(s, next_mark(s), length, exact);
	} else if (s->opt.until_given && is_adaptive(s) && time_left(s, s->opt.until) <= length) {
		length = time_left(s, s->opt.until);
		*exact = s->opt.until;
	}
	*dt = s->opt.dt < 0 ? -length : length;
	return 1;
}

uint64_t nb_step_plan_several(struct step *s, uint64_t most, double *dt, double *exact, double *list)
{
	uint64_t made = 0;
	for (double next, ends;; *dt = next, *exact = ends) {
		list[made++] = *dt;
		nb_step_pass(s, *dt, *exact);
		if (made == most || isfinite(*exact) || !nb_step_plan(s, &next, &ends))
			return made;
	}
}
