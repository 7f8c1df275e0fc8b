/* essential_cuda.cu - what ranks send each other before their walks (essential_internal.cuh).
 *
 * A walk opens a node of mass m and size l at distance d from a group's box if
 *     d < 1.2 l,  or  d < (m l^3 / (tolerance S))^(1/5),  S the strength of the field at the group
 * (walk_cuda.cu; of orders 3 and 4 m l^4 and m l^5, and roots 1/6 and 1/7); the walk of a region opens it up to 0.3
 * radii of the region farther away.  Each rank names boxes that its groups and regions are in, some hundreds (targets),
 * and all ranks know all of these with their masses: so they know a lower bound of S in each, from the mass in every
 * other one and the farthest distance of the two.  Of its own tree a rank sends to another one the children of each
 * node that would be opened from one of that one's targets, level by level, with the bodies of leaves.
 *
 * The bound is that of a sum over bodies; S is one over nodes, and may be less.  MARGIN is for that.  If it is not
 * enough, a walk meets the stand-in for what is missing: a leaf with a body that is not a number.  Its results then are
 * none, and all ranks send more (domain_cuda.cu). */
#include <math.h>

#include <algorithm>
#include <type_traits>

#include "kernels/domain/essential_internal.cuh"
#include "kernels/multipole/multipole.h"
#include "kernels/pair/pair.h"
#include "kernels/team/team.cuh"
#include "kernels/walk_gpu/walk_gpu.cuh"

enum {
	THREADS = 256,
	WARPS = THREADS / 32,
	TARGETS = 256, /* of a rank, about; */
	CHUNKS = 32,   /* neighbours among them that a node is compared with together first: one a lane */
	ROUNDS = 6,    /* levels between two looks at whether there are more */
	RESIDENT = 6,  /* blocks that a multiprocessor has room for */
	BLOCKS = 132 * RESIDENT,
	NEAR = 1024,		/* targets of a rank that a block keeps near */
	SORTED = 1024,		/* that a block sorts: a power of two, and of threads */
	EACH = 4,		/* nodes that a warp compares one after the other, at most; */
	AT_ONCE = EACH * WARPS, /* and that a block reads at once */
	TARGET_LEAST = NB_OPENING_REGION,
	MANY = NB_OPENING_MANY,
	NOBODY = MANY + 1 /* rows of the stand-in for missing bodies: a leaf is never longer in a packed node */
};
static const uint32_t NONE = UINT32_MAX;
static const double MARGIN[] = {0.5, 0.02, 0}; /* of the strength of the field */
static const float SIZES = 1.01f,	       /* packed sizes are rounded up to 7 bits */
	ROUND = 1.002f;

/* Numbers of a node's row in e->rows. */
static size_t width_of(const struct nb_domain *d)
{
	return d->law.order > 2 ? (size_t)nb_high_row(d->law.order) : 0;
}

/* A node on its way; its moments of high order are sent beside it. */
struct message {
	struct nb_essential_moments is;
	uint32_t count, child, nchild, body; /* child, body: places in the message, or NONE */
};

struct body {
	double pos[3], mass;
};

/* ---- moments of some nodes ------------------------------------------------------------------------------- */

/* Number k < NUMBERS of a node's moments, in the order of struct nb_essential_moments. */
enum { NUMBERS = sizeof(struct nb_essential_moments) / sizeof(double) };
static_assert(THREADS % NUMBERS == 0 && NUMBERS <= 32, "a node's moments are those of whole parts of warps");

struct moments_of {
	struct nb_tree tree;

	/* NULL: the tree has none */
	__device__ double *operator()(size_t j, size_t k) const
	{
		return k < 6	   ? &tree.box[6 * j + k]
		       : k < 9	   ? &tree.com[3 * j + (k - 6)]
		       : k == 9	   ? &tree.mass[j]
		       : tree.quad ? &tree.quad[6 * j + (k - 10)]
				   : nullptr;
	}
};

/* The same of moments of high order, of which a node has `width`. */
struct rows_of {
	double *row;
	size_t width;

	__device__ double *operator()(size_t j, size_t k) const
	{
		return &row[j * width + k];
	}
};
static_assert(nb_high_row(4) <= 32, "a lane of a warp for each");

template <class numbers_of>
static __global__ void __launch_bounds__(THREADS)
	read_kernel(size_t n, size_t width, numbers_of of, const uint32_t *node, double *out)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n * width)
		return;
	const double *const from = of(node[i / width], i % width);
	out[i] = from ? *from : 0;
}

template <class numbers_of>
static __global__ void __launch_bounds__(THREADS)
	write_kernel(size_t n, size_t width, numbers_of of, const uint32_t *node, const double *in)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i >= n * width)
		return;
	double *const to = of(node[i / width], i % width);
	if (to)
		*to = in[i];
}

template <class T> static int upload(nb_cuda_buffer<T> &to, const T *from, size_t n)
{
	NB_TRY(to.alloc(n));
	NB_CUDA_TRY(cudaMemcpy(to.ptr, from, n * sizeof(T), cudaMemcpyHostToDevice));
	return NB_OK;
}

template <class T> static int upload(nb_cuda_buffer<T> &to, const std::vector<T> &from)
{
	return upload(to, from.data(), from.size());
}

template <class T> static int download(const T *from, size_t n, T *to)
{
	NB_CUDA_TRY(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* Of each node `width` numbers, in host memory. */
template <class numbers_of>
static int read_nodes(const numbers_of &of, size_t width, const std::vector<uint32_t> &node, double *numbers)
{
	nb_cuda_buffer<uint32_t> which;
	nb_cuda_buffer<double> out;
	const size_t n = node.size() * width;
	if (n == 0)
		return NB_OK;
	NB_TRY(upload(which, node));
	NB_TRY(out.alloc(n));
	read_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(node.size(), width, of, which.ptr, out.ptr);
	NB_CUDA_LAUNCHED();
	return download(out.ptr, n, numbers);
}

template <class numbers_of>
static int write_nodes(const numbers_of &of, size_t width, const std::vector<uint32_t> &node, const double *numbers)
{
	nb_cuda_buffer<uint32_t> which;
	nb_cuda_buffer<double> in;
	const size_t n = node.size() * width;
	if (n == 0)
		return NB_OK;
	NB_TRY(upload(which, node));
	NB_TRY(upload(in, numbers, n));
	write_kernel<<<nb_cuda_blocks(n, THREADS), THREADS>>>(node.size(), width, of, which.ptr, in.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

static int read_moments(const struct nb_tree &tree, const std::vector<uint32_t> &node,
	std::vector<struct nb_essential_moments> &moments)
{
	moments.resize(node.size());
	return read_nodes(moments_of{tree}, NUMBERS, node, (double *)moments.data());
}

/* In heard, `width` numbers of each root elsewhere, in the order of slots; `of` this rank's. */
template <class numbers_of>
static int hear_numbers(const struct nb_domain *d, struct nb_essential *e, const numbers_of &of, size_t width,
	std::vector<double> &heard)
{
	const std::vector<uint32_t> &mine = e->slots[(size_t)d->rank];
	std::vector<double> own(mine.size() * width), all(e->top.ncell * width);
	std::vector<size_t> bytes((size_t)d->size + 1);
	const auto place = [&](uint32_t slot) { return all.begin() + (ptrdiff_t)(e->top.slot[slot].begin * width); };
	const int status = nb_domain_agree(read_nodes(of, width, mine, own.data()));
	if (status)
		return status;
	for (size_t k = 0; k < mine.size(); k++)
		std::copy(own.begin() + (ptrdiff_t)(k * width), own.begin() + (ptrdiff_t)((k + 1) * width),
			place(mine[k]));
	for (size_t k = 0; k < bytes.size(); k++)
		bytes[k] = e->top.cell_bound[k] * width * sizeof own[0];
	nb_ranks_collect(all.data(), bytes.data());
	nb_ranks_settle();
	for (uint32_t i = 0; i < e->top.nslot; i++)
		if (e->kind[i] == NB_DOMAIN_ELSEWHERE)
			heard.insert(heard.end(), place(i), place(i) + (ptrdiff_t)width);
	return NB_OK;
}

/* Moments of the roots elsewhere. */
static int hear_roots(const struct nb_domain *d, struct nb_essential *e)
{
	const size_t width = width_of(d);
	const struct moments_of moments = {e->tree};
	const struct rows_of rows = {e->rows.ptr, width};
	std::vector<double> heard, heard_rows;
	std::vector<uint32_t> elsewhere;
	int status = hear_numbers(d, e, moments, NUMBERS, heard);
	if (!status && width)
		status = hear_numbers(d, e, rows, width, heard_rows);
	if (status)
		return status;
	for (uint32_t i = 0; i < e->top.nslot; i++)
		if (e->kind[i] == NB_DOMAIN_ELSEWHERE)
			elsewhere.push_back(i);
	NB_TRY(write_nodes(moments, NUMBERS, elsewhere, heard.data()));
	return write_nodes(rows, width, elsewhere, heard_rows.data());
}

/* From roots to the root of all. */
static int close_top(const struct nb_domain *d, struct nb_essential *e)
{
	std::vector<struct nb_essential_moments> root;
	struct nb_tree_levels levels = {};
	const size_t generations = e->generation.size() - 1;
	if (generations > sizeof levels.begin / sizeof *levels.begin - 1)
		return NB_ELIMIT;
	std::copy(e->generation.begin(), e->generation.end(), levels.begin);
	levels.digits = (int)generations - 1;
	NB_TRY(nb_tree_level_moments_cuda(&e->tree, &levels));
	for (size_t g = generations; g-- > 0 && d->law.order > 2;)
		NB_TRY(nb_tree_inner_high_cuda(
			&e->tree, d->law.order, e->generation[g], e->generation[g + 1], e->rows.ptr));
	NB_TRY(read_moments(e->tree, {0}, root));
	const double *box = root[0].box;
	double extent = d->law.eps;
	for (int k = 0; k < 3; k++) {
		e->origin[k] = box[k] + 0.5 * (box[3 + k] - box[k]);
		extent = fmax(extent, box[3 + k] - box[k]);
	}
	e->length = nb_pair_power2(extent, 20);
	e->unit = nb_pair_power2(root[0].mass, 0);
	return isfinite(extent) && isfinite(root[0].mass) ? NB_OK : NB_ENONFINITE;
}

/* ---- targets --------------------------------------------------------------------------------------------- */

/* A target's first body and its node: ascending, in the order of bodies. */
typedef uint64_t place_t;

static __device__ __forceinline__ place_t place_of_node(const struct nb_tree &t, uint32_t node)
{
	return (place_t)t.first[node] << 32 | node;
}

/* Own nodes of at most `most` bodies below larger ones, and larger leaves; in any order, behind their number. */
static __global__ void __launch_bounds__(THREADS) choose_kernel(
	struct nb_tree t, uint32_t nslot, uint32_t nown, const uint8_t *kind, uint32_t most, unsigned long long *chosen)
{
	const uint32_t j = blockIdx.x * (uint32_t)THREADS + threadIdx.x;
	if (j >= nown || (j < nslot && kind[j] != NB_DOMAIN_OWN))
		return;
	if (j < nslot && (t.count[j] <= most || t.nchild[j] == 0))
		chosen[1 + atomicAdd(chosen, 1ull)] = place_of_node(t, j);
	if (t.count[j] <= most)
		return;
	for (uint32_t k = t.child[j]; k < t.child[j] + t.nchild[j]; k++)
		if (t.count[k] <= most || t.nchild[k] == 0)
			chosen[1 + atomicAdd(chosen, 1ull)] = place_of_node(t, k);
}

/* The list in order, by one block, if it is not long. */
static __global__ void __launch_bounds__(SORTED) order_kernel(place_t *chosen)
{
	__shared__ place_t key[SORTED];
	const place_t n = chosen[0];
	const unsigned i = threadIdx.x;
	if (n > SORTED)
		return;
	key[i] = i < n ? chosen[1 + i] : UINT64_MAX;
	for (unsigned size = 2; size <= SORTED; size *= 2) /* bitonic */
		for (unsigned step = size / 2; step > 0; step /= 2) {
			__syncthreads();
			const unsigned other = i ^ step;
			if (other < i)
				continue;
			const place_t a = key[i], b = key[other];
			if ((a > b) == ((i & size) == 0))
				key[i] = b, key[other] = a;
		}
	__syncthreads();
	if (i < n)
		chosen[1 + i] = key[i];
}

static __global__ void __launch_bounds__(THREADS)
	target_kernel(struct nb_tree t, const place_t *chosen, struct nb_essential_target *target)
{
	const uint32_t i = blockIdx.x * (uint32_t)THREADS + threadIdx.x;
	if (i >= chosen[0])
		return;
	const size_t j = (uint32_t)chosen[1 + i];
	for (int k = 0; k < 6; k++)
		target[i].box[k] = t.box[6 * j + k];
	target[i].mass = t.mass[j];
	target[i].radius = 0;
}

/* Of each target the largest half of a diagonal of what may be a region. */
static __global__ void __launch_bounds__(THREADS) radius_kernel(struct nb_tree t, uint32_t nslot, uint32_t nown,
	const uint8_t *kind, const place_t *chosen, struct nb_essential_target *target)
{
	const place_t *const place = chosen + 1;
	const uint32_t j = blockIdx.x * (uint32_t)THREADS + threadIdx.x, ntarget = (uint32_t)chosen[0];
	if (j >= nown || t.count[j] <= NB_DOMAIN_PART_DEVICE)
		return;
	for (uint32_t k = t.child[j]; k < t.child[j] + t.nchild[j]; k++) {
		if ((k < nslot && kind[k] != NB_DOMAIN_OWN) || t.count[k] > NB_DOMAIN_PART_DEVICE ||
			t.count[k] <= NB_OPENING_GROUP)
			continue;
		double half2 = 0;
		for (int c = 0; c < 3; c++) {
			const double half = 0.5 * (t.box[6 * (size_t)k + 3 + c] - t.box[6 * (size_t)k + c]);
			half2 += half * half;
		}
		uint32_t lo = 0, hi = ntarget; /* the last target that begins at its first body or before */
		while (hi - lo > 1) {
			const uint32_t mid = lo + (hi - lo) / 2;
			*((uint32_t)(place[mid] >> 32) <= t.first[k] ? &lo : &hi) = mid;
		}
		/* of numbers that are not negative, the larger one has the larger bits */
		atomicMax((unsigned long long *)&target[lo].radius,
			(unsigned long long)__double_as_longlong(sqrt(half2)));
	}
}

/* Own targets, *n of them. */
static int own_targets(const struct nb_domain *d, const struct nb_essential *e,
	nb_cuda_buffer<struct nb_essential_target> &target, size_t *n)
{
	nb_cuda_buffer<uint8_t> kind;
	nb_cuda_buffer<place_t> list;
	const uint32_t most = std::max((uint32_t)(d->n / TARGETS), (uint32_t)TARGET_LEAST);
	const auto describe = [&](size_t some) {
		NB_TRY(target.alloc(some));
		target_kernel<<<nb_cuda_blocks(some, THREADS), THREADS>>>(e->tree, list.ptr, target.ptr);
		NB_CUDA_LAUNCHED();
		radius_kernel<<<nb_cuda_blocks(e->nown, THREADS), THREADS>>>(
			e->tree, e->top.nslot, e->nown, kind.ptr, list.ptr, target.ptr);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	};
	NB_TRY(upload(kind, e->kind));
	NB_TRY(list.alloc(std::max((size_t)e->nown, (size_t)SORTED) + 1));
	NB_CUDA_TRY(cudaMemsetAsync(list.ptr, 0, sizeof(place_t)));
	choose_kernel<<<nb_cuda_blocks(e->nown, THREADS), THREADS>>>(
		e->tree, e->top.nslot, e->nown, kind.ptr, most, (unsigned long long *)list.ptr);
	NB_CUDA_LAUNCHED();
	order_kernel<<<1, SORTED>>>(list.ptr);
	NB_CUDA_LAUNCHED();
	place_t count;
	NB_TRY(download(list.ptr, 1, &count));
	*n = (size_t)count;
	if (*n > SORTED) {
		std::vector<place_t> chosen(*n);
		NB_TRY(download(list.ptr + 1, *n, chosen.data()));
		std::sort(chosen.begin(), chosen.end());
		NB_CUDA_TRY(cudaMemcpy(list.ptr + 1, chosen.data(), *n * sizeof(place_t), cudaMemcpyHostToDevice));
	}
	return *n > 0 ? describe(*n) : NB_OK;
}

static int meet_targets(const struct nb_domain *d, struct nb_essential *e)
{
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	nb_cuda_buffer<struct nb_essential_target> own;
	std::vector<size_t> count(size);
	int status = nb_domain_agree(own_targets(d, e, own, &count[rank]));
	if (status)
		return status;
	nb_domain_tell(d, count);
	e->target_bound.assign(size + 1, 0);
	for (size_t k = 0; k < size; k++)
		e->target_bound[k + 1] = e->target_bound[k] + count[k];
	status = nb_domain_agree(e->target.alloc(e->target_bound[size]));
	return status ? status
		      : nb_domain_collect_rows(d, sizeof *own.ptr, own.ptr, e->target_bound.data(), e->target.ptr);
}

int nb_essential_meet(const struct nb_domain *d, struct nb_essential *e)
{
	int status = nb_domain_agree(hear_roots(d, e));
	status = status ? status : nb_domain_agree(close_top(d, e));
	return status ? status : meet_targets(d, e);
}

/* ---- what is sent ---------------------------------------------------------------------------------------- */

/* A target, in units of the walk, of which the whole is 2^20 long: f32 has it to 2^-4, and is rounded outwards. */
struct reach {
	float lo[3], hi[3];
	float root;  /* (tolerance S)^(-1/5), or of high order 1/6, 1/7 */
	float slack; /* for what is opened from its regions */
};

struct scale {
	double origin[3], length, unit;
	float eps2, tolerance;
	float of_mass, of_size; /* powers: 1/5 and 3/5, or of high order 1/6 and 4/6, 1/7 and 5/7 */
	uint32_t tiny; /* leaves of so few bodies, or in one point, the walk takes body by body from anywhere */
};

static __device__ float of_box(const double *box, int k, const struct scale &s)
{
	return (float)((box[3 + k] - box[k]) * s.length);
}

/* A warp for each target; the warps of a block read the others together. */
static __global__ void __launch_bounds__(THREADS)
	reach_kernel(size_t n, const struct nb_essential_target *target, struct scale s, struct reach *out)
{
	__shared__ double box[6][THREADS], mass[THREADS];
	const size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32;
	const unsigned lane = threadIdx.x % 32;
	const struct nb_essential_target at = target[i < n ? i : n - 1];
	float half2 = 0, sum = 0;
	for (int k = 0; k < 3; k++) {
		const float side = of_box(at.box, k, s);
		half2 += 0.25f * side * side;
	}
	for (size_t tile = 0; tile < n; tile += THREADS) {
		const unsigned some = n - tile < THREADS ? (unsigned)(n - tile) : (unsigned)THREADS;
		__syncthreads();
		if (threadIdx.x < some) {
			for (int k = 0; k < 6; k++)
				box[k][threadIdx.x] = target[tile + threadIdx.x].box[k];
			mass[threadIdx.x] = target[tile + threadIdx.x].mass;
		}
		__syncthreads();
		for (unsigned j = lane; j < some; j += 32) {
			float d2 = half2 + s.eps2 + 1e-30f;
			for (int k = 0; k < 3; k++) {
				const float d = (float)(fmax(at.box[3 + k] - box[k][j], box[3 + k][j] - at.box[k]) *
							s.length);
				d2 += d * d;
			}
			sum += (float)(mass[j] * s.unit) / d2;
		}
	}
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
	if (lane > 0 || i >= n)
		return;
	for (int k = 0; k < 3; k++) {
		out[i].lo[k] = __double2float_rd((at.box[k] - s.origin[k]) * s.length);
		out[i].hi[k] = __double2float_ru((at.box[3 + k] - s.origin[k]) * s.length);
	}
	out[i].root = powf(s.tolerance * sum, -s.of_mass) * ROUND;
	out[i].slack = NB_OPENING_EAGER * (float)(at.radius * s.length) * ROUND;
}

/* Of each rank, a warp for each of its chunks: what is not opened from it is opened from none of its targets. */
static __global__ void __launch_bounds__(THREADS)
	chunk_kernel(size_t nchunk, const size_t *bound, const struct reach *target, struct reach *out)
{
	const size_t i = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32, rank = i / CHUNKS, k = i % CHUNKS;
	if (i >= nchunk)
		return;
	const size_t first = bound[rank], n = bound[rank + 1] - first;
	struct reach all = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0, 0};
	for (size_t j = first + n * k / CHUNKS + threadIdx.x % 32; j < first + n * (k + 1) / CHUNKS; j += 32) {
		const struct reach &at = target[j];
		for (int c = 0; c < 3; c++) {
			all.lo[c] = fminf(all.lo[c], at.lo[c]);
			all.hi[c] = fmaxf(all.hi[c], at.hi[c]);
		}
		all.root = fmaxf(all.root, at.root);
		all.slack = fmaxf(all.slack, at.slack);
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		for (int c = 0; c < 3; c++) {
			all.lo[c] = fminf(all.lo[c], __shfl_xor_sync(0xffffffff, all.lo[c], offset));
			all.hi[c] = fmaxf(all.hi[c], __shfl_xor_sync(0xffffffff, all.hi[c], offset));
		}
		all.root = fmaxf(all.root, __shfl_xor_sync(0xffffffff, all.root, offset));
		all.slack = fmaxf(all.slack, __shfl_xor_sync(0xffffffff, all.slack, offset));
	}
	if (threadIdx.x % 32 == 0)
		out[i] = all;
}

/* Of each rank: the nodes begin .. end - 1 of its list are looked at; there are `nodes` with their children, and
 * `bodies`. */
struct front {
	uint32_t begin, end, nodes, bodies;
	uint32_t done; /* blocks that have looked */
};

/* Lists of nodes, `room` for each rank; child and body say where in the message what is below a node is. */
struct lists {
	uint32_t room, *node, *child, *body;
	struct front *front;
};

/* Targets in shared memory, a row for each number. */
struct near_targets {
	float number[8][NEAR];
	static_assert(sizeof(struct reach) == 8 * sizeof(float), "a row for each");

	__device__ void put(size_t k, const struct reach &r)
	{
		for (int c = 0; c < 3; c++)
			number[c][k] = r.lo[c], number[3 + c][k] = r.hi[c];
		number[6][k] = r.root, number[7][k] = r.slack;
	}
	__device__ struct reach at(size_t k) const
	{
		return {{number[0][k], number[1][k], number[2][k]}, {number[3][k], number[4][k], number[5][k]},
			number[6][k], number[7][k]};
	}
};

/* Targets of a rank; of its chunks each lane of a warp has one. */
struct targets {
	const struct near_targets *near; /* NULL: they are too many */
	const struct reach *of;
	struct reach chunk;
	size_t n;

	__device__ struct reach at(size_t k) const
	{
		return near ? near->at(k) : of[k];
	}
};

/* What decides whether a node is opened. */
struct looked_at {
	float lo[3], hi[3]; /* its centre of mass, rounded to either side */
	float size, influence;

	looked_at() = default;
	__device__ looked_at(const struct nb_tree &t, uint32_t j, const struct scale &s)
	{
		size = 0;
		for (int k = 0; k < 3; k++) {
			const double x = (t.com[3 * (size_t)j + k] - s.origin[k]) * s.length;
			size = fmaxf(size, of_box(t.box + 6 * (size_t)j, k, s));
			lo[k] = __double2float_rd(x), hi[k] = __double2float_ru(x);
		}
		const float m = (float)(t.mass[j] * s.unit);
		influence = fmaxf(powf(m, s.of_mass) * powf(size * SIZES, s.of_size) * ROUND, 0x1p-119f);
	}
	__device__ bool is_opened_from(const struct reach &at) const
	{
		float d2 = 0;
		for (int k = 0; k < 3; k++) {
			const float d = fmaxf(fmaxf(at.lo[k] - hi[k], lo[k] - at.hi[k]), 0);
			d2 += d * d;
		}
		const float far = fmaxf(NB_OPENING_LEAST_FAR * SIZES * size, at.root * influence) + at.slack;
		return !(d2 > far * far * ROUND);
	}
	/* From any of them; all lanes of a warp look for the same.  hint: the chunk that opened the last node, which
	 * was a neighbour. */
	__device__ bool is_opened(const struct targets &by, unsigned *hint) const
	{
		const unsigned lane = threadIdx.x % 32;
		for (uint32_t left = __ballot_sync(0xffffffff, is_opened_from(by.chunk)); left;) {
			const unsigned k = left >> *hint & 1 ? *hint : (unsigned)__ffs((int)left) - 1;
			const size_t end = by.n * (k + 1) / CHUNKS;
			for (size_t first = by.n * k / CHUNKS; first < end; first += 32) {
				const bool open = first + lane < end && is_opened_from(by.at(first + lane));
				if (__any_sync(0xffffffff, open)) {
					*hint = k;
					return true;
				}
			}
			left &= ~(1u << k);
		}
		return false;
	}
};

/* Where the `want` rows of each lane are, of those that are counted by *n; NONE of a lane that wants none. */
static __device__ uint32_t place_of(uint32_t want, uint32_t *n)
{
	const unsigned lane = threadIdx.x % 32;
	uint32_t upto = want, first = 0;
	for (int offset = 1; offset < 32; offset *= 2) {
		const uint32_t before = __shfl_up_sync(0xffffffff, upto, (unsigned)offset);
		upto += lane >= (unsigned)offset ? before : 0;
	}
	if (lane == 31 && upto)
		first = atomicAdd(n, upto);
	first = __shfl_sync(0xffffffff, first, 31);
	return want ? first + upto - want : NONE;
}

/* The blocks of a rank that are done wait for none; the last of them goes on to what they have found. */
static __device__ void advance(struct front *front)
{
	__syncthreads();
	if (threadIdx.x > 0)
		return;
	__threadfence();
	if (atomicAdd(&front->done, 1u) + 1 < gridDim.x)
		return;
	__threadfence();
	front->begin = front->end;
	front->end = atomicAdd(&front->nodes, 0u);
	front->done = 0;
}

/* AT_ONCE nodes a block, or fewer if all blocks have some then: a thread reads one of them, then a warp compares `each`
 * of them one after the other with the rank's chunks, a lane each, and with the targets of those that are near.
 * blockIdx.y: for which rank. */
static __global__ void __launch_bounds__(THREADS, RESIDENT) open_kernel(struct nb_tree t, struct scale s,
	const struct reach *target, const struct reach *chunk, const size_t *target_bound, struct lists lists)
{
	__shared__ struct near_targets near;
	__shared__ struct looked_at nodes[AT_ONCE];
	__shared__ uint32_t opened[WARPS];
	const unsigned rank = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	struct front &front = lists.front[rank];
	const size_t base = (size_t)rank * lists.room, first = target_bound[rank], n = target_bound[rank + 1] - first;
	const uint32_t begin = front.begin, end = front.end;
	const struct targets by = {n <= NEAR ? &near : nullptr, target + first, chunk[(size_t)rank * CHUNKS + lane], n};
	const unsigned fair = (end - begin) / (gridDim.x * WARPS) + 1, each = fair < EACH ? fair : (unsigned)EACH;
	const size_t at_once = (size_t)each * WARPS, mine_from = begin + blockIdx.x * at_once;
	unsigned hint = 0;
	for (size_t k = threadIdx.x; k < n && by.near && mine_from < end; k += THREADS)
		near.put(k, target[first + k]);
	for (size_t from = mine_from; from < end; from += gridDim.x * at_once) {
		const size_t at = from + threadIdx.x;
		const bool mine = threadIdx.x < at_once && at < end;
		uint32_t j = 0, children = 0, count = 0, some = 0;
		if (mine) {
			j = lists.node[base + at];
			children = t.nchild[j], count = t.count[j];
			nodes[threadIdx.x] = looked_at(t, j, s);
		}
		__syncthreads();
		for (unsigned k = 0; k < each && from + warp * each + k < end; k++)
			some |= (uint32_t)nodes[warp * each + k].is_opened(by, &hint) << k;
		if (lane == 0)
			opened[warp] = some;
		__syncthreads();
		if (threadIdx.x < AT_ONCE) { /* whole warps */
			const bool open = mine && opened[threadIdx.x / each] >> threadIdx.x % each & 1;
			const bool all = mine && !children && (open || nodes[threadIdx.x].size == 0 || count <= s.tiny);
			const uint32_t child = place_of(open ? children : 0, &front.nodes);
			const uint32_t body = place_of(all ? count : 0, &front.bodies);
			for (uint32_t k = 0; child != NONE && k < children; k++)
				lists.node[base + child + k] = t.child[j] + k;
			if (mine) {
				lists.child[base + at] = child;
				lists.body[base + at] = body;
			}
		}
		__syncthreads(); /* others may read nodes */
	}
	advance(&front);
}

static __global__ void begin_kernel(int size, int rank, uint32_t nroot, const uint32_t *root, struct lists lists)
{
	for (int k = 0; k < size; k++) {
		if (threadIdx.x == 0)
			lists.front[k] = {0, k == rank ? 0 : nroot, k == rank ? 0 : nroot, 0, 0};
		for (uint32_t i = threadIdx.x; i < nroot && k != rank; i += THREADS)
			lists.node[(size_t)k * lists.room + i] = root[i];
	}
}

/* A warp for each node: its row, and those of its bodies. */
static __global__ void __launch_bounds__(THREADS) write_message_kernel(struct nb_tree t, const double *pos,
	const double *mass, struct lists lists, const size_t *node_bound, const size_t *body_bound, struct message *out,
	struct body *bodies, struct rows_of rows, double *row)
{
	const unsigned rank = blockIdx.y, lane = threadIdx.x % 32;
	const size_t base = (size_t)rank * lists.room, warps = gridDim.x * (size_t)WARPS;
	const size_t n = node_bound[rank + 1] - node_bound[rank];
	for (size_t at = (blockIdx.x * (size_t)THREADS + threadIdx.x) / 32; at < n; at += warps) {
		const uint32_t j = lists.node[base + at], body = lists.body[base + at];
		const size_t to = node_bound[rank] + at;
		struct message *m = &out[to];
		if (lane < NUMBERS) {
			const double *number = moments_of{t}(j, lane);
			((double *)&m->is)[lane] = number ? *number : 0;
		}
		if (lane == 0) {
			m->count = t.count[j];
			m->nchild = t.nchild[j];
			m->child = lists.child[base + at];
			m->body = body;
		}
		if (lane < rows.width)
			row[to * rows.width + lane] = *rows(j, lane);
		for (uint32_t k = lane; body != NONE && k < t.count[j]; k += 32) {
			const size_t i = (size_t)t.first[j] + k;
			bodies[body_bound[rank] + body + k] = {{pos[3 * i], pos[3 * i + 1], pos[3 * i + 2]}, mass[i]};
		}
	}
}

/* Messages to the other ranks, or from them. */
struct mail {
	nb_cuda_buffer<struct message> nodes;
	nb_cuda_buffer<double> rows;
	nb_cuda_buffer<struct body> bodies;
	std::vector<size_t> node_bound, body_bound; /* of each rank */

	int alloc(const struct nb_domain *d)
	{
		const size_t size = (size_t)d->size;
		NB_TRY(nodes.alloc(node_bound[size]));
		NB_TRY(rows.alloc(node_bound[size] * width_of(d)));
		return bodies.alloc(body_bound[size]);
	}
};

/* The lists, level by level. */
static int list_opened(const struct nb_domain *d, const struct nb_essential *e, const struct scale &s,
	const struct lists &lists, std::vector<struct front> &front)
{
	const int size = d->size;
	const std::vector<uint32_t> &root = e->slots[(size_t)d->rank];
	const size_t ntarget = e->target_bound[(size_t)size];
	nb_cuda_buffer<uint32_t> roots;
	nb_cuda_buffer<struct reach> reach, chunk;
	nb_cuda_buffer<size_t> bound;
	const size_t nchunk = (size_t)size * CHUNKS;
	NB_TRY(upload(roots, root));
	NB_TRY(upload(bound, e->target_bound));
	NB_TRY(reach.alloc(ntarget));
	reach_kernel<<<nb_cuda_blocks(ntarget * 32, THREADS), THREADS>>>(ntarget, e->target.ptr, s, reach.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(chunk.alloc(nchunk));
	chunk_kernel<<<nb_cuda_blocks(nchunk * 32, THREADS), THREADS>>>(nchunk, bound.ptr, reach.ptr, chunk.ptr);
	NB_CUDA_LAUNCHED();
	begin_kernel<<<1, THREADS>>>(size, d->rank, (uint32_t)root.size(), roots.ptr, lists);
	NB_CUDA_LAUNCHED();
	for (size_t most = root.size(); most > 0;) {
		for (int k = 0; k < ROUNDS; k++) {
			const dim3 grid((unsigned)BLOCKS, (unsigned)size);
			open_kernel<<<grid, THREADS>>>(e->tree, s, reach.ptr, chunk.ptr, bound.ptr, lists);
			NB_CUDA_LAUNCHED();
		}
		NB_TRY(download(lists.front, (size_t)size, front.data()));
		most = 0;
		for (const struct front &f : front)
			most = std::max(most, (size_t)(f.end - f.begin));
	}
	return NB_OK;
}

static int write_messages(const struct nb_domain *d, const struct nb_essential *e, struct mail *out)
{
	const size_t size = (size_t)d->size;
	const int order = std::max(d->law.order, 2);
	std::vector<struct front> front(size);
	nb_cuda_buffer<uint32_t> node, child, body;
	nb_cuda_buffer<struct front> fronts;
	nb_cuda_buffer<size_t> node_bound, body_bound;
	struct scale s;
	const uint32_t room = e->nown - e->top.nslot + (uint32_t)e->slots[(size_t)d->rank].size();
	std::copy(e->origin, e->origin + 3, s.origin);
	s.length = e->length, s.unit = e->unit;
	s.eps2 = (float)(d->law.eps * e->length * d->law.eps * e->length);
	s.tolerance = (float)(nb_opening_cuda(d->law.theta, d->law.order) * MARGIN[d->wary]);
	s.of_mass = 1.0f / (float)(order + 3), s.of_size = (float)(order + 1) * s.of_mass;
	s.tiny = (uint32_t)nb_high_tiny(order);
	NB_TRY(node.alloc(room * size));
	NB_TRY(child.alloc(room * size));
	NB_TRY(body.alloc(room * size));
	NB_TRY(fronts.alloc(size));
	const struct lists lists = {room, node.ptr, child.ptr, body.ptr, fronts.ptr};
	NB_TRY(list_opened(d, e, s, lists, front));
	out->node_bound.assign(size + 1, 0);
	out->body_bound.assign(size + 1, 0);
	size_t most = 0;
	for (size_t k = 0; k < size; k++) {
		out->node_bound[k + 1] = out->node_bound[k] + front[k].nodes;
		out->body_bound[k + 1] = out->body_bound[k] + front[k].bodies;
		most = std::max(most, (size_t)front[k].nodes);
	}
	NB_TRY(out->alloc(d));
	if (most == 0)
		return NB_OK;
	NB_TRY(upload(node_bound, out->node_bound));
	NB_TRY(upload(body_bound, out->body_bound));
	const dim3 grid(std::min(nb_cuda_blocks(most, WARPS), 1u << 14), (unsigned)size);
	write_message_kernel<<<grid, THREADS>>>(e->tree, d->pos, d->mass, lists, node_bound.ptr, body_bound.ptr,
		out->nodes.ptr, out->bodies.ptr, {e->rows.ptr, width_of(d)}, out->rows.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* ---- what has come --------------------------------------------------------------------------------------- */

/* Of one rank: its message, here or in the memory of its own device, and where what is in it goes. */
struct arrival {
	const struct message *nodes;
	const double *rows;
	const struct body *bodies;
	size_t n, nbody;
	uint32_t nroot, node, body;
	size_t slot; /* its roots, in the list of all */
};

struct stand_in {
	uint32_t node, body;
};

/* 16 threads for each node. */
static __global__ void __launch_bounds__(THREADS) read_message_kernel(struct nb_tree t, const struct arrival *arrival,
	const uint32_t *slots, struct stand_in none, struct rows_of rows)
{
	const struct arrival a = arrival[blockIdx.y];
	const size_t step = gridDim.x * (size_t)(THREADS / NUMBERS);
	const unsigned lane = threadIdx.x % NUMBERS;
	const auto number = [&](uint32_t at) { return at < a.nroot ? slots[a.slot + at] : a.node + (at - a.nroot); };
	for (size_t at = (blockIdx.x * (size_t)THREADS + threadIdx.x) / NUMBERS; at < a.n; at += step) {
		const struct message &m = a.nodes[at];
		const uint32_t j = number((uint32_t)at);
		const bool leaf = m.nchild == 0, here = leaf ? m.body != NONE : m.child != NONE;
		double *const to = moments_of{t}(j, lane);
		if (to)
			*to = ((const double *)&m.is)[lane];
		for (size_t k = lane; k < rows.width; k += NUMBERS)
			*rows(j, k) = a.rows[at * rows.width + k];
		if (lane > 0)
			continue;
		t.first[j] = leaf && here ? a.body + m.body : none.body;
		t.count[j] = leaf && !here && m.count > MANY ? (uint32_t)MANY : m.count;
		t.child[j] = leaf ? 0 : here ? number(m.child) : none.node;
		t.nchild[j] = leaf ? 0 : here ? m.nchild : 1;
	}
}

/* Four threads for each body. */
static __global__ void __launch_bounds__(THREADS)
	read_bodies_kernel(const struct arrival *arrival, double *pos, double *mass)
{
	static_assert(sizeof(struct body) == 4 * sizeof(double), "a thread for each number");
	const struct arrival a = arrival[blockIdx.y];
	const size_t step = gridDim.x * (size_t)THREADS;
	for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < 4 * a.nbody; i += step) {
		const size_t to = a.body + i / 4, k = i % 4;
		*(k < 3 ? &pos[3 * to + k] : &mass[to]) = ((const double *)a.bodies)[i];
	}
}

static __global__ void __launch_bounds__(THREADS)
	stand_in_kernel(struct nb_tree t, struct stand_in none, double *pos, double *mass, struct rows_of rows)
{
	const size_t i = (size_t)none.body + threadIdx.x;
	pos[3 * i] = pos[3 * i + 1] = pos[3 * i + 2] = mass[i] = NAN;
	if (threadIdx.x < rows.width)
		*rows(none.node, threadIdx.x) = NAN;
	double *const number = threadIdx.x < NUMBERS ? moments_of{t}(none.node, threadIdx.x) : nullptr;
	if (number)
		*number = NAN;
	if (threadIdx.x > 0)
		return;
	t.first[none.node] = none.body, t.count[none.node] = 1;
	t.child[none.node] = t.nchild[none.node] = 0;
}

/* Room for n nodes, of which the own ones stay, and for their rows of `width` numbers. */
static int make_nodes(struct nb_essential *e, size_t n, size_t width)
{
	struct nb_tree old = e->tree;
	int status = NB_OK;
	const bool fits = n <= e->room;
	const auto column = [&](auto **p, size_t components) {
		auto *const was = *p;
		typedef typename std::remove_pointer<typename std::remove_reference<decltype(*p)>::type>::type type;
		nb_cuda_buffer<type> room;
		NB_TRY(room.alloc(n * components));
		NB_CUDA_TRY(cudaMemcpyAsync(
			room.ptr, was, e->nown * components * sizeof(type), cudaMemcpyDeviceToDevice, 0));
		*p = room.hand_over();
		nb_cuda_give(was);
		return (int)NB_OK;
	};
#define NB_NODE_COLUMN(type, member, components, least) \
	if (!status && !fits && old.member)             \
		status = column(&e->tree.member, components);
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	if (status)
		return status;
	if (!fits && width) {
		nb_cuda_buffer<double> rows;
		NB_TRY(rows.alloc(n * width));
		NB_CUDA_TRY(cudaMemcpyAsync(
			rows.ptr, e->rows.ptr, e->nown * width * sizeof *rows.ptr, cudaMemcpyDeviceToDevice, 0));
		std::swap(rows.ptr, e->rows.ptr);
		std::swap(rows.count, e->rows.count);
	}
	e->tree.nnode = n;
	e->room = std::max(e->room, n);
	return NB_OK;
}

/* What has come behind what is here.  arrival: the messages; their places follow from in. */
static int read_messages(
	struct nb_domain *d, struct nb_essential *e, const struct mail &in, std::vector<struct arrival> &arrival)
{
	const size_t size = (size_t)d->size, width = width_of(d);
	std::vector<uint32_t> slots;
	nb_cuda_buffer<struct arrival> arrivals;
	nb_cuda_buffer<uint32_t> all_slots;
	size_t node = e->nown, most_nodes = 0, most_bodies = 0;
	e->nbody = in.body_bound[size];
	for (size_t k = 0; k < size; k++) {
		struct arrival *a = &arrival[k];
		a->n = in.node_bound[k + 1] - in.node_bound[k];
		a->nbody = in.body_bound[k + 1] - in.body_bound[k];
		a->nroot = a->n ? (uint32_t)e->slots[k].size() : 0;
		a->node = (uint32_t)node, a->body = (uint32_t)(d->n + in.body_bound[k]);
		a->slot = slots.size();
		slots.insert(slots.end(), e->slots[k].begin(), e->slots[k].end());
		node += a->n - a->nroot;
		most_nodes = std::max(most_nodes, a->n), most_bodies = std::max(most_bodies, a->nbody);
	}
	const struct stand_in none = {(uint32_t)node, (uint32_t)(d->n + e->nbody)};
	if (node >= (size_t)1 << 28 || d->n + e->nbody + NOBODY > INT32_MAX)
		return NB_ELIMIT;
	NB_TRY(make_nodes(e, node + 1, width));
	const struct rows_of rows = {e->rows.ptr, width};
	const size_t rows_of_all = d->n + e->nbody + NOBODY;
	NB_TRY(nb_domain_reserve((void **)&d->pos, &d->room.pos, 3 * sizeof *d->pos, d->n, rows_of_all));
	NB_TRY(nb_domain_reserve((void **)&d->mass, &d->room.mass, sizeof *d->mass, d->n, rows_of_all));
	d->spare_bodies = e->nbody + e->nbody / 16 + 2 * NOBODY;
	d->spare_nodes = (node + 1 - e->nown) + (node + 1 - e->nown) / 16 + NOBODY;
	NB_TRY(upload(arrivals, arrival));
	NB_TRY(upload(all_slots, slots));
	const auto grid = [&](size_t threads) {
		return dim3(std::min(nb_cuda_blocks(threads, THREADS), 1u << 14), (unsigned)size);
	};
	if (most_bodies)
		read_bodies_kernel<<<grid(4 * most_bodies), THREADS>>>(arrivals.ptr, d->pos, d->mass);
	NB_CUDA_LAUNCHED();
	stand_in_kernel<<<1, NOBODY>>>(e->tree, none, d->pos, d->mass, rows);
	NB_CUDA_LAUNCHED();
	if (most_nodes)
		read_message_kernel<<<grid(most_nodes * NUMBERS), THREADS>>>(
			e->tree, arrivals.ptr, all_slots.ptr, none, rows);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* How many nodes and bodies come from each rank. */
static void tell_sizes(const struct nb_domain *d, const struct mail &out, struct mail *in)
{
	const size_t size = (size_t)d->size;
	std::vector<size_t> mine(2 * size), theirs(2 * size), bytes(size + 1);
	for (size_t k = 0; k < size; k++) {
		bytes[k + 1] = (k + 1) * 2 * sizeof mine[0];
		mine[2 * k] = out.node_bound[k + 1] - out.node_bound[k];
		mine[2 * k + 1] = out.body_bound[k + 1] - out.body_bound[k];
	}
	nb_ranks_exchange(mine.data(), bytes.data(), theirs.data(), bytes.data());
	nb_ranks_settle();
	in->node_bound.assign(size + 1, 0);
	in->body_bound.assign(size + 1, 0);
	for (size_t k = 0; k < size; k++) {
		in->node_bound[k + 1] = in->node_bound[k] + theirs[2 * k];
		in->body_bound[k + 1] = in->body_bound[k] + theirs[2 * k + 1];
	}
}

/* Each message where it is in `in`, behind one another. */
static std::vector<struct arrival> arrivals_of(const struct nb_domain *d, const struct mail &in)
{
	std::vector<struct arrival> arrival((size_t)d->size);
	for (size_t k = 0; k < arrival.size(); k++) {
		arrival[k].nodes = in.nodes.ptr + in.node_bound[k];
		arrival[k].rows = in.rows.ptr + in.node_bound[k] * width_of(d);
		arrival[k].bodies = in.bodies.ptr + in.body_bound[k];
	}
	return arrival;
}

/* By copies of the messages. */
static int receive(struct nb_domain *d, struct nb_essential *e, const struct mail &out)
{
	const size_t width = width_of(d);
	struct mail in;
	tell_sizes(d, out, &in);
	int status = nb_domain_agree(in.alloc(d));
	status = status ? status
			: nb_domain_swap_rows(d, sizeof(struct message), out.nodes.ptr, out.node_bound.data(),
				  in.nodes.ptr, in.node_bound.data());
	if (!status && width)
		status = nb_domain_swap_rows(d, width * sizeof(double), out.rows.ptr, out.node_bound.data(),
			in.rows.ptr, in.node_bound.data());
	status = status ? status
			: nb_domain_swap_rows(d, sizeof(struct body), out.bodies.ptr, out.body_bound.data(),
				  in.bodies.ptr, in.body_bound.data());
	std::vector<struct arrival> arrival = arrivals_of(d, in);
	return status ? status : nb_domain_agree(read_messages(d, e, in, arrival));
}

/* From the memory of their devices: each message is read once. */
static int read_there(struct nb_domain *d, struct nb_essential *e, const struct mail &out)
{
	struct mail in;
	std::vector<const struct mail *> all((size_t)d->size);
	std::vector<struct arrival> arrival(all.size());
	const size_t rank = (size_t)d->rank;
	all[rank] = &out;
	nb_domain_tell(d, all);
	in.node_bound.assign(1, 0);
	in.body_bound.assign(1, 0);
	for (size_t k = 0; k < all.size(); k++) {
		const std::vector<size_t> &nodes = all[k]->node_bound, &bodies = all[k]->body_bound;
		in.node_bound.push_back(in.node_bound[k] + nodes[rank + 1] - nodes[rank]);
		in.body_bound.push_back(in.body_bound[k] + bodies[rank + 1] - bodies[rank]);
		arrival[k].nodes = all[k]->nodes.ptr + nodes[rank];
		arrival[k].rows = all[k]->rows.ptr + nodes[rank] * width_of(d);
		arrival[k].bodies = all[k]->bodies.ptr + bodies[rank];
	}
	return nb_domain_line_up(
		d, read_messages(d, e, in, arrival)); /* and no message goes before all have read theirs */
}

int nb_essential_exchange(struct nb_domain *d, struct nb_essential *e)
{
	struct mail out;
	const bool there = nb_ranks_together() && nb_team_mutual();
	int status = write_messages(d, e, &out);
	status = there ? nb_domain_line_up(d, status) : nb_domain_agree(status);
	if (status)
		return status;
	return there ? read_there(d, e, out) : receive(d, e, out);
}
