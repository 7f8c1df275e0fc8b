/* near_cuda.cu - near field of uniform boxes on the device: each body feels its own box and the adjacent boxes, in 2-D
 * and 3-D, boxes of any occupancy.
 *
 *   n3      box per block, each pair of bodies once, both get their force.  After bpb-n3 of Shan & Lei 2012, section
 *           III C, of which it keeps the order of work (father box, then the neighbours of larger Z-order index) and
 *           none of its atomics.  As published: kernels/papers/shan_cuda.cu.
 *   warp    a warp per 32 K consecutive bodies, each pair twice.  The bodies of all boxes around a target are brought
 *           together in one list in shared memory, so that sparse boxes leave no gaps; where a box has fewer than 32
 *           bodies, groups of lanes share the targets and divide the list.
 *
 * The idea of n3.  An atomic on a counter-force costs more than the interaction that it saves, so no two threads ever
 * add to one sum at the same time:
 *   (1) Register blocking: a thread holds K bodies of the box, so that a source fetched serves K interactions, and
 *       their K counter-forces are one sum before they leave the thread.
 *   (2) Counter-forces travel by shuffles: the 32 sources of a warp are all at work at once, each at another lane, and
 *       pass with their sums from lane to lane (nb_targets.interact).  After 32 steps each has met all 32 K targets.
 *       One warp needs no array in shared memory for it; several warps add to one, in turn, once in 32 K interactions.
 *   (3) Slots per direction: what a box gets from a neighbour goes to a place of its own for the direction in which
 *       that neighbour lies, and in the end the directions are added up in order.
 *   (4) The 32 K bodies of a warp feel each other one way; all other pairs of a box are done once.
 *   (5) No warp waits for memory while it could compute: sources are copied to shared memory while those before are at
 *       work (nb_staged), and what is added to a sum in device memory is added there.
 *   (6) Blocks draw boxes, and the last ones in parts, so that few multiprocessors idle at the end of the launch.
 *       Directions are added up by blocks that come long after a box, before their own, and for the last boxes by those
 *       of a last kernel, which come as soon as there is room, and wait for the boxes that they need.
 * Every sum is in a fixed order: the same bytes on every run.
 *
 * Several devices share the boxes, which are in Z-order.  n3: where all devices reach each other's memory, each has a
 * range of boxes, of which its blocks draw one after the other, then those of other ranges; slots stay where they were
 * written, and are read there.  Where they do not, ranges are dealt, and a box before a range is done again for those
 * of its neighbours that are in the range: what they get from it goes to their slots, what it gets is dropped.
 *
 * Long f32 sums: after every 512 sources at most, partial sums are added up in another place.
 *
 * Layout: packed records of pair units, f32 ones relative to their box (cuda_internal.cuh has records, precisions and
 * instructions an interaction); bodies of a box stand together.  Launch: n3 a block of 32 or 128 threads for each box,
 * warp one of 32 threads for each 32 K bodies; K targets a lane, more for fuller boxes (run_kernel).
 *
 * Sections, in this order: preparation, sums, n3 (n3_worker), warp, host. */
#include "kernels/gravity/cuda_internal.cuh"
#include "kernels/gravity/kernels_cuda.h"

/* What comes back to the host, and the scale, for other devices. */
struct outcome {
	unsigned long long p2p;
	unsigned long long drawn[NB_TEAM_MOST]; /* units, by each member */
	int status;
	struct nb_cuda_scale scale;
};

/* Everything the kernels read, besides the packed bodies. */
struct field {
	size_t n, nbox;
	const uint64_t *first;	  /* nbox + 1 */
	const int32_t *neighbour; /* nbox x nneighbour */
	int nneighbour;
	uint32_t *box_of;  /* n; null for n3 */
	size_t begin, end; /* the boxes that a launch of n3 is for */
};

struct outputs {
	double *acc, *pot, *jerk;
};

enum {
	PARTIAL_EVERY = 16, /* chunks of 32 sources in the registers of n3 ... */
	FLUSH_EVERY = 128,  /* ... and in its shared sums, before they go to device memory */
	SUM_THREADS = 128
};

/* ---- preparation ----------------------------------------------------------------------------------- */

/* In which scale bodies are packed: in that which is known, in a guess while it is found, so that they are looked at
 * once instead of twice, or, where the guess was wrong, again. */
enum pack_turn { PACK_KNOWN, PACK_GUESSED, PACK_AGAIN };

enum { PACK_THREADS = 512 };

/* The boxes of bodies in a row, 32 at a time: each lane knows that of its own body, where it and the next one begin,
 * and its origin (f32), halfway between its first body and its last, which in Z-order stand in opposite corners. */
template <int P> struct box_walk {
	const struct field &f;
	const double *const pos;
	const unsigned lane;
	bool turned = false; /* lanes may differ */
	size_t box;
	uint64_t first = 0, next = 0;
	double origin[3] = {0, 0, 0};

	/* Stands before body i, the same for all lanes. */
	__device__ __forceinline__ box_walk(const struct field &field, const double *positions, size_t i, unsigned l)
	    : f(field), pos(positions), lane(l)
	{
		size_t count = f.nbox;
		box = 0; /* the last that begins at or before i */
		while (count > 1) {
			const size_t step = (count + NB_WARP - 1) / NB_WARP;
			const bool begins = lane * step < count && f.first[box + lane * step] <= i;
			const size_t before = (31 - __clz((int)__ballot_sync(0xffffffff, begins))) * step;
			box += before;
			count = min(step, count - before);
		}
	}

	template <class T> static __device__ __forceinline__ T of_last_lane(T x)
	{
		return __shfl_sync(0xffffffff, x, NB_WARP - 1);
	}

	/* Lanes go to bodies base, base + 1, ..., not beyond `last`. */
	__device__ __forceinline__ void go(size_t base, size_t last)
	{
		const uint64_t end = of_last_lane(next);
		if (end > last) { /* all in the box that the last lane was in */
			if (turned) {
				box = of_last_lane(box), first = of_last_lane(first), next = end;
				for (int c = 0; c < 3; c++)
					origin[c] = of_last_lane(origin[c]);
			}
			turned = false;
			return;
		}
		const size_t i = min(base + lane, last);
		box = of_last_lane(box);
		/* of the next 32 boxes, those that begin at or before i */
		const uint64_t begin = f.first[min(box + 1 + lane, f.nbox)];
		unsigned passed = 0;
#pragma unroll
		for (unsigned step = NB_WARP / 2; step > 0; step /= 2)
			passed += __shfl_sync(0xffffffff, begin, (int)(passed + step - 1)) <= i ? step : 0;
		passed += __shfl_sync(0xffffffff, begin, (int)passed) <= i ? 1 : 0;
		box += passed;
		if (passed == NB_WARP) /* or more: of many empty boxes */
			for (size_t high = f.nbox; box + 1 < high;) {
				const size_t middle = box + (high - box) / 2;
				*(f.first[middle] <= i ? &box : &high) = middle;
			}
		box = min(box, f.nbox - 1);
		first = f.first[box], next = f.first[box + 1];
		if (P == NB_F32)
			for (int c = 0; c < 3; c++)
				origin[c] = pos[3 * first + c] / 2 + pos[3 * (next - 1) + c] / 2;
		turned = true;
	}

	/* Interactions of the boxes that begin with lanes' bodies: a share of this lane. */
	__device__ __forceinline__ unsigned long long interactions(bool begins) const
	{
		unsigned long long all = 0;
		for (unsigned left = __ballot_sync(0xffffffff, begins); left; left &= left - 1) {
			const int who = __ffs((int)left) - 1;
			const uint64_t mine = __shfl_sync(0xffffffff, box, who),
				       count = __shfl_sync(0xffffffff, next - first, who);
			const int32_t b = (int)lane < f.nneighbour ? f.neighbour[mine * f.nneighbour + lane] : -1;
			all += (b < 0 ? 0 : f.first[b + 1] - f.first[b]) * count;
			if (lane == 0)
				all += (count - 1) * count;
		}
		return all;
	}
};

/* Warp: a row of bodies.  The first one of a box sets the box's origin (f32) and counts the interactions. */
template <int P, bool JERK, int TURN>
static __global__ void __launch_bounds__(PACK_THREADS, 2) body_kernel(const __grid_constant__ struct field f,
	const double *pos, const double *vel, const double *mass, const __grid_constant__ struct nb_cuda_softening soft,
	double G, struct nb_packed out, struct outcome *outcome)
{
	nb_cuda_wait_previous();
	struct nb_survey *const survey = &nb_survey_state;
	const struct nb_cuda_scale *const scale = TURN == PACK_GUESSED ? &survey->guess : &survey->scale;
	if (TURN != PACK_GUESSED && blockIdx.x == 0 && threadIdx.x == 0)
		outcome->scale = *scale;
	if (TURN == PACK_AGAIN && scale->length == survey->guess.length && scale->mass == survey->guess.mass)
		return;
	const size_t thread = blockIdx.x * (size_t)PACK_THREADS + threadIdx.x,
		     each = ((f.n - 1) / ((size_t)gridDim.x * PACK_THREADS) + 1) * NB_WARP;
	const size_t begin = thread / NB_WARP * each, stop = min(f.n, begin + each);
	const unsigned lane = threadIdx.x % NB_WARP;
	struct nb_survey_seen seen;
	unsigned long long interactions = 0;
	if (begin < stop) {
		box_walk<P> walk(f, pos, begin, lane);
		for (size_t base = begin; base < stop; base += NB_WARP) {
			const size_t i = base + lane, last = min(base + NB_WARP, stop) - 1;
			walk.go(base, last);
			if (i <= last) {
				if (TURN == PACK_GUESSED)
					seen.see(i, pos, nullptr, mass);
				nb_pack<P, JERK>(out, i, i, pos, vel, mass, walk.origin, scale);
				if (f.box_of)
					f.box_of[i] = (uint32_t)walk.box;
			}
			if (!walk.turned)
				continue;
			const bool begins = i == walk.first;
			if (P == NB_F32 && begins)
				for (int c = 0; c < 3; c++)
					out.origin[3 * walk.box + c] = walk.origin[c] * scale->length;
			if (TURN != PACK_AGAIN)
				interactions += walk.interactions(begins);
		}
	}
	for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
		interactions += __shfl_xor_sync(0xffffffff, interactions, offset);
	if (lane == 0 && interactions)
		atomicAdd(&outcome->p2p, interactions);
	if (TURN == PACK_GUESSED)
		nb_survey_end<PACK_THREADS>(seen, f.n, pos, P, soft, G, P != NB_F64, &survey->scale, &outcome->status);
}

/* The scale that home has found becomes that of this device. */
static __global__ void scale_kernel(const struct nb_cuda_scale *scale)
{
	nb_cuda_wait_previous();
	nb_survey_state.scale = *scale;
}

/* ---- sums ---------------------------------------------------------------------------------------------------- */

template <int P, bool POT, bool JERK>
static __device__ __forceinline__ void write_result(
	const nb_sum<double, POT, JERK> &total, size_t i, const struct outputs &out)
{
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
#pragma unroll
	for (int c = 0; c < 3; c++)
		out.acc[3 * i + c] = nb_acc_out(scale, total.v[c]);
	if constexpr (POT)
		out.pot[i] = nb_pot_out(scale, total.v[3]);
	if constexpr (JERK)
#pragma unroll
		for (int c = 0; c < 3; c++)
			out.jerk[3 * i + c] = nb_jerk_out(scale, total.v[3 + POT + c]);
}

template <class real, bool POT, bool JERK>
static __device__ __forceinline__ void add_to(nb_sum<double, POT, JERK> &total, const nb_sum<real, POT, JERK> &part)
{
#pragma unroll
	for (int c = 0; c < nb_sum<real, POT, JERK>::COMPONENTS; c++)
		total.v[c] += part.v[c];
}

/* Number k of the boxes around one, itself being number -1; -1 where there is none. */
static __device__ __forceinline__ int64_t box_around(const struct field &f, size_t box, int k)
{
	return k < 0 ? (int64_t)box : f.neighbour[box * f.nneighbour + k];
}

/* ---- n3 -------------------------------------------------------------------------------------------------- */

/* What each member has.
 * own    COMPONENTS planes of n doubles: what a body got in its own rounds and box, and the rest of share 0
 * slots  for each direction k COMPONENTS planes of n: what a body got from its neighbour k of smaller index, or, if
 *        neighbour k is the first of a share, from that share
 * state  nbox + 1, 0 before: who has the sums of a box, + N3_FIRST_PART << p for each part p that is done; N3_SUMMED.
 *        All members are told, so that each waits in its own memory.  The last one: whether nothing is left to draw */
template <class real> struct n3_places {
	double *own[NB_TEAM_MOST];
	real *slots[NB_TEAM_MOST];
	uint32_t *state[NB_TEAM_MOST];
};

/* A box meets itself and its neighbours of larger index, in shares; each share is added up in another place
 * (n3_places), and the sums are the same whether one block does a box or several.  The parts of a box are the shares of
 * the first half of its rounds, and then of the second, each of which comes after the same share of the first: both add
 * to what the others get. */
enum { N3_SHARES = 4, N3_FIRST_PART = NB_TEAM_MOST };
static const uint32_t N3_SUMMED = 1u << 31;

/* Who does which boxes.  Without counters block k does box k.  With them a block draws a unit of work: of the range of
 * its own member first.  A unit is a box, and a part of one for the last boxes of a range, so that the end of the
 * launch, where fewer and fewer blocks are at work, is short. */
struct n3_deal {
	unsigned members, member;
	unsigned shares, parts;	   /* of a box; as many parts as shares if rounds are not halved */
	size_t split;		   /* boxes of a range of which the parts are units */
	size_t lag;		   /* units drawn after a box before its sums are looked at */
	unsigned long long *taken; /* members: units drawn from each range, 0 before; or null ... */
	unsigned long long *drawn; /* ... and by each member */
	const int *stopped;	   /* a member has failed, and nothing needs to be waited for; or null */
};

struct n3_unit {
	size_t box;
	uint64_t begin, stop;	   /* its rounds are those of these bodies */
	unsigned share[N3_SHARES]; /* what they meet, a bit each: 0 the box itself, k + 1 neighbour k of larger index */
	unsigned part, end;	   /* parts of the box: all, or one */
	unsigned holder;
	size_t early; /* a box that may be summed up before; nbox: none */
};

static __device__ __forceinline__ size_t n3_range(const struct field &f, const struct n3_deal &deal, unsigned member)
{
	return f.nbox * member / deal.members;
}

/* Which box of its range, if any, unit k may sum up early: one that was drawn long before, so that it is done, mostly.
 * Each whole box is such a one once at most, the last ones while the parts are drawn; what is left, and split ones, are
 * done at the end.  So results leave while pairs are at work, and few at the end. */
static __device__ __forceinline__ bool n3_early(
	const struct n3_deal &deal, size_t whole, size_t split, size_t k, size_t *box)
{
	if (k < whole) {
		*box = k - deal.lag;
		return k >= deal.lag;
	}
	const size_t late = min(whole, deal.lag), pieces = deal.parts * split, at = (k - whole) * late;
	*box = whole - late + at / pieces;
	return at % pieces < late;
}

/* Draws a unit: box, part and end; false: none is left. */
static __device__ __forceinline__ bool n3_draw(
	const struct field &f, const struct n3_deal &deal, uint32_t *state, struct n3_unit *unit)
{
	if (*(const volatile uint32_t *)&state[f.nbox])
		return false;
	for (unsigned turn = 0; turn < deal.members; turn++) {
		const unsigned m = (deal.member + turn) % deal.members;
		const size_t first = n3_range(f, deal, m), end = n3_range(f, deal, m + 1);
		const size_t split = min(deal.split, end - first), whole = end - first - split;
		const size_t k = (size_t)atomicAdd_system(&deal.taken[m], 1ull);
		if (k >= whole + deal.parts * split)
			continue;
		if (deal.members > 1)
			atomicAdd_system(&deal.drawn[deal.member], 1ull);
		const size_t piece = k - whole;
		unit->box = k < whole ? first + k : first + whole + piece % split;
		unit->part = k < whole ? 0 : (unsigned)(piece / split);
		unit->end = k < whole ? deal.parts : unit->part + 1;
		unit->holder = k < whole ? deal.member : m;
		size_t early;
		if (turn == 0 && n3_early(deal, whole, split, k, &early))
			unit->early = first + early;
		return true;
	}
	*(volatile uint32_t *)&state[f.nbox] = 1;
	return false;
}

/* Where the sums of a box come from, and a way for results in whole lines, as they may cross to another device. */
template <class real, int THREADS> struct n3_sum_shared {
	double line[THREADS][3];
	unsigned holder;
	const real *from[NB_WARP]; /* k + 1: the slots of direction k; null: nothing came from there */
};

/* Parts first .. end - 1 in the state of a box; all of them. */
static __device__ __forceinline__ uint32_t n3_bits(unsigned first, unsigned end)
{
	return ((1u << end) - (1u << first)) * N3_FIRST_PART;
}
static __device__ __forceinline__ uint32_t n3_done(const struct n3_deal &deal)
{
	return n3_bits(0, deal.parts);
}

/* The state may change at any time. */
static __device__ __forceinline__ bool n3_has(const uint32_t *state, size_t box, uint32_t bits)
{
	return (*(const volatile uint32_t *)&state[box] & bits) == bits;
}

/* Of what a box meets, with a lane for each (0: the box itself, k + 1: neighbour k of larger index; `all`: which
 * lanes), the share that a lane is in; *first: it is the first. */
static __device__ __forceinline__ unsigned n3_share(
	const struct n3_deal &deal, unsigned all, unsigned lane, bool *first)
{
	const unsigned before = __popc(all & ((1u << lane) - 1)), share = before * deal.shares / __popc(all);
	*first = before == 0 || (before - 1) * deal.shares / __popc(all) < share;
	return share;
}

/* A block sums up a box: its bodies' own sums, and those of slots in the order of directions.  It waits for what is not
 * done yet; EARLY: it leaves the box to the last kernel then.  Not in line, so that the kernel of the pairs, which
 * calls it once a unit, has its registers for itself. */
template <bool EARLY, int THREADS, class real, bool POT, bool JERK>
static __device__ __noinline__ void n3_sum(n3_sum_shared<real, THREADS> &shared, const struct field &f,
	const struct n3_deal &deal, const n3_places<real> &places, const double *mass, const struct outputs &out,
	size_t box)
{
	enum { COMPONENTS = 3 + POT + 3 * JERK, AT_ONCE = 4 };
	const int lane = threadIdx.x % NB_WARP;
	uint32_t *const state = places.state[deal.member];
	bool fails = false; /* it is not done, or a member has failed */
	/* who has the sums of a box, once it is done */
	const auto holder_of = [&](size_t b) {
		if (!deal.taken)
			return deal.member;
		const uint32_t found = nb_team_flag_wait(&state[b], n3_done(deal), deal.stopped);
		fails |= found == 0;
		return found % N3_FIRST_PART;
	};
	if (threadIdx.x < NB_WARP) {
		const int64_t other = lane <= f.nneighbour ? box_around(f, box, lane - 1) : -1;
		const bool meets = lane == 0 || other > (int64_t)box;
		bool is_share;
		(void)n3_share(deal, __ballot_sync(0xffffffff, meets), (unsigned)lane, &is_share);
		is_share = is_share && meets && lane > 0;
		const bool gave = other >= 0 && other < (int64_t)box && f.first[other] < f.first[other + 1];
		shared.from[lane] = nullptr;
		if (EARLY)
			fails = __any_sync(0xffffffff, !n3_has(state, gave ? (size_t)other : box, n3_done(deal)));
		if (!fails) {
			const unsigned holder = holder_of(box);
			if (lane == 0)
				shared.holder = holder;
			if (!fails && (gave || is_share))
				shared.from[lane] = places.slots[gave ? holder_of((size_t)other) : holder] +
						    (size_t)(lane - 1) * (COMPONENTS * f.n);
		}
	}
	if (__syncthreads_or(fails))
		return;
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
	const uint64_t first = f.first[box], end = f.first[box + 1];
	const double *const own = places.own[shared.holder];
	const real *const mine = shared.from[lane];
	const unsigned directions = __ballot_sync(0xffffffff, mine != nullptr);
	for (uint64_t base = first; base < end; base += THREADS) {
		const uint64_t i = base + threadIdx.x;
		nb_sum<double, POT, JERK> total;
		if (i < end) {
#pragma unroll
			for (int c = 0; c < COMPONENTS; c++)
				total.v[c] = own[c * f.n + i];
		}
		for (unsigned left = directions; left;) {
			nb_sum<real, POT, JERK> part[AT_ONCE];
#pragma unroll
			for (int q = 0; q < AT_ONCE; q++) {
				const int k = left ? __ffs((int)left) - 1 : 0;
				const real *const slot = (const real *)__shfl_sync(
					0xffffffff, (unsigned long long)mine, k);
				part[q].clear();
				if (left && i < end)
#pragma unroll
					for (int c = 0; c < COMPONENTS; c++)
						part[q].v[c] = slot[c * f.n + i];
				left &= left - 1;
			}
#pragma unroll
			for (int q = 0; q < AT_ONCE; q++)
				add_to(total, part[q]);
		}
		if (!POT && !JERK && i < end) {
			const double factor = nb_masses_factor(scale, scale->masses == NB_MASSES_PRODUCT ? mass[i] : 1);
#pragma unroll
			for (int c = 0; c < COMPONENTS; c++)
				total.v[c] *= factor;
		}
		const unsigned rows = (unsigned)min(end - base, (uint64_t)THREADS);
		const auto leave = [&](double *to, auto value) {
#pragma unroll
			for (int c = 0; c < 3; c++)
				shared.line[threadIdx.x][c] = value(c);
			__syncthreads();
			for (unsigned at = threadIdx.x; at < 3 * rows; at += THREADS)
				to[3 * base + at] = shared.line[at / 3][at % 3];
			__syncthreads();
		};
		leave(out.acc, [&](int c) { return nb_acc_out(scale, total.v[c]); });
		if constexpr (POT)
			if (i < end)
				out.pot[i] = nb_pot_out(scale, total.v[3]);
		if constexpr (JERK)
			leave(out.jerk, [&](int c) { return nb_jerk_out(scale, total.v[3 + POT + c]); });
	}
	if (EARLY && threadIdx.x == 0)
		*(volatile uint32_t *)&state[box] = N3_SUMMED + n3_done(deal) + shared.holder;
}

/* Sums by row, component planes: counter-forces of a stage or a round (array B), or partial sums of targets. */
template <class real, int COMPONENTS, int ROWS> struct shared_sums {
	real v[COMPONENTS][ROWS];

	template <class Sum> __device__ __forceinline__ void put(const Sum &s, unsigned row, bool first)
	{
#pragma unroll
		for (int c = 0; c < COMPONENTS; c++)
			v[c][row] = first ? s.v[c] : v[c][row] + s.v[c];
	}
};

template <int P, int K, int W, bool POT, bool JERK> struct n3_shared {
	typedef typename nb_arith<P>::real real;
	enum { COMPONENTS = nb_sum<real, POT, JERK>::COMPONENTS, ROUND = NB_WARP * K * W };
	union {
		struct {
			nb_ring<P, JERK> ring[W];
			nb_staged<P> staged[JERK ? 1 : W];
		} sources;
		n3_sum_shared<real, NB_WARP * W> sums; /* before the pairs */
	};
	shared_sums<real, COMPONENTS, W == 1 ? 1 : ROUND> b;
	shared_sums<real, COMPONENTS, P == NB_F64 ? 1 : ROUND> partial; /* f64 sums need no second place */
	struct n3_unit unit;
	double *own; /* where the sums of the box are; kept here, as registers are few */
	real *slots;
	bool drawn;
	int plane[W];  /* where a warp's sums of the share go: the slots of this direction, or (-1) own ... */
	bool fresh[W]; /* ... in which nothing is for its tile */
};

/* *to is v, or v more: without waiting for what it was.  One thread at a time does it to a sum.  Of f32 the device
 * takes numbers below the least normal one, 1e-38 of pair units, for 0 when it adds them there. */
static __device__ __forceinline__ void put_or_add(float *to, float v, bool first)
{
	if (first)
		*to = v;
	else
		asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" : : "l"(to), "f"(v) : "memory");
}
static __device__ __forceinline__ void put_or_add(double *to, double v, bool first)
{
	if (first)
		*to = v;
	else
		asm volatile("red.relaxed.sys.global.add.f64 [%0], %1;" : : "l"(to), "d"(v) : "memory");
}

/* The same number, of which the compiler knows nothing: it does not keep addresses that follow from it in registers. */
static __device__ __forceinline__ uint64_t opaque(uint64_t i)
{
	asm volatile("" : "+l"(i));
	return i;
}

/* A thread of a block of W warps that does a box, in rounds of 32 K W targets, a tile of 32 K for each warp.  Of a box
 * before f.begin, only what neighbours from f.begin on get is kept; of one from f.begin on, what boxes before f.end
 * get. */
template <int P, int K, int W, bool POT, bool JERK, int MASSES> struct n3_worker {
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	enum { COMPONENTS = sum::COMPONENTS, TILE = NB_WARP * K, ROUND = TILE * W, STAGE = NB_WARP * W };

	n3_shared<P, K, W, POT, JERK> &shared;
	const struct nb_packed &in;
	const struct field &f;
	const real eps2, guard;
	struct outcome *const outcome;
	const size_t box;
	const unsigned warp, lane;
	const uint64_t end;		      /* of the box */
	nb_targets<P, K, POT, JERK> &targets; /* by reference: as a member it costs some kernels 12 registers */
	uint64_t round, mine;		      /* where this round and the warp's tile begin */
	bool busy;			      /* the tile has bodies */
	/* the way of the sums: registers, shared memory (f32), own or the slots of the share */
	unsigned in_registers, since_flush;
	bool any_partial;

	/* body `lane` of 32 k .. 32 k + 31 of tile t, in the round's shared sums */
	__device__ __forceinline__ unsigned row(unsigned t, int k) const
	{
		return t * TILE + k * NB_WARP + lane;
	}

	__device__ __forceinline__ void begin_round(uint64_t first)
	{
		round = first;
		mine = first + warp * TILE;
		busy = mine < end;
#pragma unroll
		for (int k = 0; k < K; k++) {
			const uint64_t i = mine + k * NB_WARP + lane;
			targets.body[k] = i < end ? nb_body_load<P, true>(in, i) : nb_body_none<P>();
			if constexpr (JERK) {
				targets.vel[k] = {0, 0, 0};
				if (i < end)
					targets.vel[k] = nb_velocity_load<P, true>(in, i);
			}
			targets.a[k].clear();
		}
		in_registers = since_flush = 0;
		any_partial = false;
	}

	__device__ __forceinline__ void begin_share(int plane, bool fresh)
	{
		__syncwarp();
		if (lane == 0)
			shared.plane[warp] = plane, shared.fresh[warp] = fresh;
		__syncwarp();
	}

	__device__ __forceinline__ void add_to_partial()
	{
		if constexpr (P != NB_F64) {
#pragma unroll
			for (int k = 0; k < K; k++) {
				shared.partial.put(targets.a[k], row(warp, k), !any_partial);
				targets.a[k].clear();
			}
			any_partial = true;
		}
		in_registers = 0;
	}

	__device__ __forceinline__ void flush()
	{
		add_to_partial();
		const bool fresh = shared.fresh[warp];
		const int plane = shared.plane[warp];
		real *const slot = shared.slots + (size_t)max(plane, 0) * (COMPONENTS * f.n);
#pragma unroll
		for (int k = 0; k < K; k++) {
			uint64_t i = mine + k * NB_WARP + lane;
			if (K < 8) /* of 8 targets the assembler makes faster loops if it may */
				i = opaque(i);
			if (i < end && box >= f.begin)
#pragma unroll
				for (int c = 0; c < COMPONENTS; c++) {
					const real sum = P == NB_F64 ? targets.a[k].v[c]
								     : shared.partial.v[c][row(warp, k)];
					if (plane < 0)
						put_or_add(&shared.own[c * f.n + i], (double)sum, fresh);
					else
						put_or_add(&slot[c * f.n + i], sum, fresh);
				}
			if constexpr (P == NB_F64)
				targets.a[k].clear();
		}
		__syncwarp();
		if (lane == 0)
			shared.fresh[warp] = false;
		__syncwarp();
		any_partial = false;
		since_flush = 0;
	}

	/* The targets have met so many chunks of 32 sources more. */
	__device__ __forceinline__ void took(unsigned chunks)
	{
		in_registers += chunks, since_flush += chunks;
		if (since_flush >= FLUSH_EVERY)
			flush();
		else if (in_registers >= PARTIAL_EVERY)
			add_to_partial();
	}

	/* 32 sources at base, or up to stop; returned is what source `lane` got. */
	__device__ __forceinline__ sum both_ways(uint64_t base, uint64_t stop, nb_shift shift)
	{
		nb_ring<P, JERK> &ring = shared.sources.ring[warp];
		ring.template fill<false>(in, base, (unsigned)min(stop - base, (uint64_t)NB_WARP), shift, lane);
		return targets.template interact<true, MASSES>(ring, lane, eps2, guard, -1);
	}

	/* Asks for 32 sources at base, or up to stop. */
	__device__ __forceinline__ void ask(uint64_t base, uint64_t stop)
	{
		if (!JERK && busy && base + lane < stop)
			shared.sources.staged[warp].ask(in, base + lane, lane);
	}

	/* The same with those that were asked for, none if the tile is empty or base beyond stop; asks for those at
	 * next.  Velocities are not asked for: there would be no room in shared memory. */
	__device__ __forceinline__ sum meet(uint64_t base, uint64_t next, uint64_t stop, nb_shift shift)
	{
		const bool some = W == 1 || (busy && base < stop);
		sum counter;
		counter.clear();
		if constexpr (JERK) {
			if (some)
				counter = both_ways(base, stop, shift);
		} else {
			nb_ring<P, JERK> &ring = shared.sources.ring[warp];
			if (some)
				ring.fill(shared.sources.staged[warp], base + lane < stop, shift, lane);
			ask(next, stop);
			if (some)
				counter = targets.template interact<true, MASSES>(ring, lane, eps2, guard, -1);
		}
		return counter;
	}

	/* The tile with itself: every pair twice, so that nothing needs to be handed over. */
	__device__ __forceinline__ void tile_with_itself()
	{
		nb_ring<P, JERK> &ring = shared.sources.ring[warp];
		const nb_shift none = {0, 0, 0};
		if (busy)
#pragma unroll 1
			for (int chunk = 0; chunk < K && mine + chunk * NB_WARP < end; chunk++) {
				const uint64_t base = mine + chunk * NB_WARP;
				ring.template fill<false>(
					in, base, (unsigned)min(end - base, (uint64_t)NB_WARP), none, lane);
				targets.template interact<false, MASSES>(ring, lane, eps2, guard, chunk);
			}
		took(K);
	}

	/* The tiles of a round with each other: they stand in a ring, as in direct_cuda.cu. */
	__device__ __forceinline__ void tiles_of_round()
	{
		const nb_shift none = {0, 0, 0};
#pragma unroll 1
		for (unsigned distance = 1; distance <= W / 2; distance++) {
			const unsigned other = (warp + distance) % W;
			const uint64_t theirs = round + other * TILE;
			/* half a ring away: the other side does it, this one only clears what nobody else writes */
			const bool lacks = W % 2 == 0 && distance == W / 2 && warp >= W / 2;
			if (!lacks || distance == 1)
#pragma unroll 1
				for (int chunk = 0; chunk < K; chunk++) {
					const uint64_t base = theirs + chunk * NB_WARP;
					sum counter;
					counter.clear();
					if (busy && !lacks && base < end)
						counter = both_ways(base, end, none);
					shared.b.put(counter, row(other, chunk), distance == 1);
				}
			took(K);
			__syncthreads();
		}
#pragma unroll
		for (int k = 0; k < K; k++)
#pragma unroll
			for (int c = 0; c < COMPONENTS; c++)
				targets.a[k].v[c] += shared.b.v[c][row(warp, k)];
		__syncthreads();
	}

	/* The round's targets with sources begin .. begin + STAGE - 1, or up to stop, of which each warp has asked for
	 * its 32; asks for those of the next stage.  What source begin + thread got. */
	__device__ __forceinline__ sum stage(uint64_t begin, uint64_t stop, nb_shift shift)
	{
		if constexpr (W == 1) {
			return meet(begin, begin + STAGE, stop, shift);
		} else {
			/* each warp another 32 of the stage, and all of them in turn */
#pragma unroll 1
			for (unsigned step = 0; step < W; step++) {
				const unsigned part = (warp + step) % W;
				const unsigned next = step + 1 < W ? (warp + step + 1) % W : W + warp;
				const sum counter = meet(begin + part * NB_WARP, begin + next * NB_WARP, stop, shift);
				shared.b.put(counter, part * NB_WARP + lane, step == 0);
				__syncthreads();
			}
			sum all;
#pragma unroll
			for (int c = 0; c < COMPONENTS; c++)
				all.v[c] = shared.b.v[c][warp * NB_WARP + lane];
			return all;
		}
	}

	/* In which direction a neighbour sees this box; -1: in none. */
	__device__ __forceinline__ int direction_back(int64_t other) const
	{
		const bool is_back = (int)lane < f.nneighbour &&
				     box_around(f, (size_t)other, (int)lane) == (int64_t)box;
		return __ffs((int)__ballot_sync(0xffffffff, is_back)) - 1;
	}

	/* The round's targets with later rounds of this box (k = -1), or with neighbour k, whose index is larger. */
	__device__ __forceinline__ void with_box(int k)
	{
		const int64_t other = box_around(f, box, k);
		/* they get what this box does to them: all boxes do, unless they are dealt in parts */
		const bool theirs = f.end == f.nbox || (size_t)other < f.end;
		if (box < f.begin && !(theirs && (size_t)other >= f.begin))
			return;
		const uint64_t stop = f.first[other + 1];
		uint64_t begin = k < 0 ? round + ROUND : f.first[other];
		if (begin >= stop)
			return;
		int back = -1;
		if (k >= 0) {
			back = direction_back(other);
			if (back < 0) { /* not a list of neighbours */
				if (threadIdx.x == 0)
					atomicMax(&outcome->status, (int)NB_EINVAL);
				return;
			}
		}
		const nb_shift shift = nb_shift_of<P>(in, (size_t)other, box);
		real *const slot = shared.slots + (size_t)(back < 0 ? 0 : back) * (COMPONENTS * f.n);
		const bool first = round == f.first[box];
		ask(begin + warp * NB_WARP, stop);
#pragma unroll 1
		for (; begin < stop; begin += STAGE) {
			const sum all = stage(begin, stop, shift);
			const uint64_t j = opaque(begin + warp * NB_WARP + lane);
			if (j < stop)
#pragma unroll
				for (int c = 0; c < COMPONENTS; c++) {
					const size_t place = c * f.n + j;
					if (k < 0)
						put_or_add(&shared.own[place], (double)all.v[c], first);
					else if (theirs)
						put_or_add(&slot[place], all.v[c], first);
				}
			took(W);
			if constexpr (W > 1)
				__syncthreads();
		}
	}
};

/* Rounds and shares of a unit, by the first warp. */
template <int ROUND>
static __device__ __forceinline__ void n3_lay_out(
	struct n3_unit *unit, const struct field &f, const struct n3_deal &deal, unsigned lane)
{
	const uint64_t begin = f.first[unit->box], end = f.first[unit->box + 1];
	const uint64_t rounds = (end - begin + ROUND - 1) / ROUND;
	const uint64_t middle = deal.parts > deal.shares ? min(end, begin + (rounds + 1) / 2 * ROUND) : end;
	const int64_t other = (int)lane <= f.nneighbour ? box_around(f, unit->box, (int)lane - 1) : -1;
	const bool meets = lane == 0 || other > (int64_t)unit->box;
	bool is_first;
	const unsigned mine = n3_share(deal, __ballot_sync(0xffffffff, meets), lane, &is_first);
	for (unsigned q = 0; q < N3_SHARES; q++) {
		const unsigned share = __ballot_sync(0xffffffff, meets && mine == q);
		if (lane == 0)
			unit->share[q] = share;
	}
	if (lane == 0) {
		unit->begin = unit->part < deal.shares ? begin : middle;
		unit->stop = unit->end <= deal.shares ? middle : end;
	}
}

template <int P, int K, int W, bool POT, bool JERK, int MASSES>
static __device__ __forceinline__ void n3_work(n3_shared<P, K, W, POT, JERK> &shared, const struct nb_packed &in,
	const struct field &f, const struct n3_deal &deal, typename nb_arith<P>::real eps2,
	typename nb_arith<P>::real guard, const n3_places<typename nb_arith<P>::real> &places, const double *mass,
	const struct outputs &out, struct outcome *outcome)
{
	typedef n3_worker<P, K, W, POT, JERK, MASSES> worker;
	struct n3_unit &unit = shared.unit;
	const unsigned warp = W == 1 ? 0 : threadIdx.x / NB_WARP, lane = threadIdx.x % NB_WARP;
	if (threadIdx.x == 0) {
		uint32_t *const state = places.state[deal.member];
		unit = {blockIdx.x, 0, 0, {}, 0, deal.parts, deal.member, f.nbox};
		shared.drawn = !deal.taken || n3_draw(f, deal, state, &unit);
		if (shared.drawn && unit.part >= deal.shares)
			(void)nb_team_flag_wait(&state[unit.box],
				n3_bits(unit.part - deal.shares, unit.part - deal.shares + 1), deal.stopped);
	}
	__syncthreads();
	if (!shared.drawn)
		return;
	if (unit.early < f.nbox)
		n3_sum<true, NB_WARP * W, typename nb_arith<P>::real, POT, JERK>(
			shared.sums, f, deal, places, mass, out, unit.early);
	if (warp == 0)
		n3_lay_out<worker::ROUND>(&unit, f, deal, lane);
	if (threadIdx.x == 0)
		shared.own = places.own[unit.holder], shared.slots = places.slots[unit.holder];
	__syncthreads();
	const size_t box = unit.box;
	if (box < f.begin) { /* most of these are far from the boxes that are to be done */
		const int64_t other = (int)lane < f.nneighbour ? box_around(f, box, (int)lane) : -1;
		if (!__any_sync(0xffffffff, other >= (int64_t)f.begin && other < (int64_t)f.end))
			return;
	}
	nb_targets<P, K, POT, JERK> targets;
	worker w = {shared, in, f, eps2, guard, outcome, box, warp, lane, f.first[box + 1], targets};
	for (uint64_t round = unit.begin; round < unit.stop; round += worker::ROUND) {
		w.begin_round(round);
		unsigned q = unit.part % deal.shares;
		const unsigned last = unit.end - unit.part == deal.parts ? deal.shares - 1 : q;
		for (; q <= last; q++) {
			const unsigned share = unit.share[q];
			if (!share)
				continue;
			w.begin_share(q == 0 ? -1 : __ffs((int)share) - 2, q > 0 || round == f.first[box]);
			if (q == 0 && box >= f.begin) {
				w.tile_with_itself();
				if constexpr (W > 1)
					w.tiles_of_round();
			}
			for (unsigned left = share; left; left &= left - 1)
				w.with_box(__ffs((int)left) - 2);
			w.flush();
		}
		__syncthreads(); /* own of later rounds is complete before they begin */
	}
	if (deal.taken && threadIdx.x < deal.members)
		nb_team_flag_set(&places.state[threadIdx.x][box], n3_bits(unit.part, unit.end) + unit.holder);
}

template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static __global__ void __launch_bounds__(NB_WARP *W, BLOCKS)
	n3_kernel(struct nb_packed in, const __grid_constant__ struct field f,
		const __grid_constant__ struct n3_deal deal, typename nb_arith<P>::real eps2,
		typename nb_arith<P>::real guard, const __grid_constant__ n3_places<typename nb_arith<P>::real> places,
		const double *mass, const __grid_constant__ struct outputs out, struct outcome *outcome)
{
	__shared__ n3_shared<P, K, W, POT, JERK> shared;
	nb_cuda_follow_previous();
	if constexpr (!POT && !JERK) {
		switch (nb_survey_state.scale.masses) {
		case NB_MASSES_EQUAL:
			return n3_work<P, K, W, POT, JERK, NB_MASSES_EQUAL>(
				shared, in, f, deal, eps2, guard, places, mass, out, outcome);
		case NB_MASSES_PRODUCT:
			return n3_work<P, K, W, POT, JERK, NB_MASSES_PRODUCT>(
				shared, in, f, deal, eps2, guard, places, mass, out, outcome);
		}
	}
	n3_work<P, K, W, POT, JERK, NB_MASSES_ANY>(shared, in, f, deal, eps2, guard, places, mass, out, outcome);
}

/* Block: a box, from f.begin on, unless that is summed up already.
 * Behind units that are drawn, blocks come when all blocks of the pairs have waited for what earlier kernels wrote, and
 * so may read that.  These blocks are as many as units, at least, so each unit has been drawn, or is, by a block at
 * work on this device or another, and may be waited for. */
template <class real, bool POT, bool JERK>
static __global__ void n3_sum_kernel(const __grid_constant__ struct field f,
	const __grid_constant__ struct n3_deal deal, const __grid_constant__ n3_places<real> places, const double *mass,
	const __grid_constant__ struct outputs out)
{
	__shared__ n3_sum_shared<real, SUM_THREADS> shared;
	const size_t box = f.begin + blockIdx.x;
	if (!deal.taken)
		nb_cuda_wait_previous();
	if (!deal.taken || !__syncthreads_or(n3_has(places.state[deal.member], box, N3_SUMMED)))
		n3_sum<false, SUM_THREADS, real, POT, JERK>(shared, f, deal, places, mass, out, box);
	/* what follows this kernel comes after that of the pairs, too */
	if (blockIdx.x == gridDim.x - 1)
		nb_cuda_wait_previous();
}

/* ---- warp -------------------------------------------------------------------------------------------------- */

enum { LIST = 128 };

/* The bodies around a box, gathered for a warp: box b of those around holds entries before[b] .. before[b + 1] - 1. */
template <int P, bool POT, bool JERK> struct source_list {
	nb_body<P> body[LIST];
	nb_vec<typename nb_arith<P>::real> vel[JERK ? LIST : 1];
	uint32_t index[POT ? LIST : 1];
	uint32_t before[NB_WARP];
	uint32_t first[NB_WARP];
	nb_shift shift[P == NB_F32 ? NB_WARP : 1];
};

/* Lane b looks up box b of those around `box`.  Returned is how many bodies they have. */
template <int P, bool POT, bool JERK>
static __device__ __forceinline__ uint32_t list_boxes(
	source_list<P, POT, JERK> &list, const struct nb_packed &in, const struct field &f, size_t box, unsigned lane)
{
	const int64_t other = (int)lane <= f.nneighbour ? box_around(f, box, (int)lane - 1) : -1;
	const uint32_t first = other < 0 ? 0 : (uint32_t)f.first[other];
	uint32_t after = other < 0 ? 0 : (uint32_t)f.first[other + 1] - first;
	const uint32_t bodies = after;
	for (unsigned offset = 1; offset < NB_WARP; offset *= 2) {
		const uint32_t below = __shfl_up_sync(0xffffffff, after, offset);
		after += lane >= offset ? below : 0;
	}
	const uint32_t all = __shfl_sync(0xffffffff, after, NB_WARP - 1);
	__syncwarp();
	list.before[lane] = after - bodies;
	list.first[lane] = first;
	if (P == NB_F32)
		list.shift[lane] = nb_shift_of<P>(in, other < 0 || bodies == 0 ? box : (size_t)other, box);
	return all;
}

/* Entries begin .. begin + listed - 1 of the bodies around. */
template <int P, bool POT, bool JERK>
static __device__ __forceinline__ void list_bodies(
	source_list<P, POT, JERK> &list, const struct nb_packed &in, uint32_t begin, unsigned listed, unsigned lane)
{
	for (unsigned s = lane; s < listed; s += NB_WARP) {
		/* the last box that begins at or before the entry; empty ones end there too, and lose */
		unsigned b = 0;
#pragma unroll
		for (unsigned step = NB_WARP / 2; step > 0; step /= 2)
			b += list.before[b + step] <= begin + s ? step : 0;
		const size_t j = list.first[b] + (begin + s - list.before[b]);
		nb_body<P> source = nb_body_load<P, true>(in, j);
		if constexpr (P == NB_F32) {
			const nb_shift shift = list.shift[b];
			source.x += shift.x, source.y += shift.y, source.z += shift.z;
		}
		list.body[s] = source;
		if constexpr (JERK)
			list.vel[s] = nb_velocity_load<P, true>(in, j);
		if constexpr (POT)
			list.index[s] = (uint32_t)j;
	}
}

/* Targets of a lane: bodies first + 32 k. */
template <int P, int K, bool POT, bool JERK> struct warp_targets {
	typedef typename nb_arith<P>::real real;
	nb_body<P> body[K];
	nb_vec<real> vel[JERK ? K : 1];
	nb_sum<double, POT, JERK> total[K];

	__device__ __forceinline__ void load(const struct nb_packed &in, size_t first, size_t stop)
	{
#pragma unroll
		for (int k = 0; k < K; k++) {
			const size_t i = first + k * NB_WARP;
			body[k] = i < stop ? nb_body_load<P, true>(in, i) : nb_body_none<P>();
			if constexpr (JERK) {
				vel[k] = {0, 0, 0};
				if (i < stop)
					vel[k] = nb_velocity_load<P, true>(in, i);
			}
			total[k].clear();
		}
	}

	/* Adds entries turn, turn + turns, ... of the list. */
	__device__ __forceinline__ void add(const source_list<P, POT, JERK> &list, unsigned listed, unsigned turn,
		unsigned turns, size_t first, real eps2, real guard)
	{
		nb_sum<real, POT, JERK> part[K];
#pragma unroll
		for (int k = 0; k < K; k++)
			part[k].clear();
#pragma unroll 4
		for (unsigned s = turn; s < listed; s += turns) {
			const nb_body<P> source = list.body[s];
#pragma unroll
			for (int k = 0; k < K; k++) {
				nb_pair<P, POT, JERK> pair(
					body[k], source, vel[JERK ? k : 0], list.vel[JERK ? s : 0], eps2, guard);
				if constexpr (POT)
					if (list.index[s] == (uint32_t)(first + k * NB_WARP))
						pair.rinv = 0;
				pair.template add<1>(pair.w * source.m, source.m, part[k]);
			}
		}
#pragma unroll
		for (int k = 0; k < K; k++)
			add_to(total[k], part[k]);
	}

	/* Adds the shares of the groups that divide a list, in a fixed order. */
	__device__ __forceinline__ void join(int k, unsigned group)
	{
		for (unsigned offset = group; offset < NB_WARP; offset *= 2)
#pragma unroll
			for (int c = 0; c < nb_sum<real, POT, JERK>::COMPONENTS; c++)
				total[k].v[c] += __shfl_xor_sync(0xffffffff, total[k].v[c], (int)offset);
	}
};

/* Block: one warp, bodies 32 K b .. 32 K (b + 1) - 1 with b from first_block on, box after box.  With K = 1, a box of
 * at most 16 bodies gets groups of `group` = 2^g lanes, one target a lane, and the groups take turns at the list. */
template <int P, int K, bool POT, bool JERK, int BLOCKS>
static __global__ void __launch_bounds__(NB_WARP, BLOCKS) warp_kernel(struct nb_packed in, struct field f,
	size_t first_block, typename nb_arith<P>::real eps2, typename nb_arith<P>::real guard, struct outputs out)
{
	__shared__ source_list<P, POT, JERK> list;
	nb_cuda_wait_previous();
	const unsigned lane = threadIdx.x;
	const size_t slice = (first_block + blockIdx.x) * (NB_WARP * K), slice_end = min(slice + NB_WARP * K, f.n);
	for (size_t start = slice; start < slice_end;) {
		const size_t box = f.box_of[start];
		const size_t stop = min((size_t)f.first[box + 1], slice_end);
		const unsigned count = (unsigned)(stop - start);
		unsigned group = NB_WARP;
		if (K == 1)
			while (group / 2 >= count)
				group /= 2;
		const unsigned me = lane % group, turn = lane / group, turns = NB_WARP / group;
		const uint32_t all = list_boxes(list, in, f, box, lane);
		warp_targets<P, K, POT, JERK> targets;
		targets.load(in, start + me, stop);
		for (uint32_t begin = 0; begin < all; begin += LIST) {
			const unsigned listed = min(all - begin, (uint32_t)LIST);
			__syncwarp();
			list_bodies(list, in, begin, listed, lane);
			__syncwarp();
			targets.add(list, listed, turn, turns, start + me, eps2, guard);
		}
#pragma unroll
		for (int k = 0; k < K; k++) {
			if (K == 1)
				targets.join(k, group);
			const size_t i = start + me + k * NB_WARP;
			if (i < stop && turn == 0)
				write_result<P>(targets.total[k], i, out);
		}
		start = stop;
	}
}

/* ---- host ---------------------------------------------------------------------------------------------------- */

/* Parts of boxes for the team, four for each member: more parts have more boxes at their edges, which are done twice.
 * Part k has boxes k size .. (k + 1) size - 1, and bodies bound[k] .. bound[k + 1] - 1. */
struct box_division {
	enum { EACH = 4, PARTS = EACH * NB_TEAM_MOST };
	size_t size, parts;
	uint64_t bound[PARTS + 1];
};

/* What a call has prepared. */
struct prepared_field {
	struct nb_prepared bodies;
	nb_cuda_buffer<uint32_t> box_of;
	struct field f = {};
	struct outputs out = {};
	const double *mass = nullptr;
	size_t mean = 0; /* bodies a box, rounded up */
	struct box_division division = {};
};

/* ---- several devices ------------------------------------------------------------------------------------------ */

enum {
	SHARED = 1 << 16,  /* bodies: fewer are done at home sooner than they are copied */
	LENT = 256,	   /* bodies a box: so many do so much with a body that it can be read where it is */
	GUESSED = 1 << 20, /* bodies: with fewer the scale is found sooner than guessed ... */
	SAMPLE = 1024,	   /* ... from so many of them */
	DRAWN = 128 /* with no more bodies a box, parts of it, or drawing it on one device, cost more than they save */
};

static bool is_shared(const struct prepared_field &p)
{
	return nb_team_size() > 1 && p.f.n >= SHARED;
}

/* Waits for the device: best before there is work for it. */
static int divide(struct prepared_field &p)
{
	struct box_division &d = p.division;
	const size_t wanted = (size_t)box_division::EACH * (size_t)nb_team_size();
	d.size = (p.f.nbox + wanted - 1) / wanted;
	d.parts = (p.f.nbox + d.size - 1) / d.size;
	NB_CUDA_TRY(cudaMemcpy2D(d.bound, sizeof *d.bound, p.f.first, d.size * sizeof *d.bound, sizeof *d.bound,
		d.parts, cudaMemcpyDeviceToHost));
	d.bound[d.parts] = p.f.n;
	return NB_OK;
}

/* Sends what members copy. */
static int send_bodies(const struct prepared_field &p)
{
	NB_TRY(nb_team_send(p.bodies.memory.ptr, p.bodies.memory.count * sizeof *p.bodies.memory.ptr));
	NB_TRY(nb_team_send(p.f.box_of, p.box_of.count * sizeof *p.f.box_of));
	return nb_team_send(p.mass, p.f.n * sizeof *p.mass);
}

/* What a member of the team reads. */
struct member_field {
	struct nb_packed in = {};
	struct field f = {};
	const double *mass = nullptr;
	struct outputs out = {};
	nb_cuda_buffer<double> acc, pot, jerk;

	/* Copies are queued, not fetched.  scale: null if it comes otherwise.  lent: where each body is read a few
	 * times for many interactions, the kernel reads it at home, and need not wait for a copy. */
	int replicate(struct nb_team_copies &copies, const struct prepared_field &p, const struct nb_cuda_scale *scale,
		bool lent)
	{
		f = p.f, mass = p.mass, out = p.out;
		if (scale)
			NB_TRY(nb_survey_replicate(copies, scale));
		NB_TRY(copies.add(&f.first, f.nbox + 1));
		NB_TRY(copies.add(&f.neighbour, f.nbox * (size_t)f.nneighbour));
		if (lent) {
			in = p.bodies.packed;
			return NB_OK;
		}
		NB_TRY(p.bodies.replicate(copies, &in));
		NB_TRY(copies.add(&f.box_of, f.n));
		return copies.add(&mass, f.n);
	}

	/* Results in memory of the member, to be brought; at home they are home's. */
	int make_outputs(const struct nb_team_hand &hand)
	{
		if (hand.is_home())
			return NB_OK;
		NB_TRY(acc.alloc(3 * f.n));
		NB_TRY(pot.alloc(out.pot ? f.n : 0));
		NB_TRY(jerk.alloc(out.jerk ? 3 * f.n : 0));
		out = {acc.ptr, pot.ptr, jerk.ptr};
		return NB_OK;
	}

	/* Results of bodies first .. last - 1 of a part. */
	int bring(struct nb_team_hand &hand, const struct outputs &home, size_t first, size_t last) const
	{
		const size_t bytes = (last - first) * sizeof(double);
		NB_TRY(hand.bring(home.acc + 3 * first, out.acc + 3 * first, 3 * bytes));
		if (out.pot)
			NB_TRY(hand.bring(home.pot + first, out.pot + first, bytes));
		if (out.jerk)
			NB_TRY(hand.bring(home.jerk + 3 * first, out.jerk + 3 * first, 3 * bytes));
		return NB_OK;
	}
};

/* The memory of n3 on a device, in one piece: counters and states, which are 0 before, own, and the slots. */
template <class real> struct n3_memory {
	size_t state, own, slots, bytes; /* where they begin, and all */

	n3_memory(const struct field &f, size_t components)
	{
		const auto after = [](size_t begin, size_t size) { return (begin + size + 255) / 256 * 256; };
		state = after(0, NB_TEAM_MOST * sizeof(unsigned long long));
		own = after(state, (f.nbox + 1) * sizeof(uint32_t));
		slots = after(own, components * f.n * sizeof(double));
		bytes = after(slots, (size_t)f.nneighbour * components * f.n * sizeof(real));
	}

	/* What is 0. */
	size_t zeros() const
	{
		return own;
	}

	void place(struct n3_places<real> *places, size_t member, char *base) const
	{
		places->own[member] = (double *)(base + own);
		places->slots[member] = (real *)(base + slots);
		places->state[member] = (uint32_t *)(base + state);
	}

	static unsigned long long *counters(char *base)
	{
		return (unsigned long long *)base;
	}
};

/* Sets how members share the boxes: all of *deal except which member it is for and the address of its counter.  draws:
 * members may draw units.  If boxes are not small, the last ones of a range are split: three quarters as many as blocks
 * run at once. */
template <int ROUND, int BLOCKS>
static int n3_deal_of(const struct prepared_field &p, size_t members, bool draws, struct n3_deal *deal)
{
	int multiprocessors;
	*deal = {};
	deal->members = (unsigned)members;
	deal->shares = ROUND < 128 ? 1 : N3_SHARES; /* of smaller boxes, to be added up by itself is not worth it */
	deal->parts = deal->shares;
	deal->lag = p.f.nbox;
	if (!draws || p.mean <= DRAWN)
		return NB_OK;
	NB_TRY(nb_cuda_multiprocessors(&multiprocessors));
	const size_t at_once = (size_t)(multiprocessors * BLOCKS), most = (p.f.nbox + members - 1) / members;
	deal->parts *= p.mean > ROUND ? 2 : 1;
	deal->split = std::min(at_once * 3 / 4, most);
	deal->lag = at_once * 5 / 4;
	return NB_OK;
}

/* The pairs of boxes f.begin .. f.end - 1, or of what the member draws, with a block for each unit that it may draw. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int n3_pairs(cudaStream_t stream, const struct nb_packed &in, const struct field &f, const struct n3_deal &deal,
	const struct nb_cuda_softening &soft, const n3_places<typename nb_arith<P>::real> &places, const double *mass,
	const struct outputs &out, struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	return nb_cuda_launch_on(stream, n3_kernel<P, K, W, POT, JERK, BLOCKS>,
		(unsigned)(f.end + (deal.parts - 1) * deal.members * deal.split), NB_WARP * W, 0, in, f, deal,
		(real)soft.eps2, (real)soft.guard, places, mass, out, d_outcome);
}

/* The sums of boxes f.begin .. f.end - 1. */
template <class real, bool POT, bool JERK>
static int n3_sums(cudaStream_t stream, const struct field &f, const struct n3_deal &deal,
	const n3_places<real> &places, const double *mass, const struct outputs &out)
{
	return nb_cuda_launch_on(stream, n3_sum_kernel<real, POT, JERK>, (unsigned)(f.end - f.begin), SUM_THREADS, 0, f,
		deal, places, mass, out);
}

/* Members that reach each other's memory: each has a range of boxes, and then takes from those of the others.  What a
 * box did to others stays with who did it, and is read there. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int share_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft, struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	enum { COMPONENTS = nb_sum<real, POT, JERK>::COMPONENTS };
	const size_t members = (size_t)nb_team_size(), nbox = p.f.nbox;
	const n3_memory<real> memory(p.f, COMPONENTS);
	nb_team_buffer<char> room;
	n3_places<real> places = {};
	struct n3_deal dealt;
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, members, true, &dealt)));
	NB_TRY(room.alloc(memory.bytes, memory.zeros()));
	for (size_t k = 0; k < members; k++)
		memory.place(&places, k, room.of[k]);
	dealt.taken = memory.counters(room.of[0]), dealt.drawn = d_outcome->drawn;
	if (p.mean < LENT)
		NB_TRY(send_bodies(p));
	return nb_team_run(members, [&](struct nb_team_hand &hand) {
		const size_t me = (size_t)hand.member;
		struct n3_deal deal = dealt;
		deal.member = (unsigned)me, deal.stopped = hand.stopped;
		struct member_field m;
		struct nb_team_copies copies(hand);
		size_t part;
		NB_TRY(m.replicate(copies, p, nullptr, p.mean >= LENT));
		NB_TRY(copies.queue());
		if (!hand.next(&part))
			return hand.finish();
		if (!hand.is_home())
			NB_TRY(nb_cuda_launch_on(hand.stream(), scale_kernel, 1, 1, 0, &d_outcome->scale));
		NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
			hand.stream(), m.in, m.f, deal, soft, places, m.mass, m.out, d_outcome)));
		m.f.begin = nbox * me / members, m.f.end = nbox * (me + 1) / members;
		if (m.f.begin < m.f.end)
			NB_TRY((n3_sums<real, POT, JERK>(hand.stream(), m.f, deal, places, m.mass, m.out)));
		NB_TRY(copies.wait());
		return hand.finish();
	});
}

/* Members that do not: boxes in parts, which are dealt; a box before a part is done again for those in it. */
template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int deal_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	const struct box_division &d = p.division;
	struct n3_deal deal;
	const n3_memory<real> memory(p.f, nb_sum<real, POT, JERK>::COMPONENTS);
	struct nb_cuda_scale *scale;
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, 1, false, &deal)));
	NB_TRY(nb_survey_scale_of(&scale));
	NB_TRY(send_bodies(p));
	return nb_team_run(d.parts, [&](struct nb_team_hand &hand) {
		struct member_field m;
		nb_cuda_buffer<char> room;
		n3_places<real> places = {};
		nb_cuda_buffer<struct outcome> d_outcome;
		struct outcome outcome;
		struct nb_team_copies copies(hand);
		NB_TRY(m.replicate(copies, p, scale, false));
		NB_TRY(m.make_outputs(hand));
		NB_TRY(room.alloc(memory.bytes));
		memory.place(&places, 0, room.ptr);
		NB_TRY(d_outcome.alloc(1));
		NB_CUDA_TRY(cudaMemsetAsync(d_outcome.ptr, 0, sizeof outcome, 0));
		hand.under_way = hand.lanes = NB_TEAM_LANES;
		NB_TRY(copies.fetch());
		for (size_t k; hand.next(&k);) {
			const size_t first = d.bound[k], last = d.bound[k + 1];
			m.f.begin = k * d.size, m.f.end = k + 1 < d.parts ? (k + 1) * d.size : p.f.nbox;
			if (first == last)
				continue;
			NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
				hand.stream(), m.in, m.f, deal, soft, places, m.mass, m.out, d_outcome.ptr)));
			NB_TRY(hand.hurry());
			NB_TRY((n3_sums<real, POT, JERK>(hand.urgent, m.f, deal, places, m.mass, m.out)));
			NB_TRY(m.bring(hand, p.out, first, last));
		}
		NB_TRY(hand.finish());
		NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
		return outcome.status;
	});
}

/* Slices in parts. */
template <int P, int K, bool POT, bool JERK, int BLOCKS>
static int share_warp(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	const size_t slice = NB_WARP * K, slices = (p.f.n + slice - 1) / slice, parts = 8 * (size_t)nb_team_size();
	struct nb_cuda_scale *scale;
	NB_TRY(nb_survey_scale_of(&scale));
	NB_TRY(send_bodies(p));
	return nb_team_run(parts, [&](struct nb_team_hand &hand) {
		struct member_field m;
		struct nb_team_copies copies(hand);
		NB_TRY(m.replicate(copies, p, scale, false));
		NB_TRY(m.make_outputs(hand));
		NB_TRY(copies.fetch());
		for (size_t k; hand.next(&k);) {
			const size_t begin = slices * k / parts, end = slices * (k + 1) / parts;
			const size_t last = end * slice < p.f.n ? end * slice : p.f.n;
			NB_TRY(nb_cuda_launch_on(hand.stream(), warp_kernel<P, K, POT, JERK, BLOCKS>,
				(unsigned)(end - begin), NB_WARP, 0, m.in, m.f, begin, (real)soft.eps2,
				(real)soft.guard, m.out));
			NB_TRY(m.bring(hand, p.out, begin * slice, last));
		}
		return hand.finish();
	});
}

/* ---- one device, or the team ------------------------------------------------------------------------------------ */

template <int P, int K, int W, bool POT, bool JERK, int BLOCKS>
static int run_n3(const struct prepared_field &p, const struct nb_cuda_softening &soft, struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	struct n3_deal deal;
	const n3_memory<real> memory(p.f, nb_sum<real, POT, JERK>::COMPONENTS);
	nb_cuda_buffer<char> room;
	n3_places<real> places = {};
	if (is_shared(p))
		return nb_team_mutual() ? share_n3<P, K, W, POT, JERK, BLOCKS>(p, soft, d_outcome)
					: deal_n3<P, K, W, POT, JERK, BLOCKS>(p, soft);
	NB_TRY(room.alloc(memory.bytes));
	memory.place(&places, 0, room.ptr);
	NB_TRY((n3_deal_of<NB_WARP * K * W, BLOCKS>(p, 1, true, &deal)));
	if (deal.split > 0) {
		NB_CUDA_TRY(cudaMemsetAsync(room.ptr, 0, memory.zeros(), 0));
		deal.taken = memory.counters(room.ptr), deal.drawn = d_outcome->drawn;
	}
	NB_TRY((n3_pairs<P, K, W, POT, JERK, BLOCKS>(
		0, p.bodies.packed, p.f, deal, soft, places, p.mass, p.out, d_outcome)));
	return n3_sums<real, POT, JERK>(0, p.f, deal, places, p.mass, p.out);
}

template <int P, int K, bool POT, bool JERK, int BLOCKS>
static int run_warp(const struct prepared_field &p, const struct nb_cuda_softening &soft)
{
	typedef typename nb_arith<P>::real real;
	if (is_shared(p))
		return share_warp<P, K, POT, JERK, BLOCKS>(p, soft);
	return nb_cuda_launch(warp_kernel<P, K, POT, JERK, BLOCKS>, nb_cuda_blocks(p.f.n, NB_WARP * K), NB_WARP,
		p.bodies.packed, p.f, (size_t)0, (real)soft.eps2, (real)soft.guard, p.out);
}

template <int P, bool POT, bool JERK>
static int run_kernel(const struct prepared_field &p, const struct nb_cuda_softening &soft, enum nb_near_kernel kernel,
	struct outcome *d_outcome)
{
	typedef typename nb_arith<P>::real real;
	const real eps2 = (real)soft.eps2, guard = (real)soft.guard;
	/* blocks a multiprocessor, by the registers that 4 targets and their sums want */
	constexpr bool slim = P == NB_F32 && !JERK;
	constexpr int warps = slim ? 20 : JERK ? 8 : 16, squads = slim ? 5 : 2, wide_warps = slim ? 16 : 8;
	switch (kernel) {
	case NB_NEAR_N3:
		if (p.mean <= 32)
			return run_n3<P, 1, 1, POT, JERK, 16>(p, soft, d_outcome);
		if (p.mean <= 64)
			return run_n3<P, 2, 1, POT, JERK, 16>(p, soft, d_outcome);
		if (p.mean > 512)
			return run_n3<P, 4, 4, POT, JERK, squads>(p, soft, d_outcome);
		if constexpr (slim && !POT)
			if (p.mean > 128)
				return run_n3<P, 8, 1, POT, JERK, 16>(p, soft, d_outcome);
		return run_n3<P, 4, 1, POT, JERK, warps>(p, soft, d_outcome);
	case NB_NEAR_WARP:
		if (p.mean <= 32)
			return run_warp<P, 1, POT, JERK, 16>(p, soft);
		if (p.mean <= 96)
			return run_warp<P, 2, POT, JERK, 16>(p, soft);
		return run_warp<P, 4, POT, JERK, wide_warps>(p, soft);
	case NB_NEAR_AUTO: break;
	}
	return NB_EINVAL;
}

/* Bodies a box, rounded up. */
static size_t mean_of(const struct nb_gravity *g, const struct nb_boxes *boxes)
{
	return (g->n + boxes->nbox - 1) / boxes->nbox;
}

template <int P, bool JERK, int TURN>
static int pack_turn(const struct nb_gravity *g, const struct nb_cuda_softening &soft, const struct prepared_field &p,
	struct outcome *d_outcome)
{
	int multiprocessors;
	NB_TRY(nb_cuda_multiprocessors(&multiprocessors));
	const unsigned at_once = std::min(2 * (unsigned)multiprocessors, (unsigned)NB_SURVEY_BLOCKS);
	return nb_cuda_launch(body_kernel<P, JERK, TURN>, std::min(at_once, nb_cuda_blocks(g->n, PACK_THREADS)),
		PACK_THREADS, p.f, g->pos, g->vel, g->mass, soft, g->G, p.bodies.packed, d_outcome);
}

/* Packs the bodies, and finds the scale: before, or at once with many bodies, whose scale is that of some of them, most
 * often. */
template <int P, bool JERK>
static int pack(const struct nb_gravity *g, const struct nb_cuda_softening &soft, struct prepared_field &p,
	struct outcome *d_outcome)
{
	int *const d_status = &d_outcome->status;
	if constexpr (!JERK) /* the largest velocity of some bodies is less than that of all */
		if (g->n >= GUESSED) {
			NB_TRY((p.bodies.survey<P, false>(g, soft, false, d_status, g->n / SAMPLE)));
			NB_TRY((pack_turn<P, false, PACK_GUESSED>(g, soft, p, d_outcome)));
			return pack_turn<P, false, PACK_AGAIN>(g, soft, p, d_outcome);
		}
	NB_TRY((p.bodies.survey<P, JERK>(g, soft, false, d_status)));
	return pack_turn<P, JERK, PACK_KNOWN>(g, soft, p, d_outcome);
}

template <int P, bool POT, bool JERK>
static int run(
	const struct nb_gravity *g, const struct nb_boxes *boxes, enum nb_near_kernel kernel, struct outcome *d_outcome)
{
	const struct nb_cuda_softening soft = nb_cuda_softening_of(g->eps, P);
	struct prepared_field p;
	NB_TRY((p.bodies.alloc<P, JERK>(g->n, boxes->nbox)));
	NB_TRY(p.box_of.alloc(kernel == NB_NEAR_N3 ? 0 : g->n));
	p.f = {g->n, boxes->nbox, boxes->box_first, boxes->neighbour, boxes->nneighbour, p.box_of.ptr, 0, boxes->nbox};
	p.out = {g->acc, g->pot, g->jerk};
	p.mass = g->mass;
	p.mean = mean_of(g, boxes);
	if (is_shared(p) && kernel == NB_NEAR_N3 && !nb_team_mutual())
		NB_TRY(divide(p));
	NB_TRY(nb_team_mark());
	NB_TRY((pack<P, JERK>(g, soft, p, d_outcome)));
	if (is_shared(p)) { /* while home packs the bodies */
		NB_TRY(nb_team_send(p.f.first, (p.f.nbox + 1) * sizeof *p.f.first, true));
		NB_TRY(nb_team_send(p.f.neighbour, p.f.nbox * (size_t)p.f.nneighbour * sizeof *p.f.neighbour, true));
		if (kernel != NB_NEAR_N3 || !nb_team_mutual())
			NB_TRY(nb_survey_send());
	}
	return run_kernel<P, POT, JERK>(p, soft, kernel, d_outcome);
}

template <int P>
static int run_wanted(
	const struct nb_gravity *g, const struct nb_boxes *boxes, enum nb_near_kernel kernel, struct outcome *d_outcome)
{
	if (g->pot)
		return g->jerk ? run<P, true, true>(g, boxes, kernel, d_outcome)
			       : run<P, true, false>(g, boxes, kernel, d_outcome);
	return g->jerk ? run<P, false, true>(g, boxes, kernel, d_outcome)
		       : run<P, false, false>(g, boxes, kernel, d_outcome);
}

extern "C" int nb_gravity_near_cuda_with(const struct nb_gravity *g, const struct nb_boxes *boxes,
	enum nb_near_kernel kernel, struct nb_gravity_count *count)
{
	NB_TRY(nb_gravity_cuda_check(g));
	if (boxes->nneighbour < 0 || boxes->nneighbour >= NB_WARP) /* a lane for each, and one for the box */
		return NB_EINVAL;
	if (boxes->nbox > INT32_MAX)
		return NB_ELIMIT;
	if (g->n == 0)
		return NB_OK;
	if (boxes->nbox == 0)
		return NB_EINVAL;
	nb_cuda_buffer<struct outcome> d_outcome;
	NB_TRY(d_outcome.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(d_outcome.ptr, 0, sizeof(struct outcome), 0));
	int status = NB_EINVAL;
	if (nb_pair_law_of(g) != NB_LAW_COMMON) {
		const char *wrong;
		if (kernel != NB_NEAR_AUTO)
			return NB_EUNSUPPORTED;
		NB_TRY(nb_boxes_check_cuda(boxes, g->n, &wrong));
		if (wrong)
			return NB_EINVAL;
		status = nb_gravity_soft_cuda(g, boxes, &d_outcome.ptr->p2p, &d_outcome.ptr->status);
	} else {
		if (kernel == NB_NEAR_AUTO)
			kernel = mean_of(g, boxes) <= 48 || boxes->nbox < 2048 ? NB_NEAR_WARP : NB_NEAR_N3;
		const std::lock_guard<std::mutex> lock(nb_survey_lock);
		switch (g->precision) {
		case NB_F32: status = run_wanted<NB_F32>(g, boxes, kernel, d_outcome.ptr); break;
		case NB_MIXED: status = run_wanted<NB_MIXED>(g, boxes, kernel, d_outcome.ptr); break;
		case NB_F64: status = run_wanted<NB_F64>(g, boxes, kernel, d_outcome.ptr); break;
		}
		if (status) /* under the lock, as the scale of the next call is sent from the same place */
			nb_team_unsend();
	}
	if (status)
		return status;
	struct outcome outcome;
	NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
	for (int k = 0; k < nb_team_size(); k++)
		nb_team_drew(k, (size_t)outcome.drawn[k]);
	if (outcome.status == NB_OK && count)
		count->p2p += outcome.p2p;
	return outcome.status;
}

extern "C" int nb_gravity_near_cuda(
	const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count)
{
	return nb_gravity_near_cuda_with(g, boxes, NB_NEAR_AUTO, count);
}

extern "C" const char *nb_near_kernel_name(enum nb_near_kernel kernel)
{
	static const char *const name[] = {"auto", "n3", "warp"};
	return (size_t)kernel < sizeof name / sizeof name[0] ? name[kernel] : NULL;
}
