/* groups_internal.cuh - sets of bodies on the device: a forest over the bodies in the order of a tree. */
#ifndef NB_GROUPS_INTERNAL_CUH
#define NB_GROUPS_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/groups/groups_internal.h"

/* Bodies of a leaf, at most: twice as many make the time of clumps shorter than on the CPU. */
enum { NB_LINK_LEAF_CUDA = 32 };

/* Body i of the order is row perm[i]; parent[i] is another body of its set, or i itself, the root. */
struct nb_forest {
	nb_cuda_buffer<uint32_t> perm, parent;
};

/* Bodies on the device, and a tree over them. */
struct nb_sorted_cuda {
	const struct nb_groups_job &job;
	struct nb_link_law law;
	struct nb_cube cube; /* that keys refer to */
	bool outside;	     /* some bodies are, of the periodic box */
	uint32_t *perm;	     /* job.n, of the caller: body i of the tree is row perm[i] */
	struct nb_tree tree; /* of order 0 */

	~nb_sorted_cuda()
	{
		nb_tree_free_cuda(&tree);
	}
};

/* The cube, perm and the tree, of job.n >= 1 bodies.  Waits for the device.  NB_OK, or what it failed with. */
NB_MUST_CHECK int nb_sorted_make_cuda(struct nb_sorted_cuda &sorted);
/* The power of two by which the cube becomes one of edge 1/2 to 1; 0: f32 cannot tell enough distances. */
double nb_sorted_scale(const struct nb_sorted_cuda &sorted);

/* Joins the friends among job->n >= 1 bodies, and returns with the forest.  *overflow: a stack was too short, and they
 * are not all joined.  As nb_groups_find_cuda. */
NB_MUST_CHECK int nb_groups_link_cuda(const struct nb_groups_job *job, struct nb_forest *forest, bool *overflow);

/* The root of i; paths are halved on the way.  Others join sets meanwhile, in global or in shared memory: a root is
 * hung below a smaller one, by compare and swap (common/sets.h). */
static __device__ __forceinline__ uint32_t nb_forest_root(uint32_t *parent, uint32_t i)
{
	volatile uint32_t *up = parent;
	for (uint32_t above = up[i]; above != i;) {
		const uint32_t next = up[above];
		if (next != above)
			up[i] = next;
		i = above;
		above = next;
	}
	return i;
}

static __device__ __forceinline__ void nb_forest_join(uint32_t *parent, uint32_t a, uint32_t b)
{
	for (;;) {
		a = nb_forest_root(parent, a);
		b = nb_forest_root(parent, b);
		if (a == b)
			return;
		const uint32_t high = max(a, b);
		if (atomicCAS(&parent[high], high, min(a, b)) == high)
			return;
	}
}

#endif
