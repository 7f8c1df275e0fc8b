/* Stable LSD radix sort of (key, index) pairs, and the permutation of rows.
 *
 * Each pass takes DIGIT bits.  Every thread owns a contiguous chunk of the array: it counts the digits
 * of its chunk, the counts are summed digit by digit and, within a digit, thread by thread, and each
 * thread scatters its chunk in order.  The result is the stable order for any number of threads.
 * Bits in which no two keys differ are skipped by choosing digits among those that do.
 *
 * Where keys have many more bits than it takes to tell n of them apart, only the highest are sorted by first.  What has
 * these in common then stands side by side, a few rows mostly, and is sorted by insertion; more are sorted by all bits.
 */
#include "kernels/order/order.h"

#include <omp.h>
#include <string.h>

#include "common/lap.h"
#include "common/mem.h"

enum {
	DIGIT = 11, /* 2048 counters of 4 bytes and as many write streams stay in the L2 cache */
	BINS = 1 << DIGIT,
	MAX_PASS = 64,
	SPARE = 20,	 /* so many bits more than n has leave few rows alike */
	ALIKE = 24,	 /* rows that are sorted by insertion */
	SMALL = 1 << 12, /* fewer rows are sorted or permuted by one thread */
	EACH = 1 << 9,	 /* rows that are worth a further thread */
	AHEAD = 24	 /* rows that a permutation prefetches ahead */
};

/* The digits to sort by: shifts from low to high, so that together they cover every bit of differ. */
static int digits_of(uint64_t differ, int shift[MAX_PASS])
{
	int npass = 0;
	for (int bit = 0; bit < 64;) {
		if (!(differ >> bit & 1)) {
			bit++;
			continue;
		}
		shift[npass++] = bit;
		bit += DIGIT;
	}
	return npass;
}

/* The arrays of a sort.  Passes go to and fro between those of the caller and the others. */
struct sort {
	size_t n;
	uint64_t *key, *key_b;
	uint32_t *perm, *perm_b;
	size_t most;	 /* threads that have rows */
	uint32_t *count; /* BINS for each of them */
	uint32_t *total; /* one for each */
	int shift[MAX_PASS], first, npass;
	int again; /* perm is not the identity any more */
};

/* Where share t of nt begins; those behind the last are empty. */
static size_t begin_of(size_t n, size_t t, size_t nt)
{
	return t < nt ? n * t / nt : n;
}

/* Counts of digits become the places where each thread puts its first row of each digit.  All threads call, each of nt
 * for some digits; total: one for each of them. */
static void places_of_counts(uint32_t *count, uint32_t *total, size_t t, size_t nt)
{
	const size_t begin = begin_of(BINS, t, nt), end = begin_of(BINS, t + 1, nt);
	uint32_t sum = 0;
	for (size_t k = 0; k < nt; k++)
		for (size_t d = begin; d < end; d++)
			sum += count[k * BINS + d];
	if (begin < end)
		total[t] = sum;
#pragma omp barrier
	if (begin == end)
		return;
	sum = 0;
	for (size_t k = 0; k < t; k++)
		sum += total[k];
	for (size_t d = begin; d < end; d++)
		for (size_t k = 0; k < nt; k++) {
			const uint32_t c = count[k * BINS + d];
			count[k * BINS + d] = sum;
			sum += c;
		}
}

/* Rows begin..end-1 go to the places of their digits; from_perm NULL is the identity. */
static void scatter(size_t begin, size_t end, int shift, const uint64_t *from, const uint32_t *from_perm, uint64_t *to,
	uint32_t *to_perm, uint32_t *place)
{
	if (from_perm) {
		for (size_t i = begin; i < end; i++) {
			uint64_t k = from[i];
			uint32_t at = place[k >> shift & (BINS - 1)]++;
			to[at] = k;
			to_perm[at] = from_perm[i];
		}
	} else {
		for (size_t i = begin; i < end; i++) {
			uint64_t k = from[i];
			uint32_t at = place[k >> shift & (BINS - 1)]++;
			to[at] = k;
			to_perm[at] = (uint32_t)i;
		}
	}
}

/* What thread t of nt does; all of them call, in one parallel region, and those from nt on have no rows: a team that
 * changes its size ends threads and starts others. */
static void sort_chunk(const struct sort *s, size_t t, size_t nt)
{
	const size_t begin = begin_of(s->n, t, nt), end = begin_of(s->n, t + 1, nt);
	uint32_t *mine = s->count + t * BINS;
	const uint64_t *from = s->key;
	const uint32_t *from_perm = s->again ? s->perm : NULL; /* NULL: the identity */
	uint64_t *to = s->key_b;
	uint32_t *to_perm = s->perm_b;
	if ((s->npass - s->first) % 2) { /* so that the last pass writes the caller's arrays */
		memcpy(s->key_b + begin, s->key + begin, (end - begin) * sizeof *s->key);
		if (s->again)
			memcpy(s->perm_b + begin, s->perm + begin, (end - begin) * sizeof *s->perm);
		from = s->key_b;
		from_perm = s->again ? s->perm_b : NULL;
		to = s->key;
		to_perm = s->perm;
#pragma omp barrier
	}
	for (int pass = s->first; pass < s->npass; pass++) {
		int shift = s->shift[pass];
		if (begin < end)
			memset(mine, 0, BINS * sizeof *mine);
		for (size_t i = begin; i < end; i++)
			mine[from[i] >> shift & (BINS - 1)]++;
#pragma omp barrier
		places_of_counts(s->count, s->total, t, nt);
#pragma omp barrier
		scatter(begin, end, shift, from, from_perm, to, to_perm, mine);
		from = to;
		from_perm = to_perm;
		to = to == s->key ? s->key_b : s->key;
		to_perm = to_perm == s->perm ? s->perm_b : s->perm;
#pragma omp barrier
	}
}

static void sort_digits(const struct sort *s)
{
#pragma omp parallel if (s->most > 1)
	{
		/* the system may have granted fewer threads than asked for */
		const size_t team = (size_t)omp_get_num_threads();
		sort_chunk(s, (size_t)omp_get_thread_num(), team < s->most ? team : s->most);
	}
}

/* Sorts rows begin..end-1 by insertion. */
static void insert(uint64_t *key, uint32_t *perm, size_t begin, size_t end)
{
	for (size_t i = begin + 1; i < end; i++) {
		const uint64_t k = key[i];
		const uint32_t p = perm[i];
		size_t at = i;
		for (; at > begin && key[at - 1] > k; at--) {
			key[at] = key[at - 1];
			perm[at] = perm[at - 1];
		}
		key[at] = k;
		perm[at] = p;
	}
}

/* Whether row i has the bits from shift on in common with the one before it. */
static int is_alike(const struct sort *s, size_t i, int shift)
{
	return i > 0 && i < s->n && (s->key[i] ^ s->key[i - 1]) >> shift == 0;
}

/* The first of the rows i .. limit that is not alike the one before it, or is the limit, or that after ALIKE which are.
 */
static size_t next_run(const struct sort *s, size_t i, size_t limit, int shift)
{
	const size_t end = i + ALIKE < limit ? i + ALIKE : limit;
	while (i < end && is_alike(s, i, shift))
		i++;
	return i;
}

/* Sorts rows that have the bits from shift on in common.  Returns 0 if there are more than ALIKE of them somewhere:
 * then not all are. */
static int sort_alike(const struct sort *s, int shift)
{
	enum { PARTS = BINS - 1 };
	uint32_t *start = s->count; /* of the first run of each part */
	int many = 0;
#pragma omp parallel reduction(| : many) if (s->n >= SMALL)
	{
#pragma omp for schedule(static)
		for (size_t part = 0; part <= PARTS; part++) {
			start[part] = (uint32_t)next_run(s, s->n * part / PARTS, s->n, shift);
			many |= is_alike(s, start[part], shift);
		}
#pragma omp for schedule(static)
		for (size_t part = 0; part < PARTS; part++)
			for (size_t i = start[part], next; i < start[part + 1] && !many; i = next) {
				next = next_run(s, i + 1, start[part + 1], shift); /* others sort behind it */
				many |= next - i > ALIKE;
				if (!many && next - i > 1)
					insert(s->key, s->perm, i, next);
			}
	}
	return !many;
}

int nb_sort_keys_cpu(size_t n, uint64_t *key, uint32_t *perm)
{
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	const char *before = nb_lap("sort");
	uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ) if (n >= SMALL)
	for (size_t i = 0; i < n; i++)
		differ |= key[i] ^ key[0];
	struct sort s = {.n = n, .key = key, .perm = perm};
	s.npass = digits_of(differ, s.shift);
	if (s.npass == 0) {
		for (size_t i = 0; i < n; i++)
			perm[i] = (uint32_t)i;
		nb_lap(before);
		return NB_OK;
	}
	const size_t worth = n / EACH, most = (size_t)omp_get_max_threads();
	const int enough = 64 - __builtin_clzll(n) + SPARE;
	s.most = n < SMALL ? 1 : worth < most ? worth : most;
	while (n >= SMALL && (s.npass - s.first - 1) * DIGIT >= enough)
		s.first++;
	s.key_b = nb_alloc(n, sizeof *s.key_b);
	s.perm_b = nb_alloc(n, sizeof *s.perm_b);
	s.count = nb_alloc(s.most * (BINS + 1), sizeof *s.count);
	int status = s.key_b && s.perm_b && s.count ? NB_OK : NB_ENOMEM;
	s.total = s.count ? s.count + s.most * BINS : NULL;
	if (status == NB_OK)
		sort_digits(&s);
	if (status == NB_OK && s.first > 0 && !sort_alike(&s, s.shift[s.first])) {
		s.first = 0;
		s.again = 1;
		sort_digits(&s);
	}
	nb_free_all(s.key_b, s.perm_b, s.count);
	nb_lap(before);
	return status;
}

/* One loop for each common row size, so that the copy is a few moves and not a call. */
#define PERMUTE(size)                                                                \
	for (size_t k = begin; k < end; k++) {                                       \
		if (k + AHEAD < end)                                                 \
			__builtin_prefetch(from + (size_t)perm[k + AHEAD] * (size)); \
		memcpy(to + k * (size), from + (size_t)perm[k] * (size), (size));    \
	}

int nb_permute_cpu(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst)
{
	if (rowsize == 0)
		return NB_EINVAL;
	const char *from = src;
	char *to = dst;
	enum { BLOCK = 1 << 9 };
	size_t nblock = (n + BLOCK - 1) / BLOCK;
	const char *before = nb_lap("permutation");
#pragma omp parallel for schedule(static) if (nblock > 1)
	for (size_t b = 0; b < nblock; b++) {
		size_t begin = b * BLOCK, end = begin + BLOCK < n ? begin + BLOCK : n;
		switch (rowsize) {
		case 4: PERMUTE(4) break;
		case 8: PERMUTE(8) break;
		case 12: PERMUTE(12) break;
		case 16: PERMUTE(16) break;
		case 24: PERMUTE(24) break;
		default: PERMUTE(rowsize)
		}
	}
	nb_lap(before);
	return NB_OK;
}

int nb_scatter_cpu(size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst)
{
	if (rowsize == 0)
		return NB_EINVAL;
	const char *from = src;
	char *to = dst;
#pragma omp parallel for schedule(static) if (n > SMALL)
	for (size_t k = 0; k < n; k++)
		memcpy(to + (size_t)row[k] * rowsize, from + k * rowsize, rowsize);
	return NB_OK;
}

int nb_marked_rows_cpu(size_t n, const unsigned char *mark, uint32_t *row, size_t *count)
{
	size_t k = 0;
	*count = 0;
	if (n > (size_t)UINT32_MAX + 1)
		return NB_ELIMIT;
	for (size_t i = 0; i < n; i++)
		if (mark[i])
			row[k++] = (uint32_t)i;
	*count = k;
	return NB_OK;
}
