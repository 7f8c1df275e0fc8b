/* receive_cuda.cu - what has come from other ranks, behind what is here (essential_cuda.cu). */
#include <math.h>

#include <algorithm>
#include <type_traits>

#include "kernels/domain/message_internal.cuh"
#include "kernels/team/team.cuh"

enum { NOBODY = MANY + 1 }; /* rows of the stand-in for missing bodies: a leaf is never longer in a packed node */

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
	const size_t size = (size_t)d->size, width = nb_essential_width(d);
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
	NB_TRY(nb_essential_upload(arrivals, arrival));
	NB_TRY(nb_essential_upload(all_slots, slots));
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
	nb_ranks_wait_all();
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
		arrival[k].rows = in.rows.ptr + in.node_bound[k] * nb_essential_width(d);
		arrival[k].bodies = in.bodies.ptr + in.body_bound[k];
	}
	return arrival;
}

/* By copies of the messages. */
static int receive(struct nb_domain *d, struct nb_essential *e, const struct mail &out)
{
	const size_t width = nb_essential_width(d);
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
		arrival[k].rows = all[k]->rows.ptr + nodes[rank] * nb_essential_width(d);
		arrival[k].bodies = all[k]->bodies.ptr + bodies[rank];
	}
	return nb_domain_line_up(
		d, read_messages(d, e, in, arrival)); /* and no message goes before all have read theirs */
}

int nb_essential_exchange(struct nb_domain *d, struct nb_essential *e)
{
	struct mail out;
	const bool there = nb_ranks_together() && nb_team_mutual();
	int status = nb_essential_write(d, e, &out);
	status = there ? nb_domain_line_up(d, status) : nb_domain_agree(status);
	if (status)
		return status;
	return there ? read_there(d, e, out) : receive(d, e, out);
}
