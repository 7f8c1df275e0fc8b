/* Multipoles and local expansions against the sum over bodies. */
#include "kernels/multipole/multipole_body.h"

#define NB_REAL double
#define NB_REAL_NAME f64
#define NB_SCALAR double
#include "kernels/multipole/high_body.h"

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
	double sum[NB_TAYLOR] = {0}, der[NB_TAYLOR], d2 = eps * eps, x[3], a[3], phi;
	for (int k = 0; k < 3; k++) {
		d2 += c[k] * c[k];
		x[k] = c[k] + step * u[k];
	}
	nb_derivatives_f64(c[0], c[1], c[2], 1 / sqrt(d2), der);
	nb_m2l_f64(1, der, cell_mass, cell_q, sum);
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
	double sum[NB_TAYLOR] = {0}, der[NB_TAYLOR], a[3] = {0, 0, 0}, phi = 0;
	const double rinv = 1 / sqrt(7.0 * 7 + 11 * 11 + 13 * 13 + 0.25);
	nb_derivatives_f64(7, -11, 13, rinv, der);
	nb_m2l_f64(1, der, cell_mass, cell_q, sum);
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
		double a[NB_TAYLOR];
		nb_derivatives_f64(target[0], target[1], target[2], 1 / sqrt(r2), a);
		nb_m2l_f64(1, a, 8, q, all);
		nb_m2l_f64(0, a, 8, q, mass);
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

/* ---- third and fourth moments ---------------------------------------------------------------------- */

/* Moments of the cell: 1 / n! sum m x^n, n = 0, 2, 3, 4. */
static void high_moments(double *moment)
{
	memset(moment, 0, NB_HIGH_MOMENTS * sizeof *moment);
	for (int b = 0; b < CELL; b++) {
		const double *x = cell_x[b];
		int at = 0;
		for (int n = 0; n <= 4; n++)
			for (int r = 0; n != 1 && r <= n; r++)
				for (int c = 0; c <= r; c++)
					moment[at++] += cell_m[b] * pow(x[0], n - r) * pow(x[1], r - c) * pow(x[2], c) /
							tgamma(n + 1);
	}
}

/* As m2p_error, of a cell of third or fourth order. */
static double m2p_high_error(int order, int folded, double d, double eps)
{
	double e2 = 0, moment[NB_HIGH_MOMENTS], fold[NB_FOLDED_MOMENTS];
	random_state = 4711;
	high_moments(moment);
	nb_fold_moments(order, moment, fold);
	for (int k = 0; k < 200; k++) {
		double x[3], want[3], a[3] = {0, 0, 0}, phi, p = 0;
		on_sphere(d, x);
		cell_exact(x, eps, want, &phi);
		if (folded)
			nb_m2p_folded_f64(order, -x[0], -x[1], -x[2], 1 / d, fold, &a[0], &a[1], &a[2], &p);
		else
			nb_m2p_high_f64(order, -x[0], -x[1], -x[2], 1 / sqrt(d * d + eps * eps), moment, &a[0], &a[1],
				&a[2], &p);
		for (int c = 0; c < 3; c++)
			e2 += (a[c] - want[c]) * (a[c] - want[c]);
	}
	return sqrt(e2 / 200) / (cell_mass / (d * d));
}

static const double binomial[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};

/* Without softening folded moments act as all of them do, on bodies and on cells. */
static void test_folded(int order, const double *x)
{
	const double rinv = 1 / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
	double moment[NB_HIGH_MOMENTS], fold[NB_FOLDED_MOMENTS];
	double acc[2][3] = {{0}}, phi[2] = {0};
	high_moments(moment);
	nb_fold_moments(order, moment, fold);
	nb_m2p_high_f64(order, x[0], x[1], x[2], rinv, moment, &acc[0][0], &acc[0][1], &acc[0][2], &phi[0]);
	nb_m2p_folded_f64(order, x[0], x[1], x[2], rinv, fold, &acc[1][0], &acc[1][1], &acc[1][2], &phi[1]);
	CHECK_NEAR(phi[1], phi[0], 1e-13 * phi[0]);
	for (int d = 0; d < 3; d++)
		CHECK_NEAR(acc[1][d], acc[0][d], 1e-13 * cell_mass * rinv * rinv);

	double m[NB_HIGH_POWERS] = {0}, a[NB_HIGH_TERMS_4], all[NB_HIGH_TERMS_4] = {0}, few[NB_HIGH_TERMS_4] = {0};
	double b[NB_FOLDED_TERMS], c[NB_FOLDED_SUMS];
	int at = 0, full = 0;
	for (int n = 0; n <= order; n++)
		for (int r = 0; r <= n; r++)
			for (int z = 0; z <= r; z++, full++)
				if (n != 1)
					m[full] = moment[at++] * (n % 2 ? -1 : 1) * binomial[n][r] * binomial[r][z];
	for (int n = 2; n <= order; n++)
		for (int z = 0; z < 2; z++)
			for (int k = 0; k <= n - z; k++)
				fold[n * n + z * (n + 1) + k - 3] *= (n % 2 ? -1 : 1) * binomial[n - z][k];
	if (order == 3) {
		nb_tensor_3_f64(x[0], x[1], x[2], rinv, a);
		nb_m2l_3_f64(a, m, all);
		nb_harmonic_tensor_3_f64(x[0], x[1], x[2], rinv, b, c);
		nb_harmonic_m2l_3_f64(b, c, fold, few);
	} else {
		nb_tensor_4_f64(x[0], x[1], x[2], rinv, a);
		nb_m2l_4_f64(a, m, all);
		nb_harmonic_tensor_4_f64(x[0], x[1], x[2], rinv, b, c);
		nb_harmonic_m2l_4_f64(b, c, fold, few);
	}
	const int N = order + NB_HIGH_EXTRA;
	CHECK(all[0] > 0);
	for (int k = 0; k < (N + 1) * (N + 1); k++)
		CHECK_NEAR(few[k], all[k], 1e-14 * tgamma(N + 1) * cell_mass);
	for (int k = (N + 1) * (N + 1); k < NB_HIGH_TERMS_4; k++)
		CHECK(few[k] == 0);
}

static void test_high(void)
{
	const double x[2][3] = {{0.5, -0.8, 0.4}, {-0.2, 0.6, 0.8}};
	for (int k = 0; k < 4; k++) {
		random_state = 3000 + (uint64_t)k;
		make_cell();
		/* what is left out falls as the power order + 1 of the distance, relative to the whole */
		for (int order = 3; order <= 4; order++) {
			for (int folded = 0; folded < 2; folded++) {
				const double eps = k % 2 && !folded ? 3 : 0;
				const double near = m2p_high_error(order, folded, 20, eps);
				CHECK_NEAR(log2(near / m2p_high_error(order, folded, 40, eps)), order + 1, 0.2);
			}
			test_folded(order, x[k % 2]);
		}
	}
}

/* ---- time derivatives ------------------------------------------------------------------------------ */

/* The cell and a target, a time t after they were as they are. */
static double cell_v[CELL][3];
static const double target_v[3] = {0.3, -0.5, 0.7};

static void move_cell(double t, double *com, double *q)
{
	double x[CELL][3] = {{0}};
	com[0] = com[1] = com[2] = 0;
	memset(q, 0, 6 * sizeof *q);
	for (int j = 0; j < CELL; j++)
		for (int d = 0; d < 3; d++) {
			x[j][d] = cell_x[j][d] + cell_v[j][d] * t;
			com[d] += cell_m[j] * x[j][d] / cell_mass;
		}
	for (int j = 0; j < CELL; j++)
		for (int s = 0, k = 0; k < 3; k++)
			for (int l = k; l < 3; l++)
				q[s++] += cell_m[j] * (x[j][k] - com[k]) * (x[j][l] - com[l]);
}

/* Velocity of the centre of mass and rates of the second moments, which are quadratic in time. */
static void cell_motion(double *v, double *p)
{
	double x0[3], x1[3], q0[6], q1[6];
	move_cell(-1, x0, q0);
	move_cell(1, x1, q1);
	for (int d = 0; d < 3; d++)
		v[d] = (x1[d] - x0[d]) / 2;
	for (int s = 0; s < 6; s++)
		p[s] = (q1[s] - q0[s]) / 2;
}

/* Acceleration of the target at x + target_v t by the cell's multipole. */
static void multipole_acts(int quad, const double *x, double t, double eps, double *a, double *phi)
{
	double com[3], q[6], d[3], r2 = eps * eps;
	move_cell(t, com, q);
	for (int k = 0; k < 3; k++) {
		d[k] = com[k] - (x[k] + target_v[k] * t);
		r2 += d[k] * d[k];
	}
	a[0] = a[1] = a[2] = *phi = 0;
	nb_m2p_f64(quad, d[0], d[1], d[2], 1 / sqrt(r2), cell_mass, q, &a[0], &a[1], &a[2], phi);
}

/* The sums of the expansion about the target, which moves. */
static void expand(int quad, const double *x, double t, double eps, double *sum)
{
	double com[3], q[6], d[3], r2 = eps * eps, a[NB_TAYLOR];
	move_cell(t, com, q);
	for (int k = 0; k < 3; k++) {
		d[k] = x[k] + target_v[k] * t - com[k];
		r2 += d[k] * d[k];
	}
	memset(sum, 0, NB_TAYLOR * sizeof *sum);
	nb_derivatives_f64(d[0], d[1], d[2], 1 / sqrt(r2), a);
	nb_m2l_f64(quad, a, cell_mass, q, sum);
}

static void test_m2p_jerk(int quad, const double *x, double eps)
{
	const double h = 1e-3;
	double v[3], p[6], a[3] = {0}, jerk[3] = {0}, phi = 0, want[3], want_phi, before[3], after[3], unused;
	cell_motion(v, p);
	for (int k = 0; k < 3; k++)
		v[k] -= target_v[k];
	const double rinv = 1 / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + eps * eps);
	nb_m2p_jerk_f64(quad, -x[0], -x[1], -x[2], v[0], v[1], v[2], rinv, cell_mass, cell_q, p, a, &phi, jerk);
	multipole_acts(quad, x, 0, eps, want, &want_phi);
	multipole_acts(quad, x, -h, eps, before, &unused);
	multipole_acts(quad, x, h, eps, after, &unused);
	CHECK_NEAR(phi, want_phi, 1e-14 * want_phi);
	for (int k = 0; k < 3; k++) {
		CHECK_NEAR(a[k], want[k], 1e-14 * cell_mass);
		CHECK_NEAR(jerk[k], (after[k] - before[k]) / (2 * h), 1e-8 * cell_mass);
	}
}

/* Coefficients whose rates fifth derivatives give in full, and those of fifth order, of which they give none. */
static void test_m2l_rate(int quad, const double *x, double eps)
{
	const double h = 1e-3, rinv = 1 / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + eps * eps);
	double v[3], p[6], rate[NB_TAYLOR] = {0}, before[NB_TAYLOR], after[NB_TAYLOR], a[NB_TAYLOR];
	cell_motion(v, p);
	for (int k = 0; k < 3; k++)
		v[k] = target_v[k] - v[k];
	nb_derivatives_f64(x[0], x[1], x[2], rinv, a);
	nb_m2l_rate_f64(quad, a, v[0], v[1], v[2], cell_mass, cell_q, p, rate);
	expand(quad, x, -h, eps, before);
	expand(quad, x, h, eps, after);
	for (int k = 0, at = 0; k <= 5; k++)
		for (int j = 0; j + k <= 5; j++)
			for (int i = 0; i + j + k <= 5; i++, at++) {
				if (i + j + k <= (quad ? 2 : 4))
					CHECK_NEAR(rate[at], (after[at] - before[at]) / (2 * h), 1e-7 * cell_mass);
				else if (i + j + k == 5)
					CHECK(rate[at] == 0);
			}
}

/* Error of the jerk by a multipole at distance d, relative to M / d^3, rms over directions. */
static double jerk_error(double d)
{
	double e2 = 0, v[3], p[6];
	random_state = 4711;
	cell_motion(v, p);
	for (int n = 0; n < 200; n++) {
		double x[3], a[3] = {0}, jerk[3] = {0}, phi = 0;
		on_sphere(d, x);
		nb_m2p_jerk_f64(1, -x[0], -x[1], -x[2], v[0], v[1], v[2], 1 / d, cell_mass, cell_q, p, a, &phi, jerk);
		for (int j = 0; j < CELL; j++) {
			double s[3], r2 = 0, sv = 0;
			for (int k = 0; k < 3; k++) {
				s[k] = cell_x[j][k] - x[k];
				r2 += s[k] * s[k];
				sv += s[k] * cell_v[j][k];
			}
			for (int k = 0; k < 3; k++)
				jerk[k] -= cell_m[j] / (r2 * sqrt(r2)) * (cell_v[j][k] - 3 * sv / r2 * s[k]);
		}
		for (int k = 0; k < 3; k++)
			e2 += jerk[k] * jerk[k];
	}
	return sqrt(e2 / 200) / (cell_mass / (d * d * d));
}

static void test_rates(void)
{
	const double x[3] = {3, -5, 4};
	for (int n = 0; n < 4; n++) {
		random_state = 2000 + (uint64_t)n;
		make_cell();
		for (int j = 0; j < CELL; j++)
			for (int d = 0; d < 3; d++)
				cell_v[j][d] = 2 * uniform() - 1;
		for (int quad = 0; quad < 2; quad++) {
			test_m2p_jerk(quad, x, n % 2 ? 2 : 0);
			test_m2l_rate(quad, x, n % 2 ? 2 : 0);
		}
		/* what is left out, the rate of the octupole, falls as d^-2 relative to the whole */
		CHECK_NEAR(log2(jerk_error(30) / jerk_error(60)), 2, 0.15);
		/* of a cell that does not change, the octupole itself, as d^-3 */
		for (int j = 0; j < CELL; j++)
			for (int d = 0; d < 3; d++)
				cell_v[j][d] = 1 + d;
		CHECK_NEAR(log2(jerk_error(30) / jerk_error(60)), 3, 0.15);
	}
}

int main(void)
{
	test_multipoles();
	test_coefficients();
	test_high();
	test_rates();
	return unit_end();
}
