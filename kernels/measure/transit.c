/* transit.c - when one body passes in front of another. */
#include "kernels/measure/transit.h"

#include <math.h>

enum { DEGREE = 5 };

/* Hermite's polynomials in the part of the time, for each coordinate. */
static void fit(const struct nb_relative *before, const struct nb_relative *after, double h, double c[3][DEGREE + 1])
{
	for (int k = 0; k < 3; k++) {
		const double v = before->vel[k] * h, a = before->acc[k] * h * h;
		const double by = after->pos[k] - before->pos[k] - (v + a / 2),
			     rate = (after->vel[k] - before->vel[k]) * h - a;
		const double bend = (after->acc[k] * h * h - a) / 2;
		c[k][0] = before->pos[k];
		c[k][1] = v;
		c[k][2] = a / 2;
		c[k][3] = 10 * by - 4 * rate + bend;
		c[k][4] = -15 * by + 7 * rate - 2 * bend;
		c[k][5] = 6 * by - 3 * rate + bend;
	}
}

/* Position and velocity, by the unit of the part. */
static void evaluate(double c[3][DEGREE + 1], double part, double x[3], double v[3])
{
	for (int k = 0; k < 3; k++) {
		x[k] = v[k] = 0;
		for (int j = DEGREE; j >= 0; j--) {
			v[k] = v[k] * part + x[k];
			x[k] = x[k] * part + c[k][j];
		}
	}
}

int nb_transit_find(const struct nb_relative *before, const struct nb_relative *after, double h, int axis,
	struct nb_transit *transit)
{
	const int p = (axis + 1) % 3, q = (axis + 2) % 3;
	double c[3][DEGREE + 1], x[3], v[3], low = 0, high = 1;
	fit(before, after, h, c);
	/* the distance falls until then, and grows */
	if (!(before->pos[p] * before->vel[p] + before->pos[q] * before->vel[q] < 0) ||
		!(after->pos[p] * after->vel[p] + after->pos[q] * after->vel[q] >= 0))
		return 0;
	for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;) {
		evaluate(c, middle, x, v);
		*(x[p] * v[p] + x[q] * v[q] < 0 ? &low : &high) = middle;
	}
	evaluate(c, high, x, v);
	*transit = (struct nb_transit){high * h, hypot(x[p], x[q]), hypot(v[p], v[q]) / h};
	return x[axis] > 0;
}
