/* Sums over shells on the device.  A warp takes rows of modes, 32 at a time, whose shells ascend: lanes of one shell
 * are summed up by a segmented scan, and the last of them adds the sum to the warp's own table in shared memory.  Rows
 * of a warp, warps of a block and blocks have an order that depends on m alone, so each run gives the same bytes. */
#include "kernels/mesh/mesh_internal.cuh"

#include <stdlib.h>

enum { BLOCKS = 256, WARPS = 8, ROOM = 96 << 10 };

struct shell_job {
	int m, count, values;
	const nb_mesh_axis *axis;
	nb_mesh_modes a, b;
};

/* Of a mode: how often it counts, that times its distance, powers and product.  The table of a warp has VALUES of them
 * for each shell. */
template <int VALUES>
static __device__ void find_values(
	const shell_job &job, size_t at, int distance2, int z, nb_mesh_axis axes, double (&v)[VALUES])
{
	const double weight = z ? 2 : 1;
	double a[2];
	nb_mesh_mode(&job.a, at, axes, a);
	v[0] = weight;
	v[1] = weight * sqrt((double)distance2);
	v[2] = weight * (a[0] * a[0] + a[1] * a[1]);
	if (VALUES > 3) {
		double b[2];
		nb_mesh_mode(&job.b, at, axes, b);
		v[3 % VALUES] = weight * (b[0] * b[0] + b[1] * b[1]);
		v[4 % VALUES] = weight * (a[0] * b[0] + a[1] * b[1]);
	}
}

template <int VALUES> static __device__ void add_row(const shell_job &job, int x, int y, double *table)
{
	const int m = job.m, count = job.count, lane = threadIdx.x % 32;
	const int kx = nb_mesh_wave(x, m), ky = nb_mesh_wave(y, m), across2 = kx * kx + ky * ky;
	const size_t first = ((size_t)x * m + y) * (nb_mesh_row(m) / 2);
	if (nb_mesh_shell_of(across2) >= count)
		return;
	const nb_mesh_axis xy = nb_mesh_both(job.axis[x], job.axis[y]);
	for (int from = 0; from < count; from += 32) {
		const int z = from + lane, distance2 = across2 + z * z,
			  shell = z < count ? nb_mesh_shell_of(distance2) : count;
		double v[VALUES] = {};
		if (shell < count)
			find_values<VALUES>(job, first + z, distance2, z, nb_mesh_both(xy, job.axis[z]), v);
		for (int d = 1; d < 32; d *= 2) {
			const int below = __shfl_up_sync(~0u, shell, d);
			const bool joined = lane >= d && below == shell;
			for (int k = 0; k < VALUES; k++) {
				const double before = __shfl_up_sync(~0u, v[k], d);
				v[k] += joined ? before : 0;
			}
		}
		const int next = __shfl_down_sync(~0u, shell, 1);
		if (shell < count && (lane == 31 || next != shell))
			for (int k = 0; k < VALUES; k++)
				table[shell * VALUES + k] += v[k];
		__syncwarp();
		if (__all_sync(~0u, shell >= count))
			break;
	}
}

template <int VALUES> static __global__ void shells_kernel(const __grid_constant__ shell_job job, double *part)
{
	extern __shared__ double table[];
	const int size = job.count * VALUES, warps = blockDim.x / 32, warp = threadIdx.x / 32;
	for (int k = threadIdx.x; k < size * warps; k += blockDim.x)
		table[k] = 0;
	__syncthreads();
	for (int row = blockIdx.x * warps + warp; row < job.m * job.m; row += BLOCKS * warps)
		add_row<VALUES>(job, row / job.m, row % job.m, table + warp * size);
	__syncthreads();
	for (int k = threadIdx.x; k < size; k += blockDim.x) {
		double sum = 0;
		for (int w = 0; w < warps; w++)
			sum += table[w * size + k];
		part[(size_t)blockIdx.x * size + k] = sum;
	}
}

template <int VALUES> static int sum_shells(const shell_job &job, double *host)
{
	const size_t size = (size_t)job.count * VALUES;
	nb_cuda_buffer<double> part;
	int warps = WARPS;
	while (warps > 1 && size * warps * sizeof(double) > ROOM)
		warps /= 2;
	const size_t shared = size * warps * sizeof(double);
	NB_TRY(part.alloc(size * BLOCKS));
	NB_CUDA_TRY(
		cudaFuncSetAttribute(shells_kernel<VALUES>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	shells_kernel<VALUES><<<BLOCKS, 32 * warps, shared>>>(job, part.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(host, part.ptr, size * BLOCKS * sizeof *host, cudaMemcpyDeviceToHost));
	return NB_OK;
}

int nb_mesh_shells_cuda(
	int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b, struct nb_mesh_shell *shell)
{
	const int count = (m + 1) / 2, values = b ? 5 : 3;
	nb_cuda_buffer<nb_mesh_axis> axis;
	nb_mesh_axis *host = (nb_mesh_axis *)malloc((size_t)m * sizeof *host);
	double *part = (double *)malloc((size_t)count * values * BLOCKS * sizeof *part);
	int status = host && part ? (int)NB_OK : (int)NB_ENOMEM;
	if (!status) {
		nb_mesh_axes(m, order, host);
		status = nb_mesh_send_table(host, (size_t)m, axis);
	}
	if (!status) {
		const shell_job job = {m, count, values, axis.ptr, *a, b ? *b : *a};
		status = b ? sum_shells<5>(job, part) : sum_shells<3>(job, part);
	}
	for (int k = 0; !status && k < count; k++) {
		double sum[5] = {};
		for (int block = 0; block < BLOCKS; block++)
			for (int v = 0; v < values; v++)
				sum[v] += part[((size_t)block * count + k) * values + v];
		shell[k].modes = sum[0];
		shell[k].distance = sum[1];
		shell[k].power[0] = sum[2];
		shell[k].power[1] = sum[3];
		shell[k].cross = sum[4];
	}
	free(host);
	free(part);
	return status;
}
