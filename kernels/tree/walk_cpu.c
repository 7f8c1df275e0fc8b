/* Gravity by a walk of the tree on the CPU: checks, the copy of the tree that the walk reads, and threads.
 * The walk itself, and what it is based on, is in walk_simd.c. */
#include "kernels/tree/walk_internal.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/pair/pair.h"
#include "kernels/tree/opening_internal.h"

enum {
	PARTS = 128,	  /* about as many for each thread, so that all end at the same time */
	LEAST_PART = 512, /* bodies */
	MAX_THREADS = 1024,
	KNOT = 64 /* a cell so many times smaller than the one that it lies in is not walked with it */
};

/* Everything that nb_gravity_tree_cpu allocates. */
struct memory {
	uint32_t *inner, *npart;
	uint8_t *group;
	float *radius, *reach, *least;
	struct nb_family *family;
	void *moment;
	double *velocity, *quad_rate; /* for jerks, of each node: 3, 6 */
	size_t nfamily;
};

static void memory_free(struct memory *m)
{
	nb_free(m->inner);
	nb_free(m->npart);
	nb_free(m->group);
	nb_free(m->radius);
	nb_free(m->reach);
	nb_free(m->least);
	nb_free(m->family);
	nb_free(m->moment);
	nb_free(m->velocity);
	nb_free(m->quad_rate);
}

enum { UNREACHED = UINT32_MAX }; /* inner[i] of a node below one that is not divided */

static double extent(const struct nb_tree *tree, size_t i)
{
	const double *box = tree->box + 6 * i;
	return fmax(fmax(box[3] - box[0], box[4] - box[1]), box[5] - box[2]);
}

/* Whether a child of node i has bodies much closer to each other than the node is large. Positions in a group are
 * relative to its middle, and in f32 would lose such a separation: the child is better walked by itself. */
static int has_knot(const struct nb_tree *tree, size_t i)
{
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		double size = extent(tree, c);
		if (tree->count[c] > 1 && size > 0 && size * KNOT < extent(tree, i))
			return 1;
	}
	return 0;
}

/* Numbers the families. A node is reached before its children. */
static void number_families(struct memory *m, const struct nb_tree *tree)
{
	m->inner[0] = 0;
	for (size_t i = 1; i < tree->nnode; i++)
		m->inner[i] = UNREACHED;
	m->nfamily = 1;
	for (size_t i = 0; i < tree->nnode; i++) {
		if (m->inner[i] == UNREACHED || tree->nchild[i] == 0 ||
			(tree->count[i] <= NB_WALK_LEAF && !has_knot(tree, i)))
			continue;
		m->inner[i] = (uint32_t)m->nfamily++;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			m->inner[c] = 0;
	}
}

/* Finds the groups, and where threads may part. */
static void find_groups(struct memory *m, const struct nb_tree *tree, uint32_t part)
{
	for (size_t i = tree->nnode; i-- > 0;) {
		const int divided = m->inner[i] != 0 && m->inner[i] != UNREACHED;
		m->group[i] = !divided || (tree->count[i] <= NB_WALK_GROUP && !has_knot(tree, i));
		m->npart[i] = 1;
		if (m->group[i] || tree->count[i] <= part)
			continue;
		m->npart[i] = 0;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			m->npart[i] += m->npart[c];
	}
}

/* x rounded up to f32, with room for the rounding of what led to x */
static float round_up(double x)
{
	if (!(x > 0))
		return 0;
	float f = (float)(x * (1 + 0x1p-20));
	return f > FLT_MIN ? f : FLT_MIN;
}

static double distance(const double *a, const double *b)
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
	return sqrt(x * x + y * y + z * z);
}

static void box_middle(const struct nb_tree *tree, size_t i, double *middle)
{
	const double *box = tree->box + 6 * i;
	for (int k = 0; k < 3; k++)
		middle[k] = box[k] + 0.5 * (box[3 + k] - box[k]);
}

/* Radius, reach and least |acc_old| of a cell whose bodies are not divided further; looks at every body. */
static int measure_bodies(const struct nb_walk_plan *plan, struct memory *m, size_t i, const double *acc_old)
{
	const struct nb_tree *tree = plan->tree;
	const struct nb_gravity *g = plan->g;
	const double *com = tree->com + 3 * i;
	double middle[3], radius2 = 0, reach2 = 0, test = 0, least_mass = 0, least2 = INFINITY;
	box_middle(tree, i, middle);
	for (size_t b = tree->first[i]; b < (size_t)tree->first[i] + tree->count[i]; b++) {
		const double *x = g->pos + 3 * b;
		double r2 = 0, s2 = 0;
		for (int k = 0; k < 3; k++) {
			double r = (x[k] - com[k]) * plan->length, s = (x[k] - middle[k]) * plan->length;
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
	m->radius[i] = round_up(sqrt(radius2));
	m->reach[i] = round_up(sqrt(reach2));
	if (acc_old)
		m->least[i] = (float)(sqrt(least2) * plan->error);
	return NB_OK;
}

/* The same of a node, from its children: the better of two bounds. */
static void measure_children(const struct nb_walk_plan *plan, struct memory *m, size_t i)
{
	const struct nb_tree *tree = plan->tree;
	const double *com = tree->com + 3 * i, *box = tree->box + 6 * i;
	double middle[3], child_middle[3], corner[3], radius = 0, reach = 0;
	float least = INFINITY;
	box_middle(tree, i, middle);
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
		radius = fmax(radius, distance(com, tree->com + 3 * c) * plan->length + (double)m->radius[c]);
		box_middle(tree, c, child_middle);
		reach = fmax(reach, distance(middle, child_middle) * plan->length + (double)m->reach[c]);
		if (m->least)
			least = fminf(least, m->least[c]);
	}
	m->reach[i] = round_up(fmin(reach, distance(middle, box) * plan->length));
	for (int k = 0; k < 3; k++)
		corner[k] = com[k] < middle[k] ? box[3 + k] : box[k];
	m->radius[i] = round_up(fmin(radius, distance(com, corner) * plan->length));
	if (m->least)
		m->least[i] = least;
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
static void measure_motion(const struct nb_walk_plan *plan, struct memory *m, size_t i)
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
static int measure_motions(struct nb_walk_plan *plan, struct memory *m)
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
		if (m->inner[i] != 0 && m->inner[i] != UNREACHED)
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

/* Of node i, in scaled units, in the order of walk_internal.h. */
static void scale_motion(const struct nb_walk_plan *plan, const struct memory *m, size_t i, double *motion)
{
	for (size_t k = 0; k < 3; k++)
		motion[k] = (m->velocity[3 * i + k] - m->velocity[k]) * plan->speed;
	for (size_t k = 0; k < 6; k++)
		motion[3 + k] = m->quad_rate[6 * i + k] * plan->mass * plan->length * plan->speed;
}

/* ---- what the walk reads -------------------------------------------------------------------------------- */

/* Writes node i to its place among its siblings. */
static void fill_lane(const struct nb_walk_plan *plan, const struct memory *m, size_t i, size_t family, size_t lane)
{
	const struct nb_tree *tree = plan->tree;
	struct nb_family *f = &m->family[family];
	double moment[NB_WALK_MOMENTS + NB_WALK_MOTION] = {tree->mass[i] * plan->mass};
	double length2 = plan->length * plan->length;
	for (int q = 0; tree->order > 1 && q < 6; q++)
		moment[1 + q] = tree->quad[6 * i + (size_t)q] * plan->mass * length2;
	if (plan->velocity)
		scale_motion(plan, m, i, moment + NB_WALK_VELOCITY);
	for (int k = 0; k < 3; k++)
		f->x[k][lane] = tree->com[3 * i + (size_t)k];
	f->radius[lane] = m->radius[i];
	f->mass[lane] = round_up(moment[0]);
	f->inner[lane] = m->inner[i];
	f->first[lane] = tree->first[i];
	f->count[lane] = tree->count[i];
	size_t at = family * plan->nmoment * NB_FAMILY + lane;
	for (size_t q = 0; q < plan->nmoment; q++)
		if (plan->g->precision == NB_F64)
			((double *)m->moment)[at + q * NB_FAMILY] = moment[q];
		else
			((float *)m->moment)[at + q * NB_FAMILY] = (float)moment[q];
}

static int prepare(struct nb_walk_plan *plan, struct memory *m, const double *acc_old)
{
	const struct nb_tree *tree = plan->tree;
	const size_t nnode = tree->nnode;
	m->inner = nb_alloc(nnode, sizeof *m->inner);
	m->npart = nb_alloc(nnode, sizeof *m->npart);
	m->group = nb_alloc(nnode, sizeof *m->group);
	m->radius = nb_alloc(nnode, sizeof *m->radius);
	m->reach = nb_alloc(nnode, sizeof *m->reach);
	m->least = acc_old ? nb_alloc(nnode, sizeof *m->least) : NULL;
	if (!m->inner || !m->npart || !m->group || !m->radius || !m->reach || (acc_old && !m->least))
		return NB_ENOMEM;
	number_families(m, tree);
	plan->nmoment = plan->g->jerk ? NB_WALK_MOMENTS + NB_WALK_MOTION : NB_WALK_MOMENTS;
	const size_t moments = plan->nmoment * NB_FAMILY *
			       (plan->g->precision == NB_F64 ? sizeof(double) : sizeof(float));
	m->family = nb_alloc(m->nfamily, sizeof *m->family);
	m->moment = nb_alloc(m->nfamily, moments);
	if (!m->family || !m->moment)
		return NB_ENOMEM;

	int status = NB_OK;
#pragma omp parallel for schedule(dynamic, 256) reduction(max : status)
	for (size_t i = 0; i < nnode; i++)
		if (m->inner[i] == 0) {
			int s = measure_bodies(plan, m, i, acc_old);
			status = s > status ? s : status;
		}
	if (status)
		return status;
	for (size_t i = nnode; i-- > 0;)
		if (m->inner[i] != 0 && m->inner[i] != UNREACHED)
			measure_children(plan, m, i);
	find_groups(m, tree, plan->part);
	status = plan->g->jerk ? measure_motions(plan, m) : NB_OK;
	if (status)
		return status;

	memset(&m->family[0], 0, sizeof m->family[0]);
	memset(m->moment, 0, moments);
	fill_lane(plan, m, 0, 0, 0);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < nnode; i++) {
		size_t family = m->inner[i];
		if (family == 0 || family == UNREACHED)
			continue;
		memset(&m->family[family], 0, sizeof m->family[family]);
		memset((char *)m->moment + family * moments, 0, moments);
		for (uint32_t b = 0; b < tree->nchild[i]; b++)
			fill_lane(plan, m, tree->child[i] + b, family, b);
	}
	plan->inner = m->inner;
	plan->group = m->group;
	plan->npart = m->npart;
	plan->reach = m->reach;
	plan->least = m->least;
	plan->family = m->family;
	plan->moment = m->moment;
	return NB_OK;
}

int nb_gravity_tree_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
{
	const int by_acc = walk->mac == NB_MAC_ACCELERATION;
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G) || tree->order < 1 || tree->order > 2)
		return NB_EINVAL;
	if (g->jerk && !g->vel)
		return NB_EINVAL;
	if (by_acc ? !(walk->alpha >= 0 && isfinite(walk->alpha)) : !(walk->theta >= 0 && isfinite(walk->theta)))
		return NB_EINVAL;
	if (g->n == 0)
		return NB_OK;
	if (tree->nnode == 0 || tree->count[0] != g->n || (by_acc && !walk->acc_old))
		return NB_EINVAL;

	double size = g->eps;
	for (int k = 0; k < 3; k++)
		size = fmax(size, tree->box[3 + k] - tree->box[k]);
	if (!isfinite(size) || !isfinite(tree->mass[0]))
		return NB_ENONFINITE;
	struct nb_walk_plan plan = {.g = g, .tree = tree};
	plan.length = nb_pair_power2(size, 0);
	plan.mass = nb_pair_power2(tree->mass[0], 0);
	plan.eps = g->eps * plan.length;
	plan.error = (float)nb_opening_cpu(walk->theta);
	if (by_acc) /* alpha |a|, in scaled units */
		plan.error = (float)(walk->alpha * plan.mass / plan.length / plan.length /
				     (g->G != 0 ? fabs(g->G) : 1));
	int nthread = omp_get_max_threads() < MAX_THREADS ? omp_get_max_threads() : MAX_THREADS;
	size_t part = g->n / ((size_t)nthread * PARTS);
	plan.part = (uint32_t)(part > LEAST_PART ? part : LEAST_PART);

	struct memory memory = {0};
	int status = prepare(&plan, &memory, by_acc ? walk->acc_old : NULL);
	if (!status) {
		struct nb_walk_share share = {0};
		int (*const walk_isa[])(
			const struct nb_walk_plan *, struct nb_walk_share *, struct nb_gravity_count *) = {
			[NB_ISA_PLAIN] = nb_walk_plain,
#ifdef __x86_64__
			[NB_ISA_AVX2] = nb_walk_avx2,
			[NB_ISA_AVX512] = nb_walk_avx512,
#endif
		};
		enum nb_isa isa = nb_cpu_isa();
		uint64_t p2p = 0, m2p = 0, m2l = 0, groups = 0;
#pragma omp parallel reduction(max : status) reduction(+ : p2p, m2p, m2l, groups)
		{
			struct nb_gravity_count mine = {0};
			status = walk_isa[isa](&plan, &share, &mine);
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
	}
	memory_free(&memory);
	return status;
}
