/* cuda_internal.cuh - units and packed bodies for the CUDA kernels of the papers.
 *
 * The scale is found on the device (pair.h: powers of two, so that any units fit f32) and stays there; f32
 * positions are taken from the middle of the bounding box.  Padding has mass 0 at the middle and adds exactly 0. */
#ifndef NB_PAPERS_CUDA_INTERNAL_CUH
#define NB_PAPERS_CUDA_INTERNAL_CUH

#include <math.h>

#include "kernels/device/device.cuh"
#include "kernels/pair/pair.h"
#include "kernels/papers/papers.h"

/* Kernel units. */
struct paper_units {
	struct nb_pair_scale scale;
	double middle[3]; /* caller's units */
	double eps;	  /* scaled */
	int status;	  /* enum nb_status */
};

/* x, y, z, mass: the papers' float4 */
template <class T> struct alignas(16) paper_body {
	T x, y, z, m;
};
template <class T> struct paper_sum {
	T x, y, z;
};

template <class T> static __device__ __forceinline__ T paper_eps2(const struct paper_units *u);
template <> __device__ __forceinline__ float paper_eps2<float>(const struct paper_units *u)
{
	return nb_pair_eps2_f32(u->eps);
}
template <> __device__ __forceinline__ double paper_eps2<double>(const struct paper_units *u)
{
	return nb_pair_eps2_f64(u->eps);
}

/* 1 / sqrt(x), one instruction in f32, where x must be a normal number: rsqrtf costs more for the sake of others */
static __device__ __forceinline__ float paper_inverse_root(float x)
{
	float inverse;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
	return inverse;
}

static __device__ __forceinline__ double paper_inverse_root(double x)
{
	return rsqrt(x);
}

template <class T>
static __device__ __forceinline__ void paper_store(
	const struct paper_units *u, const paper_sum<T> &a, double *acc, size_t i)
{
	acc[3 * i] = (double)a.x * u->scale.acc_out;
	acc[3 * i + 1] = (double)a.y * u->scale.acc_out;
	acc[3 * i + 2] = (double)a.z * u->scale.acc_out;
}

/* ---- the scale ------------------------------------------------------------------------------------- */

enum { PAPER_BLOCKS = 128, PAPER_THREADS = 128, PAPER_VALUES = 9 };

/* 0..2 smallest, 3..5 largest coordinates, 6 largest mass, 7 largest |velocity component|, 8 not finite */
static __device__ __forceinline__ double paper_join(int q, double a, double b)
{
	return q < 3 ? fmin(a, b) : fmax(a, b);
}

static __global__ void __launch_bounds__(PAPER_THREADS)
	paper_survey_kernel(size_t n, const double *pos, const double *vel, const double *mass, double *part)
{
	__shared__ double value[PAPER_VALUES][PAPER_THREADS];
	double v[PAPER_VALUES] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY, 0, 0, 0};
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		bool finite = isfinite(mass[i]);
		for (int c = 0; c < 3; c++) {
			const double x = pos[3 * i + c];
			finite &= isfinite(x);
			v[c] = fmin(v[c], x);
			v[3 + c] = fmax(v[3 + c], x);
			if (vel) {
				finite &= isfinite(vel[3 * i + c]);
				v[7] = fmax(v[7], fabs(vel[3 * i + c]));
			}
		}
		v[6] = fmax(v[6], fabs(mass[i]));
		if (!finite)
			v[8] = 1;
	}
	for (int q = 0; q < PAPER_VALUES; q++)
		value[q][threadIdx.x] = v[q];
	for (unsigned half = PAPER_THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			for (int q = 0; q < PAPER_VALUES; q++)
				value[q][threadIdx.x] = paper_join(
					q, value[q][threadIdx.x], value[q][threadIdx.x + half]);
	}
	if (threadIdx.x == 0)
		for (int q = 0; q < PAPER_VALUES; q++)
			part[blockIdx.x * PAPER_VALUES + q] = value[q][0];
}

static __global__ void paper_units_kernel(
	const double *part, size_t n, const double *pos, double eps, double G, struct paper_units *units)
{
	__shared__ double v[PAPER_VALUES];
	if (threadIdx.x < PAPER_VALUES) {
		const int q = (int)threadIdx.x;
		v[q] = part[q];
		for (int b = 1; b < PAPER_BLOCKS; b++)
			v[q] = paper_join(q, v[q], part[b * PAPER_VALUES + q]);
	}
	__syncthreads();
	if (threadIdx.x > 0)
		return;
	struct paper_units u = {};
	double side = 0, far = 0;
	for (int c = 0; c < 3; c++) {
		side = fmax(side, v[3 + c] - v[c]);
		far = fmax(far, fmax(-v[c], v[3 + c]));
		u.middle[c] = 0.5 * v[c] + 0.5 * v[3 + c];
	}
	const double extent = fmax(side, 0x1p-60 * far), typical = fmax(nb_pair_typical(n, pos, extent), eps);
	/* positions about the middle of all bodies would put most of them in one place */
	u.scale = nb_pair_scale_of(nb_pair_power2(fmax(extent, eps), 20), v[6], v[7], G);
	u.eps = eps * u.scale.length;
	u.status = v[8] > 0 ? NB_ENONFINITE : !isfinite(side) ? NB_ELIMIT : typical < extent ? NB_EFAR : NB_OK;
	*units = u;
}

/* What every kernel does first: checks the arguments and finds the units. */
struct paper_call {
	const struct nb_gravity *g;
	nb_cuda_buffer<struct paper_units> units;
	nb_cuda_buffer<double> part;

	NB_MUST_CHECK int begin(const struct nb_gravity *gravity)
	{
		g = gravity;
		if (!(g->eps >= 0) || !isfinite(g->eps) || !isfinite(g->G) || (g->jerk && !g->vel))
			return NB_EINVAL;
		if (g->n >= (size_t)1 << 31)
			return NB_ELIMIT;
		if (g->n == 0)
			return NB_OK;
		NB_TRY(units.alloc(1));
		NB_TRY(part.alloc(PAPER_BLOCKS * PAPER_VALUES));
		paper_survey_kernel<<<PAPER_BLOCKS, PAPER_THREADS>>>(
			g->n, g->pos, g->jerk ? g->vel : nullptr, g->mass, part.ptr);
		NB_CUDA_LAUNCHED();
		paper_units_kernel<<<1, 32>>>(part.ptr, g->n, g->pos, g->eps, g->G, units.ptr);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}

	/* Waits, and says whether the input was finite. */
	NB_MUST_CHECK int end()
	{
		struct paper_units u;
		NB_CUDA_TRY(cudaMemcpy(&u, units.ptr, sizeof u, cudaMemcpyDeviceToHost));
		return u.status;
	}

	/* All pairs were done. */
	NB_MUST_CHECK int end_pairs(struct nb_gravity_count *count)
	{
		NB_TRY(end());
		if (count)
			count->p2p += (uint64_t)g->n * (g->n - 1);
		return NB_OK;
	}
};

/* Position of body i, scaled, from the middle. */
static __device__ __forceinline__ double paper_coordinate(
	const struct paper_units *u, const double *pos, size_t i, int c)
{
	return (pos[3 * i + c] - u->middle[c]) * u->scale.length;
}

template <class T>
static __global__ void paper_pack_kernel(size_t n, size_t padded, const double *pos, const double *mass,
	const struct paper_units *u, paper_body<T> *body)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i >= padded)
		return;
	paper_body<T> b = {0, 0, 0, 0};
	if (i < n) {
		b.x = (T)paper_coordinate(u, pos, i, 0);
		b.y = (T)paper_coordinate(u, pos, i, 1);
		b.z = (T)paper_coordinate(u, pos, i, 2);
		b.m = (T)(mass[i] * u->scale.mass);
	}
	body[i] = b;
}

template <class T>
static int paper_pack(const struct paper_call &call, size_t padded, nb_cuda_buffer<paper_body<T>> &body)
{
	NB_TRY(body.alloc(padded));
	paper_pack_kernel<T><<<nb_cuda_blocks(padded, 256), 256>>>(
		call.g->n, padded, call.g->pos, call.g->mass, call.units.ptr, body.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

#endif
