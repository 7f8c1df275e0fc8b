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

/* ---- steps of their own ------------------------------------------------------------------------- */

static void predict(const struct nb_hermite *b, double now, size_t i, double *pos, double *vel)
{
	const double dt = (now - b->begun[i]) * b->unit, half = dt / 2, third = dt / 3;
	for (size_t k = 3 * i; k < 3 * i + 3; k++) {
		pos[k] = b->pos[k] + dt * (b->vel[k] + half * (b->acc[k] + third * b->jerk[k]));
		vel[k] = b->vel[k] + dt * (b->acc[k] + half * b->jerk[k]);
	}
}

void nb_hermite_predict(const struct nb_hermite *b, double now, double *pos, double *vel)
{
	if (3 * b->n <= PARALLEL) {
		for (size_t i = 0; i < b->n; i++)
			predict(b, now, i, pos, vel);
		return;
	}
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < b->n; i++)
		predict(b, now, i, pos, vel);
}

static void correct(struct nb_hermite *b, double now, size_t i, const double *acc, const double *jerk)
{
	const double dt = (now - b->begun[i]) * b->unit, half = dt / 2, sixth = dt / 6;
	double *a = b->acc + 3 * i, *j = b->jerk + 3 * i;
	b->scale[i] = timescale(a, j, acc + 3 * i, jerk + 3 * i, dt, 1);
	for (size_t k = 0; k < 3; k++) {
		const double v = b->vel[3 * i + k], a1 = acc[3 * i + k], j1 = jerk[3 * i + k];
		b->vel[3 * i + k] = v + half * ((a[k] + a1) + sixth * (j[k] - j1));
		b->pos[3 * i + k] += half * ((v + b->vel[3 * i + k]) + sixth * (a[k] - a1));
		a[k] = a1;
		j[k] = j1;
	}
	b->begun[i] = now;
}

void nb_hermite_correct(
	struct nb_hermite *b, double now, const unsigned char *mark, const double *acc, const double *jerk)
{
	for (size_t i = 0; i < b->n; i++)
		if (mark[i])
			correct(b, now, i, acc, jerk);
}
