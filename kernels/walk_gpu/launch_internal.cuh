/* launch_internal.cuh - the kernel that walks the tree, and its launch (walk_internal.cuh); a .cu file for each order
 * and softening includes this and instantiates nb_walk_launch, so that they compile side by side. */
#ifndef NB_WALK_GPU_LAUNCH_INTERNAL_CUH
#define NB_WALK_GPU_LAUNCH_INTERNAL_CUH

#include "kernels/walk_gpu/region_internal.cuh"

/* Where nothing runs (.ci/run), a quarter of the kernels of high orders is made, which take most of the time to
 * compile: with potentials each precision, and each of the two ways to treat softenings. */
#if defined(NB_CUDA_FEW) && defined(__CUDA_ARCH__)
template <class K> static constexpr bool is_made = K::ORDER == 2 || (K::POT && K::HARMONIC == (K::P != NB_MIXED));
#else
template <class K> static constexpr bool is_made = true;
#endif

/* Walks what w says, until nothing is left to draw. */
template <class K> static __global__ void __launch_bounds__(32 * K::WARPS, K::BLOCKS) walk_kernel(const struct walk w)
{
	if constexpr (is_made<K>) {
		extern __shared__ __align__(16) char memory[];
		const unsigned of_block = threadIdx.x / 32;
		struct shared<K> &mine = ((struct shared<K> *)memory)[of_block];
		struct walker<K> warp(w, mine, w.stack + (blockIdx.x * (size_t)K::WARPS + of_block) * STACK);
		warp.open_range();
		for (;;) {
			const struct task task = warp.draw();
			if (task.kind == task::END)
				break;
			if (task.kind == task::GROUP) {
				warp.begin(task.which);
				warp.run();
				warp.end();
			} else if constexpr (K::REGIONS) {
				if (task.kind == task::REGION)
					surveyor<walker<K>>(warp).survey(task.which);
			}
		}
		if constexpr (K::COUNT)
			if (warp.lane == 0) {
				atomicAdd(&w.plan->counts[0], warp.p2p);
				atomicAdd(&w.plan->counts[1], warp.m2p);
				atomicAdd(&w.plan->counts[2], warp.m2l);
			}
	}
}

/* As many blocks as the device holds. */
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

template <class K> static int launch(struct walk &w)
{
	constexpr int threads = 32 * K::WARPS;
	const size_t memory = K::WARPS * sizeof(struct shared<K>);
	const auto kernel = walk_kernel<K>;
	unsigned grid;
	NB_TRY(grid_of(kernel, threads, memory, &grid));
	grid = nb_lane_share(w, grid);
	NB_TRY(nb_slot_stack(w, (size_t)grid * K::WARPS * STACK));
	if (w.region.bodies)
		NB_TRY(nb_slot_regions(w, K::TERMS * sizeof(typename K::real)));
	kernel<<<grid, threads, memory, nb_lane_stream(w)>>>(w);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* Where softenings differ, and in high orders, interactions are counted always: it costs little, and halves the
 * kernels. */
template <int P, bool POT, bool JERK, int ORDER, bool SOFT> static int launch_outputs(struct walk &w, bool count)
{
	if constexpr (SOFT)
		return w.law == NB_LAW_SPLINE ? launch<kind<P, POT, JERK, true, NB_LAW_SPLINE, ORDER, (ORDER > 2)>>(w)
					      : launch<kind<P, POT, JERK, true, NB_LAW_PLUMMER, ORDER, false>>(w);
	else if constexpr (ORDER > 2)
		return w.eps > 0 ? launch<kind<P, POT, JERK, true, NB_LAW_COMMON, ORDER, false>>(w)
				 : launch<kind<P, POT, JERK, true, NB_LAW_COMMON, ORDER, true>>(w);
	else
		return count ? launch<kind<P, POT, JERK, true, NB_LAW_COMMON, ORDER, false>>(w)
			     : launch<kind<P, POT, JERK, false, NB_LAW_COMMON, ORDER, false>>(w);
}

template <int P, int ORDER, bool SOFT> static int launch_precision(struct walk &w, bool count)
{
	if constexpr (ORDER == 2)
		if (w.jerk)
			return w.pot ? launch_outputs<P, true, true, ORDER, SOFT>(w, count)
				     : launch_outputs<P, false, true, ORDER, SOFT>(w, count);
	return w.pot ? launch_outputs<P, true, false, ORDER, SOFT>(w, count)
		     : launch_outputs<P, false, false, ORDER, SOFT>(w, count);
}

template <int ORDER, bool SOFT> int nb_walk_launch(struct walk &w, enum nb_precision precision, bool count)
{
	switch (precision) {
	case NB_F32: return launch_precision<NB_F32, ORDER, SOFT>(w, count);
	case NB_MIXED: return launch_precision<NB_MIXED, ORDER, SOFT>(w, count);
	case NB_F64: return launch_precision<NB_F64, ORDER, SOFT>(w, count);
	}
	return NB_EINVAL;
}

#endif
