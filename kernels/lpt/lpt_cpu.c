/* Displacements by LPT.  Potentials are modes, in units of (box / 2 pi)^2, so that k is the number of a mode; their
 * second derivatives have no unit.  Products are made of real numbers on a fine mesh, to which modes are copied and
 * from which those of the lattice are taken back. */
#include "kernels/lpt/lpt_internal.h"

#include "common/mem.h"
#include "common/periodic.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

enum { PHI1, PHI2, PHI3A, PHI3B, CURL, NPOTENTIAL = CURL + 3 };

struct nb_lpt {
	int m;
	uint64_t n;
	struct nb_lpt_glass glass; /* tiles is 0: a lattice */
	double box, speed;	   /* speed: velocity over displacement, where there is one array for both; else 0 */
	double *psi[3], *vel[3];   /* meshes of a lattice; or n numbers */
};

int nb_lpt_edge(uint64_t n)
{
	const uint64_t m = (uint64_t)llround(cbrt((double)n));
	if (m > NB_LPT_EDGE_MOST || m * m * m != n)
		return -1;
	return m < 2 || nb_mesh_size((int)m) == (int)m ? (int)m : -1;
}

int nb_lpt_edge_of_glass(uint64_t n)
{
	uint64_t m = (uint64_t)llround(cbrt((double)n));
	if (m > NB_LPT_EDGE_MOST)
		return -1;
	while (m > 0 && (m * m * m > n || nb_lpt_edge(m * m * m) < 0))
		m--;
	return (int)m;
}

/* ---- between meshes ----------------------------------------------------------------------------- */

struct modes {
	int m;
	const double *at;
};

static size_t numbers(int m)
{
	return nb_mesh_bytes(m) / sizeof(double);
}

static size_t row_of(int x, int y, int m)
{
	return ((size_t)(x < 0 ? x + m : x) * (size_t)m + (size_t)(y < 0 ? y + m : y)) * nb_mesh_row(m);
}

/* The second derivative of a potential along axes i and j, on the fine mesh. */
static int differentiate(struct modes phi, int i, int j, int fine, double *to)
{
#pragma omp parallel for schedule(static)
	for (int x = 0; x < fine; x++)
		for (int y = 0; y < fine; y++) {
			double *row = to + row_of(x, y, fine);
			int n[3] = {nb_lpt_wave(x, fine), nb_lpt_wave(y, fine), 0};
			const int held = nb_lpt_held(n[0], phi.m) && nb_lpt_held(n[1], phi.m);
			const double *from = held ? phi.at + row_of(n[0], n[1], phi.m) : NULL;
			for (int z = 0; z <= fine / 2; z++) {
				n[2] = z;
				const int there = held && nb_lpt_held(z, phi.m);
				const double square = -(double)n[i] * n[j];
				row[2 * z] = there ? square * from[2 * z] : 0;
				row[2 * z + 1] = there ? square * from[2 * z + 1] : 0;
			}
		}
	return nb_mesh_transform_back_cpu(fine, to);
}

/* The potential whose Laplacian has these modes times factor; of a mesh that is as fine, or finer.  to may be source.
 */
static void integrate(struct modes source, double factor, int m, double *to)
{
#pragma omp parallel for schedule(static)
	for (int x = 0; x < m; x++)
		for (int y = 0; y < m; y++) {
			int n[3] = {nb_lpt_wave(x, m), nb_lpt_wave(y, m), 0};
			const double *from = source.at + row_of(n[0], n[1], source.m);
			double *row = to + row_of(x, y, m);
			const int held = nb_lpt_held(n[0], m) && nb_lpt_held(n[1], m);
			for (int z = 0; z <= m / 2; z++) {
				n[2] = z;
				const int64_t square = nb_lpt_square(n);
				const double weight = held && nb_lpt_held(z, m) && square > 0 ? -factor / (double)square
											      : 0;
				row[2 * z] = weight * from[2 * z];
				row[2 * z + 1] = weight * from[2 * z + 1];
			}
		}
}

/* The same of real numbers on the fine mesh, which become its modes. */
static int solve(int fine, double *source, int m, double *to)
{
	const int status = nb_mesh_transform_real_cpu(fine, source);
	const double cells = (double)fine * fine * fine;
	if (!status)
		integrate((struct modes){fine, source}, 1 / cells, m, to);
	return status;
}

/* ---- sources ------------------------------------------------------------------------------------ */

static const int axis_i[6] = {0, 1, 2, 0, 0, 1}, axis_j[6] = {0, 1, 2, 1, 2, 2};

/* Where the second derivative along two axes is. */
static int place(int i, int j)
{
	return i == j ? i : i + j + 2;
}

/* phi2 with three meshes: sums over i < j as (xx) yy + (xx + yy) zz - xy^2 - xz^2 - yz^2. */
static int second_order(struct modes phi1, int fine, double *phi2)
{
	const size_t n = numbers(fine);
	double *sum = nb_alloc(n, sizeof *sum), *next = nb_alloc(n, sizeof *next),
	       *source = nb_alloc_zero(n, sizeof *source);
	int status = sum && next && source ? NB_OK : NB_ENOMEM;
	if (!status)
		status = differentiate(phi1, 0, 0, fine, sum);
	for (int p = 1; p < 6 && !status; p++) {
		status = differentiate(phi1, axis_i[p], axis_j[p], fine, next);
#pragma omp parallel for schedule(static)
		for (size_t k = 0; k < n; k++) {
			source[k] += p < 3 ? sum[k] * next[k] : -next[k] * next[k];
			sum[k] += p < 3 ? next[k] : 0;
		}
	}
	if (!status)
		status = solve(fine, source, phi1.m, phi2);
	nb_free_all(sum, next, source);
	return status;
}

/* ---- third order -------------------------------------------------------------------------------- */

/* All on a mesh twice as fine, which has all modes of phi2, and no alias of a product of three in those of the lattice.
 */
struct third {
	int fine, m;
	size_t n;
	double *d[6];	       /* second derivatives of phi1 */
	double *phi2, *second; /* its modes on the fine mesh; a second derivative */
	double *source[4];
};

static int make_room(struct third *t)
{
	double **const mesh[] = {&t->d[0], &t->d[1], &t->d[2], &t->d[3], &t->d[4], &t->d[5], &t->phi2, &t->second,
		&t->source[0], &t->source[1], &t->source[2], &t->source[3]};
	for (size_t k = 0; k < sizeof mesh / sizeof *mesh; k++) {
		*mesh[k] = nb_alloc_zero(t->n, sizeof(double));
		if (!*mesh[k])
			return NB_ENOMEM;
	}
	return NB_OK;
}

static int find_phi2(struct third *t, double *phi2)
{
	const int m = t->m;
	double *const *d = t->d, *to = t->phi2;
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < t->n; k++)
		to[k] = d[0][k] * d[1][k] + (d[0][k] + d[1][k]) * d[2][k] - d[3][k] * d[3][k] - d[4][k] * d[4][k] -
			d[5][k] * d[5][k];
	const int status = solve(t->fine, to, t->fine, to);
	for (int x = 0; x < m && !status; x++)
		for (int y = 0; y < m; y++) {
			const int nx = nb_lpt_wave(x, m), ny = nb_lpt_wave(y, m);
			const size_t pairs = nb_lpt_held(nx, m) && nb_lpt_held(ny, m) ? (size_t)(m + 1) / 2 : 0;
			memcpy(phi2 + row_of(x, y, m), to + row_of(nx, ny, t->fine), 2 * pairs * sizeof *phi2);
		}
	return status;
}

static int find_phi3a(struct third *t, double *phi3a)
{
	double *const *d = t->d, *to = t->source[0];
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < t->n; k++) {
		const double xx = d[0][k], yy = d[1][k], zz = d[2][k], xy = d[3][k], xz = d[4][k], yz = d[5][k];
		to[k] = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
	}
	return solve(t->fine, to, t->m, phi3a);
}

/* What a second derivative of phi2 adds to the sources of phi3b and of A. */
static void add_second(const struct third *t, int i, int j)
{
	double *const *d = t->d, *const b = t->source[3];
	const double *second = t->second;
	/* in the source of A_i, +phi2_lj phi1_lk and -phi2_lk phi1_lj, where l is one of the axes and j or k the other
	 */
	const int u = (j + 1) % 3, v = (j + 2) % 3, p = (i + 1) % 3, q = (i + 2) % 3;
	double *const plus = t->source[v], *const minus = t->source[u], *const plus2 = t->source[q],
		      *const minus2 = t->source[p];
	const double *by = d[place(i, u)], *less = d[place(i, v)], *by2 = d[place(j, p)], *less2 = d[place(j, q)];
	const double *mixed = d[place(i, j)], *one = d[p], *two = d[q]; /* of others than i */
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < t->n; k++) {
		const double s = second[k];
		if (i == j)
			b[k] += s * (one[k] + two[k]) / 2;
		else
			b[k] -= s * mixed[k];
		plus[k] += s * by[k];
		minus[k] -= s * less[k];
		if (i != j) {
			plus2[k] += s * by2[k];
			minus2[k] -= s * less2[k];
		}
	}
}

static int third_order(struct modes phi1, int fine, double *const potential[NPOTENTIAL])
{
	struct third t = {.fine = fine, .m = phi1.m, .n = numbers(fine)};
	int status = make_room(&t);
	for (int p = 0; p < 6 && !status; p++)
		status = differentiate(phi1, axis_i[p], axis_j[p], fine, t.d[p]);
	if (!status)
		status = find_phi2(&t, potential[PHI2]);
	if (!status)
		status = find_phi3a(&t, potential[PHI3A]);
	if (!status)
		memset(t.source[0], 0, t.n * sizeof *t.source[0]);
	for (int p = 0; p < 6 && !status; p++) {
		status = differentiate((struct modes){fine, t.phi2}, axis_i[p], axis_j[p], fine, t.second);
		if (!status)
			add_second(&t, axis_i[p], axis_j[p]);
	}
	for (int c = 0; c < 3 && !status; c++)
		status = solve(fine, t.source[c], t.m, potential[CURL + c]);
	if (!status)
		status = solve(fine, t.source[3], t.m, potential[PHI3B]);
	nb_free_each((void *const *)t.d, 6);
	nb_free_each((void *const *)t.source, 4);
	nb_free_all(t.phi2, t.second);
	return status;
}

/* ---- displacements ------------------------------------------------------------------------------ */

/* A component of the sum of gradients and of the curl, times these weights.  over: NULL, or what the numbers of a mode
 * are multiplied by, for a mesh that is finer. */
static int displace(int m, double *const potential[NPOTENTIAL], const double weight[NB_NGROWTH], int axis, int fine,
	const double *over, double *to)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
#pragma omp parallel for schedule(static)
	for (int x = 0; x < m; x++)
		for (int y = 0; y < m; y++) {
			int n[3] = {nb_lpt_wave(x, m), nb_lpt_wave(y, m), 0};
			const size_t row = row_of(x, y, m);
			double *const out = to + row_of(n[0], n[1], fine);
			if (over && !(nb_lpt_held(n[0], m) && nb_lpt_held(n[1], m)))
				continue;
			for (int z = 0; z <= m / 2; z++) {
				n[2] = z;
				const size_t at = row + 2 * (size_t)z;
				const double factor = over ? over[x] * over[y] * over[z] : 1;
				double sum[2] = {0, 0};
				for (int part = 0; part < 2; part++) {
					for (int p = PHI1; p <= PHI3B; p++)
						sum[part] += potential[p]
								     ? weight[p] * n[axis] * potential[p][at + part]
								     : 0;
					if (potential[CURL])
						sum[part] += weight[NB_D3C] *
							     (n[u] * potential[CURL + v][at + part] -
								     n[v] * potential[CURL + u][at + part]);
				}
				out[2 * z] = -sum[1] * factor; /* times i */
				out[2 * z + 1] = sum[0] * factor;
			}
		}
	return nb_mesh_transform_back_cpu(fine, to);
}

/* The same for each body; *to: new. */
static int displace_bodies(const struct nb_lpt *lpt, double *const potential[NPOTENTIAL],
	const double weight[NB_NGROWTH], int axis, double **to)
{
	const int m = lpt->m, fine = nb_mesh_size(2 * m);
	if (!lpt->glass.tiles) {
		*to = nb_alloc(numbers(m), sizeof **to);
		return *to ? displace(m, potential, weight, axis, m, NULL, *to) : NB_ENOMEM;
	}
	double *over = nb_alloc((size_t)m, sizeof *over), *mesh = nb_alloc_zero(numbers(fine), sizeof *mesh);
	*to = nb_alloc(lpt->n, sizeof **to);
	int status = over && mesh && *to ? NB_OK : NB_ENOMEM;
	if (!status) {
		nb_lpt_bump_modes(m, fine, over);
		status = displace(m, potential, weight, axis, fine, over, mesh);
	}
	if (!status)
		nb_lpt_gather(&lpt->glass, lpt->n, fine, mesh, *to);
	nb_free_all(over, mesh);
	return status;
}

static int displace_all(const struct nb_lpt_start *start, double *const potential[NPOTENTIAL], struct nb_lpt *lpt)
{
	static const int sign[NB_NGROWTH] = {-1, -1, 1, -1, 1};
	struct nb_growth growth;
	nb_cosmology_growth(&start->cosmology, start->a, &growth);
	const double rate = start->a * nb_cosmology_hubble(&start->cosmology, start->a);
	double weight[NB_NGROWTH], faster[NB_NGROWTH];
	for (int k = 0; k < NB_NGROWTH; k++) {
		weight[k] = sign[k] * growth.D[k] * start->box / (2 * PI);
		faster[k] = weight[k] * growth.f[k] * rate;
	}
	lpt->speed = start->order == 1 ? growth.f[NB_D1] * rate : 0;
	int status = NB_OK;
	for (int c = 0; c < 3 && !status; c++) {
		status = displace_bodies(lpt, potential, weight, c, &lpt->psi[c]);
		if (!status && start->order > 1)
			status = displace_bodies(lpt, potential, faster, c, &lpt->vel[c]);
	}
	return status;
}

static int find_potentials(const struct nb_lpt_start *start, double *modes, double *potential[NPOTENTIAL])
{
	const int m = start->m, count = start->order == 1 ? 1 : start->order == 2 ? 2 : NPOTENTIAL;
	potential[PHI1] = modes;
	integrate((struct modes){m, modes}, 1, m, modes);
	for (int p = 1; p < count; p++) {
		potential[p] = nb_alloc_zero(numbers(m), sizeof(double));
		if (!potential[p])
			return NB_ENOMEM;
	}
	if (start->order == 1)
		return NB_OK;
	const struct modes phi1 = {m, modes};
	return start->order == 2 ? second_order(phi1, nb_mesh_size((3 * m + 1) / 2), potential[PHI2])
				 : third_order(phi1, nb_mesh_size(2 * m), potential);
}

int nb_lpt_create(const struct nb_lpt_start *start, double *modes, struct nb_lpt **out)
{
	*out = NULL;
	struct nb_lpt *lpt = nb_alloc_zero(1, sizeof *lpt);
	if (!lpt)
		return NB_ENOMEM;
	lpt->m = start->m;
	lpt->box = start->box;
	lpt->n = (uint64_t)start->m * (uint64_t)start->m * (uint64_t)start->m;
	if (start->glass) {
		lpt->glass = *start->glass;
		lpt->n = lpt->glass.n * (uint64_t)(lpt->glass.tiles * lpt->glass.tiles * lpt->glass.tiles);
	}
	double *potential[NPOTENTIAL] = {NULL};
	const int still = start->m < 3; /* all modes are 0 */
	int status = still ? NB_OK : find_potentials(start, modes, potential);
	if (!status && !still)
		status = displace_all(start, potential, lpt);
	nb_free_each((void *const *)potential + 1, NPOTENTIAL - 1);
	if (status)
		nb_lpt_free(lpt);
	else
		*out = lpt;
	return status;
}

void nb_lpt_free(struct nb_lpt *lpt)
{
	if (lpt) {
		nb_free_each((void *const *)lpt->psi, 3);
		nb_free_each((void *const *)lpt->vel, 3);
	}
	nb_free(lpt);
}

/* Where body i of a lattice is in it, and in a mesh; of a glass, in its box, and in an array. */
static size_t place_of(const struct nb_lpt *lpt, uint64_t i, double place[3])
{
	if (lpt->glass.tiles) {
		nb_lpt_place(&lpt->glass, i, place);
		return i;
	}
	const uint64_t m = (uint64_t)lpt->m, at[3] = {i / m / m, i / m % m, i % m};
	for (int c = 0; c < 3; c++)
		place[c] = (double)at[c] / (double)m;
	return row_of((int)at[0], (int)at[1], lpt->m) + at[2];
}

double nb_lpt_displacement(const struct nb_lpt *lpt)
{
	double sum = 0;
#pragma omp parallel for reduction(+ : sum)
	for (uint64_t i = 0; i < (lpt->psi[0] ? lpt->n : 0); i++) {
		double place[3];
		const size_t at = place_of(lpt, i, place);
		for (int c = 0; c < 3; c++)
			sum += lpt->psi[c][at] * lpt->psi[c][at];
	}
	return lpt->n ? sqrt(sum / (double)lpt->n) * cbrt((double)lpt->n) / lpt->box : 0;
}

void nb_lpt_fill(const struct nb_lpt *lpt, int vel, uint64_t first, size_t count, double *out)
{
	enum { SOME = 4096 };
#pragma omp parallel for schedule(static) if (count > SOME)
	for (size_t b = 0; b < count; b++) {
		double place[3];
		const size_t at = place_of(lpt, first + b, place);
		for (int c = 0; c < 3; c++) {
			const double psi = lpt->psi[c] ? lpt->psi[c][at] : 0, x = lpt->box * place[c] + psi;
			out[3 * b + (size_t)c] = !vel	       ? nb_periodic_wrap(x, lpt->box)
						 : lpt->vel[c] ? lpt->vel[c][at]
							       : lpt->speed * psi;
		}
	}
}
