/* direct_internal.cuh - the kernels of direct_cuda.cu: that of tiled and blocked, that of symmetric, and the sum over
 * slots.
 */
#ifndef NB_GRAVITY_DIRECT_INTERNAL_CUH
#define NB_GRAVITY_DIRECT_INTERNAL_CUH

#include "kernels/gravity/pack_internal.cuh"

enum { THREADS = 128 };

/* ---- one target or several per thread ------------------------------------------------------------ */

/* Grid: x tiles of THREADS R targets from number first_tile on, y splits of the sources; slot = split.  The sum over a
 * tile of sources is f32, the sum of the tiles f64. */
template <int P, int R, bool POT, bool JERK>
static __global__ void __launch_bounds__(THREADS) tiled_kernel(struct nb_packed in, size_t npad, unsigned first_tile,
	typename nb_arith<P>::real eps2, typename nb_arith<P>::real guard, typename nb_arith<P>::real *slots)
{
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	__shared__ nb_body<P> tile[THREADS];
	__shared__ nb_vec<real> tile_vel[JERK ? THREADS : 1];
	nb_cuda_wait_previous();
	const unsigned thread = threadIdx.x;
	const size_t first = (first_tile + blockIdx.x) * (size_t)(THREADS * R);
	const size_t tiles = npad / THREADS;
	const size_t begin = tiles * blockIdx.y / gridDim.y, end = tiles * (blockIdx.y + 1) / gridDim.y;

	nb_body<P> body[R];
	nb_vec<real> vel[JERK ? R : 1];
	nb_sum<double, POT, JERK> total[R];
	sum a[R];
#pragma unroll
	for (int k = 0; k < R; k++) {
		body[k] = nb_body_load<P, true>(in, first + k * THREADS + thread);
		if constexpr (JERK)
			vel[k] = nb_velocity_load<P, true>(in, first + k * THREADS + thread);
		total[k].clear();
		a[k].clear();
	}
	for (size_t t = begin; t < end; t++) {
		/* tile t holds the targets k = own of this block, if any: none is its own source */
		const size_t own = t - first / THREADS;
		__syncthreads();
		nb_body<P> own_source = nb_body_load<P, true>(in, t * THREADS + thread);
		if constexpr (P == NB_F32) {
			const nb_shift shift = nb_shift_of<P>(in, t / R, first_tile + blockIdx.x);
			own_source.x += shift.x, own_source.y += shift.y, own_source.z += shift.z;
		}
		tile[thread] = own_source;
		if constexpr (JERK)
			tile_vel[thread] = nb_velocity_load<P, true>(in, t * THREADS + thread);
		__syncthreads();
#pragma unroll 8
		for (unsigned j = 0; j < THREADS; j++) {
			const nb_body<P> source = tile[j];
#pragma unroll
			for (int k = 0; k < R; k++) {
				nb_pair<P, POT, JERK> pair(
					body[k], source, vel[JERK ? k : 0], tile_vel[JERK ? j : 0], eps2, guard);
				if constexpr (POT)
					if ((size_t)k == own && j == thread)
						pair.rinv = 0;
				pair.template add<1>(pair.w * source.m, source.m, a[k]);
			}
		}
		if constexpr (P != NB_F64) {
#pragma unroll
			for (int k = 0; k < R; k++) {
#pragma unroll
				for (int c = 0; c < sum::COMPONENTS; c++)
					total[k].v[c] += a[k].v[c];
				a[k].clear();
			}
		}
	}
	real *slot = slots + blockIdx.y * (sum::COMPONENTS * npad);
#pragma unroll
	for (int k = 0; k < R; k++)
#pragma unroll
		for (int c = 0; c < sum::COMPONENTS; c++)
			slot[c * npad + first + k * THREADS + thread] = P == NB_F64 ? a[k].v[c] : (real)total[k].v[c];
}

/* ---- each pair once -------------------------------------------------------------------------------- */

/* The part of the ring that one launch does. */
struct panel {
	unsigned tiles; /* T */
	unsigned begin; /* distances begin .. end - 1 of 0 .. T/2 */
	unsigned end;
	unsigned segments; /* parts that a tile's work is split in, a warp each */

	/* slots: one of each segment for the targets, then one of each distance > 0 for the counter-forces */
	__host__ __device__ unsigned counters() const
	{
		return end - (begin > 1 ? begin : 1);
	}
	/* the distance T/2 of an even ring is in this panel, and tile is in the half that does not do it */
	__host__ __device__ bool lacks_last(unsigned tile) const
	{
		return tiles % 2 == 0 && end == tiles / 2 + 1 && tile >= tiles / 2;
	}
};

/* Block b: segment b / T of the work of tile b % T. */
template <int P, int K, bool POT, bool JERK, int MASSES>
static __device__ __forceinline__ void symmetric_work(const struct nb_packed &in, size_t npad,
	const struct panel &panel, typename nb_arith<P>::real eps2, typename nb_arith<P>::real guard,
	typename nb_arith<P>::real *slots, nb_ring<P, JERK> &ring)
{
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	const unsigned segment = blockIdx.x / panel.tiles, tile = blockIdx.x % panel.tiles;
	const unsigned lane = threadIdx.x;
	const unsigned distances = panel.end - panel.begin - panel.lacks_last(tile);
	const uint64_t units = (uint64_t)distances * K;
	const unsigned unit_end = (unsigned)(units * (segment + 1) / panel.segments);

	nb_targets<P, K, POT, JERK> targets;
	targets.load(in, (size_t)tile * (NB_WARP * K), lane);
	unsigned unit = (unsigned)(units * segment / panel.segments);
	while (unit < unit_end) {
		const unsigned distance = panel.begin + unit / K;
		unsigned other = tile + distance;
		other -= other >= panel.tiles ? panel.tiles : 0;
		const nb_shift shift = nb_shift_of<P>(in, other, tile);
		real *const slot = slots + (size_t)(panel.segments + distance - (panel.begin > 1 ? panel.begin : 1)) *
						   (sum::COMPONENTS * npad);
		const unsigned chunk_end = min(unit_end - unit + unit % K, (unsigned)K);
#pragma unroll 1
		for (unsigned chunk = unit % K; chunk < chunk_end; chunk++, unit++) {
			const size_t base = ((size_t)other * K + chunk) * NB_WARP;
			ring.template fill<true>(in, base, NB_WARP, shift, lane);
			if (distance == 0) {
				targets.template interact<false, MASSES>(ring, lane, eps2, guard, (int)chunk);
			} else {
				const sum counter = targets.template interact<true, MASSES>(
					ring, lane, eps2, guard, -1);
				counter.store(slot, npad, base + lane);
			}
		}
	}
	real *slot = slots + (size_t)segment * (sum::COMPONENTS * npad);
#pragma unroll
	for (int k = 0; k < K; k++)
		targets.a[k].store(slot, npad, ((size_t)tile * K + k) * NB_WARP + lane);
}

/* A block of one warp lets the compiler see that its control flow is uniform; WARPS is how many a multiprocessor
 * should hold, that is, how many registers they get. */
template <int P, int K, bool POT, bool JERK, int WARPS>
static __global__ void __launch_bounds__(NB_WARP, WARPS)
	symmetric_kernel(struct nb_packed in, size_t npad, struct panel panel, typename nb_arith<P>::real eps2,
		typename nb_arith<P>::real guard, typename nb_arith<P>::real *slots)
{
	__shared__ nb_ring<P, JERK> ring;
	nb_cuda_wait_previous();
	if constexpr (!POT && !JERK) {
		switch (nb_survey_state.scale.masses) {
		case NB_MASSES_EQUAL:
			return symmetric_work<P, K, POT, JERK, NB_MASSES_EQUAL>(
				in, npad, panel, eps2, guard, slots, ring);
		case NB_MASSES_PRODUCT:
			return symmetric_work<P, K, POT, JERK, NB_MASSES_PRODUCT>(
				in, npad, panel, eps2, guard, slots, ring);
		}
	}
	symmetric_work<P, K, POT, JERK, NB_MASSES_ANY>(in, npad, panel, eps2, guard, slots, ring);
}

/* ---- the sum of the slots ---------------------------------------------------------------------------- */

struct outputs {
	double *acc, *pot, *jerk;
};

enum { SUM_GROUPS = 8 };

/* 16 bytes of a slot. */
template <class real> struct slot_vector {
	enum { SIZE = 16 / sizeof(real) };
	alignas(16) real v[SIZE];
};

/* Where component c of the sum of a body goes, and what it is in the caller's units; old: its place in his order. */
template <bool POT, bool JERK> struct finished {
	enum { COMPONENTS = 3 + POT + 3 * JERK };
	int c;
	size_t old;

	__device__ __forceinline__ double *place(const struct outputs &out) const
	{
		return POT && c == 3	      ? out.pot + old
		       : JERK && c >= 3 + POT ? out.jerk + 3 * old + (c - 3 - POT)
					      : out.acc + 3 * old + c;
	}
	/* weighted: the sums are those of enum nb_masses */
	__device__ __forceinline__ double value(double sum, bool weighted, const double *mass) const
	{
		const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
		sum = POT && c == 3	     ? nb_pot_out(scale, sum)
		      : JERK && c >= 3 + POT ? nb_jerk_out(scale, sum)
					     : nb_acc_out(scale, sum);
		return weighted ? sum * nb_masses_factor(scale, mass[old]) : sum;
	}
};

/* Block: 32 x 16 bytes of component blockIdx.y, from block first_block on; threadIdx.y takes every SUM_GROUPS-th slot,
 * and these shares are added in order.  Bodies below lacks_below have nothing in the last slot (panel.lacks_last: the
 * tile half a ring ahead of them did not do that distance; tiles are whole blocks).  first: nothing is there to be
 * added to.  part: COMPONENTS planes of npad, for sums that are not finished; else last makes them the caller's. */
template <class real, bool POT, bool JERK>
static __global__ void __launch_bounds__(NB_WARP *SUM_GROUPS) sum_kernel(size_t n, size_t npad, unsigned first_block,
	const real *slots, unsigned nslot, size_t lacks_below, bool first, bool last, bool weighted, const double *mass,
	const uint32_t *perm, struct outputs out, double *part_out)
{
	typedef slot_vector<real> vector;
	enum { COMPONENTS = 3 + POT + 3 * JERK, SIZE = vector::SIZE, BODIES = NB_WARP * SIZE };
	__shared__ double part[SUM_GROUPS][BODIES];
	nb_cuda_wait_previous();
	const int c = (int)blockIdx.y;
	const size_t base = (first_block + blockIdx.x) * (size_t)BODIES;
	const unsigned count = nslot - (base < lacks_below);
	const vector *const mine = (const vector *)(slots + c * npad + base) + threadIdx.x;
	const size_t stride = COMPONENTS * npad / SIZE;
	double total[SIZE] = {};
#pragma unroll 8
	for (unsigned s = threadIdx.y; s < count; s += SUM_GROUPS) {
		const vector add = mine[s * stride];
#pragma unroll
		for (int k = 0; k < SIZE; k++)
			total[k] += add.v[k];
	}
#pragma unroll
	for (int k = 0; k < SIZE; k++)
		part[threadIdx.y][SIZE * threadIdx.x + k] = total[k];
	__syncthreads();
	const unsigned which = threadIdx.y * NB_WARP + threadIdx.x;
	const size_t body = base + which;
	if (which >= BODIES || body >= n)
		return;
	const struct finished<POT, JERK> f = {
		c, part_out ? 0 : nb_old_index(perm, body)
	};
	double *place = part_out ? part_out + c * npad + body : f.place(out);
	double sum = 0;
	for (int g = 0; g < SUM_GROUPS; g++)
		sum += part[g][which];
	if (!first)
		sum += *place;
	*place = last ? f.value(sum, weighted, mass) : sum;
}

/* Thread: component blockIdx.y of a body.  Adds `count` parts, COMPONENTS planes of npad each, in order; first and last
 * as above. */
template <bool POT, bool JERK>
static __global__ void __launch_bounds__(THREADS) join_kernel(size_t n, size_t npad, const double *part, unsigned count,
	bool first, bool last, bool weighted, const double *mass, const uint32_t *perm, struct outputs out)
{
	nb_cuda_wait_previous();
	const int c = (int)blockIdx.y;
	const size_t body = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (body >= n)
		return;
	const struct finished<POT, JERK> f = {
		c, nb_old_index(perm, body)
	};
	double *const place = f.place(out);
	double sum = first ? part[c * npad + body] : part[c * npad + body] + *place;
	for (unsigned s = 1; s < count; s++)
		sum += part[(s * (size_t)finished<POT, JERK>::COMPONENTS + c) * npad + body];
	*place = last ? f.value(sum, weighted, mass) : sum;
}

#endif
