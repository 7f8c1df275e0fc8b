#include "kernels/motion/place.h"

#include <math.h>

enum { PARALLEL = 100000 /* numbers */ };

void nb_translate_cpu(size_t n, double *x, const double d[3])
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			x[3 * i + k] += d[k];
}

void nb_rotate_cpu(size_t n, double *x, const double m[9])
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		double *v = &x[3 * i];
		const double a = v[0], b = v[1], c = v[2];
		v[0] = m[0] * a + m[1] * b + m[2] * c;
		v[1] = m[3] * a + m[4] * b + m[5] * c;
		v[2] = m[6] * a + m[7] * b + m[8] * c;
	}
}

void nb_scale_cpu(size_t count, double *x, double factor)
{
#pragma omp parallel for schedule(static) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		x[i] *= factor;
}

/* Sine and cosine of degrees, exact for multiples of 90. */
static void sine_cosine(double degrees, double *s, double *c)
{
	static const double sine[4] = {0, 1, 0, -1};
	int quarters;
	const double left = remquo(degrees, 90, &quarters) * (acos(-1) / 180);
	const int q = quarters & 3;
	*s = left == 0 ? sine[q] : sine[(q + 1) & 3] * sin(left) + sine[q] * cos(left);
	*c = left == 0 ? sine[(q + 1) & 3] : sine[(q + 1) & 3] * cos(left) - sine[q] * sin(left);
}

void nb_rotation(const double axis[3], double degrees, double m[9])
{
	const double largest = fmax(fabs(axis[0]), fmax(fabs(axis[1]), fabs(axis[2])));
	const double a = axis[0] / largest, b = axis[1] / largest, c = axis[2] / largest;
	const double length = sqrt(a * a + b * b + c * c), x = a / length, y = b / length, z = c / length;
	double s, cosine;
	sine_cosine(degrees, &s, &cosine);
	const double t = 1 - cosine;
	const double matrix[9] = {
		t * x * x + cosine, t * x * y - s * z, t * x * z + s * y, /* of the new x */
		t * x * y + s * z, t * y * y + cosine, t * y * z - s * x, /* of the new y */
		t * x * z - s * y, t * y * z + s * x, t * z * z + cosine, /* of the new z */
	};
	for (int k = 0; k < 9; k++)
		m[k] = matrix[k];
}
