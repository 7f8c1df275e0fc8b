/* direct_cuda.cu - direct sum on the device, O(n^2).
 *
 * tiled      A target per thread, 128 sources at a time through shared memory.  12 FP32, 1 MUFU and one
 *            LDS.128 instruction for an interaction.  Nyland, Harris & Prins 2007, GPU Gems 3, ch. 31.
 * blocked    R targets per thread, so that a source read from shared memory serves R interactions; the
 *            sources are split over the grid to fill the device at small n.
 * symmetric  Newton's third law: 16 FP32 + 1 MUFU for the two interactions of a pair.  Tiles of 32 K
 *            bodies stand in a ring; a warp holds tile I in registers (K targets a lane) and meets the tiles
 *            at distance d = 1 .. T/2 behind it, 32 sources at a time.  Each lane works on another of the 32;
 *            after every step the sums of the counter-forces move on by one lane, and after 32 steps they
 *            are complete and home.  Distance T/2 of an even ring belongs to the lower half of the tiles;
 *            a tile with itself (d = 0) is done one way.  So every warp has the same work, and a body
 *            gets exactly one counter-force from every distance.
 *
 * Reproducible: every partial sum has its own place ("slot") in memory, and one kernel adds the slots of
 * a body in f64 in a fixed order.  Where the slots of all distances do not fit the scratch memory, the
 * distances are taken in several panels.
 *
 * Precisions and records: cuda_internal.cuh.  Launch: blocks of 128 threads, for symmetric of one warp.
 *
 * Sections: the kernel of tiled and blocked, that of symmetric, the sum over slots, and the host's part: how many
 * splits, panels and targets a lane, by n and by the blocks that the device holds at once. */
#include <algorithm>
#include <string.h>

#include "kernels/gravity/cuda_internal.cuh"
#include "kernels/gravity/kernels_cuda.h"

enum { THREADS = 128 };

/* ---- one target or several per thread ------------------------------------------------------------ */

/* Grid: x tiles of THREADS R targets, y splits of the sources; slot = split.  The sum over a tile of sources
 * is f32, the sum of the tiles f64. */
template <int P, int R, bool POT, bool JERK>
static __global__ void __launch_bounds__(THREADS) tiled_kernel(struct nb_packed in, size_t npad,
	typename nb_arith<P>::real eps2, typename nb_arith<P>::real guard, typename nb_arith<P>::real *slots)
{
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	__shared__ nb_body<P> tile[THREADS];
	__shared__ nb_vec<real> tile_vel[JERK ? THREADS : 1];
	nb_cuda_wait_previous();
	const unsigned thread = threadIdx.x;
	const size_t first = blockIdx.x * (size_t)(THREADS * R);
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
			const nb_shift shift = nb_shift_of<P>(in, t / R, blockIdx.x);
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

/* Block: 32 x 16 bytes of component blockIdx.y; threadIdx.y takes every SUM_GROUPS-th slot, and these shares are added
 * in order.  Bodies below lacks_below have nothing in the last slot (panel.lacks_last: the tile half a ring ahead of
 * them did not do that distance; tiles are whole blocks).  weighted: the sums are those of enum nb_masses. */
template <class real, bool POT, bool JERK>
static __global__ void __launch_bounds__(NB_WARP *SUM_GROUPS)
	sum_kernel(size_t n, size_t npad, const real *slots, unsigned nslot, size_t lacks_below, bool first, bool last,
		bool weighted, const double *mass, const uint32_t *perm, struct outputs out)
{
	typedef slot_vector<real> vector;
	enum { COMPONENTS = 3 + POT + 3 * JERK, SIZE = vector::SIZE, BODIES = NB_WARP * SIZE };
	__shared__ double part[SUM_GROUPS][BODIES];
	nb_cuda_wait_previous();
	const int c = (int)blockIdx.y;
	const size_t base = blockIdx.x * (size_t)BODIES;
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
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
	const bool is_pot = POT && c == 3, is_jerk = JERK && c >= 3 + POT;
	const size_t old = nb_old_index(perm, body);
	double *place = is_pot ? out.pot + old : is_jerk ? out.jerk + 3 * old + (c - 3 - POT) : out.acc + 3 * old + c;
	double sum = 0;
	for (int g = 0; g < SUM_GROUPS; g++)
		sum += part[g][which];
	if (!first)
		sum += *place;
	if (last) {
		sum = is_pot ? nb_pot_out(scale, sum) : is_jerk ? nb_jerk_out(scale, sum) : nb_acc_out(scale, sum);
		if (weighted)
			sum *= nb_masses_factor(scale, mass[old]);
	}
	*place = sum;
}

/* ---- host ---------------------------------------------------------------------------------------------- */

/* Blocks of a kernel that the device holds at once; asked once per kernel. */
template <class Kernel> static int resident_blocks(Kernel kernel, int threads, std::atomic<int> *cache, int *blocks)
{
	*blocks = cache->load(std::memory_order_relaxed);
	if (*blocks)
		return NB_OK;
	int per_sm = 0, sms;
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0));
	*blocks = std::max(1, per_sm * sms);
	cache->store(*blocks, std::memory_order_relaxed);
	return NB_OK;
}

template <int P, bool POT, bool JERK>
static int sum_slots(const struct nb_gravity *g, size_t npad, const typename nb_arith<P>::real *slots, unsigned nslot,
	size_t lacks_below, bool first, bool last, bool weighted, const uint32_t *perm)
{
	const struct outputs out = {g->acc, g->pot, g->jerk};
	typedef typename nb_arith<P>::real real;
	const unsigned blocks = (unsigned)(npad / (NB_WARP * slot_vector<real>::SIZE));
	return nb_cuda_launch(sum_kernel<real, POT, JERK>, dim3(blocks, nb_sum<real, POT, JERK>::COMPONENTS),
		dim3(NB_WARP, SUM_GROUPS), g->n, npad, slots, nslot, lacks_below, first, last, weighted, g->mass, perm,
		out);
}

/* Whether to sort the bodies first, for f32's sake: where it costs a few per cent at most. */
template <int P> static bool in_order(const struct nb_gravity *g)
{
	return P == NB_F32 && g->n >= 100000;
}

template <int P, int R, bool POT, bool JERK> static int run_tiled(const struct nb_gravity *g, bool split, int *d_status)
{
	typedef typename nb_arith<P>::real real;
	static std::atomic<int> cache;
	const size_t tile = THREADS * R, npad = (g->n + tile - 1) / tile * tile;
	const unsigned tiles = (unsigned)(npad / tile);
	unsigned splits = 1;
	if (split) {
		int resident;
		NB_TRY(resident_blocks(tiled_kernel<P, R, POT, JERK>, THREADS, &cache, &resident));
		/* two rounds of blocks or more, but at least four tiles of sources each */
		const unsigned want = 2 * (unsigned)resident / tiles;
		splits = std::max(1u, std::min(want, (unsigned)(npad / THREADS / 4)));
	}
	const struct nb_cuda_softening softening = nb_cuda_softening_of(g->eps, P);
	struct nb_prepared prepared;
	NB_TRY((prepared.template survey<P, JERK>(g, softening, npad == g->n, d_status)));
	NB_TRY((prepared.template pack<P, JERK>(g, npad, (unsigned)tile, in_order<P>(g))));
	nb_cuda_buffer<real> slots;
	NB_TRY(slots.alloc((size_t)splits * nb_sum<real, POT, JERK>::COMPONENTS * npad));
	NB_TRY(nb_cuda_launch(tiled_kernel<P, R, POT, JERK>, dim3(tiles, splits), THREADS, prepared.packed, npad,
		(real)softening.eps2, (real)softening.guard, slots.ptr));
	return sum_slots<P, POT, JERK>(g, npad, slots.ptr, splits, 0, true, true, false, prepared.perm.ptr);
}

/* Into how many segments to split the work of each of `tiles` tiles, `units` units long: the least estimated time
 * of the busiest scheduler, in units.  Each of the device's `schedulers` has room for `resident` warps of K targets a
 * lane.  From measurements: a segment costs 0.15 units more than its length; a scheduler wants 32 targets a lane in
 * flight; and its last warps, running on alone, cost a third of a segment. */
static unsigned choose_segments(double tiles, unsigned units, double schedulers, double resident, int K)
{
	unsigned best = 1;
	double best_cost = INFINITY;
	const unsigned least = units / 128 + 1;
	const unsigned most = std::min(units, least + (unsigned)(8 * schedulers * resident / tiles) + 1);
	for (unsigned s = least; s <= most; s++) {
		const double warps = ceil(tiles * s / schedulers), length = ceil((double)units / s) + 0.15;
		const double flight = std::min(warps, resident) * K;
		const double slow = flight >= 32 ? 1 : flight >= 24 ? 1.03 : flight >= 16 ? 1.1 : flight >= 8 ? 1.4 : 2;
		const double cost = (warps * slow + 0.3) * length;
		if (cost < best_cost) {
			best_cost = cost;
			best = s;
		}
	}
	return best;
}

static std::atomic<size_t> scratch_wanted; /* 0: the default */

extern "C" void nb_gravity_direct_cuda_scratch(size_t bytes)
{
	scratch_wanted = bytes;
}

/* Bytes that the slots of a call may take. */
static int scratch_limit(size_t *bytes)
{
	static std::atomic<size_t> eighth;
	*bytes = scratch_wanted;
	if (*bytes)
		return NB_OK;
	if (!eighth) {
		size_t left, all;
		NB_CUDA_TRY(cudaMemGetInfo(&left, &all));
		eighth = all / 8;
	}
	*bytes = eighth;
	return NB_OK;
}

/* Dynamic shared memory that makes `blocks` blocks spread evenly where `resident` would find room: blocks that come
 * early (nb_cuda_launch) else crowd on those multiprocessors that the kernel before leaves free. */
template <class Kernel>
static int spreading_memory(Kernel kernel, size_t fixed, size_t blocks, int resident, size_t sms, size_t *bytes)
{
	*bytes = 0;
	if (blocks >= (size_t)resident)
		return NB_OK;
	int device, all, reserved;
	NB_CUDA_TRY(cudaGetDevice(&device));
	NB_CUDA_TRY(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
	NB_CUDA_TRY(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
	NB_CUDA_TRY(cudaFuncSetAttribute(
		(const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
	const size_t each = (size_t)all / ((blocks + sms - 1) / sms), taken = (size_t)reserved + fixed + 128;
	if (each > taken)
		*bytes = std::min<size_t>(each - taken, 48 * 1024 - fixed - 128) / 128 * 128;
	return NB_OK;
}

template <int P, int K, bool POT, bool JERK, int WARPS>
static int run_symmetric(const struct nb_gravity *g, int *d_status)
{
	typedef typename nb_arith<P>::real real;
	static_assert(K % slot_vector<real>::SIZE == 0, "tiles are whole blocks of sum_kernel");
	static std::atomic<int> cache;
	const size_t tile = NB_WARP * K, npad = (g->n + tile - 1) / tile * tile;
	const unsigned tiles = (unsigned)(npad / tile), distances = tiles / 2 + 1;
	int resident, sms;
	size_t limit;
	NB_TRY(resident_blocks(symmetric_kernel<P, K, POT, JERK, WARPS>, NB_WARP, &cache, &resident));
	NB_TRY(scratch_limit(&limit));
	NB_TRY(nb_cuda_multiprocessors(&sms));
	const double schedulers = 4.0 * sms;
	const struct nb_cuda_softening softening = nb_cuda_softening_of(g->eps, P);
	struct nb_prepared prepared;
	NB_TRY((prepared.template survey<P, JERK>(g, softening, npad == g->n, d_status)));
	NB_TRY((prepared.template pack<P, JERK>(g, npad, (unsigned)tile, in_order<P>(g))));

	/* as few panels as the memory allows */
	nb_cuda_buffer<real> slots;
	unsigned width = distances;
	unsigned segments;
	for (;;) {
		segments = choose_segments(tiles, width * K, schedulers, resident / schedulers, K);
		const size_t count = (size_t)(segments + width) * nb_sum<real, POT, JERK>::COMPONENTS * npad;
		if (count * sizeof(real) <= limit || width == 1) {
			const int status = slots.alloc(count);
			if (status == NB_OK)
				break;
			if (status != NB_ENOMEM || width == 1)
				return status;
		}
		width = (width + 1) / 2;
	}
	size_t spreading;
	NB_TRY(spreading_memory(symmetric_kernel<P, K, POT, JERK, WARPS>, sizeof(nb_ring<P, JERK>), tiles * segments,
		resident, (size_t)sms, &spreading));
	struct panel panel = {tiles, 0, 0, segments};
	while (panel.end < distances) {
		panel.begin = panel.end;
		panel.end = std::min(panel.begin + width, distances);
		NB_TRY(nb_cuda_launch_shared(symmetric_kernel<P, K, POT, JERK, WARPS>, tiles * segments, NB_WARP,
			spreading, prepared.packed, npad, panel, (real)softening.eps2, (real)softening.guard,
			slots.ptr));
		const bool even = tiles % 2 == 0 && panel.end == distances && tiles > 1;
		NB_TRY((sum_slots<P, POT, JERK>(g, npad, slots.ptr, segments + panel.counters(),
			even ? tiles / 2 * tile : 0, panel.begin == 0, panel.end == distances, !POT && !JERK,
			prepared.perm.ptr)));
	}
	return NB_OK;
}

/* The tile size of the symmetric kernel and the registers it gets, by n and by what is wanted: larger tiles spend
 * fewer instructions on moving sources and fewer slots, smaller ones split better.  Measured on an H200. */
template <int P, bool POT, bool JERK> static int run_by_size(const struct nb_gravity *g, int *d_status)
{
	constexpr bool f32 = P == NB_F32;
	constexpr int warps = P == NB_F64 ? 8 : 12;
	if constexpr (JERK) {
		constexpr int K = f32 ? 8 : 4, jerk_warps = f32 && POT ? 8 : warps;
		return run_symmetric<P, K, POT, JERK, jerk_warps>(g, d_status);
	} else if constexpr (POT) {
		constexpr int K = f32 ? 12 : P == NB_MIXED ? 8 : 6;
		return run_symmetric<P, K, POT, JERK, warps>(g, d_status);
	} else {
		constexpr int K = f32 ? 16 : 8, fine_warps = f32 ? 24 : 16;
		if (g->n < 12288)
			return run_symmetric<P, 4, POT, JERK, fine_warps>(g, d_status);
		if constexpr (f32)
			if (g->n < 100000)
				return run_symmetric<P, 8, POT, JERK, 16>(g, d_status);
		return run_symmetric<P, K, POT, JERK, warps>(g, d_status);
	}
}

template <int P, bool POT, bool JERK>
static int run(const struct nb_gravity *g, enum nb_direct_kernel kernel, int *d_status)
{
	constexpr int R = JERK ? 2 : 4;
	switch (kernel) {
	case NB_DIRECT_TILED: return run_tiled<P, 1, POT, JERK>(g, false, d_status);
	case NB_DIRECT_BLOCKED: return run_tiled<P, R, POT, JERK>(g, true, d_status);
	case NB_DIRECT_AUTO: /* the symmetric kernel wins at every n */
	case NB_DIRECT_SYMMETRIC: return run_by_size<P, POT, JERK>(g, d_status);
	}
	return NB_EINVAL;
}

template <int P> static int run_wanted(const struct nb_gravity *g, enum nb_direct_kernel kernel, int *d_status)
{
	if (g->pot)
		return g->jerk ? run<P, true, true>(g, kernel, d_status) : run<P, true, false>(g, kernel, d_status);
	return g->jerk ? run<P, false, true>(g, kernel, d_status) : run<P, false, false>(g, kernel, d_status);
}

extern "C" int nb_gravity_direct_cuda_queue(const struct nb_gravity *g, enum nb_direct_kernel kernel, int *d_status)
{
	NB_TRY(nb_gravity_cuda_check(g));
	if (g->n == 0) {
		NB_CUDA_TRY(cudaMemsetAsync(d_status, 0, sizeof *d_status, 0));
		return NB_OK;
	}
	if (nb_pair_law_of(g) != NB_LAW_COMMON)
		return kernel == NB_DIRECT_AUTO ? nb_gravity_soft_cuda(g, nullptr, nullptr, d_status) : NB_EUNSUPPORTED;
	const std::lock_guard<std::mutex> lock(nb_survey_lock);
	switch (g->precision) {
	case NB_F32: return run_wanted<NB_F32>(g, kernel, d_status);
	case NB_MIXED: return run_wanted<NB_MIXED>(g, kernel, d_status);
	case NB_F64: return run_wanted<NB_F64>(g, kernel, d_status);
	}
	return NB_EINVAL;
}

extern "C" int nb_gravity_direct_cuda_with(
	const struct nb_gravity *g, enum nb_direct_kernel kernel, struct nb_gravity_count *count)
{
	nb_cuda_buffer<int> d_status;
	int status;
	NB_TRY(d_status.alloc(1));
	NB_TRY(nb_gravity_direct_cuda_queue(g, kernel, d_status.ptr));
	NB_CUDA_TRY(cudaMemcpy(&status, d_status.ptr, sizeof status, cudaMemcpyDeviceToHost));
	if (status == NB_OK && count && g->n)
		count->p2p += (uint64_t)g->n * (g->n - 1);
	return status;
}

extern "C" int nb_gravity_direct_cuda(const struct nb_gravity *g, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cuda_with(g, NB_DIRECT_AUTO, count);
}

extern "C" const char *nb_direct_kernel_name(enum nb_direct_kernel kernel)
{
	static const char *const name[] = {"auto", "tiled", "blocked", "symmetric"};
	return (size_t)kernel < sizeof name / sizeof name[0] ? name[kernel] : NULL;
}
