/* workspace_internal.cuh - what a walk's kernel is compiled for, and what a warp has in shared memory and in registers
 * (walk_internal.cuh). */
#ifndef NB_WALK_GPU_WORKSPACE_INTERNAL_CUH
#define NB_WALK_GPU_WORKSPACE_INTERNAL_CUH

#include "kernels/walk_gpu/expansion_internal.cuh"
#include "kernels/walk_gpu/walk_internal.cuh"

/* What a kernel is compiled for, and the types that follow from it. */
template <int PRECISION, bool WITH_POT, bool WITH_JERK, bool COUNTED, int PAIR_LAW, int MULTIPOLE_ORDER,
	bool IS_HARMONIC>
struct kind {
	static constexpr int P = PRECISION, LAW = PAIR_LAW, ORDER = MULTIPOLE_ORDER;
	static constexpr bool POT = WITH_POT, JERK = WITH_JERK, COUNT = COUNTED, HARMONIC = IS_HARMONIC;
	enum {
		HIGH = ORDER > 2,
		EXPANDS = HIGH || P != NB_F64, /* has local expansions */
		REGIONS = !JERK && EXPANDS,
		WARPS = HIGH ? P == NB_F64 ? 1 : 2 : 4, /* of a block; local expansions of high order stand in
							   shared memory */
		TOP = HIGH ? 256 : 512,			/* of a stack in shared memory; rarely is more needed */
		/* on a multiprocessor: registers for 5 where that spills nothing, and with jerks for 3.  In high orders
		 * shared memory is the limit: 228 KiB for all, and, of devices before 8.0, 64 KiB for one. */
		BLOCKS = ORDER == 3	       ? 8
			 : ORDER == 4	       ? P == NB_F64 && HARMONIC ? 8
						 : HARMONIC		 ? 6
									 : 5
			 : JERK		       ? 3
			 : P == NB_F32 && !POT ? 5
					       : 4
	};
	typedef typename arith<P>::real real;
	typedef struct place<P> place_type;
	typedef struct source<P, JERK, LAW> source_type;
	typedef struct target<P, POT, JERK, LAW, ORDER, HARMONIC> target_type;
	typedef of_order<ORDER, HARMONIC> order;
	typedef nb_high_far<(HIGH ? ORDER : 3), HARMONIC> far_field; /* of orders 3 and 4 */
	typedef typename std::conditional<HIGH,
		typename std::conditional<LAW == NB_LAW_PLUMMER, nb_high_soft_pole<real, (HIGH ? ORDER : 3)>,
			nb_high_pole<real, (HIGH ? ORDER : 3), HARMONIC>>::type,
		pole<real, JERK>>::type pole_type;
	enum { TERMS = HIGH ? (int)far_field::ALL : (int)expansion::TERMS }; /* of a region's local expansion */
};

/* How the group moves: its mean velocity; relative to the root, scaled. */
template <bool JERK> struct shared_motion {
};
template <> struct shared_motion<true> {
	double velocity[3], speed;
	float drift[3];
};

/* Softenings of the group, in the cells' units: the least, root of the mean square, and the largest; Plummer: all that
 * there are, if they are at most KINDS; error: that an accepted cell may have. */
template <bool SOFT> struct shared_soft {
};
template <> struct shared_soft<true> {
	float eps_low, eps_mean, eps_high, error;
	float kind[KINDS];
	int nkind;
};

/* The group's local expansion of orders 3 and 4, one of each lane. */
template <class K, bool HIGH> struct shared_sums {
};
template <class K> struct shared_sums<K, true> {
	alignas(16) typename K::real sums[K::far_field::TERMS * 32];
};

/* A warp's shared memory. */
template <class K> struct shared : shared_motion<K::JERK>, shared_soft<K::LAW != 0>, shared_sums<K, K::HIGH> {
	typedef typename K::source_type source_type;
	typedef typename K::pole_type pole_type;
	typedef typename K::real real;
	double centre[3], scale; /* group units: (x - centre) scale */
	float4 high;		 /* the centre, as for the cells; group units from the cells' */
	float4 low;		 /* and the sphere's radius */
	float4 half;		 /* the box; times a cell's influence: how far it must be to be far */
	float spread;		 /* the same for the local expansion, times the root of mass in extent */
	real eps2;
	union {
		source_type body[32];
		pole_type cell[32];
	};
	uint32_t body_queue[64];
	float4 cell_queue[64], far_queue[64]; /* place relative to the group's centre, in the cells' units; node */
	uint32_t body_index[K::POT ? 32 : 1]; /* from the group's first */
	uint4 range;			      /* range_of */
	uint32_t region_begin;		      /* the first region that there is memory for */
	float beyond;			      /* distance from where on cells do not count */
	uint32_t top[K::TOP];		      /* of the stack */
};

struct no_expansion {
};

/* One warp at one group: where its data are, and its registers.  Parts of the walk derive from it, one after the
 * other. */
template <class K> struct walker_state {
	typedef typename K::real real;
	typedef typename K::target_type target_type;
	typedef struct shared<K> shared_type;
	const struct walk &w;
	shared_type &mine;
	uint32_t *stack;
	const unsigned lane;

	uint32_t first, num;  /* the group's bodies */
	const uint32_t *list; /* of its region, nodes to begin with beside those on the stack */
	uint32_t unseen;      /* of them */
	bool in_region;	      /* else the walk begins at the root */
	uint32_t region;      /* in the range */
	target_type target[SLOTS];
	typename std::conditional<K::HIGH, struct no_expansion, struct expansion>::type local;
	typename std::conditional<K::JERK && K::P != NB_F64, struct expansion_rate, struct no_expansion_rate>::type
		local_rate;
	unsigned nbody, ncell, nfar;
	bool expanded, broken;
	unsigned long long p2p, m2p, m2l;

	static __device__ __forceinline__ float warp_min(float v)
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2)
			v = fminf(v, __shfl_xor_sync(0xffffffff, v, offset));
		return v;
	}
	static __device__ __forceinline__ float warp_max(float v)
	{
		return -warp_min(-v);
	}

	__device__ __forceinline__ walker_state(const struct walk &in, shared_type &s, uint32_t *on)
	    : w(in), mine(s), stack(on), lane(threadIdx.x % 32), p2p(0), m2p(0), m2l(0)
	{
	}
};

#endif
