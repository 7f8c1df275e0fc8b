/* pair.cuh - pairs that are not all softened alike, on the device; what simd.h has for vectors. */
#ifndef NB_PAIR_CUH
#define NB_PAIR_CUH

#include "kernels/pair/pair.h"

/* The number by which a body of softening eps is softened, as nb_gravity_soft (kernels/gravity/plan.h). */
template <bool SPLINE>
static __host__ __device__ __forceinline__ double nb_soft_of(double eps, double length, double floor)
{
	eps *= length;
	return SPLINE ? fmin(1 / (NB_SPLINE_SUPPORT * eps), 2 / sqrt(floor)) : fmax(eps * eps, floor);
}

/* The formulas of pair.h by type. */
#define NB_SPLINE_BY_TYPE(name)                                             \
	static __device__ __forceinline__ float nb_spline_##name(float x)   \
	{                                                                   \
		return nb_spline_##name##_f32(x);                           \
	}                                                                   \
	static __device__ __forceinline__ double nb_spline_##name(double x) \
	{                                                                   \
		return nb_spline_##name##_f64(x);                           \
	}
NB_SPLINE_BY_TYPE(inner_acc)
NB_SPLINE_BY_TYPE(inner_pot)
NB_SPLINE_BY_TYPE(inner_jerk)
NB_SPLINE_BY_TYPE(outer_acc)
NB_SPLINE_BY_TYPE(outer_pot)
#undef NB_SPLINE_BY_TYPE
static __device__ __forceinline__ float nb_spline_outer_jerk(float u, float s, float acc)
{
	return nb_spline_outer_jerk_f32(u, s, acc);
}
static __device__ __forceinline__ double nb_spline_outer_jerk(double u, double s, double acc)
{
	return nb_spline_outer_jerk_f64(u, s, acc);
}

/* acc is w d, pot -p, jerk w (v - f (d.v) d). */
template <class real> struct nb_pull {
	real w, p, f;
};

/* Of a pair, from r2, which has eps^2 in it (Plummer) or the floor of pair.h (SPLINE), y = 1 / sqrt(r2), and (SPLINE)
 * the inverse of the support.  Unsoftened, bodies in the same place do nothing. */
template <bool SPLINE, bool POT, bool JERK, class real>
static __device__ __forceinline__ nb_pull<real> nb_soften(real r2, real y, real inverse, real floor)
{
	const real y2 = y * y;
	nb_pull<real> pull = {y2 * y, y, 3 * y2};
	bool counts = r2 > floor;
	if constexpr (SPLINE) {
		const real u = r2 * y * inverse, s = u < 1 ? 1 - u : 0, i2 = inverse * inverse;
		const real acc = nb_spline_outer_acc(s);
		const bool inner = u < (real)0.5;
		pull.w = inner ? nb_spline_inner_acc(u) * (i2 * inverse) : acc * pull.w;
		if constexpr (POT)
			pull.p = inner ? nb_spline_inner_pot(u) * inverse : nb_spline_outer_pot(s) * y;
		if constexpr (JERK)
			pull.f = inner ? nb_spline_inner_jerk(u) * i2 : nb_spline_outer_jerk(u, s, acc) * y2;
		counts |= u < 1;
	}
	pull.w = counts ? pull.w : 0;
	pull.p = counts ? pull.p : 0;
	return pull;
}

#endif
