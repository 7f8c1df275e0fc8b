/* cuda_internal.cuh - what the direct sum and the near field share on the device.
 *
 * Bodies are packed into scaled records (pair.h: powers of two, so that any units fit f32)
 * and padded with massless bodies to whole tiles.  The three precisions:
 *
 *   f32    positions relative to the centre of the body's tile, in f64 until then, 16 bytes a body; sources are
 *          shifted to the targets' centre when they are fetched, so that separations are as good as the
 *          tiles are compact (bodies in Z-order).  12 FP32 + 1 MUFU instructions for an interaction,
 *          16 + 1 for a pair of interactions.
 *   mixed  f64 positions; the f64 difference becomes f32 by two integer instructions a component
 *          (a conversion instruction has a sixteenth of the FMA rate).  The stored coordinate is scaled by
 *          2^128, so that the low 8 of a double's 11 exponent bits are those of the float; truncation, error
 *          below 2^-23 of the separation.
 *   f64    r^-3 from an f32 reciprocal root z ~ sqrt(3/2) r^-1 and one Newton step taken on the cube,
 *          r^-3 = (2/3)^(3/2) z^3 (5/2 - r^2 z^2) (1 + O(e^2)), e ~ 2^-22: 4 f64 instructions, 18 for a pair, relative
 *          error of a few 1e-14.  Stored coordinates are scaled by 2^64 so that r^2 as float is one shift.
 *
 * Everything here is a template over the precision P and over what is wanted, POT and JERK, and is compiled into
 * direct_cuda.cu and near_cuda.cu.  Sections: units (device) and softening (host), arithmetic of a precision (records,
 * loads and stores), the pair (nb_pair: one interaction), a warp's unit of work (nb_ring, nb_targets: K targets a lane
 * against 32 sources, with or without Newton's third law), preparation (kernels that find the scale, nb_survey_kernel,
 * order and pack the bodies; and nb_prepared, the host's side of them). */
#ifndef NB_GRAVITY_CUDA_INTERNAL_CUH
#define NB_GRAVITY_CUDA_INTERNAL_CUH

#include <math.h>

#include <mutex>

#include "kernels/device/device.cuh"
#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"
#include "kernels/pair/pair.h"
#include "kernels/team/team.cuh"

enum { NB_WARP = 32 };

/* How masses enter.  A pair needs m_j w for the target and m_i w for the source, two multiplications and,
 * what costs more, two weights to read from the registers in six multiply-adds.  One weight serves both sides where
 * the sums are forces, m_i m_j w, divided by m_i at the end; and no multiplication is needed where all
 * masses are equal.  Acceleration only. */
enum nb_masses {
	NB_MASSES_ANY,
	NB_MASSES_PRODUCT, /* none is 0, the largest at most 2^30 times the smallest: products stay in range */
	NB_MASSES_EQUAL	   /* padding has no mass to be told by: it stands so far off that its r^-3 vanishes */
};

/* ---- units ------------------------------------------------------------------------------------- */

/* Kernel units, found on the device, never copied to the host. */
struct nb_cuda_scale {
	double length, mass, velocity;
	double length_more; /* the second factor of positions, see above */
	/* what makes the sums those of the caller's units, one factor after the other: their product may leave the
	 * range that the result is in (nb_acc_out) */
	double acc_out, pot_out, length_out, velocity_out;
	double equal;	    /* NB_MASSES_EQUAL: the mass of every body */
	int masses;	    /* the enum nb_masses that the masses allow */
	int status;	    /* enum nb_status */
	double lo[3], side; /* the cube of all bodies */
};

/* The part of the units that the host knows, so that kernels have eps^2 as a constant operand: it is read for every
 * pair, and the register file is the bottleneck. */
struct nb_cuda_softening {
	double length; /* of the caller's eps; the device takes a smaller one for an extent beyond reach; 0: eps is 0 */
	double eps2;   /* eps^2, or its floor, in kernel units */
	double guard;  /* r2 <= guard: coincident, nothing but acc is defined */
};

static inline struct nb_cuda_softening nb_cuda_softening_of(double eps, int precision)
{
	const double floor = precision == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32;
	const double more = precision == NB_F64 ? 0x1p128 : 1; /* of the squares of stored coordinates */
	struct nb_cuda_softening s = {0, floor * more, floor * more};
	if (eps > 0) {
		s.length = nb_pair_power2(eps, -19);
		s.eps2 = fmax(eps * s.length * (eps * s.length), floor) * more;
		s.guard = -1;
	}
	return s;
}

/* ---- arithmetic of a precision ------------------------------------------------------------------- */

template <int P> struct nb_arith {
	typedef float real;
	typedef float coord;
};
template <> struct nb_arith<NB_MIXED> {
	typedef float real;
	typedef double coord;
};
template <> struct nb_arith<NB_F64> {
	typedef double real;
	typedef double coord;
};

template <int P> struct nb_body {
	typename nb_arith<P>::coord x, y, z;
	typename nb_arith<P>::real m;
};
template <class real> struct nb_vec {
	real x, y, z;
};

/* Packed bodies.  f32: p0 float4 (x, y, z, m).  mixed: p0 double2 (x, y), p1 double2 (z, m as f32 in the low
 * word).  f64: p0 (x, y), p1 (z, m).  Velocities: v0 float4, or v0 and v1 double2. */
struct nb_packed {
	double2 *p0, *p1, *v0, *v1;
	double *origin; /* f32: x 3, the centre of each tile */
};

/* What takes an f32 position from the origin of one tile to that of another; nothing in the other precisions. */
struct nb_shift {
	float x, y, z;
};

template <int P> static __device__ __forceinline__ nb_shift nb_shift_of(const nb_packed &s, size_t from, size_t to)
{
	nb_shift shift = {0, 0, 0};
	if constexpr (P == NB_F32) {
		const double *a = s.origin + 3 * from, *b = s.origin + 3 * to;
		shift.x = (float)(__ldg(a) - __ldg(b));
		shift.y = (float)(__ldg(a + 1) - __ldg(b + 1));
		shift.z = (float)(__ldg(a + 2) - __ldg(b + 2));
	}
	return shift;
}

template <bool GLOBAL, class T> static __device__ __forceinline__ T nb_read(const T *p)
{
	if constexpr (GLOBAL)
		return __ldg(p);
	else
		return *p;
}

/* Body i.  GLOBAL: from device memory that this kernel does not write; else from shared memory. */
template <int P, bool GLOBAL> static __device__ __forceinline__ nb_body<P> nb_body_load(const nb_packed &s, size_t i)
{
	nb_body<P> b;
	if constexpr (P == NB_F32) {
		const float4 q = nb_read<GLOBAL>((const float4 *)s.p0 + i);
		if (GLOBAL)
			b.x = q.x, b.y = q.y, b.z = q.z, b.m = q.w;
		else
			b.x = q.y, b.y = q.x, b.z = q.w, b.m = q.z;
	} else {
		const double2 q = nb_read<GLOBAL>(s.p0 + i), r = nb_read<GLOBAL>(s.p1 + i);
		b.x = q.x, b.y = q.y, b.z = r.x;
		if constexpr (P == NB_F64)
			b.m = r.y;
		else
			b.m = __int_as_float(__double2loint(r.y));
	}
	return b;
}

/* A body of no mass, so far off that its r^-3 vanishes: in f32 it underflows, in f64 it is beyond the last digit. */
template <int P> static __device__ __forceinline__ nb_body<P> nb_body_none()
{
	nb_body<P> b;
	b.x = (typename nb_arith<P>::coord)(P == NB_F32 ? 0x1p62 : P == NB_MIXED ? 0x1p190 : 0x1p126);
	b.y = b.z = 0;
	b.m = 0;
	return b;
}

template <int P> static __device__ __forceinline__ void nb_body_store(const nb_packed &s, size_t i, const nb_body<P> &b)
{
	if constexpr (P == NB_F32) {
		((float4 *)s.p0)[i] = make_float4(b.x, b.y, b.z, b.m);
	} else {
		s.p0[i] = make_double2(b.x, b.y);
		if constexpr (P == NB_F64)
			s.p1[i] = make_double2(b.z, b.m);
		else
			s.p1[i] = make_double2(b.z, __hiloint2double(0, __float_as_int(b.m)));
	}
}

template <int P, bool GLOBAL>
static __device__ __forceinline__ nb_vec<typename nb_arith<P>::real> nb_velocity_load(const nb_packed &s, size_t i)
{
	nb_vec<typename nb_arith<P>::real> v;
	if constexpr (P == NB_F64) {
		const double2 q = nb_read<GLOBAL>(s.v0 + i);
		v.x = q.x, v.y = q.y, v.z = nb_read<GLOBAL>((const double *)(s.v1 + i));
	} else {
		const float4 q = nb_read<GLOBAL>((const float4 *)s.v0 + i);
		v.x = q.x, v.y = q.y, v.z = q.z;
	}
	return v;
}

template <int P>
static __device__ __forceinline__ void nb_velocity_store(const nb_packed &s, size_t i, double x, double y, double z)
{
	if constexpr (P == NB_F64) {
		s.v0[i] = make_double2(x, y);
		s.v1[i] = make_double2(z, 0);
	} else {
		((float4 *)s.v0)[i] = make_float4((float)x, (float)y, (float)z, 0);
	}
}

/* ---- the pair ------------------------------------------------------------------------------------ */

/* What the pairs of a body add up to.  Only what is wanted takes registers. */
template <class real, bool POT, bool JERK> struct nb_sum {
	enum { COMPONENTS = 3 + POT + 3 * JERK };
	real v[COMPONENTS]; /* acc, [pot], [jerk] */

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int c = 0; c < COMPONENTS; c++)
			v[c] = 0;
	}
	/* What the next lane holds. */
	__device__ __forceinline__ void rotate(unsigned from)
	{
#pragma unroll
		for (int c = 0; c < COMPONENTS; c++)
			v[c] = __shfl_sync(0xffffffff, v[c], (int)from);
	}
	/* Component planes: coalesced over bodies. */
	__device__ __forceinline__ void store(real *slot, size_t plane, size_t i) const
	{
#pragma unroll
		for (int c = 0; c < COMPONENTS; c++)
			slot[c * plane + i] = v[c];
	}
};

static __device__ __forceinline__ float nb_rsqrt_fast(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

/* (float)(x 2^-128), truncated; x is 0 or 2^2 <= |x| < 2^255. */
static __device__ __forceinline__ float nb_narrow(double x)
{
	const unsigned hi = (unsigned)__double2hiint(x), lo = (unsigned)__double2loint(x);
	unsigned bits;
	/* (shifted & 0x7fffffff) | (hi & 0x80000000); the compiler makes two instructions of it */
	asm("lop3.b32 %0, %1, %2, 0x7fffffff, 0xe4;" : "=r"(bits) : "r"(__funnelshift_l(lo, hi, 3)), "r"(hi));
	return __uint_as_float(bits);
}

template <int P, bool POT, bool JERK> struct nb_pair {
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	real dx, dy, dz, w, rinv, jx, jy, jz;

	__device__ __forceinline__ nb_pair(const nb_body<P> &t, const nb_body<P> &s, const nb_vec<real> &tv,
		const nb_vec<real> &sv, real eps2, real guard)
	{
		real rinv2;
		if constexpr (P == NB_F64) {
			dx = s.x - t.x, dy = s.y - t.y, dz = s.z - t.z;
			const double r2 = nb_pair_r2_f64(dx, dy, dz, eps2);
			/* the float of r2 2^-128, its root, and that as a double times 2^-64 */
			const unsigned bits = __funnelshift_l(
				(unsigned)__double2loint(r2), (unsigned)__double2hiint(r2), 3);
			const unsigned z32 = __float_as_uint(
				nb_rsqrt_fast(__uint_as_float(bits)) * 1.22474487139158905f);
			const double z = __hiloint2double((int)((z32 >> 3) + (832u << 20)), (int)(z32 << 29));
			const double t2 = z * z;
			const double g = fma(-r2, t2, 2.5);
			w = t2 * z * g;
			if constexpr (POT)
				rinv = z * fma(g, 1.0 / 3, 2.0 / 3);
			if constexpr (JERK)
				rinv2 = t2 * fma(g, 4.0 / 9, 2.0 / 9);
			mask(r2, guard);
		} else {
			if constexpr (P == NB_MIXED)
				dx = nb_narrow(s.x - t.x), dy = nb_narrow(s.y - t.y), dz = nb_narrow(s.z - t.z);
			else
				dx = s.x - t.x, dy = s.y - t.y, dz = s.z - t.z;
			const float r2 = nb_pair_r2_f32(dx, dy, dz, eps2);
			rinv = nb_rsqrt_fast(r2);
			rinv2 = rinv * rinv;
			w = rinv2 * rinv;
			mask(r2, guard);
		}
		if constexpr (JERK) {
			jx = sv.x - tv.x, jy = sv.y - tv.y, jz = sv.z - tv.z;
			if constexpr (P == NB_F64)
				nb_pair_jerk_f64(rinv2, dx, dy, dz, &jx, &jy, &jz);
			else
				nb_pair_jerk_f32(rinv2, dx, dy, dz, &jx, &jy, &jz);
		}
	}

	__device__ __forceinline__ void mask(real r2, real guard)
	{
		if constexpr (POT)
			rinv = r2 > guard ? rinv : 0;
		if constexpr (JERK)
			w = r2 > guard ? w : 0;
	}

	/* The weight of the pair, for acc and jerk: SIGN +1, what a source of mass m does to the target; -1, what
	 * the target, of mass m, does to the source.  m also weighs the potential. */
	template <int SIGN> __device__ __forceinline__ void add(real weight, real m, sum &a) const
	{
		const real f = SIGN > 0 ? weight : -weight;
		if constexpr (P == NB_F64)
			nb_pair_add_f64(f, dx, dy, dz, &a.v[0], &a.v[1], &a.v[2]);
		else
			nb_pair_add_f32(f, dx, dy, dz, &a.v[0], &a.v[1], &a.v[2]);
		if constexpr (POT)
			a.v[3] += rinv * m;
		if constexpr (JERK) {
			if constexpr (P == NB_F64)
				nb_pair_add_f64(f, jx, jy, jz, &a.v[3 + POT], &a.v[4 + POT], &a.v[5 + POT]);
			else
				nb_pair_add_f32(f, jx, jy, jz, &a.v[3 + POT], &a.v[4 + POT], &a.v[5 + POT]);
		}
	}
};

/* ---- a warp's unit of work: K targets a lane against 32 sources ------------------------------------ */

/* 32 sources on their way from device memory to a ring, while the warp is at work with those before: the copies need no
 * registers, and the warp does not wait for them, on compute capability 8 and later.  Each lane takes what it has asked
 * for itself. */
template <int P> struct nb_staged {
	double2 p0[NB_WARP], p1[P == NB_F32 ? 1 : NB_WARP];

	__device__ __forceinline__ void ask(const nb_packed &s, size_t i, unsigned lane)
	{
		copy(&p0[lane], s.p0 + i);
		if constexpr (P != NB_F32)
			copy(&p1[lane], s.p1 + i);
	}
	static __device__ __forceinline__ void copy(double2 *to, const double2 *from)
	{
#if __CUDA_ARCH__ >= 800
		asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
			     :
			     : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
			     : "memory");
#else
		*to = __ldg(from);
#endif
	}
	__device__ __forceinline__ nb_body<P> take(unsigned lane) const
	{
#if __CUDA_ARCH__ >= 800
		asm volatile("cp.async.wait_all;" : : : "memory");
#endif
		if constexpr (P == NB_F32) { /* in the order of device memory */
			const float4 q = ((const float4 *)p0)[lane];
			nb_body<P> b;
			b.x = q.x, b.y = q.y, b.z = q.z, b.m = q.w;
			return b;
		} else {
			const nb_packed s = {(double2 *)p0, (double2 *)p1, nullptr, nullptr, nullptr};
			return nb_body_load<P, false>(s, lane);
		}
	}
};

/* The sources of a unit, twice over: lane l finds the source of step s at l + s. */
template <int P, bool JERK> struct nb_ring {
	double2 p0[2 * NB_WARP], p1[P == NB_F32 ? 1 : 2 * NB_WARP];
	double2 v0[JERK ? 2 * NB_WARP : 1], v1[JERK && P == NB_F64 ? 2 * NB_WARP : 1];

	/* Sources base .. base + count - 1 of s, moved by shift, and no bodies up to 32 (WHOLE: there are 32); a whole
	 * warp calls. */
	template <bool WHOLE>
	__device__ __forceinline__ void fill(
		const nb_packed &s, size_t base, unsigned count, nb_shift shift, unsigned lane)
	{
		nb_body<P> b;
		double2 vel0, vel1;
		if (!WHOLE) {
			b = nb_body_none<P>();
			vel0 = vel1 = make_double2(0, 0);
		}
		if (WHOLE || lane < count) {
			b = nb_body_load<P, true>(s, base + lane);
			if constexpr (P == NB_F32)
				b.x += shift.x, b.y += shift.y, b.z += shift.z;
			if constexpr (JERK)
				vel0 = __ldg(s.v0 + base + lane);
			if constexpr (JERK && P == NB_F64)
				vel1 = __ldg(s.v1 + base + lane);
		}
		put(b, vel0, vel1, lane);
	}
	/* What the lanes have asked for, moved by shift, and no bodies where `there` is false; without velocities. */
	__device__ __forceinline__ void fill(const nb_staged<P> &staged, bool there, nb_shift shift, unsigned lane)
	{
		nb_body<P> b = nb_body_none<P>();
		if (there) {
			b = staged.take(lane);
			if constexpr (P == NB_F32)
				b.x += shift.x, b.y += shift.y, b.z += shift.z;
		}
		put(b, make_double2(0, 0), make_double2(0, 0), lane);
	}
	__device__ __forceinline__ void put(const nb_body<P> &b, double2 vel0, double2 vel1, unsigned lane)
	{
		__syncwarp();
		for (unsigned i = lane; i < 2 * NB_WARP; i += NB_WARP) {
			if constexpr (P == NB_F32)
				/* another order than the targets have: operands of one instruction then come from both
				 * banks of registers */
				((float4 *)p0)[i] = make_float4(b.y, b.x, b.m, b.z);
			else
				nb_body_store<P>(view(), i, b);
			if constexpr (JERK)
				v0[i] = vel0;
			if constexpr (JERK && P == NB_F64)
				v1[i] = vel1;
		}
		__syncwarp();
	}
	__device__ __forceinline__ nb_packed view()
	{
		const nb_packed s = {p0, p1, v0, v1, nullptr};
		return s;
	}
};

/* The targets of a warp and their sums, in registers: body k 32 + lane of a tile of 32 K. */
template <int P, int K, bool POT, bool JERK> struct nb_targets {
	typedef typename nb_arith<P>::real real;
	typedef nb_sum<real, POT, JERK> sum;
	nb_body<P> body[K];
	nb_vec<real> vel[JERK ? K : 1];
	sum a[K];

	__device__ __forceinline__ void load(const nb_packed &s, size_t first, unsigned lane)
	{
#pragma unroll
		for (int k = 0; k < K; k++) {
			body[k] = nb_body_load<P, true>(s, first + k * NB_WARP + lane);
			if constexpr (JERK)
				vel[k] = nb_velocity_load<P, true>(s, first + k * NB_WARP + lane);
			a[k].clear();
		}
	}

	/* The sources of the ring, in step s source (lane + s) % 32, so that all 32 are at work at once.
	 * SYMMETRIC: their counter-forces move one lane down after every step and are home after the last;
	 * returned for source `lane`.  Else only the targets gain, and at step 0 target `self` of a lane is the
	 * source itself (-1: never). */
	template <bool SYMMETRIC, int MASSES>
	__device__ __forceinline__ sum interact(nb_ring<P, JERK> &ring, unsigned lane, real eps2, real guard, int self)
	{
		sum counter;
		counter.clear();
		const nb_packed s = ring.view();
		const unsigned up = (lane + 1) % NB_WARP;
#pragma unroll 4
		for (unsigned step = 0; step < NB_WARP; step++) {
			const nb_body<P> source = nb_body_load<P, false>(s, lane + step);
			nb_vec<real> source_vel = {};
			if constexpr (JERK)
				source_vel = nb_velocity_load<P, false>(s, lane + step);
#pragma unroll
			for (int k = 0; k < K; k++) {
				nb_pair<P, POT, JERK> pair(body[k], source, vel[JERK ? k : 0], source_vel, eps2, guard);
				if constexpr (POT && !SYMMETRIC)
					if (step == 0 && k == self)
						pair.rinv = 0;
				real weight = pair.w, counter_weight = pair.w;
				if constexpr (MASSES == NB_MASSES_PRODUCT) {
					weight *= source.m * body[k].m;
					counter_weight = weight;
				} else if constexpr (MASSES == NB_MASSES_ANY) {
					weight *= source.m;
					counter_weight *= body[k].m;
				}
				pair.template add<1>(weight, source.m, a[k]);
				if constexpr (SYMMETRIC)
					pair.template add<-1>(counter_weight, body[k].m, counter);
			}
			if constexpr (SYMMETRIC)
				counter.rotate(up);
		}
		return counter;
	}
};

/* ---- preparation ----------------------------------------------------------------------------------- */

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

/* The scale of the current device; to be asked for at home before members replicate it. */
static inline int nb_survey_scale_of(struct nb_cuda_scale **scale)
{
	struct nb_survey *survey;
	NB_CUDA_TRY(cudaGetSymbolAddress((void **)&survey, nb_survey_state));
	*scale = &survey->scale;
	return NB_OK;
}

/* Sends the scale to members while home goes on. */
static inline int nb_survey_send(void)
{
	struct nb_cuda_scale *scale;
	NB_TRY(nb_survey_scale_of(&scale));
	return nb_team_send(scale, sizeof *scale);
}

/* Lets a member of the team know the scale that home has found. */
static inline int nb_survey_replicate(struct nb_team_copies &copies, const struct nb_cuda_scale *home)
{
	struct nb_cuda_scale *here;
	NB_TRY(nb_survey_scale_of(&here));
	return copies.put(here, home, sizeof *here);
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
