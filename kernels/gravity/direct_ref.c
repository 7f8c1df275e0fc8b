/* direct_ref.c - the oracle: plain f64 loops, compensated sums, nothing clever. */
#include "kernels/gravity/gravity.h"

#include <math.h>

/* Sum with the rounding error of every addition carried along (Neumaier 1974, ZAMM 54, 39). */
struct sum {
	double value, error;
};

static void add(struct sum *s, double x)
{
	const double t = s->value + x;
	s->error += fabs(s->value) >= fabs(x) ? (s->value - t) + x : (x - t) + s->value;
	s->value = t;
}

/* Of a pair at squared distance d2, per mass: acc is w d, pot -p, jerk w (v - f (d.v) d). */
struct pull {
	double w, p, f;
};

static struct pull plummer(double d2, double eps)
{
	const double r2 = d2 + eps * eps, r = sqrt(r2);
	return (struct pull){1 / (r2 * r), 1 / r, 3 / r2};
}

/* GADGET's polynomials (Springel, Yoshida & White 2001, eq. 71, and its derivatives). */
static struct pull spline(double d2, double eps)
{
	const double h = 2.8 * eps, r = sqrt(d2), u = r / h, u2 = u * u, u3 = u2 * u;
	if (!(r < h))
		return plummer(d2, 0);
	if (u < 0.5) {
		const double w = 32.0 / 3 + u2 * (32 * u - 38.4);
		return (struct pull){w / (h * h * h), (2.8 - u2 * (16.0 / 3 + u2 * (6.4 * u - 9.6))) / h,
			(76.8 - 96 * u) / w / (h * h)};
	}
	const double w = 64.0 / 3 - 48 * u + 38.4 * u2 - 32.0 / 3 * u3 - 1 / (15 * u3);
	return (struct pull){w / (h * h * h),
		(3.2 - 1 / (15 * u) - u2 * (32.0 / 3 + u * (-16 + u * (9.6 - 32.0 / 15 * u)))) / h,
		(48 / u - 76.8 + 32 * u - 1 / (5 * u2 * u3)) / w / (h * h)};
}

static double pair_eps(const struct nb_gravity *g, size_t i, size_t j)
{
	return g->body_eps ? fmax(g->body_eps[i], g->body_eps[j]) : g->eps;
}

int nb_gravity_ref(
	const struct nb_gravity *g, const size_t *target, size_t ntarget, double *acc, double *pot, double *jerk)
{
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G) || (jerk && !g->vel))
		return NB_EINVAL;
	for (size_t k = 0; k < 3 * g->n; k++)
		if (!isfinite(g->pos[k]) || (jerk && !isfinite(g->vel[k])) || !isfinite(g->mass[k / 3]))
			return NB_ENONFINITE;
	for (size_t k = 0; g->body_eps && k < g->n; k++)
		if (!(g->body_eps[k] >= 0 && isfinite(g->body_eps[k])))
			return NB_EINVAL;
	if (!target)
		ntarget = g->n;
#pragma omp parallel for schedule(dynamic, 8)
	for (size_t k = 0; k < ntarget; k++) {
		const size_t i = target ? target[k] : k;
		const double *xi = g->pos + 3 * i;
		struct sum a[3] = {{0, 0}}, p = {0, 0}, s[3] = {{0, 0}};
		for (size_t j = 0; j < g->n; j++) {
			const double *xj = g->pos + 3 * j;
			const double d[3] = {xj[0] - xi[0], xj[1] - xi[1], xj[2] - xi[2]};
			const double eps = pair_eps(g, i, j), d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
			if (j == i || d2 + eps * eps == 0)
				continue;
			const struct pull pull = g->softening == NB_SPLINE ? spline(d2, eps) : plummer(d2, eps);
			const double m = g->mass[j];
			for (int c = 0; c < 3; c++)
				add(&a[c], m * pull.w * d[c]);
			add(&p, -m * pull.p);
			if (!jerk)
				continue;
			const double v[3] = {g->vel[3 * j] - g->vel[3 * i], g->vel[3 * j + 1] - g->vel[3 * i + 1],
				g->vel[3 * j + 2] - g->vel[3 * i + 2]};
			const double along = d[0] * v[0] + d[1] * v[1] + d[2] * v[2];
			for (int c = 0; c < 3; c++)
				add(&s[c], m * pull.w * (v[c] - pull.f * along * d[c]));
		}
		for (int c = 0; c < 3; c++)
			acc[3 * k + c] = g->G * (a[c].value + a[c].error);
		if (pot)
			pot[k] = g->G * (p.value + p.error);
		if (jerk)
			for (int c = 0; c < 3; c++)
				jerk[3 * k + c] = g->G * (s[c].value + s[c].error);
	}
	return NB_OK;
}
