/* The families of other ranks that the walk of this one looks at (domain.h): those below cells that it opens.
 *
 * Only the walk itself can tell which these are, because what it opens depends on the strength of the field that it has
 * found by then.  So there are three steps.
 *
 * 1. All ranks get the families of large cells.  If the families of all cells take little memory beside the bodies of a
 * rank, all ranks get those, and step 2 is left out.
 *
 * 2. Each rank walks down to some hundreds of its nodes by these alone, and sends where the nodes are, how large they
 * are, and about what errors they tolerate.  For each such node of the others, each rank goes down its own tree and
 * sends what may be opened for targets in that node.
 *
 * 3. Each rank walks without computing forces.  If the walk opens a cell whose children are not here, the rank asks the
 * owner for them.  It repeats the walk until nothing is missing.
 *
 * The last of these walks has seen all that the walk with forces will read, the same as in one process: what step 2
 * leaves out costs time, and never changes a result. */
#include "kernels/domain/cells_internal.h"

#include "common/mem.h"
#include "kernels/multipole/opening_body.h"
#include "kernels/ranks/ranks.h"

#include <math.h>
#include <string.h>

enum {
	LARGE = 512, /* a cell of more than such a part of all bodies is large */
	SETS = 64,   /* targets with more than such a part of a rank's bodies are sent one by one */
	FINE = 1024, /* the walk that finds errors goes down to such a part */
	BLOCK = 16,  /* sets that are looked at together */
	BODY = 180,  /* bytes of one of a rank's own bodies, about */
	WORTH = 4,   /* cells that take less than such a part of what a rank's bodies take are not worth the search */
};

/* Errors vary between targets of one set; their sixth root or a higher one is in the distances. */
static const double SHARE = 0.8;

/* Targets that are seen from other ranks, in scaled units. */
struct target_set {
	double lo[3], hi[3]; /* the middles of their boxes are in here */
	double reach, least; /* the largest and the least of those that are no groups; the latter may be INFINITY */
	double group, small; /* the largest of groups, and of those of NB_WALK_SMALL; -1: there are none */
	double beyond;	     /* by so much a sphere of that reach about the middle of a group is outside of the box */
	double limit;	     /* the error that an accepted cell may have */
	double shares;	     /* 1: the target may have bodies of any rank */
};

struct target_sets {
	struct target_set *at;
	size_t n, capacity;
};

/* ---- large cells -------------------------------------------------------------------------------- */

/* Whether a rank has bodies, so that it walks. */
static int has_bodies(const struct nb_domain_walk *w, int rank)
{
	return rank != w->d->rank && w->d->bound[rank + 1] > w->d->bound[rank];
}

/* All cells, or the large ones. */
static int send_large(struct nb_domain_walk *w, int all, uint8_t *sent, struct nb_domain_list *l)
{
	const struct nb_tree *tree = &w->t->tree;
	const size_t large = all ? 0 : w->d->n_all / LARGE;
	int status = NB_OK;
	for (size_t i = 0; i < tree->nnode; i++)
		if (nb_domain_is_own(w, i) && nb_walk_is_divided(&w->m, i))
			sent[w->m.inner[i] - w->ntop] = tree->count[i] > large;
	for (int k = 0; k < w->d->size; k++) {
		if (!status && has_bodies(w, k))
			status = nb_domain_list_marked(w, sent, l);
		l->bound[k + 1] = l->n;
	}
	status = nb_domain_agree(status);
	return status ? status : nb_domain_transfer(w, l);
}

/* ---- own targets -------------------------------------------------------------------------------- */

/* Finds groups, of at most so many bodies, and parts: of nodes as targets, of which those of others are not walked
 * here.
 */
static void find_groups(struct nb_domain_walk *w, uint32_t most)
{
	const struct nb_tree *tree = &w->t->tree;
	for (size_t i = tree->nnode; i-- > 0;) {
		const int own = nb_domain_is_own(w, i), top = nb_domain_is_top(w, i);
		w->m.group[i] = !top && (!own || !nb_walk_is_divided(&w->m, i) ||
						(tree->count[i] <= most && !w->m.tight_child[i]));
		w->m.npart[i] = own ? 1 : 0;
		if (!top && (!own || w->m.group[i] || tree->count[i] <= w->plan.part))
			continue;
		w->m.npart[i] = 0;
		for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
			w->m.npart[i] += w->m.npart[c];
	}
}

static struct target_set *target_set_add(struct target_sets *s)
{
	return nb_reserve(s->at, s->n, s->n + 1, s->capacity) ? NULL : &s->at[s->n++];
}

/* Adds node i and all below it to what is seen of the targets of one set. */
static void sum_up(const struct nb_domain_walk *w, const double *limit, size_t i, struct target_set *s)
{
	const struct nb_tree *tree = &w->t->tree;
	const double reach = w->m.reach[i] * w->plan.length;
	s->limit = fmin(s->limit, limit[i]);
	if (w->m.group[i]) {
		double depth = INFINITY; /* of its middle */
		for (size_t k = 0; k < 3; k++) {
			const double lo = tree->box[6 * i + k], hi = tree->box[6 * i + 3 + k],
				     middle = (lo + 0.5 * (hi - lo)) * w->plan.length;
			depth = fmin(depth, fmin(middle - s->lo[k], s->hi[k] - middle));
		}
		s->beyond = fmax(s->beyond, reach - fmax(depth, 0));
		s->group = fmax(s->group, reach);
		s->small = tree->count[i] <= NB_WALK_SMALL ? fmax(s->small, reach) : s->small;
		return;
	}
	s->reach = fmax(s->reach, reach);
	s->least = fmin(s->least, reach);
	for (uint32_t c = tree->child[i]; c < tree->child[i] + tree->nchild[i]; c++)
		sum_up(w, limit, c, s);
}

/* The sets of node i, which has targets of this rank, and of all below it: of single nodes to kind[0], of what is
 * below these to kind[1].  `above` is its parent. */
static int find_target_sets(
	const struct nb_domain_walk *w, const double *limit, size_t i, size_t above, struct target_sets *kind)
{
	const struct nb_tree *tree = &w->t->tree;
	const int top = nb_domain_is_top(w, i);
	const int one = top || (!w->m.group[i] && tree->count[i] > w->d->n / SETS);
	struct target_set *s = target_set_add(&kind[one ? 0 : 1]);
	if (!s)
		return NB_ENOMEM;
	*s = (struct target_set){.least = INFINITY, .group = -1, .small = -1, .limit = limit[i], .shares = top};
	for (size_t k = 0; k < 3; k++) {
		const double lo = tree->box[6 * i + k], hi = tree->box[6 * i + 3 + k], middle = lo + 0.5 * (hi - lo);
		s->lo[k] = (one ? middle : lo) * w->plan.length;
		s->hi[k] = (one ? middle : hi) * w->plan.length;
	}
	if (one) {
		s->reach = s->least = w->m.reach[i] * w->plan.length;
	} else {
		sum_up(w, limit, i, s);
		if (w->m.group[i]) { /* groups take the error of their parent */
			s->reach = w->m.reach[above] * w->plan.length;
			s->limit = limit[above];
		}
	}
	s->limit *= SHARE;
	int status = NB_OK;
	for (uint32_t c = tree->child[i]; one && !status && c < tree->child[i] + tree->nchild[i]; c++)
		if (w->m.npart[c])
			status = find_target_sets(w, limit, c, i, kind);
	return status;
}

/* Walks down to small nodes, for the errors that they tolerate, and looks at all targets. */
static int find_own_target_sets(struct nb_domain_walk *w, struct target_sets *kind)
{
	const struct nb_tree *tree = &w->t->tree;
	const uint32_t most = nb_walk_group(w->plan.order);
	const size_t fine = w->d->n / FINE;
	struct nb_gravity_count none = {0};
	double *limit = nb_alloc(tree->nnode, sizeof *limit);
	int status = limit ? NB_OK : NB_ENOMEM;
	for (size_t i = 0; !status && i < tree->nnode; i++)
		limit[i] = INFINITY;
	find_groups(w, fine > most ? (uint32_t)fine : most);
	struct nb_walk_share share = {.claimed = 0, .end = w->m.npart[0]};
	w->plan.wanted = w->wanted;
	w->plan.limit = limit;
	if (!status && share.end)
		status = nb_walk_parts(&w->plan, &share, &none);
	w->plan.wanted = NULL;
	w->plan.limit = NULL;
	find_groups(w, most);
	if (!status && w->m.npart[0])
		status = find_target_sets(w, limit, 0, 0, kind);
	nb_free(limit);
	return status;
}

/* Those of all ranks: the ones of rank k are bound[k] .. bound[k + 1] - 1. */
static int exchange_target_sets(struct nb_domain_walk *w, struct target_sets *all, size_t *bound)
{
	const int size = w->d->size, rank = w->d->rank;
	struct target_sets own[2] = {{.at = NULL}, {.at = NULL}};
	int status = nb_domain_agree(find_own_target_sets(w, own));
	if (!status) {
		bound[rank] = own[0].n + own[1].n;
		for (int k = 0; k <= size; k++)
			w->bytes[k] = (size_t)k * sizeof *bound;
		nb_ranks_collect(bound, w->bytes);
		nb_ranks_wait_all();
		for (size_t k = 0, sum = 0; k <= (size_t)size; k++) {
			const size_t n = k < (size_t)size ? bound[k] : 0;
			bound[k] = sum;
			sum += n;
		}
		all->n = bound[size];
		all->at = nb_alloc(all->n, sizeof *all->at);
		status = nb_domain_agree(all->at ? NB_OK : NB_ENOMEM);
	}
	if (!status) {
		for (int k = 0; k <= size; k++)
			w->bytes[k] = bound[k] * sizeof *all->at;
		for (size_t kind = 0, to = bound[rank]; kind < 2; to += own[kind++].n)
			if (own[kind].n)
				memcpy(all->at + to, own[kind].at, own[kind].n * sizeof *own[kind].at);
		nb_ranks_collect(all->at, w->bytes);
		nb_ranks_wait_all();
	}
	nb_free_all(own[0].at, own[1].at);
	return status;
}

/* ---- what may be opened ------------------------------------------------------------------------- */

/* Sets side by side, and one that holds all of them: most cells are too far for that one. */
struct target_block {
	struct target_set all;
	const struct target_set *at;
	int n;
};

/* A cell on the way down, in scaled units, and what is known of those that it is in. */
struct cell {
	double x[3], radius, mass, parent_radius, parent_mass;
	double enclosing; /* the mass of the first of them that may be left for a group; 0: none yet */
};

/* Whether a target of a set may take the cell as a whole by its own reach. */
static int is_accepted(const struct nb_domain_walk *w, const struct target_set *s, const struct cell *c,
	double enclosing, double reach, double d2, double u)
{
	return nb_mac_accepts_on_cell(w->plan.order, c->mass, enclosing, (c->radius + reach) * (c->radius + reach),
		reach * reach, d2, u, s->shares > 0, s->limit);
}

/* Whether some target of a set may open the cell.  All cells that are accepted by one target are so by those in it;
 * a target that is no group opens larger cells only; and what a group leaves acts on each of its bodies if it can. */
static int may_open(const struct nb_domain_walk *w, const struct target_set *s, const struct cell *c)
{
	const double eps = w->g.eps * w->plan.length;
	double d2 = 0;
	for (int k = 0; k < 3; k++) {
		const double below = s->lo[k] - c->x[k], above = c->x[k] - s->hi[k], d = below > above ? below : above;
		d2 += d > 0 ? d * d : 0;
	}
	const double u = d2 + eps * eps;
	if (c->radius > s->least) {
		const double reach = c->radius < s->reach ? c->radius : s->reach,
			     enclosing = c->parent_radius <= 2 * reach ? c->parent_mass : c->mass;
		if (!is_accepted(w, s, c, enclosing, reach, d2, u))
			return 1;
	}
	if (s->group < 0 || (is_accepted(w, s, c, c->enclosing, s->group, d2, u) &&
				    (s->small < 0 || is_accepted(w, s, c, c->enclosing, s->reach, d2, u))))
		return 0;
	const double away = sqrt(d2) - s->beyond;
	return !nb_mac_accepts_on_body(w->plan.order, c->mass, c->radius, away, eps * eps, s->limit);
}

/* Marks the families below a lane that may be looked at by the sets of a block that are in `of`. */
static void look(const struct nb_domain_walk *w, const struct target_block *b, const uint8_t *of, int n, uint32_t lane,
	const struct cell *above, uint8_t *mark)
{
	const struct nb_family *f = &w->m.family[lane / NB_FAMILY];
	const uint32_t k = lane % NB_FAMILY, inner = f->inner[k];
	uint8_t open[BLOCK];
	int nopen = 0;
	struct cell c = {.radius = (double)f->radius[k] * f->length * w->plan.length,
		.mass = (double)f->mass[k],
		.parent_radius = above ? above->radius : INFINITY,
		.parent_mass = above ? above->mass : 0,
		.enclosing = above ? above->enclosing : 0};
	if (inner == 0 || !(c.mass > 0))
		return;
	for (int d = 0; d < 3; d++)
		c.x[d] = f->x[d][k] * w->plan.length;
	if (c.enclosing == 0 && c.radius <= 2 * b->all.group)
		c.enclosing = c.mass;
	if (!may_open(w, &b->all, &c))
		return;
	for (int s = 0; s < n; s++)
		if (may_open(w, &b->at[of[s]], &c))
			open[nopen++] = of[s];
	if (nopen == 0)
		return;
	__atomic_store_n(&mark[inner - w->ntop], 1, __ATOMIC_RELAXED);
	for (uint32_t child = 0; child < NB_FAMILY; child++)
		look(w, b, open, nopen, inner * NB_FAMILY + child, &c, mark);
}

/* The sets at .. at + n - 1: at most BLOCK, of one kind.  Returns how many are in the block. */
static int fill_block(const struct target_set *at, size_t n, struct target_block *b)
{
	*b = (struct target_block){.all = at[0], .at = at, .n = 1};
	while (b->n < BLOCK && (size_t)b->n < n && (at[b->n].group < 0) == (at[0].group < 0)) {
		const struct target_set *s = &at[b->n++];
		for (int k = 0; k < 3; k++) {
			b->all.lo[k] = fmin(b->all.lo[k], s->lo[k]);
			b->all.hi[k] = fmax(b->all.hi[k], s->hi[k]);
		}
		b->all.reach = fmax(b->all.reach, s->reach);
		b->all.least = fmin(b->all.least, s->least);
		b->all.group = fmax(b->all.group, s->group);
		b->all.beyond = fmax(b->all.beyond, s->beyond);
		b->all.small = fmax(b->all.small, s->small);
		b->all.limit = fmin(b->all.limit, s->limit);
		b->all.shares = fmax(b->all.shares, s->shares);
	}
	return b->n;
}

/* Marks what may be looked at by some of n sets. */
static int look_at_all(const struct nb_domain_walk *w, const struct target_set *at, size_t n, uint8_t *mark)
{
	uint8_t each[BLOCK];
	struct target_block *block = nb_alloc(n, sizeof *block);
	size_t nblock = 0;
	if (!block)
		return NB_ENOMEM;
	for (size_t k = 0; k < n; k += (size_t)block[nblock++].n)
		(void)fill_block(at + k, n - k, &block[nblock]);
	for (int k = 0; k < BLOCK; k++)
		each[k] = (uint8_t)k;
#pragma omp parallel for schedule(dynamic, 1)
	for (size_t k = 0; k < nblock; k++)
		for (uint32_t i = 0; i < w->t->nslot; i++)
			if (w->t->kind[i] == NB_DOMAIN_OWN && w->m.inner[i])
				look(w, &block[k], each, block[k].n, w->parent[w->m.inner[i] - w->ntop], NULL, mark);
	nb_free(block);
	return NB_OK;
}

/* For all other ranks: what they may look at and do not have. */
static int send_essential(struct nb_domain_walk *w, const uint8_t *sent, uint8_t *mark, struct nb_domain_list *l)
{
	struct target_sets all = {.at = NULL};
	size_t *bound = nb_alloc((size_t)w->d->size + 1, sizeof *bound);
	int status = nb_domain_agree(bound ? NB_OK : NB_ENOMEM);
	status = status ? status : exchange_target_sets(w, &all, bound);
	if (status) {
		nb_free_all(all.at, bound);
		return status;
	}
	l->n = 0;
	for (int k = 0; k < w->d->size; k++) {
		if (w->nown)
			memset(mark, 0, w->nown);
		if (has_bodies(w, k)) {
			const int looked = look_at_all(w, all.at + bound[k], bound[k + 1] - bound[k], mark);
			status = status ? status : looked;
			for (size_t f = 0; f < w->nown; f++)
				mark[f] = mark[f] && !sent[f];
			status = status ? status : nb_domain_list_marked(w, mark, l);
		}
		l->bound[k + 1] = l->n;
	}
	nb_free_all(all.at, bound);
	status = nb_domain_agree(status);
	return status ? status : nb_domain_transfer(w, l);
}

/* ---- what is missing ---------------------------------------------------------------------------- */

/* The walk as it will act, but for that. */
static int walk(struct nb_domain_walk *w)
{
	struct nb_walk_share share = {.claimed = 0, .end = w->m.npart[0]};
	struct nb_gravity_count none = {0};
	memset(w->wanted, NB_WALK_NOTHING, w->nhere * NB_FAMILY);
	w->plan.wanted = w->wanted;
	const int status = share.end ? nb_walk_parts(&w->plan, &share, &none) : NB_OK;
	w->plan.wanted = NULL;
	return status;
}

/* Numbers of families of each rank that are missing, as it has them. */
static int list_missing(const struct nb_domain_walk *w, struct nb_domain_list *l)
{
	size_t n = 0;
	const size_t nlane = w->nhere * NB_FAMILY;
	for (size_t lane = 0; lane < nlane; lane++)
		n += w->wanted[lane] == NB_WALK_CHILDREN;
	l->n = 0;
	if (nb_domain_list_reserve(l, n))
		return NB_ENOMEM;
	for (int k = 0; k < w->d->size; k++) {
		for (size_t lane = 0; n > 0 && lane < nlane; lane++) {
			const struct nb_family *f = &w->m.family[lane / NB_FAMILY];
			const uint32_t first = f->first[lane % NB_FAMILY];
			if (w->wanted[lane] == NB_WALK_CHILDREN && first >= w->d->bound[k] &&
				first < w->d->bound[k + 1])
				l->id[l->n++] = f->inner[lane % NB_FAMILY] & ~NB_WALK_ABSENT;
		}
		l->bound[k + 1] = l->n;
	}
	return NB_OK;
}

/* Marks an own family, and so many generations below it. */
static void mark_below(const struct nb_domain_walk *w, uint32_t family, int generations, uint8_t *mark)
{
	mark[family - w->ntop] = 1;
	for (int k = 0; k < NB_FAMILY && generations > 0; k++)
		if (w->m.family[family].inner[k])
			mark_below(w, w->m.family[family].inner[k], generations - 1, mark);
}

/* Asks for what a list says, and sends what others ask for. */
static int ask(struct nb_domain_walk *w, const struct nb_domain_list *missing, int generations, uint8_t *mark,
	struct nb_domain_list *l)
{
	const int size = w->d->size;
	struct nb_domain_flow f = {.out = NULL};
	uint32_t *theirs = NULL;
	int status = nb_domain_agree(nb_domain_flow_alloc(&f, (size_t)size));
	if (!status) {
		nb_domain_flow_meet(&f, w->bytes, missing->bound, size);
		theirs = nb_alloc(f.in[size], sizeof *theirs);
		status = nb_domain_agree(theirs ? NB_OK : NB_ENOMEM);
	}
	if (!status)
		nb_domain_flow_move(&f, size, sizeof *theirs, missing->id, theirs);
	l->n = 0;
	for (int k = 0; !status && k < size; k++) {
		if (w->nown)
			memset(mark, 0, w->nown);
		for (size_t r = f.in[k]; r < f.in[k + 1]; r++)
			mark_below(w, theirs[r], generations, mark);
		status = nb_domain_list_marked(w, mark, l);
		l->bound[k + 1] = l->n;
	}
	nb_free_all(theirs, f.out);
	status = nb_domain_agree(status);
	return status ? status : nb_domain_transfer(w, l);
}

static int find_missing(struct nb_domain_walk *w, uint8_t *mark, struct nb_domain_list *l)
{
	struct nb_domain_list missing = {.bound = nb_alloc_zero((size_t)w->d->size + 1, sizeof *missing.bound)};
	int status = nb_domain_agree(missing.bound ? NB_OK : NB_ENOMEM), generations = 0;
	while (!status) {
		double most = 0;
		status = w->d->tally.rounds == 0 || missing.n > 0 ? walk(w) : NB_OK;
		status = nb_domain_agree(status ? status : list_missing(w, &missing));
		most = status ? 0 : (double)missing.n;
		w->d->tally.rounds++;
		nb_ranks_fold(NB_RANKS_MOST, &most, 1);
		if (most == 0)
			break;
		status = ask(w, &missing, generations, mark, l);
		generations = 2 * generations + 1;
	}
	nb_free_all(missing.id, missing.bound);
	return status;
}

static size_t family_size(const struct nb_domain_walk *w)
{
	return sizeof *w->m.family + nb_walk_moment_size(&w->plan) + NB_FAMILY;
}

/* Whether all cells may go to all ranks: that is quicker, by about a tenth of a step of 10^6 bodies by two ranks. */
static int is_little(const struct nb_domain_walk *w)
{
	const double cells = (double)w->nall * (double)family_size(w), bodies = (double)w->d->n_all / w->d->size * BODY;
	return !w->d->law.few_cells && cells < bodies / WORTH;
}

int nb_domain_get_cells(struct nb_domain_walk *w)
{
	const int all = is_little(w);
	struct nb_domain_list l = {.bound = nb_alloc_zero((size_t)w->d->size + 1, sizeof *l.bound)};
	uint8_t *sent = nb_alloc_zero(w->nown, 1), *mark = nb_alloc(w->nown, 1);
	int status = nb_domain_agree(l.bound && sent && mark ? NB_OK : NB_ENOMEM);
	status = status ? status : send_large(w, all, sent, &l);
	if (all)
		find_groups(w, nb_walk_group(w->plan.order));
	else
		status = status ? status : send_essential(w, sent, mark, &l);
	status = status ? status : find_missing(w, mark, &l);
	w->d->tally.cells = (double)w->nhere;
	w->d->tally.all_cells = (double)w->nall;
	w->d->tally.bytes += (double)w->nhere * (double)family_size(w);
	nb_free_all(l.id, l.bound, sent, mark);
	return status;
}
