/* walk_high_soft_cuda.cu - the walk of walk_cuda.cu for multipoles of orders 3 and 4 and pairs that are not all
 * softened alike. */
#define NB_WALK_HIGH 1
#define NB_WALK_SOFT 1
#include "kernels/walk_gpu/walk_cuda.cu"
