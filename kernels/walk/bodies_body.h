/* bodies_body.h - a part of walk_body.h: bodies act on bodies.  Columns of sources and targets, P2P. */

/* Where the columns of bodies have their origin: the target's centre in f32; the caller's origin in f64, so that
 * not even the last bit of a separation is lost. */
static NB_HD double T(origin)(const struct T(level) * lv, int d)
{
#ifdef NB_WALK_F64
	(void)lv;
	(void)d;
	return 0;
#else
	return lv->centre[d];
#endif
}

/* the target's centre in the columns of bodies */
static NB_HD S T(centre)(const struct T(level) * lv, int d)
{
	return (S)((lv->centre[d] - T(origin)(lv, d)) * lv->scale);
}

/* Eight coordinates, and what rounding left out of them unless low is NULL. */
static NB_HD void T(put)(S *to, S *low, v8d v)
{
	V8 high = TO_V8(v);
	memcpy(to, &high, sizeof high);
#ifndef NB_WALK_F64
	if (low) {
		V8 rest = TO_V8(v - __builtin_convertvector(high, v8d));
		memcpy(low, &rest, sizeof rest);
	}
#else
	(void)low;
#endif
}

/* n rows of three numbers from first on, of `all`: (row - c) scale to x[0], x[1], x[2] and, if fine, low.
 * May spoil the seven rows after. */
static NB_HD void T(columns)(const double *row, size_t all, size_t first, size_t n, const double *c, double scale,
	int fine, S *const x[3], S *const low[3])
{
	const double *pos = row + 3 * first;
	(void)all; /* where rows are read one by one */
	for (size_t k = 0; k < n; k += 8) {
		v8d column[3];
#if defined(NB_ISA_avx512)
		/* three vectors x0 y0 z0 x1 .. become columns by two permutations each */
		const v8d a0 = {c[0], c[1], c[2], c[0], c[1], c[2], c[0], c[1]};
		const v8d a1 = {c[2], c[0], c[1], c[2], c[0], c[1], c[2], c[0]};
		const v8d a2 = {c[1], c[2], c[0], c[1], c[2], c[0], c[1], c[2]};
		const v8l x01 = {0, 3, 6, 9, 12, 15, 0, 0}, x2 = {0, 1, 2, 3, 4, 5, 10, 13};
		const v8l y01 = {1, 4, 7, 10, 13, 0, 0, 0}, y2 = {0, 1, 2, 3, 4, 8, 11, 14};
		const v8l z01 = {2, 5, 8, 11, 14, 0, 0, 0}, z2 = {0, 1, 2, 3, 4, 9, 12, 15};
		v8d b0, b1, b2;
		if (first + k + 8 <= all) {
			b0 = (v8d)_mm512_loadu_pd(pos + 3 * k);
			b1 = (v8d)_mm512_loadu_pd(pos + 3 * k + 8);
			b2 = (v8d)_mm512_loadu_pd(pos + 3 * k + 16);
		} else { /* the last rows of all */
			uint32_t there = (1u << 3 * (all - first - k)) - 1;
			b0 = (v8d)_mm512_maskz_loadu_pd((__mmask8)there, pos + 3 * k);
			b1 = (v8d)_mm512_maskz_loadu_pd((__mmask8)(there >> 8), pos + 3 * k + 8);
			b2 = (v8d)_mm512_maskz_loadu_pd((__mmask8)(there >> 16), pos + 3 * k + 16);
		}
		b0 = (b0 - a0) * scale;
		b1 = (b1 - a1) * scale;
		b2 = (b2 - a2) * scale;
		column[0] = __builtin_shuffle(__builtin_shuffle(b0, b1, x01), b2, x2);
		column[1] = __builtin_shuffle(__builtin_shuffle(b0, b1, y01), b2, y2);
		column[2] = __builtin_shuffle(__builtin_shuffle(b0, b1, z01), b2, z2);
#else
		const size_t rows = n - k < 8 ? n - k : 8;
		for (int d = 0; d < 3; d++) {
			column[d] = (v8d){};
			for (size_t r = 0; r < rows; r++)
				column[d][r] = (pos[3 * (k + r) + (size_t)d] - c[d]) * scale;
		}
#endif
		for (int d = 0; d < 3; d++)
			T(put)(x[d] + k, fine ? low[d] + k : NULL, column[d]);
	}
}

/* Positions of n bodies of g from first on, in target units, to x[0], x[1], x[2] and, if w->fine, low. */
static NB_HD void T(positions)(const struct T(walker) * w, const struct nb_gravity *g, const struct T(level) * lv,
	size_t first, size_t n, S *const x[3], S *const low[3])
{
	const double c[3] = {T(origin)(lv, 0), T(origin)(lv, 1), T(origin)(lv, 2)};
	T(columns)(g->pos, g->n, first, n, c, lv->scale, w->fine, x, low);
}

/* Their velocities, relative to the target node's. */
static NB_HD void T(velocities)(
	const struct T(walker) * w, const struct T(level) * lv, size_t first, size_t n, S *const v[3])
{
	const struct nb_walk_plan *plan = w->plan;
	const double *frame = plan->velocity + 3 * (size_t)lv->node;
	T(columns)(plan->g->vel, plan->g->n, first, n, frame, plan->speed, 0, v, v);
}

/* Their softenings. */
static APART void T(softs)(const struct nb_gravity *g, const struct T(level) * lv, size_t first, size_t n, S *soft)
{
	double some[64];
	for (size_t k = 0; k < n; k += 64) {
		const size_t count = n - k < 64 ? n - k : 64;
		nb_gravity_soft(g, first + k, count, lv->scale, FLOOR, some);
		for (size_t j = 0; j < count; j++)
			soft[k + j] = (S)some[j];
	}
}

/* Targets are taken two at a time, each broadcast to all lanes; sources run through the lanes, software-
 * pipelined in two stages because the dependency chain of a pair is longer than a scheduler is deep. */
#define EACH_TARGET _Pragma("GCC unroll 2") for (int k = 0; k < 2; k++)

struct T(flight) {
	V x[2], y[2], z[2], r2[2], guess[2];
};

/* separation of sources j.. from target i in coordinate d */
static NB_HD V T(apart)(const struct T(walker) * w, int fine, int d, size_t i, size_t j)
{
	V high = LOAD(&w->x[d][j]) - w->target[d][i];
	return fine ? high + (LOAD(&w->low[d][j]) - w->target_low[d][i]) : high;
}

static NB_HD void T(separate)(struct T(flight) * f, const struct T(walker) * w, int fine, size_t i, size_t j, S eps2)
{
	EACH_TARGET f->x[k] = T(apart)(w, fine, 0, i + (size_t)k, j);
	EACH_TARGET f->y[k] = T(apart)(w, fine, 1, i + (size_t)k, j);
	EACH_TARGET f->z[k] = T(apart)(w, fine, 2, i + (size_t)k, j);
	EACH_TARGET f->r2[k] = F(nb_pair_r2)(f->x[k], f->y[k], f->z[k], (V){} + eps2);
	EACH_TARGET f->guess[k] = F(nb_guess)(f->r2[k]);
}

/* alike: for bodies of mass 1 */
static NB_HD void T(act)(const struct T(flight) * f, const struct T(walker) * w, int alike, size_t j, V sum[3][2])
{
	V weight[2];
	EACH_TARGET weight[k] = F(nb_cube)(f->r2[k], f->guess[k]);
	if (!alike)
		EACH_TARGET weight[k] *= LOAD(&w->m[j]);
	EACH_TARGET F(nb_pair_add)(weight[k], f->x[k], f->y[k], f->z[k], &sum[0][k], &sum[1][k], &sum[2][k]);
}

static NB_HD void T(sweep)(struct T(walker) * w, int fine, int alike, S eps2)
{
	const size_t end = w->nsource;
	const S factor = (S)CUBE * (alike ? w->m[0] : 1);
	for (size_t i = 0; i < w->ntarget; i += 2) {
		V sum[3][2] = {};
		struct T(flight) f0, f1;
		T(separate)(&f0, w, fine, i, 0, eps2);
		for (size_t j = 0;;) {
			T(separate)(&f1, w, fine, i, j + W, eps2);
			T(act)(&f0, w, alike, j, sum);
			if ((j += W) >= end)
				break;
			T(separate)(&f0, w, fine, i, j + W, eps2);
			T(act)(&f1, w, alike, j, sum);
			if ((j += W) >= end)
				break;
		}
		EACH_TARGET for (int d = 0; d < 3; d++) w->acc[d][i + (size_t)k] += factor * F(nb_sum)(sum[d][k]);
	}
}

/* What is apart for bodies that do not act if masses do not say it: so far that nothing of their pull is left. */
static void T(sweep_acc)(struct T(walker) * w, S eps2)
{
	int alike = sizeof(S) == sizeof(float); /* nothing is that far in f64 */
	for (size_t k = 0; k < w->nsource; k++)
		alike &= w->m[k] == w->m[0];
	for (size_t k = w->nsource; alike && k < w->nsource + 2 * W; k++)
		w->x[0][k] = (S)REMOTE;
	if (alike)
		w->fine ? T(sweep)(w, 1, 1, eps2) : T(sweep)(w, 0, 1, eps2);
	else
		w->fine ? T(sweep)(w, 1, 0, eps2) : T(sweep)(w, 0, 0, eps2);
}

/* The row of target i among the sources; -1: it is not there. */
static NB_HD ptrdiff_t T(self)(const struct T(walker) * w, size_t i)
{
	const size_t body = w->target_first + i;
	return body >= w->own_first && body < w->own_first + w->own ? (ptrdiff_t)(body - w->own_first) : -1;
}

/* The same with potentials. Coincident bodies count in them only if r2 > none. */
static NB_HD void T(sweep_pot)(struct T(walker) * w, int fine, S eps2, S none)
{
	const size_t end = w->nsource;
	for (size_t i = 0; i < w->ntarget; i++) {
		V ax = {}, ay = {}, az = {}, phi = {};
		const ptrdiff_t self = T(self)(w, i);
		for (size_t j = 0; j < end; j += W) {
			V x = T(apart)(w, fine, 0, i, j);
			V y = T(apart)(w, fine, 1, i, j);
			V z = T(apart)(w, fine, 2, i, j);
			V r2 = F(nb_pair_r2)(x, y, z, (V){} + eps2);
			VI counts = (r2 > none) & (F(nb_lane)() != (int)(self - (ptrdiff_t)j));
			V rinv = F(nb_where)(counts, F(nb_rsqrt)(r2));
			V m = LOAD(&w->m[j]);
			phi += m * rinv;
			F(nb_pair_add)(m * rinv * rinv * rinv, x, y, z, &ax, &ay, &az);
		}
		w->acc[0][i] += F(nb_sum)(ax);
		w->acc[1][i] += F(nb_sum)(ay);
		w->acc[2][i] += F(nb_sum)(az);
		w->phi[i] += F(nb_sum)(phi);
	}
}

/* The same with potentials and jerks. */
static NB_HD void T(sweep_jerk)(struct T(walker) * w, int fine, S eps2, S none)
{
	const size_t end = w->nsource;
	for (size_t i = 0; i < w->ntarget; i += 2) {
		V acc[3][2] = {}, jerk[3][2] = {}, phi[2] = {};
		const ptrdiff_t self[2] = {T(self)(w, i), T(self)(w, i + 1)};
		for (size_t j = 0; j < end; j += W) {
			const V m = LOAD(&w->m[j]);
			V x[3][2], v[3][2], rinv[2], weight[2];
			for (int d = 0; d < 3; d++) {
				EACH_TARGET x[d][k] = T(apart)(w, fine, d, i + (size_t)k, j);
				EACH_TARGET v[d][k] = LOAD(&w->v[d][j]) - w->target_v[d][i + (size_t)k];
			}
			EACH_TARGET
			{
				V r2 = F(nb_pair_r2)(x[0][k], x[1][k], x[2][k], (V){} + eps2);
				VI counts = (r2 > none) & (F(nb_lane)() != (int)(self[k] - (ptrdiff_t)j));
				rinv[k] = F(nb_where)(counts, F(nb_rsqrt)(r2));
				weight[k] = m * rinv[k];
				phi[k] += weight[k];
				rinv[k] *= rinv[k];
				weight[k] *= rinv[k];
			}
			EACH_TARGET F(nb_pair_add)(
				weight[k], x[0][k], x[1][k], x[2][k], &acc[0][k], &acc[1][k], &acc[2][k]);
			EACH_TARGET F(nb_pair_jerk)(rinv[k], x[0][k], x[1][k], x[2][k], &v[0][k], &v[1][k], &v[2][k]);
			EACH_TARGET F(nb_pair_add)(
				weight[k], v[0][k], v[1][k], v[2][k], &jerk[0][k], &jerk[1][k], &jerk[2][k]);
		}
		EACH_TARGET
		{
			for (int d = 0; d < 3; d++) {
				w->acc[d][i + (size_t)k] += F(nb_sum)(acc[d][k]);
				w->jerk[d][i + (size_t)k] += F(nb_sum)(jerk[d][k]);
			}
			w->phi[i + (size_t)k] += F(nb_sum)(phi[k]);
		}
	}
}

/* All of these, of pairs with softenings of their own or of a spline. */
static NB_HD void T(sweep_soft)(struct T(walker) * w, int fine, int spline)
{
	const size_t end = w->nsource;
	for (size_t i = 0; i < w->ntarget; i++) {
		V acc[3] = {}, jerk[3] = {}, phi = {};
		const V own = (V){} + w->target_soft[i];
		const ptrdiff_t self = T(self)(w, i);
		for (size_t j = 0; j < end; j += W) {
			V x[3], v[3], m = LOAD(&w->m[j]), soft = LOAD(&w->soft[j]);
			for (int d = 0; d < 3; d++)
				x[d] = T(apart)(w, fine, d, i, j);
			soft = F(nb_choose)(spline ? soft < own : soft > own, soft, own);
			V r2 = F(nb_pair_r2)(x[0], x[1], x[2], spline ? (V){} + (S)FLOOR : soft);
			struct F(nb_pull) pull = F(nb_soften)(spline, JERK, r2, soft);
			phi += m * F(nb_where)(F(nb_lane)() != (int)(self - (ptrdiff_t)j), pull.p);
			F(nb_pair_add)(m * pull.w, x[0], x[1], x[2], &acc[0], &acc[1], &acc[2]);
			if (!JERK)
				continue;
			for (int d = 0; d < 3; d++)
				v[d] = LOAD(&w->v[d][j]) - w->target_v[d][i];
			F(nb_turn)(pull.f, x[0], x[1], x[2], &v[0], &v[1], &v[2]);
			F(nb_pair_add)(m * pull.w, v[0], v[1], v[2], &jerk[0], &jerk[1], &jerk[2]);
		}
		for (int d = 0; d < 3; d++) {
			w->acc[d][i] += F(nb_sum)(acc[d]);
			if (JERK)
				w->jerk[d][i] += F(nb_sum)(jerk[d]);
		}
		w->phi[i] += F(nb_sum)(phi);
	}
}

static APART void T(sweep_law)(struct T(walker) * w)
{
	for (size_t k = w->nsource; k < w->nsource + 2 * W; k++)
		w->soft[k] = (S)FLOOR;
	if (w->plan->law == NB_LAW_PLUMMER)
		w->fine ? T(sweep_soft)(w, 1, 0) : T(sweep_soft)(w, 0, 0);
	else
		w->fine ? T(sweep_soft)(w, 1, 1) : T(sweep_soft)(w, 0, 1);
}

/* Lets the gathered bodies act. */
static void T(sources_act)(struct T(walker) * w, const struct T(level) * lv)
{
	if (!w->nsource)
		return;
	/* massless rows to the end of the vector, and the vector that the pipeline reads ahead */
	for (size_t k = w->nsource; k < w->nsource + 2 * W; k++) {
		for (int d = 0; d < 3; d++) {
			w->x[d][k] = T(centre)(lv, d);
			w->low[d][k] = 0;
			if (JERK)
				w->v[d][k] = 0;
		}
		w->m[k] = 0;
	}
	const double eps = w->plan->g->eps * lv->scale;
	const S eps2 = EPS2(eps);
	if (w->plan->law != NB_LAW_COMMON)
		T(sweep_law)(w);
	else if (JERK)
		w->fine ? T(sweep_jerk)(w, 1, eps2, eps > 0 ? -1 : eps2)
			: T(sweep_jerk)(w, 0, eps2, eps > 0 ? -1 : eps2);
	else if (w->plan->at->pot)
		w->fine ? T(sweep_pot)(w, 1, eps2, eps > 0 ? -1 : eps2) : T(sweep_pot)(w, 0, eps2, eps > 0 ? -1 : eps2);
	else
		T(sweep_acc)(w, eps2);
	w->count.p2p += w->nsource * w->ntarget;
	w->nsource = 0;
	w->own = 0;
}

/* Gathers the bodies first .. end-1 as sources. */
static void T(gather)(struct T(walker) * w, const struct T(level) * lv, size_t first, size_t end)
{
	const struct nb_gravity *g = w->plan->g;
	const double scale = w->plan->mass;
	while (first < end) {
		if (w->nsource == SOURCES)
			T(sources_act)(w, lv);
		size_t n = end - first, row = w->nsource;
		n = n < SOURCES - row ? n : SOURCES - row;
		S *const x[3] = {&w->x[0][row], &w->x[1][row], &w->x[2][row]};
		S *const low[3] = {&w->low[0][row], &w->low[1][row], &w->low[2][row]};
		T(positions)(w, g, lv, first, n, x, low);
		if (JERK) {
			S *const v[3] = {&w->v[0][row], &w->v[1][row], &w->v[2][row]};
			T(velocities)(w, lv, first, n, v);
		}
		for (size_t k = 0; k < n; k++)
			w->m[row + k] = (S)(g->mass[first + k] * scale);
		if (w->plan->law != NB_LAW_COMMON)
			T(softs)(g, lv, first, n, w->soft + row);
		w->nsource += n;
		first += n;
	}
}

/* Whether f32 does not hold squares of a separation from a lane of a family: it is so far by the target's measure. */
static NB_HD int T(is_remote)(const struct nb_family *f, size_t lane, const struct T(level) * lv)
{
	double far = 0;
	for (int d = 0; d < 3; d++)
		far = fmax(far, fabs((lv->centre[d] - f->x[d][lane]) * lv->scale));
	return far > REMOTE;
}

/* What bodies do that are so far that all targets feel the same: a leaf that a far smaller group lies in. */
static void T(remote_act)(struct T(walker) * w, const struct T(level) * lv, size_t first, size_t n)
{
	const struct nb_gravity *g = w->plan->g;
	for (size_t b = first; b < first + n; b++) {
		double x[3], v[3] = {0};
		for (size_t d = 0; d < 3; d++)
			x[d] = g->pos[3 * b + d] - lv->centre[d];
		for (size_t d = 0; JERK && d < 3; d++)
			v[d] = g->vel[3 * b + d] - w->plan->velocity[3 * (size_t)lv->node + d];
		/* softenings, of a pair too, are below 2^20 target units */
		nb_walk_add_pair(g->mass[b], x, v, w->plan->law == NB_LAW_COMMON ? g->eps : 0, w->remote);
	}
	w->count.p2p += n * w->ntarget;
}

/* Gathers the bodies of the leaves in a list but for the group's own, which were first; adjacent leaves at once. */
static void T(gather_leaves)(struct T(walker) * w, const struct T(level) * lv, struct list *leaf)
{
	const struct nb_walk_plan *plan = w->plan;
	const size_t own_first = plan->target->first[lv->node];
	const size_t own = plan->apart ? 0 : plan->target->count[lv->node];
	size_t begin = 0, end = 0;
	for (size_t k = 0; k < leaf->n; k++) {
		const struct nb_family *f = &plan->family[leaf->at[k] / NB_FAMILY];
		const size_t b = leaf->at[k] % NB_FAMILY;
		const size_t first = f->first[b], count = f->count[b];
		if (first - own_first < own)
			continue;
		if (plan->deep && T(is_remote)(f, b, lv)) {
			T(remote_act)(w, lv, first, count);
			continue;
		}
		if (count > 1 && f->radius[b] == 0 && has_one_eps(plan, leaf->at[k] / NB_FAMILY, b)) {
			/* coincident bodies act as one */
			const S *moment = T(moments)(plan, leaf->at[k]);
			if (w->nsource == SOURCES)
				T(sources_act)(w, lv);
			for (int d = 0; d < 3; d++) {
				double x = (f->x[d][b] - T(origin)(lv, d)) * lv->scale;
				w->x[d][w->nsource] = (S)x;
				w->low[d][w->nsource] = (S)(x - (double)(S)x);
				if (JERK)
					w->v[d][w->nsource] = moment[NB_WALK_VELOCITY + d] - lv->frame[d];
			}
			if (plan->law != NB_LAW_COMMON)
				T(softs)(plan->g, lv, first, 1, w->soft + w->nsource);
			w->m[w->nsource++] = moment[0];
			continue;
		}
		if (first != end) {
			T(gather)(w, lv, begin, end);
			begin = first;
		}
		end = first + count;
	}
	T(gather)(w, lv, begin, end);
	leaf->n = 0;
}
