/* run_internal.cuh - the walk of a run of bodies: see search_cuda.cu. */
#ifndef NB_NEAR_RUN_INTERNAL_CUH
#define NB_NEAR_RUN_INTERNAL_CUH

#include "kernels/near/list_internal.cuh"

enum {
	THREADS = 128,
	WARPS = THREADS / 32,
	RUN = 32,    /* bodies */
	STACK = 512, /* nodes in shared memory */
	FULL = STACK - 8 * 32
};
static const uint32_t ALL = 0xffffffff;

/* What a warp has in shared memory: bodies that are to be met, and nodes. */
struct warp_room {
	float x[64], y[64], z[64]; /* from the centre */
	double at[3][64];
	uint32_t body[64];
	uint32_t stack[STACK];
};

static __device__ __forceinline__ double warp_least(double x)
{
	for (int offset = 16; offset > 0; offset /= 2)
		x = fmin(x, __shfl_xor_sync(ALL, x, offset));
	return x;
}

/* The sum of a number of each lane up to this one. */
static __device__ __forceinline__ uint32_t warp_sum_up_to(uint32_t x)
{
	const uint32_t lane = threadIdx.x % 32;
	for (uint32_t offset = 1; offset < 32; offset *= 2) {
		const uint32_t below = __shfl_up_sync(ALL, x, offset);
		x += lane >= offset ? below : 0;
	}
	return x;
}

template <class LIST> struct runner {
	const struct search &s;
	const struct nb_near_job &job;
	struct warp_room &room;
	uint32_t *deep;
	uint32_t lane, i, from, to; /* i: the body of the lane; from .. to - 1 are met first */
	bool active;
	double at[3], box[6], centre[3];
	float x, y, z, half[3], half_width; /* the last one is the largest of the box */
	float bound;			    /* not less than the squared distance of any k-th neighbour */
	float guess;			    /* nor is this less than that of the lane */
	int held;			    /* bodies in shared memory */
	LIST list;

	__device__ runner(const struct search &all, struct warp_room &own, size_t warp, uint32_t run)
	    : s(all), job(all.job), room(own), list(all, warp)
	{
		const uint32_t first = s.run[run], end = s.run[run + 1], k = (uint32_t)job.nearest.k;
		const uint32_t n = (uint32_t)job.bodies.n;
		deep = s.stack + warp * NB_NEAR_STACK;
		lane = threadIdx.x % 32;
		active = first + lane < end;
		i = active ? first + lane : first;
		from = first > k ? first - k : 0;
		to = n - end > k ? end + k : n;
		half_width = 0;
		bound = guess = INFINITY;
		held = 0;
		for (int c = 0; c < 3; c++) {
			at[c] = job.at[c][i];
			box[c] = warp_least(at[c]);
			box[c + 3] = -warp_least(-at[c]);
			centre[c] = 0.5 * (box[c] + box[c + 3]);
			half[c] = __double2float_ru(fmax(box[c + 3] - centre[c], centre[c] - box[c]));
			half_width = fmaxf(half_width, half[c]);
		}
		x = (float)(at[0] - centre[0]);
		y = (float)(at[1] - centre[1]);
		z = (float)(at[2] - centre[2]);
	}

	/* A coordinate from the centre to the nearest image. */
	__device__ __forceinline__ float relative(double there, int c) const
	{
		const double d = there - centre[c];
		return (float)(d > job.half ? d - job.box : d < -job.half ? d + job.box : d);
	}

	/* What a squared distance in f32 must not exceed for a body to be looked at in f64, if a squared distance r2 is
	 * what matters; reach: the largest coordinate of all in question.  From r and an error e of the distance, (r +
	 * e)^2 <= r^2 (1 + 2^-8) + e^2 (1 + 2^8), where e is less than 8 u reach + 2^-50 box, u = 2^-24. */
	__device__ __forceinline__ float limit(float r2, float reach) const
	{
		const float edge = (float)job.box;
		if (job.box > 0 && reach + half_width > 0.49f * edge) /* other images may be nearer */
			return INFINITY;
		return r2 * 1.0042f + reach * reach * 1.3e-10f + edge * edge * 1e-27f;
	}

	static __device__ __forceinline__ float largest(float a, float b, float c, float d)
	{
		return fmaxf(fmaxf(fabsf(a), fabsf(b)), fmaxf(fabsf(c), d));
	}

	__device__ __forceinline__ float distance2(int e) const
	{
		const float dx = room.x[e] - x, dy = room.y[e] - y, dz = room.z[e] - z;
		return __fmaf_rn(dx, dx, __fmaf_rn(dy, dy, dz * dz));
	}

	/* The largest coordinate of held bodies start .. start + count - 1. */
	__device__ __forceinline__ float reach(int start, int many) const
	{
		const int e = start + (int)lane;
		const float own = (int)lane < many ? largest(room.x[e], room.y[e], room.z[e], half_width) : 0;
		return nb_warp_max(own);
	}

	/* Meets so many of the held bodies. */
	__device__ void meet(int count)
	{
		const float r2 = fminf(__double2float_ru(list.last2()), guess);
		const float usual = limit(r2, reach(0, count)), most = active ? usual : -1;
		uint32_t near = 0;
#pragma unroll 4
		for (int e = 0; e < count; e++)
			near |= (uint32_t)(distance2(e) <= most) << e;
		for (; near; near &= near - 1) {
			const int e = __ffs((int)near) - 1;
			const uint32_t other = room.body[e];
			const double d2 = nb_near_distance2(&job, at, room.at[0][e], room.at[1][e], room.at[2][e]);
			if (d2 <= list.last2() && other != i)
				list.insert(job, d2, other);
		}
		__syncwarp();
		const float own = active ? __double2float_ru(list.last2()) : 0;
		bound = nb_warp_max(own);
	}

	/* Holds the bodies j of all lanes for which there is one, if they are near the box. */
	__device__ void hold(uint32_t j, bool there)
	{
		float d[3] = {0, 0, 0};
		double p[3] = {0, 0, 0};
		if (there) {
			float gap2 = 0;
			for (int c = 0; c < 3; c++) {
				p[c] = job.at[c][j];
				d[c] = relative(p[c], c);
				const float gap = fmaxf(fabsf(d[c]) - half[c], 0.0f);
				gap2 += gap * gap;
			}
			there = gap2 <= limit(bound, largest(d[0], d[1], d[2], half_width));
		}
		const uint32_t kept = __ballot_sync(ALL, there);
		const int e = held + __popc(kept & ((1u << lane) - 1));
		if (there)
			put(e, d, p, j);
		held += __popc(kept);
		__syncwarp();
	}

	__device__ __forceinline__ void put(int e, const float d[3], const double p[3], uint32_t j)
	{
		room.x[e] = d[0];
		room.y[e] = d[1];
		room.z[e] = d[2];
		for (int c = 0; c < 3; c++)
			room.at[c][e] = p[c];
		room.body[e] = j;
	}

	/* Meets 32 of the held bodies, or all, and what is left becomes the first. */
	__device__ void meet_first()
	{
		meet(min(held, 32));
		held = max(held - 32, 0);
		if (!held)
			return;
		const int e = 32 + (int)lane;
		const float d[3] = {room.x[e], room.y[e], room.z[e]};
		const double p[3] = {room.at[0][e], room.at[1][e], room.at[2][e]};
		const uint32_t j = room.body[e];
		__syncwarp();
		put((int)lane, d, p, j);
		__syncwarp();
	}

	/* From all held bodies, what the k-th nearest of them is not beyond. */
	__device__ float guess_from_held()
	{
		enum { K = LIST::GUESSED > 0 ? LIST::GUESSED : 1 };
		float least[K];
#pragma unroll
		for (int e = 0; e < K; e++)
			least[e] = e < K - job.nearest.k ? -1 : INFINITY;
#pragma unroll 1
		for (int e = 0; e < held; e++) {
			float d2 = room.body[e] == i ? INFINITY : distance2(e);
#pragma unroll
			for (int m = 0; m < K; m++) {
				const float smaller = fminf(least[m], d2);
				d2 = fmaxf(least[m], d2);
				least[m] = smaller;
			}
		}
		return limit(least[K - 1], fmaxf(reach(0, min(held, 32)), reach(32, held - 32)));
	}

	__device__ __forceinline__ uint32_t &stack(uint32_t k) const
	{
		return k < STACK ? room.stack[k] : deep[k - STACK];
	}

	/* Bodies of leaves that are still to be held: of the leaf of each lane, and those of lanes before it. */
	uint32_t first, count, end, begin, total;

	/* Takes nodes from the stack of that depth, puts their children on it, and notes the leaves. */
	__device__ void test(uint32_t &depth)
	{
		const uint32_t take = depth > FULL ? 1 : min(depth, 32u);
		uint32_t nchild = 0, child = 0;
		count = first = 0;
		if (lane < take) {
			const size_t node = stack(depth - 1 - lane);
			first = job.tree.first[node];
			const uint32_t all = job.tree.count[node];
			if (nb_near_gap2(&job, box, job.tree.box + 6 * node) <= (double)bound &&
				!(first >= from && first + all <= to)) {
				nchild = job.tree.nchild[node];
				child = job.tree.child[node];
				count = nchild ? 0 : nb_near_count(&job, node);
			}
		}
		__syncwarp();
		depth -= take;
		end = warp_sum_up_to(nchild);
#pragma unroll 1
		for (uint32_t c = 0; c < nchild; c++)
			stack(depth + end - nchild + c) = child + c;
		depth += __shfl_sync(ALL, end, 31);
		__syncwarp();
		end = warp_sum_up_to(count);
		total = __shfl_sync(ALL, end, 31);
		begin = 0;
	}

	/* The body of a leaf that this lane is to hold, of 32 more. */
	__device__ uint32_t next_of_leaves(bool &there)
	{
		const uint32_t want = begin + lane;
		uint32_t leaf = 0; /* lanes whose bodies come before this one */
#pragma unroll
		for (uint32_t some = 16; some > 0; some /= 2)
			leaf += __shfl_sync(ALL, end, (int)(leaf + some - 1)) <= want ? some : 0;
		const uint32_t start = __shfl_sync(ALL, end - count, (int)leaf),
			       of = __shfl_sync(ALL, first, (int)leaf);
		const uint32_t j = of + want - start;
		there = want < total && !(j >= from && j < to);
		begin += 32;
		return j;
	}

	/* One loop, so that what is called is in the code once: instructions that a warp fetches are what limits it. */
	__device__ void search_all()
	{
		uint32_t depth = 1, next = from;
		begin = total = 0;
		if (lane == 0)
			stack(0) = 0;
		__syncwarp();
#pragma unroll 1
		while (next < to || begin < total || depth > 0 || held > 0) {
			const bool around = next < to;
			if (!around && begin >= total && depth > 0) {
				test(depth);
				continue;
			}
			if (around || begin < total) {
				bool there = next + lane < to;
				uint32_t j = next + lane;
				if (around)
					next += 32;
				else
					j = next_of_leaves(there);
				hold(j, there);
			}
			if (LIST::GUESSED && next < to)
				continue;
			if (LIST::GUESSED && around)
				guess = guess_from_held();
			const int least = (around && next >= to) || (begin >= total && depth == 0) ? 1 : 32;
#pragma unroll 1
			while (held >= least)
				meet_first();
			guess = INFINITY;
		}
	}

	__device__ void store()
	{
		if (!active)
			return;
		list.sort(job);
		struct nb_near_sums sums = nb_near_begin(&job, i, list.farthest2());
		list.each([&](uint32_t j, double d2) { nb_near_add(&job, &sums, j, d2); });
		if (job.nearest.vdisp) {
			nb_near_spread(&job, &sums, i);
			list.each([&](uint32_t j, double) { nb_near_spread(&job, &sums, j); });
		}
		nb_near_end(&job, &sums);
	}
};

#endif
