/* The mesh at points: lines along z are summed over x and y as vectors, so each cell is one multiply-add. */
#include "kernels/mesh/line_internal.h"
#include "kernels/simd/simd.h"

#include <string.h>

enum { VECTORS = NB_MESH_LINE / NB_WD };

static NB_HD double gather_one(
	const int order, const struct nb_mesh_gather *of, const struct nb_mesh_paint *as, size_t i)
{
	double weight[3][NB_MESH_LINE], place[3], sum = 0;
	size_t cell[3][NB_MESH_ORDERS];
	const size_t row = nb_mesh_row(of->m), step[3] = {(size_t)of->m * row, row, 1};
	nb_vd line[2][VECTORS] = {{{0}}}, along[VECTORS];
	int begin[3];
	for (int c = 0; c < 3; c++)
		place[c] = nb_mesh_place(of->pos[3 * i + (size_t)c], as);
	nb_mesh_spline_lines(order, place, begin, weight);
	for (int c = 0; c < 3; c++)
		for (int j = 0; j < order; j++)
			cell[c][j] = (size_t)nb_mesh_cell(begin[c] + j, of->m) * step[c];
	const int first = begin[2], whole = nb_mesh_line_whole(order, first, of->m);
	/* sums of even and of odd y, so that they wait less for each other */
	_Pragma("GCC unroll 8") for (int x = 0; x < order; x++) _Pragma("GCC unroll 8") for (int y = 0; y < order; y++)
	{
		const double *from = of->mesh + cell[0][x] + cell[1][y];
		const double w = weight[0][x] * weight[1][y];
		if (whole) {
			memcpy(along, from + first, sizeof along);
		} else {
			double one[NB_MESH_LINE] = {0};
			for (int z = 0; z < order; z++)
				one[z] = from[cell[2][z]];
			memcpy(along, one, sizeof along);
		}
		for (int k = 0; k < VECTORS; k++)
			line[y % 2][k] += w * along[k];
	}
	memcpy(along, weight[2], sizeof along);
	for (int k = 0; k < VECTORS; k++)
		sum += nb_sum_vd(along[k] * (line[0][k] + line[1][k]));
	return sum;
}

void NB_ISA(nb_mesh_gather_part)(const struct nb_mesh_gather *of, size_t from, size_t to, double *value, size_t stride)
{
	const struct nb_mesh_paint as = {.box = of->box, .fold = 1, .m = of->m, .order = of->order};
	for (size_t i = from; i < to; i++) {
		double *at = value + stride * i;
		switch (of->order) {
		case 1: *at += gather_one(1, of, &as, i); break;
		case 2: *at += gather_one(2, of, &as, i); break;
		case 3: *at += gather_one(3, of, &as, i); break;
		case 4: *at += gather_one(4, of, &as, i); break;
		case 5: *at += gather_one(5, of, &as, i); break;
		default: *at += gather_one(6, of, &as, i); break;
		}
	}
}
