/* The part that a rank has of the tree of all bodies (domain.h).
 *
 * The cuts between ranks leave the cube as a list of cells, the largest that none goes through: all ranks know them,
 * and whose they are.  Whatever a cut goes through has more bodies than a leaf, so it is divided in the tree of all
 * bodies, and the bodies of a cell of the list are a node of that tree, with the descendants that they have as a tree
 * of their own.  Above these nodes is the top, which all ranks have; it follows from the keys and the numbers of
 * bodies. */
#include "kernels/tree/domain_internal.h"

#include "common/mem.h"
#include "kernels/ranks/ranks.h"

#include <string.h>

/* The keys lo .. lo + 2^shift - 1. */
struct cell {
	uint64_t lo;
	int shift, owner;
	uint32_t count, first; /* bodies: their number, and the first of them in the order of all */
};

struct cells {
	struct cell *at;
	size_t n;
};

static int is_cut(const struct nb_domain *d, uint64_t lo, int shift)
{
	for (int r = 1; r < d->size; r++)
		if (d->cut[r] > lo && d->cut[r] - lo < (uint64_t)1 << shift)
			return 1;
	return 0;
}

/* As deep as a key has digits. */
static void list_cells(const struct nb_domain *d, uint64_t lo, int shift, struct cells *cells)
{
	if (is_cut(d, lo, shift)) {
		shift -= d->law.dim;
		for (uint64_t digit = 0; digit < (uint64_t)1 << d->law.dim; digit++)
			list_cells(d, lo + (digit << shift), shift, cells);
		return;
	}
	int owner = 0;
	for (int r = 1; r < d->size; r++)
		owner = d->cut[r] <= lo ? r : owner;
	cells->at[cells->n++] = (struct cell){lo, shift, owner, 0, 0};
}

/* All ranks tell how many bodies they have in their cells. */
static int count_cells(const struct nb_domain *d, const struct cells *cells, size_t *cell_bound)
{
	uint32_t *count = nb_alloc(cells->n, sizeof *count);
	size_t *bytes = nb_alloc((size_t)d->size + 1, sizeof *bytes), own = 0;
	int status = nb_domain_agree(count && bytes ? NB_OK : NB_ENOMEM);
	for (size_t c = 0, r = 0; !status && r <= (size_t)d->size; r++) {
		while (c < cells->n && cells->at[c].owner < (int)r)
			c++;
		cell_bound[r] = c;
		bytes[r] = c * sizeof *count;
	}
	if (!status) {
		for (size_t c = cell_bound[d->rank]; c < cell_bound[d->rank + 1]; c++) {
			const uint64_t span = (uint64_t)1 << cells->at[c].shift;
			const size_t begin = own;
			while (own < d->n && d->key[own] - cells->at[c].lo < span)
				own++;
			count[c] = (uint32_t)(own - begin);
		}
		nb_ranks_collect(count, bytes);
		nb_ranks_settle();
		uint32_t first = 0;
		for (size_t c = 0; c < cells->n; c++) {
			cells->at[c].count = count[c];
			cells->at[c].first = first;
			first += count[c];
		}
	}
	nb_free(count);
	nb_free(bytes);
	return status;
}

/* ---- the top ------------------------------------------------------------------------------------ */

/* A slot: a node of the top, of the cells begin .. end - 1, none of which at either end is empty; or a cell. */
struct slot {
	size_t begin, end;
	uint32_t child, nchild;
};

static struct slot narrow(const struct cells *cells, size_t begin, size_t end)
{
	while (begin < end && cells->at[begin].count == 0)
		begin++;
	while (begin < end && cells->at[end - 1].count == 0)
		end--;
	return (struct slot){begin, end, 0, 0};
}

/* Level by level, children of one node side by side.  Returns how many there are. */
static uint32_t find_slots(const struct nb_domain *d, const struct cells *cells, struct slot *slot)
{
	const int dim = d->law.dim;
	uint32_t n = 1;
	slot[0] = narrow(cells, 0, cells->n);
	for (uint32_t i = 0; i < n; i++) {
		struct slot *s = &slot[i];
		if (s->end - s->begin < 2)
			continue;
		const struct cell *cell = cells->at;
		const uint64_t differ = cell[s->begin].lo ^ cell[s->end - 1].lo;
		const int shift = (63 - __builtin_clzll(differ)) / dim * dim;
		s->child = n;
		for (size_t c = s->begin, next; c < s->end; c = next) {
			for (next = c; next < s->end && cell[next].lo >> shift == cell[c].lo >> shift; next++)
				;
			const struct slot child = narrow(cells, c, next);
			if (child.begin < child.end)
				slot[n++] = child;
		}
		s->nchild = n - s->child;
	}
	return n;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static void free_nodes(struct nb_tree *sub, size_t n)
{
	for (size_t k = 0; sub && k < n; k++)
		nb_tree_free(&sub[k]);
	nb_free(sub);
}

/* A tree of the bodies of each own cell. */
static int grow_cells(const struct nb_domain *d, const struct cells *cells, const size_t *bound, struct nb_tree *sub)
{
	const size_t own = d->bound[d->rank];
	int status = NB_OK;
	for (size_t c = bound[d->rank]; !status && c < bound[d->rank + 1]; c++) {
		const size_t first = cells->at[c].first - own;
		status = nb_tree_build_cpu(cells->at[c].count, d->key + first, d->pos + 3 * first, d->mass + first,
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
static void fill_slot(const struct cells *cells, const struct slot *s, struct nb_tree *tree, size_t i)
{
	uint32_t count = 0;
	for (size_t c = s->begin; c < s->end; c++)
		count += cells->at[c].count;
	tree->first[i] = cells->at[s->begin].first;
	tree->count[i] = count;
	tree->child[i] = s->child;
	tree->nchild[i] = s->nchild;
}

static int join(const struct nb_domain *d, const struct cells *cells, const struct slot *slot,
	const struct nb_tree *sub, struct nb_domain_tree *t)
{
	const size_t own = t->cell_bound[d->rank], end = t->cell_bound[d->rank + 1];
	size_t nnode = t->nslot, next = t->nslot;
	for (size_t c = own; c < end; c++)
		nnode += sub[c - own].nnode ? sub[c - own].nnode - 1 : 0;
	t->kind = nb_alloc(t->nslot, sizeof *t->kind);
	t->cell = nb_alloc(t->nslot, sizeof *t->cell);
	if (!t->kind || !t->cell || allocate_nodes(d, &t->tree, nnode))
		return NB_ENOMEM;
	for (uint32_t i = 0; i < t->nslot; i++) {
		const size_t c = slot[i].begin;
		t->cell[i] = (uint32_t)c;
		t->kind[i] = slot[i].nchild > 0		     ? NB_DOMAIN_TOP
			     : cells->at[c].owner == d->rank ? NB_DOMAIN_OWN
							     : NB_DOMAIN_ELSEWHERE;
		fill_slot(cells, &slot[i], &t->tree, i);
		if (t->kind[i] != NB_DOMAIN_OWN)
			continue;
		const struct nb_tree *from = &sub[c - own];
		copy_nodes(from, 0, 1, &t->tree, i, cells->at[c].first, next);
		copy_nodes(from, 1, from->nnode - 1, &t->tree, next, cells->at[c].first, next);
		next += from->nnode - 1;
	}
	return NB_OK;
}

int nb_domain_grow(const struct nb_domain *d, struct nb_domain_tree *t)
{
	/* at each digit a cut leaves the other cells of its digit */
	const size_t digits = (size_t)nb_domain_key_bits(d) / (size_t)d->law.dim, parts = (size_t)1 << d->law.dim,
		     most = 1 + (size_t)(d->size - 1) * digits * (parts - 1);
	struct cells cells = {.at = nb_alloc(most, sizeof *cells.at)};
	struct slot *slot = nb_alloc(2 * most, sizeof *slot);
	struct nb_tree *sub = NULL;
	size_t nsub = 0;
	t->cell_bound = nb_alloc((size_t)d->size + 1, sizeof *t->cell_bound);
	int status = nb_domain_agree(cells.at && slot && t->cell_bound ? NB_OK : NB_ENOMEM);
	if (!status) {
		list_cells(d, 0, nb_domain_key_bits(d), &cells);
		status = count_cells(d, &cells, t->cell_bound);
	}
	if (!status) {
		t->ncell = cells.n;
		t->nslot = find_slots(d, &cells, slot);
		nsub = t->cell_bound[d->rank + 1] - t->cell_bound[d->rank];
		sub = nb_alloc_zero(nsub, sizeof *sub);
		status = sub ? grow_cells(d, &cells, t->cell_bound, sub) : NB_ENOMEM;
		status = status ? status : join(d, &cells, slot, sub, t);
		status = nb_domain_agree(status);
	}
	free_nodes(sub, nsub);
	nb_free(cells.at);
	nb_free(slot);
	return status;
}

void nb_domain_tree_free(struct nb_domain_tree *t)
{
	nb_tree_free(&t->tree);
	nb_free(t->kind);
	nb_free(t->cell);
	nb_free(t->cell_bound);
}
