/* active_cuda - forces on some of the bodies on the device, as nb-force -m direct computes them for block steps.
 *
 *   active_cuda              the cases of the table
 *   active_cuda N ACTIVE     one case
 *
 * Uniform cubes, eps 0.01; accelerations and jerks in f64, of bodies that are spread over all rows.
 * Each case is checked first, outputs poisoned, against the oracle on up to 64 of the active bodies (rms of the error
 * over rms of the acceleration; at most 1e-13), then timed: which rows are active, and their forces, median of 31
 * calls, each of which waits for the device.  all_ms is the time of the forces on all bodies, in which each pair is
 * computed once. */
#include <algorithm>
#include <chrono>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gravity/gravity.h"
#include "kernels/order/order.h"
#include "tests/bench/device.cuh"
#include "tests/unit/random.h"

enum { CHECKED = 64, CALLS = 31 };

template <class Call> static double median_ms(Call call)
{
	std::vector<double> ms;
	for (int k = 0; k < CALLS + 2; k++) { /* the first two warm it up */
		const auto begin = std::chrono::steady_clock::now();
		call();
		TRY(cudaDeviceSynchronize());
		const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
		if (k > 1)
			ms.push_back(took.count());
	}
	std::sort(ms.begin(), ms.end());
	return ms[CALLS / 2];
}

/* Of the active bodies that are checked. */
static double error_of(struct nb_gravity g, const std::vector<size_t> &active, const std::vector<double> &got)
{
	std::vector<size_t> target;
	for (size_t k = 0; k < active.size() && k < CHECKED; k++)
		target.push_back(active[active.size() <= CHECKED ? k : k * active.size() / CHECKED]);
	std::vector<double> want(3 * target.size());
	double wrong = 0, size = 0;
	DO(nb_gravity_ref(&g, target.data(), target.size(), want.data(), nullptr, nullptr));
	for (size_t k = 0; k < want.size(); k++) {
		const double have = got[3 * target[k / 3] + k % 3];
		wrong += (have - want[k]) * (have - want[k]), size += want[k] * want[k];
	}
	return sqrt(wrong / size);
}

/* Whether it is as exact as it should be. */
static bool run(size_t n, size_t count, const char *device)
{
	std::vector<double> pos(3 * n), vel(3 * n), mass(n), acc(3 * n);
	std::vector<unsigned char> mark(n);
	std::vector<size_t> active;
	for (double &x : pos)
		x = uniform();
	for (double &v : vel)
		v = uniform() - 0.5;
	for (double &m : mass)
		m = (0.5 + uniform()) / (double)n;
	for (size_t i = 0; i < n; i++) {
		mark[i] = (i + 1) * count / n != i * count / n;
		if (mark[i])
			active.push_back(i);
	}
	struct nb_gravity g = {n, upload(pos), upload(vel), upload(mass), upload(acc), nullptr, upload(acc), 0.01, 1,
		NB_F64, NB_PLUMMER, nullptr};
	const unsigned char *d_mark = upload(mark);
	uint32_t *row;
	TRY(cudaMalloc((void **)&row, n * sizeof *row));
	const auto some = [&] {
		struct nb_gravity_points points = {0, nullptr, row, nullptr, g.acc, nullptr, nullptr, g.jerk, 1};
		DO(nb_marked_rows_cuda(n, d_mark, row, &points.n));
		DO(nb_gravity_points_cuda(&g, &points));
	};
	TRY(cudaMemset(g.acc, 0xff, 3 * n * sizeof(double)));
	some();
	TRY(cudaMemcpy(acc.data(), g.acc, acc.size() * sizeof(double), cudaMemcpyDeviceToHost));
	const double rms = error_of(
		{n, pos.data(), nullptr, mass.data(), nullptr, nullptr, nullptr, 0.01, 1, NB_F64, NB_PLUMMER, nullptr},
		active, acc);
	const double ms = median_ms(some), all = median_ms([&] { DO(nb_gravity_direct_cuda(&g, nullptr)); });
	printf("%zu\t%zu\t%.4f\t%.3e\t%.4f\t%.2e\t%s\n", n, count, ms, (double)n * (double)count / ms * 1e3, all, rms,
		device);
	fflush(stdout);
	for (const void *p : {(const void *)g.pos, (const void *)g.vel, (const void *)g.mass, (const void *)g.acc,
		     (const void *)g.jerk, (const void *)d_mark, (const void *)row})
		TRY(cudaFree((void *)p));
	if (!(rms <= 1e-13)) {
		fprintf(stderr, "active_cuda: error too large\n");
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	cudaDeviceProp device;
	TRY(cudaGetDeviceProperties(&device, 0));
	bool good = true;
	random_state = 42;
	printf("n\tactive\tms\tinteractions/s\tall_ms\trms\tdevice\n");
	if (argc > 2)
		return run((size_t)strtoull(argv[1], nullptr, 10), (size_t)strtoull(argv[2], nullptr, 10), device.name)
			       ? 0
			       : 1;
	for (const size_t n : {(size_t)2000, (size_t)16384, (size_t)100000}) {
		const size_t counts[] = {1, 4, 32, 256, 1024, 1025, 8192, n / 2};
		for (const size_t count : counts)
			if (count <= n / 2)
				good &= run(n, count, device.name);
	}
	return good ? 0 : 1;
}
