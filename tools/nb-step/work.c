/* What a run costs, for -b auto: the steps to come, and the force pipeline in each of them. */
#include "tools/nb-step/step.h"

#include <math.h>

enum { SCALAR = sizeof(double), VECTOR = 3 * sizeof(double), ROW_NUMBER = sizeof(uint32_t) };

/* With --eta it is the forces that set the steps: then eta in the unit of time, the order of N-body units. */
static double steps_to_come(const struct step *s, const struct nb_frame *frame)
{
	double time;
	if (s->opt.integrator->few) /* they are made on this host */
		return fmin(1, (double)s->opt.steps);
	if (!s->opt.until_given)
		return (double)s->opt.steps - (double)(s->clock.step - s->clock.first_step);
	if (s->opt.cosmology)
		return fmin(nb_step_comoving_steps(s, frame), (double)s->opt.steps);
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return fmin(1, (double)s->opt.steps);
	const double dt = s->opt.dt_given ? s->opt.dt : copysign(s->opt.eta, s->opt.until - time);
	const double steps = ceil((s->opt.until - time) / dt - 0.5);
	return fmin(fmax(steps, 0), (double)s->opt.steps);
}

/* Frames 0, N, 2N ... and the last. */
static double frames_of(const struct step *s, double steps)
{
	if (s->opt.every_time_given)
		return 2 + (s->opt.dt_given ? steps * fabs(s->opt.dt) / s->opt.every_time : 0);
	if (s->opt.at)
		return 1 + (double)s->comoving.nmark;
	return s->opt.every ? 1 + ceil(steps / (double)s->opt.every) : 1;
}

/* Through the pipeline; by pipes if its programs are not of this process. */
static void plan_force(struct step *s, struct nb_plan *plan)
{
	if (s->force.process && nb_coprocess_is_folded(s->force.process))
		nb_plan_chain(plan, nb_ring_first(&s->force.process->ring));
	else
		nb_plan_by_host(plan);
}

/* With what stays here meanwhile: velocities in the order in which they were sent, and numbers in place of them; the
 * accelerations that a corrector wants; a state that is on its way out. */
static void plan_forces(struct step *s, struct nb_plan *plan, int writes)
{
	const int keeps = !s->opt.send_velocities && !s->opt.integrator->needs_jerk,
		  corrects = s->opt.integrator->corrections > 0;
	const double row = plan->row - (plan->acc ? VECTOR : 0) - (plan->pot ? SCALAR : 0), aside = plan->aside;
	plan->aside += writes ? row + VECTOR : 0;
	plan->aside += corrects ? 2 * VECTOR : 0;
	plan->row = row;
	if (keeps || corrects) {
		plan->row += ROW_NUMBER;
		plan->aside += ROW_NUMBER;
	}
	if (keeps) {
		plan->row -= VECTOR;
		plan->aside += VECTOR;
		plan->column[NB_PLAN_VEL].wire = 0;
	}
	plan->acc = plan->pot = 0;
	nb_plan_use_all(plan); /* from the second force on */
	plan_force(s, plan);
	plan->tables = 0;
	const double answer = row + VECTOR + (plan->pot ? SCALAR : 0);
	nb_plan_use_all(plan);
	if (plan->column[NB_PLAN_KEY].wire > 0) { /* dropped again */
		plan->row -= plan->column[NB_PLAN_KEY].wire;
		plan->column[NB_PLAN_KEY].wire = 0;
		nb_plan_take(plan, NB_MEMORY_RETURN, 0);
	}
	plan->column[NB_PLAN_VEL].wire = VECTOR;
	plan->row = answer;
	plan->aside = aside;
	plan->acc = 1;
}

double nb_step_forces(const struct step *s, const struct nb_frame *frame)
{
	const int first = !nb_frame_field(frame, NB_ACC); /* a force before the first step */
	return steps_to_come(s, frame) * (double)nb_integrator_forces(s->opt.integrator) + first;
}

void nb_step_work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	struct step *s = self;
	const double frames = plan->times,
		     steps = s->opt.command ? steps_to_come(s, plan->frame) : (double)s->opt.steps;
	(void)run;
	plan->times = frames * steps;
	nb_plan_add(plan, NB_WORK_MOVE, plan->n);
	nb_plan_widen(plan, NB_PLAN(POS) | NB_PLAN(VEL) | (s->opt.collide == COLLIDE_MERGE ? NB_PLAN(MASS) : 0));
	nb_plan_use(plan, NB_PLAN(POS) | NB_PLAN(VEL));
	if (s->opt.collide != COLLIDE_NONE)
		nb_plan_by_host(plan);
	if (s->opt.command) {
		plan->times = frames * nb_step_forces(s, plan->frame);
		plan_forces(s, plan, frames_of(s, steps) > 1);
		plan->times = frames * frames_of(s, steps);
	} else {
		plan->row -= plan->acc ? VECTOR : 0;
		plan->acc = 0;
		nb_plan_make_columns(plan, VECTOR); /* acc, of the input */
		nb_plan_take(plan, NB_MEMORY_STEP, 0);
	}
	plan->tables = 0;
	plan->tree = 0;
	plan->level = -1;
}
