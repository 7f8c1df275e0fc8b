/* moments_cuda.cu - boxes, masses and multipole moments of the nodes of a tree, computed or checked.
 *
 *   leaves   four lanes per leaf sum over its bodies
 *   inner    level by level upwards, eight lanes per node, a lane per child; a run of small levels in one launch
 *
 * Sums are in f64.  Launch: blocks of 256 threads; a leaf of more than 4,096 bodies gets a block of its own; a run of
 * levels of up to 128 nodes gets one block of 512 threads. */
#include <math.h>

#include "kernels/device/device.cuh"
#include "kernels/pair/pair.h"
#include "kernels/tree/check_internal.h"
#include "kernels/tree/tree.cuh"

enum {
	THREADS = 256,
	WARPS = THREADS / 32,
	TEAM = 8,	     /* lanes for a node, one for each child */
	LEAF_TEAM = 4,	     /* lanes for a leaf, */
	HELD = 3,	     /* each of which keeps so many bodies in registers */
	HUGE_LEAF = 1 << 12, /* a leaf of more bodies gets a block of its own */
	HUGE_BLOCKS = 64,
	SMALL_THREADS = 512,
	SMALL_LEVEL = 128 /* nodes of a level that one block does as fast as a launch would take */
};

struct bodies {
	size_t n;
	const double *pos, *mass;
	double extent; /* of the cube of all; 0: others have some of these */
};

struct node_columns {
	const uint32_t *first, *count, *child, *nchild;
	double *box, *com, *mass, *quad;
};

/* Neighbouring lanes of a warp. */
template <int LANES> struct lane_team {
	unsigned rank, mask;
	enum { SIZE = LANES };

	__device__ lane_team()
	    : rank(threadIdx.x % LANES), mask(((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES))
	{
	}
	template <class op> __device__ double join(double v, op f) const
	{
#pragma unroll
		for (int offset = LANES / 2; offset > 0; offset /= 2)
			v = f(v, __shfl_xor_sync(mask, v, offset));
		return v;
	}
};

/* All threads of a block. */
struct block_team {
	unsigned rank;
	double *part; /* WARPS, shared */
	enum { SIZE = THREADS };

	__device__ explicit block_team(double *shared) : rank(threadIdx.x), part(shared)
	{
	}
	template <class op> __device__ double join(double v, op f) const
	{
		for (int offset = 16; offset > 0; offset /= 2)
			v = f(v, __shfl_xor_sync(0xffffffff, v, offset));
		__syncthreads();
		if (rank % 32 == 0)
			part[rank / 32] = v;
		__syncthreads();
		v = part[0];
		for (int w = 1; w < WARPS; w++)
			v = f(v, part[w]);
		return v;
	}
};

/* The second where either is NaN. */
static __device__ __forceinline__ double smaller(double a, double b)
{
	return a < b ? a : b;
}
static __device__ __forceinline__ double larger(double a, double b)
{
	return a > b ? a : b;
}
/* All lanes get the same; the centre of mass shows a NaN. */
static __device__ __forceinline__ double least_number(double a, double b)
{
	return fmin(a, b);
}
static __device__ __forceinline__ double largest_number(double a, double b)
{
	return fmax(a, b);
}
static __device__ __forceinline__ double sum(double a, double b)
{
	return a + b;
}

/* Box, centre of mass, mass and second moments of what the members of a team hold; all of them get the results. */
struct moments {
	double lo[3], hi[3], com[3], mass, quad[6];

	/* From the box and the mass of each member: those of all, and the box's centre in com. */
	template <class team> __device__ void join_box(const team &t)
	{
#pragma unroll
		for (int k = 0; k < 3; k++) {
			lo[k] = t.join(lo[k], least_number);
			hi[k] = t.join(hi[k], largest_number);
			com[k] = lo[k] + 0.5 * (hi[k] - lo[k]);
		}
		mass = t.join(mass, sum);
	}
	/* 1 / mass, 0 where there is no mass or too little of it to be inverted */
	__device__ double weight() const
	{
		const double w = mass > 0 ? 1 / mass : 0;
		return isfinite(w) ? w : 0;
	}
	/* d: a member's part of the centre of mass, from the box's centre.  Returns whether all is finite. */
	template <class team> __device__ bool join_com(const team &t, double (&d)[3])
	{
		double test = mass;
#pragma unroll
		for (int k = 0; k < 3; k++) {
			d[k] = t.join(d[k], sum);
			test += d[k];
			com[k] = lo[k] == hi[k] ? lo[k] : com[k] + d[k];
		}
		return isfinite(test);
	}
	template <class team> __device__ void join_quad(const team &t)
	{
#pragma unroll
		for (int k = 0; k < 6; k++)
			quad[k] = t.join(quad[k], sum);
	}
	__device__ void add_point(double m, double x, double y, double z)
	{
		x -= com[0];
		y -= com[1];
		z -= com[2];
		const double mx = m * x, my = m * y;
		quad[0] += mx * x;
		quad[1] += mx * y;
		quad[2] += mx * z;
		quad[3] += my * y;
		quad[4] += my * z;
		quad[5] += m * z * z;
	}
	/* The fault of node j; member 0 looks. */
	__device__ enum nb_tree_fault fault(const struct node_columns &c, size_t j) const
	{
		const double box[6] = {lo[0], lo[1], lo[2], hi[0], hi[1], hi[2]};
		const struct nb_tree_slack by = nb_tree_slack_of(box, mass);
		for (int e = 0; e < 6; e++)
			if (c.box[6 * j + e] != box[e])
				return NB_TREE_BOX;
		if (!nb_tree_agrees(c.mass[j], mass, by.mass))
			return NB_TREE_MASS;
		for (int k = 0; k < 3; k++)
			if (!nb_tree_agrees(c.com[3 * j + k], com[k], by.com))
				return NB_TREE_COM;
		for (int q = 0; c.quad && q < 6; q++)
			if (!nb_tree_agrees(c.quad[6 * j + q], quad[q], by.quad))
				return NB_TREE_QUAD;
		return NB_TREE_SOUND;
	}
	/* Members 0 .. 5 write, or of fewer all. */
	template <class team> __device__ void store(const struct node_columns &c, size_t j, const team &t) const
	{
#pragma unroll
		for (unsigned first = 0; first < 6; first += team::SIZE)
			if (first + t.rank < 6)
				store_part(c, j, first + t.rank);
	}
	__device__ void store_part(const struct node_columns &c, size_t j, unsigned part) const
	{
		c.box[6 * j + part] = part < 3 ? pick(lo, part) : pick(hi, part - 3);
		if (part < 3)
			c.com[3 * j + part] = pick(com, part);
		else if (part == 3)
			c.mass[j] = mass;
		if (c.quad)
			c.quad[6 * j + part] = part < 3 ? pick(quad, part) : pick(quad + 3, part - 3);
	}
	static __device__ double pick(const double *of3, unsigned k)
	{
		return k == 0 ? of3[0] : k == 1 ? of3[1] : of3[2];
	}
};

/* Each member keeps its first HELD bodies in registers and reads the rest, if any, again. */
template <int HELD, class team>
static __device__ int leaf_moments(
	const struct bodies &b, const struct node_columns &c, size_t j, const team &t, struct moments &m)
{
	const size_t begin = c.first[j], end = begin + c.count[j];
	const size_t rest = begin + t.rank + HELD * team::SIZE;
	double held[HELD][4];
	double least = 0, d[3] = {0, 0, 0};
	m.mass = 0;
#pragma unroll
	for (int k = 0; k < 3; k++) {
		m.lo[k] = INFINITY;
		m.hi[k] = -INFINITY;
	}
	const auto see = [&](double x, double y, double z, double mass) {
		const double at[3] = {x, y, z};
#pragma unroll
		for (int k = 0; k < 3; k++) {
			m.lo[k] = smaller(at[k], m.lo[k]);
			m.hi[k] = larger(at[k], m.hi[k]);
		}
		m.mass += mass;
		least = smaller(mass, least);
	};
#pragma unroll
	for (int h = 0; h < HELD; h++) {
		/* a member without a body takes the leaf's first, without its mass */
		const size_t i = begin + t.rank + h * team::SIZE, from = i < end ? i : begin;
#pragma unroll
		for (int k = 0; k < 3; k++)
			held[h][k] = b.pos[3 * from + k];
		held[h][3] = i < end ? b.mass[i] : 0;
	}
#pragma unroll
	for (int h = 0; h < HELD; h++)
		see(held[h][0], held[h][1], held[h][2], held[h][3]);
	for (size_t i = rest; i < end; i += team::SIZE)
		see(b.pos[3 * i], b.pos[3 * i + 1], b.pos[3 * i + 2], b.mass[i]);
	m.join_box(t);
	least = t.join(least, smaller);
	const double weight = m.weight();
#pragma unroll
	for (int k = 0; k < 3; k++) {
#pragma unroll
		for (int h = 0; h < HELD; h++)
			d[k] += held[h][3] * weight * (held[h][k] - m.com[k]);
		for (size_t i = rest; i < end; i += team::SIZE)
			d[k] += b.mass[i] * weight * (b.pos[3 * i + k] - m.com[k]);
	}
	const bool finite = m.join_com(t, d);
	if (c.quad) {
#pragma unroll
		for (int k = 0; k < 6; k++)
			m.quad[k] = 0;
#pragma unroll
		for (int h = 0; h < HELD; h++)
			m.add_point(held[h][3], held[h][0], held[h][1], held[h][2]);
		for (size_t i = rest; i < end; i += team::SIZE)
			m.add_point(b.mass[i], b.pos[3 * i], b.pos[3 * i + 1], b.pos[3 * i + 2]);
		m.join_quad(t);
	}
	return !finite ? NB_ENONFINITE : least < 0 ? NB_EINVAL : NB_OK;
}

static __device__ void inner_moments(
	const struct node_columns &c, size_t j, const lane_team<TEAM> &t, struct moments &m)
{
	const bool have = t.rank < c.nchild[j];
	const size_t from = c.child[j] + (have ? t.rank : 0);
	double x[3], d[3];
	double mass = c.mass[from];
	mass = have ? mass : 0;
	m.mass = mass;
#pragma unroll
	for (int k = 0; k < 3; k++) {
		m.lo[k] = c.box[6 * from + k];
		m.hi[k] = c.box[6 * from + 3 + k];
		x[k] = c.com[3 * from + k];
	}
	m.join_box(t);
	const double weight = m.weight();
#pragma unroll
	for (int k = 0; k < 3; k++)
		d[k] = mass * weight * (x[k] - m.com[k]);
	(void)m.join_com(t, d);
	if (c.quad) {
#pragma unroll
		for (int k = 0; k < 6; k++) {
			const double q = c.quad[6 * from + k];
			m.quad[k] = have ? q : 0;
		}
		m.add_point(mass, x[0], x[1], x[2]);
		m.join_quad(t);
	}
}

/* What becomes of moments: written, or compared with those that are there. */
struct outcome {
	int *status;		   /* the largest */
	unsigned long long *first; /* the smallest NB_TREE_FAULTS j + fault */
};

template <bool CHECK, class team>
static __device__ void finish(const struct node_columns &c, size_t j, const team &t, const struct moments &m,
	int failed, const struct outcome &out)
{
	if constexpr (CHECK) {
		if (t.rank == 0) {
			const enum nb_tree_fault fault = failed ? NB_TREE_MASS : m.fault(c, j);
			if (fault != NB_TREE_SOUND)
				atomicMin(out.first, (unsigned long long)NB_TREE_FAULTS * j + fault);
		}
	} else {
		m.store(c, j, t);
		if (failed && t.rank == 0)
			atomicMax(out.status, failed);
	}
}

/* Leaves that have been put aside. */
struct huge {
	uint32_t *n, *node;
};

/* Nodes of a walk have the places of an f32 pair in the cube: distances that are less than that are lost. */
static __device__ bool has_far_bodies(const struct bodies &b)
{
	return b.extent > 0 && nb_pair_typical(b.n, b.pos, b.extent) < b.extent * NB_TREE_NEAREST;
}

template <bool CHECK>
static __global__ void __launch_bounds__(THREADS)
	huge_leaf_kernel(struct bodies b, struct node_columns c, struct huge huge, struct outcome out)
{
	__shared__ double part[WARPS];
	const block_team t(part);
	if (!CHECK && blockIdx.x == 0 && threadIdx.x == 0 && has_far_bodies(b))
		atomicMax(out.status, (int)NB_EFAR);
	for (uint32_t k = blockIdx.x; k < *huge.n; k += gridDim.x) {
		struct moments m;
		const int failed = leaf_moments<1>(b, c, huge.node[k], t, m);
		finish<CHECK>(c, huge.node[k], t, m, failed, out);
	}
}

template <bool CHECK>
static __global__ void __launch_bounds__(THREADS)
	leaf_kernel(struct bodies b, struct node_columns c, uint32_t nnode, struct huge huge, struct outcome out)
{
	const lane_team<LEAF_TEAM> t;
	const size_t j = (blockIdx.x * (size_t)THREADS + threadIdx.x) / LEAF_TEAM;
	if (j >= nnode || c.nchild[j] || c.first[j] >= b.n)
		return;
	if (c.count[j] > HUGE_LEAF) {
		if (t.rank == 0)
			huge.node[atomicAdd(huge.n, 1u)] = (uint32_t)j; /* in any order: each is on its own */
		return;
	}
	struct moments m;
	const int failed = leaf_moments<HELD>(b, c, j, t, m);
	finish<CHECK>(c, j, t, m, failed, out);
}

/* The nodes from .. to-1, all of one level; where they are only checked, of any. */
template <bool CHECK>
static __global__ void __launch_bounds__(THREADS)
	inner_kernel(struct node_columns c, uint32_t from, uint32_t to, struct outcome out)
{
	const lane_team<TEAM> t;
	const size_t j = from + (blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM;
	if (j >= to || !c.nchild[j])
		return;
	struct moments m;
	inner_moments(c, j, t, m);
	finish<CHECK>(c, j, t, m, NB_OK, out);
}

/* Levels high .. low, one after the other, by one block. */
static __global__ void __launch_bounds__(SMALL_THREADS)
	small_levels_kernel(struct node_columns c, struct nb_tree_levels levels, int high, int low)
{
	const lane_team<TEAM> t;
	for (int l = high; l >= low; l--) {
		for (size_t j = levels.begin[l] + threadIdx.x / TEAM; j < levels.begin[l + 1];
			j += SMALL_THREADS / TEAM)
			if (c.nchild[j]) {
				struct moments m;
				inner_moments(c, j, t, m);
				m.store(c, j, t);
			}
		__syncthreads();
	}
}

/* ---- the host's part ------------------------------------------------------------------------------------- */

static int inner(const struct node_columns &c, const struct nb_tree_levels &levels)
{
	for (int l = levels.digits; l >= 0;) {
		int low = l; /* levels low .. l are small */
		while (low >= 0 && levels.begin[low + 1] - levels.begin[low] <= SMALL_LEVEL)
			low--;
		low++;
		const uint32_t begin = levels.begin[l], n = levels.begin[l + 1] - begin;
		if (low > l) {
			inner_kernel<false>
				<<<nb_cuda_blocks((size_t)n * TEAM, THREADS), THREADS>>>(c, begin, begin + n, {});
			low = l;
		} else if (levels.begin[low] != levels.begin[l + 1]) {
			small_levels_kernel<<<1, SMALL_THREADS>>>(c, levels, l, low);
		}
		NB_CUDA_LAUNCHED();
		l = low - 1;
	}
	return NB_OK;
}

static struct node_columns columns_of(const struct nb_tree *t)
{
	return {t->first, t->count, t->child, t->nchild, t->box, t->com, t->mass, t->quad};
}

template <bool CHECK>
static int leaves(const struct nb_tree *tree, size_t n, const struct bodies &b, struct outcome out)
{
	const struct node_columns c = columns_of(tree);
	nb_cuda_buffer<uint32_t> room;
	NB_TRY(room.alloc(n / HUGE_LEAF + 1));
	const struct huge huge = {room.ptr, room.ptr + 1};
	NB_CUDA_TRY(cudaMemsetAsync(huge.n, 0, sizeof *huge.n));
	leaf_kernel<CHECK>
		<<<nb_cuda_blocks(tree->nnode * LEAF_TEAM, THREADS), THREADS>>>(b, c, (uint32_t)tree->nnode, huge, out);
	NB_CUDA_LAUNCHED();
	if (CHECK && n <= HUGE_LEAF)
		return NB_OK;
	huge_leaf_kernel<CHECK><<<n <= HUGE_LEAF ? 1 : HUGE_BLOCKS, THREADS>>>(b, c, huge, out);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_tree_moments_cuda(const struct nb_tree *tree, size_t n, const double *pos, const double *mass, size_t nround,
	const struct nb_tree_levels *round, bool whole)
{
	nb_cuda_buffer<int> status;
	NB_TRY(status.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(status.ptr, 0, sizeof *status.ptr));
	NB_TRY(leaves<false>(tree, n, {n, pos, mass, whole ? tree->cube.size : 0}, {status.ptr, nullptr}));
	while (nround-- > 0)
		NB_TRY(inner(columns_of(tree), round[nround]));
	int failed;
	NB_CUDA_TRY(cudaMemcpy(&failed, status.ptr, sizeof failed, cudaMemcpyDeviceToHost));
	return failed;
}

int nb_tree_inner_moments_cuda(const struct nb_tree *tree, uint32_t from, uint32_t to)
{
	if (from == to)
		return NB_OK;
	inner_kernel<false>
		<<<nb_cuda_blocks((size_t)(to - from) * TEAM, THREADS), THREADS>>>(columns_of(tree), from, to, {});
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_tree_level_moments_cuda(const struct nb_tree *tree, const struct nb_tree_levels *levels)
{
	return inner(columns_of(tree), *levels);
}

int nb_tree_moments_check_cuda(
	const struct nb_tree *tree, size_t n, const double *pos, const double *mass, unsigned long long *first)
{
	const struct outcome out = {nullptr, first};
	NB_TRY(leaves<true>(tree, n, {n, pos, mass, tree->cube.size}, out));
	inner_kernel<true><<<nb_cuda_blocks(tree->nnode * TEAM, THREADS), THREADS>>>(
		columns_of(tree), 0, (uint32_t)tree->nnode, out);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
