/* sets.h - bodies that neighbours are looked for among, for the tests of both backends. */
#ifndef NB_UNIT_NEAR_SETS_H
#define NB_UNIT_NEAR_SETS_H

#include "tests/unit/random.h"

enum near_set { SET_RANDOM, SET_CLUMPS, SET_LATTICE, SET_POINT, SET_HALF, SET_LINE, SET_FAR, SET_TINY, SETS };
static const char *const near_set_name[] = {
	"random", "clumps", "lattice", "point", "half in one place", "line", "one far away", "tiny"};

/* n bodies in the unit cube: positions, masses, velocities; ids that descend, and some of which are the same. */
static void make_near_set(int set, size_t n, double *pos, double *mass, double *vel, uint64_t *id)
{
	random_state = (uint64_t)set * 77 + n;
	for (size_t i = 0; i < n; i++) {
		double *x = pos + 3 * i;
		const double clump = (double)(i % 5) / 5;
		for (int k = 0; k < 3; k++) {
			const double r = uniform();
			x[k] = r;
			if (set == SET_CLUMPS)
				x[k] = i % 2 ? clump + 1e-3 * r * r : r;
			else if (set == SET_LATTICE)
				x[k] = (double)(int)(8 * r) / 8;
			else if (set == SET_POINT || (set == SET_HALF && i % 2))
				x[k] = 0.25;
			else if (set == SET_LINE)
				x[k] = k ? 0.5 : (double)i / (double)n;
			else if (set == SET_FAR && i == n / 2)
				x[k] = 1e11;
			else if (set == SET_TINY)
				x[k] = r * 1e-200;
			vel[3 * i + (size_t)k] = uniform() - 0.5;
		}
		mass[i] = uniform() < 0.1 ? 0 : uniform();
		id[i] = (uint64_t)(n - i) * 1000 / 3 % 991 + (n - i) / 7;
	}
}

#endif
