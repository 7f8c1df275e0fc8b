/* Bodies go to the ranks in whose ranges of keys they are (domain.h).
 *
 * Each rank sorts its bodies by their keys, which are those in the cube of all.  A cut is looked for from the whole
 * cube down, some levels at a time: of the cell that it is in, all ranks together say how much of the work is in each
 * of its parts.  It ends at the border of a cell of few bodies, so that whatever it cuts has many (NB_DOMAIN_PART).
 * Bodies then go to their ranks in the order of their keys, those of lower ranks before those of higher ones: with a
 * stable sort at either end, bodies of one key stay in the order that they had. */
#include "kernels/domain/domain_internal.h"

#include "common/mem.h"
#include "kernels/order/order.h"
#include "kernels/ranks/ranks.h"

#include <math.h>
#include <string.h>

/* The part of a body's work that is the same for all, so that no rank gets all bodies that take no time. */
static const double EQUAL = 0.1;

static const struct nb_domain_device *devices;

void nb_domain_use_devices(const struct nb_domain_device *by)
{
	devices = by;
}

const struct nb_domain_device *nb_domain_devices(void)
{
	return devices;
}

/* Most bodies of a cell that must not be cut. */
static size_t least_cut(const struct nb_domain *d)
{
	const size_t leaf = (size_t)d->law.leaf_size,
		     part = d->law.device ? (size_t)NB_DOMAIN_PART_DEVICE : (size_t)NB_DOMAIN_PART;
	return leaf > part ? leaf : part;
}

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

int nb_domain_find_cube(struct nb_domain *d, double box[7])
{
	double corner[6];
	size_t bad;
	nb_ranks_fold(NB_RANKS_MOST, box, 7);
	if (box[6] > 0)
		return NB_ENONFINITE;
	for (size_t k = 0; k < 3; k++) {
		corner[k] = -box[k];
		corner[3 + k] = box[3 + k];
	}
	return nb_morton_cube_cpu(d->n_all ? 2 : 0, corner, d->law.dim, &d->cube, &bad);
}

static int find_cube(struct nb_domain *d)
{
	double box[7] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0};
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < 3; k++) {
			const double x = d->pos[3 * i + k];
			box[k] = fmax(box[k], -x);
			box[3 + k] = fmax(box[3 + k], x);
			box[6] += !isfinite(x);
		}
	return nb_domain_find_cube(d, box);
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

int nb_domain_below(const struct nb_domain *d, size_t count, const uint64_t *bound, size_t *first)
{
	if (d->law.device)
		return nb_domain_devices()->below(d, count, bound, first);
	for (size_t k = 0; k < count; k++)
		first[k] = below(d->key, d->n, bound[k]);
	return NB_OK;
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

/* Bodies and work in the parts of a cell, of all ranks. */
struct parts {
	double *count, *work;
};

/* Some levels are looked at together, as every look waits for all ranks; the parts of all cells are so many at most.
 */
enum { MOST_PARTS = 4096 };
static int levels_together(const struct nb_domain *d)
{
	int levels = 1;
	while (levels < 3 && (size_t)(d->size - 1) << (d->law.dim * (levels + 1)) <= MOST_PARTS)
		levels++;
	return levels;
}

static double sum_of(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

/* One level down: the cell's part in which the target is, of what all ranks have.  In *p, of n parts of such a cell:
 * then of that part. */
static void descend(struct search *s, struct parts *p, size_t n, int dim, size_t least)
{
	const int parts = 1 << dim;
	const size_t each = n / (size_t)parts;
	double count[8] = {0}, work[8] = {0}, before = s->before;
	int part = 0, last = 0;
	for (int k = 0; k < parts; k++) {
		count[k] = sum_of(p->count + (size_t)k * each, each);
		work[k] = sum_of(p->work + (size_t)k * each, each);
		last = count[k] > 0 ? k : last;
	}
	while (part < last && (count[part] == 0 || before + work[part] <= s->target))
		before += work[part++];
	s->shift -= dim;
	s->lo += (uint64_t)part << s->shift;
	s->before = before;
	s->inside = work[part];
	s->found = count[part] <= (double)least || s->shift == 0;
	p->count += (size_t)part * each;
	p->work += (size_t)part * each;
}

/* Levels below a cell, of those that are looked at together. */
static int levels_below(const struct nb_domain *d, const struct search *s)
{
	const int levels = levels_together(d), left = s->shift / d->law.dim;
	return levels < left ? levels : left;
}

/* The borders of the parts of cells in which cuts are looked for. */
static size_t list_borders(const struct nb_domain *d, const struct search *search, uint64_t *border)
{
	size_t n = 0;
	for (int c = 0; c < d->size - 1; c++) {
		const int bits = d->law.dim * levels_below(d, &search[c]);
		for (size_t p = 0; p <= (size_t)1 << bits && !search[c].found; p++)
			border[n++] = search[c].lo + ((uint64_t)p << (search[c].shift - bits));
	}
	return n;
}

/* Bodies and work in those parts, of own bodies. */
static void count_parts(const struct nb_domain *d, const double *work, double unit, const struct search *search,
	const size_t *first, struct parts sum)
{
	const size_t room = (size_t)1 << (d->law.dim * levels_together(d));
	for (int c = 0; c < d->size - 1; c++) {
		const size_t parts = (size_t)1 << (d->law.dim * levels_below(d, &search[c]));
		if (search[c].found)
			continue;
		for (size_t p = 0; p < parts; p++) {
			sum.count[room * (size_t)c + p] = (double)(first[p + 1] - first[p]);
			sum.work[room * (size_t)c + p] = work ? work[first[p + 1]] - work[first[p]]
							      : unit * (double)(first[p + 1] - first[p]);
		}
		first += parts + 1;
	}
}

/* The share of the work of all ranks that one body makes up, where those of a rank cost the same. */
static double share_of_one(const struct nb_domain *d)
{
	double total = d->unit_cost * (double)d->n;
	nb_ranks_fold(NB_RANKS_SUM, &total, 1);
	return total > 0 ? d->unit_cost / total : 1 / (double)(d->n_all ? d->n_all : 1);
}

struct cutting {
	struct search *search;
	double *sum; /* counts, then work, of `room` parts of each cell; whether a rank has failed */
	uint64_t *border;
	size_t *first, room;
};

static int find_cuts(struct nb_domain *d, const double *work, const struct cutting *by)
{
	struct search *search = by->search;
	double *sum = by->sum;
	const int dim = d->law.dim, ncut = d->size - 1;
	const size_t least = least_cut(d);
	const uint64_t end = (uint64_t)1 << nb_domain_key_bits(d);
	const double unit = work ? 0 : share_of_one(d);
	for (int c = 0; c < ncut; c++)
		search[c] = (struct search){.lo = 0,
			.inside = 1,
			.target = (c + 1.0) / d->size,
			.shift = nb_domain_key_bits(d),
			.found = d->n_all <= least};
	for (int open = ncut; open > 0;) {
		const size_t nsum = 2 * by->room * (size_t)ncut;
		const struct parts all = {sum, sum + by->room * (size_t)ncut};
		const int status = nb_domain_below(d, list_borders(d, search, by->border), by->border, by->first);
		memset(sum, 0, (nsum + 1) * sizeof *sum);
		if (!status)
			count_parts(d, work, unit, search, by->first, all);
		sum[nsum] = status != NB_OK;
		nb_ranks_fold(NB_RANKS_SUM, sum, nsum + 1);
		if (sum[nsum] > 0)
			return nb_domain_agree(status);
		open = 0;
		for (int c = 0; c < ncut; c++) {
			struct parts parts = {all.count + by->room * (size_t)c, all.work + by->room * (size_t)c};
			for (int level = levels_below(d, &search[c]); level > 0 && !search[c].found; level--)
				descend(&search[c], &parts, (size_t)1 << (dim * level), dim, least);
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
	return NB_OK;
}

int nb_domain_find_cuts(struct nb_domain *d, const double *work)
{
	const size_t size = (size_t)d->size, room = (size_t)1 << (d->law.dim * levels_together(d));
	const struct cutting by = {.search = nb_alloc(size, sizeof *by.search),
		.sum = nb_alloc(2 * room * size + 1, sizeof *by.sum),
		.border = nb_alloc((room + 1) * size, sizeof *by.border),
		.first = nb_alloc((room + 1) * size, sizeof *by.first),
		.room = room};
	int status = nb_domain_agree(by.search && by.sum && by.border && by.first ? NB_OK : NB_ENOMEM);
	status = status ? status : find_cuts(d, work, &by);
	nb_free_all(by.search, by.sum, by.border, by.first);
	return status;
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

int nb_domain_plan_move(const struct nb_domain *d, struct nb_domain_moves *m)
{
	const size_t size = (size_t)d->size;
	*m = (struct nb_domain_moves){.send = nb_alloc(size + 1, sizeof *m->send),
		.receive = nb_alloc(size + 1, sizeof *m->receive),
		.bytes = nb_alloc(3 * (size + 1), sizeof *m->bytes)};
	int status = m->send && m->receive && m->bytes ? NB_OK : NB_ENOMEM;
	status = nb_domain_agree(status ? status : nb_domain_below(d, size, d->cut, m->send));
	if (status)
		return status;
	m->send[size] = d->n;
	for (size_t k = 0; k <= size; k++)
		m->bytes[k] = k * sizeof *m->bytes;
	size_t *out = m->bytes + size + 1, *in = out + size;
	for (size_t k = 0; k < size; k++)
		out[k] = m->send[k + 1] - m->send[k];
	nb_ranks_exchange(out, m->bytes, in, m->bytes);
	nb_ranks_wait_all();
	m->receive[0] = 0;
	for (size_t k = 0; k < size; k++)
		m->receive[k + 1] = m->receive[k] + in[k];
	m->n = m->receive[size];
	return NB_OK;
}

void nb_domain_move_free(struct nb_domain_moves *m)
{
	nb_free_all(m->send, m->receive, m->bytes);
}

void nb_domain_set_bounds(struct nb_domain *d, size_t n, size_t *bytes)
{
	d->n = n;
	for (int k = 0; k <= d->size; k++)
		bytes[k] = (size_t)k * sizeof *d->bound;
	d->bound[d->rank] = d->n;
	nb_ranks_collect(d->bound, bytes);
	nb_ranks_wait_all();
	for (size_t k = 0, sum = 0; k <= (size_t)d->size; k++) {
		const size_t own = k < (size_t)d->size ? d->bound[k] : 0;
		d->bound[k] = sum;
		sum += own;
	}
}

/* Sends *array, which comes back with what others have sent; *all_there becomes 0 if memory is exhausted somewhere. */
static int move_array(
	const struct nb_domain *d, const struct nb_domain_moves *m, const uint32_t *perm, size_t rowsize, void **array)
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
	nb_ranks_wait_all();
	nb_free(*array);
	*array = next;
	return NB_OK;
}

static int move_bodies(struct nb_domain *d, const uint32_t *perm)
{
	struct nb_domain_moves m;
	int status = nb_domain_plan_move(d, &m);
	status = status ? status : move_array(d, &m, perm, 3 * sizeof *d->pos, (void **)&d->pos);
	status = status ? status : move_array(d, &m, perm, 3 * sizeof *d->vel, (void **)&d->vel);
	status = status ? status : move_array(d, &m, perm, sizeof *d->mass, (void **)&d->mass);
	status = status ? status : move_array(d, &m, perm, sizeof *d->cost, (void **)&d->cost);
	status = status ? status : move_array(d, &m, perm, d->rest_size, (void **)&d->rest);
	if (!status)
		nb_domain_set_bounds(d, m.n, m.bytes);
	nb_domain_move_free(&m);
	return status ? NB_ENOMEM : NB_OK; /* a run cannot go on with some of the columns moved */
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
	double *work = NULL;
	uint32_t *perm = NULL;
	int status = find_cube(d);
	if (!status)
		status = nb_domain_agree(sort_here(d, 0, &perm));
	if (!status) {
		work = sum_work(d, perm);
		status = nb_domain_agree(work ? NB_OK : NB_ENOMEM);
	}
	status = status ? status : nb_domain_find_cuts(d, work);
	status = status ? status : move_bodies(d, perm);
	nb_free_all(perm, work);
	return status ? status : nb_domain_agree(sort_again(d));
}
