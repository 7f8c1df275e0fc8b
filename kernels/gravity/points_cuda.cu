/* points_cuda.cu - the field at points on the device: the mirror of points_cpu.c.
 *
 * many  A block takes PER_BLOCK points, K for each thread, and a part of the sources, which pass through shared memory
 *       THREADS at a time, and are read there by all threads at once.  Sums of such a turn stay in registers and are
 *       added to those of the turns before.
 * few   Up to FEW points, of which most threads of such a block would have none: all lanes of a warp have the same K
 *       points, and each lane every 32nd source.  The sums of the lanes are added by a tree of shuffles.  Where there
 * are fewer points than warps of a block, these share its points and divide the sources.
 *
 * Each part of the sources leaves its sums in a slot, and the slots of a point are added in a fixed order by another
 * kernel.  Sources are cut into parts by the numbers of bodies and points alone, so that a single point fills the card
 * and bytes are the same on every run.  Turns without mass are skipped.
 *
 * Arithmetic: f64 in scaled units (pair.h) at the caller's origin.  1/r starts as an f32 reciprocal root y of relative
 * error 2^-22; with e = 1 - r2 y^2 the powers are (simd.h)
 *     r^-3 = y^3 (1 + 3/2 e + 15/8 e^2),   r^-1 = y (1 + 1/2 e + 3/8 e^2),
 * which leaves out less than 2^-62.  16 f64 instructions for an acceleration, 23 with potential and strength, 15 more
 * for a jerk, and three on the unit of conversions and roots, which run beside them. */
#include "kernels/gravity/pack_internal.cuh"
#include "kernels/gravity/plan.h"
#include "kernels/gravity/points.h"
#include "kernels/pair/pair.cuh"

namespace
{

enum {
	THREADS = 128,
	WARPS = THREADS / NB_WARP,
	K = 2,
	PER_BLOCK = THREADS * K,
	FEW = 1024, /* from here on no more than a fifth of the threads have no point */
	SURVEY_THREADS = 256,
	GROUPS = 16 /* threads that add up the slots of a sum, at most */
};

/* acc, then pot and strength (more), then jerk */
__host__ __device__ constexpr int sums_of(bool more, bool jerk)
{
	return 3 + (more ? 2 : 0) + (jerk ? 3 : 0);
}

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
	unsigned long long speed;	    /* of the largest |velocity component| */
};

struct points_job {
	size_t nsource, npoint, part, parts; /* part: bodies in each of the parts but the last */
	size_t slots;			     /* of a sum, see below */
	const double *pos, *mass, *eps;	     /* of the sources; eps: null, or of each */
	const double *vel;		     /* null: no jerks */
	double common_eps, G;
	const double *at_pos, *at_eps; /* of the points; at_pos null: target */
	const uint32_t *target;
	const struct extremes *seen;
	int *status;
	double *sum; /* slots x sums x npoint, scaled */
	double *acc, *pot, *strength, *jerk;
	bool spread; /* outputs have the rows of the sources */
};

/* ---- scale ----------------------------------------------------------------------------------------- */

/* n places, with velocities, masses and softenings or null.  target: indices that must be below limit, or null. */
__global__ void __launch_bounds__(SURVEY_THREADS) extremes_kernel(size_t n, const double *pos, const double *vel,
	const double *mass, const double *eps, double common_eps, size_t ntarget, const uint32_t *target, size_t limit,
	struct extremes *seen, int *d_status)
{
	nb_cuda_wait_previous();
	unsigned long long v[9] = {};
	int status = NB_OK;
	const size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
	for (size_t i = first; i < n; i += step) {
		for (int c = 0; c < 3; c++) {
			const double x = pos[3 * i + c], u = vel ? vel[3 * i + c] : 0;
			if (!isfinite(x) || !isfinite(u))
				status = max(status, (int)NB_ENONFINITE);
			v[c] = max(v[c], ordered(x));
			v[3 + c] = max(v[3 + c], ordered(-x));
			v[8] = max(v[8], ordered(fabs(u)));
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
	unsigned long long *const to[9] = {&seen->high[0], &seen->high[1], &seen->high[2], &seen->low[0], &seen->low[1],
		&seen->low[2], &seen->mass, &seen->eps, &seen->speed};
	for (int q = 0; q < 9; q++) {
		for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
			v[q] = max(v[q], __shfl_xor_sync(0xffffffff, v[q], offset));
		if (threadIdx.x % NB_WARP == 0 && v[q])
			atomicMax(to[q], v[q]);
	}
	if (status)
		atomicMax(d_status, status);
}

struct scale {
	double length, mass, velocity, mass_out, velocity_out;

	__device__ __forceinline__ scale(const struct points_job &job)
	{
		double side = 0, far = 0;
		for (int c = 0; c < 3; c++) {
			const double high = number(job.seen->high[c]), low = -number(job.seen->low[c]);
			side = fmax(side, high - low);
			far = fmax(far, fmax(-low, high));
		}
		const double extent = fmax(fmin(side, 0x1p1023), 0x1p-60 * far);
		const double typical = fmax(
			nb_pair_typical(job.nsource, job.pos, extent), job.eps ? 0 : job.common_eps);
		const double largest = fmax(extent, number(job.seen->eps));
		int remote = 0;
		length = typical < extent ? nb_pair_length(largest, typical, 1, &remote) : nb_power2(largest, 20);
		if (remote && !job.at_pos)
			*job.status = NB_EFAR;
		mass = nb_power2(number(job.seen->mass), 0);
		velocity = nb_power2(number(job.seen->speed), 0);
		mass_out = job.G * nb_power2_inverse(mass);
		velocity_out = nb_power2_inverse(velocity);
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
	__device__ __forceinline__ double jerk_of(double sum) const
	{
		return acc_of(sum) * velocity_out * length;
	}
};

/* ---- pairs ----------------------------------------------------------------------------------------- */

struct source {
	double x, y, z, m;
};
struct motion {
	double x, y, z;
};

/* What a pair needs of a source. */
template <bool JERK> struct actor {
	struct source at;
	struct motion vel;
	double soft; /* as nb_soft_of; unused with the common law */
};

/* The same of a point, which is row `row` of the sources or none of them. */
template <bool JERK> struct feeler {
	double at[3], vel[JERK ? 3 : 1], soft;
	size_t row;
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

/* The common law's eps^2; pairs of r2 <= guard are coincident. */
template <int LAW> struct softening {
	double eps2, guard;

	__device__ __forceinline__ softening(const struct points_job &job, const struct scale &scale)
	{
		const double eps = job.common_eps * scale.length;
		eps2 = nb_pair_eps2_f64(eps);
		guard = LAW == NB_LAW_COMMON && eps > 0 ? -1 : NB_PAIR_FLOOR_F64;
	}
};

/* Adds what a source does to a point. */
template <int LAW, bool MORE, bool JERK>
__device__ __forceinline__ void pair(const struct feeler<JERK> &point, const struct actor<JERK> &s, bool self,
	const struct softening<LAW> &eps, double (&sum)[sums_of(MORE, JERK)])
{
	const double x = s.at.x - point.at[0], y = s.at.y - point.at[1], z = s.at.z - point.at[2];
	double w, p = 0, f = 0;
	if constexpr (LAW == NB_LAW_SPLINE) {
		const double r2 = nb_pair_r2_f64(x, y, z, NB_PAIR_FLOOR_F64);
		const nb_pull<double> pull = nb_soften<true, true, JERK>(
			r2, rsqrt(r2), fmin(s.soft, point.soft), NB_PAIR_FLOOR_F64);
		w = pull.w, p = pull.p, f = pull.f;
	} else {
		const double r2 = nb_pair_r2_f64(x, y, z, LAW == NB_LAW_COMMON ? eps.eps2 : fmax(s.soft, point.soft));
		powers<MORE || JERK>(r2, w, p);
		if (MORE || JERK)
			p = r2 > eps.guard ? p : 0;
		if (JERK) {
			w = r2 > eps.guard ? w : 0;
			f = 3 * (p * p);
		}
	}
	w *= s.at.m;
	nb_pair_add_f64(w, x, y, z, &sum[0], &sum[1], &sum[2]);
	if constexpr (MORE) {
		p = self ? 0 : p;
		const double q = p * s.at.m;
		sum[3] -= q;
		sum[4] = fma(q, p, sum[4]);
	}
	if constexpr (JERK) {
		const double u = s.vel.x - point.vel[0], v = s.vel.y - point.vel[1], t = s.vel.z - point.vel[2];
		const double turn = f * (z * t + (y * v + x * u));
		constexpr int J = sums_of(MORE, false);
		nb_pair_add_f64(w, u - turn * x, v - turn * y, t - turn * z, &sum[J], &sum[J + 1], &sum[J + 2]);
	}
}

/* Source j of the part that ends at end, or none, which has no mass. */
template <int LAW, bool JERK>
__device__ __forceinline__ struct actor<JERK> fetch(
	const struct points_job &job, const struct scale &scale, size_t j, size_t end) {
	struct actor<JERK> s = {
	};
	if (j < end) {
		s.at.x = job.pos[3 * j] * scale.length;
		s.at.y = job.pos[3 * j + 1] * scale.length;
		s.at.z = job.pos[3 * j + 2] * scale.length;
		s.at.m = job.mass[j] * scale.mass;
		if constexpr (JERK) {
			s.vel.x = job.vel[3 * j] * scale.velocity;
			s.vel.y = job.vel[3 * j + 1] * scale.velocity;
			s.vel.z = job.vel[3 * j + 2] * scale.velocity;
		}
	}
	if constexpr (LAW != NB_LAW_COMMON)
		s.soft = nb_soft_of<LAW == NB_LAW_SPLINE>(
			j < end && job.eps ? job.eps[j] : job.common_eps, scale.length, NB_PAIR_FLOOR_F64);
	return s;
}

/* Point i, or another one if there are not so many. */
template <int LAW, bool JERK>
__device__ __forceinline__ struct feeler<JERK> find(const struct points_job &job, const struct scale &scale, size_t i) {
	struct feeler<JERK> point;
	const bool there = i < job.npoint;
	point.row = there && job.target ? job.target[i] : SIZE_MAX;
	/* a target that is no row: the other kernel has said so */
	const size_t from = !there ? 0 : job.target ? min(point.row, job.nsource - 1) : i;
	const double *const pos = job.at_pos ? job.at_pos : job.pos;
#pragma unroll
	for (int c = 0; c < 3; c++) {
		point.at[c] = pos[3 * from + c] * scale.length;
		if constexpr (JERK)
			point.vel[c] = job.vel[3 * from + c] * scale.velocity;
	}
	const double own = job.at_pos ? (job.at_eps ? job.at_eps[from] : 0) : job.eps ? job.eps[from] : job.common_eps;
	point.soft = LAW == NB_LAW_COMMON ? 0 : nb_soft_of<LAW == NB_LAW_SPLINE>(own, scale.length, NB_PAIR_FLOOR_F64);
	return point;
}

/* ---- many points ----------------------------------------------------------------------------------- */

/* Block x: points; block y: part of the sources, and slot. */
template <int LAW, bool MORE, bool JERK>
__global__ void __launch_bounds__(THREADS) many_kernel(struct points_job job)
{
	constexpr int N = sums_of(MORE, JERK);
	__shared__ struct source source[THREADS];
	__shared__ struct motion source_vel[JERK ? THREADS : 1];
	__shared__ double source_soft[LAW == NB_LAW_COMMON ? 1 : THREADS];
	nb_cuda_wait_previous();
	const struct scale scale(job);
	const struct softening<LAW> eps(job, scale);
	const size_t end = min(job.nsource, (blockIdx.y + (size_t)1) * job.part);
	const size_t first_point = blockIdx.x * (size_t)PER_BLOCK + threadIdx.x;
	struct feeler<JERK> point[K];
	double total[K][N];
#pragma unroll
	for (int k = 0; k < K; k++) {
		point[k] = find<LAW, JERK>(job, scale, first_point + k * THREADS);
#pragma unroll
		for (int c = 0; c < N; c++)
			total[k][c] = 0;
	}
	for (size_t first = blockIdx.y * job.part; first < end; first += THREADS) {
		const struct actor<JERK> mine = fetch<LAW, JERK>(job, scale, first + threadIdx.x, end);
		if (!__syncthreads_or(mine.at.m != 0)) /* and all have read the turn before */
			continue;
		source[threadIdx.x] = mine.at;
		if constexpr (JERK)
			source_vel[threadIdx.x] = mine.vel;
		if constexpr (LAW != NB_LAW_COMMON)
			source_soft[threadIdx.x] = mine.soft;
		__syncthreads();
		double sum[K][N] = {};
#pragma unroll 4
		for (int t = 0; t < THREADS; t++) {
			struct actor<JERK> s;
			s.at = source[t];
			if constexpr (JERK)
				s.vel = source_vel[t];
			s.soft = source_soft[LAW == NB_LAW_COMMON ? 0 : t];
#pragma unroll
			for (int k = 0; k < K; k++)
				pair<LAW, MORE, JERK>(point[k], s, first + t == point[k].row, eps, sum[k]);
		}
#pragma unroll
		for (int k = 0; k < K; k++)
#pragma unroll
			for (int c = 0; c < N; c++)
				total[k][c] += sum[k][c];
	}
#pragma unroll
	for (int k = 0; k < K; k++) {
		const size_t i = first_point + k * THREADS;
		if (i < job.npoint)
#pragma unroll
			for (int c = 0; c < N; c++)
				job.sum[(blockIdx.y * (size_t)N + c) * job.npoint + i] = total[k][c];
	}
}

/* ---- few points ------------------------------------------------------------------------------------ */

/* Warps of a block that have the same points. */
unsigned sharers(size_t npoint)
{
	return npoint <= K ? WARPS : npoint <= 2 * K ? WARPS / 2 : 1;
}

/* Block x: points; block y: part of the sources, of which each of the warps that share points leaves a slot. */
template <int LAW, bool MORE, bool JERK>
__global__ void __launch_bounds__(THREADS) few_kernel(struct points_job job, unsigned share)
{
	constexpr int N = sums_of(MORE, JERK), VEL = 4, SOFT = JERK ? 7 : 4;
	/* a column of numbers for each of these: lanes read neighbours */
	__shared__ double source[SOFT + (LAW != NB_LAW_COMMON)][THREADS];
	nb_cuda_wait_previous();
	const struct scale scale(job);
	const struct softening<LAW> eps(job, scale);
	const size_t end = min(job.nsource, (blockIdx.y + (size_t)1) * job.part);
	const unsigned warp = threadIdx.x / NB_WARP, lane = threadIdx.x % NB_WARP, mine = warp % share;
	const size_t first_point = (blockIdx.x * (size_t)(WARPS / share) + warp / share) * K;
	struct feeler<JERK> point[K];
	double sum[K][N] = {};
#pragma unroll
	for (int k = 0; k < K; k++)
		point[k] = find<LAW, JERK>(job, scale, first_point + k);
	for (size_t first = blockIdx.y * job.part; first < end; first += THREADS) {
		const struct actor<JERK> own = fetch<LAW, JERK>(job, scale, first + threadIdx.x, end);
		if (!__syncthreads_or(own.at.m != 0)) /* and all have read the turn before */
			continue;
		source[0][threadIdx.x] = own.at.x, source[1][threadIdx.x] = own.at.y;
		source[2][threadIdx.x] = own.at.z, source[3][threadIdx.x] = own.at.m;
		if constexpr (JERK) {
			source[VEL][threadIdx.x] = own.vel.x, source[VEL + 1][threadIdx.x] = own.vel.y;
			source[VEL + 2][threadIdx.x] = own.vel.z;
		}
		if constexpr (LAW != NB_LAW_COMMON)
			source[SOFT][threadIdx.x] = own.soft;
		__syncthreads();
#pragma unroll 2
		for (unsigned t = mine * NB_WARP + lane; t < THREADS; t += share * NB_WARP) {
			struct actor<JERK> s = {
			};
			s.at = {source[0][t], source[1][t], source[2][t], source[3][t]};
			if constexpr (JERK)
				s.vel = {source[VEL][t], source[VEL + 1][t], source[VEL + 2][t]};
			if constexpr (LAW != NB_LAW_COMMON)
				s.soft = source[SOFT][t];
#pragma unroll
			for (int k = 0; k < K; k++)
				pair<LAW, MORE, JERK>(point[k], s, first + t == point[k].row, eps, sum[k]);
		}
	}
#pragma unroll
	for (int k = 0; k < K; k++)
#pragma unroll
		for (int c = 0; c < N; c++) {
			for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
				sum[k][c] += __shfl_xor_sync(0xffffffff, sum[k][c], offset);
			if (lane == 0 && first_point + k < job.npoint)
				job.sum[((blockIdx.y * (size_t)share + mine) * N + c) * job.npoint + first_point + k] =
					sum[k][c];
		}
}

/* ---- the sum of the slots -------------------------------------------------------------------------- */

/* Block: sum blockIdx.y of 32 points; threadIdx.y takes every blockDim.y-th slot, and these shares are added in order.
 * more: as sums_of. */
__global__ void __launch_bounds__(NB_WARP *GROUPS) finish_kernel(struct points_job job, bool more)
{
	__shared__ double share[GROUPS][NB_WARP];
	nb_cuda_wait_previous();
	const int c = (int)blockIdx.y, n = (int)gridDim.y, jerk = sums_of(more, false);
	double *const out = c < 3 ? job.acc : c >= jerk ? job.jerk : c == 3 ? job.pot : job.strength;
	if (!out)
		return;
	const size_t i = blockIdx.x * (size_t)NB_WARP + threadIdx.x;
	double sum = 0;
	if (i < job.npoint)
#pragma unroll 4
		for (size_t s = threadIdx.y; s < job.slots; s += blockDim.y)
			sum += job.sum[(s * n + c) * job.npoint + i];
	share[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y > 0 || i >= job.npoint)
		return;
	for (unsigned g = 1; g < blockDim.y; g++)
		sum += share[g][threadIdx.x];
	const size_t to = job.spread ? job.target[i] : i;
	if (job.spread && to >= job.nsource)
		return;
	const struct scale scale(job);
	if (c < 3)
		out[3 * to + c] = scale.acc_of(sum);
	else if (c >= jerk)
		out[3 * to + (c - jerk)] = scale.jerk_of(sum);
	else
		out[to] = c == 3 ? scale.pot_of(sum) : scale.acc_of(sum);
}

/* ---- host ------------------------------------------------------------------------------------------ */

template <int LAW, bool MORE, bool JERK> int launch(const struct points_job &job)
{
	const unsigned parts = (unsigned)job.parts, share = sharers(job.npoint);
	if (job.npoint > FEW)
		return nb_cuda_launch(
			many_kernel<LAW, MORE, JERK>, dim3(nb_cuda_blocks(job.npoint, PER_BLOCK), parts), THREADS, job);
	return nb_cuda_launch(few_kernel<LAW, MORE, JERK>, dim3(nb_cuda_blocks(job.npoint, WARPS / share * K), parts),
		THREADS, job, share);
}

template <int LAW> int launch_wanted(const struct points_job &job, bool more)
{
	if (job.jerk)
		return more ? launch<LAW, true, true>(job) : launch<LAW, false, true>(job);
	return more ? launch<LAW, true, false>(job) : launch<LAW, false, false>(job);
}

/* Enough parts of the sources to fill the card. */
void divide(struct points_job *job)
{
	enum { BLOCKS = 2112, LEAST = 4 * THREADS }; /* 16 for each multiprocessor of an H200; sources of a part */
	const unsigned share = job->npoint > FEW ? 1 : sharers(job->npoint);
	const size_t blocks = nb_cuda_blocks(job->npoint, job->npoint > FEW ? (unsigned)PER_BLOCK : WARPS / share * K);
	const size_t most = job->nsource / LEAST > 1 ? job->nsource / LEAST : 1;
	const size_t wanted = (BLOCKS + blocks - 1) / blocks;
	job->parts = wanted < most ? wanted : most;
	job->part = (job->nsource + job->parts - 1) / job->parts;
	job->slots = job->parts * share;
}

int finish(const struct points_job &job, bool more)
{
	unsigned groups = 1;
	while (groups < GROUPS && groups < job.slots)
		groups *= 2;
	return nb_cuda_launch(finish_kernel,
		dim3(nb_cuda_blocks(job.npoint, NB_WARP), (unsigned)sums_of(more, job.jerk != nullptr)),
		dim3(NB_WARP, groups), job, more);
}

int survey(const struct points_job &job, struct extremes *seen, int *d_status)
{
	const unsigned most = 512;
	const double *const none = nullptr;
	NB_CUDA_TRY(cudaMemsetAsync(seen, 0, sizeof *seen, 0));
	NB_CUDA_TRY(cudaMemsetAsync(d_status, 0, sizeof *d_status, 0));
	NB_TRY(nb_cuda_launch(extremes_kernel, min(nb_cuda_blocks(job.nsource, SURVEY_THREADS), most), SURVEY_THREADS,
		job.nsource, job.pos, job.vel, job.mass, job.eps, job.common_eps, job.target ? job.npoint : (size_t)0,
		job.target, job.nsource, seen, d_status));
	if (job.at_pos)
		NB_TRY(nb_cuda_launch(extremes_kernel, min(nb_cuda_blocks(job.npoint, SURVEY_THREADS), most),
			SURVEY_THREADS, job.npoint, job.at_pos, none, none, job.at_eps, 0.0, (size_t)0,
			(const uint32_t *)nullptr, (size_t)0, seen, d_status));
	return NB_OK;
}

/* The outputs, of so many rows. */
int clear(const struct nb_gravity_points *points, size_t rows)
{
	if (points->acc)
		NB_CUDA_TRY(cudaMemsetAsync(points->acc, 0, 3 * rows * sizeof(double), 0));
	if (points->pot)
		NB_CUDA_TRY(cudaMemsetAsync(points->pot, 0, rows * sizeof(double), 0));
	if (points->strength)
		NB_CUDA_TRY(cudaMemsetAsync(points->strength, 0, rows * sizeof(double), 0));
	if (points->jerk)
		NB_CUDA_TRY(cudaMemsetAsync(points->jerk, 0, 3 * rows * sizeof(double), 0));
	return NB_OK;
}

struct points_job job_of(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	struct points_job job = {};
	job.nsource = g->n, job.npoint = points->n;
	job.pos = g->pos, job.mass = g->mass, job.eps = g->body_eps, job.common_eps = g->eps, job.G = g->G;
	job.vel = points->jerk ? g->vel : nullptr;
	job.at_pos = points->target ? nullptr : points->pos;
	job.at_eps = points->target ? nullptr : points->eps;
	job.target = points->target;
	job.acc = points->acc, job.pot = points->pot, job.strength = points->strength, job.jerk = points->jerk;
	job.spread = points->spread;
	divide(&job);
	return job;
}

} // namespace

int nb_gravity_points_cuda(const struct nb_gravity *g, const struct nb_gravity_points *points)
{
	if (!(g->eps >= 0) || !isfinite(g->eps) || !isfinite(g->G))
		return NB_EINVAL;
	if (((points->jerk || points->spread) && !points->target) || (points->jerk && !g->vel))
		return NB_EINVAL;
	if (g->n >= (size_t)1 << 32 || points->n >= (size_t)1 << 32)
		return NB_ELIMIT;
	if (points->spread)
		NB_TRY(clear(points, g->n));
	if (points->n == 0)
		return NB_OK;
	if (g->n == 0)
		return clear(points, points->n);
	struct points_job job = job_of(g, points);
	const bool more = points->pot || points->strength;
	nb_cuda_buffer<struct extremes> seen;
	nb_cuda_buffer<double> sum;
	nb_cuda_buffer<int> d_status;
	NB_TRY(seen.alloc(1));
	NB_TRY(d_status.alloc(1));
	NB_TRY(sum.alloc(job.slots * sums_of(more, job.jerk != nullptr) * points->n));
	job.seen = seen.ptr, job.sum = sum.ptr, job.status = d_status.ptr;
	NB_TRY(survey(job, seen.ptr, d_status.ptr));
	if (g->softening == NB_SPLINE)
		NB_TRY(launch_wanted<NB_LAW_SPLINE>(job, more));
	else if (job.eps || job.at_eps)
		NB_TRY(launch_wanted<NB_LAW_PLUMMER>(job, more));
	else
		NB_TRY(launch_wanted<NB_LAW_COMMON>(job, more));
	NB_TRY(finish(job, more));
	int status = NB_OK;
	NB_CUDA_TRY(cudaMemcpy(&status, d_status.ptr, sizeof status, cudaMemcpyDeviceToHost));
	return status;
}
