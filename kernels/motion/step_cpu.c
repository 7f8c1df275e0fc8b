/* Each of these loops does a few operations per number loaded, which takes longest where threads before have left the
 * numbers in caches of their own.  Of a few bodies no parallel region is entered: even with one thread it costs more
 * than a step of theirs. */
#include "kernels/motion/step.h"

#include <math.h>
#include <string.h>

#include "common/lap.h"
#include "common/periodic.h"

enum { PARALLEL = 12000 /* numbers */, BLOCK = 1024, SIDE = 12, BODIES = 64 * SIDE };

static size_t end_of(size_t first, size_t block, size_t count)
{
	return count - first < block ? count : first + block;
}

/* a += b * dt */
static void add_scaled_part(size_t first, size_t end, double *a, const double *b, double dt)
{
	for (size_t i = first; i < end; i++)
		a[i] += b[i] * dt;
}

static int add_scaled(size_t n, double *a, const double *b, double dt)
{
	const size_t count = 3 * n;
	if (count <= PARALLEL) {
		add_scaled_part(0, count, a, b, dt);
		return NB_OK;
	}
	const char *before = nb_lap("kick and drift");
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i += BLOCK)
		add_scaled_part(i, end_of(i, BLOCK, count), a, b, dt);
	nb_lap(before);
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

/* The largest of *low and -x, and of *high and x; test stays 0 as long as all x are finite, and is NaN then. */
static inline void extend(double x, double *low, double *high, double *test)
{
	*low = -x > *low ? -x : *low;
	*high = x > *high ? x : *high;
	*test += x - x;
}

/* Numbers first, a multiple of SIDE, to end.  Returns 0 if all positions are finite, and NaN if not. */
static double kick_drift_part(size_t first, size_t end, double *pos, double *vel, const double *acc, double before,
	double kick, double drift, double extent[6])
{
	double low[SIDE], high[SIDE], test[SIDE] = {0}, sum = 0;
	size_t i = first;
	if (before != 0)
		add_scaled_part(first, end, vel, acc, before);
	if (kick != 0)
		add_scaled_part(first, end, vel, acc, kick);
	add_scaled_part(first, end, pos, vel, drift);
	for (size_t k = 0; k < SIDE; k++)
		low[k] = high[k] = -INFINITY;
	for (; i + SIDE <= end; i += SIDE) /* bodies side by side, in registers */
		for (size_t k = 0; k < SIDE; k++)
			extend(pos[i + k], &low[k], &high[k], &test[k]);
	for (size_t k = 0; i + k < end; k++)
		extend(pos[i + k], &low[k], &high[k], &test[k]);
	for (size_t k = 0; k < SIDE; k++) {
		extent[k % 3] = low[k] > extent[k % 3] ? low[k] : extent[k % 3];
		extent[3 + k % 3] = high[k] > extent[3 + k % 3] ? high[k] : extent[3 + k % 3];
		sum += test[k];
	}
	return sum;
}

int nb_kick_drift_cpu(size_t n, double *pos, double *vel, const double *acc, double before, double kick, double drift,
	double extent[7])
{
	const size_t count = 3 * n;
	double most[6], test = 0;
	for (int k = 0; k < 6; k++)
		most[k] = -INFINITY;
	if (count <= PARALLEL) {
		test = kick_drift_part(0, count, pos, vel, acc, before, kick, drift, most);
	} else {
		const char *lap = nb_lap("kick and drift");
#pragma omp parallel for schedule(static) reduction(+ : test) reduction(max : most[:6])
		for (size_t i = 0; i < count; i += BODIES)
			test += kick_drift_part(i, end_of(i, BODIES, count), pos, vel, acc, before, kick, drift, most);
		nb_lap(lap);
	}
	memcpy(extent, most, sizeof most);
	extent[6] = !(test == 0);
	return NB_OK;
}

int nb_wrap_cpu(size_t n, double *pos, double box, int single)
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t k = 0; k < 3 * n; k++)
		pos[k] = nb_periodic_keep(pos[k], box, single);
	return NB_OK;
}

int nb_scale_velocities_cpu(size_t n, double *vel, double factor)
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < 3 * n; i++)
		vel[i] *= factor;
	return NB_OK;
}

void nb_drift_from(
	size_t n, const double *begun, double now, double unit, const double *from, const double *vel, double *pos)
{
#pragma omp parallel for schedule(static) if (3 * n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		for (size_t k = 3 * i; k < 3 * i + 3; k++)
			pos[k] = from[k] + vel[k] * ((now - begun[i]) * unit);
}

static void taylor_part(
	size_t first, size_t end, double *pos, double *vel, const double *acc, const double *jerk, double dt)
{
	const double half = dt / 2, third = dt / 3;
	for (size_t i = first; i < end; i++) {
		/* Horner: dt (v + dt/2 (a + dt/3 j)) and dt (a + dt/2 j) */
		pos[i] += dt * (vel[i] + half * (acc[i] + third * jerk[i]));
		vel[i] += dt * (acc[i] + half * jerk[i]);
	}
}

int nb_taylor_cpu(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt)
{
	const size_t count = 3 * n;
	if (count <= PARALLEL) {
		taylor_part(0, count, pos, vel, acc, jerk, dt);
		return NB_OK;
	}
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i += BLOCK)
		taylor_part(i, end_of(i, BLOCK, count), pos, vel, acc, jerk, dt);
	return NB_OK;
}

/* The largest square of bodies [first, end), and how many are not finite: a NaN is larger than nothing. */
static void largest_part(size_t first, size_t end, const double *acc, double *largest, size_t *count)
{
	double most = *largest;
	size_t odd = 0;
	for (size_t i = first; i < end; i++) {
		const double *a = acc + 3 * i;
		const double norm2 = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
		odd += !(norm2 - norm2 == 0);
		most = norm2 > most ? norm2 : most;
	}
	*largest = most;
	*count += odd;
}

int nb_largest_acc_cpu(size_t n, const double *acc, double *largest)
{
	double most = 0;
	size_t odd = 0;
	if (3 * n <= PARALLEL) {
		largest_part(0, n, acc, &most, &odd);
	} else {
#pragma omp parallel for schedule(static) reduction(max : most) reduction(+ : odd)
		for (size_t i = 0; i < n; i += BLOCK)
			largest_part(i, end_of(i, BLOCK, n), acc, &most, &odd);
	}
	*largest = odd ? (double)NAN : sqrt(most);
	return NB_OK;
}
