/* direct_cuda - the direct sum on the device: rate and error of every kernel and precision.
 *
 *   direct_cuda                                             the cases of the table
 *   direct_cuda KERNEL PRECISION N [MASSES [OUTPUTS]]       one case, e.g. symmetric f32 1048576 equal acc+pot
 *
 * Plummer spheres in Henon units in random order, eps 0.01; masses equal, or spread over a factor of 3.  Each case is
 * checked first, outputs poisoned, against the oracle on 256 bodies (rms of the error over rms of the acceleration; at
 * most 1e-6, in f64 1e-12), then timed: calls queued one after the other between two events, inputs resident,
 * median of 5 such batches; so a time holds everything a call does on the device.  n (n - 1) interactions are counted,
 * of which the symmetric kernel evaluates half.  One TSV line a case, with a header. */
#include <algorithm>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/gravity/gravity.h"
#include "tests/bench/device.cuh"
#include "tests/unit/random.h"

enum { TARGETS = 256, BATCHES = 5 };
static const char *const precision_name[] = {"f32", "mixed", "f64"};
static const char *const outputs_name[] = {"acc", "acc+pot", "acc+jerk", "acc+pot+jerk"};

struct test {
	enum nb_direct_kernel kernel;
	enum nb_precision precision;
	size_t n;
	bool equal;
	int outputs; /* 1 pot, 2 jerk */
};

/* Bodies and the truth about some of them, kept from case to case. */
struct system_ {
	size_t n = 0;
	bool equal = false;
	std::vector<double> pos, vel, mass, truth;
	std::vector<size_t> target;
	double *d_pos = nullptr, *d_vel = nullptr, *d_mass = nullptr, *d_out[3] = {};

	void make(size_t count, bool equal_masses)
	{
		if (n == count && equal == equal_masses)
			return;
		for (double *p : {d_pos, d_vel, d_mass, d_out[0], d_out[1], d_out[2]})
			TRY(cudaFree(p));
		n = count;
		equal = equal_masses;
		random_state = 42 + n;
		pos.resize(3 * n), vel.resize(3 * n), mass.resize(n);
		for (size_t i = 0; i < n; i++) {
			const double a = 0.5890486225480862, most = pow(1 + a * a / 400, -1.5); /* r < 20 */
			const double r = a / sqrt(pow(most * uniform(), -2.0 / 3) - 1), z = 2 * uniform() - 1;
			const double s = sqrt(1 - z * z), phi = 6.283185307179586 * uniform();
			pos[3 * i] = r * s * cos(phi), pos[3 * i + 1] = r * s * sin(phi), pos[3 * i + 2] = r * z;
			for (int c = 0; c < 3; c++)
				vel[3 * i + c] = uniform() - 0.5;
			mass[i] = (equal ? 1 : 0.5 + uniform()) / (double)n;
		}
		d_pos = upload(pos), d_vel = upload(vel), d_mass = upload(mass);
		for (double *&p : d_out)
			p = upload(pos);
		target.resize(std::min<size_t>(n, TARGETS));
		for (size_t k = 0; k < target.size(); k++)
			target[k] = k * n / target.size();
		truth.resize(3 * target.size());
		struct nb_gravity g = {n, pos.data(), nullptr, mass.data(), nullptr, nullptr, nullptr, 0.01, 1, NB_F64,
			NB_PLUMMER, nullptr};
		if (nb_gravity_ref(&g, target.data(), target.size(), truth.data(), nullptr, nullptr))
			exit(1);
	}
};

/* Whether it is as exact as it should be. */
static bool run(system_ &s, const struct test &t, const char *device)
{
	s.make(t.n, t.equal);
	struct nb_gravity g = {t.n, s.d_pos, t.outputs & 2 ? s.d_vel : nullptr, s.d_mass, s.d_out[0],
		t.outputs & 1 ? s.d_out[1] : nullptr, t.outputs & 2 ? s.d_out[2] : nullptr, 0.01, 1, t.precision,
		NB_PLUMMER, nullptr};
	TRY(cudaMemset(s.d_out[0], 0xff, 3 * t.n * sizeof(double)));
	const int status = nb_gravity_direct_cuda_with(&g, t.kernel, nullptr);
	if (status) {
		fprintf(stderr, "direct_cuda: %s: %s\n", nb_status_text(status), nb_cuda_error_text);
		exit(1);
	}
	std::vector<double> acc(3 * t.n);
	TRY(cudaMemcpy(acc.data(), s.d_out[0], acc.size() * sizeof(double), cudaMemcpyDeviceToHost));
	double wrong = 0, size = 0, sum = 0;
	for (double a : acc)
		sum += fabs(a); /* a NaN anywhere shows */
	for (size_t k = 0; k < s.target.size(); k++)
		for (int c = 0; c < 3; c++) {
			const double want = s.truth[3 * k + c], got = acc[3 * s.target[k] + c];
			wrong += (got - want) * (got - want), size += want * want;
		}
	const double rms = sqrt(wrong / size) + 0 * sum;

	int *d_status;
	TRY(cudaMalloc((void **)&d_status, sizeof *d_status));
	cudaEvent_t begin, end;
	TRY(cudaEventCreate(&begin));
	TRY(cudaEventCreate(&end));
	auto batch = [&](int calls) {
		TRY(cudaEventRecord(begin));
		for (int c = 0; c < calls; c++)
			if (nb_gravity_direct_cuda_queue(&g, t.kernel, d_status))
				exit(1);
		TRY(cudaEventRecord(end));
		TRY(cudaEventSynchronize(end));
		float ms;
		TRY(cudaEventElapsedTime(&ms, begin, end));
		return ms / (float)calls;
	};
	const float once = batch(3);
	const int calls = std::max(1, std::min(50, (int)(20 / once)));
	std::vector<float> ms;
	for (int b = 0; b < BATCHES; b++)
		ms.push_back(batch(calls));
	std::sort(ms.begin(), ms.end());
	const double median = ms[BATCHES / 2];
	printf("%s\t%s\t%s\t%s\t%zu\t%.4f\t%.3e\t%.2e\t%s\n", nb_direct_kernel_name(t.kernel),
		precision_name[t.precision], outputs_name[t.outputs], t.equal ? "equal" : "spread", t.n, median,
		(double)t.n * (double)(t.n - 1) / median * 1e3, rms, device);
	fflush(stdout);
	TRY(cudaEventDestroy(begin));
	TRY(cudaEventDestroy(end));
	TRY(cudaFree(d_status));
	if (!(rms <= (t.precision == NB_F64 ? 1e-12 : 1e-6))) {
		fprintf(stderr, "direct_cuda: error too large\n");
		return false;
	}
	return true;
}

template <class Name> static int find(const char *what, Name name)
{
	for (int k = 0; name(k); k++)
		if (strcmp(what, name(k)) == 0)
			return k;
	fprintf(stderr, "direct_cuda: what is '%s'?\n", what);
	exit(2);
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	cudaDeviceProp device;
	TRY(cudaGetDeviceProperties(&device, 0));
	system_ s;
	bool good = true;
	printf("kernel\tprecision\toutputs\tmasses\tn\tms\tinteractions/s\trms\tdevice\n");
	if (argc > 3) {
		const struct test one = {(enum nb_direct_kernel)find(argv[1],
						 [](int k) { return nb_direct_kernel_name((enum nb_direct_kernel)k); }),
			(enum nb_precision)find(argv[2], [](int k) { return k < 3 ? precision_name[k] : nullptr; }),
			(size_t)strtoull(argv[3], nullptr, 10), argc > 4 && strcmp(argv[4], "equal") == 0,
			argc > 5 ? find(argv[5], [](int k) { return k < 4 ? outputs_name[k] : nullptr; }) : 0};
		return run(s, one, device.name) ? 0 : 1;
	}
	for (int equal = 0; equal < 2; equal++) {
		for (int bits = 10; bits <= 20; bits++)
			good &= run(s, {NB_DIRECT_SYMMETRIC, NB_F32, (size_t)1 << bits, (bool)equal, 0}, device.name);
		for (size_t n : {(size_t)1 << 14, (size_t)1 << 16, (size_t)1 << 18})
			for (int precision = NB_F32; precision <= NB_F64; precision++)
				for (int kernel = NB_DIRECT_TILED; kernel <= NB_DIRECT_SYMMETRIC; kernel++)
					good &= run(s,
						{(enum nb_direct_kernel)kernel, (enum nb_precision)precision, n,
							(bool)equal, 0},
						device.name);
	}
	for (int precision = NB_F32; precision <= NB_F64; precision++)
		for (int outputs = 1; outputs < 4; outputs++)
			good &= run(s,
				{NB_DIRECT_SYMMETRIC, (enum nb_precision)precision, (size_t)1 << 17, false, outputs},
				device.name);
	return good ? 0 : 1;
}
