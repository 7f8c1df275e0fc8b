/* near_internal.h - bodies in the order of a tree, distances between them, and what follows from those of neighbours;
 * for both backends. */
#ifndef NB_NEAR_INTERNAL_H
#define NB_NEAR_INTERNAL_H

#include "common/periodic.h"
#include "kernels/near/near.h"
#include "kernels/tree/tree.h"

enum { NB_NEAR_STACK = 7 * NB_TREE_LEVELS + 9 };
/* What rounding leaves of a distance between boxes, for a bound. */
#define NB_NEAR_LESS (1 - 0x1p-48)
#define NB_NEAR_MORE (1 + 0x1p-48)

/* Arrays are where the backend computes.  Lengths are those of the caller divided by 2^exponent. */
struct nb_near_job {
	struct nb_near_bodies bodies;
	struct nb_near_found nearest;
	double box, half; /* half: INFINITY without a box */
	int exponent;
	double unit[2];		  /* whose product is 2^exponent */
	const double *at[3];	  /* of a device: n each, in the order of the tree; z is 0 in 2-D */
	const double *mass, *vel; /* in that order, too, where they are wanted, or NULL */
	const uint64_t *id;
	const uint32_t *perm; /* n, the row of each */
	struct nb_tree tree;  /* the bodies of a leaf that are in one place are in the order of their ids */
	/* of the CPU, whose bodies are those of the caller, in the order of the tree: */
	double less[2];						   /* 1 / unit */
	enum { NB_NEAR_INSIDE, NB_NEAR_BESIDE, NB_NEAR_FAR } wrap; /* how far bodies are outside of the box */
	int turned;						   /* they are in that order */
};

/* The squared distance by which neighbours are chosen. */
static NB_HD double nb_near_distance2(const struct nb_near_job *job, const double a[3], double x, double y, double z)
{
	const double dx = nb_periodic_distance(a[0], x, job->box, job->half);
	const double dy = nb_periodic_distance(a[1], y, job->box, job->half);
	const double dz = nb_periodic_distance(a[2], z, job->box, job->half);
	return dx * dx + dy * dy + dz * dz;
}

/* Never more than the squared distance of a body in one box from one in the other. */
static NB_HD double nb_near_gap2(const struct nb_near_job *job, const double *a, const double *b)
{
	double gap2 = 0;
	for (int k = 0; k < 3; k++) {
		const double gap = nb_periodic_gap(a[k], a[k + 3], b[k], b[k + 3], job->box);
		gap2 += gap * gap;
	}
	return gap2 * NB_NEAR_LESS;
}

/* Never less than the distance of any body in one interval from any in the other, or from its nearest image; an
 * interval is a[0] .. a[3], as of a box. */
static NB_HD double nb_near_reach(const struct nb_near_job *job, const double *a, const double *b)
{
	const double up = b[3] - a[0], down = a[3] - b[0];
	double reach = up > down ? up : down;
	if (job->box > 0) { /* of the images one box further up and down */
		const double above = up + job->box > down - job->box ? up + job->box : down - job->box;
		const double below = down + job->box > up - job->box ? down + job->box : up - job->box;
		const double other = above < below ? above : below;
		reach = other < reach ? other : reach;
	}
	return reach;
}

/* Never less than the squared distance of any body in one box from any in the other. */
static NB_HD double nb_near_reach2(const struct nb_near_job *job, const double *a, const double *b)
{
	double reach2 = 0;
	for (int k = 0; k < 3; k++) {
		const double reach = nb_near_reach(job, a + k, b + k);
		reach2 += reach * reach;
	}
	return reach2 * NB_NEAR_MORE;
}

#ifdef __cplusplus
extern "C"
#endif
	/* Sorts n rows by their ids (of all bodies), those of equal ids stay in their order.  Host memory.  NB_OK,
	   NB_ENOMEM. */
	NB_MUST_CHECK int
	nb_near_sort_ids(size_t n, const uint64_t *id, uint32_t *row);

/* Whether body a is nearer than b at the same distance. */
static NB_HD int nb_near_before(const struct nb_near_job *job, uint32_t a, uint32_t b)
{
	if (job->id && job->id[a] != job->id[b])
		return job->id[a] < job->id[b];
	return job->perm[a] < job->perm[b];
}

/* Bodies of a leaf that can be among the k nearest of another: of those in one place the first. */
static NB_HD uint32_t nb_near_count(const struct nb_near_job *job, size_t leaf)
{
	const uint32_t count = job->tree.count[leaf], most = (uint32_t)job->nearest.k + 1;
	return count > NB_NEAR_LEAF && count > most ? most : count;
}

/* Why not: NB_OK if the k nearest can be found. */
static inline int nb_near_refuses(const struct nb_near_bodies *bodies, int k)
{
	if (k < 1 || k > NB_NEAR_MOST || (size_t)k >= bodies->n)
		return NB_EINVAL;
	return bodies->n >= (size_t)1 << 31 ? NB_ELIMIT : NB_OK;
}

/* The unit of lengths, from the edge of the cube of all bodies. */
static inline void nb_near_scale(struct nb_near_job *job, double size)
{
	(void)frexp(job->bodies.box > 0 ? job->bodies.box : size, &job->exponent);
	job->box = ldexp(job->bodies.box, -job->exponent);
	job->half = job->box > 0 ? job->box / 2 : INFINITY;
	job->unit[0] = ldexp(1, job->exponent / 2);
	job->unit[1] = ldexp(1, job->exponent - job->exponent / 2);
}

/* ---- what follows from the neighbours of a body ------------------------------------------------- */

struct nb_near_sums {
	size_t row;
	double hsml, mass, density, unbiased, unbiased2, vel[3], square;
	int next;
};

static NB_HD double nb_near_mass(const struct nb_near_job *job, size_t i)
{
#ifndef __CUDA_ARCH__
	if (job->bodies.single.mass)
		return job->bodies.single.mass[i];
#endif
	return job->mass ? job->mass[i] : 1;
}

/* Component k of a velocity; on the CPU all of one follow those of another. */
static NB_HD double nb_near_vel(const struct nb_near_job *job, size_t i, size_t k)
{
#ifdef __CUDA_ARCH__
	return job->vel[3 * i + k];
#else
	const size_t at = k * job->bodies.n + i;
	return job->bodies.single.vel ? job->bodies.single.vel[at] : job->vel[at];
#endif
}

/* Body i of the tree, whose k-th neighbour is at this squared distance. */
static NB_HD struct nb_near_sums nb_near_begin(const struct nb_near_job *job, size_t i, double last2)
{
	struct nb_near_sums s;
	s.row = job->perm[i];
	s.hsml = sqrt(last2);
	s.mass = s.density = nb_near_mass(job, i);
	s.unbiased = s.unbiased2 = s.square = 0;
	s.next = 0;
	for (int k = 0; k < 3; k++)
		s.vel[k] = job->nearest.vdisp ? s.mass * nb_near_vel(job, i, (size_t)k) : 0;
	return s;
}

/* Its neighbours, one after the other: body j of the tree at this squared distance. */
static NB_HD void nb_near_add(const struct nb_near_job *job, struct nb_near_sums *s, size_t j, double d2)
{
	const struct nb_near_found *to = &job->nearest;
	const size_t at = s->row * (size_t)to->k + (size_t)s->next;
	const double m = nb_near_mass(job, j), d = sqrt(d2), u = s->hsml > 0 ? d / s->hsml : 0;
	s->next++;
	s->mass += m;
	s->density += m * (u < 0.5 ? 1 - 6 * u * u * (1 - u) : 2 * (1 - u) * (1 - u) * (1 - u));
	if (s->next < to->part)
		s->unbiased += m;
	else if (s->next == to->part)
		s->unbiased2 = d2;
	if (to->neighbour)
		to->neighbour[at] = job->id ? job->id[j] : job->perm[j];
	if (to->distance)
		to->distance[at] = d * job->unit[0] * job->unit[1];
	if (to->vdisp)
		for (int k = 0; k < 3; k++)
			s->vel[k] += m * nb_near_vel(job, j, (size_t)k);
}

/* Once more, for vdisp: body j or i itself. */
static NB_HD void nb_near_spread(const struct nb_near_job *job, struct nb_near_sums *s, size_t j)
{
	double v2 = 0;
	for (int k = 0; k < job->bodies.dim; k++) {
		const double v = nb_near_vel(job, j, (size_t)k) - s->vel[k] / s->mass;
		v2 += v * v;
	}
	s->square += nb_near_mass(job, j) * v2;
}

static NB_HD void nb_near_end(const struct nb_near_job *job, const struct nb_near_sums *s)
{
	const double pi = 3.14159265358979323846, h = s->hsml, r = sqrt(s->unbiased2);
	const int flat = job->bodies.dim == 2, power = -job->bodies.dim * job->exponent;
	const struct nb_near_found *to = &job->nearest;
	if (to->hsml)
		to->hsml[s->row] = h * job->unit[0] * job->unit[1];
	if (to->density)
		to->density[s->row] = ldexp(
			s->density * (flat ? 40 / (7 * pi) : 8 / pi) / (h * h * (flat ? 1 : h)), power);
	if (to->unbiased)
		to->unbiased[s->row] = ldexp(
			s->unbiased / ((flat ? pi : 4 * pi / 3) * (s->unbiased2 * (flat ? 1 : r))), power);
	if (to->vdisp)
		to->vdisp[s->row] = sqrt(s->square / (s->mass * job->bodies.dim));
}

#endif
