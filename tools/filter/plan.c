#include "tools/filter/plan.h"

#include <string.h>

/* ---- frames ------------------------------------------------------------------------------------- */

static double attribute(const struct nb_frame *frame, const char *key, double fallback)
{
	double value;
	return nb_frame_attribute_f64(frame, key, fallback, &value) ? fallback : value;
}

const struct nb_space *nb_plan_space(const struct nb_frame *frame)
{
	const struct nb_column *pos = nb_frame_field(frame, NB_POS);
	const struct nb_space *device = NULL;
	for (int i = 0; pos && i < NB_MAX_COPIES; i++) {
		const struct nb_copy *copy = &pos->copy[i];
		if (copy->space && copy->valid && copy->space->device < 0)
			return NULL;
		if (copy->space && copy->valid)
			device = copy->space;
	}
	return device;
}

static double row_of(const struct nb_frame *frame)
{
	double bytes = 0;
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].table == NB_PARTICLE)
			bytes += (double)frame->column[c].rowsize;
	return bytes;
}

static void describe(struct nb_plan *plan, const struct nb_frame *frame)
{
	plan->frame = frame;
	plan->n = (double)frame->rows[NB_PARTICLE];
	plan->row = row_of(frame);
	plan->dim = attribute(frame, "dim", 3) == 2 ? 2 : 3;
	plan->tree = nb_frame_field(frame, NB_NODE_FIRST) != NULL;
	const double level = fmin(
		fmax(attribute(frame, "level", 0), 0), NB_BOXES_MAX_LEVEL_2D); /* the tool refuses others */
	plan->level = nb_frame_field(frame, NB_BOX_FIRST) ? (int)level : -1;
	plan->acc = nb_frame_field(frame, NB_ACC) != NULL;
	plan->pot = nb_frame_field(frame, NB_POT) != NULL;
	plan->times = 1;
	plan->space = nb_plan_space(frame);
	plan->where[NB_ON_CPU] = plan->where[NB_ON_DEVICE] = plan->space ? NB_ON_DEVICE : NB_ON_CPU;
}

/* ---- instances ---------------------------------------------------------------------------------- */

int nb_plan_is_undecided(const struct nb_run *run)
{
	const unsigned has = run->tool->common & NB_COMMON_PLACE;
	return has && run->tool->work && !run->backend && !run->own_backend && strcmp(run->common.backend, "auto") == 0;
}

static int cores_of(const struct nb_run *run)
{
	const int now = nb_cpu_threads();
	nb_cpu_set_threads(run->common.threads);
	const int cores = nb_cpu_threads();
	nb_cpu_set_threads(now);
	return cores;
}

/* Where it computes if the undecided ones compute there; what looks at a frame on a device does not bring it back. */
static enum nb_place place_of(const struct nb_run *run, const struct nb_plan *plan, enum nb_place there)
{
	if (run->backend)
		return run->backend->space->device >= 0 ? NB_ON_DEVICE : NB_ON_CPU;
	if (run->tool->common & NB_COMMON_LOOKER && !(nb_plan_is_undecided(run) && there == NB_ON_DEVICE))
		return plan->where[there];
	return nb_plan_is_undecided(run) ? there : NB_ON_CPU;
}

/* ---- adding up ---------------------------------------------------------------------------------- */

static void move(struct nb_plan *plan, const enum nb_place to[2])
{
	for (int s = 0; s < 2; s++) {
		if (plan->where[s] != to[s])
			plan->seconds[s] += plan->times * nb_cost_copy(plan->n * plan->row, to[s]);
		plan->where[s] = to[s];
	}
}

void nb_plan_add(struct nb_plan *plan, enum nb_work work, double amount)
{
	for (int s = 0; s < 2; s++)
		plan->seconds[s] += plan->times * nb_cost(work, amount, plan->at[s], &plan->machine);
}

static void visit(struct nb_plan *plan, struct nb_run *run)
{
	if (plan->nmember < NB_PLAN_MEMBERS)
		plan->member[plan->nmember++] = run;
	plan->undecided |= nb_plan_is_undecided(run);
	if (run->backend && run->backend->space->device >= 0)
		plan->device = run->backend;
	plan->machine.cores = cores_of(run);
	for (int s = 0; s < 2; s++)
		plan->at[s] = place_of(run, plan, (enum nb_place)s);
	move(plan, plan->at);
	if (run->tool->work)
		run->tool->work(run, run->self, plan);
}

/* To the last instance; what it writes is written by the host. */
static void visit_all(struct nb_plan *plan, struct nb_run *first)
{
	static const enum nb_place host[2] = {NB_ON_CPU, NB_ON_CPU};
	for (struct nb_run *run = first; run; run = run->next) {
		visit(plan, run);
		if (!run->next && run->streams & NB_WRITES)
			move(plan, host);
	}
}

void nb_plan_chain(struct nb_plan *plan, struct nb_run *first)
{
	const int cores = plan->machine.cores;
	const enum nb_place back[2] = {plan->at[0], plan->at[1]};
	for (struct nb_run *run = first; run; run = run->next)
		visit(plan, run);
	move(plan, back);
	memcpy(plan->at, back, sizeof back);
	plan->machine.cores = cores;
}

void nb_plan_by_host(struct nb_plan *plan)
{
	static const enum nb_place host[2] = {NB_ON_CPU, NB_ON_CPU};
	const enum nb_place back[2] = {plan->where[0], plan->where[1]};
	move(plan, host);
	move(plan, back);
}

void nb_plan_make(
	struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, struct nb_device_speed device)
{
	memset(plan, 0, sizeof *plan);
	plan->machine.isa = nb_cpu_isa();
	plan->machine.device = device;
	describe(plan, frame);
	visit_all(plan, first);
	if (!plan->device && !plan->space)
		plan->seconds[NB_ON_DEVICE] += nb_cost_context();
}
