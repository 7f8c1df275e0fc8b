/* swarm_cuda - many systems of few bodies on the device, each on its own.
 *
 *   swarm_cuda [WHAT SYSTEMS STEPS]     the cases of the table, or one
 *
 * solar: the Sun and eight planets with the relativistic potential, steps of 5 days, whfast; two: a star and two
 * planets, 30 steps in the period of the inner one.  Phases are random; every system is another one.  64 of them are
 * compared with the processor, bit by bit, after a tenth of the steps; then the shortest time of 3 calls is taken. */
#include <algorithm>
#include <chrono>
#include <vector>

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/small/small.h"
#include "tests/bench/device.cuh"
#include "tests/unit/random.h"

enum { CHECKED = 64, CALLS = 3 };

static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct planet {
	double mass, a, e, inclination; /* of the star, AU, radians */
};

static const double DAY_G = 0.01720209895 * 0.01720209895; /* AU^3 / (solar mass day^2) */
static const struct planet solar[] = {{1.660e-7, 0.3871, 0.2056, 0.122}, {2.448e-6, 0.7233, 0.0068, 0.059},
	{3.040e-6, 1.0000, 0.0167, 0}, {3.227e-7, 1.5237, 0.0934, 0.032}, {9.548e-4, 5.2026, 0.0484, 0.023},
	{2.859e-4, 9.5549, 0.0556, 0.043}, {4.366e-5, 19.2184, 0.0463, 0.013}, {5.151e-5, 30.1104, 0.0090, 0.031}};
static const struct planet two[] = {{1e-5, 1, 0.02, 0.01}, {3e-5, 1.6, 0.05, 0.02}};

/* At the pericentre, moved on by a random part of a period. */
static void place(const struct planet *p, double G, double *x, double *v)
{
	const double mu = G * (1 + p->mass), node = 2 * M_PI * uniform(),
		     speed = sqrt(mu * (1 + p->e) / (p->a * (1 - p->e)));
	const double s = sin(p->inclination), c = cos(p->inclination), r = p->a * (1 - p->e);
	const double at[3] = {r * cos(node), r * sin(node), 0};
	const double along[3] = {-speed * c * sin(node), speed * c * cos(node), speed * s};
	memcpy(x, at, sizeof at);
	memcpy(v, along, sizeof along);
	DO(nb_kepler_move(mu, 2 * M_PI * sqrt(p->a * p->a * p->a / mu) * uniform(), x, v));
}

static struct nb_whfast make(const struct planet *planet, size_t planets, double G, double h, double light)
{
	double mass[NB_WHFAST_MOST] = {1}, pos[3 * NB_WHFAST_MOST] = {}, vel[3 * NB_WHFAST_MOST] = {};
	struct nb_whfast w;
	for (size_t i = 1; i <= planets; i++) {
		mass[i] = planet[i - 1].mass;
		place(&planet[i - 1], G, pos + 3 * i, vel + 3 * i);
	}
	DO(nb_whfast_begin(&w, planets + 1, mass, G, 0, 0));
	nb_whfast_relativity(&w, light);
	DO(nb_whfast_load(&w, pos, vel, h));
	return w;
}

static bool same(const struct nb_whfast *a, const struct nb_whfast *b)
{
	return memcmp(a->q, b->q, sizeof a->q) == 0 && memcmp(a->v, b->v, sizeof a->v) == 0 && a->failed == b->failed;
}

static bool run_whfast(const char *what, size_t systems, uint64_t steps, const char *device)
{
	const bool all = strcmp(what, "solar") == 0;
	std::vector<struct nb_whfast> w;
	for (size_t k = 0; k < systems; k++)
		w.push_back(all ? make(solar, 8, DAY_G, 5, 173.14463267) : make(two, 2, 1, 2 * M_PI / 30, INFINITY));
	std::vector<struct nb_whfast> got = w;
	std::vector<uint64_t> wanted(systems, steps / 10);
	struct nb_whfast_swarm *swarm;
	DO(nb_whfast_swarm_begin_cuda(&swarm, w.data(), systems));
	DO(nb_whfast_swarm_steps_cuda(swarm, wanted.data()));
	DO(nb_whfast_swarm_state_cuda(swarm, got.data()));
	for (size_t k = 0; k < systems; k += 1 + systems / CHECKED) {
		DO(nb_whfast_steps(&w[k], steps / 10));
		if (!same(&w[k], &got[k])) {
			fprintf(stderr, "swarm_cuda: %s: system %zu differs from that of the processor\n", what, k);
			return false;
		}
	}
	double best = INFINITY;
	wanted.assign(systems, steps);
	for (int call = 0; call < CALLS; call++) {
		const double begin = now();
		DO(nb_whfast_swarm_steps_cuda(swarm, wanted.data()));
		TRY(cudaDeviceSynchronize());
		best = std::min(best, now() - begin);
	}
	nb_whfast_swarm_free_cuda(swarm);
	printf("%s\t%s\t%zu\t%zu\t%.4g\t%.4g\n", device, what, systems, (size_t)steps, best,
		(double)systems * (double)steps / best);
	return true;
}

int main(int argc, char **argv)
{
	cudaDeviceProp device;
	if (no_device())
		return 77;
	TRY(cudaGetDeviceProperties(&device, 0));
	printf("device\tsystem\tsystems\tsteps\tseconds\tsystem_steps_per_s\n");
	if (argc == 4)
		return !run_whfast(argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), device.name);
	static const struct {
		const char *what;
		size_t systems;
		uint64_t steps;
	} cases[] = {
		{"solar", 16384, 100000}, {"solar", 131072, 20000}, {"two", 16384, 200000}, {"two", 1000000, 5000}};
	bool good = true;
	for (const auto &c : cases)
		good = run_whfast(c.what, c.systems, c.steps, device.name) && good;
	return !good;
}
