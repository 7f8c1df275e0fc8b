/* search_cuda.cu - the nearest neighbours on the device: a warp for a run of up to 32 bodies, a body for each lane.
 *
 * A run is made of siblings of the tree, in Z-order, or of bodies that are in one place.  It first meets the bodies
 * around it in Z-order, of which there are more than k, so that each lane knows how far its k-th neighbour is at most.
 * Then the warp walks the tree from the root: 32 nodes are tested at once against the box of the run, a node a lane,
 * and so are the bodies of the leaves that are near enough.  Those that are near the box, too, come to shared memory,
 * as f32 relative to the centre of the run and in f64, and are met 32 at a time: a lane finds by 6 operations which of
 * them may be near enough, with a margin for rounding, and looks at these in f64, as near_internal.h says.  So f32
 * leaves nothing out and decides nothing.
 *
 * Up to 16 neighbours are a sorted list in registers; more are a heap in memory, a column of it for each lane.
 * Products are not contracted in this room (Makefile): all numbers are those of the CPU, bit by bit.
 * A stack holds what is to be tested; the nodes below FULL leave it 32 at once, others one by one, so that it grows by
 * seven a level and cannot overflow.
 * What limits it are instructions that have to be fetched: with visits of a list unrolled and three places that meet
 * bodies, 10,000 of them instead of 3,500, 10^7 bodies took 26 ms instead of 18.
 *
 * Lists in registers as in jztree (Stuecker et al. 2025, knn.cuh); walks of a warp as in kernels/walk_gpu. */
#include "kernels/near/run_internal.cuh"
#include "kernels/order/order.cuh"

#include <algorithm>
#include <vector>

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
struct is_dense {
	const uint32_t *count, *nchild;
	__device__ bool operator()(size_t k) const
	{
		return !nchild[k] && count[k] > NB_NEAR_LEAF;
	}
};

/* They get it on the host, as there are hardly ever any. */
static int sort_dense(const struct nb_near_job *job, uint32_t *d_perm)
{
	const struct nb_tree *tree = &job->tree;
	const size_t n = job->bodies.n;
	nb_cuda_buffer<uint32_t> d_row;
	size_t count = 0;
	NB_TRY(d_row.alloc(tree->nnode));
	NB_TRY(nb_rows_of(tree->nnode, is_dense{tree->count, tree->nchild}, d_row.ptr, &count));
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
			NB_TRY(sort_dense(&job, perm.ptr));
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
