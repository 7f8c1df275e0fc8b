/* build_cuda.cu - the octree of sorted keys, built on the device without a loop over levels or nodes.
 *
 * Which nodes begin at body i can be told from a few keys around it.  The keys of bodies i-1 and i agree in
 * their first d digits, so a child begins at i, at level d+1, of the cell of level d that holds both, if
 * that cell has more than leaf_size bodies.  From there a chain goes down: while the node [i, e) is no leaf, the
 * first digit in which its first and last key differ is where it splits, and its first child begins at i as well.
 * (As on the CPU, a cell that has one child only does not become a node.)
 *
 *   count    a thread per body: the levels at which nodes begin there, and their number in each block of bodies
 *   scan     over (level, block): nodes become numbered by level, and by body in a level
 *   place    the same threads write first, count and child; a node's rank in its block comes from ballots
 *   link     a thread per node counts its children
 *   leaves   eight lanes per leaf sum over its bodies
 *   inner    level by level upwards, eight lanes per node, a lane per child; a run of small levels in one launch
 *
 * The host waits once, for the number of nodes of each level, to size the arrays.
 *
 * Sections: nodes from keys (count, scan, place, link), moments (leaves, inner), the host's part.  Launch: blocks of
 * 256 threads; a block of count and place does up to 4 x 256 bodies; a leaf of more than 4,096 bodies gets a block of
 * its own; a run of levels of up to 128 nodes gets one block of 512 threads.  Moments are sums in f64.
 *
 * As in Karras 2012 (High Performance Graphics, p. 33) each node is found alone; keys as in Warren & Salmon
 * 1993 (Supercomputing '93, p. 12). */
#include <math.h>
#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"
#include "kernels/tree/tree.h"

enum {
	THREADS = 256,
	WARPS = THREADS / 32,
	TILES = 4,	     /* a block has at most TILES times THREADS bodies, */
	TILED = 1 << 20,     /* and THREADS where there are so few in all that blocks are short of work */
	MAX_LEVEL = 32,	     /* digits of a key: 32 of 2 bits, 22 of 3 bits; the root's level is 0 */
	TEAM = 8,	     /* lanes for a node, one for each child */
	HUGE_LEAF = 1 << 12, /* a leaf of more bodies gets a block of its own */
	HUGE_BLOCKS = 64,
	SMALL_THREADS = 512,
	SMALL_LEVEL = 128, /* nodes of a level that one block does as fast as a launch would take */
	NODE_LIMIT = 1 << 28
};

struct bodies {
	size_t n;
	const uint64_t *key;
	const double *pos, *mass;
	uint32_t leaf_size;
	int dim, digits;
	unsigned tiles; /* of a block */
};

/* ---- nodes from keys --------------------------------------------------------------------------------- */

/* Leading digits in which two keys agree. */
static __device__ __forceinline__ int common_digits(const struct bodies &b, uint64_t x, uint64_t y)
{
	const uint64_t differ = x ^ y;
	if (!differ)
		return b.digits;
	const int top = 63 - __clzll((long long)differ);
	return b.digits - 1 - (b.dim == 3 ? top / 3 : top / 2);
}

/* Right shift that leaves the first `level` digits, level > 0. */
static __device__ __forceinline__ int level_shift(const struct bodies &b, int level)
{
	return b.dim * (b.digits - level);
}

/* Whether the cell of level d that holds bodies i-1 and i has more than leaf_size bodies. */
static __device__ bool cell_is_split(const struct bodies &b, size_t i, uint64_t key, int d)
{
	if (d == 0)
		return b.n > b.leaf_size;
	const int shift = level_shift(b, d);
	const uint64_t prefix = key >> shift;
	const size_t leaf = b.leaf_size;
	if (i - 1 + leaf < b.n && b.key[i - 1 + leaf] >> shift == prefix)
		return true;
	if (i >= leaf && b.key[i - leaf] >> shift == prefix)
		return true;
	/* the cell's first body is one of lo .. hi */
	size_t lo = i > leaf ? i - leaf + 1 : 0, hi = i - 1;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (b.key[mid] >> shift == prefix)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo + leaf < b.n && b.key[lo + leaf] >> shift == prefix;
}

/* The first body past i, at most end, whose first `level` digits differ from those of body i. */
static __device__ size_t cell_end(const struct bodies &b, size_t i, uint64_t key, int level, size_t end)
{
	const int shift = level_shift(b, level);
	const uint64_t prefix = key >> shift;
	size_t lo = i + 1, step = 1; /* all before lo are inside */
	while (lo + step <= end && b.key[lo + step - 1] >> shift == prefix) {
		lo += step;
		step *= 2;
	}
	size_t hi = lo + step <= end ? lo + step - 1 : end; /* hi is outside, or the end */
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (b.key[mid] >> shift == prefix)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Calls visit(level, count, level of the first child or 0) for each node that begins at body i, from the top. */
template <class visitor> static __device__ void visit_nodes(const struct bodies &b, size_t i, visitor visit)
{
	const uint64_t key = b.key[i];
	int level = 0;
	size_t end = b.n;
	if (i > 0) {
		const int d = common_digits(b, b.key[i - 1], key);
		if (d == b.digits || !cell_is_split(b, i, key, d))
			return;
		level = d + 1;
		end = cell_end(b, i, key, level, b.n);
	}
	for (;;) {
		const size_t count = end - i;
		int next = 0;
		if (count > b.leaf_size) {
			const int d = common_digits(b, key, b.key[end - 1]);
			next = d < b.digits ? d + 1 : 0;
		}
		visit(level, (uint32_t)count, next);
		if (!next)
			return;
		level = next;
		end = cell_end(b, i, key, level, end);
	}
}

static __device__ __forceinline__ uint32_t warp_or(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
	return __reduce_or_sync(0xffffffff, v);
#else
	for (int offset = 16; offset > 0; offset /= 2)
		v |= __shfl_xor_sync(0xffffffff, v, offset);
	return v;
#endif
}

/* starts[i], bit l: a node of level l + 1 begins at body i.
 * at[level][block] = nodes of that level that begin at the bodies of that block. */
static __global__ void __launch_bounds__(THREADS) count_kernel(struct bodies b, uint32_t *starts, uint32_t *at)
{
	__shared__ uint32_t found[MAX_LEVEL + 1];
	if (threadIdx.x <= MAX_LEVEL)
		found[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned tile = 0; tile < b.tiles; tile++) {
		const size_t i = (blockIdx.x * (size_t)b.tiles + tile) * THREADS + threadIdx.x;
		if (i >= b.n)
			break;
		uint32_t mine = 0;
		visit_nodes(b, i, [&](int level, uint32_t, int) {
			mine |= level ? 1u << (level - 1) : 0;
			atomicAdd(&found[level], 1u);
		});
		starts[i] = mine;
	}
	__syncthreads();
	if (threadIdx.x <= b.digits)
		at[threadIdx.x * (size_t)gridDim.x + blockIdx.x] = found[threadIdx.x];
}

/* The integer columns, from at[][] after the scan. */
static __global__ void __launch_bounds__(THREADS) place_kernel(
	struct bodies b, const uint32_t *starts, const uint32_t *at, uint32_t *first, uint32_t *count, uint32_t *child)
{
	__shared__ uint32_t next[MAX_LEVEL];	     /* of level l + 1, the next node's number */
	__shared__ uint32_t base[WARPS][MAX_LEVEL];  /* the same for each warp of a tile */
	__shared__ uint32_t lanes[WARPS][MAX_LEVEL]; /* of the warp, where a node of level l + 1 begins */
	const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	if (threadIdx.x < b.digits)
		next[threadIdx.x] = at[(threadIdx.x + 1) * (size_t)gridDim.x + blockIdx.x];
	for (unsigned tile = 0; tile < b.tiles; tile++) {
		const size_t i = (blockIdx.x * (size_t)b.tiles + tile) * THREADS + threadIdx.x;
		const uint32_t mine = i < b.n ? starts[i] : 0;
		uint32_t of_level = 0; /* lane l keeps that of level l + 1 */
		for (uint32_t any = warp_or(mine); any; any &= any - 1) {
			const int l = __ffs((int)any) - 1;
			const uint32_t which = __ballot_sync(0xffffffff, mine >> l & 1);
			of_level = lane == (unsigned)l ? which : of_level;
		}
		lanes[warp][lane] = of_level;
		__syncthreads();
		if (threadIdx.x < b.digits) {
			uint32_t sum = next[threadIdx.x];
			for (int w = 0; w < WARPS; w++) {
				base[w][threadIdx.x] = sum;
				sum += (uint32_t)__popc(lanes[w][threadIdx.x]);
			}
			next[threadIdx.x] = sum;
		}
		__syncthreads();
		const auto number = [&](int level) {
			if (level == 0)
				return 0u;
			return base[warp][level - 1] + (uint32_t)__popc(lanes[warp][level - 1] & ((1u << lane) - 1));
		};
		if (mine || i == 0)
			visit_nodes(b, i, [&](int level, uint32_t bodies, int child_level) {
				const uint32_t j = number(level);
				first[j] = (uint32_t)i;
				count[j] = bodies;
				child[j] = child_level ? number(child_level) : 0;
			});
		__syncthreads();
	}
}

static __global__ void __launch_bounds__(THREADS) link_kernel(
	uint32_t nnode, const uint32_t *count, const uint32_t *child, uint32_t *nchild, uint32_t *huge, uint32_t *nhuge)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= nnode)
		return;
	uint32_t children = 0;
	if (child[j]) {
		const uint32_t bodies = count[j];
		for (uint32_t sum = 0; sum < bodies; children++)
			sum += count[child[j] + children];
	} else if (count[j] > HUGE_LEAF) {
		huge[atomicAdd(nhuge, 1u)] = (uint32_t)j; /* in any order: each is on its own */
	}
	nchild[j] = children;
}

/* ---- moments ----------------------------------------------------------------------------------------- */

struct node_columns {
	const uint32_t *first, *count, *child, *nchild;
	double *box, *com, *mass, *quad;
};

/* Eight neighbouring lanes of a warp. */
struct lane_team {
	unsigned rank, mask;
	enum { SIZE = TEAM };

	__device__ lane_team() : rank(threadIdx.x % TEAM), mask(0xffu << (threadIdx.x % 32 / TEAM * TEAM))
	{
	}
	template <class op> __device__ double join(double v, op f) const
	{
#pragma unroll
		for (int offset = TEAM / 2; offset > 0; offset /= 2)
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

/* A NaN on either side stays. */
static __device__ __forceinline__ double smaller(double a, double b)
{
	return a < b ? a : b;
}
static __device__ __forceinline__ double larger(double a, double b)
{
	return a > b ? a : b;
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
			lo[k] = t.join(lo[k], smaller);
			hi[k] = t.join(hi[k], larger);
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
	/* Members 0 .. 5 write. */
	__device__ void store(const struct node_columns &c, size_t j, unsigned rank) const
	{
		if (rank >= 6)
			return;
		const double edge = rank < 3 ? (rank == 0	   ? lo[0]
						       : rank == 1 ? lo[1]
								   : lo[2])
					     : (rank == 3	   ? hi[0]
						       : rank == 4 ? hi[1]
								   : hi[2]);
		c.box[6 * j + rank] = edge;
		if (rank < 3)
			c.com[3 * j + rank] = rank == 0 ? com[0] : rank == 1 ? com[1] : com[2];
		else if (rank == 3)
			c.mass[j] = mass;
		if (c.quad)
			c.quad[6 * j + rank] = rank < 3 ? (rank == 0	      ? quad[0]
								  : rank == 1 ? quad[1]
									      : quad[2])
							: (rank == 3	      ? quad[3]
								  : rank == 4 ? quad[4]
									      : quad[5]);
	}
};

/* Each member keeps its first HELD bodies in registers and reads the rest, if any, again. */
template <int HELD, class team>
static __device__ int leaf_moments(const struct bodies &b, const struct node_columns &c, size_t j, const team &t)
{
	const size_t begin = c.first[j], end = begin + c.count[j];
	const size_t rest = begin + t.rank + HELD * team::SIZE;
	double held[HELD][4];
	struct moments m;
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
	m.store(c, j, t.rank);
	return !finite ? NB_ENONFINITE : least < 0 ? NB_EINVAL : NB_OK;
}

static __device__ void inner_moments(const struct node_columns &c, size_t j, const lane_team &t)
{
	const bool have = t.rank < c.nchild[j];
	const size_t from = c.child[j] + (have ? t.rank : 0);
	struct moments m;
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
	m.store(c, j, t.rank);
}

static __global__ void __launch_bounds__(THREADS) huge_leaf_kernel(
	struct bodies b, struct node_columns c, const uint32_t *huge, const uint32_t *nhuge, int *status)
{
	__shared__ double part[WARPS];
	const block_team t(part);
	for (uint32_t k = blockIdx.x; k < *nhuge; k += gridDim.x) {
		const int failed = leaf_moments<1>(b, c, huge[k], t);
		if (failed && t.rank == 0)
			atomicMax(status, failed);
	}
}

static __global__ void __launch_bounds__(THREADS)
	leaf_kernel(struct bodies b, struct node_columns c, uint32_t nnode, int *status)
{
	const lane_team t;
	const size_t j = (blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM;
	if (j >= nnode || c.nchild[j] || c.count[j] > HUGE_LEAF)
		return;
	const int failed = leaf_moments<2>(b, c, j, t);
	if (failed && t.rank == 0)
		atomicMax(status, failed);
}

/* The nodes from .. to-1, all of one level. */
static __global__ void __launch_bounds__(THREADS) inner_kernel(struct node_columns c, uint32_t from, uint32_t to)
{
	const lane_team t;
	const size_t j = from + (blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM;
	if (j < to && c.nchild[j])
		inner_moments(c, j, t);
}

/* Nodes before each level, and before the end of the last. */
struct levels {
	uint32_t begin[MAX_LEVEL + 2];
};

/* Levels high .. low, one after the other, by one block. */
static __global__ void __launch_bounds__(SMALL_THREADS)
	small_levels_kernel(struct node_columns c, struct levels levels, int high, int low)
{
	const lane_team t;
	for (int l = high; l >= low; l--) {
		for (size_t j = levels.begin[l] + threadIdx.x / TEAM; j < levels.begin[l + 1];
			j += SMALL_THREADS / TEAM)
			if (c.nchild[j])
				inner_moments(c, j, t);
		__syncthreads();
	}
}

/* ---- the host's part ------------------------------------------------------------------------------------- */

void nb_tree_free_cuda(struct nb_tree *tree)
{
#define NB_NODE_COLUMN(type, member, components, least) \
	if (tree->member)                               \
		(void)cudaFreeAsync(tree->member, 0);
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	memset(tree, 0, sizeof *tree);
}

template <class T> static int column(T **p, size_t n)
{
	nb_cuda_buffer<T> buffer;
	NB_TRY(buffer.alloc(n));
	*p = buffer.ptr;
	buffer.ptr = nullptr;
	return NB_OK;
}

static int inner(const struct node_columns &c, const struct levels &levels, int digits)
{
	for (int l = digits; l >= 0;) {
		int low = l; /* levels low .. l are small */
		while (low >= 0 && levels.begin[low + 1] - levels.begin[low] <= SMALL_LEVEL)
			low--;
		low++;
		const uint32_t begin = levels.begin[l], n = levels.begin[l + 1] - begin;
		if (low > l) {
			inner_kernel<<<nb_cuda_blocks((size_t)n * TEAM, THREADS), THREADS>>>(c, begin, begin + n);
			low = l;
		} else if (levels.begin[low] != levels.begin[l + 1]) {
			small_levels_kernel<<<1, SMALL_THREADS>>>(c, levels, l, low);
		}
		NB_CUDA_LAUNCHED();
		l = low - 1;
	}
	return NB_OK;
}

static int build(const struct bodies &b, struct nb_tree *tree)
{
	const unsigned blocks = nb_cuda_blocks(b.n, b.tiles * THREADS);
	const size_t cells = (size_t)blocks * (size_t)(b.digits + 1);
	nb_cuda_buffer<uint32_t> at, starts;
	NB_TRY(starts.alloc(b.n));
	NB_TRY(at.alloc(cells + blocks)); /* then the total */
	NB_CUDA_TRY(cudaMemsetAsync(at.ptr + cells, 0, sizeof *at.ptr));
	count_kernel<<<blocks, THREADS>>>(b, starts.ptr, at.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(cells + 1, at.ptr, at.ptr));
	struct levels levels;
	NB_CUDA_TRY(cudaMemcpy2D(levels.begin, sizeof *at.ptr, at.ptr, blocks * sizeof *at.ptr, sizeof *at.ptr,
		(size_t)b.digits + 2, cudaMemcpyDeviceToHost));
	const uint32_t nnode = levels.begin[b.digits + 1];
	if (nnode > NODE_LIMIT)
		return NB_ELIMIT;

#define NB_NODE_COLUMN(type, member, components, least) \
	if (tree->order >= (least))                     \
		NB_TRY(column(&tree->member, (components) * (size_t)nnode));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	tree->nnode = nnode;

	nb_cuda_buffer<uint32_t> huge; /* two counters, then the huge leaves */
	NB_TRY(huge.alloc(b.n / HUGE_LEAF + 2));
	uint32_t *nhuge = huge.ptr;
	int *status = (int *)(huge.ptr + 1);
	NB_CUDA_TRY(cudaMemsetAsync(huge.ptr, 0, 2 * sizeof *huge.ptr));
	place_kernel<<<blocks, THREADS>>>(b, starts.ptr, at.ptr, tree->first, tree->count, tree->child);
	NB_CUDA_LAUNCHED();
	link_kernel<<<nb_cuda_blocks(nnode, THREADS), THREADS>>>(
		nnode, tree->count, tree->child, tree->nchild, huge.ptr + 2, nhuge);
	NB_CUDA_LAUNCHED();
	const struct node_columns c = {
		tree->first, tree->count, tree->child, tree->nchild, tree->box, tree->com, tree->mass, tree->quad};
	if (b.n > HUGE_LEAF) {
		huge_leaf_kernel<<<HUGE_BLOCKS, THREADS>>>(b, c, huge.ptr + 2, nhuge, status);
		NB_CUDA_LAUNCHED();
	}
	leaf_kernel<<<nb_cuda_blocks((size_t)nnode * TEAM, THREADS), THREADS>>>(b, c, nnode, status);
	NB_CUDA_LAUNCHED();
	NB_TRY(inner(c, levels, b.digits));
	int failed;
	NB_CUDA_TRY(cudaMemcpy(&failed, status, sizeof failed, cudaMemcpyDeviceToHost));
	return failed;
}

int nb_tree_build_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree)
{
	memset(tree, 0, sizeof *tree);
	if ((dim != 2 && dim != 3) || leaf_size < 1 || order < 1 || order > 2)
		return NB_EINVAL;
	if (n > UINT32_MAX / 2)
		return NB_ELIMIT;
	tree->dim = dim;
	tree->leaf_size = leaf_size;
	tree->order = order;
	tree->cube = *cube;
	if (n == 0)
		return NB_OK;
	const struct bodies b = {
		n, key, pos, mass, (uint32_t)leaf_size, dim, dim == 3 ? 22 : 32, n < TILED ? 1u : (unsigned)TILES};
	const int status = build(b, tree);
	if (status)
		nb_tree_free_cuda(tree);
	return status;
}
