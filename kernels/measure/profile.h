/* profile.h - spherically averaged profiles: density, mean velocities and velocity dispersions in radial bins.
 * Plain arrays in host memory; the same bytes for any number of threads. */
#ifndef NB_MEASURE_PROFILE_H
#define NB_MEASURE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "kernels/measure/centre.h"

NB_C_BEGIN

enum { NB_PROFILE_BINS = 100000 };

/* What a profile is made of. */
struct nb_profile {
	size_t n;
	const double *mass, *pos, *vel; /* n, n x 3, n x 3 or NULL */
	int dim;			/* 2: rings instead of shells, and surface densities */
	int by_number;			/* means count each body once; 0: weighted with its mass */
	struct nb_centre centre;
	double axis[3]; /* unit vector: of the angle phi; 2-D: (0, 0, 1) */
};

/* A bin has the bodies at distances r from the centre with inner < r <= outer; the first one also those at its inner
 * edge.  Velocities are relative to the centre's and along the unit vectors of the spherical coordinates r, theta, phi
 * about the axis; a body exactly at the centre has no such components and is left out of v and sigma.  What is
 * undefined, as the mean of no body, is NaN. */
struct nb_profile_bin {
	double inner, outer;
	uint64_t n;
	double radius;	 /* mean distance */
	double mass;	 /* of the bodies in the bin */
	double within;	 /* of all bodies up to outer, also those inside of the first bin */
	double density;	 /* mass by the volume of the shell */
	double vel[3];	 /* mean velocity, cartesian */
	double v[3];	 /* mean velocity along r, theta, phi */
	double sigma[3]; /* dispersions about these means */
	double sigma_t;	 /* tangential, of one dimension: ((sigma_theta^2 + sigma_phi^2) / 2)^(1/2); 2-D: sigma_phi */
	double beta;	 /* anisotropy 1 - sigma_t^2 / sigma_r^2 (Binney & Tremaine 2008, section 4.3) */
};

/* bin[0 .. nbin - 1] from the edges, nbin + 1 of them, ascending and at least 0.  One pass.
 * NB_OK, NB_ENOMEM, NB_EINVAL (nbin is 0 or beyond NB_PROFILE_BINS). */
NB_MUST_CHECK int nb_profile_bins(
	const struct nb_profile *of, size_t nbin, const double *edge, struct nb_profile_bin *bin);

/* Distances from the centre: the smallest that is not 0, and the largest; both 0 if there are none. */
void nb_profile_extent(const struct nb_profile *of, double *nearest, double *farthest);

/* Edges between lo and hi: in equal ratios (0 < lo), in equal steps ... */
void nb_profile_edges_log(double lo, double hi, size_t nbin, double *edge);
void nb_profile_edges_linear(double lo, double hi, size_t nbin, double *edge);
/* ... or with the same mass between each two of them, or with by_number the same number of bodies; all NaN if there is
 * none. Edges in between are distances of bodies.  As nb_lagrangian_radii_cpu. */
NB_MUST_CHECK int nb_profile_edges_equal(const struct nb_profile *of, double lo, double hi, size_t nbin, double *edge);

NB_C_END
#endif
