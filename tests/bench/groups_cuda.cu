/* groups_cuda - friends of friends on the device, in a periodic box.
 *
 *   groups_cuda                     the cases of the table in tests/bench/results/groups-*.tsv
 *   groups_cuda MODEL N B [REPS]    one case; MODEL is uniform, or clumps: half of the bodies in 2,000 Gaussian clumps
 *
 * Each case is checked before it is timed: the groups of 20 bodies or more are those of the CPU.
 * Times are medians in ms, from positions that are on the device in random order to the column of groups that is there;
 * "bytes" is the memory at most, beside positions and the column, for each body. */
#include <algorithm>
#include <chrono>
#include <vector>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/groups/groups.h"
#include "tests/bench/device.cuh"

enum { CLUMPS = 2000, LEAST = 20 };

struct test {
	const char *model;
	size_t n;
	double b; /* of the mean distance */
	int reps;
};

static double uniform(uint64_t &state)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* In a box of edge 1. */
static std::vector<double> make(const struct test &t)
{
	std::vector<double> pos(3 * t.n);
	const bool clumped = strcmp(t.model, "clumps") == 0;
#pragma omp parallel for
	for (size_t i = 0; i < t.n; i++) {
		uint64_t state = i * 0xd1342543de82ef95u + 12345, clump = (i / 2 % CLUMPS) * 0xd1342543de82ef95u + 99;
		for (int k = 0; k < 3; k++) {
			pos[3 * i + k] = uniform(state);
			if (!clumped || i % 2)
				continue;
			const double radius = 0.002 * sqrt(-2 * log(1 - pos[3 * i + k]));
			const double x = uniform(clump) + radius * cos(6.283185307179586 * uniform(state));
			pos[3 * i + k] = x - floor(x);
		}
	}
	return pos;
}

static bool run(const struct test &t)
{
	const double length = t.b / cbrt((double)t.n);
	const std::vector<double> pos = make(t);
	std::vector<uint32_t> want(t.n), got(t.n);
	const struct nb_groups_job on_cpu = {t.n, pos.data(), nullptr, nullptr, 3, length, 1, LEAST};
	struct nb_groups_job job = on_cpu;
	struct nb_groups cpu, groups;
	uint32_t *group;
	job.pos = upload(pos);
	TRY(cudaMalloc((void **)&group, t.n * sizeof *group));
	TRY(cudaMemset(group, 0xff, t.n * sizeof *group));
	const auto begin = std::chrono::steady_clock::now();
	DO(nb_groups_find_cpu(&on_cpu, want.data(), &cpu));
	const std::chrono::duration<double, std::milli> by_cpu = std::chrono::steady_clock::now() - begin;
	DO(nb_groups_find_cuda(&job, group, &groups));
	TRY(cudaMemcpy(got.data(), group, t.n * sizeof *group, cudaMemcpyDeviceToHost));
	const bool good = got == want && cpu.count == groups.count;
	const size_t count = groups.count, largest = count ? groups.begin[1] : 0;
	nb_groups_free(&cpu);
	nb_groups_free(&groups);
	std::vector<double> ms;
	for (int rep = 0; rep < t.reps; rep++) {
		TRY(cudaDeviceSynchronize());
		const auto start = std::chrono::steady_clock::now();
		DO(nb_groups_find_cuda(&job, group, &groups));
		TRY(cudaDeviceSynchronize());
		ms.push_back(
			std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
		nb_groups_free(&groups);
	}
	std::sort(ms.begin(), ms.end());
	printf("%s\t%zu\t%g\t%zu\t%zu\t%.3f\t%.3f\t%.1f\t%.1f\n", t.model, t.n, t.b, count, largest, ms[ms.size() / 2],
		ms[0], by_cpu.count(), (double)nb_cuda_most(0) / (double)t.n);
	fflush(stdout);
	if (!good)
		fprintf(stderr, "groups_cuda: %s %zu: the groups are not those of the CPU\n", t.model, t.n);
	TRY(cudaFree((void *)(uintptr_t)job.pos));
	TRY(cudaFree(group));
	return good;
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	static const struct test table[] = {
		{"uniform", 1000000, 0.2, 31},
		{"clumps", 1000000, 0.2, 31},
		{"uniform", 10000000, 0.2, 21},
		{"clumps", 10000000, 0.2, 21},
		{"uniform", 10000000, 0.8, 11},
		{"uniform", 10000000, 1.2, 11},
		{"uniform", 10000000, 3, 11},
		{"clumps", 10000000, 3, 11},
		{"uniform", 1 << 26, 0.2, 7},
		{"clumps", 1 << 26, 0.2, 7},
	};
	bool good = true;
	printf("model\tn\tb\tgroups\tlargest\tms\tleast_ms\tcpu_ms\tbytes\n");
	if (argc > 3) {
		good = run({argv[1], (size_t)strtod(argv[2], nullptr), atof(argv[3]), argc > 4 ? atoi(argv[4]) : 11});
	} else {
		for (const struct test &t : table)
			good &= run(t);
	}
	return good ? 0 : 1;
}
