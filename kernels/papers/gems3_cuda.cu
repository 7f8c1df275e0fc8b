/* gems3_cuda.cu - all pairs by tiles: Nyland, Harris & Prins 2007, GPU Gems 3, chapter 31.
 *
 * A block of p x q threads has p targets.  Its sources come tile by tile, p bodies of 4 numbers, into shared memory, q
 * tiles at a time (listings 31-2 and 31-3); thread (x, y) meets target x with the tiles of y, and the q partial sums of
 * a target are added at the end, in order (section 31.4.1, "Improving Performance for Small N").  p and q are the shape
 * of the block; the inner loop is compiled for each unroll factor.
 *
 * 20 flops per interaction as the chapter counts them.  Its 1 / sqrt(distSqr^3) is here the cube of 1 / sqrt(distSqr):
 * the sixth power of the distance leaves f32 sooner.  And a tile's sum is added to the others as a whole: added one by
 * one, a million f32 terms are right to 2e-5 only. */
#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"

template <class T, int UNROLL>
static __global__ void gems3_kernel(
	size_t n, unsigned tiles, const paper_body<T> *body, const struct paper_units *units, double *acc)
{
	extern __shared__ __align__(16) unsigned char shared[];
	const unsigned p = blockDim.x, q = blockDim.y;
	paper_body<T> *const mine = (paper_body<T> *)shared + threadIdx.y * p; /* this thread's tile */
	const size_t i = blockIdx.x * (size_t)p + threadIdx.x;
	const paper_body<T> me = body[i];
	const T eps2 = paper_eps2<T>(units);
	paper_sum<T> a = {0, 0, 0};
	for (unsigned tile = threadIdx.y; tile < tiles; tile += q) { /* tiles is a multiple of q: all threads meet */
		mine[threadIdx.x] = body[tile * (size_t)p + threadIdx.x];
		__syncthreads();
		paper_sum<T> part = {0, 0, 0};
#pragma unroll UNROLL
		for (unsigned k = 0; k < p; k++)
			paper_interact(me, mine[k].x, mine[k].y, mine[k].z, mine[k].m, eps2, part);
		a.x += part.x;
		a.y += part.y;
		a.z += part.z;
		__syncthreads();
	}
	mine[threadIdx.x] = {a.x, a.y, a.z, 0};
	__syncthreads();
	if (threadIdx.y > 0 || i >= n)
		return;
	for (unsigned y = 1; y < q; y++) {
		a.x += mine[y * p + threadIdx.x].x;
		a.y += mine[y * p + threadIdx.x].y;
		a.z += mine[y * p + threadIdx.x].z;
	}
	paper_store(units, a, acc, i);
}

template <class T, int UNROLL> static int launch(const struct paper_call &call, unsigned p, unsigned q)
{
	nb_cuda_buffer<paper_body<T>> body;
	const unsigned blocks = nb_cuda_blocks(call.g->n, p), tiles = (blocks + q - 1) / q * q;
	NB_TRY(paper_pack<T>(call, tiles * (size_t)p, body));
	gems3_kernel<T, UNROLL><<<blocks, dim3(p, q), p * q * sizeof(paper_body<T>)>>>(
		call.g->n, tiles, body.ptr, call.units.ptr, call.g->acc);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

template <class T> static int unrolled(const struct paper_call &call, unsigned p, unsigned q, int unroll)
{
	switch (unroll) {
	case 1: return launch<T, 1>(call, p, q);
	case 2: return launch<T, 2>(call, p, q);
	case 4: return launch<T, 4>(call, p, q);
	case 8: return launch<T, 8>(call, p, q);
	case 16: return launch<T, 16>(call, p, q);
	case 32: return launch<T, 32>(call, p, q);
	default: return NB_EINVAL;
	}
}

extern "C" int nb_paper_gems3(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const unsigned p = (unsigned)job->parameter[0], q = (unsigned)job->parameter[1];
	struct paper_call call;
	NB_TRY(call.begin(job->gravity));
	if (job->gravity->n == 0)
		return NB_OK;
	NB_TRY(job->gravity->precision == NB_F32 ? unrolled<float>(call, p, q, job->parameter[2])
						 : unrolled<double>(call, p, q, job->parameter[2]));
	return call.end_pairs(count);
}
