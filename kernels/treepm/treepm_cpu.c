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

enum {
	CELLS = 2,     /* along the cut */
	FINE_BITS = 3, /* of a place in a cell, along an axis */
	AHEAD = 4      /* cells that a thread takes at a time */
};

/* Scaled; shorter ones are below the floor of r^2, and none (pair.h). */
static const double LEAST_EPS = 0x1p-60;

struct treepm {
	const struct nb_gravity *g;
	const struct nb_gravity_points *points;
	const struct nb_treepm *how;
	nb_treepm_collect *collect;
	nb_treepm_pull *pull;
	struct nb_pair_scale scale;
	double box, split, reach; /* scaled */
	size_t side;		  /* cells along an axis */
	size_t around;		  /* of them, on each side of one, that may have bodies within reach */
	struct nb_treepm_law law;
	struct nb_treepm_side sources, targets;
	uint32_t *massive; /* rows of bodies with mass, if not all have */
	int shared;	   /* the targets are the sources */
	double *sum;	   /* of each target, acc and pot */
};

struct nb_treepm nb_treepm_choose(size_t n, double split)
{
	struct nb_treepm how = {0, 6, split > 0 ? split : 1.3, split < 1.75 ? 6.5 : 7};
	const double along = ceil(2 * cbrt((double)n) * (1 - 0x1p-40)), least = ceil(how.cut * how.split / 0.4);
	how.mesh = nb_mesh_size((int)fmin(fmax(along, fmax(least, NB_MESH_LEAST)), NB_MESH_MOST));
	return how;
}

double nb_treepm_reach(const struct nb_treepm *how, double box)
{
	return how->cut * how->split * (box / how->mesh);
}

double nb_treepm_longest_eps(const struct nb_treepm *how, double box, enum nb_softening softening)
{
	return nb_treepm_reach(how, box) / (softening == NB_SPLINE ? NB_SPLINE_SUPPORT : 1);
}

/* ---- the law ------------------------------------------------------------------------------------ */

/* Boys functions F_0 and F_1, see kernels/ewald. */
static void boys(double t, double f[2])
{
	f[0] = t > 0 ? 0.5 * sqrt(M_PI / t) * erf(sqrt(t)) : 1;
	if (t > 0.5) {
		f[1] = (f[0] - exp(-t)) / (2 * t);
		return;
	}
	double term = 1;
	f[1] = 0;
	for (int k = 0; k < 20; k++) {
		f[1] += term / (2 * k + 3);
		term *= -t / (k + 1);
	}
}

/* The polynomial of v, -1 <= v <= 1, that has the values at the points cos(pi (k + 1/2) / NB_TREEPM_TERMS): a series of
 * Chebyshev polynomials T_k(v), whose coefficients are sums over the points, written out by T_k+1 = 2 v T_k - T_k-1. */
static void fit(const double *value, double *term)
{
	enum { N = NB_TREEPM_TERMS };
	double before[N] = {0}, now[N] = {1};
	for (int j = 0; j < N; j++)
		term[j] = 0;
	for (int k = 0; k < N; k++) {
		double part = 0, next[N] = {0};
		for (int i = 0; i < N; i++)
			part += value[i] * cos(M_PI * k * (i + 0.5) / N) * (k ? 2 : 1) / N;
		for (int j = 0; j < N; j++) {
			term[j] += part * now[j];
			next[j] = (k ? 2 : 1) * (j ? now[j - 1] : 0) - before[j];
		}
		memcpy(before, now, sizeof now);
		memcpy(now, next, sizeof now);
		if (k == 0)
			before[0] = 1;
	}
}

static void fill_law(struct treepm *w)
{
	struct nb_treepm_law *law = &w->law;
	const double alpha = 0.5 / w->split;
	double acc[NB_TREEPM_TERMS], pot[NB_TREEPM_TERMS];
	const double eps = w->g->eps * w->scale.length;
	const int own = w->points && !w->points->target && w->points->eps;
	law->law = own && w->g->softening == NB_PLUMMER ? NB_LAW_PLUMMER : nb_pair_law_of(w->g);
	law->eps2 = nb_pair_eps2_f64(eps);
	law->none = eps > LEAST_EPS ? -1 : law->eps2;
	law->cut2 = w->reach * w->reach;
	law->scale = 2 / law->cut2;
	law->far = 3 * w->box;
	for (int i = 0; i < NB_TREEPM_TERMS; i++) {
		const double v = cos(M_PI * (i + 0.5) / NB_TREEPM_TERMS), u = alpha * w->reach;
		double f[2];
		boys(0.5 * (1 + v) * u * u, f);
		acc[i] = 2 * M_2_SQRTPI * alpha * alpha * alpha * f[1];
		pot[i] = M_2_SQRTPI * alpha * f[0];
	}
	fit(acc, law->acc);
	fit(pot, law->pot);
}

/* ---- bodies by cells ---------------------------------------------------------------------------- */

/* Its cell, and the place there as a Morton key, so that neighbours in a cell come one after the other. */
static uint64_t key_of(const struct treepm *w, const double *x)
{
	uint64_t cell = 0, fine = 0;
	for (int c = 0; c < 3; c++) {
		const double u = x[c] / w->box * (double)w->side, whole = floor(u);
		const uint64_t at = whole < (double)w->side ? (uint64_t)whole : w->side - 1;
		const uint64_t part = (uint64_t)((u - whole) * (1 << FINE_BITS));
		cell = cell * w->side + at;
		for (int b = 0; b < FINE_BITS; b++)
			fine |= (part >> b & 1) << (3 * b + 2 - c);
	}
	return cell << 3 * FINE_BITS | fine;
}

static void place(const struct treepm *w, const double *pos, double x[3])
{
	for (int c = 0; c < 3; c++)
		x[c] = nb_periodic_wrap(pos[c] * w->scale.length, w->box);
}

static void free_side(struct nb_treepm_side *s)
{
	nb_free_all(s->x[0], s->x[1], s->x[2], s->mass, s->soft, s->pos, s->number, s->begin);
}

/* The first body of each cell, of sorted keys. */
static void find_cells(const struct treepm *w, const uint64_t *key, struct nb_treepm_side *s)
{
	const size_t cells = w->side * w->side * w->side;
	size_t c = 0;
	for (size_t k = 0; k < s->n; k++)
		for (; c <= key[k] >> 3 * FINE_BITS; c++)
			s->begin[c] = (uint32_t)k;
	for (; c <= cells; c++)
		s->begin[c] = (uint32_t)s->n;
}

/* The row of the caller of target or source k. */
static size_t row_of(const struct nb_treepm_side *s, size_t k)
{
	return s->list ? s->list[s->number[k]] : s->number[k];
}

static int fill_side(
	const struct treepm *w, size_t n, const double *pos, const uint32_t *list, struct nb_treepm_side *s)
{
	const size_t cells = w->side * w->side * w->side, length = n + NB_TREEPM_VECTOR;
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
	s->soft = w->law.law == NB_LAW_COMMON ? NULL : nb_alloc_zero(length, sizeof *s->soft);
	if (!s->mass || (w->law.law != NB_LAW_COMMON && !s->soft))
		return NB_ENOMEM;
#pragma omp parallel for schedule(static)
	for (size_t k = 0; k < s->n; k++) {
		s->mass[k] = w->g->mass[row_of(s, k)] * w->scale.mass;
		if (s->soft)
			nb_gravity_soft(w->g, row_of(s, k), 1, w->scale.length, NB_PAIR_FLOOR_F64, &s->soft[k]);
	}
	return NB_OK;
}

/* Points that are no bodies have softenings of their own, or none: then those of the sources. */
static int fill_points(const struct treepm *w, struct nb_treepm_side *s)
{
	struct nb_gravity own = *w->g;
	double eps = 0;
	if (w->law.law == NB_LAW_COMMON)
		return NB_OK;
	s->soft = nb_alloc_zero(s->n + NB_TREEPM_VECTOR, sizeof *s->soft);
	if (!s->soft)
		return NB_ENOMEM;
	own.body_eps = w->points->eps ? w->points->eps : &eps;
	for (size_t k = 0; k < s->n; k++)
		nb_gravity_soft(
			&own, w->points->eps ? row_of(s, k) : 0, 1, w->scale.length, NB_PAIR_FLOOR_F64, &s->soft[k]);
	return NB_OK;
}

/* Bodies without mass are no sources. */
static int fill_sides(struct treepm *w)
{
	const struct nb_gravity *g = w->g;
	const struct nb_gravity_points *points = w->points;
	size_t massive = 0;
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

/* Cells at, at +- 1 ... along an axis, each once, as one range or two. */
static int ranges(const struct treepm *w, size_t at, size_t range[2][2])
{
	const size_t side = w->side, around = w->around;
	if (2 * around + 1 >= side) {
		range[0][0] = 0;
		range[0][1] = side;
		return 1;
	}
	const size_t from = at + side - around, to = from + 2 * around + 1; /* by one box more */
	if (from >= side && to <= 2 * side) {
		range[0][0] = from - side;
		range[0][1] = to - side;
		return 1;
	}
	range[0][0] = from < side ? from : from - side;
	range[0][1] = side;
	range[1][0] = 0;
	range[1][1] = from < side ? to - side : to - 2 * side;
	return 2;
}

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

struct work {
	struct nb_treepm_list list;
	uint64_t pairs;
};

static void pull_list(const struct treepm *w, struct work *work, size_t first, size_t count)
{
	if (work->list.n == 0)
		return;
	w->pull(&w->law, &work->list, &w->targets, first, count, w->points ? w->points->pot != NULL : w->g->pot != NULL,
		(double(*)[4])(w->sum + 4 * first));
	work->pairs += count * work->list.n;
	work->list.n = 0;
}

/* What is near targets first, first + 1, ..., of one cell, acts on them. */
static void pull_group(const struct treepm *w, const size_t cell[3], size_t first, size_t count, struct work *work)
{
	const struct nb_treepm_side *s = &w->sources;
	const struct nb_treepm_group group = group_of(&w->targets, first, count);
	size_t range[3][2][2];
	int n[3];
	for (int c = 0; c < 3; c++)
		n[c] = ranges(w, cell[c], range[c]);
	for (int rx = 0; rx < n[0]; rx++)
		for (size_t x = range[0][rx][0]; x < range[0][rx][1]; x++)
			for (int ry = 0; ry < n[1]; ry++)
				for (size_t y = range[1][ry][0]; y < range[1][ry][1]; y++)
					for (int rz = 0; rz < n[2]; rz++) {
						const size_t row = (x * w->side + y) * w->side;
						size_t from = s->begin[row + range[2][rz][0]];
						const size_t to = s->begin[row + range[2][rz][1]];
						while (from < to) {
							from = w->collect(
								s, from, to, w->box, w->law.cut2, &group, &work->list);
							if (from < to)
								pull_list(w, work, first, count);
						}
					}
	pull_list(w, work, first, count);
}

/* Targets of a cell that are close to each other: of a group that is so wide that one image of a source is within reach
 * of one of them and another image of another one, each alone. */
static void pull_cell(const struct treepm *w, size_t c, struct work *work)
{
	const struct nb_treepm_side *t = &w->targets;
	const size_t cell[3] = {c / w->side / w->side, c / w->side % w->side, c % w->side};
	size_t count;
	for (size_t first = t->begin[c]; first < t->begin[c + 1]; first += count) {
		count = t->begin[c + 1] - first;
		count = count < NB_TREEPM_GROUP ? count : NB_TREEPM_GROUP;
		const struct nb_treepm_group group = group_of(t, first, count);
		if (fmax(group.half[0], fmax(group.half[1], group.half[2])) + w->reach >= w->box / 2)
			count = 1;
		pull_group(w, cell, first, count, work);
	}
}

static int near(const struct treepm *w, uint64_t *pairs)
{
	const size_t cells = w->side * w->side * w->side;
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
	double total = 0;
	for (size_t k = 0; k < s->n; k++)
		total += fabs(s->mass[k]);
	int status = make_meshes(kept, m);
	double *mass = kept->mass, *field = kept->field;
	const struct nb_mesh_paint paint = {s->n, s->pos, s->mass, w->box, nb_mesh_unit(total), 1, m, order};
	const struct nb_mesh_poisson poisson = {m, order, w->box, w->split};
	const struct nb_mesh_gather gather = {t->n, t->pos, w->box, m, order, field};
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

static int check(
	const struct nb_gravity *g, double box, const struct nb_treepm *how, const struct nb_gravity_points *points)
{
	double largest = 0;
	if (!(box > 0 && isfinite(box)) || !isfinite(g->G) || g->jerk || how->mesh < NB_MESH_LEAST ||
		how->mesh > NB_MESH_MOST || nb_mesh_size(how->mesh) != how->mesh || how->order < 3 ||
		how->order > NB_MESH_ORDERS || !(how->split > 0) || !(nb_treepm_reach(how, box) < box / 2))
		return NB_EINVAL;
	if (points && (points->jerk || points->strength || (points->spread && !points->target)))
		return NB_EINVAL;
	if (g->n > INT32_MAX || (points && points->n > INT32_MAX))
		return NB_ELIMIT;
	const int status = nb_gravity_largest_eps(g, &largest);
	if (status)
		return status;
	for (size_t k = 0; points && !points->target && points->eps && k < points->n; k++)
		largest = points->eps[k] > largest ? points->eps[k] : largest;
	if (!(largest <= nb_treepm_longest_eps(how, box, g->softening)))
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

static void fill_units(struct treepm *w, double box)
{
	const struct nb_gravity *g = w->g;
	double heaviest = 0;
	for (size_t i = 0; i < g->n; i++)
		heaviest = fmax(heaviest, fabs(g->mass[i]));
	w->scale = nb_pair_scale_of(nb_pair_power2(box, 20), heaviest, 0, g->G);
	w->box = box * w->scale.length;
	w->split = w->how->split * w->box / w->how->mesh;
	w->reach = nb_treepm_reach(w->how, w->box);
	/* no finer than that cells have a few bodies */
	const double along = floor(CELLS * w->box / w->reach), most = ceil(cbrt((double)g->n));
	w->side = (size_t)fmax(1, fmin(along, most));
	w->around = (size_t)ceil(w->reach / (w->box / (double)w->side));
	fill_law(w);
}

/* Of the mean potential of the near part, 4 pi rho s^2, the share that is beyond u: 4 int_u^inf v erfc(v) dv. */
static double mean_beyond(double u)
{
	return (1 - 2 * u * u) * erfc(u) + M_2_SQRTPI * u * exp(-u * u);
}

/* The sums in the caller's units, to where they are wanted.  A body does not feel the softened potential that it has
 * where it is, which the pairs have in them; the mean of the near part is not on the mesh. */
static void deliver(const struct treepm *w)
{
	const struct nb_treepm_side *t = &w->targets;
	const struct nb_gravity *g = w->g;
	const struct nb_gravity_points *points = w->points;
	const int bodies = !points || points->target, in_list = points && !points->spread;
	double *acc = points ? points->acc : g->acc, *pot = points ? points->pot : g->pot, total = 0;
	for (size_t k = 0; k < w->sources.n; k++)
		total += w->sources.mass[k];
	const double u = w->how->cut / 2, within = 1 - mean_beyond(u);
	const double background = 4 * M_PI * total / (w->box * w->box * w->box) * w->split * w->split * within;
	for (size_t k = 0; k < t->n; k++) {
		const size_t i = row_of(t, k), to = in_list ? t->number[k] : i;
		const double *sum = w->sum + 4 * k;
		for (size_t c = 0; acc && c < 3; c++)
			acc[3 * to + c] = w->scale.acc_out * sum[c];
		if (!pot)
			continue;
		const double eps = !bodies ? 0 : (g->body_eps ? g->body_eps[i] : g->eps) * w->scale.length;
		const double own = eps > LEAST_EPS ? t->mass[k] / eps : 0;
		pot[to] = w->scale.pot_out * (sum[3] + own + background);
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
	struct treepm w = {.g = g, .points = points, .how = how, .collect = collect_of[isa], .pull = pull_of[isa]};
	const int pot = points ? points->pot != NULL : g->pot != NULL;
	struct nb_treepm_kept own = {0, NULL, NULL};
	uint64_t pairs = 0;
	int status = check(g, box, how, points);
	if (status)
		return status;
	clear_spread(g, points);
	fill_units(&w, box);
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
