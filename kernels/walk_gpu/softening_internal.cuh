/* softening_internal.cuh - what softenings change in a warp's walk, if pairs are not all softened alike
 * (walk_internal.cuh). */
#ifndef NB_WALK_GPU_SOFTENING_INTERNAL_CUH
#define NB_WALK_GPU_SOFTENING_INTERNAL_CUH

#include "kernels/walk_gpu/stack_internal.cuh"

/* Softenings of the targets, and whether cells may act where softenings differ. */
template <class K> struct walker_softening : walker_stack<K> {
	typedef walker_stack<K> base;
	typedef typename K::real real;
	using base::base;
	using base::w, base::mine, base::lane, base::first, base::num, base::target, base::warp_min, base::warp_max,
		base::extent_size, base::extent_mass, base::mass_of;

	/* Softenings of the targets. */
	__device__ __forceinline__ void begin_soft()
	{
		float eps[SLOTS], low = INFINITY, high = 0, sum = 0;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			eps[t] = (float)((w.soft.body_eps ? w.soft.body_eps[i] : w.eps) * w.plan->length);
			low = fminf(low, eps[t]);
			high = fmaxf(high, eps[t]);
			sum += t * 32 + lane < num ? eps[t] * eps[t] : 0;
		}
		int nkind = 0;
		for (float last = -1; K::LAW == NB_LAW_PLUMMER && nkind <= KINDS; nkind++) {
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
		if constexpr (K::LAW != NB_LAW_COMMON) {
			float low = INFINITY, high = 0, sum = 0;
			for (uint32_t t = lane; t < num; t += 32) {
				const float eps = (float)((w.soft.body_eps ? w.soft.body_eps[first + t] : w.eps) *
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
		if constexpr (K::LAW != NB_LAW_COMMON)
			judge_soft(node, extent, 0, d2, far, expand);
	}

	/* After the group's units are known. */
	__device__ __forceinline__ void set_soft()
	{
		const double floor = K::P == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			target[t].soft = (real)nb_soft_of<K::LAW == NB_LAW_SPLINE>(
				w.soft.body_eps ? w.soft.body_eps[i] : w.eps, mine.scale, floor);
		}
	}

	/* Whether a node may act on bodies (far) and through the local expansion (expand), for what softenings are.
	 *   near2  squared distance of its centre of mass from the group's box
	 *   d2     and from its centre */
	__device__ __forceinline__ void judge_soft(
		uint32_t node, uint32_t extent, float near2, float d2, bool &far, bool &expand) const
	{
		const float4 eps = __ldg(&w.soft.terms[node]);
		const float size = extent_size(extent), edge = fmaxf(sqrtf(d2) - mine.low.w, 0);
		if constexpr (K::LAW == NB_LAW_SPLINE) {
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
		       (w.soft.weight * (1.5f * off * inv + 1.875f * spread2) + 3 * sqrtf(size * size * inv * spread2));
	}
};

#endif
