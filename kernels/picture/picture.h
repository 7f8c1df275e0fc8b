/* picture.h - bodies as a picture: projection, smoothing lengths, surface density on a pixel grid.
 *
 * Pixel (column c, row r) is the square [c, c + 1) x [r, r + 1), row 0 on top; x grows to the right and y down.
 * The steps are nb_splat_project (where each body lies), nb_splat_radii (how wide to spread it), nb_splat
 * (spread them), nb_splat_stretch (brightness).  Every function gives the same bytes for any number of threads.
 * f32 throughout, after the shift to the camera's centre in f64: a picture has 8 bits. */
#ifndef NB_PICTURE_H
#define NB_PICTURE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NB_SPLAT_MAX_CHANNEL = 4, NB_SPLAT_MAX_SIZE = 16384 };

/* Up to so many bodies all count; of more, the outermost, fastest ... few percent are taken for exceptions. */
enum { NB_PICTURE_FEW = 100 };

/* Orthographic camera. right and up are unit vectors at right angles; the line of sight does not matter. */
struct nb_camera {
	double centre[3]; /* what lies in the middle of the picture */
	double right[3], up[3];
	double pixels_per_length; /* > 0 */
	int width, height;	  /* 1..NB_SPLAT_MAX_SIZE */
};

/* A centre that a few distant bodies do not move: the centre of mass of those within the 98th percentile of the
 * distance from the component-wise median; of all bodies where n <= NB_PICTURE_FEW.  Bodies count equally where all
 * masses are 0.  n x 3 positions, n masses, n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_splat_centre_cpu(size_t n, const double *pos, const double *mass, double centre[3]);

/* Quantile q in [0, 1] of the bodies' distance from centre; 1: the largest.  n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_splat_extent_cpu(size_t n, const double *pos, const double centre[3], double q, double *radius);

/* Element number floor(q (n - 1)) of x in ascending order, q in [0, 1], n > 0, no NaN.  x is reordered. */
double nb_splat_quantile(size_t n, double *x, double q);

/* Pixel coordinates of n bodies.  Bodies far outside of the picture (more than its size beyond its edges, or
 * where the arithmetic overflows) are marked by x = y = NB_SPLAT_AWAY; every other function skips those. */
#define NB_SPLAT_AWAY (-1e9f)
NB_MUST_CHECK int nb_splat_project_cpu(size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y);

/* Smoothing radius of each body, in pixels: such that a smooth kernel of that radius holds about so many
 * neighbours at the local number of bodies per pixel; between NB_SPLAT_MIN_RADIUS and a sixth of the smaller edge
 * of the picture.  neighbours = 0: the smallest everywhere.
 * Method: counts on grids of 2, 4, 8 ... pixels, read bilinearly where the body is, and interpolated in the
 * logarithm of the cell size; O(n log(size)).  NB_ENOMEM, NB_EINVAL. */
#define NB_SPLAT_MIN_RADIUS 2.0f
NB_MUST_CHECK int nb_splat_radii_cpu(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius);

enum nb_splat_shape {
	/* Kernel 5 / (pi radius^2) (1 - d^2 / radius^2)^4 at distance d, close to a Gaussian of sigma = 0.29 radius.
	 * The pixels of a body sum to its weight within 0.5 %, from a radius of 4 pixels on within 0.01 %. */
	NB_SPLAT_SMOOTH,
	/* Disc of that radius with an anti-aliased edge, value 1 times the weight, in a glow four radii wide, though
	 * no more than a twentieth of the picture's height. */
	NB_SPLAT_DISC
};

struct nb_splat {
	size_t n;	     /* < 2^32, else NB_ELIMIT */
	const float *x, *y;  /* n each, from nb_splat_project */
	const float *radius; /* n, pixels; raised to NB_SPLAT_MIN_RADIUS (discs: 1), lowered to 1024 */
	const float *weight; /* n x nchannel, finite */
	int nchannel;	     /* 1..NB_SPLAT_MAX_CHANNEL */
	enum nb_splat_shape shape;
	int width, height;
	float *image; /* nchannel planes of height x width, out, overwritten */
};

/* Sums the bodies onto the pixels.  The picture is cut into bands of rows, each summed by one thread in the
 * order of the bodies, so that the result does not depend on the threads. NB_ENOMEM, NB_EINVAL, NB_ELIMIT. */
NB_MUST_CHECK int nb_splat_cpu(const struct nb_splat *splat);

enum nb_stretch { NB_STRETCH_ASINH, NB_STRETCH_LOG, NB_STRETCH_LINEAR };

/* v = brightness in [0, 1] of each s, never NaN.
 *   linear  (s - lo) / (hi - lo)
 *   log     log(s / lo) / log(hi / lo), 0 below lo
 *   asinh   asinh(s / lo) / asinh(hi / lo): linear well below lo, logarithmic above
 * hi > lo; lo > 0 except for linear.  In place (v == s) is allowed. */
void nb_splat_stretch_cpu(size_t n, const float *s, enum nb_stretch stretch, float lo, float hi, float *v);

#ifdef __cplusplus
}
#endif
#endif
