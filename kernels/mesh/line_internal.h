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

/* As nb_mesh_spline, with the same operations, but with all weights in registers until the end. */
static NB_HD int nb_mesh_spline_line(const int order, double u, double weight[NB_MESH_LINE])
{
	const double from = u + (1 - 0.5 * order), first = floor(from), f = from - first;
	double w[NB_MESH_LINE] = {1};
	_Pragma("GCC unroll 8") for (int q = 2; q <= order; q++)
	{
		const double part = 1.0 / (q - 1);
		double below = 0;
		_Pragma("GCC unroll 8") for (int j = 0; j < q; j++)
		{
			const double here = j < q - 1 ? w[j] : 0;
			w[j] = ((f + (q - 1 - j)) * below + (1 - f + j) * here) * part;
			below = here;
		}
	}
	memcpy(weight, w, sizeof w);
	return (int)first;
}

#endif
