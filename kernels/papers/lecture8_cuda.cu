/* lecture8_cuda.cu - all pairs as lecture 8 has it (after Wilt, The CUDA Handbook), in f32, a target per thread but in
 * forces.
 *
 *   naive      sources straight from global memory, in three layouts: structures of x, y, z, vx, vy, vz, mass (AoS), an
 *              array for each (SoA), packed float4; unrolled 1, 2 or 16 times
 *   shared     sources through shared memory, a tile of the block's size; the loop over the tiles unrolled, as the
 *              listing has it, or the loop in a tile, as the lecture's table of factors suggests
 *   shuffle    a tile of 32 in the registers of a warp, handed round by __shfl_sync
 *   forces     a thread for each force, and a global sum at the end: the other partitioning that the lecture names
 *   constant   sources in constant memory, which the host fills for each part of the bodies; or, our own, a copy on the
 *              device does
 * rsqrtf is one instruction here, as with nvcc --ftz=true: r^2 + eps^2 is a normal number. */
#include <mutex>
#include <vector>

#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"

enum { THREADS = 256, LARGEST_BLOCK = 512, WARP = 32, CONSTANT_BODIES = 2048 };

/* The lecture's bodyBodyInteraction, and the sum of its result. */
static __device__ __forceinline__ void interact(
	const paper_body<float> &me, float x, float y, float z, float m, float eps2, paper_sum<float> &a)
{
	const float dx = x - me.x, dy = y - me.y, dz = z - me.z;
	float square = dx * dx + dy * dy + dz * dz;
	square += eps2;
	const float inverse = paper_inverse_root(square);
	const float s = m * (inverse * inverse * inverse);
	a.x += dx * s;
	a.y += dy * s;
	a.z += dz * s;
}

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
			interact(me, b.x, b.y, b.z, b.m, eps2, a);
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

enum { LEFT_ALONE = 0 }; /* a loop without a pragma */

/* The inner loop of the listing: a target against a tile. */
template <int UNROLL>
static __device__ __forceinline__ void tile_sum(
	const paper_body<float> &me, const paper_body<float> *tile, float eps2, paper_sum<float> &a)
{
	if constexpr (UNROLL == LEFT_ALONE) {
		for (unsigned k = 0; k < blockDim.x; k++)
			interact(me, tile[k].x, tile[k].y, tile[k].z, tile[k].m, eps2, a);
	} else {
#pragma unroll UNROLL
		for (unsigned k = 0; k < blockDim.x; k++)
			interact(me, tile[k].x, tile[k].y, tile[k].z, tile[k].m, eps2, a);
	}
}

/* The listing.  padded is a multiple of the block, so that all threads of a block take as many steps and meet. */
template <int OUTER, int INNER>
static __global__ void __launch_bounds__(LARGEST_BLOCK) shared_kernel(
	size_t n, size_t padded, const paper_body<float> *body, const struct paper_units *units, double *acc)
{
	extern __shared__ paper_body<float> tile[];
	const float eps2 = paper_eps2<float>(units);
	const size_t stride = (size_t)blockDim.x * gridDim.x;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < padded; i += stride) {
		const paper_body<float> me = body[i];
		paper_sum<float> a = {0, 0, 0};
#pragma unroll OUTER
		for (size_t j = 0; j < padded; j += blockDim.x) {
			tile[threadIdx.x] = body[j + threadIdx.x];
			__syncthreads();
			tile_sum<INNER>(me, tile, eps2, a);
			__syncthreads();
		}
		if (i < n)
			paper_store(units, a, acc, i);
	}
}

template <int OUTER, int INNER> static int shared(const struct paper_call &call, unsigned threads, unsigned most_blocks)
{
	nb_cuda_buffer<paper_body<float>> body;
	const unsigned all = nb_cuda_blocks(call.g->n, threads), blocks = all < most_blocks ? all : most_blocks;
	const size_t padded = all * (size_t)threads;
	NB_TRY(paper_pack<float>(call, padded, body));
	shared_kernel<OUTER, INNER><<<blocks, threads, threads * sizeof(paper_body<float>)>>>(
		call.g->n, padded, body.ptr, call.units.ptr, call.g->acc);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

extern "C" int nb_paper_lecture_shared(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const unsigned threads = (unsigned)job->parameter[1], blocks = (unsigned)job->parameter[2];
	return all_pairs(job, count, [&](const struct paper_call &call) {
		switch (job->parameter[0]) {
		case 1: return shared<1, LEFT_ALONE>(call, threads, blocks);
		case 2: return shared<2, LEFT_ALONE>(call, threads, blocks);
		case 3: return shared<3, LEFT_ALONE>(call, threads, blocks);
		case 4: return shared<4, LEFT_ALONE>(call, threads, blocks);
		case 32: return shared<32, LEFT_ALONE>(call, threads, blocks);
		default: return (int)NB_EINVAL;
		}
	});
}

extern "C" int nb_paper_lecture_shared_inner(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return all_pairs(job, count, [&](const struct paper_call &call) {
		switch (job->parameter[0]) {
		case 1: return shared<1, 1>(call, THREADS, UINT32_MAX);
		case 2: return shared<1, 2>(call, THREADS, UINT32_MAX);
		case 3: return shared<1, 3>(call, THREADS, UINT32_MAX);
		case 4: return shared<1, 4>(call, THREADS, UINT32_MAX);
		default: return (int)NB_EINVAL;
		}
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
			interact(me, __shfl_sync(0xffffffff, mine.x, k), __shfl_sync(0xffffffff, mine.y, k),
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

/* ---- forces -------------------------------------------------------------------------------------------- */

/* Block: the forces of THREADS sources on target first + blockIdx.y.  They add up in a tree, in shared memory; the sum
 * of a block is one of the target's partial sums, of which there are gridDim.x. */
static __global__ void __launch_bounds__(THREADS) force_kernel(
	size_t first, const paper_body<float> *body, const struct paper_units *units, paper_sum<float> *partial)
{
	__shared__ paper_sum<float> force[THREADS];
	const paper_body<float> me = body[first + blockIdx.y], b = body[blockIdx.x * (size_t)THREADS + threadIdx.x];
	paper_sum<float> f = {0, 0, 0};
	interact(me, b.x, b.y, b.z, b.m, paper_eps2<float>(units), f);
	force[threadIdx.x] = f;
	for (unsigned half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) {
			f = force[threadIdx.x + half];
			force[threadIdx.x].x += f.x;
			force[threadIdx.x].y += f.y;
			force[threadIdx.x].z += f.z;
		}
	}
	if (threadIdx.x == 0)
		partial[blockIdx.y * (size_t)gridDim.x + blockIdx.x] = force[0];
}

/* The global sum, a thread for each target. */
static __global__ void global_sum_kernel(size_t targets, size_t first, size_t parts, const paper_sum<float> *partial,
	const struct paper_units *units, double *acc)
{
	const size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	paper_sum<float> a = {0, 0, 0};
	if (t >= targets)
		return;
	for (size_t p = 0; p < parts; p++) {
		const paper_sum<float> f = partial[t * parts + p];
		a.x += f.x;
		a.y += f.y;
		a.z += f.z;
	}
	paper_store(units, a, acc, first + t);
}

extern "C" int nb_paper_lecture_forces(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	enum { TARGETS = 4096 }; /* at a time, as there are n^2 / THREADS partial sums */
	nb_cuda_buffer<paper_body<float>> body;
	nb_cuda_buffer<paper_sum<float>> partial;
	return all_pairs(job, count, [&](const struct paper_call &call) {
		const size_t n = call.g->n;
		const unsigned parts = nb_cuda_blocks(n, THREADS);
		NB_TRY(paper_pack<float>(call, parts * (size_t)THREADS, body));
		NB_TRY(partial.alloc((size_t)parts * TARGETS));
		for (size_t first = 0; first < n; first += TARGETS) {
			const unsigned targets = (unsigned)(n - first < TARGETS ? n - first : (size_t)TARGETS);
			force_kernel<<<dim3(parts, targets), THREADS>>>(first, body.ptr, call.units.ptr, partial.ptr);
			NB_CUDA_LAUNCHED();
			global_sum_kernel<<<nb_cuda_blocks(targets, THREADS), THREADS>>>(
				targets, first, parts, partial.ptr, call.units.ptr, call.g->acc);
			NB_CUDA_LAUNCHED();
		}
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
		interact(me, constant_body[j].x, constant_body[j].y, constant_body[j].z, constant_body[j].m, eps2, a);
	sum[i] = a;
}

static __global__ void store_kernel(size_t n, const paper_sum<float> *sum, const struct paper_units *units, double *acc)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n)
		paper_store(units, sum[i], acc, i);
}

/* The bodies pass through constant memory, a part at a time.  host: they are there, and host and device take turns, as
 * the lecture says: the host fills the constants for a part, starts the kernel and waits for it.  Else copies on the
 * device fill them, and the host only queues. */
static int constant(const struct paper_call &call, bool host)
{
	nb_cuda_buffer<paper_body<float>> body;
	nb_cuda_buffer<paper_sum<float>> sum;
	std::vector<paper_body<float>> there;
	const size_t n = call.g->n, size = sizeof(paper_body<float>);
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	NB_TRY(paper_pack<float>(call, n, body));
	NB_TRY(sum.alloc(n));
	if (host) {
		there.resize(n);
		NB_CUDA_TRY(cudaMemcpy(there.data(), body.ptr, n * size, cudaMemcpyDeviceToHost));
	}
	const std::lock_guard<std::mutex> lock(constant_lock);
	for (size_t j = 0; j < n; j += CONSTANT_BODIES) {
		const size_t some = n - j < CONSTANT_BODIES ? n - j : (size_t)CONSTANT_BODIES;
		if (host)
			NB_CUDA_TRY(cudaMemcpyToSymbol(constant_body, &there[j], some * size));
		else
			NB_CUDA_TRY(cudaMemcpyToSymbolAsync(
				constant_body, body.ptr + j, some * size, 0, cudaMemcpyDeviceToDevice, 0));
		constant_kernel<<<blocks, THREADS>>>(n, (int)some, j == 0, body.ptr, call.units.ptr, sum.ptr);
		NB_CUDA_LAUNCHED();
		if (host)
			NB_CUDA_TRY(cudaStreamSynchronize(0));
	}
	store_kernel<<<blocks, THREADS>>>(n, sum.ptr, call.units.ptr, call.g->acc);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

extern "C" int nb_paper_lecture_constant(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	try {
		return all_pairs(job, count, [](const struct paper_call &call) { return constant(call, true); });
	} catch (const std::bad_alloc &) {
		return NB_ENOMEM;
	}
}

extern "C" int nb_paper_direct_constant(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return all_pairs(job, count, [](const struct paper_call &call) { return constant(call, false); });
}
