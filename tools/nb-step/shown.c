/* States of integrators that make several steps of a few bodies at a time, in frames: with the force of the pipeline,
 * which must be the one that they have. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Accelerations are the same but for rounding if they differ by no more than this fraction of the sum of all pulls. */
static const double ROUNDING = 1e-12;

/* Whether acc of system k is sum G m d / (d^2 + eps^2)^(3/2) over its other bodies, and what nb-extra adds. */
static int is_force_of_bodies(const struct step *s, size_t k, double G, double eps, const double *acc_of_all)
{
	const struct systems *all = &s->systems;
	double mass[NB_SMALL_MOST], pos[3 * NB_SMALL_MOST], vel[3 * NB_SMALL_MOST], acc[3 * NB_SMALL_MOST];
	double gm[NB_SMALL_MOST], extra[3 * NB_SMALL_MOST] = {0};
	const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
	(void)nb_step_system_gather(all, k, 3, all->x, pos);
	(void)nb_step_system_gather(all, k, 3, all->v, vel);
	(void)nb_step_system_gather(all, k, 3, acc_of_all, acc);
	for (size_t i = 0; i < n; i++)
		gm[i] = G * mass[i];
	if (nb_step_extra(s, k))
		nb_extra_add(nb_step_extra(s, k), n, gm, pos, vel, extra, NULL);
	for (size_t i = 0; i < n; i++) {
		double sum[3] = {extra[3 * i], extra[3 * i + 1], extra[3 * i + 2]};
		double pulls = fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]);
		for (size_t j = 0; j < n; j++) {
			double d[3], r2 = eps * eps;
			for (size_t c = 0; c < 3; c++) {
				d[c] = pos[3 * j + c] - pos[3 * i + c];
				r2 += d[c] * d[c];
			}
			if (!(r2 > 0) || i == j)
				continue; /* itself, or where it collides */
			const double pull = G * mass[j] / r2;
			pulls += fabs(pull);
			for (int c = 0; c < 3; c++)
				sum[c] += pull * d[c] / sqrt(r2);
		}
		for (size_t c = 0; c < 3; c++)
			if (fabs(acc[3 * i + c] - sum[c]) > ROUNDING * pulls)
				return 0;
	}
	return 1;
}

void nb_step_few_require(struct step *s)
{
	const struct systems *all = &s->systems;
	const double G = nb_require_attribute(s->frame, "G", 1), eps = nb_require_attribute(s->frame, "softening", 0);
	const int softened = s->opt.integrator->few == NB_FEW_IAS15 || !s->opt.integrator->few;
	if (nb_frame_field(s->frame, NB_EPS) || nb_frame_attribute(s->frame, "softening_kernel"))
		nb_step_few_refuse(s, "bodies have softenings of their own, or not Plummer's", "takes none of these");
	if (!softened && eps > 0)
		nb_step_few_refuse(s, "forces are softened", "takes no softening (want nb-force -e 0)");
	const double *acc = nb_step_read(s, NB_ACC, &nb_space_host);
	int is_theirs = 1;
	nb_step_extras_find(s);
#pragma omp parallel for schedule(static) reduction(& : is_theirs) if (all->of.n > 64)
	for (size_t k = 0; k < all->of.n; k++)
		is_theirs &= is_force_of_bodies(s, k, G, eps, acc);
	if (!is_theirs)
		nb_step_few_refuse(s, "the force is not that of all bodies on each other",
			!s->opt.integrator->few
				? "takes no other (want nb-force alone, a direct sum in f64)"
				: "takes no other (want nb-force, a direct sum in f64, alone or with nb-extra)");
}

void nb_step_few_show(struct step *s, double dt)
{
	const struct systems *all = &s->systems;
	const size_t n = s->frame->rows[NB_PARTICLE], bytes = 3 * n * sizeof *all->x;
	memcpy(nb_step_update(s, NB_POS, &nb_space_host), all->x, bytes);
	memcpy(nb_step_update(s, NB_VEL, &nb_space_host), all->v, bytes);
	nb_step_systems_mark(s);
	nb_step_drop_stale(s);
	nb_step_require_in_range(s, s->clock.step, dt);
	nb_step_compute_force(s);
	if (memcmp(all->x, nb_step_read(s, NB_POS, &nb_space_host), bytes) != 0 ||
		memcmp(all->v, nb_step_read(s, NB_VEL, &nb_space_host), bytes) != 0)
		nb_step_few_refuse(s, "the force pipeline changes the order of the bodies, or moves them",
			"wants them as they are (want nb-force alone)");
	if (memcmp(all->mass, nb_step_read(s, NB_MASS, &nb_space_host), n * sizeof *all->mass) != 0 ||
		nb_require_attribute(s->frame, "G", 1) != all->G ||
		nb_require_attribute(s->frame, "softening", 0) != all->eps)
		nb_step_few_refuse(s, "the force pipeline changes masses, G or the softening",
			"has those of the first state (want nb-force alone)");
	nb_step_few_require(s);
	nb_step_megno_mark(s);
	nb_step_restart_mark(s);
}
