/* --cosmology: lengths in the variable of the steps, and how far a run is. */
#include "tools/nb-step/step.h"

#include <math.h>

double nb_step_span(const struct step *s, double a0, double a1)
{
	return s->opt.steps_in == STEPS_IN_LNA ? log(a1 / a0)
	       : s->opt.steps_in == STEPS_IN_A ? a1 - a0
					       : nb_cosmology_span(&s->comoving.law, a0, a1);
}

double nb_step_after(const struct step *s, double a, double length)
{
	return s->opt.steps_in == STEPS_IN_LNA ? a * exp(length)
	       : s->opt.steps_in == STEPS_IN_A ? a + length
					       : nb_cosmology_later(&s->comoving.law, a, length);
}

double nb_step_share_done(const struct step *s, double first)
{
	const double now = s->clock.now.time;
	if (!s->opt.until_given)
		return 0;
	return s->opt.cosmology ? nb_step_span(s, first, now) / nb_step_span(s, first, s->opt.until)
				: (now - first) / (s->opt.until - first);
}
