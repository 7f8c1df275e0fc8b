/* walker_internal.cuh - the walk of a warp: which group is next, its walk of the tree, what comes out
 * (walk_internal.cuh). */
#ifndef NB_WALK_GPU_WALKER_INTERNAL_CUH
#define NB_WALK_GPU_WALKER_INTERNAL_CUH

#include "kernels/walk_gpu/queue_internal.cuh"

/* How many regions begin at body b or before it. */
static __device__ __forceinline__ uint32_t region_rank(const struct walk &w, uint32_t b)
{
	return __ldg(&w.region.at[b / 32]) - __ldg(&w.region.at[0]) +
	       (uint32_t)__popc(__ldg(&w.region.mark[b / 32]) & (0xffffffffu >> (31 - b % 32)));
}

/* Groups begin .. end - 1, the first region that they can be in, and how many there are. */
static __device__ __forceinline__ uint4 range_of(const struct walk &w, uint32_t begin, uint32_t end, bool regions)
{
	uint4 range = {begin, end, 0, 0};
	if (regions && w.region.bodies && begin < end) {
		const uint32_t rank = region_rank(w, w.start[begin]);
		range.z = rank ? rank - 1 : 0;
		range.w = region_rank(w, w.start[end] - 1) - range.z;
	}
	return range;
}

static __device__ __forceinline__ uint32_t load_acquire(const uint32_t *at)
{
	uint32_t v;
	asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
	return v;
}
static __device__ __forceinline__ void store_release(uint32_t *at, uint32_t v)
{
	asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(v) : "memory");
}
static __device__ __forceinline__ void nap()
{
	__nanosleep(100);
}

/* One warp at one group. */
template <class K> struct walker : walker_queue<K> {
	typedef walker_queue<K> base;
	typedef typename K::real real;
	using base::base;
	using base::w, base::mine, base::lane, base::first, base::num, base::list, base::unseen, base::in_region,
		base::region, base::target, base::nbody, base::ncell, base::nfar, base::expanded, base::broken,
		base::p2p, base::m2p, base::m2l, base::local, base::local_rate, base::pop, base::push,
		base::extent_size, base::extent_mass, base::set, base::set_box, base::set_place, base::set_units,
		base::distance2, base::begin_soft, base::set_soft, base::judge_soft, base::begin_motion,
		base::clear_local, base::take_far, base::join_local, base::take_local, base::load_region,
		base::take_bodies, base::take_cells;
	enum { PRECISION = K::P, REGIONS = K::REGIONS, TERMS = K::TERMS };

	__device__ __forceinline__ void begin(uint32_t group)
	{
		broken = false;
		unseen = 0;
		first = w.start[group];
		num = w.start[group + 1] - first;
		const double length = w.plan->length, *origin = w.pos + 3 * (size_t)first;
		double x[SLOTS][3], centre[3];
		float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, half[3];
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
#pragma unroll
			for (int k = 0; k < 3; k++) {
				x[t][k] = w.pos[3 * i + k];
				const float rel = (float)((x[t][k] - origin[k]) * length);
				lo[k] = fminf(lo[k], rel);
				hi[k] = fmaxf(hi[k], rel);
			}
		}
		set_box(origin, lo, hi, centre, half);
		float r2 = 0;
#pragma unroll
		for (int t = 0; t < SLOTS; t++)
			r2 = fmaxf(r2, distance2(x[t], centre, length));
		set_place(centre, half, r2);
		if constexpr (K::LAW != NB_LAW_COMMON)
			begin_soft();
		set_units();
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			set(target[t].at, x[t]);
#pragma unroll
			for (int k = 0; k < 3; k++)
				target[t].acc[k] = 0;
			target[t].pot[0] = 0;
			target[t].sums.clear();
		}
		if constexpr (K::LAW != NB_LAW_COMMON)
			set_soft();
		clear_local();
		if constexpr (K::JERK)
			begin_motion();
		nbody = ncell = 0;
		find_region();
	}

	/* Which tasks there are, if they are of one range. */
	__device__ __forceinline__ void open_range()
	{
		if (lane == 0) {
			mine.range = w.dealt.drawn.of ? make_uint4(0, 0, 0, 0)
						      : range_of(w, w.dealt.begin,
								w.dealt.end ? w.dealt.end : *w.ngroup, REGIONS);
			mine.region_begin = mine.range.z;
		}
		__syncwarp();
	}

	/* Regions come before groups, so that none waits for ever; and large groups before small ones, so that the last
	 * to end are small. */
	__device__ __forceinline__ struct task draw()
	{
		uint32_t t = 0;
		__syncwarp();
		if (lane == 0) {
			t = atomicAdd(w.dealt.drawn.of ? w.dealt.drawn.next : w.dealt.next, 1u);
			if (w.dealt.drawn.of)
				t = find_range(t);
		}
		t = __shfl_sync(0xffffffff, t, 0);
		__syncwarp();
		const uint4 range = mine.range;
		const uint32_t groups = range.y - range.x;
		if (range.x >= range.y)
			return {task::END, 0};
		if (t < range.w)
			return {task::REGION, range.z + t};
		t -= range.w;
		if (t >= 2 * groups)
			return {w.dealt.drawn.of ? task::NOTHING : task::END, 0};
		const bool small = t >= groups;
		const uint32_t group = range.x + (small ? t - groups : t);
		if ((w.start[group + 1] - w.start[group] <= 32) != small)
			return {task::NOTHING, 0};
		if (w.dealt.drawn.of && lane == 0)
			atomicAdd(&w.plan->counts[3], 1ull);
		return {task::GROUP, group};
	}

	/* Which range task t of this device is of, and which of its tasks; who draws its first task draws the range. */
	__device__ __forceinline__ uint32_t find_range(uint32_t t)
	{
		constexpr uint32_t TASKS = 2 * NB_DRAW_GROUPS + NB_DRAW_GROUPS / 2 + 2; /* a region has two groups */
		const uint32_t slot = t / TASKS;
		t %= TASKS;
		if (t == 0) {
			const uint32_t all = *w.ngroup, begin = NB_DRAW_GROUPS * atomicAdd_system(w.dealt.next, 1u),
				       end = all - begin < NB_DRAW_GROUPS ? all : begin + NB_DRAW_GROUPS;
			const uint4 range = begin < all ? range_of(w, begin, end, REGIONS) : make_uint4(0, 0, 0, 0);
			__stcg(&w.dealt.drawn.of[slot], range);
			store_release(&w.dealt.drawn.ready[slot], 1);
			mine.range = range;
			return t;
		}
		while (!load_acquire(&w.dealt.drawn.ready[slot]))
			nap();
		mine.range = __ldcg(&w.dealt.drawn.of[slot]);
		return t;
	}

	/* What the walk of its region has left to this group; waits for it. */
	__device__ __forceinline__ void find_region()
	{
		in_region = false;
		if (!REGIONS || w.region.bodies == 0)
			return;
		const uint32_t rank = region_rank(w, first);
		if (rank == 0)
			return;
		const uint4 span = __ldg(&w.region.span[rank - 1]);
		if (first >= span.z)
			return;
		region = rank - 1 - mine.region_begin;
		uint32_t listed = 0;
		if (lane == 0)
			while ((listed = load_acquire(&w.region.listed[region])) >= REGION_BUSY)
				nap();
		listed = __shfl_sync(0xffffffff, listed, 0);
		if (listed == REGION_NONE)
			return;
		in_region = true;
		if constexpr (K::COUNT) /* once, wherever it was walked */
			m2l += first == span.y ? __ldcg(&w.region.place[region].m2l) : 0;
		unseen = listed;
		list = w.region.list + (size_t)region * w.region.capacity;
	}

	/* The walk; a last turn without nodes empties the queues. */
	__device__ __forceinline__ void run()
	{
		const unsigned before = (1u << lane) - 1;
		unsigned depth = in_region ? 0 : 1; /* of the stack */
		if (lane == 0)
			mine.top[0] = 0;
		bool last = false;
		for (auto next = pop(depth);; next = pop(depth)) {
			const bool active = lane < next.n;
			const uint32_t node = next.node, link = __float_as_uint(next.b.w),
				       reach = __float_as_uint(next.a.w);
			const float4 high = mine.high, low = mine.low, half = mine.half;
			const float dx = next.a.x - high.x + (next.b.x - low.x),
				    dy = next.a.y - high.y + (next.b.y - low.y),
				    dz = next.a.z - high.z + (next.b.z - low.z);
			const float x = fmaxf(fabsf(dx) - half.x, 0), y = fmaxf(fabsf(dy) - half.y, 0),
				    z = fmaxf(fabsf(dz) - half.z, 0);
			const float r = nb_mac_reach(extent_size(next.extent), fabsf(next.a.w), half.w);
			const float edge = nb_mac_edge(r, low.w, mine.spread * extent_mass(next.extent));
			const bool is_leaf = link & LEAF;
			bool expand = active && w.local && dx * dx + dy * dy + dz * dz > edge * edge;
			bool far = x * x + y * y + z * z > r * r;
			if constexpr (K::LAW != NB_LAW_COMMON)
				judge_soft(node, next.extent, x * x + y * y + z * z, dx * dx + dy * dy + dz * dz, far,
					expand);
			/* so far that all mass there would be 2^-32 of the field: out of range of f32 */
			const bool beyond = K::P != NB_F64 && dx * dx + dy * dy + dz * dz > mine.beyond * mine.beyond;
			const bool leaf = active && !expand && is_leaf, point = leaf && reach >> 31;
			uint32_t bodies = leaf ? point ? 1 : reach & 0xffu : 0;
			if (bodies == MANY)
				bodies = __ldg(&w.tree.count[node]);
			const bool near = leaf && (!far || bodies <= K::order::TINY);
			const bool pole = active && !expand && far && !near;
			const bool open = active && !expand && !is_leaf && !far;
			const float4 at = make_float4(dx, dy, dz, __uint_as_float(node));
			if (__any_sync(0xffffffff, open))
				push(link & 0x0fffffffu, open ? (link >> 28) + 1 : 0, depth);

			/* cells for the local expansion */
			const unsigned expands = __ballot_sync(0xffffffff, expand && !beyond);
			if (expand && !beyond)
				mine.far_queue[nfar + __popc(expands & before)] = at;
			nfar += __popc(expands);
			if (nfar >= 32 || (last && nfar)) {
				const unsigned some = nfar < 32 ? nfar : 32;
				take_far(some);
			}

			/* cells for each target */
			const unsigned poles = __ballot_sync(0xffffffff, pole && !beyond);
			if (pole && !beyond)
				mine.cell_queue[ncell + __popc(poles & before)] = at;
			ncell += __popc(poles);
			if (ncell >= 32 || (last && ncell)) {
				const unsigned some = ncell < 32 ? ncell : 32;
				take_cells(some);
			}

			/* bodies of one leaf after the other, at most 32 at a time */
			const uint32_t body = point ? LEAF | node : link & ~(uint32_t)LEAF;
			for (unsigned leaves = __ballot_sync(0xffffffff, near); leaves || (last && nbody);
				leaves &= leaves - 1) {
				const int from = __ffs((int)leaves) - 1; /* any other lane has no bodies */
				uint32_t begin = __shfl_sync(0xffffffff, body, from) + lane;
				uint32_t left = __shfl_sync(0xffffffff, bodies, from);
				do {
					const uint32_t some = left < 32 ? left : 32;
					if (lane < left)
						mine.body_queue[nbody + lane] = begin;
					begin += 32;
					left -= some;
					nbody += some;
					if (nbody >= 32 || last) {
						const unsigned full = nbody < 32 ? nbody : 32;
						take_bodies(full);
					}
				} while (left);
			}
			if (last)
				break;
			last = depth == 0 && unseen == 0;
		}
	}

	__device__ __forceinline__ void end()
	{
		if constexpr (K::EXPANDS) {
			if (expanded) {
				join_local();
#pragma unroll
				for (int t = 0; t < SLOTS; t++) {
					real x[3] = {target[t].at.x, target[t].at.y, target[t].at.z};
#pragma unroll
					for (int k = 0; k < 3 && K::P == NB_F64; k++)
						x[k] -= mine.centre[k] * mine.scale;
					take_local(target[t], x, 1);
					if constexpr (K::JERK)
						local_rate.value(local, x, target[t].vel, target[t].jerk);
				}
			}
			if (REGIONS && in_region) {
				const struct region_place *place = w.region.place + region;
				const double scale = __ldcg(&place->scale);
				const real f = (real)(scale / mine.scale);
				load_region();
#pragma unroll
				for (int t = 0; t < SLOTS; t++) {
					const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
					real x[3];
#pragma unroll
					for (int k = 0; k < 3; k++)
						x[k] = (real)((w.pos[3 * i + k] - __ldcg(&place->centre[k])) * scale);
					take_local(target[t], x, f);
				}
			}
		}
		const double pot_out = broken ? (double)NAN : w.G / w.plan->mass * mine.scale,
			     acc_out = pot_out * mine.scale;
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			target[t].sums.end(target[t].acc, target[t].pot);
			if (t * 32 + lane < num) {
				const size_t i = first + t * 32 + lane;
#pragma unroll
				for (int k = 0; k < 3; k++)
					w.acc[3 * i + k] = (double)target[t].acc[k] * acc_out;
				if constexpr (K::POT)
					w.pot[i] = -(double)target[t].pot[0] * pot_out;
				if constexpr (K::JERK) {
					const double jerk_out = acc_out / mine.speed * mine.scale;
#pragma unroll
					for (int k = 0; k < 3; k++)
						w.jerk[3 * i + k] = (double)target[t].jerk[k] * jerk_out;
				}
			}
		}
	}
};

#endif
