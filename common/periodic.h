/* periodic.h - coordinates in a periodic box, which has one corner at 0; written once for gcc and nvcc. */
#ifndef NB_PERIODIC_H
#define NB_PERIODIC_H

#include <math.h>

#include "common/hd.h"

/* The coordinate in [0, box), box > 0: x - box floor(x / box), rounded. */
static NB_HD double nb_periodic_wrap(double x, double box)
{
	if (x >= 0 && x < box)
		return x;
#ifdef __CUDA_ARCH__
	const double whole = __dmul_rn(box, floor(x / box)); /* not a part of a fused multiply-add */
#else
	const double whole = box * floor(x / box);
#endif
	const double inside = x - whole;
	return inside >= 0 && inside < box ? inside : 0;
}

/* The same, where the coordinate will be written in single precision if single is 1; what is not finite, or will not be
 * then, stays. */
static NB_HD double nb_periodic_keep(double x, double box, int single)
{
	if (!isfinite(x))
		return x;
	const double inside = nb_periodic_wrap(x, box), rounded = single ? (float)inside : inside;
	return rounded < box || !isfinite(rounded) ? inside : 0;
}

/* Between the nearest images of two coordinates in the box; half is that of the box, or INFINITY without one. */
static NB_HD double nb_periodic_distance(double a, double b, double box, double half)
{
	const double d = fabs(a - b);
	return d > half ? box - d : d;
}

/* Between the nearest points of two intervals and their images; box 0: there is none. */
static NB_HD double nb_periodic_gap(double a_from, double a_to, double b_from, double b_to, double box)
{
	double gap = b_from - a_to > a_from - b_to ? b_from - a_to : a_from - b_to;
	if (box > 0) {
		const double to = a_to > b_to ? a_to : b_to, from = a_from < b_from ? a_from : b_from;
		const double through = box - (to - from);
		gap = through < gap ? through : gap;
	}
	return gap > 0 ? gap : 0;
}

#endif
