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
 *            are complete.  Distance T/2 of an even ring belongs to the lower half of the tiles;
 *            a tile with itself (d = 0) is done one way.  So every warp has the same work, and a body
 *            gets exactly one counter-force from every distance.
 *
 * Reproducible: every partial sum has its own place ("slot") in memory, and one kernel adds the slots of
 * a body in f64 in a fixed order.  Where the slots of all distances do not fit the scratch memory, the
 * distances are taken in several panels.
 *
 * Precisions and records: cuda_internal.cuh.  Launch: blocks of 128 threads, for symmetric of one warp.
 *
 * The kernels are in direct_internal.cuh; here is the host's part: how many splits, panels and targets a lane, by n and
 * by the blocks that the device holds at once. */
#include <algorithm>
#include <string.h>

#include "kernels/gravity/direct_internal.cuh"

#include "kernels/gravity/kernels_cuda.h"

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

/* What sums over slots have in common. */
struct sums {
	const struct nb_gravity *g;
	size_t npad;
	const uint32_t *perm;
	bool weighted;

	struct outputs outputs() const
	{
		return {g->acc, g->pot, g->jerk};
	}

	/* Sums of `bodies` bodies from the first-th on, which are whole blocks, in the order of the records. */
	template <class real, bool POT, bool JERK>
	int add(cudaStream_t stream, size_t first_body, size_t bodies, const real *slots, unsigned nslot,
		size_t lacks_below, bool first, bool last, double *part) const
	{
		const size_t block = NB_WARP * slot_vector<real>::SIZE;
		return nb_cuda_launch_on(stream, sum_kernel<real, POT, JERK>,
			dim3((unsigned)(bodies / block), nb_sum<real, POT, JERK>::COMPONENTS),
			dim3(NB_WARP, SUM_GROUPS), 0, g->n, npad, (unsigned)(first_body / block), slots, nslot,
			lacks_below, first, last, weighted, g->mass, perm, outputs(), part);
	}

	template <bool POT, bool JERK> int join(const double *part, unsigned count, bool first, bool last) const
	{
		return nb_cuda_launch(join_kernel<POT, JERK>,
			dim3(nb_cuda_blocks(g->n, THREADS), finished<POT, JERK>::COMPONENTS), THREADS, g->n, npad, part,
			count, first, last, weighted, g->mass, perm, outputs());
	}
};

/* Into how many parts a sum is divided that several devices may share.  By n alone, so that one device gives the same
 * bytes as several: parts of a millisecond or more on an H200, since each part ends with an idle moment. */
static unsigned part_count(size_t n)
{
	return n < 98304 ? 1 : n < 200000 ? 4 : n < 400000 ? 8 : 16;
}

/* Whether to sort the bodies first, for f32's sake: where it costs a few per cent at most. */
template <int P> static bool in_order(const struct nb_gravity *g)
{
	return P == NB_F32 && g->n >= 100000;
}

/* The team shares the targets: each part is some tiles of them. */
template <int P, int R, bool POT, bool JERK>
static int share_tiled(const struct sums &sums, const struct nb_prepared &prepared,
	const struct nb_cuda_softening &softening, unsigned splits)
{
	typedef typename nb_arith<P>::real real;
	enum { COMPONENTS = nb_sum<real, POT, JERK>::COMPONENTS };
	const size_t tile = THREADS * R, npad = sums.npad, tiles = npad / tile, parts = part_count(sums.g->n);
	struct nb_cuda_scale *scale;
	nb_cuda_buffer<double> all;
	NB_TRY(all.alloc(COMPONENTS * npad));
	NB_TRY(nb_survey_scale_of(&scale));
	NB_TRY(nb_team_run(parts, [&](struct nb_team_worker &worker) {
		nb_cuda_buffer<real> slots;
		nb_cuda_buffer<double> own;
		struct nb_team_copies copies(worker);
		struct nb_packed in;
		worker.streams = 1;
		NB_TRY(slots.alloc(splits * COMPONENTS * npad));
		NB_TRY(own.alloc(worker.is_primary() ? 0 : COMPONENTS * npad));
		NB_TRY(prepared.replicate(copies, &in));
		NB_TRY(nb_survey_replicate(copies, scale));
		NB_TRY(copies.fetch());
		double *const here = worker.is_primary() ? all.ptr : own.ptr;
		for (size_t part; worker.next(&part);) {
			const size_t begin = tiles * part / parts, end = tiles * (part + 1) / parts;
			const size_t first = begin * tile, bodies = (end - begin) * tile;
			NB_TRY(nb_cuda_launch_on(worker.stream(), tiled_kernel<P, R, POT, JERK>,
				dim3((unsigned)(end - begin), splits), THREADS, 0, in, npad, (unsigned)begin,
				(real)softening.eps2, (real)softening.guard, slots.ptr));
			NB_TRY((sums.add<real, POT, JERK>(
				worker.stream(), first, bodies, slots.ptr, splits, 0, true, false, here)));
			for (int c = 0; c < COMPONENTS; c++)
				NB_TRY(worker.copy_back(
					all.ptr + c * npad + first, here + c * npad + first, bodies * sizeof *here));
		}
		return worker.finish();
	}));
	return sums.join<POT, JERK>(all.ptr, 1, true, true);
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
	const struct sums sums = {g, npad, prepared.perm.ptr, false};
	if (nb_team_size() > 1 && part_count(g->n) > 1)
		return share_tiled<P, R, POT, JERK>(sums, prepared, softening, splits);
	nb_cuda_buffer<real> slots;
	NB_TRY(slots.alloc((size_t)splits * nb_sum<real, POT, JERK>::COMPONENTS * npad));
	NB_TRY(nb_cuda_launch(tiled_kernel<P, R, POT, JERK>, dim3(tiles, splits), THREADS, prepared.packed, npad, 0u,
		(real)softening.eps2, (real)softening.guard, slots.ptr));
	return sums.add<real, POT, JERK>(0, 0, npad, slots.ptr, splits, 0, true, true, nullptr);
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
 * early (nb_cuda_launch) else fill those multiprocessors that the kernel before leaves free. */
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

/* A sum by the symmetric kernel: its ring of tiles, and the distances in it divided into parts, which are divided into
 * panels. */
template <int P, int K, bool POT, bool JERK, int WARPS> struct symmetric_sum {
	typedef typename nb_arith<P>::real real;
	enum { TILE = NB_WARP * K, COMPONENTS = nb_sum<real, POT, JERK>::COMPONENTS };
	static_assert(K % slot_vector<real>::SIZE == 0, "tiles are whole blocks of sum_kernel");

	struct sums sums;
	struct nb_cuda_softening softening;
	unsigned tiles, distances, parts;
	unsigned width, segments; /* of a panel, at most */
	size_t spreading;

	/* As few panels in a part as the memory allows. */
	int plan(nb_cuda_buffer<real> &slots)
	{
		static std::atomic<int> cache;
		int resident, sms;
		size_t limit;
		NB_TRY(resident_blocks(symmetric_kernel<P, K, POT, JERK, WARPS>, NB_WARP, &cache, &resident));
		NB_TRY(scratch_limit(&limit));
		NB_TRY(nb_cuda_multiprocessors(&sms));
		const double schedulers = 4.0 * sms;
		width = (distances + parts - 1) / parts;
		for (;;) {
			segments = choose_segments(tiles, width * K, schedulers, resident / schedulers, K);
			if (slot_count() * sizeof(real) <= limit || width == 1) {
				const int status = slots.alloc(slot_count());
				if (status == NB_OK)
					break;
				if (status != NB_ENOMEM || width == 1)
					return status;
			}
			width = (width + 1) / 2;
		}
		return spreading_memory(symmetric_kernel<P, K, POT, JERK, WARPS>, sizeof(nb_ring<P, JERK>),
			tiles * segments, resident, (size_t)sms, &spreading);
	}

	size_t slot_count() const
	{
		return (size_t)(segments + width) * COMPONENTS * sums.npad;
	}

	/* Part number k into planes of npad; into the outputs where there is but one. */
	int compute(cudaStream_t stream, unsigned k, const struct nb_packed &in, real *slots, double *part) const
	{
		const unsigned first = (unsigned)((uint64_t)distances * k / parts),
			       stop = (unsigned)((uint64_t)distances * (k + 1) / parts);
		struct panel panel = {tiles, first, first, segments};
		while (panel.end < stop) {
			panel.begin = panel.end;
			panel.end = std::min(panel.begin + width, stop);
			NB_TRY(nb_cuda_launch_on(stream, symmetric_kernel<P, K, POT, JERK, WARPS>, tiles * segments,
				NB_WARP, spreading, in, sums.npad, panel, (real)softening.eps2, (real)softening.guard,
				slots));
			const bool even = tiles % 2 == 0 && panel.end == distances && tiles > 1;
			NB_TRY((sums.template add<real, POT, JERK>(stream, 0, sums.npad, slots,
				segments + panel.counters(), even ? tiles / 2 * TILE : 0, panel.begin == first,
				!part && panel.end == distances, part)));
		}
		return NB_OK;
	}

	/* One device, part after part. */
	int alone(const struct nb_packed &in, real *slots) const
	{
		nb_cuda_buffer<double> part;
		if (parts == 1)
			return compute(0, 0, in, slots, nullptr);
		NB_TRY(part.alloc(COMPONENTS * sums.npad));
		for (unsigned k = 0; k < parts; k++) {
			NB_TRY(compute(0, k, in, slots, part.ptr));
			NB_TRY((sums.template join<POT, JERK>(part.ptr, 1, k == 0, k + 1 == parts)));
		}
		return NB_OK;
	}

	/* A member of the team: its parts, which it copies back to parts_at. */
	int member(struct nb_team_worker &worker, const struct nb_prepared &prepared, const struct nb_cuda_scale *scale,
		real *primary_slots, double *parts_at) const
	{
		const size_t size = COMPONENTS * sums.npad;
		nb_cuda_buffer<real> slots;
		nb_cuda_buffer<double> part[NB_TEAM_UNDER_WAY];
		struct nb_team_copies copies(worker);
		struct nb_packed in;
		worker.streams = 1; /* the slots serve one part at a time */
		if (!worker.is_primary()) {
			NB_TRY(slots.alloc(slot_count()));
			for (nb_cuda_buffer<double> &p : part)
				NB_TRY(p.alloc(size));
		}
		NB_TRY(prepared.replicate(copies, &in));
		NB_TRY(nb_survey_replicate(copies, scale));
		NB_TRY(copies.fetch());
		for (size_t k; worker.next(&k);) {
			double *const to = parts_at + k * size;
			double *const here = worker.is_primary() ? to : part[worker.parts % NB_TEAM_UNDER_WAY].ptr;
			NB_TRY(compute(worker.stream(), (unsigned)k, in,
				worker.is_primary() ? primary_slots : slots.ptr, here));
			NB_TRY(worker.copy_back(to, here, size * sizeof *to));
		}
		return worker.finish();
	}

	int together(const struct nb_prepared &prepared, real *slots) const
	{
		nb_cuda_buffer<double> parts_at;
		struct nb_cuda_scale *scale;
		NB_TRY(parts_at.alloc(parts * COMPONENTS * sums.npad));
		NB_TRY(nb_survey_scale_of(&scale));
		NB_TRY(nb_team_run(parts, [&](struct nb_team_worker &worker) {
			return member(worker, prepared, scale, slots, parts_at.ptr);
		}));
		return sums.template join<POT, JERK>(parts_at.ptr, parts, true, true);
	}
};

template <int P, int K, bool POT, bool JERK, int WARPS>
static int run_symmetric(const struct nb_gravity *g, int *d_status)
{
	typedef struct symmetric_sum<P, K, POT, JERK, WARPS> symmetric;
	const size_t tile = symmetric::TILE, npad = (g->n + tile - 1) / tile * tile;
	symmetric s;
	s.softening = nb_cuda_softening_of(g->eps, P);
	s.tiles = (unsigned)(npad / tile), s.distances = s.tiles / 2 + 1, s.parts = part_count(g->n);
	struct nb_prepared prepared;
	NB_TRY((prepared.template survey<P, JERK>(g, s.softening, npad == g->n, d_status)));
	NB_TRY((prepared.template pack<P, JERK>(g, npad, (unsigned)tile, in_order<P>(g))));
	s.sums = {g, npad, prepared.perm.ptr, !POT && !JERK};
	nb_cuda_buffer<typename symmetric::real> slots;
	NB_TRY(s.plan(slots));
	return nb_team_size() > 1 && s.parts > 1 ? s.together(prepared, slots.ptr)
						 : s.alone(prepared.packed, slots.ptr);
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
