/* What --megno finds, in frames. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

void nb_step_megno_mark(struct step *s)
{
	static const char *const name[] = {"megno", "lyapunov"};
	static double (*const value[])(const struct nb_variation *) = {nb_variation_megno, nb_variation_exponent};
	const struct systems *all = &s->systems;
	const struct nb_variation *w = s->fifteen.variation;
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
