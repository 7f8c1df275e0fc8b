/* search_simd.c - bodies of a group meet those of a leaf, for one instruction set.  Products and sums are not
 * contracted here (Makefile), so that every instruction set finds the same distances. */
#include "kernels/near/near_cpu_internal.h"
#include "kernels/simd/simd.h"

#include <string.h>

/* Bit k: lane k of the mask. */
static inline unsigned bits_of(nb_vdi mask)
{
#if defined(NB_ISA_avx512)
	return _mm512_movepi64_mask((__m512i)mask);
#elif defined(NB_ISA_avx2)
	return (unsigned)_mm256_movemask_pd((__m256d)mask);
#else
	unsigned bits = 0;
	for (int k = 0; k < (int)NB_WD; k++)
		bits |= (unsigned)(mask[k] & 1) << k;
	return bits;
#endif
}

static inline nb_vd load(const double *from)
{
	nb_vd v;
	memcpy(&v, from, sizeof v);
	return v;
}

static inline nb_vd smaller(nb_vd a, nb_vd b)
{
	return nb_choose_vd(a < b, a, b);
}

static inline nb_vd larger(nb_vd a, nb_vd b)
{
	return nb_choose_vd(a > b, a, b);
}

/* nb_periodic_wrap: the same operations, but those that have the same results for what is beside the box. */
static inline nb_vd wrap(nb_vd x, double box, int far)
{
	const nb_vd none = {0}, q = far ? x / box : none, size = larger(q, -q);
	const nb_vdi in = (x >= 0) & (x < box);
	nb_vd whole = (size + 0x1p52) - 0x1p52; /* the nearest whole number, if size may have a fraction */
	whole = nb_choose_vd(q < 0, -whole, whole);
	whole -= nb_choose_vd(whole > q, none + 1, none);
	const nb_vd shift = far ? -(box * nb_choose_vd(size < 0x1p52, whole, q))
				: nb_choose_vd(x < 0, none + box, none - box);
	const nb_vd inside = x + shift;
	return nb_choose_vd(in, x, nb_where_vd((inside >= 0) & (inside < box), inside));
}

/* Bodies first .. first + count - 1 of the tree; compiled for each kind. */
static inline __attribute__((always_inline)) void find_vectors(
	const struct nb_near_job *job, int single, int wraps, size_t first, uint32_t count, struct nb_near_places *to)
{
	for (size_t k = 0; k < (size_t)job->bodies.dim; k++)
		for (uint32_t i = 0; i < count; i += NB_WD) {
			const size_t c = k * job->bodies.n + first + i;
			float of __attribute__((vector_size(NB_VECTOR / 2)));
			nb_vd x;
			if (single) {
				memcpy(&of, job->bodies.single.pos + c, sizeof of);
				x = __builtin_convertvector(of, nb_vd);
			} else {
				x = load(job->bodies.pos + c);
			}
			if (wraps)
				x = wrap(x, job->bodies.box, wraps == NB_NEAR_FAR);
			x = x * job->less[0] * job->less[1];
			memcpy(to->at[k] + i, &x, sizeof x);
		}
}

static inline void find_places(const struct nb_near_job *job, size_t first, uint32_t count, struct nb_near_places *to)
{
	const int kind = 2 * (int)job->wrap + (job->bodies.single.pos != NULL);
	if (first + count + NB_WD > job->bodies.n) { /* a vector might end behind the last */
		nb_near_find_places(job, first, count, to);
		return;
	}
	switch (kind) {
	case 2 * NB_NEAR_INSIDE: find_vectors(job, 0, NB_NEAR_INSIDE, first, count, to); break;
	case 2 * NB_NEAR_INSIDE + 1: find_vectors(job, 1, NB_NEAR_INSIDE, first, count, to); break;
	case 2 * NB_NEAR_BESIDE: find_vectors(job, 0, NB_NEAR_BESIDE, first, count, to); break;
	case 2 * NB_NEAR_BESIDE + 1: find_vectors(job, 1, NB_NEAR_BESIDE, first, count, to); break;
	case 2 * NB_NEAR_FAR: find_vectors(job, 0, NB_NEAR_FAR, first, count, to); break;
	default: find_vectors(job, 1, NB_NEAR_FAR, first, count, to); break;
	}
}

/* Squared distances of bodies j, j + 1, ... of these from one, along axes k to end - 1. */
static inline nb_vd distances2(
	const struct nb_near_job *job, const double *from, const struct nb_near_places *to, size_t j, int k, int end)
{
	nb_vd sum = {0};
	for (; k < end; k++) {
		nb_vd d = from[k] - load(to->at[k] + j);
		d = larger(d, -d);
		if (job->box > 0)
			d = nb_choose_vd(d > job->half, job->box - d, d);
		sum += d * d;
	}
	return sum;
}

/* Of the targets i, i + 1, ... those that are as near to the box as what they look for. */
static inline unsigned near_box(
	const struct nb_near_job *job, const struct nb_near_targets *t, uint32_t i, const double *box)
{
	nb_vd gap2 = {0};
	for (int k = 0; k < 3; k++) {
		const nb_vd x = load(t->own.at[k] + i);
		nb_vd gap = larger(box[k] - x, x - box[k + 3]);
		if (job->box > 0)
			gap = smaller(
				gap, job->box - (larger(x, box[k + 3] + (nb_vd){0}) - smaller(x, box[k] + (nb_vd){0})));
		gap = larger(gap, (nb_vd){0});
		gap2 += gap * gap;
	}
	const unsigned bits = bits_of(gap2 * NB_NEAR_LESS <= load(t->last2 + i)), left = t->count - i;
	return left < NB_WD ? bits & ((1u << left) - 1) : bits;
}

/* Body j becomes one of the nearest of target i, unless k of them are nearer. */
static void keep(const struct nb_near_job *job, struct nb_near_targets *t, uint32_t i, double d2, uint32_t j)
{
	const int most = job->nearest.k;
	double *to = t->d2 + (size_t)i * (size_t)most;
	uint32_t *body = t->body + (size_t)i * (size_t)most;
	int at = t->have[i];
	if (at == most) {
		if (d2 == to[most - 1] && !nb_near_before(job, j, body[most - 1]))
			return;
		at--;
	} else {
		t->have[i]++;
	}
	for (; at > 0 && (d2 < to[at - 1] || (d2 == to[at - 1] && nb_near_before(job, j, body[at - 1]))); at--) {
		to[at] = to[at - 1];
		body[at] = body[at - 1];
	}
	to[at] = d2;
	body[at] = j;
	if (t->have[i] == most) {
		t->changed |= t->last2[i] != to[most - 1];
		t->last2[i] = to[most - 1];
	}
}

/* Of the bodies j, j + 1, ... before end, of these, those that are as near to a place as what is looked for. */
static inline unsigned near_place(const struct nb_near_job *job, const double *at, double last2,
	const struct nb_near_places *to, uint32_t j, uint32_t end, nb_vd *d2)
{
	*d2 = distances2(job, at, to, j, 0, 3);
	const unsigned bits = bits_of(*d2 <= last2), left = end - j;
	return left < NB_WD ? bits & ((1u << left) - 1) : bits;
}

void NB_ISA(nb_near_meet)(
	const struct nb_near_job *job, struct nb_near_targets *t, const double *box, uint32_t first, uint32_t count)
{
	int there = 0;
	for (uint32_t from = 0; from < t->count; from += NB_WD)
		for (unsigned some = near_box(job, t, from, box); some; some &= some - 1) {
			const uint32_t i = from + (uint32_t)__builtin_ctz(some), self = t->first + i - first;
			if (!there)
				find_places(job, first, count, &t->others);
			there = 1;
			const double at[3] = {t->own.at[0][i], t->own.at[1][i], t->own.at[2][i]};
			for (uint32_t j = 0; j < count; j += NB_WD) {
				nb_vd d2;
				unsigned bits = near_place(job, at, t->last2[i], &t->others, j, count, &d2);
				for (; bits; bits &= bits - 1) {
					const uint32_t lane = (uint32_t)__builtin_ctz(bits);
					if (j + lane != self && d2[lane] <= t->last2[i])
						keep(job, t, i, d2[lane], first + j + lane);
				}
			}
		}
}

void NB_ISA(nb_near_tally)(
	const struct nb_near_job *job, struct nb_near_targets *t, const double *box, uint32_t first, uint32_t count)
{
	int there = 0;
	for (uint32_t from = 0; from < t->count; from += NB_WD)
		for (unsigned some = near_box(job, t, from, box); some; some &= some - 1) {
			const uint32_t i = from + (uint32_t)__builtin_ctz(some);
			if (!there)
				find_places(job, first, count, &t->others);
			there = 1;
			const double at[3] = {t->own.at[0][i], t->own.at[1][i], t->own.at[2][i]};
			for (uint32_t j = 0; j < count; j += NB_WD) {
				nb_vd d2;
				unsigned bits = near_place(job, at, t->last2[i], &t->others, j, count, &d2);
				t->within[i] += (uint32_t)__builtin_popcount(bits);
				for (; job->tree.mass && bits; bits &= bits - 1)
					t->mass[i] += nb_near_mass(job, first + j + (uint32_t)__builtin_ctz(bits));
			}
		}
}

/* Among edges from .. to - 1 and those before, how many are not above x. */
static inline int bin_of(const double *edge, int from, int to, double x)
{
	while (from < to && edge[from] <= x)
		from++;
	return from;
}

/* Bins of both kinds, one pair after the other. */
static void cross_parts(const struct nb_pair_job *job, const struct nb_pair_leaves *leaves, const double *at,
	uint32_t from, const struct nb_pair_range *range, uint64_t *count)
{
	const size_t nparts = (size_t)job->nparts;
	for (uint32_t j = from; j < leaves->many[1]; j += NB_WD) {
		const nb_vd across2 = distances2(job->b, at, &leaves->place[1], j, 0, 2),
			    along2 = distances2(job->b, at, &leaves->place[1], j, 2, 3);
		const uint32_t left = leaves->many[1] - j;
		for (uint32_t lane = 0; lane < NB_WD && lane < left; lane++) {
			const int bin = bin_of(job->edge2, range->bin[0], range->bin[1], across2[lane]);
			const int part = bin_of(job->part, range->part[0], range->part[1], sqrt(along2[lane]));
			if (bin > 0 && bin < job->nedge && part < job->nparts)
				count[(size_t)(bin - 1) * nparts + (size_t)part] += leaves->weight;
		}
	}
}

/* Bins of distances, of one body with those of b from one on. */
static inline __attribute__((always_inline)) void cross_one(const struct nb_pair_job *job,
	const struct nb_pair_leaves *leaves, const double *at, uint32_t from, const struct nb_pair_range *range,
	uint64_t *count)
{
	const int first = range->bin[0], edges = range->bin[1] - first;
	uint64_t below[NB_PAIR_BINS + 2]; /* each edge in question, and all */
	memset(below, 0, (size_t)edges * sizeof *below);
	for (uint32_t j = from; j < leaves->many[1]; j += NB_WD) {
		const nb_vd d2 = distances2(job->b, at, &leaves->place[1], j, 0, 3);
		const uint32_t left = leaves->many[1] - j, all = left < NB_WD ? (1u << left) - 1 : ~0u;
		for (int e = 0; e < edges; e++)
			below[e] += (uint64_t)__builtin_popcount(bits_of(d2 < job->edge2[first + e]) & all);
	}
	below[edges] = leaves->many[1] - from;
	for (int e = 0; e <= edges; e++)
		if (first + e > 0 && first + e < job->nedge)
			count[first + e - 1] += leaves->weight * (below[e] - (e ? below[e - 1] : 0));
}

void NB_ISA(nb_near_cross)(const struct nb_pair_job *job, struct nb_pair_leaves *leaves,
	const struct nb_pair_range *range, uint64_t *count)
{
	const struct nb_near_job *side[2] = {job->a, job->b};
	for (int k = 0; k < 2; k++)
		if (leaves->found[k] != leaves->many[k])
			find_places(side[k], leaves->first[k], leaves->found[k] = leaves->many[k], &leaves->place[k]);
	for (uint32_t i = 0; i < leaves->many[0]; i++) {
		const double at[3] = {leaves->place[0].at[0][i], leaves->place[0].at[1][i], leaves->place[0].at[2][i]};
		const uint32_t from = leaves->same ? i + 1 : 0;
		if (job->part[0] < INFINITY)
			cross_parts(job, leaves, at, from, range, count);
		else
			cross_one(job, leaves, at, from, range, count);
	}
}
