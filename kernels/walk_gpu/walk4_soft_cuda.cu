/* walk4_soft_cuda.cu - kernels of the walk of order 4 for pairs that are not all softened alike. */
#include "kernels/walk_gpu/launch_internal.cuh"

template int nb_walk_launch<4, true>(struct walk &, enum nb_precision, bool);
