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
 *   leaves   four lanes per leaf sum over its bodies
 *   inner    level by level upwards, eight lanes per node, a lane per child; a run of small levels in one launch
 *
 * The host waits once, for the number of nodes of each level, to size the arrays; and again where keys end and bodies
 * are still too many for a leaf.  Those ties (kernels/order/deep.h) are then divided in the same way, all at once, by
 * deeper keys: a round, with levels of its own below those of the rounds before, until there are none.
 *
 * Sections: nodes from keys (count, scan, place, link), moments (leaves, inner), the host's part.  Launch: blocks of
 * 256 threads; a block of count and place does up to 4 x 256 bodies; a leaf of more than 4,096 bodies gets a block of
 * its own; a run of levels of up to 128 nodes gets one block of 512 threads.  Moments are sums in f64.
 *
 * As in Karras 2012 (High Performance Graphics, p. 33) each node is found alone; keys as in Warren & Salmon
 * 1993 (Supercomputing '93, p. 12). */
#include <string.h>

#include "kernels/device/device.cuh"
#include "kernels/order/order.cuh"
#include "kernels/team/team.cuh"
#include "kernels/tree/tree.cuh"

#include <vector>

enum {
	THREADS = 256,
	WARPS = THREADS / 32,
	TILES = 4,	 /* a block has at most TILES times THREADS bodies, */
	TILED = 1 << 20, /* and THREADS where there are so few in all that blocks are short of work */
	MAX_LEVEL = NB_TREE_DIGITS,
	NODE_LIMIT = 1 << 28
};

struct bodies {
	size_t n;
	const uint64_t *key;
	const double *pos, *mass;
	uint32_t leaf_size;
	int dim, digits;
	unsigned tiles; /* of a block */
	/* in a round of ties: the tie of each body, where each begins and ends, its first row, and its node */
	const uint32_t *tie, *begin, *row, *node;
	uint32_t base; /* number of the first new node */
	bool fresh;    /* roots may be ties: nobody has looked yet */
	size_t spare;  /* nodes that columns have room for beyond those of the tree */
};

/* Bodies that one root holds. */
struct span {
	size_t lo, hi;
};

template <bool DEEP> static __device__ __forceinline__ struct span span_of(const struct bodies &b, size_t i)
{
	if constexpr (DEEP)
		return {b.begin[b.tie[i]], b.begin[b.tie[i] + 1]};
	return {0, b.n};
}

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

/* Whether the cell of level d that holds bodies i-1 and i, both of the span, has more than leaf_size bodies. */
static __device__ bool cell_is_split(const struct bodies &b, struct span s, size_t i, uint64_t key, int d)
{
	if (d == 0)
		return s.hi - s.lo > b.leaf_size;
	const int shift = level_shift(b, d);
	const uint64_t prefix = key >> shift;
	const size_t leaf = b.leaf_size;
	if (i - 1 + leaf < s.hi && b.key[i - 1 + leaf] >> shift == prefix)
		return true;
	if (i >= s.lo + leaf && b.key[i - leaf] >> shift == prefix)
		return true;
	/* the cell's first body is one of lo .. hi */
	size_t lo = i > s.lo + leaf ? i - leaf + 1 : s.lo, hi = i - 1;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (b.key[mid] >> shift == prefix)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo + leaf < s.hi && b.key[lo + leaf] >> shift == prefix;
}

/* What a warp knows of its 32 bodies. */
struct tile {
	uint32_t first; /* body of lane 0 */
	int agree;	/* this lane's key with the one before, in digits; -1 where a span begins or bodies end */
};

/* The first body from `from` on, at most to, that is not inside, as all before it are.  All lanes look for the same. */
template <class test> static __device__ __forceinline__ uint32_t first_outside(uint32_t from, uint32_t to, test inside)
{
	const uint32_t lane = threadIdx.x % 32;
	if (from < to) { /* between which powers of two it is */
		const uint32_t ahead = (1u << lane) - 1, most = to - from;
		const uint32_t n = (uint32_t)__popc(__ballot_sync(0xffffffff, ahead < most && inside(from + ahead)));
		to = n < 32 && (1u << n) - 1 < most ? from + (1u << n) - 1 : to;
		from += n ? 1u << (n - 1) : 0;
	}
	while (from < to) {
		const uint32_t stride = (to - from + 31) / 32, at = from + (lane + 1) * stride - 1;
		const uint32_t n = (uint32_t)__popc(__ballot_sync(0xffffffff, at < to && inside(at)));
		from += n * stride;
		to = min(to, from + stride - 1);
	}
	return from;
}

/* Of each lane that wants to know: the first body past its own, at most end, whose first `level` digits differ.  All
 * lanes come, and look for one after the other: a lane alone would wait for each of tens of loads. */
static __device__ __forceinline__ uint32_t cell_end(
	const struct bodies &b, const struct tile &tile, uint64_t key, int level, uint32_t end, bool wanted)
{
	const uint32_t lane = threadIdx.x % 32;
	for (uint32_t left = __ballot_sync(0xffffffff, wanted); left; left &= left - 1) {
		const int whose = __ffs((int)left) - 1;
		const int of = __shfl_sync(0xffffffff, level, whose);
		const uint32_t others = __ballot_sync(0xffffffff, tile.agree < of) & (0xfffffffeu << whose);
		uint32_t found = tile.first + (uint32_t)__ffs((int)others) - 1;
		if (!others) {
			const int shift = level_shift(b, of);
			const uint64_t prefix = __shfl_sync(0xffffffff, key, whose) >> shift;
			found = first_outside(tile.first + 32, __shfl_sync(0xffffffff, end, whose),
				[&](uint32_t at) { return b.key[at] >> shift == prefix; });
		}
		if (lane == (unsigned)whose)
			end = found;
	}
	return end;
}

/* Calls visit(level, count, level of the first child or 0) for each node that begins at body i, from the top, in lanes
 * that want it.  All lanes of a warp come, with 32 bodies in a row. */
template <bool DEEP, class visitor>
static __device__ __forceinline__ void visit_nodes(const struct bodies &b, size_t i, bool wanted, visitor visit)
{
	struct span s = {0, 0};
	uint64_t key = 0;
	struct tile tile = {(uint32_t)(i - threadIdx.x % 32), -1};
	int level = 0;
	bool on = wanted;
	if (i < b.n) {
		s = span_of<DEEP>(b, i);
		key = b.key[i];
		if (i > s.lo) {
			tile.agree = common_digits(b, b.key[i - 1], key);
			on = on && tile.agree < b.digits && cell_is_split(b, s, i, key, tile.agree);
			level = tile.agree + 1;
		}
	}
	uint32_t end = cell_end(b, tile, key, level, (uint32_t)s.hi, on && level > 0);
	while (__any_sync(0xffffffff, on)) {
		if (on) {
			const uint32_t count = end - (uint32_t)i;
			int next = 0;
			if (count > b.leaf_size) {
				const int d = common_digits(b, key, b.key[end - 1]);
				next = d < b.digits ? d + 1 : 0;
			}
			visit(level, count, next);
			on = next > 0;
			level = next;
		}
		end = cell_end(b, tile, key, level, end, on);
	}
}

/* starts[i], bit l: a node of level l + 1 begins at body i.
 * at[level][block] = nodes of that level that begin at the bodies of that block; behind the last level: ties. */
template <bool DEEP>
static __global__ void __launch_bounds__(THREADS) count_kernel(struct bodies b, uint32_t *starts, uint32_t *at)
{
	__shared__ uint32_t found[MAX_LEVEL + 2];
	if (threadIdx.x <= MAX_LEVEL + 1)
		found[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned tile = 0; tile < b.tiles; tile++) {
		const size_t i = (blockIdx.x * (size_t)b.tiles + tile) * THREADS + threadIdx.x;
		uint32_t mine = 0;
		visit_nodes<DEEP>(b, i, i < b.n, [&](int level, uint32_t count, int next) {
			mine |= level ? 1u << (level - 1) : 0;
			atomicAdd(&found[level], 1u);
			if (!next && count > b.leaf_size && (!DEEP || b.fresh || level > 0))
				atomicAdd(&found[b.digits + 1], 1u);
		});
		if (i < b.n)
			starts[i] = mine;
	}
	__syncthreads();
	if (threadIdx.x <= b.digits + 1)
		at[threadIdx.x * (size_t)gridDim.x + blockIdx.x] = found[threadIdx.x];
}

/* The integer columns, from at[][] after the scan. */
template <bool DEEP>
static __global__ void __launch_bounds__(THREADS) place_kernel(
	struct bodies b, const uint32_t *starts, const uint32_t *at, uint32_t *first, uint32_t *count, uint32_t *child)
{
	__shared__ uint32_t next[MAX_LEVEL];	     /* of level l + 1, the next node's number */
	__shared__ uint32_t base[WARPS][MAX_LEVEL];  /* the same for each warp of a tile */
	__shared__ uint32_t lanes[WARPS][MAX_LEVEL]; /* of the warp, where a node of level l + 1 begins */
	const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	if (threadIdx.x < b.digits)
		next[threadIdx.x] = at[(threadIdx.x + 1) * (size_t)gridDim.x + blockIdx.x] + b.base;
	for (unsigned tile = 0; tile < b.tiles; tile++) {
		const size_t i = (blockIdx.x * (size_t)b.tiles + tile) * THREADS + threadIdx.x;
		const uint32_t mine = i < b.n ? starts[i] : 0;
		uint32_t of_level = 0; /* lane l keeps that of level l + 1 */
		for (uint32_t any = nb_warp_or(mine); any; any &= any - 1) {
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
				return 0u; /* the root */
			return base[warp][level - 1] + (uint32_t)__popc(lanes[warp][level - 1] & ((1u << lane) - 1));
		};
		const bool root = i < b.n && i == span_of<DEEP>(b, i).lo;
		visit_nodes<DEEP>(b, i, mine || root, [&](int level, uint32_t bodies, int child_level) {
			const uint32_t c = DEEP ? b.tie[i] : 0;
			const uint32_t j = DEEP && level == 0 ? b.node[c] : number(level);
			first[j] = DEEP ? b.row[c] + (uint32_t)(i - b.begin[c]) : (uint32_t)i;
			count[j] = bodies;
			child[j] = child_level ? number(child_level) : 0;
		});
		__syncthreads();
	}
}

static __global__ void __launch_bounds__(THREADS)
	link_kernel(uint32_t nnode, const uint32_t *count, const uint32_t *child, uint32_t *nchild)
{
	const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (j >= nnode)
		return;
	uint32_t children = 0;
	if (child[j]) {
		const uint32_t bodies = count[j];
		for (uint32_t sum = 0; sum < bodies; children++)
			sum += count[child[j] + children];
	}
	nchild[j] = children;
}

/* ---- ties ---------------------------------------------------------------------------------------------- */

/* Nodes that keys have divided; those whose first body is not among n are others' (nb_tree_grow_cuda). */
struct divided {
	size_t n;
	uint32_t leaf_size;
	const uint32_t *first, *count, *child;

	__device__ bool is_tie(size_t j) const
	{
		return child[j] == 0 && count[j] > leaf_size && first[j] < n;
	}
};

/* Of the nodes from .. nnode-1: which are ties, and their bodies. */
static __global__ void __launch_bounds__(THREADS)
	tie_kernel(uint32_t from, uint32_t nnode, struct divided tree, uint32_t *is)
{
	const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x, j = from + k;
	if (j < nnode)
		is[k] = tree.is_tie(j);
}

static __global__ void __launch_bounds__(THREADS) list_kernel(uint32_t from, uint32_t nnode, struct divided tree,
	const uint32_t *to, uint32_t *node, uint32_t *row, uint32_t *size)
{
	const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x, j = from + k;
	if (j >= nnode || !tree.is_tie(j))
		return;
	node[to[k]] = (uint32_t)j;
	row[to[k]] = tree.first[j];
	size[to[k]] = tree.count[j];
}

/* The tie of each body, and its row, if wanted. */
static __global__ void __launch_bounds__(THREADS) member_kernel(
	size_t n, uint32_t ntie, const uint32_t *begin, const uint32_t *first, uint32_t *tie, uint32_t *row)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n)
		return;
	uint32_t lo = 0, hi = ntie; /* begin[lo] <= i < begin[hi] */
	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (begin[mid] <= i)
			lo = mid;
		else
			hi = mid;
	}
	tie[i] = lo;
	if (row)
		row[i] = first[lo] + (uint32_t)(i - begin[lo]);
}

static __global__ void __launch_bounds__(THREADS)
	order_kernel(size_t n, const uint32_t *tie, const uint64_t *key, uint32_t *disorder)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i > 0 && i < n && tie[i] == tie[i - 1] && key[i] < key[i - 1])
		*disorder = 1;
}

/* ---- the host's part ------------------------------------------------------------------------------------- */

void nb_tree_free_cuda(struct nb_tree *tree)
{
#define NB_NODE_COLUMN(type, member, components, least) \
	if (tree->member)                               \
		nb_cuda_give(tree->member);
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	memset(tree, 0, sizeof *tree);
}

template <class T> static int column(T **p, size_t n)
{
	nb_cuda_buffer<T> buffer;
	NB_TRY(buffer.alloc(n));
	*p = buffer.hand_over();
	return NB_OK;
}

/* Makes room for n rows in a column of `had`. */
static int grow(uint32_t **p, size_t had, size_t n)
{
	uint32_t *old = *p;
	*p = nullptr;
	const int status = column(p, n);
	if (!status && had)
		NB_CUDA_TRY(cudaMemcpyAsync(*p, old, had * sizeof **p, cudaMemcpyDeviceToDevice, 0));
	nb_cuda_give(old);
	return status;
}

/* Adds the nodes of one round to the tree: their integer columns but for nchild; *ntie of them are ties. */
template <bool DEEP>
static int add_nodes(struct bodies b, uint32_t roots, struct nb_tree *tree, struct nb_tree_levels *levels,
	uint32_t *ntie, struct nb_team_early *early = nullptr)
{
	const unsigned blocks = nb_cuda_blocks(b.n, b.tiles * THREADS);
	const size_t cells = (size_t)blocks * (size_t)(b.digits + 2);
	nb_cuda_buffer<uint32_t> at, starts;
	NB_TRY(starts.alloc(b.n));
	NB_TRY(at.alloc(cells + blocks)); /* then the total */
	NB_CUDA_TRY(cudaMemsetAsync(at.ptr + cells, 0, sizeof *at.ptr));
	count_kernel<DEEP><<<blocks, THREADS>>>(b, starts.ptr, at.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(cells + 1, at.ptr, at.ptr));
	if (early)
		early->begin();
	uint32_t begin[NB_TREE_DIGITS + 3];
	NB_CUDA_TRY(cudaMemcpy2D(begin, sizeof *at.ptr, at.ptr, blocks * sizeof *at.ptr, sizeof *at.ptr,
		(size_t)b.digits + 3, cudaMemcpyDeviceToHost));
	*ntie = begin[b.digits + 2] - begin[b.digits + 1];
	b.base = (uint32_t)tree->nnode - roots;
	const size_t had = tree->nnode, nnode = (size_t)b.base + begin[b.digits + 1];
	if (nnode > NODE_LIMIT)
		return NB_ELIMIT;
	levels->digits = b.digits;
	for (int l = 0; l < b.digits + 2; l++)
		levels->begin[l] = b.base + begin[l];
	if (DEEP) /* the roots are nodes of other rounds */
		levels->begin[0] = levels->begin[1];
	NB_TRY(grow(&tree->first, had, nnode + b.spare));
	NB_TRY(grow(&tree->count, had, nnode + b.spare));
	NB_TRY(grow(&tree->child, had, nnode + b.spare));
	tree->nnode = nnode;
	place_kernel<DEEP><<<blocks, THREADS>>>(b, starts.ptr, at.ptr, tree->first, tree->count, tree->child);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* Divides the ties among the nodes from `from` on. */
static int add_ties(
	const struct bodies &whole, uint32_t from, struct nb_tree *tree, struct nb_tree_levels *levels, uint32_t *ntie)
{
	const uint32_t roots = *ntie, nnode = (uint32_t)tree->nnode, some = nnode - from;
	const struct divided divided = {whole.n, whole.leaf_size, tree->first, tree->count, tree->child};
	nb_cuda_buffer<uint32_t> to, node, first, begin, tie, row, disorder;
	nb_cuda_buffer<uint64_t> key;
	NB_TRY(to.alloc(some));
	NB_TRY(node.alloc(roots));
	NB_TRY(first.alloc(roots));
	NB_TRY(begin.alloc((size_t)roots + 1));
	tie_kernel<<<nb_cuda_blocks(some, THREADS), THREADS>>>(from, nnode, divided, to.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda(some, to.ptr, to.ptr));
	NB_CUDA_TRY(cudaMemsetAsync(begin.ptr + roots, 0, sizeof *begin.ptr));
	list_kernel<<<nb_cuda_blocks(some, THREADS), THREADS>>>(
		from, nnode, divided, to.ptr, node.ptr, first.ptr, begin.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_scan_cuda((size_t)roots + 1, begin.ptr, begin.ptr));
	uint32_t n, found;
	NB_CUDA_TRY(cudaMemcpy(&n, begin.ptr + roots, sizeof n, cudaMemcpyDeviceToHost));

	NB_TRY(tie.alloc(n));
	NB_TRY(row.alloc(n));
	NB_TRY(key.alloc(n));
	NB_TRY(disorder.alloc(1));
	const unsigned blocks = nb_cuda_blocks(n, THREADS);
	member_kernel<<<blocks, THREADS>>>(n, roots, begin.ptr, first.ptr, tie.ptr, row.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(nb_deep_keys_cuda(n, tie.ptr, roots, row.ptr, whole.pos, whole.dim, false, key.ptr));
	NB_CUDA_TRY(cudaMemsetAsync(disorder.ptr, 0, sizeof *disorder.ptr));
	order_kernel<<<blocks, THREADS>>>(n, tie.ptr, key.ptr, disorder.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&found, disorder.ptr, sizeof found, cudaMemcpyDeviceToHost));
	if (found)
		return NB_EORDER;
	struct bodies b = whole;
	b.n = n, b.key = key.ptr, b.tiles = n < TILED ? 1u : (unsigned)TILES;
	b.tie = tie.ptr, b.begin = begin.ptr, b.row = first.ptr, b.node = node.ptr, b.fresh = false;
	return add_nodes<true>(b, roots, tree, levels, ntie);
}

/* All columns, when the nodes are there. */
static int close(const struct bodies &b, const std::vector<struct nb_tree_levels> &rounds, struct nb_tree *tree)
{
	const size_t nnode = tree->nnode;
#define NB_NODE_COLUMN(type, member, components, least)                                    \
	if ((tree->order >= (least) || sizeof(type) == sizeof(uint32_t)) && !tree->member) \
		NB_TRY(column(&tree->member, (components) * (nnode + b.spare)));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	link_kernel<<<nb_cuda_blocks(nnode, THREADS), THREADS>>>(
		(uint32_t)nnode, tree->count, tree->child, tree->nchild);
	NB_CUDA_LAUNCHED();
	return tree->order == 0
		       ? NB_OK
		       : nb_tree_moments_cuda(tree, b.n, b.pos, b.mass, rounds.size(), rounds.data(), !b.fresh);
}

/* What is below the nodes of the first round, of which ntie among those from `from` on are ties. */
static int finish(const struct bodies &b, uint32_t from, uint32_t ntie, std::vector<struct nb_tree_levels> &rounds,
	struct nb_tree *tree)
{
	while (ntie) {
		const uint32_t had = (uint32_t)tree->nnode;
		if (rounds.size() > NB_TREE_LEVELS)
			return NB_ELIMIT; /* not reached: every round halves the cells of ties */
		rounds.emplace_back();
		NB_TRY(add_ties(b, from, tree, &rounds.back(), &ntie));
		from = had;
	}
	return close(b, rounds, tree);
}

static int build(const struct bodies &b, struct nb_team_early *early, struct nb_tree *tree)
{
	std::vector<struct nb_tree_levels> rounds(1);
	uint32_t ntie = 0;
	NB_TRY(add_nodes<false>(b, 0, tree, &rounds[0], &ntie, early));
	return finish(b, 0, b.pos ? ntie : 0, rounds, tree);
}

int nb_tree_build_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree)
{
	memset(tree, 0, sizeof *tree);
	if ((dim != 2 && dim != 3) || leaf_size < 1 || order < 0 || order > 2)
		return NB_EINVAL;
	if (n > UINT32_MAX / 2)
		return NB_ELIMIT;
	tree->dim = dim;
	tree->leaf_size = leaf_size;
	tree->order = order;
	tree->cube = *cube;
	if (n == 0)
		return NB_OK;
	const struct bodies b = {n, key, pos, mass, (uint32_t)leaf_size, dim, dim == 3 ? 22 : 32,
		n < TILED ? 1u : (unsigned)TILES, nullptr, nullptr, nullptr, nullptr, 0, false, 0};
	/* for the walk */
	struct nb_team_early early(order > 0 && n >= NB_TEAM_BODIES, pos, 3 * n * sizeof *pos, mass, n * sizeof *mass);
	const int status = build(b, &early, tree);
	if (status)
		nb_tree_free_cuda(tree);
	return status;
}

int nb_tree_grow_cuda(size_t n, const uint64_t *key, const double *pos, const double *mass, uint32_t nroot,
	const uint32_t *root, const uint32_t *begin, size_t spare, struct nb_tree *tree)
{
	std::vector<struct nb_tree_levels> rounds(1);
	struct bodies b = {n, key, pos, mass, (uint32_t)tree->leaf_size, tree->dim, tree->dim == 3 ? 22 : 32,
		n < TILED ? 1u : (unsigned)TILES, nullptr, nullptr, nullptr, nullptr, 0, true, spare};
	if (nroot == 0) {
		NB_TRY(grow(&tree->first, tree->nnode, tree->nnode + spare));
		NB_TRY(grow(&tree->count, tree->nnode, tree->nnode + spare));
		NB_TRY(grow(&tree->child, tree->nnode, tree->nnode + spare));
		return close(b, {}, tree);
	}
	nb_cuda_buffer<uint32_t> tie, first, node;
	uint32_t ntie = 0;
	NB_TRY(tie.alloc(n));
	NB_TRY(first.alloc((size_t)nroot + 1));
	NB_TRY(node.alloc(nroot));
	NB_CUDA_TRY(cudaMemcpyAsync(first.ptr, begin, ((size_t)nroot + 1) * sizeof *begin, cudaMemcpyHostToDevice));
	NB_CUDA_TRY(cudaMemcpyAsync(node.ptr, root, nroot * sizeof *root, cudaMemcpyHostToDevice));
	b.begin = b.row = first.ptr, b.node = node.ptr, b.tie = tie.ptr;
	member_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(n, nroot, first.ptr, first.ptr, tie.ptr, nullptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(add_nodes<true>(b, nroot, tree, &rounds[0], &ntie));
	return finish(b, 0, ntie, rounds, tree);
}
