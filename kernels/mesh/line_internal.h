/* line_internal.h - splines along z as whole vectors, for what is compiled for each instruction set. */
#ifndef NB_MESH_LINE_INTERNAL_H
#define NB_MESH_LINE_INTERNAL_H

#include <string.h>

#include "kernels/mesh/mesh_internal.h"

/* Cells of a line: as many as the longest spline has, and whole vectors; what is behind the spline has the weight 0. */
enum { NB_MESH_LINE = 8 };
_Static_assert((int)NB_MESH_ORDERS <= (int)NB_MESH_LINE, "a line has room for a spline");

/* Whether the line from cell `first` on stays in its row of the mesh, and the spline in the box. */
static inline int nb_mesh_line_whole(int order, int first, int m)
{
	return first >= 0 && first + order <= m && first + NB_MESH_LINE <= (int)nb_mesh_row(m);
}

/* As nb_mesh_spline, with the same operations, along three axes at once. */
static NB_HD void nb_mesh_spline_lines(const int order, const double u[3], int first[3], double weight[3][NB_MESH_LINE])
{
	typedef double v4 __attribute__((vector_size(32)));
	v4 f = {0}, w[NB_MESH_ORDERS] = {{1, 1, 1, 1}};
	for (int c = 0; c < 3; c++) {
		const double from = u[c] + (1 - 0.5 * order), whole = floor(from);
		f[c] = from - whole;
		first[c] = (int)whole;
	}
	_Pragma("GCC unroll 8") for (int q = 2; q <= order; q++)
	{
		const double part = 1.0 / (q - 1);
		v4 below = {0};
		_Pragma("GCC unroll 8") for (int j = 0; j < q; j++)
		{
			const v4 here = j < q - 1 ? w[j] : (v4){0};
			w[j] = ((f + (q - 1 - j)) * below + (1 - f + j) * here) * part;
			below = here;
		}
	}
	_Pragma("GCC unroll 8") for (int j = 0; j < NB_MESH_LINE; j++) for (int c = 0; c < 3; c++)
		weight[c][j] = j < order ? w[j][c] : 0;
}

#endif
