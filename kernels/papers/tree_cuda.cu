/* tree_cuda.cu - Barnes-Hut of Gangavarapu et al. in 2-D on the device, in f64.
 *
 * The tree is theirs, each body in a cell of its own, inserted one after the other, which the host does
 * (tree_cpu.c).  The device gets its nodes in depth-first order, each with the end of its subtree, so that no
 * recursion is needed; distributes the masses level by level from below, a thread per node; and walks the tree, a
 * thread per body: a cell of edge l at distance D counts as one body where l / D < theta. */
#include <vector>

#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"
#include "kernels/papers/pair_internal.h"
#include "kernels/papers/tree_internal.h"

enum { THREADS = 128 };

namespace
{
struct cell {
	double x, y, mass; /* centre of mass, after the mass distribution */
	double middle_x, middle_y, edge;
	uint32_t end;	       /* of its subtree: the next cell that is not below */
	uint32_t first, count; /* bodies of a leaf, in `order`; count 0: no leaf */
};

struct counters {
	unsigned long long p2p, m2p;
};
} // namespace

/* Thread: a cell of one level. */
static __global__ void distribute_kernel(
	size_t count, const uint32_t *level, const uint32_t *order, const paper_body<double> *body, struct cell *cells)
{
	const size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (k >= count)
		return;
	const uint32_t at = level[k];
	struct cell c = cells[at];
	double x = 0, y = 0, mass = 0;
	for (uint32_t i = c.first; i < c.first + c.count; i++) {
		const paper_body<double> b = body[order[i]];
		mass += b.m, x += b.m * b.x, y += b.m * b.y;
	}
	for (uint32_t child = at + 1; child < c.end; child = cells[child].end) {
		const struct cell q = cells[child];
		mass += q.mass, x += q.mass * q.x, y += q.mass * q.y;
	}
	cells[at].mass = mass;
	cells[at].x = mass > 0 ? x / mass : c.middle_x;
	cells[at].y = mass > 0 ? y / mass : c.middle_y;
}

/* Thread: a body. */
static __global__ void force_kernel(size_t n, uint32_t ncell, double theta, const struct cell *cells,
	const uint32_t *order, const paper_body<double> *body, const struct paper_units *units, double *acc,
	struct counters *counters)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const paper_body<double> me = body[i];
	const double eps2 = units->eps * units->eps;
	double force[2] = {0, 0};
	unsigned long long p2p = 0, m2p = 0;
	for (uint32_t at = 0; at < ncell;) {
		const struct cell *const c = &cells[at];
		const uint32_t end = c->end;
		if (c->count) {
			for (uint32_t k = c->first; k < c->first + c->count; k++) {
				const uint32_t j = order[k];
				if (j == i)
					continue;
				const double d[2] = {body[j].x - me.x, body[j].y - me.y};
				nb_paper_interact_f64(2, d, d, body[j].m, eps2, force, nullptr);
				p2p++;
			}
			at = end;
			continue;
		}
		const double d[2] = {c->x - me.x, c->y - me.y};
		if (c->edge < theta * sqrt(d[0] * d[0] + d[1] * d[1])) {
			nb_paper_interact_f64(2, d, d, c->mass, eps2, force, nullptr);
			m2p++;
			at = end;
		} else {
			at++;
		}
	}
	acc[3 * i] = force[0] * units->scale.acc_out;
	acc[3 * i + 1] = force[1] * units->scale.acc_out;
	acc[3 * i + 2] = 0;
	atomicAdd(&counters->p2p, p2p);
	atomicAdd(&counters->m2p, m2p);
}

namespace
{
/* The tree in depth-first order, and the cells of each depth. */
struct flat {
	std::vector<struct cell> cells;
	std::vector<uint32_t> order, level, level_first;

	void add(const struct nb_paper_tree *tree, int32_t at)
	{
		const struct nb_paper_node *node = &tree->node[at];
		const size_t me = cells.size();
		cells.push_back({0, 0, 0, node->middle[0], node->middle[1], node->edge, 0, (uint32_t)order.size(), 0});
		for (int32_t i = node->body; i != NB_PAPER_NONE; i = tree->next[i])
			order.push_back((uint32_t)i);
		cells[me].count = (uint32_t)(order.size() - cells[me].first);
		for (int q = 0; q < 4 && !nb_paper_leaf(node); q++)
			if (node->child[q] != NB_PAPER_NONE)
				add(tree, node->child[q]);
		cells[me].end = (uint32_t)cells.size();
		depth_of[me] = node->depth;
	}

	explicit flat(const struct nb_paper_tree *tree) : depth_of(tree->nnode)
	{
		cells.reserve(tree->nnode);
		order.reserve(tree->n);
		add(tree, 0);
		for (int32_t depth = 0; level.size() < cells.size(); depth++) {
			level_first.push_back((uint32_t)level.size());
			for (size_t k = 0; k < cells.size(); k++)
				if (depth_of[k] == depth)
					level.push_back((uint32_t)k);
		}
		level_first.push_back((uint32_t)level.size());
	}

      private:
	std::vector<int32_t> depth_of;
};
} // namespace

template <class T> static int upload(const std::vector<T> &from, nb_cuda_buffer<T> &to)
{
	NB_TRY(to.alloc(from.size()));
	NB_CUDA_TRY(cudaMemcpy(to.ptr, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
	return NB_OK;
}

static int walk(const struct nb_paper_job *job, const struct paper_call &call, const struct nb_paper_tree *tree,
	const nb_cuda_buffer<paper_body<double>> &body, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = call.g;
	const struct flat flat(tree);
	nb_cuda_buffer<struct cell> cells;
	nb_cuda_buffer<uint32_t> order, level;
	nb_cuda_buffer<struct counters> counters;
	NB_TRY(upload(flat.cells, cells));
	NB_TRY(upload(flat.order, order));
	NB_TRY(upload(flat.level, level));
	NB_TRY(counters.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(counters.ptr, 0, sizeof(struct counters), 0));
	for (size_t depth = flat.level_first.size() - 1; depth-- > 0;) {
		const uint32_t first = flat.level_first[depth], some = flat.level_first[depth + 1] - first;
		distribute_kernel<<<nb_cuda_blocks(some, THREADS), THREADS>>>(
			some, level.ptr + first, order.ptr, body.ptr, cells.ptr);
		NB_CUDA_LAUNCHED();
	}
	force_kernel<<<nb_cuda_blocks(g->n, THREADS), THREADS>>>(g->n, (uint32_t)flat.cells.size(), job->theta,
		cells.ptr, order.ptr, body.ptr, call.units.ptr, g->acc, counters.ptr);
	NB_CUDA_LAUNCHED();
	struct counters did;
	NB_CUDA_TRY(cudaMemcpy(&did, counters.ptr, sizeof did, cudaMemcpyDeviceToHost));
	if (count) {
		count->p2p += did.p2p;
		count->m2p += did.m2p;
	}
	return NB_OK;
}

/* Freed also where a vector finds no memory. */
struct owned_tree {
	struct nb_paper_tree tree = {};

	~owned_tree()
	{
		nb_paper_tree_free(&tree);
	}
};

static int solve(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = job->gravity;
	struct paper_call call;
	nb_cuda_buffer<paper_body<double>> body;
	NB_TRY(call.begin(g));
	if (g->n == 0)
		return NB_OK;
	NB_TRY(paper_pack<double>(call, g->n, body));
	NB_TRY(call.end()); /* a position that is not finite has no quadrant */
	std::vector<paper_body<double>> there(g->n);
	NB_CUDA_TRY(cudaMemcpy(there.data(), body.ptr, g->n * sizeof there[0], cudaMemcpyDeviceToHost));
	std::vector<double> pos(3 * g->n);
	for (size_t i = 0; i < g->n; i++)
		pos[3 * i] = there[i].x, pos[3 * i + 1] = there[i].y;
	struct owned_tree owned;
	NB_TRY(nb_paper_tree_insert(g->n, pos.data(), 2, &owned.tree));
	return walk(job, call, &owned.tree, body, count);
}

extern "C" int nb_paper_gangavarapu_tree_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	try {
		return solve(job, count);
	} catch (const std::bad_alloc &) {
		return NB_ENOMEM;
	}
}
