/* random.h - random numbers for the unit tests, the same on every run. */
#ifndef NB_UNIT_RANDOM_H
#define NB_UNIT_RANDOM_H

#include <math.h>
#include <stdint.h>

static uint64_t random_state = 20241119;

static inline uint64_t random_u64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline double uniform(void)
{
	return ((double)(random_u64() >> 11) + 0.5) * 0x1p-53;
}

/* Between two positive numbers, each decade as likely as any other. */
static inline double decades(double from, double to)
{
	return from * pow(to / from, uniform());
}

static inline void on_sphere(double r, double *x)
{
	double c = 2 * uniform() - 1, s = sqrt(1 - c * c), phi = 2 * M_PI * uniform();
	x[0] = r * s * cos(phi);
	x[1] = r * s * sin(phi);
	x[2] = r * c;
}

#endif
