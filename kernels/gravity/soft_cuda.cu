/* soft_cuda.cu - direct sum and near field on the device, of pairs that are not all softened alike: a softening of each
 * body, or a spline.  The mirror of sweep_soft in tile_body.h.
 *
 * A block takes 32 targets, four threads ("workers") each, and brings 128 sources at a time to shared memory, of which
 * a worker meets every fourth; in the end the sums of the four are added.  Sources come straight from the caller's
 * arrays. Sums over the 32 sources of a turn are of the arithmetic's precision, those of all turns in f64, in a fixed
 * order.
 *
 * Precisions: f32 and mixed have positions relative to one of the targets, f32 as a number, mixed as a pair of numbers,
 * high and low part, so that separations are accurate to f32; f64 keeps the caller's origin, so that none is rounded.
 *
 * Operations: 12 FP32 + 1 MUFU as with one softening, and a maximum for Plummer's, about 30 for the spline's. */
#include "kernels/gravity/pack_internal.cuh"
#include "kernels/gravity/plan.h"
#include "kernels/pair/pair.cuh"

enum { TARGETS = 32, WORKERS = 4, THREADS = TARGETS * WORKERS };

struct sum_of {
	size_t n;
	const double *pos, *vel, *mass, *eps; /* eps: null: the next */
	double common_eps, G;
	double *acc, *pot, *jerk;
	const unsigned long long *largest; /* bits of the largest softening */
	size_t first_block;		   /* of a launch: blocks of targets, or boxes */
	/* near field only: */
	size_t nbox;
	const uint64_t *box_first;
	const int32_t *neighbour;
	int nneighbour;
	unsigned long long *p2p;
};

/* ---- softenings ------------------------------------------------------------------------------------ */

/* Bits of numbers >= 0 are in the order of the numbers. */
static __global__ void __launch_bounds__(NB_SURVEY_THREADS)
	largest_kernel(struct sum_of s, unsigned long long *largest, int *d_status)
{
	nb_cuda_wait_previous();
	double most = s.eps ? 0 : s.common_eps;
	int status = NB_OK;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; s.eps && i < s.n;
		i += (size_t)gridDim.x * blockDim.x) {
		const double eps = s.eps[i];
		status = max(status, !isfinite(eps) ? (int)NB_ENONFINITE : eps < 0 ? (int)NB_EINVAL : (int)NB_OK);
		most = fmax(most, eps);
	}
	for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
		most = fmax(most, __shfl_xor_sync(0xffffffff, most, offset));
	if (threadIdx.x % NB_WARP == 0)
		atomicMax(largest, (unsigned long long)__double_as_longlong(most));
	if (status)
		atomicMax(d_status, status);
}

/* ---- the pair ---------------------------------------------------------------------------------------- */

template <int P> struct place {
	typename nb_arith<P>::real x, y, z;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (typename nb_arith<P>::real)px;
		y = (typename nb_arith<P>::real)py;
		z = (typename nb_arith<P>::real)pz;
	}
	__device__ __forceinline__ nb_vec<typename nb_arith<P>::real> to(const place &s) const
	{
		return {s.x - x, s.y - y, s.z - z};
	}
};
template <> struct place<NB_MIXED> {
	float x, y, z, xl, yl, zl;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (float)px, y = (float)py, z = (float)pz;
		xl = (float)(px - x), yl = (float)(py - y), zl = (float)(pz - z);
	}
	__device__ __forceinline__ nb_vec<float> to(const place &s) const
	{
		return {s.x - x + (s.xl - xl), s.y - y + (s.yl - yl), s.z - z + (s.zl - zl)};
	}
};

static __device__ __forceinline__ float inverse_root(float x)
{
	return nb_rsqrt_fast(x);
}
static __device__ __forceinline__ double inverse_root(double x)
{
	return rsqrt(x);
}

template <int P, bool JERK> struct body {
	typedef typename nb_arith<P>::real real;
	place<P> at;
	real mass, soft;
	real vel[JERK ? 3 : 1];
};

/* ---- a block's work ------------------------------------------------------------------------------------ */

/* Kernel units: those of the survey, but for softenings that are larger than the extent. */
struct units {
	double length, mass, velocity, mass_out, velocity_out;

	__device__ __forceinline__ units(const struct sum_of &s)
	{
		const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
		const double largest = __longlong_as_double((long long)*s.largest);
		length = largest > 0 ? fmin(scale->length, nb_power2(largest, 20)) : scale->length;
		mass = scale->mass, velocity = scale->velocity;
		mass_out = s.G * nb_power2_inverse(mass), velocity_out = nb_power2_inverse(velocity);
	}
	/* one factor after the other, as nb_acc_out */
	__device__ __forceinline__ double acc_of(double sum) const
	{
		return sum * length * mass_out * length;
	}
};

template <int P, bool SPLINE, bool POT, bool JERK> struct block {
	typedef typename nb_arith<P>::real real;
	typedef struct body<P, JERK> body;
	const struct sum_of &s;
	const struct units unit;
	body *const source; /* THREADS, shared */
	const unsigned target, worker;
	double origin[3];
	size_t index;
	body mine;
	nb_sum<double, POT, JERK> total;

	__device__ __forceinline__ block(const struct sum_of &in, body *shared)
	    : s(in), unit(in), source(shared), target(threadIdx.x / WORKERS), worker(threadIdx.x % WORKERS)
	{
	}

	static __device__ __forceinline__ double floor()
	{
		return P == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32;
	}

	/* Body i, or none. */
	__device__ __forceinline__ body fetch(size_t i, bool there) const
	{
		body b;
		double x[3];
#pragma unroll
		for (int c = 0; c < 3; c++) {
			x[c] = there ? (s.pos[3 * i + c] - origin[c]) * unit.length : 0;
			if constexpr (JERK)
				b.vel[c] = there ? (real)(s.vel[3 * i + c] * unit.velocity) : 0;
		}
		b.at.set(x[0], x[1], x[2]);
		b.mass = there ? (real)(s.mass[i] * unit.mass) : 0;
		b.soft = (real)nb_soft_of<SPLINE>(there && s.eps ? s.eps[i] : s.common_eps, unit.length, floor());
		return b;
	}

	/* Bodies first + 0 .. 31 below end are the targets. */
	__device__ __forceinline__ void begin(size_t first, size_t end)
	{
		const size_t middle = first + min((size_t)TARGETS, end - first) / 2;
#pragma unroll
		for (int c = 0; c < 3; c++)
			origin[c] = P == NB_F64 ? 0 : s.pos[3 * middle + c];
		index = first + target;
		mine = fetch(index, index < end);
		total.clear();
	}

	/* Bodies first .. end - 1 act; all threads call. */
	__device__ __forceinline__ void act(size_t first, size_t end)
	{
		for (size_t at = first; at < end; at += THREADS) {
			__syncthreads();
			source[threadIdx.x] = fetch(at + threadIdx.x, at + threadIdx.x < end);
			__syncthreads();
			nb_sum<real, POT, JERK> part;
			part.clear();
#pragma unroll 4
			for (unsigned k = worker; k < THREADS; k += WORKERS)
				pair(source[k], at + k == index, part);
#pragma unroll
			for (int c = 0; c < nb_sum<real, POT, JERK>::COMPONENTS; c++)
				total.v[c] += part.v[c];
		}
	}

	__device__ __forceinline__ void pair(const body &other, bool self, nb_sum<real, POT, JERK> &part) const
	{
		const nb_vec<real> d = mine.at.to(other.at);
		const real soft = SPLINE ? min(mine.soft, other.soft) : max(mine.soft, other.soft);
		const real least = (real)floor(), r2 = d.z * d.z + (d.y * d.y + (d.x * d.x + (SPLINE ? least : soft)));
		const struct nb_pull<real> pull = nb_soften<SPLINE, POT, JERK>(r2, inverse_root(r2), soft, least);
		const real w = pull.w * other.mass;
		part.v[0] += w * d.x, part.v[1] += w * d.y, part.v[2] += w * d.z;
		if constexpr (POT)
			part.v[3] += self ? 0 : pull.p * other.mass;
		if constexpr (JERK) {
			const real x = other.vel[0] - mine.vel[0], y = other.vel[1] - mine.vel[1],
				   z = other.vel[2] - mine.vel[2];
			const real f = pull.f * (d.z * z + (d.y * y + d.x * x));
			part.v[3 + POT] += w * (x - f * d.x);
			part.v[4 + POT] += w * (y - f * d.y);
			part.v[5 + POT] += w * (z - f * d.z);
		}
	}

	/* The sum of the workers. */
	__device__ __forceinline__ void end(size_t end)
	{
#pragma unroll
		for (int c = 0; c < nb_sum<double, POT, JERK>::COMPONENTS; c++)
			for (unsigned offset = 1; offset < WORKERS; offset *= 2)
				total.v[c] += __shfl_xor_sync(0xffffffff, total.v[c], (int)offset);
		if (worker != 0 || index >= end)
			return;
#pragma unroll
		for (int c = 0; c < 3; c++)
			s.acc[3 * index + c] = unit.acc_of(total.v[c]);
		if constexpr (POT)
			s.pot[index] = -total.v[3] * unit.length * unit.mass_out;
		if constexpr (JERK)
#pragma unroll
			for (int c = 0; c < 3; c++)
				s.jerk[3 * index + c] = unit.acc_of(total.v[3 + POT + c]) * unit.velocity_out *
							unit.length;
	}
};

/* Block: 32 bodies. */
template <int P, bool SPLINE, bool POT, bool JERK>
static __global__ void __launch_bounds__(THREADS) direct_kernel(struct sum_of s)
{
	__shared__ struct body<P, JERK> source[THREADS];
	nb_cuda_wait_previous();
	struct block<P, SPLINE, POT, JERK> block(s, source);
	block.begin((s.first_block + blockIdx.x) * TARGETS, s.n);
	block.act(0, s.n);
	block.end(s.n);
}

/* Block: a box. */
template <int P, bool SPLINE, bool POT, bool JERK>
static __global__ void __launch_bounds__(THREADS) near_kernel(struct sum_of s)
{
	__shared__ struct body<P, JERK> source[THREADS];
	nb_cuda_wait_previous();
	struct block<P, SPLINE, POT, JERK> block(s, source);
	const size_t box = s.first_block + blockIdx.x, first = s.box_first[box], end = s.box_first[box + 1];
	unsigned long long felt = 0;
	for (size_t at = first; at < end; at += TARGETS) {
		felt = 0;
		block.begin(at, end);
		for (int k = -1; k < s.nneighbour; k++) {
			const int64_t other = k < 0 ? (int64_t)box : s.neighbour[box * s.nneighbour + k];
			if (other < 0)
				continue;
			felt += s.box_first[other + 1] - s.box_first[other];
			block.act(s.box_first[other], s.box_first[other + 1]);
		}
		block.end(end);
	}
	if (threadIdx.x == 0 && end > first)
		atomicAdd(s.p2p, (end - first) * (felt - 1));
}

/* ---- host ------------------------------------------------------------------------------------------------ */

/* How many blocks there are, and those that a launch does. */
static size_t all_blocks(const struct sum_of &s)
{
	return s.box_first ? s.nbox : (s.n + TARGETS - 1) / TARGETS;
}

struct range {
	cudaStream_t stream;
	size_t begin, end;
};

template <int P, bool SPLINE, bool POT, bool JERK> static int launch(struct sum_of s, const struct range &r)
{
	const unsigned blocks = (unsigned)(r.end - r.begin);
	s.first_block = r.begin;
	if (blocks == 0)
		return NB_OK;
	if (s.box_first)
		return nb_cuda_launch_on(r.stream, near_kernel<P, SPLINE, POT, JERK>, blocks, THREADS, 0, s);
	return nb_cuda_launch_on(r.stream, direct_kernel<P, SPLINE, POT, JERK>, blocks, THREADS, 0, s);
}

template <int P, bool SPLINE> static int launch_wanted(const struct sum_of &s, const struct range &r)
{
	if (s.pot)
		return s.jerk ? launch<P, SPLINE, true, true>(s, r) : launch<P, SPLINE, true, false>(s, r);
	return s.jerk ? launch<P, SPLINE, false, true>(s, r) : launch<P, SPLINE, false, false>(s, r);
}

template <int P> static int launch_law(const struct sum_of &s, bool spline, const struct range &r)
{
	return spline ? launch_wanted<P, true>(s, r) : launch_wanted<P, false>(s, r);
}

static int launch_range(const struct sum_of &s, const struct nb_gravity *g, const struct range &r)
{
	switch (g->precision) {
	case NB_F32: return launch_law<NB_F32>(s, g->softening == NB_SPLINE, r);
	case NB_MIXED: return launch_law<NB_MIXED>(s, g->softening == NB_SPLINE, r);
	case NB_F64: return launch_law<NB_F64>(s, g->softening == NB_SPLINE, r);
	}
	return NB_EINVAL;
}

/* ---- several devices --------------------------------------------------------------------------------------- */

enum { PARTS = 64, SHARED_DIRECT = 98304, SHARED_NEAR = 1 << 16 /* bodies: fewer are left to the primary */ };

static bool is_shared(const struct sum_of &s)
{
	return nb_team_size() > 1 && s.n >= (s.box_first ? SHARED_NEAR : SHARED_DIRECT);
}

static int replicate(struct nb_team_copies &copies, struct sum_of *s)
{
	NB_TRY(copies.add(&s->pos, 3 * s->n));
	NB_TRY(copies.add(&s->vel, 3 * s->n));
	NB_TRY(copies.add(&s->mass, s->n));
	NB_TRY(copies.add(&s->eps, s->n));
	NB_TRY(copies.add(&s->largest, 1));
	NB_TRY(copies.add(&s->box_first, s->nbox + 1));
	NB_TRY(copies.add(&s->neighbour, s->nbox * (size_t)s->nneighbour));
	return NB_OK;
}

/* The parts of one member; part k has bodies bound[k] .. bound[k + 1] - 1. */
static int do_parts(struct nb_team_worker &worker, const struct sum_of &primary, const struct nb_gravity *g,
	size_t parts, const uint64_t *bound, const struct nb_cuda_scale *scale, unsigned long long *p2p)
{
	const size_t n = primary.n, blocks = all_blocks(primary);
	nb_cuda_buffer<double> acc, pot, jerk;
	nb_cuda_buffer<unsigned long long> counted;
	struct nb_team_copies copies(worker);
	struct sum_of s = primary;
	NB_TRY(counted.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(counted.ptr, 0, sizeof *counted.ptr, 0));
	s.p2p = counted.ptr;
	if (!worker.is_primary()) {
		NB_TRY(acc.alloc(3 * n));
		NB_TRY(pot.alloc(primary.pot ? n : 0));
		NB_TRY(jerk.alloc(primary.jerk ? 3 * n : 0));
		s.acc = acc.ptr, s.pot = pot.ptr, s.jerk = jerk.ptr;
	}
	NB_TRY(replicate(copies, &s));
	NB_TRY(nb_survey_replicate(copies, scale));
	NB_TRY(copies.fetch());
	for (size_t k; worker.next(&k);) {
		const size_t first = bound[k], bytes = (bound[k + 1] - first) * sizeof(double);
		NB_TRY(launch_range(s, g, {worker.stream(), blocks * k / parts, blocks * (k + 1) / parts}));
		NB_TRY(worker.copy_back(primary.acc + 3 * first, s.acc + 3 * first, 3 * bytes));
		if (s.pot)
			NB_TRY(worker.copy_back(primary.pot + first, s.pot + first, bytes));
		if (s.jerk)
			NB_TRY(worker.copy_back(primary.jerk + 3 * first, s.jerk + 3 * first, 3 * bytes));
	}
	NB_TRY(worker.finish());
	NB_CUDA_TRY(cudaMemcpy(p2p, counted.ptr, sizeof *p2p, cudaMemcpyDeviceToHost));
	return NB_OK;
}

static int share(const struct sum_of &s, const struct nb_gravity *g)
{
	const size_t blocks = all_blocks(s), parts = blocks < PARTS ? blocks : (size_t)PARTS;
	uint64_t bound[PARTS + 1];
	unsigned long long p2p[NB_TEAM_MOST] = {}, all = 0;
	struct nb_cuda_scale *scale;
	NB_TRY(nb_survey_scale_of(&scale));
	for (size_t k = 0; k <= parts; k++) {
		const size_t block = blocks * k / parts;
		bound[k] = k == parts ? s.n : block * TARGETS;
		if (s.box_first)
			NB_CUDA_TRY(
				cudaMemcpy(&bound[k], s.box_first + block, sizeof bound[k], cudaMemcpyDeviceToHost));
	}
	NB_TRY(nb_team_run(parts, [&](struct nb_team_worker &worker) {
		return do_parts(worker, s, g, parts, bound, scale, &p2p[worker.member]);
	}));
	for (const unsigned long long count : p2p)
		all += count;
	if (s.box_first)
		NB_CUDA_TRY(cudaMemcpy(s.p2p, &all, sizeof all, cudaMemcpyHostToDevice));
	return NB_OK;
}

/* ---- one device, or the team -------------------------------------------------------------------------------- */

int nb_gravity_soft_cuda(
	const struct nb_gravity *g, const struct nb_boxes *boxes, unsigned long long *d_p2p, int *d_status)
{
	nb_cuda_buffer<unsigned long long> largest;
	NB_TRY(largest.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(largest.ptr, 0, sizeof *largest.ptr, 0));
	struct sum_of s = {};
	s.n = g->n, s.pos = g->pos, s.vel = g->jerk ? g->vel : nullptr, s.mass = g->mass, s.eps = g->body_eps;
	s.common_eps = g->eps, s.G = g->G;
	s.acc = g->acc, s.pot = g->pot, s.jerk = g->jerk;
	s.largest = largest.ptr;
	if (boxes) {
		s.nbox = boxes->nbox, s.box_first = boxes->box_first;
		s.neighbour = boxes->neighbour, s.nneighbour = boxes->nneighbour, s.p2p = d_p2p;
	}
	const std::lock_guard<std::mutex> lock(nb_survey_lock);
	const struct nb_cuda_softening none = {0, 0, 0};
	/* relative positions, as those of f32, are what all precisions have here but f64 */
	const unsigned blocks = min(nb_cuda_blocks(g->n, NB_SURVEY_THREADS), (unsigned)NB_SURVEY_BLOCKS);
	NB_TRY(nb_cuda_launch(nb_survey_kernel, blocks, NB_SURVEY_THREADS, g->n, (size_t)1, g->pos, s.vel, g->mass,
		(int)(g->precision == NB_F64 ? NB_F64 : NB_F32), none, g->G, false, d_status));
	NB_TRY(nb_cuda_launch(largest_kernel, blocks, NB_SURVEY_THREADS, s, largest.ptr, d_status));
	return is_shared(s) ? share(s, g) : launch_range(s, g, {0, 0, all_blocks(s)});
}
