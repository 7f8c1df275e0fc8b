/* near_internal.cuh - the near field on the device (near_cuda.cu): what its kernels read, the packing of bodies, and
 * how sums become results. */
#ifndef NB_GRAVITY_NEAR_INTERNAL_CUH
#define NB_GRAVITY_NEAR_INTERNAL_CUH

#include "kernels/gravity/pack_internal.cuh"

/* What comes back to the host, and the scale, for other devices. */
struct outcome {
	unsigned long long p2p;
	unsigned long long drawn[NB_TEAM_MOST]; /* units, by each member */
	int status;
	struct nb_cuda_scale scale;
};

/* Everything the kernels read, besides the packed bodies. */
struct near_field {
	size_t n, nbox;
	const uint64_t *first;	  /* nbox + 1 */
	const int32_t *neighbour; /* nbox x nneighbour */
	int nneighbour;
	uint32_t *box_of;  /* n; null for n3 */
	size_t begin, end; /* the boxes that a launch of n3 is for */
};

struct outputs {
	double *acc, *pot, *jerk;
};

enum {
	PARTIAL_EVERY = 16, /* chunks of 32 sources in the registers of n3 ... */
	FLUSH_EVERY = 128,  /* ... and in its shared sums, before they go to device memory */
	SUM_THREADS = 128
};

/* ---- preparation ----------------------------------------------------------------------------------- */

/* In which scale bodies are packed: in that which is known, in a guess while it is found, so that they are looked at
 * once instead of twice, or, where the guess was wrong, again. */
enum pack_turn { PACK_KNOWN, PACK_GUESSED, PACK_AGAIN };

enum { PACK_THREADS = 512 };

/* The boxes of bodies in a row, 32 at a time: each lane knows that of its own body, where it and the next one begin,
 * and its origin (f32), halfway between its first body and its last, which in Z-order stand in opposite corners. */
template <int P> struct box_walk {
	const struct near_field &f;
	const double *const pos;
	const unsigned lane;
	bool turned = false; /* lanes may differ */
	size_t box;
	uint64_t first = 0, next = 0;
	double origin[3] = {0, 0, 0};

	/* Stands before body i, the same for all lanes. */
	__device__ __forceinline__ box_walk(
		const struct near_field &field, const double *positions, size_t i, unsigned l)
	    : f(field), pos(positions), lane(l)
	{
		size_t count = f.nbox;
		box = 0; /* the last that begins at or before i */
		while (count > 1) {
			const size_t step = (count + NB_WARP - 1) / NB_WARP;
			const bool begins = lane * step < count && f.first[box + lane * step] <= i;
			const size_t before = (31 - __clz((int)__ballot_sync(0xffffffff, begins))) * step;
			box += before;
			count = min(step, count - before);
		}
	}

	template <class T> static __device__ __forceinline__ T of_last_lane(T x)
	{
		return __shfl_sync(0xffffffff, x, NB_WARP - 1);
	}

	/* Lanes go to bodies base, base + 1, ..., not beyond `last`. */
	__device__ __forceinline__ void go(size_t base, size_t last)
	{
		const uint64_t end = of_last_lane(next);
		if (end > last) { /* all in the box that the last lane was in */
			if (turned) {
				box = of_last_lane(box), first = of_last_lane(first), next = end;
				for (int c = 0; c < 3; c++)
					origin[c] = of_last_lane(origin[c]);
			}
			turned = false;
			return;
		}
		const size_t i = min(base + lane, last);
		box = of_last_lane(box);
		/* of the next 32 boxes, those that begin at or before i */
		const uint64_t begin = f.first[min(box + 1 + lane, f.nbox)];
		unsigned passed = 0;
#pragma unroll
		for (unsigned step = NB_WARP / 2; step > 0; step /= 2)
			passed += __shfl_sync(0xffffffff, begin, (int)(passed + step - 1)) <= i ? step : 0;
		passed += __shfl_sync(0xffffffff, begin, (int)passed) <= i ? 1 : 0;
		box += passed;
		if (passed == NB_WARP) /* or more: of many empty boxes */
			for (size_t high = f.nbox; box + 1 < high;) {
				const size_t middle = box + (high - box) / 2;
				*(f.first[middle] <= i ? &box : &high) = middle;
			}
		box = min(box, f.nbox - 1);
		first = f.first[box], next = f.first[box + 1];
		if (P == NB_F32)
			for (int c = 0; c < 3; c++)
				origin[c] = pos[3 * first + c] / 2 + pos[3 * (next - 1) + c] / 2;
		turned = true;
	}

	/* Interactions of the boxes that begin with lanes' bodies: a share of this lane. */
	__device__ __forceinline__ unsigned long long interactions(bool begins) const
	{
		unsigned long long all = 0;
		for (unsigned left = __ballot_sync(0xffffffff, begins); left; left &= left - 1) {
			const int who = __ffs((int)left) - 1;
			const uint64_t mine = __shfl_sync(0xffffffff, box, who),
				       count = __shfl_sync(0xffffffff, next - first, who);
			const int32_t b = (int)lane < f.nneighbour ? f.neighbour[mine * f.nneighbour + lane] : -1;
			all += (b < 0 ? 0 : f.first[b + 1] - f.first[b]) * count;
			if (lane == 0)
				all += (count - 1) * count;
		}
		return all;
	}
};

/* Warp: a row of bodies.  The first one of a box sets the box's origin (f32) and counts the interactions. */
template <int P, bool JERK, int TURN>
static __global__ void __launch_bounds__(PACK_THREADS, 2) body_kernel(const __grid_constant__ struct near_field f,
	const double *pos, const double *vel, const double *mass, const __grid_constant__ struct nb_cuda_softening soft,
	double G, struct nb_packed out, struct outcome *outcome)
{
	nb_cuda_wait_previous();
	struct nb_survey *const survey = &nb_survey_state;
	const struct nb_cuda_scale *const scale = TURN == PACK_GUESSED ? &survey->guess : &survey->scale;
	if (TURN != PACK_GUESSED && blockIdx.x == 0 && threadIdx.x == 0)
		outcome->scale = *scale;
	if (TURN == PACK_AGAIN && scale->length == survey->guess.length && scale->mass == survey->guess.mass)
		return;
	const size_t thread = blockIdx.x * (size_t)PACK_THREADS + threadIdx.x,
		     each = ((f.n - 1) / ((size_t)gridDim.x * PACK_THREADS) + 1) * NB_WARP;
	const size_t begin = thread / NB_WARP * each, stop = min(f.n, begin + each);
	const unsigned lane = threadIdx.x % NB_WARP;
	struct nb_survey_seen seen;
	unsigned long long interactions = 0;
	if (begin < stop) {
		box_walk<P> walk(f, pos, begin, lane);
		for (size_t base = begin; base < stop; base += NB_WARP) {
			const size_t i = base + lane, last = min(base + NB_WARP, stop) - 1;
			walk.go(base, last);
			if (i <= last) {
				if (TURN == PACK_GUESSED)
					seen.see(i, pos, nullptr, mass);
				nb_pack<P, JERK>(out, i, i, pos, vel, mass, walk.origin, scale);
				if (f.box_of)
					f.box_of[i] = (uint32_t)walk.box;
			}
			if (!walk.turned)
				continue;
			const bool begins = i == walk.first;
			if (P == NB_F32 && begins)
				for (int c = 0; c < 3; c++)
					out.origin[3 * walk.box + c] = walk.origin[c] * scale->length;
			if (TURN != PACK_AGAIN)
				interactions += walk.interactions(begins);
		}
	}
	for (int offset = NB_WARP / 2; offset > 0; offset /= 2)
		interactions += __shfl_xor_sync(0xffffffff, interactions, offset);
	if (lane == 0 && interactions)
		atomicAdd(&outcome->p2p, interactions);
	if (TURN == PACK_GUESSED)
		nb_survey_end<PACK_THREADS>(seen, f.n, pos, P, soft, G, P != NB_F64, &survey->scale, &outcome->status);
}

/* The scale that the primary has found becomes that of this device. */
static __global__ void scale_kernel(const struct nb_cuda_scale *scale)
{
	nb_cuda_wait_previous();
	nb_survey_state.scale = *scale;
}

/* ---- sums ---------------------------------------------------------------------------------------------------- */

template <int P, bool POT, bool JERK>
static __device__ __forceinline__ void write_result(
	const nb_sum<double, POT, JERK> &total, size_t i, const struct outputs &out)
{
	const struct nb_cuda_scale *const scale = &nb_survey_state.scale;
#pragma unroll
	for (int c = 0; c < 3; c++)
		out.acc[3 * i + c] = nb_acc_out(scale, total.v[c]);
	if constexpr (POT)
		out.pot[i] = nb_pot_out(scale, total.v[3]);
	if constexpr (JERK)
#pragma unroll
		for (int c = 0; c < 3; c++)
			out.jerk[3 * i + c] = nb_jerk_out(scale, total.v[3 + POT + c]);
}

template <class real, bool POT, bool JERK>
static __device__ __forceinline__ void add_to(nb_sum<double, POT, JERK> &total, const nb_sum<real, POT, JERK> &part)
{
#pragma unroll
	for (int c = 0; c < nb_sum<real, POT, JERK>::COMPONENTS; c++)
		total.v[c] += part.v[c];
}

/* Number k of the boxes around one, itself being number -1; -1 where there is none. */
static __device__ __forceinline__ int64_t box_around(const struct near_field &f, size_t box, int k)
{
	return k < 0 ? (int64_t)box : f.neighbour[box * f.nneighbour + k];
}

#endif
