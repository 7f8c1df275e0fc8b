/* Masses on a mesh, transforms and shells against sums by hand: cells by the splines' own formulas, modes by sums over
 * all cells and over all bodies. */
#include "tests/unit/unit.h"

#include <complex.h>
#include <omp.h>

#include "common/mem.h"
#include "kernels/mesh/mesh_internal.h"
#include "tests/unit/random.h"

static const double PI = 3.14159265358979323846;

/* ---- transforms --------------------------------------------------------------------------------- */

static void sizes(void)
{
	static const int size[][2] = {{8, 8}, {11, 12}, {97, 98}, {121, 125}, {1021, 1024}, {4000, 4000}, {4095, 4096}};
	for (size_t k = 0; k < sizeof size / sizeof *size; k++)
		CHECK(nb_mesh_size(size[k][0]) == size[k][1]);
}

/* Against sums along one axis after the other, of double complex numbers. */
static void axis_by_hand(int m, size_t stride, size_t n, double complex *at)
{
	double complex *to = nb_alloc((size_t)m, sizeof *to), *root = nb_alloc((size_t)m, sizeof *root);
	for (int t = 0; t < m; t++)
		root[t] = cexp(-2 * PI * I * t / m);
	for (size_t line = 0; line < n; line++) {
		double complex *x = at + line / stride * stride * (size_t)m + line % stride;
		for (int k = 0; k < m; k++) {
			to[k] = 0;
			for (int j = 0; j < m; j++)
				to[k] += x[(size_t)j * stride] * root[(long)j * k % m];
		}
		for (int k = 0; k < m; k++)
			x[(size_t)k * stride] = to[k];
	}
	nb_free_all(to, root);
}

static void transform(int m)
{
	const size_t side = (size_t)m, row = nb_mesh_row(m);
	int64_t *mesh = nb_alloc(nb_mesh_bytes(m), 1);
	const double *mode = (const double *)mesh;
	double complex *want = nb_alloc(side * side * side, sizeof *want);
	double rms = 0, worst = 0;
	for (size_t xy = 0; xy < side * side; xy++)
		for (size_t z = 0; z < side; z++) {
			mesh[xy * row + z] = (int64_t)(1e6 * uniform());
			want[xy * side + z] = 0.25 * (double)mesh[xy * row + z];
		}
	for (size_t stride = 1; stride < side * side * side; stride *= side)
		axis_by_hand(m, stride, side * side, want);
	CHECK(nb_mesh_transform_cpu(m, 0.25, mesh) == NB_OK);
	for (size_t xy = 0; xy < side * side; xy++)
		for (size_t z = 0; z <= side / 2; z++) {
			const double complex w = want[xy * side + z];
			const double e = cabs(mode[xy * row + 2 * z] + I * mode[xy * row + 2 * z + 1] - w);
			rms += xy + z ? creal(w * conj(w)) : 0;
			worst = e > worst ? e : worst;
		}
	rms = sqrt(rms / (double)(side * side * (side / 2 + 1)));
	CHECK_NEAR(worst / rms, 0, 1e-13 * m);
	nb_free_all(mesh, want);
}

/* A mesh of real numbers, there and back; and modes that are known: cell (x, y, z) of mode k is a wave. */
static void transform_back(int m)
{
	const size_t side = (size_t)m, row = nb_mesh_row(m), n = nb_mesh_bytes(m) / sizeof(double);
	double *mesh = nb_alloc(n, sizeof *mesh), *first = nb_alloc(n, sizeof *first), worst = 0;
	for (size_t k = 0; k < n; k++)
		mesh[k] = first[k] = uniform() - 0.5;
	CHECK(nb_mesh_transform_real_cpu(m, mesh) == NB_OK);
	CHECK(nb_mesh_transform_back_cpu(m, mesh) == NB_OK);
	for (size_t k = 0; k < n; k++)
		if (k % row < side)
			worst = fmax(worst, fabs(mesh[k] / (double)(side * side * side) - first[k]));
	CHECK_NEAR(worst, 0, 1e-15 * m);
	for (size_t k = 0; k < n; k++)
		mesh[k] = 0;
	const size_t kx = 2, ky = side - 3, kz = 1;
	mesh[(kx * side + ky) * row + 2 * kz] = 0.25;
	mesh[(kx * side + ky) * row + 2 * kz + 1] = -0.5;
	mesh[0] = 2;
	CHECK(nb_mesh_transform_back_cpu(m, mesh) == NB_OK);
	worst = 0;
	for (size_t k = 0; k < n; k++) {
		const size_t turns = k / row / side * kx + k / row % side * ky + k % row * kz;
		const double complex wave = (0.25 - 0.5 * I) * cexp(2 * PI * I * (double)(turns % side) / m);
		if (k % row < side)
			worst = fmax(worst, fabs(mesh[k] - 2 - 2 * creal(wave)));
	}
	CHECK_NEAR(worst, 0, 1e-14);
	nb_free_all(mesh, first);
}

/* ---- painting ----------------------------------------------------------------------------------- */

/* The B-spline of an order, at distance x from its centre: Hockney & Eastwood's and Sefusatti's formulas. */
static double spline(int order, double x)
{
	x = fabs(x);
	switch (order) {
	case 1: return x < 0.5;
	case 2: return x < 1 ? 1 - x : 0;
	case 3: return x < 0.5 ? 0.75 - x * x : x < 1.5 ? (1.5 - x) * (1.5 - x) / 2 : 0;
	case 4: return x < 1 ? (4 - 6 * x * x + 3 * x * x * x) / 6 : x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6 : 0;
	default: break;
	}
	double sum = 0, binomial = 1, factorial = 1; /* by truncated powers: Schoenberg 1946, Q. Appl. Math. 4, 45 */
	for (int k = 0; k <= order; k++) {
		sum += binomial * pow(fmax(order / 2.0 - x - k, 0), order - 1);
		binomial *= -(double)(order - k) / (k + 1);
		factorial *= k && k < order ? k : 1;
	}
	return sum / factorial;
}

static double nearest(double d, int m)
{
	return d - m * floor(d / m + 0.5);
}

struct bodies {
	size_t n;
	double *pos, *mass;
};

static struct bodies random_bodies(size_t n, double box, double spread)
{
	struct bodies b = {n, nb_alloc(n, 3 * sizeof(double)), nb_alloc(n, sizeof(double))};
	for (size_t i = 0; i < 3 * n; i++)
		b.pos[i] = box * (spread * uniform() - 0.25);
	for (size_t i = 0; i < n; i++)
		b.mass[i] = uniform();
	return b;
}

static void paint_by_hand(int m, int order)
{
	const double box = 3;
	const struct bodies b = random_bodies(40, box, 1.5);
	const size_t row = nb_mesh_row(m);
	const struct nb_mesh_paint paint = {b.n, b.pos, b.mass, box, nb_mesh_unit((double)b.n), 1, m, order};
	int64_t *mesh[2] = {nb_alloc(nb_mesh_bytes(m), 1), nb_alloc(nb_mesh_bytes(m), 1)};
	double worst = 0;
	CHECK(nb_mesh_paint_cpu(&paint, mesh[0], mesh[1]) == NB_OK);
	for (int at = 0; at < 2 * m * m * m; at++) {
		const int cell[3] = {at / 2 / m / m, at / 2 / m % m, at / 2 % m};
		const size_t number = ((size_t)cell[0] * m + cell[1]) * row + cell[2];
		double want = 0;
		for (size_t i = 0; i < b.n; i++) {
			double w = b.mass[i];
			for (int c = 0; c < 3; c++)
				w *= spline(order, nearest(b.pos[3 * i + c] / box * m + 0.5 * (at % 2) - cell[c], m));
			want += w;
		}
		const double e = fabs((double)mesh[at % 2][number] * paint.unit - want);
		worst = e > worst ? e : worst;
	}
	CHECK_NEAR(worst, 0, 1e-12);
	nb_free_all(mesh[0], mesh[1], b.pos, b.mass);
}

/* All of the mass is there, whatever the order of bodies, the threads, and how many are in one place. */
static void paint_same(int m, int order)
{
	struct bodies b = random_bodies(20000, 1, 1);
	const size_t bytes = nb_mesh_bytes(m), row = nb_mesh_row(m);
	int64_t *mesh = nb_alloc(bytes, 1), *again = nb_alloc(bytes, 1), *other = nb_alloc(bytes, 1);
	int64_t sum = 0;
	struct nb_mesh_paint paint = {b.n, b.pos, NULL, 1, nb_mesh_unit((double)b.n), 2, m, order};
	for (size_t i = 0; i < 3 * b.n / 2; i++)
		b.pos[i] = 0.999;
	for (int threads = 1; threads < 8; threads += 3) {
		omp_set_num_threads(threads);
		CHECK(nb_mesh_paint_cpu(&paint, threads == 1 ? again : other, threads == 1 ? mesh : again) == NB_OK);
		for (size_t xy = 0; threads > 1 && xy < (size_t)m * m; xy++)
			CHECK(memcmp(mesh + xy * row, again + xy * row, (size_t)m * sizeof *mesh) == 0);
		for (size_t i = 0, j = b.n - 1; i < j; i++, j--)
			for (int c = 0; c < 3; c++) {
				const double swap = b.pos[3 * i + c];
				b.pos[3 * i + c] = b.pos[3 * j + c];
				b.pos[3 * j + c] = swap;
			}
	}
	omp_set_num_threads(2);
	CHECK(nb_mesh_paint_cpu(&paint, other, mesh) == NB_OK);
	for (size_t k = 0; k < (size_t)m * m * row; k++)
		sum += k % row < (size_t)m ? mesh[k] : 0;
	CHECK_NEAR((double)sum * paint.unit, (double)b.n, 1e-9 * (double)b.n);
	nb_free_all(mesh, again, other, b.pos, b.mass);
}

/* One mass, and masses of very different sizes, which sum to nearly 2^62 units. */
static void paint_heavy(void)
{
	const double pos[6] = {0.5, 0.5, 0.5, 0.25, 0.25, 0.25}, mass[2] = {nextafter(4, 0), 1e-9};
	int64_t *mesh = nb_alloc(nb_mesh_bytes(8), 1);
	for (int order = 1; order <= NB_MESH_ORDERS; order++) {
		const struct nb_mesh_paint paint = {2, pos, mass, 1, nb_mesh_unit(mass[0] + mass[1]), 1, 8, order};
		double sum = 0;
		CHECK(nb_mesh_paint_cpu(&paint, mesh, NULL) == NB_OK);
		for (size_t k = 0; k < 8 * 8 * nb_mesh_row(8); k++) {
			CHECK(mesh[k] >= 0);
			sum += (double)mesh[k] * paint.unit;
		}
		CHECK_NEAR(sum, 4 + 1e-9, 1e-14);
	}
	nb_free(mesh);
}

/* ---- modes -------------------------------------------------------------------------------------- */

/* The largest error of a mode below a part of the Nyquist frequency, against sums over all bodies; of the rms of these
 * modes. */
static double worst_mode(int m, int order, int interlaced, double part)
{
	const struct bodies b = random_bodies(3000, 1, 1);
	double *mesh[2] = {nb_alloc(nb_mesh_bytes(m), 1), nb_alloc(nb_mesh_bytes(m), 1)}, total = 0;
	struct nb_mesh_axis *axis = nb_alloc((size_t)m, sizeof *axis);
	double worst = 0, rms = 0, count = 0;
	const int most = (int)(part * m / 2);
	for (size_t i = 0; i < b.n; i++)
		total += b.mass[i];
	const struct nb_mesh_paint paint = {b.n, b.pos, b.mass, 1, nb_mesh_unit(total), 1, m, order};
	CHECK(nb_mesh_paint_cpu(&paint, mesh[0], interlaced ? mesh[1] : NULL) == NB_OK);
	for (int k = 0; k < 1 + interlaced; k++)
		CHECK(nb_mesh_transform_cpu(m, paint.unit, mesh[k]) == NB_OK);
	nb_mesh_axes(m, order, axis);
	const struct nb_mesh_modes modes = {mesh[0], interlaced ? mesh[1] : NULL, 1 / total};
	for (int x = -most; x <= most; x++)
		for (int y = -most; y <= most; y++)
			for (int z = 0; z <= most; z++) {
				const size_t at[2] = {(size_t)(x < 0 ? x + m : x), (size_t)(y < 0 ? y + m : y)};
				double complex want = 0;
				double got[2];
				if (x * x + y * y + z * z > most * most || !(x || y || z))
					continue;
				for (size_t i = 0; i < b.n; i++)
					want += b.mass[i] * cexp(-2 * PI * I *
								    (x * b.pos[3 * i] + y * b.pos[3 * i + 1] +
									    z * b.pos[3 * i + 2]));
				want /= total;
				nb_mesh_mode(&modes, (at[0] * m + at[1]) * nb_mesh_row(m) / 2 + (size_t)z,
					nb_mesh_both(nb_mesh_both(axis[at[0]], axis[at[1]]), axis[z]), got);
				const double e = cabs(got[0] + I * got[1] - want);
				worst = e > worst ? e : worst;
				rms += creal(want * conj(want));
				count++;
			}
	nb_free_all(mesh[0], mesh[1], axis, b.pos, b.mass);
	return worst / sqrt(rms / count);
}

/* Errors of notes on interlaced meshes of these windows, and that they fall as the windows say. */
static void accuracy(void)
{
	CHECK(worst_mode(64, 4, 1, 0.1) < 1e-6);
	CHECK(worst_mode(64, 3, 1, 0.1) < 5e-5);
	CHECK(worst_mode(64, 2, 1, 0.1) < 3e-3);
	CHECK(worst_mode(64, 4, 0, 0.1) < 2e-4); /* (k / (2 k_N - k))^4 */
	if (!UNIT_SANITIZED) {
		CHECK(worst_mode(60, 4, 1, 0.25) < 5e-5);
		CHECK(worst_mode(63, 4, 1, 0.25) < 5e-5);
	}
}

/* ---- gravity ------------------------------------------------------------------------------------ */

/* At a point is the sum of all cells, each times the spline between them: so painting and gathering are adjoint. */
static void gather(int m, int order)
{
	const double box = 3;
	const struct bodies b = random_bodies(30, box, 1.5);
	const size_t row = nb_mesh_row(m), n = nb_mesh_bytes(m) / sizeof(double);
	double *mesh = nb_alloc(n, sizeof *mesh), value[2 * 30], worst = 0;
	for (size_t k = 0; k < n; k++)
		mesh[k] = uniform() - 0.5;
	for (size_t i = 0; i < b.n; i++)
		value[2 * i] = value[2 * i + 1] = 7;
	const struct nb_mesh_gather how = {b.n, b.pos, box, m, order, mesh, NULL, 0};
	nb_mesh_gather_cpu(&how, value, 2);
	for (size_t i = 0; i < b.n; i++) {
		double want = 7;
		CHECK(value[2 * i + 1] == 7);
		for (int at = 0; at < m * m * m; at++) {
			const int cell[3] = {at / m / m, at / m % m, at % m};
			double w = mesh[((size_t)cell[0] * m + cell[1]) * row + cell[2]];
			for (int c = 0; c < 3 && w != 0; c++)
				w *= spline(order, nearest(b.pos[3 * i + c] / box * m - cell[c], m));
			want += w;
		}
		worst = fmax(worst, fabs(value[2 * i] - want));
	}
	CHECK_NEAR(worst, 0, 1e-13);
	nb_free_all(mesh, b.pos, b.mass);
}

/* One wave of density, oblique: its field is known.  G = 1. */
static void poisson(int m, int axis)
{
	const double box = 5, split = 0.3, q[3] = {1, -2, 3}, unit = 2 * PI / box, amplitude = 0.75;
	const size_t side = (size_t)m, row = nb_mesh_row(m), n = nb_mesh_bytes(m) / sizeof(double);
	double *mass = nb_alloc_zero(n, sizeof *mass), *field = nb_alloc(n, sizeof *field), k2 = 0, window = 1;
	const struct nb_mesh_poisson how = {m, 6, box, split};
	for (int c = 0; c < 3; c++) {
		k2 += unit * unit * q[c] * q[c];
		window *= pow(sin(PI * q[c] / m) / (PI * q[c] / m), 6);
	}
	mass[0] = 11; /* the mean pulls nothing */
	mass[(1 * side + (side - 2)) * row + 2 * 3] = amplitude / 2 * window * window;
	if (m % 2 == 0)
		mass[(1 * side + side / 2) * row + 2 * 3] = 99; /* a mode of m / 2, which becomes 0 */
	for (int f = 0; f < 2; f++) {
		const double phi = -4 * PI / k2 * exp(-k2 * split * split) * amplitude / (box * box * box);
		double worst = 0;
		CHECK(nb_mesh_poisson_cpu(&how, f ? NB_MESH_POT : (enum nb_mesh_field)axis, mass, field) == NB_OK);
		CHECK(nb_mesh_transform_back_cpu(m, field) == NB_OK);
		for (size_t k = 0; k < n; k++) {
			const double x[3] = {(double)(k / row / side), (double)(k / row % side), (double)(k % row)};
			const double phase = 2 * PI / m * (q[0] * x[0] + q[1] * x[1] + q[2] * x[2]);
			const double want = f ? phi * cos(phase) : phi * unit * q[axis] * sin(phase);
			if (k % row < side)
				worst = fmax(worst, fabs(field[k] - want));
		}
		CHECK_NEAR(worst / fabs(phi), 0, 1e-13);
	}
	nb_free_all(mass, field);
}

/* ---- shells ------------------------------------------------------------------------------------- */

/* Against the modes of all of space, each found in the half that a mesh has. */
static void shells(int m, int with_other)
{
	const size_t count = (size_t)(m + 1) / 2, pairs = nb_mesh_bytes(m) / 16;
	struct nb_mesh_axis *axis = nb_alloc((size_t)m, sizeof *axis);
	struct nb_mesh_shell *got = nb_alloc(count, sizeof *got), *want = nb_alloc_zero(count, sizeof *want);
	double *mesh[3];
	for (int k = 0; k < 3; k++) {
		mesh[k] = nb_alloc(pairs, 2 * sizeof(double));
		for (size_t i = 0; i < 2 * pairs; i++)
			mesh[k][i] = uniform() - 0.5;
	}
	const struct nb_mesh_modes a = {mesh[0], mesh[1], 0.5}, b = {mesh[2], NULL, 2};
	nb_mesh_axes(m, 3, axis);
	for (int x = 0; x < m; x++)
		for (int y = 0; y < m; y++)
			for (int z = 0; z <= m / 2; z++) {
				const int k[3] = {nb_mesh_wave(x, m), nb_mesh_wave(y, m), z};
				const double r = sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]),
					     w = z && 2 * z != m ? 2 : 1;
				const size_t s = (size_t)round(r);
				double u[2], v[2];
				if (s >= count)
					continue;
				const size_t at = ((size_t)x * m + y) * nb_mesh_row(m) / 2 + z;
				const struct nb_mesh_axis axes = nb_mesh_both(nb_mesh_both(axis[x], axis[y]), axis[z]);
				nb_mesh_mode(&a, at, axes, u);
				nb_mesh_mode(&b, at, axes, v);
				want[s].modes += w;
				want[s].distance += w * r;
				want[s].power[0] += w * (u[0] * u[0] + u[1] * u[1]);
				want[s].power[1] += with_other ? w * (v[0] * v[0] + v[1] * v[1]) : 0;
				want[s].cross += with_other ? w * (u[0] * v[0] + u[1] * v[1]) : 0;
			}
	CHECK(nb_mesh_shells_cpu(m, 3, &a, with_other ? &b : NULL, got) == NB_OK);
	for (size_t k = 0; k < count; k++) {
		CHECK(got[k].modes == want[k].modes);
		CHECK_NEAR(got[k].distance, want[k].distance, 1e-12 * want[k].distance);
		for (int j = 0; j < 2; j++)
			CHECK_NEAR(got[k].power[j], want[k].power[j], 1e-12 * want[k].power[j]);
		CHECK_NEAR(got[k].cross, want[k].cross, 1e-12 * want[k].modes);
	}
	CHECK(want[1].modes == 18 && want[2].modes == 62 && want[3].modes == 98);
	nb_free_all(mesh[0], mesh[1], mesh[2], axis, got, want);
}

int main(void)
{
	static const int edge[] = {8, 9, 10, 12, 14, 15, 16, 20, 21, 25, 27, 30, 32, 35, 42, 49};
	sizes();
	for (size_t k = 0; k < sizeof edge / sizeof *edge; k++)
		transform(edge[k]);
	for (size_t k = 0; k < sizeof edge / sizeof *edge; k++)
		transform_back(edge[k]);
	for (int order = 1; order <= NB_MESH_ORDERS; order++) {
		gather(8, order);
		gather(15, order);
		paint_by_hand(8, order);
		paint_by_hand(9, order);
		paint_same(8, order);
		paint_same(28, order);
		if (order != 5)
			paint_same(49, order);
	}
	paint_heavy();
	poisson(8, 0);
	poisson(15, 1);
	poisson(12, 2);
	accuracy();
	shells(12, 1);
	shells(15, 1);
	shells(40, 0);
	return unit_end();
}
