/* pair.h - the interaction of two bodies, written once for every backend.
 *
 * NB_PAIR_DEFINE(T, real) makes the functions below for one arithmetic type: float and double here
 * (suffixes f32 and f64), SIMD vectors of them in the CPU kernels.  Only +, - and * are used, so that
 * anything with these operators will do; how 1/sqrt is had is the backend's business.  With
 *     d = x_j - x_i,  v = v_j - v_i,  r2 = |d|^2 + eps^2,  rinv = 1/sqrt(r2)
 * the contribution of source j to target i is, times G m_j,
 *     acc   w d                      w = rinv^3
 *     pot   -rinv
 *     jerk  w (v - 3 (d.v) rinv^2 d)
 * acc and jerk change sign when i and j are exchanged, pot does not: Newton's third law.
 *
 * No branch guards r2 = 0.  Give nb_pair_eps2_TYPE(eps) for eps^2: never below a floor whose rinv^3 is
 * still finite, so that a coincident pair has d = 0, w finite, and adds exactly 0 to acc.  Only
 * potentials and (of coincident bodies that move apart) jerks must be masked where eps = 0 and
 * r2 <= floor.
 *
 * Scaled units keep f32 in range whatever the caller's units are: see struct nb_pair_scale.
 *
 * Sources: Nyland, Harris & Prins 2007, GPU Gems 3, ch. 31, eq. 4; jerk: Makino & Aarseth 1992,
 * PASJ 44, 141, with the softening inside r2. */
#ifndef NB_PAIR_H
#define NB_PAIR_H

#include <math.h>

#include "common/hd.h"

/* clang-format off: one line of the macro per line of code */
#define NB_PAIR_DEFINE(T, real)                                                                                 \
	/* r2 = dx^2 + dy^2 + dz^2 + eps2 */                                                                    \
	static NB_HD real nb_pair_r2_##T(real dx, real dy, real dz, real eps2)                                  \
	{                                                                                                       \
		return dz * dz + (dy * dy + (dx * dx + eps2));                                                  \
	}                                                                                                       \
	/* a += w d */                                                                                          \
	static NB_HD void nb_pair_add_##T(real w, real dx, real dy, real dz, real *ax, real *ay, real *az)      \
	{                                                                                                       \
		*ax += w * dx;                                                                                  \
		*ay += w * dy;                                                                                  \
		*az += w * dz;                                                                                  \
	}                                                                                                       \
	/* the source's side: a -= w d */                                                                       \
	static NB_HD void nb_pair_sub_##T(real w, real dx, real dy, real dz, real *ax, real *ay, real *az)      \
	{                                                                                                       \
		*ax -= w * dx;                                                                                  \
		*ay -= w * dy;                                                                                  \
		*az -= w * dz;                                                                                  \
	}                                                                                                       \
	/* v becomes v - 3 (d.v) rinv2 d; jerk is w times this */                                               \
	static NB_HD void nb_pair_jerk_##T(real rinv2, real dx, real dy, real dz, real *vx, real *vy, real *vz) \
	{                                                                                                       \
		real f = (dz * *vz + (dy * *vy + dx * *vx)) * rinv2;                                            \
		f = f + f + f;                                                                                  \
		*vx -= f * dx;                                                                                  \
		*vy -= f * dy;                                                                                  \
		*vz -= f * dz;                                                                                  \
	}
/* clang-format on */

NB_PAIR_DEFINE(f32, float)
NB_PAIR_DEFINE(f64, double)

/* The spline kernel of Monaghan and Lattanzio (1985, A&A 149, 135), as GADGET softens with it: Springel 2005, MNRAS
 * 364, 1105, eq. 4 is the density, Springel, Yoshida & White 2001, New Astronomy 6, 79, eq. 71 the potential.  Its
 * support is h = NB_SPLINE_SUPPORT eps, so that the potential of a body at its own place is -G m / eps, as that of a
 * Plummer sphere. With u = r / h the functions give what acc, pot and jerk are made of, acc   w d        pot   -p jerk
 * w (v - f (d.v) d), from u = 0 to 1/2 in units of h, and from there on in units of r.  Beyond the support they are
 * Newton's. inner   w h^3, p h, f h^2 outer   w r^3, p r, f r^2;  s = 1 - u, or 0 if that is negative In s, unlike in
 * u, no terms cancel, so f32 keeps its digits. */
#define NB_SPLINE_SUPPORT 2.8

/* clang-format off: one line of the macro per line of code */
#define NB_SPLINE_DEFINE(T, real, lane)                                              \
	static NB_HD real nb_spline_inner_acc_##T(real u)                            \
	{                                                                            \
		return (u * u * (480 * u - 576) + 160) * (lane)(1.0 / 15);           \
	}                                                                            \
	static NB_HD real nb_spline_inner_pot_##T(real u)                            \
	{                                                                            \
		real u2 = u * u;                                                     \
		return (u2 * (u2 * (144 - 96 * u) - 80) + 42) * (lane)(1.0 / 15);    \
	}                                                                            \
	static NB_HD real nb_spline_inner_jerk_##T(real u)                           \
	{                                                                            \
		return (1152 - 1440 * u) / (u * u * (480 * u - 576) + 160);          \
	}                                                                            \
	static NB_HD real nb_spline_outer_acc_##T(real s)                            \
	{                                                                            \
		real s2 = s * s;                                                     \
		return 1 - s2 * s2 * (s * (160 * s - 384) + 240) * (lane)(1.0 / 15); \
	}                                                                            \
	static NB_HD real nb_spline_outer_pot_##T(real s)                            \
	{                                                                            \
		real s2 = s * s;                                                     \
		return 1 - s2 * s2 * s * (48 - 32 * s) * (lane)(1.0 / 15);           \
	}                                                                            \
	static NB_HD real nb_spline_outer_jerk_##T(real u, real s, real acc)         \
	{                                                                            \
		real su = s * u;                                                     \
		return 3 - 64 * (su * su * su) / acc;                                \
	}
/* clang-format on */

NB_SPLINE_DEFINE(f32, float, float)
NB_SPLINE_DEFINE(f64, double, double)

/* Floors of eps^2 in scaled units: rinv^3 is 2^123 and 2^180, and every r2 is a normal f32 number, so
 * that an f32 reciprocal root may start the f64 one. */
#define NB_PAIR_FLOOR_F32 0x1p-82f
#define NB_PAIR_FLOOR_F64 0x1p-120

/* eps^2 of a scaled eps, not below the floor */
static NB_HD float nb_pair_eps2_f32(double eps)
{
	float eps2 = (float)(eps * eps);
	return eps2 > NB_PAIR_FLOOR_F32 ? eps2 : NB_PAIR_FLOOR_F32;
}

static NB_HD double nb_pair_eps2_f64(double eps)
{
	double eps2 = eps * eps;
	return eps2 > NB_PAIR_FLOOR_F64 ? eps2 : NB_PAIR_FLOOR_F64;
}

/* Powers of two between the caller's units and the kernel's, so that scaling rounds nothing:
 * scaled position = x length, scaled mass = m mass, scaled velocity = v velocity;
 * acc = acc_out * scaled acc, and so on, with G inside.
 * Masses are scaled to at most 1, and lengths to an extent of 2^19..2^20: then rinv^3 stays in range from
 * the farthest pair down to pairs at 2^-61 of the extent (f64: 2^-80), closer than positions can tell
 * apart except beside the origin; below that the floor acts as a softening.  Where a few bodies lie far from all
 * others, the extent is up to 2^31 (f64: 2^61), so that the others are not softened; see nb_pair_length. */
struct nb_pair_scale {
	double length, mass, velocity;
	double acc_out, pot_out, jerk_out;
};

static NB_HD double nb_pair_power2(double largest, int exponent)
{
	int e = 0;
	if (largest > 0)
		(void)frexp(largest, &e); /* largest = f 2^e, f in [0.5, 1) */
	e = exponent - e;
	return ldexp(1.0, e < -1000 ? -1000 : e > 1000 ? 1000 : e);
}

static NB_HD double nb_pair_apart(const double *pos, size_t i, const double *from)
{
	return fmax(fmax(fabs(pos[3 * i] - from[0]), fabs(pos[3 * i + 1] - from[1])), fabs(pos[3 * i + 2] - from[2]));
}

/* Rises an array of so few numbers that no faster way pays. */
static NB_HD void nb_pair_sort(int n, double *x)
{
	for (int k = 1; k < n; k++)
		for (int i = k; i > 0 && x[i - 1] > x[i]; i--) {
			const double greater = x[i - 1];
			x[i - 1] = x[i];
			x[i] = greater;
		}
}

/* How far bodies are from their neighbours at large: a quartile of the distances of some of them from their medians,
 * which a few bodies far from all others do not move.  At most extent, which it is wherever it would be more than
 * 2^-20 of it, as three bodies mostly tell. */
static NB_HD double nb_pair_typical(size_t n, const double *pos, double extent)
{
	enum { FEW = 15 };
	const size_t few = n < (size_t)FEW ? n : (size_t)FEW, some[3] = {0, n / 2, n - (n > 0)};
	double x[FEW], middle[3], least = extent * 0x1p-20;
	int near = n < 3;
	for (int k = 0; k < 3; k++)
		near |= n > 0 && nb_pair_apart(pos, some[k], pos + 3 * some[(k + 1) % 3]) <= least;
	if (!near || n < 2)
		return extent;
	for (int c = 0; c < 3; c++) {
		for (size_t k = 0; k < few; k++)
			x[k] = pos[3 * (k * n / few) + (size_t)c];
		nb_pair_sort((int)few, x);
		middle[c] = x[(few - 1) / 2];
	}
	for (size_t k = 0; k < few; k++)
		x[k] = nb_pair_apart(pos, k * n / few, middle);
	nb_pair_sort((int)few, x);
	for (size_t k = few > 4 ? few / 4 : 1; k < few; k++)
		if (x[k] > 0)
			return x[k] < least ? x[k] : extent;
	return extent;
}

/* The scale of lengths.  Bodies at typical distances (or softened by that, if it is more) must be 2^10 times beyond the
 * floor, which changes forces by 1e-6 there; *far says that they are not. */
static NB_HD double nb_pair_length(double extent, double typical, int f64, int *far)
{
	int e = 0, t = 0;
	(void)frexp(extent, &e);
	(void)frexp(typical, &t);
	const int most = f64 ? 41 : 11, more = typical > 0 && e - t > 20 ? e - t - 20 : 0;
	*far = more > most + (f64 ? 50 : 31);
	return nb_pair_power2(extent, 20 + (more < most ? more : most));
}

/*   length    as of nb_pair_length
 *   mass      largest |mass|
 *   velocity  largest |velocity component| (0 where no jerk is wanted) */
static NB_HD struct nb_pair_scale nb_pair_scale_of(double length, double mass, double velocity, double G)
{
	struct nb_pair_scale s;
	s.length = length;
	s.mass = nb_pair_power2(mass, 0);
	s.velocity = nb_pair_power2(velocity, 0);
	s.pot_out = G / s.mass * s.length;
	s.acc_out = s.pot_out * s.length;
	s.jerk_out = s.acc_out / s.velocity * s.length;
	return s;
}

#endif
