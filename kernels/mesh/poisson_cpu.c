/* Gravity on a mesh: the modes of its field, each a product of factors of its three axes over k^2; and the field at
 * points. */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

static const double PI = 3.14159265358979323846;

enum { SOME = 1024 }; /* points of a thread at a time */

static nb_mesh_gather_part *const gather_of[] = {NB_ISA_TABLE(nb_mesh_gather_part)};

/* The smoothing, over the windows of painting and gathering; 0 where derivatives have no sign: at m / 2. */
static void fill_smooth(const struct nb_mesh_poisson *of, const struct nb_mesh_axis *axis, double *smooth)
{
	for (int i = 0; i < of->m; i++) {
		const int q = nb_mesh_wave(i, of->m);
		const double k = 2 * PI * q / of->box * of->split;
		smooth[i] = 2 * q == of->m ? 0 : axis[i].sharpen * axis[i].sharpen * exp(-k * k);
	}
}

static void solve_row(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *smooth, int x, int y,
	const double *mass, double *to)
{
	const int qx = nb_mesh_wave(x, of->m), qy = nb_mesh_wave(y, of->m);
	const double unit = (field == NB_MESH_POT ? -1 / PI : 2 / of->box) / of->box * smooth[x] * smooth[y];
	for (int z = 0; z <= of->m / 2; z++) {
		const double q2 = qx * qx + qy * qy + z * z, weight = q2 > 0 ? unit * smooth[z] / q2 : 0;
		const double re = mass[2 * z], im = mass[2 * z + 1];
		const double q = field == NB_MESH_ACC_X ? qx : field == NB_MESH_ACC_Y ? qy : z;
		to[2 * z] = field == NB_MESH_POT ? weight * re : -weight * q * im;
		to[2 * z + 1] = field == NB_MESH_POT ? weight * im : weight * q * re;
	}
}

int nb_mesh_poisson_cpu(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to)
{
	const size_t m = (size_t)of->m;
	struct nb_mesh_axis *axis = nb_alloc(m, sizeof *axis);
	double *smooth = nb_alloc(m, sizeof *smooth);
	const int status = axis && smooth ? NB_OK : NB_ENOMEM;
	if (!status) {
		nb_mesh_axes(of->m, of->order, axis);
		fill_smooth(of, axis, smooth);
#pragma omp parallel for schedule(static)
		for (int x = 0; x < of->m; x++)
			for (int y = 0; y < of->m; y++) {
				const size_t at = ((size_t)x * m + (size_t)y) * nb_mesh_row(of->m);
				solve_row(of, field, smooth, x, y, mass + at, to + at);
			}
	}
	nb_free_all(axis, smooth);
	return status;
}

void nb_mesh_gather_cpu(const struct nb_mesh_gather *gather, double *value, size_t stride)
{
	nb_mesh_gather_part *const part = gather_of[nb_cpu_isa()];
#pragma omp parallel for schedule(dynamic)
	for (size_t k = 0; k < gather->n; k += SOME)
		part(gather, k, gather->n - k < SOME ? gather->n : k + SOME, value, stride);
}
