/* check_cuda.cu - whether a tree in device memory can be walked, and is that of its bodies: a thread per node looks at
 * its children and at how far the root is, then moments are computed once more (moments_cuda.cu). */
#include "kernels/device/device.cuh"
#include "kernels/pair/pair.h"
#include "kernels/tree/check_internal.h"
#include "kernels/tree/tree.cuh"

enum { THREADS = 256 };

struct finding {
	unsigned long long first;  /* the smallest NB_TREE_FAULTS k + fault of a node k that has one; ~0: none has */
	unsigned long long linked; /* children of all nodes */
	unsigned long long root;   /* 1: the root holds all bodies */
	unsigned long long deep;   /* 1: too many levels */
	unsigned long long far;	   /* 1: as NB_TREE_NEAREST says */
};

static __global__ void check_kernel(const struct nb_tree tree, size_t n, const double *pos, struct finding *finding)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	unsigned children = 0;
	if (k < tree.nnode) {
		const int fault = nb_tree_node_fault(&tree, n, k);
		if (fault != NB_TREE_SOUND)
			atomicMin(&finding->first, (unsigned long long)NB_TREE_FAULTS * k + (unsigned)fault);
		children = min(tree.nchild[k], 9u);
	}
	if (k == 0) {
		finding->root = tree.first[0] == 0 && tree.count[0] == n;
		finding->far = nb_pair_typical(n, pos, tree.cube.size) < tree.cube.size * NB_TREE_NEAREST;
	}
	for (int offset = 16; offset > 0; offset /= 2)
		children += __shfl_xor_sync(0xffffffff, children, offset);
	if (threadIdx.x % 32 == 0 && children)
		atomicAdd(&finding->linked, (unsigned long long)children);
}

/* Of a tree of sound shape. */
static __global__ void parent_kernel(const struct nb_tree tree, uint32_t *parent)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (k >= tree.nnode)
		return;
	if (k == 0)
		parent[0] = 0;
	for (uint32_t c = tree.child[k]; c < tree.child[k] + tree.nchild[k]; c++)
		parent[c] = (uint32_t)k;
}

static __global__ void depth_kernel(size_t nnode, const uint32_t *parent, struct finding *finding)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	int level = 0;
	for (uint32_t j = k < nnode ? (uint32_t)k : 0; j != 0 && level <= NB_TREE_LEVELS; j = parent[j])
		level++;
	if (level > NB_TREE_LEVELS)
		finding->deep = 1;
}

static enum nb_tree_fault fault_of(const struct finding &finding)
{
	return finding.first == ~0ull ? NB_TREE_SOUND : (enum nb_tree_fault)(finding.first % NB_TREE_FAULTS);
}

int nb_tree_check_cuda(const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong)
{
	const size_t nnode = tree->nnode;
	nb_cuda_buffer<struct finding> d_finding;
	nb_cuda_buffer<uint32_t> parent;
	struct finding finding = {~0ull, 1, 0, 0, 0};
	*wrong = n == 0 && nnode   ? "there are nodes but no bodies"
		 : n && nnode == 0 ? "the root does not hold all bodies"
				   : nullptr;
	if (n == 0 || nnode == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(nnode, THREADS);
	NB_TRY(d_finding.alloc(1));
	NB_CUDA_TRY(cudaMemcpyAsync(d_finding.ptr, &finding, sizeof finding, cudaMemcpyHostToDevice, 0));
	check_kernel<<<blocks, THREADS>>>(*tree, n, pos, d_finding.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&finding, d_finding.ptr, sizeof finding, cudaMemcpyDeviceToHost));
	*wrong = nb_tree_verdict(tree, fault_of(finding), finding.root != 0, finding.linked);
	if (*wrong)
		return NB_OK;
	NB_TRY(parent.alloc(nnode));
	parent_kernel<<<blocks, THREADS>>>(*tree, parent.ptr);
	NB_CUDA_LAUNCHED();
	depth_kernel<<<blocks, THREADS>>>(nnode, parent.ptr, d_finding.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_tree_moments_check_cuda(tree, n, pos, mass, &d_finding.ptr->first));
	NB_CUDA_TRY(cudaMemcpy(&finding, d_finding.ptr, sizeof finding, cudaMemcpyDeviceToHost));
	*wrong = finding.deep ? nb_tree_too_deep : nb_tree_fault_text(fault_of(finding));
	return !*wrong && finding.far ? NB_EFAR : NB_OK;
}
