/* The transform of a mesh on the device: rows along z, columns along y, columns along x; the other way round to go
 * back, where real and imaginary parts change places before and after.  A block reads a few lines,
 * makes the passes between the first and the last in shared memory, and writes them back, so the mesh is read and
 * written three times.  A field begins with the modes of masses, which the first columns solve for as they read them.
 * In a pass each thread has some butterflies in registers; all threads read before one writes, so lines stay in place.
 * Lines do not depend on each other, and what a thread adds on nothing but m: the same bytes on every device. Registers
 * are limited so that a multiprocessor has two blocks. */
#include "kernels/mesh/mesh_internal.cuh"

#include <stdlib.h>
#include <type_traits>

#define NB_REAL double
#include "kernels/mesh/butterfly_body.h"

enum {
	VALUES = 8,  /* complex numbers of a thread */
	MOST = 4096, /* of a block: up to four lines */
	MIXED = 3072 /* the same where m is no power of two: no device has memory for a longer mesh */
};

struct lines {
	int m, width;	      /* width: lines of a block, 1 << log_width */
	int log_width, log_m; /* log_m: where m is a power of two */
	int npass, radix[NB_FFT_PASSES];
	uint32_t by_s[NB_FFT_PASSES], by_ahead[NB_FFT_PASSES]; /* of each pass, as of inverse_of */
	const double2 *root;
};

/* So that u / d is divided(u, inverse_of(d)), u < 65536. */
static uint32_t inverse_of(int d)
{
	return d > 1 ? UINT32_MAX / (uint32_t)d + 1 : 0;
}

static __device__ __forceinline__ int divided(int u, uint32_t inverse)
{
	return inverse ? (int)__umulhi((uint32_t)u, inverse) : u;
}

/* Number j of line b: columns lie side by side, rows one after the other.  A gap behind each eight puts the numbers
 * that threads write at a time into different banks. */
static __host__ __device__ __forceinline__ int with_gaps(int j)
{
	return j + j / 8;
}

template <bool ROWS> static __device__ __forceinline__ int place(const lines &l, int j, int b)
{
	return ROWS ? b * with_gaps(l.m) + with_gaps(j) : (with_gaps(j) << l.log_width) + b;
}

/* Which butterfly a thread has: number u = q + s p of line b. */
struct butterfly {
	int u, p, b;
};

template <bool ROWS, bool TWOS, int R>
static __device__ __forceinline__ butterfly nth(const lines &l, int k, int log_s, int t)
{
	constexpr int LOG = R == 2 ? 1 : R == 4 ? 2 : 3;
	butterfly of;
	if (!ROWS) {
		of.u = t >> l.log_width;
		of.b = t & (l.width - 1);
	} else if (TWOS) {
		of.b = t >> (l.log_m - LOG);
		of.u = t - (of.b << (l.log_m - LOG));
	} else {
		of.b = divided(t, l.by_ahead[k]);
		of.u = t - of.b * (l.m / R);
	}
	of.p = TWOS ? of.u >> log_s : divided(of.u, l.by_s[k]);
	return of;
}

/* Where the numbers of lines are between passes. */
template <bool ROWS> struct in_shared {
	const lines &l;
	nb_complex *x;
	__device__ __forceinline__ nb_complex operator()(int j, int b) const
	{
		return x[place<ROWS>(l, j, b)];
	}
	__device__ __forceinline__ void operator()(int j, int b, nb_complex z) const
	{
		x[place<ROWS>(l, j, b)] = z;
	}
};

/* Pass k.  From: in_shared, or where the lines come from; To: in_shared, or where they go. */
template <bool ROWS, bool TWOS, int R, class From, class To>
static __device__ __forceinline__ void pass(const lines &l, int k, int s, int log_s, const From &from, const To &to)
{
	constexpr bool BEFORE = std::is_same<From, in_shared<ROWS>>::value,
		       AFTER = std::is_same<To, in_shared<ROWS>>::value;
	constexpr int EACH = (VALUES + R - 1) / R;
	const int ahead = l.m / R, count = ahead << l.log_width;
	nb_complex a[EACH][R] = {}; /* of all radices one after the other, not at the same time */
	NB_UNROLL
	for (int i = 0; i < EACH; i++) {
		const int t = threadIdx.x + i * blockDim.x;
		if (t < count) {
			const butterfly of = nth<ROWS, TWOS, R>(l, k, log_s, t);
			NB_UNROLL
			for (int j = 0; j < R; j++)
				a[i][j] = from(of.u + j * ahead, of.b);
			nb_butterfly(R, a[i]);
			NB_UNROLL
			for (int j = 1; j < R; j++) {
				const double2 root = __ldg(&l.root[s * of.p * j]);
				a[i][j] = nb_complex_turn(a[i][j], root.x, root.y);
			}
		}
	}
	if (BEFORE && AFTER)
		__syncthreads();
	NB_UNROLL
	for (int i = 0; i < EACH; i++) {
		const int t = threadIdx.x + i * blockDim.x;
		if (t < count) {
			const butterfly of = nth<ROWS, TWOS, R>(l, k, log_s, t);
			NB_UNROLL
			for (int j = 0; j < R; j++)
				to(of.u + s * ((R - 1) * of.p + j), of.b, a[i][j]);
		}
	}
	if (AFTER)
		__syncthreads();
}

template <bool ROWS, bool TWOS, class From, class To>
static __device__ __forceinline__ void any_pass(const lines &l, int k, int s, int log_s, const From &from, const To &to)
{
	const int r = l.radix[k];
	if (r == 8)
		pass<ROWS, TWOS, 8>(l, k, s, log_s, from, to);
	else if (r == 4)
		pass<ROWS, TWOS, 4>(l, k, s, log_s, from, to);
	else if (r == 2)
		pass<ROWS, TWOS, 2>(l, k, s, log_s, from, to);
	else if (!TWOS && r == 3)
		pass<ROWS, TWOS, 3>(l, k, s, log_s, from, to);
	else if (!TWOS && r == 5)
		pass<ROWS, TWOS, 5>(l, k, s, log_s, from, to);
	else if (!TWOS)
		pass<ROWS, TWOS, 7>(l, k, s, log_s, from, to);
}

/* Lines from where they come from, through x, to where they go; all threads call. */
template <bool ROWS, bool TWOS, class From, class To>
static __device__ __forceinline__ void transform(const lines &l, nb_complex *x, const From &from, const To &to)
{
	const in_shared<ROWS> shared = {l, x};
	const int last = l.npass - 1;
	int s = 1, log_s = 0;
	for (int k = 0; k <= last; k++) {
		const int r = l.radix[k];
		if (k == 0 && k == last)
			any_pass<ROWS, TWOS>(l, k, s, log_s, from, to);
		else if (k == 0)
			any_pass<ROWS, TWOS>(l, k, s, log_s, from, shared);
		else if (k < last)
			any_pass<ROWS, TWOS>(l, k, s, log_s, shared, shared);
		else
			any_pass<ROWS, TWOS>(l, k, s, log_s, shared, to);
		s *= r;
		log_s += r == 8 ? 3 : r / 2;
	}
}

/* Two rows are the real and the imaginary part of one line. */
template <bool TWOS>
static __global__ void __launch_bounds__((TWOS ? MOST : MIXED) / VALUES, 2)
	rows_kernel(const __grid_constant__ lines l, double unit, size_t nrow, size_t length, double *mesh)
{
	extern __shared__ nb_complex x[];
	const size_t first = (size_t)blockIdx.x * l.width * 2;
	const in_shared<true> shared = {l, x};
	const auto from = [&](int j, int b) {
		const size_t row = first + 2 * b;
		const long long *number = (const long long *)mesh + row * length + j;
		nb_complex z;
		z.re = row < nrow ? (double)number[0] * unit : 0;
		z.im = row + 1 < nrow ? (double)number[length] * unit : 0;
		return z;
	};
	transform<true, TWOS>(l, x, from, shared);
	for (int b = 0; b < l.width; b++) {
		const size_t row = first + 2 * b;
		double2 *to = (double2 *)(mesh + row * length);
		for (int k = threadIdx.x; k <= l.m / 2; k += blockDim.x) {
			const nb_complex here = shared(k, b), there = shared(k ? l.m - k : 0, b);
			if (row < nrow)
				to[k] = make_double2(0.5 * (here.re + there.re), 0.5 * (here.im - there.im));
			if (row + 1 < nrow)
				to[length / 2 + k] = make_double2(
					0.5 * (here.im + there.im), 0.5 * (there.re - here.re));
		}
	}
}

/* The other way: a mode of both rows, beyond m / 2 the conjugate of its mirror image. */
template <bool TWOS>
static __global__ void __launch_bounds__((TWOS ? MOST : MIXED) / VALUES, 2)
	rows_back_kernel(const __grid_constant__ lines l, size_t nrow, size_t length, double *mesh)
{
	extern __shared__ nb_complex x[];
	const size_t first = (size_t)blockIdx.x * l.width * 2;
	const auto from = [&](int j, int b) {
		const size_t row = first + 2 * b;
		const int k = j <= l.m / 2 ? j : l.m - j;
		const double2 *mode = (const double2 *)(mesh + row * length) + k;
		const double2 none = make_double2(0, 0), one = row < nrow ? mode[0] : none,
			      two = row + 1 < nrow ? mode[length / 2] : none;
		const double sign = j == k ? 1 : -1;
		nb_complex z;
		z.re = sign * one.y + two.x;
		z.im = one.x - sign * two.y;
		return z;
	};
	const auto to = [&](int j, int b, nb_complex z) {
		const size_t row = first + 2 * b;
		double *number = mesh + row * length + j;
		if (row < nrow)
			number[0] = z.im;
		if (row + 1 < nrow)
			number[length] = z.re;
	};
	transform<true, TWOS>(l, x, from, to);
}

/* A field as it is found from the modes of painted masses; mass null: columns have their modes. */
struct solution {
	const double2 *mass;
	const double *smooth; /* of nb_mesh_smooth */
	nb_mesh_field field;
	double unit;
};

/* count columns side by side in each of gridDim.y parts, whose pairs are `stride` apart.  SOLVED: they are all columns
 * along x, and begin as modes of the field. */
template <bool TWOS, bool BACK, bool SOLVED>
static __global__ void __launch_bounds__((TWOS ? MOST : MIXED) / VALUES, 2)
	columns_kernel(const __grid_constant__ lines l, size_t stride, size_t count, size_t part, double2 *mesh,
		const __grid_constant__ solution of)
{
	extern __shared__ nb_complex x[];
	const size_t first = (size_t)blockIdx.x * l.width;
	const int half = l.m / 2 + 1, y = SOLVED ? (int)first / half : 0, z = (int)first - y * half;
	double2 *at = mesh + blockIdx.y * part + first;
	const auto mode = [&](int j, int b) {
		if (!SOLVED)
			return at[j * stride + b];
		const double2 v = of.mass[j * stride + first + b];
		const int next = z + b >= half, qy = y + next, qz = z + b - next * half;
		double solved[2] = {v.x, v.y};
		nb_mesh_solve(of.field, of.unit * of.smooth[j] * of.smooth[qy] * of.smooth[qz], nb_mesh_wave(j, l.m),
			nb_mesh_wave(qy, l.m), qz, solved);
		return make_double2(solved[0], solved[1]);
	};
	const auto from = [&](int j, int b) {
		const double2 v = first + b < count ? mode(j, b) : make_double2(0, 0);
		nb_complex z;
		z.re = BACK ? v.y : v.x;
		z.im = BACK ? v.x : v.y;
		return z;
	};
	const auto to = [&](int j, int b, nb_complex z) {
		if (first + b < count)
			at[j * stride + b] = BACK ? make_double2(z.im, z.re) : make_double2(z.re, z.im);
	};
	transform<false, TWOS>(l, x, from, to);
}

static int make_roots(int m, nb_cuda_buffer<double> &root)
{
	double *host = (double *)malloc((size_t)m * 2 * sizeof *host);
	if (!host)
		return NB_ENOMEM;
	nb_fft_roots(m, host);
	const int status = nb_mesh_send_table(host, (size_t)m * 2, root);
	free(host);
	return status;
}

static size_t bytes_of(const lines &l)
{
	return ((size_t)with_gaps(l.m) << l.log_width) * sizeof(nb_complex);
}

template <bool TWOS, bool BACK> static int transform_mesh(const lines &l, double unit, double *mesh, const solution &of)
{
	const size_t side = (size_t)l.m, row = nb_mesh_row(l.m), plane = side * row / 2;
	const unsigned threads = (unsigned)(l.m * l.width + 32 * VALUES - 1) / (32 * VALUES) * 32;
	const size_t shared = bytes_of(l);
	const unsigned rows = nb_cuda_blocks(side * side, 2 * l.width), across = nb_cuda_blocks(plane, l.width);
	const auto columns = columns_kernel<TWOS, BACK, false>, solved = columns_kernel<TWOS, true, true>;
	const void *const kernel[] = {
		(void *)rows_kernel<TWOS>, (void *)rows_back_kernel<TWOS>, (void *)columns, (void *)solved};
	for (const void *k : kernel)
		NB_CUDA_TRY(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	if (BACK)
		(of.mass ? solved : columns)<<<across, threads, shared>>>(l, plane, plane, 0, (double2 *)mesh, of);
	else
		rows_kernel<TWOS><<<rows, threads, shared>>>(l, unit, side * side, row, mesh);
	NB_CUDA_LAUNCHED();
	columns<<<dim3(nb_cuda_blocks(row / 2, l.width), l.m), threads, shared>>>(
		l, row / 2, row / 2, plane, (double2 *)mesh, of);
	NB_CUDA_LAUNCHED();
	if (BACK)
		rows_back_kernel<TWOS><<<rows, threads, shared>>>(l, side * side, row, mesh);
	else
		columns<<<across, threads, shared>>>(l, plane, plane, 0, (double2 *)mesh, of);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

template <bool BACK> static int transform_any(size_t shared, int m, double unit, double *mesh, const solution &of = {})
{
	nb_cuda_buffer<double> root;
	lines l = {};
	while (1 << l.log_m < m)
		l.log_m++;
	const int most = m == 1 << l.log_m ? MOST : MIXED;
	l.m = m;
	l.log_width = m <= most / 4 ? 2 : m <= most / 2 ? 1 : 0;
	while (l.log_width > 0 && bytes_of(l) > shared)
		l.log_width--;
	l.width = 1 << l.log_width;
	l.npass = nb_fft_factor(m, l.radix);
	if (!l.npass || m > most)
		return NB_EINVAL;
	for (int k = 0, s = 1; k < l.npass; s *= l.radix[k++]) {
		l.by_s[k] = inverse_of(s);
		l.by_ahead[k] = inverse_of(m / l.radix[k]);
	}
	NB_TRY(make_roots(m, root));
	l.root = (const double2 *)root.ptr;
	return m == 1 << l.log_m ? transform_mesh<true, BACK>(l, unit, mesh, of)
				 : transform_mesh<false, BACK>(l, unit, mesh, of);
}

int nb_mesh_transform_within_cuda(size_t shared, int m, double unit, void *mesh)
{
	return transform_any<false>(shared, m, unit, (double *)mesh);
}

int nb_mesh_transform_back_within_cuda(size_t shared, int m, double *mesh)
{
	return transform_any<true>(shared, m, 0, mesh);
}

int nb_mesh_transform_cuda(int m, double unit, void *mesh)
{
	size_t shared;
	NB_TRY(nb_mesh_shared(&shared));
	return nb_mesh_transform_within_cuda(shared, m, unit, mesh);
}

int nb_mesh_transform_back_cuda(int m, double *mesh)
{
	size_t shared;
	NB_TRY(nb_mesh_shared(&shared));
	return nb_mesh_transform_back_within_cuda(shared, m, mesh);
}

int nb_mesh_field_within_cuda(
	size_t shared, const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to)
{
	const size_t m = (size_t)of->m;
	nb_cuda_buffer<double> smooth;
	double *host = (double *)malloc(m * sizeof *host);
	int status = host ? nb_mesh_smooth(of, host) : (int)NB_ENOMEM;
	if (!status)
		status = nb_mesh_send_table(host, m, smooth);
	free(host);
	NB_TRY(status);
	return transform_any<true>(
		shared, of->m, 0, to, {(const double2 *)mass, smooth.ptr, field, nb_mesh_field_unit(of, field)});
}

int nb_mesh_field_cuda(const struct nb_mesh_poisson *of, enum nb_mesh_field field, const double *mass, double *to)
{
	size_t shared;
	NB_TRY(nb_mesh_shared(&shared));
	return nb_mesh_field_within_cuda(shared, of, field, mass, to);
}
