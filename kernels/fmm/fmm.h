/* fmm.h - the whole field of uniform boxes: near field by pairs, far field by a fast multipole method.
 *
 * The boxes of boxes.h are the finest level of a pyramid: the parent of box b is b >> dim.  From the finest level to
 * level 2, the bodies of each box are described by a multipole expansion about its centre (P2M, M2M).  A box gets the
 * field of the boxes that do not touch it, but whose parents touch its parent, as a Taylor series about its centre
 * (M2L: up to 189 boxes in 3-D, 27 in 2-D), inherits the rest from its parent (L2L), and evaluates it at its bodies
 * (L2P).  The field of the boxes that touch it is summed over pairs (gravity_near).  Levels 0 and 1 have no far field.
 *
 * Expansions are Cartesian Taylor series of the softened kernel itself, 1 / sqrt(r^2 + eps^2), with all terms of total
 * order <= p: a softening of any size is as exact as none, which harmonic expansions cannot offer.  In 2-D the
 * bodies are in the plane z = 0 and attract as in space, by 1 / r^2, so that only terms in x and y are needed.
 *
 * Sources: Greengard & Rokhlin 1987, J. Comput. Phys. 73, 325; the near field and the boxes: Shan & Lei 2012; the
 * recurrence of the Taylor coefficients, softened: Duan & Krasny 2001, J. Comput. Chem. 22, 184. */
#ifndef NB_FMM_H
#define NB_FMM_H

#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"

NB_C_BEGIN

enum { NB_FMM_MAX_ORDER_2D = 12, NB_FMM_MAX_ORDER_3D = 8 };
/* for errors of about 1e-4 */
enum { NB_FMM_ORDER_2D = 8, NB_FMM_ORDER_3D = 6 };

struct nb_fmm {
	int dim, level;	     /* of the boxes: 4^level or 8^level */
	int order;	     /* p of the expansions: 1..12 in 2-D, 1..8 in 3-D */
	struct nb_cube cube; /* that the boxes divide; all bodies are in it */
};

/* Accelerations and potentials of all bodies by all others.  Bodies are stored box by box, boxes of any occupancy.
 * rms(|da|) / rms(|a|) in uniform bodies and in a Plummer sphere, eps a tenth of a box, by order:
 *     3-D   2: 1-2e-2   3: 5-6e-3   4: 0.9-1.5e-3   5: 3-5e-4   6: 1.3-2.4e-4   7: 0.8-1.3e-4   8: 6-9e-5
 *     2-D   4: 3e-3     6: 4e-4     8: 1.2e-4       10: 3.5e-5  12: 1.0e-5
 * Same bytes for any number of threads.  g->precision is that of the near field; expansions are in f64.
 * count: p2p of the near field; m2l, pairs of boxes with bodies.
 * Memory beyond the arrays: for each coefficient 8 bytes a box of the finest level that has bodies, 16 a coarser one;
 * 5 bytes a box.  84 coefficients at order 6 in 3-D, 45 at order 8 in 2-D.
 * Returns as the near field does, and NB_EUNSUPPORTED for a jerk, a body_eps or a spline, NB_EINVAL for boxes that are
 * not those of dim and level, or bodies that are not in their boxes, or in 2-D not in the plane. */
NB_MUST_CHECK int nb_gravity_fmm_cpu(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm,
	struct nb_gravity_count *count);

/* The same on the current device; arrays of *g and *boxes in its memory.  Expansions in f32, in f64 where
 * g->precision is NB_F64 or eps is more than 2^20 edges of a box.  Same bytes on every run.  n < 2^32.
 * In f32 the expansions add 1e-6 at most to the errors above.
 * Memory: for each coefficient 8 bytes (16 in f64) a box with bodies; 8 bytes a box of all levels, 4 a body. */
NB_MUST_CHECK int nb_gravity_fmm_cuda(const struct nb_gravity *g, const struct nb_boxes *boxes,
	const struct nb_fmm *fmm, struct nb_gravity_count *count);

/* Multiply-adds of the M2L of one box that is not at the edge, for estimates. */
double nb_fmm_terms(int dim, int order);

NB_C_END
#endif
