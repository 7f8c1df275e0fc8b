/* motion_cuda.cu - velocities of nodes and rates of their second moments, upwards through a tree of any origin.
 *
 * A warp for each leaf sums over its bodies.  Its first lane then goes up: of the children of a node, the one that is
 * done last, as a counter says, adds up those of all of them, in their order, so every run gives the same bytes
 * (as boxes are found by Karras 2012, High Performance Graphics, p. 33).  What other multiprocessors have written is
 * read from the second-level cache, after fences on both sides of the counter.  Sums are in f64. */
#include <math.h>

#include "kernels/walk_gpu/climb_internal.cuh"
#include "kernels/walk_gpu/motion_internal.cuh"

enum { THREADS = 128, WARP = 32 };

struct climb {
	size_t n, nnode;
	const double *pos, *vel, *mass;
	const uint32_t *first, *count, *child, *nchild;
	const double *com, *node_mass;
	uint32_t *parent, *arrived;
	double *velocity, *quad_rate;
	unsigned long long *fastest;
};

/* Bodies or nodes that make up one: their sums, relative to the velocity v0. */
struct sums {
	double inverse; /* 1 / mass of the node, or 0 */
	double com[3], v0[3], v[3], rate[6];

	__device__ sums(const struct climb &c, size_t j, const double (&origin)[3])
	{
		const double one = 1 / c.node_mass[j];
		inverse = isfinite(one) ? one : 0;
		for (int k = 0; k < 3; k++) {
			com[k] = c.com[3 * j + k];
			v0[k] = origin[k];
			v[k] = 0;
		}
		for (int k = 0; k < 6; k++)
			rate[k] = 0;
	}
	__device__ void add_velocity(double m, const double (&vel)[3])
	{
		for (int k = 0; k < 3; k++)
			v[k] += m * inverse * (vel[k] - v0[k]);
	}
	/* after all velocities */
	__device__ void add_rate(double m, const double (&pos)[3], const double (&vel)[3])
	{
		double mx[3], w[3];
		for (int k = 0; k < 3; k++) {
			mx[k] = m * (pos[k] - com[k]);
			w[k] = (vel[k] - v0[k]) - v[k];
		}
		rate[0] += mx[0] * w[0] + mx[0] * w[0];
		rate[1] += mx[0] * w[1] + mx[1] * w[0];
		rate[2] += mx[0] * w[2] + mx[2] * w[0];
		rate[3] += mx[1] * w[1] + mx[1] * w[1];
		rate[4] += mx[1] * w[2] + mx[2] * w[1];
		rate[5] += mx[2] * w[2] + mx[2] * w[2];
	}
	__device__ void store(const struct climb &c, size_t j) const
	{
		for (int k = 0; k < 3; k++)
			c.velocity[3 * j + k] = v0[k] + v[k];
		for (int k = 0; k < 6; k++)
			c.quad_rate[6 * j + k] = rate[k];
	}
};

static __device__ __forceinline__ void load3(const double *from, size_t i, double (&to)[3])
{
	for (int k = 0; k < 3; k++)
		to[k] = from[3 * i + k];
}

/* Of this node, which other multiprocessors may have written. */
static __device__ __forceinline__ void load_velocity(const struct climb &c, size_t i, double (&to)[3])
{
	for (int k = 0; k < 3; k++)
		to[k] = __ldcg(&c.velocity[3 * i + k]);
}

static __device__ double warp_sum(double v)
{
	for (int offset = WARP / 2; offset > 0; offset /= 2)
		v += __shfl_xor_sync(0xffffffff, v, offset);
	return v;
}

/* By all lanes of a warp. */
static __device__ void nb_climb_leaf(const struct climb &c, size_t j, unsigned lane)
{
	const size_t begin = c.first[j], end = begin + c.count[j];
	double pos[3], vel[3];
	load3(c.vel, begin, vel);
	struct sums s(c, j, vel);
	for (size_t i = begin + lane; i < end; i += WARP) {
		load3(c.vel, i, vel);
		s.add_velocity(c.mass[i], vel);
	}
	for (int k = 0; k < 3; k++)
		s.v[k] = warp_sum(s.v[k]);
	for (size_t i = begin + lane; i < end; i += WARP) {
		load3(c.vel, i, vel);
		load3(c.pos, i, pos);
		s.add_rate(c.mass[i], pos, vel);
	}
	for (int k = 0; k < 6; k++)
		s.rate[k] = warp_sum(s.rate[k]);
	if (lane == 0)
		s.store(c, j);
}

/* By one thread. */
static __device__ void nb_climb_inner(const struct climb &c, size_t j)
{
	const size_t begin = c.child[j], end = begin + c.nchild[j];
	double pos[3], vel[3];
	load_velocity(c, begin, vel);
	struct sums s(c, j, vel);
	for (size_t i = begin; i < end; i++) {
		load_velocity(c, i, vel);
		s.add_velocity(c.node_mass[i], vel);
	}
	for (size_t i = begin; i < end; i++) {
		load_velocity(c, i, vel);
		load3(c.com, i, pos);
		s.add_rate(c.node_mass[i], pos, vel);
		for (int k = 0; k < 6; k++)
			s.rate[k] += __ldcg(&c.quad_rate[6 * i + k]);
	}
	s.store(c, j);
}

/* Bits of numbers >= 0 are in the order of the numbers. */
static __global__ void __launch_bounds__(THREADS) fastest_kernel(struct climb c)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	double fastest = 0;
	for (int k = 0; i < c.n && k < 3; k++)
		fastest = fmax(fastest, fabs(c.vel[3 * i + k] - c.velocity[k]));
	for (int offset = WARP / 2; offset > 0; offset /= 2)
		fastest = fmax(fastest, __shfl_xor_sync(0xffffffff, fastest, offset));
	if (threadIdx.x % WARP == 0)
		atomicMax(c.fastest, (unsigned long long)__double_as_longlong(fastest));
}

int nb_tree_motion_cuda(const struct nb_gravity *g, const struct nb_tree *tree, struct nb_tree_motion *motion)
{
	const size_t nnode = tree->nnode;
	struct nb_tree_climb climb;
	NB_TRY(climb.begin(tree));
	NB_TRY(motion->velocity.alloc(3 * nnode));
	NB_TRY(motion->quad_rate.alloc(6 * nnode));
	NB_TRY(motion->fastest.alloc(1));
	/* NaN, where a tree that is none leaves nodes out */
	NB_CUDA_TRY(cudaMemsetAsync(motion->velocity.ptr, 0xff, 3 * nnode * sizeof(double)));
	NB_CUDA_TRY(cudaMemsetAsync(motion->quad_rate.ptr, 0xff, 6 * nnode * sizeof(double)));
	NB_CUDA_TRY(cudaMemsetAsync(motion->fastest.ptr, 0, sizeof *motion->fastest.ptr));
	struct climb c = {};
	c.n = g->n, c.nnode = nnode;
	c.pos = g->pos, c.vel = g->vel, c.mass = g->mass;
	c.first = tree->first, c.count = tree->count, c.child = tree->child, c.nchild = tree->nchild;
	c.com = tree->com, c.node_mass = tree->mass;
	c.parent = climb.parent.ptr, c.arrived = climb.arrived.ptr;
	c.velocity = motion->velocity.ptr, c.quad_rate = motion->quad_rate.ptr, c.fastest = motion->fastest.ptr;
	nb_climb_up<<<nb_cuda_blocks(nnode * WARP, THREADS), THREADS>>>(c);
	NB_CUDA_LAUNCHED();
	fastest_kernel<<<nb_cuda_blocks(g->n, THREADS), THREADS>>>(c);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}
