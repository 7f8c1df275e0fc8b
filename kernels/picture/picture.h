/* picture.h - bodies as a picture: projection, smoothing lengths, surface density on a pixel grid.
 *
 * Pixel (column c, row r) is the square [c, c + 1) x [r, r + 1), row 0 on top; x grows to the right and y down.
 * The steps are nb_splat_project (where each body lies), nb_splat_radii (how wide to spread it), nb_splat (spread
 * them), nb_splat_stretch_cpu (brightness).  nb_camera_... and nb_exposure_... choose from the bodies what is shown and
 * how bright.  f32 throughout, after the shift to the camera's centre in f64: a picture has 8 bits.
 *
 * Arrays of bodies, and the image, live where the backend computes; everything else is in host memory.
 * x_cpu gives the same bytes for any number of threads, x_cuda on every run.  nb_splat_project, nb_splat_visible,
 * nb_splat_weights, nb_splat_colour_weights and nb_splat_sharpen give the same bytes on both, and so does nb_splat with
 * up to NB_SPLAT_SEGMENT bodies in any 16 x 16 pixels, of more to the rounding of a sum in f32; the rest agrees to
 * rounding (1e-15 where the result is f64, 1e-6 where it is f32). */
#ifndef NB_PICTURE_H
#define NB_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

NB_C_BEGIN

enum { NB_SPLAT_MAX_CHANNEL = 4, NB_SPLAT_MAX_SIZE = 16384 };

/* Up to so many bodies all count; of more, the outermost, fastest ... few percent are taken for exceptions. */
enum { NB_PICTURE_FEW = 100 };
/* Up to so many bodies are all in the picture, such as planets; of more, the outermost may make the rest a spot. */
enum { NB_PICTURE_WHOLE = 10 };

/* Species are numbers from 0 to NB_PICTURE_SPECIES - 1. */
enum { NB_PICTURE_SPECIES = 256 };

/* row[0 .. count - 1] = the bodies, in order, whose species is not one of the hidden; what is no species is not hidden
 * either.  row has room for n.  NB_ENOMEM; NB_ELIMIT: n >= 2^32, on the device 2^31. */
NB_MUST_CHECK int nb_splat_visible_cpu(
	size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES], uint32_t *row, size_t *count);
NB_MUST_CHECK int nb_splat_visible_cuda(
	size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES], uint32_t *row, size_t *count);

/* ---- where bodies lie ----------------------------------------------------------------------------- */

/* Orthographic camera. right and up are unit vectors at right angles; the line of sight does not matter. */
struct nb_camera {
	double centre[3]; /* what lies in the middle of the picture */
	double right[3], up[3];
	double pixels_per_length; /* > 0 */
	int width, height;	  /* 1..NB_SPLAT_MAX_SIZE */
};

/* Axes of a picture taken from that azimuth, from x towards y, and that elevation, in degrees, z upwards: (-90, 90)
 * shows x to the right and y up, (-90, 0) x and z, (0, 0) y and z, all of them exactly. */
void nb_camera_axes(double azimuth, double elevation, double right[3], double up[3]);

/* A centre that a few distant bodies do not move: the centre of mass of those within the 98th percentile of the
 * distance from the component-wise median; of all bodies where n <= NB_PICTURE_FEW.  Bodies count equally where all
 * masses are 0.  n x 3 positions, n masses, n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_splat_centre_cpu(size_t n, const double *pos, const double *mass, double centre[3]);
NB_MUST_CHECK int nb_splat_centre_cuda(size_t n, const double *pos, const double *mass, double centre[3]);

/* Quantile q in [0, 1] of the bodies' distance from centre; 1: the largest.  n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_splat_extent_cpu(size_t n, const double *pos, const double centre[3], double q, double *radius);

/* The length that a picture about centre should show: 2.4 times the distance within which 95 % of the bodies lie, all
 * of them where n <= NB_PICTURE_WHOLE; 1 where that is 0, at most 1e300.  n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_camera_size_cpu(size_t n, const double *pos, const double centre[3], double *size);
NB_MUST_CHECK int nb_camera_size_cuda(size_t n, const double *pos, const double centre[3], double *size);

/* In host memory.  The length that the smaller edge of the picture must show so that this share, in (0, 1], of the n >
 * 0 bodies lies in it, whatever camera->pixels_per_length is; at most 1e300.  NB_ENOMEM. */
NB_MUST_CHECK int nb_camera_keep(
	size_t n, const double *pos, const struct nb_camera *camera, double share, double *size);

/* In host memory.  Where n > 0 bodies lie closest: the mean of the bodies in a sphere that shrinks about it until 32
 * are left, or n / 32.  It begins with all bodies, or with the quarter nearest to start, if that is not NULL.
 * NB_ENOMEM. Source: the shrinking spheres of Power et al. 2003, MNRAS 338, 14, by number instead of radius. */
NB_MUST_CHECK int nb_camera_densest(size_t n, const double *pos, const double *start, double centre[3]);

/* Pixel coordinates of n bodies.  Bodies far outside of the picture (more than its size beyond its edges, or
 * where the arithmetic overflows) are marked by x = y = NB_SPLAT_AWAY; every other function skips those. */
#define NB_SPLAT_AWAY (-1e9f)
NB_MUST_CHECK int nb_splat_project_cpu(size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y);
NB_MUST_CHECK int nb_splat_project_cuda(
	size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y);

/* ---- how wide to spread them ---------------------------------------------------------------------- */

/* Smoothing radius of each body, in pixels: such that a smooth kernel of that radius holds about so many
 * neighbours at the local number of bodies per pixel; between NB_SPLAT_MIN_RADIUS and a sixth of the smaller edge
 * of the picture.  neighbours = 0: the smallest everywhere.
 * Method: counts on grids of 2, 4, 8 ... pixels, read bilinearly where the body is, and interpolated in the
 * logarithm of the cell size; O(n log(size)).  NB_ENOMEM, NB_EINVAL. */
#define NB_SPLAT_MIN_RADIUS 2.0f
NB_MUST_CHECK int nb_splat_radii_cpu(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius);
NB_MUST_CHECK int nb_splat_radii_cuda(
	size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius);

/* How many neighbours suit n bodies: many bodies can afford to be smoothed, few would be a single blot.  8..64 for the
 * few that are drawn as points, too; 192..512 from NB_PICTURE_MANY on, so that chance leaves no more than a tenth of
 * the density, and less for more. */
enum { NB_PICTURE_MANY = 10000 };
double nb_exposure_neighbours(size_t n);

/* A body much heavier than its neighbours, such as a black hole, is a small spot and no cloud: lowers the radius of
 * those of more than the mass heavy in proportion to (heavy / mass)^(1/2), though not below spot. */
NB_MUST_CHECK int nb_splat_sharpen_cpu(size_t n, const double *mass, double heavy, float spot, float *radius);
NB_MUST_CHECK int nb_splat_sharpen_cuda(size_t n, const double *mass, double heavy, float spot, float *radius);

/* What masses are like in a picture. */
struct nb_mass_scale {
	double unit;  /* mass of weight 1: the heaviest body; 1 where all masses are 0 */
	int massless; /* all masses are 0: bodies count equally */
	double heavy; /* the heaviest hundredth is heavier than this; INFINITY where that is 0 */
};

/* n > 0 masses >= 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_exposure_masses_cpu(size_t n, const double *mass, struct nb_mass_scale *scale);
NB_MUST_CHECK int nb_exposure_masses_cuda(size_t n, const double *mass, struct nb_mass_scale *scale);

/* Radii of n bodies as discs, in pixels: size for those of no mass, growing with the cube root of the mass to twice
 * that for the heaviest, but at least 1.5, and their own radius (in lengths; NULL: none) where it is larger. */
NB_MUST_CHECK int nb_splat_disc_radii_cpu(size_t n, const double *mass, const struct nb_mass_scale *scale,
	const double *own, double pixels_per_length, double size, float *radius);
NB_MUST_CHECK int nb_splat_disc_radii_cuda(size_t n, const double *mass, const struct nb_mass_scale *scale,
	const double *own, double pixels_per_length, double size, float *radius);

/* The size that suits n bodies: 1/180 of the picture's height, less for more than 10. */
double nb_exposure_disc_size(size_t n, int height);

/* ---- spread them ---------------------------------------------------------------------------------- */

/* Weights of n bodies, channel 0 of nchannel: the mass, cut at cap (INFINITY: nowhere), in units of the scale's; 1
 * where that is massless. */
NB_MUST_CHECK int nb_splat_weights_cpu(
	size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight);
NB_MUST_CHECK int nb_splat_weights_cuda(
	size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight);

/* Channels 1 to 3 of 4: channel 0 times red, green and blue of the species, as a share of 255; colour[k] = 0xrrggbb.
 * What is no species is shown as species 0. */
NB_MUST_CHECK int nb_splat_colour_weights_cpu(
	size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight);
NB_MUST_CHECK int nb_splat_colour_weights_cuda(
	size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight);

/* Channel 1: channel 0 times the speed, as a number that goes from 0 at slow to 1 at fast.  vel n x 3, slow < fast. */
NB_MUST_CHECK int nb_splat_speed_weights_cpu(
	size_t n, const double *vel, double slow, double fast, int nchannel, float *weight);
NB_MUST_CHECK int nb_splat_speed_weights_cuda(
	size_t n, const double *vel, double slow, double fast, int nchannel, float *weight);

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

/* Sums the bodies onto the pixels, each pixel in the order of the bodies, so that the result does not depend on the
 * threads.  CUDA sums NB_SPLAT_SEGMENT bodies of a tile of 16 x 16 pixels at a time, and then adds these sums in order.
 * NB_ENOMEM, NB_EINVAL, NB_ELIMIT. */
enum { NB_SPLAT_SEGMENT = 4096 };
NB_MUST_CHECK int nb_splat_cpu(const struct nb_splat *splat);
NB_MUST_CHECK int nb_splat_cuda(const struct nb_splat *splat);

/* ---- brightness and speed ------------------------------------------------------------------------- */

enum nb_stretch { NB_STRETCH_ASINH, NB_STRETCH_LOG, NB_STRETCH_LINEAR };

/* In host memory.  v = brightness in [0, 1] of each s, never NaN.
 *   linear  (s - lo) / (hi - lo)
 *   log     log(s / lo) / log(hi / lo), 0 below lo
 *   asinh   asinh(s / lo) / asinh(hi / lo): linear well below lo, logarithmic above
 * hi > lo; lo > 0 except for linear.  In place (v == s) is allowed. */
void nb_splat_stretch_cpu(size_t n, const float *s, enum nb_stretch stretch, float lo, float hi, float *v);

/* The range for a stretch from the surface densities at the bodies in the picture: each counts once, and 2 % of them
 * are brighter than hi; lo is half of what 5 % stay below, a tenth for log, which shows nothing below lo, but as
 * nb_exposure_lowest bounds it.
 *   x, y   pixel coordinates of n bodies       image   height x width surface densities
 * Where there are no bodies in the picture hi is 1.  NB_ENOMEM. */
NB_MUST_CHECK int nb_exposure_range_cpu(size_t n, const float *x, const float *y, int width, int height,
	const float *image, enum nb_stretch stretch, float *lo, float *hi);
NB_MUST_CHECK int nb_exposure_range_cuda(size_t n, const float *x, const float *y, int width, int height,
	const float *image, enum nb_stretch stretch, float *lo, float *hi);

/* lo within [hi / 10000, hi / 40], for log [hi / 100000, hi / 40]; 0 for a linear stretch.  With a narrower range the
 * noise of the bodies would be most of what is seen of a thing of one density. */
float nb_exposure_lowest(enum nb_stretch stretch, float lo, float hi);

/* In host memory.  *share = pixels of at least NB_TOP of the brightness among those of at least NB_LIT, for the range
 * from lo to *hi; where it is more than most, *hi becomes the least above it, in steps below 1 %, for which it is not.
 * NB_ENOMEM. */
#define NB_LIT (1.0f / 32)
#define NB_TOP 0.98f
NB_MUST_CHECK int nb_exposure_limit(
	size_t n, const float *image, enum nb_stretch stretch, double most, float lo, float *hi, double *share);

/* Speeds between which colours change: the 2nd and 98th percentile, the extremes where n <= NB_PICTURE_FEW; slow < fast
 * always: 0 and the speed where all are equal, 0 and 1 where all are 0.  vel n x 3, n > 0.  NB_ENOMEM. */
NB_MUST_CHECK int nb_exposure_speeds_cpu(size_t n, const double *vel, double *slow, double *fast);
NB_MUST_CHECK int nb_exposure_speeds_cuda(size_t n, const double *vel, double *slow, double *fast);

NB_C_END
#endif
