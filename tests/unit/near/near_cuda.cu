/* Neighbours on the device: all numbers are those of the CPU, bit by bit.  Exit 77 where there is no device.
 *   near_cuda N    instead: milliseconds for the 8 nearest of N bodies in a periodic box, uniform and half in clumps */
#include "kernels/near/near.h"
#include "tests/unit/device.cuh"
#include "tests/unit/near/sets.h"

#include <chrono>
#include <vector>

using std::vector;

template <class T> struct both {
	vector<T> cpu;
	device<T> cuda;
	explicit both(size_t n) : cpu(n), cuda(n)
	{
	}
	/* The bits of a NaN are nobody's business. */
	bool same()
	{
		const vector<T> got = cuda.host();
		bool all = true;
		for (size_t i = 0; i < cpu.size(); i++)
			all = all &&
			      (memcmp(&got[i], &cpu[i], sizeof(T)) == 0 || (got[i] != got[i] && cpu[i] != cpu[i]));
		return all;
	}
};

struct input {
	vector<double> pos, mass, vel;
	vector<uint64_t> id;
	explicit input(size_t n) : pos(3 * n), mass(n), vel(3 * n), id(n)
	{
	}
};

static void compare(const char *label, struct input &in, int dim, double box, int k, bool ids)
{
	const size_t n = in.mass.size(), many = n * (size_t)k;
	device<double> pos(in.pos), mass(in.mass), vel(in.vel);
	device<uint64_t> id(in.id);
	both<uint64_t> neighbour(many);
	both<double> distance(many), hsml(n), density(n), unbiased(n), vdisp(n);
	const struct nb_near_bodies here = {
		n, dim, box, in.pos.data(), in.mass.data(), in.vel.data(), ids ? in.id.data() : nullptr, {}};
	const struct nb_near_bodies there = {n, dim, box, pos.p, mass.p, vel.p, ids ? id.p : nullptr, {}};
	const struct nb_near_found to = {k, 5, neighbour.cpu.data(), distance.cpu.data(), hsml.cpu.data(),
		density.cpu.data(), k < 5 ? nullptr : unbiased.cpu.data(), vdisp.cpu.data()};
	const struct nb_near_found to_cuda = {k, 5, neighbour.cuda.p, distance.cuda.p, hsml.cuda.p, density.cuda.p,
		k < 5 ? nullptr : unbiased.cuda.p, vdisp.cuda.p};
	WANT(nb_near_nearest_cpu(&here, &to) == NB_OK);
	WANT(nb_near_nearest_cuda(&there, &to_cuda) == NB_OK);
	WANT(cudaDeviceSynchronize() == cudaSuccess);
	WANT(neighbour.same());
	WANT(distance.same());
	WANT(hsml.same());
	WANT(density.same());
	WANT(k < 5 || unbiased.same());
	WANT(vdisp.same());
}

static void compare_set(int set, size_t n)
{
	const int some[] = {1, 5, 8, 9, 16, 17, 33, 128, (int)n - 1};
	struct input in(n);
	make_near_set(set, n, in.pos.data(), in.mass.data(), in.vel.data(), in.id.data());
	for (int k : some)
		for (int dim = 2; dim <= 3; dim++)
			for (double box : {0.0, 1.0, 0.75}) {
				char label[100];
				const bool outside = box > 0 && (set == SET_FAR || set == SET_TINY);
				if (k < 1 || k >= (int)n || k > NB_NEAR_MOST || outside || (n > 1000 && dim == 2))
					continue;
				snprintf(label, sizeof label, "%s, n %zu, %d-D, box %g, k %d", near_set_name[set], n,
					dim, box, k);
				compare(label, in, dim, box, k, n % 2);
			}
}

static void measure(size_t n, bool clumps)
{
	vector<double> host(3 * n);
	vector<double> centre(6000);
	for (double &x : centre)
		x = uniform();
	for (size_t i = 0; i < 3 * n; i++) {
		const double r = uniform();
		host[i] = clumps && i / 3 % 2 ? centre[i / 6 % 2000 * 3 + i % 3] + 2e-3 * (uniform() - 0.5) * r : r;
	}
	device<double> pos(host), hsml(n), density(n), distance(8 * n);
	device<uint64_t> neighbour(8 * n);
	const struct nb_near_bodies bodies = {n, 3, 1, pos.p, nullptr, nullptr, nullptr, {}};
	const struct nb_near_found ids = {8, 5, neighbour.p, distance.p, nullptr, nullptr, nullptr, nullptr};
	const struct nb_near_found densities = {8, 5, nullptr, nullptr, hsml.p, density.p, nullptr, nullptr};
	for (const struct nb_near_found *to : {&ids, &densities}) {
		printf("%zu bodies, %s, %s:", n, clumps ? "half in 2000 clumps" : "uniform",
			to == &ids ? "ids and distances" : "hsml and density");
		for (int run = 0; run < 6; run++) {
			const auto start = std::chrono::steady_clock::now();
			CHECK(nb_near_nearest_cuda(&bodies, to) == NB_OK);
			CHECK(cudaDeviceSynchronize() == cudaSuccess);
			const std::chrono::duration<double, std::milli> t = std::chrono::steady_clock::now() - start;
			printf(" %.3f", t.count());
		}
		printf(" ms\n");
	}
}

int main(int argc, char **argv)
{
	if (no_device())
		return 77;
	if (argc > 1) {
		for (int clumps = 0; clumps < 2; clumps++)
			measure((size_t)atof(argv[1]), clumps);
		return unit_end();
	}
	for (int set = 0; set < SETS; set++)
		for (size_t n : {2, 3, 9, 31, 32, 33, 64, 65, 257, 700, 30001})
			compare_set(set, n);
	const struct nb_near_bodies none = {};
	struct nb_near_found to = {};
	to.k = 8;
	CHECK(nb_near_nearest_cuda(&none, &to) == NB_OK);
	struct nb_near_bodies few = {};
	few.n = 8;
	CHECK(nb_near_nearest_cuda(&few, &to) == NB_EINVAL);
	return unit_end();
}
