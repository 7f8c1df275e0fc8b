/* rows_cuda.cu - all pairs as Gangavarapu et al. (algorithm 4, 2-D, in f64) and Xu, Xu & Chen (technique 4, with jerk,
 * in f32 as their listings, and f64) have it on the device: the host loops over the bodies i and launches a kernel for
 * each, a thread per body j.
 *
 * In the sources all threads add to one sum without ordering their additions, which loses most of them; here they are
 * added in a fixed order:
 * - Gangavarapu et al., and the final version of Xu, Xu & Chen, which has body i and the sums of a block in shared
 * memory: the threads of a block add theirs by halves, and the blocks' sums are added in order.
 * - The first version of Xu, Xu & Chen, which reads body i from global memory and adds to it there: each thread puts
 * its contribution into global memory, and a block for each body of a batch adds them. */
#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"
#include "kernels/papers/pair_internal.h"

enum {
	WARP = 32,
	MOST_WARPS = 32,   /* of a block */
	BATCH = 1024,	   /* bodies whose sums wait at a time */
	COLLECT = 256,	   /* threads that add the contributions to a body */
	WAITING = 1 << 24, /* numbers that wait in global memory at a time, if more than those of one body */
};

static __device__ __forceinline__ void interact(
	int dim, const float *d, const float *v, float m, float eps2, float *acc, float *jerk)
{
	nb_paper_interact_f32(dim, d, v, m, eps2, acc, jerk);
}

static __device__ __forceinline__ void interact(
	int dim, const double *d, const double *v, double m, double eps2, double *acc, double *jerk)
{
	nb_paper_interact_f64(dim, d, v, m, eps2, acc, jerk);
}

/* What body j gives a body at me that moves with my. */
template <class T, int DIM, bool JERK>
static __device__ __forceinline__ void contribution(const paper_body<T> &me, const T *my, size_t j,
	const paper_body<T> *body, const T *vel, const struct paper_units *units, T *sum)
{
	const paper_body<T> other = body[j];
	const T d[3] = {other.x - me.x, other.y - me.y, other.z - me.z};
	T v[3] = {0, 0, 0};
	if (JERK)
		for (int c = 0; c < DIM; c++)
			v[c] = vel[3 * j + c] - my[c];
	interact(DIM, d, v, other.m, (T)(units->eps * units->eps), sum, JERK ? sum + DIM : nullptr);
}

/* The sum over the threads of a warp, in a fixed order, for all of them. */
template <class T> static __device__ __forceinline__ T warp_sum_of(T x)
{
	for (int offset = WARP / 2; offset > 0; offset /= 2)
		x += __shfl_xor_sync(0xffffffff, x, offset);
	return x;
}

/* Block b: sum of bodies b * blockDim.x .. on body i, to part[0 .. COMPONENTS * b].  SHARED: body i is read once a
 * block */
template <class T, int DIM, bool JERK, bool SHARED>
static __global__ void row_kernel(
	size_t n, size_t i, const paper_body<T> *body, const T *vel, const struct paper_units *units, T *part)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	__shared__ T warp_sum[MOST_WARPS][COMPONENTS];
	__shared__ T target[7]; /* body i, and how it moves */
	const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	T sum[2 * DIM] = {};
	if (SHARED) {
		if (threadIdx.x == 0) {
			const paper_body<T> me = body[i];
			target[0] = me.x, target[1] = me.y, target[2] = me.z;
			for (int c = 0; c < 3; c++)
				target[3 + c] = JERK ? vel[3 * i + c] : (T)0;
		}
		__syncthreads();
	}
	if (j < n && j != i) {
		if (SHARED) {
			const paper_body<T> me = {target[0], target[1], target[2], 0};
			contribution<T, DIM, JERK>(me, target + 3, j, body, vel, units, sum);
		} else {
			contribution<T, DIM, JERK>(body[i], vel + 3 * i, j, body, vel, units, sum);
		}
	}
	for (int c = 0; c < COMPONENTS; c++) {
		const T all = warp_sum_of(sum[c]);
		if (threadIdx.x % WARP == 0)
			warp_sum[threadIdx.x / WARP][c] = all;
	}
	__syncthreads();
	if (threadIdx.x < COMPONENTS) {
		T all = 0;
		for (unsigned w = 0; w < blockDim.x / WARP; w++)
			all += warp_sum[w][threadIdx.x];
		part[blockIdx.x * (size_t)COMPONENTS + threadIdx.x] = all;
	}
}

template <int DIM>
static __device__ __forceinline__ void put(
	const struct paper_units *units, size_t i, int c, double sum, double *acc, double *jerk)
{
	if (c < DIM)
		acc[3 * i + c] = sum * units->scale.acc_out;
	else
		jerk[3 * i + c - DIM] = sum * units->scale.jerk_out;
}

/* Thread: a body of the batch that starts with body first. */
template <class T, int DIM, bool JERK>
static __global__ void sum_kernel(size_t first, size_t count, unsigned blocks, const T *part,
	const struct paper_units *units, double *acc, double *jerk)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (row >= count)
		return;
	for (int c = 0; c < COMPONENTS; c++) {
		T sum = 0;
		for (unsigned b = 0; b < blocks; b++)
			sum += part[(row * blocks + b) * COMPONENTS + c];
		put<DIM>(units, first + row, c, (double)sum, acc, jerk);
	}
	if (DIM == 2)
		acc[3 * (first + row) + 2] = 0;
}

template <class T>
static __global__ void velocity_kernel(size_t n, const double *vel, const struct paper_units *units, T *out)
{
	const size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (k < 3 * n)
		out[k] = (T)(vel[k] * units->scale.velocity);
}

/* ---- the first version of Xu, Xu & Chen ---------------------------------------------------------------- */

/* Thread j: its contribution to body i, to part[c n + j] for each component c. */
template <class T, bool JERK>
static __global__ void global_kernel(
	size_t n, size_t i, const paper_body<T> *body, const T *vel, const struct paper_units *units, T *part)
{
	enum { COMPONENTS = 3 * (1 + JERK) };
	const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (j >= n)
		return;
	T sum[6] = {};
	if (j != i)
		contribution<T, 3, JERK>(body[i], vel + 3 * i, j, body, vel, units, sum);
	for (int c = 0; c < COMPONENTS; c++)
		part[c * n + j] = sum[c];
}

/* Block: a body of the batch that starts with body first. */
template <class T, bool JERK>
static __global__ void __launch_bounds__(COLLECT) collect_kernel(
	size_t n, size_t first, const T *part, const struct paper_units *units, double *acc, double *jerk)
{
	enum { COMPONENTS = 3 * (1 + JERK) };
	__shared__ T warp_sum[COMPONENTS][COLLECT / WARP];
	for (int c = 0; c < COMPONENTS; c++) {
		const T *mine = part + (blockIdx.x * (size_t)COMPONENTS + c) * n;
		T sum = 0;
		for (size_t j = threadIdx.x; j < n; j += COLLECT)
			sum += mine[j];
		sum = warp_sum_of(sum);
		if (threadIdx.x % WARP == 0)
			warp_sum[c][threadIdx.x / WARP] = sum;
	}
	__syncthreads();
	if (threadIdx.x < COMPONENTS) {
		T all = 0;
		for (int w = 0; w < COLLECT / WARP; w++)
			all += warp_sum[threadIdx.x][w];
		put<3>(units, first + blockIdx.x, (int)threadIdx.x, (double)all, acc, jerk);
	}
}

/* ---- the host's loops --------------------------------------------------------------------------------- */

/* The bodies as the kernels read them. */
template <class T> struct packed {
	struct paper_call call;
	nb_cuda_buffer<paper_body<T>> body;
	nb_cuda_buffer<T> vel, part;

	NB_MUST_CHECK int begin(const struct nb_gravity *g, bool velocities)
	{
		NB_TRY(call.begin(g));
		if (g->n == 0)
			return NB_OK;
		NB_TRY(paper_pack<T>(call, g->n, body));
		if (velocities) {
			NB_TRY(vel.alloc(3 * g->n));
			velocity_kernel<T>
				<<<nb_cuda_blocks(3 * g->n, 256), 256>>>(g->n, g->vel, call.units.ptr, vel.ptr);
			NB_CUDA_LAUNCHED();
		}
		return NB_OK;
	}
};

template <class T, int DIM, bool JERK, bool SHARED>
static int rows(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	const struct nb_gravity *g = job->gravity;
	const unsigned threads = (unsigned)job->parameter[0];
	packed<T> x;
	NB_TRY(x.begin(g, JERK));
	if (g->n == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(g->n, threads);
	const size_t batch = g->n < BATCH ? g->n : (size_t)BATCH;
	NB_TRY(x.part.alloc(batch * blocks * COMPONENTS));
	for (size_t first = 0; first < g->n; first += batch) {
		const size_t some = g->n - first < batch ? g->n - first : batch;
		for (size_t row = 0; row < some; row++)
			row_kernel<T, DIM, JERK, SHARED><<<blocks, threads>>>(g->n, first + row, x.body.ptr, x.vel.ptr,
				x.call.units.ptr, x.part.ptr + row * blocks * COMPONENTS);
		NB_CUDA_LAUNCHED();
		sum_kernel<T, DIM, JERK><<<nb_cuda_blocks(some, 128), 128>>>(
			first, some, blocks, x.part.ptr, x.call.units.ptr, g->acc, g->jerk);
		NB_CUDA_LAUNCHED();
	}
	return x.call.end_pairs(count);
}

template <class T, bool JERK> static int global_rows(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	enum { COMPONENTS = 3 * (1 + JERK) };
	const struct nb_gravity *g = job->gravity;
	const unsigned threads = (unsigned)job->parameter[0];
	packed<T> x;
	NB_TRY(x.begin(g, JERK));
	if (g->n == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(g->n, threads);
	const size_t row_size = COMPONENTS * g->n, fit = WAITING / row_size, most = fit < BATCH ? fit : (size_t)BATCH;
	const size_t batch = most < 1 ? 1 : most < g->n ? most : g->n;
	NB_TRY(x.part.alloc(batch * row_size));
	for (size_t first = 0; first < g->n; first += batch) {
		const size_t some = g->n - first < batch ? g->n - first : batch;
		for (size_t row = 0; row < some; row++)
			global_kernel<T, JERK><<<blocks, threads>>>(g->n, first + row, x.body.ptr, x.vel.ptr,
				x.call.units.ptr, x.part.ptr + row * row_size);
		NB_CUDA_LAUNCHED();
		collect_kernel<T, JERK>
			<<<(unsigned)some, COLLECT>>>(g->n, first, x.part.ptr, x.call.units.ptr, g->acc, g->jerk);
		NB_CUDA_LAUNCHED();
	}
	return x.call.end_pairs(count);
}

extern "C" int nb_paper_gangavarapu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return rows<double, 2, false, false>(job, count);
}

extern "C" int nb_paper_xu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const bool jerk = job->gravity->jerk;
	if (job->gravity->precision == NB_F64)
		return jerk ? rows<double, 3, true, true>(job, count) : rows<double, 3, false, true>(job, count);
	return jerk ? rows<float, 3, true, true>(job, count) : rows<float, 3, false, true>(job, count);
}

extern "C" int nb_paper_xu_pairs_global_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const bool jerk = job->gravity->jerk;
	if (job->gravity->precision == NB_F64)
		return jerk ? global_rows<double, true>(job, count) : global_rows<double, false>(job, count);
	return jerk ? global_rows<float, true>(job, count) : global_rows<float, false>(job, count);
}
