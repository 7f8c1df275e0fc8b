/* far_internal.cuh - the kernels of fmm_cuda.cu: boxes, up, across (m2l) and down. */
#ifndef NB_FMM_FAR_INTERNAL_CUH
#define NB_FMM_FAR_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/fmm/expansion_internal.h"
#include "kernels/gravity/gravity.h"
#include "kernels/order/order.cuh"
#include "kernels/pair/pair.h"

enum {
	THREADS = 256,
	CHUNK = 32, /* bodies that p2m brings to shared memory at a time */
	POWERS = NB_FMM_MAX_ORDER_2D + 2,
	LEVELS = NB_BOXES_MAX_LEVEL_2D + 2,
	TABLES = NB_FMM_TABLES,
	WIDEST = (NB_FMM_TERMS + 31) / 32 * 32 /* threads for coefficients */
};
static const uint32_t nobody = UINT32_MAX;

struct pyramid {
	int level, order;
	int n, ntensor;		     /* coefficients; T_n up to order + 2 */
	uint32_t flat[LEVELS];	     /* the first box of each level; flat[level + 1]: their number */
	uint32_t row[LEVELS];	     /* the first row of each level, and the number of all */
	uint32_t group[LEVELS];	     /* m2l: the first block of each level of parents, and the number of all */
	const uint32_t *rows_before; /* boxes + 1: rows of boxes with smaller flat numbers */
	const uint32_t *box;	     /* rows: flat number of each */
	double lo[3], size;	     /* of the cube */
};

/* What the kernels find. */
struct outcome {
	unsigned long long mass; /* bits of the largest |mass| */
	unsigned long long m2l;
	uint32_t row[LEVELS];
	int bad; /* a body or a neighbour is not where it should be */
};

static __device__ __forceinline__ uint32_t row_of_box(const pyramid &p, uint32_t flat)
{
	const uint32_t row = __ldg(p.rows_before + flat);
	return __ldg(p.rows_before + flat + 1) > row ? row : nobody;
}

template <int DIM> static __device__ __forceinline__ uint32_t coordinate(uint32_t box, int d)
{
	return DIM == 3 ? nb_morton_gather3(box >> (2 - d)) : nb_morton_gather2(box >> (1 - d));
}

/* The multi-index of coefficient c. */
template <int DIM> static __device__ __forceinline__ void exponents(int c, int *e)
{
	int k = 0, x;
	while (nb_fmm_below(DIM, k + 1) <= c)
		k++;
	c -= nb_fmm_below(DIM, k);
	if constexpr (DIM == 2) {
		x = k - c;
		e[1] = c, e[2] = 0;
	} else {
		for (x = k; c > k - x; x--)
			c -= k - x + 1;
		e[1] = k - x - c, e[2] = c;
	}
	e[0] = x;
}

/* ---- boxes ---------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int level_of(const uint32_t *first, int lowest, int highest, uint32_t number)
{
	int l = lowest;
	while (l < highest && first[l + 1] <= number)
		l++;
	return l;
}

static __global__ void __launch_bounds__(THREADS)
	occupied_kernel(const pyramid p, int dim, const uint64_t *box_first, uint32_t *occupied)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x, count = p.flat[p.level + 1];
	if (i > count)
		return;
	const int l = level_of(p.flat, 1, p.level, i), shift = dim * (p.level - l);
	const uint64_t b = i - p.flat[l];
	occupied[i] = i < count && box_first[(b + 1) << shift] > box_first[b << shift];
}

static __global__ void __launch_bounds__(THREADS) list_kernel(const pyramid p, uint32_t *box, struct outcome *outcome)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x, count = p.flat[p.level + 1];
	if (i <= (uint32_t)p.level)
		outcome->row[i + 1] = p.rows_before[p.flat[i + 1]];
	if (i >= count)
		return;
	const uint32_t row = row_of_box(p, i);
	if (row != nobody)
		box[row] = i;
}

/* Boxes that hold all bodies one after the other, with the neighbours that they should have. */
static __global__ void __launch_bounds__(THREADS)
	sound_kernel(const struct nb_boxes boxes, size_t n, int dim, int level, struct outcome *outcome)
{
	const size_t b = blockIdx.x * (size_t)THREADS + threadIdx.x;
	int32_t want[26];
	if (b >= boxes.nbox)
		return;
	if (boxes.box_first[b] > boxes.box_first[b + 1] || (b == 0 && boxes.box_first[0] != 0) ||
		(b + 1 == boxes.nbox && boxes.box_first[b + 1] != n))
		outcome->bad = 1;
	nb_box_neighbours(b, dim, level, want);
	for (int q = 0; q < boxes.nneighbour; q++)
		if (boxes.neighbour[b * (size_t)boxes.nneighbour + q] != want[q])
			outcome->bad = 1;
}

/* ---- up ------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS) mass_kernel(size_t n, const double *mass, struct outcome *outcome)
{
	double most = 0;
	for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
		most = fmax(most, fabs(mass[i]));
	for (int step = 16; step; step /= 2)
		most = fmax(most, __shfl_xor_sync(0xffffffff, most, step));
	if (threadIdx.x % 32 == 0)
		atomicMax(&outcome->mass, (unsigned long long)__double_as_longlong(most));
}

static __device__ __forceinline__ double mass_unit(const struct outcome *outcome)
{
	return nb_pair_power2(__longlong_as_double((long long)outcome->mass), 0);
}

/* Place d of a body from the centre of its box, in its edges. */
template <int DIM>
static __device__ __forceinline__ double place(const pyramid &p, const double *pos, uint32_t box, int d)
{
	const double edge = p.size / (double)(1u << p.level);
	return (pos[d] - p.lo[d]) / edge - (coordinate<DIM>(box, d) + 0.5);
}

template <int DIM, class real>
static __global__ void __launch_bounds__(WIDEST) p2m_kernel(const pyramid p, const uint64_t *box_first,
	const double *pos, const double *mass, uint32_t *row_of_body, real *m, struct outcome *outcome)
{
	__shared__ real power[DIM][POWERS][CHUNK]; /* (-d)^k / k!, that of x times the mass */
	const uint32_t row = p.row[p.level] + blockIdx.x, box = p.box[row] - p.flat[p.level];
	const uint64_t first = box_first[box], last = box_first[box + 1];
	const int c = (int)threadIdx.x;
	int e[3];
	exponents<DIM>(c < p.n ? c : 0, e);
	double sum = 0;
	for (uint64_t base = first; base < last; base += CHUNK) {
		const int many = last - base < CHUNK ? (int)(last - base) : (int)CHUNK;
		__syncthreads();
		if (c < many) {
			const uint64_t i = base + (uint64_t)c;
			bool inside = DIM == 3 || pos[3 * i + 2] == 0;
			row_of_body[i] = row;
			for (int d = 0; d < DIM; d++) {
				const double at = place<DIM>(p, pos + 3 * i, box, d);
				double x = d == 0 ? mass[i] * mass_unit(outcome) : 1;
				inside = inside && fabs(at) <= 0.5 + NB_FMM_SLACK;
				for (int k = 0; k <= p.order; k++) {
					power[d][k][c] = (real)x;
					x *= -at / (k + 1);
				}
			}
			if (!inside)
				outcome->bad = 1;
		}
		__syncthreads();
		real part = 0;
		if (c < p.n)
			for (int i = 0; i < many; i++) {
				const real term = power[0][e[0]][i] * power[1][e[1]][i];
				part += DIM == 3 ? term * power[DIM - 1][e[2]][i] : term;
			}
		sum += part;
	}
	if (c < p.n)
		m[(size_t)row * p.n + c] = (real)sum;
}

/* (1/4)^k / k! and 2^-k; for all threads. */
template <class real> static __device__ __forceinline__ void weights(real *quarter, real *half)
{
	if (threadIdx.x < POWERS) {
		double q = 1, h = 1;
		for (int k = 1; k <= (int)threadIdx.x; k++) {
			q *= 0.25 / k;
			h *= 0.5;
		}
		quarter[threadIdx.x] = (real)q;
		half[threadIdx.x] = (real)h;
	}
}

/* The sign of o^k, o = -1/4 for the lower half of a box. */
template <class real> static __device__ __forceinline__ real with_sign(real x, int k, int upper)
{
	return !upper && k % 2 ? -x : x;
}

template <int DIM, class real>
static __global__ void __launch_bounds__(WIDEST) m2m_kernel(const pyramid p, int level, real *m)
{
	__shared__ real child[NB_FMM_TERMS], quarter[POWERS], half[POWERS];
	const uint32_t row = p.row[level] + blockIdx.x, box = p.box[row] - p.flat[level];
	const int c = (int)threadIdx.x;
	int e[3];
	exponents<DIM>(c < p.n ? c : 0, e);
	weights(quarter, half);
	real sum = 0;
	for (int t = 0; t < 1 << DIM; t++) {
		const uint32_t from = row_of_box(p, p.flat[level + 1] + (box << DIM) + t);
		if (from == nobody)
			continue; /* the same for all threads */
		__syncthreads();
		if (c < p.n)
			child[c] = m[(size_t)from * p.n + c];
		__syncthreads();
		if (c >= p.n)
			continue;
		/* (-o)^j: signs are those of the other half */
		const int x = 1 - nb_fmm_bit(DIM, t, 0), y = 1 - nb_fmm_bit(DIM, t, 1);
		const int z = DIM == 3 ? 1 - nb_fmm_bit(DIM, t, 2) : 0;
		for (int i = 0; i <= e[0]; i++)
			for (int j = 0; j <= e[1]; j++) {
				const real xy = with_sign(quarter[e[0] - i], e[0] - i, x) *
						with_sign(quarter[e[1] - j], e[1] - j, y);
				for (int k = 0; k <= e[2]; k++)
					sum += xy * with_sign(quarter[e[2] - k], e[2] - k, z) * half[i + j + k] *
					       child[nb_fmm_term(DIM, i, j, k)];
			}
	}
	if (c < p.n)
		m[(size_t)row * p.n + c] = sum;
}

/* ---- across --------------------------------------------------------------------------------------------- */

template <int DIM, class real> struct shape {
	enum {
		CHILDREN = 1 << DIM,
		GROUP = DIM == 3 ? 8 : 16,	 /* parents of a block */
		VECTOR = 16 / (int)sizeof(real), /* numbers in 16 bytes */
		PLANES = CHILDREN / VECTOR,
		NEIGHBOURS = DIM == 3 ? 26 : 8
	};
};

template <class real> struct alignas(16) vector16 {
	real v[16 / sizeof(real)];
};

/* Numbers of the tables of a level: for each child of each neighbour, planes of T towards VECTOR children each. */
template <int DIM> static size_t tensor_size(const pyramid &p)
{
	return (size_t)(DIM == 3 ? 26 : 8) * (1 << DIM) * (1 << DIM) * p.ntensor;
}

template <int DIM, class real>
static __global__ void __launch_bounds__(THREADS)
	tensor_kernel(const pyramid p, double eps, real *tables, size_t stride)
{
	typedef shape<DIM, real> S;
	const int i = (int)(blockIdx.x * THREADS + threadIdx.x), t = i % S::CHILDREN, table = i / S::CHILDREN;
	if (table >= S::NEIGHBOURS * S::CHILDREN)
		return;
	int offset[3];
	double value[NB_FMM_TENSOR];
	const bool apart = nb_fmm_offset(DIM, table / S::CHILDREN, table % S::CHILDREN, t, offset);
	const double x[3] = {(double)offset[0], (double)offset[1], (double)offset[2]};
	const double soft = eps / (p.size / (double)(1u << (NB_FMM_TOP + blockIdx.y)));
	if (apart)
		nb_fmm_tensor(DIM, p.order + 2, x, soft, value);
	real *to = tables + blockIdx.y * stride + (size_t)(table * S::PLANES + t / S::VECTOR) * p.ntensor * S::VECTOR +
		   t % S::VECTOR;
	for (int a = 0; a < p.ntensor; a++)
		to[a * S::VECTOR] = apart ? (real)value[a] : 0;
}

/* The sums of one term. */
template <int DIM, class real>
static __device__ __forceinline__ void add_term(const vector16<real> *t, int plane, const vector16<real> *m,
	real (&sum)[shape<DIM, real>::GROUP][shape<DIM, real>::CHILDREN])
{
	typedef shape<DIM, real> S;
	vector16<real> tv[S::PLANES], mv[S::GROUP / S::VECTOR];
#pragma unroll
	for (int k = 0; k < S::PLANES; k++)
		tv[k] = t[k * plane];
#pragma unroll
	for (int k = 0; k < S::GROUP / S::VECTOR; k++)
		mv[k] = m[k];
#pragma unroll
	for (int k = 0; k < S::GROUP; k++)
#pragma unroll
		for (int c = 0; c < S::CHILDREN; c++)
			sum[k][c] += mv[k / S::VECTOR].v[k % S::VECTOR] * tv[c / S::VECTOR].v[c % S::VECTOR];
}

/* All terms of one child of a neighbour with |a| + |b| <= total, b = e. */
template <int DIM, class real>
static __device__ __forceinline__ void add_terms(const pyramid &p, const int *e, int total, const vector16<real> *t,
	const vector16<real> *m, real (&sum)[shape<DIM, real>::GROUP][shape<DIM, real>::CHILDREN])
{
	const int degree = e[0] + e[1] + e[2], step = shape<DIM, real>::GROUP / shape<DIM, real>::VECTOR;
	const int most = total - degree < p.order ? total - degree : p.order;
	for (int k = 0; k <= most; k++)
		for (int x = k; x >= 0; x--) {
			const int all = k + degree, rest = all - x - e[0];
			const vector16<real> *at = t + nb_fmm_below(DIM, all) +
						   (DIM == 3 ? rest * (rest + 1) / 2 + e[2] : rest);
			for (int z = 0; z <= (DIM == 3 ? k - x : 0); z++) {
				add_term<DIM, real>(at++, p.ntensor, m, sum);
				m += step;
			}
		}
}

/* A group of parents, thread k < GROUP knows parent k. */
struct parent {
	uint32_t at[3], box;
	unsigned there; /* bit c: child c has bodies */
	uint32_t from;	/* flat number of the first child of the neighbour at hand, or nobody */
};

template <int DIM>
static __device__ __forceinline__ void find_neighbour(const pyramid &p, int level, int q, struct parent *parent)
{
	int offset[3];
	uint32_t at[3] = {0, 0, 0};
	bool inside = parent->box != nobody;
	/* from child 0 to child 0 it is minus two boxes for each step */
	(void)nb_fmm_offset(DIM, q, 0, 0, offset);
	for (int d = 0; d < DIM; d++) {
		at[d] = parent->at[d] - (uint32_t)(offset[d] / 2); /* below 0 it is large */
		inside = inside && at[d] < 1u << level;
	}
	const uint64_t key = DIM == 3 ? nb_morton_key3(at[0], at[1], at[2]) : nb_morton_key2(at[0], at[1]);
	parent->from = inside ? p.flat[level + 1] + ((uint32_t)key << DIM) : nobody;
}

template <int DIM, class real>
static __global__ void __launch_bounds__(WIDEST)
	m2l_kernel(const pyramid p, const real *tables, size_t stride, const real *m, real *l, struct outcome *outcome)
{
	typedef shape<DIM, real> S;
	typedef vector16<real> vector;
	extern __shared__ __align__(16) unsigned char shared[];
	vector *const t = (vector *)shared, *const source = t + S::PLANES * p.ntensor;
	__shared__ uint32_t source_row[S::GROUP], target[S::GROUP];
	__shared__ unsigned short kind[TABLES]; /* total + 256 (bit c: child c does not touch) */
	const int c = (int)threadIdx.x, threads = (int)blockDim.x;
	const int level = level_of(p.group, 1, p.level - 1, blockIdx.x);
	struct parent parent = {{0, 0, 0}, nobody, 0, nobody};
	unsigned long long pairs = 0;
	int e[3];
	exponents<DIM>(c < p.n ? c : 0, e);

	for (int table = c; table < S::NEIGHBOURS * S::CHILDREN; table += threads) {
		unsigned apart = 0;
		int offset[3];
		for (int k = 0; k < S::CHILDREN; k++)
			apart |= (unsigned)nb_fmm_offset(DIM, table / S::CHILDREN, table % S::CHILDREN, k, offset) << k;
		kind[table] = (unsigned short)(apart << 8 | (unsigned)nb_fmm_total(DIM, p.order, table / S::CHILDREN,
								    table % S::CHILDREN));
	}
	if (c < S::GROUP) {
		const uint32_t row = p.row[level] + (blockIdx.x - p.group[level]) * S::GROUP + (unsigned)c;
		if (row < p.row[level + 1]) {
			parent.box = p.box[row] - p.flat[level];
			for (int d = 0; d < DIM; d++)
				parent.at[d] = coordinate<DIM>(parent.box, d);
			for (int k = 0; k < S::CHILDREN; k++)
				if (row_of_box(p, p.flat[level + 1] + (parent.box << DIM) + k) != nobody)
					parent.there |= 1u << k;
		}
		target[c] = parent.box == nobody ? nobody : p.flat[level + 1] + (parent.box << DIM);
	}
	real sum[S::GROUP][S::CHILDREN];
#pragma unroll
	for (int k = 0; k < S::GROUP; k++)
#pragma unroll
		for (int j = 0; j < S::CHILDREN; j++)
			sum[k][j] = 0;
	tables += (level + 1 - NB_FMM_TOP) * stride;
	__syncthreads(); /* kind, target */

	for (int table = 0; table < S::NEIGHBOURS * S::CHILDREN; table++) {
		bool some = false;
		if (c < S::GROUP) {
			if (table % S::CHILDREN == 0)
				find_neighbour<DIM>(p, level, table / S::CHILDREN, &parent);
			const unsigned met = parent.there & kind[table] >> 8;
			uint32_t row = nobody;
			if (parent.from != nobody && met)
				row = row_of_box(p, parent.from + table % S::CHILDREN);
			source_row[c] = row;
			some = row != nobody;
			pairs += some ? __popc(met) : 0;
		}
		/* nobody reads t and source of the last table any more */
		if (!__syncthreads_or(some))
			continue;
		const vector *const from = (const vector *)tables + (size_t)table * S::PLANES * p.ntensor;
		for (int i = c; i < S::PLANES * p.ntensor; i += threads)
			t[i] = from[i];
		for (int i = c; i < p.n * S::GROUP; i += threads) {
			const int k = i / p.n, a = i % p.n;
			((real *)source)[a * S::GROUP + k] = source_row[k] == nobody
								     ? 0
								     : m[(size_t)source_row[k] * p.n + a];
		}
		__syncthreads();
		if (c < p.n)
			add_terms<DIM, real>(p, e, kind[table] & 255, t, source, sum);
	}
	if (pairs)
		atomicAdd(&outcome->m2l, pairs);
	if (c >= p.n)
		return;
#pragma unroll
	for (int k = 0; k < S::GROUP; k++)
#pragma unroll
		for (int j = 0; j < S::CHILDREN; j++) {
			const uint32_t row = target[k] == nobody ? nobody : row_of_box(p, target[k] + j);
			if (row != nobody)
				l[(size_t)row * p.n + c] = sum[k][j];
		}
}

/* ---- down ----------------------------------------------------------------------------------------------- */

template <int DIM, class real>
static __global__ void __launch_bounds__(WIDEST) l2l_kernel(const pyramid p, int level, real *l)
{
	__shared__ real above[NB_FMM_TERMS], quarter[POWERS], half[POWERS];
	const uint32_t row = p.row[level] + blockIdx.x, box = p.box[row] - p.flat[level];
	const uint32_t parent = row_of_box(p, p.flat[level - 1] + (box >> DIM));
	const int c = (int)threadIdx.x, child = (int)(box & ((1u << DIM) - 1));
	int e[3];
	exponents<DIM>(c < p.n ? c : 0, e);
	weights(quarter, half);
	if (c < p.n)
		above[c] = l[(size_t)parent * p.n + c];
	__syncthreads();
	if (c >= p.n)
		return;
	const int degree = e[0] + e[1] + e[2], most = p.order - degree;
	const int x = nb_fmm_bit(DIM, child, 0), y = nb_fmm_bit(DIM, child, 1);
	const int z = DIM == 3 ? nb_fmm_bit(DIM, child, 2) : 0;
	real sum = 0;
	for (int i = 0; i <= most; i++)
		for (int j = 0; j <= most - i; j++) {
			const real xy = with_sign(quarter[i], i, x) * with_sign(quarter[j], j, y);
			for (int k = 0; k <= (DIM == 3 ? most - i - j : 0); k++)
				sum += xy * with_sign(quarter[k], k, z) *
				       above[nb_fmm_term(DIM, e[0] + i, e[1] + j, e[2] + k)];
		}
	l[(size_t)row * p.n + c] += (real)0.5 * half[degree] * sum; /* 1 / edge is twice as large */
}

template <int DIM, class real, bool POT>
static __global__ void __launch_bounds__(THREADS) l2p_kernel(const pyramid p, size_t n, const double *pos,
	const uint32_t *row_of_body, const real *l, double G, const struct outcome *outcome, double *acc, double *pot)
{
	__shared__ real over[POWERS]; /* 1 / k */
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (threadIdx.x < POWERS)
		over[threadIdx.x] = (real)(1.0 / (threadIdx.x ? threadIdx.x : 1));
	__syncthreads();
	if (i >= n)
		return;
	const uint32_t row = row_of_body[i], box = p.box[row] - p.flat[p.level];
	const real *const from = l + (size_t)row * p.n;
	real at[3] = {0, 0, 0}, a[3] = {0, 0, 0}, height = 0, X = 1;
	for (int d = 0; d < DIM; d++)
		at[d] = (real)place<DIM>(p, pos + 3 * i, box, d);
	const int most = POT ? p.order : p.order - 1;
	for (int x = 0; x <= most; x++) {
		real XY = X;
		for (int y = 0; y <= most - x; y++) {
			real XYZ = XY;
			for (int z = 0; z <= (DIM == 3 ? most - x - y : 0); z++) {
				if (!POT || x + y + z < p.order) {
					a[0] += XYZ * __ldg(from + nb_fmm_term(DIM, x + 1, y, z));
					a[1] += XYZ * __ldg(from + nb_fmm_term(DIM, x, y + 1, z));
					if (DIM == 3)
						a[2] += XYZ * __ldg(from + nb_fmm_term(DIM, x, y, z + 1));
				}
				if (POT)
					height += XYZ * __ldg(from + nb_fmm_term(DIM, x, y, z));
				XYZ *= at[2] * over[z + 1];
			}
			XY *= at[1] * over[y + 1];
		}
		X *= at[0] * over[x + 1];
	}
	const double edge = p.size / (double)(1u << p.level), out = G / mass_unit(outcome) / edge;
	for (int d = 0; d < DIM; d++)
		acc[3 * i + d] += out / edge * (double)a[d];
	if (POT)
		pot[i] -= out * (double)height;
}

#endif
