/* The radix sort against qsort, for any number of threads, and permutations of rows of any size. */
#include "common/mem.h"
#include "kernels/order/order.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <omp.h>

static const uint64_t *sort_key;

static int by_key_then_index(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (sort_key[i] != sort_key[j])
		return sort_key[i] < sort_key[j] ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* 47 bits of which no two numbers have the same, then 16 of zeros. */
static uint64_t beginning(uint64_t number)
{
	return (number + 1) * 0x9e3779b97f4a7c15 >> 17 << 16;
}

static void test_sort(void)
{
	const size_t sizes[] = {0, 1, 2, 3, 255, 257, 4095, 4096, 4097, 8193, 100003};
	enum { MOST = 100003, KINDS = 10 };
	uint64_t *key = nb_alloc(MOST, sizeof *key), *sorted = nb_alloc(MOST, sizeof *sorted);
	uint32_t *perm = nb_alloc(MOST, sizeof *perm), *want = nb_alloc(MOST, sizeof *want);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int kind = 0; kind < KINDS; kind++) {
			const size_t n = sizes[s];
			for (size_t i = 0; i < n; i++) {
				uint64_t r = random_u64();
				key[i] = kind == 0   ? r
					 : kind == 1 ? r >> 1				       /* 63 bits */
					 : kind == 2 ? (r & 3) << 40			       /* few, high */
					 : kind == 3 ? 42				       /* all equal */
					 : kind == 4 ? i				       /* sorted */
					 : kind == 5 ? n - i				       /* reversed */
					 : kind == 6 ? (r & 7) | (r & 0xf00000000)	       /* bits far apart */
					 : kind == 7 ? beginning(r % (n / 8 + 1)) | (r >> 48)  /* a few begin alike, */
					 : kind == 8 ? beginning(r % (n / 30 + 1)) | (r >> 48) /* some, */
						     : beginning(r & 15) | (r >> 48);	       /* many */
				want[i] = (uint32_t)i;
			}
			sort_key = key;
			qsort(want, n, sizeof *want, by_key_then_index);
			for (int threads = 1; threads <= 19; threads += threads < 7 ? 2 : 12) {
				omp_set_num_threads(threads);
				memcpy(sorted, key, n * sizeof *key);
				CHECK(nb_sort_keys_cpu(n, sorted, perm) == NB_OK);
				int right = 1;
				for (size_t i = 0; i < n; i++)
					right &= perm[i] == want[i] && sorted[i] == key[want[i]];
				CHECK(right);
			}
		}
	omp_set_num_threads(omp_get_num_procs());
	nb_free(key);
	nb_free(sorted);
	nb_free(perm);
	nb_free(want);
}

static void test_permute(void)
{
	enum { MOST = 40000 };
	uint32_t *perm = nb_alloc(MOST, sizeof *perm);
	const size_t rows[] = {1, 3, 4, 8, 12, 16, 17, 24, 40};
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const size_t n = MOST, size = rows[r];
		unsigned char *from = nb_alloc(n, size), *to = nb_alloc(n, size);
		for (size_t i = 0; i < n * size; i++)
			from[i] = (unsigned char)random_u64();
		for (size_t i = 0; i < n; i++)
			perm[i] = (uint32_t)(random_u64() % n);
		CHECK(nb_permute_cpu(n, perm, size, from, to) == NB_OK);
		int right = 1;
		for (size_t i = 0; i < n; i++)
			right &= memcmp(to + i * size, from + perm[i] * size, size) == 0;
		CHECK(right);
		nb_free(from);
		nb_free(to);
	}
	CHECK(nb_permute_cpu(1, perm, 0, NULL, NULL) == NB_EINVAL);
	nb_free(perm);
}

/* Of a permutation, the reverse of nb_permute_cpu; of some rows, the others stay. */
static void test_scatter(void)
{
	enum { MOST = 40000 };
	uint32_t *row = nb_alloc(MOST, sizeof *row);
	const size_t sizes[] = {1, 3, 8, 24, 40};
	for (size_t i = 0; i < MOST; i++)
		row[i] = (uint32_t)((i * 7919 + 13) % MOST);
	for (size_t r = 0; r < sizeof sizes / sizeof *sizes; r++) {
		const size_t size = sizes[r];
		unsigned char *from = nb_alloc(MOST, size), *there = nb_alloc(MOST, size), *back = nb_alloc(MOST, size);
		for (size_t i = 0; i < MOST * size; i++)
			from[i] = (unsigned char)random_u64();
		CHECK(nb_permute_cpu(MOST, row, size, from, there) == NB_OK);
		CHECK(nb_scatter_cpu(MOST, row, size, there, back) == NB_OK);
		CHECK(memcmp(from, back, MOST * size) == 0);
		memset(back, 0, MOST * size);
		CHECK(nb_scatter_cpu(100, row, size, from, back) == NB_OK);
		size_t changed = 0, right = 0;
		for (size_t i = 0; i < 100; i++)
			right += memcmp(back + row[i] * size, from + i * size, size) == 0;
		for (size_t i = 0; i < MOST * size; i++)
			changed += back[i] != 0;
		CHECK(right == 100 && changed <= 100 * size);
		nb_free(from);
		nb_free(there);
		nb_free(back);
	}
	CHECK(nb_scatter_cpu(1, row, 0, NULL, NULL) == NB_EINVAL);
	nb_free(row);
}

static void test_marked(void)
{
	enum { MOST = 1000 };
	unsigned char mark[MOST];
	uint32_t row[MOST];
	for (size_t n = 0; n <= MOST; n += 1 + n / 3)
		for (unsigned share = 1; share < 400; share *= 7) {
			size_t count = 7, want = 0;
			for (size_t i = 0; i < n; i++)
				mark[i] = i % share == share - 1 ? (unsigned char)(1 + i % 255) : 0;
			CHECK(nb_marked_rows_cpu(n, mark, row, &count) == NB_OK);
			for (uint32_t i = 0; i < n; i++)
				if (mark[i])
					CHECK(row[want++] == i);
			CHECK(count == want);
		}
}

int main(void)
{
	test_sort();
	test_permute();
	test_scatter();
	test_marked();
	return unit_end();
}
