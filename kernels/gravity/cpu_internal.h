/* cpu_internal.h - what the CPU force kernels share; not for callers of gravity.h. */
#ifndef NB_GRAVITY_CPU_INTERNAL_H
#define NB_GRAVITY_CPU_INTERNAL_H

#include "common/cpu.h"
#include "kernels/gravity/gravity.h"

/* bodies a tile holds: its columns and their sums stay in the first-level cache */
enum { NB_TILE_F32 = 960, NB_TILE_F64 = 480 };
/* bytes that a thread needs to work on two tiles */
enum { NB_TILE_BYTES = 256 << 10 };

/* targets that meet a vector of sources at a time */
enum { NB_GROUP = 2 };
/* how masses come in, see tile_body.h */
enum nb_masses { NB_EACH, NB_UNIFORM, NB_SOURCE };

/* One unit of work per instruction set, in a buffer of NB_TILE_BYTES bytes, 64-byte aligned.
 *   nb_direct_pair   forces between two tiles, or within one where a == b, into the buffer
 *   nb_direct_add    adds them to the rows of the two tiles; where a == b, overwrites the rows
 *   nb_near_rows     rows first..last-1, bodies of one box, overwritten; returns the interactions */
typedef void nb_direct_pair(const struct nb_gravity_plan *plan, size_t a, size_t b, void *buffer);
typedef void nb_direct_add(const struct nb_gravity_plan *plan, size_t a, size_t b, const void *buffer);
typedef uint64_t nb_near_rows(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, size_t box,
	size_t first, size_t last, void *buffer);
NB_ISA_DECLARE(nb_direct_pair)
NB_ISA_DECLARE(nb_direct_add)
NB_ISA_DECLARE(nb_near_rows)

/* ---- the field at points ---- */

enum {
	NB_POINTS_TARGETS = 64, /* of a unit of work */
	NB_POINTS_TILE = 480,	/* sources that stay in the first-level cache */
	NB_POINTS_SUMS = 8	/* acc, pot, strength, jerk */
};

struct nb_points_job {
	struct nb_gravity_plan plan;
	const struct nb_gravity_points *points;
	size_t parts, part; /* number of parts of the sources, and bodies in each but the last */
	double *sum;	    /* parts x points->n x NB_POINTS_SUMS, scaled */
};

/* nb_gravity_make_plan of bodies that act on points too. */
NB_MUST_CHECK int nb_gravity_plan_points(
	const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_gravity_plan *plan);

/* What part of the sources does to targets block NB_POINTS_TARGETS ... */
typedef void nb_points_unit(const struct nb_points_job *job, size_t block, size_t part);
NB_ISA_DECLARE(nb_points_unit)

#endif
