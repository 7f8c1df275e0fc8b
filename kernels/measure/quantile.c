/* The number of rank k of n.  Many are first counted by their leading bits, which leaves those of one count. */
#include "kernels/measure/measure.h"

#include "common/mem.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 1 << 16, /* numbers that are worth counting, */
	FEW = 1 << 12,	/* until so few are left */
	BITS = 12,	/* by which they are counted at a time: 16 KiB of counters stay in a cache */
	BINS = 1 << BITS
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void swap(double *a, double *b)
{
	double t = *a;
	*a = *b;
	*b = t;
}

/* Whole numbers in the order of numbers, -0 before 0. */
static uint64_t ordered(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double number_of(uint64_t bits)
{
	double x;
	bits = bits >> 63 ? bits ^ (uint64_t)1 << 63 : ~bits;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Numbers as a search for one of them goes on: those whose bits from shift on are prefix are left. */
struct search {
	size_t n, rank, left; /* rank: among those left */
	double *x;
	int shift, bits; /* bits: of the next count */
	uint64_t prefix;
	size_t nshare;
	size_t (*count)[BINS]; /* of each share */
	size_t *kept;
};

static double *share(const struct search *s, size_t k, size_t *n)
{
	const size_t begin = s->n * k / s->nshare;
	*n = s->n * (k + 1) / s->nshare - begin;
	return s->x + begin;
}

/* The bits that not all numbers have in common are searched. */
static void begin_search(struct search *s)
{
	const uint64_t first = ordered(s->x[0]);
	uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ)
	for (size_t i = 0; i < s->n; i++)
		differ |= ordered(s->x[i]) ^ first;
	s->shift = differ ? 64 - __builtin_clzll(differ) : 0;
	s->prefix = s->shift < 64 ? first >> s->shift : 0;
}

static void count_share(const struct search *s, size_t k)
{
	size_t n, *count = s->count[k];
	const double *x = share(s, k, &n);
	const int above = s->shift + s->bits;
	memset(count, 0, BINS * sizeof *count);
	for (size_t i = 0; i < n; i++) {
		const uint64_t bits = ordered(x[i]);
		if (above == 64 || bits >> above == s->prefix)
			count[bits >> s->shift & (((uint64_t)1 << s->bits) - 1)]++;
	}
}

static void narrow(struct search *s)
{
	s->bits = s->shift < BITS ? s->shift : BITS;
	s->shift -= s->bits;
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < s->nshare; k++)
		count_share(s, k);
	for (size_t bin = 0;; bin++) {
		s->left = 0;
		for (size_t k = 0; k < s->nshare; k++)
			s->left += s->count[k][bin];
		if (s->rank < s->left) {
			s->prefix = s->prefix << s->bits | bin;
			return;
		}
		s->rank -= s->left;
	}
}

/* Moves those that are left to the front. */
static void gather(struct search *s)
{
	size_t front = 0;
#pragma omp parallel for schedule(static, 1)
	for (size_t k = 0; k < s->nshare; k++) {
		size_t n;
		double *x = share(s, k, &n);
		s->kept[k] = 0;
		for (size_t i = 0; i < n; i++)
			if (ordered(x[i]) >> s->shift == s->prefix)
				swap(&x[s->kept[k]++], &x[i]);
	}
	for (size_t k = 0, n; k < s->nshare; k++)
		for (size_t i = 0; i < s->kept[k]; i++)
			swap(&s->x[front++], &share(s, k, &n)[i]);
}

/* Of many numbers few are left, in front; or one, *found. */
static void search_many(struct search *s, double *found)
{
	s->nshare = (size_t)omp_get_max_threads();
	s->count = nb_alloc(s->nshare, sizeof *s->count);
	s->kept = nb_alloc(s->nshare, sizeof *s->kept);
	if (s->count && s->kept) {
		begin_search(s);
		while (s->left > FEW && s->shift > 0)
			narrow(s);
		*found = s->shift > 0 ? NAN : number_of(s->prefix);
		if (s->shift > 0)
			gather(s);
	}
	nb_free_all(s->count, s->kept);
}

double nb_quantile(size_t n, double *x, double q)
{
	struct search s = {.n = n, .rank = (size_t)(q * (double)(n - 1)), .left = n, .x = x};
	double found = NAN;
	if (n >= MANY)
		search_many(&s, &found);
	if (!isnan(found))
		return found;
	ptrdiff_t lo = 0, hi = (ptrdiff_t)s.left - 1, k = (ptrdiff_t)s.rank;
	/* Hoare's selection with the median of three; the rare order that defeats it is sorted instead */
	for (int tries = 0; lo < hi; tries++) {
		if (tries == 200) {
			qsort(x + lo, (size_t)(hi - lo + 1), sizeof *x, ascending);
			break;
		}
		ptrdiff_t i = lo, j = hi, mid = lo + (hi - lo) / 2;
		if (x[mid] < x[lo])
			swap(&x[mid], &x[lo]);
		if (x[hi] < x[lo])
			swap(&x[hi], &x[lo]);
		if (x[hi] < x[mid])
			swap(&x[hi], &x[mid]);
		const double pivot = x[mid];
		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i <= j)
				swap(&x[i++], &x[j--]);
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return x[k];
}
