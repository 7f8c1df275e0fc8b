/* treepm_internal.cuh - the near part on the device: bodies in the order of cells, and what is asked of them. */
#ifndef NB_TREEPM_INTERNAL_CUH
#define NB_TREEPM_INTERNAL_CUH

#include <functional>

#include "kernels/device/device.cuh"
#include "kernels/treepm/treepm_internal.h"

/* As struct nb_treepm_side, in the memory of the device. */
struct nb_treepm_cells {
	size_t n;
	const double *pos, *mass, *soft; /* n x 3, in [0, box); scaled; soft: null: that of all */
	const uint32_t *units;		 /* n x 3, as of nb_treepm_units */
	const uint32_t *key, *begin;	 /* key: the cell, with `fine` bits of the place in it; begin: of each cell */
};

/* The floor of pair.h. */
template <class real> static __host__ __device__ constexpr real nb_treepm_floor()
{
	return sizeof(real) == sizeof(double) ? (real)NB_PAIR_FLOOR_F64 : (real)NB_PAIR_FLOOR_F32;
}

/* Of the law. */
template <class real> struct nb_treepm_terms {
	real scale, acc[NB_TREEPM_TERMS], pot[NB_TREEPM_TERMS];

	void fill(const nb_treepm_law &law)
	{
		scale = (real)law.scale;
		for (int k = 0; k < NB_TREEPM_TERMS; k++) {
			acc[k] = (real)law.acc[k];
			pot[k] = (real)law.pot[k];
		}
	}
};

/* Targets first + 0, 1 ... of a cell, with one list of what is near them. */
struct nb_treepm_near {
	bool spline;
	double box, reach, cut2, soft, support2; /* soft: as nb_soft_of, where all have one; support2: of a spline, 1 /
						    soft^2 */
	int side, around, fine, most;		 /* most: targets of a group */
	struct nb_treepm_cells sources, targets;
	size_t ngroup;
	const uint32_t *first;	   /* target of each group */
	double *sum;		   /* of target k, numbers k, n + k, ...: acc, and pot; added to */
	unsigned long long *pairs; /* null: not wanted; added to */
	nb_treepm_terms<double> f64;
	nb_treepm_terms<float> f32;

	__device__ __forceinline__ const nb_treepm_terms<double> &terms(double) const
	{
		return f64;
	}
	__device__ __forceinline__ const nb_treepm_terms<float> &terms(float) const
	{
		return f32;
	}
};

/* A coordinate in [0, box), where unit is 2^32 / box. */
static __device__ __forceinline__ uint32_t nb_treepm_units(double x, double unit)
{
	return __double2uint_rd(x * unit); /* at most 2^32 - 1 */
}

/* How many targets a group of a cell of n targets has; the last one may have less. */
static __device__ __forceinline__ uint32_t nb_treepm_share(uint32_t n, int most)
{
	const uint32_t groups = (n + most - 1) / most;
	return (n + groups - 1) / groups;
}

/* mixed: distances in f64, the other arithmetic of pairs in f32. */
NB_MUST_CHECK int nb_treepm_near_cuda(const struct nb_treepm_near *near, bool mixed, bool pot, cudaStream_t stream);

/* Whether the devices of the team share the near part of so many bodies, which are targets and sources. */
bool nb_treepm_is_shared(size_t n);
/* The near part by all of them, while the first one calls far(), which queues the far part on the default stream.
 * near->sum: another array than that of the far part; near->pairs is not used.  *pairs, unless null, is added to.
 * Returns when all is done. */
NB_MUST_CHECK int nb_treepm_share_cuda(
	const nb_treepm_near *near, bool mixed, bool pot, const std::function<int()> &far, uint64_t *pairs);

#endif
