/* direct_cpu.c - the direct sum over all pairs, each pair once, on all processors.
 *
 * The bodies are cut into tiles by n alone, never by the number of threads.  A tile first meets itself,
 * then the others in the order of a round-robin tournament (circle method): in each round every tile is in
 * one pair.  Pairs are computed by whichever thread is free, but added to a tile in the order of the
 * rounds, so that sums round in the same way however many threads there are.  Forces live in the output;
 * beyond it a thread needs two tiles of memory. */
#include "common/cpu.h"
#include "common/lap.h"
#include "common/mem.h"
#include "common/timer.h"
#include "kernels/gravity/cpu_internal.h"
#include "kernels/ranks/ranks.h"
#include "kernels/small/small.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

/* ---- the plan, for direct sum and near field ------------------------------------------------------- */

enum { PARALLEL = 10000 /* bodies: fewer are not worth a parallel region, not even one of a single thread */ };

/* What the plan wants to know of the bodies.  A value that is not finite gives NaN in bad, and NaN stays in a sum of
 * zeros. */
struct survey {
	double low[3], high[3], mass, speed, bad;
};

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

static void survey_part(const struct nb_gravity *g, size_t first, size_t end, struct survey *s)
{
	const double *x = g->pos, *v = g->jerk ? g->vel : NULL, *m = g->mass;
	double x0 = s->low[0], y0 = s->low[1], z0 = s->low[2], x1 = s->high[0], y1 = s->high[1], z1 = s->high[2];
	double mass = s->mass, speed = s->speed, bad = s->bad;
#pragma omp simd reduction(min : x0, y0, z0) reduction(max : x1, y1, z1, mass) reduction(+ : bad)
	for (size_t i = first; i < end; i++) {
		const double xi = x[3 * i], yi = x[3 * i + 1], zi = x[3 * i + 2], mi = m[i];
		x0 = xi < x0 ? xi : x0;
		y0 = yi < y0 ? yi : y0;
		z0 = zi < z0 ? zi : z0;
		x1 = xi > x1 ? xi : x1;
		y1 = yi > y1 ? yi : y1;
		z1 = zi > z1 ? zi : z1;
		mass = fabs(mi) > mass ? fabs(mi) : mass;
		bad += (xi - xi) + (yi - yi) + (zi - zi) + (mi - mi);
	}
	if (v) {
#pragma omp simd reduction(max : speed) reduction(+ : bad)
		for (size_t i = 3 * first; i < 3 * end; i++) {
			speed = fabs(v[i]) > speed ? fabs(v[i]) : speed;
			bad += v[i] - v[i];
		}
	}
	*s = (struct survey){{x0, y0, z0}, {x1, y1, z1}, mass, speed, bad};
}

static struct survey survey_all(const struct nb_gravity *g)
{
	enum { BLOCK = 4096 };
	const struct survey nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0, 0, 0};
	struct survey all = nothing;
	if (g->n <= PARALLEL) {
		survey_part(g, 0, g->n, &all);
		return all;
	}
#pragma omp parallel
	{
		struct survey mine = nothing;
#pragma omp for schedule(static) nowait
		for (size_t i = 0; i < g->n; i += BLOCK)
			survey_part(g, i, g->n - i < BLOCK ? g->n : i + BLOCK, &mine);
#pragma omp critical
		{
			for (int d = 0; d < 3; d++) {
				all.low[d] = lesser(mine.low[d], all.low[d]);
				all.high[d] = greater(mine.high[d], all.high[d]);
			}
			all.mass = greater(mine.mass, all.mass);
			all.speed = greater(mine.speed, all.speed);
			all.bad += mine.bad;
		}
	}
	return all;
}

int nb_gravity_largest_eps(const struct nb_gravity *g, double *largest)
{
	double most = g->eps, least = g->eps, bad = 0;
	if (g->body_eps) {
		most = least = 0;
#pragma omp parallel for simd schedule(static) reduction(max : most) reduction(min : least) reduction(+ : bad) if ( \
		g->n > PARALLEL)
		for (size_t i = 0; i < g->n; i++) {
			const double eps = g->body_eps[i];
			most = eps > most ? eps : most;
			least = eps < least ? eps : least;
			bad += eps - eps;
		}
	}
	*largest = most;
	return bad != 0 ? NB_ENONFINITE : least < 0 ? NB_EINVAL : NB_OK;
}

void nb_gravity_soft(const struct nb_gravity *g, size_t first, size_t n, double length, double floor, double *soft)
{
	const double most = 2 / sqrt(floor);
	for (size_t k = 0; k < n; k++) {
		const double eps = (g->body_eps ? g->body_eps[first + k] : g->eps) * length;
		if (g->softening == NB_SPLINE)
			soft[k] = fmin(1 / (NB_SPLINE_SUPPORT * eps), most);
		else
			soft[k] = fmax(eps * eps, floor);
	}
}

int nb_gravity_plan_points(
	const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_gravity_plan *plan)
{
	double eps = 0, point_eps = 0;
	*plan = (struct nb_gravity_plan){.g = g, .law = nb_pair_law_of(g)};
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G) || (g->jerk && !g->vel))
		return NB_EINVAL;
	if (g->n == 0)
		return NB_OK;
	int status = nb_gravity_largest_eps(g, &eps);
	if (!status && points->eps) {
		const struct nb_gravity own = {.n = points->n, .body_eps = points->eps};
		status = nb_gravity_largest_eps(&own, &point_eps);
	}
	if (status)
		return status;
	struct survey s = survey_all(g);
	for (size_t k = 0; k < 3 * points->n && points->pos; k++) {
		const double x = points->pos[k];
		s.low[k % 3] = lesser(x, s.low[k % 3]);
		s.high[k % 3] = greater(x, s.high[k % 3]);
		s.bad += x - x;
	}
	const double x0 = s.low[0], y0 = s.low[1], z0 = s.low[2], x1 = s.high[0], y1 = s.high[1], z1 = s.high[2];
	if (s.bad != 0) /* NaN */
		return NB_ENONFINITE;
	/* the difference of two finite numbers may be infinite; and where all bodies coincide, no scale may take
	 * their coordinates out of range */
	const double side = fmin(fmax(fmax(x1 - x0, y1 - y0), z1 - z0), 0x1p1023);
	const double far = fmax(fmax(fmax(-x0, x1), fmax(-y0, y1)), fmax(-z0, z1));
	const double extent = fmax(side, 0x1p-60 * far);
	const double typical = fmax(nb_pair_typical(g->n, g->pos, extent), g->body_eps ? 0 : g->eps);
	int beyond;
	const double length = nb_pair_length(
		fmax(extent, fmax(eps, point_eps)), typical, g->precision == NB_F64 || points->n > 0, &beyond);
	if (beyond && !points->pos) /* a far point feels all of them in one place */
		return NB_EFAR;
	plan->remote = typical < extent;
	plan->scale = nb_pair_scale_of(length, s.mass, s.speed, g->G);
	plan->eps = g->eps * plan->scale.length;
	plan->middle[0] = (0.5 * x0 + 0.5 * x1) * plan->scale.length;
	plan->middle[1] = (0.5 * y0 + 0.5 * y1) * plan->scale.length;
	plan->middle[2] = (0.5 * z0 + 0.5 * z1) * plan->scale.length;
	return NB_OK;
}

int nb_gravity_make_plan(const struct nb_gravity *g, struct nb_gravity_plan *plan)
{
	const struct nb_gravity_points none = {.n = 0};
	return nb_gravity_plan_points(g, &none, plan);
}

void nb_gravity_clear(const struct nb_gravity *g, size_t first, size_t n)
{
	memset(g->acc + 3 * first, 0, 3 * n * sizeof *g->acc);
	if (g->pot)
		memset(g->pot + first, 0, n * sizeof *g->pot);
	if (g->jerk)
		memset(g->jerk + 3 * first, 0, 3 * n * sizeof *g->jerk);
}

static void unscale_part(const struct nb_gravity_plan *plan, size_t first, size_t end)
{
	const struct nb_gravity *g = plan->g;
	const struct nb_pair_scale *s = &plan->scale;
	/* one factor after the other, as their product may leave the range that the result is in */
	for (size_t i = first; i < end; i++) {
		for (int d = 0; d < 3; d++)
			g->acc[3 * i + d] = g->acc[3 * i + d] * s->pot_out * s->length;
		if (g->pot)
			g->pot[i] *= s->pot_out;
		if (g->jerk)
			for (int d = 0; d < 3; d++)
				g->jerk[3 * i + d] = g->jerk[3 * i + d] * s->pot_out * s->length / s->velocity *
						     s->length;
	}
}

static void unscale(const struct nb_gravity_plan *plan, size_t first, size_t end)
{
	enum { BLOCK = 1024 };
	if (end - first <= PARALLEL) {
		unscale_part(plan, first, end);
		return;
	}
#pragma omp parallel for schedule(static)
	for (size_t i = first; i < end; i += BLOCK)
		unscale_part(plan, i, end - i < BLOCK ? end : i + BLOCK);
}

void nb_gravity_unscale(const struct nb_gravity_plan *plan)
{
	unscale(plan, 0, plan->g->n);
}

/* ---- the tournament -------------------------------------------------------------------------------- */

static nb_direct_pair *const pair_unit[] = {NB_ISA_TABLE(nb_direct_pair)};
static nb_direct_add *const add_unit[] = {NB_ISA_TABLE(nb_direct_add)};

struct unit {
	nb_direct_pair *pair;
	nb_direct_add *add;
};

/* Pair k of round 0, 1, ... among players (even); round 0 stands for each tile by itself. */
static void pair_of(size_t round, size_t k, size_t players, size_t *a, size_t *b)
{
	const size_t wheel = players - 1, r = round - 1;
	if (k == 0) {
		*a = r;
		*b = wheel;
	} else {
		*a = (r + k) % wheel;
		*b = (r + wheel - k) % wheel;
	}
}

/* Waits until tile has met its partners of all rounds before this one.  Units are handed out in order of
 * the rounds, so the ones waited for are at work already.  A thread that waits long sleeps: where processors are few,
 * the one it waits for needs this one, and a scheduler may take a million yields for a reason never to run it again. */
static void wait_turn(atomic_size_t *met, size_t round)
{
	enum { SPINS = 4096 };
	for (int spins = 0; atomic_load_explicit(met, memory_order_acquire) != round;)
		if (spins < SPINS)
			spins++;
		else
			nb_pause(20e-6);
}

/* The tiles whose sums are wanted: all, or those of a rank. */
struct range {
	size_t first, end;
};

static int is_in(const struct range *range, size_t tile)
{
	return tile >= range->first && tile < range->end;
}

/* Units until none is left. */
static void play(const struct nb_gravity_plan *plan, const struct range *range, const struct unit *unit,
	atomic_size_t *met, atomic_size_t *next, void *buffer)
{
	const size_t tiles = plan->ntile, players = tiles + tiles % 2;
	const size_t units = tiles + (players - 1) * (players / 2);
	size_t u;
	while ((u = atomic_fetch_add_explicit(next, 1, memory_order_relaxed)) < units) {
		size_t round = 0, a = u, b = u;
		if (u >= tiles) {
			round = 1 + (u - tiles) / (players / 2);
			pair_of(round, (u - tiles) % (players / 2), players, &a, &b);
		}
		/* else one has nobody to meet in this round, or others want it */
		const int plays = a < tiles && b < tiles && (is_in(range, a) || is_in(range, b));
		if (plays)
			unit->pair(plan, a, b, buffer);
		if (a < tiles)
			wait_turn(&met[a], round);
		if (b < tiles && b != a)
			wait_turn(&met[b], round);
		if (plays)
			unit->add(plan, a, b, buffer);
		/* once, if a tile meets itself: then others may go on with it, and count */
		if (a < tiles)
			atomic_fetch_add_explicit(&met[a], 1, memory_order_release);
		if (b < tiles && b != a)
			atomic_fetch_add_explicit(&met[b], 1, memory_order_release);
	}
}

static void tournament(const struct nb_gravity_plan *plan, const struct range *range, const struct unit *unit,
	atomic_size_t *met, char *buffer, int threads)
{
	atomic_size_t next = 0;
	if (threads == 1) {
		play(plan, range, unit, met, &next, buffer);
		return;
	}
#pragma omp parallel num_threads(threads)
	play(plan, range, unit, met, &next, buffer + (size_t)omp_get_thread_num() * NB_TILE_BYTES);
}

/* The middle of each tile, so that a pair of tiles of nearby bodies has a nearby origin for its f32
 * coordinates: the medians of a few bodies, for one body far out would draw a mean away from all others. */
static void tile_centres(const struct nb_gravity_plan *plan, double *centre)
{
	enum { MOST = 31 };
	const struct nb_gravity *g = plan->g;
	for (size_t t = 0; t < plan->ntile; t++) {
		const size_t first = t * plan->tile;
		const size_t n = first + plan->tile < g->n ? plan->tile : g->n - first;
		const size_t few = n < MOST ? n : MOST;
		for (int d = 0; d < 3; d++) {
			double x[MOST];
			for (size_t k = 0; k < few; k++) {
				const double new = g->pos[3 * (first + k * n / few) + d];
				size_t at = k;
				for (; at > 0 && x[at - 1] > new; at--)
					x[at] = x[at - 1];
				x[at] = new;
			}
			centre[3 * t + d] = x[few / 2] * plan->scale.length;
		}
	}
}

/* Tiles as large as the cache likes, but enough of them to keep many processors busy; all about equal, a multiple of
 * the longest vector. */
static void divide(struct nb_gravity_plan *plan)
{
	const size_t n = plan->g->n, most = plan->g->precision == NB_F32 ? NB_TILE_F32 : NB_TILE_F64;
	plan->tile = (n / 32 + 15) / 16 * 16;
	plan->tile = plan->tile < 192 ? 192 : plan->tile > most ? most : plan->tile;
	plan->ntile = (n + plan->tile - 1) / plan->tile;
	plan->tile = ((n + plan->ntile - 1) / plan->ntile + 15) / 16 * 16;
	plan->ntile = (n + plan->tile - 1) / plan->tile;
}

/* The first body of a tile, n behind the last. */
static size_t first_of(const struct nb_gravity_plan *plan, size_t tile)
{
	return tile < plan->ntile ? tile * plan->tile : plan->g->n;
}

/* The rows of these tiles; others may be written, too. */
static int sum_tiles(struct nb_gravity_plan *plan, struct range range)
{
	const struct unit unit = {pair_unit[nb_cpu_isa()], add_unit[nb_cpu_isa()]};
	const int threads = plan->ntile > 1 ? nb_cpu_threads() : 1;
	char *buffer = nb_alloc((size_t)threads, NB_TILE_BYTES);
	double *centre = nb_alloc(plan->ntile, 3 * sizeof *centre);
	atomic_size_t *met = nb_alloc_zero(plan->ntile, sizeof *met);
	const int status = buffer && centre && met ? NB_OK : NB_ENOMEM;
	if (!status) {
		tile_centres(plan, centre);
		plan->centre = centre;
		tournament(plan, &range, &unit, met, buffer, threads);
		unscale(plan, first_of(plan, range.first), first_of(plan, range.end));
	}
	nb_free_all(met, centre, buffer);
	return status;
}

/* ---- ranks ----------------------------------------------------------------------------------------- */

/* Each rank (kernels/ranks/ranks.h) gets all bodies, and sums up the forces on those of a run of tiles: pairs of tiles
 * of two ranks are computed by both, so that each tile adds up what it gets in the same order as ever. */

/* What all ranks know; addresses in it are those of rank 0. */
struct job {
	struct nb_gravity_plan plan;
	struct nb_gravity g;
};

static struct range range_of(const struct nb_gravity_plan *plan, int rank)
{
	const size_t tiles = plan->ntile, size = (size_t)nb_ranks_size(), k = (size_t)rank;
	return (struct range){tiles * k / size, tiles * (k + 1) / size};
}

/* bound  room for one number more than there are ranks */
static void give_rows_back(const struct nb_gravity_plan *plan, size_t *bound)
{
	const struct nb_gravity *g = plan->g;
	const int size = nb_ranks_size();
	for (int k = 0; k <= size; k++)
		bound[k] = first_of(plan, range_of(plan, k).first) * sizeof(double);
	if (g->pot)
		nb_ranks_gather(g->pot, bound);
	for (int k = 0; k <= size; k++)
		bound[k] *= 3;
	nb_ranks_gather(g->acc, bound);
	if (g->jerk)
		nb_ranks_gather(g->jerk, bound);
	nb_ranks_wait_all();
}

/* *done is 0 if nothing was done, as this process is alone. */
static int sum_by_ranks(struct nb_gravity_plan *plan, int *done)
{
	size_t *bound = NULL;
	int status = NB_OK;
	*done = 0;
	if (nb_ranks_size() < 2 || plan->g->n < NB_GRAVITY_SHARED)
		return NB_OK;
	bound = nb_alloc((size_t)nb_ranks_size() + 1, sizeof *bound);
	if (!bound)
		return NB_ENOMEM;
	if (nb_ranks_call(NB_RANKS_DIRECT)) {
		struct job job;
		memset(&job, 0, sizeof job);
		job.plan = *plan;
		job.g = *plan->g;
		nb_ranks_broadcast(&job, sizeof job);
		nb_gravity_replicate(plan->g);
		nb_ranks_wait_all();
		status = sum_tiles(plan, range_of(plan, 0));
		if (status) /* the others would wait for ever */
			nb_ranks_abort(1);
		give_rows_back(plan, bound);
		nb_ranks_done();
		*done = 1;
	}
	nb_free(bound);
	return status;
}

int nb_gravity_direct_serve(void)
{
	struct job job;
	nb_ranks_broadcast(&job, sizeof job);
	nb_ranks_wait_all();
	struct nb_gravity g = job.g;
	size_t *bound = nb_alloc((size_t)nb_ranks_size() + 1, sizeof *bound);
	int status = nb_gravity_alloc_replica(&g);
	status = bound ? status : NB_ENOMEM;
	if (!status) {
		job.plan.g = &g;
		nb_gravity_replicate(&g);
		nb_ranks_wait_all();
		status = sum_tiles(&job.plan, range_of(&job.plan, nb_ranks_rank()));
	}
	if (!status)
		give_rows_back(&job.plan, bound);
	nb_gravity_free_replica(&g);
	nb_free(bound);
	return status;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* A few bodies, as those who make steps of them without this function do it.  0: not done, as the law is another one or
 * numbers are extreme. */
static int sum_few(const struct nb_gravity *g)
{
	struct nb_small few;
	if (g->precision != NB_F64 || g->softening != NB_PLUMMER || g->body_eps || g->jerk ||
		nb_small_begin(&few, g->n, g->mass, g->G, g->eps))
		return 0;
	nb_small_load(&few, g->pos, NULL);
	if (nb_small_force(&few))
		return 0;
	for (size_t i = 0; i < g->n; i++)
		for (size_t d = 0; d < 3; d++)
			g->acc[3 * i + d] = few.acc[d][i];
	if (g->pot)
		nb_small_potential(&few, g->pot);
	return 1;
}

int nb_gravity_direct_cpu(const struct nb_gravity *g, struct nb_gravity_count *count)
{
	struct nb_gravity_plan plan;
	if (sum_few(g)) {
		if (count)
			count->p2p += (uint64_t)g->n * (g->n - 1);
		return NB_OK;
	}
	int done, status = nb_gravity_make_plan(g, &plan);
	if (status || g->n == 0)
		return status;
	const char *before = nb_lap("direct sum");
	divide(&plan);
	status = sum_by_ranks(&plan, &done);
	if (!status && !done)
		status = sum_tiles(&plan, (struct range){0, plan.ntile});
	if (!status && count)
		count->p2p += (uint64_t)g->n * (g->n - 1);
	nb_lap(before);
	return status;
}
