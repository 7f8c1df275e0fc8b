/* What nb-force does with a frame: its method, precision and order, and what they cost. */
#include "tools/filter/choose.h"
#include "tools/filter/plan.h"
#include "tools/nb-force/force.h"

#include <math.h>
#include <string.h>

/* ---- what it costs ------------------------------------------------------------------------------ */

/* Pairs of all bodies, or of those in a box and its neighbours. */
static double pairs(const struct nb_plan *plan, enum method method)
{
	if (nb_frame_field(plan->frame, NB_SYSTEM)) /* whose sizes are not known here */
		return 16 * plan->n;
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

/* ---- the memory it takes ------------------------------------------------------------------------ */

/* As the device's own choice of a kernel. */
static int is_computed_once(const struct nb_plan *plan)
{
	const double boxes = plan->count[NB_MEMORY_BOX];
	return boxes >= 2048 && ceil(plan->n / boxes) > 48;
}

static double coefficients(int dim, double order)
{
	return dim == 2 ? (order + 1) * (order + 2) / 2 : (order + 1) * (order + 2) * (order + 3) / 6;
}

static unsigned traits_of(
	struct nb_run *run, const struct force *opt, const struct nb_plan *plan, enum nb_precision precision)
{
	const char *kernel = nb_frame_attribute(plan->frame, "softening_kernel");
	const int own = plan->column[NB_PLAN_EPS].wire > 0 && !nb_given(run, &opt->softening);
	const int spline = nb_given(run, &opt->kernel_of_softening) ? opt->kernel_of_softening == NB_SPLINE
								    : kernel && strcmp(kernel, "spline") == 0;
	unsigned traits = precision == NB_F64 ? NB_HAS_DOUBLE : NB_HAS_SINGLE;
	traits |= precision == NB_F32 ? NB_HAS_F32 : precision == NB_MIXED ? NB_HAS_MIXED : 0;
	traits |= opt->potential ? NB_HAS_POT : 0;
	traits |= opt->jerk ? NB_HAS_JERK : 0;
	traits |= opt->order_given && opt->order == 3 ? NB_HAS_ORDER_3 : 0;
	traits |= opt->order_given && opt->order == 4 ? NB_HAS_ORDER_4 : 0;
	traits |= opt->mac == NB_MAC_ACCELERATION ? NB_HAS_OLD : 0;
	traits |= own || spline ? NB_HAS_SOFT : 0;
	traits |= is_computed_once(plan) ? NB_HAS_ONCE : 0;
	traits |= nb_devices.members() > 1 ? NB_HAS_SHARED : 0; /* those that are named have been opened */
	return traits;
}

/* Whether, as the device has it, and how many. */
static double regions(const struct force *opt, double n, unsigned traits)
{
	const int high = traits & (NB_HAS_ORDER_3 | NB_HAS_ORDER_4);
	if (opt->jerk || n < (high ? 0x1p17 : 0x1p18) || (traits & NB_HAS_DOUBLE && !high))
		return 0;
	return nb_memory_regions(n, traits & NB_HAS_F32 ? 4096 * 4 : 8192 * 4, traits & NB_HAS_SHARED);
}

static void plan_memory(struct nb_run *run, const struct force *opt, struct nb_plan *plan, enum method method,
	enum nb_precision precision)
{
	static const enum nb_memory_stage stage[] = {[METHOD_DIRECT] = NB_MEMORY_DIRECT,
		[METHOD_TREE] = NB_MEMORY_WALK,
		[METHOD_NEAR] = NB_MEMORY_NEAR,
		[METHOD_FMM] = NB_MEMORY_NEAR,
		[METHOD_TREEPM] = NB_MEMORY_TREEPM};
	const unsigned traits = traits_of(run, opt, plan, precision);
	const double of_force = (3 + (opt->potential ? 1 : 0) + (opt->jerk ? 3 : 0)) * (double)sizeof(double);
	const double boxes = plan->count[NB_MEMORY_BOX], children = plan->dim == 2 ? 4 : 8;
	nb_plan_use(plan, NB_PLAN(POS) | NB_PLAN(MASS) | (opt->jerk ? NB_PLAN(VEL) : 0) |
				  (traits & NB_HAS_SOFT ? NB_PLAN(EPS) : 0) |
				  (method != METHOD_DIRECT && method != METHOD_TREEPM ? NB_PLAN(KEY) : 0));
	nb_plan_make_columns(plan, of_force);
	plan->row += of_force - (plan->acc ? 3 * (double)sizeof(double) : 0) -
		     (plan->pot && opt->potential ? (double)sizeof(double) : 0);
	plan->count[NB_MEMORY_REGION] = regions(opt, plan->n, traits);
	plan->count[NB_MEMORY_SLOT] = plan->n * (plan->dim == 2 ? 8 : 26);
	plan->count[NB_MEMORY_TERM] = fmin(boxes, plan->n) * children / (children - 1) *
				      coefficients(plan->dim, nb_force_order(opt, plan->dim));
	if (method == METHOD_TREEPM)
		plan->count[NB_MEMORY_CELL] = pow(opt->mesh ? opt->mesh : nb_treepm_choose((size_t)plan->n, 0).mesh, 3);
	if (!opt->kernel) /* those of papers differ */
		nb_plan_take(plan, stage[method], traits);
	if (method == METHOD_FMM)
		nb_plan_take(plan, NB_MEMORY_FAR, traits);
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
				n * nb_cost_outputs(opt->potential, 0) * nb_cost_angle(opt->theta, plan->n, 0));
		plan->n = n;
		plan->tree = 0;
		plan->level = -1;
		plan->acc = 1;
		plan->pot = opt->potential;
		return;
	}
	const int boxed = nb_frame_attribute(plan->frame, "box") != NULL;
	enum method method = nb_force_method(opt, plan->tree, plan->level >= 0);
	method = boxed ? nb_force_box_method(opt, method, plan->n) : method;
	const enum nb_precision precision = nb_force_precision(opt, method);
	const double outputs = nb_cost_outputs(opt->potential, opt->jerk);
	const int none = nb_given(run, &opt->G) && opt->G == 0, makes = method == METHOD_TREE && !plan->tree;
	const double key = plan->column[NB_PLAN_KEY].wire;
	if (makes)
		nb_force_tree_plan(run, opt, plan);
	if (method == METHOD_TREE && !none) {
		const int high = opt->order_given ? opt->order > 2 : opt->accuracy > 0 && !opt->jerk;
		const double bodies = nb_cost_angle(opt->theta, plan->n, high);
		if (opt->mac == NB_MAC_ACCELERATION) { /* after a walk for nothing but accelerations */
			nb_plan_add(plan, walk[precision], plan->n * bodies);
			nb_plan_add(plan, walk[precision], plan->n * outputs * nb_cost_alpha(opt->alpha, plan->n));
		} else {
			nb_plan_add(plan, walk[precision], plan->n * outputs * bodies);
		}
	} else if (method == METHOD_TREEPM && !none) {
		nb_plan_add(plan, NB_WORK_TREEPM, outputs * plan->n);
	} else if (!none) {
		nb_plan_add(plan, direct[precision], outputs * pairs(plan, method));
		if (method == METHOD_FMM)
			nb_plan_add(plan, precision == NB_F64 ? NB_WORK_TERM_F64 : NB_WORK_TERM_F32, terms(opt, plan));
	}
	/* a pair that acts on one of its bodies alone takes nearly as long as one that acts on both */
	nb_plan_add(plan, NB_WORK_DIRECT_F64, 2 * fmin(opt->audit, plan->n) * plan->n);
	plan_memory(run, opt, plan, method, precision);
	if (makes) {
		plan->tree = 0;
		plan->tables = 0;
		plan->row -= plan->column[NB_PLAN_KEY].wire - key;
		plan->column[NB_PLAN_KEY].wire = key;
	}
	plan->acc = 1;
	plan->pot = opt->potential;
}

const char *nb_force_spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law)
{
	const struct force *opt = self;
	const int kernel_given = nb_given(run, &opt->kernel_of_softening);
	const int alone = law->leaf_size == 0; /* no nb-build-tree has come before it */
	if (nb_force_method(opt, !alone, 0) != METHOD_TREE || opt->kernel_text)
		return "the force is not that of a tree";
	if (opt->at_path || opt->audit || opt->accuracy > 0)
		return "nb-force --at, --audit or --accuracy";
	if (nb_frame_attribute(frame, "box"))
		return "a periodic box";
	if (nb_frame_field(frame, NB_SYSTEM))
		return "many systems";
	if (opt->jerk || opt->mac != NB_MAC_GEOMETRIC)
		return "nb-force --jerk or --mac acceleration";
	if (kernel_given ? opt->kernel_of_softening != NB_PLUMMER
			 : nb_frame_attribute(frame, "softening_kernel") != NULL)
		return "a softening kernel other than Plummer's";
	const char *why = alone ? nb_force_tree_spread(run, opt, frame, law) : NULL;
	if (why)
		return why;
	if (nb_frame_attribute_f64(frame, "G", 1, &law->G) || nb_frame_attribute_f64(frame, "softening", 0, &law->eps))
		return "attribute G or softening";
	law->G = nb_given(run, &opt->G) ? opt->G : law->G;
	law->eps = nb_given(run, &opt->softening) ? opt->softening : law->eps;
	law->walk = nb_force_walk(run, opt);
	law->potential = opt->potential;
	law->precision = nb_force_precision(opt, METHOD_TREE);
	if (!(law->G > 0 && law->eps >= 0))
		return "no gravity";
	return nb_spread_device(run, 0, &law->device);
}

const char *nb_force_small(const struct nb_run *run, const void *self, const struct nb_frame *frame)
{
	const struct force *opt = self;
	const enum method method = nb_force_method(
		opt, nb_frame_field(frame, NB_NODE_FIRST) != NULL, nb_frame_field(frame, NB_BOX_FIRST) != NULL);
	if (method != METHOD_DIRECT || opt->kernel_text || nb_force_precision(opt, method) != NB_F64)
		return "the force is not a direct sum in f64";
	if (opt->at_path || opt->audit || opt->accuracy > 0 || opt->jerk)
		return "nb-force --at, --audit, --accuracy or --jerk";
	if (nb_frame_attribute(frame, "box"))
		return "a periodic box";
	if (nb_frame_attribute(frame, "softening_kernel") || nb_frame_field(frame, NB_EPS))
		return "a softening other than Plummer's of all bodies";
	if (run->voice.verbosity > 0)
		return "nb-force -v says something of each force";
	return run->backend && run->backend->space == &nb_space_host ? NULL : "the force is not computed by the CPU";
}
