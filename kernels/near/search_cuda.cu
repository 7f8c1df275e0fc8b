/* search_cuda.cu - the nearest neighbours on the device: a warp for a run of up to 32 bodies, a body for each lane.
 *
 * A run is made of siblings of the tree, in Z-order, or of bodies that are in one place.  It first meets the bodies
 * around it in Z-order, of which there are more than k, so that each lane knows how far its k-th neighbour is at most.
 * Then the warp walks the tree from the root: 32 nodes are tested at once against the box of the run, a node a lane,
 * and the bodies of the leaves that are near enough are met 32 at a time.  They come to shared memory as f32 relative
 * to the centre of the run; a lane finds by 6 operations which of them may be near enough, with a margin for rounding,
 * and looks at these in f64, as near_internal.h says.  So f32 leaves nothing out and decides nothing.
 *
 * Up to 16 neighbours are a sorted list in registers; more are a heap in memory, a column of it for each lane.
 * Products are not contracted in this room (Makefile): all numbers are those of the CPU, bit by bit.
 * A stack holds what is to be tested; the nodes below FULL leave it 32 at once, others one by one, so that it grows by
 * seven a level and cannot overflow.
 *
 * Lists in registers as in jztree (Stuecker et al. 2025, knn.cuh); walks of a warp as in kernels/walk_gpu. */
#include "kernels/device/device.cuh"
#include "kernels/near/near_internal.h"
#include "kernels/order/order.cuh"

#include <algorithm>
#include <vector>

enum {
	THREADS = 128,
	WARPS = THREADS / 32,
	RUN = 32,    /* bodies */
	STACK = 512, /* nodes in shared memory */
	FULL = STACK - 8 * 32
};
static const uint32_t ALL = 0xffffffff;

struct search {
	struct nb_near_job job;
	const uint32_t *run; /* first body of each run, and n */
	uint32_t nrun;
	uint32_t *next;	 /* run to be taken */
	uint32_t *stack; /* of each warp NB_NEAR_STACK nodes beyond STACK */
	double *d2;	 /* of each warp 32 k; neighbours that are not in registers */
	uint32_t *body;
};

/* ---- lists of neighbours ------------------------------------------------------------------------ */

template <int K> struct register_list {
	enum { BLOCKS = K <= 8 ? 8 : 4 /* of a multiprocessor */ };
	double d2[K];
	uint32_t body[K];

	__device__ register_list(const struct search &s, size_t)
	{
#pragma unroll
		for (int e = 0; e < K; e++) {
			d2[e] = e < K - s.job.nearest.k ? -1 : INFINITY; /* those before all others are not wanted */
			body[e] = 0;
		}
	}

	__device__ double last2() const
	{
		return d2[K - 1];
	}

	__device__ void insert(const struct nb_near_job &job, double new2, uint32_t j)
	{
		int at = 0;
#pragma unroll
		for (int e = 0; e < K; e++)
			at += d2[e] < new2 || (d2[e] == new2 && nb_near_before(&job, body[e], j));
#pragma unroll
		for (int e = K - 1; e >= 0; e--) {
			if (e > 0 && e > at) {
				d2[e] = d2[e - 1];
				body[e] = body[e - 1];
			} else if (e == at) {
				d2[e] = new2;
				body[e] = j;
			}
		}
	}

	__device__ void sort(const struct nb_near_job &)
	{
	}

	template <class Visit> __device__ void each(const Visit &visit) const
	{
#pragma unroll
		for (int e = 0; e < K; e++)
			if (d2[e] >= 0)
				visit(body[e], d2[e]);
	}
};

/* A heap, the farthest on top. */
struct memory_list {
	enum { BLOCKS = 6 };
	double *d2;
	uint32_t *body;
	int have, k;

	__device__ memory_list(const struct search &s, size_t warp) : have(0), k(s.job.nearest.k)
	{
		d2 = s.d2 + 32 * (size_t)k * warp + threadIdx.x % 32;
		body = s.body + 32 * (size_t)k * warp + threadIdx.x % 32;
	}

	__device__ double last2() const
	{
		return have < k ? INFINITY : d2[0];
	}

	__device__ bool farther(const struct nb_near_job &job, double a2, uint32_t a, double b2, uint32_t b) const
	{
		return a2 > b2 || (a2 == b2 && nb_near_before(&job, b, a));
	}

	/* In a heap of n, from the top. */
	__device__ void sift(const struct nb_near_job &job, int n, double new2, uint32_t j)
	{
		int at = 0;
		for (int below = 1; below < n; below = 2 * at + 1) {
			if (below + 1 < n && farther(job, d2[32 * below + 32], body[32 * below + 32], d2[32 * below],
						     body[32 * below]))
				below++;
			if (!farther(job, d2[32 * below], body[32 * below], new2, j))
				break;
			d2[32 * at] = d2[32 * below];
			body[32 * at] = body[32 * below];
			at = below;
		}
		d2[32 * at] = new2;
		body[32 * at] = j;
	}

	__device__ void insert(const struct nb_near_job &job, double new2, uint32_t j)
	{
		if (have == k) {
			if (farther(job, d2[0], body[0], new2, j))
				sift(job, k, new2, j);
			return;
		}
		int at = have++;
		for (int above; at > 0 && farther(job, new2, j, d2[32 * (above = (at - 1) / 2)], body[32 * above]);
			at = above) {
			d2[32 * at] = d2[32 * above];
			body[32 * at] = body[32 * above];
		}
		d2[32 * at] = new2;
		body[32 * at] = j;
	}

	__device__ void sort(const struct nb_near_job &job)
	{
		for (int end = have - 1; end > 0; end--) {
			const double end2 = d2[32 * end];
			const uint32_t j = body[32 * end];
			d2[32 * end] = d2[0];
			body[32 * end] = body[0];
			sift(job, end, end2, j);
		}
	}

	template <class Visit> __device__ void each(const Visit &visit) const
	{
		for (int e = 0; e < have; e++)
			visit(body[32 * e], d2[32 * e]);
	}
};

/* ---- a run meets bodies ------------------------------------------------------------------------- */

/* What a warp has in shared memory. */
struct warp_room {
	float x[32], y[32], z[32];
	uint32_t body[32];
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
	float x, y, z, half_width;
	float bound; /* not less than the squared distance of any k-th neighbour */
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
		bound = INFINITY;
		for (int c = 0; c < 3; c++) {
			at[c] = job.at[c][i];
			box[c] = warp_least(at[c]);
			box[c + 3] = -warp_least(-at[c]);
			centre[c] = 0.5 * (box[c] + box[c + 3]);
			half_width = fmaxf(half_width, __double2float_ru(box[c + 3] - centre[c]));
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

	/* What f32 must not exceed for a body to be looked at in f64; reach: the largest coordinate of all in question.
	 * From r and an error e of the distance, (r + e)^2 <= r^2 (1 + 2^-8) + e^2 (1 + 2^8), where e is less than
	 * 8 u reach + 2^-50 box, u = 2^-24. */
	__device__ __forceinline__ float limit(float reach) const
	{
		const float box_edge = (float)job.box;
		if (!active)
			return -1;
		if (job.box > 0 && reach + half_width > 0.49f * box_edge) /* other images may be nearer */
			return INFINITY;
		return __double2float_ru(list.last2()) * 1.0042f + reach * reach * 1.3e-10f +
		       box_edge * box_edge * 1e-27f;
	}

	/* The bodies j of all lanes for which there is one; those that are left out are not met. */
	__device__ void meet(uint32_t j, bool there, bool left_out)
	{
		float d[3] = {0, 0, 0};
		if (there)
			for (int c = 0; c < 3; c++)
				d[c] = relative(job.at[c][j], c);
		const float far = fmaxf(fmaxf(fabsf(d[0]), fabsf(d[1])), fmaxf(fabsf(d[2]), half_width));
		const float most = limit(__uint_as_float(__reduce_max_sync(ALL, __float_as_uint(far))));
		const int count = __popc(__ballot_sync(ALL, there));
		const uint32_t met = __ballot_sync(ALL, there && !left_out);
		room.x[lane] = d[0];
		room.y[lane] = d[1];
		room.z[lane] = d[2];
		room.body[lane] = j;
		__syncwarp();
		uint32_t near = 0;
#pragma unroll 8
		for (int e = 0; e < count; e++) {
			const float dx = room.x[e] - x, dy = room.y[e] - y, dz = room.z[e] - z;
			near |= (uint32_t)(__fmaf_rn(dx, dx, __fmaf_rn(dy, dy, dz * dz)) <= most) << e;
		}
		for (near &= met; near; near &= near - 1) {
			const uint32_t other = room.body[__ffs((int)near) - 1];
			const double d2 = nb_near_distance2(
				&job, at, job.at[0][other], job.at[1][other], job.at[2][other]);
			if (d2 <= list.last2() && other != i)
				list.insert(job, d2, other);
		}
		__syncwarp();
		const float own = active ? __double2float_ru(list.last2()) : 0;
		bound = __uint_as_float(__reduce_max_sync(ALL, __float_as_uint(own)));
	}

	__device__ __forceinline__ uint32_t &stack(uint32_t k) const
	{
		return k < STACK ? room.stack[k] : deep[k - STACK];
	}

	/* Takes nodes from the stack of that depth, puts their children on it, meets the bodies of leaves. */
	__device__ void step(uint32_t &depth)
	{
		const uint32_t take = depth > FULL ? 1 : min(depth, 32u);
		uint32_t nchild = 0, count = 0, first = 0, child = 0;
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
		uint32_t end = warp_sum_up_to(nchild);
		for (uint32_t c = 0; c < nchild; c++)
			stack(depth + end - nchild + c) = child + c;
		depth += __shfl_sync(ALL, end, 31);
		__syncwarp();
		end = warp_sum_up_to(count);
		const uint32_t total = __shfl_sync(ALL, end, 31);
		for (uint32_t begin = 0; begin < total; begin += 32) {
			const uint32_t want = begin + lane;
			uint32_t leaf = 0; /* lanes whose bodies come before this one */
			for (uint32_t some = 16; some > 0; some /= 2)
				leaf += __shfl_sync(ALL, end, (int)(leaf + some - 1)) <= want ? some : 0;
			const bool there = want < total;
			const uint32_t of = min(leaf, 31u), start = __shfl_sync(ALL, end - count, (int)of);
			const uint32_t j = __shfl_sync(ALL, first, (int)of) + (there ? want - start : 0);
			meet(j, there, j >= from && j < to);
		}
	}

	__device__ void search_all()
	{
		for (uint32_t begin = from; begin < to; begin += 32)
			meet(begin + lane < to ? begin + lane : begin, begin + lane < to, false);
		uint32_t depth = 1;
		if (lane == 0)
			stack(0) = 0;
		__syncwarp();
		while (depth > 0)
			step(depth);
	}

	__device__ void store()
	{
		if (!active)
			return;
		list.sort(job);
		double last2 = 0;
		list.each([&](uint32_t, double d2) { last2 = d2; });
		struct nb_near_sums sums = nb_near_begin(&job, i, last2);
		list.each([&](uint32_t j, double d2) { nb_near_add(&job, &sums, j, d2); });
		if (job.nearest.vdisp) {
			nb_near_spread(&job, &sums, i);
			list.each([&](uint32_t j, double) { nb_near_spread(&job, &sums, j); });
		}
		nb_near_end(&job, &sums);
	}
};

template <class LIST>
static __global__ void __launch_bounds__(THREADS, LIST::BLOCKS) search_kernel(const __grid_constant__ struct search s)
{
	__shared__ struct warp_room room[WARPS];
	const size_t own = threadIdx.x / 32, warp = blockIdx.x * (size_t)WARPS + own;
	for (;;) {
		uint32_t run = 0;
		if (threadIdx.x % 32 == 0)
			run = atomicAdd(s.next, 1u);
		run = __shfl_sync(ALL, run, 0);
		if (run >= s.nrun)
			return;
		runner<LIST> r(s, room[own], warp, run);
		r.search_all();
		r.store();
	}
}

/* ---- what comes before -------------------------------------------------------------------------- */

static __global__ void bring_in_kernel(
	size_t n, int dim, double box, double unit_0, double unit_1, const double *from, double *to)
{
	const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (t >= 3 * n)
		return;
	const double x = from[t];
	to[t] = (int)(t % 3) < dim ? (box > 0 ? nb_periodic_wrap(x, box) : x) * unit_0 * unit_1 : 0;
}

static __global__ void split_kernel(size_t n, const double *pos, double *x, double *y, double *z)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	x[i] = pos[3 * i];
	y[i] = pos[3 * i + 1];
	z[i] = pos[3 * i + 2];
}

/* Marks the first body of each run: of the children of a node of more than RUN bodies, as many as are not more. */
static __global__ void mark_kernel(struct nb_tree tree, uint32_t *mark)
{
	const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (k >= tree.nnode)
		return;
	if (k == 0)
		mark[0] = 1;
	if (tree.count[k] > RUN && !tree.nchild[k]) /* in one place */
		for (uint32_t b = 0; b < tree.count[k]; b += RUN)
			mark[tree.first[k] + b] = 1;
	if (tree.count[k] <= RUN)
		return;
	uint32_t sum = RUN;
	for (uint32_t c = tree.child[k]; c < tree.child[k] + tree.nchild[k]; c++) {
		const uint32_t count = tree.count[c];
		if (sum + count > RUN)
			mark[tree.first[c]] = 1;
		sum = sum + count > RUN ? count : sum + count;
		sum = sum < RUN ? sum : RUN;
	}
}

/* Leaves of bodies in one place that have not the order of their ids yet. */
struct is_crowd {
	const uint32_t *count, *nchild;
	__device__ bool operator()(size_t k) const
	{
		return !nchild[k] && count[k] > NB_NEAR_LEAF;
	}
};

/* They get it on the host, as there are hardly ever any. */
static int sort_crowds(const struct nb_near_job *job, uint32_t *d_perm)
{
	const struct nb_tree *tree = &job->tree;
	const size_t n = job->bodies.n;
	nb_cuda_buffer<uint32_t> d_row;
	size_t count = 0;
	NB_TRY(d_row.alloc(tree->nnode));
	NB_TRY(nb_rows_of(tree->nnode, is_crowd{tree->count, tree->nchild}, d_row.ptr, &count));
	if (!count)
		return NB_OK;
	std::vector<uint32_t> row(count), perm(n), first(tree->nnode), many(tree->nnode);
	std::vector<uint64_t> id(n);
	NB_CUDA_TRY(cudaMemcpy(row.data(), d_row.ptr, count * sizeof row[0], cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(perm.data(), d_perm, n * sizeof perm[0], cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(id.data(), job->bodies.id, n * sizeof id[0], cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(first.data(), tree->first, first.size() * sizeof first[0], cudaMemcpyDeviceToHost));
	NB_CUDA_TRY(cudaMemcpy(many.data(), tree->count, many.size() * sizeof many[0], cudaMemcpyDeviceToHost));
	for (size_t k = 0; k < count; k++)
		NB_TRY(nb_near_sort_ids(many[row[k]], id.data(), perm.data() + first[row[k]]));
	NB_CUDA_TRY(cudaMemcpy(d_perm, perm.data(), n * sizeof perm[0], cudaMemcpyHostToDevice));
	return NB_OK;
}

/* Memory of a search; job->tree is released with it. */
struct prepared {
	nb_cuda_buffer<uint32_t> perm, run;
	nb_cuda_buffer<double> at, mass, vel;
	nb_cuda_buffer<uint64_t> id;
	struct nb_near_job job = {};
	size_t nrun = 0;

	~prepared()
	{
		nb_tree_free_cuda(&job.tree);
	}

	NB_MUST_CHECK int sort()
	{
		const size_t n = job.bodies.n;
		const int dim = job.bodies.dim;
		nb_cuda_buffer<double> pos, sorted, massless;
		nb_cuda_buffer<uint64_t> key;
		struct nb_cube cube;
		size_t bad;
		NB_TRY(nb_morton_cube_cuda(n, job.bodies.pos, dim, &cube, &bad));
		nb_near_scale(&job, cube.size);
		NB_TRY(pos.alloc(3 * n));
		bring_in_kernel<<<nb_cuda_blocks(3 * n, THREADS), THREADS>>>(
			n, dim, job.bodies.box, 1 / job.unit[0], 1 / job.unit[1], job.bodies.pos, pos.ptr);
		NB_CUDA_LAUNCHED();
		NB_TRY(key.alloc(n));
		NB_TRY(perm.alloc(n));
		NB_TRY(nb_morton_cube_cuda(n, pos.ptr, dim, &cube, &bad));
		NB_TRY(nb_morton_keys_cuda(n, pos.ptr, dim, &cube, key.ptr));
		NB_TRY(nb_sort_keys_cuda(n, key.ptr, perm.ptr));
		NB_TRY(nb_sort_deep_cuda(n, key.ptr, pos.ptr, dim, perm.ptr));
		NB_TRY(sorted.alloc(3 * n));
		NB_TRY(nb_permute_cuda(n, perm.ptr, 3 * sizeof(double), pos.ptr, sorted.ptr));
		pos.release();
		NB_TRY(massless.alloc(n));
		NB_CUDA_TRY(cudaMemsetAsync(massless.ptr, 0, n * sizeof(double)));
		NB_TRY(nb_tree_build_cuda(
			n, key.ptr, sorted.ptr, massless.ptr, dim, &cube, NB_NEAR_LEAF, 1, &job.tree));
		NB_TRY(at.alloc(3 * n));
		split_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(
			n, sorted.ptr, at.ptr, at.ptr + n, at.ptr + 2 * n);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}

	template <class T> NB_MUST_CHECK int gather(const T *from, size_t components, nb_cuda_buffer<T> &to)
	{
		if (!from)
			return NB_OK;
		NB_TRY(to.alloc(components * job.bodies.n));
		return nb_permute_cuda(job.bodies.n, perm.ptr, components * sizeof(T), from, to.ptr);
	}

	NB_MUST_CHECK int find_runs()
	{
		const size_t n = job.bodies.n;
		nb_cuda_buffer<uint32_t> mark;
		NB_TRY(mark.alloc(n + 1));
		NB_TRY(run.alloc(n + 1));
		NB_CUDA_TRY(cudaMemsetAsync(mark.ptr, 0, (n + 1) * sizeof(uint32_t)));
		mark_kernel<<<nb_cuda_blocks(job.tree.nnode, THREADS), THREADS>>>(job.tree, mark.ptr);
		NB_CUDA_LAUNCHED();
		NB_TRY(nb_rows_of_ones_cuda(n, mark.ptr, run.ptr, &nrun));
		const uint32_t end = (uint32_t)n;
		NB_CUDA_TRY(cudaMemcpy(run.ptr + nrun, &end, sizeof end, cudaMemcpyHostToDevice));
		return NB_OK;
	}

	NB_MUST_CHECK int all()
	{
		const struct nb_near_bodies &b = job.bodies;
		NB_TRY(sort());
		if (b.id)
			NB_TRY(sort_crowds(&job, perm.ptr));
		NB_TRY(gather(b.id, 1, id));
		NB_TRY(gather(b.mass, 1, mass));
		NB_TRY(gather(job.nearest.vdisp ? b.vel : nullptr, 3, vel));
		NB_TRY(find_runs());
		for (int c = 0; c < 3; c++)
			job.at[c] = at.ptr + (size_t)c * b.n;
		job.perm = perm.ptr;
		job.id = id.ptr;
		job.mass = mass.ptr;
		job.vel = vel.ptr;
		return NB_OK;
	}
};

template <class LIST> static int launch(const struct prepared &p, size_t listed)
{
	nb_cuda_buffer<uint32_t> next, stack, body;
	nb_cuda_buffer<double> d2;
	int sms = 0, blocks = 0;
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, search_kernel<LIST>, THREADS, 0));
	const size_t most = (size_t)sms * (size_t)std::max(blocks, 1);
	const size_t grid = std::min(most, (p.nrun + WARPS - 1) / WARPS);
	NB_TRY(next.alloc(1));
	NB_TRY(stack.alloc(grid * WARPS * NB_NEAR_STACK));
	NB_TRY(d2.alloc(grid * THREADS * listed));
	NB_TRY(body.alloc(grid * THREADS * listed));
	NB_CUDA_TRY(cudaMemsetAsync(next.ptr, 0, sizeof(uint32_t)));
	const struct search s = {p.job, p.run.ptr, (uint32_t)p.nrun, next.ptr, stack.ptr, d2.ptr, body.ptr};
	search_kernel<LIST><<<(unsigned)grid, THREADS>>>(s);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_near_nearest_cuda(const struct nb_near_bodies *bodies, const struct nb_near_found *nearest)
{
	if (bodies->n == 0)
		return NB_OK;
	NB_TRY(nb_near_refuses(bodies, nearest->k));
	struct prepared p;
	p.job.bodies = *bodies;
	p.job.nearest = *nearest;
	NB_TRY(p.all());
	return nearest->k <= 8	  ? launch<register_list<8>>(p, 0)
	       : nearest->k <= 16 ? launch<register_list<16>>(p, 0)
				  : launch<memory_list>(p, (size_t)nearest->k);
}
