/* Gravity on a mesh: the modes of its field, each a product of factors of its three axes over k^2; and the field at
 * points. */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

enum { SOME = 1024 }; /* points of a thread at a time */

static nb_mesh_gather_part *const gather_of[] = {NB_ISA_TABLE(nb_mesh_gather_part)};

static void solve_row(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *smooth, int x, int y,
	const double *mass, double *to)
{
	const int qx = nb_mesh_wave(x, of->m), qy = nb_mesh_wave(y, of->m);
	const double unit = nb_mesh_field_unit(of, field) * smooth[x] * smooth[y];
	for (int z = 0; z <= of->m / 2; z++) {
		double mode[2] = {mass[2 * z], mass[2 * z + 1]};
		nb_mesh_solve(field, unit * smooth[z], qx, qy, z, mode);
		to[2 * z] = mode[0];
		to[2 * z + 1] = mode[1];
	}
}

int nb_mesh_poisson_cpu(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to)
{
	const size_t m = (size_t)of->m;
	double *smooth = nb_alloc(m, sizeof *smooth);
	const int status = smooth ? nb_mesh_smooth(of, smooth) : NB_ENOMEM;
	if (!status) {
#pragma omp parallel for schedule(static)
		for (int x = 0; x < of->m; x++)
			for (int y = 0; y < of->m; y++) {
				const size_t at = ((size_t)x * m + (size_t)y) * nb_mesh_row(of->m);
				solve_row(of, field, smooth, x, y, mass + at, to + at);
			}
	}
	nb_free(smooth);
	return status;
}

void nb_mesh_gather_cpu(const struct nb_mesh_gather *gather, double *value, size_t stride)
{
	nb_mesh_gather_part *const part = gather_of[nb_cpu_isa()];
#pragma omp parallel for schedule(dynamic)
	for (size_t k = 0; k < gather->n; k += SOME)
		part(gather, k, gather->n - k < SOME ? gather->n : k + SOME, value, stride);
}
