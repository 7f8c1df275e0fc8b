/* kernels_cuda.h - the CUDA force kernels by name, and the direct sum without waiting for it.
 *
 * nb_gravity_direct_cuda and nb_gravity_near_cuda of gravity.h choose for themselves; benchmarks, tests
 * and `nb-force --kernel` ask here for one of them.  Readable by gcc as C17 and by nvcc as C++17. */
#ifndef NB_GRAVITY_KERNELS_CUDA_H
#define NB_GRAVITY_KERNELS_CUDA_H

#include "kernels/gravity/gravity.h"

NB_C_BEGIN

enum nb_direct_kernel {
	NB_DIRECT_AUTO,	    /* the fastest: symmetric, with tiles by n, precision and what is wanted */
	NB_DIRECT_TILED,    /* a target per thread, sources through shared memory (Nyland, Harris & Prins 2007) */
	NB_DIRECT_BLOCKED,  /* several targets per thread, sources split over the grid, sums in a fixed order */
	NB_DIRECT_SYMMETRIC /* Newton's third law: each pair once, the sources' sums travel through the lanes */
};

/* Like nb_gravity_direct_cuda, with a kernel of the caller's choice.  NB_EUNSUPPORTED for one of these, and below for
 * one of the near field's, if pairs are not all softened alike. */
NB_MUST_CHECK int nb_gravity_direct_cuda_with(
	const struct nb_gravity *g, enum nb_direct_kernel kernel, struct nb_gravity_count *count);

/* The same, queued on the default stream.  When the work is done, *d_status (device memory) holds NB_OK
 * or NB_ENONFINITE; in the latter case the outputs are undefined.  Other errors are returned at once.  Where a team
 * shares the work, it is done when this returns. */
NB_MUST_CHECK int nb_gravity_direct_cuda_queue(const struct nb_gravity *g, enum nb_direct_kernel kernel, int *d_status);

/* Most bytes of device memory that the partial sums of a direct sum may take from now on; 0, as at the start: an
 * eighth of the device's memory.  With less, the sum is done in more parts; its bytes may then differ. */
void nb_gravity_direct_cuda_scratch(size_t bytes);

enum nb_near_kernel {
	NB_NEAR_AUTO, /* by the mean occupancy of the boxes */
	NB_NEAR_N3,   /* Newton's third law: each pair once, the sources' sums travel through the lanes, no atomics */
	NB_NEAR_WARP  /* a warp per slice of a box, several targets a lane, each pair twice */
};

/* Like nb_gravity_near_cuda, with a kernel of the caller's choice. */
NB_MUST_CHECK int nb_gravity_near_cuda_with(const struct nb_gravity *g, const struct nb_boxes *boxes,
	enum nb_near_kernel kernel, struct nb_gravity_count *count);

/* Lower-case names as on a command line: "tiled", "n3"; NULL past the last. */
const char *nb_direct_kernel_name(enum nb_direct_kernel kernel);
const char *nb_near_kernel_name(enum nb_near_kernel kernel);

NB_C_END
#endif
