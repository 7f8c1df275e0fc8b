/* Gravity on a mesh, on the device: the modes of its field. */
#include "kernels/mesh/mesh_internal.cuh"

#include <stdlib.h>

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS) poisson_kernel(const __grid_constant__ nb_mesh_poisson of,
	nb_mesh_field field, const double *smooth, const double2 *mass, double2 *to)
{
	const int m = of.m, x = blockIdx.x / m, y = blockIdx.x % m, half = m / 2 + 1;
	const size_t row = (size_t)blockIdx.x * half;
	const int qx = nb_mesh_wave(x, m), qy = nb_mesh_wave(y, m);
	const double unit = nb_mesh_field_unit(&of, field) * smooth[x] * smooth[y];
	for (int z = threadIdx.x; z < half; z += THREADS) {
		const double2 mode = mass[row + z];
		double v[2] = {mode.x, mode.y};
		nb_mesh_solve(field, unit * smooth[z], qx, qy, z, v);
		to[row + z] = make_double2(v[0], v[1]);
	}
}

int nb_mesh_poisson_cuda(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to)
{
	const size_t m = (size_t)of->m;
	nb_cuda_buffer<double> smooth;
	double *host = (double *)malloc(m * sizeof *host);
	int status = host ? nb_mesh_smooth(of, host) : (int)NB_ENOMEM;
	if (!status)
		status = nb_mesh_send_table(host, m, smooth);
	free(host);
	NB_TRY(status);
	poisson_kernel<<<(unsigned)(m * m), THREADS>>>(*of, field, smooth.ptr, (const double2 *)mass, (double2 *)to);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
