/* plan.h - what every force kernel on the CPU begins and ends with: checked arguments, scaled units. */
#ifndef NB_GRAVITY_PLAN_H
#define NB_GRAVITY_PLAN_H

#include "kernels/gravity/gravity.h"
#include "kernels/pair/pair.h"

NB_C_BEGIN

/* How pairs are softened, as the loops are compiled. */
enum nb_pair_law {
	NB_LAW_COMMON, /* Plummer, one eps for all pairs */
	NB_LAW_PLUMMER,
	NB_LAW_SPLINE
};
static inline enum nb_pair_law nb_pair_law_of(const struct nb_gravity *g)
{
	return g->softening == NB_SPLINE ? NB_LAW_SPLINE : g->body_eps ? NB_LAW_PLUMMER : NB_LAW_COMMON;
}

/* A checked problem in scaled units (pair.h). */
struct nb_gravity_plan {
	const struct nb_gravity *g;
	struct nb_pair_scale scale;
	double eps; /* scaled; NB_LAW_COMMON */
	int remote; /* some bodies are so far off that about one middle most of the others are in one place */
	enum nb_pair_law law;
	double middle[3]; /* of the bounding box, scaled */
	/* direct sum only: body i is in tile i / tile */
	size_t tile;
	size_t ntile;
	const double *centre; /* ntile x 3: the middle of each tile, scaled */
};

/* Of rows first..first+n-1, the number by which pairs are softened, with lengths times length: Plummer, eps^2 or floor
 * if that is larger (of a pair: the larger one); spline, the inverse of the support, at most 2 / sqrt(floor) (of a
 * pair: the smaller one).  floor is that of pair.h. */
void nb_gravity_soft(const struct nb_gravity *g, size_t first, size_t n, double length, double floor, double *soft);
/* Largest softening.  NB_EINVAL, NB_ENONFINITE for one that is none. */
NB_MUST_CHECK int nb_gravity_largest_eps(const struct nb_gravity *g, double *largest);

/* Checks the arguments and that everything read is finite, and finds the scale.  Same bytes for any
 * number of threads.  Returns 0, or NB_EINVAL, NB_ENONFINITE. */
NB_MUST_CHECK int nb_gravity_make_plan(const struct nb_gravity *g, struct nb_gravity_plan *plan);
/* Rows first..first+n-1 of acc, pot and jerk to 0. */
void nb_gravity_clear(const struct nb_gravity *g, size_t first, size_t n);
/* The sums in acc, pot and jerk to the caller's units. */
void nb_gravity_unscale(const struct nb_gravity_plan *plan);

/* ---- bodies of rank 0 on all ranks (kernels/ranks/ranks.h; ranks_cpu.c) ---- */

enum { NB_GRAVITY_SHARED = 8192 /* bodies: fewer are computed sooner than they are sent */ };

/* On a rank other than the first: replaces the addresses of rank 0 in *g by memory for what it reads and writes, with
 * velocities for jerks alone.  NB_ENOMEM; to be freed in any case. */
NB_MUST_CHECK int nb_gravity_alloc_replica(struct nb_gravity *g);
void nb_gravity_free_replica(struct nb_gravity *g);
/* All ranks call: what rank 0 reads of its bodies comes to the others.  Over after nb_ranks_wait_all. */
void nb_gravity_replicate(const struct nb_gravity *g);

NB_C_END
#endif
