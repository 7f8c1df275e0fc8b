/* sort_cuda.cu - spread bodies in order (domain_cuda.cu): keys and cuts, and the bodies that change their rank. */
#include <algorithm>
#include <vector>

#include <string.h>

#include "kernels/domain/essential_internal.cuh"
#include "kernels/order/order.cuh"

enum { THREADS = 256 };

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
int nb_domain_below_cuda(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first)
{
	static thread_local struct nb_domain_staging staging;
	if (count == 0)
		return NB_OK;
	NB_TRY(staging.reserve(count * (sizeof *bound + sizeof *first), false));
	uint64_t *const bounds = (uint64_t *)staging.ptr;
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

	moving(const struct nb_domain *d, const struct nb_domain_moves &m)
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
static int move_bodies(struct nb_domain *d, const uint32_t *perm, const struct nb_domain_moves &plan)
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

int nb_domain_sort_cuda(struct nb_domain *d)
{
	nb_cuda_buffer<uint32_t> perm;
	struct nb_domain_moves plan = {};
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
