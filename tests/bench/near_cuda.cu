/* near_cuda - our near field on the device, in the cases of Table III of Shan & Lei 2012, and others.
 *
 *   near_cuda                                  the table: 2-D, level 7, 8 .. 512 bodies a box, and some in 3-D
 *   near_cuda DIM LEVEL BODIES PRECISION       one row: all kernels
 *
 * Exactly so many bodies in each box, at random places in it, softening a hundredth of a box; masses equal, or spread
 * over a factor of 3.  Each kernel is checked first, outputs poisoned, against the oracle in 16 boxes (rms error at
 * most 5e-6, in f64 1e-12: forces of opposite sides cancel, close pairs do not), then timed: calls between two events,
 * inputs resident, median of 5.  One TSV line a case, with a header; warp/this tells what it gains to compute each pair
 * once.  The paper's own strategies: `papers cuda tests/bench/papers/shan.tsv`. */
#include <algorithm>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/gravity/gravity.h"
#include "kernels/walk_gpu/walk_gpu.h"
#include "tests/bench/device.cuh"
#include "tests/unit/random.h"

enum { SAMPLES = 16, REPEATS = 5 };
static const char *const precision_name[] = {"f32", "mixed", "f64"};

struct system_ {
	int dim, nneighbour;
	size_t nbox, n, each;
	double eps;
	std::vector<double> pos, mass, truth;
	std::vector<uint64_t> first;
	std::vector<int32_t> neighbour;
};

static system_ make(int dim, int level, size_t each, bool equal)
{
	system_ s;
	random_state = 42 + each;
	s.dim = dim, s.nneighbour = dim == 2 ? 8 : 26;
	s.nbox = (size_t)1 << dim * level, s.each = each, s.n = s.nbox * each;
	const double side = ldexp(1, -level);
	s.eps = side / 100;
	s.pos.resize(3 * s.n), s.mass.resize(s.n);
	std::vector<uint64_t> key(s.n);
	for (size_t i = 0; i < s.n; i++) {
		const size_t box = i / each;
		for (int c = 0; c < 3; c++) {
			size_t cell = 0; /* x is the highest bit of each group of the key */
			for (int l = 0; l < level && c < dim; l++)
				cell |= (box >> (dim * l + dim - 1 - c) & 1) << l;
			s.pos[3 * i + c] = c < dim ? ((double)cell + uniform()) * side : 0;
		}
		s.mass[i] = (equal ? 1 : 0.5 + uniform()) / (double)s.n;
		key[i] = (uint64_t)box << ((dim == 2 ? 2 * NB_MORTON_BITS_2D : 3 * NB_MORTON_BITS_3D) - dim * level);
	}
	s.first.resize(s.nbox + 1), s.neighbour.resize(s.nbox * s.nneighbour);
	if (nb_boxes_build_cpu(s.n, key.data(), dim, level, s.first.data(), s.neighbour.data()))
		exit(1);
	/* the truth in some boxes */
	s.truth.resize(3 * each * SAMPLES);
	for (size_t k = 0; k < SAMPLES; k++) {
		const size_t box = k * (s.nbox - 1) / (SAMPLES - 1);
		std::vector<double> pos, mass;
		std::vector<size_t> target;
		auto take = [&](size_t b) {
			pos.insert(pos.end(), s.pos.begin() + 3 * s.first[b], s.pos.begin() + 3 * s.first[b + 1]);
			mass.insert(mass.end(), s.mass.begin() + s.first[b], s.mass.begin() + s.first[b + 1]);
		};
		take(box);
		for (size_t i = 0; i < each; i++)
			target.push_back(i);
		for (int q = 0; q < s.nneighbour; q++)
			if (s.neighbour[box * s.nneighbour + q] >= 0)
				take((size_t)s.neighbour[box * s.nneighbour + q]);
		struct nb_gravity g = {mass.size(), pos.data(), nullptr, mass.data(), nullptr, nullptr, nullptr, s.eps,
			1, NB_F64, NB_PLUMMER, nullptr};
		if (nb_gravity_ref(&g, target.data(), each, &s.truth[3 * each * k], nullptr, nullptr))
			exit(1);
	}
	return s;
}

/* All kernels; whether all are as exact as they should be. */
static bool run(int dim, int level, size_t each, enum nb_precision precision, bool equal, const char *device)
{
	const system_ s = make(dim, level, each, equal);
	double *const pos = upload(s.pos), *const mass = upload(s.mass), *const acc = upload(s.pos);
	uint64_t *const first = upload(s.first);
	int32_t *const neighbour = upload(s.neighbour);
	const struct nb_gravity g = {
		s.n, pos, nullptr, mass, acc, nullptr, nullptr, s.eps, 1, precision, NB_PLUMMER, nullptr};
	const struct nb_boxes boxes = {s.nbox, first, neighbour, s.nneighbour};
	cudaEvent_t begin, end;
	TRY(cudaEventCreate(&begin));
	TRY(cudaEventCreate(&end));
	bool good = true;
	double twice = NAN;
	for (enum nb_near_kernel kernel : {NB_NEAR_WARP, NB_NEAR_N3, NB_NEAR_AUTO}) {
		struct nb_gravity_count count = {0, 0, 0, 0};
		TRY(cudaMemset(acc, 0xff, 3 * s.n * sizeof(double)));
		const int status = nb_gravity_near_cuda_with(&g, &boxes, kernel, &count);
		if (status) {
			fprintf(stderr, "near_cuda: %s: %s\n", nb_status_text(status), nb_cuda_error_text);
			exit(1);
		}
		std::vector<double> got(3 * s.n);
		TRY(cudaMemcpy(got.data(), acc, got.size() * sizeof(double), cudaMemcpyDeviceToHost));
		double wrong = 0, size = 0, sum = 0;
		for (double a : got)
			sum += fabs(a); /* a NaN anywhere shows */
		for (size_t q = 0; q < SAMPLES; q++)
			for (size_t i = 0; i < 3 * each; i++) {
				const double want = s.truth[3 * each * q + i],
					     is = got[3 * s.first[q * (s.nbox - 1) / (SAMPLES - 1)] + i];
				wrong += (is - want) * (is - want), size += want * want;
			}
		const double rms = sqrt(wrong / size) + 0 * sum;
		good &= rms <= (precision == NB_F64 ? 1e-12 : 5e-6);
		std::vector<float> ms;
		for (int r = 0; r < REPEATS; r++) {
			float x;
			TRY(cudaEventRecord(begin));
			if (nb_gravity_near_cuda_with(&g, &boxes, kernel, nullptr))
				exit(1);
			TRY(cudaEventRecord(end));
			TRY(cudaEventSynchronize(end));
			TRY(cudaEventElapsedTime(&x, begin, end));
			ms.push_back(x);
		}
		std::sort(ms.begin(), ms.end());
		const double median = ms[REPEATS / 2];
		if (kernel == NB_NEAR_WARP)
			twice = median;
		printf("%s\t%s\t%d\t%d\t%zu\t%s\t%zu\t%.4f\t%.3e\t%.3f\t%.2e\t%s\n", nb_near_kernel_name(kernel),
			precision_name[precision], dim, level, each, equal ? "equal" : "spread", s.n, median,
			(double)count.p2p / median * 1e3, twice / median, rms, device);
		fflush(stdout);
	}
	if (!good)
		fprintf(stderr, "near_cuda: error too large\n");
	TRY(cudaEventDestroy(begin));
	TRY(cudaEventDestroy(end));
	for (void *p : {(void *)pos, (void *)mass, (void *)acc, (void *)first, (void *)neighbour})
		TRY(cudaFree(p));
	return good;
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	cudaDeviceProp device;
	TRY(cudaGetDeviceProperties(&device, 0));
	printf("kernel\tprecision\tdim\tlevel\tbodies/box\tmasses\tn\tms\tinteractions/s\twarp/this\trms\tdevice\n");
	if (argc > 4) {
		const int precision = strcmp(argv[4], "f64") == 0     ? NB_F64
				      : strcmp(argv[4], "mixed") == 0 ? NB_MIXED
								      : NB_F32;
		return run(atoi(argv[1]), atoi(argv[2]), (size_t)strtoull(argv[3], nullptr, 10),
			       (enum nb_precision)precision, false, device.name)
			       ? 0
			       : 1;
	}
	bool good = true;
	for (size_t each = 8; each <= 512; each *= 2)
		good &= run(2, 7, each, NB_F32, false, device.name);
	good &= run(2, 7, 512, NB_F32, true, device.name);
	good &= run(2, 6, 1024, NB_F32, false, device.name);
	for (int precision = NB_MIXED; precision <= NB_F64; precision++)
		for (size_t each : {16, 64, 512})
			good &= run(2, 7, each, (enum nb_precision)precision, false, device.name);
	for (size_t each : {8, 64, 256})
		good &= run(3, 4, each, NB_F32, false, device.name);
	return good ? 0 : 1;
}
