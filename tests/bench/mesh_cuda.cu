/* mesh_cuda - the stages of a power spectrum on the device.
 *
 *   mesh_cuda                          the cases of the table
 *   mesh_cuda M N ORDER [clumps]       one case, e.g. 1024 134217728 4
 *
 * Bodies in random order, uniform, or half of them in 2000 clumps, on an interlaced mesh.  A case is checked before it
 * is timed: the power of random bodies up to an eighth of the Nyquist frequency is their shot noise, within 4 times its
 * scatter and the images of the nearest cell, and clumps have more.  Then median of 5 calls, each of which waits for
 * the device; inputs are resident, all else is in the time.  One TSV line a case. */
#include <algorithm>
#include <chrono>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mesh/mesh.h"
#include "tests/bench/device.cuh"

enum { CALLS = 5, CLUMPS = 2000, STAGES = 4 };

static __device__ double random_part(size_t i)
{
	unsigned long long z = (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static __global__ void make_kernel(size_t n, bool clumps, double *pos)
{
	const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
	for (size_t c = 0; i < n && c < 3; c++) {
		const double x = random_part(3 * i + c);
		const size_t clump = (size_t)(CLUMPS * random_part(3 * (n + i)));
		pos[3 * i + c] = clumps && i % 2 ? random_part(6 * n + 3 * clump + c) + 0.004 * (x - 0.5) : x;
	}
}

static double now(void)
{
	TRY(cudaDeviceSynchronize());
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool run(int m, size_t n, int order, bool clumps, const char *device)
{
	double *pos;
	void *mesh[2];
	std::vector<nb_mesh_shell> shell((size_t)(m + 1) / 2);
	std::vector<double> took[STAGES];
	TRY(cudaMalloc((void **)&pos, 3 * n * sizeof *pos));
	for (void *&p : mesh)
		TRY(cudaMalloc(&p, nb_mesh_bytes(m)));
	make_kernel<<<(unsigned)((n + 255) / 256), 256>>>(n, clumps, pos);
	const struct nb_mesh_paint paint = {n, pos, nullptr, 1, nb_mesh_unit((double)n), 1, m, order};
	const struct nb_mesh_modes modes = {(double *)mesh[0], (double *)mesh[1], 1 / (double)n};
	for (int call = 0; call <= CALLS; call++) {
		double at[STAGES];
		at[0] = now();
		DO(nb_mesh_paint_cuda(&paint, mesh[0], mesh[1]));
		at[1] = now();
		for (void *p : mesh)
			DO(nb_mesh_transform_cuda(m, paint.unit, p));
		at[2] = now();
		DO(nb_mesh_shells_cuda(m, order, &modes, nullptr, shell.data()));
		at[3] = now();
		for (int k = 0; call && k < STAGES; k++)
			took[k].push_back(1e3 * (k < 3 ? at[k + 1] - at[k] : at[3] - at[0]));
	}
	double sum = 0, count = 0;
	for (int k = 1; k < m / 16; k++) {
		sum += shell[k].power[0];
		count += shell[k].modes;
	}
	const double noise = sum / count * (double)n, scatter = sqrt(2 / count);
	printf("%d\t%zu\t%d\t%s", m, n, order, clumps ? "clumps" : "uniform");
	for (std::vector<double> &t : took) {
		std::sort(t.begin(), t.end());
		printf("\t%.3f", t[CALLS / 2]);
	}
	printf("\t%.5f\t%s\n", noise, device);
	fflush(stdout);
	for (void *p : {mesh[0], mesh[1], (void *)pos})
		TRY(cudaFree(p));
	if (clumps ? noise > 2 : fabs(noise - 1) < 4 * scatter + 2e-3)
		return true;
	fprintf(stderr, "mesh_cuda: the power is not that of these bodies\n");
	return false;
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	cudaDeviceProp device;
	TRY(cudaGetDeviceProperties(&device, 0));
	bool good = true;
	printf("cells\tn\torder\tbodies\tpaint_ms\ttransform_ms\tshells_ms\tall_ms\tpower\tdevice\n");
	if (argc > 3)
		return run(atoi(argv[1]), (size_t)strtoull(argv[2], nullptr, 10), atoi(argv[3]),
			       argc > 4 && !strcmp(argv[4], "clumps"), device.name)
			       ? 0
			       : 1;
	for (int order = 4; order > 0; order--)
		for (int clumps = 0; clumps < 2; clumps++)
			good &= run(1024, (size_t)1 << 27, order, clumps, device.name);
	good &= run(512, (size_t)1 << 24, 4, false, device.name);
	good &= run(256, (size_t)1 << 21, 4, false, device.name);
	return good ? 0 : 1;
}
