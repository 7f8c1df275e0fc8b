/* walk3_cuda.cu - kernels of the walk of order 3 with one Plummer softening or none. */
#include "kernels/walk_gpu/launch_internal.cuh"

template int nb_walk_launch<3, false>(struct walk &, enum nb_precision, bool);
