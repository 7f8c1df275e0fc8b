/* The cubic through a table of r and Phi. */
#include "kernels/field/field.h"

#include <math.h>

/* The slope at a point between two intervals: that of the parabola through the three points, limited as monotone cubics
 * want it.  left, right: slopes of the intervals, of these lengths. */
static double slope_between(double left, double right, double before, double after)
{
	if (!(left * right > 0))
		return 0;
	const double parabola = (left * after + right * before) / (before + after);
	const double most = 3 * fmin(fabs(left), fabs(right));
	return copysign(fmin(fabs(parabola), most), left);
}

/* The same at an end, whose interval is near, and next to it the one far; what it adds to must not turn. */
static double slope_at_end(double near, double far, double length, double next)
{
	const double parabola = near + (near - far) * (length / (length + next));
	if (!(parabola * near > 0))
		return 0;
	return fabs(parabola) > 3 * fabs(near) ? 3 * near : parabola;
}

void nb_potential_table(size_t n, const double *r, const double *phi, double *row)
{
	for (size_t k = 0; k < n; k++) {
		double *c = row + NB_POTENTIAL_ROW * k;
		const size_t left = k == 0 ? 0 : k - 1, right = k == n - 1 ? n - 2 : k;
		const double before = r[left + 1] - r[left], after = r[right + 1] - r[right];
		const double rise = (phi[left + 1] - phi[left]) / before, climb = (phi[right + 1] - phi[right]) / after;
		c[0] = r[k];
		c[1] = phi[k];
		if (k > 0 && k < n - 1)
			c[2] = slope_between(rise, climb, before, after);
		else if (n == 2)
			c[2] = rise;
		else if (k == 0)
			c[2] = slope_at_end(climb, (phi[2] - phi[1]) / (r[2] - r[1]), after, r[2] - r[1]);
		else
			c[2] = slope_at_end(
				rise, (phi[n - 2] - phi[n - 3]) / (r[n - 2] - r[n - 3]), before, r[n - 2] - r[n - 3]);
		if (r[k] == 0)
			c[2] = 0;
		c[3] = c[4] = 0;
	}
	for (size_t k = 0; k + 1 < n; k++) {
		double *c = row + NB_POTENTIAL_ROW * k;
		const double h = r[k + 1] - r[k], rise = (phi[k + 1] - phi[k]) / h, next = c[NB_POTENTIAL_ROW + 2];
		c[3] = (3 * rise - 2 * c[2] - next) / h;
		c[4] = (c[2] + next - 2 * rise) / h / h;
	}
}
