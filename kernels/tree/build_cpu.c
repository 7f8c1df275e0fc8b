/* Adaptive octree or quadtree over sorted Morton keys, and its multipole moments.
 *
 * A node is a range of bodies whose keys share their leading digits.  It splits at the first digit in
 * which its first and last key differ, so every inner node has at least two children and a chain of
 * single children never exists: the tree has fewer than 2 n nodes.  Where keys end and bodies are still too many for a
 * leaf, they have deeper keys (kernels/order/deep.h), which replace the others from there on.
 * Of order 0 there is the shape alone: first, count, child and nchild.  It needs no masses, and without positions,
 * which may be NULL then, bodies of one key are a leaf, as many as they are.  Built level by level: each part of a
 * level's nodes is split into a buffer of its own, which is copied to where those of the parts before it end.  Moments
 * go upwards, level by level. */
#include "kernels/tree/tree.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "common/lap.h"
#include "common/mem.h"

enum {
	MAX_LEVEL = NB_TREE_LEVELS + 3, /* ends of levels: the root, the empty level that ends the growth, and 0 */
	SERIAL_LEVEL = 64,		/* a level of fewer nodes is not worth a second thread */
	SERIAL_BODIES = 1 << 12,
	LARGE_TIE = 1 << 13
};

struct range {
	uint32_t first, count;
};

/* Ranges in a buffer that grows. */
struct ranges {
	struct range *at;
	size_t n, capacity;
};

/* What a thread makes of a part of a level, in cache lines that no other thread writes. */
struct part {
	struct ranges out; /* children */
	size_t ties;
	int failed;
} __attribute__((aligned(64)));

static int ranges_reserve(struct ranges *r, size_t n)
{
	return nb_reserve(r->at, r->n, n, r->capacity) ? NB_ENOMEM : NB_OK;
}

/* The first of the sorted keys lo .. hi-1 whose digit at shift is >= digit (hi if none); the digits
 * above are the same in all of them. */
static uint32_t lower_bound(const uint64_t *key, uint32_t lo, uint32_t hi, int shift, uint64_t mask, uint64_t digit)
{
	uint32_t count = hi - lo;
	while (count > 0) {
		uint32_t half = count / 2;
		int right = (key[lo + half] >> shift & mask) < digit;
		lo = right ? lo + half + 1 : lo;
		count = right ? count - half - 1 : half;
	}
	return lo;
}

/* Appends the children of a node to out and tells how many; 0 for a leaf, and for a tie, which adds to *ties. */
static uint32_t split(
	const uint64_t *key, struct range node, int dim, uint32_t leaf_size, struct ranges *out, size_t *ties)
{
	if (node.count <= leaf_size)
		return 0;
	uint64_t differ = key[node.first] ^ key[node.first + node.count - 1];
	*ties += !differ;
	if (!differ)
		return 0;
	int shift = (63 - __builtin_clzll(differ)) / dim * dim;
	uint64_t mask = ((uint64_t)1 << dim) - 1;
	uint32_t bound[9];
	uint32_t nbin = 1u << dim;
	bound[0] = node.first;
	bound[nbin] = node.first + node.count;
	for (uint32_t step = nbin / 2; step > 0; step /= 2)
		for (uint32_t d = step; d < nbin; d += 2 * step)
			bound[d] = lower_bound(key, bound[d - step], bound[d + step], shift, mask, d);
	uint32_t nchild = 0;
	for (uint32_t d = 0; d < nbin; d++)
		if (bound[d + 1] > bound[d]) {
			out->at[out->n++] = (struct range){bound[d], bound[d + 1] - bound[d]};
			nchild++;
		}
	return nchild;
}

/* The growing tree: the four integer columns, and where each level begins. */
struct shape {
	struct ranges node;
	uint32_t *nchild, *child; /* as many as node has room for */
	size_t level[MAX_LEVEL];
	int nlevel;
};

static int shape_reserve(struct shape *s, size_t nnode)
{
	size_t capacity = s->node.capacity;
	if (ranges_reserve(&s->node, nnode))
		return NB_ENOMEM;
	if (s->node.capacity == capacity)
		return NB_OK;
	uint32_t *nchild = nb_enlarge(s->nchild, s->node.n, s->node.capacity, sizeof *nchild);
	s->nchild = nchild ? nchild : s->nchild;
	uint32_t *child = nb_enlarge(s->child, s->node.n, s->node.capacity, sizeof *child);
	s->child = child ? child : s->child;
	return nchild && child ? NB_OK : NB_ENOMEM;
}

/* The sorted keys that nodes are made of. */
struct keys {
	size_t n;
	const uint64_t *key;
	uint64_t *deep; /* a copy that ties have deeper keys in; NULL: there is none yet */
	const double *pos;
	int dim;
	uint32_t leaf_size;
	int settled; /* the number of levels whose last one has deeper keys where they help */
};

/* Whether a node is too many bodies for a leaf, all of one key. */
static int is_tie(const struct keys *keys, struct range node)
{
	return node.count > keys->leaf_size && keys->key[node.first] == keys->key[node.first + node.count - 1];
}

/* Gives a tie deeper keys. */
static int deepen_tie(const struct keys *keys, struct range node)
{
	const double *pos = keys->pos + 3 * (size_t)node.first;
	uint64_t *key = keys->deep + node.first;
	int ascend = 1;
	nb_deep_keys_cpu(node.count, NULL, pos, keys->dim, key);
	for (size_t k = 1; k < node.count; k++)
		ascend &= key[k - 1] <= key[k];
	for (size_t k = 0; !ascend && k < 3 * (size_t)node.count; k++)
		if (!isfinite(pos[k]))
			return NB_ENONFINITE;
	return ascend ? NB_OK : NB_EORDER;
}

/* One status of two: of many, the same in any order. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* The ties of the last level get deeper keys.  NB_EORDER: they are not sorted by these. */
static int deepen(const struct shape *s, struct keys *keys, size_t ties)
{
	const size_t lo = s->level[s->nlevel - 1], hi = s->level[s->nlevel];
	if (!keys->deep) {
		keys->deep = nb_alloc(keys->n, sizeof *keys->deep);
		if (!keys->deep)
			return NB_ENOMEM;
		memcpy(keys->deep, keys->key, keys->n * sizeof *keys->deep);
		keys->key = keys->deep;
	}
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic, 16) reduction(max : status) if (ties > 1)
	for (size_t i = lo; i < hi; i++)
		if (s->node.at[i].count < LARGE_TIE && is_tie(keys, s->node.at[i]))
			status = worse(status, deepen_tie(keys, s->node.at[i]));
	for (size_t i = lo; i < hi; i++) /* each by all threads */
		if (s->node.at[i].count >= LARGE_TIE && is_tie(keys, s->node.at[i]))
			status = worse(status, deepen_tie(keys, s->node.at[i]));
	return status;
}

/* Splits the nodes begin .. end - 1. */
static void split_nodes(struct shape *s, const struct keys *keys, size_t begin, size_t end, struct part *part)
{
	part->out.n = part->ties = 0;
	part->failed = 0;
	for (size_t i = begin; i < end && !part->failed; i++) {
		part->failed = ranges_reserve(&part->out, part->out.n + 8);
		if (!part->failed)
			s->nchild[i] = split(
				keys->key, s->node.at[i], keys->dim, keys->leaf_size, &part->out, &part->ties);
	}
}

/* What the parts of a level give, and whether it can be appended. */
struct outcome {
	size_t nnew, ties;
	int failed, fits;
};

static struct outcome outcome_of(
	const struct shape *s, const struct keys *keys, int nlevel, const struct part *part, size_t npart)
{
	struct outcome o = {0, 0, 0, 0};
	for (size_t k = 0; k < npart; k++) {
		o.nnew += part[k].out.n;
		o.ties += part[k].ties;
		o.failed |= part[k].failed;
	}
	o.ties = keys->pos && keys->settled != nlevel ? o.ties : 0;
	o.fits = !o.failed && !o.ties && s->level[nlevel] + o.nnew <= s->node.capacity && nlevel + 1 < MAX_LEVEL;
	return o;
}

/* The children of the nodes begin .. end - 1 become those from next on. */
static void append(struct shape *s, const struct ranges *child, size_t begin, size_t end, size_t next)
{
	if (child->n)
		memcpy(s->node.at + next, child->at, child->n * sizeof *child->at);
	for (size_t i = begin; i < end; i++) {
		s->child[i] = s->nchild[i] ? (uint32_t)next : 0;
		next += s->nchild[i];
	}
}

/* The first of the nodes lo .. hi - 1 that begins at this body or behind it. */
static size_t node_at(const struct shape *s, size_t lo, size_t hi, size_t body)
{
	while (lo < hi) {
		const size_t middle = lo + (hi - lo) / 2;
		if (s->node.at[middle].first < body)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Splits the last level, appends the children as the next one, and goes on: as long as levels are wide or not, and what
 * they give can be appended.  Returns what the last of them gives.  A thread has the nodes of its share of the bodies,
 * at every level. */
static struct outcome grow(struct shape *s, const struct keys *keys, struct part *part, int npart, int wide)
{
	struct outcome last = {0, 0, 0, 0};
#pragma omp parallel num_threads(npart) if (wide)
	{
		const size_t nt = (size_t)omp_get_num_threads(), t = (size_t)omp_get_thread_num();
		struct outcome o = {0, 0, 0, 1};
		int nlevel = s->nlevel;
		size_t lo = s->level[nlevel - 1], n = s->level[nlevel] - lo;
		for (; o.fits && n > 0 && (n >= SERIAL_LEVEL && npart > 1) == wide; lo += n, n = o.nnew, nlevel++) {
			const size_t begin = node_at(s, lo, lo + n, keys->n * t / nt),
				     end = node_at(s, begin, lo + n, keys->n * (t + 1) / nt);
			split_nodes(s, keys, begin, end, &part[t]);
#pragma omp barrier
			o = outcome_of(s, keys, nlevel, part, nt);
			size_t next = lo + n;
			for (size_t k = 0; k < t; k++)
				next += part[k].out.n;
			if (o.fits)
				append(s, &part[t].out, begin, end, next);
			if (t == 0 && o.fits)
				s->level[nlevel + 1] = lo + n + o.nnew;
#pragma omp barrier
		}
		if (t == 0) {
			s->nlevel = nlevel - !o.fits;
			s->node.n = s->level[s->nlevel];
			last = o;
		}
	}
	return last;
}

static int shape_grow(struct shape *s, struct keys *keys, struct part *part, int npart)
{
	int status = NB_OK;
	for (size_t n; !status && (n = s->level[s->nlevel] - s->level[s->nlevel - 1]) > 0;) {
		const struct outcome o = grow(s, keys, part, npart, n >= SERIAL_LEVEL && npart > 1);
		if (o.failed)
			status = NB_ENOMEM;
		else if (o.ties) {
			status = deepen(s, keys, o.ties);
			keys->settled = s->nlevel;
		} else if (!o.fits) /* levels are never too many: every one is half of the one above */
			status = s->nlevel + 1 < MAX_LEVEL ? shape_reserve(s, s->node.n + o.nnew) : NB_ELIMIT;
	}
	return status;
}

/* Allocates the columns for the shape and copies it into them. */
static int columns(struct nb_tree *tree, const struct shape *s)
{
	size_t n = s->node.n;
	tree->nnode = n;
	int missing = 0;
	/* integers are those of every order */
#define NB_NODE_COLUMN(type, member, components, least)                   \
	if (tree->order >= (least) || sizeof(type) == sizeof(uint32_t)) { \
		tree->member = nb_alloc(n, (components) * sizeof(type));  \
		missing |= !tree->member;                                 \
	}
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	if (missing)
		return NB_ENOMEM;
#pragma omp parallel for schedule(static) if (n > SERIAL_BODIES)
	for (size_t i = 0; i < n; i++) {
		tree->first[i] = s->node.at[i].first;
		tree->count[i] = s->node.at[i].count;
		tree->nchild[i] = s->nchild[i];
		tree->child[i] = s->child[i];
	}
	return NB_OK;
}

static void store(const struct nb_tree *tree, size_t i, const struct nb_node_moments *m)
{
	memcpy(tree->box + 6 * i, m->box, sizeof m->box);
	memcpy(tree->com + 3 * i, m->com, sizeof m->com);
	tree->mass[i] = m->mass;
	if (tree->quad)
		memcpy(tree->quad + 6 * i, m->quad, sizeof m->quad);
}

/* Those of node i, of whose children they are known. */
static int moments_of(const struct nb_tree *tree, size_t i, const double *pos, const double *mass)
{
	struct nb_node_moments m;
	int failed = NB_OK;
	if (tree->nchild[i])
		nb_tree_inner_moments(tree, i, &m);
	else
		failed = nb_tree_leaf_moments(tree, i, pos, mass, &m);
	if (failed)
		memset(&m, 0, sizeof m); /* nodes above it are made of it before all are dropped */
	store(tree, i, &m);
	return failed;
}

static int moments(const struct nb_tree *tree, const struct shape *s, size_t n, const double *pos, const double *mass)
{
	int failed = NB_OK, l = s->nlevel - 1, top = 0;
	while (top < l && s->level[top + 1] - s->level[top] < SERIAL_LEVEL)
		top++;
#pragma omp parallel firstprivate(l) reduction(max : failed) if (n > SERIAL_BODIES)
	while (l-- > top) {
#pragma omp for schedule(static)
		for (size_t i = s->level[l]; i < s->level[l + 1]; i++)
			failed = worse(failed, moments_of(tree, i, pos, mass));
	}
	for (size_t i = s->level[top]; i-- > 0;)
		failed = worse(failed, moments_of(tree, i, pos, mass));
	return failed;
}

int nb_tree_build_cpu(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree)
{
	memset(tree, 0, sizeof *tree);
	if ((dim != 2 && dim != 3) || leaf_size < 1 || order < 0 || order > 2)
		return NB_EINVAL;
	if (n > UINT32_MAX / 2)
		return NB_ELIMIT;
	tree->dim = dim;
	tree->leaf_size = leaf_size;
	tree->order = order;
	tree->cube = *cube;
	if (n == 0)
		return NB_OK;

	const char *before = nb_lap("tree");
	struct shape s = {.nlevel = 0};
	struct keys keys = {n, key, NULL, pos, dim, (uint32_t)leaf_size, 0};
	const int npart = n > SERIAL_BODIES ? omp_get_max_threads() : 1;
	struct part *part = nb_alloc_zero((size_t)npart, sizeof *part);
	int status = part ? shape_reserve(&s, (leaf_size < 3 ? 2 * n : 5 * n / (size_t)leaf_size) + 8) : NB_ENOMEM;
	if (!status) {
		s.node.at[0] = (struct range){0, (uint32_t)n};
		s.node.n = 1;
		s.level[0] = 0;
		s.level[1] = 1;
		s.nlevel = 1;
		status = shape_grow(&s, &keys, part, npart);
	}
	for (int k = 0; part && k < npart; k++)
		nb_free(part[k].out.at);
	nb_free_all(part, keys.deep);
	if (!status)
		status = columns(tree, &s);
	nb_lap("moments");
	if (!status && order > 0)
		status = moments(tree, &s, n, pos, mass);
	nb_free_all(s.node.at, s.nchild, s.child);
	if (status)
		nb_tree_free(tree);
	nb_lap(before);
	return status;
}

void nb_tree_free(struct nb_tree *tree)
{
#define NB_NODE_COLUMN(type, member, components, least) nb_free(tree->member);
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	memset(tree, 0, sizeof *tree);
}
