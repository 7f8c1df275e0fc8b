/* gravity.h - accelerations, potentials and jerks of n bodies: the contract of every force kernel.
 *
 * Readable by gcc as C17 and by nvcc as C++17: no restrict, no VLA, no designated initialiser.
 *
 * Units: the caller's.  acc = G m / length^2, pot = -G m / length, jerk = G m velocity / length^3.
 * The interaction is Plummer-softened Newtonian gravity,
 *     a_i = G sum_j m_j (x_j - x_i) / (r^2 + eps^2)^(3/2),    j != i;
 * with eps = 0 a coincident pair contributes nothing.  Bodies with mass 0 feel but do not attract.
 * If bodies have softenings of their own, that of a pair is the larger one, as in GADGET (Springel 2005, MNRAS 364,
 * 1105; so do AREPO and SWIFT): it is the same for both bodies, so momentum and energy are conserved; bodies of one
 * softening have that softening; and a pair that both would see unsoftened beyond some distance stays so. */
#ifndef NB_GRAVITY_H
#define NB_GRAVITY_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "kernels/boxes/boxes.h"

NB_C_BEGIN

enum nb_precision {
	NB_F32,	  /* positions shifted to a local origin, then everything in f32 */
	NB_MIXED, /* separations in f64 (exact to f32 of the separation), arithmetic in f32 */
	NB_F64	  /* everything in f64 */
};

enum nb_softening {
	NB_PLUMMER,
	NB_SPLINE /* GADGET's, of Plummer-equivalent length eps: exactly Newton's beyond 2.8 eps (pair.h) */
};

/* What to compute, from what, and where to put it.  All arrays live where the backend computes:
 * host memory for the CPU, device memory (of the device that is current) for CUDA. */
struct nb_gravity {
	size_t n;	    /* bodies; 0 and 1 are fine */
	const double *pos;  /* n x 3 */
	const double *vel;  /* n x 3, needed for jerk only, else NULL */
	const double *mass; /* n */
	double *acc;	    /* n x 3, out, overwritten */
	double *pot;	    /* n, out, or NULL: not wanted */
	double *jerk;	    /* n x 3, out, or NULL: not wanted */
	double eps;	    /* Plummer softening length, >= 0 */
	double G;	    /* gravitational constant */
	enum nb_precision precision;
	/* what runs of one Plummer softening leave 0: they have kernels of their own */
	enum nb_softening softening;
	const double *body_eps; /* n: the softening of each body, >= 0, in place of eps; or NULL */
};

/* What a force computation did; the kernel adds to it. */
struct nb_gravity_count {
	uint64_t p2p;	 /* body-body interactions evaluated (a symmetric pair counts as two) */
	uint64_t m2p;	 /* multipole-to-body evaluations */
	uint64_t m2l;	 /* multipole-to-local translations */
	uint64_t groups; /* target groups walked */
};

/* The oracle: accelerations of the ntarget bodies target[k] (NULL: all n, ntarget ignored) by
 * plain f64 loops with compensated sums, no SIMD tricks, O(ntarget n).
 *   acc   ntarget x 3, pot ntarget or NULL, jerk ntarget x 3 or NULL, in the order of target
 * g->acc, g->pot, g->jerk and g->precision are ignored.  Units are not scaled: cubes of separations must be in the
 * range of a double.  Host memory only. */
NB_MUST_CHECK int nb_gravity_ref(
	const struct nb_gravity *g, const size_t *target, size_t ntarget, double *acc, double *pot, double *jerk);

/* Direct sum over all pairs, O(n^2), each pair once, OpenMP threads and the widest SIMD the processor has.
 * Same bytes for any number of threads.  Needs 256 KiB a thread beyond the arrays of *g.
 * Any units: the kernel scales by powers of two.  rms(|da|) / rms(|a|) is about 2e-7 in f32, 1e-7 in mixed
 * and 3e-16 in f64.  In f32 each separation has an error of up to 1e-7 of the extent of the tile (up to 960
 * consecutive bodies), so close pairs are less accurate, and sorted bodies fare better.
 * With a body_eps or a spline it takes about twice as long.
 * Returns 0, or NB_EINVAL (eps or a body_eps < 0 or not finite, G not finite, jerk without vel), NB_ENONFINITE,
 * NB_ENOMEM. Source: Nyland, Harris & Prins 2007, GPU Gems 3, ch. 31, for the softened interaction. */
NB_MUST_CHECK int nb_gravity_direct_cpu(const struct nb_gravity *g, struct nb_gravity_count *count);
/* The part of this rank, other than the first, in the next direct sum of all ranks (kernels/ranks/ranks.h); to be
 * called once for each NB_RANKS_DIRECT.  With ranks, nb_gravity_direct_cpu gives the same bytes as without.  NB_ENOMEM.
 */
NB_MUST_CHECK int nb_gravity_direct_serve(void);
/* The same on the current device, all arrays of *g in its memory; kernels by name: kernels_cuda.h.
 * Same bytes on every run, and for any team of devices of one kind (kernels/team/team.h), to which the current one is
 * home.  n < 2^32 (NB_ELIMIT). */
NB_MUST_CHECK int nb_gravity_direct_cuda(const struct nb_gravity *g, struct nb_gravity_count *count);

/* Near field of uniform boxes (boxes.h): each body feels the bodies of its own box and of the adjacent boxes only.
 * Bodies are stored box by box; boxes of any occupancy, also none.  Same bytes for any number of threads.
 * Returns as the direct sum does, and NB_EINVAL for boxes that do not add up.
 * Source: Shan & Lei 2012, section II. */
NB_MUST_CHECK int nb_gravity_near_cpu(
	const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count);
/* The same on the current device; the arrays of *boxes are in its memory too.  Same bytes on every run, and for any
 * team, as above. */
NB_MUST_CHECK int nb_gravity_near_cuda(
	const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count);

NB_C_END

#include "kernels/gravity/kernels_cuda.h"
#include "kernels/gravity/plan.h"
#include "kernels/gravity/points.h"

#endif
