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

int nb_gravity_ref(
	const struct nb_gravity *g, const size_t *target, size_t ntarget, double *acc, double *pot, double *jerk)
{
	if (!(g->eps >= 0 && isfinite(g->eps)) || !isfinite(g->G) || (jerk && !g->vel))
		return NB_EINVAL;
	for (size_t k = 0; k < 3 * g->n; k++)
		if (!isfinite(g->pos[k]) || (jerk && !isfinite(g->vel[k])) || !isfinite(g->mass[k / 3]))
			return NB_ENONFINITE;
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
			const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + g->eps * g->eps;
			if (j == i || r2 == 0)
				continue;
			const double m = g->mass[j], r = sqrt(r2), w = m / (r2 * r);
			for (int c = 0; c < 3; c++)
				add(&a[c], w * d[c]);
			add(&p, -m / r);
			if (!jerk)
				continue;
			const double v[3] = {g->vel[3 * j] - g->vel[3 * i], g->vel[3 * j + 1] - g->vel[3 * i + 1],
				g->vel[3 * j + 2] - g->vel[3 * i + 2]};
			const double f = 3 * (d[0] * v[0] + d[1] * v[1] + d[2] * v[2]) / r2;
			for (int c = 0; c < 3; c++)
				add(&s[c], w * (v[c] - f * d[c]));
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
