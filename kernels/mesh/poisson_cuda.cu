/* Gravity on a mesh, on the device: the modes of its field, and the field at points.  Eight lanes have a point: each of
 * them takes the cells of one z, so that a line of the mesh is read at once; their sums are added in a fixed order. */
#include "kernels/device/device.cuh"
#include "kernels/mesh/mesh_internal.h"

#include <stdlib.h>

enum { THREADS = 128, LANES = 8, POINTS = THREADS / LANES };

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
		status = smooth.alloc(m);
	if (!status)
		status = nb_cuda_status(cudaMemcpy(smooth.ptr, host, m * sizeof *host, cudaMemcpyHostToDevice),
			"smoothing", __FILE__, __LINE__);
	free(host);
	NB_TRY(status);
	poisson_kernel<<<(unsigned)(m * m), THREADS>>>(*of, field, smooth.ptr, (const double2 *)mass, (double2 *)to);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* The lanes of a point share its weights. */
template <int ORDER>
static __global__ void __launch_bounds__(THREADS)
	gather_kernel(const __grid_constant__ nb_mesh_gather of, double *value, size_t stride)
{
	__shared__ double weight[POINTS][3][ORDER];
	__shared__ int begin[POINTS][3];
	const int own = threadIdx.x / LANES, lane = threadIdx.x % LANES, m = of.m;
	const size_t i = (size_t)blockIdx.x * POINTS + own;
	if (lane < 3) {
		const nb_mesh_paint as = {0, nullptr, nullptr, of.box, 0, 1, m, ORDER};
		double w[ORDER];
		begin[own][lane] = nb_mesh_spline(ORDER, i < of.n ? nb_mesh_place(of.pos[3 * i + lane], &as) : 0, w);
#pragma unroll
		for (int k = 0; k < ORDER; k++)
			weight[own][lane][k] = w[k];
	}
	__syncwarp();
	const bool some = lane < ORDER && i < of.n;
	const double *const from = of.mesh + (some ? nb_mesh_cell(begin[own][2] + lane, m) : 0);
	const size_t row = nb_mesh_row(m);
	size_t y[ORDER];
	double sum = 0;
#pragma unroll
	for (int k = 0; k < ORDER; k++)
		y[k] = (size_t)nb_mesh_cell(begin[own][1] + k, m) * row;
#pragma unroll
	for (int k = 0; k < ORDER; k++) {
		const double *const plane = from + (size_t)nb_mesh_cell(begin[own][0] + k, m) * m * row;
		double line = 0;
#pragma unroll
		for (int j = 0; j < ORDER; j++)
			line += weight[own][1][j] * plane[y[j]];
		sum += weight[own][0][k] * line;
	}
	sum *= some ? weight[own][2][lane] : 0;
	for (int across = LANES / 2; across > 0; across /= 2)
		sum += __shfl_xor_sync(~0u, sum, across);
	if (lane == 0 && i < of.n)
		value[stride * i] += sum;
}

int nb_mesh_gather_cuda(const struct nb_mesh_gather *gather, double *value, size_t stride)
{
	static void (*const kernel_of[])(nb_mesh_gather, double *, size_t) = {gather_kernel<1>, gather_kernel<2>,
		gather_kernel<3>, gather_kernel<4>, gather_kernel<5>, gather_kernel<6>};
	if (gather->n == 0)
		return NB_OK;
	kernel_of[gather->order - 1]<<<nb_cuda_blocks(gather->n, POINTS), THREADS>>>(*gather, value, stride);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
