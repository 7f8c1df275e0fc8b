/* swarm_cuda - many systems of few bodies on the device, each on its own.
 *
 *   swarm_cuda                          the cases of the table
 *   swarm_cuda solar|two|megno SYSTEMS STEPS  one of them
 *   swarm_cuda scatter SYSTEMS TIME
 *
 * solar: the Sun and eight planets with the relativistic potential, steps of 5 days, whfast; two: a star and two
 * planets, 30 steps in the period of the inner one; megno: these with a variation of each.  Phases are random; every
 * system is another one.  64 of them are compared with the processor, bit by bit, after a tenth of the steps; then the
 * shortest time of 3 calls is taken. scatter: a body of half the mass of a binary of equal masses comes from 20
 * semi-major axes (a) away with half the speed at which it could just take the binary apart, to pericentres of up to 2
 * a, ias15; each goes on until one of three bodies leaves for good and is 30 a away, or for so long (TIME, over 2 pi a
 * period of the binary).  Seconds are those of the whole, with looks at all bodies and their energies.  good: of those
 * that ended, how many have an error of the energy below 1e-10. */
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

static struct nb_whfast make(
	const struct planet *planet, size_t planets, double G, double h, double light, struct nb_variation *varied)
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
	if (varied)
		nb_variation_begin_whfast(varied, &w, pos);
	return w;
}

static bool same(const struct nb_whfast *a, const struct nb_whfast *b)
{
	return memcmp(a->q, b->q, sizeof a->q) == 0 && memcmp(a->v, b->v, sizeof a->v) == 0 && a->failed == b->failed &&
	       (!a->variation || memcmp(a->variation, b->variation, sizeof *a->variation) == 0);
}

static bool run_whfast(const char *what, size_t systems, uint64_t steps, const char *device)
{
	const bool all = strcmp(what, "solar") == 0, is_varied = strcmp(what, "megno") == 0;
	std::vector<struct nb_whfast> w;
	std::vector<struct nb_variation> varied(is_varied ? systems : 0);
	for (size_t k = 0; k < systems; k++)
		w.push_back(all ? make(solar, 8, DAY_G, 5, 173.14463267, NULL)
				: make(two, 2, 1, 2 * M_PI / 30, INFINITY, is_varied ? &varied[k] : NULL));
	std::vector<struct nb_whfast> got = w;
	std::vector<struct nb_variation> got_varied = varied;
	for (size_t k = 0; k < got_varied.size(); k++)
		got[k].variation = &got_varied[k];
	std::vector<uint64_t> wanted(systems, steps / 10);
	struct nb_whfast_swarm *swarm;
	int failed;
	DO(nb_whfast_swarm_begin_cuda(&swarm, w.data(), systems));
	DO(nb_whfast_swarm_steps_cuda(swarm, wanted.data(), &failed));
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
		DO(nb_whfast_swarm_steps_cuda(swarm, wanted.data(), &failed));
		TRY(cudaDeviceSynchronize());
		best = std::min(best, now() - begin);
	}
	nb_whfast_swarm_free_cuda(swarm);
	printf("%s\t%s\t%zu\t%zu\t%.4g\t%.4g\n", device, what, systems, (size_t)steps, best,
		(double)systems * (double)steps / best);
	return true;
}

/* ---- scatterings ---------------------------------------------------------------------------------- */

static const double heavy[3] = {0.5, 0.5, 0.5}; /* the binary, and who comes */

static double energy(const double *x, const double *v)
{
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		sum += heavy[i] * (v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2]) / 2;
		for (int j = 0; j < i; j++)
			sum -= heavy[i] * heavy[j] /
			       sqrt(pow(x[3 * i] - x[3 * j], 2) + pow(x[3 * i + 1] - x[3 * j + 1], 2) +
				       pow(x[3 * i + 2] - x[3 * j + 2], 2));
	}
	return sum;
}

/* Whether body i leaves the others: it is far from their centre, and faster than it must be. */
static bool leaves(int i, const double *x, const double *v)
{
	const int j = (i + 1) % 3, k = (i + 2) % 3;
	double r2 = 0, v2 = 0, rv = 0;
	for (int d = 0; d < 3; d++) {
		const double q = x[3 * i + d] - (x[3 * j + d] + x[3 * k + d]) / 2;
		const double u = v[3 * i + d] - (v[3 * j + d] + v[3 * k + d]) / 2;
		r2 += q * q, v2 += u * u, rv += q * u;
	}
	return r2 > 30 * 30 && rv > 0 && v2 / 2 > 1.5 / sqrt(r2);
}

/* The binary has the period 2 pi, total mass and semi-major axis 1. */
static void meet(double *x, double *v)
{
	const double critical = sqrt(0.5 * 0.5 * (1.5 / 0.5)), fast = 0.5 * critical, far = 20;
	const double impact = sqrt(uniform() * 2 * 2 * (1 + 2 * 1.5 / (2 * fast * fast))), f = 2 * M_PI * uniform();
	const double phase = 2 * M_PI * uniform(), speed = sqrt(fast * fast + 2 * 1.5 / far);
	double normal[3], along[3], size = 0;
	on_sphere(1, normal);
	on_sphere(1, along);
	for (int d = 0; d < 3; d++) /* a direction across the normal */
		size += along[d] * normal[d];
	for (int d = 0; d < 3; d++)
		along[d] -= size * normal[d];
	size = sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
	for (int d = 0; d < 3; d++) {
		const int e = (d + 1) % 3, g = (d + 2) % 3;
		const double a = along[d] / size, across = (normal[e] * along[g] - normal[g] * along[e]) / size;
		x[d] = 0.5 * (cos(phase) * a + sin(phase) * across);
		v[d] = 0.5 * (cos(phase) * across - sin(phase) * a);
		x[3 + d] = -x[d];
		v[3 + d] = -v[d];
	}
	/* with the angular momentum of the impact parameter at infinity */
	const double across = std::min(1.0, impact * fast / (far * speed));
	const double to[3] = {0, 0, far},
		     u[3] = {speed * across * cos(f), speed * across * sin(f), -speed * sqrt(1 - across * across)};
	memcpy(x + 6, to, sizeof to);
	memcpy(v + 6, u, sizeof u);
}

static bool run_scatter(size_t systems, double most, const char *device)
{
	std::vector<size_t> first(systems + 1);
	std::vector<double> mass(3 * systems, 0.5), x(9 * systems), v(9 * systems), before(systems), time(systems, 100);
	std::vector<struct nb_ias15_ended> ended(systems);
	std::vector<bool> done(systems);
	struct nb_ias15_swarm *swarm;
	for (size_t k = 0; k < systems; k++) {
		first[k + 1] = 3 * (k + 1);
		meet(&x[9 * k], &v[9 * k]);
		before[k] = energy(&x[9 * k], &v[9 * k]);
	}
	const struct nb_ias15_bodies all = {
		systems, first.data(), mass.data(), x.data(), v.data(), 1, 0, 0.175, INFINITY, 1, {0, 0}};
	const std::vector<double> pos = x, vel = v;
	const double begin = now();
	DO(nb_ias15_swarm_begin_cuda(&swarm, &all));
	size_t behind, left = systems, good = 0, failed = 0, looks = 0;
	double steps = 0, longest = 0;
	for (double until = 100; left > 0 && until < most; until *= 1.3) {
		DO(nb_ias15_swarm_until_cuda(swarm, time.data(), UINT64_MAX, &behind));
		DO(nb_ias15_swarm_at_cuda(swarm, time.data(), x.data(), v.data(), ended.data()));
		for (size_t k = 0; k < systems && looks == 0; k += 1 + systems / CHECKED) {
			struct nb_ias15 s;
			double want_x[9], want_v[9];
			DO(nb_ias15_begin(&s, 3, heavy, 1, 0));
			DO(nb_ias15_load(&s, &pos[9 * k], &vel[9 * k], 0.175, INFINITY, 1));
			struct nb_ias15_time begun = {0, 0}, over = begun;
			while (s.last == 0 || nb_ias15_ahead(over, time[k]) < 0) {
				DO(nb_ias15_step(&s));
				begun = over;
				over = nb_ias15_later(begun, s.last);
			}
			nb_ias15_at(&s, nb_ias15_within(begun, over, s.last, time[k]), want_x, want_v);
			if (memcmp(want_x, &x[9 * k], sizeof want_x) != 0 ||
				memcmp(want_v, &v[9 * k], sizeof want_v) != 0) {
				fprintf(stderr, "swarm_cuda: scattering %zu differs from that of the processor\n", k);
				return false;
			}
		}
		looks++;
		for (size_t k = 0; k < systems; k++) {
			const double *at = &x[9 * k], *u = &v[9 * k];
			if (done[k])
				continue;
			done[k] = ended[k].failed || leaves(0, at, u) || leaves(1, at, u) || leaves(2, at, u);
			failed += ended[k].failed != 0;
			if (!done[k]) {
				time[k] = 1.3 * until;
				continue;
			}
			left--;
			good += fabs(energy(at, u) / before[k] - 1) < 1e-10;
		}
		fprintf(stderr, "swarm_cuda: time %g, %zu left, %.1f s\n", until, left, now() - begin);
	}
	const double seconds = now() - begin;
	for (const auto &e : ended)
		steps += (double)e.steps, longest = std::max(longest, (double)e.steps);
	nb_ias15_swarm_free_cuda(swarm);
	printf("%s\tscatter\t%zu\t%.0f\t%.4g\t%.4g\tleft %zu, failed %zu, good %.4f %%, most steps %.0f\n", device,
		systems, steps, seconds, steps / seconds, left, failed, 100.0 * (double)good / (double)(systems - left),
		longest);
	return true;
}

int main(int argc, char **argv)
{
	cudaDeviceProp device;
	if (no_device())
		return 77;
	TRY(cudaGetDeviceProperties(&device, 0));
	printf("device\tsystem\tsystems\tsteps\tseconds\tsystem_steps_per_s\tothers\n");
	if (argc == 4 && strcmp(argv[1], "scatter") == 0)
		return !run_scatter(strtoul(argv[2], NULL, 10), atof(argv[3]), device.name);
	if (argc == 4)
		return !run_whfast(argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), device.name);
	static const struct {
		const char *what;
		size_t systems;
		uint64_t steps;
	} cases[] = {{"solar", 16384, 100000}, {"solar", 131072, 20000}, {"two", 16384, 200000}, {"two", 1000000, 5000},
		{"megno", 1048576, 5000}};
	bool good = true;
	for (const auto &c : cases)
		good = run_whfast(c.what, c.systems, c.steps, device.name) && good;
	good = run_scatter(1000000, 1e5, device.name) && good;
	return !good;
}
