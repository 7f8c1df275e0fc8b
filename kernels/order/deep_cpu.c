/* Order below the last bit of the key (deep.h), on the CPU.
 *
 * Ties are found in one pass over the sorted keys.  Large ones are divided one after the other, each by all threads;
 * small ones, and the small parts of large ones, by a thread each. */
#include "kernels/order/order.h"

#include <string.h>

#include "common/lap.h"
#include "common/mem.h"

enum {
	BLOCK = 1 << 14, /* bodies: one thread's unit of work */
	LARGE = 1 << 13	 /* bodies of a tie that several threads divide */
};

struct tie {
	uint32_t first, count;
};

/* Ties in a buffer that grows. */
struct ties {
	struct tie *at;
	size_t n, capacity;
};

static int add(struct ties *c, struct tie tie)
{
	if (nb_reserve(c->at, c->n, c->n + 1, c->capacity))
		return NB_ENOMEM;
	c->at[c->n++] = tie;
	return NB_OK;
}

/* The ties among the rows first .. first+n-1, which have these sorted keys: large ones, others of at least `least`.
 */
static int find_ties(size_t first, size_t n, const uint64_t *key, size_t least, struct ties *large, struct ties *small)
{
	int status = NB_OK;
	for (size_t i = 0, next; !status && i < n; i = next) {
		for (next = i + 1; next < n && key[next] == key[i]; next++)
			;
		if (next - i >= least)
			status = add(next - i < LARGE ? small : large,
				(struct tie){(uint32_t)(first + i), (uint32_t)(next - i)});
	}
	return status;
}

void nb_deep_keys_cpu(size_t n, const uint32_t *row, const double *pos, int dim, uint64_t *key)
{
	const double *at = pos + 3 * (row ? (size_t)row[0] : 0);
	double lo[3] = {at[0], at[1], at[2]}, hi[3] = {at[0], at[1], at[2]};
#pragma omp parallel for schedule(static) reduction(min : lo[:3]) reduction(max : hi[:3]) if (n >= LARGE)
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < 3; k++) {
			const double x = pos[3 * (row ? (size_t)row[i] : i) + k];
			lo[k] = x < lo[k] ? x : lo[k];
			hi[k] = x > hi[k] ? x : hi[k];
		}
	const struct nb_deep_cube cube = nb_deep_cube_of(lo, hi, dim);
#pragma omp parallel for schedule(static) if (n >= LARGE)
	for (size_t i = 0; i < n; i++)
		key[i] = nb_deep_key(&cube, pos + 3 * (row ? (size_t)row[i] : i), dim);
}

/* What one thread needs: arrays for the bodies of one tie, and the ties that are still to be divided. */
struct workspace {
	uint64_t *key;
	uint32_t *order, *row;
	struct ties large, small;
};

static int workspace_for(struct workspace *r, size_t bodies)
{
	*r = (struct workspace){nb_alloc(bodies, sizeof *r->key), nb_alloc(bodies, sizeof *r->order),
		nb_alloc(bodies, sizeof *r->row), {0}, {0}};
	return r->key && r->order && r->row ? NB_OK : NB_ENOMEM;
}

static void workspace_free(struct workspace *r)
{
	nb_free_all(r->key, r->order, r->row, r->large.at, r->small.at);
}

/* Puts a tie in order; its parts that are ties of their own are added to the workspace's. */
static int divide(struct workspace *r, struct tie tie, const double *pos, int dim, uint32_t *perm)
{
	uint32_t *row = perm + tie.first;
	if (tie.count <= NB_DEEP_FEW) {
		nb_deep_order_few(row, tie.count, pos, dim);
		return NB_OK;
	}
	nb_deep_keys_cpu(tie.count, row, pos, dim, r->key);
	int status = nb_sort_keys_cpu(tie.count, r->key, r->order);
	if (status)
		return status;
	if (r->key[0] == r->key[tie.count - 1]) /* they coincide */
		return NB_OK;
	for (size_t i = 0; i < tie.count; i++)
		r->row[i] = row[r->order[i]];
	memcpy(row, r->row, tie.count * sizeof *row);
	return find_ties(tie.first, tie.count, r->key, 2, &r->large, &r->small);
}

/* One small tie, to the end. */
static int finish(struct workspace *r, struct tie tie, const double *pos, int dim, uint32_t *perm)
{
	r->small.n = 0;
	int status = divide(r, tie, pos, dim, perm);
	while (!status && r->small.n)
		status = divide(r, r->small.at[--r->small.n], pos, dim, perm);
	return status;
}

static int finish_all(const struct ties *small, const double *pos, int dim, uint32_t *perm)
{
	int status = NB_OK;
#pragma omp parallel reduction(max : status) if (small->n > 16)
	{
		struct workspace r;
		status = workspace_for(&r, LARGE);
#pragma omp for schedule(dynamic, 16)
		for (size_t c = 0; c < small->n; c++)
			if (!status)
				status = finish(&r, small->at[c], pos, dim, perm);
		workspace_free(&r);
	}
	return status;
}

/* Ties of the whole, in order.  Few keys are equal, so that looking for them is what takes the time. */
static int find_all(size_t n, const uint64_t *key, struct ties *large, struct ties *small)
{
	const size_t nblock = (n + BLOCK - 1) / BLOCK;
	unsigned char *some = nb_alloc(nblock, 1); /* of each block: whether it holds the start of a tie */
	if (!some)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (nblock > 1)
	for (size_t b = 0; b < nblock; b++) {
		const size_t end = (b + 1) * BLOCK < n - 1 ? (b + 1) * BLOCK : n - 1;
		int equal = 0;
		for (size_t i = b * BLOCK; i < end; i++)
			equal |= key[i] == key[i + 1];
		some[b] = equal != 0;
	}
	int status = NB_OK;
	for (size_t b = 0, next; b < nblock && !status; b = next) {
		/* from where no tie of the blocks before can come, to where none goes on */
		for (next = b + 1; some[next - 1] && next < nblock; next++)
			;
		if (some[b])
			status = find_ties(b * BLOCK, (next * BLOCK < n ? next * BLOCK : n) - b * BLOCK,
				key + b * BLOCK, 2, large, small);
	}
	nb_free(some);
	return status;
}

int nb_sort_deep_cpu(size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm)
{
	if (n < 2)
		return NB_OK;
	const char *before = nb_lap("sort");
	struct ties large = {0}, small = {0};
	int status = find_all(n, key, &large, &small);
	if (!status && large.n) {
		size_t most = 0;
		for (size_t c = 0; c < large.n; c++)
			most = large.at[c].count > most ? large.at[c].count : most;
		struct workspace r;
		status = workspace_for(&r, most);
		nb_free_all(r.large.at, r.small.at);
		r.large = large;
		r.small = small;
		while (!status && r.large.n)
			status = divide(&r, r.large.at[--r.large.n], pos, dim, perm);
		large = r.large;
		small = r.small;
		r.large = r.small = (struct ties){0};
		workspace_free(&r);
	}
	if (!status && small.n)
		status = finish_all(&small, pos, dim, perm);
	nb_free_all(large.at, small.at);
	nb_lap(before);
	return status;
}
