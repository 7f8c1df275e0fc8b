/* sum_internal.h - sums of masses that do not depend on the order of the bodies: each mass is a whole number of units
 * of 2^-81 of a power of two above the largest, in three parts, and the sum is rounded once.  Written once for gcc and
 * nvcc. */
#ifndef NB_GROUPS_SUM_INTERNAL_H
#define NB_GROUPS_SUM_INTERNAL_H

#include <math.h>
#include <stdint.h>

#include "common/hd.h"

enum { NB_SUM_LIMBS = 3, NB_SUM_BITS = 27 };

/* The exponent for masses of which the largest has this magnitude. */
static inline int nb_sum_exponent(double largest)
{
	int exponent = 0;
	(void)frexp(largest, &exponent);
	return exponent;
}

static NB_HD void nb_sum_split(double mass, int exponent, int32_t limb[NB_SUM_LIMBS])
{
	double rest = ldexp(mass, NB_SUM_BITS - exponent);
	for (int k = 0; k < NB_SUM_LIMBS; k++) {
		const double whole = k < NB_SUM_LIMBS - 1 ? trunc(rest) : rint(rest);
		limb[k] = (int32_t)whole;
		rest = (rest - whole) * (1 << NB_SUM_BITS);
	}
}

/* Of sums of limbs. */
static inline double nb_sum_value(const int64_t *sum, int exponent)
{
	__extension__ __int128 all = 0;
	for (int k = 0; k < NB_SUM_LIMBS; k++)
		all = all * (1 << NB_SUM_BITS) + sum[k];
	return ldexp((double)all, exponent - NB_SUM_LIMBS * NB_SUM_BITS);
}

#endif
