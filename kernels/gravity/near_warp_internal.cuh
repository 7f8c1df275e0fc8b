/* near_warp_internal.cuh - the kernel "warp" of near_cuda.cu. */
#ifndef NB_GRAVITY_NEAR_WARP_INTERNAL_CUH
#define NB_GRAVITY_NEAR_WARP_INTERNAL_CUH

#include "kernels/gravity/near_internal.cuh"

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
static __device__ __forceinline__ uint32_t list_boxes(source_list<P, POT, JERK> &list, const struct nb_packed &in,
	const struct near_field &f, size_t box, unsigned lane)
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
static __global__ void __launch_bounds__(NB_WARP, BLOCKS) warp_kernel(struct nb_packed in, struct near_field f,
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

#endif
