/* ias15_cuda.cu - steps of order 15 of many systems, a body in a lane; a warp has as many systems as fit in. */
#include <algorithm>
#include <memory>
#include <new>
#include <string.h>
#include <vector>

#include "kernels/device/device.cuh"
#include "kernels/small/small.h"
#include "kernels/small/small_internal.h"

static const unsigned ALL = 0xffffffff; /* lanes of a warp */
enum { THREADS = 128, RESIDENT = 2 /* blocks, for 255 registers of a thread */ };

/* A body, and what is known of its system in each lane of that. */
struct of_lane {
	int n, base, body; /* bodies, the first lane, and which body this is; one behind the last in lanes left over */
	double mu, eps2, eta, longest, next, last, elapsed, rest;
	double x[3], v[3], rest_x[3], rest_v[3], x0[3], v0[3], a0[3], b[NB_IAS15_B][3], e[NB_IAS15_B][3];
	double at[3];
	uint64_t forces, repeated;
	struct nb_ias15_time begun, ended;
};

static __constant__ double power[NB_IAS15_B][NB_IAS15_B], inverse[NB_IAS15_B + 1][NB_IAS15_B];

static __device__ __forceinline__ bool any(const struct of_lane *s, bool it)
{
	const unsigned own = (ALL >> (32 - s->n)) << s->base;
	return (__ballot_sync(ALL, it) & own) != 0;
}

/* way 1: the largest of a system; -1: the smallest. */
static __device__ __forceinline__ double extreme(const struct of_lane *s, double x, int way)
{
	double most = x;
	for (int k = 1; k < s->n; k++) {
		const int from = s->body + k < s->n ? s->body + k : s->body + k - s->n;
		const double other = __shfl_sync(ALL, x, s->base + from);
		most = way * other > way * most ? other : most;
	}
	return most;
}

/* To a body from the k-th of the others, in their order: its G m; 0 in lanes left over. */
static __device__ __forceinline__ double other(const struct of_lane *s, int k, double d[3])
{
	const int from = s->base + (k < s->body ? k : k + 1);
	for (int c = 0; c < 3; c++)
		d[c] = __shfl_sync(ALL, s->at[c], from) - s->at[c];
	return __shfl_sync(ALL, s->mu, from);
}

/* As nb_small_force, in the same order. */
static __device__ __forceinline__ int force(struct of_lane *s, const double *at, const double *, double *acc)
{
	bool fine = true;
	for (int c = 0; c < 3; c++) {
		s->at[c] = at[c];
		acc[c] = 0;
	}
	for (int k = 0; k + 1 < s->n; k++) {
		double d[3];
		const double mu = other(s, k, d), r2 = d[2] * d[2] + (d[1] * d[1] + (d[0] * d[0] + s->eps2));
		const double w = mu * (1 / (r2 * sqrt(r2)));
		fine = fine && r2 >= nb_small_least && r2 <= nb_small_most;
		for (int c = 0; c < 3; c++)
			acc[c] += w * d[c];
	}
	for (int c = 0; c < 3 && s->body >= s->n; c++)
		acc[c] = 0;
	return s->body < s->n && !fine;
}

static __device__ __forceinline__ void find_pulls(const struct of_lane *s, double *pull)
{
	*pull = 0;
	for (int k = 0; k + 1 < s->n; k++) {
		double d[3];
		const double mu = other(s, k, d);
		*pull += fabs(mu) / (s->eps2 + d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
	}
	*pull = s->body < s->n ? *pull : 0;
}

#define STATE struct of_lane
#define WIDE 3
#define BODIES(s) 1
#define HAS_VELOCITIES(s) 0
#define POWER(s, n, k) power[n][k]
#define INVERSE(s, n, k) inverse[n][k]
#define ANY(it) any(s, it)
#define SOME(it) __any_sync(ALL, it)
#define LARGEST(x) extreme(s, x, 1)
#define LEAST(x) extreme(s, x, -1)
#define HERE static __device__ __forceinline__
#define TABLE static __constant__ const
#define UNROLL _Pragma("unroll")
#include "kernels/small/ias15_body.h"

/* ---- systems -------------------------------------------------------------------------------------- */

/* Numbers of a body, three each. */
enum { X, V, REST_X, REST_V, X0, V0, A0, OF_B, OF_E = OF_B + B, NUMBERS = OF_E + B };

/* Systems of n bodies. */
struct of_part {
	int n;
	size_t systems;
	double eps2, eta, longest;
	double *mu, *number; /* of each body; NUMBERS x 3 of all bodies */
	struct nb_ias15_ended *ended;
	double *time;	/* asked for, of each system */
	double *centre; /* of mass, and its velocity */
};

/* The state of a body from memory, or to it. */
template <bool LOAD> static __device__ void exchange(const struct of_part *p, size_t system, struct of_lane *s)
{
	const size_t bodies = p->systems * (size_t)p->n, at = system * (size_t)p->n + (size_t)s->body;
	double *const here[] = {s->x, s->v, s->rest_x, s->rest_v, s->x0, s->v0, s->a0};
	UNROLL
	for (int k = 0; k < NUMBERS; k++)
		UNROLL
	for (int c = 0; c < 3; c++) {
		double *one = &p->number[(size_t)(3 * k + c) * bodies + at];
		double *own = k < OF_B ? &here[k][c] : k < OF_E ? &s->b[k - OF_B][c] : &s->e[k - OF_E][c];
		if (LOAD)
			*own = *one;
		else
			*one = *own;
	}
}

static __device__ void load(const struct of_part *p, size_t system, struct of_lane *s)
{
	const struct nb_ias15_ended *e = &p->ended[system];
	s->n = p->n;
	s->mu = p->mu[system * (size_t)p->n + (size_t)s->body];
	s->eps2 = p->eps2;
	s->eta = p->eta;
	s->longest = p->longest;
	s->next = e->next;
	s->last = e->last;
	s->elapsed = e->elapsed;
	s->rest = e->rest;
	s->forces = e->forces;
	s->repeated = e->repeated;
	s->begun = e->begun;
	s->ended = e->ended;
	exchange<true>(p, system, s);
}

static __device__ void store(const struct of_part *p, size_t system, uint64_t steps, bool failed, struct of_lane *s)
{
	exchange<false>(p, system, s);
	if (s->body == 0)
		p->ended[system] = {s->next, s->last, s->elapsed, s->rest, s->begun, s->ended, steps, s->forces,
			s->repeated, failed};
}

static __device__ bool is_before(const struct of_lane *s, double time)
{
	return s->last == 0 || (s->next > 0 ? nb_ias15_ahead(s->ended, time) < 0 : nb_ias15_ahead(s->ended, time) > 0);
}

/* Each place of a warp takes one system after the other, so that no place waits for systems that take longer. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
	run(const struct of_part p, uint64_t most, unsigned long long *taken, unsigned long long *left)
{
	const int lane = threadIdx.x % 32, place = lane / p.n;
	struct of_lane s = {};
	size_t system = 0;
	uint64_t steps = 0, last = 0;
	int trials = 0;
	bool goes = false, empty = place >= 32 / p.n;
	s.n = p.n;
	s.base = empty ? 0 : place * p.n;
	s.body = empty ? p.n : lane % p.n;
	for (;;) {
		while (SOME(!goes && !empty)) {
			const bool takes = !goes && !empty;
			unsigned long long next = takes && s.body == 0 ? atomicAdd(taken, 1ull) : 0;
			next = __shfl_sync(ALL, next, s.base);
			empty = empty || (takes && next >= p.systems);
			if (takes && !empty) {
				system = next;
				load(&p, system, &s);
				steps = p.ended[system].steps;
				last = steps + most;
				trials = 0;
				goes = !p.ended[system].failed && !isnan(p.time[system]) &&
				       is_before(&s, p.time[system]);
			}
		}
		if (!SOME(goes))
			break;
		const enum trial result = try_step(&s, goes);
		if (!goes)
			continue;
		const bool made = result == TRIAL_MADE;
		trials = made ? 0 : trials + 1;
		if (made) {
			s.begun = s.ended;
			s.ended = nb_ias15_later(s.begun, s.last);
		}
		const bool failed = result == TRIAL_NO_FORCE || trials == NB_IAS15_TRIALS || !isfinite(s.ended.time) ||
				    (made && fabs(s.last) <= NB_IAS15_SHORTEST * fabs(s.elapsed));
		steps += made && !failed;
		const bool before = !failed && is_before(&s, p.time[system]);
		goes = before && (trials > 0 || steps != last);
		if (before && !goes && s.body == 0)
			atomicAdd(left, 1ull);
		if (!goes)
			store(&p, system, steps, failed, &s);
	}
}

/* pos, vel: of all bodies of the part, at p.time. */
static __global__ void find_states(const struct of_part p, double *pos, double *vel)
{
	const size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x, system = at / (size_t)p.n;
	struct of_lane s = {};
	if (system >= p.systems)
		return;
	s.body = (int)(at % (size_t)p.n);
	load(&p, system, &s);
	const double within = nb_ias15_within(s.begun, s.ended, s.last, p.time[system]);
	const double time = p.ended[system].failed ? s.last : within;
	const double part = s.last != 0 ? time / s.last : 1;
	const double after = s.elapsed + (s.rest + (time - s.last)), *centre = p.centre + 6 * system;
	for (int c = 0; c < 3; c++) {
		double x, v;
		number_at(&s, c, time, part, &x, &v);
		pos[3 * at + c] = x + (centre[c] + centre[3 + c] * after);
		vel[3 * at + c] = v + centre[3 + c];
	}
}

/* ---- on the host ---------------------------------------------------------------------------------- */

struct part {
	struct of_part of = {};
	std::vector<size_t> system; /* which ones */
	nb_cuda_buffer<double> mu, number, time, centre, pos, vel;
	nb_cuda_buffer<struct nb_ias15_ended> ended;
};

struct nb_ias15_swarm {
	std::vector<size_t> first; /* body of a system */
	struct part part[NB_SMALL_MOST + 1];
	nb_cuda_buffer<unsigned long long> taken; /* and how many are left */
};

template <class T> static int upload(nb_cuda_buffer<T> *to, const std::vector<T> &from)
{
	NB_TRY(to->alloc(from.size()));
	NB_CUDA_TRY(cudaMemcpy(to->ptr, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
	return NB_OK;
}

static int begin(const struct nb_ias15_bodies *all, size_t n, struct part *p)
{
	const size_t systems = p->system.size(), bodies = systems * n;
	std::vector<double> mu(bodies), number(3 * NUMBERS * bodies), centre;
	std::vector<struct nb_ias15_ended> ended;
	for (size_t k = 0; k < systems; k++) {
		const size_t row = all->first[p->system[k]];
		struct nb_ias15 s;
		int status = nb_ias15_begin(&s, n, all->mass + row, all->G, all->eps);
		if (!status)
			status = nb_ias15_load(
				&s, all->pos + 3 * row, all->vel + 3 * row, all->eta, all->longest, all->way);
		ended.push_back({s.next, 0, 0, 0, all->begun, all->begun, 0, s.forces, 0, status != NB_OK});
		for (size_t c = 0; c < 3; c++)
			for (size_t i = 0; i < n; i++) {
				number[(3 * X + c) * bodies + k * n + i] = s.x[c * n + i];
				number[(3 * V + c) * bodies + k * n + i] = s.v[c * n + i];
				mu[k * n + i] = s.bodies.mu[i];
			}
		centre.insert(centre.end(), s.centre, s.centre + 3);
		centre.insert(centre.end(), s.drift, s.drift + 3);
		if (k == 0) {
			NB_CUDA_TRY(cudaMemcpyToSymbol(power, s.power, sizeof s.power));
			NB_CUDA_TRY(cudaMemcpyToSymbol(inverse, s.inverse, sizeof s.inverse));
		}
	}
	NB_TRY(upload(&p->mu, mu));
	NB_TRY(upload(&p->number, number));
	NB_TRY(upload(&p->ended, ended));
	NB_TRY(upload(&p->centre, centre));
	NB_TRY(p->time.alloc(systems));
	NB_TRY(p->pos.alloc(3 * bodies));
	NB_TRY(p->vel.alloc(3 * bodies));
	p->of = {(int)n, systems, all->eps * all->eps, all->eta, all->longest, p->mu.ptr, p->number.ptr, p->ended.ptr,
		p->time.ptr, p->centre.ptr};
	return NB_OK;
}

int nb_ias15_swarm_begin_cuda(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all)
try {
	*swarm = nullptr;
	std::unique_ptr<struct nb_ias15_swarm> s(new struct nb_ias15_swarm);
	for (size_t k = 0; k < all->systems; k++) {
		const size_t n = all->first[k + 1] - all->first[k];
		if (n > NB_SMALL_MOST)
			return NB_EUNSUPPORTED;
		s->part[n].system.push_back(k);
	}
	s->first.assign(all->first, all->first + all->systems + 1);
	for (size_t n = 1; n <= NB_SMALL_MOST; n++)
		NB_TRY(begin(all, n, &s->part[n]));
	NB_TRY(s->taken.alloc(2));
	*swarm = s.release();
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

/* The times of the systems of a part. */
static int set_times(const struct part *p, const double *time)
{
	std::vector<double> own;
	for (size_t k : p->system)
		own.push_back(time[k]);
	NB_CUDA_TRY(cudaMemcpy(p->time.ptr, own.data(), own.size() * sizeof(double), cudaMemcpyHostToDevice));
	return NB_OK;
}

int nb_ias15_swarm_until_cuda(struct nb_ias15_swarm *swarm, const double *time, uint64_t most, size_t *left)
try {
	int processors;
	NB_TRY(nb_cuda_multiprocessors(&processors));
	unsigned long long all_left = 0, *const taken = swarm->taken.ptr;
	NB_CUDA_TRY(cudaMemset(taken + 1, 0, sizeof *taken));
	for (size_t n = 1; n <= NB_SMALL_MOST; n++) {
		const struct part *p = &swarm->part[n];
		if (p->of.systems == 0)
			continue;
		const unsigned places = nb_cuda_blocks(p->of.systems, (unsigned)(THREADS / 32 * (32 / n)));
		const unsigned blocks = std::min(places, (unsigned)processors * RESIDENT);
		NB_TRY(set_times(p, time));
		NB_CUDA_TRY(cudaMemset(taken, 0, sizeof *taken));
		run<<<blocks, THREADS>>>(p->of, most, taken, taken + 1);
		NB_CUDA_LAUNCHED();
	}
	NB_CUDA_TRY(cudaMemcpy(&all_left, taken + 1, sizeof all_left, cudaMemcpyDeviceToHost));
	*left = (size_t)all_left;
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

int nb_ias15_swarm_at_cuda(
	struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended)
try {
	for (size_t n = 1; n <= NB_SMALL_MOST; n++) {
		const struct part *p = &swarm->part[n];
		const size_t systems = p->of.systems, bytes = 3 * n * systems * sizeof(double);
		std::vector<double> x(3 * n * systems), v(3 * n * systems);
		std::vector<struct nb_ias15_ended> e(systems);
		if (systems == 0)
			continue;
		NB_TRY(set_times(p, time));
		find_states<<<nb_cuda_blocks(n * systems, THREADS), THREADS>>>(p->of, p->pos.ptr, p->vel.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(x.data(), p->pos.ptr, bytes, cudaMemcpyDeviceToHost));
		NB_CUDA_TRY(cudaMemcpy(v.data(), p->vel.ptr, bytes, cudaMemcpyDeviceToHost));
		NB_CUDA_TRY(cudaMemcpy(e.data(), p->ended.ptr, systems * sizeof e[0], cudaMemcpyDeviceToHost));
		for (size_t k = 0; k < systems; k++) {
			const size_t row = swarm->first[p->system[k]];
			memcpy(pos + 3 * row, &x[3 * n * k], 3 * n * sizeof(double));
			memcpy(vel + 3 * row, &v[3 * n * k], 3 * n * sizeof(double));
			ended[p->system[k]] = e[k];
		}
	}
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

void nb_ias15_swarm_free_cuda(struct nb_ias15_swarm *swarm)
{
	delete swarm;
}
