/* walk_gpu.cuh - what walks of orders 3 and 4 read of nodes in the memory of a device, for who makes it of the nodes of
 * others (kernels/domain).  The formulas are in high_internal.cuh. */
#ifndef NB_WALK_GPU_CUH
#define NB_WALK_GPU_CUH

#include "kernels/device/device.cuh"
#include "kernels/walk_gpu/walk_gpu.h"

/* Monomials up to a degree, all of them or those of a harmonic function. */
static __host__ __device__ constexpr int nb_high_count(int degree)
{
	return (degree + 1) * (degree + 2) * (degree + 3) / 6;
}
static __host__ __device__ constexpr int nb_high_kept(int degree, bool harmonic)
{
	return harmonic ? (degree + 1) * (degree + 1) : nb_high_count(degree);
}

/* Order of the local expansion: the highest that pays. */
static __host__ __device__ constexpr int nb_high_local(int order, bool harmonic)
{
	return order + (harmonic ? 3 : 2);
}

/* A leaf of so few bodies costs less than its multipole. */
static __host__ __device__ constexpr int nb_high_tiny(int order)
{
	return order < 3 ? 2 : order == 3 ? 6 : 12;
}

/* Moments of second to highest degree, and with s in a row of nb_tree_high_cuda. */
static __host__ __device__ constexpr int nb_high_moments(int order)
{
	return nb_high_count(order) - 4;
}
static __host__ __device__ constexpr int nb_high_row(int order)
{
	return nb_high_moments(order) + 1;
}

/* What the walk reads of a node, in multiples of 16 bytes: the tensors that act on a body; what is kept of R, signs
 * included, and s. */
static __host__ __device__ constexpr int nb_high_body_row(int order)
{
	return (nb_high_moments(order) + 3) / 4 * 4;
}
static __host__ __device__ constexpr int nb_high_far_moments(int order, bool harmonic)
{
	return nb_high_kept(order, harmonic) - 4;
}
static __host__ __device__ constexpr int nb_high_far_row(int order, bool harmonic)
{
	return (nb_high_far_moments(order, harmonic) + 1 + 3) / 4 * 4;
}

/* rows becomes (nnode + spare) x nb_high_row(order): R of second to highest degree, then s in the caller's unit; order
 * is 3 or 4. Sums are in f64, upwards through a tree of any origin; NaN in nodes that do not belong to it, and in those
 * above or of bodies that are not among the g->n.  A node of no mass has the moments of equal masses.  Queued on the
 * default stream; same bytes on every run. */
NB_MUST_CHECK int nb_tree_high_cuda(
	const struct nb_gravity *g, const struct nb_tree *tree, int order, size_t spare, nb_cuda_buffer<double> *rows);

/* Those of the nodes from .. to - 1 that have children and more bodies than any whose moments are sums over bodies,
 * from those of their children.  Queued on the default stream. */
NB_MUST_CHECK int nb_tree_inner_high_cuda(
	const struct nb_tree *tree, int order, uint32_t from, uint32_t to, double *rows);

#endif
