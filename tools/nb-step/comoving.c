/* --cosmology: steps in an expanding universe; nb-cosmology(7) has the equations.
 *
 * A leapfrog of comoving positions x and momenta p = a v, where a is the scale factor and v = a dx/dt the peculiar
 * velocity, with the integrals of kicks and drifts of Quinn et al. 1997.  Column vel has v when a step begins and when
 * it has ended; on the way from a0 to a1 it has p / a0.
 *
 * Where a step ends depends on where it begins and on the next mark alone, so that a run that goes on from a frame
 * makes the same steps. */
#include "tools/nb-step/step.h"

#include "common/mem.h"
#include "common/parse.h"
#include "kernels/measure/measure.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>

/* ---- options ------------------------------------------------------------------------------------ */

static const char *refused_option(const struct step *s)
{
	const struct options *opt = &s->opt;
	return opt->eta_given && !opt->levels_given	    ? "eta"
	       : opt->blocks_number == BLOCKS_WHOLE	    ? "blocks whole"
	       : opt->every_time_given			    ? "every-time"
	       : opt->send_velocities			    ? "send-velocities"
	       : opt->collide != COLLIDE_NONE		    ? "collide"
	       : opt->integrator != &nb_integrator_leapfrog ? "integrator"
							    : NULL;
}

static void refuse_list(const struct step *s, const char *want)
{
	nb_die(NB_EXIT_USAGE, "invalid at '%s' (want %s)", s->opt.at, want);
}

/* z=9,1,0 or a=0.1,0.5,1 */
static void parse_marks(struct step *s)
{
	static const char *const want = "z=LIST of redshifts > -1, or a=LIST of scale factors > 0, such as z=9,1,0";
	struct comoving *c = &s->comoving;
	const char *text = s->opt.at;
	const int redshifts = text[0] == 'z';
	size_t most = 1;
	if ((text[0] != 'z' && text[0] != 'a') || text[1] != '=')
		refuse_list(s, want);
	for (const char *at = text; *at; at++)
		most += *at == ',';
	c->mark = nb_require_memory(NULL, nb_alloc(most, sizeof *c->mark));
	if (nb_parse_f64_list(text + 2, most, c->mark, &c->nmark) != NB_PARSE_OK)
		refuse_list(s, want);
	for (size_t k = 0; k < c->nmark; k++) {
		if (redshifts)
			c->mark[k] = 1 / (1 + c->mark[k]);
		if (!(c->mark[k] > 0 && isfinite(c->mark[k])))
			refuse_list(s, want);
		if (k > 0 && !(s->opt.dt < 0 ? c->mark[k] < c->mark[k - 1] : c->mark[k] > c->mark[k - 1]))
			refuse_list(s, s->opt.dt < 0 ? "the latest first, as the time step is negative"
						     : "the earliest first, which has the largest redshift");
	}
}

static void check_marks(struct step *s)
{
	struct options *opt = &s->opt;
	if (!opt->dt_given)
		nb_die(NB_EXIT_USAGE, "option '--at' needs a time step (give -d)");
	if (opt->steps_given)
		nb_die(NB_EXIT_USAGE, "option '--at' ends the run, and so does '--steps' (want '--until')");
	parse_marks(s);
	const double last = s->comoving.mark[s->comoving.nmark - 1];
	if (opt->until_given && !(opt->dt < 0 ? opt->until <= last : opt->until >= last))
		nb_die(NB_EXIT_USAGE, "the last of '--at' is at a scale factor of %g, behind '--until' %g", last,
			opt->until);
	if (!opt->until_given)
		opt->until = last;
	opt->until_given = 1;
	opt->every = opt->every_given ? opt->every : 0;
}

void nb_step_comoving_check(struct step *s)
{
	struct options *opt = &s->opt;
	const char *other = opt->at ? "at" : opt->steps_in_given ? "steps-in" : NULL;
	if (!opt->cosmology && other)
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--cosmology'", other);
	if (!opt->cosmology)
		return;
	other = refused_option(s);
	if (other)
		nb_die(NB_EXIT_USAGE,
			"option '--%s' with '--cosmology' (want the leapfrog of point masses, in equal steps or with "
			"'--levels')",
			other);
	if (!opt->command)
		nb_die(NB_EXIT_USAGE, "option '--cosmology' needs the force pipeline as operand");
	if (opt->until_given && !(opt->until > 0))
		nb_die(NB_EXIT_USAGE, "invalid until '%g' (with '--cosmology', want a scale factor > 0)", opt->until);
	if (opt->at)
		check_marks(s);
}

/* ---- the frame ---------------------------------------------------------------------------------- */

/* A run does not begin behind the first state that is wanted. */
static void require_marks_ahead(const struct step *s, double a)
{
	const struct comoving *c = &s->comoving;
	if (!c->nmark || s->saved.resumed || (s->opt.dt < 0 ? c->mark[0] <= a : c->mark[0] >= a))
		return;
	nb_die(NB_EXIT_FAILED,
		"'--at' begins with a scale factor of %g, redshift %g, and frame %" PRIu64 " is at %g, redshift %g",
		c->mark[0], nb_redshift_of(c->mark[0]), s->frame->number, a, nb_redshift_of(a));
}

void nb_step_comoving_load(struct step *s)
{
	struct nb_cosmology *law = &s->comoving.law;
	if (!s->opt.cosmology && nb_is_cosmological(s->frame))
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64
			" is of an expanding universe (want '--cosmology', or nb-calc '@omega0 = 0' for a box at rest)",
			s->frame->number);
	if (!s->opt.cosmology)
		return;
	const double a = nb_require_cosmology(s->frame, "--cosmology", law);
	if (s->opt.until_given && nb_cosmology_check(law, s->opt.until))
		nb_die(NB_EXIT_FAILED, "the universe of frame %" PRIu64 " does not expand to a scale factor of %g",
			s->frame->number, s->opt.until);
	if (s->clock.pending != 0)
		nb_die(NB_EXIT_FAILED,
			"frame %" PRIu64
			" has a pending half kick, of steps without '--cosmology' (want velocities at the time of the "
			"positions)",
			s->frame->number);
	require_marks_ahead(s, a);
	s->clock.now = (struct moment){.time = a};
	s->comoving.kinetic = NAN;
	s->comoving.integral = nb_require_attribute(s->frame, "ekin_da", 0);
	if (nb_require_attribute(s->frame, "H0", 0) == 0)
		nb_set_attribute_f64(s->frame, "H0", law->H0);
}

/* ---- the schedule ------------------------------------------------------------------------------- */

/* Whether b comes behind a in the direction of the run. */
static int is_behind(const struct step *s, double a, double b)
{
	const int back = s->opt.dt_given ? s->opt.dt < 0 : s->opt.until < a;
	return back ? b < a : b > a;
}

/* The next state that is reached exactly: of --at or --until.  0: there is none. */
static double next_mark(const struct step *s, double a)
{
	for (size_t k = 0; k < s->comoving.nmark; k++)
		if (is_behind(s, a, s->comoving.mark[k]))
			return s->comoving.mark[k];
	return s->opt.until_given && is_behind(s, a, s->opt.until) ? s->opt.until : 0;
}

/* In how many equal steps the way to the next mark is made. */
static double divide(const struct step *s, double length)
{
	if (!s->opt.dt_given)
		return (double)(s->opt.steps - (s->clock.step - s->clock.first_step));
	return fmax(ceil(fabs(length / s->opt.dt) - 1e-6), 1);
}

int nb_step_comoving_plan(struct step *s, double *dt, double *exact)
{
	const double a = s->clock.now.time, mark = next_mark(s, a);
	double next = 0;
	if (s->opt.until_given && mark == 0)
		return 0;
	if (mark > 0) {
		const double length = nb_step_span(s, a, mark), n = divide(s, length);
		next = n > 1 ? nb_step_after(s, a, length / n) : mark;
	} else {
		next = nb_step_after(s, a, s->opt.dt);
	}
	if (!(next > 0 && isfinite(next)) || nb_cosmology_check(&s->comoving.law, next))
		nb_die(NB_EXIT_FAILED,
			"step %" PRIu64 " of length %g leaves the expanding universe at a scale factor of %g",
			s->clock.step + 1, s->opt.dt, a);
	if (next == a)
		nb_die(NB_EXIT_FAILED, "the step is too small for the scale factor %.17g of step %" PRIu64, a,
			s->clock.step);
	s->comoving.next = *exact = next;
	*dt = next - a;
	return 1;
}

int nb_step_is_at_mark(const struct step *s)
{
	for (size_t k = 0; k < s->comoving.nmark; k++)
		if (s->comoving.mark[k] == s->clock.now.time)
			return 1;
	return 0;
}

double nb_step_comoving_steps(const struct step *s, const struct nb_frame *frame)
{
	double a, z;
	if (nb_frame_attribute_f64(frame, "redshift", 0, &z) || nb_frame_attribute_f64(frame, "time", 1 / (1 + z), &a))
		return 1;
	/* of steps in time, as if they were short */
	const double length = s->opt.steps_in == STEPS_IN_A ? s->opt.until - a : log(s->opt.until / a);
	const double steps = ceil(fabs(length / s->opt.dt));
	return isfinite(steps) ? fmax(steps, 0) : 1;
}

/* ---- a step ------------------------------------------------------------------------------------- */

static double kinetic_energy(const struct step *s)
{
	const struct nb_space *space = s->backend->space;
	struct nb_moments moments;
	nb_step_require(s, s->backend->moments(s->frame->rows[NB_PARTICLE], nb_step_read(s, NB_MASS, space),
				   nb_step_read(s, NB_POS, space), nb_step_read(s, NB_VEL, space), &moments));
	return moments.ekin;
}

double nb_step_comoving_time(const struct step *s, double share)
{
	const double a0 = s->comoving.begun, a1 = s->comoving.next;
	return share == 0 ? a0 : share == 1 ? a1 : nb_step_after(s, a0, nb_step_span(s, a0, a1) * share);
}

double nb_step_comoving_kick(const struct step *s, double from, double to)
{
	return nb_cosmology_kick(&s->comoving.law, nb_step_comoving_time(s, from), nb_step_comoving_time(s, to)) /
	       s->comoving.begun;
}

double nb_step_comoving_drift(const struct step *s, double from, double to)
{
	return nb_cosmology_drift(&s->comoving.law, nb_step_comoving_time(s, from), nb_step_comoving_time(s, to)) *
	       s->comoving.begun;
}

/* A body falls through a comoving length eps in a time that goes with sqrt(a eps / (g / a^2)). */
double nb_step_comoving_fall(const struct step *s, double from, double to)
{
	const double a = nb_step_comoving_time(s, from);
	return nb_cosmology_span(&s->comoving.law, a, nb_step_comoving_time(s, to)) / pow(a, 1.5);
}

void nb_step_begin_comoving(struct step *s)
{
	s->comoving.begun = s->clock.now.time;
	if (s->energy.known && isnan(s->comoving.kinetic))
		s->comoving.kinetic = kinetic_energy(s);
}

void nb_step_advance_comoving(struct step *s)
{
	nb_step_kick_drift(s, nb_step_comoving_kick(s, 0, 0.5), nb_step_comoving_drift(s, 0, 1));
	nb_step_drop_stale(s);
	s->clock.pending = nb_step_comoving_kick(s, 0.5, 1);
}

/* By the trapezium rule, which is exact as long as T grows as a. */
static void integrate_kinetic_energy(struct step *s)
{
	struct comoving *c = &s->comoving;
	const double before = c->kinetic;
	c->kinetic = kinetic_energy(s);
	c->integral += (before + c->kinetic) / 2 * (c->next - c->begun);
}

void nb_step_end_comoving(struct step *s)
{
	double *vel = nb_step_update(s, NB_VEL, s->backend->space);
	nb_step_require(s,
		s->backend->scale_velocities(s->frame->rows[NB_PARTICLE], vel, s->comoving.begun / s->comoving.next));
	if (s->energy.known)
		integrate_kinetic_energy(s);
}
