/* The transform of a mesh: planes of x, each of them by rows along z and columns along y while it is in the cache; then
 * columns along x; the other way round to go back.  Every row and column is computed alone, so threads do not matter.
 */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

static nb_fft_rows *const rows_of[] = {NB_ISA_TABLE(nb_fft_rows)};
static nb_fft_rows_back *const rows_back_of[] = {NB_ISA_TABLE(nb_fft_rows_back)};
static nb_fft_columns *const columns_of[] = {NB_ISA_TABLE(nb_fft_columns)};

enum { COLUMNS = 64 }; /* of a thread at a time: a few pages of each plane */

/* Both are called by all threads of a team. */
static void planes(const struct nb_fft *fft, int back, double unit, double *mesh, void *work)
{
	const size_t m = (size_t)fft->m, row = nb_mesh_row(fft->m);
	const size_t isa = (size_t)nb_cpu_isa();
#pragma omp for schedule(dynamic)
	for (size_t x = 0; x < m; x++) {
		double *at = mesh + x * m * row;
		if (!work)
			continue;
		if (!back)
			rows_of[isa](fft, unit, m, at, work);
		columns_of[isa](fft, back, row / 2, row / 2, at, work);
		if (back)
			rows_back_of[isa](fft, m, at, work);
	}
}

static void across(const struct nb_fft *fft, int back, double *mesh, void *work)
{
	const size_t plane = (size_t)fft->m * nb_mesh_row(fft->m) / 2; /* pairs */
	nb_fft_columns *const columns = columns_of[nb_cpu_isa()];
#pragma omp for schedule(dynamic)
	for (size_t k = 0; k < plane; k += COLUMNS)
		if (work)
			columns(fft, back, plane, plane - k < COLUMNS ? plane - k : COLUMNS, mesh + 2 * k, work);
}

static int transform(int m, int back, double unit, void *mesh)
{
	struct nb_fft fft = {.m = m, .root = nb_alloc((size_t)m, 2 * sizeof(double))};
	int status = NB_OK;
	fft.npass = nb_fft_factor(m, fft.radix);
	if (!fft.root || !fft.npass) {
		nb_free(fft.root);
		return fft.root ? NB_EINVAL : NB_ENOMEM;
	}
	nb_fft_roots(m, fft.root);
#pragma omp parallel reduction(max : status)
	{
		void *work = nb_alloc((size_t)m, NB_FFT_WORK);
		status = work ? NB_OK : NB_ENOMEM;
		if (back)
			across(&fft, back, mesh, work);
		planes(&fft, back, unit, mesh, work);
		if (!back)
			across(&fft, back, mesh, work);
		nb_free(work);
	}
	nb_free(fft.root);
	return status;
}

int nb_mesh_transform_cpu(int m, double unit, void *mesh)
{
	return unit > 0 ? transform(m, 0, unit, mesh) : NB_EINVAL;
}

int nb_mesh_transform_real_cpu(int m, double *mesh)
{
	return transform(m, 0, 0, mesh);
}

int nb_mesh_transform_back_cpu(int m, double *mesh)
{
	return transform(m, 1, 0, mesh);
}
