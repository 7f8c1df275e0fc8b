/* The corrector on the device: one thread a number, a grid-stride loop, bandwidth-bound.  Products are rounded before
 * sums, as on the CPU, so both give the same bytes. */
#include "kernels/device/device.cuh"
#include "kernels/motion/hermite.h"

enum { BLOCK = 256, MAX_GRID = 4096 };

static __global__ void hermite_kernel(size_t count, double *__restrict__ pos, double *__restrict__ vel,
	const double *__restrict__ acc, const double *__restrict__ jerk, const double *__restrict__ acc_was,
	const double *__restrict__ jerk_was, double ahead, double dt)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	const double half = dt / 2, sixth = dt / 6;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
		const double was = __dadd_rn(acc_was[i], __dmul_rn(ahead, jerk_was[i]));
		const double a = __dsub_rn(acc[i], was), j = __dsub_rn(jerk[i], jerk_was[i]);
		const double v = __dmul_rn(half, __dsub_rn(a, __dmul_rn(sixth, j)));
		vel[i] = __dadd_rn(vel[i], v);
		pos[i] = __dadd_rn(pos[i], __dmul_rn(half, __dsub_rn(v, __dmul_rn(sixth, a))));
	}
}

int nb_hermite_cuda(size_t n, double *pos, double *vel, const double *acc, const double *jerk, const double *acc_was,
	const double *jerk_was, double ahead, double dt)
{
	const size_t count = 3 * n;
	const unsigned blocks = nb_cuda_blocks(count, BLOCK), most = MAX_GRID;
	if (count == 0)
		return NB_OK;
	const unsigned grid = blocks < most ? blocks : most;
	hermite_kernel<<<grid, BLOCK>>>(count, pos, vel, acc, jerk, acc_was, jerk_was, ahead, dt);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
