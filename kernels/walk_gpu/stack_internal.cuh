/* stack_internal.cuh - the stack of nodes of a warp that walks (walk_internal.cuh): nodes are read from it 32 at a
 * time. */
#ifndef NB_WALK_GPU_STACK_INTERNAL_CUH
#define NB_WALK_GPU_STACK_INTERNAL_CUH

#include "kernels/walk_gpu/workspace_internal.cuh"

/* The stack of nodes, in shared memory first, and what a packed node says. */
template <class K> struct walker_stack : walker_state<K> {
	typedef walker_state<K> base;
	using base::base;
	using base::w, base::mine, base::stack, base::lane, base::list, base::unseen, base::broken;

	/* Up to 32 nodes from the top of the stack, one a lane. */
	struct batch {
		unsigned n;
		uint32_t node;
		float4 a, b; /* its place */
		uint32_t extent;
	};
	__device__ __forceinline__ batch pop(unsigned &depth)
	{
		batch next;
		next.n = depth > FULL ? 1 : depth < 32 ? depth : 32;
		depth -= next.n;
		next.node = 0;
		__syncwarp();
		if (lane < next.n)
			next.node = depth + lane < (uint32_t)K::TOP ? mine.top[depth + lane] : stack[depth + lane];
		if (depth == 0 && unseen) { /* then no more than 32 were there */
			const uint32_t more = unseen < 32 - next.n ? unseen : 32 - next.n;
			if (lane >= next.n && lane < next.n + more)
				next.node = __ldcg(list + (lane - next.n));
			next.n += more;
			list += more;
			unseen -= more;
		}
		next.a = __ldg(&w.place[2 * (size_t)next.node]);
		next.b = __ldg(&w.place[2 * (size_t)next.node + 1]);
		next.extent = __ldg(&w.extent[next.node]);
		return next;
	}

	/* Every lane's children, in the order of the lanes. */
	__device__ __forceinline__ void push(uint32_t child, uint32_t children, unsigned &depth)
	{
		const uint32_t before = (1u << lane) - 1;
		uint32_t to = depth, all = 0;
#pragma unroll
		for (int bit = 0; bit < 4; bit++) { /* and all have read what they popped */
			const uint32_t have = __ballot_sync(0xffffffff, children >> bit & 1);
			to += (uint32_t)__popc(have & before) << bit;
			all += (uint32_t)__popc(have) << bit;
		}
		__syncwarp();
		if (depth + all > STACK) {
			broken = true;
			return;
		}
		depth += all;
		if (depth <= (uint32_t)K::TOP) {
#pragma unroll
			for (uint32_t k = 0; k < 8; k++)
				if (k < children)
					mine.top[to + k] = child + k;
		} else {
			for (uint32_t k = 0; k < children; k++)
				if (to + k < (uint32_t)K::TOP)
					mine.top[to + k] = child + k;
				else
					stack[to + k] = child + k;
		}
	}

	static __device__ __forceinline__ float extent_size(uint32_t extent)
	{
		return __uint_as_float(extent & 0xffff0000u);
	}
	static __device__ __forceinline__ float extent_mass(uint32_t extent)
	{
		return __uint_as_float(extent << 16);
	}
	/* Mass from its root. */
	__device__ __forceinline__ float mass_of(float root) const
	{
		constexpr int power = K::order::LOCAL + 2;
		const float root2 = root * root, root6 = root2 * root2 * root2;
		return w.alpha > 0  ? root2 * root2
		       : power == 6 ? root6
		       : power == 7 ? root6 * root
		       : power == 8 ? root6 * root2
				    : root6 * (root2 * root);
	}
};

#endif
