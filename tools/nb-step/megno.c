/* What --megno finds, in frames. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

void nb_step_megno_check(const struct step *s)
{
	const enum nb_few few = s->opt.integrator->few;
	if (s->opt.megno && few != NB_FEW_IAS15 && few != NB_FEW_WHFAST)
		nb_die(NB_EXIT_USAGE, "option '--megno' needs '--integrator ias15' or 'whfast'");
}

void nb_step_megno_begin(struct step *s)
{
	struct systems *all = &s->systems;
	if (!s->opt.megno)
		return;
	if (s->extras.n > 0 && nb_extra_needs_velocities(s->extras.list))
		nb_die(NB_EXIT_FAILED, "'--megno' takes no force of nb-extra that depends on velocities");
	all->variation = nb_require_memory(s->frame, nb_alloc_zero(all->of.n, sizeof *all->variation));
}

void nb_step_megno_begin_map(const struct step *s, size_t k, const double *x)
{
	struct nb_variation *own = s->systems.variation ? &s->systems.variation[k] : NULL;
	s->planets.map[k].variation = own;
	if (own && x)
		nb_variation_begin_whfast(own, &s->planets.map[k], x);
}

int nb_step_megno_change_step(const struct step *s, size_t k)
{
	return s->systems.variation ? nb_variation_change_step(&s->planets.map[k], s->planets.h) : NB_OK;
}

void nb_step_megno_take_up(struct step *s)
{
	const struct systems *all = &s->systems;
	const int none = !all->variation || (!s->restart.numbers && !s->saved.resumed);
	for (size_t k = 0; k < all->of.n && !none; k++) {
		double x[3 * NB_WHFAST_MOST];
		(void)nb_step_system_gather(all, k, 3, all->x, x);
		if (!nb_step_restart_take_up(s, k) && !all->stopped[k])
			nb_step_megno_begin_map(s, k, x);
	}
}

void nb_step_megno_mark(struct step *s)
{
	static const char *const name[] = {"megno", "lyapunov"};
	static double (*const value[])(const struct nb_variation *) = {nb_variation_megno, nb_variation_exponent};
	const struct systems *all = &s->systems;
	const struct nb_variation *w = all->variation;
	for (int c = 0; c < 2; c++) {
		double *to = w && all->many ? nb_step_new_column(s, name[c], "<f8", c == 0 ? "" : "1/time") : NULL;
		for (size_t i = 0; to && i < s->frame->rows[NB_PARTICLE]; i++)
			to[i] = 0;
		for (size_t k = 0; to && k < all->of.n; k++)
			for (size_t i = all->of.first[k]; i < all->of.first[k + 1]; i++)
				to[all->of.row[i]] = value[c](&w[k]);
		if (w && !all->many && all->of.n > 0)
			nb_set_attribute_f64(s->frame, name[c], value[c](&w[0]));
		else
			nb_frame_drop_attribute(s->frame, name[c]); /* of another run */
	}
}
