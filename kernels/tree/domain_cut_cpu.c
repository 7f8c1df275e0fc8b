/* Bodies go to the ranks in whose ranges of keys they are (domain.h).
 *
 * Each rank sorts its bodies by their keys, which are those in the cube of all.  A cut is looked for from the whole
 * cube down: of the cell that it is in, all ranks together say how much of the work is in each of its parts.  It ends
 * at the border of a cell of few bodies, so that whatever it cuts has many (NB_DOMAIN_PART).  Bodies then go to their
 * ranks in the order of their keys, those of lower ranks before those of higher ones: with a stable sort at either end,
 * bodies of one key stay in the order that they had. */
#include "kernels/tree/domain_internal.h"

#include "common/mem.h"
#include "kernels/order/order.h"
#include "kernels/ranks/ranks.h"

#include <math.h>
#include <string.h>

/* The part of a body's work that is the same for all, so that no rank gets all bodies that take no time. */
static const double EQUAL = 0.1;

int nb_domain_key_bits(const struct nb_domain *d)
{
	return d->law.dim == 3 ? 3 * NB_MORTON_BITS_3D : 2 * NB_MORTON_BITS_2D;
}

int nb_domain_agree(int status)
{
	double worst = status;
	nb_ranks_fold(NB_RANKS_MOST, &worst, 1);
	return (int)worst;
}

/* ---- keys --------------------------------------------------------------------------------------- */

/* The cube of all bodies, from the corners of their box. */
static int find_cube(struct nb_domain *d)
{
	double box[7] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0}, corner[6];
	size_t bad;
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < 3; k++) {
			const double x = d->pos[3 * i + k];
			box[k] = fmax(box[k], -x);
			box[3 + k] = fmax(box[3 + k], x);
			box[6] += !isfinite(x);
		}
	nb_ranks_fold(NB_RANKS_MOST, box, 7);
	if (box[6] > 0)
		return NB_ENONFINITE;
	for (size_t k = 0; k < 3; k++) {
		corner[k] = -box[k];
		corner[3 + k] = box[3 + k];
	}
	return nb_morton_cube_cpu(d->n_all ? 2 : 0, corner, d->law.dim, &d->cube, &bad);
}

/* The first of n sorted keys that is not below a bound. */
static size_t below(const uint64_t *key, size_t n, uint64_t bound)
{
	size_t lo = 0;
	while (n > 0) {
		const size_t half = n / 2;
		const int right = key[lo + half] < bound;
		lo = right ? lo + half + 1 : lo;
		n = right ? n - half - 1 : half;
	}
	return lo;
}

/* Sorts *array, n rows, as perm says. */
static int permute(size_t n, const uint32_t *perm, size_t rowsize, void **array)
{
	if (rowsize == 0)
		return NB_OK;
	void *sorted = nb_alloc(n, rowsize);
	const int status = sorted ? nb_permute_cpu(n, perm, rowsize, *array, sorted) : NB_ENOMEM;
	if (status) {
		nb_free(sorted);
		return status;
	}
	nb_free(*array);
	*array = sorted;
	return NB_OK;
}

/* Keys of the bodies here, and their order: key becomes sorted, perm[k] is where body k of that order is. */
static int sort_here(struct nb_domain *d, int deep, uint32_t **perm)
{
	nb_free(d->key);
	d->key = nb_alloc(d->n, sizeof *d->key);
	*perm = nb_alloc(d->n, sizeof **perm);
	int status = d->key && *perm ? nb_morton_keys_cpu(d->n, d->pos, d->law.dim, &d->cube, d->key) : NB_ENOMEM;
	status = status ? status : nb_sort_keys_cpu(d->n, d->key, *perm);
	return status || !deep ? status : nb_sort_deep_cpu(d->n, d->key, d->pos, d->law.dim, *perm);
}

/* ---- cuts --------------------------------------------------------------------------------------- */

/* Where a cut is looked for: the cell of the keys lo .. lo + 2^shift - 1, in front of which is so much of the work. */
struct search {
	uint64_t lo;
	double before, inside, target;
	int shift, found;
};

enum { PARTS = 8 };

/* The cell's part in which the target is; what all ranks have there. */
static void descend(struct search *s, const double *count, const double *work, int dim, size_t least)
{
	const int parts = 1 << dim;
	int part = 0, last = 0;
	double before = s->before;
	for (int p = 0; p < parts; p++)
		last = count[p] > 0 ? p : last;
	while (part < last && (count[part] == 0 || before + work[part] <= s->target))
		before += work[part++];
	s->shift -= dim;
	s->lo += (uint64_t)part << s->shift;
	s->before = before;
	s->inside = work[part];
	s->found = count[part] <= (double)least || s->shift == 0;
}

static void find_cuts(struct nb_domain *d, const double *work, struct search *search, double *sum)
{
	const int dim = d->law.dim, parts = 1 << dim, ncut = d->size - 1;
	const size_t least = nb_domain_least_cut(d);
	const uint64_t end = (uint64_t)1 << nb_domain_key_bits(d);
	for (int c = 0; c < ncut; c++)
		search[c] = (struct search){.lo = 0,
			.inside = 1,
			.target = (c + 1.0) / d->size,
			.shift = nb_domain_key_bits(d),
			.found = d->n_all <= least};
	for (int open = ncut; open > 0;) {
		memset(sum, 0, 2 * PARTS * (size_t)ncut * sizeof *sum);
		open = 0;
		for (int c = 0; c < ncut; c++)
			for (int p = 0; p < parts && !search[c].found; p++) {
				const int shift = search[c].shift - dim;
				const uint64_t lo = search[c].lo + ((uint64_t)p << shift);
				const size_t first = below(d->key, d->n, lo),
					     last = below(d->key, d->n, lo + ((uint64_t)1 << shift));
				sum[2 * PARTS * c + p] = (double)(last - first);
				sum[2 * PARTS * c + PARTS + p] = work[last] - work[first];
			}
		nb_ranks_fold(NB_RANKS_SUM, sum, 2 * PARTS * (size_t)ncut);
		for (int c = 0; c < ncut; c++)
			if (!search[c].found) {
				descend(&search[c], sum + 2 * PARTS * c, sum + 2 * PARTS * c + PARTS, dim, least);
				open += !search[c].found;
			}
	}
	d->cut[0] = 0;
	d->cut[d->size] = end;
	for (int c = 0; c < ncut; c++) { /* the nearer border */
		const struct search *s = &search[c];
		const int behind = d->n_all <= least || 2 * (s->target - s->before) > s->inside;
		const uint64_t cut = s->lo + (behind ? (uint64_t)1 << s->shift : 0);
		d->cut[c + 1] = cut > d->cut[c] ? cut : d->cut[c];
	}
}

/* The work of the bodies before each, in their order: shares of that of all ranks. */
static double *sum_work(const struct nb_domain *d, const uint32_t *perm)
{
	double *work = nb_alloc(d->n + 1, sizeof *work), total = 0;
	for (size_t i = 0; i < d->n; i++)
		total += (double)d->cost[i];
	nb_ranks_fold(NB_RANKS_SUM, &total, 1);
	if (!work)
		return NULL;
	const double scale = total > 0 ? (1 - EQUAL) / total : 0,
		     equal = (total > 0 ? EQUAL : 1) / (double)(d->n_all ? d->n_all : 1);
	work[0] = 0;
	for (size_t i = 0; i < d->n; i++)
		work[i + 1] = work[i] + scale * (double)d->cost[perm[i]] + equal;
	return work;
}

/* ---- to other ranks ----------------------------------------------------------------------------- */

/* Rows that go to each rank and that come from each. */
struct move {
	size_t *send, *receive, *bytes;
	size_t n;
};

static int plan_move(const struct nb_domain *d, struct move *m)
{
	const size_t size = (size_t)d->size;
	for (size_t k = 0; k <= size; k++)
		m->send[k] = k < size ? below(d->key, d->n, d->cut[k]) : d->n;
	for (size_t k = 0; k <= size; k++)
		m->bytes[k] = k * sizeof *m->bytes;
	size_t *out = m->bytes + size + 1, *in = out + size;
	for (size_t k = 0; k < size; k++)
		out[k] = m->send[k + 1] - m->send[k];
	nb_ranks_exchange(out, m->bytes, in, m->bytes);
	nb_ranks_settle();
	m->receive[0] = 0;
	for (size_t k = 0; k < size; k++)
		m->receive[k + 1] = m->receive[k] + in[k];
	m->n = m->receive[size];
	return NB_OK;
}

/* Sends *array, which comes back with what others have sent; *all_there becomes 0 if memory is exhausted somewhere. */
static int move_array(
	const struct nb_domain *d, const struct move *m, const uint32_t *perm, size_t rowsize, void **array)
{
	size_t *out = m->bytes, *in = m->bytes + d->size + 1;
	if (rowsize == 0)
		return NB_OK;
	int status = permute(d->n, perm, rowsize, array);
	void *next = nb_alloc(m->n, rowsize);
	status = nb_domain_agree(status || next ? status : NB_ENOMEM);
	if (status) {
		nb_free(next);
		return status;
	}
	for (int k = 0; k <= d->size; k++) {
		out[k] = m->send[k] * rowsize;
		in[k] = m->receive[k] * rowsize;
	}
	nb_ranks_exchange(*array, out, next, in);
	nb_ranks_settle();
	nb_free(*array);
	*array = next;
	return NB_OK;
}

static int move_bodies(struct nb_domain *d, const uint32_t *perm, struct move *m)
{
	int status = plan_move(d, m);
	status = status ? status : move_array(d, m, perm, 3 * sizeof *d->pos, (void **)&d->pos);
	status = status ? status : move_array(d, m, perm, 3 * sizeof *d->vel, (void **)&d->vel);
	status = status ? status : move_array(d, m, perm, sizeof *d->mass, (void **)&d->mass);
	status = status ? status : move_array(d, m, perm, sizeof *d->cost, (void **)&d->cost);
	status = status ? status : move_array(d, m, perm, d->rest_size, (void **)&d->rest);
	if (status) /* a run cannot go on with some of the columns moved */
		return NB_ENOMEM;
	d->n = m->n;
	for (int k = 0; k <= d->size; k++)
		m->bytes[k] = (size_t)k * sizeof *d->bound;
	d->bound[d->rank] = d->n;
	nb_ranks_collect(d->bound, m->bytes);
	nb_ranks_settle();
	for (size_t k = 0, sum = 0; k <= (size_t)d->size; k++) {
		const size_t n = k < (size_t)d->size ? d->bound[k] : 0;
		d->bound[k] = sum;
		sum += n;
	}
	return NB_OK;
}

/* The order of the bodies that are here now. */
static int sort_again(struct nb_domain *d)
{
	uint32_t *perm = NULL;
	int status = sort_here(d, 1, &perm);
	status = status ? status : permute(d->n, perm, 3 * sizeof *d->pos, (void **)&d->pos);
	status = status ? status : permute(d->n, perm, 3 * sizeof *d->vel, (void **)&d->vel);
	status = status ? status : permute(d->n, perm, sizeof *d->mass, (void **)&d->mass);
	status = status ? status : permute(d->n, perm, sizeof *d->cost, (void **)&d->cost);
	status = status ? status : permute(d->n, perm, d->rest_size, (void **)&d->rest);
	nb_free(perm);
	return status;
}

int nb_domain_sort(struct nb_domain *d)
{
	const size_t size = (size_t)d->size;
	struct move m = {.send = nb_alloc(size + 1, sizeof *m.send),
		.receive = nb_alloc(size + 1, sizeof *m.receive),
		.bytes = nb_alloc(3 * (size + 1), sizeof *m.bytes)};
	struct search *search = nb_alloc(size, sizeof *search);
	double *sum = nb_alloc(2 * PARTS * size, sizeof *sum), *work = NULL;
	uint32_t *perm = NULL;
	int status = m.send && m.receive && m.bytes && search && sum ? NB_OK : NB_ENOMEM;
	status = nb_domain_agree(status);
	status = status ? status : find_cube(d);
	if (!status)
		status = nb_domain_agree(sort_here(d, 0, &perm));
	if (!status) {
		work = sum_work(d, perm);
		status = nb_domain_agree(work ? NB_OK : NB_ENOMEM);
	}
	if (!status) {
		find_cuts(d, work, search, sum);
		status = move_bodies(d, perm, &m);
	}
	nb_free(perm);
	nb_free(work);
	nb_free(sum);
	nb_free(search);
	nb_free(m.send);
	nb_free(m.receive);
	nb_free(m.bytes);
	return status ? status : nb_domain_agree(sort_again(d));
}
