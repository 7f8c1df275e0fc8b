/* interact_internal.cuh - what bodies and cells do to a target, in units of the group: one lane's work in the walk
 * (walk_internal.cuh). */
#ifndef NB_WALK_GPU_INTERACT_INTERNAL_CUH
#define NB_WALK_GPU_INTERACT_INTERNAL_CUH

#include "kernels/multipole/multipole_body.h"
#include "kernels/pair/pair.cuh"
#include "kernels/walk_gpu/high_internal.cuh"

static __device__ __forceinline__ float inverse_root(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
static __device__ __forceinline__ double inverse_root(double x)
{
	return rsqrt(x);
}
static __device__ __forceinline__ float squared(float x, float y, float z, float eps2)
{
	return nb_pair_r2_f32(x, y, z, eps2);
}
static __device__ __forceinline__ double squared(double x, double y, double z, double eps2)
{
	return nb_pair_r2_f64(x, y, z, eps2);
}
static __device__ __forceinline__ void add_scaled(float w, float x, float y, float z, float (&a)[3])
{
	nb_pair_add_f32(w, x, y, z, &a[0], &a[1], &a[2]);
}
static __device__ __forceinline__ void add_scaled(double w, double x, double y, double z, double (&a)[3])
{
	nb_pair_add_f64(w, x, y, z, &a[0], &a[1], &a[2]);
}

static __device__ __forceinline__ void turn(float rinv2, float x, float y, float z, float (&v)[3])
{
	nb_pair_jerk_f32(rinv2, x, y, z, &v[0], &v[1], &v[2]);
}
static __device__ __forceinline__ void turn(double rinv2, double x, double y, double z, double (&v)[3])
{
	nb_pair_jerk_f64(rinv2, x, y, z, &v[0], &v[1], &v[2]);
}

/* nb_m2p; q: three times the second moments, trace: 3/2 of theirs, which saves two operations. */
template <class real>
static __device__ __forceinline__ void cell_acts(
	real x, real y, real z, real rinv, real m, const real *q, real trace, real (&a)[3], real &phi)
{
	const real r2 = rinv * rinv, r3 = rinv * r2, r5 = r3 * r2;
	const real vx = q[0] * x + q[1] * y + q[2] * z;
	const real vy = q[1] * x + q[3] * y + q[4] * z;
	const real vz = q[2] * x + q[4] * y + q[5] * z;
	const real h = r2 * (x * vx + y * vy + z * vz);
	const real w = r3 * (m + r2 * ((real)2.5 * h - trace));
	a[0] += w * x - r5 * vx;
	a[1] += w * y - r5 * vy;
	a[2] += w * z - r5 * vz;
	phi += m * rinv + r3 * ((real)0.5 * h - trace * (real)(1.0 / 3));
}

static __device__ __forceinline__ void moving_cell_acts(float x, float y, float z, const float (&u)[3], float rinv,
	float m, const float *moment, const float *rate, float (&a)[3], float &phi, float (&jerk)[3])
{
	nb_m2p_jerk_f32(1, x, y, z, u[0], u[1], u[2], rinv, m, moment, rate, a, &phi, jerk);
}
static __device__ __forceinline__ void moving_cell_acts(double x, double y, double z, const double (&u)[3], double rinv,
	double m, const double *moment, const double *rate, double (&a)[3], double &phi, double (&jerk)[3])
{
	nb_m2p_jerk_f64(1, x, y, z, u[0], u[1], u[2], rinv, m, moment, rate, a, &phi, jerk);
}

template <int P> struct arith {
	typedef float real;
};
template <> struct arith<NB_F64> {
	typedef double real;
};

/* A place relative to the group's centre. */
template <int P> struct place {
	typename arith<P>::real x, y, z;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (typename arith<P>::real)px;
		y = (typename arith<P>::real)py;
		z = (typename arith<P>::real)pz;
	}
	__device__ __forceinline__ place to(const place &s) const
	{
		place d;
		d.x = s.x - x, d.y = s.y - y, d.z = s.z - z;
		return d;
	}
};
template <> struct place<NB_MIXED> {
	float x, y, z, xl, yl, zl;

	__device__ __forceinline__ void set(double px, double py, double pz)
	{
		x = (float)px, y = (float)py, z = (float)pz;
		xl = (float)(px - x), yl = (float)(py - y), zl = (float)(pz - z);
	}
	__device__ __forceinline__ place<NB_F32> to(const place &s) const
	{
		place<NB_F32> d;
		d.x = s.x - x + (s.xl - xl), d.y = s.y - y + (s.yl - yl), d.z = s.z - z + (s.zl - zl);
		return d;
	}
};

/* What only jerks need of a body, of a cell, and of a target; nothing where none are wanted. */
template <class real, bool JERK> struct moving {
};
template <class real> struct moving<real, true> {
	real vel[3];
};
template <class real, bool JERK> struct changing {
};
template <class real> struct changing<real, true> {
	real vel[3], rate[6];
};
template <class real, bool JERK> struct turning {
};
template <class real> struct turning<real, true> {
	real vel[3], jerk[3];
};

/* What only bodies with softenings of their own, or of a spline, have: nb_gravity_soft. */
template <class real, bool SOFT> struct softened {
};
template <class real> struct softened<real, true> {
	real soft;
};

/* Staged in shared memory, read by all lanes at once. */
template <int P, bool JERK, int LAW>
struct alignas(16) source : moving<typename arith<P>::real, JERK>, softened<typename arith<P>::real, LAW != 0> {
	place<P> at;
	typename arith<P>::real mass;
};
/* moment: three times the second moments; trace: 3/2 of theirs; eps2: NB_LAW_PLUMMER, the cell's own */
template <class real, bool JERK> struct alignas(16) pole : changing<real, JERK> {
	real x, y, z, mass, moment[6], trace, eps2;
};

/* A sum of many sums: what rounding takes from one is given to the next (Kahan 1965, Comm. ACM 8, 40). */
struct long_sum {
	float sum, lost;

	__device__ __forceinline__ void add(float v)
	{
		const float more = __fsub_rn(v, lost), next = __fadd_rn(sum, more);
		lost = __fsub_rn(__fsub_rn(next, sum), more);
		sum = next;
	}
};

/* Sums over all that a target has taken, in high orders; of f64 not needed. */
template <bool LONG> struct summed {
	__device__ __forceinline__ void clear()
	{
	}
	template <class real> __device__ __forceinline__ void keep(real (&)[3], real (&)[1])
	{
	}
	template <class real> __device__ __forceinline__ void end(real (&)[3], real (&)[1])
	{
	}
};
template <> struct summed<true> {
	long_sum all[4];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < 4; k++)
			all[k].sum = all[k].lost = 0;
	}
	__device__ __forceinline__ void keep(float (&acc)[3], float (&pot)[1])
	{
#pragma unroll
		for (int k = 0; k < 3; k++) {
			all[k].add(acc[k]);
			acc[k] = 0;
		}
		all[3].add(pot[0]);
		pot[0] = 0;
	}
	__device__ __forceinline__ void end(float (&acc)[3], float (&pot)[1])
	{
		keep(acc, pot);
#pragma unroll
		for (int k = 0; k < 3; k++)
			acc[k] = all[k].sum;
		pot[0] = all[3].sum;
	}
};

template <int P, bool POT, bool JERK, int LAW, int ORDER, bool HARMONIC>
struct target : turning<typename arith<P>::real, JERK>, softened<typename arith<P>::real, LAW != 0> {
	typedef typename arith<P>::real real;
	place<P> at;
	real acc[3];
	real pot[1];
	summed<(ORDER > 2 && P != NB_F64)> sums;

	__device__ __forceinline__ void take_soft(const source<P, JERK, LAW> &s, bool self)
	{
		constexpr bool spline = LAW == NB_LAW_SPLINE;
		const real floor = P == NB_F64 ? (real)NB_PAIR_FLOOR_F64 : (real)NB_PAIR_FLOOR_F32;
		const auto d = at.to(s.at);
		const real soft = spline ? min(this->soft, s.soft) : max(this->soft, s.soft);
		const real r2 = squared(d.x, d.y, d.z, spline ? floor : soft);
		const nb_pull<real> pull = nb_soften<spline, POT, JERK>(r2, inverse_root(r2), soft, floor);
		const real weight = s.mass * pull.w;
		add_scaled(weight, d.x, d.y, d.z, acc);
		if constexpr (POT)
			pot[0] += self ? 0 : s.mass * pull.p;
		if constexpr (JERK) {
			const real x = s.vel[0] - this->vel[0], y = s.vel[1] - this->vel[1],
				   z = s.vel[2] - this->vel[2];
			const real f = pull.f * (d.z * z + (d.y * y + d.x * x));
			add_scaled(weight, x - f * d.x, y - f * d.y, z - f * d.z, this->jerk);
		}
	}

	/* self: the source is the target, or so near that it counts as such where eps is 0 */
	__device__ __forceinline__ void take(const source<P, JERK, LAW> &s, real eps2, real guard, bool self)
	{
		if constexpr (LAW != NB_LAW_COMMON)
			take_soft(s, self);
		else
			take_common(s, eps2, guard, self);
	}

	__device__ __forceinline__ void take_common(const source<P, JERK, LAW> &s, real eps2, real guard, bool self)
	{
		const auto d = at.to(s.at);
		const real r2 = squared(d.x, d.y, d.z, eps2);
		const real rinv = inverse_root(r2), mrinv = s.mass * rinv, rinv2 = rinv * rinv;
		add_scaled(mrinv * rinv2, d.x, d.y, d.z, acc);
		if constexpr (POT)
			pot[0] += self || r2 <= guard ? 0 : mrinv;
		if constexpr (JERK) {
			real v[3] = {s.vel[0] - this->vel[0], s.vel[1] - this->vel[1], s.vel[2] - this->vel[2]};
			turn(rinv2, d.x, d.y, d.z, v);
			add_scaled(r2 <= guard ? 0 : mrinv * rinv2, v[0], v[1], v[2], this->jerk);
		}
	}

	/* pole: of order 2, or nb_high_pole or nb_high_soft_pole */
	template <class pole> __device__ __forceinline__ void take(const pole &c, real eps2)
	{
		if constexpr (LAW == NB_LAW_PLUMMER)
			eps2 = max(this->soft, c.eps2);
		const real x = c.x - at.x, y = c.y - at.y, z = c.z - at.z;
		const real rinv = inverse_root(squared(x, y, z, eps2));
		if constexpr (ORDER > 2) {
			nb_high_acts<ORDER, HARMONIC, POT, real>(c, x, y, z, rinv, acc, pot[0]);
		} else {
			real phi = 0;
			if constexpr (JERK) {
				const real u[3] = {
					c.vel[0] - this->vel[0], c.vel[1] - this->vel[1], c.vel[2] - this->vel[2]};
				moving_cell_acts(x, y, z, u, rinv, c.mass, c.moment, c.rate, acc, phi, this->jerk);
			} else {
				cell_acts(x, y, z, rinv, c.mass, c.moment, c.trace, acc, phi);
			}
			if constexpr (POT)
				pot[0] += phi;
		}
	}
};

#endif
