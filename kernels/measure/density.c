/* Densities at bodies from the distances of their nearest neighbours. */
#include "kernels/measure/measure_internal.h"

#include <math.h>

#include "common/mem.h"
#include "kernels/near/near.h"
#include "kernels/order/order.h"

/* Positions and masses of the rows; positions in units of a power of two, whose cubes are numbers whatever the units of
 * the caller are. */
static int gather(size_t n, const uint32_t *row, const double *mass, const double *pos, double *m, double *x)
{
	struct nb_cube cube;
	size_t bad;
	for (size_t k = 0; k < n; k++) {
		m[k] = mass[row[k]];
		memcpy(&x[3 * k], &pos[3 * (size_t)row[k]], 3 * sizeof *x);
	}
	const int status = nb_morton_cube_cpu(n, x, 3, &cube, &bad);
	for (size_t k = 0; !status && k < 3 * n; k++)
		x[k] = scalbn(x[k], -ilogb(cube.size));
	return status;
}

int nb_densities(size_t n, const uint32_t *row, const double *mass, const double *pos, double *density)
{
	double *m = nb_alloc(n, sizeof *m), *x = nb_alloc(n, 3 * sizeof *x), *own = nb_alloc(n, sizeof *own);
	int status = m && x && own ? gather(n, row, mass, pos, m, x) : NB_ENOMEM;
	const struct nb_near_bodies bodies = {.n = n, .dim = 3, .pos = x, .mass = m};
	const struct nb_near_found found = {.k = NB_DENSITY_NEIGHBOURS, .part = NB_DENSITY_NEIGHBOURS, .unbiased = own};
	if (!status)
		status = nb_near_nearest_cpu(&bodies, &found);
	for (size_t k = 0; !status && k < n; k++)
		density[row[k]] = own[k];
	nb_free_all(m, x, own);
	return status;
}
