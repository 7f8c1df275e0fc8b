/* pack_internal.cuh - how bodies become the records of cuda_internal.cuh: kernels that find the scale
 * (nb_survey_kernel), order and pack the bodies, and nb_prepared, the host's side of them; and how sums become results
 * again. */
#ifndef NB_GRAVITY_PACK_INTERNAL_CUH
#define NB_GRAVITY_PACK_INTERNAL_CUH

#include "kernels/gravity/cuda_internal.cuh"

enum { NB_SURVEY_THREADS = 256, NB_SURVEY_BLOCKS = 256, NB_SURVEY_VALUES = 9 };

/* The state of a survey, in device memory.  Queuing a survey and the kernels that use its result under one
 * lock keeps it theirs: they follow each other on the default stream. */
struct nb_survey {
	double part[NB_SURVEY_BLOCKS][NB_SURVEY_VALUES];
	unsigned ticket; /* zero between surveys, like flags */
	int flags;
	struct nb_cuda_scale scale, guess; /* guess: of a sample of the bodies */
};
static __device__ struct nb_survey nb_survey_state;
static std::mutex nb_survey_lock;

enum { NB_SURVEY_BAD = 1, NB_SURVEY_NEGATIVE = 2 }; /* flags */

/* Combines value q of two parts: 0..2 smallest, 3..5 largest coordinates, 6 largest |m|, 7 largest
 * |velocity component|, 8 smallest |m|. */
static __device__ __forceinline__ double nb_survey_join(int q, double a, double b)
{
	return q < 3 || q == 8 ? fmin(a, b) : fmax(a, b);
}

/* What joined with a gives a. */
static __device__ __forceinline__ double nb_survey_none(int q)
{
	return q < 3 || q == 8 ? INFINITY : q < 6 ? -INFINITY : 0;
}

/* The block's values in part[]; all threads call. */
template <int THREADS>
static __device__ __forceinline__ void nb_survey_block(double (&v)[NB_SURVEY_VALUES], double *part)
{
	__shared__ double warp_part[THREADS / NB_WARP][NB_SURVEY_VALUES];
#pragma unroll
	for (int q = 0; q < NB_SURVEY_VALUES; q++)
		for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
			v[q] = nb_survey_join(q, v[q], __shfl_xor_sync(0xffffffff, v[q], offset));
	if (threadIdx.x % NB_WARP == 0)
#pragma unroll
		for (int q = 0; q < NB_SURVEY_VALUES; q++)
			warp_part[threadIdx.x / NB_WARP][q] = v[q];
	__syncthreads();
	if (threadIdx.x < NB_SURVEY_VALUES) {
		const int q = (int)threadIdx.x;
		double all = warp_part[0][q];
		for (int w = 1; w < THREADS / NB_WARP; w++)
			all = nb_survey_join(q, all, warp_part[w][q]);
		part[q] = all;
	}
	__syncthreads();
}

/* nb_pair_power2 by the bits of the exponent: one thread does this while the device waits. */
static __device__ __forceinline__ double nb_power2(double largest, int exponent)
{
	const int field = __double2hiint(largest) >> 20 & 0x7ff;
	const int e = largest > 0 ? exponent - (field - 1022) : exponent;
	return __hiloint2double((1023 + max(-1000, min(1000, e))) << 20, 0);
}

/* 1 / x of a power of two between 2^-1000 and 2^1000. */
static __device__ __forceinline__ double nb_power2_inverse(double x)
{
	return __hiloint2double(0x7fe00000 - __double2hiint(x), 0);
}

/* Kernel units from the values of all blocks.  eps lies at 2^-20 .. 2^-19, or without one the extent at 2^20, so
 * that r^-3 has room on both sides; an extent beyond 2^41 (f64: 2^61) is not let grow further, which would make the
 * softening larger than was asked for: typical distances must be 2^10 times that. */
static __device__ inline void nb_survey_scale(const double *v, size_t n, const double *pos, int flags, int precision,
	const struct nb_cuda_softening &softening, double G, bool equal, struct nb_cuda_scale *out)
{
	struct nb_cuda_scale s = {};
	double extent = 0, side = 0;
	for (int c = 0; c < 3; c++) {
		side = fmax(side, v[3 + c] - v[c]);
		/* mixed and f64 keep the caller's origin: a shift would round */
		extent = fmax(extent, precision == NB_F32 ? v[3 + c] - v[c] : fmax(fabs(v[c]), fabs(v[3 + c])));
		s.lo[c] = v[c];
	}
	s.side = side;
	int far = 0;
	const double typical = nb_pair_typical(n, pos, extent);
	s.length = nb_power2(extent, 20);
	if (softening.length > 0) {
		s.length = fmin(softening.length, nb_power2(extent, precision == NB_F64 ? 61 : 41));
		far = s.length < softening.length && typical * s.length < 0x1p-10;
	} else if (typical < extent) {
		s.length = nb_pair_length(extent, typical, precision == NB_F64, &far);
	}
	s.status = flags & NB_SURVEY_BAD ? NB_ENONFINITE : !isfinite(extent) ? NB_ELIMIT : far ? NB_EFAR : NB_OK;
	s.mass = nb_power2(v[6], 0);
	s.velocity = nb_power2(v[7], 0);
	s.length_more = precision == NB_F32 ? 1 : precision == NB_MIXED ? 0x1p128 : 0x1p64;
	const bool product = v[8] > 0 && v[8] * 0x1p30 >= v[6] && extent * s.length <= 0x1p21;
	s.masses = !product						    ? NB_MASSES_ANY
		   : equal && v[8] == v[6] && !(flags & NB_SURVEY_NEGATIVE) ? NB_MASSES_EQUAL
									    : NB_MASSES_PRODUCT;
	s.equal = v[6] * s.mass;
	/* lengths in the sums; z of the f64 pair is sqrt(3/2) times 1/r, and enters once or three times */
	const double length = s.length * (precision == NB_F64 ? 0x1p64 : 1);
	const double once = precision == NB_F64 ? 0.81649658092772603 : 1,
		     thrice = precision == NB_F64 ? 0.54433105395181736 : 1;
	s.acc_out = G * thrice * nb_power2_inverse(s.mass);
	s.pot_out = -G * once * nb_power2_inverse(s.mass);
	s.length_out = length;
	s.velocity_out = nb_power2_inverse(s.velocity);
	*out = s;
}

/* What a thread of a survey has seen. */
struct nb_survey_seen {
	double v[NB_SURVEY_VALUES];
	bool bad = false, negative = false;

	__device__ __forceinline__ nb_survey_seen()
	{
#pragma unroll
		for (int q = 0; q < NB_SURVEY_VALUES; q++)
			v[q] = nb_survey_none(q);
	}
	/* Body i.  vel may be null. */
	__device__ __forceinline__ void see(size_t i, const double *pos, const double *vel, const double *mass)
	{
		const double m = mass[i];
		bad |= !isfinite(m);
		negative |= m < 0;
#pragma unroll
		for (int c = 0; c < 3; c++) {
			const double x = pos[3 * i + c];
			bad |= !isfinite(x);
			v[c] = fmin(v[c], x);
			v[3 + c] = fmax(v[3 + c], x);
			if (vel) {
				bad |= !isfinite(vel[3 * i + c]);
				v[7] = fmax(v[7], fabs(vel[3 * i + c]));
			}
		}
		v[6] = fmax(v[6], fabs(m));
		v[8] = fmin(v[8], fabs(m));
	}
};

/* How a survey ends: all threads of all blocks, at most NB_SURVEY_BLOCKS of THREADS, call with what they have seen, and
 * the last block writes *scale, and its status to *d_status. */
template <int THREADS>
static __device__ __forceinline__ void nb_survey_end(struct nb_survey_seen &seen, size_t n, const double *pos,
	int precision, const struct nb_cuda_softening &softening, double G, bool equal, struct nb_cuda_scale *scale,
	int *d_status)
{
	static_assert(THREADS >= NB_SURVEY_BLOCKS, "a thread for each part");
	__shared__ bool last;
	struct nb_survey *const survey = &nb_survey_state;
	const int flags = (seen.bad ? NB_SURVEY_BAD : 0) | (seen.negative ? NB_SURVEY_NEGATIVE : 0);
	if (flags)
		atomicOr(&survey->flags, flags);
	nb_survey_block<THREADS>(seen.v, survey->part[blockIdx.x]);
	__threadfence();
	if (threadIdx.x == 0)
		last = atomicAdd(&survey->ticket, 1) == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	__threadfence();
#pragma unroll
	for (int q = 0; q < NB_SURVEY_VALUES; q++)
		seen.v[q] = threadIdx.x < gridDim.x ? __ldcg(&survey->part[threadIdx.x][q]) : nb_survey_none(q);
	__syncthreads();
	nb_survey_block<THREADS>(seen.v, survey->part[0]);
	if (threadIdx.x == 0) {
		nb_survey_scale(
			survey->part[0], n, pos, atomicExch(&survey->flags, 0), precision, softening, G, equal, scale);
		survey->ticket = 0;
		*d_status = scale->status;
	}
}

/* Finds the scale of n bodies; of bodies 0, every, 2 every, ... only a guess.  vel may be null. */
static __global__ void __launch_bounds__(NB_SURVEY_THREADS)
	nb_survey_kernel(size_t n, size_t every, const double *pos, const double *vel, const double *mass,
		int precision, struct nb_cuda_softening softening, double G, bool equal, int *d_status)
{
	nb_cuda_wait_previous();
	struct nb_survey_seen seen;
	const size_t stride = (size_t)gridDim.x * blockDim.x * every;
	for (size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * every; i < n; i += stride)
		seen.see(i, pos, vel, mass);
	nb_survey_end<NB_SURVEY_THREADS>(seen, n, pos, precision, softening, G, equal,
		every > 1 ? &nb_survey_state.guess : &nb_survey_state.scale, d_status);
}

/* Where body i of the packed order stands in the caller's. */
static __device__ __forceinline__ size_t nb_old_index(const uint32_t *perm, size_t i)
{
	return perm ? perm[i] : i;
}

/* Where the middle of bodies first .. first + count - 1 (count > 0) is, and how far they spread: medians and largest
 * distance between the quartiles, coordinate by coordinate, of 15 of them, so that stray bodies move nothing.  A
 * whole warp calls and all get it. */
static __device__ inline double nb_tile_middle(
	const double *pos, const uint32_t *perm, size_t first, size_t count, unsigned lane, double *middle)
{
	const size_t i = nb_old_index(perm, first + count * (lane % 15) / 15);
	double spread = 0;
	for (int c = 0; c < 3; c++) {
		const double x = pos[3 * i + c];
		int below = 0;
		for (int k = 0; k < 15; k++) {
			const double other = __shfl_sync(0xffffffff, x, k);
			below += other < x || (other == x && k < (int)lane);
		}
		/* a lane of rank r, the first if positions are NaN */
		auto ranked = [&](int r) {
			const unsigned at = __ballot_sync(0xffffffff, below == r && lane < 15);
			return __shfl_sync(0xffffffff, x, at ? __ffs((int)at) - 1 : 0);
		};
		middle[c] = ranked(7);
		spread = fmax(spread, ranked(11) - ranked(3));
	}
	return spread;
}

/* Packs body `old` of the caller as record i, less origin. */
template <int P, bool JERK>
static __device__ __forceinline__ void nb_pack(const struct nb_packed &out, size_t i, size_t old, const double *pos,
	const double *vel, const double *mass, const double *origin, const struct nb_cuda_scale *scale)
{
	double x[3], v[3] = {0, 0, 0};
	for (int c = 0; c < 3; c++) {
		x[c] = pos[3 * old + c];
		if (P == NB_F32)
			x[c] -= origin[c];
		x[c] *= scale->length;
		if (P == NB_MIXED) /* no difference below 2^-100, see nb_narrow */
			x[c] = rint(x[c] * 0x1p100) * 0x1p-100;
		x[c] *= scale->length_more;
		if (JERK)
			v[c] = vel[3 * old + c] * scale->velocity;
	}
	nb_body<P> b;
	b.x = (typename nb_arith<P>::coord)x[0];
	b.y = (typename nb_arith<P>::coord)x[1];
	b.z = (typename nb_arith<P>::coord)x[2];
	b.m = (typename nb_arith<P>::real)(mass[old] * scale->mass);
	nb_body_store<P>(out, i, b);
	if (JERK)
		nb_velocity_store<P>(out, i, v[0], v[1], v[2]);
}

/* Block: a tile of blockDim.x >= 64 bodies.  Its origin (f32) is its own middle where bodies are in order, by perm
 * or because it is compact; else that of all bodies: moving sources from origin to origin would only add an
 * error. */
template <int P, bool JERK>
static __global__ void nb_pack_kernel(
	size_t n, const double *pos, const double *vel, const double *mass, const uint32_t *perm, struct nb_packed out)
{
	__shared__ double middle[2][3], spread[2];
	double origin[3] = {0, 0, 0};
	nb_cuda_wait_previous();
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
	const size_t first = blockIdx.x * (size_t)blockDim.x, i = first + threadIdx.x;
	if (P == NB_F32) {
		if (threadIdx.x < 2 * NB_WARP) {
			const bool all = threadIdx.x >= NB_WARP;
			double here[3];
			const double s = nb_tile_middle(pos, perm, all ? 0 : first,
				all ? n : min(n - first, (size_t)blockDim.x), threadIdx.x % NB_WARP, here);
			if (threadIdx.x % NB_WARP == 0) {
				spread[all] = s;
				for (int c = 0; c < 3; c++)
					middle[all][c] = here[c];
			}
		}
		__syncthreads();
		const int which = perm || spread[0] < 0.5 * spread[1] ? 0 : 1;
		for (int c = 0; c < 3; c++) {
			origin[c] = middle[which][c];
			if (threadIdx.x == 0)
				out.origin[3 * blockIdx.x + c] = origin[c] * scale->length;
		}
	}
	if (i < n) {
		nb_pack<P, JERK>(out, i, nb_old_index(perm, i), pos, vel, mass, origin, scale);
	} else {
		nb_body_store<P>(out, i, nb_body_none<P>());
		if (JERK)
			nb_velocity_store<P>(out, i, 0, 0, 0);
	}
}

/* Morton keys for an order in which tiles are compact. */
static __global__ void nb_order_kernel(size_t n, const double *pos, uint64_t *key)
{
	nb_cuda_wait_previous();
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	const double cells = scale->side > 0 ? 0x1p21 / scale->side : 0;
	if (i < n)
		key[i] = nb_morton_key3(nb_morton_cell(pos[3 * i], scale->lo[0], cells, 21),
			nb_morton_cell(pos[3 * i + 1], scale->lo[1], cells, 21),
			nb_morton_cell(pos[3 * i + 2], scale->lo[2], cells, 21));
}

/* Finished sums in the caller's units. */
static __device__ __forceinline__ double nb_acc_out(const struct nb_cuda_scale *scale, double sum)
{
	return sum * scale->length_out * scale->acc_out * scale->length_out;
}
static __device__ __forceinline__ double nb_pot_out(const struct nb_cuda_scale *scale, double sum)
{
	return sum * scale->length_out * scale->pot_out;
}
static __device__ __forceinline__ double nb_jerk_out(const struct nb_cuda_scale *scale, double sum)
{
	return nb_acc_out(scale, sum) * scale->velocity_out * scale->length_out;
}

/* What a finished sum of accelerations is multiplied by (see enum nb_masses), besides the scale. */
static __device__ __forceinline__ double nb_masses_factor(const struct nb_cuda_scale *scale, double mass)
{
	return scale->masses == NB_MASSES_EQUAL	    ? scale->equal
	       : scale->masses == NB_MASSES_PRODUCT ? 1 / (mass * scale->mass)
						    : 1;
}

/* Direct sum (boxes null) or near field of pairs that are not all softened alike (soft_cuda.cu), queued.  d_status as
 * that of nb_gravity_direct_cuda_queue, NB_EINVAL too for a softening below 0; interactions of the near field are added
 * to *d_p2p.  g is checked, boxes are sound, n > 0. */
NB_MUST_CHECK int nb_gravity_soft_cuda(
	const struct nb_gravity *g, const struct nb_boxes *boxes, unsigned long long *d_p2p, int *d_status);

/* The scale of the current device; to be asked for at the primary before members replicate it. */
static inline int nb_survey_scale_of(struct nb_cuda_scale **scale)
{
	struct nb_survey *survey;
	NB_CUDA_TRY(cudaGetSymbolAddress((void **)&survey, nb_survey_state));
	*scale = &survey->scale;
	return NB_OK;
}

/* Sends the scale to members while the primary goes on. */
static inline int nb_survey_send(void)
{
	struct nb_cuda_scale *scale;
	NB_TRY(nb_survey_scale_of(&scale));
	return nb_team_send(scale, sizeof *scale);
}

/* Lets a member of the team know the scale that the primary has found. */
static inline int nb_survey_replicate(struct nb_team_copies &copies, const struct nb_cuda_scale *primary)
{
	struct nb_cuda_scale *here;
	NB_TRY(nb_survey_scale_of(&here));
	return copies.put(here, primary, sizeof *here);
}

/* The arguments that both kernels refuse, before any work. */
static inline int nb_gravity_cuda_check(const struct nb_gravity *g)
{
	if (!(g->eps >= 0) || !isfinite(g->eps) || !isfinite(g->G) || (g->jerk && !g->vel))
		return NB_EINVAL;
	if (g->precision != NB_F32 && g->precision != NB_MIXED && g->precision != NB_F64)
		return NB_EINVAL;
	if (g->n >= (size_t)1 << 32)
		return NB_ELIMIT;
	int device;
	NB_CUDA_TRY(cudaGetDevice(&device));
	return NB_OK;
}

/* Packed copies of all bodies, in the units of nb_survey_state.scale. */
struct nb_prepared {
	nb_cuda_buffer<double2> memory;
	nb_cuda_buffer<double> origin;
	nb_cuda_buffer<uint64_t> key;
	nb_cuda_buffer<uint32_t> perm; /* null: the caller's order */
	struct nb_packed packed = {};

	/* Room for npad records and tiles origins.  Like all of these under nb_survey_lock. */
	template <int P, bool JERK> int alloc(size_t npad, size_t tiles)
	{
		constexpr size_t planes = (P == NB_F32 ? 1 : 2) + (!JERK ? 0 : P == NB_F64 ? 2 : 1);
		NB_TRY(memory.alloc(planes * npad));
		NB_TRY(origin.alloc(P == NB_F32 ? 3 * tiles : 0));
		double2 *next = memory.ptr;
		packed.origin = origin.ptr;
		packed.p0 = next, next += npad;
		if (P != NB_F32)
			packed.p1 = next, next += npad;
		if (JERK)
			packed.v0 = next, next += npad;
		if (JERK && P == NB_F64)
			packed.v1 = next;
		return NB_OK;
	}

	/* The scale.  whole: there will be no padding.  Only f32 padding adds exactly 0 where masses do not count.
	 * every: as nb_survey_kernel. */
	template <int P, bool JERK>
	int survey(const struct nb_gravity *g, const struct nb_cuda_softening &softening, bool whole, int *d_status,
		size_t every = 1)
	{
		const unsigned blocks = nb_cuda_blocks((g->n - 1) / every + 1, NB_SURVEY_THREADS);
		return nb_cuda_launch(nb_survey_kernel, blocks < NB_SURVEY_BLOCKS ? blocks : (unsigned)NB_SURVEY_BLOCKS,
			NB_SURVEY_THREADS, g->n, every, g->pos, JERK ? g->vel : nullptr, g->mass, (int)P, softening,
			g->G, whole || P != NB_F64, d_status);
	}

	/* Records of whole tiles, in Z-order if wanted. */
	template <int P, bool JERK> int pack(const struct nb_gravity *g, size_t npad, unsigned tile, bool order)
	{
		NB_TRY((alloc<P, JERK>(npad, npad / tile)));
		if (order) {
			NB_TRY(key.alloc(g->n));
			NB_TRY(perm.alloc(g->n));
			NB_TRY(nb_cuda_launch(nb_order_kernel, nb_cuda_blocks(g->n, 256), 256, g->n, g->pos, key.ptr));
			NB_TRY(nb_sort_keys_cuda(g->n, key.ptr, perm.ptr));
			key.release();
		}
		return nb_cuda_launch(nb_pack_kernel<P, JERK>, (unsigned)(npad / tile), tile, g->n, g->pos, g->vel,
			g->mass, (const uint32_t *)perm.ptr, packed);
	}

	/* *in: the records, as a member of the team gets them. */
	int replicate(struct nb_team_copies &copies, struct nb_packed *in) const
	{
		double2 *records = memory.ptr;
		*in = packed;
		NB_TRY(copies.add(&records, memory.count));
		NB_TRY(copies.add(&in->origin, origin.count));
		const auto moved = [&](double2 *plane) { return plane ? records + (plane - memory.ptr) : nullptr; };
		in->p0 = moved(packed.p0), in->p1 = moved(packed.p1);
		in->v0 = moved(packed.v0), in->v1 = moved(packed.v1);
		return NB_OK;
	}
};

#endif
