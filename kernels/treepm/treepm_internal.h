/* treepm_internal.h - the near part: bodies in cells, lists of those near a group, and the law that acts on it. */
#ifndef NB_TREEPM_INTERNAL_H
#define NB_TREEPM_INTERNAL_H

#include "common/cpu.h"
#include "common/hd.h"
#include "kernels/gravity/gravity.h"
#include "kernels/pair/pair.h"
#include "kernels/treepm/treepm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_TREEPM_TERMS = 16,  /* of the polynomials in r^2 */
	NB_TREEPM_AROUND = 2,  /* cells along the cut */
	NB_TREEPM_GROUP = 16,  /* targets that share a list */
	NB_TREEPM_LIST = 2048, /* bodies of a list, after which its forces are summed */
	NB_TREEPM_VECTOR = 16, /* the most lanes of a vector, by which arrays are longer than they need to be */
	NB_TREEPM_PARTS = 128  /* of the groups of a device that share them with others, at most */
};

/* Groups are dealt to several devices in parts, one by one, the larger ones first: sizes fall linearly to a few groups,
 * so that devices which take as they get done end together.  How many parts there are, and the first group of part k,
 * k <= parts. */
static inline size_t nb_treepm_parts(size_t groups)
{
	enum { LEAST = 1024 }; /* groups of the last part: about as many as a device has at a time */
	size_t parts = 1;
	while (parts < NB_TREEPM_PARTS && (parts + 1) * (parts + 1) * LEAST <= groups)
		parts++;
	return parts;
}
static NB_HD size_t nb_treepm_part(size_t groups, size_t parts, size_t k)
{
	const size_t left = parts - k;
	return groups - groups * left * left / (parts * parts);
}

/* What a unit mass at d = sqrt(r2) does within the cut: the softened law, less the cloud's, whose pull and potential
 * are polynomials in v = r2 scale - 1, from -1 to 1. */
struct nb_treepm_law {
	enum nb_pair_law law;
	double eps2, none;	 /* NB_LAW_COMMON: r2 + eps2 counts above `none` */
	double cut2, scale, far; /* no coordinate is within the cut of far */
	double acc[NB_TREEPM_TERMS], pot[NB_TREEPM_TERMS];
};

/* Scaled; shorter softenings are below the floor of r^2, and none (pair.h). */
#define NB_TREEPM_LEAST_EPS 0x1p-60

struct nb_treepm_plan {
	struct nb_pair_scale scale;
	double box, split, reach; /* scaled */
	size_t side;		  /* cells along an axis */
	size_t around; /* of them, on each side of one, that may have bodies within reach: NB_TREEPM_AROUND or less */
	struct nb_treepm_law law;
};

/* What can be said of the arguments without arrays: NB_OK, NB_EINVAL, NB_ELIMIT. */
NB_MUST_CHECK int nb_treepm_check(
	const struct nb_gravity *g, double box, const struct nb_treepm *how, const struct nb_gravity_points *points);
/* heaviest: the largest |mass|. */
void nb_treepm_make_plan(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, double heaviest, struct nb_treepm_plan *plan);
/* The mean potential of the near part, scaled, of bodies of this sum of masses: it is not on the mesh. */
double nb_treepm_background(const struct nb_treepm_plan *plan, const struct nb_treepm *how, double total);

/* Bodies, or points, by cells: their coordinates in [0, box) by column, and longer by NB_TREEPM_VECTOR. */
struct nb_treepm_side {
	size_t n;
	double *x[3], *mass, *soft;
	double *pos;	      /* n x 3 */
	const uint32_t *list; /* of bodies, by number; NULL: all of them */
	uint32_t *number;     /* of each in the list */
	uint32_t *begin;      /* of cell c, with one more at the end */
};

struct nb_treepm_group {
	double centre[3], half[3]; /* of the box of its targets */
};

struct nb_treepm_list {
	double x[3][NB_TREEPM_LIST + NB_TREEPM_VECTOR] __attribute__((aligned(64)));
	double mass[NB_TREEPM_LIST + NB_TREEPM_VECTOR] __attribute__((aligned(64)));
	double soft[NB_TREEPM_LIST + NB_TREEPM_VECTOR] __attribute__((aligned(64)));
	float mass_f32[NB_TREEPM_LIST + NB_TREEPM_VECTOR] __attribute__((aligned(64))); /* for mixed precision */
	float soft_f32[NB_TREEPM_LIST + NB_TREEPM_VECTOR] __attribute__((aligned(64)));
	size_t n;
};

/* Appends those of the sources from, from + 1, ... to - 1 that are within reach of the group, as the images nearest to
 * its centre, until there may be no room; returns the first that was not looked at. */
typedef size_t nb_treepm_collect(const struct nb_treepm_side *sources, size_t from, size_t to, double box,
	double reach2, const struct nb_treepm_group *group, struct nb_treepm_list *list);
/* Adds to sum[k] what the list does to targets first + k, k < count: acc, and pot if it is wanted.  _mixed: separations
 * and sums are in f64, the other arithmetic of pairs in f32. */
typedef void nb_treepm_pull(const struct nb_treepm_law *law, struct nb_treepm_list *list,
	const struct nb_treepm_side *targets, size_t first, size_t count, int pot, double sum[][4]);
typedef nb_treepm_pull nb_treepm_pull_mixed;
NB_ISA_DECLARE(nb_treepm_collect)
NB_ISA_DECLARE(nb_treepm_pull)
NB_ISA_DECLARE(nb_treepm_pull_mixed)

#ifdef __cplusplus
}
#endif

#endif
