/* walk_cuda.cu - gravity by walking the tree on the device, group by group.
 *
 * A group is a run of siblings, or of bodies of one leaf, with at most GROUP bodies together: compact, and in Morton
 * order.  Few bodies around a crowd of others are not put together: their group would meet most of the crowd.  One warp
 * walks the tree for a group, with one or two bodies (targets) a lane.  It keeps a stack of nodes and tests 32 of them
 * at once, a node a lane:
 *
 *   far from the group's sphere     M2L  queued; every lane translates one cell into the group's local expansion
 *   far from the group's box        M2P  queued; 32 cells go to shared memory, then every target takes each
 *   a leaf                          P2P  its bodies are queued; 32 go to shared memory, then every target takes each
 *   else                            its children go onto the stack
 *
 * and a queue is worked off when it holds 32, from its end.  Where the stack holds more than FULL nodes, they leave it
 * one at a time: then it grows by seven siblings a level at most, and cannot overflow in a tree of NB_TREE_LEVELS.
 * Groups are dealt out by a counter; what a group gets does not depend on the warp that takes it, so every run gives
 * the same bytes.
 *
 * Regions of up to REGION bodies are walked before their groups (region_internal.cuh), which then begin with a list of
 * nodes instead of the root: 2^24 bodies in order 2 take 19.3 instead of 26 ms, 2^20 in orders 2, 3, 4 2.05
 * for 2.4, 3.9 for 5.0, 10.1 for 13.0.
 *
 * What is far.  A cell of mass m and size l (longest side of its box) at distance d leaves out a term of about
 * m (l/d)^3 / d^2, the octupole.  It is far if that is at most
 *     nb_opening_cuda(theta) times the strength of the field at the group, sum m / d^2,
 * found by a first, coarse walk; or, by acceleration, if m (l/d)^2 / d^2 <= alpha |a_old| (GADGET-2: Springel 2005,
 * MNRAS 364, 1105, eq. 18); and in either case only if d > 1.2 l.  What theta means is in opening.h. For
 * the same error, the bound on the error itself takes a third less work than an opening angle, because small cells and
 * those in thin surroundings need not be opened.
 * The group's own extent counts in the same way: a cell may go into its local expansion, of fourth order, if
 * m (LOCAL_FAR radius / d)^4 / d^2 (by acceleration m (LOCAL_FAR_2 radius / d)^2 / d^2) is below that bound,
 * d > LOCAL_LEAST radius, and it is far from every point of the group's sphere.
 *
 * Local expansions (falcON: Dehnen 2002, J. Comput. Phys. 179, 27) have the field of a cell's mass to
 * fourth derivatives of the potential and that of its second moments to second, all of 1/sqrt(r^2 + eps^2), so
 * that softening is exact.
 *
 * Jerks are the time derivatives of all this (multipole_body.h), of the same derivatives of 1/sqrt(r^2 + eps^2): up to
 * the fourth in the local expansion, whose centre moves with the mean velocity of the group.  Kernels of their own give
 * them; what is far is what is far without them.
 *
 * Units and precision.  Node coordinates are kept as f32 pairs, high and low part, relative to the root's box; the
 * difference to the group's centre is then good to f32 of itself.  Interactions happen in units of the
 * group: lengths relative to its centre, divided by a power of two near its radius or what is near by the strength of
 * the field, masses by one near the root's mass.  So no caller's units and no distance can overflow or underflow what
 * matters.
 *   f32:    targets and sources as f32 relative to the group's centre
 *   mixed:  the same as f32 pairs: separations good to f32 of themselves
 *   f64:    targets, sources and multipoles in f64, no local expansions in order 2
 *
 * Velocities have a unit of their own, a power of two, and are relative to the group's mean, those of cells to the
 * root's.
 *
 * Operations: P2P 12 FP32 + 1 MUFU each; M2P 34 + 1; M2L about 150 for 32 cells and all targets together.  With jerks
 * 30, 100 and 320.
 *
 * Orders 3 and 4 (walk_high_cuda.cu, which includes this file; the formulas are in high_internal.cuh) have M2P of about
 * 70 and 125 operations, and local expansions of fifth to seventh order in shared memory, one for each lane, as
 * registers have no room: about 450 and 950 operations for 32 cells.  What a batch of 32 gives to a target is added
 * with compensation. f64 has local expansions too.  An H200, 2^20 bodies (tests/bench/results/tree-orders-h200.tsv): at
 * equal error order 2 is the fastest above 3e-5 rms, order 3 to 1e-5, order 4 below.  Tried, and slower: groups filled
 * up with parts of the next node (longer lists: 10 to 30 %); local expansions of order P + 2 where P + 3 is possible
 * (12 % at equal error); tests of 64 nodes at a time (15 %: registers); six blocks instead of five (6 %, likewise);
 * prefetches of what is queued.
 *
 * Where pairs are not all softened alike (LAW is not NB_LAW_COMMON; compiled by walk_soft_cuda.cu, which includes this
 * file), cells are also kept to where that makes no larger error than the rest, as in the CPU's walk
 * (T(measure_soft) in resolve_body.h): beyond the support of a spline, where all is Newton's; and Plummer's where the
 * spread of softenings in the cell and the group is too small to count.
 *
 * Sections: preparation (groups are found, bodies and nodes packed), interactions in units of the group (one lane's
 * work: P2P, M2P, M2L and L2P), the walk (walker: a warp's work, its stack and queues), the host's part. */
#include <limits.h>
#include <math.h>
#include <type_traits>

#include "kernels/device/device.cuh"
#include "kernels/multipole/multipole.h"
#include "kernels/multipole/multipole_body.h"
#include "kernels/order/order.cuh"
#include "kernels/pair/pair.cuh"
#include "kernels/team/team.cuh"
#include "kernels/walk_gpu/high_internal.cuh"
#include "kernels/walk_gpu/motion_internal.cuh"
#include "kernels/walk_gpu/softness_internal.cuh"
#include "kernels/walk_gpu/walk_gpu.h"

enum {
#ifdef NB_WALK_HIGH
	THREADS = 64, /* local expansions of high order stand in shared memory */
#else
	THREADS = 128,
#endif
	WARPS = THREADS / 32,
	SLOTS = 2, /* targets of a lane, at most */
	GROUP = 32 * SLOTS,
	FULL = 1024, /* nodes on a stack */
	STACK = FULL + 8 * 32 + 7 * NB_TREE_LEVELS,
#ifdef NB_WALK_HIGH
	TOP = 256, /* of a stack in shared memory; rarely is more needed */
#else
	TOP = 512,
#endif
	CROWD = 8,	 /* siblings share a group if their parent has at most CROWD groups' bodies */
	SMALL = 3 << 16, /* so few bodies make too few groups of GROUP to fill a device */
	LEAF = 1u << 31, /* in a link */
	MANY = NB_OPENING_MANY,
	KINDS = 8 /* so many softenings in a group are looked at one by one */
};

/* Where cells no longer count, in units in which all mass at 2^12 would be as strong as the group's field (see begin).
 */
static const float BEYOND = 0x1p28f;
static const float LOCAL_LEAST = 1.8f, LOCAL_FAR_2 = 4;

/* What depends on the order of the multipoles, and on whether the field is harmonic (high_internal.cuh). */
template <int ORDER, bool HARMONIC> struct of_order {
	enum {
		FAR = ORDER + 3, /* m (l/d)^(ORDER + 1) / d^2 is compared by this root of m l^(ORDER + 1) */
		LOCAL = ORDER == 2 ? 4 : nb_high_local(ORDER, HARMONIC), /* order of the local expansion */
		TINY = nb_high_tiny(ORDER)
	};
	static __host__ __device__ constexpr float local_far()
	{
		return ORDER == 2 ? 2.7f : HARMONIC ? 1.85f : 2.2f;
	}
};

/* Found on the device, from the root. */
struct plan {
	double origin[3];	      /* centre of the root's box */
	double length, mass;	      /* from the caller's units: powers of two */
	double unlength;	      /* 1 / length */
	float eps;		      /* scaled */
	double speed;		      /* from the caller's unit of velocity: a power of two */
	unsigned next;		      /* group */
	unsigned long long counts[4]; /* body-body, body-cell, cell-cell; groups that were drawn, if several draw */
};

/* What is known of a node:
 *   place[0]   x y z, high part; influence (m l^3)^(1/5), or (m l^2)^(1/4) by acceleration, in whose low bits are, of a
 *              leaf, its bodies, or MANY; its sign: the leaf's bodies are all in one point, and can be taken as one
 *   place[1]   x y z, low part; link: of a leaf, LEAF | its first body; else the first child, and the number of
 *              children less one << 28
 *   extent     high half: l; low half: m^(1/6), or m^(1/4) by acceleration; as the high halves of floats, rounded up
 *   moment[0]  mass; half the second moments xx xy xz
 *   moment[1]  yy yz zz; with jerks, the time derivative of half the second moment zz
 *   motion[0]  with jerks: velocity relative to the root's, x y z; the time derivatives of half the second moments xx
 *   motion[1]  xy xz yy yz
 */
struct region_tables {
	uint32_t bodies; /* of a region, at most; 0: there are none */
	/* bit b % 32 of mark[b / 32]: a region begins at body b; at: how many begin before body 32 k, plus at[0];
	 * span[r]: node of region r, its first body and the one after its last */
	const uint32_t *mark, *at;
	const uint4 *span;
	size_t count; /* of all, where devices share a walk */

	/* of regions in the range that is walked: nodes on their lists, or REGION_PENDING or REGION_NONE; where they
	 * are; local expansions; lists of `room` nodes each */
	uint32_t *listed;
	struct region_place *place;
	char *terms;
	uint32_t *list, room;
};

/* Where devices share a walk, each draws ranges of NB_DRAW_GROUPS groups from home's counter, and its warps draw tasks
 * of these, TASKS of each range, from one of its own. */
enum { NB_DRAW_GROUPS = 1024 };
struct drawn_ranges {
	uint4 *of;	 /* begin and end, the first region and how many there are; null: all is one range */
	uint32_t *ready; /* not 0: it is known */
	unsigned *next;
};

struct walk {
	size_t n, nnode;
	const double *pos, *mass, *vel;
	double *acc, *pot, *jerk;
	double eps, G;

	const uint32_t *first, *count, *child, *nchild;
	const double *box, *com, *node_mass, *quad;

	float error; /* tolerated, over the strength of the field */
	float alpha; /* the same, over the old acceleration; 0: not by acceleration */
	const double *acc_old;
	bool local;
	uint32_t group; /* bodies, at most */

	/* of nodes, for jerks */
	const double *velocity, *quad_rate;
	const unsigned long long *fastest;

	/* orders 3 and 4: of nb_tree_high_cuda; what nb_high_pack makes of it, in the precision of the walk */
	const double *rows;
	char *body_rows, *far_rows;
	size_t body_bytes, far_bytes; /* of all rows */

	enum nb_pair_law law;

	/* not for NB_LAW_COMMON: */
	const double *body_eps; /* or NULL: eps is that of all */
	const double *node_eps; /* softness_internal.cuh */
	float soft_weight;	/* nb_opening_soft */
	float soft_error;	/* tolerance of what softenings do, the CPU's, over the field or the old acceleration */
	float4 *soft;		/* the same numbers, scaled */

	struct plan *plan;
	float4 *place, *moment, *motion;
	uint32_t *extent;
	uint32_t *stack;
	const uint32_t *start, *ngroup;

	struct region_tables region;

	/* groups begin .. end - 1 are to be walked, dealt by the counter next; end 0: all from begin on */
	uint32_t begin, end;
	unsigned *next;
	struct drawn_ranges drawn; /* if several devices share next */
	struct nb_lane *lane;	   /* for the host alone */
};

/* ---- preparation ------------------------------------------------------------------------------------- */

static __global__ void plan_kernel(struct walk w)
{
	struct plan p = {};
	double extent = w.node_eps ? w.node_eps[2] : w.eps;
	for (int k = 0; k < 3; k++) {
		const double lo = w.box[k], hi = w.box[3 + k];
		p.origin[k] = lo + 0.5 * (hi - lo);
		extent = fmax(extent, hi - lo);
	}
	p.length = nb_pair_power2(extent, 20);
	p.unlength = 1 / p.length;
	p.mass = nb_pair_power2(w.node_mass[0], 0);
	p.eps = (float)(w.eps * p.length);
	p.speed = w.jerk ? nb_pair_power2(__longlong_as_double((long long)*w.fastest), 0) : 1;
	*w.plan = p;
}

/* Of a float >= 0, rounded up. */
static __device__ uint32_t high_half(float x)
{
	return (__float_as_uint(x) + 0xffffu) >> 16;
}

/* The ORDER-dependent root of a cell's influence, and that of its mass. */
template <int ORDER, bool HARMONIC> static __device__ float influence_of(float m, float l, bool by_acceleration)
{
	if (by_acceleration)
		return sqrtf(sqrtf(m) * l);
	/* l^3 by itself would be out of range in a deep tree */
	constexpr float root = 1.0f / of_order<ORDER, HARMONIC>::FAR;
	return powf(m, root) * powf(l, (ORDER + 1) * root);
}
template <int ORDER, bool HARMONIC> static __device__ float root_of_mass(float m, bool by_acceleration)
{
	return by_acceleration ? sqrtf(sqrtf(m)) : powf(m, 1.0f / (of_order<ORDER, HARMONIC>::LOCAL + 2));
}

template <int ORDER, bool HARMONIC> static __global__ void __launch_bounds__(THREADS) cell_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double length = w.plan->length;
	double size = 0;
	float hi[3], lo[3];
	for (int k = 0; k < 3; k++) {
		const double x = (w.com[3 * j + k] - w.plan->origin[k]) * length;
		size = fmax(size, (w.box[6 * j + 3 + k] - w.box[6 * j + k]) * length);
		hi[k] = (float)x;
		lo[k] = (float)(x - hi[k]);
	}
	const float m = (float)(w.node_mass[j] * w.plan->mass), l = (float)size;
	const uint32_t children = w.nchild[j], count = w.count[j];
	const float influence = influence_of<ORDER, HARMONIC>(m, l, w.alpha > 0);
	uint32_t reach = __float_as_uint(fmaxf(influence, 0x1p-120f));
	if (children == 0) {
		reach = ((reach + 0xffu) & ~0xffu) | (count < MANY ? count : (uint32_t)MANY);
		/* in a softened potential they are not one body to each other: none must meet itself */
		const bool alike = !w.node_eps || w.node_eps[3 * j] == w.node_eps[3 * j + 2];
		if (size == 0 && count > 1 && alike && !(w.pot && (w.node_eps ? w.node_eps[3 * j + 2] : w.eps) > 0))
			reach |= 1u << 31;
	}
	float s[6] = {0, 0, 0, 0, 0, 0};
	if (w.quad)
		for (int k = 0; k < 6; k++)
			s[k] = (float)(w.quad[6 * j + k] * w.plan->mass * length * length * 0.5);
	const uint32_t link = children ? w.child[j] | (children - 1) << 28 : (uint32_t)LEAF | w.first[j];
	w.place[2 * j] = make_float4(hi[0], hi[1], hi[2], __uint_as_float(reach));
	w.place[2 * j + 1] = make_float4(lo[0], lo[1], lo[2], __uint_as_float(link));
	w.extent[j] = high_half(l) << 16 | high_half(root_of_mass<ORDER, HARMONIC>(m, w.alpha > 0));
	w.moment[2 * j] = make_float4(m, s[0], s[1], s[2]);
	w.moment[2 * j + 1] = make_float4(s[3], s[4], s[5], 0);
}

#ifdef NB_WALK_HIGH
template <int ORDER, bool HARMONIC, class real>
static __global__ void __launch_bounds__(THREADS) row_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j < w.nnode)
		nb_high_pack<ORDER, HARMONIC>(w.rows + nb_high_row(ORDER) * j,
			std::is_same<real, double>::value ? 1 : w.plan->length,
			(real *)w.body_rows + nb_high_body_row(ORDER) * j,
			(real *)w.far_rows + nb_high_far_row(ORDER, HARMONIC) * j);
}
#endif

#ifdef NB_WALK_SOFT
static __global__ void __launch_bounds__(THREADS) soft_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double *eps = w.node_eps + 3 * j, length = w.plan->length;
	w.soft[j] = make_float4((float)(eps[0] * length), (float)(eps[1] * length), (float)(eps[2] * length), 0);
}
#endif

/* After cell_kernel. */
static __global__ void __launch_bounds__(THREADS) motion_kernel(struct walk w)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	const double speed = w.plan->speed, unit = w.quad ? w.plan->mass * w.plan->length * speed * 0.5 : 0;
	float v[3], s[6];
	for (int k = 0; k < 3; k++)
		v[k] = (float)((w.velocity[3 * j + k] - w.velocity[k]) * speed);
	for (int k = 0; k < 6; k++)
		s[k] = (float)(w.quad_rate[6 * j + k] * unit);
	w.motion[2 * j] = make_float4(v[0], v[1], v[2], s[0]);
	w.motion[2 * j + 1] = make_float4(s[1], s[2], s[3], s[4]);
	w.moment[2 * j + 1].w = s[5];
}

/* Bit i of mark: a group begins at body i. */
static __device__ void mark_body(uint32_t *mark, uint32_t i)
{
	atomicOr(&mark[i / 32], 1u << i % 32);
}

static __global__ void __launch_bounds__(THREADS)
	mark_kernel(struct walk w, uint32_t *mark, uint32_t *region_mark, uint32_t *region_at_word)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= w.nnode)
		return;
	if (j == 0)
		mark_body(mark, 0);
	if (w.count[j] <= w.group)
		return;
	const uint32_t children = w.nchild[j];
	if (children == 0 && w.first[j] < w.n)
		for (uint32_t i = 0; i < w.count[j]; i += w.group)
			mark_body(mark, w.first[j] + i);
	const uint32_t most = w.count[j] <= CROWD * w.group ? w.group : 0; /* bodies of siblings in a group */
	uint32_t room = 0; /* in the group that the last child went to */
	for (uint32_t k = w.child[j]; k < w.child[j] + children; k++) {
		const uint32_t count = w.count[k];
		if (w.first[k] >= w.n) /* only sources: those of another rank */
			continue;
		if (count > w.group) {
			room = 0;
			if (w.count[j] > w.region.bodies && count <= w.region.bodies) {
				mark_body(region_mark, w.first[k]);
				region_at_word[w.first[k] / 32] = k; /* of more than 32 bodies: no other in this word */
			}
			continue;
		}
		if (count > room) {
			mark_body(mark, w.first[k]);
			room = most;
		}
		room -= count < room ? count : room;
	}
}

/* Of groups, then of regions. */
static __global__ void __launch_bounds__(THREADS)
	mark_count_kernel(size_t words, const uint32_t *mark, const uint32_t *region_mark, uint32_t *at)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i > words)
		return;
	at[i] = i < words ? (uint32_t)__popc(mark[i]) : 0;
	at[words + 1 + i] = i < words ? (uint32_t)__popc(region_mark[i]) : 0;
}

static __device__ uint4 span_of(const struct walk &w, uint32_t node)
{
	return make_uint4(node, w.first[node], w.first[node] + w.count[node], 0);
}

static __global__ void __launch_bounds__(THREADS) start_kernel(size_t words, const uint32_t *mark, const uint32_t *at,
	struct walk w, uint32_t *start, const uint32_t *region_mark, const uint32_t *region_at_word, uint4 *span)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i > words)
		return;
	if (i < words && region_mark[i])
		span[at[words + 1 + i] - at[words + 1]] = span_of(w, region_at_word[i]);
	uint32_t to = at[i];
	if (i == words)
		start[to] = (uint32_t)w.n;
	else
		for (uint32_t bits = mark[i]; bits; bits &= bits - 1)
			start[to++] = (uint32_t)(32 * i) + (uint32_t)__ffs((int)bits) - 1;
}

/* What a warp does next. */
struct task {
	enum { REGION, GROUP, NOTHING, END } kind;
	uint32_t which;
};

/* ---- regions: what their walks leave to groups (region_internal.cuh) -------------------------------------- */

enum {
	REGION = NB_OPENING_REGION,
	REGION_PENDING = 0xffffffffu,
	REGION_BUSY = 0xfffffffeu, /* somebody walks it */
	REGION_NONE = 0xfffffffdu, /* its list would be too long: groups begin at the root */
};

struct region_place {
	double centre[3], scale; /* of the local expansion, as a group's */
	uint32_t m2l, unused;	 /* cells in it */
};

/* Numbers in a local expansion. */
template <int ORDER, bool HARMONIC> static __host__ __device__ constexpr int region_terms()
{
#ifdef NB_WALK_HIGH
	return nb_high_far<ORDER, HARMONIC>::ALL;
#else
	return 35;
#endif
}

/* How many regions begin at body b or before it. */
static __device__ __forceinline__ uint32_t region_rank(const struct walk &w, uint32_t b)
{
	return __ldg(&w.region.at[b / 32]) - __ldg(&w.region.at[0]) +
	       (uint32_t)__popc(__ldg(&w.region.mark[b / 32]) & (0xffffffffu >> (31 - b % 32)));
}

/* Groups begin .. end - 1, the first region that they can be in, and how many there are. */
static __device__ __forceinline__ uint4 range_of(const struct walk &w, uint32_t begin, uint32_t end, bool regions)
{
	uint4 range = {begin, end, 0, 0};
	if (regions && w.region.bodies && begin < end) {
		const uint32_t rank = region_rank(w, w.start[begin]);
		range.z = rank ? rank - 1 : 0;
		range.w = region_rank(w, w.start[end] - 1) - range.z;
	}
	return range;
}

static __device__ __forceinline__ uint32_t load_acquire(const uint32_t *at)
{
	uint32_t v;
	asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
	return v;
}
static __device__ __forceinline__ void store_release(uint32_t *at, uint32_t v)
{
	asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
}
static __device__ __forceinline__ void nap()
{
	__nanosleep(100);
}

/* ---- interactions, in units of the group ---------------------------------------------------------------- */

static __device__ __forceinline__ float inverse_root(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
static __device__ __forceinline__ double inverse_root(double x)
{
	return rsqrt(x);
}
static __device__ __forceinline__ float squared(float x, float y, float z, float eps2)
{
	return nb_pair_r2_f32(x, y, z, eps2);
}
static __device__ __forceinline__ double squared(double x, double y, double z, double eps2)
{
	return nb_pair_r2_f64(x, y, z, eps2);
}
static __device__ __forceinline__ void add_scaled(float w, float x, float y, float z, float (&a)[3])
{
	nb_pair_add_f32(w, x, y, z, &a[0], &a[1], &a[2]);
}
static __device__ __forceinline__ void add_scaled(double w, double x, double y, double z, double (&a)[3])
{
	nb_pair_add_f64(w, x, y, z, &a[0], &a[1], &a[2]);
}

static __device__ __forceinline__ void turn(float rinv2, float x, float y, float z, float (&v)[3])
{
	nb_pair_jerk_f32(rinv2, x, y, z, &v[0], &v[1], &v[2]);
}
static __device__ __forceinline__ void turn(double rinv2, double x, double y, double z, double (&v)[3])
{
	nb_pair_jerk_f64(rinv2, x, y, z, &v[0], &v[1], &v[2]);
}

/* nb_m2p; q: three times the second moments, trace: 3/2 of theirs, which saves two operations. */
template <class real>
static __device__ __forceinline__ void cell_acts(
	real x, real y, real z, real rinv, real m, const real *q, real trace, real (&a)[3], real &phi)
{
	const real r2 = rinv * rinv, r3 = rinv * r2, r5 = r3 * r2;
	const real vx = q[0] * x + q[1] * y + q[2] * z;
	const real vy = q[1] * x + q[3] * y + q[4] * z;
	const real vz = q[2] * x + q[4] * y + q[5] * z;
	const real h = r2 * (x * vx + y * vy + z * vz);
	const real w = r3 * (m + r2 * ((real)2.5 * h - trace));
	a[0] += w * x - r5 * vx;
	a[1] += w * y - r5 * vy;
	a[2] += w * z - r5 * vz;
	phi += m * rinv + r3 * ((real)0.5 * h - trace * (real)(1.0 / 3));
}

static __device__ __forceinline__ void moving_cell_acts(float x, float y, float z, const float (&u)[3], float rinv,
	float m, const float *moment, const float *rate, float (&a)[3], float &phi, float (&jerk)[3])
{
	nb_m2p_jerk_f32(1, x, y, z, u[0], u[1], u[2], rinv, m, moment, rate, a, &phi, jerk);
}
static __device__ __forceinline__ void moving_cell_acts(double x, double y, double z, const double (&u)[3], double rinv,
	double m, const double *moment, const double *rate, double (&a)[3], double &phi, double (&jerk)[3])
{
	nb_m2p_jerk_f64(1, x, y, z, u[0], u[1], u[2], rinv, m, moment, rate, a, &phi, jerk);
}

template <int P> struct arith {
	typedef float real;
};
template <> struct arith<NB_F64> {
	typedef double real;
};

/* A place relative to the group's centre. */
template <int P> struct place {
	typename arith<P>::real x, y, z;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (typename arith<P>::real)px;
		y = (typename arith<P>::real)py;
		z = (typename arith<P>::real)pz;
	}
	__device__ __forceinline__ place to(const place &s) const
	{
		place d;
		d.x = s.x - x, d.y = s.y - y, d.z = s.z - z;
		return d;
	}
};
template <> struct place<NB_MIXED> {
	float x, y, z, xl, yl, zl;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (float)px, y = (float)py, z = (float)pz;
		xl = (float)(px - x), yl = (float)(py - y), zl = (float)(pz - z);
	}
	__device__ __forceinline__ place<NB_F32> to(const place &s) const
	{
		place<NB_F32> d;
		d.x = s.x - x + (s.xl - xl), d.y = s.y - y + (s.yl - yl), d.z = s.z - z + (s.zl - zl);
		return d;
	}
};

/* What only jerks need of a body, of a cell, and of a target; nothing where none are wanted. */
template <class real, bool JERK> struct moving {
};
template <class real> struct moving<real, true> {
	real vel[3];
};
template <class real, bool JERK> struct changing {
};
template <class real> struct changing<real, true> {
	real vel[3], rate[6];
};
template <class real, bool JERK> struct turning {
};
template <class real> struct turning<real, true> {
	real vel[3], jerk[3];
};

/* What only bodies with softenings of their own, or of a spline, have: nb_gravity_soft. */
template <class real, bool SOFT> struct softened {
};
template <class real> struct softened<real, true> {
	real soft;
};

/* Staged in shared memory, read by all lanes at once. */
template <int P, bool JERK, int LAW>
struct alignas(16) source : moving<typename arith<P>::real, JERK>, softened<typename arith<P>::real, LAW != 0> {
	place<P> at;
	typename arith<P>::real mass;
};
/* moment: three times the second moments; trace: 3/2 of theirs; eps2: NB_LAW_PLUMMER, the cell's own */
template <class real, bool JERK> struct alignas(16) pole : changing<real, JERK> {
	real x, y, z, mass, moment[6], trace, eps2;
};

/* A sum of many sums: what rounding takes from one is given to the next (Kahan 1965, Comm. ACM 8, 40). */
struct long_sum {
	float sum, lost;

	__device__ __forceinline__ void add(float v)
	{
		const float more = __fsub_rn(v, lost), next = __fadd_rn(sum, more);
		lost = __fsub_rn(__fsub_rn(next, sum), more);
		sum = next;
	}
};

/* Sums over all that a target has taken, in high orders; of f64 not needed. */
template <bool LONG> struct summed {
	__device__ __forceinline__ void clear()
	{
	}
	template <class real> __device__ __forceinline__ void keep(real (&)[3], real (&)[1])
	{
	}
	template <class real> __device__ __forceinline__ void end(real (&)[3], real (&)[1])
	{
	}
};
template <> struct summed<true> {
	long_sum all[4];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < 4; k++)
			all[k].sum = all[k].lost = 0;
	}
	__device__ __forceinline__ void keep(float (&acc)[3], float (&pot)[1])
	{
#pragma unroll
		for (int k = 0; k < 3; k++) {
			all[k].add(acc[k]);
			acc[k] = 0;
		}
		all[3].add(pot[0]);
		pot[0] = 0;
	}
	__device__ __forceinline__ void end(float (&acc)[3], float (&pot)[1])
	{
		keep(acc, pot);
#pragma unroll
		for (int k = 0; k < 3; k++)
			acc[k] = all[k].sum;
		pot[0] = all[3].sum;
	}
};

template <int P, bool POT, bool JERK, int LAW, int ORDER, bool HARMONIC>
struct target : turning<typename arith<P>::real, JERK>, softened<typename arith<P>::real, LAW != 0> {
	typedef typename arith<P>::real real;
	place<P> at;
	real acc[3];
	real pot[1];
	summed<(ORDER > 2 && P != NB_F64)> sums;

	__device__ __forceinline__ void take_soft(const source<P, JERK, LAW> &s, bool self)
	{
		constexpr bool spline = LAW == NB_LAW_SPLINE;
		const real floor = P == NB_F64 ? (real)NB_PAIR_FLOOR_F64 : (real)NB_PAIR_FLOOR_F32;
		const auto d = at.to(s.at);
		const real soft = spline ? min(this->soft, s.soft) : max(this->soft, s.soft);
		const real r2 = squared(d.x, d.y, d.z, spline ? floor : soft);
		const nb_pull<real> pull = nb_soften<spline, POT, JERK>(r2, inverse_root(r2), soft, floor);
		const real weight = s.mass * pull.w;
		add_scaled(weight, d.x, d.y, d.z, acc);
		if constexpr (POT)
			pot[0] += self ? 0 : s.mass * pull.p;
		if constexpr (JERK) {
			const real x = s.vel[0] - this->vel[0], y = s.vel[1] - this->vel[1],
				   z = s.vel[2] - this->vel[2];
			const real f = pull.f * (d.z * z + (d.y * y + d.x * x));
			add_scaled(weight, x - f * d.x, y - f * d.y, z - f * d.z, this->jerk);
		}
	}

	/* self: the source is the target, or so near that it counts as such where eps is 0 */
	__device__ __forceinline__ void take(const source<P, JERK, LAW> &s, real eps2, real guard, bool self)
	{
		if constexpr (LAW != NB_LAW_COMMON)
			take_soft(s, self);
		else
			take_common(s, eps2, guard, self);
	}

	__device__ __forceinline__ void take_common(const source<P, JERK, LAW> &s, real eps2, real guard, bool self)
	{
		const auto d = at.to(s.at);
		const real r2 = squared(d.x, d.y, d.z, eps2);
		const real rinv = inverse_root(r2), mrinv = s.mass * rinv, rinv2 = rinv * rinv;
		add_scaled(mrinv * rinv2, d.x, d.y, d.z, acc);
		if constexpr (POT)
			pot[0] += self || r2 <= guard ? 0 : mrinv;
		if constexpr (JERK) {
			real v[3] = {s.vel[0] - this->vel[0], s.vel[1] - this->vel[1], s.vel[2] - this->vel[2]};
			turn(rinv2, d.x, d.y, d.z, v);
			add_scaled(r2 <= guard ? 0 : mrinv * rinv2, v[0], v[1], v[2], this->jerk);
		}
	}

#ifdef NB_WALK_HIGH
	template <class pole> __device__ __forceinline__ void take(const pole &c, real eps2)
	{
		if constexpr (LAW == NB_LAW_PLUMMER)
			eps2 = max(this->soft, c.eps2);
		const real x = c.x - at.x, y = c.y - at.y, z = c.z - at.z;
		nb_high_acts<ORDER, HARMONIC, POT, real>(c, x, y, z, inverse_root(squared(x, y, z, eps2)), acc, pot[0]);
	}
#else
	__device__ __forceinline__ void take(const pole<real, JERK> &c, real eps2)
	{
		if constexpr (LAW == NB_LAW_PLUMMER)
			eps2 = max(this->soft, c.eps2);
		const real x = c.x - at.x, y = c.y - at.y, z = c.z - at.z;
		const real rinv = inverse_root(squared(x, y, z, eps2));
		real phi = 0;
		if constexpr (JERK) {
			const real u[3] = {c.vel[0] - this->vel[0], c.vel[1] - this->vel[1], c.vel[2] - this->vel[2]};
			moving_cell_acts(x, y, z, u, rinv, c.mass, c.moment, c.rate, acc, phi, this->jerk);
		} else {
			cell_acts(x, y, z, rinv, c.mass, c.moment, c.trace, acc, phi);
		}
		if constexpr (POT)
			pot[0] += phi;
	}
#endif
};

/* Index, among the components of a symmetric tensor of one order more, of component k with one more x, y or z (d). */
static __device__ constexpr int more2(int k, int d) /* of x y z: among xx xy xz yy yz zz */
{
	constexpr int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
	return at[k][d];
}
static __device__ constexpr int more3(int k, int d) /* among xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz */
{
	constexpr int at[6][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}, {3, 6, 7}, {4, 7, 8}, {5, 8, 9}};
	return at[k][d];
}
static __device__ constexpr int more4(int k, int d) /* among xxxx xxxy xxxz xxyy .. */
{
	constexpr int at[10][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}, {3, 6, 7}, {4, 7, 8}, {5, 8, 9}, {6, 10, 11},
		{7, 11, 12}, {8, 12, 13}, {9, 13, 14}};
	return at[k][d];
}

/* The group's local expansion: derivatives of sum m/r at its centre. */
struct expansion {
	enum {
		C0,
		C1 = 1,	 /* x y z */
		C2 = 4,	 /* xx xy xz yy yz zz */
		C3 = 10, /* xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz */
		C4 = 20, /* xxxx xxxy xxxz xxyy xxyz xxzz xyyy xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz */
		TERMS = 35
	};
	float c[TERMS];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < TERMS; k++)
			c[k] = 0;
	}

	/* A cell of mass m and half second moments s at (-x, -y, -z); t: what it adds to c.
	 * With g_0 = 1/r, g_k+1 = g_k'/r, and for the moments' potential g_2 x.s.x + g_1 tr s. */
	template <bool POT>
	__device__ __forceinline__ void add(
		float m, const float (&s)[6], float x, float y, float z, float eps2, float (&t)[TERMS])
	{
		const float x2 = x * x, y2 = y * y, z2 = z * z;
		const float rinv = inverse_root(x2 + y2 + z2 + eps2), rinv2 = rinv * rinv;
		const float g1 = -rinv * rinv2, g2 = -3 * g1 * rinv2, g3 = -5 * g2 * rinv2, g4 = -7 * g3 * rinv2;
		const float sx = s[0] * x + s[1] * y + s[2] * z;
		const float sy = s[1] * x + s[3] * y + s[4] * z;
		const float sz = s[2] * x + s[4] * y + s[5] * z;
		const float q = sx * x + sy * y + sz * z, trace = s[0] + s[3] + s[5];
		const float h2 = m * g2, h3 = m * g3, h4 = m * g4;
		const float a = m * g1 + (g3 * q + g2 * trace), b = 2 * g2;
		if constexpr (POT)
			t[C0] = m * rinv + (g2 * q + g1 * trace);
		t[C1 + 0] = a * x + b * sx;
		t[C1 + 1] = a * y + b * sy;
		t[C1 + 2] = a * z + b * sz;
		const float e = 0.5f * (h2 + (g4 * q + g3 * trace)), f = 2 * g3;
		const float ux = e * x + f * sx, uy = e * y + f * sy, uz = e * z + f * sz;
		t[C2 + 0] = a + b * s[0] + 2 * x * ux;
		t[C2 + 1] = b * s[1] + x * uy + y * ux;
		t[C2 + 2] = b * s[2] + x * uz + z * ux;
		t[C2 + 3] = a + b * s[3] + 2 * y * uy;
		t[C2 + 4] = b * s[4] + y * uz + z * uy;
		t[C2 + 5] = a + b * s[5] + 2 * z * uz;
		const float tx = h3 * x2, ty = h3 * y2, tz = h3 * z2;
		t[C3 + 0] = x * (tx + 3 * h2);
		t[C3 + 1] = y * (tx + h2);
		t[C3 + 2] = z * (tx + h2);
		t[C3 + 3] = x * (ty + h2);
		t[C3 + 4] = x * y * (h3 * z);
		t[C3 + 5] = x * (tz + h2);
		t[C3 + 6] = y * (ty + 3 * h2);
		t[C3 + 7] = z * (ty + h2);
		t[C3 + 8] = y * (tz + h2);
		t[C3 + 9] = z * (tz + 3 * h2);
		const float xy = x * y, xz = x * z, yz = y * z;
		const float px = h4 * x2 + h3, py = h4 * y2 + h3, pz = h4 * z2 + h3, h33 = 2 * h3;
		t[C4 + 0] = x2 * (px + 5 * h3) + 3 * h2;
		t[C4 + 1] = xy * (px + h33);
		t[C4 + 2] = xz * (px + h33);
		t[C4 + 3] = x2 * py + (ty + h2);
		t[C4 + 4] = yz * px;
		t[C4 + 5] = x2 * pz + (tz + h2);
		t[C4 + 6] = xy * (py + h33);
		t[C4 + 7] = xz * py;
		t[C4 + 8] = xy * pz;
		t[C4 + 9] = xz * (pz + h33);
		t[C4 + 10] = y2 * (py + 5 * h3) + 3 * h2;
		t[C4 + 11] = yz * (py + h33);
		t[C4 + 12] = y2 * pz + (tz + h2);
		t[C4 + 13] = yz * (pz + h33);
		t[C4 + 14] = z2 * (pz + 5 * h3) + 3 * h2;
#pragma unroll
		for (int k = POT ? 0 : 1; k < TERMS; k++)
			c[k] += t[k];
	}

	/* The sum over the lanes, in all of them. */
	template <bool POT> __device__ __forceinline__ void join()
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
			for (int k = POT ? 0 : 1; k < TERMS; k++)
				c[k] += __shfl_xor_sync(0xffffffff, c[k], offset);
		}
	}

	/* (sum m/r, if wanted, and) its gradient at x, y, z: Horner's scheme, tensor by tensor. */
	template <bool POT>
	__device__ __forceinline__ void value(float x, float y, float z, float (&a)[3], float &u) const
	{
		float t3[10], t2[6], u3[10], u2[6];
#pragma unroll
		for (int k = 0; k < 10; k++) {
			const float d = c[C4 + more4(k, 0)] * x + c[C4 + more4(k, 1)] * y + c[C4 + more4(k, 2)] * z;
			t3[k] = c[C3 + k] + (1.0f / 3) * d;
			if constexpr (POT)
				u3[k] = c[C3 + k] + 0.25f * d;
		}
#pragma unroll
		for (int k = 0; k < 6; k++) {
			t2[k] = c[C2 + k] + 0.5f * (t3[more3(k, 0)] * x + t3[more3(k, 1)] * y + t3[more3(k, 2)] * z);
			if constexpr (POT)
				u2[k] = c[C2 + k] +
					(1.0f / 3) * (u3[more3(k, 0)] * x + u3[more3(k, 1)] * y + u3[more3(k, 2)] * z);
		}
#pragma unroll
		for (int k = 0; k < 3; k++)
			a[k] = c[C1 + k] + t2[more2(k, 0)] * x + t2[more2(k, 1)] * y + t2[more2(k, 2)] * z;
		if constexpr (POT) {
			float u1[3];
#pragma unroll
			for (int k = 0; k < 3; k++)
				u1[k] = c[C1 + k] +
					0.5f * (u2[more2(k, 0)] * x + u2[more2(k, 1)] * y + u2[more2(k, 2)] * z);
			u = c[C0] + u1[0] * x + u1[1] * y + u1[2] * z;
		}
	}
};

/* Its time derivative, about a centre that moves, of first to third order; the expansion has the fourth. */
struct expansion_rate {
	enum { C1 = 0, C2 = 3, C3 = 9, TERMS = 19 };
	float c[TERMS];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < TERMS; k++)
			c[k] = 0;
	}

	/* The cell whose terms are t, half of whose second moments change by s; v: velocity of (x, y, z).  Second
	 * moments act up to the fourth derivative of 1/r, as in t. */
	__device__ __forceinline__ void add(const float (&t)[expansion::TERMS], const float (&s)[6], float x, float y,
		float z, const float (&v)[3], float eps2)
	{
		typedef struct expansion e;
#pragma unroll
		for (int k = 0; k < 3; k++)
			c[C1 + k] += t[e::C2 + more2(k, 0)] * v[0] + t[e::C2 + more2(k, 1)] * v[1] +
				     t[e::C2 + more2(k, 2)] * v[2];
#pragma unroll
		for (int k = 0; k < 6; k++)
			c[C2 + k] += t[e::C3 + more3(k, 0)] * v[0] + t[e::C3 + more3(k, 1)] * v[1] +
				     t[e::C3 + more3(k, 2)] * v[2];
#pragma unroll
		for (int k = 0; k < 10; k++)
			c[C3 + k] += t[e::C4 + more4(k, 0)] * v[0] + t[e::C4 + more4(k, 1)] * v[1] +
				     t[e::C4 + more4(k, 2)] * v[2];
		const float rinv = inverse_root(x * x + y * y + z * z + eps2), rinv2 = rinv * rinv;
		const float g2 = 3 * rinv * rinv2 * rinv2, g3 = -5 * g2 * rinv2, g4 = -7 * g3 * rinv2;
		const float sx = s[0] * x + s[1] * y + s[2] * z;
		const float sy = s[1] * x + s[3] * y + s[4] * z;
		const float sz = s[2] * x + s[4] * y + s[5] * z;
		const float q = sx * x + sy * y + sz * z, trace = s[0] + s[3] + s[5];
		const float a = g3 * q + g2 * trace, b = 2 * g2, f = 2 * g3, h = 0.5f * (g4 * q + g3 * trace);
		const float ux = h * x + f * sx, uy = h * y + f * sy, uz = h * z + f * sz;
		c[C1 + 0] += a * x + b * sx;
		c[C1 + 1] += a * y + b * sy;
		c[C1 + 2] += a * z + b * sz;
		c[C2 + 0] += a + b * s[0] + 2 * x * ux;
		c[C2 + 1] += b * s[1] + x * uy + y * ux;
		c[C2 + 2] += b * s[2] + x * uz + z * ux;
		c[C2 + 3] += a + b * s[3] + 2 * y * uy;
		c[C2 + 4] += b * s[4] + y * uz + z * uy;
		c[C2 + 5] += a + b * s[5] + 2 * z * uz;
	}

	/* The sum over the lanes, in all of them. */
	__device__ __forceinline__ void join()
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
			for (int k = 0; k < TERMS; k++)
				c[k] += __shfl_xor_sync(0xffffffff, c[k], offset);
		}
	}

	/* Adds the jerk at x of a body that moves with velocity v relative to the centre. */
	__device__ __forceinline__ void value(
		const struct expansion &field, const float (&x)[3], const float (&v)[3], float (&jerk)[3]) const
	{
		typedef struct expansion e;
		float t3[10], t2[6]; /* third and second derivatives of the field */
#pragma unroll
		for (int k = 0; k < 10; k++)
			t3[k] = field.c[e::C3 + k] +
				0.5f * (field.c[e::C4 + more4(k, 0)] * x[0] + field.c[e::C4 + more4(k, 1)] * x[1] +
					       field.c[e::C4 + more4(k, 2)] * x[2]);
#pragma unroll
		for (int k = 0; k < 6; k++)
			t2[k] = field.c[e::C2 + k] + t3[more3(k, 0)] * x[0] + t3[more3(k, 1)] * x[1] +
				t3[more3(k, 2)] * x[2];
		float r2[6];
#pragma unroll
		for (int k = 0; k < 6; k++)
			r2[k] = c[C2 + k] + 0.5f * (c[C3 + more3(k, 0)] * x[0] + c[C3 + more3(k, 1)] * x[1] +
							   c[C3 + more3(k, 2)] * x[2]);
#pragma unroll
		for (int k = 0; k < 3; k++)
			jerk[k] += c[C1 + k] +
				   (r2[more2(k, 0)] * x[0] + r2[more2(k, 1)] * x[1] + r2[more2(k, 2)] * x[2]) +
				   (t2[more2(k, 0)] * v[0] + t2[more2(k, 1)] * v[1] + t2[more2(k, 2)] * v[2]);
	}
};
struct no_expansion_rate {
};

/* ---- the walk ------------------------------------------------------------------------------------------- */

/* How the group moves: its mean velocity; relative to the root, scaled. */
template <bool JERK> struct desk_motion {
};
template <> struct desk_motion<true> {
	double velocity[3], speed;
	float drift[3];
};

/* Softenings of the group, in the cells' units: the least, root of the mean square, and the largest; Plummer: all that
 * there are, if they are at most KINDS; error: that an accepted cell may have. */
template <bool SOFT> struct desk_soft {
};
template <> struct desk_soft<true> {
	float eps_low, eps_mean, eps_high, error;
	float kind[KINDS];
	int nkind;
};

#ifdef NB_WALK_HIGH
/* The group's local expansion, one of each lane, and what stands for a cell. */
template <class real, bool JERK, int LAW, int ORDER, bool HARMONIC> struct cells {
	typedef typename std::conditional<LAW == NB_LAW_PLUMMER, nb_high_soft_pole<real, ORDER>,
		nb_high_pole<real, ORDER, HARMONIC>>::type pole_type;
	alignas(16) real sums[nb_high_far<ORDER, HARMONIC>::TERMS * 32];
};
#else
template <class real, bool JERK, int LAW, int ORDER, bool HARMONIC> struct cells {
	typedef pole<real, JERK> pole_type;
};
#endif

/* A warp's shared memory. */
template <int P, bool POT, bool JERK, int LAW, int ORDER, bool HARMONIC>
struct desk : desk_motion<JERK>, desk_soft<LAW != 0>, cells<typename arith<P>::real, JERK, LAW, ORDER, HARMONIC> {
	typedef typename arith<P>::real real;
	double centre[3], scale; /* group units: (x - centre) scale */
	float4 high;		 /* the centre, as for the cells; group units from the cells' */
	float4 low;		 /* and the sphere's radius */
	float4 half;		 /* the box; times a cell's influence: how far it must be to be far */
	float spread;		 /* the same for the local expansion, times the root of mass in extent */
	real eps2;
	union {
		source<P, JERK, LAW> body[32];
		typename cells<real, JERK, LAW, ORDER, HARMONIC>::pole_type cell[32];
	};
	uint32_t body_queue[64];
	float4 cell_queue[64], far_queue[64]; /* place relative to the group's centre, in the cells' units; node */
	uint32_t body_index[POT ? 32 : 1];    /* from the group's first */
	uint4 range;			      /* range_of */
	uint32_t region_begin;		      /* the first region that there is room for */
	float beyond;			      /* distance from where on cells do not count */
	uint32_t top[TOP];		      /* of the stack */
};

/* One warp at one group, in registers. */
template <int P, bool POT, bool JERK, bool COUNT, int LAW, int ORDER, bool HARMONIC> struct walker {
	typedef typename arith<P>::real real;
	typedef struct desk<P, POT, JERK, LAW, ORDER, HARMONIC> desk_type;
	enum {
		PRECISION = P,
		REGIONS = !JERK && (ORDER > 2 || P != NB_F64),
		TERMS = region_terms<ORDER, HARMONIC>() /* of a region's local expansion */
	};
	const struct walk &w;
	desk_type &mine;
	uint32_t *stack;
	const unsigned lane;

	uint32_t first, num;  /* the group's bodies */
	const uint32_t *list; /* of its region, nodes to begin with beside those on the stack */
	uint32_t unseen;      /* of them */
	bool in_region;	      /* else the walk begins at the root */
	uint32_t region;      /* in the range */
	typedef struct target<P, POT, JERK, LAW, ORDER, HARMONIC> target_type;
	target_type target[SLOTS];
#ifndef NB_WALK_HIGH
	struct expansion local;
#endif
	typename std::conditional<JERK && P != NB_F64, struct expansion_rate, struct no_expansion_rate>::type
		local_rate;
	unsigned nbody, ncell, nfar;
	bool expanded, broken;
	unsigned long long p2p, m2p, m2l;

	__device__ __forceinline__ walker(
		const struct walk &in, struct desk<P, POT, JERK, LAW, ORDER, HARMONIC> &d, uint32_t *s)
	    : w(in), mine(d), stack(s), lane(threadIdx.x % 32), p2p(0), m2p(0), m2l(0)
	{
	}

	static __device__ __forceinline__ float warp_min(float v)
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2)
			v = fminf(v, __shfl_xor_sync(0xffffffff, v, offset));
		return v;
	}
	static __device__ __forceinline__ float warp_max(float v)
	{
		return -warp_min(-v);
	}

	/* Up to 32 nodes from the top of the stack, one a lane. */
	struct batch {
		unsigned n;
		uint32_t node;
		float4 a, b; /* its place */
		uint32_t extent;
	};
	__device__ __forceinline__ batch pop(unsigned &depth)
	{
		batch next;
		next.n = depth > FULL ? 1 : depth < 32 ? depth : 32;
		depth -= next.n;
		next.node = 0;
		__syncwarp();
		if (lane < next.n)
			next.node = depth + lane < TOP ? mine.top[depth + lane] : stack[depth + lane];
		if (depth == 0 && unseen) { /* then no more than 32 were there */
			const uint32_t more = unseen < 32 - next.n ? unseen : 32 - next.n;
			if (lane >= next.n && lane < next.n + more)
				next.node = __ldcg(list + (lane - next.n));
			next.n += more;
			list += more;
			unseen -= more;
		}
		next.a = __ldg(&w.place[2 * (size_t)next.node]);
		next.b = __ldg(&w.place[2 * (size_t)next.node + 1]);
		next.extent = __ldg(&w.extent[next.node]);
		return next;
	}

	/* Every lane's children, in the order of the lanes. */
	__device__ __forceinline__ void push(uint32_t child, uint32_t children, unsigned &depth)
	{
		const uint32_t before = (1u << lane) - 1;
		uint32_t to = depth, all = 0;
#pragma unroll
		for (int bit = 0; bit < 4; bit++) { /* and all have read what they popped */
			const uint32_t have = __ballot_sync(0xffffffff, children >> bit & 1);
			to += (uint32_t)__popc(have & before) << bit;
			all += (uint32_t)__popc(have) << bit;
		}
		__syncwarp();
		if (depth + all > STACK) {
			broken = true;
			return;
		}
		depth += all;
		if (depth <= TOP) {
#pragma unroll
			for (uint32_t k = 0; k < 8; k++)
				if (k < children)
					mine.top[to + k] = child + k;
		} else {
			for (uint32_t k = 0; k < children; k++)
				if (to + k < TOP)
					mine.top[to + k] = child + k;
				else
					stack[to + k] = child + k;
		}
	}

	static __device__ __forceinline__ float extent_size(uint32_t extent)
	{
		return __uint_as_float(extent & 0xffff0000u);
	}
	static __device__ __forceinline__ float extent_mass(uint32_t extent)
	{
		return __uint_as_float(extent << 16);
	}
	/* Mass from its root. */
	__device__ __forceinline__ float mass_of(float root) const
	{
		constexpr int power = of_order<ORDER, HARMONIC>::LOCAL + 2;
		const float root2 = root * root, root6 = root2 * root2 * root2;
		return w.alpha > 0  ? root2 * root2
		       : power == 6 ? root6
		       : power == 7 ? root6 * root
		       : power == 8 ? root6 * root2
				    : root6 * (root2 * root);
	}

	/* Smallest old acceleration, in the cells' units. */
	__device__ __forceinline__ float least_acceleration() const
	{
		float least = INFINITY;
		const double factor = w.plan->mass / w.G * w.plan->unlength * w.plan->unlength;
		for (uint32_t t = lane; t < num; t += 32) {
			const double *a = w.acc_old + 3 * (size_t)(first + t);
			least = fminf(least, (float)(sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) * fabs(factor)));
		}
		return warp_min(least);
	}

	/* Strength of the field, sum m / (d^2 + radius^2 + eps^2), to some ten per cent. */
	__device__ __forceinline__ float field()
	{
		const float4 high = mine.high, low = mine.low;
		float eps = w.plan->eps;
		if constexpr (LAW != NB_LAW_COMMON)
			eps = mine.eps_high; /* for the target that feels the field least */
		const float near2 = low.w * low.w + eps * eps + 1e-30f;
		unsigned depth = 1;
		if (lane == 0)
			mine.top[0] = 0;
		float sum = 0;
		for (batch next = pop(depth); next.n; next = pop(depth)) {
			const float dx = next.a.x - high.x + (next.b.x - low.x),
				    dy = next.a.y - high.y + (next.b.y - low.y),
				    dz = next.a.z - high.z + (next.b.z - low.z), d2 = dx * dx + dy * dy + dz * dz;
			const uint32_t link = __float_as_uint(next.b.w);
			const float l = extent_size(next.extent), mass = mass_of(extent_mass(next.extent));
			const bool open = lane < next.n && !(link & LEAF) && d2 < l * l;
			/* bodies in the place of a group that is a point do not pull it */
			if (lane < next.n && !open && (d2 > 0 || low.w > 0))
				sum += mass / (d2 + near2);
			if (__any_sync(0xffffffff, open))
				push(link & 0x0fffffffu, open ? (link >> 28) + 1 : 0, depth);
		}
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, offset);
		return sum;
	}

	/* In group units.  In f64 the coordinates are only scaled, which rounds nothing. */
	__device__ __forceinline__ void set(place<P> &at, const double *x) const
	{
		if constexpr (P == NB_F64)
			at.set(x[0] * mine.scale, x[1] * mine.scale, x[2] * mine.scale);
		else
			at.set((x[0] - mine.centre[0]) * mine.scale, (x[1] - mine.centre[1]) * mine.scale,
				(x[2] - mine.centre[2]) * mine.scale);
	}

	/* Softenings of the targets. */
	__device__ __forceinline__ void begin_soft()
	{
		float eps[SLOTS], low = INFINITY, high = 0, sum = 0;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			eps[t] = (float)((w.body_eps ? w.body_eps[i] : w.eps) * w.plan->length);
			low = fminf(low, eps[t]);
			high = fmaxf(high, eps[t]);
			sum += t * 32 + lane < num ? eps[t] * eps[t] : 0;
		}
		int nkind = 0;
		for (float last = -1; LAW == NB_LAW_PLUMMER && nkind <= KINDS; nkind++) {
			float next = INFINITY;
#pragma unroll
			for (int t = 0; t < SLOTS; t++)
				next = fminf(next, eps[t] > last ? eps[t] : INFINITY);
			last = warp_min(next);
			if (last == INFINITY)
				break;
			if (lane == 0 && nkind < KINDS)
				mine.kind[nkind] = last;
		}
		set_soft_range(low, high, sum, nkind);
	}

	/* From what each lane has seen of them: least, largest, sum of squares. */
	__device__ __forceinline__ void set_soft_range(float low, float high, float sum, int nkind)
	{
		low = warp_min(low);
		high = warp_max(high);
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, offset);
		if (lane == 0) {
			mine.eps_low = low, mine.eps_high = high, mine.nkind = nkind;
			mine.eps_mean = fmaxf(low, fminf(high, sqrtf(sum / num)));
		}
		__syncwarp();
	}

	/* Of all bodies of a region; which softenings there are is not looked at. */
	__device__ __forceinline__ void begin_soft_all()
	{
		if constexpr (LAW != NB_LAW_COMMON) {
			float low = INFINITY, high = 0, sum = 0;
			for (uint32_t t = lane; t < num; t += 32) {
				const float eps = (float)((w.body_eps ? w.body_eps[first + t] : w.eps) *
							  w.plan->length);
				low = fminf(low, eps);
				high = fmaxf(high, eps);
				sum += eps * eps;
			}
			set_soft_range(low, high, sum, KINDS + 1);
		}
	}

	__device__ __forceinline__ void judge_expand(uint32_t node, uint32_t extent, float d2, bool &expand) const
	{
		bool far = false;
		if constexpr (LAW != NB_LAW_COMMON)
			judge_soft(node, extent, 0, d2, far, expand);
	}

	/* After the group's units are known. */
	__device__ __forceinline__ void set_soft()
	{
		const double floor = P == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			target[t].soft = (real)nb_soft_of<LAW == NB_LAW_SPLINE>(
				w.body_eps ? w.body_eps[i] : w.eps, mine.scale, floor);
		}
	}

	/* Whether a node may act on bodies (far) and through the local expansion (expand), for what softenings are.
	 *   near2  squared distance of its centre of mass from the group's box
	 *   d2     and from its centre */
	__device__ __forceinline__ void judge_soft(
		uint32_t node, uint32_t extent, float near2, float d2, bool &far, bool &expand) const
	{
		const float4 eps = __ldg(&w.soft[node]);
		const float size = extent_size(extent), edge = fmaxf(sqrtf(d2) - mine.low.w, 0);
		if constexpr (LAW == NB_LAW_SPLINE) {
			/* no body of the node is farther than the diagonal from its centre of mass */
			const float reach = (float)(NB_SPLINE_SUPPORT * (1 + 0x1p-18)) * fmaxf(eps.z, mine.eps_high) +
					    1.7321f * size;
			far &= near2 > reach * reach;
			expand &= edge > reach;
		} else {
			judge_plummer(eps, extent, near2, edge, far, expand);
		}
	}

	__device__ __forceinline__ void judge_plummer(
		const float4 &eps, uint32_t extent, float near2, float edge, bool &far, bool &expand) const
	{
		const float size = extent_size(extent);
		const float mass = mass_of(extent_mass(extent));
		const float low = eps.x * eps.x, own = eps.y * eps.y, high = eps.z * eps.z;
		const float target_low = mine.eps_low * mine.eps_low, target_mean = mine.eps_mean * mine.eps_mean,
			    target_high = mine.eps_high * mine.eps_high;
		const float pair_low = fmaxf(low, target_low), spread = (high - own) * (own - low);
		bool between = mine.nkind > KINDS && eps.x < mine.eps_high && eps.z > mine.eps_low;
		for (int k = 0; mine.nkind <= KINDS && k < mine.nkind; k++)
			between |= eps.x < mine.kind[k] && eps.z > mine.kind[k];
		const float softest = fmaxf(own, target_low),
			    off = fmaxf(fmaxf(high, target_low) - softest, softest - pair_low);
		far &= soft_error(mass, size, between ? off : 0, !between && eps.z > mine.eps_low ? spread : 0,
			       near2 + pair_low) <= mine.error;
		const bool below_all = eps.x >= mine.eps_high;
		const float pair = fmaxf(own, target_mean);
		const float off_cell = fmaxf(fmaxf(high, target_high) - pair, pair - pair_low);
		expand &= soft_error(mass, size, below_all ? 0 : off_cell, below_all ? spread : 0,
				  edge * edge + pair_low) <= mine.error;
	}

	/* As T(soft_error) in resolve_body.h, of a node at squared distance r2, softened. */
	__device__ __forceinline__ float soft_error(float mass, float size, float off, float spread, float r2) const
	{
		if (off == 0 && spread == 0)
			return 0;
		const float inv = 1 / r2, spread2 = fmaxf(spread, 0) * (inv * inv);
		return mass * inv *
		       (w.soft_weight * (1.5f * off * inv + 1.875f * spread2) + 3 * sqrtf(size * size * inv * spread2));
	}

	/* Velocities of the targets, relative to their mean. */
	__device__ __forceinline__ void begin_motion()
	{
		const double *origin = w.vel + 3 * (size_t)first;
		double v[SLOTS][3], mean[3];
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
#pragma unroll
			for (int k = 0; k < 3; k++)
				v[t][k] = w.vel[3 * i + k] - origin[k]; /* 0 where there is no target */
		}
#pragma unroll
		for (int k = 0; k < 3; k++) {
			mean[k] = v[0][k];
#pragma unroll
			for (int t = 1; t < SLOTS; t++)
				mean[k] += v[t][k];
#pragma unroll
			for (int offset = 16; offset > 0; offset /= 2)
				mean[k] += __shfl_xor_sync(0xffffffff, mean[k], offset);
			mean[k] = mean[k] / num + origin[k];
		}
		if (lane == 0) {
			mine.speed = w.plan->speed;
#pragma unroll
			for (int k = 0; k < 3; k++) {
				mine.velocity[k] = mean[k];
				mine.drift[k] = (float)((mean[k] - w.velocity[k]) * w.plan->speed);
			}
		}
		__syncwarp();
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			set_velocity(target[t].vel, w.vel + 3 * i);
#pragma unroll
			for (int k = 0; k < 3; k++)
				target[t].jerk[k] = 0;
		}
		if constexpr (P != NB_F64)
			local_rate.clear();
	}

	/* Scaled, relative to the group. */
	__device__ __forceinline__ void set_velocity(real (&v)[3], const double *from) const
	{
#pragma unroll
		for (int k = 0; k < 3; k++)
			v[k] = (real)((from[k] - mine.velocity[k]) * mine.speed);
	}

	/* Box of the bodies, of which each lane has some: from what they span, relative to *origin. */
	__device__ __forceinline__ void set_box(
		const double *origin, float (&lo)[3], float (&hi)[3], double (&centre)[3], float (&half)[3])
	{
#pragma unroll
		for (int k = 0; k < 3; k++) {
			lo[k] = warp_min(lo[k]);
			hi[k] = warp_max(hi[k]);
			centre[k] = origin[k] + (double)(0.5f * (lo[k] + hi[k])) * w.plan->unlength;
			half[k] = 0.5f * (hi[k] - lo[k]) * (1 + 0x1p-20f);
		}
	}

	static __device__ __forceinline__ float distance2(const double *x, const double (&centre)[3], double length)
	{
		float d2 = 0;
#pragma unroll
		for (int k = 0; k < 3; k++) {
			const float d = (float)((x[k] - centre[k]) * length);
			d2 += d * d;
		}
		return d2;
	}

	/* Where the bodies are, and from how strong the field is there, what is far, and the unit of length; r2: the
	 * largest squared distance from the centre. */
	__device__ __forceinline__ void set_place(const double (&centre)[3], const float (&half)[3], float r2)
	{
		const double length = w.plan->length;
		float high[3], low[3];
#pragma unroll
		for (int k = 0; k < 3; k++) {
			const double c = (centre[k] - w.plan->origin[k]) * length;
			high[k] = (float)c;
			low[k] = (float)(c - high[k]);
		}
		const float radius = sqrtf(warp_max(r2)) * (1 + 0x1p-20f);
		__syncwarp();
		if (lane == 0) {
#pragma unroll
			for (int k = 0; k < 3; k++)
				mine.centre[k] = centre[k];
			mine.high = make_float4(high[0], high[1], high[2], 1);
			mine.low = make_float4(low[0], low[1], low[2], radius);
			mine.half = make_float4(half[0], half[1], half[2], 0);
		}
		__syncwarp();
	}

	__device__ __forceinline__ void set_units()
	{
		const double length = w.plan->length;
		const float radius = mine.low.w;
		const float old = w.alpha > 0 ? least_acceleration() : 0;
		const float now = w.alpha > 0 && radius >= 1 ? 0 : field();
		const float strength = w.alpha > 0 ? old : now;
		const float error = (w.alpha > 0 ? w.alpha : w.error) * strength;
		/* 2^-e, 2^e <= radius < 2^(e+1), e >= 0; but e < 0 in the depth of a tree, where the mass of the whole
		 * would be as strong as the field from less than 2^12 away: units stay so small that powers of
		 * distances are in the range of f32, near and far.  The field is looked at even if the caller has
		 * accelerations: they may cancel, or be older than a close neighbour. */
		const float least = fminf(1, rsqrtf(fmaxf(old, now)) * 0x1p-12f);
		const float unit = __uint_as_float(
			(254u << 23) - (__float_as_uint(fmaxf(radius, least)) & 0x7f800000u));
		const double scale = length * (double)unit, eps = LAW == NB_LAW_COMMON ? w.eps * scale : 0;
		if (lane == 0) {
			mine.scale = scale;
			mine.high.w = unit;
			mine.beyond = BEYOND / unit;
			mine.eps2 = P == NB_F64 ? (real)nb_pair_eps2_f64(eps) : (real)nb_pair_eps2_f32(eps);
			if constexpr (LAW != NB_LAW_COMMON)
				mine.error = w.soft_error * strength;
			constexpr int power = of_order<ORDER, HARMONIC>::LOCAL;
			mine.half.w = powf(error, w.alpha > 0 ? -0.25f : -1.0f / of_order<ORDER, HARMONIC>::FAR);
			const float spread = (w.alpha > 0 ? LOCAL_FAR_2 : of_order<ORDER, HARMONIC>::local_far()) *
					     radius;
			mine.spread = w.alpha > 0 ? powf(spread, 0.5f) * mine.half.w
						  : powf(spread, (float)power / (power + 2)) *
							    powf(error, -1.0f / (power + 2));
		}
		__syncwarp();
	}

	__device__ __forceinline__ void clear_local()
	{
#ifdef NB_WALK_HIGH
#pragma unroll 4
		for (int k = 0; k < far_field::TERMS; k++)
			mine.sums[32 * k + lane] = 0;
#else
		local.clear();
#endif
		expanded = false;
		nfar = 0;
	}

	__device__ __forceinline__ void begin(uint32_t group)
	{
		broken = false;
		unseen = 0;
		first = w.start[group];
		num = w.start[group + 1] - first;
		const double length = w.plan->length, *origin = w.pos + 3 * (size_t)first;
		double x[SLOTS][3], centre[3];
		float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, half[3];
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
#pragma unroll
			for (int k = 0; k < 3; k++) {
				x[t][k] = w.pos[3 * i + k];
				const float rel = (float)((x[t][k] - origin[k]) * length);
				lo[k] = fminf(lo[k], rel);
				hi[k] = fmaxf(hi[k], rel);
			}
		}
		set_box(origin, lo, hi, centre, half);
		float r2 = 0;
#pragma unroll
		for (int t = 0; t < SLOTS; t++)
			r2 = fmaxf(r2, distance2(x[t], centre, length));
		set_place(centre, half, r2);
		if constexpr (LAW != NB_LAW_COMMON)
			begin_soft();
		set_units();
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			set(target[t].at, x[t]);
#pragma unroll
			for (int k = 0; k < 3; k++)
				target[t].acc[k] = 0;
			target[t].pot[0] = 0;
			target[t].sums.clear();
		}
		if constexpr (LAW != NB_LAW_COMMON)
			set_soft();
		clear_local();
		if constexpr (JERK)
			begin_motion();
		nbody = ncell = 0;
		find_region();
	}

	/* Which tasks there are, if they are of one range. */
	__device__ __forceinline__ void open_range()
	{
		if (lane == 0) {
			mine.range = w.drawn.of ? make_uint4(0, 0, 0, 0)
						: range_of(w, w.begin, w.end ? w.end : *w.ngroup, REGIONS);
			mine.region_begin = mine.range.z;
		}
		__syncwarp();
	}

	/* Regions come before groups, so that none waits for ever; and large groups before small ones, so that the last
	 * to end are small. */
	__device__ __forceinline__ struct task draw()
	{
		uint32_t t = 0;
		__syncwarp();
		if (lane == 0) {
			t = atomicAdd(w.drawn.of ? w.drawn.next : w.next, 1u);
			if (w.drawn.of)
				t = find_range(t);
		}
		t = __shfl_sync(0xffffffff, t, 0);
		__syncwarp();
		const uint4 range = mine.range;
		const uint32_t groups = range.y - range.x;
		if (range.x >= range.y)
			return {task::END, 0};
		if (t < range.w)
			return {task::REGION, range.z + t};
		t -= range.w;
		if (t >= 2 * groups)
			return {w.drawn.of ? task::NOTHING : task::END, 0};
		const bool small = t >= groups;
		const uint32_t group = range.x + (small ? t - groups : t);
		if ((w.start[group + 1] - w.start[group] <= 32) != small)
			return {task::NOTHING, 0};
		if (w.drawn.of && lane == 0)
			atomicAdd(&w.plan->counts[3], 1ull);
		return {task::GROUP, group};
	}

	/* Which range task t of this device is of, and which of its tasks; who draws its first task draws the range. */
	__device__ __forceinline__ uint32_t find_range(uint32_t t)
	{
		constexpr uint32_t TASKS = 2 * NB_DRAW_GROUPS + NB_DRAW_GROUPS / 2 + 2; /* a region has two groups */
		const uint32_t slot = t / TASKS;
		t %= TASKS;
		if (t == 0) {
			const uint32_t all = *w.ngroup, begin = NB_DRAW_GROUPS * atomicAdd_system(w.next, 1u),
				       end = all - begin < NB_DRAW_GROUPS ? all : begin + NB_DRAW_GROUPS;
			const uint4 range = begin < all ? range_of(w, begin, end, REGIONS) : make_uint4(0, 0, 0, 0);
			__stcg(&w.drawn.of[slot], range);
			store_release(&w.drawn.ready[slot], 1);
			mine.range = range;
			return t;
		}
		while (!load_acquire(&w.drawn.ready[slot]))
			nap();
		mine.range = __ldcg(&w.drawn.of[slot]);
		return t;
	}

	/* What the walk of its region has left to this group; waits for it. */
	__device__ __forceinline__ void find_region()
	{
		in_region = false;
		if (!REGIONS || w.region.bodies == 0)
			return;
		const uint32_t rank = region_rank(w, first);
		if (rank == 0)
			return;
		const uint4 span = __ldg(&w.region.span[rank - 1]);
		if (first >= span.z)
			return;
		region = rank - 1 - mine.region_begin;
		uint32_t listed = 0;
		if (lane == 0)
			while ((listed = load_acquire(&w.region.listed[region])) >= REGION_BUSY)
				nap();
		listed = __shfl_sync(0xffffffff, listed, 0);
		if (listed == REGION_NONE)
			return;
		in_region = true;
		if constexpr (COUNT) /* once, wherever it was walked */
			m2l += first == span.y ? __ldcg(&w.region.place[region].m2l) : 0;
		unseen = listed;
		list = w.region.list + (size_t)region * w.region.room;
	}

	/* The last n bodies of the queue act on the targets. */
	__device__ __forceinline__ void take_bodies(unsigned n)
	{
		__syncwarp();
		if (lane < n) {
			size_t i = mine.body_queue[nbody - n + lane];
			const double *mass = &w.mass[i], *vel = nullptr;
			if constexpr (JERK)
				vel = w.vel + 3 * i;
			if (i & LEAF) { /* all bodies of a node */
				const size_t j = i & ~(size_t)LEAF;
				mass = &w.node_mass[j];
				if constexpr (JERK)
					vel = w.velocity + 3 * j;
				i = w.first[j];
			}
			source<P, JERK, LAW> s;
			set(s.at, w.pos + 3 * i);
			if constexpr (LAW != NB_LAW_COMMON)
				s.soft = (real)nb_soft_of<LAW == NB_LAW_SPLINE>(w.body_eps ? w.body_eps[i] : w.eps,
					mine.scale, P == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32);
			s.mass = (real)(*mass * w.plan->mass);
			if constexpr (JERK)
				set_velocity(s.vel, vel);
			mine.body[lane] = s;
			if constexpr (POT)
				mine.body_index[lane] = (uint32_t)i - first;
		} else {
			mine.body[lane] = source<P, JERK, LAW>();
			if constexpr (POT)
				mine.body_index[lane] = UINT_MAX;
		}
		__syncwarp();
		if (num > 32)
			staged_bodies<2>();
		else
			staged_bodies<1>();
		nbody -= n;
		if constexpr (COUNT)
			p2p += (unsigned long long)n * num;
	}

	template <int T> __device__ __forceinline__ void staged_bodies()
	{
		const real eps2 = mine.eps2, guard = w.eps > 0 ? (real)-1 : eps2;
#pragma unroll 4
		for (unsigned k = 0; k < 32; k++) {
			const source<P, JERK, LAW> s = mine.body[k];
			uint32_t index = 0;
			if constexpr (POT)
				index = mine.body_index[k];
#pragma unroll
			for (int t = 0; t < T; t++)
				target[t].take(s, eps2, guard, POT && index == t * 32 + lane);
		}
		keep<T>();
	}

	/* What a batch has given. */
	template <int T> __device__ __forceinline__ void keep()
	{
#pragma unroll
		for (int t = 0; t < T; t++)
			target[t].sums.keep(target[t].acc, target[t].pot);
	}

	/* Velocity relative to the group and rates of second moments of node j, in group units. */
	__device__ __forceinline__ void set_motion(pole<real, JERK> &c, size_t j) const
	{
		if constexpr (P == NB_F64) {
			const double unit = w.plan->mass * mine.scale * mine.speed;
			set_velocity(c.vel, w.velocity + 3 * j);
#pragma unroll
			for (int k = 0; k < 6; k++)
				c.rate[k] = w.quad ? w.quad_rate[6 * j + k] * unit : 0;
		} else {
			const float4 a = __ldg(&w.motion[2 * j]), b = __ldg(&w.motion[2 * j + 1]);
			const float f = 2 * mine.high.w;
			c.vel[0] = a.x - mine.drift[0], c.vel[1] = a.y - mine.drift[1], c.vel[2] = a.z - mine.drift[2];
			c.rate[0] = f * a.w, c.rate[1] = f * b.x, c.rate[2] = f * b.y, c.rate[3] = f * b.z;
			c.rate[4] = f * b.w, c.rate[5] = f * __ldg(&w.moment[2 * j + 1].w);
		}
	}

#ifdef NB_WALK_HIGH
	typedef struct nb_high_far<ORDER, HARMONIC> far_field;

	/* A row of N numbers; in 16 bytes at once. */
	template <int N> __device__ __forceinline__ void load_row(const void *rows, size_t j, real (&r)[N]) const
	{
		if constexpr (P == NB_F64) {
			const double2 *from = (const double2 *)rows + N / 2 * j;
#pragma unroll
			for (int k = 0; k < N / 2; k++) {
				const double2 v = __ldg(from + k);
				r[2 * k] = v.x, r[2 * k + 1] = v.y;
			}
		} else {
			const float4 *from = (const float4 *)rows + N / 4 * j;
#pragma unroll
			for (int k = 0; k < N / 4; k++) {
				const float4 v = __ldg(from + k);
				r[4 * k] = v.x, r[4 * k + 1] = v.y, r[4 * k + 2] = v.z, r[4 * k + 3] = v.w;
			}
		}
	}
	/* Mass of node j; size of a node, whose s is given, in group units. */
	__device__ __forceinline__ real mass_at(size_t j) const
	{
		if constexpr (P == NB_F64)
			return w.node_mass[j] * w.plan->mass;
		else
			return __ldg(&w.moment[2 * j]).x;
	}
	__device__ __forceinline__ real size_of(real s) const
	{
		if constexpr (P == NB_F64)
			return s * mine.scale;
		else
			return s * mine.high.w;
	}

	__device__ __forceinline__ void stage_cell(unsigned slot)
	{
		const size_t j = __float_as_uint(mine.cell_queue[slot].w);
		typename cells<real, JERK, LAW, ORDER, HARMONIC>::pole_type c;
		place<P> com;
		set(com, w.com + 3 * j);
		c.x = com.x, c.y = com.y, c.z = com.z;
		constexpr size_t far_row = nb_high_far_row(ORDER, HARMONIC), s = nb_high_far_moments(ORDER, HARMONIC);
		real r[nb_high_body_row(ORDER)];
		load_row(w.body_rows, j, r);
		c.mass = mass_at(j);
		nb_high_set<ORDER, HARMONIC, real>(c, r, size_of(__ldg((const real *)w.far_rows + far_row * j + s)));
		if constexpr (LAW == NB_LAW_PLUMMER) {
			const double eps = w.node_eps[3 * j + 1] * mine.scale;
			c.eps2 = (real)(eps * eps);
		}
		mine.cell[lane] = c;
	}

	__device__ __forceinline__ void take_far(unsigned n)
	{
		__syncwarp();
		if (lane < n) {
			const size_t j = __float_as_uint(mine.far_queue[nfar - n + lane].w);
			real d[3], eps2 = mine.eps2;
#pragma unroll
			for (int k = 0; k < 3; k++)
				d[k] = (real)((mine.centre[k] - w.com[3 * j + k]) * mine.scale);
			if constexpr (LAW == NB_LAW_PLUMMER) {
				const real eps = (real)mine.high.w * (real)fmaxf(__ldg(&w.soft[j]).y, mine.eps_mean);
				eps2 += eps * eps;
			}
			real r[nb_high_far_row(ORDER, HARMONIC)];
			load_row(w.far_rows, j, r);
			far_field::template add<POT>(mass_at(j), r, size_of(r[nb_high_far_moments(ORDER, HARMONIC)]), d,
				inverse_root(squared(d[0], d[1], d[2], eps2)), mine.sums + lane);
		}
		__syncwarp(); /* whoever writes next may write where others have just read */
		nfar -= n;
		expanded = true;
		if constexpr (COUNT)
			m2l += n;
	}

	/* The sums of all lanes, and of a harmonic field what follows from them: all terms at the beginning of sums. */
	__device__ __forceinline__ void join()
	{
		constexpr int TURNS = (far_field::TERMS + 31) / 32;
		real sum[TURNS];
		__syncwarp();
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++) {
			const int t = min(32 * turn + (int)lane, far_field::TERMS - 1);
			sum[turn] = 0;
#pragma unroll 8
			for (unsigned k = 0; k < 32; k++)
				sum[turn] += mine.sums[32 * t + (k + lane) % 32];
		}
		__syncwarp();
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++)
			if (32 * turn + (int)lane < far_field::TERMS)
				mine.sums[nb_monomial_kept(32 * turn + (int)lane, HARMONIC).place()] = sum[turn];
		__syncwarp();
		for (int k = 2; HARMONIC && k <= far_field::L; k++) {
			for (int t = (int)lane; t < far_field::ALL; t += 32)
				if (nb_monomial_of(t).k == k)
					far_field::complete(mine.sums, nb_monomial_of(t));
			__syncwarp();
		}
	}
#else
	__device__ __forceinline__ void stage_cell(unsigned slot)
	{
		const float4 at = mine.cell_queue[slot];
		const size_t j = __float_as_uint(at.w);
		pole<real, JERK> c;
		constexpr int times = JERK ? 1 : 3;
		if constexpr (P == NB_F64) {
			place<P> com;
			set(com, w.com + 3 * j);
			c.x = com.x, c.y = com.y, c.z = com.z;
			c.mass = w.node_mass[j] * w.plan->mass;
			const double f = times * w.plan->mass * mine.scale * mine.scale;
#pragma unroll
			for (int k = 0; k < 6; k++)
				c.moment[k] = w.quad ? w.quad[6 * j + k] * f : 0;
		} else {
			const float4 m = __ldg(&w.moment[2 * j]), s = __ldg(&w.moment[2 * j + 1]);
			const float unit = mine.high.w, f = 2 * times * unit * unit;
			c.x = unit * at.x, c.y = unit * at.y, c.z = unit * at.z;
			c.mass = m.x;
			c.moment[0] = f * m.y, c.moment[1] = f * m.z, c.moment[2] = f * m.w;
			c.moment[3] = f * s.x, c.moment[4] = f * s.y, c.moment[5] = f * s.z;
		}
		c.trace = (real)0.5 * (c.moment[0] + c.moment[3] + c.moment[5]);
		c.eps2 = 0;
		if constexpr (LAW == NB_LAW_PLUMMER) {
			const double eps = w.node_eps[3 * j + 1] * mine.scale;
			c.eps2 = (real)(eps * eps);
		}
		if constexpr (JERK)
			set_motion(c, j);
		mine.cell[lane] = c;
	}
#endif

	__device__ __forceinline__ void take_cells(unsigned n)
	{
		__syncwarp();
		if (lane < n)
			stage_cell(ncell - n + lane);
		__syncwarp();
		if (num > 32)
			staged_cells<2>(n);
		else
			staged_cells<1>(n);
		ncell -= n;
		if constexpr (COUNT)
			m2p += (unsigned long long)n * num;
	}

	template <int T> __device__ __forceinline__ void staged_cells(unsigned n)
	{
		const real eps2 = mine.eps2;
#pragma unroll 1
		for (unsigned k = 0; k < n; k++) {
			const auto c = mine.cell[k];
#pragma unroll
			for (int t = 0; t < T; t++)
				target[t].take(c, eps2);
		}
		keep<T>();
	}

#ifndef NB_WALK_HIGH
	__device__ __forceinline__ void take_far(unsigned n)
	{
		if constexpr (P != NB_F64) {
			__syncwarp();
			if (lane < n) {
				const float4 at = mine.far_queue[nfar - n + lane];
				const size_t j = __float_as_uint(at.w);
				const float4 m = __ldg(&w.moment[2 * j]), s = __ldg(&w.moment[2 * j + 1]);
				const float unit = mine.high.w, f = unit * unit;
				const float half_moments[6] = {f * m.y, f * m.z, f * m.w, f * s.x, f * s.y, f * s.z};
				const float x = -unit * at.x, y = -unit * at.y, z = -unit * at.z;
				float terms[expansion::TERMS], eps2 = mine.eps2;
				if constexpr (LAW == NB_LAW_PLUMMER) {
					const float eps = unit * fmaxf(__ldg(&w.soft[j]).y, mine.eps_mean);
					eps2 += eps * eps;
				}
				local.template add<POT>(m.x, half_moments, x, y, z, eps2, terms);
				if constexpr (JERK) {
					const float4 a = __ldg(&w.motion[2 * j]), b = __ldg(&w.motion[2 * j + 1]);
					const float v[3] = {
						mine.drift[0] - a.x, mine.drift[1] - a.y, mine.drift[2] - a.z};
					const float half_rates[6] = {
						unit * a.w, unit * b.x, unit * b.y, unit * b.z, unit * b.w, unit * s.w};
					local_rate.add(terms, half_rates, x, y, z, v, eps2);
				}
			}
			__syncwarp(); /* whoever writes next may write where others have just read */
			nfar -= n;
			expanded = true;
			if constexpr (COUNT)
				m2l += n;
		}
	}
#endif

	/* The walk; a last turn without nodes empties the queues. */
	__device__ __forceinline__ void run()
	{
		const unsigned before = (1u << lane) - 1;
		unsigned depth = in_region ? 0 : 1; /* of the stack */
		if (lane == 0)
			mine.top[0] = 0;
		bool last = false;
		for (batch next = pop(depth);; next = pop(depth)) {
			const bool active = lane < next.n;
			const uint32_t node = next.node, link = __float_as_uint(next.b.w),
				       reach = __float_as_uint(next.a.w);
			const float4 high = mine.high, low = mine.low, half = mine.half;
			const float dx = next.a.x - high.x + (next.b.x - low.x),
				    dy = next.a.y - high.y + (next.b.y - low.y),
				    dz = next.a.z - high.z + (next.b.z - low.z);
			const float x = fmaxf(fabsf(dx) - half.x, 0), y = fmaxf(fabsf(dy) - half.y, 0),
				    z = fmaxf(fabsf(dz) - half.z, 0);
			const float r = fmaxf(
				NB_OPENING_LEAST_FAR * extent_size(next.extent), half.w * fabsf(next.a.w));
			const float edge = fmaxf(
				r + low.w, fmaxf(LOCAL_LEAST * low.w, mine.spread * extent_mass(next.extent)));
			const bool is_leaf = link & LEAF;
			bool expand = active && w.local && dx * dx + dy * dy + dz * dz > edge * edge;
			bool far = x * x + y * y + z * z > r * r;
			if constexpr (LAW != NB_LAW_COMMON)
				judge_soft(node, next.extent, x * x + y * y + z * z, dx * dx + dy * dy + dz * dz, far,
					expand);
			/* so far that all mass there would be 2^-32 of the field: out of range of f32 */
			const bool beyond = P != NB_F64 && dx * dx + dy * dy + dz * dz > mine.beyond * mine.beyond;
			const bool leaf = active && !expand && is_leaf, point = leaf && reach >> 31;
			uint32_t bodies = leaf ? point ? 1 : reach & 0xffu : 0;
			if (bodies == MANY)
				bodies = __ldg(&w.count[node]);
			const bool near = leaf && (!far || bodies <= of_order<ORDER, HARMONIC>::TINY);
			const bool pole = active && !expand && far && !near;
			const bool open = active && !expand && !is_leaf && !far;
			const float4 at = make_float4(dx, dy, dz, __uint_as_float(node));
			if (__any_sync(0xffffffff, open))
				push(link & 0x0fffffffu, open ? (link >> 28) + 1 : 0, depth);

			/* cells for the local expansion */
			const unsigned expands = __ballot_sync(0xffffffff, expand && !beyond);
			if (expand && !beyond)
				mine.far_queue[nfar + __popc(expands & before)] = at;
			nfar += __popc(expands);
			if (nfar >= 32 || (last && nfar)) {
				const unsigned some = nfar < 32 ? nfar : 32;
				take_far(some);
			}

			/* cells for each target */
			const unsigned poles = __ballot_sync(0xffffffff, pole && !beyond);
			if (pole && !beyond)
				mine.cell_queue[ncell + __popc(poles & before)] = at;
			ncell += __popc(poles);
			if (ncell >= 32 || (last && ncell)) {
				const unsigned some = ncell < 32 ? ncell : 32;
				take_cells(some);
			}

			/* bodies of one leaf after the other, at most 32 at a time */
			const uint32_t body = point ? LEAF | node : link & ~(uint32_t)LEAF;
			for (unsigned leaves = __ballot_sync(0xffffffff, near); leaves || (last && nbody);
				leaves &= leaves - 1) {
				const int from = __ffs((int)leaves) - 1; /* any other lane has no bodies */
				uint32_t begin = __shfl_sync(0xffffffff, body, from) + lane;
				uint32_t left = __shfl_sync(0xffffffff, bodies, from);
				do {
					const uint32_t some = left < 32 ? left : 32;
					if (lane < left)
						mine.body_queue[nbody + lane] = begin;
					begin += 32;
					left -= some;
					nbody += some;
					if (nbody >= 32 || last) {
						const unsigned full = nbody < 32 ? nbody : 32;
						take_bodies(full);
					}
				} while (left);
			}
			if (last)
				break;
			last = depth == 0 && unseen == 0;
		}
	}

	__device__ __forceinline__ void join_local()
	{
#ifdef NB_WALK_HIGH
		join();
#else
		local.template join<POT>();
		if constexpr (JERK)
			local_rate.join();
#endif
	}

	/* What the local expansion does to the target at x from its centre, in units of the group: f times its own. */
	__device__ __forceinline__ void take_local(target_type &to, const real (&x)[3], real f) const
	{
		real a[3], u = 0;
#ifdef NB_WALK_HIGH
		far_field::template value<POT>(mine.sums, x, a, u);
#else
		local.template value<POT>(x[0], x[1], x[2], a, u);
#endif
#pragma unroll
		for (int k = 0; k < 3; k++)
			to.acc[k] += f * f * a[k];
		if constexpr (POT)
			to.pot[0] += f * u;
		to.sums.keep(to.acc, to.pot);
	}

	/* After join_local. */
	template <int N> __device__ __forceinline__ void store_local(real *terms) const
	{
#ifdef NB_WALK_HIGH
		for (int k = (int)lane; k < N; k += 32)
			terms[k] = mine.sums[k];
#else
#pragma unroll
		for (int k = POT ? 0 : 1; k < N; k++)
			if ((int)lane == k % 32)
				terms[k] = local.c[k];
#endif
	}

	/* The local expansion of the region in the place of the group's. */
	__device__ __forceinline__ void load_region()
	{
		const real *terms = (const real *)w.region.terms + (size_t)region * region_terms<ORDER, HARMONIC>();
		__syncwarp();
#ifdef NB_WALK_HIGH
		for (int k = (int)lane; k < region_terms<ORDER, HARMONIC>(); k += 32)
			mine.sums[k] = __ldcg(terms + k);
#else
#pragma unroll
		for (int k = POT ? 0 : 1; k < expansion::TERMS; k++)
			local.c[k] = __ldcg(terms + k);
#endif
		__syncwarp();
	}

	__device__ __forceinline__ void end()
	{
		if constexpr (ORDER > 2 || P != NB_F64) {
			if (expanded) {
				join_local();
#pragma unroll
				for (int t = 0; t < SLOTS; t++) {
					real x[3] = {target[t].at.x, target[t].at.y, target[t].at.z};
#pragma unroll
					for (int k = 0; k < 3 && P == NB_F64; k++)
						x[k] -= mine.centre[k] * mine.scale;
					take_local(target[t], x, 1);
#ifndef NB_WALK_HIGH
					if constexpr (JERK)
						local_rate.value(local, x, target[t].vel, target[t].jerk);
#endif
				}
			}
			if (REGIONS && in_region) {
				const struct region_place *place = w.region.place + region;
				const double scale = __ldcg(&place->scale);
				const real f = (real)(scale / mine.scale);
				load_region();
#pragma unroll
				for (int t = 0; t < SLOTS; t++) {
					const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
					real x[3];
#pragma unroll
					for (int k = 0; k < 3; k++)
						x[k] = (real)((w.pos[3 * i + k] - __ldcg(&place->centre[k])) * scale);
					take_local(target[t], x, f);
				}
			}
		}
		const double pot_out = broken ? (double)NAN : w.G / w.plan->mass * mine.scale,
			     acc_out = pot_out * mine.scale;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			target[t].sums.end(target[t].acc, target[t].pot);
			if (t * 32 + lane < num) {
				const size_t i = first + t * 32 + lane;
#pragma unroll
				for (int k = 0; k < 3; k++)
					w.acc[3 * i + k] = (double)target[t].acc[k] * acc_out;
				if constexpr (POT)
					w.pot[i] = -(double)target[t].pot[0] * pot_out;
				if constexpr (JERK) {
					const double jerk_out = acc_out / mine.speed * mine.scale;
#pragma unroll
					for (int k = 0; k < 3; k++)
						w.jerk[3 * i + k] = (double)target[t].jerk[k] * jerk_out;
				}
			}
		}
	}
};

#include "kernels/walk_gpu/region_internal.cuh"

/* Blocks on a multiprocessor: registers for 5 where that spills nothing, and with jerks for 3.  In high orders shared
 * memory is the limit: 228 KiB for all, and, of devices before 8.0, 64 KiB for one. */
static __host__ __device__ constexpr int blocks_of(int P, bool POT, bool JERK, int ORDER, bool HARMONIC)
{
	return ORDER == 3	     ? 8
	       : ORDER == 4	     ? P == NB_F64 && HARMONIC ? 8
				       : HARMONIC	       ? 6
							       : 5
	       : JERK		     ? 3
	       : P == NB_F32 && !POT ? 5
				     : 4;
}
static __host__ __device__ constexpr int warps_of(int P, int ORDER)
{
	return ORDER > 2 && P == NB_F64 ? 1 : (int)WARPS;
}
template <int P, bool POT, bool JERK, bool COUNT, int LAW, int ORDER, bool HARMONIC>
static __global__ void __launch_bounds__(32 * warps_of(P, ORDER), blocks_of(P, POT, JERK, ORDER, HARMONIC))
	walk_kernel(const struct walk w)
{
	extern __shared__ __align__(16) char room[];
	typedef struct walker<P, POT, JERK, COUNT, LAW, ORDER, HARMONIC> walker_type;
	typedef typename walker_type::desk_type one;
	constexpr int WARPS = warps_of(P, ORDER);
	const unsigned warp = threadIdx.x / 32;
	one &mine = ((one *)room)[warp];
	walker_type walker(w, mine, w.stack + (blockIdx.x * (size_t)WARPS + warp) * STACK);
	walker.open_range();
	for (;;) {
		const struct task task = walker.draw();
		if (task.kind == task::END)
			break;
		if (task.kind == task::GROUP) {
			walker.begin(task.which);
			walker.run();
			walker.end();
		} else if constexpr (walker_type::REGIONS) {
			if (task.kind == task::REGION)
				surveyor<walker_type>(walker).survey(task.which);
		}
	}
	if constexpr (COUNT)
		if (walker.lane == 0) {
			atomicAdd(&w.plan->counts[0], walker.p2p);
			atomicAdd(&w.plan->counts[1], walker.m2p);
			atomicAdd(&w.plan->counts[2], walker.m2l);
		}
}

/* ---- the host's part ---------------------------------------------------------------------------------------- */

#include "kernels/walk_gpu/share_internal.cuh"

/* As many blocks as the device has room for. */
template <class Kernel> static int grid_of(Kernel kernel, int threads, size_t shared, unsigned *grid)
{
	int device, multiprocessors, blocks;
	NB_CUDA_TRY(cudaGetDevice(&device));
	NB_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
	NB_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	NB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
	*grid = (unsigned)(blocks * multiprocessors);
	return NB_OK;
}

template <int P, bool POT, bool JERK, bool COUNT, int LAW, int ORDER, bool HARMONIC> static int launch(struct walk &w)
{
	constexpr int WARPS = warps_of(P, ORDER), threads = 32 * WARPS;
	const size_t shared = WARPS * sizeof(struct desk<P, POT, JERK, LAW, ORDER, HARMONIC>);
	const auto kernel = walk_kernel<P, POT, JERK, COUNT, LAW, ORDER, HARMONIC>;
	unsigned grid;
	NB_TRY(grid_of(kernel, threads, shared, &grid));
	grid = nb_lane_share(w, grid);
	NB_TRY(nb_lane_stack(w, (size_t)grid * WARPS * STACK));
	if (w.region.bodies)
		NB_TRY(nb_lane_regions(w, region_terms<ORDER, HARMONIC>() * sizeof(typename arith<P>::real)));
	kernel<<<grid, threads, shared, w.lane->stream>>>(w);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

template <int P, bool POT, bool JERK, int ORDER> static int launch_outputs(struct walk &w, bool count)
{
#if defined NB_WALK_SOFT /* counted always: it costs little, and halves the kernels */
	(void)count;
	return w.law == NB_LAW_SPLINE ? launch<P, POT, JERK, true, NB_LAW_SPLINE, ORDER, (ORDER > 2)>(w)
				      : launch<P, POT, JERK, true, NB_LAW_PLUMMER, ORDER, false>(w);
#elif defined NB_WALK_HIGH
	(void)count;
	return w.eps > 0 ? launch<P, POT, JERK, true, NB_LAW_COMMON, ORDER, false>(w)
			 : launch<P, POT, JERK, true, NB_LAW_COMMON, ORDER, true>(w);
#else
	return count ? launch<P, POT, JERK, true, NB_LAW_COMMON, ORDER, false>(w)
		     : launch<P, POT, JERK, false, NB_LAW_COMMON, ORDER, false>(w);
#endif
}

template <int P, int ORDER> static int launch_precision(struct walk &w, bool count)
{
#ifndef NB_WALK_HIGH
	if (w.jerk)
		return w.pot ? launch_outputs<P, true, true, ORDER>(w, count)
			     : launch_outputs<P, false, true, ORDER>(w, count);
#endif
	return w.pot ? launch_outputs<P, true, false, ORDER>(w, count)
		     : launch_outputs<P, false, false, ORDER>(w, count);
}

template <int ORDER> static int launch_order(struct walk &w, enum nb_precision precision, bool count)
{
	switch (precision) {
	case NB_F32: return launch_precision<NB_F32, ORDER>(w, count);
	case NB_MIXED: return launch_precision<NB_MIXED, ORDER>(w, count);
	case NB_F64: return launch_precision<NB_F64, ORDER>(w, count);
	}
	return NB_EINVAL;
}

static int launch_walk(struct walk &w, int order, enum nb_precision precision, bool count)
{
#ifdef NB_WALK_HIGH
	return order == 3 ? launch_order<3>(w, precision, count) : launch_order<4>(w, precision, count);
#else
	(void)order;
	return launch_order<2>(w, precision, count);
#endif
}

/* Cells act where all is Newton's: without softening, and where it is a spline's, which has a support. */
#ifdef NB_WALK_HIGH
static bool harmonic_of(const struct walk &w)
{
	return w.law == NB_LAW_SPLINE || (w.law == NB_LAW_COMMON && w.eps == 0);
}
#endif

/* Packs the nodes. */
template <int ORDER> static int pack(const struct walk &w, enum nb_precision precision)
{
	const unsigned blocks = nb_cuda_blocks(w.nnode, THREADS);
	plan_kernel<<<1, 1>>>(w);
	NB_CUDA_LAUNCHED();
#ifndef NB_WALK_HIGH
	(void)precision;
	cell_kernel<ORDER, false><<<blocks, THREADS>>>(w);
	NB_CUDA_LAUNCHED();
#else
	const bool harmonic = harmonic_of(w);
	harmonic ? cell_kernel<ORDER, true><<<blocks, THREADS>>>(w) : cell_kernel<ORDER, false><<<blocks, THREADS>>>(w);
	NB_CUDA_LAUNCHED();
	if (precision == NB_F64)
		harmonic ? row_kernel<ORDER, true, double><<<blocks, THREADS>>>(w)
			 : row_kernel<ORDER, false, double><<<blocks, THREADS>>>(w);
	else
		harmonic ? row_kernel<ORDER, true, float><<<blocks, THREADS>>>(w)
			 : row_kernel<ORDER, false, float><<<blocks, THREADS>>>(w);
	NB_CUDA_LAUNCHED();
#endif
	return NB_OK;
}

/* Whether regions are walked first: where there is something for their local expansions, and so many bodies that it
 * pays (an H200: at 2^20 it saves 15 %, at 2^17 it costs 10 in order 2). */
static bool use_regions(const struct walk &w, const struct nb_tree_walk *walk, size_t n_all)
{
	if (!w.local || w.jerk || w.alpha > 0 || walk->regions < 0)
		return false;
	return walk->regions > 0 || n_all >= (size_t)1 << (walk->order > 2 ? 17 : 18);
}

/* Where groups and regions begin, and how many there are. */
struct marks {
	size_t words; /* of 32 bodies */
	nb_cuda_buffer<uint32_t> group, region, region_at_word, at, start;
	nb_cuda_buffer<uint4> span; /* of regions */

	int alloc(size_t n, uint32_t group_most)
	{
		words = (n + 31) / 32;
		NB_TRY(group.alloc(words));
		NB_TRY(region.alloc(words));
		NB_TRY(region_at_word.alloc(words));
		NB_TRY(at.alloc(2 * (words + 1)));
		NB_TRY(start.alloc(n + 1));
		return span.alloc(n / (group_most + 1) + 1);
	}
};

static int find_groups(const struct walk &w, struct marks &m)
{
	const size_t words = m.words;
	NB_CUDA_TRY(cudaMemsetAsync(m.group.ptr, 0, words * sizeof(uint32_t)));
	NB_CUDA_TRY(cudaMemsetAsync(m.region.ptr, 0, words * sizeof(uint32_t)));
	mark_kernel<<<nb_cuda_blocks(w.nnode, THREADS), THREADS>>>(w, m.group.ptr, m.region.ptr, m.region_at_word.ptr);
	NB_CUDA_LAUNCHED();
	mark_count_kernel<<<nb_cuda_blocks(words + 1, THREADS), THREADS>>>(words, m.group.ptr, m.region.ptr, m.at.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(2 * (words + 1), m.at.ptr, m.at.ptr));
	start_kernel<<<nb_cuda_blocks(words + 1, THREADS), THREADS>>>(
		words, m.group.ptr, m.at.ptr, w, m.start.ptr, m.region.ptr, m.region_at_word.ptr, m.span.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* Waits for the device. */
static int add_counts(const struct walk &w, struct nb_gravity_count *count)
{
	unsigned long long counts[3];
	uint32_t groups;
	NB_CUDA_TRY(cudaMemcpy(counts, w.plan->counts, sizeof counts, cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(&groups, w.ngroup, sizeof groups, cudaMemcpyDeviceToHost));
	count->p2p += counts[0];
	count->m2p += counts[1];
	count->m2l += counts[2];
	count->groups += groups;
	return NB_OK;
}

/* What walks are of: the first g->n bodies of n_all. */
struct part {
	size_t n_all;
	bool alone;	    /* by this device, whatever team there is */
	const double *rows; /* orders 3 and 4: moments of the nodes; NULL: to be computed */
};

static int walk_tree(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct part &part, struct nb_gravity_count *count)
{
	const size_t n_all = part.n_all;
	const bool by_acceleration = walk->mac == NB_MAC_ACCELERATION;
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G))
		return NB_EINVAL;
	if ((by_acceleration ? !(walk->alpha > 0 && walk->acc_old) : !(walk->theta >= 0)) || (g->jerk && !g->vel))
		return NB_EINVAL;
	if (walk->order > 4 || (walk->order > 2 && g->jerk) || (walk->order == 2 && !tree->quad))
		return NB_EUNSUPPORTED;
	if (g->n > INT_MAX || tree->nnode > 1u << 28)
		return NB_ELIMIT;
	if (g->n == 0)
		return NB_OK;
	if (tree->nnode == 0)
		return NB_EINVAL;
	const size_t n = g->n, nnode = tree->nnode;

	nb_cuda_buffer<struct plan> plan;
	nb_cuda_buffer<float4> place, moment;
	nb_cuda_buffer<uint32_t> extent;
	struct marks marks;
	NB_TRY(plan.alloc(1));
	NB_TRY(place.alloc(2 * nnode));
	NB_TRY(moment.alloc(2 * nnode));
	NB_TRY(extent.alloc(nnode));
	NB_TRY(marks.alloc(n, n_all < SMALL ? GROUP / 2 : GROUP));

	struct walk w = {};
	w.n = n, w.nnode = nnode;
	w.pos = g->pos, w.mass = g->mass, w.acc = g->acc, w.pot = g->pot;
	w.eps = g->eps, w.G = g->G;
	w.first = tree->first, w.count = tree->count, w.child = tree->child, w.nchild = tree->nchild;
	w.box = tree->box, w.com = tree->com, w.node_mass = tree->mass,
	w.quad = walk->order == 1 || walk->order > 2 ? NULL : tree->quad;
	w.law = nb_pair_law_of(g);
	w.error = (float)nb_opening_cuda(walk->theta, walk->order);
	w.alpha = by_acceleration ? (float)walk->alpha : 0;
	w.acc_old = walk->acc_old;
	w.local = (walk->order > 2 || g->precision != NB_F64) && (by_acceleration || walk->theta > 0);
	w.group = n_all < SMALL ? GROUP / 2 : GROUP;
	w.plan = plan.ptr, w.place = place.ptr, w.moment = moment.ptr, w.extent = extent.ptr;
	w.start = marks.start.ptr, w.ngroup = marks.at.ptr + marks.words;
	w.region.room = g->precision == NB_F32 ? 4096 : 8192;
	w.region.mark = marks.region.ptr, w.region.at = marks.at.ptr + marks.words + 1;
	w.region.span = marks.span.ptr;

	struct nb_tree_motion motion;
	nb_cuda_buffer<float4> packed;
	if (g->jerk) {
		NB_TRY(nb_tree_motion_cuda(g, tree, &motion));
		NB_TRY(packed.alloc(2 * nnode));
	}
	w.vel = g->vel, w.jerk = g->jerk;
	w.region.bodies = use_regions(w, walk, n_all) ? (uint32_t)REGION : 0;
	w.velocity = motion.velocity.ptr, w.quad_rate = motion.quad_rate.ptr, w.fastest = motion.fastest.ptr;
	w.motion = packed.ptr;

#ifdef NB_WALK_SOFT
	nb_cuda_buffer<double> node_eps;
	nb_cuda_buffer<float4> soft;
	NB_TRY(nb_tree_softness_cuda(g, tree, &node_eps));
	NB_TRY(soft.alloc(nnode));
	w.body_eps = g->body_eps, w.node_eps = node_eps.ptr, w.soft = soft.ptr;
	w.soft_weight = (float)nb_opening_soft(by_acceleration ? 0.5 : walk->theta);
	w.soft_error = by_acceleration ? (float)walk->alpha : (float)nb_opening_cpu(walk->theta, 2);
#endif
#ifdef NB_WALK_HIGH
	nb_cuda_buffer<double> rows;
	nb_cuda_buffer<char> body_rows, far_rows;
	const size_t real = g->precision == NB_F64 ? sizeof(double) : sizeof(float);
	if (!part.rows)
		NB_TRY(nb_tree_high_cuda(g, tree, walk->order, 0, &rows));
	NB_TRY(body_rows.alloc(nnode * real * (size_t)nb_high_body_row(walk->order)));
	NB_TRY(far_rows.alloc(nnode * real * (size_t)nb_high_far_row(walk->order, harmonic_of(w))));
	w.rows = part.rows ? part.rows : rows.ptr, w.body_rows = body_rows.ptr, w.far_rows = far_rows.ptr;
	w.body_bytes = body_rows.count, w.far_bytes = far_rows.count;
	NB_TRY(walk->order == 3 ? pack<3>(w, g->precision) : pack<4>(w, g->precision));
#else
	NB_TRY(pack<2>(w, g->precision));
#endif
#ifdef NB_WALK_SOFT
	soft_kernel<<<nb_cuda_blocks(nnode, THREADS), THREADS>>>(w);
	NB_CUDA_LAUNCHED();
#endif
	if (g->jerk) {
		motion_kernel<<<nb_cuda_blocks(nnode, THREADS), THREADS>>>(w);
		NB_CUDA_LAUNCHED();
	}
	NB_TRY(find_groups(w, marks));
	w.next = &plan.ptr->next;
	NB_TRY(nb_walk_groups(w, g->precision, count, part.alone,
		[&](struct walk &some) { return launch_walk(some, walk->order, g->precision, count); }));
	return count ? add_counts(w, count) : NB_OK;
}

#if defined NB_WALK_SOFT && defined NB_WALK_HIGH
int nb_gravity_tree_high_soft_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, struct nb_gravity_count *count)
#elif defined NB_WALK_SOFT
int nb_gravity_tree_soft_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
#elif defined NB_WALK_HIGH
int nb_gravity_tree_high_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
#else
int nb_gravity_tree_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	struct nb_gravity_count *count)
#endif
{
#if !defined NB_WALK_SOFT && !defined NB_WALK_HIGH
	const bool soft = nb_pair_law_of(g) != NB_LAW_COMMON;
	if (walk->order > 2)
		return soft ? nb_gravity_tree_high_soft_cuda(g, tree, walk, count)
			    : nb_gravity_tree_high_cuda(g, tree, walk, count);
	if (soft)
		return nb_gravity_tree_soft_cuda(g, tree, walk, count);
#endif
	return walk_tree(g, tree, walk, {g->n, false, nullptr}, count);
}

#if !defined NB_WALK_SOFT
#ifdef NB_WALK_HIGH
int nb_gravity_tree_high_part_cuda(const struct nb_gravity *g, const struct nb_tree *tree,
	const struct nb_tree_walk *walk, size_t n_all, const double *rows)
#else
int nb_gravity_tree_part_cuda(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	size_t n_all, const double *rows)
#endif
{
	if (nb_pair_law_of(g) != NB_LAW_COMMON)
		return NB_EUNSUPPORTED;
#ifndef NB_WALK_HIGH
	if (walk->order > 2)
		return nb_gravity_tree_high_part_cuda(g, tree, walk, n_all, rows);
#endif
	return walk_tree(g, tree, walk, {n_all, true, rows}, nullptr);
}
#endif
