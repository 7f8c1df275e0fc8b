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
 * The tree of boxes is in collide_tree_cpu.c, the sets are in collide_sets_cpu.c; here are searching, one contact after
 * the other, and all of it. */
#include "kernels/motion/collide_work_internal.h"

#include <string.h>

#include "common/mem.h"
#include "kernels/order/order.h"

enum {
	STACK = 80,	 /* nodes of a depth-first search: at most one a level waits */
	GRAIN = 16,	 /* leaves that a thread takes at a time */
	UNLABELLED = 64, /* labels are worth making after n over this contacts */
};

/* ---- searching -------------------------------------------------------------------------------------- */

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

static inline void consider(const struct nb_collide_state *x, struct nb_contact *best, uint32_t a, uint32_t b)
{
	const struct nb_contact k = {nb_collide_contact(x, a, b), a, b};
	if (k.s <= 1 && (!(best->s <= 1) || nb_contact_before(x, k, *best)))
		*best = k;
}

static const struct nb_contact none = {INFINITY, NB_NOBODY, NB_NOBODY};

/* The largest label that a partner may have to come before the best contact so far: all of them may if that one is
 * later than now.  Equal labels are decided by the rows. */
static inline uint64_t label_before(const struct nb_collide_work *w, const struct nb_contact *best, double now)
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
static struct nb_contact search(const struct nb_collide_work *w, uint32_t a, double now)
{
	uint32_t stack[STACK];
	int waiting = 0;
	struct nb_contact best = none;
	uint64_t most = LAST;
	const int parting = w->labelled && w->x.c->mode != NB_COLLIDE_MERGE; /* bodies that part do not touch */
	const struct box own = nb_collide_lane_box(&w->leaf[a / LANES], a % LANES), reach = reach_of(&own);
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
static inline void search_pair(struct nb_collide_work *w, size_t l, size_t m, int uniting)
{
	const struct nb_path *path = w->x.path;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint32_t a = (uint32_t)(l * LANES + lane);
		if (a >= w->x.c->n)
			break;
		if (!(path[a].r > 0))
			continue;
		const struct box own = nb_collide_lane_box(&w->leaf[l], lane), reach = reach_of(&own);
		if (!meet(&w->node[w->top + m], &reach))
			continue;
		for (unsigned bits = meet_leaf(&w->leaf[m], &reach); bits; bits &= bits - 1) {
			const uint32_t b = (uint32_t)(m * LANES) + (uint32_t)__builtin_ctz(bits);
			if (b == a)
				continue;
			if (uniting && nb_path_overlap(&path[a], &path[b]))
				nb_set_join(w->set, a, b);
			else
				consider(&w->x, &w->first[a], a, b);
		}
	}
}

static inline void search_leaf(struct nb_collide_work *w, size_t l, int uniting)
{
	uint32_t stack[STACK];
	int waiting = 0;
	const struct box reach = reach_of(&w->node[w->top + l]);
	const uint32_t mine = uniting ? w->whole[w->top + l] : NB_NOBODY;
	for (size_t i = 1;;) {
		int go = meet(&w->node[i], &reach);
		if (go && mine != NB_NOBODY && w->whole[i] != NB_NOBODY)
			go = nb_set_root(w->set, mine) != nb_set_root(w->set, w->whole[i]);
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
static void search_all(struct nb_collide_work *w, int uniting)
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

static int push(struct nb_collide_work *w, struct nb_contact k)
{
	struct heap *heap = &w->heap;
	if (nb_reserve(heap->entry, heap->n, heap->n + 1, heap->size))
		return NB_ENOMEM;
	const struct entry added = {k, w->x.mark[k.a].changes, w->x.mark[k.b].changes};
	size_t i = heap->n++;
	for (; i > 0 && nb_contact_before(&w->x, k, heap->entry[(i - 1) / 2].contact); i = (i - 1) / 2)
		heap->entry[i] = heap->entry[(i - 1) / 2];
	heap->entry[i] = added;
	return NB_OK;
}

static struct entry pop(struct nb_collide_work *w)
{
	struct heap *heap = &w->heap;
	const struct entry top = heap->entry[0];
	heap->entry[0] = heap->entry[--heap->n];
	if (heap->n > 1)
		sift_down(&w->x, heap, 0);
	return top;
}

/* Watches for the first contact of a body; nothing happens before now any more. */
static int watch(struct nb_collide_work *w, uint32_t a, double now)
{
	if (!nb_collide_may_touch(&w->x, a))
		return NB_OK;
	const struct nb_contact k = search(w, a, now);
	return k.s <= 1 ? push(w, k) : NB_OK;
}

static int run(struct nb_collide_work *w)
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
			nb_collide_label_all(w);
		nb_collide_fit_one(w, a);
		nb_collide_fit_one(w, b);
		status = watch(w, a, next.contact.s);
		if (!status)
			status = watch(w, b, next.contact.s);
	}
	return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* Puts the bodies into the state along the curve. */
static int load_sorted(struct nb_collide_work *w)
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

static int follow(struct nb_collide_work *w)
{
	const int merging = w->x.c->mode == NB_COLLIDE_MERGE;
	size_t united = 0;
	int status = load_sorted(w);
	if (status)
		return status;
	nb_collide_fit_all(w);
	if (merging)
		nb_collide_join_neighbours(w);
	search_all(w, merging);
	if (merging) {
		status = nb_collide_unite_sets(w, &united);
		if (status)
			return status;
	}
	if (united) {
		nb_collide_fit_all(w);
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

static size_t lay_out(struct nb_collide_work *w, uintptr_t at)
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
	struct nb_collide_work w;
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
	nb_free_all(block, w.heap.entry);
	return status;
}
