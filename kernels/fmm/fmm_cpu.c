/* fmm_cpu.c - the fast multipole method over uniform boxes on the CPU.
 *
 * Only boxes with bodies have coefficients; whether a box of any level has some is known from where its bodies begin.
 * A task of the way down is a group of boxes of one level, whose children are the targets: T of each pair of relative
 * places is read once for a group.  The children of the finest level pass their field on to their bodies at once, so
 * that it is never stored.  Each sum has its order from the boxes alone, whichever thread does the task. */
#include "common/mem.h"
#include "kernels/fmm/cpu_internal.h"

#include <omp.h>
#include <string.h>

static const uint32_t nobody = UINT32_MAX; /* the index of a box without bodies */

struct level {
	size_t nbox, count; /* boxes; those with bodies */
	uint32_t *index;    /* nbox: of a box among those with bodies */
	uint32_t *box;	    /* count */
	double *m, *l;	    /* count x n coefficients */
};

enum { GROUP = 8 /* boxes whose children are targets together */ };

struct far_boxes {
	const struct nb_gravity *g;
	const struct nb_boxes *boxes;
	const struct nb_fmm *fmm;
	struct nb_fmm_basis basis;
	const struct nb_fmm_operators *use;
	struct level level[NB_BOXES_MAX_LEVEL_2D + 1];
	int total[NB_FMM_TABLES];
	unsigned apart[NB_FMM_TABLES]; /* neighbours x children, bit c: child c does not touch it */
	double *tensor;		       /* neighbours x children x n x children: T of the level that is computed */
	int threads;
};

const struct nb_fmm_operators *nb_fmm_operators_cpu(void)
{
	static const struct nb_fmm_operators *const operators[] = {NB_ISA_TABLE(&nb_fmm_operators)};
	return operators[nb_cpu_isa()];
}

/* ---- boxes ------------------------------------------------------------------------------------------ */

static struct nb_fmm_box box_of(const struct far_boxes *f, int level, uint64_t b)
{
	struct nb_fmm_box box;
	for (int d = 0; d < 3; d++) {
		box.lo[d] = f->fmm->cube.lo[d];
		box.at[d] = d >= f->fmm->dim   ? 0
			    : f->fmm->dim == 3 ? nb_morton_gather3(b >> (2 - d))
					       : nb_morton_gather2(b >> (1 - d));
	}
	box.edge = f->fmm->cube.size / (double)((uint64_t)1 << level);
	return box;
}

/* Whether the neighbours are those of the boxes: else near and far field would not add up. */
static int neighbours_are_right(const struct nb_boxes *boxes, const struct nb_fmm *fmm)
{
	const size_t each = (size_t)boxes->nneighbour;
	int wrong = 0;
#pragma omp parallel for schedule(static) reduction(| : wrong) if (boxes->nbox > 10000)
	for (size_t b = 0; b < boxes->nbox; b++) {
		int32_t want[26];
		nb_box_neighbours(b, fmm->dim, fmm->level, want);
		wrong |= memcmp(want, boxes->neighbour + b * each, each * sizeof *want) != 0;
	}
	return !wrong;
}

/* Finds the boxes of a level that have bodies. */
static int occupy(struct far_boxes *f, int level)
{
	struct level *l = &f->level[level];
	const int shift = f->fmm->dim * (f->fmm->level - level);
	const uint64_t *first = f->boxes->box_first;
	l->nbox = (size_t)1 << f->fmm->dim * level;
	l->index = nb_alloc(l->nbox, sizeof *l->index);
	if (!l->index)
		return NB_ENOMEM;
	for (size_t b = 0; b < l->nbox; b++)
		l->index[b] = first[(b + 1) << shift] > first[b << shift] ? (uint32_t)l->count++ : nobody;
	l->box = nb_alloc(l->count, sizeof *l->box);
	if (!l->box)
		return NB_ENOMEM;
	for (size_t b = 0; b < l->nbox; b++)
		if (l->index[b] != nobody)
			l->box[l->index[b]] = (uint32_t)b;
	if (level < NB_FMM_TOP)
		return NB_OK;
	const size_t row = (size_t)f->basis.n * sizeof *l->m;
	l->m = nb_alloc(l->count, row);
	if (level < f->fmm->level)
		l->l = nb_alloc(l->count, row);
	return l->m && (l->l || level == f->fmm->level) ? NB_OK : NB_ENOMEM;
}

static void release(struct far_boxes *f)
{
	for (int l = 0; l <= f->fmm->level; l++) {
		nb_free_all(f->level[l].index, f->level[l].box, f->level[l].m, f->level[l].l);
	}
	nb_free(f->tensor);
}

/* ---- up ----------------------------------------------------------------------------------------------- */

static int bodies_to_multipoles(struct far_boxes *f)
{
	const struct level *l = &f->level[f->fmm->level];
	int outside = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(f->threads) reduction(| : outside)
	for (size_t k = 0; k < l->count; k++) {
		const uint32_t b = l->box[k];
		const struct nb_fmm_box box = box_of(f, f->fmm->level, b);
		outside |= f->use->p2m(&f->basis, f->g, &box, f->boxes->box_first[b], f->boxes->box_first[b + 1],
			l->m + k * (size_t)f->basis.n);
	}
	return outside ? NB_EINVAL : NB_OK;
}

/* The coefficients of the children of box b, NULL for those without bodies; bit c: child c has some. */
static unsigned children(const struct far_boxes *f, const struct level *below, uint64_t b, const double **child)
{
	unsigned there = 0;
	for (int c = 0; c < f->basis.children; c++) {
		const uint32_t at = below->index[b * (uint64_t)f->basis.children + (uint64_t)c];
		child[c] = at == nobody ? NULL : below->m + at * (size_t)f->basis.n;
		there |= (unsigned)(at != nobody) << c;
	}
	return there;
}

static void multipoles_up(struct far_boxes *f, int level)
{
	const struct level *l = &f->level[level], *below = l + 1;
#pragma omp parallel for schedule(dynamic, 32) num_threads(f->threads)
	for (size_t k = 0; k < l->count; k++) {
		const double *child[8];
		(void)children(f, below, l->box[k], child);
		f->use->m2m(&f->basis, child, l->m + k * (size_t)f->basis.n);
	}
}

/* ---- down --------------------------------------------------------------------------------------------- */

static size_t tensor_size(const struct far_boxes *f)
{
	return (size_t)(f->basis.ntensor * f->basis.children);
}

/* T for all relative places of the boxes of a level. */
static void tensors(struct far_boxes *f, int level)
{
	const int dim = f->fmm->dim, n = f->basis.ntensor, children = f->basis.children;
	const double eps = f->g->eps / (f->fmm->cube.size / (double)((uint64_t)1 << level));
	const int tables = f->boxes->nneighbour * children;
#pragma omp parallel for schedule(static) num_threads(f->threads)
	for (int table = 0; table < tables; table++) {
		double *to = f->tensor + (size_t)table * tensor_size(f), t[NB_FMM_TENSOR];
		f->apart[table] = 0;
		for (int c = 0; c < children; c++) {
			int offset[3];
			const int apart = nb_fmm_offset(dim, table / children, table % children, c, offset);
			const double x[3] = {offset[0], offset[1], offset[2]};
			f->apart[table] |= (unsigned)apart << c;
			if (apart)
				nb_fmm_tensor(dim, f->basis.order + 2, x, eps, t);
			for (int a = 0; a < n; a++)
				to[a * children + c] = apart ? t[a] : 0;
		}
	}
}

/* The parents first..first+many-1 of a level's list, and the field of their children. */
struct group {
	size_t first;
	int many, level; /* of the parents */
	int32_t neighbour[GROUP][26];
	unsigned there[GROUP]; /* bit c: child c has bodies */
	double *local[GROUP], *row;
};

/* From the children of neighbour q of each parent.  Returns how many pairs of boxes with bodies met. */
static uint64_t from_neighbours(const struct far_boxes *f, const struct group *group, int q)
{
	const struct level *below = &f->level[group->level + 1];
	const int children_ = f->basis.children;
	const double *child[GROUP][8] = {{NULL}}, *source[GROUP];
	uint64_t pairs = 0;
	int some = 0;
	for (int k = 0; k < group->many; k++)
		if (group->neighbour[k][q] >= 0)
			some |= children(f, below, (uint64_t)group->neighbour[k][q], child[k]) != 0;
	for (int s = 0; s < children_ && some; s++) {
		const int table = q * children_ + s;
		double *local[GROUP];
		int many = 0;
		for (int k = 0; k < GROUP; k++) {
			const unsigned met = group->there[k] & f->apart[table];
			if (!child[k][s] || !met)
				continue;
			source[many] = child[k][s];
			local[many++] = group->local[k];
			pairs += (uint64_t)__builtin_popcount(met);
		}
		f->use->m2l(
			&f->basis, f->total[table], f->tensor + (size_t)table * tensor_size(f), many, source, local);
	}
	return pairs;
}

/* The field of the children of one of the group's boxes, where it goes from here. */
static void deliver(const struct far_boxes *f, const struct group *group, int k)
{
	const struct level *below = &f->level[group->level + 1];
	const uint64_t parent = f->level[group->level].box[group->first + (size_t)k];
	const int n = f->basis.n, children_ = f->basis.children;
	for (int c = 0; c < children_; c++) {
		const uint64_t b = parent * (uint64_t)children_ + (uint64_t)c;
		if (below->index[b] == nobody)
			continue;
		double *row = below->l ? below->l + below->index[b] * (size_t)n : group->row;
		for (int a = 0; a < n; a++)
			row[a] = group->local[k][a * children_ + c];
		if (below->l)
			continue;
		const struct nb_fmm_box box = box_of(f, group->level + 1, b);
		f->use->l2p(&f->basis, f->g, &box, f->boxes->box_first[b], f->boxes->box_first[b + 1], row);
	}
}

static uint64_t do_group(const struct far_boxes *f, struct group *group)
{
	const struct level *parents = &f->level[group->level];
	const int n = f->basis.n;
	uint64_t pairs = 0;
	for (int k = 0; k < group->many; k++) {
		const uint64_t parent = parents->box[group->first + (size_t)k];
		const double *unused[8];
		nb_box_neighbours(parent, f->fmm->dim, group->level, group->neighbour[k]);
		group->there[k] = children(f, parents + 1, parent, unused);
	}
	for (int k = 0; k < GROUP; k++) {
		if (parents->l && k < group->many)
			f->use->l2l(&f->basis, parents->l + (group->first + (size_t)k) * (size_t)n, group->local[k]);
		else
			memset(group->local[k], 0, (size_t)(n * f->basis.children) * sizeof(double));
	}
	for (int q = 0; q < f->boxes->nneighbour; q++)
		pairs += from_neighbours(f, group, q);
	for (int k = 0; k < group->many; k++)
		deliver(f, group, k);
	return pairs;
}

/* From the boxes of a level to their children. */
static int field_down(struct far_boxes *f, int level, uint64_t *m2l)
{
	const size_t size = (size_t)(f->basis.n * f->basis.children), count = f->level[level].count;
	const size_t each = (GROUP + 1) * size;
	double *work = nb_alloc((size_t)f->threads, each * sizeof *work);
	if (!work)
		return NB_ENOMEM;
	uint64_t pairs = 0;
	tensors(f, level + 1);
#pragma omp parallel for schedule(dynamic) num_threads(f->threads) reduction(+ : pairs)
	for (size_t first = 0; first < count; first += GROUP) {
		double *mine = work + (size_t)omp_get_thread_num() * each;
		struct group group = {.there = {0}, .first = first, .level = level, .row = mine + GROUP * size};
		group.many = count - first < GROUP ? (int)(count - first) : GROUP;
		for (int k = 0; k < GROUP; k++)
			group.local[k] = mine + (size_t)k * size;
		pairs += do_group(f, &group);
	}
	nb_free(work);
	*m2l += pairs;
	return NB_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* By a power of two, so that the largest mass is about 1: the near field has looked at all of them. */
static double mass_unit(const struct nb_gravity *g)
{
	double largest = 0;
	for (size_t i = 0; i < g->n; i++)
		largest = fmax(largest, g->mass[i]);
	return nb_pair_power2(largest, 0);
}

static int far_field(struct far_boxes *f, uint64_t *m2l)
{
	const int finest = f->fmm->level;
	nb_fmm_basis_fill(&f->basis, f->fmm->dim, f->fmm->order);
	f->basis.unit = mass_unit(f->g);
	f->use = nb_fmm_operators_cpu();
	f->threads = nb_cpu_threads();
	const size_t children = (size_t)f->basis.children;
	for (int table = 0; table < f->boxes->nneighbour * f->basis.children; table++)
		f->total[table] = nb_fmm_total(
			f->fmm->dim, f->fmm->order, table / f->basis.children, table % f->basis.children);
	f->tensor = nb_alloc((size_t)f->boxes->nneighbour * children * tensor_size(f), sizeof *f->tensor);
	int status = f->tensor ? NB_OK : NB_ENOMEM;
	for (int l = NB_FMM_TOP - 1; l <= finest && !status; l++)
		status = occupy(f, l);
	if (!status)
		status = bodies_to_multipoles(f);
	for (int l = finest - 1; l >= NB_FMM_TOP && !status; l--)
		multipoles_up(f, l);
	for (int l = NB_FMM_TOP - 1; l < finest && !status; l++)
		status = field_down(f, l, m2l);
	release(f);
	return status;
}

int nb_gravity_fmm_cpu(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm,
	struct nb_gravity_count *count)
{
	uint64_t m2l = 0;
	if (g->jerk || g->body_eps || g->softening != NB_PLUMMER)
		return NB_EUNSUPPORTED;
	if (!nb_fmm_sound(boxes, fmm) || !neighbours_are_right(boxes, fmm))
		return NB_EINVAL;
	int status = nb_gravity_near_cpu(g, boxes, count);
	if (status || g->n == 0 || fmm->level < NB_FMM_TOP)
		return status;
	struct far_boxes *f = nb_alloc_zero(1, sizeof *f);
	if (!f)
		return NB_ENOMEM;
	f->g = g;
	f->boxes = boxes;
	f->fmm = fmm;
	status = far_field(f, &m2l);
	nb_free(f);
	if (!status && count)
		count->m2l += m2l;
	return status;
}
