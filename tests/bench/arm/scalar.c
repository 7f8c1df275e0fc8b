/* The plain loops of the direct sum, one pair at a time, with which run-arm compares. */
#include <math.h>
#include <stddef.h>

#define ROW(NAME, T, SQRT)                                                                               \
	void NAME(const T *x, const T *y, const T *z, const T *m, size_t n, const T *at, T eps2, T *acc) \
	{                                                                                                \
		T ax = 0, ay = 0, az = 0;                                                                \
		for (size_t j = 0; j < n; j++) {                                                         \
			const T dx = x[j] - at[0], dy = y[j] - at[1], dz = z[j] - at[2];                 \
			const T inverse = 1 / SQRT(dx * dx + dy * dy + dz * dz + eps2);                  \
			const T w = m[j] * (inverse * inverse * inverse);                                \
			ax += w * dx;                                                                    \
			ay += w * dy;                                                                    \
			az += w * dz;                                                                    \
		}                                                                                        \
		acc[0] = ax;                                                                             \
		acc[1] = ay;                                                                             \
		acc[2] = az;                                                                             \
	}
ROW(scalar_f32, float, sqrtf)
ROW(scalar_f64, double, sqrt)
