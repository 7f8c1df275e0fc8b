/* rows_cuda.cu - all pairs as Gangavarapu et al. (algorithm 4, 2-D) and Xu, Xu & Chen (technique 4, with jerk)
 * have it on the device, in f64: the host loops over the bodies i and launches a kernel for each, a thread per body j.
 *
 * The sources add the contributions of all threads to one sum without ordering them, which loses most of them; here the
 * threads of a block add theirs by halves, and the blocks' sums are added in order. */
#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"
#include "kernels/papers/pair_internal.h"

enum { WARP = 32, BATCH = 1024 /* bodies whose sums wait at a time */ };

/* Block b: sum of bodies b * blockDim.x .. on body i, to part[0 .. COMPONENTS * b]. */
template <int DIM, bool JERK>
static __global__ void row_kernel(size_t n, size_t i, const paper_body<double> *body, const double *vel,
	const struct paper_units *units, double *part)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	__shared__ double warp_sum[32][COMPONENTS];
	const size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	double sum[2 * DIM] = {};
	if (j < n && j != i) {
		const paper_body<double> me = body[i], other = body[j];
		const double d[3] = {other.x - me.x, other.y - me.y, other.z - me.z};
		double v[3] = {0, 0, 0};
		if (JERK)
			for (int c = 0; c < DIM; c++)
				v[c] = vel[3 * j + c] - vel[3 * i + c];
		nb_paper_interact(DIM, d, v, other.m, units->eps * units->eps, sum, JERK ? sum + DIM : nullptr);
	}
	for (int c = 0; c < COMPONENTS; c++) {
		for (int offset = WARP / 2; offset > 0; offset /= 2)
			sum[c] += __shfl_xor_sync(0xffffffff, sum[c], offset);
		if (threadIdx.x % WARP == 0)
			warp_sum[threadIdx.x / WARP][c] = sum[c];
	}
	__syncthreads();
	if (threadIdx.x < COMPONENTS) {
		double all = 0;
		for (unsigned w = 0; w < blockDim.x / WARP; w++)
			all += warp_sum[w][threadIdx.x];
		part[blockIdx.x * COMPONENTS + threadIdx.x] = all;
	}
}

/* Thread: a body of the batch that starts with body first. */
template <int DIM, bool JERK>
static __global__ void sum_kernel(size_t first, size_t count, unsigned blocks, const double *part,
	const struct paper_units *units, double *acc, double *jerk)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (row >= count)
		return;
	for (int c = 0; c < COMPONENTS; c++) {
		double sum = 0;
		for (unsigned b = 0; b < blocks; b++)
			sum += part[(row * blocks + b) * COMPONENTS + c];
		if (c < DIM)
			acc[3 * (first + row) + c] = sum * units->scale.acc_out;
		else
			jerk[3 * (first + row) + c - DIM] = sum * units->scale.jerk_out;
	}
	if (DIM == 2)
		acc[3 * (first + row) + 2] = 0;
}

static __global__ void velocity_kernel(size_t n, const double *vel, const struct paper_units *units, double *out)
{
	const size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (k < 3 * n)
		out[k] = vel[k] * units->scale.velocity;
}

template <int DIM, bool JERK> static int rows(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	enum { COMPONENTS = DIM * (1 + JERK) };
	const struct nb_gravity *g = job->gravity;
	const unsigned threads = (unsigned)job->parameter[0];
	struct paper_call call;
	nb_cuda_buffer<paper_body<double>> body;
	nb_cuda_buffer<double> vel, part;
	NB_TRY(call.begin(g));
	if (g->n == 0)
		return NB_OK;
	const unsigned blocks = nb_cuda_blocks(g->n, threads);
	const size_t batch = g->n < BATCH ? g->n : (size_t)BATCH;
	NB_TRY(paper_pack<double>(call, g->n, body));
	NB_TRY(part.alloc(batch * blocks * COMPONENTS));
	if (JERK) {
		NB_TRY(vel.alloc(3 * g->n));
		velocity_kernel<<<nb_cuda_blocks(3 * g->n, 256), 256>>>(g->n, g->vel, call.units.ptr, vel.ptr);
		NB_CUDA_LAUNCHED();
	}
	for (size_t first = 0; first < g->n; first += batch) {
		const size_t some = g->n - first < batch ? g->n - first : batch;
		for (size_t row = 0; row < some; row++)
			row_kernel<DIM, JERK><<<blocks, threads>>>(g->n, first + row, body.ptr, vel.ptr, call.units.ptr,
				part.ptr + row * blocks * COMPONENTS);
		NB_CUDA_LAUNCHED();
		sum_kernel<DIM, JERK><<<nb_cuda_blocks(some, 128), 128>>>(
			first, some, blocks, part.ptr, call.units.ptr, g->acc, g->jerk);
		NB_CUDA_LAUNCHED();
	}
	return call.end_pairs(count);
}

extern "C" int nb_paper_gangavarapu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return rows<2, false>(job, count);
}

extern "C" int nb_paper_xu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return job->gravity->jerk ? rows<3, true>(job, count) : rows<3, false>(job, count);
}
