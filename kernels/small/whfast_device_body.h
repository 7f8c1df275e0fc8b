/* whfast_device_body.h - template of whfast_cuda.cu: a planet in each of LANES lanes of a warp for whfast_body.h, and
 * steps with them. */
#define PASTE2(name, lanes) name##_##lanes
#define PASTE(name, lanes) PASTE2(name, lanes)
#define F(name) PASTE(name, LANES)
#define INLINE static __device__ __forceinline__
#define REST INLINE
#define V double
#define M bool
#define SOME(it) __any_sync(ALL, it)
#define TURN(a, k) __shfl_sync(ALL, a, (int)threadIdx.x + (k), LANES)

INLINE V F(choose)(M mask, V a, V b)
{
	return mask ? a : b;
}

INLINE V F(where)(M mask, V a)
{
	return mask ? a : 0;
}

INLINE V F(size)(V a)
{
	return fabs(a);
}

INLINE V F(root)(V a)
{
	return sqrt(a);
}

/* Each lane decides for its planet. */
INLINE bool F(all)(M mask)
{
	return mask;
}

INLINE M F(from)(int k)
{
	return (int)(threadIdx.x % LANES) >= k;
}

#include "kernels/small/whfast_body.h"

REST size_t F(move_rest)(struct F(planets) * p, struct F(planets) *, const struct F(system) * c, double h, M)
{
	double q[3] = {p->q[0], p->q[1], p->q[2]}, v[3] = {p->v[0], p->v[1], p->v[2]};
	if (follow(c->mu, h, q, v))
		return threadIdx.x % LANES + 1;
	for (int d = 0; d < 3; d++) {
		p->q[d] = q[d];
		p->v[d] = v[d];
	}
	return 0;
}

/* The warp goes on until all of its systems have made their steps; those that have are left as they are. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
	F(steps)(const struct of_system *systems, const uint64_t *steps, struct of_lanes all)
{
	const size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	const struct of_system s = systems[at / LANES];
	const struct F(system) c = {all.at(MU, at), all.at(INVERSE_MU, at), all.at(INNER, at), all.at(GM, at),
		all.at(SHARE, at), s.star, s.relativity, threadIdx.x % LANES < s.planets};
	const uint64_t wanted = steps[at / LANES];
	struct F(planets) p;
	enum { COORDINATES = (3 + LANES - 1) / LANES }; /* of the centre of mass, in this lane */
	double closest = 0, centre[COORDINATES], shift[COORDINATES];
	unsigned failed = all.failed[at];
	bool lost = any_of<LANES>(failed != 0);
	uint64_t most = wanted;
	for (int k = LANES; k < 32; k *= 2) {
		const uint64_t other = __shfl_xor_sync(ALL, most, k);
		most = other > most ? other : most;
	}
	for (int k = 0; k < COORDINATES; k++) {
		centre[k] = all.at(CENTRE + k, at);
		shift[k] = all.at(DRIFT + k, at) * s.h;
	}
	for (int d = 0; d < 3; d++) {
		p.q[d] = all.at(Q + d, at);
		p.v[d] = all.at(U + d, at);
	}
	for (uint64_t step = 0; step < most; step++) {
		struct F(planets) next = p;
		double near = closest;
		const double h = lost ? 0 : s.h; /* there may be no way on: not tried again */
		F(kick)(&next, nullptr, &c, h, s.ahead, &near);
		const unsigned fails = (unsigned)F(drift)(&next, nullptr, &c, h);
		failed = step < wanted && !lost ? fails : failed;
		lost = any_of<LANES>(failed != 0);
		const bool goes = step < wanted && !lost;
		for (int d = 0; d < 3; d++) {
			p.q[d] = goes ? next.q[d] : p.q[d];
			p.v[d] = goes ? next.v[d] : p.v[d];
		}
		closest = goes ? near : closest;
		for (int k = 0; k < COORDINATES; k++)
			centre[k] = goes ? centre[k] + shift[k] : centre[k];
	}
	for (int d = 0; d < 3; d++) {
		all.at(Q + d, at) = p.q[d];
		all.at(U + d, at) = p.v[d];
	}
	for (int k = 0; k < COORDINATES; k++)
		all.at(CENTRE + k, at) = centre[k];
	all.at(CLOSEST, at) = closest;
	all.failed[at] = failed;
}

#undef PASTE2
#undef PASTE
#undef F
#undef INLINE
#undef REST
#undef V
#undef M
#undef SOME
#undef TURN
#undef PAIR
#undef PAIRS
#undef UP
#undef LANES
