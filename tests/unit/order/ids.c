/* Ids that must be unique, and rows found by id. */
#include "kernels/order/order.h"
#include "tests/unit/unit.h"

#include <stdint.h>

enum { N = 20011 };
static uint64_t id[N];

static void test_unique(void)
{
	static uint64_t other[N];
	size_t first, second;
	CHECK(nb_ids_unique(N, id, &first, &second) == NB_OK && first == N && second == N);
	memcpy(other, id, sizeof other);
	other[777] = other[5]; /* by the bitmap */
	CHECK(nb_ids_unique(N, other, &first, &second) == NB_OK && first == 5 && second == 777);
	other[0] = UINT64_MAX; /* by the sort */
	CHECK(nb_ids_unique(N, other, &first, &second) == NB_OK && first == 5 && second == 777);
	other[777] = UINT64_MAX - 1;
	CHECK(nb_ids_unique(N, other, &first, &second) == NB_OK && first == N);
	for (size_t i = 0; i < N; i++)
		other[i] = 3 * i + 10; /* ascending */
	CHECK(nb_ids_unique(N, other, &first, &second) == NB_OK && first == N);
	other[9] = other[8];
	CHECK(nb_ids_unique(N, other, &first, &second) == NB_OK && first == 8 && second == 9);
	CHECK(nb_ids_unique(0, other, &first, &second) == NB_OK && first == 0);
}

static void test_match(void)
{
	size_t missing;
	static uint32_t row[N];
	const uint64_t some[3] = {17, 0, N - 1};
	CHECK(nb_ids_match(N, id, 3, some, row, &missing) == NB_OK);
	CHECK(id[row[0]] == 17 && id[row[1]] == 0 && id[row[2]] == N - 1);
	CHECK(nb_ids_match(N, id, N, id, row, &missing) == NB_OK);
	size_t wrong = 0;
	for (size_t i = 0; i < N; i++)
		wrong += row[i] != i;
	CHECK(wrong == 0);
	const uint64_t bad[3] = {17, N, 18};
	CHECK(nb_ids_match(N, id, 3, bad, row, &missing) == NB_EINVAL && missing == 1);
	CHECK(nb_ids_match(0, id, 1, bad, row, &missing) == NB_EINVAL && missing == 0);
	CHECK(nb_ids_match(0, id, 0, bad, row, &missing) == NB_OK);
}

static void test_common(void)
{
	size_t count;
	static uint32_t row_a[N], row_b[N];
	const uint64_t some[4] = {N + 5, 17, 0, N}, sorted[3] = {0, 17, N + 9};
	CHECK(nb_ids_common(4, some, N, id, row_a, row_b, &count) == NB_OK && count == 2);
	CHECK(row_a[0] == 1 && row_a[1] == 2 && id[row_b[0]] == 17 && id[row_b[1]] == 0);
	CHECK(nb_ids_common(N, id, 4, some, row_a, row_b, &count) == NB_OK && count == 2);
	for (size_t k = 0; k < 2; k++)
		CHECK(id[row_a[k]] == some[row_b[k]]);
	CHECK(row_a[0] < row_a[1]);
	CHECK(nb_ids_common(4, some, 3, sorted, row_a, row_b, &count) == NB_OK && count == 2);
	CHECK(row_a[0] == 1 && row_b[0] == 1 && row_a[1] == 2 && row_b[1] == 0);
	CHECK(nb_ids_common(0, some, 3, sorted, row_a, row_b, &count) == NB_OK && count == 0);
	CHECK(nb_ids_common(3, sorted, 0, some, row_a, row_b, &count) == NB_OK && count == 0);
	CHECK(nb_ids_common((size_t)UINT32_MAX + 1, some, 0, some, row_a, row_b, &count) == NB_ELIMIT);
	CHECK(nb_ids_common(0, some, (size_t)UINT32_MAX + 1, some, row_a, row_b, &count) == NB_ELIMIT);
}

static uint64_t sum_of(size_t n, const uint64_t *ids)
{
	uint64_t sum = 0;
	CHECK(nb_ids_sum_cpu(n, ids, &sum) == NB_OK);
	return sum;
}

/* A sum of ids tells bodies apart whatever their order, also those whose ids add up, or combine bitwise, to the same.
 */
static void test_sum(void)
{
	enum { MANY = 200003 }; /* enough for threads */
	static uint64_t many[MANY], back[MANY];
	const uint64_t a[2] = {1, 4}, turned[2] = {4, 1}, b[2] = {2, 3}, c[2] = {0, 5};
	CHECK(sum_of(2, a) == sum_of(2, turned));
	CHECK(sum_of(2, a) != sum_of(2, b) && sum_of(2, a) != sum_of(2, c) && sum_of(2, b) != sum_of(2, c));
	CHECK(sum_of(2, a) != sum_of(1, a) && sum_of(0, NULL) == 0);
	for (size_t i = 0; i < MANY; i++) {
		many[i] = i;
		back[MANY - 1 - i] = i;
	}
	const uint64_t sum = sum_of(MANY, many);
	CHECK(sum_of(MANY, back) == sum);
	back[MANY / 2]--;
	CHECK(sum_of(MANY, back) != sum);
	back[MANY / 3]++;
	CHECK(sum_of(MANY, back) != sum);
}

int main(void)
{
	for (size_t i = 0; i < N; i++)
		id[i] = (i * 7919) % N; /* a permutation: N and 7919 are coprime */
	test_unique();
	test_match();
	test_common();
	test_sum();
	return unit_end();
}
