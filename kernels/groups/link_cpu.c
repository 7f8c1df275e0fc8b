/* Friends of friends by a walk of two nodes at a time down one octree, and sets that are joined without locks.
 *
 * A node is "one" if its bodies are known to be in one group: because its tight box is no longer than the linking
 * length, or because its parts turned out to be joined.  Of two nodes that are one, a single pair of friends is enough,
 * and none where they are in one group already; so a dense region costs no more than its surface, whatever the linking
 * length. Nodes of about TASK bodies are linked within themselves in parallel, then the pairs of those, from the
 * deepest level upwards.  The bodies' sets form a forest in parent[]: a root is hung below a smaller one, so the
 * smallest body of a set ends as its root for any schedule. */
#include <stdatomic.h>

#include "common/mem.h"
#include "common/sets.h"
#include "kernels/groups/groups_internal.h"

enum { TASK = 8192, KEPT = 16 };

struct link {
	struct nb_sorted sorted;
	uint32_t *parent;   /* n */
	unsigned char *one; /* of each node */
};

/* ---- sets --------------------------------------------------------------------------------------- */

static inline uint32_t load(_Atomic uint32_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

/* ---- distances ---------------------------------------------------------------------------------- */

/* The bodies of a leaf that matter to others: of bodies in one place the first. */
struct few {
	uint32_t first, n;
	double place[NB_LINK_LEAF][3];
};

/* Joins body i of one leaf and body j of another if they are friends; whether they are in one set then. */
static inline int join_friends(struct link *link, const struct few *a, uint32_t i, const struct few *b, uint32_t j)
{
	const struct nb_link_law *law = &link->sorted.law;
	const double d2 = nb_link_distance2(law, a->place[i], b->place[j]);
	if (d2 > law->high)
		return 0;
	if (!(d2 < law->low)) {
		if (nb_set_root(link->parent, a->first + i) == nb_set_root(link->parent, b->first + j))
			return 1;
		if (!nb_exact_friends(law, a->place[i], b->place[j]))
			return 0;
	}
	nb_set_join(link->parent, a->first + i, b->first + j);
	return 1;
}

/* Whether no body of one box can be a friend of one of the other. */
static int are_apart(const struct nb_link_law *law, const double *a, const double *b)
{
	return nb_link_gap2(law, a, b) > law->high;
}

static int is_short(const struct nb_link_law *law, const double *box)
{
	double d2 = 0;
	for (int k = 0; k < law->dim; k++)
		d2 += (box[k + 3] - box[k]) * (box[k + 3] - box[k]);
	return d2 < law->low;
}

static int is_point(const struct nb_link_law *law, const double *box)
{
	int same = 1;
	for (int k = 0; k < law->dim; k++)
		same &= box[k] == box[k + 3];
	return same;
}

/* ---- the walk ----------------------------------------------------------------------------------- */

/* The leaves that a task has looked at last: its neighbours come several times. */
struct leaves {
	size_t node[KEPT];
	struct few few[KEPT];
};

static void forget(struct leaves *leaves)
{
	for (int k = 0; k < KEPT; k++)
		leaves->node[k] = SIZE_MAX;
}

static const struct few *leaf_of(const struct link *link, struct leaves *leaves, size_t node)
{
	struct few *few = &leaves->few[node % KEPT];
	if (leaves->node[node % KEPT] == node)
		return few;
	leaves->node[node % KEPT] = node;
	const int point = is_point(&link->sorted.law, link->sorted.tree.box + 6 * node);
	few->first = link->sorted.tree.first[node];
	few->n = point ? 1 : link->sorted.tree.count[node];
	for (uint32_t i = 0; i < few->n; i++)
		nb_sorted_place(&link->sorted, few->first + i, few->place[i]);
	return few;
}

/* a and b differ. */
static int link_leaves(struct link *link, struct leaves *leaves, size_t a, size_t b)
{
	const int one_a = link->one[a], both = one_a && link->one[b];
	int linked = 0;
	struct few copy; /* a may have the place of b */
	const struct few *few_b = leaf_of(link, leaves, b);
	if (a % KEPT == b % KEPT) {
		copy = *few_b;
		few_b = &copy;
	}
	const struct few *few_a = leaf_of(link, leaves, a);
	for (uint32_t j = 0; j < few_b->n; j++)
		for (uint32_t i = 0; i < few_a->n; i++) {
			const int friends = join_friends(link, few_a, i, few_b, j);
			linked |= friends;
			if (friends && both)
				return 1;
			if (friends && one_a)
				break;
		}
	return linked;
}

/* Whether any of their bodies are known to be in one set afterwards. */
static int link_pair(struct link *link, struct leaves *leaves, size_t a, size_t b)
{
	const struct nb_tree *tree = &link->sorted.tree;
	if (are_apart(&link->sorted.law, link->sorted.tree.box + 6 * a, link->sorted.tree.box + 6 * b))
		return 0;
	const int both = link->one[a] && link->one[b];
	if (both && nb_set_root(link->parent, tree->first[a]) == nb_set_root(link->parent, tree->first[b]))
		return 1;
	if (!tree->nchild[a] && !tree->nchild[b])
		return link->one[b] ? link_leaves(link, leaves, b, a) : link_leaves(link, leaves, a, b);
	const int divide_b = !tree->nchild[a] || (tree->nchild[b] && tree->count[b] > tree->count[a]);
	const size_t divided = divide_b ? b : a, other = divide_b ? a : b;
	int linked = 0;
	for (uint32_t c = 0; c < tree->nchild[divided] && !(linked && both); c++)
		linked |= link_pair(link, leaves, tree->child[divided] + c, other);
	return linked;
}

static void mark_if_joined(struct link *link, size_t node)
{
	const struct nb_tree *tree = &link->sorted.tree;
	const uint32_t root = nb_set_root(link->parent, tree->first[node]);
	int one = 1;
	if (tree->nchild[node])
		for (uint32_t c = tree->child[node]; one && c < tree->child[node] + tree->nchild[node]; c++)
			one = link->one[c] && nb_set_root(link->parent, tree->first[c]) == root;
	else
		for (uint32_t i = 1; one && i < tree->count[node]; i++)
			one = nb_set_root(link->parent, tree->first[node] + i) == root;
	link->one[node] = (unsigned char)one;
}

static void link_within(struct link *link, struct leaves *leaves, size_t node)
{
	const struct nb_tree *tree = &link->sorted.tree;
	const uint32_t first = tree->first[node], count = tree->count[node], child = tree->child[node];
	if (link->one[node]) {
		for (uint32_t i = 1; i < count; i++)
			nb_set_join(link->parent, first, first + i);
		return;
	}
	if (!tree->nchild[node]) {
		const struct few *few = leaf_of(link, leaves, node);
		for (uint32_t j = 1; j < few->n; j++)
			for (uint32_t i = 0; i < j; i++)
				(void)join_friends(link, few, i, few, j);
	}
	for (uint32_t c = 0; c < tree->nchild[node]; c++)
		link_within(link, leaves, child + c);
	for (uint32_t c = 1; c < tree->nchild[node]; c++)
		for (uint32_t d = 0; d < c; d++)
			(void)link_pair(link, leaves, child + d, child + c);
	mark_if_joined(link, node);
}

/* ---- shared by threads -------------------------------------------------------------------------- */

struct pairs {
	size_t n, room;
	uint32_t (*at)[2];
};

/* Divides a pair of nodes into pairs that threads may take. */
static int add_pairs(const struct link *link, struct pairs *pairs, size_t a, size_t b)
{
	const struct nb_tree *tree = &link->sorted.tree;
	if (are_apart(&link->sorted.law, link->sorted.tree.box + 6 * a, link->sorted.tree.box + 6 * b))
		return NB_OK;
	const int divide_b = tree->count[b] > tree->count[a];
	const size_t divided = divide_b ? b : a, other = divide_b ? a : b;
	if (tree->count[divided] > TASK && tree->nchild[divided] && !(link->one[a] && link->one[b])) {
		int status = NB_OK;
		for (uint32_t c = 0; !status && c < tree->nchild[divided]; c++)
			status = add_pairs(link, pairs, tree->child[divided] + c, other);
		return status;
	}
	if (nb_reserve(pairs->at, pairs->n, pairs->n + 1, pairs->room))
		return NB_ENOMEM;
	pairs->at[pairs->n][0] = (uint32_t)a;
	pairs->at[pairs->n++][1] = (uint32_t)b;
	return NB_OK;
}

/* Links the parts of the large nodes of one level, which are linked within themselves. */
static int link_level(struct link *link, const uint32_t *node, size_t n, struct pairs *pairs)
{
	const struct nb_tree *tree = &link->sorted.tree;
	pairs->n = 0;
	for (size_t k = 0; k < n; k++)
		for (uint32_t c = 1; c < tree->nchild[node[k]]; c++)
			for (uint32_t d = 0; d < c; d++)
				if (add_pairs(link, pairs, tree->child[node[k]] + d, tree->child[node[k]] + c))
					return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic)
	for (size_t k = 0; k < pairs->n; k++) {
		struct leaves leaves;
		forget(&leaves);
		(void)link_pair(link, &leaves, pairs->at[k][0], pairs->at[k][1]);
	}
	for (size_t k = 0; k < n; k++)
		mark_if_joined(link, node[k]);
	return NB_OK;
}

/* Nodes of more than TASK bodies that are not one, level by level from the root, and the others below them. */
struct front {
	uint32_t *large, *small;
	size_t nlarge, nsmall;
};

static int make_front(const struct link *link, struct front *front)
{
	const struct nb_tree *tree = &link->sorted.tree;
	size_t most = 0; /* children of an octree are 8 at most */
#pragma omp parallel for reduction(+ : most)
	for (size_t k = 0; k < tree->nnode; k++)
		most += tree->count[k] > TASK && tree->nchild[k];
	front->large = nb_alloc(most, sizeof *front->large);
	front->small = nb_alloc(8 * most + 1, sizeof *front->small);
	if (!front->large || !front->small)
		return NB_ENOMEM;
	for (size_t k = 0; k <= front->nlarge; k++) {
		const size_t from = k ? tree->child[front->large[k - 1]] : 0;
		const size_t count = k ? tree->nchild[front->large[k - 1]] : 1;
		for (size_t c = from; c < from + count; c++)
			if (tree->count[c] > TASK && tree->nchild[c] && !link->one[c])
				front->large[front->nlarge++] = (uint32_t)c;
			else
				front->small[front->nsmall++] = (uint32_t)c;
	}
	return NB_OK;
}

static int walk(struct link *link)
{
	const struct nb_tree *tree = &link->sorted.tree;
	struct front front = {0};
	struct pairs pairs = {0};
#pragma omp parallel for
	for (size_t i = 0; i < link->sorted.n; i++)
		link->parent[i] = (uint32_t)i;
#pragma omp parallel for
	for (size_t k = 0; k < tree->nnode; k++)
		link->one[k] = is_short(&link->sorted.law, link->sorted.tree.box + 6 * k) ||
			       is_point(&link->sorted.law, link->sorted.tree.box + 6 * k);
	int status = make_front(link, &front);
	if (!status) {
#pragma omp parallel for schedule(dynamic)
		for (size_t k = 0; k < front.nsmall; k++) {
			struct leaves leaves;
			forget(&leaves);
			link_within(link, &leaves, front.small[k]);
		}
	}
	/* a level: nodes of which none is below another, as children come behind the last node of their level */
	for (size_t end = front.nlarge; !status && end > 0;) {
		size_t from = end - 1;
		while (from > 0 && tree->child[front.large[from - 1]] > front.large[end - 1])
			from--;
		status = link_level(link, front.large + from, end - from, &pairs);
		end = from;
	}
	nb_free_all(front.large, front.small, pairs.at);
	return status;
}

/* ---- labels -------------------------------------------------------------------------------------- */

/* The smallest row of each set, by its root, then of each body. */
static int set_labels(struct link *link, uint32_t *label)
{
	_Atomic uint32_t *smallest = nb_alloc(link->sorted.n, sizeof *smallest);
	if (!smallest)
		return NB_ENOMEM;
#pragma omp parallel for
	for (size_t i = 0; i < link->sorted.n; i++)
		atomic_store_explicit(&smallest[i], UINT32_MAX, memory_order_relaxed);
#pragma omp parallel for
	for (size_t i = 0; i < link->sorted.n; i++) {
		_Atomic uint32_t *least = &smallest[nb_set_root(link->parent, (uint32_t)i)];
		uint32_t row = load(least);
		while (row > link->sorted.perm[i] &&
			!atomic_compare_exchange_weak_explicit(
				least, &row, link->sorted.perm[i], memory_order_relaxed, memory_order_relaxed))
			;
	}
#pragma omp parallel for
	for (size_t i = 0; i < link->sorted.n; i++)
		label[link->sorted.perm[i]] = load(&smallest[nb_set_root(link->parent, (uint32_t)i)]);
	nb_free(smallest);
	return NB_OK;
}

int nb_groups_link_reals_cpu(size_t n, struct nb_reals pos, int dim, double length, double box, uint32_t *label)
{
	struct link link = {.sorted = {.law = nb_link_law_of(dim, length, box), .n = n}};
	if (n == 0)
		return NB_OK;
	int status = nb_sorted_make(&link.sorted, pos);
	if (!status) {
		link.one = nb_alloc(link.sorted.tree.nnode, 1);
		link.parent = nb_alloc(n, sizeof *link.parent);
		status = link.one && link.parent ? walk(&link) : NB_ENOMEM;
	}
	nb_tree_free(&link.sorted.tree);
	nb_free(link.one);
	if (!status)
		status = set_labels(&link, label);
	nb_sorted_free(&link.sorted);
	nb_free(link.parent);
	return status;
}

int nb_groups_link_cpu(size_t n, const double *pos, int dim, double length, double box, uint32_t *label)
{
	return nb_groups_link_reals_cpu(n, (struct nb_reals){.f64 = pos}, dim, length, box, label);
}
