/* Multipoles and local expansions against the sum over bodies. */
#include "kernels/tree/multipole_body.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { CELL = 50 };

/* A cell of bodies in a cube of edge 2 about its centre of mass, and its moments. */
static double cell_x[CELL][3], cell_m[CELL], cell_q[6], cell_mass;

static void make_cell(void)
{
	double com[3] = {0, 0, 0};
	cell_mass = 0;
	memset(cell_q, 0, sizeof cell_q);
	for (int j = 0; j < CELL; j++) {
		cell_m[j] = uniform();
		cell_mass += cell_m[j];
		for (int d = 0; d < 3; d++) {
			cell_x[j][d] = 2 * uniform() - 1;
			com[d] += cell_m[j] * cell_x[j][d];
		}
	}
	for (int j = 0; j < CELL; j++) {
		for (int d = 0; d < 3; d++)
			cell_x[j][d] -= com[d] / cell_mass;
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++)
				cell_q[s++] += cell_m[j] * cell_x[j][k] * cell_x[j][l];
	}
}

/* Potential (positive) and acceleration at x by the cell's bodies. */
static void cell_exact(const double *x, double eps, double *a, double *phi)
{
	a[0] = a[1] = a[2] = *phi = 0;
	for (int j = 0; j < CELL; j++) {
		double d[3], r2 = eps * eps;
		for (int k = 0; k < 3; k++) {
			d[k] = cell_x[j][k] - x[k];
			r2 += d[k] * d[k];
		}
		*phi += cell_m[j] / sqrt(r2);
		for (int k = 0; k < 3; k++)
			a[k] += cell_m[j] * d[k] / (r2 * sqrt(r2));
	}
}

/* Error of the acceleration of the cell's multipole at distance d, relative to M / d^2, rms over directions. */
static double m2p_error(int quad, double d, double eps)
{
	double e2 = 0;
	random_state = 4711;
	for (int k = 0; k < 200; k++) {
		double x[3], want[3], a[3] = {0, 0, 0}, phi, p = 0;
		on_sphere(d, x);
		cell_exact(x, eps, want, &phi);
		nb_m2p_f64(quad, -x[0], -x[1], -x[2], 1 / sqrt(d * d + eps * eps), cell_mass, cell_q, &a[0], &a[1],
			&a[2], &p);
		for (int c = 0; c < 3; c++)
			e2 += (a[c] - want[c]) * (a[c] - want[c]);
	}
	return sqrt(e2 / 200) / (cell_mass / (d * d));
}

/* Error of the potential of a local expansion about c, at c + step * u. */
static double m2l_error(const double *c, const double *u, double step, double eps)
{
	double sum[NB_TAYLOR] = {0}, d2 = eps * eps, x[3], a[3], phi;
	for (int k = 0; k < 3; k++) {
		d2 += c[k] * c[k];
		x[k] = c[k] + step * u[k];
	}
	nb_m2l_f64(1, c[0], c[1], c[2], 1 / sqrt(d2), cell_mass, cell_q, sum);
	const double inverse_factorial[] = {1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120};
	double value = 0;
	for (int k = 0, at = 0; k <= 5; k++)
		for (int j = 0; j + k <= 5; j++)
			for (int i = 0; i + j + k <= 5; i++)
				value += sum[at++] * inverse_factorial[i] * inverse_factorial[j] *
					 inverse_factorial[k] * pow(step * u[0], i) * pow(step * u[1], j) *
					 pow(step * u[2], k);
	cell_exact(x, eps, a, &phi);
	return fabs(value - phi);
}

static void test_multipoles(void)
{
	const double far[3] = {7, -11, 13};
	for (int k = 0; k < 4; k++) {
		random_state = 1000 + (uint64_t)k;
		make_cell();
		const double eps = k % 2 ? 3 : 0;
		/* what is left out falls as d^-2 and d^-3 relative to the whole */
		CHECK_NEAR(log2(m2p_error(0, 30, eps) / m2p_error(0, 60, eps)), 2, 0.1);
		CHECK_NEAR(log2(m2p_error(1, 30, eps) / m2p_error(1, 60, eps)), 3, 0.15);

		/* a point source: what a local expansion leaves out grows as the sixth power of the distance */
		for (int j = 0; j < CELL; j++)
			cell_x[j][0] = cell_x[j][1] = cell_x[j][2] = 0;
		memset(cell_q, 0, sizeof cell_q);
		const double u[3] = {0.6, 0.48, -0.64};
		CHECK_NEAR(log2(m2l_error(far, u, 1, eps) / m2l_error(far, u, 0.5, eps)), 6, 0.4);
		/* the expansion's own coefficients, at its centre, are the field */
		CHECK(m2l_error(far, u, 0, eps) < 1e-15 * cell_mass);
	}
	/* moments in the expansion against those in the multipole: field and gradient at the centre */
	make_cell();
	double sum[NB_TAYLOR] = {0}, a[3] = {0, 0, 0}, phi = 0;
	const double rinv = 1 / sqrt(7.0 * 7 + 11 * 11 + 13 * 13 + 0.25);
	nb_m2l_f64(1, 7, -11, 13, rinv, cell_mass, cell_q, sum);
	nb_m2p_f64(1, -7, 11, -13, rinv, cell_mass, cell_q, &a[0], &a[1], &a[2], &phi);
	CHECK_NEAR(sum[NB_C000], phi, 1e-14 * phi);
	CHECK_NEAR(sum[NB_C100], a[0], 1e-14 * fabs(a[0]));
	CHECK_NEAR(sum[NB_C010], a[1], 1e-14 * fabs(a[1]));
	CHECK_NEAR(sum[NB_C001], a[2], 1e-14 * fabs(a[2]));
}

/* The derivative of 1 / sqrt(|x|^2 + eps^2) by the coordinates in axis[0..order-1]; order <= 3. */
static double derivative(const double *x, double eps, int order, const int *axis)
{
	const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + eps * eps, r = sqrt(r2);
	const double r3 = r * r2, r5 = r3 * r2, r7 = r5 * r2;
	const double a = order > 0 ? x[axis[0]] : 0, b = order > 1 ? x[axis[1]] : 0, c = order > 2 ? x[axis[2]] : 0;
	switch (order) {
	case 0: return 1 / r;
	case 1: return -a / r3;
	case 2: return 3 * a * b / r5 - (axis[0] == axis[1] ? 1 / r3 : 0);
	default:
		return 3 *
			       ((axis[0] == axis[1] ? c : 0) + (axis[0] == axis[2] ? b : 0) +
				       (axis[1] == axis[2] ? a : 0)) /
			       r5 -
		       15 * a * b * c / r7;
	}
}

/* What second moments add to each coefficient up to order 3, against eight bodies: four and their mirror images, so
 * that the third moments vanish and what is left out is of order size^4. */
static void test_coefficients(void)
{
	const double target[3] = {1.1, -0.7, 0.9}, size = 2e-3;
	random_state = 2024;
	for (int softened = 0; softened < 2; softened++) {
		const double eps = softened ? 0.8 : 0;
		double x[8][3], q[6] = {0}, all[NB_TAYLOR] = {0}, mass[NB_TAYLOR] = {0};
		for (int j = 0; j < 8; j++) {
			for (int c = 0; c < 3; c++)
				x[j][c] = j < 4 ? size * (2 * uniform() - 1) : -x[j - 4][c];
			for (int s = 0, k = 0; k < 3; k++)
				for (int l = k; l < 3; l++)
					q[s++] += x[j][k] * x[j][l];
		}
		double r2 = eps * eps;
		for (int c = 0; c < 3; c++)
			r2 += target[c] * target[c];
		nb_m2l_f64(1, target[0], target[1], target[2], 1 / sqrt(r2), 8, q, all);
		nb_m2l_f64(0, target[0], target[1], target[2], 1 / sqrt(r2), 8, q, mass);
		for (int k = 0, at = 0; k <= 5; k++)
			for (int j = 0; j + k <= 5; j++)
				for (int i = 0; i + j + k <= 5; i++, at++) {
					const int order = i + j + k;
					int axis[3] = {0};
					if (order > 3) {
						CHECK(all[at] == mass[at]); /* no terms beyond order 5 in all */
						continue;
					}
					for (int c = 0; c < order; c++)
						axis[c] = c < i ? 0 : c < i + j ? 1 : 2;
					double want = -8 * derivative(target, eps, order, axis);
					CHECK_NEAR(mass[at], -want, 1e-13 * fabs(want));
					for (int b = 0; b < 8; b++) {
						const double d[3] = {
							target[0] - x[b][0], target[1] - x[b][1], target[2] - x[b][2]};
						want += derivative(d, eps, order, axis);
					}
					CHECK_NEAR(all[at] - mass[at], want, 1e-5 * 8 * size * size);
				}
	}
}

int main(void)
{
	test_multipoles();
	test_coefficients();
	return unit_end();
}
