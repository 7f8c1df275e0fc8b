/* points_cuda.cu - the field at points on the device: the mirror of points_cpu.c.
 *
 * A block takes PER_BLOCK points, K for each thread, and a part of the sources, which pass through shared memory
 * THREADS at a time.  Sums of such a turn stay in registers and are added to those of the turns before; the sums of all
 * parts are added in their order by a second kernel.  Sources are cut into parts by the numbers of bodies and points
 * alone, so that few points fill the card and bytes are the same on every run.  Turns without mass are skipped.
 *
 * Arithmetic: f64 in scaled units (pair.h) at the caller's origin.  1/r starts as an f32 reciprocal root y of relative
 * error 2^-22; with e = 1 - r2 y^2 the powers are (simd.h)
 *     r^-3 = y^3 (1 + 3/2 e + 15/8 e^2),   r^-1 = y (1 + 1/2 e + 3/8 e^2),
 * which leaves out less than 2^-62.  16 f64 instructions for an acceleration, 23 with potential and strength, and three
 * on the unit of conversions and roots, which run beside them. */
#include "kernels/gravity/cuda_internal.cuh"
#include "kernels/gravity/plan.h"
#include "kernels/gravity/points.h"
#include "kernels/pair/pair.cuh"

namespace
{

enum { THREADS = 128, K = 2, PER_BLOCK = THREADS * K, SUMS = 5, SURVEY_THREADS = 256 };

/* Order of numbers as that of integers, for atomics: 0 is below all. */
__device__ __forceinline__ unsigned long long ordered(double x)
{
	const long long bits = __double_as_longlong(x);
	return (unsigned long long)(bits < 0 ? ~bits : bits | (long long)0x8000000000000000ull);
}

__device__ __forceinline__ double number(unsigned long long key)
{
	const long long bits = (long long)key;
	return __longlong_as_double(bits < 0 ? bits & 0x7fffffffffffffffll : ~bits);
}

/* What the scale is found from; all bytes 0: nothing seen. */
struct extremes {
	unsigned long long high[3], low[3]; /* keys of the largest x and the largest -x */
	unsigned long long mass, eps;	    /* of the largest |m| and softening */
};

struct points_job {
	size_t nsource, npoint, part, parts;
	const double *pos, *mass, *eps; /* of the sources; eps: null, or of each */
	double common_eps, G;
	const double *at_pos, *at_eps; /* of the points; at_pos null: target */
	const uint32_t *target;
	const struct extremes *seen;
	double *sum; /* parts x SUMS x npoint, scaled */
	double *acc, *pot, *strength;
};

/* ---- scale ----------------------------------------------------------------------------------------- */

/* n places, with masses and softenings or null.  target: indices that must be below limit, or null. */
__global__ void __launch_bounds__(SURVEY_THREADS)
	extremes_kernel(size_t n, const double *pos, const double *mass, const double *eps, double common_eps,
		size_t ntarget, const uint32_t *target, size_t limit, struct extremes *seen, int *d_status)
{
	nb_cuda_wait_previous();
	unsigned long long v[8] = {};
	int status = NB_OK;
	const size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
	for (size_t i = first; i < n; i += step) {
		for (int c = 0; c < 3; c++) {
			const double x = pos[3 * i + c];
			if (!isfinite(x))
				status = max(status, (int)NB_ENONFINITE);
			v[c] = max(v[c], ordered(x));
			v[3 + c] = max(v[3 + c], ordered(-x));
		}
		const double m = mass ? mass[i] : 0, e = eps ? eps[i] : common_eps;
		if (!isfinite(m) || !isfinite(e))
			status = max(status, (int)NB_ENONFINITE);
		else if (e < 0)
			status = max(status, (int)NB_EINVAL);
		v[6] = max(v[6], ordered(fabs(m)));
		v[7] = max(v[7], ordered(fabs(e)));
	}
	for (size_t i = first; i < ntarget; i += step)
		if (target[i] >= limit)
			status = max(status, (int)NB_EINVAL);
	unsigned long long *const to[8] = {&seen->high[0], &seen->high[1], &seen->high[2], &seen->low[0], &seen->low[1],
		&seen->low[2], &seen->mass, &seen->eps};
	for (int q = 0; q < 8; q++) {
		for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
			v[q] = max(v[q], __shfl_xor_sync(0xffffffff, v[q], offset));
		if (threadIdx.x % NB_WARP == 0 && v[q])
			atomicMax(to[q], v[q]);
	}
	if (status)
		atomicMax(d_status, status);
}

struct scale {
	double length, mass, mass_out;

	__device__ __forceinline__ scale(const struct points_job &job)
	{
		double side = 0, far = 0;
		for (int c = 0; c < 3; c++) {
			const double high = number(job.seen->high[c]), low = -number(job.seen->low[c]);
			side = fmax(side, high - low);
			far = fmax(far, fmax(-low, high));
		}
		const double extent = fmax(fmin(side, 0x1p1023), 0x1p-60 * far);
		length = nb_power2(fmax(extent, number(job.seen->eps)), 20);
		mass = nb_power2(number(job.seen->mass), 0);
		mass_out = job.G * nb_power2_inverse(mass);
	}
	/* one factor after the other, as nb_acc_out */
	__device__ __forceinline__ double acc_of(double sum) const
	{
		return sum * length * mass_out * length;
	}
	__device__ __forceinline__ double pot_of(double sum) const
	{
		return sum * length * mass_out;
	}
};

/* ---- pairs ----------------------------------------------------------------------------------------- */

struct source {
	double x, y, z, m;
};

/* r^-3 and r^-1 of r2. */
template <bool MORE> __device__ __forceinline__ void powers(double r2, double &w, double &p)
{
	const double y = (double)nb_rsqrt_fast((float)r2), y2 = y * y, e = fma(-r2, y2, 1.0);
	const double y3 = y * y2;
	w = fma(y3 * e, fma(e, 1.875, 1.5), y3);
	if (MORE)
		p = fma(y * e, fma(e, 0.375, 0.5), y);
}

/* Adds what a source does to a point. soft: as nb_soft_of; unused with the common law, which has eps2, and guard: pairs
 * of r2 <= guard are coincident. */
template <int LAW, bool MORE>
__device__ __forceinline__ void pair(const double (&at)[3], double at_soft, const struct source &s, double soft,
	bool self, double eps2, double guard, double (&sum)[SUMS])
{
	const double x = s.x - at[0], y = s.y - at[1], z = s.z - at[2];
	double w, p = 0;
	if constexpr (LAW == NB_LAW_SPLINE) {
		const double r2 = nb_pair_r2_f64(x, y, z, NB_PAIR_FLOOR_F64);
		const nb_pull<double> pull = nb_soften<true, true, false>(
			r2, rsqrt(r2), fmin(soft, at_soft), NB_PAIR_FLOOR_F64);
		w = pull.w, p = pull.p;
	} else {
		const double r2 = nb_pair_r2_f64(x, y, z, LAW == NB_LAW_COMMON ? eps2 : fmax(soft, at_soft));
		powers<MORE>(r2, w, p);
		if (MORE)
			p = r2 > guard ? p : 0;
	}
	nb_pair_add_f64(w * s.m, x, y, z, &sum[0], &sum[1], &sum[2]);
	if constexpr (MORE) {
		p = self ? 0 : p;
		const double q = p * s.m;
		sum[3] -= q;
		sum[4] = fma(q, p, sum[4]);
	}
}

/* Block x: points; block y: part of the sources. */
template <int LAW, bool MORE> __global__ void __launch_bounds__(THREADS) points_kernel(struct points_job job)
{
	constexpr bool SPLINE = LAW == NB_LAW_SPLINE;
	constexpr int N = MORE ? SUMS : 3;
	__shared__ struct source source[THREADS];
	__shared__ double source_soft[LAW == NB_LAW_COMMON ? 1 : THREADS];
	nb_cuda_wait_previous();
	const struct scale scale(job);
	const double eps = job.common_eps * scale.length, eps2 = nb_pair_eps2_f64(eps);
	const double guard = LAW == NB_LAW_COMMON && eps > 0 ? -1 : NB_PAIR_FLOOR_F64;
	const size_t end = min(job.nsource, (blockIdx.y + (size_t)1) * job.part);
	double at[K][3], at_soft[K], total[K][N];
	size_t row[K];
#pragma unroll
	for (int k = 0; k < K; k++) {
		const size_t i = blockIdx.x * (size_t)PER_BLOCK + k * THREADS + threadIdx.x;
		const bool there = i < job.npoint;
		row[k] = there && job.target ? job.target[i] : SIZE_MAX;
		/* a target that is no row: the other kernel has said so */
		const size_t from = !there ? 0 : job.target ? min(row[k], job.nsource - 1) : i;
		const double *const pos = job.at_pos ? job.at_pos : job.pos;
#pragma unroll
		for (int c = 0; c < 3; c++)
			at[k][c] = pos[3 * from + c] * scale.length;
		const double own = job.at_pos ? (job.at_eps ? job.at_eps[from] : 0)
				   : job.eps  ? job.eps[from]
					      : job.common_eps;
		at_soft[k] = LAW == NB_LAW_COMMON ? 0 : nb_soft_of<SPLINE>(own, scale.length, NB_PAIR_FLOOR_F64);
#pragma unroll
		for (int c = 0; c < N; c++)
			total[k][c] = 0;
	}
	for (size_t first = blockIdx.y * job.part; first < end; first += THREADS) {
		const size_t j = first + threadIdx.x;
		const bool there = j < end;
		struct source s = {0, 0, 0, 0};
		if (there) {
			s.x = job.pos[3 * j] * scale.length;
			s.y = job.pos[3 * j + 1] * scale.length;
			s.z = job.pos[3 * j + 2] * scale.length;
			s.m = job.mass[j] * scale.mass;
		}
		if (!__syncthreads_or(s.m != 0)) /* and all have read the turn before */
			continue;
		source[threadIdx.x] = s;
		if (LAW != NB_LAW_COMMON)
			source_soft[threadIdx.x] = nb_soft_of<SPLINE>(
				there && job.eps ? job.eps[j] : job.common_eps, scale.length, NB_PAIR_FLOOR_F64);
		__syncthreads();
		double sum[K][SUMS] = {};
#pragma unroll 4
		for (int t = 0; t < THREADS; t++)
#pragma unroll
			for (int k = 0; k < K; k++)
				pair<LAW, MORE>(at[k], at_soft[k], source[t], source_soft[LAW == NB_LAW_COMMON ? 0 : t],
					first + t == row[k], eps2, guard, sum[k]);
#pragma unroll
		for (int k = 0; k < K; k++)
#pragma unroll
			for (int c = 0; c < N; c++)
				total[k][c] += sum[k][c];
	}
#pragma unroll
	for (int k = 0; k < K; k++) {
		const size_t i = blockIdx.x * (size_t)PER_BLOCK + k * THREADS + threadIdx.x;
		if (i < job.npoint)
#pragma unroll
			for (int c = 0; c < N; c++)
				job.sum[(blockIdx.y * (size_t)N + c) * job.npoint + i] = total[k][c];
	}
}

/* Thread: a point.  n sums for each. */
__global__ void __launch_bounds__(SURVEY_THREADS) finish_kernel(struct points_job job, int n)
{
	nb_cuda_wait_previous();
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i >= job.npoint)
		return;
	const struct scale scale(job);
	double sum[SUMS] = {};
	for (size_t part = 0; part < job.parts; part++)
		for (int c = 0; c < n; c++)
			sum[c] += job.sum[(part * n + c) * job.npoint + i];
	for (int c = 0; c < 3 && job.acc; c++)
		job.acc[3 * i + c] = scale.acc_of(sum[c]);
	if (job.pot)
		job.pot[i] = scale.pot_of(sum[3]);
	if (job.strength)
		job.strength[i] = scale.acc_of(sum[4]);
}

/* ---- host ------------------------------------------------------------------------------------------ */

template <int LAW> int launch(const struct points_job &job, bool more)
{
	const dim3 grid(nb_cuda_blocks(job.npoint, PER_BLOCK), (unsigned)job.parts);
	return more ? nb_cuda_launch(points_kernel<LAW, true>, grid, THREADS, job)
		    : nb_cuda_launch(points_kernel<LAW, false>, grid, THREADS, job);
}

int survey(const struct points_job &job, struct extremes *seen, int *d_status)
{
	const unsigned most = 512;
	NB_CUDA_TRY(cudaMemsetAsync(seen, 0, sizeof *seen, 0));
	NB_CUDA_TRY(cudaMemsetAsync(d_status, 0, sizeof *d_status, 0));
	NB_TRY(nb_cuda_launch(extremes_kernel, min(nb_cuda_blocks(job.nsource, SURVEY_THREADS), most), SURVEY_THREADS,
		job.nsource, job.pos, job.mass, job.eps, job.common_eps, job.target ? job.npoint : (size_t)0,
		job.target, job.nsource, seen, d_status));
	if (job.at_pos)
		NB_TRY(nb_cuda_launch(extremes_kernel, min(nb_cuda_blocks(job.npoint, SURVEY_THREADS), most),
			SURVEY_THREADS, job.npoint, job.at_pos, (const double *)nullptr, job.at_eps, 0.0, (size_t)0,
			(const uint32_t *)nullptr, (size_t)0, seen, d_status));
	return NB_OK;
}

int clear(const struct nb_gravity_points *points)
{
	if (points->acc)
		NB_CUDA_TRY(cudaMemsetAsync(points->acc, 0, 3 * points->n * sizeof(double), 0));
	if (points->pot)
		NB_CUDA_TRY(cudaMemsetAsync(points->pot, 0, points->n * sizeof(double), 0));
	if (points->strength)
		NB_CUDA_TRY(cudaMemsetAsync(points->strength, 0, points->n * sizeof(double), 0));
	return NB_OK;
}

} // namespace

int nb_gravity_points_cuda(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	enum { BLOCKS = 2112, LEAST = 4 * THREADS }; /* 16 for each multiprocessor of an H200; sources of a part */
	if (!(g->eps >= 0) || !isfinite(g->eps) || !isfinite(g->G))
		return NB_EINVAL;
	if (points->jerk)
		return NB_EUNSUPPORTED;
	if (g->n >= (size_t)1 << 32 || points->n >= (size_t)1 << 32)
		return NB_ELIMIT;
	if (points->n == 0)
		return NB_OK;
	if (g->n == 0)
		return clear(points);
	struct points_job job = {};
	job.nsource = g->n, job.npoint = points->n;
	job.pos = g->pos, job.mass = g->mass, job.eps = g->body_eps, job.common_eps = g->eps, job.G = g->G;
	job.at_pos = points->target ? nullptr : points->pos;
	job.at_eps = points->target ? nullptr : points->eps;
	job.target = points->target;
	job.acc = points->acc, job.pot = points->pot, job.strength = points->strength;
	const size_t blocks = nb_cuda_blocks(points->n, PER_BLOCK);
	const size_t most = g->n / LEAST > 1 ? g->n / LEAST : 1, wanted = (BLOCKS + blocks - 1) / blocks;
	job.parts = wanted < most ? wanted : most;
	job.part = (g->n + job.parts - 1) / job.parts;

	const bool more = points->pot || points->strength;
	const int n = more ? SUMS : 3;
	nb_cuda_buffer<struct extremes> seen;
	nb_cuda_buffer<double> sum;
	nb_cuda_buffer<int> d_status;
	NB_TRY(seen.alloc(1));
	NB_TRY(d_status.alloc(1));
	NB_TRY(sum.alloc(job.parts * n * points->n));
	job.seen = seen.ptr, job.sum = sum.ptr;
	NB_TRY(survey(job, seen.ptr, d_status.ptr));
	if (g->softening == NB_SPLINE)
		NB_TRY(launch<NB_LAW_SPLINE>(job, more));
	else if (job.eps || job.at_eps)
		NB_TRY(launch<NB_LAW_PLUMMER>(job, more));
	else
		NB_TRY(launch<NB_LAW_COMMON>(job, more));
	NB_TRY(nb_cuda_launch(finish_kernel, nb_cuda_blocks(points->n, SURVEY_THREADS), SURVEY_THREADS, job, n));
	int status = NB_OK;
	NB_CUDA_TRY(cudaMemcpy(&status, d_status.ptr, sizeof status, cudaMemcpyDeviceToHost));
	return status;
}
