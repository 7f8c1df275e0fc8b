#include "kernels/measure/measure.h"

#include <math.h>

uint32_t nb_healpix_ring(int nside, const double x[3])
{
	const double flat = hypot(x[0], x[1]), r = hypot(flat, x[2]), z = r > 0 ? x[2] / r : 0, high = fabs(z);
	const double angle = atan2(x[1], x[0]) * M_2_PI, quarter = fmod(angle < 0 ? angle + 4 : angle, 4);
	const int64_t n = nside, pixels = 12 * n * n;
	if (high <= 2.0 / 3) {
		/* lines that rise and fall */
		const double along = (double)n * (0.5 + quarter), across = (double)n * z * 0.75;
		const int64_t fall = (int64_t)floor(along - across), rise = (int64_t)floor(along + across),
			      ring = n + 1 + fall - rise, odd = 1 - ring % 2, place = (fall + rise - n + odd + 1) / 2;
		return (uint32_t)(2 * n * (n - 1) + (ring - 1) * 4 * n + (place + 4 * n) % (4 * n));
	}
	const double part = quarter - floor(quarter), polar = (double)n * (flat / r) / sqrt((1 + high) / 3);
	const int64_t ring = (int64_t)(part * polar) + (int64_t)((1 - part) * polar) + 1,
		      place = (int64_t)(quarter * (double)ring) % (4 * ring);
	return (uint32_t)(z > 0 ? 2 * ring * (ring - 1) + place : pixels - 2 * ring * (ring + 1) + place);
}
