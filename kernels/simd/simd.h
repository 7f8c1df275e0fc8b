/* simd.h - vectors of floats and doubles for the force kernels, by gcc's vector extension.
 *
 * For kernels/NAME_simd.c, which is compiled once per instruction set (common/cpu.h).  +, - and * work on
 * these types as on numbers; what the extension lacks (reciprocal root, narrowing, sums over lanes) is here.
 *
 *              nb_vf   nb_vd   first guess of 1/sqrt, relative error
 *   avx512      16       8     vrsqrt14ps, vrsqrt14pd, 2^-14
 *   avx2         8       4     vrsqrtps, 1.5 2^-12 (f64 through f32)
 *   neon         4       2     frsqrte and a step of Newton's method, 2^-15
 *   plain        4       2     sqrt and division, exact to rounding
 *
 * From a guess y of 1/sqrt(r2) with e = 1 - r2 y^2, |e| <= 2^-13 or 2^-10.4, the powers follow from
 *     r2^(-1/2) = y   (1 - e)^(-1/2) = y   (1 + 1/2 e + 3/8 e^2 + 5/16 e^3 + 35/128 e^4 + ...)
 *     r2^(-3/2) = y^3 (1 - e)^(-3/2) = y^3 (1 + 3/2 e + 15/8 e^2 + 35/16 e^3 + 315/128 e^4 + ...)
 * cut where the next term is below rounding: cheaper than refining y by Newton's method before cubing it. */
#ifndef NB_SIMD_H
#define NB_SIMD_H

#include <math.h>
#include <stdint.h>

#include "kernels/pair/pair.h"

#if defined(NB_ISA_avx512)
enum { NB_VECTOR = 64 };
#elif defined(NB_ISA_avx2)
enum { NB_VECTOR = 32 };
#else
enum { NB_VECTOR = 16 };
#endif
#if defined(NB_ISA_avx512) || defined(NB_ISA_avx2)
#include <immintrin.h>
#elif defined(NB_ISA_neon)
#include <arm_neon.h>
#endif
/* how good the guess is: 0 exact, 1 |e| <= 2^-10.4, 2 |e| <= 2^-13 */
#if defined(NB_ISA_avx512) || defined(NB_ISA_neon)
#define NB_GUESS 2
#elif defined(NB_ISA_avx2)
#define NB_GUESS 1
#else
#define NB_GUESS 0
#endif

typedef float nb_vf __attribute__((vector_size(NB_VECTOR)));
typedef double nb_vd __attribute__((vector_size(NB_VECTOR)));
typedef int32_t nb_vfi __attribute__((vector_size(NB_VECTOR))); /* masks and lane numbers for nb_vf */
typedef int64_t nb_vdi __attribute__((vector_size(NB_VECTOR)));
enum { NB_WF = NB_VECTOR / sizeof(float), NB_WD = NB_VECTOR / sizeof(double) };

NB_PAIR_DEFINE(vf, nb_vf)
NB_PAIR_DEFINE(vd, nb_vd)
NB_SPLINE_DEFINE(vf, nb_vf, float)
NB_SPLINE_DEFINE(vd, nb_vd, double)

/* lanes 0, 1, 2, ... */
static NB_HD nb_vfi nb_lane_vf(void)
{
	nb_vfi lane;
	for (int k = 0; k < (int)NB_WF; k++)
		lane[k] = k;
	return lane;
}

static NB_HD nb_vdi nb_lane_vd(void)
{
	nb_vdi lane;
	for (int k = 0; k < (int)NB_WD; k++)
		lane[k] = k;
	return lane;
}

/* v where mask, else +0 */
static NB_HD nb_vf nb_where_vf(nb_vfi mask, nb_vf v)
{
	return (nb_vf)((nb_vfi)v & mask);
}

static NB_HD nb_vd nb_where_vd(nb_vdi mask, nb_vd v)
{
	return (nb_vd)((nb_vdi)v & mask);
}

/* a where mask, else b */
static NB_HD nb_vf nb_choose_vf(nb_vfi mask, nb_vf a, nb_vf b)
{
	return (nb_vf)(((nb_vfi)a & mask) | ((nb_vfi)b & ~mask));
}

static NB_HD nb_vd nb_choose_vd(nb_vdi mask, nb_vd a, nb_vd b)
{
	return (nb_vd)(((nb_vdi)a & mask) | ((nb_vdi)b & ~mask));
}

/* whether a lane is set */
static NB_HD int nb_any_vf(nb_vfi mask)
{
#if defined(NB_ISA_avx512)
	return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(NB_ISA_avx2)
	return _mm256_movemask_ps((__m256)mask) != 0;
#else
	int32_t any = 0;
	for (int k = 0; k < (int)NB_WF; k++)
		any |= mask[k];
	return any != 0;
#endif
}

static NB_HD int nb_any_vd(nb_vdi mask)
{
#if defined(NB_ISA_avx512)
	return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(NB_ISA_avx2)
	return _mm256_movemask_pd((__m256d)mask) != 0;
#else
	int64_t any = 0;
	for (int k = 0; k < (int)NB_WD; k++)
		any |= mask[k];
	return any != 0;
#endif
}

/* the sum of the lanes, by halves; always in the same order */
static NB_HD float nb_sum_vf(nb_vf v)
{
	for (int half = NB_WF / 2; half; half /= 2)
		v += __builtin_shuffle(v, nb_lane_vf() ^ half);
	return v[0];
}

static NB_HD double nb_sum_vd(nb_vd v)
{
	for (int half = NB_WD / 2; half; half /= 2)
		v += __builtin_shuffle(v, nb_lane_vd() ^ half);
	return v[0];
}

/* first guess of 1 / sqrt(x) */
static NB_HD nb_vf nb_guess_vf(nb_vf x)
{
#if defined(NB_ISA_avx512)
	return (nb_vf)_mm512_rsqrt14_ps((__m512)x);
#elif defined(NB_ISA_avx2)
	return (nb_vf)_mm256_rsqrt_ps((__m256)x);
#elif defined(NB_ISA_neon)
	const float32x4_t y = vrsqrteq_f32((float32x4_t)x);
	return (nb_vf)(y * vrsqrtsq_f32((float32x4_t)x, y * y)); /* the latter is (3 - x y^2) / 2 */
#else
	nb_vf y;
	for (int k = 0; k < (int)NB_WF; k++)
		y[k] = sqrtf(x[k]);
	return 1.0f / y;
#endif
}

static NB_HD nb_vd nb_guess_vd(nb_vd x)
{
#if defined(NB_ISA_avx512)
	return (nb_vd)_mm512_rsqrt14_pd((__m512d)x);
#elif defined(NB_ISA_avx2)
	return (nb_vd)_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps((__m256d)x)));
#elif defined(NB_ISA_neon)
	const float64x2_t y = vrsqrteq_f64((float64x2_t)x);
	return (nb_vd)(y * vrsqrtsq_f64((float64x2_t)x, y * y));
#else
	nb_vd y;
	for (int k = 0; k < (int)NB_WD; k++)
		y[k] = sqrt(x[k]);
	return 1.0 / y;
#endif
}

/* r2^(-3/2) from the guess y; relative error 3e-8 (f32) or 1e-15 (f64) and rounding */
static NB_HD nb_vf nb_cube_vf(nb_vf r2, nb_vf y)
{
	nb_vf y2 = y * y;
#if NB_GUESS == 2
	/* 1 + 3/2 e = -3/2 (r2 y^2 - 5/3); the factor -3/2 is NB_CUBE_F32, left to the caller's sums */
	return (y * y2) * (r2 * y2 - 5.0f / 3.0f);
#elif NB_GUESS == 1
	nb_vf e = 1.0f - r2 * y2;
	nb_vf y3 = y * y2;
	return y3 + (y3 * e) * (15.0f / 8.0f * e + 1.5f);
#else
	(void)r2;
	return y * y2;
#endif
}

#if NB_GUESS == 2
#define NB_CUBE_F32 (-1.5)
#else
#define NB_CUBE_F32 1.0
#endif

static NB_HD nb_vd nb_cube_vd(nb_vd r2, nb_vd y)
{
	nb_vd y2 = y * y;
#if NB_GUESS
	nb_vd e = 1.0 - r2 * y2;
	nb_vd y3 = y * y2;
#if NB_GUESS == 1
	nb_vd p = 315.0 / 128.0 * e + 35.0 / 16.0;
#else
	const double p = 35.0 / 16.0;
#endif
	return y3 + (y3 * e) * ((p * e + 15.0 / 8.0) * e + 1.5);
#else
	(void)r2;
	return y * y2;
#endif
}

/* r2^(-1/2) to working precision */
static NB_HD nb_vf nb_rsqrt_vf(nb_vf r2)
{
	nb_vf y = nb_guess_vf(r2);
#if NB_GUESS
	nb_vf e = 1.0f - r2 * (y * y);
	y += (y * e) * (0.375f * e + 0.5f);
#endif
	return y;
}

static NB_HD nb_vd nb_rsqrt_vd(nb_vd r2)
{
	nb_vd y = nb_guess_vd(r2);
#if NB_GUESS
	nb_vd e = 1.0 - r2 * (y * y);
	y += (y * e) * (((35.0 / 128.0 * e + 5.0 / 16.0) * e + 0.375) * e + 0.5);
#endif
	return y;
}

/* What a pair does if it has a softening of its own, see NB_SPLINE_DEFINE: acc is w d, pot -p, jerk w (v - f (d.v) d).
 *   spline   0: Plummer, r2 has eps^2 in it; 1: r2 has the floor of pair.h in it
 *   inverse  spline: 1 / support of the pair
 * Unsoftened, bodies in the same place do nothing. */
#define NB_SOFTEN_DEFINE(T, V, VI, S, FLOOR)                                                                      \
	struct nb_pull_##T {                                                                                      \
		V w, p, f;                                                                                        \
	};                                                                                                        \
	static NB_HD struct nb_pull_##T nb_soften_##T(int spline, int jerk, V r2, V inverse) {                    \
		const V y = nb_rsqrt_##T(r2), y2 = y * y;                                                         \
		VI counts = r2 > (S)FLOOR;                                                                        \
		struct nb_pull_##T pull = {y2 * y, y, 3 * y2};                                                    \
		if (spline) {                                                                                     \
			const V u = r2 * y * inverse, s = nb_where_##T(u < 1, 1 - u);                             \
			const V acc = nb_spline_outer_acc_##T(s), i2 = inverse * inverse;                         \
			const VI inner = u < (S)0.5;                                                              \
			pull.w = nb_choose_##T(inner, nb_spline_inner_acc_##T(u) * (i2 * inverse), acc * pull.w); \
			pull.p = nb_choose_##T(                                                                   \
				inner, nb_spline_inner_pot_##T(u) * inverse, nb_spline_outer_pot_##T(s) * y);     \
			if (jerk)                                                                                 \
				pull.f = nb_choose_##T(inner, nb_spline_inner_jerk_##T(u) * i2,                   \
					nb_spline_outer_jerk_##T(u, s, acc) * y2);                                \
			counts |= u < 1;                                                                          \
		}                                                                                                 \
		pull.w = nb_where_##T(counts, pull.w);                                                            \
		pull.p = nb_where_##T(counts, pull.p);                                                            \
		return pull;                                                                                      \
	}
NB_SOFTEN_DEFINE(vf, nb_vf, nb_vfi, float, NB_PAIR_FLOOR_F32)
NB_SOFTEN_DEFINE(vd, nb_vd, nb_vdi, double, NB_PAIR_FLOOR_F64)

/* v becomes v - f (d.v) d */
#define NB_TURN_DEFINE(T, V)                                                      \
	static NB_HD void nb_turn_##T(V f, V dx, V dy, V dz, V *vx, V *vy, V *vz) \
	{                                                                         \
		f *= dz * *vz + (dy * *vy + dx * *vx);                            \
		*vx -= f * dx;                                                    \
		*vy -= f * dy;                                                    \
		*vz -= f * dz;                                                    \
	}
NB_TURN_DEFINE(vf, nb_vf)
NB_TURN_DEFINE(vd, nb_vd)

/* lo and hi, one after the other, rounded to f32 */
static NB_HD nb_vf nb_narrow(nb_vd lo, nb_vd hi)
{
#if defined(NB_ISA_avx512)
	__m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)lo));
	return (nb_vf)_mm512_insertf32x8(low, _mm512_cvtpd_ps((__m512d)hi), 1);
#elif defined(NB_ISA_avx2)
	return (nb_vf)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)hi), _mm256_cvtpd_ps((__m256d)lo));
#elif defined(NB_ISA_neon)
	return (nb_vf)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)lo), (float64x2_t)hi);
#else
	nb_vf v;
	for (int k = 0; k < (int)NB_WD; k++) {
		v[k] = (float)lo[k];
		v[NB_WD + k] = (float)hi[k];
	}
	return v;
#endif
}

/* the sum of both halves of v in f64 */
static NB_HD nb_vd nb_wide_vf(nb_vf v)
{
#if defined(NB_ISA_avx512)
	const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
	return (nb_vd)(low + _mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1)));
#elif defined(NB_ISA_avx2)
	const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
	return (nb_vd)(low + _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)));
#elif defined(NB_ISA_neon)
	return (nb_vd)(vcvt_f64_f32(vget_low_f32((float32x4_t)v)) + vcvt_high_f64_f32((float32x4_t)v));
#else
	nb_vd sum;
	for (int k = 0; k < (int)NB_WD; k++)
		sum[k] = (double)v[k] + (double)v[NB_WD + k];
	return sum;
#endif
}

#endif
