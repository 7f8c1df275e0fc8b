#include "kernels/measure/measure_internal.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"

/* A ratio that is smaller is taken for this one where it divides: of bodies in a plane. */
#define FLATTEST 1e-9

/* Sums of a chunk: bodies, and m x_i x_j along the axes. */
enum { COUNT, XX, XY, XZ, YY, YZ, ZZ, WIDTH };

/* Eigenvectors of a symmetric matrix in the rows of v, eigenvalues on the diagonal of a: cyclic Jacobi rotations. */
static void diagonalise(double a[3][3], double v[3][3])
{
	const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	memcpy(v, unit, sizeof unit);
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0;
		for (int p = 0; p < 2; p++)
			for (int q = p + 1; q < 3; q++) {
				if (a[p][q] == 0)
					continue;
				off += fabs(a[p][q]);
				const double tau = (a[q][q] - a[p][p]) / (2 * a[p][q]);
				const double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + hypot(1, tau));
				const double c = 1 / hypot(1, t), s = t * c;
				for (int k = 0; k < 3; k++) {
					const double x = a[k][p], y = a[k][q];
					a[k][p] = c * x - s * y;
					a[k][q] = s * x + c * y;
				}
				for (int k = 0; k < 3; k++) {
					const double x = a[p][k], y = a[q][k], vx = v[p][k], vy = v[q][k];
					a[p][k] = c * x - s * y;
					a[q][k] = s * x + c * y;
					v[p][k] = c * vx - s * vy;
					v[q][k] = s * vx + c * vy;
				}
				a[p][q] = a[q][p] = 0;
			}
		if (off == 0)
			break;
	}
}

/* Axes and ratios from the sums, which are those along the axes of before. */
static void shape_from(const double *sum, int dim, const struct nb_shape *before, struct nb_shape *shape)
{
	const double *s = sum;
	double a[3][3] = {{s[XX], s[XY], s[XZ]}, {s[XY], s[YY], s[YZ]}, {s[XZ], s[YZ], s[ZZ]}}, v[3][3];
	int order[3] = {0, 1, 2};
	diagonalise(a, v);
	/* stable, and in 2-D the third axis stays the last */
	for (int i = 0; i < dim - 1; i++)
		for (int k = dim - 1; k > i; k--)
			if (a[order[k]][order[k]] > a[order[k - 1]][order[k - 1]]) {
				const int swap = order[k];
				order[k] = order[k - 1];
				order[k - 1] = swap;
			}
	const double most = a[order[0]][order[0]];
	shape->b_over_a = most > 0 ? sqrt(fmax(a[order[1]][order[1]], 0) / most) : NAN;
	shape->c_over_a = most > 0 && dim == 3 ? sqrt(fmax(a[order[2]][order[2]], 0) / most) : NAN;
	shape->n = (uint64_t)sum[COUNT];
	for (int i = 0; i < 3; i++) {
		double *axis = shape->axis[i];
		int largest = 0;
		for (int k = 0; k < 3; k++) {
			axis[k] = 0;
			for (int j = 0; j < 3; j++)
				axis[k] += v[order[i]][j] * before->axis[j][k];
			largest = fabs(axis[k]) > fabs(axis[largest]) ? k : largest;
		}
		const double sign = axis[largest] < 0 ? -1 : 1;
		for (int k = 0; k < 3; k++)
			axis[k] = most > 0 ? sign * axis[k] : NAN;
	}
}

/* What is summed over which bodies. */
struct task {
	size_t n;
	const double *mass, *pos, *centre;
	int dim, reduced;
	double inner, outer;
};

/* Coordinates along the axes; ratios[k] are those of axis k to the first. */
static void add_chunk(
	const struct task *t, const struct nb_shape *s, const double ratio[3], size_t begin, size_t end, double *sum)
{
	for (size_t i = begin; i < end; i++) {
		const double *p = &t->pos[3 * i];
		const double d[3] = {p[0] - t->centre[0], p[1] - t->centre[1], p[2] - t->centre[2]};
		double x[3], a2 = 0;
		for (int k = 0; k < t->dim; k++) {
			x[k] = d[0] * s->axis[k][0] + d[1] * s->axis[k][1] + d[2] * s->axis[k][2];
			a2 += (x[k] / ratio[k]) * (x[k] / ratio[k]);
		}
		const double a = sqrt(a2);
		if (!(a2 > 0) || a < t->inner || a > t->outer)
			continue;
		const double w = t->reduced ? t->mass[i] / a2 : t->mass[i];
		sum[COUNT] += 1;
		sum[XX] += w * x[0] * x[0];
		sum[XY] += w * x[0] * x[1];
		sum[YY] += w * x[1] * x[1];
		if (t->dim == 2)
			continue;
		sum[XZ] += w * x[0] * x[2];
		sum[YZ] += w * x[1] * x[2];
		sum[ZZ] += w * x[2] * x[2];
	}
}

static void step(const struct task *t, double *partial, struct nb_shape *shape)
{
	const size_t n = t->n, chunk = nb_wide_chunk(n), nchunk = nb_wide_chunks(n);
	const struct nb_shape before = *shape;
	const double ratio[3] = {1, fmax(before.b_over_a, FLATTEST), fmax(before.c_over_a, FLATTEST)};
	double sum[WIDTH];
	memset(partial, 0, nchunk * WIDTH * sizeof *partial);
#pragma omp parallel for schedule(static) if (nchunk > 1)
	for (size_t c = 0; c < nchunk; c++)
		add_chunk(t, &before, ratio, c * chunk, (c + 1) * chunk < n ? (c + 1) * chunk : n, &partial[c * WIDTH]);
	for (size_t k = 0; k < WIDTH; k++)
		sum[k] = nb_sum_column(nchunk, partial, WIDTH, k);
	shape_from(sum, t->dim, &before, shape);
}

/* Whether both give the same ellipsoids; NaN is the same as NaN. */
static int same(const struct nb_shape *x, const struct nb_shape *y)
{
	return !(fabs(x->b_over_a - y->b_over_a) > NB_SHAPE_TOLERANCE * y->b_over_a) &&
	       !(fabs(x->c_over_a - y->c_over_a) > NB_SHAPE_TOLERANCE * y->c_over_a);
}

static void forget(struct nb_shape *shape)
{
	shape->b_over_a = shape->c_over_a = NAN;
	for (int k = 0; k < 3; k++)
		shape->axis[k][0] = shape->axis[k][1] = shape->axis[k][2] = NAN;
}

int nb_shape_of(size_t n, const double *mass, const double *pos, const double centre[3], int dim, double inner,
	double outer, int reduced, struct nb_shape *shape)
{
	const struct task task = {n, mass, pos, centre, dim, reduced, inner, outer};
	const int once = !reduced && inner == 0 && isinf(outer); /* the ellipsoids make no difference */
	double *partial = nb_alloc(nb_wide_chunks(n), WIDTH * sizeof *partial);
	if (!partial)
		return NB_ENOMEM;
	*shape = (struct nb_shape){.b_over_a = 1, .c_over_a = 1, .axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
	uint64_t first = 0;
	for (int k = 0; k < NB_SHAPE_STEPS && !shape->settled; k++) {
		const struct nb_shape before = *shape;
		step(&task, partial, shape);
		first = k ? first : shape->n;
		if (shape->n < first && shape->n < NB_SHAPE_FEW)
			break;
		shape->settled = once || same(&before, shape) || isnan(shape->b_over_a);
	}
	if (!shape->settled)
		forget(shape);
	nb_free(partial);
	return NB_OK;
}
