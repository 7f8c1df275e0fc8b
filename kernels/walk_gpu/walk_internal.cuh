/* walk_internal.cuh - gravity by walking the tree on the device, group by group.
 *
 * A group is a run of siblings, or of bodies of one leaf, with at most GROUP bodies together: compact, and in Morton
 * order.  Few bodies around many others are not put together: their group would meet most of these.  One warp
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
 * d > NB_OPENING_LEAST_LOCAL radius, and it is far from every point of the group's sphere.
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
 * Orders 3 and 4 (the formulas are in high_internal.cuh) have M2P of about 70 and 125 operations, and local expansions
 * of fifth to seventh order in shared memory, one for each lane, as registers do not hold them: about 450 and 950
 * operations for 32 cells.  What a batch of 32 gives to a target is added with compensation. f64 has local expansions
 * too.  An H200, 2^20 bodies (tests/bench/results/tree-orders-h200.tsv): at equal error order 2 is the fastest above
 * 3e-5 rms, order 3 to 1e-5, order 4 below.  Tried, and slower: groups filled up with parts of the next node (longer
 * lists: 10 to 30 %); local expansions of order P + 2 where P + 3 is possible (12 % at equal error); tests of 64 nodes
 * at a time (15 %: registers); six blocks instead of five (6 %, likewise); prefetches of what is queued.
 *
 * Where pairs are not all softened alike (LAW is not NB_LAW_COMMON), cells are also kept to where that makes no larger
 * error than the rest, as in the CPU's walk (T(measure_soft) in resolve_body.h): beyond the support of a spline, where
 * all is Newton's; and Plummer's where the spread of softenings in the cell and the group is too small to count.
 *
 * Files, in the order of reading:
 *
 *   walk_internal.cuh         what host and device know of a walk: constants, struct walk, what the files do
 *   walk_cuda.cu              the entry points, which own all memory of a call
 *   prepare_cuda.cu           nodes are packed, groups and regions found
 *   interact_internal.cuh     one lane's work in units of the group: P2P and M2P
 *   expansion_internal.cuh    M2L and L2P of order 2 (high_internal.cuh has those of orders 3 and 4)
 *   workspace_internal.cuh    what a kernel is compiled for; a warp's shared memory and registers
 *   stack_internal.cuh        the walker, in parts, each the base of the next: the stack of nodes,
 *   softening_internal.cuh    softenings,
 *   place_internal.cuh        the place, motion and units of the group,
 *   local_internal.cuh        its local expansion,
 *   queue_internal.cuh        queues of bodies and cells, which act on targets,
 *   walker_internal.cuh       the walk of a group
 *   region_internal.cuh       the walk of a region
 *   launch_internal.cuh       the kernel and its launch, compiled by walk2_cuda.cu .. walk4_soft_cuda.cu
 *   share_cuda.cu             how a team of devices shares a walk */
#ifndef NB_WALK_GPU_WALK_INTERNAL_CUH
#define NB_WALK_GPU_WALK_INTERNAL_CUH

#include <limits.h>
#include <math.h>
#include <type_traits>

#include "kernels/device/device.cuh"
#include "kernels/multipole/multipole.cuh"
#include "kernels/pair/pair.cuh"
#include "kernels/walk_gpu/walk_gpu.cuh"

enum {
	THREADS = 128, /* of kernels that prepare */
	SLOTS = 2,     /* targets of a lane, at most */
	GROUP = 32 * SLOTS,
	FULL = 1024, /* nodes on a stack */
	STACK = FULL + 8 * 32 + 7 * NB_TREE_LEVELS,
	DENSE = 8,	 /* siblings share a group if their parent has at most DENSE groups' bodies */
	SMALL = 3 << 16, /* so few bodies make too few groups of GROUP to fill a device */
	LEAF = 1u << 31, /* in a link */
	MANY = NB_OPENING_MANY,
	KINDS = 8 /* so many softenings in a group are looked at one by one */
};

/* Where cells no longer count, in units in which all mass at 2^12 would be as strong as the group's field (see begin).
 */
static const float BEYOND = 0x1p28f;
static const float LOCAL_FAR_2 = 4;

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
	 * are; local expansions; lists of `capacity` nodes each */
	uint32_t *listed;
	struct region_place *place;
	char *terms;
	uint32_t *list, capacity;
};

/* Where devices share a walk, each draws ranges of NB_DRAW_GROUPS groups from the primary's counter, and its warps draw
 * tasks of these, TASKS of each range, from one of its own. */
enum { NB_DRAW_GROUPS = 1024 };
struct drawn_ranges {
	uint4 *of;	 /* begin and end, the first region and how many there are; null: all is one range */
	uint32_t *ready; /* not 0: it is known */
	unsigned *next;
};

/* The parts of a walk, each in the order of what fills and uses it. */

/* A tree, as struct nb_tree has it. */
struct walk_tree {
	const uint32_t *first, *count, *child, *nchild;
	const double *box, *com, *mass, *quad;
};

/* Of nodes, for jerks (motion_cuda.cu). */
struct walk_rates {
	const double *velocity, *quad;
	const unsigned long long *fastest;
};

/* Orders 3 and 4 (high_cuda.cu): the rows, and what nb_high_pack makes of them, in the precision of the walk. */
struct walk_high {
	const double *rows;
	char *body_rows, *far_rows;
	size_t body_bytes, far_bytes; /* of all rows */
};

/* Not for NB_LAW_COMMON (softness_cuda.cu). */
struct walk_softenings {
	const double *body_eps; /* or NULL: eps is that of all */
	const double *node_eps; /* softness_internal.cuh */
	float weight;		/* nb_opening_soft */
	float error;		/* tolerance of what softenings do, the CPU's, over the field or the old acceleration */
	float4 *terms;		/* the same numbers, scaled */
};

/* Groups begin .. end - 1 are to be walked, dealt by the counter next; end 0: all from begin on (share_cuda.cu). */
struct walk_dealt {
	uint32_t begin, end;
	unsigned *next;
	struct drawn_ranges drawn; /* if several devices share next */
	struct nb_walk_slot *slot; /* for the host alone */
};

struct walk {
	size_t n, nnode;
	const double *pos, *mass, *vel;
	double *acc, *pot, *jerk;
	double eps, G;
	struct walk_tree tree;

	float error; /* tolerated, over the strength of the field */
	float alpha; /* the same, over the old acceleration; 0: not by acceleration */
	const double *acc_old;
	bool local;
	uint32_t group; /* bodies, at most */

	struct walk_rates rates;
	struct walk_high high;
	enum nb_pair_law law;
	struct walk_softenings soft;

	struct plan *plan;
	float4 *place, *moment, *motion;
	uint32_t *extent;
	uint32_t *stack;
	const uint32_t *start, *ngroup;

	struct region_tables region;
	struct walk_dealt dealt;
};

/* What a warp does next. */
struct task {
	enum { REGION, GROUP, NOTHING, END } kind;
	uint32_t which;
};

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

/* Queues the walk of the groups that w says, on its lane's stream.  Compiled once for each ORDER, with SOFT for pairs
 * that are not all softened alike (walk2_cuda.cu .. walk4_soft_cuda.cu). */
typedef int nb_walk_launcher(struct walk &w, enum nb_precision precision, bool count);
template <int ORDER, bool SOFT> int nb_walk_launch(struct walk &w, enum nb_precision precision, bool count);

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

/* Packs the nodes, and finds groups and regions (prepare_cuda.cu).  Queued on the default stream. */
NB_MUST_CHECK int nb_walk_pack(const struct walk &w, int order, enum nb_precision precision);
NB_MUST_CHECK int nb_walk_find_groups(const struct walk &w, struct marks &m);

/* Cells act where all is Newton's: without softening, and where it is a spline's, which has a support. */
static inline bool harmonic_of(const struct walk &w)
{
	return w.law == NB_LAW_SPLINE || (w.law == NB_LAW_COMMON && w.eps == 0);
}

/* The walk of all groups, by one device or by the team (share_cuda.cu).  Where a tree is of more bodies than are
 * walked, others walk those: this device is alone. */
NB_MUST_CHECK int nb_walk_groups(
	struct walk &w, enum nb_precision precision, bool count, bool alone, nb_walk_launcher *launch);

/* For nb_walk_launch: a walk's stack of `count` nodes; memory for what walks of regions leave, with expansions of so
 * many bytes; what is left of a device's blocks where several members share it. */
NB_MUST_CHECK int nb_slot_stack(struct walk &w, size_t count);
NB_MUST_CHECK int nb_slot_regions(struct walk &w, size_t bytes);
cudaStream_t nb_lane_stream(const struct walk &w);
unsigned nb_lane_share(const struct walk &w, unsigned blocks);

#endif
