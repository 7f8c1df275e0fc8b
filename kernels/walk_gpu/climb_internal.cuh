/* climb_internal.cuh - the way up from the leaves of a tree of any origin, for what nodes get from their children:
 * motion, softenings, moments of high order.  Of the children of a node, the one that is done last, as a counter says,
 * goes on.
 */
#ifndef NB_WALK_GPU_CLIMB_INTERNAL_CUH
#define NB_WALK_GPU_CLIMB_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/tree/tree.h"

enum : uint32_t { NB_CLIMB_NO_PARENT = 0xffffffff };
enum { NB_CLIMB_THREADS = 128 };

static __global__ void __launch_bounds__(NB_CLIMB_THREADS)
	nb_climb_kernel(size_t nnode, const uint32_t *child, const uint32_t *nchild, uint32_t *parent)
{
	const size_t j = blockIdx.x * (size_t)NB_CLIMB_THREADS + threadIdx.x;
	if (j >= nnode)
		return;
	for (uint32_t k = child[j]; k < child[j] + nchild[j]; k++)
		parent[k] = (uint32_t)j;
}

/* A warp for each leaf, whose lanes call nb_climb_leaf(c, leaf, lane).  The first lane goes up: a node whose children
 * are done gets nb_climb_inner(c, node), by the thread that has finished the last of them. */
template <class CLIMB> static __global__ void __launch_bounds__(NB_CLIMB_THREADS) nb_climb_up(CLIMB c)
{
	size_t j = (blockIdx.x * (size_t)NB_CLIMB_THREADS + threadIdx.x) / 32;
	const unsigned lane = threadIdx.x % 32;
	if (j >= c.nnode || c.nchild[j]) /* all lanes of a warp alike */
		return;
	nb_climb_leaf(c, j, lane);
	if (lane > 0)
		return;
	for (;;) {
		const uint32_t up = c.parent[j];
		if (up == NB_CLIMB_NO_PARENT)
			break;
		__threadfence();
		if (atomicAdd(&c.arrived[up], 1u) + 1 != c.nchild[up])
			break;
		__threadfence();
		j = up;
		nb_climb_inner(c, j);
	}
}

struct nb_tree_climb {
	nb_cuda_buffer<uint32_t> parent;  /* nnode: NB_CLIMB_NO_PARENT of the root and of what no node has */
	nb_cuda_buffer<uint32_t> arrived; /* nnode: how many children are done, 0 */

	/* Queued on the default stream. */
	NB_MUST_CHECK int begin(const struct nb_tree *tree)
	{
		const size_t nnode = tree->nnode;
		NB_TRY(parent.alloc(nnode));
		NB_TRY(arrived.alloc(nnode));
		NB_CUDA_TRY(cudaMemsetAsync(parent.ptr, 0xff, nnode * sizeof *parent.ptr));
		NB_CUDA_TRY(cudaMemsetAsync(arrived.ptr, 0, nnode * sizeof *arrived.ptr));
		nb_climb_kernel<<<nb_cuda_blocks(nnode, NB_CLIMB_THREADS), NB_CLIMB_THREADS>>>(
			nnode, tree->child, tree->nchild, parent.ptr);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
};

#endif
