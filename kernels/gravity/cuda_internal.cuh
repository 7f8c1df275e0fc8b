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
 * against 32 sources, with or without Newton's third law).  How bodies become records: pack_internal.cuh. */
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

#endif
