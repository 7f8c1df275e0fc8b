/* Where the time of a run goes, for -v. */
#include "common/timer.h"
#include "tools/nb-step/step.h"

#include <stdio.h>

void nb_step_laps_report(const struct step *s)
{
	char text[80 * NB_LAPS], *at = text, *const end = text + sizeof text;
	double rest = 0;
	nb_verbose("%.4g s, of which %.4g s in the force pipeline", nb_now() - s->start, s->force.seconds);
	for (int k = 0; k < s->laps.n; k++) {
		const struct nb_lap *lap = &s->laps.lap[k];
		const double ms = 1000 * lap->seconds / s->force.asked;
		if (!lap->stage)
			rest += ms;
		else
			at += snprintf(at, (size_t)(end - at), "%s %.4g, ", lap->stage, ms);
		if (lap->waited > 0)
			at += snprintf(at, (size_t)(end - at), "of which threads waited %.4g, ",
				1000 * lap->waited / s->force.asked);
	}
	if (at > text) /* kernels on the CPU, which have stages */
		nb_verbose("milliseconds a step: %srest %.4g", text, rest);
}
