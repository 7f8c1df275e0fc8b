/* softness_internal.cuh - the softenings of a tree's nodes, for the device's walk; not for callers of walk_gpu.h. */
#ifndef NB_WALK_GPU_SOFTNESS_INTERNAL_CUH
#define NB_WALK_GPU_SOFTNESS_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/walk_gpu/walk_gpu.h"

/* eps becomes nnode x 3 numbers: the least softening of a node's bodies, the root of the mean square, by mass, and the
 * largest; NaN for all if a softening is none.  Queued on the default stream; same bytes on every run. */
NB_MUST_CHECK int nb_tree_softness_cuda(
	const struct nb_gravity *g, const struct nb_tree *tree, nb_cuda_buffer<double> *eps);

#endif
