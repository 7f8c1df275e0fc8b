/* multipole_body.h - what a cell does to a body (both walks), and to another cell (the CPU's walk).
 *
 * nb_m2p is written once for every backend.  nb_m2l and nb_mac_error are the CPU's: the device's walk has a local
 * expansion of fourth order and an estimate of its own (walk_cuda.cu), which are faster there;
 * opening_internal.h makes the opening angle mean the same errors on both.
 *
 * Gives the functions for float and double (suffixes f32 and f64), or else for the type that the includer
 * wants, e.g. SIMD vectors:
 *     #define NB_REAL nb_vf
 *     #define NB_REAL_NAME vf
 *     #include "kernels/tree/multipole_body.h"
 * Only +, - and * are used; how 1/sqrt is had is the backend's business.
 *
 * A cell is its mass m, its centre of mass, and its second moments q_ij = sum m x_i x_j about it.  The
 * potential (here positive, per G) of softened gravity at separation r from that centre is
 *     phi(r) = m D(r) + 1/2 sum_ij q_ij d_i d_j D(r) + O(size^3),   D(r) = (r^2 + eps^2)^(-1/2).
 * There is no dipole.  D is not harmonic, so q is not made traceless.
 *
 * Far cells are gathered in a local expansion about the centre of a target cell,
 *     phi(x) = sum C_ijk x^i y^j z^k,   i + j + k <= 5,
 * of which the gradient is the acceleration.  Source: Dehnen 2002, J. Comput. Phys. 179, 27 (Cartesian
 * expansions by mutual order: terms with source order + target order > 5 are left out). */
#ifndef NB_TREE_MULTIPOLE_BODY_H
#define NB_TREE_MULTIPOLE_BODY_H

#include "common/hd.h"

/* Taylor coefficients of a local expansion: x runs fastest, then y, then z. */
enum { NB_TAYLOR_ORDER = 5, NB_TAYLOR = 56 };
/* clang-format off */
enum {
	NB_C000, NB_C100, NB_C200, NB_C300, NB_C400, NB_C500, NB_C010, NB_C110, NB_C210, NB_C310, NB_C410,
	        NB_C020, NB_C120, NB_C220, NB_C320, NB_C030, NB_C130, NB_C230, NB_C040, NB_C140, NB_C050,
	        NB_C001, NB_C101, NB_C201, NB_C301, NB_C401, NB_C011, NB_C111, NB_C211, NB_C311, NB_C021,
	        NB_C121, NB_C221, NB_C031, NB_C131, NB_C041, NB_C002, NB_C102, NB_C202, NB_C302, NB_C012,
	        NB_C112, NB_C212, NB_C022, NB_C122, NB_C032, NB_C003, NB_C103, NB_C203, NB_C013, NB_C113,
	        NB_C023, NB_C004, NB_C104, NB_C014, NB_C005
};
/* clang-format on */

#ifndef NB_REAL
#define NB_REAL float
#define NB_REAL_NAME f32
#include "kernels/tree/multipole_body.h"
#define NB_REAL double
#define NB_REAL_NAME f64
#include "kernels/tree/multipole_body.h"
#endif
#endif

#ifdef NB_REAL
#define NB_M_PASTE2(f, name) f##_##name
#define NB_M_PASTE(f, name) NB_M_PASTE2(f, name)
#define NB_M(f) NB_M_PASTE(f, NB_REAL_NAME)

/* Estimated error of an interaction between cells, as an acceleration per G, to compare with a limit:
 *     (m (size / d)^6 + 1/2 crowd (reach / d)^6) / d^2
 *   mass      m, of the source
 *   crowd     of the largest cell around the source that the target has opened, or m: its parts are seen in
 *             about one direction, and what the target's expansion leaves out of each adds up
 *   size2     (radius of the source + reach of the target)^2
 *   reach2    of the target
 *   inv_d2    1 / (distance^2 + eps^2)
 * The expansions converge where size2 inv_d2 < 1; accept only there.  After Dehnen 2014, Comput. Astrophys.
 * Cosmol. 1, 1, who compares an estimated error with the local force; the exponent is what measured best. */
static NB_HD NB_REAL NB_M(nb_mac_error)(NB_REAL mass, NB_REAL crowd, NB_REAL size2, NB_REAL reach2, NB_REAL inv_d2)
{
	NB_REAL t = size2 * inv_d2, s = reach2 * inv_d2;
	return inv_d2 * (mass * (t * t * t) + 0.5f * crowd * (s * s * s));
}

/* The same of a cell that acts on a body: m (radius / d)^4 / (2 d^2), where radius2 inv_d2 < 1. */
static NB_HD NB_REAL NB_M(nb_mac_error_body)(NB_REAL mass, NB_REAL radius2, NB_REAL inv_d2)
{
	NB_REAL t = radius2 * inv_d2;
	return 0.5f * inv_d2 * mass * (t * t);
}

/* Adds the acceleration by a cell of mass m and second moments q (xx xy xz yy yz zz; quad = 0: not looked
 * at) at separation d = com - target, and its potential (positive).  y = 1 / sqrt(d^2 + eps^2). */
static NB_HD void NB_M(nb_m2p)(int quad, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL m, const NB_REAL *q,
	NB_REAL *ax, NB_REAL *ay, NB_REAL *az, NB_REAL *phi)
{
	const NB_REAL r2 = rinv * rinv, r3 = rinv * r2;
	NB_REAL w = m * r3;
	NB_REAL p = m * rinv;
	if (quad) {
		const NB_REAL vx = q[0] * x + q[1] * y + q[2] * z;
		const NB_REAL vy = q[1] * x + q[3] * y + q[4] * z;
		const NB_REAL vz = q[2] * x + q[4] * y + q[5] * z;
		const NB_REAL trace = q[0] + q[3] + q[5];
		const NB_REAL r5 = 3 * (r3 * r2);
		const NB_REAL dvd = r5 * (x * vx + y * vy + z * vz);
		const NB_REAL twice = dvd - r3 * trace; /* the potential of q */
		p += 0.5f * twice;
		/* a power r^-k contributes k d r^-(k+2): 5/2 of the first term and 3/2 of the second */
		w += r2 * (1.5f * twice + dvd);
		*ax -= r5 * vx;
		*ay -= r5 * vy;
		*az -= r5 * vz;
	}
	*ax += w * x;
	*ay += w * y;
	*az += w * z;
	*phi += p;
}

/* Adds a cell to the sums of a local expansion, NB_TAYLOR numbers: C_ijk times i! j! k!
 *   x, y, z   centre of the target cell - centre of mass of the source
 *   rinv      1 / sqrt(x^2 + y^2 + z^2 + eps^2)
 * a_ijk is the derivative of D, i times by x, j by y, k by z; b, c, d, e, f are the auxiliary functions
 * of the recurrence of McMurchie and Davidson (1978, J. Comput. Phys. 26, 218),
 *     R^k_(n+1) = x R^(k+1)_n + n R^(k+1)_(n-1),   R^k_000 = (-1)^k (2k - 1)!! rinv^(2k + 1). */
static NB_HD void NB_M(nb_m2l)(
	int quad, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL m, const NB_REAL *q, NB_REAL *sum)
{
	/* columns of like things */
	/* clang-format off */
	const NB_REAL t = -rinv * rinv;
	const NB_REAL a000 = rinv, b000 = a000 * t, c000 = b000 * (3 * t), d000 = c000 * (5 * t), e000 = d000 * (7 * t),
		      f000 = e000 * (9 * t);
	const NB_REAL a100 = x * b000, a010 = y * b000, a001 = z * b000, b100 = x * c000, b010 = y * c000,
		      b001 = z * c000, c100 = x * d000, c010 = y * d000, c001 = z * d000, d100 = x * e000,
		      d010 = y * e000, d001 = z * e000, e100 = x * f000, e010 = y * f000, e001 = z * f000;
	const NB_REAL a200 = x * b100 + b000, a110 = y * b100, a101 = z * b100, a020 = y * b010 + b000, a011 = z * b010,
		      a002 = z * b001 + b000, b200 = x * c100 + c000, b110 = y * c100, b020 = y * c010 + c000,
		      b002 = z * c001 + c000, c200 = x * d100 + d000, c020 = y * d010 + d000, c002 = z * d001 + d000,
		      d200 = x * e100 + e000, d020 = y * e010 + e000, d002 = z * e001 + e000;
	const NB_REAL a300 = x * b200 + 2 * b100, a210 = y * b200, a201 = z * b200, a120 = x * b020, a111 = z * b110,
		      a102 = x * b002, a030 = y * b020 + 2 * b010, a021 = z * b020, a012 = y * b002,
		      a003 = z * b002 + 2 * b001, b300 = x * c200 + 2 * c100, b210 = y * c200, b201 = z * c200,
		      b120 = x * c020, b102 = x * c002, b030 = y * c020 + 2 * c010, b021 = z * c020,
		      b003 = z * c002 + 2 * c001, c300 = x * d200 + 2 * d100, c210 = y * d200, c201 = z * d200,
		      c030 = y * d020 + 2 * d010, c021 = z * d020, c003 = z * d002 + 2 * d001;
	const NB_REAL a400 = x * b300 + 3 * b200, a310 = y * b300, a301 = z * b300, a220 = y * b210 + b200,
		      a211 = z * b210, a202 = z * b201 + b200, a130 = x * b030, a121 = z * b120, a112 = y * b102,
		      a103 = x * b003, a040 = y * b030 + 3 * b020, a031 = z * b030, a022 = z * b021 + b020,
		      a013 = y * b003, a004 = z * b003 + 3 * b002, b400 = x * c300 + 3 * c200, b310 = y * c300,
		      b301 = z * c300, b220 = y * c210 + c200, b202 = z * c201 + c200, b130 = x * c030, b103 = x * c003,
		      b040 = y * c030 + 3 * c020, b031 = z * c030, b022 = z * c021 + c020, b004 = z * c003 + 3 * c002;
	const NB_REAL a500 = x * b400 + 4 * b300, a410 = y * b400, a401 = z * b400, a320 = y * b310 + b300,
		      a311 = z * b310, a302 = z * b301 + b300, a230 = y * b220 + 2 * b210, a221 = z * b220,
		      a212 = y * b202, a203 = z * b202 + 2 * b201, a140 = x * b040, a131 = z * b130, a122 = x * b022,
		      a113 = y * b103, a104 = x * b004, a050 = y * b040 + 4 * b030, a041 = z * b040,
		      a032 = z * b031 + b030, a023 = z * b022 + 2 * b021, a014 = y * b004, a005 = z * b004 + 4 * b003;
	sum[NB_C000] += m * a000;
	sum[NB_C100] += m * a100; sum[NB_C010] += m * a010; sum[NB_C001] += m * a001;
	sum[NB_C200] += m * a200; sum[NB_C110] += m * a110; sum[NB_C101] += m * a101;
	sum[NB_C020] += m * a020; sum[NB_C011] += m * a011; sum[NB_C002] += m * a002;
	sum[NB_C300] += m * a300; sum[NB_C210] += m * a210; sum[NB_C201] += m * a201; sum[NB_C120] += m * a120;
	sum[NB_C111] += m * a111; sum[NB_C102] += m * a102; sum[NB_C030] += m * a030; sum[NB_C021] += m * a021;
	sum[NB_C012] += m * a012; sum[NB_C003] += m * a003;
	sum[NB_C400] += m * a400; sum[NB_C310] += m * a310; sum[NB_C301] += m * a301; sum[NB_C220] += m * a220;
	sum[NB_C211] += m * a211; sum[NB_C202] += m * a202; sum[NB_C130] += m * a130; sum[NB_C121] += m * a121;
	sum[NB_C112] += m * a112; sum[NB_C103] += m * a103; sum[NB_C040] += m * a040; sum[NB_C031] += m * a031;
	sum[NB_C022] += m * a022; sum[NB_C013] += m * a013; sum[NB_C004] += m * a004;
	sum[NB_C500] += m * a500; sum[NB_C410] += m * a410; sum[NB_C401] += m * a401; sum[NB_C320] += m * a320;
	sum[NB_C311] += m * a311; sum[NB_C302] += m * a302; sum[NB_C230] += m * a230; sum[NB_C221] += m * a221;
	sum[NB_C212] += m * a212; sum[NB_C203] += m * a203; sum[NB_C140] += m * a140; sum[NB_C131] += m * a131;
	sum[NB_C122] += m * a122; sum[NB_C113] += m * a113; sum[NB_C104] += m * a104; sum[NB_C050] += m * a050;
	sum[NB_C041] += m * a041; sum[NB_C032] += m * a032; sum[NB_C023] += m * a023; sum[NB_C014] += m * a014;
	sum[NB_C005] += m * a005;
	if (!quad)
		return;
	const NB_REAL qxx = 0.5f * q[0], qxy = q[1], qxz = q[2], qyy = 0.5f * q[3], qyz = q[4], qzz = 0.5f * q[5];
	sum[NB_C000] += qxx * a200 + qxy * a110 + qxz * a101 + qyy * a020 + qyz * a011 + qzz * a002;
	sum[NB_C100] += qxx * a300 + qxy * a210 + qxz * a201 + qyy * a120 + qyz * a111 + qzz * a102;
	sum[NB_C010] += qxx * a210 + qxy * a120 + qxz * a111 + qyy * a030 + qyz * a021 + qzz * a012;
	sum[NB_C001] += qxx * a201 + qxy * a111 + qxz * a102 + qyy * a021 + qyz * a012 + qzz * a003;
	sum[NB_C200] += qxx * a400 + qxy * a310 + qxz * a301 + qyy * a220 + qyz * a211 + qzz * a202;
	sum[NB_C110] += qxx * a310 + qxy * a220 + qxz * a211 + qyy * a130 + qyz * a121 + qzz * a112;
	sum[NB_C101] += qxx * a301 + qxy * a211 + qxz * a202 + qyy * a121 + qyz * a112 + qzz * a103;
	sum[NB_C020] += qxx * a220 + qxy * a130 + qxz * a121 + qyy * a040 + qyz * a031 + qzz * a022;
	sum[NB_C011] += qxx * a211 + qxy * a121 + qxz * a112 + qyy * a031 + qyz * a022 + qzz * a013;
	sum[NB_C002] += qxx * a202 + qxy * a112 + qxz * a103 + qyy * a022 + qyz * a013 + qzz * a004;
	sum[NB_C300] += qxx * a500 + qxy * a410 + qxz * a401 + qyy * a320 + qyz * a311 + qzz * a302;
	sum[NB_C210] += qxx * a410 + qxy * a320 + qxz * a311 + qyy * a230 + qyz * a221 + qzz * a212;
	sum[NB_C201] += qxx * a401 + qxy * a311 + qxz * a302 + qyy * a221 + qyz * a212 + qzz * a203;
	sum[NB_C120] += qxx * a320 + qxy * a230 + qxz * a221 + qyy * a140 + qyz * a131 + qzz * a122;
	sum[NB_C111] += qxx * a311 + qxy * a221 + qxz * a212 + qyy * a131 + qyz * a122 + qzz * a113;
	sum[NB_C102] += qxx * a302 + qxy * a212 + qxz * a203 + qyy * a122 + qyz * a113 + qzz * a104;
	sum[NB_C030] += qxx * a230 + qxy * a140 + qxz * a131 + qyy * a050 + qyz * a041 + qzz * a032;
	sum[NB_C021] += qxx * a221 + qxy * a131 + qxz * a122 + qyy * a041 + qyz * a032 + qzz * a023;
	sum[NB_C012] += qxx * a212 + qxy * a122 + qxz * a113 + qyy * a032 + qyz * a023 + qzz * a014;
	sum[NB_C003] += qxx * a203 + qxy * a113 + qxz * a104 + qyy * a023 + qyz * a014 + qzz * a005;
	/* clang-format on */
}

#undef NB_M
#undef NB_M_PASTE
#undef NB_M_PASTE2
#undef NB_REAL
#undef NB_REAL_NAME
#endif
