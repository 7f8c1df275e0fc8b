/* tile_body.h - forces between two tiles of bodies, for one precision; included by *_simd.c once for
 * each NB_TILE_PRECISION = NB_F32, NB_MIXED, NB_F64 (as 0, 1, 2: the preprocessor does not know enums).
 *
 * A tile is up to NB_TILE_F32 or NB_TILE_F64 bodies column by column.  Targets i are taken NB_GROUP at a
 * time, each broadcast to all lanes; sources j run through the lanes.  Sums of a target stay in registers and
 * are added over the lanes at the end; sums of a source (Newton's third law) are loaded, added to and
 * stored, so nothing is ever shuffled.  Two interactions cost, per vector of f32,
 *   NB_EACH     3 additions, 15 multiplications or multiply-adds, 1 reciprocal root;
 *   NB_UNIFORM  13 in place of 15, where both tiles have one mass each, brought in at the end;
 *   NB_SOURCE   3, 11 and 1 for one interaction, without Newton's third law.
 *
 * The dependency chain of a pair is some 45 cycles long, and no scheduler is deep enough to overlap as
 * many pairs as that takes: AVX-512 code is software-pipelined by hand in three stages (separate, weigh,
 * apply), on three vectors of sources at a time.  Measured on Zen 5: 1.05 to 1.17 times faster; 80 % of the
 * bound, two multiply-adds a cycle.
 *
 * Rows past the last body are filled with bodies so far off that d/r^3 underflows to exactly 0. */

#if NB_TILE_PRECISION == 2
#define T(name) name##_f64
#define V nb_vd
#define S double
#define P double
#define I int64_t
#define VI nb_vdi
#define F(name) name##_vd
#define W ((size_t)NB_WD)
#define TILE_ROWS NB_TILE_F64
#define FAR 0x1p+400
#define CUBE 1.0
#define FLOOR NB_PAIR_FLOOR_F64
#else
#if NB_TILE_PRECISION == 1
#define T(name) name##_mixed
#define P double
#define TILE_ROWS NB_TILE_F64
#else
#define T(name) name##_f32
#define P float
#define TILE_ROWS NB_TILE_F32
#endif
#define V nb_vf
#define S float
#define I int32_t
#define VI nb_vfi
#define F(name) name##_vf
#define W ((size_t)NB_WF)
#define FAR 0x1p+60
#define CUBE NB_CUBE_F32
#define FLOOR NB_PAIR_FLOOR_F32
#endif

/* room for the last, partly filled vector and the two that the pipeline reads ahead; columns start
 * in different sets of the cache */
#define CAPACITY (TILE_ROWS + (TILE_ROWS == NB_TILE_F32 ? 80 : 48))
#define TILE struct T(tile)
#define FLIGHT struct T(flight)
#define LOAD(p) (*(const V *)(p))

struct T(tile) {
	P x[3][CAPACITY];
	S m[CAPACITY];
	S acc[3][CAPACITY];
	S v[3][CAPACITY];
	S pot[CAPACITY];
	S jerk[3][CAPACITY];
	size_t n;
	int uniform;				       /* all m are equal */
	S soft[CAPACITY] __attribute__((aligned(64))); /* nb_gravity_soft, except for NB_LAW_COMMON */
} __attribute__((aligned(64)));
_Static_assert(CAPACITY * sizeof(S) % 64 == 0 && CAPACITY >= TILE_ROWS + 3 * NB_VECTOR / sizeof(S), "aligned, padded");
_Static_assert(2 * sizeof(TILE) <= NB_TILE_BYTES, "two tiles fit");

static void T(fill_soft)(TILE *t, size_t at, const struct nb_gravity_plan *plan, size_t first, size_t n)
{
	double soft[64];
	for (size_t k = 0; k < n; k += sizeof soft / sizeof *soft) {
		const size_t some = n - k < sizeof soft / sizeof *soft ? n - k : sizeof soft / sizeof *soft;
		nb_gravity_soft(plan->g, first + k, some, plan->scale.length, FLOOR, soft);
		for (size_t j = 0; j < some; j++)
			t->soft[at + k + j] = (S)soft[j];
	}
}

/* Rows at.. of the tile from bodies first..first+n-1; origin in scaled units. */
static void T(tile_fill)(
	TILE *t, size_t at, const struct nb_gravity_plan *plan, size_t first, size_t n, const double *origin)
{
	const double *pos = plan->g->pos + 3 * first;
	const double *mass = plan->g->mass + first;
	const double length = plan->scale.length;
	const double mscale = plan->scale.mass;
	for (size_t k = 0; k < n; k++) {
		t->x[0][at + k] = (P)(pos[3 * k] * length - origin[0]);
		t->x[1][at + k] = (P)(pos[3 * k + 1] * length - origin[1]);
		t->x[2][at + k] = (P)(pos[3 * k + 2] * length - origin[2]);
	}
	for (size_t k = 0; k < n; k++)
		t->m[at + k] = (S)(mass[k] * mscale);
	if (plan->law != NB_LAW_COMMON)
		T(fill_soft)(t, at, plan, first, n);
	if (!plan->g->jerk)
		return;
	const double *vel = plan->g->vel + 3 * first;
	const double vscale = plan->scale.velocity;
	for (size_t k = 0; k < n; k++)
		for (int d = 0; d < 3; d++)
			t->v[d][at + k] = (S)(vel[3 * k + d] * vscale);
}

/* n rows are filled: pads the rest. */
static void T(tile_close)(TILE *t, size_t n, const struct nb_gravity_plan *plan, const double *origin)
{
	const size_t end = (n + W - 1) / W * W + 2 * W;
	for (size_t k = n; k < end; k++) {
		for (int d = 0; d < 3; d++) {
			t->x[d][k] = (P)(plan->middle[d] - origin[d] + FAR);
			t->v[d][k] = 0;
		}
		t->m[k] = 0;
	}
	for (size_t k = n; plan->law != NB_LAW_COMMON && k < end; k++)
		t->soft[k] = (S)FLOOR;
	S low = (S)INFINITY, high = -(S)INFINITY;
#pragma omp simd reduction(min : low) reduction(max : high)
	for (size_t k = 0; k < n; k++) {
		low = t->m[k] < low ? t->m[k] : low;
		high = t->m[k] > high ? t->m[k] : high;
	}
	t->n = n;
	t->uniform = low == high;
}

static void T(tile_clear)(TILE *t, const struct nb_gravity *g)
{
	memset(t->acc, 0, sizeof t->acc);
	if (g->pot)
		memset(t->pot, 0, sizeof t->pot);
	if (g->jerk)
		memset(t->jerk, 0, sizeof t->jerk);
}

/* separation of sources j.. from target i */
static NB_HD V T(apart)(const P *source, P target)
{
#if NB_TILE_PRECISION == 1
	return nb_narrow(*(const nb_vd *)source - target, *(const nb_vd *)(source + NB_WD) - target);
#else
	return LOAD(source) - target;
#endif
}

/* ---- accelerations alone --------------------------------------------------------------------------- */

#define EACH_TARGET _Pragma("GCC unroll 4") for (int k = 0; k < NB_GROUP; k++)

/* A vector of sources on its way past a group of targets: separation, r2, guess of 1/sqrt(r2) and later
 * its cube, the weight. */
struct T(flight) {
	V x[NB_GROUP], y[NB_GROUP], z[NB_GROUP], r[NB_GROUP], w[NB_GROUP];
};

static NB_HD void T(separate)(FLIGHT *f, const TILE *ti, size_t i, const TILE *tj, size_t j, S eps2)
{
	EACH_TARGET f->x[k] = T(apart)(&tj->x[0][j], ti->x[0][i + k]);
	EACH_TARGET f->y[k] = T(apart)(&tj->x[1][j], ti->x[1][i + k]);
	EACH_TARGET f->z[k] = T(apart)(&tj->x[2][j], ti->x[2][i + k]);
	EACH_TARGET f->r[k] = F(nb_pair_r2)(f->x[k], f->y[k], f->z[k], (V){} + eps2);
	EACH_TARGET f->w[k] = F(nb_guess)(f->r[k]);
}

static NB_HD void T(weigh)(FLIGHT *f)
{
	EACH_TARGET f->w[k] = F(nb_cube)(f->r[k], f->w[k]);
}

static NB_HD void T(apply)(
	FLIGHT *f, enum nb_masses masses, const TILE *ti, size_t i, TILE *tj, size_t j, V sum[3][NB_GROUP])
{
	EACH_TARGET
	{
		const V w = masses == NB_UNIFORM ? f->w[k] : LOAD(&tj->m[j]) * f->w[k];
		F(nb_pair_add)(w, f->x[k], f->y[k], f->z[k], &sum[0][k], &sum[1][k], &sum[2][k]);
	}
	if (masses == NB_SOURCE)
		return;
	V ax = LOAD(&tj->acc[0][j]), ay = LOAD(&tj->acc[1][j]), az = LOAD(&tj->acc[2][j]);
	EACH_TARGET
	{
		const V w = masses == NB_UNIFORM ? f->w[k] : ti->m[i + k] * f->w[k];
		F(nb_pair_sub)(w, f->x[k], f->y[k], f->z[k], &ax, &ay, &az);
	}
	*(V *)&tj->acc[0][j] = ax;
	*(V *)&tj->acc[1][j] = ay;
	*(V *)&tj->acc[2][j] = az;
}

/* Every target of ti against every source of tj. */
static NB_HD void T(sweep)(enum nb_masses masses, TILE *ti, TILE *tj, S eps2)
{
	const size_t end = (tj->n + W - 1) / W * W;
	for (size_t i = 0; i < ti->n; i += NB_GROUP) {
		V sum[3][NB_GROUP] = {};
		FLIGHT f0;
#if defined(NB_ISA_avx512)
		FLIGHT f1, f2;
		T(separate)(&f0, ti, i, tj, 0, eps2);
		T(separate)(&f1, ti, i, tj, W, eps2);
		T(weigh)(&f0);
#define STEP(last, mid, first)                           \
	T(separate)(&first, ti, i, tj, j + 2 * W, eps2); \
	T(weigh)(&mid);                                  \
	T(apply)(&last, masses, ti, i, tj, j, sum);      \
	if ((j += W) >= end)                             \
		break;
		for (size_t j = 0;;) {
			STEP(f0, f1, f2)
			STEP(f1, f2, f0)
			STEP(f2, f0, f1)
		}
#undef STEP
#else
		for (size_t j = 0; j < end; j += W) {
			T(separate)(&f0, ti, i, tj, j, eps2);
			T(weigh)(&f0);
			T(apply)(&f0, masses, ti, i, tj, j, sum);
		}
#endif
		EACH_TARGET for (int d = 0; d < 3; d++) ti->acc[d][i + k] = F(nb_sum)(sum[d][k]);
	}
}

/* ---- with potential, jerk or both ------------------------------------------------------------------ */

/* masses is NB_EACH or NB_SOURCE; self (for the latter): row i of ti is row self + i of tj, if there is such a row.
 * Only pairs with r2 > none count: coincident ones do not where eps = 0. */
static NB_HD void T(sweep_more)(
	enum nb_masses masses, int pot, int jerk, TILE *ti, TILE *tj, ptrdiff_t self, S eps2, S none)
{
	const size_t end = (tj->n + W - 1) / W * W;
	for (size_t i = 0; i < ti->n; i++) {
		V ax = {}, ay = {}, az = {}, p = {}, jx = {}, jy = {}, jz = {};
		const V mi = (V){} + ti->m[i];
		for (size_t j = 0; j < end; j += W) {
			V x = T(apart)(&tj->x[0][j], ti->x[0][i]);
			V y = T(apart)(&tj->x[1][j], ti->x[1][i]);
			V z = T(apart)(&tj->x[2][j], ti->x[2][i]);
			V r2 = F(nb_pair_r2)(x, y, z, (V){} + eps2);
			VI counts = r2 > none;
			if (masses == NB_SOURCE)
				counts &= F(nb_lane)() != (I)(self + (ptrdiff_t)i - (ptrdiff_t)j);
			V rinv = F(nb_where)(counts, F(nb_rsqrt)(r2));
			V rinv2 = rinv * rinv;
			V w = rinv * rinv2;
			V mj = LOAD(&tj->m[j]);
			V wi = mj * w, wj = mi * w; /* of the target, of the source */
			F(nb_pair_add)(wi, x, y, z, &ax, &ay, &az);
			if (masses == NB_EACH) {
				V *bx = (V *)&tj->acc[0][j], *by = (V *)&tj->acc[1][j], *bz = (V *)&tj->acc[2][j];
				F(nb_pair_sub)(wj, x, y, z, bx, by, bz);
			}
			if (pot) {
				p -= mj * rinv;
				if (masses == NB_EACH)
					*(V *)&tj->pot[j] -= mi * rinv;
			}
			if (jerk) {
				V vx = LOAD(&tj->v[0][j]) - ti->v[0][i];
				V vy = LOAD(&tj->v[1][j]) - ti->v[1][i];
				V vz = LOAD(&tj->v[2][j]) - ti->v[2][i];
				F(nb_pair_jerk)(rinv2, x, y, z, &vx, &vy, &vz);
				F(nb_pair_add)(wi, vx, vy, vz, &jx, &jy, &jz);
				if (masses == NB_EACH) {
					V *bx = (V *)&tj->jerk[0][j], *by = (V *)&tj->jerk[1][j],
					  *bz = (V *)&tj->jerk[2][j];
					F(nb_pair_sub)(wj, vx, vy, vz, bx, by, bz);
				}
			}
		}
		ti->acc[0][i] = F(nb_sum)(ax);
		ti->acc[1][i] = F(nb_sum)(ay);
		ti->acc[2][i] = F(nb_sum)(az);
		if (pot)
			ti->pot[i] = F(nb_sum)(p);
		if (jerk) {
			ti->jerk[0][i] = F(nb_sum)(jx);
			ti->jerk[1][i] = F(nb_sum)(jy);
			ti->jerk[2][i] = F(nb_sum)(jz);
		}
	}
}

/* ---- with softenings of their own, or a spline ------------------------------------------------------ */

/* As sweep_more, of pairs of a law that is not common. */
static NB_HD void T(sweep_soft)(
	enum nb_masses masses, enum nb_pair_law law, int pot, int jerk, TILE *ti, TILE *tj, ptrdiff_t self)
{
	const int spline = law == NB_LAW_SPLINE;
	const size_t end = (tj->n + W - 1) / W * W;
	for (size_t i = 0; i < ti->n; i++) {
		V acc[3] = {}, turn[3] = {}, p = {};
		const V mi = (V){} + ti->m[i], si = (V){} + ti->soft[i];
		for (size_t j = 0; j < end; j += W) {
			V d[3], v[3], sj = LOAD(&tj->soft[j]), mj = LOAD(&tj->m[j]);
			for (int c = 0; c < 3; c++)
				d[c] = T(apart)(&tj->x[c][j], ti->x[c][i]);
			const V soft = F(nb_choose)(spline ? sj < si : sj > si, sj, si);
			const V eps2 = spline ? (V){} + (S)FLOOR : soft;
			struct F(nb_pull)
				pull = F(nb_soften)(spline, jerk, F(nb_pair_r2)(d[0], d[1], d[2], eps2), soft);
			if (masses == NB_SOURCE)
				pull.p = F(nb_where)(F(nb_lane)() != (I)(self + (ptrdiff_t)i - (ptrdiff_t)j), pull.p);
			const V wi = mj * pull.w, wj = mi * pull.w; /* of the target, of the source */
			F(nb_pair_add)(wi, d[0], d[1], d[2], &acc[0], &acc[1], &acc[2]);
			if (masses == NB_EACH)
				F(nb_pair_sub)
			(wj, d[0], d[1], d[2], (V *)&tj->acc[0][j], (V *)&tj->acc[1][j], (V *)&tj->acc[2][j]);
			if (pot) {
				p -= mj * pull.p;
				if (masses == NB_EACH)
					*(V *)&tj->pot[j] -= mi * pull.p;
			}
			if (!jerk)
				continue;
			for (int c = 0; c < 3; c++)
				v[c] = LOAD(&tj->v[c][j]) - ti->v[c][i];
			F(nb_turn)(pull.f, d[0], d[1], d[2], &v[0], &v[1], &v[2]);
			F(nb_pair_add)(wi, v[0], v[1], v[2], &turn[0], &turn[1], &turn[2]);
			if (masses == NB_EACH)
				F(nb_pair_sub)
			(wj, v[0], v[1], v[2], (V *)&tj->jerk[0][j], (V *)&tj->jerk[1][j], (V *)&tj->jerk[2][j]);
		}
		for (int c = 0; c < 3; c++) {
			ti->acc[c][i] = F(nb_sum)(acc[c]);
			if (jerk)
				ti->jerk[c][i] = F(nb_sum)(turn[c]);
		}
		if (pot)
			ti->pot[i] = F(nb_sum)(p);
	}
}

static NB_HD void T(sweep_wanted)(
	enum nb_masses masses, enum nb_pair_law law, const struct nb_gravity *g, TILE *a, TILE *b, ptrdiff_t self)
{
	if (g->jerk)
		T(sweep_soft)(masses, law, 1, 1, a, b, self);
	else if (g->pot)
		T(sweep_soft)(masses, law, 1, 0, a, b, self);
	else
		T(sweep_soft)(masses, law, 0, 0, a, b, self);
}

/* Apart from interact, so that the loops there stay as they are. */
static __attribute__((noinline)) void T(sweep_law)(
	int one, enum nb_pair_law law, const struct nb_gravity *g, TILE *a, TILE *b, ptrdiff_t self)
{
	if (law == NB_LAW_PLUMMER)
		one ? T(sweep_wanted)(NB_SOURCE, NB_LAW_PLUMMER, g, a, b, self)
		    : T(sweep_wanted)(NB_EACH, NB_LAW_PLUMMER, g, a, b, self);
	else
		one ? T(sweep_wanted)(NB_SOURCE, NB_LAW_SPLINE, g, a, b, self)
		    : T(sweep_wanted)(NB_EACH, NB_LAW_SPLINE, g, a, b, self);
}

/* ---- two tiles ------------------------------------------------------------------------------------- */

static enum nb_masses T(masses_of)(const TILE *a, const TILE *b)
{
	return a->uniform && b->uniform ? NB_UNIFORM : NB_EACH;
}

static NB_HD S T(eps2)(const struct nb_gravity_plan *plan)
{
#if NB_TILE_PRECISION == 2
	return nb_pair_eps2_f64(plan->eps);
#else
	return nb_pair_eps2_f32(plan->eps);
#endif
}

/* Sums of all pairs between a and b (masses: as masses_of), or of a as targets and b as sources (NB_SOURCE). */
static void T(interact)(enum nb_masses masses, const struct nb_gravity_plan *plan, TILE *a, TILE *b, ptrdiff_t self)
{
	const S eps2 = T(eps2)(plan);
	const S none = plan->eps > 0 ? -1 : eps2;
	const int one = masses == NB_SOURCE, pot = plan->g->pot != NULL, jerk = plan->g->jerk != NULL;
	if (plan->law != NB_LAW_COMMON)
		T(sweep_law)(one, plan->law, plan->g, a, b, self);
	else if (!pot && !jerk)
		switch (masses) {
		case NB_EACH: T(sweep)(NB_EACH, a, b, eps2); break;
		case NB_UNIFORM: T(sweep)(NB_UNIFORM, a, b, eps2); break;
		case NB_SOURCE: T(sweep)(NB_SOURCE, a, b, eps2); break;
		}
	else if (one && !jerk)
		T(sweep_more)(NB_SOURCE, 1, 0, a, b, self, eps2, none);
	else if (one)
		T(sweep_more)(NB_SOURCE, 1, 1, a, b, self, eps2, none);
	else if (!jerk)
		T(sweep_more)(NB_EACH, 1, 0, a, b, self, eps2, none);
	else
		T(sweep_more)(NB_EACH, 1, 1, a, b, self, eps2, none);
}

/* Adds the sums of a tile to the rows of bodies first..; other: the tile it interacted with. */
static void T(tile_add)(
	enum nb_masses masses, const struct nb_gravity_plan *plan, const TILE *t, const TILE *other, size_t first)
{
	const struct nb_gravity *g = plan->g;
	const int more = g->pot || g->jerk || plan->law != NB_LAW_COMMON;
	const double factor = more ? 1 : masses == NB_UNIFORM ? CUBE * (double)other->m[0] : CUBE;
	double *acc = g->acc + 3 * first;
	for (size_t k = 0; k < t->n; k++)
		for (int d = 0; d < 3; d++)
			acc[3 * k + d] += factor * (double)t->acc[d][k];
	if (g->pot)
		for (size_t k = 0; k < t->n; k++)
			g->pot[first + k] += (double)t->pot[k];
	if (g->jerk)
		for (size_t k = 0; k < t->n; k++)
			for (int d = 0; d < 3; d++)
				g->jerk[3 * (first + k) + d] += (double)t->jerk[d][k];
}

/* Coordinates are taken relative to this: nothing where they are f64. */
static void T(origin)(const double *a, const double *b, double *origin)
{
	for (int d = 0; d < 3; d++)
		origin[d] = sizeof(P) == sizeof(float) ? 0.5 * (a[d] + b[d]) : 0;
}

static size_t T(rows)(const struct nb_gravity_plan *plan, size_t tile)
{
	const size_t left = plan->g->n - tile * plan->tile;
	return left < plan->tile ? left : plan->tile;
}

static void T(direct_pair)(const struct nb_gravity_plan *plan, size_t a, size_t b, TILE *tiles)
{
	double origin[3];
	T(origin)(plan->centre + 3 * a, plan->centre + 3 * b, origin);
	T(tile_fill)(&tiles[0], 0, plan, a * plan->tile, T(rows)(plan, a), origin);
	T(tile_close)(&tiles[0], T(rows)(plan, a), plan, origin);
	if (a == b) {
		T(interact)(NB_SOURCE, plan, &tiles[0], &tiles[0], 0);
		return;
	}
	T(tile_fill)(&tiles[1], 0, plan, b * plan->tile, T(rows)(plan, b), origin);
	T(tile_close)(&tiles[1], T(rows)(plan, b), plan, origin);
	T(tile_clear)(&tiles[1], plan->g);
	T(interact)(T(masses_of)(&tiles[0], &tiles[1]), plan, &tiles[0], &tiles[1], 0);
}

static void T(direct_add)(const struct nb_gravity_plan *plan, size_t a, size_t b, const TILE *tiles)
{
	if (a == b) {
		nb_gravity_clear(plan->g, a * plan->tile, tiles[0].n);
		T(tile_add)(NB_SOURCE, plan, &tiles[0], &tiles[0], a * plan->tile);
		return;
	}
	const enum nb_masses masses = T(masses_of)(&tiles[0], &tiles[1]);
	T(tile_add)(masses, plan, &tiles[0], &tiles[1], a * plan->tile);
	T(tile_add)(masses, plan, &tiles[1], &tiles[0], b * plan->tile);
}

/* ---- boxes ----------------------------------------------------------------------------------------- */

static uint64_t T(near_rows)(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, size_t box, size_t first,
	size_t last, TILE *tiles)
{
	TILE *target = &tiles[0], *source = &tiles[1];
	const double *pos = plan->g->pos;
	double middle[3], origin[3];
	for (int d = 0; d < 3; d++) {
		double low = INFINITY, high = -INFINITY;
		for (size_t i = first; i < last; i++) {
			low = fmin(low, pos[3 * i + d]);
			high = fmax(high, pos[3 * i + d]);
		}
		middle[d] = (0.5 * low + 0.5 * high) * plan->scale.length;
	}
	T(origin)(middle, middle, origin);
	T(tile_fill)(target, 0, plan, first, last - first, origin);
	T(tile_close)(target, last - first, plan, origin);
	nb_gravity_clear(plan->g, first, last - first);

	size_t rows = 0;
	uint64_t sources = 0;
	ptrdiff_t self = TILE_ROWS;
	for (int k = -1; k < boxes->nneighbour; k++) {
		const int64_t other = k < 0 ? (int64_t)box
					    : boxes->neighbour[box * (size_t)boxes->nneighbour + (size_t)k];
		if (other < 0)
			continue;
		size_t j = boxes->box_first[other];
		const size_t end = boxes->box_first[other + 1];
		sources += end - j;
		while (j < end) {
			const size_t n = end - j < TILE_ROWS - rows ? end - j : TILE_ROWS - rows;
			if (k < 0) /* rows is 0: the own box comes first and its parts fill whole tiles */
				self = (ptrdiff_t)first - (ptrdiff_t)j;
			T(tile_fill)(source, rows, plan, j, n, origin);
			rows += n;
			j += n;
			if (rows == TILE_ROWS) {
				T(tile_close)(source, rows, plan, origin);
				T(interact)(NB_SOURCE, plan, target, source, self);
				T(tile_add)(NB_SOURCE, plan, target, source, first);
				rows = 0;
				self = TILE_ROWS;
			}
		}
	}
	if (rows) {
		T(tile_close)(source, rows, plan, origin);
		T(interact)(NB_SOURCE, plan, target, source, self);
		T(tile_add)(NB_SOURCE, plan, target, source, first);
	}
	return (last - first) * (sources - 1);
}

#undef T
#undef V
#undef S
#undef P
#undef I
#undef VI
#undef F
#undef W
#undef TILE_ROWS
#undef FAR
#undef CUBE
#undef FLOOR
#undef CAPACITY
#undef LOAD
#undef TILE
#undef FLIGHT
#undef EACH_TARGET
#undef NB_TILE_PRECISION
