/* gems3_cuda.cu - all pairs by tiles, and leaf cells: Nyland, Harris & Prins 2007, GPU Gems 3, chapter 31.
 *
 * gems3: a block of p x q threads has p targets.  Its sources come tile by tile, p bodies of 4 numbers, into shared
 * memory (listings 31-2 and 31-3).  With q > 1 the row of a target is split into q segments; thread (x, y) meets target
 * x with segment y, and the q partial sums of a target are added at the end, in order (section 31.4.1, "Improving
 * Performance for Small N").  p and q are the shape of the block; the inner loop is compiled for each unroll factor.
 * leaves: the same tiles, where the targets are the bodies of a leaf cell, and the sources those of the cell and its
 * neighbours (section 31.6).
 *
 * The arithmetic is that of listing 31-1, 20 flops an interaction as the chapter counts them, and the sum of a target
 * is carried from tile to tile, so that its rounding errors grow with n: 2e-6 of a Plummer sphere of 16,384 bodies,
 * 8e-6 of 262,144.  1 / sqrtf(distSixth) is one instruction here as in the chapter, to 2 units in the last place.  Its
 * EPS2 must not be 0: pair_internal.h has the least.  The chapter's N is a multiple of p q; here massless bodies fill
 * up. */
#include <type_traits>

#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"
#include "kernels/papers/pair_internal.h"

enum { LARGEST_BLOCK = 1024, LARGEST_P = 512 };

template <class T> static __device__ __forceinline__ T gems3_eps2(const struct paper_units *u);
template <> __device__ __forceinline__ float gems3_eps2<float>(const struct paper_units *u)
{
	return nb_gems3_eps2(u->eps);
}
template <> __device__ __forceinline__ double gems3_eps2<double>(const struct paper_units *u)
{
	return paper_eps2<double>(u); /* f64 has room for the sixth power */
}

/* Listing 31-1. */
template <class T>
static __device__ __forceinline__ paper_sum<T> body_body_interaction(
	const paper_body<T> &bi, const paper_body<T> &bj, T eps2, paper_sum<T> ai)
{
	const T rx = bj.x - bi.x, ry = bj.y - bi.y, rz = bj.z - bi.z;
	const T square = rx * rx + ry * ry + rz * rz + eps2;
	const T sixth = square * square * square;
	const T s = bj.m * paper_inverse_root(sixth);
	ai.x += rx * s;
	ai.y += ry * s;
	ai.z += rz * s;
	return ai;
}

/* Listing 31-2: the first count bodies of a tile; acc and what they add to it. */
template <class T, int UNROLL>
static __device__ __forceinline__ paper_sum<T> tile_calculation(
	const paper_body<T> &me, const paper_body<T> *tile, unsigned count, T eps2, paper_sum<T> acc)
{
#pragma unroll UNROLL
	for (unsigned k = 0; k < count; k++)
		acc = body_body_interaction(me, tile[k], eps2, acc);
	return acc;
}

/* Calls launch with the unroll factor as a constant. */
template <class Launch> static int unrolled(int unroll, Launch launch)
{
	switch (unroll) {
	case 1: return launch(std::integral_constant<int, 1>());
	case 2: return launch(std::integral_constant<int, 2>());
	case 4: return launch(std::integral_constant<int, 4>());
	case 8: return launch(std::integral_constant<int, 8>());
	case 16: return launch(std::integral_constant<int, 16>());
	case 32: return launch(std::integral_constant<int, 32>());
	default: return NB_EINVAL;
	}
}

/* ---- all pairs ----------------------------------------------------------------------------------------- */

/* Listing 31-3; segment: tiles for each of the q threads of a target. */
template <class T, int UNROLL>
static __global__ void __launch_bounds__(LARGEST_BLOCK) gems3_kernel(
	size_t n, unsigned segment, const paper_body<T> *body, const struct paper_units *units, double *acc)
{
	extern __shared__ __align__(16) unsigned char shared[];
	const unsigned p = blockDim.x, q = blockDim.y;
	paper_body<T> *const mine = (paper_body<T> *)shared + threadIdx.y * p; /* this thread's tile */
	const size_t i = blockIdx.x * (size_t)p + threadIdx.x;
	const paper_body<T> me = body[i], *const first = body + threadIdx.y * (size_t)segment * p;
	const T eps2 = gems3_eps2<T>(units);
	paper_sum<T> a = {0, 0, 0};
	for (unsigned tile = 0; tile < segment; tile++) {
		mine[threadIdx.x] = first[tile * (size_t)p + threadIdx.x];
		__syncthreads();
		a = tile_calculation<T, UNROLL>(me, mine, p, eps2, a);
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

template <class T> static int all_pairs(const struct paper_call &call, unsigned p, unsigned q, int unroll)
{
	nb_cuda_buffer<paper_body<T>> body;
	const size_t n = call.g->n;
	const unsigned blocks = nb_cuda_blocks(n, p), segment = (blocks + q - 1) / q;
	NB_TRY(paper_pack<T>(call, (size_t)segment * q * p, body));
	return unrolled(unroll, [&](auto factor) {
		gems3_kernel<T, factor><<<blocks, dim3(p, q), p * q * sizeof(paper_body<T>)>>>(
			n, segment, body.ptr, call.units.ptr, call.g->acc);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	});
}

extern "C" int nb_paper_gems3(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const unsigned p = (unsigned)job->parameter[0], q = (unsigned)job->parameter[1];
	const int unroll = job->parameter[2];
	struct paper_call call;
	NB_TRY(call.begin(job->gravity));
	if (job->gravity->n == 0)
		return NB_OK;
	NB_TRY(job->gravity->precision == NB_F32 ? all_pairs<float>(call, p, q, unroll)
						 : all_pairs<double>(call, p, q, unroll));
	return call.end_pairs(count);
}

/* ---- leaf cells ------------------------------------------------------------------------------------------ */

namespace
{
struct leaves {
	size_t nleaf;
	const uint64_t *first;
	const int32_t *neighbour;
	int nneighbour;

	/* The leaf itself for k = -1, else a neighbour; -1 where there is none. */
	__device__ __forceinline__ int64_t around(size_t leaf, int k) const
	{
		return k < 0 ? (int64_t)leaf : neighbour[leaf * nneighbour + k];
	}
};
} // namespace

/* Block (b, y): of leaf b, targets y p .. y p + p - 1, and on by all y.  Every thread of a block meets each barrier, as
 * the bounds of the loops are those of the block. */
template <class T, int UNROLL>
static __global__ void __launch_bounds__(LARGEST_P)
	leaves_kernel(struct leaves f, const paper_body<T> *body, const struct paper_units *units, double *acc)
{
	extern __shared__ __align__(16) unsigned char shared[];
	paper_body<T> *const tile = (paper_body<T> *)shared;
	const unsigned p = blockDim.x;
	const size_t leaf = blockIdx.x;
	const uint64_t end = f.first[leaf + 1];
	const T eps2 = gems3_eps2<T>(units);
	for (uint64_t base = f.first[leaf] + blockIdx.y * (uint64_t)p; base < end; base += gridDim.y * (uint64_t)p) {
		const uint64_t i = base + threadIdx.x;
		const paper_body<T> me = body[i < end ? i : base];
		paper_sum<T> a = {0, 0, 0};
		for (int k = -1; k < f.nneighbour; k++) {
			const int64_t other = f.around(leaf, k);
			if (other < 0)
				continue;
			const uint64_t stop = f.first[other + 1];
			for (uint64_t j = f.first[other]; j < stop; j += p) {
				const unsigned count = stop - j < p ? (unsigned)(stop - j) : p;
				if (threadIdx.x < count)
					tile[threadIdx.x] = body[j + threadIdx.x];
				__syncthreads();
				a = tile_calculation<T, UNROLL>(me, tile, count, eps2, a);
				__syncthreads();
			}
		}
		if (i < end)
			paper_store(units, a, acc, i);
	}
}

/* Thread: a leaf. */
static __global__ void count_kernel(struct leaves f, unsigned long long *interactions)
{
	const size_t leaf = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (leaf >= f.nleaf)
		return;
	const uint64_t count = f.first[leaf + 1] - f.first[leaf];
	uint64_t sources = 0;
	for (int k = -1; k < f.nneighbour; k++) {
		const int64_t other = f.around(leaf, k);
		if (other >= 0)
			sources += f.first[other + 1] - f.first[other];
	}
	if (count)
		atomicAdd(interactions, (unsigned long long)(count * (sources - 1)));
}

template <class T> static int all_leaves(const struct paper_call &call, const struct leaves &f, unsigned p, int unroll)
{
	/* a leaf of 512 bodies is two blocks or more, unless p is 512 */
	enum { SLICES = 4 };
	nb_cuda_buffer<paper_body<T>> body;
	NB_TRY(paper_pack<T>(call, call.g->n, body));
	return unrolled(unroll, [&](auto factor) {
		leaves_kernel<T, factor><<<dim3((unsigned)f.nleaf, SLICES), p, p * sizeof(paper_body<T>)>>>(
			f, body.ptr, call.units.ptr, call.g->acc);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	});
}

extern "C" int nb_paper_gems3_leaves(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	enum { THREADS = 256 };
	const struct nb_boxes *boxes = job->boxes;
	const struct leaves f = {boxes->nbox, boxes->box_first, boxes->neighbour, boxes->nneighbour};
	const unsigned p = (unsigned)job->parameter[0];
	const int unroll = job->parameter[1];
	nb_cuda_buffer<unsigned long long> interactions;
	struct paper_call call;
	NB_TRY(call.begin(job->gravity));
	if (f.nneighbour < 0)
		return NB_EINVAL;
	if (f.nleaf > INT32_MAX)
		return NB_ELIMIT;
	if (job->gravity->n == 0)
		return NB_OK;
	if (f.nleaf == 0)
		return NB_EINVAL;
	NB_TRY(interactions.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(interactions.ptr, 0, sizeof *interactions.ptr, 0));
	count_kernel<<<nb_cuda_blocks(f.nleaf, THREADS), THREADS>>>(f, interactions.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(job->gravity->precision == NB_F32 ? all_leaves<float>(call, f, p, unroll)
						 : all_leaves<double>(call, f, p, unroll));
	NB_TRY(call.end());
	unsigned long long done;
	NB_CUDA_TRY(cudaMemcpy(&done, interactions.ptr, sizeof done, cudaMemcpyDeviceToHost));
	if (count)
		count->p2p += done;
	return NB_OK;
}
