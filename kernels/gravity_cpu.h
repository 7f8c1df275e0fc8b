/* gravity_cpu.h - what the CPU force kernels share; not for callers of gravity.h. */
#ifndef NB_GRAVITY_CPU_H
#define NB_GRAVITY_CPU_H

#include "kernels/gravity.h"
#include "kernels/gravity_pair.h"

/* A checked problem in scaled units (gravity_pair.h). */
struct nb_gravity_plan {
	const struct nb_gravity *g;
	struct nb_pair_scale scale;
	double eps;	  /* scaled */
	double middle[3]; /* of the bounding box, scaled */
	/* direct sum only: body i is in tile i / tile */
	size_t tile;
	size_t ntile;
	const double *centre; /* ntile x 3: the middle of each tile, scaled */
};

/* Checks the arguments and that everything read is finite, and finds the scale.  Same bytes for any
 * number of threads.  Returns 0, or NB_EINVAL, NB_ENONFINITE. */
NB_MUST_CHECK int nb_gravity_plan(const struct nb_gravity *g, struct nb_gravity_plan *plan);
/* Rows first..first+n-1 of acc, pot and jerk to 0. */
void nb_gravity_clear(const struct nb_gravity *g, size_t first, size_t n);
/* The sums in acc, pot and jerk to the caller's units. */
void nb_gravity_unscale(const struct nb_gravity_plan *plan);

/* bodies a tile holds: its columns and their sums stay in the first-level cache */
enum { NB_TILE_F32 = 960, NB_TILE_F64 = 480 };
/* bytes that a thread needs to work on two tiles */
enum { NB_TILE_ROOM = 256 << 10 };

/* targets that meet a vector of sources at a time */
enum { NB_GROUP = 2 };
/* how masses come in, see gravity_tile.h */
enum nb_masses { NB_EACH, NB_UNIFORM, NB_SOURCE };

/* One unit of work per instruction set, in room of NB_TILE_ROOM bytes, 64-byte aligned.
 *   nb_direct_pair   forces between two tiles, or within one where a == b, into room
 *   nb_direct_add    adds them to the rows of the two tiles; where a == b, overwrites the rows
 *   nb_near_rows     rows first..last-1, bodies of one box, overwritten; returns the interactions */
#define NB_GRAVITY_UNITS(isa)                                                                                     \
	void nb_direct_pair_##isa(const struct nb_gravity_plan *plan, size_t a, size_t b, void *room);            \
	void nb_direct_add_##isa(const struct nb_gravity_plan *plan, size_t a, size_t b, const void *room);       \
	uint64_t nb_near_rows_##isa(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, size_t box, \
		size_t first, size_t last, void *room);
NB_GRAVITY_UNITS(plain)
NB_GRAVITY_UNITS(avx2)
NB_GRAVITY_UNITS(avx512)

#endif
