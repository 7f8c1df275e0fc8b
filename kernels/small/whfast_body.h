/* whfast_body.h - template: the steps of whfast.h for a vector of LANES planets, on a processor (whfast_lanes_body.h)
 * and on a device (whfast_cuda.cu).
 *
 * V is such a vector, M a mask; TURN(a, k): the vector a turned by k lanes; PAIRS(DO): DO(k) for 1 <= k < LANES / 2;
 * UP(DO): for powers of two below LANES; SOME(it): whether it is so in any of the systems that take a step together.
 * F(choose), F(where), F(size), F(root), F(all), F(from) and F(move_rest) are those of the file that includes this.
 * Which sums are made, and in which order, follows from LANES alone.
 *
 * Beside planets p, or positions, a variation of them is moved in the same way (variation.h): dp, dq; null: none is.
 * That changes no bit of p. */

/* Constants of a system. */
struct F(system) {
	V mu, inverse_mu, inner, gm, share, star;
	double relativity;
	M live; /* lanes that have a planet */
};

struct F(planets) {
	V q[3], v[3];
};

#include "kernels/small/tangent_body.h"

#if LANES > PART
/* The same as below, with the parts in registers. */
INLINE V F(total)(V a)
{
	enum { N = LANES / PART };
	OF_PART(vec) part[N], next[N];
	memcpy(part, &a, sizeof a);
#define ADD(k)                                                                                  \
	for (int p = 0; p < N; p++)                                                             \
		next[p] = part[p] + (OF_PART(vec))EACH(DOWN_OF, part[p], part[(p + 1) % N], k); \
	memcpy(part, next, sizeof part);
	WITHIN(ADD)
#undef ADD
	for (int k = 1; k < N; k *= 2) {
		for (int p = 0; p < N; p++)
			next[p] = part[p] + part[(p + k) % N];
		memcpy(part, next, sizeof part);
	}
	memcpy(&a, part, sizeof a);
	return a;
}

INLINE V F(before)(V a)
{
	enum { N = LANES / PART };
	const OF_PART(vec) none = {0};
	OF_PART(vec) part[N];
	memcpy(part, &a, sizeof a);
	for (int p = N - 1; p >= 0; p--)
		part[p] = (OF_PART(vec))EACH(UP_OF, p > 0 ? part[p - 1] : none, part[p], 1);
#define ADD(k)                           \
	for (int p = N - 1; p >= 0; p--) \
		part[p] += (OF_PART(vec))EACH(UP_OF, p > 0 ? part[p - 1] : none, part[p], k);
	WITHIN(ADD)
#undef ADD
	for (int k = 1; k < N; k *= 2)
		for (int p = N - 1; p >= 0; p--)
			part[p] += p >= k ? part[p - k] : none;
	memcpy(&a, part, sizeof a);
	return a;
}
#else
/* In each lane the sum of all lanes, in one order. */
INLINE V F(total)(V a)
{
#define ADD(k) a = a + TURN(a, k);
	UP(ADD)
#undef ADD
	return a;
}

/* In each lane the sum of the lanes before it. */
INLINE V F(before)(V a)
{
	a = F(where)(F(from)(1), TURN(a, LANES - 1));
#define ADD(k) a = a + F(where)(F(from)(k), TURN(a, LANES - (k)));
	UP(ADD)
#undef ADD
	return a;
}
#endif

INLINE V F(larger)(V a, V b)
{
	return F(choose)(a > b, a, b);
}

/* In lane 0 the squared size of the variation dp (variation.h). */
INLINE V F(size2_of)(const struct F(planets) * dp, double unit2)
{
	const V q2 = dp->q[0] * dp->q[0] + dp->q[1] * dp->q[1] + dp->q[2] * dp->q[2];
	const V v2 = dp->v[0] * dp->v[0] + dp->v[1] * dp->v[1] + dp->v[2] * dp->v[2];
	return F(total)(q2 + unit2 * v2);
}

/* A variation of this size after a step h; it becomes smaller if it is too large. */
INLINE void F(note_size)(struct F(planets) * dp, struct nb_megno *m, double h, double size2)
{
	nb_megno_add_size(m, h, size2);
	if (size2 > nb_variation_large2) {
		for (int d = 0; d < 3; d++) {
			dp->q[d] *= nb_variation_smaller;
			dp->v[d] *= nb_variation_smaller;
		}
		nb_megno_scaled(m);
	}
}

/* For the separation d, its square s2 and s = s2^(-3/2), from its variation e that of s d, over s. */
INLINE void F(vary_pull)(const V *d, V s2, V s, V *e)
{
	const V inverse = s * s2, back = 3 * inverse * inverse * (d[0] * e[0] + d[1] * e[1] + d[2] * e[2]);
	for (int k = 0; k < 3; k++)
		e[k] -= back * d[k];
}

/* Adds to sum that of the pull of relativity s d, s as s2^-2, from that of d, e. */
INLINE void F(vary_relativity)(const V *d, V s2, V s, const V *e, V *sum)
{
	const V back = 4 / s2 * (d[0] * e[0] + d[1] * e[1] + d[2] * e[2]);
	for (int k = 0; k < 3; k++)
		sum[k] += s * (e[k] - back * d[k]);
}

/* Adds the accelerations of planets by each other: in each lane those by the lanes 1, -1, 2, -2 ... from it, in this
 * order.  closest: largest G (m_i + m_j) / d^3 so far. */
#if LANES > PART
INLINE void F(attract)(const V *r, const V *dr, const struct F(system) * c, V *a, V *da, V *closest)
{
	enum { GM = 3, VARIED };
	double twice[VARIED + 3][2 * LANES];
	for (int d = 0; d < (dr ? VARIED + 3 : VARIED); d++) {
		memcpy(twice[d], d < GM ? &r[d] : d == GM ? &c->gm : &dr[d - VARIED], sizeof r[0]);
		memcpy(twice[d] + LANES, twice[d], sizeof r[0]);
	}
	for (size_t p = 0; p < LANES; p += PART) {
		const struct OF_PART(planets) at = {
			.q = {OF_PART(load)(twice[0] + p), OF_PART(load)(twice[1] + p), OF_PART(load)(twice[2] + p)}};
		const OF_PART(vec) gm = OF_PART(load)(twice[GM] + p);
		OF_PART(vec) sum[3], more[3], near = OF_PART(load)((const double *)closest + p);
		for (int d = 0; d < 3; d++) {
			sum[d] = OF_PART(load)((const double *)&a[d] + p);
			more[d] = da ? OF_PART(load)((const double *)&da[d] + p) : sum[d];
		}
		for (size_t k = 2; k <= LANES; k++) {
			const size_t j = p + (k % 2 == 0 ? k / 2 : LANES - k / 2);
			const OF_PART(vec) d0 = OF_PART(load)(twice[0] + j) - at.q[0],
					   d1 = OF_PART(load)(twice[1] + j) - at.q[1],
					   d2 = OF_PART(load)(twice[2] + j) - at.q[2];
			const OF_PART(vec) s2 = d0 * d0 + d1 * d1 + d2 * d2, s = 1 / (s2 * OF_PART(root)(s2));
			const OF_PART(vec) here = OF_PART(load)(twice[GM] + j) * s;
			near = OF_PART(larger)(near, here + gm * s);
			sum[0] += here * d0;
			sum[1] += here * d1;
			sum[2] += here * d2;
			if (dr) {
				const OF_PART(vec) apart[3] = {d0, d1, d2};
				OF_PART(vec) e[3];
				for (int d = 0; d < 3; d++)
					e[d] = OF_PART(load)(twice[VARIED + d] + j) -
					       OF_PART(load)(twice[VARIED + d] + p);
				OF_PART(vary_pull)(apart, s2, s, e);
				for (int d = 0; d < 3; d++)
					more[d] += here * e[d];
			}
		}
		for (int d = 0; d < 3; d++) {
			memcpy((double *)&a[d] + p, &sum[d], sizeof sum[d]);
			if (da)
				memcpy((double *)&da[d] + p, &more[d], sizeof more[d]);
		}
		memcpy((double *)closest + p, &near, sizeof near);
	}
}
#else
/* Pairs k lanes apart: each lane with the one behind it, and the reaction on that. */
#define PAIR(k)                                                                                            \
	{                                                                                                  \
		const V d0 = TURN(r[0], k) - r[0], d1 = TURN(r[1], k) - r[1], d2 = TURN(r[2], k) - r[2];   \
		const V s2 = d0 * d0 + d1 * d1 + d2 * d2, s = 1 / (s2 * F(root)(s2));                      \
		const V here = TURN(c->gm, k) * s, there = c->gm * s;                                      \
		const V back0 = there * d0, back1 = there * d1, back2 = there * d2;                        \
		*closest = F(larger)(*closest, here + there);                                              \
		a[0] += here * d0;                                                                         \
		a[1] += here * d1;                                                                         \
		a[2] += here * d2;                                                                         \
		a[0] -= TURN(back0, LANES - (k));                                                          \
		a[1] -= TURN(back1, LANES - (k));                                                          \
		a[2] -= TURN(back2, LANES - (k));                                                          \
		if (dr) {                                                                                  \
			const V apart[3] = {d0, d1, d2};                                                   \
			V e[3] = {TURN(dr[0], k) - dr[0], TURN(dr[1], k) - dr[1], TURN(dr[2], k) - dr[2]}; \
			F(vary_pull)(apart, s2, s, e);                                                     \
			for (int d = 0; d < 3; d++) {                                                      \
				const V back = there * e[d];                                               \
				da[d] += here * e[d];                                                      \
				da[d] -= TURN(back, LANES - (k));                                          \
			}                                                                                  \
		}                                                                                          \
	}

INLINE void F(attract)(const V *r, const V *dr, const struct F(system) * c, V *a, V *da, V *closest)
{
	PAIRS(PAIR)
	enum { HALF = LANES / 2 };
	const V d0 = TURN(r[0], HALF) - r[0], d1 = TURN(r[1], HALF) - r[1], d2 = TURN(r[2], HALF) - r[2];
	const V s2 = d0 * d0 + d1 * d1 + d2 * d2, s = 1 / (s2 * F(root)(s2)), here = TURN(c->gm, HALF) * s;
	*closest = F(larger)(*closest, here + c->gm * s);
	a[0] += here * d0;
	a[1] += here * d1;
	a[2] += here * d2;
	if (dr) {
		const V apart[3] = {d0, d1, d2};
		V e[3] = {TURN(dr[0], HALF) - dr[0], TURN(dr[1], HALF) - dr[1], TURN(dr[2], HALF) - dr[2]};
		F(vary_pull)(apart, s2, s, e);
		for (int d = 0; d < 3; d++)
			da[d] += here * e[d];
	}
}
#endif

/* Accelerations of all pairs but that of the first two bodies, transformed, without those of the Kepler orbits.
 * Positions r and accelerations are relative to the star, whose own acceleration, -pull, enters with its mass. */
INLINE void F(accelerate)(const V *q, const V *dq, const struct F(system) * c, V *a, V *da, V *closest)
{
	V r[3], pull[3], dr[3], dpull[3];
	for (int d = 0; d < 3; d++)
		r[d] = q[d] + F(before)(c->share * q[d]);
	const V r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], q2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
	const V plain = F(where)(F(from)(1), 1 / (r2 * F(root)(r2)));
	const V at_q = F(where)(F(from)(1), c->mu / (q2 * F(root)(q2)));
	V at_r = plain, bent = {0};
	if (c->relativity != 0) {
		bent = c->relativity / (r2 * r2);
		at_r += bent;
	}
	for (int d = 0; d < 3; d++) {
		const V b = r[d] * at_r;
		pull[d] = c->star * F(total)(c->gm * b);
		a[d] = -c->star * b;
	}
	if (dq) {
		for (int d = 0; d < 3; d++)
			dr[d] = dq[d] + F(before)(c->share * dq[d]);
		V db[3] = {dr[0], dr[1], dr[2]};
		F(vary_pull)(r, r2, plain, db);
		for (int d = 0; d < 3; d++)
			db[d] = plain * db[d];
		if (c->relativity != 0)
			F(vary_relativity)(r, r2, bent, dr, db);
		for (int d = 0; d < 3; d++) {
			dpull[d] = c->star * F(total)(c->gm * db[d]);
			da[d] = -c->star * db[d];
		}
	}
	F(attract)(r, dq ? dr : NULL, c, a, da, closest);
	for (int d = 0; d < 3; d++) {
		const V inside = c->inner * (F(before)(c->gm * a[d]) + pull[d]);
		a[d] = F(where)(c->live, (a[d] - inside) + at_q * q[d]);
	}
	if (dq) {
		V e[3] = {dq[0], dq[1], dq[2]};
		F(vary_pull)(q, q2, at_q * c->inverse_mu, e);
		for (int d = 0; d < 3; d++) {
			const V inside = c->inner * (F(before)(c->gm * da[d]) + dpull[d]);
			da[d] = F(where)(c->live, (da[d] - inside) + at_q * e[d]);
		}
	}
}

/* ahead: the accelerations are those at q + ahead a(q) (whfast.h). */
INLINE void F(kick)(
	struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h, double ahead, V *closest)
{
	V a[3], da[3], q[3], dq[3];
	F(accelerate)(p->q, dp ? dp->q : NULL, c, a, da, closest);
	if (SOME(ahead != 0)) {
		for (int d = 0; d < 3; d++) {
			q[d] = ahead != 0 ? p->q[d] + ahead * a[d] : p->q[d];
			if (dp)
				dq[d] = ahead != 0 ? dp->q[d] + ahead * da[d] : dp->q[d];
		}
		F(accelerate)(q, dp ? dq : NULL, c, a, da, closest); /* where ahead is 0: the same once more */
	}
	for (int d = 0; d < 3; d++) {
		p->v[d] += h * a[d];
		if (dp)
			dp->v[d] += h * da[d];
	}
}

#if LANES > PART
INLINE size_t F(drift)(struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h)
{
	for (size_t k = 0; k < LANES; k += PART) {
		struct OF_PART(planets) some, varied;
		struct OF_PART(system) of = {.mu = OF_PART(load)((const double *)&c->mu + k),
			.inverse_mu = OF_PART(load)((const double *)&c->inverse_mu + k)};
		for (int d = 0; d < 3; d++) {
			some.q[d] = OF_PART(load)((const double *)&p->q[d] + k);
			some.v[d] = OF_PART(load)((const double *)&p->v[d] + k);
			if (dp) {
				varied.q[d] = OF_PART(load)((const double *)&dp->q[d] + k);
				varied.v[d] = OF_PART(load)((const double *)&dp->v[d] + k);
			}
		}
		const size_t failed = OF_PART(drift)(&some, dp ? &varied : NULL, &of, h);
		for (int d = 0; d < 3; d++) {
			memcpy((double *)&p->q[d] + k, &some.q[d], sizeof some.q[d]);
			memcpy((double *)&p->v[d] + k, &some.v[d], sizeof some.v[d]);
			if (dp) {
				memcpy((double *)&dp->q[d] + k, &varied.q[d], sizeof varied.q[d]);
				memcpy((double *)&dp->v[d] + k, &varied.v[d], sizeof varied.v[d]);
			}
		}
		if (failed)
			return failed + k;
	}
	return 0;
}
#else
/* Stumpff's functions c2 and c3 by 8 terms, which are exact to rounding up to |z| = 0.75; even and odd terms apart, to
 * wait less for each other. */
INLINE void F(stumpff)(V z, V *c2, V *c3)
{
	const V z2 = z * z;
	const V even2 = ((z2 * (1 / 87178291200.0) + 1 / 3628800.0) * z2 + 1 / 720.0) * z2 + 1 / 2.0;
	const V odd2 = ((z2 * (1 / 20922789888000.0) + 1 / 479001600.0) * z2 + 1 / 40320.0) * z2 + 1 / 24.0;
	const V even3 = ((z2 * (1 / 1307674368000.0) + 1 / 39916800.0) * z2 + 1 / 5040.0) * z2 + 1 / 6.0;
	const V odd3 = ((z2 * (1 / 355687428096000.0) + 1 / 6227020800.0) * z2 + 1 / 362880.0) * z2 + 1 / 120.0;
	*c2 = even2 - z * odd2;
	*c3 = even3 - z * odd3;
}

/* The functions behind them, c4 and c5, for a variation: by 7 terms, to 1e-15. */
INLINE void F(stumpff_more)(V z, V *c4, V *c5)
{
	const V z2 = z * z;
	const V even4 = ((z2 * (1 / 20922789888000.0) + 1 / 479001600.0) * z2 + 1 / 40320.0) * z2 + 1 / 24.0;
	const V odd4 = (z2 * (1 / 87178291200.0) + 1 / 3628800.0) * z2 + 1 / 720.0;
	const V even5 = ((z2 * (1 / 355687428096000.0) + 1 / 6227020800.0) * z2 + 1 / 362880.0) * z2 + 1 / 120.0;
	const V odd5 = (z2 * (1 / 1307674368000.0) + 1 / 39916800.0) * z2 + 1 / 5040.0;
	*c4 = even4 - z * odd4;
	*c5 = even5 - z * odd5;
}

/* What the fast way has not solved, lane by lane; returns the body that cannot be followed, or 0. */
REST size_t F(move_rest)(struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h, M fine);

/* Along the orbits, by universal variables as in kepler_cpu.c: a series as the first X, two steps of Halley's method,
 * and Taylor series over the second one, if that is small.  A lane in which it is not, or whose X is beyond the series
 * of Stumpff's functions, is left to nb_kepler_move.  Returns the body that cannot be followed, or 0. */
INLINE size_t F(drift)(struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h)
{
	const V *q = p->q, *v = p->v;
	const V r2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2], v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
	const V eta = q[0] * v[0] + q[1] * v[1] + q[2] * v[2], r = F(root)(r2), inverse_r = 1 / r;
	const V beta = 2 * c->mu * inverse_r - v2, zeta = c->mu - beta * r, way = h * inverse_r;
	const V change = 0.5 * way * inverse_r * (eta - way * (eta * eta * inverse_r - zeta * (1.0 / 3)));
	V X = F(choose)(F(size)(change) < 0.3, way * (1 - change), beta * h * c->inverse_mu), g0, g1, g2, g3, by;
	M fine = c->mu == c->mu;
	for (int k = 0; k < 2; k++) {
		const V X2 = X * X, z = beta * X2;
		fine &= F(size)(z) <= 0.75;
		F(stumpff)(z, &g2, &g3);
		g2 *= X2;
		g3 *= X2 * X;
		g1 = X - beta * g3;
		g0 = 1 - beta * g2;
		const V off = r * X + eta * g2 + zeta * g3 - h, slope = r + eta * g1 + zeta * g2;
		const V bend = eta * g0 + zeta * g1;
		by = -2 * off * slope / (2 * slope * slope - off * bend);
		X = k == 0 ? X + by : X;
	}
	fine &= F(size)(by) <= 1e-6 * F(size)(X);
	g3 += by * (g2 + by * 0.5 * (g1 + by * (1.0 / 3) * g0));
	g2 += by * (g1 + by * 0.5 * g0);
	g1 += by * (g0 - by * 0.5 * beta * g1);

	/* f - 1, g, f' and g' - 1; (1 + f) (1 + g') - g f' = 1 */
	const V end = r + eta * g1 + zeta * g2, inverse_end = 1 / end, f = -c->mu * g2 * inverse_r, g = h - c->mu * g3;
	const V rate = -c->mu * g1 * inverse_r * inverse_end;
	const V last = F(choose)(1 + f >= 0.5, (g * rate - f) / (1 + f), -c->mu * g2 * inverse_end);
	fine &= end > 0;
	struct F(planets) to, varied;
	if (dp) {
		const V none = {0};
		struct F(arc) o = {c->mu, inverse_r, r, eta, beta, zeta, X + by, inverse_end, 1 - beta * g2, g1, g2, g3,
			none, none, f, g, rate, last, none};
		const V X2 = o.X * o.X;
		F(stumpff_more)(beta * X2, &o.g4, &o.g5);
		o.g4 *= X2 * X2;
		o.g5 *= X2 * X2 * o.X;
		varied = *dp;
		F(vary)(&o, q, v, varied.q, varied.v);
	}
	for (int d = 0; d < 3; d++) {
		to.q[d] = q[d] + (f * q[d] + g * v[d]);
		to.v[d] = v[d] + (rate * q[d] + last * v[d]);
	}
	if (__builtin_expect(F(all)(fine), 1)) {
		*p = to;
		if (dp)
			*dp = varied;
		return 0;
	}
	for (int d = 0; d < 3; d++) {
		p->q[d] = F(choose)(fine, to.q[d], q[d]);
		p->v[d] = F(choose)(fine, to.v[d], v[d]);
		if (dp) {
			dp->q[d] = F(choose)(fine, varied.q[d], dp->q[d]);
			dp->v[d] = F(choose)(fine, varied.v[d], dp->v[d]);
		}
	}
	return F(move_rest)(p, dp, c, h, fine);
}
#endif
