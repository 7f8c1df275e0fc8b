/* Painting: bodies are put in order by columns of 8 x 8 cells and all z, and a thread paints a column at a time.
 * Columns that are painted at the same time have one between them, which their splines do not reach beyond; so no two
 * threads write to one cell, and as cells are sums of whole numbers, the order does not matter. */
#include "kernels/mesh/mesh_internal.h"

#include <omp.h>
#include <string.h>

#include "common/mem.h"

static nb_mesh_paint_bodies *const paint_of[] = {NB_ISA_TABLE(nb_mesh_paint_bodies)};

enum { WIDTH = 8, CHUNK = 4096 };

/* ---- columns ------------------------------------------------------------------------------------ */

struct columns {
	size_t side;   /* along x, and along y */
	size_t *begin; /* side^2 + 1 */
	uint32_t *row; /* bodies of column c: row[begin[c]] ... row[begin[c + 1] - 1] */
};

/* The last column has what is left over, WIDTH to 2 WIDTH - 1 cells. */
static size_t column_along(size_t cell, size_t side)
{
	return cell / WIDTH < side ? cell / WIDTH : side - 1;
}

static size_t column_of(const struct nb_mesh_paint *paint, struct nb_reals pos, size_t side, size_t i)
{
	const size_t x = (size_t)nb_mesh_place(nb_real(pos, 3 * i), paint),
		     y = (size_t)nb_mesh_place(nb_real(pos, 3 * i + 1), paint);
	return column_along(x, side) * side + column_along(y, side);
}

/* Bodies by column: each thread counts those of a part of all, and then knows where they go. */
static int find_columns(const struct nb_mesh_paint *paint, struct nb_reals pos, struct columns *columns)
{
	const size_t n = paint->n, side = (size_t)paint->m / WIDTH, count = side * side;
	const size_t parts = n < CHUNK ? 1 : (size_t)omp_get_max_threads();
	size_t *at = nb_alloc_zero(parts * count, sizeof *at), sum = 0;
	*columns = (struct columns){
		side, nb_alloc(count + 1, sizeof *columns->begin), nb_alloc(n, sizeof *columns->row)};
	const int status = at && columns->begin && columns->row ? NB_OK : NB_ENOMEM;
	if (!status) {
#pragma omp parallel for schedule(static)
		for (size_t t = 0; t < parts; t++)
			for (size_t i = n * t / parts; i < n * (t + 1) / parts; i++)
				at[t * count + column_of(paint, pos, side, i)]++;
		for (size_t c = 0; c < count; c++) {
			columns->begin[c] = sum;
			for (size_t t = 0; t < parts; t++) {
				const size_t own = at[t * count + c];
				at[t * count + c] = sum;
				sum += own;
			}
		}
		columns->begin[count] = sum;
#pragma omp parallel for schedule(static)
		for (size_t t = 0; t < parts; t++)
			for (size_t i = n * t / parts; i < n * (t + 1) / parts; i++)
				columns->row[at[t * count + column_of(paint, pos, side, i)]++] = (uint32_t)i;
	}
	nb_free(at);
	return status;
}

/* ---- splines ------------------------------------------------------------------------------------ */

static void paint_column(const struct nb_mesh_paint *paint, struct nb_reals pos, double shift,
	const struct columns *columns, size_t c, int64_t *mesh)
{
	paint_of[nb_cpu_isa()](
		paint, pos, shift, columns->row + columns->begin[c], columns->begin[c + 1] - columns->begin[c], mesh);
}

/* Of an odd number of columns, the last one is beside the first: it has a round of its own. */
static size_t round_of(size_t k, size_t side)
{
	return side % 2 && k == side - 1 ? 2 : k % 2;
}

static void paint_all(const struct nb_mesh_paint *paint, struct nb_reals pos, double shift,
	const struct columns *columns, int64_t *mesh)
{
	const size_t plane = nb_mesh_bytes(paint->m) / (size_t)paint->m, side = columns->side;
#pragma omp parallel for schedule(static)
	for (int x = 0; x < paint->m; x++)
		memset((char *)mesh + plane * (size_t)x, 0, plane);
	for (size_t turn = 0; turn < 9; turn++) {
#pragma omp parallel for schedule(dynamic)
		for (size_t c = 0; c < side * side; c++)
			if (round_of(c / side, side) == turn / 3 && round_of(c % side, side) == turn % 3)
				paint_column(paint, pos, shift, columns, c, mesh);
	}
}

int nb_mesh_paint_reals_cpu(const struct nb_mesh_paint *paint, struct nb_reals pos, void *mesh, void *shifted)
{
	struct columns columns;
	if (paint->n > INT32_MAX)
		return NB_ELIMIT;
	const int status = find_columns(paint, pos, &columns);
	if (!status)
		paint_all(paint, pos, 0, &columns, mesh);
	if (!status && shifted)
		paint_all(paint, pos, 0.5, &columns, shifted);
	nb_free_all(columns.begin, columns.row);
	return status;
}

int nb_mesh_paint_cpu(const struct nb_mesh_paint *paint, void *mesh, void *shifted)
{
	return nb_mesh_paint_reals_cpu(paint, (struct nb_reals){.f64 = paint->pos}, mesh, shifted);
}
