/* boxes_cuda.cu - uniform boxes on the device: a thread per body marks where boxes begin, a thread per box finds its
 * neighbours. */
#include "kernels/boxes/box_internal.h"
#include "kernels/device/device.cuh"

enum { THREADS = 256 };

/* Body i begins the boxes after that of body i - 1, up to its own; "body n" begins the rest. */
static __global__ void first_kernel(size_t n, const uint64_t *key, size_t nbox, int shift, uint64_t *box_first)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i > n)
		return;
	const uint64_t from = i == 0 ? 0 : (key[i - 1] >> shift) + 1, to = i == n ? nbox : key[i] >> shift;
	for (uint64_t b = from; b <= to; b++)
		box_first[b] = i;
}

static __global__ void neighbour_kernel(size_t nbox, int dim, int level, int32_t *neighbour)
{
	const size_t b = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (b < nbox)
		nb_box_neighbours(b, dim, level, neighbour + b * (dim == 3 ? 26 : 8));
}

int nb_boxes_build_cuda(size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour)
{
	if ((dim != 2 && dim != 3) || level < 0 || level > (dim == 3 ? NB_BOXES_MAX_LEVEL_3D : NB_BOXES_MAX_LEVEL_2D))
		return NB_EINVAL;
	const size_t nbox = (size_t)1 << dim * level;
	const int shift = dim * ((dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D) - level);
	first_kernel<<<nb_cuda_blocks(n + 1, THREADS), THREADS>>>(n, key, nbox, shift, box_first);
	NB_CUDA_LAUNCHED();
	neighbour_kernel<<<nb_cuda_blocks(nbox, THREADS), THREADS>>>(nbox, dim, level, neighbour);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

struct finding {
	unsigned long long first; /* the smallest 4 b + fault of a box b that has one; ~0: none has */
	unsigned long long all;	  /* 1: the boxes hold all bodies */
};

static __global__ void check_kernel(const struct nb_boxes boxes, size_t n, struct finding *finding)
{
	const size_t b = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (b >= boxes.nbox)
		return;
	const int fault = nb_box_fault(&boxes, b);
	if (fault != NB_BOX_SOUND)
		atomicMin(&finding->first, 4ull * b + (unsigned)fault);
	if (b == 0)
		finding->all = boxes.box_first[0] == 0 && boxes.box_first[boxes.nbox] == n;
}

int nb_boxes_check_cuda(const struct nb_boxes *boxes, size_t n, const char **wrong)
{
	nb_cuda_buffer<struct finding> d_finding;
	struct finding finding = {~0ull, 0};
	*wrong = boxes->nbox || n == 0 ? nullptr : "there are bodies but no boxes";
	if (boxes->nbox == 0)
		return NB_OK;
	NB_TRY(d_finding.alloc(1));
	NB_CUDA_TRY(cudaMemcpyAsync(d_finding.ptr, &finding, sizeof finding, cudaMemcpyHostToDevice, 0));
	check_kernel<<<nb_cuda_blocks(boxes->nbox, THREADS), THREADS>>>(*boxes, n, d_finding.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&finding, d_finding.ptr, sizeof finding, cudaMemcpyDeviceToHost));
	*wrong = nb_boxes_verdict(
		finding.first == ~0ull ? NB_BOX_SOUND : (enum nb_box_fault)(finding.first % 4), finding.all != 0);
	return NB_OK;
}
