/* walk_soft_cuda.cu - the walk of walk_cuda.cu for pairs that are not all softened alike.  By itself, as its kernels
 * take as long to compile as the others. */
#define NB_WALK_SOFT 1
#include "kernels/walk_gpu/walk_cuda.cu"
