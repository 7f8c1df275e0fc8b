/* domain_cuda.cu - bodies that are spread over ranks (domain.h), in the memory of a device of each rank.
 *
 * What stays on the device: keys, positions, velocities, masses, forces and the rest of each row.  What goes to others:
 * bodies that change their rank (sort_cuda.cu), the roots of all cells of the top, and the essential trees
 * (essential_cuda.cu).  How it goes: transport_cuda.cu.
 *
 *   sort     keys; cuts as on the CPU; those that leave are packed, those that come are put behind the others, and all
 *            rows are permuted once, whether they came or stayed
 *   tree     nb_tree_grow_cuda: the trees of own cells below the top, all at once
 *   forces   the walk of one device, over own nodes, those of the top, and what other ranks have sent
 *
 * So that a run by ranks gives the bytes of one by one device, nothing that a walk can tell depends on the cuts: groups
 * and regions are never cut, and nodes have the same moments. */
#include <algorithm>
#include <vector>

#include <math.h>
#include <string.h>

#include "kernels/domain/essential_internal.cuh"
#include "kernels/motion/motion.h"
#include "kernels/order/order.cuh"
#include "kernels/team/team.h"
#include "kernels/walk_gpu/walk_gpu.cuh"

enum { THREADS = 256 };
static const double BALANCED = 1.1, DAMPED = 0.7;

/* ---- the device ------------------------------------------------------------------------------------------ */

static int open_device(int first)
{
	int count, device = nb_ranks_together() ? nb_team_device(nb_ranks_rank()) : 0;
	if (!nb_ranks_together()) {
		NB_CUDA_TRY(cudaGetDeviceCount(&count));
		if (count == 0)
			return NB_ENODEV;
		device = (first + nb_ranks_beside()) % count;
	}
	NB_CUDA_TRY(cudaSetDevice(device));
	return NB_OK;
}

static int to_device(void *to, const void *from, size_t bytes)
{
	NB_CUDA_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
	return NB_OK;
}

static int to_host(void *to, const void *from, size_t bytes)
{
	NB_CUDA_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
	return NB_OK;
}

/* ---- the tree -------------------------------------------------------------------------------------------- */

template <class T> static int upload(T **column, const std::vector<T> &from)
{
	NB_TRY(nb_cuda_take((void **)column, from.size() * sizeof(T)));
	return to_device(*column, from.data(), from.size() * sizeof(T));
}

/* The nodes of the top as far as keys tell, and whose they are. */
static int begin_tree(const struct nb_domain *d, struct nb_essential *e)
{
	const struct nb_domain_top &top = e->top;
	std::vector<uint32_t> first(top.nslot, UINT32_MAX), count(top.nslot), child(top.nslot);
	e->kind.resize(top.nslot);
	e->slots.assign((size_t)d->size, {});
	e->generation.assign(1, 0);
	for (uint32_t i = 0, last = 1; i < top.nslot; i++) {
		const struct nb_domain_cell &cell = top.cell[top.slot[i].begin];
		e->kind[i] = (uint8_t)nb_domain_kind_of(d, &top, i, &count[i]);
		child[i] = top.slot[i].child;
		if (e->kind[i] != NB_DOMAIN_TOP)
			e->slots[(size_t)cell.owner].push_back(i);
		if (e->kind[i] == NB_DOMAIN_OWN)
			first[i] = cell.first - (uint32_t)d->bound[d->rank];
		if (i + 1 == last) { /* the last one of a level */
			e->generation.push_back(last);
			last = i + 1;
			for (uint32_t j = e->generation[e->generation.size() - 2]; j <= i; j++)
				last = std::max(last, top.slot[j].child + top.slot[j].nchild);
		}
	}
	e->tree.nnode = top.nslot;
	e->tree.dim = d->law.dim;
	e->tree.leaf_size = d->law.leaf_size;
	e->tree.order = d->law.tree_order;
	e->tree.cube = d->cube;
	NB_TRY(upload(&e->tree.first, first));
	NB_TRY(upload(&e->tree.count, count));
	return upload(&e->tree.child, child);
}

/* What is below own cells. */
static int grow_cells(const struct nb_domain *d, struct nb_essential *e)
{
	std::vector<uint32_t> root, begin;
	NB_TRY(begin_tree(d, e));
	root = e->slots[(size_t)d->rank];
	const struct nb_domain_top &top = e->top;
	const auto first = [&](uint32_t slot) { return top.cell[top.slot[slot].begin].first; };
	std::sort(root.begin(), root.end(), [&](uint32_t a, uint32_t b) { return first(a) < first(b); });
	for (const uint32_t slot : root)
		begin.push_back(first(slot) - (uint32_t)d->bound[d->rank]);
	begin.push_back((uint32_t)d->n);
	NB_TRY(nb_tree_grow_cuda(d->n, d->key, d->pos, d->mass, (uint32_t)root.size(), root.data(), begin.data(),
		d->spare_nodes, &e->tree));
	e->nown = (uint32_t)e->tree.nnode;
	e->room = e->nown + d->spare_nodes;
	NB_TRY(nb_tree_inner_moments_cuda(&e->tree, 0, top.nslot));
	struct nb_gravity g = {};
	g.n = d->n, g.pos = d->pos, g.mass = d->mass;
	return d->law.walk.order > 2 ? nb_tree_high_cuda(&g, &e->tree, d->law.walk.order, d->spare_nodes, &e->rows)
				     : NB_OK;
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

static int move(struct nb_domain *d, double kick, double drift, int *finite)
{
	*finite = 1;
	NB_TRY(open_device(d->law.device - 1));
	if (drift == 0)
		return kick == 0 ? NB_OK : nb_kick_cuda(d->n, d->vel, d->acc, kick);
	if (d->n == 0)
		return NB_OK;
	NB_TRY(nb_kick_drift_cuda(d->n, d->pos, d->vel, d->acc, 0, kick, drift, d->box));
	*finite = !d->box[6];
	d->box_known = 1;
	return NB_OK;
}

/* How long something takes by the clock of the device, and a number that follows from it, with one wait for both. */
struct stopwatch {
	cudaEvent_t begin, end;
	double *number; /* pinned */
	int device = -1;

	int ready()
	{
		int now;
		NB_CUDA_TRY(cudaGetDevice(&now));
		if (now == device)
			return NB_OK;
		NB_CUDA_TRY(cudaEventCreate(&begin));
		NB_CUDA_TRY(cudaEventCreate(&end));
		NB_CUDA_TRY(cudaMallocHost((void **)&number, sizeof *number));
		device = now;
		return NB_OK;
	}
};

/* Forces on own bodies, of all that is here now, after which the tree's memory goes; s: for how long. */
static int walk(struct nb_domain *d, struct nb_essential *e, double *s, double *largest)
{
	static thread_local struct stopwatch watch;
	nb_cuda_buffer<double> square;
	struct nb_gravity g = {};
	float ms = 0;
	g.n = d->n, g.pos = d->pos, g.mass = d->mass;
	g.acc = d->acc, g.pot = d->law.potential ? d->pot : nullptr;
	g.eps = d->law.eps, g.G = d->law.G, g.precision = d->law.precision;
	NB_TRY(watch.ready());
	NB_TRY(square.alloc(1));
	NB_CUDA_TRY(cudaEventRecord(watch.begin, 0));
	NB_TRY(nb_gravity_tree_part_cuda(&g, &e->tree, &d->law.walk, d->n_all, e->rows.ptr));
	NB_CUDA_TRY(cudaEventRecord(watch.end, 0));
	NB_TRY(nb_largest_square_cuda(d->n, d->acc, square.ptr));
	NB_CUDA_TRY(cudaMemcpyAsync(watch.number, square.ptr, sizeof *watch.number, cudaMemcpyDeviceToHost, 0));
	e->release();
	NB_CUDA_TRY(cudaStreamSynchronize(0));
	NB_CUDA_TRY(cudaEventElapsedTime(&ms, watch.begin, watch.end));
	*s = 1e-3 * ms;
	*largest = sqrt(*watch.number);
	return NB_OK;
}

/* What a body of each rank is taken to cost in the next force, from how long the walk of its bodies took.  Cuts move
 * bodies, and times are never quite equal: as long as they nearly are, the cuts stay where they are, and else they go
 * most of the way. */
static void learn(struct nb_domain *d, double s)
{
	double most = s, sum = s;
	nb_ranks_fold(NB_RANKS_MOST, &most, 1);
	nb_ranks_fold(NB_RANKS_SUM, &sum, 1);
	const double mean = sum / d->size, load = mean > 0 && most > BALANCED * mean ? 1 + DAMPED * (s / mean - 1) : 1;
	d->unit_cost = d->n ? load / (double)d->n : 0;
	d->worked += s;
	d->waited += most - s;
}

/* What each rank has done up to now. */
static void tell_shares(struct nb_domain *d)
{
	std::vector<struct nb_domain_usage> all((size_t)d->size);
	int device = -1;
	(void)cudaGetDevice(&device);
	(void)cudaGetLastError();
	all[(size_t)d->rank] = {
		device, (double)d->n, d->worked, d->waited, device < 0 ? 0 : (double)nb_cuda_most(device)};
	nb_domain_tell(d, all);
	std::copy(all.begin(), all.end(), d->share);
}

static void tally(struct nb_domain *d, const struct nb_essential &e)
{
	tell_shares(d);
	double all = (double)(e.nown - e.top.nslot);
	nb_ranks_fold(NB_RANKS_SUM, &all, 1);
	d->tally.bodies = (double)d->n;
	d->tally.asked = (double)e.nbody;
	d->tally.cells = (double)e.nnode - 1; /* without the stand-in */
	d->tally.all_cells = all + (double)e.top.nslot;
	d->tally.rounds++;
	/* columns, bodies of others, and nodes: as columns and packed, of high order with their moments */
	const double high = d->law.walk.order < 3
				    ? 0
				    : nb_high_row(d->law.walk.order) * 8 +
					      (nb_high_body_row(d->law.walk.order) +
						      nb_high_far_row(d->law.walk.order, d->law.eps == 0)) *
						      (d->law.precision == NB_F64 ? 8 : 4);
	d->tally.bytes = (double)d->n * (120.0 + (double)d->rest_size) + (double)e.nbody * 32 +
			 (double)e.nnode * (200 + 48 + high);
}

/* What went wrong, sent to rank 0: the words of the first rank with the worst status, which all have agreed on. */
static int tell_failure(const struct nb_domain *d, int status)
{
	struct failure {
		int status, device;
		char text[sizeof nb_cuda_error_text];
	};
	std::vector<struct failure> all((size_t)d->size);
	struct failure *mine = &all[(size_t)d->rank];
	mine->status = nb_cuda_error_status;
	(void)cudaGetDevice(&mine->device);
	memcpy(mine->text, nb_cuda_error_text, sizeof mine->text);
	nb_domain_tell(d, all);
	for (int k = 0; k < d->size; k++) {
		const struct failure &f = all[(size_t)k];
		if (f.status != status || d->rank > 0)
			continue;
		if (k > 0)
			snprintf(nb_cuda_error_text, sizeof nb_cuda_error_text, "rank %d, device %d: %.200s", k,
				f.device, f.text);
		nb_cuda_error_status = status;
		nb_space_note_failure(status == NB_ENOMEM ? "" : nb_cuda_error_text);
		break;
	}
	return status;
}

/* With what others send at d->margin.  *missed: the walk has met something that is not here, so its results are NaN. */
static int force_of_some(struct nb_domain *d, double *largest, bool *missed)
{
	struct nb_essential e;
	double s = 0, any;
	int status = nb_domain_find_top(d, &e.top);
	status = status ? status : nb_domain_agree(grow_cells(d, &e));
	status = status ? status : nb_essential_meet(d, &e);
	status = status ? status : nb_essential_exchange(d, &e);
	status = status ? status : nb_domain_agree(walk(d, &e, &s, largest));
	if (status)
		return status;
	learn(d, s);
	any = !isfinite(*largest);
	nb_ranks_fold(NB_RANKS_MOST, &any, 1);
	*missed = any > 0;
	tally(d, e);
	return NB_OK;
}

/* Until nothing is missed.  That is rare: the tree is grown again, rather than kept while all wait for the walk. */
static int force_of_all(struct nb_domain *d, double *largest)
{
	bool missed = true;
	int status = nb_domain_agree(open_device(d->law.device - 1));
	status = status ? status : nb_domain_sort_cuda(d);
	status = status ? status : nb_domain_make_room(d);
	if (status || d->n_all == 0)
		return status;
	for (bool again = false; missed; again = true) {
		status = force_of_some(d, largest, &missed);
		if (status == NB_ENOMEM &&
			again) { /* more do not fit: if they were missing or not, there is no force */
			*largest = INFINITY;
			return NB_OK;
		}
		if (status)
			return status;
		if (d->margin == NB_ESSENTIAL_ALL)
			missed = false;
		d->margin += missed;
	}
	return NB_OK;
}

static int force(struct nb_domain *d, double *largest)
{
	const int status = force_of_all(d, largest);
	return status == NB_EDEVICE || status == NB_ENOMEM || status == NB_ENODEV ? tell_failure(d, status) : status;
}

const struct nb_domain_device nb_domain_device_cuda = {
	open_device, nb_cuda_take, nb_cuda_give, to_device, to_host, nb_domain_below_cuda, move, force};
