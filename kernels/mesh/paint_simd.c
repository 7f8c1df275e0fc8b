/* Bodies onto the mesh.  Weights and products are rounded as on a device, so this is compiled without fused
 * multiply-adds. */
#include "kernels/mesh/line_internal.h"
#include "kernels/simd/simd.h"

enum { AHEAD = 8 }; /* a body is fetched while so many before it are painted */

/* Adds the line of weights, times the mass, to cells that are all in one row. */
static NB_HD void add_line(const int order, double mass, double across, const double *weight, int64_t *to)
{
#if defined(NB_ISA_avx512)
	const __m512d part = _mm512_set1_pd(mass) * (_mm512_set1_pd(across) * _mm512_loadu_pd(weight));
	(void)order;
	_mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), _mm512_cvtpd_epi64(part)));
#else
	for (int z = 0; z < order; z++)
		to[z] += llrint(mass * (across * weight[z]));
#endif
}

static NB_HD void paint_one(
	const int order, const struct nb_mesh_paint *paint, struct nb_reals pos, double shift, size_t i, int64_t *mesh)
{
	const size_t m = (size_t)paint->m, length = nb_mesh_row(paint->m);
	const double mass = (paint->mass ? paint->mass[i] : 1) / paint->unit;
	double weight[3][NB_MESH_LINE], at[3];
	size_t cell[3][NB_MESH_ORDERS];
	int begin[3];
	nb_reals_row(pos, i, at);
	for (int c = 0; c < 3; c++)
		at[c] = nb_mesh_place(at[c], paint) + shift;
	nb_mesh_spline_lines(order, at, begin, weight);
	for (int c = 0; c < 3; c++)
		for (int j = 0; j < order; j++)
			cell[c][j] = (size_t)nb_mesh_cell(begin[c] + j, paint->m);
	const int first = begin[2], whole = nb_mesh_line_whole(order, first, paint->m);
	for (int x = 0; x < order; x++)
		for (int y = 0; y < order; y++) {
			int64_t *to = mesh + (cell[0][x] * m + cell[1][y]) * length;
			if (whole) {
				add_line(order, mass * weight[0][x], weight[1][y], weight[2], to + first);
				continue;
			}
			for (int z = 0; z < order; z++)
				to[cell[2][z]] += llrint(mass * weight[0][x] * (weight[1][y] * weight[2][z]));
		}
}

void NB_ISA(nb_mesh_paint_bodies)(const struct nb_mesh_paint *paint, struct nb_reals pos, double shift,
	const uint32_t *row, size_t n, int64_t *mesh)
{
	for (size_t k = 0; k < n; k++) {
		const size_t i = row[k];
		const size_t next = 3 * (size_t)row[k + AHEAD < n ? k + AHEAD : k];
		__builtin_prefetch(pos.f32 ? (const void *)(pos.f32 + next) : pos.f64 + next);
		switch (paint->order) {
		case 1: paint_one(1, paint, pos, shift, i, mesh); break;
		case 2: paint_one(2, paint, pos, shift, i, mesh); break;
		case 3: paint_one(3, paint, pos, shift, i, mesh); break;
		case 4: paint_one(4, paint, pos, shift, i, mesh); break;
		case 5: paint_one(5, paint, pos, shift, i, mesh); break;
		default: paint_one(6, paint, pos, shift, i, mesh); break;
		}
	}
}
