/* high_cuda.cu - third and fourth moments of nodes, upwards through a tree of any origin.
 *
 * A warp for each node of at most DIRECT bodies, and for each leaf, sums over its bodies, 32 of them at a time: their
 * powers go to shared memory, and a lane adds up one moment.  Larger nodes get theirs from their children, as in
 * motion_cuda.cu: of the children of a node, the one that is done last, as a counter says, adds up those of all of
 * them, in their order, so every run gives the same bytes.  What other multiprocessors have written is read from the
 * second-level cache, after fences on both sides of the counter. */
#include <math.h>

#include "kernels/walk_gpu/climb_internal.cuh"
#include "kernels/walk_gpu/high_internal.cuh"

enum {
	THREADS = 128,
	WARP = 32,
	WARPS = THREADS / WARP,
	CHILDREN = 8,
	POWERS = 5,
	MOST = 35,    /* monomials */
	DIRECT = 512, /* bodies: three levels of a tree, each of which takes the time of a sum over all bodies */
};

struct climb {
	size_t n, nnode;
	int order;
	const double *pos, *mass;
	const uint32_t *first, *count, *child, *nchild;
	const double *box, *com, *node_mass;
	uint32_t *parent, *arrived;
	double *rows;
};

/* A power of two: the longest side of the box is one to two times as long.  0 of a point. */
static __device__ double size_of(const struct climb &c, size_t j)
{
	double size = 0;
	for (int k = 0; k < 3; k++)
		size = fmax(size, c.box[6 * j + 3 + k] - c.box[6 * j + k]);
	int e;
	return size > 0 && isfinite(size) ? (void)frexp(size, &e), ldexp(0.5, e) : 0;
}

struct node {
	double com[3], size, unit, inverse; /* unit: 1 / size, or 0; inverse: 1 / mass, or 0 */
	bool massless;

	__device__ node(const struct climb &c, size_t j) : size(size_of(c, j)), unit(size > 0 ? 1 / size : 0)
	{
		const double one = 1 / c.node_mass[j];
		massless = !isfinite(one);
		inverse = massless ? 0 : one;
		for (int k = 0; k < 3; k++)
			com[k] = c.com[3 * j + k];
	}
	/* The share that one of n parts of this mass has. */
	__device__ double share(double mass, uint32_t n) const
	{
		return massless ? 1.0 / n : mass * inverse;
	}
};

/* A warp's shared memory: share x^i / i!, y^j / j!, z^k / k! of bodies or children, POWERS of each; moments of
 * children, with those of no and first degree. */
struct table {
	double power[WARP][3][POWERS];
	double part[CHILDREN][MOST];
};

static __device__ void set_powers(double (&to)[POWERS], double x, double share)
{
	to[0] = share;
	to[1] = x * share;
	to[2] = x * to[1] * 0.5;
	to[3] = x * to[2] * (1.0 / 3);
	to[4] = x * to[3] * 0.25;
}

static __device__ void store(const struct climb &c, size_t j, int lane, double value, double size)
{
	const int moments = nb_high_moments(c.order), row = nb_high_row(c.order);
	if (lane < moments)
		c.rows[(size_t)row * j + lane] = value;
	else if (lane == moments)
		c.rows[(size_t)row * j + lane] = size;
}

/* The lane's moment, that of `mine`, of node j, from its bodies. */
static __device__ double direct_moment(
	const struct climb &c, size_t j, const struct node &at, const nb_monomial &mine, int lane, struct table &t)
{
	const uint32_t count = c.count[j];
	const size_t begin = c.first[j], end = begin + count;
	double sum = 0;
	if (at.size == 0) /* any number of bodies in a point */
		return 0;
	for (size_t from = begin; from < end; from += WARP) {
		__syncwarp();
		if (from + lane < end) {
			const size_t b = from + lane;
			for (int k = 0; k < 3; k++)
				set_powers(t.power[lane][k], (c.pos[3 * b + k] - at.com[k]) * at.unit,
					k == 0 ? at.share(c.mass[b], count) : 1);
		}
		__syncwarp();
		const int some = end - from < WARP ? (int)(end - from) : (int)WARP;
		for (int b = 0; b < some; b++)
			sum += t.power[b][0][mine.i] * t.power[b][1][mine.j] * t.power[b][2][mine.k];
	}
	return sum;
}

/* The same from its children. */
static __device__ double inner_moment(
	const struct climb &c, size_t j, const struct node &at, const nb_monomial &mine, int lane, struct table &t)
{
	const size_t begin = c.child[j];
	const int children = (int)c.nchild[j], moments = nb_high_moments(c.order), row = nb_high_row(c.order);
	double sum = 0;
	__syncwarp();
#pragma unroll
	for (int b = 0; b < CHILDREN; b++) {
		double one = b < children && lane <= moments ? __ldcg(&c.rows[row * (begin + b) + lane]) : 0;
		const double ratio = __shfl_sync(0xffffffff, one, moments) * at.unit;
		for (int k = 0; k < mine.degree(); k++)
			one *= ratio;
		if (lane < moments)
			t.part[b][4 + lane] = one;
		if (lane < 4)
			t.part[b][lane] = lane == 0;
	}
	if (lane < 3 * children) {
		const size_t b = begin + lane / 3;
		const int k = lane % 3;
		set_powers(t.power[lane / 3][k], (c.com[3 * b + k] - at.com[k]) * at.unit,
			k == 0 ? at.share(c.node_mass[b], (uint32_t)children) : 1);
	}
	__syncwarp();
	for (int i = 0; i <= mine.i; i++)
		for (int k = 0; k <= mine.j; k++)
			for (int l = 0; l <= mine.k; l++) {
				const int place = nb_monomial{i, k, l}.place();
				for (int b = 0; b < children; b++)
					sum += t.part[b][place] * t.power[b][0][mine.i - i] *
					       t.power[b][1][mine.j - k] * t.power[b][2][mine.k - l];
			}
	return sum;
}

static __global__ void __launch_bounds__(THREADS) climb_kernel(struct climb c)
{
	__shared__ struct table tables[WARPS];
	struct table &t = tables[threadIdx.x / WARP];
	size_t j = (blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP;
	const int lane = threadIdx.x % WARP;
	if (j >= c.nnode || (c.nchild[j] && c.count[j] > DIRECT)) /* all lanes of a warp alike */
		return;
	if (c.count[j] && c.first[j] >= c.n) /* bodies of another rank */
		return;
	const nb_monomial mine = nb_monomial_of(lane + 4 < nb_high_count(c.order) ? lane + 4 : 0);
	{
		const struct node at(c, j);
		store(c, j, lane, direct_moment(c, j, at, mine, lane, t), at.size);
	}
	for (;;) {
		const uint32_t up = c.parent[j];
		if (up == NB_CLIMB_NO_PARENT || c.count[up] <= DIRECT)
			break;
		__threadfence();
		__syncwarp();
		uint32_t before = 0;
		if (lane == 0)
			before = atomicAdd(&c.arrived[up], 1u);
		if (__shfl_sync(0xffffffff, before, 0) + 1 != c.nchild[up])
			break;
		__threadfence();
		j = up;
		const struct node at(c, j);
		store(c, j, lane, inner_moment(c, j, at, mine, lane, t), at.size);
	}
}

static __global__ void __launch_bounds__(THREADS) inner_kernel(struct climb c, uint32_t from, uint32_t to)
{
	__shared__ struct table tables[WARPS];
	const size_t j = from + (blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP;
	const int lane = threadIdx.x % WARP;
	if (j >= to || !c.nchild[j] || c.count[j] <= DIRECT)
		return;
	const nb_monomial mine = nb_monomial_of(lane + 4 < nb_high_count(c.order) ? lane + 4 : 0);
	const struct node at(c, j);
	store(c, j, lane, inner_moment(c, j, at, mine, lane, tables[threadIdx.x / WARP]), at.size);
}

static struct climb climb_of(const struct nb_tree *tree, int order, double *rows)
{
	struct climb c = {};
	c.nnode = tree->nnode, c.order = order;
	c.first = tree->first, c.count = tree->count, c.child = tree->child, c.nchild = tree->nchild;
	c.box = tree->box, c.com = tree->com, c.node_mass = tree->mass;
	c.rows = rows;
	return c;
}

int nb_tree_inner_high_cuda(const struct nb_tree *tree, int order, uint32_t from, uint32_t to, double *rows)
{
	if (from == to)
		return NB_OK;
	inner_kernel<<<nb_cuda_blocks((size_t)(to - from) * WARP, THREADS), THREADS>>>(
		climb_of(tree, order, rows), from, to);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

int nb_tree_high_cuda(
	const struct nb_gravity *g, const struct nb_tree *tree, int order, size_t spare, nb_cuda_buffer<double> *rows)
{
	const size_t nnode = tree->nnode;
	struct nb_tree_climb climb;
	NB_TRY(climb.begin(tree));
	NB_TRY(rows->alloc((nnode + spare) * (size_t)nb_high_row(order)));
	/* NaN, where a tree that is none leaves nodes out */
	NB_CUDA_TRY(cudaMemsetAsync(rows->ptr, 0xff, rows->count * sizeof *rows->ptr));
	struct climb c = climb_of(tree, order, rows->ptr);
	c.n = g->n, c.pos = g->pos, c.mass = g->mass;
	c.parent = climb.parent.ptr, c.arrived = climb.arrived.ptr;
	climb_kernel<<<nb_cuda_blocks(nnode * WARP, THREADS), THREADS>>>(c);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
