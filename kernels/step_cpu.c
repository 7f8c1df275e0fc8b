#include "kernels/step.h"

/* a += b * dt over 3 n numbers; memory-bound, so threads only where the arrays leave the cache */
static int add_scaled(size_t n, double *a, const double *b, double dt)
{
	const size_t count = 3 * n;
#pragma omp parallel for simd schedule(static) if (count > 100000)
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
