/* Kick and drift on the device: one thread a number, a grid-stride loop, bandwidth-bound (24 bytes moved a flop
 * pair).  The product is rounded before the sum, as on the CPU, so both give the same bytes. */
#include "common/periodic.h"
#include "kernels/device/device.cuh"
#include "kernels/motion/step.h"
#include "kernels/order/order.cuh"

enum { BLOCK = 256, MAX_GRID = 4096 };

static unsigned grid(size_t count)
{
	const unsigned blocks = nb_cuda_blocks(count, BLOCK), most = MAX_GRID;
	return blocks < most ? blocks : most;
}

static __global__ void add_scaled_kernel(size_t count, double *__restrict__ a, const double *__restrict__ b, double dt)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		a[i] = __dadd_rn(a[i], __dmul_rn(b[i], dt));
}

static int add_scaled(size_t n, double *a, const double *b, double dt)
{
	const size_t count = 3 * n;
	if (count == 0)
		return NB_OK;
	add_scaled_kernel<<<grid(count), BLOCK>>>(count, a, b, dt);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_kick_cuda(size_t n, double *vel, const double *acc, double dt)
{
	return add_scaled(n, vel, acc, dt);
}

int nb_drift_cuda(size_t n, double *pos, const double *vel, double dt)
{
	return add_scaled(n, pos, vel, dt);
}

/* n: numbers; a multiple of three blocks, so that a thread meets one axis. */
static __global__ void __launch_bounds__(BLOCK)
	kick_drift_kernel(size_t n, double *__restrict__ pos, double *__restrict__ vel, const double *__restrict__ acc,
		double before, double kick, double drift, struct nb_bounds *bounds)
{
	__shared__ struct nb_bounds part;
	const size_t step = (size_t)gridDim.x * BLOCK, start = blockIdx.x * (size_t)BLOCK + threadIdx.x;
	unsigned long long top = 0, bottom = 0;
	bool found = false;
	if (threadIdx.x == 0)
		part = {};
	__syncthreads();
	for (size_t i = start; i < n; i += step) {
		double v = vel[i];
		if (before != 0)
			v = __dadd_rn(v, __dmul_rn(acc[i], before));
		if (kick != 0)
			v = __dadd_rn(v, __dmul_rn(acc[i], kick));
		if (before != 0 || kick != 0)
			vel[i] = v;
		const double x = __dadd_rn(pos[i], __dmul_rn(v, drift));
		pos[i] = x;
		found |= !isfinite(x);
		const unsigned long long key = nb_ordered_bits((unsigned long long)__double_as_longlong(x));
		top = max(top, key);
		bottom = max(bottom, ~key);
	}
	atomicMax(&part.top[start % 3], top);
	atomicMax(&part.bottom[start % 3], bottom);
	if (found)
		part.bad = 1;
	__syncthreads();
	if (threadIdx.x < 3) {
		atomicMax(&bounds->top[threadIdx.x], part.top[threadIdx.x]);
		atomicMax(&bounds->bottom[threadIdx.x], part.bottom[threadIdx.x]);
		if (part.bad)
			bounds->bad = 1;
	}
}

int nb_kick_drift_cuda(size_t n, double *pos, double *vel, const double *acc, double before, double kick, double drift,
	double extent[7])
{
	nb_cuda_buffer<struct nb_bounds> bounds;
	struct nb_bounds found;
	int sms;
	if (n == 0)
		return nb_kick_drift_cpu(0, NULL, NULL, NULL, 0, 0, 0, extent);
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_TRY(bounds.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(bounds.ptr, 0, sizeof found, 0));
	const unsigned want = nb_cuda_blocks(3 * n, 3 * BLOCK), most = 8 * (unsigned)sms / 3;
	kick_drift_kernel<<<3 * (want < most ? want : most), BLOCK>>>(
		3 * n, pos, vel, acc, before, kick, drift, bounds.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, bounds.ptr, sizeof found, cudaMemcpyDeviceToHost));
	nb_box_of_bounds(&found, extent);
	return NB_OK;
}

static __global__ void wrap_kernel(size_t count, double *pos, double box, int single)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		pos[i] = nb_periodic_keep(pos[i], box, single);
}

int nb_wrap_cuda(size_t n, double *pos, double box, int single)
{
	if (n == 0)
		return NB_OK;
	wrap_kernel<<<grid(3 * n), BLOCK>>>(3 * n, pos, box, single);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void scale_kernel(size_t count, double *x, double factor)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += stride)
		x[i] *= factor;
}

int nb_scale_velocities_cuda(size_t n, double *vel, double factor)
{
	if (n == 0)
		return NB_OK;
	scale_kernel<<<grid(3 * n), BLOCK>>>(3 * n, vel, factor);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static __global__ void taylor_kernel(size_t count, double *__restrict__ pos, double *__restrict__ vel,
	const double *__restrict__ acc, const double *__restrict__ jerk, double dt)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	const double half = dt / 2, third = dt / 3;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
		const double v = vel[i], a = acc[i], j = jerk[i];
		pos[i] = __dadd_rn(
			pos[i], __dmul_rn(dt, __dadd_rn(v, __dmul_rn(half, __dadd_rn(a, __dmul_rn(third, j))))));
		vel[i] = __dadd_rn(v, __dmul_rn(dt, __dadd_rn(a, __dmul_rn(half, j))));
	}
}

int nb_taylor_cuda(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt)
{
	const size_t count = 3 * n;
	if (count == 0)
		return NB_OK;
	taylor_kernel<<<grid(count), BLOCK>>>(count, pos, vel, acc, jerk, dt);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* The bits of numbers >= 0 are ordered as the numbers are, infinity and then NaN above all: an integer maximum
 * finds the largest and does not lose what is not finite. */
static __global__ void largest_square_kernel(size_t n, const double *__restrict__ acc, unsigned long long *largest)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	unsigned long long most = 0;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
		const double x = acc[3 * i], y = acc[3 * i + 1], z = acc[3 * i + 2];
		const double square = fabs(__dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z)));
		const unsigned long long bits = (unsigned long long)__double_as_longlong(square);
		most = bits > most ? bits : most;
	}
	for (int lane = 16; lane > 0; lane /= 2) {
		const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, lane);
		most = other > most ? other : most;
	}
	if (threadIdx.x % 32 == 0)
		atomicMax(largest, most);
}

int nb_largest_square_cuda(size_t n, const double *acc, double *square)
{
	NB_CUDA_TRY(cudaMemsetAsync(square, 0, sizeof *square, 0));
	if (n == 0)
		return NB_OK;
	largest_square_kernel<<<grid(n), BLOCK>>>(n, acc, (unsigned long long *)square);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_largest_acc_cuda(size_t n, const double *acc, double *largest)
{
	*largest = 0;
	if (n == 0)
		return NB_OK;
	nb_cuda_buffer<double> most;
	NB_TRY(most.alloc(1));
	NB_TRY(nb_largest_square_cuda(n, acc, most.ptr));
	double square;
	NB_CUDA_TRY(cudaMemcpy(&square, most.ptr, sizeof square, cudaMemcpyDeviceToHost));
	*largest = sqrt(square);
	return NB_OK;
}
