/* domain_cuda.cu - bodies that are spread over ranks (domain.h), in the memory of a device of each rank.
 *
 * What stays on the device: keys, positions, velocities, masses, forces and the rest of each row.  What goes to others:
 * bodies that change their rank, the roots of all cells of the top, and the essential trees (essential_cuda.cu);
 * by MPI, through the host unless that reaches devices; or, where ranks are threads of this process, from device to
 * device.
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

/* Memory that MPI reads and writes: of the host, pinned, or of the device if MPI reaches that, in which case it wants
 * none of a pool.  It stays for the next call. */
struct staging {
	char *ptr = nullptr;
	size_t bytes = 0;

	int reserve(size_t n, bool on_device)
	{
		if (n <= bytes)
			return NB_OK;
		if (ptr)
			(void)(on_device ? cudaFree(ptr) : cudaFreeHost(ptr));
		ptr = nullptr, bytes = 0;
		NB_CUDA_TRY(
			on_device ? cudaMalloc((void **)&ptr, n + n / 4) : cudaMallocHost((void **)&ptr, n + n / 4));
		bytes = n + n / 4;
		return NB_OK;
	}
};

static int copy_there(void *to, const void *from, size_t bytes)
{
	if (bytes)
		NB_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, 0));
	NB_CUDA_TRY(cudaStreamSynchronize(0));
	return NB_OK;
}

/* Events by which ranks of this process take turns: two, as one may still be waited for when the next is recorded. */
struct turns {
	cudaEvent_t event[2] = {};
	int device = -1;
	unsigned turn = 0;

	int record(cudaEvent_t *recorded)
	{
		int now;
		NB_CUDA_TRY(cudaGetDevice(&now));
		if (now != device) {
			for (cudaEvent_t &e : event)
				NB_CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
			device = now;
		}
		*recorded = event[turn++ % 2];
		NB_CUDA_TRY(cudaEventRecord(*recorded, 0));
		return NB_OK;
	}
};

int nb_domain_line_up(const struct nb_domain *d, int status)
{
	static thread_local struct turns turns;
	struct own {
		int status;
		cudaEvent_t queued;
	};
	std::vector<struct own> all((size_t)d->size);
	struct own *mine = &all[(size_t)d->rank];
	mine->status = status ? status : turns.record(&mine->queued);
	nb_domain_tell(d, all);
	for (const struct own &other : all)
		status = std::max(status, other.status);
	for (int k = 0; k < d->size && !status; k++)
		if (k != d->rank)
			status = nb_cuda_status(cudaStreamWaitEvent(0, all[(size_t)k].queued, 0), "cudaStreamWaitEvent",
				__FILE__, __LINE__);
	if (status) /* others may give back what is being read here */
		(void)cudaStreamSynchronize(0);
	return nb_domain_agree(status);
}

/* Rows that a rank of this process lends to the others: bound[k] .. bound[k + 1] - 1 to rank k, or all to each. */
struct lent {
	const char *rows;
	const size_t *bound;
	int device;
};

/* From device to device: this rank gets the rows receive[k] .. receive[k + 1] - 1 of rank k. */
static int fetch_rows(
	const struct nb_domain *d, size_t rowsize, const void *out, const size_t *send, void *in, const size_t *receive)
{
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	std::vector<struct lent> all(size);
	int device;
	const auto copy = [&]() {
		for (size_t k = 0; k < size; k++) {
			const size_t n = receive[k + 1] - receive[k], first = all[k].bound ? all[k].bound[rank] : 0;
			if (n)
				NB_CUDA_TRY(cudaMemcpyPeerAsync((char *)in + receive[k] * rowsize, device,
					all[k].rows + first * rowsize, all[k].device, n * rowsize, 0));
		}
		return (int)NB_OK;
	};
	const int status = nb_domain_line_up(
		d, nb_cuda_status(cudaGetDevice(&device), "cudaGetDevice", __FILE__, __LINE__));
	if (status)
		return status;
	all[rank] = {(const char *)out, send, device};
	nb_domain_tell(d, all);
	return nb_domain_line_up(d, copy()); /* and none of the rows goes before all have them */
}

int nb_domain_collect_rows(const struct nb_domain *d, size_t rowsize, const void *own, const size_t *bound, void *all)
{
	static thread_local struct staging room;
	const size_t size = (size_t)d->size, rank = (size_t)d->rank;
	std::vector<size_t> bytes(size + 1);
	if (nb_ranks_together())
		return fetch_rows(d, rowsize, own, nullptr, all, bound);
	for (size_t k = 0; k <= size; k++)
		bytes[k] = bound[k] * rowsize;
	int status = room.reserve(bytes[size] + 1, false);
	status = nb_domain_agree(
		status ? status : copy_there(room.ptr + bytes[rank], own, bytes[rank + 1] - bytes[rank]));
	if (status)
		return status;
	nb_ranks_collect(room.ptr, bytes.data());
	nb_ranks_settle();
	return nb_domain_agree(copy_there(all, room.ptr, bytes[size]));
}

int nb_domain_swap_rows(
	const struct nb_domain *d, size_t rowsize, const void *out, const size_t *send, void *in, const size_t *receive)
{
	static thread_local struct staging leaving, coming;
	const bool direct = nb_ranks_reach_devices();
	const size_t size = (size_t)d->size;
	std::vector<size_t> to(size + 1), from(size + 1);
	if (nb_ranks_together())
		return fetch_rows(d, rowsize, out, send, in, receive);
	for (size_t k = 0; k <= size; k++)
		to[k] = send[k] * rowsize, from[k] = receive[k] * rowsize;
	int status = leaving.reserve(to[size] + 1, direct);
	status = status ? status : coming.reserve(from[size] + 1, direct);
	status = nb_domain_agree(status ? status : copy_there(leaving.ptr, out, to[size]));
	if (status)
		return status;
	nb_ranks_exchange(leaving.ptr, to.data(), coming.ptr, from.data());
	nb_ranks_settle();
	return nb_domain_agree(copy_there(in, coming.ptr, from[size]));
}

/* ---- keys and cuts --------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
	below_kernel(size_t n, const uint64_t *key, size_t count, const uint64_t *bound, size_t *first)
{
	const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (k >= count)
		return;
	const uint64_t mine = bound[k];
	size_t lo = 0, hi = n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (key[mid] < mine)
			lo = mid + 1;
		else
			hi = mid;
	}
	first[k] = lo;
}

/* Bounds and what is found are in memory of the host, which the kernel reads and writes: one wait, and no copies. */
static int below(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first)
{
	static thread_local struct staging room;
	if (count == 0)
		return NB_OK;
	NB_TRY(room.reserve(count * (sizeof *bound + sizeof *first), false));
	uint64_t *const bounds = (uint64_t *)room.ptr;
	size_t *const found = (size_t *)(bounds + count);
	memcpy(bounds, bound, count * sizeof *bound);
	below_kernel<<<nb_cuda_blocks(count, THREADS), THREADS>>>(d->n, d->key, count, bounds, found);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaStreamSynchronize(0));
	memcpy(first, found, count * sizeof *first);
	return NB_OK;
}

/* Keys of the bodies here, sorted, and where their bodies are. */
static int sort_here(struct nb_domain *d, nb_cuda_buffer<uint32_t> &perm)
{
	if (d->key)
		nb_cuda_give(d->key);
	d->key = nullptr;
	NB_TRY(nb_cuda_take((void **)&d->key, d->n * sizeof *d->key + 1));
	NB_TRY(perm.alloc(d->n));
	NB_TRY(nb_morton_keys_cuda(d->n, d->pos, d->law.dim, &d->cube, d->key));
	return nb_sort_keys_cuda(d->n, d->key, perm.ptr);
}

/* ---- to other ranks -------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS) add_kernel(size_t n, uint32_t more, uint32_t *out)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
	if (i < n)
		out[i] += more;
}

/* Keys and places of bodies, in order. */
struct run {
	size_t n = 0;
	nb_cuda_buffer<uint64_t> key;
	nb_cuda_buffer<uint32_t> place;

	int alloc(size_t count)
	{
		n = count;
		NB_TRY(key.alloc(count));
		return place.alloc(count);
	}

	/* Those of rows first .. first + count - 1 of pos. */
	int sort(const struct nb_domain *d, const double *pos, size_t first, size_t count)
	{
		NB_TRY(alloc(count));
		NB_TRY(nb_morton_keys_cuda(count, pos + 3 * first, d->law.dim, &d->cube, key.ptr));
		NB_TRY(nb_sort_keys_cuda(count, key.ptr, place.ptr));
		if (count)
			add_kernel<<<nb_cuda_blocks(count, THREADS), THREADS>>>(count, (uint32_t)first, place.ptr);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
};

template <class T> static int copy(T *to, const T *from, size_t n)
{
	NB_CUDA_TRY(cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyDeviceToDevice, 0));
	return NB_OK;
}

/* Bodies begin .. end - 1 of the sorted ones stay, and `in` come, of which `low` go before them. */
struct moving {
	size_t begin, end, in, low;
	std::vector<size_t> send, receive; /* rows to and from each rank but this */
	bool any, few;			   /* somewhere; of each rank */

	size_t stay() const
	{
		return end - begin;
	}

	moving(const struct nb_domain *d, const struct nb_domain_move &m)
	    : begin(m.send[d->rank]), end(m.send[d->rank + 1]), in(m.n - stay()), low(m.receive[d->rank]),
	      send(m.send, m.send + d->size + 1), receive(m.receive, m.receive + d->size + 1)
	{
		double some = (double)(in + (d->n - stay()));
		for (int k = d->rank + 1; k <= d->size; k++)
			send[k] -= stay(), receive[k] -= stay();
		nb_ranks_fold(NB_RANKS_MOST, &some, 1);
		any = some > 0;
		few = some <= (double)d->n_all / d->size / 16;
	}
};

int nb_domain_reserve(void **rows, size_t *room, size_t rowsize, size_t n, size_t want)
{
	void *more = nullptr;
	if (want <= *room)
		return NB_OK;
	NB_TRY(nb_cuda_take(&more, want * rowsize + 1));
	NB_TRY(copy((char *)more, (const char *)*rows, n * rowsize));
	nb_cuda_give(*rows);
	*rows = more;
	*room = want;
	return NB_OK;
}

/* Rows of several columns of bodies as they go to other ranks: side by side, each of whole words. */
enum { COLUMNS = 4, WORD = 8 };
struct wide_row {
	int n;
	char *rows[COLUMNS];
	size_t size[COLUMNS], word[COLUMNS], words; /* of which is the first word in a row; of all */

	__device__ void copy_word(char *packed, size_t row, size_t w, bool back) const
	{
		int c = 0;
		while (c + 1 < n && w >= word[c + 1])
			c++;
		const size_t at = (w - word[c]) * WORD, some = size[c] - at < WORD ? size[c] - at : (size_t)WORD;
		char *const here = rows[c] + row * size[c] + at, *const there = packed + w * WORD;
		char *const to = back ? here : there;
		const char *const from = back ? there : here;
		if (size[c] % WORD == 0)
			*(uint64_t *)to = *(const uint64_t *)from;
		else
			for (size_t k = 0; k < some; k++)
				to[k] = from[k];
	}
};

/* The rows below `begin` and from `end` on, in the order of perm. */
static __global__ void __launch_bounds__(THREADS)
	pack_kernel(size_t n, struct wide_row c, const uint32_t *perm, size_t begin, size_t end, char *out)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x, row = i / c.words;
	if (row < n)
		c.copy_word(
			out + row * c.words * WORD, perm[row < begin ? row : end + (row - begin)], i % c.words, false);
}

/* Rows first, first + 1, .. */
static __global__ void __launch_bounds__(THREADS) unpack_kernel(size_t n, struct wide_row c, size_t first, char *in)
{
	const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x, row = i / c.words;
	if (row < n)
		c.copy_word(in + row * c.words * WORD, first + row, i % c.words, true);
}

/* A column of struct nb_domain. */
struct column {
	void **rows;
	size_t size, *room;
};

/* Behind the rows of some columns those that come from other ranks. */
static int bring(const struct nb_domain *d, const struct moving &m, const uint32_t *perm, const struct column *column,
	int ncolumn)
{
	const size_t out = d->n - m.stay();
	nb_cuda_buffer<char> leaving, coming;
	struct wide_row c = {};
	if (!m.any)
		return NB_OK;
	const auto pack = [&]() {
		for (int k = 0; k < ncolumn; k++) {
			NB_TRY(nb_domain_reserve(column[k].rows, column[k].room, column[k].size, d->n, d->n + m.in));
			c.rows[k] = (char *)*column[k].rows, c.size[k] = column[k].size, c.word[k] = c.words;
			c.words += (column[k].size + WORD - 1) / WORD;
		}
		c.n = ncolumn;
		NB_TRY(leaving.alloc(out * c.words * WORD));
		NB_TRY(coming.alloc(m.in * c.words * WORD));
		if (out)
			pack_kernel<<<nb_cuda_blocks(out * c.words, THREADS), THREADS>>>(
				out, c, perm, m.begin, m.end, leaving.ptr);
		NB_CUDA_LAUNCHED();
		return (int)NB_OK;
	};
	int status = nb_domain_agree(pack());
	status = status ? status
			: nb_domain_swap_rows(
				  d, c.words * WORD, leaving.ptr, m.send.data(), coming.ptr, m.receive.data());
	if (status || !m.in)
		return status;
	unpack_kernel<<<nb_cuda_blocks(m.in * c.words, THREADS), THREADS>>>(m.in, c, d->n, coming.ptr);
	NB_CUDA_LAUNCHED();
	return NB_OK;
}

/* Rows as order says in the place of a column, with room for `spare` more. */
static int put(size_t n, const uint32_t *order, size_t spare, const struct column &column)
{
	void *next = nullptr;
	NB_TRY(nb_cuda_take(&next, (n + spare) * column.size + 1));
	const int status = nb_permute_cuda(n, order, column.size, *column.rows, next);
	nb_cuda_give(*column.rows);
	*column.rows = next;
	*column.room = n + spare;
	return status;
}

/* The order of all that is here when others have come, and its keys in the place of d->key: bodies of one key stay in
 * the order of ranks, and in that which they had there. */
static int merge(struct nb_domain *d, const struct moving &m, const uint32_t *perm, const double *pos,
	nb_cuda_buffer<uint32_t> &order)
{
	const size_t n = m.stay() + m.in;
	struct run low, high, both;
	uint64_t *key = nullptr;
	NB_TRY(order.alloc(n));
	NB_TRY(nb_cuda_take((void **)&key, n * sizeof *key + 1));
	const auto fill = [&]() {
		if (m.in == 0) {
			NB_TRY(copy(key, d->key + m.begin, n));
			return copy(order.ptr, perm + m.begin, n);
		}
		const uint64_t *const stay_key = d->key + m.begin;
		const uint32_t *const stay_place = perm + m.begin;
		NB_TRY(low.sort(d, pos, d->n, m.low));
		NB_TRY(high.sort(d, pos, d->n + m.low, m.in - m.low));
		if (high.n == 0) /* the last rank */
			return nb_merge_pairs_cuda(
				low.n, low.key.ptr, low.place.ptr, m.stay(), stay_key, stay_place, key, order.ptr);
		if (low.n == 0) /* the first one */
			return nb_merge_pairs_cuda(
				m.stay(), stay_key, stay_place, high.n, high.key.ptr, high.place.ptr, key, order.ptr);
		NB_TRY(both.alloc(m.low + m.stay()));
		NB_TRY(nb_merge_pairs_cuda(low.n, low.key.ptr, low.place.ptr, m.stay(), stay_key, stay_place,
			both.key.ptr, both.place.ptr));
		return nb_merge_pairs_cuda(
			both.n, both.key.ptr, both.place.ptr, high.n, high.key.ptr, high.place.ptr, key, order.ptr);
	};
	const int status = fill();
	nb_cuda_give(d->key);
	d->key = key;
	return status ? status : nb_sort_deep_cuda(n, d->key, pos, d->law.dim, order.ptr);
}

/* All columns at once, if only a few rows go; else one after the other, as they take much memory on the way. */
static int move_bodies(struct nb_domain *d, const uint32_t *perm, const struct nb_domain_move &plan)
{
	const struct moving m(d, plan);
	const size_t n = m.stay() + m.in, spare = std::min(m.in + m.in / 4, n / 64) + THREADS;
	const struct column column[COLUMNS] = {{(void **)&d->pos, 3 * sizeof *d->pos, &d->room.pos},
		{(void **)&d->vel, 3 * sizeof *d->vel, &d->room.vel},
		{(void **)&d->mass, sizeof *d->mass, &d->room.mass}, {(void **)&d->rest, d->rest_size, &d->room.rest}};
	const int ncolumn = d->rest_size ? COLUMNS : COLUMNS - 1;
	nb_cuda_buffer<uint32_t> order;
	for (int first = 0, end; first < ncolumn; first = end) {
		end = m.few ? ncolumn : first + 1;
		const auto sort = [&]() {
			if (first == 0)
				NB_TRY(merge(d, m, perm, d->pos, order));
			for (int k = first; k < end; k++) {
				const bool seen = column[k].rows == (void **)&d->pos ||
						  column[k].rows == (void **)&d->mass; /* by walks of others' */
				NB_TRY(put(n, order.ptr, seen ? std::max(spare, d->spare_bodies) : spare, column[k]));
			}
			return (int)NB_OK;
		};
		int status = bring(d, m, perm, column + first, end - first);
		status = nb_domain_agree(status ? status : sort());
		if (status)
			return status;
	}
	nb_domain_set_bounds(d, plan.n, plan.bytes);
	return NB_OK;
}

static int sort_bodies(struct nb_domain *d)
{
	nb_cuda_buffer<uint32_t> perm;
	struct nb_domain_move plan = {};
	int status = nb_domain_agree(d->box_known ? NB_OK : nb_box_cuda(d->n, d->pos, d->box));
	d->box_known = 0;
	status = status ? status : nb_domain_find_cube(d, d->box);
	status = status ? status : nb_domain_agree(sort_here(d, perm));
	status = status ? status : nb_domain_find_cuts(d, nullptr);
	if (!status) {
		status = nb_domain_plan_move(d, &plan);
		status = status ? status : move_bodies(d, perm.ptr, plan);
		nb_domain_move_free(&plan);
		if (status == NB_ELIMIT) /* a run cannot go on with some of the columns moved */
			status = NB_EDEVICE;
	}
	return status;
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
	return d->law.order > 2 ? nb_tree_high_cuda(&g, &e->tree, d->law.order, d->spare_nodes, &e->rows) : NB_OK;
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

/* A kick, then a drift, in one pass, which finds the box, too; products are rounded before sums, as in nb_kick_cuda and
 * nb_drift_cuda.  n: numbers; a multiple of three blocks, so that a thread meets one axis. */
static __global__ void __launch_bounds__(THREADS) move_kernel(
	size_t n, double *pos, double *vel, const double *acc, double kick, double drift, struct nb_bounds *bounds)
{
	__shared__ struct nb_bounds part;
	const size_t step = (size_t)gridDim.x * THREADS, start = blockIdx.x * (size_t)THREADS + threadIdx.x;
	unsigned long long top = 0, bottom = 0;
	bool found = false;
	if (threadIdx.x == 0)
		part = {};
	__syncthreads();
	for (size_t i = start; i < n; i += step) {
		double v = vel[i];
		if (kick != 0)
			vel[i] = v = __dadd_rn(v, __dmul_rn(acc[i], kick));
		if (drift == 0)
			continue;
		const double x = __dadd_rn(pos[i], __dmul_rn(v, drift));
		pos[i] = x;
		found |= !isfinite(x);
		const unsigned long long key = nb_ordered((unsigned long long)__double_as_longlong(x));
		top = max(top, key);
		bottom = max(bottom, ~key);
	}
	atomicMax(&part.top[start % 3], top);
	atomicMax(&part.bottom[start % 3], bottom);
	if (found)
		part.bad = 1;
	__syncthreads();
	if (threadIdx.x < 3) {
		atomicMax(&bounds->top[threadIdx.x], part.top[threadIdx.x]);
		atomicMax(&bounds->bottom[threadIdx.x], part.bottom[threadIdx.x]);
		if (part.bad)
			bounds->bad = 1;
	}
}

static int move(struct nb_domain *d, double kick, double drift, int *finite)
{
	nb_cuda_buffer<struct nb_bounds> bounds;
	struct nb_bounds found;
	int sms;
	*finite = 1;
	NB_TRY(open_device(d->law.device - 1));
	if (d->n == 0 || (kick == 0 && drift == 0))
		return NB_OK;
	NB_TRY(nb_cuda_multiprocessors(&sms));
	NB_TRY(bounds.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(bounds.ptr, 0, sizeof found));
	const unsigned three = std::min(nb_cuda_blocks(3 * d->n, 3 * THREADS), 8 * (unsigned)sms / 3);
	move_kernel<<<3 * three, THREADS>>>(3 * d->n, d->pos, d->vel, d->acc, kick, drift, bounds.ptr);
	NB_CUDA_LAUNCHED();
	NB_TRY(to_host(&found, bounds.ptr, sizeof found));
	*finite = !found.bad;
	if (drift != 0) {
		nb_box_of_bounds(&found, d->box);
		d->box_known = 1;
	}
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
	struct nb_tree_walk by = {};
	float ms = 0;
	g.n = d->n, g.pos = d->pos, g.mass = d->mass;
	g.acc = d->acc, g.pot = d->law.potential ? d->pot : nullptr;
	g.eps = d->law.eps, g.G = d->law.G, g.precision = d->law.precision;
	by.theta = d->law.theta, by.mac = NB_MAC_GEOMETRIC, by.order = d->law.order;
	NB_TRY(watch.ready());
	NB_TRY(square.alloc(1));
	NB_CUDA_TRY(cudaEventRecord(watch.begin, 0));
	NB_TRY(nb_gravity_tree_part_cuda(&g, &e->tree, &by, d->n_all, e->rows.ptr));
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
	std::vector<struct nb_domain_share> all((size_t)d->size);
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
	const double high = d->law.order < 3 ? 0
					     : nb_high_row(d->law.order) * 8 +
						       (nb_high_body_row(d->law.order) +
							       nb_high_far_row(d->law.order, d->law.eps == 0)) *
							       (d->law.precision == NB_F64 ? 8 : 4);
	d->tally.bytes = (double)d->n * (120.0 + (double)d->rest_size) + (double)e.nbody * 32 +
			 (double)e.nnode * (200 + 48 + high);
}

/* What went wrong, told to rank 0: the words of the first rank with the worst status, which all have agreed on. */
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

/* With what others send at d->wary.  *missed: the walk has met something that is not here, and its results are NaN. */
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
	status = status ? status : sort_bodies(d);
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
		if (d->wary == NB_ESSENTIAL_ALL)
			missed = false;
		d->wary += missed;
	}
	return NB_OK;
}

static int force(struct nb_domain *d, double *largest)
{
	const int status = force_of_all(d, largest);
	return status == NB_EDEVICE || status == NB_ENOMEM || status == NB_ENODEV ? tell_failure(d, status) : status;
}

const struct nb_domain_device nb_domain_device_cuda = {
	open_device, nb_cuda_take, nb_cuda_give, to_device, to_host, below, move, force};
