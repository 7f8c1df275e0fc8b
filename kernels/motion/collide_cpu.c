/* The contacts of one drift, in their order, found through a tree of boxes.
 *
 * Bodies are sorted along a Z-order curve of the middles of their paths; eight in a row share a leaf of a complete
 * binary tree, whose nodes hold the boxes around the paths.  Leaf by leaf and in parallel, each body finds the first
 * contact of its path with any other.  A heap of these gives the first contact of all; it changes the paths of two
 * bodies, for which new boxes and first contacts are computed, and so on.  Every pair is watched by that one of the two
 * that changed last.  So a contact whose partner has changed its path meanwhile is no longer one: when its turn comes,
 * the body looks for the first contact with those that have not changed since.
 *
 * Where many bodies overlap, most contacts happen at once: at the time of the contact before.  Nothing can come
 * earlier, so of those of one body the first is that with the partner of the smallest id.  The nodes therefore hold the
 * smallest id below them as well: a search goes to the smaller one first, and leaves out what comes after a contact
 * that it has.  All this begins after n/64 contacts: where there are few, it would not pay.  A body that may have no
 * more contacts leaves the tree.
 *
 * Mergers begin with the bodies that overlap, which are joined in a forest of sets (union and find).  To be fast
 * where very many do, neighbours on the curve are joined first, and a node is not searched for partners of a leaf
 * if all bodies of both are in one set already.
 *
 * Parallel are the order, the tree, and the search of all leaves for first contacts or overlaps, in which threads join
 * sets at the same time; one thread makes one body of each set, and takes contacts from the heap.  The arithmetic of a
 * contact and of a merger is in collide_internal.h, shared with the search through all pairs (collide_ref.c).
 *
 * Sections: tree of boxes, sets, searching, mergers at the beginning, one contact after the other, all of it. */
#include "kernels/motion/collide_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/order/order.h"

#define LAST UINT64_MAX

enum {
	LANES = 8,	 /* bodies in a leaf */
	STACK = 80,	 /* nodes of a depth-first search: at most one a level waits */
	GRAIN = 16,	 /* leaves that a thread takes at a time */
	UNLABELLED = 64, /* labels are worth making after n over this contacts */
};

/* lower corner, then the upper one with the sign turned: two boxes meet if each number of one is at most the
 * reach of the other, which is the same numbers in the other order with the signs turned */
struct box {
	double c[6];
};

struct leaf {
	double c[6][LANES];
};

/* the paths of the bodies of a leaf, side by side */
struct course {
	double q[3][LANES], u[3][LANES], t[LANES];
};

struct heap {
	struct entry {
		struct nb_contact contact; /* of a, found when a and b had changed so many times */
		uint32_t changes_a, changes_b;
	} * entry;
	size_t n, size;
};

struct work {
	struct nb_collide_state x;
	size_t nleaf, top;	  /* top: leaves of the complete tree */
	struct box *node;	  /* 2 top; children of node i: 2 i and 2 i + 1; root: 1; leaf l: top + l */
	struct leaf *leaf;	  /* nleaf */
	struct nb_contact *first; /* n: first contact of each body */
	uint64_t *turn;		  /* n: number of the contact that changed the body last; 0: none */
	uint64_t turns;		  /* contacts so far */
	int labelled;		  /* else all labels are 0 and say nothing, and there are no courses */
	uint64_t *label;	  /* n: ids, or rows where there are none; LAST for bodies that touch nothing more */
	uint64_t *least;	  /* 2 top: the smallest label of a node */
	struct course *course;	  /* nleaf */
	uint32_t *set;		  /* n, mergers: the set of a body: its parent in the forest, itself at the root */
	uint32_t *whole;	  /* 2 top, mergers: a body of the node if all of them are in one set, else NB_NOBODY */
	double *middle;		  /* n x 3: of the paths */
	uint64_t *key;		  /* n: Z-order */
	uint32_t *perm;		  /* n */
	struct heap heap;
};

/* ---- tree of boxes ---------------------------------------------------------------------------------- */

/* two numbers at a time, which every x86-64 compares at once */
typedef double duo __attribute__((vector_size(16), aligned(8), may_alias));
typedef long long duo_mask __attribute__((vector_size(16)));

static inline duo two(const double *x)
{
	return *(const duo *)x;
}

static inline int meet(const struct box *node, const struct box *reach)
{
	const double *a = node->c, *b = reach->c;
	const duo_mask all = (two(a) <= two(b)) & (two(a + 2) <= two(b + 2)) & (two(a + 4) <= two(b + 4));
	return (all[0] & all[1]) != 0;
}

static inline struct box reach_of(const struct box *b)
{
	return (struct box){{-b->c[3], -b->c[4], -b->c[5], -b->c[0], -b->c[1], -b->c[2]}};
}

/* One bit for each body of the leaf whose box meets. */
static inline unsigned meet_leaf(const struct leaf *leaf, const struct box *reach)
{
	duo_mask all[LANES / 2], any = {0, 0};
	unsigned bits = 0;
	for (int l = 0; l < LANES / 2; l++) {
		all[l] = (duo_mask){-1, -1};
		for (int k = 0; k < 6; k++)
			all[l] &= two(leaf->c[k] + 2 * l) <= (duo){reach->c[k], reach->c[k]};
		any |= all[l];
	}
	if (!(any[0] | any[1]))
		return 0;
	for (unsigned l = 0; l < LANES; l++)
		bits |= (unsigned)(all[l / 2][l % 2] & 1) << l;
	return bits;
}

/* Around what is left of the path, with room for the rounding errors of nb_path_contact. */
static struct box path_box(const struct nb_path *path)
{
	struct box box = {{0}};
	double size = path->r, from[3];
	nb_path_place(path, path->t, from);
	for (int k = 0; k < 3; k++)
		size += fabs(path->q[k]) + fabs(path->u[k]);
	const double r = path->r + size * 0x1p-46;
	for (int k = 0; k < 3; k++) {
		const double to = path->q[k] + path->u[k];
		box.c[k] = fmin(from[k], to) - r;
		box.c[3 + k] = -fmax(from[k], to) - r;
	}
	return box;
}

static struct box lane_box(const struct leaf *leaf, unsigned lane)
{
	struct box box = {{0}};
	for (int k = 0; k < 6; k++)
		box.c[k] = leaf->c[k][lane];
	return box;
}

static void set_lane(struct leaf *leaf, unsigned lane, const struct box *box)
{
	for (int k = 0; k < 6; k++)
		leaf->c[k][lane] = box->c[k];
}

static const struct box nowhere = {{INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}};

static void fit_leaf(struct work *w, size_t l)
{
	struct box all = nowhere;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const size_t a = l * LANES + lane;
		const struct box box = a < w->x.c->n ? path_box(&w->x.path[a]) : nowhere;
		set_lane(&w->leaf[l], lane, &box);
		for (int k = 0; k < 6; k++)
			all.c[k] = fmin(all.c[k], box.c[k]);
	}
	w->node[w->top + l] = all;
}

static inline struct box joined(const struct box *a, const struct box *b)
{
	struct box both = {{0}};
	for (int k = 0; k < 6; k++)
		both.c[k] = a->c[k] < b->c[k] ? a->c[k] : b->c[k];
	return both;
}

static void fit_all(struct work *w)
{
#pragma omp parallel for schedule(static) if (w->x.c->n > NB_COLLIDE_PARALLEL)
	for (size_t l = 0; l < w->top; l++) {
		if (l < w->nleaf)
			fit_leaf(w, l);
		else
			w->node[w->top + l] = nowhere;
	}
	for (size_t level = w->top / 2; level > 0; level /= 2) {
#pragma omp parallel for schedule(static) if (level > NB_COLLIDE_PARALLEL)
		for (size_t i = level; i < 2 * level; i++)
			w->node[i] = joined(&w->node[2 * i], &w->node[2 * i + 1]);
	}
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void label_leaf(struct work *w, size_t l)
{
	const size_t end = (l + 1) * LANES < w->x.c->n ? (l + 1) * LANES : w->x.c->n;
	uint64_t least = LAST;
	for (size_t a = l * LANES; a < end; a++)
		least = smaller(least, w->label[a]);
	w->least[w->top + l] = least;
}

/* May the body touch another one?  A merger may always: see nb_collide_contact. */
static inline int may_touch(const struct nb_collide_state *x, uint32_t a)
{
	return x->c->mode == NB_COLLIDE_MERGE || x->mark[a].changes < NB_COLLIDE_MOST;
}

static void set_course(struct work *w, uint32_t a)
{
	const struct nb_path *path = &w->x.path[a];
	struct course *course = &w->course[a / LANES];
	for (int k = 0; k < 3; k++) {
		course->q[k][a % LANES] = path->q[k];
		course->u[k][a % LANES] = path->u[k];
	}
	course->t[a % LANES] = path->t;
}

static void label_all(struct work *w)
{
	const uint64_t *id = w->x.c->id;
	for (uint32_t a = 0; a < w->x.c->n; a++) {
		const uint32_t row = w->x.mark[a].row;
		w->label[a] = !may_touch(&w->x, a) ? LAST : id ? id[row] : row;
		set_course(w, a);
	}
	for (size_t l = 0; l < w->top; l++)
		label_leaf(w, l);
	for (size_t i = w->top - 1; i > 0; i--)
		w->least[i] = smaller(w->least[2 * i], w->least[2 * i + 1]);
	w->labelled = 1;
}

/* After the body has had its last contact: nothing finds it any more. */
static void leave(struct work *w, uint32_t a)
{
	w->label[a] = LAST;
	size_t i = w->top + a / LANES;
	label_leaf(w, a / LANES);
	for (i /= 2; i > 0; i /= 2)
		w->least[i] = smaller(w->least[2 * i], w->least[2 * i + 1]);
}

/* After a contact of one body. */
static void fit_one(struct work *w, uint32_t a)
{
	const int touches = may_touch(&w->x, a);
	const struct box box = touches ? path_box(&w->x.path[a]) : nowhere;
	struct leaf *leaf = &w->leaf[a / LANES];
	size_t i = w->top + a / LANES;
	set_lane(leaf, a % LANES, &box);
	w->node[i] = nowhere;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const struct box other = lane_box(leaf, lane);
		w->node[i] = joined(&w->node[i], &other);
	}
	if (w->labelled) {
		set_course(w, a);
		if (!touches)
			leave(w, a);
	}
	for (i /= 2; i > 0; i /= 2) {
		const struct box both = joined(&w->node[2 * i], &w->node[2 * i + 1]);
		if (memcmp(&both, &w->node[i], sizeof both) == 0)
			break;
		w->node[i] = both;
	}
}

/* ---- sets ------------------------------------------------------------------------------------------- */

/* Threads join sets at the same time: a root is hung below another, smaller one by compare and swap, and paths
 * are halved by stores that all lead towards the root.  Which sets result does not depend on the order. */
static uint32_t root_of(uint32_t *set, uint32_t a)
{
	for (;;) {
		const uint32_t parent = __atomic_load_n(&set[a], __ATOMIC_RELAXED);
		if (parent == a)
			return a;
		const uint32_t above = __atomic_load_n(&set[parent], __ATOMIC_RELAXED);
		if (above == parent)
			return parent;
		__atomic_store_n(&set[a], above, __ATOMIC_RELAXED);
		a = above;
	}
}

static void join(uint32_t *set, uint32_t a, uint32_t b)
{
	for (;;) {
		a = root_of(set, a);
		b = root_of(set, b);
		if (a == b)
			return;
		if (a < b) {
			const uint32_t c = a;
			a = b;
			b = c;
		}
		uint32_t expected = a;
		if (__atomic_compare_exchange_n(&set[a], &expected, b, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

/* Joins neighbours on the curve, and finds the nodes that are in one set thereby. */
static void join_neighbours(struct work *w)
{
	const size_t n = w->x.c->n;
	for (size_t a = 0; a < n; a++) {
		w->set[a] = (uint32_t)a;
		if (a > 0 && nb_path_overlap(&w->x.path[a - 1], &w->x.path[a]))
			w->set[a] = w->set[a - 1];
	}
	for (size_t l = 0; l < w->top; l++) {
		const size_t from = l * LANES, to = from + LANES < n ? from + LANES : n;
		uint32_t body = from < n ? (uint32_t)from : NB_NOBODY;
		for (size_t a = from; a < to; a++)
			if (w->set[a] != w->set[from])
				body = NB_NOBODY;
		w->whole[w->top + l] = body;
	}
	for (size_t i = w->top - 1; i > 0; i--) {
		const uint32_t left = w->whole[2 * i], right = w->whole[2 * i + 1];
		const int one = left != NB_NOBODY && right != NB_NOBODY && w->set[left] == w->set[right];
		w->whole[i] = one ? left : NB_NOBODY;
	}
}

/* ---- searching -------------------------------------------------------------------------------------- */

static inline void consider(const struct nb_collide_state *x, struct nb_contact *best, uint32_t a, uint32_t b)
{
	const struct nb_contact k = {nb_collide_contact(x, a, b), a, b};
	if (k.s <= 1 && (!(best->s <= 1) || nb_contact_before(x, k, *best)))
		*best = k;
}

static const struct nb_contact none = {INFINITY, NB_NOBODY, NB_NOBODY};

/* The largest label that a partner may have to come before the best contact so far: all of them may if that one is
 * later than now.  Equal labels are decided by the rows. */
static inline uint64_t label_before(const struct work *w, const struct nb_contact *best, double now)
{
	return w->labelled && best->s <= now ? w->label[best->b] : LAST;
}

/* One bit for each body of the leaf that a approaches when the later one of the two has its path, by the operations of
 * nb_path_contact: others do not bounce off it. */
static inline unsigned approaching(const struct course *b, const struct nb_path *a)
{
	unsigned bits = 0;
	for (unsigned l = 0; l < LANES; l += 2) {
		const duo since = {a->t, a->t}, other = two(b->t + l);
		const duo_mask theirs = other > since;
		const duo s = (duo)(((duo_mask)other & theirs) | ((duo_mask)since & ~theirs));
		duo dw = {0, 0};
		for (int k = 0; k < 3; k++) {
			const duo w = two(b->u[k] + l) - a->u[k], d = (two(b->q[k] + l) - a->q[k]) + w * s;
			dw = k == 0 ? d * w : dw + d * w;
		}
		const duo_mask towards = dw < (duo){0, 0};
		bits |= (unsigned)(towards[0] & 1) << l | (unsigned)(towards[1] & 1) << (l + 1);
	}
	return bits;
}

/* First contact of one body, not before now, with those that it watches. */
static struct nb_contact search(const struct work *w, uint32_t a, double now)
{
	uint32_t stack[STACK];
	int waiting = 0;
	struct nb_contact best = none;
	uint64_t most = LAST;
	const int parting = w->labelled && w->x.c->mode != NB_COLLIDE_MERGE; /* bodies that part do not touch */
	const struct box own = lane_box(&w->leaf[a / LANES], a % LANES), reach = reach_of(&own);
	for (size_t i = 1;;) {
		if (w->least[i] <= most && meet(&w->node[i], &reach)) {
			if (i < w->top) {
				const size_t next = 2 * i + (w->least[2 * i + 1] < w->least[2 * i]);
				stack[waiting++] = (uint32_t)(next ^ 1);
				i = next;
				continue;
			}
			const uint32_t base = (uint32_t)((i - w->top) * LANES);
			unsigned bits = meet_leaf(&w->leaf[i - w->top], &reach);
			if (bits && parting)
				bits &= approaching(&w->course[i - w->top], &w->x.path[a]);
			for (; bits; bits &= bits - 1) {
				const uint32_t b = base + (uint32_t)__builtin_ctz(bits);
				if (b == a || w->turn[b] > w->turn[a] || w->label[b] > most)
					continue;
				consider(&w->x, &best, a, b);
				most = label_before(w, &best, now);
			}
		}
		if (waiting == 0)
			return best;
		i = stack[--waiting];
	}
}

/* Two leaves that meet: first contacts of the bodies of leaf l; where sets are made, overlaps join them instead. */
static inline void search_pair(struct work *w, size_t l, size_t m, int uniting)
{
	const struct nb_path *path = w->x.path;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint32_t a = (uint32_t)(l * LANES + lane);
		if (a >= w->x.c->n)
			break;
		if (!(path[a].r > 0))
			continue;
		const struct box own = lane_box(&w->leaf[l], lane), reach = reach_of(&own);
		if (!meet(&w->node[w->top + m], &reach))
			continue;
		for (unsigned bits = meet_leaf(&w->leaf[m], &reach); bits; bits &= bits - 1) {
			const uint32_t b = (uint32_t)(m * LANES) + (uint32_t)__builtin_ctz(bits);
			if (b == a)
				continue;
			if (uniting && nb_path_overlap(&path[a], &path[b]))
				join(w->set, a, b);
			else
				consider(&w->x, &w->first[a], a, b);
		}
	}
}

static inline void search_leaf(struct work *w, size_t l, int uniting)
{
	uint32_t stack[STACK];
	int waiting = 0;
	const struct box reach = reach_of(&w->node[w->top + l]);
	const uint32_t mine = uniting ? w->whole[w->top + l] : NB_NOBODY;
	for (size_t i = 1;;) {
		int go = meet(&w->node[i], &reach);
		if (go && mine != NB_NOBODY && w->whole[i] != NB_NOBODY)
			go = root_of(w->set, mine) != root_of(w->set, w->whole[i]);
		if (go && i < w->top) {
			stack[waiting++] = (uint32_t)(2 * i + 1);
			i = 2 * i;
			continue;
		}
		if (go)
			search_pair(w, l, i - w->top, uniting);
		if (waiting == 0)
			return;
		i = stack[--waiting];
	}
}

/* First contacts of all bodies with a size: two points never touch, so these see all. */
static void search_all(struct work *w, int uniting)
{
	const size_t n = w->x.c->n;
#pragma omp parallel for schedule(dynamic, GRAIN) if (n > NB_COLLIDE_PARALLEL)
	for (size_t l = 0; l < w->nleaf; l++) {
		int sized = 0;
		for (size_t a = l * LANES; a < (l + 1) * LANES && a < n; a++) {
			w->first[a] = none;
			sized |= w->x.path[a].r > 0;
		}
		if (sized)
			search_leaf(w, l, uniting);
	}
}

/* ---- mergers at the beginning ----------------------------------------------------------------------- */

struct member {
	uint32_t set, body;
};

static int by_set_and_id(const void *a, const void *b, void *state)
{
	const struct member *k = a, *l = b;
	if (k->set != l->set)
		return k->set < l->set ? -1 : 1;
	return nb_id_before(state, k->body, l->body) ? -1 : nb_id_before(state, l->body, k->body);
}

/* Makes one body of each set; *united: of how many in all. */
static int unite_sets(struct work *w, size_t *united)
{
	const size_t n = w->x.c->n;
	size_t m = 0;
	uint32_t *size = nb_alloc_zero(n, sizeof *size);
	if (!size)
		return NB_ENOMEM;
	for (uint32_t a = 0; a < n; a++)
		size[root_of(w->set, a)]++;
	for (uint32_t a = 0; a < n; a++)
		m += size[root_of(w->set, a)] > 1;
	struct member *member = nb_alloc(m, sizeof *member);
	uint32_t *list = nb_alloc(m, sizeof *list);
	if (!member || !list) {
		nb_free(size);
		nb_free(member);
		nb_free(list);
		return NB_ENOMEM;
	}
	m = 0;
	for (uint32_t a = 0; a < n; a++)
		if (size[root_of(w->set, a)] > 1)
			member[m++] = (struct member){root_of(w->set, a), a};
	qsort_r(member, m, sizeof *member, by_set_and_id, &w->x);
	for (size_t i = 0; i < m; i++)
		list[i] = member[i].body;
	for (size_t i = 0; i < m; i += size[member[i].set])
		nb_collide_unite(&w->x, size[member[i].set], list + i, 0);
	*united = m;
	nb_free(size);
	nb_free(member);
	nb_free(list);
	return NB_OK;
}

/* ---- one contact after the other -------------------------------------------------------------------- */

static void sift_down(const struct nb_collide_state *x, struct heap *heap, size_t i)
{
	const struct entry moving = heap->entry[i];
	for (size_t child = 2 * i + 1; child < heap->n; child = 2 * i + 1) {
		child += child + 1 < heap->n &&
			 nb_contact_before(x, heap->entry[child + 1].contact, heap->entry[child].contact);
		if (!nb_contact_before(x, heap->entry[child].contact, moving.contact))
			break;
		heap->entry[i] = heap->entry[child];
		i = child;
	}
	heap->entry[i] = moving;
}

static int push(struct work *w, struct nb_contact k)
{
	struct heap *heap = &w->heap;
	if (heap->n == heap->size) {
		const size_t size = 2 * heap->size + 64;
		struct entry *grown = realloc(heap->entry, size * sizeof *grown);
		if (!grown)
			return NB_ENOMEM;
		heap->entry = grown;
		heap->size = size;
	}
	const struct entry added = {k, w->x.mark[k.a].changes, w->x.mark[k.b].changes};
	size_t i = heap->n++;
	for (; i > 0 && nb_contact_before(&w->x, k, heap->entry[(i - 1) / 2].contact); i = (i - 1) / 2)
		heap->entry[i] = heap->entry[(i - 1) / 2];
	heap->entry[i] = added;
	return NB_OK;
}

static struct entry pop(struct work *w)
{
	struct heap *heap = &w->heap;
	const struct entry top = heap->entry[0];
	heap->entry[0] = heap->entry[--heap->n];
	if (heap->n > 1)
		sift_down(&w->x, heap, 0);
	return top;
}

/* Watches for the first contact of a body; nothing happens before now any more. */
static int watch(struct work *w, uint32_t a, double now)
{
	if (!may_touch(&w->x, a))
		return NB_OK;
	const struct nb_contact k = search(w, a, now);
	return k.s <= 1 ? push(w, k) : NB_OK;
}

static int run(struct work *w)
{
	const struct nb_mark *mark = w->x.mark;
	const size_t n = w->x.c->n;
	int status = NB_OK;
	memset(w->turn, 0, n * sizeof *w->turn);
	memset(w->label, 0, n * sizeof *w->label);
	memset(w->least, 0, 2 * w->top * sizeof *w->least);
	for (uint32_t a = 0; a < n && !status; a++)
		if (w->first[a].s <= 1)
			status = push(w, w->first[a]);
	while (w->heap.n > 0 && !status) {
		const struct entry next = pop(w);
		const uint32_t a = next.contact.a, b = next.contact.b;
		if (mark[a].changes != next.changes_a)
			continue; /* watched anew since */
		if (mark[b].changes != next.changes_b) {
			status = watch(w, a, next.contact.s);
			continue;
		}
		nb_collide_act(&w->x, next.contact);
		w->turn[a] = w->turn[b] = ++w->turns;
		if (!w->labelled && w->turns > n / UNLABELLED)
			label_all(w);
		fit_one(w, a);
		fit_one(w, b);
		status = watch(w, a, next.contact.s);
		if (!status)
			status = watch(w, b, next.contact.s);
	}
	return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* Puts the bodies into the state along the curve. */
static int load_sorted(struct work *w)
{
	const struct nb_collide *c = w->x.c;
	const size_t n = c->n;
	struct nb_cube cube;
	size_t bad;
#pragma omp parallel for simd schedule(static) if (n > NB_COLLIDE_PARALLEL)
	for (size_t i = 0; i < 3 * n; i++)
		w->middle[i] = c->pos[i] * w->x.scale + c->vel[i] * c->dt * w->x.scale / 2;
	int status = nb_morton_cube_cpu(n, w->middle, 3, &cube, &bad);
	if (!status)
		status = nb_morton_keys_cpu(n, w->middle, 3, &cube, w->key);
	if (!status)
		status = nb_sort_keys_cpu(n, w->key, w->perm);
	if (status)
		return status;
#pragma omp parallel for schedule(static) if (n > NB_COLLIDE_PARALLEL)
	for (uint32_t a = 0; a < n; a++)
		nb_collide_load(&w->x, a, w->perm[a]);
	return NB_OK;
}

static int follow(struct work *w)
{
	const int merging = w->x.c->mode == NB_COLLIDE_MERGE;
	size_t united = 0;
	int status = load_sorted(w);
	if (status)
		return status;
	fit_all(w);
	if (merging)
		join_neighbours(w);
	search_all(w, merging);
	if (merging) {
		status = unite_sets(w, &united);
		if (status)
			return status;
	}
	if (united) {
		fit_all(w);
		search_all(w, 0);
	}
	return run(w);
}

/* The next part of a block; with *at = 0 this adds up the size that the block must have. */
static void *part(uintptr_t *at, size_t count, size_t size)
{
	const uintptr_t here = *at;
	*at += (count * size + 63) / 64 * 64;
	return (void *)here;
}

static size_t lay_out(struct work *w, uintptr_t at)
{
	const uintptr_t begin = at;
	const size_t n = w->x.c->n, merging = w->x.c->mode == NB_COLLIDE_MERGE;
	w->x.path = part(&at, n, sizeof *w->x.path);
	w->x.mark = part(&at, n, sizeof *w->x.mark);
	w->node = part(&at, 2 * w->top, sizeof *w->node);
	w->leaf = part(&at, w->nleaf, sizeof *w->leaf);
	w->first = part(&at, n, sizeof *w->first);
	w->label = part(&at, n, sizeof *w->label);
	w->least = part(&at, 2 * w->top, sizeof *w->least);
	w->turn = part(&at, n, sizeof *w->turn);
	w->course = part(&at, w->nleaf, sizeof *w->course);
	w->middle = part(&at, 3 * n, sizeof *w->middle);
	w->key = part(&at, n, sizeof *w->key);
	w->perm = part(&at, n, sizeof *w->perm);
	w->set = part(&at, merging * n, sizeof *w->set);
	w->whole = part(&at, merging * 2 * w->top, sizeof *w->whole);
	return at - begin;
}

int nb_collide_cpu(const struct nb_collide *c, struct nb_collide_count *count)
{
	struct work w;
	memset(&w, 0, sizeof w);
	int status = nb_collide_begin(&w.x, c);
	if (status)
		return status;
	w.nleaf = (c->n + LANES - 1) / LANES;
	for (w.top = 1; w.top < w.nleaf;)
		w.top *= 2;
	/* one block: large ones are kept for the next call, small ones go back to the system every time */
	void *block = nb_alloc(lay_out(&w, 0), 1);
	if (!block)
		return NB_ENOMEM;
	lay_out(&w, (uintptr_t)block);
	status = follow(&w);
	if (!status)
		nb_collide_end(&w.x, count);
	nb_free(block);
	free(w.heap.entry);
	return status;
}
