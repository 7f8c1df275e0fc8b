/* States of integrators that make several steps of a few bodies at a time, in frames: with the force of the pipeline,
 * which must be the one that they have. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Accelerations are the same but for rounding if they differ by no more than this fraction of the sum of all pulls. */
static const double ROUNDING = 1e-12;

const char *nb_step_few_name(const struct step *s)
{
	static const char *const name[] = {
		[NB_FEW_WHFAST] = "whfast", [NB_FEW_IAS15] = "ias15", [NB_FEW_TRACE] = "trace"};
	return name[s->opt.integrator->few];
}

static _Noreturn void refuse(struct step *s, const char *what, const char *want)
{
	nb_step_progress_clear(&s->progress);
	nb_die(NB_EXIT_FAILED, "%s in step %" PRIu64 ", and '--integrator %s' %s", what, s->clock.step,
		nb_step_few_name(s), want);
}

/* Whether acc is sum G m d / (d^2 + eps^2)^(3/2) over the other bodies. */
static int is_force_of_bodies(const struct step *s, double G, double eps)
{
	const size_t n = s->frame->rows[NB_PARTICLE];
	const double *mass = nb_step_read(s, NB_MASS, &nb_space_host), *pos = nb_step_read(s, NB_POS, &nb_space_host);
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	for (size_t i = 0; i < n; i++) {
		double sum[3] = {0}, all = 0;
		for (size_t j = 0; j < n; j++) {
			double d[3], r2 = eps * eps;
			for (size_t k = 0; k < 3; k++) {
				d[k] = pos[3 * j + k] - pos[3 * i + k];
				r2 += d[k] * d[k];
			}
			if (!(r2 > 0) || i == j)
				continue; /* itself, or where it collides */
			const double pull = G * mass[j] / r2;
			all += fabs(pull);
			for (int k = 0; k < 3; k++)
				sum[k] += pull * d[k] / sqrt(r2);
		}
		for (size_t k = 0; k < 3; k++)
			if (fabs(acc[3 * i + k] - sum[k]) > ROUNDING * all)
				return 0;
	}
	return 1;
}

void nb_step_few_require(struct step *s)
{
	const double G = nb_require_attribute(s->frame, "G", 1), eps = nb_require_attribute(s->frame, "softening", 0);
	const int softened = s->opt.integrator->few == NB_FEW_IAS15;
	if (nb_frame_field(s->frame, NB_EPS) || nb_frame_attribute(s->frame, "softening_kernel"))
		refuse(s, "bodies have softenings of their own, or not Plummer's", "takes none of these");
	if (!softened && eps > 0)
		refuse(s, "forces are softened", "takes no softening (want nb-force -e 0)");
	if (!is_force_of_bodies(s, G, eps))
		refuse(s, "the force is not that of all bodies on each other",
			"takes no other (want nb-force alone, a direct sum in f64)");
}

/* What the integrator has taken from the first frame of the run. */
struct taken {
	double mass[NB_SMALL_MOST], G, eps;
};

static struct taken take(struct step *s)
{
	struct taken to = {
		.G = nb_require_attribute(s->frame, "G", 1), .eps = nb_require_attribute(s->frame, "softening", 0)};
	memcpy(to.mass, nb_step_read(s, NB_MASS, &nb_space_host), s->frame->rows[NB_PARTICLE] * sizeof *to.mass);
	return to;
}

void nb_step_few_show(struct step *s, const double *pos, const double *vel, double dt)
{
	const size_t bytes = 3 * s->frame->rows[NB_PARTICLE] * sizeof *pos;
	const struct taken before = take(s);
	memcpy(nb_step_update(s, NB_POS, &nb_space_host), pos, bytes);
	memcpy(nb_step_update(s, NB_VEL, &nb_space_host), vel, bytes);
	nb_step_drop_stale(s);
	nb_step_require_in_range(s, s->clock.step, dt);
	nb_step_compute_force(s);
	if (memcmp(pos, nb_step_read(s, NB_POS, &nb_space_host), bytes) != 0)
		refuse(s, "the force pipeline changes the order of the bodies, or moves them",
			"wants them as they are (want nb-force alone)");
	const struct taken after = take(s);
	if (memcmp(&before, &after, sizeof before) != 0)
		refuse(s, "the force pipeline changes masses, G or the softening",
			"has those of the first state (want nb-force alone)");
	nb_step_few_require(s);
}
