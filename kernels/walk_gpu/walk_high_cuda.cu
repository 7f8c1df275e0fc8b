/* walk_high_cuda.cu - the walk of walk_cuda.cu for multipoles of orders 3 and 4. */
#define NB_WALK_HIGH 1
#include "kernels/walk_gpu/walk_cuda.cu"
