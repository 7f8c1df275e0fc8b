/* multipole_body.h - what a cell does to a body (both walks), and to another cell (the CPU's walk).
 *
 * nb_m2p is written once for every backend.  nb_m2l is the CPU's: the device's walk has a local expansion of fourth
 * order (kernels/walk_gpu), which is faster there.
 *
 * Gives the functions for float and double (suffixes f32 and f64), or else for the type that the includer
 * wants, e.g. SIMD vectors:
 *     #define NB_REAL nb_vf
 *     #define NB_REAL_NAME vf
 *     #include "kernels/multipole/multipole_body.h"
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
 * expansions by mutual order: terms with source order + target order > 5 are left out).
 *
 * Jerks are the time derivatives of these expressions.  A cell's mass stays, its centre of mass moves with the
 * velocity V = sum m v / sum m, its second moments change by dq_ij/dt = sum m (x_i w_j + w_i x_j), w = v - V, and
 * it has no dipole at any time.  So a cell acts on a body that moves with velocity v_t by
 *     jerk = (V - v_t).grad acc(m, q) + acc(0, dq/dt)            (gradient by the separation),
 * and a local expansion about a centre that moves with velocity V_t changes by
 *     dC/dt = (V_t - V).grad C(m, q) + C(0, dq/dt);   jerk = grad dC/dt + ((v_t - V_t).grad) acc.
 * Only differences of velocities occur, and those of neighbours: what bodies have in common, all of them or a
 * cluster, changes nothing.  Made of the derivatives of D that the acceleration has, up to the fifth, a jerk leaves
 * out what is of one power of size / distance less than what the acceleration leaves out, as its time derivative is.
 * Measured (tests/unit/walk/jerk.c), the relative error of jerks is 1.2 to 8 times that of accelerations.
 * Our own derivation; Makino & Aarseth 1992 (pair.h) have the jerk of point masses. */
#ifndef NB_MULTIPOLE_BODY_H
#define NB_MULTIPOLE_BODY_H

#include "common/hd.h"

/* Taylor coefficients of a local expansion, by the powers of x, y and z: x runs fastest, then y, then z. */
enum { NB_TAYLOR_ORDER = 5, NB_TAYLOR = 56 };
/* clang-format off */
#define NB_TAYLOR_EACH(DO)                                                                         \
	DO(000) DO(100) DO(200) DO(300) DO(400) DO(500) DO(010) DO(110) DO(210) DO(310) DO(410)    \
	DO(020) DO(120) DO(220) DO(320) DO(030) DO(130) DO(230) DO(040) DO(140) DO(050)            \
	DO(001) DO(101) DO(201) DO(301) DO(401) DO(011) DO(111) DO(211) DO(311)                    \
	DO(021) DO(121) DO(221) DO(031) DO(131) DO(041)                                            \
	DO(002) DO(102) DO(202) DO(302) DO(012) DO(112) DO(212) DO(022) DO(122) DO(032)            \
	DO(003) DO(103) DO(203) DO(013) DO(113) DO(023) DO(004) DO(104) DO(014) DO(005)
/* those below the highest order, each with the one of one more x, y and z */
#define NB_TAYLOR_GRADIENT(DO)                                                                     \
	DO(000, 100, 010, 001)                                                                     \
	DO(100, 200, 110, 101) DO(010, 110, 020, 011) DO(001, 101, 011, 002)                       \
	DO(200, 300, 210, 201) DO(110, 210, 120, 111) DO(101, 201, 111, 102)                       \
	DO(020, 120, 030, 021) DO(011, 111, 021, 012) DO(002, 102, 012, 003)                       \
	DO(300, 400, 310, 301) DO(210, 310, 220, 211) DO(201, 301, 211, 202)                       \
	DO(120, 220, 130, 121) DO(111, 211, 121, 112) DO(102, 202, 112, 103)                       \
	DO(030, 130, 040, 031) DO(021, 121, 031, 022) DO(012, 112, 022, 013) DO(003, 103, 013, 004) \
	DO(400, 500, 410, 401) DO(310, 410, 320, 311) DO(301, 401, 311, 302)                       \
	DO(220, 320, 230, 221) DO(211, 311, 221, 212) DO(202, 302, 212, 203)                       \
	DO(130, 230, 140, 131) DO(121, 221, 131, 122) DO(112, 212, 122, 113) DO(103, 203, 113, 104) \
	DO(040, 140, 050, 041) DO(031, 131, 041, 032) DO(022, 122, 032, 023)                       \
	DO(013, 113, 023, 014) DO(004, 104, 014, 005)
#define NB_TAYLOR_NAME(ijk) NB_C##ijk,
enum { NB_TAYLOR_EACH(NB_TAYLOR_NAME) };
#undef NB_TAYLOR_NAME
/* clang-format on */

#ifndef NB_REAL
#define NB_REAL float
#define NB_REAL_NAME f32
#include "kernels/multipole/multipole_body.h"
#define NB_REAL double
#define NB_REAL_NAME f64
#include "kernels/multipole/multipole_body.h"
#endif
#endif

#ifdef NB_REAL
#define NB_M_PASTE2(f, name) f##_##name
#define NB_M_PASTE(f, name) NB_M_PASTE2(f, name)
#define NB_M(f) NB_M_PASTE(f, NB_REAL_NAME)

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

/* The same, and the jerk.
 *   ux, uy, uz   velocity of the cell's centre of mass - that of the target
 *   p            time derivative of q
 * With e = d rinv, U = u rinv, Q = q rinv^2, P = p rinv^2, s = e.U, so that no high power of rinv overflows,
 *     phi  = rinv (m + 1/2 (3 e.Q.e - tr Q))
 *     acc  = -rinv^2 (A e + 3 Q.e),   A = -m + 1/2 (3 tr Q - 15 e.Q.e)
 *     jerk = -rinv^2 (A U + B e + 3 (Q.U + P.e) - 15 s Q.e),
 *            B = 3 m s + 1/2 (105 s e.Q.e - 15 s tr Q - 30 U.Q.e - 15 e.P.e + 3 tr P). */
static NB_HD void NB_M(nb_m2p_jerk)(int quad, NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL ux, NB_REAL uy, NB_REAL uz,
	NB_REAL rinv, NB_REAL m, const NB_REAL *q, const NB_REAL *p, NB_REAL *acc, NB_REAL *phi, NB_REAL *jerk)
{
	const NB_REAL r2 = rinv * rinv;
	x *= rinv, y *= rinv, z *= rinv;
	ux *= rinv, uy *= rinv, uz *= rinv;
	const NB_REAL s = x * ux + y * uy + z * uz;
	NB_REAL A = -m, B = 3 * (m * s), potential = m;
	if (quad) {
		const NB_REAL qx = q[0] * x + q[1] * y + q[2] * z, px = p[0] * x + p[1] * y + p[2] * z;
		const NB_REAL qy = q[1] * x + q[3] * y + q[4] * z, py = p[1] * x + p[3] * y + p[4] * z;
		const NB_REAL qz = q[2] * x + q[4] * y + q[5] * z, pz = p[2] * x + p[4] * y + p[5] * z;
		const NB_REAL eqe = x * qx + y * qy + z * qz, epe = x * px + y * py + z * pz;
		const NB_REAL uqe = ux * qx + uy * qy + uz * qz;
		const NB_REAL trace = q[0] + q[3] + q[5], trace_rate = p[0] + p[3] + p[5];
		potential += 0.5f * r2 * (3 * eqe - trace);
		A += 1.5f * r2 * (trace - 5 * eqe);
		B += 1.5f * r2 * (5 * (s * (7 * eqe - trace) - 2 * uqe - epe) + trace_rate);
		const NB_REAL r4 = 3 * (r2 * r2);
		acc[0] -= r4 * qx;
		acc[1] -= r4 * qy;
		acc[2] -= r4 * qz;
		jerk[0] -= r4 * (q[0] * ux + q[1] * uy + q[2] * uz + px - 5 * s * qx);
		jerk[1] -= r4 * (q[1] * ux + q[3] * uy + q[4] * uz + py - 5 * s * qy);
		jerk[2] -= r4 * (q[2] * ux + q[4] * uy + q[5] * uz + pz - 5 * s * qz);
	}
	acc[0] -= r2 * (A * x);
	acc[1] -= r2 * (A * y);
	acc[2] -= r2 * (A * z);
	jerk[0] -= r2 * (A * ux + B * x);
	jerk[1] -= r2 * (A * uy + B * y);
	jerk[2] -= r2 * (A * uz + B * z);
	*phi += rinv * potential;
}

/* a[NB_Cijk]: the derivative of D, i times by x, j by y, k by z.
 *   rinv      1 / sqrt(x^2 + y^2 + z^2 + eps^2)
 * b, c, d, e, f are the auxiliary functions of the recurrence of McMurchie and Davidson (1978, J. Comput. Phys.
 * 26, 218),
 *     R^k_(n+1) = x R^(k+1)_n + n R^(k+1)_(n-1),   R^k_000 = (-1)^k (2k - 1)!! rinv^(2k + 1). */
static NB_HD void NB_M(nb_derivatives)(NB_REAL x, NB_REAL y, NB_REAL z, NB_REAL rinv, NB_REAL *a)
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
	/* clang-format on */
#define NB_KEEP(ijk) a[NB_C##ijk] = a##ijk;
	NB_TAYLOR_EACH(NB_KEEP)
#undef NB_KEEP
}

/* Second moments q act on an expansion up to the order that the derivatives a allow, those of fifth order (order = 5)
 * or of fourth: adds 1/2 sum_ij q_ij a_ij... */
static NB_HD void NB_M(nb_quad_acts)(int order, const NB_REAL *q, const NB_REAL *a, NB_REAL *sum)
{
	const NB_REAL qxx = 0.5f * q[0], qxy = q[1], qxz = q[2], qyy = 0.5f * q[3], qyz = q[4], qzz = 0.5f * q[5];
	/* clang-format off */
#define NB_QUAD(n, xx, xy, xz, yy, yz, zz)                                              \
	sum[NB_C##n] += qxx * a[NB_C##xx] + qxy * a[NB_C##xy] + qxz * a[NB_C##xz] +     \
			qyy * a[NB_C##yy] + qyz * a[NB_C##yz] + qzz * a[NB_C##zz]
	NB_QUAD(000, 200, 110, 101, 020, 011, 002);
	NB_QUAD(100, 300, 210, 201, 120, 111, 102);
	NB_QUAD(010, 210, 120, 111, 030, 021, 012);
	NB_QUAD(001, 201, 111, 102, 021, 012, 003);
	NB_QUAD(200, 400, 310, 301, 220, 211, 202);
	NB_QUAD(110, 310, 220, 211, 130, 121, 112);
	NB_QUAD(101, 301, 211, 202, 121, 112, 103);
	NB_QUAD(020, 220, 130, 121, 040, 031, 022);
	NB_QUAD(011, 211, 121, 112, 031, 022, 013);
	NB_QUAD(002, 202, 112, 103, 022, 013, 004);
	if (order < NB_TAYLOR_ORDER)
		return;
	NB_QUAD(300, 500, 410, 401, 320, 311, 302);
	NB_QUAD(210, 410, 320, 311, 230, 221, 212);
	NB_QUAD(201, 401, 311, 302, 221, 212, 203);
	NB_QUAD(120, 320, 230, 221, 140, 131, 122);
	NB_QUAD(111, 311, 221, 212, 131, 122, 113);
	NB_QUAD(102, 302, 212, 203, 122, 113, 104);
	NB_QUAD(030, 230, 140, 131, 050, 041, 032);
	NB_QUAD(021, 221, 131, 122, 041, 032, 023);
	NB_QUAD(012, 212, 122, 113, 032, 023, 014);
	NB_QUAD(003, 203, 113, 104, 023, 014, 005);
#undef NB_QUAD
	/* clang-format on */
}

/* Adds a cell to the sums of a local expansion, NB_TAYLOR numbers: C_ijk times i! j! k!
 *   a   the derivatives of D (nb_derivatives) at centre of the target cell - centre of mass of the source */
static NB_HD void NB_M(nb_m2l)(int quad, const NB_REAL *a, NB_REAL m, const NB_REAL *q, NB_REAL *sum)
{
#define NB_MASS(ijk) sum[NB_C##ijk] += m * a[NB_C##ijk];
	NB_TAYLOR_EACH(NB_MASS)
#undef NB_MASS
	if (quad)
		NB_M(nb_quad_acts)(NB_TAYLOR_ORDER, q, a, sum);
}

/* Adds a cell to the time derivative of a local expansion, of which the terms below fifth order are used.
 *   vx, vy, vz   velocity of the target's centre - that of the source's centre of mass
 *   p            time derivative of q */
static NB_HD void NB_M(nb_m2l_rate)(int quad, const NB_REAL *a, NB_REAL vx, NB_REAL vy, NB_REAL vz, NB_REAL m,
	const NB_REAL *q, const NB_REAL *p, NB_REAL *rate)
{
	NB_REAL along[NB_TAYLOR]; /* time derivative of a, as far as fifth derivatives give it */
	/* clang-format off */
#define NB_ALONG(n, x, y, z)                                                            \
	along[NB_C##n] = vx * a[NB_C##x] + vy * a[NB_C##y] + vz * a[NB_C##z];           \
	rate[NB_C##n] += m * along[NB_C##n];
	NB_TAYLOR_GRADIENT(NB_ALONG)
#undef NB_ALONG
	/* clang-format on */
	if (!quad)
		return;
	NB_M(nb_quad_acts)(NB_TAYLOR_ORDER, p, a, rate);
	NB_M(nb_quad_acts)(NB_TAYLOR_ORDER - 1, q, along, rate);
}

#undef NB_M
#undef NB_M_PASTE
#undef NB_M_PASTE2
#undef NB_REAL
#undef NB_REAL_NAME
#endif
