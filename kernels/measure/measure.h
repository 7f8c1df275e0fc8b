/* measure.h - what a set of bodies amounts to: energies, momenta, Lagrangian radii, force errors; profiles, orbits,
 * shapes and bound bodies in the headers that it includes.
 *
 * Plain arrays where the backend computes, in parallel.  Every sum runs over chunks of bodies that depend on their
 * number alone, whose partial sums are added in their order with compensation (Neumaier), so results are the same bytes
 * for any number of threads and on every run, and those of the CPU and of a device, where it has them, are the same.
 * What is undefined (the centre of no mass) is NaN, never a number.  Units: the caller's. */
#ifndef NB_MEASURE_H
#define NB_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "kernels/measure/bound.h"
#include "kernels/measure/centre.h"
#include "kernels/measure/nfw.h"
#include "kernels/measure/orbit.h"
#include "kernels/measure/profile.h"
#include "kernels/measure/shape.h"
#include "kernels/measure/transit.h"

NB_C_BEGIN

struct nb_moments {
	double mass;	    /* sum m */
	double com[3];	    /* sum m x / sum m; NaN where the mass is 0 */
	double ekin;	    /* sum m v^2 / 2; this and what follows NaN where vel is NULL */
	double momentum[3]; /* sum m v */
	double angular[3];  /* sum m x * v (cross product), about the origin */
	double speed_max;   /* largest |v|; NaN where n is 0 */
};

/* One pass over n bodies: pos and vel n x 3 (vel may be NULL, and on the CPU pos: all at 0), mass n.  NB_OK or
 * NB_ENOMEM. */
NB_MUST_CHECK int nb_moments_cpu(
	size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments);

/* Potential energy sum m pot / 2 from the potentials of n bodies (G inside). NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_potential_energy_cpu(size_t n, const double *mass, const double *pot, double *epot);

/* radius[k]: the smallest distance from centre within which there is at least the fraction[k] (in (0, 1]) of the
 * mass; all of them NaN where the mass is 0.  O(n) by radix sort.  NB_OK, NB_ENOMEM, NB_ELIMIT (n >= 2^32). */
NB_MUST_CHECK int nb_lagrangian_radii_cpu(size_t n, const double *mass, const double *pos, const double centre[3],
	size_t nfraction, const double *fraction, double *radius);

/* The same on the current device, where mass, pos, vel and pot are; centre, fractions and results are in host memory.
 * They wait for the device. */
NB_MUST_CHECK int nb_moments_cuda(
	size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments);
NB_MUST_CHECK int nb_potential_energy_cuda(size_t n, const double *mass, const double *pot, double *epot);
NB_MUST_CHECK int nb_lagrangian_radii_cuda(size_t n, const double *mass, const double *pos, const double centre[3],
	size_t nfraction, const double *fraction, double *radius);

/* The sum of column k of a table of nrow rows of width numbers: in order, as if in twice the precision (Neumaier). */
double nb_sum_column(size_t nrow, const double *table, size_t width, size_t k);
/* In host memory.  Element number floor(q (n - 1)) of x in ascending order, q in [0, 1], n > 0, no NaN.  x is
 * reordered. */
double nb_quantile(size_t n, double *x, double q);

/* Errors of vectors a against a reference: e_k = |a_row(k) - ref_k| / |ref_k|, k < n; 0 where both vanish,
 * infinite where only the reference does. */
struct nb_vector_error {
	double median, p99; /* percentiles by linear interpolation, as numpy.percentile has them */
	double rms, max;    /* of e_k */
	double rms_ratio;   /* rms(|a - ref|) / rms(|ref|) */
};
/* In host memory.  a has at least as many rows of 3 as row[] needs (row NULL: row k against row k); ref n x 3.  All NaN
 * where n is 0. NB_OK, NB_ENOMEM, NB_ELIMIT. */
NB_MUST_CHECK int nb_vector_find_error(
	size_t n, const double *a, const uint32_t *row, const double *ref, struct nb_vector_error *error);

/* The pixel of a sky of 12 nside^2 pixels of equal area, nside 1 to NB_HEALPIX_MOST, in which a direction is: its
 * number in the order of rings, from z = r down and in each by longitude from +x; of no direction, that of +x. HEALPix:
 * Gorski et al. 2005, ApJ 622, 759, section 4. */
enum { NB_HEALPIX_MOST = 2048 };
uint32_t nb_healpix_ring(int nside, const double x[3]);

/* How a column b differs from a, row by row: d_k = |b_k - a_k|, the length of the difference of two vectors of ncomp
 * numbers; infinite where that is not a number. */
struct nb_difference {
	double absolute,
		relative; /* set before: differences up to the larger of absolute and relative x scale are accepted */
	double max, rms, median, p99; /* of d_k; percentiles as in struct nb_vector_error */
	double scale;		      /* rms of |a_k| */
	size_t worst;		      /* a k with d_k = max */
	size_t beyond;		      /* how many d_k are not accepted */
};
/* In host memory: rows row_a[k] and row_b[k], k < n, of a and b (NULL: row k).  n = 0: NaN, and worst and beyond are 0.
 * NB_OK, NB_ENOMEM, NB_ELIMIT (n >= 2^32). */
NB_MUST_CHECK int nb_difference_cpu(size_t n, size_t ncomp, const double *a, const uint32_t *row_a, const double *b,
	const uint32_t *row_b, struct nb_difference *difference);

NB_C_END
#endif
