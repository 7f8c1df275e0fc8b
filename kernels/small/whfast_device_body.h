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

REST size_t F(move_rest)(struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h, M)
{
	double q[3] = {p->q[0], p->q[1], p->q[2]}, v[3] = {p->v[0], p->v[1], p->v[2]};
	double dq[3] = {0, 0, 0}, dv[3] = {0, 0, 0};
	for (int d = 0; d < 3 && dp; d++) {
		dq[d] = dp->q[d];
		dv[d] = dp->v[d];
	}
	if (dp ? vary(c->mu, h, q, v, dq, dv) : follow(c->mu, h, q, v))
		return threadIdx.x % LANES + 1;
	for (int d = 0; d < 3; d++) {
		p->q[d] = q[d];
		p->v[d] = v[d];
	}
	for (int d = 0; d < 3 && dp; d++) {
		dp->q[d] = dq[d];
		dp->v[d] = dv[d];
	}
	return 0;
}

/* The variation dp of a system, in all of its lanes alike, after a step h that counts where it goes on. */
INLINE void F(measure)(struct F(planets) * dp, struct nb_megno *m, double h, bool goes)
{
	const double size2 = __shfl_sync(ALL, F(size2_of)(dp, m->unit2), 0, LANES);
	if (goes)
		F(note_size)(dp, m, h, size2);
}

/* The warp goes on until all of its systems have made their steps; those that have are left as they are, and those that
 * fail as they were at the beginning. */
template <bool VARIED>
static __global__ void __launch_bounds__(THREADS, VARIED ? RESIDENT_VARIED : RESIDENT)
	F(steps)(const struct of_system *systems, const uint64_t *steps, struct of_lanes all, struct nb_megno *megno)
{
	const size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	const struct of_system s = systems[at / LANES];
	const struct F(system) c = {all.at(MU, at), all.at(INVERSE_MU, at), all.at(INNER, at), all.at(GM, at),
		all.at(SHARE, at), s.star, s.relativity, threadIdx.x % LANES < s.planets};
	const uint64_t wanted = steps[at / LANES];
	struct F(planets) p, dp;
	struct nb_megno m;
	enum { COORDINATES = (3 + LANES - 1) / LANES }; /* of the centre of mass, in this lane */
	double closest = all.at(CLOSEST, at), centre[COORDINATES], shift[COORDINATES];
	unsigned failed = all.failed[at];
	const bool was_lost = any_of<LANES>(failed != 0);
	bool lost = was_lost;
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
		if (VARIED) {
			dp.q[d] = all.at(VARIED_Q + d, at);
			dp.v[d] = all.at(VARIED_U + d, at);
		}
	}
	if (VARIED)
		m = megno[at / LANES];
	for (uint64_t step = 0; step < most; step++) {
		struct F(planets) next = p, varied = dp;
		double near = closest;
		const double h = lost ? 0 : s.h; /* there may be no way on: not tried again */
		F(kick)(&next, VARIED ? &varied : nullptr, &c, h, s.ahead, &near);
		const unsigned fails = (unsigned)F(drift)(&next, VARIED ? &varied : nullptr, &c, h);
		failed = step < wanted && !lost ? fails : failed;
		lost = any_of<LANES>(failed != 0);
		const bool goes = step < wanted && !lost;
		if (VARIED)
			F(measure)(&varied, &m, h, goes && s.planets > 0);
		for (int d = 0; d < 3; d++) {
			p.q[d] = goes ? next.q[d] : p.q[d];
			p.v[d] = goes ? next.v[d] : p.v[d];
			if (VARIED) {
				dp.q[d] = goes ? varied.q[d] : dp.q[d];
				dp.v[d] = goes ? varied.v[d] : dp.v[d];
			}
		}
		closest = goes ? near : closest;
		for (int k = 0; k < COORDINATES; k++)
			centre[k] = goes ? centre[k] + shift[k] : centre[k];
	}
	all.failed[at] = failed;
	if (failed && !was_lost)
		*all.any = 1;
	if (lost)
		return;
	for (int d = 0; d < 3; d++) {
		all.at(Q + d, at) = p.q[d];
		all.at(U + d, at) = p.v[d];
		if (VARIED) {
			all.at(VARIED_Q + d, at) = dp.q[d];
			all.at(VARIED_U + d, at) = dp.v[d];
		}
	}
	for (int k = 0; k < COORDINATES; k++)
		all.at(CENTRE + k, at) = centre[k];
	all.at(CLOSEST, at) = closest;
	if (VARIED && at % LANES == 0)
		megno[at / LANES] = m;
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
