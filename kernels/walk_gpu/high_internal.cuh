/* high_internal.cuh - cells with moments up to third or fourth order on the device: their moments, what they do to a
 * body, and the local expansion that they are gathered in; not for callers of walk_gpu.h.
 *
 * A monomial x^i y^j z^k, and a component of a symmetric tensor, has a place: by degree, then by falling powers of x,
 * then of y (as in high_body.h).  With n = i + j + k, r = j + k it is n (n + 1) (n + 2) / 6 + r (r + 1) / 2 + k.
 *
 * All lengths are relative, so that no power of any leaves the range of f32.  A node of mass M and size s (a power of
 * two, 0 of a point) has
 *     R_ijk = sum m x^i y^j z^k / (i! j! k! M s^n)
 * about its centre of mass, n = 0 .. P; R_000 = 1, and there is no dipole.  It acts from a distance d,
 * u^2 = d^2 + eps^2, through e = d / u and the derivatives a_ijk of D = 1/u, times u^(n + 1), which depend on e only.
 * Its potential at x from a centre at distance d is
 *     M / u sum_T x^T / (T! u^|T|) sum_S (-1)^|S| R_S (s / u)^|S| a_(S + T).
 * The local expansion has the terms T up to |T| = L (nb_high_local), and those of the sum with |S| + |T| <= L (Dehnen
 * 2002, J. Comput. Phys. 179, 27).  The derivatives come from the recurrence of McMurchie and Davidson
 * (multipole_body.h).
 *
 * HARMONIC: there is no softening, so a_xx.. + a_yy.. + a_zz.. = 0.  Then what has z^2 or more is replaced by what has
 * not, in sources and in targets: 2 n + 1 terms of each degree are left; and the tensors that act on bodies are without
 * traces. */
#ifndef NB_WALK_GPU_HIGH_INTERNAL_CUH
#define NB_WALK_GPU_HIGH_INTERNAL_CUH

#include <utility>

#include "kernels/walk_gpu/walk_gpu.cuh"

/* ---- places of monomials ------------------------------------------------------------------------------------ */

struct nb_monomial {
	int i, j, k;
	__host__ __device__ constexpr int degree() const
	{
		return i + j + k;
	}
	__host__ __device__ constexpr int place() const
	{
		return nb_high_count(degree() - 1) + (j + k) * (j + k + 1) / 2 + k;
	}
};
static __host__ __device__ constexpr nb_monomial nb_monomial_of(int place)
{
	int n = 0, r = 0;
	while (nb_high_count(n) <= place)
		n++;
	place -= nb_high_count(n - 1);
	while ((r + 1) * (r + 2) / 2 <= place)
		r++;
	place -= r * (r + 1) / 2;
	return {n - r, r - place, place};
}
/* Of those that are kept: of a harmonic function z^0 and z^1 only. */
static __host__ __device__ constexpr nb_monomial nb_monomial_kept(int place, bool harmonic)
{
	if (!harmonic)
		return nb_monomial_of(place);
	int n = 0;
	while ((n + 1) * (n + 1) <= place)
		n++;
	place -= n * n;
	return place <= n ? nb_monomial{n - place, place, 0} : nb_monomial{2 * n - place, place - n - 1, 1};
}
/* n! / (i! j! k!) */
static __host__ __device__ constexpr int nb_multinomial(const nb_monomial &m)
{
	int f = 1;
	for (int x = 1, i = 0, j = 0, k = 0; x <= m.degree(); x++) {
		f *= x;
		if (i < m.i)
			f /= ++i;
		else if (j < m.j)
			f /= ++j;
		else
			f /= ++k;
	}
	return f;
}

/* ---- what the walk reads, from R ------------------------------------------------------------------------------ */

/* The symmetric tensors of second to fourth degree without their traces. */
static __device__ __forceinline__ void nb_high_detrace(int order, double *t)
{
	double *q = t, *o = t + 6, *h = t + 16;
	const double trace = (q[0] + q[3] + q[5]) / 3;
	q[0] -= trace, q[3] -= trace, q[5] -= trace;
	const double v[3] = {(o[0] + o[3] + o[5]) / 5, (o[1] + o[6] + o[8]) / 5, (o[2] + o[7] + o[9]) / 5};
	o[0] -= 3 * v[0], o[1] -= v[1], o[2] -= v[2], o[3] -= v[0], o[5] -= v[0];
	o[6] -= 3 * v[1], o[7] -= v[2], o[8] -= v[1], o[9] -= 3 * v[2];
	if (order < 4)
		return;
	const double s[6] = {(h[0] + h[3] + h[5]) / 7, (h[1] + h[6] + h[8]) / 7, (h[2] + h[7] + h[9]) / 7,
		(h[3] + h[10] + h[12]) / 7, (h[4] + h[11] + h[13]) / 7, (h[5] + h[12] + h[14]) / 7};
	const double both = (s[0] + s[3] + s[5]) / 5;
	h[0] -= 6 * s[0] - 3 * both;
	h[1] -= 3 * s[1];
	h[2] -= 3 * s[2];
	h[3] -= s[0] + s[3] - both;
	h[4] -= s[4];
	h[5] -= s[0] + s[5] - both;
	h[6] -= 3 * s[1];
	h[7] -= s[2];
	h[8] -= s[1];
	h[9] -= 3 * s[2];
	h[10] -= 6 * s[3] - 3 * both;
	h[11] -= 3 * s[4];
	h[12] -= s[3] + s[5] - both;
	h[13] -= 3 * s[4];
	h[14] -= 6 * s[5] - 3 * both;
}

/* From a row of nb_tree_high_cuda, whose s is multiplied by unit. */
template <int ORDER, bool HARMONIC, class real>
static __device__ void nb_high_pack(const double *row, double unit, real *body, real *far)
{
	constexpr int moments = nb_high_moments(ORDER), far_moments = nb_high_far_moments(ORDER, HARMONIC);
	double r[4 + moments], t[moments];
#pragma unroll
	for (int p = 0; p < moments; p++) {
		r[4 + p] = row[p];
		t[p] = row[p] / nb_multinomial(nb_monomial_of(4 + p));
	}
	if (HARMONIC) {
		nb_high_detrace(ORDER, t);
#pragma unroll
		for (int n = 2; n <= ORDER; n++)
#pragma unroll
			for (int k = n; k >= 2; k--)
#pragma unroll
				for (int j = n - k; j >= 0; j--) {
					const int i = n - k - j;
					const double much = r[nb_monomial{i, j, k}.place()];
					r[nb_monomial{i + 2, j, k - 2}.place()] -= much;
					r[nb_monomial{i, j + 2, k - 2}.place()] -= much;
				}
	}
#pragma unroll
	for (int p = 0; p < nb_high_body_row(ORDER); p++)
		body[p] = p < moments ? (real)t[p] : 0;
#pragma unroll
	for (int p = 0; p < nb_high_far_row(ORDER, HARMONIC); p++) {
		const nb_monomial m = nb_monomial_kept(p < far_moments ? 4 + p : 4, HARMONIC);
		far[p] = p < far_moments    ? (real)(m.degree() == 3 ? -r[m.place()] : r[m.place()])
			 : p == far_moments ? (real)(row[moments] * unit)
					    : 0;
	}
}

/* ---- on a body ---------------------------------------------------------------------------------------------- */

/* A cell as the warp reads it: moments as tensors of sum m x^n / (n! M), in units of the group, and their traces, which
 * are 0 where all is harmonic. */
template <class real, int ORDER, bool HARMONIC> struct nb_high_traces {
};
template <class real> struct nb_high_traces<real, 3, false> {
	real tr_q, tr_o[3];
};
template <class real> struct nb_high_traces<real, 4, false> {
	real tr_q, tr_o[3], tr_h[6], tr_tr_h, unused;
};
template <class real, int ORDER, bool HARMONIC>
struct alignas(16) nb_high_pole : nb_high_traces<real, ORDER, HARMONIC> {
	real x, y, z, mass, t[nb_high_body_row(ORDER)];
};
/* With softenings of its own. */
template <class real, int ORDER> struct alignas(16) nb_high_soft_pole : nb_high_pole<real, ORDER, false> {
	real eps2;
};

/* From the tensors and s / unit of length. */
template <int ORDER, bool HARMONIC, class real>
static __device__ __forceinline__ void nb_high_set(nb_high_pole<real, ORDER, HARMONIC> &c, const real *r, real s)
{
	const real s2 = s * s, s3 = s2 * s, s4 = s2 * s2;
#pragma unroll
	for (int k = 0; k < nb_high_body_row(ORDER); k++)
		c.t[k] = r[k] * (k < 6 ? s2 : k < 16 ? s3 : s4);
	if constexpr (!HARMONIC) {
		const real *q = c.t, *o = c.t + 6, *h = c.t + 16;
		c.tr_q = q[0] + q[3] + q[5];
		c.tr_o[0] = o[0] + o[3] + o[5];
		c.tr_o[1] = o[1] + o[6] + o[8];
		c.tr_o[2] = o[2] + o[7] + o[9];
		if constexpr (ORDER == 4) {
			c.tr_h[0] = h[0] + h[3] + h[5];
			c.tr_h[1] = h[1] + h[6] + h[8];
			c.tr_h[2] = h[2] + h[7] + h[9];
			c.tr_h[3] = h[3] + h[10] + h[12];
			c.tr_h[4] = h[4] + h[11] + h[13];
			c.tr_h[5] = h[5] + h[12] + h[14];
			c.tr_tr_h = c.tr_h[0] + c.tr_h[3] + c.tr_h[5];
			c.unused = 0;
		}
	}
}

/* A symmetric tensor t of degree N times e: one of degree N - 1. */
template <int N, class real>
static __device__ __forceinline__ void nb_high_contract(const real *t, const real (&e)[3], real *to)
{
#pragma unroll
	for (int p = 0; p < N * (N + 1) / 2; p++) {
		const int r = p < 1 ? 0 : p < 3 ? 1 : p < 6 ? 2 : 3;
		to[p] = e[0] * t[p] + e[1] * t[p + r + 1] + e[2] * t[p + r + 2];
	}
}

template <class real> static __device__ __forceinline__ real nb_high_dot(const real *a, const real (&b)[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* What the cell does at separation (x, y, z) = its centre - the body; rinv = 1/u.  The formulas are those of
 * nb_m2p_high, in e. */
template <int ORDER, bool HARMONIC, bool POT, class real>
static __device__ __forceinline__ void nb_high_acts(
	const nb_high_pole<real, ORDER, HARMONIC> &c, real x, real y, real z, real rinv, real (&acc)[3], real &pot)
{
	const real e[3] = {x * rinv, y * rinv, z * rinv};
	const real r2 = rinv * rinv, r3 = r2 * rinv, mr = c.mass * rinv;
	real qe[3], oe[6], oee[3], v[3];
	nb_high_contract<2>(c.t, e, qe);
	nb_high_contract<3>(c.t + 6, e, oe);
	nb_high_contract<2>(oe, e, oee);
	const real eqe = nb_high_dot(qe, e), oeee = nb_high_dot(oee, e);
	real w = -15 * (r2 * eqe - 7 * (r3 * oeee)) - 1, phi = 1 + r2 * (3 * eqe) - r3 * (15 * oeee);
	const real q_weight = 6 * r2, o_weight = -45 * r3;
#pragma unroll
	for (int k = 0; k < 3; k++)
		v[k] = q_weight * qe[k] + o_weight * oee[k];
	if constexpr (!HARMONIC) {
		const real ve = nb_high_dot(c.tr_o, e);
		w += r2 * (3 * c.tr_q) - r3 * (45 * ve);
		phi += r3 * (9 * ve) - r2 * c.tr_q;
#pragma unroll
		for (int k = 0; k < 3; k++)
			v[k] += 9 * r3 * c.tr_o[k];
	}
	if constexpr (ORDER == 4) {
		real he[10], hee[6], heee[3];
		nb_high_contract<4>(c.t + 16, e, he);
		nb_high_contract<3>(he, e, hee);
		nb_high_contract<2>(hee, e, heee);
		const real heeee = nb_high_dot(heee, e), r4 = r2 * r2, h_weight = 420 * r4;
		w -= r4 * (945 * heeee);
		phi += r4 * (105 * heeee);
#pragma unroll
		for (int k = 0; k < 3; k++)
			v[k] += h_weight * heee[k];
		if constexpr (!HARMONIC) {
			real se[3];
			nb_high_contract<2>(c.tr_h, e, se);
			const real see = nb_high_dot(se, e);
			w += r4 * (630 * see - 45 * c.tr_tr_h);
			phi += r4 * (9 * c.tr_tr_h - 90 * see);
#pragma unroll
			for (int k = 0; k < 3; k++)
				v[k] -= 180 * r4 * se[k];
		}
	}
	const real f = -mr * rinv;
#pragma unroll
	for (int k = 0; k < 3; k++)
		acc[k] += f * (w * e[k] + v[k]);
	if constexpr (POT)
		pot += mr * phi;
}

/* ---- on a local expansion ------------------------------------------------------------------------------------ */

template <int ORDER, bool HARMONIC> struct nb_high_far {
	enum { L = nb_high_local(ORDER, HARMONIC), ALL = nb_high_count(L), TERMS = nb_high_kept(L, HARMONIC) };
	template <int N> using sequence = std::make_integer_sequence<int, N>;

	/* r[K][place]: R^K of the recurrence, of degree T's; r[0] is wanted. */
	template <int T, int K, class real>
	static __device__ __forceinline__ void derive(const real (&e)[3], real (&r)[L + 1][ALL])
	{
		constexpr nb_monomial t = nb_monomial_of(T);
		if constexpr (t.degree() == 0) {
			constexpr int factor[] = {1, -1, 3, -15, 105, -945, 10395, -135135};
			r[K][0] = (real)factor[K];
		} else if constexpr (HARMONIC && K == 0 && t.k == 2) {
			r[0][T] = -r[0][nb_monomial{t.i + 2, t.j, 0}.place()] -
				  r[0][nb_monomial{t.i, t.j + 2, 0}.place()];
		} else {
			/* along an axis of power 1, if there is one, there is one term only */
			constexpr int axis = t.i == 1 ? 0 : t.j == 1 ? 1 : t.k == 1 ? 2 : t.i > 0 ? 0 : t.j > 0 ? 1 : 2;
			constexpr int power = axis == 0 ? t.i : axis == 1 ? t.j : t.k;
			constexpr nb_monomial one = {t.i - (axis == 0), t.j - (axis == 1), t.k - (axis == 2)};
			real value = e[axis] * r[K + 1][one.place()];
			if constexpr (power > 1) {
				constexpr nb_monomial two = {
					one.i - (axis == 0), one.j - (axis == 1), one.k - (axis == 2)};
				value += (real)(power - 1) * r[K + 1][two.place()];
			}
			r[K][T] = value;
		}
	}
	template <int T, class real, int... K>
	static __device__ __forceinline__ void derive_all(
		const real (&e)[3], real (&r)[L + 1][ALL], std::integer_sequence<int, K...>)
	{
		(derive<T, K>(e, r), ...);
	}
	template <class real, int... T>
	static __device__ __forceinline__ void derivatives(
		const real (&e)[3], real (&r)[L + 1][ALL], std::integer_sequence<int, T...>)
	{
		(derive_all<T>(e, r, sequence<L + 1 - nb_monomial_of(T).degree()>()), ...);
	}

	/* sum_S m_S a_(S + T), S without dipoles */
	template <int T, int S, class real>
	static __device__ __forceinline__ void act_one(const real *m, const real *a, real &sum)
	{
		constexpr nb_monomial t = nb_monomial_kept(T, HARMONIC), s = nb_monomial_kept(S, HARMONIC);
		constexpr nb_monomial both = {s.i + t.i, s.j + t.j, s.k + t.k};
		if constexpr (s.degree() != 1 && both.degree() <= L)
			sum += m[S] * a[both.place()];
	}
	template <int T, class real, int... S>
	static __device__ __forceinline__ real act(const real *m, const real *a, std::integer_sequence<int, S...>)
	{
		real sum = 0;
		(act_one<T, S>(m, a, sum), ...);
		return sum;
	}
	template <int FIRST, class real, int... T>
	static __device__ __forceinline__ void add_terms(
		const real *m, const real *a, const real *factor, real *sums, std::integer_sequence<int, T...>)
	{
		((sums[(T + FIRST) * 32] += factor[nb_monomial_kept(T + FIRST, HARMONIC).degree()] *
					    act<T + FIRST>(m, a, sequence<nb_high_kept(ORDER, HARMONIC)>())),
			...);
	}

	/* Adds a cell of this mass, whose far row (nb_high_pack) and s / unit are given, at -d, to sums[32 place]: the
	 * derivatives of the potential that are kept. */
	template <bool POT, class real>
	static __device__ __forceinline__ void add(
		real mass, const real *row, real s, const real (&d)[3], real rinv, real *sums)
	{
		constexpr int moments = nb_high_far_moments(ORDER, HARMONIC), third = nb_high_kept(2, HARMONIC) - 4,
			      fourth = nb_high_kept(3, HARMONIC) - 4;
		const real e[3] = {d[0] * rinv, d[1] * rinv, d[2] * rinv}, su = s * rinv;
		const real su2 = su * su, su3 = su2 * su, su4 = su2 * su2;
		real m[4 + moments], factor[L + 1];
		m[0] = 1;
#pragma unroll
		for (int k = 0; k < moments; k++)
			m[4 + k] = (k < third ? su2 : k < fourth ? su3 : su4) * row[k];
		factor[0] = mass * rinv;
#pragma unroll
		for (int k = 1; k <= L; k++)
			factor[k] = factor[k - 1] * rinv;
		real r[L + 1][ALL];
		derivatives(e, r, sequence<ALL>());
		add_terms<POT ? 0 : 1>(m, r[0], factor, sums, sequence<TERMS - (POT ? 0 : 1)>());
	}

	/* Of the terms in `all`, by place, one that a harmonic function has besides those kept, of z^k; those of
	 * z^(k-2) are there. */
	template <class real> static __device__ __forceinline__ void complete(real *all, const nb_monomial &m)
	{
		all[m.place()] = -all[nb_monomial{m.i + 2, m.j, m.k - 2}.place()] -
				 all[nb_monomial{m.i, m.j + 2, m.k - 2}.place()];
	}

	/* One step of Horner's scheme, in place: component p needs p and those behind it. */
	template <int N, class real, int... p>
	static __device__ __forceinline__ void step(
		const real *all, const real (&x)[3], real part, real *t, std::integer_sequence<int, p...>)
	{
		((t[p] = all[nb_high_count(N - 1) + p] +
			 part * (x[0] * t[p] + x[1] * t[p + row_of(p) + 1] + x[2] * t[p + row_of(p) + 2])),
			...);
	}
	template <int N, bool POT, class real>
	static __device__ __forceinline__ void steps(const real *all, const real (&x)[3], real *t, real *v)
	{
		if constexpr (N >= 1) {
			step<N>(all, x, (real)(1.0 / N), t, sequence<(N + 1) * (N + 2) / 2>());
			if constexpr (POT)
				step<N>(all, x, (real)(1.0 / (N + 1)), v, sequence<(N + 1) * (N + 2) / 2>());
			steps<N - 1, POT>(all, x, t, v);
		}
	}
	/* (The potential, if wanted, and) its gradient at x, from all terms. */
	template <bool POT, class real>
	static __device__ __forceinline__ void value(const real *all, const real (&x)[3], real (&a)[3], real &u)
	{
		constexpr int top = (L + 1) * (L + 2) / 2;
		real t[top], v[POT ? top : 1];
#pragma unroll
		for (int k = 0; k < top; k++) {
			t[k] = all[nb_high_count(L - 1) + k];
			if constexpr (POT)
				v[k] = t[k];
		}
		steps<L - 1, POT>(all, x, t, v);
#pragma unroll
		for (int k = 0; k < 3; k++)
			a[k] = t[k];
		if constexpr (POT)
			u = all[0] + x[0] * v[0] + x[1] * v[1] + x[2] * v[2];
	}
	static __device__ constexpr int row_of(int p)
	{
		return p < 1 ? 0 : p < 3 ? 1 : p < 6 ? 2 : p < 10 ? 3 : p < 15 ? 4 : p < 21 ? 5 : 6;
	}
};

#endif
