/* deep.h - the order of bodies that one key does not tell apart, written once for gcc and nvcc.
 *
 * A key ends at 2^-21 of the cube (2-D: 2^-31), positions do not.  Bodies with equal keys are a tie: they are in the
 * order of keys of their own, in the smallest cube around them; those that even these do not tell apart are a tie
 * again, and so on until all bodies of a tie coincide, which then stay in the order that they came in.
 *
 * The edge of a tie's cube is a power of two, so that scaling rounds nothing, and its largest extent is half of it or
 * more, so that every tie that has an extent is divided at its first digit. */
#ifndef NB_ORDER_DEEP_H
#define NB_ORDER_DEEP_H

#include "kernels/order/morton.h"

#include <math.h>

/* The cube of a tie. */
struct nb_deep_cube {
	double lo[3];
	double scale[2]; /* cells per length is their product, which as a number might be too large; 0: no extent */
};

/* From the smallest and largest coordinates; in 2-D z is ignored. */
static NB_HD struct nb_deep_cube nb_deep_cube_of(const double *lo, const double *hi, int dim)
{
	struct nb_deep_cube cube = {{0, 0, 0}, {0, 0}};
	double extent = 0;
	for (int k = 0; k < dim; k++) {
		cube.lo[k] = lo[k];
		extent = hi[k] - lo[k] > extent ? hi[k] - lo[k] : extent;
	}
	if (extent > 0 && isfinite(extent)) {
		int exponent;
		(void)frexp(extent, &exponent);
		const int shift = (dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D) - exponent;
		cube.scale[0] = ldexp(1.0, shift / 2);
		cube.scale[1] = ldexp(1.0, shift - shift / 2);
	}
	return cube;
}

static NB_HD uint64_t nb_deep_cell(const struct nb_deep_cube *cube, const double *pos, int k, int bits)
{
	return nb_morton_cell((pos[k] - cube->lo[k]) * cube->scale[0], 0, cube->scale[1], bits);
}

/* The key of a body of the tie; 0 for all of them if they coincide. */
static NB_HD uint64_t nb_deep_key(const struct nb_deep_cube *cube, const double *pos, int dim)
{
	const int bits = dim == 3 ? NB_MORTON_BITS_3D : NB_MORTON_BITS_2D;
	const uint64_t x = nb_deep_cell(cube, pos, 0, bits), y = nb_deep_cell(cube, pos, 1, bits);
	return dim == 3 ? nb_morton_key3(x, y, nb_deep_cell(cube, pos, 2, bits)) : nb_morton_key2(x, y);
}

enum { NB_DEEP_FEW = 8 };

/* Orders the rows of a tie of count <= NB_DEEP_FEW bodies.
 *   row  count of them, into pos (x 3); rearranged */
static NB_HD void nb_deep_order_few(uint32_t *row, unsigned count, const double *pos, int dim)
{
	uint64_t key[NB_DEEP_FEW];
	unsigned begin[NB_DEEP_FEW / 2 + 1], end[NB_DEEP_FEW / 2 + 1], ties = 1; /* that are still to be divided */
	begin[0] = 0;
	end[0] = count;
	while (ties) {
		const unsigned from = begin[--ties], to = end[ties];
		const double *first = pos + 3 * (size_t)row[from];
		double lo[3] = {first[0], first[1], first[2]}, hi[3] = {first[0], first[1], first[2]};
		for (unsigned i = from + 1; i < to; i++)
			for (int k = 0; k < 3; k++) {
				const double x = pos[3 * (size_t)row[i] + (size_t)k];
				lo[k] = x < lo[k] ? x : lo[k];
				hi[k] = x > hi[k] ? x : hi[k];
			}
		const struct nb_deep_cube cube = nb_deep_cube_of(lo, hi, dim);
		if (cube.scale[0] == 0)
			continue;
		for (unsigned i = from; i < to; i++) {
			const uint32_t mine = row[i];
			const uint64_t own = nb_deep_key(&cube, pos + 3 * (size_t)mine, dim);
			unsigned at = i;
			for (; at > from && key[at - 1] > own; at--) {
				key[at] = key[at - 1];
				row[at] = row[at - 1];
			}
			key[at] = own;
			row[at] = mine;
		}
		for (unsigned i = from, next; i < to; i = next) {
			for (next = i + 1; next < to && key[next] == key[i]; next++)
				;
			if (next > i + 1) {
				begin[ties] = i;
				end[ties++] = next;
			}
		}
	}
}

#endif
