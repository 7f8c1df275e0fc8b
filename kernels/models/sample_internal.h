/* sample_internal.h - what samplers share that draw one body after the other: its random numbers, directions, signs.
 */
#ifndef NB_MODELS_SAMPLE_INTERNAL_H
#define NB_MODELS_SAMPLE_INTERNAL_H

#include "kernels/models/random_internal.h"

#include <math.h>

/* draw numbers: positions from 0, velocities from 16, masses from 32, the order of masses from 40, binaries from 48 on
 */
enum { DRAW_VEL = 16, DRAW_MASS = 32, DRAW_ORDER = 40, DRAW_BINARY = 48 };

struct source {
	uint64_t seed, index;
	uint32_t stream;
};

static inline void draw(const struct source *from, uint32_t number, double u[2])
{
	nb_random2(from->seed, from->stream, from->index, number, u);
}

/* radius times the direction that two uniforms give */
static inline void spherical(double radius, double u, double turn, double out[3])
{
	const double z = 2 * u - 1, ring = sqrt((1 - z) * (1 + z)) * radius, phi = 2 * M_PI * turn;
	out[0] = ring * cos(phi);
	out[1] = ring * sin(phi);
	out[2] = radius * z;
}

/* Turns a (count numbers) against the sum and adds it. */
static inline void balance(double *sum, double *a, int count)
{
	double along = 0;
	for (int k = 0; k < count; k++)
		along += sum[k] * a[k];
	for (int k = 0; k < count; k++) {
		a[k] = along >= 0 ? -a[k] : a[k];
		sum[k] += a[k];
	}
}

#endif
