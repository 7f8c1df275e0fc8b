/* What nb-force does with a frame: its method, precision and order, and what they cost. */
#include "tools/filter/plan.h"
#include "tools/nb-force/force.h"

#include <math.h>

enum method nb_force_method(const struct force *opt, int tree, int boxes)
{
	if (opt->kernel)
		return opt->kernel->traits & NB_PAPER_BOXES ? METHOD_NEAR : METHOD_DIRECT;
	if (opt->method != METHOD_AUTO)
		return (enum method)opt->method;
	if (tree || opt->theta_given || opt->mac_given)
		return METHOD_TREE;
	return boxes && opt->accuracy == 0 ? METHOD_NEAR : METHOD_DIRECT; /* boxes alone leave out what is far */
}

enum nb_precision nb_force_precision(const struct force *opt, enum method method)
{
	if (opt->precision != PRECISION_AUTO)
		return (enum nb_precision)opt->precision;
	if (opt->kernel)
		return nb_paper_precision(opt->kernel);
	if (opt->accuracy > 0)
		return nb_force_accurate_precision(opt, method);
	return method == METHOD_TREE || method == METHOD_FMM ? NB_F32 : NB_F64;
}

/* ---- what it costs ------------------------------------------------------------------------------ */

/* Pairs of all bodies, or of those in a box and its neighbours. */
static double pairs(const struct nb_plan *plan, enum method method)
{
	const double around = plan->dim == 2 ? 9 : 27, boxes = ldexp(1, plan->dim * plan->level);
	return plan->n * plan->n * (method != METHOD_DIRECT && around < boxes ? around / boxes : 1);
}

int nb_force_order(const struct force *opt, int dim)
{
	return opt->order_given ? opt->order : dim == 2 ? NB_FMM_ORDER_2D : NB_FMM_ORDER_3D;
}

/* Multiply-adds of the far field: of pairs of boxes, at all levels, and of bodies. */
static double terms(const struct force *opt, const struct nb_plan *plan)
{
	const double boxes = ldexp(1, plan->dim * plan->level), children = plan->dim == 2 ? 4 : 8;
	const double each = nb_fmm_terms(plan->dim, nb_force_order(opt, plan->dim));
	return plan->level < 2 ? 0 : fmin(boxes, plan->n) * children / (children - 1) * each + plan->n * sqrt(each);
}

void nb_force_work(struct nb_run *run, void *self, struct nb_plan *plan)
{
	static const enum nb_work direct[] = {
		[NB_F32] = NB_WORK_DIRECT_F32, [NB_MIXED] = NB_WORK_DIRECT_MIXED, [NB_F64] = NB_WORK_DIRECT_F64};
	static const enum nb_work walk[] = {
		[NB_F32] = NB_WORK_WALK_F32, [NB_MIXED] = NB_WORK_WALK_MIXED, [NB_F64] = NB_WORK_WALK_F64};
	const struct force *opt = self;
	if (opt->at_path) { /* which may not be open yet */
		const double n = opt->at.count || opt->at.now.ncolumn ? (double)opt->at.now.rows[NB_PARTICLE] : plan->n;
		if (nb_force_at_method(opt) == METHOD_DIRECT)
			nb_plan_add(plan, NB_WORK_DIRECT_F64, 2 * n * plan->n);
		else
			nb_plan_add(plan, NB_WORK_WALK_F32,
				n * nb_cost_outputs(opt->potential, 0) * nb_cost_angle(opt->theta, plan->n));
		plan->n = n;
		plan->tree = 0;
		plan->level = -1;
		plan->acc = 1;
		plan->pot = opt->potential;
		return;
	}
	const enum method method = nb_force_method(opt, plan->tree, plan->level >= 0);
	const enum nb_precision precision = nb_force_precision(opt, method);
	const double outputs = nb_cost_outputs(opt->potential, opt->jerk);
	const int none = nb_given(run, &opt->G) && opt->G == 0;
	if (method == METHOD_TREE && !none) {
		const double bodies = nb_cost_angle(opt->theta, plan->n);
		if (opt->mac == NB_MAC_ACCELERATION) { /* after a walk for nothing but accelerations */
			nb_plan_add(plan, walk[precision], plan->n * bodies);
			nb_plan_add(plan, walk[precision], plan->n * outputs * nb_cost_alpha(opt->alpha, plan->n));
		} else {
			nb_plan_add(plan, walk[precision], plan->n * outputs * bodies);
		}
	} else if (!none) {
		nb_plan_add(plan, direct[precision], outputs * pairs(plan, method));
		if (method == METHOD_FMM)
			nb_plan_add(plan, precision == NB_F64 ? NB_WORK_TERM_F64 : NB_WORK_TERM_F32, terms(opt, plan));
	}
	/* a pair that acts on one of its bodies alone takes nearly as long as one that acts on both */
	nb_plan_add(plan, NB_WORK_DIRECT_F64, 2 * fmin(opt->audit, plan->n) * plan->n);
	plan->row += plan->acc ? 0 : 3 * sizeof(double);
	plan->acc = 1;
	plan->pot = opt->potential;
}
