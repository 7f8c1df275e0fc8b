/* The mesh at points: lines along z are summed over x and y as vectors, so each cell is one multiply-add. */
#include "kernels/mesh/mesh_internal.h"

static NB_HD double gather_one(
	const int order, const struct nb_mesh_gather *of, const struct nb_mesh_paint *as, size_t i)
{
	double weight[3][NB_MESH_ORDERS_CPU], line[NB_MESH_ORDERS_CPU] = {0}, sum = 0;
	size_t cell[3][NB_MESH_ORDERS_CPU];
	int first = 0;
	for (int c = 0; c < 3; c++) {
		first = nb_mesh_spline(order, nb_mesh_place(of->pos[3 * i + (size_t)c], as), weight[c]);
		for (int j = 0; j < order; j++)
			cell[c][j] = (size_t)nb_mesh_cell(first + j, of->m);
	}
	const int whole = first >= 0 && first + order <= of->m; /* the line does not leave the box */
	for (int x = 0; x < order; x++)
		for (int y = 0; y < order; y++) {
			const double *row = of->mesh + (cell[0][x] * (size_t)of->m + cell[1][y]) * nb_mesh_row(of->m);
			const double w = weight[0][x] * weight[1][y];
			for (int z = 0; z < order; z++)
				line[z] += w * (whole ? row[first + z] : row[cell[2][z]]);
		}
	for (int z = 0; z < order; z++)
		sum += weight[2][z] * line[z];
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
