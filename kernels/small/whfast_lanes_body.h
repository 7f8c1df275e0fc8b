/* whfast_lanes_body.h - template of whfast_simd.c: vectors of LANES planets for whfast_body.h, and steps with them. */
#define PASTE2(name, lanes) name##_##lanes
#define PASTE(name, lanes) PASTE2(name, lanes)
#define F(name) PASTE(name, LANES)
#define INLINE static inline __attribute__((always_inline))

typedef double F(vec) __attribute__((vector_size(8 * LANES)));
typedef int64_t F(mask) __attribute__((vector_size(8 * LANES)));
#define V F(vec)
#define M F(mask)

INLINE V F(load)(const double *from)
{
	V a;
	memcpy(&a, from, sizeof a);
	return a;
}

INLINE V F(choose)(M mask, V a, V b)
{
	return (V)((mask & (M)a) | (~mask & (M)b));
}

INLINE V F(where)(M mask, V a)
{
	return (V)(mask & (M)a);
}

INLINE V F(size)(V a)
{
	return F(choose)(a < 0, -a, a);
}

/* By parts that a register holds, where the compiler would take one lane after the other. */
INLINE V F(root)(V a)
{
#if defined(NB_ISA_avx512) && LANES >= 8
	__m512d part[LANES / 8];
	memcpy(part, &a, sizeof a);
	for (int k = 0; k < LANES / 8; k++)
		part[k] = _mm512_sqrt_pd(part[k]);
	memcpy(&a, part, sizeof a);
#elif defined(NB_ISA_avx512) || defined(NB_ISA_avx2)
	__m256d part[LANES / 4];
	memcpy(part, &a, sizeof a);
	for (int k = 0; k < LANES / 4; k++)
		part[k] = _mm256_sqrt_pd(part[k]);
	memcpy(&a, part, sizeof a);
#else
	for (int k = 0; k < LANES; k++)
		a[k] = sqrt(a[k]);
#endif
	return a;
}

INLINE int F(all)(M mask)
{
#if defined(NB_ISA_avx512) && LANES == 8
	return _mm512_movepi64_mask((__m512i)mask) == 0xff;
#elif (defined(NB_ISA_avx512) || defined(NB_ISA_avx2)) && LANES == 4
	return _mm256_movemask_pd((__m256d)mask) == 0xf;
#else
	int64_t each = -1;
	for (int k = 0; k < LANES; k++)
		each &= mask[k];
	return each != 0;
#endif
}

/* The lanes from k on. */
INLINE M F(from)(int k)
{
	M mask;
	for (int lane = 0; lane < LANES; lane++)
		mask[lane] = lane >= k ? -1 : 0;
	return mask;
}

#define SOME(it) (it)
#define REST static __attribute__((noinline))
#include "kernels/small/whfast_body.h"

#if LANES <= PART
REST size_t F(move_rest)(struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h, M fine)
{
	for (int k = 0; k < LANES; k++) {
		double q[3] = {p->q[0][k], p->q[1][k], p->q[2][k]}, v[3] = {p->v[0][k], p->v[1][k], p->v[2][k]};
		double dq[3] = {0}, dv[3] = {0};
		if (fine[k])
			continue;
		for (int d = 0; d < 3 && dp; d++) {
			dq[d] = dp->q[d][k];
			dv[d] = dp->v[d][k];
		}
		if (dp ? nb_kepler_vary(c->mu[k], h, q, v, dq, dv) : nb_kepler_move(c->mu[k], h, q, v))
			return (size_t)k + 1;
		for (int d = 0; d < 3; d++) {
			p->q[d][k] = q[d];
			p->v[d][k] = v[d];
		}
		for (int d = 0; d < 3 && dp; d++) {
			dp->q[d][k] = dq[d];
			dp->v[d][k] = dv[d];
		}
	}
	return 0;
}
#endif

INLINE void F(jump)(struct F(planets) * p, const struct F(system) * c, double h)
{
	for (int d = 0; d < 3; d++)
		p->q[d] += F(where)(c->live, h * F(total)(c->share * p->v[d]));
}

/* In democratic heliocentric coordinates. */
INLINE void F(kick_democratic)(
	struct F(planets) * p, struct F(planets) * dp, const struct F(system) * c, double h, V *closest)
{
	V a[3] = {0}, da[3] = {0};
	F(jump)(p, c, h / 2);
	if (dp)
		F(jump)(dp, c, h / 2);
	if (c->relativity != 0) {
		const V r2 = p->q[0] * p->q[0] + p->q[1] * p->q[1] + p->q[2] * p->q[2];
		const V bent = -c->star * (c->relativity / (r2 * r2));
		for (int d = 0; d < 3; d++)
			a[d] = bent * p->q[d];
		if (dp)
			F(vary_relativity)(p->q, r2, bent, dp->q, da);
	}
	F(attract)(p->q, dp ? dp->q : NULL, c, a, da, closest);
	for (int d = 0; d < 3; d++) {
		p->v[d] += F(where)(c->live, h * a[d]);
		if (dp)
			dp->v[d] += F(where)(c->live, h * da[d]);
	}
	F(jump)(p, c, h / 2);
	if (dp)
		F(jump)(dp, c, h / 2);
}

/* The variation dp in a step h. */
INLINE void F(measure)(struct F(planets) * dp, struct nb_megno *m, double h)
{
	F(note_size)(dp, m, h, F(size2_of)(dp, m->unit2)[0]);
}

/* dp is null where there is no variation. */
INLINE int F(make)(struct nb_whfast *w, struct F(planets) * dp, double kick, double ahead, double drift, uint64_t times)
{
	struct F(planets) p;
	const V star = w->star - (V){0};
	V closest = {0};
	struct F(system) c = {F(load)(w->mu), F(load)(w->inverse_mu), F(load)(w->inner), F(load)(w->gm),
		F(load)(w->share), star, w->relativity, {0}};
	size_t failed = 0;
	for (int k = 0; k < LANES; k++)
		c.live[k] = (size_t)k + 1 < w->n ? -1 : 0;
	for (int d = 0; d < 3; d++) {
		p.q[d] = F(load)(w->q[d]);
		p.v[d] = F(load)(w->v[d]);
	}
	for (; times > 0 && !failed; times--) {
		if (kick != 0 && w->democratic)
			F(kick_democratic)(&p, dp, &c, kick, &closest);
		else if (kick != 0)
			F(kick)(&p, dp, &c, kick, ahead, &closest);
		failed = F(drift)(&p, dp, &c, drift);
		if (dp && drift == w->h && w->n > 1 && !failed)
			F(measure)(dp, &w->variation->megno, drift);
		for (int d = 0; d < 3; d++)
			w->centre[d] += w->drift[d] * drift;
	}
	for (int d = 0; d < 3; d++) {
		memcpy(w->q[d], &p.q[d], sizeof p.q[d]);
		memcpy(w->v[d], &p.v[d], sizeof p.v[d]);
	}
	for (int k = 0; k < LANES; k++)
		w->closest = closest[k] > w->closest ? closest[k] : w->closest;
	w->failed = failed;
	return failed ? NB_EUNSUPPORTED : NB_OK;
}

static int F(run)(struct nb_whfast *w, double kick, double ahead, double drift, uint64_t times)
{
	struct nb_variation *own = w->variation;
	struct F(planets) dp = {0};
	if (!own)
		return F(make)(w, NULL, kick, ahead, drift, times);
	for (size_t i = 1; i < w->n; i++)
		for (size_t d = 0; d < 3; d++) {
			dp.q[d][i - 1] = own->d[3 * i + d];
			dp.v[d][i - 1] = own->u[3 * i + d];
		}
	const int status = F(make)(w, &dp, kick, ahead, drift, times);
	for (size_t i = 1; i < w->n; i++)
		for (size_t d = 0; d < 3; d++) {
			own->d[3 * i + d] = dp.q[d][i - 1];
			own->u[3 * i + d] = dp.v[d][i - 1];
		}
	return status;
}

#undef PASTE2
#undef PASTE
#undef F
#undef INLINE
#undef V
#undef M
#undef PAIR
#undef REST
#undef SOME
#undef LANES
#undef TURN
#undef PAIRS
#undef UP
