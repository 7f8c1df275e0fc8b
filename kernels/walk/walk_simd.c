/* walk_simd.c - gravity by a walk of the tree, for one instruction set.
 *
 * A fast multipole method in which each target cell collects what acts on it, so that threads share nothing:
 *
 * - Targets are visited from the root down. A target cell tests the source cells that its parent could not
 *   take as a whole, eight siblings at a time. A source is accepted into the target's local expansion
 *   (M2L); or it is larger than the target and opened; or it is left for the target's children.
 * - A target of at most NB_WALK_GROUP bodies (fourth order: NB_WALK_GROUP_4) is a group. Its expansion has by
 *   then come down from its ancestors (L2L), and is evaluated at each body (L2P). Of what is not accepted into
 *   it, small cells act on each body (M2P); the rest is opened, down to bodies (P2P).
 * - Accepted are cells whose estimated error (opening_body.h) is below a fraction of the field strength at the
 *   target, sum m / r^2, which is itself estimated on the way down. Errors are so the same fraction everywhere,
 *   and the cells of the halo, to which the core is one heavy cell, are as well off as those of the core.
 *
 * Jerks are the time derivatives of these accelerations, operator by operator: of what a cell does to a body, for which
 * a cell has its velocity and the time derivatives of its second moments, and of the local expansions
 * (multipole_body.h).
 *
 * Sources: Dehnen 2002, J. Comput. Phys. 179, 27 (cell-cell interactions); Dehnen 2014, Comput. Astrophys.
 * Cosmol. 1, 1 (errors by field strength). */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/simd/simd.h"
#include "kernels/walk/walk.h"

#include <string.h>

#define NB_REAL nb_vf
#define NB_REAL_NAME vf
#include "kernels/multipole/multipole_body.h"
#define NB_REAL nb_vd
#define NB_REAL_NAME vd
#include "kernels/multipole/multipole_body.h"

#define NB_REAL nb_vf
#define NB_REAL_NAME vf
#define NB_SCALAR float
#include "kernels/multipole/high_body.h"
#define NB_REAL nb_vd
#define NB_REAL_NAME vd
#define NB_SCALAR double
#include "kernels/multipole/high_body.h"

/* eight siblings */
typedef double v8d __attribute__((vector_size(64)));
typedef float v8f __attribute__((vector_size(32)));
typedef int64_t v8l __attribute__((vector_size(64)));
typedef int32_t v8i __attribute__((vector_size(32)));
#define NB_REAL v8f
#define NB_REAL_NAME v8f
#include "kernels/multipole/multipole_body.h"

enum {
	LIST = 256,	/* cells gathered before they act */
	SOURCES = 1024, /* bodies gathered before they act */
	TARGETS = 256,	/* bodies of one group acted on at once */
	FEW = 4,	/* so few sources that their multipole costs more than they; of fourth order: */
	FEW_4 = 12,
	MANY_SOURCES = 1 << 14, /* sources around points that are not walked together */
	KINDS = 8		/* so many softenings in a group are looked at one by one */
};

/* What serves other softenings than one for all is compiled apart, so that the loops for one stay as they are. */
#define APART __attribute__((noinline))

/* With a softening below this, in units of a group's reach, bodies may be so close by its measure that f32
 * coordinates relative to the group's centre are too coarse (1e-5 of the force); above it they serve. */
static const float FINE = 0x1p-8f;

/* Bodies this far from all places that a target may be at, in units of the target's reach, are apart enough for these
 * coordinates: the rounding of a separation is then below 2^-20 of it, and far less of most. */
static const float CLOSE = 0x1p-4f;

/* From so many units of a target on, squares of lengths do not fit into f32 */
static const double REMOTE = 0x1p60;

static const double SUPPORT3 = NB_SPLINE_SUPPORT * NB_SPLINE_SUPPORT * NB_SPLINE_SUPPORT;

/* Source cells: the children of a node that are in mask. */
struct run {
	uint32_t family, mask;
};

struct runs {
	struct run *at;
	size_t n, capacity;
};

static int runs_reserve(struct runs *r, size_t n)
{
	return nb_reserve(r->at, r->n, n, r->capacity) ? NB_ENOMEM : NB_OK;
}

/* Families to be tested, each with the mass that encloses it (opening_body.h); or lanes of families. */
struct list {
	uint32_t *at;
	float *enclosing;
	size_t n, capacity;
};

/* Makes room for a family's lanes. */
static NB_HD int list_reserve(struct list *l)
{
	if (l->n + NB_FAMILY <= l->capacity)
		return NB_OK;
	size_t capacity = 2 * l->capacity + 1024;
	uint32_t *at = nb_alloc(capacity, sizeof *l->at + sizeof *l->enclosing);
	if (!at)
		return NB_ENOMEM;
	float *enclosing = (float *)(at + capacity);
	if (l->n) {
		memcpy(at, l->at, l->n * sizeof *at);
		memcpy(enclosing, l->enclosing, l->n * sizeof *enclosing);
	}
	nb_free(l->at);
	*l = (struct list){at, enclosing, l->n, capacity};
	return NB_OK;
}

#if defined(NB_ISA_neon)
/* bit k is set where lane k of a mask is */
static NB_HD uint32_t bits_of(v8i mask)
{
	const v8i bit = {1, 2, 4, 8, 16, 32, 64, 128};
	int32x4_t half[2];
	mask &= bit;
	memcpy(half, &mask, sizeof half);
	return (uint32_t)vaddvq_s32(half[0] | half[1]);
}
#endif

/* bit k is set where a[k] < b[k] */
static NB_HD uint32_t below(v8f a, v8f b)
{
#if defined(NB_ISA_avx512)
	return _mm256_cmp_ps_mask((__m256)a, (__m256)b, _CMP_LT_OQ);
#elif defined(NB_ISA_avx2)
	return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ));
#elif defined(NB_ISA_neon)
	return bits_of(a < b);
#else
	uint32_t bits = 0;
	for (int k = 0; k < 8; k++)
		bits |= (uint32_t)(a[k] < b[k]) << k;
	return bits;
#endif
}

/* bit k is set where v[k] > least; all below 2^31 */
static NB_HD uint32_t above(const uint32_t *v, int least)
{
#if defined(NB_ISA_avx512)
	return _mm256_cmpgt_epi32_mask(_mm256_load_si256((const __m256i *)v), _mm256_set1_epi32(least));
#elif defined(NB_ISA_avx2)
	__m256i more = _mm256_cmpgt_epi32(_mm256_load_si256((const __m256i *)v), _mm256_set1_epi32(least));
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(more));
#elif defined(NB_ISA_neon)
	return bits_of(*(const v8i *)v > least);
#else
	uint32_t bits = 0;
	for (int k = 0; k < 8; k++)
		bits |= (uint32_t)((int32_t)v[k] > least) << k;
	return bits;
#endif
}

static NB_HD v8f square_root(v8f v)
{
#if defined(NB_ISA_avx512) || defined(NB_ISA_avx2)
	return (v8f)_mm256_sqrt_ps((__m256)v);
#elif defined(NB_ISA_neon)
	float32x4_t half[2];
	memcpy(half, &v, sizeof half);
	for (int k = 0; k < 2; k++)
		half[k] = vsqrtq_f32(half[k]);
	memcpy(&v, half, sizeof half);
	return v;
#else
	for (int k = 0; k < 8; k++)
		v[k] = sqrtf(v[k]);
	return v;
#endif
}

/* the larger number, lane by lane */
static NB_HD v8d larger_v(v8d a, v8d b)
{
	const v8l more = a > b;
	return (v8d)(((v8l)a & more) | ((v8l)b & ~more));
}

static NB_HD v8d larger(v8d a, double b)
{
	return larger_v(a, (v8d){} + b);
}

static NB_HD v8d square(v8d v)
{
	return v * v;
}

/* Whether all bodies of a lane of a family have the same softening. */
static NB_HD int has_one_eps(const struct nb_walk_plan *plan, size_t family, size_t lane)
{
	if (plan->law == NB_LAW_COMMON)
		return 1;
	const struct nb_family_soft *f = &plan->family_soft[family];
	return f->eps[NB_SOFT_LEAST][lane] == f->eps[NB_SOFT_LARGEST][lane];
}

#define NB_REAL v8f
#define NB_REAL_NAME v8f
#define NB_SQRT square_root
#include "kernels/multipole/opening_body.h"

/* the lanes in mask, side by side, at to, where there is room for all eight */
static NB_HD void pack_v8f(float *to, uint32_t mask, v8f v)
{
#if defined(NB_ISA_avx512)
	_mm256_storeu_ps(to, _mm256_maskz_compress_ps((__mmask8)mask, (__m256)v));
#else
	for (; mask; mask &= mask - 1)
		*to++ = v[__builtin_ctz(mask)];
#endif
}

static NB_HD void pack_v8d(double *to, uint32_t mask, v8d v)
{
#if defined(NB_ISA_avx512)
	_mm512_storeu_pd(to, _mm512_maskz_compress_pd((__mmask8)mask, (__m512d)v));
#else
	for (; mask; mask &= mask - 1)
		*to++ = v[__builtin_ctz(mask)];
#endif
}

static NB_HD void pack_u32(uint32_t *to, uint32_t mask, v8i v)
{
#if defined(NB_ISA_avx512)
	_mm256_storeu_si256((__m256i_u *)to, _mm256_maskz_compress_epi32((__mmask8)mask, (__m256i)v));
#else
	for (; mask; mask &= mask - 1)
		*to++ = (uint32_t)v[__builtin_ctz(mask)];
#endif
}

/* Adds the lanes in mask, for which there is room. */
static NB_HD void list_add(struct list *l, uint32_t mask, v8i v)
{
	pack_u32(l->at + l->n, mask, v);
	l->n += (size_t)__builtin_popcount(mask);
}

/* v in the lanes of mask, 0 in the others */
static NB_HD v8f only(uint32_t mask, v8f v)
{
	const v8i bit = {1, 2, 4, 8, 16, 32, 64, 128};
	return (v8f)((v8i)v & ((bit & (int32_t)mask) != 0));
}

/* where the Taylor coefficients (i, j, k), i = 0, 1 .. begin */
static const uint8_t taylor_row[NB_TAYLOR_ORDER + 1][NB_TAYLOR_ORDER + 1] = {
	{0, 6, 11, 15, 18, 20},
	{21, 26, 30, 33, 35},
	{36, 40, 43, 45},
	{46, 49, 51},
	{52, 54},
	{55},
};
/* the same in expansions of sixth and seventh order, for sources of third and fourth */
static const uint8_t taylor_row_high[2][8][8] = {
	{
		{0, 7, 13, 18, 22, 25, 27},
		{28, 34, 39, 43, 46, 48},
		{49, 54, 58, 61, 63},
		{64, 68, 71, 73},
		{74, 77, 79},
		{80, 82},
		{83},
	},
	{
		{0, 8, 15, 21, 26, 30, 33, 35},
		{36, 43, 49, 54, 58, 61, 63},
		{64, 70, 75, 79, 82, 84},
		{85, 90, 94, 97, 99},
		{100, 104, 107, 109},
		{110, 113, 115},
		{116, 118},
		{119},
	},
};
/* 1 / k! */
static const double inverse_factorial[] = {
	1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320};

/* Multi-indices of degree up to 4, by degree, falling x and falling y: how often the component of a moment counts, with
 * its sign: (-1)^k k! / (x! y! z!). */
static const signed char high_weight[NB_HIGH_POWERS] = {1, -1, -1, -1, 1, 2, 2, 1, 2, 1, -1, -3, -3, -3, -6, -3, -1, -3,
	-3, -1, 1, 4, 4, 6, 12, 6, 4, 12, 12, 4, 1, 4, 6, 4, 1};

/* The same of folded moments, without those of first degree: (-1)^n times a binomial coefficient. */
static const signed char folded_weight[NB_FOLDED_MOMENTS] = {
	1, 1, 2, 1, 1, 1, -1, -3, -3, -1, -1, -2, -1, 1, 4, 6, 4, 1, 1, 3, 3, 1};

/* The middle of a node's box: the centre of its expansion. */
static NB_HD double middle(const struct nb_tree *tree, size_t node, int d)
{
	double lo = tree->box[6 * node + (size_t)d], hi = tree->box[6 * node + 3 + (size_t)d];
	return lo + 0.5 * (hi - lo);
}

/* The power of two that brings a reach to 0.5 .. 1; for a point, what its parent has. The softening stays
 * below 2^20 in these units, and what surrounds a cell that is far smaller than its parent below 2^63 (pair.h). */
static NB_HD double target_unit(const struct nb_walk_plan *plan, double reach, double parent)
{
	double unit = parent;
	if (reach > 0) {
		int e;
		(void)frexp(reach, &e);
		unit = ldexp(1, e < -1000 ? 1000 : -e);
		unit = unit < parent * 0x1p50 ? unit : parent * 0x1p50;
	}
	return unit > plan->unit_limit ? plan->unit_limit : unit;
}

/* The same of a child; one of a group that was divided after all has its parent's. */
static NB_HD double child_unit(const struct nb_walk_plan *plan, uint32_t parent, uint32_t child, double unit)
{
	return plan->group[parent] ? unit : target_unit(plan, plan->reach[child], unit);
}

/* Whether a node that lies in no part is one. */
static NB_HD int is_part(const struct nb_walk_plan *plan, size_t node)
{
	return plan->group[node] || plan->target->count[node] <= plan->part;
}

/* Marks and returns those lanes of a family that are divided, and whose children are not here. */
static NB_HD uint32_t miss(const struct nb_walk_plan *plan, size_t family, uint32_t lanes)
{
	const uint32_t absent = lanes & ~above(plan->family[family].inner, -1);
	for (uint32_t mask = absent; mask; mask &= mask - 1)
		__atomic_store_n(&plan->wanted[family * NB_FAMILY + (size_t)__builtin_ctz(mask)], NB_WALK_CHILDREN,
			__ATOMIC_RELAXED);
	return absent;
}

#include "kernels/walk/walk_body.h"
#define NB_WALK_F64
#include "kernels/walk/walk_body.h"
#define NB_WALK_JERK
#include "kernels/walk/walk_body.h"
#define NB_WALK_F64
#include "kernels/walk/walk_body.h"
#undef NB_WALK_JERK
#define NB_WALK_HIGH 3
#include "kernels/walk/walk_body.h"
#define NB_WALK_F64
#include "kernels/walk/walk_body.h"
#undef NB_WALK_HIGH
#define NB_WALK_HIGH 4
#include "kernels/walk/walk_body.h"
#define NB_WALK_F64
#include "kernels/walk/walk_body.h"

int NB_ISA(nb_walk)(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	if (plan->g->jerk)
		return plan->f64 ? walk_f64_jerk(plan, share, count) : walk_f32_jerk(plan, share, count);
	if (plan->order == 3)
		return plan->f64 ? walk_f64_p3(plan, share, count) : walk_f32_p3(plan, share, count);
	if (plan->order == 4)
		return plan->f64 ? walk_f64_p4(plan, share, count) : walk_f32_p4(plan, share, count);
	return plan->f64 ? walk_f64(plan, share, count) : walk_f32(plan, share, count);
}
