/* message_internal.cuh - what ranks send each other of their trees (essential_cuda.cu says when): the form of a
 * message, and a node's moments as a row of numbers; for send_cuda.cu and receive_cuda.cu. */
#ifndef NB_DOMAIN_MESSAGE_INTERNAL_CUH
#define NB_DOMAIN_MESSAGE_INTERNAL_CUH

#include <vector>

#include "kernels/domain/essential_internal.cuh"
#include "kernels/multipole/multipole.h"
#include "kernels/walk_gpu/walk_gpu.cuh"

enum { THREADS = 256, MANY = NB_OPENING_MANY };
static const uint32_t NONE = UINT32_MAX;

/* Numbers of a node's row in e->rows. */
static inline size_t nb_essential_width(const struct nb_domain *d)
{
	return d->law.walk.order > 2 ? (size_t)nb_high_row(d->law.walk.order) : 0;
}

/* A node on its way; its moments of high order are sent beside it. */
struct message {
	struct nb_essential_moments is;
	uint32_t count, child, nchild, body; /* child, body: places in the message, or NONE */
};

struct body {
	double pos[3], mass;
};

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

template <class T> static int nb_essential_upload(nb_cuda_buffer<T> &to, const T *from, size_t n)
{
	NB_TRY(to.alloc(n));
	NB_CUDA_TRY(cudaMemcpy(to.ptr, from, n * sizeof(T), cudaMemcpyHostToDevice));
	return NB_OK;
}

template <class T> static int nb_essential_upload(nb_cuda_buffer<T> &to, const std::vector<T> &from)
{
	return nb_essential_upload(to, from.data(), from.size());
}

template <class T> static int nb_essential_download(const T *from, size_t n, T *to)
{
	NB_CUDA_TRY(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost));
	return NB_OK;
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
		NB_TRY(rows.alloc(node_bound[size] * nb_essential_width(d)));
		return bodies.alloc(body_bound[size]);
	}
};

/* Writes the messages to other ranks.  send_cuda.cu. */
NB_MUST_CHECK int nb_essential_write(const struct nb_domain *d, const struct nb_essential *e, struct mail *out);

#endif
