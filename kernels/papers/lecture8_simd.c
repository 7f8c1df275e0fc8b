/* The lecture's SIMD inner loop: one target against a vector of sources at a time, structure of arrays, reciprocal
 * root by the processor's estimate and a refinement.  Partial sums, one a lane, are added by halves at the end. */
#include "common/cpu.h"
#include "kernels/papers/cpu_internal.h"
#include "kernels/simd/simd.h"

void NB_ISA(nb_lecture_rows)(const struct nb_lecture_bodies *b, size_t first, size_t last, double *acc)
{
	const nb_vf eps2 = (nb_vf){0} + b->eps2;
	for (size_t i = first; i < last; i++) {
		const nb_vf x0 = (nb_vf){0} + b->x[i], y0 = (nb_vf){0} + b->y[i], z0 = (nb_vf){0} + b->z[i];
		nb_vf fx = {0}, fy = {0}, fz = {0};
		for (size_t j = 0; j < b->padded; j += NB_WF) {
			const nb_vf dx = *(const nb_vf *)(b->x + j) - x0, dy = *(const nb_vf *)(b->y + j) - y0,
				    dz = *(const nb_vf *)(b->z + j) - z0;
			const nb_vf inverse = nb_rsqrt_vf(nb_pair_r2_vf(dx, dy, dz, eps2));
			const nb_vf s = *(const nb_vf *)(b->m + j) * (inverse * inverse * inverse);
			nb_pair_add_vf(s, dx, dy, dz, &fx, &fy, &fz);
		}
		acc[3 * i] = (double)nb_sum_vf(fx);
		acc[3 * i + 1] = (double)nb_sum_vf(fy);
		acc[3 * i + 2] = (double)nb_sum_vf(fz);
	}
}
