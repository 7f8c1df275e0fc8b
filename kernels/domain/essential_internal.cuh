/* essential_internal.cuh - the essential tree of a rank whose bodies are in the memory of a device: its own nodes,
 * those that bodies of several ranks are in, and of the other ranks' nodes and bodies what its walk may look at. */
#ifndef NB_DOMAIN_ESSENTIAL_INTERNAL_CUH
#define NB_DOMAIN_ESSENTIAL_INTERNAL_CUH

#include <vector>

#include "kernels/device/device.cuh"
#include "kernels/domain/state_internal.h"
#include "kernels/ranks/ranks.h"
#include "kernels/tree/tree.cuh"

enum {
	NB_ESSENTIAL_ALL = 2 /* at this margin (struct nb_domain), a rank gets all nodes and bodies */
};

/* What owners tell of a node that bodies of one rank are in. */
struct nb_essential_moments {
	double box[6], com[3], mass, quad[6];
};

/* Bodies that may feel the same: their box; the radius of the largest region in it (region_internal.cuh). */
struct nb_essential_target {
	double box[6], mass, radius;
};

struct nb_essential {
	struct nb_domain_top top = {};
	std::vector<uint8_t> kind;		  /* of each slot */
	std::vector<std::vector<uint32_t>> slots; /* of each rank, ascending */
	std::vector<uint32_t> generation;	  /* the first slot of each level, and the end */
	struct nb_tree tree = {}; /* slots, own nodes, from nown on those of others; in the device's memory */
	uint32_t nown = 0;
	size_t room = 0;	     /* nodes that the tree's columns have memory for */
	size_t nnode = 0;	     /* of the tree that the last walk had */
	size_t nbody = 0;	     /* of others: behind own ones in pos and mass of struct nb_domain */
	nb_cuda_buffer<double> rows; /* of nodes, where the walk is of order 3 or 4: as of nb_tree_high_cuda */

	/* all targets, and those of each rank */
	nb_cuda_buffer<struct nb_essential_target> target;
	std::vector<size_t> target_bound;
	double origin[3], length, unit; /* of the walk: centre of the root's box, 1 / units of length and of mass */

	nb_essential() = default;
	nb_essential(const nb_essential &) = delete;
	nb_essential &operator=(const nb_essential &) = delete;
	~nb_essential()
	{
		nb_domain_top_free(&top);
		release();
	}

	/* What is in the device's memory goes, when all that is queued is done with it. */
	void release()
	{
		if (tree.nnode)
			nnode = tree.nnode;
		nb_tree_free_cuda(&tree);
		target.release();
		rows.release();
	}
};

/* One row of each rank, its own of `size` rows in host memory, to all.  Called by all ranks. */
template <class T> static void nb_domain_tell(const struct nb_domain *d, std::vector<T> &rows)
{
	std::vector<size_t> bytes((size_t)d->size + 1);
	for (size_t k = 0; k < bytes.size(); k++)
		bytes[k] = k * sizeof rows[0];
	nb_ranks_collect(rows.data(), bytes.data());
	nb_ranks_wait_all();
}

/* ---- transport_cuda.cu ---- */

/* Memory that MPI reads and writes: of the host, pinned, or of the device if MPI reaches that, in which case it wants
 * none of a pool.  It stays for the next call. */
struct nb_domain_staging {
	char *ptr = nullptr;
	size_t bytes = 0;

	int reserve(size_t n, bool on_device)
	{
		if (n <= bytes)
			return NB_OK;
		if (ptr)
			(void)(on_device ? cudaFree(ptr) : cudaFreeHost(ptr));
		ptr = nullptr, bytes = 0;
		NB_CUDA_TRY(
			on_device ? cudaMalloc((void **)&ptr, n + n / 4) : cudaMallocHost((void **)&ptr, n + n / 4));
		bytes = n + n / 4;
		return NB_OK;
	}
};

/* Where ranks are threads of this process: what each has queued up to now comes before what any of them queues from now
 * on, and none waits for its device.  status: of this rank up to now.  Called by all; the worst status of all. */
NB_MUST_CHECK int nb_domain_line_up(const struct nb_domain *d, int status);

/* Rows of device memory to other ranks, and theirs to it; bounds in rows, size + 1 of them, this rank's own range
 * empty.  Called by all ranks; the same status in all. */
NB_MUST_CHECK int nb_domain_swap_rows(const struct nb_domain *d, size_t rowsize, const void *out, const size_t *send,
	void *in, const size_t *receive);

/* One range of rows of each rank, in device memory, to all: own ones in `own`, and bound, size + 1, says where each
 * rank's go in `all`.  Called by all ranks; the same status in all. */
NB_MUST_CHECK int nb_domain_collect_rows(
	const struct nb_domain *d, size_t rowsize, const void *own, const size_t *bound, void *all);

/* ---- sort_cuda.cu ---- */

/* As nb_domain_device says. */
NB_MUST_CHECK int nb_domain_below_cuda(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first);
/* Brings the bodies into order, among ranks too.  Called by all; the same status in all. */
NB_MUST_CHECK int nb_domain_sort_cuda(struct nb_domain *d);
/* Memory for so many rows in *rows, of which n stay; *room: of how many there is. */
NB_MUST_CHECK int nb_domain_reserve(void **rows, size_t *room, size_t rowsize, size_t n, size_t want);

/* ---- essential_cuda.cu ---- */

/* Moments of cells elsewhere and of the top; targets of all ranks.  Called by all; the same status in all. */
NB_MUST_CHECK int nb_essential_meet(const struct nb_domain *d, struct nb_essential *e);

/* Nodes and bodies of other ranks come behind own ones; d->margin says how many.  Nodes whose
 * children stay away have a child in their place that makes NaN of what opens them.  Called by all; the same status in
 * all. */
NB_MUST_CHECK int nb_essential_exchange(struct nb_domain *d, struct nb_essential *e);

#endif
