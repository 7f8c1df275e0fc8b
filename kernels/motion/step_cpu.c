/* Each of these loops does a few operations per number loaded: memory decides their speed, so threads are
 * worth their start only where the arrays leave the cache. */
#include "kernels/motion/step.h"

#include <math.h>

enum { PARALLEL = 100000 /* numbers */ };

/* a += b * dt over 3 n numbers */
static int add_scaled(size_t n, double *a, const double *b, double dt)
{
	const size_t count = 3 * n;
#pragma omp parallel for simd schedule(static) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++)
		a[i] += b[i] * dt;
	return NB_OK;
}

int nb_kick_cpu(size_t n, double *vel, const double *acc, double dt)
{
	return add_scaled(n, vel, acc, dt);
}

int nb_drift_cpu(size_t n, double *pos, const double *vel, double dt)
{
	return add_scaled(n, pos, vel, dt);
}

int nb_taylor_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt)
{
	const size_t count = 3 * n;
	const double half = dt / 2, third = dt / 3;
#pragma omp parallel for simd schedule(static) if (count > PARALLEL)
	for (size_t i = 0; i < count; i++) {
		/* Horner: dt (v + dt/2 (a + dt/3 j)) and dt (a + dt/2 j) */
		pos[i] += dt * (vel[i] + half * (acc[i] + third * jerk[i]));
		vel[i] += dt * (acc[i] + half * jerk[i]);
	}
	return NB_OK;
}

int nb_largest_acc_cpu(size_t n, const double *acc, double *largest)
{
	double most = 0;
	size_t odd = 0; /* a NaN is larger than nothing: count what is not finite apart */
#pragma omp parallel for simd schedule(static) reduction(max : most) reduction(+ : odd) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		const double *a = acc + 3 * i;
		double norm2 = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
		odd += !(norm2 - norm2 == 0);
		most = norm2 > most ? norm2 : most;
	}
	*largest = odd ? (double)NAN : sqrt(most);
	return NB_OK;
}
