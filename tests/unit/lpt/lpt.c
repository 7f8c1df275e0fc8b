/* The start of a cosmological run: spectra, modes of a random field, and LPT against the equations that it solves. */
#include "kernels/lpt/lpt.h"
#include "kernels/mesh/mesh.h"
#include "tests/unit/unit.h"

#include <complex.h>

#define PI 3.14159265358979323846

static double *new_mesh(int m)
{
	return calloc(1, nb_mesh_bytes(m));
}

static double complex *mode(double *mesh, int m, int x, int y, int z)
{
	return (double complex *)(mesh + (size_t)(((x + m) % m) * m + (y + m) % m) * nb_mesh_row(m)) + z;
}

/* ---- spectra ------------------------------------------------------------------------------------ */

static void test_table(void)
{
	/* logs of a power of k are a straight line */
	const double k[] = {0.01, 0.02, 0.7, 3}, power[] = {1e4 * 10, 1e4 * 5, 1e4 / 7, 1e4 / 30};
	const struct nb_lpt_table table = {4, k, power};
	struct nb_lpt_spectrum *s;
	CHECK(nb_lpt_spectrum_create(&(struct nb_lpt_shape){.table = &table}, &s) == NB_OK);
	for (double x = 1e-4; x < 1000; x *= 1.3)
		CHECK_NEAR(nb_lpt_spectrum_power(s, x) * x, 1000, 1e-9);
	/* sigma^2 of P = A / k is 9 A / (8 pi^2 R^2) */
	CHECK_NEAR(nb_lpt_spectrum_sigma(s, 2), sqrt(9 * 1000 / (8 * PI * PI * 4)), 1e-5);
	CHECK_NEAR(nb_lpt_spectrum_sigma(s, 4), sqrt(9 * 1000 / (8 * PI * PI * 16)), 1e-5);
	nb_lpt_spectrum_free(s);

	/* a curve is met at its points, and between them to the fourth power of their distance */
	double at[2][41], of[2][41], error[2];
	for (int fine = 0; fine < 2; fine++) {
		const int n = fine ? 41 : 21;
		for (int i = 0; i < n; i++) {
			at[fine][i] = exp(4.0 * i / (n - 1) - 2);
			of[fine][i] = exp(sin(4.0 * i / (n - 1)));
		}
		const struct nb_lpt_table curve = {(size_t)n, at[fine], of[fine]};
		CHECK(nb_lpt_spectrum_create(&(struct nb_lpt_shape){.table = &curve}, &s) == NB_OK);
		for (int i = 0; i < n; i++)
			CHECK_NEAR(nb_lpt_spectrum_power(s, at[fine][i]), of[fine][i], 1e-13);
		error[fine] = fabs(log(nb_lpt_spectrum_power(s, exp(0.05))) - sin(2.05));
		nb_lpt_spectrum_free(s);
	}
	CHECK(error[0] < 3e-5 && error[1] < error[0] / 8);

	const double turned[] = {0.01, 0.02, 0.02, 3}, negative[] = {1, 1, -1, 1};
	const struct nb_lpt_table bad[] = {{1, k, power}, {4, turned, power}, {4, k, negative}};
	for (int i = 0; i < 3; i++)
		CHECK(nb_lpt_spectrum_create(&(struct nb_lpt_shape){.table = &bad[i]}, &s) == NB_EINVAL);
}

/* Transfer functions of colossus 1.4.0 (modelEisenstein98, modelEisenstein98ZeroBaryon), another program for the same
 * paper. */
static void test_fit(void)
{
	static const double k[] = {0.001, 0.01, 0.05, 0.1, 0.2, 1, 10};
	static const struct {
		struct nb_lpt_shape shape;
		double T[7];
	} known[] = {
		{{.omega_m = 0.3111, .omega_b = 0.049, .h = 0.6766, .ns = 0.9665},
			{0.9922904137949566, 0.7808639949924181, 0.27219749008630384, 0.13184833206544438,
				0.05539878744459355, 0.0047211514711386566, 9.052739636919426e-05}},
		{{.omega_m = 0.3111, .omega_b = 0.049, .h = 0.6766, .ns = 0.9665, .smooth = 1},
			{0.9921061196127824, 0.7868205204122488, 0.2794537637795087, 0.13401902463517146,
				0.05499921089983095, 0.004689744437548074, 8.955380209140465e-05}},
		{{.omega_m = 0.27, .omega_b = 0.02, .h = 0.7, .ns = 1},
			{0.9906892919279295, 0.7587484807252282, 0.2808798877809163, 0.13567263312338876,
				0.05587804129855688, 0.004840375895598807, 9.273157160012771e-05}},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct nb_lpt_spectrum *s;
		CHECK(nb_lpt_spectrum_create(&known[i].shape, &s) == NB_OK);
		for (int j = 0; j < 7; j++)
			CHECK_NEAR(sqrt(nb_lpt_spectrum_power(s, k[j]) / pow(k[j], known[i].shape.ns)), known[i].T[j],
				1e-12 * known[i].T[j]);
		nb_lpt_spectrum_free(s);
	}
	struct nb_lpt_spectrum *s;
	CHECK(nb_lpt_spectrum_create(&(struct nb_lpt_shape){.omega_m = 0.3, .omega_b = 0, .h = 0.7, .ns = 1}, &s) ==
		NB_EINVAL);
}

/* ---- the field ---------------------------------------------------------------------------------- */

static struct nb_lpt_spectrum *inverse(void)
{
	static const double k[] = {1, 10}, power[] = {100, 10};
	static const struct nb_lpt_table table = {2, k, power};
	struct nb_lpt_spectrum *s;
	CHECK(nb_lpt_spectrum_create(&(struct nb_lpt_shape){.table = &table}, &s) == NB_OK);
	return s;
}

static double *draw(const struct nb_lpt_field *field)
{
	struct nb_lpt_spectrum *s = inverse();
	double *mesh = new_mesh(field->m);
	CHECK(nb_lpt_field_draw(field, s, 3, mesh) == NB_OK);
	nb_lpt_spectrum_free(s);
	return mesh;
}

/* Amplitudes of a fixed field are those of the spectrum; planes of half the edge, and the mean, are 0; modes of planes
 * that hold both of a pair are conjugates. */
static void test_fixed(void)
{
	enum { m = 16 };
	struct nb_lpt_field field = {.m = m, .box = 5, .seed = 7, .fixed = 1};
	double *a = draw(&field);
	int wrong = 0;
	for (int x = 0; x < m; x++)
		for (int y = 0; y < m; y++)
			for (int z = 0; z <= m / 2; z++) {
				const int nx = x > m / 2 ? x - m : x, ny = y > m / 2 ? y - m : y, most = m / 2;
				const double k = 2 * PI / 5 * sqrt(nx * nx + ny * ny + z * z);
				const int none = k == 0 || abs(nx) == most || abs(ny) == most || z == most;
				const double want = none ? 0 : 3 * sqrt(100 / k / 125);
				wrong += !(fabs(cabs(*mode(a, m, x, y, z)) - want) <= 1e-14 * want);
				wrong += z == 0 && *mode(a, m, x, y, 0) != conj(*mode(a, m, -x, -y, 0));
			}
	CHECK(wrong == 0);
	double k[2];
	CHECK(nb_lpt_field_range(&field, k) == 1);
	CHECK_NEAR(k[0], 2 * PI / 5, 1e-15);
	CHECK_NEAR(k[1], 2 * PI / 5 * sqrt(3) * 7, 1e-14);
	field.paired = 1;
	double *b = draw(&field);
	wrong = 0;
	for (size_t i = 0; i < nb_mesh_bytes(m) / sizeof *a; i++)
		wrong += a[i] != -b[i];
	CHECK(wrong == 0);
	free(b);
	field.paired = 0, field.sphere = 1;
	b = draw(&field);
	CHECK(*mode(b, m, 7, 3, 2) == *mode(a, m, 7, 3, 2) && *mode(b, m, 7, 3, 3) == 0 && *mode(a, m, 7, 3, 3) != 0);
	CHECK(nb_lpt_field_range(&field, k) == 1);
	CHECK_NEAR(k[1], 2 * PI / 5 * 8, 1e-14);
	free(a);
	free(b);
}

/* A mode is the same on all meshes, and with odd numbers of cells; and each plane of modes has the mean square, of a
 * distribution of chi^2. */
static void test_modes(void)
{
	enum { small = 15, large = 24 };
	double *a = draw(&(struct nb_lpt_field){.m = small, .box = 5, .seed = 3});
	double *b = draw(&(struct nb_lpt_field){.m = large, .box = 5, .seed = 3});
	int wrong = 0, n = 0, nplane = 0;
	double sum = 0, fourth = 0, plane = 0;
	double complex mean = 0;
	for (int x = -11; x <= 11; x++)
		for (int y = -11; y <= 11; y++)
			for (int z = 0; z <= 11; z++) {
				if (x == 0 && y == 0 && z == 0)
					continue;
				const double k = 2 * PI / 5 * sqrt(x * x + y * y + z * z);
				const double complex w = *mode(b, large, x, y, z) / (3 * sqrt(100 / k / 125));
				const double square = creal(w) * creal(w) + cimag(w) * cimag(w);
				if (abs(x) <= 7 && abs(y) <= 7 && z <= 7)
					wrong += *mode(a, small, x, y, z) != *mode(b, large, x, y, z);
				sum += square, fourth += square * square, mean += w, n++;
				plane += z == 0 ? square : 0, nplane += z == 0;
			}
	CHECK(wrong == 0);
	CHECK_NEAR(sum / n, 1, 4 / sqrt(n));
	CHECK_NEAR(fourth / n, 2, 4 * sqrt(20. / n));
	CHECK_NEAR(cabs(mean) / n, 0, 4 / sqrt(n));
	CHECK_NEAR(plane / nplane, 1, 4 * sqrt(2. / nplane));
	free(a);
	free(b);
}

/* ---- LPT ---------------------------------------------------------------------------------------- */

enum { M = 8, CELLS = M * M * M };

static const struct nb_cosmology matter = {.H0 = 1, .omega_m = 1, .w0 = -1};
static const double box = 3;

/* Displacements and velocities of a lattice, CELLS x 3. */
static void displace(const double *modes, int order, double a, double *psi, double *vel)
{
	double *copy = malloc(nb_mesh_bytes(M));
	memcpy(copy, modes, nb_mesh_bytes(M));
	const struct nb_lpt_start start = {.m = M, .order = order, .box = box, .cosmology = matter, .a = a};
	struct nb_lpt *lpt;
	CHECK(nb_lpt_create(&start, copy, &lpt) == NB_OK);
	nb_lpt_fill(lpt, 0, 0, CELLS, psi);
	nb_lpt_fill(lpt, 1, 0, CELLS, vel);
	int outside = 0;
	for (int i = 0; i < CELLS; i++)
		for (int c = 0; c < 3; c++) {
			const int place[3] = {i / M / M, i / M % M, i % M};
			outside += !(psi[3 * i + c] >= 0 && psi[3 * i + c] < box);
			psi[3 * i + c] -= box * place[c] / M;
			psi[3 * i + c] -= box * rint(psi[3 * i + c] / box);
		}
	CHECK(outside == 0);
	nb_lpt_free(lpt);
	free(copy);
}

/* One wave is Zel'dovich's at all orders. */
static void test_plane_wave(void)
{
	static double psi[3 * CELLS], vel[3 * CELLS];
	double *modes = new_mesh(M), worst = 0;
	*mode(modes, M, 1, -2, 3) = 0.05;
	for (int order = 1; order <= 3; order++) {
		displace(modes, order, 0.5, psi, vel);
		for (int i = 0; i < CELLS; i++)
			for (int c = 0; c < 3; c++) {
				const int n[3] = {1, -2, 3};
				const double turn = 2 * PI / M * (i / M / M - 2 * (i / M % M) + 3 * (i % M));
				const double want = -0.5 * 0.1 * sin(turn) * n[c] / 14 * box / (2 * PI);
				worst = fmax(worst, fabs(psi[3 * i + c] - want));
				/* v = a H f psi, and H = a^-1.5 */
				worst = fmax(worst, fabs(vel[3 * i + c] - want / sqrt(0.5)));
			}
	}
	CHECK_NEAR(worst, 0, 1e-15);
	free(modes);
}

/* A field at places that are no lattice: a wave in two tiles along each axis, and the places of the lattice itself. */
static void test_glass(void)
{
	static const double some[] = {
		0, 0, 0, 0.999, 0.1, 0.5, 0.3, 0.7, 0.01, 0.62, 0.49, 0.98, 1 - 0x1p-53, 0.2, 0.4};
	static double lattice[3 * CELLS], x[2][3 * CELLS], v[2][3 * CELLS];
	const struct nb_lpt_glass few = {5, some, 2}, same = {CELLS, lattice, 1};
	struct nb_lpt_start start = {.m = M, .order = 2, .box = box, .cosmology = matter, .a = 0.5, .glass = &few};
	double *modes = new_mesh(M), worst = 0, square = 0;
	struct nb_lpt *lpt;
	*mode(modes, M, 1, -2, 3) = 0.05;
	CHECK(nb_lpt_create(&start, modes, &lpt) == NB_OK);
	nb_lpt_fill(lpt, 0, 0, 40, x[0]);
	nb_lpt_fill(lpt, 1, 0, 40, v[0]);
	const double spacings = nb_lpt_displacement(lpt);
	nb_lpt_free(lpt);
	for (int i = 0; i < 40; i++) {
		const int n[3] = {1, -2, 3}, tile[3] = {i / 20, i / 10 % 2, i / 5 % 2};
		double q[3], turn = 0;
		for (int c = 0; c < 3; c++) {
			q[c] = (tile[c] + some[3 * (i % 5) + c]) / 2;
			turn += 2 * PI * n[c] * q[c];
		}
		for (int c = 0; c < 3; c++) {
			const double want = -0.5 * 0.1 * sin(turn) * n[c] / 14 * box / (2 * PI);
			const double moved = x[0][3 * i + c] - box * q[c];
			worst = fmax(worst, fabs(moved - box * rint(moved / box) - want));
			worst = fmax(worst, fabs(v[0][3 * i + c] - want / sqrt(0.5)));
			square += want * want;
		}
	}
	CHECK_NEAR(worst, 0, 1e-14);
	CHECK_NEAR(spacings, sqrt(square / 40) * cbrt(40) / box, 1e-14);
	for (int i = 0; i < 3 * CELLS; i++)
		lattice[i] = (double)(i % 3 == 0 ? i / 3 / M / M : i % 3 == 1 ? i / 3 / M % M : i / 3 % M) / M;
	for (start.order = 1; start.order <= 3; start.order++) {
		for (int g = 0; g < 2; g++) {
			free(modes);
			modes = draw(&(struct nb_lpt_field){.m = M, .box = 5, .seed = 4});
			start.glass = g ? &same : NULL;
			CHECK(nb_lpt_create(&start, modes, &lpt) == NB_OK);
			nb_lpt_fill(lpt, 0, 0, CELLS, x[g]);
			nb_lpt_fill(lpt, 1, 0, CELLS, v[g]);
			nb_lpt_free(lpt);
		}
		double error = 0, size = 0;
		for (int i = 0; i < 3 * CELLS; i++) {
			const double off = x[1][i] - x[0][i];
			error = fmax(error, fmax(fabs(off - box * rint(off / box)), fabs(v[1][i] - v[0][i])));
			size = fmax(size, fabs(v[0][i]));
		}
		CHECK(size > 0.1);
		CHECK_NEAR(error / size, 0, 5e-13);
	}
	free(modes);
}

/* Where a field is the same along all axes, matter moves as in a uniform sphere: r / q = 1 - d / 3 - d^2 / 21 - 23 d^3
 * / 1701, the series of the spherical collapse (Bernardeau 1994, ApJ 427, 51). */
static void test_sphere(void)
{
	static double psi[3 * CELLS], vel[3 * CELLS];
	double *modes = new_mesh(M), sum = 0, rate = 0;
	const double a = 0.5, d = 0.6 * a, term[] = {-d / 3, -d * d / 21, -23 * d * d * d / 1701};
	*mode(modes, M, 1, 0, 0) = *mode(modes, M, -1, 0, 0) = *mode(modes, M, 0, 1, 0) = *mode(
		modes, M, 0, -1, 0) = *mode(modes, M, 0, 0, 1) = 0.1;
	for (int order = 1; order <= 3; order++) {
		displace(modes, order, a, psi, vel);
		sum += term[order - 1];
		rate += order * term[order - 1] / sqrt(a);
		/* the slope of a sum of sines, of which sine n has the share b */
		double slope = 0, speed = 0;
		for (int n = 1; n < M / 2; n++)
			for (int j = 0; j < M; j++) {
				const double b = 2.0 / M * n * sin(2 * PI * n * j / M) * 2 * PI / box;
				slope += b * psi[3 * M * M * j];
				speed += b * vel[3 * M * M * j];
			}
		CHECK_NEAR(slope, sum, 1e-14);
		CHECK_NEAR(speed, rate, 1e-13);
	}
	free(modes);
}

/* The derivatives of three components along three axes: g[3 i + j] of component i along j. */
static void differentiate(const double *f, double (*g)[9])
{
	double by[M];
	for (int d = 1; d < M; d++)
		by[d] = PI / box * (d % 2 ? -1 : 1) / tan(PI * d / M);
	memset(g, 0, CELLS * sizeof *g);
	for (int i = 0; i < CELLS; i++)
		for (int axis = 0; axis < 3; axis++)
			for (int d = 1; d < M; d++) {
				const int stride = axis == 0 ? M * M : axis == 1 ? M : 1, at = i / stride % M;
				const int other = i + ((at - d + M) % M - at) * stride;
				for (int c = 0; c < 3; c++)
					g[i][3 * c + axis] += by[d] * f[3 * other + c];
			}
}

static double cofactor(const double *F, int i, int j)
{
	const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
	return F[3 * a + c] * F[3 * b + d] - F[3 * a + d] * F[3 * b + c];
}

/* What is left of the equations of motion of matter alone, where x'' + 3 x' / (2 a) = g by the scale factor, in
 * coordinates q of the lattice: J div g = 3 (J - 1) / (2 a^2); and of the conserved curl, sum over l of grad x'_l x
 * grad x_l = 0. */
static void residue(const double *modes, double a, int order, double left[2])
{
	static double psi[4][3 * CELLS], vel[3 * CELLS], pull[3 * CELLS], dx[CELLS][9], dv[CELLS][9], dg[CELLS][9];
	memset(psi[0], 0, sizeof psi[0]);
	memset(pull, 0, sizeof pull);
	for (int n = 1; n <= order; n++) {
		displace(modes, n, a, psi[n], vel);
		for (int k = 0; k < 3 * CELLS; k++)
			pull[k] += (n * (n - 1) + 1.5 * n) * (psi[n][k] - psi[n - 1][k]) / (a * a);
	}
	differentiate(psi[order], dx);
	differentiate(vel, dv);
	differentiate(pull, dg);
	left[0] = left[1] = 0;
	for (int i = 0; i < CELLS; i++) {
		for (int c = 0; c < 3; c++)
			dx[i][4 * c] += 1;
		double J = 0, div = 0;
		for (int c = 0; c < 3; c++)
			J += dx[i][c] * cofactor(dx[i], 0, c);
		for (int k = 0; k < 9; k++)
			div += cofactor(dx[i], k / 3, k % 3) * dg[i][k];
		left[0] = fmax(left[0], fabs(div - 1.5 * (J - 1) / (a * a)));
		for (int c = 0; c < 3; c++) {
			const int u = (c + 1) % 3, v = (c + 2) % 3;
			double curl = 0;
			for (int l = 0; l < 3; l++)
				curl += dv[i][3 * l + u] * dx[i][3 * l + v] - dv[i][3 * l + v] * dx[i][3 * l + u];
			left[1] = fmax(left[1], fabs(curl));
		}
	}
}

/* What order n leaves goes as the (n + 1)-th power of the amplitude; modes of the lattice are all that arise. */
static void test_equations(void)
{
	double *modes = new_mesh(M), left[2], less[2];
	for (int order = 1; order <= 3; order++) {
		for (int half = 0; half < 2; half++) {
			for (int x = -1; x <= 1; x++)
				for (int y = -1; y <= 1; y++)
					for (int z = 0; z <= 1; z++) {
						const int side = z || y > 0 || (y == 0 && x > 0) ? 1 : -1;
						const double turn = (x + 3 * y) * side + 9 * z;
						*mode(modes, M, x, y,
							z) = (half ? 1e-3 : 2e-3) *
							     cexp((double complex)I * (side * turn * turn));
					}
			*mode(modes, M, 0, 0, 0) = 0;
			residue(modes, 0.7, order, half ? less : left);
		}
		CHECK_NEAR(left[0] / less[0], 2 << order, 0.1 * (2 << order));
		/* below the third order, the curl is 0 to that one */
		if (order > 1)
			CHECK_NEAR(left[1] / less[1], 2 << order, 0.1 * (2 << order));
		CHECK(less[0] > 1e-13 && (order == 1 || less[1] > 1e-13));
	}
	free(modes);
}

/* The modes of a displacement by a field of modes up to 3, of a lattice of 8 or 16. */
static double *displacement(const double *modes, int m, int order)
{
	double *copy = new_mesh(m), *x = malloc((size_t)(m * m * m) * 3 * sizeof *x), *psi = new_mesh(m);
	for (int i = -3; i <= 3; i++)
		for (int j = -3; j <= 3; j++)
			for (int k = 0; k <= 3; k++)
				*mode(copy, m, i, j, k) = *mode((double *)modes, M, i, j, k);
	const struct nb_lpt_start start = {.m = m, .order = order, .box = box, .cosmology = matter, .a = 1};
	struct nb_lpt *lpt;
	CHECK(nb_lpt_create(&start, copy, &lpt) == NB_OK);
	nb_lpt_fill(lpt, 0, 0, (size_t)(m * m * m), x);
	for (int i = 0; i < m * m * m; i++) {
		const double moved = x[3 * i + 1] - box * (i / m % m) / m;
		psi[(size_t)(i / m) * nb_mesh_row(m) + (size_t)(i % m)] = (moved - box * rint(moved / box)) /
									  (m * m * m);
	}
	CHECK(nb_mesh_transform_real_cpu(m, psi) == NB_OK);
	nb_lpt_free(lpt);
	free(copy);
	free(x);
	return psi;
}

/* The modes that a lattice has of products are those of a finer one. */
static void test_aliases(void)
{
	double *modes = draw(&(struct nb_lpt_field){.m = M, .box = 5, .seed = 11}), worst[4] = {0}, most = 0;
	for (size_t i = 0; i < nb_mesh_bytes(M) / sizeof *modes; i++)
		modes[i] *= 0.002;
	for (int order = 1; order <= 3; order++) {
		double *few = displacement(modes, M, order), *many = displacement(modes, 2 * M, order);
		for (int i = -3; i <= 3; i++)
			for (int j = -3; j <= 3; j++)
				for (int k = 0; k <= 3; k++) {
					const double complex a = *mode(few, M, i, j, k),
							     b = *mode(many, 2 * M, i, j, k);
					worst[order] = fmax(worst[order], cabs(a - b));
					most = fmax(most, cabs(a));
				}
		free(few);
		free(many);
	}
	CHECK(most > 1e-4 && most < 0.1);
	for (int order = 1; order <= 3; order++)
		CHECK_NEAR(worst[order], 0, 1e-16);
	free(modes);
}

static void test_edges(void)
{
	const uint64_t good[] = {0, 1, 8, 27, 1000, 262144, 1ull << 33};
	const int edge[] = {0, 1, 2, 3, 10, 64, 2048};
	for (int i = 0; i < 7; i++)
		CHECK(nb_lpt_edge(good[i]) == edge[i]);
	const uint64_t bad[] = {2, 26, 1331, 63 * 63 * 64, 1ull << 36, UINT64_MAX};
	for (int i = 0; i < 6; i++)
		CHECK(nb_lpt_edge(bad[i]) == -1);
	const uint64_t glass[] = {0, 1, 7, 8, 26, 27, 1331, 1728, 1ull << 33, 1ull << 34};
	const int of_glass[] = {0, 1, 1, 2, 2, 3, 10, 12, 2048, -1};
	for (int i = 0; i < 10; i++)
		CHECK(nb_lpt_edge_of_glass(glass[i]) == of_glass[i]);
	/* lattices of few bodies, without modes or with few */
	for (int m = 0; m < 8; m++)
		for (int order = 1; order <= 3; order++) {
			if (m == 0 || nb_mesh_size(m) != m)
				continue;
			double *mesh = draw(&(struct nb_lpt_field){.m = m, .box = 5, .seed = 3});
			const struct nb_lpt_start start = {
				.m = m, .order = order, .box = 5, .cosmology = matter, .a = 0.01};
			struct nb_lpt *lpt;
			CHECK(nb_lpt_create(&start, mesh, &lpt) == NB_OK);
			double last[3], v[3], moved = 0;
			nb_lpt_fill(lpt, 0, (uint64_t)(m * m * m) - 1, 1, last);
			nb_lpt_fill(lpt, 1, (uint64_t)(m * m * m) - 1, 1, v);
			for (int c = 0; c < 3; c++)
				moved += fabs(last[c] - 5.0 * (m - 1) / m) + fabs(v[c]);
			CHECK(m < 3 ? moved == 0 : moved > 0 && moved < 5);
			nb_lpt_free(lpt);
			free(mesh);
		}
}

int main(void)
{
	test_table();
	test_fit();
	test_fixed();
	test_modes();
	test_plane_wave();
	test_glass();
	test_sphere();
	test_equations();
	test_aliases();
	test_edges();
	return unit_end();
}
