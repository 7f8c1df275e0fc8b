/* What a run costs, for -b auto: the steps to come, and the force pipeline in each of them. */
#include "tools/nb-step/step.h"

#include <math.h>

/* At least so many: with --eta it is the forces that set the steps. */
static double steps_to_come(const struct step *s, const struct nb_frame *frame)
{
	double time;
	if (!s->until_given)
		return (double)s->steps - (double)(s->step - s->first_step);
	if (!s->dt_given || nb_frame_attribute_f64(frame, "time", 0, &time))
		return fmin(1, (double)s->steps);
	const double steps = ceil((s->until - time) / s->dt - 0.5);
	return fmin(fmax(steps, 0), (double)s->steps);
}

/* Frames 0, N, 2N ... and the last. */
static double frames_of(const struct step *s, double steps)
{
	if (s->every_time_given)
		return 2 + (s->dt_given ? steps * fabs(s->dt) / s->every_time : 0);
	return s->every ? 1 + ceil(steps / (double)s->every) : 1;
}

/* Through the pipeline; by pipes if its programs are not of this process. */
static void plan_force(struct step *s, struct nb_plan *plan)
{
	if (s->force && nb_coprocess_is_folded(s->force))
		nb_plan_chain(plan, nb_ring_first(&s->force->ring));
	else
		nb_plan_by_host(plan);
}

void nb_step_work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	struct step *s = self;
	const double frames = plan->times, steps = s->command ? steps_to_come(s, plan->frame) : (double)s->steps;
	const int first = !plan->acc; /* a force before the first step */
	(void)run;
	plan->times = frames * steps;
	nb_plan_add(plan, NB_WORK_MOVE, plan->n);
	if (s->collide != COLLIDE_NONE)
		nb_plan_by_host(plan);
	plan->acc = 0;
	if (s->command) {
		const double row = plan->row;
		plan->times = frames * (steps * (double)nb_integrator_forces(s->integrator) + first);
		plan_force(s, plan);
		plan->row = row + (first ? 3 * sizeof(double) : 0);
		plan->acc = 1;
		plan->times = frames * frames_of(s, steps);
	}
	plan->tree = 0;
	plan->level = -1;
}
