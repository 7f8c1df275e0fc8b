/* Ids of bodies: whether each occurs once, and where those of another frame are. */
#include "kernels/order/order.h"

#include "common/mem.h"
#include "kernels/order/id.h"

#include <string.h>

enum { PARALLEL = 4096 /* fewer are not worth starting threads */, BITMAP_BITS_PER_ID = 64 };

static int ascends(size_t n, const uint64_t *id)
{
	size_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong) if (n > PARALLEL)
	for (size_t i = 1; i < n; i++)
		wrong += id[i] <= id[i - 1];
	return wrong == 0;
}

/* The rows of two equal ids, given that id is twice among them. */
static void find_twice(size_t n, const uint64_t *id, uint64_t twice, size_t *first, size_t *second)
{
	*first = 0;
	while (id[*first] != twice)
		++*first;
	*second = *first + 1;
	while (*second < n && id[*second] != twice)
		++*second;
}

/* The least i > 0 whose id has been seen before; n if none. */
static size_t first_repeat(size_t n, const uint64_t *id, uint64_t lowest, uint64_t *bitmap)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t at = id[i] - lowest, bit = (uint64_t)1 << (at & 63);
		if (bitmap[at >> 6] & bit)
			return i;
		bitmap[at >> 6] |= bit;
	}
	return n;
}

/* A copy of the ids in ascending order, and the rows they came from. */
static int sorted_copy(size_t n, const uint64_t *id, uint64_t **key, uint32_t **perm)
{
	*key = nb_alloc(n, sizeof **key);
	*perm = nb_alloc(n, sizeof **perm);
	int status = *key && *perm ? NB_OK : NB_ENOMEM;
	if (!status) {
		if (n)
			memcpy(*key, id, n * sizeof *id);
		status = nb_sort_keys_cpu(n, *key, *perm);
	}
	if (status) {
		nb_free_all(*key, *perm);
	}
	return status;
}

int nb_ids_unique(size_t n, const uint64_t *id, size_t *first, size_t *second)
{
	*first = *second = n;
	if (ascends(n, id))
		return NB_OK;
	uint64_t lowest = UINT64_MAX, highest = 0;
#pragma omp parallel for schedule(static) reduction(min : lowest) reduction(max : highest) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++) {
		lowest = id[i] < lowest ? id[i] : lowest;
		highest = id[i] > highest ? id[i] : highest;
	}
	if ((highest - lowest) / BITMAP_BITS_PER_ID < n) {
		uint64_t *bitmap = nb_alloc_zero((highest - lowest) / 64 + 1, sizeof *bitmap);
		if (!bitmap)
			return NB_ENOMEM;
		size_t repeat = first_repeat(n, id, lowest, bitmap);
		nb_free(bitmap);
		if (repeat < n)
			find_twice(n, id, id[repeat], first, second);
		return NB_OK;
	}
	uint64_t *key;
	uint32_t *perm;
	int status = sorted_copy(n, id, &key, &perm);
	if (status)
		return status;
	for (size_t i = 1; i < n && *first == n; i++)
		if (key[i] == key[i - 1]) { /* the sort is stable: in the order of rows */
			*first = perm[i - 1];
			*second = perm[i];
		}
	nb_free_all(key, perm);
	return NB_OK;
}

/* The place of x in ascending key; n if it is not there. */
static size_t search(size_t n, const uint64_t *key, uint64_t x)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (key[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && key[low] == x ? low : n;
}

int nb_ids_match(size_t n, const uint64_t *id, size_t nwanted, const uint64_t *wanted, uint32_t *row, size_t *missing)
{
	uint64_t *sorted = NULL;
	uint32_t *perm = NULL;
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (!ascends(n, id)) {
		int status = sorted_copy(n, id, &sorted, &perm);
		if (status)
			return status;
	}
	const uint64_t *key = sorted ? sorted : id;
	size_t bad = nwanted;
#pragma omp parallel for schedule(static) reduction(min : bad) if (nwanted > PARALLEL)
	for (size_t k = 0; k < nwanted; k++) {
		size_t place = search(n, key, wanted[k]);
		if (place == n)
			bad = k < bad ? k : bad;
		else
			row[k] = perm ? perm[place] : (uint32_t)place;
	}
	nb_free_all(sorted, perm);
	*missing = bad;
	return bad < nwanted ? NB_EINVAL : NB_OK;
}

int nb_ids_common(size_t na, const uint64_t *id_a, size_t nb, const uint64_t *id_b, uint32_t *row_a, uint32_t *row_b,
	size_t *count)
{
	uint64_t *sorted = NULL;
	uint32_t *perm = NULL;
	*count = 0;
	if (na > UINT32_MAX || nb > UINT32_MAX)
		return NB_ELIMIT;
	if (!ascends(nb, id_b)) {
		int status = sorted_copy(nb, id_b, &sorted, &perm);
		if (status)
			return status;
	}
	const uint64_t *key = sorted ? sorted : id_b;
	for (size_t k = 0; k < na; k++) {
		size_t place = search(nb, key, id_a[k]);
		if (place == nb)
			continue;
		row_a[*count] = (uint32_t)k;
		row_b[(*count)++] = perm ? perm[place] : (uint32_t)place;
	}
	nb_free_all(sorted, perm);
	return NB_OK;
}

int nb_ids_sum_cpu(size_t n, const uint64_t *id, uint64_t *sum)
{
	uint64_t total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total) if (n > 100000)
	for (size_t i = 0; i < n; i++)
		total += nb_id_hash(id[i]);
	*sum = total;
	return NB_OK;
}
