/* The energy of a run, where the force pipeline gives the potential: how far it is from that of the first state.
 * Beside the forces a look costs little, and nothing leaves the device but two numbers; of bodies that are spread, the
 * frame is gathered in the memory of the host, and the same numbers are computed there. */
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LOOK = 10 /* steps from one look to the next; states that are written are looked at in any case */ };

/* Relative error from which on a run is not to be trusted. */
static const double TOO_LARGE = 0.01;

/* The total energy of the state as it is, NaN if something is missing; velocities belong to the positions.  In an
 * expanding universe it is what Layzer's and Irvine's equation d(a (T + W)) / da = -T keeps: a (T + W) and the integral
 * of T da, where W = epot / a.  *scale: what its error is relative to. */
static double total_energy(struct step *s, double *scale)
{
	const int spread = s->spread.domain != NULL;
	const struct nb_space *space = spread ? &nb_space_host : s->backend->space;
	struct nb_moments moments;
	double epot, of_field = 0;
	if (!nb_frame_field(s->frame, NB_POT) || !nb_frame_field(s->frame, NB_MASS))
		return NAN;
	nb_step_spread_fill(s);
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double *mass = nb_step_read(s, NB_MASS, space), *vel = nb_step_read(s, NB_VEL, space);
	const double *pos = nb_step_read(s, NB_POS, space), *pot = nb_step_read(s, NB_POT, space);
	int (*const energy_of)(size_t, const double *, const double *,
		double *) = spread ? nb_potential_energy_cpu : s->backend->potential_energy;
	nb_step_require(s, (spread ? nb_moments_cpu : s->backend->moments)(n, mass, pos, vel, &moments));
	nb_step_require(s, energy_of(n, mass, pot, &epot));
	/* pairs share the half of pot that is theirs; what a field gives a body is its own */
	if (nb_frame_field(s->frame, NB_POT_FIELD))
		nb_step_require(s, energy_of(n, mass, nb_step_read(s, NB_POT_FIELD, space), &of_field));
	nb_step_spread_empty(s);
	const double a = s->opt.cosmology ? s->clock.now.time : 1, energy = a * moments.ekin + epot + of_field;
	*scale = s->opt.cosmology ? a * moments.ekin + fabs(epot) : fabs(s->energy.first);
	return s->opt.cosmology ? energy + s->comoving.integral : energy;
}

/* What the potential follows from beside the bodies. */
static void note_law(const struct step *s, char law[NB_LAW_TEXT])
{
	const char *eps = nb_frame_attribute(s->frame, "softening"), *G = nb_frame_attribute(s->frame, "G");
	const char *kernel = nb_frame_attribute(s->frame, "softening_kernel");
	const char *field = nb_frame_attribute(s->frame, "field"), *extra = nb_frame_attribute(s->frame, "extra");
	snprintf(law, NB_LAW_TEXT, "softening %.48s%s%.20s, G %.40s%s%.120s%s%.120s", eps ? eps : "unknown",
		kernel ? " by " : "", kernel ? kernel : "", G ? G : "1", field ? ", field " : "", field ? field : "",
		extra ? ", " : "", extra ? extra : "");
}

void nb_step_energy_load(struct step *s)
{
	struct energy *e = &s->energy;
	/* in an expanding universe it is another quantity */
	const int comoving = nb_frame_attribute(s->frame, "ekin_da") != NULL;
	e->first = comoving == s->opt.cosmology ? nb_require_attribute(s->frame, "etot0", NAN) : NAN;
	note_law(s, e->law);
	e->known = 0;
	e->error = e->largest = 0;
	e->looks = 0;
}

/* Another law has another energy. */
void nb_step_energy_begin(struct step *s)
{
	struct energy *e = &s->energy;
	char law[NB_LAW_TEXT];
	note_law(s, law);
	if (s->saved.resumed && !e->other_law && strcmp(law, e->law) != 0) {
		e->other_law = 1;
		nb_step_progress_clear(&s->progress);
		nb_warn("'%s' was computed with %s, and this run with %s", s->opt.resume, e->law, law);
	}
	if (!isfinite(e->first) || strcmp(law, e->law) != 0) {
		double scale;
		s->comoving.integral = 0;
		e->first = total_energy(s, &scale);
	}
	memcpy(e->law, law, sizeof law);
	e->known = isfinite(e->first);
	if (!e->known)
		nb_frame_drop_attribute(s->frame, "etot0");
}

static int is_conserved(const struct step *s)
{
	return !s->opt.send_velocities && !nb_frame_attribute(s->frame, "field_varies") &&
	       (s->opt.collide == COLLIDE_NONE || s->opt.collide == COLLIDE_ELASTIC);
}

static void warn(struct step *s)
{
	if (s->energy.warned > 0 || !is_conserved(s) || !(s->energy.error > TOO_LARGE))
		return;
	s->energy.warned = s->energy.error;
	nb_step_progress_clear(&s->progress);
	nb_warn("the energy is off by %.3g %% in step %" PRIu64 " (want %s, see nb-integrators(7))",
		100 * s->energy.error, s->clock.step,
		s->opt.integrator->few == NB_FEW_IAS15 ? "a smaller --eta"
		: s->opt.integrator->few == NB_FEW_AR  ? "a shorter -d"
		: s->opt.integrator->few	       ? "a smaller time step or --integrator ias15"
		: s->blocks.hasty > 0		       ? "--levels max"
		: s->opt.eta_given		       ? "a smaller --eta or a larger softening"
						       : "a smaller time step or a larger softening");
}

static double heaviest(const struct step *s)
{
	const double *mass = nb_step_read(s, NB_MASS, &nb_space_host);
	double most = 0;
	for (size_t i = 0; i < s->frame->rows[NB_PARTICLE]; i++)
		most = fmax(most, mass[i]);
	return most;
}

/* Beside the states that are wanted; with an integrator of many steps at a time, none. */
static int is_time_for_look(const struct step *s)
{
	return s->clock.step % LOOK == 0 && !s->opt.integrator->few;
}

/* Where no energy is known: whether a step of unsoftened bodies is longer than the circle about the heaviest of them,
 * m, at the distance that the largest acceleration stands for, takes for half a radian: dt^2 > r / (4 a) with r^2 = G m
 * / a.  On the host that is next to nothing beside the forces. */
static int has_encounters(struct step *s, double G)
{
	struct energy *e = &s->energy;
	const int softened = nb_require_attribute(s->frame, "softening", 0) > 0 || nb_frame_field(s->frame, NB_EPS);
	if (e->warned > 0 || s->opt.cosmology || s->opt.eta_given || softened || G == 0 || s->opt.integrator->few ||
		!is_conserved(s) || s->spread.domain || !nb_frame_field(s->frame, NB_MASS) ||
		nb_frame_attribute(s->frame, "field"))
		return 0;
	if (!e->heaviest)
		e->heaviest = heaviest(s);
	return 1;
}

static void look_for_encounters(struct step *s)
{
	struct energy *e = &s->energy;
	const double G = nb_require_attribute(s->frame, "G", 1);
	if (!has_encounters(s, G))
		return;
	const double a = nb_step_largest_acc(s, "step"), way = s->opt.dt * s->opt.dt * a;
	if (e->heaviest == 0 || !(16 * way * way * a > fabs(G) * e->heaviest))
		return;
	e->warned = 1;
	nb_step_progress_clear(&s->progress);
	nb_warn("bodies come closer to each other in step %" PRIu64
		" than steps of %g can follow, without a softening (give "
		"nb-force -e, and --potential to see the energy)",
		s->clock.step, fabs(s->opt.dt));
}

double nb_step_energy_calm(struct step *s)
{
	const double G = nb_require_attribute(s->frame, "G", 1), dt2 = s->opt.dt * s->opt.dt;
	if (s->energy.known || !has_encounters(s, G) || s->energy.heaviest == 0)
		return INFINITY;
	/* a bit less than what look_for_encounters compares with, which rounds otherwise */
	return 0.999 * cbrt(fabs(G) * s->energy.heaviest / 16 / dt2 / dt2);
}

uint64_t nb_step_energy_until_look(const struct step *s)
{
	if (s->opt.integrator->few) /* a look would cost as much as some steps */
		return UINT64_MAX;
	return s->energy.known && s->energy.first != 0 ? LOOK - s->clock.step % LOOK : UINT64_MAX;
}

void nb_step_energy_look(struct step *s, int wanted)
{
	struct energy *e = &s->energy;
	if (!e->known && (wanted || s->clock.step % LOOK == 0 || s->backend->space == &nb_space_host))
		look_for_encounters(s);
	if (!e->known || e->first == 0 || (e->looks > 0 && e->step == s->clock.step) ||
		(!wanted && !is_time_for_look(s)))
		return;
	nb_step_energy_begin(s); /* a first state that had a force already may have had another one */
	if (!e->known)
		return;
	double scale;
	const double energy = total_energy(s, &scale), error = fabs((energy - e->first) / scale);
	if (!isfinite(error)) /* no potential this time, or a sum that overflows */
		return;
	e->error = error;
	e->largest = fmax(e->largest, error);
	e->step = s->clock.step;
	e->looks++;
	warn(s);
}

void nb_step_energy_report(const struct energy *e)
{
	if (e->warned > 0 && e->error > 2 * e->warned)
		nb_warn("the energy is off by %.3g %% at the end", 100 * e->error);
	if (e->looks)
		nb_verbose("energy %.10g at first, error %.2g in the end, %.2g at most (of %" PRIu64 " state%s)",
			e->first, e->error, e->largest, e->looks, e->looks == 1 ? "" : "s");
}
