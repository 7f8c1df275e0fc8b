/* kepler_body.h - the method of kepler.h, for a processor and, in CUDA code, for a device. */
#ifndef NB_SMALL_KEPLER_BODY_H
#define NB_SMALL_KEPLER_BODY_H

#include <float.h>
#include <math.h>

#include "common/hd.h"
#include "common/status.h"

/* What the time equation is made of: h = r X + eta G2(X) + zeta G3(X), with r, eta = x.v and zeta = mu - beta r before
 * the step, and beta = 2 mu / r - v^2.  The time is positive: back in time, eta has the other sign. */
struct orbit {
	double mu, h, r, eta, beta, zeta;
};

/* G_n = X^n c_n(beta X^2) with Stumpff's functions c_n; so G1 is sin(s X) / s for beta = s^2, and G_n' = G_(n-1). */
struct universal {
	double g0, g1, g2, g3;
};

/* Series of c2 and c3 up to |z| = 2.5, where 12 terms are exact to rounding; beyond, X is halved before and doubled
 * after.  Where that overflows, so does the time. */
static NB_HD struct universal universal_at(double beta, double X)
{
	enum { TERMS = 12, MOST_HALVED = 600 };
	double z = beta * X * X, c2 = 1, c3 = 1;
	int halved = 0;
	for (; fabs(z) > 2.5 && halved < MOST_HALVED; halved++) {
		z /= 4;
		X /= 2;
	}
	for (int k = TERMS - 1; k > 0; k--) {
		c2 = 1 - z * c2 / ((2 * k + 1) * (2 * k + 2));
		c3 = 1 - z * c3 / ((2 * k + 2) * (2 * k + 3));
	}
	struct universal g;
	g.g2 = X * X * c2 / 2;
	g.g3 = X * X * X * c3 / 6;
	g.g1 = X - beta * g.g3;
	g.g0 = 1 - beta * g.g2;
	for (; halved > 0; halved--) {
		g.g3 = 2 * (g.g3 + g.g1 * g.g2);
		g.g2 = 2 * g.g1 * g.g1;
		g.g1 = 2 * g.g0 * g.g1;
		g.g0 = 1 - beta * g.g2;
	}
	return g;
}

/* A first value of X: a series in the time or, where that is no help, the mean motion. */
static NB_HD double guess(const struct orbit *o)
{
	const double x = o->h / o->r, change = x / (2 * o->r) * (o->eta - x * (o->eta * o->eta / o->r - o->zeta / 3));
	if (fabs(change) < 0.3)
		return x * (1 - change);
	if (o->beta > 0)
		return o->beta * o->h / o->mu;
	/* on a hyperbola G3 grows like an exponential, for so many times its length at most */
	const double length = sqrt(-o->beta);
	return x * length > 12 ? 12 / length : x;
}

/* The root X >= 0 of the time equation, which grows with X, as its derivative is the distance.  It is one where what is
 * left is no more than the rounding of the terms, or where the next step would change its last bit only. */
static NB_HD double solve(const struct orbit *o, struct universal *g)
{
	enum { LAGUERRE = 24, MOST = 3000 /* from one end of the range of a double to the other */ };
	double low = 0, high = INFINITY, X = guess(o);
	for (int k = 0; k < MOST; k++) {
		*g = universal_at(o->beta, X);
		const double part2 = o->eta * g->g2, part3 = o->zeta * g->g3;
		const double f = o->r * X + part2 + part3 - o->h;
		if (fabs(f) < DBL_EPSILON / 2 * (o->r * X + fabs(part2) + fabs(part3) + o->h))
			break;
		if (f < 0)
			low = X;
		else
			high = X; /* too large a time may not be a number */
		const double slope = o->r + o->eta * g->g1 + o->zeta * g->g2, bend = o->eta * g->g0 + o->zeta * g->g1;
		double next = X - 5 * f / (slope + sqrt(fabs(16 * slope * slope - 20 * f * bend)));
		if (fabs(next - X) <= DBL_EPSILON / 2 * X)
			break;
		if (!(next > low && next < high) || k >= LAGUERRE)
			next = isfinite(high) ? low + (high - low) / 2 : 2 * X;
		if (next == low || next == high)
			break;
		X = next;
	}
	return X;
}

#define F(name) orbit_##name
#define V double
#define INLINE static NB_HD
#include "kernels/small/tangent_body.h"
#undef F
#undef V
#undef INLINE

/* The rest of h after whole periods of an ellipse, at most half a period; NaN: too many. */
static NB_HD double without_periods(double mu, double beta, double h)
{
	const double period = 2 * M_PI * mu / (beta * sqrt(beta)), n = floor(h / period + 0.5);
	if (!(fabs(n) < 0x1p52))
		return NAN;
	return n == 0 ? h : fma(-n, period, h);
}

/* What an arc of the orbit has beside f, g and their rates.  way: 1, or -1 back in time; h: the time before whole
 * periods were left out. */
static NB_HD void fill_arc(
	struct orbit_arc *a, const struct orbit *o, const struct universal *g, double X, double way, double h)
{
	const double z = o->beta * X * X, X2 = X * X;
	a->mu = o->mu;
	a->r = o->r;
	a->inverse_r = 1 / o->r;
	a->inverse_end = 1 / (o->r + o->eta * g->g1 + o->zeta * g->g2);
	a->beta = o->beta;
	a->zeta = o->zeta;
	a->g0 = g->g0;
	a->g2 = g->g2;
	if (fabs(z) > 0.75) {
		a->g4 = (X2 / 2 - g->g2) / o->beta;
		a->g5 = way * (X2 * X / 6 - g->g3) / o->beta;
	} else {
		enum { TERMS = 7 };
		double c4 = 1, c5 = 1;
		for (int k = TERMS - 1; k > 0; k--) {
			c4 = 1 - z * c4 / ((2 * k + 3) * (2 * k + 4));
			c5 = 1 - z * c5 / ((2 * k + 4) * (2 * k + 5));
		}
		a->g4 = X2 * X2 * c4 / 24;
		a->g5 = way * X2 * X2 * X * c5 / 120;
	}
	/* back in time these change sign */
	a->eta = way * o->eta;
	a->X = way * X;
	a->g1 = way * g->g1;
	a->g3 = way * g->g3;
	a->less = h != way * o->h ? 1.5 * (h - way * o->h) / o->beta : 0; /* a period is 2 pi mu / beta^(3/2) */
}

/* nb_kepler_move, which moves a variation dx, dv of x and v, too, unless dx is null. */
static NB_HD int nb_kepler_follow(double mu, double h, double x[3], double v[3], double *dx, double *dv)
{
	const double all = h;
	struct orbit o;
	o.mu = mu;
	o.r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
	const double v2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
	double to_x[3], to_v[3];
	if (!(mu >= 0 && o.r > 0 && isfinite(o.r) && isfinite(v2) && isfinite(mu) && isfinite(h)))
		return NB_EUNSUPPORTED;
	o.beta = 2 * mu / o.r - v2;
	o.zeta = mu - o.beta * o.r;
	if (o.beta > 0)
		h = without_periods(mu, o.beta, h);
	const double way = h < 0 ? -1 : 1;
	o.h = way * h;
	o.eta = way * (x[0] * v[0] + x[1] * v[1] + x[2] * v[2]);
	if (!isfinite(o.beta) || !isfinite(o.h))
		return NB_EUNSUPPORTED;

	struct universal g = {1, 0, 0, 0};
	const double X = o.h > 0 ? solve(&o, &g) : 0;
	/* f - 1, g, f' and g' - 1 */
	const double r = o.r + o.eta * g.g1 + o.zeta * g.g2, f = -mu * g.g2 / o.r, at_v = way * (o.h - mu * g.g3);
	const double rate = -way * mu * g.g1 / (o.r * r);
	/* (1 + f) (1 + g') - g f' = 1 */
	const double last = 1 + f >= 0.5 ? (at_v * rate - f) / (1 + f) : -mu * g.g2 / r;
	int fine = r > 0;
	for (int d = 0; d < 3; d++) {
		to_x[d] = x[d] + (f * x[d] + at_v * v[d]);
		to_v[d] = v[d] + (rate * x[d] + last * v[d]);
		fine &= isfinite(to_x[d]) && isfinite(to_v[d]);
	}
	if (!fine)
		return NB_EUNSUPPORTED;
	if (dx) {
		struct orbit_arc a;
		fill_arc(&a, &o, &g, X, way, all);
		a.f = f;
		a.g = at_v;
		a.rate = rate;
		a.last = last;
		orbit_vary(&a, x, v, dx, dv);
	}
	for (int d = 0; d < 3; d++) {
		x[d] = to_x[d];
		v[d] = to_v[d];
	}
	return NB_OK;
}

#endif
