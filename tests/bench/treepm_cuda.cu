/* treepm_cuda - forces in a periodic box on the device.
 *
 *   treepm_cuda                     the cases of the table
 *   treepm_cuda N [CALLS [BODIES]]  one case, e.g. 268435456 3 lattice
 *   treepm_cuda N CALLS BODIES LIST the same on one device, and then on those of the list, e.g. 0,1: the forces are the
 *                                   same bytes, and one is timed against all
 *
 * Bodies: "uniform", in random order; "lattice", displaced by a tenth of the spacing, rms, in the order of the lattice;
 * "clumps", half of all in 2000 of them.  Each case is checked before it is timed: the mesh gives less of the forces
 * with a split of 1.75 than with 1.3 cells, and the sums are the same to 1e-4 of their rms; pairs in mixed precision
 * change them by less than 1e-6.  Then the median of CALLS
 * calls, each of which waits for the device, and of the stages of the mesh; inputs are resident, all else is in the
 * time.  One TSV line a case. */
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend/backend.h"
#include "kernels/mesh/mesh.h"
#include "kernels/team/team.h"
#include "kernels/treepm/treepm.h"
#include "tests/bench/device.cuh"

enum { CLUMPS = 2000, STAGES = 4 };
enum sort { UNIFORM, LATTICE, BODY_CLUMPS };
static const char *const name_of[] = {"uniform", "lattice", "clumps"};

static __device__ double random_part(size_t i)
{
	unsigned long long z = (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static __global__ void make_kernel(size_t n, enum sort sort, size_t side, double *pos, double *mass)
{
	const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
	const size_t at[3] = {i / side / side, i / side % side, i % side};
	if (i >= n)
		return;
	mass[i] = 1 / (double)n;
	for (size_t c = 0; c < 3; c++) {
		double x = random_part(3 * i + c);
		if (sort == LATTICE)
			x = ((double)at[c] + 0.5 + 0.35 * (x - 0.5)) / (double)side;
		else if (sort == BODY_CLUMPS && i % 2)
			x = random_part(6 * n + 3 * (size_t)(CLUMPS * random_part(3 * (n + i))) + c) +
			    0.01 * (x - 0.5) * random_part(9 * n + i);
		pos[3 * i + c] = x < 0 ? x + 1 : x < 1 ? x : x - 1;
	}
}

static __global__ void compare_kernel(size_t n, const double *a, const double *b, double *sums)
{
	double square = 0, apart = 0;
	for (size_t i = (size_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256) {
		square += a[i] * a[i];
		apart += (a[i] - b[i]) * (a[i] - b[i]);
	}
	atomicAdd(&sums[0], square);
	atomicAdd(&sums[1], apart);
}

/* A sum over the bits of all numbers and their places. */
static __global__ void hash_kernel(size_t n, const double *a, unsigned long long *sum)
{
	unsigned long long all = 0;
	for (size_t i = (size_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256) {
		unsigned long long z = (unsigned long long)__double_as_longlong(a[i]) ^ (i + 1) * 0x9e3779b97f4a7c15ull;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		all += z ^ z >> 27;
	}
	atomicAdd(sum, all);
}

static unsigned long long hash_of(size_t n, const double *a)
{
	unsigned long long *sum, host;
	TRY(cudaMalloc((void **)&sum, sizeof host));
	TRY(cudaMemset(sum, 0, sizeof host));
	hash_kernel<<<1024, 256>>>(n, a, sum);
	TRY(cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost));
	TRY(cudaFree(sum));
	return host;
}

static double now(void)
{
	TRY(cudaDeviceSynchronize());
	return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Relative rms difference of two ways. */
static double difference(
	struct nb_gravity g, const struct nb_treepm *how, enum nb_precision precision, const struct nb_treepm *other)
{
	double *acc, *sums, host[2];
	TRY(cudaMalloc((void **)&acc, 3 * g.n * sizeof *acc));
	TRY(cudaMalloc((void **)&sums, sizeof host));
	TRY(cudaMemset(sums, 0, sizeof host));
	DO(nb_treepm_cuda(&g, 1, how, nullptr, nullptr, nullptr));
	const double *const first = g.acc;
	g.acc = acc;
	g.precision = precision;
	DO(nb_treepm_cuda(&g, 1, other, nullptr, nullptr, nullptr));
	compare_kernel<<<1024, 256>>>(3 * g.n, first, acc, sums);
	TRY(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
	TRY(cudaFree(acc));
	TRY(cudaFree(sums));
	return sqrt(host[1] / host[0]);
}

static double time_of(struct nb_gravity g, const struct nb_treepm *how, int calls, enum nb_precision precision)
{
	std::vector<double> all;
	g.precision = precision;
	for (int call = 0; call < calls; call++) {
		const double start = now();
		DO(nb_treepm_cuda(&g, 1, how, nullptr, nullptr, nullptr));
		all.push_back(now() - start);
	}
	std::sort(all.begin(), all.end());
	return all[all.size() / 2];
}

/* Milliseconds of the stages of the mesh. */
static void stages(const struct nb_gravity *g, const struct nb_treepm *how, double took[STAGES])
{
	const int m = how->mesh;
	double *mass, *field, at[STAGES + 1];
	const struct nb_mesh_paint paint = {g->n, g->pos, g->mass, 1, nb_mesh_unit(1), 1, m, how->order};
	const struct nb_mesh_poisson poisson = {m, how->order, 1, how->split / m};
	TRY(cudaMalloc((void **)&mass, nb_mesh_bytes(m)));
	TRY(cudaMalloc((void **)&field, nb_mesh_bytes(m)));
	const struct nb_mesh_gather gather = {g->n, g->pos, 1, m, how->order, field, nullptr, 0};
	for (int turn = 0; turn < 2; turn++) {
		at[0] = now();
		DO(nb_mesh_paint_cuda(&paint, mass, nullptr));
		at[1] = now();
		DO(nb_mesh_transform_cuda(m, paint.unit, mass));
		at[2] = now();
		DO(nb_mesh_field_cuda(&poisson, NB_MESH_ACC_X, mass, field));
		at[3] = now();
		DO(nb_mesh_gather_cuda(&gather, g->acc, 3));
		at[4] = now();
	}
	for (int k = 0; k < STAGES; k++)
		took[k] = at[k + 1] - at[k];
	TRY(cudaFree(mass));
	TRY(cudaFree(field));
}

/* Bodies, and room for forces, which are softened by 0.03 of the spacing. */
struct system_ {
	double *pos, *mass, *acc;
	struct nb_gravity g = {};

	system_(size_t n, enum sort sort)
	{
		const size_t side = (size_t)ceil(cbrt((double)n) - 1e-9);
		TRY(cudaMalloc((void **)&pos, 3 * n * sizeof *pos));
		TRY(cudaMalloc((void **)&mass, n * sizeof *mass));
		TRY(cudaMalloc((void **)&acc, 3 * n * sizeof *acc));
		make_kernel<<<(unsigned)((n + 255) / 256), 256>>>(n, sort, side, pos, mass);
		g.n = n, g.pos = pos, g.mass = mass, g.acc = acc, g.G = 1, g.eps = 0.03 / (double)side;
		g.softening = NB_SPLINE;
		g.precision = NB_F64;
	}
	~system_()
	{
		for (double *p : {pos, mass, acc})
			TRY(cudaFree(p));
	}
};

/* One device against those of the list, of which it is the first. */
static bool run_shared(size_t n, int calls, enum sort sort, const struct nb_device_list *list, const char *device)
{
	static const char *const precision[] = {"f64", "mixed"};
	char why[200];
	double one[2];
	unsigned long long hash[2];
	bool good = true;
	const struct nb_treepm how = nb_treepm_choose(n, 0);
	struct system_ of(n, sort);
	for (int k = 0; k < 2; k++) {
		one[k] = time_of(of.g, &how, calls, k ? NB_MIXED : NB_F64);
		hash[k] = hash_of(3 * n, of.acc);
	}
	require(nb_team_open(list->n, list->id, why, sizeof why) == NB_OK, "nb_team_open", why);
	printf("n\tbodies\tcells\tprecision\tdevices\tms\tms_shared\tspeed_up\tbytes\tdevice\n");
	for (int k = 0; k < 2; k++) {
		TRY(cudaMemset(of.acc, 0xff, 3 * n * sizeof *of.acc));
		const double all = time_of(of.g, &how, calls, k ? NB_MIXED : NB_F64);
		const bool same = hash_of(3 * n, of.acc) == hash[k];
		printf("%zu\t%s\t%d\t%s\t%d\t%.3f\t%.3f\t%.3f\t%s\t%s\n", n, name_of[sort], how.mesh, precision[k],
			list->n, one[k], all, one[k] / all, same ? "same" : "DIFFER", device);
		good &= same;
	}
	for (int k = 0; k < nb_team_size(); k++) {
		char line[300];
		DO(nb_team_report(k, line, sizeof line));
		fprintf(stderr, "%s\n", line);
	}
	return good;
}

static bool run(size_t n, int calls, enum sort sort, const char *device)
{
	double took[STAGES];
	const struct nb_treepm how = nb_treepm_choose(n, 0);
	const struct nb_treepm other = {how.mesh, 6, 1.75, 7};
	struct nb_gravity_count count = {0, 0, 0, 0};
	const struct system_ of(n, sort);
	const struct nb_gravity g = of.g;
	const double error = difference(g, &how, NB_F64, &other), rounded = difference(g, &how, NB_MIXED, &how);
	const double f64 = time_of(g, &how, calls, NB_F64), mixed = time_of(g, &how, calls, NB_MIXED);
	DO(nb_treepm_cuda(&g, 1, &how, nullptr, nullptr, &count));
	stages(&g, &how, took);
	printf("%zu\t%s\t%d\t%.3f\t%.1f\t%.3f\t%.1f", n, name_of[sort], how.mesh, f64, 1e-3 * (double)n / f64, mixed,
		1e-3 * (double)n / mixed);
	for (int k = 0; k < STAGES; k++)
		printf("\t%.3f", took[k]);
	printf("\t%.1f\t%.2g\t%.2g\t%s\n", (double)count.p2p / (double)n, error, rounded, device);
	fflush(stdout);
	if (error < 1e-4 && rounded < 1e-6)
		return true;
	fprintf(stderr, "treepm_cuda: the forces depend on the split or the precision\n");
	return false;
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	cudaDeviceProp device;
	struct nb_device_list list = {1, {0}};
	bool good = true;
	if (argc > 4) {
		char why[200] = "";
		const std::string name = std::string("cuda:") + argv[4];
		require(nb_device_list_read(name.c_str(), &list, why, sizeof why) == NB_OK && list.n > 1, argv[4],
			*why ? why : "want several devices");
		TRY(cudaSetDevice(list.id[0]));
	}
	TRY(cudaGetDeviceProperties(&device, list.id[0]));
	const size_t n = argc > 1 ? (size_t)strtoull(argv[1], nullptr, 10) : 0;
	const int calls = argc > 2 ? atoi(argv[2]) : 5;
	int sort = argc > 3 ? UNIFORM : LATTICE;
	while (argc > 3 && sort < BODY_CLUMPS && strcmp(name_of[sort], argv[3]) != 0)
		sort++;
	if (argc > 4)
		return run_shared(n, calls, (enum sort)sort, &list, device.name) ? 0 : 1;
	printf("n\tbodies\tcells\tf64_ms\tf64_million_s\tmixed_ms\tmixed_million_s\tpaint_ms\tmodes_ms\tfield_ms\t"
	       "gather_ms\tpairs\tsplits\tprecisions\tdevice\n");
	if (argc > 1)
		return run(n, calls, (enum sort)sort, device.name) ? 0 : 1;
	for (const int bits : {20, 24, 27, 28})
		good &= run((size_t)1 << bits, bits > 24 ? 3 : 7, LATTICE, device.name);
	good &= run((size_t)1 << 24, 5, UNIFORM, device.name);
	good &= run((size_t)1 << 24, 5, BODY_CLUMPS, device.name);
	return good ? 0 : 1;
}
