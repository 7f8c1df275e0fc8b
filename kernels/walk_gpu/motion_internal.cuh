/* motion_internal.cuh - how the nodes of a tree move, for the jerks of the device's walk; not for callers of
 * walk_gpu.h. */
#ifndef NB_WALK_GPU_MOTION_INTERNAL_CUH
#define NB_WALK_GPU_MOTION_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/walk_gpu/walk_gpu.h"

/* On the device, in the caller's units. */
struct nb_tree_motion {
	nb_cuda_buffer<double> velocity;	    /* nnode x 3: of the centre of mass */
	nb_cuda_buffer<double> quad_rate;	    /* nnode x 6: d/dt of the second moments; like node.def's quad */
	nb_cuda_buffer<unsigned long long> fastest; /* bits of the largest |component| of a body's velocity relative
						       to the root's */
};

/* Of a tree over the bodies of g, from pos, vel and mass.  Velocities are taken relative to a body of the node, so
 * that what all have in common changes nothing.  A node of no mass has the velocity of its first body.
 * Queued on the default stream; same bytes on every run. */
NB_MUST_CHECK int nb_tree_motion_cuda(
	const struct nb_gravity *g, const struct nb_tree *tree, struct nb_tree_motion *motion);

#endif
