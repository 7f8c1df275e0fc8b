/* check_cuda.cu - whether a tree in device memory can be walked: a thread per node looks at its children. */
#include "kernels/device/device.cuh"
#include "kernels/tree/check_internal.h"

enum { THREADS = 256 };

struct finding {
	unsigned long long first;  /* the smallest 4 k + fault of a node k that has one; ~0: none has */
	unsigned long long linked; /* children of all nodes */
	unsigned long long root;   /* 1: the root holds all bodies */
};

static __global__ void check_kernel(const struct nb_tree tree, size_t n, struct finding *finding)
{
	const size_t k = (size_t)blockIdx.x * THREADS + threadIdx.x;
	unsigned children = 0;
	if (k < tree.nnode) {
		const int fault = nb_tree_node_fault(&tree, n, k);
		if (fault != NB_TREE_SOUND)
			atomicMin(&finding->first, 4ull * k + (unsigned)fault);
		children = min(tree.nchild[k], 9u);
	}
	if (k == 0)
		finding->root = tree.first[0] == 0 && tree.count[0] == n;
	for (int offset = 16; offset > 0; offset /= 2)
		children += __shfl_xor_sync(0xffffffff, children, offset);
	if (threadIdx.x % 32 == 0 && children)
		atomicAdd(&finding->linked, (unsigned long long)children);
}

int nb_tree_check_cuda(const struct nb_tree *tree, size_t n, const char **wrong)
{
	nb_cuda_buffer<struct finding> d_finding;
	struct finding finding = {~0ull, 1, 0};
	*wrong = n == 0 && tree->nnode	 ? "there are nodes but no bodies"
		 : n && tree->nnode == 0 ? "the root does not hold all bodies"
					 : nullptr;
	if (n == 0 || tree->nnode == 0)
		return NB_OK;
	NB_TRY(d_finding.alloc(1));
	NB_CUDA_TRY(cudaMemcpyAsync(d_finding.ptr, &finding, sizeof finding, cudaMemcpyHostToDevice, 0));
	check_kernel<<<nb_cuda_blocks(tree->nnode, THREADS), THREADS>>>(*tree, n, d_finding.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&finding, d_finding.ptr, sizeof finding, cudaMemcpyDeviceToHost));
	const enum nb_tree_fault fault = finding.first == ~0ull ? NB_TREE_SOUND
								: (enum nb_tree_fault)(finding.first % 4);
	*wrong = nb_tree_verdict(tree, fault, finding.root != 0, finding.linked);
	return NB_OK;
}
