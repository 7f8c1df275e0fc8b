/* The part that a rank has of the tree of all bodies (domain.h).
 *
 * The cuts between ranks leave the cube as a list of cells, the largest that none goes through: all ranks know them,
 * and whose they are.  Whatever a cut goes through has more bodies than a leaf, so it is divided in the tree of all
 * bodies, and the bodies of a cell of the list are a node of that tree, with the descendants that they have as a tree
 * of their own.  Above these nodes is the top, which all ranks have; it follows from the keys and the numbers of
 * bodies. */
#include "kernels/domain/domain_internal.h"

#include "common/mem.h"
#include "kernels/ranks/ranks.h"

#include <string.h>

static int is_cut(const struct nb_domain *d, uint64_t lo, int shift)
{
	for (int r = 1; r < d->size; r++)
		if (d->cut[r] > lo && d->cut[r] - lo < (uint64_t)1 << shift)
			return 1;
	return 0;
}

/* As deep as a key has digits. */
static void list_cells(const struct nb_domain *d, uint64_t lo, int shift, struct nb_domain_top *top)
{
	if (is_cut(d, lo, shift)) {
		shift -= d->law.dim;
		for (uint64_t digit = 0; digit < (uint64_t)1 << d->law.dim; digit++)
			list_cells(d, lo + (digit << shift), shift, top);
		return;
	}
	int owner = 0;
	for (int r = 1; r < d->size; r++)
		owner = d->cut[r] <= lo ? r : owner;
	top->cell[top->ncell++] = (struct nb_domain_cell){lo, shift, owner, 0, 0};
}

/* What count_cells needs for a time. */
struct counting {
	uint32_t *count;
	size_t *bytes, *first;
	uint64_t *border;
};

/* Bodies in own cells, which are side by side. */
static int count_own(const struct nb_domain *d, const struct nb_domain_top *top, const struct counting *by)
{
	const size_t begin = top->cell_bound[d->rank], end = top->cell_bound[d->rank + 1];
	if (begin == end)
		return NB_OK;
	for (size_t c = begin; c < end; c++)
		by->border[c - begin] = top->cell[c].lo;
	by->border[end - begin] = top->cell[end - 1].lo + ((uint64_t)1 << top->cell[end - 1].shift);
	const int status = nb_domain_below(d, end - begin + 1, by->border, by->first);
	for (size_t c = begin; !status && c < end; c++)
		by->count[c] = (uint32_t)(by->first[c - begin + 1] - by->first[c - begin]);
	return status;
}

/* All ranks tell how many bodies they have in their cells. */
static int count_cells(const struct nb_domain *d, struct nb_domain_top *top)
{
	const struct counting by = {.count = nb_alloc(top->ncell, sizeof *by.count),
		.bytes = nb_alloc((size_t)d->size + 1, sizeof *by.bytes),
		.first = nb_alloc(top->ncell + 1, sizeof *by.first),
		.border = nb_alloc(top->ncell + 1, sizeof *by.border)};
	int status = by.count && by.bytes && by.first && by.border ? NB_OK : NB_ENOMEM;
	for (size_t c = 0, r = 0; !status && r <= (size_t)d->size; r++) {
		while (c < top->ncell && top->cell[c].owner < (int)r)
			c++;
		top->cell_bound[r] = c;
		by.bytes[r] = c * sizeof *by.count;
	}
	status = nb_domain_agree(status ? status : count_own(d, top, &by));
	if (!status) {
		nb_ranks_collect(by.count, by.bytes);
		nb_ranks_wait_all();
		uint32_t first = 0;
		for (size_t c = 0; c < top->ncell; c++) {
			top->cell[c].count = by.count[c];
			top->cell[c].first = first;
			first += by.count[c];
		}
	}
	nb_free_all(by.count, by.bytes, by.first, by.border);
	return status;
}

/* ---- the top ------------------------------------------------------------------------------------ */

static struct nb_domain_slot narrow(const struct nb_domain_top *top, size_t begin, size_t end)
{
	while (begin < end && top->cell[begin].count == 0)
		begin++;
	while (begin < end && top->cell[end - 1].count == 0)
		end--;
	return (struct nb_domain_slot){begin, end, 0, 0};
}

static void find_slots(const struct nb_domain *d, struct nb_domain_top *top)
{
	const int dim = d->law.dim;
	const struct nb_domain_cell *cell = top->cell;
	uint32_t n = 1;
	top->slot[0] = narrow(top, 0, top->ncell);
	for (uint32_t i = 0; i < n; i++) {
		struct nb_domain_slot *s = &top->slot[i];
		if (s->end - s->begin < 2)
			continue;
		const uint64_t differ = cell[s->begin].lo ^ cell[s->end - 1].lo;
		const int shift = (63 - __builtin_clzll(differ)) / dim * dim;
		s->child = n;
		for (size_t c = s->begin, next; c < s->end; c = next) {
			for (next = c; next < s->end && cell[next].lo >> shift == cell[c].lo >> shift; next++)
				;
			const struct nb_domain_slot child = narrow(top, c, next);
			if (child.begin < child.end)
				top->slot[n++] = child;
		}
		s->nchild = n - s->child;
	}
	top->nslot = n;
}

int nb_domain_find_top(const struct nb_domain *d, struct nb_domain_top *top)
{
	/* at each digit a cut leaves the other cells of its digit */
	const size_t digits = (size_t)nb_domain_key_bits(d) / (size_t)d->law.dim, parts = (size_t)1 << d->law.dim,
		     most = 1 + (size_t)(d->size - 1) * digits * (parts - 1);
	*top = (struct nb_domain_top){.cell = nb_alloc(most, sizeof *top->cell),
		.slot = nb_alloc(2 * most, sizeof *top->slot),
		.cell_bound = nb_alloc((size_t)d->size + 1, sizeof *top->cell_bound)};
	int status = nb_domain_agree(top->cell && top->slot && top->cell_bound ? NB_OK : NB_ENOMEM);
	if (status)
		return status;
	list_cells(d, 0, nb_domain_key_bits(d), top);
	status = count_cells(d, top);
	if (!status)
		find_slots(d, top);
	return status;
}

void nb_domain_top_free(struct nb_domain_top *top)
{
	nb_free_all(top->cell, top->slot, top->cell_bound);
	*top = (struct nb_domain_top){.cell = NULL};
}

enum nb_domain_kind nb_domain_kind_of(
	const struct nb_domain *d, const struct nb_domain_top *top, uint32_t slot, uint32_t *count)
{
	const struct nb_domain_slot *s = &top->slot[slot];
	*count = 0;
	for (size_t c = s->begin; c < s->end; c++)
		*count += top->cell[c].count;
	return s->nchild > 0						   ? NB_DOMAIN_TOP
	       : s->begin < s->end && top->cell[s->begin].owner == d->rank ? NB_DOMAIN_OWN
									   : NB_DOMAIN_ELSEWHERE;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static void free_nodes(struct nb_tree *sub, size_t n)
{
	for (size_t k = 0; sub && k < n; k++)
		nb_tree_free(&sub[k]);
	nb_free(sub);
}

/* A tree of the bodies of each own cell. */
static int grow_cells(const struct nb_domain *d, const struct nb_domain_top *top, struct nb_tree *sub)
{
	const size_t own = d->bound[d->rank], *bound = top->cell_bound;
	int status = NB_OK;
	for (size_t c = bound[d->rank]; !status && c < bound[d->rank + 1]; c++) {
		const size_t first = top->cell[c].first - own;
		status = nb_tree_build_cpu(top->cell[c].count, d->key + first, d->pos + 3 * first, d->mass + first,
			d->law.dim, &d->cube, d->law.leaf_size, d->law.tree_order, &sub[c - bound[d->rank]]);
	}
	return status;
}

static int allocate_nodes(const struct nb_domain *d, struct nb_tree *tree, size_t n)
{
	int missing = 0;
	*tree = (struct nb_tree){.nnode = n,
		.dim = d->law.dim,
		.leaf_size = d->law.leaf_size,
		.order = d->law.tree_order,
		.cube = d->cube};
#define NB_NODE_COLUMN(type, member, components, least)                  \
	if (tree->order >= (least)) {                                    \
		tree->member = nb_alloc(n, (components) * sizeof(type)); \
		missing |= !tree->member;                                \
	}
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	return missing ? NB_ENOMEM : NB_OK;
}

/* Nodes from .. from + n - 1 of a cell's tree become those from `to` on; it begins with body `first`, and its children
 * from node 1 on are those from `rest` on. */
static void copy_nodes(
	const struct nb_tree *sub, size_t from, size_t n, struct nb_tree *tree, size_t to, uint32_t first, size_t rest)
{
#define NB_NODE_COLUMN(type, member, components, least)                                     \
	if (tree->order >= (least))                                                         \
		memcpy(tree->member + to * (components), sub->member + from * (components), \
			n * (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	for (size_t i = to; i < to + n; i++) {
		tree->first[i] += first;
		tree->child[i] = tree->nchild[i] ? (uint32_t)(rest + tree->child[i] - 1) : 0;
	}
}

/* What is known of a slot. */
static void fill_slot(const struct nb_domain *d, const struct nb_domain_top *top, uint32_t i, struct nb_domain_tree *t)
{
	const struct nb_domain_slot *s = &top->slot[i];
	t->kind[i] = (uint8_t)nb_domain_kind_of(d, top, i, &t->tree.count[i]);
	t->cell[i] = (uint32_t)s->begin;
	t->tree.first[i] = top->cell[s->begin].first;
	t->tree.child[i] = s->child;
	t->tree.nchild[i] = s->nchild;
}

static int join(
	const struct nb_domain *d, const struct nb_domain_top *top, const struct nb_tree *sub, struct nb_domain_tree *t)
{
	const size_t own = top->cell_bound[d->rank], end = top->cell_bound[d->rank + 1];
	size_t nnode = t->nslot, next = t->nslot;
	for (size_t c = own; c < end; c++)
		nnode += sub[c - own].nnode ? sub[c - own].nnode - 1 : 0;
	t->kind = nb_alloc(t->nslot, sizeof *t->kind);
	t->cell = nb_alloc(t->nslot, sizeof *t->cell);
	if (!t->kind || !t->cell || allocate_nodes(d, &t->tree, nnode))
		return NB_ENOMEM;
	for (uint32_t i = 0; i < t->nslot; i++) {
		fill_slot(d, top, i, t);
		if (t->kind[i] != NB_DOMAIN_OWN)
			continue;
		const size_t c = t->cell[i];
		const struct nb_tree *from = &sub[c - own];
		copy_nodes(from, 0, 1, &t->tree, i, top->cell[c].first, next);
		copy_nodes(from, 1, from->nnode - 1, &t->tree, next, top->cell[c].first, next);
		next += from->nnode - 1;
	}
	return NB_OK;
}

int nb_domain_grow(const struct nb_domain *d, struct nb_domain_tree *t)
{
	struct nb_domain_top top;
	struct nb_tree *sub = NULL;
	size_t nsub = 0;
	int status = nb_domain_find_top(d, &top);
	if (!status) {
		t->nslot = top.nslot;
		t->ncell = top.ncell;
		nsub = top.cell_bound[d->rank + 1] - top.cell_bound[d->rank];
		sub = nb_alloc_zero(nsub, sizeof *sub);
		status = sub ? grow_cells(d, &top, sub) : NB_ENOMEM;
		status = status ? status : join(d, &top, sub, t);
		status = nb_domain_agree(status);
	}
	if (!status) {
		t->cell_bound = top.cell_bound;
		top.cell_bound = NULL;
	}
	free_nodes(sub, nsub);
	nb_domain_top_free(&top);
	return status;
}

void nb_domain_tree_free(struct nb_domain_tree *t)
{
	nb_tree_free(&t->tree);
	nb_free_all(t->kind, t->cell, t->cell_bound);
}
