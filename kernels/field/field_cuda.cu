/* One thread a body, a grid-stride loop; the potentials, less than 4 KiB, are an argument of the kernel. */
#include "kernels/device/device.cuh"
#include "kernels/field/potential_internal.h"

enum { BLOCK = 128, MAX_GRID = 4096 };

static_assert(sizeof(struct nb_external) + sizeof(struct nb_external_bodies) <= 4096, "arguments of a kernel");

static __global__ void add_kernel(const struct nb_external external, const struct nb_external_bodies bodies)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < bodies.n; i += stride)
		nb_field_add(&external, &bodies, i);
}

int nb_external_add_cuda(const struct nb_external *external, const struct nb_external_bodies *bodies)
{
	if (bodies->n == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(bodies->n, BLOCK), most = MAX_GRID, grid = blocks < most ? blocks : most;
	add_kernel<<<grid, BLOCK>>>(*external, *bodies);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
