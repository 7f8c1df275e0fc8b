/* lecture8_sse_cpu.c - the lecture's SSE code ("Optimized CPU implementation"): one target against four sources at a
 * time, structure of arrays, the processor's estimate of 1/sqrt (12 bits) and one step of Newton and Raphson.  The four
 * partial sums are added at the end.  A processor without SSE has the same four lanes, and the root itself as the
 * estimate. */
#include "kernels/papers/cpu_internal.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

typedef float four __attribute__((vector_size(16)));
enum { LANES = 4 };

static four estimate(four x)
{
#ifdef __x86_64__
	return (four)_mm_rsqrt_ps((__m128)x);
#else
	four y;
	for (int k = 0; k < LANES; k++)
		y[k] = 1 / sqrtf(x[k]);
	return y;
#endif
}

/* The lecture's rcp_sqrt_nr_ps.  The relative error is 3/2 of the square of the estimate's: 2e-7. */
static four rcp_sqrt_nr(four x)
{
	const four y = estimate(x);
	return 0.5f * y * (3 - x * y * y);
}

static double sum(four v)
{
	return (double)((v[0] + v[1]) + (v[2] + v[3]));
}

void nb_lecture_rows_sse(const struct nb_lecture_bodies *b, size_t first, size_t last, double *acc)
{
	const four none = {0}, eps2 = none + b->eps2;
	for (size_t i = first; i < last; i++) {
		const four x0 = none + b->x[i], y0 = none + b->y[i], z0 = none + b->z[i];
		four fx = none, fy = none, fz = none;
		for (size_t j = 0; j < b->padded; j += LANES) {
			const four dx = *(const four *)(b->x + j) - x0, dy = *(const four *)(b->y + j) - y0,
				   dz = *(const four *)(b->z + j) - z0;
			const four inverse = rcp_sqrt_nr(((dx * dx + dy * dy) + dz * dz) + eps2);
			const four s = *(const four *)(b->m + j) * (inverse * (inverse * inverse));
			fx += dx * s;
			fy += dy * s;
			fz += dz * s;
		}
		acc[3 * i] = sum(fx);
		acc[3 * i + 1] = sum(fy);
		acc[3 * i + 2] = sum(fz);
	}
}
