/* near.h - the neighbours of every body: the k nearest, and those within a radius.
 *
 * The squared distance of two bodies is dx^2 + dy^2 + dz^2, each operation rounded and in this order, in a unit of
 * length that is a power of two; of two at one distance the one with the smaller id is nearer, of equal ids the one of
 * the smaller row.  So what is nearest depends neither on the order in which bodies are looked at nor on the number of
 * threads, and is the same on every backend, bit by bit, as all numbers that follow from it are.  Coincident bodies are
 * neighbours at distance 0; a body is no neighbour of its own.  O(n log n + n k), whatever the distribution. */
#ifndef NB_NEAR_H
#define NB_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum {
	NB_NEAR_MOST = 128, /* neighbours of a body */
	NB_NEAR_LEAF = 16   /* bodies of a leaf of the tree, unless they are in one place */
};

struct nb_near_bodies {
	size_t n;   /* < 2^31 */
	int dim;    /* 2 (z is ignored) or 3 */
	double box; /* edge of a periodic box, in which bodies outside are brought first (common/periodic.h), and in
		       which a body counts once, where its nearest image is; 0: not periodic */
	/* The CPU puts these in another order while it works, and back before it returns, the same bytes; after
	   NB_ENOMEM they may be in any. */
	double *pos;  /* n x 3 */
	double *mass; /* n, >= 0; NULL: 1 each */
	double *vel;  /* n x 3, for vdisp; or NULL */
	uint64_t *id; /* n; NULL: the row */
	struct {
		float *pos, *mass, *vel;
	} single; /* on the CPU, those that are not NULL are taken in place of these */
};

/* What is wanted of the k nearest neighbours of each body, in the order of the bodies.  NULL: not wanted.
 *   neighbour  n x k, their ids, the nearest first
 *   distance   n x k, how far they are
 *   hsml       n, the distance of the k-th
 *   density    n, sum of m W(r, hsml) over them and the body itself; W is the cubic spline whose support ends at hsml
 *              (Monaghan & Lattanzio 1985, A&A 149, 135; Springel 2005, MNRAS 364, 1105, eq. 4); infinite if that is 0
 *   unbiased      n, density without bias of the part-th of them, 2 <= part <= k: mass of the part - 1 nearest in the
 *              sphere that reaches to the next one (Casertano & Hut 1985, ApJ 298, 80); infinite if that has no radius
 *   vdisp      n, velocity dispersion of one coordinate of them and the body itself:
 *              sum m |v - mean v|^2 / (dim sum m), and its square root; NaN if they have no mass
 */
struct nb_near_found {
	int k; /* 1 .. NB_NEAR_MOST, < n unless n is 0 */
	int part;
	uint64_t *neighbour;
	double *distance, *hsml, *density, *unbiased, *vdisp;
};

/* Beside its arguments it takes about 25 bytes of memory for each body, and 40 more for each of those that keys do not
 * tell apart (kernels/order/deep.h).  NB_OK, NB_ENOMEM, NB_EINVAL (k), NB_ENONFINITE, NB_ELIMIT (n, or too far
 * apart). */
NB_MUST_CHECK int nb_near_nearest_cpu(const struct nb_near_bodies *bodies, const struct nb_near_found *nearest);

/* The same on the current device, of arrays in its memory; may also return NB_EFAR (nb_tree_build_cuda), NB_EDEVICE. */
NB_MUST_CHECK int nb_near_nearest_cuda(const struct nb_near_bodies *bodies, const struct nb_near_found *nearest);

/* The bodies at most a radius away from each, which is not one of them.
 *   radius  >= 0, at most half of a periodic box
 *   count   n, how many; or NULL
 *   mass    n, the sum of their masses, in another order on another backend; or NULL */
struct nb_within {
	double radius;
	uint32_t *count;
	double *mass;
};

/* As nb_near_nearest_cpu; NB_EINVAL: radius.  O(n log n) and the bodies on the surfaces of the spheres. */
NB_MUST_CHECK int nb_near_within_cpu(const struct nb_near_bodies *bodies, const struct nb_within *within);

NB_C_END

#include "kernels/near/pairs.h"

#endif
