/* Forces on the bodies of one rank (domain.h).
 *
 * All that decides which cells are opened is in the families of the tree.  So a rank walks twice: the first walk finds
 * out which families of other ranks are looked at, which it gets (cells_cpu.c), and which cells' bodies are
 * wanted one by one, which it asks for; the second one acts.  Both read what the walk of one process would read, in the
 * same order.  Bodies are at the rows that they have in the order of all: the pages of rows that nobody needs are never
 * touched, and take no memory. */
#include "kernels/domain/domain_internal.h"

#include "common/mem.h"
#include "kernels/multipole/high_body.h"
#include "kernels/pair/pair.h"
#include "kernels/ranks/ranks.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { SERIAL = 1 << 10 /* so few nodes are left to one thread */ };

/* What a rank tells of a cell that is its own. */
struct nb_domain_root {
	double box[6], com[3], mass, quad[6], radius, reach, own[NB_HIGH_MOMENTS - 1];
	uint64_t inner; /* the number of its family there; 0: it has none */
};

/* What it tells of itself. */
struct nb_domain_summary {
	double jump, least, least_reach;
	uint64_t nfamily;
	int status;
};

/* ---- rows that take memory only where they are touched ------------------------------------------ */

static void *map_rows(size_t rows, size_t rowsize, size_t *size)
{
	*size = (rows + 8) * rowsize; /* a vector may reach beyond the last row */
	void *map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	(void)madvise(map, *size, MADV_NOHUGEPAGE);
	return map;
}

static void unmap_rows(void *map, size_t size)
{
	if (map)
		munmap(map, size);
}

/* ---- own nodes ---------------------------------------------------------------------------------- */

static void find_tight_children(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	const uint32_t most = nb_walk_group(w->plan.order);
#pragma omp parallel for schedule(static) if (tree->nnode > SERIAL)
	for (size_t i = 0; i < tree->nnode; i++)
		w->m.tight_child[i] = nb_domain_is_own(w, i) && tree->nchild[i] > 0 && tree->count[i] <= most &&
				      nb_walk_has_tight_child(tree, i);
}

/* Families of the top get their numbers, own ones numbers that begin where those of the top end. */
static void number_families(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	const uint32_t leaf = nb_walk_leaf(w->plan.order);
	uint32_t next = 1;
	for (size_t i = 0; i < tree->nnode; i++)
		w->m.inner[i] = i < w->t->nslot ? 0 : NB_WALK_UNREACHED;
	for (size_t i = 0; i < w->t->nslot; i++)
		if (nb_domain_is_top(w, i))
			w->m.inner[i] = next++;
	w->ntop = next;
	for (size_t i = 0; i < tree->nnode; i++) {
		if (!nb_domain_is_own(w, i) || w->m.inner[i] == NB_WALK_UNREACHED || tree->nchild[i] == 0 ||
			(tree->count[i] <= leaf && !w->m.tight_child[i]))
			continue;
		w->m.inner[i] = next++;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			w->m.inner[c] = 0;
	}
	w->nown = next - w->ntop;
	w->summary[w->d->rank].nfamily = w->nown;
}

/* Of a node whose children are known. */
static void measure_divided(struct nb_domain_walk *w, size_t i, double *jump)
{
	*jump = fmax(*jump, nb_walk_measure_children(&w->t->tree, &w->m, i));
	if (w->m.own)
		nb_walk_find_moments_of(&w->plan, &w->m, i);
}

static int measure_own(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	struct nb_domain_summary *summary = &w->summary[w->d->rank];
	int status = NB_OK;
	double jump = 0;
#pragma omp parallel for schedule(dynamic, 256) reduction(max : status, jump)
	for (size_t i = 0; i < tree->nnode; i++)
		if (nb_domain_is_own(w, i) && w->m.inner[i] == 0) {
			double mine = 0;
			const int s = nb_walk_measure_bodies(&w->g, tree, &w->m, i, NULL, 0, &mine);
			status = s > status ? s : status;
			jump = fmax(jump, mine);
			if (w->m.own)
				nb_walk_find_moments_of(&w->plan, &w->m, i);
		}
	for (size_t end = tree->nnode, begin; !status && end > w->t->nslot; end = begin) {
		begin = nb_walk_generation(tree, w->t->nslot, end);
#pragma omp parallel for schedule(dynamic, 64) reduction(max : jump) if (end - begin > SERIAL)
		for (size_t i = begin; i < end; i++)
			if (nb_walk_is_divided(&w->m, i))
				measure_divided(w, i, &jump);
	}
	for (size_t i = 0; !status && i < w->t->nslot; i++)
		if (nb_domain_is_own(w, i) && nb_walk_is_divided(&w->m, i))
			measure_divided(w, i, &jump);
	summary->jump = jump;
	summary->least = summary->least_reach = INFINITY;
	for (size_t i = 0; !status && i < tree->nnode; i++)
		if (nb_domain_is_own(w, i) && w->m.inner[i] != NB_WALK_UNREACHED) {
			summary->least = w->m.radius[i] > 0 ? fmin(summary->least, w->m.radius[i]) : summary->least;
			summary->least_reach = w->m.reach[i] > 0 ? fmin(summary->least_reach, w->m.reach[i])
								 : summary->least_reach;
		}
	return status;
}

/* ---- nodes of others ---------------------------------------------------------------------------- */

static void tell(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	for (size_t i = 0; i < w->t->nslot; i++) {
		if (!nb_domain_is_own(w, i))
			continue;
		struct nb_domain_root *r = &w->root[w->t->cell[i]];
		memset(r, 0, sizeof *r);
		memcpy(r->box, tree->box + 6 * i, sizeof r->box);
		memcpy(r->com, tree->com + 3 * i, sizeof r->com);
		r->mass = tree->mass[i];
		if (tree->quad)
			memcpy(r->quad, tree->quad + 6 * i, sizeof r->quad);
		r->radius = w->m.radius[i];
		r->reach = w->m.reach[i];
		if (w->m.own)
			memcpy(r->own, w->m.own + w->m.nown * i, w->m.nown * sizeof *r->own);
		r->inner = w->m.inner[i];
	}
}

static void hear(struct nb_domain_walk *w, size_t i)
{
	struct nb_tree *tree = (struct nb_tree *)(uintptr_t)&w->t->tree;
	const struct nb_domain_root *r = &w->root[w->t->cell[i]];
	memcpy(tree->box + 6 * i, r->box, sizeof r->box);
	memcpy(tree->com + 3 * i, r->com, sizeof r->com);
	tree->mass[i] = r->mass;
	if (tree->quad)
		memcpy(tree->quad + 6 * i, r->quad, sizeof r->quad);
	w->m.radius[i] = r->radius;
	w->m.reach[i] = r->reach;
	if (w->m.own)
		memcpy(w->m.own + w->m.nown * i, r->own, w->m.nown * sizeof *r->own);
	w->m.inner[i] = r->inner ? (uint32_t)r->inner | NB_WALK_ABSENT : 0;
}

/* From the children of a node of the top. */
static void close_top(struct nb_domain_walk *w, size_t i, double *jump)
{
	struct nb_tree *tree = (struct nb_tree *)(uintptr_t)&w->t->tree;
	struct nb_node_moments m;
	nb_tree_inner_moments(tree, i, &m);
	memcpy(tree->box + 6 * i, m.box, sizeof m.box);
	memcpy(tree->com + 3 * i, m.com, sizeof m.com);
	tree->mass[i] = m.mass;
	if (tree->quad)
		memcpy(tree->quad + 6 * i, m.quad, sizeof m.quad);
	measure_divided(w, i, jump);
}

/* All that a rank does not know of the tree but for the families. */
static int meet(struct nb_domain_walk *w)
{
	const int size = w->d->size;
	struct nb_domain_summary all = {.least = INFINITY, .least_reach = INFINITY};
	for (int k = 0; k <= size; k++)
		w->bytes[k] = (size_t)k * sizeof *w->summary;
	nb_ranks_collect(w->summary, w->bytes);
	nb_ranks_wait_all();
	w->nall = w->ntop;
	for (int k = 0; k < size; k++) {
		all.status = w->summary[k].status > all.status ? w->summary[k].status : all.status;
		all.jump = fmax(all.jump, w->summary[k].jump);
		all.least = fmin(all.least, w->summary[k].least);
		all.least_reach = fmin(all.least_reach, w->summary[k].least_reach);
		w->nall += w->summary[k].nfamily;
	}
	if (all.status || w->nall > UINT32_MAX / NB_FAMILY)
		return all.status ? all.status : NB_ELIMIT;
	tell(w);
	for (int k = 0; k <= size; k++)
		w->bytes[k] = w->t->cell_bound[k] * sizeof *w->root;
	nb_ranks_collect(w->root, w->bytes);
	nb_ranks_wait_all();
	for (size_t i = 0; i < w->t->nslot; i++)
		if (w->t->kind[i] == NB_DOMAIN_ELSEWHERE)
			hear(w, i);
	for (size_t i = w->t->nslot; i-- > 0;)
		if (nb_domain_is_top(w, i)) {
			close_top(w, i, &all.jump);
			all.least_reach = w->m.reach[i] > 0 ? fmin(all.least_reach, w->m.reach[i]) : all.least_reach;
		}
	w->m.jump = all.jump;
	w->m.nfamily = w->nall;
	w->plan.deep |= nb_walk_is_deep(w->m.reach[0], all.least_reach);
	/* moments of the tree are squares of lengths */
	const int beyond = nb_walk_is_beyond_squares(all.least, w->m.radius[0]);
	return beyond && w->plan.order > 1 && !w->m.own ? NB_EUNSUPPORTED : NB_OK;
}

/* ---- the plan ----------------------------------------------------------------------------------- */

static int set_scales(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	const struct nb_domain_law *law = &w->d->law;
	double size = law->eps;
	for (int k = 0; k < 3; k++)
		size = fmax(size, tree->box[3 + k] - tree->box[k]);
	if (!isfinite(size) || !isfinite(tree->mass[0]))
		return NB_ENONFINITE;
	nb_walk_scale(&w->plan, &law->walk, size, law->eps);
	return NB_OK;
}

static void begin_plan(struct nb_domain_walk *w)
{
	struct nb_domain *d = w->d;
	const size_t first = d->bound[d->rank];
	w->g = (struct nb_gravity){.n = d->n_all,
		.pos = w->pos,
		.mass = w->mass,
		/* rows of own bodies alone are written */
		.acc = (double *)((uintptr_t)d->acc - 3 * first * sizeof *d->acc),
		.pot = d->law.potential ? (double *)((uintptr_t)d->pot - first * sizeof *d->pot) : NULL,
		.eps = d->law.eps,
		.G = d->law.G,
		.precision = d->law.precision};
	w->plan = (struct nb_walk_plan){.g = &w->g, .tree = &w->t->tree, .at = &w->g, .target = &w->t->tree};
	w->plan.law = NB_LAW_COMMON;
	w->plan.part = NB_DOMAIN_PART;
	nb_walk_layout(&w->plan, &d->law.walk);
}

static int allocate(struct nb_domain_walk *w)
{
	const size_t size = (size_t)w->d->size, n = w->d->n, first = w->d->bound[w->d->rank];
	w->bytes = nb_alloc(size + 1, sizeof *w->bytes);
	w->root = nb_alloc(w->t->ncell, sizeof *w->root);
	w->summary = nb_alloc_zero(size, sizeof *w->summary);
	w->pos = map_rows(w->d->n_all, 3 * sizeof *w->pos, &w->mapped[0]);
	w->mass = map_rows(w->d->n_all, sizeof *w->mass, &w->mapped[1]);
	if (!w->bytes || !w->root || !w->summary || !w->pos || !w->mass)
		return NB_ENOMEM;
	memcpy(w->pos + 3 * first, w->d->pos, 3 * n * sizeof *w->pos);
	memcpy(w->mass + first, w->d->mass, n * sizeof *w->mass);
	begin_plan(w);
	if (w->plan.order > 2 || (w->plan.order == 2 && !w->t->tree.quad)) {
		w->m.nown = nb_walk_nown(w->plan.order);
		w->m.own = nb_alloc(w->t->tree.nnode, w->m.nown * sizeof *w->m.own);
		if (!w->m.own)
			return NB_ENOMEM;
	}
	return nb_walk_allocate_nodes(&w->m, w->t->tree.nnode, 0);
}

/* The families of the top and own ones. */
static int fill_families(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	w->plan.f64 = w->g.precision == NB_F64 || nb_walk_wants_f64(w->m.jump);
	w->parent = nb_alloc_zero(w->nown, sizeof *w->parent);
	const int status = nb_domain_agree(w->parent ? nb_domain_reserve(w, w->ntop + w->nown) : NB_ENOMEM);
	if (status)
		return status;
	nb_walk_fill_family(&w->plan, &w->m, 0, 1, 0);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < tree->nnode; i++)
		if ((nb_domain_is_top(w, i) || nb_domain_is_own(w, i)) && nb_walk_is_divided(&w->m, i)) {
			const size_t family = w->m.inner[i];
			nb_walk_fill_family(&w->plan, &w->m, tree->child[i], tree->nchild[i], (uint32_t)family);
			for (uint32_t lane = 0; lane < tree->nchild[i]; lane++) {
				const uint32_t inner = w->m.inner[tree->child[i] + lane];
				if (inner >= w->ntop && inner < NB_WALK_ABSENT)
					w->parent[inner - w->ntop] = (uint32_t)family * NB_FAMILY + lane;
			}
		}
	w->nhere = w->ntop + w->nown;
	w->plan.inner = w->m.inner;
	w->plan.group = w->m.group;
	w->plan.npart = w->m.npart;
	w->plan.reach = w->m.reach;
	return NB_OK;
}

/* ---- bodies of others --------------------------------------------------------------------------- */

struct range {
	uint32_t first, count;
};

/* For each rank: ranges that are asked for, here and there, and the rows in them. */
struct asking {
	struct range *range, *theirs;
	size_t *range_bound, *their_bound; /* ranges; times their size, bytes */
	size_t *rows, *their_rows;	   /* the first row of each rank */
	double *row, *their_row;	   /* 4 each: pos, mass */
	size_t *each;			   /* 2 of each rank: what each two ranks tell each other */
};

static void asking_free(struct asking *a)
{
	nb_free_all(a->range, a->theirs, a->range_bound, a->their_bound, a->rows, a->their_rows, a->row, a->their_row,
		a->each);
}

/* The ranges of one rank's bodies, to out unless that is NULL; their number, and that of their rows. */
static size_t list_wanted(const struct nb_domain_walk *w, int rank, struct range *out, size_t *rows)
{
	size_t n = 0;
	*rows = 0;
	for (size_t k = 0; k <= w->nbatch; k++) { /* those of the top are of any rank */
		const struct nb_domain_batch *batch = k > 0 ? &w->batch[k - 1] : NULL;
		if (batch && batch->owner != rank)
			continue;
		const size_t begin = (batch ? batch->first : 0) * NB_FAMILY,
			     end = (batch ? batch->first + batch->n : w->ntop) * NB_FAMILY;
		for (size_t lane = begin; lane < end; lane++) {
			const struct nb_family *f = &w->m.family[lane / NB_FAMILY];
			const uint32_t first = f->first[lane % NB_FAMILY], count = f->count[lane % NB_FAMILY];
			if (w->wanted[lane] != NB_WALK_BODIES || first < w->d->bound[rank] ||
				first >= w->d->bound[rank + 1])
				continue;
			if (out)
				out[n] = (struct range){first, count};
			n++;
			*rows += count;
		}
	}
	return n;
}

static int find_asked(struct nb_domain_walk *w, struct asking *a)
{
	const int size = w->d->size;
	const size_t room = (size_t)size + 1;
	a->range_bound = nb_alloc_zero(room, sizeof *a->range_bound);
	a->their_bound = nb_alloc_zero(room, sizeof *a->their_bound);
	a->rows = nb_alloc_zero(room, sizeof *a->rows);
	a->their_rows = nb_alloc_zero(room, sizeof *a->their_rows);
	a->each = nb_alloc_zero(4 * room, sizeof *a->each);
	if (!a->range_bound || !a->their_bound || !a->rows || !a->their_rows || !a->each)
		return NB_ENOMEM;
	for (int k = 0; k < size; k++) {
		size_t rows = 0, n = k == w->d->rank ? 0 : list_wanted(w, k, NULL, &rows);
		a->range_bound[k + 1] = a->range_bound[k] + n;
		a->rows[k + 1] = a->rows[k] + rows;
	}
	a->range = nb_alloc(a->range_bound[size], sizeof *a->range);
	a->row = nb_alloc(a->rows[size], 4 * sizeof *a->row);
	if (!a->range || !a->row)
		return NB_ENOMEM;
	for (int k = 0; k < size; k++) {
		size_t rows;
		if (k != w->d->rank)
			(void)list_wanted(w, k, a->range + a->range_bound[k], &rows);
	}
	return NB_OK;
}

/* What others ask for. */
static int hear_asked(struct nb_domain_walk *w, struct asking *a)
{
	const int size = w->d->size;
	size_t *in = a->each + 2 * ((size_t)size + 1);
	for (int k = 0; k < size; k++) {
		a->each[2 * k] = a->range_bound[k + 1] - a->range_bound[k];
		a->each[2 * k + 1] = a->rows[k + 1] - a->rows[k];
	}
	for (int k = 0; k <= size; k++)
		w->bytes[k] = 2 * (size_t)k * sizeof *a->each;
	nb_ranks_exchange(a->each, w->bytes, in, w->bytes);
	nb_ranks_wait_all();
	for (int k = 0; k < size; k++) {
		a->their_bound[k + 1] = a->their_bound[k] + in[2 * k];
		a->their_rows[k + 1] = a->their_rows[k] + in[2 * k + 1];
	}
	a->theirs = nb_alloc(a->their_bound[size], sizeof *a->theirs);
	a->their_row = nb_alloc(a->their_rows[size], 4 * sizeof *a->their_row);
	return a->theirs && a->their_row ? NB_OK : NB_ENOMEM;
}

static void to_bytes(size_t *bound, int size, size_t each)
{
	for (int k = 0; k <= size; k++)
		bound[k] *= each;
}

static void fetch(struct nb_domain_walk *w, struct asking *a)
{
	const int size = w->d->size;
	const size_t asked = a->range_bound[size], theirs = a->their_bound[size];
	double *to = a->their_row;
	const double *from = a->row;
	to_bytes(a->range_bound, size, sizeof *a->range);
	to_bytes(a->their_bound, size, sizeof *a->theirs);
	nb_ranks_exchange(a->range, a->range_bound, a->theirs, a->their_bound);
	nb_ranks_wait_all();
	for (size_t k = 0; k < theirs; k++)
		for (size_t b = a->theirs[k].first; b < (size_t)a->theirs[k].first + a->theirs[k].count; b++, to += 4) {
			memcpy(to, w->pos + 3 * b, 3 * sizeof *to);
			to[3] = w->mass[b];
		}
	w->d->tally.asked = (double)a->rows[size];
	to_bytes(a->rows, size, 4 * sizeof *a->row);
	to_bytes(a->their_rows, size, 4 * sizeof *a->row);
	nb_ranks_exchange(a->their_row, a->their_rows, a->row, a->rows);
	nb_ranks_wait_all();
	for (size_t k = 0; k < asked; k++)
		for (size_t b = a->range[k].first; b < (size_t)a->range[k].first + a->range[k].count; b++, from += 4) {
			memcpy(w->pos + 3 * b, from, 3 * sizeof *from);
			w->mass[b] = from[3];
		}
}

/* The bodies that are wanted. */
static int get_bodies(struct nb_domain_walk *w)
{
	struct asking a = {.range = NULL};
	int status = nb_domain_agree(find_asked(w, &a));
	if (!status)
		status = nb_domain_agree(hear_asked(w, &a));
	if (!status)
		fetch(w, &a);
	asking_free(&a);
	return status;
}

/* ---- the walk ----------------------------------------------------------------------------------- */

/* Where parts begin: the number of own parts before a node goes down the tree. */
static int find_parts(struct nb_domain_walk *w)
{
	const struct nb_tree *tree = &w->t->tree;
	uint32_t *before = nb_alloc(tree->nnode, sizeof *before);
	if (!before)
		return NB_ENOMEM;
	before[0] = 0;
	for (size_t i = 0; i < tree->nnode; i++) {
		const int part = !nb_domain_is_top(w, i) && (w->m.group[i] || tree->count[i] <= w->plan.part);
		uint32_t sum = before[i];
		if (part && sum != UINT32_MAX && nb_domain_is_own(w, i))
			w->part[sum] = tree->first[i];
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++) {
			before[c] = part ? UINT32_MAX : sum;
			sum += sum == UINT32_MAX || part ? 0 : w->m.npart[c];
		}
	}
	nb_free(before);
	w->part[w->m.npart[0]] = (uint32_t)w->d->bound[w->d->rank + 1];
	return NB_OK;
}

static int act(struct nb_domain_walk *w)
{
	const uint32_t nparts = w->m.npart[0];
	const size_t first = w->d->bound[w->d->rank];
	w->cost = nb_alloc_zero(nparts, sizeof *w->cost);
	w->part = nb_alloc((size_t)nparts + 1, sizeof *w->part);
	struct nb_walk_share share = {.claimed = 0, .end = nparts, .cost = w->cost};
	int status = w->cost && w->part ? find_parts(w) : NB_ENOMEM;
	if (!status && nparts)
		status = nb_walk_parts(&w->plan, &share, &w->d->tally.count);
	for (uint32_t p = 0; !status && p < nparts; p++)
		for (size_t b = w->part[p]; b < w->part[p + 1]; b++)
			w->d->cost[b - first] = w->cost[p] / (float)(w->part[p + 1] - w->part[p]);
	return status;
}

static int walk_all(struct nb_domain_walk *w)
{
	int status = nb_domain_agree(allocate(w));
	if (status)
		return status;
	find_tight_children(w);
	number_families(w);
	w->summary[w->d->rank].status = measure_own(w);
	status = meet(w);
	status = status ? status : set_scales(w);
	status = status ? status : fill_families(w);
	status = status ? status : nb_domain_get_cells(w);
	status = status ? status : get_bodies(w);
	return status ? status : nb_domain_agree(act(w));
}

int nb_domain_walk_cpu(struct nb_domain *d, struct nb_domain_tree *t)
{
	struct nb_domain_walk w = {.d = d, .t = t};
	const int status = walk_all(&w);
	const double node = 2 * sizeof(uint32_t) + 24 * sizeof(double) + (double)w.m.nown * sizeof(double);
	d->tally.bodies = (double)d->n;
	d->tally.bytes += (double)d->n * (double)(16 * sizeof(double) + sizeof *d->cost + d->rest_size) +
			  (double)t->tree.nnode * node + d->tally.asked * (8 * sizeof(double));
	unmap_rows(w.pos, w.mapped[0]);
	unmap_rows(w.mass, w.mapped[1]);
	for (size_t k = 0; k < w.nbatch; k++)
		nb_free(w.batch[k].id);
	nb_free_all(w.batch, w.parent, w.wanted);
	nb_walk_memory_free(&w.m);
	nb_free_all(w.bytes, w.root, w.summary, w.cost, w.part);
	return status;
}
