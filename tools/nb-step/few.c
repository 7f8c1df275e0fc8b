/* Integrators that make several steps of a few bodies at a time, without frames: what they share. */
#include "common/mem.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the options that whfast alone has. */
static void check_whfast(const struct step *s)
{
	const int corrector = nb_given(s->run, &s->opt.corrector_number), kernel = nb_given(s->run, &s->opt.lazy);
	const char *of_whfast = corrector			       ? "corrector"
				: kernel			       ? "kernel"
				: nb_given(s->run, &s->opt.democratic) ? "coordinates"
								       : NULL;
	if (of_whfast && s->opt.integrator->few != NB_FEW_WHFAST)
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--integrator whfast'", of_whfast);
	if (s->opt.democratic && (s->opt.corrector_number || s->opt.lazy))
		nb_die(NB_EXIT_USAGE, "'--coordinates democratic' takes no '--%s' (want jacobi)",
			s->opt.corrector_number ? "corrector" : "kernel");
}

void nb_step_few_check(const struct step *s)
{
	const char *other = s->opt.collide != COLLIDE_NONE				 ? "collide"
			    : s->opt.eta_given && s->opt.integrator->few != NB_FEW_IAS15 ? "eta"
			    : s->opt.levels_given					 ? "levels"
			    : s->opt.launcher						 ? "mpi"
			    : s->opt.send_velocities					 ? "send-velocities"
											 : NULL;
	check_whfast(s);
	nb_step_megno_check(s);
	nb_step_restart_check(s);
	if (!s->opt.integrator->few)
		return;
	if (other)
		nb_die(NB_EXIT_USAGE, "'--integrator %s' takes no '--%s'%s", nb_step_few_name(s), other,
			strcmp(other, "collide") == 0 ? " (want --integrator leapfrog)" : "");
	if (s->opt.eta_given && s->opt.eta > 1)
		nb_die(NB_EXIT_USAGE, "invalid eta '%g' (want a number <= 1 with '--integrator ias15')", s->opt.eta);
	if (!s->opt.command)
		nb_die(NB_EXIT_USAGE, "'--integrator %s' needs the force pipeline as operand", nb_step_few_name(s));
}

static void require_few(const struct step *s, size_t n, uint64_t number)
{
	char of[40] = "";
	if (n <= NB_SMALL_MOST)
		return;
	if (s->systems.many)
		snprintf(of, sizeof of, "system %" PRIu64 " of ", number);
	nb_die(NB_EXIT_FAILED,
		"%sframe %" PRIu64 " has %zu bodies, and '--integrator %s' takes at most %d "
		"(want --integrator hermite or leapfrog)",
		of, s->frame->number, n, nb_step_few_name(s), NB_SMALL_MOST);
}

void nb_step_few_keep(struct step *s)
{
	nb_step_whfast_keep(s);
	nb_step_restart_keep(s);
}

void nb_step_few_free(struct step *s)
{
	nb_step_whfast_free(&s->planets);
	nb_step_ias15_free(s);
	nb_free(s->trace);
	nb_step_restart_free(&s->restart);
	nb_step_extras_free(&s->extras);
}

/* Orbits about the first body are no good ones if it is not the star. */
static void look_for_star(const struct step *s)
{
	const struct systems *all = &s->systems;
	const int about_first = s->opt.integrator->few == NB_FEW_TRACE || s->opt.democratic;
	for (size_t k = 0; k < all->of.n && about_first; k++)
		for (size_t i = 1; i < all->of.first[k + 1] - all->of.first[k]; i++) {
			const size_t row = nb_step_system_row(all, k, i), first = nb_step_system_row(all, k, 0);
			if (!(all->mass[row] > all->mass[first]))
				continue;
			nb_warn("the body with id %" PRIu64 " is heavier than the first one, that with id %" PRIu64
				", about which '%s' has all orbits (put 'nb-select --sort -mass' before)",
				nb_body_id(s->frame, row), nb_body_id(s->frame, first),
				s->opt.democratic ? "--coordinates democratic" : "--integrator trace");
			return;
		}
}

void nb_step_few_begin(struct step *s, int computed)
{
	const struct nb_systems *of = &s->systems.of;
	if (s->opt.integrator->few != NB_FEW_WHFAST)
		nb_step_whfast_forget(s); /* what another run has left */
	if (!s->opt.integrator->few)
		return;
	for (size_t k = 0; k < of->n; k++)
		require_few(s, of->first[k + 1] - of->first[k], of->number[k]);
	if (s->backend->space != &nb_space_host || nb_ranks_size() > 1)
		nb_die(NB_EXIT_FAILED, "'--integrator %s' computes on one host without a device (want -b cpu)",
			nb_step_few_name(s));
	if (!computed) /* the field acc of the input may be of another force */
		nb_step_compute_force(s);
	nb_step_systems_begin(s);
	nb_step_few_require(s);
	nb_step_megno_begin(s);
	switch (s->opt.integrator->few) {
	case NB_FEW_WHFAST: nb_step_whfast_begin(s); break;
	case NB_FEW_TRACE: nb_step_trace_begin(s); break;
	default: nb_step_ias15_begin(s);
	}
	look_for_star(s);
	nb_step_systems_mark(s);
	nb_step_megno_mark(s);
	nb_step_restart_mark(s); /* the first frame has what the others have */
}

uint64_t nb_step_few(struct step *s, uint64_t most, double *dt, double *exact)
{
	switch (s->opt.integrator->few) {
	case NB_FEW_WHFAST: return nb_step_whfast(s, most, dt, exact);
	case NB_FEW_TRACE: return nb_step_trace(s, most, dt, exact);
	default: return nb_step_ias15(s, most, exact);
	}
}
