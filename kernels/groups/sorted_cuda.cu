/* sorted_cuda.cu - a tree over bodies on the device, whose positions stay where they are. */
#include <math.h>

#include "kernels/groups/groups_internal.cuh"
#include "kernels/order/order.cuh"

enum { THREADS = 256, LEAF = NB_LINK_LEAF_CUDA };

/* ---- bodies inside of the box --------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
	wrap_kernel(size_t n, const double *pos, const __grid_constant__ struct nb_link_law law, double *inside)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		nb_link_place(&law, pos + 3 * i, inside + 3 * i);
}

/* The same in the order of the tree. */
static __global__ void __launch_bounds__(THREADS) place_kernel(size_t n, const double *pos, const uint32_t *perm,
	const __grid_constant__ struct nb_link_law law, double *place)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		nb_link_place(&law, pos + 3 * (size_t)perm[i], place + 3 * i);
}

static unsigned blocks(size_t n)
{
	return nb_cuda_blocks(n, THREADS);
}

/* Positions inside of the box: those of the job, or a copy. */
static int inside_box(const nb_sorted_cuda &w, nb_cuda_buffer<double> &copy, const double **pos)
{
	*pos = w.job.pos;
	if (!w.outside)
		return NB_OK;
	NB_TRY(copy.alloc(3 * w.job.n));
	wrap_kernel<<<blocks(w.job.n), THREADS>>>(w.job.n, w.job.pos, w.law, copy.ptr);
	NB_CUDA_LAUNCHED();
	*pos = copy.ptr;
	return NB_OK;
}

/* ---- bodies of one key --------------------------------------------------------------------------------- */

struct is_dense {
	const uint32_t *count, *child;

	__device__ bool operator()(size_t j) const
	{
		return child[j] == 0 && count[j] > LEAF;
	}
};

/* Blocks x: leaves of many bodies; y: parts of each.  Whether they are not in one place. */
static __global__ void __launch_bounds__(THREADS)
	dense_kernel(const double *pos, const uint32_t *perm, const __grid_constant__ struct nb_link_law law,
		const uint32_t *dense, const uint32_t *first, const uint32_t *count, uint32_t *found)
{
	const uint32_t j = dense[blockIdx.x];
	double x[3], y[3];
	nb_link_place(&law, pos + 3 * (size_t)perm[first[j]], x);
	for (size_t i = blockIdx.y * (size_t)THREADS + threadIdx.x; i < count[j]; i += (size_t)gridDim.y * THREADS) {
		nb_link_place(&law, pos + 3 * (size_t)perm[first[j] + i], y);
		if (x[0] != y[0] || x[1] != y[1] || x[2] != y[2])
			*found = 1;
	}
}

/* Keys, in order. */
static int make_keys(nb_sorted_cuda &w, uint64_t *key)
{
	const size_t n = w.job.n;
	const double *pos;
	nb_cuda_buffer<double> copy;
	size_t bad;
	if (w.law.box > 0) {
		w.cube = {{0, 0, 0}, w.law.box};
		NB_TRY(nb_first_outside_cuda(n, w.job.pos, 0, w.law.dim, &w.cube, &bad));
		w.outside = bad < n;
	} else {
		NB_TRY(nb_morton_cube_cuda(n, w.job.pos, w.law.dim, &w.cube, &bad));
	}
	NB_TRY(inside_box(w, copy, &pos));
	NB_TRY(nb_morton_keys_cuda(n, pos, w.law.dim, &w.cube, key));
	copy.release();
	return nb_sort_keys_cuda(n, key, w.perm);
}

/* Whether keys do not tell enough bodies apart that are not in one place. */
static int find_dense(const nb_sorted_cuda &w, bool *found)
{
	const struct nb_tree &tree = w.tree;
	nb_cuda_buffer<uint32_t> dense, apart;
	size_t n;
	uint32_t flag = 0;
	NB_TRY(dense.alloc(tree.nnode));
	NB_TRY(nb_rows_of(tree.nnode, is_dense{tree.count, tree.child}, dense.ptr, &n));
	if (n > 0) {
		NB_TRY(apart.alloc(1));
		NB_CUDA_TRY(cudaMemsetAsync(apart.ptr, 0, sizeof flag));
		const dim3 grid((unsigned)n, n < 1024 ? 4096 / (unsigned)n : 4);
		dense_kernel<<<grid, THREADS>>>(w.job.pos, w.perm, w.law, dense.ptr, tree.first, tree.count, apart.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(&flag, apart.ptr, sizeof flag, cudaMemcpyDeviceToHost));
	}
	*found = flag;
	return NB_OK;
}

int nb_sorted_make_cuda(nb_sorted_cuda &w)
{
	const size_t n = w.job.n;
	nb_cuda_buffer<uint64_t> key;
	bool found = false;
	NB_TRY(key.alloc(n));
	NB_TRY(make_keys(w, key.ptr));
	NB_TRY(nb_tree_build_cuda(n, key.ptr, nullptr, nullptr, w.law.dim, &w.cube, LEAF, 0, &w.tree));
	NB_TRY(find_dense(w, &found));
	if (!found)
		return NB_OK;
	/* deeper keys, for which positions must be in order */
	nb_cuda_buffer<double> copy, sorted;
	const double *pos;
	nb_tree_free_cuda(&w.tree);
	NB_TRY(inside_box(w, copy, &pos));
	NB_TRY(nb_sort_deep_cuda(n, key.ptr, pos, w.law.dim, w.perm));
	copy.release();
	NB_TRY(sorted.alloc(3 * n));
	place_kernel<<<blocks(n), THREADS>>>(n, w.job.pos, w.perm, w.law, sorted.ptr);
	NB_CUDA_LAUNCHED();
	return nb_tree_build_cuda(n, key.ptr, sorted.ptr, nullptr, w.law.dim, &w.cube, LEAF, 0, &w.tree);
}

double nb_sorted_scale(const nb_sorted_cuda &w)
{
	const double edge = fmax(w.cube.size, w.law.box);
	int exponent;
	if (!(edge > 1e-280 && edge < 1e280) || w.law.length < 0x1p-14 * edge)
		return 0;
	(void)frexp(edge, &exponent);
	return ldexp(1.0, -exponent);
}
