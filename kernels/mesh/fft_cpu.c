/* The transform of a mesh: planes of x, each of them by rows along z and columns along y while it is in the cache; then
 * columns along x.  Every row and column is computed alone, so threads do not matter. */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

static nb_fft_rows *const rows_of[] = {NB_ISA_TABLE(nb_fft_rows)};
static nb_fft_columns *const columns_of[] = {NB_ISA_TABLE(nb_fft_columns)};

enum { COLUMNS = 64 }; /* of a thread at a time: a few pages of each plane */

int nb_mesh_transform_cpu(int m, double unit, void *mesh)
{
	const size_t row = nb_mesh_row(m), plane = row * (size_t)m / 2; /* pairs */
	nb_fft_rows *const rows = rows_of[nb_cpu_isa()];
	nb_fft_columns *const columns = columns_of[nb_cpu_isa()];
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
#pragma omp for schedule(dynamic)
		for (int x = 0; x < m; x++) {
			double *at = (double *)mesh + 2 * plane * (size_t)x;
			if (!work)
				continue;
			rows(&fft, unit, (size_t)m, at, work);
			columns(&fft, row / 2, row / 2, at, work);
		}
#pragma omp for schedule(dynamic)
		for (size_t k = 0; k < plane; k += COLUMNS)
			if (work)
				columns(&fft, plane, plane - k < COLUMNS ? plane - k : COLUMNS, (double *)mesh + 2 * k,
					work);
		nb_free(work);
	}
	nb_free(fft.root);
	return status;
}
