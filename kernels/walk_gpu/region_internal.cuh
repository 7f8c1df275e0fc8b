/* region_internal.cuh - walks of the tree for regions, before those of their groups.  By a walker
 * (walker_internal.cuh).
 *
 * A region is a node of more than one group and of REGION bodies at most, under a larger one.  Cells that are far from
 * all of it go into a local expansion of its own, and its groups need not look at them any more.  All other nodes are
 * listed, about as large as groups can use them: the walks of the region's groups begin with that list instead of the
 * root, and add the region's local expansion to their own.  (One level of the downward pass of a fast multipole
 * method.)
 *
 * Regions are dealt before groups, and a group waits for its own.  Where the list is too short, the region is given up,
 * and its groups walk from the root.  Nothing depends on who walks. */
#ifndef NB_WALK_GPU_REGION_INTERNAL_CUH
#define NB_WALK_GPU_REGION_INTERNAL_CUH

#include "kernels/walk_gpu/walker_internal.cuh"

template <class walker_type> struct surveyor {
	typedef typename walker_type::real real;
	walker_type &by;
	uint32_t *list;
	uint32_t listed;
	unsigned long long counted; /* cells of groups up to now */

	__device__ __forceinline__ explicit surveyor(walker_type &walker) : by(walker)
	{
	}

	__device__ __forceinline__ void survey(uint32_t region)
	{
		const struct walk &w = by.w;
		const uint32_t r = region - by.mine.region_begin;
		uint32_t before = 0;
		if (by.lane == 0) /* on the edge of a range it may be that of another, too */
			before = atomicCAS(&w.region.listed[r], (uint32_t)REGION_PENDING, (uint32_t)REGION_BUSY);
		if (__shfl_sync(0xffffffff, before, 0) != REGION_PENDING)
			return;
		list = w.region.list + (size_t)r * w.region.capacity;
		listed = 0;
		counted = by.m2l;
		begin(__ldg(&w.region.span[region]));
		run();
		end(r);
	}

	__device__ __forceinline__ void begin(const uint4 &span)
	{
		const struct walk &w = by.w;
		by.broken = false;
		by.unseen = 0;
		by.first = span.y;
		by.num = span.z - span.y;
		const double length = w.plan->length, *origin = w.pos + 3 * (size_t)by.first;
		double centre[3];
		float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, half[3],
		      r2 = 0;
		for (uint32_t t = by.lane; t < by.num; t += 32) {
#pragma unroll
			for (int k = 0; k < 3; k++) {
				const float rel = (float)((origin[3 * (size_t)t + k] - origin[k]) * length);
				lo[k] = fminf(lo[k], rel);
				hi[k] = fmaxf(hi[k], rel);
			}
		}
		by.set_box(origin, lo, hi, centre, half);
		for (uint32_t t = by.lane; t < by.num; t += 32)
			r2 = fmaxf(r2, by.distance2(origin + 3 * (size_t)t, centre, length));
		by.set_place(centre, half, r2);
		by.begin_soft_all();
		by.set_units();
		by.clear_local();
	}

	/* Puts nodes onto the list. */
	__device__ __forceinline__ void put(bool wanted, uint32_t node)
	{
		const unsigned some = __ballot_sync(0xffffffff, wanted), before = (1u << by.lane) - 1;
		const uint32_t at = listed + (uint32_t)__popc(some & before);
		if (wanted && at < by.w.region.capacity)
			list[at] = node;
		listed += (uint32_t)__popc(some);
	}

	__device__ __forceinline__ void run()
	{
		auto &mine = by.mine;
		const unsigned before = (1u << by.lane) - 1;
		unsigned depth = 1;
		if (by.lane == 0)
			mine.top[0] = 0;
		for (bool last = false; !last;) {
			const auto next = by.pop(depth);
			const bool active = by.lane < next.n;
			const float4 high = mine.high, low = mine.low, half = mine.half;
			const float dx = next.a.x - high.x + (next.b.x - low.x),
				    dy = next.a.y - high.y + (next.b.y - low.y),
				    dz = next.a.z - high.z + (next.b.z - low.z), d2 = dx * dx + dy * dy + dz * dz;
			const float r = nb_mac_reach(by.extent_size(next.extent), fabsf(next.a.w), half.w);
			const float edge = nb_mac_edge(r, low.w, mine.spread * by.extent_mass(next.extent));
			const uint32_t link = __float_as_uint(next.b.w);
			bool expand = active && d2 > edge * edge;
			by.judge_expand(next.node, next.extent, d2, expand);
			const bool beyond = walker_type::PRECISION != NB_F64 && d2 > mine.beyond * mine.beyond;
			const float reach = r + nb_mac_eager(low.w);
			const bool open = active && !expand && !(link & LEAF) && d2 < reach * reach;
			put(active && !expand && !open, next.node);
			if (__any_sync(0xffffffff, open))
				by.push(link & 0x0fffffffu, open ? (link >> 28) + 1 : 0, depth);
			last = depth == 0;

			const unsigned expands = __ballot_sync(0xffffffff, expand && !beyond);
			if (expand && !beyond)
				mine.far_queue[by.nfar + __popc(expands & before)] = make_float4(
					dx, dy, dz, __uint_as_float(next.node));
			by.nfar += __popc(expands);
			while (by.nfar >= 32 || (last && by.nfar)) {
				const unsigned some = by.nfar < 32 ? by.nfar : 32;
				by.take_far(some);
			}
		}
	}

	__device__ __forceinline__ void end(uint32_t r)
	{
		constexpr int TERMS = walker_type::TERMS;
		const struct walk &w = by.w;
		real *terms = (real *)w.region.terms + (size_t)r * TERMS;
		by.join_local();
		by.template store_local<TERMS>(terms);
		if (by.lane == 0) {
			struct region_place *place = w.region.place + r;
#pragma unroll
			for (int k = 0; k < 3; k++)
				place->centre[k] = by.mine.centre[k];
			place->scale = by.mine.scale;
			place->m2l = (uint32_t)(by.m2l - counted);
		}
		by.m2l = counted;
		__threadfence();
		__syncwarp();
		if (by.lane == 0)
			store_release(&w.region.listed[r],
				by.broken || listed > w.region.capacity ? (uint32_t)REGION_NONE : listed);
	}
};

#endif
