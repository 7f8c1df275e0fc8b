/* As in step_cpu.c, threads are worth their start only where the arrays leave the cache. */
#include "kernels/motion/hermite.h"

#include <math.h>

enum { PARALLEL = 100000 /* numbers */ };

int nb_hermite_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk, const double *acc_was,
	const double *jerk_was, double ahead, double dt)
{
	const double half = dt / 2, sixth = dt / 6;
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < 3 * n; i++) {
		const double a = acc[i] - (acc_was[i] + ahead * jerk_was[i]), j = jerk[i] - jerk_was[i];
		const double v = half * (a - sixth * j);
		vel[i] += v;
		pos[i] += half * (v - sixth * a);
	}
	return NB_OK;
}

static double norm(const double v[3])
{
	return hypot(hypot(v[0], v[1]), v[2]);
}

static double timescale(
	const double *acc0, const double *jerk0, const double *acc1, const double *jerk1, double dt, int at_end)
{
	double snap[3], crackle[3];
	for (int c = 0; c < 3; c++) {
		const double a = acc1[c] - (acc0[c] + dt * jerk0[c]), j = jerk1[c] - jerk0[c];
		/* times dt^2 and dt^3, which cannot be too small then */
		snap[c] = 6 * a - 2 * dt * j;
		crackle[c] = 6 * dt * j - 12 * a;
		if (at_end)
			snap[c] += crackle[c];
	}
	double a = norm(at_end ? acc1 : acc0), j = fabs(dt) * norm(at_end ? jerk1 : jerk0);
	double s = norm(snap), k = norm(crackle);
	const double most = fmax(fmax(a, j), fmax(s, k));
	a /= most, j /= most, s /= most, k /= most;
	const double square = (a * s + j * j) / (j * k + s * s);
	if (most == 0 || !(j * k + s * s > 0))
		return isfinite(most) ? NB_TIMESCALE_MOST : 0;
	return fmin(fabs(dt) * sqrt(square), NB_TIMESCALE_MOST);
}

void nb_hermite_timescales(size_t n, const double *acc0, const double *jerk0, const double *acc1, const double *jerk1,
	double dt, int at_end, double *scale)
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		scale[i] = timescale(acc0 + 3 * i, jerk0 + 3 * i, acc1 + 3 * i, jerk1 + 3 * i, dt, at_end);
}
