/* near_deal_internal.cuh - n3 of near_cuda.cu: who does which boxes, and how the sums of a box are added up. */
#ifndef NB_GRAVITY_NEAR_DEAL_INTERNAL_CUH
#define NB_GRAVITY_NEAR_DEAL_INTERNAL_CUH

#include "kernels/gravity/near_internal.cuh"

/* What each member has.
 * own    COMPONENTS planes of n doubles: what a body got in its own rounds and box, and the rest of share 0
 * slots  for each direction k COMPONENTS planes of n: what a body got from its neighbour k of smaller index, or, if
 *        neighbour k is the first of a share, from that share
 * state  nbox + 1, 0 before: who has the sums of a box, + N3_FIRST_PART << p for each part p that is done; N3_SUMMED.
 *        All members get it, so that each waits in its own memory.  The last one: whether nothing is left to draw */
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

static __device__ __forceinline__ size_t n3_range(
	const struct near_field &f, const struct n3_deal &deal, unsigned member)
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
	const struct near_field &f, const struct n3_deal &deal, uint32_t *state, struct n3_unit *unit)
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
static __device__ __noinline__ void n3_sum(n3_sum_shared<real, THREADS> &shared, const struct near_field &f,
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

#endif
