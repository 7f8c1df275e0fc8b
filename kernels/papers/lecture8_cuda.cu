/* lecture8_cuda.cu - all pairs as lecture 8 has it (after Wilt, The CUDA Handbook), in f32, a target per thread.
 *
 *   naive      sources straight from global memory, in three layouts: structures of x, y, z, vx, vy, vz, mass (AoS), an
 *              array for each (SoA), packed float4; unrolled 1, 2 or 16 times
 *   shared     sources through shared memory, a tile of the block's size; unrolled 1 to 4 times
 *   shuffle    a tile of 32 in the registers of a warp, handed round by __shfl_sync
 *   constant   sources in constant memory, reloaded for each part of the bodies */
#include <mutex>

#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"

enum { THREADS = 256, WARP = 32, CONSTANT_BODIES = 2048 };

/* ---- naive, three layouts ------------------------------------------------------------------------------ */

namespace
{
struct particle {
	float x, y, z, vx, vy, vz, mass;
};

struct aos {
	const struct particle *p;
	__device__ __forceinline__ paper_body<float> operator[](size_t j) const
	{
		return {p[j].x, p[j].y, p[j].z, p[j].mass};
	}
};

struct soa {
	const float *x, *y, *z, *mass;
	__device__ __forceinline__ paper_body<float> operator[](size_t j) const
	{
		return {x[j], y[j], z[j], mass[j]};
	}
};

struct packed {
	const paper_body<float> *body;
	__device__ __forceinline__ paper_body<float> operator[](size_t j) const
	{
		return body[j];
	}
};
} // namespace

template <class Layout, int UNROLL>
static __global__ void __launch_bounds__(THREADS)
	naive_kernel(size_t n, Layout body, const struct paper_units *units, double *acc)
{
	const float eps2 = paper_eps2<float>(units);
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x) {
		const paper_body<float> me = body[i];
		paper_sum<float> a = {0, 0, 0};
#pragma unroll UNROLL
		for (size_t j = 0; j < n; j++) {
			const paper_body<float> b = body[j];
			paper_interact(me, b.x, b.y, b.z, b.m, eps2, a);
		}
		paper_store(units, a, acc, i);
	}
}

template <class Layout> static int naive(const struct paper_call &call, const Layout &body, int unroll)
{
	const size_t n = call.g->n;
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	switch (unroll) {
	case 1: naive_kernel<Layout, 1><<<blocks, THREADS>>>(n, body, call.units.ptr, call.g->acc); break;
	case 2: naive_kernel<Layout, 2><<<blocks, THREADS>>>(n, body, call.units.ptr, call.g->acc); break;
	case 16: naive_kernel<Layout, 16><<<blocks, THREADS>>>(n, body, call.units.ptr, call.g->acc); break;
	default: return NB_EINVAL;
	}
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void aos_kernel(
	size_t n, const double *pos, const double *mass, const struct paper_units *u, struct particle *p)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n)
		p[i] = {(float)paper_coordinate(u, pos, i, 0), (float)paper_coordinate(u, pos, i, 1),
			(float)paper_coordinate(u, pos, i, 2), 0, 0, 0, (float)(mass[i] * u->scale.mass)};
}

static __global__ void soa_kernel(
	size_t n, const double *pos, const double *mass, const struct paper_units *u, float *x)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	for (int c = 0; c < 3; c++)
		x[c * n + i] = (float)paper_coordinate(u, pos, i, c);
	x[3 * n + i] = (float)(mass[i] * u->scale.mass);
}

/* Runs what works on a call that has begun, and ends it. */
template <class Work> static int all_pairs(const struct nb_paper_job *job, struct nb_gravity_count *count, Work work)
{
	struct paper_call call;
	NB_TRY(call.begin(job->gravity));
	if (job->gravity->n == 0)
		return NB_OK;
	NB_TRY(work(call));
	return call.end_pairs(count);
}

extern "C" int nb_paper_lecture_aos(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<struct particle> particles;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const struct nb_gravity *g = call.g;
		NB_TRY(particles.alloc(g->n));
		aos_kernel<<<nb_cuda_blocks(g->n, THREADS), THREADS>>>(
			g->n, g->pos, g->mass, call.units.ptr, particles.ptr);
		NB_CUDA_LAUNCHED();
		return naive(call, aos{particles.ptr}, job->parameter[0]);
	});
}

extern "C" int nb_paper_lecture_soa(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<float> x;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const struct nb_gravity *g = call.g;
		NB_TRY(x.alloc(4 * g->n));
		soa_kernel<<<nb_cuda_blocks(g->n, THREADS), THREADS>>>(g->n, g->pos, g->mass, call.units.ptr, x.ptr);
		NB_CUDA_LAUNCHED();
		return naive(call, soa{x.ptr, x.ptr + g->n, x.ptr + 2 * g->n, x.ptr + 3 * g->n}, job->parameter[0]);
	});
}

extern "C" int nb_paper_lecture_packed(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<paper_body<float>> body;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		NB_TRY(paper_pack<float>(call, call.g->n, body));
		return naive(call, packed{body.ptr}, job->parameter[0]);
	});
}

/* ---- shared -------------------------------------------------------------------------------------------- */

template <int UNROLL>
static __global__ void __launch_bounds__(THREADS) shared_kernel(
	size_t n, size_t padded, const paper_body<float> *body, const struct paper_units *units, double *acc)
{
	__shared__ paper_body<float> tile[THREADS];
	const float eps2 = paper_eps2<float>(units);
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const paper_body<float> me = body[i];
	paper_sum<float> a = {0, 0, 0};
	for (size_t j = 0; j < padded; j += THREADS) {
		tile[threadIdx.x] = body[j + threadIdx.x];
		__syncthreads();
#pragma unroll UNROLL
		for (int k = 0; k < THREADS; k++) {
			const paper_body<float> b = tile[k];
			paper_interact(me, b.x, b.y, b.z, b.m, eps2, a);
		}
		__syncthreads();
	}
	if (i < n)
		paper_store(units, a, acc, i);
}

extern "C" int nb_paper_lecture_shared(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<paper_body<float>> body;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const size_t n = call.g->n;
		const unsigned blocks = nb_cuda_blocks(n, THREADS);
		const size_t padded = blocks * (size_t)THREADS;
		double *const acc = call.g->acc;
		NB_TRY(paper_pack<float>(call, padded, body));
		switch (job->parameter[0]) {
		case 1: shared_kernel<1><<<blocks, THREADS>>>(n, padded, body.ptr, call.units.ptr, acc); break;
		case 2: shared_kernel<2><<<blocks, THREADS>>>(n, padded, body.ptr, call.units.ptr, acc); break;
		case 3: shared_kernel<3><<<blocks, THREADS>>>(n, padded, body.ptr, call.units.ptr, acc); break;
		case 4: shared_kernel<4><<<blocks, THREADS>>>(n, padded, body.ptr, call.units.ptr, acc); break;
		default: return (int)NB_EINVAL;
		}
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	});
}

/* ---- shuffle ------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS) shuffle_kernel(
	size_t n, size_t padded, const paper_body<float> *body, const struct paper_units *units, double *acc)
{
	const float eps2 = paper_eps2<float>(units);
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	const paper_body<float> me = body[i];
	paper_sum<float> a = {0, 0, 0};
	for (size_t j = 0; j < padded; j += WARP) {
		const paper_body<float> mine = body[j + threadIdx.x % WARP];
#pragma unroll
		for (int k = 0; k < WARP; k++)
			paper_interact(me, __shfl_sync(0xffffffff, mine.x, k), __shfl_sync(0xffffffff, mine.y, k),
				__shfl_sync(0xffffffff, mine.z, k), __shfl_sync(0xffffffff, mine.m, k), eps2, a);
	}
	if (i < n)
		paper_store(units, a, acc, i);
}

extern "C" int nb_paper_lecture_shuffle(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<paper_body<float>> body;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const unsigned blocks = nb_cuda_blocks(call.g->n, THREADS);
		const size_t padded = blocks * (size_t)THREADS;
		NB_TRY(paper_pack<float>(call, padded, body));
		shuffle_kernel<<<blocks, THREADS>>>(call.g->n, padded, body.ptr, call.units.ptr, call.g->acc);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	});
}

/* ---- constant ------------------------------------------------------------------------------------------ */

/* One copy for all calls: they queue their parts under a lock, and parts follow each other on the default stream. */
static __constant__ paper_body<float> constant_body[CONSTANT_BODIES];
static std::mutex constant_lock;

static __global__ void __launch_bounds__(THREADS) constant_kernel(size_t n, int count, bool first,
	const paper_body<float> *body, const struct paper_units *units, paper_sum<float> *sum)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	const float eps2 = paper_eps2<float>(units);
	const paper_body<float> me = body[i];
	paper_sum<float> a = {0, 0, 0};
	if (!first)
		a = sum[i];
#pragma unroll 4
	for (int j = 0; j < count; j++)
		paper_interact(
			me, constant_body[j].x, constant_body[j].y, constant_body[j].z, constant_body[j].m, eps2, a);
	sum[i] = a;
}

static __global__ void store_kernel(size_t n, const paper_sum<float> *sum, const struct paper_units *units, double *acc)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n)
		paper_store(units, sum[i], acc, i);
}

extern "C" int nb_paper_lecture_constant(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	nb_cuda_buffer<paper_body<float>> body;
	nb_cuda_buffer<paper_sum<float>> sum;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const size_t n = call.g->n;
		const unsigned blocks = nb_cuda_blocks(n, THREADS);
		NB_TRY(paper_pack<float>(call, n, body));
		NB_TRY(sum.alloc(n));
		const std::lock_guard<std::mutex> lock(constant_lock);
		for (size_t j = 0; j < n; j += CONSTANT_BODIES) {
			const size_t some = n - j < CONSTANT_BODIES ? n - j : (size_t)CONSTANT_BODIES;
			NB_CUDA_TRY(cudaMemcpyToSymbolAsync(
				constant_body, body.ptr + j, some * sizeof *body.ptr, 0, cudaMemcpyDeviceToDevice, 0));
			constant_kernel<<<blocks, THREADS>>>(n, (int)some, j == 0, body.ptr, call.units.ptr, sum.ptr);
			NB_CUDA_LAUNCHED();
		}
		store_kernel<<<blocks, THREADS>>>(n, sum.ptr, call.units.ptr, call.g->acc);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	});
}
