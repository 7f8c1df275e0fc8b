/* link_cuda.cu - friends of friends on the device: an octree, of which batchs of bodies walk over what comes behind
 * them, and sets that are joined without locks.
 *
 * A batch is a largest node of at most 64 bodies, or a leaf whose bodies are all in one place, which others see as one
 * body.  A node is "one" if its bodies are known to be in one set: because its tight box is no longer than the linking
 * length, or, of nodes in a batch, because its bodies have turned out to be joined.  Of two nodes that are one, a
 * single pair of friends is enough, and none where they are in one set already.
 *
 *   boxes    a thread for each leaf; who comes last to a node goes on upwards
 *   within   a warp for each batch tests all pairs of its bodies in shared memory
 *   mark     a thread for each node: whether it is one
 *   walk     a warp for each batch goes down from the root through what has bodies behind it, 32 boxes at a time:
 *            children of four nodes; bodies of the batch that are near a leaf wait until 32 can be tested
 *
 * No list of pairs is made, so there is no memory that might not suffice.  A walk that runs out of its stack, as in a
 * tree that is hundreds of levels deep, ends the attempt, and the CPU finds the sets.
 *
 * Precision.  Where the linking length is 2^-14 of the extent or more, boxes and bodies are in f32, in units of a power
 * of two; a distance that is closer to the linking length than f32 can tell is computed in f64 from the positions, and
 * one that is too close even for that exactly (exact_internal.h).  Where it is less, all is in f64, and bodies are read
 * from where the caller has them.
 *
 * Launch: blocks of 256 threads.  25 to 30 bytes of memory for each body.  Sets as by Jaiganesh &
 * Burtscher 2018, HPDC '18, 92. */
#include <math.h>

#include <type_traits>

#include "kernels/device/device.cuh"
#include "kernels/groups/groups_internal.cuh"
#include "kernels/order/order.cuh"
#include "kernels/tree/tree.h"

enum {
	THREADS = 256,
	WARPS = THREADS / 32,
	LEAF = NB_LINK_LEAF_CUDA,
	BATCH = 64,
	STACK = 512, /* nodes of a walk */
	WIDE = 128,  /* with more of them it takes one at a time, so that they grow by 7 for each level only */
	WAITING = 64 /* bodies next to leaves */
};
#define NONE 0xffffffffu
#define HIGH_BIT 0x80000000u

/* A node, packed. */
template <class T> struct alignas(4 * sizeof(T)) node {
	T lo[3], hi[3];
	uint32_t first; /* body; the highest bit: it is one */
	uint32_t child; /* of a leaf its bodies; else the highest bit, 28 for the first child, 3 for their number less 1
			 */
};

static __device__ __forceinline__ bool is_inner(uint32_t child)
{
	return child & HIGH_BIT;
}

static __device__ __forceinline__ uint32_t first_of(uint32_t first)
{
	return first & ~HIGH_BIT;
}

/* The bodies in the order of the tree, and what a distance must be. */
template <class T> struct bodies {
	size_t n;
	const double *pos;
	const uint32_t *perm;
	const float *sorted; /* x 3; NULL in f64 */
	struct nb_link_law law;
	T near2, far2; /* squared distances below are of friends, those above are not; between: see the law */
	T box, half;   /* of the periodic box; half is INFINITY if there is none */

	__device__ __forceinline__ void load(uint32_t i, T x[3]) const
	{
		if constexpr (std::is_same<T, float>::value) {
			for (int k = 0; k < 3; k++)
				x[k] = sorted[3 * (size_t)i + k];
		} else {
			nb_link_place(&law, pos + 3 * (size_t)perm[i], x);
		}
	}
};

/* ---- distances --------------------------------------------------------------------------------------- */

template <class T> static __device__ __noinline__ bool are_friends_exactly(const bodies<T> &b, uint32_t i, uint32_t j)
{
	double x[3], y[3];
	nb_link_place(&b.law, b.pos + 3 * (size_t)b.perm[i], x);
	nb_link_place(&b.law, b.pos + 3 * (size_t)b.perm[j], y);
	const double d2 = nb_link_distance2(&b.law, x, y);
	return d2 < b.law.low || (d2 <= b.law.high && nb_exact_friends(&b.law, x, y));
}

template <class T> static __device__ __forceinline__ T distance2(const bodies<T> &b, const T x[3], const T y[3])
{
	T d2 = 0;
#pragma unroll
	for (int k = 0; k < 3; k++) {
		T d = fabs(x[k] - y[k]);
		d = d > b.half ? b.box - d : d;
		d2 += d * d;
	}
	return d2;
}

/* Bodies that may be friends, and those of them that are, as bits. */
struct judged {
	uint32_t maybe, sure;

	template <class T> __device__ __forceinline__ void add(const bodies<T> &b, T d2, uint32_t bit)
	{
		maybe |= d2 <= b.far2 ? bit : 0;
		sure |= d2 < b.near2 ? bit : 0;
	}
};

/* The least squared distance of bodies in two boxes. */
template <class T>
static __device__ __forceinline__ T gap2(
	const bodies<T> &b, const T alo[3], const T ahi[3], const T blo[3], const T bhi[3])
{
	T sum = 0;
#pragma unroll
	for (int k = 0; k < 3; k++) {
		T gap = fmax(fmax(blo[k] - ahi[k], alo[k] - bhi[k]), (T)0);
		if (b.box > 0)
			gap = fmin(gap, fmax(b.box - (fmax(ahi[k], bhi[k]) - fmin(alo[k], blo[k])), (T)0));
		sum += gap * gap;
	}
	return sum;
}

/* Whether the box is no longer than the linking length, or no longer than a point. */
template <class T> static __device__ __forceinline__ bool is_short(const bodies<T> &b, const T lo[3], const T hi[3])
{
	T d2 = 0;
	for (int k = 0; k < 3; k++)
		d2 += (hi[k] - lo[k]) * (hi[k] - lo[k]);
	return d2 < b.near2 || (std::is_same<T, double>::value && lo[0] == hi[0] && lo[1] == hi[1] && lo[2] == hi[2]);
}

/* ---- nodes ------------------------------------------------------------------------------------------- */

/* Places in the order of the tree, from the corner of the cube, in units of 1 / scale. */
static __global__ void __launch_bounds__(THREADS)
	sort_kernel(size_t n, const double *pos, const uint32_t *perm, const __grid_constant__ struct nb_link_law law,
		const __grid_constant__ struct nb_cube cube, double scale, float *sorted)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	double x[3];
	nb_link_place(&law, pos + 3 * (size_t)perm[i], x);
	for (int k = 0; k < 3; k++)
		sorted[3 * i + k] = k < law.dim ? (float)((x[k] - cube.lo[k]) * scale) : 0;
}

static __global__ void __launch_bounds__(THREADS)
	up_kernel(uint32_t nnode, const uint32_t *child, const uint32_t *nchild, uint32_t *up, uint32_t *arrived)
{
	const uint32_t j = blockIdx.x * THREADS + threadIdx.x;
	if (j >= nnode)
		return;
	arrived[j] = 0;
	for (uint32_t c = 0; c < nchild[j]; c++)
		up[child[j] + c] = j;
	if (j == 0)
		up[0] = NONE;
}

template <class T>
static __global__ void __launch_bounds__(THREADS) boxes_kernel(const __grid_constant__ bodies<T> b,
	const __grid_constant__ struct nb_tree tree, const uint32_t *up, uint32_t *arrived, node<T> *packed)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= tree.nnode || tree.nchild[j])
		return;
	node<T> own;
	own.first = tree.first[j], own.child = tree.count[j];
	b.load(own.first, own.lo);
	for (int k = 0; k < 3; k++)
		own.hi[k] = own.lo[k];
	for (uint32_t i = 1; i < own.child && own.child <= LEAF; i++) { /* of more, all are in one place */
		T x[3];
		b.load(own.first + i, x);
		for (int k = 0; k < 3; k++)
			own.lo[k] = fmin(own.lo[k], x[k]), own.hi[k] = fmax(own.hi[k], x[k]);
	}
	packed[j] = own;
	for (uint32_t p = up[j]; p != NONE; p = up[p]) {
		__threadfence();
		if (atomicAdd(&arrived[p], 1) + 1 < tree.nchild[p])
			return;
		__threadfence();
		const node<T> *child = packed + tree.child[p];
		for (uint32_t c = 0; c < tree.nchild[p]; c++)
			for (int k = 0; k < 3; k++) {
				const T lo = __ldcg(&child[c].lo[k]), hi = __ldcg(&child[c].hi[k]);
				own.lo[k] = c ? fmin(own.lo[k], lo) : lo;
				own.hi[k] = c ? fmax(own.hi[k], hi) : hi;
			}
		own.first = tree.first[p];
		own.child = HIGH_BIT | tree.child[p] << 3 | (tree.nchild[p] - 1);
		packed[p] = own;
	}
}

/* ---- batchs ----------------------------------------------------------------------------------------- */

struct is_batch {
	const uint32_t *count, *child, *up;

	__device__ bool operator()(size_t j) const
	{
		return (count[j] <= BATCH || child[j] == 0) && (up[j] == NONE || count[up[j]] > BATCH);
	}
};

template <class T> struct forest {
	bodies<T> b;
	node<T> *packed;
	const uint32_t *count, *up; /* of nodes; up is not there any more in the walk */
	const uint32_t *batch;
	uint32_t nbatch;
	uint32_t *parent;   /* of bodies */
	uint32_t *overflow; /* a stack was too short */
};

/* The friends of body i among those from `from` on. */
template <class T>
static __device__ __forceinline__ uint32_t decide(const bodies<T> &b, uint32_t i, struct judged friends, uint32_t from)
{
	for (uint32_t open = friends.maybe & ~friends.sure; open; open &= open - 1) {
		const uint32_t k = __ffs((int)open) - 1;
		if (from + k != i && are_friends_exactly(b, i, from + k))
			friends.sure |= 1u << k;
	}
	return friends.sure;
}

/* From the friends of the bodies lane and 32 + lane of a batch: the first body of the set of each. */
static __device__ __forceinline__ void join_sets(const uint32_t friends[2][2], uint32_t root[2])
{
	const uint32_t lane = threadIdx.x % 32;
	root[0] = lane, root[1] = 32 + lane;
	/* those that have friends */
	uint32_t left[2] = {__ballot_sync(0xffffffff, (friends[0][0] & ~(1u << lane)) | friends[0][1]),
		__ballot_sync(0xffffffff, friends[1][0] | (friends[1][1] & ~(1u << lane)))};
	while (left[0] | left[1]) {
		const uint32_t first = left[0] ? __ffs((int)left[0]) - 1 : 31 + __ffs((int)left[1]);
		uint32_t set[2] = {first < 32 ? 1u << first : 0, first < 32 ? 0 : 1u << (first - 32)};
		for (bool grows = true; grows;) {
			uint32_t more[2];
			for (int g = 0; g < 2; g++)
				more[g] = set[g] | nb_warp_or((set[0] >> lane & 1 ? friends[0][g] : 0) |
							      (set[1] >> lane & 1 ? friends[1][g] : 0));
			grows = more[0] != set[0] || more[1] != set[1];
			set[0] = more[0], set[1] = more[1];
		}
		for (int h = 0; h < 2; h++) {
			root[h] = set[h] >> lane & 1 ? first : root[h];
			left[h] &= ~set[h];
		}
	}
}

template <class T>
static __global__ void __launch_bounds__(THREADS, 8) within_kernel(const __grid_constant__ forest<T> f)
{
	__shared__ T place[WARPS][3][BATCH];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, which = blockIdx.x * WARPS + warp;
	if (which >= f.nbatch)
		return;
	uint32_t top = f.batch[which];
	const node<T> own = f.packed[top];
	const uint32_t m = f.count[top];
	if (is_short(f.b, own.lo, own.hi)) { /* then up to the largest node that is */
		uint32_t root = own.first;
		for (top = f.up[top]; top != NONE && is_short(f.b, f.packed[top].lo, f.packed[top].hi); top = f.up[top])
			root = f.packed[top].first;
		for (uint32_t i = lane; i < m; i += 32)
			f.parent[own.first + i] = root;
		return;
	}
	T x[2][3] = {};
#pragma unroll
	for (uint32_t h = 0; h < 2; h++)
		if (32 * h + lane < m) {
			f.b.load(own.first + 32 * h + lane, x[h]);
			for (int k = 0; k < 3; k++)
				place[warp][k][32 * h + lane] = x[h][k];
		}
	__syncwarp();
	struct judged friends[2][2] = {}; /* of the bodies lane and 32 + lane: those from 0 and from 32 on */
#pragma unroll
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t j = 32 * g; j < min(m, 32 * g + 32); j++) {
			const T y[3] = {place[warp][0][j], place[warp][1][j], place[warp][2][j]};
			friends[0][g].add(f.b, distance2(f.b, x[0], y), 1u << (j - 32 * g));
			if (m > 32)
				friends[1][g].add(f.b, distance2(f.b, x[1], y), 1u << (j - 32 * g));
		}
	uint32_t set[2][2]; /* the same, decided */
#pragma unroll
	for (uint32_t h = 0; h < 2; h++)
#pragma unroll
		for (uint32_t g = 0; g < 2; g++)
			set[h][g] = 32 * h + lane < m
					    ? decide(f.b, own.first + 32 * h + lane, friends[h][g], own.first + 32 * g)
					    : 0;
	uint32_t root[2];
	join_sets(set, root);
#pragma unroll
	for (uint32_t h = 0; h < 2; h++)
		if (32 * h + lane < m)
			f.parent[own.first + 32 * h + lane] = own.first + root[h];
}

/* Bodies of a batch are one if they have one root, which each of them has as its parent still. */
template <class T>
static __global__ void __launch_bounds__(THREADS) mark_kernel(uint32_t nnode, const __grid_constant__ forest<T> f)
{
	const uint32_t j = blockIdx.x * THREADS + threadIdx.x;
	if (j >= nnode)
		return;
	const node<T> own = f.packed[j];
	bool one = is_short(f.b, own.lo, own.hi);
	if (!one && f.count[j] <= BATCH) {
		const uint32_t root = f.parent[own.first];
		one = true;
		for (uint32_t i = 1; one && i < f.count[j]; i++)
			one = f.parent[own.first + i] == root;
	}
	if (one)
		f.packed[j].first = own.first | HIGH_BIT;
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

template <class T> struct walker_memory {
	T place[3][BATCH];
	uint32_t stack[STACK];
	uint2 waiting[WAITING]; /* first body of a leaf with the mark; its bodies, and one of the batch */
};

/* A warp with its batch. */
template <class T> struct walker {
	const forest<T> &f;
	walker_memory<T> &mine;
	const uint32_t lane;
	node<T> own;
	uint32_t end; /* of its bodies */
	uint32_t m;   /* bodies that matter: 1 of those in one place */
	uint32_t depth, nwaiting;

	__device__ __forceinline__ bool is_one() const
	{
		return own.first & HIGH_BIT;
	}

	/* A body of the batch against the bodies of a leaf. */
	__device__ __forceinline__ void test(uint2 pair)
	{
		const uint32_t slot = pair.y & 63, i = first_of(own.first) + slot, j = first_of(pair.x);
		const T x[3] = {mine.place[0][slot], mine.place[1][slot], mine.place[2][slot]};
		struct judged friends = {};
#pragma unroll 4
		for (uint32_t k = 0; k < pair.y >> 6; k++) {
			T y[3];
			f.b.load(j + k, y);
			friends.add(f.b, distance2(f.b, x, y), 1u << k);
		}
		for (uint32_t left = friends.maybe; left; left &= left - 1) {
			const uint32_t k = __ffs((int)left) - 1;
			if (!(friends.sure >> k & 1) && !are_friends_exactly(f.b, i, j + k))
				continue;
			nb_forest_join(f.parent, i, j + k);
			if (pair.x & HIGH_BIT) /* the leaf is one */
				break;
		}
	}

	/* The bodies of the batch that are near a leaf, which all lanes have, join those that wait. */
	__device__ __forceinline__ void add_leaf(const T lo[3], const T hi[3], uint32_t first, uint32_t bodies)
	{
		for (uint32_t from = 0; from < m; from += 32) {
			const uint32_t slot = from + lane;
			bool near = slot < m;
			if (near) {
				const T x[3] = {mine.place[0][slot], mine.place[1][slot], mine.place[2][slot]};
				near = gap2(f.b, x, x, lo, hi) <= f.b.far2;
			}
			const uint32_t those = __ballot_sync(0xffffffff, near);
			if (near)
				mine.waiting[nwaiting + __popc(those & ((1u << lane) - 1))] = make_uint2(
					first, bodies << 6 | slot);
			nwaiting += __popc(those);
			__syncwarp();
			if (nwaiting >= 32) {
				nwaiting -= 32;
				test(mine.waiting[nwaiting + lane]);
				__syncwarp();
			}
		}
	}

	/* The children of up to four nodes of the stack. */
	__device__ __forceinline__ void step()
	{
		const uint32_t taken = depth > WIDE ? 1 : min(depth, 4u), team = lane / 8, k = lane % 8;
		const uint32_t from = team < taken ? mine.stack[depth - 1 - team] : 0;
		const uint32_t last = from & 7;
		bool wanted = team < taken && k <= last;
		depth -= taken;
		node<T> other = own;
		if (wanted)
			other = f.packed[((from & ~HIGH_BIT) >> 3) + k];
		/* a node ends where the next one begins; of the last one of its siblings it is known that it ends late
		 */
		const uint32_t next = __shfl_down_sync(0xffffffff, first_of(other.first), 1);
		wanted = wanted && (k == last || next > end);
		wanted = wanted && gap2(f.b, own.lo, own.hi, other.lo, other.hi) <= f.b.far2;
		if (wanted && is_one() && other.first & HIGH_BIT)
			wanted = nb_forest_root(f.parent, first_of(own.first)) !=
				 nb_forest_root(f.parent, first_of(other.first));
		const bool inner = wanted && is_inner(other.child);
		const uint32_t inners = __ballot_sync(0xffffffff, inner);
		if (inner && depth + __popc(inners) <= STACK)
			mine.stack[depth + __popc(inners & ((1u << lane) - 1))] = other.child;
		depth += __popc(inners);
		for (uint32_t left = __ballot_sync(0xffffffff, wanted && !inner); left; left &= left - 1) {
			const int whose = __ffs((int)left) - 1;
			T lo[3], hi[3];
			for (int c = 0; c < 3; c++) {
				lo[c] = __shfl_sync(0xffffffff, other.lo[c], whose);
				hi[c] = __shfl_sync(0xffffffff, other.hi[c], whose);
			}
			const uint32_t count = __shfl_sync(0xffffffff, other.child, whose);
			add_leaf(lo, hi, __shfl_sync(0xffffffff, other.first, whose), count > LEAF ? 1 : count);
		}
		__syncwarp();
	}
};

template <class T> static __global__ void __launch_bounds__(THREADS, 4) walk_kernel(const __grid_constant__ forest<T> f)
{
	__shared__ walker_memory<T> memory[WARPS];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, which = blockIdx.x * WARPS + warp;
	if (which >= f.nbatch)
		return;
	const uint32_t top = f.batch[which], count = f.count[top];
	const node<T> own = f.packed[top];
	const uint32_t first = first_of(own.first);
	walker<T> w = {f, memory[warp], lane, own, first + count, count > BATCH ? 1 : count, 1, 0};
	if (w.end == f.b.n)
		return;
	for (uint32_t i = lane; i < w.m; i += 32) {
		T x[3];
		f.b.load(first + i, x);
		for (int k = 0; k < 3; k++)
			w.mine.place[k][i] = x[k];
	}
	if (lane == 0)
		w.mine.stack[0] = f.packed[0].child;
	__syncwarp();
	while (w.depth > 0 && w.depth <= STACK)
		w.step();
	if (w.depth > STACK) {
		*f.overflow = 1;
		return;
	}
	if (lane < w.nwaiting)
		w.test(w.mine.waiting[lane]);
}

static __global__ void __launch_bounds__(THREADS) root_kernel(size_t n, uint32_t *parent)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	volatile uint32_t *up = parent;
	uint32_t root = up[i]; /* without shorter paths: another thread would write over what this one does */
	while (up[root] != root)
		root = up[root];
	up[i] = root;
}

/* ---- the host's part ----------------------------------------------------------------------------------- */

static unsigned blocks(size_t n)
{
	return nb_cuda_blocks(n, THREADS);
}

template <class T> static bodies<T> bodies_of(const nb_sorted_cuda &w)
{
	return {w.job.n, w.job.pos, w.perm, nullptr, w.law, (T)w.law.low, (T)w.law.high, (T)w.law.box, (T)w.law.half};
}

/* Coordinates are less than 1: one is rounded by 2^-25 at most, a difference of two, or the box less that, is off by
 * 5 times that, and a distance of three by 2^-21.8, but for the relative errors of squares and sums. */
static bodies<float> bodies_in_f32(const nb_sorted_cuda &w, double scale, const float *sorted)
{
	const double length = fmin(w.law.length * scale, 4), margin = 0x1p-21 * (1 + length);
	const double near = fmax(length - margin, 0), far = length + margin;
	bodies<float> b = bodies_of<float>(w);
	b.sorted = sorted;
	b.near2 = (float)(near * near * (1 - 0x1p-20));
	b.far2 = (float)(far * far * (1 + 0x1p-20));
	b.box = (float)(w.law.box * scale);
	b.half = w.law.box > 0 ? b.box / 2 : INFINITY;
	return b;
}

/* Packed nodes, the node above each, and the batchs. */
template <class T>
static int make_batchs(nb_sorted_cuda &w, const bodies<T> &b, node<T> *packed, uint32_t *up,
	nb_cuda_buffer<uint32_t> &batch, size_t *count)
{
	struct nb_tree &tree = w.tree;
	nb_cuda_buffer<uint32_t> arrived;
	NB_TRY(arrived.alloc(tree.nnode));
	up_kernel<<<blocks(tree.nnode), THREADS>>>((uint32_t)tree.nnode, tree.child, tree.nchild, up, arrived.ptr);
	NB_CUDA_LAUNCHED();
	boxes_kernel<<<blocks(tree.nnode), THREADS>>>(b, tree, up, arrived.ptr, packed);
	NB_CUDA_LAUNCHED();
	arrived.release();
	nb_cuda_give(tree.first);
	nb_cuda_give(tree.nchild);
	tree.first = tree.nchild = nullptr;
	NB_TRY(batch.alloc(tree.nnode));
	return nb_rows_of(tree.nnode, is_batch{tree.count, tree.child, up}, batch.ptr, count);
}

template <class T> static int link(nb_sorted_cuda &w, const bodies<T> &b, struct nb_forest *to, bool *overflow)
{
	struct nb_tree &tree = w.tree;
	const uint32_t nnode = (uint32_t)tree.nnode;
	nb_cuda_buffer<node<T>> packed;
	nb_cuda_buffer<uint32_t> up, batch, full;
	size_t nbatch;
	uint32_t found;
	NB_TRY(packed.alloc(nnode));
	NB_TRY(up.alloc(nnode));
	NB_TRY(make_batchs(w, b, packed.ptr, up.ptr, batch, &nbatch));
	NB_TRY(to->parent.alloc(b.n));
	NB_TRY(full.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(full.ptr, 0, sizeof found));
	const forest<T> f = {b, packed.ptr, tree.count, up.ptr, batch.ptr, (uint32_t)nbatch, to->parent.ptr, full.ptr};
	const unsigned warps = nb_cuda_blocks(nbatch, WARPS);
	within_kernel<<<warps, THREADS>>>(f);
	NB_CUDA_LAUNCHED();
	mark_kernel<<<blocks(nnode), THREADS>>>(nnode, f);
	NB_CUDA_LAUNCHED();
	walk_kernel<<<warps, THREADS>>>(f);
	NB_CUDA_LAUNCHED();
	root_kernel<<<blocks(b.n), THREADS>>>(b.n, to->parent.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, full.ptr, sizeof found, cudaMemcpyDeviceToHost));
	*overflow = found;
	return NB_OK;
}

int nb_groups_link_cuda(const struct nb_groups_job *job, struct nb_forest *forest, bool *overflow)
{
	NB_TRY(forest->perm.alloc(job->n));
	{
		nb_sorted_cuda w = {
			*job, nb_link_law_of(job->dim, job->length, job->box), {}, false, forest->perm.ptr, {}};
		NB_TRY(nb_sorted_make_cuda(w));
		const double scale = nb_sorted_scale(w);
		if (scale > 0) {
			nb_cuda_buffer<float> sorted;
			NB_TRY(sorted.alloc(3 * job->n));
			sort_kernel<<<blocks(job->n), THREADS>>>(
				job->n, job->pos, w.perm, w.law, w.cube, scale, sorted.ptr);
			NB_CUDA_LAUNCHED();
			NB_TRY(link(w, bodies_in_f32(w, scale, sorted.ptr), forest, overflow));
		} else {
			NB_TRY(link(w, bodies_of<double>(w), forest, overflow));
		}
	}
	return NB_OK;
}
