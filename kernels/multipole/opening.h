/* opening.h - what an opening angle means, for both walks; the only place that says it.
 *
 * The angle is a label of an error: at equal theta both walks are to give the same rms and 99th percentile of
 * |da| / |a|, which is why each has its own function of it.  Each walk bounds its estimate of an interaction's
 * error by
 *     tolerance(theta) * sum of G m / r^2 at the target,
 * and the estimates differ, as what is fast differs:
 *   CPU     m ((radius + reach) / d)^6 / d^2 and a term for what is around the source, between cells, with spheres
 *           about centres; m (radius / d)^4 / (2 d^2) on a body; local expansions of fifth order (multipole_body.h);
 *           with sources of orders 3 and 4 higher powers (walk_simd.c)
 *   device  m (l / d)^3 / d^2, l the longest side of the cell's box; m (2.7 radius / d)^4 / d^2 for what the
 *           group's own extent adds; local expansions of fourth order, of groups of bodies only (walk_gpu); with
 *           sources of orders 3 and 4 the powers are 4 and 5, those of the extent 5 to 7
 * The device also keeps d > 1.2 l and d > 1.8 radius, so that its error grows slowly near theta = 1; the CPU's
 * tolerance does the same.
 *
 * Calibration: NB_OPENING_CUDA gives about 1.2e-4 rms at 0.5 on a Plummer sphere of 2^20.  NB_OPENING_CPU and
 * NB_OPENING_LEVEL fit the CPU's errors to the device's: theta 0.2 .. 1, Plummer, uniform and disk, n = 10^5 and 10^6,
 * eps = 0.01.  rms(|da|) / rms(|a|) and 99th percentile of |da| / |a|, n = 10^6, f32; the CPU's of 4000 bodies:
 *     theta                  0.2              0.3              0.5              0.7              1.0
 *     Plummer, CPU     6.7e-6 2.4e-5    2.3e-5 7.6e-5    1.2e-4 3.8e-4    3.9e-4 1.4e-3    1.2e-3 4.2e-3
 *              device  6.0e-6 2.0e-5    2.2e-5 7.4e-5    1.3e-4 4.2e-4    4.2e-4 1.5e-3    1.1e-3 3.8e-3
 *     uniform, CPU     5.9e-6 2.7e-5    2.1e-5 9.3e-5    1.3e-4 5.5e-4    4.0e-4 2.1e-3    1.3e-3 7.4e-3
 *              device  6.0e-6 2.6e-5    2.1e-5 9.4e-5    1.1e-4 5.3e-4    3.6e-4 1.6e-3    8.7e-4 4.3e-3
 *     disk,    CPU     1.2e-5 2.2e-5    3.9e-5 7.9e-5    2.2e-4 4.6e-4    5.9e-4 1.4e-3    1.4e-3 3.4e-3
 *              device  8.5e-6 1.9e-5    3.2e-5 6.5e-5    1.7e-4 3.6e-4    5.0e-4 1.0e-3    1.2e-3 2.4e-3
 * With orders 3 and 4 the device's are, of 2^20 bodies (Plummer, uniform, clusters, eps 0 and 0.01), within 1.3 of
 * those of order 2 from 0.1 to 0.5, of 100,000 within 2.
 * With order 3 the CPU's rms errors are 0.6 to 1.35 times those of order 2 from 0.1 to 0.5, with order 4 0.5 to 1.35
 * times (Plummer, uniform, clusters, disk, 100,000 bodies, eps = 0.01), except at 0.1: clusters with order 3 (1.8),
 * disk with order 4 (1.6). Ratios to the device's are within 1.5, except: disk of 10^5 at 0.2 (1.6), uniform of 10^6
 * from 0.8 (up to 1.7), and 10^4 bodies, where single cells decide: at 0.2 (rms 0.66 to 1.5, p99 0.35 to 1.4) and from
 * 0.8 (the CPU's errors down to half). */
#ifndef NB_MULTIPOLE_OPENING_H
#define NB_MULTIPOLE_OPENING_H

#include <math.h>

#define NB_OPENING_CUDA 0.364
#define NB_OPENING_CUDA_3 0.321
#define NB_OPENING_CUDA_4 0.360
#define NB_OPENING_CPU 0.383
#define NB_OPENING_CPU_3 0.386
#define NB_OPENING_CPU_4 0.320
#define NB_OPENING_LEVEL 1.0 /* the angle about which the CPU's tolerance ceases to grow */

/* The device's walk, for those too that must know before what it will open (send_cuda.cu).  It opens all cells
 * nearer than so many of their sides; for a region, cells too large for groups nearer to it than its centre by this
 * share of its radius. */
#define NB_OPENING_LEAST_FAR 1.2f
#define NB_OPENING_LEAST_LOCAL 1.8f /* radii of a sphere with a local expansion */
#define NB_OPENING_EAGER 0.3f
enum {
	NB_OPENING_REGION = 1024, /* bodies of a region, at most */
	NB_OPENING_GROUP = 32,	  /* a node of so few bodies never is one */
	NB_OPENING_MANY = 255	  /* bodies of a leaf, as far as a packed node says */
};

static inline double nb_opening_cuda(double theta, int order)
{
	return order < 3    ? pow(NB_OPENING_CUDA * theta, 5)
	       : order == 3 ? pow(NB_OPENING_CUDA_3 * theta, 4.4)
			    : pow(NB_OPENING_CUDA_4 * theta, 4.1);
}

/* Sources of orders 1 and 2, 3, 4 have estimates of sixth, seventh and eighth power between cells, and of fourth, fifth
 * and sixth on bodies.  An angle means the same error for all. */
static inline double nb_opening_cpu_of(double theta, double scale, double power)
{
	return 1 / (pow(scale * theta, -power) + pow(scale * NB_OPENING_LEVEL, -power));
}

static inline double nb_opening_cpu(double theta, int order)
{
	return order < 3    ? nb_opening_cpu_of(theta, NB_OPENING_CPU, 6)
	       : order == 3 ? nb_opening_cpu_of(theta, NB_OPENING_CPU_3, 5.5)
			    : nb_opening_cpu_of(theta, NB_OPENING_CPU_4, 4.46);
}

/* Weight of the error that unequal Plummer softenings make of a multipole, beside that of the multipole itself.  Theirs
 * have the same sign for all cells around, so they add up, and those of multipoles, for which the tolerance is meant,
 * do not.  Chosen so that errors are as with one softening where nb_opening_cpu is the tolerance.  The device's walk
 * holds them to that too: its own, for other estimates of multipoles, is 4 to 8 times larger. */
static inline double nb_opening_soft(double theta)
{
	return 30 * fmax(1, pow(2 * theta, 3));
}

#endif
