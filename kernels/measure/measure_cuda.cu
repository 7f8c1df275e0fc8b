/* measure_cuda.cu - energies, momenta and Lagrangian radii of bodies that are on the device.
 *
 * moments, potential energy   One pass, bandwidth-bound: 56 and 16 bytes a body.  A block a chunk (measure.cuh).
 * Lagrangian radii            The squared distances are sorted by radix, as bit patterns, which ascend as the numbers
 *                             do; the masses are summed in that order, chunk by chunk; the host finds the chunk in
 *                             which each radius is, and a block for each radius goes through that chunk in order.
 * Products are rounded before they are added, as on the CPU: an angular momentum or a sum that is exactly 0 there is
 * exactly 0 here, and distances and speeds are the same. */
#include "kernels/measure/measure.cuh"
#include "kernels/measure/measure_internal.h"
#include "kernels/order/order.h"

#include <math.h>
#include <string.h>

enum { THREADS = NB_SUM_THREADS };

static __device__ double square(double x, double y, double z)
{
	return __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z));
}

/* a d - b c */
static __device__ double determinant(double a, double b, double c, double d)
{
	return __dsub_rn(__dmul_rn(a, d), __dmul_rn(b, c));
}

/* ---- moments ------------------------------------------------------------------------------------ */

static __device__ void add_motion(double m, const double x[3], const double v[3], double *sum, double *fastest)
{
	const double v2 = square(v[0], v[1], v[2]);
	sum[NB_MOMENT_EKIN] += __dmul_rn(m, v2);
	for (int k = 0; k < 3; k++)
		sum[NB_MOMENT_MOMENTUM + k] += __dmul_rn(m, v[k]);
	sum[NB_MOMENT_ANGULAR] += __dmul_rn(m, determinant(x[1], x[2], v[1], v[2]));
	sum[NB_MOMENT_ANGULAR + 1] += __dmul_rn(m, determinant(x[2], x[0], v[2], v[0]));
	sum[NB_MOMENT_ANGULAR + 2] += __dmul_rn(m, determinant(x[0], x[1], v[0], v[1]));
	*fastest = v2 > *fastest ? v2 : *fastest;
}

static __global__ void __launch_bounds__(THREADS) moments_kernel(
	size_t n, size_t chunk, const double *mass, const double *pos, const double *vel, double *partial)
{
	const size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
	double sum[NB_MOMENT_SPEED2] = {}, fastest = 0;
	for (size_t i = begin + threadIdx.x; i < end; i += THREADS) {
		const double m = mass[i], x[3] = {pos[3 * i], pos[3 * i + 1], pos[3 * i + 2]};
		sum[NB_MOMENT_MASS] += m;
		for (int k = 0; k < 3; k++)
			sum[NB_MOMENT_COM + k] += __dmul_rn(m, x[k]);
		if (vel) {
			const double v[3] = {vel[3 * i], vel[3 * i + 1], vel[3 * i + 2]};
			add_motion(m, x, v, sum, &fastest);
		}
	}
	double *row = partial + (size_t)blockIdx.x * NB_MOMENT_WIDTH;
	nb_sum_block(sum, row);
	nb_max_block(fastest, row + NB_MOMENT_SPEED2);
}

int nb_moments_cuda(size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments)
{
	nb_sum_table sums;
	NB_TRY(sums.begin(n, NB_MOMENT_WIDTH));
	if (n) {
		moments_kernel<<<(unsigned)sums.nchunk, THREADS>>>(n, sums.chunk, mass, pos, vel, sums.d.ptr);
		NB_TRY(sums.end());
	}
	nb_moments_of(n, vel != nullptr, sums.nchunk, sums.host, moments);
	return NB_OK;
}

static __global__ void __launch_bounds__(THREADS)
	potential_kernel(size_t n, size_t chunk, const double *mass, const double *pot, double *partial)
{
	const size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
	double sum[1] = {};
	for (size_t i = begin + threadIdx.x; i < end; i += THREADS)
		sum[0] += __dmul_rn(mass[i], pot[i]);
	nb_sum_block(sum, partial + blockIdx.x);
}

int nb_potential_energy_cuda(size_t n, const double *mass, const double *pot, double *epot)
{
	nb_sum_table sums;
	NB_TRY(sums.begin(n, 1));
	if (n) {
		potential_kernel<<<(unsigned)sums.nchunk, THREADS>>>(n, sums.chunk, mass, pot, sums.d.ptr);
		NB_TRY(sums.end());
	}
	*epot = 0.5 * nb_sum_column(sums.nchunk, sums.host, 1, 0);
	return NB_OK;
}

/* ---- Lagrangian radii --------------------------------------------------------------------------- */

struct point {
	double x, y, z;
};

static __global__ void distance_kernel(size_t n, const double *pos, struct point centre, uint64_t *key)
{
	const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		key[i] = (uint64_t)__double_as_longlong(
			square(pos[3 * i] - centre.x, pos[3 * i + 1] - centre.y, pos[3 * i + 2] - centre.z));
}

static __global__ void __launch_bounds__(THREADS)
	mass_kernel(size_t n, size_t chunk, const double *mass, const uint32_t *perm, double *partial)
{
	const size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
	double sum[1] = {};
	for (size_t i = begin + threadIdx.x; i < end; i += THREADS)
		sum[0] += mass[perm[i]];
	nb_sum_block(sum, partial + blockIdx.x);
}

/* Where to look for a radius: bodies begin <= i < end of the order, before which there is the mass within. */
struct search {
	size_t begin, end;
	double within, target;
};

static const size_t most_searches = 32; /* of a launch */
struct searches {
	struct search search[most_searches];
};

/* square2[k] = the squared distance at which the mass of search k reaches its target, or that of its last body. */
static __global__ void __launch_bounds__(THREADS) search_kernel(
	struct searches searches, const double *mass, const uint32_t *perm, const uint64_t *key, uint64_t *square2)
{
	__shared__ double m[THREADS];
	__shared__ bool found;
	const struct search s = searches.search[blockIdx.x];
	double within = s.within;
	if (threadIdx.x == 0) {
		found = false;
		square2[blockIdx.x] = key[s.end - 1];
	}
	for (size_t first = s.begin; first < s.end; first += THREADS) {
		const size_t left = s.end - first;
		const unsigned count = left < THREADS ? (unsigned)left : THREADS;
		if (threadIdx.x < count)
			m[threadIdx.x] = mass[perm[first + threadIdx.x]];
		__syncthreads();
		if (threadIdx.x == 0) {
			unsigned k = 0;
			while (k < count && (within += m[k]) < s.target)
				k++;
			found = k < count;
			if (found)
				square2[blockIdx.x] = key[first + k];
		}
		__syncthreads();
		if (found)
			break;
	}
}

/* The bodies in the order of their distance, and the sums of their masses. */
struct shells {
	nb_cuda_buffer<uint64_t> key;
	nb_cuda_buffer<uint32_t> perm;
	nb_sum_table inside;

	NB_MUST_CHECK int sort(size_t n, const double *mass, const double *pos, const double centre[3])
	{
		NB_TRY(key.alloc(n));
		NB_TRY(perm.alloc(n));
		NB_TRY(inside.begin(n, 1));
		const struct point at = {centre[0], centre[1], centre[2]};
		distance_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, pos, at, key.ptr);
		NB_CUDA_LAUNCHED();
		NB_TRY(nb_sort_keys_cuda(n, key.ptr, perm.ptr));
		mass_kernel<<<(unsigned)inside.nchunk, THREADS>>>(n, inside.chunk, mass, perm.ptr, inside.d.ptr);
		return inside.end();
	}

	NB_MUST_CHECK int search(
		size_t n, const double *mass, double total, size_t count, const double *fraction, double *radius) const
	{
		struct searches searches;
		uint64_t found[most_searches];
		nb_cuda_buffer<uint64_t> d_found;
		NB_TRY(d_found.alloc(most_searches));
		for (size_t k = 0; k < count; k++) {
			const double target = nb_mass_target(fraction[k], total);
			const size_t c = nb_chunk_of_mass(target, inside.nchunk, inside.host);
			const size_t begin = c * inside.chunk, left = n - begin;
			const size_t end = begin + (left < inside.chunk ? left : inside.chunk);
			searches.search[k] = {begin, end, c ? inside.host[c - 1] : 0, target};
		}
		search_kernel<<<(unsigned)count, THREADS>>>(searches, mass, perm.ptr, key.ptr, d_found.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemcpy(found, d_found.ptr, count * sizeof *found, cudaMemcpyDeviceToHost));
		for (size_t k = 0; k < count; k++) {
			double square2;
			memcpy(&square2, &found[k], sizeof square2);
			radius[k] = sqrt(square2);
		}
		return NB_OK;
	}
};

int nb_lagrangian_radii_cuda(size_t n, const double *mass, const double *pos, const double centre[3], size_t nfraction,
	const double *fraction, double *radius)
{
	struct shells shells;
	for (size_t k = 0; k < nfraction; k++)
		radius[k] = NAN;
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (n == 0 || nfraction == 0)
		return NB_OK;
	NB_TRY(shells.sort(n, mass, pos, centre));
	const double total = nb_sum_running(shells.inside.nchunk, shells.inside.host);
	for (size_t k = 0; k < nfraction && total > 0; k += most_searches) {
		const size_t count = nfraction - k < most_searches ? nfraction - k : most_searches;
		NB_TRY(shells.search(n, mass, total, count, fraction + k, radius + k));
	}
	return NB_OK;
}
