/* Stable sort of (key, index) pairs, and the permutation of rows.
 *
 * Every thread sorts a contiguous chunk of the array by LSD radix passes of DIGIT bits, in memory that no other writes.
 * Samples of the sorted chunks divide the keys into as many ranges; each thread gathers one range from all chunks, in
 * their order, and merges it.  The result is the stable order for any number of threads, and where rows are nearly in
 * order, as in the steps of a run, nearly all of a range is in one chunk.
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
	SAMPLES = 128, /* of keys, about */
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

/* The arrays of a sort: those of the caller, and others. */
struct sort {
	size_t n;
	uint64_t *key, *key_b;
	uint32_t *perm, *perm_b;
	size_t most;	  /* threads that have rows */
	uint32_t *count;  /* BINS for each of them */
	uint64_t *sample; /* of the keys of each, and later where ranges begin */
	size_t *run;	  /* most + 1 for each */
	int shift[MAX_PASS], first, npass;
	int again; /* perm is not the identity any more */
};

/* Rows of keys and numbers. */
struct rows {
	uint64_t *key;
	uint32_t *perm;
};

/* Where share t of nt begins; those behind the last are empty. */
static size_t begin_of(size_t n, size_t t, size_t nt)
{
	return t < nt ? n * t / nt : n;
}

/* What rows are sorted by. */
static uint64_t part_of(const struct sort *s, uint64_t key)
{
	return key >> s->shift[s->first];
}

/* Rows begin..end-1 go to the places of their digits, from begin on; perm NULL is the identity. */
static void scatter(size_t begin, size_t end, int shift, struct rows from, struct rows to, uint32_t *place)
{
	memset(place, 0, BINS * sizeof *place);
	for (size_t i = begin; i < end; i++)
		place[from.key[i] >> shift & (BINS - 1)]++;
	uint32_t sum = (uint32_t)begin;
	for (size_t d = 0; d < BINS; d++) {
		const uint32_t c = place[d];
		place[d] = sum;
		sum += c;
	}
	for (size_t i = begin; i < end; i++) {
		const uint64_t k = from.key[i];
		const uint32_t at = place[k >> shift & (BINS - 1)]++;
		to.key[at] = k;
		to.perm[at] = from.perm ? from.perm[i] : (uint32_t)i;
	}
}

static void copy_rows(struct rows from, size_t begin, struct rows to, size_t at, size_t n)
{
	if (n == 0)
		return;
	memcpy(to.key + at, from.key + begin, n * sizeof *to.key);
	if (from.perm)
		memcpy(to.perm + at, from.perm + begin, n * sizeof *to.perm);
}

/* Sorts a chunk, of the caller's arrays into them or the others. */
static void sort_chunk(const struct sort *s, size_t begin, size_t end, uint32_t *place, int to_others)
{
	const struct rows own = {s->key, s->perm}, others = {s->key_b, s->perm_b};
	struct rows from = {s->key, s->again ? s->perm : NULL}, to = others;
	if ((s->npass - s->first) % 2 != to_others) { /* the last pass would end in the wrong place */
		copy_rows(from, begin, others, begin, end - begin);
		from = (struct rows){s->key_b, s->again ? s->perm_b : NULL};
		to = own;
	}
	for (int pass = s->first; pass < s->npass; pass++) {
		scatter(begin, end, s->shift[pass], from, to, place);
		from = to;
		to = to.key == s->key ? others : own;
	}
}

/* The first of the sorted rows begin..end-1 of the others whose part is not below. */
static size_t lower_bound(const struct sort *s, size_t begin, size_t end, uint64_t part)
{
	while (begin < end) {
		const size_t middle = begin + (end - begin) / 2;
		if (part_of(s, s->key_b[middle]) < part)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static size_t samples_of(size_t nt)
{
	return SAMPLES / nt + 1;
}

/* One of nt threads takes its samples; then one of them finds where ranges begin, at the samples of equal ranks. */
static void take_samples(const struct sort *s, size_t t, size_t nt)
{
	const size_t begin = begin_of(s->n, t, nt), end = begin_of(s->n, t + 1, nt), each = samples_of(nt);
	for (size_t k = 0; k < each; k++)
		s->sample[t * each + k] = part_of(s, s->key_b[begin + (end - begin) * k / each]);
}

static void choose_ranges(const struct sort *s, size_t nt)
{
	const size_t each = samples_of(nt), n = nt * each;
	uint64_t *x = s->sample;
	for (size_t i = 1; i < n; i++) {
		const uint64_t now = x[i];
		size_t at = i;
		for (; at > 0 && x[at - 1] > now; at--)
			x[at] = x[at - 1];
		x[at] = now;
	}
	for (size_t t = 0; t < nt; t++)
		x[t] = x[t * each];
}

/* Gathers range t from all chunks to its place in the caller's arrays.  run: where what each chunk has of it begins;
 * returns how many have some.  run[that] is where the range ends. */
static size_t gather(const struct sort *s, size_t t, size_t nt, size_t *run)
{
	const struct rows own = {s->key, s->perm}, others = {s->key_b, s->perm_b};
	size_t at = 0, nrun = 0;
	for (size_t c = 0; c < nt && t > 0; c++)
		at += lower_bound(s, begin_of(s->n, c, nt), begin_of(s->n, c + 1, nt), s->sample[t]) -
		      begin_of(s->n, c, nt);
	for (size_t c = 0; c < nt; c++) {
		const size_t begin = begin_of(s->n, c, nt), end = begin_of(s->n, c + 1, nt);
		const size_t from = t > 0 ? lower_bound(s, begin, end, s->sample[t]) : begin;
		const size_t to = t + 1 < nt ? lower_bound(s, from, end, s->sample[t + 1]) : end;
		copy_rows(others, from, own, at, to - from);
		run[nrun] = at;
		nrun += to > from;
		at += to - from;
	}
	run[nrun] = at;
	return nrun;
}

/* Two runs side by side become one in the same place of other arrays; of equal rows, those of the first come first. */
static void merge_two(const struct sort *s, struct rows from, struct rows to, size_t begin, size_t middle, size_t end)
{
	size_t a = begin, b = middle, at = begin;
	while (a < middle && b < end) {
		const int second = part_of(s, from.key[b]) < part_of(s, from.key[a]);
		const size_t i = second ? b : a;
		to.key[at] = from.key[i];
		to.perm[at++] = from.perm[i];
		b += (size_t)second;
		a += (size_t)!second;
	}
	copy_rows(from, a, to, at, middle - a);
	copy_rows(from, b, to, at + middle - a, end - b);
}

/* Merges runs of the caller's arrays, with the same places of the others as room. */
static void merge_runs(const struct sort *s, size_t nrun, size_t *run)
{
	const struct rows own = {s->key, s->perm}, others = {s->key_b, s->perm_b};
	struct rows from = own, to = others;
	const size_t begin = run[0], end = run[nrun];
	for (; nrun > 1; nrun = (nrun + 1) / 2) {
		for (size_t r = 0; r < nrun; r += 2) {
			const size_t middle = run[r + 1], behind = r + 2 <= nrun ? run[r + 2] : middle;
			merge_two(s, from, to, run[r], middle, behind);
			run[r / 2] = run[r];
		}
		run[(nrun + 1) / 2] = end;
		const struct rows before = from;
		from = to;
		to = before;
	}
	if (from.key != own.key)
		copy_rows(from, begin, own, begin, end - begin);
}

/* All threads of a team call; those from `most` on have no rows, as a team that changes its size ends threads and
 * starts others. */
static void sort_rows(const struct sort *s)
{
	/* the system may have granted fewer threads than asked for */
	const size_t team = (size_t)omp_get_num_threads(), nt = team < s->most ? team : s->most,
		     t = (size_t)omp_get_thread_num();
	const int works = t < nt;
	size_t *run = s->run + t * (s->most + 1), nrun = 0;
	if (works)
		sort_chunk(s, begin_of(s->n, t, nt), begin_of(s->n, t + 1, nt), s->count + t * BINS, nt > 1);
	if (nt == 1)
		return;
	if (works)
		take_samples(s, t, nt);
#pragma omp barrier
#pragma omp single
	choose_ranges(s, nt);
	if (works)
		nrun = gather(s, t, nt, run);
#pragma omp barrier
	if (nrun > 1)
		merge_runs(s, nrun, run);
}

static void sort_digits(const struct sort *s)
{
#pragma omp parallel if (s->most > 1)
	sort_rows(s);
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
	s.count = nb_alloc(s.most, BINS * sizeof *s.count);
	s.sample = nb_alloc(SAMPLES + s.most, sizeof *s.sample);
	s.run = nb_alloc(s.most, (s.most + 1) * sizeof *s.run);
	int status = s.key_b && s.perm_b && s.count && s.sample && s.run ? NB_OK : NB_ENOMEM;
	if (status == NB_OK)
		sort_digits(&s);
	if (status == NB_OK && s.first > 0 && !sort_alike(&s, s.shift[s.first])) {
		s.first = 0;
		s.again = 1;
		sort_digits(&s);
	}
	nb_free_all(s.key_b, s.perm_b, s.count, s.sample, s.run);
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
