#include "tools/filter/plan.h"

#include <math.h>
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

/* Its type is not that of the numbers that are computed with. */
static double f64_form_of(const struct nb_column *column)
{
	const int same = strcmp(column->dtype, "<f8") == 0 || column->field == NB_KEY;
	return same ? 0 : (double)column->ncomp * (double)sizeof(double);
}

static void describe_memory(struct nb_plan *plan, const struct nb_frame *frame)
{
	const double bodies = (double)frame->rows[NB_PARTICLE], share = bodies > 0 ? plan->n / bodies : 1;
	static const enum nb_field field[] = {[NB_PLAN_POS] = NB_POS,
		[NB_PLAN_VEL] = NB_VEL,
		[NB_PLAN_MASS] = NB_MASS,
		[NB_PLAN_EPS] = NB_EPS,
		[NB_PLAN_KEY] = NB_KEY};
	for (int k = 0; k < NB_PLAN_COLUMNS; k++) {
		const struct nb_column *column = nb_frame_field(frame, field[k]);
		plan->column[k].wire = column ? (double)column->rowsize : 0;
		plan->column[k].wide = column ? f64_form_of(column) : 0;
	}
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].table != NB_PARTICLE)
			plan->tables += (double)frame->column[c].rowsize * (double)frame->column[c].rows;
	plan->count[NB_MEMORY_BODY] = plan->n;
	plan->count[NB_MEMORY_NODE] = (double)frame->rows[NB_NODE] * share;
	plan->tables *= frame->rows[NB_NODE] ? share : 1;
	plan->count[NB_MEMORY_BOX] = (double)frame->rows[NB_BOX];
	plan->held[NB_ON_CPU].all = plan->held[NB_ON_DEVICE].all = plan->space != NULL;
}

static void describe(struct nb_plan *plan, const struct nb_frame *frame, double n)
{
	plan->frame = frame;
	plan->n = n;
	plan->row = row_of(frame);
	plan->dim = attribute(frame, "dim", 3) == 2 ? 2 : 3;
	plan->tree = nb_frame_field(frame, NB_NODE_FIRST) != NULL;
	const double level = fmin(
		fmax(attribute(frame, "level", 0), 0), NB_BOXES_MAX_LEVEL_2D); /* the tool refuses others */
	plan->level = nb_frame_field(frame, NB_BOX_FIRST) ? (int)level : -1;
	plan->acc = nb_frame_field(frame, NB_ACC) != NULL;
	plan->pot = nb_frame_field(frame, NB_POT) != NULL;
	plan->times = fmax(attribute(frame, NB_PLAN_TO_COME, 1), 1);
	plan->space = nb_plan_space(frame);
	plan->where[NB_ON_CPU] = plan->where[NB_ON_DEVICE] = plan->space ? NB_ON_DEVICE : NB_ON_CPU;
	describe_memory(plan, frame);
}

/* ---- instances ---------------------------------------------------------------------------------- */

int nb_plan_is_undecided(const struct nb_run *run)
{
	const unsigned has = run->tool->common & NB_COMMON_PLACE;
	return has && run->tool->work && !run->backend && !run->needs.own_backend &&
	       strcmp(run->common.backend, "auto") == 0;
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

/* ---- memory of a device ------------------------------------------------------------------------- */

void nb_plan_use(struct nb_plan *plan, unsigned columns)
{
	for (int s = 0; s < 2; s++)
		plan->held[s].used |= plan->at[s] == NB_ON_DEVICE ? columns : 0;
}

void nb_plan_use_all(struct nb_plan *plan)
{
	for (int s = 0; s < 2; s++)
		if (plan->at[s] == NB_ON_DEVICE) {
			plan->held[s].all = 1;
			plan->held[s].used = 0;
		}
}

void nb_plan_release(struct nb_plan *plan)
{
	for (int s = 0; s < 2; s++) {
		plan->held[s].all = 0;
		plan->held[s].used = 0;
		plan->held[s].made = 0;
	}
}

void nb_plan_make_columns(struct nb_plan *plan, double row)
{
	for (int s = 0; s < 2; s++)
		plan->held[s].made += plan->at[s] == NB_ON_DEVICE ? row : 0;
}

void nb_plan_widen(struct nb_plan *plan, unsigned columns)
{
	for (int k = 0; k < NB_PLAN_COLUMNS; k++)
		if (columns >> k & 1 && plan->column[k].wide > 0) {
			plan->row += plan->column[k].wide - plan->column[k].wire;
			plan->column[k].wire = plan->column[k].wide;
			plan->column[k].wide = 0;
		}
}

/* Of each body. */
static double held_by(const struct nb_plan *plan, const struct nb_plan_held *held)
{
	double row = held->all ? plan->row : held->made;
	for (int k = 0; k < NB_PLAN_COLUMNS; k++)
		if (held->used >> k & 1)
			row += plan->column[k].wide + (held->all ? 0 : plan->column[k].wire);
	return row + plan->aside;
}

static double bytes_of(const struct nb_plan *plan, enum nb_memory_stage stage, unsigned traits)
{
	struct nb_memory_job job = {.traits = traits};
	memcpy(job.count, plan->count, sizeof job.count);
	return nb_memory_of(stage, &job);
}

void nb_plan_take(struct nb_plan *plan, enum nb_memory_stage stage, unsigned traits)
{
	const double scratch = bytes_of(plan, stage, traits);
	for (int s = 0; s < 2; s++) {
		struct nb_plan_held *held = &plan->held[s];
		const double bytes = plan->n * held_by(plan, held) + plan->tables + scratch;
		if (plan->at[s] != NB_ON_DEVICE || bytes <= held->stage[stage].bytes)
			continue;
		held->stage[stage].bytes = bytes;
		held->stage[stage].tool = plan->tool;
		if (bytes > held->most) {
			held->most = bytes;
			held->at = stage;
		}
	}
}

void nb_plan_add_table(struct nb_plan *plan, enum nb_memory_stage stage, unsigned traits)
{
	nb_plan_take(plan, stage, traits);
	plan->tables += bytes_of(plan, stage, traits);
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
	plan->tool = run->tool->name;
	if (run->tool->work)
		run->tool->work(run, run->self, plan);
}

/* To the last instance; what it writes is written by the host. */
static void visit_all(struct nb_plan *plan, struct nb_run *first)
{
	static const enum nb_place host[2] = {NB_ON_CPU, NB_ON_CPU};
	for (struct nb_run *run = first; run; run = plan->alone ? NULL : run->next) {
		visit(plan, run);
		if (!run->next && run->streams & NB_WRITES)
			move(plan, host);
	}
}

void nb_plan_chain(struct nb_plan *plan, struct nb_run *first)
{
	const int cores = plan->machine.cores;
	const char *tool = plan->tool;
	const enum nb_place back[2] = {plan->at[0], plan->at[1]};
	for (struct nb_run *run = first; run; run = run->next)
		visit(plan, run);
	move(plan, back);
	plan->tool = tool;
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
	struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, const struct nb_plan_case *suppose)
{
	memset(plan, 0, sizeof *plan);
	plan->machine.isa = nb_cpu_isa();
	plan->machine.device = suppose->device;
	plan->alone = suppose->alone;
	describe(plan, frame, suppose->n);
	visit_all(plan, first);
	if (!plan->device && !plan->space)
		plan->seconds[NB_ON_DEVICE] += nb_cost_context();
}
