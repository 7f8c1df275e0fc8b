/* near_n3_internal.cuh - n3 of near_cuda.cu: the pairs (n3_worker), and its kernels. */
#ifndef NB_GRAVITY_NEAR_N3_INTERNAL_CUH
#define NB_GRAVITY_NEAR_N3_INTERNAL_CUH

#include "kernels/gravity/near_deal_internal.cuh"

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
	const struct near_field &f;
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
	struct n3_unit *unit, const struct near_field &f, const struct n3_deal &deal, unsigned lane)
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
	const struct near_field &f, const struct n3_deal &deal, typename nb_arith<P>::real eps2,
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
	n3_kernel(struct nb_packed in, const __grid_constant__ struct near_field f,
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
static __global__ void n3_sum_kernel(const __grid_constant__ struct near_field f,
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

#endif
