/* expansion_internal.h - Cartesian expansions: where a coefficient is, and the Taylor coefficients of the kernel; for
 * both backends.
 *
 * A multi-index a = (x, y, z) has the degree |a| = x + y + z, a! = x! y! z!.  Coefficients stand by degree, then by
 * falling x, then by falling y.  With lengths in edges of the boxes of the level, d the place of a source from the
 * centre of its box, y that of a target, D the vector from the source's centre to the target's:
 *     M_a = sum m (-d)^a / a!,    T_n = d^n/dx^n (x^2 + eps^2)^(-1/2) at D,    L_b = sum_a M_a T_(a+b),
 *     sum m / sqrt(|D + y - d|^2 + eps^2) = 1 / edge sum_b L_b y^b / b!
 * with |a| <= p, |b| <= p, and |a| + |b| at most p to p + 2 (nb_fmm_total). */
#ifndef NB_FMM_EXPANSION_INTERNAL_H
#define NB_FMM_EXPANSION_INTERNAL_H

#include <math.h>
#include <stdint.h>

#include "common/hd.h"
#include "kernels/fmm/fmm.h"

enum {
	NB_FMM_TERMS = 165,	/* most coefficients of an expansion: 3-D, order 8 */
	NB_FMM_TENSOR = 286,	/* most T_n: 3-D, order 10 */
	NB_FMM_MAX_TOTAL = 14,	/* largest |n| */
	NB_FMM_TABLES = 26 * 8, /* most neighbours times children */
	NB_FMM_TOP = 2		/* the coarsest level that has a far field */
};
/* Rounding lets a body stand so far outside its box, in edges. */
#define NB_FMM_SLACK 1e-6

/* How many multi-indices have a degree below k. */
static NB_HD int nb_fmm_below(int dim, int k)
{
	return dim == 3 ? k * (k + 1) * (k + 2) / 6 : k * (k + 1) / 2;
}

static NB_HD int nb_fmm_term(int dim, int x, int y, int z)
{
	const int k = x + y + z;
	return nb_fmm_below(dim, k) + (dim == 3 ? (k - x) * (k - x + 1) / 2 + z : y);
}

/* t[n] = T_n for all n of degree <= order, with a softening eps: the recurrence for the Taylor coefficients t_n / n!,
 *     |n| R^2 c_n + (2 |n| - 1) sum_i x_i c_(n - e_i) + (|n| - 1) sum_i c_(n - 2 e_i) = 0,  R^2 = x^2 + eps^2.
 * Where eps^2 is beyond the range of numbers, only T_0 is not 0. */
static NB_HD void nb_fmm_tensor(int dim, int order, const double *x, double eps, double *t)
{
	const double r2 = x[0] * x[0] + x[1] * x[1] + (dim == 3 ? x[2] * x[2] : 0) + eps * eps, inverse = 1 / r2;
	t[0] = inverse > 0 ? sqrt(inverse) : 1 / eps;
	for (int k = 1; k <= order; k++) {
		const double first = (2.0 - 1.0 / k) * inverse, second = (1 - 1.0 / k) * inverse;
		for (int a = k; a >= 0; a--)
			for (int b = k - a; b >= (dim == 3 ? 0 : k - a); b--) {
				const int c = k - a - b;
				double one = 0, two = 0;
				if (a > 0)
					one += x[0] * t[nb_fmm_term(dim, a - 1, b, c)];
				if (b > 0)
					one += x[1] * t[nb_fmm_term(dim, a, b - 1, c)];
				if (c > 0)
					one += x[2] * t[nb_fmm_term(dim, a, b, c - 1)];
				if (a > 1)
					two += t[nb_fmm_term(dim, a - 2, b, c)];
				if (b > 1)
					two += t[nb_fmm_term(dim, a, b - 2, c)];
				if (c > 1)
					two += t[nb_fmm_term(dim, a, b, c - 2)];
				t[nb_fmm_term(dim, a, b, c)] = -(first * one + second * two);
			}
	}
	double factorial[NB_FMM_MAX_TOTAL + 1] = {1};
	for (int k = 1; k <= order; k++)
		factorial[k] = k * factorial[k - 1];
	for (int k = 2; k <= order; k++)
		for (int a = k; a >= 0; a--)
			for (int b = k - a; b >= (dim == 3 ? 0 : k - a); b--)
				t[nb_fmm_term(dim, a, b, k - a - b)] *= factorial[a] * factorial[b] *
									factorial[k - a - b];
}

/* Coordinate d (0: x) of child number `child` of a box, 0 or 1. */
static NB_HD int nb_fmm_bit(int dim, int child, int d)
{
	return child >> (dim - 1 - d) & 1;
}

/* Vector in boxes from child s of the neighbour q of a box (in the order of boxes.h) to child t of the box itself.
 * Returns whether the two do not touch. */
static NB_HD int nb_fmm_offset(int dim, int q, int s, int t, int *offset)
{
	const int place = q < (dim == 3 ? 13 : 4) ? q : q + 1; /* among 27 or 9 */
	int apart = 0;
	for (int d = 0; d < 3; d++) {
		const int power = dim - 1 - d, at = power == 2 ? place / 9 : power == 1 ? place / 3 : place;
		offset[d] = d < dim ? nb_fmm_bit(dim, t, d) - nb_fmm_bit(dim, s, d) - 2 * (at % 3 - 1) : 0;
		apart |= offset[d] > 1 || offset[d] < -1;
	}
	return apart;
}

/* The largest |a| + |b| of the terms with which child s of neighbour q acts.  The closer two boxes may be, the more
 * they need; measured in uniform bodies at order 6: two more for the 6 neighbours at a face and one more for the nearer
 * children of the others reduce the error from 2.9e-4 to 1.3e-4 and take as long as one more for all, which leaves it
 * at 2.0e-4. */
static NB_HD int nb_fmm_total(int dim, int order, int q, int s)
{
	int nearest = 3 * 9, offset[3];
	for (int t = 0; t < 1 << dim; t++)
		if (nb_fmm_offset(dim, q, s, t, offset)) {
			const int r2 = offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
			nearest = r2 < nearest ? r2 : nearest;
		}
	return order == 1 ? 2 : order + (nearest <= 4 ? 2 : nearest <= 6 ? 1 : 0);
}

/* The field of a problem can be computed: sizes that fit each other. */
static NB_HD int nb_fmm_sound(const struct nb_boxes *boxes, const struct nb_fmm *fmm)
{
	const int dim = fmm->dim;
	if (dim != 2 && dim != 3)
		return 0;
	return fmm->level >= 0 && fmm->level <= (dim == 3 ? NB_BOXES_MAX_LEVEL_3D : NB_BOXES_MAX_LEVEL_2D) &&
	       fmm->order >= 1 && fmm->order <= (dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D) &&
	       fmm->cube.size > 0 && fmm->cube.size - fmm->cube.size == 0 &&
	       boxes->nbox == (size_t)1 << dim * fmm->level && boxes->nneighbour == (dim == 3 ? 26 : 8);
}

#endif
