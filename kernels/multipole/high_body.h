/* high_body.h - cells with third and fourth moments: what they do to a body and to another cell; goes on where
 * multipole_body.h ends, and is included like it.
 *
 * Components of a symmetric tensor of degree k stand by falling powers of x, then of y: component (k - r, r - c, c)
 * has the place r (r + 1) / 2 + c.  So a contraction by a vector takes T[p], T[p + r + 1] and T[p + r + 2] to place p.
 *
 * A cell has M_n = 1 / n! sum m x^n about its centre of mass for n = 0, 2, 3, 4, none of them traceless, as under
 * softening the traces act too.  With d = com - target, u^2 = d^2 + eps^2, g_k = (-1)^k (2k - 1)!! / u^(2k + 1), phi =
 * sum over j, k of g_(j+k) A_jk,   A_jk = (j + 2k)! / (2^k k! j!) tr^k M_(j+2k) . d^j, acc = - d sum g_(j+k+1) A_jk -
 * sum g_(j+k) B_jk,   B_jk = j A_jk with one d less.
 *
 * To another cell it is a local expansion of order P + 3 for sources of order P, of which the terms with
 * |source| + |target| up to that order are kept.  Source: Dehnen 2002 (multipole_body.h); the recurrence of the
 * derivatives is that of the Taylor coefficients of the softened potential, Lindsay & Krasny 2001, J. Comput. Phys.
 * 172, 879.
 *
 * Without softening D is harmonic, and a derivative twice by z is minus the sum of those twice by x and twice by y.  So
 * all that counts of moments, derivatives and expansions is what has degree 0 or 1 in z, 2 n + 1 components of degree
 * n: half of the work.  A cell then has folded moments: of each degree n the polynomial sum m (x.d)^n / n! in d, with
 * d_z^2 replaced by - d_x^2 - d_y^2, sum over c of binomial(n, c) A_c d_x^(n - c) d_y^c  +  d_z sum over c of
 * binomial(n - 1, c) B_c d_x^(n - 1 - c) d_y^c, as A_0 .. A_n, B_0 .. B_(n - 1).  To a body it acts by the formula
 * above, with these polynomials in place of M_n. */
#ifndef NB_MULTIPOLE_HIGH_BODY_H
#define NB_MULTIPOLE_HIGH_BODY_H

#include "common/hd.h"
#include "kernels/multipole/high_terms.h"

enum {
	NB_HIGH_THIRD = 7, /* moments: mass, 6 second, then 10 third, 15 fourth */
	NB_HIGH_FOURTH = 17,
	NB_HIGH_MOMENTS = 32,
	NB_HIGH_POWERS = 35, /* the same with three of first degree, which are 0 */
	NB_HIGH_EXTRA = 3,   /* local expansions have so many more orders than the sources */
	NB_HIGH_TERMS_3 = 84,
	NB_HIGH_TERMS_4 = 120,
	NB_FOLDED_THIRD = 6, /* folded moments: mass, 5 second, then 7 third, 9 fourth */
	NB_FOLDED_FOURTH = 13,
	NB_FOLDED_MOMENTS = 22,
	NB_FOLDED_TERMS = 64, /* derivatives up to order 7 of degree 0 or 1 in z */
	NB_FOLDED_SUMS = 21   /* and 2 */
};

/* Folds moments of third or fourth order: NB_HIGH_FOURTH or NB_HIGH_MOMENTS numbers to NB_FOLDED_FOURTH or
 * NB_FOLDED_MOMENTS. */
static NB_HD void nb_fold_moments(int order, const double *moment, double *folded)
{
	const double *q = moment + 1, *o = moment + NB_HIGH_THIRD, *h = moment + NB_HIGH_FOURTH;
	const double second[] = {q[0] - q[5], q[1], q[3] - q[5], 2 * q[2], 2 * q[4]};
	const double third[] = {
		o[0] - 3 * o[5], o[1] - o[8], o[3] - o[5], o[6] - 3 * o[8], 3 * o[2] - o[9], 3 * o[4], 3 * o[7] - o[9]};
	folded[0] = moment[0];
	for (int k = 0; k < 5; k++)
		folded[1 + k] = second[k];
	for (int k = 0; k < 7; k++)
		folded[NB_FOLDED_THIRD + k] = third[k];
	if (order < 4)
		return;
	const double fourth[] = {h[0] - 6 * h[5] + h[14], h[1] - 3 * h[8], h[3] - h[5] - h[12] + h[14] / 3,
		h[6] - 3 * h[8], h[10] - 6 * h[12] + h[14], 4 * (h[2] - h[9]), 4 * (h[4] - h[13] / 3),
		4 * (h[7] - h[9] / 3), 4 * (h[11] - h[13])};
	for (int k = 0; k < 9; k++)
		folded[NB_FOLDED_FOURTH + k] = fourth[k];
}
#endif

#ifdef NB_REAL
#define NB_M_PASTE2(f, name) f##_##name
#define NB_M_PASTE(f, name) NB_M_PASTE2(f, name)
#define NB_M(f) NB_M_PASTE(f, NB_REAL_NAME)

/* clang-format off */
#define NB_ROW(p, r) to[p] = x * t[p] + y * t[(p) + (r) + 1] + z * t[(p) + (r) + 2];
static NB_HD void NB_M(nb_contract2)(const NB_REAL *t, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL *to)
{
	NB_ROW(0, 0) NB_ROW(1, 1) NB_ROW(2, 1)
}
static NB_HD void NB_M(nb_contract3)(const NB_REAL *t, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL *to)
{
	NB_ROW(0, 0) NB_ROW(1, 1) NB_ROW(2, 1) NB_ROW(3, 2) NB_ROW(4, 2) NB_ROW(5, 2)
}
static NB_HD void NB_M(nb_contract4)(const NB_REAL *t, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL *to)
{
	NB_ROW(0, 0) NB_ROW(1, 1) NB_ROW(2, 1) NB_ROW(3, 2) NB_ROW(4, 2) NB_ROW(5, 2)
	NB_ROW(6, 3) NB_ROW(7, 3) NB_ROW(8, 3) NB_ROW(9, 3)
}
/* clang-format on */
#undef NB_ROW

/* Adds what a cell with moments up to `order` does to a body; as nb_m2p. */
static NB_HD void NB_M(nb_m2p_high)(int order, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, const NB_REAL *moment,
	NB_REAL *ax, NB_REAL *ay, NB_REAL *az, NB_REAL *phi)
{
	const NB_REAL *q = moment + 1, *o = moment + NB_HIGH_THIRD, *h = moment + NB_HIGH_FOURTH;
	const NB_REAL t = -rinv * rinv, g0 = rinv, g1 = g0 * t, g2 = 3 * t * g1, g3 = 5 * t * g2, g4 = 7 * t * g3;
	const NB_REAL a01 = q[0] + q[3] + q[5];
	const NB_REAL v[3] = {o[0] + o[3] + o[5], o[1] + o[6] + o[8], o[2] + o[7] + o[9]}; /* trace of o */
	NB_REAL b20[3], b30[3], c6[6];
	NB_M(nb_contract2)(q, x, y, z, b20);
	NB_M(nb_contract3)(o, x, y, z, c6);
	NB_M(nb_contract2)(c6, x, y, z, b30);
	NB_REAL two = 3 * (v[0] * x + v[1] * y + v[2] * z) + b20[0] * x + b20[1] * y + b20[2] * z;
	NB_REAL three = b30[0] * x + b30[1] * y + b30[2] * z, w = g1 * moment[0] + g2 * a01;
	*phi += g0 * moment[0] + g1 * a01;
	if (order > 3) {
		const NB_REAL g5 = 9 * t * g4;
		const NB_REAL s[6] = {h[0] + h[3] + h[5], h[1] + h[6] + h[8], h[2] + h[7] + h[9], h[3] + h[10] + h[12],
			h[4] + h[11] + h[13], h[5] + h[12] + h[14]}; /* of h */
		NB_REAL b21[3], h10[10], b40[3];
		NB_M(nb_contract2)(s, x, y, z, b21);
		NB_M(nb_contract4)(h, x, y, z, h10);
		NB_M(nb_contract3)(h10, x, y, z, c6);
		NB_M(nb_contract2)(c6, x, y, z, b40);
		const NB_REAL four = b40[0] * x + b40[1] * y + b40[2] * z;
		two += 3 * (s[0] + s[3] + s[5]);
		three += 6 * (b21[0] * x + b21[1] * y + b21[2] * z);
		*phi += g4 * four;
		w += g5 * four;
		*ax -= 12 * g3 * b21[0] + 4 * g4 * b40[0];
		*ay -= 12 * g3 * b21[1] + 4 * g4 * b40[1];
		*az -= 12 * g3 * b21[2] + 4 * g4 * b40[2];
	}
	*phi += g2 * two + g3 * three;
	w += g3 * two + g4 * three;
	*ax -= w * x + g2 * (3 * v[0] + 2 * b20[0]) + 3 * g3 * b30[0];
	*ay -= w * y + g2 * (3 * v[1] + 2 * b20[1]) + 3 * g3 * b30[1];
	*az -= w * z + g2 * (3 * v[2] + 2 * b20[2]) + 3 * g3 * b30[2];
}

/* The same of a cell with folded moments, without softening. */
static NB_HD void NB_M(nb_m2p_folded)(int order, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, const NB_REAL *moment,
	NB_REAL *ax, NB_REAL *ay, NB_REAL *az, NB_REAL *phi)
{
	const NB_REAL *q = moment + 1, *o = moment + NB_FOLDED_THIRD, *h = moment + NB_FOLDED_FOURTH;
	const NB_REAL t = -rinv * rinv, g0 = rinv, g1 = g0 * t, g2 = 3 * t * g1, g3 = 5 * t * g2, g4 = 7 * t * g3;
	/* P: polynomials of degree 2, 3, 4, L: half of their Laplacians; gradients of both, by the power g that they
	 * have */
	const NB_REAL L2 = q[0] + q[2], q2[2] = {x * q[0] + y * q[1], x * q[1] + y * q[2]};
	const NB_REAL z2 = x * q[3] + y * q[4], P2 = x * q2[0] + y * q2[1] + z * z2;
	const NB_REAL v[3] = {3 * (o[0] + o[2]), 3 * (o[1] + o[3]), o[4] + o[6]}, L3 = x * v[0] + y * v[1] + z * v[2];
	const NB_REAL o2[3] = {x * o[0] + y * o[1], x * o[1] + y * o[2], x * o[2] + y * o[3]};
	const NB_REAL o1[2] = {x * o2[0] + y * o2[1], x * o2[1] + y * o2[2]};
	const NB_REAL p2[2] = {x * o[4] + y * o[5], x * o[5] + y * o[6]}, z3 = x * p2[0] + y * p2[1];
	const NB_REAL P3 = x * o1[0] + y * o1[1] + z * z3;
	NB_REAL two = P2 + L3, three = P3, w = g1 * moment[0] + g2 * L2;
	NB_REAL gx2 = 2 * q2[0] + z * q[3] + v[0], gy2 = 2 * q2[1] + z * q[4] + v[1], gz2 = z2 + v[2];
	NB_REAL gx3 = 3 * o1[0] + 2 * z * p2[0], gy3 = 3 * o1[1] + 2 * z * p2[1], gz3 = z3;
	*phi += g0 * moment[0] + g1 * L2;
	if (order > 3) {
		const NB_REAL g5 = 9 * t * g4, *b = h + 5;
		const NB_REAL h3[4] = {
			x * h[0] + y * h[1], x * h[1] + y * h[2], x * h[2] + y * h[3], x * h[3] + y * h[4]};
		const NB_REAL h2[3] = {x * h3[0] + y * h3[1], x * h3[1] + y * h3[2], x * h3[2] + y * h3[3]};
		const NB_REAL h1[2] = {x * h2[0] + y * h2[1], x * h2[1] + y * h2[2]};
		const NB_REAL b2[3] = {x * b[0] + y * b[1], x * b[1] + y * b[2], x * b[2] + y * b[3]};
		const NB_REAL b1[2] = {x * b2[0] + y * b2[1], x * b2[1] + y * b2[2]}, z4 = x * b1[0] + y * b1[1];
		const NB_REAL P4 = x * h1[0] + y * h1[1] + z * z4;
		/* the Laplacian's own polynomial, and half of the Laplacian of L */
		const NB_REAL s[3] = {h[0] + h[2], h[1] + h[3], h[2] + h[4]}, u[2] = {b[0] + b[2], b[1] + b[3]};
		const NB_REAL s1[2] = {12 * (x * s[0] + y * s[1]), 12 * (x * s[1] + y * s[2])};
		const NB_REAL zu = 3 * (x * u[0] + y * u[1]), zz = 3 * z;
		two += 3 * (s[0] + s[2]);
		three += 0.5f * (x * s1[0] + y * s1[1]) + z * zu;
		gx3 += s1[0] + zz * u[0];
		gy3 += s1[1] + zz * u[1];
		gz3 += zu;
		w += g5 * P4;
		*phi += g4 * P4;
		*ax -= g4 * (4 * h1[0] + zz * b1[0]);
		*ay -= g4 * (4 * h1[1] + zz * b1[1]);
		*az -= g4 * z4;
	}
	*phi += g2 * two + g3 * three;
	w += g3 * two + g4 * three;
	*ax -= w * x + g2 * gx2 + g3 * gx3;
	*ay -= w * y + g2 * gy2 + g3 * gy3;
	*az -= w * z + g2 * gz2 + g3 * gz3;
}

/* a: the derivatives of D up to order 6 or 7, by degree and place, at (x, y, z); as nb_derivatives. */
static NB_HD void NB_M(nb_tensor_3)(NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL *a)
{
	const NB_REAL inverse = -rinv * rinv;
	a[0] = rinv;
	NB_TENSOR_TERMS_6
}
static NB_HD void NB_M(nb_tensor_4)(NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL *a)
{
	const NB_REAL inverse = -rinv * rinv;
	a[0] = rinv;
	NB_TENSOR_TERMS_7
}

/* Adds a cell to the sums of a local expansion, in their order; as nb_m2l.
 *   m   its moments by degree and place, sum m x^i y^j z^k / (i! j! k!), negative where the degree is odd */
static NB_HD void NB_M(nb_m2l_3)(const NB_REAL *a, const NB_REAL *m, NB_REAL *sum)
{
	NB_FAR_TERMS_3
}
static NB_HD void NB_M(nb_m2l_4)(const NB_REAL *a, const NB_REAL *m, NB_REAL *sum)
{
	NB_FAR_TERMS_4
}

/* The same without softening.
 *   a, b   NB_FOLDED_TERMS and NB_FOLDED_SUMS numbers: derivatives of degree 0 or 1 in z, by degree, falling x; minus
 *          those of degree 2
 *   m      folded moments as coefficients of polynomials, negative where the degree is odd
 *   sum    its terms of degree 0 or 1 in z, which are the first in their order */
static NB_HD void NB_M(nb_harmonic_tensor_3)(NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL *a, NB_REAL *b)
{
	const NB_REAL inverse = -rinv * rinv;
	a[0] = rinv;
	NB_HARMONIC_TENSOR_TERMS_6
}
static NB_HD void NB_M(nb_harmonic_tensor_4)(NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL *a, NB_REAL *b)
{
	const NB_REAL inverse = -rinv * rinv;
	a[0] = rinv;
	NB_HARMONIC_TENSOR_TERMS_7
}
static NB_HD void NB_M(nb_harmonic_m2l_3)(const NB_REAL *a, const NB_REAL *b, const NB_REAL *m, NB_REAL *sum)
{
	NB_HARMONIC_FAR_TERMS_3
}
static NB_HD void NB_M(nb_harmonic_m2l_4)(const NB_REAL *a, const NB_REAL *b, const NB_REAL *m, NB_REAL *sum)
{
	NB_HARMONIC_FAR_TERMS_4
}

#undef NB_M
#undef NB_M_PASTE
#undef NB_M_PASTE2
#undef NB_REAL
#undef NB_REAL_NAME
#undef NB_SCALAR
#endif
