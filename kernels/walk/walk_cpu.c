/* Gravity by a walk of the tree on the CPU: checks, scales, the plan of the walk, and threads.  What the walk knows of
 * targets is in nodes_cpu.c, of sources in moments_cpu.c; the walk itself, and what it is based on, in walk_simd.c. */
#include "kernels/walk/walk_internal.h"

#include <math.h>

#include "common/cpu.h"
#include "common/lap.h"
#include "common/mem.h"
#include "kernels/multipole/high_body.h"
#include "kernels/multipole/multipole.h"
#include "kernels/pair/pair.h"
#include "kernels/ranks/ranks.h"

enum {
	PARTS = 128,	  /* about as many for each thread, so that all end at the same time */
	LEAST_PART = 128, /* bodies */
	MAX_THREADS = 1024
};

/* The tolerance at points, as a share of that on bodies: between bodies none is so near that its pull, which is exact,
 * is a large part of the strength of the field. */
static const double AT_POINTS = 0.6;

static int prepare(struct nb_walk_plan *plan, struct nb_walk_memory *m, const double *acc_old, double eps)
{
	const struct nb_tree *tree = plan->tree;
	const size_t nnode = tree->nnode;
	if (nb_walk_allocate_nodes(m, nnode, acc_old != NULL))
		return NB_ENOMEM;
	nb_walk_find_tight_children(m, tree);
	if (nb_walk_find_generations(m, tree))
		return NB_ENOMEM;
	nb_walk_number_families(m, tree, nb_walk_leaf(plan->order));
	int status = nb_walk_measure_nodes(plan->g, tree, m, acc_old, plan->error);
	if (status)
		return status;
	plan->f64 |= plan->g->precision == NB_F64 || nb_walk_wants_f64(m->jump);
	m->family = nb_alloc(m->nfamily, sizeof *m->family);
	m->moment = nb_alloc(m->nfamily + 1, nb_walk_moment_size(plan));
	if (!m->family || !m->moment)
		return NB_ENOMEM;
	nb_walk_find_groups(m, tree, nb_walk_group(plan->order), plan->part);
	status = plan->g->jerk ? nb_walk_measure_motions(plan, m) : NB_OK;
	if (!status && plan->law != NB_LAW_COMMON) {
		m->family_soft = nb_alloc(m->nfamily, sizeof *m->family_soft);
		status = m->family_soft ? nb_walk_measure_softs(plan->g, tree, m, eps) : NB_ENOMEM;
	}
	if (status)
		return status;

	int deep;
	const int beyond = nb_walk_tree_is_beyond_squares(tree, m, &deep);
	plan->deep |= deep;
	if (plan->order > 1 && (beyond || plan->order > 2 || !tree->quad) && nb_walk_find_moments(plan, m))
		return NB_ENOMEM;

	nb_walk_fill_family(plan, m, 0, 1, 0);
#pragma omp parallel for schedule(dynamic, 64) if (nnode > NB_WALK_SERIAL)
	for (size_t i = 0; i < nnode; i++)
		if (nb_walk_is_divided(m, i))
			nb_walk_fill_family(plan, m, tree->child[i], tree->nchild[i], m->inner[i]);
	plan->inner = m->inner;
	plan->family = m->family;
	plan->family_soft = m->family_soft;
	plan->moment = m->moment;
	return NB_OK;
}

/* Nodes as targets. */
static void aim(struct nb_walk_plan *plan, const struct nb_walk_memory *m)
{
	plan->group = m->group;
	plan->npart = m->npart;
	plan->reach = m->reach;
	plan->least = m->least;
	plan->soft = m->soft;
}

/* ---- points ----------------------------------------------------------------------------------------------- */

/* The least reach of a node that sets a unit of length of its own; INFINITY: there is none. */
static double least_reach(const struct nb_tree *tree, const struct nb_walk_memory *m)
{
	double least = m->reach[0] > 0 ? m->reach[0] : INFINITY;
	for (size_t i = 0; i < tree->nnode; i++)
		for (uint32_t c = tree->child[i]; !m->group[i] && c < tree->child[i] + tree->nchild[i]; c++)
			least = m->reach[c] > 0 && m->reach[c] < least ? m->reach[c] : least;
	return least;
}

/* The nodes of the points' tree, and what their lengths beside those of the sources ask for. */
static int prepare_points(struct nb_walk_plan *plan, struct nb_walk_memory *m, double eps)
{
	const struct nb_tree *tree = plan->target, *sources = plan->tree;
	double size = eps;
	if (nb_walk_allocate_nodes(m, tree->nnode, 0))
		return NB_ENOMEM;
	nb_walk_find_tight_children(m, tree);
	if (nb_walk_find_generations(m, tree))
		return NB_ENOMEM;
	for (size_t i = 0; i < tree->nnode; i++)
		m->inner[i] = tree->nchild[i] > 0;
	int status = nb_walk_measure_nodes(plan->at, tree, m, NULL, 0);
	if (!status && plan->law != NB_LAW_COMMON)
		status = nb_walk_measure_softs(plan->at, tree, m, eps);
	if (status)
		return status;
	nb_walk_find_groups(m, tree, nb_walk_group(plan->order), plan->part);
	/* among nodes below groups there may be any ratio: they have the units of these */
	for (int k = 0; k < 3; k++)
		size = fmax(size, fmax(tree->box[3 + k], sources->box[3 + k]) - fmin(tree->box[k], sources->box[k]));
	const double least = least_reach(tree, m);
	plan->f64 = size * 0x1p-28 > least;
	plan->deep = nb_walk_is_deep(size, least);
	aim(plan, m);
	return NB_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

int nb_walk_check(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk)
{
	const int by_acc = walk->mac == NB_MAC_ACCELERATION, order = walk->order ? walk->order : tree->order;
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G) || order < 1 || order > 4)
		return NB_EINVAL;
	if (g->jerk && order > 2)
		return NB_EUNSUPPORTED;
	if (g->jerk && !g->vel)
		return NB_EINVAL;
	if (by_acc ? !(walk->alpha >= 0 && isfinite(walk->alpha)) : !(walk->theta >= 0 && isfinite(walk->theta)))
		return NB_EINVAL;
	if (g->n > 0 && (tree->nnode == 0 || tree->count[0] != g->n || (by_acc && !walk->acc_old)))
		return NB_EINVAL;
	return NB_OK;
}

/* By this process, or by all ranks. */
static int walk_all(const struct nb_walk_plan *plan, size_t nfamily, struct nb_gravity_count *count)
{
	struct nb_walk_share share = {.end = UINT32_MAX};
	int done = 0;
	const int status = plan->apart ? NB_OK : nb_walk_by_ranks(plan, nfamily, count, &done);
	return status || done ? status : nb_walk_parts(plan, &share, count);
}

/* The bodies of a plan's points.  Where pairs are not softened alike, points without eps have none. */
static struct nb_gravity bodies_of(const struct nb_gravity *g, const struct nb_walk_points *points)
{
	struct nb_gravity at = *g;
	at.n = points->n;
	at.pos = points->pos;
	at.mass = points->mass;
	at.acc = points->acc;
	at.pot = points->pot;
	at.body_eps = points->eps;
	at.eps = 0;
	return at;
}

void nb_walk_layout(struct nb_walk_plan *plan, const struct nb_tree_walk *walk)
{
	plan->order = walk->order ? walk->order : plan->tree->order;
	plan->folded = plan->order > 2 &&
		       (plan->law == NB_LAW_SPLINE || (plan->law == NB_LAW_COMMON && plan->g->eps == 0));
	plan->nmoment = plan->order > 3	  ? (plan->folded ? NB_FOLDED_MOMENTS : NB_HIGH_MOMENTS)
			: plan->order > 2 ? (plan->folded ? NB_FOLDED_FOURTH : NB_HIGH_FOURTH)
			: plan->g->jerk	  ? NB_WALK_MOMENTS + NB_WALK_MOTION
					  : NB_WALK_MOMENTS;
	plan->stride = NB_WALK_STRIDE(plan->nmoment);
}

void nb_walk_scale(struct nb_walk_plan *plan, const struct nb_tree_walk *walk, double size, double eps)
{
	const int by_acc = walk->mac == NB_MAC_ACCELERATION;
	plan->length = nb_pair_power2(size, 0);
	plan->mass = nb_pair_power2(plan->tree->mass[0], 0);
	plan->unit_limit = INFINITY;
	if (eps > 0) {
		int e;
		const double f = frexp(eps * plan->length, &e);
		plan->unit_limit = fmax(plan->length * ldexp(1, (f == 0.5 ? 21 : 20) - e), plan->length);
	}
	plan->error = (float)((plan->apart ? AT_POINTS : 1) * nb_opening_cpu(walk->theta, plan->order));
	plan->soft_weight = (float)nb_opening_soft(by_acc ? 0.5 : walk->theta);
	if (!by_acc && walk->theta > 0) /* what softenings do is held to the tolerance of second order */
		plan->soft_weight *= (float)(nb_opening_cpu(walk->theta, plan->order) / nb_opening_cpu(walk->theta, 2));
	if (by_acc) /* alpha |a|, in scaled units */
		plan->error = (float)(walk->alpha * plan->mass / plan->length / plan->length /
				      (plan->g->G != 0 ? fabs(plan->g->G) : 1));
}

int nb_walk_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct nb_walk_points *points, struct nb_gravity_count *count)
{
	const int by_acc = walk->mac == NB_MAC_ACCELERATION;
	int status = nb_walk_check(g, tree, walk);
	if (status || g->n == 0)
		return status;
	double eps, point_eps = 0;
	status = nb_gravity_largest_eps(g, &eps);
	struct nb_gravity at = *g;
	if (points)
		at = bodies_of(g, points);
	if (!status && points)
		status = nb_gravity_largest_eps(&at, &point_eps);
	if (status)
		return status;
	eps = fmax(eps, point_eps);
	double all = 0;
	for (int k = 0; k < 3; k++)
		all = fmax(all, tree->box[3 + k] - tree->box[k]);
	const double size = fmax(all, eps);
	if (!isfinite(size) || !isfinite(tree->mass[0]))
		return NB_ENONFINITE;
	if (nb_pair_typical(g->n, g->pos, all) < all * NB_WALK_NEAREST)
		return NB_EFAR;
	struct nb_walk_plan plan = {.g = g, .tree = tree, .at = &at, .target = points ? points->tree : tree};
	plan.law = points && points->eps ? nb_pair_law_of(&at) : nb_pair_law_of(g);
	plan.apart = points != NULL;
	plan.row = points ? points->row : NULL;
	nb_walk_layout(&plan, walk);
	nb_walk_scale(&plan, walk, size, eps);
	const size_t nthread = (size_t)nb_cpu_threads() * (size_t)nb_ranks_size();
	size_t part = at.n / ((nthread < MAX_THREADS ? nthread : MAX_THREADS) * PARTS);
	plan.part = (uint32_t)(part > LEAST_PART ? part : LEAST_PART);

	struct nb_walk_memory memory = {0}, point_memory = {0};
	const char *before = nb_lap("preparation of the walk");
	if (points)
		status = prepare_points(&plan, &point_memory, eps);
	if (!status)
		status = prepare(&plan, &memory, by_acc ? walk->acc_old : NULL, eps);
	if (!status && !points)
		aim(&plan, &memory);
	nb_lap("walk");
	if (!status)
		status = walk_all(&plan, memory.nfamily, count);
	nb_walk_memory_free(&memory);
	nb_walk_memory_free(&point_memory);
	nb_lap(before);
	return status;
}

int nb_gravity_tree_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
{
	return nb_walk_cpu(g, tree, walk, NULL, count);
}
