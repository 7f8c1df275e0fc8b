/* whfast_cuda.cu - steps of Wisdom and Holman's map for many systems, a planet in a lane. */
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "kernels/device/device.cuh"
#include "kernels/small/kepler_body.h"
#include "kernels/small/small.h"
#include "kernels/small/variation_body.h"

static const unsigned ALL = 0xffffffff; /* lanes of a warp */
#define PART 16				/* a system is in one warp: whfast_body.h */
enum {
	THREADS = 128,
	RESIDENT = 5,	    /* blocks, with 96 registers for a thread: the fastest, measured */
	RESIDENT_VARIED = 3 /* with 168, which keep a variation, too */
};

/* Numbers of a lane: q, its velocity, one coordinate of the centre of mass, or two, and constants (struct nb_whfast).
 */
enum {
	Q,
	U = Q + 3,
	CENTRE = U + 3,
	DRIFT = CENTRE + 2,
	CLOSEST = DRIFT + 2,
	MU,
	INVERSE_MU,
	INNER,
	GM,
	SHARE,
	NUMBERS,
	/* of a variation, behind these: */
	VARIED_Q = NUMBERS,
	VARIED_U = VARIED_Q + 3,
	VARIED_NUMBERS = VARIED_U + 3
};

struct of_lanes {
	double *number;
	size_t count;
	uint32_t *failed; /* what whfast_body.h says of the planet in this lane */
	int *any;	  /* one has failed in this call */

	NB_HD double &at(int which, size_t lane) const
	{
		return number[(size_t)which * count + lane];
	}
};

struct of_system {
	double star, relativity, h, ahead;
	unsigned planets;
};

/* The slow way of the few that need it, once in the program. */
static __device__ __noinline__ int follow(double mu, double h, double *q, double *v)
{
	return nb_kepler_follow(mu, h, q, v, nullptr, nullptr);
}

static __device__ __noinline__ int vary(double mu, double h, double *q, double *v, double *dq, double *dv)
{
	return nb_kepler_follow(mu, h, q, v, dq, dv);
}

/* Whether it is so in any lane of a system. */
template <int LANES> static __device__ bool any_of(bool it)
{
	const unsigned own = (0xffffffffu >> (32 - LANES)) << (threadIdx.x % 32 / LANES * LANES);
	return (__ballot_sync(ALL, it) & own) != 0;
}

#define LANES 2
#define PAIRS(DO)
#define UP(DO) DO(1)
#include "kernels/small/whfast_device_body.h"

#define LANES 4
#define PAIRS(DO) DO(1)
#define UP(DO) DO(1) DO(2)
#include "kernels/small/whfast_device_body.h"

#define LANES 8
#define PAIRS(DO) DO(1) DO(2) DO(3)
#define UP(DO) DO(1) DO(2) DO(4)
#include "kernels/small/whfast_device_body.h"

#define LANES 16
#define PAIRS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define UP(DO) DO(1) DO(2) DO(4) DO(8)
#include "kernels/small/whfast_device_body.h"

/* ---- systems of as many lanes -------------------------------------------------------------------- */

/* Lanes are those that whfast_simd.c takes for as many bodies; or half of them where two are enough, as empty ones add
 * zeros. */
static const struct size_class {
	size_t lanes, most; /* bodies */
	void (*steps[2])(
		const struct of_system *, const uint64_t *, struct of_lanes, struct nb_megno *); /* 1: varied */
} classes[] = {{2, 3, {steps_2<false>, steps_2<true>}}, {4, 5, {steps_4<false>, steps_4<true>}},
	{8, 9, {steps_8<false>, steps_8<true>}}, {16, NB_WHFAST_MOST, {steps_16<false>, steps_16<true>}}};
enum { CLASSES = sizeof classes / sizeof *classes };

struct part {
	std::vector<size_t> system; /* which ones, and the last one again to fill a block */
	size_t count;		    /* without those */
	nb_cuda_buffer<double> number;
	nb_cuda_buffer<uint32_t> failed;
	nb_cuda_buffer<struct of_system> systems;
	nb_cuda_buffer<uint64_t> steps;
	nb_cuda_buffer<struct nb_megno> megno; /* none where there is no variation */

	struct of_lanes lanes(int *any) const
	{
		return {number.ptr, failed.count, failed.ptr, any};
	}
};

struct nb_whfast_swarm {
	struct part part[CLASSES];
	nb_cuda_buffer<int> any;
	bool is_varied;
};

template <class T> static int upload(nb_cuda_buffer<T> *to, const std::vector<T> &from)
{
	NB_TRY(to->alloc(from.size()));
	NB_CUDA_TRY(cudaMemcpy(to->ptr, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
	return NB_OK;
}

static int begin(struct part *p, const struct size_class *c, const struct nb_whfast *w, bool is_varied)
{
	const size_t block = THREADS / c->lanes;
	p->count = p->system.size();
	while (p->system.size() % block != 0)
		p->system.push_back(p->system.back());
	const size_t all = c->lanes * p->system.size();
	std::vector<double> number((is_varied ? VARIED_NUMBERS : NUMBERS) * all);
	std::vector<struct of_system> systems;
	std::vector<struct nb_megno> megno;
	for (size_t k = 0; k < p->system.size(); k++) {
		const struct nb_whfast *from = &w[p->system[k]];
		const double *const constant[] = {from->mu, from->inverse_mu, from->inner, from->gm, from->share};
		const double ahead = from->lazy ? from->h * from->h / 12 : 0;
		systems.push_back(
			{from->star, from->relativity, from->h, ahead, (unsigned)(from->n > 0 ? from->n - 1 : 0)});
		if (is_varied)
			megno.push_back(from->variation->megno);
		for (size_t lane = 0; lane < c->lanes; lane++) {
			const struct of_lanes to = {number.data() + k * c->lanes + lane, all, nullptr, nullptr};
			for (size_t d = 0; d < 3; d++) {
				to.at(Q + (int)d, 0) = from->q[d][lane];
				to.at(U + (int)d, 0) = from->v[d][lane];
				if (is_varied && lane + 1 < from->n) {
					to.at(VARIED_Q + (int)d, 0) = from->variation->d[3 * (lane + 1) + d];
					to.at(VARIED_U + (int)d, 0) = from->variation->u[3 * (lane + 1) + d];
				}
			}
			for (size_t d = lane, at = 0; d < 3; d += c->lanes, at++) {
				to.at(CENTRE + (int)at, 0) = from->centre[d];
				to.at(DRIFT + (int)at, 0) = from->drift[d];
			}
			for (int i = 0; i < SHARE - MU + 1; i++)
				to.at(MU + i, 0) = constant[i][lane];
		}
	}
	NB_TRY(upload(&p->number, number));
	NB_TRY(upload(&p->failed, std::vector<uint32_t>(all)));
	NB_TRY(upload(&p->systems, systems));
	NB_TRY(upload(&p->megno, megno));
	return p->steps.alloc(systems.size());
}

int nb_whfast_swarm_begin_cuda(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems)
try {
	*swarm = nullptr;
	std::unique_ptr<struct nb_whfast_swarm> s(new struct nb_whfast_swarm);
	for (size_t i = 0; i < systems; i++)
		if (w[i].extra)
			return NB_EUNSUPPORTED;
	s->is_varied = systems > 0 && w[0].variation;
	NB_TRY(s->any.alloc(1));
	for (int k = 0; k < CLASSES; k++) {
		struct part *p = &s->part[k];
		for (size_t i = 0; i < systems; i++)
			if (w[i].n <= classes[k].most && (k == 0 || w[i].n > classes[k - 1].most))
				p->system.push_back(i);
		NB_TRY(begin(p, &classes[k], w, s->is_varied));
	}
	*swarm = s.release();
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

int nb_whfast_swarm_steps_cuda(struct nb_whfast_swarm *swarm, const uint64_t *steps, int *failed)
try {
	NB_CUDA_TRY(cudaMemset(swarm->any.ptr, 0, sizeof *swarm->any.ptr));
	for (int k = 0; k < CLASSES; k++) {
		struct part *p = &swarm->part[k];
		std::vector<uint64_t> wanted(p->system.size());
		if (p->count == 0)
			continue;
		for (size_t i = 0; i < p->count; i++)
			wanted[i] = steps[p->system[i]];
		NB_CUDA_TRY(cudaMemcpy(
			p->steps.ptr, wanted.data(), wanted.size() * sizeof wanted[0], cudaMemcpyHostToDevice));
		const size_t lanes = p->failed.count;
		classes[k].steps[swarm->is_varied]<<<(unsigned)(lanes / THREADS), THREADS>>>(
			p->systems.ptr, p->steps.ptr, p->lanes(swarm->any.ptr), p->megno.ptr);
		NB_CUDA_LAUNCHED();
	}
	NB_CUDA_TRY(cudaMemcpy(failed, swarm->any.ptr, sizeof *failed, cudaMemcpyDeviceToHost));
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

int nb_whfast_swarm_state_cuda(struct nb_whfast_swarm *swarm, struct nb_whfast *w)
try {
	for (int k = 0; k < CLASSES; k++) {
		const struct part *p = &swarm->part[k];
		const size_t lanes = classes[k].lanes, all = p->failed.count;
		std::vector<double> number(p->number.count);
		std::vector<uint32_t> failed(all);
		std::vector<struct nb_megno> megno(p->megno.count);
		if (p->count == 0)
			continue;
		NB_CUDA_TRY(cudaMemcpy(
			number.data(), p->number.ptr, number.size() * sizeof(double), cudaMemcpyDeviceToHost));
		NB_CUDA_TRY(cudaMemcpy(failed.data(), p->failed.ptr, all * sizeof failed[0], cudaMemcpyDeviceToHost));
		NB_CUDA_TRY(
			cudaMemcpy(megno.data(), p->megno.ptr, megno.size() * sizeof megno[0], cudaMemcpyDeviceToHost));
		NB_CUDA_TRY(cudaMemset(p->number.ptr + CLOSEST * all, 0, all * sizeof number[0]));
		for (size_t i = 0; i < p->count; i++) {
			struct nb_whfast *to = &w[p->system[i]];
			to->closest = 0;
			to->failed = 0;
			if (swarm->is_varied)
				to->variation->megno = megno[i];
			for (size_t lane = 0; lane < lanes; lane++) {
				const struct of_lanes from = {number.data() + i * lanes + lane, all, nullptr, nullptr};
				for (size_t d = 0; d < 3; d++) {
					to->q[d][lane] = from.at(Q + (int)d, 0);
					to->v[d][lane] = from.at(U + (int)d, 0);
					if (!swarm->is_varied || lane + 1 >= to->n)
						continue;
					to->variation->d[3 * (lane + 1) + d] = from.at(VARIED_Q + (int)d, 0);
					to->variation->u[3 * (lane + 1) + d] = from.at(VARIED_U + (int)d, 0);
				}
				for (size_t d = lane, at = 0; d < 3; d += lanes, at++)
					to->centre[d] = from.at(CENTRE + (int)at, 0);
				to->closest = std::max(to->closest, from.at(CLOSEST, 0));
				if (to->failed == 0)
					to->failed = failed[i * lanes + lane];
			}
		}
	}
	return NB_OK;
} catch (const std::bad_alloc &) {
	return NB_ENOMEM;
}

void nb_whfast_swarm_free_cuda(struct nb_whfast_swarm *swarm)
{
	delete swarm;
}
