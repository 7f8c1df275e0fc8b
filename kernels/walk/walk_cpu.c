/* Gravity by a walk of the tree on the CPU: checks, the copy of the tree that the walk reads, and threads.
 * The walk itself, and what it is based on, is in walk_simd.c. */
#include "kernels/walk/walk.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>
#include <time.h>

#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/multipole/high_body.h"
#include "kernels/multipole/multipole.h"
#include "kernels/pair/pair.h"
#include "kernels/ranks/ranks.h"

enum {
	PARTS = 128,	  /* about as many for each thread, so that all end at the same time */
	LEAST_PART = 512, /* bodies */
	MAX_THREADS = 1024,
	SERIAL = 1 << 10, /* so few nodes are left to one thread */
	MOST_GROUP = NB_WALK_GROUP > NB_WALK_GROUP_4 ? NB_WALK_GROUP : NB_WALK_GROUP_4,
	KNOT = 64 /* a cell so many times smaller than the one that it lies in is not walked with it */
};

/* The tolerance at points, as a share of that on bodies: between bodies none is so near that its pull, which is exact,
 * is a large part of the strength of the field. */
static const double AT_POINTS = 0.6;

void nb_walk_memory_free(struct nb_walk_memory *m)
{
	nb_free(m->inner);
	nb_free(m->npart);
	nb_free(m->group);
	nb_free(m->knot);
	nb_free(m->radius);
	nb_free(m->reach);
	nb_free(m->least);
	nb_free(m->family);
	nb_free(m->moment);
	nb_free(m->own);
	nb_free(m->velocity);
	nb_free(m->quad_rate);
	nb_free(m->soft);
	nb_free(m->family_soft);
}

static int is_divided(const struct nb_walk_memory *m, size_t i)
{
	return m->inner[i] != 0 && m->inner[i] != NB_WALK_UNREACHED;
}

size_t nb_walk_generation(const struct nb_tree *tree, size_t first, size_t end)
{
	size_t i = end;
	while (i > first && (tree->nchild[i - 1] == 0 || tree->child[i - 1] >= end))
		i--;
	return i;
}

static double extent(const struct nb_tree *tree, size_t i)
{
	const double *box = tree->box + 6 * i;
	return fmax(fmax(box[3] - box[0], box[4] - box[1]), box[5] - box[2]);
}

/* Whether a child of node i has bodies much closer to each other than the node is large. Positions in a group are
 * relative to its middle, and in f32 would lose such a separation: the child is better walked by itself. */
int nb_walk_has_knot(const struct nb_tree *tree, size_t i)
{
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		double size = extent(tree, c);
		if (tree->count[c] > 1 && size > 0 && size * KNOT < extent(tree, i))
			return 1;
	}
	return 0;
}

/* Of all nodes that may be leaves or groups. */
static void find_knots(struct nb_walk_memory *m, const struct nb_tree *tree)
{
#pragma omp parallel for schedule(static) if (tree->nnode > SERIAL)
	for (size_t i = 0; i < tree->nnode; i++)
		m->knot[i] = tree->nchild[i] > 0 && tree->count[i] <= MOST_GROUP && nb_walk_has_knot(tree, i);
}

/* Numbers the families. A node is reached before its children; one of at most `leaf` bodies is not divided. */
static void number_families(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t leaf)
{
	m->inner[0] = 0;
	for (size_t i = 1; i < tree->nnode; i++)
		m->inner[i] = NB_WALK_UNREACHED;
	m->nfamily = 1;
	for (size_t i = 0; i < tree->nnode; i++) {
		if (m->inner[i] == NB_WALK_UNREACHED || tree->nchild[i] == 0 || (tree->count[i] <= leaf && !m->knot[i]))
			continue;
		m->inner[i] = (uint32_t)m->nfamily++;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			m->inner[c] = 0;
	}
}

/* Finds the groups, of at most `most` bodies unless they are not divided, and where threads may part. */
static void find_groups(struct nb_walk_memory *m, const struct nb_tree *tree, uint32_t most, uint32_t part)
{
	for (size_t i = tree->nnode; i-- > 0;) {
		const int divided = is_divided(m, i);
		m->group[i] = !divided || (tree->count[i] <= most && !m->knot[i]);
		m->npart[i] = 1;
		if (m->group[i] || tree->count[i] <= part)
			continue;
		m->npart[i] = 0;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			m->npart[i] += m->npart[c];
	}
}

/* The root of x^2 + y^2 + z^2 where the squares may be out of range. */
static double length_of(double x, double y, double z)
{
	const double largest = fmax(fmax(fabs(x), fabs(y)), fabs(z));
	if ((largest > 0x1p-400 && largest < 0x1p400) || !(largest > 0 && isfinite(largest)))
		return sqrt(x * x + y * y + z * z);
	x /= largest;
	y /= largest;
	z /= largest;
	return largest * sqrt(x * x + y * y + z * z);
}

static double distance(const double *a, const double *b)
{
	return length_of(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/* The power of two that a length is half of or more, but not all of; 0 for 0. */
static double unit_of_length(double length)
{
	int e = 0;
	(void)frexp(length, &e);
	return length > 0 ? ldexp(1, e) : 0;
}

static void box_middle(const struct nb_tree *tree, size_t i, double *middle)
{
	const double *box = tree->box + 6 * i;
	for (int k = 0; k < 3; k++)
		middle[k] = box[k] + 0.5 * (box[3 + k] - box[k]);
}

void nb_walk_add_pair(double mass, const double *x, const double *v, double eps, double *sum)
{
	const double length = length_of(length_of(x[0], x[1], x[2]), eps, 0);
	const double pull = mass / length / length; /* at a distance without softening */
	double along = 0;
	for (int k = 0; k < 3; k++)
		along += v[k] * (x[k] / length);
	for (int k = 0; k < 3; k++) {
		const double to = x[k] / length;
		sum[k] += pull * to;
		sum[4 + k] += pull / length * (v[k] - 3 * along * to);
	}
	sum[3] += mass / length;
}

/* Radius, reach and least |acc_old| of a cell whose bodies are not divided further; looks at every body. */
int nb_walk_measure_bodies(const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, size_t i,
	const double *acc_old, double error, double *jump)
{
	const double *com = tree->com + 3 * i;
	double middle[3], radius2 = 0, reach2 = 0, test = 0, least_mass = 0, least2 = INFINITY;
	const double size = extent(tree, i), unit = nb_pair_power2(size, 0);
	box_middle(tree, i, middle);
	for (size_t b = tree->first[i]; b < (size_t)tree->first[i] + tree->count[i]; b++) {
		const double *x = g->pos + 3 * b;
		double r2 = 0, s2 = 0;
		for (int k = 0; k < 3; k++) {
			double r = (x[k] - com[k]) * unit, s = (x[k] - middle[k]) * unit;
			r2 += r * r;
			s2 += s * s;
		}
		radius2 = r2 > radius2 ? r2 : radius2;
		reach2 = s2 > reach2 ? s2 : reach2;
		/* a - a is 0 unless a is infinite or NaN */
		test += (r2 - r2) + (g->mass[b] - g->mass[b]);
		least_mass = g->mass[b] < least_mass ? g->mass[b] : least_mass;
		if (acc_old) {
			const double *a = acc_old + 3 * b;
			double a2 = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
			least2 = a2 < least2 ? a2 : least2;
		}
	}
	if (test != 0)
		return NB_ENONFINITE;
	if (least_mass < 0)
		return NB_EINVAL;
	m->radius[i] = sqrt(radius2) / unit;
	m->reach[i] = sqrt(reach2) / unit;
	if (acc_old)
		m->least[i] = (float)(sqrt(least2) * error);
	const double typical = nb_pair_typical(tree->count[i], g->pos + 3 * (size_t)tree->first[i], size);
	*jump = size > 0 ? size / fmax(typical, g->body_eps ? 0 : g->eps) : 0;
	return *jump > NB_WALK_FARTHEST ? NB_EFAR : NB_OK;
}

/* The same of a node, from its children: the better of two bounds.  Returns the largest ratio of its reach and that of
 * a child. */
double nb_walk_measure_children(const struct nb_tree *tree, struct nb_walk_memory *m, size_t i)
{
	const double *com = tree->com + 3 * i, *box = tree->box + 6 * i;
	double middle[3], child_middle[3], corner[3], radius = 0, reach = 0, jump = 0;
	float least = INFINITY;
	box_middle(tree, i, middle);
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		radius = fmax(radius, distance(com, tree->com + 3 * c) + m->radius[c]);
		box_middle(tree, c, child_middle);
		reach = fmax(reach, distance(middle, child_middle) + m->reach[c]);
		if (m->least)
			least = fminf(least, m->least[c]);
	}
	m->reach[i] = fmin(reach, distance(middle, box));
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
		if (m->reach[c] > 0 && m->reach[i] > jump * m->reach[c])
			jump = m->reach[i] / m->reach[c];
	for (int k = 0; k < 3; k++)
		corner[k] = com[k] < middle[k] ? box[3 + k] : box[k];
	m->radius[i] = fmin(radius, distance(com, corner));
	if (m->least)
		m->least[i] = least;
	return jump;
}

/* ---- second moments where squares of lengths are out of range --------------------------------------------- */

/* Whether squares of lengths of the tree may be out of range, so that its moments are; and whether some nodes are so
 * small beside others that squares of separations are, in units of the small ones. */
static int is_beyond_squares(const struct nb_tree *tree, const struct nb_walk_memory *m, int *deep)
{
	double least = INFINITY, least_reach = INFINITY;
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

static int find_moments(const struct nb_walk_plan *plan, struct nb_walk_memory *m)
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
	for (size_t end = nnode, begin; end > 0; end = begin) {
		begin = nb_walk_generation(plan->tree, 0, end);
#pragma omp parallel for schedule(dynamic, 64) if (end - begin > SERIAL)
		for (size_t i = begin; i < end; i++)
			if (is_divided(m, i))
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

/* Velocities of all nodes, and their scale. */
static int measure_motions(struct nb_walk_plan *plan, struct nb_walk_memory *m)
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
	for (size_t i = nnode; i-- > 0;)
		if (is_divided(m, i))
			measure_motion(plan, m, i);
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

/* Of all nodes of a tree of the bodies of g. */
static int measure_softs(
	const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m, double largest)
{
	const size_t nnode = tree->nnode;
	const double unit = nb_pair_power2(largest, 0);
	m->soft = nb_alloc(nnode, NB_SOFT * sizeof *m->soft);
	if (!m->soft)
		return NB_ENOMEM;
	for (size_t k = 0; !g->body_eps && k < NB_SOFT * nnode; k++)
		m->soft[k] = g->eps;
	if (g->body_eps) {
#pragma omp parallel for schedule(dynamic, 256)
		for (size_t i = 0; i < nnode; i++)
			if (m->inner[i] == 0)
				measure_soft(g, tree, m, i, unit);
		for (size_t i = nnode; i-- > 0;)
			if (is_divided(m, i))
				measure_soft(g, tree, m, i, unit);
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

/* Memory for what is known of nodes as targets, and of the bodies in them. */
int nb_walk_allocate_nodes(struct nb_walk_memory *m, size_t nnode, int by_acc)
{
	m->inner = nb_alloc(nnode, sizeof *m->inner);
	m->npart = nb_alloc(nnode, sizeof *m->npart);
	m->group = nb_alloc(nnode, sizeof *m->group);
	m->knot = nb_alloc(nnode, sizeof *m->knot);
	m->radius = nb_alloc(nnode, sizeof *m->radius);
	m->reach = nb_alloc(nnode, sizeof *m->reach);
	m->least = by_acc ? nb_alloc(nnode, sizeof *m->least) : NULL;
	return m->inner && m->npart && m->group && m->knot && m->radius && m->reach && (!by_acc || m->least)
		       ? NB_OK
		       : NB_ENOMEM;
}

static int measure_nodes(const struct nb_gravity *g, const struct nb_tree *tree, struct nb_walk_memory *m,
	const double *acc_old, double error)
{
	int status = NB_OK;
	double jump = 0;
#pragma omp parallel for schedule(dynamic, 256) reduction(max : status, jump)
	for (size_t i = 0; i < tree->nnode; i++)
		if (m->inner[i] == 0) {
			double mine = 0;
			int s = nb_walk_measure_bodies(g, tree, m, i, acc_old, error, &mine);
			status = s > status ? s : status;
			jump = fmax(jump, mine);
		}
	for (size_t end = tree->nnode, begin; !status && end > 0; end = begin) {
		begin = nb_walk_generation(tree, 0, end);
#pragma omp parallel for schedule(static) reduction(max : jump) if (end - begin > SERIAL)
		for (size_t i = begin; i < end; i++)
			if (is_divided(m, i))
				jump = fmax(jump, nb_walk_measure_children(tree, m, i));
	}
	m->jump = jump;
	return status;
}

static int prepare(struct nb_walk_plan *plan, struct nb_walk_memory *m, const double *acc_old, double eps)
{
	const struct nb_tree *tree = plan->tree;
	const size_t nnode = tree->nnode;
	if (nb_walk_allocate_nodes(m, nnode, acc_old != NULL))
		return NB_ENOMEM;
	find_knots(m, tree);
	number_families(m, tree, nb_walk_leaf(plan->order));
	int status = measure_nodes(plan->g, tree, m, acc_old, plan->error);
	if (status)
		return status;
	plan->f64 |= plan->g->precision == NB_F64 || nb_walk_wants_f64(m->jump);
	m->family = nb_alloc(m->nfamily, sizeof *m->family);
	m->moment = nb_alloc(m->nfamily + 1, nb_walk_moment_size(plan));
	if (!m->family || !m->moment)
		return NB_ENOMEM;
	find_groups(m, tree, nb_walk_group(plan->order), plan->part);
	status = plan->g->jerk ? measure_motions(plan, m) : NB_OK;
	if (!status && plan->law != NB_LAW_COMMON) {
		m->family_soft = nb_alloc(m->nfamily, sizeof *m->family_soft);
		status = m->family_soft ? measure_softs(plan->g, tree, m, eps) : NB_ENOMEM;
	}
	if (status)
		return status;

	int deep;
	const int beyond = is_beyond_squares(tree, m, &deep);
	plan->deep |= deep;
	if (plan->order > 1 && (beyond || plan->order > 2 || !tree->quad) && find_moments(plan, m))
		return NB_ENOMEM;

	nb_walk_fill_family(plan, m, 0, 1, 0);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < nnode; i++)
		if (is_divided(m, i))
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
	find_knots(m, tree);
	for (size_t i = 0; i < tree->nnode; i++)
		m->inner[i] = tree->nchild[i] > 0;
	int status = measure_nodes(plan->at, tree, m, NULL, 0);
	if (!status && plan->law != NB_LAW_COMMON)
		status = measure_softs(plan->at, tree, m, eps);
	if (status)
		return status;
	find_groups(m, tree, nb_walk_group(plan->order), plan->part);
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

/* Seconds that this thread has worked. */
static double thread_seconds(void)
{
	struct timespec t = {0, 0};
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint32_t nb_walk_claim(struct nb_walk_share *share)
{
	static _Thread_local struct {
		const struct nb_walk_share *share;
		uint32_t part;
		double start;
	} last;
	const uint32_t part = __atomic_fetch_add(&share->claimed, 1, __ATOMIC_RELAXED);
	if (share->cost) {
		const double now = thread_seconds();
		if (last.share == share && last.part >= share->begin && last.part < share->end)
			share->cost[last.part - share->begin] = (float)(now - last.start);
		last.share = part < share->end ? share : NULL;
		last.part = part;
		last.start = now;
	}
	return part < share->end ? part : UINT32_MAX;
}

int nb_walk_parts(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	int (*const walk_isa[])(const struct nb_walk_plan *, struct nb_walk_share *, struct nb_gravity_count *) = {
		[NB_ISA_PLAIN] = nb_walk_plain,
#ifdef __x86_64__
		[NB_ISA_AVX2] = nb_walk_avx2,
		[NB_ISA_AVX512] = nb_walk_avx512,
#endif
	};
	enum nb_isa isa = nb_cpu_isa();
	uint64_t p2p = 0, m2p = 0, m2l = 0, groups = 0;
	int status = NB_OK;
#pragma omp parallel reduction(max : status) reduction(+ : p2p, m2p, m2l, groups)
	{
		struct nb_gravity_count mine = {0};
		status = walk_isa[isa](plan, share, &mine);
		p2p = mine.p2p;
		m2p = mine.m2p;
		m2l = mine.m2l;
		groups = mine.groups;
	}
	if (count) {
		count->p2p += p2p;
		count->m2p += m2p;
		count->m2l += m2l;
		count->groups += groups;
	}
	return status;
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
	if (points)
		status = prepare_points(&plan, &point_memory, eps);
	if (!status)
		status = prepare(&plan, &memory, by_acc ? walk->acc_old : NULL, eps);
	if (!status && !points)
		aim(&plan, &memory);
	if (!status)
		status = walk_all(&plan, memory.nfamily, count);
	nb_walk_memory_free(&memory);
	nb_walk_memory_free(&point_memory);
	return status;
}

int nb_gravity_tree_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
{
	return nb_walk_cpu(g, tree, walk, NULL, count);
}
