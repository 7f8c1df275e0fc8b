/* exposure_cuda.cu - which bodies are shown, how bright and in which colour, of bodies on the device.
 *
 * What is chosen once a movie takes quantiles by radix sort.  What each body gets is one pass, a thread a body. */
#include "kernels/picture/picture_internal.cuh"
#include "kernels/picture/picture_internal.h"

enum { THREADS = 256 };

/* ---- what the bodies are like --------------------------------------------------------------------- */

static __global__ void mass_kernel(size_t n, const double *mass, uint64_t *key)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		key[i] = nb_key_of(mass[i]);
}

int nb_exposure_masses_cuda(size_t n, const double *mass, struct nb_mass_scale *scale)
{
	nb_sorted sorted;
	double heaviest, heavy;
	NB_TRY(sorted.begin(n));
	mass_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, mass, sorted.key.ptr);
	NB_TRY(sorted.sort());
	NB_TRY(sorted.at(n - 1, &heaviest));
	NB_TRY(sorted.quantile(n, NB_HEAVY_SHARE, &heavy));
	nb_masses_of(heaviest, heavy, scale);
	return NB_OK;
}

static __device__ double speed_of(const double *vel, size_t i)
{
	return hypot(hypot(vel[3 * i], vel[3 * i + 1]), vel[3 * i + 2]);
}

static __global__ void speed_kernel(size_t n, const double *vel, uint64_t *key)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		key[i] = nb_key_of(fmin(speed_of(vel, i), 1e300));
}

int nb_exposure_speeds_cuda(size_t n, const double *vel, double *slow, double *fast)
{
	nb_sorted sorted;
	double low, high;
	NB_TRY(sorted.begin(n));
	speed_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, vel, sorted.key.ptr);
	NB_TRY(sorted.sort());
	NB_TRY(sorted.quantile(n, nb_slow_share(n), &low));
	NB_TRY(sorted.quantile(n, nb_fast_share(n), &high));
	nb_speeds_of(low, high, slow, fast);
	return NB_OK;
}

/* The surface density at each body in the picture, where there is any; *count = their number. */
static __global__ void light_kernel(size_t n, const float *x, const float *y, int width, int height, const float *image,
	uint64_t *key, unsigned long long *count)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	float at = 0;
	if (i < n && x[i] >= 0 && x[i] < (float)width && y[i] >= 0 && y[i] < (float)height)
		at = image[(size_t)y[i] * (size_t)width + (size_t)x[i]];
	if (i < n)
		key[i] = at > 0 ? nb_key_of(at) : ~(uint64_t)0;
	const unsigned lit = __ballot_sync(0xffffffffu, at > 0);
	if (threadIdx.x % 32 == 0 && lit)
		atomicAdd(count, (unsigned long long)__popc(lit));
}

int nb_exposure_range_cuda(size_t n, const float *x, const float *y, int width, int height, const float *image,
	enum nb_stretch stretch, float *lo, float *hi)
{
	nb_sorted sorted;
	nb_cuda_buffer<unsigned long long> d_count;
	unsigned long long count = 0;
	double least = 0, most = 0;
	if (n) {
		NB_TRY(sorted.begin(n));
		NB_TRY(d_count.alloc(1));
		NB_CUDA_TRY(cudaMemsetAsync(d_count.ptr, 0, sizeof count, 0));
		light_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(
			n, x, y, width, height, image, sorted.key.ptr, d_count.ptr);
		NB_TRY(sorted.sort());
		NB_CUDA_TRY(cudaMemcpy(&count, d_count.ptr, sizeof count, cudaMemcpyDeviceToHost));
	}
	if (count) {
		NB_TRY(sorted.quantile(count, NB_FAINT_SHARE, &least));
		NB_TRY(sorted.quantile(count, NB_BRIGHT_SHARE, &most));
	}
	nb_range_of(count, least, most, stretch, lo, hi);
	return NB_OK;
}

/* ---- which are shown ------------------------------------------------------------------------------ */

struct shown {
	const double *species;
	unsigned char hidden[NB_PICTURE_SPECIES];

	__device__ bool operator()(size_t i) const
	{
		return !nb_species_hidden(species[i], hidden);
	}
};

int nb_splat_visible_cuda(
	size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES], uint32_t *row, size_t *count)
{
	struct shown shown;
	shown.species = species;
	memcpy(shown.hidden, hidden, sizeof shown.hidden);
	return nb_rows_of(n, shown, row, count);
}

/* ---- what each body gets -------------------------------------------------------------------------- */

static __global__ void weight_kernel(
	size_t n, const double *mass, struct nb_mass_scale s, double cap, int nchannel, float *weight)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		weight[i * (size_t)nchannel] = s.massless ? 1 : (float)fmin(fmin(mass[i], cap) / s.unit, 1e24);
}

int nb_splat_weights_cuda(
	size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight)
{
	if (n == 0)
		return NB_OK;
	weight_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, mass, *scale, cap, nchannel, weight);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void speed_weight_kernel(
	size_t n, const double *vel, double slow, double fast, int nchannel, float *weight)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	float *w = &weight[i * (size_t)nchannel];
	const double t = (speed_of(vel, i) - slow) / (fast - slow);
	w[1] = w[0] * (float)(t > 0 ? (t < 1 ? t : 1) : 0);
}

int nb_splat_speed_weights_cuda(size_t n, const double *vel, double slow, double fast, int nchannel, float *weight)
{
	if (n == 0)
		return NB_OK;
	speed_weight_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, vel, slow, fast, nchannel, weight);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

struct palette {
	uint32_t colour[NB_PICTURE_SPECIES];
};

static __global__ void colour_weight_kernel(
	size_t n, const double *species, const __grid_constant__ struct palette palette, float *weight)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	float *w = &weight[4 * i];
	const uint32_t rgb = palette.colour[nb_species_of(species[i])];
	for (int k = 0; k < 3; k++)
		w[1 + k] = w[0] * (float)(rgb >> (16 - 8 * k) & 255) / 255;
}

int nb_splat_colour_weights_cuda(
	size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight)
{
	struct palette palette;
	if (n == 0)
		return NB_OK;
	memcpy(palette.colour, colour, sizeof palette.colour);
	colour_weight_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, species, palette, weight);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void disc_radius_kernel(size_t n, const double *mass, struct nb_mass_scale scale, const double *own,
	double pixels_per_length, double size, float *radius)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= n)
		return;
	const double share = scale.massless ? 1 : fmin(cbrt(mass[i] / scale.unit), 2.0);
	const double true_radius = own ? own[i] * pixels_per_length : 0;
	radius[i] = (float)fmin(fmax(fmax(__dmul_rn(1 + share, size), 1.5), true_radius), 1e6);
}

int nb_splat_disc_radii_cuda(size_t n, const double *mass, const struct nb_mass_scale *scale, const double *own,
	double pixels_per_length, double size, float *radius)
{
	if (n == 0)
		return NB_OK;
	disc_radius_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(
		n, mass, *scale, own, pixels_per_length, size, radius);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void sharpen_kernel(size_t n, const double *mass, double heavy, float spot, float *radius)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n && mass[i] > heavy)
		radius[i] = fminf(radius[i], fmaxf(radius[i] * (float)sqrt(heavy / mass[i]), spot));
}

int nb_splat_sharpen_cuda(size_t n, const double *mass, double heavy, float spot, float *radius)
{
	if (n == 0)
		return NB_OK;
	sharpen_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, mass, heavy, spot, radius);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
