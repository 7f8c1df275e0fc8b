/* Orbits for which Wisdom and Holman's map is not made get a warning. */
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <math.h>

/* Square of a step in units of a circular orbit of two planets about each other, over (2 pi)^2. */
static const double CLOSE = 0.25;

/* With fewer steps in a period the map is not to be trusted. */
static const double STEPS_LEAST = 6;

void nb_step_whfast_warn_at_first(struct step *s)
{
	const struct systems *all = &s->systems;
	double shortest = INFINITY;
	size_t fastest = 0;
	for (size_t k = 0; k < all->of.n; k++) {
		const struct nb_whfast *map = &s->planets.map[k];
		double last = 0;
		for (size_t i = 1; i < map->n && !all->stopped[k]; i++) {
			double period;
			const double axis = nb_whfast_axis(map, i, &period), size = axis > 0 ? axis : INFINITY;
			const size_t row = nb_step_system_row(all, k, i);
			if (size < last && !s->planets.warned && !map->democratic) {
				s->planets.warned = 1;
				nb_warn("the orbit of the body with id %" PRIu64 " is smaller than that of id %" PRIu64
					" before it, and '--integrator whfast' wants them from the inside out",
					nb_body_id(s->frame, row),
					nb_body_id(s->frame, nb_step_system_row(all, k, i - 1)));
			}
			if (period > 0 && period < shortest) {
				shortest = period;
				fastest = row;
			}
			last = size;
		}
	}
	const double h = fabs(s->planets.h);
	if (shortest < STEPS_LEAST * h)
		nb_warn("the body with id %" PRIu64 " has a period of %g, which is %.2g steps (want %g or more)",
			nb_body_id(s->frame, fastest), shortest, shortest / h, STEPS_LEAST);
}

void nb_step_whfast_warn_of_encounter(struct step *s, uint64_t begun)
{
	double closest = 0;
	for (size_t k = 0; k < s->systems.of.n; k++)
		closest = s->systems.stopped[k] ? closest : fmax(closest, s->planets.map[k].closest);
	if (s->planets.met || !(closest * s->planets.h * s->planets.h > CLOSE))
		return;
	s->planets.met = 1;
	nb_step_progress_clear(&s->progress);
	nb_warn("planets come closer to each other in steps %" PRIu64 " to %" PRIu64
		" than steps of %g can follow (want --integrator trace or ias15)",
		begun, s->clock.step, fabs(s->planets.h));
}
