/* Sources of the walk: moments of nodes where those of the tree do not do, their motion, their softenings; and the
 * families in which the walk reads all of them. */
#include "kernels/walk/walk_internal.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/multipole/high_body.h"
#include "kernels/multipole/multipole.h"
#include "kernels/pair/pair.h"

/* The power of two that a length is half of or more, but not all of; 0 for 0. */
static double unit_of_length(double length)
{
	int e = 0;
	(void)frexp(length, &e);
	return length > 0 ? ldexp(1, e) : 0;
}
/* ---- second moments where squares of lengths are out of range --------------------------------------------- */

int nb_walk_tree_is_beyond_squares(const struct nb_tree *tree, const struct nb_walk_memory *m, int *deep)
{
	double least = INFINITY, least_reach = INFINITY;
#pragma omp parallel for schedule(static) reduction(min : least, least_reach) if (tree->nnode > NB_WALK_SERIAL)
	for (size_t i = 0; i < tree->nnode; i++) {
		if (m->inner[i] == NB_WALK_UNREACHED)
			continue;
		least = m->radius[i] > 0 && m->radius[i] < least ? m->radius[i] : least;
		least_reach = m->reach[i] > 0 && m->reach[i] < least_reach ? m->reach[i] : least_reach;
	}
	*deep = nb_walk_is_deep(m->reach[0], least_reach);
	return nb_walk_is_beyond_squares(least, m->radius[0]);
}

/* The place of a component among those of its degree (high_body.h); k <= l <= n. */
static int pair_place(int k, int l)
{
	const int r = (k > 0) + (l > 0), c = (k > 1) + (l > 1);
	return r * (r + 1) / 2 + c;
}

static int triple_place(int k, int l, int n)
{
	const int r = (k > 0) + (l > 0) + (n > 0), c = (k > 1) + (l > 1) + (n > 1);
	return r * (r + 1) / 2 + c;
}

/* Adds those of a body, m x^n, to sums without the factors 1 / n!. */
static inline void add_body(double mass, const double *x, int count, double *sum)
{
	double q[6], o[10], h[15];
	const double mx = mass * x[0], my = mass * x[1], mz = mass * x[2];
	q[0] = mx * x[0], q[1] = mx * x[1], q[2] = mx * x[2], q[3] = my * x[1], q[4] = my * x[2], q[5] = mz * x[2];
	for (int k = 0; k < 6; k++)
		sum[k] += q[k];
	if (count < 16)
		return;
	for (int k = 0; k < 6; k++)
		o[k] = q[k] * x[0];
	for (int k = 6; k < 9; k++)
		o[k] = q[k - 3] * x[1];
	o[9] = q[5] * x[2];
	for (int k = 0; k < 10; k++)
		sum[6 + k] += o[k];
	if (count < 31)
		return;
	for (int k = 0; k < 10; k++)
		h[k] = o[k] * x[0];
	for (int k = 10; k < 14; k++)
		h[k] = o[k - 4] * x[1];
	h[14] = o[9] * x[2];
	for (int k = 0; k < 15; k++)
		sum[16 + k] += h[k];
}

/* Moments of these degrees, 1 / n! sum m x^n for n = 2 .. 4, of a part of a cell that is a cell: with moments `own`
 * about its own centre, in its own unit of length, which is `ratio` of the whole's.
 *   x      n x 3: place of the part in the whole, in units of the whole
 *   count  of moments: those of second degree, or all */
static void add_moments(double mass, const double *x, const double *own, double ratio, int count, double *sum)
{
	double q[6], o[10], part[NB_HIGH_MOMENTS - 1] = {0};
	const double r2 = ratio * ratio, r3 = r2 * ratio, r4 = r2 * r2;
	for (int k = 0; k < count; k++)
		part[k] = own[k] * (k < 6 ? r2 : k < 16 ? r3 : r4);
	for (int s = 0, k = 0; k < 3; k++)
		for (int l = k; l < 3; l++, s++) {
			q[s] = 0.5 * mass * x[k] * x[l];
			sum[s] += part[s] + q[s];
		}
	if (count < 16)
		return;
	/* a component of n + 1 in terms of those of n: place p of the next lower degree with one x, y or z more */
	for (int t = 0, k = 0; k < 3; k++)
		for (int l = k; l < 3; l++)
			for (int n = l; n < 3; n++, t++) {
				o[t] = mass * x[k] * x[l] * x[n] / 6;
				sum[6 + t] += part[6 + t] + o[t] +
					      (part[pair_place(k, l)] * x[n] + part[pair_place(k, n)] * x[l] +
						      part[pair_place(l, n)] * x[k]) /
						      3;
			}
	if (count < 31)
		return;
	for (int t = 0, k = 0; k < 3; k++)
		for (int l = k; l < 3; l++)
			for (int n = l; n < 3; n++)
				for (int r = n; r < 3; r++, t++)
					sum[16 + t] += part[16 + t] + o[triple_place(k, l, n)] * x[r] / 4 +
						       (part[6 + triple_place(k, l, n)] * x[r] +
							       part[6 + triple_place(k, l, r)] * x[n] +
							       part[6 + triple_place(k, n, r)] * x[l] +
							       part[6 + triple_place(l, n, r)] * x[k]) /
							       4 +
						       (part[pair_place(k, l)] * x[n] * x[r] +
							       part[pair_place(k, n)] * x[l] * x[r] +
							       part[pair_place(k, r)] * x[l] * x[n] +
							       part[pair_place(l, n)] * x[k] * x[r] +
							       part[pair_place(l, r)] * x[k] * x[n] +
							       part[pair_place(n, r)] * x[k] * x[l]) /
							       12;
}

/* Those of node i about its centre of mass, in its own unit of length. */
void nb_walk_find_moments_of(const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t i)
{
	const struct nb_tree *tree = plan->tree;
	const struct nb_gravity *g = plan->g;
	const double *com = tree->com + 3 * i, unit = unit_of_length(m->radius[i]);
	double *sum = m->own + m->nown * i, x[3];
	memset(sum, 0, m->nown * sizeof *sum);
	if (unit > 0 && m->inner[i] == 0) {
		for (size_t b = tree->first[i]; b < (size_t)tree->first[i] + tree->count[i]; b++) {
			for (int k = 0; k < 3; k++)
				x[k] = (g->pos[3 * b + (size_t)k] - com[k]) / unit;
			add_body(g->mass[b], x, (int)m->nown, sum);
		}
		for (size_t k = 0; k < m->nown; k++)
			sum[k] /= k < 6 ? 2 : k < 16 ? 6 : 24;
	} else if (unit > 0)
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
			for (int k = 0; k < 3; k++)
				x[k] = (tree->com[3 * (size_t)c + (size_t)k] - com[k]) / unit;
			add_moments(tree->mass[c], x, m->own + m->nown * c, unit_of_length(m->radius[c]) / unit,
				(int)m->nown, sum);
		}
}

size_t nb_walk_nown(int order)
{
	return order > 3 ? NB_HIGH_MOMENTS - 1 : order > 2 ? NB_HIGH_FOURTH - 1 : 6;
}

int nb_walk_find_moments(const struct nb_walk_plan *plan, struct nb_walk_memory *m)
{
	const size_t nnode = plan->tree->nnode;
	m->nown = nb_walk_nown(plan->order);
	m->own = nb_alloc(nnode, m->nown * sizeof *m->own);
	if (!m->own)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 256)
	for (size_t i = 0; i < nnode; i++)
		if (m->inner[i] == 0)
			nb_walk_find_moments_of(plan, m, i);
	for (size_t k = m->ngeneration; k-- > 0;) {
		const size_t begin = m->generation[k], end = m->generation[k + 1];
#pragma omp parallel for schedule(dynamic, 64) if (end - begin > NB_WALK_SERIAL)
		for (size_t i = begin; i < end; i++)
			if (nb_walk_is_divided(m, i))
				nb_walk_find_moments_of(plan, m, i);
	}
	return NB_OK;
}

/* ---- how nodes move, for jerks -------------------------------------------------------------------------- */

/* Of some bodies or nodes that make up a cell: mean velocity, weighted by mass, and the time derivatives of the second
 * moments about the centre of mass.  Velocities are taken relative to the first, so that a common one changes nothing.
 *   count         of them, >= 1
 *   pos, vel      count x 3
 *   part          count x 6 or NULL: their own time derivatives
 *   com, inverse  centre and 1 / mass of the cell, the latter 0 if it has no mass */
static void find_motion(size_t count, const double *pos, const double *mass, const double *vel, const double *part,
	const double *com, double inverse, double *velocity, double *rate)
{
	double v[3] = {0}, p[6] = {0};
	for (size_t b = 0; b < count; b++)
		for (size_t k = 0; k < 3; k++)
			v[k] += mass[b] * inverse * (vel[3 * b + k] - vel[k]);
	for (size_t b = 0; b < count; b++) {
		double mx[3], w[3];
		for (size_t k = 0; k < 3; k++) {
			mx[k] = mass[b] * (pos[3 * b + k] - com[k]);
			w[k] = (vel[3 * b + k] - vel[k]) - v[k];
		}
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++, s++)
				p[s] += (mx[k] * w[l] + mx[l] * w[k]) + (part ? part[6 * b + (size_t)s] : 0);
	}
	for (int k = 0; k < 3; k++)
		velocity[k] = vel[k] + v[k];
	memcpy(rate, p, sizeof p);
}

/* Node i, from the bodies if it is not divided further, else from its children. */
static void measure_motion(const struct nb_walk_plan *plan, struct nb_walk_memory *m, size_t i)
{
	const struct nb_tree *tree = plan->tree;
	const struct nb_gravity *g = plan->g;
	const size_t first = tree->first[i], child = tree->child[i];
	const double one = 1 / tree->mass[i], inverse = isfinite(one) ? one : 0;
	const double *com = tree->com + 3 * i;
	double *velocity = m->velocity + 3 * i, *rate = m->quad_rate + 6 * i;
	if (m->inner[i] == 0)
		find_motion(tree->count[i], g->pos + 3 * first, g->mass + first, g->vel + 3 * first, NULL, com, inverse,
			velocity, rate);
	else
		find_motion(tree->nchild[i], tree->com + 3 * child, tree->mass + child, m->velocity + 3 * child,
			m->quad_rate + 6 * child, com, inverse, velocity, rate);
}

int nb_walk_measure_motions(struct nb_walk_plan *plan, struct nb_walk_memory *m)
{
	const size_t nnode = plan->tree->nnode, n = plan->g->n;
	const double *vel = plan->g->vel;
	m->velocity = nb_alloc(nnode, 3 * sizeof *m->velocity);
	m->quad_rate = nb_alloc(nnode, 6 * sizeof *m->quad_rate);
	if (!m->velocity || !m->quad_rate)
		return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic, 256)
	for (size_t i = 0; i < nnode; i++)
		if (m->inner[i] == 0)
			measure_motion(plan, m, i);
	for (size_t k = m->ngeneration; k-- > 0;) {
		const size_t begin = m->generation[k], end = m->generation[k + 1];
#pragma omp parallel for schedule(static) if (end - begin > NB_WALK_SERIAL)
		for (size_t i = begin; i < end; i++)
			if (nb_walk_is_divided(m, i))
				measure_motion(plan, m, i);
	}
	const double root[3] = {m->velocity[0], m->velocity[1], m->velocity[2]};
	double largest = 0;
	size_t odd = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) reduction(+ : odd)
	for (size_t b = 0; b < n; b++)
		for (size_t k = 0; k < 3; k++) {
			const double v = fabs(vel[3 * b + k] - root[k]);
			largest = v > largest ? v : largest;
			odd += !isfinite(v);
		}
	if (odd)
		return NB_ENONFINITE;
	plan->velocity = m->velocity;
	plan->speed = nb_pair_power2(largest, 0);
	return NB_OK;
}

/* Of node i, in scaled units and lengths, in the order of plan.h. */
static void scale_motion(
	const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t i, double length, double *motion)
{
	for (size_t k = 0; k < 3; k++)
		motion[k] = (m->velocity[3 * i + k] - m->velocity[k]) * plan->speed;
	for (size_t k = 0; k < 6; k++)
		motion[3 + k] = length > 0 ? m->quad_rate[6 * i + k] * plan->mass * plan->speed / length : 0;
}

/* ---- softenings of nodes --------------------------------------------------------------------------------- */

/* Adds bodies or nodes to those of a node whose softenings are soft; mean is then a sum, in units of the largest of
 * all. eps  of the first, the rest every `step` */
static void add_soft(const double *eps, const double *mass, size_t count, size_t step, double unit, double *soft)
{
	for (size_t b = 0; b < count; b++) {
		const double *e = eps + b * step, mean = e[step > 1 ? NB_SOFT_MEAN : 0] * unit;
		soft[NB_SOFT_LEAST] = fmin(soft[NB_SOFT_LEAST], e[NB_SOFT_LEAST]);
		soft[NB_SOFT_LARGEST] = fmax(soft[NB_SOFT_LARGEST], e[step > 1 ? NB_SOFT_LARGEST : 0]);
		soft[NB_SOFT_MEAN] += mass[b] * (mean * mean);
	}
}

/* Of node i, from the bodies if it is not divided further, else from its children. */
static void measure_soft(
	const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, size_t i, double unit)
{
	const size_t first = tree->first[i], child = tree->child[i];
	double soft[NB_SOFT] = {INFINITY, 0, 0};
	if (m->inner[i] == 0)
		add_soft(g->body_eps + first, g->mass + first, tree->count[i], 1, unit, soft);
	else
		add_soft(m->soft + NB_SOFT * child, tree->mass + child, tree->nchild[i], NB_SOFT, unit, soft);
	const double mean = sqrt(soft[NB_SOFT_MEAN] / tree->mass[i]) / unit;
	/* not a number where there is no mass */
	soft[NB_SOFT_MEAN] = mean < soft[NB_SOFT_LARGEST] ? fmax(mean, soft[NB_SOFT_LEAST]) : soft[NB_SOFT_LARGEST];
	memcpy(m->soft + NB_SOFT * i, soft, sizeof soft);
}

int nb_walk_measure_softs(
	const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, double largest)
{
	const size_t nnode = tree->nnode;
	const double unit = nb_pair_power2(largest, 0);
	m->soft = nb_alloc(nnode, NB_SOFT * sizeof *m->soft);
	if (!m->soft)
		return NB_ENOMEM;
	if (!g->body_eps) {
#pragma omp parallel for schedule(static) if (nnode > NB_WALK_SERIAL)
		for (size_t k = 0; k < NB_SOFT * nnode; k++)
			m->soft[k] = g->eps;
	} else {
#pragma omp parallel for schedule(dynamic, 256)
		for (size_t i = 0; i < nnode; i++)
			if (m->inner[i] == 0)
				measure_soft(g, tree, m, i, unit);
		for (size_t k = m->ngeneration; k-- > 0;) {
			const size_t begin = m->generation[k], end = m->generation[k + 1];
#pragma omp parallel for schedule(static) if (end - begin > NB_WALK_SERIAL)
			for (size_t i = begin; i < end; i++)
				if (nb_walk_is_divided(m, i))
					measure_soft(g, tree, m, i, unit);
		}
	}
	return NB_OK;
}

/* ---- what the walk reads -------------------------------------------------------------------------------- */

/* Writes node i to its place among its siblings. */
static void fill_lane(
	const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t i, size_t family, size_t lane)
{
	const struct nb_tree *tree = plan->tree;
	struct nb_family *f = &m->family[family];
	double moment[NB_HIGH_MOMENTS] = {tree->mass[i] * plan->mass};
	const double length = f->length;
	if (m->own && length > 0) {
		const double ratio = unit_of_length(m->radius[i]) / length, r2 = ratio * ratio;
		for (size_t q = 0; q < m->nown; q++)
			moment[1 + q] = m->own[m->nown * i + q] * (plan->order > 2 ? 1 : 2) * plan->mass *
					(q < 6		 ? r2
						: q < 16 ? r2 * ratio
							 : r2 * r2);
	} else if (plan->order > 1 && length > 0) {
		for (size_t q = 0; q < 6; q++)
			moment[1 + q] = tree->quad[6 * i + q] * plan->mass / length / length;
	}
	double folded[NB_FOLDED_MOMENTS] = {0};
	const double *kept = plan->folded ? folded : moment;
	if (plan->folded)
		nb_fold_moments(plan->order, moment, folded);
	if (plan->velocity)
		scale_motion(plan, m, i, length, moment + NB_WALK_VELOCITY);
	for (int k = 0; k < 3; k++)
		f->x[k][lane] = tree->com[3 * i + (size_t)k];
	f->radius[lane] = length > 0 ? round_up(m->radius[i] / length) : 0;
	f->mass[lane] = round_up(moment[0]);
	f->inner[lane] = m->inner[i];
	f->first[lane] = tree->first[i];
	f->count[lane] = tree->count[i];
	for (size_t k = 0; m->soft && k < NB_SOFT; k++)
		m->family_soft[family].eps[k][lane] = m->soft[NB_SOFT * i + k];
	const size_t at = (family * NB_FAMILY + lane) * plan->stride;
	for (size_t q = 0; q < plan->nmoment; q++)
		if (plan->f64)
			((double *)m->moment)[at + q] = kept[q];
		else
			((float *)m->moment)[at + q] = (float)kept[q];
}

/* Writes the nodes first .. first+n-1 as a family. */
void nb_walk_fill_family(
	const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t first, size_t n, size_t family)
{
	double largest = 0;
	memset(&m->family[family], 0, sizeof m->family[family]);
	if (m->soft)
		memset(&m->family_soft[family], 0, sizeof m->family_soft[family]);
	for (size_t i = first; i < first + n; i++)
		largest = m->radius[i] > largest ? m->radius[i] : largest;
	m->family[family].length = unit_of_length(largest);
	for (size_t i = 0; i < n; i++)
		fill_lane(plan, m, first + i, family, i);
}
