/* --restartable: from positions and velocities alone an integrator that has more in its memory would go on with other
 * steps.  So frames have that, too, as a column of numbers: those of a system stand in the rows of its bodies, one
 * after the other, behind how many they are; 0: it has made no step.  They count only beside the positions and
 * velocities that follow from them. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers for a body, at most; and of a system. */
enum { WIDEST = 128, NUMBERS = WIDEST * NB_SMALL_MOST };

static void name_of(const struct step *s, char name[NB_NAME_SIZE])
{
	snprintf(name, NB_NAME_SIZE, "%s_state", nb_step_few_name(s));
}

int nb_step_restart_needed(const struct step *s)
{
	return s->opt.integrator->few != NB_FEW_NONE && (s->opt.integrator->few != NB_FEW_WHFAST || s->opt.megno);
}

void nb_step_restart_check(const struct step *s)
{
	if (s->opt.restartable && !nb_step_restart_needed(s))
		nb_die(NB_EXIT_USAGE,
			"option '--restartable' needs '--integrator ias15', 'trace' or 'ar', or '--megno' "
			"(frames of others always are)");
}

/* All numbers of system k. */
static int carry(struct step *s, size_t k, struct nb_carry *c)
{
	if (s->opt.integrator->few == NB_FEW_TRACE) {
		nb_trace_carry(&s->trace[k].run, c);
		return NB_OK;
	}
	if (s->opt.integrator->few == NB_FEW_WHFAST) { /* its map has columns of its own */
		nb_variation_carry(&s->systems.variation[k], s->planets.map[k].n, c);
		return NB_OK;
	}
	struct fifteen_of *of = &s->fifteen.of[k];
	double all = (double)of->all;
	const int status = of->is_ar ? nb_ar_carry(&of->ar, c) : nb_ias15_carry(&of->fifteen, c);
	if (s->systems.variation)
		nb_variation_carry(&s->systems.variation[k], of->fifteen.n, c);
	nb_carry_numbers(c, &of->begun.time, 1);
	nb_carry_numbers(c, &of->begun.rest, 1);
	nb_carry_numbers(c, &of->ended.time, 1);
	nb_carry_numbers(c, &of->ended.rest, 1);
	nb_carry_numbers(c, &all, 1);
	of->all = all >= 0 && all < 0x1p53 ? (uint64_t)all : 0;
	return status;
}

static int has_moved(const struct step *s, size_t k)
{
	return s->opt.integrator->few == NB_FEW_TRACE	 ? s->trace[k].run.elapsed != 0
	       : s->opt.integrator->few == NB_FEW_WHFAST ? s->systems.variation[k].megno.n > 0
							 : nb_step_fifteen_last(&s->fifteen.of[k]) != 0;
}

static size_t count(struct step *s, size_t k)
{
	struct nb_carry c = {0};
	(void)carry(s, k, &c);
	return c.n;
}

/* ---- out of frames ------------------------------------------------------------------------------ */

void nb_step_restart_free(struct restart *r)
{
	nb_free(r->numbers);
	*r = (struct restart){0};
}

void nb_step_restart_keep(struct step *s)
{
	char name[NB_NAME_SIZE];
	nb_step_restart_free(&s->restart);
	if (!nb_step_restart_needed(s))
		return;
	name_of(s, name);
	const struct nb_column *column = nb_frame_find(s->frame, name);
	if (!column || column->ncomp > WIDEST)
		return;
	s->restart.width = column->ncomp;
	s->restart.numbers = nb_step_keep(s, name, column->ncomp);
}

/* Of system k at the time of the clock. */
static int find_state(const struct step *s, size_t k, double *pos, double *vel)
{
	if (s->opt.integrator->few == NB_FEW_WHFAST)
		return nb_whfast_store(&s->planets.map[k], pos, vel);
	if (s->opt.integrator->few != NB_FEW_TRACE)
		return nb_step_fifteen_at(&s->fifteen.of[k], &s->clock.now, pos, vel);
	nb_trace_store(&s->trace[k].run, pos, vel);
	return NB_OK;
}

/* Whether system k goes on from the numbers x that it had, as they lead to its positions and velocities. */
static int takes_up(struct step *s, size_t k, double *x, size_t room)
{
	const struct systems *all = &s->systems;
	double want[2][3 * NB_SMALL_MOST], pos[3 * NB_SMALL_MOST], vel[3 * NB_SMALL_MOST];
	const size_t n = nb_step_system_gather(all, k, 3, all->x, want[0]), bytes = 3 * n * sizeof *pos;
	struct nb_carry c = {.at = x + 1, .back = 1};
	(void)nb_step_system_gather(all, k, 3, all->v, want[1]);
	const size_t need = count(s, k);
	const int other_step = s->opt.integrator->few == NB_FEW_WHFAST && s->planets.h != s->planets.dt;
	if (need >= room || x[0] != (double)need || other_step || carry(s, k, &c) != NB_OK)
		return 0;
	if (all->stopped[k])
		return 1; /* it makes no step */
	return find_state(s, k, pos, vel) == NB_OK && memcmp(pos, want[0], bytes) == 0 &&
	       memcmp(vel, want[1], bytes) == 0;
}

int nb_step_restart_take_up(struct step *s, size_t k)
{
	const struct restart *r = &s->restart;
	double x[NUMBERS];
	if (r->numbers) {
		const size_t n = nb_step_system_gather(&s->systems, k, r->width, r->numbers, x);
		if (n > 0 && x[0] == 0)
			return 0;
		if (n > 0 && takes_up(s, k, x, n * r->width))
			return 1;
	}
	if (s->saved.resumed && !s->systems.stopped[k] && s->systems.of.first[k + 1] > s->systems.of.first[k])
		nb_die(NB_EXIT_FAILED,
			"'--resume' needs frames of '--integrator %s --restartable', and frame %" PRIu64
			" of '%s' has no state of that run (want 'nb-select --frames -1 %s | nb-step ...', for another "
			"run)",
			nb_step_few_name(s), s->frame->number, s->opt.resume, s->opt.resume);
	return 0;
}

/* ---- into frames -------------------------------------------------------------------------------- */

void nb_step_restart_mark(struct step *s)
{
	const struct systems *all = &s->systems;
	char name[NB_NAME_SIZE];
	size_t width = 1;
	if (!s->opt.restartable)
		return;
	name_of(s, name);
	for (size_t k = 0; k < all->of.n; k++) {
		const size_t n = all->of.first[k + 1] - all->of.first[k];
		const size_t own = n > 0 ? (count(s, k) + n) / n : 1;
		width = own > width ? own : width;
	}
	double *to = nb_require_memory(
		s->frame, nb_column_write(nb_require_memory(s->frame, nb_frame_add(s->frame, name, NB_PARTICLE, "<f8",
									      (uint32_t)width, "", NB_DERIVED)),
				  &nb_space_host, NB_WIRE));
	for (size_t k = 0; k < all->of.n; k++) {
		const size_t n = all->of.first[k + 1] - all->of.first[k];
		double x[NUMBERS] = {0};
		struct nb_carry c = {.at = x + 1};
		if (has_moved(s, k))
			(void)carry(s, k, &c);
		x[0] = (double)c.n;
		for (size_t i = 0; i < n; i++)
			memcpy(to + width * nb_step_system_row(all, k, i), x + width * i, width * sizeof *to);
	}
}
