/* Gravity by a mesh and pairs, on the CPU.  Bodies are put in order by cells of half of the cut; targets of a cell that
 * are neighbours share a list of what is near them. */
#include "kernels/treepm/treepm_internal.h"

#include "common/mem.h"
#include "common/periodic.h"
#include "kernels/mesh/mesh.h"
#include "kernels/order/order.h"
#include "kernels/pair/pair.h"

#include <math.h>
#include <string.h>

static nb_treepm_collect *const collect_of[] = {NB_ISA_TABLE(nb_treepm_collect)};
static nb_treepm_pull *const pull_of[] = {NB_ISA_TABLE(nb_treepm_pull)};
static nb_treepm_pull *const pull_mixed_of[] = {NB_ISA_TABLE(nb_treepm_pull_mixed)};

enum {
	FINE_BITS = 3, /* of a place in a cell, along an axis */
	AHEAD = 4      /* cells that a thread takes at a time */
};

struct treepm {
	const struct nb_gravity *g;
	const struct nb_gravity_points *points;
	const struct nb_treepm *how;
	nb_treepm_collect *collect;
	nb_treepm_pull *pull;
	struct nb_treepm_plan plan;
	struct nb_treepm_side sources, targets;
	uint32_t *massive; /* rows of bodies with mass, if not all have */
	int shared;	   /* the targets are the sources */
	double *sum;	   /* of each target, acc and pot */
};

/* Of squares of softenings, see pair.h. */
static double floor_of(const struct treepm *w)
{
	return w->g->precision == NB_MIXED ? (double)NB_PAIR_FLOOR_F32 : NB_PAIR_FLOOR_F64;
}

/* ---- bodies by cells ---------------------------------------------------------------------------- */

/* Its cell, and the place there as a Morton key, so that neighbours in a cell come one after the other. */
static uint64_t key_of(const struct treepm *w, const double *x)
{
	uint64_t cell = 0, fine = 0;
	for (int c = 0; c < 3; c++) {
		const double u = x[c] / w->plan.box * (double)w->plan.side, whole = floor(u);
		const uint64_t at = whole < (double)w->plan.side ? (uint64_t)whole : w->plan.side - 1;
		const uint64_t part = (uint64_t)((u - whole) * (1 << FINE_BITS));
		cell = cell * w->plan.side + at;
		for (int b = 0; b < FINE_BITS; b++)
			fine |= (part >> b & 1) << (3 * b + 2 - c);
	}
	return cell << 3 * FINE_BITS | fine;
}

static void place(const struct treepm *w, const double *pos, double x[3])
{
	for (int c = 0; c < 3; c++)
		x[c] = nb_periodic_wrap(pos[c] * w->plan.scale.length, w->plan.box);
}

static void free_side(struct nb_treepm_side *s)
{
	nb_free_all(s->x[0], s->x[1], s->x[2], s->mass, s->soft, s->pos, s->number, s->begin);
}

/* The first body of each cell, of sorted keys. */
static void find_cells(const struct treepm *w, const uint64_t *key, struct nb_treepm_side *s)
{
	const size_t cells = w->plan.side * w->plan.side * w->plan.side;
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k <= s->n; k++) {
		const size_t end = k < s->n ? (size_t)(key[k] >> 3 * FINE_BITS) + 1 : cells + 1;
		for (size_t c = k ? (size_t)(key[k - 1] >> 3 * FINE_BITS) + 1 : 0; c < end; c++)
			s->begin[c] = (uint32_t)k;
	}
}

/* The sum of the masses, or of their sizes; blocks are added in order, whatever the number of threads. */
static double total_of(const struct nb_treepm_side *s, int of_sizes)
{
	enum { BLOCKS = 64 };
	double part[BLOCKS], total = 0;
#pragma omp parallel for schedule(static)
	for (size_t b = 0; b < BLOCKS; b++) {
		part[b] = 0;
		for (size_t k = s->n * b / BLOCKS; k < s->n * (b + 1) / BLOCKS; k++)
			part[b] += of_sizes ? fabs(s->mass[k]) : s->mass[k];
	}
	for (size_t b = 0; b < BLOCKS; b++)
		total += part[b];
	return total;
}

/* The row of the caller of target or source k. */
static size_t row_of(const struct nb_treepm_side *s, size_t k)
{
	return s->list ? s->list[s->number[k]] : s->number[k];
}

static int fill_side(
	const struct treepm *w, size_t n, const double *pos, const uint32_t *list, struct nb_treepm_side *s)
{
	const size_t cells = w->plan.side * w->plan.side * w->plan.side, length = n + NB_TREEPM_VECTOR;
	uint64_t *key = nb_alloc(n, sizeof *key);
	s->n = n;
	s->list = list;
	for (int c = 0; c < 3; c++)
		s->x[c] = nb_alloc_zero(length, sizeof *s->x[c]);
	s->pos = nb_alloc(n, 3 * sizeof *s->pos);
	s->number = nb_alloc(n, sizeof *s->number);
	s->begin = nb_alloc(cells + 1, sizeof *s->begin);
	int status = key && s->x[0] && s->x[1] && s->x[2] && s->pos && s->number && s->begin ? NB_OK : NB_ENOMEM;
	if (!status) {
#pragma omp parallel for schedule(static)
		for (size_t k = 0; k < n; k++) {
			double x[3];
			place(w, pos + 3 * (list ? list[k] : k), x);
			key[k] = key_of(w, x);
		}
		status = nb_sort_keys_cpu(n, key, s->number);
	}
	if (!status) {
		find_cells(w, key, s);
#pragma omp parallel for schedule(static)
		for (size_t k = 0; k < n; k++) {
			place(w, pos + 3 * row_of(s, k), s->pos + 3 * k);
			for (int c = 0; c < 3; c++)
				s->x[c][k] = s->pos[3 * k + (size_t)c];
		}
	}
	nb_free(key);
	return status;
}

/* The masses and softenings of bodies. */
static int fill_bodies(const struct treepm *w, struct nb_treepm_side *s)
{
	const size_t length = s->n + NB_TREEPM_VECTOR;
	s->mass = nb_alloc_zero(length, sizeof *s->mass);
	s->soft = w->plan.law.law == NB_LAW_COMMON ? NULL : nb_alloc_zero(length, sizeof *s->soft);
	if (!s->mass || (w->plan.law.law != NB_LAW_COMMON && !s->soft))
		return NB_ENOMEM;
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < s->n; k++) {
		s->mass[k] = w->g->mass[row_of(s, k)] * w->plan.scale.mass;
		if (s->soft)
			nb_gravity_soft(w->g, row_of(s, k), 1, w->plan.scale.length, floor_of(w), &s->soft[k]);
	}
	return NB_OK;
}

/* Points that are no bodies have softenings of their own, or none: then those of the sources. */
static int fill_points(const struct treepm *w, struct nb_treepm_side *s)
{
	struct nb_gravity own = *w->g;
	double eps = 0;
	if (w->plan.law.law == NB_LAW_COMMON)
		return NB_OK;
	s->soft = nb_alloc_zero(s->n + NB_TREEPM_VECTOR, sizeof *s->soft);
	if (!s->soft)
		return NB_ENOMEM;
	own.body_eps = w->points->eps ? w->points->eps : &eps;
	for (size_t k = 0; k < s->n; k++)
		nb_gravity_soft(
			&own, w->points->eps ? row_of(s, k) : 0, 1, w->plan.scale.length, floor_of(w), &s->soft[k]);
	return NB_OK;
}

/* Bodies without mass are no sources. */
static int fill_sides(struct treepm *w)
{
	const struct nb_gravity *g = w->g;
	const struct nb_gravity_points *points = w->points;
	size_t massive = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : massive)
	for (size_t i = 0; i < g->n; i++)
		massive += g->mass[i] != 0;
	w->massive = massive < g->n ? nb_alloc(massive, sizeof *w->massive) : NULL;
	if (massive < g->n && !w->massive)
		return NB_ENOMEM;
	for (size_t i = 0, k = 0; w->massive && i < g->n; i++)
		if (g->mass[i] != 0)
			w->massive[k++] = (uint32_t)i;
	int status = fill_side(w, massive, g->pos, w->massive, &w->sources);
	if (!status)
		status = fill_bodies(w, &w->sources);
	w->shared = !points && massive == g->n;
	if (status || w->shared) {
		w->targets = w->shared ? w->sources : w->targets;
		return status;
	}
	const int bodies = !points || points->target;
	status = fill_side(w, points ? points->n : g->n, bodies ? g->pos : points->pos, points ? points->target : NULL,
		&w->targets);
	if (!status)
		status = bodies ? fill_bodies(w, &w->targets) : fill_points(w, &w->targets);
	return status;
}

/* ---- near --------------------------------------------------------------------------------------- */

static struct nb_treepm_group group_of(const struct nb_treepm_side *t, size_t first, size_t count)
{
	struct nb_treepm_group group;
	for (int c = 0; c < 3; c++) {
		double low = t->x[c][first], high = low;
		for (size_t k = first + 1; k < first + count; k++) {
			low = fmin(low, t->x[c][k]);
			high = fmax(high, t->x[c][k]);
		}
		group.centre[c] = 0.5 * (low + high);
		group.half[c] = fmax(high - group.centre[c], group.centre[c] - low);
	}
	return group;
}

/* Cells along an axis that may have bodies within reach of a group, and the squares of their distances from it. */
struct nearby {
	int n;
	size_t cell[2 * NB_TREEPM_AROUND + 1];
	double gap2[2 * NB_TREEPM_AROUND + 1];
};

static struct nearby nearby_of(const struct treepm *w, size_t at, double centre, double half)
{
	const size_t side = w->plan.side, around = w->plan.around, most = 2 * around + 1;
	const double width = w->plan.box / (double)side;
	struct nearby cells = {.n = (int)(most < side ? most : side)};
	for (int k = 0; k < cells.n; k++) {
		const size_t cell = most < side ? (at + side - around + (size_t)k) % side : (size_t)k;
		const double gap = nb_periodic_gap(
			width * (double)cell, width * (double)(cell + 1), centre - half, centre + half, w->plan.box);
		cells.cell[k] = cell;
		cells.gap2[k] = gap * gap * (1 - 1e-9);
	}
	return cells;
}

struct work {
	struct nb_treepm_list list;
	uint64_t pairs;
};

static void pull_list(const struct treepm *w, struct work *work, size_t first, size_t count)
{
	if (work->list.n == 0)
		return;
	w->pull(&w->plan.law, &work->list, &w->targets, first, count,
		w->points ? w->points->pot != NULL : w->g->pot != NULL, (double(*)[4])(w->sum + 4 * first));
	work->pairs += count * work->list.n;
	work->list.n = 0;
}

/* The sources from, from + 1, ... to - 1 act on targets first, first + 1, ..., as far as they are near. */
static void pull_range(const struct treepm *w, const struct nb_treepm_group *group, size_t from, size_t to,
	size_t first, size_t count, struct work *work)
{
	while (from < to) {
		from = w->collect(&w->sources, from, to, w->plan.box, w->plan.law.cut2, group, &work->list);
		if (from < to)
			pull_list(w, work, first, count);
	}
}

/* What is near targets first, first + 1, ..., of one cell, acts on them. */
static void pull_group(const struct treepm *w, const size_t cell[3], size_t first, size_t count, struct work *work)
{
	const struct nb_treepm_group group = group_of(&w->targets, first, count);
	struct nearby near[3];
	for (int c = 0; c < 3; c++)
		near[c] = nearby_of(w, cell[c], group.centre[c], group.half[c]);
	const struct nearby *z = &near[2];
	for (int i = 0; i < near[0].n; i++)
		for (int j = 0; j < near[1].n; j++) {
			const double rest = w->plan.law.cut2 - near[0].gap2[i] - near[1].gap2[j];
			const size_t row = (near[0].cell[i] * w->plan.side + near[1].cell[j]) * w->plan.side;
			for (int k = 0, next; k < z->n; k = next) {
				next = k + 1;
				if (!(z->gap2[k] < rest))
					continue;
				while (next < z->n && z->gap2[next] < rest && z->cell[next] == z->cell[next - 1] + 1)
					next++;
				pull_range(w, &group, w->sources.begin[row + z->cell[k]],
					w->sources.begin[row + z->cell[next - 1] + 1], first, count, work);
			}
		}
	pull_list(w, work, first, count);
}

/* Targets of a cell that are close to each other: of a group that is so wide that one image of a source is within reach
 * of one of them and another image of another one, each alone. */
static void pull_cell(const struct treepm *w, size_t c, struct work *work)
{
	const struct nb_treepm_side *t = &w->targets;
	const size_t cell[3] = {c / w->plan.side / w->plan.side, c / w->plan.side % w->plan.side, c % w->plan.side};
	size_t count;
	for (size_t first = t->begin[c]; first < t->begin[c + 1]; first += count) {
		count = t->begin[c + 1] - first;
		count = count < NB_TREEPM_GROUP ? count : NB_TREEPM_GROUP;
		const struct nb_treepm_group group = group_of(t, first, count);
		if (fmax(group.half[0], fmax(group.half[1], group.half[2])) + w->plan.reach >= w->plan.box / 2)
			count = 1;
		pull_group(w, cell, first, count, work);
	}
}

static int near(const struct treepm *w, uint64_t *pairs)
{
	const size_t cells = w->plan.side * w->plan.side * w->plan.side;
	uint64_t sum = 0;
	int status = NB_OK;
#pragma omp parallel reduction(max : status) reduction(+ : sum)
	{
		struct work *work = nb_alloc_zero(1, sizeof *work);
		status = work ? NB_OK : NB_ENOMEM;
#pragma omp for schedule(dynamic, AHEAD)
		for (size_t c = 0; c < cells; c++)
			if (work)
				pull_cell(w, c, work);
		sum += work ? work->pairs : 0;
		nb_free(work);
	}
	*pairs = sum;
	return status;
}

/* ---- far ---------------------------------------------------------------------------------------- */

void nb_treepm_free(struct nb_treepm_kept *kept)
{
	nb_free_all(kept->mass, kept->field);
	*kept = (struct nb_treepm_kept){0, NULL, NULL};
}

static int make_meshes(struct nb_treepm_kept *kept, int m)
{
	if (kept->mesh == m)
		return NB_OK;
	nb_treepm_free(kept);
	kept->mass = nb_alloc(nb_mesh_bytes(m), 1);
	kept->field = nb_alloc(nb_mesh_bytes(m), 1);
	if (!kept->mass || !kept->field) {
		nb_treepm_free(kept);
		return NB_ENOMEM;
	}
	kept->mesh = m;
	return NB_OK;
}

static int far(const struct treepm *w, int pot, struct nb_treepm_kept *kept)
{
	const struct nb_treepm_side *s = &w->sources, *t = &w->targets;
	const int m = w->how->mesh, order = w->how->order;
	int status = make_meshes(kept, m);
	double *mass = kept->mass, *field = kept->field;
	const struct nb_mesh_paint paint = {
		s->n, s->pos, s->mass, w->plan.box, nb_mesh_unit(total_of(s, 1)), 1, m, order};
	const struct nb_mesh_poisson poisson = {m, order, w->plan.box, w->plan.split};
	const struct nb_mesh_gather gather = {t->n, t->pos, w->plan.box, m, order, field, NULL, 0};
	if (!status)
		status = nb_mesh_paint_cpu(&paint, mass, NULL);
	if (!status)
		status = nb_mesh_transform_cpu(m, paint.unit, mass);
	for (int c = 0; !status && c < 3 + pot; c++) {
		status = nb_mesh_poisson_cpu(&poisson, (enum nb_mesh_field)c, mass, field);
		if (!status)
			status = nb_mesh_transform_back_cpu(m, field);
		if (!status)
			nb_mesh_gather_cpu(&gather, w->sum + c, 4);
	}
	return status;
}

/* ---- all together ------------------------------------------------------------------------------- */

static int are_finite(size_t n, const double *x)
{
	double test = 0; /* x - x is 0 unless x is infinite or NaN */
#pragma omp parallel for simd schedule(static) reduction(+ : test)
	for (size_t k = 0; k < n; k++)
		test += x[k] - x[k];
	return test == 0;
}

static int check(
	const struct nb_gravity *g, double box, const struct nb_treepm *how, const struct nb_gravity_points *points)
{
	double largest = 0;
	int status = nb_treepm_check(g, box, how, points);
	if (!status)
		status = nb_gravity_largest_eps(g, &largest);
	if (status)
		return status;
	for (size_t k = 0; points && !points->target && points->eps && k < points->n; k++)
		largest = points->eps[k] > largest ? points->eps[k] : largest;
	if (!(largest <= nb_treepm_longest_eps(how, box, g->softening)))
		return NB_EINVAL;
	for (size_t k = 0; points && points->target && k < points->n; k++)
		if (points->target[k] >= g->n)
			return NB_EINVAL;
	return are_finite(3 * g->n, g->pos) && are_finite(g->n, g->mass) &&
			       (!points || points->target || are_finite(3 * points->n, points->pos))
		       ? NB_OK
		       : NB_ENONFINITE;
}

/* The sums in the caller's units, to where they are wanted.  A body does not feel the softened potential that it has
 * where it is, which the pairs have in them; the mean of the near part is not on the mesh. */
static void deliver(const struct treepm *w)
{
	const struct nb_treepm_side *t = &w->targets;
	const struct nb_gravity *g = w->g;
	const struct nb_gravity_points *points = w->points;
	const int bodies = !points || points->target, in_list = points && !points->spread;
	double *acc = points ? points->acc : g->acc, *pot = points ? points->pot : g->pot;
	const double least = sqrt(floor_of(w)) / (g->softening == NB_SPLINE ? NB_SPLINE_SUPPORT : 1),
		     background = nb_treepm_background(&w->plan, w->how, total_of(&w->sources, 0));
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < t->n; k++) {
		const size_t i = row_of(t, k), to = in_list ? t->number[k] : i;
		const double *sum = w->sum + 4 * k;
		for (size_t c = 0; acc && c < 3; c++)
			acc[3 * to + c] = w->plan.scale.acc_out * sum[c];
		if (!pot)
			continue;
		const double eps = !bodies ? 0 : (g->body_eps ? g->body_eps[i] : g->eps) * w->plan.scale.length;
		const double own = eps > least ? t->mass[k] / eps : 0;
		pot[to] = w->plan.scale.pot_out * (sum[3] + own + background);
	}
}

static void clear_spread(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	if (!points || !points->spread)
		return;
	if (points->acc)
		memset(points->acc, 0, 3 * g->n * sizeof *points->acc);
	if (points->pot)
		memset(points->pot, 0, g->n * sizeof *points->pot);
}

int nb_treepm_cpu(const struct nb_gravity *g, double box, const struct nb_treepm *how,
	const struct nb_gravity_points *points, struct nb_treepm_kept *kept, struct nb_gravity_count *count)
{
	const enum nb_isa isa = nb_cpu_isa();
	struct treepm w = {.g = g,
		.points = points,
		.how = how,
		.collect = collect_of[isa],
		.pull = g->precision == NB_MIXED ? pull_mixed_of[isa] : pull_of[isa]};
	const int pot = points ? points->pot != NULL : g->pot != NULL;
	struct nb_treepm_kept own = {0, NULL, NULL};
	uint64_t pairs = 0;
	double heaviest = 0;
	int status = check(g, box, how, points);
	if (status)
		return status;
	clear_spread(g, points);
#pragma omp parallel for schedule(static) reduction(max : heaviest)
	for (size_t i = 0; i < g->n; i++)
		heaviest = fmax(heaviest, fabs(g->mass[i]));
	nb_treepm_make_plan(g, box, how, points, heaviest, &w.plan);
	status = fill_sides(&w);
	w.sum = nb_alloc_zero(w.targets.n, 4 * sizeof *w.sum);
	if (!status && !w.sum)
		status = NB_ENOMEM;
	if (!status && w.targets.n > 0 && w.sources.n > 0)
		status = far(&w, pot, kept ? kept : &own);
	if (!status)
		status = near(&w, &pairs);
	if (!status)
		deliver(&w);
	if (!status && count)
		count->p2p += pairs;
	nb_treepm_free(&own);
	free_side(&w.sources);
	if (!w.shared)
		free_side(&w.targets);
	nb_free_all(w.massive, w.sum);
	return status;
}
