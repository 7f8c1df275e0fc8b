/* Morton keys on the CPU: a plain loop over bodies for each thread.  About 60 integer operations a
 * key, so that reading the positions is what takes the time. */
#include "kernels/order/order.h"

#include <math.h>

#include "common/lap.h"

/* Bodies in a block: one thread's unit of work, and the granularity at which a bad position is found. */
enum { BLOCK = 1 << 9 };

int nb_morton_cube_cpu(size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad)
{
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	const char *before = nb_lap("keys");
	double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
	size_t nblock = (n + BLOCK - 1) / BLOCK, first_bad = SIZE_MAX;
#pragma omp parallel for schedule(static) reduction(min : lo[:3], first_bad) reduction(max : hi[:3]) if (nblock > 1)
	for (size_t b = 0; b < nblock; b++) {
		size_t end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
		/* x - x is 0 for a finite x and NaN for any other: one sum tells for the whole block */
		double test = 0;
		for (size_t i = b * BLOCK; i < end; i++) {
			for (int k = 0; k < 3; k++) {
				double x = pos[3 * i + (size_t)k];
				test += x - x;
				lo[k] = x < lo[k] ? x : lo[k];
				hi[k] = x > hi[k] ? x : hi[k];
			}
		}
		if (test == 0)
			continue;
		for (size_t i = b * BLOCK; i < end; i++)
			if (!(isfinite(pos[3 * i]) && isfinite(pos[3 * i + 1]) && isfinite(pos[3 * i + 2]))) {
				first_bad = i < first_bad ? i : first_bad;
				break;
			}
	}
	nb_lap(before);
	if (first_bad != SIZE_MAX) {
		*bad = first_bad;
		return NB_ENONFINITE;
	}
	return nb_morton_cube_of_extent(n, (const double[]){-lo[0], -lo[1], -lo[2], hi[0], hi[1], hi[2]}, dim, cube);
}

int nb_morton_cube_of_extent(size_t n, const double extent[6], int dim, struct nb_cube *cube)
{
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	double size = 0;
	for (int k = 0; k < 3; k++) {
		const int is_flat = n == 0 || k >= dim;
		cube->lo[k] = is_flat ? 0 : -extent[k];
		size = fmax(size, is_flat ? 0 : extent[3 + k] - cube->lo[k]);
	}
	/* 2^-900: so that 2^bits / size and squares of separations stay finite */
	cube->size = size == 0 ? 1 : fmax(size * (1 + 0x1p-40), 0x1p-900);
	return isfinite(cube->size) ? NB_OK : NB_ELIMIT;
}

int nb_morton_keys_cpu(size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key)
{
	if (dim != 2 && dim != 3)
		return NB_EINVAL;
	if (!(cube->size > 0 && isfinite(cube->size)))
		return NB_EINVAL;
	const char *before = nb_lap("keys");
	const double x0 = cube->lo[0], y0 = cube->lo[1], z0 = cube->lo[2];
	int bits = dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D;
	const double scale = ldexp(1, bits) / cube->size;
	if (dim == 3) {
#pragma omp parallel for schedule(static) if (n > BLOCK)
		for (size_t i = 0; i < n; i++)
			key[i] = nb_morton_key3(nb_morton_cell(pos[3 * i], x0, scale, NB_MORTON_BITS_3D),
				nb_morton_cell(pos[3 * i + 1], y0, scale, NB_MORTON_BITS_3D),
				nb_morton_cell(pos[3 * i + 2], z0, scale, NB_MORTON_BITS_3D));
	} else {
#pragma omp parallel for schedule(static) if (n > BLOCK)
		for (size_t i = 0; i < n; i++)
			key[i] = nb_morton_key2(nb_morton_cell(pos[3 * i], x0, scale, NB_MORTON_BITS_2D),
				nb_morton_cell(pos[3 * i + 1], y0, scale, NB_MORTON_BITS_2D));
	}
	nb_lap(before);
	return NB_OK;
}

int nb_keys_current_cpu(
	size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current)
{
	enum { SOME = 4096 };
	int stale = 0;
#pragma omp parallel for schedule(static) reduction(| : stale)
	for (size_t b = 0; b < n; b += SOME) {
		uint64_t now[SOME];
		size_t m = n - b < SOME ? n - b : SOME;
		if (nb_morton_keys_cpu(m, pos + 3 * b, dim, cube, now)) {
			stale = 1;
			continue;
		}
		int differ = b > 0 && key[b] < key[b - 1];
		for (size_t i = 0; i < m; i++)
			differ |= now[i] != key[b + i] || (i > 0 && now[i] < now[i - 1]);
		stale |= differ;
	}
	*current = !stale;
	return NB_OK;
}

int nb_first_outside_cpu(size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first)
{
	size_t outside = n;
#pragma omp parallel for schedule(static) reduction(min : outside) if (n > BLOCK)
	for (size_t i = 0; i < n; i++)
		for (int k = from; k < to; k++)
			if (nb_morton_outside(pos[3 * i + (size_t)k], cube->lo[k], cube->size) && i < outside)
				outside = i;
	*first = outside;
	return NB_OK;
}
