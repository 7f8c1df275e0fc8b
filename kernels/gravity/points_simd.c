/* points_simd.c - a part of the sources acts on a block of points, for one instruction set.
 *
 * Sources with mass are gathered into tiles, column by column, and run through the lanes; points are taken GROUP at a
 * time, each broadcast to all lanes.  Sums of a tile stay in registers; they are added over the lanes, then to those of
 * the tiles before, so that rounding errors grow with the square root of the number of tiles. */
#include "common/cpu.h"
#include "kernels/gravity/cpu_internal.h"
#include "kernels/simd/simd.h"

#include <stddef.h>

#if defined(NB_ISA_avx512)
enum { GROUP = 4 };
#else
enum { GROUP = 2 };
#endif
#define EACH_TARGET _Pragma("GCC unroll 4") for (int k = 0; k < GROUP; k++)

/* room for the last vector; columns start in different sets of the cache */
enum { CAPACITY = NB_POINTS_TILE + 24 };

struct tile {
	double x[3][CAPACITY], v[3][CAPACITY], m[CAPACITY], soft[CAPACITY];
	int64_t row[CAPACITY];
	size_t n;
} __attribute__((aligned(64)));

struct block {
	double x[3][NB_POINTS_TARGETS], v[3][NB_POINTS_TARGETS], soft[NB_POINTS_TARGETS];
	int64_t row[NB_POINTS_TARGETS]; /* of the sources, -1: none */
	double sum[NB_POINTS_TARGETS][NB_POINTS_SUMS];
	size_t n;
};

static void block_fill(struct block *b, const struct nb_points_job *job, size_t first)
{
	const struct nb_gravity *g = job->plan.g;
	const struct nb_gravity_points *points = job->points;
	const double length = job->plan.scale.length;
	const struct nb_gravity own = {.body_eps = points->eps, .softening = g->softening};
	*b = (struct block){.n = points->n - first < NB_POINTS_TARGETS ? points->n - first : NB_POINTS_TARGETS};
	for (size_t k = 0; k < b->n; k++) {
		const size_t at = points->target ? points->target[first + k] : first + k;
		const double *x = (points->target ? g->pos : points->pos) + 3 * at;
		for (int d = 0; d < 3; d++)
			b->x[d][k] = x[d] * length;
		for (int d = 0; d < 3 && points->jerk; d++)
			b->v[d][k] = g->vel[3 * at + (size_t)d] * job->plan.scale.velocity;
		b->row[k] = points->target ? (int64_t)at : -1;
		if (job->plan.law != NB_LAW_COMMON)
			nb_gravity_soft(points->target ? g : &own, at, 1, length, NB_PAIR_FLOOR_F64, &b->soft[k]);
	}
}

/* Sources from row *at on, up to row end, that have a mass. */
static void tile_fill(struct tile *t, const struct nb_points_job *job, size_t *at, size_t end)
{
	const struct nb_gravity *g = job->plan.g;
	const struct nb_pair_scale *s = &job->plan.scale;
	size_t n = 0, i = *at;
	for (; i < end && n < NB_POINTS_TILE; i++) {
		for (int d = 0; d < 3; d++)
			t->x[d][n] = g->pos[3 * i + (size_t)d] * s->length;
		for (int d = 0; d < 3 && job->points->jerk; d++)
			t->v[d][n] = g->vel[3 * i + (size_t)d] * s->velocity;
		t->m[n] = g->mass[i] * s->mass;
		t->row[n] = (int64_t)i;
		if (job->plan.law != NB_LAW_COMMON && g->mass[i] != 0)
			nb_gravity_soft(g, i, 1, s->length, NB_PAIR_FLOOR_F64, &t->soft[n]);
		n += g->mass[i] != 0;
	}
	*at = i;
	t->n = n;
	for (; n % NB_WD; n++) {
		for (int d = 0; d < 3; d++)
			t->x[d][n] = t->v[d][n] = 0;
		t->m[n] = 0;
		t->row[n] = -2;
		t->soft[n] = 1;
	}
}

#define LOAD(p) (*(const nb_vd *)(p))

/* more: pot and strength, besides acc.  Of the common law only pairs with r2 > none count there. */
static NB_HD void sweep(enum nb_pair_law law, int more, const struct tile *t, struct block *b, double eps2, double none)
{
	const size_t end = (t->n + NB_WD - 1) / NB_WD * NB_WD;
	for (size_t i = 0; i < b->n; i += GROUP) {
		nb_vd sum[GROUP][NB_POINTS_SUMS] = {};
		for (size_t j = 0; j < end; j += NB_WD) {
			const nb_vd m = LOAD(&t->m[j]);
			EACH_TARGET
			{
				const nb_vd x = LOAD(&t->x[0][j]) - b->x[0][i + (size_t)k];
				const nb_vd y = LOAD(&t->x[1][j]) - b->x[1][i + (size_t)k];
				const nb_vd z = LOAD(&t->x[2][j]) - b->x[2][i + (size_t)k];
				nb_vd w, p = {};
				if (law == NB_LAW_COMMON) {
					const nb_vd r2 = nb_pair_r2_vd(x, y, z, (nb_vd){} + eps2);
					if (more) {
						p = nb_where_vd(r2 > none, nb_rsqrt_vd(r2));
						w = p * p * p;
					} else {
						w = nb_cube_vd(r2, nb_guess_vd(r2));
					}
				} else {
					const int spline = law == NB_LAW_SPLINE;
					const nb_vd si = (nb_vd){} + b->soft[i + (size_t)k], sj = LOAD(&t->soft[j]);
					const nb_vd soft = nb_choose_vd(spline ? sj < si : sj > si, sj, si);
					const nb_vd least = spline ? (nb_vd){} + NB_PAIR_FLOOR_F64 : soft;
					const struct nb_pull_vd pull = nb_soften_vd(
						spline, 0, nb_pair_r2_vd(x, y, z, least), soft);
					w = pull.w;
					p = pull.p;
				}
				nb_pair_add_vd(m * w, x, y, z, &sum[k][0], &sum[k][1], &sum[k][2]);
				if (more) {
					const nb_vdi row = *(const nb_vdi *)&t->row[j];
					p = nb_where_vd(row != b->row[i + (size_t)k], p);
					sum[k][3] -= m * p;
					sum[k][4] += m * (p * p);
				}
			}
		}
		EACH_TARGET for (int c = 0; c < (more ? NB_POINTS_SUMS : 3); c++)
			b->sum[i + (size_t)k][c] += nb_sum_vd(sum[k][c]);
	}
}

/* How a pair pulls: w and f as of nb_soften_vd, and p, of which only pairs with r2 > none count by the common law. */
static NB_HD struct nb_pull_vd pull_of(
	enum nb_pair_law law, const nb_vd d[3], nb_vd own, nb_vd other, double eps2, double none)
{
	const int spline = law == NB_LAW_SPLINE;
	if (law == NB_LAW_COMMON) {
		const nb_vd r2 = nb_pair_r2_vd(d[0], d[1], d[2], (nb_vd){} + eps2);
		const nb_vd p = nb_where_vd(r2 > none, nb_rsqrt_vd(r2)), p2 = p * p;
		return (struct nb_pull_vd){p2 * p, p, 3 * p2};
	}
	const nb_vd soft = nb_choose_vd(spline ? other < own : other > own, other, own);
	const nb_vd least = spline ? (nb_vd){} + NB_PAIR_FLOOR_F64 : soft;
	return nb_soften_vd(spline, 1, nb_pair_r2_vd(d[0], d[1], d[2], least), soft);
}

/* With jerks, and all else. */
static NB_HD void sweep_jerk(enum nb_pair_law law, const struct tile *t, struct block *b, double eps2, double none)
{
	const size_t end = (t->n + NB_WD - 1) / NB_WD * NB_WD;
	for (size_t i = 0; i < b->n; i++) {
		nb_vd sum[NB_POINTS_SUMS] = {};
		for (size_t j = 0; j < end; j += NB_WD) {
			nb_vd d[3], v[3], m = LOAD(&t->m[j]);
			for (int c = 0; c < 3; c++) {
				d[c] = LOAD(&t->x[c][j]) - b->x[c][i];
				v[c] = LOAD(&t->v[c][j]) - b->v[c][i];
			}
			const nb_vdi row = *(const nb_vdi *)&t->row[j];
			const struct nb_pull_vd pull = pull_of(
				law, d, (nb_vd){} + b->soft[i], LOAD(&t->soft[j]), eps2, none);
			const nb_vd p = nb_where_vd(row != b->row[i], pull.p), w = m * pull.w;
			nb_pair_add_vd(w, d[0], d[1], d[2], &sum[0], &sum[1], &sum[2]);
			sum[3] -= m * p;
			sum[4] += m * (p * p);
			nb_turn_vd(pull.f, d[0], d[1], d[2], &v[0], &v[1], &v[2]);
			nb_pair_add_vd(w, v[0], v[1], v[2], &sum[5], &sum[6], &sum[7]);
		}
		for (int c = 0; c < NB_POINTS_SUMS; c++)
			b->sum[i][c] += nb_sum_vd(sum[c]);
	}
}

static NB_HD void sweep_law(int more, const struct nb_points_job *job, const struct tile *t, struct block *b)
{
	const double eps2 = nb_pair_eps2_f64(job->plan.eps), none = job->plan.eps > 0 ? -1 : eps2;
	switch (job->plan.law) {
	case NB_LAW_COMMON: sweep(NB_LAW_COMMON, more, t, b, eps2, none); break;
	case NB_LAW_PLUMMER: sweep(NB_LAW_PLUMMER, more, t, b, 0, 0); break;
	case NB_LAW_SPLINE: sweep(NB_LAW_SPLINE, more, t, b, 0, 0); break;
	}
}

static void sweep_law_jerk(const struct nb_points_job *job, const struct tile *t, struct block *b)
{
	const double eps2 = nb_pair_eps2_f64(job->plan.eps), none = job->plan.eps > 0 ? -1 : eps2;
	switch (job->plan.law) {
	case NB_LAW_COMMON: sweep_jerk(NB_LAW_COMMON, t, b, eps2, none); break;
	case NB_LAW_PLUMMER: sweep_jerk(NB_LAW_PLUMMER, t, b, 0, 0); break;
	case NB_LAW_SPLINE: sweep_jerk(NB_LAW_SPLINE, t, b, 0, 0); break;
	}
}

void NB_ISA(nb_points_unit)(const struct nb_points_job *job, size_t block, size_t part)
{
	const size_t first = block * NB_POINTS_TARGETS, n = job->plan.g->n;
	size_t at = part * job->part < n ? part * job->part : n;
	const size_t end = n - at < job->part ? n : at + job->part;
	const int more = job->points->pot || job->points->strength;
	struct tile tile;
	struct block b;
	block_fill(&b, job, first);
	while (at < end) {
		tile_fill(&tile, job, &at, end);
		if (job->points->jerk)
			sweep_law_jerk(job, &tile, &b);
		else if (more)
			sweep_law(1, job, &tile, &b);
		else
			sweep_law(0, job, &tile, &b);
	}
	for (size_t k = 0; k < b.n; k++)
		for (int c = 0; c < NB_POINTS_SUMS; c++)
			job->sum[(part * job->points->n + first + k) * NB_POINTS_SUMS + (size_t)c] = b.sum[k][c];
}
