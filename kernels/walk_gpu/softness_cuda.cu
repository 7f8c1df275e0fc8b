/* softness_cuda.cu - softenings of nodes, upwards through a tree: as motion_cuda.cu, a warp for each leaf, then one
 * thread goes up, where it is the last of siblings. */
#include <math.h>

#include "kernels/walk_gpu/climb_internal.cuh"
#include "kernels/walk_gpu/softness_internal.cuh"

enum { THREADS = 128, WARP = 32 };

struct climb {
	size_t n, nnode;
	const double *mass, *body_eps; /* null: common_eps */
	double common_eps;
	const uint32_t *first, *count, *child, *nchild;
	const double *node_mass;
	uint32_t *parent, *arrived;
	double *eps;
};

/* Of some bodies or nodes that make up one. */
struct range {
	double least = INFINITY, largest = 0, share = 0; /* share: of the mean of the ratio to `unit`, squared */

	__device__ void add(double low, double high)
	{
		/* fmin and fmax lose what is no number */
		least = low < least ? low : low >= least ? least : NAN;
		largest = high > largest ? high : high <= largest ? largest : NAN;
	}
	__device__ void store(const struct climb &c, size_t j) const
	{
		const double root = largest * sqrt(share);
		c.eps[3 * j] = least;
		/* not a number where there is no mass */
		c.eps[3 * j + 1] = root < largest ? fmax(root, least) : largest;
		c.eps[3 * j + 2] = largest;
	}
};

static __device__ __forceinline__ double eps_of(const struct climb &c, size_t i)
{
	const double eps = c.body_eps ? c.body_eps[i] : c.common_eps;
	return eps >= 0 && isfinite(eps) ? eps : NAN;
}

/* The mass of a part, relative to its node, times the square of an eps relative to the largest there. */
static __device__ __forceinline__ double share_of(double mass, double whole, double eps, double largest)
{
	const double ratio = largest > 0 ? eps / largest : 0;
	return mass / whole * (ratio * ratio);
}

/* By all lanes of a warp. */
static __device__ void nb_climb_leaf(const struct climb &c, size_t j, unsigned lane)
{
	const size_t begin = c.first[j], end = begin + c.count[j];
	struct range r;
	for (size_t i = begin + lane; i < end; i += WARP)
		r.add(eps_of(c, i), eps_of(c, i));
	for (int offset = WARP / 2; offset > 0; offset /= 2) {
		const double low = __shfl_xor_sync(0xffffffff, r.least, offset);
		const double high = __shfl_xor_sync(0xffffffff, r.largest, offset);
		r.add(low, high);
	}
	for (size_t i = begin + lane; i < end; i += WARP)
		r.share += share_of(c.mass[i], c.node_mass[j], eps_of(c, i), r.largest);
	for (int offset = WARP / 2; offset > 0; offset /= 2)
		r.share += __shfl_xor_sync(0xffffffff, r.share, offset);
	if (lane == 0)
		r.store(c, j);
}

/* By one thread; other multiprocessors may have written the children's. */
static __device__ void nb_climb_inner(const struct climb &c, size_t j)
{
	const size_t begin = c.child[j], end = begin + c.nchild[j];
	struct range r;
	for (size_t i = begin; i < end; i++)
		r.add(__ldcg(&c.eps[3 * i]), __ldcg(&c.eps[3 * i + 2]));
	for (size_t i = begin; i < end; i++)
		r.share += share_of(c.node_mass[i], c.node_mass[j], __ldcg(&c.eps[3 * i + 1]), r.largest);
	r.store(c, j);
}

int nb_tree_softness_cuda(const struct nb_gravity *g, const struct nb_tree *tree, nb_cuda_buffer<double> *eps)
{
	const size_t nnode = tree->nnode;
	struct nb_tree_climb climb;
	NB_TRY(climb.begin(tree));
	NB_TRY(eps->alloc(3 * nnode));
	NB_CUDA_TRY(cudaMemsetAsync(eps->ptr, 0xff, 3 * nnode * sizeof(double))); /* NaN */
	struct climb c = {};
	c.n = g->n, c.nnode = nnode;
	c.mass = g->mass, c.body_eps = g->body_eps, c.common_eps = g->eps;
	c.first = tree->first, c.count = tree->count, c.child = tree->child, c.nchild = tree->nchild;
	c.node_mass = tree->mass;
	c.parent = climb.parent.ptr, c.arrived = climb.arrived.ptr, c.eps = eps->ptr;
	nb_climb_up<<<nb_cuda_blocks(nnode * WARP, THREADS), THREADS>>>(c);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
