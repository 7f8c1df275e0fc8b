/* walk_body.h - the walk in one arithmetic; included by walk_simd.c for f32 and, with NB_WALK_F64
 * defined, for f64; and for both again with NB_WALK_JERK, for the walk that gives jerks too.
 *
 * Lengths in here are in target units: the caller's times a power of two that brings the target cell's
 * reach to 0.5 .. 1.  So nothing over- or underflows in f32 however deep the tree is, and a separation of cells is
 * taken in f64 before it is rounded.
 *
 * Velocities are in units of their own, relative to that of the body or node that they are compared with, or to the
 * root's; the time unit is the length unit over that of velocities.
 *
 * Plan (the algorithm is described in walk_simd.c, which this file is part of).  A thread walks down from the root to
 * its groups with a stack of T(level), one for each ancestor, and a T(room), its own workspace.  At each level
 * T(resolve) deals out the source cells that the parent left: into the expansion (w->far), onto bodies (w->near),
 * opened (w->open), to the children (w->entry), or, in a group, as leaves (w->leaf).  Lists act when they are full.
 * Sections:
 *   bodies act on bodies   columns of sources and targets, P2P
 *   cells act on a cell    M2L into T(level).c, L2L to the children, L2P and M2P at a group's bodies
 *   the walk               T(resolve), T(group), and up and down the levels
 *
 * What an instance of this file is made of:
 *   T(name)   name_f32 or name_f64, name_f32_jerk or name_f64_jerk with jerk: functions and types of this file
 *   JERK      1 or 0: whether it gives jerks; what only they need takes no time and no memory in the other walk
 *   F(name)   name_vf or name_vd: functions of simd.h and multipole_body.h
 *   S V VI W  a number, a vector of them and of integers, how many a vector has
 *   V8        eight numbers, one for each child of a node; PACK packs lanes of V8, TO_V8 makes one of eight doubles
 *   LOAD(p)   the vector at p, aligned
 *   CUBE      what r^-3 of simd.h is to be multiplied by
 *   EPS2      eps^2 with the floor of pair.h, FLOOR
 *   MOST_UNIT a family whose length has so many target units is opened */

#if defined(NB_WALK_JERK)
#define JERK 1
#define HIGH 0
#define WITH(name, real) name##_##real##_jerk
#define MOMENTS (NB_WALK_MOMENTS + NB_WALK_MOTION)
#elif defined(NB_WALK_HIGH)
#define JERK 0
#define HIGH NB_WALK_HIGH
#define PASTE_WITH(name, real, p) name##_##real##_p##p
#define PASTE_ORDER(name, real, p) PASTE_WITH(name, real, p)
#define WITH(name, real) PASTE_ORDER(name, real, NB_WALK_HIGH)
#define MOMENTS (HIGH == 3 ? NB_HIGH_FOURTH : NB_HIGH_MOMENTS)
#else
#define JERK 0
#define HIGH 0
#define WITH(name, real) name##_##real
#define MOMENTS NB_WALK_MOMENTS
#endif
#if HIGH
#define ORDER (HIGH + NB_HIGH_EXTRA)
#define TERMS (HIGH == 3 ? NB_HIGH_TERMS_3 : NB_HIGH_TERMS_4)
#define ROW(k, j) taylor_row_high[HIGH - 3][k][j]
#define FOLDED (HIGH == 3 ? NB_FOLDED_FOURTH : NB_FOLDED_MOMENTS)
#define LEAST 0x1p-10f
#else
#define FOLDED 0
#define ORDER NB_TAYLOR_ORDER
#define TERMS NB_TAYLOR
#define ROW(k, j) taylor_row[k][j]
#define LEAST 0x1p-14f
#endif
#define JERK_ROWS(n) (JERK ? (n) : 1)
#ifdef NB_WALK_F64
#define T(name) WITH(name, f64)
#define F(name) name##_vd
#define V nb_vd
#define VI nb_vdi
#define V8 v8d
#define S double
#define W ((size_t)NB_WD)
#define CUBE 1.0
#define EPS2 nb_pair_eps2_f64
#define FLOOR NB_PAIR_FLOOR_F64
#define MOST_UNIT 0x1p100f
#define PACK pack_v8d
#define TO_V8(v) (v)
#else
#define T(name) WITH(name, f32)
#define F(name) name##_vf
#define V nb_vf
#define VI nb_vfi
#define V8 v8f
#define S float
#define W ((size_t)NB_WF)
#define CUBE NB_CUBE_F32
#define EPS2 nb_pair_eps2_f32
#define FLOOR NB_PAIR_FLOOR_F32
#define MOST_UNIT 0x1p20f
#define PACK pack_v8f
#define TO_V8(v) __builtin_convertvector(v, v8f)
#endif
#define LOAD(p) (*(const V *)(p))

/* A target cell on the way from the root to the group being walked. */
struct T(level) {
	V8 child_c[TERMS]; /* its children's expansions, each about its own centre and in its own units */
	S c[TERMS];	   /* local expansion */
	V8 child_rate[JERK_ROWS(TERMS)];
	S rate[JERK_ROWS(TERMS)]; /* time derivative of c about a centre that moves with the velocity of the node */
	S frame[3];		  /* that velocity, of its centre of mass, relative to the root's */
	uint32_t node;
	uint32_t family, lane; /* the same node as a source */
	uint32_t next;	       /* children already walked */
	size_t begin, end;     /* in room.entry: source cells that its parent could not take as a whole */
	size_t mark;	       /* in room.entry: what its children get begins here */
	double centre[3];      /* of its box, in the caller's units */
	double scale;	       /* from the caller's units to target units, a power of two */
	float reach;	       /* greatest distance of a body from the centre */
	float far;	       /* field strength, sum of m / r^2, of the cells in c */
	float limit;	       /* error that an accepted cell may have */
	double eps[NB_SOFT];   /* of its bodies, except for NB_LAW_COMMON */
	double kind[KINDS];    /* of a group, NB_LAW_PLUMMER: the softenings there are, if they are at most KINDS */
	int nkind;
	int group; /* its bodies are walked together */
};

/* Source cells, column by column: target - source, and, before they act, moments. */
struct T(cells) {
	S x[3][LIST + 16], m[MOMENTS][LIST + 16];
	S unit[LIST + 16];	/* target units in the family's length */
	uint32_t at[LIST + 16]; /* family * NB_FAMILY + lane */
	size_t n;
} __attribute__((aligned(64)));

struct T(room) {
	struct T(cells) far, near; /* to act through the expansion, or on each body */
	/* bodies to act one by one; low: what x leaves out of a position, where fine is set */
	S x[3][SOURCES + 80], low[3][SOURCES + 80];
	S m[SOURCES + 80];
	/* bodies acted on, and what they got */
	S target[3][TARGETS + 80], target_low[3][TARGETS + 80];
	S acc[3][TARGETS + 80];
	S phi[TARGETS + 80];
	V sum[TERMS]; /* of the local expansion: lane by lane, times factorials */
	/* for jerks: velocities relative to the target node's, and the same sums */
	S v[3][JERK_ROWS(SOURCES + 80)];
	S target_v[3][JERK_ROWS(TARGETS + 80)];
	S jerk[3][JERK_ROWS(TARGETS + 80)];
	V rate[JERK_ROWS(TERMS)];
	const struct nb_walk_plan *plan;
	size_t nsource, ntarget;
	int fine;	       /* separations of bodies are taken from pairs of f32, close ones at least */
	size_t own, own_first; /* the first `own` sources are the bodies own_first .. */
	size_t target_first;   /* the targets are the bodies target_first .. */
	double remote[7];      /* acceleration, potential and jerk by remote bodies, in the caller's units but for G */
	struct runs entry;     /* of the levels, one after the other */
	struct list open;      /* families to test */
	struct list leaf;      /* leaves to be taken body by body: family * NB_FAMILY + lane */
	struct list close;     /* those of them that are to be taken finely */
	struct T(level) * level;
	size_t nlevel, level_capacity;
	struct nb_gravity_count count;
	int counts; /* 0 above the parts, where another thread does and counts the same */
	/* nb_gravity_soft, except for NB_LAW_COMMON */
	S soft[SOURCES + 80] __attribute__((aligned(64))), target_soft[TARGETS + 80];
	/* NB_LAW_PLUMMER: eps^2 of the far cells with the target, and of the near cells themselves */
	S far_eps2[LIST + 16], near_eps2[LIST + 16];
} __attribute__((aligned(64)));

/* the moments of a cell, family * NB_FAMILY + lane, in the order of plan.h */
static NB_HD const S *T(moments)(const struct nb_walk_plan *plan, size_t cell)
{
	return (const S *)plan->moment + cell * plan->stride;
}

/* ---- bodies act on bodies -------------------------------------------------------------------------- */

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
static NB_HD void T(positions)(const struct T(room) * w, const struct nb_gravity *g, const struct T(level) * lv,
	size_t first, size_t n, S *const x[3], S *const low[3])
{
	const double c[3] = {T(origin)(lv, 0), T(origin)(lv, 1), T(origin)(lv, 2)};
	T(columns)(g->pos, g->n, first, n, c, lv->scale, w->fine, x, low);
}

/* Their velocities, relative to the target node's. */
static NB_HD void T(velocities)(
	const struct T(room) * w, const struct T(level) * lv, size_t first, size_t n, S *const v[3])
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
static NB_HD V T(apart)(const struct T(room) * w, int fine, int d, size_t i, size_t j)
{
	V high = LOAD(&w->x[d][j]) - w->target[d][i];
	return fine ? high + (LOAD(&w->low[d][j]) - w->target_low[d][i]) : high;
}

static NB_HD void T(separate)(struct T(flight) * f, const struct T(room) * w, int fine, size_t i, size_t j, S eps2)
{
	EACH_TARGET f->x[k] = T(apart)(w, fine, 0, i + (size_t)k, j);
	EACH_TARGET f->y[k] = T(apart)(w, fine, 1, i + (size_t)k, j);
	EACH_TARGET f->z[k] = T(apart)(w, fine, 2, i + (size_t)k, j);
	EACH_TARGET f->r2[k] = F(nb_pair_r2)(f->x[k], f->y[k], f->z[k], (V){} + eps2);
	EACH_TARGET f->guess[k] = F(nb_guess)(f->r2[k]);
}

/* alike: for bodies of mass 1 */
static NB_HD void T(act)(const struct T(flight) * f, const struct T(room) * w, int alike, size_t j, V sum[3][2])
{
	V weight[2];
	EACH_TARGET weight[k] = F(nb_cube)(f->r2[k], f->guess[k]);
	if (!alike)
		EACH_TARGET weight[k] *= LOAD(&w->m[j]);
	EACH_TARGET F(nb_pair_add)(weight[k], f->x[k], f->y[k], f->z[k], &sum[0][k], &sum[1][k], &sum[2][k]);
}

static NB_HD void T(sweep)(struct T(room) * w, int fine, int alike, S eps2)
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
static void T(sweep_acc)(struct T(room) * w, S eps2)
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
static NB_HD ptrdiff_t T(self)(const struct T(room) * w, size_t i)
{
	const size_t body = w->target_first + i;
	return body >= w->own_first && body < w->own_first + w->own ? (ptrdiff_t)(body - w->own_first) : -1;
}

/* The same with potentials. Coincident bodies count in them only if r2 > none. */
static NB_HD void T(sweep_pot)(struct T(room) * w, int fine, S eps2, S none)
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
static NB_HD void T(sweep_jerk)(struct T(room) * w, int fine, S eps2, S none)
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
static NB_HD void T(sweep_soft)(struct T(room) * w, int fine, int spline)
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

static APART void T(sweep_law)(struct T(room) * w)
{
	for (size_t k = w->nsource; k < w->nsource + 2 * W; k++)
		w->soft[k] = (S)FLOOR;
	if (w->plan->law == NB_LAW_PLUMMER)
		w->fine ? T(sweep_soft)(w, 1, 0) : T(sweep_soft)(w, 0, 0);
	else
		w->fine ? T(sweep_soft)(w, 1, 1) : T(sweep_soft)(w, 0, 1);
}

/* Lets the gathered bodies act. */
static void T(sources_act)(struct T(room) * w, const struct T(level) * lv)
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
static void T(gather)(struct T(room) * w, const struct T(level) * lv, size_t first, size_t end)
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
static void T(remote_act)(struct T(room) * w, const struct T(level) * lv, size_t first, size_t n)
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
static void T(gather_leaves)(struct T(room) * w, const struct T(level) * lv, struct list *leaf)
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

/* ---- cells act on a cell --------------------------------------------------------------------------- */

/* The next vector of cells, in target units. */
static NB_HD V T(cell)(const struct T(cells) * cells, size_t j, int quad, V x[3], V q[6])
{
	for (int d = 0; d < 3; d++)
		x[d] = LOAD(&cells->x[d][j]);
	for (int k = 0; k < 6; k++)
		q[k] = quad ? LOAD(&cells->m[1 + k][j]) : (V){};
	return LOAD(&cells->m[0][j]);
}

/* Velocities of these cells relative to the root, and the time derivatives p of q. */
static NB_HD void T(cell_motion)(const struct T(cells) * cells, size_t j, int quad, V v[3], V p[6])
{
	for (int d = 0; d < 3; d++)
		v[d] = LOAD(&cells->m[NB_WALK_VELOCITY + d][j]);
	for (int k = 0; k < 6; k++)
		p[k] = quad ? LOAD(&cells->m[NB_WALK_QUAD_RATE + k][j]) : (V){};
}

/* The power of the unit of length that moment q has. */
static NB_HD int T(degree)(int q, int folded)
{
	if (q == 0 || (JERK && q >= NB_WALK_VELOCITY && q < NB_WALK_QUAD_RATE))
		return 0;
	if (HIGH)
		return q < (folded ? NB_FOLDED_THIRD : NB_HIGH_THIRD)	  ? 2
		       : q < (folded ? NB_FOLDED_FOURTH : NB_HIGH_FOURTH) ? 3
									  : 4;
	return q < NB_WALK_VELOCITY ? 2 : 1;
}

/* Gives the cells their moments, in target units, and fills up the last vector with cells of no mass.  The rows of W
 * cells become columns by interleaving row i with row i + W / 2, log2(W) times. */
static NB_HD void T(cells_close_as)(struct T(cells) * cells, const struct nb_walk_plan *plan, int folded)
{
	enum { HALF = NB_VECTOR / sizeof(S) / 2 };
	const int count = folded ? FOLDED : MOMENTS;
	const size_t stride = NB_WALK_STRIDE(count);
	const S *moment = plan->moment;
	VI low, high;
	for (int l = 0; l < HALF; l++) {
		low[2 * l] = l, low[2 * l + 1] = l + 2 * HALF;
		high[2 * l] = l + HALF, high[2 * l + 1] = l + 3 * HALF;
	}
	for (size_t j = cells->n; j % W; j++) {
		for (int d = 0; d < 3; d++)
			cells->x[d][j] = 1;
		cells->at[j] = 0;
	}
	for (size_t j = 0; j < cells->n; j += W) {
		const V unit = LOAD(&cells->unit[j]), unit2 = unit * unit;
		const V power[5] = {(V){} + 1, unit, unit2, unit2 * unit, unit2 * unit2};
		for (int q = 0; q < count; q += 2 * HALF) {
			V row[2 * HALF], next[2 * HALF];
#pragma GCC unroll 16
			for (int l = 0; l < 2 * HALF; l++)
				memcpy(&row[l], moment + cells->at[j + (size_t)l] * stride + q, sizeof row[l]);
#pragma GCC unroll 4
			for (int done = 1; done < 2 * HALF; done *= 2) {
#pragma GCC unroll 8
				for (int l = 0; l < HALF; l++) {
					next[2 * l] = __builtin_shuffle(row[l], row[l + HALF], low);
					next[2 * l + 1] = __builtin_shuffle(row[l], row[l + HALF], high);
				}
#pragma GCC unroll 16
				for (int l = 0; l < 2 * HALF; l++)
					row[l] = next[l];
			}
#pragma GCC unroll 16
			for (int l = 0; l < 2 * HALF; l++)
				if (q + l < count)
					*(V *)&cells->m[q + l][j] = row[l] * power[T(degree)(q + l, folded)];
		}
	}
	for (size_t j = cells->n; j % W; j++)
		for (int q = 0; q < count; q++)
			cells->m[q][j] = 0;
}

static void T(cells_close)(struct T(cells) * cells, const struct nb_walk_plan *plan)
{
	if (plan->folded)
		T(cells_close_as)(cells, plan, HIGH > 0);
	else
		T(cells_close_as)(cells, plan, 0);
}

/* eps^2 of all pairs that cells take part in; a spline is Newton's there. */
static NB_HD S T(cell_eps2)(const struct nb_walk_plan *plan, const struct T(level) * lv)
{
	return EPS2(plan->law == NB_LAW_COMMON ? plan->g->eps * lv->scale : 0);
}

#if HIGH
/* Lets the far cells act on the expansion by folded moments. */
static APART void T(far_act_folded)(struct T(room) * w)
{
	T(cells_close)(&w->far, w->plan);
	for (size_t j = 0; j < w->far.n; j += W) {
		V x[3], a[NB_FOLDED_TERMS], b[NB_FOLDED_SUMS], m[FOLDED];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->far.x[d][j]);
		for (int k = 0; k < FOLDED; k++)
			m[k] = LOAD(&w->far.m[k][j]) * (S)folded_weight[k];
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], (V){} + (S)FLOOR));
		if (HIGH == 3) {
			F(nb_harmonic_tensor_3)(x[0], x[1], x[2], rinv, a, b);
			F(nb_harmonic_m2l_3)(a, b, m, w->sum);
		} else {
			F(nb_harmonic_tensor_4)(x[0], x[1], x[2], rinv, a, b);
			F(nb_harmonic_m2l_4)(a, b, m, w->sum);
		}
	}
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}

/* Lets the far cells act on the expansion.  each: with eps2 of their own */
static NB_HD void T(far_act_order)(struct T(room) * w, const struct T(level) * lv, int quad, int each)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	(void)quad;
	T(cells_close)(&w->far, w->plan);
	for (size_t j = 0; j < w->far.n; j += W) {
		enum { POWERS = HIGH == 3 ? NB_HIGH_POWERS - 15 : NB_HIGH_POWERS };
		V x[3], a[TERMS], m[POWERS];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->far.x[d][j]);
		for (int k = 0; k < POWERS; k++)
			m[k] = k >= 1 && k < 4 ? (V){} : LOAD(&w->far.m[k < 1 ? 0 : k - 3][j]) * (S)high_weight[k];
		V soft = each ? LOAD(&w->far_eps2[j]) + eps2 : (V){} + eps2;
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
		if (HIGH == 3) {
			F(nb_tensor_3)(x[0], x[1], x[2], rinv, a);
			F(nb_m2l_3)(a, m, w->sum);
		} else {
			F(nb_tensor_4)(x[0], x[1], x[2], rinv, a);
			F(nb_m2l_4)(a, m, w->sum);
		}
	}
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}
#else
/* Lets the far cells act on the expansion.  each: with eps2 of their own */
static NB_HD void T(far_act_order)(struct T(room) * w, const struct T(level) * lv, int quad, int each)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	T(cells_close)(&w->far, w->plan);
	V sum[TERMS], rate[JERK_ROWS(TERMS)]; /* copies, of which the compiler may keep parts in registers */
	memcpy(sum, w->sum, sizeof sum);
	memcpy(rate, w->rate, sizeof rate);
	for (size_t j = 0; j < w->far.n; j += W) {
		V x[3], q[6], a[NB_TAYLOR], m = T(cell)(&w->far, j, quad, x, q);
		V soft = each ? LOAD(&w->far_eps2[j]) + eps2 : (V){} + eps2;
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
		F(nb_derivatives)(x[0], x[1], x[2], rinv, a);
		F(nb_m2l)(quad, a, m, q, sum);
		if (JERK) {
			V v[3], p[6];
			T(cell_motion)(&w->far, j, quad, v, p);
			for (int d = 0; d < 3; d++)
				v[d] = lv->frame[d] - v[d];
			F(nb_m2l_rate)(quad, a, v[0], v[1], v[2], m, q, p, rate);
		}
	}
	memcpy(w->sum, sum, sizeof sum);
	memcpy(w->rate, rate, sizeof rate);
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}
#endif

static APART void T(far_act_each)(struct T(room) * w, const struct T(level) * lv)
{
	for (size_t j = w->far.n; j % W; j++)
		w->far_eps2[j] = 0;
	w->plan->order > 1 ? T(far_act_order)(w, lv, 1, 1) : T(far_act_order)(w, lv, 0, 1);
}

static void T(far_act)(struct T(room) * w, const struct T(level) * lv)
{
#if HIGH
	if (w->far.n && w->plan->folded) {
		T(far_act_folded)(w);
		return;
	}
#endif
	if (w->far.n && w->plan->law == NB_LAW_PLUMMER)
		T(far_act_each)(w, lv);
	else if (w->far.n)
		w->plan->order > 1 ? T(far_act_order)(w, lv, 1, 0) : T(far_act_order)(w, lv, 0, 0);
}

/* Lets the near cells act on each target.  each: with softenings of their own; folded: by folded moments */
static NB_HD void T(near_act_order)(struct T(room) * w, const struct T(level) * lv, int quad, int each, int folded)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	T(cells_close)(&w->near, w->plan);
	for (size_t i = 0; i < w->ntarget; i++) {
		S at[3], moves[3] = {};
		for (int d = 0; d < 3; d++) {
			at[d] = w->target[d][i] - T(centre)(lv, d);
			if (JERK)
				moves[d] = w->target_v[d][i] + lv->frame[d];
		}
		V acc[3] = {}, jerk[3] = {}, phi = {};
		for (size_t j = 0; j < w->near.n; j += W) {
			V x[3], q[6], m = T(cell)(&w->near, j, quad, x, q);
			for (int d = 0; d < 3; d++)
				x[d] = -at[d] - x[d];
			V soft = (V){} + (each ? w->target_soft[i] : eps2);
			if (each)
				soft = F(nb_choose)(LOAD(&w->near_eps2[j]) > soft, LOAD(&w->near_eps2[j]), soft);
			V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
			V all[MOMENTS];
			for (int k = 0; HIGH && k < (folded ? FOLDED : MOMENTS); k++)
				all[k] = LOAD(&w->near.m[k][j]);
			if (folded) {
				F(nb_m2p_folded)
				(HIGH, x[0], x[1], x[2], rinv, all, &acc[0], &acc[1], &acc[2], &phi);
			} else if (HIGH) {
				F(nb_m2p_high)(HIGH, x[0], x[1], x[2], rinv, all, &acc[0], &acc[1], &acc[2], &phi);
			} else if (JERK) {
				V v[3], p[6];
				T(cell_motion)(&w->near, j, quad, v, p);
				for (int d = 0; d < 3; d++)
					v[d] -= moves[d];
				F(nb_m2p_jerk)
				(quad, x[0], x[1], x[2], v[0], v[1], v[2], rinv, m, q, p, acc, &phi, jerk);
			} else {
				F(nb_m2p)(quad, x[0], x[1], x[2], rinv, m, q, &acc[0], &acc[1], &acc[2], &phi);
			}
		}
		for (int d = 0; d < 3; d++) {
			w->acc[d][i] += F(nb_sum)(acc[d]);
			if (JERK)
				w->jerk[d][i] += F(nb_sum)(jerk[d]);
		}
		w->phi[i] += F(nb_sum)(phi);
	}
	w->count.m2p += w->near.n * w->ntarget;
	w->near.n = 0;
}

static APART void T(near_act_each)(struct T(room) * w, const struct T(level) * lv)
{
	for (size_t j = w->near.n; j % W; j++)
		w->near_eps2[j] = 0;
	w->plan->order > 1 ? T(near_act_order)(w, lv, 1, 1, 0) : T(near_act_order)(w, lv, 0, 1, 0);
}

static void T(near_act)(struct T(room) * w, const struct T(level) * lv)
{
	if (w->near.n && w->plan->law == NB_LAW_PLUMMER)
		T(near_act_each)(w, lv);
	else if (w->near.n && HIGH)
		w->plan->folded ? T(near_act_order)(w, lv, 1, 0, 1) : T(near_act_order)(w, lv, 1, 0, 0);
	else if (w->near.n)
		w->plan->order > 1 ? T(near_act_order)(w, lv, 1, 0, 0) : T(near_act_order)(w, lv, 0, 0, 0);
}

/* Adds the lanes of a family that are in mask; unit: target units in the family's length. */
static NB_HD void T(cells_add)(struct T(cells) * cells, uint32_t mask, const v8d *x, size_t family, float unit)
{
	const v8i lane = {0, 1, 2, 3, 4, 5, 6, 7};
	const V8 units = (V8){} + unit;
	const size_t n = cells->n;
	for (int d = 0; d < 3; d++)
		PACK(&cells->x[d][n], mask, TO_V8(x[d]));
	memcpy(&cells->unit[n], &units, sizeof units);
	pack_u32(&cells->at[n], mask, lane + (int32_t)(family * NB_FAMILY));
	cells->n = n + (size_t)__builtin_popcount(mask);
}

static void T(clear)(struct T(room) * w)
{
	for (int q = 0; q < TERMS; q++)
		w->sum[q] = (V){};
	for (int q = 0; JERK && q < TERMS; q++)
		w->rate[q] = (V){};
}

/* Adds the sums of the M2L to the expansion c.  folded: only those of degree 0 or 1 in z are there */
static void T(collect)(const V *sum, int folded, S *c)
{
	S all[TERMS];
	for (int k = 0; k <= ORDER; k++)
		for (int j = 0; j + k <= ORDER; j++)
			for (int i = 0; i + j + k <= ORDER; i++) {
				int at = ROW(k, j) + i;
				S factor = (S)(inverse_factorial[i] * inverse_factorial[j] * inverse_factorial[k]);
				all[at] = folded && k > 1 ? -(all[ROW(k - 2, j) + i + 2] + all[ROW(k - 2, j + 2) + i])
							  : F(nb_sum)(sum[at]);
				c[at] += factor * all[at];
			}
}

/* Coefficients of the derivatives of c by x, y, z, which are of fourth order. */
static NB_HD void T(gradient)(const S *c, S g[3][TERMS])
{
	for (int k = 0; k < ORDER; k++)
		for (int j = 0; j + k < ORDER; j++)
			for (int i = 0; i + j + k < ORDER; i++) {
				const int at = ROW(k, j) + i;
				g[0][at] = (S)(i + 1) * c[at + 1];
				g[1][at] = (S)(j + 1) * c[ROW(k, j + 1) + i];
				g[2][at] = (S)(k + 1) * c[ROW(k + 1, j) + i];
			}
}

/* The expansions c of eight children (L2L), until now about the parent's centre, about those that are d away: a Taylor
 * shift by repeated synthetic division, one axis after the other. Then from the parent's units to the child's, ratio;
 * unit is that of the value. */
static void T(shift)(V8 *c, V8 dx, V8 dy, V8 dz, V8 ratio, V8 unit)
{
	enum { N = ORDER };
	for (int k = 0; k <= N; k++)
		for (int j = 0; j + k <= N; j++) {
			V8 *row = c + ROW(k, j);
			for (int s = 0; s < N - j - k; s++)
				for (int t = N - j - k - 1; t >= s; t--)
					row[t] += dx * row[t + 1];
		}
	for (int k = 0; k <= N; k++)
		for (int i = 0; i + k <= N; i++)
			for (int s = 0; s < N - i - k; s++)
				for (int t = N - i - k - 1; t >= s; t--)
					c[ROW(k, t) + i] += dy * c[ROW(k, t + 1) + i];
	for (int j = 0; j <= N; j++)
		for (int i = 0; i + j <= N; i++)
			for (int s = 0; s < N - i - j; s++)
				for (int t = N - i - j - 1; t >= s; t--)
					c[ROW(t, j) + i] += dz * c[ROW(t + 1, j) + i];
	V8 power[N + 1];
	power[0] = unit;
	for (int n = 1; n <= N; n++)
		power[n] = power[n - 1] * ratio;
	for (int k = 0; k <= N; k++)
		for (int j = 0; j + k <= N; j++)
			for (int i = 0; i + j + k <= N; i++)
				c[ROW(k, j) + i] *= power[i + j + k];
}

/* Value and gradient of an expansion of order N at x, by Horner's rule in x, y and z. */
static NB_HD void T(horner)(int N, const S *c, const V *x, V *value, V *grad)
{
	V f = {}, fx = {}, fy = {}, fz = {};
	for (int k = N; k >= 0; k--) {
		V g = {}, gx = {}, gy = {};
		for (int j = N - k; j >= 0; j--) {
			const S *row = c + ROW(k, j);
			V h = {}, hx = {};
			for (int i = N - k - j; i >= 0; i--) {
				hx = hx * x[0] + h;
				h = h * x[0] + row[i];
			}
			gy = gy * x[1] + g;
			g = g * x[1] + h;
			gx = gx * x[1] + hx;
		}
		fz = fz * x[2] + f;
		f = f * x[2] + g;
		fx = fx * x[2] + gx;
		fy = fy * x[2] + gy;
	}
	*value = f;
	grad[0] = fx;
	grad[1] = fy;
	grad[2] = fz;
}

/* Lets the expansion act on the targets (L2P): potential and acceleration. */
static void T(evaluate)(struct T(room) * w, const struct T(level) * lv, const S *c)
{
	for (size_t at = 0; at < w->ntarget; at += W) {
		V x[3], f, grad[3];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->target[d][at]) - T(centre)(lv, d);
		T(horner)(ORDER, c, x, &f, grad);
		for (int d = 0; d < 3; d++)
			*(V *)&w->acc[d][at] += grad[d];
		*(V *)&w->phi[at] += f;
	}
}

/* The same of the jerk: the gradient of the expansion's time derivative, and what the target finds where it goes. */
static void T(evaluate_jerk)(struct T(room) * w, const struct T(level) * lv, const S *c, const S *rate)
{
	enum { N = ORDER - 1 };
	S g[3][TERMS];
	T(gradient)(c, g);
	for (size_t at = 0; at < w->ntarget; at += W) {
		V x[3], f, jerk[3];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->target[d][at]) - T(centre)(lv, d);
		T(horner)(N, rate, x, &f, jerk);
		for (int d = 0; d < 3; d++) {
			V second[3], v = LOAD(&w->target_v[d][at]);
			T(horner)(N, g[d], x, &f, second);
			for (int e = 0; e < 3; e++)
				jerk[e] += v * second[e];
		}
		for (int d = 0; d < 3; d++)
			*(V *)&w->jerk[d][at] += jerk[d];
	}
}

/* ---- the walk -------------------------------------------------------------------------------------- */

/* Separation of the target from eight sources, and the quantities that decide. */
struct T(test) {
	v8d x[3];  /* target - source, in target units */
	v8f d2, u; /* its square; with eps^2 */
	v8f size2; /* (radius + reach)^2 */
	v8f m;
	v8f radius;
	float unit; /* target units in the family's length */
	/* where pairs are not softened alike.  Plummer: eps^2 of the cell, and of a pair through the expansion; by how
	 * much that of some pairs may be off, on bodies and on the cell; and how eps^2 is spread in the source, as a
	 * variance, where only that makes an error */
	v8d own, pair;
	v8f off_bodies, off_cell, spread_bodies, spread_cell;
	v8f support; /* spline: the largest of a pair */
	v8f weak;    /* u for the target that feels the source least */
};

/* Lanes in which the softening of some target is between those of the source. */
static NB_HD v8l T(between)(const struct T(level) * lv, v8d least, v8d largest)
{
	v8l between = {};
	if (lv->nkind > KINDS)
		return (least < lv->eps[NB_SOFT_LARGEST]) & (largest > lv->eps[NB_SOFT_LEAST]);
	for (int k = 0; k < lv->nkind; k++)
		between |= (least < lv->kind[k]) & (largest > lv->kind[k]);
	return between;
}

/* Of pairs of the target's bodies and those of each of eight sources.  A pair has the larger softening.  So a source
 * acts with its mean eps^2 on targets that are softened less than all of it, but for the spread; without error on those
 * that are softened more; and on those between with an error of first order. */
static NB_HD void T(measure_soft)(
	const struct nb_walk_plan *plan, size_t family, const struct T(level) * lv, struct T(test) * t)
{
	const struct nb_family_soft *f = &plan->family_soft[family];
	const v8d least = *(const v8d *)f->eps[NB_SOFT_LEAST], largest = *(const v8d *)f->eps[NB_SOFT_LARGEST];
	const double scale = lv->scale;
	t->weak = t->d2 +
		  __builtin_convertvector(
			  square(larger(*(const v8d *)f->eps[NB_SOFT_MEAN], lv->eps[NB_SOFT_LARGEST]) * scale), v8f);
	if (plan->law == NB_LAW_SPLINE) {
		const v8d eps = larger(largest, lv->eps[NB_SOFT_LARGEST]) * (NB_SPLINE_SUPPORT * (1 + 0x1p-20) * scale);
		t->support = __builtin_convertvector(eps, v8f);
		return;
	}
	const v8d low = square(least * scale), high = square(largest * scale);
	const double target_low = lv->eps[NB_SOFT_LEAST] * scale, target_mean = lv->eps[NB_SOFT_MEAN] * scale,
		     target_high = lv->eps[NB_SOFT_LARGEST] * scale;
	const v8d pair_low = larger(low, target_low * target_low);
	t->own = square(*(const v8d *)f->eps[NB_SOFT_MEAN] * scale);
	t->pair = larger(t->own, target_mean * target_mean);
	t->u = t->d2 + __builtin_convertvector(pair_low, v8f);
	const v8f spread = __builtin_convertvector((high - t->own) * (t->own - low), v8f); /* Bhatia & Davis 2000 */

	const v8d on_softest = larger(t->own, target_low * target_low);
	const v8d off_bodies = larger_v(larger(high, target_low * target_low) - on_softest, on_softest - pair_low);
	const v8i between = __builtin_convertvector(T(between)(lv, least, largest), v8i);
	const v8i softer = __builtin_convertvector((v8l)(largest > lv->eps[NB_SOFT_LEAST]), v8i);
	t->off_bodies = (v8f)((v8i) __builtin_convertvector(off_bodies, v8f) & between);
	t->spread_bodies = (v8f)((v8i)spread & softer & ~between);

	const v8d off_cell = larger_v(larger(high, target_high * target_high) - t->pair, t->pair - pair_low);
	const v8i below_all = __builtin_convertvector((v8l)(least >= lv->eps[NB_SOFT_LARGEST]), v8i);
	t->off_cell = (v8f)((v8i) __builtin_convertvector(off_cell, v8f) & ~below_all);
	t->spread_cell = (v8f)((v8i)spread & below_all);
}

/* Estimated error of that. */
static NB_HD v8f T(soft_error)(const struct nb_walk_plan *plan, const struct T(test) * t, v8f off, v8f spread, v8f inv)
{
	const v8f spread2 = spread * (inv * inv);
	return t->m * inv *
	       (plan->soft_weight * (1.5f * off * inv + 1.875f * spread2) +
		       3 * square_root(t->radius * t->radius * inv * spread2));
}

/* soft: with softenings of their own */
static NB_HD struct T(test)
	T(measure)(const struct nb_walk_plan *plan, size_t family, const struct T(level) * lv, float eps2, int soft)
{
	const struct nb_family *f = &plan->family[family];
	struct T(test) t;
	v8f x[3];
	for (int d = 0; d < 3; d++) {
		t.x[d] = (lv->centre[d] - *(const v8d *)f->x[d]) * lv->scale;
		x[d] = __builtin_convertvector(t.x[d], v8f);
	}
	t.d2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
	t.u = t.d2 + eps2;
	t.unit = (float)(lv->scale * f->length);
	t.radius = *(const v8f *)f->radius * t.unit;
	v8f size = t.radius + lv->reach;
	t.size2 = size * size;
	t.m = *(const v8f *)f->mass;
	if (soft)
		T(measure_soft)(plan, family, lv, &t);
	return t;
}

/* Sums a field strength over the source cells that are still to be resolved: m / r^2, each as if spread over
 * its size and the target's. */
static NB_HD float T(strength)(const struct T(room) * w, const struct T(level) * lv, float eps2, int soft)
{
	v8f sum = {};
	for (size_t e = lv->begin; e < lv->end; e++) {
		struct run r = w->entry.at[e];
		struct T(test) t = T(measure)(w->plan, r.family, lv, eps2, soft);
		sum += only(r.mask, t.m / ((soft ? t.weak : t.u) + 0.5f * t.size2 + 0x1p-60f));
	}
	float total = 0;
	for (int k = 0; k < 8; k++)
		total += sum[k];
	return total;
}

static APART float T(strength_soft)(const struct T(room) * w, const struct T(level) * lv)
{
	return T(strength)(w, lv, 0, 1);
}

/* Resolves the target's sources: accepted cells go to w->far (and those that may act on bodies to w->near), and act
 * whenever it is full; of the others, cells larger than the target are opened; the rest goes to the children's
 * entries, or, where the target is a group, the leaves to w->leaf. Branches here are unpredictable, hence the
 * packing of lanes; opened cells wait in a queue, so that what is tested next does not hang on the test before.
 *   small   the group has so few bodies that cells act on each of them only
 *   self    the group may act on itself as a cell
 *   soft    not NB_LAW_COMMON */
static NB_HD int T(resolve)(struct T(room) * w, struct T(level) * lv, int group, int small, int self, int soft)
{
	const struct nb_walk_plan *plan = w->plan;
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	const int plummer = soft && plan->law == NB_LAW_PLUMMER, spline = soft && !plummer;
	const float eps = soft ? 0 : (float)(plan->g->eps * lv->scale), eps2 = eps * eps;
	const v8f limit = (v8f){} + lv->limit, reach = (v8f){} + lv->reach;
	/* closer than this (in f32, powers of the distance would overflow) only bodies act */
	const v8f least = (v8f){} + LEAST;
	v8f field = {};
	for (size_t e = lv->begin, next = 0; e < lv->end || next < w->open.n;) {
		struct run r;
		v8f crowd = {};
		if (e < lv->end) {
			r = w->entry.at[e++];
			crowd = *(const v8f *)plan->family[r.family].mass;
		} else {
			r = (struct run){w->open.at[next], 0xff};
			crowd += w->open.crowd[next++];
		}
		const struct nb_family *f = &plan->family[r.family];
		struct T(test) t = T(measure)(plan, r.family, lv, eps2, soft);
		v8f inv = 1.0f / t.u;
		uint32_t mask = r.mask & below((v8f){}, t.m), take = 0;
		/* of a family so much larger than the target, terms with its moments would overflow */
		uint32_t measurable = t.unit < MOST_UNIT ? 0xff : 0;
		if (plan->deep) /* leaves so far are for T(remote_act) */
			measurable &= below(t.u, (v8f){} + (float)(REMOTE * REMOTE));
		if (!small && measurable) {
			v8f error = nb_mac_on_cell_v8f(HIGH, t.m, crowd, t.size2, reach * reach, inv);
			if (plummer)
				error += T(soft_error)(plan, &t, t.off_cell, t.spread_cell, inv);
			take = mask & measurable & below(t.size2, t.u) & below(least, t.u) & below(error, limit);
			if (spline)
				take &= below(t.radius + lv->reach + t.support, square_root(t.d2));
			/* softening lets cells be taken that overlap the target: those that share bodies with it must
			 * not */
			for (uint32_t shares = take & ~below(t.size2, t.d2); shares && !plan->apart;
				shares &= shares - 1) {
				int b = __builtin_ctz(shares);
				int is_self = r.family == lv->family && (uint32_t)b == lv->lane;
				if (f->first[b] < first + count && first < (size_t)f->first[b] + f->count[b] &&
					!(self && is_self))
					take &= ~(1u << b);
			}
			if (take && !plan->wanted) {
				if (plummer)
					PACK(&w->far_eps2[w->far.n], take, TO_V8(t.pair));
				T(cells_add)(&w->far, take, t.x, r.family, t.unit);
				if (w->far.n > LIST - NB_FAMILY)
					T(far_act)(w, lv);
			}
			if (take && !group)
				field += only(take, soft ? t.m / t.weak : t.m * inv);
		}
		uint32_t rest = mask & ~take, close = 0;
		if (group) {
			/* as seen from the nearest place that a target may be at */
			v8f away = square_root(t.d2) - reach,
			    away2 = away * away + (plummer ? t.u - t.d2 : (v8f){} + eps2);
			v8f error = nb_mac_on_body_v8f(HIGH, t.m, t.radius * t.radius, 1.0f / away2);
			if (plummer)
				error += T(soft_error)(plan, &t, t.off_bodies, t.spread_bodies, 1.0f / away2);
			uint32_t act = rest & measurable & below(t.radius, away) & below(least, away2) &
				       above(f->count, HIGH > 3 ? FEW_4 : FEW) & below(error, limit);
			if (spline)
				act &= below(t.radius + t.support, away);
			rest &= ~act;
			if (act && !plan->wanted) {
				if (plummer)
					PACK(&w->near_eps2[w->near.n], act, TO_V8(t.own));
				T(cells_add)(&w->near, act, t.x, r.family, t.unit);
				if (w->near.n > LIST - NB_FAMILY)
					T(near_act)(w, lv);
			}
			close = w->fine ? ~below(t.radius + CLOSE * reach, away) : 0;
		}
		const uint32_t may = group ? rest : rest & below(reach, t.radius), open = may & above(f->inner, 0);
		rest &= ~open;
		if (plan->wanted)
			rest &= ~miss(plan, r.family, may);
		if (list_reserve(&w->open) || (group ? list_reserve(&w->leaf) || list_reserve(&w->close)
						     : runs_reserve(&w->entry, w->entry.n + 1)))
			return NB_ENOMEM;
		pack_u32(w->open.at + w->open.n, open, *(const v8i *)f->inner);
		pack_v8f(w->open.crowd + w->open.n, open, crowd);
		w->open.n += (size_t)__builtin_popcount(open);
		if (group) {
			const v8i lane = {0, 1, 2, 3, 4, 5, 6, 7};
			const v8i leaf = lane + (int32_t)(r.family * NB_FAMILY);
			list_add(&w->close, rest & close, leaf);
			list_add(&w->leaf, rest & ~close, leaf);
		} else {
			w->entry.at[w->entry.n] = (struct run){r.family, rest};
			w->entry.n += rest != 0;
		}
	}
	w->open.n = 0;
	for (int k = 0; k < 8; k++)
		lv->far += field[k];
	return NB_OK;
}

/* For other laws than the common one. */
static APART int T(resolve_soft)(struct T(room) * w, struct T(level) * lv, int group, int small, int self)
{
	return !group  ? T(resolve)(w, lv, 0, 0, 0, 1)
	       : small ? T(resolve)(w, lv, 1, 1, 0, 1)
		       : T(resolve)(w, lv, 1, 0, self, 1);
}

/* Makes n bodies from first on the targets. */
static void T(targets)(struct T(room) * w, const struct T(level) * lv, size_t first, size_t n)
{
	w->target_first = first;
	w->ntarget = n;
	S *const x[3] = {w->target[0], w->target[1], w->target[2]};
	S *const low[3] = {w->target_low[0], w->target_low[1], w->target_low[2]};
	S *const v[3] = {w->target_v[0], w->target_v[1], w->target_v[2]};
	T(positions)(w, w->plan->at, lv, first, n, x, low);
	if (JERK)
		T(velocities)(w, lv, first, n, v);
	if (w->plan->law != NB_LAW_COMMON)
		T(softs)(w->plan->at, lv, first, n, w->target_soft);
	for (int d = 0; d < 3; d++) {
		/* targets are taken in pairs */
		w->target[d][n] = w->target[d][n - 1];
		w->target_low[d][n] = w->target_low[d][n - 1];
		memset(w->acc[d], 0, (n + 1) * sizeof(S));
		if (JERK) {
			w->target_v[d][n] = w->target_v[d][n - 1];
			memset(w->jerk[d], 0, (n + 1) * sizeof(S));
		}
	}
	memset(w->phi, 0, (n + 1) * sizeof(S));
}

/* Writes acceleration and potential of target k, to which phi belongs too, to the row of body `to`. */
static NB_HD void T(row)(const struct T(room) * w, const struct T(level) * lv, size_t to, size_t k, double phi)
{
	const struct nb_gravity *g = w->plan->at;
	const double pot_unit = g->G * lv->scale / w->plan->mass;
	to = w->plan->row ? w->plan->row[to] : to;
	for (int d = 0; d < 3; d++)
		g->acc[3 * to + (size_t)d] = (double)w->acc[d][k] * lv->scale * pot_unit + w->remote[d] * g->G;
	if (g->pot)
		g->pot[to] = -((double)w->phi[k] + phi) * pot_unit - w->remote[3] * g->G;
}

/* Writes the jerk of target k; with what softened bodies in the same place do to each other.
 *   inverse_eps  1 / their softening in target units, or 0 where there are none */
static NB_HD void T(row_jerk)(
	const struct T(room) * w, const struct T(level) * lv, size_t to, size_t k, double inverse_eps)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_gravity *g = plan->g;
	const double unit = g->G * lv->scale / plan->mass * lv->scale / plan->speed * lv->scale;
	const double middle = plan->law == NB_LAW_SPLINE ? nb_spline_inner_acc_f64(0) / SUPPORT3 : 1;
	const double weight = plan->tree->mass[lv->node] * plan->mass * middle *
			      (inverse_eps * inverse_eps * inverse_eps);
	for (int d = 0; d < 3; d++) {
		double jerk = (double)w->jerk[d][k];
		if (inverse_eps > 0) /* their velocities are relative to the mean */
			jerk -= weight * (double)w->target_v[d][k];
		g->jerk[3 * to + (size_t)d] = jerk * unit + w->remote[4 + d] * g->G;
	}
}

/* Finds the softenings of a group's bodies. */
static APART void T(find_kinds)(const struct nb_walk_plan *plan, struct T(level) * lv)
{
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	lv->nkind = 0;
	for (size_t b = first; b < first + count && lv->nkind <= KINDS; b++) {
		const double eps = plan->at->body_eps ? plan->at->body_eps[b] : plan->at->eps;
		int k = 0;
		while (k < lv->nkind && lv->kind[k] != eps)
			k++;
		if (k == lv->nkind && lv->nkind++ < KINDS)
			lv->kind[k] = eps;
	}
}

/* Resolves the sources of a group. */
static NB_HD int T(find_sources)(struct T(room) * w, struct T(level) * lv, int small, int self)
{
	return w->plan->law != NB_LAW_COMMON ? T(resolve_soft)(w, lv, 1, small, self)
	       : small			     ? T(resolve)(w, lv, 1, 1, 0, 0)
					     : T(resolve)(w, lv, 1, 0, self, 0);
}

/* Marks the lanes of a list as wanted. */
static void T(want)(const struct nb_walk_plan *plan, struct list *leaf)
{
	for (size_t k = 0; k < leaf->n; k++)
		__atomic_store_n(&plan->wanted[leaf->at[k]], NB_WALK_BODIES, __ATOMIC_RELAXED);
	leaf->n = 0;
}

/* Acts on the bodies of a group, and writes their rows. */
static int T(group)(struct T(room) * w, struct T(level) * lv)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_gravity *g = plan->g;
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	const int common = plan->law == NB_LAW_COMMON, apart = plan->apart;
	const double least_eps = common ? g->eps : lv->eps[NB_SOFT_LEAST];
	const float eps = (float)(least_eps * lv->scale);
	const int coincident = plan->reach[lv->node] == 0 && count > 1 &&
			       (common || least_eps == lv->eps[NB_SOFT_LARGEST]);
	const int fine = plan->g->precision == NB_MIXED || eps < FINE;
	/* a leaf of many bodies that are close by the measure of the softening may act on itself as a cell */
	int self = 0;
	if (count > (HIGH > 3 ? NB_WALK_GROUP_4 : NB_WALK_GROUP) && !coincident && common && !apart) {
		struct T(test) t = T(measure)(plan, lv->family, lv, eps * eps, 0);
		v8f error = nb_mac_on_cell_v8f(HIGH, t.m, t.m, t.size2, (v8f){} + lv->reach * lv->reach, 1.0f / t.u);
		self = t.size2[lv->lane] < t.u[lv->lane] && error[lv->lane] < lv->limit;
	}
	/* coincident bodies have one acceleration, but each its jerk */
	const int shared = coincident && !JERK;
	const size_t ntarget = shared ? 1 : count;
	if (plan->wanted) {
		const int status = T(find_sources)(w, lv, ntarget <= NB_WALK_SMALL, self);
		T(want)(plan, &w->close);
		T(want)(plan, &w->leaf);
		return status;
	}
	for (size_t start = 0; start < ntarget; start += TARGETS) {
		const size_t n = ntarget - start < TARGETS ? ntarget - start : TARGETS;
		const int small = ntarget <= NB_WALK_SMALL;
		w->fine = fine && sizeof(S) < sizeof(double);
		T(targets)(w, lv, first + start, n);
		T(clear)(w);
		memset(w->remote, 0, sizeof w->remote);
		if (!coincident && !self && !apart) {
			for (size_t b = first; b < first + count; b += SOURCES) {
				size_t end = b + SOURCES < first + count ? b + SOURCES : first + count;
				T(sources_act)(w, lv);
				T(gather)(w, lv, b, end);
				w->own_first = b;
				w->own = end - b;
			}
			w->count.p2p -= n;
		}
		int status = T(find_sources)(w, lv, small, self);
		if (status)
			return status;
		if (w->fine) {
			T(gather_leaves)(w, lv, &w->close);
			T(sources_act)(w, lv);
			w->fine = plan->g->precision == NB_MIXED;
		}
		T(gather_leaves)(w, lv, &w->leaf);
		T(sources_act)(w, lv);
		T(far_act)(w, lv);
		T(near_act)(w, lv);
		S c[TERMS], rate[JERK_ROWS(TERMS)];
		memcpy(c, lv->c, sizeof c);
		memcpy(rate, lv->rate, sizeof rate);
		if (!small) {
			T(collect)(w->sum, HIGH && plan->folded, c);
			if (JERK)
				T(collect)(w->rate, 0, rate);
		}
		T(evaluate)(w, lv, c);
		if (JERK)
			T(evaluate_jerk)(w, lv, c, rate);

		const double inverse_eps = 1 / (least_eps * lv->scale);
		const size_t rows = shared ? count : n;
		for (size_t k = 0; k < rows; k++) {
			const size_t to = first + start + k;
			double phi = 0;
			if (self)
				phi -= g->mass[to] * plan->mass * inverse_eps;
			if (coincident && !apart && least_eps > 0)
				phi += (plan->tree->mass[lv->node] - g->mass[to]) * plan->mass * inverse_eps;
			T(row)(w, lv, to, shared ? 0 : k, phi);
			if (JERK)
				T(row_jerk)(w, lv, to, k, coincident && least_eps > 0 ? inverse_eps : 0);
		}
	}
	w->count.groups++;
	return NB_OK;
}

/* Velocity of a node relative to the root. */
static NB_HD S T(frame)(const struct nb_walk_plan *plan, size_t node, int d)
{
	return (S)((plan->velocity[3 * node + (size_t)d] - plan->velocity[d]) * plan->speed);
}

/* Gives the children their expansions (L2L). */
static void T(hand_down)(const struct T(room) * w, struct T(level) * lv)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_tree *tree = plan->target;
	const uint32_t child = tree->child[lv->node], nchild = tree->nchild[lv->node];
	V8 d[3] = {}, v[3] = {}, unit = (V8){} + 1;
	for (uint32_t b = 0; b < nchild; b++) {
		for (int k = 0; k < 3; k++) {
			d[k][b] = (S)((middle(tree, child + b, k) - lv->centre[k]) * lv->scale);
			if (JERK)
				v[k][b] = T(frame)(plan, child + b, k) - lv->frame[k];
		}
		unit[b] = (S)(lv->scale / child_unit(plan, lv->node, child + b, lv->scale));
	}
	for (int q = 0; q < TERMS; q++)
		lv->child_c[q] = (V8){} + lv->c[q];
	T(shift)(lv->child_c, d[0], d[1], d[2], unit, unit);
	if (!JERK)
		return;
	/* a centre that moves otherwise finds another field where it goes */
	S g[3][TERMS] = {};
	T(gradient)(lv->c, g);
	for (int q = 0; q < TERMS; q++)
		lv->child_rate[q] = lv->rate[q] + v[0] * g[0][q] + v[1] * g[1][q] + v[2] * g[2][q];
	T(shift)(lv->child_rate, d[0], d[1], d[2], unit, unit * unit);
}

/* Whether a node of points has so many sources around it that its children are better walked one by one: a list for all
 * would be a long one. */
static APART int T(is_crowded)(const struct T(room) * w, const struct T(level) * lv)
{
	float sum = 0;
	if (w->nlevel == 1) /* nothing has been opened yet */
		return w->plan->g->n > CROWD;
	for (size_t e = lv->begin; e < lv->end; e++) {
		const struct run r = w->entry.at[e];
		const struct nb_family *f = &w->plan->family[r.family];
		const struct T(test) t = T(measure)(w->plan, r.family, lv, 0, 0);
		/* of a source that is much larger not all is near, but perhaps most of it */
		for (uint32_t mask = r.mask & below(t.d2, t.size2); mask; mask &= mask - 1) {
			const int b = __builtin_ctz(mask);
			sum += (float)f->count[b] * fminf(1, 2 * lv->reach / (lv->reach + t.radius[b]));
		}
	}
	return sum > CROWD;
}

/* Enters a node: child `lane` of the node of the last level, or the root. */
static int T(enter)(struct T(room) * w, uint32_t lane)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_tree *tree = plan->target;
	if (w->nlevel == w->level_capacity) {
		size_t capacity = 2 * w->level_capacity + 32;
		struct T(level) *level = nb_alloc(capacity, sizeof *level);
		if (!level)
			return NB_ENOMEM;
		if (w->nlevel)
			memcpy(level, w->level, w->nlevel * sizeof *level);
		nb_free(w->level);
		w->level = level;
		w->level_capacity = capacity;
	}
	struct T(level) *lv = &w->level[w->nlevel++];
	const struct T(level) *up = w->nlevel > 1 ? lv - 1 : NULL;
	lv->node = up ? tree->child[up->node] + lane : 0;
	lv->family = up && !plan->apart ? plan->inner[up->node] : 0;
	lv->lane = lane;
	lv->next = 0;
	for (int d = 0; d < 3; d++)
		lv->centre[d] = middle(tree, lv->node, d);
	lv->scale = up ? child_unit(plan, up->node, lv->node, up->scale)
		       : target_unit(plan, plan->reach[lv->node], plan->length);
	lv->reach = round_up(plan->reach[lv->node] * lv->scale);
	const float ratio = up ? (float)(up->scale / lv->scale) : 1;
	lv->begin = up ? up->mark : 0;
	lv->end = w->entry.n;
	lv->far = up ? up->far * ratio * ratio : 0;
	for (int q = 0; q < TERMS; q++)
		lv->c[q] = up ? up->child_c[q][lane] : 0;
	if (JERK) {
		for (int q = 0; q < TERMS; q++)
			lv->rate[q] = up ? up->child_rate[q][lane] : 0;
		for (int d = 0; d < 3; d++)
			lv->frame[d] = T(frame)(plan, lv->node, d);
	}

	for (size_t k = 0; plan->soft && k < NB_SOFT; k++)
		lv->eps[k] = plan->soft[NB_SOFT * (size_t)lv->node + k];
	lv->nkind = 0;
	const float eps = plan->soft ? 0 : (float)(plan->g->eps * lv->scale);
	const int group = plan->group[lv->node] && !(plan->apart && tree->nchild[lv->node] > 0 && T(is_crowded)(w, lv));
	lv->group = group;
	const double sigma = plan->length / lv->scale;
	if (plan->least)
		lv->limit = (float)((double)plan->least[lv->node] * sigma * sigma);
	else if (group && up && !plan->apart && !plan->limit)
		lv->limit = up->limit * ratio * ratio;
	else
		lv->limit = plan->error *
			    (lv->far + (plan->soft ? T(strength_soft)(w, lv) : T(strength)(w, lv, eps * eps, 0)));
	/* points need not be where sources are, and the field not what it is around them */
	if (group && up && plan->apart)
		lv->limit = fminf(lv->limit, up->limit * ratio * ratio);
	if (plan->limit) {
		double limit = (double)lv->limit / sigma / sigma;
		__atomic_store(&plan->limit[lv->node], &limit, __ATOMIC_RELAXED);
		if (group)
			return NB_OK;
	}
	if (group && plan->law == NB_LAW_PLUMMER)
		T(find_kinds)(plan, lv);
	if (group)
		return T(group)(w, lv);

	T(clear)(w);
	w->ntarget = 0;
	lv->mark = w->entry.n;
	int status = plan->soft ? T(resolve_soft)(w, lv, 0, 0, 0) : T(resolve)(w, lv, 0, 0, 0, 0);
	if (status || plan->wanted)
		return status;
	T(far_act)(w, lv);
	T(collect)(w->sum, HIGH && plan->folded, lv->c);
	if (JERK)
		T(collect)(w->rate, 0, lv->rate);
	T(hand_down)(w, lv);
	return NB_OK;
}

/* Visits the nodes depth first. Above the parts every thread does the same, which is little; a part is walked
 * by the thread whose ticket it is. */
static int T(walk)(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	struct T(room) *w = nb_alloc_zero(1, sizeof *w);
	if (!w)
		return NB_ENOMEM;
	w->plan = plan;
	uint32_t ticket = nb_walk_claim(share), rank = 0; /* rank: parts passed so far */
	size_t part = 0;				  /* the level at which the present part began; 0: outside */
	int status = runs_reserve(&w->entry, 1);
	uint32_t node = 0, lane = 0;
	if (!status)
		w->entry.at[w->entry.n++] = (struct run){0, 1};
	while (!status) {
		/* enter the node, unless others walk all its parts */
		if (part || rank + plan->npart[node] > ticket) {
			w->counts = part || rank == ticket;
			if (!part && is_part(plan, node)) {
				part = w->nlevel + 1;
				rank++;
			}
			status = T(enter)(w, lane);
			if (status)
				break;
		} else {
			rank += plan->npart[node];
		}
		/* on to the next child, sibling, or sibling of an ancestor */
		while (w->nlevel) {
			struct T(level) *lv = &w->level[w->nlevel - 1];
			if (!lv->group && lv->next < plan->target->nchild[lv->node])
				break;
			if (part == w->nlevel) {
				part = 0;
				ticket = nb_walk_claim(share);
			}
			w->entry.n = lv->end; /* what it left for its children */
			w->nlevel--;
		}
		if (!w->nlevel)
			break;
		struct T(level) *lv = &w->level[w->nlevel - 1];
		lane = lv->next++;
		node = plan->target->child[lv->node] + lane;
	}
	count->p2p += w->count.p2p;
	count->m2p += w->count.m2p;
	count->m2l += w->count.m2l;
	count->groups += w->count.groups;
	nb_free(w->entry.at);
	nb_free(w->open.at);
	nb_free(w->leaf.at);
	nb_free(w->close.at);
	nb_free(w->level);
	nb_free(w);
	return status;
}

#undef T
#undef HIGH
#undef ORDER
#undef TERMS
#undef ROW
#undef FOLDED
#undef LEAST
#undef WITH
#undef JERK
#undef JERK_ROWS
#undef MOMENTS
#undef F
#undef V
#undef VI
#undef V8
#undef S
#undef W
#undef CUBE
#undef EPS2
#undef FLOOR
#undef PACK
#undef TO_V8
#undef LOAD
#undef MOST_UNIT
#undef EACH_TARGET
#undef PASTE_WITH
#undef PASTE_ORDER
#undef NB_WALK_F64
