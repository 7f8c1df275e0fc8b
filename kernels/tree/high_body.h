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
 * 172, 879. */
#ifndef NB_TREE_HIGH_BODY_H
#define NB_TREE_HIGH_BODY_H

#include "common/hd.h"
#include "kernels/tree/high_terms.h"

enum {
	NB_HIGH_THIRD = 7, /* moments: mass, 6 second, then 10 third, 15 fourth */
	NB_HIGH_FOURTH = 17,
	NB_HIGH_MOMENTS = 32,
	NB_HIGH_POWERS = 35, /* the same with three of first degree, which are 0 */
	NB_HIGH_EXTRA = 3,   /* local expansions have so many more orders than the sources */
	NB_HIGH_TERMS_3 = 84,
	NB_HIGH_TERMS_4 = 120
};
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

#undef NB_M
#undef NB_M_PASTE
#undef NB_M_PASTE2
#undef NB_REAL
#undef NB_REAL_NAME
#undef NB_SCALAR
#endif
