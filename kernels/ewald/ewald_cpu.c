/* ewald_cpu.c - Ewald's sum on the CPU.
 *
 * Near: of each pair the softened law, less the pull of a cloud of the width 1/alpha, both as functions of r^2, so that
 * nothing is divided by a small r but Newton's part.  The cloud's are Boys functions,
 *     F_m(t) = int_0^1 s^(2m) exp(-t s^2) ds,   erf(u) / u = 2 / sqrt(pi) F_0(u^2),   dF_m/dt = -F_(m+1),
 * which are summed as Taylor series about the nearest row of a table.
 * Far: the sum of waves S_k = sum_j m_j exp(2 pi i k x_j), for one of k and -k, times its weight; rows of k_z for each
 * (k_x, k_y).  A row is summed by one thread, over the bodies in their order. */
#include "kernels/ewald/ewald.h"

#include "common/cpu.h"
#include "common/mem.h"

#include <math.h>
#include <string.h>

enum {
	BOYS_STEPS = 8, /* rows of the table for each 1 of t */
	BOYS_LAST = 36, /* t, where erfc is 2e-17 */
	BOYS_ROWS = BOYS_STEPS * BOYS_LAST + 1,
	BOYS_TERMS = 9, /* of a series */
	BOYS_ORDERS = BOYS_TERMS + 1,
	MODES_MOST = 23,
	SIDE = 2 * MODES_MOST + 1,
	BLOCK = 64, /* bodies whose phases are at hand */
	TILE = 512  /* sources whose distances are */
};

static const struct {
	double alpha;
	int modes, images;
} splits[] = {[NB_EWALD_NEAREST] = {12, 23, 0}, [NB_EWALD_IMAGES] = {7, 14, 1}};

/* exp(2 pi i k x) of each axis, k = -modes .. modes at [modes + k] */
struct phases {
	double re[3][SIDE], im[3][SIDE];
};

struct row {
	int kx, ky, first, last; /* k_z */
	size_t at;		 /* of k_z = first, in the waves */
};

struct ewald {
	const struct nb_gravity *g;
	const struct nb_gravity_points *points;
	double box, alpha;
	int modes, images;
	double boys[BOYS_ROWS][BOYS_ORDERS];
	size_t nrow, nwave;
	struct row *row;
	double *re, *im; /* waves */
	size_t n;	 /* sources with mass, by columns */
	double *x, *mass, *eps;
	size_t *index;
	double total;
};

double nb_ewald_longest_eps(double box, enum nb_softening softening)
{
	return box / 2 / (softening == NB_SPLINE ? NB_SPLINE_SUPPORT : 1);
}

/* ---- Boys functions ----------------------------------------------------------------------------- */

/* The highest by its series, whose terms are positive, the others by the recurrence downwards, which is stable. */
static void boys_fill(double table[BOYS_ROWS][BOYS_ORDERS])
{
	for (int k = 0; k < BOYS_ROWS; k++) {
		const double t = (double)k / BOYS_STEPS, e = exp(-t);
		double term = 1.0 / (2 * BOYS_ORDERS - 1), sum = term;
		for (int i = 1; term > sum * 0x1p-60; i++) {
			term *= 2 * t / (2 * BOYS_ORDERS - 1 + 2 * i);
			sum += term;
		}
		table[k][BOYS_ORDERS - 1] = e * sum;
		for (int m = BOYS_ORDERS - 1; m > 0; m--)
			table[k][m - 1] = (2 * t * table[k][m] + e) / (2 * m - 1);
	}
}

/* F_0 and F_1 of 0 <= t < BOYS_LAST */
static inline void boys(const struct ewald *w, double t, double *f0, double *f1)
{
	static const double inverse[] = {0, 1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8};
	const int k = (int)(t * BOYS_STEPS + 0.5);
	const double *f = w->boys[k], d = (double)k / BOYS_STEPS - t;
	double a = f[BOYS_TERMS - 1], b = f[BOYS_TERMS];
	for (int i = BOYS_TERMS - 1; i > 0; i--) {
		a = f[i - 1] + d * inverse[i] * a;
		b = f[i] + d * inverse[i] * b;
	}
	*f0 = a;
	*f1 = b;
}

/* ---- waves -------------------------------------------------------------------------------------- */

static void phases_of(const struct ewald *w, const double *x, struct phases *p)
{
	const int modes = w->modes;
	for (int d = 0; d < 3; d++) {
		const double turns = x[d] / w->box, part = turns - rint(turns);
		for (int k = 0; k <= modes; k++) {
			const double angle = k * part, rest = 2 * M_PI * (angle - rint(angle));
			p->re[d][modes + k] = p->re[d][modes - k] = cos(rest);
			p->im[d][modes + k] = sin(rest);
			p->im[d][modes - k] = -p->im[d][modes + k];
		}
	}
}

/* exp(2 pi i (k_x x + k_y y)) */
static inline void phase_of_row(const struct ewald *w, const struct row *row, const struct phases *p, double e[2])
{
	const int kx = w->modes + row->kx, ky = w->modes + row->ky;
	e[0] = p->re[0][kx] * p->re[1][ky] - p->im[0][kx] * p->im[1][ky];
	e[1] = p->re[0][kx] * p->im[1][ky] + p->im[0][kx] * p->re[1][ky];
}

/* Of k and -k, the one whose first number other than 0 is positive. */
static void rows_fill(struct ewald *w)
{
	const int most = w->modes;
	w->nrow = w->nwave = 0;
	for (int kx = 0; kx <= most; kx++)
		for (int ky = kx > 0 ? -most : 0; ky <= most; ky++) {
			const int left = most * most - kx * kx - ky * ky;
			const int last = left >= 0 ? (int)sqrt(left) : -1;
			const int first = kx == 0 && ky == 0 ? 1 : -last;
			if (last < 0)
				continue;
			if (w->row)
				w->row[w->nrow] = (struct row){kx, ky, first, last, w->nwave};
			w->nrow++;
			w->nwave += (size_t)(last - first + 1);
		}
}

static void add_waves(struct ewald *w, const struct row *row, const struct phases *phases, size_t first, size_t count)
{
	const int length = row->last - row->first + 1;
	double *re = w->re + row->at, *im = w->im + row->at;
	for (size_t j = 0; j < count; j++) {
		double e[2];
		phase_of_row(w, row, &phases[j], e);
		const double a = w->mass[first + j] * e[0], b = w->mass[first + j] * e[1];
		const double *c = phases[j].re[2] + w->modes + row->first, *s = phases[j].im[2] + w->modes + row->first;
#pragma omp simd
		for (int k = 0; k < length; k++) {
			re[k] += a * c[k] - b * s[k];
			im[k] += a * s[k] + b * c[k];
		}
	}
}

static void weigh(struct ewald *w, const struct row *row)
{
	for (int k = row->first; k <= row->last; k++) {
		const double k2 = row->kx * row->kx + row->ky * row->ky + k * k;
		const double weight = 2 * exp(-M_PI * M_PI * k2 / (w->alpha * w->alpha)) / (M_PI * k2);
		w->re[row->at + (size_t)(k - row->first)] *= weight;
		w->im[row->at + (size_t)(k - row->first)] *= weight;
	}
}

static void waves_fill(struct ewald *w, struct phases *phases, int threads)
{
	memset(w->re, 0, w->nwave * sizeof *w->re);
	memset(w->im, 0, w->nwave * sizeof *w->im);
#pragma omp parallel num_threads(threads) if (threads > 1)
	for (size_t first = 0; first < w->n; first += BLOCK) {
		const size_t count = w->n - first < BLOCK ? w->n - first : BLOCK;
#pragma omp for schedule(static)
		for (size_t j = 0; j < count; j++)
			phases_of(w, w->x + 3 * (first + j), &phases[j]);
#pragma omp for schedule(static)
		for (size_t r = 0; r < w->nrow; r++)
			add_waves(w, &w->row[r], phases, first, count);
	}
	for (size_t r = 0; r < w->nrow; r++)
		weigh(w, &w->row[r]);
}

/* Adds the waves at a point: acc, pot. */
static void far(const struct ewald *w, const double *x, double sum[4])
{
	struct phases p;
	phases_of(w, x, &p);
	for (size_t r = 0; r < w->nrow; r++) {
		const struct row *row = &w->row[r];
		const int length = row->last - row->first + 1;
		const double *re = w->re + row->at, *im = w->im + row->at;
		const double *c = p.re[2] + w->modes + row->first, *s = p.im[2] + w->modes + row->first;
		double e[2], a = 0, b = 0, az = 0, bz = 0;
#pragma omp simd reduction(+ : a, b, az, bz)
		for (int k = 0; k < length; k++) {
			const double u = re[k] * c[k] + im[k] * s[k], v = im[k] * c[k] - re[k] * s[k];
			a += u;
			b += v;
			az += k * u;
			bz += k * v;
		}
		az += row->first * a;
		bz += row->first * b;
		phase_of_row(w, row, &p, e);
		const double sine = b * e[0] - a * e[1];
		sum[0] += 2 * M_PI * row->kx * sine;
		sum[1] += 2 * M_PI * row->ky * sine;
		sum[2] += 2 * M_PI * (bz * e[0] - az * e[1]);
		sum[3] -= a * e[0] + b * e[1];
	}
}

/* ---- pairs -------------------------------------------------------------------------------------- */

static const double LEAST = 0x1p-200; /* of r^2: closer bodies are at one place */

/* acc = f d, pot = -p of a unit mass */
static inline void soften(enum nb_softening softening, double r2, double eps, double *f, double *p)
{
	const double h = NB_SPLINE_SUPPORT * eps;
	if (softening == NB_SPLINE && r2 < h * h) {
		const double r = sqrt(r2), u = r / h;
		const int inner = u < 0.5;
		const double unit = inner ? h : r;
		*f = (inner ? nb_spline_inner_acc_f64(u) : nb_spline_outer_acc_f64(1 - u)) / (unit * unit * unit);
		*p = (inner ? nb_spline_inner_pot_f64(u) : nb_spline_outer_pot_f64(1 - u)) / unit;
		return;
	}
	const double s2 = softening == NB_SPLINE ? r2 : r2 + eps * eps;
	const double inverse = s2 > LEAST ? 1 / sqrt(s2) : 0;
	*f = inverse * inverse * inverse;
	*p = inverse;
}

/* Adds a mass at distance d, in units of the box; own: it is that of the body itself. */
static inline void add_pair(const struct ewald *w, const double d[3], double mass, double eps, int own, double sum[4])
{
	const double r2 = d[2] * d[2] + (d[1] * d[1] + d[0] * d[0]), t = w->alpha * w->alpha * r2;
	double f = 0, p = 0, f0, f1;
	if (!(t < BOYS_LAST))
		return;
	if (!own)
		soften(w->g->softening, r2, r2 < 0.25 ? eps : 0, &f, &p);
	boys(w, t, &f0, &f1);
	f = mass * (f - w->alpha * w->alpha * w->alpha * (2 * M_2_SQRTPI) * f1);
	for (int c = 0; c < 3; c++)
		sum[c] += f * d[c];
	sum[3] -= mass * (p - w->alpha * M_2_SQRTPI * f0);
}

/* The images around the nearest one, which Newton's law pulls. */
static void add_images(const struct ewald *w, const double d[3], double mass, double sum[4])
{
	for (int a = -1; a <= 1; a++)
		for (int b = -1; b <= 1; b++)
			for (int c = -1; c <= 1; c++)
				if (a || b || c)
					add_pair(w, (double[3]){d[0] + a, d[1] + b, d[2] + c}, mass, 0, 0, sum);
}

/* eps: of the target; self: its row, SIZE_MAX: none */
static void near(const struct ewald *w, const double *x, double eps, size_t self, double total[4])
{
	const double inverse = 1 / w->box, reach = BOYS_LAST / (w->alpha * w->alpha);
	double d[TILE][3], r2[TILE];
	for (size_t first = 0; first < w->n; first += TILE) {
		const size_t count = w->n - first < TILE ? w->n - first : TILE;
		double sum[4] = {0};
#pragma omp simd
		for (size_t j = 0; j < count; j++) {
			double s2 = 0;
			for (int c = 0; c < 3; c++) {
				const double apart = w->x[3 * (first + j) + (size_t)c] - x[c];
				d[j][c] = (apart - w->box * rint(apart * inverse)) * inverse;
				s2 += d[j][c] * d[j][c];
			}
			r2[j] = s2;
		}
		for (size_t j = 0; j < count; j++) {
			const size_t i = first + j;
			if (r2[j] < reach)
				add_pair(w, d[j], w->mass[i], fmax(w->eps[i], eps), w->index[i] == self, sum);
			if (w->images)
				add_images(w, d[j], w->mass[i], sum);
		}
		for (int c = 0; c < 4; c++)
			total[c] += sum[c];
	}
}

/* ---- all together ------------------------------------------------------------------------------- */

static int check(const struct nb_gravity *g, double box, const struct nb_gravity_points *points)
{
	double largest = 0;
	if (!(box > 0 && isfinite(box)) || !isfinite(g->G) || g->jerk ||
		(points && (points->jerk || points->strength || (points->spread && !points->target))))
		return NB_EINVAL;
	const int status = nb_gravity_largest_eps(g, &largest);
	if (status)
		return status;
	for (size_t k = 0; points && !points->target && points->eps && k < points->n; k++)
		largest = points->eps[k] > largest ? points->eps[k] : largest;
	if (!(largest <= nb_ewald_longest_eps(box, g->softening)))
		return NB_EINVAL;
	for (size_t i = 0; i < 3 * g->n; i++)
		if (!isfinite(g->pos[i]) || !isfinite(g->mass[i / 3]))
			return NB_ENONFINITE;
	for (size_t k = 0; points && points->target && k < points->n; k++)
		if (points->target[k] >= g->n)
			return NB_EINVAL;
	for (size_t k = 0; points && !points->target && k < 3 * points->n; k++)
		if (!isfinite(points->pos[k]))
			return NB_ENONFINITE;
	return NB_OK;
}

static double softening_of(const struct ewald *w, size_t i)
{
	return (w->g->body_eps ? w->g->body_eps[i] : w->g->eps) / w->box;
}

static void sources_fill(struct ewald *w)
{
	const struct nb_gravity *g = w->g;
	w->n = 0;
	w->total = 0;
	for (size_t i = 0; i < g->n; i++) {
		if (g->mass[i] == 0)
			continue;
		memcpy(w->x + 3 * w->n, g->pos + 3 * i, 3 * sizeof *w->x);
		w->mass[w->n] = g->mass[i];
		w->eps[w->n] = softening_of(w, i);
		w->index[w->n++] = i;
		w->total += g->mass[i];
	}
}

/* The field at point k, scaled by the units, to where it is wanted. */
static void act(const struct ewald *w, size_t k)
{
	const struct nb_gravity *g = w->g;
	const struct nb_gravity_points *points = w->points;
	const size_t self = !points ? k : points->target ? points->target[k] : SIZE_MAX;
	const size_t to = points && points->spread ? self : k;
	const double *x = self != SIZE_MAX ? g->pos + 3 * self : points->pos + 3 * k;
	const double eps = self != SIZE_MAX ? softening_of(w, self) : points->eps ? points->eps[k] / w->box : 0;
	double *acc = points ? points->acc : g->acc, *pot = points ? points->pot : g->pot;
	double sum[4] = {0, 0, 0, M_PI * w->total / (w->alpha * w->alpha)};
	near(w, x, eps, self, sum);
	far(w, x, sum);
	for (size_t c = 0; c < 3 && acc; c++)
		acc[3 * to + c] = g->G / w->box * sum[c] / w->box;
	if (pot)
		pot[to] = g->G / w->box * sum[3];
}

int nb_ewald_cpu(const struct nb_gravity *g, double box, enum nb_ewald_split split,
	const struct nb_gravity_points *points, struct nb_gravity_count *count)
{
	const size_t npoint = points ? points->n : g->n;
	const int threads = nb_cpu_threads(), status = check(g, box, points);
	if (status)
		return status;
	if (points && points->spread && points->acc)
		memset(points->acc, 0, 3 * g->n * sizeof *points->acc);
	if (points && points->spread && points->pot)
		memset(points->pot, 0, g->n * sizeof *points->pot);
	if (npoint == 0)
		return NB_OK;
	struct ewald *w = nb_alloc_zero(1, sizeof *w);
	struct phases *phases = nb_alloc(BLOCK, sizeof *phases);
	int lacks = !w || !phases;
	if (!lacks) {
		w->g = g;
		w->points = points;
		w->box = box;
		w->alpha = splits[split].alpha;
		w->modes = splits[split].modes;
		w->images = splits[split].images;
		rows_fill(w);
		w->row = nb_alloc(w->nrow, sizeof *w->row);
		w->re = nb_alloc(w->nwave, sizeof *w->re);
		w->im = nb_alloc(w->nwave, sizeof *w->im);
		w->x = nb_alloc(g->n, 3 * sizeof *w->x);
		w->mass = nb_alloc(g->n, sizeof *w->mass);
		w->eps = nb_alloc(g->n, sizeof *w->eps);
		w->index = nb_alloc(g->n, sizeof *w->index);
		lacks = !w->row || !w->re || !w->im || !w->x || !w->mass || !w->eps || !w->index;
	}
	if (!lacks) {
		rows_fill(w);
		boys_fill(w->boys);
		sources_fill(w);
		waves_fill(w, phases, threads);
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads) if (threads > 1)
		for (size_t k = 0; k < npoint; k++)
			act(w, k);
		if (count)
			count->p2p += npoint * w->n;
	}
	if (w)
		nb_free_all(w->row, w->re, w->im, w->x, w->mass, w->eps, w->index);
	nb_free_all(w, phases);
	return lacks ? NB_ENOMEM : NB_OK;
}
