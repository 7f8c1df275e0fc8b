/* camera_cuda.cu - where a camera stands and what it sees, of bodies on the device.
 *
 * The centre and the size are chosen once a movie: quantiles by radix sort, sums in chunks (measure.cuh).  Bodies are
 * projected for each picture, a thread a body, 24 bytes read and 8 written.  Products are rounded before sums, as on
 * the CPU, so that a camera gives the same pixel coordinates on both. */
#include "kernels/measure/measure.cuh"
#include "kernels/measure/measure.h"
#include "kernels/picture/picture_internal.cuh"
#include "kernels/picture/picture_internal.h"

enum { THREADS = NB_SUM_THREADS };

struct point {
	double x, y, z;
};

static __device__ double distance(const double *pos, size_t i, struct point from)
{
	return hypot(hypot(pos[3 * i] - from.x, pos[3 * i + 1] - from.y), pos[3 * i + 2] - from.z);
}

/* ---- quantiles ------------------------------------------------------------------------------------ */

static __global__ void coordinate_kernel(size_t n, const double *pos, int k, uint64_t *key)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		key[i] = nb_key_of(pos[3 * i + k]);
}

static __global__ void distance_kernel(size_t n, const double *pos, struct point from, uint64_t *key)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		key[i] = nb_key_of(distance(pos, i, from));
}

static int median(size_t n, const double *pos, int k, double *x)
{
	nb_sorted sorted;
	NB_TRY(sorted.begin(n));
	coordinate_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, k, sorted.key.ptr);
	NB_TRY(sorted.sort());
	return sorted.quantile(n, 0.5, x);
}

static int extent(size_t n, const double *pos, struct point centre, double q, double *radius)
{
	nb_sorted sorted;
	NB_TRY(sorted.begin(n));
	distance_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, centre, sorted.key.ptr);
	NB_TRY(sorted.sort());
	return sorted.quantile(n, q, radius);
}

int nb_camera_size_cuda(size_t n, const double *pos, const double centre[3], double *size)
{
	const struct point at = {centre[0], centre[1], centre[2]};
	double radius;
	NB_TRY(extent(n, pos, at, nb_size_share(n), &radius));
	*size = nb_size_of(radius);
	return NB_OK;
}

/* ---- centre --------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
	heaviest_kernel(size_t n, size_t chunk, const double *mass, double *partial)
{
	const size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
	double most = 0;
	for (size_t i = begin + threadIdx.x; i < end; i += THREADS)
		most = fmax(most, mass[i]);
	nb_max_block(most, partial + blockIdx.x);
}

static int find_heaviest(size_t n, const double *mass, double *heaviest)
{
	nb_sum_table most;
	NB_TRY(most.begin(n, 1));
	heaviest_kernel<<<(unsigned)most.nchunk, THREADS>>>(n, most.chunk, mass, most.d.ptr);
	NB_TRY(most.end());
	*heaviest = 0;
	for (size_t c = 0; c < most.nchunk; c++)
		*heaviest = fmax(*heaviest, most.host[c]);
	return NB_OK;
}

/* Sums of w x, w y, w z and w over the bodies not farther from there than within. */
static __global__ void __launch_bounds__(THREADS) centre_kernel(size_t n, size_t chunk, const double *pos,
	const double *mass, double heaviest, struct point from, double within, double *partial)
{
	const size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
	double sum[4] = {};
	for (size_t i = begin + threadIdx.x; i < end; i += THREADS) {
		if (distance(pos, i, from) > within)
			continue;
		const double w = heaviest > 0 ? mass[i] / heaviest : 1;
		for (int k = 0; k < 3; k++)
			sum[k] += __dmul_rn(w, pos[3 * i + k]);
		sum[3] += w;
	}
	nb_sum_block(sum, partial + 4 * (size_t)blockIdx.x);
}

int nb_splat_centre_cuda(size_t n, const double *pos, const double *mass, double centre[3])
{
	double middle[3] = {0, 0, 0}, within = INFINITY, heaviest = 0, sum[4];
	if (n > NB_PICTURE_FEW)
		for (int k = 0; k < 3; k++)
			NB_TRY(median(n, pos, k, &middle[k]));
	const struct point from = {middle[0], middle[1], middle[2]};
	if (n > NB_PICTURE_FEW)
		NB_TRY(extent(n, pos, from, NB_CENTRE_SHARE, &within));
	NB_TRY(find_heaviest(n, mass, &heaviest));
	nb_sum_table sums;
	NB_TRY(sums.begin(n, 4));
	centre_kernel<<<(unsigned)sums.nchunk, THREADS>>>(n, sums.chunk, pos, mass, heaviest, from, within, sums.d.ptr);
	NB_TRY(sums.end());
	for (size_t k = 0; k < 4; k++)
		sum[k] = nb_sum_column(sums.nchunk, sums.host, 4, k);
	nb_centre_of(sum, sum[3], middle, centre);
	return NB_OK;
}

/* ---- projection ----------------------------------------------------------------------------------- */

static __device__ double along(const double d[3], const double axis[3])
{
	return __dadd_rn(__dadd_rn(__dmul_rn(d[0], axis[0]), __dmul_rn(d[1], axis[1])), __dmul_rn(d[2], axis[2]));
}

static __global__ void project_kernel(size_t n, const double *pos, struct nb_camera c, float *x, float *y)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	const double w = c.width, h = c.height, scale = c.pixels_per_length;
	const double d[3] = {pos[3 * i] - c.centre[0], pos[3 * i + 1] - c.centre[1], pos[3 * i + 2] - c.centre[2]};
	const double u = __dadd_rn(w / 2, __dmul_rn(along(d, c.right), scale));
	const double v = __dsub_rn(h / 2, __dmul_rn(along(d, c.up), scale));
	const bool near = u >= -w && u <= 2 * w && v >= -h && v <= 2 * h; /* false for NaN */
	x[i] = near ? (float)u : NB_SPLAT_AWAY;
	y[i] = near ? (float)v : NB_SPLAT_AWAY;
}

int nb_splat_project_cuda(size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y)
{
	if (!(camera->pixels_per_length > 0 && isfinite(camera->pixels_per_length)))
		return NB_EINVAL;
	if (n == 0)
		return NB_OK;
	project_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, *camera, x, y);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
