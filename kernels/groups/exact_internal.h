/* exact_internal.h - whether two bodies are friends, decided for the real numbers that their coordinates are.
 *
 * A distance in double precision decides nearly all pairs; where it is closer to the linking length than rounding can
 * tell, the sign of l^2 - d^2 is that of a sum of doubles without any rounding.
 * Source: Shewchuk 1997, Discrete & Computational Geometry 18, 305 (two-sum, two-product, grow-expansion). */
#ifndef NB_GROUPS_EXACT_INTERNAL_H
#define NB_GROUPS_EXACT_INTERNAL_H

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "common/hd.h"
#include "common/periodic.h"

/* A product that no compiler makes a part of a fused multiply-add. */
#ifdef __CUDA_ARCH__
#define NB_ROUNDED(a, b) __dmul_rn(a, b)
#else
#define NB_ROUNDED(a, b) ((a) * (b))
#endif

struct nb_link_law {
	int dim;
	double length, box; /* box 0: not periodic */
	double half;	    /* of the box; INFINITY */
	double low, high;   /* squared distances below are of friends, those above are not; between: see exactly */
};

static inline struct nb_link_law nb_link_law_of(int dim, double length, double box)
{
	const double u = DBL_EPSILON / 2, l2 = length * length;
	const double doubt = 16 * u * l2 + 8 * u * box * length + 16 * (u * box) * (u * box) + 0x1p-1000;
	struct nb_link_law law = {dim, length, box, box > 0 ? box / 2 : INFINITY, l2 - doubt, l2 + doubt};
	if (!isfinite(law.high)) {
		law.low = isfinite(l2) ? law.low : DBL_MAX * (1 - 32 * u);
		law.high = INFINITY;
	}
	return law;
}

/* The place of a body, inside of the box. */
static NB_HD void nb_link_place(const struct nb_link_law *law, const double *pos, double place[3])
{
	place[2] = 0;
	for (int k = 0; k < law->dim; k++)
		place[k] = law->box > 0 ? nb_periodic_wrap(pos[k], law->box) : pos[k];
}

/* Squared distance of two bodies, of which the law says what its rounding leaves open. */
static NB_HD double nb_link_distance2(const struct nb_link_law *law, const double *a, const double *b)
{
	double d2 = 0;
	for (int k = 0; k < law->dim; k++) {
		const double d = nb_periodic_distance(a[k], b[k], law->box, law->half);
		d2 += d * d;
	}
	return d2;
}

static NB_HD double nb_two_sum(double a, double b, double *error)
{
	const double sum = a + b, part = sum - a;
	*error = (a - (sum - part)) + (b - part);
	return sum;
}

/* Numbers whose sum is exact: of growing magnitude, none overlaps another. */
struct nb_exact_sum {
	int n;
	double term[48];
};

static NB_HD void nb_exact_add(struct nb_exact_sum *sum, double x)
{
	int kept = 0;
	for (int k = 0; k < sum->n; k++) {
		double error;
		x = nb_two_sum(x, sum->term[k], &error);
		if (error != 0)
			sum->term[kept++] = error;
	}
	if (x != 0)
		sum->term[kept++] = x;
	sum->n = kept;
}

static NB_HD void nb_exact_add_product(struct nb_exact_sum *sum, double a, double b)
{
	const double product = NB_ROUNDED(a, b);
	if (product == 0)
		return;
	nb_exact_add(sum, fma(a, b, -product));
	nb_exact_add(sum, product);
}

/* |a - b|, or the box less that if it is shorter, as a sum of three numbers. */
static NB_HD void nb_exact_distance(const struct nb_link_law *law, double a, double b, double part[3])
{
	part[0] = nb_two_sum(a, -b, &part[1]);
	part[2] = 0;
	if (part[0] < 0) {
		part[0] = -part[0];
		part[1] = -part[1];
	}
	if (part[0] < law->half || (part[0] == law->half && part[1] <= 0))
		return;
	double rest;
	const double low = part[1];
	part[0] = nb_two_sum(law->box, -part[0], &rest);
	part[1] = nb_two_sum(rest, -low, &part[2]);
}

static NB_HD int nb_exact_friends(const struct nb_link_law *law, const double *a, const double *b)
{
	if (law->length == 0) {
		for (int k = 0; k < law->dim; k++)
			if (a[k] != b[k])
				return 0;
		return 1;
	}
	int exponent;
	const double length = frexp(law->length, &exponent);
	struct nb_exact_sum sum = {0, {0}};
	nb_exact_add_product(&sum, length, length);
	for (int k = 0; k < law->dim; k++) {
		double part[3];
		nb_exact_distance(law, a[k], b[k], part);
		if (part[0] > 2 * law->length)
			return 0;
		for (int i = 0; i < 3; i++)
			part[i] = ldexp(part[i], -exponent);
		for (int i = 0; i < 3; i++)
			for (int j = i; j < 3; j++)
				nb_exact_add_product(&sum, i == j ? -part[i] : -2 * part[i], part[j]);
	}
	return sum.n == 0 || sum.term[sum.n - 1] > 0;
}

#endif
